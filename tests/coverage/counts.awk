# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Reads the output of `gcov -t -b -c` and prints lines of OUT.counts (see counts.sh), for the product's files. `top` is
# the folder of the sources, with a slash at its end.

/^ *-: *0:Source:/ {
    file = $0
    sub(/^ *-: *0:Source:/, "", file)
    if (index(file, top) == 1)
        file = substr(file, length(top) + 1)
    else
        sub(/^(\.\.\/)+/, "", file)
    wanted = file ~ /^(rpc|cm|transport|idl)\// && file !~ /\.(pb-c|vc)\.[ch]$/
    next
}

!wanted { next }

/^branch / {
    taken = $3 == "taken" && $4 > 0
    print "b", file, line, branch++, taken + 0
    next
}

/^ *[0-9]+\*?: *[0-9]+:/ || /^ *[#=]+: *[0-9]+:/ {
    n = split($0, part, ":")
    line = part[2] + 0
    ran = part[1] !~ /[#=]/
    branch = 0
    print "l", file, line, ran + 0
}
