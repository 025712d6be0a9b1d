/* Each policy of coordination live: by events through core_apply, with machines that do what they
 * are told. FB is that of allocation.c; here are FLB_NUB, DR and the cooperative policy of 2008, on
 * six nodes of which one may be pinned. What was decided is told in a sentence with its reason, in
 * the history of the REs that it concerns. */
#include "unit/core/world.h"

enum { NODES = 6, WINDOW_MS = 20000, BUSY = 950000, IDLE = 10000 };

/* The notes about REs since the last look. */
static struct phx_list notes; /* struct phx_action */

static void keep_notes(const struct phx_outcome *out)
{
	PHX_LIST_EACH(struct phx_action, act, &out->actions) {
		struct phx_action *to = act->kind == PHX_ACT_NOTE && act->re[0]
			? phx_list_push(&notes, sizeof(*to))
			: NULL;
		if (to)
			*to = *act;
	}
}

static uint64_t apply(struct world *w, struct phx_event *ev)
{
	struct phx_outcome out = {0};
	if (world_apply(w, ev, &out) < 0)
		fail_msg("%s", w->err.text);
	keep_notes(&out);
	uint64_t job = out.job;
	phx_outcome_fini(&out);
	return job;
}

/* How often it was told to `re`, and all is forgotten. */
static int told(const char *re, const char *sentence)
{
	int n = 0;
	PHX_LIST_EACH(struct phx_action, act, &notes)
		n += (!strcmp(act->re, re) || !strcmp(act->other_re, re)) &&
			strstr(act->text, sentence);
	return n;
}

static void forget(void)
{
	phx_list_fini(&notes);
}

static void settle(struct world *w)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t i = 0; i < w->s.nodes.n; i++) {
			char name[PHX_NAME_MAX];
			PHX_STR_SET(name, PHX_LIST_AT(&w->s.nodes, struct phx_node, i)->name);
			moved = world_step(w, name) || moved;
		}
	}
}

static void nodes_ready(struct world *w)
{
	char name[8];
	for (unsigned i = 1; i <= NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
}

static void re_runs(struct world *w, const char *name, int type, int model, uint32_t lower)
{
	bool batch = type == PHX_RE_BATCH;
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_event on = {.kind = PHX_EV_re_activate, .re_order.who = PHX_RE_WHO_SERVICE};
	struct phx_agreement *a = &ev.ask.agreement;
	phx_agreement_init(a);
	PHX_STR_SET(a->name, name);
	PHX_STR_SET(a->owner, "hpc");
	PHX_STR_SET(a->role, batch ? "compute" : "web");
	PHX_STR_SET(a->partner, batch ? "shop" : "queue");
	a->type = type;
	a->coordination = PHX_RE_COORDINATED_OTHER;
	a->model = model;
	a->lower = lower;
	if (model != PHX_POLICY_coop2008)
		a->lease_s = 600;
	PHX_STR_SET(on.re, name);
	apply(w, &ev);
	apply(w, &on);
	settle(w);
}

static uint32_t held(const struct world *w, const char *re)
{
	uint32_t n_held = 0;
	PHX_NODES_EACH(n, &w->s)
		n_held += n->allocation == PHX_ALLOCATION_HELD && !strcmp(n->allocated_to, re) &&
			!strcmp(n->pool, re);
	return n_held;
}

static uint64_t submit(struct world *w, uint32_t nodes)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = nodes, .uid = 1000, .gid = 1000}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev.re, "queue");
	uint64_t id = apply(w, &ev);
	phx_event_fini(&ev);
	return id;
}

static int state_of(struct world *w, uint64_t id)
{
	return phx_state_job(&w->s, id)->state;
}

static void parts_end(struct world *w, uint64_t id, int64_t status)
{
	struct phx_job before;
	assert_int_equal(phx_record_copy(&phx_job_record, &before, phx_state_job(&w->s, id)), 0);
	PHX_LIST_EACH(struct phx_job_part, p, &before.parts) {
		struct phx_event ev = {
			.kind = PHX_EV_job_result,
			.job_result = {.job = id, .run = before.kills, .result = status}};
		PHX_STR_SET(ev.node, p->node);
		apply(w, &ev);
	}
	phx_record_fini(&phx_job_record, &before);
	settle(w);
}

static void pass(struct world *w, int64_t ms)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	w->now += ms;
	apply(w, &ev);
	settle(w);
}

/* A window of this use, and its end. */
static void window(struct world *w, uint32_t use_ppm)
{
	struct phx_event ev = {.kind = PHX_EV_re_use, .re_use.use_ppm = use_ppm};
	PHX_STR_SET(ev.re, "shop");
	apply(w, &ev);
	pass(w, WINDOW_MS);
}

static void a_public_cloud_grants_and_never_forces(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	re_runs(w, "queue", PHX_RE_BATCH, PHX_POLICY_flb_nub, 2);
	re_runs(w, "shop", PHX_RE_WEB, PHX_POLICY_flb_nub, 1);
	assert_int_equal(told("queue", "goes from free to queue: the RE became active"), 2);
	assert_int_equal(told("shop", "goes from free to shop: the RE became active"), 1);
	uint64_t wide = submit(w, 2), next = submit(w, 2), last = submit(w, 1);
	assert_int_equal(state_of(w, wide), PHX_JOB_RUNNING);
	window(w, BUSY);
	assert_int_equal(held(w, "shop"), 2);
	assert_int_equal(told("shop", "goes from free to shop: the web RE wants more instances"),
			 1);
	/* 3 wait for 2: one more is asked for at the lease unit */
	forget();
	pass(w, 600000);
	assert_int_equal(told("queue", "goes from free to queue: what waits exceeds the threshold"),
			 1);
	assert_int_equal(held(w, "queue"), 3);
	assert_int_equal(state_of(w, last), PHX_JOB_RUNNING);
	/* the last node that is free, then none: nobody is forced */
	window(w, BUSY);
	window(w, BUSY);
	assert_int_equal(held(w, "shop"), 3);
	assert_int_equal(told("queue", "is killed"), 0);
	assert_int_equal(state_of(w, wide), PHX_JOB_RUNNING);
	parts_end(w, wide, 0);
	assert_int_equal(state_of(w, next), PHX_JOB_RUNNING);
	parts_end(w, next, 0);
	parts_end(w, last, 0);
	/* nothing waits: half of the idle ones, and not below the bounds of both */
	forget();
	pass(w, 600000);
	assert_int_equal(told("queue", "goes from queue to free: little waits"), 1);
	phx_list_fini(&notes);
}

static void initial_nodes_stay_and_leases_end(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	re_runs(w, "queue", PHX_RE_BATCH, PHX_POLICY_dr, 2);
	re_runs(w, "shop", PHX_RE_WEB, PHX_POLICY_dr, 1);
	uint64_t wide = submit(w, 2), next = submit(w, 2), last = submit(w, 2);
	pass(w, 60000); /* it starts at the cycle too */
	assert_int_equal(state_of(w, wide), PHX_JOB_RUNNING);
	pass(w, 60000);
	assert_true(told("queue", "goes from free to queue: what waits exceeds the threshold") >=
		    2);
	pass(w, 60000);
	assert_true(held(w, "queue") >= 4);
	window(w, BUSY);
	assert_int_equal(told("queue", "is killed"), 0);
	pass(w, 60000);
	for (int i = 0; i < 10; i++) {
		uint64_t ids[] = {wide, next, last};
		for (int k = 0; k < 3; k++)
			if (state_of(w, ids[k]) == PHX_JOB_RUNNING)
				parts_end(w, ids[k], 0);
		pass(w, 60000);
	}
	assert_int_equal(state_of(w, last), PHX_JOB_DONE);
	pass(w, 600000);
	assert_int_equal(held(w, "queue"), 2); /* its initial nodes */
	assert_true(told("queue",
			 "goes from queue to free: a lease ended and its nodes were idle") >= 2);
	/* a node of a lower bound stays silent: another one comes from the free pool */
	while (held(w, "shop") > 1)
		window(w, IDLE);
	forget();
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->pool, "shop"))
			PHX_STR_SET(ev.node, n->name);
	apply(w, &ev);
	pass(w, 300000);
	assert_int_equal(held(w, "shop"), 1);
	assert_int_equal(world_node(w, ev.node)->allocation, PHX_ALLOCATION_OUTSIDE);
	assert_int_equal(
		told("shop", "goes from free to shop: nodes of the lower bound were missing"), 1);
	phx_list_fini(&notes);
}

static void all_of_2008_share_at_once(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	struct phx_event pin = {.kind = PHX_EV_assign, .order.pin = true};
	PHX_STR_SET(pin.node, "n6");
	PHX_STR_SET(pin.order.role, "ramweb");
	apply(w, &pin);
	settle(w);
	re_runs(w, "queue", PHX_RE_BATCH, PHX_POLICY_coop2008, 0);
	assert_int_equal(held(w, "queue"), 5); /* all but the pinned one */
	assert_int_equal(
		told("queue",
		     "goes from free to queue: nodes idle in the free pool go to the batch RE"),
		5);
	re_runs(w, "shop", PHX_RE_WEB, PHX_POLICY_coop2008, 0);
	assert_int_equal(held(w, "shop"), 1);
	assert_int_equal(
		told("queue", "goes from queue to shop: the web RE wants more than is free"), 1);
	uint64_t wide = submit(w, 3), narrow = submit(w, 1);
	forget();
	window(w, BUSY);
	assert_int_equal(phx_state_job(&w->s, narrow)->end, PHX_JOB_END_KILLED);
	assert_int_equal(
		told("queue",
		     "of RE queue is killed and queued again: the web RE wants more than is free"),
		1);
	parts_end(w, narrow, 143);
	assert_int_equal(held(w, "shop"), 2);
	assert_int_equal(state_of(w, narrow), PHX_JOB_QUEUED);
	/* what it needs no more is the queue's at once, without a timer */
	forget();
	window(w, IDLE);
	assert_int_equal(held(w, "shop"), 1);
	assert_int_equal(held(w, "queue"), 4);
	assert_int_equal(told("shop", "goes from shop to free: the web RE needs fewer"), 1);
	assert_int_equal(state_of(w, narrow), PHX_JOB_RUNNING);
	/* the web may take all of them, never the pinned one */
	for (int i = 0; i < 8; i++) {
		window(w, BUSY);
		if (state_of(w, narrow) == PHX_JOB_RUNNING)
			parts_end(w, narrow, 143);
		if (state_of(w, wide) == PHX_JOB_RUNNING && phx_state_job(&w->s, wide)->end)
			parts_end(w, wide, 143);
	}
	assert_int_equal(held(w, "shop"), 5);
	assert_int_equal(held(w, "queue"), 0);
	const struct phx_node *n6 = world_node(w, "n6");
	assert_string_equal(n6->role, "ramweb");
	assert_int_equal(n6->allocation, PHX_ALLOCATION_OUTSIDE);
	phx_list_fini(&notes);
}

/* Under FB the bounds are fixed: a web RE that shares with nobody has its bound, whatever it
 * needs. */
static void fb_alone_stays_at_its_bound(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	re_runs(w, "shop", PHX_RE_WEB, PHX_POLICY_fb, 2);
	window(w, BUSY);
	window(w, BUSY);
	assert_int_equal(held(w, "shop"), 2);
	window(w, IDLE);
	window(w, IDLE);
	assert_true(held(w, "shop") >= 1);
	phx_list_fini(&notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_public_cloud_grants_and_never_forces),
		WORLD_TEST(initial_nodes_stay_and_leases_end),
		WORLD_TEST(all_of_2008_share_at_once),
		WORLD_TEST(fb_alone_stays_at_its_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
