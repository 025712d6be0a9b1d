#!/bin/bash
# An operator gives nodes labels, and the settings of the site go by some of them: who logs in, and which files are there. He labels the node of
# an owner with what makes him root there by sudo, or one of his own, to read the secret of others. Labels that say no more than where a node is are his.
. "$(dirname "$0")/../trust.bash"

SITE=$WORK/etc/site
label() { printf '{"nodes": "n1", "labels": {"%s": %s}}' "$1" "$2"; }
bundle() { by_node n1 GET /v1/agent/site >/dev/null && cat "$WORK/answer"; }
labels_are() { [ "$(field n1 '[.labels[] | .key + "=" + .value] | join(" ")')" = "$1" ] || { field n1 .labels; return 1; }; }

he_is_root_nowhere() {
	refused 403 daemon POST /v1/actions/label -d "$(label class '"dev"')" && grep -q 'label class: settings of the site go by it' "$WORK/answer" || return 1
	refused 403 daemon POST /v1/actions/label -d "$(label vault '"yes"')" && refused 403 daemon POST /v1/actions/label -d '{"nodes": "n1", "labels": {"rack": "3", "vault": "yes"}}' &&
		refused 403 daemon POST /v1/actions/label -d "$(label class '"other"')" && labels_are '' || return 1
	! bundle | grep -qE 'of-the-vault|"ann"'
}
# nor does he take off what keeps others in, or a file there
he_locks_nobody_out() {
	refused 200 root POST /v1/actions/label -d "$(label class '"dev"')" && refused 200 root POST /v1/actions/label -d "$(label vault '"yes"')" || return 1
	bundle | grep -q of-the-vault && bundle | grep -q '"ann"' || { echo "labels bring nothing: nothing was to be had"; return 1; }
	refused 403 daemon POST /v1/actions/label -d "$(label class null)" && labels_are 'class=dev vault=yes'
}
where_nodes_are_he_says() {
	refused 200 daemon POST /v1/actions/label -d "$(label rack '"3"')" && refused 200 daemon POST /v1/actions/label -d "$(label rack null)" && labels_are 'class=dev vault=yes'
}

FAKES="--env os"
trust_head 'socket_group = "root"; requests_per_s = 100000;'
phx access grant unix:daemon operator 2>/dev/null
ssh-keygen -q -t ed25519 -N '' -C ann -f "$WORK/ann.key" || exit 1
mkdir -p "$SITE/files/label/vault=yes/etc" && echo of-the-vault >"$SITE/files/label/vault=yes/etc/secret"
printf 'users = ( { name = "ann"; uid = 48999; keys = [ "%s" ]; sudo = true; labels = [ "class=dev" ]; } );\n' "$(cat "$WORK/ann.key.pub")" >"$SITE/users.conf"
phx site apply >"$WORK/said" 2>&1 || { cat "$WORK/said"; not_ok "there are no settings"; exit 1; }
for t in he_is_root_nowhere he_locks_nobody_out where_nodes_are_he_says; do check $t $t; done
exit $FAILED
