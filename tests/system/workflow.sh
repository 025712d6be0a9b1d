#!/bin/bash
# A workflow carried out by the head on agents as processes: six tasks whose outputs are right, with the head killed in the
# middle and each task run as often as it should; one that fails and is resumed; one that is cancelled.
. "$(dirname "$0")/agents.bash"

for who in games nobody bin; do id "$who" >/dev/null 2>&1 || { echo "skip workflow: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" "$WORK/home" "$WORK/shared" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
chmod 777 "$WORK/home" "$WORK/shared"
as() { setpriv --reuid "$1" --regid users --clear-groups env -C "$WORK/home" "$WORK/bin/phx" "${@:2}"; }
owner() { as games "$@"; }
user() { as nobody "$@"; }
run() { api "/v1/workflows/$1" | jq -r "$2"; }
run_is() { [ "$(run "$1" "$2")" = "$3" ]; }
lines() { wc -l <"$WORK/shared/$1"; }

# task ID COMMAND [MORE]: what it runs notes itself, for how often it ran
task() {
	printf '{ id = "%s"; command = [ "/bin/sh", "-c", "echo x >>%s/shared/ran.%s; %s" ]; cores = 1; %s },\n' "$1" "$WORK" "$1" "$2" "${3:-}"
}
six_tasks() {
	echo 'name = "six"; tasks = ('
	task a 'echo 1 >a.out' 'outputs = [ "a.out" ];'
	task b 'echo 2 >b.out' 'outputs = [ "b.out" ];'
	task c 'sleep 2; expr $(cat a.out) + $(cat b.out) >c.out' 'inputs = [ "a.out", "b.out" ]; outputs = [ "c.out" ]; parents = [ "a", "b" ];'
	task d 'sleep 2; expr $(cat a.out) + 10 >d.out' 'inputs = [ "a.out" ]; outputs = [ "d.out" ]; parents = [ "a" ];'
	task e 'sleep 1; expr $(cat c.out) + 100 >e.out' 'inputs = [ "c.out" ]; outputs = [ "e.out" ]; parents = [ "c" ];'
	task f 'cat d.out e.out >f.out' 'inputs = [ "d.out", "e.out" ]; outputs = [ "f.out" ]; parents = [ "d", "e" ];' | sed 's/,$//'
	echo ');'
}

roles_init() {
	printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
		>"$WORK/etc/roles/batch-compute.conf"
	phx reload >/dev/null
}
flows_run() {
	local i
	for i in 1 2; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	for i in 1 2; do until_true 20 is n$i .state ready || return 1; done
	cat >"$WORK/flows.conf" <<-END
		name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; lower_bound_size = 1;
		users = "nobody"; lease = "10s"; data_directory = "$WORK/shared"; setup_policy = "noop";
	END
	phx re create "$WORK/flows.conf" && owner re activate flows --wait --timeout 60
}

right_in_spite_of_a_crash() {
	local id
	six_tasks >"$WORK/home/six.conf"
	id=$(user workflow submit six.conf --re flows) || return 1
	until_true 20 run_is "$id" .n_done 2 || { run "$id" .; return 1; }
	kill -9 "$HEAD" && wait "$HEAD" 2>/dev/null
	head_start
	until_true 60 run_is "$id" .status done || { run "$id" .; return 1; }
	[ "$(cat "$WORK/shared/f.out" | tr '\n' ' ')" = "11 103 " ] || { cat "$WORK/shared/f.out"; return 1; }
	[ "$(stat -c %U "$WORK/shared/f.out")" = nobody ] && [ "$(run "$id" .n_runs)" = 6 ] || return 1
	local t
	for t in a b c d e f; do [ "$(lines ran.$t)" = 1 ] || { echo "$t ran $(lines ran.$t) times"; return 1; }; done
	user workflow show "$id" | grep -q 'LEVEL' && user workflow show "$id" -o json | jq -e '[.tasks[].state] == ["done","done","done","done","done","done"]' >/dev/null &&
		user workflow show "$id" --graph dot | grep -q '"a" -> "c"' && user workflow list | grep -q six
}
resumed_from_what_is_done() {
	local id
	{ echo 'name = "two"; tasks = ('; task g 'true'; task h "test -e $WORK/shared/now" 'parents = [ "g" ];' | sed 's/,$//'; echo ');'; } >"$WORK/home/two.conf"
	id=$(user workflow submit two.conf --re flows) || return 1
	until_true 30 run_is "$id" .status failed || { run "$id" .; return 1; }
	run "$id" .why | grep -q 'task 2 on n[12]: exit status 1' && touch "$WORK/shared/now" && user workflow resume "$id" || return 1
	until_true 30 run_is "$id" .status done && [ "$(lines ran.g)" = 1 ] && [ "$(lines ran.h)" = 2 ]
}
cancelled_ends_what_runs() {
	local id
	{ echo 'name = "long"; tasks = ('; task i 'sleep 300'; task j 'true' 'parents = [ "i" ];' | sed 's/,$//'; echo ');'; } >"$WORK/home/long.conf"
	id=$(user workflow submit long.conf --re flows) || return 1
	until_true 30 test -e "$WORK/shared/ran.i" && user workflow cancel "$id" || return 1
	until_true 30 run_is "$id" .status cancelled && [ ! -e "$WORK/shared/ran.j" ] && [ "$(run "$id" .n_running)" = 0 ]
}
# A job that wants a core leaves the others of its node: it is a workflow of one task, or of one for each index
jobs_that_want_cores() {
	local said
	said=$(user job submit --re flows --cores 1 --memory 1M --env A=b --wait -- sh -c 'echo $A; pwd') || return 1
	[ "$said" = "b"$'\n'"$WORK/shared" ] || { echo "$said"; return 1; }
	printf '#!/bin/sh\n#PHX --re flows --cores 1\necho "$1" >"got.$PHX_ARRAY_INDEX"\n' >"$WORK/home/part"
	user job submit --array 3-5 --wait "$WORK/home/part" "x y" && [ "$(cat "$WORK"/shared/got.[345] | tr '\n' ,)" = "x y,x y,x y," ] || return 1
	said=$(user job submit --re flows --cores 1 --wait -- false 2>&1)
	[ $? = 1 ] && grep -q 'failed: task 1 on n[12]: exit status 1' <<<"$said" || { echo "$said"; return 1; }
	said=$(user job submit --re flows --cores 1000 -- true 2>&1)
	[ $? != 0 ] || user workflow cancel "${said#workflow }"
}
# Longer than a piece of what is fetched at once, with bytes that are no text; also while it runs, and by who may alone
output_is_fetched() {
	local id get="user workflow output"
	{
		echo 'name = "print"; tasks = ('
		task p 'seq 60000; echo to stderr >&2; printf \"a\\0b\\377\"'
		task q 'true'
		task r "echo begun; read x <$WORK/shared/go; echo ended" 'parents = [ "p", "q" ];'
		task s 'true' 'parents = [ "r" ];' | sed 's/,$//'
		echo ');'
	} >"$WORK/home/print.conf"
	mkfifo -m 666 "$WORK/shared/go"
	id=$(user workflow submit print.conf --re flows) || return 1
	until_true 30 test -e "$WORK/shared/ran.r" && until_true 10 has_begun "$id" || { $get "$id" r; return 1; }
	{ seq 60000; echo to stderr; printf 'a\0b\377'; } >"$WORK/wanted"
	$get "$id" p >"$WORK/got" && cmp "$WORK/wanted" "$WORK/got" || return 1
	$get "$id" p --tail 2 | cmp - <(tail -n 2 "$WORK/wanted") && [ "$($get "$id" 3)" = begun ] || return 1
	$get "$id" r -o json | jq -e '.text == "begun\n" and .size_bytes == 6 and .attempt == 1 and .task == 3 and (.node | test("^n[12]$"))' >/dev/null || return 1
	[ "$(exit_of $get "$id" q)" != 0 ] && grep -q 'nothing is kept' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of $get "$id" s)" != 0 ] && grep -q 'has not begun' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of $get "$id" t)" != 0 ] && grep -q 'no such task' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of as daemon workflow output "$id" p)" != 0 ] && grep -q 'no such workflow run' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of owner workflow output "$id" p)" != 0 ] && grep -q 'no such workflow run' "$WORK/out" || { cat "$WORK/out"; return 1; }
	phx workflow output "$id" p --tail 1 | grep -qa '^a' || return 1
	# nothing of it lies on the head
	! grep -rlax 31337 "$WORK/head" || return 1
	echo >"$WORK/shared/go"
	until_true 30 run_is "$id" .status done && [ "$($get "$id" r)" = "$(printf 'begun\nended')" ] &&
		user workflow show "$id" -o json | jq -e '[.tasks[].node | test("^n[12]$")] == [true, true, true, true]' >/dev/null
}
# an agent that is silent, and a node that is away, are told
silence_is_told() {
	local id node
	id=$(user workflow list -o json | jq '[.workflows[] | select(.name == "print")][0].id')
	node=$(user workflow show "$id" -o json | jq -r '.tasks[2].node') || return 1
	kill -STOP "${AGENT[$node]}"
	user workflow output "$id" r >"$WORK/out" 2>&1 &
	wait $!
	kill -CONT "${AGENT[$node]}"
	grep -q "$node did not answer in time" "$WORK/out" || { cat "$WORK/out"; return 1; }
	agent_stop n1 && agent_stop n2
	until_true 60 says_who_is_away "$id" || { cat "$WORK/out"; return 1; }
}
says_who_is_away() { user workflow output "$1" r >"$WORK/out" 2>&1; grep -q "is on n[12], which is not heard: it cannot be asked now" "$WORK/out"; }
has_begun() { [ "$(user workflow output "$1" r 2>/dev/null)" = begun ]; }
exit_of() { "$@" >"$WORK/out" 2>&1; echo $?; }
# Checked and put into another form by the head, which keeps nothing of it; for who submits jobs
looked_at_alone() {
	local runs
	runs=$(api /v1/workflows | jq '.workflows | length')
	head -c 17000000 /dev/zero >"$WORK/large"
	six_tasks >"$WORK/home/six.conf"
	api /v1/workflows/check -X POST --data-binary "@$WORK/home/six.conf" | jq -e '.form == "conf" and .n_findings == 0 and .n_tasks == 6 and .n_levels == 4' || return 1
	printf 'tasks = (\n{ id = "a"; command = [ "x" ]; outputs = [ "f" ]; nodes = 2; },\n{ id = "b"; outputs = [ "f" ]; } );' |
		api /v1/workflows/check -X POST --data-binary @- | jq -e '[.findings[] | "\(.line) \(.task)"] == ["3 b", "3 b"] and .n_findings == 2' || return 1
	printf 'tasks = (\n{ id = "a"; parents = [ "b" ]; },\n{ id = "b"; parents = [ "a" ]; } );' | api /v1/workflows/check -X POST --data-binary @- |
		jq -e '.n_findings == 1 and .findings[0].line > 1 and (.findings[0].text | test("^task .*waits for itself"))' || return 1
	api '/v1/workflows/convert?to=dax' -X POST --data-binary "@$WORK/home/six.conf" >"$WORK/six.xml" && grep -q '<adag' "$WORK/six.xml" || return 1
	api '/v1/workflows/convert?to=conf' -X POST --data-binary "@$WORK/six.xml" >"$WORK/home/again.conf" || return 1
	cmp <(phx workflow convert "$WORK/home/six.conf") <(phx workflow convert "$WORK/home/again.conf") || return 1
	[ "$(api '/v1/workflows/convert?to=yaml' -X POST -d x -o /dev/null -w '%{http_code}')" = 400 ] &&
		[ "$(api '/v1/workflows/convert?to=dax' -X POST -d '<x' -o /dev/null -w '%{http_code}')" = 400 ] &&
		[ "$(api /v1/workflows/check -X POST --data-binary "@$WORK/large" -o /dev/null -w '%{http_code}')" = 413 ] || return 1
	[ "$(api /v1/workflows | jq '.workflows | length')" = "$runs" ]
}
wrong_ones_are_refused() {
	echo 'tasks = ( { id = "a"; command = [ "true" ]; nodes = 20; } );' >"$WORK/home/wide.conf"
	[ "$(exit_of user workflow submit wide.conf --re flows)" != 0 ] && grep -q 'wants 20 nodes' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of as daemon workflow submit six.conf --re flows)" != 0 ] && grep -q "no RE 'flows'" "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of user job submit --re flows -- true)" != 0 ] && grep -q 'phx workflow submit' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of as daemon workflow show 1)" != 0 ] && grep -q 'no such workflow run' "$WORK/out" && [ -z "$(as daemon workflow list -o name)" ]
}

head_init "job_lease_s = 10; service_group = \"users\";"
roles_init
# told USER: how many of the events that he is told are about tasks of workflows
told() { as "$1" events -n 0 -o json | jq -r .kind | grep -c '^task_results$'; }
others_are_told_nothing() {
	[ "$(told nobody)" -gt 3 ] && [ "$(told games)" = "$(told nobody)" ] && [ "$(told bin)" = 0 ] && [ "$(as bin events -n 0 -o json | jq -r .kind | wc -l)" -gt 3 ] ||
		{ echo "nobody $(told nobody), games $(told games), bin $(told bin)"; return 1; }
}

texts() { find "$WORK" -name 'workflow-*' | wc -l; }
# The core keeps the last 200 runs that are over. Of 400 runs, each with a text of its own, half are forgotten when more come, and their
# texts go with the next 64.
texts_of_forgotten_runs_go() {
	local i first
	mkdir -p "$WORK/many"
	for i in {1..464}; do
		phx workflow convert "$WORK/home/six.conf" | jq -c ".name = \"many$i\"" >"$WORK/many/$i"
		printf 'url = "http://unix/v1/workflows?re=flows&hold=true&user=nobody"\nupload-file = "%s"\nunix-socket = "%s"\nnext\n' "$WORK/many/$i" "$PHX_SOCKET"
	done >"$WORK/many.curl"
	for i in 1-200 201-400 401-464; do
		first=$(api /v1/workflows | jq '[.workflows[].id] | max')
		sed -n "$((4 * ${i%-*} - 3)),$((4 * ${i#*-}))p" "$WORK/many.curl" | sed "\$d" >"$WORK/some.curl"
		curl -sS -K "$WORK/some.curl" >"$WORK/out" || return 1
		curl -sS --unix-socket "$PHX_SOCKET" -X POST -d '{}' "http://unix/v1/workflows/[$((first + 1))-$((first + 1 + ${i#*-} - ${i%-*}))]/cancel" >"$WORK/out2" || return 1
	done
	[ "$(api /v1/workflows | jq '.workflows | length')" = 264 ] || { api /v1/workflows | jq '.workflows | length'; tail -n 3 "$WORK/out" "$WORK/out2"; return 1; }
	[ "$(texts)" -ge 264 ] && [ "$(texts)" -le $((264 + 64)) ] || { texts; return 1; }
}

check "an RE for workflows has its node" flows_run
check "six tasks have the right outputs, each runs once, though the head is killed" right_in_spite_of_a_crash
check "a workflow that failed is resumed from what is done" resumed_from_what_is_done
check "what a task printed is fetched from its node, by who may" output_is_fetched
check "jobs that want cores run side by side on nodes" jobs_that_want_cores
check "a cancelled workflow ends what runs" cancelled_ends_what_runs
check "a workflow is checked and converted without being submitted" looked_at_alone
check "what cannot be carried out, or is not his, is refused" wrong_ones_are_refused
check "who cannot be asked what a task printed is told" silence_is_told
check "others are told nothing of a user's tasks" others_are_told_nothing
check "texts of runs that are forgotten are removed" texts_of_forgotten_runs_go
check "a replay decides the same" replays_the_same 30 20
exit $FAILED
