/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests the code generated for methods without streams, on library.c.
 * test_idl.sh runs it with the name of one test. On a failure it prints the
 * reason to standard error and exits with 1. */
#include "library.h"

#include "c_package.vc.h"
#include "empty_service.vc.h"
#include "greeter.vc.h"
#include "keywords.vc.h"
#include "levels.vc.h"
#include "limits.vc.h"
#include "optional.vc.h"

static enum vc_status
say_hello(struct vc_call *call, const Demo__HelloRequest *request,
          Demo__HelloReply *reply, void *arg)
{
    (void)call;
    CHECK(strcmp(request->name, "Ada") == 0);
    reply->message = arg;
    return VC_OK;
}

static void
test_handler(void)
{
    static const struct demo_greeter_methods methods = {.say_hello = say_hello};
    Demo__HelloRequest request = DEMO__HELLO_REQUEST__INIT;
    struct vc_server server = {NULL, NULL, NULL};
    struct vc_channel channel = {&server};
    Demo__HelloReply *reply = NULL;
    char text[] = "Hello, Ada", name[] = "Ada";

    request.name = name;
    CHECK(demo_greeter_add(&server, &methods, text) == VC_OK);
    CHECK(demo_greeter_say_hello(&channel, &request, NULL, &reply) == VC_OK);
    CHECK(reply != NULL && reply->message == text);
    free(reply);
    free(server.methods);
}

static void
test_no_handler(void)
{
    static const struct demo_greeter_methods methods = {.say_hello = NULL};
    Demo__HelloRequest request = DEMO__HELLO_REQUEST__INIT;
    struct vc_server server = {NULL, NULL, NULL};
    struct vc_channel channel = {&server};
    Demo__HelloReply untouched, *reply = &untouched;

    CHECK(demo_greeter_add(&server, &methods, NULL) == VC_OK);
    CHECK(demo_greeter_say_hello(&channel, &request, NULL, &reply) ==
          VC_UNIMPLEMENTED);
    CHECK(reply == &untouched);
    free(server.methods);
}

static uint32_t
fnv_32(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* Methods are in the order of the file; the fingerprint sorts them by name, and
 * has the messages that they lead to. */
static void
test_table(void)
{
    const struct vc_service *s = &levels_levels_service;
    const struct vc_method *m = s->methods;

    CHECK(strcmp(s->name, "levels.Levels") == 0 && s->n_methods == 4);
    CHECK(s->fingerprint == fnv_32("Once (levels.M) returns (levels.M)\n"
                                   "OnceSaid (levels.M) returns (levels.M)\n"
                                   "Put (levels.M) returns (levels.M)\n"
                                   "Read (levels.M) returns (levels.M)\n"
                                   "message levels.M\n"
                                   "1 required string\n"
                                   "2 int32\n"));
    CHECK(strcmp(m[0].name, "Once") == 0 && m[0].flags == 0);
    CHECK(strcmp(m[1].name, "OnceSaid") == 0 && m[1].flags == 0);
    CHECK(strcmp(m[2].name, "Read") == 0);
    CHECK(m[2].flags == VC_METHOD_NO_SIDE_EFFECTS);
    CHECK(strcmp(m[3].name, "Put") == 0 && m[3].hash == fnv_32("Put"));
    CHECK(m[3].flags == VC_METHOD_IDEMPOTENT);
    CHECK(m[3].request.desc == &levels__m__descriptor);
    m = limits_limits_service.methods;
    CHECK(m[0].timeout_ms == 0 && m[0].max_calls == 0 && m[0].max_reply == 0);
    CHECK(m[1].max_reply == UINT32_MAX && m[1].max_calls == 0);
    CHECK(m[2].timeout_ms == 1 && m[2].max_calls == 2 && m[2].max_reply == 3);
    CHECK(demo_greeter_service.id == UINT64_C(0x8fa7c90507e29892));
}

static void
test_empty(void)
{
    static const struct empty_nothing_methods methods = {0};
    struct vc_server server = {NULL, NULL, NULL};

    CHECK(empty_nothing_add(&server, &methods, NULL) == VC_OK);
    CHECK(server.service->n_methods == 0 && server.service->methods == NULL);
    CHECK(strcmp(server.service->name, "empty.Nothing") == 0);
    free(server.methods);
}

/* c_package sets the C name, but not the name on the wire. */
static void
test_c_package(void)
{
    CHECK(strcmp(short_er_texts_service.name,
                 "com.example.long_names.v1.Texts") == 0);
}

static enum vc_status
word(struct vc_call *call, const Words__M *request, Words__M *reply, void *arg)
{
    (void)call;
    (void)request;
    (void)reply;
    ++*(int *)arg;
    return VC_OK;
}

static void
test_keywords(void)
{
    static const struct words_words_methods methods = {.init = word,
                                                       .register_ = word,
                                                       .delete_ = word,
                                                       .add_ = word,
                                                       .assert_perror_ = word,
                                                       .unreachable_ = word};
    struct vc_server server = {NULL, NULL, NULL};
    struct vc_channel channel = {&server};
    Words__M request = WORDS__M__INIT, *reply;
    int runs = 0;

    CHECK(words_words_add(&server, &methods, &runs) == VC_OK);
    CHECK(words_words_init(&channel, &request, NULL, &reply) == VC_OK);
    free(reply);
    CHECK(words_words_register_(&channel, &request, NULL, &reply) == VC_OK);
    free(reply);
    CHECK(words_words_add_(&channel, &request, NULL, &reply) == VC_OK);
    free(reply);
    CHECK(words_words_new_(&channel, &request, NULL, &reply) ==
          VC_UNIMPLEMENTED);
    CHECK(runs == 3);
    free(server.methods);
}

/* proto3 optional: 0 that was set differs from 0 that was not set. */
static void
test_optional(void)
{
    Opt__Query said = OPT__QUERY__INIT, unsaid = OPT__QUERY__INIT, *got;
    uint8_t packed[64];
    size_t length;

    said._limit_case = OPT__QUERY___LIMIT_LIMIT;
    said.limit = 0;
    length = opt__query__pack(&said, packed);
    got = opt__query__unpack(NULL, length, packed);
    CHECK(got != NULL && got->_limit_case == OPT__QUERY___LIMIT_LIMIT);
    opt__query__free_unpacked(got, NULL);

    length = opt__query__pack(&unsaid, packed);
    CHECK(length == 0);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"handler", test_handler},   {"no_handler", test_no_handler},
        {"table", test_table},       {"empty", test_empty},
        {"keywords", test_keywords}, {"c_package", test_c_package},
        {"optional", test_optional},
    };

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            return 0;
        }
    return 2;
}
