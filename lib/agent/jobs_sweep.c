/* Removes what users' runs left on the node, in a worker: a user may leave any number of files, in
 * any depth, and neither beats nor other jobs wait for their removal. Called by jobs.c. */
#include "agent/jobs_internal.h"

#include <errno.h>

#include "agent/job_stage.h"

static bool goes_on(void *arg)
{
	struct jobs *j = arg;
	LOOP_HELD(j->loop);
	return j->again;
}

/* In a worker. */
static void sweep(void *arg)
{
	struct jobs *j = arg;
	bool again;
	do {
		job_stage_clear(j->at.stage, goes_on, j);
		LOOP_TAKEN(j->loop, &j->busy);
		again = j->sweeps_again;
		j->sweeps_again = false;
		j->sweeping = again;
	} while (again);
}

void jobs_sweep(struct jobs *j)
{
	j->sweeps_again = j->sweeping;
	if (!j->sweeping)
		j->sweeping = loop_work(j->loop, sweep, j) == 0;
}

/* A run whose record cannot be read may run still. */
static void drop_unknown(void *arg, struct job_run run)
{
	struct jobs *j = arg;
	struct job_record rec;
	int r = job_store_read(&j->at.store, run.id, &rec);
	if (r == -ENOENT || (r == 0 && (rec.reported || rec.run > run.run)))
		job_stage_drop(j->at.stage, run);
}

void jobs_sweep_begin(struct jobs *j)
{
	job_stage_each(j->at.stage, drop_unknown, j);
	jobs_sweep(j);
}
