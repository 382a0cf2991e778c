#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/link.sh TOP WORK fake|device FOLDER <OBJECTS: links the library's objects to FOLDER/libvc-fake.so or
# libvc-device.so, in the build folder. What they need of others, the programs have: -nostdlib, as gcc's own library has
# a __wrap_pthread_create() of another purpose.
set -u

options=
[ "$3" = device ] || options=-Wl,@$1/tests/fake/wrap.args
cc=$(sed -n '1s/.*\t\([^ ]*\) .*/\1/p' "$2/compile")
# shellcheck disable=SC2086 # words
xargs "$cc" -shared -nostdlib -o "$4/libvc-$3.so" $options
