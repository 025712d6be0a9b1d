/* Lists of jobs by time and by RE: see job_lists.h. Called by index.c. Pure. */
#include "state/job_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "state/node_sets.h"

/* ---- when jobs want a tick ---- */

struct due {
	int64_t at_ms;
	uint64_t job;
};

static bool sooner(const struct due *a, const struct due *b)
{
	return a->at_ms < b->at_ms;
}
PHX_HEAP(due, struct due, sooner)

int phx_dues_put(struct phx_list *dues, const struct phx_job *j)
{
	int64_t at_ms = phx_job_due(j);
	return at_ms == INT64_MAX ? 0 : due_push(dues, (struct due){at_ms, j->id});
}

int phx_dues_settle(struct phx_list *dues, const struct phx_state *s)
{
	int r = 0;
	while (r == 0 && dues->n) {
		struct due d = *due_top(dues);
		const struct phx_job *j = phx_state_job(s, d.job);
		if (j && phx_job_due(j) == d.at_ms)
			break;
		due_pop(dues);
		r = j ? phx_dues_put(dues, j) : 0;
	}
	return r;
}

int64_t phx_dues_next(const struct phx_list *dues)
{
	return dues->n ? due_top(dues)->at_ms : INT64_MAX;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int phx_dues_come(struct phx_list *dues, const struct phx_state *s, int64_t now_ms,
		  struct phx_list *ret)
{
	uint32_t n = 0;
	int r = 0;
	while (phx_dues_next(dues) <= now_ms) {
		struct due d = due_pop(dues);
		uint64_t *to = phx_list_push(ret, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = d.job;
	}
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(uint64_t), by_number);
	for (uint32_t i = 0; i < ret->n; i++) {
		uint64_t id = *PHX_LIST_AT(ret, uint64_t, i);
		const struct phx_job *j = phx_state_job(s, id);
		if (!j || (n && *PHX_LIST_AT(ret, uint64_t, n - 1) == id))
			continue;
		*PHX_LIST_AT(ret, uint64_t, n++) = id;
		r = r ? r : phx_dues_put(dues, j);
	}
	ret->n = n;
	return r;
}

/* ---- of REs ---- */

enum { GROWN = 64 }; /* old numbers are dropped when a list has doubled and grown by so many more */

struct re_jobs {
	char re[PHX_NAME_MAX];
	struct phx_list ids; /* uint64_t, ascending; also those of jobs that were forgotten */
	uint32_t n_kept;     /* length after old ones were last dropped */
};

static struct re_jobs *list_of(const struct phx_list *lists, const char *re)
{
	PHX_LIST_EACH(struct re_jobs, l, lists)
		if (!strcmp(l->re, re))
			return l;
	return NULL;
}

static uint64_t number_of(const void *item)
{
	return *(const uint64_t *)item;
}

static uint32_t place_of(const struct re_jobs *l, uint64_t id)
{
	return phx_list_place(&l->ids, sizeof(uint64_t), number_of, id);
}

static bool stands(const struct re_jobs *l, uint64_t id)
{
	uint32_t at = place_of(l, id);
	return at < l->ids.n && *PHX_LIST_AT(&l->ids, uint64_t, at) == id;
}

bool phx_re_jobs_has(const struct phx_list *lists, const struct phx_job *j)
{
	const struct re_jobs *l = list_of(lists, j->re);
	return l && stands(l, j->id);
}

static void drop_old(struct re_jobs *l, const struct phx_state *s)
{
	uint32_t n = 0;
	PHX_LIST_EACH(uint64_t, id, &l->ids)
		if (phx_state_job(s, *id))
			*PHX_LIST_AT(&l->ids, uint64_t, n++) = *id;
	l->ids.n = l->n_kept = n;
}

/* Has the state forgotten all jobs of the list? */
static bool is_past(const struct re_jobs *l, const struct phx_state *s)
{
	return !l->ids.n || !s->jobs.n ||
		*PHX_LIST_AT(&l->ids, uint64_t, l->ids.n - 1) <
		PHX_LIST_AT(&s->jobs, struct phx_job, 0)->id;
}

/* A list for another RE, in place of a list whose jobs are all forgotten, if there is one; NULL:
 * out of memory. */
static struct re_jobs *add_list(struct phx_list *lists, const struct phx_state *s, const char *re)
{
	struct re_jobs *to = NULL;
	PHX_LIST_EACH(struct re_jobs, l, lists)
		to = is_past(l, s) ? l : to;
	to = to ? to : phx_list_push(lists, sizeof(*to));
	if (!to)
		return NULL;
	to->ids.n = to->n_kept = 0;
	PHX_STR_SET(to->re, re);
	return to;
}

int phx_re_jobs_put(struct phx_list *lists, const struct phx_state *s, const struct phx_job *j)
{
	struct re_jobs *l = list_of(lists, j->re);
	if (l && stands(l, j->id))
		return 0;
	l = l ? l : add_list(lists, s, j->re);
	if (!l)
		return -ENOMEM;
	if (l->ids.n > 2 * l->n_kept + GROWN)
		drop_old(l, s);
	uint64_t *to = phx_list_push(&l->ids, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = j->id;
	return 0;
}

struct phx_job *phx_re_jobs_next(const struct phx_list *lists, const struct phx_state *s,
				 const char *re, uint64_t after)
{
	const struct re_jobs *l = list_of(lists, re);
	for (uint32_t at = l ? place_of(l, after + 1) : 0; l && at < l->ids.n; at++) {
		struct phx_job *j = phx_state_job(s, *PHX_LIST_AT(&l->ids, uint64_t, at));
		if (j && !strcmp(j->re, re))
			return j;
	}
	return NULL;
}

void phx_re_jobs_fini(struct phx_list *lists)
{
	PHX_LIST_EACH(struct re_jobs, l, lists)
		phx_list_fini(&l->ids);
	phx_list_fini(lists);
}
