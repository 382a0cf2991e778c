/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names and paths to listen at, who may connect there, and rejected requests.
 * The static functions for requests run on the holder of the ear's engine;
 * those for listening within vc__shm_listen(), on any thread. See
 * transport/shm/wire.h. */
#define _GNU_SOURCE /* struct ucred */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/core/le.h"
#include "transport/shm/refusal.h"
#include "transport/shm/wire.h"
#include "transport/socket/ear.h"

#define MODE_ALL 0006u /* all users may connect */

/* --- addresses ------------------------------------------------------------ */

/* "@NAME" stands for an abstract name, which needs no file. The socket's name
 * is made of the name's key, as a redirect has no room for more (doc/wire.md,
 * 2.4). Called when a client connects and when a server listens. */
socklen_t
vc__shm_sockaddr(const struct sockaddr_storage *addr, struct sockaddr_un *out)
{
    const char *name = ((const struct sockaddr_un *)addr)->sun_path;
    uint8_t key[VC__ADDR_KEY];
    int n;

    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    vc__addr_key(addr, key);
    if (strncmp(name, "@!", 2) == 0)
        n = 1 + snprintf(out->sun_path + 1, sizeof out->sun_path - 1,
                         "verbcall/%.*s", 1 + 2 * VC__ADDR_DRAWN, name + 1);
    else if (name[0] == '@')
        n = 1 + snprintf(out->sun_path + 1, sizeof out->sun_path - 1,
                         "verbcall/%016" PRIx64, vc__get64(key));
    else
        n = 1 + snprintf(out->sun_path, sizeof out->sun_path, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
}

/* --- requests ------------------------------------------------------------- */

bool
vc__shm_peer(int fd, uint32_t *pid, uint32_t *uid)
{
    struct ucred cred;
    socklen_t len = sizeof cred;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
        return false;
    *pid = (uint32_t)cred.pid;
    *uid = cred.uid;
    return true;
}

/* Makes an address for texts, as the client's socket has no name. Called by
 * offer_make(). */
static void
peer_name(struct sockaddr_storage *addr, const struct vc__shm_offer *offer)
{
    struct sockaddr_un *un = (struct sockaddr_un *)addr;

    memset(addr, 0, sizeof *addr);
    un->sun_family = AF_UNIX;
    snprintf(un->sun_path, sizeof un->sun_path, "@process %u of user %u",
             (unsigned)offer->pid, (unsigned)offer->uid);
}

/* True if this user may connect. Files have permissions of their own. A name
 * has none, so only this user and root may connect, unless the mode allows all.
 * A drawn name is open to all: only clients that are connected in another way
 * learn it. Called by offer_make(). */
static bool
is_welcome(const struct vc__ear *ear, uint32_t uid)
{
    return !ear->opts.is_name || ear->opts.is_drawn ||
           (ear->opts.mode & MODE_ALL) == MODE_ALL || uid == geteuid() ||
           uid == 0;
}

/* offer() of the ear: called on the holder when a hello is complete. True:
 * in->handle is the offer, which has the socket and the region; the region may
 * be missing if in->lack is set, and then the request is only rejected. False:
 * the client is turned away without an answer. */
static bool
offer_make(struct vc__ear *ear, struct vc__incoming *in, int fd,
           const struct vc__socket_fds *fds)
{
    struct vc__shm_offer *offer = calloc(1, sizeof *offer);

    if (offer == NULL)
        return false;
    offer->fd = fd;
    if (fds->n == 1 && vc__shm_peer(fd, &offer->pid, &offer->uid) &&
        is_welcome(ear, offer->uid))
        offer->region = vc__shm_region_map(fds->fd[0]);
    /* When this process lacks descriptors, that of the region may be lost; the
     * request is kept to be rejected. */
    if (offer->region == NULL && in->lack == VC__LACK_NOTHING) {
        free(offer);
        return false;
    }
    for (unsigned i = 0; i < fds->n; i++)
        close(fds->fd[i]);
    peer_name(&in->peer, offer);
    in->handle = offer;
    return true;
}

/* Sends the reject, and frees the offer with its socket and region. */
void
vc__shm_reject(const struct vc__incoming *in, const void *data, size_t len)
{
    struct vc__shm_offer *offer = in->handle;

    /* Fails only when the peer has disconnected; then no answer is needed. */
    vc__socket_say(offer->fd, VC__RECORD_REJECT, data, len, NULL);
    close(offer->fd);
    vc__shm_region_unmap(offer->region);
    free(offer);
}

/* --- listening ------------------------------------------------------------ */

/* Called by listen() when it fails: sets the thread's error, from an errno of
 * shm_listen_at(). Returns its status. */
static enum vc_status
fail_listen(const struct sockaddr *addr, int err)
{
    char text[VC__ADDR_TEXT];

    vc__addr_text(addr, text);
    switch (err) {
    case EADDRINUSE:
        return vc__fail(
            VC_UNAVAILABLE,
            "cannot listen at %s: another process listens there, or there is a "
            "file that is no socket; use another name or path",
            text);
    case ENOENT:
    case ENOTDIR:
        return vc__fail(
            VC_UNAVAILABLE,
            "cannot listen at %s: its folder does not exist; make it", text);
    case EACCES:
    case EROFS:
        return vc__fail(VC_PERMISSION_DENIED,
                        "cannot listen at %s: this user may not write to its "
                        "folder",
                        text);
    case EPERM:
        return vc__fail(VC_PERMISSION_DENIED,
                        "cannot listen at %s: this user is not in the group of "
                        "shm_group",
                        text);
    case EINVAL:
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "cannot listen at %s: the group of shm_group does not exist", text);
    default:
        return vc__fail_errno(err, "cannot listen at %s", text);
    }
}

/* Called by listen(): sets the thread's error, when no region or no socket can
 * be made. Returns its status. */
static enum vc_status
fail_call(const struct sockaddr *addr, const char *call, int err)
{
    char text[VC__ADDR_TEXT], what[VC__ADDR_TEXT + 20];

    vc__addr_text(addr, text);
    snprintf(what, sizeof what, "cannot listen at %s", text);
    return vc__shm_fail(what, call, err);
}

/* True if the file is a socket left by a killed process: nobody listens there.
 * Called by bind_at(). */
static bool
is_left_over(const struct sockaddr_un *addr, socklen_t len)
{
    int fd = vc__socket_new(AF_UNIX);
    struct stat st;
    bool refused = fd >= 0 && lstat(addr->sun_path, &st) == 0 &&
                   S_ISSOCK(st.st_mode) &&
                   connect(fd, (const struct sockaddr *)addr, len) != 0 &&
                   errno == ECONNREFUSED;

    if (fd >= 0)
        close(fd);
    return refused;
}

/* Binds the socket, in place of a file that is left over. 0 or an errno. Called
 * by shm_listen_at(). */
static int
bind_at(int fd, const struct sockaddr_un *addr, socklen_t len)
{
    if (bind(fd, (const struct sockaddr *)addr, len) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return errno;
    if (addr->sun_path[0] == '\0' || !is_left_over(addr, len))
        return EADDRINUSE;
    unlink(addr->sun_path);
    return bind(fd, (const struct sockaddr *)addr, len) == 0 ? 0 : errno;
}

/* Sets *gid to the group's number. 0 or an errno; EINVAL: there is no such
 * group. Not by getgrnam(), whose result other threads may overwrite. Called by
 * file_set(). */
static int
group_find(const char *name, gid_t *gid)
{
    struct group group, *found = NULL;
    char *text = NULL;
    int err = ERANGE;

    for (size_t size = 1024; err == ERANGE && size <= 1 << 20; size *= 2) {
        char *more = realloc(text, size);

        if (more == NULL)
            break;
        text = more;
        err = getgrnam_r(name, &group, text, size, &found);
    }
    free(text);
    if (err != 0)
        return err == ERANGE ? ENOMEM : err;
    if (found == NULL)
        return EINVAL;
    *gid = found->gr_gid; /* found is &group */
    return 0;
}

/* Sets the file's group and mode. 0 or an errno; EINVAL: there is no such
 * group. Called by shm_listen_at(), before listen(2), so that no forbidden
 * client connects. */
static int
file_set(const struct vc__ear *ear, const char *path)
{
    gid_t gid = (gid_t)-1;
    int err = 0;

    if (ear->opts.group != NULL)
        err = group_find(ear->opts.group, &gid);
    if (err != 0)
        return err;
    if (ear->opts.group != NULL && chown(path, (uid_t)-1, gid) != 0)
        return errno;
    return chmod(path, ear->opts.mode) == 0 ? 0 : errno;
}

/* Binds the socket and listens. Returns 0, and then the ear has fd; or an
 * errno, and no file is left. Called by vc__shm_listen(). */
static int
shm_listen_at(struct vc__socket_ear *e, int fd, const struct sockaddr *addr)
{
    const struct sockaddr_storage *storage = (const void *)addr;
    struct sockaddr_un un;
    uint32_t uid;
    socklen_t len = vc__shm_sockaddr(storage, &un);
    int err = bind_at(fd, &un, len);

    if (err != 0)
        return err;
    e->ear.opts.is_name = un.sun_path[0] == '\0';
    e->ear.opts.is_drawn = vc__addr_is_drawn(storage, &uid);
    if (!e->ear.opts.is_name)
        err = file_set(&e->ear, un.sun_path);
    if (err == 0)
        err = vc__socket_ear_open(e, fd);
    if (err != 0 && !e->ear.opts.is_name)
        unlink(un.sun_path);
    return err;
}

/* Fails if no region can be made: the server would have to reject every
 * client. */
enum vc_status
vc__shm_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__socket_ear *e = vc__socket_ear_of(ear);
    int err = vc__shm_region_try(), fd;

    if (err != 0)
        return fail_call(addr, VC__SHM_REGION_CALL, err);
    fd = vc__socket_new(AF_UNIX);
    if (fd < 0)
        return fail_call(addr, "socket(AF_UNIX)", errno);
    e->offer = offer_make;
    err = shm_listen_at(e, fd, addr);
    if (err == 0)
        return VC_OK;
    close(fd);
    return fail_listen(addr, err);
}

/* Removes the socket's file, too, if it has one. */
void
vc__shm_unlisten(struct vc__ear *ear)
{
    struct vc__socket_ear *e = vc__socket_ear_of(ear);
    struct sockaddr_un un;
    socklen_t len = sizeof un;

    if (e->strangers != NULL &&
        getsockname(e->source.fd, (struct sockaddr *)&un, &len) == 0 &&
        !ear->opts.is_name)
        unlink(un.sun_path);
    vc__socket_ear_close(e);
}

/* Names and paths have no port. */
uint16_t
vc__shm_port(const struct vc__ear *ear)
{
    (void)ear;
    return 0;
}
