#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/containers.sh BUILD: where programs run in containers, in TAP: other namespaces, fewer rights, a root that cannot be
# written to. Each way works, or ends with an error that says why not. What this machine refuses is skipped.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$1" || exit 1
# shellcheck source=examples/servers.sh
. "$top/examples/servers.sh"

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
echo 1..9

# NAME COMMAND...
check()
{
    n=$((n + 1)) name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$work/log"
    fi
    vc_server_stop >/dev/null 2>&1
}

skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# serve TARGET COMMAND...: a greeter-server that COMMAND runs
serve()
{
    target=$1
    shift
    vc_server_start "$@" examples/greeter/greeter-server "$target" || return 1
    case $target in *:0) target=${target%0}$vc_port ;; esac
}

# greets COMMAND...: a greeter-client that COMMAND runs
greets()
{
    [ "$(timeout 20 "$@" examples/greeter/greeter-client "$target" world)" = 'Hello, world' ]
}

# fails TEXT COMMAND...: the same, which fails and says so
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

if ip netns add "$one" 2>/dev/null && ip netns add "$two" && ip link add "$one" type veth peer name "$two" &&
    ip link set "$one" netns "$one" && ip link set "$two" netns "$two" &&
    ip -n "$one" addr add 10.77.0.1/24 dev "$one" && ip -n "$two" addr add 10.77.0.2/24 dev "$two" &&
    ip -n "$one" link set "$one" up && ip -n "$two" link set "$two" up; then
    check tcp_leads_from_one_network_namespace_to_another over_tcp
    check a_path_leads_from_one_network_namespace_to_another by_a_path
    check a_name_does_not_and_the_error_says_so by_a_name
else
    for name in tcp_leads_from_one_network_namespace_to_another a_path_leads_from_one_network_namespace_to_another \
        a_name_does_not_and_the_error_says_so; do
        skip "$name" 'no network namespaces here'
    done
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
    skip a_path_leads_from_one_user_namespace_to_another 'no user namespaces here'
    skip a_name_leads_from_one_user_namespace_to_another 'no user namespaces here'
fi

# --- fewer rights ---

# Nothing is pinned, so neither CAP_IPC_LOCK nor ulimit -l is needed.
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
    skip tcp_needs_no_rights 'setpriv is refused'
    skip shm_needs_no_rights 'setpriv is refused'
fi

# --- a root that cannot be written to ---

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
    skip a_name_needs_no_folder 'no mount namespaces here'
    skip a_path_in_a_folder_that_cannot_be_written_to_is_told 'no mount namespaces here'
fi
