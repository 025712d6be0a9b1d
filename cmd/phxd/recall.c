/* Bringing the state back: see recall.h. Called by the engine when it opens the
 * journal, and when what it had applied is not to be believed. Never writes. */
#include "phxd/recall.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

struct replay {
	struct phx_state *state;
	struct phx_err *err;
};

static int replay_event(void *arg, const struct phx_store_event *stored)
{
	struct replay *rp = arg;
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_event ev;
	struct phx_outcome out = { 0 };
	int r = phx_json_parse(stored->event, strlen(stored->event), &j, rp->err);
	r = r ? r : phx_json_to_record(&phx_event_record, j, &ev, rp->err);
	if (r < 0)
		return phx_err_prefix(rp->err, -EPROTO, "event %llu", (unsigned long long)stored->seq);
	r = phx_core_apply(rp->state, &ev, &out, rp->err);
	PHX_AUTO_FREE char *actions = r == 0 ? phx_json_list_text(&phx_action_record, &out.actions) : NULL;
	if (r == 0 && (rp->state->seq != stored->seq || !actions || strcmp(actions, stored->actions)))
		r = phx_err_set(rp->err, -EPROTO, "its actions are not those that were recorded");
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return r < 0 ? phx_err_prefix(rp->err, -EPROTO, "replay of event %llu", (unsigned long long)stored->seq) : 0;
}

/* The newest snapshot below `seq`, or the state before the first event. -EBADMSG: it is damaged. */
static int load_snapshot(struct phx_store *store, uint64_t seq, uint64_t *ret_seq, struct phx_state *ret,
			 struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	int r = phx_store_latest_before(store, seq, ret_seq, &text, err);
	if (r == 0 && !text)
		return phx_state_init(ret);
	r = r ? r : phx_json_parse(text, strlen(text), &j, err);
	r = r ? r : phx_json_to_record(&phx_state_record, j, ret, err);
	if (r == -ENOMEM || r == 0)
		return r;
	return phx_err_prefix(err, -EBADMSG, "snapshot %llu", (unsigned long long)*ret_seq);
}

/* A snapshot only saves time: where one is damaged the events lead there from the one before, or from the first. */
static int load_state(struct phx_store *store, struct recalled *ret, struct phx_err *err)
{
	uint64_t below = INT64_MAX;
	for (;;) {
		struct phx_err why = { 0 };
		int r = load_snapshot(store, below, &ret->snapshot_seq, &ret->state, &why);
		if (r != -EBADMSG)
			return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
		if (!ret->damage.text[0])
			ret->damage = why;
		ret->state = (struct phx_state){ 0 };
		below = ret->snapshot_seq;
		if (!below) /* not even its place can be read: there is no way to one before it */
			return phx_state_init(&ret->state);
	}
}

/* Events that were forgotten are in the snapshots; without those nothing leads to what is there. */
static int check_reach(struct phx_store *store, const struct recalled *rc, struct phx_err *err)
{
	uint64_t first;
	int64_t time_ms;
	int r = phx_store_first(store, &first, &time_ms, err);
	if (r == 0 && (first > rc->state.seq + 1 || (!first && phx_store_last(store) > rc->state.seq)))
		r = phx_err_set(err, -ENODATA,
				"the journal begins with event %llu, and no sound snapshot reaches there%s%s",
				(unsigned long long)first, rc->damage.text[0] ? ": " : "", rc->damage.text);
	return r;
}

int recall_state(struct phx_store *store, struct recalled *ret, struct phx_err *err)
{
	struct recalled rc = { 0 };
	int r = load_state(store, &rc, err);
	struct replay rp = { &rc.state, err };
	r = r ? r : check_reach(store, &rc, err);
	r = r ? r : phx_store_events(store, rc.state.seq, 0, NULL, replay_event, &rp, err);
	r = r ? r : phx_state_check(&rc.state, err);
	if (r == 0)
		*ret = rc;
	else
		phx_state_fini(&rc.state);
	return r;
}
