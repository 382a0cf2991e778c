#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/containers.sh BUILD [TESTS]: runs programs in containers, in TAP: with other namespaces, fewer privileges, a read-only
# root, podman's default seccomp profile, and a profile that refuses shared memory. Each case works, or fails with an error that
# says why. A case that this machine refuses is skipped. With VC_TEST_LONG=1 suites of the build folder TESTS run in a
# container, too.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$1" || exit 1
# shellcheck source=examples/servers.sh
. "$top/examples/servers.sh"
# shellcheck source=tests/pod_root.sh
. "$top/tests/pod_root.sh"

tests=${2-}
work=$(mktemp -d) && chmod 755 "$work" || exit 1
one=vc$$a two=vc$$b n=0

clean()
{
    vc_server_stop 2>/dev/null
    ip netns del "$one" 2>/dev/null
    ip netns del "$two" 2>/dev/null
    umount "$work/ro" 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT
echo 1..17

# NAME COMMAND...: one test. A server that the command leaves must end successfully.
check()
{
    n=$((n + 1)) name=$1
    shift
    result=0
    "$@" >"$work/log" 2>&1 || result=1
    vc_server_stop >>"$work/log" 2>&1 || result=1
    if [ $result -eq 0 ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$work/log"
    fi
}

# NAME... WHY
skip()
{
    for reason; do :; done
    while [ $# -gt 1 ]; do
        n=$((n + 1))
        echo "ok $n - $1 # SKIP $reason"
        shift
    done
}

# serve TARGET COMMAND...: starts a greeter-server by COMMAND
serve()
{
    target=$1
    shift
    vc_server_start "$@" examples/greeter/greeter-server "$target" || return 1
    case $target in *:0) target=${target%0}$vc_port ;; esac
}

# greets COMMAND...: runs a greeter-client by COMMAND
greets()
{
    [ "$(timeout 20 "$@" examples/greeter/greeter-client "$target" world)" = 'Hello, world' ]
}

# fails TEXT COMMAND...: the same; the client must fail with this text
fails()
{
    text=$1
    shift
    said=$(timeout 20 "$@" examples/greeter/greeter-client "$target" world 2>&1) && return 1
    echo "$said"
    case $said in *"$text"*) ;; *) return 1 ;; esac
}

# --- network namespaces ---

over_tcp()
{
    serve tcp://10.77.0.1:0 ip netns exec "$one" && greets ip netns exec "$two"
}

by_a_path()
{
    serve "shm://$work/socket" ip netns exec "$one" && greets ip netns exec "$two"
}

by_a_name()
{
    serve "shm:test-$$" ip netns exec "$one" && greets ip netns exec "$one" &&
        fails 'in this network namespace' ip netns exec "$two"
}

veth=
if ip netns add "$one" 2>/dev/null && ip netns add "$two" && ip link add "$one" type veth peer name "$two" &&
    ip link set "$one" netns "$one" && ip link set "$two" netns "$two" &&
    ip -n "$one" addr add 10.77.0.1/24 dev "$one" && ip -n "$two" addr add 10.77.0.2/24 dev "$two" &&
    ip -n "$one" link set "$one" up && ip -n "$two" link set "$two" up && ip -n "$one" link set lo up; then
    veth=1
    check tcp_leads_from_one_network_namespace_to_another over_tcp
    check a_path_leads_from_one_network_namespace_to_another by_a_path
    check a_name_does_not_and_the_error_says_so by_a_name
else
    skip tcp_leads_from_one_network_namespace_to_another a_path_leads_from_one_network_namespace_to_another \
        a_name_does_not_and_the_error_says_so 'no network namespaces here'
fi

# --- user namespaces ---

# TARGET
users()
{
    serve "$1" unshare --user --map-root-user && greets unshare --user --map-root-user && greets env
}

if unshare --user --map-root-user true 2>/dev/null; then
    check a_path_leads_from_one_user_namespace_to_another users "shm://$work/socket"
    check a_name_leads_from_one_user_namespace_to_another users "shm:test-$$"
else
    skip a_path_leads_from_one_user_namespace_to_another a_name_leads_from_one_user_namespace_to_another \
        'no user namespaces here'
fi

# --- fewer privileges ---

# No memory is pinned, so neither CAP_IPC_LOCK nor ulimit -l is needed.
few_rights()
{
    rights='setpriv --bounding-set -all --inh-caps -all --no-new-privs sh -c'
    # shellcheck disable=SC2016,SC2086 # sh expands it; words
    serve "$1" $rights 'ulimit -l 0; exec "$@"' sh && greets $rights 'ulimit -l 0; exec "$@"' sh
}

if setpriv --bounding-set -all --inh-caps -all --no-new-privs true 2>/dev/null; then
    check tcp_needs_no_rights few_rights tcp://127.0.0.1:0
    check shm_needs_no_rights few_rights "shm:test-$$"
else
    skip tcp_needs_no_rights shm_needs_no_rights 'setpriv is refused'
fi

# --- a read-only root ---

# In a mount namespace of its own.
# shellcheck disable=SC2016 # sh expands it
read_only='unshare --mount sh -c'
read_only_words='mount --bind / / && mount -o remount,ro,bind / && exec "$@"'

name_on_read_only()
{
    # shellcheck disable=SC2086 # words
    serve "shm:test-$$" $read_only "$read_only_words" sh && greets $read_only "$read_only_words" sh
}

path_on_read_only()
{
    # shellcheck disable=SC2086 # words
    said=$(timeout 20 $read_only "$read_only_words" sh examples/greeter/greeter-server shm:///verbcall-test-$$ 2>&1) && return 1
    echo "$said"
    case $said in *'may not write to its folder'*) ;; *) return 1 ;; esac
}

# shellcheck disable=SC2086 # words
if $read_only "$read_only_words" sh true 2>/dev/null; then
    check a_name_needs_no_folder name_on_read_only
    check a_path_in_a_folder_that_cannot_be_written_to_is_told path_on_read_only
else
    skip a_name_needs_no_folder a_path_in_a_folder_that_cannot_be_written_to_is_told 'no mount namespaces here'
fi

# --- podman's default seccomp profile and capabilities ---

root=$work/root

# A container has no right to lock memory.
pod_is_confined()
{
    rights=$("$work/pod" --network none "$root" cat /proc/self/status) || return 1
    echo "$rights"
    rights=$(printf '%s\n' "$rights" | sed -n 's/^CapEff:[[:space:]]*/0x/p; s/^Seccomp:[[:space:]]*//p' | xargs)
    [ "${rights#* }" = 2 ] && [ $((${rights% *} >> 14 & 1)) -eq 0 ]
}

pod_tcp()
{
    serve tcp://10.77.0.1:0 "$work/pod" --network "ns:/run/netns/$one" "$root" &&
        greets "$work/pod" --network "ns:/run/netns/$two" "$root"
}

pod_best()
{
    serve vc://10.77.0.1:0 "$work/pod" --network "ns:/run/netns/$one" "$root" &&
        greets "$work/pod" --network "ns:/run/netns/$one" "$root" &&
        greets "$work/pod" --network "ns:/run/netns/$two" "$root"
}

pod_path()
{
    serve shm:///shared/socket "$work/pod" --network none --read-only "$root" &&
        greets "$work/pod" --network none --read-only "$root"
}

pod_name()
{
    serve "shm:test-$$" "$work/pod" --network "ns:/run/netns/$one" "$root" &&
        greets "$work/pod" --network "ns:/run/netns/$one" "$root" &&
        fails 'in this network namespace' "$work/pod" --network none "$root"
}

# Makes the default profile without memfd_create().
profile_make()
{
    profile=$(sh "$top/tests/pod.sh" "$work/store" podman info --format '{{.Host.Security.SECCOMPProfilePath}}') &&
        sed '/"memfd_create",/d' "$profile" >"$work/profile.json" && ! cmp -s "$profile" "$work/profile.json"
}

refused_best()
{
    profile_make && serve vc://10.77.0.1:0 "$work/pod" --network "ns:/run/netns/$one" \
        --security-opt "seccomp=$work/profile.json" "$root" &&
        greets "$work/pod" --network "ns:/run/netns/$one" --security-opt "seccomp=$work/profile.json" "$root"
}

refused_path()
{
    profile_make || return 1
    said=$(timeout 20 "$work/pod" --network none --security-opt "seccomp=$work/profile.json" "$root" \
        examples/greeter/greeter-server shm:///shared/refused 2>&1) && return 1
    echo "$said"
    case $said in *'memfd_create()'*'seccomp profile'*) ;; *) return 1 ;; esac
}

# Runs whole suites, on the root of this machine, read-only.
suites()
{
    for suite in best shm tcp; do
        "$work/pod" --network none --volume "$PWD:$PWD" --workdir "$tests" /:O \
            "$top/tests/one.sh" "tests/suite/test_$suite" || return 1
    done
}

why=$(vc_pod_refusal "$work")
if [ -z "$why" ]; then
    check the_default_profile_is_in_force pod_is_confined
    check a_path_of_a_volume_leads_from_one_container_to_another pod_path
    check a_container_without_memfd_create_says_so_at_shm refused_path
else
    skip the_default_profile_is_in_force a_path_of_a_volume_leads_from_one_container_to_another \
        a_container_without_memfd_create_says_so_at_shm "$why"
fi
if [ -z "$why" ] && [ -n "$veth" ]; then
    check tcp_leads_from_one_container_to_another pod_tcp
    check the_best_leads_from_one_container_to_another pod_best
    check a_name_leads_to_containers_of_its_network_namespace pod_name
    check containers_without_memfd_create_call_over_tcp refused_best
else
    skip tcp_leads_from_one_container_to_another the_best_leads_from_one_container_to_another \
        a_name_leads_to_containers_of_its_network_namespace containers_without_memfd_create_call_over_tcp \
        "${why:-no network namespaces here}"
fi
if [ -z "$why" ] && [ -z "${VC_TEST_LONG-}" ]; then
    why='with --long'
elif [ -z "$why" ] && ! "$work/pod" --network none /:O true >"$work/log" 2>&1; then
    why="podman lays nothing over this root: $(tail -n 1 "$work/log")"
fi
if [ -z "$why" ]; then
    check suites_pass_under_the_default_profile suites
else
    skip suites_pass_under_the_default_profile "$why"
fi
