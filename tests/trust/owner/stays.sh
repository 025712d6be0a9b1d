#!/bin/bash
# The owner of an RE has root on its nodes, and does not want to go: his agent refuses to drain and to stop, or nothing is heard of it any
# more. On a machine that nobody can switch off that keeps the node for him until a person comes; one with a BMC is switched off and on for the erase
# anyway: it is taken back without him, in minutes, and what was left out is told.
. "$(dirname "$0")/../trust.bash"

# it says to the BMC what the machine does, and machines follow DIR/power
bmc_script() {
	mkdir -p "$WORK/bmc"
	cat >"$WORK/bmc/script" <<-END
		#!/bin/sh
		p=$WORK/\$2/power
		case \$1 in
		status) read now <"\$p" 2>/dev/null || now=on; echo "\${now%%.*}" ;;
		off) echo off >"\$p.new"; mv "\$p.new" "\$p" ;;
		on) echo "on.\$\$" >"\$p.new"; mv "\$p.new" "\$p" ;;
		cycle|reset) echo "on.\$\$" >"\$p.new"; mv "\$p.new" "\$p" ;;
		esac
	END
	chmod 755 "$WORK/bmc/script"
}
plan_of() { field "$1" '.plan.steps | map(.kind + "/" + .status) | join(" ")'; }
stands() { # NAME STATE
	until_true 60 idle "$1" "$2" "" && return 0
	echo "$1 is $(field "$1" '"\(.state) \(.reason)"') $(plan_of "$1"), not $2"
	return 1
}
at_step() { [ "$(field "$1" '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"')" = "$2 issued" ]; }
# NAME [OPTION...]: it serves the owner hpc, with an agent that does as its owner wants
tenant_of() {
	action assign "{\"nodes\": \"$1\", \"role\": \"batch\"}" >/dev/null
	until_true 30 idle "$1" active batch || { echo "$1 is $(field "$1" '"\(.state) \(.reason)"')"; return 1; }
	agent_kill "$1" && fake_start "$1" "${1#n}" "${@:2}" && until_true 20 is "$1" .up true && : >"$WORK/$1/effects"
}
leaves() { action release "{\"nodes\": \"$1\", \"setup\": {\"mode\": \"wipe\"}}" | jq -e '.results[0].code == 0' >/dev/null; }
# NAME: erased after a power cycle, for nobody, with an attestation that says so
is_taken_back() {
	stands "$1" ready && is "$1" .dirty false && is "$1" .pool free && [ "$(effects "$1" ' wipe ')" = 1 ] || return 1
	phx erasure export "$1" "$WORK/$1.attestation" >/dev/null && jq -e '.attestation | .reset == "power-cycle" and .from_owner == "cert:hpc"' "$WORK/$1.attestation" >/dev/null && return 0
	jq -c .attestation "$WORK/$1.attestation"
	return 1
}

# nobody can switch it off: what he refuses has its effect
without_a_bmc_a_person_has_to_come() {
	tenant_of n2 --fail drain,stop --times 99 && leaves n2 || return 1
	until_true 60 is n2 .state quarantined || { field n2 '"\(.state) \(.reason)"'; return 1; }
	field n2 .reason | grep -q 'step drain failed 2 times: it was told to fail' && is n2 .dirty true
}
one_that_refuses_is_taken_back() {
	tenant_of n1 --fail drain,stop --times 99 && leaves n1 && is_taken_back n1 || return 1
	[ "$(plan_of n1)" = 'drain/failed stop/failed boot/done wipe/done' ] || { plan_of n1; return 1; }
}
it_is_told() {
	phx node show n1 >"$WORK/out" 2>&1 && grep -q 'stop .*failed .*it was told to fail' "$WORK/out" || { cat "$WORK/out"; return 1; }
	phx events -n 0 --node n1 >"$WORK/out" 2>&1
	grep -q 'n1: step drain is left out, and a power cycle ends what runs there: step drain failed 2 times' "$WORK/out" || { cat "$WORK/out"; return 1; }
}
# what it decided before it died it goes on with
a_head_that_restarts_goes_on() {
	tenant_of n1 --hang drain && leaves n1 && until_true 20 at_step n1 drain || { plan_of n1; return 1; }
	head_kill
	head_start
	agent_kill n1 && fake_start n1 1 --fail drain,stop --times 99
	is_taken_back n1
}
# it is not started once more with his system, to be asked there again
one_that_is_not_heard_is_taken_back() {
	tenant_of n1 --hang drain && leaves n1 && until_true 20 at_step n1 drain || { plan_of n1; return 1; }
	agent_kill n1
	until_true 60 at_step n1 boot || { plan_of n1; return 1; }
	fake_start n1 1
	is_taken_back n1 && [ "$(plan_of n1)" = 'drain/failed stop/failed boot/done wipe/done' ] || { plan_of n1; return 1; }
}
the_next_owner_has_it() {
	action assign '{"nodes": "n1", "role": "vault"}' >/dev/null
	until_true 30 idle n1 active vault || { field n1 '"\(.state) \(.reason)"'; return 1; }
}
it_replays() { replays_the_same 40 40; }

mkdir "$WORK/n1" && for_hands "$WORK/n1"
bmc_script
trust_head "bmc_dir = \"$WORK/bmc\"; hands_paths = [ \"$WORK/n1\" ];"
post /v1/actions/bmc "{\"nodes\": \"n1\", \"bmc\": {\"driver\": \"script\", \"script\": \"$WORK/bmc/script\"}}" | jq -e '.results[0].code == 0' >/dev/null ||
	{ not_ok "n1 has no BMC"; exit 1; }
for t in without_a_bmc_a_person_has_to_come one_that_refuses_is_taken_back it_is_told a_head_that_restarts_goes_on one_that_is_not_heard_is_taken_back \
	the_next_owner_has_it it_replays; do check $t $t; done
exit $FAILED
