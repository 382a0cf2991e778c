/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The resolver of file: with real files in a folder of each test, and with
 * stand-ins for the channel: the functions of verbcall/resolver.h are here, and
 * so the library's are not linked. Its clock is the test's. Inotify reports a
 * change before the system call that makes it returns, so no test waits. */
#define _GNU_SOURCE /* nftw() */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc/balance/endpoint_file.h"
#include "rpc/balance/file_resolver.h"
#include "transport/core/error.h"

#define NEVER  UINT64_MAX
#define SECOND 1000u

/* --- the channel --------------------------------------------------------- */

struct vc_resolver {
    unsigned sets, fails, timers;
    char servers[64 * 1024]; /* "TARGET WEIGHT PRIORITY LABEL HASH_KEY", ... */
    char why[VC_ERROR_SIZE];
    enum vc_status answer; /* of vc_resolver_set() */
    bool refuses_to_watch;
    int fd; /* that is watched; -1: none */
    void (*ready)(void *state, int fd);
    uint64_t now, at; /* milliseconds; NEVER: no timer */
    void (*fire)(void *state);
    void *state;
};

enum vc_status
vc_resolver_set(struct vc_resolver *r, const struct vc_endpoint *e, size_t n)
{
    size_t len = 0;

    if (r->answer != VC_OK)
        return vc__fail(r->answer, "the channel does not like them");
    r->sets++;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(e[i].size, sizeof e[i]);
        len += (size_t)snprintf(
            r->servers + len, sizeof r->servers - len, "%s%s %u %u %s %s",
            i > 0 ? ", " : "", e[i].target, (unsigned)e[i].weight,
            (unsigned)e[i].priority, e[i].label != NULL ? e[i].label : "-",
            e[i].hash_key != NULL ? e[i].hash_key : "-");
        assert_true(len < sizeof r->servers);
    }
    r->why[0] = '\0';
    return VC_OK;
}

void
vc_resolver_fail(struct vc_resolver *r, const char *why)
{
    assert_true(strlen(why) > 0 && strlen(why) < sizeof r->why);
    r->fails++;
    strcpy(r->why, why);
}

enum vc_status
vc_resolver_watch(struct vc_resolver *r, int fd, bool writes,
                  void (*ready)(void *state, int fd))
{
    if (r->refuses_to_watch)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "the engine has no room");
    assert_false(writes);
    assert_int_equal(r->fd, -1);
    r->fd = fd;
    r->ready = ready;
    return VC_OK;
}

void
vc_resolver_timer(struct vc_resolver *r, uint32_t ms, void (*fire)(void *))
{
    r->timers++;
    r->at = fire != NULL ? r->now + ms : NEVER;
    r->fire = fire;
}

/* In the place of the C library's: a user may have too many instances and
 * watches, and a link may change just before it is watched. */
static bool no_inotify;

int
inotify_init1(int flags)
{
    if (!no_inotify)
        return (int)syscall(SYS_inotify_init1, flags);
    errno = EMFILE;
    return -1;
}

static bool no_watches;
static void (*before_watch)(const char *path);

int
inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    if (before_watch != NULL)
        before_watch(path);
    if (!no_watches)
        return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
    errno = ENOSPC;
    return -1;
}

/* --- a test's folder and resolver ---------------------------------------- */

static struct vc_resolver r;
static char folder[64];
static unsigned descriptors; /* that were open before */

static unsigned
descriptors_count(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* As vc_channel_close() does it. */
static void
close_channel(void)
{
    void *state = r.state;

    r.fd = -1;
    r.at = NEVER;
    r.state = NULL;
    if (state != NULL)
        vc__file_resolver.close(state);
}

static int
begin(void **state)
{
    (void)state;
    memset(&r, 0, sizeof r);
    r.fd = -1;
    r.at = NEVER;
    no_inotify = no_watches = false;
    before_watch = NULL;
    descriptors = descriptors_count();
    /* In memory if possible: with a disk, ext4 writes each file that replaces
     * another at once, and 30 tests take 20 s. */
    snprintf(folder, sizeof folder, "/dev/shm/vc-file-resolver-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        snprintf(folder, sizeof folder, "/tmp/vc-file-resolver-XXXXXX");
        if (mkdtemp(folder) == NULL)
            return 1;
    }
    return chdir(folder);
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void
remove_all(const char *path)
{
    assert_int_equal(0, nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS));
}

static int
end(void **state)
{
    (void)state;
    close_channel();
    remove_all(folder);
    return chdir("/") != 0 || descriptors_count() != descriptors;
}

/* Has the resolver see what inotify has reported. */
static void
look(void)
{
    struct pollfd p = {.fd = r.fd, .events = POLLIN};

    while (r.fd >= 0 && poll(&p, 1, 0) == 1)
        r.ready(r.state, r.fd);
}

/* Lets so many milliseconds pass. */
static void
pass(uint64_t ms)
{
    uint64_t until = r.now + ms;

    look();
    while (r.at <= until) {
        void (*fire)(void *) = r.fire;

        r.now = r.at;
        r.at = NEVER;
        fire(r.state);
        look();
    }
    r.now = until;
}

static void
open_target(const char *target)
{
    assert_int_equal(VC_OK, vc__file_resolver.open(&r, target, &r.state));
    assert_int_equal(r.fd, -1); /* open() is not on the engine's thread */
    pass(0);
}

/* Opens file:///FOLDER/NAME. */
static void
open_file(const char *name)
{
    char target[512];

    snprintf(target, sizeof target, "file://%s/%s", folder, name);
    open_target(target);
}

/* Writes a file in its place. */
static void
write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    assert_int_equal(strlen(text), fwrite(text, 1, strlen(text), f));
    assert_int_equal(0, fclose(f));
}

/* Replaces a file by rename(2). */
static void
replace_file(const char *name, const char *text)
{
    write_file("new", text);
    assert_int_equal(0, rename("new", name));
}

static void
replace_link(const char *name, const char *to)
{
    assert_int_equal(0, symlink(to, "new"));
    assert_int_equal(0, rename("new", name));
}

/* The channel has had this many lists, now has this one, and nothing is wrong
 * with it. */
static void
assert_set(unsigned sets, const char *servers)
{
    assert_string_equal(r.why, "");
    assert_string_equal(r.servers, servers);
    assert_int_equal(r.sets, sets);
}

/* The channel was last given this reason, which follows "the file PATH ". */
static void
assert_why(unsigned fails, const char *name, const char *why)
{
    char text[VC_ERROR_SIZE];

    snprintf(text, sizeof text, "the file %s/%s %s", folder, name, why);
    assert_string_equal(r.why, text);
    assert_int_equal(r.fails, fails);
}

#define A    "tcp://a:1"
#define B    "tcp://b:1"
#define C    "tcp://c:1"
#define SET  " 1 0 - -" /* what follows a target without words */
#define GONE "cannot be opened: No such file or directory"

/* --- open and close ------------------------------------------------------ */

static void
a_file_is_read_when_the_channel_is_opened(void **state)
{
    (void)state;
    write_file("servers",
               "# all\n" A " weight=2 label=x\n" B " priority=1 hash_key=k\n");
    open_file("servers");
    assert_set(1, A " 2 0 x -, " B " 1 1 - k");
    pass(100 * SECOND);
    assert_set(1, A " 2 0 x -, " B " 1 1 - k");
}

static void
a_path_may_be_written_in_each_form(void **state)
{
    char target[512];

    (void)state;
    write_file("servers", A);
    snprintf(target, sizeof target, "file:%s/servers", folder);
    open_target(target);
    close_channel();
    open_target("file:servers");
    close_channel();
    assert_int_equal(0, mkdir("x", 0777));
    open_target("file:./x/..//servers");
    assert_set(3, A SET);
    write_file("servers", B);
    pass(20);
    assert_set(4, B SET);
}

/* A relative path is that of the folder where the program was. */
static void
a_program_may_go_to_another_folder(void **state)
{
    char path[512];

    (void)state;
    write_file("servers", A);
    open_target("file:servers");
    assert_int_equal(0, chdir("/"));
    snprintf(path, sizeof path, "%s/servers", folder);
    write_file(path, B);
    pass(20);
    assert_set(2, B SET);
}

static void
a_relative_path_may_begin_at_the_root(void **state)
{
    (void)state;
    assert_int_equal(0, chdir("/"));
    open_target("file:no-such-file");
    assert_string_equal(r.why, "the file /no-such-file " GONE);
}

static void
a_malformed_target_is_refused(void **state)
{
    static const struct {
        const char *target, *why;
    } rows[] = {
        {"file:", "it has no file's name; write file:///PATH"},
        {"file:///", "it has no file's name; write file:///PATH"},
        {"file:/etc/", "it has no file's name; write file:///PATH"},
        {"file://etc/x",
         "a file of another host cannot be read; write file:///PATH, or "
         "file:PATH for one relative to the current folder"},
        {"file:///nowhere/x",
         "the file may come later, but its folder must be there: No such file "
         "or directory"},
        {"file:///dev/null/x",
         "the file may come later, but its folder must be there: Not a "
         "directory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];

        assert_int_equal(VC_INVALID_ARGUMENT,
                         vc__file_resolver.open(&r, rows[i].target, &r.state));
        snprintf(text, sizeof text, "target \"%s\": %s", rows[i].target,
                 rows[i].why);
        assert_string_equal(r.why, text);
        assert_null(r.state);
        assert_true(r.at == NEVER);
    }
}

static void
a_path_that_is_too_long_is_refused(void **state)
{
    char target[PATH_MAX + 16];

    (void)state;
    memset(target, 'x', sizeof target);
    memcpy(target, "file:/x", 7);
    target[sizeof target - 1] = '\0';
    assert_int_equal(VC_INVALID_ARGUMENT,
                     vc__file_resolver.open(&r, target, &r.state));
    assert_non_null(strstr(r.why, "\": its path is too long"));
}

static void
the_descriptor_does_not_block_and_is_closed_by_exec(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    assert_true(fcntl(r.fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
}

/* --- changes ------------------------------------------------------------- */

static void
a_file_that_is_replaced_is_read_20_ms_later(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    for (unsigned i = 0; i < 5; i++) {
        replace_file("servers", i % 2 == 0 ? B : C);
        pass(19);
        assert_int_equal(r.sets, 1 + i);
        pass(1);
        assert_set(2 + i, i % 2 == 0 ? B SET : C SET);
    }
    assert_int_equal(r.fails, 0);
}

static void
a_file_that_is_written_in_its_place_is_read_when_it_is_closed(void **state)
{
    FILE *f;

    (void)state;
    write_file("servers", A);
    open_file("servers");
    f = fopen("servers", "w");
    assert_non_null(f);
    fputs(B "\n", f);
    fflush(f);
    pass(SECOND);
    assert_set(1, A SET); /* it is half written */
    fputs(C "\n", f);
    fclose(f);
    pass(20);
    assert_set(2, B SET ", " C SET);
}

/* A reading in the middle of a write is corrected. */
static void
a_reading_of_half_a_file_is_followed_by_another(void **state)
{
    FILE *f;

    (void)state;
    open_file("servers");
    f = fopen("servers", "w");
    assert_non_null(f);
    pass(20);
    assert_why(2, "servers",
               "is malformed: has no target; it needs at least "
               "one, as rdma://HOST:PORT");
    fputs(B "\n", f);
    fclose(f);
    pass(20);
    assert_set(1, B SET);
}

static void
a_file_that_is_removed_leaves_its_servers_until_it_is_made_anew(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    assert_int_equal(0, unlink("servers"));
    pass(20);
    assert_why(1, "servers", GONE);
    assert_string_equal(r.servers, A SET);
    pass(100 * SECOND);
    assert_int_equal(r.fails, 1); /* said once */
    write_file("servers", A);     /* the same as before */
    pass(20);
    assert_set(2, A SET);
}

static void
a_file_that_is_renamed_away_is_missed(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    assert_int_equal(0, rename("servers", "former"));
    pass(20);
    assert_why(1, "servers", GONE);
}

static void
a_file_may_come_later(void **state)
{
    (void)state;
    open_file("servers");
    assert_why(1, "servers", GONE);
    assert_true(r.at == NEVER);
    write_file("other", A);
    assert_int_equal(0, link("other", "servers"));
    pass(20);
    assert_set(1, A SET);
}

static void
a_malformed_file_leaves_the_servers_until_it_is_mended(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    replace_file("servers", B "\n" C " wieght=2\n");
    pass(20);
    assert_why(1, "servers",
               "is malformed: line 2: unknown word \"wieght=2\"; after the "
               "target there may be weight=1..1000000, priority=0..255, "
               "label=TEXT and hash_key=TEXT");
    assert_string_equal(r.servers, A SET);
    replace_file("servers", B "\n" C " weight=2\n");
    pass(20);
    assert_set(2, B SET ", " C " 2 0 - -");
}

static void
a_file_with_the_same_text_changes_nothing(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    replace_file("servers", A);
    pass(20);
    write_file("servers", A);
    pass(20);
    assert_set(1, A SET);
    assert_int_equal(r.timers, 3); /* it was read twice */
}

static void
many_changes_within_20_ms_are_read_once(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    for (unsigned i = 0; i < 200; i++) {
        char text[64];

        snprintf(text, sizeof text, "tcp://x:%u", i);
        replace_file("servers", text);
        look();
    }
    pass(20);
    assert_set(2, "tcp://x:199" SET);
    assert_int_equal(r.timers, 2);
    pass(100 * SECOND);
    assert_int_equal(r.sets, 2);
}

static void
other_files_in_the_folder_do_not_matter(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    write_file("servers.bak", B);
    replace_file("server", B);
    assert_int_equal(0, mkdir("x", 0777));
    assert_int_equal(0, rmdir("x"));
    look();
    assert_true(r.at == NEVER);
}

/* The kernel keeps fs.inotify.max_queued_events of them. */
static void
a_change_among_too_many_events_is_noticed(void **state)
{
    unsigned long most = 0;
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");

    (void)state;
    if (f == NULL || fscanf(f, "%lu", &most) != 1 || most > 100000)
        skip();
    fclose(f);
    write_file("servers", A);
    open_file("servers");
    for (unsigned long i = 0; i <= most / 2; i++) { /* two events each */
        assert_int_equal(0, mkdir("x", 0777));
        assert_int_equal(0, rmdir("x"));
    }
    replace_file("servers", B);
    pass(20);
    assert_set(2, B SET);
}

static void
a_thousand_servers_are_read(void **state)
{
    static char text[64 * 1024];
    size_t len = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "tcp://10.0.%u.%u:7471\n", i / 256, i % 256);
    write_file("servers", A);
    open_file("servers");
    replace_file("servers", text);
    pass(20);
    assert_int_equal(r.sets, 2);
    assert_non_null(strstr(r.servers, "tcp://10.0.3.231:7471"));
}

/* --- links --------------------------------------------------------------- */

/* As Kubernetes mounts a config map: servers -> ..data/servers, and ..data ->
 * ..NUMBER. An update makes another ..NUMBER and replaces ..data (AtomicWriter
 * of kubelet). */
static void
map_update(unsigned number, const char *text)
{
    char name[32];

    snprintf(name, sizeof name, "..%u", number);
    assert_int_equal(0, mkdir(name, 0777));
    snprintf(name, sizeof name, "..%u/servers", number);
    write_file(name, text);
    snprintf(name, sizeof name, "..%u", number);
    replace_link("..data", name);
    if (number == 1)
        return;
    snprintf(name, sizeof name, "..%u", number - 1);
    remove_all(name);
}

/* How many folders inotify watches. */
static unsigned
folders_watched(void)
{
    char line[256];
    unsigned n = 0;
    FILE *f;

    snprintf(line, sizeof line, "/proc/self/fdinfo/%d", r.fd);
    f = fopen(line, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        n += strncmp(line, "inotify wd:", 11) == 0;
    fclose(f);
    return n;
}

static void
updates_of_a_config_map_are_read(void **state)
{
    (void)state;
    map_update(1, A);
    assert_int_equal(0, symlink("..data/servers", "servers"));
    open_file("servers");
    assert_set(1, A SET);
    for (unsigned i = 2; i < 20; i++) {
        map_update(i, i % 2 == 0 ? B : C);
        pass(20);
        assert_set(i, i % 2 == 0 ? B SET : C SET);
        assert_int_equal(folders_watched(), 2);
    }
    assert_int_equal(r.fails, 0);
}

/* The same without the link in the volume's root. */
static void
updates_of_a_config_map_are_read_through_its_data(void **state)
{
    (void)state;
    map_update(1, A);
    open_file("..data/servers");
    map_update(2, B);
    pass(20);
    assert_set(2, B SET);
    map_update(3, C);
    pass(20);
    assert_set(3, C SET);
    assert_int_equal(r.fails, 0);
}

/* Nobody removes the former folder here. */
static void
a_link_to_the_folder_may_be_changed(void **state)
{
    (void)state;
    assert_int_equal(0, mkdir("1", 0777));
    assert_int_equal(0, mkdir("2", 0777));
    write_file("1/servers", A);
    write_file("2/servers", B);
    assert_int_equal(0, symlink("1", "current"));
    open_file("current/servers");
    replace_link("current", "2");
    pass(20);
    assert_set(2, B SET);
    write_file("2/servers", C);
    pass(20);
    assert_set(3, C SET);
    assert_int_equal(folders_watched(), 2);
    write_file("1/servers", B);
    look();
    assert_true(r.at == NEVER);
}

static void
change_current(const char *path)
{
    if (strcmp(strrchr(path, '/'), strrchr(folder, '/')) != 0)
        return;
    before_watch = NULL;
    replace_link("current", "2");
}

static void
a_link_that_changes_while_it_is_followed_is_followed_anew(void **state)
{
    (void)state;
    assert_int_equal(0, mkdir("1", 0777));
    assert_int_equal(0, mkdir("2", 0777));
    write_file("1/servers", A);
    write_file("2/servers", B);
    assert_int_equal(0, symlink("1", "current"));
    before_watch = change_current;
    open_file("current/servers");
    assert_set(1, B SET);
    write_file("2/servers", C);
    pass(20);
    assert_set(2, C SET);
}

static void
a_file_in_another_folder_is_read_through_its_link(void **state)
{
    char path[512];

    (void)state;
    assert_int_equal(0, mkdir("1", 0777));
    write_file("1/real", A);
    snprintf(path, sizeof path, "%s/1/./../1/real", folder);
    assert_int_equal(0, symlink(path, "link"));
    assert_int_equal(0, symlink("link", "servers"));
    open_file("servers");
    assert_set(1, A SET);
    write_file("1/real", B);
    pass(20);
    assert_set(2, B SET);
}

static void
a_link_to_nothing_is_followed_once_something_is_there(void **state)
{
    (void)state;
    assert_int_equal(0, symlink("1/servers", "servers"));
    open_file("servers");
    assert_why(1, "servers",
               GONE "; it is read once a second, as it cannot be "
                    "watched: No such file or directory");
    assert_int_equal(0, mkdir("1", 0777));
    write_file("1/servers", A);
    pass(SECOND);
    assert_set(1, A SET);
    assert_true(r.at == NEVER);
}

static void
a_link_to_itself_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(0, symlink("servers", "servers"));
    open_file("servers");
    assert_why(1, "servers",
               "cannot be opened: Too many levels of symbolic links; it is "
               "read once a second, as it cannot be watched: more than 15 "
               "links lead to it");
    replace_file("servers", A);
    pass(20);
    assert_set(1, A SET);
    pass(20 * SECOND);
    assert_true(r.at == NEVER);
}

static void
a_file_that_many_links_lead_to_is_read_each_second(void **state)
{
    char to[16] = "real", name[16];

    (void)state;
    write_file("real", A);
    for (unsigned i = 0; i < 16; i++) {
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(0, symlink(to, name));
        strcpy(to, name);
    }
    open_file("14");
    assert_set(1, A SET);
    assert_true(r.at == NEVER);
    close_channel();
    open_file("15");
    assert_int_equal(r.sets, 2);
    assert_why(1, "15",
               "is read once a second, as it cannot be watched: more "
               "than 15 links lead to it");
    write_file("real", B);
    pass(SECOND);
    assert_string_equal(r.servers, B SET);
    pass(20 * SECOND);
    assert_int_equal(r.sets, 3);
    assert_int_equal(r.fails, 2); /* again with the new servers */
}

/* --- folders, and what is no file ---------------------------------------- */

static void
a_folder_that_is_removed_is_looked_for_each_second(void **state)
{
    (void)state;
    assert_int_equal(0, mkdir("conf", 0777));
    write_file("conf/servers", A);
    open_file("conf/servers");
    assert_int_equal(0, unlink("conf/servers"));
    pass(20);
    assert_why(1, "conf/servers", GONE);
    assert_int_equal(0, rmdir("conf"));
    pass(20);
    assert_why(2, "conf/servers",
               GONE "; it is read once a second, as it cannot be watched: No "
                    "such file or directory");
    assert_string_equal(r.servers, A SET);
    pass(60 * SECOND);
    assert_int_equal(r.fails, 2);
    assert_int_equal(0, mkdir("conf", 0777));
    write_file("conf/servers", B);
    pass(SECOND);
    assert_set(2, B SET);
    assert_true(r.at == NEVER);
    replace_file("conf/servers", C);
    pass(20);
    assert_set(3, C SET);
}

static void
a_folder_that_is_replaced_is_read_at_once(void **state)
{
    (void)state;
    assert_int_equal(0, mkdir("conf", 0777));
    write_file("conf/servers", A);
    open_file("conf/servers");
    assert_int_equal(0, rename("conf", "former"));
    assert_int_equal(0, mkdir("conf", 0777));
    write_file("conf/servers", B);
    pass(20);
    assert_set(2, B SET);
    write_file("former/servers", C);
    look();
    assert_true(r.at == NEVER);
}

static void
a_fifo_does_not_block(void **state)
{
    (void)state;
    write_file("servers", A);
    open_file("servers");
    assert_int_equal(0, mkfifo("fifo", 0666));
    assert_int_equal(0, rename("fifo", "servers"));
    pass(20);
    assert_why(1, "servers", "is no regular file");
    assert_true(r.at == NEVER);
    replace_file("servers", B);
    pass(20);
    assert_set(2, B SET);
}

static void
a_folder_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(0, mkdir("servers", 0777));
    open_file("servers");
    assert_why(1, "servers", "is no regular file");
    assert_int_equal(0, rmdir("servers"));
    write_file("servers", A);
    pass(20);
    assert_set(1, A SET);
}

static void
a_file_of_more_than_a_mebibyte_is_refused(void **state)
{
    (void)state;
    write_file("servers", A);
    assert_int_equal(0, truncate("servers", 8 << 20)); /* it has a hole */
    open_file("servers");
    assert_why(1, "servers", "is malformed: has more than 1048576 bytes");
}

/* --- permissions --------------------------------------------------------- */

/* Root may read everything: so the resolver runs as another user. */
static void
pass_as_user(uint64_t ms)
{
    bool root = geteuid() == 0;

    if (root && seteuid(65534) != 0)
        skip();
    pass(ms);
    assert_true(!root || seteuid(0) == 0);
}

static void
a_file_that_may_be_read_again_is_read(void **state)
{
    (void)state;
    assert_int_equal(0, chmod(folder, 0755));
    write_file("servers", A);
    open_file("servers");
    write_file("servers", B);
    assert_int_equal(0, chmod("servers", 0));
    pass_as_user(20);
    assert_why(1, "servers", "cannot be opened: Permission denied");
    assert_int_equal(0, chmod("servers", 0644));
    pass_as_user(20);
    assert_set(2, B SET);
}

static void
a_folder_that_may_not_be_read_has_the_file_read_each_second(void **state)
{
    (void)state;
    assert_int_equal(0, chmod(folder, 0755));
    assert_int_equal(0, mkdir("conf", 0711));
    write_file("conf/servers", A);
    open_file("conf/servers");
    assert_int_equal(0, chmod("conf", 0111));
    pass_as_user(20);
    assert_why(1, "conf/servers",
               "is read once a second, as it cannot be "
               "watched: Permission denied");
    assert_int_equal(0, chmod("conf", 0711));
    write_file("conf/servers", B);
    assert_int_equal(0, chmod("conf", 0111));
    pass_as_user(SECOND);
    assert_string_equal(r.servers, B SET);
    assert_int_equal(0, chmod("conf", 0755));
    pass_as_user(SECOND);
    assert_set(3, B SET);
    assert_true(r.at == NEVER);
}

/* --- what is lacking ----------------------------------------------------- */

static void
without_an_inotify_instance_the_file_is_read_each_second(void **state)
{
    (void)state;
    no_inotify = true;
    write_file("servers", A);
    open_file("servers");
    assert_int_equal(r.sets, 1);
    assert_why(1, "servers",
               "is read once a second, as it cannot be watched: no inotify "
               "instance is left; raise fs.inotify.max_user_instances, or the "
               "limit of open descriptors (ulimit -n)");
    write_file("servers", B);
    pass(SECOND);
    assert_string_equal(r.servers, B SET);
    pass(20 * SECOND);
    assert_int_equal(r.sets, 2);

    no_inotify = false; /* one is free again */
    pass(SECOND);
    assert_set(3, B SET);
    assert_true(r.at == NEVER);
    write_file("servers", C);
    pass(20);
    assert_set(4, C SET);
}

static void
without_an_inotify_watch_the_file_is_read_each_second(void **state)
{
    (void)state;
    no_watches = true;
    write_file("servers", A);
    open_file("servers");
    assert_why(1, "servers",
               "is read once a second, as it cannot be watched: no inotify "
               "watch is left; raise fs.inotify.max_user_watches");
    no_watches = false;
    write_file("servers", B);
    pass(SECOND);
    assert_set(2, B SET);
    assert_true(r.at == NEVER);
}

static void
if_the_engine_cannot_watch_the_file_is_read_each_second(void **state)
{
    (void)state;
    r.refuses_to_watch = true;
    write_file("servers", A);
    open_file("servers");
    pass(SECOND);
    assert_why(1, "servers",
               "is read once a second, as it cannot be watched: "
               "the engine has no room");
    write_file("servers", B);
    pass(SECOND);
    assert_string_equal(r.servers, B SET);
    r.refuses_to_watch = false;
    pass(SECOND + 20); /* what inotify had to report is seen now, too */
    assert_set(3, B SET);
    assert_true(r.at == NEVER);
    write_file("servers", C);
    pass(20);
    assert_set(4, C SET);
}

static void
without_a_descriptor_the_file_is_opened_a_second_later(void **state)
{
    struct rlimit most, few;

    (void)state;
    write_file("servers", A);
    open_file("servers");
    replace_file("servers", B);
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &most));
    few = (struct rlimit){.rlim_cur = 3, .rlim_max = most.rlim_max};
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &few));
    pass(20);
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &most));
    assert_why(1, "servers", "cannot be opened: Too many open files");
    pass(SECOND);
    assert_set(2, B SET);
    assert_true(r.at == NEVER);
}

static void
servers_that_the_channel_refuses_are_reported(void **state)
{
    (void)state;
    r.answer = VC_INVALID_ARGUMENT;
    write_file("servers", "x:1");
    open_file("servers");
    assert_why(1, "servers",
               "has servers that are refused: the channel does "
               "not like them");
    assert_true(r.at == NEVER); /* they stay as they are */
    r.answer = VC_OK;
    write_file("servers", A);
    pass(20);
    assert_set(1, A SET);
}

static void
servers_that_the_channel_has_no_memory_for_are_given_again(void **state)
{
    (void)state;
    r.answer = VC_RESOURCE_EXHAUSTED;
    write_file("servers", A);
    open_file("servers");
    assert_int_equal(r.fails, 1);
    pass(10 * SECOND);
    r.answer = VC_OK;
    pass(SECOND);
    assert_set(1, A SET);
    assert_true(r.at == NEVER);
}

/* Inotify knows nothing of changes that other hosts make in a network's file
 * system. */
static void
a_file_is_read_again_when_a_server_is_lost(void **state)
{
    (void)state;
    no_inotify = true;
    write_file("servers", A);
    open_file("servers");
    write_file("servers", B);
    vc__file_resolver.again(r.state);
    pass(20);
    assert_string_equal(r.servers, B SET);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_read_when_the_channel_is_opened),
        TEST(a_path_may_be_written_in_each_form),
        TEST(a_program_may_go_to_another_folder),
        TEST(a_relative_path_may_begin_at_the_root),
        TEST(a_malformed_target_is_refused),
        TEST(a_path_that_is_too_long_is_refused),
        TEST(the_descriptor_does_not_block_and_is_closed_by_exec),
        TEST(a_file_that_is_replaced_is_read_20_ms_later),
        TEST(a_file_that_is_written_in_its_place_is_read_when_it_is_closed),
        TEST(a_reading_of_half_a_file_is_followed_by_another),
        TEST(a_file_that_is_removed_leaves_its_servers_until_it_is_made_anew),
        TEST(a_file_that_is_renamed_away_is_missed),
        TEST(a_file_may_come_later),
        TEST(a_malformed_file_leaves_the_servers_until_it_is_mended),
        TEST(a_file_with_the_same_text_changes_nothing),
        TEST(many_changes_within_20_ms_are_read_once),
        TEST(other_files_in_the_folder_do_not_matter),
        TEST(a_change_among_too_many_events_is_noticed),
        TEST(a_thousand_servers_are_read),
        TEST(updates_of_a_config_map_are_read),
        TEST(updates_of_a_config_map_are_read_through_its_data),
        TEST(a_link_to_the_folder_may_be_changed),
        TEST(a_link_that_changes_while_it_is_followed_is_followed_anew),
        TEST(a_file_in_another_folder_is_read_through_its_link),
        TEST(a_link_to_nothing_is_followed_once_something_is_there),
        TEST(a_link_to_itself_is_no_file),
        TEST(a_file_that_many_links_lead_to_is_read_each_second),
        TEST(a_folder_that_is_removed_is_looked_for_each_second),
        TEST(a_folder_that_is_replaced_is_read_at_once),
        TEST(a_fifo_does_not_block),
        TEST(a_folder_is_no_file),
        TEST(a_file_of_more_than_a_mebibyte_is_refused),
        TEST(a_file_that_may_be_read_again_is_read),
        TEST(a_folder_that_may_not_be_read_has_the_file_read_each_second),
        TEST(without_an_inotify_instance_the_file_is_read_each_second),
        TEST(without_an_inotify_watch_the_file_is_read_each_second),
        TEST(if_the_engine_cannot_watch_the_file_is_read_each_second),
        TEST(without_a_descriptor_the_file_is_opened_a_second_later),
        TEST(servers_that_the_channel_refuses_are_reported),
        TEST(servers_that_the_channel_has_no_memory_for_are_given_again),
        TEST(a_file_is_read_again_when_a_server_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
