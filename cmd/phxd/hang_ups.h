/* What a thread waits for that holds requests of others: news, a moment, or that one of the clients
 * hangs up, whose request counts as his until it is answered. */
#ifndef PHXD_HANG_UPS_H
#define PHXD_HANG_UPS_H

#include <poll.h>

#include "http/http.h"

struct hang_ups {
	int news;           /* eventfd */
	struct pollfd *fds; /* the thread's own: `news`, then the requests in their order */
	uint32_t n, room;
};

int hang_ups_init(struct hang_ups *h);
void hang_ups_fini(struct hang_ups *h);
/** The thread looks again, now or as soon as it waits. Any thread may say so. */
void hang_ups_tell(struct hang_ups *h);

/* The rest is for the thread that waits. */

/** No request is watched any more. */
void hang_ups_clear(struct hang_ups *h);
/** Watch this one, too, until hang_ups_clear(). Where memory lacks, its client is not noticed. */
void hang_ups_add(struct hang_ups *h, const struct phx_http_request *q);
/** Until there is news, a client hangs up, or it is `until_ms` of phx_clock_ms(); INT64_MAX: no
 * end. */
void hang_ups_wait(struct hang_ups *h, int64_t until_ms);
/** Had the client of the request that was added as number i, from 0, hung up by then? */
bool hang_ups_has(const struct hang_ups *h, uint32_t i);

#endif
