# The Debian packages of BUILD, and an older version of them. Sourced by deb.sh; wants BUILD and WORK.
DEBS=$BUILD/deb
deb() { ls "$DEBS"/phoenix-"$1"_*.deb; }
deb_version() { dpkg-deb -f "$(deb head)" Version; }

# older_packages DIR: the same programs as version 0.0.9, whose examples of configuration were others
older_packages() {
	local p dir=$WORK/older
	mkdir -p "$1"
	for p in head agent cli; do
		rm -rf "$dir"
		dpkg-deb -R "$(deb $p)" "$dir" || return 1
		sed -i "s/^Version: .*/Version: 0.0.9/; s/(= $(deb_version))/(= 0.0.9)/g" "$dir/DEBIAN/control"
		[ $p != head ] || sed -i '1i # as it was' "$dir"/etc/phoenix/{phoenix.conf,roles/web-server.conf,roles/batch-compute.conf}
		dpkg-deb -Znone --root-owner-group -b "$dir" "$1/phoenix-${p}_0.0.9_amd64.deb" >/dev/null || return 1
	done
	rm -rf "$dir"
}
