#!/bin/bash
# phx node check on a real head with fake agents: what is free is checked, what somebody holds is not; one that fails is out of
# service, and one whose check could not be done is not; a pool takes checked nodes alone, and says so; a head that dies goes on.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

run() { "$@" >"$WORK/out" 2>"$WORK/err" </dev/null; status=$?; }
said() { [ "$status" = "$1" ] && grep -qF -- "$3" "$WORK/$2" || { echo "status $status: $(cat "$WORK/out" "$WORK/err")"; return 1; }; }
checks_of() { field "$1" '[.checks[] | "\(.part):\(.passed)"] | join(" ")'; }
come_up() {
	local i
	for i in 1 2 3; do
		post /v1/nodes "{\"name\": \"c$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
		fake_start c$i $i --env deploy
	done
	for i in 1 2 3; do until_true 20 is c$i .state ready || return 1; done
}
free_is_checked() {
	run phx node check c1 --dry-run --for 90s
	said 0 out 'check_memory' && said 0 out 'the node waits in the deploy initramfs' || return 1
	run phx node check c1 --with cpu,disk --for 5s --wait --timeout 60
	said 0 err '1 of 1 nodes are done' && idle c1 ready '' && [ "$(checks_of c1)" = 'cpu:true disk:true' ] || return 1
	run phx node check c1 --wait --timeout 60
	[ "$status" = 0 ] && [ "$(checks_of c1)" = 'cpu:true disk:true memory:true' ] || { field c1 .checks; return 1; }
	[ "$(field c1 '[.checks[] | .seconds] | unique | join(" ")')" = 600 ] && [ "$(field c1 '.checks[1].writes')" = true ] || return 1
	phx node show c1 >"$WORK/out"
	grep -q 'Check *passed' "$WORK/out" && grep -q '^  memory .*passed .*10 min.*a fake' "$WORK/out" || { cat "$WORK/out"; return 1; }
	phx node list -o wide | grep -q '^c1 .*passed' && phx node list --columns node,check -o tsv --no-header | grep -q '^c1.passed'
}
wrong_orders_are_told() {
	run phx node check 'c[1-3]' --with fans
	said 64 err "'fans' is no list of parts of a machine" && [ "$(wc -l <"$WORK/err")" = 1 ] || return 1
	run phx node check c1 --for soon
	said 64 err "--for: 'soon' is no time such as 90s or 2h" || return 1
	run phx node check c1 --for 9d
	[ "$status" != 0 ] && grep -q for_s "$WORK/err" || { cat "$WORK/err"; return 1; }
}
a_broken_one_is_put_out() {
	echo memory >"$WORK/c2/broken"
	run phx node check c2 --wait --timeout 60
	[ "$status" != 0 ] && grep -q 'c2: its check failed: memory: errors of a fake' "$WORK/err" && is c2 .state maintenance || { cat "$WORK/err"; return 1; }
	phx node list c2 -o wide | grep -q 'failed: memory' || return 1
	rm "$WORK/c2/broken"
	run phx node check c2 --wait --timeout 60
	[ "$status" = 0 ] && is c2 .state maintenance && phx node resume c2 --yes >/dev/null && until_true 10 is c2 .state ready
}
# where nobody checked, the pool says so; and takes what was
a_pool_wants_it() {
	run phx node assign c3 batch --pool checked --yes
	said 1 err 'pool checked wants checked nodes (needs_check), and c3 is none: processors never checked' || return 1
	run phx node plan c3 batch --pool checked
	grep -q 'and c3 is none' "$WORK/out" "$WORK/err" || { cat "$WORK/out" "$WORK/err"; return 1; }
	run phx node assign c1 batch --pool checked --yes --wait --timeout 60
	[ "$status" = 0 ] && idle c1 active batch && [ "$(field c1 .pool)" = checked ] || { cat "$WORK/err"; return 1; }
	# nor is it checked now that somebody has it
	run phx node check c1
	said 1 err 'only a node that nobody holds is checked'
}
a_head_that_dies_goes_on() {
	agent_stop c3
	run phx node check c3
	[ "$status" = 0 ] || { cat "$WORK/err"; return 1; }
	head_kill
	head_start
	[ "$(field c3 '.plan.request')" = check ] || return 1
	fake_start c3 3 --env deploy
	until_true 60 idle c3 ready ''
	[ "$(checks_of c3)" = 'cpu:true memory:true disk:true' ] || { field c3 '.checks, .plan'; return 1; }
}

head_conf
mkdir -p "$WORK/etc/conf.d"
cat >"$WORK/etc/conf.d/checked.conf" <<-END
	pools = ( { name = "checked"; owner = "hpc"; setup = { mode = "noop"; }; needs_check = "30d"; } );
END
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
for t in come_up free_is_checked wrong_orders_are_told a_broken_one_is_put_out a_pool_wants_it a_head_that_dies_goes_on; do
	check "$t" "$t"
done
check 'replays the same' replays_the_same 20 10
exit $FAILED
