#!/bin/bash
# A batch RE whose jobs Slurm starts, and a web RE, exchange nodes: a real slurmctld, real slurmd as the service of each node,
# jobs submitted with sbatch; the head and slurmctld killed in the middle of a return.
. "$(dirname "$0")/agents.bash"
. tests/system/exchange.bash
. tests/system/slurm.bash

for program in slurmctld slurmd munged sbatch; do
	PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "ok slurm # SKIP there is no $program"; exit 0; }
done
export PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || { echo "ok slurm # SKIP slurmd wants root"; exit 0; }
trap 'slurm_stop; finish' EXIT

ENGINE="engine = \"slurm\"; slurm_conf = \"$SLURM/slurm.conf\";"
engine_script() { slurmd_script; }
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env -C / SLURM_CONF="$SLURM_CONF" "$@"; }
engine_submit() { as_user sbatch --parsable -N "$1" -o /dev/null --wrap "${*:2}"; }
# Slurm lets a job that was requeued wait for two minutes
engine_hurry() { scontrol update "jobid=$1" starttime=now 2>/dev/null || true; }
engine_state() { squeue -t all -o "%i %T %r %N %S"; sinfo -h -N -o "%N %T %E"; }
phx_id() { api /v1/jobs | jq -r "[.jobs[] | select(.engine_id == \"$1\")] | last | .id"; }

slurm_up() { slurm_init 4 && slurmctld_start -i; }

# those that serve are open, the others are not
nodes_are_open() { [ "$(sinfo -h -t idle -o %D)" = 3 ] && [ "$(sinfo -h -N -t drain -o %N | wc -l)" = 1 ]; }

jobs_are_slurm_s() {
	phx job list | grep -qF nobody && ! phx job cancel "$(phx_id "$WIDE")" >"$WORK/out" 2>&1 && grep -qF scancel "$WORK/out" &&
		! phx job submit --re queue --user nobody -- true >"$WORK/out" 2>&1 && grep -qF sbatch "$WORK/out"
}

requeued_by_slurm() { scontrol show job "$NARROW" | grep -qw Restarts=1 && scontrol show job "$WIDE" | grep -qw Restarts=0; }

# it dies as soon as the return is decided: nothing is taken until it can be asked again
slurmctld_killed_in_the_middle() {
	local id
	for id in $WIDE $NARROW $NEXT; do engine_hurry "$id"; done
	until_true 60 re_is queue .nodes.busy 3 && use 950000 || return 1
	until_true 20 re_is pages .nodes.want 2
	slurmctld_kill
	until_true 60 history_says queue 'cannot be asked, and nothing is taken' || return 1
	re_is pages .nodes.held 1 || re_is pages .nodes.held 2 || return 1
	slurmctld_start
	until_true 90 settled 2 2 && history_says queue 'of RE queue answers'
}

demand_falls_again() { use 50000 && until_true 60 settled 3 1; }

# nobody may make root load what he likes
conf_of_others_is_refused() {
	chmod 666 "$SLURM/slurm.conf"
	until_true 30 history_says queue 'may be written by others than root' || return 1
	chmod 644 "$SLURM/slurm.conf"
	until_true 30 re_is queue .trouble ''
}

for test in slurm_up exchange_init activation; do check "$test" "$test"; done
check nodes_are_open until_true 30 nodes_are_open
for test in jobs_start jobs_are_slurm_s demand_kills_the_smallest_latest requeued_by_slurm killed_in_the_middle demand_falls \
	slurmctld_killed_in_the_middle demand_falls_again conf_of_others_is_refused killed_at_any_moment all_complete none_ran_twice_at_once \
	deactivation replayed; do
	check "$test" "$test"
done
exit $FAILED
