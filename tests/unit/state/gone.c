/* Removed nodes, whose places in the list are kept until one of sixteen is such: no reader sees
 * them, no record has them, and whatever happens ends as it does in a list without gaps. */
#include "unit/core/kinds.h"

#include "base/json.h"
#include "state/index.h"

enum { MANY = 100, MAY_BE_GONE = 4 + MANY / 16 };

static void removed(struct world *w, uint32_t number)
{
	char name[16];
	snprintf(name, sizeof(name), "n%u", number);
	assert_int_equal(world_order(w, PHX_EV_node_remove, name, NULL), 0);
	assert_null(phx_state_node(&w->s, name));
	assert_null(phx_state_node_numbered(&w->s, number));
}

static char *text_of(const struct phx_state *s)
{
	char *text = phx_json_record_text(&phx_state_record, s);
	assert_non_null(text);
	return text;
}

static void no_reader_finds_it(void **state)
{
	struct world *w = *state;
	many_ready(w, MANY);
	removed(w, 10);
	removed(w, 1);
	removed(w, MANY);
	assert_int_equal(w->s.nodes.n, MANY);
	assert_int_equal(phx_nodes_count(&w->s), MANY - 3);
	assert_int_equal(phx_nodes_next(&w->s, 0)->number, 2);
	assert_int_equal(phx_nodes_next(&w->s, 9)->number, 11);
	assert_null(phx_nodes_next(&w->s, MANY - 1));
	assert_int_equal(phx_state_node_numbered(&w->s, 11)->number, 11);
	uint32_t before = 0, n = 0;
	PHX_NODES_EACH(node, &w->s) {
		assert_true(node->number > before && node->name[0]);
		before = node->number;
		n++;
	}
	assert_int_equal(n, MANY - 3);
	/* nor by an index that is made of the list with its gaps, or by none */
	for (int i = 0; i < 2; i++) {
		assert_null(phx_state_node(&w->s, ""));
		assert_int_equal(phx_state_check(&w->s, &w->err), 0);
		phx_index_drop(&w->s);
		assert_null(phx_state_node(&w->s, ""));
		assert_int_equal(phx_core_ready(&w->s), 0);
	}
}

static void no_record_has_it(void **state)
{
	struct world *w = *state;
	struct phx_state copy, back = {0};
	many_ready(w, MANY);
	removed(w, 10);
	removed(w, 11);
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_int_equal(copy.nodes.n, MANY - 2);
	assert_true(phx_record_equal(&phx_state_record, &copy, &w->s));
	assert_true(phx_record_equal(&phx_state_record, &w->s, &copy));
	PHX_AUTO_FREE char *has = text_of(&w->s), *should = text_of(&copy);
	assert_string_equal(has, should);
	assert_int_equal(phx_json_text_to_record(&phx_state_record, has, &back, &w->err), 0);
	assert_int_equal(back.nodes.n, MANY - 2);
	phx_state_fini(&back);
	/* a list that is longer only by nodes is another */
	removed(w, 12);
	assert_false(phx_record_equal(&phx_state_record, &copy, &w->s));
	assert_false(phx_record_equal(&phx_state_record, &w->s, &copy));
	phx_state_fini(&copy);
}

/* Of a list all of whose nodes are gone, too. */
static void an_empty_list_is_not_written(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	removed(w, 1);
	assert_int_equal(w->s.nodes.n, 1);
	PHX_AUTO_FREE char *least = phx_json_record_text_least(&phx_state_record, &w->s);
	assert_null(strstr(least, "\"nodes\":"));
}

static void the_list_closes_up_once_many_are_gone(void **state)
{
	struct world *w = *state;
	many_ready(w, MANY);
	for (uint32_t i = 1; i <= MAY_BE_GONE; i++) {
		removed(w, 2 * i);
		assert_int_equal(w->s.nodes.n, MANY);
	}
	removed(w, 2 * (MAY_BE_GONE + 1));
	assert_int_equal(w->s.nodes.n, MANY - MAY_BE_GONE - 1);
	assert_int_equal(w->s.n_gone, 0);
	assert_int_equal(world_node(w, "n100")->number, 100);
	assert_int_equal(phx_index_place(&w->s, world_node(w, "n3")), 1);
	assert_int_equal(phx_state_check(&w->s, &w->err), 0);
}

static bool does_the_same(const struct phx_outcome *a, const struct phx_outcome *b)
{
	bool same = a->actions.n == b->actions.n && a->changed == b->changed;
	for (uint32_t i = 0; same && i < a->actions.n; i++)
		same = phx_record_equal(&phx_action_record,
					PHX_LIST_AT(&a->actions, struct phx_action, i),
					PHX_LIST_AT(&b->actions, struct phx_action, i));
	return same;
}

/* To the world's state, and to a copy without the gaps. */
static int apply_to_both(struct world *w, const struct phx_event *ev, struct phx_outcome *out)
{
	struct phx_outcome other = {0};
	struct phx_state twin;
	struct phx_err err = {0};
	assert_int_equal(phx_record_copy(&phx_state_record, &twin, &w->s), 0);
	assert_int_equal(twin.nodes.n, phx_nodes_count(&w->s));
	int r = phx_core_apply(&w->s, ev, out, &w->err);
	int should = phx_core_apply(&twin, ev, &other, &err);
	assert_int_equal(r, should);
	if (!does_the_same(out, &other) || !phx_record_equal(&phx_state_record, &w->s, &twin))
		fail_msg("%s: a list with gaps leads to something else",
			 phx_enum_name(&phx_event_kind_names, ev->kind));
	phx_outcome_fini(&other);
	phx_state_fini(&twin);
	return r;
}

/* Each kind of event, where some nodes are gone, and where they never were. */
static void all_happens_as_without_gaps(void **state)
{
	struct world *w = *state;
	many_ready(w, MANY);
	world_add_pool(w, "lab", "uni", (struct phx_setup){0});
	world_add_role(w, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
	for (uint32_t number = 2; number < 5; number++)
		removed(w, number);
	removed(w, 60);
	assert_int_equal(w->s.n_gone, 4);
	w->apply = apply_to_both;
	every_kind(w);
	w->apply = NULL;
	assert_true(w->s.n_gone > 0);
	assert_int_equal(phx_state_check(&w->s, &w->err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(no_reader_finds_it),
		WORLD_TEST(no_record_has_it),
		WORLD_TEST(an_empty_list_is_not_written),
		WORLD_TEST(the_list_closes_up_once_many_are_gone),
		WORLD_TEST(all_happens_as_without_gaps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
