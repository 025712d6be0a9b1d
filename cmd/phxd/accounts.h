/* Who has an account on which nodes: for each RE the accounts of its members, as the head's name
 * service knows them, ready for nodes that ask (types/account.h). A node is given the list of the
 * RE that it is in and no other. The name service may be slow or away, so it is asked by a thread:
 * when members, REs or logins change, and every few minutes, since groups change without a word to
 * us. */
#ifndef PHXD_ACCOUNTS_H
#define PHXD_ACCOUNTS_H

#include "phxd/daemon.h"

int accounts_new(struct daemon *d, struct accounts **ret);
/** Nobody asks for lists any more. Safe on NULL, as what follows. */
void accounts_free(struct accounts *a);
/** Members, REs or logins may have changed: the lists are made again, soon, and who has another one
 * is told. */
void accounts_look(struct accounts *a);
/** Does an agent that says what runs there know of accounts? */
bool accounts_are_known(const struct phx_list *running);
/** The accounts of a node that is in that RE ("" in none), if the agent knows of such and has not
 * got them, as an order behind others in `b`. */
void accounts_orders_put(struct accounts *a, const char *re, const struct phx_list *running,
			 struct phx_buf *b);

#endif
