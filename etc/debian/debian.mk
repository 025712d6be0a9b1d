# Debian packages: make deb -> $(BUILD)/deb/*.deb. The top of the tree has no debian/: etc/debian/build puts the tracked files and
# what stands here into a source tree below $(BUILD)/deb, and builds there without a network.
#   DEB_VERSION     of the packages; that of the programs, which is VERSION
#   DEB_MAINTAINER  who answers for them: NAME <ADDRESS>
#   DEB_SEED        a BUILD of this tree, of which objects are taken that need not be made again
DEB_VERSION ?= $(VERSION)
DEB_MAINTAINER ?= Phoenix maintainers <phoenix@phoenix.example>

# the lists of the Makefile are the only ones: etc/debian/control has their names
DEB_ENV = CC="$(CC)" PHX_VERSION="$(VERSION)" DEB_VERSION="$(DEB_VERSION)" DEB_MAINTAINER="$(DEB_MAINTAINER)" NPM_DIR="$(NPM_DIR)" DEB_SEED="$(DEB_SEED)" \
	DEPS_BUILD="$(DEPS_BUILD) nodejs" DEPS_RUN="$(DEPS_RUN)" DEPS_IMAGE="$(DEPS_IMAGE)" DEPS_LAB="$(DEPS_LAB)"

.PHONY: deb deb-deps
deb-deps:
	$(Q)tests/deps $(DEPS_BUILD) $(DEPS_RUN) $(DEPS_DEB)
deb: deb-deps npm
	$(Q)$(DEB_ENV) etc/debian/build $(BUILD)/deb

# what tests/system/deb.sh installs them in
.PHONY: deb-root
deb-root: deb
	$(Q)tests/debian-root $(BUILD)/deb $(BUILD)/deb/root.tar
