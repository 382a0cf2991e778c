/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/features.h. */
#include "cm/connect/features.h"

#include <stddef.h>

const char *
vc__features_missing(uint32_t features)
{
    if (!(features & VC__FEATURE_LONG))
        return "long messages";
    if (!(features & VC__FEATURE_STREAMS))
        return "streams";
    if (!(features & VC__FEATURE_METADATA))
        return "metadata";
    return features & VC__FEATURE_COALESCED ? NULL
                                            : "several frames in a packet";
}

/* True if only a stream uses such a frame. For vc__features_breach(). */
static bool
is_of_stream(const struct vc__frame *f)
{
    switch (f->type) {
    case VC__FRAME_MESSAGE:
    case VC__FRAME_HALF:
    case VC__FRAME_WINDOW:
        return true;
    default:
        return f->type == VC__FRAME_CALL && (f->flags & VC__FRAME_STREAMS) != 0;
    }
}

const char *
vc__features_breach(uint32_t features, const struct vc__frame *f)
{
    bool is_part =
        f->type == VC__FRAME_DATA || (f->flags & VC__FRAME_MORE) != 0;

    if (is_part && !(features & VC__FEATURE_LONG))
        return "a part of a long message, a feature that was not negotiated";
    if (is_of_stream(f) && !(features & VC__FEATURE_STREAMS))
        return "a stream, a feature that was not negotiated";
    if (f->metadata_len > 0 && !(features & VC__FEATURE_METADATA))
        return "metadata, a feature that was not negotiated";
    return NULL;
}
