/* Makes the orders by which agents hear of the tasks that their nodes are given (types/task.h). The
 * core says which tasks are on which node, and the text of its workflow says what a task runs.
 * Which orders an agent has taken is remembered here alone: a phxd that was started again sends all
 * of them once more, which does no harm, for a task runs once however often it is ordered. Called
 * by orders.c when it answers a beat. Decides nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/nodeset.h"
#include "job/job.h"
#include "phxd/beat.h"

enum { ORDERS_MAX = 8 }; /* under way to one node */

/* A task that a node is told to begin, or to end. */
struct sent {
	uint64_t run;
	uint32_t task, attempt;
	bool ends;      /* the node is to end it */
	bool there;     /* the node's list of sent tasks has it already */
	uint64_t order; /* number of its order; 0: the agent has taken it; UINT64_MAX: none yet */
};

struct task_node {
	char name[PHX_NAME_MAX];
	uint64_t last_order;
	struct phx_list sent; /* struct sent */
};

struct tasks {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list nodes; /* struct task_node * */
	struct phx_hash names;
};

/* A copy of what the core says of one task. */
struct given {
	struct sent is;
	char digest[PHX_SHA256_HEX];
	int64_t submitted_ms;
	char re[PHX_NAME_MAX], user[PHX_NAME_MAX];
	uint32_t uid, gid;
	bool looks;           /* it is the command of a trigger */
	struct phx_list vars; /* struct phx_text: variables of a run that a trigger began */
	bool wide;            /* it is on several nodes, of which this is number `rank` */
	uint32_t rank;
	char had_sha256[PHX_SHA256_HEX];
};

/* The tasks of a node, and what holds for all of them. */
struct view {
	struct phx_list given; /* struct given */
	struct phx_task_order common;
	char *nodes; /* of a worker of several nodes: all of them, folded; NULL: it has one */
};

int tasks_new(struct daemon *d, struct tasks **ret)
{
	struct tasks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->d = d;
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		struct task_node *n = *PHX_LIST_AT(&t->nodes, struct task_node *, i);
		phx_list_fini(&n->sent);
		free(n);
	}
	phx_list_fini(&t->nodes);
	phx_hash_fini(&t->names);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct task_node *node_of(struct tasks *t, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(&t->names, hash, &at, &i);)
		if (!strcmp((*PHX_LIST_AT(&t->nodes, struct task_node *, i))->name, name))
			return *PHX_LIST_AT(&t->nodes, struct task_node *, i);
	struct task_node *n = calloc(1, sizeof(*n)), **to = NULL;
	if (n && phx_hash_reserve(&t->names, t->nodes.n + 1) == 0)
		to = phx_list_push(&t->nodes, sizeof(n));
	if (!to) {
		free(n);
		return NULL;
	}
	PHX_STR_SET(n->name, name);
	phx_hash_put(&t->names, hash, t->nodes.n - 1);
	return *to = n;
}

/* ---- what the core says ---- */

static int add_given(struct view *v, const struct phx_task_given *g, bool ends)
{
	struct given *to = phx_list_push(&v->given, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = (struct given){
		.is = {.run = g->run->id, .task = g->task, .attempt = g->attempt, .ends = ends},
		.submitted_ms = g->run->submitted_ms,
		.uid = g->run->uid,
		.gid = g->run->gid};
	PHX_STR_SET(to->digest, g->run->digest);
	PHX_STR_SET(to->re, g->run->re);
	PHX_STR_SET(to->user, g->run->user);
	to->looks = g->run->looks;
	to->wide = g->wide;
	to->rank = g->rank;
	PHX_STR_SET(to->had_sha256, g->had_sha256);
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < g->run->vars.n; i++)
		r = phx_text_push(&to->vars, phx_text_at(&g->run->vars, i));
	return r;
}

static void view_fini(struct view *v)
{
	PHX_LIST_EACH(struct given, g, &v->given) {
		PHX_LIST_EACH(struct phx_text, t, &g->vars)
			free(t->text);
		phx_list_fini(&g->vars);
	}
	phx_list_fini(&v->given);
	free(v->nodes);
}

/* The nodes of a worker of several. */
static int fold_nodes(const struct phx_job *worker, char **ret)
{
	struct phx_nodeset set = {0};
	int r = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &worker->parts)
		r = r ? r : phx_nodeset_add(&set, p->node);
	*ret = r == 0 ? phx_nodeset_fold(&set) : NULL;
	phx_nodeset_fini(&set);
	return r == 0 && !*ret ? -ENOMEM : r;
}

/* The heartbeat timeout is the worker's, and not the present setting: the core takes the tasks for
 * lost after that of the worker. */
static void put_worker(const struct phx_job *worker, struct phx_task_order *o)
{
	o->cores = worker->cores;
	o->memory_bytes = worker->memory_bytes;
	o->heartbeat_timeout_ms = worker->heartbeat_timeout_ms;
	o->grace_ms = worker->grace_ms;
}

/* Reads the node's tasks from the state. A task that is to end is also ordered to begin: an agent
 * answers only for tasks that it was told of. */
static int look(struct daemon *d, const char *node, struct view *ret)
{
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	struct phx_task_order *o = &ret->common;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	const struct phx_job *worker = NULL;
	int r = n ? phx_tasks_on(s, n, &all, &worker) : 0;
	const struct phx_re *re = n ? phx_state_re(s, n->allocated_to) : NULL;
	o->since_ms = d->started_ms;
	if (worker)
		put_worker(worker, o);
	if (r == 0 && all.n && phx_job_is_wide(worker))
		r = fold_nodes(worker, &ret->nodes);
	PHX_STR_SET(o->data, re ? re->agreement.data_directory : "");
	PHX_LIST_EACH(struct phx_task_given, g, &all) {
		r = r ? r : add_given(ret, g, false);
		r = r || !g->ends ? r : add_given(ret, g, true);
	}
	engine_unlock(d->engine);
	return r;
}

/* ---- what was told already ---- */

static bool is_same(const struct sent *a, const struct sent *b)
{
	return a->run == b->run && a->task == b->task && a->attempt == b->attempt &&
		a->ends == b->ends;
}

static bool was_taken(const struct phx_list *running, uint64_t order)
{
	PHX_LIST_EACH(struct beat_running, r, running)
		if (r->kind == PHX_ORDER_tasks && (uint64_t)r->id == order)
			return true;
	return false;
}

/* Agents of versions that had no tasks do not report any. */
static bool knows_tasks(const struct phx_list *running)
{
	return beat_running_of(running, PHX_ORDER_tasks);
}

/* Forgets sent tasks that the node does not have any more, notes which of the others the agent has
 * taken, and adds those that are new. */
static int update(struct task_node *n, const struct phx_list *running, struct phx_list *given)
{
	uint32_t kept = 0;
	PHX_LIST_EACH(struct sent, s, &n->sent) {
		struct given *it = NULL;
		PHX_LIST_EACH(struct given, g, given)
			if (!it && is_same(&g->is, s))
				it = g;
		if (!it)
			continue;
		it->is.there = true;
		if (s->order && was_taken(running, s->order))
			s->order = 0;
		it->is.order = s->order;
		*PHX_LIST_AT(&n->sent, struct sent, kept++) = *s;
	}
	n->sent.n = kept;
	PHX_LIST_EACH(struct given, g, given) {
		struct sent *to = g->is.there ? NULL : phx_list_push(&n->sent, sizeof(*to));
		if (g->is.there)
			continue;
		if (!to)
			return -ENOMEM;
		*to = g->is;
		to->order = g->is.order = UINT64_MAX; /* of no order yet */
	}
	return 0;
}

/* ---- orders ---- */

/* Appends the words of a task. In a run that a trigger began, variables in the words are filled in.
 */
static int put_texts(const struct phx_flow *f, const struct given *g, enum phx_flow_list list,
		     const char *(*text)(const struct phx_flow *f, uint32_t at),
		     struct phx_list *ret)
{
	int r = 0;
	PHX_FLOW_EACH(it, f, g->is.task, list)
	{
		const char *word = text(f, *it);
		bool asks = g->vars.n && phx_trigger_asks(word);
		PHX_AUTO_FREE char *filled = asks ? phx_trigger_fill(word, &g->vars) : NULL;
		r = r            ? r
			: !asks  ? phx_text_push(ret, word)
			: filled ? phx_text_push(ret, filled)
				 : -ENOMEM;
	}
	return r;
}

/* A task of several nodes has them alone, and its outputs are looked at on the first. */
static int fill_nodes(const char *nodes, const struct given *g, struct phx_task *t)
{
	if (!g->wide)
		return 0;
	t->cores = 0;
	t->rank = g->rank;
	t->nodes = nodes ? strdup(nodes) : NULL;
	return t->nodes ? 0 : -ENOMEM;
}

static int fill(const struct phx_flow *f, const struct given *g, struct phx_task *t)
{
	const struct phx_flow_task *of = &f->tasks[g->is.task];
	t->run = g->is.run;
	t->submitted_ms = g->submitted_ms;
	t->task = g->is.task;
	t->attempt = g->is.attempt;
	t->cores = of->cores;
	t->memory_bytes = of->memory_bytes;
	t->limit_ms = of->time_ms;
	t->sums = g->looks;
	int r = put_texts(f, g, PHX_FLOW_ARGV, phx_flow_text, &t->argv);
	r = r ? r : put_texts(f, g, PHX_FLOW_ENVIRONMENT, phx_flow_text, &t->env);
	for (uint32_t i = 0; r == 0 && i < g->vars.n; i++)
		r = phx_text_push(&t->env, phx_text_at(&g->vars, i));
	r = r ? r : put_texts(f, g, PHX_FLOW_INPUTS, phx_flow_file_name, &t->inputs);
	if (g->wide && g->rank)
		return r;
	r = r ? r : put_texts(f, g, PHX_FLOW_OUTPUTS, phx_flow_file_name, &t->outputs);
	if (r == 0 && t->outputs.n)
		PHX_STR_SET(t->had_sha256, g->had_sha256);
	return r;
}

/* How many bytes the task takes in the text of an order: an estimate that is never too low. */
static size_t size_of(const struct phx_task *t)
{
	const struct phx_list *lists[] = {&t->argv, &t->env, &t->inputs, &t->outputs};
	size_t n = 400 + (t->nodes ? strlen(t->nodes) : 0);
	for (size_t k = 0; k < PHX_ARRAY_SIZE(lists); k++)
		for (uint32_t i = 0; i < lists[k]->n; i++)
			n += 6 * strlen(phx_text_at(lists[k], i)) + 16;
	return n;
}

/* An order that is being made. */
struct making {
	struct daemon *d;
	struct phx_task_order o;
	const char *nodes; /* of the tasks; borrowed, may be NULL */
	size_t n_bytes;
};

static int add_cancel(struct making *m, const struct given *g)
{
	struct phx_task_cancel *c = phx_list_push(&m->o.cancels, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct phx_task_cancel){.run = g->is.run,
				      .submitted_ms = g->submitted_ms,
				      .task = g->is.task,
				      .attempt = g->is.attempt};
	m->n_bytes += 100;
	return 0;
}

/* 1: the order is full, so the task goes into the next one; -ENOENT: its workflow cannot be
 * read. */
static int add_task(struct making *m, const struct given *g)
{
	struct phx_err err = {0};
	const struct phx_flow *f = flows_lock(m->d->flows, g->digest, &err);
	struct phx_task t = {0};
	if (!f)
		return -ENOENT;
	int r = g->is.task < f->n_tasks ? fill(f, g, &t) : -ENOENT;
	r = r ? r : fill_nodes(m->nodes, g, &t);
	flows_unlock(m->d->flows);
	size_t n = size_of(&t);
	if (r == 0 && m->o.tasks.n && m->n_bytes + n > PHX_TASKS_BYTES)
		r = 1;
	struct phx_task *to = r == 0 ? phx_list_push(&m->o.tasks, sizeof(*to)) : NULL;
	if (!to) {
		phx_record_fini(&phx_task_record, &t);
		return r ? r : -ENOMEM;
	}
	*to = t;
	m->n_bytes += n;
	return 0;
}

static bool fits_in(const struct making *m, const struct given *g)
{
	bool full = m->o.tasks.n >= PHX_TASKS_MAX || m->o.cancels.n >= PHX_TASKS_MAX ||
		m->n_bytes + 100 > PHX_TASKS_BYTES;
	return !full && (!m->o.user[0] || (m->o.uid == g->uid && !strcmp(m->o.re, g->re)));
}

static int add_to(struct making *m, const struct given *g)
{
	if (!fits_in(m, g))
		return 1;
	PHX_STR_SET(m->o.re, g->re);
	PHX_STR_SET(m->o.user, g->user);
	m->o.uid = g->uid;
	m->o.gid = g->gid;
	return g->is.ends ? add_cancel(m, g) : add_task(m, g);
}

static void put(const struct making *m, uint64_t id, struct phx_buf *b)
{
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_task_order_record, &m->o);
	if (!m->o.tasks.n && !m->o.cancels.n)
		return;
	b->failed = b->failed || !text;
	phx_json_put_item(b);
	phx_buf_addf(b, "{\"kind\":\"%s\",\"id\":%llu,\"tasks\":%s}",
		     phx_order_name(PHX_ORDER_tasks), (unsigned long long)id, text ? text : "");
}

static void note_order(struct task_node *n, struct given *g, uint64_t order)
{
	g->is.order = order;
	PHX_LIST_EACH(struct sent, s, &n->sent)
		if (is_same(s, &g->is))
			s->order = order;
}

/* Appends the order `id` with the tasks whose order is `was`: `id` itself, to send the order again,
 * or UINT64_MAX, to put as many new tasks as fit into a new order. False: there are no such tasks.
 */
static bool put_order(struct daemon *d, struct task_node *n, struct view *v, uint64_t id,
		      uint64_t was, struct phx_buf *b)
{
	struct making m = {.d = d, .o = v->common, .nodes = v->nodes};
	bool any = false;
	PHX_LIST_EACH(struct given, g, &v->given) {
		if (g->is.order != was)
			continue;
		int r = add_to(&m, g);
		if (r < 0)
			continue; /* its workflow cannot be read: the next beat tries again */
		if (r == 0)
			note_order(n, g, id);
		any = any || r == 0;
		b->failed = b->failed || r == -ENOMEM;
	}
	put(&m, id, b);
	phx_record_fini(&phx_task_order_record, &m.o);
	return any;
}

static void put_orders(struct daemon *d, struct task_node *n, struct view *v, struct phx_buf *b)
{
	uint64_t first = UINT64_MAX;
	PHX_LIST_EACH(struct given, g, &v->given)
		if (g->is.order && g->is.order < first)
			first = g->is.order;
	unsigned n_under_way = 0;
	for (uint64_t id = first; id <= n->last_order && n_under_way < ORDERS_MAX; id++)
		n_under_way += put_order(d, n, v, id, id, b);
	while (n_under_way < ORDERS_MAX && put_order(d, n, v, n->last_order + 1, UINT64_MAX, b)) {
		n->last_order++;
		n_under_way++;
	}
}

void tasks_orders_put(struct tasks *t, const char *node, const struct phx_list *running,
		      struct phx_buf *b)
{
	struct view v = {0};
	if (!knows_tasks(running))
		return;
	if (look(t->d, node, &v) < 0)
		b->failed = true;
	pthread_mutex_lock(&t->lock);
	struct task_node *n = v.given.n || t->nodes.n ? node_of(t, node) : NULL;
	if (n && update(n, running, &v.given) == 0)
		put_orders(t->d, n, &v, b);
	else
		b->failed = b->failed || v.given.n;
	pthread_mutex_unlock(&t->lock);
	view_fini(&v);
}
