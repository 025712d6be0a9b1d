/* What removals of a portion, a start of a machine and jobs look at does not grow with the cluster,
 * or with the number of jobs: see hidden.h. Every kind of event is counted in visits_kinds.c. Twice
 * the pages for a hundred times the nodes is a binary search. */
#include "unit/core/hidden.h"
#include "unit/core/kinds.h"

#include "state/index.h"
#include "state/members.h"

enum { FEW = 100, MANY = 10000, JOBS = 2000 };

/* The pages that the event looked at. */
static unsigned pages_of(struct world *w, struct phx_event *ev)
{
	struct phx_outcome out = {0};
	w->now += 10;
	ev->now_ms = w->now;
	hidden_watch();
	int r = phx_core_apply(&w->s, ev, &out, &w->err);
	unsigned pages = hidden_told();
	if (r < 0)
		fail_msg("%s: %s", phx_enum_name(&phx_event_kind_names, ev->kind), w->err.text);
	phx_outcome_fini(&out);
	return pages;
}

static void set_label(struct phx_event *ev)
{
	*ev = (struct phx_event){.kind = PHX_EV_node_label, .node = "n1"};
	struct phx_label *l = phx_list_push(&ev->node_label.labels, sizeof(*l));
	PHX_STR_SET(l->key, "rack");
	PHX_STR_SET(l->value, "7");
}

/* What `pages` counts in a world of few, and in another one of many. */
static void in_both(struct world *w, unsigned (*pages)(struct world *w, uint32_t n), uint32_t n_few,
		    unsigned *ret_few, uint32_t n_many, unsigned *ret_many)
{
	struct sigaction before;
	void *other = NULL;
	hidden_begin(&before);
	*ret_few = pages(w, n_few);
	world_setup(&other);
	*ret_many = pages(other, n_many);
	world_teardown(&other);
	sigaction(SIGSEGV, &before, NULL);
}

/* Some of `n` nodes are removed, one event each, and then the list closes up. */
static unsigned pages_of_removals(struct world *w, uint32_t n)
{
	enum { FIRST = 30, REMOVED = 20 };
	many_ready(w, n);
	world_order(w, PHX_EV_tick, "", NULL); /* the index is made */
	hide(w);
	hidden_watch();
	for (uint32_t i = 0; i < REMOVED; i++) {
		struct phx_event ev = {.kind = PHX_EV_node_remove, .now_ms = w->now};
		struct phx_outcome out;
		snprintf(ev.node, sizeof(ev.node), "n%u", FIRST + i);
		assert_int_equal(phx_core_apply_in_portion(&w->s, &ev, &out, &w->err), 0);
		phx_outcome_fini(&out);
		assert_int_equal(phx_core_apply_in_portion(&w->s, &ev, &out, &w->err), -ENOENT);
		phx_outcome_fini(&out);
	}
	unsigned pages = hidden_told(), n_chosen = 0, n_places = w->s.nodes.n;
	uint32_t n_ready = phx_members_count(&w->s, PHX_MEMBERS_STATE, "ready");
	uint32_t n_new = phx_members_count(&w->s, PHX_MEMBERS_STATE, "new");
	for (int set = PHX_SET_FREE; set < PHX_SET_COUNT_; set++)
		PHX_LIST_EACH(struct phx_node, gone, &w->s.nodes)
			n_chosen += !gone->name[0] &&
				phx_index_candidate(&w->s, set, phx_index_place(&w->s, gone)) ==
					gone;
	phx_core_portion_end(&w->s);
	show(w);
	assert_int_equal(n_places, n);
	/* the list is closed up where they were many of it */
	assert_int_equal(w->s.nodes.n, n > FEW ? n : n - REMOVED);
	assert_int_equal(phx_nodes_count(&w->s), n - REMOVED);
	assert_int_equal(n_ready, n - REMOVED);
	assert_int_equal(n_new, 0);
	assert_int_equal(n_chosen, 0);
	assert_int_equal(phx_index_check(&w->s, &w->s, &w->err), 0);
	for (uint32_t i = 1; i <= n; i++) {
		char name[PHX_NAME_MAX];
		snprintf(name, sizeof(name), "n%u", i);
		const struct phx_node *left = phx_state_node(&w->s, name);
		bool gone = i >= FIRST && i < FIRST + REMOVED;
		assert_true(gone ? !left : left && left->number == i);
	}
	return pages;
}

static void nor_do_those_of_removals(void **state)
{
	unsigned few, many;
	in_both(*state, pages_of_removals, FEW, &few, MANY, &many);
	print_message("removals: %u pages of %u nodes, %u of %u\n", few, FEW, many, MANY);
	assert_true(few >= 20 && many <= 2 * few);
}

/* iPXE asks once a start: of a node, and of a machine that nobody knows. */
static unsigned pages_of_boots(struct world *w, uint32_t n)
{
	char mac[PHX_MAC_MAX];
	many_ready(w, n);
	world_order(w, PHX_EV_tick, "", NULL); /* the index is made */
	PHX_STR_SET(mac, PHX_LIST_AT(&world_node(w, "n77")->macs, struct phx_mac, 0)->mac);
	hide(w);
	hidden_watch();
	struct phx_boot its = phx_core_boot(&w->s, mac, "10.0.0.77");
	struct phx_boot others = phx_core_boot(&w->s, "52:54:00:ff:ff:ff", "10.0.0.78");
	unsigned pages = hidden_told();
	assert_string_equal(its.node, "n77");
	assert_string_equal(others.node, "");
	assert_true(its.choice == PHX_BOOT_DEPLOY && others.choice == PHX_BOOT_DEPLOY);
	show(w);
	return pages;
}

static void nor_do_those_of_a_boot(void **state)
{
	unsigned few, many;
	in_both(*state, pages_of_boots, FEW, &few, MANY, &many);
	print_message("boot: %u pages of %u nodes, %u of %u\n", few, FEW, many, MANY);
	assert_true(few >= 1 && many <= 2 * few);
}

/* Jobs that wait for others of their array are in nobody's way: no event goes through them while a
 * node is free that they may not have. */
static void throttled_jobs_are_not_looked_at(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.uid = 1000,
					      .gid = 1000,
					      .job_nodes = 1,
					      .array_to = JOBS - 1,
					      .array_step = 1,
					      .array_at_once = 1}};
	struct sigaction before;
	for (int i = 1; i <= 2; i++)
		world_serving(w, i == 1 ? "n1" : "n2", "compute", true);
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(w->s.jobs.n, JOBS);
	hidden_begin(&before);
	hide_list(&w->s.jobs, sizeof(struct phx_job));
	set_label(&ev);
	unsigned pages = pages_of(w, &ev);
	phx_event_fini(&ev);
	/* one ends, and the next one starts */
	const struct phx_job *first = PHX_LIST_AT(&w->s.jobs, struct phx_job, 0);
	ev = (struct phx_event){.kind = PHX_EV_job_result, .job_result.job = first->id};
	PHX_STR_SET(ev.node, PHX_LIST_AT(&first->parts, struct phx_job_part, 0)->node);
	unsigned at_end = pages_of(w, &ev);
	show_list(&w->s.jobs, sizeof(struct phx_job));
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(PHX_LIST_AT(&w->s.jobs, struct phx_job, 1)->state, PHX_JOB_RUNNING);
	print_message("%u pages of %d jobs, %u when one ends\n", pages, JOBS, at_end);
	assert_true(pages <= 2 && at_end >= 1 && at_end <= 20);
}

/* Why a job waits is told without a look at those before it. */
static void nor_are_those_before_it(void **state)
{
	struct world *w = *state;
	char text[200];
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.uid = 1000,
					      .gid = 1000,
					      .job_nodes = 1,
					      .array_to = JOBS - 1,
					      .array_step = 1}};
	struct sigaction before;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	/* it would start if it were the first */
	struct phx_job_waits waits = {.s = &w->s, .counted = true, .n_idle = 1, .n_could = 1};
	hidden_begin(&before);
	hide_list(&w->s.jobs, sizeof(struct phx_job));
	hidden_watch();
	phx_job_waits_for(&waits, PHX_LIST_AT(&w->s.jobs, struct phx_job, JOBS - 1), text,
			  sizeof(text));
	struct phx_job_waits again = {.s = &w->s};
	phx_job_waits_for(&again, PHX_LIST_AT(&w->s.jobs, struct phx_job, JOBS - 1), text + 100,
			  sizeof(text) - 100);
	unsigned pages = hidden_told();
	show_list(&w->s.jobs, sizeof(struct phx_job));
	sigaction(SIGSEGV, &before, NULL);
	text[99] = '\0';
	assert_string_equal(text, "job 2 is before it");
	assert_string_equal(text + 100, "waits for 1 node: of 1 outside of the REs 0 are idle");
	assert_in_range(pages, 1, 2);
}

static void submit_many(struct world *w, const char *re, uint32_t n, int64_t limit_ms)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.uid = 1000,
					      .gid = 1000,
					      .job_nodes = 1,
					      .estimate_ms = limit_ms,
					      .array_to = n - 1,
					      .array_step = 1}};
	PHX_STR_SET(ev.re, re);
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* A job whose time is over is found without a look at the others. */
static void nor_are_others_when_ones_time_is_over(void **state)
{
	struct world *w = *state;
	struct sigaction before;
	world_serving(w, "n1", "compute", true);
	submit_many(w, "", JOBS, 60000);
	const struct phx_job *first = PHX_LIST_AT(&w->s.jobs, struct phx_job, 0);
	assert_int_equal(first->state, PHX_JOB_RUNNING);
	uint64_t id = first->id;
	w->now += 60000;
	hidden_begin(&before);
	hide_list(&w->s.jobs, sizeof(struct phx_job));
	struct phx_event tick = {.kind = PHX_EV_tick};
	unsigned pages = pages_of(w, &tick);
	show_list(&w->s.jobs, sizeof(struct phx_job));
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(phx_state_job(&w->s, id)->end, PHX_JOB_END_OVERDUE);
	print_message("time limit: %u pages of %d jobs\n", pages, JOBS);
	assert_in_range(pages, 1, 20);
}

/* Those of one RE are found without a look at those of others. */
static void nor_are_those_of_others_beside_an_res(void **state)
{
	enum { ITS = 3, NUMBER_OF_LOOKS = 12 /* of a search in the list */ };
	struct world *w = *state;
	struct sigaction before;
	uint32_t n = 0;
	many_ready(w, FEW);
	make_re(w);
	submit_many(w, "queue", 2, 0);
	submit_many(w, "", JOBS, 0);
	submit_many(w, "queue", ITS - 2, 0);
	hidden_begin(&before);
	hide_list(&w->s.jobs, sizeof(struct phx_job));
	hidden_watch();
	PHX_INDEX_EACH_JOB_OF(j, &w->s, "queue")
		n += !strcmp(j->re, "queue");
	unsigned pages = hidden_told();
	show_list(&w->s.jobs, sizeof(struct phx_job));
	sigaction(SIGSEGV, &before, NULL);
	print_message("of an RE: %u pages of %u jobs\n", pages, w->s.jobs.n);
	assert_int_equal(n, ITS);
	assert_in_range(pages, 1, ITS * NUMBER_OF_LOOKS);
	phx_index_drop(&w->s);
	PHX_INDEX_EACH_JOB_OF(j, &w->s, "queue")
		n--;
	assert_int_equal(n, 0); /* the same without an index */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nor_do_those_of_removals, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(nor_do_those_of_a_boot, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(throttled_jobs_are_not_looked_at, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(nor_are_those_before_it, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(nor_are_others_when_ones_time_is_over, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(nor_are_those_of_others_beside_an_res, world_setup,
						world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
