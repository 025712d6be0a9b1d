#!/bin/bash
# alone: packages of the archive are fetched, and a system is made of them.
# by turns: 50 s: it takes long.
# The Debian packages: lintian, one list of files with `make install`, and what dpkg does with them in a Debian 12 without a network:
# installed, changed by a person, upgraded from an older version, removed, purged. systemctl is a fake there that writes down what it is
# told, for no systemd runs. As root; `make deb-root` makes packages and system.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip deb: it wants root"; exit 0; }
if [ "${1:-}" != inside ]; then
	exec unshare --mount "$0" inside
fi
BUILD=$(realpath "${BUILD:-build}")
. tests/system/deb.bash
[ -s "$DEBS/root.tar" ] || { echo "not ok deb: there is no $DEBS/root.tar: make deb-root"; exit 1; }
WORK=$(mktemp -d /tmp/phx-deb.XXXXXX)
ROOT=$WORK/root
FAILED=0
trap 'umount "$ROOT/proc" 2>/dev/null; rm -rf --one-file-system "$WORK"' EXIT
check() {
	if "${@:2}" >"$WORK/said" 2>&1; then
		echo "ok $1"
	else
		echo "not ok $1"
		tail -n 25 "$WORK/said" | sed 's/^/  /'
		FAILED=1
	fi
}
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$ROOT" "$@"; }
# has FILE TEXT: else what it has
has() { grep -qF -- "$2" "$1" || { echo "no \"$2\" in $1:"; cat "$1"; return 1; }; }
has_not() { ! grep -F -- "$2" "$1"; }
mode() { stat -c '%a %U:%G' "$ROOT$1"; }

# ---- what is in them ----

no_tag_of_lintian() { lintian --no-cfg --allow-root --fail-on error,warning "$DEBS"/phoenix-*.deb 2>&1 || { cat; return 1; } </dev/null; }
a_mistake_is_told() {
	dpkg-deb -R "$(deb cli)" "$WORK/wrong" && install -D /bin/true "$WORK/wrong/usr/local/bin/phx" &&
		dpkg-deb -Znone --root-owner-group -b "$WORK/wrong" "$WORK/wrong.deb" >/dev/null && ! lintian --no-cfg --allow-root --fail-on error "$WORK/wrong.deb" >/dev/null
}
# a list of the Makefile, lines that go on included
listed() { sed -n "/^$1 := /{:a;/\\\\\$/{N;ba};s/\\\\\\n//g;s/^$1 := //;s/ #.*//;p}" Makefile | tr -s ' \t' '\n\n' | grep .; }
# lacking FIELD PACKAGE LIST: what of the list the package does not ask for
lacking() { comm -13 <(dpkg-deb -f "$(deb "$2")" "$1" | tr ',' '\n' | sed 's/(.*//; s/ //g' | sort -u) <(listed "$3" | sort -u); }
depends_are_those_of_the_makefile() {
	[ "$(listed DEPS_RUN | wc -l)" -ge 10 ] && [ "$(listed DEPS_LAB | wc -l)" -ge 8 ] &&
		[ -z "$(lacking Depends head DEPS_RUN)$(lacking Recommends head DEPS_IMAGE)$(lacking Depends lab DEPS_LAB)" ]
}
# paths as `make install` has them: compressed pages, and what belongs to the package alone, aside
of_packages() {
	local p
	for p in head agent cli lab; do dpkg-deb --fsys-tarfile "$(deb $p)" | tar -t | sed 's,^\.,,'; done |
		grep -v -e '/$' -e ^/usr/share/doc/ -e ^/usr/share/lintian/ |
		sed 's,^/lib/,/usr/lib/,; s,zsh/vendor-completions,zsh/site-functions,; /\/man\//s/\.gz$//' | sort
}
make_install() {
	make BUILD="${BUILD#"$PWD"/}" CC="${CC:-$(sed 's/ -I.*//' "$BUILD/flags")}" install DESTDIR="$WORK/installed" "$@" 2>&1
}
one_list_of_files() {
	make_install && (cd "$WORK/installed" && find . ! -type d -printf '/%P\n') | sort >"$WORK/by-make" && of_packages >"$WORK/by-dpkg" && diff "$WORK/by-make" "$WORK/by-dpkg" &&
		[ "$(wc -l <"$WORK/by-make")" -ge 100 ] && [ "$(of_packages | uniq -d | wc -l)" = 0 ]
}
another_prefix_is_told() {
	rm -rf "$WORK/installed"
	make_install PREFIX=/opt/phoenix-test && has "$WORK/installed/etc/phoenix/conf.d/00-prefix.conf" 'pxe_dir = "/opt/phoenix-test/share/phoenix/pxe"' &&
		has "$WORK/installed/opt/phoenix-test/lib/systemd/system/phxd.service" ExecStart=/opt/phoenix-test/sbin/phxd
}
configuration_of_a_person_stays() {
	echo mine >"$WORK/installed/etc/phoenix/phoenix.conf"
	make_install PREFIX=/opt/phoenix-test && has "$WORK/installed/etc/phoenix/phoenix.conf" mine
}

# ---- a system ----

begin() {
	mkdir "$ROOT" && tar -xf "$DEBS/root.tar" -C "$ROOT" && mount -t proc proc "$ROOT/proc" && mkdir -p "$ROOT/debs" "$ROOT/run/systemd/system" || return 1
	mv "$ROOT/bin/systemctl" "$ROOT/bin/systemctl.real"
	cat >"$ROOT/bin/systemctl" <<-'END'
		#!/bin/sh
		# a fake: no systemd runs here
		echo "$*" >>/systemctl.log
	END
	chmod 755 "$ROOT/bin/systemctl"
	: >"$ROOT/systemctl.log"
}
make_older() {
	mkdir -p "$ROOT/debs" && older_packages "$ROOT/debs/old" && cp "$(deb head)" "$(deb agent)" "$(deb cli)" "$ROOT/debs/"
}
apt_install() { # DEB...
	inside apt-get -y -o Acquire::http::Proxy=http://127.0.0.1:9 --no-install-recommends -o Dpkg::Options::=--force-confold install "$@" >"$WORK/apt" 2>&1 || { cat "$WORK/apt"; return 1; }
	cat "$WORK/apt"
}
installs() {
	# what /debs/old holds, as the shell inside sees it
	apt_install /debs/old/phoenix-head_0.0.9_amd64.deb /debs/old/phoenix-agent_0.0.9_amd64.deb /debs/old/phoenix-cli_0.0.9_amd64.deb &&
		[ "$(inside dpkg-query -W -f '${db:Status-Abbrev}' phoenix-head)" = "ii " ]
}
users_are_made() {
	local user
	for user in $(awk '$1 == "u" { print $2 }' etc/phoenix.sysusers); do
		inside getent passwd "$user" | grep -q ':/usr/sbin/nologin$' || { echo "no $user"; return 1; }
	done
}
modes_are_right() {
	mode /etc/phoenix/bmc && mode /var/lib/phoenix && mode /usr/sbin/phxd &&
		[ "$(mode /etc/phoenix/bmc)" = "711 root:root" ] && [ "$(mode /etc/phoenix)" = "755 root:root" ] &&
		[ "$(mode /var/lib/phoenix)" = "755 root:root" ] && [ "$(mode /usr/sbin/phxd)" = "755 root:root" ] || return 1
	# nothing there is for others to write, or runs as somebody else
	[ -z "$(inside sh -c 'dpkg -L phoenix-head phoenix-cli phoenix-agent | sort -u | xargs -d "\n" -I{} find {} -maxdepth 0 ! -type l -perm /6022')" ]
}
# it would answer DHCP: neither started nor enabled, and that is said
nothing_is_started() {
	cat "$ROOT/systemctl.log" "$WORK/apt"
	has_not "$ROOT/systemctl.log" start && has_not "$ROOT/systemctl.log" enable && has "$WORK/apt" "systemctl enable --now phxd" &&
		[ -z "$(find "$ROOT/etc/systemd/system" -name 'phx*')" ]
}
units_are_understood() {
	inside systemd-analyze verify --man=no /lib/systemd/system/phxd.service /lib/systemd/system/phx-agent.service >"$WORK/verify" 2>&1 && [ ! -s "$WORK/verify" ] || { cat "$WORK/verify"; return 1; }
}
# of 10; the agent is root on its node, whose disks and services are its work
units_are_hardened() {
	local score
	score=$(inside systemd-analyze security --offline=true --no-pager phxd.service | sed -n 's/.*exposure level for phxd.service: \([0-9.]*\).*/\1/p')
	echo "phxd.service: $score of 10"
	[ -n "$score" ] && awk "BEGIN { exit !($score <= 3.5) }"
}
programs_run() {
	local of_phx
	of_phx=$(inside phx --version) && [ "$of_phx" != "" ] && inside phxd --version && inside /usr/lib/phoenix/agent/bin/phx-agent --version &&
		inside phx sim run /usr/share/phoenix/sim/dedicated.conf >/dev/null || return 1
	# libraries that phx loads when it first calls them
	inside phx re check /usr/share/phoenix/re/night.xml || return 1
	inside phx node list >"$WORK/list" 2>&1
	has "$WORK/list" phxd.sock && has_not "$WORK/list" libcurl
}
# the interface of the example is none of this machine's: said, and nothing else
the_head_says_what_is_missing() {
	! inside phx config check >"$WORK/checked" 2>&1 && has "$WORK/checked" 'phoenix.conf:7: interface = "eth1"' || return 1
	inside phxd --check >"$WORK/checked" 2>&1
	[ $? = 78 ] && has "$WORK/checked" eth1 && has_not "$WORK/checked" /usr/share/phoenix && has_not "$WORK/checked" /usr/sbin/
}

# ---- a person, an upgrade, a removal ----

two_lines_are_edited() {
	sed -i 's/^interface = .*/interface = "enp1s0";/; s/^address = .*/address = "10.1.0.1";/' "$ROOT/etc/phoenix/phoenix.conf"
	rm "$ROOT/etc/phoenix/roles/batch-compute.conf"
	echo secret >"$ROOT/etc/phoenix/bmc/rack1"
	mkdir -p "$ROOT/etc/phoenix/site" "$ROOT/var/lib/phoenix/keys" && echo 'x' >"$ROOT/etc/phoenix/site/users.conf"
	echo key >"$ROOT/var/lib/phoenix/keys/n1"
	echo journal >"$ROOT/var/lib/phoenix/journal.db"
	: >"$ROOT/systemctl.log"
}
upgrades() {
	apt_install $(cd "$ROOT" && ls debs/*.deb | sed 's,^,/,') && [ "$(inside dpkg-query -W -f '${Version}' phoenix-head)" = "$(deb_version)" ]
}
what_was_edited_stays() {
	has "$ROOT/etc/phoenix/phoenix.conf" 'interface = "enp1s0";' && has "$ROOT/etc/phoenix/phoenix.conf" '# as it was' && [ -e "$ROOT/etc/phoenix/phoenix.conf.dpkg-dist" ] &&
		[ ! -e "$ROOT/etc/phoenix/roles/batch-compute.conf" ] && has "$ROOT/etc/phoenix/bmc/rack1" secret && [ "$(mode /etc/phoenix/bmc)" = "711 root:root" ]
}
what_was_not_is_new() { has_not "$ROOT/etc/phoenix/roles/web-server.conf" '# as it was' && cmp roles/web-server.conf "$ROOT/etc/phoenix/roles/web-server.conf"; }
# the journal makes a start anew safe; who did not enable it gets none
a_head_that_runs_starts_anew() {
	cat "$ROOT/systemctl.log"
	grep -qE '\btry-restart phxd.service' "$ROOT/systemctl.log" && ! grep -qE '(^| )(re)?start ' "$ROOT/systemctl.log" && has_not "$ROOT/systemctl.log" 'stop ' && has_not "$ROOT/systemctl.log" enable
}
state_is_there() { has "$ROOT/var/lib/phoenix/journal.db" journal && has "$ROOT/var/lib/phoenix/keys/n1" key; }
removed() { inside dpkg --remove "$@"; }
removal_leaves_configuration_and_state() {
	: >"$ROOT/systemctl.log"
	removed phoenix-head && [ ! -e "$ROOT/usr/sbin/phxd" ] && [ ! -e "$ROOT/lib/systemd/system/phxd.service" ] && grep -q 'stop phxd.service' "$ROOT/systemctl.log" &&
		has "$ROOT/etc/phoenix/phoenix.conf" enp1s0 && has "$ROOT/etc/phoenix/bmc/rack1" secret && has "$ROOT/etc/phoenix/site/users.conf" x && state_is_there
}
purge_leaves_state() {
	echo 'server = "x";' >"$ROOT/etc/phoenix/agent.conf"
	inside dpkg --purge phoenix-head >"$WORK/purged" 2>&1 && has "$WORK/purged" /var/lib/phoenix && state_is_there || return 1
	# what of the head's configuration is left
	[ -z "$(find "$ROOT/etc/phoenix" -mindepth 1 ! -name agent.conf)" ] && [ -e "$ROOT/etc/phoenix/agent.conf" ] && [ ! -e "$ROOT/etc/pam.d/phoenix" ]
}
purge_of_the_agent_takes_the_rest() { inside dpkg --purge phoenix-agent && [ ! -e "$ROOT/etc/phoenix" ] && state_is_there; }
# nothing was ever kept there: nothing is left
an_unused_head_goes_whole() {
	rm -rf "$ROOT/var/lib/phoenix"
	apt_install "/debs/$(basename "$(deb head)")" && [ -d "$ROOT/var/lib/phoenix" ] && inside dpkg --purge phoenix-head phoenix-cli && [ ! -e "$ROOT/var/lib/phoenix" ] && [ ! -e "$ROOT/etc/phoenix" ] &&
		[ -z "$(find "$ROOT/usr" "$ROOT/etc" "$ROOT/lib" -xdev -ipath '*phoenix*' ! -name 'phoenix-*.list' | grep -v /dpkg/)" ]
}

check "lintian has no error and no warning" no_tag_of_lintian
check "and would tell a file that stands where none may" a_mistake_is_told
check "what the packages depend on is what the Makefile lists" depends_are_those_of_the_makefile
check "make install and the packages have the same files, each once" one_list_of_files
check "make install tells the head of another PREFIX" another_prefix_is_told
check "make install leaves a configuration" configuration_of_a_person_stays
check "a system without a network" begin
check "an older version is made of them" make_older
check "apt installs it" installs
check "the users that phxd becomes are there" users_are_made
check "modes and owners are right" modes_are_right
check "nothing is started, nor will be" nothing_is_started
check "systemd understands the units as they are installed" units_are_understood
check "phxd.service is hardened" units_are_hardened
check "programs run, with what they load late" programs_run
check "phxd --check names what the example lacks" the_head_says_what_is_missing
check "a person edits" two_lines_are_edited
check "apt upgrades" upgrades
check "what was edited stays, what was removed does not come back" what_was_edited_stays
check "what was not edited is the new one" what_was_not_is_new
check "a head that runs starts anew, and no other" a_head_that_runs_starts_anew
check "the state is as it was" state_is_there
check "removal leaves configuration and state" removal_leaves_configuration_and_state
check "purge leaves the state, and the agent's configuration" purge_leaves_state
check "purge of the agent takes what it was told" purge_of_the_agent_takes_the_rest
check "of a head that never ran nothing is left" an_unused_head_goes_whole
exit $FAILED
