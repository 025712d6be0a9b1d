#!/bin/bash
# What the head has, seen from the command line: images and the kernel that runs, role files against the same checks as those of
# a reload, and one place where every command looks, named by the socket alone. A real head, one node.
. "$(dirname "$0")/agents.bash"

run() {
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
}
# said STATUS FILE TEXT: what the last run left
said() { [ "$status" = "$1" ] && grep -qF -- "$3" "$WORK/$2"; }
not_ok() {
	echo "not ok $*"
	FAILED=1
	echo "status $status" && tail -n 8 "$WORK/out" "$WORK/err" "$WORK/phxd.log"
}

roles_init() {
	printf 'pool = "web"; image = "test"; boot = "ram"; packages = [ "hello-1.0" ];\n%s\n' \
		'services = ( { name = "hello"; package = "hello"; exec = [ "bin/hello" ]; } );' >"$WORK/etc/roles/hello.conf"
	package hello 1.0 'exec sleep 1000'
	package hello 2.0 'exec sleep 1000'
}

# ---- kernels ----

own=6.1.0-test # of image_init
the_own_kernel_is_nothing_to_warn_of() {
	deploy_image $own && run phx reload && said 0 err '1 role,' || return 1
	! grep -q warning "$WORK/err" || return 1
	run phx image show test
	said 0 out $own && ! grep -q warning "$WORK/err" && run phx role check --strict && said 0 out '1 role is right'
}
another_kernel_is_told() {
	deploy_image 5.10-other && run phx reload && said 0 err "role hello: image test 1 brings kernel $own without an archive of its modules, so nodes run 5.10-other, that of deploy image deploy 1" || return 1
	run phx image show test
	said 0 out 'Nodes run    5.10-other' && said 0 err "brings kernel $own" || return 1
	run phx image list -o wide
	grep "^test" "$WORK/out" | grep -q "$own *5.10-other" || return 1
	run phx image list --dir "$WORK/head/images" -o wide
	grep "^test" "$WORK/out" | grep -q "$own *5.10-other" || return 1
	run phx status
	said 0 out 'nodes run kernel 5.10-other, that of deploy image deploy 1' || return 1
	run phx role check
	said 0 err "brings kernel $own without an archive of its modules, so nodes run 5.10-other" || return 1
	run phx role check --strict
	[ "$status" = 78 ] || return 1
	# who pushes a package has nothing to do with kernels
	run phx package push "$WORK/head/packages/hello-1.0.tar.zst"
	[ "$status" = 0 ] && ! grep -q kernel "$WORK/err"
}
# two_kernels: image two, which has kernels one-rt and one, the default
two_kernels() {
	local dir=$WORK/head/images/two/1 file
	mkdir -p "$dir"
	for file in vmlinuz modules.zst vmlinuz-rt modules-rt.zst root.squashfs; do echo "$file" >"$dir/$file"; done
	{
		echo 'name = "two"; version = "1"; kind = "rootfs"; architecture = "amd64"; kernel_release = "one"; kernels = ('
		echo '{ release = "one"; kernel = "vmlinuz"; modules = "modules.zst"; },'
		echo '{ release = "one-rt"; kernel = "vmlinuz-rt"; modules = "modules-rt.zst"; } ); files = ('
		for file in vmlinuz modules.zst vmlinuz-rt modules-rt.zst root.squashfs; do
			printf '{ name = "%s"; size = %dL; sha256 = "%s"; },\n' "$file" "$(stat -c %s "$dir/$file")" "$(sha256sum <"$dir/$file" | cut -d' ' -f1)"
		done | sed '$s/,$//'
		echo ');'
	} >"$dir/manifest.conf"
}
# runs LINE RELEASE: a role of image two with this line, whose nodes run that kernel
runs() {
	printf 'pool = "web"; image = "two"; boot = "ram";\n%s\n' "$1" >"$WORK/etc/roles/rt.conf"
	run phx reload
	[ "$status" = 0 ] && [ "$(phx role show rt -o json | jq -r .image_kernel)" = "$2" ] || return 1
	run phx node assign n1 rt --dry-run -o json
	[ "$(jq -r '.. | .runs_kernel? // empty' "$WORK/out")" = "$2" ]
}
a_role_names_one_of_the_kernels() {
	two_kernels
	node_init n1 1 && phx node add n1 --mac 02:00:00:00:00:01 >/dev/null && agent_start n1 && until_true 10 is n1 .state new || return 1
	phx node accept n1 --yes >/dev/null && until_true 10 is n1 .state ready || return 1
	runs '' one && runs 'kernel = "one-rt";' one-rt && runs 'kernel = "one";' one || return 1
	rm "$WORK/etc/roles/rt.conf"
	agrees 78 "kernel 'two of image two 1' does not exist" 'pool = "web"; image = "two"; boot = "ram"; kernel = "two";' &&
		agrees 78 "kernel 'one of image test 1' does not exist" 'pool = "web"; image = "test"; boot = "ram"; kernel = "one";'
}
a_head_without_deploy_image_says_so() {
	rm -r "$WORK/head/images/deploy"
	run phx status
	said 0 out "no node can boot: deploy image deploy: there is no image 'deploy'"
}

# ---- role files: check and reload agree ----

# agrees STATUS TEXT LINE...: of a role file with these lines, both say so
agrees() {
	local want=$1 text=$2 file=$WORK/etc/roles/tried.conf
	shift 2
	printf '%s\n' "$@" >"$file"
	run phx role check "$file"
	local checked=$status
	[ -z "$text" ] || grep -qF -- "$text" "$WORK/err" || return 1
	run phx reload
	[ -z "$text" ] || grep -qF -- "$text" "$WORK/err" || return 1
	rm "$file"
	[ "$checked" = "$want" ] && [ "$status" = "$want" ]
}
the_same_is_taken_and_refused() {
	local it='pool = "web"; image = "test";'
	agrees 0 '' "$it" 'packages = [ "hello-1.0" ]; services = ( { name = "h"; package = "hello"; exec = [ "bin/hello" ]; } );' &&
		agrees 0 '' "$it" 'packages = [ "hello" ];' &&
		agrees 78 "tried.conf:2: package 'hello-3.0' does not exist" "$it" 'packages = [ "hello-3.0" ];' &&
		agrees 78 "tried.conf:1: image 'nosuch' does not exist" 'pool = "web"; image = "nosuch";' &&
		agrees 78 "tried.conf:2: image 'test 7' does not exist" "$it" 'image_version = "7";' &&
		agrees 78 "tried.conf:1: pool 'nowhere' does not exist" 'pool = "nowhere"; image = "test";' &&
		agrees 78 "tried.conf:2: target: port '99999' must be a number from 1 to 65535" "$it" 'health = { kind = "tcp"; target = "127.0.0.1:99999"; };' &&
		agrees 78 "port '0' must be" "$it" 'health = { kind = "http"; target = "http://127.0.0.1:0/x"; };' &&
		agrees 0 '' "$it" 'health = { kind = "http"; target = "http://127.0.0.1/a:b"; };' &&
		agrees 78 'tried.conf:2: ' "$it" 'ports = [ 99999 ];'
}
without_phxd_the_directories_are_read() {
	local file=$WORK/tried.conf
	printf 'pool = "web"; image = "test"; packages = [ "hello-3.0" ];\n' >"$file"
	head_stop
	run phx role check "$file"
	said 78 err "phxd does not answer" && said 78 err "package 'hello-3.0' does not exist" || return 1
	sed -i s/hello-3.0/hello-2.0/ "$file"
	run phx role check "$file"
	said 0 out 'role tried is right' || return 1
	sed -i 's/"web"/"pages"/' "$file"
	run phx role check "$file"
	said 0 err "pool 'pages' is none of the configuration" && run phx role check --strict "$file" && [ "$status" = 78 ] && head_start
}

# what a killed phx left in the stores goes when phxd starts; what a living one is at stays
a_start_sweeps_the_stores() {
	local images=$WORK/head/images packages=$WORK/head/packages
	mkdir -p "$images/.import.99999999/root" "$images/.add.$$"
	touch "$packages/x-1.tar.zst.99999999.tmp" "$packages/x-1.tar.zst.$$.tmp"
	head_stop && head_start
	[ ! -e "$images/.import.99999999" ] && [ -e "$images/.add.$$" ] && [ ! -e "$packages/x-1.tar.zst.99999999.tmp" ] &&
		[ -e "$packages/x-1.tar.zst.$$.tmp" ] && rm -r "$images/.add.$$" "$packages/x-1.tar.zst.$$.tmp"
}

# ---- the socket alone says which head ----

the_socket_alone_is_enough() (
	unset PHX_CONFIG
	phx cert issue alice --out "$WORK/alice" >/dev/null && run phx cert list -o tsv --no-header && cut -f2 "$WORK/out" | grep -qx alice || return 1
	[ -n "$(ls "$WORK/head/pki/people")" ] || return 1
	run phx image show test
	said 0 out 'root.squashfs' || return 1
	run phx image verify
	said 0 out 'test 1: every digest is right' || return 1
	run phx role check
	said 0 out "$WORK/etc/roles: 1 role is right" || return 1
	run phx package verify "$WORK/head/packages/hello-1.0.tar.zst"
	said 0 out 'signature and contents are right'
)
a_socket_that_does_not_answer_is_no_other_head() (
	unset PHX_CONFIG
	PHX_SOCKET=$WORK/nosuch.sock run phx image verify
	[ "$status" = 69 ] || return 1
	PHX_SOCKET=$WORK/nosuch.sock run phx cert list
	[ "$status" = 69 ]
)

head_init
roles_init
for t in the_own_kernel_is_nothing_to_warn_of another_kernel_is_told a_role_names_one_of_the_kernels a_head_without_deploy_image_says_so \
	the_same_is_taken_and_refused a_start_sweeps_the_stores without_phxd_the_directories_are_read the_socket_alone_is_enough \
	a_socket_that_does_not_answer_is_no_other_head; do
	check "$t" "$t"
done
exit "$FAILED"
