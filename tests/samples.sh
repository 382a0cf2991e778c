#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/samples.sh BUILD: what others build on an installed Verbcall, in TAP. BUILD, which is built, is installed under a
# folder of its own (DESTDIR), and the projects of samples/ are built against that, without a look at this tree.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
. tests/build.sh
samples=$PWD/samples
functions=$(grep -o '\bvc_[a-z_]*;' verbcall.map | tr -d ';')
descriptor=$PWD/tests/idl/include
build=$(vc_plain_path "$1") || exit 1
n=0
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
jobs=$(getconf _NPROCESSORS_ONLN)
echo 1..9

# NAME COMMAND...: one test. What it says is shown when it fails.
check()
{
    n=$((n + 1))
    name=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        tail -n 30 "$work/said" | sed 's/^/# /'
    fi
}

# --- helpers --------------------------------------------------------------

install_it()
{
    vc_make "$build" install DESTDIR="$stage"
}

# PREFIX ARGUMENTS: fails if the two programs do not start, or do not say what is wrong when there is no peer.
programs_start()
{
    server=$1-server
    client=$1-client
    "$server" --help | grep '^usage: ' && "$client" --help | grep '^usage: ' || return 1
    # shellcheck disable=SC2086 # words
    said=$("$client" rdma://127.0.0.1:1 $2 2>&1)
    status=$?
    echo "$said"
    [ $status -eq 1 ] && case $said in
    "${client##*/}: "?*) ;;
    *) return 1 ;;
    esac
}

# A protoc that writes down for which file it runs.
write_protoc()
{
    cat >"$work/protoc" <<END
#!/bin/sh
for file; do :; done
echo "\${file##*/}" >>"$work/runs"
exec $(command -v protoc) "\$@"
END
    chmod +x "$work/protoc"
}

# A pkg-config that does not put PKG_CONFIG_SYSROOT_DIR before variables, as freedesktop's.
write_pkg_config()
{
    cat >"$work/pkg-config" <<END
#!/bin/sh
case "\$*" in
*--variable=*) unset PKG_CONFIG_SYSROOT_DIR ;;
esac
exec $(command -v pkg-config) "\$@"
END
    chmod +x "$work/pkg-config"
}

# FILE...: protoc ran for each of these once since the last time that it was asked, and for no other.
ran_for()
{
    ran=$(sort "$work/runs" 2>/dev/null | xargs)
    : >"$work/runs"
    [ "$ran" = "$*" ] || { echo "protoc ran for '$ran', not for '$*'"; return 1; }
}

quiet_make()
{
    make -s -j "$jobs" PROTOC="$work/protoc" CFLAGS='-O0 -Wall -Wextra -Werror' "$@"
}

# Every exported function has a page, of its own or one that it stands in.
pages_installed()
{
    for function in $functions; do
        page=$stage$prefix/share/man/man3/$function.3
        to=$(sed -n 's/^\.so //p' "$page") && [ -s "$stage$prefix/share/man/${to:-man3/$function.3}" ] || return 1
    done
    [ -n "$functions" ] && [ -s "$stage$prefix/share/man/man7/verbcall.7" ] &&
        [ -s "$stage$prefix/share/man/man1/protoc-gen-verbcall.1" ]
}

# --- tests ----------------------------------------------------------------

plain_make()
{
    mkdir "$work/a folder" && cp "$samples/makefile/"* "$work/a folder" && cd "$work/a folder" &&
        quiet_make && ran_for dice.proto range.proto && programs_start ./dice 6 &&
        quiet_make && ran_for && quiet_make clean && diff -r . "$samples/makefile"
}

plain_make_elsewhere()
{
    cp -r "$samples/makefile" "$work/source" && mkdir "$work/elsewhere" && chmod a-w "$work/source" &&
        cd "$work/elsewhere" && quiet_make -f ../source/Makefile VPATH=../source && ran_for dice.proto range.proto &&
        programs_start ./dice 6
}

# FILE FOLDER...: the file is newer than all in these folders.
newer()
{
    file=$1
    shift
    find "$@" -type f -exec touch -d '1 minute ago' {} + && touch "$file"
}

imports()
{
    cd "$work/elsewhere" && newer ../source/range.proto . ../source &&
        quiet_make -f ../source/Makefile VPATH=../source dice.vc.h && ran_for dice.proto
}

# .proto files in two folders below one that imports are counted from.
import_folder()
{
    mkdir -p "$work/tree/proto/sub" && cd "$work/tree" && cp "$samples/makefile/"*.c . &&
        cp "$samples/makefile/range.proto" proto/sub/ &&
        sed 's,import ",&sub/,' "$samples/makefile/dice.proto" >proto/dice.proto &&
        sed -e 's,dice.proto range.proto,proto/dice.proto proto/sub/range.proto,' \
            -e 's,^VERBCALL_PROTOS,VERBCALL_PROTO_DIR = proto\n&,' -e 's,-I\. ,-Iproto ,' \
            "$samples/makefile/Makefile" >Makefile &&
        quiet_make && ran_for dice.proto range.proto && programs_start ./dice 6
}

# verbcall/options.proto is found where it is installed; this tree's part of descriptor.proto is for where there is none.
options()
{
    mkdir "$work/options" && cd "$work/options" && cp "$samples/makefile/"* . &&
        sed -i -e 's,^import.*,&\nimport "verbcall/options.proto";,' \
            -e 's,\(rpc .*\);,\1 { option (verbcall.method).timeout_ms = 4711; },' dice.proto &&
        quiet_make VERBCALL_PROTOC_FLAGS="-I\$(VERBCALL_PROTODIR) -I'$descriptor'" dice.vc.c &&
        ran_for dice.proto && grep 4711 dice.vc.c
}

autotools()
{
    cp -r "$samples/autotools" "$work/autotools" && cd "$work/autotools" &&
        autoreconf -i && mkdir build && cd build && ../configure -q PROTOC="$work/protoc" && make -s -j "$jobs" &&
        ran_for money.proto till.proto && programs_start src/till 'tea 250' &&
        newer ../src/money.proto .. && make -s && ran_for money.proto till.proto && make -s distcheck
}

# A plugin of the pkg-config file that cannot run here, as that of another system.
foreign_configure()
{
    mkdir -p "$work/foreign" && cd "$work/foreign" &&
        sed 's,^protoc_plugin=.*,protoc_plugin=/of/another/system,' "$stage$prefix/lib/pkgconfig/verbcall.pc" >verbcall.pc &&
        cp "$samples/autotools/src/"*.proto . || return 1
    export PKG_CONFIG_PATH="$work/foreign"
    if ! command -v protoc-gen-verbcall >/dev/null; then
        ! ../autotools/configure -q --build=x86_64-pc-linux-gnu --host=x86_64-foreign-linux-gnu CC=cc PKG_CONFIG=pkg-config >out 2>&1 &&
            grep 'protoc-gen-verbcall does not run here' out || return 1
    fi
    ../autotools/configure -q --build=x86_64-pc-linux-gnu --host=x86_64-foreign-linux-gnu CC=cc PKG_CONFIG=pkg-config PATH="$stage$prefix/bin:$PATH" &&
        grep "^VERBCALL_PLUGIN = $stage$prefix/bin/" src/Makefile &&
        write_pkg_config &&
        ../autotools/configure -q PKG_CONFIG="$work/pkg-config" PATH="$stage$prefix/bin:$PATH" &&
        grep "^VERBCALL_PLUGIN = $stage$prefix/bin/" src/Makefile &&
        ../autotools/configure -q PROTOC="$work/protoc" VERBCALL_PLUGIN="$stage$prefix/bin/protoc-gen-verbcall" &&
        make -s -C src till.vc.h && ran_for till.proto
}

prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
stage=$work/stage
check it_installs_below_a_folder install_it
if grep -q '^#dist_man_MANS' "$build/Makefile"; then
    n=$((n + 1))
    echo "ok $n - each_function_has_a_man_page_there # SKIP no scdoc"
else
    check each_function_has_a_man_page_there pages_installed
fi
export PKG_CONFIG_PATH="$stage$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$stage"
export ACLOCAL_PATH="$stage$prefix/share/aclocal" LD_LIBRARY_PATH="$stage$prefix/lib"
write_protoc
check plain_make_builds_on_it_with_one_run_for_a_file plain_make
check plain_make_builds_in_another_folder plain_make_elsewhere
check what_imports_a_changed_file_is_made_anew imports
check imports_may_be_counted_from_a_folder import_folder
check options_of_methods_are_found options
check an_autotools_project_builds_on_it_and_passes_distcheck autotools
check configure_finds_a_plugin_that_runs_here foreign_configure
