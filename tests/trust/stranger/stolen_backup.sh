#!/bin/bash
# A stranger has a backup of the head in his hands: he reads it, or has the administrator restore one that he has altered. He signs it
# with a key of his own, and puts that key into it.
. "$(dirname "$0")/../trust.bash"

KEY=$WORK/backup.key
PLAIN=$WORK/plain SEALED=$WORK/sealed
SECRET=zyx-bmc-password-zyx
said() { grep -qF -- "$1" "$WORK/said" || { echo "not said: $1"; cat "$WORK/said"; return 1; }; }
# not_taken TEXT ARGUMENTS...: phx restore refuses, and places nothing
not_taken() {
	! phx restore "${@:2}" --state "$WORK/new" --etc "$WORK/new-etc" >"$WORK/said" 2>&1 && said "$1" && [ ! -e "$WORK/new" ] && [ ! -e "$WORK/new-etc" ]
}
# opened FILE DIR: what anybody gets out of one that is not sealed
opened() { rm -rf "$2" && mkdir "$2" && zstd -dcq "$1" | tar -x -C "$2" -f -; }
# packed DIR FILE: one of the same files, in the order of the manifest
packed() {
	(cd "$1" && tar -c --format=gnu --no-recursion -f - manifest.json manifest.sig $(jq -r '.files[].path' manifest.json)) | zstd -q >"$2"
}

he_finds_no_secret_in_a_plain_one() {
	phx backup "$PLAIN" >"$WORK/said" 2>&1 && said 'left out' || return 1
	opened "$PLAIN" "$WORK/his" || return 1
	[ -s "$WORK/his/state/journal.db" ] && [ -s "$WORK/his/etc/phoenix.conf" ] && [ -s "$WORK/his/state/pki/ca.pem" ] || return 1
	! grep -rqaE "PRIVATE KEY|$SECRET" "$WORK/his" && [ ! -e "$WORK/his/state/pki/start.key" ] && [ ! -e "$WORK/his/state/keys" ] &&
		! grep -qaF "$(cat "$WORK/head/keys/n9-disk")" "$PLAIN"
}
# The same, by who has the passphrase, has all of it.
he_finds_nothing_in_a_sealed_one() {
	local word
	phx backup "$SEALED" --passphrase-file "$KEY" --with-disk-keys >"$WORK/said" || return 1
	for word in phoenix.conf "$SECRET" journal.db PRIVATE "$(cat "$WORK/head/keys/n9-disk")"; do
		! grep -qaF -- "$word" "$SEALED" || { echo "it says $word"; return 1; }
	done
	(umask 077 && echo 'incorrect horse battery' >"$WORK/guess")
	not_taken 'the passphrase is another one' "$SEALED" --passphrase-file "$WORK/guess" && not_taken 'say --passphrase-file' "$SEALED" || return 1
	phx restore "$SEALED" --state "$WORK/all" --etc "$WORK/all-etc" --passphrase-file "$KEY" >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
	grep -q "$SECRET" "$WORK/all-etc/bmc/rack1" && cmp "$WORK/head/pki/ca.key" "$WORK/all/pki/ca.key" &&
		cmp "$WORK/head/keys/n9-disk" "$WORK/all/keys/n9-disk"
}
his_file_is_not_restored() {
	local sum
	opened "$PLAIN" "$WORK/his" || return 1
	# under the list that the head has signed
	sed -i 's/127.0.0.1/127.0.0.2/' "$WORK/his/etc/phoenix.conf" # as long as before
	packed "$WORK/his" "$WORK/forged" && not_taken 'etc/phoenix.conf: ' "$WORK/forged" --pub "$WORK/site.pub" || return 1
	# under a list that he has signed
	sum=$(sha256sum <"$WORK/his/etc/phoenix.conf" | cut -d' ' -f1)
	jq -c --arg sum "$sum" --argjson size "$(stat -c %s "$WORK/his/etc/phoenix.conf")" \
		'(.files[] | select(.path == "etc/phoenix.conf")) |= (.sha256 = $sum | .size = $size)' "$WORK/his/manifest.json" >"$WORK/list"
	printf %s "$(cat "$WORK/list")" >"$WORK/his/manifest.json"
	openssl genpkey -algorithm ed25519 -out "$WORK/his.key" 2>/dev/null
	openssl pkeyutl -sign -inkey "$WORK/his.key" -rawin -in "$WORK/his/manifest.json" -out "$WORK/his/manifest.sig" || return 1
	packed "$WORK/his" "$WORK/forged" && not_taken 'not signed with' "$WORK/forged" --pub "$WORK/site.pub" &&
		not_taken 'say by --pub' "$WORK/forged" || return 1
	# as the head made it, it is taken
	phx restore "$PLAIN" --state "$WORK/good" --pub "$WORK/site.pub" >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
	said 'events replayed'
}
# Pieces of a sealed file are each as they were, in another order, or fewer.
its_pieces_are_not_taken() {
	local piece=$((65536 + 16)) n
	n=$(stat -c %s "$SEALED")
	[ $n -gt $((32 + 2 * piece)) ] || { echo "too short: $n"; return 1; }
	{
		head -c 32 "$SEALED"
		tail -c +$((33 + piece)) "$SEALED" | head -c $piece
		tail -c +33 "$SEALED" | head -c $piece
		tail -c +$((33 + 2 * piece)) "$SEALED"
	} >"$WORK/forged"
	[ "$(stat -c %s "$WORK/forged")" = "$n" ] && not_taken altered "$WORK/forged" --passphrase-file "$KEY" || return 1
	head -c $((32 + piece)) "$SEALED" >"$WORK/forged" && not_taken altered "$WORK/forged" --passphrase-file "$KEY"
}

mkdir -p "$WORK/bmc" "$WORK/head/keys" && chmod 711 "$WORK/bmc"
(umask 077 && echo 'correct horse battery' >"$KEY" && echo "$SECRET" >"$WORK/bmc/rack1" && head -c 48 /dev/urandom | base64 >"$WORK/head/keys/n9-disk")
trust_head "bmc_dir = \"$WORK/bmc\";"
# what one package after the other makes of the settings, which do not become small
head -c 300000 /dev/urandom >"$WORK/etc/roles/noise" && chmod 644 "$WORK/etc/roles/noise"
cp "$WORK/head/pki/site.pub" "$WORK/site.pub"
for test in he_finds_no_secret_in_a_plain_one he_finds_nothing_in_a_sealed_one his_file_is_not_restored its_pieces_are_not_taken; do
	check "$test" "$test"
done
exit $FAILED
