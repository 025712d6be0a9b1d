#!/bin/bash
# phx node reboot on a real head with fake agents: a node comes back as it was; of nodes in turn no more are away than allowed,
# also when the head is killed meanwhile; one that does not come back stops the others, and who waits can be taken out.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

run() { "$@" >"$WORK/out" 2>"$WORK/err" </dev/null; status=$?; }
said() { [ "$status" = "$1" ] && grep -qF -- "$3" "$WORK/$2" || { echo "status $status: $(cat "$WORK/out" "$WORK/err")"; return 1; }; }
kexecs() { effects "$1" '^STEP .* kexec'; }
# how often each has been started anew
all_kexecs() { for n in c1 c2 c3 c4; do kexecs $n; done | tr '\n' ' '; }
all_serve() { for n in c1 c2 c3 c4; do idle $n active batch || return 1; done; }
come_up() {
	local i
	for i in 1 2 3 4; do
		post /v1/nodes "{\"name\": \"c$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
		fake_start c$i $i --env os --image test --digest "$IMAGE_DIGEST"
	done
	for i in 1 2 3 4; do until_true 20 is c$i .state ready || return 1; done
	action assign '{"nodes": "c[1-4]", "role": "batch"}' >/dev/null
	until_true 30 all_serve
}
# it asks, like what ends something; nothing is installed or erased
comes_back() {
	local before
	before=$(kexecs c1)
	run phx node reboot c1
	said 64 err 'reboot c1: this cannot be undone and needs --yes' || return 1
	run phx node reboot c1 --dry-run
	said 0 out 'kexec: the node is up: no firmware start needed' || return 1
	run phx node reboot c1 --yes --wait --timeout 60
	said 0 err '1 of 1 nodes are done' && idle c1 active batch && [ "$(kexecs c1)" = $((before + 1)) ] &&
		[ "$(field c1 '[.plan.steps[].kind] | join(" ")')" = 'drain stop kexec enter start health join' ] ||
		{ field c1 .plan; return 1; }
}
in_turn() {
	local before after
	before=$(all_kexecs)
	run phx node reboot 'c[1-4]' --rolling 25%
	[ "$status" = 0 ] || { cat "$WORK/err"; return 1; }
	phx node list c4 >"$WORK/out"
	grep -q 'waits for its reboot ([0-9] of 4 done)' "$WORK/out" || { cat "$WORK/out"; return 1; }
	phx node show c4 -o json | jq -e '.nodes[0].turn | .of == 4 and .most == 1 and .stopped == ""' >/dev/null || return 1
	# the order is in the journal: who dies goes on with it, and does nothing twice
	head_kill
	sleep 0.5
	head_start
	until_true 60 turns_are_over && all_serve || return 1
	after=$(for n in $before; do echo $((n + 1)); done | tr '\n' ' ')
	[ "$(all_kexecs)" = "$after" ] || { echo "$before, then $(all_kexecs)"; return 1; }
}
turns_are_over() { [ "$(api /v1/nodes | jq '[.nodes[] | select(.turn != null or (.plan.cursor < (.plan.steps | length)))] | length')" = 0 ]; }
# while it lasts nobody sees two that do not serve
one_at_a_time() {
	local most=0 now
	run phx node reboot 'c[1-4]' --rolling 1 --when-idle
	[ "$status" = 0 ] || { cat "$WORK/err"; return 1; }
	until turns_are_over; do
		now=$(api /v1/nodes | jq '[.nodes[] | select(.plan.cursor < (.plan.steps | length))] | length')
		[ "$now" -le "$most" ] || most=$now
	done
	[ "$most" = 1 ] || { echo "$most at once"; return 1; }
	all_serve
}
waiting_follows_all() {
	run phx node reboot 'c[1-4]' --rolling 2 --wait --timeout 90
	said 0 err '4 of 4 nodes are done' && all_serve
}
# its role and data stay with it; nobody else is taken down
stops_at_the_first_failure() {
	agent_stop c2
	fake_start c2 2 --env os --image test --digest "$IMAGE_DIGEST" --fail start --times 99
	until_true 20 is c2 .up true || return 1
	run phx node reboot 'c[1-4]' --rolling 1 --wait --timeout 90
	said 1 err 'c2 did not come back: step start failed 3 times' || return 1
	is c2 .state maintenance && is c2 .role batch && is c2 .dirty true && idle c1 active batch || return 1
	phx node list c3 >"$WORK/out"
	grep -q 'waits for its reboot (1 of 3 done), stopped: c2 did not come back' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(field c4 '.plan.cursor == (.plan.steps | length)')" = true ]
}
cancel_takes_them_out() {
	run phx node cancel 'c[3-4]'
	[ "$status" = 0 ] && turns_are_over && idle c3 active batch && idle c4 active batch
}
wrong_numbers_are_told() {
	run phx node reboot 'c[1-4]' --rolling 0
	said 64 err 'rolling: for a reboot, a text such as "2" (of 4 nodes), or "5%"' || return 1
	run phx node reboot 'c[1-4]' --rolling 101%
	said 64 err 'rolling: ' || return 1
	run phx node reboot 'c[1-4]' --rolling 2x
	said 64 err 'rolling: '
}

head_conf
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
for t in come_up comes_back in_turn one_at_a_time waiting_follows_all stops_at_the_first_failure cancel_takes_them_out wrong_numbers_are_told; do
	check "$t" "$t"
done
check 'replays the same' replays_the_same 60 60
exit $FAILED
