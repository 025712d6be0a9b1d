/* Charts as SVG: see svg.h. Called by phx sim; keeps nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/svg.h"

enum {
	WIDTH = 960,
	PLOT_HEIGHT = 240,
	LEFT = 76,
	RIGHT = 24,
	TOP = 44,
	PANEL_TOP = 46,
	PANEL_BOTTOM = 52
};
enum { PLOT_WIDTH = WIDTH - LEFT - RIGHT, PANEL_HEIGHT = PANEL_TOP + PLOT_HEIGHT + PANEL_BOTTOM };

/* can be told apart with any kind of sight (after Okabe and Ito) */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				     "#e69f00", "#56b4e9", "#4d4d4d"};

static void put_text(struct phx_buf *b, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '<')
			phx_buf_addf(b, "&lt;");
		else if (*p == '&')
			phx_buf_addf(b, "&amp;");
		else if (*p == '>')
			phx_buf_addf(b, "&gt;");
		else if ((unsigned char)*p >= 0x20)
			phx_buf_add(b, p, 1);
	}
}

static void label(struct phx_buf *b, double x, double y, const char *class, const char *text)
{
	phx_buf_addf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	put_text(b, text);
	phx_buf_addf(b, "</text>\n");
}

/* ---- axes ---- */

struct axis {
	double min, max;
	double first, step; /* ticks */
	double unit;        /* labels are values / unit */
	const char *suffix;
};

void phx_svg_ticks(double min, double max, unsigned wanted, double *ret_first, double *ret_step)
{
	double raw = (max - min) / (wanted ? wanted : 1);
	double power = raw > 0 ? pow(10, floor(log10(raw))) : 1, step = power;
	if (raw > 5 * power)
		step = 10 * power;
	else if (raw > 2 * power)
		step = 5 * power;
	else if (raw > power)
		step = 2 * power;
	*ret_step = step;
	*ret_first = ceil(min / step - 1e-9) * step;
}

/* The unit in which seconds are written, and ticks at round numbers of it. */
static void time_ticks(struct axis *a)
{
	static const struct {
		double unit;
		const char *suffix;
	} units[] = {{86400, " d"}, {3600, " h"}, {60, " min"}, {1, " s"}};
	size_t i = 0;
	while (i + 1 < PHX_ARRAY_SIZE(units) && a->max - a->min < 2 * units[i].unit)
		i++;
	a->unit = units[i].unit;
	a->suffix = units[i].suffix;
	phx_svg_ticks(a->min / a->unit, a->max / a->unit, 10, &a->first, &a->step);
	a->first *= a->unit;
	a->step *= a->unit;
}

static void grow(double *min, double *max, double v)
{
	if (isnan(v))
		return;
	*min = fmin(*min, v);
	*max = fmax(*max, v);
}

/* Ranges of the panel's values; false without any. */
static bool make_axes(const struct phx_svg_panel *p, struct axis *x, struct axis *y)
{
	*x = (struct axis){.min = INFINITY, .max = -INFINITY, .unit = 1, .suffix = ""};
	*y = *x;
	for (size_t s = 0; s < p->n_series; s++)
		for (size_t i = 0; i < p->series[s].n; i++) {
			grow(&x->min, &x->max, p->series[s].x[i]);
			grow(&y->min, &y->max, p->series[s].y[i]);
		}
	if (!(x->min <= x->max && y->min <= y->max))
		return false;
	grow(&y->min, &y->max, p->limit_y);
	if (p->y_from_zero)
		y->min = fmin(y->min, 0);
	double room = y->max > y->min ? (y->max - y->min) * 0.1 : fmax(fabs(y->max) * 0.1, 1);
	y->max += room;
	y->min -= p->y_from_zero && y->min >= 0 ? 0 : room;
	if (x->max <= x->min)
		x->max = x->min + 1;
	phx_svg_ticks(y->min, y->max, 5, &y->first, &y->step);
	if (p->x_is_time)
		time_ticks(x);
	else
		phx_svg_ticks(x->min, x->max, 10, &x->first, &x->step);
	return true;
}

static double at_x(const struct axis *x, double v)
{
	return LEFT + (v - x->min) / (x->max - x->min) * PLOT_WIDTH;
}

static double at_y(const struct axis *y, double top, double v)
{
	return top + PLOT_HEIGHT - (v - y->min) / (y->max - y->min) * PLOT_HEIGHT;
}

/* "1,234", "0.25": no more decimals than the distance of the ticks has. */
static void number(double v, double step, const char *suffix, char *buf, size_t size)
{
	int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
	char plain[64];
	snprintf(plain, sizeof(plain), "%.*f", digits, fabs(v) < step / 1e6 ? 0 : v);
	size_t whole = strcspn(plain, "."), n = 0, from = plain[0] == '-';
	for (size_t i = 0; plain[i] && n + 2 < size; i++) {
		if (i > from && i < whole && (whole - i) % 3 == 0)
			buf[n++] = ',';
		buf[n++] = plain[i];
	}
	buf[n] = '\0';
	snprintf(buf + n, size - n, "%s", suffix);
}

static void draw_grid(struct phx_buf *b, const struct axis *x, const struct axis *y, double top)
{
	char text[48];
	for (unsigned i = 0; i < 100 && x->first + i * x->step <= x->max * (1 + 1e-12) + 1e-12;
	     i++) {
		double v = x->first + i * x->step, px = at_x(x, v);
		phx_buf_addf(b, "<path class=\"grid\" d=\"M%.1f %.1fv%d\"/>\n", px, top,
			     PLOT_HEIGHT);
		number(v / x->unit, x->step / x->unit, x->suffix, text, sizeof(text));
		label(b, px, top + PLOT_HEIGHT + 18, "tick mid", text);
	}
	for (unsigned i = 0; i < 100 && y->first + i * y->step <= y->max; i++) {
		double v = y->first + i * y->step, py = at_y(y, top, v);
		phx_buf_addf(b, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>\n", LEFT, py, PLOT_WIDTH);
		number(v, y->step, "", text, sizeof(text));
		label(b, LEFT - 8, py + 4, "tick end", text);
	}
	phx_buf_addf(b, "<path class=\"axis\" d=\"M%d %.1fv%dh%d\"/>\n", LEFT, top, PLOT_HEIGHT,
		     PLOT_WIDTH);
}

/* ---- lines ---- */

struct pen {
	struct phx_buf *b;
	bool down;
	double x, y;
};

static void pen_to(struct pen *pen, double x, double y)
{
	if (pen->down && fabs(x - pen->x) < 0.05 && fabs(y - pen->y) < 0.05)
		return;
	phx_buf_addf(pen->b, "%c%.1f %.1f", pen->down ? 'L' : 'M', x, y);
	pen->down = true;
	pen->x = x;
	pen->y = y;
}

static void pen_step(struct pen *pen, int style, double x, double y)
{
	if (style == PHX_SVG_STEP && pen->down)
		pen_to(pen, x, pen->y);
	pen_to(pen, x, y);
}

/* More points than pixels: of each column of half a pixel the lowest and the highest are drawn. */
static void draw_line(struct phx_buf *b, const struct phx_svg_series *s, const struct axis *x,
		      const struct axis *y, double top, const char *color)
{
	struct pen pen = {.b = b};
	phx_buf_addf(b, "<path class=\"line\" stroke=\"%s\" d=\"", color);
	for (size_t i = 0; i < s->n;) {
		double px = at_x(x, s->x[i]), low = INFINITY, high = -INFINITY, last = NAN;
		size_t from = i;
		for (; i < s->n && (i == from || at_x(x, s->x[i]) < px + 0.5); i++) {
			grow(&low, &high, s->y[i]);
			last = s->y[i];
			if (s->n < PLOT_WIDTH) {
				i++;
				break;
			}
		}
		if (isnan(last)) {
			pen.down = false;
			continue;
		}
		pen_step(&pen, s->style, px, at_y(y, top, low == last ? high : low));
		if (i - from > 1)
			pen_to(&pen, px, at_y(y, top, low == last ? low : high));
		pen_to(&pen, px, at_y(y, top, last));
	}
	phx_buf_addf(b, "\"/>\n");
	for (size_t i = 0; s->style == PHX_SVG_DOTS && i < s->n; i++)
		if (!isnan(s->y[i]))
			phx_buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
				     at_x(x, s->x[i]), at_y(y, top, s->y[i]), color);
}

static void draw_marks(struct phx_buf *b, const struct phx_svg_panel *p, const struct axis *x,
		       const struct axis *y, double top)
{
	if (!isnan(p->limit_y)) {
		double py = at_y(y, top, p->limit_y);
		phx_buf_addf(b, "<path class=\"mark\" d=\"M%d %.1fh%d\"/>\n", LEFT, py, PLOT_WIDTH);
		label(b, WIDTH - RIGHT - 4, py - 5, "halo end", p->limit_text ? p->limit_text : "");
	}
	if (!isnan(p->mark_x)) {
		double px = at_x(x, p->mark_x);
		bool right = px > LEFT + PLOT_WIDTH / 2.0;
		phx_buf_addf(b, "<path class=\"mark\" d=\"M%.1f %.1fv%d\"/>\n", px, top,
			     PLOT_HEIGHT);
		label(b, right ? px - 6 : px + 6, top + 14, right ? "halo end" : "halo",
		      p->mark_text ? p->mark_text : "");
	}
}

/* Right above the plot, from the right. */
static void draw_legend(struct phx_buf *b, const struct phx_svg_panel *p, double top)
{
	double x = WIDTH - RIGHT;
	for (size_t i = p->n_series; i-- > 0;) {
		const char *name = p->series[i].name;
		x -= 7.0 * (double)strlen(name) + 6;
		label(b, x, top - 8, "tick", name);
		phx_buf_addf(b, "<path class=\"line\" stroke=\"%s\" d=\"M%.1f %.1fh18\"/>\n",
			     colors[i % PHX_ARRAY_SIZE(colors)], x - 24, top - 12);
		x -= 36;
	}
}

static void draw_panel(struct phx_buf *b, const struct phx_svg_panel *p, double y0)
{
	double top = y0 + PANEL_TOP;
	struct axis x, y;
	label(b, LEFT, top - 8, "panel", p->title);
	if (!make_axes(p, &x, &y)) {
		label(b, LEFT, top + PLOT_HEIGHT / 2.0, "tick", "nothing to show");
		return;
	}
	draw_grid(b, &x, &y, top);
	label(b, LEFT + PLOT_WIDTH / 2.0, top + PLOT_HEIGHT + 38, "tick mid", p->x_label);
	phx_buf_addf(b, "<g transform=\"translate(18 %.1f) rotate(-90)\">",
		     top + PLOT_HEIGHT / 2.0);
	label(b, 0, 0, "tick mid", p->y_label);
	phx_buf_addf(b, "</g>\n");
	for (size_t i = 0; i < p->n_series; i++)
		draw_line(b, &p->series[i], &x, &y, top, colors[i % PHX_ARRAY_SIZE(colors)]);
	draw_marks(b, p, &x, &y, top);
	draw_legend(b, p, top);
}

void phx_svg_chart(const char *title, const struct phx_svg_panel *panels, size_t n_panels,
		   struct phx_buf *ret)
{
	int height = TOP + (int)n_panels * PANEL_HEIGHT;
	phx_buf_addf(ret,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		     "viewBox=\"0 0 %d %d\">\n"
		     "<style>text{font-family:system-ui,sans-serif;font-size:12px;fill:#444}"
		     ".title{font-size:17px;font-weight:600;fill:#111}.panel{font-size:13px;font-"
		     "weight:600;fill:#222}"
		     ".halo{paint-order:stroke;stroke:#fff;stroke-width:4px}"
		     ".mid{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#e6e6e6;fill:none}"
		     ".axis{stroke:#888;fill:none}.line{fill:none;stroke-width:1.6;stroke-linejoin:"
		     "round}"
		     ".mark{stroke:#555;fill:none;stroke-dasharray:4 3}</style>\n"
		     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		     WIDTH, height, WIDTH, height);
	label(ret, LEFT, 30, "title", title);
	for (size_t i = 0; i < n_panels; i++)
		draw_panel(ret, &panels[i], TOP + (double)i * PANEL_HEIGHT);
	phx_buf_addf(ret, "</svg>\n");
}
