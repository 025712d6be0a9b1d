/* The life of disk keys, against a model of the key store that does what the actions say: what is
 * out of reach loses its key at once and is read back when it returns; no key outlives the node or
 * the disk that it was of. */
#include "unit/core/world.h"

static char buf[512];

struct store {
	struct phx_list keys; /* struct phx_word */
	bool broken;
};

static struct phx_word *find(const struct store *s, const char *key_id)
{
	PHX_LIST_EACH(struct phx_word, word, &s->keys)
		if (!strcmp(word->text, key_id))
			return word;
	return NULL;
}

static void make(struct store *s, const char *key_id)
{
	if (find(s, key_id))
		return;
	struct phx_word *word = phx_list_push(&s->keys, sizeof(*word));
	PHX_STR_SET(word->text, key_id);
}

static void destroy(struct store *s, const char *key_id)
{
	struct phx_word *word = find(s, key_id);
	if (word)
		phx_list_remove(&s->keys, sizeof(*word),
				(uint32_t)(word - PHX_LIST_AT(&s->keys, struct phx_word, 0)));
}

/* Carry out what is outstanding, as the daemon does after a restart; answers with the result. */
static void serve_keys(struct world *w, struct store *s)
{
	struct phx_list todo = {0};
	assert_int_equal(phx_core_pending(&w->s, &todo), 0);
	PHX_LIST_EACH(struct phx_action, act, &todo) {
		if (act->kind != PHX_ACT_KEY_MAKE && act->kind != PHX_ACT_KEY_DESTROY)
			continue;
		if (act->kind == PHX_ACT_KEY_MAKE)
			make(s, act->key_id);
		else if (!s->broken)
			destroy(s, act->key_id);
		struct phx_event ev = {.kind = PHX_EV_key_result,
				       .answer = {.step_id = act->step_id, .epoch = act->epoch}};
		PHX_STR_SET(ev.node, act->node);
		PHX_STR_SET(ev.answer.name, act->step_id ? "" : act->key_id);
		ev.answer.result = s->broken ? -EIO : 0;
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	}
	phx_list_fini(&todo);
}

/* Steps until the node is idle, with keys kept in `s`. */
static void run(struct world *w, struct store *s, const char *node)
{
	for (int i = 0; i < 100; i++) {
		struct phx_step *step = phx_node_step(world_node(w, node));
		if (!step)
			return;
		bool key = phx_step_info((enum phx_step_kind)step->kind)->executor == PHX_EXEC_KEY;
		if (key && step->status == PHX_STEP_ISSUED)
			serve_keys(w, s);
		else
			world_step(w, node);
	}
	fail_msg("%s never comes to rest", node);
}

static void serve(struct world *w, struct store *s, const char *node, const char *role, bool bmc)
{
	world_ready(w, node, bmc);
	assert_int_equal(world_order(w, PHX_EV_assign, node, role), 0);
	run(w, s, node);
	assert_int_equal(world_node(w, node)->state, PHX_NODE_ACTIVE);
}

static void silent(struct world *w, const char *node)
{
	assert_int_equal(world_order(w, PHX_EV_missing, node, NULL), 0);
}

static int order_wipe(struct world *w, const char *node, int method)
{
	struct phx_event ev = {.kind = PHX_EV_wipe,
			       .order = {.has_setup = true, .setup = {PHX_SETUP_WIPE, method, 0}}};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static void tick_to(struct world *w, int64_t now)
{
	struct phx_event tick = {.kind = PHX_EV_tick};
	w->now = now;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
}

/* ---- out of reach ---- */

static void a_dead_node_without_bmc_loses_its_key_at_once(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	serve(w, &s, "n1", "vault", false);
	struct phx_node *n = world_node(w, "n1");
	silent(w, "n1");
	assert_int_equal(s.keys.n, 1);
	assert_int_equal(order_wipe(w, "n1", PHX_WIPE_OVERWRITE), -EHOSTUNREACH);
	assert_int_equal(order_wipe(w, "n1", PHX_WIPE_CRYPTO), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key");
	run(w, &s, "n1");
	assert_int_equal(s.keys.n, 0);
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_true(n->key_unread);
	assert_string_equal(n->reason, "key destroyed, unread");
	assert_true(n->dirty);
	/* again: it already is so, and there is no second record of it */
	uint64_t seq = w->s.seq;
	assert_int_equal(order_wipe(w, "n1", PHX_WIPE_CRYPTO), 0);
	assert_null(phx_node_step(n));
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), -EHOSTUNREACH);
	assert_false(phx_node_boots_local(&w->s, n));
	phx_list_fini(&s.keys);
}

/* A machine without a BMC that comes by itself may be its tenant's still: somebody starts it, and
 * it has the token of that. */
static void is_started_by_hand(struct world *w, const char *node)
{
	assert_int_equal(world_hello(w, node, PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_node(w, node)->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, node)->reason, "waits for a start by hand"));
	assert_true(world_node(w, node)->key_unread);
	silent(w, node);
	assert_int_equal(world_order(w, PHX_EV_resume, node, NULL), 0);
	world_new_key(w, node);
}

static void it_is_read_back_when_it_returns(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	serve(w, &s, "n1", "vault", false);
	struct phx_node *n = world_node(w, "n1");
	silent(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	run(w, &s, "n1");
	assert_true(n->key_unread);
	assert_true(n->owes_wipe);
	is_started_by_hand(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key wipe");
	run(w, &s, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->key_unread || n->dirty || n->owes_wipe);
	assert_string_equal(n->disk_key_id, "");
	assert_string_equal(n->reason, "");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
	phx_list_fini(&s.keys);
}

/* It was not dead, only out of hearing: what runs there is taken off before the disk is erased. */
static void it_was_only_silent(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	serve(w, &s, "n1", "vault", false);
	struct phx_node *n = world_node(w, "n1");
	silent(w, "n1");
	assert_int_equal(order_wipe(w, "n1", PHX_WIPE_AUTO), 0);
	run(w, &s, "n1");
	assert_int_equal(world_order(w, PHX_EV_back, "n1", NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "stop destroy_key kexec wipe");
	run(w, &s, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->key_unread);
	phx_list_fini(&s.keys);
}

static void a_disk_that_cannot_be_erased_keeps_it_quarantined(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	serve(w, &s, "n1", "vault", false);
	struct phx_node *n = world_node(w, "n1");
	silent(w, "n1");
	assert_int_equal(order_wipe(w, "n1", PHX_WIPE_CRYPTO), 0);
	run(w, &s, "n1");
	is_started_by_hand(w, "n1");
	struct phx_outcome out = {0};
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.hello.boot_id, "boot-returned");
	world_facts(&ev.hello.facts, 1);
	PHX_LIST_AT(&ev.hello.facts.disks, struct phx_disk_facts, 0)->read_only = true;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	phx_event_fini(&ev);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_true(n->key_unread);
	bool said = false;
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		said = said || (act->kind == PHX_ACT_NOTE && strstr(act->text, "read-only"));
	assert_true(said);
	phx_outcome_fini(&out);
	phx_list_fini(&s.keys);
}

static void rules_leave_the_unread_alone(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	struct phx_event settings = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	struct phx_event rules = {.kind = PHX_EV_rules_put};
	struct phx_event bmc = {
		.kind = PHX_EV_node_bmc, .node = "n1", .node_bmc.bmc.driver = "ipmi"};
	serve(w, &s, "n1", "vault", false);
	silent(w, "n1");
	struct phx_rule *rule = phx_list_push(&rules.rules_put.rules, sizeof(*rule));
	PHX_STR_SET(rule->role, "web");
	settings.site.settings.auto_assign = true;
	assert_int_equal(world_apply(w, &settings, NULL), 0);
	assert_int_equal(world_apply(w, &rules, NULL), 0);
	assert_int_equal(order_wipe(w, "n1", PHX_WIPE_CRYPTO), 0);
	run(w, &s, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	/* nor when it could be started, and the rules are given anew */
	assert_int_equal(world_apply(w, &bmc, NULL), 0);
	rule->line++;
	assert_int_equal(world_apply(w, &rules, NULL), 0);
	assert_null(phx_node_step(world_node(w, "n1")));
	phx_event_fini(&rules);
	/* read back first, then given its role */
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
	run(w, &s, "n1");
	assert_string_equal(world_node(w, "n1")->role, "web");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	phx_list_fini(&s.keys);
}

/* ---- nothing is left over ---- */

static void a_rebuild_leaves_one_key(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	serve(w, &s, "n1", "vault", true);
	struct phx_node *n = world_node(w, "n1");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
		run(w, &s, "n1");
		assert_int_equal(n->state, PHX_NODE_ACTIVE);
		assert_int_equal(s.keys.n, 1);
		assert_non_null(find(&s, n->disk_key_id));
	}
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	run(w, &s, "n1");
	assert_int_equal(s.keys.n, 0);
	phx_list_fini(&s.keys);
}

/* The key was made, the answer lost, the plan given up: nobody knows of it but the step. */
static void a_key_whose_making_was_given_up_goes(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "vault"), 0);
	world_run_to(w, "n1", PHX_STEP_make_key);
	struct phx_node *n = world_node(w, "n1");
	make(&s, phx_node_step(n)->key_id);
	for (int i = 0; i < 20 && phx_node_step(n); i++)
		tick_to(w, phx_core_next_deadline(&w->s));
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_string_equal(n->disk_key_id, "");
	assert_int_equal(s.keys.n, 1);
	serve_keys(w, &s);
	assert_int_equal(s.keys.n, 0);
	assert_int_equal(w->s.doomed_keys.n, 0);
	phx_list_fini(&s.keys);
}

static void a_key_of_a_removed_node_goes_whatever_happens_to_the_head(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	serve(w, &s, "n1", "vault", true);
	struct phx_event ev = {.kind = PHX_EV_node_remove, .order.force = true};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	/* the head died before it did it: after the restart it is asked for again */
	assert_int_equal(w->s.doomed_keys.n, 1);
	s.broken = true;
	serve_keys(w, &s);
	assert_int_equal(w->s.doomed_keys.n, 1);
	/* nothing answers: asked for again in time */
	struct phx_event tick = {.kind = PHX_EV_tick};
	struct phx_outcome out = {0};
	w->now = phx_core_next_deadline(&w->s);
	assert_int_equal(world_apply(w, &tick, &out), 0);
	unsigned told = 0;
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		told += act->kind == PHX_ACT_KEY_DESTROY && !act->step_id;
	phx_outcome_fini(&out);
	assert_int_equal(told, 1);
	s.broken = false;
	serve_keys(w, &s);
	assert_int_equal(s.keys.n, 0);
	assert_int_equal(w->s.doomed_keys.n, 0);
	struct phx_event late = {.kind = PHX_EV_key_result};
	PHX_STR_SET(late.answer.name, "n1-1");
	assert_int_equal(world_apply(w, &late, NULL), -ESTALE);
	phx_list_fini(&s.keys);
}

/* ---- an agreement that erases by crypto ---- */

static void a_plain_node_enters_an_encrypted_pool(void **state)
{
	struct world *w = *state;
	struct store s = {0};
	world_add_pool(w, "safe", "uni",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_CRYPTO, PHX_WHEN_BOTH,
					  PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
	world_add_role(w, "safe", "safe", false, PHX_ROLE_BOOT_DISK);
	serve(w, &s, "n1", "web", true);
	struct phx_node *n = world_node(w, "n1");
	assert_string_equal(n->disk_key_id, "");
	assert_int_equal(world_assign_setup(w, "n1", "safe", PHX_SETUP_WIPE, PHX_WIPE_CRYPTO),
			 -EOPNOTSUPP);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "safe"), 0);
	assert_non_null(strstr(n->plan.reason, "encrypted from now on"));
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(phx_node_step(n)->method, PHX_WIPE_DISCARD);
	run(w, &s, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_not_equal(n->disk_key_id, "");
	assert_false(n->plain);
	assert_int_equal(s.keys.n, 1);
	/* from now on the agreement's method is what is done */
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	assert_int_equal(PHX_LIST_AT(&n->plan.steps, struct phx_step, n->plan.steps.n - 1)->method,
			 PHX_WIPE_CRYPTO);
	assert_null(strstr(n->plan.reason, "plain"));
	run(w, &s, "n1");
	assert_int_equal(s.keys.n, 0);
	phx_list_fini(&s.keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_dead_node_without_bmc_loses_its_key_at_once),
		WORLD_TEST(it_is_read_back_when_it_returns),
		WORLD_TEST(it_was_only_silent),
		WORLD_TEST(a_disk_that_cannot_be_erased_keeps_it_quarantined),
		WORLD_TEST(rules_leave_the_unread_alone),
		WORLD_TEST(a_rebuild_leaves_one_key),
		WORLD_TEST(a_key_whose_making_was_given_up_goes),
		WORLD_TEST(a_key_of_a_removed_node_goes_whatever_happens_to_the_head),
		WORLD_TEST(a_plain_node_enters_an_encrypted_pool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
