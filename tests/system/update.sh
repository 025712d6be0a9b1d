#!/bin/bash
# A role's package in version 2 that does not start: why is said in its own words, and the node runs version 1 again.
. "$(dirname "$0")/agents.bash"

assign() { phx node assign n1 web --yes --wait --timeout 120 >"$WORK/out" 2>&1; }
serves_1() { assign && is n1 .actual_identity "test@1 web-1.0"; }
bad_update_goes_back() {
	package web 2.0 'echo "port 80: cannot listen" >&2; printf "\033[2Jgiving up\n" >&2; exit 7'
	phx reload >/dev/null
	assign && { echo "it succeeded?"; return 1; }
	cat "$WORK/out"
	grep -q 'went back to test@1 web-1.0: step start failed 3 times: service web ended within its settle time of 1 s with status 7: port 80: cannot listen / ?\[2Jgiving up' \
		"$WORK/out" || return 1
	is n1 .state active && is n1 .actual_identity "test@1 web-1.0" && is n1 .drift true && is n1 .healthy true || return 1
	[ "$(cat "$WORK/runs")" = 1.0 ] && kill -0 "$(cat "$WORK/n1/run/services/web.pid" | cut -d' ' -f1)"
}
# What the failed version wrote, and what the one before and after it wrote, is asked of the agent.
logs_are_shown() {
	phx node logs n1 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	[ "$(tail -n 1 "$WORK/out")" = "pages, version 1.0" ] && [ "$(grep -c 'port 80: cannot listen' "$WORK/out")" = 3 ] &&
		grep -qx '?\[2Jgiving up' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(phx node logs n1 web --lines 1)" = "pages, version 1.0" ] && [ "$(phx node logs n1 -n 0 -o json | jq -r .service)" = web ]
}
logs_refuse() { # EXIT TEXT ARGUMENT...
	local code=$1 text=$2
	shift 2
	"$@" >"$WORK/out" 2>&1
	[ $? = "$code" ] && grep -q "$text" "$WORK/out" || { cat "$WORK/out"; return 1; }
}
logs_are_not_for_everybody() {
	logs_refuse 64 "there is no node 'n9'" phx node logs n9 && logs_refuse 64 "no service 'db' here, but: web" phx node logs n1 db || return 1
	mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
	logs_refuse 77 . setpriv --reuid nobody --regid users --clear-groups "$WORK/bin/phx" node logs n1
}
# Nothing is asked over and over: the answer comes when there is one.
logs_follow() {
	"$BUILD/bin/phx" node logs n1 -f -n 1 >"$WORK/follow" 2>&1 &
	local pid=$!
	until_true 10 grep -q 'version 1.0' "$WORK/follow" || { cat "$WORK/follow"; return 1; }
	sleep 0.5
	touch "$WORK/say"
	until_true 10 grep -qx 'said so' "$WORK/follow" || { cat "$WORK/follow"; kill $pid; return 1; }
	kill $pid
	[ "$(cat "$WORK/follow")" = "pages, version 1.0
said so" ]
}
# With nothing to write, and while the agent says nothing.
followers_end_with_their_reader() {
	local pid command status=0
	mkfifo "$WORK/pipe" || return 1
	for command in "events -f" "node logs n1 -f"; do
		"$BUILD/bin/phx" $command -n 0 >"$WORK/pipe" 2>"$WORK/err" &
		pid=$!
		exec 9<"$WORK/pipe"
		sleep 2
		kill -STOP "${AGENT[n1]}"
		exec 9<&-
		until_true 4 gone $pid && [ ! -s "$WORK/err" ] || { status=1 && echo "$command:" && cat "$WORK/err"; }
		kill -CONT "${AGENT[n1]}"
		kill $pid 2>/dev/null
	done
	return $status
}
gone() { ! kill -0 "$1" 2>/dev/null; }
# Eight may follow at once, and each is served; who comes then hears that there are too many, and the agent goes on.
# A reader that left a moment ago may still have its place: who was refused for that asks again.
follows() { # NUMBER
	if [ -z "${pids[$1]:-}" ] || ! kill -0 "${pids[$1]}" 2>/dev/null; then
		"$BUILD/bin/phx" node logs n1 -f -n 1 >"$WORK/follow$1" 2>"$WORK/follow$1.err" &
		pids[$1]=$!
	fi
	[ -s "$WORK/follow$1" ]
}
said_twice() { [ "$(grep -cx 'said so' "$1")" = 2 ]; } # the last line as it came, and the new one
eight_may_follow() {
	local i pids=() ok=0
	for i in 1 2 3 4 5 6 7 8; do until_true 10 follows "$i" || ok=1; done
	until_true 10 logs_refuse 75 'too many ask nodes just now' phx node logs n1 || ok=1
	touch "$WORK/say"
	for i in 1 2 3 4 5 6 7 8; do until_true 10 said_twice "$WORK/follow$i" || ok=1; done
	kill "${pids[@]}" || ok=1 # each still follows
	until_true 10 phx node logs n1 || ok=1 # nobody waits for their answers any more
	[ $ok = 0 ] && is n1 .state active || { head -n 3 "$WORK"/follow*; return 1; }
}
it_is_told() {
	phx events --node n1 --lines 0 | grep -q 'the update of role web failed: .*port 80: cannot listen.* it goes back to test@1 web-1.0' &&
		phx node show n1 | grep -q 'update failed, runs test@1 web-1.0 again' || { phx events --node n1 --lines 0; return 1; }
}
good_update_is_taken() {
	package web 3.0 "echo 3.0 >$WORK/runs; exec sleep 1000"
	phx reload >/dev/null
	assign && is n1 .actual_identity "test@1 web-3.0" && is n1 .reason "" && [ "$(cat "$WORK/runs")" = 3.0 ]
}
# The way back is in the journal: it is the same after a restart.
restart_knows() {
	head_kill
	head_start
	until_true 20 is n1 .up true && is n1 .actual_identity "test@1 web-3.0" && is n1 .state active
}

head_init || exit 1
cat >"$WORK/etc/roles/web.conf" <<-END
	summary = "pages"; pool = "web"; image = "test"; boot = "ram"; packages = [ "web" ];
	services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "2s"; } );
END
package web 1.0 "echo 1.0 >$WORK/runs; echo 'pages, version 1.0'; while :; do [ -e $WORK/say ] && rm $WORK/say && echo 'said so'; sleep 0.2; done"
phx reload >/dev/null
phx node add n1 --mac 02:00:00:00:00:01 >/dev/null
node_init n1 1
agent_start n1
until_true 20 is n1 .state ready || not_ok "n1 is ready"
check "version 1 serves" serves_1
check "a version that does not start goes back, with what it wrote" bad_update_goes_back
check "events and the node's record say so" it_is_told
check "phx node logs shows what a service wrote" logs_are_shown
check "it goes on with what it writes" logs_follow
check "who follows ends with his reader" followers_end_with_their_reader
check "eight may follow at once" eight_may_follow
check "logs are for the resource provider and the owner" logs_are_not_for_everybody
check "a better version is taken" good_update_is_taken
check "a restart changes nothing of it" restart_knows
exit $FAILED
