# The agent as nodes get it: program, the shared libraries it needs (but not
# those of glibc, which every system has), its unit. Its id is that of all its other files: the
# shell makes bundle.id before find looks, or after.

AGENT_BUNDLE := $(BUILD)/agent-bundle
AGENT_GLIBC := /(libc|libm|libpthread|libdl|librt|libresolv|ld-linux[^/]*)\.so

.PHONY: agent-bundle
agent-bundle: $(AGENT_BUNDLE)/bin/phx-agent

$(AGENT_BUNDLE)/bin/phx-agent: $(BUILD)/bin/phx-agent etc/systemd/phx-agent.service cmd/phx-agent/bundle.mk
	@echo "  BUNDLE $(AGENT_BUNDLE)"
	$(Q)rm -rf $(AGENT_BUNDLE) && mkdir -p $(AGENT_BUNDLE)/lib $(AGENT_BUNDLE)/share $(@D)
	$(Q)for lib in $$(ldd $< | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | grep -vE '$(AGENT_GLIBC)'); do \
		strip -o $(AGENT_BUNDLE)/lib/$${lib##*/} $$lib || exit 1; done
	$(Q)cp etc/systemd/phx-agent.service $(AGENT_BUNDLE)/share/
	$(Q)strip -o $@ $<
	$(Q)cd $(AGENT_BUNDLE) && find . -type f ! -path ./share/bundle.id | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1 >share/bundle.id
