/* Waiting, for a thread that holds requests: until there is news, a point in time, or one of the
 * clients hangs up (its request counts against its sender's limits until it is answered). */
#ifndef PHXD_HANG_UPS_H
#define PHXD_HANG_UPS_H

#include <poll.h>

#include "http/http.h"

struct hang_ups {
	int news;           /* eventfd */
	struct pollfd *fds; /* used by the thread alone: `news`, then the requests in their order */
	uint32_t n, room;
};

int hang_ups_init(struct hang_ups *h);
void hang_ups_fini(struct hang_ups *h);
/** There is news: hang_ups_wait() returns, now or at its next call. On any thread. */
void hang_ups_tell(struct hang_ups *h);

/* The rest is for the waiting thread. */

/** Stops watching all requests. */
void hang_ups_clear(struct hang_ups *h);
/** Watches this request, too, until hang_ups_clear(). Without memory its client's hanging up is not
 * noticed. */
void hang_ups_add(struct hang_ups *h, const struct phx_http_request *q);
/** Waits until there is news, a client hangs up, or phx_clock_ms() is `until_ms`; INT64_MAX: no
 * limit. */
void hang_ups_wait(struct hang_ups *h, int64_t until_ms);
/** Had the client of the i-th added request (from 0) hung up when the wait ended? */
bool hang_ups_has(const struct hang_ups *h, uint32_t i);

#endif
