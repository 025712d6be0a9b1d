#!/bin/bash
# Members of an RE have accounts on its nodes, as the head's name service knows them, and private scratch: made when a node joins,
# changed while it serves, gone with all that is theirs when it leaves. The head has users of its own here: a mount namespace in
# which /etc/passwd and /etc/group are others; agents live below roots of their own.
if [ -z "${PHX_ACCOUNTS_APART:-}" ]; then
	[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "skip accounts: no mounts of our own here"; exit 0; }
	PHX_ACCOUNTS_APART=1 exec unshare -m --propagation private bash "$0" "$@"
fi
# each run has a /tmp of its own, as on a real node: nodes live elsewhere
WORK_IN=/srv
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip accounts: there is no user $who"; exit 0; }; done
# NAME UID: numbers that nobody has on this machine; no process of theirs is anybody's
for u in 48301 48302 48303; do
	getent passwd $u >/dev/null && { echo "skip accounts: there is a user $u"; exit 0; }
done
mkdir -p "$WORK/names" && cp /etc/passwd /etc/group "$WORK/names/"
cat >>"$WORK/names/passwd" <<-END
	alice:x:48301:48301:Alice A.:/home/alice:/bin/sh
	bob:x:48302:48302::/home/bob:/bin/bash
	mallory:x:48303:48303::/home/mallory:/bin/sh
END
cat >>"$WORK/names/group" <<-END
	alice:x:48301:
	bob:x:48302:
	mallory:x:48303:
	lab:x:48310:bob
	crew:x:48311:
END
for f in passwd group; do mount --bind "$WORK/names/$f" /etc/$f || { echo "skip accounts: no mounts"; exit 0; }; done
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
as() { setpriv --reuid "$1" --regid "$(id -g "$1")" --init-groups env -C / "$WORK/bin/phx" "${@:2}"; }
owner() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" "$@"; }
job_is() { [ "$(api "/v1/jobs/$1" | jq -r "$2")" = "$3" ]; }
on() { grep -q "^$2:" "$WORK/$1/etc/passwd"; }
not_on() { ! on "$@"; }

HERS= LABS=

# agreement NAME MEMBERS: a key of agreements
agreement() {
	cat >"$WORK/$1.conf" <<-END
		name = "$1"; owner = "games"; $2; type = "parallel_batch_jobs"; relationship = "affiliated";
		role = "batch-compute"; resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1;
		lease = "2s"; scheduler = "fcfs"; kill_grace = "1s"; setup_policy = "noop";
	END
	phx re create "$WORK/$1.conf" >/dev/null && owner re activate "$1" --wait --timeout 60 >/dev/null
}

two_nodes_serve() {
	local i
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
	for i in 1 2; do
		node_init n$i $i
		printf 'root:x:0:0:root:/root:/bin/sh\nbuild:x:1000:1000::/:/bin/sh\n' >"$WORK/n$i/etc/passwd"
		printf 'root:x:0:\nbuild:x:1000:\n' >"$WORK/n$i/etc/group"
		cp "$WORK/n$i/etc/passwd" "$WORK/n$i/etc/passwd.image" && cp "$WORK/n$i/etc/group" "$WORK/n$i/etc/group.image"
		mkdir -p "$WORK/n$i/home" "$WORK/n$i/tmp"
		# what members leave is removed here, too
		printf 'job_private = "yes";\n' >>"$WORK/n$i/etc/phoenix/agent.conf"
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run "$WORK"/n?/var "$WORK"/n?/var/lib
	mkdir -p "$WORK/shared" && chmod 777 "$WORK/shared"
	for i in 1 2; do until_true 30 is n$i .state ready || return 1; done
}

# One RE of alice alone, one of the group lab.
members_of_each_re_alone() {
	agreement hers 'users = "alice"' && agreement labs 'groups = "lab"' || return 1
	HERS=$(api /v1/nodes | jq -r '.nodes[] | select(.pool == "hers") | .name')
	LABS=$(api /v1/nodes | jq -r '.nodes[] | select(.pool == "labs") | .name')
	[ -n "$HERS" ] && [ -n "$LABS" ] && until_true 20 on "$HERS" alice && until_true 20 on "$LABS" bob || return 1
	not_on "$HERS" bob && not_on "$LABS" alice && not_on "$HERS" mallory && not_on "$LABS" mallory && not_on "$HERS" games &&
		grep -qx 'alice:x:48301:48301:Alice A.:/home/alice:/bin/sh' "$WORK/$HERS/etc/passwd" &&
		grep -qx 'lab:x:48310:bob' "$WORK/$LABS/etc/group" && ! grep -q '^lab:' "$WORK/$HERS/etc/group" &&
		[ "$(stat -c '%u %a' "$WORK/$HERS/scratch/hers/alice")" = '48301 700' ] && [ ! -e "$WORK/$HERS/scratch/labs" ] &&
		[ "$(stat -c '%u %a' "$WORK/$LABS/home/bob")" = '48302 700' ]
}

jobs_find_their_scratch() {
	local id
	id=$(as alice job submit --re hers -- sh -c 'echo $PHX_SCRATCH; echo mine >$PHX_SCRATCH/file') && until_true 20 job_is "$id" .state done &&
		[ "$(phx job output "$id")" = "$WORK/$HERS/scratch/hers/alice" ] && [ -f "$WORK/$HERS/scratch/hers/alice/file" ]
}

# Named and struck out while the RE runs; what is in a group changes without a word to phxd.
members_change_live() {
	owner re members hers bob >/dev/null && until_true 20 on "$HERS" bob || return 1
	owner re members hers bob- >/dev/null && until_true 20 not_on "$HERS" bob && on "$HERS" alice && [ ! -e "$WORK/$HERS/home/bob" ] || return 1
	sed -i 's/^lab:x:48310:bob$/lab:x:48310:bob,mallory/' "$WORK/names/group" || return 1
	# sed made another file: the one that is mounted is written to
	cat "$WORK/names/group" >/etc/group 2>/dev/null
	grep -q mallory,* /etc/group && phx reload >/dev/null && until_true 20 on "$LABS" mallory
}

# What he submitted goes on; then nothing of his stays.
who_is_struck_out_finishes() {
	local id
	owner re members hers bob >/dev/null && until_true 20 on "$HERS" bob || return 1
	id=$(as bob job submit --re hers -- sh -c "until [ -e $WORK/shared/enough ]; do sleep 0.1; done") && until_true 20 job_is "$id" .state running || return 1
	setpriv --reuid 48302 --regid 48302 --clear-groups sh -c "echo x >$WORK/$HERS/scratch/hers/bob/big" || return 1
	owner re members hers bob- >/dev/null || return 1
	# the node has been told of it: alice's shell is another one by now
	sed 's|^\(alice:.*\):/bin/sh$|\1:/bin/bash|' /etc/passwd >"$WORK/names/next" && cat "$WORK/names/next" >/etc/passwd && phx reload >/dev/null
	until_true 20 grep -q '^alice:.*:/bin/bash$' "$WORK/$HERS/etc/passwd" || return 1
	on "$HERS" bob && job_is "$id" .state running || return 1
	touch "$WORK/shared/enough"
	until_true 20 job_is "$id" .state done && until_true 20 not_on "$HERS" bob && until_true 20 test ! -e "$WORK/$HERS/scratch/hers/bob"
}

# Half a file of names, as of a name service that is away: nobody loses anything by it.
name_service_forgets() {
	cp /etc/passwd "$WORK/names/whole" && grep -v '^alice:' "$WORK/names/whole" >"$WORK/names/half"
	cat "$WORK/names/half" >/etc/passwd
	phx reload >/dev/null && until_true 20 grep -q 'RE hers: fewer users are found' "$WORK/phxd.log" || { cat "$WORK/names/whole" >/etc/passwd; return 1; }
	phx reload >/dev/null
	cat "$WORK/names/whole" >/etc/passwd
	# another list reaches the node, and she is on it
	owner re members hers bob >/dev/null && until_true 20 on "$HERS" bob && on "$HERS" alice && [ -f "$WORK/$HERS/scratch/hers/alice/file" ] &&
		owner re members hers bob- >/dev/null && until_true 20 not_on "$HERS" bob && on "$HERS" alice
}

# A name that the image has: nothing is changed, and both are named.
clash_is_told() {
	printf 'bob:x:1001:1001::/:/bin/sh\n' >>"$WORK/$HERS/etc/passwd"
	owner re members hers bob >/dev/null &&
		until_true 20 grep -q 'account bob (uid 48302) of RE hers clashes with bob (uid 1001)' "$WORK/$HERS.log" || return 1
	until_true 20 sh -c "curl -s --unix-socket $PHX_SOCKET http://unix/v1/nodes/$HERS | grep -q 'clashes with bob'" || return 1
	on "$HERS" alice && ! grep -q 48302 "$WORK/$HERS/etc/passwd" || return 1
	[ "$(grep -c 'clashes with bob' "$WORK/$HERS.log")" -lt 4 ] || return 1
	owner re members hers bob- >/dev/null && sed -i '/^bob:x:1001/d' "$WORK/$HERS/etc/passwd"
}

agent_and_head_start_again() {
	local before
	before=$(md5sum "$WORK/$HERS/etc/passwd")
	agent_kill "$HERS" && head_kill && head_start && agent_start "$HERS" "boot-$HERS" && until_true 30 is "$HERS" .state active || return 1
	until_true 20 sh -c "curl -s --unix-socket $PHX_SOCKET http://unix/v1/nodes/$HERS | jq -e .healthy" || return 1
	[ "$before" = "$(md5sum "$WORK/$HERS/etc/passwd")" ] && [ -f "$WORK/$HERS/scratch/hers/alice/file" ]
}

# noop, and the node goes on in another RE: nobody finds anything of hers.
nothing_is_left() {
	setpriv --reuid 48301 --regid 48301 --clear-groups sleep 1000 &
	local sleeper=$!
	setpriv --reuid 48301 --regid 48301 --clear-groups ln -s ../../../etc "$WORK/$HERS/scratch/hers/alice/out" || return 1
	owner re deactivate hers --yes --wait --timeout 60 >/dev/null && until_true 30 is "$HERS" .state ready || return 1
	wait "$sleeper" 2>/dev/null
	[ $? = 137 ] && cmp "$WORK/$HERS/etc/passwd" "$WORK/$HERS/etc/passwd.image" && cmp "$WORK/$HERS/etc/group" "$WORK/$HERS/etc/group.image" &&
		[ ! -e "$WORK/$HERS/scratch/hers" ] && [ ! -e "$WORK/$HERS/home/alice" ]
}

head_init 'service_group = "users";'
check "two nodes serve" two_nodes_serve
check "a node has the members of its RE, and nobody else" members_of_each_re_alone
check "jobs find their scratch" jobs_find_their_scratch
check "members change while the RE runs" members_change_live
check "who is struck out finishes, and leaves nothing" who_is_struck_out_finishes
check "a name service that forgets takes nothing" name_service_forgets
check "a clash with the image is told, and changes nothing" clash_is_told
check "an agent and a head that start again change nothing" agent_and_head_start_again
check "a node that leaves its RE has nothing of it" nothing_is_left
exit "$FAILED"
