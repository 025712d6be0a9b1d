#!/bin/bash
# phx node why, by what the real dnsmasq of a head writes: busybox's udhcpc stands for the firmware of machines, in a network of this
# test's own. A machine that is given no address, one that gets on, dnsmasq gone; and by what the real in.tftpd writes, with curl as the
# firmware that asks it for iPXE: a file that it has not, an answer that does not pass.
if [ -z "${PHX_WHY_APART:-}" ]; then
	[ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null || { echo "skip why_dhcp: no network of our own here"; exit 0; }
	PATH=$PATH:/usr/sbin command -v dnsmasq >/dev/null || { echo "skip why_dhcp: there is no dnsmasq"; exit 0; }
	for program in in.tftpd nft curl; do PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "skip why_dhcp: there is no $program"; exit 0; }; done
	command -v busybox >/dev/null || { echo "skip why_dhcp: there is no busybox"; exit 0; }
	PHX_WHY_APART=1 exec unshare -n bash "$0" "$@"
fi
# the machine is at the other end of the cable, in a network namespace that lives as long as the process in it
ip link set lo up && ip link add phx0 type veth peer name nic0 && ip addr add 10.9.0.1/24 dev phx0 && ip link set phx0 up || exit 1
. "$(dirname "$0")/phxd.bash"
PATH=$PATH:/usr/sbin
mkdir -p "$WORK/etc/conf.d"
unshare -n sleep 600 &
MACHINE=$!
trap 'kill $MACHINE 2>/dev/null; finish' EXIT
until_true 5 eval '[ "$(readlink /proc/$MACHINE/ns/net)" != "$(readlink /proc/$$/ns/net)" ]' || exit 1
ip link set nic0 netns $MACHINE || exit 1
in_machine() { nsenter --net=/proc/$MACHINE/ns/net "$@"; }
in_machine ip link set nic0 address 52:54:00:00:00:01 && in_machine ip link set nic0 up || exit 1
cat >"$WORK/etc/conf.d/why.conf" <<-END
	address = "10.9.0.1"; interface = "phx0"; dhcp_mode = "dhcp"; dhcp_ra = false; dnsmasq_user = "root";
END
head_conf
head_start

why() {
	api "/v1/nodes/$1/why" >"$WORK/why.json"
	jq -e --arg cause "$2" --arg text "${3:-}" '.cause == $cause and (.text | contains($text))' "$WORK/why.json" >/dev/null
}
says() { until_true "${LATER:-10}" why "$@" || { jq -c . "$WORK/why.json"; phx node why "$1" -v; tail -n 20 "$WORK/head/boot/dnsmasq.log"; return 1; }; }
# firmware [WORD...]: asks once, and takes what it gets
firmware() { in_machine timeout 20 busybox udhcpc -i nic0 -n -q -f -t 2 -T 1 -s /bin/true -V PXEClient:Arch:00000:UNDI:002001 "$@" >"$WORK/udhcpc" 2>&1; }
dnsmasq_runs() { api /v1/status | jq -e '.children[] | select(.name == "dnsmasq") | .pid > 0' >/dev/null; }

a_machine_that_nobody_knows_gets_no_address() {
	until_true 10 dnsmasq_runs || return 1
	firmware
	says 52:54:00:00:00:01 dhcp_refused 'no address'
}
a_known_one_gets_its_address() {
	phx node add n1 --mac 52:54:00:00:00:01 --ip 10.9.0.7 >/dev/null || return 1
	until_true 20 firmware || { cat "$WORK/udhcpc"; return 1; }
	says n1 within 'fetches iPXE by TFTP'
}
# the same with option 175, as iPXE has it: it is past TFTP
then_ipxe_runs() { firmware -x 0xaf:01 && says n1 within 'asks for its boot script'; }
# firmware that is told of another file; iPXE that asks for nothing more is long past that
it_asks_for_a_file_that_is_not_there() {
	head_stop
	sed -i 's/tftp = "none"/tftp = "in.tftpd"/' "$PHX_CONFIG" && sed -i '1i start_patience_percent = 10;' "$WORK/etc/conf.d/why.conf"
	head_start && phx node add n2 --mac 52:54:00:00:00:02 --ip 10.9.0.8 >/dev/null || return 1
	in_machine ip link set nic0 down && in_machine ip link set nic0 address 52:54:00:00:00:02 && in_machine ip link set nic0 up && in_machine ip addr replace 10.9.0.8/24 dev nic0 || return 1
	until_true 20 firmware || { cat "$WORK/udhcpc"; return 1; }
	in_machine timeout 10 curl -s -o "$WORK/got" tftp://10.9.0.1/pxelinux.0
	LATER=60 says n2 tftp_refused 'pxelinux.0: File not found' || { cat "$WORK"/head/boot/in.tftpd.log; return 1; }
}
# its request comes, and nothing that is sent to it
what_it_is_sent_does_not_pass() {
	until_true 20 firmware || return 1
	in_machine nft add table inet shut && in_machine nft add chain inet shut in '{ type filter hook input priority 0; }' &&
		in_machine nft add rule inet shut in ip saddr 10.9.0.1 udp sport != 67 drop || return 1
	in_machine timeout 3 curl -s -o "$WORK/got" tftp://10.9.0.1/undionly.kpxe
	in_machine nft delete table inet shut
	LATER=60 says n2 tftp_blocked 'its request came' || { cat "$WORK"/head/boot/in.tftpd.log; return 1; }
}
# all that it was sent
then_it_gets_it() {
	in_machine timeout 20 curl -s -o "$WORK/got" tftp://10.9.0.1/undionly.kpxe && cmp "$WORK/got" "$WORK/head/tftp/undionly.kpxe" && ! grep -q undionly "$WORK/phxd.log"
}
# what is killed comes again after a pause, so it is a program that ends at once that stays away
dnsmasq_is_gone() {
	head_stop
	printf '#!/bin/sh\nexit 3\n' >"$WORK/dnsmasq" && chmod 755 "$WORK/dnsmasq" && sed -i "1i dnsmasq = \"$WORK/dnsmasq\";" "$WORK/etc/conf.d/why.conf"
	head_start
	phx node add n3 --mac 52:54:00:00:00:03 >/dev/null 2>&1
	says n3 dhcp_down 'status 3'
}

for test in a_machine_that_nobody_knows_gets_no_address a_known_one_gets_its_address then_ipxe_runs it_asks_for_a_file_that_is_not_there what_it_is_sent_does_not_pass then_it_gets_it dnsmasq_is_gone; do
	check "$test" "$test"
done
exit $FAILED
