/* One run of the simulator: feeds the ledgers with ends, demand, submissions
 * and time, does what they ask for, and confirms it. Called by phx_sim_run()'s
 * callers; decides nothing that a policy or scheduler would decide.
 *
 *   next_instant() ─▶ finish_due ─▶ web demand ─▶ submissions ─▶ timers ─▶ pass
 *                                   each followed by carry_out() of its actions */
#include <errno.h>
#include <string.h>

#include "sim/due.h"
#include "sim/metrics.h"
#include "sim/run.h"

static const char *const estimates_names[] = {"log", "exact", "strict"};
const struct phx_enum phx_sim_estimates_names = {"origin of estimates", estimates_names,
						 PHX_ARRAY_SIZE(estimates_names)};

/* Without a window: how long timers alone may go on before the rest is given up. */
#define STUCK_MS (30 * 86400 * INT64_C(1000))
enum { PROGRESS_EVERY = 1 << 14, SAME_INSTANT_MAX = 1 << 20 };

/* A job as the run sees it; index as in the workload. */
struct track {
	int64_t submit_ms, start_ms;
	uint32_t run, kills, n_parents; /* run: counts starts; parents not complete yet */
	bool running, submitted;
};

struct member {
	const struct phx_sim_re *re;
	int number; /* in its ledger */
	size_t n_jobs, next_job, next_value;
	struct track *tracks;
	struct phx_list ready; /* uint32_t: tasks whose last parent ended */
	struct phx_sim_tally tally;
	struct phx_sim_point last;
};

struct sim {
	const struct phx_sim_config *config;
	struct phx_ledger *ledgers[PHX_SIM_CLUSTERS_MAX];
	struct member *members;
	struct member *by_number[PHX_SIM_CLUSTERS_MAX][PHX_SIM_RES_MAX];
	struct phx_list due;
	struct phx_list actions; /* struct phx_ledger_action */
	/* progress: the last instant at which something but a timer happened */
	int64_t now_ms, progress_ms;
	uint64_t n_instants, n_same, n_ended;
	size_t n_left; /* jobs submitted, or to be, and not gone */
	struct phx_err *err;
};

/* ---- what the ledgers ask for ---- */

static struct member *member_of(struct sim *s, unsigned cluster, int number)
{
	return number >= 0 && number < PHX_SIM_RES_MAX ? s->by_number[cluster][number] : NULL;
}

static int start_job(struct sim *s, struct member *m, const struct phx_ledger_action *a)
{
	uint32_t i = (uint32_t)(a->job - 1);
	struct track *t = &m->tracks[i];
	t->start_ms = s->now_ms;
	t->running = true;
	t->run++;
	s->progress_ms = s->now_ms;
	return phx_sim_due_push(
		&s->due,
		(struct phx_sim_due){.at_ms = s->now_ms + m->re->jobs->jobs[i].run_ms,
				     .kind = PHX_SIM_DUE_END,
				     .to = (int8_t)(m - s->members),
				     .job = i,
				     .run = t->run});
}

static int job_killed(struct sim *s, struct member *m, uint32_t i)
{
	m->tracks[i].running = false;
	m->tracks[i].kills++;
	m->tally.killed++;
	if (m->re->agreement->no_requeue)
		s->n_left--;
	else
		m->tally.requeued++;
	return phx_ledger_job_killed(s->ledgers[m->re->cluster], m->number, (uint64_t)i + 1,
				     s->now_ms, &s->actions);
}

static int kill_job(struct sim *s, struct member *m, const struct phx_ledger_action *a)
{
	uint32_t i = (uint32_t)(a->job - 1);
	if (!s->config->delays.kill_ms)
		return job_killed(s, m, i);
	return phx_sim_due_push(&s->due,
				(struct phx_sim_due){.at_ms = s->now_ms + s->config->delays.kill_ms,
						     .kind = PHX_SIM_DUE_KILLED,
						     .to = (int8_t)(m - s->members),
						     .job = i,
						     .run = m->tracks[i].run});
}

static int arrived(struct sim *s, unsigned cluster, int from, int to, uint32_t nodes)
{
	struct member *m = member_of(s, cluster, to);
	int r = m ? phx_sim_tally_obtain(&m->tally, nodes, s->now_ms) : 0;
	return r < 0
		? r
		: phx_ledger_arrived(s->ledgers[cluster], from, to, nodes, s->now_ms, &s->actions);
}

static uint32_t wipe_ms(const struct sim *s, const struct member *m, enum phx_setup_when moment)
{
	if (!m || !phx_setup_wipes(&m->re->agreement->setup, moment))
		return 0;
	return s->config->delays.wipe_ms[m->re->agreement->setup.method];
}

static int move_nodes(struct sim *s, unsigned cluster, const struct phx_ledger_action *a)
{
	struct member *from = member_of(s, cluster, a->re), *to = member_of(s, cluster, a->to);
	int64_t delay = s->config->delays.handover_ms;
	delay += wipe_ms(s, from, PHX_WHEN_RELEASE);
	delay += wipe_ms(s, to, PHX_WHEN_ASSIGN);
	if (from)
		phx_sim_tally_release(&from->tally, a->nodes, s->now_ms);
	if (!delay)
		return arrived(s, cluster, a->re, a->to, a->nodes);
	return phx_sim_due_push(&s->due,
				(struct phx_sim_due){.at_ms = s->now_ms + delay,
						     .kind = PHX_SIM_DUE_ARRIVED,
						     .from = (int8_t)a->re,
						     .to = (int8_t)a->to,
						     .cluster = (uint8_t)cluster,
						     .job = a->nodes});
}

static int do_action(struct sim *s, unsigned cluster, const struct phx_ledger_action *a)
{
	struct member *m = member_of(s, cluster, a->re);
	switch ((enum phx_ledger_act)a->kind) {
	case PHX_LEDGER_START:
		return start_job(s, m, a);
	case PHX_LEDGER_KILL:
		return kill_job(s, m, a);
	case PHX_LEDGER_MOVE:
		return move_nodes(s, cluster, a);
	}
	return phx_err_set(s->err, -EPROTO, "action %d of the ledger is not known", a->kind);
}

/* Do all that is asked for, also what comes of doing it. */
static int carry_out(struct sim *s, unsigned cluster)
{
	const struct phx_sim_watch *w = s->config->watch;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->actions.n; i++) {
		/* a copy: confirmations make the list grow */
		struct phx_ledger_action a = *PHX_LIST_AT(&s->actions, struct phx_ledger_action, i);
		r = do_action(s, cluster, &a);
		if (w && w->action)
			w->action(w->arg, s->now_ms, cluster, &a);
	}
	s->actions.n = 0;
	return r;
}

/* ---- the steps of one instant ---- */

/* The children of a task that is complete. */
static int free_children(struct member *m, uint32_t i)
{
	const struct phx_trace_job *job = &m->re->jobs->jobs[i];
	for (uint32_t k = 0; k < job->n_children; k++) {
		uint32_t child = m->re->jobs->children[job->first_child + k];
		if (child >= m->n_jobs || --m->tracks[child].n_parents || child >= m->next_job)
			continue; /* beyond the window, or it is submitted when its time comes */
		uint32_t *slot = phx_list_push(&m->ready, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		*slot = child;
	}
	return 0;
}

static int job_ended(struct sim *s, struct member *m, uint32_t i)
{
	const struct phx_trace_job *job = &m->re->jobs->jobs[i];
	const struct phx_sim_watch *w = s->config->watch;
	struct track *t = &m->tracks[i];
	t->running = false;
	s->n_left--;
	s->n_ended++;
	phx_sim_tally_end(&m->tally, job, t->submit_ms, t->start_ms, s->now_ms);
	if (w && w->end)
		w->end(w->arg, (unsigned)(m - s->members), job,
		       &(struct phx_sim_end){t->start_ms, s->now_ms, t->kills});
	int r = phx_ledger_job_ended(s->ledgers[m->re->cluster], m->number, (uint64_t)i + 1,
				     s->now_ms, &s->actions);
	return r < 0 ? r : free_children(m, i);
}

static int finish_due(struct sim *s)
{
	int r = 0;
	while (r == 0 && s->due.n && phx_sim_due_top(&s->due)->at_ms == s->now_ms) {
		struct phx_sim_due d = phx_sim_due_pop(&s->due);
		struct member *m = d.kind == PHX_SIM_DUE_ARRIVED ? NULL : &s->members[d.to];
		if (m && (!m->tracks[d.job].running || m->tracks[d.job].run != d.run))
			continue; /* that run is over already */
		s->progress_ms = s->now_ms;
		if (!m)
			r = arrived(s, d.cluster, d.from, d.to, d.job);
		else if (d.kind == PHX_SIM_DUE_END)
			r = job_ended(s, m, d.job);
		else
			r = job_killed(s, m, d.job);
		r = r < 0 ? r : carry_out(s, m ? m->re->cluster : d.cluster);
	}
	return r;
}

static int change_demand(struct sim *s, struct member *m)
{
	const struct phx_trace_series *d = m->re->demand;
	if (!d || m->next_value >= d->n || d->at_ms[m->next_value] > s->now_ms)
		return 0;
	uint64_t want = d->value[m->next_value++];
	s->progress_ms = s->now_ms;
	int r = phx_ledger_demand(s->ledgers[m->re->cluster], m->number, (uint32_t)want, s->now_ms,
				  &s->actions);
	return r < 0 ? r : carry_out(s, m->re->cluster);
}

static int64_t estimate_of(const struct sim *s, const struct phx_trace_job *job)
{
	switch ((enum phx_sim_estimates)s->config->estimates) {
	case PHX_SIM_ESTIMATE_LOG:
		return job->estimate_ms >= 0 ? job->estimate_ms : job->run_ms;
	case PHX_SIM_ESTIMATE_EXACT:
		return job->run_ms;
	case PHX_SIM_ESTIMATE_STRICT:
		return job->estimate_ms;
	}
	return -1;
}

static int submit_job(struct sim *s, struct member *m, uint32_t i)
{
	const struct phx_trace_job *job = &m->re->jobs->jobs[i];
	struct track *t = &m->tracks[i];
	t->submit_ms = job->n_parents ? s->now_ms : job->submit_ms;
	t->submitted = true;
	phx_sim_tally_submit(&m->tally, t->submit_ms);
	struct phx_batch_job b = {.id = (uint64_t)i + 1,
				  .submit_ms = t->submit_ms,
				  .estimate_ms = estimate_of(s, job),
				  .size = job->size,
				  .no_requeue = m->re->agreement->no_requeue,
				  .state = PHX_BATCH_WAITING};
	struct phx_err why = {0};
	int r = phx_ledger_submit(s->ledgers[m->re->cluster], m->number, &b, s->now_ms, &s->actions,
				  &why);
	if (r == -E2BIG) {
		m->tally.refused++;
		s->n_left--;
		return 0;
	}
	if (r < 0)
		return phx_err_set(s->err, r, "%s: job %llu: %s", m->re->agreement->name,
				   (unsigned long long)job->id,
				   why.text[0] ? why.text : strerror(-r));
	return carry_out(s, m->re->cluster);
}

static int submit_jobs(struct sim *s, struct member *m)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < m->ready.n; i++)
		r = submit_job(s, m, *PHX_LIST_AT(&m->ready, uint32_t, i));
	m->ready.n = 0;
	while (r == 0 && m->next_job < m->n_jobs &&
	       m->re->jobs->jobs[m->next_job].submit_ms <= s->now_ms) {
		uint32_t i = (uint32_t)m->next_job++;
		if (!m->tracks[i].n_parents)
			r = submit_job(s, m, i);
		s->progress_ms = s->now_ms;
	}
	return r;
}

static int timers(struct sim *s, unsigned cluster)
{
	struct phx_ledger *l = s->ledgers[cluster];
	int r = 0;
	if (phx_ledger_next_ms(l) <= s->now_ms) {
		r = phx_ledger_tick(l, s->now_ms, &s->actions);
		r = r < 0 ? r : carry_out(s, cluster);
	}
	r = r < 0 ? r : phx_ledger_pass(l, s->now_ms, &s->actions);
	return r < 0 ? r : carry_out(s, cluster);
}

static void tell_points(struct sim *s)
{
	const struct phx_sim_watch *w = s->config->watch;
	for (unsigned i = 0; w && w->point && i < s->config->n_res; i++) {
		struct member *m = &s->members[i];
		struct phx_ledger_counts c;
		phx_ledger_counts(s->ledgers[m->re->cluster], m->number, &c);
		bool web = phx_re_kind(m->re->agreement)->has_demand;
		struct phx_sim_point p = {.held = c.idle + c.busy + c.coming,
					  .busy = web ? c.idle + c.busy : c.busy,
					  .want = c.want,
					  .waiting_nodes = c.batch.waiting_nodes};
		if (s->n_instants > 1 && !memcmp(&p, &m->last, sizeof(p)))
			continue;
		m->last = p;
		w->point(w->arg, s->now_ms, i, &p);
	}
}

static int look(struct sim *s)
{
	const struct phx_sim_watch *w = s->config->watch;
	int r = 0;
	for (unsigned c = 0; s->config->check && r == 0 && c < s->config->n_clusters; c++)
		r = phx_ledger_check(s->ledgers[c], s->err);
	tell_points(s);
	if (r == 0 && w && w->progress && s->n_instants % PROGRESS_EVERY == 0 &&
	    w->progress(w->arg, s->now_ms, s->n_ended))
		r = -ECANCELED;
	return r;
}

static int instant(struct sim *s, bool ends_only)
{
	int r = finish_due(s);
	s->n_instants++;
	for (unsigned i = 0; r == 0 && !ends_only && i < s->config->n_res; i++)
		r = change_demand(s, &s->members[i]);
	for (unsigned i = 0; r == 0 && !ends_only && i < s->config->n_res; i++)
		if (s->members[i].re->jobs)
			r = submit_jobs(s, &s->members[i]);
	for (unsigned c = 0; r == 0 && !ends_only && c < s->config->n_clusters; c++)
		r = timers(s, c);
	return r < 0 ? r : look(s);
}

/* ---- the loop ---- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The next instant at which a trace, a job or a delay says something; INT64_MAX: all is over. */
static int64_t next_event(const struct sim *s)
{
	const struct phx_sim_due *d = phx_sim_due_top(&s->due);
	int64_t at = d ? d->at_ms : INT64_MAX;
	for (unsigned i = 0; i < s->config->n_res; i++) {
		const struct member *m = &s->members[i];
		const struct phx_trace_series *w = m->re->demand;
		if (m->next_job < m->n_jobs)
			at = sooner(at, m->re->jobs->jobs[m->next_job].submit_ms);
		if (w && m->next_value < w->n)
			at = sooner(at, w->at_ms[m->next_value]);
	}
	return at;
}

static int64_t next_timer(const struct sim *s)
{
	int64_t at = INT64_MAX;
	for (unsigned c = 0; c < s->config->n_clusters; c++)
		at = sooner(at, phx_ledger_next_ms(s->ledgers[c]));
	return at;
}

/* Does the run go on though only timers are left? */
static bool timers_count(const struct sim *s, int64_t event, int64_t timer)
{
	if (s->config->window_ms || event != INT64_MAX)
		return true;
	return s->n_left && timer - s->progress_ms < STUCK_MS;
}

static int64_t next_instant(const struct sim *s)
{
	int64_t event = next_event(s), timer = next_timer(s);
	int64_t at = timer < event && timers_count(s, event, timer) ? timer : event;
	if (at == INT64_MAX || at >= s->now_ms)
		return at;
	return s->now_ms; /* what was due before is due now */
}

static int run_loop(struct sim *s)
{
	int64_t window = s->config->window_ms;
	int r = 0;
	for (int64_t at;
	     r == 0 && (at = next_instant(s)) != INT64_MAX && (!window || at <= window);) {
		s->n_same = at == s->now_ms ? s->n_same + 1 : 0;
		if (s->n_same > SAME_INSTANT_MAX)
			return phx_err_set(s->err, -EPROTO, "time stands still at %lld ms",
					   (long long)at);
		s->now_ms = at;
		if (window && at == window) {
			/* what ends with the window has ended in it; nothing else begins */
			return instant(s, true);
		}
		r = instant(s, false);
	}
	return r;
}

/* ---- begin and end ---- */

static int prepare_member(struct sim *s, unsigned i)
{
	const struct phx_sim_re *re = &s->config->res[i];
	const struct phx_agreement *a = re->agreement;
	struct member *m = &s->members[i];
	m->re = re;
	if (re->cluster >= s->config->n_clusters)
		return phx_err_set(s->err, -EINVAL, "%s: there is no cluster %u", a->name,
				   re->cluster);
	if ((re->jobs && !phx_re_kind(a)->has_jobs) || (re->demand && !phx_re_kind(a)->has_demand))
		return phx_err_set(s->err, -EINVAL,
				   "%s: jobs are for a batch RE, a demand is for a web RE",
				   a->name);
	for (m->n_jobs = re->jobs ? re->jobs->n : 0; m->n_jobs && s->config->window_ms; m->n_jobs--)
		if (re->jobs->jobs[m->n_jobs - 1].submit_ms < s->config->window_ms)
			break;
	m->tracks = calloc(m->n_jobs + 1, sizeof(*m->tracks));
	if (!m->tracks)
		return -ENOMEM;
	for (size_t k = 0; k < m->n_jobs; k++)
		m->tracks[k].n_parents = re->jobs->jobs[k].n_parents;
	s->n_left += m->n_jobs;
	return 0;
}

static int activate(struct sim *s, unsigned i)
{
	struct member *m = &s->members[i];
	unsigned cluster = m->re->cluster;
	int r = phx_ledger_activate(s->ledgers[cluster], m->re->agreement, 0, &m->number,
				    &s->actions, s->err);
	if (r == 0 && (m->number < 0 || m->number >= PHX_SIM_RES_MAX))
		r = phx_err_set(s->err, -EPROTO, "%s: the ledger calls it %d",
				m->re->agreement->name, m->number);
	if (r < 0)
		return phx_err_prefix(s->err, r, "%s", m->re->agreement->name);
	s->by_number[cluster][m->number] = m;
	return carry_out(s, cluster);
}

static int prepare(struct sim *s)
{
	const struct phx_sim_config *c = s->config;
	if (!c->n_clusters || c->n_clusters > PHX_SIM_CLUSTERS_MAX || !c->n_res ||
	    c->n_res > PHX_SIM_RES_MAX)
		return phx_err_set(s->err, -EINVAL, "a run has 1 to %d clusters and 1 to %d REs",
				   PHX_SIM_CLUSTERS_MAX, PHX_SIM_RES_MAX);
	s->members = calloc(c->n_res, sizeof(*s->members));
	int r = s->members ? 0 : -ENOMEM;
	for (unsigned i = 0; r == 0 && i < c->n_res; i++)
		r = prepare_member(s, i);
	for (unsigned i = 0; r == 0 && i < c->n_clusters; i++)
		r = phx_ledger_new(&c->clusters[i].ledger, &s->ledgers[i]);
	for (unsigned i = 0; r == 0 && i < c->n_res; i++)
		r = activate(s, i);
	return r;
}

static void cleanup(struct sim *s)
{
	for (unsigned i = 0; s->members && i < s->config->n_res; i++) {
		free(s->members[i].tracks);
		phx_list_fini(&s->members[i].ready);
		phx_sim_tally_fini(&s->members[i].tally);
	}
	for (unsigned i = 0; i < PHX_SIM_CLUSTERS_MAX; i++)
		phx_ledger_free(s->ledgers[i]);
	free(s->members);
	phx_list_fini(&s->actions);
	phx_list_fini(&s->due);
}

static void meter_add(struct phx_ledger_meter *t, const struct phx_ledger_meter *more)
{
	t->held_node_ms += more->held_node_ms;
	t->busy_node_ms += more->busy_node_ms;
	t->unmet_node_ms += more->unmet_node_ms;
	t->lost_node_ms += more->lost_node_ms;
	t->peak += more->peak;
	t->n_adjusted += more->n_adjusted;
	t->nodes_moved += more->nodes_moved;
	t->n_kills += more->n_kills;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When the run ends: at the window's end, or with the last that happened, or with the last
 * series. */
static int64_t end_of(const struct sim *s)
{
	int64_t end =
		s->config->window_ms ? s->config->window_ms : later(s->progress_ms, s->now_ms);
	for (unsigned i = 0; !s->config->window_ms && i < s->config->n_res; i++)
		if (s->config->res[i].demand && s->config->res[i].demand->end_ms > end)
			end = s->config->res[i].demand->end_ms;
	return end;
}

static int finish(struct sim *s, struct phx_sim_result *ret)
{
	unsigned n = s->config->n_res;
	struct phx_sim_result result = {
		.n_res = n, .n_instants = s->n_instants, .end_ms = end_of(s)};
	struct phx_ledger_meter meter, total = {0};
	struct phx_sim_tally sum = {0};
	result.stuck = !s->config->window_ms && s->n_left;
	result.res = calloc(n, sizeof(*result.res));
	if (!result.res)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct member *m = &s->members[i];
		phx_sim_tally_release(&m->tally, UINT32_MAX, result.end_ms);
		phx_ledger_meter(s->ledgers[m->re->cluster], m->number, result.end_ms, &meter);
		phx_sim_tally_finish(&m->tally, &meter, &result.res[i]);
		phx_sim_tally_add(&sum, &m->tally);
	}
	for (unsigned c = 0; c < s->config->n_clusters; c++) {
		phx_ledger_total(s->ledgers[c], result.end_ms, &meter);
		meter_add(&total, &meter);
	}
	phx_sim_tally_finish(&sum, &total, &result.total);
	*ret = result;
	return 0;
}

int phx_sim_run(const struct phx_sim_config *config, struct phx_sim_result *ret,
		struct phx_err *err)
{
	struct sim s = {.config = config, .err = err};
	int r = prepare(&s);
	r = r < 0 ? r : run_loop(&s);
	r = r < 0 ? r : finish(&s, ret);
	cleanup(&s);
	return r < 0 ? phx_err_set(err, r, "%s", strerror(-r)) : 0;
}

void phx_sim_result_fini(struct phx_sim_result *r)
{
	free(r->res);
	*r = (struct phx_sim_result){0};
}
