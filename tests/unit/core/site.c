/* Settings of the site in portions: who waits, when the next nodes are told, when it stops. */
#include "core/site.h"

#include "unit/core/world.h"

enum { N = 5 };

static void five_nodes(struct world *w)
{
	for (unsigned i = 1; i <= N; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
}

static int apply(struct world *w, char digest, uint32_t portion, uint32_t max_failed)
{
	struct phx_event ev = {.kind = PHX_EV_site_apply,
			       .site_apply = {.portion = portion, .max_failed = max_failed}};
	memset(ev.site_apply.digest, digest, sizeof(ev.site_apply.digest) - 1);
	return world_apply(w, &ev, NULL);
}

/* "12345": the last digits of the names of those who wait. */
static const char *waiting(struct world *w)
{
	static char names[N + 2];
	size_t n = 0;
	PHX_NODES_EACH(node, &w->s)
		if (phx_site_waits(&w->s, node))
			names[n++] = node->name[1];
	names[n] = '\0';
	return names;
}

static const char *portion(struct world *w)
{
	static char names[N + 2];
	size_t n = 0;
	PHX_SITE_PORTION_EACH(node, &w->s)
		names[n++] = node->name[1];
	names[n] = '\0';
	return names;
}

/* What the nodes of the portion say: 'd' done, 'a' applying, 'f' failed. */
static bool hear(struct world *w, const char *says, struct phx_event *ret)
{
	struct phx_list heard = {0};
	const char *names = portion(w);
	assert_int_equal(strlen(names), strlen(says));
	for (size_t i = 0; says[i]; i++) {
		struct phx_site_heard *h = phx_list_push(&heard, sizeof(*h));
		snprintf(h->node, sizeof(h->node), "n%c", names[i]);
		h->stands = says[i] == 'd' ? PHX_SITE_STANDS_DONE
			: says[i] == 'a'   ? PHX_SITE_STANDS_APPLYING
					   : PHX_SITE_STANDS_FAILED;
		if (says[i] == 'f')
			PHX_STR_SET(h->why, "rolled back");
	}
	bool over = phx_site_portion_over(&w->s, &heard, w->now, ret);
	phx_list_fini(&heard);
	return over;
}

static void ends(struct world *w, const char *says)
{
	struct phx_event ev;
	assert_true(hear(w, says, &ev));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void goes_on(struct world *w, const char *says)
{
	struct phx_event ev;
	assert_false(hear(w, says, &ev));
}

static void portions_follow_each_other(void **state)
{
	struct world *w = *state;
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	assert_true(phx_site_in_portions(&w->s.site));
	assert_string_equal(portion(w), "12");
	assert_string_equal(waiting(w), "345");
	goes_on(w, "da");
	ends(w, "dd");
	assert_string_equal(portion(w), "34");
	assert_string_equal(waiting(w), "5");
	world_ready(w, "n6", true); /* it is told at once */
	assert_string_equal(waiting(w), "5");
	ends(w, "dd");
	assert_string_equal(portion(w), "5");
	assert_string_equal(waiting(w), "");
	assert_true(phx_site_in_portions(&w->s.site));
	goes_on(w, "a");
	ends(w, "d");
	assert_false(phx_site_in_portions(&w->s.site));
	assert_int_equal(w->s.site.last, 0);
	assert_string_equal(portion(w), "");
}

static void all_at_once_waits_for_nobody(void **state)
{
	struct world *w = *state;
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 0, 0), 0);
	assert_string_equal(waiting(w), "");
	assert_false(phx_site_in_portions(&w->s.site));
}

static void a_failure_stops_the_others(void **state)
{
	struct world *w = *state;
	struct phx_event ev;
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	goes_on(w, "af");
	ends(w, "df");
	assert_string_equal(w->s.site.stopped, "n2: rolled back");
	assert_false(phx_site_in_portions(&w->s.site));
	assert_string_equal(waiting(w), "345");
	/* nothing goes on by itself */
	assert_true(hear(w, "dd", &ev));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_string_equal(waiting(w), "345");
	/* a person has the same go on, with the next portion */
	assert_int_equal(apply(w, 'a', 1, 0), 0);
	assert_string_equal(w->s.site.stopped, "");
	assert_string_equal(portion(w), "3");
	assert_string_equal(waiting(w), "45");
	/* or to all that are left */
	assert_int_equal(apply(w, 'a', 0, 0), 0);
	assert_string_equal(waiting(w), "");
	/* and other settings begin anew */
	assert_int_equal(apply(w, 'b', 4, 0), 0);
	assert_string_equal(waiting(w), "5");
	assert_int_equal(apply(w, 'c', 4, 0), 0);
	assert_string_equal(portion(w), "1234");
}

static void so_many_may_fail(void **state)
{
	struct world *w = *state;
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 2, 2), 0);
	ends(w, "fd");
	ends(w, "df");
	assert_string_equal(portion(w), "5");
	assert_int_equal(w->s.site.failed, 2);
	ends(w, "f"); /* they add up */
	assert_string_equal(w->s.site.stopped, "n5: rolled back");
	assert_int_equal(apply(w, 'b', 3, 1), 0);
	assert_int_equal(w->s.site.failed, 0);
	ends(w, "fdf");
	assert_string_equal(w->s.site.stopped, "n1 (and 1 others): rolled back");
}

/* A network that cut it off is no success, though nobody says so. */
static void who_falls_silent_has_failed(void **state)
{
	struct world *w = *state;
	struct phx_event gone = {.kind = PHX_EV_missing, .node = "n1"},
			 before = {.kind = PHX_EV_missing, .node = "n4"};
	five_nodes(w);
	assert_int_equal(world_apply(w, &before, NULL), 0);
	w->now += 1000;
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	w->now += 1000;
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	ends(w, "dd");
	assert_string_equal(w->s.site.stopped,
			    "n1: it was not heard any more when it had been told them");
	/* who was away before is not waited for */
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	ends(w, "dd");
	assert_string_equal(w->s.site.stopped, "");
}

static void who_does_not_answer_has_failed(void **state)
{
	struct world *w = *state;
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	w->now = phx_site_portion_until(&w->s.site) - 1;
	goes_on(w, "da");
	w->now++;
	ends(w, "da");
	assert_string_equal(w->s.site.stopped, "n2: it has not applied them within ten minutes");
}

/* Of another portion, and of other settings. */
static void an_end_counts_once(void **state)
{
	struct world *w = *state;
	struct phx_event ev;
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	assert_true(hear(w, "dd", &ev));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(portion(w), "34");
	assert_int_equal(apply(w, 'b', 2, 0), 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(portion(w), "12");
	phx_event_fini(&ev);
}

static void removed_nodes_are_not_waited_for(void **state)
{
	struct world *w = *state;
	struct phx_event rm = {.kind = PHX_EV_node_remove, .node = "n1", .order.force = true};
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 1, 0), 0);
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	PHX_STR_SET(rm.node, "n5");
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_string_equal(portion(w), "");
	ends(w, "");
	assert_string_equal(portion(w), "2");
	ends(w, "d");
	ends(w, "d");
	ends(w, "d");
	assert_int_equal(w->s.site.last, 0);
}

/* A portion has so many nodes that are there. */
static void nor_do_removed_nodes_count(void **state)
{
	struct world *w = *state;
	struct phx_event rm = {.kind = PHX_EV_node_remove, .node = "n2", .order.force = true};
	five_nodes(w);
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_int_equal(apply(w, 'a', 2, 0), 0);
	assert_string_equal(portion(w), "13");
	struct phx_event ev;
	struct phx_outcome out = {0};
	PHX_STR_SET(rm.node, "n4");
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_true(hear(w, "df", &ev));
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_string_equal(PHX_LIST_AT(&out.actions, struct phx_action, 1)->text,
			    "the settings of the site are not told to the nodes that wait (1): n3: "
			    "rolled back");
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	assert_string_equal(waiting(w), "5");
}

/* Its services start anew with what is in force. */
static void who_gets_another_role_does_not_wait(void **state)
{
	struct world *w = *state;
	struct phx_event assign = {.kind = PHX_EV_assign, .node = "n3"};
	PHX_STR_SET(assign.order.role, "web");
	five_nodes(w);
	assert_int_equal(apply(w, 'a', 1, 0), 0);
	assert_string_equal(waiting(w), "2345");
	assert_int_equal(world_apply(w, &assign, NULL), 0);
	assert_string_equal(waiting(w), "245");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(portions_follow_each_other),
		WORLD_TEST(all_at_once_waits_for_nobody),
		WORLD_TEST(a_failure_stops_the_others),
		WORLD_TEST(so_many_may_fail),
		WORLD_TEST(who_falls_silent_has_failed),
		WORLD_TEST(who_does_not_answer_has_failed),
		WORLD_TEST(an_end_counts_once),
		WORLD_TEST(removed_nodes_are_not_waited_for),
		WORLD_TEST(nor_do_removed_nodes_count),
		WORLD_TEST(who_gets_another_role_does_not_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
