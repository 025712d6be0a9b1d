/* What core_apply finds nodes and jobs by is derived, and is what a look at everything would find:
 * phx_state_check() compares both after every event of every test here. This one has more nodes
 * than fit into its first size. */
#include "unit/core/world.h"

#include "state/named.h"

enum { MANY = 150 };

static void add_many(struct world *w)
{
	char name[16];
	for (unsigned i = 1; i <= MANY; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_add(w, name, true);
	}
}

static void test_every_node_is_found(void **state)
{
	struct world *w = *state;
	char name[16];
	add_many(w);
	for (unsigned i = 1; i <= MANY; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(world_node(w, name)->number, i);
	}
	assert_null(phx_state_node(&w->s, "n0"));
	assert_null(phx_state_node(&w->s, ""));
}

static void test_removed_and_renamed_nodes(void **state)
{
	struct world *w = *state;
	add_many(w);
	assert_int_equal(world_order(w, PHX_EV_node_remove, "n70", NULL), 0);
	assert_null(phx_state_node(&w->s, "n70"));
	assert_int_equal(world_node(w, "n71")->number, 71);
	struct phx_event ev = {.kind = PHX_EV_node_accept};
	PHX_STR_SET(ev.node, "n71");
	PHX_STR_SET(ev.named.name, "head");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_null(phx_state_node(&w->s, "n71"));
	assert_int_equal(world_node(w, "head")->number, 71);
	world_add(w, "n70", true);
	assert_int_equal(world_node(w, "n70")->number, MANY + 1);
}

/* A refused event leaves it as it was too. */
static void test_refused(void **state)
{
	struct world *w = *state;
	add_many(w);
	assert_int_equal(world_order(w, PHX_EV_assign, "n3", "compute"), -EBUSY);
	assert_int_equal(world_order(w, PHX_EV_assign, "n999", "compute"), -ENOENT);
	assert_int_equal(world_node(w, "n3")->number, 3);
}

/* A copy has none until its first event, and answers the same. */
static void test_copy_answers_the_same(void **state)
{
	struct world *w = *state;
	struct phx_state copy;
	struct phx_err err = {0};
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n2", "compute"), 0);
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_null(copy.index);
	assert_ptr_equal(phx_state_node(&copy, "n2"), PHX_LIST_AT(&copy.nodes, struct phx_node, 1));
	assert_int_equal(phx_core_next_deadline(&copy), phx_core_next_deadline(&w->s));
	assert_int_equal(phx_state_check(&copy, &err), 0);
	phx_state_fini(&copy);
}

/* A change that is not told is found by the check, not by luck. */
static void test_untold_change_is_found(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	world_ready(w, "n1", true);
	world_node(w, "n1")->window = true;
	world_node(w, "n1")->window_until_ms = w->now + 5;
	assert_int_equal(phx_state_check(&w->s, &err), -EPROTO);
	assert_non_null(strstr(err.text, "n1 is due at"));
}

/* Of lists and REs, too: what is looked up is what was told. */
static void test_untold_names_are_found(void **state)
{
	static const struct {
		size_t place;
		const char *says;
	} rows[] = {{offsetof(struct phx_re, leaving), "is not looked at"},
		    {offsetof(struct phx_re, active), "is not found by its number"}};
	struct world *w = *state;
	struct phx_err err = {0};
	struct phx_re *re = phx_list_push(&w->s.res, sizeof(*re));
	PHX_STR_SET(re->name, "lab");
	assert_int_equal(phx_state_check(&w->s, &err), -EPROTO);
	assert_non_null(strstr(err.text, "lab is not found by its name"));
	phx_named_changed(&w->s);
	world_order(w, PHX_EV_tick, "", NULL);
	assert_int_equal(phx_state_check(&w->s, &err), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		bool *what =
			(bool *)((char *)PHX_LIST_AT(&w->s.res, struct phx_re, 0) + rows[i].place);
		err = (struct phx_err){0};
		*what = true;
		assert_int_equal(phx_state_check(&w->s, &err), -EPROTO);
		assert_non_null(strstr(err.text, rows[i].says));
		*what = false;
	}
	w->s.res.n = 0;
	phx_named_changed(&w->s);
}

static uint64_t submit(struct world *w, int64_t estimate_ms)
{
	struct phx_event ev = {
		.kind = PHX_EV_job_submit,
		.job_submit = {.job_nodes = 1, .uid = 1, .gid = 1, .estimate_ms = estimate_ms}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

/* The earliest of all times of jobs, whichever was started first, and the next one when that job
 * has ended. */
static void test_times_of_jobs(void **state)
{
	static const int64_t estimates[] = {50000, 20000, 40000, 30000};
	struct world *w = *state;
	uint64_t ids[4];
	for (unsigned i = 0; i < 4; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i + 1);
		world_serving(w, name, "compute", true);
	}
	int64_t begin = w->now;
	for (unsigned i = 0; i < 4; i++)
		ids[i] = submit(w, estimates[i]);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(phx_state_job(&w->s, ids[i])->state, PHX_JOB_RUNNING);
	assert_int_equal(phx_core_next_deadline(&w->s), begin + 20000);
	struct phx_event ev = {.kind = PHX_EV_job_result, .job_result.job = ids[1]};
	PHX_STR_SET(
		ev.node,
		PHX_LIST_AT(&phx_state_job(&w->s, ids[1])->parts, struct phx_job_part, 0)->node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(phx_core_next_deadline(&w->s), begin + 30000);
	struct phx_event tick = {.kind = PHX_EV_tick};
	w->now = begin + 30000;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_int_equal(phx_state_job(&w->s, ids[3])->end, PHX_JOB_END_OVERDUE);
	assert_int_equal(phx_state_job(&w->s, ids[2])->end, PHX_JOB_END_NONE);
	assert_int_equal(phx_core_next_deadline(&w->s), begin + 40000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_every_node_is_found),
		WORLD_TEST(test_removed_and_renamed_nodes),
		WORLD_TEST(test_refused),
		WORLD_TEST(test_copy_answers_the_same),
		WORLD_TEST(test_untold_change_is_found),
		WORLD_TEST(test_untold_names_are_found),
		WORLD_TEST(test_times_of_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
