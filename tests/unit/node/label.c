/* Labels of nodes: put on, changed, taken off, checked whole before anything is changed, and kept
 * over everything that happens to the node. */
#include "unit/core/world.h"

static int label(struct world *w, const char *node, const char *const pairs[][2])
{
	struct phx_event ev = {.kind = PHX_EV_node_label};
	PHX_STR_SET(ev.node, node);
	for (size_t i = 0; pairs[i][0]; i++) {
		struct phx_word *off =
			pairs[i][1] ? NULL : phx_list_push(&ev.node_label.unlabel, sizeof(*off));
		struct phx_label *on =
			pairs[i][1] ? phx_list_push(&ev.node_label.labels, sizeof(*on)) : NULL;
		if (off)
			PHX_STR_SET(off->text, pairs[i][0]);
		if (on) {
			PHX_STR_SET(on->key, pairs[i][0]);
			PHX_STR_SET(on->value, pairs[i][1]);
		}
	}
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

#define LABEL(w, node, ...) label(w, node, (const char *const[][2]){__VA_ARGS__, {NULL, NULL}})

static const char *labels(struct world *w, const char *node)
{
	static char text[1024];
	size_t at = 0;
	text[0] = '\0';
	PHX_LIST_EACH(struct phx_label, l, &world_node(w, node)->labels)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s=%s", at ? " " : "",
				       l->key, l->value);
	return text;
}

static void put_on_changed_and_taken_off(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", false); /* also of a node that has not come yet */
	assert_int_equal(LABEL(w, "n1", {"zone", "a"}, {"rack", "3"}), 0);
	assert_string_equal(labels(w, "n1"), "rack=3 zone=a");
	uint64_t seq = w->s.seq;
	assert_int_equal(LABEL(w, "n1", {"rack", "3"}, {"none", NULL}), 0);
	assert_int_equal(w->s.seq, seq); /* it already is so: no event */
	assert_int_equal(LABEL(w, "n1", {"rack", "4"}, {"zone", NULL}, {"made", "2026"}), 0);
	assert_string_equal(labels(w, "n1"), "made=2026 rack=4");
	assert_int_equal(LABEL(w, "n9", {"rack", "4"}), -ENOENT);
}

static void checked_before_anything_is_changed(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", false);
	assert_int_equal(LABEL(w, "n1", {"rack", "3"}), 0);
	static const char *const bad[] = {"",    "a b",   "-a",
					  "a/b", "a=b",   "a:b",
					  "a,b", "ab..c", "k2345678901234567890123456789012"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad) - 1; i++) {
		assert_int_equal(LABEL(w, "n1", {"rack", NULL}, {bad[i], "x"}), -EINVAL);
		assert_int_equal(LABEL(w, "n1", {"rack", "9"}, {"x", bad[i]}), -EINVAL);
	}
	assert_int_equal(LABEL(w, "n1", {bad[PHX_ARRAY_SIZE(bad) - 1], NULL}), -EINVAL);
	assert_string_equal(labels(w, "n1"), "rack=3");
}

static void so_many_and_no_more(void **state)
{
	struct world *w = *state;
	char key[16];
	world_add(w, "n1", false);
	for (int i = 0; i < PHX_LABELS_MAX; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		assert_int_equal(LABEL(w, "n1", {key, "1"}), 0);
	}
	assert_int_equal(LABEL(w, "n1", {"more", "1"}), -E2BIG);
	assert_int_equal(LABEL(w, "n1", {"k3", "2"}), 0);
	assert_int_equal(world_node(w, "n1")->labels.n, PHX_LABELS_MAX);
}

static void kept_over_hand_overs_and_snapshots(void **state)
{
	struct world *w = *state;
	struct phx_state copy;
	world_serving(w, "n1", "web", true);
	assert_int_equal(LABEL(w, "n1", {"rack", "3"}), 0);
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	assert_int_equal(LABEL(w, "n1", {"zone", "b"}), 0); /* in the middle of a plan too */
	world_run(w, "n1");
	assert_string_equal(labels(w, "n1"), "rack=3 zone=b");
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_true(phx_record_equal(&phx_state_record, &copy, &w->s));
	phx_state_fini(&copy);
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n1", NULL), 0);
	assert_string_equal(labels(w, "n1"), "rack=3 zone=b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(put_on_changed_and_taken_off),
		WORLD_TEST(checked_before_anything_is_changed),
		WORLD_TEST(so_many_and_no_more),
		WORLD_TEST(kept_over_hand_overs_and_snapshots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
