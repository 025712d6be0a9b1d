#!/bin/bash
# Setup policy data on a real head, with agents as processes: what jobs left is destroyed where the node is, nobody says that a
# disk was erased, and what cannot be proven is erased with all else.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip setup_policy: there is no user $who"; exit 0; }; done
CACHE=var/cache/phoenix

queue_runs() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
	node_init n1 1
	phx node add n1 --mac 02:00:00:00:00:01 >/dev/null || return 1
	agent_start n1
	chmod 755 "$WORK/n1" "$WORK/n1/run"
	until_true 15 is n1 .state ready || return 1
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; owner = "games"; type = "parallel_batch_jobs"; relationship = "affiliated"; lower_bound_size = 1;
		lease = "2s"; setup_policy = "data";
	END
	phx re create "$WORK/queue.conf" >/dev/null && activate && phx re show queue | grep -q data
}
activate() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" re activate queue --wait --timeout 60 >/dev/null && until_true 20 is n1 .state active; }
deactivate() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" re deactivate queue --yes >/dev/null; }
note() { phx events --lines 0 | grep -q "$1"; }

# what the plan comes to, and what is asked about before
plan_is_told() {
	phx node assign n1 batch-compute --pool web --dry-run >"$WORK/out" && grep -q 'scratch .*destroy what jobs and their users left' "$WORK/out" &&
		grep -q 'in-place' "$WORK/out" && ! grep -q '^  wipe' "$WORK/out" && ! phx node assign n1 batch-compute --pool web </dev/null >"$WORK/out" 2>&1
}

# an agent or a machine that died may leave what it had, in its places; a job's own output is at the head before
left_is_destroyed() {
	local id
	id=$(phx job submit --re queue --user nobody -- sh -c 'echo secret | tee kept') && until_true 20 eval "[ \$(api /v1/jobs/$id | jq -r .state) = done ]" || return 1
	mkdir -p "$WORK/n1/$CACHE-jobs/7.0" "$WORK/n1/$CACHE-tasks/queue.4242" && echo secret >"$WORK/n1/$CACHE-jobs/7.0/kept" &&
		echo secret >"$WORK/n1/$CACHE-tasks/queue.4242/kept" && chown 4242 "$WORK/n1/$CACHE-tasks/queue.4242/kept" && echo secret >"$WORK/n1/$CACHE/jobs/7.0"
	deactivate && until_true 30 is n1 .state ready || return 1
	[ -z "$(grep -rl secret "$WORK/n1/var/cache")" ] && note 'n1: step scratch done .*no disk was erased' && is n1 .dirty true && is n1 .owes_data false &&
		[ "$(phx erasure list -o name | wc -l)" = 0 ] && [ "$(api /v1/nodes/n1 | jq -r '[.plan.steps[].kind] | join(" ")')" = 'drain stop leave scratch' ]
}

# a file of a user outside of the scratch: who knows what else there is? An agent below a directory has no disk to erase
unproven_is_erased() {
	activate || return 1
	mkdir -p "$WORK/n1/srv" && echo secret >"$WORK/n1/srv/mine" && chown 4242 "$WORK/n1/srv/mine" && deactivate || return 1
	until_true 40 is n1 .state quarantined && note 'srv/mine is of user 4242, and not in the scratch; its disks are erased instead' &&
		api /v1/nodes/n1 | jq -e '.owes_data and .tenant == "unix:games"' >/dev/null && [ "$(phx erasure list -o name | wc -l)" = 0 ]
}

mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
head_init 'service_group = "users";'
for test in queue_runs plan_is_told left_is_destroyed unproven_is_erased; do check "${test//_/ }" "$test"; done
check 'replays the same' replays_the_same 20 5
exit $FAILED
