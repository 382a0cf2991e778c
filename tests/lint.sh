#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/lint.sh BUILD: checks without running the programs, in TAP. If a tool is missing its test is skipped; $VC_LINT_QUICK
# skips what takes long.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
build=$1
n=0

# NAME COMMAND...: passes if the command succeeds and prints nothing.
check()
{
    n=$((n + 1))
    name=$1
    shift
    if said=$("$@" 2>&1) && [ -z "$(printf '%s' "$said" | grep -v '^Verbcall: ')" ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        printf '%s\n' "$said" | head -n 20 | sed 's/^/# /'
    fi
}

skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

sources()
{
    find include transport cm rpc idl modules examples samples fake tests bench \( -name '*.[ch]' \) ! -path 'tests/idl/*'
}

formatted()
{
    sources | xargs clang-format --dry-run -Werror
}

layers_look_down()
{
    ! grep -n '#include "\(rpc\|cm\|transport\)/' -r idl examples | grep -v '"transport/core/hash.h"' &&
        ! grep -n '#include [<"]\(rpc\|cm\|transport\|verbcall\)/' -r fake &&
        ! grep -n '#include "' -r modules | grep -v '"modules/\|"rpc/client/service_config\.h"' &&
        ! grep -n '#include "modules/' -r transport cm rpc idl fake &&
        ! grep -n '#include "fake/' -r tests bench --include='*.[ch]' | grep -v '"fake/fake\.h"' &&
        ! grep -n '#include \("\.\.\|<\(transport\|cm\|rpc\|idl\|modules\|fake\)/\)' -r transport cm rpc idl modules fake tests bench include
}

# The wings of doc/architecture.md in their order: a file includes files of its own wing and of those before it. In each pair of
# strangers the first must not include the second.
wings='transport/core transport/wire transport transport/rdma transport/ud transport/inproc transport/socket transport/tcp transport/shm cm/connect cm/link cm/pool
    rpc/codec rpc rpc/balance rpc/stream rpc/client rpc/server rpc/services rpc/protobuf_c'
strangers='rpc/server>rpc/client transport/inproc>transport/rdma transport/socket>transport/rdma
    transport/socket>transport/inproc transport/tcp>transport/rdma transport/tcp>transport/inproc transport/shm>transport/rdma
    transport/shm>transport/inproc transport/shm>transport/tcp transport/ud>transport/inproc transport/ud>transport/socket
    transport/ud>transport/tcp transport/ud>transport/shm'
wings_look_down()
{
    grep -H '#include "\(transport\|cm\|rpc\|idl\|fake\|tests\)/' -r transport cm rpc | sed 's/:#include "/ /; s/".*//' |
        awk -v wings="$wings" -v strangers=" $strangers " '
            function wing(path) { sub(/\/[^\/]*$/, "", path); return path }
            BEGIN { for (n = split(wings, w); n > 0; n--) rank[w[n]] = n }
            {
                from = wing($1); to = wing($2)
                if (!(from in rank) || !(to in rank) || rank[to] > rank[from] || index(strangers, " " from ">" to " "))
                    print $1 " includes " $2
            }'
}

# Prints the symbols of the library's objects: FILE LETTER NAME.
symbols()
{
    (cd "$build" && find transport cm rpc -path '*/.libs/*.o' -exec nm -g -A {} +) |
        sed -n 's,^\([^:]*\)/\.libs/libverbcall_core_la-\([^:]*\)\.o:[0-9a-f ]*\([A-Z]\) ,\1/\2.c \3 ,p'
}

# Prints the circles that doc/architecture.md justifies: FILE,FILE,... of each.
circles_named()
{
    sed -n '/^### Circles/,/^## /s/^| \([a-z_/]*\) | \([a-z_, ]*\) | [A-Z].*/\1: \2,/p' doc/architecture.md |
        awk '{ wing = $1; sub(/:$/, "/", wing); line = ""
               for (i = 2; i <= NF; i++) { sub(/,$/, "", $i); line = line (i > 2 ? "," : "") wing $i ".c" }
               print line }'
}

# Prints the modules of the product: FOLDER/NAME of each .c file, and of each header without one.
modules()
{
    git ls-files rpc cm transport idl modules 2>/dev/null | sed -n 's/\.[ch]$//p' | sort -u
}

# Prints the modules that the rows of "Files" in the detail pages name; remarks are in parentheses.
modules_told()
{
    cat doc/architecture-*.md | sed -n '/^## Files/,/^## /s/^| \([a-z_/]*\) | [^|]* | \([^|]*\) |$/\1: \2/p' |
        sed '/^wing:/d; s/ ([^)]*)//g' |
        awk '{ wing = $1; sub(/:$/, "/", wing); for (i = 2; i <= NF; i++) { sub(/,$/, "", $i); print wing $i } }'
}

# Each module is in one row. Without git, as in a tarball, there is nothing to compare.
files_agree()
{
    modules >"$scratch"
    [ -s "$scratch" ] || return 0
    modules_told | sort | uniq -d | sed 's/$/ is in two rows of "Files" in doc/'
    modules_told | grep -vxFf "$scratch" | sed 's/$/ is in a row of "Files" in doc, and there is no such file/'
    modules_told >"$scratch"
    modules | grep -vxFf "$scratch" | sed 's/$/ is in no row of "Files" in doc/'
    return 0
}

# By the symbols of the objects: checks the order of the wings, and that there are no other circles.
calls_look_down()
{
    symbols >"$build/symbols"
    [ -s "$build/symbols" ] || echo 'the objects have no symbols'
    awk -v wings="$wings" -v strangers=" $strangers " -v named="$(circles_named | xargs)" -f tests/calls.awk "$build/symbols"
}

# By the files that the compiler read for each object of the library.
only_rdma_sees_verbs()
{
    find "$build/transport" "$build/cm" "$build/rpc" -name '*.Plo' ! -path '*/transport/rdma/*' \
        ! -path '*/transport/ud/*' |
        xargs grep -o '[^ ]*/\(infiniband\|rdma\)/[a-z_]*\.h' | grep -v '/transport/rdma/rdma\.h$'
    grep -q '/infiniband/verbs\.h' "$build"/transport/rdma/.deps/*.Plo || echo 'objects do not say what they see'
}

# Breakpoints, profiles and searches need a name that only one function has: that of a static one names its object, too.
statics_have_names_of_their_own()
{
    find transport cm rpc idl modules -name '*.c' | sort | xargs awk '
        /^static/ { is_static = 1; next }
        is_static && /^[a-z_0-9]+\(/ {
            name = $0; sub(/\(.*/, "", name)
            if (name !~ /_/) print FILENAME ": " name "() has one word"
            if (name in file && file[name] != FILENAME) print FILENAME ": " name "() is in " file[name] ", too"
            file[name] = FILENAME
        }
        { is_static = 0 }'
}

# The example of a policy in doc/balancing.md and in man/vc_policy.3.scd is the code of tests/suite/by_tenant.h.
policy_example_agrees()
{
    sed -n '/^\/\* --- the example --- \*\/$/,/^\/\* --- its end --- \*\/$/p' tests/suite/by_tenant.h | sed '1d;$d' >"$scratch"
    [ "$(wc -l <"$scratch")" -gt 40 ] || echo 'tests/suite/by_tenant.h has no example'
    sed -n '/^\/\* How good a server/,/^};$/p' man/vc_policy.3.scd | diff "$scratch" -
    sed -n '/^    \/\* How good a server/,/^    };$/p' doc/balancing.md | sed 's/^    //' | diff "$scratch" -
}

licensed()
{
    sources | xargs grep -L 'SPDX-License-Identifier: BSD-2-Clause'
}

# LANGUAGE COMPILER...: every public header compiles alone.
alone()
{
    language=$1
    shift
    for header in include/verbcall/*.h; do
        # ISO C requires a declaration in every source.
        # shellcheck disable=SC2046 # flags
        printf '#include "%s"\nextern int something;\n' "$header" |
            "$@" -x "$language" -I. -Iinclude $(pkg-config --cflags libprotobuf-c) -Wall -Wextra -Werror \
                -fsyntax-only - || return 1
    done
}

alone_in_c()
{
    alone c "${CC:-cc}" -std=c99 -pedantic && alone c "${CC:-cc}" -std=c11 -pedantic
}

# LANGUAGE WHAT COMPILER...: options compile without a warning as programs write them. WHAT is INIT, or ALL with those that are
# written where they are used.
options_in()
{
    language=$1
    what=$2
    shift 2
    # shellcheck disable=SC2046 # flags
    "$@" -x "$language" "-DOPTIONS_$what" -Iinclude $(pkg-config --cflags libprotobuf-c) -Wall -Wextra \
        -Werror -fsyntax-only - <<'END'
#include <verbcall/verbcall.h>
extern int take(const struct vc_call_opts *, const struct vc_channel_opts *, const struct vc_server_opts *,
                const struct vc_runtime_opts *, const struct vc_stream_events *, const struct vc_interceptor *);
extern int options(int);
int options(int n)
{
    static const struct vc_channel_opts of_channel = VC_CHANNEL_OPTS_INIT;
    struct vc_call_opts call = VC_CALL_OPTS_INIT;
    struct vc_server_opts of_server = VC_SERVER_OPTS_INIT;
    struct vc_runtime_opts runtime = VC_RUNTIME_OPTS_INIT;
    struct vc_stream_events events = VC_STREAM_EVENTS_INIT;
    struct vc_interceptor interceptor = VC_INTERCEPTOR_INIT;
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct vc_result result = VC_RESULT_INIT;

    call.timeout_ms = (uint32_t)n;
    call.result = &result;
    n = take(&call, &of_channel, &of_server, &runtime, &events, &interceptor) + (int)counters.links_up;
#ifdef OPTIONS_ALL
    n += take(VC_CALL_OPTS(.timeout_ms = 100, .flags = VC_CALL_NO_RETRY), VC_CHANNEL_OPTS(.require = "rdma"),
              VC_SERVER_OPTS(.redirect = {"inproc://a", "inproc://b"}, .max_calls = (uint32_t)n), VC_RUNTIME_OPTS(),
              VC_STREAM_EVENTS(.on_end = NULL), VC_INTERCEPTOR(.arg = &n));
#endif
    return n;
}
END
}

options_in_c()
{
    for standard in c99 c11 gnu17; do
        options_in c ALL "$1" "-std=$standard" -pedantic || return 1
    done
}

options_in_cpp()
{
    options_in c++ INIT "$1" -std=c++98 && options_in c++ INIT "$1" -std=c++11 && options_in c++ ALL "$1" -std=c++17 &&
        options_in c++ ALL "$1" -std=c++20 -pedantic
}

# Headers declare, the map exports and the library has the same symbols.
symbols_agree()
{
    declared=$(sed -n '/^VC_API/,/;/p' include/verbcall/*.h | grep -o '\bvc_[a-z_]*(' | tr -d '(' | sort -u)
    mapped=$(grep -o '\bvc_[a-z_]*;' verbcall.map | tr -d ';' | sort -u)
    exported=$(nm -D --defined-only "$build/.libs/libverbcall.so" | sed -n 's/.* T \(vc_[a-z_]*\).*/\1/p' | sort -u)
    [ "$declared" = "$mapped" ] && [ "$mapped" = "$exported" ] || echo "declared: $declared; map: $mapped; exported: $exported"
}

# Each vc_X_new() has its vc_X_free(), each vc_X_open() its vc_X_close(), and the other way round. Messages and asynchronous
# calls are made by calls; a server is closed before it is freed.
pairs_match()
{
    names=$(grep -o '\bvc_[a-z_]*;' verbcall.map | tr -d ';')
    wanted=$(printf '%s\n' "$names" | sed -n 's/_new$/_free/p; s/_open$/_close/p' | sort)
    there=$(printf '%s\n' "$names" | grep -E '_(free|close)$' |
        grep -vE '^vc_(message_free|async_free|server_close|stream_half_close)$' | sort)
    [ "$wanted" = "$there" ] || echo "wanted: $wanted; there: $there"
}

# The rows of doc/outcomes.md are those of its tests, with the same status and outcome.
outcomes_agree()
{
    # shellcheck disable=SC2016 # backquotes of Markdown
    told=$(sed -n 's/^| `\([a-z_]*\)` | .* | \([A-Z_]*\) | \([a-z ]*\) |$/\1 \2 \3/p' doc/outcomes.md | sort)
    played=$(tr -d '\n' <<END | grep -o 'ROW([a-z_]*, *[A-Z_]*, *[A-Z_]*)' | sed 's/ROW(\(.*\), *\(.*\), *\(.*\))/\1 \2 \L\3/' | sort
$(cat tests/sim/test_outcomes_*.c)
END
    )
    played=$(printf '%s\n' "$played" | sed 's/ not_executed$/ not executed/')
    [ "$told" = "$played" ] && return
    { printf '%s\n' "$told" | sed 's/^/doc: /'; printf '%s\n' "$played" | sed 's/^/test: /'; } | sort -k 2 | uniq -c -f 1 | grep '^ *1 '
    return 1
}

# The table of misuses in doc/bad-input.md is that of its tests.
misuses_agree()
{
    # shellcheck disable=SC2016 # backquotes of Markdown
    told=$(sed -n 's/^| \([a-zA-Z() ]*\) | `\([a-z_]*\)` | [a-zA-Z_]* |$/\1: \2/p' doc/bad-input.md | sort)
    played=$(cat tests/suite/test_misuse.c tests/suite/test_misuse_times.c tests/suite/test_misuse_places.c | sed -n '/^static const struct misuse cases/,/^};/p' | tr '\n' ' ' |
        sed 's/row("/\n/g' | sed -n 's/^\([a-zA-Z() ]*\)", .*[, ]\([a-z_]*\)),.*/\1: \2/p' | sort)
    [ "$told" = "$played" ] && return
    { printf '%s\n' "$told" | sed 's/^/doc: /'; printf '%s\n' "$played" | sed 's/^/test: /'; } | sort -k 2 | uniq -c -f 1 | grep '^ *1 '
    return 1
}

# The table of moments in doc/outcomes.md is that of its test, row by row.
moments_agree()
{
    # shellcheck disable=SC2016 # backquotes of Markdown
    told=$(sed -n 's/^| `\([a-z_]*\)` | \(client\|server\) | \(.*\) |$/\1 | \2 | \3/p' doc/outcomes.md)
    played=$(tr -d '\n' <tests/sim/test_matrix.c | sed 's/IS_CLOSED/"is closed already"/g' | grep -o 'ROW([a-z_]*, *\(client\|server\), *"[^)]*)' |
        sed 's/ROW(\(.*\))/\1/; s/"//g; s/, */ | /g')
    [ -n "$told" ] && [ "$told" = "$played" ] && return
    { printf '%s\n' "$told" | sed 's/^/doc: /'; printf '%s\n' "$played" | sed 's/^/test: /'; } | sort -k 2 | uniq -c -f 1 | grep '^ *1 '
    return 1
}

# bench/check.sh measures what README promises.
figures_agree()
{
    promised=$(sed -n '/^[^#]/s/_\(most\|least\|above\|below\) / \1 /p' bench/promised | sort)
    shown=$(sed -n '/^## Figures/,/^## Licence/s/^    \([a-z0-9_]*\) .* \(at most\|at least\|never above\|never below\) \([0-9.]*\).*/\1 \2 \3/p' README.md | sort)
    [ -n "$shown" ] && [ "$promised" = "$shown" ] && return
    { printf '%s\n' "$promised" | sed 's/^/bench: /'; printf '%s\n' "$shown" | sed 's/^/README: /'; } | sort -k 2 | uniq -c -f 1 | grep '^ *1 '
    return 1
}

# Joins lines, and normalises the spaces of declarations.
flat()
{
    tr '\n' ' ' | sed 's/  */ /g; s/\([(*]\) /\1/g'
}

# Prints the exported functions' declarations, one a line.
declarations()
{
    awk '/^VC_API/ { on = 1 } on; /;/ { on = 0 }' include/verbcall/*.h |
        sed 's/^VC_API //; s/__attribute__((.*))//' | flat | tr ';' '\n' |
        sed 's/^ *//; s/ *$//; /^$/d'
}

# Every function has a man page that declares it as its header does, and pages name no others.
pages_agree()
{
    man/aliases.sh man | sed 's/\.3 / /' >"$scratch"
    declarations | awk '
        # Normalises the spaces of declarations, as flat() does.
        function flattened(text)
        {
            gsub(/  +/, " ", text)
            gsub(/\( /, "(", text)
            gsub(/\* /, "*", text)
            return text
        }
        FILENAME == "-" {
            name = $0
            sub(/\(.*/, "", name)
            sub(/.*[^a-z_]/, "", name)
            declaration[name] = $0 ";"
            next
        }
        FILENAME !~ /^man\// { page_of[$1] = "man/" $2 ".scd"; next }
        FNR == 1 { synopsis[file] = flattened(text); file = FILENAME; text = "" }
        /^# SYNOPSIS/, /^# DESC/ { text = text $0 " " }
        {
            for (rest = $0; match(rest, /\*vc_[a-z_]*\*\(\)/); rest = substr(rest, RSTART + RLENGTH))
                told[file, substr(rest, RSTART + 1, RLENGTH - 4)]
        }
        END {
            synopsis[file] = flattened(text)
            for (name in declaration) {
                page = page_of[name]
                if (page == "")
                    print name " has no man page: put it into NAME and SYNOPSIS of one in man/, and say there what it does"
                else if (!index(synopsis[page], declaration[name]))
                    print page " does not declare " name " as the header does: " declaration[name]
                else if (!((page, name) in told))
                    print page " names " name " and does not say what it does"
            }
            for (name in page_of)
                if (!(name in declaration))
                    print page_of[name] " names " name ", which no header has"
        }' - "$scratch" man/*.scd
}

# HEADER STRUCT: prints its members.
members()
{
    sed -n "/^struct $2 {/,/^};/p" "include/verbcall/$1.h" | sed 1d | tr '\n' ' ' | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' |
        tr ';' '\n' | sed 's/.*(\*\([a-z_]*\)).*/\1/; s/\[.*//' | tr ',' '\n' | grep -o '[a-z_][a-z0-9_]* *$' | tr -d ' '
}

# Each field of an options structure is in the page of the function that takes it, and options of methods are in the plugin's.
options_told()
{
    for of in 'runtime vc_runtime_opts vc_runtime' 'channel vc_channel_opts vc_channel' 'rdma vc_rdma_opts vc_channel' \
        'server vc_server_opts vc_server' 'call vc_call_opts vc_call_opts' 'metadata vc_result vc_metadata' \
        'outlier vc_outlier_opts vc_channel' 'load vc_load_opts vc_channel' 'resolver vc_endpoint vc_resolver' \
        'interceptor vc_interceptor vc_interceptor' 'probe vc_probe_report vc_probe'; do
        # shellcheck disable=SC2086 # words
        set -- $of
        members "$1" "$2" | grep -vx 'size\|arg\|memory' >"$scratch" || echo "no members of struct $2 were found"
        while read -r member; do
            grep -q "\*$member\*" "man/$3.3.scd" || echo "man/$3.3.scd does not tell of $member in struct $2"
        done <"$scratch"
    done
    sed -n '/^message Method {/,/^}/s/^ *optional [a-z0-9]* \([a-z_]*\) = .*/\1/p' proto/verbcall/options.proto >"$scratch"
    [ -s "$scratch" ] || echo 'no options of methods were found'
    while read -r option; do
        grep -q "^\*$option\*$" man/protoc-gen-verbcall.1.scd || echo "man/protoc-gen-verbcall.1.scd does not tell of $option"
    done <"$scratch"
}

# Pages that SEE ALSO and other sections name exist, or belong to other projects; each page is listed in man/local.am.
pages_refer()
{
    {
        man/aliases.sh man | sed 's/\.3 .*/(3)/'
        for page in man/*.scd; do
            name=${page##*/}
            name=${name%.scd}
            grep -q "%D%/$name\b" man/local.am || echo "man/local.am does not list $name" >&2
            echo "${name%.*}(${name##*.})"
        done
    } >"$scratch"
    grep -ho '\*\(vc_[a-z_]*\|verbcall\|protoc-gen-verbcall\)\*([1-8])' man/*.scd | tr -d '*' | sort -u |
        grep -vxFf "$scratch" || :
}

# scdoc accepts every page, and mandoc, if it is there, accepts the result.
pages_render()
{
    for page in man/*.scd; do
        scdoc <"$page" >"$scratch" || echo "in $page"
        ! command -v mandoc >/dev/null || mandoc -T lint -W error "$scratch" || echo "in $page"
    done
}

# Each code block of a page is shown exactly as the compiler or the shell needs it: scdoc drops a backslash that is not doubled.
# Spaces do not count.
code_renders()
{
    for page in man/*.scd; do
        # shellcheck disable=SC2016 # backquotes of scdoc
        awk '/^```/ { on = !on; next } on' "$page" | sed 's/\\\\/\\/g' | tr -d ' \t' | grep . >"$scratch" || continue
        scdoc <"$page" | groff -mandoc -Tutf8 -P-cbou -rLL=200n | tr -d ' ' |
            awk -v page="$page" '
                FILENAME != "-" { line[++n] = $0; next }
                at < n && $0 == line[at + 1] { at++ }
                END { if (at < n) print page ": this line of its code is not shown so: " line[at + 1] }' "$scratch" -
    done
}

# The other compiler accepts all sources that users get, the library, the plugin, examples and benchmarks, with the same
# warnings. It generates no code.
clang_takes_it()
{
    make -s --no-print-directory -j "$(getconf _NPROCESSORS_ONLN)" -C "$build" -f - clang <<'END'
include Makefile
clang: $(patsubst %.c,%.clang,$(filter-out tests/%,$(filter %.c,$(SOURCES))))
%.clang: %.c
	clang -fsyntax-only -Wno-unknown-warning-option $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) \
		$(addprefix -iquote,$(sort $(dir $(VERBCALL_HEADERS)))) $<
END
}

# A new test is a word in a list, so makefiles stay short.
makefiles_are_short()
{
    lines=$(git ls-files 2>/dev/null | grep -E '\.(am|inc|mk)$' | grep -v '^samples/\|^verbcall\.mk$' | xargs cat | wc -l)
    [ "$lines" -le 600 ] || echo "what make reads has $lines lines, at most 600 are wanted"
}

# Private words that readers could take for something else; ../CONTRIBUTING.md has the field's words for them.
words_are_plain()
{
    git ls-files 2>/dev/null | grep -E '\.(c|h|md|scd|sh|am|ac|awk)$' | grep -v 'golden/\|^tests/idl/\|^tests/lint\.sh$' |
        xargs awk -f tests/words.awk -v words='told|brought|given up|behind|(comes|came) to|ill|hasty|parted|stints?|barren|patience|farewell|goodbye|be it|whoever|in vain|(has|have|had) gone'
}

sentences_are_short()
{
    git ls-files 2>/dev/null | grep '\.md$' | grep -v '^CHANGES\.md$' | xargs awk -f tests/sentences.awk
}

# Without git, as in a tarball, there is nothing to compare.
callers_fit()
{
    wrong=$(sh tests/callers.sh --check) || return 1
    [ -z "$wrong" ] || { echo "$wrong"; return 1; }
}

# The comment at the head of each file of the library says on which thread its functions run, or names the header that does.
heads_tell_threads()
{
    git ls-files 2>/dev/null | grep -E '^(rpc|cm|transport|modules)/.*\.[ch]$' | xargs -r awk '
        FNR == 1 { head = ""; inside = 1 }
        inside { head = head tolower($0) }
        inside && /\*\// {
            inside = 0
            gsub(/[*]/, "", head)
            if (head !~ /holder|thread|pure|under the|see +[a-z_\/]+\.h/)
                print FILENAME " does not say on which thread its functions run"
        }'
}

# Of the library, its modules and the compiler.
functions_are_short()
{
    # shellcheck disable=SC2046 # words
    awk '
        FNR > 600 && !long[FILENAME]++ { print FILENAME " has more than 600 lines" }
        /^[a-z_]+\(.*[^;]$/ { name = FILENAME ": " $0 }
        /^\{/ { begin = FNR }
        /^\}/ && begin { lines = FNR - begin - 1; begin = 0; of[lines]++; n++; if (lines > 60) print name " has " lines " lines" }
        END {
            for (median = 0; (sum += of[median]) * 2 < n; median++) { }
            if (median > 11) print "half of the functions have more than " median - 1 " lines"
        }' $(git ls-files 2>/dev/null | grep -E '^(rpc|cm|transport|idl|modules)/.*\.[ch]$')
}

# A row of tests/mutate/equivalent that fits no mutant is stale: the code has changed.
equivalents_fit()
{
    grep -v '^#' tests/mutate/equivalent | cut -d ' ' -f 1 | sort -u | while read -r file; do
        awk -v name="$file" -f tests/mutate/candidates.awk "$file"
    done | awk -F '\t' '
        FILENAME == "-" { mutant[$1 " | " $4 " | " $6 " -> " $7] = 1; next }
        /^#/ { next }
        {
            n = split($0, field, " [|] ")
            row = field[1]
            for (i = 2; i <= n; i++) # code may have this sign, too
                if ((row = row " | " field[i]) in mutant)
                    next
            print "no mutant is: " $0
        }' - tests/mutate/equivalent
}

scratch=$(mktemp) || exit 1
trap 'rm -f "$scratch"' EXIT
if command -v clang-format >/dev/null; then
    check every_source_is_formatted formatted
else
    skip every_source_is_formatted 'no clang-format'
fi
check no_layer_includes_one_above_it layers_look_down
check no_wing_includes_one_after_it wings_look_down
check no_wing_calls_one_after_it_nor_in_circles calls_look_down
check no_file_outside_transport_rdma_sees_verbs only_rdma_sees_verbs
check every_source_names_its_licence licensed
check static_functions_have_names_of_their_own statics_have_names_of_their_own
check every_public_header_compiles_alone_in_c alone_in_c
if command -v c++ >/dev/null; then
    check every_public_header_compiles_alone_in_cpp alone c++ c++
else
    skip every_public_header_compiles_alone_in_cpp 'no C++ compiler'
fi
check options_are_written_in_c_without_a_warning options_in_c "${CC:-cc}"
for compiler in clang c++ clang++; do
    case $compiler in
    *++) name=options_in_cpp ;;
    *) name=options_in_c ;;
    esac
    if command -v "$compiler" >/dev/null; then
        check "options_are_written_for_${compiler}_without_a_warning" "$name" "$compiler"
    else
        skip "options_are_written_for_${compiler}_without_a_warning" "no $compiler"
    fi
done
if [ -n "${VC_LINT_QUICK-}" ]; then
    skip clang_takes_it_without_a_warning 'takes half a minute: --long, or lint alone'
elif command -v clang >/dev/null; then
    check clang_takes_it_without_a_warning clang_takes_it
else
    skip clang_takes_it_without_a_warning 'no clang'
fi
check makefiles_are_short makefiles_are_short
check headers_map_and_library_agree_on_the_symbols symbols_agree
check what_is_made_is_freed_by_the_name_that_matches pairs_match
check every_equivalent_mutant_is_one equivalents_fit
check comments_and_documents_have_plain_words words_are_plain
check sentences_of_documents_are_short sentences_are_short
check functions_and_files_are_short functions_are_short
check heads_of_files_tell_the_thread heads_tell_threads
check headers_list_those_who_call_them callers_fit
check documents_name_what_there_is sh tests/names.sh
check the_detail_pages_of_the_architecture_name_every_file files_agree
check the_example_of_a_policy_is_the_one_that_is_tested policy_example_agrees
check each_row_of_doc_outcomes_has_its_test outcomes_agree
check the_table_of_misuses_in_doc_bad_input_is_that_of_its_tests misuses_agree
check the_table_of_moments_in_doc_outcomes_is_that_of_its_test moments_agree
check each_statement_of_doc_rdma_cm_has_its_test_or_a_reason sh tests/statements.sh
check each_rule_of_doc_balancing_tests_has_its_test_or_a_reason sh tests/statements.sh doc/balancing-tests.md
check the_figures_that_are_checked_are_those_that_readme_promises figures_agree
check every_exported_function_runs_over_rdma sh tests/exported.sh "$build"
check every_function_has_a_man_page_that_declares_it pages_agree
check every_option_is_told_in_a_man_page options_told
check man_pages_refer_to_pages_that_exist pages_refer
if command -v scdoc >/dev/null; then
    check every_man_page_renders pages_render
else
    skip every_man_page_renders 'no scdoc'
fi
if command -v scdoc >/dev/null && command -v groff >/dev/null; then
    check man_pages_show_code_as_it_is code_renders
else
    skip man_pages_show_code_as_it_is 'no scdoc or groff'
fi
echo "1..$n"
