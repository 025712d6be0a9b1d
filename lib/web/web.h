/* The manager of a web RE (WS manager): how many instances the load wants. One
 * instance is one node. Used live with measured CPU use, and by the simulator
 * with a request series. Pure; integers only: use in millionths of the
 * capacity of all instances. */
#ifndef PHX_WEB_WEB_H
#define PHX_WEB_WEB_H

#include "base/record.h"

struct phx_web_params {
	int64_t window_ms;        /* W: 20,000 (000 6.4, 001 III-C) */
	uint32_t threshold_milli; /* T: 800 */
	uint32_t lower, upper;    /* never outside; lower at least 1; upper UINT32_MAX = none */
};

/** Instance adjustment, one window: above T one more, below T·(n−1)/n one less (000 6.4); strict
 * comparisons. use_ppm: mean over window and instances, 0..1,000,000. Returns the instances
 * wanted. */
uint32_t phx_web_adjust(const struct phx_web_params *p, uint32_t n, uint32_t use_ppm);

/** Between which uses `n` instances stay as they are: above the one is one too few, below the other
 * one too many (0 where there is but one), as phx_web_adjust() compares. Bounds are beside this. */
void phx_web_limits(uint32_t threshold_milli, uint32_t n, uint32_t *ret_above_ppm,
		    uint32_t *ret_below_ppm);

/** What came of a window: so many instances had such a mean use, and so many are wanted since. */
#define PHX_WEB_DECISION_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, instances, U32) \
	F(S, use_ppm, U32) \
	F(S, want, U32)
PHX_RECORD_STRUCT(phx_web_decision, PHX_WEB_DECISION_FIELDS);
enum { PHX_WEB_DECISIONS_MAX = 20 };
/** Append it to the last ones (struct phx_web_decision). One that says the same of as many
 * instances as the one before takes its place, so that what is kept is where something changed.
 * -ENOMEM. */
int phx_web_decided(struct phx_list *last, const struct phx_web_decision *d);

/** Mean use of a window: samples of several instances, taken as they come. Record: lives in core
 * state. */
#define PHX_WEB_WINDOW_FIELDS(F, S) \
	F(S, began_ms, I64) \
	F(S, sum_ppm, U64) /* of samples */ \
	F(S, n_samples, U32)
PHX_RECORD_STRUCT(phx_web_window, PHX_WEB_WINDOW_FIELDS);
void phx_web_sample(struct phx_web_window *w, uint32_t use_ppm);
/** The window is over at now_ms (at least W after it began): returns 1 and the mean (a window
 * without samples gives none: 0), and begins the next. */
int phx_web_window_end(struct phx_web_window *w, const struct phx_web_params *p, int64_t now_ms,
		       uint32_t *ret_use_ppm);

/** Offline: use of n instances under `load` requests a second when one instance serves `capacity` a
 * second (both in thousandths): min(1, load/(n·capacity)), rounded up. */
uint32_t phx_web_use(uint64_t load_milli, uint64_t capacity_milli, uint32_t n);

#endif
