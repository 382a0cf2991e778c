/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/golden.h. */
#include "tests/sim/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/wire/packet.h"

#define ROOM 65536u
#define LINE 1024u

static struct {
    uint64_t began;
    size_t len;
    char text[ROOM];
} told;

/* --- lines ------------------------------------------------------------- */

/* The world runs one thread at a time; this shows that order to the thread
 * sanitizer. */
static void
order(void)
{
    static atomic_uint turns;

    atomic_fetch_add(&turns, 1);
}

static void
line_add(const char *text)
{
    int n;

    order();
    n = snprintf(told.text + told.len, ROOM - told.len, "%5llu ms  %s\n",
                 (unsigned long long)(fake_now_us() - told.began) / 10000 * 10,
                 text);

    assert_true(n > 0 && (size_t)n < ROOM - told.len);
    told.len += (size_t)n;
    order();
}

void
golden_say(const char *format, ...)
{
    char text[LINE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    line_add(text);
}

/* --- frames ------------------------------------------------------------ */

struct words {
    size_t len;
    char text[LINE];
};

static void __attribute__((format(printf, 2, 3)))
put(struct words *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(w->text + w->len, LINE - w->len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < LINE - w->len);
    w->len += (size_t)n;
}

static const char *
type_name(unsigned type)
{
    static const char *const names[] = {
        [VC__FRAME_OPEN] = "OPEN",       [VC__FRAME_CALL] = "CALL",
        [VC__FRAME_REPLY] = "REPLY",     [VC__FRAME_DATA] = "DATA",
        [VC__FRAME_CLOSE] = "CLOSE",     [VC__FRAME_CANCEL] = "CANCEL",
        [VC__FRAME_PING] = "PING",       [VC__FRAME_GOAWAY] = "GOAWAY",
        [VC__FRAME_MESSAGE] = "MESSAGE", [VC__FRAME_HALF] = "HALF",
        [VC__FRAME_WINDOW] = "WINDOW",
    };

    return names[type];
}

static void
deadline_put(struct words *w, uint32_t us)
{
    if (us == VC__DEADLINE_NONE)
        put(w, ", no deadline");
    else
        put(w, ", %u ms left", (us + 9999) / 10000 * 10);
}

static void
frame_put(struct words *w, const struct vc__frame *f)
{
    put(w, "%s", type_name(f->type));
    if (f->type == VC__FRAME_PING)
        put(w, "%s", f->flags & VC__FRAME_ANSWER ? " answered" : "");
    if (f->type == VC__FRAME_PING || f->type == VC__FRAME_GOAWAY)
        return;
    put(w, " session %u", (unsigned)f->session);
    if (f->type == VC__FRAME_OPEN || f->type == VC__FRAME_CLOSE)
        return;
    put(w, " slot %u call %u", f->slot, (unsigned)f->sequence);
    if (f->type == VC__FRAME_CANCEL)
        return;
    put(w, ", %u B%s", (unsigned)f->body_len,
        f->flags & VC__FRAME_MORE ? ", more follows" : "");
    if (f->type == VC__FRAME_DATA)
        put(w, ", from %u", (unsigned)f->deadline);
    if (f->type == VC__FRAME_CALL)
        deadline_put(w, f->deadline);
    if (f->type == VC__FRAME_REPLY)
        put(w, ", %s%s", vc_status_name((enum vc_status)f->method),
            f->flags & VC__FRAME_NOT_EXECUTED ? ", not executed" : "");
}

/* A packet without frames, with credits or for keepalive only, is not shown. */
static bool
is_noise(const struct vc__packet *p)
{
    return p->count == 0;
}

static void
on_send(const char *process, const char *host, const void *bytes, size_t len,
        void *arg)
{
    struct vc__packet_reader r;
    struct words w = {.len = 0};
    struct vc__packet p;
    struct vc__frame f;

    (void)arg;
    if (!vc__packet_open(&r, bytes, len, &p) || is_noise(&p))
        return;
    put(&w, "%s -> %s: ", process, host);
    for (unsigned i = 0; vc__frame_next(&r, &f) == 1; i++) {
        put(&w, "%s", i > 0 ? "; " : "");
        frame_put(&w, &f);
    }
    line_add(w.text);
}

static void
on_log(const char *process, enum vc_log_level level, const char *line)
{
    if (level < VC_LOG_DEBUG)
        golden_say("%s logs, %s: %s", process, vc_log_level_name(level), line);
}

/* --- from beginning to end ----------------------------------------------- */

void
golden_begin(void)
{
    told.began = fake_now_us();
    told.len = 0;
    told.text[0] = '\0';
    fake_see(on_send, NULL);
    sim_log_to(on_log);
}

static void
file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(strlen(text), fwrite(text, 1, strlen(text), file));
    assert_int_equal(0, fclose(file));
}

/* Returns "" when there is no such file. */
static const char *
file_read(const char *path)
{
    static char text[ROOM];
    FILE *file = fopen(path, "r");

    text[0] = '\0';
    if (file != NULL) {
        text[fread(text, 1, ROOM - 1, file)] = '\0';
        fclose(file);
    }
    return text;
}

void
golden_compare(const char *name, const char *text)
{
    const char *write = getenv("GOLDEN");
    char path[512];

    snprintf(path, sizeof path, "%s/%s.txt", GOLDEN_DIR, name);
    if (write != NULL && strcmp(write, "write") == 0)
        file_write(path, text);
    if (strcmp(file_read(path), text) != 0) {
        print_error("%s is now:\n%s", path, text);
        fail_msg("%s is not what happens; if it is well so, GOLDEN=write",
                 name);
    }
}

void
golden_end(const char *name)
{
    fake_see(NULL, NULL);
    sim_log_to(NULL);
    order();
    golden_compare(name, told.text);
}
