#!/bin/bash
# Somebody is root on the head once and rewrites what happened: he alters a word of an event, takes events away, changes two of them for each
# other, moves times and authors, cuts off the end, or makes two heads write one journal. Who has a copy of what left the head, and the
# public key, is told each time; tests/unit/store/audit.c tries a thousand, and a journal whose hashes are all made anew.
. "$(dirname "$0")/../trust.bash"

db() { sqlite3 "$WORK/bad.db" "$1"; }
verify() { "$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/$1" --anchors "$WORK/kept" "${@:2}" >"$WORK/verify" 2>&1; }
copy() { cp "$WORK/copy.db" "$WORK/bad.db"; }
a_copy_is_proven() { verify copy.db -o json && jq -e ".finding == \"ok\" and .proven >= $LAST" "$WORK/verify" >/dev/null || { cat "$WORK/verify"; return 1; }; }
# one random change to a random event before the anchor; SQL of it
change() {
	local at=$((RANDOM % (LAST - 2) + 1))
	case $((RANDOM % 9)) in
	0) echo "UPDATE events SET event = substr(event, 1, length(event) - 1) || ',\"x\":1}' WHERE seq = $at" ;;
	1) echo "UPDATE events SET time_ms = time_ms + 1 WHERE seq = $at" ;;
	2) echo "UPDATE events SET kind = kind || 'x' WHERE seq = $at" ;;
	3) echo "UPDATE events SET node = node || 'x' WHERE seq = $at" ;;
	4) echo "UPDATE events SET actions = '[] ' WHERE seq = $at" ;;
	5) echo "DELETE FROM events WHERE seq = $at" ;;
	6) echo "UPDATE events SET seq = -1 WHERE seq = $at; UPDATE events SET seq = $at WHERE seq = $((at + 1)); UPDATE events SET seq = $((at + 1)) WHERE seq = -1" ;;
	7) echo "DELETE FROM events WHERE seq >= $at" ;;
	8) echo "UPDATE events SET hash = randomblob(32) WHERE seq = $at" ;;
	esac
}
each_change_is_found() {
	local i sql n=0
	for ((i = 0; i < TRIES; i++)); do
		sql=$(change)
		copy && db "$sql" && ! cmp -s "$WORK/copy.db" "$WORK/bad.db" || { echo "$sql changes nothing"; return 1; }
		verify bad.db && { echo "$sql: $(cat "$WORK/verify")"; return 1; }
		n=$((n + 1))
	done
	echo "    $n of $TRIES found"
}
# with some of the anchors gone less is proven, and that is said; a forged one is none
fewer_anchors_prove_less() {
	head -n 1 "$WORK/kept" >"$WORK/less" && head -c -20 "$WORK/kept" >"$WORK/cut" && sed 's/ event \([0-9]*\) / event 1\1 /' "$WORK/kept" >"$WORK/forged" && : >"$WORK/none"
	"$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/copy.db" --anchors "$WORK/less" >"$WORK/verify" 2>&1 && grep -q 'cannot be proven' "$WORK/verify" || { cat "$WORK/verify"; return 1; }
	"$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/copy.db" --anchors "$WORK/cut" >"$WORK/verify" 2>&1; grep -q 'passed over' "$WORK/verify" || { cat "$WORK/verify"; return 1; }
	for file in forged none; do
		! "$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/copy.db" --anchors "$WORK/$file" >"$WORK/verify" 2>&1 || { echo "$file: $(cat "$WORK/verify")"; return 1; }
	done
}
two_heads_write_no_journal() {
	local seq status
	head_start
	seq=$(seq_now)
	sed "s/http_port = $HTTP; https_port = $HTTPS/http_port = $((HTTP + 2)); https_port = $((HTTP + 3))/; s,run_dir = \"$WORK/head\",run_dir = \"$WORK/second\"," "$WORK/etc/phoenix.conf" >"$WORK/etc/second.conf"
	mkdir -p "$WORK/second"
	for option in '' --accept-journal --new-journal; do
		timeout 20 "$BUILD/bin/phxd" --config "$WORK/etc/second.conf" $option >"$WORK/second.out" 2>&1
		status=$?
		[ $status != 0 ] && [ $status != 124 ] && grep -qE 'journal|another' "$WORK/second.out" || { echo "second head $option: $status $(cat "$WORK/second.out")"; return 1; }
	done
	# the first goes on, with its keys
	post /v1/nodes '{"name": "n9", "macs": ["02:00:00:00:00:09"]}' >/dev/null && fake_start n9 9 && until_true 20 idle n9 ready "" && [ "$(seq_now)" -gt "$seq" ] && head_stop &&
		"$BUILD/bin/phx" journal verify --pub "$WORK/kept.pub" --journal "$WORK/head/journal.db" --anchors "$WORK/kept" >"$WORK/verify" 2>&1 || { cat "$WORK/verify"; return 1; }
}

TRIES=${TRIES:-120}
trust_head "anchor_file = [ \"$WORK/kept\" ]; anchor_syslog = false;"
action assign '{"nodes": "n1", "role": "batch"}' >/dev/null && until_true 30 idle n1 active batch
head_stop # leaves an anchor
head_start && action release '{"nodes": "n1", "setup": {"mode": "wipe"}}' >/dev/null && until_true 40 idle n1 ready ""
head_stop
cp "$WORK/head/pki/site.pub" "$WORK/kept.pub" && cp "$WORK/head/journal.db" "$WORK/copy.db"
LAST=$(tail -n 1 "$WORK/kept" | sed 's/.* event \([0-9]*\) .*/\1/')
[ "$(wc -l <"$WORK/kept")" -ge 2 ] && [ "$LAST" -gt 20 ] || { not_ok "no anchors: $(cat "$WORK/kept")"; exit 1; }
for t in a_copy_is_proven each_change_is_found fewer_anchors_prove_less two_heads_write_no_journal; do check $t $t; done
exit $FAILED
