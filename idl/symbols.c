/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names that the generated C files define. All of it runs within
 * symbols_check(), which generate.c calls at most once, on the only thread of
 * the plugin. Names and error texts lie in the arena, or are constants or parts
 * of types and model: no caller frees them.
 *
 * The functions named add_...() return nothing. Most get a symbol by value and
 * change their copy. */
#include "idl/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "idl/names.h"
#include "idl/place.h"
#include "idl/request.h"

#define SYMBOLS_SIZE_FIRST 64

/* field numbers in DescriptorProto and EnumDescriptorProto */
#define MESSAGE_FIELD 2
#define MESSAGE_ONEOF 8
#define ENUM_VALUE    2

struct symbol {
    const char *name;      /* in C */
    const char *kind;      /* "message", "method", ... */
    const char *full_name; /* in the .proto file */
    const struct place *place;
    bool generated; /* generated in this run, not only imported */
    size_t order;
};

struct symbols {
    struct arena *arena;
    size_t n, size;
    struct symbol *items;
};

/* Appends a copy of the symbol, with its order; the array grows as needed.
 * Called by all functions named add_...(). */
static void
symbols_add(struct symbols *symbols, const struct symbol *symbol)
{
    if (symbols->n == symbols->size) {
        size_t size = symbols->n > 0 ? 2 * symbols->n : SYMBOLS_SIZE_FIRST;
        struct symbol *items;

        items = arena_array(symbols->arena, size, sizeof *items);
        if (symbols->n > 0)
            memcpy(items, symbols->items, symbols->n * sizeof *items);
        symbols->items = items;
        symbols->size = size;
    }
    symbols->items[symbols->n] = *symbol;
    symbols->items[symbols->n].order = symbols->n;
    symbols->n++;
}

/* What protoc-gen-c appends to the lower-case name of each message. */
static const char *const message_suffixes[] = {
    "__descriptor",     "__init",   "__get_packed_size", "__pack",
    "__pack_to_buffer", "__unpack", "__free_unpacked",
};

/* Adds the enumerators that say which field of oneof i is set. Called by
 * add_oneofs(). */
static void
add_cases(struct symbols *symbols, const struct type *type, const char *upper,
          size_t i, struct symbol symbol)
{
    struct arena *arena = symbols->arena;
    const Idl__Message *m = type->message;
    const char *oneof = names_upper(arena, m->oneof_decl[i]->name);

    symbol.name = arena_printf(arena, "%s__%s__NOT_SET", upper, oneof);
    symbols_add(symbols, &symbol);
    symbol.kind = "field";
    for (size_t j = 0; j < m->n_field; j++) {
        const char *name = m->field[j]->name;

        if (!m->field[j]->has_oneof_index ||
            m->field[j]->oneof_index != (int32_t)i)
            continue;
        symbol.full_name = arena_printf(arena, "%s.%s", type->full_name, name);
        symbol.name = arena_printf(
            arena, "%s__%s_%s%s", upper, oneof, names_upper(arena, name),
            names_field_unknown_word(arena, name) ? "_" : "");
        symbol.place =
            place_child(arena, type->place, MESSAGE_FIELD, (int32_t)j);
        symbols_add(symbols, &symbol);
    }
}

/* Adds the enum of each oneof of a message, with its enumerators; upper is the
 * message's name in upper case. Called by add_message(). */
static void
add_oneofs(struct symbols *symbols, const struct type *type, const char *upper,
           struct symbol symbol)
{
    const Idl__Message *m = type->message;

    symbol.kind = "oneof";
    for (size_t i = 0; i < m->n_oneof_decl; i++) {
        symbol.full_name = arena_printf(
            symbols->arena, "%s.%s", type->full_name, m->oneof_decl[i]->name);
        symbol.name = arena_printf(
            symbols->arena, "%sCase",
            names_type(symbols->arena, type->place->file, symbol.full_name));
        symbol.place =
            place_child(symbols->arena, type->place, MESSAGE_ONEOF, (int32_t)i);
        symbols_add(symbols, &symbol);
        add_cases(symbols, type, upper, i, symbol);
    }
}

/* Adds the variables that hold the default values of fields. Called by
 * add_message(). */
static void
add_defaults(struct symbols *symbols, const struct type *type,
             struct symbol symbol)
{
    const Idl__Message *m = type->message;

    symbol.kind = "the default value of field";
    for (size_t i = 0; i < m->n_field; i++) {
        if (m->field[i]->default_value == NULL)
            continue;
        symbol.full_name = arena_printf(symbols->arena, "%s.%s",
                                        type->full_name, m->field[i]->name);
        symbol.name =
            arena_printf(symbols->arena, "%s__default_value",
                         names_type_lower(symbols->arena, type->place->file,
                                          symbol.full_name));
        symbol.place =
            place_child(symbols->arena, type->place, MESSAGE_FIELD, (int32_t)i);
        symbols_add(symbols, &symbol);
    }
}

/* Adds what protoc-gen-c defines for a message besides its type; lower is its
 * name in lower case. Called by add_type(). */
static void
add_message(struct symbols *symbols, const struct type *type, const char *lower,
            struct symbol symbol)
{
    const char *upper =
        names_type_upper(symbols->arena, type->place->file, type->full_name);

    for (size_t i = 0; i < sizeof message_suffixes / sizeof message_suffixes[0];
         i++) {
        symbol.name =
            arena_printf(symbols->arena, "%s%s", lower, message_suffixes[i]);
        symbols_add(symbols, &symbol);
    }
    symbol.name = arena_printf(symbols->arena, "%s__INIT", upper);
    symbols_add(symbols, &symbol);
    add_oneofs(symbols, type, upper, symbol);
    add_defaults(symbols, type, symbol);
}

/* Adds what protoc-gen-c defines for an enum besides its type; lower is its
 * name in lower case. Called by add_type(). */
static void
add_enum(struct symbols *symbols, const struct type *type, const char *lower,
         struct symbol symbol)
{
    const Idl__Enum *e = type->enumeration;
    const char *upper =
        names_type_upper(symbols->arena, type->place->file, type->full_name);

    symbol.name = arena_printf(symbols->arena, "%s__descriptor", lower);
    symbols_add(symbols, &symbol);
    symbol.kind = "value";
    for (size_t i = 0; i < e->n_value; i++) {
        const char *name = e->value[i]->name;

        symbol.full_name =
            arena_printf(symbols->arena, "%s.%s", type->full_name, name);
        symbol.name = arena_printf(symbols->arena, "%s__%s", upper, name);
        symbol.place =
            place_child(symbols->arena, type->place, ENUM_VALUE, (int32_t)i);
        symbols_add(symbols, &symbol);
    }
}

/* Adds all symbols of a message or enum. Called by symbols_check() for each
 * type that has C code; generated is false for one only imported. */
static void
add_type(struct symbols *symbols, const struct type *type, bool generated)
{
    const Idl__File *file = type->place->file;
    const char *lower = names_type_lower(symbols->arena, file, type->full_name);
    struct symbol symbol = {
        .name = names_type(symbols->arena, file, type->full_name),
        .kind = type->message != NULL ? "message" : "enum",
        .full_name = type->full_name,
        .place = type->place,
        .generated = generated,
    };

    symbols_add(symbols, &symbol);
    if (type->message != NULL)
        add_message(symbols, type, lower, symbol);
    else
        add_enum(symbols, type, lower, symbol);
}

/* Adds the functions of emit_inline.c and emit_stream.c. Called by
 * add_method(); name is the method's in C. */
static void
add_helpers(struct symbols *symbols, const struct model_method *method,
            const char *name, struct symbol symbol)
{
    bool async = model_method_has_async(method);
    bool streams = model_method_streams(method);
    bool up = method->client_streaming, down = method->server_streaming;
    const struct {
        const char *suffix;
        bool has;
    } helpers[] = {
        {"_async", async},         {"_queued", async},
        {"__done", async},         {"_start", streams},
        {"__client_run", streams}, {"_send", up},
        {"_try_send", up},         {"_half_close", up},
        {"_receive", down},        {"_pause", down},
        {"_resume", down},         {"_finish", streams},
        {"_result", streams},      {"_initial", streams},
        {"_cancel", streams},      {"_close", streams},
        {"_serve", streams},       {"__server_run", streams},
        {"_server_send", down},    {"_server_try_send", down},
        {"_server_receive", up},   {"_server_pause", up},
        {"_server_resume", up},
    };

    symbol.kind = "a helper of method";
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++)
        if (helpers[i].has) {
            symbol.name =
                arena_printf(symbols->arena, "%s%s", name, helpers[i].suffix);
            symbols_add(symbols, &symbol);
        }
}

/* Adds all symbols of a method. Called by add_service(). */
static void
add_method(struct symbols *symbols, const struct model_service *service,
           const struct model_method *method)
{
    struct symbol symbol = {
        .kind = "method",
        .full_name = arena_printf(symbols->arena, "%s.%s", service->full_name,
                                  method->name),
        .place = method->place,
        .generated = true,
    };
    const char *name;

    name = arena_printf(symbols->arena, "%s_%s", service->c_prefix,
                        method->c_name);
    symbol.name = name;
    symbols_add(symbols, &symbol);
    symbol.name = arena_printf(symbols->arena, "%s__run", name);
    symbols_add(symbols, &symbol);
    symbol.name = method->c_enum;
    symbols_add(symbols, &symbol);
    add_helpers(symbols, method, name, symbol);
}

/* Adds the names at file scope that emit_header.c and emit_source.c define for
 * a service. The tags of its enum, streams and events are not added: they clash
 * only if added names do. Called by symbols_check() for each service. */
static void
add_service(struct symbols *symbols, const struct model_service *service)
{
    static const char *const suffixes[] = {"_service", "_methods", "_add",
                                           "__table", "__file"};
    struct symbol symbol = {
        .kind = "service",
        .full_name = service->full_name,
        .place = service->place,
        .generated = true,
    };

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        symbol.name = arena_printf(symbols->arena, "%s%s", service->c_prefix,
                                   suffixes[i]);
        symbols_add(symbols, &symbol);
    }
    for (size_t i = 0; i < service->n_methods; i++)
        add_method(symbols, service, &service->methods[i]);
}

/* Orders symbols by name in C, then in the order of adding; for qsort() in
 * symbols_clash(). */
static int
symbol_compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order != 0)
        return order;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the error text, never NULL, for two symbols with one name in C;
 * second was added later. Called by symbols_clash(). */
static const char *
symbols_clash_error(struct arena *arena, const struct symbol *first,
                    const struct symbol *second)
{
    return place_error(
        arena, second->place,
        "%s '%s' is '%s' in C, and so is %s '%s' at %s:%d; rename one of them",
        second->kind, second->full_name, second->name, first->kind,
        first->full_name, first->place->file->name, place_line(first->place));
}

/* False for a service without a package, which makes a symbol of its own.
 * Called by symbols_invalid(). */
static bool
has_package(const struct symbol *s)
{
    return strchr(s->full_name, '.') != NULL;
}

/* Returns an error for the first generated symbol that is no identifier, or is
 * taken by headers or a library; NULL when there is none. Called by
 * symbols_check() first. */
static const char *
symbols_invalid(const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->n; i++) {
        const struct symbol *s = &symbols->items[i];
        const char *why = NULL;

        if (s->generated && !names_valid(s->name))
            why = "which is no identifier";
        else if (s->generated && names_taken(symbols->arena, s->name))
            why = "which the headers of C and protobuf-c have";
        else if (s->generated && names_rdma(s->name) && !has_package(s))
            why = "and names with rdma_ and ibv_ are rdma-core's";
        else if (s->generated && strncmp(s->name, "vc_", 3) == 0)
            why = "and names with vc_ are the library's";
        if (why != NULL)
            return place_error(symbols->arena, s->place,
                               "%s '%s' is '%s' in C, %s; rename it, or its "
                               "package or c_package",
                               s->kind, s->full_name, s->name, why);
    }
    return NULL;
}

/* Sorts the symbols. Returns an error for the first one with the name of an
 * earlier one, if either is generated; NULL when there is none. Called by
 * symbols_check() last. */
static const char *
symbols_clash(struct symbols *symbols)
{
    const struct symbol *items = symbols->items;
    const struct symbol *first = NULL, *second = NULL;

    qsort(symbols->items, symbols->n, sizeof *symbols->items, symbol_compare);
    for (size_t i = 1; i < symbols->n; i++) {
        const struct symbol *a = &items[i - 1], *b = &items[i];

        if (strcmp(a->name, b->name) != 0)
            continue;
        if (!a->generated && !b->generated)
            continue;
        if (second == NULL || b->order < second->order) {
            first = a;
            second = b;
        }
    }
    return second != NULL ? symbols_clash_error(symbols->arena, first, second)
                          : NULL;
}

const char *
symbols_check(struct arena *arena, const Idl__Request *request,
              const struct types *types, const struct model *model)
{
    struct symbols symbols = {.arena = arena};
    const char *problem;

    for (size_t i = 0; i < types->n; i++) {
        const Idl__File *file = types->items[i].place->file;

        if (!types_not_generated(file))
            add_type(&symbols, &types->items[i],
                     request_generates(request, file));
    }
    for (size_t i = 0; i < model->n_files; i++)
        for (size_t j = 0; j < model->files[i].n_services; j++)
            add_service(&symbols, &model->files[i].services[j]);

    problem = symbols_invalid(&symbols);
    if (problem == NULL && symbols.n > 0)
        problem = symbols_clash(&symbols);
    return problem;
}
