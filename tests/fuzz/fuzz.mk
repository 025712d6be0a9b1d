# Fuzzing with clang's libFuzzer. A target is tests/fuzz/NAME.c with LLVMFuzzerTestOneInput(); seeds, where it has any, are made
# by tests/fuzz/NAME.seeds DIR. They are linked to a library of
# their own, made by clang with the sanitizers.
#   make fuzz FUZZ=package FUZZ_SECONDS=60   one of them, for so long; what it found worth keeping stays in the build folder
#   make check-fuzz                          every target: all of its seeds, and some seconds of fuzzing (a part of make check)
FUZZ ?= package
FUZZ_SECONDS ?= 60
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))

.PHONY: fuzz check-fuzz fuzz-programs
fuzz-programs:
	$(Q)$(MAKE) BUILD=$(FUZZ_BUILD) CC=clang WERROR= OPT="-O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer" \
		$(FUZZ_TARGETS:%=$(FUZZ_BUILD)/tests/fuzz/%)
fuzz: fuzz-programs
	$(Q)BUILD=$(FUZZ_BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $(FUZZ)
check-fuzz: fuzz-programs
	$(Q)BUILD=$(FUZZ_BUILD) FUZZ_SECONDS=10 tests/run tests/fuzz/run

# in that build alone
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(BUILD)/libphx.a
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -Wmissing-prototypes,$(CFLAGS)) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(BUILD)/libphx.a $(LIBS)
