#!/bin/bash
# A journal that forgets: events older than journal_keep_days go after a snapshot, a start needs none of them even when the
# newest snapshot is damaged, what remains replays, and phx events tells from when on it can tell. Days are not waited for:
# the time at which old events were stored is moved back while the head is down.
. "$(dirname "$0")/phxd.bash"

status() { api /v1/status | jq "$1"; }
# what happens: a label is put on and taken off
happens() {
	local i
	for ((i = 0; i < $1; i++)); do
		post /v1/actions/label "{\"nodes\": \"c1\", \"labels\": {\"k\": \"v$((RANDOM % 1000))x$i\"}}" | jq -e '.results[0].changed' >/dev/null || return 1
	done
}
db() { sqlite3 "$WORK/head/journal.db" "$1"; }

nothing_young_is_forgotten() {
	post /v1/nodes '{"name": "c1", "macs": ["02:00:00:00:00:01"], "serial": "SN1"}' >/dev/null && happens 230 || return 1
	[ "$(status .first_seq)" = 1 ] && ! phx events -n 0 2>&1 >/dev/null | grep -q 'not kept'
}
old_events_go_after_a_snapshot() {
	local old
	head_stop # takes a snapshot
	old=$(db 'SELECT MIN(seq) FROM snapshots') && [ "$old" -ge 100 ] || return 1
	db "UPDATE events SET time_ms = time_ms - 3 * 86400000 WHERE seq <= $((old + 10))"
	journal_accept || return 1
	head_start
	[ "$(status .first_seq)" = 1 ] && happens 105 || return 1
	[ "$(status .first_seq)" -gt 100 ] && [ "$(status .first_seq)" -le $((old + 11)) ]
}
it_is_told() {
	phx events -n 0 >"$WORK/out" 2>"$WORK/err" && grep -q 'the journal begins with event .* older events are not kept' "$WORK/err" &&
		[ "$(wc -l <"$WORK/out")" = $(($(status .seq) - $(status .first_seq) + 1)) ] && ! phx events -n 5 2>&1 >/dev/null | grep -q 'not kept'
}
what_remains_leads_to_the_same_state() {
	local before
	before=$(api /v1/nodes/c1 | jq -S 'del(.monitor)')
	head_kill
	head_start
	[ "$(api /v1/nodes/c1 | jq -S 'del(.monitor)')" = "$before" ] || return 1
	head_stop
	phx sim replay "$WORK/head/journal.db" >"$WORK/out" 2>&1
	grep -q 'from the snapshot of event .*identical, the newest snapshot too' "$WORK/out" || { cat "$WORK/out"; return 1; }
	# the newest snapshot is damaged: the one before still leads there
	db "UPDATE snapshots SET state = 'damaged' WHERE seq = (SELECT MAX(seq) FROM snapshots)"
	head_start
	[ "$(api /v1/nodes/c1 | jq -S 'del(.monitor)')" = "$before" ]
}
without_a_snapshot_it_does_not_start() {
	head_stop
	cp "$WORK/head/journal.db" "$WORK/kept.db"
	db "UPDATE snapshots SET state = 'damaged'"
	timeout 60 "$BUILD/bin/phxd" --config "$PHX_CONFIG" >"$WORK/out" 2>&1
	local code=$?
	cp "$WORK/kept.db" "$WORK/head/journal.db"
	head_start
	[ $code != 0 ] && [ $code != 124 ] && grep -q 'the journal begins with event' "$WORK/out" || { cat "$WORK/out"; return 1; }
}

head_conf 'journal_keep_days = 1;'
head_start
for test in nothing_young_is_forgotten old_events_go_after_a_snapshot it_is_told what_remains_leads_to_the_same_state \
	without_a_snapshot_it_does_not_start; do
	check $test $test
done
exit "$FAILED"
