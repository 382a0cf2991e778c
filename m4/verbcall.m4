# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# verbcall.m4 - for the configure.ac of programs that use Verbcall.
# serial 2

# _VERBCALL_FOLDER(VARIABLE, PKG-CONFIG'S, FILE)
# ----------------------------------------------
# Sets VARIABLE to the folder that the .pc file names and that has FILE.
AC_DEFUN([_VERBCALL_FOLDER],
[AC_MSG_CHECKING([for Verbcall's $3])
$1=
verbcall_said=`$PKG_CONFIG --variable=$2 verbcall 2>/dev/null`
for verbcall_try in "$PKG_CONFIG_SYSROOT_DIR$verbcall_said" "$verbcall_said"; do
  AS_IF([test -z "$$1" && test -r "$verbcall_try/$3"], [$1=$verbcall_try])
done
AS_IF([test -z "$$1"],
  [AC_MSG_RESULT([no])
   AC_MSG_ERROR([no $3 in ${verbcall_said:-a folder of verbcall.pc}: is Verbcall installed in full?])])
AC_MSG_RESULT([$$1])
])

# VERBCALL_PROTOC_RULES([DIR], [VERSION])
# ---------------------------------------
# Looks for Verbcall, at least of VERSION, by pkg-config, and for what makes C
# of .proto files: protoc, protoc-gen-c, and the plugin protoc-gen-verbcall. It
# sets
#   VERBCALL_CFLAGS, VERBCALL_LIBS      for compiling and linking
#   PROTOC, VERBCALL_PLUGIN             the programs; who configures may set them
#   VERBCALL_PROTODIR                   where verbcall/options.proto is below
#   VERBCALL_HEADERS, VERBCALL_SOURCES  what is made of $(VERBCALL_PROTOS), and of
#                                       $(VERBCALL_IMPORTS), files of elsewhere
# and lets a line @verbcall_protoc_rules@ in Makefile.am stand for the rules,
# which are those of verbcall.mk; that file says more. They need GNU make.
#
# DIR is the folder of the package, "proto" for example, from which the imports
# of its .proto files are counted; default is the package's own. A file
# DIR/a/x.proto is imported as "a/x.proto", and its C code, which goes into the
# same folder of the build, includes "a/x.pb-c.h": give -I$(top_builddir)/DIR.
#
# The plugin runs where the package is built. That of the pkg-config file is of
# the system that the package is built for; when these are not the same, one in
# PATH is taken first.
AC_DEFUN([VERBCALL_PROTOC_RULES],
[AC_REQUIRE([PKG_PROG_PKG_CONFIG])dnl
AC_REQUIRE([AC_PROG_MKDIR_P])dnl
PKG_CHECK_MODULES([VERBCALL], [verbcall]m4_ifval([$2], [ >= $2]))
AC_ARG_VAR([PROTOC], [protobuf's compiler])
AC_ARG_VAR([VERBCALL_PLUGIN], [path of protoc-gen-verbcall, its plugin for Verbcall])

AC_PATH_PROG([PROTOC], [protoc])
AS_IF([test -z "$PROTOC"],
  [AC_MSG_ERROR([protoc is missing: install protobuf-compiler, or set PROTOC])])
AC_PATH_PROG([VERBCALL_PROTOC_GEN_C], [protoc-gen-c])
AS_IF([test -z "$VERBCALL_PROTOC_GEN_C"],
  [AC_MSG_ERROR([protoc-gen-c is missing in PATH: install protobuf-c-compiler])])

# Some versions of pkg-config put PKG_CONFIG_SYSROOT_DIR before the values of
# variables, others do not: both are tried.
verbcall_said=`$PKG_CONFIG --variable=protoc_plugin verbcall 2>/dev/null`
AC_MSG_CHECKING([for protoc-gen-verbcall])
AS_IF([test -z "$VERBCALL_PLUGIN"],
  [verbcall_path=
   verbcall_save_IFS=$IFS; IFS=$PATH_SEPARATOR
   for verbcall_dir in $PATH; do
     IFS=$verbcall_save_IFS
     AS_IF([test -z "$verbcall_path" && AS_EXECUTABLE_P(["$verbcall_dir/protoc-gen-verbcall"])],
       [verbcall_path=$verbcall_dir/protoc-gen-verbcall])
   done
   IFS=$verbcall_save_IFS
   verbcall_1=$PKG_CONFIG_SYSROOT_DIR$verbcall_said verbcall_2=$verbcall_said
   AS_IF([test "$cross_compiling" != no],
     [set dummy "$verbcall_path" "$verbcall_2" "$verbcall_1"],
     [set dummy "$verbcall_1" "$verbcall_2" "$verbcall_path"])
   shift
   for verbcall_try
   do
     AS_IF([test -z "$VERBCALL_PLUGIN" && test -n "$verbcall_try" &&
            "$verbcall_try" --version >/dev/null 2>&1],
       [VERBCALL_PLUGIN=$verbcall_try])
   done])
AS_IF(["$VERBCALL_PLUGIN" --version >/dev/null 2>&1],
  [AC_MSG_RESULT([$VERBCALL_PLUGIN])],
  [AC_MSG_RESULT([no])
   AC_MSG_ERROR([protoc-gen-verbcall does not run here: install it for the system that this is built on, or set VERBCALL_PLUGIN (tried: ${VERBCALL_PLUGIN:-$verbcall_said})])])

_VERBCALL_FOLDER([VERBCALL_PROTODIR], [protodir], [verbcall/options.proto])
_VERBCALL_FOLDER([verbcall_protoc_rules], [pkgdatadir], [verbcall.mk])
verbcall_protoc_rules=$verbcall_protoc_rules/verbcall.mk

AC_SUBST([VERBCALL_PROTODIR])
AC_SUBST([VERBCALL_PROTO_DIR], ["m4_default([$1], [.])"])
AC_SUBST([VERBCALL_HEADERS], ['$(VERBCALL_PROTOS:.proto=.vc.h) $(VERBCALL_PROTOS:.proto=.pb-c.h) $(VERBCALL_IMPORTS:.proto=.vc.h) $(VERBCALL_IMPORTS:.proto=.pb-c.h)'])
AC_SUBST([VERBCALL_SOURCES], ['$(VERBCALL_PROTOS:.proto=.vc.c) $(VERBCALL_PROTOS:.proto=.pb-c.c) $(VERBCALL_IMPORTS:.proto=.vc.c) $(VERBCALL_IMPORTS:.proto=.pb-c.c)'])
AC_SUBST_FILE([verbcall_protoc_rules])
])
