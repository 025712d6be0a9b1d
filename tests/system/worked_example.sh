#!/bin/bash
# The worked example of phoenix-role(5), as it stands on the page: its files are written and its commands run, in order, against a
# real head and an agent as a process. Only names of this place are put in: paths, the node's address, the image.
. "$(dirname "$0")/agents.bash"
PAGE=$PWD/etc/phoenix-role.5.scd
PORT=$((HTTPS + 2))
until port_free "$PORT"; do PORT=$((PORT + 1)); done

# what differs between a reader's head and this one
here() {
	sed -e "s,/etc/phoenix/,$WORK/etc/,g" -e "s,http://node1:8080,http://127.0.0.1:$PORT,g" -e "s,8080,$PORT,g" \
		-e 's,"debian-12",test,g; s,image = test,image = "test",' -e 's,boot = "disk",boot = "ram",'
}

# blocks: the fenced parts of the example, one file each: NN.file (first line its path) or NN.run
blocks() {
	mkdir "$WORK/blocks"
	awk -v dir="$WORK/blocks" '
		/^# / { on = $0 ~ /A SERVICE OF ONE.S OWN/ }
		!on { next }
		/^```$/ { inside = !inside; if (inside) out = sprintf("%s/%02d.%s", dir, ++n, path == "" ? "run" : "file")
			  if (inside && path != "") print path >out
			  if (!inside) path = ""
			  next }
		inside { print >out; next }
		/^_.*_$/ { path = substr($0, 2, length($0) - 2) }' "$PAGE"
}

not_ok() {
	echo "not ok $*"
	FAILED=1
	cat "$WORK/said"
	tail -n 15 "$WORK/phxd.log" "$WORK/node1.log"
}

write_file() {
	local path
	path=$(head -n 1 "$1" | here)
	mkdir -p "$(dirname "$path")" && tail -n +2 "$1" | here >"$path"
}
# every command of a block succeeds
run_block() { here <"$1" | (export PATH=$BUILD/bin:$PATH && bash -e -x) >"$WORK/said" 2>&1 </dev/stdin; }
play() {
	cd "$WORK" && case $1 in
	*.file) write_file "$1" ;;
	*) run_block "$1" ;;
	esac
}
says() { grep -qF -- "$1" "$WORK/said"; }
answers() { [ "$(curl -sf "http://127.0.0.1:$PORT/")" = "hello, version $1" ]; }
comes_up() {
	node_init node1 1 && phx node add node1 --mac 02:00:00:00:00:01 >/dev/null && agent_start node1 && until_true 20 is node1 .state ready
}
# the page that is served after a block, and what the block said beside it
block_1_is_the_manifest() { play "$WORK/blocks/01.file" && grep -q '^version = "1";' "$WORK/hello/package.conf"; }
block_2_makes_a_signed_package() { play "$WORK/blocks/02.run" && phx package list -o name | grep -qx hello && phx package verify "$WORK/hello-1.tar.zst" >/dev/null; }
block_3_is_the_role() { play "$WORK/blocks/03.file" && [ -s "$WORK/etc/roles/hello.conf" ]; }
block_4_serves_version_1() { play "$WORK/blocks/04.run" && says 'role hello is right' && says 'activate' && answers 1 && is node1 .state active; }
block_5_serves_version_2() { play "$WORK/blocks/05.run" && says 'drift' && says 'test@1 hello-2' && says 'expected' && answers 2 && is node1 .drift false; }
drift_was_seen() { says "yes: runs test@1 hello-1" || grep -qE 'drift +yes' "$WORK/said"; }
block_6_goes_back() { play "$WORK/blocks/06.run" && answers 1 && is node1 .actual_identity 'test@1 hello-1'; }
block_7_ends_it() { play "$WORK/blocks/07.run" && ! answers 1 && is node1 .state ready && ! phx package list -o tsv | grep -q "hello.2"; }
nothing_is_left_of_the_page() { [ "$(ls "$WORK/blocks" | wc -l)" = 7 ]; }

# /etc/phoenix/roles of the page is where this head has its roles
head_init
comes_up || { cat "$WORK/phxd.log" "$WORK/node1.log"; exit 1; }
blocks
for t in block_1_is_the_manifest block_2_makes_a_signed_package block_3_is_the_role block_4_serves_version_1 block_5_serves_version_2 \
	drift_was_seen block_6_goes_back block_7_ends_it nothing_is_left_of_the_page; do
	check "$t" "$t"
done
exit "$FAILED"
