/* What was: how many nodes each pool had, how busy they were, how many jobs ran, waited and were
 * killed, who had which node. A database of its own beside the journal, so that writing it keeps no
 * commit waiting; it decides nothing, and who loses it loses pictures. What is measured is one
 * table (quantity.def), how finely it is kept another (level.def): a row of a coarser level is the
 * sum of the finer ones, which go sooner, so that it stays within bounds for years.
 *
 *   one who writes:  phx_series_open ─▶ (begin ─▶ put, mark, hold ... ─▶ commit) ...
 *   many who read:   phx_series_reader_open ─▶ rows, marks, holdings
 *
 * A transaction is there whole or not at all; what a crash of the machine takes is the last
 * seconds (it is synced by checkpoints alone), that of the process nothing that was committed. */
#ifndef PHX_SERIES_SERIES_H
#define PHX_SERIES_SERIES_H

#include "base/record.h"

/** The levels, as numbers: PHX_SERIES_moment, ... */
enum phx_series_level {
#define LEVEL(name, ...) PHX_SERIES_##name,
#include "series/level.def"
#undef LEVEL
	PHX_SERIES_LEVELS
};
extern const struct phx_enum phx_series_level_names;

/** Quantities, as numbers: PHX_SERIES_Q_nodes, ... */
enum phx_series_quantity_id {
#define LASTS(name, ...) PHX_SERIES_Q_##name,
#define HAPPENS(name, ...) PHX_SERIES_Q_##name,
#include "series/quantity.def"
#undef LASTS
#undef HAPPENS
	PHX_SERIES_QUANTITIES
};

/** One row of quantity.def. */
struct phx_series_quantity {
	const char *name, *unit, *head, *text;
	bool lasts;
	int over; /* of a value that lasts: the quantity that says when it was known; -1: always */
};
extern const struct phx_series_quantity phx_series_quantities[PHX_SERIES_QUANTITIES];

/** A row: what was of `pool` from at_ms on. */
struct phx_series_row {
	char pool[PHX_NAME_MAX];
	int64_t at_ms, covered_ms; /* covered: so much of the row's time is known */
	/* of what lasts the sum of value x milliseconds, and the most; of what happens how much,
	 * and 0 */
	int64_t sum[PHX_SERIES_QUANTITIES], most[PHX_SERIES_QUANTITIES];
};
/** `values` (what lasts) were so for all of the row's covered_ms: set its sums and its most. */
void phx_series_weigh(struct phx_series_row *row, const int64_t values[PHX_SERIES_QUANTITIES]);
/** Its mean (what lasts) or how much happened; negative: it is not known. */
double phx_series_value(const struct phx_series_row *row, enum phx_series_quantity_id q);

/** Something that happened at a moment and is drawn as such. */
#define PHX_SERIES_MARK_FIELDS(F, S) \
	F(S, seq, U64) /* event of the journal */ \
	F(S, at_ms, I64) \
	F(S, pool, STR(PHX_NAME_MAX)) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, text, STR(256))
PHX_RECORD_STRUCT(phx_series_mark, PHX_SERIES_MARK_FIELDS);

/** Who had a node, and when. */
#define PHX_SERIES_HOLDING_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, pool, STR(PHX_NAME_MAX)) \
	F(S, from_ms, I64) \
	F(S, until_ms, I64) /* INT64_MAX: it still has it */
PHX_RECORD_STRUCT(phx_series_holding, PHX_SERIES_HOLDING_FIELDS);

/* ---- who writes: one thread ---- */

struct phx_series;
/** Open or make it. -EBADMSG: it is damaged, or none; -EPROTONOSUPPORT: a newer Phoenix made it. */
int phx_series_open(const char *path, struct phx_series **ret, struct phx_err *err);
/** What was begun and not committed is lost. Safe on NULL. */
void phx_series_close(struct phx_series *s);

/** Up to which event of the journal of that identity it has been told; 0: of none of it. */
uint64_t phx_series_told(const struct phx_series *s, const char *journal);

int phx_series_begin(struct phx_series *s, struct phx_err *err);
/** `values` (what lasts) were so from from_ms until until_ms: into a row of the finest level, and
 * added to the rows of the others. */
int phx_series_lasted(struct phx_series *s, const char *pool, int64_t from_ms, int64_t until_ms,
		      const int64_t values[PHX_SERIES_QUANTITIES], struct phx_err *err);
/** So much (what happens) happened at at_ms. */
int phx_series_happened(struct phx_series *s, const char *pool, int64_t at_ms,
			const int64_t values[PHX_SERIES_QUANTITIES], struct phx_err *err);
int phx_series_mark(struct phx_series *s, const struct phx_series_mark *m, struct phx_err *err);
/** From at_ms on the node is in `pool` ("": in none): where it was before ends there. The same pool
 * again changes nothing. */
int phx_series_hold(struct phx_series *s, const char *node, const char *pool, int64_t at_ms,
		    struct phx_err *err);
/** What was put since begin is not. */
void phx_series_undo(struct phx_series *s);
/** Told up to event `seq` of that journal; all since begin lasts, or nothing (which is undone). */
int phx_series_commit(struct phx_series *s, const char *journal, uint64_t seq, struct phx_err *err);

/** What is older than its level says goes, and of each level what is beyond so many rows. */
int phx_series_prune(struct phx_series *s, int64_t now_ms, uint32_t rows_max, struct phx_err *err);

typedef int (*phx_series_holding_fn)(void *arg, const struct phx_series_holding *h);
/** Walk those that still hold. */
int phx_series_held(struct phx_series *s, phx_series_holding_fn fn, void *arg, struct phx_err *err);

/* ---- who reads: a connection each, beside the writer ---- */

struct phx_series_reader;
int phx_series_reader_open(const char *path, struct phx_series_reader **ret, struct phx_err *err);
void phx_series_reader_close(struct phx_series_reader *r);

/** The finest level that still has what was at from_ms, and no more than `points` rows of a pool
 * from there to until_ms, as far as the steps say it: of the finest a row a second. */
enum phx_series_level phx_series_level_for(int64_t from_ms, int64_t until_ms, int64_t now_ms,
					   uint32_t points);
/** How long a row of the level is at most. */
int64_t phx_series_step_ms(enum phx_series_level level);

typedef int (*phx_series_row_fn)(void *arg, const struct phx_series_row *row);
/** Walk the rows that touch that time, by time and pool, at most `limit`. A non-zero return of `fn`
 * ends the walk and is returned. */
int phx_series_rows(struct phx_series_reader *r, enum phx_series_level level, int64_t from_ms,
		    int64_t until_ms, uint32_t limit, phx_series_row_fn fn, void *arg,
		    struct phx_err *err);

typedef int (*phx_series_mark_fn)(void *arg, const struct phx_series_mark *m);
/** Walk the marks of that time, newest first, at most `limit`. */
int phx_series_marks(struct phx_series_reader *r, int64_t from_ms, int64_t until_ms, uint32_t limit,
		     phx_series_mark_fn fn, void *arg, struct phx_err *err);
/** Walk who held nodes in that time, by node and time, after the node `after` ("": from the first),
 * at most `limit` of them. */
int phx_series_holdings(struct phx_series_reader *r, int64_t from_ms, int64_t until_ms,
			const char *after, uint32_t limit, phx_series_holding_fn fn, void *arg,
			struct phx_err *err);

#endif
