/* Agents: they decide as the real one does (agent/decide.h): take orders, remember what they did,
 * and do one step after the other. What a step does to the machine and its disks happens here, in
 * truth. Called by the network and by time. */
#include "fault/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { STEP_FAILS_PER_MILLE = 4, CRASHES_PER_MILLE = 1, ACT_MS = 20 };

/* ---- the role of the running system ---- */

int phx_fault_role_of(const struct fault_machine *m, uint32_t *ret_version, bool *ret_run)
{
	*ret_version = 0;
	*ret_run = false;
	if (phx_fault_env(m) != PHX_ENV_OS)
		return -1;
	if (m->entered < 0) {
		*ret_version = m->ram_role_version;
		*ret_run = m->ram_run;
		return m->ram_role;
	}
	const struct fault_disk *d = &m->disks[m->entered];
	*ret_version = d->role_version;
	*ret_run = d->role_run;
	return d->role;
}

static void set_role(struct fault_machine *m, int role, uint32_t version, bool run)
{
	if (m->entered < 0) {
		m->ram_role = (int8_t)role;
		m->ram_role_version = version;
		m->ram_run = run;
		return;
	}
	struct fault_disk *d = &m->disks[m->entered];
	d->role = (int8_t)role;
	d->role_version = version;
	d->role_run = run;
}

void phx_fault_identity(const struct fault_sim *f, const struct fault_machine *m, char *ret,
			size_t size)
{
	struct phx_event ev = {0};
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run);
	ret[0] = '\0';
	if (role < 0)
		return;
	phx_fault_role_event(f, role, &ev);
	PHX_CARRIES(&ev, role);
	struct phx_package_ref *p =
		PHX_LIST_AT(&ev.role.role_put.packages, struct phx_package_ref, 0);
	snprintf(p->version, sizeof(p->version), "%u", version);
	phx_role_identity(&ev.role.role_put, ret, size);
	phx_event_fini(&ev);
}

/* ---- what tenants leave on disks ---- */

static bool readable(const struct fault_sim *f, const struct fault_residue *r)
{
	return !r->key_id[0] || phx_fault_find_key(f, r->key_id);
}

static void drop_unreadable(const struct fault_sim *f, struct fault_disk *d)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < d->n_residues; i++)
		if (readable(f, &d->residues[i]))
			d->residues[kept++] = d->residues[i];
	d->n_residues = kept;
}

static void write_residue(struct fault_sim *f, struct fault_machine *m, struct fault_disk *d,
			  int pool, const char *key)
{
	bool must = phx_setup_wipes(&f->pool_setup[pool], PHX_WHEN_RELEASE);
	for (uint32_t i = 0; i < d->n_residues; i++) {
		struct fault_residue *r = &d->residues[i];
		if (r->pool != pool || strcmp(r->key_id, key))
			continue;
		r->must_wipe = r->must_wipe || must;
		return;
	}
	if (d->n_residues == FAULT_RESIDUES)
		drop_unreadable(f, d);
	if (d->n_residues == FAULT_RESIDUES) {
		phx_fault_violated(f, "model",
				   "%s: a disk with data of more tenants than there can be",
				   m->node);
		return;
	}
	struct fault_residue *r = &d->residues[d->n_residues++];
	*r = (struct fault_residue){.pool = (int8_t)pool, .must_wipe = must};
	phx_str_copy(r->key_id, sizeof(r->key_id), key);
}

void phx_fault_tenant_writes(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	int pool = n ? phx_fault_pool_index(n->pool) : -1;
	if (pool <= 0 || phx_fault_env(m) != PHX_ENV_OS)
		return;
	phx_fault_check_copied(m, pool);
	for (uint32_t i = 0; i < m->n_disks; i++) {
		struct fault_disk *d = &m->disks[i];
		for (uint32_t k = 0; k < d->n_residues; k++)
			d->residues[k].known |= phx_fault_owner_bit(pool);
		if (m->entered == (int)i)
			write_residue(f, m, d, pool, d->key_id);
		else if (phx_fault_chance(f, 300))
			write_residue(f, m, d, pool, "");
	}
}

/* ---- steps: what they do ---- */

static struct fault_disk *find_disk(struct fault_machine *m, const char *id)
{
	struct fault_disk *found = NULL;
	for (uint32_t i = 0; i < m->n_disks; i++) {
		if (strcmp(m->twins ? m->disks[0].id : m->disks[i].id, id) ||
		    m->disks[i].hides == FAULT_HIDES_EVERYWHERE)
			continue;
		if (found)
			return NULL;
		found = &m->disks[i];
	}
	return found;
}

static void forget_system(struct fault_machine *m, struct fault_disk *d)
{
	if (d->digest[0] || !m->ram)
		m->system_digest[0] = '\0';
	d->digest[0] = d->key_id[0] = '\0';
	d->has_state = false;
	d->next_key = 0;
	d->memory = (struct fault_memory){0};
	d->role = -1;
	d->role_run = false;
}

static int do_wipe(struct fault_sim *f, struct fault_machine *m, struct fault_done *done)
{
	const struct fault_task *t = &done->task;
	struct fault_disk *d = find_disk(m, t->disk);
	if (!d)
		return -ENODEV;
	if (m->kernel.word[0])
		phx_fault_violated(f, "kernel", "%s: a disk is erased under kernel %s of a system",
				   m->node, m->kernel.word);
	if (d->erase_fails) {
		d->erase_fails--;
		phx_fault_cause(f, m);
		return -EIO;
	}
	done->bytes = done->verified = d->size_bytes;
	if (d->erase_ignored) {
		d->erase_ignored--;
		phx_fault_cause(f, m);
		done->verified = 0; /* the read-back finds it */
		return phx_fault_chance(f, 500) ? -EUCLEAN : 0;
	}
	if (d->erase_claimed) {
		d->erase_claimed--;
		phx_fault_cause(f, m);
		done->seal = (enum fault_seal)phx_fault_between(f, 0, FAULT_SEAL_ANOTHER);
		if (done->seal == FAULT_SEAL_ITS)
			done->verified = 1 << 20; /* it signs that, and reads one place */
		return 0;
	}
	if (t->method != PHX_WIPE_CRYPTO) {
		d->n_residues = 0;
		return 0;
	}
	/* the key slots go: what they opened is lost, what lies beside is not */
	uint32_t kept = 0;
	for (uint32_t i = 0; i < d->n_residues; i++)
		if (strcmp(d->residues[i].key_id, t->key_id) && readable(f, &d->residues[i]))
			d->residues[kept++] = d->residues[i];
	d->n_residues = kept;
	return 0;
}

static bool may_have_key(const struct fault_sim *f, const struct fault_machine *m,
			 const char *key_id)
{
	const struct phx_node *n = phx_fault_node(f, m);
	return phx_fault_path(f, m) && n && n->state != PHX_NODE_QUARANTINED &&
		phx_fault_find_key(f, key_id);
}

static int do_image(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	struct fault_disk *d = find_disk(m, t->disk);
	if (!d)
		return -ENODEV;
	for (uint32_t i = 0; i < m->n_disks; i++)
		if (&m->disks[i] != d && m->disks[i].has_state)
			return -ENOTUNIQ; /* another disk carries a system too */
	if (t->key_id[0] && !may_have_key(f, m, t->key_id))
		return -EACCES;
	PHX_STR_SET(d->digest, t->digest);
	PHX_STR_SET(d->key_id, t->key_id);
	PHX_STR_SET(m->system_digest, t->digest);
	d->has_state = true;
	phx_fault_copy_steps(&m->memory, &d->memory);
	d->state_key = m->key;
	d->state_certified = m->certified;
	d->role = -1;
	d->role_run = false;
	m->ram = false;
	return 0;
}

static int do_ram(struct fault_machine *m, const struct fault_task *t)
{
	m->ram = true;
	PHX_STR_SET(m->ram_digest, t->digest);
	PHX_STR_SET(m->system_digest, t->digest);
	m->ram_role = -1;
	m->ram_run = false;
	return 0;
}

/* The key of an encrypted root comes from the head: an agent asks for some seconds. */
static bool waits_for_key(struct fault_sim *f, struct fault_machine *m)
{
	int disk = m->ram ? -1 : phx_fault_installed(f, m);
	if (m->tasks[0].kind != PHX_STEP_enter || disk < 0 || !m->disks[disk].key_id[0] ||
	    phx_fault_path(f, m) || m->asked >= 5)
		return false;
	m->asked++;
	phx_fault_later(f, 2 * SECOND, WHAT_STEP_END, m->i, m->gen, m->tasks[0].id);
	return true;
}

/* The head is asked for a certificate, for as long as the step may last. */
static bool waits_for_certificate(struct fault_sim *f, struct fault_machine *m, int *ret)
{
	*ret = m->tasks[0].kind == PHX_STEP_rekey ? phx_fault_rekey(f, m) : 0;
	if (!decide_again(*ret) || m->asked++ >= 30)
		return false;
	phx_fault_later(f, 2 * SECOND, WHAT_STEP_END, m->i, m->gen, m->tasks[0].id);
	return true;
}

/* True when the agent is gone with it and there is no answer. */
static bool do_enter(struct fault_sim *f, struct fault_machine *m, struct fault_done *done)
{
	int disk = m->ram ? -1 : phx_fault_installed(f, m);
	const char *promised = done->task.kernel.release;
	if (promised[0] && strcmp(promised, m->kernel.release)) {
		done->result = -ENOEXEC;
		return false;
	}
	if (!m->ram &&
	    (disk < 0 ||
	     (m->disks[disk].key_id[0] && !may_have_key(f, m, m->disks[disk].key_id)))) {
		done->result = -ENOENT;
		return false;
	}
	phx_fault_enter(f, m, disk);
	return true;
}

/* What serves runs under the kernel of its image, if that has one. */
static void check_kernel(struct fault_sim *f, const struct fault_machine *m)
{
	const char *digest = m->entered < 0 ? m->ram_digest : m->disks[m->entered].digest;
	if (digest[0] == 'd' && strcmp(m->kernel.release, FAULT_KERNEL) &&
	    strcmp(m->kernel.release, FAULT_KERNEL_DISK))
		phx_fault_violated(f, "kernel", "%s serves under kernel '%s'", m->node,
				   m->kernel.word);
}

static int do_serve_step(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run);
	const struct phx_node *n = phx_fault_node(f, m);
	if (t->kind == PHX_STEP_activate) {
		set_role(m, t->role, t->role_version, false);
		return 0;
	}
	if (role < 0 || role != t->role)
		return -ENOENT;
	if (t->kind == PHX_STEP_start) {
		set_role(m, role, version, true);
		m->serves = true;
		m->serves_pool = n ? (int8_t)phx_fault_pool_index(n->pool) : -1;
		phx_fault_tenant_writes(f, m);
		return 0;
	}
	if (m->serves)
		check_kernel(f, m);
	return m->serves ? 0 : -EAGAIN;
}

static void do_stop_step(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run);
	if (t->kind == PHX_STEP_drain) {
		phx_fault_jobs_drain(f, m);
		phx_fault_keeper_drains(f, m);
		return;
	}
	if (role >= 0)
		set_role(m, t->kind == PHX_STEP_leave ? -1 : role, version, false);
	m->serves = false;
}

/* Does the step; true when an answer is to be given. */
static bool do_step(struct fault_sim *f, struct fault_machine *m, struct fault_done *done)
{
	const struct fault_task *t = &done->task;
	switch ((enum phx_step_kind)t->kind) {
	case PHX_STEP_prefetch:
		return true;
	case PHX_STEP_drain:
	case PHX_STEP_stop:
	case PHX_STEP_leave:
		if (!phx_fault_refuses(f, m, done))
			do_stop_step(f, m, t);
		return true;
	case PHX_STEP_kexec:
	case PHX_STEP_kernel:
		phx_fault_kexec(f, m, t);
		return false;
	case PHX_STEP_wipe:
		done->result = do_wipe(f, m, done);
		return true;
	case PHX_STEP_image:
		done->result = do_image(f, m, t);
		return true;
	case PHX_STEP_ram:
		done->result = do_ram(m, t);
		return true;
	case PHX_STEP_enter:
		return !do_enter(f, m, done);
	case PHX_STEP_activate:
	case PHX_STEP_start:
	case PHX_STEP_health:
		done->result = do_serve_step(f, m, t);
		return true;
	case PHX_STEP_scratch:
	case PHX_STEP_rekey:
	case PHX_STEP_check_cpu:
	case PHX_STEP_check_memory:
	case PHX_STEP_check_disk:
		return true; /* phx_fault_rekey() did it */
	case PHX_STEP_boot:
	case PHX_STEP_destroy_key:
	case PHX_STEP_make_key:
	case PHX_STEP_join:
	case PHX_STEP_divert:
	case PHX_STEP_settle:
	case PHX_STEP_layout: /* no role of a world has one */
	case PHX_STEP_COUNT_:
		break;
	}
	phx_fault_violated(f, "order", "%s: an agent is told to do step %s", m->node,
			   phx_enum_name(&phx_step_kind_names, t->kind));
	return false;
}

/* ---- steps: when ---- */

static int64_t duration_of(struct fault_sim *f, const struct fault_task *t)
{
	int64_t expected = (int64_t)phx_step_info((enum phx_step_kind)t->kind)->expected_ms;
	if (t->kind == PHX_STEP_wipe && t->method == PHX_WIPE_OVERWRITE)
		expected = 5 * MINUTE;
	if (phx_step_leaves(t->kind))
		return phx_fault_between(f, 200, 2 * SECOND);
	return phx_fault_between(f, expected / 2 + 20, expected * 2 + 100);
}

/* It takes the first of the steps that wait. */
static void begin(struct fault_sim *f, struct fault_machine *m)
{
	const struct fault_task *t = &m->tasks[0];
	m->asked = 0;
	m->busy = true;
	phx_fault_check_begins(f, m, t);
	phx_fault_engine_taken(f, m, t);
	if (f->now < m->hang_next) {
		m->hang_next = 0;
		m->hung = true;
		phx_fault_note(f, m->i, "%s: the agent hangs in step %s", m->node,
			       phx_enum_name(&phx_step_kind_names, t->kind));
		phx_fault_cause(f, m);
		return;
	}
	struct fault_disk *d = find_disk(m, t->disk);
	if (d && (t->kind == PHX_STEP_wipe || t->kind == PHX_STEP_image))
		forget_system(m, d);
	phx_fault_later(f, duration_of(f, t), WHAT_STEP_END, m->i, m->gen, t->id);
}

/* ---- steps: how they end ---- */

/* The machine restarts by itself. */
static bool dies(struct fault_sim *f, struct fault_machine *m)
{
	if (f->calm || !phx_fault_chance(f, CRASHES_PER_MILLE))
		return false;
	phx_fault_cause(f, m);
	phx_fault_note(f, m->i, "%s restarts by itself", m->node);
	phx_fault_reset(f, m);
	return true;
}

/* Time passes before what is to be done next, in which much can happen. */
static void act_soon(struct fault_sim *f, struct fault_machine *m)
{
	phx_fault_later(f, phx_fault_between(f, 1, ACT_MS), WHAT_STEP_END, m->i, m->gen,
			m->tasks[0].id);
}

/* The first step has ended. */
static void finish(struct fault_sim *f, struct fault_machine *m, const struct fault_done *done)
{
	m->end = *done;
	m->act = decide_end_first(false);
	m->ending = m->busy = true;
	act_soon(f, m);
}

static void next_task(struct fault_sim *f, struct fault_machine *m)
{
	if (!m->n_tasks || m->busy)
		return;
	const struct fault_task *t = &m->tasks[0];
	enum phx_step_needs needs = phx_step_info((enum phx_step_kind)t->kind)->needs;
	struct fault_done no = {.id = t->id, .attempt = t->attempt, .task = *t};
	if (decide_given_up(m->epochs.seen, t->epoch))
		no.result = -ECANCELED;
	else if (!decide_here(needs, (enum phx_node_env)phx_fault_env(m)))
		no.result = -EPERM;
	if (no.result == 0)
		begin(f, m);
	else
		finish(f, m, &no);
}

static void write_down(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_step_log log = {phx_fault_memory(m), phx_fault_unwritten(f, m)};
	const struct step_book book = phx_fault_step_book(&log);
	int kept = step_book_put(&book, m->end.id, &m->end, NULL);
	m->end.result = (int)decide_result(m->end.result, kept);
	if (m->end.result == 0)
		phx_fault_check_done(m, &m->end.task);
}

static void tell(struct fault_sim *f, struct fault_machine *m)
{
	phx_fault_send_result(f, m, &m->end);
	phx_fault_tells(f, m);
}

static void drop(struct fault_sim *f, struct fault_machine *m)
{
	m->n_tasks--;
	memmove(&m->tasks[0], &m->tasks[1], sizeof(m->tasks[0]) * m->n_tasks);
	m->busy = m->ending = false;
	next_task(f, m);
}

/* Does what comes next, in the order of the real one. */
static void act(struct fault_sim *f, struct fault_machine *m)
{
	static void (*const acts[])(struct fault_sim *, struct fault_machine *) = {
		[DECIDE_END_WRITE] = write_down,
		[DECIDE_END_TELL] = tell,
		[DECIDE_END_DROP] = drop,
	};
	enum decide_end now = m->act;
	if (dies(f, m))
		return;
	m->act = decide_end_next(now);
	acts[now](f, m);
	if (m->ending)
		act_soon(f, m);
}

/* ---- orders of steps ---- */

struct lookup {
	struct fault_sim *f;
	struct fault_machine *m;
	const struct fault_done *found;
};

static bool pending(void *arg, uint64_t id)
{
	const struct lookup *l = arg;
	for (uint32_t i = 0; i < l->m->n_tasks; i++)
		if (l->m->tasks[i].id == id)
			return true;
	return result_queue_has_step(&l->m->results, id);
}

static int keep_epoch(void *arg, uint64_t epoch, struct phx_err *err)
{
	const struct lookup *l = arg;
	struct fault_step_log log = {phx_fault_memory(l->m), phx_fault_unwritten(l->f, l->m)};
	const struct step_book book = phx_fault_step_book(&log);
	return step_book_keep_epoch(&book, &l->m->epochs, epoch, err);
}

static int find(void *arg, uint64_t id, struct decide_done *ret, struct phx_err *err)
{
	struct lookup *l = arg;
	(void)err;
	l->found = phx_fault_find_done(phx_fault_memory(l->m), id);
	if (!l->found)
		return -ENOENT;
	*ret = (struct decide_done){l->found->task.epoch, l->found->attempt, l->found->result,
				    l->found->task.nonce};
	return 0;
}

void phx_fault_take_order(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	struct lookup look = {.f = f, .m = m};
	const struct decide_memory memory = {&look,   m->epochs.seen, m->n_tasks,
					     pending, keep_epoch,     find};
	const struct decide_order o = {t->id, t->epoch, t->attempt, t->nonce};
	struct fault_done refused = {.id = t->id, .attempt = t->attempt, .task = *t};
	phx_fault_check_ordered(m, t);
	int verdict = decide_order(&memory, &o, NULL);
	if (verdict == DECIDE_REPEAT) {
		phx_fault_send_result(f, m, look.found);
	} else if (verdict < 0) {
		refused.result = verdict;
		phx_fault_send_result(f, m, &refused);
	} else if (verdict == DECIDE_RUN) {
		m->tasks[m->n_tasks++] = *t;
		next_task(f, m);
	}
}

void phx_fault_step_end(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_done done = {
		.id = m->tasks[0].id, .attempt = m->tasks[0].attempt, .task = m->tasks[0]};
	if (m->ending) {
		act(f, m);
		return;
	}
	if (!m->busy || m->hung || waits_for_key(f, m) || waits_for_certificate(f, m, &done.result))
		return;
	if (dies(f, m))
		return;
	bool fails = !f->calm && phx_fault_chance(f, STEP_FAILS_PER_MILLE);
	done.result = fails ? -EIO : done.result;
	if (fails)
		phx_fault_cause(f, m);
	if (!fails && !do_step(f, m, &done))
		return;
	if (done.result < 0 && !fails)
		phx_fault_note(f, m->i, "%s: step %s fails: %s", m->node,
			       phx_enum_name(&phx_step_kind_names, done.task.kind),
			       strerrorname_np(-done.result));
	finish(f, m, &done);
}
