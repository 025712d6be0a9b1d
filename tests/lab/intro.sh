#!/bin/bash
# alone: it emulates three machines
# The first hour of phoenix-intro(7), word by word: each block of commands of that chapter but the first line, which builds, is run
# in turn, as root would. Prints "ok NUMBER COMMAND" or "not ok ..." a block.
export LAB=intro
. "$(dirname "$0")/lib.sh"
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$BLOCKS" attest.pub node2.attestation' EXIT
[ "$BUILD" = "$PWD/build" ] || { echo "skip first_hour: the page speaks of build/, and this is $BUILD"; exit 0; }
BLOCKS=$(mktemp -d)
export PATH=$BUILD/bin:$PATH

awk -v dir="$BLOCKS" '/^# /{ on = $0 == "# THE FIRST HOUR" } on && /^```/ { open = !open; n += open; next }
	on && open && !/^make deps/ { print >sprintf("%s/%02d", dir, n) }' cmd/phx/phoenix-intro.7.scd
n=$(find "$BLOCKS" -type f | wc -l)
[ "$n" -ge 7 ] || { echo "not ok blocks: the page has $n"; exit 1; }
# one shell for all: a block leaves what the next one needs
all=$(for block in "$BLOCKS"/*; do
	cat "$block"
	echo "echo 'ok ${block##*/} $(head -n 1 "$block" | tr -d "'")'"
done)
timeout 1500 bash -eu -c "$all" || { echo "not ok the first hour ends in the middle"; exit 1; }
