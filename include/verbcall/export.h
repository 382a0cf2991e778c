/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What every public header needs: the mark of exported symbols, C linkage, and
 * the macros for structs of options. Programs include <verbcall/verbcall.h>
 * instead. */
#ifndef VERBCALL_EXPORT_H
#define VERBCALL_EXPORT_H

#ifdef __cplusplus
#define VC_BEGIN_DECLS extern "C" {
#define VC_END_DECLS   }
#else
#define VC_BEGIN_DECLS
#define VC_END_DECLS
#endif

VC_BEGIN_DECLS

/* Any function: generated code casts callbacks to this type, and back to their
 * own type before it calls them. */
typedef void vc_function(void);

VC_END_DECLS

/* Structs of options begin with their size, so that they can grow, and 0 in any
 * other field stands for its default. VC_SIZED_INIT(name) is an initializer of
 * struct name that sets its size. VC_SIZED(name, .field = value, ...) is a
 * pointer to a constant struct that has these fields as well. The pointer is
 * valid until the end of the enclosing block, in C++ until the end of the
 * statement. Programs use both by the macros of each struct, as
 * VC_CALL_OPTS_INIT and VC_CALL_OPTS(.timeout_ms = 100). The latter is for C,
 * and for C++ from C++20 on (or as gcc and clang have it since C++11), which
 * requires the fields in their order. */
#ifdef __cplusplus
extern "C++" {
template <typename T>
static inline T
vc_sized()
{
    T sized = T();

    sized.size = sizeof sized;
    return sized;
}
}
#define VC_SIZED_INIT(name) vc_sized<struct name>()
#define VC_SIZED(name, ...)                                                    \
    (&static_cast<const struct name &>([&] {                                   \
        _Pragma("GCC diagnostic push");                                        \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"");    \
        return name{.size = sizeof(struct name), __VA_ARGS__};                 \
        _Pragma("GCC diagnostic pop");                                         \
    }()))
#else
#define VC_SIZED_INIT(name)                                                    \
    {                                                                          \
        .size = sizeof(struct name)                                            \
    }
#define VC_SIZED(name, ...)                                                    \
    (&(const struct name){.size = sizeof(struct name), __VA_ARGS__})
#endif

#define VC_API __attribute__((visibility("default")))

#endif
