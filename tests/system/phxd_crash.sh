#!/bin/bash
# phxd is killed at every event of a hand-over, before the commit, after it, and after its actions, and started again:
# the hand-over ends, every step took effect once, every erase is recorded once, and the journal replays.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

# bash tells of every death, and curl of every head that is not there
exec 2>"$WORK/noise"

# A head that dies at STAGE:SEQ; nothing is waited for: it may die at once.
head_that_dies() {
	PHXD_TEST_CRASH_AT=$1 "$BUILD/tests/system/phxd_that_dies" --config "$WORK/etc/phoenix.conf" >>"$WORK/phxd.log" 2>&1 &
	HEAD=$!
}
head_died() { ! kill -0 "$HEAD" 2>/dev/null; }
answers() { api /v1/status >/dev/null 2>&1; }

# A head that is asked until it answers or is dead; true when it answers.
answers_or_dies() {
	local end=$((SECONDS + 15))
	until answers; do
		head_died && return 1
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# a head without a fault: the one before may still have one to come
fresh_head() {
	head_stop
	head_start
}

# was_taken ORDER SEQ: the journal has it behind that event
was_taken() { api "/v1/events?after=$2&limit=1000" | jq -e --arg kind "$1" 'any(.events[]; .kind == $kind)' >/dev/null 2>&1; }

# order_through STAGE ACTION JSON NODE STATE ROLE: ends when the node is there; counts deaths in $DEATHS
order_through() {
	local stage=$1 order=$2 body=$3 node=$4 state=$5 role=$6 at before end=$((SECONDS + 60)) done=
	fresh_head
	before=$(seq_now)
	at=$((before + 1))
	DEATHS=0
	head_stop
	head_that_dies "$stage:$at"
	while [ $SECONDS -lt $end ]; do
		if answers_or_dies; then
			# what is asked afterwards must not meet the death that was still to come
			[ -n "$done" ] && idle "$node" "$state" "$role" && fresh_head && return 0
			# an order that was not answered may have been taken or not: on a busy machine all of it is done before it is given again
			if [ -z "$done" ]; then
				if was_taken "$order" "$before" || action "$order" "$body" | grep -q '"code":0'; then done=1; fi
				continue
			fi
		fi
		if head_died; then
			wait "$HEAD" 2>/dev/null
			DEATHS=$((DEATHS + 1))
			# a certificate is journalled before it is given: who dies of that each time never gives it
			at=$((at + 1 + (DEATHS % 12 == 11)))
			head_that_dies "$stage:$at"
			continue
		fi
		sleep 0.02
	done
	echo "after $DEATHS deaths, last at $stage:$at:"
	field "$node" '.state, .reason, .plan.cursor, (.plan.steps[] | "\(.kind) \(.status) \(.error)")'
	return 1
}

# every_step_once NODE LINES-BEFORE STEP...: since then each of these took effect once, and nothing else did
every_step_once() {
	local node=$1 before=$2 got want
	shift 2
	got=$(tail -n "+$((before + 1))" "$WORK/$node/effects" | awk '$1 == "STEP" { print $3 }' | tr '\n' ' ')
	want="$* "
	[ "$got" = "$want" ] && return 0
	echo "effects: $got; wanted: $want"
	return 1
}

# through STAGE ACTION JSON NODE STATE ROLE EVENTS STEP...: and at least EVENTS deaths
through() {
	local before events=$7
	before=$(wc -l <"$WORK/$4/effects")
	order_through "${@:1:6}" || return 1
	[ "$DEATHS" -ge "$events" ] || { echo "only $DEATHS deaths"; return 1; }
	every_step_once "$4" "$before" "${@:8}"
}

noop_there() {
	through "$1" assign '{"nodes": "c1", "role": "web"}' c1 active web 8 prefetch drain stop leave activate start health
}
noop_back() {
	through "$1" assign '{"nodes": "c1", "role": "batch"}' c1 active batch 7 prefetch stop leave activate start health
}
# a batch node that has come back to where it was
reboots() {
	through "$1" reboot '{"nodes": "c1"}' c1 active batch 7 drain stop kexec enter start health
}
# the key goes, the disk is erased, the image comes
wiped() {
	local before
	before=$(api /v1/nodes/c2/erasures | jq '.erasures | length')
	through "$1" assign '{"nodes": "c2", "role": "vault", "setup": {"mode": "wipe", "method": "discard"}}' c2 active vault 10 \
		stop kexec wipe image enter activate start health || return 1
	[ $(($(api /v1/nodes/c2/erasures | jq '.erasures | length') - before)) = 1 ] && [ -n "$(field c2 .disk_key_id)" ]
}
wiped_by_its_key() {
	local before
	before=$(api /v1/nodes/c2/erasures | jq '.erasures | length')
	through "$1" assign '{"nodes": "c2", "role": "web"}' c2 active web 10 \
		stop kexec wipe image enter activate start health || return 1
	[ $(($(api /v1/nodes/c2/erasures | jq '.erasures | length') - before)) = 1 ] &&
		[ "$(field c2 .disk_key_id)" = "" ] && [ -z "$(ls "$WORK/head/keys")" ]
}

# ---- a real agent, with services that count their starts ----

real_roles() {
	local role
	for role in rbatch rweb; do
		cat >"$WORK/etc/roles/$role.conf" <<-END
			pool = "${role#r}"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "$role" ];
			services = ( { name = "$role"; package = "$role"; exec = [ "bin/$role" ]; stop_grace = "1s"; } );
		END
		package $role 1.0 "echo $role >>$WORK/starts; exec sleep 1000"
	done
	post /v1/reload >/dev/null
}
comes_up_real() {
	fresh_head
	real_roles
	node_init c3 3
	post /v1/nodes '{"name": "c3", "macs": ["02:00:00:00:00:03"], "serial": "SN3"}' >/dev/null
	agent_start c3
	until_true 15 is c3 .state ready && action assign '{"nodes": "c3", "role": "rbatch"}' >/dev/null &&
		until_true 30 idle c3 active rbatch
}
# each hand-over starts the new service once, and leaves nothing of the old one
really() {
	local pool=$2 was
	was=$(wc -l <"$WORK/starts")
	order_through "$1" assign "{\"nodes\": \"c3\", \"role\": \"r$pool\"}" c3 active "r$pool" && [ "$DEATHS" -ge 7 ] || return 1
	[ "$(tail -n +$((was + 1)) "$WORK/starts")" = "r$pool" ] || { cat "$WORK/starts"; return 1; }
	[ "$(field c3 '[.plan.steps[].attempt] | max')" -le 1 ] || { field c3 .plan; return 1; }
}

# ---- and afterwards ----

# Without its snapshots the whole journal is replayed; each event's actions are made again and compared.
journal_replays() {
	head_stop
	rm -rf "$WORK/copy" && mkdir "$WORK/copy" # of its own: it is given to the user that serves
	cp "$WORK/head/journal.db" "$WORK/copy/copy.db" && sqlite3 "$WORK/copy/copy.db" 'DELETE FROM snapshots' || return 1
	sed "s|^state_dir|journal = \"$WORK/copy/copy.db\"; &|" "$WORK/etc/phoenix.conf" >"$WORK/etc/replay.conf"
	"$BUILD/bin/phxd" --config "$WORK/etc/replay.conf" >>"$WORK/phxd.log" 2>&1 &
	HEAD=$!
	until_true 15 answers && [ "$(seq_now)" -gt 80 ] && idle c1 active batch && idle c2 active web
}
# An event that does not come out as it was recorded is never passed over.
a_changed_journal_is_refused() {
	head_stop
	sqlite3 "$WORK/copy/copy.db" "DELETE FROM snapshots; UPDATE events SET actions='[]' WHERE seq=(SELECT MAX(seq) FROM events WHERE kind='assign')"
	"$BUILD/bin/phxd" --config "$WORK/etc/replay.conf" >"$WORK/refused" 2>&1
	[ $? = 78 ] && grep -q 'event [0-9]* is not as it was written; restore it' "$WORK/refused" || return 1
	"$BUILD/bin/phxd" --config "$WORK/etc/replay.conf" --accept-journal >"$WORK/refused" 2>&1 &&
		return 1
	grep -q 'replay of event .*actions are not those that were recorded' "$WORK/refused"
}
# A snapshot only saves time; what is in the journal is nobody else's.
a_damaged_snapshot_is_passed_over() {
	local i
	fresh_head
	for i in $(seq 120); do action label "{\"nodes\": \"c1\", \"labels\": {\"n\": \"$i\"}}" >/dev/null; done # two snapshots are there
	api /v1/nodes | jq -S '[.nodes[] | {name, state, role, pool, epoch, labels}]' >"$WORK/before"
	head_kill
	[ "$(sqlite3 "$WORK/head/journal.db" 'SELECT COUNT(*) FROM snapshots')" = 2 ] || return 1
	sqlite3 "$WORK/head/journal.db" 'UPDATE snapshots SET state=substr(state,1,length(state)/2) WHERE seq=(SELECT MAX(seq) FROM snapshots)'
	: >"$WORK/phxd.log"
	head_start
	api /v1/nodes | jq -S '[.nodes[] | {name, state, role, pool, epoch, labels}]' >"$WORK/after"
	grep -q 'snapshot .*all events are whole: going on with a new snapshot' "$WORK/phxd.log" && cmp "$WORK/before" "$WORK/after" &&
		[ "$(stat -c %a "$WORK/head/journal.db" "$WORK/head/journal.db-wal" | sort -u)" = 640 ]
}
erase_records_are_signed() {
	fresh_head
	local n i
	api /v1/nodes/c2/erasures >"$WORK/erasures"
	n=$(jq '.erasures | length' "$WORK/erasures")
	[ "$n" -ge 6 ] && [ "$(jq '[.erasures[].step_id] | unique | length' "$WORK/erasures")" = "$n" ] || return 1
	for ((i = 0; i < n; i++)); do
		jq -rj ".erasures[$i].record" "$WORK/erasures" >"$WORK/record"
		printf '%b' "$(jq -r ".erasures[$i].signature" "$WORK/erasures" | sed 's/../\\x&/g')" >"$WORK/signature"
		openssl pkeyutl -verify -rawin -pubin -inkey "$WORK/head/pki/site.pub" -in "$WORK/record" \
			-sigfile "$WORK/signature" >/dev/null || return 1
	done
	tr 2 3 <"$WORK/record" >"$WORK/forged"
	! openssl pkeyutl -verify -rawin -pubin -inkey "$WORK/head/pki/site.pub" -in "$WORK/forged" -sigfile "$WORK/signature" \
		>/dev/null
}

# The disk does not say whether the event lasts: who ordered it is told so, phxd ends with a failure, nothing is lost that
# was answered, and the next one goes on with what there is.
a_commit_in_doubt_ends_it() {
	local status answer
	head_stop
	head_that_dies fsync
	answers_or_dies || return 1
	answer=$(post /v1/nodes '{"name": "doubtful", "macs": ["02:00:00:00:00:99"]}')
	until_true 10 head_died || { echo "it did not end; answer: $answer"; return 1; }
	wait "$HEAD"
	status=$?
	[ $status = 1 ] || { echo "it ended with $status; answer: $answer"; return 1; }
	grep -q 'it is not known whether this was done' <<<"$answer" || { echo "$answer"; return 1; }
	grep -q 'it ends, to be started again' "$WORK/phxd.log" || return 1
	head_start
	is c1 .state active || is c1 .state ready
}

# An order for both is one transaction of two events: whichever of them it dies at, both are there or none is.
both_or_none() {
	local stage=$1 want=$2 nth
	for nth in 1 2; do
		fresh_head
		action label '{"nodes": "c[1-2]", "labels": {"both": null}}' >/dev/null
		head_stop
		head_that_dies "$stage:label:$nth"
		answers_or_dies || return 1
		action label '{"nodes": "c[1-2]", "labels": {"both": "x"}}' >"$WORK/answer" 2>&1
		until_true 10 head_died || { cat "$WORK/answer"; return 1; }
		wait "$HEAD" 2>/dev/null
		fresh_head
		[ "$(api /v1/nodes | jq '[.nodes[] | select(any(.labels[]; .key == "both"))] | length')" = "$want" ] ||
			{ echo "died at $stage of event $nth: $(api /v1/nodes | jq -c '[.nodes[] | .labels]')"; return 1; }
	done
}

# the one that is installed does not know of such a thing; the one that dies does
what_is_installed_has_no_crash_points() {
	grep -q PHXD_TEST_CRASH_AT "$BUILD/tests/system/phxd_that_dies" && ! grep -q 'CRASH_AT' "$BUILD/bin/phxd"
}

head_conf
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
for n in 1 2; do
	post /v1/nodes "{\"name\": \"c$n\", \"macs\": [\"02:00:00:00:00:0$n\"], \"serial\": \"SN$n\"}" >/dev/null
	fake_start "c$n" "$n" --env os --image test --digest "$IMAGE_DIGEST"
	until_true 10 is "c$n" .state ready
done
action assign '{"nodes": "c1", "role": "batch"}' >/dev/null
action assign '{"nodes": "c2", "role": "web"}' >/dev/null
until_true 20 idle c1 active batch
until_true 20 idle c2 active web
for stage in apply commit act; do
	check "noop_there_$stage" noop_there $stage
	check "noop_back_$stage" noop_back $stage
	check "reboots_$stage" reboots $stage
	check "wiped_$stage" wiped $stage
	check "wiped_by_its_key_$stage" wiped_by_its_key $stage
done
check what_is_installed_has_no_crash_points what_is_installed_has_no_crash_points
check a_commit_in_doubt_ends_it a_commit_in_doubt_ends_it
check many_at_once_apply both_or_none apply 0
check many_at_once_commit both_or_none commit 2
check many_at_once_act both_or_none act 2
check comes_up_real comes_up_real
check really_there_apply really apply web
check really_back_commit really commit batch
check really_there_act really act web
check a_damaged_snapshot_is_passed_over a_damaged_snapshot_is_passed_over
check erase_records_are_signed erase_records_are_signed
check journal_replays journal_replays
check a_changed_journal_is_refused a_changed_journal_is_refused
exit "$FAILED"
