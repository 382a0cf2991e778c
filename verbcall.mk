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
#   VERBCALL_IMPORTS       .proto files of elsewhere that are to be compiled, too, by the names that they are imported by:
#                          google/protobuf/timestamp.proto, grpc/health/v1/health.proto, verbcall/reflection/v1/reflection.proto.
#                          Their C comes below the Makefile's folder, for which -I. stands (automake: -I$(builddir), and
#                          $(VERBCALL_IMPORTS:.proto=.vc.c) and .pb-c.c among the sources). verbcall/options.proto needs none.
#                          For an import that is missing here make prints a line
#   VERBCALL_PROTO_DIR     folder from which imports are counted (default: the Makefile's)
#   VERBCALL_PROTOC_FLAGS  more for protoc, as -I/opt/share/proto for more of such files. It finds Verbcall's own,
#                          protobuf's (Debian: libprotobuf-dev) and protobuf-c's by itself
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
VERBCALL_PRETTY ?= $(if $(filter 1,$(V)),,@echo "  PROTOC  $(or $<,$(verbcall__stem).proto)";)
verbcall__all = $(VERBCALL_PROTOS) $(VERBCALL_IMPORTS)
VERBCALL_HEADERS = $(verbcall__all:.proto=.vc.h) $(verbcall__all:.proto=.pb-c.h)
VERBCALL_SOURCES = $(verbcall__all:.proto=.vc.c) $(verbcall__all:.proto=.pb-c.c)
verbcall__name = $(call verbcall__below,$*.proto)
verbcall__in = $(or $(patsubst %/$*.proto,%,$(filter-out $*.proto,$<)),.)$(addprefix /,$(verbcall__dir))
verbcall__out = .$(addprefix /,$(verbcall__dir))
endif

# The target without .vc.c, .vc.h, .pb-c.c or .pb-c.h.
verbcall__stem = $(basename $(basename $@))

# Where protobuf's and protobuf-c's own files are, which other folders go before.
VERBCALL_PROTOBUFDIR ?= $(firstword $(wildcard $(shell $(or $(PKG_CONFIG),pkg-config) --variable=includedir libprotobuf-c) /usr/include))
verbcall__compile = $(PROTOC) --plugin=protoc-gen-verbcall='$(VERBCALL_PLUGIN)' -I"$$in" -I"$$out" $(VERBCALL_PROTOC_FLAGS) \
	$(if $(VERBCALL_PROTODIR),-I'$(VERBCALL_PROTODIR)') $(addprefix -I,$(VERBCALL_PROTOBUFDIR)) \
	--dependency_out='$(verbcall__stem).vc.dt' --verbcall_out="$$out"

# What the compiler of imports says is kept as x.vc.d, in make's words. A file that is gone must not stop make, so each
# has a rule of its own.
verbcall__note = made='$(verbcall__stem).vc.c $(verbcall__stem).vc.h $(verbcall__stem).pb-c.c $(verbcall__stem).pb-c.h'; \
	read=$$(tr '\\\n' '  ' <'$(verbcall__stem).vc.dt' | sed 's/^[^:]*: *//'); rm -f '$(verbcall__stem).vc.dt'; \
	{ echo "$$made:" $$read; for file in $$read; do echo "$$file:"; done; } >'$(verbcall__stem).vc.d'

# The compiler would only say that there is no such header. Another Makefile, or a library, may have it all the same.
verbcall__hint = for name in $$(sed -n 's,^.include "\(.*\)\.pb-c\.h"$$,\1.proto,p' '$(verbcall__stem).pb-c.h'); do \
	case ' $(VERBCALL_PROTOS) $(VERBCALL_IMPORTS) ' in *[' /']"$$name "*) continue ;; esac; \
	test -f "$$in/$$name" || test -f "$$out/$$name" || test -f "$$out/$${name%.proto}.pb-c.h" || \
	echo "verbcall.mk: $(verbcall__stem).proto imports $$name, of which no C is made here: name it in VERBCALL_IMPORTS" >&2; done

# A pattern with many targets stands for one run that makes all of them.
%.vc.c %.vc.h %.pb-c.c %.pb-c.h: %.proto
	$(VERBCALL_PRETTY)in='$(verbcall__in)' out='$(verbcall__out)'; mkdir -p "$$out" '$(dir $*)' && \
	{ file=$$in/'$(verbcall__name)'; test -f "$$file" || file=$$out/'$(verbcall__name)'; } && \
	{ $(verbcall__compile) "$$file" || { rm -f '$*.vc.dt'; exit 1; }; } && \
	$(verbcall__note) && $(verbcall__hint)

# The same for a file of elsewhere; % stands for a dot.
define verbcall__import
$(1)%vc.c $(1)%vc.h $(1)%pb-c.c $(1)%pb-c.h:
	$$(VERBCALL_PRETTY)in=. out=.; mkdir -p '$$(dir $$@)' && \
	{ $$(verbcall__compile) '$(1).proto' || { rm -f '$(1).vc.dt'; exit 1; }; } && \
	$$(verbcall__note) && $$(verbcall__hint)
endef
$(foreach verbcall__it,$(VERBCALL_IMPORTS:.proto=),$(eval $(call verbcall__import,$(verbcall__it))))

ifneq ($(strip $(VERBCALL_PROTOS) $(VERBCALL_IMPORTS)),)
.SECONDARY: $(VERBCALL_HEADERS) $(VERBCALL_SOURCES)
-include $(VERBCALL_PROTOS:.proto=.vc.d) $(VERBCALL_IMPORTS:.proto=.vc.d)
endif

verbcall-clean:
	$(if $(strip $(VERBCALL_PROTOS) $(VERBCALL_IMPORTS)),rm -f $(VERBCALL_HEADERS) $(VERBCALL_SOURCES) \
		$(VERBCALL_PROTOS:.proto=.vc.d) $(VERBCALL_IMPORTS:.proto=.vc.d))
.PHONY: verbcall-clean

# Nothing here is what make makes without being told.
.DEFAULT_GOAL := $(verbcall__goal)
