#!/bin/bash
# The site's CA is changed under running agents: none goes missing, what the former one has signed is believed until it is retired and
# refused afterwards, a copy of its key is worth nothing then; head and vault are killed in the middle.
. "$(dirname "$0")/agents.bash"

PKI=$WORK/head/pki
id_of() { openssl x509 -in "$1" -pubkey -noout | openssl sha256; }
cas() { grep -c BEGIN "$1"; }
signed_by() { openssl verify -partial_chain -CAfile "$1" "$2" >/dev/null 2>&1; } # CA CERTIFICATE
up() { [ "$(field "$1" .up)" = true ]; }
seq_now() { api /v1/status | jq .seq; }
missing_since() { api "/v1/events?after=$1&limit=1000" | jq "[.events[] | select(.kind == \"missing\" and .node != \"n3\")] | length"; }
# with the certificate of DIR: the status of an answer
asks() { curl -sS -m 20 --cacert "$PKI/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" -o "$WORK/body" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/access" 2>"$WORK/noise"; }
rest() { phx pki show -o json 2>/dev/null | jq -rc ".rest | $1"; }
told() { phx events 2>/dev/null | grep -q -- "$1"; }
shown() { openssl s_client -connect "127.0.0.1:$HTTPS" -CAfile "$1" -verify_return_error </dev/null >/dev/null 2>&1; }
knows() { [ "$(cas "$WORK/$1/etc/phoenix/ca.pem")" = "$2" ] && signed_by "$3" "$WORK/$1/var/lib/phoenix/agent.pem"; }
# forged NAME: a certificate of the resource provider, by the copy of the key that was stolen
forged() {
	mkdir -p "$WORK/$1" && openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORK/$1/key.pem" -subj "/O=phoenix/OU=provider/CN=$1" \
		-out "$WORK/$1/csr" 2>/dev/null && openssl x509 -req -in "$WORK/$1/csr" -CA "$WORK/stolen.pem" -CAkey "$WORK/stolen.key" -set_serial "0x$(openssl rand -hex 8)" \
		-days 9 -extfile <(echo 'extendedKeyUsage = clientAuth') -out "$WORK/$1/cert.pem" 2>/dev/null
}

nobody_else_may() {
	local code
	code=$(setpriv --reuid=nobody --regid=nogroup --clear-groups curl -sS -m 20 --unix-socket "$PHX_SOCKET" -o /dev/null -w '%{http_code}' -X POST http://unix/v1/pki/rotate)
	[ "$code" = 403 ] && [ "$(cas "$PKI/ca.pem")" = 1 ]
}
nothing_to_retire() { ! phx pki retire --yes 2>"$WORK/out" && grep -q 'one CA alone' "$WORK/out"; }

another_ca_signs() {
	BEFORE=$(seq_now)
	phx pki rotate --reason "the key was seen elsewhere" 2>/dev/null || return 1
	[ "$(cas "$PKI/ca.pem")" = 2 ] && ! [ "$(id_of "$PKI/ca.pem")" = "$(id_of "$WORK/stolen.pem")" ] && [ -s "$PKI/ca-old.key" ] && [ ! -e "$PKI/ca-next.key" ] || return 1
	openssl x509 -in "$PKI/ca.pem" -out "$WORK/new.pem"
	! phx pki rotate 2>"$WORK/out" && grep -q 'being changed already' "$WORK/out"
}
it_is_in_the_journal() { told 'is to be changed: the key was seen elsewhere' && told 'is believed until phx pki retire' && phx events | grep 'is to be changed' | grep -q uid:0; }
machines_boot_with_both() { curl -sS -m 20 "http://127.0.0.1:$HTTP/site.cpio" | grep -a -c 'BEGIN CERTIFICATE' | grep -qx 2; }
# the head shows what everybody believes, also to who knows the former CA alone
the_head_is_believed_by_both() { shown "$WORK/stolen.pem" && shown "$PKI/ca.pem" && ! shown "$WORK/new.pem"; }
people_of_before_are_believed() { [ "$(asks alice)" = 200 ]; }
people_of_now_are_believed() {
	(cd "$WORK" && phx cert issue bob --kind provider --out "$WORK/bob") >/dev/null || return 1
	signed_by "$WORK/new.pem" "$WORK/bob/cert.pem" && [ "$(asks bob)" = 200 ] && [ "$(cas "$WORK/bob/ca.pem")" = 2 ]
}
agents_learn_it() { until_true 20 knows n1 2 "$WORK/new.pem" && until_true 20 knows n2 2 "$WORK/new.pem"; }
who_is_left_is_named() { until_true 20 eval '[ "$(rest "[.nodes, (.certs | map(.name))]")" = "[[\"n3\"],[\"alice\"]]" ]' || { rest .; return 1; }; }
none_went_missing() { up n1 && up n2 && [ "$(missing_since "$BEFORE")" = 0 ]; }
retiring_is_refused() {
	! phx pki retire --yes 2>"$WORK/out" && grep -q '1 node (n3) and 1 certificate (alice)' "$WORK/out" && grep -q 'phx node rm' "$WORK/out" && [ "$(cas "$PKI/ca.pem")" = 2 ]
}
# what the head knows of its nodes outlives it
a_killed_head_knows_all() {
	head_kill
	head_start
	until_true 20 up n1 && until_true 20 up n2 && who_is_left_is_named && the_head_is_believed_by_both
}
one_that_was_off_learns_it() { agent_start n3 && until_true 20 knows n3 2 "$WORK/new.pem" && until_true 20 eval '[ "$(rest ".nodes")" = "[]" ]'; }
revoked_ones_do_not_count() { phx cert revoke alice 2>/dev/null && [ "$(rest '[.nodes, .certs]')" = '[[],[]]' ]; }
# the stolen key makes administrators, until then
a_copy_of_the_key_counts_before() { forged mallory && [ "$(asks mallory)" = 200 ]; }
# what is held open for it then ends, and its connection is worth no more
held_by_mallory() {
	curl -sS -m 50 --cacert "$PKI/ca.pem" --cert "$WORK/mallory/cert.pem" --key "$WORK/mallory/key.pem" "https://127.0.0.1:$HTTPS/v1/events?wait=30&after=100000" \
		-o "$WORK/held" -w '%{http_code}' >"$WORK/held.code" 2>/dev/null &
	HELD=$!
	sleep 0.7 # its request is under way
	kill -0 "$HELD" || { cat "$WORK/held"; return 1; }
}
what_is_held_ends() {
	local end=$((SECONDS + 10))
	wait "$HELD"
	[ "$SECONDS" -lt "$end" ] && [ "$(cat "$WORK/held.code")" = 403 ] || { cat "$WORK/held.code" "$WORK/held"; return 1; }
}
it_is_retired() {
	held_by_mallory || return 1
	phx pki retire --yes 2>/dev/null && [ "$(cas "$PKI/ca.pem")" = 1 ] && [ ! -e "$PKI/ca-old.key" ] && [ "$(id_of "$PKI/ca.pem")" = "$(id_of "$WORK/new.pem")" ] &&
		told 'no other is believed' && curl -sS -m 20 "http://127.0.0.1:$HTTP/site.cpio" | grep -a -c 'BEGIN CERTIFICATE' | grep -qx 1
}
a_copy_of_the_key_is_worth_nothing() {
	[ "$(asks mallory)" = 403 ] && forged trudy && [ "$(asks trudy)" = 403 ] && ! shown "$WORK/stolen.pem" && shown "$WORK/new.pem" && [ "$(asks bob)" = 200 ]
}
# and no head of his is believed by an agent
agents_forget_it() { for n in n1 n2 n3; do until_true 20 knows $n 1 "$WORK/new.pem" || return 1; done; }
all_are_there() { up n1 && up n2 && up n3 && [ "$(missing_since "$BEFORE")" = 0 ]; }
force_says_whom() {
	local serial
	phx pki rotate 2>/dev/null && phx pki retire --yes --force 2>/dev/null || return 1
	told 'which shuts out 3 nodes (n\[1-3\])'
}

# killed_while ORDER: the vault or the head, at any moment; then there is the one state or the other, and phxd serves
whole() {
	openssl x509 -in "$PKI/ca.pem" -pubkey -noout | cmp -s - <(openssl pkey -in "$PKI/ca.key" -pubout) && [ ! -e "$PKI/ca-next.key" ] &&
		{ [ "$(cas "$PKI/ca.pem")" = 1 ] && [ ! -e "$PKI/ca-old.key" ] || { [ "$(cas "$PKI/ca.pem")" = 2 ] && [ -e "$PKI/ca-old.key" ]; }; }
}
a_kill_leaves_no_half() {
	local i victim order
	for i in 1 2 3 4; do
		[ "$(cas "$PKI/ca.pem")" = 1 ] && order=(rotate) || order=(retire --yes --force)
		[ $((i % 2)) = 0 ] && victim=$(pgrep -P "$HEAD" -f -- '--vault') || victim=$(head_pid)
		phx pki "${order[@]}" >/dev/null 2>&1 &
		sleep "0.00$((i * 2))"
		kill -9 "$victim"
		wait $!
		until_true 15 api /v1/pki && until_true 15 whole || { ls "$PKI"; cas "$PKI/ca.pem"; return 1; }
		api /v1/pki | jq -e --arg n "$(cas "$PKI/ca.pem")" '.cas | length == ($n | tonumber)' >/dev/null || return 1
	done
	curl -sS -m 20 --cacert "$PKI/ca.pem" "https://127.0.0.1:$HTTPS/site.cpio" -o /dev/null
}

head_init
head_stop
sed -i 's/heartbeat_ms = 500/heartbeat_ms = 100/' "$PHX_CONFIG"
head_start
for i in 1 2 3; do
	api /v1/nodes -d "{\"name\": \"n$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
	node_init n$i $i
	agent_start n$i
done
for i in 1 2 3; do until_true 20 is n$i .state ready || { not_ok "n$i is not ready"; exit 1; }; done
agent_stop n3
(cd "$WORK" && phx cert issue alice --kind provider --out "$WORK/alice") >/dev/null
cp "$PKI/ca.pem" "$WORK/stolen.pem" && cp "$PKI/ca.key" "$WORK/stolen.key"
for test in nobody_else_may nothing_to_retire another_ca_signs it_is_in_the_journal machines_boot_with_both the_head_is_believed_by_both \
	people_of_before_are_believed people_of_now_are_believed agents_learn_it who_is_left_is_named none_went_missing retiring_is_refused a_killed_head_knows_all \
	one_that_was_off_learns_it revoked_ones_do_not_count a_copy_of_the_key_counts_before it_is_retired what_is_held_ends a_copy_of_the_key_is_worth_nothing agents_forget_it \
	all_are_there force_says_whom a_kill_leaves_no_half; do
	check "$test" "$test"
done
exit $FAILED
