/* What an agent has written down, and where it lies: on the disk of the system that runs, or in
 * memory; its step log and its records of jobs, whose rules are those of the real one
 * (agent/step_book.h, agent/job_book.h). Called by agents and machines. */
#include "fault/parts.h"

#include <errno.h>
#include <string.h>

struct fault_memory *phx_fault_memory(struct fault_machine *m)
{
	return m->entered >= 0 ? &m->disks[m->entered].memory : &m->memory;
}

/* ---- the step log ---- */

const struct fault_done *phx_fault_find_done(const struct fault_memory *mem, uint64_t id)
{
	for (uint32_t i = 0; i < mem->n_done; i++)
		if (mem->done[i].id == id)
			return &mem->done[i];
	return NULL;
}

static int write_done(void *step_log, uint64_t id, const void *done, struct phx_err *err)
{
	const struct fault_step_log *l = step_log;
	struct fault_memory *mem = l->memory;
	uint32_t i = 0;
	if (l->fails)
		return phx_err_set(err, l->fails, "step %llu", (unsigned long long)id);
	while (i < mem->n_done && mem->done[i].id != id)
		i++;
	mem->n_done += i == mem->n_done;
	mem->done[i] = *(const struct fault_done *)done;
	return 0;
}

static int read_done(void *step_log, uint64_t id, void *ret, struct phx_err *err)
{
	const struct fault_step_log *l = step_log;
	const struct fault_done *d = phx_fault_find_done(l->memory, id);
	(void)err;
	if (d)
		*(struct fault_done *)ret = *d;
	return d ? 0 : -ENOENT;
}

static int remove_done(void *step_log, uint64_t id)
{
	struct fault_memory *mem = ((const struct fault_step_log *)step_log)->memory;
	const struct fault_done *d = phx_fault_find_done(mem, id);
	if (d)
		mem->done[d - mem->done] = mem->done[--mem->n_done];
	return d ? 0 : -ENOENT;
}

static int each_done(void *step_log, step_book_fn *fn, void *fn_arg)
{
	const struct fault_memory *mem = ((const struct fault_step_log *)step_log)->memory;
	for (uint32_t i = 0; i < mem->n_done; i++)
		fn(fn_arg, mem->done[i].id);
	return 0;
}

static int write_epoch(void *step_log, uint64_t epoch, struct phx_err *err)
{
	const struct fault_step_log *l = step_log;
	if (l->fails)
		return phx_err_set(err, l->fails, "epoch %llu", (unsigned long long)epoch);
	l->memory->epoch = epoch;
	return 0;
}

struct step_book phx_fault_step_book(struct fault_step_log *l)
{
	return (struct step_book){l,           FAULT_DONE, write_done, read_done,
				  remove_done, each_done,  write_epoch};
}

void phx_fault_copy_steps(struct fault_memory *from, struct fault_memory *to)
{
	struct fault_step_log a = {from, 0}, b = {to, 0};
	const struct step_book from_book = phx_fault_step_book(&a),
			       to_book = phx_fault_step_book(&b);
	struct fault_done room;
	step_book_copy(&from_book, from->epoch, &to_book, to->epoch, &room, NULL);
}

/* ---- records of jobs ---- */

struct fault_run *phx_fault_find_run(struct fault_memory *mem, uint64_t job)
{
	for (uint32_t i = 0; i < mem->n_runs; i++)
		if (mem->runs[i].rec.id == job)
			return &mem->runs[i];
	return NULL;
}

static struct fault_run *run_of(void *job_log, uint64_t job)
{
	const struct fault_job_log *l = job_log;
	return phx_fault_find_run(phx_fault_memory(l->m), job);
}

/* What lies beside the record is of one run. */
static int write_run(void *job_log, const struct job_record *rec, struct phx_err *err)
{
	const struct fault_job_log *l = job_log;
	struct fault_memory *mem = phx_fault_memory(l->m);
	struct fault_run *r = run_of(job_log, rec->id);
	if (l->fails || (!r && mem->n_runs == FAULT_RUNS))
		return phx_err_set(err, -ENOSPC, "job %llu", (unsigned long long)rec->id);
	if (!r) {
		r = &mem->runs[mem->n_runs++];
		*r = (struct fault_run){0};
	}
	r->has_end = r->has_end && r->rec.run == rec->run;
	r->rec = *rec;
	return 0;
}

static int read_run(void *job_log, uint64_t id, struct job_record *ret)
{
	const struct fault_run *r = run_of(job_log, id);
	if (r)
		*ret = r->rec;
	return r ? 0 : -ENOENT;
}

static int write_run_end(void *job_log, struct job_run run, int status, struct phx_err *err)
{
	const struct fault_job_log *l = job_log;
	struct fault_run *r = run_of(job_log, run.id);
	if (l->fails)
		return phx_err_set(err, l->fails, "job %llu", (unsigned long long)run.id);
	if (r && r->rec.run == run.run) {
		r->has_end = true;
		r->status = status;
	}
	return 0;
}

static int remove_run(void *job_log, uint64_t id)
{
	struct fault_memory *mem = phx_fault_memory(((const struct fault_job_log *)job_log)->m);
	struct fault_run *r = run_of(job_log, id);
	if (r)
		*r = mem->runs[--mem->n_runs];
	return r ? 0 : -ENOENT;
}

static int each_run(void *job_log, job_book_id_fn *fn, void *fn_arg)
{
	const struct fault_memory *mem =
		phx_fault_memory(((const struct fault_job_log *)job_log)->m);
	for (uint32_t i = 0; i < mem->n_runs; i++)
		fn(fn_arg, mem->runs[i].rec.id);
	return 0;
}

static bool is_part(const struct fault_machine *m, struct job_run run)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (m->parts[i].job == FAULT_RUN(run.id, run.run))
			return true;
	return false;
}

bool phx_fault_tracks(const struct fault_machine *m, struct job_run run)
{
	PHX_LIST_EACH(struct result_item, it, &m->results.items) {
		const struct fault_message *msg = it->body;
		if (it->about.is_job && !msg->refused && it->about.id == run.id &&
		    it->about.run == run.run)
			return true;
	}
	return is_part(m, run);
}

static bool run_in_use(void *job_log, uint64_t id)
{
	const struct fault_run *r = run_of(job_log, id);
	return r &&
		phx_fault_tracks(((const struct fault_job_log *)job_log)->m,
				 JOB_RECORD_RUN(&r->rec));
}

static bool run_goes_on(void *job_log, struct job_run run, bool older)
{
	(void)older;
	return is_part(((const struct fault_job_log *)job_log)->m, run);
}

struct job_book phx_fault_job_book(struct fault_job_log *l)
{
	return (struct job_book){.arg = l,
				 .keep = FAULT_RUNS_KEPT,
				 .write = write_run,
				 .read = read_run,
				 .write_end = write_run_end,
				 .remove = remove_run,
				 .each = each_run,
				 .in_use = run_in_use,
				 .runs = run_goes_on};
}

int64_t phx_fault_run_status(const struct fault_run *r)
{
	return r->has_end ? r->status : JOB_STATUS_LOST;
}
