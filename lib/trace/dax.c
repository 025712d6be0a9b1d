/* Reads workflows in DAX XML with libxml2. Called by phx sim; opens no file and
 * no network, replaces no entity. */
#include "trace/dax.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <libxml/parser.h>
#include <string.h>

#include "base/utf8.h"

#define RUN_MAX_S 10000000000 /* three hundred years */
#define NODES_MAX 1000000

struct task {
	char *id, *type; /* owned */
	long line;
	uint32_t index; /* into the jobs */
};

struct edge {
	uint32_t parent, child;
	long line;
};

struct reading {
	const char *name;
	struct phx_err *err;
	struct phx_list tasks; /* struct task; sorted by id once all are read */
	struct phx_list edges; /* struct edge */
	struct phx_trace_jobs w;
	struct phx_dax_info info;
};

static void reading_fini(struct reading *rd)
{
	PHX_LIST_EACH(struct task, t, &rd->tasks) {
		xmlFree(t->id);
		xmlFree(t->type);
	}
	phx_list_fini(&rd->tasks);
	phx_list_fini(&rd->edges);
	phx_trace_jobs_fini(&rd->w);
}

static int fail_at(const struct reading *rd, long line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int fail_at(const struct reading *rd, long line, const char *fmt, ...)
{
	char text[PHX_ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	phx_utf8_repair(text);
	return phx_err_set(rd->err, -EINVAL, "%s:%ld: %s", rd->name, line, text);
}

static bool is_element(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

#define EACH_CHILD(it, of) for (xmlNode *it = (of)->children; it; it = it->next)

static void free_text(char **text)
{
	xmlFree(*text);
}
#define AUTO_TEXT PHX_AUTO(free_text)

static char *attribute(xmlNode *node, const char *name)
{
	return (char *)xmlGetNoNsProp(node, (const xmlChar *)name);
}

/* ---- jobs ---- */

/* "13.41" seconds to milliseconds; -1 when it is none. */
static int64_t parse_seconds(const char *s)
{
	int64_t value = 0, milli = 0, weight = 100;
	const char *p = s;
	for (; *p >= '0' && *p <= '9' && value <= RUN_MAX_S; p++)
		value = value * 10 + (*p - '0');
	if (p == s || value > RUN_MAX_S)
		return -1;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, weight /= 10)
			milli += (*p - '0') * weight;
	return *p ? -1 : value * 1000 + milli;
}

/* <profile namespace="pegasus" key="nodes">4</profile> */
static int read_profile(const struct reading *rd, xmlNode *node, struct phx_trace_job *job)
{
	AUTO_TEXT char *key = attribute(node, "key");
	if (!key || strcmp(key, "nodes") != 0)
		return 0;
	AUTO_TEXT char *text = (char *)xmlNodeGetContent(node);
	uint64_t nodes;
	if (!text || phx_u64_parse(text, 1, NODES_MAX, &nodes) < 0)
		return fail_at(rd, xmlGetLineNo(node), "profile nodes: \"%.40s\": expected 1 to %d",
			       text ? text : "", NODES_MAX);
	job->size = (uint32_t)nodes;
	return 0;
}

static int read_uses(struct reading *rd, xmlNode *node)
{
	AUTO_TEXT char *text = attribute(node, "size");
	uint64_t size;
	if (!text)
		return 0;
	if (phx_u64_parse(text, 0, (uint64_t)1 << 50, &size) < 0)
		return fail_at(rd, xmlGetLineNo(node), "size of a file: \"%.40s\": expected bytes",
			       text);
	rd->info.n_bytes += size;
	return 0;
}

static int read_job(struct reading *rd, xmlNode *node)
{
	long line = xmlGetLineNo(node);
	AUTO_TEXT char *id = attribute(node, "id"), *type = attribute(node, "name"),
		       *runtime = attribute(node, "runtime");
	if (!id || !*id)
		return fail_at(rd, line, "job: id: missing");
	struct phx_trace_job job = {.id = rd->tasks.n + 1, .estimate_ms = -1, .size = 1};
	job.run_ms = runtime ? parse_seconds(runtime) : -1;
	if (job.run_ms < 0)
		return fail_at(rd, line, "job \"%.60s\": runtime: \"%.40s\": expected seconds", id,
			       runtime ? runtime : "");
	EACH_CHILD(it, node) {
		int r = is_element(it, "profile") ? read_profile(rd, it, &job)
			: is_element(it, "uses")  ? read_uses(rd, it)
						  : 0;
		if (r < 0)
			return r;
	}
	struct phx_trace_job *jobs = reallocarray(rd->w.jobs, rd->w.n + 1, sizeof(*jobs));
	if (!jobs)
		return -ENOMEM;
	rd->w.jobs = jobs;
	struct task *t = phx_list_push(&rd->tasks, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct task){PHX_TAKE(id), PHX_TAKE(type), line, (uint32_t)rd->w.n};
	jobs[rd->w.n++] = job;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	int r = strcmp(x->id, y->id);
	return r ? r : (x->line > y->line) - (x->line < y->line);
}

static int by_type(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	return strcmp(x->type ? x->type : "", y->type ? y->type : "");
}

static int read_jobs(struct reading *rd, xmlNode *root)
{
	EACH_CHILD(it, root) {
		int r = is_element(it, "job") ? read_job(rd, it) : 0;
		if (r < 0)
			return r;
	}
	if (rd->tasks.n == 0)
		return fail_at(rd, xmlGetLineNo(root),
			       "no job in it: expected a workflow (adag) with jobs");
	struct task *tasks = rd->tasks.items;
	qsort(tasks, rd->tasks.n, sizeof(*tasks), by_type);
	for (uint32_t i = 0; i < rd->tasks.n; i++)
		rd->info.n_types += i == 0 || by_type(&tasks[i - 1], &tasks[i]) != 0;
	qsort(tasks, rd->tasks.n, sizeof(*tasks), by_id);
	for (uint32_t i = 1; i < rd->tasks.n; i++)
		if (strcmp(tasks[i - 1].id, tasks[i].id) == 0)
			return fail_at(rd, tasks[i].line,
				       "job \"%.60s\": stands already in line %ld", tasks[i].id,
				       tasks[i - 1].line);
	return 0;
}

/* ---- dependencies ---- */

static int read_ref(struct reading *rd, xmlNode *node, uint32_t *ret_index)
{
	AUTO_TEXT char *ref = attribute(node, "ref");
	struct task key = {.id = ref}, *tasks = rd->tasks.items;
	uint32_t low = 0, high = rd->tasks.n;
	while (ref && low < high) {
		uint32_t middle = low + (high - low) / 2;
		int r = strcmp(tasks[middle].id, key.id);
		if (r == 0) {
			*ret_index = tasks[middle].index;
			return 0;
		}
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return fail_at(rd, xmlGetLineNo(node), "%s: ref: \"%.60s\": no such job",
		       (const char *)node->name, ref ? ref : "");
}

static int read_child(struct reading *rd, xmlNode *node)
{
	uint32_t child, parent;
	int r = read_ref(rd, node, &child);
	if (r < 0)
		return r;
	EACH_CHILD(it, node) {
		if (!is_element(it, "parent"))
			continue;
		r = read_ref(rd, it, &parent);
		if (r < 0)
			return r;
		struct edge *e = phx_list_push(&rd->edges, sizeof(*e));
		if (!e)
			return -ENOMEM;
		*e = (struct edge){parent, child, xmlGetLineNo(it)};
	}
	return 0;
}

static int by_ends(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->child > y->child) - (x->child < y->child);
}

/* Edges into the jobs; one that stands twice counts once. */
static int link_jobs(struct reading *rd)
{
	struct edge *e = rd->edges.items;
	struct phx_trace_jobs *w = &rd->w;
	w->children = calloc(rd->edges.n + 1, sizeof(*w->children));
	if (!w->children)
		return -ENOMEM;
	if (rd->edges.n)
		qsort(e, rd->edges.n, sizeof(*e), by_ends);
	for (uint32_t i = 0; i < rd->edges.n; i++) {
		if (i && by_ends(&e[i - 1], &e[i]) == 0)
			continue;
		struct phx_trace_job *parent = &w->jobs[e[i].parent];
		if (!parent->n_children)
			parent->first_child = (uint32_t)w->n_children;
		parent->n_children++;
		w->jobs[e[i].child].n_parents++;
		w->children[w->n_children++] = e[i].child;
	}
	return 0;
}

/* ---- levels ---- */

/* `left`: parents not yet passed, of every job; some never got to 0. Name one that waits for
 * itself. */
static int complain_cycle(const struct reading *rd, const uint32_t *left)
{
	/* an edge within the cycle to each job */
	PHX_AUTO_FREE struct edge *from = calloc(rd->w.n, sizeof(*from));
	if (!from)
		return -ENOMEM;
	uint32_t at = 0;
	PHX_LIST_EACH(struct edge, e, &rd->edges) {
		if (left[e->parent] && left[e->child]) {
			from[e->child] = *e;
			at = e->child;
		}
	}
	for (size_t i = 0; i < rd->w.n; i++) /* upward: after so many steps we are within it */
		at = from[at].parent;
	PHX_LIST_EACH(struct task, t, &rd->tasks) {
		if (t->index == at)
			return fail_at(rd, from[at].line,
				       "job \"%.60s\": waits for itself by way of its parents",
				       t->id);
	}
	return -EINVAL;
}

/* Pass every job after its parents: levels, the longest way. */
static int pass_levels(struct reading *rd)
{
	struct phx_trace_jobs *w = &rd->w;
	PHX_AUTO_FREE uint32_t *left = calloc(w->n, sizeof(*left)),
			       *queue = calloc(w->n, sizeof(*queue));
	PHX_AUTO_FREE int64_t *begin_ms = calloc(w->n, sizeof(*begin_ms));
	if (!left || !queue || !begin_ms)
		return -ENOMEM;
	size_t head = 0, tail = 0;
	for (uint32_t i = 0; i < w->n; i++) {
		left[i] = w->jobs[i].n_parents;
		if (!left[i])
			queue[tail++] = i;
	}
	for (; head < tail; head++) {
		const struct phx_trace_job *j = &w->jobs[queue[head]];
		int64_t end_ms = begin_ms[queue[head]] + j->run_ms;
		rd->info.n_levels =
			j->class + 1 > rd->info.n_levels ? j->class + 1 : rd->info.n_levels;
		rd->info.critical_path_ms =
			end_ms > rd->info.critical_path_ms ? end_ms : rd->info.critical_path_ms;
		for (uint32_t k = 0; k < j->n_children; k++) {
			uint32_t c = w->children[j->first_child + k];
			struct phx_trace_job *child = &w->jobs[c];
			child->class = j->class + 1 > child->class ? j->class + 1 : child->class;
			begin_ms[c] = end_ms > begin_ms[c] ? end_ms : begin_ms[c];
			if (--left[c] == 0)
				queue[tail++] = c;
		}
	}
	return tail == w->n ? 0 : complain_cycle(rd, left);
}

static int read_document(struct reading *rd, xmlDoc *doc)
{
	xmlNode *root = xmlDocGetRootElement(doc);
	if (doc->intSubset || doc->extSubset)
		return fail_at(rd, 1,
			       "a document type (DOCTYPE) is not read: expected a plain workflow");
	if (!root || !is_element(root, "adag"))
		return fail_at(rd, root ? xmlGetLineNo(root) : 1,
			       "\"%.40s\": expected a workflow (adag)",
			       root ? (const char *)root->name : "");
	int r = read_jobs(rd, root);
	if (r < 0)
		return r;
	EACH_CHILD(it, root) {
		r = is_element(it, "child") ? read_child(rd, it) : 0;
		if (r < 0)
			return r;
	}
	r = link_jobs(rd);
	return r < 0 ? r : pass_levels(rd);
}

static int parse(struct reading *rd, xmlParserCtxt *ctx, const char *text, size_t n)
{
	int options = XML_PARSE_NONET | XML_PARSE_BIG_LINES | XML_PARSE_NOERROR |
		XML_PARSE_NOWARNING | XML_PARSE_COMPACT;
	xmlDoc *doc = xmlCtxtReadMemory(ctx, text, (int)n, NULL, NULL, options);
	if (!doc) {
		const xmlError *e = xmlCtxtGetLastError(ctx);
		const char *why = e && e->message ? e->message : "not XML\n";
		return fail_at(rd, e ? e->line : 1, "%.*s", (int)strcspn(why, "\n"), why);
	}
	int r = read_document(rd, doc);
	xmlFreeDoc(doc);
	return r;
}

int phx_dax_read(const char *name, const char *text, size_t n, struct phx_trace_jobs *ret,
		 struct phx_dax_info *ret_info, struct phx_err *err)
{
	struct reading rd = {.name = name, .err = err};
	if (n > INT_MAX)
		return phx_err_set(err, -EINVAL, "%s: larger than %d bytes", name, INT_MAX);
	xmlParserCtxt *ctx = xmlNewParserCtxt();
	int r = ctx ? parse(&rd, ctx, text, n) : -ENOMEM;
	xmlFreeParserCtxt(ctx);
	if (r == 0) {
		rd.w.n_rows = rd.w.n;
		*ret = rd.w;
		rd.w = (struct phx_trace_jobs){0};
		if (ret_info)
			*ret_info = rd.info;
	}
	reading_fini(&rd);
	return r;
}
