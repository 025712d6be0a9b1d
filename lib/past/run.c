/* The simulations: what was read becomes workloads, which run twice. Called by phx_past_run(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "past/internal.h"
#include "sim/report.h"
#include "types/re_kind.h"

/* An RE as it is simulated; `agreement` is its own. */
struct side_re {
	struct phx_agreement agreement;
	struct phx_trace_jobs jobs;
	struct phx_trace_series demand;
};

struct side {
	struct phx_past *past;
	struct side_re *res;
	struct phx_sim_re *sim;
	unsigned n_res;
	size_t left_out;
	uint32_t nodes;
	bool changed;
};

static void side_fini(struct side *s)
{
	for (unsigned i = 0; s->res && i < s->n_res; i++) {
		phx_record_fini(&phx_agreement_record, &s->res[i].agreement);
		phx_trace_jobs_fini(&s->res[i].jobs);
		phx_trace_series_fini(&s->res[i].demand);
	}
	free(s->res);
	free(s->sim);
}

/* ---- workloads ---- */

/* How long the job ran, or would have; -1: nobody knows. Of one that ran when the time began: the
 * rest. */
static int64_t run_of(const struct past_job *j, const struct phx_past_wish *w)
{
	int64_t end = j->ended_ms ? j->ended_ms : w->until_ms,
		begin = j->started_ms > w->from_ms ? j->started_ms : w->from_ms;
	int64_t ran = end > begin ? end - begin : 0;
	if (!j->started_ms)
		return j->estimate_ms > 0 ? j->estimate_ms : -1;
	if (j->ended_ms)
		return ran;
	/* one that still ran goes on as long as it may, and at least beyond that time */
	return j->estimate_ms > ran ? j->estimate_ms : ran + 1;
}

static struct phx_trace_job trace_of(const struct past_job *j, const struct phx_past_wish *w)
{
	int64_t submit = j->submitted_ms - w->from_ms, run = run_of(j, w);
	return (struct phx_trace_job){.id = j->id,
				      .submit_ms = submit > 0 ? submit : 0,
				      .run_ms = run,
				      .estimate_ms = j->estimate_ms > 0 ? j->estimate_ms : -1,
				      .size = j->nodes ? j->nodes : 1};
}

/* Jobs of RE `i`: without those that were cancelled while they waited. */
static int make_jobs(struct side *s, unsigned i)
{
	const struct phx_past *p = s->past;
	struct phx_trace_jobs *to = &s->res[i].jobs;
	size_t n = 0;
	PHX_LIST_EACH(struct past_job, j, &p->jobs)
		n += j->re == i;
	to->jobs = calloc(n + 1, sizeof(*to->jobs));
	if (!to->jobs)
		return -ENOMEM;
	PHX_LIST_EACH(struct past_job, j, &p->jobs) {
		if (j->re != i || (!j->started_ms && j->ended_ms))
			continue;
		if (run_of(j, &p->wish) < 0)
			s->left_out++;
		else
			to->jobs[to->n++] = trace_of(j, &p->wish);
	}
	phx_trace_jobs_sort(to);
	return 0;
}

static int make_demand(struct side *s, unsigned i)
{
	const struct phx_past_wish *w = &s->past->wish;
	const struct past_re *re = PHX_LIST_AT(&s->past->res, struct past_re, i);
	struct phx_trace_series *to = &s->res[i].demand;
	to->at_ms = calloc(re->wants.n + 1, sizeof(*to->at_ms));
	to->value = calloc(re->wants.n + 1, sizeof(*to->value));
	to->end_ms = w->until_ms - w->from_ms;
	if (!to->at_ms || !to->value)
		return -ENOMEM;
	PHX_LIST_EACH(struct past_want, want, &re->wants) {
		int64_t at = to->n && want->at_ms > w->from_ms ? want->at_ms - w->from_ms : 0;
		size_t k = to->n && to->at_ms[to->n - 1] >= at ? to->n - 1 : to->n++;
		to->at_ms[k] = k && at <= to->at_ms[k - 1] ? to->at_ms[k - 1] + 1 : at;
		to->value[k] = want->want;
	}
	return 0;
}

/* ---- what is changed ---- */

/* What only the former model used is as in a new agreement of the other. */
static void set_model(struct phx_agreement *a, int model)
{
	struct phx_agreement fresh;
	phx_agreement_init(&fresh);
	if (model == a->model)
		return;
	/* where both bounds were one, the upper one was not chosen */
	bool bounded = !phx_policy((enum phx_policy_id)a->model)->same_bounds;
	a->model = model;
	a->lease_s = fresh.lease_s;
	a->u_milli = fresh.u_milli;
	a->v_milli = fresh.v_milli;
	a->g_milli = fresh.g_milli;
	a->r_milli = fresh.r_milli;
	a->release_own = a->obtain_by_idle = a->return_full = false;
	a->cycle_s = phx_agreement_cycle(a);
	const struct phx_policy *policy = phx_policy((enum phx_policy_id)model);
	if (!bounded || policy->no_upper || policy->same_bounds)
		a->upper = 0;
}

static int change(struct side *s, struct phx_agreement *a, struct phx_err *err)
{
	const struct phx_past_wish *w = &s->past->wish;
	if (!s->changed)
		return 0;
	if (w->has_agreement) {
		char name[PHX_NAME_MAX];
		PHX_STR_SET(name, a->name);
		if (w->agreement.type != a->type)
			return phx_err_set(err, -EINVAL,
					   "agreement: it is of type %s, and RE %s of type %s",
					   phx_enum_name(&phx_re_type_names, w->agreement.type),
					   name, phx_enum_name(&phx_re_type_names, a->type));
		phx_record_fini(&phx_agreement_record, a);
		int r = phx_record_copy(&phx_agreement_record, a, &w->agreement);
		return r < 0 ? r : PHX_STR_SET(a->name, name);
	}
	if (w->has_model)
		set_model(a, w->model);
	if (w->wipes)
		a->setup = (struct phx_setup){.mode = PHX_SETUP_WIPE, .when = PHX_WHEN_RELEASE};
	return 0;
}

/* One RE is looked at alone: it shares with nobody then. */
static void alone(struct phx_agreement *a)
{
	a->coordination = PHX_RE_COORDINATED_NONE;
	a->partner[0] = '\0';
}

static int make_re(struct side *s, unsigned i, struct phx_err *err)
{
	const struct past_re *from = PHX_LIST_AT(&s->past->res, struct past_re, i);
	struct side_re *to = &s->res[i];
	int r = phx_record_copy(&phx_agreement_record, &to->agreement, &from->agreement);
	r = r ? r : change(s, &to->agreement, err);
	if (r < 0)
		return r;
	if (s->past->wish.re[0])
		alone(&to->agreement);
	s->sim[i] = (struct phx_sim_re){.agreement = &to->agreement};
	if (phx_re_kind(&to->agreement)->has_jobs) {
		r = make_jobs(s, i);
		s->sim[i].jobs = &to->jobs;
	}
	if (r == 0 && phx_re_kind(&to->agreement)->has_demand && from->wants.n) {
		r = make_demand(s, i);
		s->sim[i].demand = &to->demand;
	}
	return r;
}

static int make_side(struct side *s, struct phx_err *err)
{
	int64_t nodes = (int64_t)s->past->nodes + (s->changed ? s->past->wish.nodes : 0);
	s->n_res = s->past->res.n;
	if (nodes < 1)
		return phx_err_set(err, -EINVAL, "there were %u nodes in all", s->past->nodes);
	s->nodes = (uint32_t)nodes;
	s->res = calloc(s->n_res, sizeof(*s->res));
	s->sim = calloc(s->n_res, sizeof(*s->sim));
	int r = s->res && s->sim ? 0 : -ENOMEM;
	for (unsigned i = 0; r == 0 && i < s->n_res; i++)
		r = make_re(s, i, err);
	return r;
}

/* ---- a run ---- */

static void delays_of(const struct phx_past_wish *w, struct phx_sim_delays *ret)
{
	*ret = (struct phx_sim_delays){.handover_ms = w->handover_ms};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ret->wipe_ms); i++)
		ret->wipe_ms[i] = w->wipe_ms;
}

static json_t *res_json(const struct side *s, const struct phx_sim_result *result)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < s->n_res; i++) {
		json_t *j = json_pack("{s:s}", "name", s->res[i].agreement.name),
		       *metrics = phx_sim_metrics_json(&result->res[i]);
		json_object_update(j, metrics);
		json_decref(metrics);
		json_array_append_new(list, j);
	}
	return list;
}

static int run_drawn(struct side *s, struct past_drawing *d, json_t **ret, struct phx_err *err)
{
	const struct phx_past_wish *w = &s->past->wish;
	struct phx_sim_cluster cluster = {"cluster",
					  {.nodes = s->nodes, .unlimited = w->re[0] != '\0'}};
	struct phx_sim_config config = {.clusters = &cluster,
					.n_clusters = 1,
					.res = s->sim,
					.n_res = s->n_res,
					.window_ms = w->until_ms - w->from_ms,
					.watch = &d->watch};
	struct phx_sim_result result = {0};
	delays_of(w, &config.delays);
	int r = phx_sim_run(&config, &result, err);
	if (r < 0)
		return r;
	json_t *pools = past_drawing_pools(d);
	*ret = pools ? json_pack("{s:o, s:o, s:o}", "pools", pools, "res", res_json(s, &result),
				 "total", phx_sim_metrics_json(&result.total))
		     : NULL;
	phx_sim_result_fini(&result);
	return *ret ? 0 : -ENOMEM;
}

static int run_side(struct side *s, phx_past_progress_fn progress, void *arg, json_t **ret,
		    struct phx_err *err)
{
	PHX_AUTO(past_drawing_fini)
	struct past_drawing d = {.from_ms = s->past->wish.from_ms,
				 .until_ms = s->past->wish.until_ms,
				 .from_milli = s->changed ? 500 : 0,
				 .progress = progress,
				 .arg = arg};
	int r = make_side(s, err);
	d.res = s->sim;
	d.n_res = s->n_res;
	r = r ? r : past_drawing_begin(&d);
	r = r ? r : run_drawn(s, &d, ret, err);
	/* a cluster that cannot be so is an answer */
	if (r == 0 || r == -ENOMEM || r == -ECANCELED)
		return r;
	*ret = json_pack("{s:s}", "error", err->text[0] ? err->text : strerror(-r));
	phx_err_clear(err);
	return *ret ? 0 : -ENOMEM;
}

int phx_past_run(struct phx_past *p, phx_past_progress_fn progress, void *arg, json_t **ret,
		 struct phx_err *err)
{
	PHX_AUTO(side_fini) struct side agreed = {.past = p};
	PHX_AUTO(side_fini) struct side changed = {.past = p, .changed = true};
	json_t *of_agreed = NULL, *of_changed = NULL;
	int r = past_look(p, true, err);
	if (r == 0 && !p->res.n)
		r = phx_err_set(err, -ENOENT,
				p->wish.re[0] ? "RE %s was not active in that time"
					      : "no RE was active in that time%s",
				p->wish.re);
	r = r ? r : run_side(&agreed, progress, arg, &of_agreed, err);
	r = r ? r : run_side(&changed, progress, arg, &of_changed, err);
	if (r < 0) {
		json_decref(of_agreed);
		return r;
	}
	*ret = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "from_ms",
			 (json_int_t)p->wish.from_ms, "until_ms", (json_int_t)p->wish.until_ms,
			 "nodes", (json_int_t)agreed.nodes, "nodes_changed",
			 (json_int_t)changed.nodes, "jobs", (json_int_t)p->jobs.n, "left_out",
			 (json_int_t)agreed.left_out, "agreed", of_agreed, "changed", of_changed);
	return *ret ? 0 : -ENOMEM;
}
