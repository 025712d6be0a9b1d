#!/bin/bash
# phx node log with a real agent: what the agent said, one step, a service, and of a node that is gone what it told the head when a step,
# or a service, failed. Who may not see it does not.
. "$(dirname "$0")/agents.bash"

assign() { phx node assign n1 web --yes --wait --timeout 120 >"$WORK/out" 2>&1; }
serves_1() { assign && is n1 .actual_identity "test@1 web-1.0" || { cat "$WORK/out"; return 1; }; }
# the last step of that kind
step_id() { field n1 "[.plan.steps[] | select(.kind == \"$1\") | .id] | last"; }
# shows PATTERN ARGUMENTS...: phx node log says that
shows() { phx node log "${@:2}" >"$WORK/out" 2>"$WORK/err" && grep -qE -- "$1" "$WORK/out" || { echo "no '$1' in: ${*:2}"; cat "$WORK/out" "$WORK/err"; return 1; }; }
exits() { # STATUS COMMAND...
	local got
	"${@:2}" >"$WORK/out" 2>"$WORK/err"
	got=$?
	[ $got = "$1" ] || { echo "${*:2}: wanted $1, got $got"; cat "$WORK/out" "$WORK/err"; return 1; }
}
kept() { api "/v1/nodes/n1/logs?of=kept" | jq -r .text; }

agent_is_shown() { shows 'registered as n1' n1 -n 1000 && shows . n1 -n 1 && [ "$(wc -l <"$WORK/out")" = 1 ] && [ "$(phx node log n1 -o json | jq -r .node)" = n1 ]; }
service_is_shown() { shows '^pages, version 1.0$' n1 web; }
step_is_shown() {
	local id
	id=$(step_id start)
	shows "step $id start of epoch" n1 --step "$id" && grep -q "step $id start: done" "$WORK/out" || { field n1 .plan; return 1; }
	! grep -qE 'registered|step [0-9]+ health' "$WORK/out" || return 1
	# by its place in the plan
	shows "step $id start: done" n1 --step "$(field n1 '[.plan.steps[].kind] | index("start") + 1')" && exits 64 phx node log n1 --step 900 && exits 64 phx node log n1 --step last
}
one_of_them_is_asked_for() { exits 64 phx node log n1 web --step 1 && grep -q "only one of them" "$WORK/err" && exits 64 phx node log n1 --dmesg --step 1 && exits 64 phx node log n9; }
others_are_refused() {
	local option
	for option in "" "--step 1" --dmesg; do
		# shellcheck disable=SC2086
		exits 77 setpriv --reuid nobody --regid users --clear-groups "$BUILD/bin/phx" node log n1 $option || return 1
	done
}
# it goes on with what is said; of a step until that has ended
it_follows() {
	local pid
	"$BUILD/bin/phx" node log n1 -f -n 1 >"$WORK/follow" 2>&1 &
	pid=$!
	package web 2.0 "echo 'pages, version 2.0'; until [ -e $WORK/die ]; do sleep 0.2; done; echo 'it goes down'; exit 3"
	phx reload >/dev/null
	until_true 10 test -s "$WORK/follow" && assign && until_true 10 grep -q ' start: done' "$WORK/follow"
	local r=$?
	{ kill $pid && wait $pid; } 2>/dev/null
	[ $r = 0 ] || { cat "$WORK/follow" "$WORK/out"; return 1; }
	timeout 20 "$BUILD/bin/phx" node log n1 --step "$(step_id start)" -f >"$WORK/follow" 2>&1 && grep -q ' start: done' "$WORK/follow"
}
# of a service that dies, and does not come again, the head keeps what it wrote
service_dies() {
	touch "$WORK/die"
	told() { kept | grep -q '^service web: it goes down$'; }
	until_true 30 told || { kept; field n1 '.health_text'; return 1; }
}
# of a step that fails it keeps what was said of it, and shows that when the node is gone
step_fails() {
	local step
	rm "$WORK/die" # the version before, to which it goes back, runs again
	package web 3.0 'echo "port 80: cannot listen" >&2; printf "\033[2Jgiving up\n" >&2; exit 7'
	phx reload >/dev/null
	assign
	failed() { kept | grep -qE '^step [0-9]+: .*phx-agent: step [0-9]+ start: .*port 80: cannot listen'; }
	until_true 30 failed || { cat "$WORK/out"; kept; return 1; }
	! kept | grep -q "$(printf '\033')" || { echo "an escape sequence is kept"; return 1; }
	step=$(kept | sed -nE 's/^step ([0-9]+): .* start: .*/\1/p' | tail -n 1)
	agent_kill n1
	until_true 20 is n1 .up false && shows "phx-agent: step $step start: .*cannot listen" n1 --step "$step" || return 1
	grep -q 'n1 is not heard.*this is what it told the head when something failed' "$WORK/err" || { cat "$WORK/err"; return 1; }
	shows "^step $step: " n1 && exits 75 phx node log n1 --step 999999999 && grep -q 'n1 is not heard.*nor has the head kept' "$WORK/err" || { cat "$WORK/err"; return 1; }
	exits 75 phx node log n1 --dmesg
}

head_init || exit 1
cat >"$WORK/etc/roles/web.conf" <<-END
	summary = "pages"; pool = "web"; image = "test"; boot = "ram"; packages = [ "web" ];
	services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "2s"; } );
END
package web 1.0 "echo 'pages, version 1.0'; while :; do sleep 0.2; done"
phx reload >/dev/null
phx node add n1 --mac 02:00:00:00:00:01 >/dev/null
node_init n1 1
agent_start n1
until_true 20 is n1 .state ready || not_ok "n1 is ready"
for t in serves_1 agent_is_shown service_is_shown step_is_shown one_of_them_is_asked_for others_are_refused it_follows service_dies step_fails; do check $t $t; done
exit $FAILED
