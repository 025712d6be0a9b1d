#!/bin/bash
# One version apart, both ways: the programs of the version before this one (tests/previous) and those of this tree. A head and
# agents of either, an upgrade under a hand-over, the way back, and the command of either.
# by turns: 180 s: it builds another version.
. "$(dirname "$0")/agents.bash"

THIS=$BUILD
BEFORE=$(BUILD=$THIS tests/previous)
case $? in
0) ;;
77) echo "skip versions: this clone does not have the commit of the version before" && exit 0 ;;
*) echo "not ok the version before is built" && exit 1 ;;
esac

said() { grep -qE -- "$1" "$WORK/said" || { echo "not said: $1"; cat "$WORK/said"; return 1; }; }
# by THIS|BEFORE COMMAND...: with the programs of that version
by() {
	local BUILD=${!1}
	shift
	"$@"
}
version() { "${!1}/bin/phx" --version | sed 's/.* //'; }
is_serving() { is "$1" .state active && is "$1" .role "$2" && is "$1" .up true; }
agent_is() { [ "$(field "$1" .agent_version)" = "$(version "$2")" ]; }
job_runs() { # THIS|BEFORE
	by "$1" phx job submit --user nobody --wait -- sh -c 'echo it ran on $(hostname) in $(basename $PWD)' >"$WORK/said" 2>&1
	said 'it ran on'
}
# given NODE ROLE THIS|BEFORE: by the command of that version
given() { by "$3" phx node assign "$1" "$2" --yes --wait --timeout 2m >"$WORK/said" 2>&1 && is_serving "$1" "$2" || { cat "$WORK/said"; return 1; }; }
role() { # NAME POOL RUNS_JOBS
	cat >"$WORK/etc/roles/$1.conf" <<-END
		summary = "a test"; pool = "$2"; image = "test"; boot = "ram"; runs_jobs = $3; drain_grace = "20s"; packages = [ "tools" ];
	END
}
joins() { # NODE NUMBER THIS|BEFORE
	node_init "$1" "$2" || return 1
	# as the agent of that version writes it when it installs a system
	[ "$3" = THIS ] || sed -i 's/ beacon = "[^"]*";//' "$WORK/$1/etc/phoenix/agent.conf"
	phx node add "$1" --mac "02:00:00:00:00:0$2" >/dev/null && by "$3" agent_start "$1" &&
		until_true 30 is "$1" .state ready && until_true 5 agent_is "$1" "$3"
}

# ---- a head of before ----

versions_are_one_apart() {
	echo "    $(version BEFORE) and $(version THIS)"
	[ "$(version BEFORE)" = 0.0.9 ] && [[ $(version THIS) = 0.1.* ]]
}
an_agent_of_each_joins_a_head_of_before() { joins n1 1 BEFORE && joins n2 2 THIS; }
it_gives_orders_to_both() { given n1 batch-compute BEFORE && given n2 web-nginx BEFORE && job_runs BEFORE; }
# what this command knows beyond that head it says in a sentence
this_command_asks_a_head_of_before() {
	phx node list >"$WORK/said" 2>&1 && said 'n1 .*active' && phx status >"$WORK/said" 2>&1 && phx node show n2 >"$WORK/said" 2>&1 &&
		said 'web-nginx' && given n2 batch-compute THIS && given n2 web-nginx THIS && job_runs THIS
}

# ---- upgrades ----

# a job is on each node, so that the hand-over waits for it; both jobs end as if nothing had been
is_upgraded_in_a_hand_over() {
	local before jobs=() job
	by BEFORE given n2 batch-compute BEFORE || return 1
	for job in 1 2; do jobs+=("$(by BEFORE phx job submit --user nobody -- sh -c 'sleep 8; echo over')"); done
	until_true 20 are "${jobs[*]}" running || { phx job list; return 1; }
	by BEFORE phx node assign n2 web-nginx --yes >/dev/null && until_true 10 is n2 .state draining || { field n2 .; return 1; }
	before=$(api /v1/status | jq .seq)
	head_stop
	head_start
	[ "$(api /v1/status | jq -r .version)" = "$(version THIS)" ] && is n2 .state draining || { field n2 .; return 1; }
	until_true 60 is_serving n2 web-nginx && until_true 20 are "${jobs[*]}" done || { field n2 .; phx job list; return 1; }
	echo "    event $before when it was stopped, $(api /v1/status | jq .seq) at the end"
	is n1 .state active && job_runs THIS
}
are() { # JOBS STATE
	local job
	for job in $1; do [ "$(api "/v1/jobs/$job" | jq -r '"\(.state) \(.run) \(.kills)"')" = "$2 0 0" ] || return 1; done
}
# nothing of what the one before decided is decided otherwise
its_journal_is_replayed() { replays_the_same 20 5; }
the_agent_of_before_takes_its_orders() {
	head_start
	until_true 30 is_serving n1 batch-compute && given n1 web-nginx THIS && given n1 batch-compute THIS && job_runs THIS
}
the_command_of_before_asks_it() {
	by BEFORE phx node list >"$WORK/said" 2>&1 && said 'n1 .*active' && by BEFORE phx status >"$WORK/said" 2>&1 &&
		by BEFORE phx node show n1 >"$WORK/said" 2>&1 && given n2 web-nginx BEFORE && job_runs BEFORE
}
# with the certificate that it has
the_agent_is_upgraded() {
	local serial
	serial=$(openssl x509 -noout -serial -in "$(find "$WORK/n1" -name agent.pem | head -n 1)")
	agent_stop n1
	agent_start n1 || return 1
	until_true 30 agent_is n1 THIS && until_true 30 is_serving n1 batch-compute && job_runs THIS &&
		[ "$(openssl x509 -noout -serial -in "$(find "$WORK/n1" -name agent.pem | head -n 1)")" = "$serial" ]
}

# ---- back ----

# Either it serves, and the power goes, so that this one decides again what it decided; or it says why not, and this one serves on as
# if nothing had been.
before_takes_it_back_or_says_why() {
	local code=0
	head_stop
	"$BEFORE/bin/phxd" --config "$PHX_CONFIG" >"$WORK/said" 2>&1 &
	HEAD=$!
	if until_true 15 api /v1/status; then
		echo "    it serves"
		until_true 30 is_serving n1 batch-compute && job_runs BEFORE || code=1
		head_kill
	else
		sed 's/^/    /' "$WORK/said"
		said 'phxd: ' || code=1
		wait "$HEAD"
		HEAD=
	fi
	head_start
	until_true 30 is_serving n1 batch-compute && until_true 30 is_serving n2 web-nginx && job_runs THIS || code=1
	return $code
}

mkdir -p "$WORK/etc/roles" "$WORK/head"
role batch-compute batch true
role web-nginx web false
by THIS package tools 1.0 'echo tools'
by BEFORE head_init
check "the versions are one apart" versions_are_one_apart
check "agents of both join a head of before" an_agent_of_each_joins_a_head_of_before
check "it gives orders to both" it_gives_orders_to_both
check "this command asks a head of before" this_command_asks_a_head_of_before
check "it is upgraded in the middle of a hand-over" is_upgraded_in_a_hand_over stop
check "its journal is replayed as it was" its_journal_is_replayed
check "an agent of before takes orders of this head" the_agent_of_before_takes_its_orders
check "the command of before asks this head" the_command_of_before_asks_it
check "the agent is upgraded, and keeps its certificate" the_agent_is_upgraded
check "the way back, and forth" before_takes_it_back_or_says_why
exit $FAILED
