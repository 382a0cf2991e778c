/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/shm/region.h. */
#define _GNU_SOURCE /* memfd_create(), F_GET_SEALS */
#include "transport/shm/region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Seals that a reader needs, so that its mapping stays valid. */
#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW)

/* Maps a region, which the caller unmaps. NULL and errno on failure. Called by
 * vc__shm_region_make() and vc__shm_region_map(). */
static void *
shm_map(int fd, int prot)
{
    void *at =
        mmap(NULL, sizeof(struct vc__shm_region), prot, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        return NULL;
    /* Children of fork() must not use it. */
    madvise(at, sizeof(struct vc__shm_region), MADV_DONTFORK);
    return at;
}

struct vc__shm_region *
vc__shm_region_make(int *fd)
{
    struct vc__shm_region *region = NULL;
    int err;

    *fd = memfd_create("verbcall", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0)
        return NULL;
    if (ftruncate(*fd, sizeof *region) == 0)
        region = shm_map(*fd, PROT_READ | PROT_WRITE);
    if (region != NULL &&
        fcntl(*fd, F_ADD_SEALS, SEALS_NEEDED | F_SEAL_SEAL) == 0)
        return region;
    err = errno;
    if (region != NULL)
        munmap(region, sizeof *region);
    close(*fd);
    errno = err;
    return NULL;
}

int
vc__shm_region_try(void)
{
    int fd;
    struct vc__shm_region *region = vc__shm_region_make(&fd);

    if (region == NULL)
        return errno;
    vc__shm_region_unmap(region);
    close(fd);
    return 0;
}

/* True if fd is a region. Not memory of huge pages: it may be missing when
 * read, even if sealed. Called by vc__shm_region_map(). */
static bool
is_region(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct statfs fs;
    struct stat st;

    return seals >= 0 && (seals & SEALS_NEEDED) == SEALS_NEEDED &&
           fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == sizeof(struct vc__shm_region) &&
           fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

const struct vc__shm_region *
vc__shm_region_map(int fd)
{
    if (is_region(fd))
        return shm_map(fd, PROT_READ);
    errno = EPROTO;
    return NULL;
}

void
vc__shm_region_unmap(const struct vc__shm_region *region)
{
    if (region != NULL)
        munmap((void *)region, sizeof *region);
}

void
vc__shm_region_trim(struct vc__shm_region *region)
{
    /* If this fails, the memory stays in use. */
    madvise(region->data + VC__SHM_KEPT, VC__SHM_DATA - VC__SHM_KEPT,
            MADV_REMOVE);
}
