/* How REs come to be, what is refused and why, what two agreements say together, and jobs held back
 * or over their time. */
#include "re/re.h"
#include "unit/core/world.h"

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

static void nodes_ready(struct world *w, unsigned n)
{
	char name[8];
	for (unsigned i = 1; i <= n; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
}

static struct phx_agreement agreement(const char *name, int type, uint32_t lower)
{
	struct phx_agreement a;
	phx_agreement_init(&a);
	PHX_STR_SET(a.name, name);
	PHX_STR_SET(a.owner, type == PHX_RE_BATCH ? "hpc" : "shop");
	PHX_STR_SET(a.role, type == PHX_RE_BATCH ? "compute" : "web");
	a.type = type;
	a.coordination = PHX_RE_COORDINATED_OTHER;
	a.lower = a.upper = lower;
	a.lease_s = 60;
	return a;
}

static int with_agreement(struct world *w, int kind, int who, const struct phx_agreement *a)
{
	struct phx_event ev = {.kind = kind, .ask = {.who = who, .agreement = *a}};
	return world_apply(w, &ev, NULL);
}

static int operate(struct world *w, int kind, int who, const char *re, struct phx_outcome *out)
{
	struct phx_event ev = {.kind = kind};
	*(kind == PHX_EV_re_create ? &ev.ask.who : &ev.re_order.who) = who;
	PHX_STR_SET(ev.re, re);
	return world_apply(w, &ev, out);
}

static int service(struct world *w, int kind, const char *re)
{
	return operate(w, kind, PHX_RE_WHO_SERVICE, re, NULL);
}

static int provider(struct world *w, int kind, const char *re)
{
	return operate(w, kind, PHX_RE_WHO_PROVIDER, re, NULL);
}

/* The text of the last note about an RE. */
static const char *note_of(const struct phx_outcome *out, const char *re)
{
	const char *text = NULL;
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == PHX_ACT_NOTE &&
		    (!strcmp(act->re, re) || !strcmp(act->other_re, re)))
			text = act->text;
	return text;
}

static void running(struct world *w, const struct phx_agreement *a)
{
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, a), 0);
	assert_int_equal(service(w, PHX_EV_re_activate, a->name), 0);
	settle(w);
}

/* ---- requests ---- */

static void a_request_waits_until_it_is_granted(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	nodes_ready(w, 2);
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_PROVIDER, &q), -EPERM);
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_NONE);
	assert_null(phx_state_pool(&w->s, "queue"));
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), -EEXIST);
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &q), -EEXIST);
	assert_int_equal(service(w, PHX_EV_re_activate, "queue"), -EINVAL);
	assert_int_equal(service(w, PHX_EV_re_create, "queue"), -EPERM);
	assert_int_equal(provider(w, PHX_EV_re_create, "nosuch"), -ENOENT);
	assert_int_equal(provider(w, PHX_EV_re_create, "queue"), 0);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_DEPLOYED);
	assert_string_equal(phx_state_pool(&w->s, "queue")->owner, "hpc");
	assert_int_equal(provider(w, PHX_EV_re_create, "queue"), -EINVAL);
	assert_int_equal(service(w, PHX_EV_re_activate, "queue"), 0);
}

static void a_request_is_refused_or_withdrawn(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	struct phx_event no = {.kind = PHX_EV_re_refuse,
			       .text = "no nodes this year",
			       .re_order.who = PHX_RE_WHO_PROVIDER};
	struct phx_outcome out = {0};
	PHX_STR_SET(no.re, "queue");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(service(w, PHX_EV_re_refuse, "queue"), -EPERM);
	assert_int_equal(world_apply(w, &no, &out), 0);
	assert_non_null(strstr(note_of(&out, "queue"), "no nodes this year"));
	phx_outcome_fini(&out);
	assert_null(phx_state_re(&w->s, "queue"));
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(provider(w, PHX_EV_re_withdraw, "queue"), -EPERM);
	assert_int_equal(service(w, PHX_EV_re_withdraw, "queue"), 0);
	assert_null(phx_state_re(&w->s, "queue"));
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &q), 0);
	assert_int_equal(service(w, PHX_EV_re_withdraw, "queue"), -EINVAL);
}

/* A request binds nobody: the provider's own configuration goes on as if it were not there. */
static int refuse(struct world *w, const char *re, const char *why)
{
	struct phx_event no = {.kind = PHX_EV_re_refuse, .re_order.who = PHX_RE_WHO_PROVIDER};
	PHX_STR_SET(no.re, re);
	PHX_STR_SET(no.text, why);
	PHX_STR_SET(no.by, "uid:0");
	return world_apply(w, &no, NULL);
}

/* Who asked learns why it is gone, until he asks again. */
static void a_refusal_is_kept_for_who_asked(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2), other = q;
	PHX_STR_SET(other.owner, "math");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(refuse(w, "queue", "no nodes"), 0);
	assert_int_equal(w->s.refusals.n, 1);
	const struct phx_re_refusal *it = PHX_LIST_AT(&w->s.refusals, struct phx_re_refusal, 0);
	assert_string_equal(it->name, "queue");
	assert_string_equal(it->owner, "hpc");
	assert_string_equal(it->text, "no nodes");
	assert_string_equal(it->by, "uid:0");
	/* another's request of that name leaves it */
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &other), 0);
	assert_int_equal(refuse(w, "queue", ""), 0);
	assert_int_equal(w->s.refusals.n, 2);
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(w->s.refusals.n, 1);
	assert_string_equal(PHX_LIST_AT(&w->s.refusals, struct phx_re_refusal, 0)->owner, "math");
}

/* Nobody fills the state with what is refused him, nor drives out what others were told. */
static void refusals_are_limited(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("theirs", PHX_RE_BATCH, 2);
	PHX_STR_SET(q.owner, "math");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(refuse(w, "theirs", ""), 0);
	PHX_STR_SET(q.owner, "hpc");
	for (unsigned i = 0; i < 3 * PHX_RE_REFUSALS_MAX; i++) {
		snprintf(q.name, sizeof(q.name), "q%u", i);
		assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
		assert_int_equal(refuse(w, q.name, ""), 0);
	}
	assert_int_equal(w->s.refusals.n, PHX_RE_REFUSALS_MAX + 1);
	assert_string_equal(PHX_LIST_AT(&w->s.refusals, struct phx_re_refusal, 0)->owner, "math");
	assert_string_equal(PHX_LIST_AT(&w->s.refusals, struct phx_re_refusal, 16)->name, "q47");
}

/* What is found without an event is what the event is refused for. */
static void a_check_says_what_the_event_would(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2), bad = q;
	struct phx_err err = {0};
	uint64_t seq = w->s.seq;
	PHX_STR_SET(bad.role, "web");
	assert_int_equal(phx_re_check_new(&w->s, &bad, PHX_RE_WHO_SERVICE, false, &err), -EINVAL);
	assert_non_null(strstr(err.text, "role: 'web' runs no jobs"));
	assert_int_equal(phx_re_check_new(&w->s, &q, PHX_RE_WHO_SERVICE, false, &err), 0);
	assert_int_equal(phx_re_check_new(&w->s, &q, PHX_RE_WHO_SERVICE, true, &err), -EPERM);
	assert_int_equal(phx_re_check_new(&w->s, &q, PHX_RE_WHO_PROVIDER, false, &err), -EPERM);
	assert_int_equal(phx_re_check_new(&w->s, &q, PHX_RE_WHO_PROVIDER, true, &err), 0);
	assert_int_equal(w->s.seq, seq);
	assert_null(phx_state_re(&w->s, "queue"));
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	assert_int_equal(phx_re_check_new(&w->s, &q, PHX_RE_WHO_SERVICE, false, &err), -EEXIST);
	assert_int_equal(phx_re_check_new(&w->s, &q, PHX_RE_WHO_PROVIDER, true, &err), -EEXIST);
}

static void a_request_reserves_nothing(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("later", PHX_RE_BATCH, 2);
	struct phx_event role = {.kind = PHX_EV_role_remove};
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	world_add_pool(w, "later", "hpc", (struct phx_setup){0});
	assert_int_equal(provider(w, PHX_EV_re_create, "later"), -EEXIST);
	PHX_STR_SET(role.named.name, "compute");
	assert_int_equal(world_apply(w, &role, NULL), 0);
}

static void requests_are_limited(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	for (int i = 0; i < 16; i++) {
		snprintf(q.name, sizeof(q.name), "q%d", i);
		assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	}
	PHX_STR_SET(q.name, "more");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), -EAGAIN);
	PHX_STR_SET(q.owner, "chem");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
}

/* ---- refusals ---- */

static void partners_must_want_each_other(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2),
			     s = agreement("shop", PHX_RE_WEB, 1);
	PHX_STR_SET(q.partner, "shop");
	PHX_STR_SET(s.partner, "elsewhere");
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &q), 0);
	PHX_STR_SET(s.name, "shop");
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &s), -EINVAL);
	assert_non_null(strstr(w->err.text, "RE shop names elsewhere as its partner, not queue"));
	PHX_STR_SET(s.partner, "queue");
	s.coordination = PHX_RE_COORDINATED_OWN;
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &s), -EINVAL);
	assert_non_null(strstr(w->err.text, "with REs of shop only"));
	s.coordination = PHX_RE_COORDINATED_OTHER;
	s.model = PHX_POLICY_coop2008;
	s.lease_s = 3600;
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &s), -EINVAL);
	assert_non_null(strstr(w->err.text, "one model"));
}

static void another_image_than_the_role_s_is_refused(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	PHX_STR_SET(q.image, "plan9");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), -EINVAL);
	assert_non_null(strstr(w->err.text, "debian-12"));
	PHX_STR_SET(q.image, "debian-12");
	PHX_STR_SET(q.image_version, "7");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), -EINVAL);
	PHX_STR_SET(q.image_version, "1");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &q), 0);
	/* one that the head has, by its digest: tests/unit/re/image.c */
	struct phx_agreement p = agreement("pages", PHX_RE_BATCH, 2);
	PHX_STR_SET(p.image, "plan9");
	PHX_STR_SET(p.image_digest, "p9");
	assert_int_equal(with_agreement(w, PHX_EV_re_request, PHX_RE_WHO_SERVICE, &p), 0);
}

static void too_few_nodes_are_told_and_refused(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 3);
	struct phx_event ev = {.kind = PHX_EV_re_create,
			       .ask = {.who = PHX_RE_WHO_PROVIDER, .agreement = q}};
	struct phx_outcome out = {0};
	nodes_ready(w, 2);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_non_null(
		strstr(note_of(&out, "queue"), "3 nodes to be guaranteed, and the cluster has 2"));
	phx_outcome_fini(&out);
	assert_int_equal(service(w, PHX_EV_re_activate, "queue"), -ENOSPC);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_DEPLOYED);
}

/* ---- pairs ---- */

static void a_batch_re_without_partner_finds_a_web_re(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2),
			     s = agreement("shop", PHX_RE_WEB, 1);
	struct phx_outcome out = {0};
	nodes_ready(w, 3);
	running(w, &s);
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, PHX_RE_WHO_SERVICE, "queue", &out), 0);
	bool told = false;
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		told = told ||
			(!strcmp(act->re, "queue") && !strcmp(act->other_re, "shop") &&
			 strstr(act->text, "no partner was named, and both allow it"));
	assert_true(told);
	phx_outcome_fini(&out);
	const struct phx_re *queue = phx_state_re(&w->s, "queue"),
			    *shop = phx_state_re(&w->s, "shop");
	assert_int_equal(phx_ledger_partner(w->s.ledger, (int)queue->number), shop->number);
	assert_int_equal(phx_ledger_partner(w->s.ledger, (int)shop->number), queue->number);
}

/* ---- between two owners ---- */

/* A node of hpc's queue goes to the shop: what is done to it? */
static bool passes_unwiped(struct world *w, struct phx_setup queue, struct phx_setup shop, bool one,
			   bool other)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2),
			     s = agreement("shop", PHX_RE_WEB, 1);
	struct phx_plan plan;
	/* else the policy takes it back */
	struct phx_event ev = {.kind = PHX_EV_assign, .order.pin = true};
	bool wipes = false;
	q.setup = queue;
	s.setup = shop;
	q.noop_between_owners = one;
	s.noop_between_owners = other;
	nodes_ready(w, 3);
	running(w, &q);
	running(w, &s);
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->pool, "queue"))
			PHX_STR_SET(ev.node, n->name);
	PHX_STR_SET(ev.order.role, "web");
	PHX_STR_SET(ev.order.pool, "shop");
	assert_int_equal(phx_order_plan_of(&w->s, &ev, &plan, &w->err), 0);
	PHX_LIST_EACH(struct phx_step, step, &plan.steps)
		wipes = wipes || step->kind == PHX_STEP_wipe;
	phx_record_fini(&phx_plan_record, &plan);
	/* and nothing else happens when it is done */
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	settle(w);
	assert_string_equal(world_node(w, ev.node)->pool, "shop");
	assert_int_equal(world_node(w, ev.node)->mixed, !wipes);
	return !wipes;
}

static const struct phx_setup noop = {0};
static const struct phx_setup wipe_release = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_RELEASE,
					      PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO};
static const struct phx_setup wipe_assign = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_ASSIGN,
					     PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO};

static void noop_asked_by_both(void **state)
{
	assert_true(passes_unwiped(*state, noop, noop, false, false));
}
static void noop_asked_by_one_is_refused(void **state)
{
	assert_false(passes_unwiped(*state, noop, wipe_assign, false, false));
}
static void noop_asked_by_one_and_one_consent(void **state)
{
	assert_false(passes_unwiped(*state, noop, wipe_assign, true, false));
}
static void noop_asked_by_one_and_both_consent(void **state)
{
	assert_true(passes_unwiped(*state, noop, wipe_assign, true, true));
}
static void noop_asked_by_the_other_and_both_consent(void **state)
{
	assert_true(passes_unwiped(*state, wipe_release, noop, true, true));
}
static void noop_asked_by_the_other_is_refused(void **state)
{
	assert_false(passes_unwiped(*state, wipe_release, noop, false, true));
}
static void noop_asked_by_nobody(void **state)
{
	assert_false(passes_unwiped(*state, wipe_release, wipe_assign, true, true));
}

/* ---- jobs ---- */

static uint64_t submit(struct world *w, const char *re, int64_t limit_ms, bool hold)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 1,
					      .uid = 1000,
					      .gid = 1000,
					      .estimate_ms = limit_ms,
					      .hold = hold}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev.re, re);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static int hold(struct world *w, uint64_t id, bool on)
{
	struct phx_event ev = {.kind = PHX_EV_job_hold, .job_order = {.job = id, .hold = on}};
	return world_apply(w, &ev, NULL);
}

static int state_of(struct world *w, uint64_t id)
{
	return phx_state_job(&w->s, id)->state;
}

static void end(struct world *w, uint64_t id, int64_t status)
{
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = id, .result = status}};
	PHX_STR_SET(ev.node,
		    PHX_LIST_AT(&phx_state_job(&w->s, id)->parts, struct phx_job_part, 0)->node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void alone(struct world *w, bool in_re)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 1);
	nodes_ready(w, 1);
	if (in_re) {
		running(w, &q);
		return;
	}
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	settle(w);
}

static void check_hold(struct world *w, const char *re)
{
	uint64_t held = submit(w, re, 0, true), next = submit(w, re, 0, false);
	assert_int_equal(state_of(w, held), PHX_JOB_QUEUED);
	assert_int_equal(state_of(w, next), PHX_JOB_RUNNING);
	assert_int_equal(hold(w, next, true), -EINVAL);
	assert_non_null(strstr(w->err.text, "running"));
	end(w, next, 0);
	assert_int_equal(state_of(w, held), PHX_JOB_QUEUED);
	assert_int_equal(hold(w, held, false), 0);
	assert_int_equal(state_of(w, held), PHX_JOB_RUNNING);
	uint64_t third = submit(w, re, 0, false);
	assert_int_equal(hold(w, third, true), 0);
	assert_int_equal(hold(w, third, true), 0);
	end(w, held, 0);
	assert_int_equal(state_of(w, third), PHX_JOB_QUEUED);
	assert_int_equal(hold(w, 4711, true), -ENOENT);
}

static void held_jobs_wait(void **state)
{
	alone(*state, false);
	check_hold(*state, "");
}
static void held_jobs_wait_in_an_re(void **state)
{
	alone(*state, true);
	check_hold(*state, "queue");
}

static void check_limit(struct world *w, const char *re)
{
	struct phx_event tick = {.kind = PHX_EV_tick};
	struct phx_list orders = {0};
	uint64_t id = submit(w, re, 30000, false), next = submit(w, re, 0, false);
	assert_int_equal(state_of(w, id), PHX_JOB_RUNNING);
	assert_true(phx_core_next_deadline(&w->s) <= w->now + 30000);
	w->now += 29999;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_int_equal(phx_state_job(&w->s, id)->end, PHX_JOB_END_NONE);
	w->now++;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_int_equal(phx_state_job(&w->s, id)->end, PHX_JOB_END_OVERDUE);
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_int_equal(o->kind, PHX_ORDER_kill);
	phx_record_fini(&phx_order_record, o);
	phx_list_fini(&orders);
	end(w, id, 143);
	assert_int_equal(state_of(w, id), PHX_JOB_TIMEOUT);
	assert_int_equal(phx_state_job(&w->s, id)->kills, 0);
	assert_int_equal(state_of(w, next), PHX_JOB_RUNNING);
}

static void a_job_ends_with_its_time(void **state)
{
	alone(*state, false);
	check_limit(*state, "");
}
static void a_job_of_an_re_ends_with_its_time(void **state)
{
	alone(*state, true);
	check_limit(*state, "queue");
}

static void a_job_larger_than_the_re_can_ever_be(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 2, .uid = 1000, .gid = 1000}};
	alone(w, true);
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev.re, "queue");
	assert_int_equal(world_apply(w, &ev, NULL), -E2BIG);
	assert_non_null(strstr(w->err.text, "queue can never have more than 1"));
	assert_int_equal(w->s.jobs.n, 0);
	phx_event_fini(&ev);
}

/* An agreement without requeueing is told of each job. */
static void the_agreement_forbids_requeueing(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 1);
	q.no_requeue = true;
	nodes_ready(w, 1);
	running(w, &q);
	assert_true(phx_state_job(&w->s, submit(w, "queue", 0, false))->no_requeue);
}

/* ---- trying, destroying ---- */

static void a_try_changes_nothing(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	struct phx_state before;
	struct phx_outcome out = {0};
	struct phx_event ev = {
		.kind = PHX_EV_re_activate, .now_ms = w->now, .re_order.who = PHX_RE_WHO_SERVICE};
	nodes_ready(w, 2);
	ev.now_ms = w->now;
	PHX_STR_SET(ev.re, "queue");
	assert_int_equal(with_agreement(w, PHX_EV_re_create, PHX_RE_WHO_PROVIDER, &q), 0);
	assert_int_equal(phx_record_copy(&phx_state_record, &before, &w->s), 0);
	assert_int_equal(phx_core_try(&w->s, &ev, &out, &w->err), 0);
	assert_true(out.actions.n > 0);
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	phx_outcome_fini(&out);
	PHX_STR_SET(ev.re, "nosuch");
	assert_int_equal(phx_core_try(&w->s, &ev, &out, &w->err), -ENOENT);
	phx_state_fini(&before);
}

/* What an RE without wipe left on a free node stays its owner's; another owner's RE of the same
 * name is no relative. */
static void a_name_that_is_used_again_is_another_tenant(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 1);
	nodes_ready(w, 1);
	running(w, &q);
	assert_int_equal(service(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_string_equal(world_node(w, "n1")->tenant, "hpc");
	assert_int_equal(provider(w, PHX_EV_re_destroy, "queue"), 0);
	assert_string_equal(world_node(w, "n1")->tenant, "hpc");
	assert_string_equal(world_node(w, "n1")->tenant_pool, "");
	PHX_STR_SET(q.owner, "chem");
	q.setup = wipe_assign;
	running(w, &q);
	assert_string_equal(world_node(w, "n1")->tenant, "chem");
	assert_false(world_node(w, "n1")->mixed); /* it was wiped */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_request_waits_until_it_is_granted),
		WORLD_TEST(a_request_is_refused_or_withdrawn),
		WORLD_TEST(a_refusal_is_kept_for_who_asked),
		WORLD_TEST(refusals_are_limited),
		WORLD_TEST(a_check_says_what_the_event_would),
		WORLD_TEST(a_request_reserves_nothing),
		WORLD_TEST(requests_are_limited),
		WORLD_TEST(partners_must_want_each_other),
		WORLD_TEST(another_image_than_the_role_s_is_refused),
		WORLD_TEST(too_few_nodes_are_told_and_refused),
		WORLD_TEST(a_batch_re_without_partner_finds_a_web_re),
		WORLD_TEST(noop_asked_by_both),
		WORLD_TEST(noop_asked_by_one_is_refused),
		WORLD_TEST(noop_asked_by_one_and_one_consent),
		WORLD_TEST(noop_asked_by_one_and_both_consent),
		WORLD_TEST(noop_asked_by_the_other_and_both_consent),
		WORLD_TEST(noop_asked_by_the_other_is_refused),
		WORLD_TEST(noop_asked_by_nobody),
		WORLD_TEST(held_jobs_wait),
		WORLD_TEST(held_jobs_wait_in_an_re),
		WORLD_TEST(a_job_ends_with_its_time),
		WORLD_TEST(a_job_of_an_re_ends_with_its_time),
		WORLD_TEST(a_job_larger_than_the_re_can_ever_be),
		WORLD_TEST(the_agreement_forbids_requeueing),
		WORLD_TEST(a_try_changes_nothing),
		WORLD_TEST(a_name_that_is_used_again_is_another_tenant),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
