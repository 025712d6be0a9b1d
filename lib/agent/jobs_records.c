/* The runs of this node that are known, and their records, to the rules of job_book.h: the files of
 * job_store.h. Called by jobs.c, by whoever has the jobs. Never starts or ends a run. */
#include "agent/jobs_internal.h"

struct running *jobs_find(const struct jobs *j, struct job_run run)
{
	PHX_LIST_EACH(struct running, r, &j->list)
		if (r->run.id == run.id && r->run.run == run.run)
			return r;
	return NULL;
}

static int write_record(void *jobs, const struct job_record *rec, struct phx_err *err)
{
	const struct jobs *j = jobs;
	return job_store_write(&j->at.store, rec, err);
}

static int read_record(void *jobs, uint64_t id, struct job_record *ret)
{
	const struct jobs *j = jobs;
	return job_store_read(&j->at.store, id, ret);
}

static int write_end(void *jobs, struct job_run run, int status, struct phx_err *err)
{
	const struct jobs *j = jobs;
	return job_store_write_end(&j->at.store, run, status, err);
}

static int remove_record(void *jobs, uint64_t id)
{
	const struct jobs *j = jobs;
	return job_store_remove(&j->at.store, id);
}

static int each_record(void *jobs, job_book_id_fn *fn, void *fn_arg)
{
	const struct jobs *j = jobs;
	return job_store_each(&j->at.store, fn, fn_arg);
}

/* A run whose record cannot be read may run still. */
static bool in_use(void *jobs, uint64_t id)
{
	const struct jobs *j = jobs;
	struct job_record rec;
	PHX_LIST_EACH(struct running, r, &j->list)
		if (r->run.id == id)
			return true;
	return job_store_read(&j->at.store, id, &rec) < 0;
}

/* An older run counts by its keeper: what is tracked of it may be told already. */
static bool goes_on(void *jobs, struct job_run run, bool older)
{
	const struct jobs *j = jobs;
	pid_t keeper, session;
	if (older)
		return job_store_alive(&j->at.store, run, &keeper, &session);
	const struct running *r = jobs_find(j, run);
	return r && !r->ended;
}

struct job_book jobs_book(struct jobs *j)
{
	return (struct job_book){.arg = j,
				 .keep = JOB_BOOK_KEEP,
				 .write = write_record,
				 .read = read_record,
				 .write_end = write_end,
				 .remove = remove_record,
				 .each = each_record,
				 .in_use = in_use,
				 .runs = goes_on};
}
