# Fuzzing with clang's libFuzzer: tests/fuzz/README.md. Targets are linked to a library of their own, made once by clang with
# the sanitizers and with counters of what was reached.
#   make check-fuzz                          half of the targets, by turns (turn), and those of which something has changed: all of
#                                            its corpus, whose reach is measured, and some seconds of fuzzing (a part of make check)
#   make fuzz FUZZ=package FUZZ_SECONDS=600  one of them, or all ("FUZZ="), for so long; what it found worth keeping stays in
#                                            the build folder
#   make fuzz-coverage                       the report of what the corpora reach; nothing else
FUZZ ?=
FUZZ_SECONDS ?= 60
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ_TARGETS ?= $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_FLAGS := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
	-fprofile-instr-generate -fcoverage-mapping
# rooms without a parser, of which no target needs anything
FUZZ_WITHOUT := fault journal iaas ssh study
FUZZ_MAKE = $(BUILD_MAKE) BUILD=$(FUZZ_BUILD) CC=clang WERROR= OPT="-O1 -g $(FUZZ_FLAGS)" \
	LIB_SRC="$(filter-out $(FUZZ_WITHOUT:%=lib/%/%),$(LIB_SRC))"

.PHONY: fuzz fuzz-coverage check-fuzz fuzz-programs
fuzz-programs:
	$(Q)$(FUZZ_MAKE) $(FUZZ_TARGETS:%=$(FUZZ_BUILD)/tests/fuzz/%)
fuzz: fuzz-programs
	$(Q)BUILD=$(FUZZ_BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $(FUZZ)
fuzz-coverage: fuzz-programs
	$(Q)BUILD=$(FUZZ_BUILD) FUZZ_SECONDS=0 tests/fuzz/run $(FUZZ)
# by the random numbers of the commit: one that is tested again tries the same inputs, the next one others
check-fuzz:
	$(Q)turn=$$(tests/fuzz/turn | paste -sd ' ') && $(MAKE) fuzz-programs FUZZ_TARGETS="$$turn" && \
		BUILD=$(FUZZ_BUILD) FUZZ="$$turn" FUZZ_SECONDS=3 FUZZ_SEED=1$$(tests/turn 1000 | tr -d a-z) tests/run tests/fuzz/run

# parts of a program that cannot be included together
$(BUILD)/tests/fuzz/import: $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard cmd/phx/import*.c) cmd/phx/node_csv.c cmd/phx/node_words.c cmd/cli/clean.c cmd/cli/fail.c)

# in that build alone
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(BUILD)/libphx.a
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -MMD -MP -MF $@.d -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(filter %.o,$^) $(BUILD)/libphx.a $(LIBS)
DEPS_FILES += $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/%.d)
