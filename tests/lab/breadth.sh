#!/bin/bash
# What the main job does not do: systems in memory, nodes that come back by themselves, encrypted disks over a power
# cycle, lost keys, damaged images, sick DHCP, a site's own DHCP server, two labs at once. Real parts in emulated
# machines. Prints "ok NAME" or "not ok NAME" a check; leaves nothing behind.
# usage: breadth.sh [PART...]; parts: network memory disk image proxy; all of them without an argument
export LAB=breadth$$
. "$(dirname "$0")/lib.sh"
SCRATCH=$(mktemp -d)
SITE=phx-$LAB-site # namespace of the site's DHCP server
FAILED_FILE=$SCRATCH/failed
PARTS_ASKED=" ${*:-network memory disk image proxy} "
trap clean EXIT
trap 'exit 1' INT TERM

clean() {
	trap - EXIT
	jobs -p | xargs -r kill 2>/dev/null
	site_down
	lab down >/dev/null 2>&1
	(second_lab && lab down >/dev/null 2>&1 && rm -rf "$DIR")
	[ -n "${KEEP:-}" ] || rm -rf "$DIR"
	rm -rf "$SCRATCH"
}

asked_for() { [[ $PARTS_ASKED == *" $1 "* ]]; }

# check NAME COMMAND...: the rest of a part goes on only after a success
check() {
	local name=$1 begin=$SECONDS
	shift
	if ("$@"); then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		echo "not ok $name ($((SECONDS - begin)) s)"
		echo "$name" >>"$FAILED_FILE"
		phx events -n 40
		phx node list
		tail -n 5 "$DIR/phxd.log"
		tail -n 25 "$DIR"/machines/*/console.log
		return 1
	fi
}

# ---- labs ----

head_conf() {
	cat etc/lab-head.conf
	printf '%s;\n' "$@"
}

# in a subshell: everything below is about the other lab
second_lab() {
	export LAB=${LAB%p}p
	. tests/lab/lib.sh
}

lab_up() {
	head_conf 'auto_assign = true' "rules_file = \"$PWD/tests/lab/breadth-rules.conf\"" >"$SCRATCH/head.conf"
	{ cat tests/lab/breadth.conf && echo "head_conf = \"$SCRATCH/head.conf\";"; } >"$SCRATCH/lab.conf"
	lab up -f "$SCRATCH/lab.conf" && push_packages
}

lab_gone() {
	lab down || return 1
	! ip netns list | grep -q "phx-$LAB" && ! pgrep -f "$DIR/" >/dev/null
}

# ---- what is asked of nodes ----

plan_kinds() { phx node show "$1" -o json | jq -r '[.. | .steps? | select(.)[] | .kind] | join(" ")'; }
is_active() { phx node show "$1" -o json | jq -e '[.. | objects | select(.plan? and .state == "active" and .up and .healthy and .env == "os")] | length == 1'; }
is_down() { [ "$(node_field "$1" .up)" = false ]; }
serves() { page "$1" | grep -qi "$1"; }
disk_file() { echo "$DIR/machines/$1/disk0.raw"; }
# nothing was ever written there: the file has no block
disk_untouched() { [ "$(stat -c %b "$(disk_file "$1")")" = 0 ]; }
enrols() { wait_for "$2" "$1 enrols" asked "$1"; }
# this boot's identity and the certificate's: "BOOT_ID KEY"
boot_of() { node_field "$1" .boot_id; }
key_of() { node_field "$1" .key_fp; }
was_quarantined() { phx events -n 0 --node "$1" -o json | grep -q quarantined; }
is_quarantined() { state_is "$1" quarantined; }
reason_says() { node_field "$1" .reason | grep -q "$2" || die "$1: $(node_field "$1" .reason)"; }

accept() {
	phx node accept "$1" && wait_for 60 "$1 is let in" sh -c "'$PHX' node show $1 -o json | jq -e '[.. | objects | select(.plan? and .state == \"new\")] | length == 0'"
}

# ---- network: DHCP that does not answer, DHCP that dies ----

dnsmasq_pid() { cat "$DIR/run/dnsmasq.pid"; }

dhcp_down_for_a_while() {
	local pid
	pid=$(dnsmasq_pid) && kill -STOP "$pid" || return 1
	phx node power 'ram1,web1' on --wait --timeout 2m || return 1
	sleep 10
	! asked ram1 && ! asked web1 || die "somebody enrolled without DHCP"
	kill -CONT "$pid"
	enrols ram1 180 && enrols web1 180
}

dhcp_killed() {
	local pid
	pid=$(dnsmasq_pid) && kill -KILL "$pid" || return 1
	wait_for 20 "another dnsmasq" sh -c "[ \"\$(cat '$DIR/run/dnsmasq.pid')\" != $pid ] && kill -0 \"\$(cat '$DIR/run/dnsmasq.pid')\""
}

boots_plainly() { phx node power 'ram1,web1' on --wait --timeout 2m && enrols ram1 180 && enrols web1 180; }

# ---- memory: a role in memory, from there to an encrypted disk ----

ram_serves() {
	accept ram1 && wait_for 60 "ram1 is ready" state_is ram1 ready || return 1
	phx node assign ram1 web-ram --wait --timeout 5m && serves ram1 || return 1
	[ "$(plan_kinds ram1)" = "ram enter activate start health join" ] || die "$(plan_kinds ram1)"
	disk_untouched ram1 || die "its disk was written to"
}

ram_comes_back() {
	local boot
	boot=$(boot_of ram1)
	phx node power ram1 cycle --wait --timeout 2m || return 1
	wait_for 120 "ram1 starts again" sh -c "[ \"\$('$PHX' node show ram1 -o json | jq -r '[.. | .boot_id? | select(.)][0]')\" != $boot ]"
	wait_for 120 "ram1 serves again" is_active ram1 && serves ram1 && disk_untouched ram1
}

ram_to_disk() {
	local boot
	boot=$(boot_of ram1)
	phx node plan ram1 web-server --setup noop | tee "$SCRATCH/plan" | grep -q "not in place: the role runs from disk" ||
		die "the plan does not say why: $(cat "$SCRATCH/plan")"
	grep -q kexec "$SCRATCH/plan" || die "no kexec in the plan"
	phx node assign ram1 web-server --encrypt --yes --wait --timeout 8m && serves ram1 || return 1
	[ "$(boot_of ram1)" != "$boot" ] && ! disk_untouched ram1
}

# either header of LUKS2, anywhere on the disk; a search that fails is no answer
has_luks() {
	LC_ALL=C grep -azqP '(LUKS|SKUL)\xba\xbe' "$(disk_file "$1")"
	case $? in 0) true ;; 1) false ;; *) die "the disk of $1 cannot be searched" ;; esac
}
root_is_encrypted() {
	local id
	id=$(node_field ram1 .disk_key_id)
	[ -n "$id" ] && [ -s "$(key_file)" ] || die "no disk key"
	has_luks ram1
}
key_file() { find "$DIR/state/keys" -type f -name "*$(node_field ram1 .disk_key_id)*" | head -n 1; }

encrypted_power_cycle() {
	local boot key
	boot=$(boot_of ram1) key=$(key_of ram1)
	phx node power ram1 cycle --wait --timeout 2m || return 1
	wait_for 30 "ram1 goes" sh -c "! '$PHX' node show ram1 -o json | grep -q '$boot' || '$PHX' node show ram1 -o json | jq -e '[.. | objects | select(.up? == false)] | length > 0'"
	wait_for 180 "ram1 is back in its encrypted system" is_active ram1 && serves ram1 || return 1
	[ "$(boot_of ram1)" != "$boot" ] && [ "$(key_of ram1)" = "$key" ] || die "boot id or certificate"
	[ "$(node_field ram1 .window)" = false ] || die "the window for a new key is open still"
	! was_quarantined ram1
}

key_of_the_dead() {
	local key
	key=$(key_file)
	phx node power ram1 off --wait --timeout 2m && is_down ram1 || return 1
	phx node release ram1 --setup wipe:crypto --yes || return 1
	wait_for 10 "the key is gone" [ ! -e "$key" ]
	[ "$(plan_kinds ram1)" = "destroy_key boot wipe" ] || die "$(plan_kinds ram1)"
	[ "$(node_field ram1 .key_unread)" = true ] || die "nobody remembers that it is unread"
	phx node show ram1 | grep "destroyed, unread" || die "phx node show does not say so"
	phx node erasures ram1 -o json | jq -e '[.. | objects | select(.text? == "key destroyed, unread")] | length == 1' >/dev/null ||
		die "no record of it"
	wait_for 240 "ram1 is erased and read back" state_is ram1 ready
	[ "$(node_field ram1 .key_unread)" = false ] && [ -z "$(node_field ram1 .disk_key_id)" ] || die "still unread"
	phx node erasures ram1 -o json | jq -e '[.. | objects | select(.method? == "crypto" and .verified_bytes? > 0)] | length == 1' >/dev/null ||
		die "no record of the read-back"
	! has_luks ram1 || die "a LUKS header is still there"
}

memory_part() {
	check ram_role_serves_and_leaves_the_disk ram_serves &&
		check ram_role_comes_back_after_a_power_cycle ram_comes_back &&
		check ram_to_encrypted_disk_by_kexec ram_to_disk &&
		check root_is_encrypted root_is_encrypted &&
		check encrypted_root_opens_after_a_power_cycle encrypted_power_cycle &&
		check key_of_a_dead_node_goes_first_and_is_read_back key_of_the_dead
	lab kill ram1 # room for the others
}

# ---- disk: deploys itself, comes back by itself, loses its key ----

deploys_itself() {
	accept web1 && wait_for 300 "web1 deploys itself" is_active web1 && serves web1 || return 1
	[ "$(node_field web1 .role)" = web-server ] && phx role match web1 | grep -q web-server
}

comes_back_alone() {
	local boot key
	boot=$(boot_of web1) key=$(key_of web1)
	lab kill web1 && wait_for 30 "web1 is missing" is_down web1 && lab on web1 || return 1
	wait_for 180 "web1 is back" is_active web1 && serves web1 || return 1
	[ "$(boot_of web1)" != "$boot" ] && [ "$(key_of web1)" = "$key" ] || die "boot id or certificate"
	! was_quarantined web1 || die "it was quarantined"
}

comes_back_without_its_key() {
	lab kill web1 && wait_for 30 "web1 is missing" is_down web1 || return 1
	truncate -s 0 "$(disk_file web1)" && truncate -s 2G "$(disk_file web1)" && lab on web1 || return 1
	wait_for 120 "web1 is quarantined" is_quarantined web1
	reason_says web1 "came back without its key"
	! serves web1
}

resume_brings_it_back() {
	# automatic assignment is on: it is given its role again as soon as it is ready
	phx node resume web1 --yes || return 1
	wait_for 300 "web1 serves again" is_active web1 && serves web1
}

disk_part() {
	check accepted_machine_deploys_itself deploys_itself &&
		check disk_node_comes_back_after_a_power_cut comes_back_alone &&
		check node_without_its_key_is_quarantined comes_back_without_its_key &&
		check resume_brings_it_back resume_brings_it_back
}

# ---- image: damaged on the head ----

image_file() { find "$DIR/state/images/debian-12" -name root.ext4.zst | head -n 1; }

image_cut_short() {
	local boot
	boot=$(boot_of web1)
	cp "$(image_file)" "$SCRATCH/root" && truncate -s 8M "$(image_file)" || return 1
	phx node rebuild web1 --yes --wait --timeout 1m 2>"$SCRATCH/err" && die "it was deployed"
	cat "$SCRATCH/err"
	grep -q 'root.ext4.zst .*cut short' "$SCRATCH/err" || die "the message does not name the file"
	# it keeps what it had
	is_active web1 >/dev/null && serves web1 && [ "$(boot_of web1)" = "$boot" ] && cat "$SCRATCH/root" >"$(image_file)"
}

# same size, other bytes: only who reads all of it finds out
image_altered() {
	printf 'phoenix' | dd of="$(image_file)" bs=1 seek=5000000 conv=notrunc status=none
	phx node rebuild web1 --yes --wait --timeout 6m && die "it was deployed"
	is_quarantined web1 || die "web1 is $(node_field web1 .state)"
	reason_says web1 "image debian-12 .*root.ext4.zst"
	say "$(node_field web1 .reason)"
	! serves web1 && cat "$SCRATCH/root" >"$(image_file)"
}

image_mended() { phx node resume web1 --yes && wait_for 300 "web1 serves again" is_active web1 && serves web1; }

image_part() {
	check truncated_image_is_refused image_cut_short
	check altered_image_is_refused image_altered
	check mended_image_is_deployed image_mended
	lab kill web1
}

# ---- proxy: beside a site's own DHCP server, while the first lab runs ----

# the site: its own namespace on the lab's bridge, a DHCP server that knows nothing of network boot
site_up() {
	ip netns add "$SITE" && ip -n "$SITE" link set lo up &&
		ip -n "$SITE" link add site0 type veth peer name site0 netns "phx-$LAB" &&
		ip -n "phx-$LAB" link set site0 master phxbr0 up &&
		ip -n "$SITE" addr add 10.77.0.2/24 dev site0 && ip -n "$SITE" link set site0 up || return 1
	ip netns exec "$SITE" dnsmasq --conf-file=/dev/null --keep-in-foreground --port=0 --interface=site0 --bind-interfaces \
		--user=root --pid-file= --dhcp-range=10.77.0.30,10.77.0.60,255.255.255.0,10m --dhcp-leasefile="$SCRATCH/leases" --no-ping \
		--log-dhcp --log-facility="$SCRATCH/site.log" &
	wait_for 5 "the site's DHCP server" test -s "$SCRATCH/site.log"
}
site_down() {
	ip netns list | grep -q "^$SITE\b" || return 0
	ip netns pids "$SITE" | xargs -r kill
	ip netns del "$SITE"
}

second_lab_up() {
	head_conf 'dhcp_mode = "proxy"' >"$SCRATCH/head2.conf"
	{ cat tests/lab/breadth-proxy.conf && echo "head_conf = \"$SCRATCH/head2.conf\";"; } >"$SCRATCH/lab2.conf"
	lab up -f "$SCRATCH/lab2.conf"
}

proxy_enrols() {
	phx node power "$1" on --wait --timeout 2m && enrols "$1" 240 || return 1
	phx node accept "$1" && wait_for 60 "$1 is ready" state_is "$1" ready || return 1
	local ip
	ip=$(node_field "$1" .address)
	grep -q " ${ip%%:*} " "$SCRATCH/leases" || die "$1 has $ip, and not from the site's server"
	lab kill "$1"
}

first_lab_is_as_before() { LAB=${LAB%p} PHX_SOCKET=$LABS/${LAB%p}/phxd.sock phx node list >/dev/null && ip netns list | grep -q "phx-${LAB%p}\b"; }

proxy_part() (
	second_lab
	SITE=phx-$LAB-site
	trap 'site_down; lab down >/dev/null 2>&1' EXIT
	check second_lab_beside_the_first second_lab_up && check site_has_its_own_dhcp site_up || return 1
	check proxy_dhcp_bios_enrols proxy_enrols bios1
	check proxy_dhcp_uefi_enrols proxy_enrols uefi1
	site_down
	check second_lab_leaves_nothing lab_gone
	check first_lab_is_as_before first_lab_is_as_before
	rm -rf "$DIR"
)

# ---- all of it ----

run() {
	if asked_for network; then
		check dhcp_down_for_a_while dhcp_down_for_a_while || return
		check dnsmasq_killed_is_started_again dhcp_killed || return
	else
		boots_plainly || return
	fi
	if asked_for memory; then memory_part >"$SCRATCH/memory.out" 2>&1 & fi
	local memory=$!
	if asked_for disk; then disk_part; elif asked_for image; then accept web1 && wait_for 300 "web1 deploys itself" is_active web1; fi
	if asked_for memory; then
		wait "$memory"
		cat "$SCRATCH/memory.out"
	fi
	if asked_for image; then image_part; fi
}

begin=$SECONDS
check lab_up lab_up || exit 1
[ "$PARTS_ASKED" = " proxy " ] || run
if asked_for proxy; then proxy_part; fi
check lab_down_leaves_nothing lab_gone
[ ! -s "$FAILED_FILE" ]
failed=$?
echo "$((SECONDS - begin)) s in all"
exit $failed
