# The fault simulation: 200 seeds (make check: 100 of them, by turns), and planted bugs that it, or a unit program, must find (tests/planted/README.md).

SIM_BIN := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/sim/*.c))
DEPS_FILES += $(SIM_BIN:%=%.d)

.PHONY: check-sim check-planted check-planted-turn check-planted-long
check-sim: $(SIM_BIN)
	$(Q)tests/run $(SIM_BIN)
# the finders of the patches, as they are
PLANTED_BIN = $(sort $(shell sed -ns '1s,^unit \([^:]*\):.*,$(BUILD)/tests/unit/\1,p; 1s,^fault .*,$(BUILD)/tests/sim/faults,p' $(strip $(or $(PLANTED),$(wildcard tests/planted/*.patch)))))
check-planted:
	$(Q)$(BUILD_MAKE) -s $(BUILD)/libphx.a $(PROGRAMS:%=$(BUILD)/bin/%) $(SYSTEM_BIN) $(PLANTED_BIN) $(PLANTED_BIN:%=%.o)
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=6000 CC="$(CC)" FLAGS="$(filter-out -DPHX_VERSION=%,$(CPPFLAGS)) -DPHX_VERSION=\"planted\" -std=gnu17 $(filter-out -g,$(OPT)) -D_GNU_SOURCE -Wl,--gc-sections -Wl,--as-needed" TEST_FLAGS="$(TEST_OPT)" TEST_LD="$(TEST_LD)" LIBS="$(LIBS)" \
		tests/run tests/planted/run
# what every change must pass: those of which something has changed, and those whose turn it is
check-planted-turn:
	$(Q)PLANTED_TABLE=yes PLANTED="$$(tests/planted/turn | paste -sd ' ')" $(MAKE) check-planted
# those whose finders take too long for every change
check-planted-long:
	$(Q)PLANTED="$$(grep -l '^when: all$$' tests/planted/*.patch | paste -sd ' ')" $(MAKE) check-planted
