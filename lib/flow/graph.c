/* Pictures of workflows as text: see graph.h. In the SVG a level is a row; tasks are ordered within
 * a row by the mean position of their parents, then of their children, in several passes, so that
 * few lines cross. Pure. */
#include "flow/graph.h"

#include <errno.h>
#include <string.h>

static const char *const graph_names[] = {"dot", "svg", "ascii"};
const struct phx_enum phx_flow_graph_names = {"picture", graph_names, PHX_ARRAY_SIZE(graph_names)};

enum {
	BOX_WIDTH = 132,
	BOX_HEIGHT = 34,
	GAP_X = 18,
	GAP_Y = 58,
	MARGIN = 16,
	LABEL_MAX = 18, /* characters of an id that fit into a box */
	PASSES = 6,
	TOLD_MAX = 6 /* parents of a task that one line of ASCII names */
};

/* ---- places ---- */

/* A task and its sort key. */
struct place {
	uint32_t task, level;
	int64_t by; /* mean position of its parents or children, in 1024ths */
};

struct layout {
	const struct phx_flow *f;
	struct place *places; /* level by level, each row from the left */
	uint32_t *x;          /* of each task: its index in its row */
	uint32_t *first;      /* of each level, and the end of the last */
	uint32_t widest;
};

static void layout_fini(struct layout *l)
{
	free(l->places);
	free(l->x);
	free(l->first);
}

static int by_place(const void *a, const void *b)
{
	const struct place *p = a, *q = b;
	if (p->level != q->level)
		return p->level < q->level ? -1 : 1;
	if (p->by != q->by)
		return p->by < q->by ? -1 : 1;
	return (p->task > q->task) - (p->task < q->task);
}

static void number_rows(struct layout *l)
{
	for (uint32_t i = 0; i < l->f->n_tasks; i++)
		l->x[l->places[i].task] = i - l->first[l->places[i].level];
}

static uint32_t width_of(const struct layout *l, uint32_t level)
{
	return l->first[level + 1] - l->first[level];
}

/* Position of a task in its row, in 1024ths of the picture's width. */
static int64_t share_of(const struct layout *l, uint32_t task)
{
	uint32_t width = width_of(l, l->f->tasks[task].level);
	return ((int64_t)l->x[task] * 2 + 1) * 1024 * 1024 / (2 * (int64_t)width);
}

static void sort_rows(struct layout *l, enum phx_flow_list list)
{
	for (uint32_t i = 0; i < l->f->n_tasks; i++) {
		struct place *p = &l->places[i];
		int64_t sum = 0, n = 0;
		PHX_FLOW_EACH(it, l->f, p->task, list)
		{
			sum += share_of(l, *it);
			n++;
		}
		p->by = n ? sum / n : share_of(l, p->task);
	}
	qsort(l->places, l->f->n_tasks, sizeof(*l->places), by_place);
	number_rows(l);
}

static int lay_out(const struct phx_flow *f, bool sorted, struct layout *l)
{
	*l = (struct layout){.f = f};
	l->places = calloc(f->n_tasks, sizeof(*l->places));
	l->x = calloc(f->n_tasks, sizeof(*l->x));
	l->first = calloc((size_t)f->n_levels + 1, sizeof(*l->first));
	if (!l->places || !l->x || !l->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		l->places[i] = (struct place){i, f->tasks[i].level, 0};
		l->first[f->tasks[i].level + 1]++;
	}
	for (uint32_t level = 0; level < f->n_levels; level++) {
		uint32_t width = l->first[level + 1];
		l->widest = width > l->widest ? width : l->widest;
		l->first[level + 1] += l->first[level];
	}
	qsort(l->places, f->n_tasks, sizeof(*l->places), by_place);
	number_rows(l);
	for (int pass = 0; sorted && pass < PASSES; pass++)
		sort_rows(l, pass % 2 ? PHX_FLOW_CHILDREN : PHX_FLOW_PARENTS);
	return 0;
}

/* ---- text ---- */

static void put_ascii_parents(const struct phx_flow *f, uint32_t task, struct phx_buf *b)
{
	uint32_t n, told = 0;
	phx_flow_list(f, task, PHX_FLOW_PARENTS, &n);
	PHX_FLOW_EACH(p, f, task, PHX_FLOW_PARENTS)
	{
		if (told == TOLD_MAX)
			break;
		phx_buf_addf(b, "%s%s", told++ ? ", " : "  <- ", phx_flow_id(f, *p));
	}
	if (n > told)
		phx_buf_addf(b, " and %u more", n - told);
}

static void draw_ascii(const struct layout *l, struct phx_buf *b)
{
	for (uint32_t i = 0; i < l->f->n_tasks; i++) {
		const struct place *p = &l->places[i];
		if (i == l->first[p->level])
			phx_buf_addf(b, "level %u, tasks: %u\n", p->level, width_of(l, p->level));
		phx_buf_addf(b, "  %s", phx_flow_id(l->f, p->task));
		put_ascii_parents(l->f, p->task, b);
		phx_buf_addf(b, "\n");
	}
}

/* ---- Graphviz ---- */

static void put_quoted(struct phx_buf *b, const char *text)
{
	phx_buf_addf(b, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			phx_buf_add(b, "\\", 1);
		phx_buf_add(b, text, 1);
	}
	phx_buf_addf(b, "\"");
}

static void draw_dot(const struct layout *l, struct phx_buf *b)
{
	const struct phx_flow *f = l->f;
	phx_buf_addf(b, "digraph ");
	put_quoted(b, phx_flow_text(f, f->name));
	phx_buf_addf(b, " {\n  node [shape=box];\n");
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		phx_buf_addf(b, "  ");
		put_quoted(b, phx_flow_id(f, i));
		phx_buf_addf(b, " [group=");
		put_quoted(b, phx_flow_text(f, f->tasks[i].name));
		phx_buf_addf(b, "];\n");
	}
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		PHX_FLOW_EACH(p, f, i, PHX_FLOW_PARENTS)
		{
			phx_buf_addf(b, "  ");
			put_quoted(b, phx_flow_id(f, *p));
			phx_buf_addf(b, " -> ");
			put_quoted(b, phx_flow_id(f, i));
			phx_buf_addf(b, ";\n");
		}
	}
	phx_buf_addf(b, "}\n");
}

/* ---- SVG ---- */

/* At most `max` characters (not bytes) of a text, escaped. */
static void put_escaped(struct phx_buf *b, const char *text, unsigned max)
{
	static const struct {
		char c;
		const char *as;
	} escapes[] = {{'<', "&lt;"}, {'&', "&amp;"}, {'>', "&gt;"}, {'"', "&quot;"}};
	unsigned n = 0;
	for (; *text; text++) {
		const char *as = NULL;
		if (((unsigned char)*text & 0xc0) != 0x80 && n++ == max) {
			phx_buf_addf(b, "\xe2\x80\xa6");
			return;
		}
		for (size_t i = 0; i < PHX_ARRAY_SIZE(escapes); i++)
			as = *text == escapes[i].c ? escapes[i].as : as;
		if (as)
			phx_buf_addf(b, "%s", as);
		else
			phx_buf_add(b, text, 1);
	}
}

/* Middle of a task's box; rows are centred. */
static uint32_t x_of(const struct layout *l, uint32_t task)
{
	uint32_t missing = l->widest - width_of(l, l->f->tasks[task].level);
	return MARGIN + BOX_WIDTH / 2 + (BOX_WIDTH + GAP_X) * l->x[task] +
		missing * (BOX_WIDTH + GAP_X) / 2;
}

static uint32_t y_of(const struct layout *l, uint32_t task)
{
	return MARGIN + (BOX_HEIGHT + GAP_Y) * l->f->tasks[task].level;
}

static void put_line(const struct layout *l, uint32_t parent, uint32_t child, struct phx_buf *b)
{
	uint32_t x1 = x_of(l, parent), y1 = y_of(l, parent) + BOX_HEIGHT, x2 = x_of(l, child),
		 y2 = y_of(l, child), middle = (y1 + y2) / 2;
	phx_buf_addf(b, "<path d=\"M%u %uC%u %u %u %u %u %u\"/>\n", x1, y1, x1, middle, x2, middle,
		     x2, y2);
}

/* Tasks of one kind have one colour; the colours can be told apart with any colour vision (after
 * Okabe and Ito). */
static const char *color_of(const char *kind)
{
	static const char *const colors[] = {"#cfe6f5", "#f8d9c4", "#c8ebdf", "#f2dfea",
					     "#fae8c8", "#d9f0fb", "#e4e4e4"};
	uint32_t sum = 0;
	for (; *kind; kind++)
		sum = sum * 31 + (unsigned char)*kind;
	return colors[sum % PHX_ARRAY_SIZE(colors)];
}

static void put_box(const struct layout *l, uint32_t task, struct phx_buf *b)
{
	const char *id = phx_flow_id(l->f, task),
		   *kind = phx_flow_text(l->f, l->f->tasks[task].name);
	uint32_t x = x_of(l, task), y = y_of(l, task);
	phx_buf_addf(b, "<g><title>");
	put_escaped(b, id, PHX_FLOW_NAME_MAX);
	phx_buf_addf(b, " (");
	put_escaped(b, kind, PHX_FLOW_NAME_MAX);
	phx_buf_addf(b,
		     ")</title><rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" rx=\"4\" "
		     "fill=\"%s\"/><text x=\"%u\" y=\"%u\">",
		     x - BOX_WIDTH / 2, y, BOX_WIDTH, BOX_HEIGHT, color_of(kind), x,
		     y + BOX_HEIGHT / 2 + 4);
	put_escaped(b, id, LABEL_MAX);
	phx_buf_addf(b, "</text></g>\n");
}

static void draw_svg(const struct layout *l, struct phx_buf *b)
{
	const struct phx_flow *f = l->f;
	uint32_t width = 2 * MARGIN + l->widest * (BOX_WIDTH + GAP_X) - GAP_X,
		 height = 2 * MARGIN + f->n_levels * (BOX_HEIGHT + GAP_Y) - GAP_Y;
	phx_buf_addf(b,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" "
		     "width=\"%u\" height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		     "<title>",
		     width, height, width, height);
	put_escaped(b, phx_flow_text(f, f->name), PHX_FLOW_NAME_MAX);
	phx_buf_addf(b,
		     "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		     "<g fill=\"none\" stroke=\"#8a8a8a\">\n");
	for (uint32_t i = 0; i < f->n_tasks; i++)
		PHX_FLOW_EACH(p, f, i, PHX_FLOW_PARENTS)
	put_line(l, *p, i, b);
	phx_buf_addf(b, "</g>\n<g stroke=\"#4d4d4d\">\n");
	phx_buf_addf(b, "<style>text{stroke:none;fill:#111;text-anchor:middle}</style>\n");
	for (uint32_t i = 0; i < f->n_tasks; i++)
		put_box(l, i, b);
	phx_buf_addf(b, "</g>\n</svg>\n");
}

void phx_flow_draw(const struct phx_flow *f, enum phx_flow_graph graph, struct phx_buf *ret)
{
	static void (*const draw[])(const struct layout *,
				    struct phx_buf *) = {[PHX_FLOW_DOT] = draw_dot,
							 [PHX_FLOW_SVG] = draw_svg,
							 [PHX_FLOW_ASCII] = draw_ascii};
	PHX_AUTO(layout_fini) struct layout l;
	if (lay_out(f, graph == PHX_FLOW_SVG, &l) < 0)
		ret->failed = true;
	else
		draw[graph](&l, ret);
}
