#!/bin/bash
# A head is backed up while it takes orders, restored elsewhere, and its nodes go on, by the words of phoenix-upgrade(7): each
# command that stands there is done as it stands, with the directories and the service of the test in the place of a machine's.
. "$(dirname "$0")/agents.bash"
. tests/system/words.bash

PAGE=cmd/phx/phoenix-upgrade.7.scd
KEY=$WORK/backup.key
FILE=$WORK/backups/head.phxbackup
said() { grep -qF -- "$1" "$WORK/said" || { echo "not said: $1"; cat "$WORK/said"; return 1; }; }
# refused CODE TEXT COMMAND...
refused() {
	local want=$1 text=$2 code
	shift 2
	"$@" >"$WORK/said" 2>&1
	code=$?
	[ "$code" = "$want" ] || { echo "exit $code, wanted $want"; cat "$WORK/said"; return 1; }
	said "$text"
}

# ---- the words of the page ----

# What a machine would be told, by its names.
systemctl() {
	case $1 in
	stop | disable) head_stop ;;
	start) head_start ;;
	esac
}
apt() { echo "installed $2" >>"$WORK/installed"; }
# of_this_test: with its directories in the place of a machine's
of_this_test() {
	sed -e "s,/etc/phoenix-backup.key,$KEY,g" -e "s,/srv/backup,$WORK/backups,g" -e "s,/var/lib/phoenix,$WORK/head,g" -e "s,/etc/phoenix,$WORK/etc,g"
}
# follow SECTION N: its commands, N or more, each of which must do what it says
follow() {
	local line
	words "$PAGE" "$1" "$2" >"$WORK/of-the-page" || return 1
	of_this_test <"$WORK/of-the-page" >"$WORK/words"
	: >"$WORK/followed"
	while read -r line <&4; do
		eval "$line" >>"$WORK/followed" 2>&1 || { echo "$line: exit $?"; cat "$WORK/followed"; return 1; }
	done 4<"$WORK/words"
}

# ---- the head ----

is_serving() { is "$1" .state active && is "$1" .up true; }
nodes_serve() {
	local i
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
	for i in 1 2; do
		node_init n$i $i && phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null && agent_start n$i || return 1
	done
	for i in 1 2; do until_true 30 is n$i .state ready || return 1; done
	phx node assign n1 batch-compute --wait >/dev/null && job_runs
}
job_runs() {
	local said
	said=$(phx job submit --user nobody --wait -- sh -c 'echo it ran on $(basename $PWD)' 2>&1) && [[ $said = *"it ran"* ]] || { echo "$said"; return 1; }
}

# Orders are taken all the time; the copy is of one event, and nothing of before it is missing.
made_while_it_serves() {
	local before after event
	(while [ ! -e "$WORK/enough" ]; do phx node note n2 "another" || touch "$WORK/not-taken"; done) >/dev/null 2>&1 &
	local notes=$!
	before=$(api /v1/status | jq .seq)
	follow 'BACK UP' 4
	local code=$?
	touch "$WORK/enough"
	wait $notes
	[ $code = 0 ] && [ ! -e "$WORK/not-taken" ] || return 1
	after=$(api /v1/status | jq .seq)
	event=$(sed -n 's/.*the head as of event \([0-9]*\):.*/\1/p' "$WORK/followed" | head -n 1)
	echo "    events $before to $after, backup of $event: $(stat -c %s "$FILE") bytes"
	[ "$event" -ge "$before" ] && [ "$event" -le "$after" ] && [ "$before" -lt "$after" ] && [ "$(stat -c %a "$FILE")" = 600 ] &&
		grep -q 'events replayed, .* decisions as they were recorded' "$WORK/followed" && [ ! -e "$WORK/backups/trial" ]
}
stolen_it_is_noise() {
	local key
	for key in "$(sed -n 2p "$WORK/head/pki/ca.key")" "02:00:00:00:00:01" "batch-compute" PRIVATE; do
		! grep -qaF -- "$key" "$FILE" || { echo "$key is in it"; return 1; }
	done
	refused 1 'say --passphrase-file' phx restore "$FILE" --state "$WORK/other" && [ ! -e "$WORK/other" ]
}
over_a_live_head_it_is_refused() {
	refused 75 "a head runs on $WORK/head" phx restore "$FILE" --state "$WORK/head" --force --passphrase-file "$KEY" &&
		api /v1/status >/dev/null
}
broken_it_is_refused() {
	local n
	n=$(stat -c %s "$FILE")
	head -c $((n / 2)) "$FILE" >"$WORK/backups/cut"
	refused 1 'altered or cut off' phx restore "$WORK/backups/cut" --state "$WORK/other" --passphrase-file "$KEY" || return 1
	cp "$FILE" "$WORK/backups/bit" && printf 'x' | dd of="$WORK/backups/bit" bs=1 seek=$((n / 3)) conv=notrunc 2>/dev/null
	refused 1 "$WORK/backups/bit: " phx restore "$WORK/backups/bit" --state "$WORK/other" --passphrase-file "$KEY" && said altered &&
		[ ! -e "$WORK/other" ] && [ ! -e "$WORK/other.restoring" ]
}
upgraded_by_the_page() {
	follow UPGRADE 6 && grep -q phoenix-head.deb "$WORK/installed" && until_true 30 is_serving n1 && job_runs
}

# The machine is lost: nothing of it is there. Its nodes run, and find another head at its address.
moved_to_another_machine() {
	local number steps
	number=$(api /v1/nodes/n1 | jq .epoch)
	head_kill
	rm -rf "$WORK/head" "$WORK/etc"
	mkdir "$WORK/etc" && touch "$WORK/etc/of-the-new-machine"
	follow 'MOVE THE HEAD TO ANOTHER MACHINE' 4 || return 1
	grep -q 'events replayed' "$WORK/followed" && [ -e "$WORK"/etc.before-*/of-the-new-machine ] || { cat "$WORK/followed"; return 1; }
	until_true 30 is_serving n1 && until_true 30 is n2 .state ready && job_runs || return 1
	# an order of the restored head is followed, and is newer than all of the former one
	phx node assign n2 batch-compute --wait >/dev/null && until_true 30 is_serving n2 || return 1
	steps=$(api /v1/nodes/n2 | jq .epoch)
	echo "    epoch $number before, $steps after"
	[ "$steps" -gt "$number" ]
}

head_init
check "nodes serve" nodes_serve
check "a backup is made while orders are taken, and proves itself" made_while_it_serves
check "who steals it has nothing" stolen_it_is_noise
check "a restore over a live head is refused" over_a_live_head_it_is_refused
check "cut short, or with one byte altered, it is refused by name" broken_it_is_refused
check "the head is upgraded by the words of the manual" upgraded_by_the_page
check "the head is moved to another machine by the words of the manual, and its nodes follow" moved_to_another_machine
exit $FAILED
