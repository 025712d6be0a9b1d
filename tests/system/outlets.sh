#!/bin/bash
# by turns: 60 s: it takes long.
# Events that leave a real head: by the system's log (a real journald with a /run of its own), by programs of event_dir and by
# webhooks (a fake server, with TLS), in order and each at least once, over restarts and a kill; programs that hang, die, write
# without end or are replaced, and servers that redirect, fail, drip or say nothing, keep nobody else.
[ -n "${PHX_OUTLETS_RUN:-}" ] || [ "$(id -u)" != 0 ] || PHX_OUTLETS_RUN=1 exec unshare -m "$0" "$@"
. "$(dirname "$0")/agents.bash"

[ "$(id -u)" = 0 ] || { echo "skip outlets: only root starts programs as another user"; exit 0; }
DIR=$WORK/etc/on_event.d TOLD=$WORK/told
HOOKS=$((HTTPS + 2)) PLAIN=$((HTTPS + 3))
mkdir -p "$DIR" "$TOLD" "$WORK/etc/secret" && chown phx-events "$TOLD"
declare -a SERVERS=()
JOURNALD=

outlet() { api /v1/outlets | jq -r --arg n "$1" ".outlets[] | select(.name == \$n) | $2"; }
outlet_is() { [ "$(outlet "$1" "$2")" = "$3" ]; }
outlet_says() { outlet "$1" .error | grep -qF -- "$2"; }
# program NAME [SCRIPT]: by default it puts the event into told/NAME
program() {
	printf '#!/bin/sh\n%s\n' "${2:-cat >>$TOLD/$1 && echo >>$TOLD/$1}" >"$DIR/.new"
	chmod 755 "$DIR/.new" && mv "$DIR/.new" "$DIR/$1"
}
look_again() { phx reload >/dev/null; }
note() { api /v1/actions/note -X POST -d "{\"nodes\": \"n1\", \"text\": \"$1\"}" >/dev/null; }
# texts FILE: of the notes that it was told, in order; each once, however often it was told in a row
texts() { jq -r 'select(.kind == "node_note") | .event.text' "$TOLD/$1" 2>/dev/null | uniq; }
texts_are() { [ "$(texts "$1" | paste -sd ' ')" = "$2" ]; }
has_text() { texts "$1" | grep -qx "$2"; }
in_order() { jq -r .seq "$TOLD/$1" | sort -nc; }

outlets_head() {
	cat >"$WORK/etc/conf" <<-END
		event_dir = "$DIR"; event_paths = [ "$TOLD" ];
		event_tries = 3; event_refused_s = 2;
		webhooks = (
			{ name = "ok"; url = "https://localhost:$HOOKS/ok"; ca_file = "$WORK/etc/ca.pem"; secret_file = "$WORK/etc/secret/good"; kinds = [ "node_note" ]; },
			{ name = "plain"; url = "http://127.0.0.1:$PLAIN/ok"; kinds = [ "node_note" ]; },
			{ name = "stranger"; url = "https://localhost:$HOOKS/ok"; kinds = [ "node_note" ]; },
			{ name = "open"; url = "http://127.0.0.1:$PLAIN/ok"; secret_file = "$WORK/etc/secret/open"; kinds = [ "node_note" ]; },
			{ name = "redirect"; url = "http://127.0.0.1:$PLAIN/redirect"; kinds = [ "node_note" ]; },
			{ name = "failing"; url = "http://127.0.0.1:$PLAIN/failing"; kinds = [ "node_note" ]; },
			{ name = "picky"; url = "http://127.0.0.1:$PLAIN/picky"; kinds = [ "node_note" ]; },
			{ name = "slow"; url = "http://127.0.0.1:$PLAIN/slow"; timeout_s = 2; kinds = [ "node_note" ]; },
			{ name = "never"; url = "http://127.0.0.1:$PLAIN/never"; timeout_s = 2; kinds = [ "node_note" ]; },
			{ name = "flood"; url = "http://127.0.0.1:$PLAIN/flood"; kinds = [ "node_note" ]; },
			{ name = "cloud"; url = "http://169.254.169.254/latest"; kinds = [ "node_note" ]; } );
	END
	echo 0123456789abcdef0123 >"$WORK/etc/secret/good" && cp "$WORK/etc/secret/good" "$WORK/etc/secret/open"
	chmod 600 "$WORK/etc/secret/good" && chmod 644 "$WORK/etc/secret/open"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
		-keyout "$WORK/etc/key.pem" -out "$WORK/etc/ca.pem" 2>/dev/null || return 1
	"$BUILD/tests/fake/webhook" $HOOKS "$WORK/hooks" "$WORK/etc/ca.pem" "$WORK/etc/key.pem" >"$WORK/hooks.log" 2>&1 &
	SERVERS+=($!)
	"$BUILD/tests/fake/webhook" $PLAIN "$WORK/plain" >"$WORK/plain.log" 2>&1 &
	SERVERS+=($!)
	until_true 10 grep -q ready "$WORK/hooks.log" && until_true 10 grep -q ready "$WORK/plain.log" || return 1
	touch "$WORK/phxd.log"
	JOURNAL_STREAM=$(stat -c %d:%i "$WORK/phxd.log") && export JOURNAL_STREAM
	head_init "$(cat "$WORK/etc/conf")"
	phx node add n1 --mac 02:00:00:00:00:01 >/dev/null
}
outlets_finish() {
	[ -z "$JOURNALD" ] || { kill "$JOURNALD" && wait "$JOURNALD"; } 2>/dev/null
	local server
	for server in "${SERVERS[@]}"; do { kill "$server" && wait "$server"; } 2>/dev/null; done
	finish
}
trap outlets_finish EXIT

# ---- programs ----

programs_are_told_in_order() {
	program good
	program who "id -un >$TOLD/who"
	program only && echo 'kinds = [ "node_label" ];' >"$DIR/only.conf"
	look_again
	until_true 10 outlet_is good .refused false && until_true 10 outlet_is only .kinds[0] node_label || return 1
	local i
	for i in a1 a2 a3; do note $i; done
	phx node label n1 rack=1 >/dev/null
	until_true 20 texts_are good "a1 a2 a3" && until_true 10 grep -qx phx-events "$TOLD/who" && until_true 20 test -s "$TOLD/only" || return 1
	in_order good && [ "$(jq -r .kind "$TOLD/only" | sort -u)" = node_label ] && until_true 10 outlet_is good .behind 0 &&
		phx events outlets | grep -qE '^good +program +ok '
}

# milliseconds of the slowest of ten orders, beside the programs and alone
slowest() {
	local i begun ms most=0
	for i in 1 2 3 4 5 6 7 8 9 10; do
		begun=$(date +%s%3N)
		note "$1$i"
		ms=$(($(date +%s%3N) - begun))
		[ $ms -le $most ] || most=$ms
	done
	echo $most
}
one_that_hangs_costs_nothing() {
	local before after
	before=$(slowest b)
	program hangs "exec sleep 600" && echo 'timeout_s = 300;' >"$DIR/hangs.conf" && look_again
	until_true 10 outlet_is hangs .refused false || return 1
	note hang
	until_true 10 pgrep -u phx-events -x sleep || return 1
	after=$(slowest c)
	echo "    slowest of ten orders: $before ms, beside one that hangs $after ms"
	until_true 20 has_text good c10 && [ "$(outlet hangs .behind)" -ge 10 ] && [ "$after" -le $((3 * before + 200)) ]
}
what_hangs_ends_with_its_file() {
	rm "$DIR/hangs" "$DIR/hangs.conf" && look_again
	until_true 10 outlet_is hangs .name "" && until_true 10 eval '! pgrep -u phx-events -x sleep'
}

what_dies_is_told_again() {
	program dies "[ -e $TOLD/well ] || { echo 'no mail today' >&2; exit 75; }; cat >>$TOLD/dies; echo >>$TOLD/dies" && look_again
	until_true 10 outlet_is dies .refused false || return 1
	note d1 && note d2
	until_true 10 outlet_says dies 'dies ended with status 75: no mail today' && [ "$(outlet dies .since_ms)" -gt 0 ] || return 1
	phx events outlets >"$WORK/out"
	[ $? = 1 ] && grep -qE '^dies .*fails' "$WORK/out" && [ ! -e "$TOLD/dies" ] && until_true 20 has_text good d2 || return 1
	touch "$TOLD/well" && look_again
	until_true 20 texts_are dies "d1 d2" && until_true 10 outlet_is dies .error ""
}

what_writes_without_end_is_ended() {
	program endless "exec yes" && echo 'timeout_s = 1;' >"$DIR/endless.conf" && look_again
	until_true 10 outlet_is endless .refused false || return 1
	note e1
	until_true 20 outlet_is endless '.attempts > 0' true && until_true 20 has_text good e1 || return 1
	rm "$DIR/endless" "$DIR/endless.conf" && look_again
	until_true 10 eval '! pgrep -u phx-events -x yes'
}

what_is_replaced_goes_on() {
	program new "cat >>$TOLD/new; echo >>$TOLD/new; echo old >>$TOLD/which; until [ -e $TOLD/go ]; do sleep 0.1; done" && echo 'timeout_s = 300;' >"$DIR/new.conf" && look_again
	until_true 10 outlet_is new .refused false || return 1
	note f1 && note f2
	until_true 20 has_text new f1 || return 1
	program new "cat >>$TOLD/new; echo >>$TOLD/new; echo new >>$TOLD/which"
	touch "$TOLD/go"
	until_true 20 texts_are new "f1 f2" && [ "$(paste -sd ' ' "$TOLD/which")" = "old new" ]
}

what_others_can_change_is_refused() {
	program loose && chmod 777 "$DIR/loose"
	program theirs && chown phx-events "$DIR/theirs"
	look_again
	until_true 10 outlet_is loose .refused true && outlet_says loose "$DIR/loose" && outlet_is theirs .refused true &&
		outlet_says theirs 'belongs to user' || return 1
	note g1
	until_true 20 has_text good g1 && [ ! -e "$TOLD/loose" ] && [ ! -e "$TOLD/theirs" ] || return 1
	chmod 775 "$DIR" && look_again
	until_true 10 eval 'api /v1/outlets | jq -r .wrong | grep -q "$DIR"' || return 1
	chmod 755 "$DIR" && rm "$DIR/loose" "$DIR/theirs" && look_again
	until_true 10 eval '[ "$(api /v1/outlets | jq -r .wrong)" = "" ]'
}

# the example that is installed
the_example_mails() {
	printf '#!/bin/sh\ncat >%s/mailed\n' "$TOLD" >"$WORK/sendmail" && chmod 755 "$WORK/sendmail"
	echo '{"seq":1}' | SENDMAIL=$WORK/sendmail etc/on_event/mail && grep -qx 'To: root' "$TOLD/mailed" && grep -qx '{"seq":1}' "$TOLD/mailed" &&
		cp -p etc/on_event/mail etc/on_event/mail.conf "$DIR" && chown root "$DIR"/mail* && look_again &&
		until_true 10 outlet_is mail '"\(.refused) \(.kinds | join(","))"' 'false missing,quarantine,notice' && rm "$DIR"/mail*
}

# ---- the head ends ----

# the program has it and has not ended: nobody knows that it was told
killed_before_its_cursor() {
	program acts "cat >>$TOLD/acts; echo >>$TOLD/acts; until [ -e $TOLD/acted ]; do sleep 0.1; done" && look_again
	until_true 10 outlet_is acts .refused false || return 1
	note h1 && note h2
	until_true 20 has_text acts h1 || return 1
	head_kill
	until_true 10 eval '! pgrep -u phx-events -f on_event.d/acts' && touch "$TOLD/acted" && head_start
	until_true 20 texts_are acts "h1 h2" && [ "$(jq -r .event.text "$TOLD/acts" | grep -cx h1)" = 2 ] && in_order acts
}
nothing_is_lost_by_kills() {
	local i k
	for k in 1 2 3; do
		for i in 1 2 3 4 5; do note k$k.$i; done
		head_kill
		head_start
	done
	note last
	until_true 30 has_text good last || return 1
	[ "$(texts good | grep -c '^k[123][.][1-5]$')" -ge 15 ] && for k in 1 2 3; do for i in 1 2 3 4 5; do has_text good k$k.$i || return 1; done; done
}
a_restart_goes_on() {
	program later "[ -e $TOLD/later.go ] || exit 75; cat >>$TOLD/later && echo >>$TOLD/later" && look_again
	until_true 10 outlet_is later .refused false || return 1
	note i1 && note i2 && until_true 10 outlet_is later '.attempts > 0' true || return 1
	head_stop
	touch "$TOLD/later.go"
	head_start
	until_true 20 texts_are later "i1 i2"
}

# ---- webhooks ----

picky() { api /v1/outlets | jq -r --arg k "$1" ".outlets[] | select(.name == \"picky\" and .kind == \$k) | $2"; }
picky_is() { [ "$(picky "$1" "$2")" = "$3" ]; }
picky_says() { picky "$1" .aside_error | grep -qxF -- "$2"; }
posts() { grep -c "^$2 .*\"text\": *\"$3\"" "$WORK/$1" 2>/dev/null; }
posted() { [ "$(posts "$@")" -ge 1 ]; }
webhooks_are_told_and_signed() {
	note w1
	until_true 20 posted hooks /ok w1 && until_true 20 posted plain /ok w1 || return 1
	local line signature body t
	line=$(grep -m1 '^/ok .*"text": *"w1"' "$WORK/hooks")
	signature=$(cut -d' ' -f2 <<<"$line") body=$(cut -d' ' -f3- <<<"$line") t=${signature%%,*} && t=${t#t=}
	[ "${signature#*v1=}" = "$(printf '%s.%s' "$t" "$body" | openssl dgst -sha256 -hmac 0123456789abcdef0123 | awk '{ print $NF }')" ] &&
		jq -e '.kind == "node_note" and .node == "n1" and .event.text == "w1"' <<<"$body" >/dev/null || return 1
	[ "$(grep -m1 '^/ok .*"w1"' "$WORK/plain" | cut -d' ' -f2)" = - ] && until_true 10 outlet_is ok .error ""
}
bad_servers_are_told_of() {
	until_true 20 outlet_says redirect 'it answers with a redirect (status 302), and none is followed' &&
		until_true 20 outlet_says failing 'it answers with status 500' && until_true 20 outlet_says slow 'no whole answer within 2 s' &&
		until_true 20 outlet_says never 'no whole answer within 2 s' && until_true 20 outlet_says cloud 'link-local' &&
		until_true 20 outlet_says stranger 'certificate' && until_true 20 outlet_says open 'others than its owner may read it' || return 1
	# where its redirect led nothing was sent to: one line of each event, that of the webhook `plain`
	[ "$(posts plain /ok a1)" = 1 ] && posted plain /redirect a1 && until_true 20 outlet_is flood .error ""
}
what_failed_is_sent_again() {
	local n
	n=$(posts plain /failing w1)
	[ "$(posts plain /failing w2)" = 0 ] && note w2 && touch "$WORK/plain.well" && look_again || return 1
	until_true 30 posted plain /failing w2 && [ "$(posts plain /failing w1)" -gt "$n" ] && until_true 10 outlet_is failing '"\(.behind) \(.error)"' "0 "
}

# ---- what is refused ----

# Each is refused one event, by its status: it is told the next ones, and what was put aside is counted and said.
what_is_refused_is_put_aside() {
	program picky "cat >$TOLD/picky.now; ! grep -q poison $TOLD/picky.now || { echo 'that I take not' >&2; exit 1; }
		cat $TOLD/picky.now >>$TOLD/picky; echo >>$TOLD/picky" && look_again
	until_true 10 picky_is program .refused false || return 1
	local kind
	note p1 && note poison && note p2 && note p3
	until_true 30 texts_are picky "p1 p2 p3" && until_true 30 posted plain /picky p3 || return 1
	[ "$(posts plain /picky poison)" -ge 3 ] && posted plain /picky p2 && in_order picky || return 1
	for kind in program webhook; do
		until_true 10 picky_is $kind '"\(.aside) \(.error) \(.attempts) \(.dropped)"' "1  0 0" || return 1
	done
	picky_says program 'picky ended with status 1: that I take not' && picky_says webhook 'picky: it answers with status 422' || return 1
	[ "$(picky webhook .aside_seq)" = "$(api '/v1/events?limit=1000' | jq -r '.events[] | select(.kind == "node_note" and .event.text == "poison") | .seq')" ] || return 1
	phx events outlets | grep -qE '^picky +webhook +ok .* event [0-9]+ was put aside: picky: it answers with status 422' &&
		phx events | grep -q 'the webhook picky refuses events again and again' && grep -q 'the program of event_dir picky refuses' "$WORK/phxd.log" &&
		api /v1/metrics | grep -qx 'phx_outlet_events_total{kind="webhook",outlet="picky",result="aside"} 1'
}
# a server that is ill says nothing about the event: tries and time are over, and it waits
who_is_ill_is_waited_for() { until_true 20 outlet_is failing '.attempts > 3' true && outlet_is failing '"\(.aside) \(.told)"' "0 0"; }

# ---- the system's log ----

log_has() { journalctl -D /run/log/journal -o json "$@" 2>/dev/null | grep -q .; }
the_log_has_fields() {
	until_true 20 log_has PHX_EVENT=node_note PHX_NODE=n1 || return 1
	journalctl -D /run/log/journal -o json -n 1 PHX_EVENT=node_note | jq -e '.SYSLOG_IDENTIFIER == "phxd" and .PHX_NODE == "n1" and
		(.PHX_SEQ | tonumber) > 0 and (.PRIORITY == "6") and (.MESSAGE_ID | length) == 32' >/dev/null
}
no_note_forges_a_field() {
	note 'PHX_NODE=n9 PRIORITY=0'
	until_true 20 eval 'journalctl -D /run/log/journal -o cat PHX_EVENT=node_note | grep -q PHX_NODE=n9' && ! log_has PHX_NODE=n9 &&
		! log_has PHX_EVENT=node_note PRIORITY=0
}

# journalctl -x explains each kind
the_catalogue_explains_each_kind() {
	local root=$WORK/catalog n
	mkdir -p "$root/usr/lib/systemd/catalog" "$root/var/lib/systemd/catalog" &&
		awk -f etc/catalog.awk lib/state/event.def lib/outlet/news.def >"$root/usr/lib/systemd/catalog/phoenix.catalog" &&
		journalctl --root "$root" --update-catalog >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	n=$(journalctl --root "$root" --list-catalog | grep -c ' Phoenix: ')
	[ "$n" = "$(grep -c '^NEWS(' lib/outlet/news.def)" ] && journalctl --root "$root" --list-catalog | grep -q 'Phoenix: node went silent'
}

mount -t tmpfs none /run && mkdir -p /run/systemd/journal && [ -s /etc/machine-id ] || head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >/run/machine-id
[ -s /etc/machine-id ] || { touch /etc/machine-id && mount --bind /run/machine-id /etc/machine-id; }
/usr/lib/systemd/systemd-journald >/dev/null 2>&1 &
JOURNALD=$!
until_true 10 test -S /run/systemd/journal/socket || { echo "not ok journald: it does not start"; exit 1; }
check outlets_head outlets_head || exit 1
for test in programs_are_told_in_order webhooks_are_told_and_signed bad_servers_are_told_of who_is_ill_is_waited_for \
	what_failed_is_sent_again what_is_refused_is_put_aside the_log_has_fields \
	no_note_forges_a_field the_catalogue_explains_each_kind one_that_hangs_costs_nothing what_hangs_ends_with_its_file what_dies_is_told_again \
	what_writes_without_end_is_ended what_is_replaced_goes_on what_others_can_change_is_refused the_example_mails killed_before_its_cursor \
	nothing_is_lost_by_kills a_restart_goes_on; do
	check $test $test
done
exit $FAILED
