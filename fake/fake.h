/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A simulated world of hosts with RDMA devices, in one process: the calls of
 * libibverbs and librdmacm, the clock, threads, descriptors and memory of the
 * programs in it. One thread runs at a time; which one, and how long things
 * take, comes from a seed: the same seed is the same run, to the byte.
 *
 * A program is linked with libfake in place of libibverbs and librdmacm, and
 * with the linker's --wrap for the system's calls: see README.md. It is not
 * changed for it, and nothing here knows it. */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the world --------------------------------------------------------- */

enum fake_profile {
    FAKE_RXE,    /* Soft-RoCE of Linux 6.1, lax as it is */
    FAKE_STRICT, /* what the specification allows an adapter to insist on */
};

struct fake_opts {
    uint64_t seed;
    enum fake_profile profile;
    /* Another thread may go on at one of so many calls; 0: only when the one
     * that runs waits. */
    unsigned switch_every;
    bool trace; /* keep what happens for fake_trace() */
    /* Nanoseconds that each call of the system, verbs or rdma_cm takes; 0:
     * 200. */
    unsigned call_ns;
};

struct fake_host;
struct fake_process;

/* fake_begin - makes a world. The thread that calls it becomes the first of
 * the process "main" on the host "local" with address 10.9.0.1. One world at
 * a time. */
void fake_begin(const struct fake_opts *opts);

/* fake_end - ends it; only the calling thread may be left in "main", other
 * processes that still run are killed. Says on stderr what processes that
 * ended by themselves, "main" included, did not give back, and returns how
 * many things that were. */
unsigned fake_end(void);

/* fake_host_new - a host with one device, rxe0, at an IPv4 or IPv6 address.
 * Its name can be looked up by getaddrinfo(); hosts of one name are as one host
 * with several addresses there. */
struct fake_host *fake_host_new(const char *name, const char *addr);
struct fake_host *fake_host_local(void);

/* fake_device_new - a further device of a host, rxe1 and so on, at an address of
 * its own. What is returned stands for it where a function says "device", port
 * or wire; processes are the host's. */
struct fake_host *fake_device_new(struct fake_host *host, const char *addr);

/* fake_process_start - starts a process, whose first thread runs body(arg).
 * It ends when that returns, or by fake_process_kill(). */
struct fake_process *fake_process_start(struct fake_host *host,
                                        const char *name, void (*body)(void *),
                                        void *arg);

/* fake_process_kill - as SIGKILL: no thread of it runs on, the kernel takes
 * what it had, and its peers are told what a kernel tells them. */
void fake_process_kill(struct fake_process *p);

/* fake_process_freeze, fake_process_thaw - as SIGSTOP and SIGCONT: its threads
 * stand still, its kernel and device go on. */
void fake_process_freeze(struct fake_process *p);
void fake_process_thaw(struct fake_process *p);

/* fake_process_wait - waits until it has ended, us microseconds of simulated
 * time at most; true when it has. */
bool fake_process_wait(struct fake_process *p, uint64_t us);
bool fake_process_ended(const struct fake_process *p);

/* fake_process_self - that of the calling thread. */
struct fake_process *fake_process_self(void);

/* fake_process_name - what fake_process_start() was told. The text stays until
 * the world ends. */
const char *fake_process_name(const struct fake_process *p);

/* fake_now_us, fake_sleep_us - the simulated clock. */
uint64_t fake_now_us(void);
void fake_sleep_us(uint64_t us);

/* What a process has now. */
struct fake_census {
    unsigned contexts, pds, cqs, srqs, qps, mrs, mws, ahs;
    unsigned comp_channels, event_channels, ids, events; /* not acknowledged */
    unsigned descriptors, threads, blocks;               /* of memory */
};
void fake_census(const struct fake_process *p, struct fake_census *out);

/* --- faults ------------------------------------------------------------ */

/* fake_fail - the nth call (1..) of the function with this name from now on in
 * this process, or in any when p is NULL, fails with err. "*" stands for
 * every function of verbs and rdma_cm that may fail. */
void fake_fail(struct fake_process *p, const char *name, unsigned nth, int err);

/* fake_fail_memory - the same for allocations: malloc, calloc, realloc,
 * aligned_alloc, posix_memalign, strdup, mmap. */
void fake_fail_memory(struct fake_process *p, unsigned nth);

/* fake_failed - how many faults of the two kinds have struck; and takes back
 * those that have not. */
unsigned fake_failed(void);
void fake_fail_no_more(void);

/* fake_calls, fake_allocations - how many there were that could have failed,
 * since the world began, in this process. */
unsigned fake_calls(const struct fake_process *p);
unsigned fake_allocations(const struct fake_process *p);

/* What happens is told in lines (see fake_trace()). A rule says what becomes
 * of the nth (1..) line from now on that has this text in it, 0: of each. */
enum fake_deed {
    FAKE_LOSE,  /* the packet or message is lost, this once */
    FAKE_DROP,  /* the completion or event never comes */
    FAKE_DELAY, /* it comes so many microseconds later */
    FAKE_FLUSH, /* the QP it belongs to goes to error at this moment; lines of
                 * rdma_cm have none */
    FAKE_ALTER, /* a byte of the private data is changed */
};
void fake_rule(const char *text, unsigned nth, enum fake_deed deed,
               uint64_t us);

/* fake_when - does what the function does when the nth such line comes, before
 * what the line says has its effect on others. */
void fake_when(const char *text, unsigned nth, void (*deed)(void *), void *arg);
void fake_no_rules(void);

/* fake_port_set - port up or down: nothing goes out or comes in; an
 * IBV_EVENT_PORT_ERR or _ACTIVE tells. */
void fake_port_set(struct fake_host *host, bool up);

/* fake_wire_cut - nothing passes between two hosts, and nobody is told. */
void fake_wire_cut(struct fake_host *a, struct fake_host *b, bool cut);

/* fake_device_remove - as `rdma link delete`. */
void fake_device_remove(struct fake_host *host);

/* fake_device_return - as `rdma link add` after it: a new device of the same
 * name and address, without anything of the former one. */
void fake_device_return(struct fake_host *host);

/* fake_device_reads - how many RDMA READs at a time a QP of the host's device
 * takes from its peer (max_qp_rd_atom) and sends to it (max_qp_init_rd_atom):
 * 128 each otherwise, as Soft-RoCE. For devices that nobody has opened yet. */
void fake_device_reads(struct fake_host *host, unsigned in, unsigned out);

/* fake_device_inline - bytes of inline data that a QP of the host's device can
 * have: ibv_create_qp() refuses more with EINVAL. As many as Soft-RoCE has
 * otherwise. Only QPs that are made afterwards. */
void fake_device_inline(struct fake_host *host, unsigned bytes);

/* fake_cm_former - from now on librdmacm is one of old: for ENOMEM, ENODEV,
 * ENODATA, EINVAL and EADDRNOTAVAIL it returns -errno and leaves errno alone. */
void fake_cm_former(bool former);

/* fake_cm_event - each connected id of the process has this event, an enum
 * rdma_cm_event_type, as the kernel may send it: ADDR_CHANGE when a bonded
 * interface fails over, UNREACHABLE while the network is cut. */
void fake_cm_event(struct fake_process *p, int event, int status);

/* --- the trace --------------------------------------------------------- */

/* fake_trace - all lines so far, "[ 12.040] client qp 17: SEND 64 B -> server"
 * with milliseconds of simulated time. Belongs to the world. */
const char *fake_trace(void);

/* fake_see - has see() called with the bytes of each SEND as it goes out, be it
 * again, by process to host; before what its line in the trace leads to. It may
 * look only. NULL, or the world's end: nobody sees. */
typedef void fake_see_send(const char *process, const char *host,
                           const void *bytes, size_t len, void *arg);
void fake_see(fake_see_send *see, void *arg);

/* fake_fingerprint - a number made of all that was done so far: which thread ran
 * when, and the lines of the trace. Runs that have the same are the same. It can
 * be asked for until the next world begins. */
uint64_t fake_fingerprint(void);

/* fake_steps - scheduling points passed so far. */
uint64_t fake_steps(void);

#endif
