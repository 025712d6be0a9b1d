/* What each row of why.def rests on: evidence.c. For why.c alone. */
#ifndef PHX_WHY_EVIDENCE_H
#define PHX_WHY_EVIDENCE_H

#include "why/why.h"

/** The row that the sentence of this cause is about, if the evidence shows the cause, else NULL.
 * Borrowed from `w`. */
const struct phx_start_row *why_show(struct phx_why *w, enum phx_why_cause cause);
/** The phase that the machine has not reached. */
enum phx_start_phase why_next(const struct phx_why *w);
/** When it has to have reached it; 0: there is no such time. */
int64_t why_deadline_us(const struct phx_why *w);

#endif
