#!/bin/bash
# Files of jobs, carried from the data directory of their RE to their nodes and back, on agents as processes; and what is
# not carried: what lies elsewhere, what is too large, what belongs to others, what a killed run left.
. "$(dirname "$0")/agents.bash"

for who in games nobody daemon; do id "$who" >/dev/null 2>&1 || { echo "skip agent_stage: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" "$WORK/home" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin" && chmod 777 "$WORK/home"
as() { setpriv --reuid "$1" --regid users --clear-groups env -C "$WORK/home" "$WORK/bin/phx" "${@:2}"; }
owner() { as games "$@"; }
user() { as nobody "$@"; }
DATA=$WORK/head/re/queue
OWN=$DATA/users/nobody
job() { api "/v1/jobs/$1" | jq -r "$2"; }
job_is() { [ "$(job "$1" "$2")" = "$3" ]; }
submit() { phx job submit --re queue --user nobody "$@"; }
# why a job's end is what it is
told() { api "/v1/events?after=0&limit=1000" | jq -r ".events[] | select(.kind == \"job_result\" and .event.job == $1) | .event.text"; }

roles_init() {
	printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
		>"$WORK/etc/roles/batch-compute.conf"
	phx reload >/dev/null
}
queue_runs() {
	local i
	for i in 1 2; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	for i in 1 2; do until_true 20 is n$i .state ready || return 1; done
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; owner = "games"; type = "parallel_batch_jobs"; relationship = "affiliated"; granularity = "node";
		role = "batch-compute"; coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = 2; upper_bound_size = 2;
		lease = "2s"; scheduler = "first-fit"; setup_policy = "noop"; users = "nobody, daemon"; data_max_mb = 8;
	END
	phx re create "$WORK/queue.conf" && owner re activate queue --wait --timeout 60
}

owner_puts_and_gets() {
	echo "some words" >"$WORK/home/words"
	owner re put queue words in/words && owner re put queue words || return 1
	[ "$(stat -c %U "$DATA/in/words" "$DATA/in" | sort -u)" = games ] || return 1
	[ "$(owner re ls queue -o json | jq -r '.files[].path' | sort | tr '\n' ' ')" = "in/words words " ] || return 1
	owner re get queue in/words copy && cmp "$WORK/home/words" "$WORK/home/copy" || return 1
	owner re backup queue 2>"$WORK/out" && grep -q 'queue.tar.zst: 2 files, ' "$WORK/out" && [ ! -e "$WORK/home/queue.tar.zst.phx-part" ] || { cat "$WORK/out"; return 1; }
	[ "$(tar -tf "$WORK/home/queue.tar.zst" | sort | tr "\n" " ")" = "in/ in/words words " ] && tar -xOf "$WORK/home/queue.tar.zst" in/words | cmp - "$WORK/home/words" || return 1
	mkdir -p "$DATA/.d/closed" && echo hidden >"$DATA/.d/.f" && echo run >"$DATA/.d/closed/x" && ln -s /etc/passwd "$DATA/.d/out" && ln -s .f "$DATA/.d/in" &&
		chmod 750 "$DATA/.d/closed/x" && chmod 600 "$DATA/.d/.f" && chown -hR games "$DATA/.d" && chmod 550 "$DATA/.d/closed" && chmod 2700 "$DATA/.d" || return 1
	whole() { (cd "$1" && find . -path ./users -prune -o -mindepth 1 -printf '%P %y %m %l\n' | sed 's/ 2700 / 700 /' | sort); }
	whole "$DATA" >"$WORK/before"
	owner re backup queue all.tar.zst 2>"$WORK/out" && grep -q ': 4 files, .*, 2 links' "$WORK/out" || { cat "$WORK/out"; return 1; }
	mkdir -p "$WORK/unpacked" && tar -xpf "$WORK/home/all.tar.zst" -C "$WORK/unpacked" && whole "$WORK/unpacked" | cmp - "$WORK/before" || { whole "$WORK/unpacked"; return 1; }
	# what was removed and what was changed is put back, and what leads out leads nowhere
	chmod -R u+w "$DATA/.d" && rm -r "$DATA/.d" && echo changed >"$DATA/words" && owner re restore queue all.tar.zst 2>"$WORK/out" || { cat "$WORK/out"; return 1; }
	whole "$DATA" | cmp - "$WORK/before" && [ "$(cat "$DATA/words" "$DATA/.d/.f" "$DATA/.d/closed/x" | tr '\n' ' ')" = "some words hidden run " ] || { whole "$DATA"; return 1; }
	rm -r "$WORK/unpacked" && mkdir "$WORK/unpacked" && echo bad >"$WORK/unpacked/bad" && mkdir "$WORK/unpacked/.d" && echo x >"$WORK/unpacked/.d/y" && chmod -R a+rX "$WORK/unpacked"
	tar -cf "$WORK/home/bad.tar" -C "$WORK/unpacked" --transform 's,^\./bad,../bad,;s,^\./.d/y,.d/out/y,' -P ./bad ./.d/y && chmod 644 "$WORK/home/bad.tar"
	owner re restore queue bad.tar 2>"$WORK/out" && return 1
	grep -q 'bad.tar: 0 put' "$WORK/out" && [ ! -e "$WORK/head/re/bad" ] && chmod -R u+w "$DATA/.d" && rm -r "$DATA/.d" || { cat "$WORK/out"; return 1; }
	# one that would lack something is none
	mkdir -p "$DATA/$(printf 'd/%.0s' {1..18})" && chown -R games "$DATA/d" && ! owner re backup queue less 2>"$WORK/out" &&
		grep -q 'more files than phxd lists' "$WORK/out" && [ ! -e "$WORK/home/less" ] && rm -r "$DATA/d"
}
paths() { jq -r '.files[].path' | sort | tr '\n' ' '; }
# each user has a directory of his own, and sees nothing else; the owner sees all, and writes nothing there;
# root, who is neither, gets nothing of it from phxd
users_have_their_own() {
	[ -z "$(user re ls queue -o json | paths)" ] && [ ! -e "$DATA/users" ] || return 1
	echo "nobody's words" >"$WORK/home/mine" && user re put queue mine in/mine && user re put queue mine words || return 1
	[ "$(stat -c '%a %U' "$OWN")" = "700 nobody" ] && [ "$(stat -c %U "$OWN/in" "$OWN/in/mine" "$OWN/words" | sort -u)" = nobody ] || return 1
	[ "$(stat -c '%a %U' "$DATA/users")" = "711 root" ] && [ "$(cat "$DATA/words")" = "some words" ] || return 1
	[ "$(user re ls queue -o json | paths)" = "in/mine words " ] && user re get queue words copy && cmp "$WORK/home/mine" "$WORK/home/copy" || return 1
	! user re get queue in/words stolen 2>/dev/null && ! user re get queue users/nobody/words stolen 2>/dev/null || return 1
	# of another one nothing
	as daemon re put queue mine his && [ "$(as daemon re ls queue -o json | paths)" = "his " ] || return 1
	! user re get queue users/daemon/his stolen 2>/dev/null && ! user re get queue ../daemon/his stolen 2>/dev/null || return 1
	(cd "$WORK/home" && ! phx re get queue words stolen 2>"$WORK/out") && grep -q "its owner's and its members' alone" "$WORK/out" || return 1
	! phx re ls queue >"$WORK/out" 2>&1 && ! phx re put queue "$WORK/home/words" new 2>/dev/null && ! phx re rm queue words 2>/dev/null && ! grep -q words "$WORK/out" || return 1
	[ "$(owner re ls queue -o json | paths)" = "in/words users/daemon/his users/nobody/in/mine users/nobody/words words " ] || return 1
	owner re get queue users/nobody/words copy.owner && cmp "$WORK/home/mine" "$WORK/home/copy.owner" || return 1
	! owner re put queue words users/nobody/words 2>"$WORK/out" && grep -q 'they alone put files there' "$WORK/out" || return 1
	[ "$(cat "$OWN/words")" = "nobody's words" ] && [ ! -e "$WORK/home/stolen" ]
}
# each removes what is his, and what a link stands in the place of stays; nobody removes from a user's directory but he
each_removes_his_own() {
	owner re put queue words old/file && user re put queue mine old/file || return 1
	! owner re rm queue users/nobody/old/file 2>"$WORK/out" && grep -q 'and remove them' "$WORK/out" || { cat "$WORK/out"; return 1; }
	! as daemon re rm queue ../nobody/old/file 2>/dev/null && ! as daemon re rm queue old/file 2>/dev/null && ! user re rm queue old 2>/dev/null || return 1
	! owner re rm queue ../queue/words 2>/dev/null && ! owner re rm queue old/none 2>"$WORK/out" && grep -q 'No such file' "$WORK/out" || return 1
	ln -s "$WORK/home" "$DATA/up" && ! owner re rm queue up/words 2>/dev/null && [ -e "$WORK/home/words" ] || return 1
	ln -s "$WORK/home/words" "$DATA/link" && owner re rm queue link && [ -e "$WORK/home/words" ] && [ ! -L "$DATA/link" ] || return 1
	user re rm queue old/file && [ ! -e "$OWN/old/file" ] && [ -e "$DATA/old/file" ] && owner re rm queue old/file && [ ! -e "$DATA/old/file" ] || return 1
	rm "$DATA/up" && rmdir "$DATA/old" "$OWN/old"
}
# Whoever writes in a directory, the owner of the RE or a user, gets nothing read, written or changed with the rights of phxd:
# by links of any kind, by another directory in the place of his.
nobody_is_more_than_himself() {
	local dir as
	echo secret >"$DATA/../secret" && chmod 600 "$DATA/../secret" || return 1
	for as in owner user; do
		[ $as = owner ] && dir=$DATA || dir=$OWN
		ln "$DATA/../secret" "$dir/hard" && ln -s "$DATA/../secret" "$dir/soft" && ln -s "$DATA/.." "$dir/dir" || return 1
		mkdir "$dir/foreign" && mkfifo "$dir/pipe" || return 1 # root's
		for path in hard soft dir/secret foreign/x pipe; do
			! $as re get queue $path stolen 2>/dev/null || { echo "$as got $path"; return 1; }
		done
		for path in dir/new foreign/new hard/new pipe/new; do
			! $as re put queue words $path 2>/dev/null || { echo "$as put $path"; return 1; }
		done
		# the last part is replaced, and not what it leads to
		$as re put queue words soft && $as re put queue words hard && [ "$(cat "$DATA/../secret")" = secret ] || return 1
		[ "$(stat -c '%a %U' "$DATA/../secret")" = "600 root" ] && [ "$(stat -c %U "$dir/foreign")" = root ] || return 1
		rm -rf "$dir/hard" "$dir/soft" "$dir/dir" "$dir/foreign" "$dir/pipe"
	done
	# the user's hard link is read with his rights, also for the owner
	ln "$DATA/../secret" "$OWN/hard" && ! owner re get queue users/nobody/hard stolen 2>/dev/null || return 1
	rm "$OWN/hard" && [ ! -e "$WORK/home/stolen" ] && [ ! -e "$DATA/../new" ] || return 1
}
# A directory that is not the user's, or is none, is not taken for his; the owner may have put it there.
what_is_not_his_is_refused() {
	mv "$DATA/users" "$DATA/kept" || return 1
	ln -s kept "$DATA/users" && ! user re get queue words stolen 2>/dev/null && ! user re put queue words new 2>/dev/null || return 1
	rm "$DATA/users" && mkdir -m 777 "$DATA/users" && chown games "$DATA/users" && ln -s ../kept/nobody "$DATA/users/nobody" || return 1
	! user re put queue words new 2>"$WORK/out" && grep -q 'was not made by phxd' "$WORK/out" || { cat "$WORK/out"; return 1; }
	! user re get queue words stolen 2>/dev/null && [ ! -e "$DATA/kept/nobody/new" ] || return 1
	rm -r "$DATA/users" && mv "$DATA/kept" "$DATA/users" && chown games "$OWN" || return 1
	! user re put queue words new 2>"$WORK/out" && grep -q "is not this user's" "$WORK/out" || { cat "$WORK/out"; return 1; }
	! user re get queue words stolen 2>/dev/null && [ ! -e "$OWN/new" ] && [ ! -e "$WORK/home/stolen" ] || return 1
	chown nobody "$OWN" && user re get queue words copy
}
# What phxd writes goes through while names are exchanged under it all the time, and never elsewhere.
names_are_exchanged() {
	local turns=0
	mkdir "$WORK/victim" && echo untouched >"$WORK/victim/new" && chmod 700 "$WORK/victim" || return 1
	mkdir "$OWN/swap" && chown nobody "$OWN/swap" && ln -s "$WORK/victim" "$OWN/link" || return 1
	(
		trap 'exit 0' TERM
		while :; do mv -T --exchange "$OWN/swap" "$OWN/link" 2>/dev/null || { mv -T "$OWN/swap" "$OWN/old"; mv -T "$OWN/link" "$OWN/swap"
			mv -T "$OWN/swap" "$OWN/link"; mv -T "$OWN/old" "$OWN/swap"; } 2>/dev/null; done
	) &
	local mover=$!
	while [ $turns -lt 40 ]; do
		user re put queue words swap/new >/dev/null 2>&1
		user re get queue swap/new stolen >/dev/null 2>&1 && [ "$(cat "$WORK/home/stolen")" != "some words" ] && break
		turns=$((turns + 1))
	done
	kill "$mover" && wait "$mover" 2>/dev/null
	rm -rf "$OWN/swap" "$OWN/link" "$OWN/old" "$WORK/home/stolen"
	[ $turns = 40 ] && [ "$(cat "$WORK/victim/new")" = untouched ] && [ "$(ls "$WORK/victim")" = new ]
}
# what services write is asked of the agent for the owner of the RE that has the node, and for no other service provider
exit_of() { "$@" >"$WORK/out" 2>&1; echo $?; }
owner_asks_for_logs() {
	[ "$(exit_of owner node logs n1)" = 64 ] && grep -q 'n1: no service has run here' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of as nobody node logs n1)" = 77 ] && grep -q 'for the resource provider and the owner' "$WORK/out" || { cat "$WORK/out"; return 1; }
}
nothing_leads_out() {
	local path
	for path in ../../journal.db /etc/passwd in/../words ./words 'in//words'; do
		! owner re get queue "$path" out 2>/dev/null && ! owner re put queue words "$path" 2>/dev/null &&
			! submit --stage-in "$path" -- true 2>/dev/null && ! submit --stage-out "$path" -- true 2>/dev/null || return 1
	done
	for path in ..%2f..%2fjournal.db %2e%2e/%2e%2e/journal.db; do
		[ "$(api "/v1/res/queue/data/$path" -o /dev/null -w '%{http_code}')" != 200 ] || return 1
	done
	ln -s "$WORK/head/journal.db" "$DATA/link" && ln -s .. "$DATA/up"
	! owner re get queue link out 2>/dev/null && ! owner re get queue up/queue/words out 2>/dev/null &&
		! owner re put queue words up/elsewhere 2>/dev/null && [ ! -e "$WORK/head/re/elsewhere" ]
}
there_and_back() {
	local id
	id=$(submit --stage-in in/words --stage-out out/loud,rank -- \
		sh -c 'pwd; ls -A; mkdir out; tr a-z A-Z <in/words >out/loud; echo $PHX_JOB_RANK >rank') || return 1
	until_true 20 job_is "$id" .state done || return 1
	[ "$(phx job output "$id" | tail -n +2 | tr '\n' ' ')" = "in " ] || return 1
	[ "$(cat "$OWN/out/loud")" = "SOME WORDS" ] && [ "$(stat -c %U "$OWN/out/loud")" = nobody ] && [ "$(cat "$OWN/rank")" = 0 ] || return 1
	[ ! -e "$DATA/out" ] && [ ! -e "$DATA/rank" ] && user re get queue out/loud copy && [ "$(cat "$WORK/home/copy")" = "SOME WORDS" ]
}
# His own before what is there for all; of others nothing. The RE's owner's jobs work in the RE's directory.
own_ones_come_first() {
	local id
	id=$(submit --stage-in in/mine,words,in/words --stage-out words -- sh -c 'cat in/mine words in/words; echo results >words') || return 1
	until_true 20 job_is "$id" .state done || return 1
	[ "$(phx job output "$id" | tr '\n' ' ')" = "nobody's words nobody's words some words " ] || { phx job output "$id"; return 1; }
	[ "$(cat "$OWN/words")" = results ] && [ "$(cat "$DATA/words")" = "some words" ] || return 1
	id=$(submit --stage-in users/daemon/his -- true) || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 126 || return 1
	id=$(phx job submit --re queue --user games --stage-in words --stage-out out/hers -- sh -c 'mkdir out; cp words out/hers') || return 1
	until_true 20 job_is "$id" .state done && [ "$(cat "$DATA/out/hers")" = "some words" ] && [ "$(stat -c %U "$DATA/out/hers")" = games ] || return 1
	rm -r "$DATA/out"
}
each_node_has_its_own() {
	local id n
	rm -f "$OWN/rank"
	id=$(submit -n 2 --stage-in in/words --stage-out rank -- sh -c 'cat in/words; echo $PHX_JOB_RANK >rank') || return 1
	until_true 20 job_is "$id" .state done || return 1
	for n in n1 n2; do [ "$(phx job output "$id" --node $n)" = "some words" ] || return 1; done
	[ "$(cat "$OWN/rank")" = 0 ]
}
own_directory_without_files() {
	local id
	id=$(submit -- sh -c 'pwd; echo $PHX_JOB_DIR; ls -A; touch mine && stat -c "%a %U" .') || return 1
	until_true 20 job_is "$id" .state done || return 1
	[ "$(phx job output "$id" | sort -u | grep -c "/phoenix-jobs/$id.0$")" = 1 ] &&
		[ "$(phx job output "$id" | tail -n +3)" = "700 nobody" ]
}
starts_where_it_is_told() {
	local id
	mkdir -m 700 "$WORK/closed" && mkdir -m 777 "$WORK/open" || return 1
	id=$(submit --chdir "$WORK/open" --stage-in in/words -- sh -c 'pwd; cat $PHX_JOB_DIR/in/words; touch kept') || return 1
	until_true 20 job_is "$id" .state done || { phx job output "$id"; return 1; }
	[ "$(phx job output "$id")" = "$WORK/open
some words" ] && [ -e "$WORK/open/kept" ] || return 1
	local dir
	# with the rights of its user, and as it is there
	for dir in "$WORK/closed" "$WORK/nosuch"; do
		id=$(submit --chdir "$dir" -- touch "$WORK/home/ran") || return 1
		until_true 20 job_is "$id" .state failed && job_is "$id" .status 126 && phx job output "$id" | grep -q "^$dir: " || return 1
	done
	[ ! -e "$WORK/home/ran" ] && ! submit --chdir relative -- true 2>/dev/null
}
missing_ones_are_told() {
	local id
	id=$(submit --stage-in in/words,nosuch -- touch "$WORK/home/ran") || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 126 && told "$id" | grep -q 'stage-in nosuch: ' || return 1
	job "$id" .reason | grep -q 'n[12]: stage-in nosuch: ' || return 1
	[ ! -e "$WORK/home/ran" ] || return 1
	id=$(submit --stage-out never -- true) || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 125 && told "$id" | grep -q 'stage-out never: ' || return 1
	# a job that fails by itself keeps its status
	id=$(submit --stage-out never -- sh -c 'exit 3') || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 3
}
links_are_not_carried() {
	local id
	id=$(submit --stage-in link -- true) || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 126 || return 1
	id=$(submit --stage-out passwd,d/passwd -- sh -c 'ln -s /etc/passwd passwd; ln -s /etc d') || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 125 && [ ! -e "$OWN/passwd" ] && [ ! -e "$OWN/d" ]
}
too_large_ones_are_refused() {
	local id
	dd if=/dev/zero of="$DATA/large" bs=1M count=3 2>/dev/null
	id=$(submit --stage-in large -- true) || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 126 || return 1
	id=$(submit --stage-out big -- dd if=/dev/zero of=big bs=1M count=3) || return 1
	until_true 20 job_is "$id" .state failed && job_is "$id" .status 125 && [ ! -e "$OWN/big" ] || return 1
	dd if=/dev/zero of="$WORK/home/big" bs=1M count=3 2>/dev/null && ! user re put queue big 2>"$WORK/out" && grep -q stage_max_mb "$WORK/out" &&
		[ ! -e "$OWN/big" ]
}
# the data of an RE has a bound, that of its agreement where it has one: the job ends, says why, and holds up nothing
what_does_not_fit_is_told() {
	local i id
	rm "$DATA/large" && head -c 2M /dev/zero >"$WORK/home/two"
	for i in 1 2 3; do owner re put queue two two$i || return 1; done
	id=$(submit --stage-out fits -- sh -c 'head -c 2M /dev/zero >fits') && until_true 20 job_is "$id" .state failed && told "$id" | grep -q 'stage-out fits: .*may hold 8 MiB (data_max_mb of its agreement)' ||
		{ told "$id"; return 1; }
	[ ! -e "$OWN/fits" ] && owner re rm queue two1 && owner re rm queue two2 && owner re rm queue two3 || return 1
	id=$(submit --stage-out fits -- sh -c 'head -c 2M /dev/zero >fits') && until_true 20 job_is "$id" .state done && [ "$(stat -c %s "$OWN/fits")" = 2097152 ] && user re rm queue fits
}
# what a job prints has a limit of its own, which stage_max_mb does not lower
much_is_printed() {
	local id
	id=$(submit -- dd if=/dev/zero bs=1M count=12) || return 1
	until_true 20 job_is "$id" .state done && [ "$(api "/v1/jobs/$id/output" | wc -c)" -ge $((12 << 20)) ]
}
killed_ones_bring_nothing() {
	local id
	id=$(submit --stage-out late -- sh -c 'echo half >late; echo ready; sleep 100') || return 1
	until_true 10 job_is "$id" .state running && sleep 1
	phx job cancel "$id" && until_true 15 job_is "$id" .state cancelled && sleep 1 && [ ! -e "$OWN/late" ]
}
left() { find "$WORK"/n?/var/cache/phoenix-jobs -mindepth 1; }
none_left() { [ -z "$(left)" ]; }
nothing_is_left() { until_true 10 none_left || { left; return 1; }; }
kept_and_removed() {
	owner re deactivate queue --yes --wait --timeout 60 >/dev/null && [ -e "$DATA/in/words" ] || return 1
	[ "$(exit_of owner node logs n1)" = 77 ] || { cat "$WORK/out"; return 1; } # not its node any more
	owner re get queue in/words copy && user re get queue words copy || return 1
	! user re put queue mine more 2>/dev/null || return 1 # it takes no jobs
	phx re destroy queue --yes >/dev/null && until_true 10 sh -c "! [ -e $DATA ]"
}

head_init "job_lease_s = 10; service_group = \"users\"; stage_max_mb = 2; data_max_mb = 7;"
roles_init
for test in queue_runs owner_puts_and_gets users_have_their_own each_removes_his_own nobody_is_more_than_himself what_is_not_his_is_refused names_are_exchanged owner_asks_for_logs nothing_leads_out there_and_back own_ones_come_first each_node_has_its_own own_directory_without_files starts_where_it_is_told missing_ones_are_told \
	links_are_not_carried too_large_ones_are_refused what_does_not_fit_is_told much_is_printed killed_ones_bring_nothing nothing_is_left kept_and_removed; do
	check "$test" "$test"
done
exit $FAILED
