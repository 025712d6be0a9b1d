#!/bin/bash
# The command line where rules assign nodes by themselves: --wait follows a node until it is where the rules put it.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

comes_up_by_itself() {
	post /v1/nodes '{"name": "c1", "macs": ["02:00:00:00:00:01"], "serial": "SN1", "hold": true}' >/dev/null
	fake_start c1 1 --env os --image test --digest "$IMAGE_DIGEST"
	until_true 10 is c1 .asked true && phx node accept c1 --wait --timeout 30s 2>/dev/null && idle c1 active web
}
release_waits_for_what_comes_next() {
	phx node release c1 --yes --wait --timeout 30s 2>"$WORK/err" || { cat "$WORK/err"; return 1; }
	idle c1 active web
}
resume_waits_for_what_comes_next() {
	phx node quarantine c1 --reason test && is c1 .state quarantined || return 1
	phx node resume c1 --wait --timeout 60s 2>"$WORK/err" || { cat "$WORK/err"; return 1; }
	idle c1 active web
}

head_conf 'auto_assign = true;'
head_start
package tools 1.0 'echo tools'
roles_init
echo 'rules = ( { role = "web"; when = [ "cpus >= 1" ]; } );' >"$WORK/etc/roles/rules.conf"
post /v1/reload >/dev/null
for test in comes_up_by_itself release_waits_for_what_comes_next resume_waits_for_what_comes_next; do
	check $test $test
done
exit "$FAILED"
