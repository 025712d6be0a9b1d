/* What the requests of agents share (api_agent.c, api_hello.c). */
#ifndef PHXD_API_AGENT_H
#define PHXD_API_AGENT_H

#include "phxd/daemon.h"

/** May the node tell what stands in this request? What agents report goes into the journal, so a
 * node that reports too much is refused; its agent tries again, as after any 503. False after
 * answering. */
bool agent_may_tell(struct daemon *d, struct phx_http_request *q, const char *node);

#endif
