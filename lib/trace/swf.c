/* Reads the Standard Workload Format: rows, and what is made of them. Called
 * by phx sim; opens no file, keeps nothing. Fields are scanned by hand: a log
 * of a quarter of a million jobs is read in a few hundredths of a second. */
#include "trace/swf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const sizes_names[] = {"either", "allocated"};
const struct phx_enum phx_swf_sizes_names = {"source of sizes", sizes_names,
					     PHX_ARRAY_SIZE(sizes_names)};
static const char *const wide_names[] = {"skip", "keep", "cut"};
const struct phx_enum phx_swf_wide_names = {"treatment of wide jobs", wide_names,
					    PHX_ARRAY_SIZE(wide_names)};

enum unit { NUMBER, TIME };
static const struct {
	const char *name;
	enum unit unit;
} fields[] = {
#define FIELD(id, name, unit) {name, unit},
#include "trace/swf.def"
#undef FIELD
};
static const char *const expected[] = {
	[NUMBER] = "a number, or -1 for unknown", [TIME] = "seconds, or -1 for unknown"};

#define DIGITS_MAX 15                 /* of a field: its milliseconds fit 64 bits */
#define PROCS_MAX 1000000000          /* processors of a job */
#define SUBMIT_MAX_MS 100000000000000 /* three thousand years */
#define GAP_MAX_MILLI 1000000         /* a thousandfold, which still fits */

/* ---- rows ---- */

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_end(char c)
{
	return c == '\n' || c == 0;
}

/* The fraction behind a point, in thousandths; digits beyond are dropped. */
static const char *scan_fraction(const char *p, int64_t *ret_milli)
{
	int64_t milli = 0, weight = 100;
	for (; is_digit(*p); p++, weight /= 10)
		milli += (*p - '0') * weight;
	*ret_milli = milli;
	return p;
}

/* One number at p, in thousandths for a TIME; NULL when there is none. */
static inline const char *scan_number(const char *p, enum unit unit, int64_t *ret)
{
	bool negative = *p == '-';
	const char *begin = p += negative;
	int64_t value = 0, milli = 0;
	for (; is_digit(*p); p++) {
		if (p - begin == DIGITS_MAX)
			return NULL;
		value = value * 10 + (*p - '0');
	}
	if (p == begin)
		return NULL;
	if (*p == '.')
		p = scan_fraction(p + 1, &milli);
	if (!is_blank(*p) && !is_end(*p))
		return NULL;
	if (unit == TIME)
		value = value * 1000 + milli;
	*ret = negative ? -value : value;
	return p;
}

/* FILE:LINE: field: what stands there and what was expected. */
static int complain(const struct phx_swf *swf, unsigned field, const char *p, struct phx_err *err)
{
	int n = 0;
	while (n < 40 && !is_blank(p[n]) && !is_end(p[n]))
		n++;
	if (n == 0)
		return phx_err_set(err, -EINVAL,
				   "%s:%llu: %s: missing: a row has %d fields, this one %u",
				   swf->name, (unsigned long long)swf->line, fields[field].name,
				   PHX_SWF_FIELDS, field);
	return phx_err_set(err, -EINVAL, "%s:%llu: %s: \"%.*s\": expected %s", swf->name,
			   (unsigned long long)swf->line, fields[field].name, n, p,
			   expected[fields[field].unit]);
}

static int scan_row(const struct phx_swf *swf, const char **p, struct phx_swf_row *ret,
		    struct phx_err *err)
{
	const char *at = *p;
	struct phx_swf_row row;
	for (unsigned i = 0; i < PHX_SWF_FIELDS; i++) {
		while (is_blank(*at))
			at++;
		const char *behind = scan_number(at, fields[i].unit, &row.field[i]);
		if (!behind)
			return complain(swf, i, at, err);
		at = behind;
	}
	while (is_blank(*at))
		at++;
	*p = at;
	if (!is_end(*at) || (*at == 0 && at < swf->end))
		return phx_err_set(err, -EINVAL, "%s:%llu: more than the %d fields of a row",
				   swf->name, (unsigned long long)swf->line, PHX_SWF_FIELDS);
	*ret = row;
	return 1;
}

static const struct {
	const char *key;
	size_t offset;
} header_keys[] = {
	{"MaxNodes", offsetof(struct phx_swf_header, max_nodes)},
	{"MaxProcs", offsetof(struct phx_swf_header, max_procs)},
	{"UnixStartTime", offsetof(struct phx_swf_header, unix_start_s)},
};

static void set_header(struct phx_swf_header *h, size_t i, const char *value)
{
	int64_t number;
	if (scan_number(value, NUMBER, &number) && number >= 0)
		memcpy((char *)h + header_keys[i].offset, &number, sizeof(number));
}

/* "; Key: value"; keys that we do not use and free text are passed over. */
static void read_header(struct phx_swf *swf, const char *p, const char *end)
{
	while (p < end && (*p == ';' || is_blank(*p)))
		p++;
	const char *colon = memchr(p, ':', (size_t)(end - p));
	if (!colon)
		return;
	size_t n_key = (size_t)(colon - p);
	const char *value = colon + 1;
	while (value < end && is_blank(*value))
		value++;
	while (end > value && is_blank(end[-1]))
		end--;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(header_keys); i++)
		if (strlen(header_keys[i].key) == n_key &&
		    memcmp(header_keys[i].key, p, n_key) == 0)
			set_header(&swf->header, i, value);
}

void phx_swf_open(struct phx_swf *swf, const char *name, const char *text, size_t n)
{
	*swf = (struct phx_swf){.name = name, .at = text, .end = text + n};
}

/* The end of the line at p: its newline, or the end of the text. */
static const char *line_end(const struct phx_swf *swf, const char *p)
{
	const char *end = memchr(p, '\n', (size_t)(swf->end - p));
	return end ? end : swf->end;
}

int phx_swf_next(struct phx_swf *swf, struct phx_swf_row *ret, struct phx_err *err)
{
	while (swf->at < swf->end) {
		const char *p = swf->at;
		swf->line++;
		while (is_blank(*p))
			p++;
		if (*p != ';' && *p != '\n' && p < swf->end) {
			int r = scan_row(swf, &p, ret, err);
			p = r < 0 ? line_end(swf, p) : p;
			swf->at = p < swf->end ? p + 1 : p;
			return r;
		}
		const char *end = line_end(swf, p);
		read_header(swf, p, end);
		swf->at = end < swf->end ? end + 1 : end;
	}
	return 0;
}

/* ---- jobs ---- */

struct reading {
	struct phx_swf swf;
	const struct phx_swf_options *o;
	struct phx_trace_jobs w;
	size_t cap;
	int64_t last_submit_ms; /* latest so far */
	uint64_t last_id;
	bool ids_rise; /* each number above the one before: none comes twice */
};

/* Nodes that hold `procs` processors, scaled; 0 when it does not fit 32 bits. */
static uint32_t size_of(const struct phx_swf_options *o, int64_t procs)
{
	uint64_t per_node = o->per_node ? o->per_node : 1,
		 milli = o->size_milli ? o->size_milli : 1000;
	uint64_t size = (((uint64_t)procs + per_node - 1) / per_node * milli + 500) / 1000;
	return size == 0 ? 1 : size > UINT32_MAX ? 0 : (uint32_t)size;
}

/* Processors of a row, 0 when nobody knows. */
static int64_t procs_of(const struct phx_swf_options *o, const struct phx_swf_row *row)
{
	int64_t procs = row->field[PHX_SWF_PROCS];
	if (procs > 0 || o->sizes == PHX_SWF_ALLOCATED || row->field[PHX_SWF_RUN] <= 0)
		return procs > 0 ? procs : 0;
	return row->field[PHX_SWF_PROCS_ASKED] > 0 ? row->field[PHX_SWF_PROCS_ASKED] : 0;
}

/* Values that every use of the row needs. */
static int check_row(const struct reading *rd, const struct phx_swf_row *row, struct phx_err *err)
{
	static const struct {
		int field;
		int64_t min, max;
		const char *text;
	} bounds[] = {
		{PHX_SWF_JOB, 0, INT64_MAX, "a number from 0"},
		{PHX_SWF_SUBMIT, 0, SUBMIT_MAX_MS, "seconds from the log's start, 0 to 10^11"},
		{PHX_SWF_PROCS, INT64_MIN, PROCS_MAX, "at most 1000000000"},
		{PHX_SWF_PROCS_ASKED, INT64_MIN, PROCS_MAX, "at most 1000000000"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bounds); i++) {
		int64_t value = row->field[bounds[i].field];
		bool time = fields[bounds[i].field].unit == TIME;
		if (value < bounds[i].min || value > bounds[i].max)
			return phx_err_set(
				err, -EINVAL, "%s:%llu: %s: \"%lld\": expected %s", rd->swf.name,
				(unsigned long long)rd->swf.line, fields[bounds[i].field].name,
				(long long)(time ? value / 1000 : value), bounds[i].text);
	}
	return 0;
}

static int add_job(struct reading *rd, const struct phx_trace_job *job)
{
	struct phx_trace_jobs *w = &rd->w;
	if (w->n == rd->cap) {
		size_t cap = rd->cap ? rd->cap * 2 : (size_t)(rd->swf.end - rd->swf.at) / 80 + 64;
		struct phx_trace_job *jobs =
			cap > UINT32_MAX ? NULL : reallocarray(w->jobs, cap, sizeof(*jobs));
		if (!jobs)
			return -ENOMEM;
		w->jobs = jobs;
		rd->cap = cap;
	}
	w->n_unsorted += job->submit_ms < rd->last_submit_ms;
	rd->last_submit_ms =
		job->submit_ms > rd->last_submit_ms ? job->submit_ms : rd->last_submit_ms;
	rd->ids_rise = rd->ids_rise && (w->n == 0 || job->id > rd->last_id);
	rd->last_id = job->id;
	w->jobs[w->n++] = *job;
	return 0;
}

static inline uint32_t known_u32(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* A row to a job, or to a count of what was odd with it. */
static int take_row(struct reading *rd, const struct phx_swf_row *row)
{
	const struct phx_swf_options *o = rd->o;
	const int64_t *f = row->field;
	int64_t procs = procs_of(o, row);
	uint32_t size = procs ? size_of(o, procs) : 0;
	if (!size) {
		rd->w.n_skipped_size++;
		return 0;
	}
	if (o->nodes && size > o->nodes) {
		rd->w.n_too_wide++;
		if (o->wide == PHX_SWF_WIDE_SKIP)
			return 0;
		size = o->wide == PHX_SWF_WIDE_CUT ? o->nodes : size;
	}
	rd->w.n_zero_run += f[PHX_SWF_RUN] == 0;
	struct phx_trace_job job = {
		.id = (uint64_t)f[PHX_SWF_JOB],
		.submit_ms = o->gap_milli ? f[PHX_SWF_SUBMIT] / 1000 * o->gap_milli +
				f[PHX_SWF_SUBMIT] % 1000 * o->gap_milli / 1000
					  : f[PHX_SWF_SUBMIT],
		.run_ms = f[PHX_SWF_RUN],
		.estimate_ms = f[PHX_SWF_TIME_ASKED] > 0 ? f[PHX_SWF_TIME_ASKED] : -1,
		.size = size,
		.user = known_u32(f[PHX_SWF_USER]),
		.class = known_u32(f[PHX_SWF_QUEUE]),
	};
	return add_job(rd, &job);
}

static int read_rows(struct reading *rd, struct phx_err *err)
{
	struct phx_swf_row row;
	for (int r;;) {
		r = phx_swf_next(&rd->swf, &row, rd->o->lenient ? NULL : err);
		if (r == 0)
			return 0;
		rd->w.n_rows++;
		if (r > 0 && row.field[PHX_SWF_RUN] < 0) {
			rd->w.n_negative_run++;
			continue;
		}
		if (r > 0)
			r = check_row(rd, &row, rd->o->lenient ? NULL : err);
		if (r < 0 && !rd->o->lenient)
			return r;
		rd->w.n_malformed += r < 0;
		if (r >= 0)
			r = take_row(rd, &row);
		if (r == -ENOMEM)
			return r;
	}
}

static int by_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* No job number comes twice: what runs a workload names jobs by it. */
static int check_ids(const struct reading *rd, struct phx_err *err)
{
	if (rd->ids_rise)
		return 0;
	PHX_AUTO_FREE uint64_t *ids = reallocarray(NULL, rd->w.n, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < rd->w.n; i++)
		ids[i] = rd->w.jobs[i].id;
	qsort(ids, rd->w.n, sizeof(*ids), by_id);
	for (size_t i = 1; i < rd->w.n; i++)
		if (ids[i] == ids[i - 1])
			return phx_err_set(
				err, -EINVAL,
				"%s: job number: %llu: expected a number of its own for each job",
				rd->swf.name, (unsigned long long)ids[i]);
	return 0;
}

/* Keep the jobs of the window and count their times from its begin. */
static void cut_window(struct phx_trace_jobs *w, const struct phx_swf_options *o)
{
	int64_t begin = o->from_ms + (o->from_first && w->n ? w->jobs[0].submit_ms : 0);
	size_t first = 0, n = 0;
	while (first < w->n && w->jobs[first].submit_ms < begin)
		first++;
	for (size_t i = first; i < w->n; i++, n++) {
		int64_t at = w->jobs[i].submit_ms - begin;
		if (o->length_ms && at >= o->length_ms)
			break;
		w->jobs[n] = w->jobs[i];
		w->jobs[n].submit_ms = at;
	}
	w->n = n;
	if (w->unix_start_s)
		w->unix_start_s += begin / 1000;
}

static uint32_t nodes_of(const struct phx_swf_options *o, const struct phx_swf_header *h)
{
	int64_t procs = h->max_procs ? h->max_procs : h->max_nodes;
	return procs == 0 || procs > PROCS_MAX ? 0 : size_of(o, procs);
}

int phx_swf_read(const char *name, const char *text, size_t n,
		 const struct phx_swf_options *options, struct phx_trace_jobs *ret,
		 struct phx_err *err)
{
	struct reading rd = {.o = options, .ids_rise = true, .last_submit_ms = INT64_MIN};
	if (options->gap_milli > GAP_MAX_MILLI)
		return phx_err_set(err, -EINVAL, "%s: gaps can be stretched by at most %d", name,
				   GAP_MAX_MILLI / 1000);
	phx_swf_open(&rd.swf, name, text, n);
	int r = read_rows(&rd, err);
	if (r == 0)
		r = check_ids(&rd, err);
	if (r < 0) {
		phx_trace_jobs_fini(&rd.w);
		return r;
	}
	if (rd.w.n_unsorted || !rd.ids_rise)
		phx_trace_jobs_sort(&rd.w);
	rd.w.max_nodes = nodes_of(options, &rd.swf.header);
	rd.w.unix_start_s = rd.swf.header.unix_start_s;
	cut_window(&rd.w, options);
	*ret = rd.w;
	return 0;
}
