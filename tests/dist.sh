#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/dist.sh BUILD: tests what users and distributions get from a build folder, in TAP: the tarball, and the installed files
# (tests/samples.sh, tests/tutorial.sh).
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
. tests/build.sh
build=$1
n=0
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# A tarball is for size; here it is for its contents, and xz -e takes ten seconds.
export XZ_OPT=-1
echo 1..6

# NAME COMMAND...
check()
{
    n=$((n + 1))
    name=$1
    shift
    if "$@" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
    fi
}

tarball()
{
    echo "$1"/verbcall-*.tar.xz
}

complete()
{
    vc_make "$build" dist && tar -tf "$(tarball "$build")" | sed 's,^[^/]*/,,' | sort >"$work/in_it" || return 1
    # Without git this is a tree from a tarball, which is complete or would not have built.
    [ -e .git ] || return 0
    git ls-files | grep -v '^\.git' | sort | comm -23 - "$work/in_it" >"$work/missing"
    [ ! -s "$work/missing" ] || { echo 'the tarball lacks:'; cat "$work/missing"; return 1; }
}

# pkg_config_without FOLDER PATTERN: makes a pkg-config in FOLDER that fails for arguments that match PATTERN.
pkg_config_without()
{
    mkdir -p "$1" && cat >"$1/pkg-config" <<END && chmod 755 "$1/pkg-config"
#!/bin/sh
case "\$*" in $2) exit 1 ;; esac
exec $(command -v pkg-config) "\$@"
END
}

# Configures as for another system, so that configure must not run the plugin that is built, and where pkg-config finds neither
# rdma-core nor what only tests need.
configure_for_another_system()
(
    source=$(echo "$work"/verbcall-*)
    pkg_config_without "$work/bin" '*librdmacm* | *libibverbs* | *cmocka*' && PATH=$work/bin:$PATH &&
        mkdir -p "$work/again" && cd "$work/again" && vc_depfiles "$source" &&
        "$source/configure" --disable-tests --disable-lto CC="${CC:-cc}" CFLAGS=-O0 \
            --build=x86_64-pc-linux-gnu --host=x86_64-other-linux-gnu "$@" >configure.out 2>&1
)

cross_compiles()
{
    printf '#!/bin/sh\necho ran >>"%s"\nexec "%s" "$@"\n' "$work/plugin.ran" "$build/protoc-gen-verbcall" \
        >"$work/plugin" && chmod +x "$work/plugin" &&
        (umask 077 && tar -xf "$(tarball "$build")" -C "$work") || return 1
    if ! command -v protoc-gen-verbcall >/dev/null; then
        ! configure_for_another_system --without-rdma && grep with-native-plugin "$work/again/configure.out" || return 1
    fi
    ! configure_for_another_system --without-rdma --with-native-plugin=/bin/false &&
        ! configure_for_another_system --with-native-plugin="$work/plugin" &&
        grep -- --without-rdma "$work/again/configure.out" &&
        configure_for_another_system --without-rdma --with-native-plugin="$work/plugin" && rm "$work/plugin.ran" &&
        (cd "$work/again" && vc_make_here proto/grpc/health/v1/health.vc.c) && [ -s "$work/plugin.ran" ]
}

# Makes the tarball again from its own tree, in another folder, with another umask and time zone.
same_again()
(
    umask 077
    export TZ=Pacific/Auckland
    cd "$work/again" && vc_make_here dist && cmp "$(tarball "$build")" "$(tarball .)"
)

# There, where pkg-config does not find rdma-core.
runs_without_rdma()
(
    source=$(echo "$work"/verbcall-*)
    cd "$work/again" && vc_make_here ${VC_TEST_LONG:+all} libverbcall.la examples/greeter/greeter-server examples/greeter/greeter-client \
        examples/kv/kv-server examples/kv/kv-client "LIBTOOL=sh $source/tests/libtool.sh ar" &&
        ! readelf -d .libs/libverbcall.so | grep -E 'NEEDED.*(rdmacm|ibverbs)' || exit 1
    ! examples/greeter/greeter-client rdma://127.0.0.1:1 nobody >said 2>&1 && grep 'built without RDMA' said || exit 1
    VC_TEST_ADDR=127.0.0.1 VC_TEST_SCHEME=tcp sh "$source/examples/inside.sh" "$source/README.md" greeter kv
)

# Without scdoc there are no man pages, unless this is a tree from a tarball.
man_pages()
{
    tar -tf "$(tarball "$build")" | grep -q '/man/verbcall\.7$'
}

# The build folders show optimisation, warnings and test results. This one shows that a tarball that cannot be written to builds
# and passes some tests, and that `make distclean` leaves nothing.
distcheck()
{
    # shellcheck disable=SC2016 # make expands it
    vc_make "$build" distcheck DISTCHECK_CONFIGURE_FLAGS='--disable-lto CFLAGS=-O0' \
        TESTS='$(unit_tests) tests/fake/suite_calls tests/sim/test_pool'
}

vc_build_product "$build" && build=$(vc_plain_path "$build") || exit 1
check the_tarball_has_every_file complete
if command -v scdoc >/dev/null || [ ! -e .git ]; then
    check the_tarball_has_the_man_pages man_pages
else
    n=$((n + 1))
    echo "ok $n - the_tarball_has_the_man_pages # SKIP no scdoc"
fi
check cross_compiling_runs_the_given_plugin_and_needs_no_cmocka cross_compiles
check the_tarball_is_the_same_in_another_folder_and_time_zone same_again
check it_builds_and_runs_without_rdma runs_without_rdma
if [ -n "${VC_TEST_LONG-}" ]; then
    check the_tarball_passes_distcheck distcheck
else
    n=$((n + 1))
    echo "ok $n - the_tarball_passes_distcheck # SKIP takes minutes: --long"
fi
tests/samples.sh "$build"
