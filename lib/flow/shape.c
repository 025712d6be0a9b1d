/* Shapes of workflows as text: see shape.h. Pure. */
#include "flow/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { PIECE = 48 << 10 };

int phx_flow_pieces(const struct phx_buf *b, struct phx_list *ret_text)
{
	for (size_t at = 0; at < b->n;) {
		size_t n = b->n - at < PIECE ? b->n - at : PIECE;
		struct phx_text *t = phx_list_push(ret_text, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->text = strndup(b->data + at, n);
		if (!t->text)
			return -ENOMEM;
		at += n;
	}
	return 0;
}

int phx_flow_join(const struct phx_list *text, struct phx_buf *ret)
{
	for (uint32_t i = 0; i < text->n; i++)
		phx_buf_add(ret, phx_text_at(text, i), strlen(phx_text_at(text, i)));
	phx_buf_add(ret, "", 1);
	return ret->failed ? -ENOMEM : 0;
}

/* ---- writing ---- */

static void put_wants(const struct phx_flow_task *t, const struct phx_flow_task *before,
		      struct phx_buf *b)
{
	if (t->cores == before->cores && t->memory_bytes == before->memory_bytes &&
	    t->time_ms == before->time_ms && t->retries == before->retries &&
	    t->when_failed == before->when_failed && t->nodes == before->nodes)
		return;
	phx_buf_addf(b, "=%" PRIu32 ",%" PRIu64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32, t->cores,
		     t->memory_bytes, t->time_ms, t->retries, t->when_failed);
	if (t->nodes != 1)
		phx_buf_addf(b, ",%" PRIu32, t->nodes);
}

static void put_parents(const struct phx_flow *f, uint32_t task, struct phx_buf *b)
{
	uint32_t n;
	const uint32_t *parent = phx_flow_list(f, task, PHX_FLOW_PARENTS, &n);
	for (uint32_t i = 0; i < n;) {
		uint32_t more = 1;
		while (i + more < n && parent[i + more] == parent[i] + more)
			more++;
		int64_t far = (int64_t)task - parent[i];
		phx_buf_addf(b, more > 1 ? " %" PRId64 ":%" PRId64 : " %" PRId64, far,
			     far - (int64_t)more + 1);
		i += more;
	}
}

static void put_same(struct phx_buf *b, uint32_t *n_same)
{
	if (*n_same)
		phx_buf_addf(b, "*%" PRIu32 "\n", *n_same);
	*n_same = 0;
}

static bool is_same(const struct phx_buf *line, const struct phx_buf *last)
{
	return line->n == last->n && !memcmp(line->data, last->data, line->n);
}

int phx_flow_shape_write(const struct phx_flow *f, struct phx_list *ret_text)
{
	static const struct phx_flow_task none = {.nodes = 1};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0}, line = {0}, last = {0};
	uint32_t n_same = 0;
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		line.n = 0;
		put_wants(&f->tasks[i], i ? &f->tasks[i - 1] : &none, &line);
		put_parents(f, i, &line);
		phx_buf_addf(&line, "\n");
		if (line.failed)
			return -ENOMEM;
		if (i && line.data[0] != '=' && is_same(&line, &last)) {
			n_same++;
			continue;
		}
		put_same(&b, &n_same);
		phx_buf_add(&b, line.data, line.n);
		/* the next line is compared with this one without its first word */
		const char *rest = line.data + strcspn(line.data, " \n");
		last.n = 0;
		phx_buf_add(&last, rest, strlen(rest));
		if (b.failed || last.failed)
			return -ENOMEM;
		if (b.n > PHX_FLOW_SHAPE_BYTES_MAX)
			return -E2BIG;
	}
	put_same(&b, &n_same);
	return b.failed ? -ENOMEM : phx_flow_pieces(&b, ret_text);
}

/* ---- reading ---- */

struct reading {
	struct phx_flow f;
	struct phx_list parents; /* uint32_t, those of all tasks one after the other */
	uint32_t *ends;          /* where those of each task end */
	uint32_t n_max;
	struct phx_err *err;
};

static void reading_fini(struct reading *r)
{
	phx_flow_fini(&r->f);
	phx_list_fini(&r->parents);
	free(r->ends);
}

static int wrong(const struct reading *r, const char *what)
{
	return phx_err_set(r->err, -EINVAL, "shape: task %u: %s", r->f.n_tasks, what);
}

bool phx_flow_number(const char **at, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = *at;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = 10 * v + (uint64_t)(*p - '0');
		if (v > max)
			return false;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = v;
	return true;
}

static bool comma(const char **at)
{
	bool is = **at == ',';
	*at += is;
	return is;
}

static int read_wants(struct reading *r, const char **at, struct phx_flow_task *t)
{
	uint64_t cores, memory, time, retries, when, nodes = 1;
	if (**at != '=')
		return 0;
	++*at;
	if (!phx_flow_number(at, PHX_FLOW_CORES_MAX, &cores) || !comma(at) ||
	    !phx_flow_number(at, PHX_FLOW_BYTES_MAX, &memory) || !comma(at) ||
	    !phx_flow_number(at, (uint64_t)PHX_FLOW_TIME_MAX_MS, &time) || !comma(at) ||
	    !phx_flow_number(at, PHX_FLOW_RETRIES_MAX, &retries) || !comma(at) ||
	    !phx_flow_number(at, PHX_FLOW_HOLD, &when))
		return wrong(r, "what it wants is malformed");
	if (comma(at) && (!phx_flow_number(at, PHX_FLOW_NODES_MAX, &nodes) || !nodes))
		return wrong(r, "how many nodes it wants is malformed");
	t->nodes = (uint32_t)nodes;
	t->cores = (uint32_t)cores;
	t->memory_bytes = memory;
	t->time_ms = (int64_t)time;
	t->retries = (uint32_t)retries;
	t->when_failed = (uint32_t)when;
	return 0;
}

static bool distance(const char **at, int64_t *ret)
{
	uint64_t v;
	bool minus = **at == '-';
	*at += minus;
	if (!phx_flow_number(at, PHX_FLOW_TASKS_MAX, &v))
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

static int add_parent(struct reading *r, int64_t parent)
{
	if (parent < 0 || parent >= r->n_max || parent == r->f.n_tasks)
		return wrong(r, "it waits for no other task");
	if (r->parents.n == PHX_FLOW_SHAPE_WAITS_MAX)
		return phx_err_set(r->err, -E2BIG,
				   "shape: the tasks wait for more than %d others together",
				   PHX_FLOW_SHAPE_WAITS_MAX);
	uint32_t *slot = phx_list_push(&r->parents, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = (uint32_t)parent;
	return 0;
}

/* Lists of parents are ascending, as everywhere. */
static int read_parents(struct reading *r, const char **at)
{
	int64_t last = -1;
	while (**at == ' ') {
		int64_t from, to;
		++*at;
		if (!distance(at, &from))
			return wrong(r, "for whom it waits is malformed");
		to = from;
		if (**at == ':') {
			++*at;
			if (!distance(at, &to) || to > from)
				return wrong(r, "for whom it waits is malformed");
		}
		for (int64_t far = from; far >= to; far--) {
			int64_t parent = (int64_t)r->f.n_tasks - far;
			int e = parent > last ? add_parent(r, parent)
					      : wrong(r, "for whom it waits is out of order");
			if (e < 0)
				return e;
			last = parent;
		}
	}
	return 0;
}

static int read_task(struct reading *r, const char **at)
{
	uint32_t i = r->f.n_tasks;
	struct phx_flow_task *t = &r->f.tasks[i];
	if (i)
		*t = t[-1];
	t->nodes = i ? t->nodes : 1;
	t->run_ms = -1;
	int e = read_wants(r, at, t);
	e = e ? e : read_parents(r, at);
	if (e < 0)
		return e;
	if (**at != '\n')
		return wrong(r, "its line does not end");
	++*at;
	r->ends[i] = r->parents.n;
	r->f.n_tasks++;
	return 0;
}

/* Adds `n` tasks like the line `line`, with the requirements of the task before. */
static int read_same(struct reading *r, const char *line, uint64_t n)
{
	int e = r->f.n_tasks + n > r->n_max ? wrong(r, "more tasks than were announced") : 0;
	for (uint64_t i = 0; e == 0 && i < n; i++) {
		const char *again = line;
		e = read_task(r, &again);
	}
	return e;
}

static int read_lines(struct reading *r, const char *at)
{
	const char *line = NULL; /* the last line, without its requirements */
	int e = 0;
	while (*at && e == 0) {
		uint64_t n;
		if (*at == '*') {
			at++;
			if (!line || !phx_flow_number(&at, r->n_max, &n) || *at++ != '\n')
				return wrong(r, "a repetition is malformed");
			e = read_same(r, line, n);
			continue;
		}
		if (r->f.n_tasks == r->n_max)
			return wrong(r, "more tasks than were announced");
		line = at + strcspn(at, " \n");
		e = read_task(r, &at);
	}
	if (e == 0 && r->f.n_tasks != r->n_max)
		e = wrong(r, "it is not there");
	return e;
}

/* Fills the lists of parents and of children. */
static int fill_lists(struct reading *r)
{
	struct phx_flow *f = &r->f;
	PHX_AUTO_FREE uint32_t *n_children = calloc(f->n_tasks, sizeof(*n_children));
	f->refs = calloc(2 * (size_t)r->parents.n + 1, sizeof(*f->refs));
	if (!n_children || !f->refs)
		return -ENOMEM;
	const uint32_t *parents = r->parents.items;
	for (uint32_t i = 0; i < r->parents.n; i++)
		n_children[parents[i]]++;
	for (uint32_t i = 0, at = 0; i < f->n_tasks; i++) {
		uint32_t from = i ? r->ends[i - 1] : 0, n = r->ends[i] - from;
		for (int k = 0; k <= PHX_FLOW_PARENTS; k++)
			f->tasks[i].at[k] = at;
		if (n)
			memcpy(f->refs + at, parents + from, n * sizeof(*parents));
		f->tasks[i].at[PHX_FLOW_CHILDREN] = at += n;
		f->tasks[i].at[PHX_FLOW_LISTS] = at += n_children[i];
	}
	for (uint32_t i = f->n_tasks; i-- > 0;)
		PHX_FLOW_EACH(p, f, i, PHX_FLOW_PARENTS)
	f->refs[f->tasks[*p].at[PHX_FLOW_CHILDREN] + --n_children[*p]] = i;
	f->n_refs = 2 * r->parents.n;
	return 0;
}

int phx_flow_shape_read(const struct phx_list *text, uint32_t n_tasks, struct phx_flow *ret,
			struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO(reading_fini) struct reading r = {.n_max = n_tasks, .err = err};
	if (!n_tasks || n_tasks > PHX_FLOW_TASKS_MAX)
		return phx_err_set(err, -EINVAL, "shape: a workflow has from 1 to %d tasks",
				   PHX_FLOW_TASKS_MAX);
	if (phx_flow_join(text, &b) < 0)
		return -ENOMEM;
	if (b.n > PHX_FLOW_SHAPE_BYTES_MAX)
		return phx_err_set(err, -E2BIG, "shape: more than %u bytes",
				   PHX_FLOW_SHAPE_BYTES_MAX);
	r.f.tasks = calloc(n_tasks, sizeof(*r.f.tasks));
	r.f.text = calloc(1, 1);
	r.ends = calloc(n_tasks, sizeof(*r.ends));
	if (!r.f.tasks || !r.f.text || !r.ends)
		return -ENOMEM;
	r.f.n_text = 1;
	int e = read_lines(&r, b.data);
	e = e ? e : fill_lists(&r);
	if (e < 0)
		return e;
	*ret = r.f;
	r.f = (struct phx_flow){0};
	return 0;
}
