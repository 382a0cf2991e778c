#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds Verbcall and shows that it works: see usage() below. What runs beside the RDMA device is in inside.sh.
set -u

usage()
{
    cat <<'END'
usage: sh examples/run.sh [--native] [FILE]
Builds Verbcall and runs its examples: first at vc:// on this machine as it is, then the same programs
over RDMA, on this machine if it has an RDMA device, otherwise in a virtual machine with Soft-RoCE; with
--native only the first. Installs what is missing for that. The greeter makes one call; the key-value
server serves the lines of FILE, or of a text made up for it, and its client reads all of them back
and compares; the others show what examples/README.md says of them. Ends with a line that says
whether all is well; exit status 0 if so.
Environment: VC_BUILD_DIR=FOLDER builds there instead of in build/; VC_TEST_GUEST=1 uses the virtual
machine in any case.
END
}

die()
{
    echo "Verbcall: $*" >&2
    exit 1
}

# Prints 20,000 lines of 0 to some 8000 bytes, always the same. The last has no newline.
make_text()
{
    LC_ALL=C awk '
        function random(n) { seed = seed * 16807 % 2147483647; return seed % n }
        function length_of(i) {
            if (i % 100 == 0) return 1000 + random(7000)
            return i % 17 == 0 ? 0 : random(300)
        }
        BEGIN {
            seed = 1
            split("a verb calls across \303\251ther\t and returns, twice 42 {} %s \\ \"", word, " ")
            while (length(long) < 16000)
                long = long word[1 + random(14)] " "
            for (i = 1; i <= 20000; i++)
                printf "%s%s", substr("line " i ": " substr(long, 1 + random(8000)), 1, length_of(i)), i < 20000 ? "\n" : ""
        }'
}

all_is_well()
{
    echo "All is well: the greeting came, and all $(awk 'END { print NR }' "$text") lines were read back unchanged."
    exit
}

here=$PWD
native=
[ "${1-}" != --native ] || { native=1; shift; }
case ${1-} in
-h | --help) usage; exit ;;
-*) usage >&2; exit 2 ;;
/* | '') file=${1-} ;;
*) file=$here/$1 ;;
esac
[ -z "$file" ] || [ -r "$file" ] || die "cannot read $file"

CDPATH='' cd -P -- "$(dirname -- "$0")/.." || exit 1
top=$PWD
[ -f tests/packages.sh ] || die 'builds Verbcall first: run it in a checkout of the sources'
. tests/packages.sh
. tests/build.sh
build=$(vc_build_folder "$here")

vc_need_packages build || die 'cannot build it without these packages'
vc_build "$build" || die 'FAILED: it does not build'

text=examples/text
cd "$build" || exit 1
if [ -n "$file" ]; then
    cat -- "$file" >"$text" # copied: the virtual machine may not see it where it is
else
    make_text >"$text"
fi || die 'FAILED: cannot write the text'
echo 'Verbcall: The examples run on this machine, at vc://.' >&2
VC_TEST_ADDR=127.0.0.1 VC_TEST_SCHEME=vc VC_POOL_SECONDS=4 sh "$top/examples/inside.sh" "$text" ||
    die "FAILED: at vc:// the examples ended with status $?"
[ -z "$native" ] || all_is_well

where=$("$top/tests/rdma" --where)
case $where in
*'in a guest'*) (cd "$top" && vc_need_packages guest) || die 'cannot run it without these packages' ;;
esac
echo "Verbcall: $where" >&2
if "$top/tests/rdma" --timeout 1800 -- sh "$top/examples/inside.sh" "$text"; then
    all_is_well
else
    die "FAILED: the examples ended with status $?"
fi
