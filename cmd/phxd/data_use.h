/* How much the data directories of REs hold, so that a file which is beyond data_max_mb of the
 * agreement, or else of phoenix.conf, or would take what data_reserve_mb keeps free, is refused.
 * phxd counts what it puts and removes itself; a thread counts a directory by its files at the
 * start, and again, at most once an hour, where something is put, or once a minute where something
 * was refused: others write there, too.
 *
 *   data_use_room ─▶ (the file comes) ─▶ data_use_take ─▶ (it is published) ─▶ data_use_settle
 *
 * Until a directory has been counted, after a start, neither bounds it. */
#ifndef PHXD_DATA_USE_H
#define PHXD_DATA_USE_H

#include "phxd/daemon.h"

int data_use_new(struct daemon *d, struct data_use **ret);
/** Safe on NULL. */
void data_use_free(struct data_use *u);

/** Is there room on the disks for a file of so many bytes? Counts nothing. -EDQUOT: no. */
int data_use_room(const struct data_use *u, uint64_t n_bytes, struct phx_err *err);

/** A file that is about to be put in the place of another. */
struct data_use_file {
	const char *re;
	uint64_t n_bytes;
	uint64_t n_had; /* bytes of what it replaces, 0: of nothing */
};
/** Counts the file. -EDQUOT: it does not fit, and nothing is counted; the text says why. */
int data_use_take(struct data_use *u, const struct data_use_file *f, struct phx_err *err);
/** After data_use_take(): it is there, or else is counted no more. */
void data_use_settle(struct data_use *u, const struct data_use_file *f, bool is_there);
/** So many bytes of an RE are gone. */
void data_use_gone(struct data_use *u, const char *re, uint64_t n_bytes);
/** Is what this RE holds bounded? Else nobody needs to know n_had. Takes the engine's lock. */
bool data_use_bounds(const struct data_use *u, const char *re);

#endif
