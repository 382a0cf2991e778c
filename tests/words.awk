# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f tests/words.awk -v words=EXPRESSION FILES: prints the places in comments and documents where such a word stands. Of C it
# reads the comments, of scripts and makefiles the lines that begin with #, of other files all but code (``` and `).
function look(text, low)
{
    gsub(/`[^`]*`/, "`", text)
    low = " " tolower(text) " "
    while (match(low, "[^a-z0-9_`./-](" words ")[^a-z0-9_(`/]")) {
        print FILENAME ":" FNR ": " substr(low, RSTART + 1, RLENGTH - 2)
        low = substr(low, RSTART + RLENGTH - 1)
    }
}

# The rest of a line of C of which `code` is left; sets `within` when a comment does not end there.
function look_c(code, begin, end)
{
    for (;;) {
        if (!within) {
            begin = index(code, "/*")
            if (begin == 0)
                return
            code = substr(code, begin + 2)
            within = 1
        }
        end = index(code, "*/")
        if (end == 0) {
            look(code)
            return
        }
        look(substr(code, 1, end - 1))
        code = substr(code, end + 2)
        within = 0
    }
}

FNR == 1 { within = fence = 0 }
FILENAME ~ /\.[ch]$/ {
    line = $0
    if (!within)
        gsub(/"([^"\\]|\\.)*"/, "", line)
    look_c(line)
    next
}
FILENAME ~ /\.(sh|am|awk|ac)$/ {
    if (/^[ \t]*(#|dnl )/)
        look($0)
    next
}
/^```/ { fence = !fence }
!fence && !/^    / { look($0) }
