/* Compares the index of a state with one that was just built of the same state: a change of a node
 * that nobody touched is found by this. Called by phx_state_check(). Pure. */
#include <errno.h>
#include <string.h>

#include "state/index_parts.h"
#include "state/job_lists.h"
#include "state/named.h"

static bool has(const uint64_t *set, uint32_t i)
{
	return set[i / PHX_INDEX_WORD] >> (i % PHX_INDEX_WORD) & 1;
}

static int check_node(const struct phx_state *s, const struct phx_index *fresh, uint32_t i,
		      struct phx_err *err)
{
	const struct phx_index *x = s->index;
	const struct phx_node *n = phx_index_node(s, i);
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
	if (phx_earliest_get(&x->cores, i) != phx_earliest_get(&fresh->cores, i) ||
	    phx_earliest_get(&x->memory, i) != phx_earliest_get(&fresh->memory, i))
		return phx_err_set(err, -EPROTO,
				   "%s was changed but not touched: its size is out of date",
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
	r = r ? r : phx_timed_check(s, err);
	r = r ? r : phx_doomed_check(s, err);
	if (r == 0 && phx_index_jobs_due(s) != phx_index_jobs_due(fresh))
		r = phx_err_set(err, -EPROTO, "the first job is due at %lld, the index says %lld",
				(long long)phx_index_jobs_due(fresh),
				(long long)phx_index_jobs_due(s));
	return r;
}
