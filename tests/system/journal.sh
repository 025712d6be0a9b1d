#!/bin/bash
# How far the journal is leaves the head, signed: to files, a program and the agents; and a copy of the journal is looked
# at with what was kept there. A minute is not waited for: an anchor is made after 1000 events, and when phxd ends.
. "$(dirname "$0")/agents.bash"

post() { api "$1" -X POST -d "${2:-}" "${@:3}"; }
labels() { post /v1/actions/label "{\"nodes\": \"c[1-50]\", \"labels\": {\"k\": \"$1\"}}" | jq -e '[.results[] | select(.changed)] | length == 50' >/dev/null; }
agent_anchors() { "$BUILD/bin/phx-agent" --root "$WORK/n1" --anchors; }
last_of() { tail -n 1 "$1" | sed 's/.* event \([0-9]*\) .*/\1/'; }
agent_has() { [ "$(agent_anchors | tail -n 1)" = "$(tail -n 1 "$WORK/kept")" ]; }
lines_at_least() { [ "$(wc -l <"$2")" -ge "$1" ]; }
verify() { phx journal verify --pub "$WORK/head/pki/site.pub" "$@" >"$WORK/out" 2>&1; }
# says CODE PATTERN [OPTION...]: what verify ends with and says
says() {
	verify "${@:3}"
	local code=$?
	[ $code = "$1" ] && grep -q "$2" "$WORK/out" || { echo "code $code:"; cat "$WORK/out"; return 1; }
}

an_end_leaves_an_anchor() {
	local i
	for ((i = 1; i <= 50; i++)); do
		printf 'c%d 02:00:00:00:01:%02x\n' "$i" "$i"
	done | while read -r name mac; do post /v1/nodes "{\"name\": \"$name\", \"macs\": [\"$mac\"]}" >/dev/null || return 1; done
	head_stop
	[ "$(wc -l <"$WORK/kept")" = 1 ] && cmp "$WORK/kept" "$WORK/kept2" && cmp "$WORK/kept" "$WORK/told" || return 1
	head_start
	[ "$(phx journal anchors)" = "$(cat "$WORK/kept")" ] && phx journal anchors -o json | jq -e '.bad == 0 and (.anchors | length) == 1' >/dev/null
}
agents_keep_it() {
	until_true 30 agent_has && [ "$(agent_anchors | wc -l)" = 1 ]
}
a_thousand_events_make_one() {
	local i before
	before=$(wc -l <"$WORK/kept")
	for ((i = 0; i < 22; i++)); do labels "v$i" || return 1; done
	until_true 20 lines_at_least $((before + 1)) "$WORK/kept" && until_true 30 agent_has
}
# no timer, no anchor
nothing_new_makes_none() {
	head_stop
	local before
	before=$(wc -l <"$WORK/kept")
	[ "$(last_of "$WORK/kept")" = "$(sqlite3 "$WORK/head/journal.db" 'SELECT MAX(seq) FROM events')" ] || return 1
	cp "$WORK/head/journal.db" "$WORK/copy.db" # of the whole journal
	agent_anchors >"$WORK/of_n1"
	[ "$before" = "$(sort -u "$WORK/kept" | wc -l)" ]
}
a_copy_is_proven() {
	says 0 'OK: events 1 to' --journal "$WORK/copy.db" --anchors "$WORK/kept" --anchors "$WORK/of_n1" &&
		grep -q 'anchors fit' "$WORK/out" && grep -q 'cannot be proven' "$WORK/out" || return 1
	says 0 '"finding": *"ok"' --journal "$WORK/copy.db" --anchors "$WORK/kept" -o json &&
		jq -e ".proven == $(last_of "$WORK/kept") and .last == .proven" "$WORK/out" >/dev/null || return 1
	# where nothing can be written
	mkdir -p "$WORK/ro" && cp "$WORK/copy.db" "$WORK/ro/" && chmod 555 "$WORK/ro" && says 0 'OK' --journal "$WORK/ro/copy.db"
}
an_altered_copy_is_not() {
	cp "$WORK/copy.db" "$WORK/bad.db" && sqlite3 "$WORK/bad.db" "UPDATE events SET event = replace(event, 'uid:0', 'uid:1') WHERE seq = 40" || return 1
	says 1 'event 40 is not as it was written' --journal "$WORK/bad.db" || return 1
	# a journal that begins later, without a signature
	cp "$WORK/copy.db" "$WORK/bad.db" &&
		sqlite3 "$WORK/bad.db" 'UPDATE chain SET seq = 30, hash = (SELECT hash FROM events WHERE seq = 30); DELETE FROM events WHERE seq <= 30' || return 1
	says 1 'begins after event 30, and nothing that is signed says so' --journal "$WORK/bad.db" || return 1
	# its end is gone: only an anchor knows
	cp "$WORK/copy.db" "$WORK/bad.db" && sqlite3 "$WORK/bad.db" 'DELETE FROM events WHERE seq > 60' || return 1
	says 0 'events 1 to 60' --journal "$WORK/bad.db" && says 1 'event 61 is missing' --journal "$WORK/bad.db" --anchors "$WORK/of_n1"
}
what_is_wrong_with_files_is_told() {
	head -c -30 "$WORK/kept" >"$WORK/cut"
	says 0 '1 lines are no anchors, or cut off: they are passed over' --journal "$WORK/copy.db" --anchors "$WORK/cut" || return 1
	sed 's/ time [0-9]*/ time 1/' "$WORK/kept" >"$WORK/forged"
	says 64 'no anchor in it is signed with' --journal "$WORK/copy.db" --anchors "$WORK/forged" || return 1
	says 64 'nowhere' --journal "$WORK/nowhere" && says 64 'nowhere' --journal "$WORK/copy.db" --anchors "$WORK/nowhere"
}
a_head_goes_on_with_a_file_that_was_cut_off() {
	truncate -s -30 "$WORK/head/anchors"
	rm "$WORK/kept2" && mkdir "$WORK/kept2"
	head_start
	labels again && labels once_more
	head_stop
	head_start
	phx journal anchors >"$WORK/out" 2>"$WORK/err" && grep -q '1 lines of the head.s file are no anchors' "$WORK/err" &&
		[ "$(tail -n 1 "$WORK/out")" = "$(tail -n 1 "$WORK/kept")" ] || { cat "$WORK/err"; return 1; }
	# who does not get his is told of
	[ "$(phx events -n 0 | grep -c 'does not reach its place.*kept2')" -ge 1 ]
}

printf '#!/bin/sh\necho "$2" >>"$1"\n' >"$WORK/teller" && chmod 755 "$WORK/teller"
: >"$WORK/told" && for_hands "$WORK/told"
chmod 755 "$WORK"
head_init "anchor_file = [ \"$WORK/kept\", \"$WORK/kept2\" ]; anchor_program = [ \"$WORK/teller\", \"$WORK/told\" ]; hands_paths = [ \"$WORK/told\" ]; anchor_syslog = false;"
post /v1/nodes '{"name": "n1", "macs": ["02:00:00:00:00:01"], "serial": "SN1"}' >/dev/null
node_init n1 1
agent_start n1
for test in an_end_leaves_an_anchor agents_keep_it a_thousand_events_make_one nothing_new_makes_none a_copy_is_proven an_altered_copy_is_not \
	what_is_wrong_with_files_is_told a_head_goes_on_with_a_file_that_was_cut_off; do
	check $test $test
done
exit "$FAILED"
