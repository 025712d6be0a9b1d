/* The index of a state: see index.h. Bitmaps over the list of nodes, hash tables of their names and
 * of what identifies machines, a tree of the nodes' times, a heap of the jobs' times, trees of
 * those of triggers and doomed keys, a list of the jobs of each RE, and a manager of lib/batch for
 * the queued jobs of no RE. Used by the pure rooms above. Pure. */
#include "state/index.h"

#include <errno.h>
#include <string.h>

#include "state/gone.h"
#include "state/index_parts.h"
#include "state/job_lists.h"
#include "state/named.h"
#include "state/node_sets.h"

enum { LEAST = 64 };
enum { CHANGES_BITS = 24 }; /* one event makes fewer than 2^24: all groups of 65,536 nodes */

static void put(uint64_t *set, uint32_t i, bool in)
{
	uint64_t bit = 1ull << (i % PHX_INDEX_WORD);
	set[i / PHX_INDEX_WORD] =
		in ? set[i / PHX_INDEX_WORD] | bit : set[i / PHX_INDEX_WORD] & ~bit;
}

/* The first place at or after `at` and below `n` whose bit is set; n when there is none. */
static uint32_t next_in(const uint64_t *words, uint32_t n, uint32_t at)
{
	if (at >= n)
		return n;
	uint64_t word = words[at / PHX_INDEX_WORD] & ~0ull << (at % PHX_INDEX_WORD);
	for (uint32_t k = at / PHX_INDEX_WORD;; word = words[k]) {
		if (word)
			return k * PHX_INDEX_WORD + (uint32_t)__builtin_ctzll(word);
		if (++k >= (n + PHX_INDEX_WORD - 1) / PHX_INDEX_WORD)
			return n;
	}
}

/* The place of the first node of the set at or after `at`; x->n when there is none. */
static uint32_t next_of(const struct phx_index *x, enum phx_node_set set, uint32_t at)
{
	return next_in(x->sets[set], x->n, at);
}

/* ---- names ---- */

static struct phx_node *walk_to(const struct phx_state *s, const char *name)
{
	PHX_NODES_EACH(n, s)
		if (!strcmp(n->name, name))
			return n;
	return NULL;
}

struct phx_node *phx_state_node(const struct phx_state *s, const char *name)
{
	const struct phx_index *x = s->index;
	if (!x || x->n != s->nodes.n)
		return walk_to(s, name);
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(&x->names, hash, &at, &i);)
		if (!strcmp(phx_index_node(s, i)->name, name))
			return phx_index_node(s, i);
	return NULL;
}

/* ---- what follows from a node ---- */

/* by enum phx_node_set; TOUCHED and LOOK have no predicate */
static bool (*const predicates[])(const struct phx_state *, const struct phx_node *) = {
#define NODE_SET(name, predicate) [PHX_SET_##name] = predicate,
#include "state/node_sets.def"
#undef NODE_SET
};

static int64_t memory_of(const struct phx_node *n)
{
	uint64_t has = n->facts.memory_bytes;
	return has < INT64_MAX ? -(int64_t)has : -INT64_MAX;
}

static void derive(struct phx_state *s, uint32_t i)
{
	struct phx_index *x = s->index;
	const struct phx_node *n = phx_index_node(s, i);
	for (int k = PHX_SET_FREE; k < PHX_SET_COUNT_; k++)
		put(x->sets[k], i, !phx_node_is_gone(n) && predicates[k](s, n));
	x->groups[i] = phx_node_is_idle(s, n) ? phx_hash_text(n->allocated_to) : 0;
	phx_earliest_set(&x->due, i, phx_node_due(n));
	phx_earliest_set(&x->cores, i, -(int64_t)phx_facts_cores(&n->facts));
	phx_earliest_set(&x->memory, i, memory_of(n));
	if (phx_members_put(x->members, i, n) < 0 || phx_known_put(x->known, i, n) < 0)
		x->untrue = true;
}

static void refresh(struct phx_state *s)
{
	struct phx_index *x = s->index;
	if (!x->touched)
		return;
	x->touched = false;
	for (uint32_t i = 0; (i = next_of(x, PHX_SET_TOUCHED, i)) < x->n; i++) {
		put(x->sets[PHX_SET_TOUCHED], i, false);
		derive(s, i);
	}
}

void phx_touch(struct phx_state *s, const struct phx_node *n)
{
	struct phx_index *x = s->index;
	uint32_t i = phx_index_place(s, n);
	if (!x || i >= x->n)
		return;
	x->touched = true;
	put(x->sets[PHX_SET_TOUCHED], i, true);
	put(x->sets[PHX_SET_LOOK], i, true);
}

void phx_touch_all(struct phx_state *s)
{
	PHX_NODES_EACH(n, s)
		phx_touch(s, n);
}

struct phx_node *phx_index_next(struct phx_state *s, enum phx_node_set set, uint32_t at)
{
	refresh(s);
	uint32_t i = next_of(s->index, set, at);
	return i < s->index->n ? phx_index_node(s, i) : NULL;
}

/* The place of the first touched node at or after `at` that is not gone; x->n when there is none.
 */
static uint32_t next_touched(const struct phx_state *s, uint32_t at)
{
	const struct phx_index *x = s->index;
	uint32_t i = x->touched ? next_of(x, PHX_SET_TOUCHED, at) : x->n;
	while (i < x->n && phx_node_is_gone(phx_index_node(s, i)))
		i = next_of(x, PHX_SET_TOUCHED, i + 1);
	return i;
}

struct phx_node *phx_index_candidate(const struct phx_state *s, enum phx_node_set set, uint32_t at)
{
	const struct phx_index *x = s->index;
	if (!x || x->n != s->nodes.n)
		return phx_nodes_next(s, at);
	uint32_t i = next_of(x, set, at), touched = next_touched(s, at);
	i = touched < i ? touched : i;
	return i < x->n ? phx_index_node(s, i) : NULL;
}

struct phx_node *phx_index_next_idle(struct phx_state *s, const char *re, uint32_t at)
{
	uint32_t group = phx_hash_text(re), i = at;
	refresh(s);
	for (; (i = next_of(s->index, PHX_SET_IDLE, i)) < s->index->n; i++)
		if (s->index->groups[i] == group && !strcmp(phx_index_node(s, i)->allocated_to, re))
			return phx_index_node(s, i);
	return NULL;
}

uint32_t phx_index_count(struct phx_state *s, enum phx_node_set set)
{
	uint32_t count = 0;
	refresh(s);
	for (uint32_t k = 0; k < s->index->cap / PHX_INDEX_WORD; k++)
		for (uint64_t word = s->index->sets[set][k]; word; word &= word - 1)
			count++;
	return count;
}

void phx_index_looked(struct phx_state *s, const struct phx_node *n)
{
	put(s->index->sets[PHX_SET_LOOK], phx_index_place(s, n), false);
}

struct phx_node *phx_index_next_due(struct phx_state *s, uint32_t at)
{
	refresh(s);
	uint32_t i = phx_earliest_next(&s->index->due, at, s->now_ms);
	return i < s->index->n ? phx_index_node(s, i) : NULL;
}

int64_t phx_index_nodes_due(const struct phx_state *s)
{
	const struct phx_index *x = s->index;
	int64_t next = INT64_MAX;
	if (x && x->n == s->nodes.n)
		return phx_earliest_first(&x->due);
	PHX_NODES_EACH(n, s)
		next = phx_node_due(n) < next ? phx_node_due(n) : next;
	return next;
}

/* ---- groups of nodes ---- */

/* The groups of nodes; NULL: not up to date, and the nodes themselves must be looked at. */
static const struct phx_members *members_of(const struct phx_state *s)
{
	const struct phx_index *x = s->index;
	return x && x->n == s->nodes.n && !x->touched && !x->untrue ? x->members : NULL;
}

uint64_t phx_members_changed(const struct phx_state *s, enum phx_members_kind kind, const char *key)
{
	const struct phx_members *m = members_of(s);
	const struct phx_members_group *g = m ? phx_members_find(m, kind, key) : NULL;
	return !m ? 0 : g ? g->changed : UINT64_MAX;
}

const struct phx_node *phx_members_next(const struct phx_state *s, enum phx_members_kind kind,
					const char *key, uint32_t *at)
{
	const struct phx_members *m = members_of(s);
	const struct phx_members_group *g = m ? phx_members_find(m, kind, key) : NULL;
	if (m && g)
		*at = next_in(g->words, s->nodes.n, *at);
	for (; !m && *at < s->nodes.n; ++*at) {
		const char *has_key = phx_members_key(kind, phx_index_node(s, *at));
		if (has_key && !strcmp(has_key, key))
			break;
	}
	return (!m || g) && *at < s->nodes.n ? phx_index_node(s, (*at)++) : NULL;
}

uint32_t phx_members_count(const struct phx_state *s, enum phx_members_kind kind, const char *key)
{
	const struct phx_members *m = members_of(s);
	const struct phx_members_group *g = m ? phx_members_find(m, kind, key) : NULL;
	uint32_t count = g ? g->n : 0, at = 0;
	while (!m && phx_members_next(s, kind, key, &at))
		count++;
	return count;
}

/* Of these groups an RE's nodes are: its pool's, and those that it counts on. */
static const enum phx_members_kind of_an_re[] = {PHX_MEMBERS_POOL, PHX_MEMBERS_HELD,
						 PHX_MEMBERS_COMING, PHX_MEMBERS_AWAY};

struct phx_node *phx_index_candidate_of_re(const struct phx_state *s, const char *re, uint32_t at)
{
	const struct phx_index *x = s->index;
	if (!x || x->n != s->nodes.n || x->untrue)
		return phx_nodes_next(s, at);
	uint32_t first = next_touched(s, at);
	for (size_t k = 0; k < PHX_ARRAY_SIZE(of_an_re); k++) {
		const struct phx_members_group *g = phx_members_find(x->members, of_an_re[k], re);
		uint32_t i = g ? next_in(g->words, x->n, at) : x->n;
		first = i < first ? i : first;
	}
	return first < x->n ? phx_index_node(s, first) : NULL;
}

void phx_touch_re(struct phx_state *s, const char *re)
{
	if (!s->index)
		return;
	PHX_INDEX_EACH_OF_RE(n, s, re)
		phx_touch(s, n);
}

/* ---- the largest nodes ---- */

struct phx_index_largest phx_index_largest(struct phx_state *s)
{
	refresh(s);
	int64_t cores = phx_earliest_first(&s->index->cores),
		memory = phx_earliest_first(&s->index->memory);
	return (struct phx_index_largest){cores < 0 ? (uint32_t)-cores : 0,
					  memory < 0 ? (uint64_t)-memory : 0};
}

/* ---- what machines are known by ---- */

struct phx_node *phx_known_next(const struct phx_state *s, enum phx_known_kind kind,
				const char *key, uint32_t at)
{
	const struct phx_index *x = s->index;
	bool there = x && x->n == s->nodes.n && !x->untrue;
	uint32_t end = s->nodes.n;
	if (!key[0])
		return NULL;
	if (there)
		end = phx_known_find(x->known, &s->nodes, kind, key, at, end);
	/* touched nodes are still kept under their former keys: look at each */
	for (uint32_t i = at;; i++) {
		i = !there ? i : x->touched ? next_of(x, PHX_SET_TOUCHED, i) : end;
		if (i >= end)
			break;
		if (phx_known_is(phx_index_node(s, i), kind, key))
			end = i;
	}
	return end < s->nodes.n ? phx_index_node(s, end) : NULL;
}

/* ---- jobs ---- */

void phx_index_job_due(struct phx_state *s, const struct phx_job *j)
{
	if (phx_dues_put(&s->index->dues, j) < 0)
		s->index->untrue = true;
}

int phx_index_due_jobs(struct phx_state *s, struct phx_list *ret)
{
	int r = phx_dues_come(&s->index->dues, s, s->now_ms, ret);
	s->index->untrue = s->index->untrue || r < 0;
	return r;
}

int64_t phx_index_jobs_due(const struct phx_state *s)
{
	const struct phx_index *x = s->index;
	int64_t next = INT64_MAX;
	if (x && !x->untrue)
		return phx_dues_next(&x->dues);
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		next = phx_job_due(j) < next ? phx_job_due(j) : next;
	return next;
}

void phx_index_runs(struct phx_state *s, const struct phx_node *n, uint64_t id)
{
	s->index->runs[phx_index_place(s, n)] = id;
}

static bool runs_on(const struct phx_job *j, const char *node)
{
	if (j->state != PHX_JOB_RUNNING)
		return false;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!p->ended && !strcmp(p->node, node))
			return true;
	return false;
}

struct phx_job *phx_index_job_on(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_index *x = s->index;
	if (!n->jobs_running)
		return NULL;
	if (x && x->n == s->nodes.n)
		return phx_state_job(s, x->runs[phx_index_place(s, n)]);
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if (runs_on(j, n->name))
			return j;
	return NULL;
}

const struct phx_index_jobs *phx_index_jobs(const struct phx_state *s)
{
	return &s->index->jobs;
}

uint64_t *phx_index_visits(struct phx_state *s)
{
	return &s->index->visits;
}

struct phx_batch *phx_index_outside(struct phx_state *s)
{
	return s->index->outside;
}

uint64_t phx_index_first_outside(const struct phx_state *s)
{
	if (s->index && !s->index->untrue)
		return phx_batch_first(s->index->outside);
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if (j->state == PHX_JOB_QUEUED && !j->re[0] && !j->held && !j->throttled)
			return j->id;
	return 0;
}

static int queue_outside(struct phx_batch *outside, const struct phx_job *j, bool in)
{
	const struct phx_batch_job b = {
		.id = j->id,
		.submit_ms = j->submitted_ms,
		.estimate_ms = j->estimate_ms ? j->estimate_ms : -1,
		.size = j->nodes,
		.state = j->held || j->throttled ? PHX_BATCH_HELD : PHX_BATCH_WAITING,
	};
	if (in)
		return phx_batch_submit(outside, &b);
	/* -EBUSY: a pass has started it just now */
	return phx_batch_cancel(outside, j->id) == -EBUSY ? phx_batch_ended(outside, j->id) : 0;
}

void phx_index_job(struct phx_state *s, const struct phx_job *j, bool in)
{
	struct phx_index *x = s->index;
	uint32_t by = !phx_job_is_open(j) ? 0 : in ? 1 : -1u;
	x->jobs.n_open += by;
	x->jobs.n_external += j->engine_id[0] || j->worker ? by : 0;
	bool queued = j->state == PHX_JOB_QUEUED && !j->re[0];
	if (phx_tally_job(&x->tallies, j, in) < 0 ||
	    (in && phx_re_jobs_put(&x->of_res, s, j) < 0) ||
	    (queued && queue_outside(x->outside, j, in) < 0))
		x->untrue = true;
}

struct phx_job *phx_index_job_of(const struct phx_state *s, const char *re, uint64_t after)
{
	const struct phx_index *x = s->index;
	if (x && !x->untrue)
		return phx_re_jobs_next(&x->of_res, s, re, after);
	for (uint32_t i = phx_state_job_place(s, after + 1); i < s->jobs.n; i++)
		if (!strcmp(PHX_LIST_AT(&s->jobs, struct phx_job, i)->re, re))
			return PHX_LIST_AT(&s->jobs, struct phx_job, i);
	return NULL;
}

struct phx_tally phx_index_tally_of(const struct phx_state *s, uint32_t uid)
{
	return phx_tally_of(&s->index->tallies, uid);
}

static void note_runs(struct phx_state *s, const struct phx_job *j)
{
	if (j->state != PHX_JOB_RUNNING)
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = p->ended ? NULL : phx_state_node(s, p->node);
		if (n)
			phx_index_runs(s, n, j->id);
	}
}

/* ---- building ---- */

static void free_index(struct phx_index *x)
{
	if (!x)
		return;
	for (int k = 0; k < PHX_SET_COUNT_; k++)
		free(x->sets[k]);
	phx_hash_fini(&x->names);
	free(x->groups);
	phx_earliest_fini(&x->due);
	phx_earliest_fini(&x->cores);
	phx_earliest_fini(&x->memory);
	phx_timed_fini(x->timed);
	phx_doomed_fini(&x->doomed);
	free(x->runs);
	phx_list_fini(&x->dues);
	phx_re_jobs_fini(&x->of_res);
	phx_list_fini(&x->tallies);
	phx_batch_free(x->outside);
	phx_members_free(x->members);
	phx_known_free(x->known);
	free(x);
}

void phx_index_drop(struct phx_state *s)
{
	free_index(s->index);
	s->index = NULL;
}

static struct phx_index *new_index(uint32_t n, uint64_t seq)
{
	struct phx_index *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	for (x->cap = LEAST; x->cap <= n; x->cap *= 2)
		;
	bool failed = phx_hash_reserve(&x->names, x->cap) < 0;
	for (int k = 0; k < PHX_SET_COUNT_; k++)
		failed =
			!(x->sets[k] = calloc(x->cap / PHX_INDEX_WORD, sizeof(uint64_t))) || failed;
	x->groups = calloc(x->cap, sizeof(*x->groups));
	x->runs = calloc(x->cap, sizeof(*x->runs));
	x->members = phx_members_new(x->cap, seq << CHANGES_BITS);
	x->known = phx_known_new(x->cap);
	failed = phx_earliest_init(&x->due, x->cap) < 0 || failed;
	failed = phx_earliest_init(&x->cores, x->cap) < 0 || failed;
	failed = phx_earliest_init(&x->memory, x->cap) < 0 || failed;
	failed = phx_batch_new(&(struct phx_batch_config){.scheduler = PHX_SCHEDULER_first_fit},
			       &x->outside) < 0 ||
		failed;
	if (!failed && x->groups && x->runs && x->members && x->known)
		return x;
	free_index(x);
	return NULL;
}

static void add_node(struct phx_state *s)
{
	uint32_t i = s->index->n++;
	const struct phx_node *n = phx_index_node(s, i);
	if (!phx_node_is_gone(n))
		phx_hash_put(&s->index->names, phx_hash_text(n->name), i); /* there is room */
	s->index->runs[i] = 0;
	phx_touch(s, n);
}

/* Adds all nodes that are not indexed yet, and the runs of jobs on them. */
static void fill(struct phx_state *s)
{
	while (s->index->n < s->nodes.n)
		add_node(s);
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		note_runs(s, j);
}

void phx_index_renew(struct phx_state *s)
{
	struct phx_index *x = s->index;
	for (int k = 0; k < PHX_SET_COUNT_; k++)
		memset(x->sets[k], 0, x->cap / PHX_INDEX_WORD * sizeof(uint64_t));
	phx_hash_clear(&x->names);
	phx_members_clear(x->members);
	phx_known_clear(x->known);
	phx_earliest_clear(&x->due);
	phx_earliest_clear(&x->cores);
	phx_earliest_clear(&x->memory);
	x->n = 0;
	fill(s);
}

void phx_index_forget(struct phx_state *s, const struct phx_node *n)
{
	phx_hash_drop(&s->index->names, phx_hash_text(n->name), phx_index_place(s, n));
	phx_touch(s, n);
}

void phx_index_rename(struct phx_state *s, const struct phx_node *n, const char *name)
{
	struct phx_hash *names = &s->index->names;
	uint32_t i = phx_index_place(s, n);
	phx_hash_drop(names, phx_hash_text(n->name), i);
	phx_hash_put(names, phx_hash_text(name), i); /* there is room: its old name was dropped */
	phx_touch(s, n);
}

int phx_index_ready(struct phx_state *s)
{
	bool kept = s->index && !s->index->untrue && s->nodes.n >= s->index->n &&
		s->nodes.n <= s->index->cap;
	if (kept) {
		while (s->index->n < s->nodes.n)
			add_node(s);
		return 0;
	}
	struct phx_index *x = new_index(s->nodes.n, s->seq);
	if (!x || phx_timed_init(x->timed, s) < 0 || phx_doomed_init(&x->doomed, s) < 0 ||
	    phx_named_ready(s) < 0) {
		free_index(x);
		return -ENOMEM;
	}
	phx_index_drop(s);
	s->index = x;
	fill(s);
	PHX_LIST_EACH(struct phx_job, j, &s->jobs) {
		phx_index_job(s, j, true);
		phx_index_job_due(s, j);
	}
	return 0;
}

bool phx_index_is_whole(const struct phx_state *s)
{
	return !s->index->untrue;
}

void phx_index_settle(struct phx_state *s)
{
	refresh(s);
	if (phx_named_settle(s->named, s) < 0 || phx_dues_settle(&s->index->dues, s) < 0)
		s->index->untrue = true;
}
