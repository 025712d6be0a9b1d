/* The text format of metrics: see metrics.h. Rows are written by hand, as there may be a quarter of
 * a million in one answer. Pure. */
#include "metrics/metrics.h"

#include <assert.h>
#include <string.h>

const struct phx_metric_info phx_metric_infos[PHX_METRICS] = {
#define METRIC(name, type, whom, labels, help) \
	{"phx_" #name, PHX_METRIC_##type, PHX_METRIC_##whom, labels, help},
#include "metrics/metric.def"
#undef METRIC
};

enum { DIGITS_MAX = 32 };

static void add_text(struct phx_buf *b, const char *text)
{
	phx_buf_add(b, text, strlen(text));
}

/* HELP has two escapes, and no row of the table needs one; the test of the table says so. */
void phx_metric_head(struct phx_buf *b, enum phx_metric m)
{
	static const char *const types[] = {"gauge", "counter", "histogram"};
	const struct phx_metric_info *i = &phx_metric_infos[m];
	add_text(b, "# HELP ");
	add_text(b, i->name);
	add_text(b, " ");
	add_text(b, i->help);
	add_text(b, "\n# TYPE ");
	add_text(b, i->name);
	add_text(b, " ");
	add_text(b, types[i->type]);
	add_text(b, "\n");
}

static bool is_plain(char at)
{
	unsigned char c = (unsigned char)at;
	return c >= ' ' && c < 127 && c != '\\' && c != '"';
}

void phx_metric_escape(struct phx_buf *b, const char *text)
{
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		size_t plain = 0;
		while (is_plain(p[plain]))
			plain++;
		if (plain) {
			phx_buf_add(b, p, plain);
			p += plain - 1;
		} else if (c == '\\')
			add_text(b, "\\\\");
		else if (c == '"')
			add_text(b, "\\\"");
		else if (c == '\n')
			add_text(b, "\\n");
		else
			add_text(b, "?");
	}
}

/* `before` is "{" or ",". Returns what comes before the next label. */
static const char *put_label(struct phx_buf *b, const char *before, const char *name, size_t n_name,
			     const char *value)
{
	add_text(b, before);
	phx_buf_add(b, name, n_name);
	add_text(b, "=\"");
	phx_metric_escape(b, value);
	add_text(b, "\"");
	return ",";
}

/* All labels of the family, without the closing brace. */
static const char *put_labels(struct phx_buf *b, const struct phx_metric_info *i,
			      const char *const *labels)
{
	const char *before = "{";
	for (const char *name = i->labels; *name;) {
		size_t n = strcspn(name, " ");
		before = put_label(b, before, name, n, *labels++);
		name += n + (name[n] == ' ');
	}
	return before;
}

static void put_number(struct phx_buf *b, int64_t value, unsigned decimals)
{
	char text[DIGITS_MAX], *at = text + sizeof(text);
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	assert(decimals < 10);
	for (unsigned n = 0; left || n <= decimals; n++, left /= 10) {
		if (n && n == decimals)
			*--at = '.';
		*--at = (char)('0' + left % 10);
	}
	if (value < 0)
		*--at = '-';
	phx_buf_add(b, at, (size_t)(text + sizeof(text) - at));
}

static void end_row(struct phx_buf *b, const char *before, int64_t value, unsigned decimals)
{
	add_text(b, *before == ',' ? "} " : " ");
	put_number(b, value, decimals);
	add_text(b, "\n");
}

void phx_metric_put(struct phx_buf *b, enum phx_metric m, const char *const *labels, int64_t value,
		    unsigned decimals)
{
	const struct phx_metric_info *i = &phx_metric_infos[m];
	add_text(b, i->name);
	end_row(b, put_labels(b, i, labels), value, decimals);
}

/* ---- histograms ---- */

enum { MICRO = 6, MS = 1000, S = 1000 * MS };

const struct phx_buckets phx_buckets_answers = {.n = 12,
						.bounds_us = {100, 300, 1 * MS, 3 * MS, 10 * MS,
							      30 * MS, 100 * MS, 300 * MS, 1 * S,
							      3 * S, 5 * S, 10 * S}};
const struct phx_buckets phx_buckets_steps = {
	.n = 14,
	.bounds_us = {100 * MS, 300 * MS, 1 * S, 3 * S, 10 * S, 20 * S, 30 * S, 60 * S, 120 * S,
		      300 * S, 600 * S, 1200 * S, 1800 * S, (int64_t)7200 * S}};

void phx_histogram_observe(struct phx_histogram *h, const struct phx_buckets *buckets, int64_t us)
{
	uint32_t i = 0;
	us = us < 0 ? 0 : us;
	while (i < buckets->n && us > buckets->bounds_us[i])
		i++;
	h->counts[i]++;
	h->n++;
	h->sum_us += (uint64_t)us;
}

/* A bound as a number without zeros behind: 0.1, 7200. */
static void put_bound(struct phx_buf *b, int64_t us)
{
	unsigned decimals = MICRO;
	while (decimals && us % 10 == 0) {
		us /= 10;
		decimals--;
	}
	put_number(b, us, decimals);
}

static void put_bucket(struct phx_buf *b, const struct phx_metric_info *i,
		       const char *const *labels, const int64_t *bound_us, uint64_t n)
{
	add_text(b, i->name);
	add_text(b, "_bucket");
	add_text(b, put_labels(b, i, labels));
	add_text(b, "le=\"");
	if (bound_us)
		put_bound(b, *bound_us);
	else
		add_text(b, "+Inf");
	add_text(b, "\"");
	end_row(b, ",", (int64_t)n, 0);
}

static void put_total(struct phx_buf *b, const struct phx_metric_info *i, const char *const *labels,
		      const char *ending, int64_t value, unsigned decimals)
{
	add_text(b, i->name);
	add_text(b, ending);
	end_row(b, put_labels(b, i, labels), value, decimals);
}

void phx_histogram_put(struct phx_buf *b, enum phx_metric m, const char *const *labels,
		       const struct phx_histogram *h, const struct phx_buckets *buckets)
{
	const struct phx_metric_info *i = &phx_metric_infos[m];
	uint64_t below = 0;
	for (uint32_t k = 0; k < buckets->n; k++) {
		below += h->counts[k];
		put_bucket(b, i, labels, &buckets->bounds_us[k], below);
	}
	put_bucket(b, i, labels, NULL, h->n);
	put_total(b, i, labels, "_sum", (int64_t)h->sum_us, MICRO);
	put_total(b, i, labels, "_count", (int64_t)h->n, 0);
}

/* ---- phases ---- */

static const enum phx_phase phases[PHX_STEP_COUNT_] = {
	[PHX_STEP_prefetch] = PHX_PHASE_DRAIN,    [PHX_STEP_divert] = PHX_PHASE_DRAIN,
	[PHX_STEP_drain] = PHX_PHASE_DRAIN,       [PHX_STEP_settle] = PHX_PHASE_DRAIN,
	[PHX_STEP_stop] = PHX_PHASE_STOP,         [PHX_STEP_leave] = PHX_PHASE_STOP,
	[PHX_STEP_kexec] = PHX_PHASE_WIPE,        [PHX_STEP_boot] = PHX_PHASE_WIPE,
	[PHX_STEP_destroy_key] = PHX_PHASE_WIPE,  [PHX_STEP_wipe] = PHX_PHASE_WIPE,
	[PHX_STEP_make_key] = PHX_PHASE_DEPLOY,   [PHX_STEP_image] = PHX_PHASE_DEPLOY,
	[PHX_STEP_ram] = PHX_PHASE_DEPLOY,        [PHX_STEP_enter] = PHX_PHASE_DEPLOY,
	[PHX_STEP_activate] = PHX_PHASE_START,    [PHX_STEP_start] = PHX_PHASE_START,
	[PHX_STEP_health] = PHX_PHASE_START,      [PHX_STEP_join] = PHX_PHASE_JOIN,
	[PHX_STEP_rekey] = PHX_PHASE_WIPE,        [PHX_STEP_scratch] = PHX_PHASE_WIPE,
	[PHX_STEP_kernel] = PHX_PHASE_DEPLOY,     [PHX_STEP_layout] = PHX_PHASE_DEPLOY,
	[PHX_STEP_check_cpu] = PHX_PHASE_DEPLOY,  [PHX_STEP_check_memory] = PHX_PHASE_DEPLOY,
	[PHX_STEP_check_disk] = PHX_PHASE_DEPLOY,
};

const char *phx_phase_name(enum phx_phase phase)
{
	static const char *const names[] = {"drain", "stop", "wipe", "deploy", "start", "join"};
	return names[phase];
}

enum phx_phase phx_phase_of(enum phx_step_kind step)
{
	return phases[step];
}
