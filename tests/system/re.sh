#!/bin/bash
# Two departments share four machines: real head, agents as processes, each person as a user of its own. A queue with jobs, a
# web service whose measured use rises and falls, forced returns that kill and requeue, the head killed in the middle; and
# in the end the journal, replayed, decides the same.
. "$(dirname "$0")/agents.bash"

# service providers are in the group users; the end user is not
for who in games daemon nobody; do id "$who" >/dev/null 2>&1 || { echo "skip re: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
as() { setpriv --reuid "$1" --regid "$2" --clear-groups env -C / "$WORK/bin/phx" "${@:3}"; }
batch_dept() { as games users "$@"; }
web_dept() { as daemon users "$@"; }
user() { as nobody nogroup "$@"; }

WIDE=0 NARROW=0 NEXT=0
# says CODE TEXT COMMAND...: exit status and words of what was printed
says() {
	local code=$1 text=$2 got
	"${@:3}" >"$WORK/out" 2>&1
	got=$?
	[ $got = "$code" ] && grep -qF -- "$text" "$WORK/out" && return 0
	echo "${*:3}: wanted $code '$text', got $got: $(head -c 600 "$WORK/out")"
	return 1
}
re_is() { [ "$(api "/v1/res/$1" | jq -r "$2")" = "$3" ]; }
job_is() { [ "$(api "/v1/jobs/$1" | jq -r "$2")" = "$3" ]; }
use() { api /v1/res/pages/use -d "{\"use_ppm\": $1}" | jq -e .changed >/dev/null; }

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "1s"; } );
	END
	package tools 1.0 'echo tools'
	package web 1.0 'exec sleep 100000'
	phx reload >/dev/null
}

agreements() {
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; type = "parallel_batch_jobs"; relationship = "affiliated"; granularity = "node";
		coordinated_RE = "other"; resource_coordination_model = "fb"; lower_bound_size = 3; upper_bound_size = 3;
		lease = "2s"; scheduler = "first-fit"; users = "nobody"; extensions = { cost_centre = "4711"; };
	END
	cat >"$WORK/pages.xml" <<-END
		<RE_agreement>
		  <name>pages</name> <type>web_service</type> <relationship>affiliated</relationship>
		  <granularity>node</granularity> <coordinated_RE>other</coordinated_RE>
		  <resource_coordination_model>FB</resource_coordination_model>
		  <lower_bound_size>1</lower_bound_size> <upper_bound_size>1</upper_bound_size>
		  <lease>2s</lease> <window>1s</window> <initial_instances>1</initial_instances> <setup_policy>NOOP</setup_policy>
		</RE_agreement>
	END
	sed 's/"queue"/"toobig"/; s/_size = 3/_size = 30/g; s/"other"/"none"/' "$WORK/queue.conf" >"$WORK/toobig.conf"
	sed 's/"queue"/"vain"/; s/granularity = "node"/granularity = "virtual machine"/' "$WORK/queue.conf" >"$WORK/vain.conf"
	sed 's/<name>pages/<name>other/; s/<coordinated_RE>other/<partner>elsewhere<\/partner><coordinated_RE>other/' "$WORK/pages.xml" >"$WORK/other.xml"
	chmod 644 "$WORK"/*.conf "$WORK"/*.xml
}

nodes_ready() {
	local i
	for i in 1 2 3 4; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run
	for i in 1 2 3 4; do until_true 15 is n$i .state ready || return 1; done
}

# ---- asked for ----

asking() {
	says 0 'daemon asks for RE pages' web_dept re request "$WORK/pages.xml" &&
		says 0 'nothing was done' batch_dept re request "$WORK/queue.conf" --dry-run &&
		says 0 'games asks for RE queue' batch_dept re request "$WORK/queue.conf" &&
		says 0 'games asks for RE toobig' batch_dept re request "$WORK/toobig.conf" &&
		says 78 'nothing is virtualised' batch_dept re request "$WORK/vain.conf" &&
		says 77 'a service provider may do this' user re request "$WORK/queue.conf" &&
		says 64 'asked for already' batch_dept re request "$WORK/queue.conf" &&
		says 64 'is only asked for: the resource provider has not created it' batch_dept re activate queue
}

each_sees_its_own() {
	[ "$(batch_dept re list -o name | sort | xargs)" = "queue toobig" ] && [ "$(web_dept re list -o name)" = pages ] &&
		[ "$(phx re list -o name | wc -l)" = 3 ] && [ -z "$(user re list -o name)" ] &&
		says 64 "there is no RE 'pages'" batch_dept re show pages &&
		says 64 "there is no RE 'pages'" batch_dept re withdraw pages &&
		says 64 'there is no such RE' batch_dept re history pages
}

only_the_provider_creates() {
	says 77 'resource provider' batch_dept re create queue && says 77 'resource provider' web_dept re create "$WORK/pages.xml" &&
		says 0 'RE queue of unix:games is deployed' phx re create queue && says 0 'RE pages of unix:daemon is deployed' phx re create pages &&
		says 0 'the cluster has 4' phx re create toobig && [ "$(stat -c '%U %a' "$WORK/head/re/queue")" = 'games 750' ] &&
		says 64 'wants it requested' phx re create queue
}

# what the figure of the paper wants, NOOP, is not what a stranger gets; and it is told
business_is_kept_apart() {
	sed 's/"queue"/"firm"/; s/"affiliated"/"business"/; s/lease = /setup_policy = "noop"; lease = /' "$WORK/queue.conf" >"$WORK/firm.conf"
	chmod 644 "$WORK/firm.conf"
	says 0 'no node passes between a business owner and another one but erased, from a reset' batch_dept re request "$WORK/firm.conf" &&
		[ "$(api /v1/res/firm | jq -c '.agreement.setup | [.mode, .when, .start]')" = '["wipe","both","power"]' ] &&
		says 0 'is withdrawn' batch_dept re withdraw firm || return 1
	sed -i 's/"business"/"affiliated"/' "$WORK/firm.conf"
	says 0 'games asks for RE firm' batch_dept re request "$WORK/firm.conf" --dry-run && ! grep -q business "$WORK/out"
}

# an image that fits is found, and is what its nodes get; the line says why there is none
image_by_agreement() {
	local dir=$WORK/head/images/plan-9/3 asks="batch_dept re request $WORK/nine.conf"
	mkdir -p "$dir" && for file in vmlinuz root.squashfs; do echo "$file of plan 9" >"$dir/$file"; done
	manifest_of "$dir" rootfs vmlinuz root.squashfs >/dev/null
	printf 'name = "nine"; type = "parallel_batch_jobs"; relationship = "affiliated"; lower_bound_size = 1;\n\noperating_system = "plan 9";\n' >"$WORK/nine.conf"
	sed 's/plan 9/plan 10/' "$WORK/nine.conf" >"$WORK/ten.conf" && chmod 644 "$WORK"/{nine,ten}.conf
	says 64 "ten.conf:3: operating_system: no image that role 'batch-compute' can boot is 'plan 10'; there is plan-9, test" batch_dept re request "$WORK/ten.conf" &&
		says 0 'games asks for RE nine' $asks && says 0 'RE nine' phx re create nine &&
		[ "$(api /v1/res/nine | jq -c '.agreement | [.operating_system, .image, .image_version, (.image_digest | length)]')" = '["plan 9","plan-9","3",64]' ] &&
		batch_dept re show nine --conf | grep -q '^image = "plan-9";' &&
		says 0 'the role wants another image' phx node assign n1 batch-compute --pool nine --dry-run && grep -q 'fetch the image into memory' "$WORK/out" &&
		phx re destroy nine --yes >/dev/null || return 1
	# a package that was built for another system
	mkdir -p "$WORK/src/odd/files" && echo x >"$WORK/src/odd/files/x" &&
		printf 'name = "odd"; version = "1.0"; arch = "all"; summary = "a test"; operating_system = "debian 12";\n' >"$WORK/src/odd/package.conf" &&
		phx package build "$WORK/src/odd" --out "$WORK/head/packages" --sign-key "$WORK/package.key" >/dev/null || return 1
	sed 's/"tools"/"odd"/' "$WORK/etc/roles/batch-compute.conf" >"$WORK/etc/roles/odd.conf" && phx reload >/dev/null
	sed -i 's/^name/role = "odd"; name/' "$WORK/nine.conf"
	says 64 "nine.conf:3: operating_system: a package of role 'odd' is not there for image plan-9" $asks && ! grep -q odd-1.0 "$WORK/out" || return 1
	# who may know of packages is told which
	says 64 "nine.conf:3: operating_system: package odd-1.0 of role 'odd' is for debian 12, and image plan-9 is not" phx re create "$WORK/nine.conf" || return 1
	rm "$WORK/etc/roles/odd.conf" && phx reload >/dev/null
}

refused_and_withdrawn() {
	sed 's/"queue"/"more"/' "$WORK/queue.conf" >"$WORK/more.conf" && chmod 644 "$WORK/more.conf"
	says 0 'asks for RE more' batch_dept re request "$WORK/more.conf" &&
		says 0 'refused: not this year' phx re refuse more --reason 'not this year' &&
		says 0 'refused: RE more of unix:games: not this year' batch_dept re list &&
		says 0 'the request for RE more is refused: not this year' batch_dept re history more &&
		! says 0 'not this year' web_dept re list && ! says 0 'not this year' web_dept re history more &&
		says 0 'asks for RE more' batch_dept re request "$WORK/more.conf" && ! says 0 'not this year' batch_dept re list &&
		says 0 'is withdrawn' batch_dept re withdraw more && ! api /v1/res/more | jq -e .name >/dev/null
}

# ---- active ----

# What came to a node of somebody else's order is found under its name.
a_node_has_what_came_to_it() {
	local node
	node=$(api /v1/nodes | jq -r '[.nodes[] | select(.pool == "pages")][0].name')
	[ -n "$node" ] && phx events --node "$node" --lines 0 >"$WORK/out" && grep -q "$node: goes from free to pages" "$WORK/out" && return 0
	echo "$node:"
	cat "$WORK/out"
	return 1
}

# checked while it is written: what phx re check says of the text, then what only the head knows; nothing is asked for
checked_by_the_head() {
	local before
	before=$(api /v1/status | jq .seq)
	checks() { api /v1/agreement-check -d "$(jq -nc --rawfile t "$1" '{text: $t, create: true}')"; }
	printf 'name = "odd";\ntype = "web_service";\nlower_bound_size = "x";\nscheduler = "sjf"; colour = 1;\nwindow = "soon";\n' >"$WORK/odd.conf"
	checks "$WORK/odd.conf" >"$WORK/answer"
	[ "$(jq -c '[.findings[] | [.line, .field, .text]]' "$WORK/answer")" = "$(phx re check -o json "$WORK/odd.conf" | jq -c '[.findings[] | [.line, .field, .text]]')" ] &&
		[ "$(jq '.findings | length' "$WORK/answer")" -ge 3 ] && [ "$(jq -c '[.agreement, .meant]' "$WORK/answer")" = '[null,null]' ] || { cat "$WORK/answer"; return 1; }
	sed 's/"queue"/"more"/; 1s/^/role = "nonesuch"; owner = "games"; /' "$WORK/queue.conf" >"$WORK/odd.conf"
	[ "$(checks "$WORK/odd.conf" | jq -c '[.findings[] | [.line, .field, .text]]')" = "[[1,\"role\",\"there is no role 'nonesuch'\"]]" ] || { checks "$WORK/odd.conf"; return 1; }
	# what it is made of is what it says, and what it says can be asked for
	sed 's/"queue"/"more"/; 1s/^/owner = "games"; /' "$WORK/queue.conf" >"$WORK/odd.conf"
	checks "$WORK/odd.conf" >"$WORK/answer"
	jq -c '{values, extensions, create: true}' "$WORK/answer" >"$WORK/again"
	api /v1/agreement-check -d @"$WORK/again" | jq -S .agreement >"$WORK/other" && jq -S .agreement "$WORK/answer" | cmp - "$WORK/other" || return 1
	jq -c '{agreement, create: true, dry_run: true}' "$WORK/answer" >"$WORK/again"
	[ "$(api /v1/res -d @"$WORK/again" | jq -c '[.re, .changed]')" = '["more",true]' ] || { api /v1/res -d @"$WORK/again"; return 1; }
	# every key that a text may have is a field of the form
	[ "$(api /v1/agreement-fields | jq '.fields | length')" -ge 40 ] &&
		[ "$(api /v1/agreement-fields | jq -c '[.fields[] | select(.key == "threshold") | .types]')" = '[["web_service"]]' ] || return 1
	[ "$(api /v1/status | jq .seq)" = "$before" ]
}

too_few_nodes() { says 75 'and 4 nodes are free or held by REs' batch_dept re activate toobig; }
wrong_partner() {
	web_dept re request "$WORK/other.xml" >/dev/null && phx re create other >/dev/null &&
		says 0 'RE other is running' web_dept re activate other --dry-run && phx re destroy other --yes >/dev/null
}

activation() {
	says 77 'service provider' phx re activate queue && says 64 "there is no RE" web_dept re activate queue &&
		says 0 'RE pages is running' web_dept re activate pages --wait --timeout 30 &&
		says 0 'goes from free to queue' batch_dept re activate queue --dry-run && re_is queue .state deployed &&
		says 0 'no partner was named, and both allow it' batch_dept re activate queue --wait --timeout 30 &&
		re_is queue .nodes.held 3 && re_is pages .nodes.held 1 && re_is queue .paired_with pages &&
		says 0 'RE queue shares its nodes with pages' web_dept re history pages
}

# in its place, out of the policy's reach, counted; and back again
pinned_by_hand() {
	local node
	node=$(api /v1/nodes | jq -r '[.nodes[] | select(.pool == "queue") | .name] | sort | .[0]')
	phx node assign "$node" batch-compute --pin >/dev/null && is "$node" .pinned true && is "$node" .pool queue &&
		re_is queue .nodes.pinned 1 && until_true 20 re_is queue .nodes.held 2 && phx events | grep -q "$node: role assigned: .*, pinned" &&
		phx node assign "$node" batch-compute --pool queue >/dev/null && is "$node" .pinned false && until_true 20 re_is queue .nodes.held 3
}

agreement_comes_back() {
	batch_dept re show queue --xml >"$WORK/back.xml" && batch_dept re show queue --conf >"$WORK/back.conf" &&
		phx re check "$WORK/back.xml" "$WORK/back.conf" >/dev/null && grep -q '<cost_centre>4711<' "$WORK/back.xml" &&
		[ "$(web_dept re show pages -o json | jq -r .agreement.owner)" = unix:daemon ]
}

# what the configuration does not name stays: the pool of an RE, the role of one
reload_keeps_them() {
	mv "$WORK/etc/roles/web-server.conf" "$WORK/web-server.kept" && phx reload >/dev/null 2>&1
	mv "$WORK/web-server.kept" "$WORK/etc/roles/web-server.conf"
	[ "$(api /v1/status | jq -r '[.pools[].name] | sort | join(" ")')" = 'batch free pages queue toobig web' ] &&
		api /v1/roles/web-server | jq -e .name >/dev/null && phx reload >/dev/null &&
		api /v1/metrics | grep -q '^phx_re_nodes{re="queue",kind="idle"} 3'
}

refused_while_running() {
	says 64 'the RE is running' phx re destroy queue --yes && says 64 'can never have more than 3' user job submit --re queue -n 4 -- true &&
		says 64 'serves the web' web_dept job submit --re pages -- true && says 64 "there is no RE 'pages'" user job submit --re pages -- true && says 64 "there is no RE 'nix'" user job submit --re nix -- true
}

# ---- jobs ----

# a job that ends when it may
run_until() { user job submit --re queue "${@:2}" -- sh -c "until [ -e $WORK/go.$1 ]; do sleep 0.1; done; echo $1 done"; }

# one who only submits jobs sees where he may, and no more
users_see_where_to_submit() {
	[ "$(user re list -o json | jq -c '[.res[] | [.name, .state, (.nodes | keys), (keys | length)]]')" = \
		'[["queue","running",["busy","idle","most"],4]]' ] && says 0 parallel_batch_jobs user re list &&
		says 0 "upper_bound_size = 3" user re show queue && says 77 'not permitted' user re history queue &&
		[ "$(user re show queue -o json | jq -c "keys")" = '["agreement","conf","name","nodes","owner_name","state","type"]' ] && says 64 "no RE 'pages'" user re show pages &&
		says 77 'only the service provider of an RE, its owner, names its members' phx re members queue root
}

jobs_start() {
	WIDE=$(run_until all -n 2 -t 10m) && NARROW=$(run_until all -n 1) && NEXT=$(run_until all -n 1) &&
		until_true 10 job_is "$WIDE" .state running && until_true 10 job_is "$NARROW" .state running &&
		job_is "$NEXT" .state queued && re_is queue .jobs.waiting 1 &&
		says 75 'the job has not started yet' user job output "$NEXT"
}

hold_and_release() {
	says 64 'only a queued job' user job hold "$NARROW" && user job hold "$NEXT" && job_is "$NEXT" .held true &&
		says 0 'was held already' user job hold "$NEXT" && says 0 held user job list && user job release "$NEXT" &&
		job_is "$NEXT" .held false
}

# whose jobs are seen, and whose output
jobs_of_others() {
	[ "$(batch_dept job list --re queue -o name | wc -l)" = 3 ] && [ "$(web_dept job list -o name | wc -l)" = 0 ] &&
		[ "$(user job list -o name | wc -l)" = 3 ] && says 64 'no such job' web_dept job show "$WIDE" &&
		says 64 'no such job' batch_dept job output "$WIDE"
}

# ---- the web wants more, and less ----

settled() { re_is queue .nodes.held "$1" && re_is pages .nodes.held "$2" && re_is queue .nodes.coming 0 && re_is pages .nodes.coming 0; }

demand_kills_the_smallest_latest() {
	use 950000 && until_true 20 settled 2 2 && job_is "$NARROW" .state queued && job_is "$NARROW" .kills 1 &&
		job_is "$WIDE" .state running && job_is "$WIDE" .kills 0 && says 0 "job $NARROW of RE queue is killed and queued again: the web RE wants" \
		batch_dept re history queue && says 0 'goes from queue to pages' web_dept re history pages
}

web_s_node_serves() {
	local node
	for node in $(api /v1/nodes | jq -r '.nodes[] | select(.pool == "pages") | .name'); do
		is "$node" .actual_role web-server && is "$node" .tenant unix:daemon || return 1
	done
}

# the head dies as soon as the return is decided; nothing is lost and nothing done twice
killed_in_the_middle() {
	use 950000 && until_true 10 job_is "$WIDE" '.killing or .kills == 1' true || return 1
	head_kill
	sleep 0.3
	head_start
	until_true 30 settled 1 3 && job_is "$WIDE" .kills 1 && until_true 10 job_is "$NARROW" .state running
}

demand_falls() {
	use 50000 && until_true 20 settled 2 2 || return 1
	use 50000 && until_true 20 settled 3 1 && says 0 'idle in the free pool go to the batch RE' batch_dept re history queue
}

# at ever later moments of a node's way to the web and back
killed_at_any_moment() {
	local k web
	for k in 0 0.1 0.2 0.3 0.5 0.8; do
		web=$(api /v1/res/pages | jq .nodes.held)
		web=$((3 - web))
		use $([ $web = 2 ] && echo 950000 || echo 50000) || return 1
		until_true 10 re_is pages .nodes.want $web || return 1
		sleep $k
		head_kill
		head_start
		until_true 20 settled $((4 - web)) $web || return 1
	done
}

all_complete() {
	touch "$WORK/go.all"
	local id
	for id in $WIDE $NARROW $NEXT; do until_true 15 job_is "$id" .state 'done' || return 1; done
	[ "$(user job output "$NARROW")" = 'all done' ]
}

time_limit() {
	local id
	id=$(user job submit --re queue -t 1s -- sleep 300) && until_true 15 job_is "$id" .state timeout && job_is "$id" .kills 0
}

# what a crash left half done is finished at the start; what is not ours stays
directories_follow() {
	echo mine >"$WORK/head/re/queue/kept"
	head_kill
	rmdir "$WORK/head/re/pages"
	mkdir "$WORK/head/re/left" "$WORK/head/re/foreign" && echo created 1 >"$WORK/head/re/.left" && echo x >"$WORK/head/re/left/x"
	head_start
	[ "$(stat -c %U "$WORK/head/re/pages")" = daemon ] && [ "$(cat "$WORK/head/re/queue/kept")" = mine ] &&
		[ -e "$WORK/head/lost+found/left-1/x" ] && [ ! -e "$WORK/head/re/left" ] && [ ! -e "$WORK/head/re/.left" ] && rmdir "$WORK/head/re/foreign"
}

# ---- the end ----

safe_deactivation() {
	local id
	echo data >"$WORK/head/re/queue/result"
	id=$(run_until last -n 1) && until_true 10 job_is "$id" .state running && says 0 'RE queue is suspended' batch_dept re deactivate queue --safe &&
		says 75 'suspended: it takes jobs while it is running' user job submit --re queue -- true || return 1
	re_is queue .state suspended && touch "$WORK/go.last" && until_true 15 re_is queue .state deactivated &&
		until_true 15 re_is queue .active false && job_is "$id" .state 'done' && [ "$(cat "$WORK/head/re/queue/result")" = data ]
}

# refused with 75 while a node is still on its way out
destroyed() { phx re destroy "$1" --yes | grep -qx "RE $1 is destroyed"; }
destruction() {
	says 77 'resource provider' batch_dept re destroy queue --yes && says 64 'needs --yes' phx re destroy queue </dev/null &&
		until_true 15 destroyed queue && [ ! -e "$WORK/head/re/queue" ] &&
		says 0 'RE pages is deactivated' web_dept re deactivate pages --yes --wait --timeout 30 && [ -d "$WORK/head/re/pages" ] &&
		until_true 15 destroyed pages && phx re destroy toobig --yes >/dev/null && [ "$(phx re list -o name | wc -l)" = 0 ] &&
		[ -z "$(ls -A "$WORK/head/re")" ] && says 0 'RE queue is destroyed' phx re history queue &&
		says 64 'no such RE' batch_dept re history queue
}

# what concerns REs is not told to everybody
# Of his own jobs he is told, and which RE they went to.
nothing_is_told_to_others() {
	user events --lines 0 >"$WORK/users"
	phx events --lines 0 >"$WORK/all"
	! grep -v ' job submitted: ' "$WORK/users" | grep -E 'goes from|RE (queue|pages)' && grep -q 'goes from queue to pages' "$WORK/all" &&
		says 77 'not permitted' user re history queue || { tail -n 50 "$WORK/all"; return 1; }
}

# the resource provider's own department: he is both
provider_for_himself() {
	cat >"$WORK/own.conf" <<-END
		relationship = "same"; type = "parallel_batch_jobs"; resource_coordination_model = "flb-nub"; lower_bound_size = 1;
		setup_policy = "wipe";
	END
	says 64 'whose RE is it' phx re create "$WORK/queue.conf" && says 0 'RE own of unix:root is deployed' phx re create "$WORK/own.conf" &&
		says 0 'RE own is running' phx re activate own --dry-run && phx re destroy own --yes >/dev/null &&
		says 0 'root asks for RE own' phx re request "$WORK/own.conf" && says 0 'is withdrawn' phx re withdraw own
}

# a service provider elsewhere, by certificate
by_certificate() {
	phx cert issue chem --kind service-provider --out "$WORK/chem" >/dev/null && sed -i 's/"queue"/"far"/' "$WORK/queue.conf" &&
		says 0 'cert:chem asks for RE far' phx --server "https://localhost:$HTTPS" --cert "$WORK/chem/cert.pem" --key "$WORK/chem/key.pem" \
			--ca "$WORK/chem/ca.pem" re request "$WORK/queue.conf" && re_is far .agreement.owner cert:chem
}

replayed() { replays_the_same 120 150 && ! grep -i -E 'cannot|differ|sanitizer' "$WORK/phxd.log"; }

head_init 'measure_web_use = false; service_group = "users"; server_names = [ "localhost" ];'
roles_init
agreements
for test in nodes_ready asking each_sees_its_own only_the_provider_creates business_is_kept_apart image_by_agreement refused_and_withdrawn checked_by_the_head too_few_nodes wrong_partner activation a_node_has_what_came_to_it \
	pinned_by_hand agreement_comes_back reload_keeps_them refused_while_running users_see_where_to_submit jobs_start hold_and_release jobs_of_others demand_kills_the_smallest_latest \
	web_s_node_serves killed_in_the_middle demand_falls killed_at_any_moment all_complete time_limit directories_follow safe_deactivation destruction nothing_is_told_to_others provider_for_himself by_certificate replayed; do
	check "$test" "$test"
done
exit $FAILED
