#!/bin/bash
# The files below keys/ are the keys of disks that are in use, and no others: after a rebuild, a wipe of a node that
# nobody can reach, a removed node, and a head that was killed.
. "$(dirname "$0")/phxd.bash"
for program in fake/agent system/ask_key; do
	[ -x "$BUILD/tests/$program" ] || { echo "not ok $program is not built"; exit 1; }
done

keys() { ls "$WORK/head/keys"; }
# exactly the keys that the nodes name
keys_are_those_in_use() {
	local want
	want=$(api /v1/nodes | jq -r '.nodes[] | select(.key_unread | not) | .disk_key_id | select(. != "")' | sort)
	[ "$(keys | sort)" = "$want" ] || { echo "there are: $(keys); in use: $want"; return 1; }
}
comes_up() {
	post /v1/nodes "{\"name\": \"$1\", \"macs\": [\"02:00:00:00:00:0$2\"], \"serial\": \"SN$2\"}" >/dev/null
	fake_start "$1" "$2" --env os --image test --digest "$IMAGE_DIGEST"
	until_true 10 is "$1" .state ready && action assign "{\"nodes\": \"$1\", \"role\": \"vault\"}" >/dev/null &&
		until_true 30 idle "$1" active vault
}

encrypted_nodes_have_a_key_each() {
	comes_up c1 1 && comes_up c2 2 && comes_up c3 3 && [ "$(keys | wc -l)" = 3 ] && keys_are_those_in_use
}
a_node_gets_the_key_of_its_own_disk_only() {
	local node other key got
	for node in c1 c2 c3; do
		for other in c1 c2 c3; do
			key=$(field $other .disk_key_id)
			if [ $node = $other ]; then
				got=$(disk_key $node "$key" b1) && [ "$got" = "$(od -An -v -tx1 "$WORK/head/keys/$key" | tr -d ' \n')" ]
			else
				! got=$(disk_key $node "$key" b1) && [[ $got = *'this node may not have this key'* ]]
			fi || { echo "$node, key of $other: $got"; return 1; }
		done
	done
	# and that it was given is told
	api '/v1/events?limit=1000' | jq -e '[.events[] | select(.by == "node:c1" and (.text | startswith("c1 was given the key of its disk")))] | length >= 1' \
		>/dev/null || return 1
	action quarantine '{"nodes": "c3"}' >/dev/null && ! disk_key c3 "$(field c3 .disk_key_id)" b1 &&
		action resume '{"nodes": "c3"}' >/dev/null && until_true 40 idle c3 ready '' &&
		action assign '{"nodes": "c3", "role": "vault"}' >/dev/null && until_true 40 idle c3 active vault
}
a_rebuild_leaves_no_old_key() {
	local was
	was=$(field c1 .disk_key_id)
	phx node rebuild c1 --yes --wait --timeout 60s 2>/dev/null && idle c1 active vault || return 1
	[ "$(field c1 .disk_key_id)" != "$was" ] && [ "$(keys | wc -l)" = 3 ] && keys_are_those_in_use
}
a_silent_node_without_bmc_is_wiped_by_its_key() {
	agent_kill c2
	until_true 10 is c2 .up false || return 1
	phx node wipe c2 --method overwrite --yes 2>&1 | grep -q 'no BMC' || return 1
	phx node wipe c2 --method crypto --yes --wait --timeout 20s 2>/dev/null && idle c2 ready "" || return 1
	[ "$(keys | wc -l)" = 2 ] && keys_are_those_in_use && is c2 .reason 'key destroyed, unread' &&
		phx node show c2 | grep -q 'destroyed, unread' &&
		api /v1/nodes/c2/erasures | jq -e >/dev/null '.erasures | length == 1 and (.[0].record | test("key destroyed, unread"))'
}
it_is_given_to_nobody_meanwhile() {
	action assign '{"nodes": "c2", "role": "web"}' | jq -e >/dev/null '.results[0].code < 0' && idle c2 ready ""
}
it_is_read_back_when_it_comes() {
	fake_start c2 2 --env os --image test --digest "$IMAGE_DIGEST"
	until_true 30 is c2 '"\(.state) \(.key_unread) \(.dirty) \(.disk_key_id)"' 'ready false false ' &&
		api /v1/nodes/c2/erasures | jq -e >/dev/null '.erasures | length == 2 and (.[-1].record | test("unread") | not)'
}
a_removed_nodes_key_goes() {
	agent_stop c3
	phx node rm c3 --yes --force 2>/dev/null && until_true 10 keys_are_those_in_use && [ "$(keys | wc -l)" = 1 ]
}
# without its journal the head would begin anew: the keys of disks in use would be nobody's
a_lost_journal_is_not_passed_over() {
	local before file status
	before=$(keys)
	head_stop
	mkdir "$WORK/kept" && mv "$WORK"/head/journal.db* "$WORK/kept" || return 1
	timeout 10 "$BUILD/bin/phxd" --config "$WORK/etc/phoenix.conf" >"$WORK/lost" 2>&1
	status=$?
	rm -f "$WORK"/head/journal.db*
	mv "$WORK"/kept/journal.db* "$WORK/head"
	head_start
	[ $status = 78 ] && grep -q 'holds keys of encrypted disks: mount or restore the journal' "$WORK/lost" && [ "$(keys)" = "$before" ] && idle c1 active vault
}
# the head dies with the order given and not carried out
a_key_goes_after_the_head_was_killed() {
	local file
	file=$WORK/head/keys/$(field c1 .disk_key_id)
	chattr +i "$file" || return 1
	agent_stop c1
	phx node rm c1 --yes --force 2>/dev/null
	head_kill
	[ -e "$file" ] || { echo "the key could be destroyed all the same"; return 1; }
	chattr -i "$file"
	head_start && until_true 10 [ ! -e "$file" ] && [ -z "$(keys)" ]
}

head_conf
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
for test in encrypted_nodes_have_a_key_each a_node_gets_the_key_of_its_own_disk_only a_rebuild_leaves_no_old_key a_silent_node_without_bmc_is_wiped_by_its_key \
	it_is_given_to_nobody_meanwhile it_is_read_back_when_it_comes a_removed_nodes_key_goes a_lost_journal_is_not_passed_over; do
	check $test $test
done
# a file that cannot be removed stands for a head that had no time to
if touch "$WORK/head/probe" && chattr +i "$WORK/head/probe" 2>/dev/null; then
	chattr -i "$WORK/head/probe"
	check a_key_goes_after_the_head_was_killed a_key_goes_after_the_head_was_killed
else
	echo "skip a_key_goes_after_the_head_was_killed: no immutable files here"
fi
exit "$FAILED"
