# Phoenix: bare-metal cluster provisioning. `make lab` shows it, `make check` tests it.
#
#   make            build everything into $(BUILD)/bin
#   make deps       install what is missing (Debian 12, root)
#   make check      all tests, one real lab boot included
#   make lab        the emulated cluster and its main job; make lab-down ends it
#   make bench      the measurements of the README
#   make check-asan the unit and system tests under the sanitizers

BUILD ?= build
CC ?= gcc
V ?= 0
Q := $(if $(filter 0,$(V)),@,)

PURE := node core
ROOMS := $(notdir $(patsubst %/,%,$(wildcard lib/*/)))
PROGRAMS := phx phxd phx-agent

# static libarchive: the shared one drags in ICU (the agent would be 42 MB)
PKGS := libmicrohttpd libcurl jansson libcrypto libssl sqlite3 libconfig libssh2 hwloc fdisk blkid mount \
	libcryptsetup libkmod libsystemd smartcols
WARN := -Wno-format-truncation -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
WERROR ?= -Werror
OPT ?= -O2 -g
CFLAGS += -std=gnu17 -D_GNU_SOURCE $(OPT) $(WARN) $(WERROR) -fstack-protector-strong -ffunction-sections -fdata-sections
CPPFLAGS += -Ilib -Icmd -I$(BUILD)/gen -D_FORTIFY_SOURCE=2 -DPHX_VERSION='"$(VERSION)"' $(shell pkg-config --cflags $(PKGS))
LDFLAGS += -Wl,--gc-sections -Wl,--as-needed
LIBS = -Wl,-Bstatic -larchive -Wl,-Bdynamic $(shell pkg-config --libs $(PKGS)) -lgnutls -lnettle -lacl -llzma -lzstd -lbz2 -llz4 -lz -lpthread -lm
VERSION := 0.1.0


LIB_SRC := $(wildcard lib/*/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
UNIT_SRC := $(wildcard tests/unit/*/*.c) $(wildcard tests/golden/*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
DEPS_FILES := $(LIB_OBJ:.o=.d) $(patsubst %,$(BUILD)/%.d,$(UNIT_SRC:.c=))

.PHONY: all room unit clean
.DEFAULT_GOAL := all
.SECONDARY:
all: $(PROGRAMS:%=$(BUILD)/bin/%)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(if $(filter $(PURE:%=lib/%/),$(dir $<)),-Wconversion) -MMD -MP -c $< -o $@

$(BUILD)/libphx.a: $(LIB_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcs $@ $^

# one program a folder of cmd/, made of all that is in it
define program
$(BUILD)/bin/$(1): $$(patsubst %.c,$(BUILD)/obj/%.o,$$(wildcard cmd/$(1)/*.c)) $(BUILD)/libphx.a
	@mkdir -p $$(@D)
	@echo "  LD    $$@"
	$$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
DEPS_FILES += $$(patsubst %.c,$(BUILD)/obj/%.d,$$(wildcard cmd/$(1)/*.c))
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))
$(BUILD)/bin/phx-agent: LDFLAGS += -Wl,-rpath,'$$ORIGIN/../lib'

# the objects of one room alone: make room ROOM=disk
room: $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard lib/$(ROOM)/*.c))

# unit tests: one cmocka program a file; make unit ROOM=disk runs one room's
$(BUILD)/tests/%: tests/%.c $(BUILD)/libphx.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -DTEST_DIR='"$(CURDIR)/tests"' -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(BUILD)/libphx.a $(LIBS) -lcmocka

ROOM ?= *
ROOM_UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/$(ROOM)/*.c) $(if $(filter *,$(ROOM)),$(wildcard tests/golden/*.c)))
unit: $(ROOM_UNIT)
	$(Q)tests/run $(ROOM_UNIT)

clean:
	rm -rf $(BUILD)

-include $(DEPS_FILES)
