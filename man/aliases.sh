#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# man/aliases.sh FOLDER: prints for each function that a page of section 3 names which page that is, as in
# "vc_channel_close.3 vc_channel.3".
set -u

for page in "$1"/*.3.scd; do
    name=${page##*/}
    awk -v page="${name%.scd}" '
        /^# NAME/ { on = 1; next }
        on && /^#/ { exit }
        on { names = names " " $0 }
        END {
            sub(/ - .*/, "", names)
            n = split(names, name, "[ ,]+")
            for (i = 1; i <= n; i++)
                if (name[i] != "")
                    print name[i] ".3", page
        }' "$page"
done
