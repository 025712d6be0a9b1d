/* What share_watch and load_play wrote, put together: one table (CSV), one picture (SVG), and a
 * compact form for the terminal on standard output. For share.sh.
 *
 *	share_draw --watch FILE --load FILE --csv FILE --svg FILE --title TEXT */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/svg.h"

enum { COLUMNS_WIDE = 72, LINE_MAX_BYTES = 512 };

/* One row a column of the table: where it comes from and how it is called. */
enum source { WATCH, LOAD };
#define TABLE(COLUMN) \
	COLUMN(batch_nodes, WATCH, 1) \
	COLUMN(batch_nodes_busy, WATCH, 2) \
	COLUMN(web_nodes, WATCH, 3) \
	COLUMN(nodes_on_the_way, WATCH, 4) \
	COLUMN(web_nodes_wanted, WATCH, 5) \
	COLUMN(cpu_use, WATCH, 6) \
	COLUMN(jobs_waiting, WATCH, 7) \
	COLUMN(jobs_running, WATCH, 8) \
	COLUMN(jobs_killed, WATCH, 9) \
	COLUMN(jobs_done, WATCH, 10) \
	COLUMN(requests_offered, LOAD, 1) \
	COLUMN(requests_answered, LOAD, 2) \
	COLUMN(requests_failed, LOAD, 3) \
	COLUMN(requests_under_way, LOAD, 4) \
	COLUMN(response_mean_ms, LOAD, 5) \
	COLUMN(response_p99_ms, LOAD, 6)

enum column {
#define COLUMN(name, source, at) name,
	TABLE(COLUMN)
#undef COLUMN
		COLUMNS
};
static const struct {
	const char *name;
	enum source source;
	int at; /* in its file, after the time */
} columns[COLUMNS] = {
#define COLUMN(name, source, at) {#name, source, at},
	TABLE(COLUMN)
#undef COLUMN
};

/* By second from the first one; NaN where nothing was written. */
struct table {
	int64_t begin;
	size_t n;
	double *x, *value[COLUMNS];
};

struct calling {
	const char *watch, *load, *csv, *svg, *title;
};

/* ---- reading ---- */

static FILE *open_rows(const char *file)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(file, "re");
	if (f && !fgets(line, sizeof(line), f)) { /* the heading */
		fclose(f);
		return NULL;
	}
	return f;
}

static int bounds(const char *file, int64_t *begin, int64_t *end)
{
	char line[LINE_MAX_BYTES];
	FILE *f = open_rows(file);
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		int64_t at = strtoll(line, NULL, 10);
		*begin = at < *begin ? at : *begin;
		*end = at > *end ? at : *end;
	}
	fclose(f);
	return 0;
}

static void take_row(struct table *t, enum source source, char *line)
{
	int at = 0;
	char *rest = line, *word = strsep(&rest, ",\n");
	size_t row = (size_t)(strtoll(word, NULL, 10) - t->begin);
	while ((word = strsep(&rest, ",\n")) && ++at)
		for (int c = 0; c < COLUMNS && word[0]; c++)
			if (columns[c].source == source && columns[c].at == at)
				t->value[c][row] = strtod(word, NULL);
}

static void take_file(struct table *t, enum source source, const char *file)
{
	char line[LINE_MAX_BYTES];
	FILE *f = open_rows(file);
	while (f && fgets(line, sizeof(line), f))
		take_row(t, source, line);
	if (f)
		fclose(f);
}

/* A second in which nobody looked has the values of the one before; an answer has none of its
 * own. */
static void fill(struct table *t)
{
	for (int c = 0; c < COLUMNS; c++)
		for (size_t i = 1; i < t->n && columns[c].source == WATCH; i++)
			if (isnan(t->value[c][i]))
				t->value[c][i] = t->value[c][i - 1];
	for (size_t i = 0; i < t->n; i++) {
		double *use = &t->value[cpu_use][i];
		*use = *use < 0 ? NAN : *use / 1000;
	}
}

static int read_table(const struct calling *q, struct table *t)
{
	int64_t begin = INT64_MAX, end = 0;
	if (bounds(q->watch, &begin, &end) < 0 || bounds(q->load, &begin, &end) < 0 || end <= begin)
		return -1;
	t->begin = begin;
	t->n = (size_t)(end - begin) + 1;
	t->x = calloc(t->n, sizeof(double));
	for (int c = 0; c < COLUMNS; c++) {
		t->value[c] = calloc(t->n, sizeof(double));
		for (size_t i = 0; t->value[c] && i < t->n; i++)
			t->value[c][i] = NAN;
		if (!t->value[c] || !t->x)
			return -1;
	}
	for (size_t i = 0; i < t->n; i++)
		t->x[i] = (double)i;
	take_file(t, WATCH, q->watch);
	take_file(t, LOAD, q->load);
	fill(t);
	return 0;
}

/* ---- CSV ---- */

static int write_csv(const struct table *t, const char *file)
{
	FILE *f = fopen(file, "we");
	if (!f)
		return -1;
	fprintf(f, "second");
	for (int c = 0; c < COLUMNS; c++)
		fprintf(f, ",%s", columns[c].name);
	for (size_t i = 0; i < t->n; i++) {
		fprintf(f, "\n%zu", i);
		for (int c = 0; c < COLUMNS; c++)
			if (isnan(t->value[c][i]))
				fprintf(f, ",");
			else
				fprintf(f, ",%g", t->value[c][i]);
	}
	fprintf(f, "\n");
	return fclose(f);
}

/* ---- SVG ---- */

struct line {
	enum column column;
	const char *name;
	int style;
};
enum { LINES_MAX = 4 };

static const struct {
	const char *title, *y_label;
	double limit_y;
	const char *limit_text;
	struct line lines[LINES_MAX];
} panels[] = {
	{"Nodes",
	 "nodes",
	 NAN,
	 NULL,
	 {{batch_nodes, "batch", PHX_SVG_STEP},
	  {web_nodes, "web", PHX_SVG_STEP},
	  {web_nodes_wanted, "wanted by the web", PHX_SVG_STEP},
	  {nodes_on_the_way, "on the way", PHX_SVG_STEP}}},
	{"Requests",
	 "a second",
	 NAN,
	 NULL,
	 {{requests_offered, "sent", PHX_SVG_LINE},
	  {requests_answered, "answered", PHX_SVG_LINE},
	  {requests_failed, "failed", PHX_SVG_LINE}}},
	{"CPU use of the web instances",
	 "of their share",
	 0.8,
	 "one more above",
	 {{cpu_use, "mean", PHX_SVG_LINE}}},
	{"Response time",
	 "ms",
	 NAN,
	 NULL,
	 {{response_mean_ms, "mean", PHX_SVG_LINE},
	  {response_p99_ms, "99th percentile", PHX_SVG_LINE}}},
	{"Jobs",
	 "jobs",
	 NAN,
	 NULL,
	 {{jobs_waiting, "waiting", PHX_SVG_STEP},
	  {jobs_running, "running", PHX_SVG_STEP},
	  {jobs_killed, "killed and queued again", PHX_SVG_STEP},
	  {jobs_done, "done", PHX_SVG_STEP}}},
};

static int write_svg(const struct table *t, const char *title, const char *file)
{
	struct phx_svg_series series[PHX_ARRAY_SIZE(panels)][LINES_MAX] = {0};
	struct phx_svg_panel of[PHX_ARRAY_SIZE(panels)] = {0};
	struct phx_buf text = {0};
	for (size_t p = 0; p < PHX_ARRAY_SIZE(panels); p++) {
		size_t n = 0;
		for (; n < LINES_MAX && panels[p].lines[n].name; n++) {
			const struct line *l = &panels[p].lines[n];
			series[p][n] = (struct phx_svg_series){l->name, t->x, t->value[l->column],
							       t->n, l->style};
		}
		of[p] = (struct phx_svg_panel){
			.title = panels[p].title,
			.x_label = "time",
			.y_label = panels[p].y_label,
			.series = series[p],
			.n_series = n,
			.x_is_time = true,
			.y_from_zero = true,
			.mark_x = NAN,
			.limit_y = panels[p].limit_y,
			.limit_text = panels[p].limit_text,
		};
	}
	phx_svg_chart(title, of, PHX_ARRAY_SIZE(of), &text);
	FILE *f = text.failed ? NULL : fopen(file, "we");
	int r = f && fwrite(text.data, 1, text.n, f) == text.n ? 0 : -1;
	if (f && fclose(f) != 0)
		r = -1;
	phx_buf_fini(&text);
	return r;
}

/* ---- terminal ---- */

/* What a column of the terminal stands for: several seconds. */
static double span_value(const struct table *t, enum column c, bool mean, size_t cell, size_t cells)
{
	size_t from = cell * t->n / cells, to = (cell + 1) * t->n / cells, n = 0;
	double sum = 0, last = NAN;
	for (size_t i = from; i < to; i++) {
		if (isnan(t->value[c][i]))
			continue;
		last = t->value[c][i];
		sum += last;
		n++;
	}
	return mean && n ? sum / (double)n : last;
}

static double biggest(const struct table *t, enum column c)
{
	double most = 0;
	for (size_t i = 0; i < t->n; i++)
		most = t->value[c][i] > most ? t->value[c][i] : most;
	return most;
}

static void print_digits(const struct table *t, enum column c, const char *name, size_t cells)
{
	printf("  %-22s ", name);
	for (size_t i = 0; i < cells; i++) {
		double v = span_value(t, c, false, i, cells);
		if (isnan(v))
			putchar(' ');
		else
			putchar(v > 9 ? '+' : v > 0 ? '0' + (int)v : '.');
	}
	printf("\n");
}

static void print_bars(const struct table *t, enum column c, const char *name, const char *unit,
		       double factor, size_t cells)
{
	static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double most = biggest(t, c);
	printf("  %-22s ", name);
	for (size_t i = 0; i < cells; i++) {
		double v = span_value(t, c, true, i, cells);
		printf("%s", bars[isnan(v) || most <= 0 ? 0 : (int)ceil(v / most * 8)]);
	}
	printf("  to %.0f %s\n", most * factor, unit);
}

static void print_terminal(const struct table *t)
{
	size_t cells = t->n < COLUMNS_WIDE ? t->n : COLUMNS_WIDE;
	printf("  a column is %.0f s\n", (double)t->n / (double)cells);
	print_bars(t, requests_offered, "requests", "a second", 1, cells);
	print_bars(t, cpu_use, "CPU use", "% of the share", 100, cells);
	print_digits(t, web_nodes_wanted, "web: nodes wanted", cells);
	print_digits(t, web_nodes, "web: nodes", cells);
	print_digits(t, batch_nodes, "batch: nodes", cells);
	print_digits(t, nodes_on_the_way, "nodes on the way", cells);
	print_bars(t, response_mean_ms, "response, mean", "ms", 1, cells);
	print_bars(t, jobs_waiting, "jobs waiting", "", 1, cells);
	print_digits(t, jobs_running, "jobs running", cells);
	print_bars(t, jobs_killed, "jobs killed so far", "", 1, cells);
	print_bars(t, jobs_done, "jobs done so far", "", 1, cells);
}

/* ---- calling ---- */

static int read_options(int argc, char **argv, struct calling *q)
{
	static const struct option options[] = {
		{"watch", required_argument, NULL, 'w'}, {"load", required_argument, NULL, 'l'},
		{"csv", required_argument, NULL, 'c'},   {"svg", required_argument, NULL, 's'},
		{"title", required_argument, NULL, 't'}, {0},
	};
	const struct {
		int letter;
		const char **to;
	} places[] = {{'w', &q->watch},
		      {'l', &q->load},
		      {'c', &q->csv},
		      {'s', &q->svg},
		      {'t', &q->title}};
	int c;
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++)
			if (places[i].letter == c)
				*places[i].to = optarg;
		if (c == '?')
			return -1;
	}
	return q->watch && q->load && q->csv && q->svg && q->title ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct calling q = {0};
	struct table t = {0};
	int r;
	if (read_options(argc, argv, &q) < 0) {
		fprintf(stderr,
			"usage: share_draw --watch FILE --load FILE --csv FILE --svg FILE --title "
			"TEXT\n");
		return 64;
	}
	r = read_table(&q, &t);
	if (r < 0)
		fprintf(stderr, "share_draw: the files to be drawn cannot be read, or are empty\n");
	else
		print_terminal(&t);
	if (r == 0 && (write_csv(&t, q.csv) < 0 || write_svg(&t, q.title, q.svg) < 0)) {
		fprintf(stderr, "share_draw: cannot write %s or %s\n", q.csv, q.svg);
		r = -1;
	}
	free(t.x);
	for (int c = 0; c < COLUMNS; c++)
		free(t.value[c]);
	return r < 0 ? 1 : 0;
}
