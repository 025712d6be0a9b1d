#!/bin/bash
# phx package push over SSH: a machine with sshd and no agent gets the agent, enrols, and is left alone the second time.
# The machine is this one in namespaces of its own, with an empty /opt, /var/lib, /run and a copy of /etc.
. "$(dirname "$0")/agents.bash"

SSH_PORT=$((HTTPS + 3))
MACHINE=

machine_up() {
	ssh-keygen -q -t ed25519 -N '' -f "$WORK/id" && ssh-keygen -q -t ed25519 -N '' -f "$WORK/host" || return 1
	echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$WORK/host.pub")" >"$WORK/known_hosts"
	mkdir -p "$WORK/m/etc"
	cat >"$WORK/sshd_config" <<-END
		Port $SSH_PORT
		ListenAddress 127.0.0.1
		HostKey $WORK/host
		AuthorizedKeysFile $WORK/id.pub
		StrictModes no
		UsePAM no
		PermitRootLogin prohibit-password
		PidFile none
		Subsystem sftp /usr/lib/openssh/sftp-server
	END
	unshare --mount --pid --fork --kill-child --mount-proc --uts bash -c '
		hostname pushed1
		cp -a /etc/. "$1/m/etc" && mount --bind "$1/m/etc" /etc && rm -rf /etc/phoenix || exit 1
		for d in /opt /var/lib /var/log /run; do mount -t tmpfs none $d || exit 1; done
		mkdir -p /run/sshd
		/usr/sbin/sshd -D -e -f "$1/sshd_config"' machine "$WORK" >"$WORK/machine.log" 2>&1 &
	MACHINE=$!
	until_true 10 remote true
}
machine_down() { [ -z "$MACHINE" ] || { kill -9 "$MACHINE" && wait "$MACHINE"; } 2>/dev/null; }
trap 'machine_down; finish' EXIT
remote() { ssh -i "$WORK/id" -o UserKnownHostsFile="$WORK/known_hosts" -o BatchMode=yes -p "$SSH_PORT" 127.0.0.1 "$@"; }
# end the agent of the machine, in whose own process namespace we look
kill_agent() {
	remote 'for e in /proc/[0-9]*/exe; do
		case $(readlink "$e") in /opt/phoenix/agent*/bin/phx-agent*) p=${e#/proc/}; kill "${p%/exe}" ;; esac
	done'
}
push() {
	phx package push 127.0.0.1 "$@" --port "$SSH_PORT" --identity "$WORK/id" \
		--known-hosts "${KNOWN:-$WORK/known_hosts}" --timeout "${LIMIT:-60}" >"$WORK/out" 2>"$WORK/err" </dev/null
}

agent_package() {
	local src=$WORK/src/agent bundle=$BUILD/agent-bundle
	mkdir -p "$src/files"
	# without the bundle of a release, the program as it was built
	[ -x "$bundle/bin/phx-agent" ] || {
		bundle=$WORK/bundle && mkdir -p "$bundle/bin" "$bundle/share" &&
			cp "$BUILD/bin/phx-agent" "$bundle/bin/" && cp etc/systemd/phx-agent.service "$bundle/share/"
	}
	cp -a "$bundle/." "$src/files/"
	printf 'name = "phx-agent"; version = "1"; arch = "amd64"; summary = "agent";\n' >"$src/package.conf"
	phx package build "$src" --out "$WORK" --sign-key "$WORK/package.key" >/dev/null &&
		phx package push "$WORK/phx-agent-1.tar.zst" >/dev/null 2>&1
}

unknown_host_key_is_refused() {
	ssh-keygen -q -t ed25519 -N '' -f "$WORK/other" </dev/null
	echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$WORK/other.pub")" >"$WORK/wrong_hosts"
	KNOWN=$WORK/wrong_hosts push phx-agent
	[ $? = 1 ] && grep -q '^phx: 127.0.0.1: ' "$WORK/err" && ! remote test -e /opt/phoenix && [ -z "$(phx node list -o name)" ]
}
altered_package_is_refused() {
	cp "$WORK/phx-agent-1.tar.zst" "$WORK/altered.tar.zst" && cp "$WORK/phx-agent-1.tar.zst.sig" "$WORK/altered.tar.zst.sig"
	echo >>"$WORK/altered.tar.zst"
	push "$WORK/altered.tar.zst"
	[ $? = 1 ] && ! remote test -e /opt/phoenix
}
agent_that_cannot_reach_the_head_times_out() {
	# as if another head answered: the agent is given a CA that did not sign this one's certificate
	local ca=$WORK/head/pki/ca.pem status
	cp "$ca" "$WORK/ca.kept" &&
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other -keyout "$WORK/other.key" -out "$ca" 2>/dev/null
	LIMIT=2 push phx-agent
	status=$?
	cp "$WORK/ca.kept" "$ca"
	kill_agent
	[ $status = 124 ] && grep -q 'has not enrolled' "$WORK/err"
}
pushed_and_enrolled() {
	push phx-agent || { cat "$WORK/err"; return 1; }
	[ "$(cat "$WORK/out")" = pushed1 ] && is pushed1 .up true && is pushed1 .env os && until_true 10 is pushed1 .state ready
}
secrets_are_gone() {
	# the token was good for one enrolment, and is in no file of the head and no log
	! remote test -e /etc/phoenix/token && [ "$(remote stat -c %a /var/lib/phoenix/agent.key)" = 600 ] &&
		! grep -aq '"token":' "$WORK/head/journal.db"
}
second_time_nothing_happens() {
	local before
	before=$(remote stat -c %Y.%i /opt/phoenix/agent)
	push phx-agent && grep -q 'pushed1 has its agent already' "$WORK/err" &&
		[ "$before" = "$(remote stat -c %Y.%i /opt/phoenix/agent)" ]
}
agent_is_put_anew_where_it_died() {
	kill_agent && remote rm -rf /opt/phoenix/agent/lib
	until_true 10 is pushed1 .up false || return 1
	push phx-agent || { cat "$WORK/err"; return 1; }
	is pushed1 .up true && is pushed1 .state ready
}

head_init
check sshd_runs machine_up
for t in agent_package unknown_host_key_is_refused altered_package_is_refused agent_that_cannot_reach_the_head_times_out \
	pushed_and_enrolled secrets_are_gone second_time_nothing_happens agent_is_put_anew_where_it_died; do
	check $t $t
done
exit "$FAILED"
