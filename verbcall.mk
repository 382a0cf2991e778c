# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# verbcall.mk - rules for GNU make: of x.proto they make x.vc.[ch], services, and x.pb-c.[ch], messages, in one run of
# protoc, again when it or a file that it imports has changed.
#
# In Makefile.am, with VERBCALL_PROTOC_RULES in configure.ac (see verbcall.m4):
#
#   VERBCALL_PROTOS = greeter.proto types.proto
#   EXTRA_DIST = $(VERBCALL_PROTOS)
#   BUILT_SOURCES = $(VERBCALL_HEADERS)
#   nodist_server_SOURCES = $(VERBCALL_PROTOS:.proto=.vc.c) $(VERBCALL_PROTOS:.proto=.pb-c.c)
#   @verbcall_protoc_rules@
#
# In a plain Makefile:
#
#   VERBCALL_PROTOS = greeter.proto types.proto
#   include $(shell pkg-config --variable=pkgdatadir verbcall)/verbcall.mk
#   server: server.o $(VERBCALL_SOURCES:.c=.o)
#   server.o: $(VERBCALL_HEADERS)
#   clean: verbcall-clean
#
# To be set before, none of them must be:
#   VERBCALL_PROTOS        the .proto files, by their names below the folder of the Makefile; without it nothing is known
#                          of imports, and nothing is cleaned
#   VERBCALL_PROTO_DIR     folder from which imports are counted (default: the Makefile's)
#   VERBCALL_PROTOC_FLAGS  more for protoc, as -I$(VERBCALL_PROTODIR) for verbcall/options.proto
#   PROTOC, VERBCALL_PLUGIN, VERBCALL_PRETTY=...  programs; what is shown in place of the command unless V=1
#
# A build folder of its own works by VPATH. GNU make takes no names with spaces; folders above may have them.

verbcall__goal := $(.DEFAULT_GOAL)

verbcall__dir = $(filter-out .,$(VERBCALL_PROTO_DIR:/=))
verbcall__below = $(patsubst $(verbcall__dir)/%,%,$(1))
ifdef top_srcdir
# automake: imports are counted from a folder of the package.
VERBCALL_PRETTY ?= $(AM_V_GEN)
verbcall__name = $(call verbcall__below,$(patsubst ./%,%,$(subdir)/$*.proto))
verbcall__in = $(top_srcdir)$(addprefix /,$(verbcall__dir))
verbcall__out = $(top_builddir)$(addprefix /,$(verbcall__dir))
clean-am: verbcall-clean
else
PKG_CONFIG ?= pkg-config
PROTOC ?= protoc
VERBCALL_PLUGIN ?= $(shell $(PKG_CONFIG) --variable=protoc_plugin verbcall)
VERBCALL_PROTODIR ?= $(shell $(PKG_CONFIG) --variable=protodir verbcall)
VERBCALL_PRETTY ?= $(if $(filter 1,$(V)),,@echo "  PROTOC  $<";)
VERBCALL_HEADERS = $(VERBCALL_PROTOS:.proto=.vc.h) $(VERBCALL_PROTOS:.proto=.pb-c.h)
VERBCALL_SOURCES = $(VERBCALL_PROTOS:.proto=.vc.c) $(VERBCALL_PROTOS:.proto=.pb-c.c)
verbcall__name = $(call verbcall__below,$*.proto)
verbcall__in = $(or $(patsubst %/$*.proto,%,$(filter-out $*.proto,$<)),.)$(addprefix /,$(verbcall__dir))
verbcall__out = .$(addprefix /,$(verbcall__dir))
endif

# What the compiler of imports says is kept as x.vc.d, in make's words. A file that is gone must not stop make, so each
# has a rule of its own.
verbcall__note = made='$*.vc.c $*.vc.h $*.pb-c.c $*.pb-c.h'; \
	read=$$(tr '\\\n' '  ' <'$*.vc.dt' | sed 's/^[^:]*: *//'); rm -f '$*.vc.dt'; \
	{ echo "$$made:" $$read; for file in $$read; do echo "$$file:"; done; } >'$*.vc.d'

# A pattern with many targets stands for one run that makes all of them.
%.vc.c %.vc.h %.pb-c.c %.pb-c.h: %.proto
	$(VERBCALL_PRETTY)in='$(verbcall__in)' out='$(verbcall__out)'; mkdir -p "$$out" '$(dir $*)' && \
	{ file=$$in/'$(verbcall__name)'; test -f "$$file" || file=$$out/'$(verbcall__name)'; } && \
	{ $(PROTOC) --plugin=protoc-gen-verbcall='$(VERBCALL_PLUGIN)' -I"$$in" -I"$$out" $(VERBCALL_PROTOC_FLAGS) \
		--dependency_out='$*.vc.dt' --verbcall_out="$$out" "$$file" || { rm -f '$*.vc.dt'; exit 1; }; } && \
	$(verbcall__note)

ifneq ($(strip $(VERBCALL_PROTOS)),)
.SECONDARY: $(VERBCALL_HEADERS) $(VERBCALL_SOURCES)
-include $(VERBCALL_PROTOS:.proto=.vc.d)
endif

verbcall-clean:
	$(if $(strip $(VERBCALL_PROTOS)),rm -f $(VERBCALL_HEADERS) $(VERBCALL_SOURCES) $(VERBCALL_PROTOS:.proto=.vc.d))
.PHONY: verbcall-clean

# Nothing here is what make makes without being told.
.DEFAULT_GOAL := $(verbcall__goal)
