/* What an agent has written down, and where it lies: on the disk of the system that
 * runs, or in memory. Called by agent.c. */
#include "fault/parts.h"

#include <string.h>

struct fault_memory *phx_fault_memory(struct fault_machine *m)
{
	return m->entered >= 0 ? &m->disks[m->entered].memory : &m->memory;
}

struct fault_done *phx_fault_find_done(struct fault_memory *mem, uint64_t id)
{
	for (uint32_t i = 0; i < mem->n_done; i++)
		if (mem->done[i].id == id)
			return &mem->done[i];
	return NULL;
}

void phx_fault_remember(struct fault_memory *mem, const struct fault_done *d)
{
	struct fault_done *to = phx_fault_find_done(mem, d->id);
	if (!to && mem->n_done == FAULT_DONE)
		memmove(&mem->done[0], &mem->done[1], sizeof(mem->done[0]) * --mem->n_done);
	to = to ? to : &mem->done[mem->n_done++];
	*to = *d;
}

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
