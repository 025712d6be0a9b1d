# Phoenix: bare-metal cluster provisioning. `make lab` shows it, `make check` tests it.
#
#   make            build everything into $(BUILD)/bin
#   make deps       install what is missing (Debian 12, root)
#   make check      what every change must pass: all tests, a real lab boot included, planted bugs that they must find and what takes minutes (by turns), fuzzers of all parsers
#   make check-all  that and most of what follows, for a release; hours
#   make lab        the emulated cluster and its main job; make lab-down ends it
#   make lab-share  two departments share emulated machines for a day of web load; time-lines in $(BUILD)
#   make bench      the measurements of the README
#   make check-lab  lab, and more of it: RAM boot, proxyDHCP, lost keys, damaged images, erases
#   make lab-site   a real site, part by part: networks and bonds, kernels and containers, layouts of disks, a burn-in
#   make lab-deb    the Debian packages on an emulated machine with systemd, from which a second one boots
#   make lab-why    boot failures planted on an emulated machine: phx node why names each, and the machine goes on
#   make check-lab-share  lab-share, as a test
#   make check-import  a tar of another Debian release becomes an image, deployed to memory and disk
#   make check-share  lab-share, shortened: three shared machines, one exchange with a wipe
#   make check-web  a load balancer and two web nodes in the emulated lab, under load
#   make check-sim  the fault simulation alone; make check-planted: bugs of others that it must find; of both a part is in make check,
#                   by turns (tests/turn), and all in make check-all
#   make fuzz FUZZ_SECONDS=60  every fuzzer for so long; make fuzz-coverage: what their corpora reach
#   make check-mutants  single faults planted into the source, which the tests must find; hours
#   make check-asan the unit and system tests under the sanitizers; all unit tests but three long ones, and some of the system, are part of make check
#   make check-unit all unit tests without them, as part of make check those alone that test more then
#   make check-tsan the daemon under many clients, watched by ThreadSanitizer; part of make check
#   make tutorial   phoenix-tutorial(7) carried out in a browser, with its pictures
#   make portal     the web pages, into $(BUILD)/portal (npm, as cmd/portal/package-lock.json has it)
#   make install    programs, pages, manual, units, examples (DESTDIR, PREFIX)
#   make deb        the same as Debian packages, into $(BUILD)/deb

BUILD ?= build
CC ?= gcc
V ?= 0
Q := $(if $(filter 0,$(V)),@,)

PURE := policy batch web flow types ledger state job node re core site why metrics
ROOMS := $(notdir $(patsubst %/,%,$(wildcard lib/*/)))
PROGRAMS := phx phx-sim phx-lab phxd phx-agent
WORDS := phx phx-sim # of these, what they share is cmd/cli

# static libarchive: the shared one drags in ICU (the agent would be 42 MB)
PKGS := libmicrohttpd libcurl jansson yaml-0.1 libcrypto libssl sqlite3 libconfig libssh2 hwloc fdisk blkid mount \
	libcryptsetup libkmod libsystemd smartcols libxml-2.0 libnl-3.0 libnl-genl-3.0 libseccomp tss2-esys tss2-tcti-device tss2-mu tss2-rc
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
# we truncate on purpose; clang does not know the name
WARN += $(if $(findstring Free Software,$(shell $(CC) --version 2>/dev/null)),-Wno-format-truncation)
WERROR ?= -Werror
OPT ?= -O2 -g
# what makes an error in memory end the program and not obey who sent it; tests/check-hardening looks for it in what was built
HARDEN := -fstack-protector-strong -fstack-clash-protection
HARDEN += $(if $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection)
HARDEN += $(if $(findstring Free Software,$(shell $(CC) --version 2>/dev/null)),-ftrivial-auto-var-init=zero)# clang 14 calls that an experiment
# two builds of one commit are equal, byte by byte, wherever they were made (tests/system/reproducible.sh): objects of one tree are
# those of another, so that this is none of FLAGS. What clang measures wants the paths
PATHS := $(if $(findstring Free Software,$(shell $(CC) --version 2>/dev/null)),-ffile-prefix-map=$(CURDIR)=.)
CFLAGS += -std=gnu17 -D_GNU_SOURCE $(OPT) $(WARN) $(WERROR) $(HARDEN) $(if $(SHARED),-fPIC,-fPIE) -ffunction-sections -fdata-sections
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
PKG_LIBS := $(shell pkg-config --libs $(PKGS))
CPPFLAGS += -Ilib -Icmd -I$(BUILD)/gen -D_FORTIFY_SOURCE=3 -DPHX_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
LDFLAGS += -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections -Wl,--as-needed
LIBS = -Wl,-Bstatic -larchive -Wl,-Bdynamic $(PKG_LIBS) -lgnutls -lcrypt -lpam -lnettle -lacl -llzma -lzstd -lbz2 -llz4 -lz -lpthread -lm
VERSION := 0.1.0
# for what is only compiled: all cores, also where somebody types "make check"
BUILD_MAKE = $(MAKE) -j$(shell nproc)

LIB_SRC := $(sort $(wildcard lib/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
# what takes longest stands first: two programs run at a time
UNIT_SRC := $(wildcard tests/golden/*.c) $(wildcard tests/unit/*/*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
DEPS_FILES := $(LIB_OBJ:.o=.d) $(patsubst %,$(BUILD)/%.d,$(UNIT_SRC:.c=))

.PHONY: all room unit clean
.DEFAULT_GOAL := all
.SECONDARY:
all: $(PROGRAMS:%=$(BUILD)/bin/%)

# what all objects are compiled with: when that changes, so do they. Written anew by no make that finds it as it is
FLAGS := $(strip $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))
FLAGS_FILE := $(BUILD)/flags
ifneq ($(MAKECMDGOALS),clean)
ifneq ($(file <$(FLAGS_FILE)),$(FLAGS))
$(shell mkdir -p $(BUILD))$(file >$(FLAGS_FILE),$(FLAGS))
endif
endif

$(BUILD)/obj/%.o: %.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(PATHS) $(if $(filter $(PURE:%=lib/%/),$(dir $<)),-Wconversion -Wsign-conversion) -MMD -MP -c $< -o $@

$(BUILD)/libphx.a: $(LIB_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcsD $@ $^

# SHARED=yes: unit tests load it, so that a change of the library compiles no test again (tests/mutants/run)
$(BUILD)/libphx.so: $(LIB_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) -shared -o $@ $^
TEST_LIB := $(BUILD)/libphx.$(if $(SHARED),so,a)
TEST_RPATH := -Wl,-rpath,$(abspath $(BUILD))

CLI_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard cmd/cli/*.c)))
DEPS_FILES += $(CLI_OBJ:.o=.d)
$(BUILD)/libcli.a: $(CLI_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcsD $@ $^

# one program a folder of cmd/, made of all that is in it
define program
$(BUILD)/bin/$(1): $$(patsubst %.c,$(BUILD)/obj/%.o,$$(sort $$(wildcard cmd/$(1)/*.c))) $(if $(filter $(1),$(WORDS)),$(BUILD)/libcli.a) $(BUILD)/libphx.a
	@mkdir -p $$(@D)
	@echo "  LD    $$@"
	$$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
DEPS_FILES += $$(patsubst %.c,$(BUILD)/obj/%.d,$$(wildcard cmd/$(1)/*.c))
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))
# loaded when first called: cmd/phx/late.c
# what makes archives of modules lies beside the programs as it does where they are installed
IMAGE_TOOLS := pack-modules modules.sh deploy/modules
$(BUILD)/bin/phx: | $(IMAGE_TOOLS:%=$(BUILD)/share/phoenix/images/%)
$(BUILD)/share/phoenix/images/%: images/%
	@mkdir -p $(@D)
	$(Q)cp -p $< $@
$(BUILD)/bin/phx: LIBS := $(filter-out -lcurl -lxml2,$(LIBS))
# RPATH, not RUNPATH: it must hold for the libraries of the libraries too
$(BUILD)/bin/phx-agent: LDFLAGS += -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib'

# the objects of one room alone: make room ROOM=disk
room: $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard lib/$(ROOM)/*.c))

# unit tests: one cmocka program a file; make unit ROOM=disk runs one room's. Their objects are made without optimization, in a
# quarter of the time, and not again when the library changes
TEST_OPT := -O0 -U_FORTIFY_SOURCE
# the quicker of two linkers of one package, in a third of the time; programs that are installed, and shared libraries, have the other
TEST_LD := $(if $(SHARED),,$(if $(shell command -v ld.gold 2>/dev/null),-fuse-ld=gold))
$(BUILD)/tests/%.o: tests/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(TEST_OPT) -DTEST_DIR='"$(CURDIR)/tests"' -MMD -MP -c $< -o $@
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(if $(SHARED),|) $(TEST_LIB)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(TEST_LD) -o $@ $< $(TEST_OBJ) $(TEST_LIB) $(if $(SHARED),$(TEST_RPATH)) $(LIBS) -lcmocka

# the tests of the rooms that an event passes through, and the golden ones of the core, once more, each allocation failing in
# turn: the library is the static one, its calls are wrapped; not replay, patience and gone, which repeat themselves for long,
# nor visits and visits_kinds, which count what is read
ALLOC_ROOMS := state job node re core
ALLOC_SRC := $(filter-out %/replay.c %/patience.c %/gone.c %/visits.c %/visits_kinds.c,$(wildcard $(ALLOC_ROOMS:%=tests/unit/%/*.c))) \
	$(patsubst %,tests/golden/%.c,before core_random flows triggers)
ALLOC_OBJ := $(ALLOC_SRC:tests/%.c=$(BUILD)/tests/alloc/%.o)
ALLOC_WRAP := malloc calloc realloc reallocarray strdup strndup phx_core_apply
DEPS_FILES += $(ALLOC_OBJ:.o=.d)
$(ALLOC_OBJ): $(BUILD)/tests/alloc/%.o: tests/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(TEST_OPT) -Dmain=main_of_$(subst /,_,$*) -DTEST_DIR='"$(CURDIR)/tests"' -Wno-missing-prototypes -MMD -MP -c $< -o $@
$(BUILD)/tests/golden/alloc: $(ALLOC_OBJ) $(BUILD)/libphx.a
# which programs there are is in it
$(BUILD)/tests/golden/alloc.o: $(ALLOC_SRC)
$(BUILD)/tests/golden/alloc.o: private CPPFLAGS += -DPROGRAMS="$(foreach p,$(ALLOC_SRC:tests/%.c=%),PROGRAM($(subst /,_,$(p))))"
$(BUILD)/tests/golden/alloc: private TEST_LIB := $(ALLOC_OBJ) $(BUILD)/libphx.a $(ALLOC_WRAP:%=-Wl,--wrap=%)

# what the system tests and those of the lab run beside the programs
SYSTEM_BIN := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/system/*.c tests/fake/*.c))
LAB_BIN := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/lab/*.c))
DEPS_FILES += $(SYSTEM_BIN:%=%.d) $(LAB_BIN:%=%.d)

# phxd itself, whose journal dies where it is told: no such word is in the one that is installed
PHXD_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard cmd/phxd/*.c))
$(BUILD)/tests/system/phxd_that_dies: $(PHXD_OBJ)
$(BUILD)/tests/system/phxd_that_dies: TEST_OBJ := $(PHXD_OBJ) -Wl,--wrap=phx_journal_open,--wrap=launcher_restarts

# what tests the command line runs it
$(filter $(BUILD)/tests/unit/cli/%,$(UNIT_BIN)): | $(BUILD)/bin/phx $(BUILD)/bin/phx-sim man

# some tests of the agent run the program itself
$(filter $(BUILD)/tests/unit/agent/%,$(UNIT_BIN)): | $(BUILD)/bin/phx-agent
$(BUILD)/tests/unit/agent/%.o: private CPPFLAGS += -DAGENT_PROGRAM='"$(abspath $(BUILD))/bin/phx-agent"'

# a TPM in software answers over a socket
$(BUILD)/tests/unit/tpm/%: private LIBS += -ltss2-tcti-swtpm

# those of processes that stand apart start them
APART_UNIT := $(filter $(BUILD)/tests/unit/vault/% %/unit/power/hands,$(UNIT_BIN))
$(APART_UNIT): | $(BUILD)/bin/phxd
$(APART_UNIT:%=%.o): private CPPFLAGS += -DAPART_PROGRAM='"$(abspath $(BUILD))/bin/phxd"'

ROOM ?= *
ROOM_UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/$(ROOM)/*.c) $(if $(filter *,$(ROOM)),$(wildcard tests/golden/*.c)))
unit: $(ROOM_UNIT)
	$(Q)tests/run $(ROOM_UNIT)

# ---- what a fresh Debian 12 machine lacks ----

DEPS_BUILD := gcc make pkg-config libmicrohttpd-dev libgnutls28-dev libcurl4-openssl-dev libjansson-dev libssl-dev \
	libsqlite3-dev libconfig-dev libyaml-dev libarchive-dev libssh2-1-dev libhwloc-dev libfdisk-dev libblkid-dev libmount-dev \
	libcryptsetup-dev libkmod-dev libsystemd-dev libsmartcols-dev libcmocka-dev libacl1-dev liblzma-dev \
	libzstd-dev libbz2-dev liblz4-dev zlib1g-dev nettle-dev libxml2-dev libnl-3-dev libnl-genl-3-dev libseccomp-dev libtss2-dev libpam0g-dev libcrypt-dev scdoc
DEPS_RUN := dnsmasq-base tftpd-hpa ipxe pci.ids ipmitool freeipmi-tools conserver-server zstd e2fsprogs squashfs-tools dosfstools skopeo umoci cpio kmod xz-utils
DEPS_IMAGE := mmdebstrap arch-test # phx image build
DEPS_LAB := fakeroot busybox-static cpio kmod qemu-system-x86 qemu-utils ovmf openipmi swtpm isc-dhcp-relay \
	iproute2 jq curl xz-utils wrk
DEPS_TEST := stress-ng memtester fio clang llvm clang-format clang-tidy cppcheck libclang-rt-14-dev universal-ctags openssh-server openssh-client \
	tftp-hpa nftables gdisk strace systemd socat sqlite3 valgrind zsh clustershell ansible-core sudo openssl \
	slurmctld slurmd slurm-client munge prometheus
# whoever has node and npm from elsewhere keeps them
DEPS_PORTAL := $(if $(shell command -v node),,nodejs) $(if $(shell command -v npm),,npm) chromium fonts-dejavu-core
# what make bench compares with
# (makeflow is linked with MPI, and does not start without orted)
DEPS_BENCH := coop-computing-tools openmpi-bin parallel
DEPS_DEB := debhelper dpkg-dev lintian
DEPS := $(DEPS_BUILD) $(DEPS_RUN) $(DEPS_IMAGE) $(DEPS_DEB) $(DEPS_LAB) $(DEPS_TEST) $(DEPS_PORTAL)

.PHONY: deps check lab lab-share lab-down bench check-layers check-pure check-sleeps check-size check-layout check-hardening check-asan check-asan-unit check-asan-system check-tsan lint packages images agent-bundle
deps:
	$(Q)tests/deps $(DEPS)
	$(Q)$(MAKE) npm

# ---- images, packages, the agent's bundle ----

-include cmd/phx-agent/bundle.mk
-include cmd/portal/portal.mk
-include images/images.mk
-include roles/packages/packages.mk
-include tests/fuzz/fuzz.mk
-include tests/bench/bench.mk
-include tests/sim/sim.mk
-include tests/mutants/mutants.mk

# ---- tests ----

# what takes longest begins first
SYSTEM_TESTS := tests/system/slurm.sh $(filter-out tests/system/slurm.sh,$(sort $(wildcard tests/system/*.sh)))
LAB_TESTS := tests/lab/share-short.sh tests/lab/boot.sh tests/lab/images tests/lab/power
# not beside share-short: the emulated machines of both are more than two cores bear
LAB_LATER := tests/lab/attacks.sh tests/lab/why-short.sh
TRUST_TESTS := $(sort $(wildcard tests/trust/*/*.sh))

check-layers: $(PROGRAMS:%=$(BUILD)/bin/%)
	$(Q)BUILD=$(BUILD) tests/check-layers
check-pure: $(BUILD)/libphx.a
	$(Q)BUILD=$(BUILD) tests/check-pure
check-sleeps: $(PROGRAMS:%=$(BUILD)/bin/%)
	$(Q)BUILD=$(BUILD) tests/check-sleeps
check-size:
	$(Q)BUILD=$(BUILD) tests/check-size
check-layout:
	$(Q)tests/check-layout
check-hardening: $(PROGRAMS:%=$(BUILD)/bin/%)
	$(Q)BUILD=$(BUILD) tests/check-hardening

# what every change must pass; one that fails does not hide the others
check: deps
	+$(Q)tests/each "$(MAKE)" check-tests check-planted-turn check-fuzz check-asan-unit check-asan-system check-tsan
.PHONY: check-tests check-unit check-all
SCRIPTS_TURN ?= $$(tests/turn 4)
# what check-asan-system runs under the sanitizers check-all alone runs without them, too
SYSTEM_ONCE = $(filter-out $(if $(filter all,$(SCRIPTS_TURN)),,$(ASAN_SYSTEM)),$(SYSTEM_TESTS))
check-tests:
	$(Q)$(BUILD_MAKE) all agent-bundle images packages portal $(UNIT_PLAIN) $(SYSTEM_BIN) $(LAB_BIN) $(SIM_BIN)
	$(Q)$(MAKE) deb-root DEB_SEED=$(BUILD)
	$(Q)BUILD=$(BUILD) PHX=$(BUILD)/bin/phx IMAGES=$(BUILD)/images PHX_TEST_TRIES=2 PHX_TEST_PASSED=$(BUILD)/passed PHX_FAULTS_TURN=$$(tests/turn 4) tests/run tests/check-layers tests/check-pure tests/check-sleeps tests/check-size tests/check-layout tests/check-hardening tests/check-walks tests/check-mutants tests/check-turns $(SIM_BIN) $(UNIT_PLAIN) $$(tests/by-turns $(SCRIPTS_TURN) $(LAB_TESTS) $(SYSTEM_ONCE) $(LAB_LATER)) $(TRUST_TESTS)
check-unit:
	$(Q)$(BUILD_MAKE) all packages $(UNIT_BIN)
	$(Q)BUILD=$(BUILD) tests/run $(UNIT_BIN)
# what is too long for every change; its last line stands in CHANGES.md at a release. What has passed of a commit is not made
# again, so that it may be made in parts
check-all:
	+$(Q)tests/each --keep $(BUILD)/check-all "$(MAKE) SCRIPTS_TURN=all" check check-sim check-planted check-reproducible check-planted-long check-unit fuzz check-lab lab-site lab-deb lab-why check-lab-share check-import check-web check-asan check-alloc check-mutants lint

# two builds of the commit, at two paths, are equal byte by byte: programs, Debian packages, an image
.PHONY: check-reproducible
check-reproducible: deps
	$(Q)$(BUILD_MAKE) all agent-bundle portal
	$(Q)BUILD=$(BUILD) PHX_REPRODUCIBLE=all PHX_TEST_TIMEOUT=7200 tests/run tests/system/reproducible.sh

# what people whom the head separates would do to each other, a script an attack, and all else that the table of tests/trust/README.md
# says is proven; parts of check
.PHONY: check-trust check-trust-scripts check-trust-planted check-trust-fuzz check-trust-lab
check-trust: deps
	+$(Q)tests/each "$(MAKE)" check-trust-scripts check-trust-planted check-trust-fuzz check-trust-lab
	@echo "not run, for they take long: $$(tests/trust/named long | paste -sd ' ')"
check-trust-scripts:
	$(Q)$(BUILD_MAKE) all $(SYSTEM_BIN) portal $$(tests/trust/named unit | sed 's,^,$(BUILD)/,')
	$(Q)BUILD=$(BUILD) PHX=$(BUILD)/bin/phx tests/run tests/check-hardening $$(tests/trust/named unit | sed 's,^,$(BUILD)/,') \
		$(TRUST_TESTS) $$(tests/trust/named system)
# on emulated machines, by an owner who is root on them
check-trust-lab:
	$(Q)$(BUILD_MAKE) all agent-bundle images packages
	$(Q)BUILD=$(BUILD) tests/run $$(tests/trust/named lab)
check-trust-planted:
	$(Q)PLANTED="$$(tests/trust/named planted | paste -sd ' ')" $(MAKE) check-planted
check-trust-fuzz:
	$(Q)$(MAKE) fuzz FUZZ_SECONDS=7 FUZZ="$$(tests/trust/named fuzz | paste -sd ' ')" FUZZ_TARGETS="$$(tests/trust/named fuzz | paste -sd ' ')"

# the main job of `make lab`; the lab's breadth: RAM boot, proxyDHCP, lost keys, damaged images, erases; the lab that people
# work in; one after the other, for two cores bear no more; half an hour
.PHONY: check-lab
check-lab: deps
	$(Q)$(BUILD_MAKE) all agent-bundle images packages
	$(Q)BUILD=$(BUILD) ENDS=1 PHX_TEST_TIMEOUT=3600 PHX_TEST_SCRIPTS=1 tests/run tests/lab/main-job.sh tests/lab/intro.sh tests/lab/breadth.sh tests/lab/people-short.sh

# a real site, part by part: networks behind a relay, bonds over which a wrong setting rolls itself back, images with kernels of
# their own and of containers, layouts of disks beside a protected one, a burn-in; an hour
.PHONY: lab-site
lab-site: deps
	$(Q)$(BUILD_MAKE) all agent-bundle images packages
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=3600 PHX_TEST_SCRIPTS=1 tests/run $(addprefix tests/lab/,networks.sh bond.sh kernels.sh containers.sh layout.sh burnin.sh)

# the Debian packages on an emulated machine with systemd: installed, two lines edited, served from; upgraded to those of the next version
# under a hand-over; half an hour
NEXT_VERSION = $(shell echo $(VERSION) | awk -F. '{ print $$1 "." $$2 + 1 ".0" }')
.PHONY: lab-deb
lab-deb: deps
	$(Q)$(BUILD_MAKE) all agent-bundle portal image-deploy image-debian-12
	$(Q)$(MAKE) deb-root DEB_SEED=$(BUILD)
	$(Q)$(MAKE) deb BUILD=$(BUILD)/next DEB_SEED=$(BUILD) NPM_DIR=$(BUILD)/npm VERSION=$(NEXT_VERSION)
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=5400 tests/run tests/lab/deb.sh

# boot failures planted one after the other: phx node why names each and no other cause, then the machine is mended and goes on;
# then the head is lost, and comes back from a backup; half an hour. Some of them: tests/lab/why.sh CASE...
.PHONY: lab-why
lab-why: deps
	$(Q)$(BUILD_MAKE) all agent-bundle images packages
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=3600 PHX_TEST_SCRIPTS=1 tests/run tests/lab/why.sh tests/lab/moved.sh

# lab-share, whole: a day of web load, with and without erases; half an hour
.PHONY: check-lab-share
check-lab-share: deps
	$(Q)$(BUILD_MAKE) all $(LAB_BIN) agent-bundle images packages
	$(Q)BUILD=$(BUILD) ENDS=1 PHX_TEST_TIMEOUT=5400 tests/run tests/lab/share.sh

# an image of another Debian release, made with the machine's mirror, imported, deployed; four minutes
.PHONY: check-import
check-import: deps
	$(Q)$(BUILD_MAKE) all agent-bundle images
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=1500 tests/run tests/lab/import.sh

# directors that share addresses: nothing breaks when one dies; and a balancer and two web nodes: nodes leave and die
# under load; five minutes
.PHONY: check-web
check-web: deps
	$(Q)$(BUILD_MAKE) all agent-bundle images packages $(LAB_BIN)
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=1500 tests/run tests/lab/directors.sh tests/lab/web.sh

# the main job of lab-share, shortened; also part of check
.PHONY: check-share
check-share: deps
	$(Q)$(BUILD_MAKE) all $(LAB_BIN) agent-bundle images packages
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=2400 tests/run tests/lab/share-short.sh

ASAN := $(BUILD)/asan
ASAN_UNIT := $(UNIT_SRC:%.c=$(ASAN)/%)
# what repeats for minutes what others do once: of check-asan alone
ASAN_LONG := %/core/replay %/node/patience %/study/papers
# make check runs these without the sanitizers, too, for they test less with them, or a script runs them (runner.sh); the others
# once, with them
UNIT_PLAIN := $(filter $(ASAN_LONG) $(BUILD)/tests/golden/% %/job/external %/apart/calls %/repo/test_role_packages,$(UNIT_BIN))
# what a report says of a place needs lines, and no more of what a debugger wants
ASAN_MAKE = $(BUILD_MAKE) BUILD=$(ASAN) SHARED=yes OPT="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
check-asan-unit:
	$(Q)$(ASAN_MAKE) all $(filter-out $(ASAN_LONG),$(ASAN_UNIT))
	$(Q)BUILD=$(ASAN) tests/sanitized $(filter-out $(ASAN_LONG),$(ASAN_UNIT))
# those that reach most of head and agent: enrolment, hand-over, jobs, REs, the whole API
ASAN_SYSTEM := $(addprefix tests/system/,agent.sh agent_jobs.sh phxd_api.sh re.sh)
check-asan-system:
	$(Q)$(ASAN_MAKE) all $(SYSTEM_BIN:$(BUILD)/%=$(ASAN)/%)
	$(Q)BUILD=$(ASAN) PHX_TEST_TRIES=2 tests/sanitized $(ASAN_SYSTEM)
check-asan:
	$(Q)$(ASAN_MAKE) all $(ASAN_UNIT) $(SYSTEM_BIN:$(BUILD)/%=$(ASAN)/%)
	$(Q)BUILD=$(ASAN) tests/sanitized $(ASAN_UNIT) $(filter-out %/deb.sh %/reproducible.sh,$(SYSTEM_TESTS))

# as tests/golden/alloc, but each allocation fails: of all events of the golden programs, and of fifty events of a kind and size of
# the others, within a bound for each of those: some 7 minutes of processor time, and 2 for the golden ones
.PHONY: check-alloc
check-alloc:
	$(Q)$(BUILD_MAKE) $(BUILD)/tests/golden/alloc
	$(Q)PHX_ALLOC_ALL=50 PHX_TEST_TIMEOUT=40000 tests/run $(BUILD)/tests/golden/alloc

TSAN := $(BUILD)/tsan
# rooms of which neither phxd nor phx has anything
TSAN_WITHOUT := fault study
check-tsan:
	$(Q)$(BUILD_MAKE) BUILD=$(TSAN) OPT="-O1 -g1 -fsanitize=thread" LIB_SRC="$(filter-out $(TSAN_WITHOUT:%=lib/%/%),$(LIB_SRC))" $(TSAN)/bin/phxd $(TSAN)/bin/phx $(TSAN)/tests/system/stress
	$(Q)BUILD=$(TSAN) tests/run tests/system/phxd_stress.sh

# it knows neither the attribute cleanup nor that a function fills what it is given; the sanitizers look for both
lint:
	$(Q)cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppress=legacyUninitvar --suppress=ctuuninitvar --suppress=memleak --include=tests/cppcheck.h -Ilib -Icmd lib cmd

# ---- the emulated cluster ----

LAB ?= lab
lab: deps
	$(Q)$(BUILD_MAKE) all agent-bundle images packages
	$(Q)BUILD=$(BUILD) LAB=$(LAB) tests/lab/main-job.sh
lab-share: deps
	$(Q)$(BUILD_MAKE) all $(LAB_BIN) agent-bundle images packages
	$(Q)BUILD=$(BUILD) LAB=$(LAB) tests/lab/share.sh
	$(Q)tests/bench/table merge tests/bench/results.json $(BUILD)/lab-share-bench.json "$$(date +%F)"
	$(Q)tests/bench/table write tests/bench/results.json README.md
lab-down: all
	$(Q)$(BUILD)/bin/phx lab down --dir $(BUILD)/lab --name $(LAB)

bench: deps
	$(Q)tests/deps $(DEPS_BENCH)
	$(Q)$(BUILD_MAKE) all agent-bundle images packages bench-programs
	$(Q)BUILD=$(BUILD) tests/bench/run $(BENCH)

# ---- manual ----

MAN_SRC := $(sort $(wildcard cmd/*/*.scd etc/*.scd))
# the day that stands on a page is that of the commit, not that of the build
EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile))
MAN := $(addprefix $(BUILD)/man/,$(notdir $(MAN_SRC:.scd=)))
.PHONY: man
all: man
man: $(MAN)
vpath %.scd $(sort $(dir $(MAN_SRC)))
# a line "@ PART" stands for what comes from a table: cmd/phx/manual.c
$(BUILD)/man/%: %.scd $(BUILD)/bin/phx
	@mkdir -p $(@D)
	$(Q)awk '/^@ / { if (system("$(BUILD)/bin/phx completion manual " $$2)) exit 1; next } { print; fflush() }' $< >$@.scd
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) scdoc <$@.scd >$@

-include etc/install.mk
-include etc/debian/debian.mk

clean:
	rm -rf $(BUILD)

-include $(DEPS_FILES)
