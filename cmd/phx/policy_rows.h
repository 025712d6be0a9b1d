/* Schedulers, provisioning and allocation policies as rows of one array, for
 * phx policy list and the manual of phx sim. */
#ifndef PHX_POLICY_ROWS_H
#define PHX_POLICY_ROWS_H

#include <stddef.h>

struct policy_row {
	const char *kind, *name, *params, *text, *source;
	const char *looks_at; /* what its decisions depend on; NULL: nothing is said of that */
};

/** Returns how many there are; those of a kind stand together, in the order of their table. */
size_t policy_rows(const struct policy_row **ret);

#endif
