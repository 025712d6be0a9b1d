#!/bin/bash
# A service provider with a login on the head fills the data directory of his RE with directories in directories, deeper than any stack or table of
# descriptors, and keeps a process there that goes on writing. The RE is destroyed: the head goes on, all of it is gone, and who has an RE of
# that name next finds nothing of it, nor does the first one reach what is the next one's.
. "$(dirname "$0")/../trust.bash"

DATA=$WORK/head/re/closed
deep() { as games perl -e 'chdir shift or die; for (1 .. $ARGV[0]) { mkdir "d", 0755 or die $!; chdir "d" or die } open my $f, ">", "secret"; print $f "of games" if $f; print "deep\n"' "$DATA" 12000; }
# ends when nothing can be written there any more
goes_on_writing() { as games perl -e 'chdir shift or die; for (1 .. 10_000_000) { mkdir "w$_" or exit 0; open my $f, ">", "w$_/f" }' "$DATA"; }
it_is_filled() {
	[ "$(deep)" = deep ] || return 1
	goes_on_writing &
	WRITER=$!
	until_true 10 [ -e "$DATA/w9/f" ]
}
it_is_destroyed() {
	local pid=$HEAD
	as games "$BUILD/bin/phx" re deactivate closed --yes --wait --timeout 60 >>"$WORK/re.log" 2>&1 && phx re destroy closed --yes >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	until_true 60 [ ! -e "$DATA" ] || { ls "$DATA" | head; return 1; }
	kill -0 "$pid" && api /v1/status | jq -e .seq >/dev/null && wait "$WRITER" && ! ls "$WORK"/head/lost+found/* 2>/dev/null
}
the_next_one_finds_nothing() {
	sed -i 's/"games"/"daemon"/' "$WORK/closed.conf" && phx re create "$WORK/closed.conf" >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	until_true 10 [ -d "$DATA" ] && [ "$(stat -c '%U %a' "$DATA")" = 'daemon 750' ] && [ -z "$(ls -A "$DATA")" ]
}
a_start_goes_well() {
	head_stop && head_start && api /v1/res/closed | jq -e '.agreement.owner == "unix:daemon"' >/dev/null
}

ulimit -s 1024 # what recursed would need more
trust_head
phx access grant unix:daemon provider 2>/dev/null
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
WRITER=
for test in it_is_filled it_is_destroyed the_next_one_finds_nothing a_start_goes_well; do check $test $test; done
[ -z "$WRITER" ] || kill "$WRITER" 2>/dev/null
exit $FAILED
