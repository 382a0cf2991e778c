/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/health_watch.h. Static functions run on the holder, without
 * locks, unless their comments say otherwise. "The lock" is the pool's. What
 * comes from the link is kept under it until watch_read() takes it, mostly in
 * the task watch_turn(): so many messages of a turn count as one. */
#include "rpc/balance/health_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "cm/pool/gate.h"
#include "cm/pool/pool.h"
#include "grpc/health/v1/health.vc.h"
#include "rpc/balance/health_rules.h"
#include "rpc/balance/subchannel.h"
#include "rpc/stream_flow.h"
#include "transport/core/log.h"

/* What the watch sends may be shed last. */
#define METADATA_MAX 64u
/* The least time between two WINDOWs: a server that sends half a window of
 * messages sooner waits for the rest of that time. */
#define WINDOW_US UINT64_C(1000000)

/* What has come since the last turn. */
struct watch_news {
    bool anew; /* the connection was lost, or is another */
    bool malformed, has_word;
    uint32_t word; /* the last answer */
};

struct vc__health_watch {
    struct vc__gate gate;
    struct vc__subchannel *sub;
    struct vc__client client; /* of grpc.health.v1.Health */
    struct vc__request request;
    struct vc__send call;
    struct vc__task turn;

    struct watch_news news; /* lock */
    bool posted;            /* lock: true while `turn` is posted */
    const char *note;       /* lock; why the gate is shut, in a word */

    /* The holder's. */
    struct vc__health_rules rules;
    struct vc__inflow flow;
    uint32_t unread;        /* cost of messages that are not in flow.taken */
    struct vc__timer again; /* to the next Watch */
    struct vc__timer late;  /* until the first answer is late */
    struct vc__timer room;  /* to the next WINDOW */
    uint64_t room_at;       /* no WINDOW before */
    bool running;           /* the request has not ended */
    bool starting;          /* inside vc__client_start() */
    bool stale;             /* it is of a former connection, and ends soon */
    bool said_bad;          /* the last line of the log: it is unhealthy */
    bool said_none;         /* it was logged that there is no Watch */
    bool bad;               /* it was counted as unhealthy */

    size_t len; /* of body */
    uint8_t body[VC__HEALTH_REQUEST_MAX];
    uint16_t metadata_len;
    uint8_t metadata[METADATA_MAX];
    char name[];
};

/* --- what becomes of the server ------------------------------------------- */

/* Writes the target of the server, for an error or a line of the log. */
static void
watch_target(const struct vc__health_watch *w, char target[VC__TARGET_TEXT])
{
    vc__target_text(&w->sub->pool->opts.target, target);
}

/* For watch_publish(), watch_is_bad(): logs a change. why: it is unhealthy. */
static void
watch_log(struct vc__health_watch *w, const struct vc__error *why)
{
    struct vc__log *log = w->sub->pool->engine->log;
    char target[VC__TARGET_TEXT];

    watch_target(w, target);
    if (why != NULL)
        vc__log(log, VC__LOG_HEALTH, "%s", why->text);
    else if (w->rules.health == VC__HEALTH_UNCHECKED && !w->said_none)
        vc__log(log, VC__LOG_HEALTH,
                "server %s does not serve grpc.health.v1.Health.Watch: it "
                "counts as healthy while it is connected",
                target);
    else if (w->said_bad)
        vc__log(log, VC__LOG_HEALTH, "server %s is healthy again", target);
    w->said_bad = why != NULL;
    w->said_none = w->rules.health == VC__HEALTH_UNCHECKED;
}

/* For watch_publish(): counts and logs that the server is unhealthy, or
 * another reason for that. */
static void
watch_is_bad(struct vc__health_watch *w, const struct vc__error *why,
             const char *note)
{
    bool same;

    vc__lock_take(&w->sub->pool->lock);
    same = w->bad && strcmp(w->gate.why.text, why->text) == 0;
    w->note = note;
    vc__lock_give(&w->sub->pool->lock);
    if (!w->bad)
        vc__count(&w->sub->pool->engine->ledger, VC__COUNT_servers_unhealthy,
                  1);
    w->bad = true;
    if (!same)
        watch_log(w, why);
}

/* Publishes the health, after an event of the rules: while the server is
 * connected. why, note: of a server that is unhealthy. The bars come first, as
 * the connection may be lost inside vc__gate_set(), which bars the server. */
static void
watch_publish(struct vc__health_watch *w, const struct vc__error *why,
              const char *note)
{
    switch (w->rules.health) {
    case VC__HEALTH_UNKNOWN:
        vc__subchannel_bar(w->sub, VC__BAR_HEALTH, VC__BAR_UNKNOWN);
        vc__gate_set(&w->gate, VC__GATE_WAITS, NULL);
        return;
    case VC__HEALTH_NOT_SERVING:
        vc__subchannel_bar(w->sub, VC__BAR_HEALTH, VC__BAR_UNHEALTHY);
        watch_is_bad(w, why, note);
        vc__gate_set(&w->gate, VC__GATE_SHUT, why);
        return;
    case VC__HEALTH_SERVING:
    case VC__HEALTH_UNCHECKED:
        vc__subchannel_bar(w->sub, VC__BAR_HEALTH, 0);
        vc__gate_set(&w->gate, VC__GATE_OPEN, NULL);
        w->bad = false;
        watch_log(w, NULL);
        return;
    }
}

/* The server has answered, for watch_read(). */
static void
watch_answer(struct vc__health_watch *w, uint32_t word)
{
    const char *said = vc__health_word_name(word);
    char target[VC__TARGET_TEXT];
    struct vc__error why;

    vc__health_answers(&w->rules, word);
    watch_target(w, target);
    vc__error_put(&why, VC_UNAVAILABLE,
                  "server %s is unhealthy: its health service reports %s for "
                  "%.*s",
                  target, said, (int)VC__HEALTH_NAME_MAX,
                  w->name[0] != '\0' ? w->name : "the whole server");
    watch_publish(w, &why, said);
}

static void watch_on_again(struct vc__timer *timer);
static void watch_on_late(struct vc__timer *timer);
static void watch_start(struct vc__health_watch *w);

/* For watch_read(), and when the request has ended, on a connection that is
 * still up: the next Watch follows, at once or by the timer `again`; none if
 * the server has no Watch (VC_UNIMPLEMENTED). said: why, in words. */
static void
watch_ended(struct vc__health_watch *w, enum vc_status status, const char *said)
{
    uint64_t now = vc__now(), next = vc__health_ends(&w->rules, status, now);
    char target[VC__TARGET_TEXT];
    struct vc__error why;

    watch_target(w, target);
    vc__error_put(&why, VC_UNAVAILABLE,
                  "server %s is unhealthy: its grpc.health.v1.Health.Watch has "
                  "ended with %s: %.300s",
                  target, vc_status_name(status), said);
    /* One that has answered otherwise keeps the reason. */
    if (!w->rules.answered || w->rules.health != VC__HEALTH_NOT_SERVING)
        watch_publish(w, &why, "no answer");
    if (next <= now)
        watch_start(w);
    else if (next != UINT64_MAX &&
             !vc__timer_start(&w->sub->pool->engine->timers, &w->again, next,
                              watch_on_again))
        vc__log(w->sub->pool->engine->log, VC__LOG_HEALTH,
                "server %s is not watched any more on this connection: out of "
                "memory",
                target);
}

/* --- what comes from the link --------------------------------------------- */

/* There are news: has watch_turn() run soon. Under the lock, on any thread. */
static void
watch_post(struct vc__health_watch *w)
{
    if (!w->posted)
        vc__engine_post(w->sub->pool->engine, &w->turn);
    w->posted = true;
}

/* changed() of the gate: any thread, under the lock. The server is barred at
 * once, before a link can take calls again. */
static void
watch_on_changed(struct vc__gate *gate)
{
    struct vc__health_watch *w =
        caa_container_of(gate, struct vc__health_watch, gate);

    vc__subchannel_bar(w->sub, VC__BAR_HEALTH, VC__BAR_UNKNOWN);
    w->news = (struct watch_news){.anew = true};
    watch_post(w);
}

/* message() of the request, under the lock. False: it exceeds the window. */
static bool
watch_on_message(struct vc__request *r, const struct vc__metadata *m,
                 const uint8_t *body, uint32_t len, const char *loss)
{
    struct vc__health_watch *w =
        caa_container_of(r, struct vc__health_watch, request);
    uint32_t cost = vc__stream_cost(len);

    (void)m; /* metadata have no meaning here */
    if (!vc__inflow_arrived(&w->flow, cost))
        return false;
    w->unread += cost;
    if (loss != NULL || !vc__health_answer_read(body, len, &w->news.word))
        w->news.malformed = true;
    else
        w->news.has_word = true;
    watch_post(w);
    return true;
}

/* window() of the request, under the lock: does nothing, as the client sends no
 * more. True: as in other streams it is no fault. */
static bool
watch_on_window(struct vc__request *r, uint32_t end)
{
    (void)r;
    (void)end;
    return true;
}

/* For replied() and failed() of the request, which has ended: true if that
 * counts, as the connection is still the one on which it began. */
static bool
watch_over(struct vc__health_watch *w)
{
    bool counts;

    vc__lock_take(&w->sub->pool->lock);
    counts = w->gate.up && !w->news.anew && !w->stale;
    if (w->stale) /* what is to be done now waits for this */
        watch_post(w);
    vc__lock_give(&w->sub->pool->lock);
    w->running = w->stale = false;
    return counts;
}

static bool watch_read(struct vc__health_watch *w);

/* replied() of the request: the server has ended the Watch. What it has
 * answered before counts first. */
static void
watch_on_replied(struct vc__request *r, const struct vc__reply_frame *reply)
{
    struct vc__health_watch *w =
        caa_container_of(r, struct vc__health_watch, request);
    enum vc_status status =
        reply->status > VC_UNAUTHENTICATED ? VC_UNKNOWN : reply->status;
    char said[256];

    if (!watch_over(w) || !watch_read(w))
        return;
    vc__words_put(said, sizeof said, reply->body, reply->len);
    watch_ended(w, status, status == VC_OK ? "a Watch has no end" : said);
}

/* failed() of the request; also inside watch_start(). If only its link was
 * lost, and another link to this server takes calls, the health is what it was,
 * and another Watch begins there. */
static void
watch_on_failed(struct vc__request *r, const struct vc__error *error)
{
    struct vc__health_watch *w =
        caa_container_of(r, struct vc__health_watch, request);

    if (!watch_over(w) || !watch_read(w) || error->status == VC_CANCELLED)
        return;
    if (error->status == VC_UNAVAILABLE && !w->starting)
        watch_start(w);
    else
        watch_ended(w, error->status, error->text);
}

/* --- the request ---------------------------------------------------------- */

/* Starts a Watch, unless one runs: for a turn, a timer, or after a Watch. */
static void
watch_start(struct vc__health_watch *w)
{
    struct vc__pool *p = w->sub->pool;
    struct vc__frame *f = &w->call.frame;
    uint64_t now = vc__now();

    if (w->running)
        return;
    vc__send_clear(&w->call);
    f->method = GRPC_HEALTH_V1_HEALTH_WATCH;
    f->flags = VC__FRAME_SERVER_STREAM;
    f->body_len = (uint32_t)w->len;
    f->metadata = w->metadata;
    f->metadata_len = w->metadata_len;
    w->call.body = w->body;
    w->call.due = VC__FOREVER;
    vc__inflow_init(&w->flow);
    w->unread = 0;
    vc__health_begins(&w->rules, now);
    /* Without memory for the timer calls wait for the answer. */
    if (w->rules.health == VC__HEALTH_UNKNOWN)
        vc__timer_start(&p->engine->timers, &w->late,
                        now + (uint64_t)p->opts.connect_ms * 1000u,
                        watch_on_late);
    w->running = w->starting = true;
    vc__client_start(&w->client, &w->request);
    w->starting = false;
}

/* For watch_read() and watch_begin_anew(): takes the request back. No callback
 * of it follows, unless it has ended already; then it is stale. */
static void
watch_abandon(struct vc__health_watch *w)
{
    enum vc_outcome outcome;

    if (!w->running)
        return;
    w->stale = !vc__client_abandon(&w->client, &w->request, &outcome);
    w->running = w->stale;
}

/* done() of a WINDOW: any thread, under the link's lock. */
static void
watch_window_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    free(send);
}

/* Allows the server to send another window, for watch_room(). False if memory
 * is short. */
static bool
watch_window_send(struct vc__health_watch *w)
{
    struct vc__send *send = malloc(sizeof *send);

    if (send == NULL)
        return false;
    vc__inflow_taken(&w->flow, w->unread);
    w->unread = 0;
    vc__send_clear(send);
    send->frame.type = VC__FRAME_WINDOW;
    send->frame.deadline = w->flow.promised;
    send->done = watch_window_done;
    if (!vc__client_add(&w->client, &w->request, send))
        free(send); /* the request has ended */
    return true;
}

static void watch_on_room(struct vc__timer *timer);

/* For watch_turn() and the timer `room`: lets the server send more, once it has
 * sent half of what it may; once a second at most, also if memory is short. */
static void
watch_room(struct vc__health_watch *w)
{
    uint64_t now = vc__now();

    if (w->unread < VC__STREAM_WINDOW / 2 || vc__timer_running(&w->room))
        return;
    if (now >= w->room_at) {
        w->room_at = now + WINDOW_US;
        if (watch_window_send(w))
            return;
    }
    vc__timer_start(&w->sub->pool->engine->timers, &w->room, w->room_at,
                    watch_on_room);
}

/* --- turns ---------------------------------------------------------------- */

/* For watch_read() and vc__health_watch_end(): another connection, or none. So
 * nothing is known, and the Watch of the former one ends. */
static void
watch_begin_anew(struct vc__health_watch *w)
{
    struct vc__timers *timers = &w->sub->pool->engine->timers;

    vc__health_forget(&w->rules);
    w->bad = false;
    vc__timer_stop(timers, &w->again);
    vc__timer_stop(timers, &w->late);
    vc__timer_stop(timers, &w->room);
    watch_abandon(w);
}

/* For watch_read(): takes what has come. */
static struct watch_news
watch_take(struct vc__health_watch *w)
{
    struct watch_news news;

    vc__lock_take(&w->sub->pool->lock);
    news = w->news;
    w->news = (struct watch_news){0};
    vc__lock_give(&w->sub->pool->lock);
    return news;
}

/* Handles the answers that have come. One that is malformed ends the Watch:
 * false then. For watch_turn(), watch_on_late(), and when a Watch has ended. */
static bool
watch_read(struct vc__health_watch *w)
{
    struct watch_news news = watch_take(w);

    if (news.anew)
        watch_begin_anew(w);
    if (news.malformed) {
        watch_abandon(w);
        w->rules.answered = false; /* so there is a backoff */
        watch_ended(w, VC_INTERNAL,
                    "it has sent a message that is no HealthCheckResponse");
    } else if (news.has_word) {
        watch_answer(w, news.word);
    }
    return !news.malformed;
}

/* run() of the task `turn` of watch_post(): handles what has come, and starts a
 * Watch if the server is connected and none runs, or is to run later. */
static void
watch_turn(struct vc__task *task)
{
    struct vc__health_watch *w =
        caa_container_of(task, struct vc__health_watch, turn);

    vc__lock_take(&w->sub->pool->lock);
    w->posted = false;
    vc__lock_give(&w->sub->pool->lock);
    watch_read(w);
    if (!vc__gate_is_up(&w->gate))
        return;
    watch_room(w);
    if (!vc__timer_running(&w->again) &&
        w->rules.health != VC__HEALTH_UNCHECKED)
        watch_start(w);
}

/* fire() of `again`: it is time for the next Watch. */
static void
watch_on_again(struct vc__timer *timer)
{
    watch_start(caa_container_of(timer, struct vc__health_watch, again));
}

/* fire() of `late`: if no answer has come, the server counts as unhealthy. */
static void
watch_on_late(struct vc__timer *timer)
{
    struct vc__health_watch *w =
        caa_container_of(timer, struct vc__health_watch, late);
    char target[VC__TARGET_TEXT];
    struct vc__error why;

    if (!watch_read(w) || !w->running || !vc__health_is_late(&w->rules))
        return;
    watch_target(w, target);
    vc__error_put(&why, VC_UNAVAILABLE,
                  "server %s is unhealthy: its health service has not answered "
                  "within %u ms",
                  target, w->sub->pool->opts.connect_ms);
    watch_publish(w, &why, "no answer");
}

/* fire() of `room`: it is time for the next WINDOW. */
static void
watch_on_room(struct vc__timer *timer)
{
    watch_room(caa_container_of(timer, struct vc__health_watch, room));
}

/* --- its life: any thread, but the end ------------------------------------ */

/* For vc__health_watch_new(): the metadata of the CALL, with the priority of
 * calls that are shed last. */
static void
watch_metadata(struct vc__health_watch *w)
{
    const struct vc_metadata priority = {
        .key = VC_METADATA_PRIORITY, .value = "critical", .length = 8};

    _Static_assert(sizeof VC_METADATA_PRIORITY + 8 + 8 < METADATA_MAX,
                   "there is room");
    w->metadata_len =
        (uint16_t)(vc__metadata_put(w->metadata, &priority, false) -
                   w->metadata);
}

struct vc__health_watch *
vc__health_watch_new(const char *name)
{
    size_t size = strlen(name) + 1;
    struct vc__health_watch *w = calloc(1, sizeof *w + size);

    if (w == NULL)
        return NULL;
    memcpy(w->name, name, size);
    w->len = vc__health_request_write(w->body, name);
    watch_metadata(w);
    w->rules.seed = vc__now() ^ (uint64_t)(uintptr_t)w;
    w->gate.changed = watch_on_changed;
    w->turn.run = watch_turn;
    w->request.send = &w->call;
    w->request.replied = watch_on_replied;
    w->request.failed = watch_on_failed;
    w->request.message = watch_on_message;
    w->request.window = watch_on_window;
    w->request.own = true;
    w->request.client = &w->client;
    CDS_INIT_LIST_HEAD(&w->request.queued);
    return w;
}

void
vc__health_watch_begin(struct vc__health_watch *w, struct vc__subchannel *s)
{
    w->sub = s;
    vc__client_init(&w->client, s->pool, &grpc_health_v1_health_service, 1, 0);
    vc__gate_begin(&w->gate, s->pool);
}

void
vc__health_watch_admit(struct vc__health_watch *w, struct vc__client *c)
{
    vc__gate_admit(&w->gate, c);
}

void
vc__health_watch_end(struct vc__health_watch *w)
{
    vc__gate_end(&w->gate);
    watch_begin_anew(w);
    if (w->stale) /* its failed() is due */
        vc__pool_refuse(w->sub->pool);
    vc__client_close(&w->client);
    vc__lock_take(&w->sub->pool->lock);
    w->gate.up = false; /* for a turn that is posted */
    w->news = (struct watch_news){0};
    vc__lock_give(&w->sub->pool->lock);
}

void
vc__health_watch_free(struct vc__health_watch *w)
{
    free(w);
}

bool
vc__health_watch_describe(struct vc__health_watch *w, char *text, size_t size)
{
    struct vc__pool *p = w->sub->pool;
    bool up;

    vc__lock_take(&p->lock);
    up = w->gate.up;
    switch (w->gate.state) {
    case VC__GATE_WAITS:
        snprintf(text, size, "not known to be healthy yet");
        break;
    case VC__GATE_SHUT:
        snprintf(text, size, "unhealthy (%s)", w->note);
        break;
    case VC__GATE_OPEN:
        snprintf(text, size, "ready");
        break;
    }
    vc__lock_give(&p->lock);
    return up;
}
