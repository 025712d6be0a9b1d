#!/bin/bash
# by turns: 60 s: it takes long.
# A batch RE and a web RE exchange nodes, jobs started by our agents: exchange.bash, as slurm.sh has it for Slurm.
. "$(dirname "$0")/agents.bash"
. tests/system/exchange.bash

id nobody >/dev/null 2>&1 || { echo "skip exchange: there is no user nobody"; exit 0; }
ENGINE='engine = "builtin";'
engine_script() { echo 'exec sleep 100000'; }
engine_submit() { phx job submit --re queue --user nobody -n "$1" -- "${@:2}"; }
engine_ends() { cat "$1"; }
engine_state() { :; }
phx_id() { echo "$1"; }

for test in exchange_init activation jobs_start demand_kills_the_smallest_latest killed_in_the_middle demand_falls killed_at_any_moment \
	suspension all_complete none_ran_twice_at_once deactivation replayed; do
	check "$test" explained "$test"
done
exit $FAILED
