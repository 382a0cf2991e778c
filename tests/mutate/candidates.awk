# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Small changes to C code that clang-format has formatted. Reads one source file, `name`, and prints a line for each
# possible change, separated by tabs:
#   NAME LINE LAST KIND NUMBER ORIGINAL CHANGED
# or, with apply=NUMBER, prints the file with that change made, in as many lines. Kinds are
#   negate    if (a) to if (!(a)), also while; == to !=, and the other way round
#   boundary  < to <=, > to >=, and the other way round
#   drop      a call or an assignment left out
# This is not a parser: it uses lines, statements that end in ; { } or :, and spaces around operators. Comments,
# strings, preprocessor lines and assertions are left alone.

# --- which text is code ---

# Returns the line with everything that is not code made blank or, within quotes, "x". in_comment is kept from
# line to line.
function masked(text,    out, i, c, quote)
{
    if (in_macro || text ~ /^ *#/) {
        in_macro = text ~ /\\$/
        return blank(length(text))
    }
    out = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (in_comment) {
            if (substr(text, i, 2) == "*/") {
                in_comment = 0
                out = out " "
                i++
            }
            out = out " "
        } else if (quote != "") {
            if (c == "\\") {
                out = out "x"
                i++
            } else if (c == quote)
                quote = ""
            out = out "x"
        } else if (substr(text, i, 2) == "/*") {
            in_comment = 1
            out = out "  "
            i++
        } else if (substr(text, i, 2) == "//")
            return out blank(length(text) - i + 1)
        else {
            if (c == "\"" || c == "'")
                quote = c
            out = out (quote == "" ? c : "x")
        }
    }
    return out
}

function blank(n)
{
    return sprintf("%" n "s", "")
}

function trimmed(text)
{
    gsub(/^ +| +$/, "", text)
    gsub(/  +/, " ", text)
    return text
}

# --- edits ---

# Starts a new change; its edits follow.
function change(kind, from, to)
{
    n_changes++
    if (apply)
        return
    change_kind = kind
    change_from = from
    change_to = to
}

# In line n, `text` replaces the `len` characters from column `col`. Later columns are edited first.
function edit(n, col, len, text)
{
    if (apply && apply != n_changes)
        return
    if (!((n_changes, n) in edited))
        edited[n_changes, n] = raw[n]
    edited[n_changes, n] = substr(edited[n_changes, n], 1, col - 1) text substr(edited[n_changes, n], col + len)
}

function joined(from, to, changed,    n, text)
{
    text = ""
    for (n = from; n <= to; n++)
        text = text " " (changed && (n_changes, n) in edited ? edited[n_changes, n] : raw[n])
    return trimmed(text)
}

function change_end()
{
    if (!apply)
        printf "%s\t%d\t%d\t%s\t%d\t%s\t%s\n", name, change_from, change_to, change_kind, n_changes,
            joined(change_from, change_to, 0), joined(change_from, change_to, 1)
}

# --- the three kinds ---

# Finds the columns of the condition's parentheses: opened in line `from`, closed in close_line.
function find_close(from, to, col,    n, i, c, depth)
{
    for (n = from; n <= to; n++)
        for (i = n == from ? col : 1; i <= length(code[n]); i++) {
            c = substr(code[n], i, 1)
            if (c == "(")
                depth++
            else if (c == ")" && --depth == 0) {
                close_line = n
                close_col = i
                return 1
            }
        }
    return 0
}

# A condition that is a single == or != is negated by swapping the operator.
function negate_condition(from, to, text)
{
    if (text ~ / (==|!=) / && text !~ / (&&|\|\|) |\?/)
        return
    if (!match(code[from], /^ *(} )?(else )?(if|while) \(/) || code[from] ~ /} while/)
        return
    col = RLENGTH
    if (!find_close(from, to, col))
        return
    change("negate", from, close_line)
    edit(close_line, close_col, 1, "))")
    edit(from, col, 1, "(!(")
    change_end()
}

# True if the change has no effect, as both ways give the same result when A equals B: A < B ? A : B, A > B ? A - B : 0,
# or if (A < B) A = B. The same holds for no bytes in if (A > 0) memcpy(.., .., A). Descriptor 0 is the standard input
# and never one of ours; write() and waitpid() do not return 0 as they are called here.
function is_same(n, at, op,    next_code, left, right, rest)
{
    next_code = trimmed(code[n + 1])
    left = substr(code[n], 1, at - 2)
    right = substr(code[n], at + length(op) + 1)
    if (next_code ~ /^\? /)
        right = right " " next_code
    sub(/.*(return|=|if \() */, "", left)
    left = trimmed(left)
    if ((op == "<" || op == ">=") && right ~ /^0([^0-9x]|$)/ && \
        (left ~ /(^|[^A-Za-z])([a-z_]*_)?fd$/ || left ~ /(^| |\()(write|waitpid)\(.*\)$/))
        return 1
    if (match(right, / \? /)) {
        rest = substr(right, RSTART + 3)
        right = substr(right, 1, RSTART - 1)
        sub(/[;,]+ *$/, "", rest)
        return rest == left " : " right || rest == right " : " left || rest == left " - " right " : 0" || \
            rest == "0 : " left " - " right
    }
    if (code[n] !~ /\) *$/ || !index(code[n], "if (" left " " op " " right))
        return 0
    sub(/\) *$/, "", right)
    if (op == ">" && right == "0" && next_code ~ /^mem(cpy|move)\(.*\);$/ && index(next_code, ", " left))
        return 1
    return next_code == left " = " right ";" || next_code == right " = " left ";"
}

# Swaps each operator of a line that has spaces, or the line's end, around it.
function swap_operators(n,    at, rest, skipped, op)
{
    skipped = 0
    rest = code[n] " "
    while (match(rest, / (==|!=|<=|>=|<|>) /)) {
        op = substr(rest, RSTART + 1, RLENGTH - 2)
        at = skipped + RSTART + 1
        if (op !~ /[<>]/ || !is_same(n, at, op)) {
            change(op == "==" || op == "!=" ? "negate" : "boundary", n, n)
            edit(n, at, length(op), swapped[op])
            change_end()
        }
        skipped = at + length(op) - 1
        rest = substr(code[n] " ", skipped + 1)
    }
}

# Initialising a lock in zeroed memory changes nothing, and destroying it frees nothing (glibc).
function is_call(text)
{
    return text ~ /^(\(void\))?[A-Za-z_][A-Za-z0-9_]*((->|\.)[A-Za-z_][A-Za-z0-9_]*)*\(.*\);$/ &&
        text !~ /^(\(void\))?(if|while|for|switch|return|sizeof|assert|_Static_assert|VC_BUG_ON|va_start|va_end)[ (]/ &&
        text !~ /^pthread_((mutex|cond)_init\(.*, NULL|(mutex|cond|attr)_destroy\(.*)\);$/
}

# True if there is an assignment operator after one word. A declaration has two words or more.
function is_assignment(text)
{
    while (gsub(/\[[^][]*\]/, "", text) || gsub(/\([^()]*\)/, "", text))
        continue
    return text ~ /^\**[A-Za-z_][A-Za-z0-9_>.-]* ([-+*\/%&|^]|<<|>>)?= [^{]*;$/ ||
        text ~ /^\**[A-Za-z_][A-Za-z0-9_>.-]*(\+\+|--);$/ || text ~ /^(\+\+|--)[A-Za-z_][A-Za-z0-9_>.-]*;$/
}

function drop_statement(from, to, text,    n)
{
    if (!is_call(text) && !is_assignment(text))
        return
    change("drop", from, to)
    for (n = to; n >= from; n--)
        edit(n, 1, length(raw[n]), n == from ? substr(raw[n], 1, match(raw[n], /[^ ]/) - 1) ";" : "")
    change_end()
}

# --- statements ---

function statement(from, to, text,    n)
{
    if (text ~ /(^|[^A-Za-z_])(assert|_Static_assert|VC_BUG_ON) ?\(/)
        return
    negate_condition(from, to, text)
    for (n = from; n <= to; n++)
        swap_operators(n)
    drop_statement(from, to, text)
}

function parens(text,    opened)
{
    opened = gsub(/\(/, "", text)
    return opened - gsub(/\)/, "", text)
}

BEGIN {
    swapped["=="] = "!="
    swapped["!="] = "=="
    swapped["<"] = "<="
    swapped["<="] = "<"
    swapped[">"] = ">="
    swapped[">="] = ">"
}

{
    raw[NR] = $0
    code[NR] = masked($0)
}

END {
    text = ""
    for (n = 1; n <= NR; n++) {
        if (code[n] ~ /^ *$/)
            continue
        if (text == "")
            begin = n
        text = trimmed(text " " code[n])
        depth += parens(code[n])
        if (depth == 0 && (text ~ /[;{}:]$/ || text ~ /^(} )?else$/ || text == "do" ||
            text ~ /^(} )?(else )?(if|while|for|switch|cds_list_for_each[a-z_]*) ?\(.*\)$/)) {
            statement(begin, n, text)
            text = ""
        }
    }
    for (n = 1; apply && n <= NR; n++)
        print (apply, n) in edited ? edited[apply, n] : raw[n]
}
