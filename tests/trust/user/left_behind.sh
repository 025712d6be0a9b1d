#!/bin/bash
# A user whose job runs on a node leaves there what the next one could stumble over, or what would go on without him: files where
# everybody may write, shared memory, a process that left its session. He looks for the processes of others, and for rights of root.
WORK_IN=/run # each run has a /tmp of its own, so that the agent's directories may not lie there
. "$(dirname "$0")/../../system/agents.bash"

# what recursed would need more than this
ulimit -s 1024
for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip left_behind: there is no user $who"; exit 0; }; done
MARK=phx-left-$$
LONG="sleep 98$$" # no other one on this machine

node_runs() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
	node_init n1 1
	echo 'job_private = "yes";' >>"$WORK/n1/etc/phoenix/agent.conf"
	phx node add n1 --mac 02:00:00:00:00:01 >/dev/null || return 1
	agent_start n1
	until_true 15 is n1 .state ready && phx node assign n1 batch-compute --yes >/dev/null && until_true 30 is n1 .state active
}
state() { api "/v1/jobs/$1" | jq -r .state; }
has_ended() { [[ $(state "$1") =~ ^(done|failed)$ ]]; }
# job USER SCRIPT: its output
job() {
	local id
	id=$(phx job submit --user "$1" -- sh -c "$2") && until_true 30 has_ended "$id" && phx job output "$id"
}

# everything that he leaves is where he put it as long as he runs: else nothing here could fail
leaves_nothing() {
	local said
	said=$(job nobody "for dir in /tmp /var/tmp /dev/shm /run/lock; do [ ! -d \$dir ] || echo x >\$dir/$MARK || exit; done
		ipcmk -M 4096 >/dev/null && ipcs -m | grep -c nobody; setsid $LONG >/dev/null 2>&1 &
		n=0; until [ \"\$(pgrep -cfx '$LONG')\" = 1 ] || [ \$((n += 1)) -gt 200 ]; do sleep 0.05; done; ls /tmp; pgrep -cfx '$LONG'")
	[ "$said" = "$(printf '1\n%s\n1\n' "$MARK")" ] || { echo "the job says: $said"; return 1; }
	until_true 10 is_clean || { ls /tmp/"$MARK" /var/tmp/"$MARK" /dev/shm/"$MARK" /run/lock/"$MARK"; ipcs -m; pgrep -fxa "$LONG"; return 1; }
}
is_clean() {
	! ls /tmp/"$MARK" /var/tmp/"$MARK" /dev/shm/"$MARK" /run/lock/"$MARK" >/dev/null 2>&1 && ! ipcs -m | grep -qw nobody && ! pgrep -fx "$LONG" >/dev/null
}
next_one_finds_nothing() { [ "$(job games "ls -A /tmp /var/tmp /dev/shm | grep -c $MARK; ipcs -m | grep -c nobody")" = "$(printf '0\n0\n')" ]; }
nothing_is_kept() { until_true 10 sh -c "[ -z \"\$(ls '$WORK'/n1/var/cache/phoenix-jobs)\" ]" || { ls "$WORK/n1/var/cache/phoenix-jobs"; return 1; }; }
sees_only_his_own() { [ "$(job games 'stat -c %U /proc/[0-9]* 2>/dev/null | sort -u')" = games ]; }
gains_no_rights() { [ "$(job games 'grep ^NoNewPrivs /proc/self/status')" = "$(printf 'NoNewPrivs:\t1')" ]; }
sees_its_own_files() { [ "$(job games 'pwd; cat "$PHX_JOB_NODEFILE"' | sed 's|.*/phoenix-jobs/.*|here|')" = "$(printf 'here\nn1\n')" ]; }
# deeper than any stack or table of descriptors, and where all of it lies, also of a run that an agent of before did not get to
deep_directories_end_nothing() {
	local pid=${AGENT[n1]} said
	said=$(job nobody 'for dir in "$PWD" /tmp /dev/shm; do cd $dir && perl -e '"'"'for (1 .. 12000) { mkdir "d"; chdir "d" or die } print "deep\n"'"'"'; done')
	[ "$said" = "$(printf 'deep\ndeep\ndeep\n')" ] || { echo "the job says: $said"; return 1; }
	nothing_is_kept && kill -0 "$pid" && is n1 .up true && [ "$(job games 'echo goes on')" = 'goes on' ]
}
# a run whose record is damaged may run still: its directory stays
what_may_run_still_stays() {
	local stage=$WORK/n1/var/cache/phoenix-jobs records
	records=$(dirname "$(find "$WORK/n1" -name '[0-9]*.json' -path '*jobs*' | head -n 1)")
	agent_stop n1
	mkdir -p "$stage/99.0/a" "$stage/98.0/a" && echo '{"id": 99, "run"' >"$records/99.json" || return 1
	agent_start n1
	until_true 20 is n1 .up true && until_true 20 [ ! -e "$stage/98.0" ] && [ -d "$stage/99.0/a" ] && rm -r "$stage/99.0" "$records/99.json"
}
an_earlier_agent_s_are_removed() {
	local stage=$WORK/n1/var/cache/phoenix-jobs
	agent_stop n1
	mkdir -p "$stage/7.0/a" "$stage/7.0.private/tmp/b" "$stage/gone/1.1/c" && echo x >"$stage/8.2.out" && chown nobody "$stage/7.0" || return 1
	agent_start n1
	until_true 20 is n1 .up true && nothing_is_kept
}
# an agent whose directories no job would see says so, and does not start
hidden_directories_are_refused() {
	agent_stop n1
	printf 'cache_dir = "/var/tmp/phoenix";\n' >>"$WORK/n1/etc/phoenix/agent.conf"
	agent_start n1
	until_true 15 grep -q 'cache_dir: jobs would not see /var/tmp/phoenix-jobs, .*job_private = "no"' "$WORK/n1.log"
}

head_init
check node_runs node_runs
check sees_its_own_files sees_its_own_files
check leaves_nothing leaves_nothing
check next_one_finds_nothing next_one_finds_nothing
check nothing_is_kept nothing_is_kept
check sees_only_his_own sees_only_his_own
check gains_no_rights gains_no_rights
check deep_directories_end_nothing deep_directories_end_nothing
check what_may_run_still_stays what_may_run_still_stays
check an_earlier_agent_s_are_removed an_earlier_agent_s_are_removed
check hidden_directories_are_refused hidden_directories_are_refused
exit $FAILED
