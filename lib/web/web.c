/* Instance adjustment of a web RE: see web.h. Called by lib/ledger with measured
 * use and by the simulator with computed use; never asks for a node itself.
 * Pure. */
#include "web/web.h"

#include <errno.h>

#define WHOLE_PPM 1000000u

PHX_RECORD_TABLE(phx_web_window, PHX_WEB_WINDOW_FIELDS);
PHX_RECORD_TABLE(phx_web_decision, PHX_WEB_DECISION_FIELDS);

static uint32_t within(const struct phx_web_params *p, uint64_t n)
{
	uint32_t lower = p->lower ? p->lower : 1;

	if (n > p->upper)
		n = p->upper;
	return n < lower ? lower : (uint32_t)n;
}

uint32_t phx_web_adjust(const struct phx_web_params *p, uint32_t n, uint32_t use_ppm)
{
	uint64_t threshold_ppm = (uint64_t)p->threshold_milli * 1000;

	if (use_ppm > threshold_ppm)
		return within(p, (uint64_t)n + 1);
	/* use < T (n - 1) / n, without dividing; at n = 1 the bound is 0 */
	if (n > 1 && (uint64_t)use_ppm * n < threshold_ppm * (n - 1))
		return within(p, n - 1);
	return within(p, n);
}

void phx_web_limits(uint32_t threshold_milli, uint32_t n, uint32_t *ret_above_ppm,
		    uint32_t *ret_below_ppm)
{
	uint64_t threshold_ppm = (uint64_t)threshold_milli * 1000;

	*ret_above_ppm = (uint32_t)threshold_ppm;
	/* rounded up: the least use that is not below it */
	*ret_below_ppm = n > 1 ? (uint32_t)((threshold_ppm * (n - 1) + n - 1) / n) : 0;
}

int phx_web_decided(struct phx_list *last, const struct phx_web_decision *d)
{
	struct phx_web_decision *to =
		last->n ? PHX_LIST_AT(last, struct phx_web_decision, last->n - 1) : NULL;

	if (!to || to->instances != d->instances || to->want != d->want) {
		if (last->n >= PHX_WEB_DECISIONS_MAX)
			phx_list_remove(last, sizeof(*to), 0);
		to = phx_list_push(last, sizeof(*to));
	}
	if (!to)
		return -ENOMEM;
	*to = *d;
	return 0;
}

void phx_web_sample(struct phx_web_window *w, uint32_t use_ppm)
{
	w->sum_ppm += use_ppm > WHOLE_PPM ? WHOLE_PPM : use_ppm;
	w->n_samples++;
}

int phx_web_window_end(struct phx_web_window *w, const struct phx_web_params *p, int64_t now_ms,
		       uint32_t *ret_use_ppm)
{
	int64_t passed = now_ms - w->began_ms;
	uint32_t n = w->n_samples;

	if (passed < p->window_ms)
		return 0;
	if (n)
		*ret_use_ppm = (uint32_t)(w->sum_ppm / n);
	w->began_ms += p->window_ms > 0 ? passed / p->window_ms * p->window_ms : passed;
	w->sum_ppm = 0;
	w->n_samples = 0;
	return n > 0;
}

uint32_t phx_web_use(uint64_t load_milli, uint64_t capacity_milli, uint32_t n)
{
	uint64_t whole, scaled;

	if (!load_milli)
		return 0;
	if (__builtin_mul_overflow(capacity_milli, (uint64_t)n, &whole))
		whole = UINT64_MAX;
	if (load_milli >= whole)
		return WHOLE_PPM;
	/* beyond 10^10 requests a second the last digits do not matter */
	while (__builtin_mul_overflow(load_milli, (uint64_t)WHOLE_PPM, &scaled)) {
		load_milli /= 2;
		whole /= 2;
	}
	/* rounded up: a use of exactly T (n - 1) / n must not seem less */
	return (uint32_t)(scaled / whole) + (scaled % whole > 0);
}
