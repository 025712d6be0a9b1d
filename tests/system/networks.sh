#!/bin/bash
# Networks of the site: what phxd does with networks.conf, with the real dnsmasq in a network of this test's own: what dnsmasq is
# told, when it starts anew and when not, which settings and which addresses of nodes are refused, and that nothing stays half done.
if [ -z "${PHX_NETWORKS_APART:-}" ]; then
	[ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null || { echo "skip networks: no network of our own here"; exit 0; }
	PATH=$PATH:/usr/sbin command -v dnsmasq >/dev/null || { echo "skip networks: there is no dnsmasq"; exit 0; }
	PHX_NETWORKS_APART=1 exec unshare -n bash "$0" "$@"
fi
ip link set lo up && ip link add phx0 type bridge && ip addr add 10.9.0.1/24 dev phx0 && ip link set phx0 up || exit 1
. "$(dirname "$0")/phxd.bash"
PATH=$PATH:/usr/sbin
SITE=$WORK/etc/site
CONF=$WORK/head/dnsmasq/dnsmasq.conf
mkdir -p "$SITE" "$WORK/etc/conf.d"

# which dnsmasq phxd runs: one that refuses while $WORK/refuse is there
cat >"$WORK/dnsmasq" <<-END
	#!/bin/sh
	[ "\$1" = --test ] && [ -e "$WORK/refuse" ] && { echo "dnsmasq: bad dhcp-range at line 7" >&2; exit 1; }
	exec $(PATH=$PATH:/usr/sbin command -v dnsmasq) "\$@"
END
chmod 755 "$WORK/dnsmasq"
cat >"$WORK/etc/conf.d/networks.conf" <<-END
	address = "10.9.0.1"; interface = "phx0"; dhcp_mode = "dhcp"; dhcp_ra = false; dnsmasq = "$WORK/dnsmasq"; dnsmasq_user = "root"; gateway = "10.9.0.254";
END

FAR='{ name = "far"; subnet = "10.2.0.0/16"; gateway = "10.2.0.1"; boot = true; relay = true; mtu = 9000; range = "10.2.9.0-10.2.9.99"; }'
STORAGE='{ name = "storage"; subnet = "10.3.0.0/24"; vlan = 300; }'
networks() { printf 'networks = ( %s );\n' "$1" >"$SITE/networks.conf"; }
dnsmasq_pid() { api /v1/status | jq -r '.children[] | select(.name == "dnsmasq") | .pid'; }
# refused WORDS COMMAND...: it fails, and says them
refused() {
	local words=$1 said
	shift
	said=$("$@" 2>&1) && { echo "    was taken"; return 1; }
	grep -q -- "$words" <<<"$said" || { echo "$said"; return 1; }
}
runs_with() { [ -n "$(dnsmasq_pid)" ] && [ "$(dnsmasq_pid)" != 0 ] && [ "$(dnsmasq_pid)" != "$1" ]; }

without_networks_as_before() {
	until_true 10 runs_with none && grep -qx 'dhcp-range=10.9.0.0,static,255.255.255.0,3600' "$CONF" && ! grep -q net- "$CONF"
}
address_elsewhere_is_refused() { refused 'ip: 10.2.0.7 is outside' phx node add n1 --mac 52:54:00:00:00:01 --ip 10.2.0.7; }
networks_are_served() {
	local before
	before=$(dnsmasq_pid)
	networks "$FAR, $STORAGE"
	phx site apply >/dev/null && grep -qx 'dhcp-range=set:net-far,10.2.9.0,10.2.9.99,255.255.0.0,3600' "$CONF" &&
		grep -qx 'dhcp-option=tag:net-far,option:mtu,9000' "$CONF" && ! grep -q 10.3.0 "$CONF" && until_true 10 runs_with "$before"
}
what_changes_nothing_restarts_nothing() {
	local before
	until_true 10 runs_with none
	before=$(dnsmasq_pid)
	networks "$FAR, $STORAGE, { name = \"more\"; subnet = \"10.4.0.0/24\"; }"
	[ "$(phx site apply)" = "$(printf 'network more: added\napplied')" ] && [ "$(dnsmasq_pid)" = "$before" ]
}
nodes_have_addresses_there() {
	phx node add n1 --mac 52:54:00:00:00:01 --ip 10.2.0.7 >/dev/null && [ "$(cat "$WORK/head/dnsmasq/hosts/n1")" = 52:54:00:00:00:01,10.2.0.7,n1 ] &&
		refused 'ip: 10.2.0.1 is the address of the gateway of network far' phx node add n2 --mac 52:54:00:00:00:02 --ip 10.2.0.1 &&
		refused 'ip: 10.3.0.7 is of network storage, over which machines do not boot' phx node edit n1 --ip 10.3.0.7 &&
		refused 'ip: 10.2.255.255 is no address for a machine' phx node edit n1 --ip 10.2.255.255 && phx node edit n1 --ip 10.2.0.8 >/dev/null
}
# of each: all is as it was, file and program
what_does_not_fit_is_refused() {
	local before sum
	before=$(dnsmasq_pid) sum=$(sha256sum "$CONF")
	networks "$STORAGE"
	refused 'node n1 has 10.2.0.8, which no network has any more' phx site apply || return 1
	networks "$FAR, { name = \"x\"; subnet = \"10.9.0.0/16\"; }"
	refused 'networks.conf:1: network x: address and prefix of phoenix.conf say 10.9.0.1/24' phx site diff || return 1
	networks "$FAR, { name = \"x\"; subnet = \"10.5.0.0/16\"; boot = true; }"
	refused 'networks.conf:1: network x: machines that boot there reach the head by a relay' phx site apply || return 1
	networks "$FAR, { name = \"x\"; subnet = \"10.5.0.0/16\"; boot = true; interface = \"phx1\"; head = \"10.5.0.1\"; }"
	refused 'head 10.5.0.1 is not in server_names' phx site apply || return 1
	touch "$WORK/refuse"
	networks "$FAR, { name = \"x\"; subnet = \"10.5.0.0/16\"; boot = true; relay = true; }"
	refused 'dnsmasq refuses what follows from it.*bad dhcp-range at line 7' phx site apply || return 1
	rm "$WORK/refuse"
	[ "$(dnsmasq_pid)" = "$before" ] && [ "$(sha256sum "$CONF")" = "$sum" ] && [ ! -e "$CONF.tried" ]
}
names_are_served() {
	networks "$FAR"
	printf 'domain = "example.org"; serve_names = true;\n' >"$SITE/site.conf"
	phx site apply >/dev/null && [ "$(cat "$WORK/head/dnsmasq/names/n1")" = '10.2.0.8 n1.example.org n1' ] && ! grep -q port=0 "$CONF" &&
		phx node edit n1 --ip 10.2.0.9 >/dev/null && until_true 10 grep -q '^10.2.0.9 ' "$WORK/head/dnsmasq/names/n1" &&
		rm "$SITE/site.conf" && phx site apply >/dev/null && [ ! -e "$WORK/head/dnsmasq/names/n1" ] && grep -q port=0 "$CONF"
}
# what a DHCP server of the site's own is told: the programs themselves say whether they take it; `missing` counts those that are not here
declare -A TRIES=([kea]='kea-dhcp4 -t' [isc]='dhcpd -t -cf' [dnsmasq]='dnsmasq --test --conf-file')
foreign() { phx site dhcp --for "$1" >"$WORK/foreign.$1" && grep -q 52:54:00:00:00:01 "$WORK/foreign.$1" && grep -q 10.2.9.99 "$WORK/foreign.$1" && grep -q 10.2.0.9 "$WORK/foreign.$1"; }
takes() {
	local words
	foreign "$1" || { cat "$WORK/foreign.$1"; return 1; }
	read -ra words <<<"${TRIES[$1]}"
	if [ "$1" = dnsmasq ]; then words[2]+=$(printf '=%s' "$WORK/foreign.$1"); else words+=("$WORK/foreign.$1"); fi
	"${words[@]}" >"$WORK/said" 2>&1 || { cat "$WORK/said" "$WORK/foreign.$1"; return 1; }
	# and the program does look: it takes no half of the file
	head -c $(($(wc -c <"$WORK/foreign.$1") * 2 / 3)) "$WORK/foreign.$1" >"$WORK/half" && printf '\nno-such-word-{' >>"$WORK/half"
	words[-1]=${words[-1]//"$WORK/foreign.$1"/"$WORK/half"}
	! "${words[@]}" >"$WORK/said" 2>&1
}
hosts_are_printed() {
	[ "$(phx site hosts)" = '10.2.0.9 n1' ] && [ "$(phx site hosts -o json | jq -r .text)" = '10.2.0.9 n1' ] &&
		phx site dhcp --for bind >/dev/null 2>"$WORK/said"
	[ $? = 64 ] && grep -q 'kea, isc, dnsmasq\|kea.*isc.*dnsmasq' "$WORK/said"
}
# after its end, too: what the journal names is told to a new launcher
they_outlive_the_head() {
	local sum
	sum=$(sha256sum "$CONF")
	head_stop
	head_start && until_true 10 runs_with none && [ "$(sha256sum "$CONF")" = "$sum" ] && grep -q net-far "$CONF"
}
# the boot script names the head's address; a stranger without a network, too
scripts_name_the_head() { curl -sf -m 5 http://10.9.0.1:"$HTTP"/boot/52:54:00:00:00:01 | grep -q "http://10.9.0.1:$HTTP"; }

head_conf
head_start
check "without networks.conf all is as before" without_networks_as_before
check "an address outside the network is refused" address_elsewhere_is_refused
check "networks that machines boot over are served" networks_are_served
check "what changes nothing for dnsmasq leaves it running" what_changes_nothing_restarts_nothing
check "nodes have addresses in these networks" nodes_have_addresses_there
check "networks that do not fit change nothing" what_does_not_fit_is_refused
check "names are served, and are not" names_are_served
check "boot scripts name the head" scripts_name_the_head
for server in kea isc dnsmasq; do
	if command -v "${TRIES[$server]%% *}" >/dev/null; then
		check "what $server is to be told, it takes" takes $server
	else
		echo "skip what $server is to be told, it takes: there is no ${TRIES[$server]%% *}"
	fi
done
check "addresses and names are printed" hosts_are_printed
check "a new phxd knows the networks" they_outlive_the_head
exit $FAILED
