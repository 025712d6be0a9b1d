# A head with fake agents (tests/fake/agent.c) as processes on loopback. Sourced by tests of the head.
#
#	head_conf [KEY = VALUE;...]   configuration with pools batch, web (NOOP), vault (wipe by its key)
#	fake_start NAME N [OPTION...] a machine that answers every order with success
#	disk_key NAME KEY BOOT        what it is given when it asks for the key of a disk as agents do, of that start; fails where it is refused

. "$(dirname "${BASH_SOURCE[0]}")/agents.bash"

head_conf() {
	mkdir -p "$WORK/head" "$WORK/etc/roles"
	chmod 755 "$WORK" "$WORK/head"
	cat >"$WORK/etc/phoenix.conf" <<-END
		state_dir = "$WORK/head"; run_dir = "$WORK/head"; address = "127.0.0.1"; interface = "lo";
		http_port = $HTTP; https_port = $HTTPS; dhcp_mode = "none"; tftp = "none"; server_names = [ "localhost" ]; pxe_dir = "$PWD/pxe";
		heartbeat_ms = 500; missing_after_ms = 3000; soft_off_s = 10; enrol_over_loopback = true; snapshot_every = 100;
		pools = ( { name = "batch"; owner = "hpc"; setup = { mode = "noop"; }; },
			  { name = "web"; owner = "hpc"; setup = { mode = "noop"; }; },
			  { name = "vault"; owner = "bank"; setup = { mode = "wipe"; method = "crypto"; when = "release"; }; } );
		${PHX_TEST_HEAD:-}
		$*
	END
	image_init
	deploy_init
}

roles_init() {
	local role
	for role in batch web vault; do
		printf 'summary = "a test"; pool = "%s"; image = "test"; drain_grace = "1s"; runs_jobs = %s; packages = [ "tools" ];\n' \
			"$role" "$([ $role = batch ] && echo true || echo false)" >"$WORK/etc/roles/$role.conf"
	done
}

# the machine lives in $WORK/NAME; its effects are lines of $WORK/NAME/effects
fake_start() {
	local name=$1 number=$2
	shift 2
	mkdir -p "$WORK/$name"
	# without one no node is started, nor given a token
	[ -e "$WORK/head/images/deploy" ] || deploy_image 6.1.0-test
	"$BUILD/tests/fake/agent" --dir "$WORK/$name" --server "https://127.0.0.1:$HTTPS" --ca "$WORK/head/pki/ca.pem" \
		--number "$number" "$@" >>"$WORK/$name.log" 2>&1 &
	AGENT[$name]=$!
}

disk_key() {
	mkdir -p "$WORK/$1/asks"
	ln -sf ../key.pem "$WORK/$1/asks/agent.key"
	ln -sf ../cert.pem "$WORK/$1/asks/agent.pem"
	"$BUILD/tests/system/ask_key" "127.0.0.1:$HTTPS" "$WORK/head/pki/ca.pem" "$WORK/$1/asks" "$2" "$3"
}

# effects NAME PATTERN: how often
effects() { grep -c -E "$2" "$WORK/$1/effects" 2>/dev/null || true; }

post() { api "$1" -X POST -d "${2:-}" "${@:3}"; }
# action NAME JSON: the answer's text
action() { post "/v1/actions/$1" "$2"; }
# idle NAME STATE ROLE: it is where it was sent
idle() {
	[ "$(field "$1" '"\(.state) \(.role) \(.plan.cursor == (.plan.steps | length))"')" = "$2 $3 true" ]
}
seq_now() { api /v1/status | jq .seq; }
