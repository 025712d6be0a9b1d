/* Runtime environments under faults: a coordinated pair of a batch and a web RE
 * of two owners, and a batch RE alone; their lives, their jobs, the use of the
 * web. Also what must hold of them: a reclaim never takes a pair below the sum of
 * its lower bounds. One row a source in the table of loads. */
#include "fault/world.h"

#include <errno.h>
#include <string.h>

struct site_re {
	int pool; /* index; the pool has the RE's name */
	int type, model;
	const char *role, *partner;
	uint32_t percent; /* of the nodes: the lower bound */
};

static const struct site_re res[] = {
	{8, PHX_RE_BATCH, PHX_POLICY_fb, "compute", "shop", 14},
	{9, PHX_RE_WEB, PHX_POLICY_fb, "web", "queue", 8},
	{10, PHX_RE_BATCH, PHX_POLICY_dr, "lab", "", 5},
};

static const char *name_of(const struct site_re *r)
{
	return phx_fault_pool_names[r->pool];
}

static uint32_t lower_of(const struct fault_sim *f, const struct site_re *r)
{
	return 1 + f->n * r->percent / 100;
}

/* ---- lives ---- */

static void create(struct fault_sim *f, const struct site_re *r)
{
	struct phx_event ev = {.kind = PHX_EV_re_create, .who = PHX_RE_WHO_PROVIDER};
	struct phx_agreement *a = &ev.agreement;
	phx_agreement_init(a);
	phx_str_copy(a->name, sizeof(a->name), name_of(r));
	phx_str_copy(a->owner, sizeof(a->owner), phx_fault_pool_owners[r->pool]);
	phx_str_copy(a->role, sizeof(a->role), r->role);
	phx_str_copy(a->partner, sizeof(a->partner), r->partner);
	a->type = r->type;
	a->coordination = r->partner[0] ? PHX_RE_COORDINATED_OTHER : PHX_RE_COORDINATED_NONE;
	a->model = r->model;
	a->lower = lower_of(f, r);
	a->upper = phx_policy(r->model)->same_bounds ? a->lower : 0;
	a->lease_s = 600;
	a->replace_after_s = r->partner[0] ? 300 : 90;
	if (f->o.foreign && r == &res[0])
		a->engine = PHX_RE_ENGINE_SLURM;
	a->setup = f->pool_setup[r->pool];
	if (phx_fault_submit(f, &ev, NULL) == -EINVAL)
		phx_fault_violated(f, "model", "the agreement of RE %s is refused", a->name);
	phx_event_fini(&ev);
}

static void operate(struct fault_sim *f, int kind, const struct site_re *r)
{
	struct phx_event ev = {.kind = kind, .who = PHX_RE_WHO_SERVICE};
	if (kind == PHX_EV_re_destroy)
		ev.who = PHX_RE_WHO_PROVIDER;
	if (kind == PHX_EV_re_deactivate)
		ev.jobs = phx_fault_chance(f, 800) ? PHX_JOBS_ANY : PHX_JOBS_SPARE;
	phx_str_copy(ev.re, sizeof(ev.re), name_of(r));
	phx_fault_submit(f, &ev, NULL);
}

void phx_fault_re_live(struct fault_sim *f)
{
	static const int whims[] = {PHX_EV_re_suspend, PHX_EV_re_resume, PHX_EV_re_deactivate,
				    PHX_EV_re_safe_deactivate, PHX_EV_re_destroy};
	const struct site_re *r = &res[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(res))];
	const struct phx_re *re = phx_state_re(f->head.s, name_of(r));
	if (!re)
		create(f, r);
	else if (re->state != PHX_RE_STATE_RUNNING && phx_fault_chance(f, 700))
		operate(f,
			re->state == PHX_RE_STATE_SUSPENDED ? PHX_EV_re_resume : PHX_EV_re_activate,
			r);
	else if (phx_fault_chance(f, 250))
		operate(f, whims[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(whims))], r);
}

void phx_fault_re_job(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit, .uid = 1000, .gid = 1000};
	ev.job_nodes = (uint32_t)phx_fault_between(f, 1, 4);
	bool paired = phx_fault_chance(f, 700);
	phx_str_copy(ev.re, sizeof(ev.re), name_of(&res[paired ? 0 : 2]));
	phx_text_push(&ev.argv, "true");
	if (f->o.foreign && paired)
		phx_fault_engine_submit(f, ev.job_nodes);
	else
		phx_fault_submit(f, &ev, NULL);
	phx_event_fini(&ev);
}

/* The load of the web comes and goes with the hours. */
void phx_fault_re_use(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_re_use};
	bool busy = f->now / HOUR % 3 == 1;
	ev.use_ppm = (uint32_t)(busy ? phx_fault_between(f, 800000, 1000000)
				     : phx_fault_between(f, 50000, 700000));
	phx_str_copy(ev.re, sizeof(ev.re), name_of(&res[1]));
	phx_fault_submit(f, &ev, NULL);
}

/* ---- what must hold ---- */

static bool in_pair(const char *re)
{
	return !strcmp(re, name_of(&res[0])) || !strcmp(re, name_of(&res[1]));
}

static bool pair_runs(const struct fault_sim *f)
{
	for (int i = 0; i < 2; i++) {
		const struct phx_re *re = phx_state_re(f->head.s, name_of(&res[i]));
		if (!re || !re->active || re->state != PHX_RE_STATE_RUNNING ||
		    phx_ledger_partner(f->head.s->ledger, (int)re->number) < 0)
			return false;
	}
	return true;
}

void phx_fault_re_check(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n)
{
	struct fault_seen *seen = &m->seen;
	bool is = (n->share == PHX_SHARE_HELD || n->share == PHX_SHARE_COMING) &&
		in_pair(n->share_re);
	/* to the free pool is no reclaim: while the pair lacks nodes they are reserved for it
	 * there; and from there none */
	bool taken = seen->in_pair && !is && n->share == PHX_SHARE_COMING && n->share_re[0] &&
		in_pair(n->share_from);
	uint32_t count = 0, lower = lower_of(f, &res[0]) + lower_of(f, &res[1]);
	seen->in_pair = is;
	if (!taken || !pair_runs(f))
		return;
	PHX_LIST_EACH(struct phx_node, o, &f->head.s->nodes)
		count += (o->share == PHX_SHARE_HELD || o->share == PHX_SHARE_COMING) &&
			in_pair(o->share_re);
	if (count < lower)
		phx_fault_violated(f, "bounds",
				   "%s is taken from the pair of REs, which keeps %u nodes of %u",
				   m->node, count, lower);
}

/* In the RE's pool, in its role, and wanted there by both. */
static bool belongs(const struct fault_sim *f, const struct phx_node *n, const char *re_name)
{
	const struct phx_re *re = re_name[0] ? phx_state_re(f->head.s, re_name) : NULL;
	bool lives = re && re->active &&
		(re->state == PHX_RE_STATE_RUNNING || re->state == PHX_RE_STATE_SUSPENDED);
	return lives && n->state == PHX_NODE_ACTIVE && !n->pinned && !strcmp(n->pool, re_name) &&
		!strcmp(n->role, re->agreement.role) && n->plan.cursor >= n->plan.steps.n;
}

static bool is_its(const struct phx_node *n, const char *re)
{
	return (n->share == PHX_SHARE_HELD || n->share == PHX_SHARE_AWAY) &&
		!strcmp(n->share_re, re);
}

void phx_fault_re_adopt(struct fault_machine *m, const struct phx_node *n)
{
	struct fault_seen *seen = &m->seen;
	bool its = n && (n->share == PHX_SHARE_HELD || n->share == PHX_SHARE_AWAY);
	phx_str_copy(seen->its_re, sizeof(seen->its_re), its ? n->share_re : "");
	seen->gone_at = !its ? 0 : n->away_since_ms ? n->away_since_ms : n->missing_since_ms;
}

void phx_fault_re_check_away(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
			     bool ordered)
{
	struct fault_seen *seen = &m->seen;
	int64_t now = phx_fault_core_now(f);
	bool was = seen->its_re[0] && !ordered && belongs(f, n, seen->its_re);
	bool moved = n->share == PHX_SHARE_COMING && !strcmp(n->share_from, seen->its_re);
	if (was && !is_its(n, seen->its_re) && !moved) {
		const struct phx_re *re = phx_state_re(f->head.s, seen->its_re);
		int64_t waits = (int64_t)re->agreement.replace_after_s * SECOND;
		if (!seen->gone_at || now - seen->gone_at < waits)
			phx_fault_violated(f, "kept",
					   "%s serves RE %s, was away for %lld ms of %lld, and is "
					   "counted there no more",
					   m->node, seen->its_re,
					   (long long)(seen->gone_at ? now - seen->gone_at : 0),
					   (long long)waits);
	}
	int64_t gone_at = seen->gone_at;
	bool same = seen->its_re[0] && is_its(n, seen->its_re);
	phx_fault_re_adopt(m, n);
	bool there = n->up && n->share != PHX_SHARE_AWAY;
	/* as it was seen, not as the core says */
	seen->gone_at = !seen->its_re[0] || there ? 0 : same && gone_at ? gone_at : now;
}

bool phx_fault_re_moves(const struct phx_node *n)
{
	int to = phx_fault_pool_index(n->plan.to_pool), from = phx_fault_pool_index(n->tenant_pool);
	return n->share == PHX_SHARE_COMING || to >= FAULT_PUT_POOLS ||
		(to == 0 && from >= FAULT_PUT_POOLS);
}
