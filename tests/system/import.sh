#!/bin/bash
# phx import: files of xCAT and Warewulf become settings of the site that phx site check takes, a list of machines, files with
# passwords and a list of what is left; or nothing is written. No head is asked.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d /tmp/phx-import.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
FAILED=0
SAMPLES=tests/system/import
check() {
	if "$2" >"$WORK/log" 2>&1; then echo "ok $1"; else
		echo "not ok $1"
		tail -n 20 "$WORK/log"
		FAILED=1
	fi
}

xcat() {
	local d=$WORK/xcat
	"$BUILD/bin/phx" import xcat $SAMPLES/xcat.txt "$d" >"$WORK/said" || return 1
	grep -qx "$d: 2 networks, 0 profiles, settings of 1 nodes, 2 machines" "$WORK/said" && "$BUILD/bin/phx" site check "$d" || return 1
	grep -q 'subnet = "10.1.0.0/16"' "$d/networks.conf" && grep -q 'range = "10.1.250.0-10.1.250.255"' "$d/networks.conf" && grep -q 'vlan = 300' "$d/networks.conf" || return 1
	grep -q 'kernel_args = \[ "hugepages=64", "quiet" \]' "$d/nodes.conf" && grep -q 'address = "10.3.0.11"' "$d/nodes.conf" && ! grep -q 10.3.0.12 "$d/nodes.conf" || return 1
	grep -qx 'n1,52:54:00:a1:b2:01 52:54:00:a1:b2:02,"CZ1001",10.1.0.11,"ipmi","10.2.0.1","root","/etc/phoenix/bmc/import-1"' "$d/machines.csv" &&
		grep -qx 'n2,52:54:00:a1:b2:03,"",,"","","",""' "$d/machines.csv" && ! grep -q ^n3 "$d/machines.csv"
}
what_is_left_is_said() {
	local d=$WORK/xcat line
	for line in '15: storage: gateway=<xcatmaster>' '27: n1: groups=compute,all' '34: n1: nicips.bond0=10.3.0.12' '45: n2: mgt=openbmc' '42: n2: bmcpassword=(not shown)' '47: n3 is not announced: .*'; do
		grep -qx "$line" "$d/left.txt" || { echo "$line"; cat "$d/left.txt"; return 1; }
	done
	! grep -q status "$d/left.txt"
}
secrets_are_for_one_alone() {
	[ "$(stat -c %a "$WORK/xcat/bmc" "$WORK/xcat/bmc/import-1" | paste -sd ' ')" = '700 600' ] && [ "$(cat "$WORK/xcat/bmc/import-1")" = calvin ] &&
		[ "$(grep -rl calvin "$WORK/xcat")" = "$WORK/xcat/bmc/import-1" ] && ! grep -q calvin "$WORK/said"
}
warewulf() {
	local d=$WORK/ww
	"$BUILD/bin/phx" import warewulf $SAMPLES/warewulf.conf "$d" -o json >"$WORK/said" || return 1
	[ "$(jq -c '[.networks, .profiles, .nodes, .machines]' "$WORK/said")" = '[1,2,2,2]' ] && "$BUILD/bin/phx" site check "$d" || { cat "$WORK/said"; return 1; }
	grep -q 'kernel_args = \[ "quiet", "crashkernel=no" \]' "$d/profiles.conf" && grep -q 'RACK = "a1"' "$d/profiles.conf" && grep -q 'RACK = "b2"' "$d/nodes.conf" &&
		grep -q 'profiles = \[ "default", "gpu" \]' "$d/nodes.conf" && grep -q 'gateway = "10.1.0.1"' "$d/networks.conf" || return 1
	# of a card what its profile says counts, and of a BMC what the node says itself
	[ "$(grep -c 'name = "eth0"' "$d/nodes.conf")" = 2 ] && grep -qx 'n2,52:54:00:a1:b2:02,"",10.1.0.12,"ipmi","10.2.0.2","admin","/etc/phoenix/bmc/import-2"' "$d/machines.csv" &&
		[ "$(cat "$d/bmc/import-1" "$d/bmc/import-2" | paste -sd ' ')" = 's3cret other' ] || return 1
	grep -qx '4: default: image name: rocky-9' "$d/left.txt" && grep -qx '22: default: tags: note: old' "$d/left.txt" && grep -qx "35: n1: network device ib of type infiniband, with address '10.5.0.11'" "$d/left.txt"
}
# refuses KIND TEXT WANTED: nothing is written, and why
refuses() {
	printf '%b' "$2" >"$WORK/bad"
	"$BUILD/bin/phx" import "$1" "$WORK/bad" "$WORK/none" >/dev/null 2>"$WORK/why"
	[ $? = 78 ] && grep -q "$3" "$WORK/why" && [ -z "$(find "$WORK" -maxdepth 1 -name 'none*')" ] || { echo "$3"; cat "$WORK/why"; return 1; }
}
nothing_is_half_done() {
	refuses xcat 'n1:\n    objtype=node\n    mac=xx\n' 'bad:3: n1: mac: .xx. is no MAC address' && refuses xcat 'what\n' 'bad:1: must be NAME: or' &&
		refuses xcat 'a:\n    objtype=network\n    net=10.1.0.0\n    mask=255.0.255.0\n' 'bad:3: network a: net=10.1.0.0' && refuses xcat '# none\n' 'there is no node in it' || return 1
	# what phx site check would refuse: two nodes of one address
	refuses xcat 'a:\n    objtype=network\n    net=10.1.0.0\n    mask=255.255.0.0\nn1:\n    objtype=node\n    mac=52:54:00:00:00:01\n    nicips.eth0=10.1.0.9\nn2:\n    objtype=node\n    mac=52:54:00:00:00:02\n    nicips.eth0=10.1.0.9\n' 'phx site check would refuse it: .*10.1.0.9' || return 1
	refuses warewulf 'nodes:\n  n1: {profiles: [lost]}\n' "bad:2: there is no profile 'lost'" && refuses warewulf 'nodes:\n  - [\n' 'bad:3: ' &&
		refuses warewulf 'nodes:\n  n1: {}\n  n1: {}\n' "bad:3: 'n1' is no name of a node, or there twice" || return 1
	refuses warewulf 'nodes:\n  n1:\n    network devices:\n      default: {ipaddr: 10.1.0.1, netmask: 255.0.0.1}\n' 'are no subnet' || return 1
	# what no file of a line each can hold, and what is no text
	refuses warewulf 'nodes:\n  n1:\n    ipmi: {ipaddr: 10.2.0.1, password: "a\\nb"}\n' 'bad:2: n1: its password must be one line' &&
		refuses xcat 'n1:\n    objtype=node\n    mac=52:54:00:00:00:01\n    mgt=ipmi\n    bmc=10.2.0.1\n    bmcusername=root\x14\n' 'n1: its user must be one line without control' &&
		refuses xcat 'n1:\n    objtype=node\n    gr\xffoups=all\n' 'bad:3: is no text in UTF-8' || return 1
	# a directory that is there already is not touched
	mkdir "$WORK/mine" && ! "$BUILD/bin/phx" import xcat $SAMPLES/xcat.txt "$WORK/mine" 2>"$WORK/why" && grep -q 'is there already' "$WORK/why" && [ -z "$(ls "$WORK/mine")" ]
}
# an alias of what it is within
a_circle_ends() {
	printf 'nodes:\n  n1: &a\n    comment: &b {x: *b}\n    network devices: {default: {hwaddr: 52:54:00:00:00:01}}\n' >"$WORK/circle"
	timeout 10 "$BUILD/bin/phx" import warewulf "$WORK/circle" "$WORK/circle.d" >/dev/null 2>&1
	[ $? -lt 100 ]
}
check "xCAT's stanzas become settings that are right" xcat
check "what has no place is said with its line" what_is_left_is_said
check "passwords are readable for one alone" secrets_are_for_one_alone
check "nodes.conf of Warewulf becomes settings that are right" warewulf
check "nothing is half done" nothing_is_half_done
check "a circle of aliases ends" a_circle_ends
exit "$FAILED"
