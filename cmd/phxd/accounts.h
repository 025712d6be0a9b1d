/* Accounts on nodes: for each RE the accounts of its members, as the head's name service knows
 * them, ready for nodes that ask (types/account.h). A node is given only the list of the RE that it
 * is in. The name service may be slow or away, so a thread asks it: when members, REs or logins
 * change, and every few minutes, since groups change without notice. */
#ifndef PHXD_ACCOUNTS_H
#define PHXD_ACCOUNTS_H

#include "phxd/daemon.h"

int accounts_new(struct daemon *d, struct accounts **ret);
/** Call it when no other thread uses `a`. Safe on NULL, as all below. */
void accounts_free(struct accounts *a);
/** Members, REs or logins may have changed: the thread makes the lists again soon, and wakes nodes
 * whose list has changed. Returns at once. */
void accounts_look(struct accounts *a);
/** Does an agent that reports `running` (struct beat_running) know of accounts? */
bool accounts_are_known(const struct phx_list *running);
/** Appends the accounts of a node in RE `re` ("": in none) to `b`, as an order behind others, if
 * the agent knows of accounts and does not have this list. */
void accounts_orders_put(struct accounts *a, const char *re, const struct phx_list *running,
			 struct phx_buf *b);

#endif
