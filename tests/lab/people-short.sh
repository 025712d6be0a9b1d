#!/bin/bash
# The lab that people will work in: one emulated machine and two processes, which see one directory, become nodes. Prints "ok NAME" or
# "not ok NAME" a step. KEEP=1 leaves the lab.
export LAB=${LAB:-people$$}
. "$(dirname "$0")/lib.sh"
. tests/lab/people.bash
[ -n "${KEEP:-}" ] || trap people_down EXIT

check() {
	local name=$1 begin=$SECONDS
	shift
	if ("$@"); then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		echo "not ok $name"
		phx node list
		phx events -n 60
		tail -n 20 "$RUN"/*/agent.log
		tail -n 30 "$DIR/machines/$FLOWS/console.log" 2>/dev/null
		tail -n 20 "$DIR"/phxd.log 2>/dev/null
		exit 1
	fi
}
for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip people: there is no user $who"; exit 0; }; done
stands() { people_down; people_conf "$(flows_machine)" && lab up -f "$MADE/lab.conf" && push_packages; }
check lab_up stands
check a_machine_and_two_processes_are_nodes nodes_are_there
