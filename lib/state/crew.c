/* The crew: see crew.h. What its nodes have free is kept in a tree for each RE, over the numbers of
 * nodes: each place has the most that any node below it has free, so that a node with room is found
 * without looking at the others. Pure. */
#include "state/crew.h"

#include <errno.h>
#include <string.h>

enum { GIVEN_MAX = PHX_TASKS_MAX, LEAST = 64 };

/* What is free on a node or, higher in the tree, the most of each that any node below has free: [0]
 * now, [1] ahead. */
struct phx_room {
	uint32_t cores[2];
	uint64_t memory[2];
	bool whole[2]; /* all cores of a node are free */
};

struct phx_crew {
	struct phx_crew_node *nodes; /* by number of the node */
	uint32_t cap;
	struct phx_list res;  /* struct phx_crew_re; none is removed while the crew exists */
	struct phx_list look; /* uint32_t, numbers of nodes */
	bool untrue;
};

static struct phx_crew_re *re_at(const struct phx_crew *c, uint32_t i)
{
	return PHX_LIST_AT(&c->res, struct phx_crew_re, i);
}

struct phx_crew_re *phx_crew_re(const struct phx_state *s, const char *re)
{
	for (uint32_t i = 0; s->crew && i < s->crew->res.n; i++)
		if (!strcmp(re_at(s->crew, i)->name, re))
			return re_at(s->crew, i);
	return NULL;
}

struct phx_crew_re *phx_crew_next(const struct phx_state *s, const struct phx_crew_re *re)
{
	uint32_t i = re ? (uint32_t)(re - re_at(s->crew, 0)) + 1 : 0;
	return s->crew && i < s->crew->res.n ? re_at(s->crew, i) : NULL;
}

struct phx_crew_node *phx_crew_node(const struct phx_state *s, const struct phx_node *n)
{
	return s->crew && n->number < s->crew->cap ? &s->crew->nodes[n->number] : NULL;
}

bool phx_crew_is_whole(const struct phx_state *s)
{
	return !s->crew || !s->crew->untrue;
}

/* ---- room ---- */

static struct phx_room room_of(const struct phx_crew_node *c)
{
	struct phx_room r = {{0}, {0}, {false}};
	bool takes = c->job && !c->wide && !c->leaves && c->given.n < GIVEN_MAX;
	for (int ahead = 0; takes && ahead < 2; ahead++) {
		uint64_t cores = ahead ? 2 * (uint64_t)c->cores : c->cores,
			 memory = ahead ? 2 * c->memory : c->memory;
		r.cores[ahead] = cores > c->used ? (uint32_t)(cores - c->used) : 0;
		r.memory[ahead] = !c->memory      ? UINT64_MAX
			: memory > c->used_memory ? memory - c->used_memory
						  : 0;
		r.whole[ahead] = r.cores[ahead] >= c->cores;
	}
	return r;
}

static void note_room(const struct phx_crew *crew, uint32_t number)
{
	const struct phx_crew_node *c = &crew->nodes[number];
	struct phx_crew_re *re = re_at(crew, c->re);
	uint32_t at = re->cap + number;
	re->room[at] = room_of(c);
	for (at /= 2; at; at /= 2)
		for (int k = 0; k < 2; k++) {
			const struct phx_room *a = &re->room[2 * at], *b = a + 1;
			re->room[at].cores[k] =
				a->cores[k] > b->cores[k] ? a->cores[k] : b->cores[k];
			re->room[at].memory[k] =
				a->memory[k] > b->memory[k] ? a->memory[k] : b->memory[k];
			re->room[at].whole[k] = a->whole[k] || b->whole[k];
		}
}

static bool has_room(const struct phx_room *r, const struct phx_flow_task *t, bool ahead)
{
	bool cores = t->cores ? r->cores[ahead] >= t->cores : r->whole[ahead];
	return cores && r->memory[ahead] && r->memory[ahead] >= t->memory_bytes;
}

bool phx_crew_fits(const struct phx_crew_node *c, const struct phx_flow_task *t, bool ahead)
{
	struct phx_room r = room_of(c);
	return has_room(&r, t, ahead);
}

/* The number of the first node with room, from number `from` on, among the `n` leaves below place
 * `at`, which begin at number `first`; 0: none. */
static uint32_t find(const struct phx_crew_re *re, const struct phx_flow_task *t, bool ahead,
		     uint32_t from, uint32_t at, uint32_t first, uint32_t n)
{
	if (first + n <= from || !has_room(&re->room[at], t, ahead))
		return 0;
	if (n == 1)
		return first;
	uint32_t left = find(re, t, ahead, from, 2 * at, first, n / 2);
	return left ? left : find(re, t, ahead, from, 2 * at + 1, first + n / 2, n / 2);
}

uint32_t phx_crew_find(const struct phx_crew_re *re, const struct phx_flow_task *t, bool ahead,
		       uint32_t after)
{
	return re->room ? find(re, t, ahead, after + 1, 1, 0, re->cap) : 0;
}

/* ---- growing ---- */

/* The crew's part for this RE, added if it is missing; NULL: out of memory. */
static struct phx_crew_re *need_re(struct phx_state *s, const char *name)
{
	struct phx_crew *crew = s->crew;
	struct phx_crew_re *re = phx_crew_re(s, name);
	if (!re && (re = phx_list_push(&crew->res, sizeof(*re))))
		PHX_STR_SET(re->name, name);
	if (!re)
		crew->untrue = true;
	return re;
}

static void grow_room(struct phx_crew *crew, struct phx_crew_re *re)
{
	if (re->cap == crew->cap)
		return;
	struct phx_room *room = calloc(2 * (size_t)crew->cap, sizeof(*room));
	if (!room) {
		crew->untrue = true;
		return;
	}
	free(re->room);
	re->room = room;
	re->cap = crew->cap;
	for (uint32_t i = 1; i < crew->cap; i++)
		if (crew->nodes[i].job && re_at(crew, crew->nodes[i].re) == re)
			note_room(crew, i);
}

static bool grow_nodes(struct phx_crew *crew, uint32_t number)
{
	uint32_t cap = crew->cap ? crew->cap : LEAST;
	while (cap <= number)
		cap *= 2;
	if (cap == crew->cap)
		return true;
	struct phx_crew_node *nodes = realloc(crew->nodes, cap * sizeof(*nodes));
	if (!nodes) {
		crew->untrue = true;
		return false;
	}
	memset(nodes + crew->cap, 0, (cap - crew->cap) * sizeof(*nodes));
	crew->nodes = nodes;
	crew->cap = cap;
	return true;
}

/* ---- workers and tasks ---- */

static uint64_t ahead_of(const struct phx_crew_node *c)
{
	return c->used > c->cores ? c->used - c->cores : 0;
}

/* Adds (`by` 1) a node with a worker to what is counted of its RE, or subtracts it (-1). */
static void count_node(struct phx_crew_re *re, const struct phx_crew_node *c, int by)
{
	if (c->leaves)
		re->n_leaving += (uint32_t)by;
	if (c->wide || c->leaves)
		return;
	re->n_nodes += (uint32_t)by;
	re->cores += (uint64_t)by * c->cores;
	re->memory += (uint64_t)by * c->memory;
}

void phx_crew_join(struct phx_state *s, const struct phx_node *n, const struct phx_job *worker)
{
	struct phx_crew *crew = s->crew;
	struct phx_crew_re *re = need_re(s, worker->re);
	if (!re || !grow_nodes(crew, n->number))
		return;
	grow_room(crew, re);
	struct phx_crew_node *c = &crew->nodes[n->number];
	if (re->cap != crew->cap)
		return;
	c->job = worker->id;
	c->re = (uint32_t)(re - re_at(crew, 0));
	c->cores = worker->cores;
	c->memory = worker->memory_bytes;
	c->wide = phx_job_is_wide(worker);
	c->leaves = worker->leaves;
	count_node(re, c, 1);
	note_room(crew, n->number);
	phx_crew_look(s, n);
}

void phx_crew_leave(struct phx_state *s, const struct phx_node *n)
{
	struct phx_crew_node *c = phx_crew_node(s, n);
	if (!c || !c->job)
		return;
	struct phx_crew_re *re = re_at(s->crew, c->re);
	count_node(re, c, -1);
	re->n_given -= c->given.n;
	re->ahead -= ahead_of(c);
	c->job = c->used_memory = 0;
	c->used = 0;
	c->wide = c->leaves = false;
	c->given.n = 0;
	note_room(s->crew, n->number);
}

void phx_crew_let_go(struct phx_state *s, const struct phx_node *n)
{
	struct phx_crew_node *c = phx_crew_node(s, n);
	if (!c || !c->job || c->wide || c->leaves)
		return;
	struct phx_crew_re *re = re_at(s->crew, c->re);
	count_node(re, c, -1);
	c->leaves = true;
	count_node(re, c, 1);
	note_room(s->crew, n->number);
}

struct busy {
	uint32_t used, number;
};

static int by_use(const void *x, const void *y)
{
	const struct busy *a = x, *b = y;
	if (a->used != b->used)
		return a->used < b->used ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

int phx_crew_least(const struct phx_state *s, const struct phx_crew_re *re, struct phx_list *ret)
{
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	for (uint32_t i = 1; i < s->crew->cap; i++) {
		const struct phx_crew_node *c = &s->crew->nodes[i];
		if (!c->job || c->wide || c->leaves || re_at(s->crew, c->re) != re)
			continue;
		struct busy *to = phx_list_push(&all, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = (struct busy){c->used, i};
	}
	if (all.n)
		qsort(all.items, all.n, sizeof(struct busy), by_use);
	PHX_LIST_EACH(struct busy, b, &all) {
		uint32_t *to = phx_list_push(ret, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = b->number;
	}
	return 0;
}

static uint32_t cores_of(const struct phx_crew_node *c, const struct phx_flow_task *t)
{
	return t->cores && !phx_flow_is_wide(t) ? t->cores : c->cores;
}

void phx_crew_give(struct phx_state *s, const struct phx_node *n, struct phx_given g,
		   const struct phx_flow_task *t)
{
	struct phx_crew_node *c = phx_crew_node(s, n);
	struct phx_crew_re *re = re_at(s->crew, c->re);
	struct phx_given *to = phx_list_push(&c->given, sizeof(*to));
	if (!to) {
		s->crew->untrue = true;
		return;
	}
	*to = g;
	re->ahead -= ahead_of(c);
	c->used += cores_of(c, t);
	c->used_memory += t->memory_bytes;
	re->ahead += ahead_of(c);
	re->n_given++;
	note_room(s->crew, n->number);
}

bool phx_crew_take(struct phx_state *s, const struct phx_node *n, struct phx_given g,
		   const struct phx_flow_task *t)
{
	struct phx_crew_node *c = phx_crew_node(s, n);
	for (uint32_t i = 0; c && i < c->given.n; i++) {
		const struct phx_given *it = PHX_LIST_AT(&c->given, struct phx_given, i);
		if (it->run != g.run || it->task != g.task)
			continue;
		struct phx_crew_re *re = re_at(s->crew, c->re);
		phx_list_remove(&c->given, sizeof(*it), i);
		re->ahead -= ahead_of(c);
		c->used -= cores_of(c, t);
		c->used_memory -= t->memory_bytes;
		re->ahead += ahead_of(c);
		re->n_given--;
		note_room(s->crew, n->number);
		phx_crew_look(s, n);
		return true;
	}
	return false;
}

/* ---- runs ---- */

void phx_crew_open(struct phx_state *s, const struct phx_flowrun *w)
{
	struct phx_crew_re *re = need_re(s, w->re);
	uint64_t *to = re ? phx_list_push(&re->runs, sizeof(*to)) : NULL;
	if (!to) {
		s->crew->untrue = true;
		return;
	}
	uint32_t i = re->runs.n - 1;
	for (; i && *PHX_LIST_AT(&re->runs, uint64_t, i - 1) > w->id; i--)
		*PHX_LIST_AT(&re->runs, uint64_t, i) = *PHX_LIST_AT(&re->runs, uint64_t, i - 1);
	*PHX_LIST_AT(&re->runs, uint64_t, i) = w->id;
}

void phx_crew_wide(struct phx_state *s, const struct phx_job *worker)
{
	struct phx_crew_re *re = need_re(s, worker->re);
	uint64_t *to = re ? phx_list_push(&re->wide, sizeof(*to)) : NULL;
	if (to)
		*to = worker->id;
	else
		s->crew->untrue = true;
}

void phx_crew_sweep_wide(struct phx_state *s, struct phx_crew_re *re)
{
	uint32_t kept = 0;
	PHX_LIST_EACH(uint64_t, id, &re->wide) {
		const struct phx_job *j = phx_state_job(s, *id);
		if (j && phx_job_is_open(j))
			*PHX_LIST_AT(&re->wide, uint64_t, kept++) = *id;
	}
	re->wide.n = kept;
}

void phx_crew_close(struct phx_state *s, const struct phx_flowrun *w)
{
	struct phx_crew_re *re = phx_crew_re(s, w->re);
	for (uint32_t i = 0; re && i < re->runs.n; i++)
		if (*PHX_LIST_AT(&re->runs, uint64_t, i) == w->id) {
			phx_list_remove(&re->runs, sizeof(uint64_t), i);
			return;
		}
}

/* ---- workers to be looked at ---- */

void phx_crew_look(struct phx_state *s, const struct phx_node *n)
{
	struct phx_crew_node *c = phx_crew_node(s, n);
	if (!c || !c->job || c->look)
		return;
	uint32_t *to = phx_list_push(&s->crew->look, sizeof(*to));
	if (!to) {
		s->crew->untrue = true;
		return;
	}
	*to = n->number;
	c->look = true;
}

struct phx_node *phx_crew_looked(struct phx_state *s)
{
	struct phx_crew *crew = s->crew;
	while (crew->look.n) {
		uint32_t number = *PHX_LIST_AT(&crew->look, uint32_t, crew->look.n - 1);
		crew->look.n--;
		crew->nodes[number].look = false;
		struct phx_node *n = phx_state_node_numbered(s, number);
		if (n && crew->nodes[number].job)
			return n;
	}
	return NULL;
}

/* ---- building ---- */

void phx_crew_drop(struct phx_state *s)
{
	struct phx_crew *crew = s->crew;
	if (!crew)
		return;
	for (uint32_t i = 0; i < crew->cap; i++)
		phx_list_fini(&crew->nodes[i].given);
	PHX_LIST_EACH(struct phx_crew_re, re, &crew->res) {
		phx_list_fini(&re->runs);
		phx_list_fini(&re->wide);
		free(re->room);
	}
	phx_list_fini(&crew->res);
	phx_list_fini(&crew->look);
	free(crew->nodes);
	free(crew);
	s->crew = NULL;
}

static void join_worker(struct phx_state *s, const struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = p->ended ? NULL : phx_state_node(s, p->node);
		if (n)
			phx_crew_join(s, n, j);
	}
}

static void give_running(struct phx_state *s, const struct phx_flowrun *w)
{
	for (uint32_t i = 0; w->live && w->n_running && i < w->n_tasks; i++) {
		bool runs = w->live->run.tasks[i].state == PHX_FLOW_TASK_RUNNING &&
			!phx_flow_is_wide(&w->live->flow.tasks[i]);
		const struct phx_node *n =
			runs ? phx_state_node_numbered(s, w->live->at[i].node) : NULL;
		const struct phx_crew_node *c = n ? phx_crew_node(s, n) : NULL;
		if (c && c->job)
			phx_crew_give(s, n, (struct phx_given){w->id, i}, &w->live->flow.tasks[i]);
	}
}

/* The nodes of a worker of several have its task until they have answered. */
static void give_wide(struct phx_state *s, const struct phx_job *j)
{
	const struct phx_flowrun *w = j->run ? phx_state_flowrun(s, j->run) : NULL;
	if (!w || !w->live || j->task >= w->n_tasks || s->crew->untrue)
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n =
			p->ended || p->answered ? NULL : phx_state_node(s, p->node);
		if (n)
			phx_crew_give(s, n, (struct phx_given){w->id, j->task},
				      &w->live->flow.tasks[j->task]);
	}
}

static void take_workers(struct phx_state *s)
{
	PHX_LIST_EACH(struct phx_job, j, &s->jobs) {
		if (!j->worker)
			continue;
		if (j->state == PHX_JOB_RUNNING)
			join_worker(s, j);
		if (phx_job_is_open(j) && phx_job_is_wide(j))
			phx_crew_wide(s, j);
	}
}

int phx_crew_ready(struct phx_state *s)
{
	if (s->crew && !s->crew->untrue)
		return 0;
	phx_crew_drop(s);
	s->crew = calloc(1, sizeof(*s->crew));
	if (!s->crew)
		return -ENOMEM;
	take_workers(s);
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows) {
		if (phx_flowrun_is_open(w))
			phx_crew_open(s, w);
		give_running(s, w);
	}
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if (j->worker && j->state == PHX_JOB_RUNNING)
			give_wide(s, j);
	return s->crew->untrue ? -ENOMEM : 0;
}

/* ---- checking ---- */

/* The nodes that the worker's task is on; 0: none. */
static uint32_t n_wide_on(const struct phx_job *j)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		n += j->run && !p->ended && !p->answered;
	return n;
}

/* Counts the run's tasks of one node that are on nodes into *n_given, and checks that a worker of
 * the RE keeps each of these nodes. *n_wide: those of several nodes. */
static int check_run(const struct phx_state *s, const struct phx_flowrun *w, uint64_t *n_given,
		     uint64_t *n_wide, struct phx_err *err)
{
	for (uint32_t i = 0; w->live && i < w->n_tasks; i++) {
		if (w->live->run.tasks[i].state != PHX_FLOW_TASK_RUNNING)
			continue;
		if (phx_flow_is_wide(&w->live->flow.tasks[i])) {
			++*n_wide;
			continue;
		}
		const struct phx_node *n = phx_state_node_numbered(s, w->live->at[i].node);
		const struct phx_crew_node *c = n ? phx_crew_node(s, n) : NULL;
		if (!c || !c->job || strcmp(re_at(s->crew, c->re)->name, w->re))
			return phx_err_set(err, -EPROTO,
					   "task %u of workflow run %llu is on a node that no "
					   "worker of RE %s keeps",
					   i, (unsigned long long)w->id, w->re);
		++*n_given;
	}
	return 0;
}

/* Each running task of several nodes is that of one worker. */
static int check_wide(const struct phx_state *s, uint64_t n_wide, uint64_t *n_given,
		      struct phx_err *err)
{
	uint64_t n_workers = 0;
	PHX_LIST_EACH(struct phx_job, j, &s->jobs) {
		if (!j->worker || j->state != PHX_JOB_RUNNING || !j->run)
			continue;
		n_workers++;
		*n_given += n_wide_on(j);
		if (!n_wide_on(j))
			return phx_err_set(err, -EPROTO,
					   "worker %llu has a task that none of its nodes has",
					   (unsigned long long)j->id);
	}
	if (n_workers != n_wide)
		return phx_err_set(err, -EPROTO,
				   "%llu tasks of several nodes run, and workers have %llu",
				   (unsigned long long)n_wide, (unsigned long long)n_workers);
	return 0;
}

int phx_crew_check(const struct phx_state *s, struct phx_err *err)
{
	uint64_t n_running = 0, n_given = 0, n_wide = 0;
	int r = 0;
	if (!phx_crew_is_whole(s) || !s->crew)
		return 0;
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows) {
		r = r ? r : check_run(s, w, &n_running, &n_wide, err);
		if (r == 0 && w->live && w->n_running != w->live->run.n[PHX_FLOW_TASK_RUNNING])
			r = phx_err_set(err, -EPROTO, "workflow run %llu does not count its tasks",
					(unsigned long long)w->id);
	}
	r = r ? r : check_wide(s, n_wide, &n_running, err);
	for (uint32_t i = 0; r == 0 && i < s->crew->cap; i++) {
		const struct phx_crew_node *c = &s->crew->nodes[i];
		n_given += c->given.n;
		if (c->used > 2 * (uint64_t)c->cores)
			r = phx_err_set(err, -EPROTO,
					"node %u has %u cores and tasks for %u, more than twice", i,
					c->cores, c->used);
	}
	if (r == 0 && n_given != n_running)
		r = phx_err_set(err, -EPROTO, "%llu tasks run, and nodes were given %llu",
				(unsigned long long)n_running, (unsigned long long)n_given);
	return r;
}
