/* Runs the papers' experiments: a row of papers_run.def becomes agreements,
 * workloads and a cluster. Called by the measures; each run is made once. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "study/papers_internal.h"

const struct paper_run phx_paper_runs[RUN_COUNT_] = {
#define RUN(id, ...) [RUN_##id] = {__VA_ARGS__},
#include "study/papers_run.def"
#undef RUN
};

#define OR(value, fallback) ((value) ? (value) : (fallback))

/* What both REs of a pair have. */
static void set_common(const struct phx_papers *p, const struct paper_run *run,
		       struct phx_agreement *a)
{
	phx_agreement_init(a);
	a->model = run->policy;
	a->lease_s = run->policy == PHX_POLICY_fb ? p->reading->fb_lease_s
						  : OR(run->lease_s, a->lease_s);
	a->u_milli = OR(run->u_milli, a->u_milli);
	a->v_milli = OR(run->v_milli, a->v_milli);
	a->g_milli = OR(run->g_milli, a->g_milli);
	a->return_full = run->policy == PHX_POLICY_fb && p->reading->return_full;
	if (!phx_policy((enum phx_policy_id)run->policy)->fixed && run->peak)
		a->coordination = PHX_RE_COORDINATED_OWN;
}

void phx_papers_agreement(const struct phx_papers *p, const struct paper_run *run,
			  struct phx_agreement *ret)
{
	set_common(p, run, ret);
	PHX_STR_SET(ret->name, "batch");
	ret->lower = run->lower;
	ret->scheduler = run->scheduler;
	ret->no_requeue = run->policy == PHX_POLICY_fb && p->reading->fb_drop;
	ret->cycle_s = OR(run->cycle_s, ret->cycle_s);
	if (run->policy == PHX_POLICY_dr) {
		ret->r_milli = OR(run->r_milli, ret->r_milli);
		ret->release_own = p->reading->dr_release_own;
		ret->obtain_by_idle = p->reading->dr_obtain_by_idle;
	}
	if (ret->coordination)
		PHX_STR_SET(ret->partner, "web");
}

static void web_agreement(const struct phx_papers *p, const struct paper_run *run,
			  struct phx_agreement *ret)
{
	set_common(p, run, ret);
	PHX_STR_SET(ret->name, "web");
	ret->type = PHX_RE_WEB;
	ret->lower = run->web_lower;
	if (ret->coordination)
		PHX_STR_SET(ret->partner, "batch");
}

/* The REs of a run, put together. */
struct setting {
	struct phx_agreement agreements[PARTS_MAX + 1];
	struct phx_sim_re res[PARTS_MAX + 1];
	struct phx_trace_jobs longer[PARTS_MAX + 1]; /* of a reading; the lists of jobs are ours */
	unsigned n;
	/* of the RE that runs a workflow again and again: its submissions one by one */
	const struct phx_trace_jobs *flows; /* NULL: there is none */
	unsigned flows_re;
	struct flow {
		int64_t last_ms;
		size_t n_ended;
	} flow[SUBMISSIONS];
};

static void setting_fini(struct setting *s)
{
	for (unsigned i = 0; i <= PARTS_MAX; i++)
		free(s->longer[i].jobs);
}

/* The same jobs, each of which runs so much longer. */
static int make_longer(const struct phx_trace_jobs *jobs, uint32_t longer_ms,
		       struct phx_trace_jobs *ret)
{
	struct phx_trace_job *mine = reallocarray(NULL, jobs->n + 1, sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	for (size_t i = 0; i < jobs->n; i++) {
		mine[i] = jobs->jobs[i];
		mine[i].run_ms += mine[i].run_ms ? longer_ms : 0;
	}
	*ret = *jobs;
	ret->jobs = mine;
	return 0;
}

static int add_batch(struct phx_papers *p, const struct paper_run *run, struct setting *s,
		     struct phx_err *err)
{
	struct phx_agreement *a = &s->agreements[s->n];
	phx_papers_agreement(p, run, a);
	if (s->n)
		snprintf(a->name, sizeof(a->name), "batch%u", s->n);
	struct phx_sim_re *re = &s->res[s->n];
	*re = (struct phx_sim_re){.agreement = a};
	int r = phx_papers_jobs(p, run->jobs, &re->jobs, err);
	if (r == 0 && p->reading->longer_ms) {
		r = make_longer(re->jobs, p->reading->longer_ms, &s->longer[s->n]);
		re->jobs = &s->longer[s->n];
	}
	if (run->jobs == INPUT_montage100) {
		s->flows = re->jobs;
		s->flows_re = s->n;
	}
	s->n++;
	return r;
}

static int add_web(struct phx_papers *p, const struct paper_run *run, struct setting *s,
		   struct phx_err *err)
{
	struct phx_agreement *a = &s->agreements[s->n];
	web_agreement(p, run, a);
	s->res[s->n] = (struct phx_sim_re){.agreement = a};
	return phx_papers_demand(p, run->peak, &s->res[s->n++].demand, err);
}

static int put_together(struct phx_papers *p, const struct paper_run *run, struct setting *s,
			struct phx_err *err)
{
	int r = run->n_parts ? 0 : add_batch(p, run, s, err);
	for (unsigned i = 0; i < run->n_parts && r == 0; i++)
		r = add_batch(p, &phx_paper_runs[run->parts[i]], s, err);
	return r == 0 && run->peak ? add_web(p, run, s, err) : r;
}

/* ---- workflows one by one ---- */

static void note_end(void *arg, unsigned re, const struct phx_trace_job *job,
		     const struct phx_sim_end *end)
{
	struct setting *s = arg;
	if (!s->flows || re != s->flows_re)
		return;
	size_t tasks = s->flows->n / SUBMISSIONS;
	struct flow *f = &s->flow[(size_t)(job - s->flows->jobs) / tasks];
	f->n_ended++;
	f->last_ms = end->end_ms > f->last_ms ? end->end_ms : f->last_ms;
}

/* Tasks a second of a workflow, as 003 has it: the mean over those that were done. What the run as
 * a whole has is 100 workflows over two weeks, and says nothing. */
static void rate_flows(const struct setting *s, struct phx_sim_metrics *m)
{
	size_t tasks = s->flows->n / SUBMISSIONS, n_done = 0;
	double sum = 0;
	for (size_t i = 0; i < SUBMISSIONS; i++) {
		int64_t took_ms = s->flow[i].last_ms - s->flows->jobs[i * tasks].submit_ms;
		if (s->flow[i].n_ended < tasks || took_ms <= 0)
			continue;
		sum += (double)tasks * 1000 / (double)took_ms;
		n_done++;
	}
	m->tasks_per_s = n_done ? sum / (double)n_done : NAN;
}

uint32_t phx_papers_hours(const struct phx_papers *p, int run)
{
	return (uint32_t)((uint64_t)phx_paper_runs[run].hours * p->reading->window_milli / 1000);
}

int phx_papers_simulate(struct phx_papers *p, const struct paper_run *run,
			struct phx_sim_result *ret, struct phx_err *err)
{
	PHX_AUTO(setting_fini) struct setting s = {.n = 0};
	struct phx_sim_watch watch = {.arg = &s, .end = note_end};
	struct phx_sim_cluster cluster = {
		.name = "cluster", .ledger = {.nodes = run->nodes, .unlimited = !run->nodes}};
	int r = put_together(p, run, &s, err);
	if (r < 0)
		return r;
	struct phx_sim_config config = {.clusters = &cluster,
					.n_clusters = 1,
					.res = s.res,
					.n_res = s.n,
					.window_ms = run->hours * INT64_C(3600) *
						p->reading->window_milli,
					.estimates = PHX_SIM_ESTIMATE_EXACT,
					.watch = &watch};
	r = phx_sim_run(&config, ret, err);
	if (r == 0 && s.flows)
		rate_flows(&s, &ret->res[s.flows_re]);
	return r;
}

int phx_papers_result(struct phx_papers *p, int run, const struct phx_sim_result **ret,
		      struct phx_err *err)
{
	static const char *const names[] = {
		"",
#define RUN(id, ...) #id,
#include "study/papers_run.def"
#undef RUN
	};
	if (!p->result[run]) {
		struct phx_sim_result *made = calloc(1, sizeof(*made));
		int r = made ? phx_papers_simulate(p, &phx_paper_runs[run], made, err) : -ENOMEM;
		if (r < 0) {
			free(made);
			return phx_err_prefix(err, r, "run %s", names[run]);
		}
		p->result[run] = made;
	}
	*ret = p->result[run];
	return 0;
}
