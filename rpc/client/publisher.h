/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The channel of a multicast group: instead of servers it has a publisher,
 * which sends each call as one datagram. It joins the group when the channel is
 * opened. If the group is lost later it is joined again, by a timer; calls fail
 * meanwhile. Such a channel counts as one with interceptors, so that its calls
 * leave the path of other channels' calls where those with interceptors do.
 *
 * publish, up and describe: any thread. open and close: the thread that opens
 * or closes the channel.
 *
 * Called by: channel.c (names, open, close, up, describe), channel_intercept.c
 * (publish, refuse). */
#ifndef VC_RPC_PUBLISHER_H
#define VC_RPC_PUBLISHER_H

#include "rpc/client/channel.h"

struct vc__publisher;

/* True if the target is one of a multicast group, well-formed or not. Asked by
 * servers_open() for each channel. */
bool vc__publisher_names(const char *target);

/* Joins the group of the target, and makes c->publisher. Waits for that, up to
 * the option connect_timeout_ms. Called by servers_open().
 * VC_INVALID_ARGUMENT   the target is malformed or names no group; an option
 *                       makes no sense for a group
 * others                as vc__listener_open() */
enum vc_status vc__publisher_open(struct vc_channel *c, const char *target,
                                  const struct vc_channel_opts *opts);

/* Leaves the group, and frees the publisher. No call is under way. Called by
 * vc_channel_close() and, for a channel that cannot be opened, by
 * vc_channel_open(). */
void vc__publisher_close(struct vc__publisher *p);

/* VC_OK while the group is joined; else why it is not, as this thread's last
 * error. Called by vc_channel_connect(). */
enum vc_status vc__publisher_up(struct vc__publisher *p);

/* Writes a line about the group, as vc__servers_describe() does. Called by
 * vc_channel_describe(). */
size_t vc__publisher_describe(struct vc__publisher *p, char *text, size_t size);

/* Makes a call, whose options are complete: packs it into a datagram, and hands
 * that to the adapter. Called by channel_intercept_call_pass().
 * VC_OK                 it was sent, to however many members
 * VC_INVALID_ARGUMENT   the request cannot be packed; an option makes no sense
 *                       for a group
 * VC_UNIMPLEMENTED      the method is not one-way
 * VC_RESOURCE_EXHAUSTED the message is longer than a datagram
 * VC_DEADLINE_EXCEEDED  the adapter did not take it in time
 * VC_UNAVAILABLE        the group is lost */
enum vc_status vc__publish(struct vc_channel *c,
                           const struct vc_service *service, unsigned method,
                           const void *request,
                           const struct vc_call_opts *opts);

/* Returns VC_UNIMPLEMENTED, with a text, for a stream or an asynchronous call
 * on the channel of a group. `what` it is, for the text. Called where one
 * begins. */
enum vc_status vc__publisher_refuse(const struct vc_service *service,
                                    unsigned method, const char *what);

#endif
