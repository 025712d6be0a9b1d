/* How an order goes out to an agent: written by view.c, for orders.c. */
#ifndef PHXD_ORDERS_H
#define PHXD_ORDERS_H

#include "base/ip.h"
#include "node/kernel.h"
#include "phxd/daemon.h"

/** What is told beside orders, to an agent that knows of it. */
struct order_beside {
	const char *re;          /* that the node goes to or is in, with a step; NULL */
	char head[PHX_IPV4_MAX]; /* its address as the node reaches it */
	bool protects;
	struct phx_protect protect;       /* with a step that writes to a disk, if `protects` */
	bool shares;                      /* and of shared addresses */
	bool layouts;                     /* it knows of layouts of disks */
	struct phx_layout layout;         /* with a step layout; owned by who fills it in */
	bool keeps_layout, layout_erased; /* all its disks were, in the same hand-over */
	bool kernels;
	struct phx_kernel kernel; /* with a step that starts or enters a system, if `kernels` */
};
/** Appends an order to the node, and what its agent needs with it, to the JSON list in `b`. */
void view_order_put(struct daemon *d, const char *node, const struct phx_order *o,
		    const struct order_beside *beside, struct phx_buf *b);

#endif
