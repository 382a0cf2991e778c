#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/samples.sh BUILD: tests projects of users on an installed Verbcall, in TAP. BUILD, which is built, is installed under a
# folder of its own (DESTDIR), and the projects of samples/ are built against that, without access to this tree.
# tests/tutorial.sh tests what documents show.
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
echo 1..20

# NAME COMMAND...: one test. Its output is shown when it fails.
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

skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# NAME COMMAND...: the same of one that runs configure several times.
check_long()
{
    if [ -n "${VC_TEST_LONG-}" ]; then
        check "$@"
    else
        skip "$1" 'takes long: --long'
    fi
}

# --- helpers --------------------------------------------------------------

install_it()
{
    vc_make "$build" install DESTDIR="$stage"
}

# `make uninstall` removes all that was installed.
uninstalls()
{
    cp -a "$stage" "$work/installed" && vc_make "$build" uninstall DESTDIR="$work/installed" &&
        find "$work/installed" ! -type d >"$work/left" || return 1
    [ -s "$stage$prefix/lib/libverbcall.so" ] || return 1
    [ ! -s "$work/left" ] || { echo 'uninstall leaves:'; cat "$work/left"; return 1; }
}

# PREFIX ARGUMENTS: fails if the two programs do not start, or print no error when there is no peer.
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

# Makes a protoc that records for which file it runs.
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

# Makes a pkg-config that does not put PKG_CONFIG_SYSROOT_DIR before variables, as freedesktop's does not.
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

# FILE...: since the last check protoc ran once for each of these, and for no other.
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

# Every exported function has a page, its own or one that describes it.
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

# .proto files in two folders below the one to which imports are relative.
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

# verbcall/options.proto is found where it is installed; this tree's part of descriptor.proto is for systems without it.
options()
{
    mkdir "$work/options" && cd "$work/options" && cp "$samples/makefile/"* . &&
        sed -i -e 's,^import.*,&\nimport "verbcall/options.proto";,' \
            -e 's,\(rpc .*\);,\1 { option (verbcall.method).timeout_ms = 4711; },' dice.proto &&
        quiet_make VERBCALL_PROTOC_FLAGS="-I\$(VERBCALL_PROTODIR) -I'$descriptor'" dice.vc.c &&
        ran_for dice.proto && grep 4711 dice.vc.c
}

# Imported files of other packages: health and reflection are installed, descriptor.proto stands for those of protobuf.
imports_of_elsewhere()
{
    mkdir "$work/imports" && cd "$work/imports" && cp "$samples/makefile/"* . &&
        sed -i 's,^VERBCALL_PROTOS.*,&\nVERBCALL_IMPORTS = google/protobuf/descriptor.proto grpc/health/v1/health.proto verbcall/reflection/v1/reflection.proto,' Makefile &&
        quiet_make VERBCALL_PROTOBUFDIR="$descriptor" &&
        ran_for descriptor.proto dice.proto health.proto range.proto reflection.proto && programs_start ./dice 6 &&
        quiet_make VERBCALL_PROTOBUFDIR="$descriptor" && ran_for &&
        quiet_make clean && ! find . -name '*.vc.[chd]' -o -name '*.pb-c.[ch]' | grep .
}

# An imported file without a line in VERBCALL_IMPORTS: the compiler finds no header, and make has said why. The sample's own import,
# and one that is named there, are not spoken of.
import_forgotten()
{
    hint='verbcall.mk: dice.proto imports grpc/health/v1/health.proto, of which no C is made here: name it in VERBCALL_IMPORTS'
    mkdir "$work/forgotten" && cd "$work/forgotten" && cp "$samples/makefile/"* . &&
        sed -i 's,^import.*,&\nimport "grpc/health/v1/health.proto";,' dice.proto || return 1
    ! quiet_make >out 2>&1 && cat out && grep -x "$hint" out && [ "$(grep -c '^verbcall\.mk:' out)" -eq 1 ] || return 1
    quiet_make clean && sed -i 's,^VERBCALL_PROTOS.*,&\nVERBCALL_IMPORTS = grpc/health/v1/health.proto,' Makefile &&
        quiet_make >out 2>&1 && ! grep '^verbcall\.mk:' out && rm -f "$work/runs" && programs_start ./dice 6
}

automake_imports()
{
    cp -r "$samples/autotools" "$work/automake" && cd "$work/automake" &&
        sed -i -e 's,^VERBCALL_PROTOS.*,&\nVERBCALL_IMPORTS = google/protobuf/descriptor.proto grpc/health/v1/health.proto,' \
            -e 's,^generated = .*,& $(VERBCALL_IMPORTS:.proto=.vc.c) $(VERBCALL_IMPORTS:.proto=.pb-c.c),' src/Makefile.am &&
        autoreconf -i && mkdir build && cd build && ../configure -q PROTOC="$work/protoc" &&
        make -s -j "$jobs" VERBCALL_PROTOBUFDIR="$descriptor" &&
        ran_for descriptor.proto health.proto money.proto till.proto && programs_start src/till 'tea 250'
}

cmake_builds()
{
    command -v cmake >/dev/null || { echo 'no cmake'; return 1; }
    cp -r "$samples/cmake" "$work/cmake" && cd "$work/cmake" || return 1
    for generator in 'Unix Makefiles' Ninja; do
        [ "$generator" != Ninja ] || command -v ninja >/dev/null || continue
        rm -rf b && cmake -G "$generator" -B b -DCMAKE_PREFIX_PATH="$stage$prefix" -DVERBCALL_PROTOC="$work/protoc" \
            -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' && cmake --build b -j "$jobs" && ran_for mass.proto scale.proto &&
            programs_start b/scale 4 && cmake --build b -j "$jobs" && ran_for &&
            touch protos/units/mass.proto && cmake --build b -j "$jobs" && ran_for mass.proto scale.proto &&
            touch protos/scale.proto && cmake --build b -j "$jobs" && ran_for scale.proto &&
            cmake --build b -j "$jobs" && ran_for || return 1
    done
}

# Files of other packages, and invalid arguments.
cmake_imports()
{
    mkdir "$work/cmake imports" && cd "$work/cmake imports" && cp "$samples/cmake/client.c" . &&
        cp -r "$samples/cmake/protos" . && sed -e '/^add_/,$d' "$samples/cmake/CMakeLists.txt" >top &&
        cat top - >CMakeLists.txt <<'END' || return 1
add_executable(both client.c)
verbcall_generate(TARGET both PROTOS scale.proto units/mass.proto PROTO_DIR protos)
verbcall_generate(TARGET both PROTOS grpc/health/v1/health.proto google/protobuf/descriptor.proto IMPORT_DIRS ${ELSEWHERE})
END
    cmake -B b -DCMAKE_PREFIX_PATH="$stage$prefix" -DELSEWHERE="$descriptor" && cmake --build b && b/both --help || return 1
    (cat top && echo 'verbcall_generate(TARGET none PROTOS a.proto)') >CMakeLists.txt
    ! cmake -B b >out 2>&1 && grep "there is no target 'none'" out || return 1
    sed 's/Verbcall 0.1/Verbcall 0.2/' top >CMakeLists.txt
    ! cmake -B b >out 2>&1 && grep 'version: 0.1' out
}

meson_builds()
{
    cp -r "$samples/meson" "$work/meson" && cd "$work/meson" && mkdir bin && ln -s "$work/protoc" bin/protoc &&
        PATH=$PWD/bin:$PATH && meson setup --werror b && ninja -C b && ran_for bell.proto sound.proto &&
        programs_start b/bell 3 && ninja -C b && ran_for && touch sound.proto && ninja -C b && ran_for bell.proto sound.proto
}

# To compile, a client needs only the headers that it includes: no .pc file of rdma-core or liburcu.
no_more_packages()
(
    mkdir "$work/few" && cp "$stage$prefix/lib/pkgconfig/verbcall.pc" "$work/few" &&
        cp "$(env -u PKG_CONFIG_PATH -u PKG_CONFIG_SYSROOT_DIR pkg-config --variable=pcfiledir libprotobuf-c)/libprotobuf-c.pc" "$work/few" || exit 1
    unset PKG_CONFIG_PATH
    PKG_CONFIG_LIBDIR=$work/few pkg-config --cflags --libs verbcall &&
        ! grep -E 'infiniband/|rdma/|urcu' -r "$stage$prefix/include/verbcall" &&
        grep "^dependency_libs=''" "$stage$prefix/lib/libverbcall.la"
)

# Works in a shell that stops at unset variables and failures; sourcing it twice changes nothing.
environment()
{
    env -i PATH=/usr/bin:/bin sh -euc '. "$1"; . "$1"; printf "%s\n" "$PATH" "$LD_LIBRARY_PATH" "$PKG_CONFIG_PATH" "$ACLOCAL_PATH" "$CMAKE_PREFIX_PATH" "$MANPATH"' - \
        "$stage$prefix/share/verbcall/verbcall.env" | sed '1s,:.*,,' >"$work/shown" &&
        printf '%s\n' "$prefix/bin" "$prefix/lib" "$prefix/lib/pkgconfig" "$prefix/share/aclocal" "$prefix" "$prefix/share/man:" |
        diff - "$work/shown" && env -i PATH="$PATH" MANPATH=/a LD_LIBRARY_PATH=/b sh -euc '. "$1"; echo "$MANPATH $LD_LIBRARY_PATH"' - \
        "$stage$prefix/share/verbcall/verbcall.env" >"$work/shown" && [ "$(cat "$work/shown")" = "$prefix/share/man:/a $prefix/lib:/b" ]
}

# It installs no package by itself: one program is missing.
vm_says_what_is_missing()
{
    mkdir "$work/bin" && ln -s /usr/bin/* /bin/* "$work/bin/" 2>/dev/null
    rm -f "$work/bin/qemu-system-x86_64"
    PATH=$work/bin "$stage$prefix/bin/verbcall-vm" -- true >out 2>&1
    [ $? -eq 125 ] && grep 'missing: qemu-system-x86_64' out && grep -E '(apt-get|dnf) install .*qemu' out &&
        "$stage$prefix/bin/verbcall-vm" --help | grep '^usage: verbcall-vm'
}

# The installed documents and examples are complete, without built files.
documents()
{
    docs=$stage$prefix/share/doc/verbcall
    git ls-files README.md CHANGES.md LICENSE doc examples samples 2>/dev/null | grep -v 'local\.am$' | LC_ALL=C sort >"$work/listed"
    (cd "$docs" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) >"$work/there"
    # Without git there is no list of files.
    if [ -s "$work/listed" ]; then diff "$work/listed" "$work/there" || return 1; fi
    mkdir "$work/greeter" && cp "$docs/examples/greeter/"* "$work/greeter" && cd "$work/greeter" &&
        protoc --plugin=protoc-gen-verbcall="$stage$prefix/bin/protoc-gen-verbcall" --verbcall_out=. greeter.proto || return 1
    # shellcheck disable=SC2046 # flags
    cc $(pkg-config --cflags verbcall) -o greeter-client client.c greeter.vc.c greeter.pb-c.c $(pkg-config --libs verbcall)
}

autotools()
{
    cp -r "$samples/autotools" "$work/autotools" && cd "$work/autotools" &&
        autoreconf -i && mkdir build && cd build && ../configure -q PROTOC="$work/protoc" && make -s -j "$jobs" &&
        ran_for money.proto till.proto && programs_start src/till 'tea 250' &&
        newer ../src/money.proto .. && make -s && ran_for money.proto till.proto && make -s distcheck
}

# The plugin in the .pc file cannot run here, as if it were of another system.
foreign_configure()
(
    mkdir -p "$work/foreign" && cd "$work/foreign" &&
        sed 's,^protoc_plugin=.*,protoc_plugin=/of/another/system,' "$stage$prefix/lib/pkgconfig/verbcall.pc" >verbcall.pc &&
        cp "$samples/autotools/src/"*.proto . || exit 1
    export PKG_CONFIG_PATH="$work/foreign"
    if ! command -v protoc-gen-verbcall >/dev/null; then
        ! ../autotools/configure -q --build=x86_64-pc-linux-gnu --host=x86_64-foreign-linux-gnu CC=cc PKG_CONFIG=pkg-config >out 2>&1 &&
            grep 'protoc-gen-verbcall does not run here' out || exit 1
    fi
    ../autotools/configure -q --build=x86_64-pc-linux-gnu --host=x86_64-foreign-linux-gnu CC=cc PKG_CONFIG=pkg-config PATH="$stage$prefix/bin:$PATH" &&
        grep "^VERBCALL_PLUGIN = $stage$prefix/bin/" src/Makefile &&
        write_pkg_config &&
        ../autotools/configure -q PKG_CONFIG="$work/pkg-config" PATH="$stage$prefix/bin:$PATH" &&
        grep "^VERBCALL_PLUGIN = $stage$prefix/bin/" src/Makefile &&
        ../autotools/configure -q PROTOC="$work/protoc" VERBCALL_PLUGIN="$stage$prefix/bin/protoc-gen-verbcall" &&
        make -s -C src till.vc.h && ran_for till.proto
)

prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
stage=$work/stage
check it_installs_below_a_folder install_it
check it_uninstalls_all_of_it uninstalls
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
check_long configure_finds_a_plugin_that_runs_here foreign_configure
check files_of_elsewhere_are_compiled_by_verbcall_mk imports_of_elsewhere
check verbcall_mk_says_that_an_import_was_forgotten import_forgotten
check_long files_of_elsewhere_are_compiled_with_automake automake_imports
check clients_need_no_package_of_rdma_core no_more_packages
check verbcall_env_names_every_folder environment
if [ "$(uname -m)" = x86_64 ] && command -v qemu-system-x86_64 >/dev/null; then
    check verbcall_vm_says_what_is_missing_and_installs_nothing vm_says_what_is_missing
else
    skip verbcall_vm_says_what_is_missing_and_installs_nothing 'no qemu'
fi
check documents_examples_and_samples_are_installed documents
if command -v cmake >/dev/null; then
    check a_cmake_project_builds_on_it_and_makes_anew_what_has_changed cmake_builds
    check cmake_finds_files_of_elsewhere_and_says_what_is_wrong cmake_imports
else
    skip a_cmake_project_builds_on_it_and_makes_anew_what_has_changed 'no cmake'
    skip cmake_finds_files_of_elsewhere_and_says_what_is_wrong 'no cmake'
fi
if command -v meson >/dev/null; then
    check a_meson_project_builds_on_it_and_makes_anew_what_has_changed meson_builds
else
    skip a_meson_project_builds_on_it_and_makes_anew_what_has_changed 'no meson'
fi
"$samples/../tests/tutorial.sh" "$build" "$stage"
