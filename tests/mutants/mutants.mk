# Single faults planted into the source, which the tests must find (tests/mutants/README.md). MUTANTS=core/ runs some.
.PHONY: check-mutants
check-mutants: deps
	$(Q)BUILD=$(BUILD) PHX_TEST_TIMEOUT=100000 tests/mutants/run $(MUTANTS)

# what its system tests run
.PHONY: system-programs
system-programs: all $(SYSTEM_BIN) agent-bundle packages
