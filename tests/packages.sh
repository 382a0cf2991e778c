# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced: which packages the project needs on Debian, Ubuntu and Fedora.
#
#   vc_need_packages build|test|fuzz|lint|guest|containers|image|pages|samples|bench|local|callgrind|cross-s390x|cross-i386...
#                                                           installs what is missing, saying what and why;
#                                                           fails with a message when it cannot
#
# With everything there it asks the package database once and runs no package manager. The Fedora
# names are from memory; nobody has installed by them yet.
# shellcheck shell=sh

# Prints the family of this system, debian or fedora, or fails. A derivative names its parents in ID_LIKE.
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

# Succeeds if this system's mirrors have the packages of other architectures (Ubuntu's have them in other places).
vc_has_foreign()
(
    ID=''
    # shellcheck source=/dev/null
    [ -r /etc/os-release ] && . /etc/os-release
    [ "$ID" = debian ]
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

# Runs apt-get without questions; waits for another apt-get that is running.
vc_apt_get()
{
    vc_as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

# Prints the packages of group $2 on system $1.
vc_packages()
{
    case $1-$2 in
    debian-build)
        echo gcc make autoconf automake libtool pkg-config libibverbs-dev librdmacm-dev \
            ibverbs-providers libprotobuf-c-dev protobuf-c-compiler protobuf-compiler liburcu-dev \
            libxxhash-dev libc-ares-dev libjansson-dev ;;
    debian-test) vc_packages debian build; echo libcmocka-dev mold rdmacm-utils ibverbs-utils xz-utils iproute2 dnsmasq-base ;;
    debian-fuzz) vc_packages debian build; echo clang libclang-rt-dev ;;
    debian-lint) vc_packages debian build; echo clang ;;
    debian-guest)
        echo qemu-system-x86 busybox-static cpio iproute2 ibverbs-providers xz-utils zstd ;;
    debian-containers) echo podman crun netavark ;;
    debian-image) vc_packages debian containers; echo buildah mmdebstrap ;;
    debian-pages) echo scdoc groff-base ;;
    debian-samples) echo cmake meson ninja-build ;;
    debian-bench) echo perftest rdmacm-utils iproute2 ;;
    debian-local) echo ucx-utils libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc g++ liburing-dev ;;
    debian-callgrind) echo valgrind ;;
    debian-cross-s390x | debian-cross-i386)
        foreign=${2#cross-}
        case $foreign in
        i386) echo gcc-i686-linux-gnu ;;
        *) echo "gcc-$foreign-linux-gnu" ;;
        esac
        echo "libc6-dev-$foreign-cross" qemu-user
        printf '%s\n' libibverbs-dev librdmacm-dev libprotobuf-c-dev liburcu-dev libxxhash-dev libcmocka-dev |
            sed "s/\$/:$foreign/" ;;
    fedora-build)
        echo gcc make autoconf automake libtool pkgconf-pkg-config rdma-core-devel libibverbs \
            protobuf-c-devel protobuf-c-compiler protobuf-compiler userspace-rcu-devel \
            xxhash-devel c-ares-devel jansson-devel ;;
    fedora-test) vc_packages fedora build; echo libcmocka-devel mold librdmacm-utils libibverbs-utils xz iproute dnsmasq ;;
    fedora-fuzz) vc_packages fedora build; echo clang compiler-rt ;;
    fedora-lint) vc_packages fedora build; echo clang ;;
    fedora-guest)
        echo qemu-system-x86-core busybox cpio iproute libibverbs xz zstd util-linux ;;
    fedora-containers) echo podman crun ;;
    fedora-image) vc_packages fedora containers; echo buildah mmdebstrap ;;
    fedora-pages) echo scdoc groff-base ;;
    fedora-samples) echo cmake meson ninja-build ;;
    fedora-bench) echo perftest librdmacm-utils iproute ;;
    fedora-local) echo ucx protobuf-devel grpc-devel grpc-plugins gcc-c++ liburing-devel ;;
    fedora-callgrind) echo valgrind valgrind-devel ;;
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
        have=$(dpkg-query -W -f '${db:Status-Status} ${Architecture} ${Package}\n' "$@" 2>/dev/null |
            awk -v own="$(dpkg --print-architecture)" '
                $1 == "installed" { print $3 ":" $2 }
                $1 == "installed" && ($2 == own || $2 == "all") { print $3 }')
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
    fuzz) echo 'to try any bytes on what reads them, with libFuzzer' ;;
    lint) echo 'to see that two compilers take it without a warning' ;;
    guest) echo 'to test over RDMA in a QEMU guest, without an RDMA device' ;;
    containers) echo 'to run it in containers' ;;
    image) echo 'to build an image with it' ;;
    pages) echo 'to make its man pages, and see what they show' ;;
    samples) echo 'to build the samples on it' ;;
    bench) echo 'to compare it with the perftest tools' ;;
    local) echo 'to compare it with UCX and gRPC' ;;
    callgrind) echo 'to count instructions' ;;
    cross-*) echo "to test it on ${1#cross-}, emulated" ;;
    esac
}

# vc_add_architectures PACKAGE...: adds the architectures of these packages (NAME:ARCHITECTURE) to dpkg.
vc_add_architectures()
{
    for package; do
        case $package in
        *:*) vc_as_root dpkg --add-architecture "${package##*:}" || return 1 ;;
        esac
    done
}

# vc_missing_for MISSING PACKAGE...: prints those of the packages that are in the list.
vc_missing_for()
(
    missing=$1
    shift
    for package; do
        case " $missing " in
        *" $package "*) printf '%s ' "$package" ;;
        esac
    done
)

vc_need_packages()
(
    if ! system=$(vc_system); then
        echo 'Verbcall: cannot install packages here, only on Debian, Ubuntu and Fedora.' >&2
        echo 'By their Debian names it needs' >&2
        for group; do
            echo "  $(vc_why "$group"):" "$(vc_packages debian "$group" | xargs)" >&2
        done
        exit 1
    fi
    wanted=
    for group; do
        wanted="$wanted $(vc_packages "$system" "$group")" || exit 1
    done
    # shellcheck disable=SC2086 # lists of words, here and below
    missing=$(vc_missing_packages "$system" $wanted | sort -u | xargs)
    [ -n "$missing" ] || exit 0

    echo 'Verbcall: installing what is missing' >&2
    for group; do
        # shellcheck disable=SC2046
        packages=$(vc_missing_for "$missing" $(vc_packages "$system" "$group"))
        [ -z "$packages" ] || echo "  $(vc_why "$group"): $packages" >&2
    done
    # shellcheck disable=SC2086
    case $system in
    debian)
        vc_add_architectures $missing &&
            { vc_apt_get update || echo 'Verbcall: goes on with the lists of packages that are here' >&2; } &&
            vc_apt_get install -y --no-install-recommends $missing ;;
    fedora) vc_as_root dnf -y --setopt=install_weak_deps=False install $missing </dev/null >&2 ;;
    esac || {
        echo "Verbcall: could not install: $missing" >&2
        exit 1
    }
)
