# What is installed, and where: one list for `make install`, which installs all four parts, and for the Debian packages
# phoenix-PART, whose etc/debian/rules calls install-PART. A file stands in one part.
PREFIX ?= /usr
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
PARTS := cli head agent lab

TO = $(DESTDIR)$(PREFIX)
SHARE = $(TO)/share/phoenix
ETC = $(DESTDIR)$(SYSCONFDIR)

# pages of formats belong to who reads them; all that is named nowhere else is of the command line
MAN_head := phxd.8 phoenix.conf.5 phoenix-role.5 phoenix-site.5
MAN_agent := phx-agent.8
MAN_lab := phoenix-lab.5
MAN_cli := $(filter-out $(MAN_head) $(MAN_agent) $(MAN_lab),$(notdir $(MAN)))

# the recipes of images without what phx itself needs of them, and the sources of role packages
IMAGE_RECIPES := $(sort $(filter-out $(IMAGE_TOOLS) images.mk,$(patsubst images/%,%,$(shell find images -type f))))
PACKAGE_RECIPES := $(sort $(filter-out packages.mk,$(patsubst roles/packages/%,%,$(shell find roles/packages -type f))))

# $(call files,BELOW,DIR,FILES): with their folders; who may run them may do so where they are installed
files = for f in $(3); do install -D -m $$([ -x $(1)/$$f ] && echo 755 || echo 644) $(1)/$$f $(2)/$$f || exit 1; done
# a file that people change is left as it is
config = for f in $(2); do test -e $(1)/$${f\#\#*/} || install -D -m 644 -t $(1) $$f || exit 1; done
pages = for p in $(1); do install -D -m 644 -t $(TO)/share/man/man$${p\#\#*.} $(BUILD)/man/$$p || exit 1; done

.PHONY: install $(PARTS:%=install-%)
install: $(PARTS:%=install-%)

install-cli: $(BUILD)/bin/phx $(BUILD)/bin/phx-sim man
	install -D -m 755 -t $(TO)/bin $(BUILD)/bin/phx
	install -D -m 755 -t $(TO)/libexec/phoenix $(BUILD)/bin/phx-sim
	$(call files,images,$(SHARE)/images,$(IMAGE_TOOLS))
	install -D -m 644 -t $(SHARE)/sim etc/sim/*.conf
	install -D -m 644 -t $(SHARE)/sim/samples etc/sim/samples/*
	install -D -m 644 -t $(SHARE)/clustershell etc/clustershell/phoenix.conf
	install -D -m 755 -t $(SHARE)/ansible etc/ansible/phoenix
	install -D -m 644 -t $(SHARE)/prometheus etc/prometheus/*.yml etc/grafana/phoenix.json
	install -D -m 644 -t $(SHARE)/re etc/re/*.conf etc/re/*.xml
	install -d -m 755 $(TO)/share/bash-completion/completions $(DESTDIR)$(ZSHDIR)
	$(BUILD)/bin/phx completion bash >$(TO)/share/bash-completion/completions/phx
	$(BUILD)/bin/phx completion zsh >$(DESTDIR)$(ZSHDIR)/_phx
	chmod 644 $(TO)/share/bash-completion/completions/phx $(DESTDIR)$(ZSHDIR)/_phx
	$(call pages,$(MAN_cli))

# phoenix.conf(5) has the places below /usr as defaults: of another PREFIX a file of conf.d tells
install-head: $(BUILD)/bin/phxd man portal
	install -D -m 755 -t $(TO)/sbin $(BUILD)/bin/phxd
	install -D -m 644 -t $(SHARE)/pxe pxe/*.ipxe
	install -D -m 644 -t $(SHARE)/portal $(BUILD)/portal/*.*
	$(call files,images,$(SHARE)/images,$(IMAGE_RECIPES))
	$(call files,roles/packages,$(SHARE)/packages,$(PACKAGE_RECIPES))
	install -d -m 755 $(DESTDIR)$(UNITDIR)
	sed 's,/usr/sbin/phxd,$(PREFIX)/sbin/phxd,' etc/systemd/phxd.service >$(DESTDIR)$(UNITDIR)/phxd.service
	chmod 644 $(DESTDIR)$(UNITDIR)/phxd.service
	install -d -m 755 $(TO)/lib/systemd/catalog
	awk -f etc/catalog.awk lib/state/event.def lib/outlet/news.def >$(TO)/lib/systemd/catalog/phoenix.catalog
	chmod 644 $(TO)/lib/systemd/catalog/phoenix.catalog
	install -D -m 644 etc/phoenix.sysusers $(TO)/lib/sysusers.d/phoenix.conf
	$(call config,$(ETC)/pam.d,etc/pam.d/phoenix)
	$(call config,$(ETC)/phoenix,etc/phoenix.conf)
	$(call config,$(ETC)/phoenix/conf.d,etc/conf.d/README)
	install -d -m 755 $(ETC)/phoenix/on_event.d
	install -D -m 755 -t $(SHARE)/on_event etc/on_event/mail
	install -D -m 644 -t $(SHARE)/on_event etc/on_event/mail.conf
	$(call config,$(ETC)/phoenix/roles,roles/*.conf)
	install -d -m 755 $(ETC)/phoenix/slurm
	install -d -m 711 $(ETC)/phoenix/bmc
	[ $(PREFIX) = /usr ] || printf 'pxe_dir = "%s";\nportal_dir = "%s";\n' \
		$(PREFIX)/share/phoenix/pxe $(PREFIX)/share/phoenix/portal >$(ETC)/phoenix/conf.d/00-prefix.conf
	$(call pages,$(MAN_head))

# as nodes get it, and as this machine itself may run it
install-agent: agent-bundle man
	$(call files,$(AGENT_BUNDLE),$(TO)/lib/phoenix/agent,$$(cd $(AGENT_BUNDLE) && find . -type f | LC_ALL=C sort))
	install -d -m 755 $(DESTDIR)$(UNITDIR)
	sed 's,/opt/phoenix/agent/,$(PREFIX)/lib/phoenix/agent/,; s,^# Written into.*,# The agent of a machine that Phoenix did not deploy. It starts when it was told of its head.,; /^After=/i ConditionPathExists=/etc/phoenix/agent.conf' \
		etc/systemd/phx-agent.service >$(DESTDIR)$(UNITDIR)/phx-agent.service
	chmod 644 $(DESTDIR)$(UNITDIR)/phx-agent.service
	$(call pages,$(MAN_agent))

# a folder in which `phx lab up` works as in the sources
install-lab: $(BUILD)/bin/phx-lab man
	install -D -m 755 -t $(TO)/libexec/phoenix $(BUILD)/bin/phx-lab
	install -D -m 644 -t $(SHARE)/lab/etc etc/lab.conf etc/lab-head.conf
	install -D -m 644 -t $(SHARE)/lab/pxe pxe/*.ipxe
	install -D -m 644 -t $(SHARE)/lab/roles roles/*.conf
	$(call pages,$(MAN_lab))
