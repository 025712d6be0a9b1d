/* What a simulation did as the series of GET /v1/timeline: means over steps of equal length, of
 * each RE. Called by run.c; reads only what the simulator tells. */
#include <errno.h>
#include <string.h>

#include "past/internal.h"
#include "series/pool_json.h"

struct past_bin {
	int64_t sum[PHX_SERIES_QUANTITIES], most[PHX_SERIES_QUANTITIES];
};

/* An RE since `at_ms`. */
struct past_now {
	int64_t at_ms;
	int64_t values[PHX_SERIES_QUANTITIES];
	uint64_t waiting_nodes;
	size_t submitted; /* place of the next job that is submitted */
	int64_t gone;     /* jobs that ended, or run no more */
};

static int64_t length_of(const struct past_drawing *d)
{
	return d->until_ms - d->from_ms;
}

static int64_t begin_of(const struct past_drawing *d, int bin)
{
	return length_of(d) * bin / PHX_PAST_STEPS;
}

static int bin_at(const struct past_drawing *d, int64_t at_ms)
{
	int64_t bin = at_ms * PHX_PAST_STEPS / length_of(d);
	bin = bin < PHX_PAST_STEPS ? bin : PHX_PAST_STEPS - 1;
	while (bin > 0 && begin_of(d, (int)bin) > at_ms)
		bin--;
	while (bin + 1 < PHX_PAST_STEPS && begin_of(d, (int)bin + 1) <= at_ms)
		bin++;
	return (int)bin;
}

static void weigh(struct past_bin *b, const struct past_now *now, int64_t long_ms)
{
	for (int q = 0; q < PHX_SERIES_QUANTITIES; q++) {
		if (!phx_series_quantities[q].lasts)
			continue;
		b->sum[q] += now->values[q] * long_ms;
		b->most[q] = now->values[q] > b->most[q] ? now->values[q] : b->most[q];
	}
}

/* The jobs that wait: submitted by then, and neither running nor over. */
static void count_waiting(const struct past_drawing *d, unsigned re, int64_t at_ms)
{
	const struct phx_trace_jobs *w = d->res[re].jobs;
	struct past_now *now = &d->now[re];
	if (!w)
		return;
	while (now->submitted < w->n && w->jobs[now->submitted].submit_ms <= at_ms)
		now->submitted++;
	int64_t waiting = (int64_t)now->submitted - now->gone - now->values[PHX_SERIES_Q_running];
	now->values[PHX_SERIES_Q_waiting] = waiting > 0 ? waiting : 0;
}

/* It was so until `at_ms`. */
static void go_on(struct past_drawing *d, unsigned re, int64_t at_ms)
{
	struct past_now *now = &d->now[re];
	while (now->at_ms < at_ms && now->at_ms < length_of(d)) {
		int bin = bin_at(d, now->at_ms);
		int64_t end = bin + 1 < PHX_PAST_STEPS ? begin_of(d, bin + 1) : length_of(d);
		end = end < at_ms ? end : at_ms;
		weigh(&d->bins[re * PHX_PAST_STEPS + (unsigned)bin], now, end - now->at_ms);
		now->at_ms = end;
	}
}

static struct past_bin *happens(struct past_drawing *d, unsigned re, int64_t at_ms)
{
	return &d->bins[re * PHX_PAST_STEPS + (unsigned)bin_at(d, at_ms)];
}

/* ---- what the simulator tells ---- */

static void on_point(void *arg, int64_t now_ms, unsigned re, const struct phx_sim_point *p)
{
	struct past_drawing *d = arg;
	struct past_now *now = &d->now[re];
	go_on(d, re, now_ms);
	now->values[PHX_SERIES_Q_nodes] = p->held;
	now->values[PHX_SERIES_Q_busy] = p->busy;
	now->values[PHX_SERIES_Q_demand] =
		d->res[re].demand ? p->want : (int64_t)p->busy + (int64_t)p->waiting_nodes;
	count_waiting(d, re, now_ms);
}

static void on_end(void *arg, unsigned re, const struct phx_trace_job *job,
		   const struct phx_sim_end *end)
{
	struct past_drawing *d = arg;
	go_on(d, re, end->end_ms);
	struct past_bin *b = happens(d, re, end->end_ms);
	b->sum[PHX_SERIES_Q_ended]++;
	b->sum[PHX_SERIES_Q_turnaround] += end->end_ms - job->submit_ms;
	b->sum[PHX_SERIES_Q_queued] += end->start_ms - job->submit_ms;
	d->now[re].values[PHX_SERIES_Q_running]--;
	d->now[re].gone++;
	count_waiting(d, re, end->end_ms);
}

static void hold(struct past_drawing *d, int re, int64_t at_ms, int64_t more)
{
	if (re < 0 || re >= (int)d->n_res)
		return;
	go_on(d, (unsigned)re, at_ms);
	d->now[re].values[PHX_SERIES_Q_nodes] += more;
}

/* All REs are of one cluster and were activated in their order: the ledger's numbers are theirs. */
static void on_action(void *arg, int64_t now_ms, unsigned cluster,
		      const struct phx_ledger_action *a)
{
	struct past_drawing *d = arg;
	(void)cluster;
	if (a->kind == PHX_LEDGER_MOVE) { /* also before the first instant, by activations */
		hold(d, a->re, now_ms, -(int64_t)a->nodes);
		hold(d, a->to, now_ms, a->nodes);
		return;
	}
	if (a->re < 0 || a->re >= (int)d->n_res)
		return;
	unsigned re = (unsigned)a->re;
	go_on(d, re, now_ms);
	d->now[re].values[PHX_SERIES_Q_running] += a->kind == PHX_LEDGER_START ? 1 : -1;
	if (a->kind == PHX_LEDGER_KILL) {
		happens(d, re, now_ms)->sum[PHX_SERIES_Q_kills]++;
		d->now[re].gone += d->res[re].agreement->no_requeue;
	}
	count_waiting(d, re, now_ms);
}

static int on_progress(void *arg, int64_t now_ms, size_t n_ended)
{
	struct past_drawing *d = arg;
	int64_t milli = now_ms * 500 / length_of(d);
	(void)n_ended;
	return d->progress ? d->progress(d->arg, d->from_milli + (unsigned)milli) : 0;
}

int past_drawing_begin(struct past_drawing *d)
{
	d->bins = calloc((size_t)d->n_res * PHX_PAST_STEPS, sizeof(*d->bins));
	d->now = calloc(d->n_res, sizeof(*d->now));
	d->watch = (struct phx_sim_watch){.arg = d,
					  .point = on_point,
					  .end = on_end,
					  .action = on_action,
					  .progress = on_progress};
	return d->bins && d->now ? 0 : -ENOMEM;
}

void past_drawing_fini(struct past_drawing *d)
{
	free(d->bins);
	free(d->now);
}

/* ---- the answer ---- */

static json_t *pool_json(struct past_drawing *d, unsigned re)
{
	json_t *pool = phx_series_pool_json(d->res[re].agreement->name);
	go_on(d, re, length_of(d));
	size_t n = 0;
	for (int i = 0; i < PHX_PAST_STEPS && pool; i++) {
		const struct past_bin *b = &d->bins[re * PHX_PAST_STEPS + (unsigned)i];
		struct phx_series_row row = {.at_ms = d->from_ms + begin_of(d, i),
					     .covered_ms = begin_of(d, i + 1) - begin_of(d, i)};
		memcpy(row.sum, b->sum, sizeof(row.sum));
		memcpy(row.most, b->most, sizeof(row.most));
		if (row.covered_ms)
			phx_series_pool_put(pool, n++, &row);
	}
	return pool;
}

json_t *past_drawing_pools(struct past_drawing *d)
{
	json_t *list = json_array();
	for (unsigned i = 0; list && i < d->n_res; i++)
		json_array_append_new(list, pool_json(d, i));
	return list;
}
