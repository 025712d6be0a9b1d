/* The starts of nodes, row by row (types/start.h): a database of its own beside the journal, so
 * that writing it keeps no commit waiting. It decides nothing; who loses it loses the answer to why
 * a node did not boot.
 *
 *   one who writes:  phx_starts_open ─▶ phx_starts_put, phx_starts_name ...
 *   many who read:   phx_starts_reader_open ─▶ phx_starts_rows, phx_starts_list
 *
 * It stays within its bytes: of all nodes the oldest starts go first; of machines that nobody knows
 * (rows by MAC, which everybody on the network can send) only the last thousand are kept, so that
 * a flood of them drives out no node; of one start with very many rows the first half stays and of
 * the others the last. */
#ifndef PHX_STARTS_STARTS_H
#define PHX_STARTS_STARTS_H

#include "types/start.h"

enum { PHX_STARTS_ROWS_MAX = 4096 /* of one start */, PHX_STARTS_STRANGERS_MAX = 1000 };

/** One start of a node. */
#define PHX_STARTS_ONE_FIELDS(F, S) \
	F(S, start, U32) \
	F(S, began_us, I64) \
	F(S, reached, ENUM(phx_start_phase)) \
	F(S, rows, U32)
PHX_RECORD_STRUCT(phx_starts_one, PHX_STARTS_ONE_FIELDS);

struct phx_starts;
/** Opens or makes it, with at most so many bytes (at least 1 MiB). -EBADMSG: it is damaged, or
 * none; -EPROTONOSUPPORT: a newer Phoenix made it. */
int phx_starts_open(const char *path, uint64_t bytes_max, struct phx_starts **ret,
		    struct phx_err *err);
/** Safe on NULL. */
void phx_starts_close(struct phx_starts *s);
/** Puts the rows into the starts that their nodes are in, or have begun by them (`start` of a row
 * is not looked at), in one transaction: all of them or none. Then the oldest go if there are too
 * many. -EBADMSG: it is damaged; -ENOSPC: the disk is full. */
int phx_starts_put(struct phx_starts *s, const struct phx_start_row *rows, size_t n,
		   struct phx_err *err);
/** The machine of that MAC has a name now: its starts are the node's, behind those that it has. */
int phx_starts_name(struct phx_starts *s, const char *mac, const char *node, struct phx_err *err);

struct phx_starts_reader;
int phx_starts_reader_open(const char *path, struct phx_starts_reader **ret, struct phx_err *err);
/** Safe on NULL. */
void phx_starts_reader_close(struct phx_starts_reader *r);

typedef int (*phx_starts_row_fn)(void *arg, const struct phx_start_row *row);
/** Walks the rows of that start of the node (0: its last), oldest first, at most
 * PHX_STARTS_ROWS_MAX. A non-zero return of `fn` ends the walk and is returned. -ENOENT: there is
 * no such start. */
int phx_starts_rows(struct phx_starts_reader *r, const char *node, uint32_t start,
		    phx_starts_row_fn fn, void *arg, struct phx_err *err);
/** Appends the starts of the node (struct phx_starts_one), the last first, at most `limit`. */
int phx_starts_list(struct phx_starts_reader *r, const char *node, uint32_t limit,
		    struct phx_list *ret, struct phx_err *err);

#endif
