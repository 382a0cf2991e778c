/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * chat-server TARGET: distributes the lines of chat rooms, until SIGINT or
 * SIGTERM. A handler receives the lines of its client, while a second thread
 * sends the client the lines of the room: a stream has one thread for each
 * direction. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "chat.vc.h"
#include "room.h"

/* --- what a member hears -------------------------------------------------- */

struct ear {
    struct member *member;
    struct chat_chat_talk_server_stream *stream;
};

/* Runs until the member has left. After a failed send nothing more is sent; the
 * handler finds out by itself that the client is gone. */
static void *
hear(void *arg)
{
    const struct ear *ear = arg;
    enum vc_status status = VC_OK;
    struct line line;

    while (room_next(ear->member, &line)) {
        Chat__Said said = CHAT__SAID__INIT;

        if (line.name != NULL)
            said.name = line.name;
        said.text = line.text;
        if (status == VC_OK)
            status = chat_chat_talk_server_send(ear->stream, &said);
        line_free(&line);
    }
    return NULL;
}

/* --- what it says --------------------------------------------------------- */

static enum vc_status
enter(struct vc_call *call, const Chat__Enter *who, struct member **member)
{
    size_t room = strlen(who->room), name = strlen(who->name);

    if (room == 0 || room > ROOM_MAX_NAME || name == 0 || name > ROOM_MAX_NAME)
        return vc_call_fail(call, VC_INVALID_ARGUMENT,
                            "room and name have 1 to %d bytes", ROOM_MAX_NAME);
    switch (room_enter(who->room, who->name, member)) {
    case ROOM_ENTERED:
        return VC_OK;
    case ROOM_HAS_NAME:
        return vc_call_fail(call, VC_ALREADY_EXISTS,
                            "%s is in %s already: choose another name",
                            who->name, who->room);
    default:
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "all %d seats are taken: try again later",
                            ROOM_MAX_MEMBERS);
    }
}

/* Receives the first message of a client. On VC_OK *member is in the room. */
static enum vc_status
welcome(struct vc_call *call, struct chat_chat_talk_server_stream *stream,
        struct member **member)
{
    Chat__Say *first;
    enum vc_status status = chat_chat_talk_server_receive(stream, &first);

    if (status != VC_OK)
        return status;
    if (first == NULL || first->what_case != CHAT__SAY__WHAT_ENTER)
        status = vc_call_fail(call, VC_INVALID_ARGUMENT,
                              "the first message must enter a room");
    else
        status = enter(call, first->enter, member);
    vc_message_free(first);
    return status;
}

static enum vc_status
say(struct vc_call *call, struct member *member, const Chat__Say *what)
{
    if (what->what_case != CHAT__SAY__WHAT_TEXT ||
        strlen(what->text) > ROOM_MAX_TEXT)
        return vc_call_fail(call, VC_INVALID_ARGUMENT,
                            "each message after the first is a line of at most "
                            "%d bytes",
                            ROOM_MAX_TEXT);
    room_say(member, what->text);
    return VC_OK;
}

/* Returns VC_OK when the client has half-closed the stream. */
static enum vc_status
listen_to(struct vc_call *call, struct chat_chat_talk_server_stream *stream,
          struct member *member)
{
    enum vc_status status;
    Chat__Say *what;

    while ((status = chat_chat_talk_server_receive(stream, &what)) == VC_OK &&
           what != NULL) {
        status = say(call, member, what);
        vc_message_free(what);
        if (status != VC_OK)
            break;
    }
    return status;
}

/* The handler. It joins the thread before it returns, as the stream is valid
 * only until then. */
static enum vc_status
talk(struct vc_call *call, struct chat_chat_talk_server_stream *stream,
     void *arg)
{
    struct ear ear = {.stream = stream};
    enum vc_status status = welcome(call, stream, &ear.member);
    pthread_t thread;
    int error;

    (void)arg;
    if (status != VC_OK)
        return status;
    error = pthread_create(&thread, NULL, hear, &ear);
    if (error == 0)
        status = listen_to(call, stream, ear.member);
    else
        status = vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                              "no thread for a client: %s", strerror(error));
    room_leave(ear.member);
    if (error == 0)
        pthread_join(thread, NULL);
    room_free(ear.member);
    return status;
}

/* --- the program ---------------------------------------------------------- */

int
main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : "vc://[::]:7473";
    const struct chat_chat_methods methods = {.talk = talk};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        chat_chat_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "chat-server: %s\n", vc_error());
        result = 1;
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(&ends, &signal);
    }
    vc_server_free(server); /* cancels the calls of its handlers */
    vc_runtime_free(runtime);
    return result;
}
