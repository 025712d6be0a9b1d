/* Whose data is on a node: an erase that an agreement wants is put off inside one owner only, never
 * forgotten; a key covers what was written under it and nothing else; names and keys of removed
 * nodes do not come back. */
#include "unit/core/world.h"

static char buf[512];

static int release(struct world *w, const char *node)
{
	return world_order(w, PHX_EV_release, node, NULL);
}

static void put_off_is_not_forgotten(void **state)
{
	struct world *w = *state;
	world_add_pool(w, "lab", "uni", (struct phx_setup){0});
	world_add_role(w, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
	world_serving(w, "n1", "vault", true);
	/* vault and web have one owner: its own order may leave the data there */
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_NOOP, 0), 0);
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_string_equal(n->pool, "web");
	assert_true(n->owes_wipe);
	/* web's agreement says noop, vault's does not: nobody else gets it unerased, and the free
	 * pool is nobody's */
	assert_int_equal(world_assign_setup(w, "n1", "lab", PHX_SETUP_NOOP, 0), -EPERM);
	assert_int_equal(release(w, "n1"), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
	world_run(w, "n1");
	assert_false(n->owes_wipe);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	assert_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
}

/* What was written before the disk was encrypted, its key's end does not erase. */
static void a_key_covers_only_what_it_encrypted(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	struct phx_event ev = {.kind = PHX_EV_assign, .order.encrypt = true};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.order.role, "compute");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_string_not_equal(n->disk_key_id, "");
	assert_true(n->plain);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(phx_node_step(n)->method, PHX_WIPE_DISCARD);
	world_run(w, "n1");
	world_serving(w, "n2", "vault", true);
	assert_false(world_node(w, "n2")->plain);
}

/* An agreement that changes under way: the node stops in front of the new owner's door. */
static void an_agreement_that_changes_under_way_holds(void **state)
{
	struct world *w = *state;
	world_add_pool(w, "lab", "uni", (struct phx_setup){0});
	world_add_role(w, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	world_add_pool(w, "lab", "uni",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_ASSIGN,
					  PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_string_equal(n->tenant, "hpc");
	assert_non_null(strstr(n->reason, "erased"));
}

static int pass_pool(struct world *w, const char *pool, const char *owner)
{
	struct phx_event ev = {.kind = PHX_EV_pool_put,
			       .pool.pool_put = *phx_state_pool(&w->s, pool)};
	PHX_STR_SET(ev.pool.pool_put.owner, owner);
	return world_apply(w, &ev, NULL);
}

static void a_pool_does_not_change_hands_with_its_nodes(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(pass_pool(w, "web", "uni"), -EBUSY);
	assert_non_null(strstr(w->err.text, "n1"));
	assert_int_equal(release(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(pass_pool(w, "web", "uni"), -EBUSY); /* its data is on n1 still */
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(pass_pool(w, "web", "uni"), 0);
}

static int forget(struct world *w, const char *node, bool force, struct phx_outcome *out)
{
	struct phx_event ev = {.kind = PHX_EV_node_remove, .order.force = force};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, out);
}

static void whose_data_it_holds_is_not_forgotten(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(release(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_int_equal(forget(w, "n1", false, NULL), -EPERM);
	assert_non_null(strstr(w->err.text, "data of hpc"));
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(forget(w, "n1", false, NULL), 0);
}

static void keys_and_epochs_of_a_removed_node_do_not_come_back(void **state)
{
	struct world *w = *state;
	char key[PHX_NAME_MAX];
	struct phx_outcome out = {0};
	world_serving(w, "n1", "vault", true);
	PHX_STR_SET(key, world_node(w, "n1")->disk_key_id);
	uint64_t epoch = world_node(w, "n1")->epoch;
	assert_int_equal(forget(w, "n1", true, &out), 0);
	unsigned destroyed = 0;
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		destroyed += act->kind == PHX_ACT_KEY_DESTROY && !strcmp(act->key_id, key);
	assert_int_equal(destroyed, 1);
	phx_outcome_fini(&out);
	world_serving(w, "n1", "vault", true);
	assert_string_not_equal(world_node(w, "n1")->disk_key_id, key);
	assert_true(world_node(w, "n1")->epoch > epoch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(put_off_is_not_forgotten),
		WORLD_TEST(a_key_covers_only_what_it_encrypted),
		WORLD_TEST(an_agreement_that_changes_under_way_holds),
		WORLD_TEST(a_pool_does_not_change_hands_with_its_nodes),
		WORLD_TEST(whose_data_it_holds_is_not_forgotten),
		WORLD_TEST(keys_and_epochs_of_a_removed_node_do_not_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
