# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The table of doc/protobuf.md, row by row, and what is behind it: a part of
# test_idl.sh, which has the functions used here. shellcheck shell=sh

# objects STANDARD INCLUDES DIR... - compiles all sources of the folders to
# objects/STANDARD, by the C++ compiler where that is one of C++. What gives a
# warning has no object. Objects of c11 are linked; the others are empty files.
objects()
{
    mkdir -p "objects/$1"
    OBJECTS=objects/$1 COMPILE="-std=$1 $warnings $cflags $2"
    case $1 in
    c++*) COMPILE="$CXX -x c++ $COMPILE" ;;
    *) COMPILE="$CC $COMPILE" ;;
    esac
    [ "$1" = c11 ] || COMPILE="$COMPILE -fsyntax-only"
    export OBJECTS COMPILE VC_INCLUDE
    shift 2
    find "$@" -name '*.c' | sort | xargs -P 2 -n 1 sh -c '
        object=$OBJECTS/$(echo "$1" | tr / :).o
        case $COMPILE in
        *-fsyntax-only) $COMPILE "-I$VC_INCLUDE" "$1" && : >"$object" ;;
        *) $COMPILE "-I$VC_INCLUDE" -o "$object" -c "$1" ;;
        esac' compile 2>&1
}

# object STANDARD FILE - the one that objects made of it
object()
{
    echo "objects/$1/$(echo "$2" | tr / :).o"
}

# library SOURCE... - all that the library exports, by name only
library()
{
    sed -n 's/^ *\(vc_[a-z_]*\);$/void \1(void);\nvoid \1(void) {}/p' "$top/verbcall.map" >stub.c &&
        $CC -fPIC -c stub.c -o stub.o
}

# links NAME OBJECT... - together, with nothing missing and nothing twice
links()
{
    name=$1
    shift
    $CC -shared -Wl,-z,defs -o "$name.so" "$@" stub.o $libs
}

# made FILE.proto - it has been generated, and compiles everywhere
made()
{
    stem=${1%.proto}
    pieces="$stem.vc $stem.pb-c"
    ! grep -q 'pb_c_file).no_generate = true' "$here/$1" || pieces=$stem.vc
    for piece in $pieces; do
        for std in $standards; do
            object=$(object $std "$piece.c")
            [ -f "$object" ] || { echo "no $object"; return 1; }
        done
    done
}

# expected FILE - the words behind EXPECT, with file and line
expected()
{
    sed -n 's,^\(//\|#\) EXPECT ,,p' "$here/$1" | grep "^$(basename "$1" | sed 's/\.[a-z]*$//')\.proto:[1-9]"
}

# row CODE RESULT FILE - one of the table holds. That what is refused is
# refused by these words is tested for each file of bad/.
row()
{
    grep -qF -e "$1" "$here/$3" || { echo "no $1 in $3"; return 1; }
    case $3:$2 in
    good/*:generated*) made "$3" ;;
    bad/*:'refused: "'*)
        said=${2#refused: \"}
        expected "$3" | grep -qF -e "${said%\"}" || { echo "not what $3 expects: $said"; return 1; } ;;
    *) echo "neither generated nor refused: $2"; return 1 ;;
    esac
}

# Feature, code, result and file of each row, by tabs.
rows()
{
    sed -n 's/^| \(.*\) | `\(.*\)` | \(.*\) | \([a-z0-9_/.]*\) |$/\1\t\2\t\3\t\4/p' "$top/doc/protobuf.md"
}

# Each row is one of the table's, and each file is in a row.
rows_complete()
{
    [ "$(grep -c '^| .* | \(good\|bad\)/.* |$' "$top/doc/protobuf.md")" = "$(rows | wc -l)" ] || return 1
    (cd "$here" && find good bad ! -path 'bad/dep/*' \( -name '*.proto' -o -name '*.txtpb' \) | sort) >files
    rows | cut -f 4 | sort -u | diff files -
}

# What a generated source exports is what its header declares.
exports()
{
    for source in $(find good -name '*.vc.c'); do
        $NM -g --defined-only "$(object c11 "$source")" | sed 's/.* //' | while read -r symbol; do
            grep -q "\b$symbol\b" "${source%.c}.h" || { echo "$source: $symbol"; exit 1; }
        done || return 1
    done
}

# What the plugin writes does not depend on how it was built, so once is enough.
standards='c99 c11 c++11'
[ "${VC_TEST_COST-}" != no ] || standards=c11
command -v $CXX >/dev/null || standards=${standards% c++11}
paths='-Igood -Iknown'
known=$(cd "$here/foreign/protobuf" && find google -name '*.proto' | sort)
mkdir known
check "the well-known types are generated" generate known $protos $known
for std in $standards; do
    check "every good file and the well-known types compile as $std" objects $std "$paths -fPIC" good known
done
check "the library's names are known" library
check "all of it links into one library" links good $(find objects/c11 -name '*.o')
check "sources of services export what their headers declare" exports
rows >table
tab=$(printf '\t')
while IFS=$tab read -r feature code result file; do
    check "$(echo "$feature: ${result%%[:;]*}" | tr -d '`*#')" row "$code" "$result" "$file" </dev/null
done <table
check "the table has each good and bad file" rows_complete
