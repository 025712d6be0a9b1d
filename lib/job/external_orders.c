/* What engines that are not ours are to be told: derived from state at any time,
 * from what they last told of themselves (external.c), so that nothing has to be
 * remembered and telling it twice does it once:
 *
 *   node serves the RE           ──▶ open:    it may start jobs there
 *   anything else                ──▶ close:   it starts no more; then
 *   job must go                  ──▶ requeue: it is queued again there (or cancel, if it cannot)
 *   job was, and waits for that  ──▶ expedite:   it need not wait for its time
 *   RE is suspended              ──▶ refuse:  a partition takes no new job, those it has may start
 *   anything else                ──▶ admit
 *
 * A node is closed before its jobs are told to go, so that nothing else starts on what comes
 * free. Orders take their time: what an engine last told of a node counts for its hand-over only
 * if it was told after that began (sure), and whoever asks the engine tells anew of what it had
 * an order for. What somebody else closed is left to him. Called for the worker that asks the
 * engine, and where a node is handed on. Pure. */
#include "job/internal.h"

#include <errno.h>
#include <string.h>

/* ---- what it tells of: nodes, and partitions ---- */

/* The place of `name`, or where it would be inserted. */
static uint32_t place_of(const struct phx_list *list, const char *name, bool *ret_found)
{
	uint32_t low = 0, high = list->n;
	*ret_found = false;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int c = strcmp(PHX_LIST_AT(list, struct phx_engine_node, mid)->name, name);
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

struct phx_engine_node *phx_engine_there(const struct phx_list *list, const char *name)
{
	bool found;
	uint32_t at = place_of(list, name, &found);
	return found ? PHX_LIST_AT(list, struct phx_engine_node, at) : NULL;
}

static int put(struct phx_list *list, const struct phx_engine_node *told)
{
	bool found;
	uint32_t at = place_of(list, told->name, &found);
	if (!found) {
		if (!phx_list_push(list, sizeof(*told)))
			return -ENOMEM;
		struct phx_engine_node *items = list->items;
		memmove(&items[at + 1], &items[at], (list->n - 1 - at) * sizeof(*items));
	}
	struct phx_engine_node *n = PHX_LIST_AT(list, struct phx_engine_node, at);
	*n = *told;
	n->sure = true;
	return 0;
}

/* Does the RE take no new jobs? Jobs that it has are started and run to their end. */
static bool refuses(const struct phx_re *re)
{
	return re->state == PHX_RE_STATE_SUSPENDED;
}

/* Slurm does not say who drained a partition. We did if it was open when the RE was suspended, or
 * has appeared since. */
static bool is_ours(const struct phx_re *re, const struct phx_engine_node *told,
		    const struct phx_engine_node *before)
{
	if (told->state == PHX_ENGINE_NODE_CLOSED)
		return told->ours && before && before->ours;
	return refuses(re);
}

static int put_partitions(const struct phx_event_re_queue *p, struct phx_re *re)
{
	struct phx_list before = re->engine_partitions, now = {0};
	struct phx_list *to = p->whole ? &now : &before;
	int r = 0;
	PHX_LIST_EACH(struct phx_engine_node, told, &p->engine_partitions) {
		struct phx_engine_node one = *told;
		one.ours = is_ours(re, told, phx_engine_there(&before, told->name));
		r = r ? r : put(to, &one);
	}
	phx_list_fini(p->whole ? &before : &now);
	re->engine_partitions = *to;
	return r;
}

int phx_engine_put(const struct phx_event_re_queue *p, struct phx_re *re)
{
	int r = put_partitions(p, re);
	if (p->whole)
		re->engine_nodes.n = 0;
	PHX_LIST_EACH(struct phx_engine_node, told, &p->engine_nodes)
		r = r ? r : put(&re->engine_nodes, told);
	return r;
}

void phx_engine_suspended(struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_engine_node, p, &re->engine_partitions)
		p->ours = p->ours || p->state == PHX_ENGINE_NODE_OPEN;
}

bool phx_engine_refuses(const struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_engine_node, p, &re->engine_partitions)
		if (p->state == PHX_ENGINE_NODE_CLOSED && p->ours)
			return true;
	return false;
}

/* ---- what a node is to the engine ---- */

bool phx_engine_serves(const struct phx_re *re, const struct phx_node *n)
{
	return re->state != PHX_RE_STATE_DEACTIVATED && n->state == PHX_NODE_ACTIVE &&
		!phx_node_step(n) && !strcmp(n->pool, re->name) &&
		!strcmp(n->role, re->agreement.role);
}

bool phx_engine_may_start(const struct phx_engine_node *there)
{
	return there &&
		(there->state == PHX_ENGINE_NODE_OPEN ||
		 (there->state == PHX_ENGINE_NODE_CLOSED && there->ours && !there->sure));
}

/* Must a node that is closed be closed again, because an order to open it may be on its way? */
static bool is_doubtful(const struct phx_re *re, const struct phx_node *n,
			const struct phx_engine_node *there)
{
	return phx_node_step(n) && !strcmp(n->pool, re->name) && phx_engine_may_start(there);
}

/* May jobs start on the node? No other may start where a job is told to go (`kills`: there are such
 * jobs). */
static bool may_open(const struct phx_state *s, const struct phx_re *re, const struct phx_node *n,
		     bool kills)
{
	if (!phx_engine_serves(re, n) || !n->up ||
	    (n->allocation != PHX_ALLOCATION_HELD && !n->pinned))
		return false;
	const struct phx_job *j =
		n->allocated_job && kills ? phx_state_job(s, n->allocated_job) : NULL;
	return !j || !phx_job_is_killed(j);
}

bool phx_engine_runs(const struct phx_job *j, const struct phx_re *re)
{
	return j->engine_id[0] && j->state == PHX_JOB_RUNNING && !strcmp(j->re, re->name);
}

/* ---- hand-overs of its nodes ---- */

int phx_engine_number(const struct phx_re *re)
{
	return re->active ? (int)re->number : -1;
}

/* The RE in whose pool the node is, if it has an external engine; else NULL. */
static const struct phx_re *re_of(const struct phx_state *s, const struct phx_node *n)
{
	if (!n->pool[0])
		return NULL;
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && re->attached ? re : NULL;
}

void phx_engine_send_away(struct phx_apply *a, const struct phx_re *re, struct phx_job *j,
			  const struct phx_node *n)
{
	if (!phx_job_end_early(a, j, PHX_JOB_END_KILLED))
		return;
	phx_note_re(a, n, re->name, NULL,
		    "job %s of RE %s is killed%s: it runs on %s, which is taken away",
		    phx_job_title(j).text, re->name, j->no_requeue ? "" : " and queued again",
		    n->name);
}

bool phx_engine_holds(struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_re *re = re_of(a->s, n);
	if (!re)
		return false;
	struct phx_job *j = phx_index_job_on(a->s, n);
	if (j && phx_engine_runs(j, re))
		phx_engine_send_away(a, re, j, n);
	const struct phx_engine_node *there = phx_engine_there(&re->engine_nodes, n->name);
	return n->jobs_running || re->trouble[0] || phx_engine_may_start(there);
}

void phx_engine_doubt(struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_re *re = re_of(a->s, n);
	struct phx_engine_node *there = re ? phx_engine_there(&re->engine_nodes, n->name) : NULL;
	if (there)
		there->sure = false;
}

/* ---- orders ---- */

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
	PHX_INDEX_EACH_JOB_OF(j, s, re->name)
		if (phx_engine_runs(j, re) && phx_job_is_killed(j))
			return true;
	return false;
}

static bool is_in_pool(const struct phx_node *n, const struct phx_re *re)
{
	return !strcmp(n->pool, re->name);
}

/* Nodes outside of the RE's pool on which its engine starts jobs: somebody opened them there, or
 * they left the RE. What the engine told of is gone through, and only such a node is looked at. */
static int close_others(const struct phx_state *s, const struct phx_re *re, struct phx_list *ret)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_engine_node, there, &re->engine_nodes) {
		const struct phx_node *n = r == 0 && there->state == PHX_ENGINE_NODE_OPEN
			? phx_state_node(s, there->name)
			: NULL;
		if (n && !is_in_pool(n, re))
			r = add_order(ret, PHX_ENGINE_CLOSE, n->name);
	}
	return r;
}

/* The orders of this kind for nodes in the RE's pool: no node outside of it may be open. */
static int order_nodes(const struct phx_state *s, const struct phx_re *re, enum phx_engine_act kind,
		       struct phx_list *ret)
{
	bool kills = kills_some(s, re);
	int r = 0;
	PHX_INDEX_EACH_OF_RE(n, s, re->name) {
		const struct phx_engine_node *there =
			is_in_pool(n, re) ? phx_engine_there(&re->engine_nodes, n->name) : NULL;
		if (!there || r < 0)
			continue;
		bool open = may_open(s, re, n, kills);
		if (kind == PHX_ENGINE_CLOSE
			    ? !open &&
				    (there->state == PHX_ENGINE_NODE_OPEN ||
				     is_doubtful(re, n, there))
			    : open && there->state == PHX_ENGINE_NODE_CLOSED && there->ours)
			r = add_order(ret, kind, n->name);
	}
	return r;
}

static int order_jobs(const struct phx_state *s, const struct phx_re *re, struct phx_list *ret)
{
	int r = 0;
	PHX_INDEX_EACH_JOB_OF(j, s, re->name)
		if (r == 0 && phx_engine_runs(j, re) && phx_job_is_killed(j) && !j->ending)
			r = add_order(ret, j->no_requeue ? PHX_ENGINE_CANCEL : PHX_ENGINE_REQUEUE,
				      j->engine_id);
	return r;
}

static int order_expedite(const struct phx_state *s, const struct phx_re *re, struct phx_list *ret)
{
	int r = 0;
	PHX_INDEX_EACH_JOB_OF(j, s, re->name)
		if (r == 0 && j->expedite && j->begin_ms && j->state == PHX_JOB_QUEUED)
			r = add_order(ret, PHX_ENGINE_EXPEDITE, j->engine_id);
	return r;
}

static int order_partitions(const struct phx_re *re, struct phx_list *ret)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_engine_node, p, &re->engine_partitions) {
		bool closed = p->state == PHX_ENGINE_NODE_CLOSED;
		if (r == 0 && refuses(re) && p->state == PHX_ENGINE_NODE_OPEN)
			r = add_order(ret, PHX_ENGINE_REFUSE, p->name);
		else if (r == 0 && !refuses(re) && closed && p->ours)
			r = add_order(ret, PHX_ENGINE_ADMIT, p->name);
	}
	return r;
}

int phx_engine_orders(const struct phx_state *s, const char *name, struct phx_list *ret_orders)
{
	const struct phx_re *re = phx_state_re(s, name);
	if (!re || !re->attached)
		return -ENOENT;
	if (re->trouble[0])
		return 0;
	int r = order_nodes(s, re, PHX_ENGINE_CLOSE, ret_orders);
	r = r ? r : close_others(s, re, ret_orders);
	r = r ? r : order_jobs(s, re, ret_orders);
	r = r ? r : order_nodes(s, re, PHX_ENGINE_OPEN, ret_orders);
	/* last: no hand-over waits for these */
	r = r ? r : order_partitions(re, ret_orders);
	return r ? r : order_expedite(s, re, ret_orders);
}
