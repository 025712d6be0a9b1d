#!/bin/bash
# Two directors as processes against a real head share the addresses of a web RE: each has one, the other one takes it
# over when its director is silent or goes to another role, and who comes back is given its share after a while.
. "$(dirname "$0")/agents.bash"

ONE=127.9.9.90 TWO=127.9.9.91

roles_init() {
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "2s"; } );
		health = { kind = "exec"; exec = [ "/usr/bin/true" ]; interval = "1s"; timeout = "2s"; failures = 1; };
	END
	printf 'summary = "balance"; pool = "web"; image = "test"; boot = "ram"; director = true;\n' >"$WORK/etc/roles/balance.conf"
	printf 'summary = "nothing"; pool = "web"; image = "test"; boot = "ram";\n' >"$WORK/etc/roles/nothing.conf"
	cat >"$WORK/shop.conf" <<-END
		name = "shop"; type = "web_service"; role = "web-server"; lower_bound_size = 1; upper_bound_size = 1;
		addresses = "$ONE, $TWO"; setup_policy = "noop";
	END
	package web 1.0 'exec sleep 1000'
	phx reload >/dev/null
}
# "DIRECTOR DIRECTOR" of the two addresses
have() { phx web show -o tsv --no-header | cut -f2 | paste -sd' '; }
have_is() { [ "$(have)" = "$1" ]; }
# the instance is behind both
serves() { [ "$(phx web show -o tsv --no-header | cut -f1,4 | paste -sd' ')" = "$ONE:80	1 $TWO:80	1" ]; }

each_has_one() {
	phx node assign 'n[2-3]' balance --pin --yes --wait --timeout 30 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	phx re create "$WORK/shop.conf" >/dev/null && phx re activate shop >/dev/null || return 1
	until_true 20 have_is 'n2 n3' && until_true 30 serves
}
addresses_are_checked() {
	sed 's/name = "shop"/name = "twin"/; s/127.9.9.90, //' "$WORK/shop.conf" >"$WORK/twin.conf"
	phx re create "$WORK/twin.conf" >"$WORK/out" 2>&1 && return 1
	grep -q "address $TWO, port 80 is that of RE 'shop'" "$WORK/out" || { cat "$WORK/out"; return 1; }
	sed -i 's/127.9.9.91/127.9.9/' "$WORK/twin.conf"
	phx re check "$WORK/twin.conf" >"$WORK/out" 2>&1 && return 1
	grep -q 'addresses: must be IPv4 addresses' "$WORK/out" || { cat "$WORK/out"; return 1; }
}
the_other_takes_over() {
	agent_kill n2
	until_true 20 have_is 'n3 n3' || return 1
	phx events -n 100 | grep -q "n3: has the virtual address $ONE now, which n2 had" || { phx events -n 20; return 1; }
	phx web show 2>&1 | grep -q '^n2 is not heard'
}
who_comes_back_waits_for_its_share() {
	agent_start n2
	until_true 15 is n2 .up true && have_is 'n3 n3' && phx web show 2>&1 | grep -q '^n2 stands by' || return 1
	until_true 20 have_is 'n2 n3'
}
# The head finds in its journal who has what, and asks nobody.
a_restart_moves_nothing() {
	local before
	before=$(phx web show -o tsv --no-header)
	head_stop && head_start || return 1
	[ "$(phx web show -o tsv --no-header)" = "$before" ]
}
a_director_that_goes_has_none() {
	phx node assign n2 nothing --yes --wait --timeout 30 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	have_is 'n3 n3'
}

mkdir -p "$WORK/etc/conf.d"
printf 'missing_after_ms = 6000; balance_after_ms = 1600; address_back_s = 12;\n' >"$WORK/etc/conf.d/silence.conf"
head_init || exit 1
roles_init
for n in 1 2 3; do
	phx node add n$n --mac 02:00:00:00:00:0$n >/dev/null
	node_init n$n $n
	agent_start n$n
done
for n in n1 n2 n3; do until_true 20 is $n .state ready || not_ok "$n is ready"; done
check "each director has an address, and the instance both" each_has_one
check "an address is of one RE, and is an address" addresses_are_checked
check "the other director takes over from a silent one" the_other_takes_over
check "who comes back waits for its share, and is given it" who_comes_back_waits_for_its_share
check "a restart of the head moves no address" a_restart_moves_nothing
check "a director that goes to another role has none" a_director_that_goes_has_none
exit $FAILED
