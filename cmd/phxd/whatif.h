/* What would have been: questions of people, which a planner (planner.h) answers one after the
 * other. The head reads the events, and does nothing else of it. Answers are kept in memory for a
 * while, for who asked; nothing of it is journalled. */
#ifndef PHXD_WHATIF_H
#define PHXD_WHATIF_H

#include "phxd/daemon.h"
#include "past/past.h"

enum {
	WHATIF_OPEN_MAX = 8,     /* questions that wait or are simulated, of all */
	WHATIF_OPEN_EACH = 2,    /* of one person */
	WHATIF_KEPT = 32,        /* that are over, of all */
	WHATIF_KEPT_EACH = 8,    /* of one person */
	WHATIF_LONG_S = 30 * 60, /* one takes no longer, from when it begins */
};

enum whatif_state {
	WHATIF_WAITS,
	WHATIF_READS,
	WHATIF_SIMULATES,
	WHATIF_DONE,
	WHATIF_FAILED,
	WHATIF_CANCELLED
};

struct whatif;

int whatif_new(struct daemon *d, struct whatif **ret);
/** Ends what is under way. Safe on NULL. */
void whatif_free(struct whatif *w);

/** Asks; `person` is who asks, as identity. `wish` is copied. The same question of the same person
 * that is not over is not asked again: its number. -EDQUOT, -EAGAIN: too many; -ENOMEM. */
int whatif_ask(struct whatif *w, const char *person, const struct phx_past_wish *wish,
	       uint64_t *ret_id, struct phx_err *err);
/** One question of that person, {question, answer}, as text, malloc'd; NULL: there is none, or
 * -ENOMEM. */
char *whatif_text(struct whatif *w, const char *person, uint64_t id);
/** All of that person, the newest first, without answers. NULL: -ENOMEM. */
json_t *whatif_list(struct whatif *w, const char *person);
/** It is not simulated any more. -ENOENT. One that is over stays as it is. */
int whatif_cancel(struct whatif *w, const char *person, uint64_t id);

/* api_whatif.c */
HANDLER(api_whatif_ask);
HANDLER(api_whatifs);
HANDLER(api_whatif);
HANDLER(api_whatif_cancel);

#endif
