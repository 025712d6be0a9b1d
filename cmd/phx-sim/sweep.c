/* phx sim sweep: a scenario under all combinations of some values. Needs no
 * phxd. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "phx-sim/sim.h"
#include "sim/svg.h"
#include "sim/sweep.h"

/* columns of the table for people; the other formats print every metric */
static const char *const shown[] = {"completed",  "mean_turnaround_s", "mean_wait_s",     "killed",
				    "node_hours", "peak_nodes",        "unmet_node_hours"};

struct sweep_run {
	struct cli *cli;
	struct phx_sim_varied varied[PHX_SIM_SWEEP_VARIED_MAX];
	size_t n_varied;
	struct phx_sim_sweep_point *points;
	size_t n_points;
};

static void tell(void *arg, size_t n_done, size_t n)
{
	sim_progress(arg, "sweep", (double)n_done / (double)n);
}

static json_t *point_json(const struct sweep_run *s, size_t i)
{
	json_t *set = json_object();
	for (size_t k = 0; k < s->n_varied; k++)
		json_object_set_new(set, s->varied[k].path, json_string(s->points[i].value[k]));
	return json_pack("{s:o, s:o}", "set", set, "total",
			 phx_sim_metrics_json(&s->points[i].result.total));
}

static json_t *table_row(const struct sweep_run *s, size_t i,
			 const struct phx_sim_metric *const *metrics, size_t n)
{
	json_t *row = json_object();
	char key[16], text[64];
	for (size_t k = 0; k < s->n_varied; k++) {
		snprintf(key, sizeof(key), "v%zu", k);
		json_object_set_new(row, key, json_string(s->points[i].value[k]));
	}
	for (size_t k = 0; k < n; k++) {
		bool plain = s->cli->format == CLI_TABLE || s->cli->format == CLI_WIDE;
		snprintf(key, sizeof(key), "m%zu", k);
		phx_sim_metric_format(metrics[k], &s->points[i].result.total, plain ? 1 : 6, text,
				      sizeof(text));
		json_object_set_new(row, key, json_string(text));
	}
	return row;
}

/* The metrics that are printed: few for people, all for programs. */
static size_t choose_metrics(const struct cli *cli, const struct phx_sim_metric **ret, size_t max)
{
	const struct phx_sim_metric *table;
	size_t n_table = phx_sim_metric_table(&table), n = 0;
	if (cli->format == CLI_TABLE) {
		for (; n < PHX_ARRAY_SIZE(shown); n++)
			ret[n] = phx_sim_metric_find(shown[n]);
		return n;
	}
	for (; n < n_table && n < max; n++)
		ret[n] = &table[n];
	return n;
}

static int print_table(const struct sweep_run *s)
{
	enum { METRICS_MAX = 64 };
	const struct phx_sim_metric *metrics[METRICS_MAX];
	struct cli_column columns[PHX_SIM_SWEEP_VARIED_MAX + METRICS_MAX] = {0};
	char keys[PHX_SIM_SWEEP_VARIED_MAX + METRICS_MAX][16];
	size_t n = choose_metrics(s->cli, metrics, METRICS_MAX), c = 0;
	bool people = s->cli->format == CLI_TABLE || s->cli->format == CLI_WIDE;
	for (size_t k = 0; k < s->n_varied; k++, c++) {
		snprintf(keys[c], sizeof(keys[c]), "v%zu", k);
		columns[c] = (struct cli_column){
			.head = s->varied[k].path, .path = keys[c], .right = true};
	}
	for (size_t k = 0; k < n; k++, c++) {
		snprintf(keys[c], sizeof(keys[c]), "m%zu", k);
		columns[c] =
			(struct cli_column){.head = people ? metrics[k]->head : metrics[k]->name,
					    .path = keys[c],
					    .right = true};
	}
	json_t *rows = json_array();
	for (size_t i = 0; i < s->n_points; i++)
		json_array_append_new(rows, table_row(s, i, metrics, n));
	int code = cli_print_rows(s->cli, columns, c, rows, rows);
	json_decref(rows);
	return code;
}

static int print_sweep(const struct sweep_run *s)
{
	if (!cli_structured(s->cli))
		return print_table(s);
	json_t *rows = json_array();
	for (size_t i = 0; i < s->n_points; i++)
		json_array_append_new(rows, point_json(s, i));
	json_t *whole = json_pack("{s:s, s:o}", "scenario", cli_arg(s->cli, 0), "points", rows);
	int code = cli_print_value(s->cli, whole);
	json_decref(whole);
	return code;
}

/* ---- the picture: one panel a metric, one line for each combination of the settings but the last
 * ---- */

enum { PANELS = 4, LINES_MAX = 7 };
static const char *const drawn[PANELS] = {"mean_turnaround_s", "completed", "node_hours", "killed"};

struct picture {
	double *x, *y[PANELS];
	char names[LINES_MAX][160];
	struct phx_svg_series series[PANELS][LINES_MAX];
};

static void picture_fini(struct picture *p)
{
	free(p->x);
	for (size_t i = 0; i < PANELS; i++)
		free(p->y[i]);
}

/* The last setting's values as numbers, or 1, 2, 3 where they are none. */
static double axis_value(const struct sweep_run *s, size_t i, size_t n_last)
{
	const char *text = s->points[i].value[s->n_varied - 1];
	uint64_t seconds;
	char *end;
	double v = strtod(text, &end);
	if (!*end)
		return v;
	return phx_duration_parse(text, &seconds) == 0 ? (double)seconds : (double)(i % n_last + 1);
}

static void name_line(const struct sweep_run *s, size_t i, char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	for (size_t k = 0; k + 1 < s->n_varied && n < size; k++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s = %s", k ? ", " : "",
				      s->varied[k].path, s->points[i].value[k]);
}

static int fill_picture(const struct sweep_run *s, struct picture *p, size_t n_last, size_t n_lines)
{
	p->x = calloc(s->n_points, sizeof(double));
	if (!p->x)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_points; i++)
		p->x[i] = axis_value(s, i, n_last);
	for (size_t k = 0; k < PANELS; k++) {
		const struct phx_sim_metric *m = phx_sim_metric_find(drawn[k]);
		p->y[k] = calloc(s->n_points, sizeof(double));
		if (!p->y[k])
			return -ENOMEM;
		for (size_t i = 0; i < s->n_points; i++)
			p->y[k][i] = phx_sim_metric_value(m, &s->points[i].result.total);
		for (size_t l = 0; l < n_lines; l++)
			p->series[k][l] = (struct phx_svg_series){.name = p->names[l],
								  .x = p->x + l * n_last,
								  .y = p->y[k] + l * n_last,
								  .n = n_last,
								  .style = PHX_SVG_DOTS};
	}
	for (size_t l = 0; l < n_lines; l++)
		name_line(s, l * n_last, p->names[l], sizeof(p->names[l]));
	return 0;
}

static int draw_sweep(const struct sweep_run *s)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf svg = {0};
	PHX_AUTO(picture_fini) struct picture p = {0};
	struct phx_svg_panel panels[PANELS];
	if (!cli_has(s->cli, CLI_OPT_svg))
		return CLI_OK;
	size_t n_last = s->varied[s->n_varied - 1].n, n_lines = s->n_points / n_last;
	n_lines = n_lines < LINES_MAX ? n_lines : LINES_MAX;
	if (fill_picture(s, &p, n_last, n_lines) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	for (size_t k = 0; k < PANELS; k++) {
		const struct phx_sim_metric *m = phx_sim_metric_find(drawn[k]);
		panels[k] = (struct phx_svg_panel){.title = m->text,
						   .x_label = s->varied[s->n_varied - 1].path,
						   .y_label = *m->unit ? m->unit : "count",
						   .series = p.series[k],
						   .n_series = n_lines,
						   .mark_x = NAN,
						   .limit_y = NAN};
	}
	phx_svg_chart(cli_arg(s->cli, 0), panels, PANELS, &svg);
	return sim_write_svg(s->cli, &svg);
}

/* ---- the command ---- */

static int read_varied(struct sweep_run *s, struct phx_err *err)
{
	const struct cli_values *vary = &s->cli->args.opt[CLI_OPT_vary];
	if (!vary->n || vary->n > PHX_SIM_SWEEP_VARIED_MAX)
		return phx_err_set(err, -EINVAL,
				   "1 to %d settings are to be varied, like --vary "
				   "clusters.shared.nodes=100..200:10",
				   PHX_SIM_SWEEP_VARIED_MAX);
	for (; s->n_varied < vary->n; s->n_varied++) {
		int r = phx_sim_varied_parse(vary->v[s->n_varied], &s->varied[s->n_varied], err);
		if (r < 0)
			return phx_err_prefix(err, r, "--vary");
	}
	return 0;
}

static int run_sweep(struct sweep_run *s)
{
	const struct cli_values *set = &s->cli->args.opt[CLI_OPT_set];
	struct phx_sim_sweep_config config = {.scenario = cli_arg(s->cli, 0),
					      .set = set->v,
					      .n_set = set->n,
					      .varied = s->varied,
					      .n_varied = s->n_varied,
					      .workers = sim_workers(s->cli),
					      .progress = s->cli->progress ? tell : NULL,
					      .progress_arg = s->cli};
	struct phx_err err = {0};
	int r = phx_trace_store_new(sim_traces(s->cli), &config.store);
	r = r < 0 ? r : phx_sim_sweep(&config, &s->points, &s->n_points, &err);
	sim_progress(s->cli, "", -1);
	phx_trace_store_free(config.store);
	if (r < 0)
		return sim_fail(r, &err);
	int code = print_sweep(s);
	return code ? code : draw_sweep(s);
}

int cmd_sim_sweep(struct cli *cli)
{
	struct sweep_run s = {.cli = cli};
	struct phx_err err = {0};
	int code = read_varied(&s, &err) < 0 ? cli_fail(CLI_USAGE, "sim sweep: %s", err.text)
					     : run_sweep(&s);
	for (size_t k = 0; k < s.n_varied; k++)
		phx_sim_varied_fini(&s.varied[k]);
	phx_sim_sweep_free(s.points, s.n_points);
	return code;
}
