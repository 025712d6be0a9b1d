#!/bin/bash
# Nodes by other words than their names: labels, bare groups, and what Ansible and ClusterShell are told.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

names() { phx node list -o name --fold "$@" 2>"$WORK/err"; }
# code STATUS COMMAND...: what it exits with; its messages are in $WORK/err
code() {
	local want=$1
	shift
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	[ $? = "$want" ]
}
groups_conf() {
	local dir=$WORK/clustershell
	mkdir -p "$dir"
	printf '[Main]\ndefault: phoenix\nconfdir: %s\n' "$dir/conf.d" >"$dir/groups.conf"
	mkdir -p "$dir/conf.d"
	cp etc/clustershell/phoenix.conf "$dir/conf.d/"
}
nodeset() { CLUSTERSHELL_CFGDIR=$WORK/clustershell PATH=$BUILD/bin:$PATH command nodeset "$@"; }

labels_are_put_on_and_taken_off() {
	phx node label 'c[1-2]' rack=3 zone=a 2>/dev/null && phx node label c3 rack=4 2>/dev/null || return 1
	[ "$(phx node label c1 --no-header -o tsv)" = 'c1	rack=3,zone=a' ] || return 1
	code 0 phx node label c1 rack=3 && grep -q 'this is so already' "$WORK/err" || return 1
	phx node label c2 zone- rack=5 2>/dev/null && [ "$(field c2 '.labels[] | "\(.key)=\(.value)"')" = rack=5 ] &&
		phx node label c2 rack=3 2>/dev/null && phx node show c2 | grep -q 'Labels *rack=3'
}
bad_labels_are_refused() {
	code 64 phx node label c1 rack && code 64 phx node label c1 'rack=' && code 64 phx node label c1 '-' &&
		code 64 phx node label c1 a=1 a- && code 64 phx node label c1 'a=b c' || return 1
	code 1 phx node label c1 "a=$(printf 'x%.0s' {1..40})" || code 64 phx node label c1 "a=$(printf 'x%.0s' {1..40})"
}
too_many_labels_are_refused() {
	local many
	many=$(seq -f 'k%g=1' 40)
	# shellcheck disable=SC2086 # words
	code 64 phx node label c3 $many && is c3 '.labels | length' 1
}
labels_choose_nodes() {
	[ "$(names -l rack=3)" = 'c[1-2]' ] && [ "$(names -l 'rack=3,zone=a')" = c1 ] && [ "$(names -l rack=3 -l 'zone!=a')" = c2 ] &&
		[ "$(names --selector 'rack!=3')" = c3 ] && [ "$(names '@rack=3')" = 'c[1-2]' ] && [ "$(names '@rack=[3-4]!@zone=a')" = 'c[2-3]' ]
}
notes_are_left_and_shown() {
	code 0 phx node note 'c[1-2]' 'fan 3 is' loud && code 0 phx node note -l rack=4 ordered && code 0 phx node note c1 'replaced, ä' || return 1
	[ "$(phx node note c1 -o json | jq -r '.notes[] | "\(.by | startswith("uid:0")) \(.at_ms > 1e12) \(.text)"')" = $'true true fan 3 is loud\ntrue true replaced, ä' ] || return 1
	phx node show c1 | grep -q 'uid:0 .*fan 3 is loud' && [ "$(phx node note @all -o tsv --no-header | cut -f 1,4)" = $'c1\tfan 3 is loud\nc1\treplaced, ä\nc2\tfan 3 is loud\nc3\tordered' ] || return 1
	# one line of text, and not the nodes as others see them
	code 64 phx node note c1 '' && code 64 phx node note c1 x --clear && code 64 phx node note c1 $'\xff' || return 1
	code 1 phx node note c1 $'a\nb' || code 64 phx node note c1 $'a\nb' || return 1
	code 64 phx node note c1 "$(printf 'x%.0s' {1..300})" || return 1
	code 0 phx node note c1 --clear && is c1 '.notes | length' 0 && is c2 '.notes | length' 1
}
orders_take_labels() {
	phx node assign -l rack=3 web --wait --timeout 60s 2>/dev/null && idle c1 active web && idle c2 active web && idle c3 ready ""
}
labels_in_place_of_names_only() {
	code 64 phx node assign c1 -l rack=3 web && grep -q 'beside --selector' "$WORK/err" && code 64 phx node assign -l rack web &&
		code 0 phx node release -l rack=77 --yes && grep -q 'names no node' "$WORK/err"
}
bare_groups_are_pools_and_roles() {
	[ "$(names @web)" = 'c[1-2]' ] && [ "$(names @free)" = c3 ] && [ -z "$(names @batch)" ] && code 64 phx node list @nothing || return 1
	api '/v1/nodes?names=@web' | jq -e '[.nodes[].name] | sort == ["c1", "c2"]' >/dev/null &&
		api '/v1/nodes?names=@rack=4' | jq -e '[.nodes[].name] == ["c3"]' >/dev/null
}
# what is misspelt behind a '!' would take nothing away
a_group_that_does_not_exist_is_refused() {
	local group
	for group in @role:wbe @pool:vualt @state:raedy @role: @colour:red; do
		code 64 phx node list "@all!$group" && grep -qF "there is no group '$group'" "$WORK/err" || [ "$group" = @role: ] || return 1
		[ "$(api "/v1/nodes?names=@all!$group" -o /dev/null -w '%{http_code}')" != 200 ] || return 1
	done
	# a label that nobody has: a value of it names nobody, another word is misspelt
	code 64 phx node list '@all!@rakc=3' && code 64 phx node list -l 'rakc!=3' && code 64 phx node release -l rakc=3 --yes &&
		grep -qF "there is no group '@rakc=3'" "$WORK/err" &&
		[ "$(api '/v1/nodes?names=@all!@rakc=3' -o /dev/null -w '%{http_code}')" != 200 ] || return 1
	code 0 phx node list @role:batch && code 0 phx node list @state:quarantined && code 0 phx node list '@rack=77'
}
labels_outlive_the_head() {
	head_kill
	head_start
	[ "$(names -l rack=3)" = 'c[1-2]' ]
}

ansible_sees_groups_and_variables() {
	phx inventory --list >"$WORK/ansible.json" && jq -e '
		.pool_web.hosts == ["c1", "c2"] and .role_batch.hosts == [] and .label_rack_3.hosts == ["c1", "c2"] and
		.state_ready.hosts == ["c3"] and .all.hosts == ["c1", "c2", "c3"] and
		._meta.hostvars.c1.ansible_host == "127.0.0.1" and ._meta.hostvars.c1.phx_labels.rack == "3" and
		._meta.hostvars.c3.phx_up == true and ._meta.hostvars.c1.phx_role == "web"' "$WORK/ansible.json" >/dev/null || return 1
	phx inventory --host c1 | jq -e '.phx_pool == "web"' >/dev/null && code 64 phx inventory --host c9 &&
		[ "$(PATH=$BUILD/bin:$PATH etc/ansible/phoenix --list | jq -c .)" = "$(jq -c . "$WORK/ansible.json")" ]
}
one_question_at_a_time() {
	code 64 phx inventory && code 64 phx inventory --list --host c1 && code 64 phx inventory --groups map &&
		code 64 phx inventory --groups reverse && code 64 phx inventory --groups list colour && code 64 phx inventory --groups each
}
clustershell_resolves_groups() {
	groups_conf
	[ "$(nodeset -f @pool:web)" = 'c[1-2]' ] && [ "$(nodeset -f @role:web)" = 'c[1-2]' ] && [ "$(nodeset -f @state:ready)" = c3 ] &&
		[ "$(nodeset -f @web)" = 'c[1-2]' ] && [ "$(nodeset -f @rack=3)" = 'c[1-2]' ] && [ "$(nodeset -f -a)" = 'c[1-3]' ] &&
		[ "$(nodeset -f '@*')" = 'c[1-3]' ]
}
clustershell_lists_and_reverses() {
	[ "$(nodeset -l -s pool | sort | paste -sd' ')" = '@pool:batch @pool:free @pool:vault @pool:web' ] &&
		nodeset -l | grep -qx '@rack=4' && [ "$(nodeset -l -s role c1)" = '@role:web' ] && nodeset -l c1 | grep -qx '@web' &&
		[ "$(nodeset -r -s pool 'c[1-2]')" = @pool:web ]
}

head_conf
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
for n in 1 2 3; do
	post /v1/nodes "{\"name\": \"c$n\", \"macs\": [\"02:00:00:00:00:0$n\"], \"serial\": \"SN$n\"}" >/dev/null
	fake_start "c$n" "$n" --env os --image test --digest "$IMAGE_DIGEST"
	until_true 10 is "c$n" .state ready
done
for test in labels_are_put_on_and_taken_off bad_labels_are_refused too_many_labels_are_refused labels_choose_nodes notes_are_left_and_shown orders_take_labels \
	labels_in_place_of_names_only bare_groups_are_pools_and_roles a_group_that_does_not_exist_is_refused labels_outlive_the_head ansible_sees_groups_and_variables \
	one_question_at_a_time; do
	check $test $test
done
if command -v nodeset >/dev/null; then
	check clustershell_resolves_groups clustershell_resolves_groups
	check clustershell_lists_and_reverses clustershell_lists_and_reverses
else
	echo "skip clustershell_resolves_groups: clustershell is not installed"
	echo "skip clustershell_lists_and_reverses: clustershell is not installed"
fi
exit "$FAILED"
