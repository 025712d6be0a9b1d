# Sources of the role packages: make packages -> $(BUILD)/packages/src/NAME/{package.conf,files/},
# ready for `phx package build`. A folder with a recipe `build` gets its files from it (given the
# directory to fill); the others bring files/ along.
PACKAGE_SOURCES := $(patsubst roles/packages/%/package.conf,%,$(wildcard roles/packages/*/package.conf))

.PHONY: packages
packages: $(PACKAGE_SOURCES:%=$(BUILD)/packages/src/%/.done)

define package_source
$(BUILD)/packages/src/$(1)/.done: $(shell find roles/packages/$(1) -type f) roles/packages/fetch-debs
	@echo "  PKG   $(1)"
	$$(Q)rm -rf $$(@D) && mkdir -p $$(@D)/files
	$$(Q)cp roles/packages/$(1)/package.conf $$(@D)/
	$$(Q)if [ -x roles/packages/$(1)/build ]; then roles/packages/$(1)/build $$(@D)/files; \
		else cp -a roles/packages/$(1)/files/. $$(@D)/files/; fi
	$$(Q)touch $$@
endef
$(foreach p,$(PACKAGE_SOURCES),$(eval $(call package_source,$(p))))
