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
PARTS_ASKED=" ${*:-network memory disk image erase proxy} "
CANARY="phoenix-canary-$$-$RANDOM$RANDOM"
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

dnsmasq_pid() { cut -d ' ' -f 1 "$DIR/run/boot/dnsmasq.pid"; }

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
	another_dnsmasq() { [ "$(dnsmasq_pid)" != "$pid" ] && kill -0 "$(dnsmasq_pid)"; }
	wait_for 20 "another dnsmasq" another_dnsmasq
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
	phx node power ram1 cycle --yes --wait --timeout 2m || return 1
	wait_for 120 "ram1 starts again" sh -c "[ \"\$('$PHX' node show ram1 -o json | jq -r '[.. | .boot_id? | select(.)][0]')\" != $boot ]"
	wait_for 120 "ram1 serves again" is_active ram1 && serves ram1 && disk_untouched ram1
}

ram_to_disk() {
	local boot
	boot=$(boot_of ram1)
	phx node plan ram1 web-server --setup noop | tee "$SCRATCH/plan" | grep -q "not in place: the role runs from disk" ||
		die "the plan does not say why: $(cat "$SCRATCH/plan")"
	grep -q kexec "$SCRATCH/plan" || die "no kexec in the plan"
	# what a role in memory wrote to the disk no key covers: only after an erase is a key's end an erase
	phx node assign ram1 web-server --setup wipe --encrypt --yes --wait --timeout 8m && serves ram1 || return 1
	[ "$(boot_of ram1)" != "$boot" ] && ! disk_untouched ram1
}

# disk_has NODE PATTERN: bytes anywhere on the disk, from outside; -z: a blank disk is one endless line otherwise.
# A search that fails is no answer.
disk_has() {
	LC_ALL=C grep -azqP "$2" "$(disk_file "$1")"
	case $? in 0) true ;; 1) false ;; *) die "the disk of $1 cannot be searched" ;; esac
}
# either header of LUKS2
has_luks() { disk_has "$1" '(LUKS|SKUL)\xba\xbe'; }
root_is_encrypted() {
	local id
	id=$(node_field ram1 .disk_key_id)
	[ -n "$id" ] && [ -s "$(key_file)" ] || die "no disk key"
	has_luks ram1
}
key_file() { find "$DIR/state/keys" -type f -name "$(node_field ram1 .disk_key_id)" | head -n 1; }

encrypted_power_cycle() {
	local boot key
	boot=$(boot_of ram1) key=$(key_of ram1)
	phx node power ram1 cycle --yes --wait --timeout 2m || return 1
	wait_for 30 "ram1 goes" sh -c "! '$PHX' node show ram1 -o json | grep -q '$boot' || '$PHX' node show ram1 -o json | jq -e '[.. | objects | select(.up? == false)] | length > 0'"
	wait_for 180 "ram1 is back in its encrypted system" is_active ram1 && serves ram1 || return 1
	[ "$(boot_of ram1)" != "$boot" ] && [ "$(key_of ram1)" = "$key" ] || die "boot id or certificate"
	[ "$(node_field ram1 .window)" = false ] || die "the window for a new key is open still"
	! was_quarantined ram1
}

# how many erase records of ram1 jq's condition holds for
erasures_where() { phx node erasures ram1 -o json | jq "[.. | objects | select($1)] | length"; }
# key_gone_unread KEY_FILE N: gone, remembered, told, and the Nth record of that kind
key_gone_unread() {
	wait_for 10 "the key is gone" [ ! -e "$1" ]
	[ "$(node_field ram1 .key_unread)" = true ] || die "nobody remembers that it is unread"
	phx node show ram1 | grep "destroyed, unread" || die "phx node show does not say so"
	[ "$(erasures_where '.text? == "key destroyed, unread"')" = "$2" ] || die "no record of it"
}
# erased_and_read_back N: the Nth time
was_read_back() { state_is ram1 ready && [ "$(node_field ram1 .key_unread)" = false ]; }
erased_and_read_back() {
	wait_for 240 "ram1 is erased and read back" was_read_back
	[ -z "$(node_field ram1 .disk_key_id)" ] || die "it has a key still"
	[ "$(erasures_where '.method? == "crypto" and .verified_bytes? > 0')" = "$1" ] || die "no record of the read-back"
	! has_luks ram1 || die "a LUKS header is still there"
}

key_of_the_dead() {
	local key
	key=$(key_file)
	phx node power ram1 off --hard --yes --wait --timeout 2m && is_down ram1 || return 1
	phx node release ram1 --setup wipe:crypto --yes || return 1
	key_gone_unread "$key" 1
	[ "$(plan_kinds ram1)" = "destroy_key boot wipe" ] || die "$(plan_kinds ram1)"
	erased_and_read_back 1
}

# nobody can start it: the key goes at once all the same, the rest when somebody switches it on
key_of_the_unreachable() {
	local key
	phx node assign ram1 web-server --encrypt --yes --wait --timeout 8m && phx node bmc ram1 driver=none || return 1
	key=$(key_file)
	[ -s "$key" ] && has_luks ram1 || die "it is not encrypted"
	lab kill ram1 && wait_for 30 "ram1 is missing" is_down ram1 || return 1
	phx node release ram1 --setup wipe:crypto --yes --wait --timeout 1m || return 1
	key_gone_unread "$key" 2
	has_luks ram1 || die "who has erased a machine that is off?"
	phx node assign ram1 web-server --wait --timeout 1m && die "a machine that cannot be started was given a role"
	# nobody but its owner saw how it was started: it is started once more, by a person who says so
	lab on ram1 && wait_for 120 "ram1 is quarantined" is_quarantined ram1 && reason_says ram1 "phx node resume waits for a start by hand" || return 1
	phx node resume ram1 --yes && lab kill ram1 && wait_for 30 "ram1 is missing" is_down ram1 && lab on ram1 && erased_and_read_back 2
}

memory_part() {
	check ram_role_serves_and_leaves_the_disk ram_serves &&
		check ram_role_comes_back_after_a_power_cycle ram_comes_back &&
		check ram_to_encrypted_disk_by_kexec ram_to_disk &&
		check root_is_encrypted root_is_encrypted &&
		check encrypted_root_opens_after_a_power_cycle encrypted_power_cycle &&
		check key_of_a_dead_node_goes_first_and_is_read_back key_of_the_dead &&
		check key_of_a_node_without_bmc_goes_at_once key_of_the_unreachable
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

# Its disk is empty: that it asks without its key is told and proves nothing; it is started by hand, with a token, which another key is
# worth, and then its system is missing.
is_claimed() { phx events -n 0 --node "$1" | grep -q "it comes without its key, .*phx node power $1 cycle" && is_down "$1"; }
comes_back_without_its_key() {
	lab kill web1 && wait_for 30 "web1 is missing" is_down web1 || return 1
	truncate -s 0 "$(disk_file web1)" && truncate -s 2G "$(disk_file web1)" && lab on web1 || return 1
	wait_for 120 "web1 asks without its key" is_claimed web1 && phx node power web1 cycle --yes || return 1
	wait_for 120 "web1 is quarantined" is_quarantined web1
	reason_says web1 "came back without its installed system"
	! serves web1
}

resume_brings_it_back() {
	# automatic assignment is on: it is given its role again as soon as it is ready
	phx node resume web1 --yes || return 1
	wait_for 300 "web1 serves again" is_active web1 && serves web1
}

# refuses COMMAND...: with the disk and what it could be erased by, and status 1 of the table
refuses() {
	phx "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"
	local status=$?
	[ $status -eq 1 ] || die "$*: status $status"
	grep -q 'web1.*BREADTH-WEB.*cannot be erased by secure-erase; it can: .*overwrite' "$SCRATCH/err" || die "$*: $(cat "$SCRATCH/err")"
}
secure_erase_refused() {
	local boot steps
	boot=$(boot_of web1) steps=$(plan_kinds web1)
	refuses node release web1 --setup wipe:secure-erase --dry-run && refuses node release web1 --setup wipe:secure-erase --yes &&
		refuses node assign web1 batch-compute --setup wipe:secure-erase --dry-run &&
		refuses node assign web1 batch-compute --setup wipe:secure-erase --yes --wait &&
		refuses node wipe web1 --method secure-erase --yes || return 1
	[ "$(boot_of web1)" = "$boot" ] && [ "$(plan_kinds web1)" = "$steps" ] && is_active web1 && serves web1 || die "something was done to it"
}

disk_part() {
	check accepted_machine_deploys_itself deploys_itself &&
		check secure_erase_is_refused_where_the_disk_cannot secure_erase_refused &&
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

# ---- erase: the drive does it itself (NVMe Format; QEMU has neither Sanitize nor ATA security erase), on a machine
# that is woken by its network card and whose BMC speaks Redfish ----

# where a sleeping card would listen: a port of the bridge that writes down what comes
standby_card() {
	ip -n "phx-$LAB" link add wol0 type veth peer name wol1 && ip -n "phx-$LAB" link set wol0 master phxbr0 up &&
		ip -n "phx-$LAB" link set wol1 up || return 1
	in_lab socat -u INTERFACE:wol1 "CREATE:$SCRATCH/wire" &
	wait_for 5 "somebody listens" test -e "$SCRATCH/wire"
}
woken() {
	local mac
	mac=$(machine_field "$1" .mac | tr -d :)
	od -An -v -tx1 "$SCRATCH/wire" | tr -d ' \n' | grep -qE "0842f{12}($mac){16}"
}

nvme_wakes() {
	standby_card || return 1
	phx node bmc nvme1 driver=wol mac="$(machine_field nvme1 .mac)" interface=phxbr0 >/dev/null && phx node power nvme1 on || return 1
	wait_for 10 "a magic packet for nvme1" woken nvme1
	# what the card would do
	lab on nvme1 && enrols nvme1 180 && accept nvme1 && wait_for 60 "nvme1 is ready" state_is nvme1 ready
}

# TLS with a certificate that nobody knows, as BMCs have it
redfish_up() {
	local ip password
	ip=$(machine_field nvme1 .bmc_ip) password=$(lab status --json | jq -r .bmc_password_file)
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$SCRATCH/bmc.key" -out "$SCRATCH/bmc.pem" \
		-days 2 -subj /CN=bmc 2>/dev/null || return 1
	in_lab socat "OPENSSL-LISTEN:443,bind=$ip,reuseaddr,fork,cert=$SCRATCH/bmc.pem,key=$SCRATCH/bmc.key,verify=0" \
		"EXEC:tests/fake/redfish $PHX $DIR nvme1 phoenix $password" 2>"$SCRATCH/redfish.log" &
	echo wrong >"$DIR/etc/bmc.wrong" && chmod 600 "$DIR/etc/bmc.wrong"
	phx node bmc nvme1 driver=redfish address="$ip" user=phoenix password_file="$DIR/etc/bmc.wrong" insecure=true >/dev/null || return 1
	wait_for 5 "the BMC answers" sh -c "'$PHX' node power nvme1 status 2>&1 | grep -q 'who are you'"
	phx node bmc nvme1 driver=redfish address="$ip" user=phoenix password_file="$password" insecure=true >/dev/null &&
		phx node power nvme1 status && [ "$(node_field nvme1 .power)" = on ]
}

nvme_facts() {
	check_inventory nvme1
	[ "$(node_field nvme1 '.facts.disks | map("\(.bus) \(.can_nvme_format) \(.can_nvme_sanitize)") | join(",")')" = "nvme true false" ] ||
		die "its abilities: $(node_field nvme1 .facts.disks)"
}

# the file is written by a job, in a NOOP hand-over's other role
nvme_serves() {
	phx node assign nvme1 web-server --wait --timeout 5m && serves nvme1 &&
		phx node assign nvme1 batch-compute --setup noop --wait --timeout 2m || return 1
	setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n 1 --wait --timeout 2m -- \
		/bin/sh -c "yes $CANARY | head -n 50000 >/var/tmp/canary; sync" || return 1
	disk_has nvme1 "$CANARY" || die "the canary is not in its disk image"
}

nvme_released() {
	phx node release nvme1 --setup wipe:secure-erase --dry-run | tee "$SCRATCH/plan" | grep -q secure-erase ||
		die "not in the plan: $(cat "$SCRATCH/plan")"
	# by its BMC: off, network once, on
	phx node release nvme1 --setup wipe:secure-erase --power-cycle --yes --wait --timeout 4m && state_is nvme1 ready || return 1
	! disk_has nvme1 "$CANARY" || die "the canary survived"
	# all of it, not the canary only
	cmp -n "$(stat -c %s "$(disk_file nvme1)")" "$(disk_file nvme1)" /dev/zero || die "something is left on the disk"
	phx node erasures nvme1 | tee "$SCRATCH/erasures"
	grep -q "NVMe format, user data erase" "$SCRATCH/erasures" || die "no record of the format"
	erased_by_format 1
}
# so many records, each with its read-back
erased_by_format() {
	phx node erasures nvme1 -o json | jq -e "[.. | objects | select(.method? == \"secure-erase\" and .verified_bytes > 0)] | length == $1" >/dev/null ||
		die "the records: $(phx node erasures nvme1 -o json)"
}

nvme_serves_again() {
	phx node assign nvme1 web-server --wait --timeout 5m && serves nvme1 || return 1
	# and once more, as one hand-over
	phx node assign nvme1 batch-compute --setup wipe:secure-erase --yes --wait --timeout 5m || return 1
	erased_by_format 2 && ! serves nvme1 && is_active nvme1 >/dev/null
}

nvme_off() { phx node power nvme1 off --hard --yes --wait --timeout 1m && [ "$(machine_field nvme1 .on)" = false ] && [ "$(node_field nvme1 .power)" = off ]; }

erase_part() {
	check magic_packet_wakes_a_machine nvme_wakes &&
		check redfish_bmc_over_tls redfish_up &&
		check nvme_disk_says_what_it_can_erase nvme_facts &&
		check nvme_canary_is_on_the_disk nvme_serves &&
		check nvme_released_with_secure_erase nvme_released &&
		check nvme_is_used_again nvme_serves_again &&
		check redfish_off_is_observed nvme_off
	lab kill nvme1
}

# ---- proxy: beside a site's own DHCP server, while the first lab runs ----

# it gives the addresses that the nodes were announced with: from others they are not let in
site_hosts() {
	local name
	for name in bios1 uefi1; do echo "--dhcp-host=$(node_field $name '.macs[0].mac'),$(node_field $name .ip)"; done
}

# the site: its own namespace on the lab's bridge, a DHCP server that knows nothing of network boot
site_up() {
	ip netns add "$SITE" && ip -n "$SITE" link set lo up &&
		ip -n "$SITE" link add site0 type veth peer name site0 netns "phx-$LAB" &&
		ip -n "phx-$LAB" link set site0 master phxbr0 up &&
		ip -n "$SITE" addr add 10.77.0.2/24 dev site0 && ip -n "$SITE" link set site0 up || return 1
	ip netns exec "$SITE" dnsmasq --conf-file=/dev/null --keep-in-foreground --port=0 --interface=site0 --bind-interfaces \
		--user=root --pid-file= --dhcp-range=10.77.0.30,10.77.0.60,255.255.255.0,10m --dhcp-leasefile="$SCRATCH/leases" --no-ping \
		$(site_hosts) --log-dhcp --log-facility="$SCRATCH/site.log" &
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
	elif asked_for memory || asked_for disk || asked_for image; then
		boots_plainly || return
	fi
	if asked_for memory; then memory_part >"$SCRATCH/memory.out" 2>&1 & fi
	local memory=${!:-}
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
# not while an image is damaged
if asked_for erase; then erase_part >"$SCRATCH/erase.out" 2>&1 & fi
erase=${!:-}
if asked_for proxy; then proxy_part; fi
if asked_for erase; then
	wait "$erase"
	cat "$SCRATCH/erase.out"
fi
check lab_down_leaves_nothing lab_gone
[ ! -s "$FAILED_FILE" ]
failed=$?
echo "$((SECONDS - begin)) s in all"
exit $failed
