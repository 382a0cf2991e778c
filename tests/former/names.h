/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The current names that former.c uses, mapped to those of the older commit's
 * library and generated code. */
#ifndef FORMER_NAMES_H
#define FORMER_NAMES_H

#define vc_server_free  vc_server_close
#define vc_message_free vc_reply_free

#define former_former_join_client_stream  vc_stream
#define former_former_join_server_stream  vc_stream
#define former_former_split_client_stream vc_stream
#define former_former_split_server_stream vc_stream
#define former_former_talk_client_stream  vc_stream
#define former_former_talk_server_stream  vc_stream

#define former_former_join_server_receive former_former_join_request
#define former_former_join_close          vc_stream_close
#define former_former_split_server_send   former_former_split_reply
#define former_former_split_finish(s)     vc_stream_finish(s, NULL)
#define former_former_split_close         vc_stream_close
#define former_former_talk_server_receive former_former_talk_request
#define former_former_talk_server_send    former_former_talk_reply
#define former_former_talk_half_close     vc_stream_half_close
#define former_former_talk_finish(s)      vc_stream_finish(s, NULL)
#define former_former_talk_close          vc_stream_close

#endif
