# A lab for workflows: one emulated machine and two agents as processes, which all see one directory, as nodes of a site see that of its
# file server. Sourced behind lib.sh.
. tests/system/node_root.bash
MADE=$DIR.conf   # configuration made for this lab
RUN=$DIR.people  # agents as processes, browsers, what is written down
DATA=$DIR.data   # what all nodes of the RE see
FLOWS=${FLOWS:-node1} # the emulated machine among them
ADDRESS=10.77.0.1
export PORTAL_WORK=$RUN/browsers BUILD

# two service providers and an end user, each a user of the head
as() { setpriv --reuid "$1" --regid "$2" --clear-groups env -C / "$PHX" "${@:3}"; }
provider_of_flows() { as games users "$@"; }
scientist() { as nobody nogroup "$@"; }

# ---- the lab ----

# 9p of QEMU is in the place of a site's NFS. Who sees the directory already mounts nothing.
flows_role() {
	cat <<-END
		summary = "Tasks of workflows, on files that all nodes see";
		pool = "batch"; image = "debian-12"; boot = "ram"; runs_jobs = true; drain_grace = "5s";
		services = ( { name = "data"; exec = [ "/bin/sh", "-c",
			"d=$DATA; [ -e \$d/.here ] || { mkdir -p \$d && modprobe 9pnet_virtio && mount -t 9p -o trans=virtio,version=9p2000.L,cache=none share \$d; } && exec sleep infinity" ]; } );
		health = { kind = "exec"; exec = [ "/bin/grep", "-q", "^here", "$DATA/.here" ]; interval = "1s"; timeout = "5s"; failures = 5; };
	END
}
# MACHINE...: groups of lab.conf
people_conf() {
	mkdir -p "$MADE/roles" "$RUN/browsers" "$DATA"
	chmod 755 "$RUN"
	chmod 1777 "$DATA"
	echo here >"$DATA/.here"
	cp -n roles/*.conf "$MADE/roles/"
	flows_role >"$MADE/roles/flows.conf"
	sed "s|@ROLES@|$MADE/roles|" tests/lab/people-head.conf >"$MADE/head.conf"
	{
		printf 'name = "people"; subnet = "10.77.0.0/24"; deploy_image = "deploy"; head_conf = "%s";\nmachines = (\n' "$MADE/head.conf"
		local IFS=,
		echo "$* );"
	} >"$MADE/lab.conf"
}
flows_machine() { echo "{ name = \"$FLOWS\"; memory = \"640 MiB\"; share = \"$DATA\"; disks = ( { bus = \"virtio\"; size = \"2 GiB\"; } ); }"; }
people_down() {
	local pid
	for pid in "$RUN"/*/agent.pid; do [ ! -e "$pid" ] || kill "$(cat "$pid")" 2>/dev/null; done
	lab down >/dev/null 2>&1
	rm -rf "$DIR" "$MADE" "$RUN" "$DATA"
}

# agent_begin NAME N: a node that is a process
agent_begin() {
	local root=$RUN/$1
	node_root "$root" "$2" "$ADDRESS:8443" "$ADDRESS:8080" "$DIR/state/pki" "$DIR/package.pub"
	node_system "$root" debian-12 1 "$(sha256sum <"$DIR/state/images/debian-12/1/manifest.conf" | cut -d' ' -f1)"
	phx node add "$1" --mac "02:00:00:00:00:0$2" || return 1
	in_lab sh -c 'echo $$ >"$1/agent.pid"; exec "$2" --root "$1" --run-dir "$1/run" --facts "$1/facts.json" --boot-id "boot-$3"' \
		agent "$root" "$BUILD/bin/phx-agent" "$1" >>"$root/agent.log" 2>&1 </dev/null &
}
nodes_are_there() {
	agent_begin p1 1 && agent_begin p2 2 || return 1
	phx node power "$FLOWS" on --wait --timeout 3m || return 1
	wait_for 300 "$FLOWS enrols" asked "$FLOWS"
	phx node accept "$FLOWS" || return 1
	local n
	for n in p1 p2 "$FLOWS"; do wait_for 120 "$n is ready" state_is "$n" ready; done
}

# ---- what is done to machines and to the head, while people look on ----

# the process that serves, and all others of phxd with it: as when the power of the head goes
head_dies() {
	local pid
	pid=$(lab status --json | jq .head_pid)
	kill -KILL "$pid" && lab head || die "phxd $pid does not come back"
}
power_goes() { lab kill "$FLOWS"; }
