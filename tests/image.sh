#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/image.sh BUILD: tests samples/container/Containerfile, in TAP: buildah makes an image with it from the tarball of BUILD
# and a Debian that mmdebstrap has made, and containers of that image call each other. Needs root and a mirror of Debian; what
# this machine refuses is skipped. It takes some minutes.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$top" || exit 1
. tests/build.sh
. tests/packages.sh
# shellcheck source=examples/servers.sh
. examples/servers.sh
build=$1
work=$(mktemp -d) && chmod 755 "$work" || exit 1
net=vc$$i n=0

clean()
{
    vc_server_stop 2>/dev/null
    ip netns del "$net" 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT

# NAME COMMAND...: one test. A server that the command leaves must end successfully.
check()
{
    n=$((n + 1)) name=$1 result=0
    shift
    "$@" >"$work/log" 2>&1 || result=1
    vc_server_stop >>"$work/log" 2>&1 || result=1
    if [ $result -eq 0 ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        tail -n 40 "$work/log" | sed 's/^/# /'
    fi
}

skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

pod()
{
    sh "$top/tests/pod.sh" "$work/store" "$@"
}

# --- the base: a minimal Debian ---

base_make()
{
    mmdebstrap --quiet --variant=minbase bookworm "$work/debian.tar" &&
        base=$(pod buildah from scratch) && pod buildah add "$base" "$work/debian.tar" / &&
        pod buildah commit --rm "$base" localhost/debian && rm "$work/debian.tar"
}

# --- tests ---

# The steps run on this machine's network, to reach the mirror.
builds()
{
    mkdir "$work/context" && vc_make "$build" dist &&
        cp samples/container/Containerfile "$build"/verbcall-*.tar.xz "$work/context" &&
        pod buildah build --isolation chroot --network host --pull-never --build-arg BASE=localhost/debian \
            --tag localhost/dice "$work/context"
}

# OPTION... localhost/dice COMMAND...: runs it in a container of the image
dice()
{
    timeout 20 sh "$top/tests/pod.sh" "$work/store" podman run --rm --pull never "$@"
}

# Checks a die's answer: 1 to 6.
is_roll()
{
    case $1 in [1-6]) ;; *) echo "no roll: $1"; return 1 ;; esac
}

serve()
{
    vc_server_start sh "$top/tests/pod.sh" "$work/store" podman run --rm --pull never "$@"
}

has_no_compiler()
{
    # shellcheck disable=SC2016 # sh expands it
    dice --network none localhost/dice sh -c '! command -v cc gcc make && [ "$(id -un)" = nobody ]'
}

calls_by_volume()
{
    mkdir "$work/shared" && chown nobody "$work/shared" || return 1
    set -- --network none --read-only --volume "$work/shared:/run/verbcall" localhost/dice
    serve "$@" dice-server shm:///run/verbcall/dice && is_roll "$(dice "$@" dice-client shm:///run/verbcall/dice 6)"
}

# SCHEME: both containers share a network namespace.
calls_in_a_pod()
{
    target=$1://127.0.0.1
    set -- --network "ns:/run/netns/$net" localhost/dice
    serve "$@" dice-server "$target:0" && is_roll "$(dice "$@" dice-client "$target:$vc_port" 6)"
}

[ "$(id -u)" -eq 0 ] || skip_all 'images without root are not tried'
vc_need_packages image || skip_all 'no podman, buildah or mmdebstrap here'
vc_build_product "$build" && build=$(vc_plain_path "$build") || exit 1
base_make >"$work/log" 2>&1 || skip_all "no Debian could be made: $(grep -v '^$' "$work/log" | tail -n 1)"
echo 1..5
check the_containerfile_builds builds
check the_image_has_the_program_and_no_compiler has_no_compiler
check containers_call_through_a_shared_volume calls_by_volume
ip netns add "$net" && ip -n "$net" link set lo up
check containers_of_a_pod_call_over_tcp calls_in_a_pod tcp
check containers_of_a_pod_call_by_the_best_there_is calls_in_a_pod vc
