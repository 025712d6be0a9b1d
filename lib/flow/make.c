/* Makes a workflow from a draft: see phx_flow_make(). Finds ids and files by sorting, so that no
 * choice of names makes it slow. Pure. */
#include <errno.h>
#include <string.h>

#include "flow/draft.h"

/* A name, and the index of its owner. */
struct named {
	const char *name;
	uint32_t i;
};

struct edge {
	uint32_t child, parent, line;
};

struct making {
	const struct phx_flow_draft *d;
	struct phx_flow f;
	struct phx_err *err;
	struct named *ids;     /* of the tasks, sorted */
	uint32_t *sorted;      /* phx_flow_draft_sort() */
	uint32_t *file_of;     /* for each link to a file: the file's index */
	struct phx_list edges; /* struct edge */
};

static void making_fini(struct making *m)
{
	phx_flow_fini(&m->f);
	free(m->sorted);
	free(m->file_of);
	phx_list_fini(&m->edges);
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int r = strcmp(x->name, y->name);
	return r ? r : (x->i > y->i) - (x->i < y->i);
}

static const char *text_of(const struct making *m, uint32_t at)
{
	return m->d->text.data + at;
}

static struct phx_flow_link *links_of(const struct making *m)
{
	return m->d->links.items;
}

static bool is_file(const struct phx_flow_link *l)
{
	return l->kind == PHX_FLOW_LINK_INPUT || l->kind == PHX_FLOW_LINK_OUTPUT;
}

static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static bool is_name(const char *text)
{
	size_t n = strlen(text);
	return n && n < PHX_FLOW_NAME_MAX && is_line(text);
}

/* ---- tasks ---- */

static const char *id_of(const struct making *m, uint32_t task)
{
	return text_of(m, m->f.tasks[task].id);
}

static int check_task(const struct making *m, const struct phx_flow_task *t)
{
	const char *id = text_of(m, t->id), *wrong = NULL;
	if (t->memory_bytes > PHX_FLOW_BYTES_MAX)
		return phx_flow_fail(m->d, t->line, m->err, "task \"%.60s\": memory: at most 1 PiB",
				     id);
	if (!is_name(id))
		wrong = "id";
	else if (t->name && !is_name(text_of(m, t->name)))
		wrong = "name";
	return !wrong ? 0
		      : phx_flow_fail(m->d, t->line, m->err,
				      "task \"%.60s\": %s: must be one line of 1 to %d bytes", id,
				      wrong, PHX_FLOW_NAME_MAX - 1);
}

static int take_tasks(struct making *m)
{
	const struct phx_flow_draft *d = m->d;
	uint32_t n = d->tasks.n;
	if (!n)
		return phx_flow_fail(d, 1, m->err, "no task in it: expected a workflow with tasks");
	if (*text_of(m, d->name) && !is_name(text_of(m, d->name)))
		return phx_flow_fail(d, 1, m->err, "name: must be one line of 1 to %d bytes",
				     PHX_FLOW_NAME_MAX - 1);
	m->f.tasks = calloc(n, sizeof(*m->f.tasks));
	m->sorted = phx_flow_draft_sort(d);
	if (!m->f.tasks || !m->sorted)
		return -ENOMEM;
	memcpy(m->f.tasks, d->tasks.items, n * sizeof(*m->f.tasks));
	m->f.n_tasks = n;
	for (uint32_t i = 0; i < n; i++) {
		int r = check_task(m, &m->f.tasks[i]);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t a = m->sorted[i - 1], b = m->sorted[i];
		if (!strcmp(id_of(m, a), id_of(m, b)))
			return phx_flow_fail(d, m->f.tasks[b].line, m->err,
					     "task \"%.60s\": stands already in line %u",
					     id_of(m, b), m->f.tasks[a].line);
	}
	return 0;
}

/* ---- files ---- */

/* Collects the name of every mention of a file, with its index among the declared files or, behind
 * these, among the links. */
static int gather_names(struct making *m, struct named **ret, uint32_t *ret_n)
{
	const struct phx_flow_draft *d = m->d;
	const struct phx_flow_link *links = links_of(m);
	struct named *names = calloc((size_t)d->files.n + d->links.n + 1, sizeof(*names));
	uint32_t n = 0;
	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->files.n; i++)
		names[n++] = (struct named){
			text_of(m, PHX_LIST_AT(&d->files, struct phx_flow_file, i)->name), i};
	for (uint32_t i = 0; i < d->links.n; i++)
		if (is_file(&links[i]))
			names[n++] = (struct named){text_of(m, links[i].text), d->files.n + i};
	qsort(names, n, sizeof(*names), by_name);
	*ret = names;
	*ret_n = n;
	return 0;
}

/* Adds to the file what one mention says of it. */
static void add_to_file(struct making *m, struct phx_flow_file *file, uint32_t place)
{
	const struct phx_flow_draft *d = m->d;
	uint64_t size;
	if (place < d->files.n) {
		const struct phx_flow_file *told =
			PHX_LIST_AT(&d->files, struct phx_flow_file, place);
		file->outside |= told->outside;
		file->told = true;
		size = told->size_bytes;
	} else {
		const struct phx_flow_link *l = &links_of(m)[place - d->files.n];
		bool reads = l->kind == PHX_FLOW_LINK_INPUT;
		uint32_t *writer = file->n_writers ? &file->other : &file->writer;
		m->file_of[place - d->files.n] = (uint32_t)(file - m->f.files);
		if (!reads && file->n_writers < 2)
			*writer = l->task;
		file->n_readers += reads;
		file->n_writers += !reads;
		size = l->size_bytes;
	}
	size = size > PHX_FLOW_BYTES_MAX ? PHX_FLOW_BYTES_MAX : size;
	file->size_bytes = size > file->size_bytes ? size : file->size_bytes;
}

static int take_files(struct making *m)
{
	const struct phx_flow_draft *d = m->d;
	PHX_AUTO_FREE struct named *names = NULL;
	uint32_t n;
	m->file_of = calloc((size_t)d->links.n + 1, sizeof(*m->file_of));
	int r = m->file_of ? gather_names(m, &names, &n) : -ENOMEM;
	if (r < 0)
		return r;
	m->f.files = calloc((size_t)n + 1, sizeof(*m->f.files));
	if (!m->f.files)
		return -ENOMEM;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t place = names[k].i;
		bool own = place < d->files.n;
		uint32_t line = own ? PHX_LIST_AT(&d->files, struct phx_flow_file, place)->line
				    : links_of(m)[place - d->files.n].line;
		uint32_t text = own ? PHX_LIST_AT(&d->files, struct phx_flow_file, place)->name
				    : links_of(m)[place - d->files.n].text;
		if (!is_name(names[k].name))
			return phx_flow_fail(d, line, m->err,
					     "file \"%.60s\": must be one line of 1 to %d bytes",
					     names[k].name, PHX_FLOW_NAME_MAX - 1);
		if (k == 0 || strcmp(names[k - 1].name, names[k].name) != 0)
			m->f.files[m->f.n_files++] = (struct phx_flow_file){.name = text,
									    .line = line,
									    .writer = PHX_FLOW_NONE,
									    .other = PHX_FLOW_NONE};
		add_to_file(m, &m->f.files[m->f.n_files - 1], place);
	}
	for (uint32_t i = 0; i < m->f.n_files;
	     i++) /* a declared file that no task writes comes from outside */
		m->f.files[i].outside |= m->f.files[i].told && !m->f.files[i].n_writers;
	return 0;
}

/* ---- who waits for whom ---- */

static int add_edge(struct making *m, uint32_t child, uint32_t parent, uint32_t line)
{
	struct edge *e = phx_list_push(&m->edges, sizeof(*e));
	if (!e)
		return -ENOMEM;
	*e = (struct edge){child, parent, line};
	return 0;
}

/* Finds the task with this id, which a link names. */
static int find_task(const struct making *m, const struct phx_flow_link *l, uint32_t id,
		     const char *as, uint32_t *ret)
{
	bool order = l->kind == PHX_FLOW_LINK_ORDER;
	*ret = phx_flow_draft_find(m->d, m->sorted, text_of(m, id));
	return *ret != PHX_FLOW_NONE
		? 0
		: phx_flow_fail(m->d, l->line, m->err, "%s%.60s%s%s: \"%.60s\": no such task",
				order ? "" : "task \"", order ? "" : id_of(m, l->task),
				order ? "" : "\": ", as, text_of(m, id));
}

static int take_link(struct making *m, uint32_t i)
{
	const struct phx_flow_link *l = &links_of(m)[i];
	uint32_t child = l->task, parent = l->task;
	int r = 0;
	switch ((enum phx_flow_link_kind)l->kind) {
	case PHX_FLOW_LINK_ARGV:
	case PHX_FLOW_LINK_ENVIRONMENT:
	case PHX_FLOW_LINK_OUTPUT:
		return 0;
	case PHX_FLOW_LINK_INPUT:
		parent = m->f.files[m->file_of[i]].writer;
		if (!m->d->by_files || m->f.files[m->file_of[i]].n_writers != 1 || parent == child)
			return 0;
		break;
	case PHX_FLOW_LINK_PARENT:
		r = find_task(m, l, l->text, "parents", &parent);
		break;
	case PHX_FLOW_LINK_CHILD:
		r = find_task(m, l, l->text, "children", &child);
		break;
	case PHX_FLOW_LINK_ORDER:
		r = find_task(m, l, l->task, "child", &child);
		r = r < 0 ? r : find_task(m, l, l->text, "parent", &parent);
		break;
	}
	return r < 0 ? r : add_edge(m, child, parent, l->line);
}

static int by_ends(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->child != y->child)
		return x->child < y->child ? -1 : 1;
	return (x->parent > y->parent) - (x->parent < y->parent);
}

/* Collects the edges, sorted, each once. */
static int take_edges(struct making *m)
{
	for (uint32_t i = 0; i < m->d->links.n; i++) {
		int r = take_link(m, i);
		if (r < 0)
			return r;
	}
	struct edge *e = m->edges.items;
	uint32_t n = 0;
	if (m->edges.n)
		qsort(e, m->edges.n, sizeof(*e), by_ends);
	for (uint32_t i = 0; i < m->edges.n; i++)
		if (!n || by_ends(&e[n - 1], &e[i]) != 0)
			e[n++] = e[i];
	m->edges.n = n;
	return 0;
}

/* ---- lists ---- */

/* The list of its task to which a link belongs; PHX_FLOW_LISTS: none, it is among the edges. */
static enum phx_flow_list list_of(const struct phx_flow_link *l)
{
	static const enum phx_flow_list lists[] = {
		[PHX_FLOW_LINK_ARGV] = PHX_FLOW_ARGV,
		[PHX_FLOW_LINK_ENVIRONMENT] = PHX_FLOW_ENVIRONMENT,
		[PHX_FLOW_LINK_INPUT] = PHX_FLOW_INPUTS,
		[PHX_FLOW_LINK_OUTPUT] = PHX_FLOW_OUTPUTS,
		[PHX_FLOW_LINK_PARENT] = PHX_FLOW_LISTS,
		[PHX_FLOW_LINK_CHILD] = PHX_FLOW_LISTS,
		[PHX_FLOW_LINK_ORDER] = PHX_FLOW_LISTS,
	};
	return lists[l->kind];
}

/* Counts items into the slot behind their own, then sums up: at[k] is where the list begins. */
static void lay_out(struct making *m)
{
	const struct phx_flow_link *links = links_of(m);
	for (uint32_t i = 0; i < m->d->links.n; i++)
		if (list_of(&links[i]) != PHX_FLOW_LISTS)
			m->f.tasks[links[i].task].at[list_of(&links[i]) + 1]++;
	PHX_LIST_EACH(struct edge, e, &m->edges) {
		m->f.tasks[e->child].at[PHX_FLOW_PARENTS + 1]++;
		m->f.tasks[e->parent].at[PHX_FLOW_CHILDREN + 1]++;
	}
	for (uint32_t i = 0; i < m->f.n_tasks; i++) {
		uint32_t *at = m->f.tasks[i].at;
		at[0] = m->f.n_refs;
		for (int k = 0; k < PHX_FLOW_LISTS; k++)
			at[k + 1] += at[k];
		m->f.n_refs = at[PHX_FLOW_LISTS];
	}
}

static int fill_lists(struct making *m)
{
	const struct phx_flow_link *links = links_of(m);
	lay_out(m);
	m->f.refs = calloc((size_t)m->f.n_refs + 1, sizeof(*m->f.refs));
	PHX_AUTO_FREE uint32_t(*next)[PHX_FLOW_LISTS] = calloc(m->f.n_tasks, sizeof(*next));
	if (!m->f.refs || !next)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->f.n_tasks; i++)
		memcpy(next[i], m->f.tasks[i].at, sizeof(*next));
	for (uint32_t i = 0; i < m->d->links.n; i++)
		if (list_of(&links[i]) != PHX_FLOW_LISTS)
			m->f.refs[next[links[i].task][list_of(&links[i])]++] =
				is_file(&links[i]) ? m->file_of[i] : links[i].text;
	PHX_LIST_EACH(struct edge, e, &m->edges) {
		m->f.refs[next[e->child][PHX_FLOW_PARENTS]++] = e->parent;
		m->f.refs[next[e->parent][PHX_FLOW_CHILDREN]++] = e->child;
	}
	return 0;
}

static size_t sum_words(const struct making *m, uint32_t task, enum phx_flow_list list)
{
	size_t n = 0;
	PHX_FLOW_EACH(w, &m->f, task, list)
	n += strlen(text_of(m, *w)) + 1;
	return n;
}

static int check_words(const struct making *m, uint32_t task)
{
	uint32_t line = m->f.tasks[task].line;
	if (sum_words(m, task, PHX_FLOW_ARGV) > PHX_FLOW_WORDS_MAX)
		return phx_flow_fail(m->d, line, m->err,
				     "task \"%.60s\": command: more than %u bytes", id_of(m, task),
				     PHX_FLOW_WORDS_MAX);
	if (sum_words(m, task, PHX_FLOW_ENVIRONMENT) > PHX_FLOW_WORDS_MAX)
		return phx_flow_fail(m->d, line, m->err,
				     "task \"%.60s\": environment: more than %u bytes",
				     id_of(m, task), PHX_FLOW_WORDS_MAX);
	PHX_FLOW_EACH(w, &m->f, task, PHX_FLOW_ENVIRONMENT)
	{
		const char *text = text_of(m, *w), *eq = strchr(text, '=');
		if (!eq || eq == text)
			return phx_flow_fail(
				m->d, line, m->err,
				"task \"%.60s\": environment: \"%.60s\": expected NAME=VALUE",
				id_of(m, task), text);
	}
	return 0;
}

/* ---- levels ---- */

/* Some tasks never became free: names the members of a cycle among them. From any of these we walk
 * to a parent that is not free either; after as many steps as there are tasks we are within a
 * cycle. */
static int complain_circle(const struct making *m, const uint32_t *left)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf names = {0};
	uint32_t at = 0, n = 0;
	PHX_AUTO_FREE struct edge *up = calloc(m->f.n_tasks, sizeof(*up));
	if (!up)
		return -ENOMEM;
	PHX_LIST_EACH(struct edge, e, &m->edges) {
		if (left[e->parent] && left[e->child]) {
			up[e->child] = *e;
			at = e->child;
		}
	}
	for (uint32_t i = 0; i < m->f.n_tasks; i++)
		at = up[at].parent;
	uint32_t it = at, first = at;
	while ((it = up[it].parent) != first)
		at = it < at ? it : at;
	uint32_t line = up[at].line;
	it = at;
	do {
		if (n++ < 8)
			phx_buf_addf(&names, "\"%.40s\" waits for ", id_of(m, it));
		it = up[it].parent;
	} while (it != at);
	if (n > 8)
		phx_buf_addf(&names, "... (%u tasks in all) ", n);
	phx_buf_addf(&names, "\"%.40s\"", id_of(m, at));
	if (names.failed)
		return -ENOMEM;
	return phx_flow_fail(m->d, line, m->err, "task \"%.60s\": waits for itself: %s",
			     id_of(m, at), names.data);
}

/* Visits every task after its parents, level by level: the parent visited last has the highest
 * level. */
static int pass_levels(struct making *m)
{
	struct phx_flow *f = &m->f;
	PHX_AUTO_FREE uint32_t *left = calloc(f->n_tasks, sizeof(*left)),
			       *queue = calloc(f->n_tasks, sizeof(*queue));
	if (!left || !queue)
		return -ENOMEM;
	uint32_t head = 0, tail = 0;
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		phx_flow_list(f, i, PHX_FLOW_PARENTS, &left[i]);
		if (!left[i])
			queue[tail++] = i;
	}
	for (; head < tail; head++) {
		uint32_t level = f->tasks[queue[head]].level + 1;
		f->n_levels = level > f->n_levels ? level : f->n_levels;
		PHX_FLOW_EACH(c, f, queue[head], PHX_FLOW_CHILDREN)
		{
			struct phx_flow_task *child = &f->tasks[*c];
			child->level = level;
			if (--left[*c] == 0)
				queue[tail++] = *c;
		}
	}
	return tail == f->n_tasks ? 0 : complain_circle(m, left);
}

/* ---- texts ---- */

static uint32_t keep(struct making *m, uint32_t at)
{
	size_t n = strlen(text_of(m, at)) + 1, to = m->f.n_text;
	memcpy(m->f.text + to, text_of(m, at), n);
	m->f.n_text += n;
	return (uint32_t)to;
}

/* Copies only texts that the workflow uses: the draft has the name of a file once per mention, and
 * the ids of parents. The result is never longer, except for names that are ids. */
static int keep_texts(struct making *m)
{
	struct phx_flow *f = &m->f;
	f->text = malloc(m->d->text.n + 1);
	if (!f->text)
		return -ENOMEM;
	f->text[f->n_text++] = '\0';
	f->name = m->d->name ? keep(m, m->d->name) : 0;
	for (uint32_t i = 0; i < f->n_files; i++)
		f->files[i].name = keep(m, f->files[i].name);
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		struct phx_flow_task *t = &f->tasks[i];
		t->id = keep(m, t->id);
		t->name = t->name ? keep(m, t->name) : t->id;
		for (uint32_t k = t->at[PHX_FLOW_ARGV]; k < t->at[PHX_FLOW_ENVIRONMENT + 1]; k++)
			f->refs[k] = keep(m, f->refs[k]);
	}
	char *fit = realloc(f->text, f->n_text);
	f->text = fit ? fit : f->text;
	return 0;
}

static int make(struct making *m)
{
	int r = take_tasks(m);
	r = r < 0 ? r : take_files(m);
	r = r < 0 ? r : take_edges(m);
	r = r < 0 ? r : fill_lists(m);
	for (uint32_t i = 0; r == 0 && i < m->f.n_tasks; i++)
		r = check_words(m, i);
	r = r < 0 ? r : pass_levels(m);
	return r < 0 ? r : keep_texts(m);
}

int phx_flow_make(const struct phx_flow_draft *d, struct phx_flow *ret, struct phx_err *err)
{
	PHX_AUTO(making_fini) struct making m = {.d = d, .err = err};
	int r = make(&m);
	if (r == -ENOMEM)
		return phx_err_set(err, r, "%s: out of memory", d->what);
	if (r < 0)
		return r;
	m.f.tells_outside = d->tells_outside;
	*ret = m.f;
	m.f = (struct phx_flow){0};
	return 0;
}
