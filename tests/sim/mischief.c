/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/mischief.h. */
#include "tests/sim/mischief.h"

#include <errno.h>

uint64_t
roll(struct dice *d, uint64_t n)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

static void
mischief_server(struct cast *c, struct sim_server *s)
{
    switch (roll(&c->dice, 4)) {
    case 0:
        fake_process_kill(s->process);
        break;
    case 1:
        fake_process_freeze(s->process);
        fake_sleep_us(roll(&c->dice, 20000));
        fake_process_thaw(s->process);
        break;
    case 2:
        sim_server_stop(s);
        break;
    default:
        fake_fail(s->process, "*", 1 + (unsigned)roll(&c->dice, 20), ENOMEM);
        fake_fail_memory(s->process, 1 + (unsigned)roll(&c->dice, 20));
        break;
    }
}

static void
mischief_client(struct cast *c, struct fake_process *p)
{
    switch (roll(&c->dice, 4)) {
    case 0:
        if (roll(&c->dice, 4) == 0)
            fake_process_kill(p);
        break;
    case 1:
        fake_process_freeze(p);
        fake_sleep_us(roll(&c->dice, 20000));
        fake_process_thaw(p);
        break;
    default:
        fake_fail(p, "*", 1 + (unsigned)roll(&c->dice, 20), ENOMEM);
        fake_fail_memory(p, 1 + (unsigned)roll(&c->dice, 20));
        break;
    }
}

/* Of one direction. Links outlive about 470 ms of a clog or a cut. */
static void
mischief_path(struct cast *c, struct fake_host *from, struct fake_host *to)
{
    switch (roll(&c->dice, 3)) {
    case 0:
        fake_path_cut(from, to, true);
        fake_sleep_us(roll(&c->dice, 1000000));
        fake_path_cut(from, to, false);
        break;
    case 1:
        fake_path_clog(from, to, true);
        fake_sleep_us(roll(&c->dice, 1000000));
        fake_path_clog(from, to, false);
        break;
    default:
        fake_path_duplicate(from, to, (unsigned)roll(&c->dice, 8));
        break;
    }
}

static void
mischief_wire(struct cast *c, struct fake_host *here, struct fake_host *there)
{
    switch (roll(&c->dice, 10)) {
    case 7:
    case 8:
        mischief_path(c, here, there);
        break;
    case 9:
        mischief_path(c, there, here);
        break;
    case 0:
        fake_wire_cut(here, there, true);
        fake_sleep_us(roll(&c->dice, 100000));
        fake_wire_cut(here, there, false);
        break;
    case 1:
        fake_port_set(there, false);
        fake_sleep_us(roll(&c->dice, 100000));
        fake_port_set(there, true);
        break;
    case 2:
        fake_rule("completion", 1 + (unsigned)roll(&c->dice, 20), FAKE_DROP, 0);
        fake_rule("event", 1 + (unsigned)roll(&c->dice, 8), FAKE_DROP, 0);
        break;
    case 3:
        if (c->removed == NULL && roll(&c->dice, 4) == 0) {
            c->removed = roll(&c->dice, 2) == 0 ? here : there;
            fake_device_remove(c->removed);
        }
        break;
    case 4:
        fake_rule("SEND", 1 + (unsigned)roll(&c->dice, 8), FAKE_LOSE, 0);
        fake_rule(" -> ", 1 + (unsigned)roll(&c->dice, 8), FAKE_LOSE, 0);
        break;
    case 5:
        for (unsigned i = 1 + (unsigned)roll(&c->dice, 4); i > 0; i--)
            fake_rule(roll(&c->dice, 2) == 0 ? "SEND" : "completion",
                      1 + (unsigned)roll(&c->dice, 40), FAKE_FLUSH, 0);
        break;
    default:
        fake_rule("qp", 1 + (unsigned)roll(&c->dice, 20), FAKE_FLUSH, 0);
        fake_rule("completion", 1 + (unsigned)roll(&c->dice, 20), FAKE_DELAY,
                  roll(&c->dice, 5000));
        break;
    }
}

void
mischief(struct cast *c)
{
    unsigned k = (unsigned)roll(&c->dice, c->n_clients);
    unsigned n = (unsigned)roll(&c->dice, c->n_servers);

    switch (roll(&c->dice, 3)) {
    case 0:
        mischief_server(c, &c->servers[n]);
        break;
    case 1:
        mischief_client(c, c->clients[k].process);
        break;
    default:
        mischief_wire(c, c->clients[k].host, c->server_hosts[n]);
        break;
    }
}
