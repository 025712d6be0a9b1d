/* Brings the state back: see replay.h. Called by lib/sim, and by journal.c when it
 * opens a store and when the store refused an event that was applied. */
#include "journal/replay.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

static int compare(const struct phx_state *s, const struct phx_store_event *stored,
		   const struct phx_outcome *out, struct phx_replayed *ret)
{
	ret->actions = phx_json_list_text(&phx_action_record, &out->actions);
	ret->n_actions = out->actions.n;
	if (!ret->actions)
		return -ENOMEM;
	if (strcmp(ret->actions, stored->actions))
		PHX_STR_SET(ret->difference, "its actions are not those that were recorded");
	else if (s->seq != stored->seq)
		PHX_STR_SET(ret->difference, "the event changes nothing now");
	return 0;
}

int phx_journal_replay(struct phx_state *s, const struct phx_store_event *stored,
		       struct phx_replayed *ret, struct phx_err *err)
{
	struct phx_event ev;
	struct phx_outcome out = {0};
	struct phx_err why = {0};
	struct phx_replayed done = {0};
	int r = phx_json_text_to_record(&phx_event_record, stored->event, &ev, &why);
	if (r < 0)
		return phx_err_set(err, r == -ENOMEM ? r : -EBADMSG, "event %llu: %s",
				   (unsigned long long)stored->seq, why.text);
	r = phx_core_apply(s, &ev, &out, &why);
	if (r == 0) {
		r = compare(s, stored, &out, &done);
	} else if (r != -ENOMEM) {
		PHX_STR_SET(done.difference, why.text);
		done.actions = strdup("");
		r = done.actions ? 0 : -ENOMEM;
	}
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	if (r == 0)
		*ret = done;
	return r;
}

struct recalling {
	struct phx_state *state;
	struct phx_err *err;
};

static int recall_event(void *arg, const struct phx_store_event *stored)
{
	struct recalling *to = arg;
	struct phx_replayed done;
	int r = phx_journal_replay(to->state, stored, &done, to->err);
	if (r < 0)
		return r == -EBADMSG ? -EPROTO : r;
	free(done.actions);
	return done.difference[0] ? phx_err_set(to->err, -EPROTO, "replay of event %llu: %s",
						(unsigned long long)stored->seq, done.difference)
				  : 0;
}

int phx_journal_parse_state(const char *text, struct phx_state *ret, struct phx_err *err)
{
	return phx_json_text_to_record(&phx_state_record, text, ret, err);
}

/* Loads the newest snapshot below `seq`, or the state before the first event. -EBADMSG: the
 * snapshot is damaged. */
static int load_snapshot(const struct phx_journal_store *store, uint64_t seq, uint64_t *ret_seq,
			 struct phx_state *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = store->latest_before(store->arg, seq, ret_seq, &text, err);
	if (r == 0 && !text)
		return phx_state_init(ret);
	r = r ? r : phx_journal_parse_state(text, ret, err);
	if (r == -ENOMEM || r == 0)
		return r;
	return phx_err_prefix(err, -EBADMSG, "snapshot %llu", (unsigned long long)*ret_seq);
}

/* A snapshot only saves time: when one is damaged, events lead to the same state from the snapshot
 * before it, or from the first event. */
static int load_state(const struct phx_journal_store *store, struct phx_recalled *ret,
		      struct phx_err *err)
{
	uint64_t below = INT64_MAX;
	for (;;) {
		struct phx_err why = {0};
		int r = load_snapshot(store, below, &ret->snapshot_seq, &ret->state, &why);
		if (r != -EBADMSG)
			return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
		if (!ret->damage.text[0])
			ret->damage = why;
		ret->state = (struct phx_state){0};
		below = ret->snapshot_seq;
		if (!below) /* not even its number is readable: earlier ones cannot be found */
			return phx_state_init(&ret->state);
	}
}

/* Forgotten events are contained in the snapshots. Without a sound one, the remaining events lead
 * nowhere. */
static int check_reach(const struct phx_journal_store *store, const struct phx_recalled *rc,
		       struct phx_err *err)
{
	uint64_t first, last = store->last(store->arg);
	int r = store->first(store->arg, &first, err);
	if (r == 0 && (first > rc->state.seq + 1 || (!first && last > rc->state.seq)))
		r = phx_err_set(err, -ENODATA,
				"the journal begins with event %llu, and no sound snapshot reaches "
				"there%s%s",
				(unsigned long long)first, rc->damage.text[0] ? ": " : "",
				rc->damage.text);
	return r;
}

int phx_journal_recall(const struct phx_journal_store *store, struct phx_recalled *ret,
		       struct phx_err *err)
{
	struct phx_recalled rc = {0};
	int r = load_state(store, &rc, err);
	struct recalling to = {&rc.state, err};
	r = r ? r : check_reach(store, &rc, err);
	r = r ? r : store->events(store->arg, rc.state.seq, recall_event, &to, err);
	r = r ? r : phx_state_check(&rc.state, err);
	/* readers need the index before the first event, too */
	r = r ? r : phx_core_ready(&rc.state);
	if (r == 0)
		*ret = rc;
	else
		phx_state_fini(&rc.state);
	return r;
}
