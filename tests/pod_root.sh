# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced: a root of few files for containers, and a command that starts them by tests/pod.sh. Call
# them in a build folder that is built; $top is the folder of the sources.
#
#   vc_pod_refusal WORK     makes both in the folder WORK; prints why containers cannot be tried here, or nothing
#   WORK/pod [OPTION...] WORK/root COMMAND...
#                           runs it in a container of podman, with WORK/shared at /shared; its programs are cat and the greeter's,
#                           by the paths that they have in the build folder
# shellcheck shell=sh
export top # for WORK/pod

# vc_pod_add PROGRAM: copies it into the root, with the libraries that it is linked with.
vc_pod_add()
{
    mkdir -p "$vc_root/lib" "$vc_root/${1%/*}" && cp "$(./libtool --mode=execute echo "$1")" "$vc_root/$1" || return 1
    ./libtool --mode=execute ldd "$1" | while read -r name arrow path _; do
        case $name$arrow in
        *'=>') cp -L "$path" "$vc_root/lib/" ;;
        /*) mkdir -p "$vc_root/${name%/*}" && cp -L "$name" "$vc_root/$name" ;;
        esac || return 1
    done
}

vc_pod_make()
{
    vc_root=$1/root
    mkdir -p "$vc_root/tmp" "$vc_root/shared" "$1/shared" || return 1
    for vc_program in /bin/cat examples/greeter/greeter-server examples/greeter/greeter-client; do
        vc_pod_add "$vc_program" || return 1
    done
    cat >"$1/pod" <<'END' && chmod 755 "$1/pod"
#!/bin/sh
work=${0%/*}
exec sh "$top/tests/pod.sh" "$work/store" podman run --rm --env LD_LIBRARY_PATH=/lib --volume "$work/shared:/shared" --rootfs "$@"
END
}

vc_pod_refusal()
{
    if ! command -v podman >/dev/null; then
        echo 'no podman here'
    elif [ "$(id -u)" -ne 0 ]; then
        echo 'containers without root are not tried'
    elif ! vc_pod_make "$1" >"$1/refusal" 2>&1; then
        echo "no root could be made: $(tail -n 1 "$1/refusal")"
    elif ! "$1/pod" --network none "$1/root" cat /proc/version >"$1/refusal" 2>&1; then
        echo "podman is refused: $(tail -n 1 "$1/refusal")"
    fi
}
