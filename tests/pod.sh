#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/pod.sh STORE podman|buildah ARGUMENT...: runs the tool with its images and containers in the folder STORE, apart from
# those of this machine. The seccomp profile and the capabilities of containers are the tool's defaults. Resource limits and
# control groups are this machine's own, as root of a virtual machine or container may not set them.
set -u

store=$1 tool=$2
shift 2

# Layers as plain folders need no overlay, which the kernel may refuse.
write_settings()
{
    # shellcheck disable=SC3045 # every shell has it
    files=$(ulimit -n)
    mkdir -p "$store" && cat >"$store/containers.conf" <<END
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=$files:$files", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
tmp_dir = "$store/tmp"
[network]
network_config_dir = "$store/networks"
END
}

[ -e "$store/containers.conf" ] || write_settings || exit 1
export CONTAINERS_CONF="$store/containers.conf"
set -- "$tool" --storage-driver vfs --root "$store/root" --runroot "$store/run" "$@"
# The shell is the first process of a PID namespace and reaps podman's orphans, which end with it: podman waits if the first
# process of the machine is slow to reap them. The shell passes a SIGTERM on to podman alone. A SIGTERM to the process group
# would end podman's helper, which passes the signal on to the container. crun needs control groups of one version, even if it
# makes none.
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --mount --pid --fork --kill-child --mount-proc sh -c '
    mount -t cgroup2 none /sys/fs/cgroup
    asked=
    trap "asked=1; kill \$!" TERM
    setsid "$@" &
    wait $!
    status=$?
    [ -z "$asked" ] || { wait $!; status=$?; }
    exit $status' sh "$@"
