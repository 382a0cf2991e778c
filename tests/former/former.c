/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client and a server that tests/former.sh builds with this library and with
 * an older one, by public headers alone:
 *
 *   former server TARGET [ALTERNATIVE]   until SIGTERM; with ALTERNATIVE it
 *                                        drains a second after its first call,
 *                                        and sends its clients there
 *   former client TARGET SECONDS all     calls and streams for so long; each
 *                                        must succeed
 *   former client TARGET SECONDS broken  calls for so long, each of which must
 *                                        succeed, though the QP breaks half way
 *
 * The client prints the number of rounds, how often sessions moved to another
 * link, and how many links were made. */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "breaker.h"
#include "former.vc.h"

#define LONG_BYTES    300000
#define CALL_MS       30000u
#define DRAIN_MS      30000u
#define DRAIN_AFTER_S 1
#define FIRST_CALL    SIGUSR1 /* the program sends it to itself */

/* --- server -------------------------------------------------------------- */

static enum vc_status
echo(struct vc_call *call, const Former__Text *request, Former__Text *reply,
     void *arg)
{
    static atomic_flag called = ATOMIC_FLAG_INIT;

    (void)call;
    (void)arg;
    if (!atomic_flag_test_and_set(&called))
        kill(getpid(), FIRST_CALL);
    reply->text = request->text;
    return VC_OK;
}

static enum vc_status
join(struct vc_call *call, struct former_former_join_server_stream *stream,
     Former__Text *reply, void *arg)
{
    enum vc_status status;
    Former__Text *text;

    (void)arg;
    while ((status = former_former_join_server_receive(stream, &text)) ==
               VC_OK &&
           text != NULL) {
        reply->text = vc_call_sprintf(call, "%s%s", reply->text, text->text);
        vc_message_free(text);
    }
    return status;
}

static enum vc_status
split(struct vc_call *call, const Former__Text *request,
      struct former_former_split_server_stream *stream, void *arg)
{
    enum vc_status status = VC_OK;

    (void)arg;
    for (const char *c = request->text; *c != '\0' && status == VC_OK; c++) {
        Former__Text text = FORMER__TEXT__INIT;

        text.text = vc_call_sprintf(call, "%c", *c);
        status = former_former_split_server_send(stream, &text);
    }
    return status;
}

static enum vc_status
talk(struct vc_call *call, struct former_former_talk_server_stream *stream,
     void *arg)
{
    enum vc_status status;
    Former__Text *text;

    (void)call;
    (void)arg;
    while ((status = former_former_talk_server_receive(stream, &text)) ==
               VC_OK &&
           text != NULL) {
        status = former_former_talk_server_send(stream, text);
        vc_message_free(text);
        if (status != VC_OK)
            break;
    }
    return status;
}

static int
fail(const char *what)
{
    fprintf(stderr, "former: %s: %s\n", what, vc_error());
    return 1;
}

/* The older commit's servers have no threads until they start some. */
static bool
threads_run(struct vc_runtime *runtime)
{
#ifdef VC_THREADS_NONE
    return vc_runtime_start(runtime) == VC_OK;
#else
    return vc_runtime_start(runtime, 1) == VC_OK;
#endif
}

static int
serve(const char *target, const char *alternative)
{
    const struct former_former_methods methods = {
        .echo = echo, .join = join, .split = split, .talk = talk};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    const struct timespec before_drain = {.tv_sec = DRAIN_AFTER_S};
    int result = 0, ended = -1;
    sigset_t ends, first;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    first = ends;
    sigaddset(&first, FIRST_CALL);
    sigprocmask(SIG_BLOCK, &first, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        former_former_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK || !threads_run(runtime))
        return fail("cannot serve");
    printf("listening on port %d\n", vc_server_port(server));
    fflush(stdout);
    if (alternative != NULL) {
        sigwait(&first, &ended);
        if (ended == FIRST_CALL)
            ended = sigtimedwait(&ends, NULL, &before_drain);
    }
    if (alternative != NULL && ended < 0 &&
        vc_server_drain(server, alternative, DRAIN_MS) != VC_OK)
        result = fail("drain");
    if (ended < 0)
        sigwait(&ends, &ended);
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}

/* --- client -------------------------------------------------------------- */

static const struct vc_call_opts *
options(void)
{
    static struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = CALL_MS;
    return &opts;
}

static bool
same(const char *what, const char *expected, const char *got)
{
    if (strcmp(expected, got) == 0)
        return true;
    fprintf(stderr, "former: %s gave another text\n", what);
    return false;
}

static bool
try_echo(struct vc_channel *channel, const char *text)
{
    Former__Text request = FORMER__TEXT__INIT, *reply;
    bool good;

    request.text = (char *)text;
    if (former_former_echo(channel, &request, options(), &reply) != VC_OK)
        return fail("echo") == 0;
    good = same("echo", text, reply->text);
    vc_message_free(reply);
    return good;
}

static bool
try_join(struct vc_channel *channel)
{
    Former__Text one = FORMER__TEXT__INIT, *reply = NULL;
    struct former_former_join_client_stream *stream = NULL;
    bool good;

    one.text = "ab";
    good = former_former_join(channel, options(), &stream) == VC_OK;
    for (unsigned i = 0; i < 3 && good; i++)
        good = former_former_join_send(stream, &one) == VC_OK;
    good = good && former_former_join_finish(stream, &reply) == VC_OK;
    if (!good)
        fail("join");
    else
        good = same("join", "ababab", reply->text);
    vc_message_free(reply);
    former_former_join_close(stream);
    return good;
}

static bool
try_split(struct vc_channel *channel)
{
    Former__Text request = FORMER__TEXT__INIT, *one;
    struct former_former_split_client_stream *stream = NULL;
    char got[8] = "";
    bool good;

    request.text = "abc";
    if (former_former_split(channel, &request, options(), &stream) != VC_OK)
        return fail("split") == 0;
    while (former_former_split_receive(stream, &one) == VC_OK && one != NULL) {
        strncat(got, one->text, sizeof got - strlen(got) - 1);
        vc_message_free(one);
    }
    good = former_former_split_finish(stream) == VC_OK;
    if (!good)
        fail("split");
    former_former_split_close(stream);
    return good && same("split", "abc", got);
}

static bool
try_talk(struct vc_channel *channel)
{
    Former__Text one = FORMER__TEXT__INIT, *back;
    struct former_former_talk_client_stream *stream = NULL;
    bool good;

    one.text = "to and fro";
    good = former_former_talk(channel, options(), &stream) == VC_OK;
    for (unsigned i = 0; i < 3 && good; i++) {
        good = former_former_talk_send(stream, &one) == VC_OK &&
               former_former_talk_receive(stream, &back) == VC_OK &&
               back != NULL && same("talk", one.text, back->text);
        if (good)
            vc_message_free(back);
    }
    good = good && former_former_talk_half_close(stream) == VC_OK &&
           former_former_talk_finish(stream) == VC_OK;
    if (!good)
        fail("talk");
    former_former_talk_close(stream);
    return good;
}

static bool
try_all(struct vc_channel *channel, const char *long_text, bool streams)
{
    return try_echo(channel, "short") && try_echo(channel, long_text) &&
           (!streams ||
            (try_join(channel) && try_split(channel) && try_talk(channel)));
}

static void
report(struct vc_runtime *runtime, unsigned long rounds)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    printf("rounds %lu moved %llu made %llu\n", rounds,
           (unsigned long long)c.sessions_client_moved,
           (unsigned long long)c.links_made);
}

static int
call(const char *target, long seconds, bool to_break)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    char *long_text = calloc(1, LONG_BYTES + 1);
    time_t begin = time(NULL);
    unsigned long rounds = 0;
    bool good = long_text != NULL, unbroken = to_break;

    opts.connect_timeout_ms = CALL_MS;
    if (good)
        memset(long_text, 'x', LONG_BYTES);
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, &opts, &channel) != VC_OK)
        return fail(target);
    for (; good && time(NULL) < begin + seconds; rounds++) {
        if (unbroken && time(NULL) >= begin + seconds / 2) {
            good = breaker_break();
            unbroken = false;
        }
        good = good && try_all(channel, long_text, !to_break);
    }
    report(runtime, rounds);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    free(long_text);
    return good ? 0 : 1;
}

int
main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "server") == 0)
        return serve(argv[2], argc > 3 ? argv[3] : NULL);
    if (argc == 5 && strcmp(argv[1], "client") == 0)
        return call(argv[2], atol(argv[3]), strcmp(argv[4], "broken") == 0);
    fprintf(stderr, "usage: former server TARGET [ALTERNATIVE]\n"
                    "       former client TARGET SECONDS all|broken\n");
    return 2;
}
