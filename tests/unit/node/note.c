/* Notes on nodes: who and when, the newest last, the last sixteen, kept over everything that
 * happens to the node; one line each. */
#include "unit/core/world.h"

static int note(struct world *w, const char *node, const char *by, const char *text)
{
	struct phx_event ev = {.kind = PHX_EV_node_note};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.by, by);
	PHX_STR_SET(ev.text, text);
	return world_apply(w, &ev, NULL);
}

static const struct phx_node_note *last(struct world *w, const char *node)
{
	const struct phx_list *notes = &world_node(w, node)->notes;
	assert_in_range(notes->n, 1, PHX_NOTES_MAX);
	return PHX_LIST_AT(notes, struct phx_node_note, notes->n - 1);
}

static void who_and_when_the_newest_last(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", false); /* also of a node that has not come yet */
	assert_int_equal(note(w, "n1", "uid:0", "fan 3 is loud"), 0);
	int64_t first = w->s.now_ms;
	w->now += 5000;
	assert_int_equal(note(w, "n1", "uid:7", "fan 3 was replaced, \xc3\xa4"), 0);
	assert_string_equal(last(w, "n1")->by, "uid:7");
	assert_string_equal(last(w, "n1")->text, "fan 3 was replaced, \xc3\xa4");
	assert_int_equal(last(w, "n1")->at_ms, first + 5000);
	assert_int_equal(last(w, "n1")[-1].at_ms, first);
	assert_int_equal(note(w, "n9", "uid:0", "x"), -ENOENT);
}

static void one_line_each(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", false);
	assert_int_equal(note(w, "n1", "uid:0", "a\nb"), -EINVAL);
	assert_int_equal(note(w, "n1", "uid:0", "a\x1b[2J"), -EINVAL);
	assert_int_equal(note(w, "n1", "uid:0", "a \xe2\x80\xae b"), -EINVAL); /* U+202E */
	assert_int_equal(world_node(w, "n1")->notes.n, 0);
}

static void the_last_sixteen_stay(void **state)
{
	struct world *w = *state;
	char text[16];
	world_add(w, "n1", false);
	for (int i = 0; i < PHX_NOTES_MAX + 2; i++) {
		snprintf(text, sizeof(text), "note %d", i);
		assert_int_equal(note(w, "n1", "uid:0", text), 0);
	}
	assert_int_equal(world_node(w, "n1")->notes.n, PHX_NOTES_MAX);
	assert_string_equal(last(w, "n1")->text, "note 17");
	assert_string_equal(last(w, "n1")[1 - PHX_NOTES_MAX].text, "note 2");
}

static void kept_until_they_are_taken_off(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(note(w, "n1", "uid:0", "do not move"), 0);
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n1", NULL), 0);
	assert_string_equal(last(w, "n1")->text, "do not move");
	assert_int_equal(note(w, "n1", "uid:0", ""), 0);
	assert_int_equal(world_node(w, "n1")->notes.n, 0);
	uint64_t seq = w->s.seq;
	assert_int_equal(note(w, "n1", "uid:0", ""), 0);
	assert_int_equal(w->s.seq, seq); /* there was none: no event */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(who_and_when_the_newest_last),
		WORLD_TEST(one_line_each),
		WORLD_TEST(the_last_sixteen_stay),
		WORLD_TEST(kept_until_they_are_taken_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
