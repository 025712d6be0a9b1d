#!/bin/bash
# Somebody has had what holds the site's keys do something, became root on the head, and takes what its log says of it away: he cuts its
# end, where no line behind is missed, or writes one that is as long. Who kept an anchor elsewhere is told.
. "$(dirname "$0")/../trust.bash"

LOG=$WORK/head/pki/vault.log
verify() { # EXIT WORDS LOG...
	local status logs=() log
	for log in "${@:3}"; do logs+=(--vault-log "$log"); done
	"$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/copy.db" --anchors "$WORK/elsewhere" "${logs[@]}" >"$WORK/verify" 2>&1
	status=$?
	[ $status = "$1" ] && grep -q -e "$2" "$WORK/verify" && return 0
	echo "verify ${*:3}: $status, wanted $1 and '$2': $(cat "$WORK/verify")"
	return 1
}
an_anchor_says_how_far_it_was() { tail -n 1 "$WORK/elsewhere" | grep -qE ' vault [0-9]+ [0-9a-f]{64} signature '; }
a_copy_is_proven() {
	verify 0 'OK: events' "$WORK/log" && grep -q "vault's log: lines 1 to" "$WORK/verify" && grep -q 'anchors fit, the last says line' "$WORK/verify"
}
# the last line that any anchor speaks of, and all behind it
an_end_that_was_cut_is_found() {
	local line
	line=$(tail -n 1 "$WORK/elsewhere" | grep -oE 'vault [0-9]+' | cut -d' ' -f2)
	[ "$line" -ge 3 ] && head -n $((line - 1)) "$WORK/log" >"$WORK/cut" || return 1
	verify 1 'its end was cut' "$WORK/cut" && head -n "$line" "$WORK/log" >"$WORK/cut" && verify 0 'OK: events' "$WORK/cut"
}
# the first lines, in whose place one says that they are in an older file
a_beginning_that_was_cut_is_found() {
	local n=2
	{ sed -n "$((n + 1))p" "$WORK/log" | cut -c1-64 | tr '\n' ' ' && echo "1000 turned $n lines" && tail -n "+$((n + 2))" "$WORK/log"; } >"$WORK/cut" || return 1
	verify 1 'its beginning is gone: lines 1 to 2 are not' "$WORK/cut"
	# without an anchor nobody knows, and that is said
	"$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/copy.db" --vault-log "$WORK/cut" >"$WORK/verify" 2>&1 &&
		grep -q 'whether they were dropped or cut off cannot be told' "$WORK/verify" || { cat "$WORK/verify"; return 1; }
}
# the chain is whole: what writes it writes on; and nobody complains but the anchors
one_that_goes_on_differently_is_found() {
	cp -a "$LOG" "$WORK/whole" && head -n 2 "$WORK/whole" >"$LOG" || return 1
	head_start
	post /v1/nodes '{"name": "n8", "macs": ["02:00:00:00:00:08"]}' >/dev/null
	fake_start n8 8
	until_true 20 idle n8 ready ""
	! phx events | grep -q 'does not follow' || return 1
	head_stop
	while [ "$(wc -l <"$LOG")" -le "$(wc -l <"$WORK/whole")" ]; do head_start && head_stop; done
	verify 1 'written anew' "$LOG"
}
an_altered_line_is_found() {
	sed '3s/ key sha256:./ key sha256:x/' "$WORK/log" >"$WORK/altered"
	cmp -s "$WORK/log" "$WORK/altered" && sed '3s/.$/~/' "$WORK/log" >"$WORK/altered"
	verify 1 'does not follow' "$WORK/altered"
}
it_is_shown() {
	"$BUILD/bin/phx" journal vault --vault-log "$WORK/log" --node n1 >"$WORK/shown" 2>&1 && grep -q 'cert node n1 serial .* why first' "$WORK/shown" && ! grep -q n2 "$WORK/shown" &&
		"$BUILD/bin/phx" journal vault --vault-log "$WORK/log" -o json | jq -e '[.[].text | select(startswith("cert node n2 "))] | length >= 1' >/dev/null &&
		! "$BUILD/bin/phx" journal vault --vault-log "$WORK/altered" >"$WORK/shown" 2>&1 && grep -q 'does not follow' "$WORK/shown"
}

trust_head "anchor_file = [ \"$WORK/kept\" ]; anchor_syslog = false;"
head_stop # leaves an anchor
cp "$WORK/head/pki/site.pub" "$WORK/kept.pub" && cp "$WORK/head/journal.db" "$WORK/copy.db" && cp "$LOG" "$WORK/log" && cp "$WORK/kept" "$WORK/elsewhere" || exit 1
for t in an_anchor_says_how_far_it_was a_copy_is_proven an_end_that_was_cut_is_found a_beginning_that_was_cut_is_found an_altered_line_is_found it_is_shown one_that_goes_on_differently_is_found; do
	check $t $t
done
exit $FAILED
