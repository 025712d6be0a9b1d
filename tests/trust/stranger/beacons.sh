#!/bin/bash
# A stranger forges beacons: in the name of a node that serves, of one that is switched off, and of machines that nobody has; beacons that
# are none, too long, with control characters, with words of the head's own; more than anybody may send. What a beacon says is kept as
# unproven, with the address that it came from, and not a node, an event nor a start's progress changes.
. "$(dirname "$0")/../trust.bash"

DB=$WORK/head/starts.db
# beacon FROM MAC TEXT: the status
beacon() { printf '%s' "$3" | curl -sS -m 20 --interface "$1" -o "$WORK/answer" -w '%{http_code}' "http://127.0.0.1:$HTTP/beacon/$2" --data-binary @-; }
WHOLE=$'phoenix-beacon 1\nfrom agent\nstage head\nhead reached\naddress 10.0.0.5/24\nnic eth0 02:00:00:00:00:01 x up\npci 8086:1593 020000'
nodes_now() { api /v1/nodes | jq -S 'del(.nodes[].monitor)'; }
nothing_changes() {
	local nodes seq
	nodes=$(nodes_now) seq=$(seq_now)
	"$@" || return 1
	[ "$(nodes_now)" = "$nodes" ] || { echo "a node changed"; diff <(echo "$nodes") <(nodes_now); return 1; }
	[ "$(seq_now)" = "$seq" ] || { api "/v1/events?after=$seq" | jq -c '.events[] | [.kind, .by, .text]'; return 1; }
}
# ask the database: seen SQL-CONDITION: how many beacons are kept for which that holds
seen() { sqlite3 -readonly "file:$DB?mode=ro" "select count(*) from seen join starts on seen.start = starts.id where seen.kind = 'beacon' and ($1)"; }
seen_is() { [ "$(seen "$1")" = "$2" ] || { echo "$1: wanted $2, got $(seen "$1")"; return 1; }; }
reached() { sqlite3 -readonly "file:$DB?mode=ro" "select coalesce(max(number), 0), coalesce(max(reached), 0) from starts where node = '$1'"; }

# n1 serves, n2 is switched off: what is said in their names is kept, and by whom; it begins no start and ends none
in_the_name_of_others() {
	local before1 before2
	# nobody has made the database yet, where nothing was seen
	before1=$(reached n1 2>/dev/null) before2=$(reached n2 2>/dev/null)
	[ "$(beacon 127.0.0.9 02:00:00:00:00:01 "$WHOLE")" = 200 ] && [ "$(beacon 127.0.0.9 02:00:00:00:00:02 "$WHOLE")" = 200 ] || { cat "$WORK/answer"; return 1; }
	until_true 10 seen_is "starts.node = 'n1' and seen.text like '% by=127.0.0.9%'" 1 && until_true 10 seen_is "starts.node = 'n2'" 1 || return 1
	[ "$(reached n1 | cut -d'|' -f2)" = "$(cut -d'|' -f2 <<<"${before1:-0|0}")" ] && [ "$(reached n2 | cut -d'|' -f2)" = "$(cut -d'|' -f2 <<<"${before2:-0|0}")" ] ||
		{ echo "n1 $before1 -> $(reached n1), n2 $before2 -> $(reached n2)"; return 1; }
}
none_is_proven() { seen_is "seen.proven" 0 && [ "$(seen "not seen.proven")" -ge 2 ]; }
# a word of the head's own is not his to write, nor what steers a terminal
words_are_the_heads() {
	[ "$(beacon 127.0.0.8 02:00:00:00:00:01 $'phoenix-beacon 1\nhead x by=10.0.0.1 by_address=own reached=head\nkernel \x1b[2J\x1b]0;owned\x07\xe2\x80\xae')" = 200 ] || return 1
	until_true 10 seen_is "seen.text like 'reached=none % by=127.0.0.8%'" 1 || return 1
	seen_is "seen.text like '% by=10.%' or seen.text like '% reached=%' or seen.text like '% by_address=own%'" 0 || return 1
	seen_is "instr(seen.text, char(27)) or instr(seen.text, char(7)) or instr(seen.text, char(8238))" 0
}
what_is_none_is_refused() {
	local text n=0 before
	before=$(seen 1)
	for text in '' hello '{"csr": "x"}' $'phoenix-beacon 2\n' $'phoenix-beacon 1\nnic eth0 x\n' $'phoenix-beacon 1\nclock -1\n'; do
		n=$((n + 1))
		[ "$(beacon 127.0.0.$((20 + n)) 02:00:00:00:00:01 "$text")" = 400 ] || { echo "$text: $(cat "$WORK/answer")"; return 1; }
	done
	for text in n1 02:00:00:00:00 %00 ../nodes/n1; do
		n=$((n + 1))
		[[ $(beacon 127.0.0.$((20 + n)) "$text" "$WHOLE") =~ ^(400|404)$ ]] || { echo "$text: $(cat "$WORK/answer")"; return 1; }
	done
	[ "$(beacon 127.0.0.60 02:00:00:00:00:01 "$(head -c 5000 /dev/zero | tr '\0' x)")" = 413 ] || { cat "$WORK/answer"; return 1; }
	[ "$(seen 1)" = "$before" ]
}
# more than anybody may send: he is told to come later, others are heard
floods_are_cut() {
	local i got=0 late=0
	for ((i = 0; i < 60; i++)); do
		case $(beacon 127.0.0.70 "02:00:00:00:02:$(printf %02x $i)" "$WHOLE") in 200) got=$((got + 1)) ;; 429) late=$((late + 1)) ;; *) return 1 ;; esac
	done
	echo "    $got taken, $late told to come later"
	[ $got -ge 6 ] && [ $got -le 20 ] && [ $((got + late)) = 60 ] && [ "$(beacon 127.0.0.71 02:00:00:00:00:02 "$WHOLE")" = 200 ]
}
# a machine that nobody announced says something: it is kept, and it is no node
strangers_are_no_nodes() {
	[ "$(beacon 127.0.0.80 06:00:00:00:00:01 "$WHOLE")" = 200 ] && until_true 10 seen_is "starts.node = '06:00:00:00:00:01'" 1 && api /v1/nodes | jq -e '.nodes | length == 2' >/dev/null
}

FAKES="--env deploy"
trust_head
action assign '{"nodes": "n1", "role": "batch"}' >/dev/null && until_true 30 idle n1 active batch || { not_ok "n1 has no tenant"; exit 1; }
agent_kill n2
until_true 20 is n2 .up false || { not_ok "n2 is still up"; exit 1; }
for t in in_the_name_of_others none_is_proven words_are_the_heads what_is_none_is_refused floods_are_cut strangers_are_no_nodes; do check $t nothing_changes $t; done
exit $FAILED
