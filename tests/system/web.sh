#!/bin/bash
# Web nodes and a director as processes against a real head: the wanted table follows what nodes do, a director gets it
# as an order until it has it, the use that instances tell reaches their RE.
. "$(dirname "$0")/agents.bash"

WEB_PORT=$((HTTPS + 2))

roles_init() {
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "600s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "2s"; } );
		health = { kind = "exec"; exec = [ "/usr/bin/test", "!", "-e", "$WORK/ill" ]; interval = "1s"; timeout = "2s"; failures = 1; };
		web = { address = "127.9.9.9"; port = $WEB_PORT; scheduler = "lc"; cpu_milli = 100; };
	END
	printf 'summary = "balance"; pool = "web"; image = "test"; boot = "ram"; director = true;\n' >"$WORK/etc/roles/balance.conf"
	package web 1.0 'exec sleep 1000'
	phx reload >/dev/null
}
assign() { phx node assign "$1" "$2" --yes --wait --timeout 30 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }; }
# the wanted table in a line
table() { api /v1/balance | jq -r '[.services[] | "\(.address) \(.scheduler)", (.servers[] | "\(.address)=\(.weight)")] | join(" ")'; }
table_is() { [ "$(table)" = "$1" ]; }
# a beat in the name of a node; what is given stands beside what a beat must have
beat() {
	local dir=$WORK/$1/var/lib/phoenix boot
	boot=$(api "/v1/nodes/$1" | jq -r .boot_id)
	curl -sS -m 10 --cacert "$WORK/head/pki/ca.pem" --cert "$dir/agent.pem" --key "$dir/agent.key" \
		"https://127.0.0.1:$HTTPS/v1/agent/beat" -d "$(jq -nc --arg b "$boot" "{boot_id: \$b, env: \"os\", wait_ms: 0, running: []} + $2")"
}

serves() { assign n1 web-server && until_true 5 table_is "127.9.9.9 lc 127.0.0.1=1"; }
follows_health() {
	touch "$WORK/ill" && until_true 8 table_is "127.9.9.9 lc 127.0.0.1=0" || return 1
	rm "$WORK/ill" && until_true 8 table_is "127.9.9.9 lc 127.0.0.1=1"
}
# n2 is a director, and has the address; as people, and as programs read it
show_says_who() {
	phx web show >"$WORK/out" 2>&1 && grep -q "^127.9.9.9:$WEB_PORT  *n2  *20" "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(phx web show -o tsv --no-header | cut -f1,2,4)" = "127.9.9.9:$WEB_PORT	n2	1" ] &&
		[ "$(phx web show -o json | jq -r '.services[0] | .director + " " + (.since_ms > 0 | tostring)')" = 'n2 true' ]
}
# The last one of a service stays while it is only quiet; when it is missing it is out.
follows_silence() {
	local before kinds
	before=$(api /v1/status | jq .seq)
	agent_kill n1
	until_true 20 table_is "127.9.9.9 lc" || return 1
	kinds=$(api "/v1/events?after=$before&limit=1000" | jq -r '[.events[] | select(.node == "n1") | .kind] | join(" ")')
	[ "$kinds" = "quiet missing" ] || { echo "events: $kinds"; return 1; }
	agent_start n1
	until_true 15 table_is "127.9.9.9 lc 127.0.0.1=1"
}
director_is_ordered() {
	assign n2 balance || return 1
	agent_kill n2
	local id
	for i in $(seq 40); do
		beat n2 '{}' | jq -c '.orders[] | select(.kind == "table")' >"$WORK/order"
		[ -s "$WORK/order" ] && break
		sleep 0.2
	done
	[ "$(jq -r '.table.services[0].servers[0].address' "$WORK/order")" = 127.0.0.1 ] || return 1
	id=$(jq .id "$WORK/order")
	# in force: it is not told again, however often it is looked for
	for i in $(seq 30); do
		[ "$(beat n2 "{running: [[\"table\", $id]]}" | jq '.orders | length')" = 0 ] || return 1
		sleep 0.2
	done
	phx web list 2>&1 | grep -q 'not in force yet on n2' || return 1
	beat n2 "{running: [[\"table\", $id]], monitor: {balancer: $(jq -c '.table | .services[0].servers[0].active = 7 | .id = 5' "$WORK/order")}}" >/dev/null
	phx web list -o tsv --no-header | grep -qx "127.9.9.9:[0-9]*	lc	n1	127.0.0.1	web	1	7	0	[0-9.]*" && phx web list 2>&1 | grep -q 'in force on n2'
}
step_of() { field "$1" '.plan | .steps[.cursor].kind // ""'; }
# what n2 says: the table that it was last ordered is in force, and n1 has so many connections
director_says() {
	local id
	id=$(beat n2 '{}' | jq '.orders[] | select(.kind == "table") | .id')
	TABLE=${id:-${TABLE:-0}} # an order is told now and then only
	beat n2 "{running: [[\"table\", $TABLE]], monitor: {balancer: {services: [{servers: [{address: \"127.0.0.1\", active: $1}]}]}}}" >/dev/null
}
settles() { director_says 1 && [ "$(step_of n1)" = settle ]; }
leaving_waits_for_the_director() {
	beat n2 '{}' >/dev/null
	phx node release n1 --yes >/dev/null && until_true 10 is n1 .plan.steps[0].status issued || return 1
	# heard, but the table of weight 0 is not in force
	for i in $(seq 8); do beat n2 '{}' >/dev/null; sleep 0.2; done
	[ "$(step_of n1)" = divert ] && table_is "127.9.9.9 lc 127.0.0.1=0" || return 1
	until_true 20 settles || return 1
	for i in $(seq 5); do director_says 1; sleep 0.2; done
	[ "$(step_of n1)" = settle ] || return 1
	director_says 0
	until_true 15 is n1 .state ready
}
use_reaches_the_re() {
	local before
	cat >"$WORK/shop.conf" <<-END
		name = "shop"; relationship = "same"; type = "web_service"; granularity = "node"; role = "web-server";
		coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = "none";
		window = "20s"; threshold = 0.8; setup_policy = "noop"; initial_instances = 1; address = "127.9.9.90"; port = $WEB_PORT;
	END
	phx re create "$WORK/shop.conf" >/dev/null && phx re activate shop >/dev/null || return 1
	# under the address of the RE, not of the role
	until_true 20 table_is "127.9.9.9 lc 127.9.9.90 lc 127.0.0.1=1" || return 1
	phx re show shop --conf | grep -q 'address = "127.9.9.90"' || { phx re show shop; return 1; }
	agent_kill n1 # what it measures itself is not to come in between
	sleep 1
	before=$(api /v1/status | jq .seq)
	beat n1 '{monitor: {web_use_ppm: 400000}}' >/dev/null
	beat n1 '{monitor: {web_use_ppm: 800000}}' >/dev/null
	beat n1 '{monitor: {web_use_ppm: 99000000}}' >/dev/null # nobody uses more than all
	sleep 1.5
	local told
	told=$(api "/v1/events?after=$before&limit=1000" | jq -c '[.events[] | select(.kind == "re_use") | .event.use_ppm]')
	# means of what came between two heartbeats
	case $told in
	'[733333]' | '[400000,900000]' | '[600000,1000000]' | '[400000,800000,1000000]') ;;
	*) echo "told: $told"; return 1 ;;
	esac
}
# still in the name of n1
why_there_is_none_is_told() {
	beat n1 '{monitor: {web_use_error: "no \u001bgroup"}}' >/dev/null
	phx re show shop >"$WORK/out" && grep -q 'Use  *n1 unknown: no ' "$WORK/out" && ! grep -q $'\033' "$WORK/out" || { cat "$WORK/out"; return 1; }
	phx re suspend shop >/dev/null && phx re resume shop >"$WORK/out" || return 1
	grep -q 'RE shop cannot follow its load: use of role web-server cannot be measured on n1: no ' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(api /v1/res/shop | jq -c '[.use.ppm, .use.nodes, .use.unknown[0].node, .use.unknown[0].waits]')" = '[null,0,"n1",false]' ]
}
use_of_others_is_not_counted() {
	local before
	before=$(api /v1/status | jq .seq)
	beat n2 '{monitor: {web_use_ppm: 500000}}' >/dev/null
	sleep 1.5
	[ "$(api "/v1/events?after=$before&limit=1000" | jq '[.events[] | select(.kind == "re_use")] | length')" = 0 ]
}

mkdir -p "$WORK/etc/conf.d"
printf 'missing_after_ms = 6000; balance_after_ms = 1600;\n' >"$WORK/etc/conf.d/silence.conf"
head_init || exit 1
roles_init
for n in 1 2; do
	phx node add n$n --mac 02:00:00:00:00:0$n >/dev/null
	node_init n$n $n
	agent_start n$n
done
for n in n1 n2; do until_true 20 is $n .state ready || not_ok "$n is ready"; done
check "an instance is in the table when it serves" serves
check "the weight follows the health check" follows_health
check "a silent node is taken out, and comes back" follows_silence
check "a director is told the table until it has it" director_is_ordered
check "phx web show says who has which address" show_says_who
check "a leaving node waits for what its director says" leaving_waits_for_the_director
check "use of an instance reaches its web RE" use_reaches_the_re
check "why a use is not known is told" why_there_is_none_is_told
check "use of a node that serves no RE is not counted" use_of_others_is_not_counted
exit $FAILED
