/* The core under chance: 200 lives of 300 events each, sound and unsound. After every event: the
 * invariants hold, what is refused or changes nothing leaves the state as it was, the journalled
 * event alone brings the same state and the same actions about, and no tenant's data has come where
 * an agreement wants it erased. When the faults stop, every node comes to rest. A failure names its
 * seed: PHX_SEED=N runs that life alone. */
#include "unit/core/world.h"

#include "base/json.h"

enum { LIVES = 200, EVENTS = 300, MACHINES = 5, REST_TURNS = 600 };

/* What is true of a machine, whatever the core believes. */
struct machine {
	char node[PHX_NAME_MAX];
	bool on;
	int env;
	unsigned boot, key;
	uint64_t start; /* whose token it has shown */
	char digest[65], role[PHX_NAME_MAX], identity[200];
	/* whose data is on its disks */
	char owner[PHX_NAME_MAX];
	bool wipe_on_release; /* that owner's agreement wants it */
	bool dirty;           /* as the core had it before the event */
};

struct life {
	struct world *w;
	struct phx_state twin;
	struct machine m[MACHINES];
	uint64_t seed, dice;
	unsigned journalled;
};

static uint32_t roll(struct life *l, uint32_t n)
{
	l->dice = l->dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(l->dice >> 33) % n;
}

static bool chance(struct life *l, uint32_t percent)
{
	return roll(l, 100) < percent;
}

#define FAIL(l, fmt, ...) \
	fail_msg("PHX_SEED=%llu: " fmt, (unsigned long long)(l)->seed, __VA_ARGS__)

/* ---- one event, and what must hold ---- */

static void replay(struct life *l, const struct phx_event *ev, const struct phx_outcome *out)
{
	struct phx_event again;
	struct phx_outcome mine = {0};
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_event_record, ev);
	assert_non_null(text);
	PHX_AUTO_JSON json_t *j = json_loads(text, 0, NULL);
	assert_non_null(j);
	if (phx_json_to_record(&phx_event_record, j, &again, &err) < 0 ||
	    phx_core_apply(&l->twin, &again, &mine, &err) < 0)
		FAIL(l, "replay of %s: %s", phx_enum_name(&phx_event_kind_names, ev->kind),
		     err.text);
	bool same = out->actions.n == mine.actions.n;
	for (uint32_t i = 0; same && i < out->actions.n; i++)
		same = phx_record_equal(&phx_action_record,
					PHX_LIST_AT(&out->actions, struct phx_action, i),
					PHX_LIST_AT(&mine.actions, struct phx_action, i));
	if (!same || !phx_record_equal(&phx_state_record, &l->twin, &l->w->s))
		FAIL(l, "%s comes out differently at replay",
		     phx_enum_name(&phx_event_kind_names, ev->kind));
	phx_outcome_fini(&mine);
	phx_event_fini(&again);
}

static bool wants(const struct phx_pool *p, int moment)
{
	return p->setup.mode == PHX_SETUP_WIPE &&
		(p->setup.when == PHX_WHEN_BOTH || p->setup.when == moment);
}

/* The last wipe of the node's plan has been reported done by this event. */
static bool was_erased(const struct phx_node *before, const struct phx_node *n,
		       const struct phx_event *ev)
{
	const struct phx_step *was = before ? phx_node_step(before) : NULL;
	if (!was || was->kind != PHX_STEP_wipe || ev->kind != PHX_EV_step_result ||
	    !ev->answer.verified_bytes)
		return false;
	for (uint32_t i = before->plan.cursor + 1; i < before->plan.steps.n; i++)
		if (PHX_LIST_AT(&before->plan.steps, struct phx_step, i)->kind == PHX_STEP_wipe)
			return false;
	/* it is done, or with it the plan, and the next has begun */
	bool done = n->plan.epoch != before->plan.epoch;
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps)
		done = done || (s->id == was->id && s->status == PHX_STEP_DONE);
	return done;
}

/* The promise, counted apart from the core: data whose agreement wants an erase never is in another
 * owner's hands. */
static void follow_data(struct life *l, struct machine *m, const struct phx_event *ev,
			const struct phx_state *before)
{
	const struct phx_node *n = phx_state_node(&l->w->s, m->node),
			      *old = phx_state_node(before, m->node);
	if (!n) {
		if (m->dirty && !(ev->kind == PHX_EV_node_remove && ev->order.force))
			FAIL(l, "%s is forgotten, and with it whose data it holds", m->node);
		m->owner[0] = '\0'; /* whoever forgets by force answers for its disks */
		m->wipe_on_release = m->dirty = false;
		return;
	}
	if (was_erased(old, n, ev)) {
		m->owner[0] = '\0';
		m->wipe_on_release = false;
	} else if (m->dirty && !n->dirty) {
		FAIL(l, "%s passes for erased after %s", m->node,
		     phx_enum_name(&phx_event_kind_names, ev->kind));
	}
	m->dirty = n->dirty;
	const struct phx_pool *p = phx_state_pool(&l->w->s, n->pool);
	if (!p)
		return;
	bool external = m->owner[0] && strcmp(m->owner, p->owner);
	/* nobody's: its key is destroyed, and whoever is to have it waits until it is read back */
	bool unread = n->key_unread && !strcmp(p->name, PHX_POOL_FREE);
	if (external && !unread &&
	    (m->wipe_on_release || (n->state == PHX_NODE_ACTIVE && wants(p, PHX_WHEN_ASSIGN))))
		FAIL(l, "%s holds data of %s in pool %s of %s", m->node, m->owner, p->name,
		     p->owner);
	if (!n->dirty || strcmp(n->tenant_pool, p->name))
		return;
	if (external)
		m->wipe_on_release = false;
	PHX_STR_SET(m->owner, p->owner);
	m->wipe_on_release = m->wipe_on_release || wants(p, PHX_WHEN_RELEASE);
}

static int happens(struct life *l, struct phx_event *ev, struct phx_outcome *ret)
{
	struct phx_outcome mine = {0}, *out = ret ? ret : &mine;
	struct phx_state before;
	const char *kind = phx_enum_name(&phx_event_kind_names, ev->kind);
	l->w->now += roll(l, 40) ? roll(l, 1500) : roll(l, 200000);
	assert_int_equal(phx_record_copy(&phx_state_record, &before, &l->w->s), 0);
	struct phx_err why = {0};
	ev->now_ms = l->w->now;
	phx_err_clear(&l->w->err);
	int r = phx_core_apply(&l->w->s, ev, out, &l->w->err);
	if (phx_state_check(&l->w->s, &why) < 0)
		FAIL(l, "after %s: %s", kind, why.text);
	bool counts = l->w->s.seq != before.seq;
	if (r < 0 && !l->w->err.text[0])
		FAIL(l, "%s is refused without a word", kind);
	if (r == 0 && !counts)
		before.now_ms = l->w->s.now_ms;
	if (!counts && !phx_record_equal(&phx_state_record, &before, &l->w->s))
		FAIL(l, "%s changes the state and is %s", kind,
		     r < 0 ? "refused" : "not journalled");
	if (counts) {
		assert_true(r == 0 && l->w->s.seq == before.seq + 1);
		replay(l, ev, out);
		l->journalled++;
		for (unsigned i = 0; i < MACHINES; i++)
			follow_data(l, &l->m[i], ev, &before);
	}
	phx_state_fini(&before);
	phx_outcome_fini(&mine);
	phx_event_fini(ev);
	return r;
}

/* ---- what machines do ---- */

static void says_hello(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_hello, .hello = {.env = m->env, .echoes = true}};
	PHX_STR_SET(ev.node, m->node);
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "%s-%u", m->node, m->boot);
	PHX_STR_SET(ev.hello.system_digest, m->digest);
	PHX_STR_SET(ev.hello.system_image, m->digest[0] ? "debian-12" : "");
	PHX_STR_SET(ev.hello.actual_role, m->role);
	PHX_STR_SET(ev.hello.actual_identity, m->identity);
	world_facts(&ev.hello.facts, world_index(m->node));
	happens(l, &ev, NULL);
}

static void asks_for_certificate(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_enrol};
	world_event_mac(&ev.enrol.macs, world_index(m->node));
	snprintf(ev.enrol.key_fp, sizeof(ev.enrol.key_fp), "key-%u", m->key);
	snprintf(ev.enrol.serial, sizeof(ev.enrol.serial), "serial-%u", world_index(m->node));
	ev.enrol.start = m->start;
	happens(l, &ev, NULL);
}

/* It was started by an order, and given the token of that: it makes a key for it. */
static void shows_token(struct life *l, struct machine *m)
{
	const struct phx_node *n = phx_state_node(&l->w->s, m->node);
	if (m->env != PHX_ENV_DEPLOY || !n || !n->start || n->start == m->start)
		return;
	m->start = n->start;
	m->key++;
	asks_for_certificate(l, m);
}

static void tells(struct life *l, struct machine *m, int64_t result)
{
	const struct phx_node *n = phx_state_node(&l->w->s, m->node);
	const struct phx_step *step = phx_node_step(n);
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.result = result,
					  .step_id = step->id,
					  .epoch = n->plan.epoch,
					  .nonce = step->nonce}};
	if (phx_step_info((enum phx_step_kind)step->kind)->executor == PHX_EXEC_KEY)
		ev.kind = PHX_EV_key_result;
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.text, result ? "it did not work" : "");
	PHX_STR_SET(ev.answer.erased_disk, step->disk);
	ev.answer.setup.method = ev.answer.used = step->method;
	PHX_STR_SET(ev.answer.read_sha256, "sum");
	ev.answer.erased_bytes = step->kind == PHX_STEP_wipe ? 4ULL << 30 : 0;
	ev.answer.verified_bytes = step->kind == PHX_STEP_wipe ? 4096 : 0;
	happens(l, &ev, NULL);
}

static void starts_in(struct machine *m, int env)
{
	m->boot += env == PHX_ENV_DEPLOY;
	m->on = true;
	m->env = env;
	if (env == PHX_ENV_DEPLOY)
		m->role[0] = m->identity[0] = '\0';
}

/* The machine after it has done what the step wants. */
static void does(struct life *l, struct machine *m, const struct phx_step *step)
{
	const struct phx_role *role = phx_state_role(&l->w->s, step->role);
	if (step->kind == PHX_STEP_kexec || step->kind == PHX_STEP_boot)
		starts_in(m, PHX_ENV_DEPLOY);
	else if (step->kind == PHX_STEP_enter)
		starts_in(m, PHX_ENV_OS);
	else if (step->kind == PHX_STEP_wipe || step->kind == PHX_STEP_leave)
		m->role[0] = m->identity[0] = '\0';
	if (step->kind == PHX_STEP_wipe)
		m->digest[0] = '\0';
	if ((step->kind == PHX_STEP_image || step->kind == PHX_STEP_ram) && role)
		PHX_STR_SET(m->digest, role->image_digest);
	if (step->kind == PHX_STEP_activate && role) {
		PHX_STR_SET(m->role, role->name);
		phx_role_identity(role, m->identity, sizeof(m->identity));
	}
}

static bool may_do(const struct machine *m, const struct phx_step *step)
{
	const struct phx_step_info *info = phx_step_info((enum phx_step_kind)step->kind);
	if (step->status != PHX_STEP_ISSUED)
		return false;
	if (info->executor != PHX_EXEC_AGENT)
		return true;
	return m->on && m->env == (info->needs == PHX_NEEDS_OS ? PHX_ENV_OS : PHX_ENV_DEPLOY);
}

static void announces(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_node_add};
	PHX_STR_SET(ev.node, m->node);
	world_event_mac(&ev.node_add.macs, world_index(m->node));
	PHX_STR_SET(ev.node_add.bmc.driver, world_index(m->node) % 2 ? "ipmi" : "");
	happens(l, &ev, NULL);
}

/* The machine and those around it behave for one turn. */
static void behaves(struct life *l, struct machine *m)
{
	char key[80], boot[40];
	const struct phx_node *n = phx_state_node(&l->w->s, m->node);
	if (!n) {
		announces(l, m);
		return;
	}
	const struct phx_step *step = phx_node_step(n);
	snprintf(key, sizeof(key), "key-%u", m->key);
	snprintf(boot, sizeof(boot), "%s-%u", m->node, m->boot);
	bool boots = step && step->kind == PHX_STEP_boot && step->status == PHX_STEP_ISSUED;
	if (boots) {
		struct phx_event done = {.kind = PHX_EV_power_result,
					 .answer = {.step_id = step->id, .epoch = n->plan.epoch}};
		PHX_STR_SET(done.node, m->node);
		done.answer.power = PHX_POWER_IS_ON;
		happens(l, &done, NULL);
		starts_in(m, PHX_ENV_DEPLOY);
		shows_token(l, m);
		says_hello(l, m);
	} else if (!m->on) {
		starts_in(m, PHX_ENV_DEPLOY);
		shows_token(l, m);
	} else if (strcmp(n->key_fp, key) && n->state != PHX_NODE_QUARANTINED) {
		asks_for_certificate(l, m);
	} else if (n->state != PHX_NODE_NEW && !strcmp(n->key_fp, key) &&
		   (!n->up || strcmp(n->boot_id, boot) || n->env != m->env)) {
		says_hello(l, m);
	} else if (step && may_do(m, step)) {
		int kind = step->kind;
		does(l, m, step);
		if (kind == PHX_STEP_kexec)
			shows_token(l, m);
		if (kind == PHX_STEP_kexec || kind == PHX_STEP_enter)
			says_hello(l, m);
		else
			tells(l, m, 0);
	} else if (m->env == PHX_ENV_DEPLOY && phx_node_boots_local(&l->w->s, n) && n->up) {
		starts_in(m, PHX_ENV_OS);
		if (n->role[0]) {
			PHX_STR_SET(m->role, n->role);
			phx_role_identity(phx_state_role(&l->w->s, n->role), m->identity,
					  sizeof(m->identity));
		}
		says_hello(l, m);
	}
}

/* ---- what goes wrong, and what people want ---- */

static void loses_power(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = chance(l, 50) ? PHX_EV_missing : PHX_EV_power_result,
			       .answer.power = PHX_POWER_IS_OFF};
	PHX_STR_SET(ev.node, m->node);
	m->on = false;
	if (chance(l, 5))
		m->key++;
	happens(l, &ev, NULL);
}

static void seems_lost(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = chance(l, 50) ? PHX_EV_missing : PHX_EV_back};
	PHX_STR_SET(ev.node, m->node);
	happens(l, &ev, NULL);
}

static void fails(struct life *l, struct machine *m)
{
	const struct phx_node *n = phx_state_node(&l->w->s, m->node);
	if (n && phx_node_step(n))
		tells(l, m, -EIO);
}

static void reports_anything(struct life *l, struct machine *m)
{
	static const char *const roles[] = {"", "web", "compute", "ramweb", "nosuch"};
	struct phx_event ev = {.kind = chance(l, 50) ? PHX_EV_report : PHX_EV_hello},
			 hello = {.kind = PHX_EV_hello};
	struct phx_event_hello *p = &hello.hello;
	p->env = (int)roll(l, 3);
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(p->actual_role, roles[roll(l, 5)]);
	const struct phx_role *role = phx_state_role(&l->w->s, p->actual_role);
	if (role)
		phx_role_identity(role, p->actual_identity, sizeof(p->actual_identity));
	PHX_STR_SET(p->system_digest, chance(l, 50) ? "d1" : "");
	snprintf(p->boot_id, sizeof(p->boot_id), "%s-%u", m->node, m->boot);
	world_facts(&p->facts, chance(l, 90) ? world_index(m->node) : 1 + roll(l, MACHINES));
	if (chance(l, 20))
		PHX_LIST_AT(&p->facts.disks, struct phx_disk_facts, 0)->read_only = true;
	if (ev.kind == PHX_EV_hello) {
		ev.hello = *p;
		*p = (struct phx_event_hello){0};
	} else {
		PHX_STR_SET(ev.report.actual_role, p->actual_role);
		PHX_STR_SET(ev.report.actual_identity, p->actual_identity);
	}
	phx_event_fini(&hello);
	happens(l, &ev, NULL);
}

static void order(struct life *l, struct machine *m)
{
	static const int kinds[] = {PHX_EV_assign,     PHX_EV_assign,  PHX_EV_assign,
				    PHX_EV_assign,     PHX_EV_release, PHX_EV_rebuild,
				    PHX_EV_wipe,       PHX_EV_drain,   PHX_EV_resume,
				    PHX_EV_resume,     PHX_EV_resume,  PHX_EV_power,
				    PHX_EV_quarantine, PHX_EV_inspect, PHX_EV_node_accept};
	static const char *const roles[] = {"compute", "web", "ramweb", "guest",
					    "vault",   "lab", "intake", "nosuch"};
	static const char *const ops[] = {"on", "off", "cycle", "reset", "status", ""};
	struct phx_event ev = {.kind = kinds[roll(l, PHX_ARRAY_SIZE(kinds))]};
	struct phx_event_order p = {0};
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(p.role, roles[roll(l, PHX_ARRAY_SIZE(roles))]);
	PHX_STR_SET(ev.text, ops[roll(l, PHX_ARRAY_SIZE(ops))]);
	p.op = (int)roll(l, PHX_POWER_STATUS + 2); /* none: as in an older journal */
	PHX_STR_SET(p.pool, chance(l, 15) ? "web" : "");
	p.has_setup = chance(l, 40);
	p.setup.mode = (int)roll(l, 2);
	p.setup.method = chance(l, 70) ? PHX_WIPE_AUTO : (int)roll(l, 5);
	p.power_cycle = chance(l, 10);
	p.encrypt = chance(l, 15);
	p.pin = chance(l, 5);
	if (phx_event_payload((enum phx_event_kind)ev.kind) == PHX_PAYLOAD_order)
		ev.order = p;
	happens(l, &ev, NULL);
}

static void job(struct life *l, struct machine *m)
{
	static const int kinds[] = {PHX_EV_job_submit, PHX_EV_job_submit, PHX_EV_job_submit,
				    PHX_EV_job_result, PHX_EV_job_result, PHX_EV_job_cancel,
				    PHX_EV_job_hold};
	struct phx_event ev = {.kind = kinds[roll(l, PHX_ARRAY_SIZE(kinds))]};
	struct phx_event_job_submit p = {0};
	PHX_STR_SET(ev.node, m->node);
	p.uid = p.gid = chance(l, 90) ? 1000 : 0;
	p.job_nodes = roll(l, 3);
	uint64_t id = l->w->s.last_job_id > 3 ? l->w->s.last_job_id - roll(l, 4) : roll(l, 4);
	int64_t result = chance(l, 70) ? 0 : 1;
	const struct phx_job *j = phx_state_job(&l->w->s, id);
	uint32_t run = j && chance(l, 90) ? j->kills : roll(l, 3);
	PHX_STR_SET(ev.re, chance(l, 50) ? "queue" : "");
	p.no_requeue = chance(l, 20);
	p.hold = chance(l, 30);
	p.estimate_ms = chance(l, 40) ? (int64_t)roll(l, 30000) : 0;
	if (ev.kind == PHX_EV_job_result)
		ev.job_result =
			(struct phx_event_job_result){.job = id, .run = run, .result = result};
	else if (ev.kind != PHX_EV_job_submit)
		ev.job_order = (struct phx_event_job_order){.job = id, .hold = p.hold};
	else
		ev.job_submit = p;
	if (ev.kind == PHX_EV_job_submit)
		assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	happens(l, &ev, NULL);
}

static void removal(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_node_remove, .order.force = chance(l, 50)};
	PHX_STR_SET(ev.node, m->node);
	happens(l, &ev, NULL);
}

static void rules(struct life *l)
{
	struct phx_event ev = {.kind = chance(l, 50) ? PHX_EV_rules_put : PHX_EV_settings};
	const char *role = chance(l, 90) ? "web" : "nosuch";
	bool by_itself = chance(l, 30);
	if (ev.kind == PHX_EV_rules_put) {
		struct phx_rule *rule = phx_list_push(&ev.rules_put.rules, sizeof(*rule));
		PHX_STR_SET(rule->role, role);
	} else {
		ev.site.settings = l->w->s.settings;
		ev.site.settings.auto_assign = by_itself;
	}
	happens(l, &ev, NULL);
}

static void agreement(struct life *l)
{
	struct phx_event ev = {.kind = PHX_EV_pool_put};
	const struct phx_pool *p =
		PHX_LIST_AT(&l->w->s.pools, struct phx_pool, roll(l, l->w->s.pools.n));
	ev.pool.pool_put = *p;
	PHX_STR_SET(ev.pool.pool_put.owner, chance(l, 50) ? "somebody" : p->owner);
	happens(l, &ev, NULL);
}

static void asks_for_re(struct life *l, struct phx_event *ev)
{
	static const int models[] = {PHX_POLICY_fb, PHX_POLICY_flb_nub, PHX_POLICY_coop2008,
				     PHX_POLICY_dr};
	struct phx_agreement *g = &ev->ask.agreement;
	bool web = chance(l, 50);
	phx_agreement_init(g);
	g->type = web ? PHX_RE_WEB : PHX_RE_BATCH;
	g->coordination = PHX_RE_COORDINATED_OTHER;
	g->model = models[l->seed % PHX_ARRAY_SIZE(models)];
	g->lower = 1 + roll(l, 2);
	g->upper = g->model == PHX_POLICY_fb ? g->lower : 0;
	g->lease_s = 60;
	g->setup.mode = chance(l, 30) ? PHX_SETUP_WIPE : PHX_SETUP_NOOP;
	g->setup.when = (int)roll(l, 3);
	PHX_STR_SET(g->name, web ? "shop" : "queue");
	PHX_STR_SET(g->partner, web ? "queue" : "shop");
	PHX_STR_SET(g->role, web ? "web" : "compute");
	PHX_STR_SET(g->owner, web && chance(l, 70) ? "shop" : "hpc");
	g->noop_between_owners = chance(l, 60);
	g->keep_jobs = !web && l->seed % 2;
}

/* What the people of runtime environments do, and their load. */
static void shares(struct life *l)
{
	static const int kinds[] = {
		PHX_EV_re_create,     PHX_EV_re_activate, PHX_EV_re_activate,
		PHX_EV_re_activate,   PHX_EV_re_use,      PHX_EV_re_use,
		PHX_EV_re_use,        PHX_EV_re_use,      PHX_EV_re_suspend,
		PHX_EV_re_resume,     PHX_EV_re_resume,   PHX_EV_re_safe_deactivate,
		PHX_EV_re_deactivate, PHX_EV_re_destroy,  PHX_EV_re_request,
		PHX_EV_re_request,    PHX_EV_re_refuse,   PHX_EV_re_withdraw};
	struct phx_event ev = {.kind = kinds[roll(l, PHX_ARRAY_SIZE(kinds))]};
	PHX_STR_SET(ev.re, chance(l, 50) ? "queue" : "shop");
	uint32_t use_ppm = roll(l, 1000001);
	bool provider = ev.kind == PHX_EV_re_destroy || ev.kind == PHX_EV_re_create ||
		ev.kind == PHX_EV_re_refuse;
	int who = provider ? PHX_RE_WHO_PROVIDER : PHX_RE_WHO_SERVICE;
	bool asks = ev.kind == PHX_EV_re_request || ev.kind == PHX_EV_re_create;
	if (ev.kind == PHX_EV_re_use) {
		PHX_STR_SET(ev.re, "shop");
		ev.re_use.use_ppm = use_ppm;
	} else if (asks)
		ev.ask.who = who;
	else
		ev.re_order.who = who;
	/* one of two creations is that of a request */
	if (ev.kind == PHX_EV_re_request || (asks && chance(l, 50)))
		asks_for_re(l, &ev);
	happens(l, &ev, NULL);
}

static void nonsense(struct life *l, struct machine *m)
{
	struct phx_event ev = {.kind = (int)roll(l, PHX_EV_COUNT_)};
	struct phx_event_answer p = {.name = "nosuch"};
	if (chance(l, 50))
		PHX_STR_SET(ev.node, m->node);
	p.step_id = roll(l, 50);
	p.epoch = roll(l, 5);
	p.power = (int)roll(l, 3);
	uint32_t mac = chance(l, 50) ? 1 + roll(l, 2 * MACHINES) : 0;
	if (ev.kind == PHX_EV_pool_put || ev.kind == PHX_EV_quarantine)
		ev.kind = PHX_EV_tick;
	enum phx_payload payload = phx_event_payload((enum phx_event_kind)ev.kind);
	if (payload == PHX_PAYLOAD_answer)
		ev.answer = p;
	else if (payload == PHX_PAYLOAD_named)
		PHX_STR_SET(ev.named.name, "nosuch");
	else if (payload == PHX_PAYLOAD_site)
		ev.site.settings = l->w->s.settings;
	else if (mac && payload == PHX_PAYLOAD_node_add)
		world_event_mac(&ev.node_add.macs, mac);
	else if (mac && payload == PHX_PAYLOAD_enrol)
		world_event_mac(&ev.enrol.macs, mac);
	happens(l, &ev, NULL);
}

static void time_passes(struct life *l)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	int64_t next = phx_core_next_deadline(&l->w->s);
	if (next != INT64_MAX && next > l->w->now)
		l->w->now = next;
	happens(l, &ev, NULL);
}

static void anything(struct life *l)
{
	struct machine *m = &l->m[roll(l, MACHINES)];
	uint32_t x = roll(l, 1000);
	if (x < 600)
		behaves(l, m);
	else if (x < 720)
		order(l, m);
	else if (x < 760)
		time_passes(l);
	else if (x < 800)
		seems_lost(l, m);
	else if (x < 830)
		loses_power(l, m);
	else if (x < 860)
		fails(l, m);
	else if (x < 880)
		reports_anything(l, m);
	else if (x < 945)
		job(l, m);
	else if (x < 950 && l->seed % 3)
		shares(l);
	else if (x < 960)
		removal(l, m);
	else if (x < 970)
		rules(l);
	else if (x < 975)
		agreement(l);
	else if (x < 990 && l->seed % 3) /* every third life is one without runtime environments */
		shares(l);
	else
		nonsense(l, m);
}

/* ---- the end of a life ---- */

static bool all_rest(const struct life *l)
{
	PHX_NODES_EACH(n, &l->w->s)
		if (n->plan.cursor < n->plan.steps.n ||
		    phx_node_state_transient((enum phx_node_state)n->state))
			return false;
	return true;
}

static void comes_to_rest(struct life *l)
{
	for (int turn = 0; turn < REST_TURNS; turn++) {
		unsigned before = l->journalled;
		bool busy = false;
		for (unsigned i = 0; i < MACHINES; i++) {
			bool was_on = l->m[i].on;
			behaves(l, &l->m[i]);
			busy = busy || was_on != l->m[i].on;
		}
		busy = busy || l->journalled != before;
		if (!busy && all_rest(l))
			return;
		if (!busy)
			time_passes(l);
	}
	PHX_NODES_EACH(n, &l->w->s)
		if (phx_node_step(n))
			FAIL(l, "%s is %s for ever: step %s, attempt %u: %s", n->name,
			     phx_enum_name(&phx_node_state_names, n->state),
			     phx_enum_name(&phx_step_kind_names, phx_node_step(n)->kind),
			     phx_node_step(n)->attempt, phx_node_step(n)->error);
	FAIL(l, "%s", "the machines never come to rest");
}

static void begin(struct life *l, struct world *w, uint64_t seed)
{
	*l = (struct life){.w = w, .seed = seed, .dice = seed};
	world_add_pool(w, "lab", "uni", (struct phx_setup){0});
	world_add_pool(w, "intake", "uni",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_ASSIGN,
					  PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
	world_add_role(w, "lab", "lab", true, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "intake", "intake", false, PHX_ROLE_BOOT_RAM);
	for (unsigned i = 0; i < MACHINES; i++) {
		snprintf(l->m[i].node, sizeof(l->m[i].node), "n%u", i + 1);
		l->m[i].key = (i + 1) * 1000;
	}
	assert_int_equal(phx_record_copy(&phx_state_record, &l->twin, &w->s), 0);
}

static unsigned live(uint64_t seed)
{
	void *state;
	struct life l;
	world_setup(&state);
	begin(&l, state, seed);
	for (int i = 0; i < EVENTS; i++)
		anything(&l);
	comes_to_rest(&l);
	phx_state_fini(&l.twin);
	world_teardown(&state);
	return l.journalled;
}

static void lives_by_chance(void **state)
{
	const char *one = getenv("PHX_SEED");
	unsigned journalled = 0;
	(void)state;
	if (one) {
		live(strtoull(one, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= LIVES; seed++)
		journalled += live(seed);
	print_message("%d lives, %u journalled events\n", LIVES, journalled);
	assert_true(journalled > LIVES * EVENTS / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lives_by_chance)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
