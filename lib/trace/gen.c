/* Generates workloads from a seed: jobs as a Poisson stream whose rate follows
 * a form, web load that follows it too. Called by phx sim; reads no clock and
 * no file. */
#include <errno.h>
#include <math.h>

#include "trace/draw.h"
#include "trace/gen.h"

#define JOBS_MAX 10000000
#define VALUES_MAX 10000000

static const char *const law_names[] = {"fixed", "exponential", "lognormal"};
const struct phx_enum phx_gen_law_names = {"law of run times", law_names,
					   PHX_ARRAY_SIZE(law_names)};

/* ---- rates ---- */

static double swing(const struct phx_gen_rate *r)
{
	return r->swing_milli ? r->swing_milli / 1000.0 : 10;
}

static uint32_t periods(const struct phx_gen_rate *r)
{
	return r->periods ? r->periods : 4;
}

/* Where in its period `at` lies: 0 to 1. */
static double phase(const struct phx_gen_rate *r, int64_t at_ms)
{
	double whole;
	return modf((double)at_ms / (double)r->length_ms * periods(r), &whole);
}

/* Each of these has the mean 1 over the whole length. */
static double rate_even(const struct phx_gen_rate *r, int64_t at_ms)
{
	(void)r, (void)at_ms;
	return 1;
}

static double rate_steps(const struct phx_gen_rate *r, int64_t at_ms)
{
	uint32_t n = periods(r);
	double step = floor((double)at_ms / (double)r->length_ms * n), low = 2 / (1 + swing(r));
	return n < 2 ? 1 : low + (low * swing(r) - low) * step / (n - 1);
}

static double rate_bursts(const struct phx_gen_rate *r, int64_t at_ms)
{
	double share = r->burst_milli ? r->burst_milli / 1000.0 : 0.1,
	       low = 1 / (1 - share + share * swing(r));
	return phase(r, at_ms) >= 1 - share ? low * swing(r) : low;
}

static double rate_wave(const struct phx_gen_rate *r, int64_t at_ms)
{
	double depth = (swing(r) - 1) / (swing(r) + 1);
	return 1 - depth * cos(2 * M_PI * phase(r, at_ms));
}

static const struct {
	const char *text;
	double (*rate)(const struct phx_gen_rate *r, int64_t at_ms);
} forms[] = {
#define FORM(id, name, text, rate) [PHX_GEN_##id] = {text, rate},
#include "trace/gen.def"
#undef FORM
};

static const char *const form_names[] = {
#define FORM(id, name, ...) [PHX_GEN_##id] = name,
#include "trace/gen.def"
#undef FORM
};
const struct phx_enum phx_gen_form_names = {"form of a workload", form_names,
					    PHX_ARRAY_SIZE(form_names)};

double phx_gen_rate(const struct phx_gen_rate *r, int64_t at_ms)
{
	return forms[r->form].rate(r, at_ms);
}

/* No form's rate is above this. */
static double rate_max(const struct phx_gen_rate *r)
{
	double highest = 1;
	for (uint32_t i = 0; i < 4 * periods(r); i++) {
		double rate = phx_gen_rate(
			r, (int64_t)((i + 0.999) / (4 * periods(r)) * (double)r->length_ms));
		highest = rate > highest ? rate : highest;
	}
	return r->form == PHX_GEN_PERIODIC ? 2 : highest;
}

static int check_rate(const struct phx_gen_rate *r, struct phx_err *err)
{
	if (r->form < 0 || r->form >= PHX_GEN_FORM_COUNT_)
		return phx_err_set(err, -EINVAL, "form: %d: expected one of %d", r->form,
				   PHX_GEN_FORM_COUNT_);
	if (r->length_ms <= 0)
		return phx_err_set(err, -EINVAL, "length: expected more than 0");
	if (r->periods > 10000)
		return phx_err_set(err, -EINVAL, "periods: %u: expected at most 10000", r->periods);
	if (r->swing_milli && r->swing_milli < 1000)
		return phx_err_set(err, -EINVAL, "swing: expected 1 or more");
	if (r->burst_milli > 999)
		return phx_err_set(err, -EINVAL, "burst: expected a share below 1");
	return 0;
}

/* ---- jobs ---- */

static int64_t draw_run(struct phx_rng *rng, const struct phx_gen_jobs *g)
{
	double run = (double)g->run_ms;
	switch ((enum phx_gen_law)g->law) {
	case PHX_GEN_FIXED:
		break;
	case PHX_GEN_EXPONENTIAL:
		run = phx_draw_exponential(rng, run);
		break;
	case PHX_GEN_LOGNORMAL:
		run = phx_draw_lognormal(rng, run, (double)g->sd_ms);
		break;
	}
	int64_t seconds = llround(run / 1000);
	return run > 9e15 ? INT64_C(9000000000000000) : (seconds > 0 ? seconds : 1) * 1000;
}

static uint32_t draw_size(struct phx_rng *rng, uint32_t max)
{
	uint32_t size = 1;
	while (size * 2 <= max && phx_rng_chance(rng, 500))
		size *= 2;
	return size;
}

static struct phx_trace_job draw_job(struct phx_rng *rng, const struct phx_gen_jobs *g, uint64_t id,
				     int64_t at_ms)
{
	struct phx_trace_job j = {.id = id, .submit_ms = at_ms, .estimate_ms = -1};
	j.run_ms = draw_run(rng, g);
	j.size = draw_size(rng, g->nodes_max);
	j.user = (uint32_t)phx_rng_below(rng, g->users ? g->users : 1) + 1;
	if (g->estimate_milli) {
		double most = g->estimate_milli > 1000 ? g->estimate_milli / 1000.0 - 1 : 0;
		j.estimate_ms =
			llround((double)j.run_ms / 1000 * (1 + most * phx_draw_uniform(rng))) *
			1000;
	}
	return j;
}

/* Poisson stream at the highest rate, thinned to the rate of the moment; whole seconds, as logs
 * have them. */
static int draw_stream(const struct phx_gen_jobs *g, struct phx_trace_jobs *w)
{
	struct phx_rng rng = {g->seed};
	double highest = rate_max(&g->rate), gap_ms = (double)g->rate.length_ms / g->n / highest,
	       at = 0;
	size_t cap = 0;
	for (;;) {
		at += phx_draw_exponential(&rng, gap_ms);
		if (at >= (double)g->rate.length_ms)
			return 0;
		if (phx_draw_uniform(&rng) * highest > phx_gen_rate(&g->rate, (int64_t)at))
			continue;
		if (w->n == cap) {
			cap = cap ? cap * 2 : g->n + g->n / 8 + 64;
			struct phx_trace_job *jobs = reallocarray(w->jobs, cap, sizeof(*jobs));
			if (!jobs)
				return -ENOMEM;
			w->jobs = jobs;
		}
		w->jobs[w->n] = draw_job(&rng, g, w->n + 1, (int64_t)at / 1000 * 1000);
		w->n++;
	}
}

int phx_gen_jobs(const struct phx_gen_jobs *g, struct phx_trace_jobs *ret, struct phx_err *err)
{
	struct phx_trace_jobs w = {.max_nodes = g->nodes_max};
	int r = check_rate(&g->rate, err);
	if (r < 0)
		return r;
	if (g->n == 0 || g->n > JOBS_MAX)
		return phx_err_set(err, -EINVAL, "jobs: %u: expected 1 to %d", g->n, JOBS_MAX);
	if (g->run_ms <= 0 || g->sd_ms < 0 || g->law < 0 || g->law > PHX_GEN_LOGNORMAL)
		return phx_err_set(err, -EINVAL,
				   "run time: expected a mean above 0 and a deviation from 0");
	r = draw_stream(g, &w);
	if (r < 0) {
		phx_trace_jobs_fini(&w);
		return r;
	}
	w.n_rows = w.n;
	*ret = w;
	return 0;
}

/* ---- load ---- */

int phx_gen_load(const struct phx_gen_load *g, struct phx_trace_series *ret, struct phx_err *err)
{
	struct phx_rng rng = {g->seed};
	int64_t period_ms = g->period_ms ? g->period_ms : 60000;
	int r = check_rate(&g->rate, err);
	if (r < 0)
		return r;
	if (period_ms <= 0 || (g->rate.length_ms - 1) / period_ms >= VALUES_MAX ||
	    g->noise_milli > 1000)
		return phx_err_set(
			err, -EINVAL,
			"load: expected a period above 0, at most %d of them, noise up to 1",
			VALUES_MAX);
	struct phx_trace_series s = {.n = (size_t)((g->rate.length_ms - 1) / period_ms) + 1,
				     .end_ms = g->rate.length_ms};
	s.at_ms = calloc(s.n, sizeof(*s.at_ms));
	s.value = calloc(s.n, sizeof(*s.value));
	if (!s.at_ms || !s.value) {
		phx_trace_series_fini(&s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s.n; i++) {
		double off = 1 + g->noise_milli / 1000.0 * (2 * phx_draw_uniform(&rng) - 1);
		s.at_ms[i] = (int64_t)i * period_ms;
		s.value[i] = (uint64_t)llround(
			(double)g->mean_milli * off *
			phx_gen_rate(&g->rate,
				     s.at_ms[i] + period_ms / 2 < g->rate.length_ms
					     ? s.at_ms[i] + period_ms / 2
					     : s.at_ms[i]));
	}
	*ret = s;
	return 0;
}
