# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced: which packages the project needs on Debian, Ubuntu and Fedora, and how to get them.
#
#   vc_need_packages build|test|guest|bench...   installs what is missing; returns 1 and says why when it cannot
#
# With everything there it asks the package database once and runs no package manager. The Fedora half has not been
# run by its authors yet.
# shellcheck shell=sh

# Prints debian or fedora, or fails: the family this system belongs to. A derivative names its parent in ID_LIKE.
vc_system()
(
    ID='' ID_LIKE=''
    # shellcheck source=/dev/null
    [ -r /etc/os-release ] && . /etc/os-release
    for id in $ID $ID_LIKE; do
        case $id in
        debian | ubuntu) echo debian; exit 0 ;;
        fedora) echo fedora; exit 0 ;;
        esac
    done
    exit 1
)

vc_as_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "Verbcall: no sudo here; run this as root: $*" >&2
        return 1
    fi
}

# Runs apt-get without questions; waits for another apt-get that is at work.
vc_apt_get()
{
    vc_as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

# Prints the packages of group $2 on system $1.
vc_packages()
{
    case $1-$2 in
    debian-build)
        echo gcc make autoconf automake libtool pkg-config libibverbs-dev librdmacm-dev ibverbs-providers \
            libprotobuf-c-dev protobuf-c-compiler protobuf-compiler liburcu-dev ;;
    debian-test) vc_packages debian build; echo libcmocka-dev rdmacm-utils ibverbs-utils ;;
    debian-guest) echo qemu-system-x86 busybox-static cpio iproute2 ibverbs-providers xz-utils zstd ;;
    debian-bench) echo perftest rdmacm-utils iproute2 ;;
    fedora-build)
        echo gcc make autoconf automake libtool pkgconf-pkg-config rdma-core-devel libibverbs protobuf-c-devel \
            protobuf-c-compiler protobuf-compiler userspace-rcu-devel ;;
    fedora-test) vc_packages fedora build; echo libcmocka-devel librdmacm-utils libibverbs-utils ;;
    fedora-guest) echo qemu-system-x86-core busybox cpio iproute libibverbs xz zstd util-linux ;;
    fedora-bench) echo perftest librdmacm-utils iproute ;;
    *) echo "Verbcall: no package group '$2'" >&2; return 1 ;;
    esac
}

# Prints those of the packages $2... that system $1 has not installed.
vc_missing_packages()
(
    system=$1
    shift
    case $system in
    debian)
        # shellcheck disable=SC2016 # dpkg-query expands it
        have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
        for package; do
            printf '%s\n' "$have" | grep -qxF "$package" || echo "$package"
        done ;;
    fedora) LC_ALL=C rpm -q "$@" | sed -n 's/^package \(.*\) is not installed$/\1/p' ;;
    esac
)

vc_why()
{
    case $1 in
    build) echo 'to build it' ;;
    test) echo 'to build and test it' ;;
    guest) echo 'for tests over RDMA in a guest, as this machine has no RDMA device for them' ;;
    bench) echo 'to compare it with the perftest tools' ;;
    esac
}

vc_need_packages()
(
    if ! system=$(vc_system); then
        echo "Verbcall: cannot install packages on this system (only on Debian, Ubuntu and Fedora)." >&2
        for group; do
            echo "By their Debian names it needs, $(vc_why "$group"):" "$(vc_packages debian "$group" | xargs)" >&2
        done
        exit 1
    fi
    for group; do
        wanted=$(vc_packages "$system" "$group") || exit 1
        # shellcheck disable=SC2086 # a list of words
        missing=$(vc_missing_packages "$system" $wanted | xargs)
        [ -n "$missing" ] || continue
        echo "Verbcall: installing what is missing $(vc_why "$group"): $missing" >&2
        # shellcheck disable=SC2086
        case $system in
        debian) vc_apt_get update && vc_apt_get install -y --no-install-recommends $missing ;;
        fedora) vc_as_root dnf -y --setopt=install_weak_deps=False install $missing </dev/null >&2 ;;
        esac || {
            echo "Verbcall: could not install: $missing" >&2
            exit 1
        }
    done
)
