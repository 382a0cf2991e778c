# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f tests/examples.awk man/PAGE.scd, or README.md: prints the C of a man page's SYNOPSIS and EXAMPLES, or of README's first
# block, as a file that a compiler takes. tests/page_examples.h declares what they do not. In a block functions come first, whose
# braces are at the beginning of a line; what follows the last of them, or all if there is none, is put into a function. Lines of
# "..." are left out. A block of another language is marked by a line before it, "; proto" or "; sh"; with -v language=proto it prints these.

# The lines n_from to n_to of the block.
function lines(from, to,    i)
{
    if (from <= to)
        printf "#line %d \"%s\"\n", at + from, FILENAME
    for (i = from; i <= to; i++)
        print line[i] ~ /^ *\.\.\.( |$)/ ? "" : line[i]
}

function block_end(    i, is_open, last)
{
    if (is_of != language) return
    if (language != "c") { for (i = 1; i <= n; i++) print line[i]; return }
    for (i = 1; i <= n; i++) {
        if (line[i] == "{") is_open = 1
        if (line[i] == "}" && is_open) { last = i; is_open = 0 }
    }
    if (section == "SYNOPSIS") last = n
    lines(1, last)
    if (last < n) {
        printf "void example_%d(void);\nvoid example_%d(void)\n{\n", at, at
        lines(last + 1, n)
        print "}"
    }
}

BEGIN {
    if (language == "") language = "c"
    is_of = "c"
    if (language == "c") print "#include \"tests/page_examples.h\""
}
FILENAME ~ /\.md$/ {
    if (/^    /) {
        if (n == 0) at = NR - 1
        line[++n] = substr($0, 5)
    } else if (n > 0 && NF == 0)
        line[++n] = ""
    else if (n > 0) {
        block_end()
        exit
    }
    next
}
/^# / { section = $2 }
section != "EXAMPLES" && section != "SYNOPSIS" { next }
/^; (proto|sh)$/ { is_of = $2 }
/^```/ {
    if (inside) { block_end(); is_of = "c" }
    inside = !inside
    n = 0
    at = NR
    next
}
# A backslash stands before one that is meant.
inside { gsub(/\\\\/, "\\"); line[++n] = $0 }
