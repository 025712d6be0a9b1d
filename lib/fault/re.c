/* Runtime environments under faults: a coordinated pair of a batch and a web RE of two owners, and
 * a batch RE alone; their lives, their jobs, the use of the web. Called by the table of loads. */
#include "fault/parts.h"

#include <errno.h>

/* ---- lives ---- */

static void create(struct fault_sim *f, int re)
{
	const struct fault_re *r = &phx_fault_res[re];
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_agreement *a = &ev.ask.agreement;
	phx_agreement_init(a);
	phx_str_copy(a->name, sizeof(a->name), phx_fault_re_name(re));
	phx_str_copy(a->owner, sizeof(a->owner), phx_fault_pool_owners[r->pool]);
	phx_str_copy(a->role, sizeof(a->role), r->role);
	phx_str_copy(a->partner, sizeof(a->partner), r->partner);
	a->type = r->type;
	a->coordination = r->partner[0] ? PHX_RE_COORDINATED_OTHER : PHX_RE_COORDINATED_NONE;
	a->model = r->model;
	a->lower = phx_fault_re_lower(f, re);
	a->upper = phx_policy(r->model)->same_bounds ? a->lower : 0;
	a->lease_s = 600;
	a->replace_after_s = r->partner[0] ? 300 : 90;
	if (f->o.external && re == 0)
		a->engine = PHX_RE_ENGINE_SLURM;
	/* in every other life */
	a->keep_jobs = f->o.seed % 2 && phx_re_kind_may_have(phx_re_kind(a), "keep_jobs") &&
		a->engine == PHX_RE_ENGINE_BUILTIN;
	a->setup = f->pool_setup[r->pool];
	if (phx_fault_submit(f, &ev, NULL) == -EINVAL)
		phx_fault_violated(f, "model", "the agreement of RE %s is refused", a->name);
	phx_event_fini(&ev);
}

static void operate(struct fault_sim *f, int kind, int re)
{
	struct phx_event ev = {.kind = kind, .re_order.who = PHX_RE_WHO_SERVICE};
	if (kind == PHX_EV_re_destroy)
		ev.re_order.who = PHX_RE_WHO_PROVIDER;
	if (kind == PHX_EV_re_deactivate)
		ev.re_order.jobs = phx_fault_chance(f, 800) ? PHX_JOBS_ANY : PHX_JOBS_SPARE;
	phx_str_copy(ev.re, sizeof(ev.re), phx_fault_re_name(re));
	phx_fault_submit(f, &ev, NULL);
}

void phx_fault_re_live(struct fault_sim *f)
{
	static const int whims[] = {PHX_EV_re_suspend, PHX_EV_re_resume, PHX_EV_re_deactivate,
				    PHX_EV_re_safe_deactivate, PHX_EV_re_destroy};
	const int i = (int)phx_rng_below(&f->rng, f->o.flows ? FAULT_RES : FAULT_RE_OF_FLOWS);
	const struct phx_re *re = phx_state_re(f->head.s, phx_fault_re_name(i));
	if (!re)
		create(f, i);
	else if (re->state != PHX_RE_STATE_RUNNING && phx_fault_chance(f, 700))
		operate(f,
			re->state == PHX_RE_STATE_SUSPENDED ? PHX_EV_re_resume : PHX_EV_re_activate,
			i);
	else if (phx_fault_chance(f, 250))
		operate(f, whims[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(whims))], i);
}

void phx_fault_re_of_flows(struct fault_sim *f)
{
	const struct phx_re *re = phx_state_re(f->head.s, phx_fault_re_name(FAULT_RE_OF_FLOWS));
	if (!re)
		create(f, FAULT_RE_OF_FLOWS);
	else if (!re->active)
		operate(f, PHX_EV_re_activate, FAULT_RE_OF_FLOWS);
}

void phx_fault_re_job(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit, .job_submit = {.uid = 1000, .gid = 1000}};
	ev.job_submit.job_nodes = (uint32_t)phx_fault_between(f, 1, 4);
	bool paired = phx_fault_chance(f, 700);
	phx_str_copy(ev.re, sizeof(ev.re), phx_fault_re_name(paired ? 0 : 2));
	phx_text_push(&ev.job_submit.argv, "true");
	if (f->o.external && paired)
		phx_fault_engine_submit(f, ev.job_submit.job_nodes);
	else
		phx_fault_submit(f, &ev, NULL);
	phx_event_fini(&ev);
}

/* The load of the web comes and goes with the hours. */
void phx_fault_re_use(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_re_use};
	bool busy = f->now / HOUR % 3 == 1;
	ev.re_use.use_ppm = (uint32_t)(busy ? phx_fault_between(f, 800000, 1000000)
					    : phx_fault_between(f, 50000, 700000));
	phx_str_copy(ev.re, sizeof(ev.re), phx_fault_re_name(1));
	phx_fault_submit(f, &ev, NULL);
}
