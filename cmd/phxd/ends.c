/* What an order would end that somebody uses: jobs and logins. The core says which jobs; logins are
 * reported by agents with their beats, so they are only shown and asked about, and decide nothing.
 * Called by the handlers of dry runs. Reads only. */
#include "phxd/ends.h"

#include <string.h>

#include "job/job.h"
#include "node/order.h"
#include "state/index.h"

enum { JOBS_MAX = 10000 };

/* `ends`: the order ends the job, else it waits for it; `again`: the job may run again afterwards.
 */
static json_t *view_job(const struct phx_job *j, bool ends, bool again)
{
	const struct phx_text *first = j->argv.n ? PHX_LIST_AT(&j->argv, struct phx_text, 0) : NULL;
	bool runs = j->state == PHX_JOB_RUNNING;
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:b,s:b,s:s}", "id",
			 (json_int_t)j->id, "engine_id", j->engine_id, "state",
			 phx_enum_name(&phx_job_state_names, j->state), "user", j->user, "re",
			 j->re, "uid", (json_int_t)j->uid, "nodes", (json_int_t)j->nodes,
			 "started_ms", (json_int_t)(runs ? j->started_ms : 0), "limit_ms",
			 (json_int_t)j->estimate_ms, "requeue", again && !j->no_requeue, "ends",
			 ends, "command", first && first->text ? first->text : "");
}

json_t *view_ends(const struct phx_state *s, const struct phx_event *ev)
{
	json_t *list = json_array();
	const struct phx_job *ends = phx_event_ends_job(s, ev), *waits = NULL;
	if (!ends && (ev->kind == PHX_EV_drain || ev->kind == PHX_EV_reboot))
		waits = phx_event_waits_for_job(s, ev);
	if (ends || waits)
		json_array_append_new(list, view_job(ends ? ends : waits, ends != NULL, true));
	return list;
}

json_t *view_ends_re(const struct phx_state *s, const char *re)
{
	json_t *list = json_array();
	const struct phx_re *it = phx_state_re(s, re);
	PHX_INDEX_EACH_JOB_OF(j, s, re) {
		bool kept = it && phx_job_outlives(it, j);
		bool ends = phx_job_is_open(j) && j->end != PHX_JOB_END_CANCELLED &&
			!(kept && (j->state == PHX_JOB_QUEUED || phx_job_is_told(j)));
		if (ends && json_array_size(list) < JOBS_MAX)
			json_array_append_new(list, view_job(j, true, kept));
	}
	return list;
}

/* Would the order end logins on the node? */
static bool ends_sessions(const struct phx_event *ev)
{
	if (ev->kind == PHX_EV_power)
		return phx_power_ends((enum phx_power_op)ev->order.op);
	return ev->kind == PHX_EV_assign || ev->kind == PHX_EV_release ||
		ev->kind == PHX_EV_rebuild || ev->kind == PHX_EV_reboot ||
		ev->kind == PHX_EV_wipe || ev->kind == PHX_EV_resume;
}

/* Does the plan leave the running system? A hand-over in place does not, and logins stay. */
static bool leaves_system(const struct phx_plan *plan)
{
	PHX_LIST_EACH(struct phx_step, step, &plan->steps)
		if (phx_step_starts(step->kind))
			return true;
	return false;
}

json_t *view_sessions(struct daemon *d, const struct phx_event *ev, const struct phx_plan *plan)
{
	if (!ends_sessions(ev) || (plan && !leaves_system(plan)))
		return json_array();
	json_t *sessions = live_sessions(d->live, ev->node);
	return sessions ? sessions : json_null();
}

json_t *view_serves(const struct phx_state *s, const struct phx_event *ev)
{
	const struct phx_node *n = phx_state_node(s, ev->node);
	bool cuts = ev->kind == PHX_EV_power && phx_power_ends((enum phx_power_op)ev->order.op);
	if (!n || !cuts)
		return json_null();
	if (phx_node_step(n))
		return json_string(phx_request_name(&n->plan));
	return n->state == PHX_NODE_ACTIVE && n->power != PHX_POWER_IS_OFF ? json_string("active")
									   : json_null();
}

bool view_is_asked(const json_t *tried)
{
	const json_t *sessions = json_object_get(tried, "sessions");
	return json_array_size(json_object_get(tried, "jobs")) || json_is_null(sessions) ||
		json_array_size(sessions) || json_is_string(json_object_get(tried, "serves")) ||
		json_is_object(json_object_get(tried, "plan"));
}

json_t *view_notes(const struct phx_outcome *out)
{
	json_t *notes = json_array();
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == PHX_ACT_NOTE)
			json_array_append_new(notes, json_string(act->text));
	return notes;
}
