#!/bin/bash
# by turns: 190 s: it takes long.
# A batch RE whose jobs Slurm starts, and a web RE, exchange nodes: a real slurmctld, real slurmd as the service of each node,
# jobs submitted with sbatch; the head and slurmctld killed at many moments of a return.
. "$(dirname "$0")/agents.bash"
. tests/system/exchange.bash
SLURM_USER=slurm
. tests/system/slurm.bash

for program in slurmctld slurmd munged sbatch; do
	PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "skip slurm: there is no $program"; exit 0; }
done
export PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || { echo "skip slurm: slurmd wants root"; exit 0; }
id "$SLURM_USER" >/dev/null 2>&1 || { echo "skip slurm: there is no user $SLURM_USER"; exit 0; }
trap 'slurm_stop; finish' EXIT

ENGINE='engine = "slurm"; slurm_conf = "test";'
HEAD_CONF="engine_user = \"$SLURM_USER\"; slurm_dir = \"$SLURM-etc\"; slurm_paths = [ \"$SLURM\" ];"
engine_script() { slurmd_script; }
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env -C / SLURM_CONF="$SLURM_CONF" "$@"; }
engine_submit() { as_user sbatch --parsable -N "$1" -o /dev/null --wrap "${*:2}"; }
# a slurmctld that is killed may have forgotten that a job began anew, and lets it run once more after its end
engine_ends() { sort -u "$1"; }
engine_state() {
	squeue -t all -o "%i %T %r %N %S"
	sinfo -h -N -o "%N %T %P %a %E"
	tail -n 20 "$SLURM/log/slurmctld.log"
}
phx_id() { api /v1/jobs | jq -r "[.jobs[] | select(.engine_id == \"$1\")] | last | .id"; }

slurm_up() { chmod 755 "$WORK" && slurm_init 4 && slurm_moments && slurmctld_start -i; }

# those that serve are open, the others are not
nodes_are_open() { [ "$(sinfo -h -t idle -o %D)" = 3 ] && [ "$(sinfo -h -N -t drain -o %N | wc -l)" = 1 ]; }

jobs_are_slurm_s() {
	phx job list | grep -qF nobody && ! phx job cancel "$(phx_id "$WIDE")" >"$WORK/out" 2>&1 && grep -qF scancel "$WORK/out" &&
		! phx job submit --re queue --user nobody -- true >"$WORK/out" 2>&1 && grep -qF sbatch "$WORK/out"
}

requeued_by_slurm() { scontrol show job "$NARROW" | grep -qw Restarts=1 && scontrol show job "$WIDE" | grep -qw Restarts=0; }

all_busy() { until_true $PATIENCE re_is queue .nodes.busy 3; }

times_silent() { phx re history queue | grep -cF 'cannot be asked, and nothing is taken'; }
silent_again() { [ "$(times_silent)" -gt "$1" ]; }

# dies MOMENT USE QUEUE PAGES: slurmctld dies at that moment of what follows from that use of the web; no node is taken until it
# can be asked again, and then it ends as it should
dies() {
	local silent
	silent=$(times_silent)
	slurm_dies "$1"
	use "$2" && until_true $PATIENCE slurm_died && slurmctld_kill && until_true $PATIENCE silent_again "$silent" || return 1
	[ "$2" -lt 500000 ] || ! settled "$3" "$4" || return 1
	slurmctld_start
	until_true $PATIENCE settled "$3" "$4"
}
slurmctld_killed_before_drain() { all_busy && dies 'before drain' 950000 2 2; }
slurmctld_killed_before_resume() { dies 'before resume' 50000 3 1; }
slurmctld_killed_after_drain() { all_busy && dies 'after drain' 950000 2 2; }
demand_falls_again() { use 50000 && until_true $PATIENCE settled 3 1; }
slurmctld_killed_after_requeue() { all_busy && dies 'after requeue' 950000 2 2; }
slurmctld_killed_after_resume() { dies 'after resume' 50000 3 1 && all_busy; }

partition_is() { [ "$(sinfo -h -p queue -o %a)" = "$1" ]; }
# its own configuration has it open
suspended_after_a_restart_too() {
	phx re suspend queue >/dev/null && until_true $PATIENCE partition_is drain || return 1
	slurmctld_kill
	slurmctld_start
	until_true $PATIENCE partition_is drain && ! engine_submit 1 true && phx re resume queue >/dev/null &&
		until_true $PATIENCE partition_is up
}

# nobody else may say what the commands load
conf_of_others_is_refused() {
	chmod 666 "$SLURM_CONF"
	until_true $PATIENCE history_says queue 'may be written by others than root' || return 1
	chmod 644 "$SLURM_CONF"
	until_true $PATIENCE re_is queue .trouble ''
}

# the commands have the rights of SlurmUser, of no group beside its own, and nothing of phxd's environment
commands_are_not_root_s() {
	local expected
	expected=$(id -u "$SLURM_USER"; id -g "$SLURM_USER"; printf 'NoNewPrivs:\t1\n'; printf '%s\n' LC_ALL PATH SLURM_CONF SLURM_TIME_FORMAT)
	[ "$(cat "$SLURM/rights")" = "$expected" ] || { cat "$SLURM/rights"; return 1; }
}

# an agreement names a Slurm that the resource provider has set up; a file of its own it cannot
own_conf_is_refused() {
	sed "s|\"test\"|\"$WORK/slurm.conf\"|" "$WORK/queue.conf" >"$WORK/own.conf"
	! phx re create "$WORK/own.conf" >"$WORK/out" 2>&1 && grep -qF 'write slurm_conf = "NAME"' "$WORK/out" &&
		api /v1/res -d '{"agreement": {"name": "own", "lower": 1, "engine": "slurm", "slurm_conf": "/tmp/x.conf"}}' |
		grep -qF 'is a path, and must be a name'
}

for test in slurm_up exchange_init own_conf_is_refused activation; do check "$test" explained "$test"; done
check nodes_are_open explained until_true $PATIENCE nodes_are_open
for test in jobs_start commands_are_not_root_s jobs_are_slurm_s demand_kills_the_smallest_latest requeued_by_slurm killed_in_the_middle demand_falls \
	slurmctld_killed_before_drain slurmctld_killed_before_resume slurmctld_killed_after_drain demand_falls_again \
	slurmctld_killed_after_requeue slurmctld_killed_after_resume conf_of_others_is_refused killed_at_any_moment suspension \
	suspended_after_a_restart_too all_complete none_ran_twice_at_once deactivation replayed; do
	check "$test" explained "$test"
done
exit $FAILED
