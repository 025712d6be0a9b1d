/* Nodes of an RE that are off or silent for a moment keep what they have; they are replaced when
 * the agreement says so, and cleaned when they come later. Whatever is erased, an event says
 * why. */
#include "unit/core/pair.h"

#include "node/holding.h"

enum { REPLACE_MS = 300000 };

static struct phx_list notes; /* struct phx_action: what events have told since */

static int apply(struct world *w, struct phx_event *ev)
{
	struct phx_outcome out = {0};
	int r = world_apply(w, ev, &out);
	PHX_LIST_EACH(struct phx_action, act, &out.actions) {
		struct phx_action *kept =
			act->kind == PHX_ACT_NOTE ? phx_list_push(&notes, sizeof(*kept)) : NULL;
		if (kept)
			*kept = *act;
	}
	phx_outcome_fini(&out);
	return r;
}

/* How many notes say so; `re`: of its history, NULL: any. */
static int told(const char *re, const char *text)
{
	int n = 0;
	PHX_LIST_EACH(struct phx_action, act, &notes)
		n += strstr(act->text, text) &&
			(!re || !strcmp(act->re, re) || !strcmp(act->other_re, re));
	return n;
}

static void later(struct world *w, int64_t ms)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	w->now += ms;
	assert_int_equal(apply(w, &ev), 0);
}

static void tell(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(apply(w, &ev), 0);
}

static int order(struct world *w, int kind, const char *node, const char *by)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.by, by);
	return apply(w, &ev);
}

static void seen_off(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_OFF};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(apply(w, &ev), 0);
}

/* Registers: a start through the deploy initramfs, or the system behind it. */
static void hello(struct world *w, const char *node, int env)
{
	struct phx_event ev = {.kind = PHX_EV_hello, .hello = {.env = env, .echoes = true}};
	const struct phx_node *n = world_node(w, node);
	w->boots += env == PHX_ENV_DEPLOY;
	PHX_STR_SET(ev.node, node);
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", w->boots);
	PHX_STR_SET(ev.hello.system_image, "debian-12");
	PHX_STR_SET(ev.hello.system_digest, "d1");
	PHX_STR_SET(ev.hello.actual_role, env == PHX_ENV_OS ? n->role : "");
	world_facts(&ev.hello.facts, world_index(node));
	assert_int_equal(apply(w, &ev), 0);
	phx_event_fini(&ev);
}

static void in_health(struct world *w, const char *node)
{
	const struct phx_node *n = world_node(w, node);
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = true};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.report.actual_role, n->role);
	phx_role_identity(phx_state_role(&w->s, n->role), ev.report.actual_identity,
			  sizeof(ev.report.actual_identity));
	assert_int_equal(apply(w, &ev), 0);
}

static void starts(struct world *w, const char *node)
{
	hello(w, node, PHX_ENV_DEPLOY);
	hello(w, node, PHX_ENV_OS);
	in_health(w, node);
}

/* One RE that erases on release, with `lower` of the five nodes; its lease is an hour. */
static void alone_with(struct world *w, uint32_t lower, uint32_t replace_after_s, const char *role,
		       struct phx_setup setup)
{
	struct phx_agreement q =
		agreement("queue", strcmp(role, "compute") ? PHX_RE_WEB : PHX_RE_BATCH, lower);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	PHX_STR_SET(q.role, role);
	q.lease_s = 3600;
	q.replace_after_s = replace_after_s;
	q.setup = setup;
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(held(w, "queue"), lower);
	phx_list_fini(&notes);
}

static void alone(struct world *w, uint32_t lower, uint32_t replace_after_s, const char *role)
{
	alone_with(w, lower, replace_after_s, role,
		   (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_RELEASE,
				      PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
}

static int share_of(struct world *w, const char *node)
{
	return world_node(w, node)->allocation;
}

/* Nothing was planned for it since: it has its role and its data. */
static void kept_all(struct world *w, const char *node, uint64_t epoch)
{
	const struct phx_node *n = world_node(w, node);
	assert_int_equal(n->epoch, epoch);
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->pool, "queue");
	assert_true(n->dirty);
	assert_int_equal(told(NULL, "is erased"), 0);
	assert_int_equal(told(NULL, "goes from"), 0);
}

/* ---- for a moment ---- */

static void off_for_a_moment(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	uint64_t epoch = world_node(w, "n2")->epoch;
	seen_off(w, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_int_equal(told("queue", "n2 of RE queue is away"), 1);
	assert_int_equal(phx_core_next_deadline(&w->s), w->now + REPLACE_MS);
	later(w, 12000);
	hello(w, "n2", PHX_ENV_DEPLOY);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_true(phx_node_boots_local(&w->s, world_node(w, "n2")));
	hello(w, "n2", PHX_ENV_OS);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY); /* its services start */
	in_health(w, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
	assert_int_equal(told("queue", "n2 is back in RE queue after 12 s"), 1);
	assert_int_equal(held(w, "queue"), 3);
	kept_all(w, "n2", epoch);
	later(w, 2 * REPLACE_MS);
	kept_all(w, "n2", epoch);
}

static void silent_for_a_moment(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "web");
	uint64_t epoch = world_node(w, "n2")->epoch;
	tell(w, PHX_EV_missing, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	later(w, 12000);
	tell(w, PHX_EV_back, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
	kept_all(w, "n2", epoch);
}

/* A start that is over before anybody has noticed a silence: its job is lost, the node is not. */
static void restarted_under_a_job(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	uint64_t id = submit(w, 1);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node,
		    PHX_LIST_AT(&phx_state_job(&w->s, id)->parts, struct phx_job_part, 0)->node);
	uint64_t epoch = world_node(w, node)->epoch;
	hello(w, node, PHX_ENV_DEPLOY);
	assert_int_equal(share_of(w, node), PHX_ALLOCATION_AWAY);
	const struct phx_job *j = phx_state_job(&w->s, id);
	assert_int_equal(j->kills, 1);
	assert_int_equal(j->state, PHX_JOB_RUNNING); /* on another one */
	assert_string_not_equal(PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node, node);
	hello(w, node, PHX_ENV_OS);
	in_health(w, node);
	assert_int_equal(held(w, "queue"), 3);
	kept_all(w, node, epoch);
}

/* Nothing is started on it meanwhile, and nobody is granted for it. */
static void nothing_starts_on_it(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	uint64_t wide = submit(w, 3);
	assert_int_equal(phx_state_job(&w->s, wide)->state, PHX_JOB_QUEUED);
	assert_int_equal(told(NULL, "goes from"), 0);
	starts(w, "n2");
	assert_int_equal(phx_state_job(&w->s, wide)->state, PHX_JOB_RUNNING);
}

static void in_memory(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "ramweb");
	seen_off(w, "n2");
	later(w, 12000);
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, "n2");
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++w->boots);
	world_facts(&ev.hello.facts, 2);
	assert_int_equal(apply(w, &ev), 0);
	phx_event_fini(&ev);
	assert_non_null(phx_node_step(world_node(w, "n2"))); /* it is brought there again */
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_int_equal(world_node(w, "n2")->away_until_ms, 0);
	settle(w);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
	assert_int_equal(held(w, "queue"), 3);
	assert_int_equal(told(NULL, "is erased"), 0);
}

static void rebuilt_by_hand(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	assert_int_equal(order(w, PHX_EV_rebuild, "n2", "uid:0"), 0);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	/* its plan ends by itself: no time runs */
	assert_int_equal(world_node(w, "n2")->away_until_ms, 0);
	assert_int_equal(told("queue", "n2 is installed anew: rebuild ordered by uid:0"), 1);
	settle(w);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
	assert_int_equal(held(w, "queue"), 3);
}

static void a_copy_goes_on(void **state)
{
	struct world *w = *state;
	struct phx_state copy;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	phx_state_fini(&w->s);
	w->s = copy;
	starts(w, "n2");
	assert_int_equal(held(w, "queue"), 3);
}

/* ---- for longer ---- */

static void replaced_with_a_reason(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	later(w, REPLACE_MS - 1000);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_int_equal(told(NULL, "goes from"), 0);
	later(w, 4000);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
	assert_int_equal(told("queue",
			      "n2 is replaced: RE queue gave it up: silent for 5 min 3 s, it is "
			      "off, replace_after is "
			      "5 min"),
			 1);
	/* at once, though the lease unit is an hour */
	assert_int_equal(
		told("queue", "goes from free to queue: nodes of the lower bound were missing"), 1);
	settle(w);
	assert_int_equal(held(w, "queue"), 3);
	/* it comes, and is one too many: erased, as its agreement says, and why is told */
	hello(w, "n2", PHX_ENV_DEPLOY);
	assert_int_equal(told("queue",
			      "n2 is erased: RE queue gave it up: silent for 5 min 3 s, it is off, "
			      "replace_after is 5 "
			      "min; the agreement of queue says wipe on release"),
			 1);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
	assert_false(world_node(w, "n2")->dirty);
	assert_string_equal(phx_text(world_node(w, "n2")->gave_up), "");
}

/* Nobody was free to replace it: it is taken back as it is. */
static void wanted_back(void **state)
{
	struct world *w = *state;
	alone(w, 5, 300, "compute");
	uint64_t erased = w->erasures;
	tell(w, PHX_EV_missing, "n2");
	later(w, REPLACE_MS);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
	tell(w, PHX_EV_back, "n2");
	settle(w);
	assert_int_equal(held(w, "queue"), 5);
	assert_int_equal(w->erasures, erased);
	assert_int_equal(told(NULL, "is erased"), 0);
	assert_string_equal(phx_text(world_node(w, "n2")->gave_up), "");
}

/* It is heard, and does not serve: that is no service either. */
static void heard_and_not_in_health(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	hello(w, "n2", PHX_ENV_DEPLOY);
	hello(w, "n2", PHX_ENV_OS);
	later(w, REPLACE_MS);
	assert_int_equal(told("queue", "not in service again for 5 min"), 2);
	settle(w);
	assert_int_equal(held(w, "queue"), 3);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
}

/* It came by itself, without what it was given, and is in the best of health: that is no service of
 * the RE. */
static void heard_with_something_else(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	hello(w, "n2", PHX_ENV_DEPLOY);
	/* what the deploy initramfs says of the disk is not what serves */
	struct phx_event ev = {.kind = PHX_EV_report,
			       .node = "n2",
			       .report = {.healthy = true, .actual_role = "compute"}};
	assert_int_equal(apply(w, &ev), 0);
	assert_int_equal(told(NULL, "is back in RE"), 0);
	hello(w, "n2", PHX_ENV_OS);
	PHX_STR_SET(ev.report.actual_role, "guest");
	assert_int_equal(apply(w, &ev), 0);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	in_health(w, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
}

/* Somebody looks after it: its silence before that is no reason to replace it. */
static void rebuilt_after_a_long_silence(void **state)
{
	struct world *w = *state;
	alone(w, 5, 60, "compute");
	submit(w, 5);
	tell(w, PHX_EV_missing, "n2");
	later(w, 65000);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
	assert_int_equal(order(w, PHX_EV_rebuild, "n2", "uid:0"), 0);
	world_run(w, "n2");
	assert_int_equal(told(NULL, "is replaced"), 0);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
}

/* After a plan that did not bring it back its time runs again: nobody is waited for without end. */
static void away_without_a_plan_has_a_time(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	world_node(w, "n2")->away_until_ms = 0; /* as while a plan is under way */
	hello(w, "n2", PHX_ENV_DEPLOY);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_int_equal(world_node(w, "n2")->away_until_ms, w->now + REPLACE_MS);
}

/* By hand, in the pool of the RE: it serves there, and is not one of those that the RE counts
 * on. */
static void given_another_role(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	struct phx_event ev = {
		.kind = PHX_EV_assign, .node = "n2", .order = {.role = "guest", .pool = "queue"}};
	assert_int_equal(apply(w, &ev), 0);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
	world_run(w, "n2");
	assert_string_equal(world_node(w, "n2")->role, "guest");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
}

/* Cancelled by hand, a node that an RE sends for would be sent for again. */
static void what_a_policy_sends_is_not_cancelled(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	later(w, REPLACE_MS);
	const struct phx_node *n =
		world_node(w, share_of(w, "n4") == PHX_ALLOCATION_COMING ? "n4" : "n5");
	assert_int_equal(n->allocation, PHX_ALLOCATION_COMING);
	uint64_t epoch = n->epoch;
	assert_int_equal(order(w, PHX_EV_cancel, n->name, "uid:0"), -EPERM);
	assert_non_null(strstr(w->err.text, "by the policy of an RE"));
	settle(w);
	assert_int_equal(n->epoch, epoch);
	assert_int_equal(held(w, "queue"), 3);
}

/* Somebody ordered it away meanwhile: it is not waited for any more. */
static void drained_while_it_is_away(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_int_equal(order(w, PHX_EV_drain, "n2", "uid:0"), 0);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_MAINTENANCE);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
	assert_int_equal(held(w, "queue"), 3);
}

static void replaced_at_once(void **state)
{
	struct world *w = *state;
	alone(w, 3, 0, "compute");
	seen_off(w, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
}

/* The job's heartbeat timeout ends first; a node that was silent for longer than its RE waits has
 * used up its time by then. */
static void a_job_is_waited_for(void **state)
{
	struct world *w = *state;
	alone(w, 5, 300, "compute");
	uint64_t id = submit(w, 5);
	tell(w, PHX_EV_missing, "n2");
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_HELD);
	later(w, 90000);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_AWAY);
	assert_int_equal(world_node(w, "n2")->away_until_ms, w->now - 90000 + REPLACE_MS);
	assert_int_equal(phx_state_job(&w->s, id)->end, PHX_JOB_END_KILLED);
}

/* ---- who may replace it ---- */

/* It reports itself so that nothing can be planned on it. */
static void spoil(struct world *w, const char *node)
{
	struct phx_node *n = world_node(w, node);
	PHX_LIST_AT(&n->facts.disks, struct phx_disk_facts, 0)->read_only = true;
}

static void one_that_cannot_serve_is_passed_over(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	spoil(w, "n4");
	seen_off(w, "n2");
	later(w, REPLACE_MS);
	assert_int_equal(world_node(w, "n4")->state, PHX_NODE_READY);
	assert_non_null(strstr(world_node(w, "n4")->reason, "cannot go to queue"));
	assert_int_equal(share_of(w, "n4"), PHX_ALLOCATION_FREE); /* for others */
	settle(w);
	assert_string_equal(world_node(w, "n5")->pool, "queue");
	assert_int_equal(held(w, "queue"), 3);
	/* and where there is no other, it is not touched either, until it tells news */
	seen_off(w, "n3");
	later(w, REPLACE_MS);
	assert_int_equal(world_node(w, "n4")->state, PHX_NODE_READY);
	assert_int_equal(share_of(w, "n4"), PHX_ALLOCATION_FREE);
	assert_int_equal(told("queue", "n4 is passed over: cannot go to queue"), 1);
	later(w, 10 * REPLACE_MS);
	assert_int_equal(told(NULL, "n4 is passed over"), 1);
	/* its disk is a good one now */
	assert_int_equal(world_hello(w, "n4", PHX_ENV_DEPLOY, true), 0);
	settle(w);
	assert_string_equal(world_node(w, "n4")->pool, "queue");
	assert_int_equal(held(w, "queue"), 3);
}

/* ---- deactivated meanwhile ---- */

static void unwell(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_report, .text = "does not answer"};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.report.actual_role, world_node(w, node)->actual_role);
	PHX_STR_SET(ev.report.actual_identity, world_node(w, node)->actual_identity);
	assert_int_equal(apply(w, &ev), 0);
}

/* Others are given back at once; this one is on its way out of maintenance, or into it. */
static void rest_is_over(struct world *w, const char *node)
{
	assert_non_null(phx_node_step(world_node(w, node)));
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	for (unsigned i = 1; i <= NODES; i++) {
		char other[8];
		snprintf(other, sizeof(other), "n%u", i);
		if (strcmp(other, node))
			world_run(w, other);
	}
	assert_false(phx_state_re(&w->s, "queue")->active);
	settle(w);
}

static void deactivated_while_it_is_resumed(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	assert_int_equal(order(w, PHX_EV_drain, "n2", ""), 0);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_MAINTENANCE);
	unwell(w, "n2");
	assert_int_equal(order(w, PHX_EV_resume, "n2", ""), 0);
	rest_is_over(w, "n2");
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
	assert_string_equal(world_node(w, "n2")->pool, PHX_POOL_FREE);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

static void deactivated_while_it_is_drained(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	assert_int_equal(order(w, PHX_EV_drain, "n2", ""), 0);
	rest_is_over(w, "n2");
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_MAINTENANCE);
	assert_int_equal(order(w, PHX_EV_resume, "n2", ""), 0);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

/* Given there by hand when the RE was inactive already: that is what somebody wants. */
static void ordered_there_afterwards(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {
		.kind = PHX_EV_assign, .node = "n2", .order = {.role = "compute", .pool = "queue"}};
	alone(w, 3, 300, "compute");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	w->now += 1000;
	assert_int_equal(apply(w, &ev), 0);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n2")->pool, "queue");
}

static void deactivated_and_destroyed(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	assert_int_equal(share_of(w, "n2"), PHX_ALLOCATION_OUTSIDE);
	assert_string_equal(phx_text(world_node(w, "n2")->gave_up),
			    "RE queue was deactivated while it was away");
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_MAINTENANCE);
	assert_string_equal(world_node(w, "n2")->pool, "");
	assert_int_equal(order(w, PHX_EV_resume, "n2", ""), -EHOSTUNREACH);
	assert_non_null(strstr(w->err.text, "as soon as it is heard"));
	hello(w, "n2", PHX_ENV_DEPLOY);
	assert_int_equal(told(NULL, "n2 is erased: RE queue was deactivated while it was away"), 1);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
	assert_false(world_node(w, "n2")->dirty);
}

static void deactivated_and_heard(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	tell(w, PHX_EV_missing, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_string_equal(world_node(w, "n2")->pool, "queue");
	tell(w, PHX_EV_back, "n2");
	assert_int_equal(told(NULL, "n2 is erased: RE queue was deactivated"), 1);
	settle(w);
	assert_string_equal(world_node(w, "n2")->pool, "free");
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

/* Who pinned it decides over it. */
static void deactivated_beside_a_pinned_one(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	struct phx_event ev = {
		.kind = PHX_EV_assign, .node = "n2", .order = {.role = "compute", .pin = true}};
	assert_int_equal(apply(w, &ev), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_string_equal(phx_text(world_node(w, "n2")->gave_up), "");
	assert_string_equal(world_node(w, "n2")->role, "compute");
	assert_int_equal(told(NULL, "n2 is released"), 0);
}

static void deactivated_and_activated_again(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	uint64_t epoch = world_node(w, "n2")->epoch;
	tell(w, PHX_EV_missing, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	tell(w, PHX_EV_back, "n2");
	/* whoever the RE has instead, nothing was done to it while it was away */
	assert_true(world_node(w, "n2")->epoch == epoch ||
		    told(NULL, "n2 is erased: no RE wants it"));
}

/* A job was on it, so that the ledger learned of the loss after the deactivation. */
static void deactivated_under_a_silent_job(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	submit(w, 3);
	tell(w, PHX_EV_missing, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	for (const char *const *at = (const char *const[]){"n1", "n3", NULL}; *at; at++) {
		struct phx_event ev = {.kind = PHX_EV_job_result,
				       .job_result = {.job = 1, .result = 143}};
		PHX_STR_SET(ev.node, *at);
		assert_int_equal(apply(w, &ev), 0);
	}
	later(w, 90000);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
	hello(w, "n2", PHX_ENV_DEPLOY);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
	assert_false(world_node(w, "n2")->dirty);
}

/* What is done with it in the pool of an RE that is no more does not make it serve there again. */
static void deactivated_and_resumed_after_a_start(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	assert_int_equal(order(w, PHX_EV_drain, "n2", "uid:0"), 0);
	settle(w);
	seen_off(w, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	hello(w, "n2", PHX_ENV_DEPLOY);
	hello(w, "n2", PHX_ENV_OS);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_MAINTENANCE);
	assert_int_equal(order(w, PHX_EV_resume, "n2", "uid:0"), 0);
	assert_int_equal(world_node(w, "n2")->plan.request, PHX_REQUEST_release);
	settle(w);
	assert_string_equal(world_node(w, "n2")->pool, "free");
	assert_string_equal(phx_text(world_node(w, "n2")->gave_up), "");
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

static void deactivated_with_its_system_in_memory(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "ramweb");
	seen_off(w, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, "n2");
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++w->boots);
	world_facts(&ev.hello.facts, 2);
	assert_int_equal(apply(w, &ev), 0);
	phx_event_fini(&ev);
	assert_int_equal(told(NULL, "is brought there again"), 0);
	settle(w);
	assert_string_equal(world_node(w, "n2")->pool, "free");
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

static void its_release_is_not_cancelled(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	tell(w, PHX_EV_missing, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	tell(w, PHX_EV_back, "n2");
	world_run_to(w, "n2", PHX_STEP_stop);
	assert_int_equal(order(w, PHX_EV_cancel, "n2", "uid:0"), -EPERM);
	assert_non_null(strstr(
		w->err.text,
		"n2 would be released again at once: RE queue was deactivated while it was away"));
	settle(w);
	assert_string_equal(world_node(w, "n2")->pool, "free");
}

/* It is tried once, and people are told: not at every event again. */
static void destroyed_and_cannot_be_released(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	seen_off(w, "n2");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, "n2");
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++w->boots);
	PHX_STR_SET(ev.hello.system_digest, "d1");
	world_facts(&ev.hello.facts, 2);
	PHX_LIST_AT(&ev.hello.facts.disks, struct phx_disk_facts, 0)->read_only = true;
	assert_int_equal(apply(w, &ev), 0);
	phx_event_fini(&ev);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_QUARANTINED);
	assert_true(world_node(w, "n2")->dirty);
	phx_list_fini(&notes);
	seen_off(w, "n1");
	hello(w, "n1", PHX_ENV_DEPLOY);
	assert_int_equal(told(NULL, "n2"), 0);
}

/* What only a person can end is named, with the command. */
static void destroy_names_the_command(void **state)
{
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	assert_int_equal(order(w, PHX_EV_drain, "n2", "uid:0"), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), -EBUSY);
	assert_non_null(strstr(w->err.text, "n1, at step "));
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), -EINVAL);
	assert_non_null(strstr(w->err.text, "n2, which is maintenance: phx node release n2"));
	/* out of maintenance: it is released by itself */
	assert_int_equal(order(w, PHX_EV_resume, "n2", "uid:0"), 0);
	settle(w);
	assert_string_equal(world_node(w, "n2")->pool, "free");
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

/* ---- another has its place ---- */

/* Back in service it would be one too many, and be erased: a cancelled drain promises that its data
 * stay. */
static void a_drained_one_that_was_replaced_is_not_called_back(void **state)
{
	static const int kinds[] = {PHX_EV_drain, PHX_EV_release};
	struct world *w = *state;
	alone(w, 3, 300, "compute");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		const char *node = i ? "n3" : "n2";
		uint64_t erased = w->erasures;
		assert_int_equal(order(w, kinds[i], node, "uid:0"), 0);
		world_run_to(w, node, i ? PHX_STEP_stop : PHX_STEP_drain);
		assert_int_equal(share_of(w, node), PHX_ALLOCATION_OUTSIDE);
		assert_int_equal(order(w, PHX_EV_cancel, node, "uid:0"), -EPERM);
		assert_non_null(strstr(w->err.text,
				       "RE queue has others in its place: in service again it "
				       "would be released, and erased as agreed;"));
		assert_int_equal(w->erasures, erased);
		settle(w);
	}
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_MAINTENANCE);
	assert_true(world_node(w, "n2")->dirty);
	assert_int_equal(held(w, "queue"), 3);
	/* out of maintenance it goes to the free pool, and whoever orders that is told */
	struct phx_event ev = {.kind = PHX_EV_resume};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_non_null(
		strstr(out.text,
		       "RE queue has others in its place: n2 is released, and erased as agreed"));
	phx_outcome_fini(&out);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
}

/* What is said follows the agreement. */
static void without_a_wipe_nobody_says_erased(void **state)
{
	struct world *w = *state;
	alone_with(w, 3, 300, "compute", (struct phx_setup){.mode = PHX_SETUP_NOOP});
	uint64_t erased = w->erasures;
	assert_int_equal(order(w, PHX_EV_drain, "n2", "uid:0"), 0);
	world_run_to(w, "n2", PHX_STEP_drain);
	assert_int_equal(order(w, PHX_EV_cancel, "n2", "uid:0"), -EPERM);
	assert_non_null(strstr(
		w->err.text,
		"in service again it would be released, and not erased, as agreed; drain goes on"));
	settle(w);
	struct phx_event ev = {.kind = PHX_EV_resume};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_non_null(strstr(
		out.text,
		"RE queue has others in its place: n2 is released, and not erased, as agreed"));
	phx_outcome_fini(&out);
	settle(w);
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_READY);
	assert_string_equal(world_node(w, "n2")->pool, "free");
	assert_int_equal(w->erasures, erased);
}

/* Nobody else was there to take its place. */
static void a_drained_one_that_is_missed_is_called_back(void **state)
{
	struct world *w = *state;
	alone(w, 5, 300, "compute");
	uint64_t erased = w->erasures;
	assert_int_equal(order(w, PHX_EV_drain, "n2", "uid:0"), 0);
	world_run_to(w, "n2", PHX_STEP_drain);
	assert_int_equal(order(w, PHX_EV_cancel, "n2", "uid:0"), 0);
	settle(w);
	assert_int_equal(held(w, "queue"), 5);
	assert_int_equal(w->erasures, erased);
}

/* ---- the others ---- */

static void resume_of_one_that_is_off(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(order(w, PHX_EV_drain, "n1", "uid:0"), 0);
	world_run(w, "n1");
	seen_off(w, "n1");
	phx_list_fini(&notes);
	assert_int_equal(order(w, PHX_EV_resume, "n1", "uid:0"), 0);
	assert_int_equal(
		told(NULL, "n1 is out of maintenance, and it is off: it serves when it is heard"),
		1);
}

static void orders_are_named(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(order(w, PHX_EV_release, "n1", "uid:7"), 0);
	assert_int_equal(told(NULL,
			      "n1 is erased: release ordered by uid:7; the agreement of guest says "
			      "wipe on release"),
			 1);
	assert_string_equal(
		world_node(w, "n1")->plan.cause,
		"release ordered by uid:7; the agreement of guest says wipe on release");
	world_run(w, "n1");
	assert_int_equal(order(w, PHX_EV_wipe, "n1", "uid:8"), 0);
	assert_int_equal(told(NULL, "n1 is erased: wipe ordered by uid:8; the order says so"), 1);
	world_run(w, "n1");
	phx_list_fini(&notes);
}

static int teardown(void **state)
{
	phx_list_fini(&notes);
	return world_teardown(state);
}

#define AWAY_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AWAY_TEST(off_for_a_moment),
		AWAY_TEST(silent_for_a_moment),
		AWAY_TEST(restarted_under_a_job),
		AWAY_TEST(nothing_starts_on_it),
		AWAY_TEST(in_memory),
		AWAY_TEST(rebuilt_by_hand),
		AWAY_TEST(a_copy_goes_on),
		AWAY_TEST(replaced_with_a_reason),
		AWAY_TEST(wanted_back),
		AWAY_TEST(heard_and_not_in_health),
		AWAY_TEST(heard_with_something_else),
		AWAY_TEST(rebuilt_after_a_long_silence),
		AWAY_TEST(away_without_a_plan_has_a_time),
		AWAY_TEST(given_another_role),
		AWAY_TEST(what_a_policy_sends_is_not_cancelled),
		AWAY_TEST(drained_while_it_is_away),
		AWAY_TEST(replaced_at_once),
		AWAY_TEST(a_job_is_waited_for),
		AWAY_TEST(one_that_cannot_serve_is_passed_over),
		AWAY_TEST(deactivated_while_it_is_resumed),
		AWAY_TEST(deactivated_while_it_is_drained),
		AWAY_TEST(ordered_there_afterwards),
		AWAY_TEST(deactivated_and_destroyed),
		AWAY_TEST(deactivated_and_heard),
		AWAY_TEST(deactivated_beside_a_pinned_one),
		AWAY_TEST(deactivated_and_activated_again),
		AWAY_TEST(deactivated_under_a_silent_job),
		AWAY_TEST(deactivated_and_resumed_after_a_start),
		AWAY_TEST(deactivated_with_its_system_in_memory),
		AWAY_TEST(its_release_is_not_cancelled),
		AWAY_TEST(destroyed_and_cannot_be_released),
		AWAY_TEST(destroy_names_the_command),
		AWAY_TEST(a_drained_one_that_was_replaced_is_not_called_back),
		AWAY_TEST(without_a_wipe_nobody_says_erased),
		AWAY_TEST(a_drained_one_that_is_missed_is_called_back),
		AWAY_TEST(resume_of_one_that_is_off),
		AWAY_TEST(orders_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
