/* Charts as SVG text: panels one below the other, each with labelled axes, a
 * grid, a legend, lines. Written directly, no library, no script, no font but
 * the viewer's. Used by phx sim for time-lines and curves. Decides nothing. */
#ifndef PHX_SIM_SVG_H
#define PHX_SIM_SVG_H

#include "base/util.h"

enum phx_svg_style {
	PHX_SVG_LINE, /* from point to point */
	PHX_SVG_STEP, /* a value holds until the next: counts of nodes */
	PHX_SVG_DOTS, /* a line with a dot at each point: curves of few points */
};

/** A line. x rises; y may be NaN: the line is interrupted. Borrowed. */
struct phx_svg_series {
	const char *name; /* in the legend; escaped */
	const double *x, *y;
	size_t n;
	int style;
};

struct phx_svg_panel {
	const char *title, *x_label, *y_label;
	const struct phx_svg_series *series;
	size_t n_series;
	bool x_is_time;   /* x in seconds: ticks in minutes, hours or days */
	bool y_from_zero; /* the axis begins at 0 */
	double mark_x;    /* a vertical line there; NaN = none */
	const char *mark_text;
	double limit_y; /* a horizontal dashed line; NaN = none */
	const char *limit_text;
};

/** The whole picture, appended to `ret` (check ret->failed). Panels without a point say so. */
void phx_svg_chart(const char *title, const struct phx_svg_panel *panels, size_t n_panels,
		   struct phx_buf *ret);

/** Ticks of an axis: the first at or above `min` and the distance, of the kind 1, 2, 5 times a
 * power of ten, so that about `wanted` fit. Exposed for its test. */
void phx_svg_ticks(double min, double max, unsigned wanted, double *ret_first, double *ret_step);

#endif
