/* Batch REs whose jobs an engine starts that is not ours: Slurm. It tells of its
 * jobs and nodes (re_queue); here they become jobs of the RE that the ledger
 * counts, so that demand, idle nodes, kill order and forced returns are those of
 * every RE. What it is to be told in turn is derived from state at any time:
 *
 *   serves the RE       ──▶ open:  it may start jobs there
 *   anything else       ──▶ close: it starts no more; then jobs that must go are queued again there
 *   closed and no job   ──▶ the hand-over goes on (phx_engine_holds)
 *
 * A node is closed before its jobs are told to go, so that nothing else starts
 * on what comes free; and it is only let go on by a report in which it is closed
 * and empty. Reports that do not come stop all this and lose nothing. Pure. */
#include "core/index.h"
#include "core/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { JOBS_MAX = 100000, HOSTS_MAX = 65536 };

struct phx_job_title phx_job_title(const struct phx_job *j)
{
	struct phx_job_title t;
	if (j->engine_id[0])
		snprintf(t.text, sizeof(t.text), "%s", j->engine_id);
	else
		snprintf(t.text, sizeof(t.text), "%llu", (unsigned long long)j->id);
	return t;
}

/* Its number in the ledger, which it leaves before its last node has left the engine. */
static int number_of(const struct phx_re *re)
{
	return re->active ? (int)re->number : -1;
}

/* Whose pool the node is in, if its engine is not ours. */
static const struct phx_re *re_of(const struct phx_state *s, const struct phx_node *n)
{
	if (!n->pool[0])
		return NULL;
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && re->attached ? re : NULL;
}

bool phx_engine_is_foreign(const struct phx_state *s, const struct phx_node *n)
{
	return re_of(s, n) != NULL;
}

/* ---- its nodes ---- */

/* Where `name` is, or belongs. */
static uint32_t place_of(const struct phx_re *re, const char *name, bool *ret_found)
{
	uint32_t low = 0, high = re->engine_nodes.n;
	*ret_found = false;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int c = strcmp(PHX_LIST_AT(&re->engine_nodes, struct phx_engine_node, mid)->name, name);
		if (c == 0) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct phx_engine_node *node_there(const struct phx_re *re, const char *name)
{
	bool found;
	uint32_t at = place_of(re, name, &found);
	return found ? PHX_LIST_AT(&re->engine_nodes, struct phx_engine_node, at) : NULL;
}

static int put_node(struct phx_re *re, const struct phx_engine_node *told)
{
	bool found;
	uint32_t at = place_of(re, told->name, &found);
	if (!found) {
		if (!phx_list_push(&re->engine_nodes, sizeof(*told)))
			return -ENOMEM;
		struct phx_engine_node *items = re->engine_nodes.items;
		memmove(&items[at + 1], &items[at], (re->engine_nodes.n - 1 - at) * sizeof(*items));
	}
	*PHX_LIST_AT(&re->engine_nodes, struct phx_engine_node, at) = *told;
	return 0;
}

static int put_nodes(struct phx_apply *a, struct phx_re *re)
{
	int r = 0;
	if (a->ev->whole)
		re->engine_nodes.n = 0;
	PHX_LIST_EACH(struct phx_engine_node, told, &a->ev->engine_nodes)
		r = r ? r : put_node(re, told);
	return r;
}

/* ---- what a node is to the engine ---- */

/* It serves the RE, and nobody takes it away. */
static bool serves(const struct phx_re *re, const struct phx_node *n)
{
	return re->state != PHX_RE_STATE_DEACTIVATED && n->state == PHX_NODE_ACTIVE && !phx_node_step(n) &&
	       !strcmp(n->pool, re->name) && !strcmp(n->role, re->agreement.role);
}

/* May jobs start there? Where one is told to go (kills: there are such), no other may come in its place. */
static bool may_open(const struct phx_state *s, const struct phx_re *re, const struct phx_node *n, bool kills)
{
	if (!serves(re, n) || !n->up || (n->share != PHX_SHARE_HELD && !n->pinned))
		return false;
	const struct phx_job *j = n->share_job && kills ? phx_state_job(s, n->share_job) : NULL;
	return !j || !j->killing;
}

static bool runs_there(const struct phx_job *j, const struct phx_re *re)
{
	return j->engine_id[0] && j->state == PHX_JOB_RUNNING && !strcmp(j->re, re->name);
}

/* It ends there, to be queued again there, as the ledger hears. */
static void send_away(struct phx_apply *a, const struct phx_re *re, struct phx_job *j, const struct phx_node *n)
{
	if (j->killing)
		return;
	j->killing = true;
	a->out->changed = true;
	phx_note_re(a, n, re->name, NULL, "job %s of RE %s is killed%s: it runs on %s, which is taken away",
		    phx_job_title(j).text, re->name, j->no_requeue ? "" : " and queued again", n->name);
	phx_ledger_lost_busy(a->s->ledger, number_of(re), j->id, 0, a->s->now_ms, a->todo);
}

bool phx_engine_holds(struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_re *re = re_of(a->s, n);
	if (!re)
		return false;
	struct phx_job *j = phx_index_job_on(a->s, n);
	if (j && runs_there(j, re))
		send_away(a, re, j, n);
	const struct phx_engine_node *there = node_there(re, n->name);
	return n->jobs_running || re->trouble[0] || (there && there->state == PHX_ENGINE_NODE_OPEN);
}

/* ---- its jobs ---- */

static struct phx_job *find_job(const struct phx_state *s, const struct phx_re *re, const char *id)
{
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if ((j->state == PHX_JOB_QUEUED || j->state == PHX_JOB_RUNNING) && !strcmp(j->engine_id, id) &&
		    !strcmp(j->re, re->name))
			return j;
	return NULL;
}

static const struct phx_batch_job *in_ledger(const struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	return re->active ? phx_batch_job(phx_ledger_batch(a->s->ledger, (int)re->number), j->id) : NULL;
}

static bool is_there(int state)
{
	return state == PHX_ENGINE_JOB_RUNNING || state == PHX_ENGINE_JOB_ENDING;
}

static bool is_over(int state)
{
	return state >= PHX_ENGINE_JOB_DONE;
}

static void end_part(struct phx_apply *a, struct phx_job_part *p)
{
	struct phx_node *n = p->ended ? NULL : phx_state_node(a->s, p->node);
	p->ended = true;
	if (!n || !n->jobs_running)
		return;
	n->jobs_running--;
	phx_index_runs(a->s, n, 0);
	phx_touch(a->s, n);
}

/* Its run is over everywhere; `waits`: it is queued there again. */
static void end_run(struct phx_apply *a, const struct phx_re *re, struct phx_job *j, bool waits)
{
	const struct phx_batch_job *b = in_ledger(a, re, j);
	bool runs = b && (b->state == PHX_BATCH_RUNNING || b->state == PHX_BATCH_KILLING);
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		end_part(a, p);
	phx_share_job_over(a, j);
	if (runs && waits && b->state == PHX_BATCH_KILLING)
		phx_ledger_job_killed(a->s->ledger, number_of(re), j->id, a->s->now_ms, a->todo);
	else if (runs)
		phx_ledger_job_ended(a->s->ledger, number_of(re), j->id, a->s->now_ms, a->todo);
	phx_list_fini(&j->parts);
	phx_job_become(a, j, PHX_JOB_QUEUED);
	j->killing = j->ending = false;
	j->started_ms = 0;
}

/* It is over for good. */
static void end_job(struct phx_apply *a, const struct phx_re *re, struct phx_job *j, int state, int64_t status)
{
	if (j->state == PHX_JOB_RUNNING)
		end_run(a, re, j, false);
	else if (in_ledger(a, re, j))
		phx_ledger_job_cancel(a->s->ledger, number_of(re), j->id, a->s->now_ms, a->todo);
	phx_job_become(a, j, state == PHX_ENGINE_JOB_FAILED    ? PHX_JOB_FAILED :
			     state == PHX_ENGINE_JOB_CANCELLED ? PHX_JOB_CANCELLED :
								 PHX_JOB_DONE);
	j->status = status;
	j->ended_ms = a->s->now_ms;
	a->out->changed = true;
}

static const struct phx_engine_job *told_of(const struct phx_event *ev, const char *id)
{
	PHX_LIST_EACH(struct phx_engine_job, t, &ev->engine_jobs)
		if (!strcmp(t->id, id))
			return t;
	return NULL;
}

static bool on_host(const struct phx_engine_job *t, const char *node)
{
	PHX_LIST_EACH(struct phx_engine_host, h, &t->hosts)
		if (!strcmp(h->node, node))
			return true;
	return false;
}

/* Runs that are over, before others that began on their nodes. */
static void look_at_old(struct phx_apply *a, const struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs)
	{
		if (!j->engine_id[0] || strcmp(j->re, re->name) || j->ended_ms)
			continue;
		const struct phx_engine_job *t = told_of(a->ev, j->engine_id);
		if (!t && a->ev->whole)
			end_job(a, re, j, PHX_ENGINE_JOB_DONE, 0);
		if (!t)
			continue;
		if (is_over(t->state))
			end_job(a, re, j, t->state, t->status);
		else if (j->state == PHX_JOB_RUNNING &&
			 (!is_there(t->state) || (t->state == PHX_ENGINE_JOB_RUNNING && t->started_ms != j->started_ms)))
			end_run(a, re, j, true);
		else if (j->state == PHX_JOB_RUNNING)
			PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
				if (!on_host(t, p->node))
					end_part(a, p);
	}
}

/* It waits in the ledger too, as far as that takes it: one that is wider than the RE can be only waits there. */
static void queue_in_ledger(struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	struct phx_err why = { 0 };
	struct phx_batch_job b = { .id = j->id,
				   .submit_ms = j->submitted_ms,
				   .estimate_ms = j->estimate_ms ? j->estimate_ms : -1,
				   .size = j->nodes,
				   .no_requeue = j->no_requeue,
				   .state = j->held ? PHX_BATCH_HELD : PHX_BATCH_WAITING };
	const struct phx_batch_job *now = in_ledger(a, re, j);
	if (!now)
		phx_ledger_submit(a->s->ledger, number_of(re), &b, a->s->now_ms, a->todo, &why);
	else if ((now->state == PHX_BATCH_HELD) != j->held)
		phx_ledger_job_hold(a->s->ledger, number_of(re), j->id, j->held, a->s->now_ms, a->todo);
}

static int add_parts(struct phx_apply *a, struct phx_job *j, const struct phx_engine_job *t)
{
	PHX_LIST_EACH(struct phx_engine_host, h, &t->hosts)
	{
		struct phx_node *n = phx_state_node(a->s, h->node);
		struct phx_job_part *p = phx_list_push(&j->parts, sizeof(*p));
		if (!p)
			return -ENOMEM;
		PHX_STR_SET(p->node, h->node);
		p->ended = n && n->jobs_running; /* whole nodes: there is no second one to count */
		if (!n || p->ended)
			continue;
		n->jobs_running++;
		phx_index_runs(a->s, n, j->id);
		phx_touch(a->s, n);
	}
	return 0;
}

/* The node is one that the ledger counts idle in the RE. */
static bool counts_idle(const struct phx_re *re, const struct phx_node *n)
{
	return n && n->share == PHX_SHARE_HELD && !n->share_job && !strcmp(n->share_re, re->name);
}

/* Of its nodes those that the ledger counts in the RE; ret_taken: one that is on its way out of it. */
static uint32_t count_held(const struct phx_apply *a, const struct phx_re *re, const struct phx_job *j,
			   const struct phx_node **ret_taken)
{
	uint32_t n_held = 0;
	*ret_taken = NULL;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
	{
		const struct phx_node *n = phx_state_node(a->s, p->node);
		n_held += !p->ended && counts_idle(re, n);
		if (n && !serves(re, n))
			*ret_taken = n;
	}
	return n_held;
}

/* It runs there: the ledger hears of it. Where a node of it was promised away a moment before, it goes back to the queue
 * at once, and the ledger need not know that it ran. */
static void count_run(struct phx_apply *a, const struct phx_re *re, struct phx_job *j)
{
	const struct phx_node *taken;
	uint32_t n_held = count_held(a, re, j, &taken);
	if (taken) {
		send_away(a, re, j, taken);
		return;
	}
	queue_in_ledger(a, re, j);
	if (!n_held) { /* on nodes that the policy does not count: no demand either */
		phx_ledger_job_cancel(a->s->ledger, number_of(re), j->id, a->s->now_ms, a->todo);
		return;
	}
	if (phx_ledger_job_started(a->s->ledger, number_of(re), j->id, n_held, j->started_ms, a->s->now_ms, a->todo) < 0)
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
	{
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (!counts_idle(re, n) || p->ended)
			continue;
		n->share_job = j->id;
		phx_touch(a->s, n);
	}
}

static bool counts_run(const struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	const struct phx_batch_job *b = in_ledger(a, re, j);
	return b && (b->state == PHX_BATCH_RUNNING || b->state == PHX_BATCH_KILLING);
}

static void count_runs(struct phx_apply *a, const struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs)
		if (runs_there(j, re) && !j->killing && !counts_run(a, re, j))
			count_run(a, re, j);
}

static struct phx_job *add_job(struct phx_apply *a, const struct phx_re *re, const struct phx_engine_job *t)
{
	struct phx_job *j = phx_list_push(&a->s->jobs, sizeof(*j));
	if (!j)
		return NULL;
	struct phx_word *name = phx_list_push(&j->argv, sizeof(*name));
	if (name)
		snprintf(name->text, sizeof(name->text), "(Slurm's job %s)", t->id); /* what it runs is not told */
	j->id = ++a->s->last_job_id;
	PHX_STR_SET(j->re, re->name);
	PHX_STR_SET(j->engine_id, t->id);
	phx_job_count(a, j, 1);
	return j;
}

/* What it is now, after what it was has ended. */
static int look_at_new(struct phx_apply *a, const struct phx_re *re, const struct phx_engine_job *t)
{
	struct phx_job *j = find_job(a->s, re, t->id);
	if (is_over(t->state))
		return 0;
	j = j ? j : add_job(a, re, t);
	if (!j)
		return -ENOMEM;
	j->nodes = t->nodes;
	j->uid = t->uid;
	PHX_STR_SET(j->user, t->user);
	j->estimate_ms = t->limit_ms;
	j->no_requeue = t->no_requeue || re->agreement.no_requeue;
	j->kills = t->restarts;
	j->submitted_ms = t->submitted_ms;
	j->held = t->state == PHX_ENGINE_JOB_HELD;
	j->ending = t->state == PHX_ENGINE_JOB_ENDING;
	a->out->changed = true;
	if (!is_there(t->state))
		queue_in_ledger(a, re, j);
	if (!is_there(t->state) || j->state == PHX_JOB_RUNNING)
		return 0;
	phx_job_become(a, j, PHX_JOB_RUNNING);
	j->started_ms = t->started_ms;
	return add_parts(a, j, t);
}

/* ---- the event ---- */

static int check_job(struct phx_apply *a, const struct phx_engine_job *t)
{
	if (!t->id[0] || !t->nodes || t->nodes > HOSTS_MAX || t->hosts.n > HOSTS_MAX || t->state < 0 ||
	    t->state > PHX_ENGINE_JOB_CANCELLED || t->limit_ms < 0)
		return phx_err_set(a->err, -EINVAL, "job '%s': cannot be as it is told", t->id);
	if (is_there(t->state) == !t->hosts.n)
		return phx_err_set(a->err, -EINVAL, "job '%s': runs on %u nodes and is %s", t->id, t->hosts.n,
				   phx_enum_name(&phx_engine_job_state_names, t->state));
	return 0;
}

static int check_event(struct phx_apply *a, struct phx_re **ret)
{
	const struct phx_event *ev = a->ev;
	*ret = phx_state_re(a->s, ev->re);
	int r = 0;
	if (!*ret)
		return phx_err_set(a->err, -ENOENT, "there is no RE '%s'", ev->re);
	if (!(*ret)->attached)
		return phx_err_set(a->err, -EINVAL, "RE '%s' is not active with an engine of its own", ev->re);
	if (ev->engine_jobs.n > JOBS_MAX || ev->engine_nodes.n > HOSTS_MAX)
		return phx_err_set(a->err, -E2BIG, "RE '%s': more jobs or nodes than are looked after", ev->re);
	PHX_LIST_EACH(struct phx_engine_job, t, &ev->engine_jobs)
		r = r ? r : check_job(a, t);
	PHX_LIST_EACH(struct phx_engine_node, n, &ev->engine_nodes)
		if (!n->name[0] && !r)
			r = phx_err_set(a->err, -EINVAL, "RE '%s': a node has no name", ev->re);
	return r;
}

static int apply_trouble(struct phx_apply *a, struct phx_re *re)
{
	char why[sizeof(re->trouble)];
	snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, a->ev->text);
	if (!strcmp(re->trouble, why))
		return 0;
	PHX_STR_SET(re->trouble, why);
	a->out->changed = true;
	phx_note_re(a, NULL, re->name, NULL, "%s of RE %s cannot be asked, and nothing is taken from it until it can: %.150s",
		    phx_enum_name(&phx_re_engine_names, re->agreement.engine), re->name, why);
	return 0;
}

/* It waits for the engine to let go of it. */
static bool waits(const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	return step && step->kind == PHX_STEP_drain && step->status == PHX_STEP_PENDING;
}

/* Hand-overs that wait for the engine look again. */
static void advance_waiting(struct phx_apply *a, const struct phx_re *re)
{
	for (uint32_t i = 0; i < a->s->nodes.n; i++) {
		struct phx_node *n = PHX_LIST_AT(&a->s->nodes, struct phx_node, i);
		if (waits(n) && !strcmp(n->pool, re->name))
			phx_handover_advance(a, n);
	}
}

int phx_apply_re_queue(struct phx_apply *a)
{
	struct phx_re *re;
	int r = check_event(a, &re);
	if (r < 0 || a->ev->text[0])
		return r < 0 ? r : apply_trouble(a, re);
	if (re->trouble[0])
		phx_note_re(a, NULL, re->name, NULL, "%s of RE %s answers",
			    phx_enum_name(&phx_re_engine_names, re->agreement.engine), re->name);
	a->out->changed = a->out->changed || re->trouble[0] || a->ev->engine_nodes.n || a->ev->whole;
	re->trouble[0] = '\0';
	r = put_nodes(a, re);
	look_at_old(a, re);
	PHX_LIST_EACH(struct phx_engine_job, t, &a->ev->engine_jobs)
		r = r ? r : look_at_new(a, re, t);
	/* what came free goes where it was promised, rather not from under what began; then the rest is counted */
	phx_share_settle(a);
	if (re->attached)
		count_runs(a, re);
	advance_waiting(a, re);
	phx_jobs_forget_old(a->s);
	return r;
}

void phx_engine_begin(struct phx_re *re)
{
	if (re->agreement.engine == PHX_RE_ENGINE_BUILTIN || re->attached)
		return;
	re->attached = true;
	PHX_STR_SET(re->trouble, "it has not been asked yet");
}

void phx_engine_end(struct phx_apply *a, struct phx_re *re)
{
	if (!re->attached || re->active)
		return;
	PHX_LIST_EACH(struct phx_node, n, &a->s->nodes)
		if (waits(n) && !strcmp(n->pool, re->name))
			return;
	for (uint32_t i = a->s->jobs.n; i-- > 0;) {
		struct phx_job *j = PHX_LIST_AT(&a->s->jobs, struct phx_job, i);
		if (!j->engine_id[0] || strcmp(j->re, re->name) || j->ended_ms)
			continue;
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
			end_part(a, p);
		phx_share_job_over(a, j);
		phx_job_count(a, j, -1u);
		phx_record_fini(&phx_job_record, j);
		phx_list_remove(&a->s->jobs, sizeof(*j), i);
	}
	phx_list_fini(&re->engine_nodes);
	re->attached = false;
	re->trouble[0] = '\0';
	a->out->changed = true;
	phx_touch_all(a->s);
}

/* ---- what it is to be told ---- */

static int add_order(struct phx_list *ret, enum phx_engine_act kind, const char *target)
{
	struct phx_engine_order *o = phx_list_push(ret, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->kind = (int)kind;
	return PHX_STR_SET(o->target, target);
}

static bool kills_some(const struct phx_state *s, const struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if (runs_there(j, re) && j->killing)
			return true;
	return false;
}

static int order_nodes(const struct phx_state *s, const struct phx_re *re, enum phx_engine_act kind, struct phx_list *ret)
{
	bool kills = kills_some(s, re);
	int r = 0;
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
	{
		const struct phx_engine_node *there = node_there(re, n->name);
		if (!there || r < 0)
			continue;
		bool open = may_open(s, re, n, kills);
		if (kind == PHX_ENGINE_CLOSE ? !open && there->state == PHX_ENGINE_NODE_OPEN :
					       open && there->state == PHX_ENGINE_NODE_CLOSED && there->ours)
			r = add_order(ret, kind, n->name);
	}
	return r;
}

int phx_core_engine_orders(const struct phx_state *s, const char *name, struct phx_list *ret_orders)
{
	const struct phx_re *re = phx_state_re(s, name);
	if (!re || !re->attached)
		return -ENOENT;
	if (re->trouble[0])
		return 0;
	int r = order_nodes(s, re, PHX_ENGINE_CLOSE, ret_orders);
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		if (r == 0 && runs_there(j, re) && j->killing && !j->ending)
			r = add_order(ret_orders, j->no_requeue ? PHX_ENGINE_CANCEL : PHX_ENGINE_REQUEUE, j->engine_id);
	return r ? r : order_nodes(s, re, PHX_ENGINE_OPEN, ret_orders);
}
