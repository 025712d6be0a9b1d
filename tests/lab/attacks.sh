#!/bin/bash
# by turns: 400 s: emulated machines, minutes.
# What the owner of a node, root on it, does before it goes to the next owner, on emulated machines: a canary on a disk that he takes off
# the bus (sysfs), which the next start puts back; a copy of the agent's key; the answer of the coming erase, and an epoch of years
# to come, written into the state partition of the machine that is off; from his other node, enrolment in the name of the one
# that is being erased; and on that other one an epoch by which its agent refuses every order. Nobody helps the head to take them back.
# Each act is shown to have had its effect first. Prints "ok NAME" or "not ok NAME" a step.
export LAB=${LAB:-attacks$$}
. "$(dirname "$0")/lib.sh"
MADE=$DIR.conf
SHARE=$DIR.share # what his nodes tell
CANARY="phoenix-canary-$$-$RANDOM$RANDOM"
HUGE=4611686018427387904 # 2^62
[ -n "${KEEP:-}" ] || trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE" "$SHARE"' EXIT

check() {
	local name=$1 begin=$SECONDS
	shift
	if ("$@"); then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		echo "not ok $name"
		phx node list
		phx events -n 60
		tail -n 20 "$SHARE"/*.log
		tail -n 40 "$DIR/machines/node1/console.log"
		tail -n 20 "$DIR/phxd.log"
		exit 1
	fi
}

# ---- the lab: his role runs what he likes as root ----

# what his nodes do: hide is node1's, claim is node2's, which refuses to go in the end
tenant() {
	cat <<-END
		name=\$(hostname)
		cd /run/share
		if [ "\$name" = node1 ] && [ -b /dev/vdb ]; then
			yes $CANARY | head -n 20000 >/var/tmp/canary
			yes $CANARY | head -n 20000 | dd of=/dev/vdb bs=1M seek=64 conv=fsync
			sync
			cp /var/lib/phoenix/agent.key /var/lib/phoenix/agent.pem .
			echo 1 >\$(readlink -f /sys/block/vdb/device/..)/remove
			systemctl restart phx-agent
			ls /dev/vd? >disks.new && mv disks.new disks
		elif [ "\$name" = node2 ]; then
			until [ -e go ]; do sleep 0.2; done
			while [ ! -e stop ]; do
				rm -rf /run/false; mkdir -p /run/false/etc/phoenix /run/false/var/lib/phoenix /run/false/var/cache /run/false/run
				cp /etc/phoenix/* /run/false/etc/phoenix/
				echo "at \$(date +%s)"
				timeout 10 /opt/phoenix/agent/bin/phx-agent --root /run/false --run-dir /run/false/run --facts node1.facts --boot-id false
				cat /run/false/var/lib/phoenix/agent.pem 2>/dev/null >>false.pem
				sleep 0.2
			done >>false.log 2>&1
			echo $HUGE >/var/lib/phoenix/epoch
			systemctl restart phx-agent
			touch refuses
		fi
		trap '' TERM # he does not go before he has to
		while :; do sleep 1; done
	END
}
make_conf() {
	mkdir -p "$MADE/roles" "$SHARE"
	echo "rules = ();" >"$MADE/roles/rules.conf"
	tenant >"$SHARE/tenant"
	printf 'summary = "its owner is root"; pool = "his"; image = "debian-12"; boot = "disk"; drain_grace = "5s";\nservices = ( { name = "tenant"; exec = [ "/bin/sh", "-c", "%s" ]; } );\n' \
		"[ -e /run/share/tenant ] || { mkdir -p /run/share && modprobe 9pnet_virtio && mount -t 9p -o trans=virtio,version=9p2000.L,cache=none share /run/share; } && exec sh /run/share/tenant" >"$MADE/roles/tenant.conf"
	printf 'summary = "who comes next"; pool = "next"; image = "debian-12"; boot = "disk"; drain_grace = "1s";\n' >"$MADE/roles/next.conf"
	cat >"$MADE/head.conf" <<-END
		role_dir = "$MADE/roles"; rules_file = "$MADE/roles/rules.conf";
		pools = ( { name = "his"; owner = "one"; setup = { mode = "wipe"; method = "overwrite"; when = "release"; }; },
			  { name = "next"; owner = "two"; setup = { mode = "noop"; }; } );
	END
	cat >"$MADE/lab.conf" <<-END
		name = "attacks"; deploy_image = "deploy"; head_conf = "$MADE/head.conf";
		machines = ( { name = "node1"; memory = "512 MiB"; share = "$SHARE";
			       disks = ( { bus = "virtio"; size = "1 GiB"; }, { bus = "virtio"; size = "256 MiB"; } ); },
			     { name = "node2"; memory = "512 MiB"; share = "$SHARE"; disks = ( { bus = "virtio"; size = "1 GiB"; } ); } );
	END
}
stands() { lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE" "$SHARE"; make_conf && lab up -f "$MADE/lab.conf" && phx reload; }
boots() {
	local n
	phx node power 'node[1-2]' on --wait --timeout 3m || return 1
	for n in node1 node2; do wait_for 240 "$n enrols" asked $n; done
	phx node accept 'node[1-2]' || return 1
	for n in node1 node2; do wait_for 60 "$n is ready" state_is $n ready; done
	[ "$(node_field node1 '.facts.disks | length')" = 2 ] || die "node1 has no two disks"
	node_field node1 '.facts | tojson' >"$SHARE/node1.facts"
}

# ---- what he does while they are his ----

second_disk() { echo "$DIR/machines/node1/disk1.raw"; }
second_has_canary() { grep -azqF "$CANARY" "$(second_disk)"; }
n_disks_is() { [ "$(node_field node1 '.facts.disks | length')" = "$1" ]; }
# as_copy PATH: status of what a copy of node1's key asks
as_copy() {
	in_lab curl -s -m 20 --cacert "$DIR/state/pki/ca.pem" --cert "$SHARE/agent.pem" --key "$SHARE/agent.key" -o "$SHARE/answer" -w '%{http_code}' \
		"https://10.77.0.1:8443/v1/agent/$1" -d "${2:-{\}}"
}
his_nodes() {
	phx node assign 'node[1-2]' tenant --yes --wait --timeout 10m || return 1
	wait_for 120 "he has hidden a disk and copied the key" test -s "$SHARE/disks"
	wait_for 60 "the head is told of one disk" n_disks_is 1
	has_canary node1 && second_has_canary || die "the canary is not on both disks"
	[ "$(cat "$SHARE/disks")" = /dev/vda ] || die "the disk is there still: $(cat "$SHARE/disks")"
	# it is his key, and good: what it tells is believed, the lie about the disks too
	[ "$(as_copy inventory "$(jq -c '.disks |= .[:1]' "$SHARE/node1.facts")")" = 200 ] && n_disks_is 1 || die "the copy of the key is not good while node1 is his: $(cat "$SHARE/answer")"
}

# ---- it goes to the next owner ----

# the step of its plan that erases the first disk: "ID EPOCH DISK"
erase_step() {
	phx node show node1 -o json |
		jq -er '[.. | .plan? | select(.)][0] as $p | [$p.steps[] | select(.kind == "wipe")][0] | select(.) | "\(.id) \($p.epoch) \(.disk)"'
}
# MIB FILE AT FILE AT: as many, from there to there
copy_mib() { dd bs=1M count="$1" if="$2" skip="$3" of="$4" seek="$5" conv=notrunc,fsync status=none; }
in_state() { debugfs -w -R "$1" "$SHARE/state" 2>/dev/null; }
# An answer is made out of one of the agent's own. It lies where the agent keeps what it has done, for every number that may come.
answer_of() {
	jq -c --argjson id "$2" --argjson epoch "$3" --arg disk "$4" '. + {id: $id, epoch: $epoch, attempt: 1, nonce: 0, kind: "wipe", result: 0, text: "as written",
		has_wipe: true, wipe: (.wipe + {disk_id: $disk, method: "overwrite", used: "overwrite", size_bytes: 1073741824, verified_bytes: 1073741824,
		verified: true, detail: "as written", places: 9, read_sha256: "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"})}' "$1"
}
write_answers() { # ID EPOCH DISK
	local disk=$DIR/machines/node1/disk0.raw first own n
	first=$(sgdisk -i 1 "$disk" | awk '/^First sector/ { print $3 / 2048 }')
	copy_mib 64 "$disk" "$first" "$SHARE/state" 0 || return 1
	e2fsck -fy "$SHARE/state" >/dev/null 2>&1 # it was cut off
	own=$(in_state "ls -p steps" | awk -F/ '$6 ~ /json$/ { print $6 }' | tail -n 1)
	in_state "cat steps/$own" >"$SHARE/own"
	echo $HUGE >"$SHARE/epoch"
	{
		for ((n = $1 - 2; n <= $1 + 20; n++)); do
			answer_of "$SHARE/own" $n "$2" "$3" >"$SHARE/answer.$n" || return 1
			printf 'rm steps/%d.json\nwrite %s/answer.%d steps/%d.json\n' $n "$SHARE" $n $n
		done
		printf 'rm epoch\nwrite %s/epoch epoch\n' "$SHARE"
	} >"$SHARE/commands"
	debugfs -w -f "$SHARE/commands" "$SHARE/state" >/dev/null 2>&1
	copy_mib 64 "$SHARE/state" 0 "$disk" "$first" && copy_mib 64 "$disk" "$first" "$SHARE/state" 0 || return 1
	[ "$(in_state "cat steps/$1.json" | jq .wipe.verified_bytes)" = 1073741824 ] && [ "$(in_state 'cat epoch')" = $HUGE ] && e2fsck -fn "$SHARE/state" >/dev/null 2>&1 ||
		die "his answer does not lie on the state partition of node1"
	say "node1 is off; its state partition holds the answer of step $1, and epoch $HUGE"
}
n_erased() { phx node erasures node1 -o json | jq '[.erasures[] | select(.used == "overwrite" and .verified_bytes > 0)] | length'; }
left_out() { phx events -n 0 --node "$1" | grep "step $2 is left out, and a power cycle ends what runs there"; }
# The head is held while he writes: he has all the time that he wants. Then the machine is off, and is not started with his system again to
# be stopped there: the head does not wait for it.
attacked_on_its_way() {
	local pid step
	pid=$(pgrep -P "$(lab status --json | jq .head_pid)" -f -- ' --head ')
	phx node release node1 --yes && wait_for 30 "a plan erases node1" erase_step && step=$(erase_step) || return 1
	kill -STOP "$pid" || return 1
	trap 'kill -CONT "$pid"' EXIT
	# shellcheck disable=SC2086
	lab kill node1 && write_answers $step || return 1
	second_has_canary && has_canary node1 || die "node1 has no canary any more"
	touch "$SHARE/go"
	kill -CONT "$pid"
	trap - EXIT
	[ "$(n_erased)" = 0 ] || die "node1 has records of erases that were none"
}
# nobody resumes it
taken_back() { wait_for 600 "node1 is ready" state_is node1 ready && left_out node1 stop; }
# looked at before anything is written over what the erase left
both_disks_are_erased() {
	local n
	phx node erasures node1
	for n in 0 1; do
		cmp -n "$(stat -c %s "$DIR/machines/node1/disk$n.raw")" "$DIR/machines/node1/disk$n.raw" /dev/zero || die "something is left on disk $n"
	done
	[ "$(n_erased)" = 2 ] || die "no two erases are recorded"
	phx erasure key "$SHARE/attest.pub" && phx erasure export node1 "$SHARE/node1.attestation" && phx erasure verify "$SHARE/node1.attestation" --pub "$SHARE/attest.pub" &&
		jq -e '.attestation | (.disks | length == 2) and .reset == "power-cycle"' "$SHARE/node1.attestation" >/dev/null
}
# what is recorded was read back by the deploy environment, and answers the number that the head drew
written_answer_is_none() {
	! phx node erasures node1 -o json | grep -qE 'as written|of mine' || die "the answer that he wrote is taken for an erase"
	! phx events -n 0 --node node1 -o json | grep -qE 'as written|of mine' || die "the answer that he wrote was heard"
}
copy_is_dead() {
	local path
	for path in hello beat inventory result disk-key/x; do
		[ "$(as_copy $path)" = 403 ] || die "$path answers the copy of the key: $(cat "$SHARE/answer")"
	done
}
epoch_locked_nothing() { phx node assign node1 next --wait --timeout 10m && state_is node1 active && [ "$(node_field node1 .pool)" = next ]; }
# While node1 was being started, by its plan: "FROM TO", in seconds
windows() { phx node show node1 -o json | jq -r '[.. | .plan? | select(.)][0].steps[] | select(.kind == "boot") | "\(.issued_ms / 1000 | floor) \(.ended_ms / 1000 | floor)"'; }
nobody_else_became_node1() {
	local tries
	touch "$SHARE/stop"
	tries=$(windows | while read -r from to; do awk -v from="$from" -v to="$to" '/^at / { at = $2 } /status 403/ && at > from && at < to' "$SHARE/false.log"; done)
	[ -n "$tries" ] || die "the other machine did not try while node1 was being started: $(windows), $(tail -n 9 "$SHARE/false.log")"
	say "refused while node1 was being started: $(sort <<<"$tries" | uniq -c)"
	phx events -n 0 --node node1 | grep -q 'a certificate is refused to who asks for it from 10.77.0.12' || die "the refusal leaves no trace"
	[ ! -s "$SHARE/false.pem" ] || die "node2 was given a certificate of node1"
}

# On node2 his agent believes in an epoch of years to come: it refuses each order.
is_up() { [ "$(node_field "$1" .up)" = true ]; }
his_epoch_keeps_nothing() {
	wait_for 60 "the agent of node2 has his epoch" test -e "$SHARE/refuses"
	wait_for 60 "node2 is heard" is_up node2
	phx node release node2 --yes && wait_for 600 "node2 is ready" state_is node2 ready || return 1
	phx events -n 0 --node node2 | grep -q "but $HUGE was seen" || die "his epoch had no effect"
	left_out node2 stop
}

check lab_up stands
check blank_machines_boot_and_are_accepted boots
check he_hides_a_disk_and_copies_the_key his_nodes
check an_answer_and_an_epoch_are_written_on_its_way attacked_on_its_way
check it_is_taken_back_by_itself taken_back
check every_disk_is_erased_the_hidden_one_too both_disks_are_erased
check a_written_answer_is_no_erase written_answer_is_none
check the_copy_of_the_key_is_dead copy_is_dead
check another_machine_does_not_become_the_node nobody_else_became_node1
check a_huge_epoch_locks_nothing epoch_locked_nothing
check an_epoch_of_his_keeps_nothing his_epoch_keeps_nothing
