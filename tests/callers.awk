# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f tests/callers.awk FILES: of the product's sources and headers, prints for each header a line: its name, a tab, and the
# list of the files that use its functions, which tests/callers.sh writes into the header's first comment. A function that more
# than `most` files use is listed as used in many.

# The rest of a line without comments and strings; sets `within` when a comment goes on.
function code_of(line,    out, end)
{
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    out = ""
    for (;;) {
        if (within) {
            end = index(line, "*/")
            if (end == 0)
                return out
            line = substr(line, end + 2)
            within = 0
        }
        end = index(line, "/*")
        if (end == 0)
            return out line
        out = out substr(line, 1, end - 1) " "
        line = substr(line, end + 2)
        within = 1
    }
}

# Notes the words of a line as used in this file.
function words_note(line,    word)
{
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(line, RSTART, RLENGTH)
        uses[FILENAME, word]++
        line = substr(line, RSTART + RLENGTH)
    }
}

# A function is declared or defined where its name and a parenthesis stand in a line that is not indented.
function declaration_note(line,    name)
{
    if (line !~ /^[A-Za-z_][A-Za-z0-9_ *]*\(/ || line ~ /^(typedef|_Static_assert)/)
        return
    sub(/\(.*/, "", line)
    match(line, /[A-Za-z_][A-Za-z0-9_]*$/)
    name = substr(line, RSTART)
    if (RSTART == 0 || (name !~ /^(vc__|hash_)/ && FILENAME !~ /^idl\//))
        return
    if (FILENAME ~ /\.h$/ && !((FILENAME, name) in declared)) {
        declared[FILENAME, name] = 1
        functions[FILENAME, ++n_functions[FILENAME]] = name
    } else if (FILENAME ~ /\.c$/ && line !~ /^static /) {
        defined[name] = FILENAME
    }
}

function folder_of(path)
{
    return match(path, /.*\//) ? substr(path, 1, RLENGTH) : ""
}

# How a header's list calls a file of its own folder, and another one.
function file_text(file, header)
{
    return folder_of(file) == folder_of(header) ? substr(file, length(folder_of(file)) + 1) : file
}

# The function's name without what all names of its header begin with.
function short(name, header,    base)
{
    base = substr(header, length(folder_of(header)) + 1)
    sub(/\.h$/, "_", base)
    sub(/^vc__/, "", name)
    return index(name, base) == 1 && substr(name, length(base) + 1) ~ /^[a-z]/ ? substr(name, length(base) + 1) : name
}

# Puts the users of a function into `by` or, if they are many, its name into `many`.
function users_note(name, header,    i, n, found)
{
    n = 0
    for (i = 1; i <= n_files; i++)
        if ((files[i], name) in uses && files[i] != header && !((files[i], name) in declared) &&
            uses[files[i], name] > (files[i] == defined[name]))
            found[++n] = files[i]
    n_used += n > 0
    if (n > most) {
        many = many (many == "" ? "" : ", ") short(name, header)
        return
    }
    for (i = 1; i <= n; i++) {
        if (!(found[i] in by))
            order[++n_order] = found[i]
        by[found[i]] = by[found[i]] (found[i] in by && by[found[i]] != "" ? ", " : "") short(name, header)
        n_by[found[i]]++
    }
}

function list_print(header,    i, text)
{
    split("", by)
    split("", n_by)
    n_order = n_used = 0
    many = text = ""
    for (i = 1; i <= n_functions[header]; i++)
        users_note(functions[header, i], header)
    for (i = 1; i <= n_order; i++)
        text = text (text == "" ? "" : ", ") file_text(order[i], header) \
            " (" (n_used > 1 && n_by[order[i]] == n_used ? "all" : by[order[i]]) ")"
    if (many != "")
        text = text (text == "" ? "" : ", ") "many files (" many ")"
    if (text != "")
        print header "\tCalled by: " text "."
}

BEGIN { most = 5 }
FNR == 1 {
    within = 0
    files[++n_files] = FILENAME
}
{
    line = code_of($0)
    if (line !~ /^#/)
        declaration_note(line)
    words_note(line)
}
END {
    for (i = 1; i <= n_files; i++)
        if (files[i] ~ /\.h$/)
            list_print(files[i])
}
