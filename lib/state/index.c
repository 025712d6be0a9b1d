/* The index of a state: see index.h. Bitmaps over the list of nodes, hash tables of their names and
 * of what identifies machines, a tree of the nodes' times, a heap of the jobs' times, a list of
 * the jobs of each RE, and a manager of lib/batch for the queued jobs of no RE. Used by the pure
 * rooms above. Pure. */
#include "state/index.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "state/earliest.h"
#include "state/gone.h"
#include "state/job_lists.h"
#include "state/known.h"
#include "state/members.h"
#include "state/named.h"
#include "state/node_sets.h"

enum { WORD = 64, LEAST = 64 };
enum { CHANGES_BITS = 24 }; /* one event makes fewer than 2^24: all groups of 65,536 nodes */

struct phx_index {
	uint32_t n, cap; /* nodes indexed, and room for nodes (a multiple of WORD) */
	uint64_t *sets[PHX_SET_COUNT_];
	struct phx_hash names;        /* places of nodes by name; room for `cap` */
	uint32_t *groups;             /* of IDLE nodes: hash of their RE's name */
	struct phx_earliest due;      /* of nodes */
	uint64_t *runs;               /* the job whose open part is on the node */
	struct phx_list dues, of_res; /* jobs: job_lists.h */
	bool touched;                 /* some node is touched */
	bool untrue;                  /* memory ran out: the index must be built anew */
	uint64_t visits;
	struct phx_index_jobs jobs;
	struct phx_batch *outside; /* queued jobs of no RE */
	struct phx_list tallies;   /* struct phx_tally, of users */
	struct phx_members *members;
	struct phx_known *known;
};

static struct phx_node *node_at(const struct phx_state *s, uint32_t i)
{
	return PHX_LIST_AT(&s->nodes, struct phx_node, i);
}

static void put(uint64_t *set, uint32_t i, bool in)
{
	uint64_t bit = 1ull << (i % WORD);
	set[i / WORD] = in ? set[i / WORD] | bit : set[i / WORD] & ~bit;
}

static bool has(const uint64_t *set, uint32_t i)
{
	return set[i / WORD] >> (i % WORD) & 1;
}

/* The place of the first node of the set at or after `at`; x->n when there is none. */
static uint32_t next_of(const struct phx_index *x, enum phx_node_set set, uint32_t at)
{
	const uint64_t *words = x->sets[set];
	if (at >= x->n)
		return x->n;
	uint64_t word = words[at / WORD] & ~0ull << (at % WORD);
	for (uint32_t k = at / WORD;; word = words[k]) {
		if (word)
			return k * WORD + (uint32_t)__builtin_ctzll(word);
		if (++k >= (x->n + WORD - 1) / WORD)
			return x->n;
	}
}

/* ---- names ---- */

static struct phx_node *walk_to(const struct phx_state *s, const char *name)
{
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
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
		if (!strcmp(node_at(s, i)->name, name))
			return node_at(s, i);
	return NULL;
}

/* ---- what follows from a node ---- */

/* by enum phx_node_set; TOUCHED and LOOK have no predicate */
static bool (*const predicates[])(const struct phx_state *, const struct phx_node *) = {
#define NODE_SET(name, predicate) [PHX_SET_##name] = predicate,
#include "state/node_sets.def"
#undef NODE_SET
};

static void derive(struct phx_state *s, uint32_t i)
{
	struct phx_index *x = s->index;
	const struct phx_node *n = node_at(s, i);
	for (int k = PHX_SET_FREE; k < PHX_SET_COUNT_; k++)
		put(x->sets[k], i, !phx_node_is_gone(n) && predicates[k](s, n));
	x->groups[i] = phx_node_is_idle(s, n) ? phx_hash_text(n->allocated_to) : 0;
	phx_earliest_set(&x->due, i, phx_node_due(n));
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
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		phx_touch(s, n);
}

struct phx_node *phx_index_next(struct phx_state *s, enum phx_node_set set, uint32_t at)
{
	refresh(s);
	uint32_t i = next_of(s->index, set, at);
	return i < s->index->n ? node_at(s, i) : NULL;
}

struct phx_node *phx_index_candidate(const struct phx_state *s, enum phx_node_set set, uint32_t at)
{
	const struct phx_index *x = s->index;
	if (!x || x->n != s->nodes.n)
		return at < s->nodes.n ? node_at(s, at) : NULL;
	uint32_t i = next_of(x, set, at),
		 touched = x->touched ? next_of(x, PHX_SET_TOUCHED, at) : x->n;
	i = touched < i ? touched : i;
	return i < x->n ? node_at(s, i) : NULL;
}

struct phx_node *phx_index_next_idle(struct phx_state *s, const char *re, uint32_t at)
{
	uint32_t group = phx_hash_text(re), i = at;
	refresh(s);
	for (; (i = next_of(s->index, PHX_SET_IDLE, i)) < s->index->n; i++)
		if (s->index->groups[i] == group && !strcmp(node_at(s, i)->allocated_to, re))
			return node_at(s, i);
	return NULL;
}

uint32_t phx_index_count(struct phx_state *s, enum phx_node_set set)
{
	uint32_t count = 0;
	refresh(s);
	for (uint32_t k = 0; k < s->index->cap / WORD; k++)
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
	return i < s->index->n ? node_at(s, i) : NULL;
}

int64_t phx_index_nodes_due(const struct phx_state *s)
{
	const struct phx_index *x = s->index;
	int64_t next = INT64_MAX;
	if (x && x->n == s->nodes.n)
		return phx_earliest_first(&x->due);
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
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
	while (m && g && *at < s->nodes.n && !(g->words[*at / WORD] >> *at % WORD))
		*at = (*at / WORD + 1) * WORD;
	if (m && g && *at < s->nodes.n)
		*at += (uint32_t)__builtin_ctzll(g->words[*at / WORD] >> *at % WORD);
	for (; !m && *at < s->nodes.n; ++*at) {
		const char *has_key = phx_members_key(kind, node_at(s, *at));
		if (has_key && !strcmp(has_key, key))
			break;
	}
	return (!m || g) && *at < s->nodes.n ? node_at(s, (*at)++) : NULL;
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
		if (phx_known_is(node_at(s, i), kind, key))
			end = i;
	}
	return end < s->nodes.n ? node_at(s, end) : NULL;
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
		failed = !(x->sets[k] = calloc(x->cap / WORD, sizeof(uint64_t))) || failed;
	x->groups = calloc(x->cap, sizeof(*x->groups));
	x->runs = calloc(x->cap, sizeof(*x->runs));
	x->members = phx_members_new(x->cap, seq << CHANGES_BITS);
	x->known = phx_known_new(x->cap);
	failed = phx_earliest_init(&x->due, x->cap) < 0 || failed;
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
	phx_hash_put(&s->index->names, phx_hash_text(node_at(s, i)->name), i); /* there is room */
	s->index->runs[i] = 0;
	phx_touch(s, node_at(s, i));
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
		memset(x->sets[k], 0, x->cap / WORD * sizeof(uint64_t));
	phx_hash_clear(&x->names);
	phx_members_clear(x->members);
	phx_known_clear(x->known);
	phx_earliest_clear(&x->due);
	x->n = 0;
	fill(s);
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
	if (!x || phx_named_ready(s) < 0) {
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

/* ---- checking ---- */

static int check_node(const struct phx_state *s, const struct phx_index *fresh, uint32_t i,
		      struct phx_err *err)
{
	const struct phx_index *x = s->index;
	const struct phx_node *n = node_at(s, i);
	for (int k = PHX_SET_FREE; k < PHX_SET_COUNT_; k++)
		if (has(x->sets[k], i) != has(fresh->sets[k], i))
			return phx_err_set(err, -EPROTO,
					   "%s was changed but not touched: its place in set %d is "
					   "out of date",
					   n->name, k);
	if (!phx_members_agree(x->members, i, n))
		return phx_err_set(err, -EPROTO,
				   "%s was changed but not touched: its group is out of date",
				   n->name);
	if (!phx_known_agree(x->known, i, n))
		return phx_err_set(err, -EPROTO,
				   "%s was changed but not touched: what it is known by is out of "
				   "date",
				   n->name);
	int64_t due = phx_earliest_get(&x->due, i), right = phx_earliest_get(&fresh->due, i);
	if (due != right)
		return phx_err_set(err, -EPROTO, "%s is due at %lld, the index says %lld", n->name,
				   (long long)right, (long long)due);
	if (n->jobs_running && x->runs[i] != fresh->runs[i])
		return phx_err_set(err, -EPROTO, "%s runs job %llu, the index says %llu", n->name,
				   (unsigned long long)fresh->runs[i],
				   (unsigned long long)x->runs[i]);
	return 0;
}

static int compare(const struct phx_state *s, const struct phx_index *fresh, struct phx_err *err)
{
	struct phx_batch_counts are, should;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->nodes.n; i++)
		r = check_node(s, fresh, i, err);
	if (r == 0 && memcmp(&s->index->jobs, &fresh->jobs, sizeof(fresh->jobs)))
		r = phx_err_set(err, -EPROTO, "%u jobs are open; the index says %u",
				fresh->jobs.n_open, s->index->jobs.n_open);
	phx_batch_counts(s->index->outside, &are);
	phx_batch_counts(fresh->outside, &should);
	if (r == 0 && memcmp(&are, &should, sizeof(are)))
		r = phx_err_set(err, -EPROTO,
				"%u jobs of no RE wait and %u are held; the index says %u and %u",
				should.n_waiting, should.n_held, are.n_waiting, are.n_held);
	if (r == 0 && !phx_tally_equal(&s->index->tallies, &fresh->tallies))
		r = phx_err_set(err, -EPROTO,
				"the index does not count the jobs of each user right");
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if (r == 0 && !phx_re_jobs_has(&s->index->of_res, j))
			r = phx_err_set(err, -EPROTO, "job %llu is not in the list of its RE",
					(unsigned long long)j->id);
	return r;
}

int phx_index_check(const struct phx_state *s, const struct phx_state *fresh, struct phx_err *err)
{
	if (!s->index || s->index->n != s->nodes.n || s->index->untrue)
		return 0;
	int r = compare(s, fresh->index, err);
	r = r ? r : phx_named_check(s, err);
	if (r == 0 && phx_index_jobs_due(s) != phx_index_jobs_due(fresh))
		r = phx_err_set(err, -EPROTO, "the first job is due at %lld, the index says %lld",
				(long long)phx_index_jobs_due(fresh),
				(long long)phx_index_jobs_due(s));
	return r;
}
