#!/bin/bash
# Nodes of an RE that are off for a moment, with real agents: they keep role and place; after replace_after another one
# takes their place, and history says why; an RE that is deactivated while a node is off can be destroyed.
. "$(dirname "$0")/agents.bash"

id games >/dev/null 2>&1 || { echo "skip re_away: there is no user games"; exit 0; }
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
# the service provider whose RE it is
owner() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" "$@"; }
re() { api "/v1/res/queue" | jq -r "$1"; }
holds() { [ "$(re '"\(.nodes.held) \(.nodes.away) \(.nodes.idle)"')" = "$1" ]; }
history() { phx re history queue | grep -qE "$1"; }
places() { api /v1/nodes | jq -c '[.nodes[] | {name, pool, role, epoch}]'; }

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
}

# create REPLACE_AFTER: two of the three nodes; nothing but a loss is to move nodes, the lease is an hour
create() {
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; owner = "games"; type = "parallel_batch_jobs"; relationship = "affiliated"; granularity = "node";
		role = "batch-compute"; resource_coordination_model = "fb"; lower_bound_size = 2; replace_after = "$1"; setup_policy = "noop";
	END
	phx re create "$WORK/queue.conf" >/dev/null && owner re activate queue --wait --timeout 60 >/dev/null && until_true 20 holds "2 0 2"
}

three_nodes() {
	local i
	for i in 1 2 3; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	for i in 1 2 3; do until_true 30 is n$i .state ready || return 1; done
	create 10m
}

# The machine starts anew: another boot id. Nothing is ordered for it, nobody else is.
off_and_on() {
	local before
	before=$(places)
	agent_kill n2
	until_true 20 is n2 .allocation away && holds "2 1 1" && phx re show queue | grep -qE '^ *Away *n2' || return 1
	phx node list | grep -E '^n2 ' | grep -q 'its RE waits for it' || return 1
	agent_start n2 boot-again
	until_true 40 holds "2 0 2" && is n2 .allocation held && [ "$(places)" = "$before" ] || { places; return 1; }
	history 'n2 of RE queue is away' && history 'n2 is back in RE queue after' && ! history 'n2 is replaced' &&
		[ "$(phx re history queue | grep -c 'goes from')" = 2 ]
}

# Deactivated while it is off: the RE can be destroyed, and the node is released when it is heard.
deactivated_while_one_is_off() {
	agent_kill n2
	until_true 20 is n2 .allocation away || return 1
	owner re deactivate queue --yes --wait --timeout 60 >/dev/null || return 1
	until_true 20 is n1 .state ready && phx re destroy queue --yes >/dev/null || return 1
	is n2 .state maintenance && is n2 .pool '' || return 1
	phx node resume n2 2>"$WORK/out" && return 1
	grep -q 'as soon as it is heard' "$WORK/out" || { cat "$WORK/out"; return 1; }
	agent_start n2 boot-later
	until_true 40 is n2 .state ready && is n2 .pool free || return 1
}

off_for_too_long() {
	create 1s || return 1
	local gone
	gone=$(re .hosts | sed 's/.*\[//; s/n//; s/[],-].*//')
	agent_kill "n$gone"
	until_true 30 history "n$gone is replaced: RE queue gave it up: silent for .* replace_after is 1 s" &&
		until_true 30 holds "2 0 2" && history 'goes from free to queue: nodes of the lower bound were missing' || return 1
	phx node list | grep -E "^n$gone " | grep -q 'gave it up' || return 1
	agent_start "n$gone" boot-last
	until_true 40 is "n$gone" .state ready && is "n$gone" .pool free && holds "2 0 2"
}

resume_says_what_is() {
	local name
	name=$(api /v1/nodes | jq -r '[.nodes[] | select(.pool == "free") | .name][0]')
	phx node drain "$name" >/dev/null && agent_kill "$name" && until_true 20 is "$name" .up false || return 1
	phx node resume "$name" 2>"$WORK/out" && grep -q "$name is out of maintenance, and it is silent" "$WORK/out"
}

replayed() { replays_the_same 40 50; }

head_init 'service_group = "users";'
roles_init
for test in three_nodes off_and_on deactivated_while_one_is_off off_for_too_long resume_says_what_is replayed; do
	check "$test" "$test"
done
exit $FAILED
