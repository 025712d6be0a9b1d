# Emulated machines (QEMU, software emulation), a lab each for what belongs together. Sourced by run.
# Power-on is the start of the QEMU process that the machine's BMC starts; the ends are events of the journal, and for
# the page the first answer with status 200. Only the hardware is emulated: firmware, kernels and programs are real.

EMULATED_RUNS=${EMULATED_RUNS:-3}

# machine NAME FIRMWARE MEMORY: one line of lab.conf
machine() {
	printf '{ name = "%s"; firmware = "%s"; memory = "%s"; cpus = 1; nic = "virtio"; disks = ( { bus = "virtio"; size = "2 GiB"; } ); }' "$@"
}

# lab_begin NAME DEPLOY_IMAGE MACHINES...: a lab whose nodes are accepted beforehand and assign themselves
lab_begin() {
	local image=$2 list
	LAB=$1
	DIR=$LABS/$LAB
	export PHX_SOCKET=$DIR/phxd.sock PHX_CONFIG=$DIR/etc/phoenix.conf
	echo 'rules = ( { role = "web-server"; when = [ "name ~ web*" ]; } );' >"$WORK/rules.conf"
	{
		cat etc/lab-head.conf
		echo "auto_assign = true; rules_file = \"$WORK/rules.conf\";"
	} >"$WORK/head.conf"
	list=$(printf '%s,\n' "${@:3}")
	printf 'name = "%s"; subnet = "10.77.0.0/24"; deploy_image = "%s"; head_conf = "%s";\nmachines = (\n%s );\n' \
		"$LAB" "$image" "$WORK/head.conf" "${list%,}" >"$WORK/lab.conf"
	lab up -f "$WORK/lab.conf" >"$WORK/lab.log" 2>&1 && push_packages >>"$WORK/lab.log" 2>&1 && phx node accept '@all' --yes >>"$WORK/lab.log" 2>&1
}
# what it leaves (consoles, journal) is kept only when something went wrong
lab_end() {
	lab down >>"$WORK/lab.log" 2>&1
	[ ${#MISSED[@]} -gt 0 ] || rm -rf "$DIR"
}
emulated_down() {
	for LAB in bench-$$a bench-$$b bench-$$c bench-$$d bench-$$e; do [ ! -d "$LABS/$LAB" ] || lab_end; done
}

# Switch NODE on; ON_MS is when its QEMU began, ON_SEQ the last event before.
power_on() {
	local pid
	ON_SEQ=$(seq_now)
	phx node power "$1" on --wait --timeout 2m >/dev/null 2>&1 || return 1
	pid=$(cut -d' ' -f1 "$DIR/machines/$1/qemu.pid") || return 1
	ON_MS=$(awk -v now="$(now_ms)" -v hz="$(getconf CLK_TCK)" 'NR == FNR { up = $1; next }
		{ sub(/.*\) /, ""); printf "%.0f", now - (up - $20 / hz) * 1000 }' /proc/uptime "/proc/$pid/stat")
}
registered_ms() { events "$1" "$ON_SEQ" 'map(select(.kind == "hello"))[0].time_ms // empty'; }
has_registered() { [ -n "$(registered_ms "$1")" ]; }
# Prints seconds from power-on to registration.
registered() {
	(wait_for 120 "$1 registers" has_registered "$1") && seconds $(($(registered_ms "$1") - ON_MS))
}
# The same to the first page.
served() {
	local ip end=$((SECONDS + 300))
	ip=$(machine_field "$1" .ip)
	until in_lab curl -sf -m 1 -o "$WORK/page" "http://$ip/"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
	seconds $(($(now_ms) - ON_MS))
}

# boots TITLE TARGET PREFIX: the first boot of PREFIX1.. to registration
boots() {
	local i times=() t
	for ((i = 1; i <= EMULATED_RUNS; i++)); do
		power_on "$3$i" && t=$(registered "$3$i") || { missed "$1" "$3$i did not register"; return; }
		times+=("$t")
		lab kill "$3$i" >/dev/null 2>&1
	done
	row "$1" "$2" s - "${times[@]}"
}

# power-on to page; the last machine is left on
pages() {
	local i page=() t
	for ((i = 1; i <= EMULATED_RUNS; i++)); do
		power_on web$i && t=$(served web$i) || { missed "power-on to page" "web$i: $(node_field web$i '"\(.state) \(.reason)"')"; return 1; }
		page+=("$t")
		(wait_for 60 "web$i is active" state_is web$i active) || { missed "power-on to page" "web$i does not become active"; return 1; }
		[ $i = "$EMULATED_RUNS" ] || lab kill web$i >/dev/null 2>&1
	done
	row "power-on to page served, blank disk, all automatic" 45 s - "${page[@]}"
	note "power-on to page, steps in ms: $(api /v1/nodes/web$EMULATED_RUNS | jq -r '[.plan.steps[] | "\(.kind) \(.ended_ms - .issued_ms)"] | join(", ")')"
}

# The last web server changes hands: to batch and back in place, to batch in place and back with a wipe.
handovers() {
	local node=web$EMULATED_RUNS i noop=() wipe=() t
	handover $node batch-compute noop >/dev/null && handover $node web-server noop >/dev/null ||
		{ missed "emulated hand-overs" "see $WORK/assign.out"; return; }
	for ((i = 1; i <= EMULATED_RUNS; i++)); do
		t=$(handover $node batch-compute noop) || { missed "NOOP hand-over, emulated"; return; }
		noop+=("$(seconds "$t")")
		t=$(handover $node web-server noop) || { missed "NOOP hand-over, emulated"; return; }
		noop+=("$(seconds "$t")")
	done
	row "NOOP hand-over, emulated, packages prefetched" 4 s - "${noop[@]}"
	for ((i = 1; i <= EMULATED_RUNS; i++)); do
		handover $node batch-compute noop >/dev/null && t=$(handover $node web-server wipe:discard) ||
			{ missed "wipe hand-over"; return; }
		wipe+=("$(seconds "$t")")
	done
	row "hand-over batch to web with wipe (discard), emulated" 45 s - "${wipe[@]}"
	note "wipe hand-over, steps in ms: $(api /v1/nodes/$node | jq -r '[.plan.steps[] | "\(.kind) \(.ended_ms - .issued_ms)"] | join(", ")')"
}

numbered() { # PREFIX FIRMWARE: as many machines as runs, one a line
	local i
	for ((i = 1; i <= EMULATED_RUNS; i++)); do
		machine "$1$i" "$2" "512 MiB"
		echo
	done
}

# with_lab NAME IMAGE FIRMWARE PREFIX COMMAND...: a lab with as many such machines as runs, around a command
with_lab() {
	local machines
	mapfile -t machines < <(numbered "$4" "$3")
	if lab_begin "$1" "$2" "${machines[@]}"; then
		"${@:5}"
	else
		missed "$5" "the lab does not come up: $(tail -n 1 "$WORK/lab.log")"
	fi
	lab_end
}
boot() {
	with_lab bench-$$e deploy-cloud bios bios boots "power-on to agent registered, BIOS, cloud kernel" 7 bios
	with_lab bench-$$a deploy bios bios boots "power-on to agent registered, BIOS, generic kernel" 9 bios
	with_lab bench-$$b deploy-cloud uefi uefi boots "power-on to agent registered, UEFI firmware PXE" 16 uefi
}
deploy_all() { pages && handovers; }
deploy() { with_lab bench-$$c deploy-cloud bios web deploy_all; }

# A machine of 256 MiB deploys itself to disk; its memory as its own monitor tells it.
small() {
	local used=0 u end pid time
	if ! lab_begin bench-$$d deploy-cloud "$(machine web1 bios "256 MiB")" || ! power_on web1; then
		missed "deployment in 256 MB" "the lab does not come up: $(tail -n 1 "$WORK/lab.log")"
		lab_end
		return
	fi
	served web1 >"$WORK/small" &
	pid=$!
	end=$((SECONDS + 300))
	while kill -0 $pid 2>/dev/null && [ $SECONDS -lt $end ]; do
		u=$(api /v1/nodes/web1 | jq '.monitor | if . then (.memory_total_bytes - .memory_available_bytes) else 0 end')
		[ "${u:-0}" -le "$used" ] || used=$u
		sleep 0.3
	done
	wait $pid && time=$(cat "$WORK/small")
	if [ -n "${time:-}" ]; then
		row "power-on to page served, machine of 256 MiB" - s - "$time"
		note "256 MiB: deployed to disk and serves; most memory in use that its monitor told of: $((used / 1048576)) MiB of $(api /v1/nodes/web1 | jq '.monitor.memory_total_bytes / 1048576 | floor') MiB that its kernel has"
	else
		missed "deployment in 256 MB" "$(node_field web1 '"\(.state) \(.reason)"')"
	fi
	lab_end
}
