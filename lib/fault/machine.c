/* Machines: power, firmware, the way into the deploy environment and into an
 * installed system. What was planned for an earlier boot does not happen: every
 * change of environment counts `gen` up. Called by BMCs, agents and faults. */
#include "fault/parts.h"

#include <errno.h>
#include <string.h>

enum { UNWRITTEN_PER_MILLE = 1 };

int phx_fault_unwritten(struct fault_sim *f, struct fault_machine *m)
{
	if (f->calm || !phx_fault_chance(f, UNWRITTEN_PER_MILLE))
		return 0;
	phx_fault_cause(f, m);
	return -ENOSPC;
}

/* The machine starts anew: what the agent had in memory is gone. */
static void lose_agent(struct fault_machine *m)
{
	m->busy = m->hung = m->ending = false;
	m->epochs = (struct step_epochs){0};
	phx_fault_lose_results(m);
	m->n_tasks = 0;
	m->seen.ordered = 0;
	m->seen.n_done = 0;
	memset(m->parts, 0, sizeof(m->parts));
	m->keeper.up = m->keeper.telling = false;
}

static void leave_environment(struct fault_sim *f, struct fault_machine *m, enum fault_stage to)
{
	m->stage = to;
	m->gen++;
	m->registered = m->boot_local = m->serves = m->tries_disk = false;
	m->entered = -1;
	lose_agent(m);
	phx_fault_link(f, m);
}

/* What lies in memory goes with the power, or with a kexec. */
static void lose_memory(struct fault_machine *m)
{
	m->ram = m->ram_run = false;
	m->ram_role = -1;
	m->memory = (struct fault_memory){0};
	m->key = m->next_key = 0;
	m->start = 0;
	m->kernel = (struct fault_kernel){0};
	m->certified = false;
	m->system_digest[0] = '\0';
}

void phx_fault_power_off(struct fault_sim *f, struct fault_machine *m)
{
	if (m->stage == STAGE_OFF)
		return;
	leave_environment(f, m, STAGE_OFF);
	lose_memory(m);
}

void phx_fault_power_on(struct fault_sim *f, struct fault_machine *m)
{
	if (m->stage != STAGE_OFF)
		return;
	leave_environment(f, m, STAGE_POST);
	phx_fault_later(f, phx_fault_between(f, 10 * SECOND, 40 * SECOND), WHAT_STAGE, m->i, m->gen,
			0);
}

void phx_fault_reset(struct fault_sim *f, struct fault_machine *m)
{
	phx_fault_power_off(f, m);
	phx_fault_power_on(f, m);
}

/* ---- into an environment ---- */

static struct fault_disk *state_disk(struct fault_machine *m)
{
	for (uint32_t i = 0; i < m->n_disks; i++)
		if (m->disks[i].has_state)
			return &m->disks[i];
	return NULL;
}

bool phx_fault_adopt_key(struct fault_machine *m)
{
	struct fault_disk *d = state_disk(m);
	if (!d || !d->state_certified)
		return false;
	m->key = d->state_key;
	m->next_key = d->next_key;
	m->certified = true;
	return true;
}

/* The agent makes a key if it was given a token for it; else it takes the one that it finds on the
 * disk, or makes one. */
static void adopt_state(struct fault_machine *m)
{
	const struct fault_disk *d = state_disk(m);
	m->certified = false;
	if (m->start || !phx_fault_adopt_key(m))
		m->key = ++m->keys;
	phx_str_copy(m->system_digest, sizeof(m->system_digest), d ? d->digest : "");
}

static void agent_starts(struct fault_sim *f, struct fault_machine *m)
{
	m->registered = false;
	m->epochs.seen = m->epochs.written = phx_fault_memory(m)->epoch;
	phx_fault_link(f, m);
	phx_fault_later(f, phx_fault_between(f, 100, 2 * SECOND),
			m->certified ? WHAT_HELLO : WHAT_ENROL, m->i, m->gen, 0);
}

static void into_deploy(struct fault_sim *f, struct fault_machine *m)
{
	leave_environment(f, m, STAGE_DEPLOY);
	m->boots++;
	adopt_state(m);
	agent_starts(f, m);
}

struct fault_kernel phx_fault_kernel(const struct fault_sim *f, const struct phx_node *n)
{
	struct phx_kernel k = {0};
	struct fault_kernel ret;
	if (n)
		phx_kernel_of(f->head.s, n, &k);
	phx_kernel_word(k.release, k.args, ret.word);
	phx_str_copy(ret.release, sizeof(ret.release), k.release);
	return ret;
}

void phx_fault_kexec(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	leave_environment(f, m, STAGE_POST);
	lose_memory(m);
	m->start = t->id; /* on the command line of the next kernel */
	m->kernel = t->kernel;
	/* a kernel that does not come up: only a power cycle helps */
	if (!f->calm && phx_fault_chance(f, 5)) {
		m->stage = STAGE_DEAD;
		phx_fault_cause(f, m);
		return;
	}
	m->stage = STAGE_KEXEC;
	phx_fault_later(f, phx_fault_between(f, 4 * SECOND, 15 * SECOND), WHAT_STAGE, m->i, m->gen,
			0);
}

void phx_fault_quick_start(struct fault_sim *f, struct fault_machine *m)
{
	leave_environment(f, m, STAGE_KEXEC);
	lose_memory(m);
	m->kernel = phx_fault_kernel(f, phx_fault_node(f, m));
	phx_fault_later(f, phx_fault_between(f, 500, 4 * SECOND), WHAT_STAGE, m->i, m->gen, 0);
}

/* Firmware that gives the network up and starts what is on the disk. */
static bool start_from_disk(struct fault_sim *f, struct fault_machine *m)
{
	int disk = -1;
	for (uint32_t i = 0; disk < 0 && i < m->n_disks; i++)
		if (m->disks[i].digest[0] && !m->disks[i].key_id[0])
			disk = (int)i;
	if (!m->falls_to_disk || disk < 0)
		return false;
	phx_fault_note(f, m->i, "%s starts from its disk by itself", m->node);
	m->kernel = (struct fault_kernel){.release = FAULT_KERNEL_DISK};
	phx_fault_cause(f, m);
	m->boots++;
	adopt_state(m);
	phx_fault_enter(f, m, disk);
	return true;
}

/* The firmware has done its part: ask the head what to boot. */
static void fetch(struct fault_sim *f, struct fault_machine *m)
{
	bool reached = f->head.up && f->now >= m->cut_until;
	if (reached && m->fetch_fails > 0) {
		m->fetch_fails--;
		reached = false;
	}
	if (!reached && phx_fault_chance(f, 300) && start_from_disk(f, m))
		return;
	struct phx_boot boot = {.choice = PHX_BOOT_REFUSE};
	if (reached)
		boot = phx_core_boot(f->head.s, m->mac, m->address);
	if (boot.choice == PHX_BOOT_REFUSE) {
		phx_fault_later(f, reached ? MINUTE : 15 * SECOND, WHAT_STAGE, m->i, m->gen, 0);
		return;
	}
	m->start = boot.start;
	m->kernel = phx_fault_kernel(f, boot.node[0] ? phx_state_node(f->head.s, boot.node) : NULL);
	into_deploy(f, m);
}

struct taking_up {
	struct fault_sim *f;
	struct fault_machine *m;
};

static void take_up(void *arg, const struct job_record *rec)
{
	const struct taking_up *t = arg;
	const struct fault_run *r = phx_fault_find_run(phx_fault_memory(t->m), rec->id);
	phx_fault_send_job(t->f, t->m, JOB_RECORD_RUN(rec), phx_fault_run_status(r));
}

/* Its agent tells the ends of jobs that the head does not have yet: what ran before the system
 * started is lost. */
static void take_up_runs(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_job_log log = {m, 0};
	const struct job_book book = phx_fault_job_book(&log);
	job_book_open(&book, take_up, &(struct taking_up){f, m});
}

void phx_fault_stage(struct fault_sim *f, struct fault_machine *m)
{
	switch (m->stage) {
	case STAGE_POST:
		m->stage = STAGE_FETCH;
		fetch(f, m);
		return;
	case STAGE_FETCH:
		fetch(f, m);
		return;
	case STAGE_KEXEC: /* it was fetched before */
		into_deploy(f, m);
		return;
	case STAGE_ENTERING:
		m->stage = STAGE_OS;
		take_up_runs(f, m);
		agent_starts(f, m);
		return;
	case STAGE_OFF:
	case STAGE_DEPLOY:
	case STAGE_OS:
	case STAGE_DEAD:
		return;
	}
}

int phx_fault_installed(const struct fault_sim *f, const struct fault_machine *m)
{
	for (uint32_t i = 0; i < m->n_disks; i++) {
		const struct fault_disk *d = &m->disks[i];
		if (d->digest[0] && (!d->key_id[0] || phx_fault_find_key(f, d->key_id)))
			return (int)i;
	}
	return -1;
}

void phx_fault_enter(struct fault_sim *f, struct fault_machine *m, int disk)
{
	uint32_t gen = ++m->gen;
	m->stage = STAGE_ENTERING;
	m->registered = m->boot_local = m->serves = false;
	m->entered = (int8_t)disk;
	if (disk >= 0) {
		struct fault_disk *d = &m->disks[disk];
		d->has_state = true;
		d->state_key = m->key;
		d->state_certified = m->certified;
		phx_fault_copy_steps(&m->memory, &d->memory);
	}
	lose_agent(m);
	phx_fault_link(f, m);
	phx_fault_later(f, phx_fault_between(f, 4 * SECOND, 15 * SECOND), WHAT_STAGE, m->i, gen, 0);
}
