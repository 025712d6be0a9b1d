# Workflows: a real phxd and real agents as processes on one machine carry out a fan of empty tasks and the graph of Montage_1000
# (PHX_TRACES), beside makeflow with as many work_queue workers and, of the fan, GNU parallel, in the same run. Then what it
# costs that many tasks wait, and how soon a file's workflow is submitted. Sourced by run, after jobs.sh.

FLOW_NODES=${FLOW_NODES:-64}
FLOW_FAN=${FLOW_FAN:-20000}
FLOW_WAIT=${FLOW_WAIT:-200000}
FLOW_CORES=2 # of a node, as its facts say
FLOW_WORKERS=()
FLOW_OURS= # seconds that ours took, to be compared

flow_user() { setpriv --reuid nobody --regid users --clear-groups env -C "$JOBS_DIR/flow" HOME="$JOBS_DIR/flow" "$@"; }
# by the list: to show one run with all its tasks costs the head more than to carry out a hundred
flow_listed() { api /v1/workflows | jq -r ".workflows[] | select(.id == $1) | $2"; }
flow_is() { [ "$(flow_listed "$1" "$2")" = "$3" ]; }

# flow_up N: N agents, an RE of all of them for workflows
flow_up() {
	jobs_agents "$1" && mkdir -m 777 "$JOBS_DIR/flow" || return 1
	cat >"$WORK/flows.conf" <<-END
		name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; role = "bench-compute"; granularity = "node";
		resource_coordination_model = "fb"; coordinated_RE = "none"; lower_bound_size = $1; upper_bound_size = $1;
		users = "nobody"; data_directory = "$JOBS_DIR/shared"; setup_policy = "noop";
	END
	jobs_active flows "$1"
}
flow_workers_end() {
	local pid
	for pid in "${FLOW_WORKERS[@]}"; do kill "$pid"; done 2>/dev/null
	for pid in "${FLOW_WORKERS[@]}"; do wait "$pid"; done 2>/dev/null
	FLOW_WORKERS=()
}
flow_down() {
	flow_workers_end
	jobs_down
}

# ---- graphs: a line "TASK PARENT..." a task ----

fan_graph() { seq -f 't%.0f' "$1"; }
montage_graph() {
	xz -dc "$PHX_TRACES/Montage_1000.xml.xz" | awk -F'"' '
		/<job / { order[++n] = $2 }
		/<child / { child = $2 }
		/<parent / { parents[child] = parents[child] " " $2 }
		END { for (i = 1; i <= n; i++) print order[i] parents[order[i]] }'
}
# The same command on both sides: with files, by which makeflow knows who waits for whom.
as_ours() {
	awk -v dir="$JOBS_DIR/shared" 'BEGIN { print "tasks = (" }
		{ printf "%s{ id = \"%s\"; command = [ \"/bin/touch\", \"%s/%s.out\" ]; cores = 1;", (n++ ? ",\n" : ""), $1, dir, $1
		  for (i = 2; i <= NF; i++) printf "%s\"%s\"", (i == 2 ? " parents = [ " : ", "), $i
		  printf "%s }", (NF > 1 ? " ];" : "") }
		END { print "\n);" }'
}
as_makeflow() {
	awk 'BEGIN { print "CORES=1\nMEMORY=1\nDISK=1" }
		{ printf "%s.out:", $1; for (i = 2; i <= NF; i++) printf " %s.out", $i; printf "\n\t/bin/touch %s.out\n", $1 }'
}

# ---- ours ----

# CPU of the head's processes, in ms
flow_head_cpu() {
	head_proc stat | awk -v hz="$(getconf CLK_TCK)" '{ n += $14 + $15 } END { printf "%d", n * 1000 / hz }'
}

# flow_ours NAME FILE N
flow_ours() {
	local id cpu began_ms ended_ms
	FLOW_OURS=
	cpu=$(flow_head_cpu)
	id=$(flow_user "$PHX" workflow submit "$2" --re flows 2>"$WORK/flow.err") || { missed "$1" "$(head -c 200 "$WORK/flow.err")"; return 1; }
	(wait_for 600 "$1" flow_is "$id" .status done) || { missed "$1" "$(flow_listed "$id" '"\(.n_done) of \(.n_tasks) are done"')"; return 1; }
	cpu=$(($(flow_head_cpu) - cpu))
	began_ms=$(flow_listed "$id" .submitted_ms) ended_ms=$(flow_listed "$id" .ended_ms)
	[ "$(find "$JOBS_DIR/shared" -name '*.out' | wc -l)" = "$3" ] || { missed "$1" "not every task has run"; return 1; }
	find "$JOBS_DIR/shared" -name '*.out' -delete
	FLOW_OURS=$(seconds $((ended_ms - began_ms)))
	row "$1: tasks a second" - 1/s - "$(awk -v n="$3" -v s="$FLOW_OURS" 'BEGIN { printf "%.1f", n / s }')"
	row "$1: the head's CPU a task" 0.1 ms - "$(awk -v n="$3" -v c="$cpu" 'BEGIN { printf "%.4f", c / n }')"
}

# ---- theirs ----

# in the same namespace, as the same user
flow_exec() { exec nsenter "--net=/run/netns/$HEAD_NS" setpriv --reuid nobody --regid users --clear-groups env -C "$1" HOME="$1" "${@:2}"; }
flow_in_net() { (flow_exec "$@"); }

# flow_theirs NAME FILE N: a makeflow of N tasks, and as many workers as there were agents, of as many cores
flow_theirs() {
	local name=$1 dir=$JOBS_DIR/flow/makeflow i begin status
	command -v makeflow work_queue_worker >/dev/null || { note "$name: not measured, makeflow is not installed (coop-computing-tools)"; return; }
	rm -rf "$dir" && mkdir -m 777 "$dir" && cp "$2" "$dir/flow.makeflow" || return
	for ((i = 0; i < FLOW_NODES; i++)); do
		mkdir -m 777 "$dir/w$i"
		flow_exec "$dir" work_queue_worker --cores $FLOW_CORES --memory 1024 --disk 1024 -t 600 -s "$dir/w$i" 127.0.0.1 9123 >/dev/null 2>&1 &
		FLOW_WORKERS+=($!)
	done
	begin=$(now_ms)
	flow_in_net "$dir" timeout 900 makeflow -T wq -p 9123 -J $((FLOW_NODES * FLOW_CORES)) flow.makeflow >"$WORK/makeflow.log" 2>&1
	status=$?
	local took=$(($(now_ms) - begin))
	flow_workers_end
	[ $status = 0 ] && [ "$(find "$dir" -maxdepth 1 -name '*.out' | wc -l)" = "$3" ] || { missed "$name" "makeflow: $(tail -n 1 "$WORK/makeflow.log")"; return; }
	row "$name: tasks a second" - 1/s - "$(awk -v n="$3" -v ms=$took 'BEGIN { printf "%.1f", n * 1000 / ms }')"
	[ -z "$FLOW_OURS" ] || row "$name: our time, of theirs" 0.2 "" - "$(awk -v o="$FLOW_OURS" -v t=$took 'BEGIN { printf "%.3f", o * 1000 / t }')"
	rm -rf "$dir"
}
flow_parallel() {
	local begin took
	command -v parallel >/dev/null || { note "GNU parallel: not measured, it is not installed"; return; }
	begin=$(now_ms)
	seq "$1" | flow_user parallel --will-cite -j $((FLOW_NODES * FLOW_CORES)) /bin/touch "$JOBS_DIR/flow/{}.out" || { missed "GNU parallel"; return; }
	took=$(($(now_ms) - begin))
	find "$JOBS_DIR/flow" -name '*.out' -delete
	row "GNU parallel, the same fan, one process, no head: tasks a second" - 1/s - "$(awk -v n="$1" -v ms=$took 'BEGIN { printf "%.1f", n * 1000 / ms }')"
}

# flow_compare NAME GRAPH-COMMAND...
flow_compare() {
	local n
	"${@:2}" >"$WORK/graph" && n=$(wc -l <"$WORK/graph") && [ "$n" -gt 0 ] || { missed "$1" "there is no graph"; return; }
	as_ours <"$WORK/graph" >"$JOBS_DIR/flow/ours.conf"
	as_makeflow <"$WORK/graph" >"$WORK/theirs"
	flow_ours "$1, $n tasks on $FLOW_NODES agents" "$JOBS_DIR/flow/ours.conf" "$n" && flow_theirs "$1, makeflow and work_queue" "$WORK/theirs" "$n"
}

# ---- many that wait ----

# N tasks without parents, as WfFormat
waiting_tasks() {
	awk -v n="$1" 'BEGIN { printf "{\"name\": \"wait\", \"schemaVersion\": \"1.5\", \"workflow\": {\"specification\": {\"tasks\": ["
		for (i = 0; i < n; i++) printf "%s{\"id\": \"w%d\", \"name\": \"w\", \"parents\": [], \"children\": []}", (i ? ",\n" : ""), i
		printf "]}, \"execution\": {\"tasks\": ["
		for (i = 0; i < n; i++) printf "%s{\"id\": \"w%d\", \"coreCount\": 1, \"command\": {\"program\": \"/bin/true\"}}", (i ? ",\n" : ""), i
		print "]}}}" }'
}
flow_waiting() {
	local begin times=() i
	# a file of our own form, which people write, has at most 1 MiB
	waiting_tasks "$FLOW_WAIT" >"$JOBS_DIR/flow/wait.json"
	begin=$(now_ms)
	flow_user "$PHX" workflow submit "$JOBS_DIR/flow/wait.json" --re flows --hold >/dev/null 2>"$WORK/flow.err" ||
		{ missed "$FLOW_WAIT tasks wait" "$(head -c 200 "$WORK/flow.err")"; return; }
	row "phx workflow submit of $FLOW_WAIT tasks" 3 s - "$(seconds $(($(now_ms) - begin)))"
	row "phxd memory, all its processes, $FLOW_WAIT tasks wait" 300 MB - "$(head_memory_mb)"
	for ((i = 0; i < 20; i++)); do
		begin=${EPOCHREALTIME/[.,]/}
		phx workflow list >/dev/null || return
		times+=("$(awk -v a="$begin" -v b="${EPOCHREALTIME/[.,]/}" 'BEGIN { print (b - a) / 1000 }')")
	done
	row "phx workflow list, $FLOW_WAIT tasks wait" 50 ms - "${times[@]}"
}

# ---- a file ----

flow_trigger() {
	local in=$WORK/head/re/flows/users/nobody/in i begin times=()
	mkdir -p "$in" && echo 'tasks = ( { id = "a"; command = [ "/bin/true" ]; cores = 1; } );' >"$JOBS_DIR/flow/one.conf"
	echo 'name = "came"; re = "flows"; workflow = "one.conf"; when = { file = "in/*.dat"; }; when_busy = "queue";' >"$JOBS_DIR/flow/came.conf"
	(cd "$JOBS_DIR/flow" && phx trigger create came.conf --user nobody >/dev/null 2>"$WORK/flow.err") || { missed "a file's workflow is submitted" "$(head -c 200 "$WORK/flow.err")"; return; }
	(wait_for 20 "the watcher" eval '[[ $(api /v1/triggers/came | jq -r .watch) == watches* ]]') || return
	for ((i = 1; i <= 20; i++)); do
		echo x >"$in/.f$i"
		begin=$(now_ms)
		mv "$in/.f$i" "$in/f$i.dat"
		(wait_for 20 "run $i" eval "[ \"\$(api /v1/triggers/came | jq .n_begun)\" = $i ]") || { missed "a file's workflow is submitted"; return; }
		times+=($(($(flow_listed "$(api /v1/triggers/came | jq -r '.last[-1].run')" .submitted_ms) - begin)))
	done
	row "a file is there to its workflow is submitted" 200 ms - "${times[@]}"
}

flow() {
	if ! flow_up "$FLOW_NODES"; then
		missed "workflows on $FLOW_NODES agents" "see $WORK/phxd.log"
		flow_down
		return
	fi
	flow_compare "a fan of empty tasks" fan_graph "$FLOW_FAN" && flow_parallel "$FLOW_FAN"
	if [ -n "${PHX_TRACES:-}" ]; then
		flow_compare "Montage_1000 with empty tasks" montage_graph
	else
		note "Montage_1000: not measured, PHX_TRACES is not set"
	fi
	flow_trigger
	flow_waiting
	note "flow: $FLOW_NODES agents (or workers) of $FLOW_CORES cores each shared this machine's $(nproc) cores with the head; every task is /bin/touch of a file of its own"
	flow_down
}
