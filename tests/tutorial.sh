#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/tutorial.sh BUILD [STAGE]: tests that documents are right, in TAP. All files of doc/tutorial.md are built on an
# installed Verbcall, all its commands are run, and they must print what it shows; "..." at the end of a line stands for any
# text. Examples of README and of man pages are compiled. BUILD is installed below STAGE already, or else is installed for this.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
. tests/build.sh
. tests/packages.sh
top=$PWD
build=$(vc_plain_path "$1") || exit 1
prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
n=0
work=$(mktemp -d) && : >"$work/ports" || exit 1
trap 'servers_kill; chmod -R u+w "$work"; rm -rf "$work"' EXIT
echo 1..9

# NAME COMMAND...: one test. Its output is shown when it fails.
check()
{
    n=$((n + 1))
    name=$1
    shift
    cd "$top" || exit 1
    if "$@" >"$work/said" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        tail -n 30 "$work/said" | sed 's/^/# /'
    fi
}

skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# --- the tutorial's terminals ---------------------------------------------

# EXPECTED GOT: succeeds if the output is what the tutorial shows.
shown()
{
    # shellcheck disable=SC2016 # sed's
    pattern=$(printf '%s\n' "$1" | sed -e 's/[][*?\\]/\\&/g' -e 's/\.\.\.$/*/')
    # shellcheck disable=SC2254 # a pattern it is
    case $2 in
    $pattern) return 0 ;;
    esac
    printf '%s\n' '--- the tutorial shows' "$1" '--- but there is' "$2"
    return 1
}

# Each terminal with a program that runs on has a descriptor, from which its lines are read.
terminals='server=5 server2=6 many=7'

# NAME: prints the terminal's descriptor.
descriptor()
{
    echo " $terminals" | sed "s/.* $1=\([0-9]\).*/\1/"
}

# COMMAND: starts it in this terminal. It lives for at most two minutes. Its own process id is kept as well: a signal that timeout
# passes on reaches the program twice, and one with a loop may see both.
program_start()
{
    # A server gets a free port, which stands for the one that is shown.
    # shellcheck disable=SC2086 # words
    case $1 in
    './stock-many '*) set -- $1 ;;
    *' vc://'*) asked=${1##*:} && set -- "${1%% *}" 'vc://127.0.0.1:0' ;;
    *) asked=7471 && set -- "$1" 'vc://127.0.0.1:0' ;;
    esac
    mkfifo "$work/out" || return 1
    # shellcheck disable=SC2016 # of the inner shell
    timeout 120 sh -c 'echo $$ >"$0" && exec "$@"' "$work/pid.$terminal" "$@" >"$work/out" 2>&1 &
    echo $! >"$work/group.$terminal"
    eval "exec $fd<\"\$work/out\""
    rm "$work/out"
}

servers_kill()
{
    for group in "$work"/group.*; do
        [ ! -e "$group" ] || kill -s KILL -- "-$(cat "$group")" "$(cat "$group")" 2>/dev/null
    done
}

# EXPECTED: checks the next line of this terminal.
program_says()
{
    IFS= read -r line <&"$fd" || { echo "the program of terminal $terminal does not say '$1'"; return 1; }
    case $line in
    'listening on port '*)
        echo "s/:$asked\\>/:${line##* }/g" >"$work/port.$asked" && cat "$work"/port.* >"$work/ports"
        line="listening on port $asked" ;;
    esac
    shown "$1" "$line"
}

# TERMINAL BLOCK: runs everything that is typed and shown in the terminal of a program that runs on.
program_block()
{
    terminal=$1
    fd=$(descriptor "$1")
    while IFS= read -r shows; do
        case $shows in
        '$ fg') kill -s CONT -- "-$(cat "$work/group.$terminal")" ;;
        '$ '*) program_start "${shows#'$ '}" ;;
        '^Z') kill -s STOP -- "-$(cat "$work/group.$terminal")" ;;
        '^C') kill -s INT "$(cat "$work/pid.$terminal")" ;;
        *) program_says "$shows" ;;
        esac || { echo "at '$shows'"; return 1; }
        # Its last line.
        [ "$shows" != stopped ] || { wait "$(cat "$work/group.$terminal")" && rm "$work/group.$terminal" || return 1; }
    done <"$2"
}

# COMMAND EXPECTED: the command must print exactly this.
run_and_compare()
{
    echo "\$ $1"
    shown "$2" "$(sh -c "$(printf "%s\n" "$1" | sed -f "$work/ports")" 2>&1)"
}

# COMMAND EXPECTED: the same for a command that ends in "-- sh both.sh".
run_by_vm()
{
    echo "\$ $1"
    got=$(sh -c "${1%sh both.sh}sh -c 'sh both.sh && ! touch made && exit 3'" 2>"$work/errors")
    status=$?
    cat "$work/errors"
    shown "$2" "$got" && [ $status -eq 3 ]
}

# Calls $2 with each command, COMMAND EXPECTED.
console_block()
{
    command='' expected=''
    while IFS= read -r shows; do
        case $shows in
        '$ '*)
            [ -z "$command" ] || "$2" "$command" "$expected" || return 1
            command=${shows#'$ '} expected='' ;;
        *)
            expected="$expected${expected:+
}$shows" ;;
        esac
    done <"$1"
    "$2" "$command" "$expected"
}

# --- tests ----------------------------------------------------------------

cut_out()
{
    mkdir -p "$work/stock/blocks" && awk -v into="$work/stock" -f tests/tutorial.awk doc/tutorial.md
}

session()
{
    cd "$work/stock" && export CFLAGS='-O0 -g -Wall -Wextra -Werror' || return 1
    for block in blocks/*; do
        case $block in
        *.server | *.server2 | *.many) program_block "${block##*.}" "$block" ;;
        *.console) console_block "$block" run_and_compare ;;
        *.install) sh -n "$block" ;;
        *.vm) ;;
        esac || return 1
    done
    ! ls "$work"/group.* 2>/dev/null || { echo 'these terminals have a program that was not stopped'; return 1; }
}

# The packages are those of tests/packages.sh, except for the drivers of RDMA adapters and for modules; the file to source is
# installed.
installation()
{
    vc_packages debian build | tr ' ' '\n' | grep -vE '^(libc-ares-dev|libjansson-dev|ibverbs-providers)$' | sort >"$work/packages"
    sed -n '/apt-get install/,/[^\\]$/p' doc/tutorial.md | sed 's/.*install//' | tr -d '\\' | tr -s ' ' '\n' | grep . | sort |
        diff "$work/packages" - && grep -q '/verbcall/share/verbcall/verbcall\.env' doc/tutorial.md &&
        [ -e "$stage$prefix/share/verbcall/verbcall.env" ]
}

# Checks the folders and pages that the tutorial names.
names_what_exists()
{
    grep -o '](\(\.\./\)\?[a-zA-Z][^)#]*)' doc/tutorial.md | sed 's/](\(.*\))/\1/' | sort -u >"$work/links_named"
    grep -o '\b\(vc_\|verbcall\)[a-z_-]*([137])' doc/tutorial.md | sed 's/(\(.\))/.\1/' | sort -u >"$work/pages_named"
    [ -s "$work/links_named" ] && [ -s "$work/pages_named" ] && while read -r link; do
        [ -e "doc/$link" ] || { echo "no $link"; return 1; }
    done <"$work/links_named" && while read -r page; do
        [ -e "man/$page.scd" ] || { echo "no $page"; return 1; }
    done <"$work/pages_named"
}

# systemd reports problems, but exits with 0.
unit()
{
    unit=$work/stock/stock.service
    if command -v systemd-analyze >/dev/null; then
        sed "s,^ExecStart=/usr/local/bin,ExecStart=$work/stock," "$unit" >"$work/stock.service" &&
            systemd-analyze verify "$work/stock.service" >"$work/verified" 2>&1
        ! grep . "$work/verified"
    else
        ! grep -vE '^(\[[A-Z][a-z]*\]|[A-Z][A-Za-z]*=.*|#.*|)$' "$unit"
    fi
}

# The programs of the tutorial call over rdma_cm. The exit status is theirs, and this machine's files are read-only there.
by_vm()
{
    cd "$work/stock" && console_block blocks/*.vm run_by_vm
}

# Compiles the page's examples with what they need.
page_compiles()
{
    source=$work/pages/$(basename "$1").c
    awk -f tests/examples.awk "$1" >"$source" || return 1
    # shellcheck disable=SC2046 # flags
    cc -std=gnu11 -Wall -Wextra -Werror -Wno-unused -Wno-unused-parameter -iquote . -I"$work/pages" \
        $(pkg-config --cflags verbcall) -c -o "${source%.c}.o" "$source"
}

# Generates the messages and services of the pages: the greeter's also for plain protobuf-c.
pages_prepared()
{
    mkdir "$work/pages" && cd "$work/pages" || return 1
    plugin=--plugin=protoc-gen-verbcall=$stage$prefix/bin/protoc-gen-verbcall
    protoc "$plugin" -I"$top/examples/greeter" --c_out=. --verbcall_out=services:. greeter.proto &&
        protoc "$plugin" -I"$top/examples/chat" --verbcall_out=. chat.proto &&
        protoc "$plugin" -I"$top/examples/file" --verbcall_out=. file.proto
}

# Each page of sections 3 and 7 has an example. The prototypes of its synopsis are compared with the headers.
examples_compile()
{
    bad=0
    for page in man/*.[37].scd; do
        sed -n '/^# EXAMPLES/,$p' "$page" | grep -q '^```' || { echo "$page has no example"; bad=1; }
        page_compiles "$page" || bad=1
    done
    return $bad
}

# The .proto file of verbcall(7) is that of the example.
begins_with_the_greeter()
{
    awk -v language=proto -f tests/examples.awk man/verbcall.7.scd | tr -d ' \n' >"$work/greeter" &&
        sed 's,//.*,,' examples/greeter/greeter.proto | tr -d ' \n' | cmp - "$work/greeter"
}

# WORD: prints the pages that `man -k` finds by it, or whose NAME section has it.
found_by()
{
    if command -v mandb >/dev/null && [ -d "$work/man" ]; then
        man -M "$work/man" -k "$1" 2>/dev/null
    else
        sed -n '/^# NAME/,/^# SYN/p' man/*.[37].scd | grep -i "$1"
    fi
}

topics='callback timeout retry log epoll fork signal thread'
found_by_topic()
{
    ! command -v mandb >/dev/null || { cp -r "$stage$prefix/share/man" "$work/man" && mandb -q -c -u "$work/man"; }
    for topic in $topics; do
        found_by "$topic" | grep . || { echo "man -k $topic finds nothing"; return 1; }
    done
}

stage=${2-}
if [ -z "$stage" ]; then
    stage=$work/stage
    vc_make "$build" install DESTDIR="$stage" || exit 1
fi
export PKG_CONFIG_PATH="$stage$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$stage"
export LD_LIBRARY_PATH="$stage$prefix/lib" PATH="$stage$prefix/bin:$PATH"
cut_out && pages_prepared || exit 1
check the_tutorials_programs_are_built_and_print_what_it_shows session
check the_tutorials_installation_is_complete installation
check the_tutorial_names_what_exists names_what_exists
check the_tutorials_unit_is_taken_by_systemd unit
if [ "$(uname -m)" = x86_64 ] && command -v qemu-system-x86_64 >/dev/null; then
    check the_tutorials_programs_call_over_rdma_in_verbcall_vm by_vm
else
    skip the_tutorials_programs_call_over_rdma_in_verbcall_vm 'no qemu'
fi
check readmes_server_and_client_compile page_compiles README.md
check verbcall_7_begins_with_the_greeter begins_with_the_greeter
check examples_and_synopses_of_man_pages_compile examples_compile
check man_finds_pages_by_topic found_by_topic
