# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced: build the project with little output. Call them in the project's folder.
#
#   vc_build_folder HERE           prints where to build: $VC_BUILD_DIR (as seen from the folder HERE), or build/
#   vc_build FOLDER [OPTION...]    configures there with these options, if need be, and makes everything; without
#                                  options any configuration is kept, and a new one builds no tests
#   vc_configured FOLDER OPTION... only configures
#   vc_build_product FOLDER        makes what users get, with the defaults; warnings are errors
#   vc_make FOLDER TARGET...       makes targets in a folder that one of them has configured
#
# Folders are made, and reused. FOLDER/build.log has the output of the tools; when they fail its end is shown. Messages go
# to standard error. shellcheck shell=sh

# configure, make and libtool run in it. Where sh is not bash they need a quarter less time.
: "${CONFIG_SHELL:=/bin/sh}"
export CONFIG_SHELL

vc_build_folder()
{
    case ${VC_BUILD_DIR-} in
    '') printf '%s\n' "$PWD/build" ;;
    /*) printf '%s\n' "$VC_BUILD_DIR" ;;
    *) printf '%s\n' "$1/$VC_BUILD_DIR" ;;
    esac
}

# Succeeds if autotools accept this path: they refuse spaces and characters that a shell could interpret.
vc_is_plain()
{
    case $1 in
    *[!A-Za-z0-9/._+,:@%-]*) return 1 ;;
    esac
}

# Prints the path of a folder, or, if autotools refuse it, of a symbolic link to it. The link stays, as builds made through it
# remember it.
vc_plain_path()
(
    folder=$(CDPATH='' cd -P -- "$1" && pwd) || exit 1
    links=${XDG_CACHE_HOME:-$HOME/.cache}/verbcall/links
    if ! vc_is_plain "$folder"; then
        if ! vc_is_plain "$links"; then
            echo "Verbcall: autotools cannot build in '$folder': spaces and quotes are too much for them." >&2
            exit 1
        fi
        link=$links/$(printf %s "$folder" | cksum | tr ' ' -)
        mkdir -p "$links" && ln -sfn -- "$folder" "$link" || exit 1
        folder=$link
    fi
    printf '%s\n' "$folder"
)

# vc_quietly TITLE COMMAND...: runs it, in the build folder, with its output in build.log.
vc_quietly()
{
    echo "Verbcall: $1" >&2
    shift
    "$@" >build.log 2>&1 </dev/null && return
    echo "Verbcall: that failed. $PWD/build.log ends with:" >&2
    tail -n 40 build.log >&2
    return 1
}

# vc_configure_script SOURCE: makes configure if it is missing or older than its sources.
vc_configure_script()
(
    exec 8<"$1" && flock 8 || exit 1
    if [ ! -e "$1/configure" ] ||
        [ -n "$(find "$1" \( -name .git -o -name 'build*' \) -prune -o \( -name configure.ac -o -name '*.am' \) -newer "$1/configure" -print)" ]; then
        vc_quietly 'making configure' "$1/autogen.sh"
    fi
)

# vc_is_configured [OPTION...]: succeeds if this folder was configured, for this very path and with these options, if any.
vc_is_configured()
{
    [ -e Makefile ] && [ -e config.status ] &&
        [ "$(sed -n "s/^ac_pwd='\(.*\)'\$/\1/p" config.status)" = "$PWD" ] &&
        { [ $# -eq 0 ] || [ "$(cat .options 2>/dev/null)" = "$*" ]; }
}

# vc_depfiles SOURCE: makes the files that dependencies are tracked in; config.status makes each that is missing by three
# processes.
vc_depfiles()
{
    sed -n 's/.*@am__quote@\(.*\)[$](DEPDIR)\(.*\)@am__quote@ # am--include-marker$/\1.deps\2/p' "$1/Makefile.in" >.depfiles
    sed 's,/[^/]*$,,' .depfiles | sort -u | xargs mkdir -p
    while read -r vc_file; do
        [ -e "$vc_file" ] || echo '# dummy' >"$vc_file"
    done <.depfiles
    rm .depfiles
}

# vc_configure SOURCE [OPTION...]. Files that were built with other options are rebuilt.
vc_configure()
{
    vc_source=$1
    shift
    if ! vc_is_configured "$@"; then
        [ $# -gt 0 ] || set -- --disable-tests
        vc_depfiles "$vc_source"
        vc_quietly "configuring in $PWD" "$vc_source/configure" "$@" || return 1
        make clean >build.log 2>&1 || return 1
        echo "$*" >.options
    fi
}

vc_make_here()
{
    vc_quietly "building in $PWD" make -j "$(getconf _NPROCESSORS_ONLN)" "$@"
}

vc_configured()
(
    mkdir -p -- "$1" || exit 1
    source=$(vc_plain_path .) && folder=$(vc_plain_path "$1") && cd "$folder" || exit 1
    shift
    # Two concurrent runs would disturb each other.
    exec 9<. && flock 9 || exit 1
    vc_configure_script "$source" && vc_configure "$source" "$@"
)

# Objects are compiled, and packed, without libtool where it would make nothing else of them; it links. That takes 74 s of 112.
vc_build()
{
    vc_configured "$@" || return 1
    if [ -e tests/libtool.sh ] && grep -q '^build_old_libs=no' "$1/libtool"; then
        # shellcheck disable=SC2016 # make expands it
        vc_make "$1" all 'LIBTOOL=$(SHELL) $(srcdir)/tests/libtool.sh $(AR)'
    else
        vc_make "$1"
    fi
}

vc_build_product()
{
    vc_build "$1" --enable-werror --disable-tests
}

vc_make()
(
    folder=$(vc_plain_path "$1") && cd "$folder" || exit 1
    shift
    exec 9<. && flock 9 && vc_make_here "$@"
)
