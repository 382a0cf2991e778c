/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of peers: IPv4, IPv6 and AF_UNIX. An address of AF_UNIX stands for
 * a name within this process. If sun_path begins with '/' or '@', the address
 * stands for a path or a name of this host. A name within the process may also
 * be known by its key only: then sun_path begins with 0, and the key follows.
 * Any thread.
 *
 * Called by: rpc/server/listening.c (addr_port_set, addr_is_loopback),
 * rpc/server/server_listen.c (addr_port_set, addr_port, addr_is_loopback,
 * addr_drawn), transport/ud/answers.c (addr_port_set), cm/connect/target.c
 * (addr_port, addr_is_loopback, addr_is_group, addr_local, addr_name),
 * rpc/client/publisher.c (addr_port), rpc/server/server_multicast.c
 * (addr_port), transport/rdma/group.c (addr_port), rpc/balance/near.c
 * (addr_is_loopback), cm/connect/dial.c (addr_is_local, addr_local_of_key,
 * addr_of_key), address.c (addr_local), cm/pool/upgrade.c (addr_drawn),
 * transport/shm/connect.c (addr_is_drawn), transport/shm/listen.c
 * (addr_is_drawn, addr_key), rpc/server/redirect.c (addr_key),
 * transport/inproc/ear.c (addr_key), many files (addr_text, addr_copy). */
#ifndef VC_TRANSPORT_ADDRESS_H
#define VC_TRANSPORT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Writes the address to text, which it returns: "10.9.0.1:7471",
 * "[fe80::1%eth0]:7471", "inproc://NAME", "inproc://#KEY" or "this process"
 * without a name, "shm:NAME", "shm of this host" for a random name,
 * "shm:///PATH"; "?" if it is no address. Called by all floors for errors, log
 * lines and descriptions, under any lock. */
#define VC__ADDR_TEXT 128
const char *vc__addr_text(const struct sockaddr *addr,
                          char text[VC__ADDR_TEXT]);

/* Copies as many bytes as an address of its family has. Called by the
 * transports for addresses to listen at (inproc, TCP) and those of rdma_cm, and
 * by vc__link_connect() for that of the peer. */
void vc__addr_copy(struct sockaddr_storage *out, const struct sockaddr *addr);

/* Sets the port of an IPv4 or IPv6 address. Addresses of other families have no
 * port and stay as they are. Called by a server that listens, mostly for the
 * port that it listens at (rpc/server/server_listen.c), and for its log line
 * (listening.c). */
void vc__addr_port_set(struct sockaddr_storage *addr, uint16_t port);
/* Returns that port; 0 for other families. Called by a server that listens at
 * several addresses of one name (rpc/server/server_listen.c). */
uint16_t vc__addr_port(const struct sockaddr_storage *addr);

/* True for 127.0.0.0/8, also as an IPv4-mapped IPv6 address, and for ::1.
 * Called by vc__target_reaches(), as RDMA does not reach these, by a server
 * that logs or describes where it listens, and by rpc/balance/near.c, which
 * asks whether a server is on this host. */
bool vc__addr_is_loopback(const struct sockaddr *addr);

/* True for a multicast group: 224.0.0.0/4 and ff00::/8. Called by
 * vc__target_reaches(). */
bool vc__addr_is_group(const struct sockaddr *addr);

/* Bytes of a name's key, which is a hash of the name. */
#define VC__ADDR_KEY 8

/* True if the address is a path or a name of this host, for shared memory, and
 * not a name within this process or an IP address. Called by addr_of() of
 * cm/connect/dial.c. */
bool vc__addr_is_local(const struct sockaddr_storage *addr);
/* vc__addr_local() makes such an address from a path or "@NAME", of less than
 * VC__ADDR_LOCAL bytes, when a target is resolved (vc__target_numeric()).
 * vc__addr_local_of_key() makes it from the key of such a name, which a reject
 * contains (addr_of()): "@#KEY", in hexadecimal digits. */
#define VC__ADDR_LOCAL 98
void vc__addr_local(struct sockaddr_storage *out, const char *name);
void vc__addr_local_of_key(struct sockaddr_storage *out,
                           const uint8_t key[VC__ADDR_KEY]);

/* Makes the address of a socket of this host whose name is random, so that
 * nobody can guess it: "@!" and its name in hexadecimal digits, then '.' and
 * the uid of the user who must have created the socket. Called by a server that
 * listens at vc:// (local_open()), and by a client that changes to shared
 * memory (cm/pool/upgrade.c). */
#define VC__ADDR_DRAWN 16
void vc__addr_drawn(struct sockaddr_storage *out,
                    const uint8_t name[VC__ADDR_DRAWN], uint32_t uid);
/* True if the address is one that vc__addr_drawn() makes; then *uid is the
 * user's, and otherwise unchanged. Called by transport/shm when it connects and
 * when it listens. */
bool vc__addr_is_drawn(const struct sockaddr_storage *addr, uint32_t *uid);

/* Make the address of a name within this process, of less than VC__ADDR_NAME
 * bytes (called by vc__target_numeric()), and of a key (called by addr_of() for
 * a reject). */
#define VC__ADDR_NAME 64
void vc__addr_name(struct sockaddr_storage *out, const char *name);
void vc__addr_of_key(struct sockaddr_storage *out,
                     const uint8_t key[VC__ADDR_KEY]);

/* Writes the key of an address of AF_UNIX, which is that of its name. A path
 * has no key. Called by transport/inproc, which finds a listener by it,
 * transport/shm, which names a socket by it, and rpc/server/redirect.c for a
 * reject. */
void vc__addr_key(const struct sockaddr_storage *addr,
                  uint8_t key[VC__ADDR_KEY]);

#endif
