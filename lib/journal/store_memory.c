/* A store in memory, whose writes can be made to fail one by one: see
 * journal/store.h. Used by the fault simulation and by tests. */
#include <errno.h>
#include <string.h>

#include "journal/store.h"

static enum phx_memory_fate fate_of(struct phx_memory *m, enum phx_memory_write write)
{
	return m->fate ? m->fate(m->fate_arg, write) : PHX_MEMORY_WRITTEN;
}

/* 0: the row is written. PHX_STORE_DOUBT: the caller cannot know; *ret_there says whether it is. */
static int write_one(struct phx_memory *m, enum phx_memory_write write, bool *ret_there,
		     struct phx_err *err)
{
	enum phx_memory_fate fate = fate_of(m, write);
	*ret_there = fate == PHX_MEMORY_WRITTEN || fate == PHX_MEMORY_LASTS;
	switch (fate) {
	case PHX_MEMORY_WRITTEN:
		return 0;
	case PHX_MEMORY_FULL:
		return phx_err_set(err, -ENOSPC, "no room is left");
	case PHX_MEMORY_CUT:
	case PHX_MEMORY_LOST:
	case PHX_MEMORY_LASTS:
		phx_err_set(err, -EIO, "a write has failed");
		/* a failed write before the commit leaves no doubt: it does not count */
		return write == PHX_MEMORY_COMMIT ? PHX_STORE_DOUBT : -EIO;
	}
	return -EINVAL;
}

static int keep(struct phx_memory *m, const struct phx_store_event *ev)
{
	struct phx_store_event copy = {ev->seq, ev->time_ms,       ev->kind,
				       "",      strdup(ev->event), strdup(ev->actions)};
	struct phx_store_event *to =
		copy.event && copy.actions ? phx_list_push(&m->events, sizeof(*to)) : NULL;
	if (!to) {
		free((char *)copy.event);
		free((char *)copy.actions);
		return -ENOMEM;
	}
	*to = copy;
	m->last = ev->seq;
	return 0;
}

static int write_row(struct phx_memory *m, const struct phx_store_row *row, uint64_t seq,
		     struct phx_err *err)
{
	bool there;
	if (row->event.seq != seq)
		return phx_err_set(err, -EPROTO, "event %llu does not follow %llu",
				   (unsigned long long)row->event.seq, (unsigned long long)seq - 1);
	int r = write_one(m, PHX_MEMORY_ROW, &there, err);
	return r == 0 && row->erasure.record ? write_one(m, PHX_MEMORY_RECORD, &there, err) : r;
}

static int append(void *arg, const struct phx_store_row *rows, uint32_t n, struct phx_err *err)
{
	struct phx_memory *m = arg;
	bool there;
	int r = 0, kept = 0;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = write_row(m, &rows[i], m->last + 1 + i, err);
	if (r < 0)
		return r;
	r = write_one(m, PHX_MEMORY_COMMIT, &there, err);
	for (uint32_t i = 0; there && kept == 0 && i < n; i++) {
		kept = keep(m, &rows[i].event);
		m->n_records += rows[i].erasure.record != NULL;
	}
	return kept < 0 ? kept : r;
}

/* Drops events that the older snapshot contains: no start needs them. */
static void drop_events(struct phx_memory *m, uint64_t up_to)
{
	uint32_t n = 0;
	while (n < m->events.n &&
	       PHX_LIST_AT(&m->events, struct phx_store_event, n)->seq <= up_to) {
		struct phx_store_event *ev = PHX_LIST_AT(&m->events, struct phx_store_event, n++);
		free((char *)ev->event);
		free((char *)ev->actions);
	}
	m->events.n -= n;
	if (n)
		memmove(m->events.items, (struct phx_store_event *)m->events.items + n,
			m->events.n * sizeof(struct phx_store_event));
}

static int snapshot(void *arg, uint64_t seq, const char *state_json,
		    const struct phx_store_packed *packed, struct phx_err *err)
{
	struct phx_memory *m = arg;
	(void)packed;
	bool there;
	enum phx_memory_fate fate = fate_of(m, PHX_MEMORY_SNAPSHOT);
	int r = fate == PHX_MEMORY_FULL ? phx_err_set(err, -ENOSPC, "no room is left") : 0;
	there = fate == PHX_MEMORY_WRITTEN || fate == PHX_MEMORY_LASTS || fate == PHX_MEMORY_CUT;
	char *text = there ? strdup(state_json) : NULL;
	if (there && !text)
		return -ENOMEM;
	if (fate == PHX_MEMORY_CUT)
		text[strlen(text) / 2] = '\0';
	if (there) {
		free(m->snapshots[1].state);
		m->snapshots[1] = m->snapshots[0];
		m->snapshots[0].seq = seq;
		m->snapshots[0].state = text;
		drop_events(m, m->snapshots[1].seq);
	}
	return r < 0 || fate == PHX_MEMORY_WRITTEN ? r
						   : phx_err_set(err, -EIO, "a write has failed");
}

static int latest_before(void *arg, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			 struct phx_err *err)
{
	struct phx_memory *m = arg;
	(void)err;
	*ret_seq = 0;
	*ret_json = NULL;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(m->snapshots); i++) {
		if (!m->snapshots[i].state || m->snapshots[i].seq >= seq)
			continue;
		*ret_seq = m->snapshots[i].seq;
		*ret_json = strdup(m->snapshots[i].state);
		return *ret_json ? 0 : -ENOMEM;
	}
	return 0;
}

static int events(void *arg, uint64_t after, phx_store_event_fn fn, void *fn_arg,
		  struct phx_err *err)
{
	struct phx_memory *m = arg;
	int r = 0;
	(void)err;
	for (uint32_t i = 0; r == 0 && i < m->events.n; i++)
		if (PHX_LIST_AT(&m->events, struct phx_store_event, i)->seq > after)
			r = fn(fn_arg, PHX_LIST_AT(&m->events, struct phx_store_event, i));
	return r;
}

static int first(void *arg, uint64_t *ret_seq, struct phx_err *err)
{
	struct phx_memory *m = arg;
	(void)err;
	*ret_seq = m->events.n ? PHX_LIST_AT(&m->events, struct phx_store_event, 0)->seq : 0;
	return 0;
}

static uint64_t last(void *arg)
{
	return ((struct phx_memory *)arg)->last;
}

static int ready(void *arg, bool probe, struct phx_err *err)
{
	bool there;
	int r = probe ? write_one(arg, PHX_MEMORY_PROBE, &there, err) : 0;
	return r;
}

void phx_memory_fini(struct phx_memory *m)
{
	drop_events(m, UINT64_MAX);
	phx_list_fini(&m->events);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(m->snapshots); i++)
		free(m->snapshots[i].state);
	*m = (struct phx_memory){0};
}

struct phx_journal_store phx_journal_on_memory(struct phx_memory *m)
{
	return (struct phx_journal_store){.append = append,
					  .snapshot = snapshot,
					  .latest_before = latest_before,
					  .events = events,
					  .first = first,
					  .last = last,
					  .ready = ready,
					  .arg = m};
}
