#!/bin/bash
# Why a machine does not boot, on an emulated one: failures are planted one after the other, phx node why names each, and no other
# cause, within ten seconds of the deadline of its phase; then the plant is taken away, the node is helped as why has proposed, and
# goes on. Prints "ok CASE" or "not ok CASE" a case.
# usage: why.sh [CASE...]; the cases: see CASES, all of them without an argument. WHYS names a directory that gets what phx node why
# has said in each case, as a user sees it: CASE.txt
export LAB=${LAB:-why$$}
. "$(dirname "$0")/lib.sh"
MADE=$BUILD/lab-$LAB
FAILED=0
NODE=node1 # the machine of the case
OTHER= # the pid of a DHCP server of others
ACT=   # what why has proposed
ROLE=  # that the case has deployed
PATIENCE=${PATIENCE:-50} # percent of what machines have; a slow host needs more
trap 'clean' EXIT
trap 'exit 1' INT TERM
clean() {
	trap - EXIT
	[ -z "$(jobs -p)" ] || kill $(jobs -p) 2>/dev/null
	mend_dhcp_other 2>/dev/null
	lab down >/dev/null 2>&1
	[ -n "${KEEP:-}" ] || rm -rf "$DIR" "$MADE"
}

# ---- the cases: name | cause | how far it has come when it goes on | what it starts from | the machine, if not node1 ----
# For each there are plant_NAME and mend_NAME. What it starts from: new (any state: its start is looked at), ready.
# A mended machine has come far enough when why says that it is to reach that phase, or a later one, and nothing wrong; or, for
# "serves", that nothing is wrong and it is in service, which is the end of that machine. The firmware of node1 is iPXE; that of
# node2 fetches iPXE by TFTP.
CASES='
bmc_password     bmc_password    dhcp    new
bmc_unreachable  bmc_silent      dhcp    new
dhcp_silent      dhcp_silent     files   new
dhcp_untaken     dhcp_untaken    files   new
dhcp_other       dhcp_other      files   new
tftp_blocked     tftp_blocked    steps   new    node2
script_404       script_refused  beacon  new
initrd_short     script_refused  beacon  new
initrd_cut       file_cut        beacon  new
firewall_http    head_blocked    beacon  new
loss             loss            beacon  new
nic_driver       nic_driver      beacon  new
memory           memory          beacon  new
init_dies        init_dies       beacon  new
unaccepted       unaccepted      steps   new
clock_back       nothing         steps   ready
clock_ahead      clock           steps   ready
firewall_https   enrol_blocked   steps   ready
cert_revoked     cert_revoked    steps   ready
disk_driver      disk_driver     steps   ready
service          service         steps   ready
disk_full        disk_full       steps   ready
role_init_dies   role_init_dies  serves  ready
'

# ---- the lab ----

# QEMU by way of a program that reads what is planted: words that are added, and words that stand for others
make_qemu() {
	mkdir -p "$MADE/bin"
	: >"$MADE/words"
	: >"$MADE/instead"
	: >"$MADE/before"
	cat >"$MADE/bin/qemu-system-x86_64" <<-END
		#!/bin/bash
		words=()
		for word; do
			# what writes the serial line into a file is a socket, too, for the console (below)
			[[ \$word =~ ^file,id=console,.*/machines/node([0-9]+)/ ]] && port=910\${BASH_REMATCH[1]}
			word=\${word/file,id=console,append=on,path=/socket,id=console,host=127.0.0.1,port=\$port,server=on,wait=off,logappend=on,logfile=}
			while read -r from to; do [ -z "\$from" ] || word=\${word//"\$from"/\$to}; done <"$MADE/instead"
			words+=("\$word")
		done
		exec "$(command -v qemu-system-x86_64)" \$(cat "$MADE/before") "\${words[@]}" \$(cat "$MADE/words")
	END
	chmod 755 "$MADE/bin/qemu-system-x86_64"
	PATH=$MADE/bin:$PATH
}
# role NAME IMAGE LINE...: a system on disk, with these lines
role() {
	printf '%s\n' "summary = \"$1\";" 'pool = "web";' "image = \"$2\";" 'boot = "disk";' "${@:3}" >"$MADE/roles/$1.conf"
}
# lives ROLE [IMAGE]
lives() { role "$1" "${2:-debian-12}" "services = ( { name = \"$1\"; exec = [ \"/bin/sleep\", \"infinity\" ]; } );"; }
make_conf() {
	mkdir -p "$MADE/roles" && cp roles/*.conf "$MADE/roles/"
	role broken debian-12 'services = ( { name = "broken"; exec = [ "/bin/sh", "-c", "echo cannot listen on port 80 >&2; exit 1" ]; } );'
	cp etc/lab-head.conf "$MADE/head.conf"
	printf '%s;\n' "role_dir = \"$MADE/roles\"" 'consoles = true' "start_patience_percent = $PATIENCE" >>"$MADE/head.conf"
	cat >"$MADE/lab.conf" <<-END
		name = "why"; subnet = "10.77.0.0/24"; deploy_image = "deploy-cloud"; head_conf = "$MADE/head.conf";
		machines = ( { name = "node1"; memory = "768 MiB"; cpus = 1; nic = "virtio";
			       disks = ( { bus = "virtio"; size = "2 GiB"; serial = "WHY-1"; } ); },
			     { name = "node2"; firmware = "uefi"; memory = "512 MiB"; cpus = 1; nic = "virtio";
			       disks = ( { bus = "virtio"; size = "1 GiB"; serial = "WHY-2"; } ); } );
	END
}
# what is on its serial line is its console: over TCP, since who has the consoles may read no file of the machine
give_console() { # NODE
	cat >"$DIR/etc/console-$1" <<-END
		#!/bin/bash
		while sleep 0.2; do
			exec 3<>/dev/tcp/127.0.0.1/910${1#node} && cat <&3
		done 2>/dev/null
	END
	chmod 755 "$DIR/etc/console-$1" && phx node bmc "$1" console=script "console_script=$DIR/etc/console-$1"
}
up() { make_qemu && make_conf && lab up -f "$MADE/lab.conf" && push_packages && give_console node1 && give_console node2; }

# ---- what why says ----

WHY=$MADE/why.json
why() { phx node why "$NODE" -o json >"$WHY" 2>/dev/null; }
said() { jq -r ".$1" "$WHY"; }
say_why() { say "$(jq -r '"why: \(.cause) (\(.phase)): \(.text); next: \(.act)"' "$WHY")"; }
phase_number() { grep -n "^START_PHASE($1," lib/types/start_phase.def | cut -d: -f1; }

# names CAUSE: it comes to be said, no other failure is said before it, and it is not later than it may be
names() {
	local cause=$1 begin=$SECONDS last=0 now
	while [ $((SECONDS - begin)) -lt 600 ]; do
		why || { sleep 0.5; continue; }
		now=$(date +%s)
		if [ "$(said cause)" = "$cause" ]; then
			say_why
			[ "$last" = 0 ] || [ $((now - last)) -le 10 ] || { say "it came $((now - last)) s after the deadline of its phase"; return 1; }
			return 0
		fi
		[ "$(said wrong)" != true ] || { say_why; say "that is another cause than $cause"; return 1; }
		last=$(($(said deadline_us) / 1000000))
		sleep 0.5
	done
	say_why
	return 1
}
# keep_why CASE: as a user sees it
keep_why() { [ -z "${WHYS:-}" ] || { mkdir -p "$WHYS" && phx node why "$NODE" >"$WHYS/$1.txt"; }; }
# stays CASE CAUSE: a while later it is still that; or nothing is wrong, where a machine helps itself
stays() {
	sleep 2 && why || return 1
	[ "$(said cause)" = "$2" ] && return 0
	# whose key is accepted anew asks for a certificate after some refusals
	[ "$1" = cert_revoked ] && [ "$(said wrong)" = false ] && return 0
	say_why
	return 1
}
# the act that is a command of phx is done; what it says beside that is the plant, which is taken away
does_act() {
	case $ACT in
	*'phx node power '$NODE' cycle'* | *'phx node power '$NODE' on'*) start_it ;;
	*'phx node quarantine '$NODE', phx node resume '$NODE', and phx node assign '$NODE' ROLE'*)
		phx node quarantine "$NODE" --yes && phx node resume "$NODE" --yes && wait_for 240 "$NODE is ready" is_ready &&
			phx node assign "$NODE" "$ROLE" --yes
		;;
	*'phx node resume '$NODE*) phx node resume "$NODE" --yes ;;
	*'phx node accept '$NODE*) phx node accept "$NODE" ;;
	esac
}
# of an act that is done only when the machine has asked for it; node2 has never been let in
does_rest() {
	case $NODE:$ACT in
	*'phx node accept '$NODE* | node2:*) asked "$NODE" && phx node accept "$NODE" 2>/dev/null ;;
	esac
}
has_come_to() {
	why || return 1
	[ "$1" != serves ] || { [ "$(said cause)" = nothing ] && state_is "$NODE" active; return; }
	[ "$(said wrong)" = false ] && [ "$(phase_number "$(said phase)")" -ge "$(phase_number "$1")" ]
}
goes_on() {
	local end=$((SECONDS + 600)) # a busy machine deploys for minutes
	until has_come_to "$1"; do
		does_rest
		[ $SECONDS -lt $end ] || { say "it does not come to $1"; tell; return 1; }
		sleep 0.5
	done
}

# ---- plants ----

nft_plant() { in_lab nft "add table inet plant; add chain inet plant in { type filter hook input priority 0; }; add chain inet plant out { type filter hook output priority 0; }; $1"; }
nft_mend() { in_lab nft 'delete table inet plant'; }
image_dir() { echo "$DIR"/state/images/deploy-cloud/*; }

# a wrong password is in the file that the head reads
bmc_password() { lab status --json | jq -r .bmc_password_file; }
plant_bmc_password() { cp -p "$(bmc_password)" "$MADE/password" && echo wrong >"$(bmc_password)" && { start_it; true; }; }
mend_bmc_password() { cat "$MADE/password" >"$(bmc_password)"; }
plant_bmc_unreachable() { nft_plant "add rule inet plant in ip daddr $(machine_field node1 .bmc_ip) udp dport 623 drop" && { start_it; true; }; }
mend_bmc_unreachable() { nft_mend; }

plant_dhcp_silent() { nft_plant 'add rule inet plant in udp dport 67 drop' && start_it; }
mend_dhcp_silent() { nft_mend; }
plant_dhcp_untaken() { nft_plant 'add rule inet plant out udp dport 68 drop' && start_it; }
mend_dhcp_untaken() { nft_mend; }
# a server in a namespace of its own at the same bridge; its offers come first, since those of the head do not come
plant_dhcp_other() {
	local ns=phx-$LAB-other
	ip netns add "$ns" && ip -n "$ns" link set lo up && ip -n "phx-$LAB" link add other0 type veth peer name other1 netns "$ns" &&
		ip -n "phx-$LAB" link set other0 master phxbr0 up && ip -n "$ns" addr add 10.77.0.2/24 dev other1 && ip -n "$ns" link set other1 up || return 1
	ip netns exec "$ns" dnsmasq --conf-file=/dev/null --port=0 --keep-in-foreground --no-ping --interface=other1 --leasefile-ro \
		--dhcp-range=10.77.0.50,10.77.0.60,255.255.255.0,2m --pid-file= --user=root >"$MADE/other.log" 2>&1 &
	OTHER=$!
	nft_plant 'add rule inet plant out udp dport 68 drop' && start_it
}
mend_dhcp_other() {
	[ -z "$OTHER" ] || { kill "$OTHER" && wait "$OTHER"; }
	OTHER=
	nft_mend
	ip netns del "phx-$LAB-other"
}

plant_tftp_blocked() { nft_plant 'add rule inet plant in udp dport 69 drop' && start_it; }
mend_tftp_blocked() { nft_mend; }
plant_script_404() { mv "$DIR/state/images/deploy-cloud" "$MADE/away" && start_it; }
mend_script_404() { mv "$MADE/away" "$DIR/state/images/deploy-cloud"; }
plant_initrd_short() { cp "$(image_dir)/initrd.zst" "$MADE/initrd" && truncate -s 5M "$(image_dir)/initrd.zst" && start_it; }
mend_initrd_short() { cat "$MADE/initrd" >"$(image_dir)/initrd.zst"; }
# whoever is between the two ends the connection, behind the kernel
plant_initrd_cut() { nft_plant 'add rule inet plant out tcp sport 8080 quota over 18 mbytes reject with tcp reset' && start_it; }
mend_initrd_cut() { nft_mend; }
plant_firewall_http() { nft_plant 'add rule inet plant in tcp dport 8080 drop' && start_it; }
mend_firewall_http() { nft_mend; }

plant_nic_driver() { echo virtio-net-pci e1000 >"$MADE/instead" && start_it; }
mend_nic_driver() { : >"$MADE/instead"; }
plant_memory() { echo '-m 96' >"$MADE/words" && start_it; }
mend_memory() { : >"$MADE/words"; }
# Certificates have no beginning: of a clock ten years back nothing is wrong, neither on the way nor then; it is told as what it says.
plant_clock_back() {
	local boot
	boot=$(node_field node1 .boot_id)
	clock_of '10 years ago' && start_it && names within || return 1
	until another_boot "$boot"; do
		why && [ "$(said wrong)" = false ] || { say_why; return 1; }
		sleep 0.5
	done
	phx node why node1 -v | grep -q "clock_s=$(($(date +%Y) - 10 < 2026 ? 14 : 15))"
}
clock_of() { echo "-rtc base=$(date -u -d "$1" +%FT%T)" >"$MADE/words"; }
another_boot() { [ "$(node_field node1 .boot_id)" != "$1" ]; }
mend_clock_back() { : >"$MADE/words"; }
# by its clock the head's certificate has ended
plant_clock_ahead() { clock_of '20 years' && start_it; }
mend_clock_ahead() { : >"$MADE/words"; }
plant_firewall_https() { nft_plant 'add rule inet plant in tcp dport 8443 drop' && start_it; }
mend_firewall_https() { nft_mend; }
# every third packet that the head sends it, on the way out of the bridge: TCP would know of one that is dropped before
plant_loss() { in_lab nft 'add table bridge plant; add chain bridge plant out { type filter hook output priority 0; }; add rule bridge plant out tcp sport 8080 numgen inc mod 3 == 0 drop' && start_it; }
mend_loss() { in_lab nft 'delete table bridge plant'; }
# add_version N: of the deploy image, as it is; with a file $MADE/init that is its init
add_version() {
	local to=$MADE/version tree=$MADE/tree
	rm -rf "$to" "$tree" && mkdir -p "$to" "$tree" && cp "$BUILD"/images/deploy-cloud/{vmlinuz,initrd.zst} "$to/" || return 1
	if [ -e "$MADE/init" ]; then
		install -m 755 "$MADE/init" "$tree/init" && (cd "$tree" && echo init | cpio --quiet -o -H newc -R 0:0) | zstd -q >>"$to/initrd.zst" &&
			truncate -s %512 "$to/initrd.zst" || return 1
	fi
	{
		sed -n "/^files = /q; s/^version = .*/version = \"$1\";/; p" "$BUILD/images/deploy-cloud/manifest.conf"
		printf 'files = (\n\t{ name = "vmlinuz"; size = %sL; sha256 = "%s"; },\n\t{ name = "initrd.zst"; size = %sL; sha256 = "%s"; }\n);\n' \
			$(for file in vmlinuz initrd.zst; do stat -c %s "$to/$file" && sha256sum <"$to/$file" | cut -d' ' -f1; done)
	} >"$to/manifest.conf"
	phx image sign "$to" --sign-key "$DIR/package.key" && phx image add "$to" 2>/dev/null
}
# a version of the image whose init ends at once; no head goes back to the one before by itself, so the mended one has a number of its own
plant_init_dies() { printf '#!/bin/sh\nexit 1\n' >"$MADE/init" && add_version 2 && start_it; }
mend_init_dies() { rm "$MADE/init" && add_version 3 && phx image rm deploy-cloud --image-version 1 --yes 2>/dev/null && phx image rm deploy-cloud --image-version 2 --yes 2>/dev/null; }
# a controller that the kernel of the image has no driver for
plant_disk_driver() {
	echo '-device ich9-ahci,id=plant0' >"$MADE/before"
	echo 'virtio-blk-pci,drive=disk0 ide-hd,bus=plant0.0,drive=disk0' >"$MADE/instead" && start_it
}
mend_disk_driver() { : >"$MADE/before" && : >"$MADE/instead"; }
# a machine whose key is the node's no more: the node was removed, and announced anew
plant_cert_revoked() {
	local mac ip bmc
	mac=$(machine_field node1 .mac) ip=$(machine_field node1 .ip)
	phx node rm node1 --yes && phx node add node1 --mac "$mac" --ip "$ip" && phx node bmc node1 driver=ipmi address="$(machine_field node1 .bmc_ip)" \
		user=phoenix password_file="$(bmc_password)" workarounds=opensesspriv && give_console node1
}
mend_cert_revoked() { :; }
plant_service() { phx node assign node1 broken --yes; }
# what it tries again by itself comes to its end first, so that the act does it
mend_service() { wait_for 300 "the head gives up" state_is node1 quarantined && lives broken && phx reload 2>/dev/null; }
# an image that is larger than the disk
plant_disk_full() {
	local to=$MADE/large release
	release=$(sed -n 's/^kernel_release = //p' "$BUILD/images/debian-12/manifest.conf")
	mkdir -p "$to" && cp "$BUILD/images/debian-12/vmlinuz" "$to/" && truncate -s 2500M "$MADE/root.ext4" && mkfs.ext4 -q "$MADE/root.ext4" &&
		zstd -q -1 --rm "$MADE/root.ext4" -o "$to/root.ext4.zst" || return 1
	{
		printf '%s\n' 'name = "large";' 'version = "1";' 'kind = "rootfs";' 'architecture = "amd64";' "kernel_release = $release"
		printf 'files = (\n\t{ name = "vmlinuz"; size = %sL; sha256 = "%s"; },\n\t{ name = "root.ext4.zst"; size = %sL; sha256 = "%s"; raw_size = 2621440000L; }\n);\n' \
			$(for file in vmlinuz root.ext4.zst; do stat -c %s "$to/$file" && sha256sum <"$to/$file" | cut -d' ' -f1; done)
	} >"$to/manifest.conf"
	phx image sign "$to" --sign-key "$DIR/package.key" && phx image add "$to" 2>/dev/null || return 1
	lives large large && phx reload 2>/dev/null && phx node assign node1 large --yes
}
mend_disk_full() { wait_for 300 "the head gives up" state_is node1 quarantined && lives large && phx reload 2>/dev/null; }
# image_exec COMMAND...: what it makes is the next version of the role's image, and what is deployed from then on
image_exec() { phx image exec debian-12 --sign-key "$DIR/package.key" --no-network -- "$@" >"$MADE/exec" 2>&1 || { cat "$MADE/exec"; false; }; }
# the first program of the role's image ends at once
plant_role_init_dies() {
	ROLE=quits && lives quits && phx reload 2>/dev/null && image_exec ln -sf /bin/false /sbin/init && phx node assign node1 quits --yes
}
mend_role_init_dies() { image_exec ln -sf /lib/systemd/systemd /sbin/init; }
plant_unaccepted() { start_it; }
mend_unaccepted() { :; }

start_it() { phx node power "$NODE" cycle --yes --wait --timeout 1m >"$MADE/power" 2>&1 || { cat "$MADE/power"; false; }; }

# ---- a case ----

# what was planted is taken away whatever came of it, so that the next case has its own plant alone
run_case() { # NAME CAUSE THEN FROM
	from_"$4" || return 1
	if plant_"$1" && names "$2" && keep_why "$1" && ACT=$(said act) && stays "$1" "$2"; then
		mend_"$1" && does_act && goes_on "$3" && return 0
	else
		tell
		mend_"$1"
	fi
	return 1
}
from_new() { lab kill node1 && lab kill node2; }
# what the case before has begun comes to its end
from_ready() {
	case $(node_field node1 .state) in draining | cleaning | deploying) wait_for 400 "node1 is at no step" is_idle ;; esac
	is_ready && return 0
	start_it && wait_for 200 "node1 is known" known || return 1
	! asked node1 || phx node accept node1 || return 1
	wait_for 240 "node1 is ready" is_ready
}
is_idle() { state_is node1 ready || state_is node1 quarantined; }
known() { asked node1 || is_ready; }
is_ready() { state_is node1 ready && [ "$(node_field node1 .up)" = true ]; }

tell() {
	phx node why "$NODE" -v
	phx node show "$NODE"
	tail -n 5 "$DIR/phxd.log"
	tail -n 20 "$DIR/run/boot/dnsmasq.log"
	tail -n 20 "$DIR/machines/$NODE/console.log"
}
check() {
	local name=$1 begin=$SECONDS
	shift
	if "$@"; then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		echo "not ok $name ($((SECONDS - begin)) s)"
		FAILED=1
		return 1
	fi
}

check lab_up up || exit 1
while read -r name cause then from NODE; do
	[ -n "$name" ] && { [ $# = 0 ] || [[ " $* " == *" $name "* ]]; } || continue
	NODE=${NODE:-node1}
	check "$name" run_case "$name" "$cause" "$then" "$from"
done <<<"$CASES"
exit $FAILED
