/* What an agent has written down, and where it lies: on the disk of the system that runs, or in
 * memory; the files of its step log, whose rules are those of the real one (agent/step_book.h).
 * Called by agents and machines. */
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

/* ---- runs of jobs ---- */

struct fault_run *phx_fault_find_run(struct fault_memory *mem, uint64_t job)
{
	for (uint32_t i = 0; i < mem->n_runs; i++)
		if (mem->runs[i].job == job)
			return &mem->runs[i];
	return NULL;
}

/* Of more than are kept the oldest goes: it ended long ago. */
struct fault_run *phx_fault_put_run(struct fault_memory *mem, const struct phx_order *o)
{
	struct fault_run *r = phx_fault_find_run(mem, o->id);
	if (!r && mem->n_runs == FAULT_RUNS)
		memmove(&mem->runs[0], &mem->runs[1], sizeof(mem->runs[0]) * --mem->n_runs);
	r = r ? r : &mem->runs[mem->n_runs++];
	*r = (struct fault_run){.job = o->id, .run = o->run, .submitted_ms = o->job.submitted_ms};
	return r;
}
