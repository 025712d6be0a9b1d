/* Independent pieces of work on several threads. Used by sweep and plan, whose
 * points do not know of each other; the results stand in the order of the
 * points whatever the threads did. */
#ifndef PHX_SIM_THREADS_H
#define PHX_SIM_THREADS_H

#include "base/util.h"

/** Do piece `i`. 0, or a negative errno that ends the rest. */
typedef int (*phx_sim_piece_fn)(void *arg, size_t i, struct phx_err *err);
/** Told in the calling thread about ten times a second: how many are done. */
typedef void (*phx_sim_pool_progress_fn)(void *arg, size_t n_done, size_t n);

/** Do the pieces 0..n-1 on `workers` threads (at least one). Returns 0, or the error of the failed
 * piece with the lowest number, with its text. `progress` may be NULL; both get `arg`. */
int phx_sim_pool_run(unsigned workers, size_t n, phx_sim_piece_fn piece,
		     phx_sim_pool_progress_fn progress, void *arg, struct phx_err *err);

#endif
