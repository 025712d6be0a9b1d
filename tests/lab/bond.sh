#!/bin/bash
# The network of a node by settings of the site: two cards become a bond with a VLAN on it, while the node serves; the bond survives a
# pulled link; a network over which the head is not heard rolls itself back within 90 s, and is not tried again by itself. Prints
# "ok NAME" or "not ok NAME" a step.
export LAB=bond$$
. "$(dirname "$0")/lib.sh"
MADE=$BUILD/lab-$LAB
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE"' EXIT
SITE=$MADE/site

check() {
	local name=$1
	shift
	if ("$@"); then
		echo "ok $name"
	else
		echo "not ok $name"
		phx events -n 40
		phx node show node1
		tail -n 20 "$DIR/phxd.log" "$DIR"/machines/*/console.log 2>/dev/null
		exit 1
	fi
}
up() {
	mkdir -p "$SITE" && ssh-keygen -q -t ed25519 -N '' -C root -f "$MADE/root" && lab up -f tests/lab/bond.conf && push_packages
}
serves() {
	phx node power node1 on --wait --timeout 2m && wait_for 240 "node1 enrols" asked node1 && phx node accept node1 &&
		wait_for 60 "node1 is ready" state_is node1 ready || return 1
	printf 'root_keys = [ "%s" ];\n' "$(cat "$MADE/root.pub")" >"$SITE/users.conf"
	phx site apply "$SITE" && phx node assign node1 web-server --wait --timeout 8m && page node1 | grep -qi node1 &&
		wait_for 60 "node1 has the settings" site_is 'up to date' && wait_for 60 "sshd" on_node true
}
site_is() { [ "$(node_field node1 .site)" = "$1" ]; }
on_node() {
	in_lab ssh -i "$MADE/root" -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=10 -o UserKnownHostsFile=/dev/null \
		-o StrictHostKeyChecking=no -o LogLevel=ERROR "root@$(machine_field node1 .ip)" "$1"
}
# cards ADDRESS: the bond has it in network "own", and a VLAN stands on it
cards() {
	cat >"$SITE/networks.conf" <<-END
		networks = (
			{ name = "own"; subnet = "10.77.0.0/24"; },
			{ name = "storage"; subnet = "10.90.0.0/24"; vlan = 20; mtu = 1400; },
			{ name = "elsewhere"; subnet = "10.91.0.0/24"; }
		);
	END
	cat >"$SITE/nodes.conf" <<-END
		nodes = ( { nodes = "node1";
			nics = ( { name = "bond0"; members = [ "eth0", "eth1" ]; network = "$2"; address = "$1"; },
				 { name = "bond0.20"; parent = "bond0"; network = "storage"; address = "pool"; first = "10.90.0.11"; } ); } );
	END
	phx site apply "$SITE"
}
bonded() {
	cards "$(machine_field node1 .ip)" own && wait_for 120 "node1 has its bond" site_is 'up to date' || return 1
	on_node 'cat /proc/net/bonding/bond0; ip -br addr; ip -d link show bond0.20' | tee "$MADE/said" | sed 's/^/    /'
	[ "$(grep -c '^Slave Interface: eth' "$MADE/said")" = 2 ] && grep -q "^bond0 .* $(machine_field node1 .ip)/24" "$MADE/said" &&
		grep -q '^bond0.20@bond0 .* 10.90.0.11/24' "$MADE/said" && grep -q 'vlan protocol 802.1Q id 20' "$MADE/said" &&
		grep -q 'bond0.20@bond0: .* mtu 1400' "$MADE/said" && page node1 | grep -qi node1
}
# link CARD on|off: the machine sees it as of a cable
link() {
	printf '{"execute":"qmp_capabilities"}\n{"execute":"set_link","arguments":{"name":"%s","up":%s}}\n' "$1" "$2" |
		timeout 10 socat -t 2 - "UNIX-CONNECT:$DIR/machines/node1/qmp.sock" | grep -c '"return"' | grep -qx 2
}
# the active card loses its link, then the other one alone; each time the page is served
survives() {
	local card
	for card in net0 net1; do
		link $card false && say "$card is pulled" && sleep 3 || return 1
		wait_for 10 "the page over the other card" page node1 && on_node 'grep -c "MII Status: down" /proc/net/bonding/bond0' | grep -qx 1 || return 1
		link $card true && wait_for 20 "both links are back" both_up || return 1
	done
}
both_up() { on_node 'grep -c "MII Status: up" /proc/net/bonding/bond0' | grep -qx 3; }
# an address of no network of the head's: the node is not reached, and comes back by itself
rolls_back() {
	local began=$SECONDS
	cards 10.91.0.5 elsewhere && wait_for 30 "node1 is gone" not_served && wait_for 90 "node1 is back" page node1 || return 1
	say "served again $((SECONDS - began)) s after the order"
	[ $((SECONDS - began)) -le 90 ] && wait_for 60 "it is told" told_back && phx node show node1 | grep 'Site '
	on_node 'ip -br addr; ls /etc/systemd/network' | tee "$MADE/said" | sed 's/^/    /'
	grep -q "^bond0 .* $(machine_field node1 .ip)/24" "$MADE/said" && ! grep -q 10.91 "$MADE/said"
}
not_served() { ! page node1; }
told_back() { node_field node1 .site | grep -q 'network settings rolled back'; }
# not tried again by itself; the former settings are taken again
stays_and_goes_on() {
	sleep 70
	page node1 | grep -qi node1 && told_back && cards "$(machine_field node1 .ip)" own && wait_for 120 "node1 is up to date" site_is 'up to date'
}

check "a lab with a machine of two cards is up" up
check "the node serves over one card" serves
check "its cards become a bond with a VLAN" bonded
check "the bond survives a pulled link" survives
check "a wrong network is rolled back" rolls_back
check "and is not tried again" stays_and_goes_on
