/* What a store writes of one event: its text, that of its actions, whom it is about, and the signed
 * record of an erase. */
#ifndef PHX_JOURNAL_ROW_H
#define PHX_JOURNAL_ROW_H

#include "journal/journal.h"

/** Make the row of an event that was applied to the state `s` with the outcome in `e`. The texts
 * are owned by the row, the names of nodes borrowed from `ev` and `e`. On failure *ret may be made
 * in part: phx_journal_row_fini() frees it too. -ENOMEM, or what signs the record says. */
int phx_journal_row(const struct phx_journal_config *config, const struct phx_state *s,
		    const struct phx_event *ev, const struct phx_each *e, struct phx_store_row *ret,
		    struct phx_err *err);
void phx_journal_row_fini(struct phx_store_row *row);

#endif
