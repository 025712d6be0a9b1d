/* Series of web load and of node demand: read from CSV, turned from the one
 * into the other by the WS manager's own rule (lib/web). Used by phx sim; reads
 * text, never files.
 *
 * The CSV has two columns: when, and a number; a first line without a number in
 * its second column is a header. When: `YYYY-MM-DD HH:MM:SS` (GMT; also with a
 * T), or seconds. Rows rise strictly. */
#ifndef PHX_TRACE_SERIES_H
#define PHX_TRACE_SERIES_H

#include "trace/workload.h"
#include "web/web.h"

enum phx_series_kind {
	/* requests in the period that begins then; a period without a row had none */
	PHX_SERIES_COUNTS,
	PHX_SERIES_DEMAND, /* instances wanted from then on */
};

struct phx_series_options {
	int kind;
	/* of a count, and of the last row; 0 = the smallest distance of two rows */
	int64_t period_ms;
	int64_t begin_s;   /* the window's begin, as in the file; INT64_MIN = the first row */
	int64_t length_ms; /* 0 = to the end of the last row's period */
	bool lenient;      /* skip and count malformed rows */
};

/** Seconds (since 1970, GMT) of "YYYY-MM-DD", "YYYY-MM-DD HH:MM:SS" or plain seconds. -EINVAL. */
int phx_series_time(const char *text, int64_t *ret_s);

/** Read all of `text`, `n` bytes with a NUL behind them: a load series for COUNTS, else a demand
 * series; its time 0 is the window's begin. ret_malformed may be NULL. -EINVAL (FILE:LINE: column:
 * what was expected; an empty window), -ENOMEM; outputs untouched then. */
int phx_series_read(const char *name, const char *text, size_t n,
		    const struct phx_series_options *options, struct phx_trace_series *ret,
		    size_t *ret_malformed, struct phx_err *err);

/** How load becomes demand (000 6.4): windows of web.window_ms one after the other; at the end of
 * each the instances are adjusted by the mean use in it. */
struct phx_series_rule {
	struct phx_web_params web;
	uint32_t start; /* instances at time 0 (the papers: 2) */
	/* requests a second that keep one instance fully used, in thousandths */
	uint64_t capacity_milli;
	/* the load is multiplied by it / 1000 (the papers: 2220); 0 = 1000 */
	uint32_t factor_milli;
};

/** The demand that `load` makes. -EINVAL no capacity or window, -ENOMEM. */
int phx_series_convert(const struct phx_trace_series *load, const struct phx_series_rule *rule,
		       struct phx_trace_series *ret, struct phx_err *err);

/** The smallest capacity at which the demand peaks at exactly `peak` instances (rule.capacity_milli
 * is not looked at): what the papers leave open (policies.md 2). -ERANGE when none does. */
int phx_series_calibrate(const struct phx_trace_series *load, const struct phx_series_rule *rule,
			 uint32_t peak, uint64_t *ret_capacity_milli, struct phx_err *err);

/** Scale a demand to another peak: value · to / from, rounded half up, at least 1 (policies.md,
 * reading 7). In place.
 */
void phx_series_scale(struct phx_trace_series *demand, uint32_t to, uint32_t from);

/** Largest value; value·milliseconds over the whole series. */
uint64_t phx_series_peak(const struct phx_trace_series *s);
uint64_t phx_series_integral(const struct phx_trace_series *s);

#endif
