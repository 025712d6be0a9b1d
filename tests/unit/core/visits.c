/* What an event of one node looks at does not grow with the cluster: the list of nodes is hidden
 * from the core while it applies an event, and each page of it that is read nevertheless is
 * counted. So a walk is found wherever it is made, and nobody has to count by hand. Twice the pages
 * for a hundred times the nodes is a binary search. */
#include "unit/core/hidden.h"

#include "state/index.h"
#include "state/members.h"

enum { FEW = 100, MANY = 10000, PAGES_MAX = 120, RE_NODES = 20, JOBS = 2000 };

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

/* ---- events of one node ---- */

enum {
	REPORT,
	QUIET,
	MISSING,
	BACK,
	HELLO,
	INVENTORY,
	LABEL,
	POWER,
	ASSIGN,
	STEP,
	STEP_2,
	TICK,
	QUARANTINE,
	ADD,
	ENROL,
	FIRST_HELLO,
	ADD_BY_SERIAL,
	ENROL_BY_SERIAL,
	ENROL_STRANGER,
	ACCEPT,
	ENROL_ANOTHER,
	ACCEPT_AS,
	KINDS
};

static void set_label(struct phx_event *ev)
{
	struct phx_label *l = phx_list_push(&ev->node_label.labels, sizeof(*l));
	PHX_STR_SET(l->key, "rack");
	PHX_STR_SET(l->value, "7");
}

static void set_step(struct world *w, struct phx_event *ev)
{
	const struct phx_node *n = world_node(w, ev->node);
	const struct phx_step *step = phx_node_step(n);
	assert_non_null(step);
	ev->answer.step_id = step->id;
	ev->answer.epoch = n->plan.epoch;
}

/* ---- of machines that were not there before ---- */

static void set_mac(struct phx_list *macs, const char *mac)
{
	struct phx_mac *m = phx_list_push(macs, sizeof(*m));
	assert_non_null(m);
	PHX_STR_SET(m->mac, mac);
}

#define NEW_MAC "52:54:00:01:00:01"

static void make_enrol(int which, struct phx_event_enrol *p)
{
	set_mac(&p->macs,
		which == ENROL                     ? NEW_MAC
			: which == ENROL_BY_SERIAL ? "52:54:00:01:00:02"
			: which == ENROL_STRANGER  ? "52:54:00:01:00:03"
						   : "52:54:00:01:00:04");
	PHX_STR_SET(p->serial, which == ENROL_BY_SERIAL ? "serial-of-new2" : "");
	PHX_STR_SET(p->key_fp, "key-of-a-newcomer");
	PHX_STR_SET(p->address, which == ENROL ? "10.9.0.1" : "10.9.0.9");
	PHX_STR_SET(p->name,
		    which == ENROL_STRANGER          ? "stranger"
			    : which == ENROL_ANOTHER ? "stranger2"
						     : "");
}

static void make_newcomer(int which, struct phx_event *ev)
{
	if (which == ADD || which == ADD_BY_SERIAL || which == FIRST_HELLO)
		PHX_STR_SET(ev->node, which == ADD_BY_SERIAL ? "new2" : "new1");
	if (which == ACCEPT || which == ACCEPT_AS)
		PHX_STR_SET(ev->node, which == ACCEPT ? "stranger" : "stranger2");
	if (which == ACCEPT_AS)
		PHX_STR_SET(ev->named.name, "new3");
	if (which == ADD) {
		set_mac(&ev->node_add.macs, NEW_MAC);
		PHX_STR_SET(ev->node_add.ip, "10.9.0.1");
	}
	if (which == ADD_BY_SERIAL)
		PHX_STR_SET(ev->node_add.serial, "serial-of-new2");
	if (which == ENROL || which == ENROL_BY_SERIAL || which == ENROL_STRANGER ||
	    which == ENROL_ANOTHER)
		make_enrol(which, &ev->enrol);
	if (which == FIRST_HELLO) {
		ev->hello.healthy = true;
		ev->hello.env = PHX_ENV_DEPLOY;
		PHX_STR_SET(ev->hello.boot_id, "its-first-boot");
		world_facts(&ev->hello.facts, 1 << 20);
	}
}

static void make(struct world *w, int which, const char *node, struct phx_event *ev)
{
	static const int kinds[] = {
		[REPORT] = PHX_EV_report,
		[QUIET] = PHX_EV_quiet,
		[MISSING] = PHX_EV_missing,
		[BACK] = PHX_EV_back,
		[HELLO] = PHX_EV_hello,
		[INVENTORY] = PHX_EV_inventory,
		[LABEL] = PHX_EV_node_label,
		[POWER] = PHX_EV_power,
		[ASSIGN] = PHX_EV_assign,
		[STEP] = PHX_EV_step_result,
		[STEP_2] = PHX_EV_step_result,
		[TICK] = PHX_EV_tick,
		[QUARANTINE] = PHX_EV_quarantine,
		[ADD] = PHX_EV_node_add,
		[ENROL] = PHX_EV_enrol,
		[FIRST_HELLO] = PHX_EV_hello,
		[ADD_BY_SERIAL] = PHX_EV_node_add,
		[ENROL_BY_SERIAL] = PHX_EV_enrol,
		[ENROL_STRANGER] = PHX_EV_enrol,
		[ACCEPT] = PHX_EV_node_accept,
		[ENROL_ANOTHER] = PHX_EV_enrol,
		[ACCEPT_AS] = PHX_EV_node_accept,
	};
	if (which >= ADD) {
		*ev = (struct phx_event){.kind = kinds[which]};
		make_newcomer(which, ev);
		return;
	}
	const struct phx_node *n = world_node(w, node);
	*ev = (struct phx_event){.kind = kinds[which]};
	PHX_STR_SET(ev->node, which == TICK ? "" : node);
	if (which == HELLO) {
		ev->hello.healthy = true;
		ev->hello.env = PHX_ENV_DEPLOY;
		PHX_STR_SET(ev->hello.boot_id, n->boot_id);
		world_facts(&ev->hello.facts, world_index(node));
	}
	if (which == REPORT)
		ev->report.healthy = true;
	if (which == INVENTORY)
		world_facts(&ev->inventory.facts, world_index(node));
	if (which == LABEL)
		set_label(ev);
	if (which == QUARANTINE)
		PHX_STR_SET(ev->text, "it smells");
	if (which == POWER)
		ev->order.op = PHX_POWER_STATUS;
	if (which == ASSIGN)
		PHX_STR_SET(ev->order.role, "compute");
	if (which == STEP || which == STEP_2)
		set_step(w, ev);
}

/* An RE of some of the nodes: the first ones are on their way to it. */
static void make_re(struct world *w)
{
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, RE_NODES);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	PHX_STR_SET(a.role, "compute");
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
}

/* Pages of each kind of event about one node in a cluster of `n`: of an RE, or of nobody. */
static void count(struct world *w, uint32_t n, bool re, unsigned ret[KINDS])
{
	struct phx_event first;
	many_ready(w, n);
	if (re)
		make_re(w);
	hide(w);
	/* what is derived of all nodes is made once */
	make(w, REPORT, "n7", &first);
	pages_of(w, &first);
	phx_event_fini(&first);
	for (int i = 0; i < KINDS; i++) {
		struct phx_event ev;
		ret[i] = 0;
		if (re && i == ASSIGN)
			continue;
		make(w, i, re ? "n5" : "n50", &ev);
		ret[i] = pages_of(w, &ev);
		phx_event_fini(&ev);
	}
	show(w);
}

static void compare(struct world *w, bool re)
{
	static const char *const names[KINDS] = {"report",
						 "quiet",
						 "missing",
						 "back",
						 "hello",
						 "inventory",
						 "label",
						 "power",
						 "assign",
						 "step",
						 "second step",
						 "tick",
						 "quarantine",
						 "announcement",
						 "enrolment",
						 "first registration",
						 "announcement by serial number",
						 "enrolment by serial number",
						 "enrolment of a stranger",
						 "acceptance",
						 "enrolment of another stranger",
						 "acceptance under another name"};
	unsigned few[KINDS], many[KINDS], all = 0;
	struct sigaction before;
	void *other = NULL;
	hidden_begin(&before);
	count(w, FEW, re, few);
	world_setup(&other);
	count(other, MANY, re, many);
	world_teardown(&other);
	sigaction(SIGSEGV, &before, NULL);
	for (int i = 0; i < KINDS; i++) {
		print_message("%s: %u pages of %u nodes, %u of %u\n", names[i], few[i], FEW,
			      many[i], MANY);
		all += few[i];
		if (many[i] > 2 * few[i] + 4 || many[i] > PAGES_MAX)
			fail_msg("%s: %u pages of nodes are looked at where there are %u, %u where "
				 "there are %u",
				 names[i], few[i], FEW, many[i], MANY);
	}
	assert_true(all >= KINDS); /* it is seen that they look at all */
}

static void visits_do_not_grow_with_the_cluster(void **state)
{
	compare(*state, false);
}

static void nor_do_those_of_an_res_node(void **state)
{
	compare(*state, true);
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

/* Pages of the list of REs that events of a node look at, where `n` more REs wait for nodes. */
static unsigned pages_of_res(struct world *w, uint32_t n)
{
	static const int kinds[] = {REPORT, QUIET, MISSING, BACK, HELLO, LABEL, POWER, STEP, TICK};
	unsigned pages = 0;
	many_ready(w, FEW);
	make_re(w);
	for (uint32_t i = 0; i < n; i++) {
		char name[PHX_NAME_MAX];
		snprintf(name, sizeof(name), "other%u", i);
		struct phx_agreement a = agreement(name, PHX_RE_BATCH, 1);
		a.coordination = PHX_RE_COORDINATED_NONE;
		a.partner[0] = '\0';
		PHX_STR_SET(a.role, "compute");
		assert_int_equal(create(w, &a), 0);
		if (i % 2)
			assert_int_equal(operate(w, PHX_EV_re_activate, name), 0);
	}
	assert_int_equal(w->s.res.n, n + 1);
	hide_list(&w->s.res, sizeof(struct phx_re));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_event ev;
		make(w, kinds[i], "n5", &ev);
		pages += pages_of(w, &ev);
		phx_event_fini(&ev);
	}
	show_list(&w->s.res, sizeof(struct phx_re));
	return pages;
}

static void nor_with_the_number_of_res(void **state)
{
	enum { FEW_RES = 2, MANY_RES = 60 };
	unsigned few, many;
	in_both(*state, pages_of_res, FEW_RES, &few, MANY_RES, &many);
	print_message("%u pages of %d REs, %u of %d\n", few, FEW_RES, many, MANY_RES);
	assert_true(few >= 1 && many <= 2 * few + 4);
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
	assert_int_equal(w->s.nodes.n, n - REMOVED);
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
	make(w, LABEL, "n1", &ev);
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
	assert_true(phx_state_job(&w->s, id)->overdue);
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
		cmocka_unit_test_setup_teardown(visits_do_not_grow_with_the_cluster, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(nor_do_those_of_an_res_node, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(nor_with_the_number_of_res, world_setup,
						world_teardown),
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
