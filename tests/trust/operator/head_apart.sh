#!/bin/bash
# Somebody takes over the process that serves, which is a user of its own (head_user). He is nobody: no root, no capability, no way to become
# another user or to start a program, and what he needs not is shut: keys, passwords of BMCs, dnsmasq's configuration, files of others in the
# directories that he shares with root. All that phxd does goes on so, after a head that was root, and with one that is root again.
. "$(dirname "$0")/../trust.bash"
[ "$(id -u)" = 0 ] || { echo "skip head_apart: only root becomes another user"; exit 0; }
ONE=phoenix # the default
id $ONE >/dev/null 2>&1 || { echo "not ok there is no user $ONE: make deps"; exit 1; }

status_of() { awk -v k="$1:" '$1 == k { print $2 }' "/proc/$SERVES/status"; }
owner_of() { stat -c %U "$WORK/head/$1"; }
wrong() {
	cat "$WORK/answer"
	echo
}
began() {
	head_start
	SERVES=$(head_pid)
}
root_serves_first() {
	printf 'name = "own"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; role = "batch"; lower_bound_size = 1; upper_bound_size = 1;\n' \
		>"$WORK/own.conf"
	agreement closed '' && agreement named "groups = \"$(id -gn nobody), games\";" && phx re create "$WORK/own.conf" >>"$WORK/re.log" 2>&1 &&
		phx re activate own --wait --timeout 60 >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	[ "$(ask root PUT /v1/res/own/data/in/before --data-binary before)" = 200 ] && [ "$(owner_of re/own/in/before)" = root ] || { wrong; return 1; }
	[ "$(ask nobody PUT /v1/res/named/data/mine --data-binary words)" = 200 ] || { wrong; return 1; }
}
it_is_a_user_of_its_own() {
	head_stop
	sed -i '/^head_user/d' "$PHX_CONFIG"
	LINES_BEFORE=$(grep -c '^phoenix anchor journal ' "$WORK/anchors/file")
	# as they are under the umask of the unit
	chmod 750 "$WORK/head/"{packages,package-keys,images,re}
	began
	local said
	said="$(status_of Uid) $(status_of CapEff) $(status_of CapPrm) $(status_of NoNewPrivs) $(status_of Seccomp)"
	[ "$said" = "$(id -u $ONE) 0000000000000000 0000000000000000 1 2" ] && [ "$(awk '/^Groups:/ { print NF }' "/proc/$SERVES/status")" = 1 ] ||
		{ echo "uid, capabilities, no new ones, seccomp: $said"; return 1; }
}
# as this user, and without what shuts the process in beside that
what_is_roots_stays_roots() {
	local file
	for file in pki/ca.key pki/site.key phxd.sock dnsmasq.leases; do
		! as $ONE rm -f "$WORK/head/$file" 2>/dev/null && [ -e "$WORK/head/$file" ] || { echo "$file is gone"; return 1; }
	done
	for file in pki re keys packages images boot dnsmasq hands lost+found; do
		! as $ONE mv "$WORK/head/$file" "$WORK/head/away" 2>/dev/null || { echo "$file is away"; return 1; }
	done
	for file in pki/site.key bmc/rack1 boot/dnsmasq.pid dnsmasq/dnsmasq.conf packages/new; do
		! as $ONE sh -c "echo x >>$WORK/head/$file" 2>/dev/null || { echo "he wrote into $file"; return 1; }
	done
	! as $ONE cat "$WORK/head/pki/site.key" >/dev/null 2>&1 && ! as $ONE cat "$WORK/head/bmc/rack1" >/dev/null 2>&1
}
it_was_told_once() { [ "$(grep -c "head_user: the journal, and what else the process that serves writes, is $ONE's from now on" "$WORK/phxd.log")" = 1 ]; }
what_it_writes_is_its() { [ "$(owner_of journal.db) $(owner_of output) $(owner_of site.cpio)" = "$ONE $ONE $ONE" ]; }
files_come_and_go() {
	[ "$(ask root GET /v1/res/own/data/in/before)" = 200 ] && grep -q before "$WORK/answer" && [ "$(owner_of re/own/in/before)" = $ONE ] || { wrong; return 1; }
	[ "$(ask root PUT /v1/res/own/data/in/new --data-binary new)" = 200 ] && [ "$(ask root GET /v1/res/own/data/in/new)" = 200 ] && grep -q new "$WORK/answer" || { wrong; return 1; }
	[ "$(ask nobody GET /v1/res/named/data/mine)" = 200 ] && grep -q words "$WORK/answer" && [ "$(ask nobody PUT /v1/res/named/data/in/more --data-binary more)" = 200 ] &&
		[ "$(owner_of re/named/users) $(owner_of re/named/users/nobody/in/more)" = 'root nobody' ] || { wrong; return 1; }
}
# StateDirectory= of an older phxd.service gave all to root at each start. phxd takes its own back, and gives an RE's data to its owner; what was
# users' is named, and nobody else's when a person has done what is said
what_an_older_unit_took_is_given_back() {
	local told act="chown -hR nobody: $WORK/head/re/named/users/nobody"
	[ "$(ask games PUT /v1/res/named/data/in/his --data-binary his)" = 200 ] && [ "$(owner_of re/named) $(owner_of re/named/in/his)" = 'games games' ] || { wrong; return 1; }
	head_stop
	chown -R root:root "$WORK/head"
	began
	what_it_writes_is_its && [ "$(owner_of re/own) $(owner_of re/named) $(owner_of re/named/in/his) $(owner_of re/named/users)" = "$ONE games games root" ] &&
		[ "$(owner_of pki/site.key) $(owner_of re/.named)" = "phx-vault root" ] || { ls -lR "$WORK/head" | head -n 60; return 1; }
	[ "$(ask games GET /v1/res/named/data/in/his)" = 200 ] && grep -q his "$WORK/answer" || { wrong; return 1; }
	told=$(grep -cF "$act" "$WORK/phxd.log")
	[ "$told" = 1 ] && grep -q "data of RE named was root's or the head's, and is games's again, its owner's" "$WORK/phxd.log" || { cat "$WORK/phxd.log"; return 1; }
	$act
	[ "$(ask nobody GET /v1/res/named/data/in/more)" = 200 ] && grep -q more "$WORK/answer" || { wrong; return 1; }
	head_stop && began
	[ "$(grep -cF "$act" "$WORK/phxd.log")" = 1 ]
}
# a hand-over with an erase, whose attestation counts
a_node_is_erased() {
	action assign '{"nodes": "n4", "role": "web"}' >/dev/null && until_true 30 idle n4 active web || { field n4 .; return 1; }
	action release '{"nodes": "n4", "setup": {"mode": "wipe"}}' >/dev/null && until_true 60 idle n4 ready "" || { field n4 .; return 1; }
	phx erasure key "$WORK/attest.pub" && phx erasure export n4 "$WORK/erased" && phx erasure verify "$WORK/erased" --pub "$WORK/attest.pub" >"$WORK/out" || { cat "$WORK/out"; return 1; }
}
# as root's, or of an owner who is no user: made while the head is one
a_new_re_has_its_data() {
	sed 's/"own"/"later"/' "$WORK/own.conf" >"$WORK/later.conf"
	phx re create "$WORK/later.conf" >>"$WORK/re.log" 2>&1 && phx re activate later --wait --timeout 60 >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	[ "$(ask root PUT /v1/res/later/data/in/file --data-binary later)" = 200 ] && [ "$(ask root GET /v1/res/later/data/in/file)" = 200 ] &&
		[ "$(owner_of re/later/in/file)" = $ONE ] || { wrong; return 1; }
}
packages_and_images_are_taken() {
	package hello 1 'exit 0'
	sed -i 's/"tools"/"tools", "hello"/' "$WORK/etc/roles/web.conf"
	mkdir -p "$WORK/head/images/test/2" && cp "$WORK/head/images/test/1/"* "$WORK/head/images/test/2" && manifest_of "$WORK/head/images/test/2" rootfs vmlinuz root.squashfs root.ext4.zst >/dev/null
	phx reload >"$WORK/out" 2>&1 && kill -HUP "$HEAD" && phx image list -o json | jq -e 'any(.images[]; .version == "2")' >/dev/null &&
		api /v1/status | jq -e '(.mistakes // []) == []' >/dev/null || { cat "$WORK/out"; api /v1/status; phx image list -o json; return 1; }
}
one_that_was_killed_is_started_again() {
	local before=$SERVES
	kill -9 "$SERVES"
	until_true 20 eval 'SERVES=$(head_pid) && [ "$SERVES" != '"$before"' ] && api /v1/status' || return 1
	SERVES=$(head_pid)
	[ "$(status_of Uid) $(status_of Seccomp)" = "$(id -u $ONE) 2" ] && post /v1/nodes '{"name": "n7", "macs": ["02:00:00:00:00:07"]}' | jq -e '.seq > 0' >/dev/null
}
# who has taken the head over puts a link where root will look at the next start
links_give_it_nothing() {
	local name
	head_stop
	rm -rf "$WORK/head/package-keys" && echo secret >"$WORK/secret" && chmod 600 "$WORK/secret"
	as $ONE ln -s "$WORK/secret" "$WORK/head/package-keys" || return 1
	began
	[ "$(stat -c '%U %a' "$WORK/secret")" = 'root 600' ] || { stat "$WORK/secret"; return 1; }
	head_stop
	rm "$WORK/head/package-keys"
	for name in site.pub journal.db.mark anchors; do
		as $ONE mv "$WORK/head/$name" "$WORK/head/$name.away" && as $ONE ln -s "$WORK/secret" "$WORK/head/$name" || return 1
		timeout 20 "$BUILD/bin/phxd" --config "$PHX_CONFIG" >"$WORK/out" 2>&1
		[ $? = 78 ] && [ "$(stat -c '%U %a' "$WORK/secret")" = 'root 600' ] || { stat "$WORK/secret"; cat "$WORK/out"; return 1; }
		rm "$WORK/head/$name" && mv "$WORK/head/$name.away" "$WORK/head/$name"
	done
	began
}
# where the head could not: it is asked of the launcher, which takes nothing else
anchors_are_written() {
	head_stop
	[ "$(stat -c '%U %a' "$WORK/anchors" "$WORK/anchors/file" | tr '\n' ' ')" = 'root 700 root 644 ' ] &&
		[ "$(grep -c '^phoenix anchor journal ' "$WORK/anchors/file")" -gt "$LINES_BEFORE" ]
}
going_back_works() {
	echo 'head_user = "";' >>"$PHX_CONFIG"
	began
	[ "$(status_of Uid) $(stat -c '%U %a' "$WORK/head") $(owner_of journal.db) $(owner_of output)" = '0 root 755 root root' ] || { ls -la "$WORK/head"; return 1; }
	post /v1/nodes '{"name": "n8", "macs": ["02:00:00:00:00:08"]}' | jq -e '.seq > 0' >/dev/null && [ "$(ask root GET /v1/res/own/data/in/new)" = 200 ] &&
		[ "$(ask root PUT /v1/res/own/data/in/back --data-binary back)" = 200 ] && [ "$(ask nobody GET /v1/res/named/data/in/more)" = 200 ] || { wrong; return 1; }
}
# refused CONFIGURATION TEXT: phxd does not start with it, says why, and has changed nothing
refused_start() {
	local before
	before=$(stat -c '%n %U %G %a' "$WORK/head"/* "$WORK/head")
	sed -i '/^head_user/d' "$PHX_CONFIG"
	echo "head_user = $1" >>"$PHX_CONFIG"
	timeout 20 "$BUILD/bin/phxd" --config "$PHX_CONFIG" >"$WORK/out" 2>&1
	[ $? = 78 ] && grep -qF "$2" "$WORK/out" && [ "$(stat -c '%n %U %G %a' "$WORK/head"/* "$WORK/head")" = "$before" ] || { cat "$WORK/out"; return 1; }
}
nothing_else_has_its_user() {
	head_stop
	sed -i '/^head_user/d' "$PHX_CONFIG"
	echo 'head_user = "'$ONE'"; hands_user = "games";' >>"$PHX_CONFIG"
	began
	[ "$(ask games GET /v1/res/closed/data)" != 200 ] && grep -q 'is that of a process of phxd' "$WORK/answer" || { wrong; return 1; }
	head_stop
	refused_start "\"$ONE\"; hands_user = \"$ONE\";" "hands_user: $ONE is the user of the process that serves (head_user), too" &&
		refused_start '"root";' 'head_user: root is root'
}
# no promise is dropped because somebody forgot the user
one_who_is_missing_is_no_root() {
	refused_start '"phx-nobody";' 'head_user: there is no user phx-nobody, whom the process that serves becomes: make it' &&
		refused_start '""; vault_user = "phx-nobody";' 'vault_user: there is no user phx-nobody' &&
		refused_start '""; hands_user = "phx-nobody";' 'hands_user: there is no user phx-nobody' || return 1
	"$BUILD/bin/phxd" --config "$PHX_CONFIG" --check >"$WORK/out" 2>&1
	[ $? = 78 ] && grep -q 'hands_user = "phx-nobody": there is no such user: systemd-sysusers makes it' "$WORK/out" || { cat "$WORK/out"; return 1; }
}
# a directory of the system, or of somebody's, is not given away because a journal lies in it
only_directories_of_its_own_are_given() {
	mkdir "$WORK/srv" && mkdir "$WORK/srv/others"
	cp "$WORK/head/journal.db" "$WORK/srv/" && refused_start "\"$ONE\"; journal = \"$WORK/srv/journal.db\";" "head_user: $WORK/srv holds others beside the journal" &&
		[ "$(stat -c '%U %G %a' "$WORK/srv")" = 'root root 755' ]
}
the_file_makes_the_users() {
	mkdir -p "$WORK/made/etc" && systemd-sysusers --root="$WORK/made" "$PWD/etc/phoenix.sysusers" >"$WORK/out" 2>&1 &&
		[ "$(cut -d: -f1 "$WORK/made/etc/passwd" | sort | xargs)" = 'phoenix phx-events phx-hands phx-vault' ] || { cat "$WORK/out"; return 1; }
}
check_tells() {
	sed -i '/^head_user/d' "$PHX_CONFIG"
	"$BUILD/bin/phxd" --config "$PHX_CONFIG" --check >"$WORK/out" 2>&1
	grep -q "^the process that serves: $ONE\$" "$WORK/out" && grep -q '^the process that holds the keys: phx-vault' "$WORK/out" || { cat "$WORK/out"; return 1; }
}

mkdir -p "$WORK/head/bmc" "$WORK/anchors" && chmod 700 "$WORK/head/bmc" "$WORK/anchors" && echo secret >"$WORK/head/bmc/rack1" && chmod 600 "$WORK/head/bmc/rack1"
trust_head "bmc_dir = \"$WORK/head/bmc\"; anchor_file = [ \"$WORK/anchors/file\" ];
head_user = \"\";"
for i in 3 4; do
	post /v1/nodes "{\"name\": \"n$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
	fake_start n$i $i
done
for i in 3 4; do until_true 20 idle n$i ready "" || { not_ok "n$i is not ready"; exit 1; }; done
for t in root_serves_first it_is_a_user_of_its_own what_is_roots_stays_roots what_it_writes_is_its it_was_told_once files_come_and_go what_an_older_unit_took_is_given_back a_node_is_erased a_new_re_has_its_data \
	packages_and_images_are_taken one_that_was_killed_is_started_again links_give_it_nothing anchors_are_written going_back_works nothing_else_has_its_user one_who_is_missing_is_no_root \
	only_directories_of_its_own_are_given the_file_makes_the_users check_tells; do
	check $t $t
done
exit $FAILED
