/* Hostlists, resolved by the nodes that phxd knows. */
#ifndef PHXD_NAMES_H
#define PHXD_NAMES_H

#include "base/nodeset.h"
#include "phxd/daemon.h"

/** Parses a hostlist, in which groups may be named: @all, @role:R, @pool:P, @state:S, @up,
 * @missing, and others of names.c. What tells the hardware of nodes (@switch=NAME) means those
 * whose hardware `peer` sees. -EINVAL, -ENOENT (no such group). */
int names_parse(struct daemon *d, const struct phx_http_peer *peer, const char *text,
		struct phx_nodeset *ret, struct phx_err *err);

#endif
