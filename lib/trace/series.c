/* Reads series of counts and of demand from CSV. Called by phx sim; opens no
 * file. What becomes of a load series is in convert.c. */
#include "trace/series.h"

#include <errno.h>
#include <string.h>

#define DIGITS_MAX 15
#define TIME_MAX_S 100000000000 /* three thousand years: its milliseconds fit */
#define COUNT_MAX 1000000000000
#define DAY_S 86400

struct reading {
	const char *name;
	uint64_t line;
	const struct phx_series_options *o;
	struct phx_trace_series s; /* values as written, times in ms as written */
	size_t cap;
	size_t n_malformed;
	int64_t smallest_ms; /* distance of two rows */
	char day[10];        /* the date read last, and its first second */
	int64_t day_s;
};

/* ---- times ---- */

/* Days from 1970-01-01 of a date in the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	year -= month <= 2;
	int64_t era = year / 400, of_era = year % 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* `n` digits at p as a number, -1 when they are not all digits. */
static inline int64_t digits(const char *p, int n)
{
	int64_t value = 0;
	for (int i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		value = value * 10 + (p[i] - '0');
	}
	return value;
}

/* "YYYY-MM-DD" at p, its first second; false when it is none. */
static bool scan_date(const char *p, int64_t *ret_s)
{
	static const uint8_t longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t year = digits(p, 4);
	if (year < 1 || p[4] != '-')
		return false;
	int64_t month = digits(p + 5, 2);
	if (month < 1 || month > 12 || p[7] != '-')
		return false;
	int64_t day = digits(p + 8, 2);
	if (day < 1 || day > longest[month - 1])
		return false;
	*ret_s = days_of(year, month, day) * DAY_S;
	return true;
}

/* "HH:MM:SS" at p; -1 when it is none. */
static int64_t scan_clock(const char *p)
{
	int64_t hour = digits(p, 2);
	if (hour < 0 || hour > 23 || p[2] != ':')
		return -1;
	int64_t minute = digits(p + 3, 2);
	if (minute < 0 || minute > 59 || p[5] != ':')
		return -1;
	int64_t second = digits(p + 6, 2);
	return second < 0 || second > 59 ? -1 : hour * 3600 + minute * 60 + second;
}

/* Plain seconds, or a date and a time; the character behind, NULL when neither stands there. */
static const char *scan_time(const char *p, char day[10], int64_t *day_s, int64_t *ret_s)
{
	if (day[0] && strncmp(p, day, 10) == 0) {
		int64_t clock = p[10] == ' ' || p[10] == 'T' ? scan_clock(p + 11) : -1;
		*ret_s = *day_s + clock;
		return clock < 0 ? NULL : p + 19;
	}
	const char *end = p;
	int64_t value = 0;
	for (; *end >= '0' && *end <= '9' && end - p < DIGITS_MAX; end++)
		value = value * 10 + (*end - '0');
	if (end == p || *end != '-') {
		*ret_s = value;
		return end == p || value > TIME_MAX_S ? NULL : end;
	}
	if (!scan_date(p, day_s))
		return NULL;
	memcpy(day, p, 10);
	return p[10] == ' ' || p[10] == 'T' ? scan_time(p, day, day_s, ret_s) : NULL;
}

int phx_series_time(const char *text, int64_t *ret_s)
{
	char padded[32] = "", day[10] = "";
	size_t n = strlen(text);
	int64_t day_s = 0, value;
	if (n >= sizeof(padded))
		return -EINVAL;
	memcpy(padded, text, n);
	if (n == 10 && padded[4] == '-')
		memcpy(padded + 10, " 00:00:00", 10);
	const char *end = scan_time(padded, day, &day_s, &value);
	if (!end || *end)
		return -EINVAL;
	*ret_s = value;
	return 0;
}

/* ---- rows ---- */

static inline bool is_end(char c)
{
	return c == '\n' || c == '\r' || c == 0;
}

/* A whole number up to the line's end. */
static inline bool scan_value(const char *p, uint64_t *ret)
{
	const char *begin = p;
	uint64_t value = 0;
	for (; *p >= '0' && *p <= '9' && p - begin < DIGITS_MAX; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	if (p == begin || !is_end(*p) || value > COUNT_MAX)
		return false;
	*ret = value;
	return true;
}

static int complain(const struct reading *rd, const char *column, const char *p,
		    const char *expected, struct phx_err *err)
{
	int n = 0;
	while (n < 40 && !is_end(p[n]) && p[n] != ',')
		n++;
	return phx_err_set(err, -EINVAL, "%s:%llu: %s: \"%.*s\": expected %s", rd->name,
			   (unsigned long long)rd->line, column, n, p, expected);
}

static int add_row(struct reading *rd, int64_t at_ms, uint64_t value)
{
	struct phx_trace_series *s = &rd->s;
	if (s->n == rd->cap) {
		size_t cap = rd->cap ? rd->cap * 2 : 4096;
		int64_t *at = reallocarray(s->at_ms, cap, sizeof(*at));
		if (!at)
			return -ENOMEM;
		s->at_ms = at;
		uint64_t *values = reallocarray(s->value, cap, sizeof(*values));
		if (!values)
			return -ENOMEM;
		s->value = values;
		rd->cap = cap;
	}
	s->at_ms[s->n] = at_ms;
	s->value[s->n++] = value;
	return 0;
}

static const char time_expected[] = "YYYY-MM-DD HH:MM:SS or seconds, later than the row above";

static int read_row(struct reading *rd, const char *p, struct phx_err *err)
{
	bool counts = rd->o->kind == PHX_SERIES_COUNTS;
	int64_t at_s;
	uint64_t value;
	const char *behind = scan_time(p, rd->day, &rd->day_s, &at_s);
	if (!behind || *behind != ',')
		return complain(rd, "time", p, time_expected, err);
	if (!scan_value(behind + 1, &value))
		return complain(rd, counts ? "count" : "instances", behind + 1, "a whole number",
				err);
	if (rd->s.n) {
		int64_t distance = at_s * 1000 - rd->s.at_ms[rd->s.n - 1];
		if (distance <= 0)
			return complain(rd, "time", p, time_expected, err);
		if (distance < rd->smallest_ms)
			rd->smallest_ms = distance;
	}
	return add_row(rd, at_s * 1000, value);
}

/* A first line that holds no number behind its comma. */
static bool is_header(const char *p)
{
	const char *comma = strpbrk(p, ",\n");
	return comma && *comma == ',' && !(comma[1] >= '0' && comma[1] <= '9') && comma[1] != '-';
}

static int read_rows(struct reading *rd, const char *text, size_t n, struct phx_err *err)
{
	const char *end = text + n;
	for (const char *p = text; p < end;) {
		const char *next = memchr(p, '\n', (size_t)(end - p));
		rd->line++;
		bool passed = *p == '\n' || *p == '#' || (rd->line == 1 && is_header(p));
		int r = passed ? 0 : read_row(rd, p, rd->o->lenient ? NULL : err);
		if (r < 0 && (r != -EINVAL || !rd->o->lenient))
			return r;
		rd->n_malformed += r < 0;
		p = next ? next + 1 : end;
	}
	return 0;
}

/* ---- the window ---- */

/* The series as it is used: times from the window's begin, a load where there are counts, zero
 * where rows are absent.
 */
static int fill(const struct reading *rd, int64_t begin_ms, int64_t end_ms, int64_t period_ms,
		struct phx_trace_series *ret)
{
	const struct phx_trace_series *raw = &rd->s;
	bool counts = rd->o->kind == PHX_SERIES_COUNTS;
	struct reading out = {0};
	int64_t covered_ms = begin_ms; /* everything before is in `out` */
	int r = 0;
	for (size_t i = 0; i < raw->n && r == 0 && raw->at_ms[i] < end_ms; i++) {
		int64_t at = raw->at_ms[i],
			until = i + 1 < raw->n ? raw->at_ms[i + 1] : at + period_ms;
		if (counts && until > at + period_ms)
			until = at + period_ms;
		if (until <= begin_ms)
			continue;
		if (at > covered_ms)
			r = add_row(&out, covered_ms - begin_ms, 0);
		uint64_t value = raw->value[i];
		if (counts)
			value = (value * 1000000 + (uint64_t)period_ms / 2) / (uint64_t)period_ms;
		if (r == 0)
			r = add_row(&out, (at > begin_ms ? at : begin_ms) - begin_ms, value);
		covered_ms = until;
	}
	if (r == 0 && covered_ms < end_ms)
		r = add_row(&out, covered_ms - begin_ms, 0);
	out.s.end_ms = end_ms - begin_ms;
	if (r < 0)
		phx_trace_series_fini(&out.s);
	else
		*ret = out.s;
	return r;
}

static int cut(const struct reading *rd, struct phx_trace_series *ret, struct phx_err *err)
{
	const struct phx_series_options *o = rd->o;
	if (rd->s.n == 0)
		return phx_err_set(err, -EINVAL, "%s: no row in it: expected \"time,number\" lines",
				   rd->name);
	int64_t period_ms = o->period_ms       ? o->period_ms
		: rd->smallest_ms == INT64_MAX ? 60000
					       : rd->smallest_ms;
	int64_t last_ms = rd->s.at_ms[rd->s.n - 1] + period_ms;
	if (o->begin_s != INT64_MIN && (o->begin_s > TIME_MAX_S || o->begin_s < -TIME_MAX_S))
		return phx_err_set(err, -EINVAL, "%s: the window begins too far away", rd->name);
	int64_t begin_ms = o->begin_s == INT64_MIN ? rd->s.at_ms[0] : o->begin_s * 1000;
	int64_t end_ms = o->length_ms ? begin_ms + o->length_ms : last_ms;
	if (end_ms <= rd->s.at_ms[0] || begin_ms >= last_ms)
		return phx_err_set(err, -EINVAL, "%s: no row within the window", rd->name);
	return fill(rd, begin_ms, end_ms, period_ms, ret);
}

int phx_series_read(const char *name, const char *text, size_t n,
		    const struct phx_series_options *options, struct phx_trace_series *ret,
		    size_t *ret_malformed, struct phx_err *err)
{
	struct reading rd = {.name = name, .o = options, .smallest_ms = INT64_MAX};
	int r = read_rows(&rd, text, n, err);
	if (r == 0)
		r = cut(&rd, ret, err);
	if (r == 0 && ret_malformed)
		*ret_malformed = rd.n_malformed;
	phx_trace_series_fini(&rd.s);
	return r;
}
