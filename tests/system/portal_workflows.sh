#!/bin/bash
# by turns: 115 s: a browser, minutes.
# The workflows' page of the portal in a real browser, against a real head whose agents run what is drawn. The tests are
# tests/portal/{drawing,workflows,triggers}.mjs; pictures lie in $BUILD/portal/pictures afterwards.
. "$(dirname "$0")/agents.bash"
. tests/system/browser.bash
for needed in "$BUILD/portal/index.html" "$BUILD/npm/done"; do
	[ -e "$needed" ] || { echo "not ok $needed is not built"; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "skip portal_workflows: only root asks for links of several users"; exit 0; }
for who in games nobody daemon; do id "$who" >/dev/null 2>&1 || { echo "skip portal_workflows: there is no user $who"; exit 0; }; done
export BUILD

flows_run() {
	local i
	for i in 1 2; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	for i in 1 2; do until_true 20 is n$i .state ready || return 1; done
	mkdir -p "$WORK/shared" "$WORK/home" && chmod 777 "$WORK/shared" "$WORK/home"
	cat >"$WORK/home/flows.conf" <<-END
		name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; lower_bound_size = 1;
		users = "nobody"; lease = "10s"; data_directory = "$WORK/shared"; setup_policy = "noop";
	END
	phx re create "$WORK/home/flows.conf" && setpriv --reuid games --regid games --clear-groups "$BUILD/bin/phx" re activate flows --wait --timeout 60
}

head_init 'server_names = [ "localhost" ]; job_lease_s = 10; service_group = "games"; requests_per_s = 100000;'
printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
	>"$WORK/etc/roles/batch-compute.conf"
phx reload >/dev/null
check "portal an RE for workflows has its nodes" flows_run
[ $# -gt 0 ] || set -- drawing workflows triggers
for tests; do HOME=$WORK/home PORTAL_WORK=$WORK timeout 400 node tests/portal/run.mjs "tests/portal/$tests.mjs" || FAILED=1; done
exit $FAILED
