#!/bin/bash
# Two directors and a client on one bridge, in network namespaces: the agent's own code keeps the virtual address, tells
# the network of it, and gives it up to another one when it has lost the head (tests/system/holder.c says what stands for
# the head). Real ARP, answered by the kernel; no balancer behind the address.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d /tmp/phx-system.XXXXXX)
NET=phxdir$$
VIP=10.66.0.250
FAILED=0
NEVER=600000 # ms between two beats: the head cannot be lost, however slow this machine
[ -x "$BUILD/tests/system/holder" ] || { echo "not ok holder is not built"; exit 1; }

declare -A PIDS=()
finish() {
	local pid ns
	for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null; done
	wait
	for ns in a b c s; do ip netns del "$NET$ns" 2>/dev/null; done
	rm -rf "$WORK"
}
trap finish EXIT

check() {
	if "${@:2}"; then
		echo "ok $1"
	else
		echo "not ok $1"
		FAILED=1
		for n in a b; do echo "--- $n"; cat "$WORK/$n.log"; at $n ip -4 addr show dev eth0; done
		at c ip neigh
	fi
}
# as that of agents.bash
until_true() {
	local end=$(($(date +%s) + ($1 < 60 ? 4 * $1 : $1)))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.1
	done
}
at() { ip netns exec "$NET$1" "${@:2}"; }

# ---- the network: a, b and c, each with a cable to the bridge in s ----

network() {
	local i=0 n
	at s ip link add name sw type bridge forward_delay 0 stp_state 0 mcast_snooping 0 && at s ip link set sw up || return 1
	for n in a b c; do
		i=$((i + 1))
		ip netns add "$NET$n" &&
			ip link add name "p$n" netns "${NET}s" type veth peer name eth0 netns "$NET$n" &&
			at $n ip link set eth0 address 02:00:00:00:00:0$i && at $n ip addr add 10.66.0.$i/24 dev eth0 &&
			at $n ip link set eth0 up && at $n ip link set lo up && at s ip link set p$n master sw up || return 1
	done
}
plug() { at s ip link set "p$1" master sw; }
unplug() { at s ip link set "p$1" nomaster; }
mac() { [ "$1" = a ] && echo 02:00:00:00:00:01 || echo 02:00:00:00:00:02; }
# who answers to the address, as the client knows; nobody listens there, it is the question that counts
answers() {
	at c timeout 5 bash -c "exec 3<>/dev/tcp/$VIP/9" 2>/dev/null
	at c ip neigh show $VIP | grep -q "lladdr $(mac "$1")"
}
forgets() { at c ip neigh flush to $VIP; }
asks_anew() { forgets; answers "$1"; }

# ---- directors ----

director() {
	mkfifo "$WORK/$1.in"
	# the process itself, not a shell around it: it is ended by its number
	ip netns exec "$NET$1" "$BUILD/tests/system/holder" $VIP <>"$WORK/$1.in" >"$WORK/$1.log" 2>&1 &
	PIDS[$1]=$!
}
told() { [ "$(grep -c '^done' "$WORK/$1.log")" -ge "$2" ]; }
# tell WHO WHAT: and it is done
tell() {
	local n
	n=$(grep -c '^done' "$WORK/$1.log")
	echo "$2" >"$WORK/$1.in"
	until_true 20 told "$1" $((n + 1))
}
has() { at "$1" ip -4 addr show dev eth0 | grep -q "$VIP/32"; }
has_not() { ! has "$1"; }
gave_up() { [ "$(grep -c "^$VIP was given up to $(mac "$2")" "$WORK/$1.log")" = "$3" ]; }
# after the time in which it would have been given up
still() {
	sleep 4
	"$@"
}

one_takes_it() {
	director a && director b && tell a "heard $NEVER" && tell b "heard $NEVER" || return 1
	tell a take && has a && until_true 10 answers a
}
# The head has appointed b; a is heard by nobody. That the client learns of b is b's own doing.
the_next_one_takes_over() {
	unplug a
	tell b take && has b && until_true 20 answers b
}
without_a_head_it_is_kept() { tell a "heard 1" && still has a && gave_up a b 0; }
who_comes_back_gives_it_up() {
	plug a
	until_true 30 has_not a && until_true 10 gave_up a b 1 && has b && until_true 10 asks_anew b
}
# nobody else has it: a head that is down takes nothing away
the_only_one_keeps_it() { tell b "heard 1" && still has b && answers b; }
# cut off from the head alone: it hears its successor
who_lost_only_the_head_gives_it_up() {
	tell a "heard $NEVER" && tell a take && has a || return 1
	until_true 30 has_not b && until_true 10 gave_up b a 1 && until_true 10 asks_anew a
}
# Both are in touch with the head for a moment (its orders overlap): neither lets go, and the one that is told so does.
orders_decide() {
	tell b "heard $NEVER" && tell b take && still has b && has a || return 1
	tell a drop && has_not a && until_true 10 asks_anew b && gave_up a b 1 && gave_up b a 1
}
one_has_it() { [ "$(for n in a b; do has $n && echo $n; done | wc -l)" = 1 ]; }
one_of_two_without_a_head_keeps_it() {
	tell a take && has a && has b && tell a "heard 1" && tell b "heard 1" || return 1
	until_true 30 one_has_it && still one_has_it
}

ip netns add "${NET}s" || { echo "skip director: no network namespaces can be made"; exit 0; }
check "three machines on a bridge" network
check "a virtual address is taken and told" one_takes_it
check "the next director tells that it has it now" the_next_one_takes_over
check "a director without a network and a head keeps its address" without_a_head_it_is_kept
check "one that comes back gives it up" who_comes_back_gives_it_up
check "the only one keeps it without a head" the_only_one_keeps_it
check "one that lost only the head gives it up to its successor" who_lost_only_the_head_gives_it_up
check "two that hear the head do what it says" orders_decide
check "of two without a head one keeps it" one_of_two_without_a_head_keeps_it
exit $FAILED
