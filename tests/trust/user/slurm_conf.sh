#!/bin/bash
# A service provider asks for an RE whose jobs a Slurm of his runs: the file that its commands load, as whoever runs them, would be his. What he may
# name is a Slurm that root has set up; a path, a name that leads elsewhere, or what is not there is refused, or waits for root.
. "$(dirname "$0")/../trust.bash"

asks() { # NAME CONF: status; the sentence is in $WORK/answer
	ask games POST /v1/res -d "{\"agreement\": {\"name\": \"$1\", \"type\": \"parallel_batch_jobs\", \"relationship\": \"affiliated\", \"role\": \"batch\", \"lower\": 1, \"upper\": 1, \"engine\": \"slurm\", \"slurm_conf\": \"$2\"}}"
}
a_file_of_his_is_none() {
	local n=0 path
	for path in "$WORK/his/evil.conf" /etc/slurm/slurm.conf/../../../tmp/x.conf ../his/evil ./evil 'a/b' '/etc/passwd' 'evil conf' "$(head -c 250 /dev/zero | tr '\0' a)"; do
		n=$((n + 1))
		[[ $(asks "evil$n" "$path") =~ ^4 ]] && grep -q slurm_conf "$WORK/answer" || { echo "$path: $(cat "$WORK/answer")"; return 1; }
	done
	api /v1/res | jq -e '.res == []' >/dev/null
}
what_runs_it() { pgrep -f "$WORK/his/plugin" >/dev/null || [ -e "$WORK/his/ran" ]; }
one_that_root_set_up_may_be_named() { [ "$(asks good campus)" = 200 ] || { cat "$WORK/answer"; return 1; }; }
nothing_of_his_ran() { ! what_runs_it; }

mkdir -p "$WORK/his" && chown games "$WORK/his"
printf '#!/bin/sh\ntouch %s/his/ran\n' "$WORK" >"$WORK/his/plugin" && chmod 755 "$WORK/his/plugin"
printf 'ClusterName=evil\nPluginDir=%s/his\n' "$WORK" >"$WORK/his/evil.conf" && chown games "$WORK/his/evil.conf"
trust_head ''
check a_file_of_his_is_none a_file_of_his_is_none
check one_that_root_set_up_may_be_named one_that_root_set_up_may_be_named
check nothing_of_his_ran nothing_of_his_ran
exit $FAILED
