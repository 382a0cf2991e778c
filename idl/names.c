/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes names in C of names in .proto files, which request_parse() has found to
 * be identifiers, so ASCII. Names of files, and packages of the option
 * c_package, may have other characters.
 *
 * One thread, as all of the plugin. Names that are returned are new texts in
 * the arena, unless a comment says otherwise; none is NULL. */
#include "idl/names.h"

#include <ctype.h>
#include <string.h>

#include "idl/text.h"

/* Words of C up to C23 and C++ up to C++20, macros of compilers and standard
 * headers, and our own three. Each has a space before and after it. */
static const char reserved[] =
    " "
    "add alignas alignof and and_eq asm assert assert_perror auto bitand "
    "bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl complex concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double "
    "dynamic_cast else enum errno explicit export extern false float for "
    "friend goto i386 if imaginary inline int linux long methods mutable "
    "namespace new noexcept noreturn not not_eq nullptr offsetof operator or "
    "or_eq private protected public register reinterpret_cast requires "
    "restrict return service setjmp short signed sizeof static static_assert "
    "static_cast stderr stdin stdout struct switch template this thread_local "
    "throw true try typedef typeid typename typeof typeof_unqual union unix "
    "unreachable unsigned using va_arg va_copy va_end va_start virtual void "
    "volatile wchar_t while xor xor_eq ";

/* First the words that protoc-gen-c escapes as fields. Then those that it does
 * not escape though it should: newer words of C and C++, macros of compilers,
 * and types that a structure uses in C++. */
static const char field_words[] =
    " "
    "and and_eq asm auto bitand bitor bool break case catch char class compl "
    "const const_cast continue default delete do double dynamic_cast else "
    "enum explicit extern false float for friend goto if inline int long "
    "mutable namespace new not not_eq operator or or_eq private protected "
    "public register reinterpret_cast return short signed sizeof static "
    "static_cast struct switch template this throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor "
    "xor_eq ";
static const char field_words_unknown[] =
    " "
    "alignas alignof char16_t char32_t char8_t co_await co_return co_yield "
    "concept consteval constexpr constinit decltype errno export i386 int32_t "
    "int64_t linux noexcept nullptr protobuf_c_boolean requires restrict "
    "size_t static_assert stderr stdin stdout thread_local typeof "
    "typeof_unqual uint32_t uint64_t uint8_t unix ";

/* Macros of <assert.h>, <limits.h> and <stdint.h>, which the generated files
 * always include, that a service and its method can make together: Int and Max
 * make INT_MAX. Macros with arguments are none of an enumerator. */
static const char header_macros[] =
    " "
    "AIO_PRIO_DELTA_MAX BC_BASE_MAX BC_DIM_MAX BC_SCALE_MAX BC_STRING_MAX "
    "BOOL_MAX BOOL_WIDTH CHARCLASS_NAME_MAX CHAR_BIT CHAR_MAX CHAR_MIN "
    "CHAR_WIDTH COLL_WEIGHTS_MAX DELAYTIMER_MAX EXPR_NEST_MAX HOST_NAME_MAX "
    "INT16_MAX INT16_MIN INT16_WIDTH INT32_MAX INT32_MIN INT32_WIDTH INT64_MAX "
    "INT64_MIN INT64_WIDTH INT8_MAX INT8_MIN INT8_WIDTH INTMAX_MAX INTMAX_MIN "
    "INTMAX_WIDTH INTPTR_MAX INTPTR_MIN INTPTR_WIDTH INT_FAST16_MAX "
    "INT_FAST16_MIN INT_FAST16_WIDTH INT_FAST32_MAX INT_FAST32_MIN "
    "INT_FAST32_WIDTH INT_FAST64_MAX INT_FAST64_MIN INT_FAST64_WIDTH "
    "INT_FAST8_MAX INT_FAST8_MIN INT_FAST8_WIDTH INT_LEAST16_MAX "
    "INT_LEAST16_MIN INT_LEAST16_WIDTH INT_LEAST32_MAX INT_LEAST32_MIN "
    "INT_LEAST32_WIDTH INT_LEAST64_MAX INT_LEAST64_MIN INT_LEAST64_WIDTH "
    "INT_LEAST8_MAX INT_LEAST8_MIN INT_LEAST8_WIDTH INT_MAX INT_MIN INT_WIDTH "
    "IOV_MAX LINE_MAX LLONG_MAX LLONG_MIN LLONG_WIDTH LOGIN_NAME_MAX LONG_BIT "
    "LONG_LONG_MAX LONG_LONG_MIN LONG_MAX LONG_MIN LONG_WIDTH MAX_CANON "
    "MAX_INPUT MB_LEN_MAX MQ_PRIO_MAX NAME_MAX NGROUPS_MAX NL_ARGMAX "
    "NL_LANGMAX NL_MSGMAX NL_NMAX NL_SETMAX NL_TEXTMAX PATH_MAX PIPE_BUF "
    "PTHREAD_DESTRUCTOR_ITERATIONS PTHREAD_KEYS_MAX PTHREAD_STACK_MIN "
    "PTRDIFF_MAX PTRDIFF_MIN PTRDIFF_WIDTH RE_DUP_MAX RTSIG_MAX SCHAR_MAX "
    "SCHAR_MIN SCHAR_WIDTH SEM_VALUE_MAX SHRT_MAX SHRT_MIN SHRT_WIDTH "
    "SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIG_ATOMIC_WIDTH SIZE_MAX SIZE_WIDTH "
    "SSIZE_MAX TTY_NAME_MAX UCHAR_MAX UCHAR_WIDTH UINT16_MAX UINT16_WIDTH "
    "UINT32_MAX UINT32_WIDTH UINT64_MAX UINT64_WIDTH UINT8_MAX UINT8_WIDTH "
    "UINTMAX_MAX UINTMAX_WIDTH UINTPTR_MAX UINTPTR_WIDTH UINT_FAST16_MAX "
    "UINT_FAST16_WIDTH UINT_FAST32_MAX UINT_FAST32_WIDTH UINT_FAST64_MAX "
    "UINT_FAST64_WIDTH UINT_FAST8_MAX UINT_FAST8_WIDTH UINT_LEAST16_MAX "
    "UINT_LEAST16_WIDTH UINT_LEAST32_MAX UINT_LEAST32_WIDTH UINT_LEAST64_MAX "
    "UINT_LEAST64_WIDTH UINT_LEAST8_MAX UINT_LEAST8_WIDTH UINT_MAX UINT_WIDTH "
    "ULLONG_MAX ULLONG_WIDTH ULONG_LONG_MAX ULONG_MAX ULONG_WIDTH USHRT_MAX "
    "USHRT_WIDTH WCHAR_MAX WCHAR_MIN WCHAR_WIDTH WINT_MAX WINT_MIN WINT_WIDTH "
    "WORD_BIT XATTR_LIST_MAX XATTR_NAME_MAX XATTR_SIZE_MAX assert_perror ";

/* Writes one piece of a dotted name in C. */
typedef void piece_fold(struct text *out, const char *piece, size_t length);

/* protoc-gen-c's ToCamel: get_reply becomes GetReply. Called by name_fold() for
 * names_type(). */
static void
piece_camel(struct text *out, const char *piece, size_t length)
{
    bool upper = true;

    for (size_t i = 0; i < length; i++) {
        char c = piece[i];

        if (c == '_') {
            upper = true;
            continue;
        }
        if (upper)
            c = (char)toupper((unsigned char)c);
        upper = false;
        text_add_bytes(out, &c, 1);
    }
}

/* protoc-gen-c's CamelToLower: GetReply becomes get_reply, HTTPGet httpget.
 * Called by name_fold() for names_type_lower(), names_lower(), names_service()
 * and names_method(). */
static void
piece_lower(struct text *out, const char *piece, size_t length)
{
    bool was_upper = true;

    for (size_t i = 0; i < length; i++) {
        bool is_upper = isupper((unsigned char)piece[i]) != 0;
        char c = (char)tolower((unsigned char)piece[i]);

        if (is_upper && !was_upper)
            text_add(out, "_");
        text_add_bytes(out, &c, 1);
        was_upper = is_upper;
    }
}

/* protoc-gen-c's CamelToUpper: GetReply becomes GET_REPLY. Called by
 * name_fold() for names_type_upper() and names_upper(). */
static void
piece_upper(struct text *out, const char *piece, size_t length)
{
    bool was_upper = true;

    for (size_t i = 0; i < length; i++) {
        bool is_upper = isupper((unsigned char)piece[i]) != 0;
        char c = (char)toupper((unsigned char)piece[i]);

        if (is_upper && !was_upper)
            text_add(out, "_");
        text_add_bytes(out, &c, 1);
        was_upper = is_upper;
    }
}

/* protoc-gen-c's OverrideFullName: the file's option c_package stands instead
 * of its package. Returns full_name itself if there is no such option. Called
 * for the names of types and services. */
static const char *
name_override(struct arena *arena, const Idl__File *file, const char *full_name)
{
    const Idl__FileOptions *options = file->options;
    const char *package = file->package != NULL ? file->package : "";

    if (options == NULL || options->pb_c_file == NULL ||
        options->pb_c_file->c_package == NULL)
        return full_name;
    return arena_printf(arena, "%s%s%s", options->pb_c_file->c_package,
                        package[0] == '\0' ? "." : "",
                        full_name + strlen(package));
}

/* Folds each piece of a dotted name and joins them; empty pieces are left out,
 * as protoc-gen-c does. Called for the names of types, oneofs and their fields,
 * services and methods. */
static char *
name_fold(struct arena *arena, const char *name, piece_fold *fold,
          const char *joint)
{
    struct text out;

    text_init(&out, arena);
    while (*name != '\0') {
        size_t length = strcspn(name, ".");

        if (length > 0) {
            if (out.length > 0)
                text_add(&out, joint);
            fold(&out, name, length);
        }
        name += length;
        name += *name == '.';
    }
    text_add_bytes(&out, "", 1);
    return out.data;
}

char *
names_type(struct arena *arena, const Idl__File *file, const char *full_name)
{
    return name_fold(arena, name_override(arena, file, full_name), piece_camel,
                     "__");
}

char *
names_type_lower(struct arena *arena, const Idl__File *file,
                 const char *full_name)
{
    return name_fold(arena, name_override(arena, file, full_name), piece_lower,
                     "__");
}

char *
names_type_upper(struct arena *arena, const Idl__File *file,
                 const char *full_name)
{
    return name_fold(arena, name_override(arena, file, full_name), piece_upper,
                     "__");
}

char *
names_lower(struct arena *arena, const char *name)
{
    return name_fold(arena, name, piece_lower, "_");
}

char *
names_upper(struct arena *arena, const char *name)
{
    return name_fold(arena, name, piece_upper, "_");
}

/* True when word is one of words, each of which has a space before and after
 * it. Called by names_field(), names_field_unknown_word(), names_taken() and
 * names_method(). */
static bool
word_in(struct arena *arena, const char *words, const char *word)
{
    return strstr(words, arena_printf(arena, " %s ", word)) != NULL;
}

/* Returns the name in lower case, as protoc-gen-c has fields. Called by
 * names_field() and names_field_unknown_word(). */
static char *
field_fold(struct arena *arena, const char *name)
{
    char *folded = arena_printf(arena, "%s", name);

    for (char *c = folded; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return folded;
}

char *
names_field(struct arena *arena, const char *name)
{
    char *folded = field_fold(arena, name);

    if (word_in(arena, field_words, folded) ||
        word_in(arena, field_words_unknown, folded))
        return arena_printf(arena, "%s_", folded);
    return folded;
}

bool
names_field_unknown_word(struct arena *arena, const char *name)
{
    return word_in(arena, field_words_unknown, field_fold(arena, name));
}

bool
names_taken(struct arena *arena, const char *c_name)
{
    if (strncmp(c_name, "protobuf_c_", 11) == 0 ||
        (strncmp(c_name, "ProtobufC", 9) == 0 &&
         isupper((unsigned char)c_name[9])))
        return true;
    return word_in(arena, " DIR EOF FILE NULL NZERO ", c_name) ||
           word_in(arena, header_macros, c_name);
}

bool
names_rdma(const char *c_name)
{
    return (strncmp(c_name, "rdma_", 5) == 0 && c_name[5] != '_') ||
           (strncmp(c_name, "ibv_", 4) == 0 && c_name[4] != '_');
}

char *
names_service(struct arena *arena, const Idl__File *file, const char *full_name)
{
    return name_fold(arena, name_override(arena, file, full_name), piece_lower,
                     "_");
}

char *
names_method(struct arena *arena, const char *name)
{
    char *folded = name_fold(arena, name, piece_lower, "_");

    if (!word_in(arena, reserved, folded))
        return folded;
    return arena_printf(arena, "%s_", folded);
}

char *
names_enumerator(struct arena *arena, const char *service, const char *method)
{
    char *name = arena_printf(arena, "%s_%s", service, method);

    for (char *c = name; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return name;
}

char *
names_stem(struct arena *arena, const char *file_name)
{
    static const char *const endings[] = {".protodevel", ".proto"};
    size_t length = strlen(file_name);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);

        if (length >= n && strcmp(file_name + length - n, endings[i]) == 0)
            return arena_printf(arena, "%.*s", (int)(length - n), file_name);
    }
    return arena_printf(arena, "%s", file_name);
}

char *
names_guard(struct arena *arena, const char *stem)
{
    struct text out;

    text_init(&out, arena);
    text_add(&out, "VERBCALL_");
    for (; *stem != '\0'; stem++) {
        unsigned char c = (unsigned char)*stem;

        if (isalnum(c))
            text_addf(&out, "%c", c);
        else
            text_addf(&out, "_%02x", c);
    }
    text_add_bytes(&out, "_VC_H", sizeof "_VC_H");
    return out.data;
}

bool
names_valid(const char *name)
{
    return strchr(name, '.') == NULL && names_valid_dotted(name);
}

bool
names_valid_dotted(const char *name)
{
    bool first = true; /* of a piece */

    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;

        if (first ? !isalpha(c) && c != '_'
                  : !isalnum(c) && c != '_' && c != '.')
            return false;
        first = c == '.';
    }
    return !first;
}
