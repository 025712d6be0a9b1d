# Programs of the measurements: what agents do, without the node. Used by tests/bench/run.
BENCH_BIN := $(addprefix $(BUILD)/tests/bench/,swarm share batch reclaim fill journal site starts)
BENCH_OBJ := $(BUILD)/obj/tests/bench/machine.o

$(BUILD)/obj/tests/bench/%.o: CPPFLAGS += -Itests

.PHONY: bench-programs
bench-programs: $(BENCH_BIN) $(BUILD)/tests/bench/yardstick $(BUILD)/tests/system/hoard

# by itself: it is what a person would compile in a minute
$(BUILD)/tests/bench/yardstick: tests/bench/yardstick.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -Wall -Wextra -o $@ $<

$(BENCH_BIN): $(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BENCH_OBJ) $(BUILD)/libphx.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
DEPS_FILES += $(BENCH_BIN:$(BUILD)/%=$(BUILD)/obj/%.d) $(BENCH_OBJ:.o=.d)
