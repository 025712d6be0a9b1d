/* Turns a load series into node demand by the WS manager's own rule, and finds
 * the capacity that the papers do not print. Called by phx sim; decides nothing
 * itself: lib/web does. */
#include <errno.h>

#include "trace/series.h"

/* ---- windows ---- */

/* The load of each window, scaled: what the rule looks at. */
struct windows {
	uint64_t *load_milli;
	size_t n;
};

static void windows_fini(struct windows *w)
{
	free(w->load_milli);
}

/* Time-weighted mean of the series over [at, end), which begins within segment *i; leaves *i at the
 * segment of `end`.
 */
static uint64_t mean_load(const struct phx_trace_series *s, size_t *i, int64_t at, int64_t end)
{
	unsigned __int128 sum = 0;
	int64_t begin = at;
	for (;;) {
		int64_t until = *i + 1 < s->n ? s->at_ms[*i + 1] : INT64_MAX;
		if (until >= end) {
			if (at == begin && until > end)
				return s->value[*i];
			sum += (unsigned __int128)s->value[*i] * (uint64_t)(end - at);
			*i += until == end;
			return (uint64_t)(sum / (uint64_t)(end - begin));
		}
		sum += (unsigned __int128)s->value[*i] * (uint64_t)(until - at);
		at = until;
		(*i)++;
	}
}

static int make_windows(const struct phx_trace_series *load, const struct phx_series_rule *rule,
			struct windows *ret, struct phx_err *err)
{
	int64_t window_ms = rule->web.window_ms;
	if (window_ms <= 0 || load->n == 0 || load->end_ms <= 0)
		return phx_err_set(err, -EINVAL,
				   "a load and a window longer than 0 are wanted for a demand");
	struct windows w = {.n = (size_t)(load->end_ms / window_ms)};
	w.load_milli = calloc(w.n + 1, sizeof(*w.load_milli));
	if (!w.load_milli)
		return -ENOMEM;
	uint64_t factor = rule->factor_milli ? rule->factor_milli : 1000;
	size_t segment = 0;
	for (size_t k = 0; k < w.n; k++)
		w.load_milli[k] = mean_load(load, &segment, (int64_t)k * window_ms,
					    (int64_t)(k + 1) * window_ms);
	for (size_t k = 0; factor != 1000 && k < w.n; k++)
		w.load_milli[k] = w.load_milli[k] * factor / 1000;
	*ret = w;
	return 0;
}

/* ---- the rule, window after window ---- */

struct walk {
	const struct phx_web_params *web;
	uint64_t capacity_milli;
	uint32_t n;             /* instances */
	uint64_t settled_milli; /* under this load n stays as it is */
};

/* n after a window under `load`; what was looked at before is not looked at again. */
static inline uint32_t walk_on(struct walk *w, uint64_t load_milli)
{
	if (load_milli == w->settled_milli)
		return w->n;
	uint32_t n = phx_web_adjust(w->web, w->n, phx_web_use(load_milli, w->capacity_milli, w->n));
	w->settled_milli = n == w->n ? load_milli : UINT64_MAX;
	return w->n = n;
}

static struct walk walk_from(const struct phx_series_rule *rule, uint64_t capacity_milli,
			     uint32_t n)
{
	return (struct walk){.web = &rule->web,
			     .capacity_milli = capacity_milli,
			     .n = n,
			     .settled_milli = UINT64_MAX};
}

int phx_series_convert(const struct phx_trace_series *load, const struct phx_series_rule *rule,
		       struct phx_trace_series *ret, struct phx_err *err)
{
	PHX_AUTO(windows_fini) struct windows w = {0};
	if (rule->capacity_milli == 0 || rule->start == 0)
		return phx_err_set(err, -EINVAL,
				   "a capacity and at least one instance are wanted for a demand");
	int r = make_windows(load, rule, &w, err);
	if (r < 0)
		return r;
	struct phx_trace_series s = {.end_ms = load->end_ms};
	s.at_ms = calloc(w.n + 1, sizeof(*s.at_ms));
	s.value = calloc(w.n + 1, sizeof(*s.value));
	if (!s.at_ms || !s.value) {
		phx_trace_series_fini(&s);
		return -ENOMEM;
	}
	struct walk walk = walk_from(rule, rule->capacity_milli, rule->start);
	s.value[s.n++] = rule->start;
	for (size_t k = 0; k < w.n; k++) {
		uint32_t before = walk.n;
		int64_t at_ms = (int64_t)(k + 1) * rule->web.window_ms;
		if (walk_on(&walk, w.load_milli[k]) == before || at_ms >= s.end_ms)
			continue;
		s.at_ms[s.n] = at_ms;
		s.value[s.n++] = walk.n;
	}
	*ret = s;
	return 0;
}

/* ---- calibration ---- */

/* Peak over windows [from, to) when `n` instances run before. */
static uint32_t peak_of(const struct windows *w, const struct phx_series_rule *rule,
			uint64_t capacity_milli, size_t from, size_t to, uint32_t n)
{
	struct walk walk = walk_from(rule, capacity_milli, n);
	uint32_t peak = n;
	for (size_t k = from; k < to; k++) {
		uint32_t now = walk_on(&walk, w->load_milli[k]);
		peak = now > peak ? now : peak;
	}
	return peak;
}

struct stretch {
	size_t from, to;
};

/* The stretches of windows where the peak can lie: load above half the largest, with `lead` windows
 * before. */
static size_t find_stretches(const struct windows *w, uint64_t largest, size_t lead,
			     struct stretch *ret)
{
	size_t n = 0;
	for (size_t k = 0; k < w->n; k++) {
		if (w->load_milli[k] <= largest / 2)
			continue;
		size_t from = k > lead ? k - lead : 0;
		if (n == 0 || from > ret[n - 1].to)
			ret[n++].from = from;
		ret[n - 1].to = k + 1;
	}
	return n;
}

/* Does any of the stretches rise above `peak`? */
static bool rises_above(const struct windows *w, const struct phx_series_rule *rule,
			uint64_t capacity_milli, const struct stretch *s, size_t n, uint32_t peak)
{
	for (size_t i = 0; i < n; i++)
		if (peak_of(w, rule, capacity_milli, s[i].from, s[i].to,
			    i == 0 && s[i].from == 0 ? rule->start : 1) > peak)
			return true;
	return false;
}

/* The smallest capacity in (low, high] at which nothing rises above `peak`. */
static uint64_t search(const struct windows *w, const struct phx_series_rule *rule,
		       const struct stretch *s, size_t n, uint32_t peak, uint64_t high)
{
	uint64_t low = 0;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (rises_above(w, rule, middle, s, n, peak))
			low = middle;
		else
			high = middle;
	}
	return high;
}

static bool is_answer(const struct windows *w, const struct phx_series_rule *rule,
		      uint64_t capacity_milli, uint32_t peak)
{
	return peak_of(w, rule, capacity_milli, 0, w->n, rule->start) == peak &&
		(capacity_milli == 1 ||
		 peak_of(w, rule, capacity_milli - 1, 0, w->n, rule->start) > peak);
}

int phx_series_calibrate(const struct phx_trace_series *load, const struct phx_series_rule *rule,
			 uint32_t peak, uint64_t *ret_capacity_milli, struct phx_err *err)
{
	PHX_AUTO(windows_fini) struct windows w = {0};
	int r = make_windows(load, rule, &w, err);
	if (r < 0)
		return r;
	uint64_t largest = 0;
	for (size_t k = 0; k < w.n; k++)
		largest = w.load_milli[k] > largest ? w.load_milli[k] : largest;
	PHX_AUTO_FREE struct stretch *s = calloc(w.n + 1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	/* one instance serves everything: nothing rises above any peak */
	uint64_t high =
		largest * 1000 / (rule->web.threshold_milli ? rule->web.threshold_milli : 1) + 1;
	uint64_t capacity = search(&w, rule, s, find_stretches(&w, largest, peak, s), peak, high);
	if (!is_answer(&w, rule, capacity, peak)) {
		s[0] = (struct stretch){0, w.n}; /* the short cut missed it: look at everything */
		capacity = search(&w, rule, s, 1, peak, high);
	}
	if (!is_answer(&w, rule, capacity, peak))
		return phx_err_set(err, -ERANGE,
				   "at no capacity does this load peak at exactly %u instances",
				   peak);
	*ret_capacity_milli = capacity;
	return 0;
}

/* ---- measures ---- */

void phx_series_scale(struct phx_trace_series *demand, uint32_t to, uint32_t from)
{
	size_t n = 0;
	for (size_t i = 0; i < demand->n; i++) {
		uint64_t value = (demand->value[i] * to * 2 + from) / (2 * (uint64_t)from);
		value = value ? value : 1;
		if (n && demand->value[n - 1] == value)
			continue;
		demand->at_ms[n] = demand->at_ms[i];
		demand->value[n++] = value;
	}
	demand->n = n;
}

uint64_t phx_series_peak(const struct phx_trace_series *s)
{
	uint64_t peak = 0;
	for (size_t i = 0; i < s->n; i++)
		peak = s->value[i] > peak ? s->value[i] : peak;
	return peak;
}

uint64_t phx_series_integral(const struct phx_trace_series *s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		int64_t until = i + 1 < s->n ? s->at_ms[i + 1] : s->end_ms;
		sum += s->value[i] * (uint64_t)(until - s->at_ms[i]);
	}
	return sum;
}
