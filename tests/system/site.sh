#!/bin/bash
# by turns: 80 s: it takes long.
# Settings of the site: all mistakes are told before anything is touched; users, keys, rules of sudo and files come to the nodes that
# they are for, change while these serve, and go; who is removed loses account, key and processes; secrets are nowhere else.
# Agents live below roots of their own.
if [ -z "${PHX_SITE_APART:-}" ]; then
	[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "skip site: no mounts of our own here"; exit 0; }
	PHX_SITE_APART=1 exec unshare -m --propagation private bash "$0" "$@"
fi
# each run has a /tmp of its own, as on a real node: nodes live elsewhere
WORK_IN=/srv
. "$(dirname "$0")/agents.bash"

ADA=48401 BOB=48402
for u in $ADA $BOB; do
	getent passwd $u >/dev/null && { echo "skip site: there is a user $u"; exit 0; }
done
SITE=$WORK/etc/site
# what nodes call systemctl: it is not this machine's
mkdir -p "$WORK/fake" "$SITE"
printf '#!/bin/sh\n# a fake: notes how it is called\necho "$@" >>%s/systemctl.log\n' "$WORK" >"$WORK/fake/systemctl" && chmod 755 "$WORK/fake/systemctl"
PATH=$WORK/fake:$PATH
: >"$WORK/systemctl.log"
for who in ada bob root; do ssh-keygen -q -t ed25519 -N '' -C "$who@desk" -f "$WORK/$who.key" || exit 1; done

on() { grep -q "^$2:" "$WORK/$1/etc/passwd"; }
not_on() { ! on "$@"; }
site_is() { [ "$(phx node show "$1" -o json | jq -r ".. | .site? | strings")" = "$2" ]; }
settled() { until_true 20 site_is n1 'up to date' && until_true 20 site_is n2 'up to date'; }
# of_node NODE: what the head gives to the owner of that node's certificate
of_node() {
	curl -s -m 10 --cacert "$WORK/n1/etc/phoenix/ca.pem" --cert "$WORK/$1/var/lib/phoenix/agent.pem" --key "$WORK/$1/var/lib/phoenix/agent.key" \
		"https://127.0.0.1:$HTTPS/v1/agent/site" "${@:2}"
}

# users EXTRA-OF-BOB: ada everywhere, bob as it is said
users() {
	local bob=
	[ -z "${1:-}" ] || bob=", { name = \"bob\"; uid = $BOB; keys = [ \"$(cat "$WORK/bob.key.pub")\" ]; $1 }"
	cat >"$SITE/users.conf" <<-END
		root_keys = [ "$(cat "$WORK/root.key.pub")" ];
		groups = ( { name = "ops"; gid = 48400; } );
		users = (
			{ name = "ada"; uid = $ADA; groups = [ "ops" ]; gecos = "Ada L."; keys = [ "$(cat "$WORK/ada.key.pub")" ]; sudo = true; }
			$bob
		);
	END
}

two_nodes_serve() {
	local i
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
		services = ( { name = "tools"; exec = [ "/bin/sh", "-c", "sleep 100000" ]; } );
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
	for i in 1 2; do
		node_init n$i $i
		printf 'root:x:0:0:root:/root:/bin/sh\nbuild:x:1000:1000::/:/bin/sh\n' >"$WORK/n$i/etc/passwd"
		printf 'root:x:0:\nbuild:x:1000:\n' >"$WORK/n$i/etc/group"
		printf 'root:*:1::::::\n' >"$WORK/n$i/etc/shadow"
		mkdir -p "$WORK/n$i/home" "$WORK/n$i/tmp" "$WORK/n$i/etc/ssh"
		cp "$WORK/ada.key.pub" "$WORK/n$i/etc/ssh/ssh_host_ed25519_key.pub" # any key will do
		printf 'job_private = "yes"; network_silence = "6s";\n' >>"$WORK/n$i/etc/phoenix/agent.conf"
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run "$WORK"/n?/var "$WORK"/n?/var/lib
	for i in 1 2; do until_true 30 is n$i .state ready || return 1; done
	phx node assign n1 batch-compute --wait --timeout 60 >/dev/null
}

# Each with its place; without phxd, too.
all_mistakes_are_told() {
	local bad=$WORK/bad said
	mkdir -p "$bad/files/all/etc" "$bad/files/others"
	cat >"$bad/users.conf" <<-END
		users = (
			{ name = "ada"; uid = 5000; keys = [ "ssh-ed25519 AAAA" ]; },
			{ name = "bob"; uid = 5000; keys = [ "from=\"*\" $(cat "$WORK/bob.key.pub")" ]; },
			{ name = "eve"; uid = 999; group = "nobody"; },
			{ name = "ALL"; uid = 5003; sudo = true; },
			{ name = "ida"; uid = 5004; sudo_rules = [ "yes" ]; nodes = [ "n[1-" ]; },
			{ name = "joe"; uid = 61184; what = 1; }
		);
	END
	ln -s /etc/shadow "$bad/files/all/etc/link"
	mkfifo "$bad/files/all/etc/pipe"
	printf 'one\ntwo @NODE@ @UNKNOWN@\n' >"$bad/files/all/etc/motd"
	echo x >"$bad/files/all/etc/passwd"
	cat >"$bad/files.conf" <<-END
		files = ( { path = "/etc/motd"; owner = "zoe"; mode = "0644"; secret = true; }, { path = "/etc/other"; } );
	END
	cat >"$bad/networks.conf" <<-END
		networks = (
			{ name = "a"; subnet = "10.1.0.0/16"; gateway = "10.2.0.1"; vlan = 7; },
			{ name = "b"; subnet = "10.1.2.0/24"; vlan = 7; },
			{ name = "c"; subnet = "10.3.0.0/16"; mtu = 100; range = "10.3.0.9-10.3.0.1"; },
			{ name = "d"; subnet = "10.4.0.0/16"; mtu = 10000; },
			{ subnet = "10.5.0.0/16"; }
		);
	END
	said=$(phx site check "$bad" --socket /nowhere 2>&1)
	[ $? = 78 ] || { echo "$said"; return 1; }
	local want
	for want in 'users.conf:2: user ada: key 1 is of another type' 'users.conf:3: user bob has the uid 5000 of user ada' \
		'users.conf:3: user bob: key 1 begins with' 'users.conf:4: account eve: uid 999 is the system' "users.conf:4: user eve: there is no group 'nobody'" \
		'users.conf:5: user ALL: a name begins with' 'users.conf:6: user ida: the sudo rule' 'users.conf:6: user ida: nodes "n\[1-"' \
		"users.conf:7: unknown key 'what'" 'all/etc/link: is neither a file nor a folder; links' 'all/etc/pipe: is neither' 'files/others: must be all, profile, role, label or node' \
		'all/etc/motd:2: @UNKNOWN@ is no variable' "all/etc/motd: owner 'zoe'" 'all/etc/motd: /etc/motd is secret' 'all/etc/passwd: no file may be put to /etc/passwd' \
		"files.conf:1: no file below files/ has the path '/etc/other'" 'networks.conf:2: network a: gateway 10.2.0.1 is no address for a machine in 10.1.0.0/16' \
		'networks.conf:3: network b has the VLAN 7 of network a (.*networks.conf:2)' 'networks.conf:3: network b: 10.1.2.0/24 overlaps with network a' \
		'networks.conf:4: network c: mtu 100 must be' 'networks.conf:4: network c: range 10.3.0.9-10.3.0.1 ends' "networks.conf:5: mtu " \
		"networks.conf:6: .*name"; do
		grep -q "$want" <<<"$said" || { echo "not said: $want"; echo "$said"; return 1; }
	done
	[ "$(grep -c . <<<"$said")" = 24 ] || { echo "$said"; return 1; }
}

# Of profiles.conf, nodes.conf and nodes.csv, too: a member that is wrong hides no other.
# as phoenix-site(5) prints them, together
the_manuals_examples_are_right() {
	local page=$WORK/page name
	mkdir -p "$page"
	for name in networks nodes; do
		awk -v begin="^$name = " '/^```/ { open = !open; on = 0; next } open && $0 ~ begin { on = 1 } on' etc/phoenix-site.5.scd >"$page/$name.conf"
		[ -s "$page/$name.conf" ] || return 1
	done
	phx site check "$page" --socket /nowhere 2>"$WORK/said" | grep -q '3 networks' || { cat "$WORK/said"; return 1; }
}
all_mistakes_of_profiles_are_told() {
	local bad=$WORK/bad-sets said want
	mkdir -p "$bad/files/profile/none/etc" && echo x >"$bad/files/profile/none/etc/x"
	cat >"$bad/profiles.conf" <<-END
		profiles = (
			{ name = "base"; variables = { A = "1"; lower = "2"; }; sysctl = [ "swappiness" ]; },
			{ name = "base"; modules = [ "a b" ];
			  kernel_args = [ "quiet",
			    "root=/dev/sda" ]; },
			{ name = "x"; mounts = ( { what = "nfs:/a"; where = "/a"; type = "nfs"; },
			    { what = "nfs:/b"; where = "/a"; type = "nfs"; } ); wrong = 1; }
		);
	END
	cat >"$bad/nodes.conf" <<-END
		nodes = (
			{ nodes = "n[1-"; profiles = [ "base",
			    "nobody" ]; },
			{ dns = [ "ns1" ]; protected_disks = [ "wwn-1" ]; }
		);
	END
	printf 'nodes,profiles,RACK,sysctl\nn1,base,"a, b",vm.swappiness=10\nn2,base\n# a comment\nn3,zero,x,vm.x\n"n4"x,,,\n' >"$bad/nodes.csv"
	said=$(phx site check "$bad" --socket /nowhere 2>&1)
	[ $? = 78 ] || { echo "$said"; return 1; }
	for want in 'profiles.conf:2: "swappiness" must be as "NAME=value"' "profiles.conf:2: variables 'lower' must be of capitals" \
		"profiles.conf:3: profile base is there twice: also .*profiles.conf:2" "profiles.conf:3: modules 'a b'" "profiles.conf:5: kernel_args 'root' is said by the head" \
		"profiles.conf:7: unknown key 'wrong'" 'nodes.conf:2: nodes "n\[1-"' "nodes.conf:3: profile 'nobody' is not there" 'nodes.conf:4: nodes is missing' \
		"nodes.conf:4: dns 'ns1' is no address" "nodes.conf:4: protected_disks 'wwn-1' is no selector of disks" 'nodes.csv:3: has 2 cells, where the first line has 4' 'nodes.csv:5: "vm.x" must be as' "nodes.csv:5: profile 'zero' is not there" \
		'nodes.csv:6: column 1: a quote must end its cell' "files/profile/none/etc/x: there is no profile 'none'"; do
		grep -q "$want" <<<"$said" || { echo "not said: $want"; echo "$said"; return 1; }
	done
	[ "$(grep -c . <<<"$said")" = 16 ] || { echo "$said"; return 1; }
	printf 'nodes,what\nn1,1\n' >"$bad/nodes.csv"
	phx site check "$bad" --socket /nowhere 2>&1 | grep -q "nodes.csv:1: there is no column 'what'"
}

# Profiles in their order, then the node's own; the table wins over nodes.conf. One node that lacks a variable: nobody is touched.
profiles_reach_nodes() {
	cat >"$SITE/profiles.conf" <<-END
		profiles = (
			{ name = "base"; variables = { PROXY = "http://proxy:3128"; }; sysctl = [ "vm.swappiness=10", "vm.panic_on_oom=0" ];
			  mounts = ( { what = "nfs:/home"; where = "/srv/home"; type = "nfs"; options = "ro"; } ); },
			{ name = "big"; sysctl = [ "vm.swappiness=1" ]; modules_blocked = [ "nouveau" ]; protected_disks = [ "id=archive-*" ]; }
		);
	END
	echo 'nodes = ( { nodes = "n1"; profiles = [ "base", "big" ]; } );' >"$SITE/nodes.conf"
	printf 'nodes,kernel_args,OWNER\nn1,hugepages=64 quiet,"ada, bob"\n' >"$SITE/nodes.csv"
	mkdir -p "$SITE/files/profile/big/etc" "$SITE/files/label/rack=7/etc"
	echo 'proxy @PROXY@ of @OWNER@' >"$SITE/files/all/etc/proxy" && echo big >"$SITE/files/profile/big/etc/size" && echo 7 >"$SITE/files/label/rack=7/etc/rack"
	phx site apply 2>"$WORK/said" && return 1
	grep -q 'files/all/etc/proxy:1: of n2: @PROXY@ is no variable' "$WORK/said" && [ ! -e "$WORK/n1/etc/proxy" ] || { cat "$WORK/said"; return 1; }
	sed -i 's/nodes = "n1"/nodes = "n[1-2]"/' "$SITE/nodes.conf" && echo 'n2,,eve' >>"$SITE/nodes.csv" && phx node label n2 rack=7 >/dev/null && phx site apply >/dev/null &&
		until_true 20 test -e "$WORK/n1/etc/proxy" && until_true 20 test -e "$WORK/n2/etc/rack" && settled || return 1
	[ "$(cat "$WORK/n1/etc/proxy")" = 'proxy http://proxy:3128 of ada, bob' ] && [ "$(cat "$WORK/n2/etc/proxy")" = 'proxy http://proxy:3128 of eve' ] || return 1
	[ "$(cat "$WORK/n1/etc/size")" = big ] && [ ! -e "$WORK/n1/etc/rack" ] && [ "$(grep -v '^#' "$WORK/n1/etc/sysctl.d/90-phoenix.conf")" = $'vm.swappiness = 1\nvm.panic_on_oom = 0' ] &&
		grep -qx 'What=nfs:/home' "$WORK/n1/etc/systemd/system/srv-home.mount" && grep -qx 'blacklist nouveau' "$WORK/n1/etc/modprobe.d/phoenix-site.conf" || return 1
	grep -qx 'restart phoenix-mounts.target' "$WORK/systemctl.log" && [ "$(grep -nx daemon-reload "$WORK/systemctl.log" | head -1 | cut -d: -f1)" -lt \
		"$(grep -nx 'restart phoenix-mounts.target' "$WORK/systemctl.log" | head -1 | cut -d: -f1)" ] || { cat "$WORK/systemctl.log"; return 1; }
	phx site show n1 >"$WORK/said"
	grep -qE "^sysctl +vm.swappiness +1 +.*profiles.conf:4$" "$WORK/said" && grep -qE "^variables +OWNER +ada, bob +.*nodes.csv:2$" "$WORK/said" &&
		grep -qE "^protected_disks +id=archive-\* +.*profiles.conf:4$" "$WORK/said" &&
		[ "$(phx site show n1 -o json | jq -r .kernel_args)" = 'hugepages=64 quiet' ] || { cat "$WORK/said"; return 1; }
	phx site show n9 2>/dev/null && return 1
	# what no setting has any more goes
	rm -r "$SITE/profiles.conf" "$SITE/nodes.conf" "$SITE/nodes.csv" "$SITE/files/all/etc/proxy" "$SITE/files/profile" "$SITE/files/label" && phx site apply >/dev/null &&
		until_true 20 test ! -e "$WORK/n1/etc/proxy" && settled || return 1
	[ ! -e "$WORK/n1/etc/sysctl.d/90-phoenix.conf" ] && [ ! -e "$WORK/n1/etc/systemd/system/srv-home.mount" ] && [ ! -e "$WORK/n2/etc/rack" ]
}

# A network that the head is not heard over: the fake stops the head where the new network is in force, and lets it go on with the former one.
a_network_without_the_head_is_rolled_back() {
	local net=etc/systemd/network/10-phoenix-eth0.network
	cat >"$WORK/fake/networkctl" <<-END
		#!/bin/sh
		# a fake: notes how it is called
		echo "networkctl \$@" >>$WORK/systemctl.log
		if grep -qs 10.9.0.66 $WORK/n1/$net && [ -e $WORK/cut ]; then kill -STOP $(head_pid); else kill -CONT $(head_pid); fi
	END
	chmod 755 "$WORK/fake/networkctl"
	echo 'networks = ( { name = "lan"; subnet = "10.9.0.0/16"; gateway = "10.9.0.1"; } );' >"$SITE/networks.conf"
	echo 'nodes = ( { nodes = "n1"; nics = ( { name = "eth0"; network = "lan"; address = "10.9.0.5"; default_route = true; } ); } );' >"$SITE/nodes.conf"
	phx site apply >/dev/null && until_true 30 test -e "$WORK/n1/$net" && until_true 30 site_is n1 'up to date' || return 1
	grep -qx 'Address=10.9.0.5/16' "$WORK/n1/$net" && grep -qx 'networkctl reload' "$WORK/systemctl.log" && [ ! -e "$WORK/n2/$net" ] || return 1
	: >"$WORK/cut"
	sed -i 's/10.9.0.5/10.9.0.66/' "$SITE/nodes.conf" && echo more >"$SITE/files/all/etc/beside" && phx site apply >/dev/null || return 1
	until_true 40 grep -qx 'Address=10.9.0.66/16' "$WORK/n1/$net" && until_true 40 grep -qx 'Address=10.9.0.5/16' "$WORK/n1/$net" || { cat "$WORK/n1/$net"; return 1; }
	until_true 30 sh -c "'$BUILD/bin/phx' node show n1 | grep -q 'Site *failed: network settings rolled back: the head was not reached for 6 s'" || { phx node show n1; return 1; }
	[ -e "$WORK/n1/etc/beside" ] || return 1
	# the next agent does not try it either; a person does
	agent_kill n1 && agent_start n1 boot-n1 && rm "$WORK/cut" && sleep 3 && grep -qx 'Address=10.9.0.5/16' "$WORK/n1/$net" || return 1
	[ "$(phx site apply)" = 'nothing has changed' ] && [ "$(phx site apply --again)" = applied ] && until_true 30 grep -qx 'Address=10.9.0.66/16' "$WORK/n1/$net" &&
		until_true 30 site_is n1 'up to date' || { phx node show n1; return 1; }
	rm "$SITE/nodes.conf" "$SITE/networks.conf" "$SITE/files/all/etc/beside" && phx site apply >/dev/null && until_true 30 test ! -e "$WORK/n1/$net" && settled
}

# The head knows which cards are whose: not by what their systems say.
a_card_of_another_machine_is_refused() {
	local mac
	mac=$(api /v1/nodes/n2 | jq -r '[.. | .macs? // empty | .[]?.mac] | first')
	[ -n "$mac" ] && [ "$mac" != null ] || { echo "n2 has no card"; return 1; }
	printf 'nodes,left.mac,left.address\nn1,%s,dhcp\n' "$mac" >"$SITE/nodes.csv"
	phx site apply 2>"$WORK/said" && return 1
	rm "$SITE/nodes.csv"
	grep -q "nodes.csv:2: left of n1: $mac is a card of node n2" "$WORK/said" || { cat "$WORK/said"; return 1; }
}

settings() {
	users "roles = [ \"batch-compute\" ]; sudo_rules = [ \"ALL=(root) NOPASSWD: /usr/bin/id\" ];"
	echo 'domain = "example.org"; ntp = [ "10.0.0.1" ];' >"$SITE/site.conf"
	mkdir -p "$SITE/files/all/etc" "$SITE/files/role/batch-compute/etc" "$SITE/files/node/n1/etc/app"
	echo 'This is @NODE@.@DOMAIN@ (@ROLE@, @POOL@), ask a@@b or x@y.org' >"$SITE/files/all/etc/motd"
	echo 'batch @NODE@' >"$SITE/files/role/batch-compute/etc/motd"
	echo 'SECRET-OF-N1-f00d' >"$SITE/files/node/n1/etc/app/token"
	cat >"$SITE/files.conf" <<-END
		files = ( { path = "/etc/app/token"; owner = "ada"; group = "ops"; mode = "0440"; secret = true;
			    run = [ "systemctl", "try-restart", "app.service" ]; } );
	END
}

# A name that the head does not know, and one that nobody knows: nobody is touched.
what_the_head_does_not_know_is_refused() {
	settings
	mkdir -p "$SITE/files/node/n7/etc" && echo x >"$SITE/files/node/n7/etc/x"
	phx site apply 2>"$WORK/said" && return 1
	grep -q "files/node/n7/etc/x: there is no node 'n7'" "$WORK/said" || { cat "$WORK/said"; return 1; }
	rm -r "$SITE/files/node/n7"
	echo 'proxy @PROXY@' >"$SITE/files/all/etc/proxy"
	phx site apply 2>"$WORK/said" && return 1
	grep -q 'files/all/etc/proxy:1: @PROXY@ is no variable' "$WORK/said" || { cat "$WORK/said"; return 1; }
	rm "$SITE/files/all/etc/proxy"
	# phxd does not take the word of who sends it, either
	api /v1/site -X POST -d '{"site": {"files": [{"path": "/etc/x", "owner": "root", "group": "root", "mode": "0644", "text": "@PROXY@", "place": "p"}]}}' |
		jq -e '(.errors | length) == 1 and (.applied | not)' >/dev/null || return 1
	sleep 1
	[ "$(api /v1/site | jq -r .digest)" = "" ] && not_on n1 ada && [ ! -e "$WORK/n1/etc/motd" ]
}

users_and_files_come() {
	[ "$(phx site diff | tail -n 1)" = 'nothing is applied yet: phx site apply' ] && not_on n1 ada || return 1
	phx site apply >"$WORK/said" && grep -q '^user ada: added' "$WORK/said" && grep -q '^applied$' "$WORK/said" && settled || { cat "$WORK/said"; return 1; }
	grep -qx "ada:x:$ADA:$ADA:Ada L.:/home/ada:/bin/bash" "$WORK/n1/etc/passwd" && grep -qx 'ops:x:48400:ada' "$WORK/n1/etc/group" &&
		grep -q '^ada:\*:' "$WORK/n1/etc/shadow" && [ "$(stat -c '%u %a' "$WORK/n1/home/ada")" = "$ADA 700" ] || return 1
	on n1 bob && not_on n2 bob && on n2 ada || return 1
	cmp "$WORK/ada.key.pub" "$WORK/n1/etc/ssh/phoenix/ada" && cmp "$WORK/root.key.pub" "$WORK/n2/etc/ssh/phoenix/root" &&
		[ "$(stat -c '%u %a' "$WORK/n1/etc/ssh/phoenix/bob")" = '0 644' ] && [ ! -e "$WORK/n2/etc/ssh/phoenix/bob" ] || return 1
	grep -qx 'AllowUsers bob' "$WORK/n1/etc/ssh/sshd_config.d/00-phoenix.conf" && ! grep -q bob "$WORK/n2/etc/ssh/sshd_config.d/00-phoenix.conf" &&
		grep -qx 'PasswordAuthentication no' "$WORK/n2/etc/ssh/sshd_config.d/00-phoenix.conf" || return 1
	grep -qx 'ada ALL=(ALL:ALL) NOPASSWD: ALL' "$WORK/n1/etc/sudoers.d/phoenix" && grep -qx 'bob ALL=(root) NOPASSWD: /usr/bin/id' "$WORK/n1/etc/sudoers.d/phoenix" &&
		[ "$(stat -c %a "$WORK/n1/etc/sudoers.d/phoenix")" = 440 ] && ! grep -q bob "$WORK/n2/etc/sudoers.d/phoenix" || return 1
	[ "$(cat "$WORK/n1/etc/motd")" = 'batch n1' ] && [ "$(cat "$WORK/n2/etc/motd")" = 'This is n2.example.org (, free), ask a@b or x@y.org' ] &&
		grep -qx 'server 10.0.0.1 iburst' "$WORK/n2/etc/chrony/sources.d/phoenix.sources" &&
		grep -qx 'try-restart chrony.service' "$WORK/systemctl.log" && grep -qx 'try-restart app.service' "$WORK/systemctl.log" || return 1
	phx site show | grep -q 'Nodes *2$'
}

# The node has it, its owner's alone; nobody else, no journal, no log, no answer.
secrets_are_nowhere_else() {
	[ "$(stat -c '%u %g %a' "$WORK/n1/etc/app/token")" = "$ADA 48400 440" ] && grep -q SECRET "$WORK/n1/etc/app/token" || return 1
	of_node n1 | grep -q SECRET-OF-N1 || { echo "n1 is not given its own"; return 1; }
	of_node n2 | jq -e '.files | length > 3' >/dev/null && ! of_node n2 | grep -q SECRET && [ ! -e "$WORK/n2/etc/app" ] || return 1
	! grep -qa SECRET "$WORK/head/journal.db" "$WORK/head/journal.db-wal" "$WORK"/*.log "$WORK/n1/var/lib/phoenix/"*.json || return 1
	! { api /v1/site; api /v1/nodes/n1; api '/v1/events?limit=1000'; phx site diff; phx events -n 100; } | grep -q SECRET || return 1
	[ "$(stat -c %a "$WORK"/head/site-*.json)" = 600 ] && grep -q SECRET "$WORK"/head/site-*.json
}

# The name and the digest are told, and by whom.
the_journal_tells_who_and_which() {
	local digest
	digest=$(sha256sum <"$(echo "$WORK"/head/site-*.json)" | cut -d' ' -f1)
	api '/v1/events?limit=1000' | jq -e --arg d "$digest" '[.. | objects | select(.digest? == $d)] | length >= 1' >/dev/null &&
		[ "$(api /v1/site | jq -r .digest)" = "$digest" ] && phx events -n 100 | grep -q 'settings of the site applied'
}

# n1 comes first, and n2 when that has applied it; where n1 fails, n2 keeps what it has, whatever becomes of the head, until a person goes on.
portions_follow_each_other() {
	cp "$SITE/files.conf" "$WORK/files.conf" && sed -i 's/^files = (/files = ( { path = "\/etc\/turn"; run = [ "turn" ]; },/' "$SITE/files.conf" || return 1
	printf '#!/bin/sh\nsleep 2\n[ ! -e %s/broken ]\n' "$WORK" >"$WORK/fake/turn" && chmod 755 "$WORK/fake/turn" && echo one >"$SITE/files/all/etc/turn" || return 1
	phx site apply --batch 3 2>"$WORK/said" && return 1
	grep -q 'batch: a text such as "2"' "$WORK/said" && ! phx site apply --max-failures 1 2>/dev/null || return 1
	phx site apply --batch 1 --dry-run >"$WORK/said" && grep -qx '1 nodes would be told at once' "$WORK/said" && [ "$(api /v1/site | jq .last)" = 0 ] || return 1
	phx site apply --batch 50% >"$WORK/said" && grep -q '^told to the first nodes' "$WORK/said" && until_true 20 grep -qx one "$WORK/n1/etc/turn" || { cat "$WORK/said"; return 1; }
	site_is n2 'waits for its turn' && [ ! -e "$WORK/n2/etc/turn" ] || return 1
	phx site show | grep -q ' waiting *1$' || { phx site show; return 1; }
	until_true 20 grep -qx one "$WORK/n2/etc/turn" && settled && until_true 10 portions_end || return 1
	: >"$WORK/broken" && echo two >"$SITE/files/all/etc/turn" && phx site apply --batch 1 --wait --timeout 40 >/dev/null 2>"$WORK/said"
	[ $? = 1 ] && grep -q 'n1: turn ended with status 1.*; 1 nodes wait' "$WORK/said" || { cat "$WORK/said"; return 1; }
	phx site show | grep -q 'Stopped *n1: turn ended' && phx events -n 50 | grep -q 'are not told to the nodes that wait (1): n1: turn' || return 1
	# neither the next head tells it, nor does n2 get it when it asks
	head_kill && head_start && agent_kill n2 && agent_start n2 boot-n2 && until_true 30 site_is n2 'waits for its turn' || return 1
	[ "$(of_node n2 -o /dev/null -w '%{http_code}')" = 403 ] && sleep 2 && grep -qx one "$WORK/n2/etc/turn" || return 1
	rm "$WORK/broken" && phx site apply --batch 1 --wait --timeout 40 >/dev/null && grep -qx two "$WORK/n2/etc/turn" && site_is n2 'up to date' || return 1
	# the next version is for all again
	echo three >"$SITE/files/all/etc/turn" && phx site apply --batch 1 --wait --timeout 40 >/dev/null && grep -qx three "$WORK/n2/etc/turn" || return 1
	mv "$WORK/files.conf" "$SITE/files.conf" && rm "$SITE/files/all/etc/turn" && phx site apply >/dev/null && settled && [ ! -e "$WORK/n2/etc/turn" ]
}
portions_end() { [ "$(api /v1/site | jq .last)" = 0 ]; }

# Neither a node whose certificate it is not, nor a stranger; and who is set aside is told nothing.
only_a_node_in_order_is_told() {
	[ "$(of_node n2 -o /dev/null -w '%{http_code}')" = 200 ] || return 1
	[ "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$WORK/n1/etc/phoenix/ca.pem" "https://127.0.0.1:$HTTPS/v1/agent/site")" = 403 ] || return 1
	[ "$(api /v1/agent/site -o /dev/null -w '%{http_code}')" = 404 ] || return 1
	phx node quarantine n2 --yes --reason test >/dev/null && until_true 10 is n2 .state quarantined || return 1
	[ "$(of_node n2 -o /dev/null -w '%{http_code}')" = 403 ] || return 1
	echo changed >"$SITE/files/all/etc/changed" && phx site apply >/dev/null && until_true 20 test -e "$WORK/n1/etc/changed" && sleep 1 || return 1
	[ ! -e "$WORK/n2/etc/changed" ] && site_is n2 ''
}

# bob is taken out while he works on n1.
who_is_removed_is_locked_out() {
	setpriv --reuid $BOB --regid $BOB --clear-groups sleep 1000 &
	local sleeper=$!
	setpriv --reuid $ADA --regid $ADA --clear-groups sleep 1000 &
	local hers=$!
	users '' && rm "$SITE/files/all/etc/changed" && phx site diff | grep -qx 'user bob: removed' && phx site apply >/dev/null || return 1
	until_true 20 site_is n1 'up to date' && wait "$sleeper" 2>/dev/null
	[ $? = 137 ] || { echo "his process goes on"; return 1; }
	kill "$hers" || { echo "hers does not"; return 1; }
	not_on n1 bob && [ ! -e "$WORK/n1/etc/ssh/phoenix/bob" ] && ! grep -q bob "$WORK/n1/etc/sudoers.d/phoenix" "$WORK/n1/etc/ssh/sshd_config.d/00-phoenix.conf" &&
		! grep -q bob "$WORK/n1/etc/shadow" "$WORK/n1/etc/group" && on n1 ada && [ ! -e "$WORK/n1/etc/changed" ]
}

who_is_locked_keeps_his_account_alone() {
	users 'locked = true; sudo = true;' && phx site apply >/dev/null && until_true 20 on n1 bob && until_true 20 site_is n1 'up to date' || return 1
	grep -qx "bob:x:$BOB:$BOB::/home/bob:/usr/sbin/nologin" "$WORK/n1/etc/passwd" && [ ! -e "$WORK/n1/etc/ssh/phoenix/bob" ] &&
		! grep -q bob "$WORK/n1/etc/sudoers.d/phoenix"
}

# A clash with the image is told, what is not concerned is done, and the next version mends it.
a_clash_is_told() {
	users && sed -i "s/name = \"ada\"; uid = $ADA/name = \"ada\"; uid = 1000/" "$SITE/users.conf" && echo new >"$SITE/files/all/etc/new" && phx site apply >/dev/null || return 1
	until_true 20 sh -c "'$BUILD/bin/phx' node show n1 | grep -q 'Site *failed: account ada (uid 1000) of the site clashes with build (uid 1000)'" || return 1
	phx node list n1 | grep -q 'settings of the site: failed' && [ -e "$WORK/n1/etc/new" ] && grep -q '^build:x:1000:' "$WORK/n1/etc/passwd" || return 1
	users && phx site apply >/dev/null && until_true 20 site_is n1 'up to date' && on n1 ada
}

# What was changed on the node by hand is made right with the next version; a link there leads nowhere else.
a_link_is_replaced() {
	echo precious >"$WORK/precious" && ln -sf "$WORK/precious" "$WORK/n1/etc/motd" && echo more >"$SITE/files/all/etc/more" && phx site apply >/dev/null &&
		until_true 20 test -e "$WORK/n1/etc/more" && until_true 20 site_is n1 'up to date' || return 1
	[ ! -L "$WORK/n1/etc/motd" ] && [ "$(cat "$WORK/n1/etc/motd")" = 'batch n1' ] && [ "$(cat "$WORK/precious")" = precious ]
}

# The head takes a node for missing after two seconds.
a_slow_program_holds_up_no_beat() {
	local before
	before=$(api '/v1/events?limit=1000' | jq '[.events[] | select(.kind == "missing" or .kind == "quiet")] | length')
	printf '#!/bin/sh\nsleep 4\n' >"$WORK/fake/slow" && chmod 755 "$WORK/fake/slow" && echo slow >"$SITE/files/all/etc/slow" &&
		sed -i 's/^files = (/files = ( { path = "\/etc\/slow"; run = [ "slow" ]; },/' "$SITE/files.conf" && phx site apply >/dev/null || return 1
	until_true 20 test -e "$WORK/n1/etc/slow" && site_is n1 applying && until_true 20 site_is n1 'up to date' || return 1
	[ "$(api '/v1/events?limit=1000' | jq '[.events[] | select(.kind == "missing" or .kind == "quiet")] | length')" = "$before" ]
}

# Applying the same is nothing; head and agent that start again go on with it.
starting_again_changes_nothing() {
	local before
	before=$(cd "$WORK/n1/etc" && find . -type f -exec md5sum {} + | sort | md5sum)
	[ "$(phx site apply)" = 'nothing has changed' ] || return 1
	: >"$WORK/systemctl.log"
	agent_kill n1 && head_kill && head_start && agent_start n1 boot-n1 && until_true 30 site_is n1 'up to date' && [ "$(phx site apply)" = 'nothing has changed' ] || return 1
	[ "$before" = "$(cd "$WORK/n1/etc" && find . -type f -exec md5sum {} + | sort | md5sum)" ] && [ ! -s "$WORK/systemctl.log" ]
}

# Of another role it has nothing once it has left that.
what_is_of_a_role_goes_with_it() {
	[ "$(cat "$WORK/n1/etc/motd")" = 'batch n1' ] && phx node release n1 --yes --wait --timeout 60 >/dev/null && until_true 20 site_is n1 'up to date' &&
		[ "$(cat "$WORK/n1/etc/motd")" = 'This is n1.example.org (, free), ask a@b or x@y.org' ]
}

host_keys_are_told() {
	phx node hostkeys n1 | tail -n 1 | grep -qx "n1,127.0.0.1 $(cut -d' ' -f1,2 "$WORK/ada.key.pub")" || return 1
	printf '@cert-authority * %s\n' "$(cat "$WORK/bob.key.pub")" >"$WORK/n1/etc/ssh/ssh_host_ed25519_key.pub"
	until_true 20 sh -c "! '$BUILD/bin/phx' node hostkeys n1 | grep -q ed25519"
}

head_init
check "two nodes serve" two_nodes_serve
check "all mistakes are told, with their places" all_mistakes_are_told
check "the manual's examples are right" the_manuals_examples_are_right
check "all mistakes of profiles and groups of nodes are told" all_mistakes_of_profiles_are_told
check "what the head does not know is refused, and nobody is touched" what_the_head_does_not_know_is_refused
check "users and files come to the nodes that they are for" users_and_files_come
check "profiles and groups of nodes reach the nodes" profiles_reach_nodes
check "a network without the head is rolled back" a_network_without_the_head_is_rolled_back
check "a card of another machine is refused" a_card_of_another_machine_is_refused
check "secrets are nowhere else" secrets_are_nowhere_else
check "the journal tells who applied which version" the_journal_tells_who_and_which
check "portions of nodes follow each other" portions_follow_each_other
check "only a node in order is told" only_a_node_in_order_is_told
check "who is removed is locked out" who_is_removed_is_locked_out
check "who is locked keeps his account alone" who_is_locked_keeps_his_account_alone
check "a clash is told, and mended by the next version" a_clash_is_told
check "a link on the node is replaced" a_link_is_replaced
check "a slow program holds up no beat" a_slow_program_holds_up_no_beat
check "starting again changes nothing" starting_again_changes_nothing
check "what is of a role goes with it" what_is_of_a_role_goes_with_it
check "host keys are told, and only keys" host_keys_are_told
exit "$FAILED"
