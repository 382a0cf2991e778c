# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f tests/sentences.awk FILES.md: prints the sentences of more than 40 words. A sentence ends with its paragraph, list item,
# cell of a table, or with one of . : ; ! ? before a space; code blocks have none.
function flush(n, i, words, parts)
{
    gsub(/[.:;!?]["')*_]*( |$)/, "&\n", text)
    n = split(text, parts, "\n")
    for (i = 1; i <= n; i++)
        if (split(parts[i], words, " ") > 40)
            print at ": " substr(parts[i], 1, 100)
    text = ""
}

FNR == 1 { flush(); fence = 0 }
/^```/ { flush(); fence = !fence; next }
fence { next }
/^[ \t]*$/ || /^#/ || /^ *[-*] / || /^ *[0-9]+\. / { flush(); at = FILENAME ":" FNR }
/^\|/ {
    at = FILENAME ":" FNR
    cells = split($0, cell, "|")
    for (c = 1; c <= cells; c++) {
        text = cell[c]
        flush()
    }
    next
}
{
    if (text == "")
        at = FILENAME ":" FNR
    text = text " " $0
}
END { flush() }
