#!/bin/bash
# More than one network: a machine behind a DHCP relay and one that boots over a second card of the head enrol, are deployed and serve;
# names resolve from a node; settings that would take a node's address away are refused. Prints "ok NAME" or "not ok NAME" a step.
export LAB=networks$$
. "$(dirname "$0")/lib.sh"
MADE=$BUILD/lab-$LAB
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE"' EXIT
command -v dhcrelay >/dev/null || { echo "skip networks: there is no dhcrelay (package isc-dhcp-relay)"; exit 0; }

check() {
	local name=$1
	shift
	if ("$@"); then
		echo "ok $name"
	else
		echo "not ok $name"
		phx events -n 60
		phx node show '@all'
		tail -n 40 "$DIR"/run/phxd.log "$DIR"/phxd.log "$DIR"/run/boot/dnsmasq.log "$DIR"/relay-far.log 2>/dev/null
		tail -n 40 "$DIR"/machines/*/console.log 2>/dev/null
		exit 1
	fi
}
SITE=$DIR/etc/site
up() { lab up -f tests/lab/networks.conf && push_packages; }
# settings: names are served, root has a key on nodes, and nodes ask the head that DHCP tells them of, which is another address for each
names() {
	local node
	mkdir -p "$MADE" && ssh-keygen -q -t ed25519 -N '' -C root -f "$MADE/root" || return 1
	printf 'domain = "lab.test"; serve_names = true;\n' >"$SITE/site.conf"
	printf 'root_keys = [ "%s" ];\n' "$(cat "$MADE/root.pub")" >"$SITE/users.conf"
	for node in far1:10.77.0.1 side1:10.79.0.1; do
		mkdir -p "$SITE/files/node/${node%:*}/etc" && printf 'nameserver %s\n' "${node#*:}" >"$SITE/files/node/${node%:*}/etc/resolv.conf"
	done
	phx site apply | sed 's/^/    /' && phx site check
}
# ssh_to NODE COMMAND
ssh_to() {
	in_lab ssh -i "$MADE/root" -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=20 -o UserKnownHostsFile=/dev/null \
		-o StrictHostKeyChecking=no -o LogLevel=ERROR "root@$(machine_field "$1" .ip)" "$2"
}
boot() {
	phx node power far1,side1 on --wait --timeout 2m &&
		wait_for 180 "far1 enrols" asked far1 && wait_for 180 "side1 enrols" asked side1 &&
		phx node accept far1,side1 && wait_for 60 "far1 is ready" state_is far1 ready && wait_for 60 "side1 is ready" state_is side1 ready
}
# each is where its network is; all cards are seen
boots() {
	boot || return 1
	[ "$(node_field far1 .address) $(node_field side1 .address)" = "10.78.0.11 10.79.0.12" ] || return 1
	[ "$(node_field side1 '.facts.nics | length')" = 3 ]
}
deploys() { phx node assign far1,side1 web-server --wait --timeout 12m; }
serve() { page far1 | grep -qi far1 && page side1 | grep -qi side1; }
told_dns() { ssh_to "$1" 'grep -h ^DNS= /run/systemd/netif/leases/*' | grep -qx "DNS=$2"; }
# from a node, by the name server that DHCP told it: addresses, and which node an address is of
names_resolve() {
	wait_for 60 "far1 has the settings" ssh_to far1 true
	told_dns far1 10.77.0.1 && told_dns side1 10.79.0.1 || return 1
	[ "$(ssh_to far1 'getent ahostsv4 side1.lab.test | head -n 1 | cut -d" " -f1')" = 10.79.0.12 ] &&
		[ "$(ssh_to far1 'getent hosts 10.79.0.12' | tr -s ' ' | cut -d' ' -f2)" = side1.lab.test ] &&
		ssh_to side1 'cat /proc/cmdline' | grep -q 'phx.server=10.79.0.1:' &&
		[ "$(ssh_to side1 'getent ahostsv4 far1.lab.test | head -n 1 | cut -d" " -f1')" = 10.78.0.11 ]
}
# nothing of it is taken, and dnsmasq goes on as it was
refused() {
	local pid said
	pid=$(cat "$DIR/run/dnsmasq/dnsmasq.pid")
	cp "$SITE/networks.conf" "$MADE/networks.conf" && sed -i '/name = "far"/d' "$SITE/networks.conf"
	said=$(phx site apply 2>&1) && return 1
	cp "$MADE/networks.conf" "$SITE/networks.conf"
	echo "$said" | sed 's/^/    /'
	grep -q 'node far1 has 10.78.0.11, which no network has any more' <<<"$said" && [ "$(cat "$DIR/run/dnsmasq/dnsmasq.pid")" = "$pid" ] &&
		grep -q net-far "$DIR/run/dnsmasq/dnsmasq.conf" && [ "$(phx site apply)" = 'nothing has changed' ]
}

check "a head with three networks is up" up
check "settings of the site are applied" names
check "a machine behind a relay and one on another card enrol" boots
check "both are deployed" deploys
check "both serve" serve
check "names resolve from nodes, which reach the head each in its network" names_resolve
check "networks that nodes have addresses of stay" refused
