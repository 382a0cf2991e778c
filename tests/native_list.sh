# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced: the test programs of the suites unit, idl, fake, sim, inproc, tcp, shm and best, which need no RDMA device.
# Call them in a build folder that has its native-programs.
#
#   vc_native_list          prints the tests' names, one a line: "idl", or the path of a program
#   vc_native_run TOP NAME  runs one of them by tests/one.sh, but measures no cost of compiling; TOP is the folder of the
#                           sources
#
# shellcheck shell=sh

vc_native_list()
{
    echo idl
    for program in tests/unit/test_* tests/sim/test_* tests/fake/test_* tests/fake/suite_* \
        tests/suite/inproc_* tests/suite/tcp_* tests/suite/test_tcp tests/suite/shm_* tests/suite/test_shm tests/suite/test_shm_peers \
        tests/suite/vc_* tests/suite/test_best tests/suite/test_refused; do
        [ ! -f "$program" ] || [ ! -x "$program" ] || echo "$program"
    done
}

vc_native_run()
{
    case $2 in
    idl) VC_TEST_COST=no sh "$1/tests/one.sh" "$1/tests/idl/test_idl.sh" ;;
    *) sh "$1/tests/one.sh" "$2" ;;
    esac
}
