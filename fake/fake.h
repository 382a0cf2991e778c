/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A simulated world of hosts with RDMA devices, in one process: the calls of
 * libibverbs and librdmacm, and the clock, threads, descriptors and memory of
 * the programs in it. One thread runs at a time. A seed decides which one, and
 * how long things take: the same seed gives the same run, to the byte.
 *
 * A program is linked with libfake in place of libibverbs and librdmacm, and
 * with the linker's --wrap for system calls: see README.md. The program needs
 * no change, and nothing here depends on it. */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the world --------------------------------------------------------- */

enum fake_profile {
    FAKE_RXE,    /* as lax as Soft-RoCE of Linux 6.1 */
    FAKE_STRICT, /* as strict as the specification allows an adapter to be */
};

struct fake_opts {
    uint64_t seed;
    enum fake_profile profile;
    /* Another thread may run at one of so many calls; 0: only when the running
     * thread waits. */
    unsigned switch_every;
    bool trace; /* keep a trace for fake_trace() */
    /* Nanoseconds that each system, verbs or rdma_cm call takes; 0: 200. */
    unsigned call_ns;
};

struct fake_host;
struct fake_process;

/* fake_begin - creates a world. The calling thread becomes the first thread of
 * process "main" on host "local" with address 10.9.0.1. One world at a time. */
void fake_begin(const struct fake_opts *opts);

/* fake_end - ends the world. Only the calling thread may be left in "main";
 * other processes that still run are killed. Reports on stderr what the
 * processes that ended by themselves, "main" included, have leaked, and returns
 * the number of leaks. */
unsigned fake_end(void);

/* fake_host_new - creates a host with one device, rxe0, at an IPv4 or IPv6
 * address. getaddrinfo() finds its name. Hosts of one name are there like one
 * host with several addresses. */
struct fake_host *fake_host_new(const char *name, const char *addr);
struct fake_host *fake_host_local(void);

/* fake_device_new - creates a further device of a host (rxe1 and so on) at its
 * own address. The result stands for this device in functions about a device,
 * port or wire; processes belong to the host. */
struct fake_host *fake_device_new(struct fake_host *host, const char *addr);

/* fake_process_start - starts a process, whose first thread runs body(arg). The
 * process ends when body returns, or by fake_process_kill(). */
struct fake_process *fake_process_start(struct fake_host *host,
                                        const char *name, void (*body)(void *),
                                        void *arg);

/* fake_process_kill - like SIGKILL: none of its threads runs on, the kernel
 * frees its resources, and its peers are notified as by a kernel. */
void fake_process_kill(struct fake_process *p);

/* fake_process_freeze, fake_process_thaw - like SIGSTOP and SIGCONT: its
 * threads stop, its kernel and device go on. */
void fake_process_freeze(struct fake_process *p);
void fake_process_thaw(struct fake_process *p);

/* fake_process_wait - waits until the process has ended, at most us
 * microseconds of simulated time; true when it has ended. */
bool fake_process_wait(struct fake_process *p, uint64_t us);
bool fake_process_ended(const struct fake_process *p);

/* fake_process_self - the process of the calling thread. */
struct fake_process *fake_process_self(void);

/* fake_process_name - the name given to fake_process_start(). Valid until the
 * world ends. */
const char *fake_process_name(const struct fake_process *p);

/* fake_now_us, fake_sleep_us - the simulated clock. */
uint64_t fake_now_us(void);
void fake_sleep_us(uint64_t us);

/* The number of resources that a process has now. */
struct fake_census {
    unsigned contexts, pds, cqs, srqs, qps, mrs, mws, ahs;
    unsigned comp_channels, event_channels, ids, events; /* not acknowledged */
    unsigned descriptors, threads, blocks;               /* of memory */
};
void fake_census(const struct fake_process *p, struct fake_census *out);

/* --- faults ------------------------------------------------------------ */

/* fake_fail - makes the nth call (1..) from now on of the function with this
 * name fail with err, in this process, or in any if p is NULL. "*" stands for
 * every function of verbs and rdma_cm that may fail. */
void fake_fail(struct fake_process *p, const char *name, unsigned nth, int err);

/* fake_fail_memory - the same for allocations: malloc, calloc, realloc,
 * aligned_alloc, posix_memalign, strdup, mmap. */
void fake_fail_memory(struct fake_process *p, unsigned nth);

/* fake_failed - the number of faults of the two kinds that have occurred.
 * fake_fail_no_more - cancels those that have not. */
unsigned fake_failed(void);
void fake_fail_no_more(void);

/* fake_calls, fake_allocations - the number of calls and allocations that could
 * have failed, since the world began, in this process. */
unsigned fake_calls(const struct fake_process *p);
unsigned fake_allocations(const struct fake_process *p);

/* Each thing that happens has a line in the trace (see fake_trace()). A rule
 * says what to do at the nth (1..) line from now on that contains this text; 0:
 * at each. */
enum fake_deed {
    FAKE_LOSE,  /* this packet or message is lost */
    FAKE_DROP,  /* the completion or event is never delivered */
    FAKE_DELAY, /* it is delayed by so many microseconds; a datagram does not
                 * delay those after it */
    FAKE_FLUSH, /* its QP moves to ERR now; rdma_cm lines have none */
    FAKE_ALTER, /* a byte of the private data is changed */
    FAKE_TWICE, /* this packet of an RC QP, or datagram, arrives twice, so many
                 * microseconds apart */
};
void fake_rule(const char *text, unsigned nth, enum fake_deed deed,
               uint64_t us);

/* fake_when - calls deed(arg) at the nth such line, before the event of that
 * line takes effect on others. */
void fake_when(const char *text, unsigned nth, void (*deed)(void *), void *arg);
void fake_no_rules(void);

/* fake_port_set - sets the port up or down. A port that is down sends and
 * receives nothing; IBV_EVENT_PORT_ERR or _ACTIVE reports the change. */
void fake_port_set(struct fake_host *host, bool up);

/* fake_wire_cut - lets nothing pass between two hosts, without notification. */
void fake_wire_cut(struct fake_host *a, struct fake_host *b, bool cut);

/* fake_path_cut - the same in one direction: what `from` sends does not reach
 * `to`. In the other direction requests arrive, but their acknowledgements are
 * lost. */
void fake_path_cut(struct fake_host *from, struct fake_host *to, bool cut);

/* fake_path_clog - holds what `from` sends to `to`, packets and messages of
 * rdma_cm, while clogged. Afterwards all of it arrives, in the order of
 * sending. The timers of the senders go on: what they send again is held, too.
 * Addresses are resolved as before. */
void fake_path_clog(struct fake_host *from, struct fake_host *to, bool clogged);

/* fake_path_duplicate - has one in so many packets of RC QPs on this path
 * arrive twice, by chance; 0: none. */
void fake_path_duplicate(struct fake_host *from, struct fake_host *to,
                         unsigned one_in);

/* What happens by chance on a path, in parts per million. */
struct fake_noise {
    unsigned lost;    /* datagrams (UD) that do not arrive */
    unsigned doubled; /* that arrive twice */
    unsigned late;    /* that arrive later, and are overtaken by others, ... */
    unsigned late_us; /* ... by at most so many microseconds */
    unsigned unheard; /* messages of rdma_cm that do not arrive */
};

/* fake_path_noise - sets it for what is sent from now on. NULL for both hosts:
 * for every path for which no other noise is set. NULL for the noise: none. */
void fake_path_noise(struct fake_host *from, struct fake_host *to,
                     const struct fake_noise *noise);

/* What has occurred on a path since the world began. */
struct fake_path_counts {
    unsigned held;       /* packets and messages, by a clog */
    unsigned lost;       /* datagrams and messages, by noise */
    unsigned late;       /* datagrams, by noise */
    unsigned duplicated; /* packets and datagrams that came twice */
    unsigned dropped;    /* packets that the device at its end dropped: it had
                          * received their PSN before, by the path's fault or
                          * because the sender had sent them again */
};
void fake_path_count(const struct fake_host *from, const struct fake_host *to,
                     struct fake_path_counts *out);

/* fake_device_remove - like `rdma link delete`. */
void fake_device_remove(struct fake_host *host);

/* fake_device_return - like `rdma link add` after a removal: a new device with
 * the same name and address, and no state of the former one. */
void fake_device_return(struct fake_host *host);

/* fake_device_reads - sets how many RDMA READs at a time a QP of the host's
 * device takes from its peer (max_qp_rd_atom) and sends to it
 * (max_qp_init_rd_atom). The default is 128 each, as for Soft-RoCE. Only for a
 * device that nobody has opened yet. */
void fake_device_reads(struct fake_host *host, unsigned in, unsigned out);

/* fake_device_inline - sets the most inline bytes of a QP of the host's device:
 * ibv_create_qp() refuses more with EINVAL. The default is Soft-RoCE's. Only
 * for QPs created afterwards. */
void fake_device_inline(struct fake_host *host, unsigned bytes);

/* fake_device_iwarp - has the host's device say that it is an iWARP adapter. It
 * behaves as before. */
void fake_device_iwarp(struct fake_host *host);

/* fake_device_handles - sets how many address handles the host's device has at
 * a time (max_ah). The default is Soft-RoCE's. */
void fake_device_handles(struct fake_host *host, unsigned ahs);

/* fake_device_multicast - sets how many multicast groups may have QPs on the
 * host's device, and how many each. The defaults are Soft-RoCE's. 0 groups: the
 * device has no multicast. */
void fake_device_multicast(struct fake_host *host, unsigned groups,
                           unsigned qps);

/* fake_device_drops_empty - has packets without bytes (a SEND or an RDMA WRITE
 * of length 0) lost on the way to and from the host's device, as some clouds
 * do. Acknowledgements and messages of rdma_cm pass. */
void fake_device_drops_empty(struct fake_host *host, bool drops);

/* fake_cm_former - makes librdmacm behave like an old version: for ENOMEM,
 * ENODEV, ENODATA, EINVAL and EADDRNOTAVAIL it returns -errno and leaves errno
 * unset. */
void fake_cm_former(bool former);

/* fake_cm_event - gives each connected id of the process this event, an enum
 * rdma_cm_event_type, as the kernel may send it: ADDR_CHANGE when a bonded
 * interface fails over, UNREACHABLE while the network is cut. An id that has
 * joined groups, or asked to, gets MULTICAST_ERROR once for each, and
 * ADDR_CHANGE. */
void fake_cm_event(struct fake_process *p, int event, int status);

/* --- the trace --------------------------------------------------------- */

/* fake_trace - all lines so far, "[ 12.040] client qp 17: SEND 64 B -> server"
 * with milliseconds of simulated time. The text belongs to the world. */
const char *fake_trace(void);

/* fake_see - has see() called with the bytes of each SEND, also of a retry,
 * from process to host, before its line in the trace takes effect. see() must
 * only look. Until fake_see(NULL, ...) or the world's end. */
typedef void fake_see_send(const char *process, const char *host,
                           const void *bytes, size_t len, void *arg);
void fake_see(fake_see_send *see, void *arg);

/* fake_fingerprint - a hash of all that was done so far: which thread ran when,
 * and the lines of the trace. Equal hashes mean equal runs. Valid until the
 * next world begins. */
uint64_t fake_fingerprint(void);

/* fake_steps - scheduling points passed so far. */
uint64_t fake_steps(void);

#endif
