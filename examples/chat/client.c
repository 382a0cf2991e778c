/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * chat-client TARGET ROOM NAME: sends each line of standard input to a room,
 * and prints the lines of all its members. One thread sends and another one
 * receives. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "chat.vc.h"
#include "input.h"

struct mouth {
    struct chat_chat_talk_client_stream *stream;
    struct input input;
};

/* Sends line after line, then half-closes the stream. If sending fails, the
 * call has ended, and the receiving thread reports why. */
static void *
say(void *arg)
{
    struct mouth *mouth = arg;
    enum vc_status status = VC_OK;
    const char *line;

    while (status == VC_OK && (line = input_line(&mouth->input)) != NULL) {
        Chat__Say what = CHAT__SAY__INIT;

        what.what_case = CHAT__SAY__WHAT_TEXT;
        what.text = (char *)line;
        status = chat_chat_talk_send(mouth->stream, &what);
        if (status == VC_INVALID_ARGUMENT) { /* the call goes on */
            fprintf(stderr, "chat-client: %s: this line was not sent\n",
                    vc_error());
            status = VC_OK;
        }
    }
    if (status == VC_OK && chat_chat_talk_half_close(mouth->stream) != VC_OK)
        chat_chat_talk_cancel(mouth->stream);
    return NULL;
}

/* Prints received messages until the call has ended. */
static enum vc_status
hear(struct chat_chat_talk_client_stream *stream)
{
    enum vc_status status;
    Chat__Said *said = NULL;

    while ((status = chat_chat_talk_receive(stream, &said)) == VC_OK &&
           said != NULL) {
        if (said->name[0] != '\0')
            printf("%s: %s\n", said->name, said->text);
        else
            printf("* %s\n", said->text);
        fflush(stdout);
        vc_message_free(said);
    }
    return status;
}

static enum vc_status
enter(struct chat_chat_talk_client_stream *stream, char *room, char *name)
{
    Chat__Enter who = CHAT__ENTER__INIT;
    Chat__Say what = CHAT__SAY__INIT;

    who.room = room;
    who.name = name;
    what.what_case = CHAT__SAY__WHAT_ENTER;
    what.enter = &who;
    return chat_chat_talk_send(stream, &what);
}

static int
fail(void)
{
    fprintf(stderr, "chat-client: %s\n", vc_error());
    return 1;
}

static int
talk(struct chat_chat_talk_client_stream *stream, char *room, char *name)
{
    struct mouth mouth = {.stream = stream};
    pthread_t thread;
    int result = 0;

    if (enter(stream, room, name) != VC_OK)
        return fail();
    if (!input_open(&mouth.input) ||
        pthread_create(&thread, NULL, say, &mouth) != 0) {
        fprintf(stderr, "chat-client: no file descriptors or threads left\n");
        return 1;
    }
    if (hear(stream) != VC_OK)
        result = fail();
    input_stop(&mouth.input); /* the server may have ended the call */
    pthread_join(thread, NULL);
    input_close(&mouth.input);
    return result;
}

int
main(int argc, char **argv)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    struct chat_chat_talk_client_stream *stream = NULL;
    int result;

    if (argc != 4) {
        fprintf(stderr, "usage: chat-client vc://HOST:PORT ROOM NAME\n");
        return 2;
    }
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, argv[1], NULL, &channel) != VC_OK ||
        /* No deadline: people talk as long as they like. */
        chat_chat_talk(channel, VC_CALL_OPTS(.timeout_ms = VC_NO_DEADLINE),
                       &stream) != VC_OK)
        result = fail();
    else
        result = talk(stream, argv[2], argv[3]);
    chat_chat_talk_close(stream);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}
