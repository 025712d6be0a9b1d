#!/bin/bash
# Somebody takes over the head: he has all keys that are on it, and writes its files. Nodes take no package that he signs, whichever
# of these keys he signs it with, and none of before by the way of a restored catalogue; what he does to the keys is journalled.
. "$(dirname "$0")/../../system/agents.bash"

assign() { phx node assign n1 web --yes --wait --timeout 60 >"$WORK/out" 2>&1; }
runs() { is n1 .actual_identity "test@1 web-$1"; }
told() { phx events --lines 0 2>/dev/null | grep -qE "$1"; }
role() { # VERSION [MORE]
	printf 'summary = "pages"; pool = "web"; image = "test"; boot = "ram"; packages = [ "web-%s" ]; %s\n' "$1" "${2:-}" >"$WORK/etc/roles/web.conf"
	phx reload >"$WORK/reload" 2>&1
}
the_owner_s_package_runs() { role 2.0 && assign && runs 2.0; }
signed_by_a_key_of_the_head_is_not_in_the_catalogue() {
	local key
	for key in site attest; do
		package web "3.$key" 'sleep 1000' "$WORK/head/pki/$key.key"
		role "3.$key" && { echo "$key.key signs packages"; return 1; }
		grep -q "not signed by a key of $WORK/head/package-keys" "$WORK/reload" || { cat "$WORK/reload"; return 1; }
	done
	is n1 .drift false
}
is_refused() { api /v1/nodes/n1 | grep -q 'not signed by a key of .*packages.pub'; }
rests() { is n1 '"\(.state) \(.plan.cursor == (.plan.steps | length))"' 'active true'; }
# He has the head believe his key, and his packages; the node believes what it was deployed with.
a_key_that_he_adds_counts_for_no_node_that_is_there() {
	phx package key add "$WORK/head/pki/site.pub" mine >/dev/null || return 1
	told 'packages signed by key mine \(sha256:[0-9a-f]+\) are believed from now on' || { echo "not journalled"; return 1; }
	grep -q 'packages are signed by a key that is on this head (mine' "$WORK/phxd.log" || { echo "not told"; return 1; }
	package web 4.0 'sleep 1000' "$WORK/head/pki/site.key"
	# of three attempts the first is enough
	role 4.0 && phx node assign n1 web --yes >"$WORK/out" 2>&1 && until_true 20 is_refused && phx node cancel n1 --yes >"$WORK/out" 2>&1 &&
		until_true 20 rests && runs 2.0 || { cat "$WORK/out"; api /v1/nodes/n1; return 1; }
	phx package key rm mine --yes >/dev/null 2>&1
	told 'packages signed by key mine \(sha256:[0-9a-f]+\) are believed no more'
}
# What a restart finds changed is journalled, too: nobody told the head.
a_key_put_beside_it_is_journalled() {
	head_stop
	cp "$WORK/head/pki/site.pub" "$WORK/head/package-keys/quiet.pub"
	head_start
	told 'packages signed by key quiet \(sha256:[0-9a-f]+\) are believed from now on' && rm "$WORK/head/package-keys/quiet.pub"
}
a_ring_that_others_may_write_is_none() {
	chmod 777 "$WORK/head/package-keys"
	phx reload >"$WORK/reload" 2>&1
	grep -q 'keys of packages: .*package-keys' "$WORK/reload" || { cat "$WORK/reload"; return 1; }
	chmod 755 "$WORK/head/package-keys"
	phx reload >/dev/null 2>&1
	told 'key tests .* believed no more' && ! phx package list 2>&1 | grep -q tests.pub
}
# Well signed, and of before: with a fault that version 2 has no more.
an_older_one_is_refused_and_told() {
	role 2.0 'allow_older = [ "web-2.0" ];' >/dev/null && assign && runs 2.0 || { cat "$WORK/out" "$WORK/reload"; return 1; }
	role 1.0 && { echo "the role was taken"; return 1; }
	grep -q 'web 1.0 is older than 2.0, which the role had: to go back, its file says allow_older = \[ "web-1.0" \]' "$WORK/reload" &&
		told 'role web stays as it is: web 1.0 is older than 2.0' || { cat "$WORK/reload"; return 1; }
	head_stop && head_start # with the older file
	until_true 20 is n1 .up true
	[ "$(phx role show web -o json | jq -r '.packages[0].version')" = 2.0 ] && runs 2.0
}
going_back_is_said() { role 1.0 'allow_older = [ "web-1.0" ];' && assign && runs 1.0 || { cat "$WORK/out" "$WORK/reload"; return 1; }; }

head_init || exit 1
chmod 755 "$WORK"
for v in 1.0 2.0; do package web $v 'sleep 1000'; done
role 2.0
phx node add n1 --mac 02:00:00:00:00:01 >/dev/null
node_init n1 1
agent_start n1
until_true 20 is n1 .state ready || not_ok "n1 is ready"
for t in the_owner_s_package_runs signed_by_a_key_of_the_head_is_not_in_the_catalogue a_key_that_he_adds_counts_for_no_node_that_is_there \
	a_key_put_beside_it_is_journalled a_ring_that_others_may_write_is_none an_older_one_is_refused_and_told going_back_is_said; do check $t $t; done
exit $FAILED
