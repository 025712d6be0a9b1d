/* What was, for pictures: a thread follows the journal by a reader of its own and writes the series
 * (lib/series) beside it. Neither a commit nor a beat waits for it: it holds the engine's lock for
 * as long as it takes to read some counters of each pool, at most once a second, and the disk
 * without any lock. */
#ifndef PHXD_TIMELINE_H
#define PHXD_TIMELINE_H

#include "base/hash.h"
#include "phxd/daemon.h"
#include "series/series.h"

struct timeline;

/** Begins to follow. What keeps it from that is told, and no reason to stop: there are no pictures
 * of that time then. */
int timeline_new(struct daemon *d, struct timeline **ret);
/** Writes what is known until now. Safe on NULL. */
void timeline_free(struct timeline *t);
/** The journal has grown to event `seq`: returns at once. */
void timeline_committed(struct timeline *t, uint64_t seq);
/** Where it lies; borrowed. */
const char *timeline_path(const struct timeline *t);
/** The pools as they are, and since when: what is not written yet, for it has not changed. Appended
 * to `ret` (struct timeline_line). -ENOMEM. */
int timeline_now(struct timeline *t, struct phx_list *ret);
/* api_timeline.c */
HANDLER(api_timeline);
HANDLER(api_timeline_kills);
HANDLER(api_timeline_nodes);

/* ---- between the files of it; all by its thread ---- */

/** A node that events were about. */
struct timeline_node {
	char name[PHX_NAME_MAX], pool[PHX_NAME_MAX];
	int64_t at_ms; /* of the last of these */
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

/** What some events of the journal say. */
struct timeline_news {
	uint64_t last;            /* event that was looked at */
	uint32_t n;               /* events */
	struct phx_list nodes;    /* struct timeline_node */
	struct phx_hash places;   /* of them, by name */
	struct phx_list jobs;     /* struct timeline_job */
	struct phx_list uses;     /* struct timeline_use */
	struct phx_list kills;    /* struct phx_series_mark */
	struct phx_list happened; /* struct timeline_happened */
	bool failed;              /* no memory: some of it is missing */
};
void timeline_news_fini(struct timeline_news *n);
/** phx_store_event_fn: `arg` is the news. */
int timeline_read_event(void *arg, const struct phx_store_event *ev);
/** A node is to be looked at. */
void timeline_add_node(struct timeline_news *n, const char *name, int64_t at_ms);

/** A pool as it is since at_ms. */
struct timeline_line {
	char pool[PHX_NAME_MAX];
	int64_t at_ms, values[PHX_SERIES_QUANTITIES];
};
/** Measure all pools, into lines (struct timeline_line, without at_ms): appended. Under the
 * engine's lock. */
int timeline_measure(const struct phx_state *s, struct phx_list *ret);
/** What the state says of the nodes and jobs in the news. Takes the engine's lock for a moment at a
 * time. */
void timeline_look(struct daemon *d, struct timeline_news *n);
/** All nodes that there are, to be looked at: as timeline_look(). */
void timeline_all_nodes(struct daemon *d, int64_t at_ms, struct timeline_news *n);

#endif
