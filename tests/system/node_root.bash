# What an agent as a process finds when it looks at its machine. Sourced by scripts that start agents so.

# node_root ROOT N SERVER HTTP PKI PACKAGES.PUB: machine number N (1 to 9), which was deployed by the head whose pki/ that is, and
# believes packages that this key signed
node_root() {
	local root=$1
	mkdir -p "$root/etc/phoenix" "$root/var/lib/phoenix" "$root/var/cache" "$root/run"
	chmod 755 "$root"
	cp "$5/ca.pem" "$5/site.pub" "$root/etc/phoenix/"
	cp "$6" "$root/etc/phoenix/packages.pub"
	printf 'server = "%s"; http = "%s"; beacon = "%s"; supervisor = "own";\n' "$3" "$4" "$4" >"$root/etc/phoenix/agent.conf"
	cat >"$root/facts.json" <<-END
		{"arch": "x86_64", "cpus": 2, "memory_bytes": 1073741824, "serial": "SN$2",
		 "uuid": "00000000-0000-4000-8000-00000000000$2", "boot_mode": "uefi",
		 "disks": [{"id": "serial-TEST-$2", "serial": "D$2", "model": "TEST", "size_bytes": 4294967296, "can_discard": true}],
		 "nics": [{"mac": "02:00:00:00:00:0$2", "dev": "eth0", "link": true}]}
	END
}
# node_system ROOT IMAGE VERSION DIGEST: the system that it runs
node_system() { printf '{"image": "%s", "version": "%s", "digest": "%s"}' "$2" "$3" "$4" >"$1/var/lib/phoenix/system.json"; }
