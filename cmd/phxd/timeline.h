/* The past, for charts: a thread follows the journal with a reader of its own and writes the series
 * (lib/series) beside it. Neither a commit nor a beat waits for it: it holds the engine's lock only
 * while it reads some counters of each pool, at most once a second, and accesses the disk without
 * any lock. */
#ifndef PHXD_TIMELINE_H
#define PHXD_TIMELINE_H

#include "base/hash.h"
#include "phxd/daemon.h"
#include "series/series.h"

struct timeline;

/** Starts the thread. Trouble with the series becomes a notice and is no error: the charts then
 * lack that time. */
int timeline_new(struct daemon *d, struct timeline **ret);
/** Writes what is known so far, and ends the thread. Safe on NULL. */
void timeline_free(struct timeline *t);
/** The journal has grown to event `seq`. Returns at once. */
void timeline_committed(struct timeline *t, uint64_t seq);
/** The path of the series; borrowed. */
const char *timeline_path(const struct timeline *t);
/** Appends to `ret` the present state of each pool and since when it is so (struct timeline_line),
 * which is not written until it changes. -ENOMEM. */
int timeline_now(struct timeline *t, struct phx_list *ret);
/* api_timeline.c */
HANDLER(api_timeline);
HANDLER(api_timeline_kills);
HANDLER(api_timeline_nodes);

/* ---- shared by the files of the time-line; all on its thread ---- */

/** A node that events were about. */
struct timeline_node {
	char name[PHX_NAME_MAX], pool[PHX_NAME_MAX];
	int64_t at_ms; /* time of the last event */
};
/** A job that an event may have ended. */
struct timeline_job {
	uint64_t id;
	int64_t at_ms;
};
struct timeline_use {
	char re[PHX_NAME_MAX];
	int64_t ppm;
};
/** What happened in a pool at a moment. */
struct timeline_happened {
	char pool[PHX_NAME_MAX];
	int64_t at_ms, values[PHX_SERIES_QUANTITIES];
};

/** What the events read in one turn say. */
struct timeline_news {
	uint64_t last;            /* last event that was read */
	uint32_t n;               /* events */
	struct phx_list nodes;    /* struct timeline_node */
	struct phx_hash places;   /* index of `nodes` by name */
	struct phx_list jobs;     /* struct timeline_job */
	struct phx_list uses;     /* struct timeline_use */
	struct phx_list kills;    /* struct phx_series_mark */
	struct phx_list happened; /* struct timeline_happened */
	bool failed;              /* no memory: some of it is missing */
};
void timeline_news_fini(struct timeline_news *n);
/** phx_store_event_fn: `arg` is the news. */
int timeline_read_event(void *arg, const struct phx_store_event *ev);
/** Notes a node that is to be looked at. */
void timeline_add_node(struct timeline_news *n, const char *name, int64_t at_ms);

/** The state of a pool since at_ms. */
struct timeline_line {
	char pool[PHX_NAME_MAX];
	int64_t at_ms, values[PHX_SERIES_QUANTITIES];
};
/** Measures all pools: appends lines (struct timeline_line, without at_ms). Under the engine's
 * lock. -ENOMEM. */
int timeline_measure(const struct phx_state *s, struct phx_list *ret);
/** Completes the news by what the state says of their nodes and jobs. Takes the engine's lock for a
 * moment at a time. */
void timeline_look(struct daemon *d, struct timeline_news *n);
/** Notes all nodes that exist, to be looked at. Locks as timeline_look(). */
void timeline_all_nodes(struct daemon *d, int64_t at_ms, struct timeline_news *n);

#endif
