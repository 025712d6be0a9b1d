#!/bin/bash
# A user of the head, a member of an RE, its owner and somebody with a certificate read all that they are let read, and look in it for what a machine is
# known or reached by: addresses, serial numbers, ids of disks and of keys, fingerprints, BMCs and who logs in there. They find names
# only. Who may see them sees each, which shows that the search finds it.
. "$(dirname "$0")/../trust.bash"

# every route of the table that a person reads, with what there is in place of its stars
paths() {
	"$BUILD/bin/phxd" --rights | awk -F '\t' '$1 == "GET" && $3 ~ /U/ && $2 !~ /logs|\/output/ { print $2 }' |
		sed -e "s,/jobs/\*,/jobs/$JOB,; s,/res/\*,/res/closed,; s,/nodes/\*,/nodes/NODE,; s,/erasures/\*,/erasures/NODE,; s,/roles/\*,/roles/batch,; s,\*\*,x," |
		while read -r path; do
			case $path in
			*NODE*) for node in n1 n2 b1; do echo "${path/NODE/$node}"; done ;;
			/v1/nodes) printf '%s\n' "$path" "$path?fields=name,macs,bmc,facts,known_disks,plan,key_fp,disk_key_id,system_disk,ip,address,reason" ;;
			/v1/events) printf '%s\n' "$path?limit=1000" "$path?limit=1000&node=n1" ;;
			*) echo "$path" ;;
			esac
		done
}
# reads USER: all of it, a file for each path
reads() {
	local path n=0
	rm -rf "$WORK/read.$1" && mkdir "$WORK/read.$1"
	while read -r path; do
		n=$((n + 1))
		ask "$1" GET "$path" >/dev/null
		{ echo "$path"; cat "$WORK/answer"; } >"$WORK/read.$1/$n"
	done <"$WORK/paths"
	[ $n -gt 25 ]
}
secrets() { printf '%s\n' 02:00:00:00:00:0 SN1 SN2 serial-FAKE- 10.9.8.7 bmc-user rack1 "$FP" "$KEY" 127.0.0.77 "$WORK/bmc"; }
# sees USER SECRET: in which answers; three letters may stand in the middle of a key by chance
sees() {
	local how=-lF
	[ ${#2} -gt 3 ] || how=-lwF
	grep $how -- "$2" "$WORK/read.$1"/* 2>/dev/null
}
who_may_sees_each() {
	local secret who
	for who in root daemon; do
		reads $who || return 1
		while read -r secret; do
			[ -n "$secret" ] && [ -n "$(sees $who "$secret")" ] || { echo "$who finds no '$secret': nothing is tried with it"; return 1; }
		done < <(secrets)
	done
}
sees_none() { # USER
	local secret file bad=0
	reads "$1" || return 1
	while read -r secret; do
		for file in $(sees "$1" "$secret"); do
			echo "$1 reads '$secret' in $(head -n 1 "$file"): $(grep -oF -B0 -- "$secret" "$file" | head -n 1) $(grep -oE ".{60}$secret.{20}" "$file" | head -n 1)"
			bad=1
		done
	done < <(secrets)
	return $bad
}
a_user_sees_names() { sees_none nobody && grep -q '"n1"' "$WORK/read.nobody"/*; }
a_member_sees_names() { sees_none bin && grep -q closed "$WORK/read.bin"/*; }

trust_head 'operator_group = "daemon"; requests_per_s = 100000;'
id bin >/dev/null 2>&1 || { echo "skip names_only: there is no user bin"; exit 0; }
mkdir -p "$WORK/bmc" && printf 'secret\n' >"$WORK/bmc/rack1" && chmod 600 "$WORK/bmc/rack1"
post /v1/nodes "{\"name\": \"b1\", \"macs\": [\"02:00:00:00:00:09\"], \"ip\": \"127.0.0.77\", \"bmc\": {\"driver\": \"ipmi\", \"address\": \"10.9.8.7\", \"user\": \"bmc-user\", \"password_file\": \"$WORK/bmc/rack1\"}}" >/dev/null
agreement closed 'users = "bin";' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
OTHER=$([ "$(field n1 .pool)" = closed ] && echo n2 || echo n1)
# the other one: a tenant whose disk is encrypted, and then a disk that is not there while it is erased
action assign "{\"nodes\": \"$OTHER\", \"role\": \"vault\"}" >/dev/null && until_true 30 idle $OTHER active vault || { not_ok "$OTHER has no tenant"; exit 1; }
KEY=$(field $OTHER .disk_key_id) FP=$(field $OTHER .key_fp)
printf 'shown\nshown\n' >"$WORK/$OTHER/disks" && action inspect "{\"nodes\": \"$OTHER\"}" >/dev/null && until_true 20 eval '[ "$(field $OTHER ".facts.disks | length")" = 2 ]' &&
	printf 'shown\nhidden\n' >"$WORK/$OTHER/disks" && action release "{\"nodes\": \"$OTHER\", \"setup\": {\"mode\": \"wipe\", \"method\": \"overwrite\"}}" >/dev/null &&
	until_true 40 is $OTHER .state quarantined || { not_ok "$OTHER is not quarantined"; exit 1; }
field $OTHER .reason
JOB=$(as bin "$BUILD/bin/phx" job submit --hold --re closed -- true)
paths >"$WORK/paths"
check who_may_sees_each who_may_sees_each
check a_user_sees_names a_user_sees_names
check a_member_sees_names a_member_sees_names
exit $FAILED
