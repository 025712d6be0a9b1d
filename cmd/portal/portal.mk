# The portal's pages. What they are made with, and what their tests run, comes by npm as package-lock.json has it; `make` alone needs none of it.
NPM_DIR := $(BUILD)/npm
PORTAL_SRC := $(wildcard cmd/portal/*.* cmd/portal/src/*.js cmd/portal/style/*.css)

.PHONY: portal npm tutorial
portal: $(BUILD)/portal/index.html
npm: $(NPM_DIR)/done

# phoenix-tutorial(7) with pictures, which its test makes
tutorial:
	$(Q)$(BUILD_MAKE) all portal
	$(Q)BUILD=$(BUILD) PHX=$(BUILD)/bin/phx tests/run tests/system/portal_tutorial.sh
	@echo "  PAGE  $(BUILD)/portal/pictures/tutorial.md"

# no script of a package is run
$(NPM_DIR)/done: cmd/portal/package.json cmd/portal/package-lock.json
	@mkdir -p $(@D)
	@echo "  NPM   $(NPM_DIR)"
	$(Q)cp $^ $(NPM_DIR)
	$(Q)cd $(NPM_DIR) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(Q)touch $@

$(BUILD)/portal/index.html: $(PORTAL_SRC) $(NPM_DIR)/done
	$(Q)node cmd/portal/build.mjs $(BUILD)/portal $(NPM_DIR)/node_modules
