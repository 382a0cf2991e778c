/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The logs of a client and of a server, over each transport: by which transport
 * a link is up, to which peer, and why it ended. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/suite/fixture.h"
#include "tests/suite/relay.h"

#define ROOM 8192u

/* --- the log lines of a runtime ------------------------------------------ */

struct book {
    pthread_mutex_t lock;
    size_t len;
    char text[ROOM];
};

static struct book books[] = {{.lock = PTHREAD_MUTEX_INITIALIZER},
                              {.lock = PTHREAD_MUTEX_INITIALIZER}};
static struct book *const of_server = &books[0], *const of_client = &books[1];

/* Counted up when a line says that clients wait. */
static atomic_uint starved;

static void
on_line(enum vc_log_level level, const char *line, void *arg)
{
    struct book *b = arg;

    pthread_mutex_lock(&b->lock);
    b->len += (size_t)snprintf(b->text + b->len, ROOM - b->len, "%s: %s\n",
                               vc_log_level_name(level), line);
    assert_true(b->len < ROOM);
    pthread_mutex_unlock(&b->lock);
    if (strstr(line, "clients wait") != NULL)
        fixture_tell(&starved);
}

static void
book_empty(struct book *b)
{
    b->len = 0;
    b->text[0] = '\0';
}

/* Asserts that a line begins with `begin` and ends with `end`. */
static void
assert_logged(const struct book *b, const char *begin, const char *end)
{
    for (const char *line = b->text; *line != '\0';) {
        const char *next = strchr(line, '\n');

        if (strncmp(line, begin, strlen(begin)) == 0 &&
            strncmp(next - strlen(end), end, strlen(end)) == 0)
            return;
        line = next + 1;
    }
    fail_msg("no line begins with \"%s\" and ends with \"%s\":\n%s", begin, end,
             b->text);
}

/* --- a server and a client ----------------------------------------------- */

static void
start(struct fixture *f)
{
    const struct vc_server_opts server_opts = *VC_SERVER_OPTS(.name = "logs");

    memset(f, 0, sizeof *f);
    book_empty(of_server);
    book_empty(of_client);
    fixture_log = on_line;
    fixture_log_arg = of_server;
    fixture_start_server(f, 1, &server_opts);
    fixture_log_arg = of_client;
    fixture_start_client(f, NULL);
    fixture_log = NULL;
    assert_status(VC_OK, fixture_echo(f->channel, 64, 1));
}

/* The target without its scheme, unless the scheme is part of the address. */
static const char *
address_of(const struct fixture *f)
{
    return fixture_has_names() ? f->target : strstr(f->target, "://") + 3;
}

static void
a_line_says_how_a_link_is_up_and_that_its_channel_was_closed(void **state)
{
    char begin[160];
    struct fixture f;

    (void)state;
    start(&f);
    fixture_stop_client(&f);
    fixture_stop_server(&f);

    snprintf(begin, sizeof begin, "info: link to logs (%s): up over %s",
             address_of(&f), fixture_scheme());
    assert_logged(of_client, begin, "ms");
    snprintf(begin, sizeof begin,
             "info: link to logs (%s): closed: ", address_of(&f));
    assert_logged(of_client, begin, "the channel was closed");
    assert_logged(of_server, "info: link from ", "ms");
    assert_logged(of_server, "info: link from ",
                  "closed: the peer closed the connection, or its process "
                  "ended");
    assert_logged(of_server, "info: server logs", ": closed");
    assert_null(strstr(of_server->text, "warning"));
    assert_null(strstr(of_client->text, "warning"));
}

static void
a_line_says_that_the_server_was_closed(void **state)
{
    char begin[160];
    struct fixture f;

    (void)state;
    start(&f);
    fixture_stop_server(&f);
    assert_int_not_equal(VC_OK, fixture_echo(f.channel, 64, 2));
    fixture_stop_client(&f);

    snprintf(begin, sizeof begin,
             "info: link to logs (%s): closed: ", address_of(&f));
    assert_logged(of_client, begin,
                  "the peer closed the connection, or its process ended");
    assert_logged(of_server, "info: link from ", ": the server was closed");
}

/* Lowers the limit so that this process can open one more descriptor. Returns
 * the former limit. */
static struct rlimit
descriptors_limit(void)
{
    struct rlimit was, low;
    int next = dup(STDIN_FILENO);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &was));
    low = was;
    low.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &low));
    return was;
}

static void
a_listener_without_descriptors_warns(void **state)
{
    struct rlimit was;
    struct fixture f;
    char byte;
    int fd;

    (void)state;
    if (strcmp(fixture_scheme(), "tcp") != 0)
        skip();
    start(&f);
    was = descriptors_limit();
    fd = relay_connect(f.port);
    fixture_await(&starved, 1);
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &was));
    assert_int_equal(8, send(fd, "no hello", 8, MSG_NOSIGNAL));
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    fixture_stop_client(&f);
    fixture_stop_server(&f);

    assert_logged(of_server, "warning: listener over tcp, port ",
                  ": clients wait, as accept() fails: Too many open files");
    assert_logged(of_server, "debug: link from 127.0.0.1:",
                  ": not up: no valid hello, 4 bytes received");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_line_says_how_a_link_is_up_and_that_its_channel_was_closed),
        cmocka_unit_test(a_line_says_that_the_server_was_closed),
        cmocka_unit_test(a_listener_without_descriptors_warns),
    };

    return fixture_main(tests);
}
