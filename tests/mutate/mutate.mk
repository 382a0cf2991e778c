# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The makefile of a build folder with more targets, for tests/mutate.sh:
#   programs    the native test programs, linked to the library as a shared object. So a mutant is one object and one
#               link, whatever tests it: mutate/base/libvc-fake.so, which has the simulated world's functions in place
#               of the system's, or libvc-device.so. mutate/base/protoc-gen-verbcall is the plugin.
#   FILE=rpc/client/call.c FOLDER=PATH PATH/rpc/client/call.c.o PATH/libvc-fake.so ...
#               the same with the source PATH/rpc/client/call.c in place of the product's
mutate_mk := $(lastword $(MAKEFILE_LIST))
include Makefile

# The programs can use all symbols of the library, and the library those of the programs; fake_tests have no library.
VISIBILITY_CFLAGS =
LDFLAGS += -rdynamic
FOLDER = mutate/base
comma = ,
all_of_fake = $(if $(filter $(fake_tests),$@),.libs/libfake.a,-Wl$(comma)--whole-archive .libs/libfake.a -Wl$(comma)--no-whole-archive)
shared = mutate/base/libvc-$(if $(filter $(unit_tests),$@),device,fake).so
archives = $(patsubst %.la,.libs/%.a,$(patsubst libfake.la,$(all_of_fake),$(patsubst libverbcall-core.la,$(shared),$(1))))

linked = $(unit_tests) $(fake_tests) $(fake_suites) $(sim_programs)
$(linked): | mutate/base/libvc-fake.so mutate/base/libvc-device.so
programs: $(BUILT_SOURCES)
	@$(MAKE) -f $(mutate_mk) mutate/base/protoc-gen-verbcall $(linked)

# The object of FILE replaces that of the product.
own = $(FOLDER)/$(FILE).o
library = $(foreach one,$(libverbcall_core_la_OBJECTS:.lo=.o),$(dir $(one)).libs/$(notdir $(one)))
library_replaced = $(dir $(FILE)).libs/libverbcall_core_la-$(notdir $(FILE:.c=.o))
flags = $(if $(filter idl/%,$(FILE)),$(AM_CFLAGS),$(libverbcall_core_la_CFLAGS) -fPIC -DPIC) $(CFLAGS) -w -Wno-error \
	-ffile-prefix-map=$(FOLDER)=.
made = $(FOLDER)/libvc-fake.so $(FOLDER)/libvc-device.so $(FOLDER)/protoc-gen-verbcall
$(made): $(if $(FILE),$(own),libverbcall-core.la $(protoc_gen_verbcall_OBJECTS))

$(own): $(FOLDER)/$(FILE)
	$(if $(filter $(FILE),$(core_sources) $(protoc_gen_verbcall_SOURCES)),,$(error $(FILE) is of no object))
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(flags) -c -o $@.$$$$ $< && mv $@.$$$$ $@

# The programs have the other symbols that it needs; gcc's own library has a __wrap_pthread_create() for
# another purpose.
$(FOLDER)/libvc-fake.so: private wraps = -Wl,@$(srcdir)/fake/wrap.args
$(FOLDER)/libvc-%.so:
	$(MKDIR_P) $(@D)
	$(CC) -shared -nostdlib -Wl,-soname,$(@F) -o $@ $(patsubst $(library_replaced),$(own),$(library)) $(wraps)
$(FOLDER)/protoc-gen-verbcall:
	$(MKDIR_P) $(@D)
	$(test_link) $(patsubst $(FILE:.c=.o),$(own),$(protoc_gen_verbcall_OBJECTS)) $(protoc_gen_verbcall_LDADD) $(LIBS)
