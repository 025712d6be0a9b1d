#!/bin/bash
# A web RE as shipped: no cpu_milli in its role, no systemd on its nodes. What its services use is measured against the
# CPUs of the node, the RE grows when that is much, and says where it is not known.
. "$(dirname "$0")/agents.bash"

# with children of its own, one in a session of its own
burner() { # PACKAGE SCRIPT
	cat >"$WORK/etc/roles/$1.conf" <<-END
		summary = "burns"; pool = "web"; image = "test"; boot = "ram"; packages = [ "$1" ];
		services = ( { name = "$1"; package = "$1"; exec = [ "bin/$1" ]; stop_grace = "2s"; } );
		health = { kind = "exec"; exec = [ "/usr/bin/true" ]; interval = "1s"; timeout = "2s"; failures = 3; };
	END
	package "$1" 1.0 "$2"
}
agreement() { # NAME ROLE KEYS...
	cat >"$WORK/$1.conf" <<-END
		name = "$1"; relationship = "same"; type = "web_service"; granularity = "node"; role = "$2";
		coordinated_RE = "none"; resource_coordination_model = "flb-nub"; lower_bound_size = 1; lease = "1s";
		window = "2s"; threshold = 0.01; setup_policy = "noop"; ${*:3}
	END
	phx re create "$WORK/$1.conf" >/dev/null
}
use() { api "/v1/nodes/$1" | jq -r '.monitor.web_use_ppm // -1'; }
held() { api "/v1/res/$1" | jq -r .nodes.held; }
holds() { [ "$(held "$1")" = "$2" ]; }

# It begins with two, as nothing is said, and has one when it has seen that nothing is to do.
idle_is_measured() {
	phx re activate quiet --wait --timeout 60 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	! grep -q 'cannot be measured' "$WORK/out" || { cat "$WORK/out"; return 1; }
	until_true 10 eval '[ "$(api /v1/res/quiet | jq .use.nodes)" = 1 ]' || { api /v1/res/quiet; return 1; }
	until_true 10 holds quiet 1 && [ "$(phx re history quiet | grep -c 'goes from free to quiet')" = 2 ] || { phx re history quiet; return 1; }
	sleep 4
	holds quiet 1 && phx re show quiet | grep -q 'Use  *[0-9.]* % of 1 node' || { phx re show quiet; return 1; }
	phx re deactivate quiet --yes --wait --timeout 60 >/dev/null
}
# On a busy machine a loop has little of a processor: the threshold is a tenth of one, and the loop goes before others.
load_makes_it_grow() {
	phx re activate busy --wait --timeout 60 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	until_true 20 holds busy 2 || { phx re show busy; field n1 .monitor; field n2 .monitor; return 1; }
	phx re show busy | grep -q 'Use  *[0-9.]* % of'
}
# The loop of the burner runs in a child of a child that left the session. It has one of the ten CPUs at most, and a little for the
# moment that a sample takes.
one_of_ten() { local ppm; ppm=$(use "$1"); [ "$ppm" -gt 10000 ] && [ "$ppm" -lt 120000 ]; }
children_use() { one_of_ten n1 || one_of_ten n2; }
children_count() { until_true 20 children_use || { use n1; use n2; return 1; }; }
web_list_shows_it() {
	phx re deactivate busy --yes --wait --timeout 60 >/dev/null
	cat >>"$WORK/etc/roles/quiet.conf" <<<'web = { address = "127.9.9.9"; port = 8099; };'
	phx reload >/dev/null && phx node assign n1 quiet --yes --wait --timeout 60 >/dev/null || return 1
	until_true 10 eval 'phx web list -o tsv --no-header | grep -q "	n1	.*	0[.][0-9]*$"'
}
nothing_to_measure_is_said() {
	phx re activate empty >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	grep -q 'RE empty cannot follow its load: use of role empty cannot be measured: it has no services' "$WORK/out" ||
		{ cat "$WORK/out"; return 1; }
	phx re show empty | grep -q 'Use  *role empty unknown: it has no services'
}

head_init || exit 1
burner quiet 'exec sleep 1000'
burner busy 'setsid nice -n -10 sh -c "while :; do :; done" & wait'
printf 'summary = "nothing"; pool = "web"; image = "test"; boot = "ram";\n' >"$WORK/etc/roles/empty.conf"
phx reload >/dev/null
agreement quiet quiet || not_ok "agreement quiet"
for re in busy empty; do agreement $re $re 'initial_instances = 1;' || not_ok "agreement $re"; done
for n in 1 2; do
	phx node add n$n --mac 02:00:00:00:00:0$n >/dev/null
	node_init n$n $n
	sed -i 's/"cpus": 2,/"cpus": 10,/' "$WORK/n$n/facts.json"
	agent_start n$n
done
for n in n1 n2; do until_true 20 is $n .state ready || not_ok "$n is ready"; done
check "idle instances are measured, without systemd and cpu_milli, and of two that it begins with one stays" idle_is_measured
check "an RE whose service uses the CPU grows" load_makes_it_grow
check "what a service's children use counts, against all CPUs of the node" children_count
check "phx web list shows the use" web_list_shows_it
check "a role whose use cannot be measured is named" nothing_to_measure_is_said
exit $FAILED
