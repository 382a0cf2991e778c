#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/pod.sh STORE podman|buildah ARGUMENT...: the tool with its images and containers in the folder STORE, apart from
# those of this machine. The seccomp profile and the capabilities of containers are the tool's defaults. The limits of
# resources and control groups are this machine's own, as root of a virtual machine or container may not set them.
set -u

store=$1 tool=$2
shift 2

# A folder of layers needs nothing of the kernel, which may refuse an overlay.
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
# In a namespace of processes a shell waits for what podman leaves behind, which ends with it: where the first process of the
# machine is slow to do so, podman waits, too. It passes a SIGTERM on to podman alone, as one of the process group would end
# podman's own helper that passes it on to the container. crun wants control groups of one version, also if it makes none.
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
