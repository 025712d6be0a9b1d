#!/bin/bash
# by turns: 90 s: a browser, minutes.
# phoenix-tutorial(7) carried out in a real browser, against a real head with two nodes that are processes: tests/portal/tutorial.mjs. It leaves
# the tutorial with its pictures as $BUILD/portal/pictures/tutorial.md.
. "$(dirname "$0")/agents.bash"
. tests/system/browser.bash
for needed in "$BUILD/portal/index.html" "$BUILD/npm/done"; do
	[ -e "$needed" ] || { echo "not ok $needed is not built"; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "skip portal_tutorial: only root asks for links of several users"; exit 0; }
for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip portal_tutorial: there is no user $who"; exit 0; }; done
export BUILD

two_nodes_are_ready() {
	local i
	for i in 1 2; do
		node_init n$i $i && phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	for i in 1 2; do until_true 20 is n$i .state ready || return 1; done
	mkdir -p "$WORK/shared" "$WORK/home" && chmod 777 "$WORK/shared" "$WORK/home"
}

head_init 'server_names = [ "localhost" ]; job_lease_s = 10; service_group = "games"; requests_per_s = 100000;'
printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
	>"$WORK/etc/roles/batch-compute.conf"
phx reload >/dev/null
check "portal two nodes are ready" two_nodes_are_ready
HOME=$WORK/home PORTAL_WORK=$WORK timeout 600 node tests/portal/run.mjs tests/portal/tutorial.mjs || FAILED=1
exit $FAILED
