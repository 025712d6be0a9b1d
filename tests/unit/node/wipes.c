/* The disks of a node that are erased: what the outgoing tenant says of them counts for nothing,
 * what the deploy environment sees and what was ever seen before counts. */
#include "types/readback.h"
#include "unit/core/world.h"

/* The second disk of n1, as it shows itself. */
static struct {
	bool in_os, in_deploy;
	bool removable, read_only, secure;
	uint64_t size_bytes, hidden_bytes;
} second;

static void more(struct phx_facts *f, int env)
{
	if (env == PHX_ENV_OS ? !second.in_os : !second.in_deploy)
		return;
	struct phx_disk_facts *d = phx_list_push(&f->disks, sizeof(*d));
	PHX_STR_SET(d->id, "wwn-0x5000c500a1b2c3d4");
	d->size_bytes = second.size_bytes;
	d->hidden_bytes = second.hidden_bytes;
	d->removable = second.removable;
	d->read_only = second.read_only;
	d->can_ata_secure_erase = second.secure;
}

static int setup(void **state)
{
	int r = world_setup(state);
	((struct world *)*state)->more_facts = more;
	memset(&second, 0, sizeof(second));
	second.in_os = second.in_deploy = true;
	second.size_bytes = 4ULL << 30;
	return r;
}

static int report(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_inventory};
	PHX_STR_SET(ev.node, node);
	world_facts(&ev.inventory.facts, world_index(node));
	more(&ev.inventory.facts, world_node(w, node)->env);
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static uint32_t erased(const struct world *w)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_word, word, &w->done)
		n += !strcmp(word->text, "n1 wipe");
	return n;
}

/* The tenant has n1, and it is taken back and erased. */
static struct phx_node *taken_back(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_release,
			       .order = {.has_setup = true, .setup = {.mode = PHX_SETUP_WIPE}}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run(w, "n1");
	return world_node(w, "n1");
}

static void a_disk_that_the_tenant_hid_is_erased(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	second.in_os = false;
	assert_int_equal(report(w, "n1"), 0);
	const struct phx_node *n = taken_back(w);
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
	assert_false(n->dirty);
}

/* A plan of the tenant's report alone would have made it ready. */
static void a_disk_that_is_not_there_quarantines(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	second.in_os = second.in_deploy = false;
	assert_int_equal(report(w, "n1"), 0);
	const struct phx_node *n = taken_back(w);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(
		strstr(n->reason, "wwn-0x5000c500a1b2c3d4 (4294967296 bytes) is not there"));
	assert_non_null(strstr(n->reason, "phx node forget-disk"));
	assert_int_equal(erased(w), 0);
	assert_true(n->dirty);
}

/* A system in memory that says that the machine has no disk at all keeps nobody from taking it. */
static void a_tenant_without_disks_is_taken_back(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	struct phx_node *n = world_node(w, "n1");
	phx_list_fini(&n->facts.disks);
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* It waits in the deploy environment, and no step of its cleaning has begun: it goes off all the
 * same, for what it holds must not come up by itself. */
static void a_node_that_misses_a_disk_goes_off(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_wipe};
	w->s.settings.power_off_quarantined = true;
	world_ready(w, "n1", true);
	second.in_deploy = false;
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_true(n->off_wanted);
}

/* Two tenants later it is looked for, too. */
static void it_stays_known_from_tenant_to_tenant(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	second.in_os = second.in_deploy = false;
	assert_int_equal(report(w, "n1"), 0);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_int_equal(taken_back(w)->state, PHX_NODE_QUARANTINED);
}

static int forget(struct world *w, const char *disk)
{
	struct phx_event ev = {.kind = PHX_EV_disk_forget};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.text, disk);
	PHX_STR_SET(ev.by, "uid:0");
	return world_apply(w, &ev, NULL);
}

static void a_disk_that_was_taken_out_is_forgotten(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(forget(w, "wwn-0x5000c500a1b2c3d4"), -EBUSY);
	assert_int_equal(forget(w, "wwn-0x1"), -ENOENT);
	assert_int_equal(forget(w, ""), -ENOENT);
	second.in_os = second.in_deploy = false;
	assert_int_equal(report(w, "n1"), 0);
	const struct phx_node *n = taken_back(w);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_int_equal(forget(w, "wwn-0x5000c500a1b2c3d4"), 0);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_int_equal(forget(w, "wwn-0x5000c500a1b2c3d4"), -ENOENT);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 1);
	/* it comes back: it is known again, and erased as all are */
	second.in_os = second.in_deploy = true;
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(n->known_disks.n, 2);
}

static void a_disk_that_calls_itself_removable_is_erased(void **state)
{
	struct world *w = *state;
	second.removable = true;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(taken_back(w)->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

static void a_disk_that_became_read_only_quarantines(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	second.in_os = false;
	second.read_only = true;
	assert_int_equal(report(w, "n1"), 0);
	const struct phx_node *n = taken_back(w);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "is read-only"));
}

/* What it hides counts to its size; what is gone of it is looked for. */
static void a_disk_that_became_smaller_quarantines(void **state)
{
	struct world *w = *state;
	second.size_bytes = 8ULL << 30;
	world_serving(w, "n1", "guest", true);
	second.size_bytes = 4ULL << 30;
	second.hidden_bytes = 4ULL << 30;
	assert_int_equal(report(w, "n1"), 0);
	second.hidden_bytes--;
	const struct phx_node *n = taken_back(w);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "has 8589934591 bytes, and had 8589934592"));
	/* an administrator knows why */
	assert_int_equal(forget(w, "wwn-0x5000c500a1b2c3d4"), 0);
	second.hidden_bytes = 0;
	assert_int_equal(forget(w, "wwn-0x5000c500a1b2c3d4"), -EBUSY);
}

/* Brought back while the others are erased: it is seen before the node is ready. */
static void a_disk_that_turns_up_late_is_erased(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	second.in_deploy = true;
	assert_int_equal(report(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* The key of the first is gone when it is the turn of the second, which never had one. */
static void a_plain_disk_beside_an_encrypted_one_is_erased(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_wipe, .order.setup.method = PHX_WIPE_CRYPTO};
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "vault"), 0);
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_true(n->disk_key_id[0]);
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(erased(w), 2);
}

/* Nothing is learned of disks of which two call themselves the same: not how large either is. */
static void a_report_of_twins_teaches_nothing(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_hello, .hello = {.env = PHX_ENV_DEPLOY}};
	second.in_os = second.in_deploy = false;
	world_ready(w, "n1", true);
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.hello.boot_id, "another");
	world_facts(&ev.hello.facts, 1);
	struct phx_disk_facts *twin = phx_list_push(&ev.hello.facts.disks, sizeof(*twin));
	PHX_STR_SET(twin->id, "serial-disk1");
	twin->size_bytes = 8ULL << 30;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->known_disks.n, 1);
	assert_int_equal(PHX_LIST_AT(&n->known_disks, struct phx_known_disk, 0)->size_bytes,
			 4ULL << 30);
}

/* ---- what an answer must say ---- */

static const char *refused_as(struct world *w, struct phx_event *ev)
{
	assert_int_equal(world_apply(w, ev, NULL), 0);
	const struct phx_step *step = phx_node_step(world_node(w, "n1"));
	assert_non_null(step);
	assert_int_equal(step->status, PHX_STEP_PENDING);
	return step->error;
}

static void to_its_wipe(struct world *w, enum phx_wipe_method method)
{
	struct phx_event ev = {
		.kind = PHX_EV_release,
		.order = {.has_setup = true, .setup = {.mode = PHX_SETUP_WIPE, .method = method}}};
	world_serving(w, "n1", "guest", true);
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
}

static void an_answer_says_what_was_read_and_of_how_much(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	to_its_wipe(w, PHX_WIPE_OVERWRITE);
	struct phx_event ev = world_erased(world_node(w, "n1"));
	ev.answer.read_sha256[0] = '\0';
	assert_non_null(strstr(refused_as(w, &ev), "does not say what it read back"));
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev = world_erased(world_node(w, "n1"));
	ev.answer.erased_bytes--;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, "less than the whole disk"));
}

/* Only a method that the plan chose may be followed by another, and then it is told. */
static void auto_prefers_the_drive_s_own_erase(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	second.secure = true;
	to_its_wipe(w, PHX_WIPE_AUTO);
	struct phx_node *n = world_node(w, "n1");
	if (strcmp(phx_node_step(n)->disk, "wwn-0x5000c500a1b2c3d4"))
		world_step(w, "n1");
	world_run_to(w, "n1", PHX_STEP_wipe);
	const struct phx_step *step = phx_node_step(n);
	assert_string_equal(step->disk, "wwn-0x5000c500a1b2c3d4");
	assert_int_equal(step->method, PHX_WIPE_SECURE_ERASE);
	assert_true(step->or_less);
	struct phx_event ev = world_erased(world_node(w, "n1"));
	ev.answer.used = PHX_WIPE_CRYPTO;
	assert_non_null(strstr(refused_as(w, &ev), "another method"));
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev = world_erased(world_node(w, "n1"));
	ev.answer.used = PHX_WIPE_OVERWRITE;
	PHX_STR_SET(ev.answer.tried, "secure-erase: it lied");
	PHX_STR_SET(ev.answer.hidden, "host protected area of 5 bytes");
	ev.answer.places = 77;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	const struct phx_action *record = NULL;
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		if (act->kind == PHX_ACT_ERASED)
			record = act;
	assert_non_null(record);
	assert_int_equal(record->method, PHX_WIPE_SECURE_ERASE);
	assert_int_equal(record->used, PHX_WIPE_OVERWRITE);
	assert_int_equal(record->places, 77);
	assert_string_equal(record->read_sha256, "sum");
	assert_string_equal(record->tried, "secure-erase: it lied");
	assert_string_equal(record->hidden, "host protected area of 5 bytes");
	assert_string_equal(record->from_owner, "other");
	assert_string_equal(record->to_owner, "");
	phx_outcome_fini(&out);
	assert_int_equal(n->state, PHX_NODE_READY);
}

/* ---- how much is read back ---- */

static const struct phx_step *wipe_step(struct world *w)
{
	world_run_to(w, "n1", PHX_STEP_wipe);
	return phx_node_step(world_node(w, "n1"));
}

/* What the agent read back of the node's first disk, of the size that it is. */
static const char *told_after_reading(struct world *w, uint64_t bytes)
{
	struct phx_event ev = world_erased(world_node(w, "n1"));
	ev.answer.verified_bytes = bytes;
	return refused_as(w, &ev);
}

static void less_than_the_places_is_no_erase(void **state)
{
	struct world *w = *state;
	uint64_t least = phx_readback_least(4ULL << 30, PHX_WIPE_OVERWRITE, PHX_VERIFY_SAMPLE);
	second.in_os = second.in_deploy = false;
	to_its_wipe(w, PHX_WIPE_OVERWRITE);
	assert_non_null(strstr(told_after_reading(w, least - 1), "less of the disk was read back"));
	world_run_to(w, "n1", PHX_STEP_wipe);
	struct phx_event ev = world_erased(world_node(w, "n1"));
	ev.answer.verified_bytes = least;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void one_byte_less_than_all_is_not_all(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	second.in_os = second.in_deploy = false;
	world_serving(w, "n1", "guest", true);
	struct phx_event ev = {.kind = PHX_EV_release,
			       .order = {.has_setup = true,
					 .setup = {.mode = PHX_SETUP_WIPE,
						   .method = PHX_WIPE_OVERWRITE,
						   .verify = PHX_VERIFY_FULL}}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_non_null(strstr(told_after_reading(w, (4ULL << 30) - 1),
			       "the whole disk was to be read back"));
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev = world_erased(world_node(w, "n1"));
	ev.answer.verified_bytes = 4ULL << 30;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	/* and who reads the record knows that all was to be read */
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		assert_true(act->kind != PHX_ACT_ERASED || act->verify == PHX_VERIFY_FULL);
	phx_outcome_fini(&out);
}

static void of_an_encrypted_disk_its_headers_are_read(void **state)
{
	struct world *w = *state;
	uint64_t least = phx_readback_least(4ULL << 30, PHX_WIPE_CRYPTO, PHX_VERIFY_FULL);
	second.in_os = second.in_deploy = false;
	to_its_wipe(w, PHX_WIPE_OVERWRITE);
	struct phx_step *step = phx_node_step(world_node(w, "n1"));
	step->method = PHX_WIPE_CRYPTO;
	step->verify = PHX_VERIFY_FULL;
	assert_non_null(told_after_reading(w, least - 1));
	world_run_to(w, "n1", PHX_STEP_wipe);
	struct phx_event ev = world_erased(world_node(w, "n1"));
	ev.answer.verified_bytes = least;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void all_is_read_back_where_a_pool_or_an_order_wants_it(void **state)
{
	struct world *w = *state;
	second.in_os = second.in_deploy = false;
	world_add_pool(w, "guest", "other",
		       (struct phx_setup){.mode = PHX_SETUP_WIPE,
					  .when = PHX_WHEN_BOTH,
					  .verify = PHX_VERIFY_FULL});
	world_serving(w, "n1", "guest", true);
	/* an order asks for no less than the agreement */
	struct phx_event ev = {.kind = PHX_EV_release,
			       .order = {.has_setup = true, .setup = {.mode = PHX_SETUP_WIPE}}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	const struct phx_step *step = wipe_step(w);
	assert_int_equal(step->verify, PHX_VERIFY_FULL);
	/* 4 GiB are written and read in 32 MiB a second: twice 128 s more than ever */
	assert_int_equal(step->deadline_ms - step->issued_ms, (7200 + 256) * 1000);
	world_run(w, "n1");
	ev = (struct phx_event){.kind = PHX_EV_wipe};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(wipe_step(w)->verify, PHX_VERIFY_SAMPLE);
	world_run(w, "n1");
	ev.order.setup.verify = PHX_VERIFY_FULL;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(wipe_step(w)->verify, PHX_VERIFY_FULL);
}

/* ---- journals of before ---- */

static void a_journal_of_before_is_decided_as_it_was(void **state)
{
	struct world *w = *state;
	w->s.settings.looks = w->s.settings.measures = false;
	second.removable = second.secure = true;
	world_serving(w, "n1", "guest", true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->known_disks.n, 0);
	second.in_deploy = false;
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(phx_node_step(n)->method, PHX_WIPE_DISCARD);
	struct phx_event ev = world_erased(world_node(w, "n1"));
	ev.answer.read_sha256[0] = '\0';
	ev.answer.used = PHX_WIPE_AUTO;
	ev.answer.erased_bytes = 4096;
	ev.answer.verified_bytes = 1;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(n->state, PHX_NODE_READY);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_disk_that_the_tenant_hid_is_erased),
		T(a_disk_that_is_not_there_quarantines),
		T(a_tenant_without_disks_is_taken_back),
		T(a_node_that_misses_a_disk_goes_off),
		T(it_stays_known_from_tenant_to_tenant),
		T(a_disk_that_was_taken_out_is_forgotten),
		T(a_disk_that_calls_itself_removable_is_erased),
		T(a_disk_that_became_read_only_quarantines),
		T(a_disk_that_became_smaller_quarantines),
		T(a_disk_that_turns_up_late_is_erased),
		T(a_plain_disk_beside_an_encrypted_one_is_erased),
		T(a_report_of_twins_teaches_nothing),
		T(an_answer_says_what_was_read_and_of_how_much),
		T(auto_prefers_the_drive_s_own_erase),
		T(less_than_the_places_is_no_erase),
		T(one_byte_less_than_all_is_not_all),
		T(of_an_encrypted_disk_its_headers_are_read),
		T(all_is_read_back_where_a_pool_or_an_order_wants_it),
		T(a_journal_of_before_is_decided_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
