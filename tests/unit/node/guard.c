/* Doors that close: the window for a new key, the waiting room of strangers, results that nobody
 * ordered, keys that are left over, machines that are not what they were. */
#include "unit/core/world.h"

static char buf[512];

static void tick_at(struct world *w, int64_t when)
{
	struct phx_event tick = {.kind = PHX_EV_tick};
	w->now = when;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
}

static void silent(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* ---- the window ---- */

static void the_window_closes_by_itself(void **state)
{
	struct world *w = *state;
	struct phx_event power = {.kind = PHX_EV_power};
	world_serving(w, "n1", "web", true);
	PHX_STR_SET(power.node, "n1");
	power.order.op = PHX_POWER_CYCLE;
	assert_int_equal(world_apply(w, &power, NULL), 0);
	assert_true(world_node(w, "n1")->window);
	silent(w, "n1");
	int64_t closes = phx_core_next_deadline(&w->s);
	assert_true(closes < w->now + 3600 * 1000);
	tick_at(w, closes);
	assert_false(world_node(w, "n1")->window);
	assert_int_equal(phx_core_next_deadline(&w->s), INT64_MAX);
	assert_int_equal(world_enrol(w, 1, "somebody"), PHX_ENROL_REFUSED);
}

/* A node that is resumed where it stands is not started by us: nothing is let in. */
static void a_resume_without_a_start_opens_no_window(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", false);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n1", NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_false(world_node(w, "n1")->window);
}

/* ---- strangers ---- */

static int stranger(struct world *w, unsigned i)
{
	struct phx_event ev = {.kind = PHX_EV_enrol};
	struct phx_mac *m = phx_list_push(&ev.enrol.macs, sizeof(*m));
	snprintf(m->mac, sizeof(m->mac), "02:00:00:00:%02x:%02x", i >> 8, i & 255);
	PHX_STR_SET(ev.enrol.key_fp, "made up");
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static void the_waiting_room_has_walls(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	unsigned i = 0;
	while (i < 2000 && stranger(w, i) == 0)
		i++;
	assert_int_equal(i, 1000);
	assert_int_equal(stranger(w, i), -EAGAIN);
	assert_non_null(strstr(w->err.text, "1000 unknown machines"));
	/* those who are known or announced come in all the same */
	world_ready(w, "n2", true);
	assert_int_equal(world_order(w, PHX_EV_node_remove, "n-020000000005", NULL), 0);
	assert_int_equal(stranger(w, i), 0);
}

static void a_machine_has_so_many_addresses(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_enrol};
	for (unsigned i = 0; i < 65; i++)
		world_event_mac(&ev.enrol.macs, i);
	PHX_STR_SET(ev.enrol.key_fp, "k");
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	ev.enrol.macs.n = 1;
	for (unsigned i = 0; i < 4; i++)
		world_event_mac(&ev.enrol.macs, 0); /* one address, five times */
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(world_node(w, "n-525400000000")->macs.n, 1);
}

static void the_same_certificate_again_is_no_event(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	uint64_t seq = w->s.seq;
	assert_int_equal(world_enrol(w, 1, "key-n1"), PHX_ENROL_CERTIFY);
	assert_int_equal(w->s.seq, seq);
}

/* ---- what is not ordered ---- */

static void a_step_that_was_not_ordered_cannot_be_done(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", false);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	world_run_to(w, "n1", PHX_STEP_destroy_key);
	silent(w, "n1");
	world_step(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	/* the key is gone; the step behind it waits for the node and was never told */
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_kexec);
	assert_int_equal(phx_node_step(n)->status, PHX_STEP_PENDING);
	assert_int_equal(world_result(w, "n1", 0, ""), -ESTALE);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_kexec);
}

/* An agent that says from the deploy initramfs that it serves is not believed, and what it changed
 * is an event. */
static void an_order_that_is_met_hides_no_change(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	world_serving(w, "n1", "ramweb", true);
	const struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.hello.boot_id, "another boot");
	PHX_STR_SET(ev.hello.actual_role, n->actual_role);
	PHX_STR_SET(ev.hello.actual_identity, n->actual_identity);
	world_facts(&ev.hello.facts, 1);
	uint64_t seq = w->s.seq;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(w->s.seq, seq + 1);
	assert_non_null(phx_node_step(world_node(w, "n1"))); /* it is brought there again */
}

/* A node that had to be brought up again to fetch packages and could not: it has what it had. */
static void a_repaired_step_that_fails_changes_nothing(void **state)
{
	struct world *w = *state;
	world_serving(w, "n2", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n2", "web"), 0);
	/* somebody pressed the button */
	assert_int_equal(world_hello(w, "n2", PHX_ENV_DEPLOY, true), 0);
	struct phx_node *n = world_node(w, "n2");
	for (int i = 0; i < 3; i++) {
		world_run_to(w, "n2", PHX_STEP_prefetch);
		assert_string_equal(n->pool, "batch");
		assert_string_equal(n->tenant_pool, "batch");
		assert_int_equal(world_result(w, "n2", -EKEYREJECTED, "wrong signature"), 0);
		if (!phx_node_step(n))
			break;
	}
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "compute");
}

/* ---- keys that are left over ---- */

static void a_rebuilt_disk_keeps_no_old_key(void **state)
{
	struct world *w = *state;
	char key[PHX_NAME_MAX];
	world_serving(w, "n1", "vault", true);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(key, n->disk_key_id);
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
	assert_string_equal(
		world_plan(w, "n1", buf, sizeof(buf)),
		"stop kexec destroy_key make_key image enter activate start health join");
	world_run_to(w, "n1", PHX_STEP_destroy_key);
	assert_string_equal(phx_node_step(n)->key_id, key);
	world_run(w, "n1");
	assert_string_not_equal(n->disk_key_id, key);
	assert_false(n->key_unread);
}

static void a_key_that_was_made_is_known_whatever_happens(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "vault"), 0);
	world_run_to(w, "n1", PHX_STEP_image);
	struct phx_node *n = world_node(w, "n1");
	assert_string_equal(n->disk_key_id, phx_node_step(n)->key_id);
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n1", NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key"));
}

static void memory_leaves_the_disks_key_where_it_is(void **state)
{
	struct world *w = *state;
	char key[PHX_NAME_MAX];
	world_serving(w, "n1", "vault", true);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(key, n->disk_key_id);
	assert_int_equal(world_assign_setup(w, "n1", "ramweb", PHX_SETUP_NOOP, 0), 0);
	world_run(w, "n1");
	assert_string_equal(n->disk_key_id, key);
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_window_closes_by_itself),
		WORLD_TEST(a_resume_without_a_start_opens_no_window),
		WORLD_TEST(the_waiting_room_has_walls),
		WORLD_TEST(a_machine_has_so_many_addresses),
		WORLD_TEST(the_same_certificate_again_is_no_event),
		WORLD_TEST(a_step_that_was_not_ordered_cannot_be_done),
		WORLD_TEST(an_order_that_is_met_hides_no_change),
		WORLD_TEST(a_repaired_step_that_fails_changes_nothing),
		WORLD_TEST(a_rebuilt_disk_keeps_no_old_key),
		WORLD_TEST(a_key_that_was_made_is_known_whatever_happens),
		WORLD_TEST(memory_leaves_the_disks_key_where_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
