# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v into=FOLDER -f tests/tutorial.awk doc/tutorial.md: cuts the fenced blocks out. "```c server.c" becomes the file server.c
# of the folder. Those of commands become numbered files of the folder blocks in it, by their kind: "```console server" is
# 07.server (likewise server2 and many), "```console" 07.console, "```sh install" 07.install. A block of another kind is an error.
/^```/ && out != "" { close(out); out = ""; next }
/^```/ {
    language = substr($1, 4)
    kind = $2
    number++
    if (language == "console" && (kind == "" || kind ~ /^(server2?|many|vm)$/) || language == "sh" && kind == "install")
        out = sprintf("%s/blocks/%02d.%s", into, number, kind == "" ? "console" : kind)
    else if (kind ~ /\./ || kind == "Makefile")
        out = into "/" kind
    else {
        print "line " NR ": what is to be done with a block of '" $0 "'?"
        exit 1
    }
    if (kind != "" && NF > 2) { print "line " NR ": " $3 "?"; exit 1 }
    next
}
out != "" { print >out }
