# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Reads what `make V=1` said when it built everything, and writes into the folder `out`
#   compile   FILE <tab> OBJECT <tab> COMMAND   how the product's file becomes an object of the library or the generator
#   objects   the objects of the library, one a line
#   plugin    the command that links the generator
#   programs  commands that link test programs to the library as a shared object instead
# A compile command lacks its source and its -o. `top` is the folder of the sources, with a slash at its end.

# The command without what names its output, its dependencies and its source.
function flags_of(n, word,    i, out)
{
    out = ""
    for (i = 1; i <= n; i++)
        if (word[i] ~ /^-(MT|MF|o)$/)
            i++
        else if (word[i] !~ /^-(MD|MP|c|g)$/ && word[i] !~ /\.c$/)
            out = out " " word[i]
    return substr(out, 2)
}

function after(n, word, option,    i)
{
    for (i = 1; i < n; i++)
        if (word[i] == option)
            return word[i + 1]
    return ""
}

function compiles(n, word,    i, file, object)
{
    file = ""
    for (i = 1; i <= n; i++)
        if (word[i] ~ /\.c$/)
            file = word[i]
    gsub(/[`']/, "", file)
    if (index(file, top) == 1)
        file = substr(file, length(top) + 1)
    sub(/^(\.\.\/)+/, "", file)
    object = after(n, word, "-o")
    if (file ~ /^(rpc|cm|transport)\// && object ~ /^(rpc|cm|transport)\/.*\.libs\//)
        print file "\t" object "\t" flags_of(n, word) >(out "/compile")
    else if (file ~ /^idl\// && file !~ /\.pb-c\.c$/ && object ~ /^idl\/[^\/]*\.o$/)
        print file "\t" object "\t" flags_of(n, word) >(out "/compile")
}

# A program with the library in an archive.
function links(n, word, target,    i, command, on_fake)
{
    on_fake = $0 ~ /libfake\.a/
    command = ""
    for (i = 1; i <= n; i++) {
        if (word[i] ~ /libverbcall-(core|all)\.a$/)
            command = command " -L" out "/base -lvc-" (on_fake ? "fake" : "device")
        else if (word[i] ~ /libfake\.a$/)
            command = command " -Wl,--whole-archive " word[i] " -Wl,--no-whole-archive"
        else
            command = command " " word[i]
    }
    print substr(command, 2) " -rdynamic" >(out "/programs")
}

{
    sub(/^libtool: (compile|link): +/, "")
    gsub(/depbase=.*;\\$|&&\\$/, "")
}

/^ar .*libverbcall-core\.a / {
    n = split($0, word, " ")
    for (i = 1; i <= n; i++)
        if (word[i] ~ /\.o$/)
            print word[i] >(out "/objects")
    next
}

/^[^ ]*(cc|clang)[^ ]* / {
    n = split($0, word, " ")
    target = after(n, word, "-o")
    if ($0 ~ / -c( |$)/)
        compiles(n, word)
    else if (target == "protoc-gen-verbcall")
        print >(out "/plugin")
    else if (target ~ /^tests\/(unit|sim|fake)\// && $0 ~ /libverbcall-(core|all)\.a/)
        links(n, word, target)
}
