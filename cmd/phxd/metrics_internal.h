/* What the files of the metrics share. */
#ifndef PHXD_METRICS_INTERNAL_H
#define PHXD_METRICS_INTERNAL_H

#include <pthread.h>

#include "base/hash.h"
#include "metrics/metrics.h"
#include "phxd/metrics.h"
#include "phxd/view_metrics.h"

enum { METRICS_MODES = 8, METRICS_CODES = 5 };

/** What is known of an erase: the label `verdict`. */
enum metrics_verdict {
	METRICS_QUOTED,
	METRICS_SIGNED,
	METRICS_UNSIGNED,
	METRICS_UNREAD,
	METRICS_FAILED,
	METRICS_VERDICTS
};
enum { METRICS_METHODS = 5 };

/** What is counted of one node. */
struct metrics_node {
	char name[PHX_NAME_MAX];
	int64_t heard_ms; /* wall clock; 0: not since the start */
	struct beat_figures figures;
	uint64_t erases[METRICS_VERDICTS];
	int64_t handover_ms; /* -1: none came to its end */
	int mode;            /* of that */
};

/** An answer that is kept; each of who sends it holds it. */
struct metrics_answer {
	char *text;
	size_t n;
	void *packed; /* gzip; NULL: nobody asked for it yet */
	size_t n_packed;
	_Atomic unsigned holders;
};

/** Counters, all under the lock. */
struct metrics_counts {
	struct phx_histogram steps[PHX_STEP_COUNT_];
	uint64_t step_failures[PHX_STEP_COUNT_];
	struct phx_histogram handovers[METRICS_MODES];
	struct phx_histogram phases[PHX_PHASES][METRICS_MODES];
	uint64_t erases[METRICS_METHODS][METRICS_VERDICTS];
	uint64_t orders[PHX_ORDER_KIND_COUNT_];
	struct phx_histogram beats;
	uint64_t requests[METRICS_N_CLASSES][METRICS_CODES];
	struct phx_histogram answers[METRICS_N_CLASSES];
	uint64_t power[PHX_POWER_OP_COUNT_][2];
};

enum { METRICS_PAGES_KEPT = 64 };
struct metrics {
	struct daemon *d;
	pthread_mutex_t lock; /* of `counts` and `nodes` */
	struct metrics_counts counts;
	struct phx_list nodes;     /* struct metrics_node */
	struct phx_hash places;    /* of them, by their names */
	pthread_mutex_t rendering; /* of what follows */
	struct metrics_answer *kept[METRICS_PAGES_KEPT];
	int64_t made_ms[METRICS_PAGES_KEPT];
	int64_t took_us;
};

/** A node as it is rendered: what the state and what the beats say. */
struct metrics_row {
	char name[PHX_NAME_MAX], pool[PHX_NAME_MAX], role[PHX_NAME_MAX];
	int state, step; /* step -1: none is under way */
	bool up;
	int64_t step_ms;
	struct metrics_node beside;
};

/* metrics.c */
/** What is counted of a node; NULL: nothing. Under the lock. */
struct metrics_node *metrics_find(struct metrics *m, const char *node);
const char *metrics_verdict_name(int verdict);

/* metrics_head.c */
/** Appends the families of the head. */
void metrics_put_head(struct metrics *m, uint32_t n_pages, struct phx_buf *b);

/* metrics_nodes.c */
/** Appends the rows of the nodes of a page. Returns how many pages there are. Takes the engine's
 * lock for some nodes at a time. -ENOMEM. */
int metrics_read_nodes(struct metrics *m, uint32_t page, struct phx_list *ret, uint32_t *ret_pages);
void metrics_put_nodes(struct phx_buf *b, const struct phx_list *rows);

#endif
