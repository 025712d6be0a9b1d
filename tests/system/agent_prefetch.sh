#!/bin/bash
# by turns: 80 s: it takes long.
# Packages are on a node before it is decided that it needs them: nodes of a pair of REs have those of both roles at hand,
# a hand-over fetches nothing, and what is wanted no more goes.
. "$(dirname "$0")/agents.bash"
. tests/system/exchange.bash

ENGINE='engine = "builtin";'
engine_script() { echo 'exec sleep 100000'; }

# what the nodes have unpacked, and what is current: "NODE: NAME-VERSION* ..."
has() {
	local dir out=
	for dir in "$WORK/$1/opt/phoenix/pkg"/*/[0-9]*; do
		[ -d "$dir" ] || continue
		out+=" $(basename "$(dirname "$dir")")-$(basename "$dir")"
		[ "$(readlink "$(dirname "$dir")/current")" != "$(basename "$dir")" ] || out+='*'
	done
	echo "${out# }"
}
archives() { ls "$WORK/$1/var/cache/phoenix/packages" 2>/dev/null | grep -v '\.sig$' | paste -sd' '; }
has_is() { [ "$(has "$1")" = "$2" ]; }
all_have() {
	local i want=$1
	shift
	for i in "$@"; do until_true 40 has_is "n$i" "$want" || { echo "n$i has: $(has "n$i"), wanted: $want"; return 1; }; done
}
node_of() { api /v1/nodes | jq -r "[.nodes[] | select(.pool == \"$1\") | .name] | .[$2] // empty" | tr -d n; }
seq_now() { api /v1/status | jq .seq; }
# how many packages were fetched since: the head is asked for none that it has not
hide() { mv "$WORK/head/packages" "$WORK/hidden"; mkdir "$WORK/head/packages"; }
unhide() { rmdir "$WORK/head/packages" && mv "$WORK/hidden" "$WORK/head/packages"; }

free_nodes_have_nothing_without_res() { sleep 6; [ -z "$(has n1)$(archives n1)" ]; }
pair_has_both() {
	activation || return 1
	WEB=$(node_of pages 0)
	all_have 'engine-1.0 web-1.0*' "$WEB" || return 1
	local i
	for i in 1 2 3 4; do [ "$i" = "$WEB" ] || all_have 'engine-1.0* web-1.0' $i || return 1; done
	until_true 10 is n1 '"\(.monitor.prefetch_there) of \(.monitor.prefetch_wanted)"' '2 of 2'
}
# and the new instance is told of as serving without another report
hand_over_fetches_nothing() {
	local before
	before=$(seq_now)
	hide
	use 950000 && until_true 60 settled 2 2 || { unhide; return 1; }
	api "/v1/events?after=$before&limit=1000" | jq -r '.events[].actions[]?.text // empty' | grep 'step' | sed 's/^/    /'
	NEW=$(node_of pages 1)
	[ "$NEW" != "$WEB" ] || NEW=$(node_of pages 0)
	# what it left is there again, from the archive that stayed
	all_have 'engine-1.0 web-1.0*' "$NEW" && [ "$(archives "n$NEW")" = 'engine-1.0.tar.zst web-1.0.tar.zst' ]
}
agent_knows_it_when_it_starts_anew() {
	agent_kill "n$NEW"
	rm -rf "$WORK/n$NEW/opt/phoenix/pkg/engine"
	agent_start "n$NEW"
	all_have 'engine-1.0 web-1.0*' "$NEW" || return 1
	use 50000 && until_true 60 settled 3 1 || return 1
	unhide
}
new_version_comes_ahead() {
	package web 1.1 'exec sleep 100001'
	phx reload >/dev/null
	WEB=$(node_of pages 0)
	local i
	# what runs stays until it is assigned anew
	all_have 'engine-1.0 web-1.0* web-1.1' "$WEB" || return 1
	for i in 1 2 3 4; do [ "$i" = "$WEB" ] || all_have 'engine-1.0* web-1.1' $i || return 1; done
}
bad_package_is_not_kept() {
	package web 1.2 'exec sleep 100002'
	phx reload >/dev/null
	all_have 'engine-1.0* web-1.2' "$(node_of queue 0)" || return 1
	package web 1.3 'exec sleep 100003'
	dd if=/dev/urandom of="$WORK/head/packages/web-1.3.tar.zst.sig" bs=64 count=1 2>/dev/null
	phx reload >/dev/null 2>&1
	sleep 8
	! ls -d "$WORK"/n?/opt/phoenix/pkg/web/1.3 2>/dev/null
	rm -f "$WORK"/head/packages/web-1.3.tar.zst*
	phx reload >/dev/null
}
# how it is on a node in maintenance: nobody may give it away
node_in_doubt_is_told_nothing() {
	local i
	i=$(node_of queue 1)
	phx node drain "n$i" --yes --wait --timeout 20 >/dev/null && until_true 10 is "n$i" .state maintenance || return 1
	package web 1.4 'exec sleep 100004'
	phx reload >/dev/null
	all_have 'engine-1.0* web-1.4' "$(node_of queue 0)" || return 1
	sleep 6
	[ -d "$WORK/n$i/opt/phoenix/pkg/web/1.2" ] && [ ! -d "$WORK/n$i/opt/phoenix/pkg/web/1.4" ] || return 1
	phx node resume "n$i" >/dev/null
	until_true 40 test -d "$WORK/n$i/opt/phoenix/pkg/web/1.4"
}
nothing_stays_without_res() {
	deactivation || return 1
	local i
	for i in 1 2 3 4; do until_true 40 has_is "n$i" '' && [ -z "$(archives "n$i")" ] || { echo "n$i: $(has "n$i"), $(archives "n$i")"; return 1; }; done
}

check exchange_init exchange_init
for test in free_nodes_have_nothing_without_res pair_has_both hand_over_fetches_nothing agent_knows_it_when_it_starts_anew \
	new_version_comes_ahead bad_package_is_not_kept node_in_doubt_is_told_nothing nothing_stays_without_res replayed; do
	check "$test" "$test"
done
exit $FAILED
