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
    "add alignas alignof and and_eq asm assert auto bitand bitor bool break "
    "case catch char char16_t char32_t char8_t class co_await co_return "
    "co_yield compl complex concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else "
    "enum errno explicit export extern false float for friend goto i386 if "
    "imaginary inline int linux long methods mutable namespace new noexcept "
    "noreturn not not_eq nullptr offsetof operator or or_eq private "
    "protected public register reinterpret_cast requires restrict return "
    "service setjmp short signed sizeof static static_assert static_cast "
    "stderr stdin stdout struct switch template this thread_local throw "
    "true try typedef typeid typename typeof typeof_unqual union unix "
    "unsigned using va_arg va_copy va_end va_start virtual void volatile "
    "wchar_t while xor xor_eq ";

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
 * it. Called by names_field(), names_field_unknown_word() and
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
names_type_taken(const char *c_name)
{
    static const char *const taken[] = {"DIR", "EOF", "FILE", "NULL"};

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(c_name, taken[i]) == 0)
            return true;
    return strncmp(c_name, "ProtobufC", 9) == 0 &&
           isupper((unsigned char)c_name[9]);
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
