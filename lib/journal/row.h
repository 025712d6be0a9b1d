/* What a store writes for one event: its text, its actions' text, whom it is about, and the signed
 * record of an erase. */
#ifndef PHX_JOURNAL_ROW_H
#define PHX_JOURNAL_ROW_H

#include "journal/journal.h"

/** Makes the row of an event that was applied to the state `s` with the outcome in `e`. The row
 * owns its texts; names of nodes are borrowed from `ev` and `e`. On failure *ret may be incomplete;
 * phx_journal_row_fini() frees it, too. -ENOMEM, or an error of signing. */
int phx_journal_row(const struct phx_journal_config *config, const struct phx_state *s,
		    const struct phx_event *ev, const struct phx_each *e, struct phx_store_row *ret,
		    struct phx_err *err);
void phx_journal_row_fini(struct phx_store_row *row);

#endif
