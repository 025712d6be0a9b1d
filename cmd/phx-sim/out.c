/* What phx sim prints: results as table, JSON, CSV; pictures to files; progress
 * on a terminal. Called by the commands of the noun `sim`. */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "phx-sim/sim.h"

void sim_prepare_heap(void)
{
	enum { HEAP = 16 << 20, HUGE_PAGE = 2 << 20 };
	/* what is freed is used again instead of going back to the kernel */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_TOP_PAD, HEAP);
	void *grown = malloc(HUGE_PAGE);
	uintptr_t end = (uintptr_t)sbrk(0), begin = end - HEAP;
	free(grown);
	begin = (begin + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	end = end / HUGE_PAGE * HUGE_PAGE;
	if (grown && begin < end)
		/* a kernel without them does without */
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

const char *sim_traces(const struct cli *cli)
{
	const char *traces = cli_opt(cli, CLI_OPT_traces, getenv("PHX_TRACES"));
	return traces && *traces ? traces : NULL;
}

int sim_fail(int error, const struct phx_err *err)
{
	cli_fail(0, "%s", err->text[0] ? err->text : strerror(-error));
	if (error == -EINVAL || error == -EBADMSG)
		return CLI_CONFIG;
	return error == -ENOENT ? CLI_USAGE : cli_exit_of(error);
}

uint32_t sim_number(const struct cli *cli, enum cli_option_id id)
{
	uint64_t n = 0;
	phx_u64_parse(cli_opt(cli, id, "0"), 0, UINT32_MAX, &n);
	return (uint32_t)n;
}

unsigned sim_workers(const struct cli *cli)
{
	uint64_t n = 0;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	phx_u64_parse(cli_opt(cli, CLI_OPT_workers, "0"), 0, 1024, &n);
	return n ? (unsigned)n : cores > 0 ? (unsigned)cores : 1;
}

/* ---- results ---- */

/* Is the metric 0 or absent in all rows? Then a table for people leaves it out. */
static bool is_idle(const struct phx_sim_metric *m, const struct phx_sim_report_row *rows, size_t n)
{
	if (phx_str_eq(m->name, "jobs") || phx_str_eq(m->name, "completed"))
		return false;
	for (size_t i = 0; i < n; i++) {
		double v = phx_sim_metric_value(m, &rows[i].metrics);
		if (!isnan(v) && v != 0)
			return false;
	}
	return true;
}

/* Enough digits to tell small values apart, not more. */
static int digits_of(double v)
{
	v = fabs(v);
	return v >= 1000 ? 0 : v >= 10 ? 1 : v >= 1 ? 2 : 4;
}

static void put_change(json_t *row, const struct phx_sim_metric *m,
		       const struct phx_sim_report_row *rows)
{
	double a = phx_sim_metric_value(m, &rows[0].metrics),
	       b = phx_sim_metric_value(m, &rows[1].metrics);
	char text[48] = "";
	if (!isnan(a) && !isnan(b))
		snprintf(text, sizeof(text), "%+.*f", m->count ? 0 : digits_of(b - a), b - a);
	json_object_set_new(row, "difference", json_string(text));
	snprintf(text, sizeof(text), "%+.1f %%", (b - a) / a * 100);
	json_object_set_new(row, "percent", json_string(isfinite((b - a) / a) ? text : ""));
}

static json_t *column_rows(const struct phx_sim_report_row *rows, size_t n, bool all,
			   bool with_change)
{
	const struct phx_sim_metric *table;
	size_t n_metrics = phx_sim_metric_table(&table);
	json_t *out = json_array();
	for (size_t k = 0; k < n_metrics; k++) {
		char text[64], key[16];
		if (!all && is_idle(&table[k], rows, n))
			continue;
		json_t *row =
			json_pack("{s:s, s:s}", "metric", table[k].name, "unit", table[k].unit);
		for (size_t i = 0; i < n; i++) {
			double v = phx_sim_metric_value(&table[k], &rows[i].metrics);
			snprintf(key, sizeof(key), "c%zu", i);
			phx_sim_metric_format(&table[k], &rows[i].metrics, digits_of(v), text,
					      sizeof(text));
			json_object_set_new(row, key, json_string(text));
		}
		if (with_change)
			put_change(row, &table[k], rows);
		json_array_append_new(out, row);
	}
	return out;
}

int sim_print_columns(struct cli *cli, const struct phx_sim_report_row *rows,
		      const char *const *heads, size_t n, bool with_change)
{
	enum { COLUMNS_MAX = PHX_SIM_RES_MAX + 5 };
	struct cli_column columns[COLUMNS_MAX] = {{.head = "METRIC", .path = "metric"}};
	char keys[COLUMNS_MAX][16];
	size_t c = 1;
	json_t *out = column_rows(rows, n, cli->format != CLI_TABLE, with_change);
	for (size_t i = 0; i < n && i < PHX_SIM_RES_MAX + 1; i++) {
		snprintf(keys[i], sizeof(keys[i]), "c%zu", i);
		columns[c++] =
			(struct cli_column){.head = heads[i], .path = keys[i], .right = true};
	}
	if (with_change) {
		columns[c++] = (struct cli_column){
			.head = "DIFFERENCE", .path = "difference", .right = true};
		columns[c++] =
			(struct cli_column){.head = "PERCENT", .path = "percent", .right = true};
	}
	columns[c++] = (struct cli_column){.head = "UNIT", .path = "unit"};
	int code = cli_print_rows(cli, columns, c, out, out);
	json_decref(out);
	return code;
}

int sim_print_report(struct cli *cli, const struct phx_sim_report *r)
{
	if (cli_structured(cli)) {
		json_t *j = phx_sim_report_json(r);
		int code = j ? cli_print_value(cli, j) : cli_fail(CLI_PARTIAL, "out of memory");
		json_decref(j);
		return code;
	}
	if (cli->format == CLI_CSV) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		phx_sim_report_csv(r, !cli_has(cli, CLI_OPT_no_header), &b);
		fputs(b.data ? b.data : "", stdout);
		return b.failed ? cli_fail(CLI_PARTIAL, "out of memory") : CLI_OK;
	}
	const char *heads[PHX_SIM_RES_MAX + 1] = {0};
	for (uint32_t i = 0; i < r->rows.n; i++)
		heads[i] = PHX_LIST_AT(&r->rows, struct phx_sim_report_row, i)->name;
	/* one RE alone is the total */
	uint32_t from = r->rows.n == 2 ? 1 : 0;
	heads[from] = from ? "VALUE" : heads[from];
	return sim_print_columns(cli, PHX_LIST_AT(&r->rows, struct phx_sim_report_row, from),
				 heads + from, r->rows.n - from, false);
}

/* ---- pictures ---- */

int sim_write_svg(struct cli *cli, const struct phx_buf *svg)
{
	const char *file = cli_opt(cli, CLI_OPT_svg, NULL);
	struct phx_err err = {0};
	if (!file)
		return CLI_OK;
	if (svg->failed)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int r = phx_file_write(file, svg->data, svg->n, 0644, &err);
	return r < 0 ? cli_fail_err(r, &err) : CLI_OK;
}

/* ---- progress ---- */

void sim_progress(const struct cli *cli, const char *what, double done)
{
	if (!cli->progress)
		return;
	if (done < 0)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\r\033[K%s %3.0f %%", what, done * 100);
	fflush(stderr);
}
