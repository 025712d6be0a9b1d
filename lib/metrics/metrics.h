/* Metrics as Prometheus reads them: the table of families (metric.def), the text format, and
 * histograms. Called by phxd, which counts and renders. Pure: who calls has the lock, the clock and
 * the state. */
#ifndef PHX_METRICS_METRICS_H
#define PHX_METRICS_METRICS_H

#include "base/util.h"
#include "types/node.h"

enum phx_metric {
#define METRIC(name, ...) PHX_METRIC_##name,
#include "metrics/metric.def"
#undef METRIC
	PHX_METRICS
};

enum phx_metric_type { PHX_METRIC_GAUGE, PHX_METRIC_COUNTER, PHX_METRIC_HISTOGRAM };
/** Whom a family is shown to: metric.def. */
enum phx_metric_whom { PHX_METRIC_KNOWN, PHX_METRIC_ALL, PHX_METRIC_NODE };
enum { PHX_METRIC_LABELS_MAX = 3 };

/** A row of metric.def. */
struct phx_metric_info {
	const char *name; /* with "phx_" */
	enum phx_metric_type type;
	enum phx_metric_whom whom;
	const char *labels; /* names, with blanks between */
	const char *help;
};
extern const struct phx_metric_info phx_metric_infos[PHX_METRICS];

/** Appends the lines HELP and TYPE of a family; its rows must follow, all together. */
void phx_metric_head(struct phx_buf *b, enum phx_metric m);
/** Appends a row. `labels`: a value for each label of the family, in its order, of any bytes: what
 * the format does not take is escaped, control characters become '?'. The number is `value` / 10 to
 * the power of `decimals` (0 to 9). */
void phx_metric_put(struct phx_buf *b, enum phx_metric m, const char *const *labels, int64_t value,
		    unsigned decimals);
/** The value of a label, escaped, as phx_metric_put() writes it; without quotation marks. */
void phx_metric_escape(struct phx_buf *b, const char *text);

/* ---- histograms ---- */

enum { PHX_BUCKETS_MAX = 16 };
/** Upper bounds of buckets in microseconds, ascending; what is above the last is in one more. */
struct phx_buckets {
	uint32_t n;
	int64_t bounds_us[PHX_BUCKETS_MAX];
};
/** For answers: from 100 microseconds to 10 s. */
extern const struct phx_buckets phx_buckets_answers;
/** For steps and hand-overs: from 100 ms to 2 h. */
extern const struct phx_buckets phx_buckets_steps;

/** What was observed; zeroed at first. Whoever counts uses the same buckets always. */
struct phx_histogram {
	uint64_t counts[PHX_BUCKETS_MAX + 1]; /* each bucket alone */
	uint64_t n, sum_us;
};
/** Counts one observation; below 0 it counts as 0 (a clock that was set back). */
void phx_histogram_observe(struct phx_histogram *h, const struct phx_buckets *buckets, int64_t us);
/** Appends its rows, with `labels` as phx_metric_put() takes them. Buckets are cumulative there. */
void phx_histogram_put(struct phx_buf *b, enum phx_metric m, const char *const *labels,
		       const struct phx_histogram *h, const struct phx_buckets *buckets);

/* ---- phases of a hand-over ---- */

/** What people call the parts of a hand-over; every kind of step is in one. */
enum phx_phase {
	PHX_PHASE_DRAIN,
	PHX_PHASE_STOP,
	PHX_PHASE_WIPE,
	PHX_PHASE_DEPLOY,
	PHX_PHASE_START,
	PHX_PHASE_JOIN,
	PHX_PHASES
};
/** Its name in metrics; static. */
const char *phx_phase_name(enum phx_phase phase);
enum phx_phase phx_phase_of(enum phx_step_kind step);

#endif
