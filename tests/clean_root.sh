#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Checks that README names all packages; see usage() below. Not part of tests/run.sh, as it downloads a system.
set -u

usage()
{
    cat <<'END'
usage: tests/clean_root.sh [SUITE]
As root: makes a Debian SUITE (bookworm) of its smallest set of packages and those that README.md names for building, and
nothing they merely recommend; in it configures and builds this folder's tarball, has `make distcheck` pass, and makes
configure anew. Needs mmdebstrap and the network. Keeps nothing.
END
}

case ${1-} in
-*) usage; exit 2 ;;
esac
if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo 'Verbcall: it needs root, and mmdebstrap (apt-get install mmdebstrap)' >&2
    exit 2
fi
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/build.sh

# The Debian names of README's section "Building by hand".
packages=$(sed -n '/^Needs gcc/,/(Fedora/p' README.md | xargs | sed 's/^Needs //; s/ (Fedora.*//; s/or clang//; s/and, by their Debian names//' |
    tr -d ',')
build=$(vc_build_folder "$PWD")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
vc_build_product "$build" && vc_make "$build" dist || exit 1
build=$(vc_plain_path "$build") || exit 1

echo "Verbcall: a system with: $packages"
# shellcheck disable=SC2086 # words
mmdebstrap --quiet --variant=apt --include="$(echo $packages | tr ' ' ,)" "${1:-bookworm}" "$work/root" || exit 1
mkdir "$work/root/verbcall" && cp "$build"/verbcall-*.tar.xz "$work/root/verbcall" && chown -R nobody "$work/root/verbcall"
# shellcheck disable=SC2016 # the inner shell expands it
unshare --mount --pid --fork --mount-proc="$work/root/proc" \
    env -i PATH=/usr/bin:/bin:/usr/sbin HOME=/verbcall chroot --userspec=nobody:nogroup "$work/root" sh -ec '
        cd /verbcall
        tar -xf verbcall-*.tar.xz
        mkdir build
        cd build
        ../verbcall-*/configure
        make -j "$(nproc)"
        make -j "$(nproc)" distcheck
        ../verbcall-*/autogen.sh
        ../verbcall-*/configure' >"$work/log" 2>&1 </dev/null
status=$?
tail -n 15 "$work/log"
[ $status -eq 0 ] && echo 'Verbcall: that passed' || echo 'Verbcall: that failed' >&2
exit $status
