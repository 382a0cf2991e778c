#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/link_base.sh TOP: in a build folder (the current one) whose make.log says how everything was built, links
# the native test programs anew, to the library as a shared object: mutate/base/libvc-fake.so, with the simulated world's
# functions in place of the system's, or libvc-device.so.
set -u

top=$1
work=$PWD/mutate
rm -rf "$work"
mkdir -p "$work/base" || exit 1
awk -v top="$top/" -v out="$work" -f "$top/tests/mutate/commands.awk" make.log || exit 1
for list in compile objects plugin programs; do
    [ -s "$work/$list" ] || { echo "make.log does not say how it was built: no $list"; exit 1; }
done
sort -u -o "$work/compile" "$work/compile" && sort -u -o "$work/objects" "$work/objects" || exit 1

sh "$top/tests/mutate/link.sh" "$top" "$work" fake "$work/base" <"$work/objects" &&
    sh "$top/tests/mutate/link.sh" "$top" "$work" device "$work/base" <"$work/objects" || exit 1
cp protoc-gen-verbcall "$work/base" || exit 1
xargs -P "$(getconf _NPROCESSORS_ONLN)" -d '\n' -n 1 sh -ec <"$work/programs"
