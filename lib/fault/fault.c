/* One life of a cluster under faults: see fault.h. Called by `phx sim faults`
 * and tests/sim; calls everything of world.h. Draws all chance from one
 * generator and reads no clock: the same seed lives the same life. */
#include "fault/parts.h"

#include <errno.h>

enum {
	HOURS = 24,
	NODES = 64,
	KEPT = 200,
	NODES_MAX = 999,
	REST_MOST = 14 * HOUR,
	LOOK_MS = 5 * MINUTE,
	TURNS = 8
};

/* ---- what happens ---- */

struct fault_row {
	const char *name;
	int64_t every_ms;
	bool of_flows;
};

static const struct fault_row rows[] = {
#define FAULT(number, name, every_s, what, holds) {#name, (int64_t)(every_s)*SECOND, false},
#define FAULT_OF_FLOWS(number, name, every_s, what, holds) {#name, (int64_t)(every_s)*SECOND, true},
#include "fault/fault.def"
#undef FAULT_OF_FLOWS
#undef FAULT
};

static int64_t until_next(struct fault_sim *f, int64_t every_ms, uint32_t percent)
{
	int64_t mean = every_ms * 64 / f->n * 100 / (percent ? percent : 100);
	return phx_fault_between(f, mean / 10 + 1, mean * 19 / 10 + 2);
}

static void load(struct fault_sim *f, uint64_t row)
{
	if (f->calm)
		return;
	phx_fault_later(f, until_next(f, phx_fault_loads[row].every_ms, 100), WHAT_LOAD, 0, 0, row);
	if (f->head.up)
		phx_fault_loads[row].act(f);
}

static void inject(struct fault_sim *f, uint64_t row)
{
	if (f->calm)
		return;
	phx_fault_later(f, until_next(f, rows[row].every_ms, f->o.rate_percent), WHAT_FAULT, 0, 0,
			row);
	f->row = (uint32_t)row;
	f->armed = false;
	phx_fault_note(f, -1, "fault %s", rows[row].name);
	phx_fault_injections[row](f);
	f->ret->injected[row] += !f->armed;
}

static void served(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	uint32_t version;
	bool run;
	if (phx_fault_role_of(m, &version, &run) < 0 || !run || !n)
		return;
	m->serves = true;
	m->serves_pool = (int8_t)phx_fault_pool_index(n->pool);
	phx_fault_tenant_writes(f, m);
	phx_fault_tells(f, m);
}

static void enter_local(struct fault_sim *f, struct fault_machine *m)
{
	int disk = phx_fault_installed(f, m);
	if (!m->boot_local || m->stage != STAGE_DEPLOY)
		return;
	if (f->now < m->loop_until) {
		phx_fault_reset(f, m);
		return;
	}
	const struct phx_node *n = phx_fault_node(f, m);
	const char *promised = n && n->role[0] ? phx_fault_kernel(f, n).release : "";
	bool refuses = promised[0] && strcmp(promised, m->kernel.release);
	if (disk >= 0 && !refuses && (!m->disks[disk].key_id[0] || phx_fault_path(f, m)))
		phx_fault_enter(f, m, disk);
	else
		phx_fault_later(f, 20 * SECOND, WHAT_ENTER, m->i, m->gen, 0);
}

/* What belongs to a boot happens in that boot only. */
static void happens_to_boot(struct fault_sim *f, struct fault_machine *m,
			    const struct fault_item *it)
{
	if (it->gen != m->gen)
		return;
	switch ((enum fault_what)it->what) {
	case WHAT_STAGE:
		phx_fault_stage(f, m);
		return;
	case WHAT_ENROL:
		phx_fault_enrol(f, m);
		return;
	case WHAT_HELLO:
		phx_fault_hello(f, m);
		return;
	case WHAT_ENTER:
		enter_local(f, m);
		return;
	case WHAT_STEP_END:
		if (m->busy && m->tasks[0].id == it->a)
			phx_fault_step_end(f, m);
		return;
	case WHAT_JOB_END:
		phx_fault_job_end(f, m, it->a);
		return;
	case WHAT_SERVED:
		served(f, m);
		return;
	case WHAT_SEND:
		phx_fault_send(f, m, it->a);
		return;
	case WHAT_ORDERS:
		phx_fault_orders(f, m);
		return;
	case WHAT_LATE:
		phx_fault_late(f, m, it->a);
		return;
	case WHAT_TASK_ORDER:
		phx_fault_task_order_late(f, m, it->a);
		return;
	case WHAT_KEEPER:
		phx_fault_keeper_starts(f, m);
		return;
	case WHAT_COMES_ON:
		phx_fault_power_on(f, m);
		return;
	case WHAT_LEAVES:
		phx_fault_order(f, PHX_EV_release, m, NULL, NULL, NULL);
		return;
	case WHAT_GOES_OFF:
		phx_fault_power_off(f, m);
		return;
	case WHAT_BEAT:
	case WHAT_SILENCE:
	case WHAT_COPY:
	case WHAT_POWER:
	case WHAT_KEY:
	case WHAT_TICK:
	case WHAT_HEAD_UP:
	case WHAT_LOAD:
	case WHAT_FAULT:
	case WHAT_HEAL:
	case WHAT_ENGINE:
	case WHAT_TASK_END:
	case WHAT_TASK_SYNC:
	case WHAT_HEARTBEAT_TIMEOUT:
	case WHAT_COUNT_:
		return;
	}
}

static void happens_to_head(struct fault_sim *f, const struct fault_item *it)
{
	bool its = it->gen == f->head.starts;
	if (it->what == WHAT_TICK)
		phx_fault_head_tick(f, it->gen);
	else if (it->what == WHAT_HEAD_UP && its)
		phx_fault_head_up(f);
	else if (it->what == WHAT_KEY && its && f->head.up)
		phx_fault_key_done(f, it->a);
}

static void happens_to_tasks(struct fault_sim *f, struct fault_machine *m,
			     const struct fault_item *it)
{
	if (it->what == WHAT_TASK_END)
		phx_fault_task_end(f, m, it->a);
	else if (it->what == WHAT_TASK_SYNC)
		phx_fault_task_sync(f, m, it->gen);
	else
		phx_fault_task_timeout(f, m, it->gen);
}

static void happens(struct fault_sim *f, const struct fault_item *it)
{
	struct fault_machine *m = &f->m[it->m];
	switch ((enum fault_what)it->what) {
	case WHAT_BEAT:
		if (it->gen == m->link_gen)
			phx_fault_beat(f, m);
		return;
	case WHAT_SILENCE:
		if (it->gen == m->link_gen)
			phx_fault_silence(f, m);
		return;
	case WHAT_COPY:
		phx_fault_copy(f, it->a);
		return;
	case WHAT_POWER:
		phx_fault_power(f, m, it->gen);
		return;
	case WHAT_KEY:
	case WHAT_TICK:
	case WHAT_HEAD_UP:
		happens_to_head(f, it);
		return;
	case WHAT_LOAD:
		load(f, it->a);
		return;
	case WHAT_FAULT:
		inject(f, it->a);
		return;
	case WHAT_HEAL:
		phx_fault_link(f, m);
		return;
	case WHAT_ENGINE:
		phx_fault_engine(f, it->gen, it->a);
		return;
	case WHAT_TASK_END:
	case WHAT_TASK_SYNC:
	case WHAT_HEARTBEAT_TIMEOUT:
		happens_to_tasks(f, m, it);
		return;
	case WHAT_TASK_ORDER:
	case WHAT_KEEPER:
	case WHAT_STAGE:
	case WHAT_ENROL:
	case WHAT_HELLO:
	case WHAT_ENTER:
	case WHAT_STEP_END:
	case WHAT_JOB_END:
	case WHAT_SERVED:
	case WHAT_SEND:
	case WHAT_ORDERS:
	case WHAT_LATE:
	case WHAT_COMES_ON:
	case WHAT_LEAVES:
	case WHAT_GOES_OFF:
	case WHAT_COUNT_:
		happens_to_boot(f, m, it);
		return;
	}
}

static void run_until(struct fault_sim *f, int64_t end)
{
	while (!f->failed && f->q.n && phx_fault_item_top(&f->q)->at <= end) {
		struct fault_item it = phx_fault_item_pop(&f->q);
		f->now = it.at;
		happens(f, &it);
	}
	if (!f->failed)
		f->now = end;
}

/* ---- a life ---- */

static void plan_sources(struct fault_sim *f)
{
	for (uint32_t i = 0; i < phx_fault_n_loads; i++)
		if ((f->o.res || !phx_fault_loads[i].of_res) &&
		    (f->o.flows || !phx_fault_loads[i].of_flows))
			phx_fault_later(f, until_next(f, phx_fault_loads[i].every_ms, 100),
					WHAT_LOAD, 0, 0, i);
	for (uint32_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		uint32_t n;
		if ((!f->o.only || phx_fault_infos(&n)[i].number == f->o.only) &&
		    (f->o.flows || !rows[i].of_flows))
			phx_fault_later(f, until_next(f, rows[i].every_ms, f->o.rate_percent),
					WHAT_FAULT, 0, 0, i);
	}
	for (uint32_t i = 0; i < f->n; i++)
		phx_fault_power_on(f, &f->m[i]);
	phx_fault_engine_begin(f);
}

/* Until nothing is under way any more, twice in a row, or for the time that everything may take.
 * Between two looks the timers of runtime environments move nodes as they always do. */
static void come_to_rest(struct fault_sim *f)
{
	int64_t most = f->now + REST_MOST;
	for (int looks = 0; looks < 2 && !f->failed && f->now < most;) {
		run_until(f, f->now + LOOK_MS);
		looks = phx_fault_at_rest(f) ? looks + 1 : 0;
	}
}

static void live(struct fault_sim *f)
{
	plan_sources(f);
	run_until(f, f->end);
	if (f->failed)
		return;
	phx_fault_calm(f);
	come_to_rest(f);
	phx_fault_rest_or_fail(f);
	phx_fault_check_quarantined(f);
	for (int turn = 0; turn < TURNS && !f->failed; turn++) {
		phx_fault_bring_back(f);
		come_to_rest(f);
	}
	if (!f->failed)
		phx_fault_check_rest(f);
}

static int check_options(const struct phx_fault_options *o, struct phx_err *err)
{
	uint32_t n;
	bool known = !o->only;
	const struct phx_fault_info *infos = phx_fault_infos(&n);
	for (uint32_t i = 0; i < n; i++)
		known = known || infos[i].number == o->only;
	if (!known)
		return phx_err_set(err, -EINVAL, "fault %u is not in the table of faults", o->only);
	if (o->nodes > NODES_MAX)
		return phx_err_set(err, -EINVAL, "nodes: must be from 1 to %d", NODES_MAX);
	if (o->hours > 1000000 || o->rate_percent > 10000 || o->events_kept > 10000000)
		return phx_err_set(err, -EINVAL,
				   "hours, rate or events kept: too much to be lived through");
	return 0;
}

static int tell_lines(const struct fault_sim *f, struct phx_list *ret)
{
	uint32_t n = f->n_notes < f->notes_cap ? f->n_notes : f->notes_cap;
	for (uint32_t i = 0; i < n; i++) {
		const struct fault_note *note = &f->notes[(f->n_notes - n + i) % f->notes_cap];
		struct phx_fault_line *line = phx_list_push(ret, sizeof(*line));
		if (!line)
			return -ENOMEM;
		line->time_ms = note->at;
		PHX_STR_SET(line->text, note->text);
	}
	return 0;
}

static void finish(struct fault_sim *f)
{
	phx_fault_head_fini(f);
	phx_list_fini(&f->q);
	for (uint32_t i = 0; f->m && i < f->n; i++)
		phx_fault_lose_results(&f->m[i]);
	PHX_LIST_EACH(struct fault_copy, c, &f->copies)
		phx_fault_copy_fini(c);
	phx_list_fini(&f->copies);
	phx_list_fini(&f->lates);
	phx_list_fini(&f->begun);
	phx_hash_fini(&f->begun_index);
	phx_list_fini(&f->engine.orders);
	phx_fault_keepers_fini(f);
	phx_fault_flows_fini(f);
	free(f->m);
	free(f->notes);
}

/* A fault of workflows alone wants some. */
static bool wants_flows(const struct phx_fault_options *o)
{
	uint32_t n;
	const struct phx_fault_info *infos = phx_fault_infos(&n);
	for (uint32_t i = 0; i < n; i++)
		if (o->only && infos[i].number == o->only)
			return infos[i].of_flows;
	return false;
}

static int live_once(const struct phx_fault_options *options, uint32_t notes_cap,
		     struct phx_fault_result *ret, struct phx_err *err)
{
	struct phx_fault_result result = {.seed = options->seed};
	struct fault_sim f = {
		.o = *options, .ret = &result, .rng = {options->seed}, .hash = PHX_MIX_NONE};
	f.o.flows = wants_flows(options) || options->flows;
	f.o.res = options->res || f.o.flows;
	f.n = options->nodes ? options->nodes : NODES;
	f.end = (int64_t)(options->hours ? options->hours : HOURS) * HOUR;
	f.notes_cap = notes_cap;
	f.notes = calloc(notes_cap + 1, sizeof(*f.notes));
	int r = f.notes ? phx_fault_equip(&f) : -ENOMEM;
	if (r == 0)
		live(&f);
	if (r < 0 && !f.failed)
		phx_err_set(err, r, "the cluster cannot be set up");
	result.ok = r == 0 && !f.failed;
	result.time_ms = f.now;
	result.hash = f.hash;
	r = f.failed ? 0 : r;
	r = r ? r : tell_lines(&f, &result.lines);
	finish(&f);
	if (r < 0)
		phx_fault_result_fini(&result);
	else
		*ret = result;
	return r;
}

/* The event list costs time and is wanted of lives that end badly: those are lived again, and are
 * the same. */
int phx_fault_run(const struct phx_fault_options *options, struct phx_fault_result *ret,
		  struct phx_err *err)
{
	struct phx_fault_result first;
	int r = check_options(options, err);
	r = r ? r : live_once(options, 0, &first, err);
	if (r < 0 || first.ok) {
		if (r == 0)
			*ret = first;
		return r;
	}
	uint64_t hash = first.hash;
	phx_fault_result_fini(&first);
	r = live_once(options, options->events_kept ? options->events_kept : KEPT, ret, err);
	if (r == 0 && ret->hash != hash) {
		ret->ok = false;
		PHX_STR_SET(ret->invariant, "replay");
		PHX_STR_SET(ret->violation, "the same seed did not live the same life again");
	}
	return r;
}

void phx_fault_result_fini(struct phx_fault_result *r)
{
	phx_list_fini(&r->lines);
	*r = (struct phx_fault_result){0};
}
