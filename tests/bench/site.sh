# Settings of a site of 5,000 nodes: how soon `phx site check` tells 50 mistakes, each with its file and line, and what the bundles of
# 1,000 of the nodes cost (tests/bench/site.c, CPU time). Sourced by run.

SITE_RUNS=${SITE_RUNS:-3}
SITE_NODES=5000

# site_settings DIR MISTAKES: each node has a line with addresses of a bond, a variable and two profiles; every 100th has a mistake
site_settings() {
	mkdir -p "$1/files/all/etc" "$1/files/profile/base/etc" || return 1
	echo 'networks = ( { name = "lan"; subnet = "10.1.0.0/16"; gateway = "10.1.0.1"; }, { name = "san"; subnet = "10.2.0.0/16"; vlan = 20; } );' >"$1/networks.conf"
	cat >"$1/profiles.conf" <<-END
		profiles = (
			{ name = "base"; sysctl = [ "vm.swappiness=10" ]; variables = { PROXY = "http://proxy:3128"; };
			  nics = ( { name = "bond0"; members = [ "eth0", "eth1" ]; network = "lan"; default_route = true; },
				   { name = "bond0.20"; parent = "bond0"; network = "san"; } ); },
			{ name = "big"; kernel_args = [ "hugepages=64" ]; mounts = ( { what = "nfs:/home"; where = "/home"; type = "nfs"; } ); }
		);
	END
	echo 'proxy @PROXY@ rack @RACK@' >"$1/files/all/etc/proxy" && echo '@NODE@' >"$1/files/profile/base/etc/name"
	awk -v n="$SITE_NODES" -v mistakes="$2" 'BEGIN {
		print "nodes,profiles,RACK,bond0.address,bond0.20.address"
		for (i = 1; i <= n; i++) {
			wrong = i % 100 == 0 && i <= mistakes * 100
			kind = wrong ? i / 100 % 4 : -1
			third = int(i / 250); last = i % 250 + 2
			print "n" i "," (kind == 0 ? "base none" : "base big") "," int(i / 40) "," \
				(kind == 2 ? "10.1.0.3" : "10." (kind == 1 ? 7 : 1) "." third "." last) ",10.2." third "." (kind == 3 ? 999 : last)
		}
	}' >"$1/nodes.csv"
}

site() {
	local dir=$WORK/site i from values=() render=() read=() said
	site_settings "$dir/wrong" 50 && site_settings "$dir/right" 0 || { missed "site check"; return; }
	for ((i = 0; i < SITE_RUNS; i++)); do
		from=$(date +%s%N)
		"$BUILD/bin/phx" site check "$dir/wrong" >/dev/null 2>"$dir/said"
		values+=("$(awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { print ns / 1e9 }')")
		said=$("$BUILD/tests/bench/site" "$dir/right" 1000) || { missed "site render"; return; }
		read+=("$(jq .read_ms <<<"$said")") render+=("$(jq .render_ms <<<"$said")")
	done
	said=$(grep -cE 'nodes\.csv:[0-9]+01: ' "$dir/said")
	[ "$said" = 50 ] || broken "site check, 5000 nodes" "50 mistakes were planted, and $said told with their line" "$BUILD/bin/phx" site check "$dir/wrong"
	row "phx site check, $SITE_NODES nodes, 50 mistakes, each with its line" 1 s - "${values[@]}"
	row "settings of $SITE_NODES nodes read and checked" - ms - "${read[@]}"
	row "bundles of 1000 nodes made" - ms - "${render[@]}"
}
