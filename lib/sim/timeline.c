/* Time-lines of a run as a picture: what each RE held, used and waited for.
 * Called by phx sim run --svg. */
#include <errno.h>
#include <math.h>

#include "sim/report.h"
#include "sim/svg.h"

int phx_sim_timeline_init(struct phx_sim_timeline *t, unsigned n_res)
{
	*t = (struct phx_sim_timeline){.n_res = n_res, .res = calloc(n_res, sizeof(*t->res))};
	return t->res ? 0 : -ENOMEM;
}

void phx_sim_timeline_fini(struct phx_sim_timeline *t)
{
	for (unsigned i = 0; t->res && i < t->n_res; i++)
		phx_list_fini(&t->res[i]);
	free(t->res);
	*t = (struct phx_sim_timeline){0};
}

void phx_sim_timeline_point(void *arg, int64_t now_ms, unsigned re, const struct phx_sim_point *p)
{
	struct phx_sim_timeline *t = arg;
	struct phx_list *l = &t->res[re];
	double at = (double)now_ms / 1000;
	struct phx_sim_moment *m = l->n ? PHX_LIST_AT(l, struct phx_sim_moment, l->n - 1) : NULL;
	if (!m || m->at_s < at)
		m = phx_list_push(l, sizeof(*m));
	if (m)
		*m = (struct phx_sim_moment){at, p->held, p->busy, (double)p->waiting_nodes};
	else
		t->failed = true;
}

enum column { HELD, BUSY, WAITING, COLUMNS };

struct lines {
	struct phx_svg_series *series; /* n_res a column */
	double *values;
};

static void lines_fini(struct lines *l)
{
	free(l->series);
	free(l->values);
}

/* One line of one RE, closed by a point at the end of the run. Returns behind what it used of
 * `room`. */
static double *fill_line(const struct phx_sim_timeline *t, unsigned re, enum column c,
			 const char *name, double *room, struct phx_svg_series *ret)
{
	const struct phx_list *l = &t->res[re];
	double *x = room, *y = room + l->n + 1;
	size_t n = 0;
	PHX_LIST_EACH(const struct phx_sim_moment, m, l) {
		x[n] = m->at_s;
		y[n++] = c == HELD ? m->held : c == BUSY ? m->busy : m->waiting;
	}
	if (n && x[n - 1] < (double)t->end_ms / 1000) {
		x[n] = (double)t->end_ms / 1000;
		y[n] = y[n - 1];
		n++;
	}
	*ret = (struct phx_svg_series){.name = name, .x = x, .y = y, .n = n, .style = PHX_SVG_STEP};
	return room + 2 * (l->n + 1);
}

static int make_lines(const struct phx_sim_timeline *t, const char *const *names, struct lines *ret)
{
	size_t n = 0;
	for (unsigned i = 0; i < t->n_res; i++)
		n += 2 * ((size_t)t->res[i].n + 1);
	ret->values = calloc(COLUMNS * n, sizeof(*ret->values));
	ret->series = calloc((size_t)COLUMNS * t->n_res, sizeof(*ret->series));
	if (!ret->values || !ret->series)
		return -ENOMEM;
	double *room = ret->values;
	for (enum column c = HELD; c < COLUMNS; c++)
		for (unsigned i = 0; i < t->n_res; i++)
			room = fill_line(t, i, c, names[i], room, &ret->series[c * t->n_res + i]);
	return 0;
}

int phx_sim_timeline_svg(const struct phx_sim_timeline *t, const char *title,
			 const char *const *names, struct phx_buf *ret)
{
	static const struct {
		const char *title, *y;
	} panels[COLUMNS] = {{"Nodes held", "nodes"},
			     {"Nodes busy (batch) or serving (web)", "nodes"},
			     {"Nodes that waiting jobs want", "nodes"}};
	PHX_AUTO(lines_fini) struct lines lines = {0};
	struct phx_svg_panel p[COLUMNS];
	if (t->failed || make_lines(t, names, &lines) < 0)
		return -ENOMEM;
	for (size_t c = 0; c < COLUMNS; c++)
		p[c] = (struct phx_svg_panel){.title = panels[c].title,
					      .x_label = "time since the start of the trace",
					      .y_label = panels[c].y,
					      .series = &lines.series[c * t->n_res],
					      .n_series = t->n_res,
					      .x_is_time = true,
					      .y_from_zero = true,
					      .mark_x = NAN,
					      .limit_y = NAN};
	phx_svg_chart(title, p, COLUMNS, ret);
	return ret->failed ? -ENOMEM : 0;
}
