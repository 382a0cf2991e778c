/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/channel_config.h. A config is taken by one thread at a time:
 * that of vc_channel_open() or of vc_resolver_config(), or the holder, if its
 * file has changed. Static functions run there, unless comments say otherwise;
 * an error is then that thread's last. */
#include "rpc/client/channel_config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpc/balance/changes.h"
#include "rpc/balance/loads.h"
#include "rpc/balance/outlier_opts.h"
#include "rpc/balance/resolver.h"
#include "rpc/client/config_file.h"
#include "rpc/client/config_module.h"
#include "rpc/client/method_config.h"
#include "rpc/client/service_config.h"
#include "transport/core/log.h"

#define OPTION "the option service_config"
#define PUSHED "the resolver"

#define TIME_TEXT 32

struct vc__channel_config {
    struct vc_channel *channel;
    struct vc__log *log;
    char *target; /* of the channel, for log lines */

    /* Held by one change at a time, which waits for readers of the former
     * config. Taken before `lock`. */
    pthread_mutex_t changing;
    bool pushed; /* changing; the resolver's is in force */
    /* changing; the last good text of option or file, or NULL; and where it is
     * from. */
    char *own;
    size_t own_len;
    const char *own_source;

    struct vc__config_file_owner owner;
    struct vc__config_file *file; /* NULL: the option is no file */

    /* About the choice of servers: the program's policy, and outliers of the
     * config that the channel was opened with. */
    enum vc__policy policy;
    bool has_outlier;
    struct vc_outlier_opts outlier;
    struct vc__outlier_policy *opening; /* NULL: the channel is open */
    struct vc_load_opts load;           /* changing; of the config in force */

    pthread_mutex_t lock; /* of what vc_channel_describe() says: */
    unsigned version;     /* 0: none was taken */
    bool in_force;
    const char *source;
    time_t since, refused_at;
    char notes[VC__SERVICE_CONFIG_NOTES];
    char *refused; /* why the last was, if that was after the one in force */
};

/* --- what is said of it -------------------------------------------------- */

/* A config was taken; NULL: there is none any more. Keeps that for
 * vc_channel_describe(), and logs it. Called by config_take() and
 * pushed_end(). */
static void
config_taken(struct vc__channel_config *cc, const char *source,
             const struct vc__service_config *config)
{
    unsigned version;
    bool has_notes = config != NULL && config->notes[0] != '\0';

    pthread_mutex_lock(&cc->lock);
    version = cc->version += config != NULL;
    cc->in_force = config != NULL;
    cc->source = source;
    cc->since = time(NULL);
    memcpy(cc->notes, config != NULL ? config->notes : "",
           config != NULL ? sizeof cc->notes : 1);
    free(cc->refused);
    cc->refused = NULL;
    pthread_mutex_unlock(&cc->lock);
    if (!vc__log_wants(cc->log, VC__LOG_CONFIG))
        return;
    if (config == NULL)
        vc__log(cc->log, VC__LOG_CONFIG,
                "channel to %.100s: it has no service config any more",
                cc->target);
    else
        vc__log(cc->log, VC__LOG_CONFIG,
                "channel to %.100s: service config %u is in force, of %.100s"
                "%s%.200s",
                cc->target, version, source, has_notes ? ": " : "",
                config->notes);
}

/* A config was refused, or its file cannot be read or watched. Keeps why, for
 * vc_channel_describe(), and logs it; the same in a row once. Called by
 * own_file_fail() and vc_resolver_config(). */
static void
config_refused(struct vc__channel_config *cc, const char *why)
{
    bool in_force, again;

    pthread_mutex_lock(&cc->lock);
    again = cc->refused != NULL && strcmp(cc->refused, why) == 0;
    free(cc->refused);
    cc->refused = strdup(why);
    cc->refused_at = time(NULL);
    in_force = cc->in_force;
    pthread_mutex_unlock(&cc->lock);
    if (!again && vc__log_wants(cc->log, VC__LOG_CONFIG_REFUSED))
        vc__log(cc->log, VC__LOG_CONFIG_REFUSED,
                "channel to %.100s: service config: %.320s%s", cc->target, why,
                in_force ? "; the former one stays in force" : "");
}

/* For vc__channel_config_describe(), on its thread: writes a time as people
 * write it, and returns `out`. */
static const char *
time_text(time_t t, char out[TIME_TEXT])
{
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL ||
        strftime(out, TIME_TEXT, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        snprintf(out, TIME_TEXT, "an unknown time");
    return out;
}

size_t
vc__channel_config_describe(const struct vc_channel *c, char *text, size_t size)
{
    struct vc__channel_config *cc = atomic_load(&c->settings);
    char when[TIME_TEXT];
    size_t len = 0;
    int n;

    if (cc == NULL)
        return 0;
    pthread_mutex_lock(&cc->lock);
    if (cc->in_force) {
        n = snprintf(text, size, "service config %u of %s, since %s%s%s\n",
                     cc->version, cc->source, time_text(cc->since, when),
                     cc->notes[0] != '\0' ? ": " : "", cc->notes);
        len = n < 0 ? 0 : (size_t)n;
    }
    if (cc->refused != NULL) {
        size_t used = len < size ? len : size;

        n = snprintf(size == 0 ? text : text + used, size - used,
                     "service config, failure at %s: %s\n",
                     time_text(cc->refused_at, when), cc->refused);
        len += n < 0 ? 0 : (size_t)n;
    }
    pthread_mutex_unlock(&cc->lock);
    return len;
}

/* --- taking one ---------------------------------------------------------- */

/* For config_take() and balance_use(): VC_OK if the channel can have these
 * outliers, else VC_INVALID_ARGUMENT. They are looked for from its opening on,
 * or never. */
static enum vc_status
outlier_check(const struct vc__channel_config *cc,
              const struct vc__service_config *config)
{
    bool same = config->has_outlier == cc->has_outlier &&
                (!config->has_outlier || memcmp(&config->outlier, &cc->outlier,
                                                sizeof cc->outlier) == 0);

    return same ? VC_OK
                : vc__fail(VC_INVALID_ARGUMENT,
                           "outlier_detection_experimental cannot change "
                           "while the channel is open: open another channel "
                           "with this config");
}

/* For balance_use(): has the channel's servers chosen by this policy. A channel
 * with one server needs none. VC_RESOURCE_EXHAUSTED without memory. */
static enum vc_status
policy_use(struct vc_channel *c, enum vc__policy policy)
{
    struct vc__servers *sv = &c->servers;

    if (atomic_load(&sv->picker.policy) == policy || sv->changes == NULL ||
        vc__changes_policy(sv->changes, policy))
        return VC_OK;
    return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* For balance_use() and vc__channel_config_start(): load reports count as this
 * says. Under `changing`. */
static void
loads_use(struct vc__channel_config *cc, const struct vc_load_opts *load)
{
    struct vc__loads *loads = cc->channel->servers.loads;

    cc->load = *load;
    if (loads != NULL)
        vc__loads_follow(loads, &cc->load);
}

/* For config_take() and pushed_end(): what is about the choice of servers. When
 * the channel is being opened it has none yet. VC_INVALID_ARGUMENT or
 * VC_RESOURCE_EXHAUSTED: nothing has changed. */
static enum vc_status
balance_use(struct vc__channel_config *cc,
            const struct vc__service_config *config)
{
    /* A policy of the program's own stays: a config cannot name it. */
    enum vc__policy policy = config->balances && cc->policy != VC__POLICY_CUSTOM
                                 ? config->policy
                                 : cc->policy;
    enum vc_status status;

    if (cc->opening == NULL) {
        status = outlier_check(cc, config);
        if (status == VC_OK)
            status = policy_use(cc->channel, policy);
        if (status == VC_OK)
            loads_use(cc, &config->load);
        return status;
    }
    status = config->has_outlier
                 ? vc__outlier_opts_take(cc->opening, &config->outlier)
                 : VC_OK;
    if (status != VC_OK)
        return status;
    cc->load = config->load;
    cc->has_outlier = config->has_outlier;
    /* outlier_check() compares all bytes, padding, too. */
    memcpy(&cc->outlier, &config->outlier, sizeof cc->outlier);
    atomic_store(&cc->channel->servers.picker.policy, policy);
    return VC_OK;
}

/* For own_take(), pushed_take() and pushed_end(): reads a config and puts it in
 * force; if `forces` is false only reads and checks it. Under `changing`. After
 * an error, of vc__config_module_parse() or balance_use(), the former stays. */
static enum vc_status
config_take(struct vc__channel_config *cc, const char *source, const char *text,
            size_t len, bool forces)
{
    struct vc__service_config *parsed;
    struct vc__config *config;
    enum vc_status status = vc__config_module_parse(text, len, &parsed);

    if (status != VC_OK)
        return status;
    if (!forces) {
        status = outlier_check(cc, parsed);
        vc__config_module_free(parsed);
        return status;
    }
    config = vc__method_config_new(parsed);
    status = config == NULL ? vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory")
                            : balance_use(cc, parsed);
    if (status != VC_OK) {
        const struct vc__error error = *vc__error_last();

        free(config);
        vc__config_module_free(parsed);
        return vc__error_raise(&error);
    }
    vc__method_config_replace(cc->channel, config);
    config_taken(cc, source, parsed);
    return VC_OK;
}

/* For vc__channel_config_open() and own_file_take(): takes a text of the option
 * or its file, and keeps it. It is in force unless the resolver has one. Errors
 * as of config_take(). */
static enum vc_status
own_take(struct vc__channel_config *cc, const char *source, const char *text,
         size_t len)
{
    char *copy = malloc(len + 1);
    enum vc_status status;

    if (copy == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    memcpy(copy, text, len);
    copy[len] = '\0';
    pthread_mutex_lock(&cc->changing);
    cc->own_source = source; /* always the same */
    status = config_take(cc, source, text, len, !cc->pushed);
    if (status == VC_OK) {
        free(cc->own);
        cc->own = copy;
        cc->own_len = len;
        copy = NULL;
    }
    pthread_mutex_unlock(&cc->changing);
    free(copy);
    return status;
}

/* --- the file ------------------------------------------------------------ */

/* take() of the file: on the thread that opens the channel, then on the holder.
 * False if the text is refused. */
static bool
own_file_take(struct vc__config_file_owner *owner, const char *path,
              const char *text, size_t len)
{
    struct vc__channel_config *cc =
        caa_container_of(owner, struct vc__channel_config, owner);

    return own_take(cc, path, text, len) == VC_OK;
}

/* fail() of the file, on the same threads: a text was refused, or it cannot be
 * read or watched. */
static void
own_file_fail(struct vc__config_file_owner *owner, const char *why)
{
    config_refused(caa_container_of(owner, struct vc__channel_config, owner),
                   why);
}

/* --- the resolver -------------------------------------------------------- */

/* For pushed_take(): the resolver has none any more, so the option's
 * counts, or none. Under `changing`. Errors as of config_take(). */
static enum vc_status
pushed_end(struct vc__channel_config *cc)
{
    static const struct vc__service_config none;
    enum vc_status status;

    if (cc->own != NULL)
        return config_take(cc, cc->own_source, cc->own, cc->own_len, true);
    status = balance_use(cc, &none);
    if (status != VC_OK)
        return status;
    vc__method_config_replace(cc->channel, NULL);
    config_taken(cc, PUSHED, NULL);
    return VC_OK;
}

/* For vc_resolver_config(): takes the config, or, if it is NULL, that of the
 * option. Under `changing`. Errors as of config_take(). */
static enum vc_status
pushed_take(struct vc__channel_config *cc, const char *json)
{
    enum vc_status status;

    if (json == NULL && !cc->pushed)
        return VC_OK;
    status = json == NULL ? pushed_end(cc)
                          : config_take(cc, PUSHED, json, strlen(json), true);
    if (status == VC_OK)
        cc->pushed = json != NULL;
    return status;
}

/* --- opening and closing ------------------------------------------------- */

/* For vc__channel_config_open() and settings_get(): makes what a channel with
 * configs has. NULL if memory is short. */
static struct vc__channel_config *
settings_new(struct vc_channel *c, const char *target)
{
    struct vc__channel_config *cc = calloc(1, sizeof *cc);

    if (cc == NULL)
        return NULL;
    cc->channel = c;
    cc->log = c->progress->engine.log;
    cc->target = strdup(target);
    cc->policy = atomic_load(&c->servers.picker.policy);
    cc->owner.take = own_file_take;
    cc->owner.fail = own_file_fail;
    pthread_mutex_init(&cc->changing, NULL);
    pthread_mutex_init(&cc->lock, NULL);
    if (cc->target != NULL)
        return cc;
    free(cc);
    return NULL;
}

/* Frees it; no other thread uses it. On the thread that closes the channel, or
 * could not open it, or of settings_get(). */
static void
settings_free(struct vc__channel_config *cc)
{
    free(cc->target);
    free(cc->own);
    free(cc->refused);
    pthread_mutex_destroy(&cc->changing);
    pthread_mutex_destroy(&cc->lock);
    free(cc);
}

/* For vc_resolver_config(): those of the channel, made if it has none. NULL if
 * memory is short. */
static struct vc__channel_config *
settings_get(struct vc_channel *c)
{
    struct vc__channel_config *cc = atomic_load(&c->settings), *is = NULL;

    if (cc != NULL)
        return cc;
    cc = settings_new(c, c->servers.changes->target);
    if (cc == NULL || atomic_compare_exchange_strong(&c->settings, &is, cc))
        return cc;
    settings_free(cc);
    return is;
}

enum vc_status
vc_resolver_config(struct vc_resolver *r, const char *json)
{
    struct vc__servers *servers = vc__resolver_servers(r);
    struct vc__channel_config *cc;
    struct vc__error error;
    enum vc_status status;

    if (servers == NULL)
        return vc__error_last()->status;
    cc = settings_get(caa_container_of(servers, struct vc_channel, servers));
    if (cc == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    pthread_mutex_lock(&cc->changing);
    status = pushed_take(cc, json);
    pthread_mutex_unlock(&cc->changing);
    if (status == VC_OK)
        return VC_OK;
    vc__error_put(&error, status, "that of the resolver is refused: %s",
                  vc__error_last()->text);
    config_refused(cc, error.text);
    return vc__error_raise(&error);
}

/* For vc__channel_config_open(): adds the name of the option to the error, and
 * returns its status. */
static enum vc_status
option_refuse(enum vc_status status)
{
    const struct vc__error error = *vc__error_last();

    return vc__fail(status, "vc_channel_opts.service_config: %s", error.text);
}

enum vc_status
vc__channel_config_open(struct vc_channel *c, const char *target,
                        const char *option, struct vc__outlier_policy *outlier)
{
    struct vc__channel_config *cc;
    enum vc_status status;

    if (option == NULL)
        return VC_OK;
    cc = settings_new(c, target == NULL ? "" : target);
    if (cc == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&c->settings, cc);
    cc->opening = outlier;
    if (vc__config_file_is_one(option))
        status = vc__config_file_open(&cc->file, option, &cc->owner,
                                      &c->progress->engine);
    else
        status = own_take(cc, OPTION, option, strlen(option));
    cc->opening = NULL;
    return status == VC_OK ? VC_OK : option_refuse(status);
}

void
vc__channel_config_start(struct vc_channel *c)
{
    struct vc__channel_config *cc = atomic_load(&c->settings);

    if (cc == NULL)
        return;
    pthread_mutex_lock(&cc->changing);
    loads_use(cc, &cc->load);
    pthread_mutex_unlock(&cc->changing);
    if (cc->file != NULL)
        vc__config_file_start(cc->file);
}

bool
vc__channel_config_changes(const struct vc_channel *c)
{
    const struct vc__channel_config *cc = atomic_load(&c->settings);

    return cc != NULL && cc->file != NULL;
}

void
vc__channel_config_shut(struct vc_channel *c)
{
    struct vc__channel_config *cc = atomic_load(&c->settings);

    if (cc == NULL)
        return;
    vc__config_file_close(cc->file);
    cc->file = NULL;
}

void
vc__channel_config_close(struct vc_channel *c)
{
    struct vc__channel_config *cc = atomic_load(&c->settings);

    vc__channel_config_shut(c);
    vc__method_config_replace(c, NULL);
    if (cc != NULL)
        settings_free(cc);
}
