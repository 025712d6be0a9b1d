#!/bin/bash
# alone: it fetches packages over the network of the machine
# The main job of `make lab`: blank emulated machines power on, boot over the network, are given roles, serve, and
# change hands. Every component is the real one; only the hardware is emulated. Writes lab-report.json; exits 0 only if
# every part passed; leaves the lab running, or ends it with ENDS=1.
. "$(dirname "$0")/lib.sh"
[ -z "${ENDS:-}" ] || trap 'lab down >/dev/null 2>&1' EXIT

CANARY="phoenix-canary-$$-$RANDOM$RANDOM"

prepare() {
	lab down >/dev/null 2>&1
	rm -rf "$DIR"
	lab up || die "phx lab up"
	in_lab nft -f - <<-END || die "counting TFTP"
		table inet count {
			chain input {
				type filter hook input priority 0
				udp dport 69 counter
			}
		}
	END
	push_packages
	phx role list
}

tftp_transfers() { in_lab nft -j list ruleset | jq '[.. | .counter? | select(.) | .packets] | add'; }

act1_boot() {
	phx node power 'node[1-4]' on --wait --timeout 2m || die "power on"
	for n in node1 node2 node3 node4; do
		wait_for 240 "$n asks for a certificate" asked $n
		state_is $n new || die "$n was let in without being accepted"
	done
	phx node accept 'node[1-4]' || die "accept"
	for n in node1 node2 node3 node4; do
		wait_for 60 "$n is ready" state_is $n ready
		check_inventory $n
		[ "$(node_field $n .facts.bmc_address)" = "$(node_field $n .bmc.address)" ] || die "$n does not know its BMC's address"
		say "$n: $(node_field $n .facts.boot_mode), $(node_field $n '.facts.disks | map(.bus + " " + .serial) | join(", ")')"
	done
	[ "$(node_field node1 .facts.boot_mode)" = bios ] && [ "$(node_field node3 .facts.boot_mode)" = uefi ] || die "boot modes"
	[ "$(tftp_transfers)" -ge 2 ] || die "in.tftpd served nothing"
	say "TFTP requests: $(tftp_transfers)"
}

act2_serve() {
	phx node assign 'node[1-2]' batch-compute &
	phx node assign 'node[3-4]' web-server || die "assign web-server"
	wait $! || die "assign batch-compute"
	phx node assign 'node[1-2]' batch-compute --wait --timeout 10m || die "node[1-2] do not serve"
	phx node assign 'node[3-4]' web-server --wait --timeout 10m || die "node[3-4] do not serve"
	for n in node3 node4; do
		page $n | grep -qi "$n" || die "$n: its page does not name it"
		page $n /health >/dev/null || die "$n: /health"
	done
	local out
	out=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n 2 --wait --timeout 2m -- /bin/sh -c 'echo job on $(hostname) as $(id -u)') ||
		die "job: $out"
	say "$out"
	grep -q 'job on node1 as 65534' <<<"$out" && grep -q 'job on node2 as 65534' <<<"$out" || die "the job did not run on both nodes"
}

# a file with the canary on the node's root, written by a job's user, flushed to the disk; it goes with the job, its blocks stay,
# more of them than the packages of another role write over
plant_canary() {
	local id
	setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n "$1" --wait --timeout 2m -- \
		/bin/sh -c "yes $CANARY | head -n 1000000 >/var/tmp/canary; sync" >/dev/null || die "canary job"
}
# 16 bytes of a key slot of the LUKS header, as \xNN for grep -P, none of them NUL or a newline
slot_bytes() {
	local start
	start=$(sgdisk -i 2 "$(disk_of "$1")" | awk '/^First sector/ { print $3 }')
	dd if="$(disk_of "$1")" bs=512 skip=$((start + 64)) count=64 status=none | od -An -v -tx1 -w1 |
		awk '{ b = $1; if (b == "00" || b == "0a") { n = 0; s = "" } else { s = s "\\x" b; if (++n == 16) { print s; exit } } }'
}
disk_has_bytes() {
	LC_ALL=C grep -azqP "$2" "$(disk_of "$1")"
	case $? in 0) true ;; 1) false ;; *) die "the disk of $1 cannot be searched" ;; esac
}

act3_noop() {
	plant_canary 2
	local boot
	boot=$(node_field node1 .boot_id)
	has_canary node1 || die "the canary is not on node1's disk"
	phx node plan node1 web-server --setup noop
	phx node assign node1 web-server --setup noop --wait --timeout 3m || die "NOOP hand-over"
	[ "$(node_field node1 .boot_id)" = "$boot" ] || die "node1 started again"
	[ "$(node_field node1 .actual_role)" = web-server ] || die "node1 does not report its new role"
	has_canary node1 || die "the canary is gone after a NOOP"
	page node1 | grep -qi node1 || die "node1 serves no page"
	# files of the old role are gone from the disk's file system, the new one's are there: asked of the node itself
	local gone
	gone=$(node_field node1 .actual_identity)
	grep -q web-nginx <<<"$gone" && ! grep -q batch-tools <<<"$gone" || die "node1 holds $gone"
	say "node1 holds: $gone"
}

# A node is released with a wipe: nothing is written behind the wipe, so that the whole of its disk shows what that did.
# wiped_by METHOD: erased, recorded, and in the deploy system
released_and_wiped() {
	phx node release "$1" --setup "wipe:$2" --yes --wait --timeout 10m || die "$1 is not released"
	state_is "$1" ready && [ "$(node_field "$1" .env)" = deploy ] || die "$1 is $(node_field "$1" .state) in $(node_field "$1" .env)"
	phx node erasures "$1"
	phx node erasures "$1" -o json | jq -e "[.. | objects | select(.method? == \"$2\" and .verified_bytes > 0)] | length == 1" >/dev/null ||
		die "no erase record of $2 with a read-back"
}
# every byte of it, from outside
disk_is_zero() { cmp -s -n "$(stat -c %s "$(disk_of "$1")")" "$(disk_of "$1")" /dev/zero; }

act3_wipe() {
	has_canary node2 || die "the canary is not in node2's disk image"
	disk_is_zero node2 && die "node2's disk reads zero before the wipe: the search shows nothing"
	released_and_wiped node2 overwrite
	has_canary node2 && die "the canary survived the wipe"
	disk_is_zero node2 || die "something is left on node2's disk"
	say "node2's disk reads zero from end to end, before anything is written behind the wipe"
	phx node assign node2 web-server --wait --timeout 10m || die "node2 does not serve again"
	page node2 | grep -qi node2 || die "node2 serves no page"
}

act3_crypto() {
	phx node assign node2 batch-compute --setup wipe:overwrite --encrypt --yes --wait --timeout 10m || die "encrypted deployment"
	local id key slot
	id=$(node_field node2 .disk_key_id)
	[ -n "$id" ] || die "node2 has no disk key"
	key=$(find "$DIR/state/keys" -name "$id" -type f | head -n 1)
	[ -s "$key" ] || die "the key of $id is not in the key store"
	cp "$key" "$DIR/crypto.key"
	slot=$(slot_bytes node2)
	[ -n "$slot" ] && disk_has_bytes node2 "$slot" || die "no LUKS key slot on the disk"
	released_and_wiped node2 crypto
	[ ! -e "$key" ] || die "the key file is still there"
	in_files_of_head "$DIR/crypto.key" && die "the key's bytes are still on the head"
	shred -u "$DIR/crypto.key"
	disk_has_bytes node2 "$slot" && die "the key slot is still on the disk"
	phx node assign node2 web-server --wait --timeout 10m || die "node2 does not serve again"
	page node2 | grep -qi node2 || die "node2 serves no page"
}
# does any file of the head's state hold these bytes (raw or as hex)?
in_files_of_head() {
	local hex f
	hex=$(od -An -v -tx1 "$1" | tr -d ' \n')
	for f in $(find "$DIR/state" "$DIR/run" -type f -size -200M ! -path '*/images/*' ! -path '*/packages/*'); do
		if od -An -v -tx1 "$f" | tr -d ' \n' | grep -qF "$hex" || grep -aqF "$hex" "$f"; then
			say "found in $f"
			return 0
		fi
	done
	return 1
}

# the step that the node carries out: "ID KIND"
step_under_way() { phx node show "$1" -o json | jq -er '[.. | .steps? | select(.)[] | select(.status == "issued")][0] // empty | "\(.id) \(.kind)"'; }
# has_result STEP: in the journal, as it is on the disk of the head
has_result() {
	rm -rf "$DIR/cut" && mkdir "$DIR/cut" && cp "$DIR"/state/journal.db* "$DIR/cut/" || die "copy of the journal"
	local n
	n=$(sqlite3 "$DIR/cut/journal.db" "SELECT COUNT(*) FROM events WHERE kind = 'step_result' AND json_extract(event, '\$.step_id') = $1") || die "the journal cannot be read"
	[ "$n" -gt 0 ]
}
# phxd is held as soon as a step was given to the node, and killed if its journal has no result of it yet
kill_in_the_middle() {
	local pid end=$((SECONDS + 120))
	pid=$(lab status --json | jq .head_pid)
	while [ $SECONDS -lt $end ]; do
		STEP=$(step_under_way "$1") || { sleep 0.05; continue; }
		kill -STOP "$pid" || die "phxd $pid is not there"
		if ! has_result "${STEP% *}"; then
			kill -KILL "$pid"
			say "phxd $pid died in the middle of step $STEP: given out, and no result of it in the journal"
			return
		fi
		kill -CONT "$pid"
	done
	die "no step of $1 was caught in its middle"
}

act4_kill() {
	local STEP ended
	phx node assign node1 batch-compute || die "assign"
	kill_in_the_middle node1
	sleep 1
	lab head || die "phxd does not come back"
	phx node assign node1 batch-compute --wait --timeout 5m || die "the hand-over does not finish"
	state_is node1 active || die "node1 is not active"
	# each step took effect once: one accepted result a step id
	local twice
	twice=$(phx events -n 0 --node node1 -o json | jq -r '.. | objects | select(.kind? == "step_result" and .event?.step_id?) | select((.event.result // 0) == 0) | .event.step_id' |
		sort | uniq -d)
	[ -z "$twice" ] || die "steps took effect twice: $twice"
	# the one that was cut is among them: it was ended by the head that came back
	ended=$(phx events -n 0 --node node1 -o json | jq -s "[.. | objects | select(.kind? == \"step_result\" and .event?.step_id? == ${STEP% *}) | select((.event.result // 0) == 0)] | length")
	[ "$ended" = 1 ] || die "step $STEP ended well $ended times"
}

act5_power_cut() {
	phx node assign node3 batch-compute --setup wipe:discard --yes || die "assign"
	wait_for 240 "node3 writes its image" sh -c "'$PHX' node show node3 -o json | jq -e '[.. | .steps? | select(.)[] | select(.kind == \"image\" and .status == \"issued\")] | length > 0'"
	sleep 1
	lab kill node3 || die "power cut"
	say "node3 lost power while its image was written"
	# its step is tried again from a power cycle, and the order is carried out: no quarantine, and nobody has to help
	phx node assign node3 batch-compute --wait --timeout 10m || die "node3 does not finish"
	state_is node3 active && [ "$(node_field node3 .actual_role)" = batch-compute ] ||
		die "node3 is $(node_field node3 .state): $(node_field node3 .reason)"
	[ "$(node_field node3 '[.plan.steps[] | select(.kind == "image") | .attempt] | max')" -ge 2 ] || die "its image was not written a second time"
	say "node3 was started again, had its image written again, and finished"
}

# the agent's bundle as a package
pack_agent() {
	local src=$DIR/packages-agent/src
	rm -rf "$DIR/packages-agent" && mkdir -p "$src/files"
	cp -a "$BUILD/agent-bundle/." "$src/files/"
	printf 'name = "phx-agent";\nversion = "%s";\narch = "amd64";\nsummary = "The agent of Phoenix";\n' \
		"$("$BUILD/bin/phx-agent" --version | grep -o '[0-9.]*$')" >"$src/package.conf"
	phx package build "$src" --out "$DIR/packages-agent" --sign-key "$DIR/package.key" || die "the agent's package"
}

act6_push() {
	pack_agent
	tests/lab/guest.sh up || die "guest with sshd"
	local ip
	ip=$(tests/lab/guest.sh ip)
	in_lab "$PHX" package push "$ip" "$DIR/packages-agent/"phx-agent-*.tar.zst --identity "$DIR/guest/id_ed25519" \
		--known-hosts "$DIR/guest/known_hosts" --timeout 3m || die "push over SSH"
	phx node list
	# that machine, by its serial number, runs the agent that was pushed, is known and holds nothing
	curl_head /v1/nodes | jq -e '[.nodes[] | select(.facts.serial == "GUEST-1" and .env == "os" and .state == "ready" and .up and .role == "")] | length == 1' >/dev/null ||
		die "the pushed machine: $(curl_head /v1/nodes | jq -c '.nodes[] | select(.facts.serial == "GUEST-1") | {state, env, up, role}')"
}

act7_rebuild() {
	# no terminal, as from cron
	setsid "$PHX" node rebuild 'node[2,4]' --yes --wait --timeout 10m </dev/null || die "rebuild"
	for n in node2 node4; do page $n >/dev/null || die "$n serves no page after the rebuild"; done
	# one of them is made to fail: its BMC is unreachable and its agent dead
	local err=$DIR/rebuild.err status
	lab kill node4 || die "kill node4"
	wait_for 60 "node4 is missing" sh -c "'$PHX' node show node4 -o json | jq -e '[.. | objects | select(.up? == false)] | length > 0'"
	phx node bmc node4 driver=ipmi address=10.255.255.1 user=x password_file="$DIR/no-such-file" >/dev/null
	setsid "$PHX" node rebuild 'node[2,4]' --yes --wait --timeout 12m </dev/null 2>"$err"
	status=$?
	cat "$err"
	[ $status -eq 1 ] || die "exit status $status instead of 1"
	grep -q node4 "$err" || die "the failed node is not named"
	restore_bmc node4
	phx node resume node4 --yes --wait --timeout 5m || die "resume node4"
	phx node assign node4 web-server --yes --wait --timeout 10m || die "node4 does not come back"
	setsid "$PHX" node rebuild 'node[2,4]' --yes --wait --timeout 12m </dev/null || die "rebuild, second run"
}
restore_bmc() {
	phx node bmc "$1" driver=ipmi address="$(machine_field "$1" .bmc_ip)" user="$(lab status --json | jq -r .bmc_user)" \
		password_file="$(lab status --json | jq -r .bmc_password_file)" >/dev/null || die "bmc of $1"
}

begin=$SECONDS
need "0 the lab stands" prepare
need "1 four blank machines boot, enrol, are accepted" act1_boot
need "2 two compute, two serve" act2_serve
part "3a hand-over NOOP" act3_noop
part "3b hand-over wipe" act3_wipe
part "3c hand-over crypto" act3_crypto
part "4 phxd killed in a hand-over" act4_kill
part "5 power cut in a deployment" act5_power_cut
part "6 push over SSH" act6_push
part "7 rebuild from a script" act7_rebuild
write_report "$BUILD/lab-report.json"

echo
phx events -n 40
echo
phx node list
echo
jq -r '.parts[] | "\(if .ok then "ok     " elif .skipped then "skipped" else "FAILED " end) \(.seconds)s  \(.name)"' "$BUILD/lab-report.json"
echo "$((SECONDS - begin)) s in all; the lab runs on: PHX_SOCKET=$PHX_SOCKET $PHX node list; make lab-down ends it"
[ $FAILED -eq 0 ]
