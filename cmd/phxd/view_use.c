/* Shows the use of a web RE's instances: how much it is, on how many instances it is measured, and
 * why it is not known for the others. The RE's policy follows this use, so somebody whose RE never
 * grows finds the reason here. Called by the API. Reads only. */
#include <stdio.h>

#include "phxd/daemon.h"
#include "phxd/view.h"

/* The use of a node in ppm, or -1 with a reason. *ret_waits: it is not measured yet, which is no
 * reason to worry. */
static int64_t use_of(struct daemon *d, const struct phx_node *n, char ret_reason[BEAT_ERROR_MAX],
		      bool *ret_waits)
{
	int64_t ppm = live_use(d->live, n->name, ret_reason);
	*ret_waits = !n->up || !ret_reason[0];
	if (!n->up)
		snprintf(ret_reason, BEAT_ERROR_MAX, "it is not heard");
	else if (!ret_reason[0])
		snprintf(ret_reason, BEAT_ERROR_MAX, "its agent has not told its use yet");
	return n->up ? ppm : -1;
}

void view_node_use(struct daemon *d, const struct phx_node *n, json_t *to)
{
	char reason[BEAT_ERROR_MAX];
	bool waits;
	int64_t ppm = use_of(d, n, reason, &waits);
	json_object_set_new(to, "use_ppm", ppm < 0 ? json_null() : json_integer(ppm));
	json_object_set_new(to, "use_reason", json_string(ppm < 0 ? reason : ""));
}

static void add_reason(json_t *unknown, const char *node, const char *role, const char *reason,
		       bool waits)
{
	json_array_append_new(unknown,
			      json_pack("{s:s,s:s,s:s,s:b}", "node", node, "role", role, "reason",
					reason, "waits", waits));
}

/* Why the RE's use can be measured on no node; NULL: it can. */
static const char *why_never(const struct phx_state *s, const struct phx_re *re)
{
	const struct phx_role *role = phx_state_role(s, re->agreement.role);
	if (!role)
		return "there is no such role";
	return role->services.n ? NULL : "it has no services: there is nothing to measure";
}

json_t *view_use(struct daemon *d, const struct phx_state *s, const struct phx_re *re)
{
	json_t *unknown = json_array();
	uint64_t sum = 0;
	uint32_t n_told = 0, at = 0;
	const char *never = why_never(s, re);
	if (never)
		add_reason(unknown, "", re->agreement.role, never, false);
	for (const struct phx_node *n;
	     !never && (n = phx_members_next(s, PHX_MEMBERS_HELD, re->name, &at));) {
		char reason[BEAT_ERROR_MAX];
		bool waits;
		int64_t ppm = use_of(d, n, reason, &waits);
		if (ppm < 0)
			add_reason(unknown, n->name, n->role, reason, waits);
		else
			sum += (uint64_t)ppm;
		n_told += ppm >= 0;
	}
	return json_pack("{s:o,s:I,s:o}", "ppm",
			 n_told ? json_integer((json_int_t)(sum / n_told)) : json_null(), "nodes",
			 (json_int_t)n_told, "unknown", unknown);
}

void view_use_notes(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		    json_t *notes)
{
	if (!phx_re_kind(&re->agreement)->has_demand || !d->cfg.measure_web_use)
		return;
	PHX_AUTO_JSON json_t *use = view_use(d, s, re);
	size_t i;
	json_t *it;
	json_array_foreach(json_object_get(use, "unknown"), i, it) {
		const char *node = phx_json_str(it, "node", "");
		if (phx_json_bool(it, "waits", false))
			continue;
		json_array_append_new(notes,
				      json_sprintf("RE %s cannot follow its load: use of role %s "
						   "cannot be measured%s%s: %s",
						   re->name, phx_json_str(it, "role", "?"),
						   node[0] ? " on " : "", node,
						   phx_json_str(it, "reason", "?")));
	}
}
