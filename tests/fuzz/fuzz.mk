# Fuzzing with clang's libFuzzer: make fuzz FUZZ=package FUZZ_SECONDS=60
# A target is tests/fuzz/NAME.c with LLVMFuzzerTestOneInput(); seeds, where it has any, are
# made by tests/fuzz/NAME.seeds DIR.
# libconfig 1.5 leaks what it read of an unterminated string: leaks are not looked for
FUZZ ?= package
FUZZ_SECONDS ?= 60
FUZZ_ROOMS ?= base pki repo
FUZZ_FLAGS := -std=gnu17 -D_GNU_SOURCE -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
# a target that needs few files names them
FUZZ_FILES_swf := lib/trace/swf.c lib/trace/series.c lib/trace/workload.c lib/base/util.c lib/base/err.c
FUZZ_FILES_dax := lib/trace/dax.c lib/trace/workload.c lib/base/util.c lib/base/err.c
FUZZ_FILES_agreement := $(wildcard lib/base/*.c lib/config/agreement*.c lib/config/conf.c lib/config/confscan.c lib/node/setup.c lib/batch/*.c lib/policy/*.c lib/re/agreement.c)
FUZZ_FILES_scenario := $(wildcard lib/base/*.c lib/config/conf.c lib/config/confscan.c lib/sim/*.c lib/trace/*.c lib/node/*.c lib/batch/*.c lib/policy/*.c lib/re/*.c lib/ledger/*.c lib/web/*.c lib/core/*.c lib/store/*.c)
FUZZ_SRC = $(or $(FUZZ_FILES_$(FUZZ)),$(wildcard $(FUZZ_ROOMS:%=lib/%/*.c)))

$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_SRC)
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	$(Q)clang $(CPPFLAGS) $(FUZZ_FLAGS) $(LDFLAGS) -o $@ $< $(FUZZ_SRC) $(LIBS)

.PHONY: fuzz
fuzz: $(BUILD)/fuzz/$(FUZZ)
	$(Q)mkdir -p $(BUILD)/fuzz/$(FUZZ).corpus
	$(Q)if [ -x tests/fuzz/$(FUZZ).seeds ]; then tests/fuzz/$(FUZZ).seeds $(BUILD)/fuzz/$(FUZZ).corpus; fi
	$(Q)cd $(BUILD)/fuzz && ASAN_OPTIONS=detect_leaks=0 ./$(FUZZ) -max_total_time=$(FUZZ_SECONDS) -detect_leaks=0 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ).corpus
