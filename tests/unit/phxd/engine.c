/* The engine over starts: a clock that is far ahead, a journal that lacks events or in which any
 * bit has flipped; and what it writes. The clocks are fakes that take the place of libc's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "pki/attestation.h"
#include "state/index.h"
#include "phxd/clock.c" /* parts of a program, not of the library */
#include "fake/append_one.h"
#include "fake/key_signer.h"
#include "phxd/engine.c"

#define DAYS(n) ((n)*24LL * 3600 * 1000)
enum { FLIPS = 150, FILE_SIZE_MAX = 1 << 22 };

static int64_t fake_wall_ahead_ms, fake_mono_ahead_ms;
static bool fake_synchronised, fake_clock_refused;

static void put_forward(struct timespec *ts, int64_t ms)
{
	ts->tv_sec += ms / 1000;
	ts->tv_nsec += ms % 1000 * 1000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_sec++;
		ts->tv_nsec -= 1000000000;
	}
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	put_forward(ts,
		    id == CLOCK_REALTIME            ? fake_wall_ahead_ms
			    : id == CLOCK_MONOTONIC ? fake_mono_ahead_ms
						    : 0);
	return r;
}

int adjtimex(struct timex *t)
{
	if (fake_clock_refused) {
		errno = EPERM;
		return -1;
	}
	t->status = fake_synchronised ? 0 : STA_UNSYNC;
	return fake_synchronised ? TIME_OK : TIME_ERROR;
}

static char dir[64], path[96];
static struct engine *e;
static struct phx_err err;
static struct engine_config config;
static int added;

static int no_act(void *arg, const struct phx_action *act)
{
	(void)arg;
	(void)act;
	return 0;
}

static void no_commit(void *arg, uint64_t seq)
{
	(void)arg;
	(void)seq;
}

/* What the launcher does for who serves. */
static bool asks_the_kernel(void *arg)
{
	(void)arg;
	return clock_is_kept();
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-engine.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	config = (struct engine_config){.journal = path,
					.clock = {wall_ms, mono_ms, asks_the_kernel, NULL},
					.snapshot_every = 10,
					.keep_days = 30,
					.act = no_act,
					.committed = no_commit};
	fake_wall_ahead_ms = fake_mono_ahead_ms = added = 0;
	fake_synchronised = fake_clock_refused = false;
	phx_err_clear(&err);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	engine_close(PHX_TAKE(e));
	return phx_dir_remove(dir, NULL);
}

static int start(void)
{
	engine_close(PHX_TAKE(e));
	phx_err_clear(&err);
	int r = engine_open(&config, &e, &err);
	if (r == 0)
		engine_resume(e);
	return r;
}

/* The thread that takes snapshots has taken each. */
static bool at_rest(void)
{
	pthread_mutex_lock(&e->lock);
	bool rests = e->n_due == e->n_taken;
	pthread_mutex_unlock(&e->lock);
	return rests;
}

static void happens(int n)
{
	for (int i = 0; i < n; i++) {
		struct phx_event ev = {.kind = PHX_EV_node_add, .by = "test"};
		snprintf(ev.node, sizeof(ev.node), "n%d", ++added);
		struct phx_mac *m = phx_list_push(&ev.node_add.macs, sizeof(*m));
		snprintf(m->mac, sizeof(m->mac), "02:00:00:00:%02x:%02x", added / 256, added % 256);
		assert_int_equal(engine_submit(e, &ev, NULL, &err), 0);
		phx_event_fini(&ev);
		while (!at_rest())
			usleep(100);
	}
}

static uint64_t first(void)
{
	uint64_t seq;
	int64_t time_ms;
	assert_int_equal(phx_store_first(engine_store(e), &seq, &time_ms, &err), 0);
	return seq;
}

static int64_t real_now(void)
{
	struct timespec ts;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000;
}

static void is_near(int64_t now, int64_t want)
{
	if (now < want - 20000 || now > want + 20000)
		fail_msg("%lld is not near %lld", (long long)now, (long long)want);
}

struct search {
	const char *text;
	int n;
};

static int look(void *arg, const struct phx_store_event *ev)
{
	struct search *s = arg;
	s->n += strstr(ev->actions, s->text) != NULL;
	return 0;
}

static int times_told(const char *text)
{
	struct search s = {text, 0};
	assert_int_equal(phx_store_events_of(engine_store(e), "notice", look, &s, &err), 0);
	return s.n;
}

/* ---- the clock ---- */

static void a_clock_a_year_ahead_is_not_believed(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(40);
	fake_wall_ahead_ms = DAYS(365);
	assert_int_equal(start(), 0);
	is_near(engine_now(e), real_now());
	happens(40);
	assert_int_equal(first(), 1);
	assert_int_equal(times_told("the clock is 365 days ahead of the last event"), 1);
	/* it was set right: nothing of it stays */
	fake_wall_ahead_ms = 0;
	assert_int_equal(start(), 0);
	happens(40);
	is_near(engine_now(e), real_now());
	assert_int_equal(first(), 1);
	assert_int_equal(times_told("days ahead"), 1);
}

static void a_few_days_of_downtime_are_believed(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(5);
	fake_wall_ahead_ms = DAYS(6);
	assert_int_equal(start(), 0);
	is_near(engine_now(e), real_now() + DAYS(6));
	assert_int_equal(times_told("ahead"), 0);
}

static void a_synchronised_clock_is_believed_and_forgets_after_a_day(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(40);
	fake_wall_ahead_ms = DAYS(365);
	fake_synchronised = true;
	assert_int_equal(start(), 0);
	is_near(engine_now(e), real_now() + DAYS(365));
	happens(40);
	assert_int_equal(first(), 1);
	fake_mono_ahead_ms = DAYS(1) + 1000;
	happens(20);
	assert_true(first() > 30);
}

/* What another version decided otherwise is refused, and it is said what helps. */
static void events_of_another_version_are_refused_with_advice(void **state)
{
	struct phx_store *store = NULL;
	struct phx_event ev = {.kind = PHX_EV_restart, .by = "phxd", .now_ms = real_now() + 60000};
	PHX_AUTO_FREE char *event = phx_json_record_text_sparse(&phx_event_record, &ev);
	(void)state;
	assert_int_equal(start(), 0);
	happens(3);
	engine_close(PHX_TAKE(e));
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	uint64_t seq = phx_store_last(store) + 1;
	int r = append_one(store, seq, ev.now_ms, "restart", "", event, "[{\"other\":1}]", NULL,
			   &err);
	phx_store_close(store);
	assert_int_equal(r, 0);
	assert_int_equal(start(), -EPROTO);
	assert_non_null(strstr(err.text, "its actions are not those that were recorded"));
	assert_non_null(strstr(err.text, "start the version that wrote the journal"));
	assert_non_null(strstr(err.text, "systemctl stop phxd"));
}

/* in a container, or by a rule of the unit, the question itself may be forbidden */
static void a_clock_that_cannot_be_asked_is_not_believed(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(1);
	fake_wall_ahead_ms = DAYS(40);
	fake_clock_refused = true;
	assert_int_equal(start(), 0);
	assert_true(phx_journal_clock_held(e->journal) > DAYS(39));
	fake_mono_ahead_ms = 2000;
	assert_false(phx_journal_clock_believe(e->journal));
	fake_clock_refused = false;
	fake_synchronised = true;
	fake_mono_ahead_ms = 4000;
	assert_true(phx_journal_clock_believe(e->journal));
}

static void a_clock_that_is_synchronised_later_is_believed_then(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(5);
	fake_wall_ahead_ms = DAYS(100);
	assert_int_equal(start(), 0);
	fake_mono_ahead_ms = 2000;
	engine_tick(e, 10);
	is_near(engine_now(e), real_now());
	fake_synchronised = true;
	fake_mono_ahead_ms = 4000;
	engine_tick(e, 10);
	is_near(engine_now(e), real_now() + DAYS(100));
	assert_int_equal(times_told("it is believed again"), 1);
	happens(20);
	assert_int_equal(first(), 1);
}

static void a_clock_is_accepted_by_hand(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(5);
	fake_wall_ahead_ms = DAYS(100);
	config.accept_clock = true;
	assert_int_equal(start(), 0);
	happens(1);
	config.accept_clock = false;
	assert_int_equal(start(), 0);
	is_near(engine_now(e), real_now() + DAYS(100));
}

/* ---- what cannot be written ---- */

static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int add_one(const char *name)
{
	struct phx_event ev = {.kind = PHX_EV_node_add, .by = "test"};
	struct phx_mac *m = phx_list_push(&ev.node_add.macs, sizeof(*m));
	snprintf(m->mac, sizeof(m->mac), "02:00:00:00:ff:%02x", (unsigned char)name[0]);
	PHX_STR_SET(ev.node, name);
	phx_err_clear(&err);
	int r = engine_submit(e, &ev, NULL, &err);
	phx_event_fini(&ev);
	return r;
}

static bool knows(const char *name)
{
	bool found = phx_state_node(engine_lock(e), name) != NULL;
	engine_unlock(e);
	return found;
}

/* A command that is not on the disk was not given: nobody is told so, and nothing goes on from
 * it. */
static void what_is_not_written_was_not_done(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	happens(3);
	meddle("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no room is "
	       "left'); END");
	assert_int_equal(add_one("lost"), -EROFS);
	assert_non_null(strstr(err.text, "nothing was done, the journal cannot be written"));
	meddle("DROP TRIGGER full");
	fake_mono_ahead_ms += 5000;
	engine_tick(e, 10); /* it tries again after a while */
	assert_int_equal(add_one("kept"), 0);
	assert_true(knows("kept"));
	assert_int_equal(start(), 0);
	assert_true(knows("kept"));
	assert_false(knows("lost"));
}

/* A node with a BMC that is switched on: until WINDOW it may come with a new key. */
static void switched_on(const char *name)
{
	struct phx_event add = {.kind = PHX_EV_node_add, .by = "test"},
			 on = {.kind = PHX_EV_power, .by = "test", .order.op = PHX_POWER_ON};
	struct phx_mac *m = phx_list_push(&add.node_add.macs, sizeof(*m));
	PHX_STR_SET(add.node, name);
	PHX_STR_SET(on.node, name);
	PHX_STR_SET(m->mac, "02:00:00:00:ff:01");
	PHX_STR_SET(add.node_add.bmc.driver, "ipmi");
	PHX_STR_SET(add.node_add.bmc.address, "192.0.2.9");
	assert_int_equal(engine_submit(e, &add, NULL, &err), 0);
	assert_int_equal(engine_submit(e, &on, NULL, &err), 0);
	phx_event_fini(&add);
	phx_event_fini(&on);
}

/* A deadline that has passed stays so while the store refuses: the engine asks for its next turn
 * when the store is asked again, and not at once for ever. */
static void a_full_disk_makes_no_turns(void **state)
{
	enum { MOST_MS = 60000 };
	(void)state;
	assert_int_equal(start(), 0);
	switched_on("n1");
	assert_in_range(engine_tick(e, MOST_MS), 1000, MOST_MS);
	meddle("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no room is "
	       "left'); END");
	fake_mono_ahead_ms += 3600 * 1000;
	fake_wall_ahead_ms += 3600 * 1000;
	for (int turn = 0; turn < 3; turn++) {
		assert_in_range(engine_tick(e, MOST_MS), 1000, MOST_MS - 1);
		assert_true(engine_readonly(e, &err));
	}
	meddle("DROP TRIGGER full");
	fake_mono_ahead_ms += 5000;
	assert_in_range(engine_tick(e, MOST_MS), 1, 100); /* the tick is written now */
	assert_false(engine_readonly(e, &err));
	assert_int_equal(engine_tick(e, MOST_MS), MOST_MS);
}

/* A node is in a state that no event could bring it into: one tick fails, and is not tried again at
 * once for ever; the head serves on, and the next tick does what is due. */
static void a_node_that_cannot_be_helped_stops_nobody(void **state)
{
	enum { MOST_MS = 60000 };
	(void)state;
	assert_int_equal(start(), 0);
	happens(2);
	struct phx_state *s = (struct phx_state *)engine_lock(e);
	struct phx_node *n = phx_state_node(s, "n1");
	struct phx_step *step = phx_list_push(&n->plan.steps, sizeof(*step));
	*step = (struct phx_step){.kind = PHX_STEP_prefetch,
				  .status = PHX_STEP_ISSUED,
				  .deadline_ms = 1,
				  .attempt = 100};
	n->state = PHX_NODE_CLEANING;
	n->plan.from_state = PHX_NODE_NEW;
	phx_touch(s, n);
	phx_index_settle(s);
	engine_unlock(e);
	phx_journal_snapshot(e->journal);
	assert_in_range(engine_tick(e, MOST_MS), 1, 100);
	assert_int_equal(phx_journal_status(e->journal, NULL), 0);
	assert_int_equal(phx_state_node(engine_lock(e), "n1")->state, PHX_NODE_QUARANTINED);
	engine_unlock(e);
	happens(1);
	fake_mono_ahead_ms += 20;
	assert_in_range(engine_tick(e, MOST_MS), 1000, MOST_MS);
}

static void a_removed_journal_is_seen_without_a_command(void **state)
{
	struct phx_err why = {0};
	char away[128];
	(void)state;
	assert_int_equal(start(), 0);
	happens(1);
	snprintf(away, sizeof(away), "%s.away", path);
	assert_false(engine_readonly(e, &why));
	assert_int_equal(rename(path, away), 0);
	engine_tick(e, 10);
	assert_true(engine_readonly(e, &why));
	assert_non_null(strstr(why.text, "was removed while it was open"));
	assert_int_equal(rename(away, path), 0);
	fake_mono_ahead_ms += 5000;
	engine_tick(e, 10);
	assert_false(engine_readonly(e, &why));
}

/* ---- what leads to the state ---- */

/* One event that is missing is enough, and it is no other version that is to be started then. */
static void events_that_no_snapshot_leads_to_are_told(void **state)
{
	(void)state;
	config.snapshot_every = 1000;
	assert_int_equal(start(), 0);
	happens(1);
	config.accept_journal = true; /* from here on the chain says nothing of it */
	assert_int_equal(start(), 0);
	config.accept_journal = false;
	happens(5);
	engine_close(PHX_TAKE(e));
	meddle("DELETE FROM events WHERE seq=1; DELETE FROM snapshots");
	assert_int_equal(start(), -ENODATA);
	assert_non_null(strstr(
		err.text, "the journal begins with event 2, and no sound snapshot reaches there"));
}

/* ---- erase records ---- */

static void submit(struct phx_event *ev)
{
	if (engine_submit(e, ev, NULL, &err) < 0)
		fail_msg("%s", err.text);
	phx_event_fini(ev);
}

static void registers(const char *node, const char *disk)
{
	struct phx_event enrol = {.kind = PHX_EV_enrol, .enrol.key_fp = "key"};
	struct phx_event hello = {
		.kind = PHX_EV_hello,
		.hello = {.env = PHX_ENV_DEPLOY, .boot_id = "boot", .echoes = true}};
	struct phx_mac *m = phx_list_push(&enrol.enrol.macs, sizeof(*m));
	snprintf(m->mac, sizeof(m->mac), "02:00:00:00:00:01");
	submit(&enrol);
	PHX_STR_SET(hello.node, node);
	struct phx_disk_facts *d = phx_list_push(&hello.hello.facts.disks, sizeof(*d));
	PHX_STR_SET(d->id, disk);
	d->size_bytes = 4096;
	struct phx_nic_facts *nic = phx_list_push(&hello.hello.facts.nics, sizeof(*nic));
	snprintf(nic->mac, sizeof(nic->mac), "02:00:00:00:00:01");
	submit(&hello);
}

/* The agent has done the only step there is: it says of the disk that it was overwritten and read
 * back. */
static void erases(const char *node, const char *disk)
{
	struct phx_event ev = {
		.kind = PHX_EV_step_result,
		.answer = {
			.erased_bytes = 4096,
			.verified_bytes = 4096,
			.used = PHX_WIPE_OVERWRITE,
			.read_sha256 =
				"5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f",
			.image = "deploy 1",
			.image_sha256 = "its digest",
			.signer = "its key",
			.signature = "of its key",
			.setup.method = PHX_WIPE_OVERWRITE}};
	const struct phx_node *n = phx_state_node(engine_lock(e), node);
	const struct phx_step *step = phx_node_step(n);
	bool erase = step && step->kind == PHX_STEP_wipe;
	ev.answer.step_id = erase ? step->id : 0;
	ev.answer.nonce = erase ? step->nonce : 0;
	ev.answer.epoch = n->plan.epoch;
	engine_unlock(e);
	assert_true(erase);
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.answer.erased_disk, disk);
	submit(&ev);
}

static int is_signed(void *arg, const struct phx_store_erasure *erasure)
{
	PHX_AUTO_FREE char *pub = phx_path("%s/site.pub", dir);
	uint8_t sig[PHX_SIG_SIZE];
	int *n = arg;
	for (size_t i = 0; i < sizeof(sig); i++)
		assert_int_equal(sscanf(erasure->signature + 2 * i, "%2hhx", &sig[i]), 1);
	assert_int_equal(phx_verify(pub, erasure->record, strlen(erasure->record), sig, NULL), 0);
	assert_non_null(strstr(erasure->record, "serial-1"));
	++*n;
	return 0;
}

static void an_erase_leaves_a_signed_record(void **state)
{
	PHX_AUTO_FREE char *key = phx_path("%s/site.key", dir);
	struct phx_pki *pki = NULL;
	int n = 0;
	(void)state;
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, &err), 0);
	phx_pki_free(pki);
	config.signer = (struct phx_signer){.sign = fake_key_sign, .arg = key};
	assert_int_equal(start(), 0);
	happens(1);
	registers("n1", "serial-1");
	struct phx_event order = {
		.kind = PHX_EV_wipe,
		.node = "n1",
		.order = {.has_setup = true, .setup = {PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE, 0}}};
	submit(&order);
	erases("n1", "serial-1");
	assert_int_equal(phx_store_erasures(engine_store(e), "n1", is_signed, &n, &err), 0);
	assert_int_equal(n, 1);
}

/* The newest first: each names the one before it, and the erases of its own plan. */
static void is_attested(const char *text, char *follows)
{
	PHX_AUTO_FREE char *pub = phx_path("%s/attest.pub", dir);
	struct phx_attestation a, none = {0};
	char signature[PHX_ANCHOR_SIGNATURE_MAX], fp[PHX_FINGERPRINT_MAX];
	size_t n = strlen(text);
	assert_int_equal(phx_attestation_parse(text, n, &a, signature, &err), 0);
	assert_int_equal(a.until_ms - a.made_ms, DAYS(3));
	assert_int_equal(phx_pub_fingerprint(pub, fp, &err), 0);
	assert_string_equal(a.key, fp);
	assert_string_equal(engine_attest_key(e), fp);
	assert_int_equal(a.disks.n, 1);
	const struct phx_attested_disk *d = a.disks.items;
	assert_string_equal(d->id, "serial-1");
	assert_string_equal(d->said.read_sha256,
			    "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f");
	assert_int_equal(d->said.step_id, a.id);
	assert_true(d->nonce && d->nonce == d->said.nonce);
	/* the head's signature is right, and the node's is none */
	assert_int_equal(phx_attestation_verify(text, n, pub, NULL, a.made_ms, &none, &err),
			 -EKEYREJECTED);
	assert_non_null(strstr(err.text, "not signed with the node's key"));
	phx_err_clear(&err);
	char digest[PHX_SHA256_HEX];
	assert_int_equal(phx_attestation_digest(text, n, digest), 0);
	if (follows[0])
		assert_string_equal(follows, digest);
	snprintf(follows, PHX_SHA256_HEX, "%s", a.previous);
	phx_record_fini(&phx_attestation_record, &a);
}

static int copy_text(void *arg, const struct phx_store_attestation *row)
{
	struct phx_text *copy = phx_list_push(arg, sizeof(*copy));
	copy->text = strdup(row->text);
	return 0;
}

/* So many, at most; *follows: what the oldest of them names. */
static void are_attested(uint32_t limit, char *follows)
{
	struct phx_store_attestations of = {.node = "n1", .limit = limit};
	struct phx_list texts = {0};
	assert_int_equal(phx_store_attestations(engine_store(e), &of, copy_text, &texts, &err), 0);
	follows[0] = '\0';
	PHX_LIST_EACH(struct phx_text, copy, &texts) {
		is_attested(copy->text, follows);
		free(copy->text);
	}
	phx_list_fini(&texts);
}

static void is_erased(const char *node, const char *disk)
{
	struct phx_event order = {
		.kind = PHX_EV_wipe,
		.order = {.has_setup = true, .setup = {PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE, 0}}};
	PHX_STR_SET(order.node, node);
	submit(&order);
	erases(node, disk);
}

static void each_hand_over_is_attested_and_names_the_one_before(void **state)
{
	PHX_AUTO_FREE char *key = phx_path("%s/attest.key", dir),
			   *pub = phx_path("%s/attest.pub", dir),
			   *site = phx_path("%s/site.key", dir);
	struct phx_pki *pki = NULL;
	struct phx_event settings = {.kind = PHX_EV_settings};
	char follows[PHX_SHA256_HEX] = "";
	(void)state;
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, &err), 0);
	phx_pki_free(pki);
	config.signer = (struct phx_signer){.sign = fake_key_sign, .arg = site};
	config.attester = (struct phx_signer){.sign = fake_key_sign, .arg = key};
	config.attestation_days = 3;
	assert_int_equal(start(), 0);
	assert_int_equal(engine_attests(e, pub, &err), 0);
	settings.site.settings =
		(struct phx_settings){.missing_after_ms = 6000, .looks = true, .attests = true};
	submit(&settings);
	happens(1);
	registers("n1", "serial-1");
	for (int i = 0; i < 3; i++)
		is_erased("n1", "serial-1");
	are_attested(0, follows);
	assert_string_equal(follows, "");
	/* a start reads them, and goes on with the chain */
	assert_int_equal(start(), 0);
	assert_int_equal(engine_attests(e, pub, &err), 0);
	is_erased("n1", "serial-1");
	are_attested(2, follows);
	assert_int_equal(strlen(follows), PHX_SHA256_HEX - 1);
}

/* ---- incarnations ---- */

static void each_start_is_above_the_one_before(void **state)
{
	uint64_t last = 0;
	(void)state;
	for (int i = 0; i < 5; i++) {
		fake_wall_ahead_ms = i == 3 ? -DAYS(4000) : 0; /* a clock without a battery */
		assert_int_equal(start(), 0);
		uint64_t seq = engine_lock(e)->seq;
		engine_unlock(e);
		assert_int_equal(seq, (uint64_t)i); /* a start alone is no event */
		happens(1);
		const struct phx_state *s = engine_lock(e);
		assert_true(s->incarnation > last);
		assert_true(s->last_step_id >> 16 == s->incarnation && s->last_step_id < 1LL << 53);
		last = s->incarnation;
		engine_unlock(e);
	}
}

/* ---- any bit ---- */

static char *state_of(void)
{
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_state_record, engine_lock(e));
	engine_unlock(e);
	return phx_json_text(j);
}

static void a_flipped_bit_is_refused_or_changes_nothing(void **state)
{
	PHX_AUTO_FREE char *data = NULL;
	PHX_AUTO_FREE char *mark = phx_path("%s.mark", path);
	size_t n;
	uint32_t seed = 7, refused = 0;
	(void)state;
	config.keep_days = 0;
	assert_int_equal(start(), 0);
	happens(35);
	PHX_AUTO_FREE char *want = state_of();
	engine_close(PHX_TAKE(e));
	assert_int_equal(phx_file_read(path, FILE_SIZE_MAX, &data, &n, &err), 0);
	for (int i = 0; i < FLIPS; i++) {
		seed = seed * 1664525u + 1013904223u;
		size_t at = (seed >> 4) % n;
		char bit = (char)(1 << (seed >> 29));
		data[at] ^= bit;
		unlink(mark);
		assert_int_equal(phx_file_write(path, data, n, 0640, &err), 0);
		data[at] ^= bit;
		phx_err_clear(&err);
		int r = engine_open(&config, &e, &err);
		PHX_AUTO_FREE char *got = r == 0 ? state_of() : NULL;
		if (r == 0 && strcmp(got, want))
			fail_msg("byte %zu, bit 0x%02x: it starts with another state", at,
				 (unsigned char)bit);
		if (r < 0 && !err.text[0])
			fail_msg("byte %zu: nothing is said", at);
		refused += r < 0;
		engine_close(PHX_TAKE(e));
	}
	assert_true(refused > 0 && refused < FLIPS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_clock_a_year_ahead_is_not_believed),
		T(a_few_days_of_downtime_are_believed),
		T(a_synchronised_clock_is_believed_and_forgets_after_a_day),
		T(events_of_another_version_are_refused_with_advice),
		T(a_clock_that_cannot_be_asked_is_not_believed),
		T(a_clock_that_is_synchronised_later_is_believed_then),
		T(a_clock_is_accepted_by_hand),
		T(what_is_not_written_was_not_done),
		T(a_full_disk_makes_no_turns),
		T(a_node_that_cannot_be_helped_stops_nobody),
		T(a_removed_journal_is_seen_without_a_command),
		T(events_that_no_snapshot_leads_to_are_told),
		T(an_erase_leaves_a_signed_record),
		T(each_hand_over_is_attested_and_names_the_one_before),
		T(each_start_is_above_the_one_before),
		T(a_flipped_bit_is_refused_or_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
