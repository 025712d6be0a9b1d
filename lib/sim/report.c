/* Results as JSON, as CSV, and back. Called by phx sim; the table of metrics
 * says what there is. */
#include <errno.h>
#include <math.h>

#include "base/json.h"
#include "sim/report.h"

void phx_sim_report_fini(struct phx_sim_report *r)
{
	phx_list_fini(&r->rows);
}

static int add_row(struct phx_sim_report *r, const char *name, const struct phx_sim_metrics *m)
{
	struct phx_sim_report_row *row = phx_list_push(&r->rows, sizeof(*row));
	if (!row)
		return -ENOMEM;
	PHX_STR_SET(row->name, name);
	row->metrics = *m;
	return 0;
}

int phx_sim_report_make(const char *name, const char *const *names,
			const struct phx_sim_result *result, struct phx_sim_report *ret)
{
	struct phx_sim_report r = {.end_ms = result->end_ms, .stuck = result->stuck};
	int code = 0;
	phx_str_copy(r.name, sizeof(r.name), name);
	for (unsigned i = 0; code == 0 && i < result->n_res; i++)
		code = add_row(&r, names[i], &result->res[i]);
	if (code == 0)
		code = add_row(&r, "total", &result->total);
	if (code < 0)
		phx_sim_report_fini(&r);
	else
		*ret = r;
	return code;
}

/* ---- JSON ---- */

static json_t *metric_json(const struct phx_sim_metric *m, const struct phx_sim_metrics *of)
{
	double v = phx_sim_metric_value(m, of);
	if (m->count)
		return json_integer((json_int_t)v);
	return isfinite(v) ? json_real(round(v * 1e6) / 1e6) : json_null();
}

static int put_metrics(json_t *j, const struct phx_sim_metrics *of)
{
	const struct phx_sim_metric *table;
	size_t n = phx_sim_metric_table(&table);
	int r = j ? 0 : -1;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = json_object_set_new(j, table[i].name, metric_json(&table[i], of));
	return r;
}

json_t *phx_sim_metrics_json(const struct phx_sim_metrics *m)
{
	json_t *j = json_object();
	if (put_metrics(j, m) == 0)
		return j;
	json_decref(j);
	return NULL;
}

json_t *phx_sim_report_json(const struct phx_sim_report *r)
{
	json_t *j = json_pack("{s:s, s:f, s:b, s:[]}", "scenario", r->name, "end_s",
			      (double)r->end_ms / 1000, "stuck", r->stuck, "res");
	PHX_LIST_EACH(struct phx_sim_report_row, row, &r->rows) {
		bool total = row + 1 == row_end_;
		json_t *o = total ? json_object() : json_pack("{s:s}", "name", row->name);
		if (put_metrics(o, &row->metrics) < 0) {
			json_decref(o);
			json_decref(j);
			return NULL;
		}
		if (total)
			json_object_set_new(j, "total", o);
		else
			json_array_append_new(json_object_get(j, "res"), o);
	}
	return j;
}

static int parse_metrics(const char *what, const char *where, const json_t *j,
			 struct phx_sim_metrics *ret, struct phx_err *err)
{
	const struct phx_sim_metric *table;
	size_t n = phx_sim_metric_table(&table);
	if (!json_is_object(j))
		return phx_err_set(err, -EINVAL, "%s: %s: an object of metrics is wanted", what,
				   where);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_object_get(j, table[i].name);
		void *at = (char *)ret + table[i].offset;
		bool none = !v || json_is_null(v);
		if (!none && !json_is_number(v))
			return phx_err_set(err, -EINVAL, "%s: %s.%s: a number is wanted", what,
					   where, table[i].name);
		if (table[i].count && !none && (!json_is_integer(v) || json_integer_value(v) < 0))
			return phx_err_set(err, -EINVAL, "%s: %s.%s: a whole number is wanted",
					   what, where, table[i].name);
		if (table[i].count)
			*(uint64_t *)at = none ? 0 : (uint64_t)json_integer_value(v);
		else
			*(double *)at = none ? NAN : json_number_value(v);
	}
	return 0;
}

static int parse_row(const char *what, const char *name, const json_t *j, struct phx_sim_report *r,
		     struct phx_err *err)
{
	struct phx_sim_metrics m;
	int code = parse_metrics(what, name, j, &m, err);
	return code < 0 ? code : add_row(r, name, &m);
}

static bool is_result(const json_t *j)
{
	return json_object_get(j, "total") || json_object_get(j, "completed");
}

int phx_sim_report_parse(const char *what, const json_t *j, struct phx_sim_report *ret,
			 struct phx_err *err)
{
	struct phx_sim_report r = {0};
	const json_t *total = json_object_get(j, "total");
	size_t i;
	json_t *item;
	int code = 0;
	if (!is_result(j))
		return phx_err_set(
			err, -EINVAL,
			"%s: this is no result of phx sim run -o json: it has no 'total' and no "
			"'completed'",
			what);
	phx_str_copy(r.name, sizeof(r.name), phx_json_str(j, "scenario", what));
	r.stuck = phx_json_bool(j, "stuck", false);
	r.end_ms = (int64_t)(json_number_value(json_object_get(j, "end_s")) * 1000);
	json_array_foreach(json_object_get(j, "res"), i, item) {
		if (code == 0)
			code = parse_row(what, phx_json_str(item, "name", "?"), item, &r, err);
	}
	if (code == 0)
		code = parse_row(what, "total", total ? total : j, &r, err);
	if (code < 0)
		phx_sim_report_fini(&r);
	else
		*ret = r;
	return code;
}

/* ---- CSV ---- */

void phx_sim_report_csv(const struct phx_sim_report *r, bool heading, struct phx_buf *ret)
{
	const struct phx_sim_metric *table;
	size_t n = phx_sim_metric_table(&table);
	char text[64];
	if (heading) {
		phx_buf_addf(ret, "re");
		for (size_t i = 0; i < n; i++)
			phx_buf_addf(ret, ",%s", table[i].name);
		phx_buf_addf(ret, "\n");
	}
	PHX_LIST_EACH(struct phx_sim_report_row, row, &r->rows) {
		phx_buf_addf(ret, "%s", row->name);
		for (size_t i = 0; i < n; i++)
			phx_buf_addf(ret, ",%s",
				     phx_sim_metric_format(&table[i], &row->metrics, 6, text,
							   sizeof(text)));
		phx_buf_addf(ret, "\n");
	}
}
