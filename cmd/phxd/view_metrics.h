/* Metrics of the head (view.c, view_re.c), for a reader whom api_read.c knows. */
#ifndef PHXD_VIEW_METRICS_H
#define PHXD_VIEW_METRICS_H

#include "phxd/daemon.h"

/** Whom metrics are shown to: `sees` is asked of each RE, under the engine's lock. */
struct view_reader {
	bool (*sees)(const void *arg, const struct phx_re *re);
	const void *arg;
};
/** Prometheus text, without rows of REs that the reader does not see. */
char *view_metrics(struct daemon *d, const struct view_reader *reader);
/** Appends what each active RE that the reader sees holds and wants, as metrics. Under the engine's
 * lock. */
void view_re_metrics(struct phx_buf *b, const struct phx_state *s,
		     const struct view_reader *reader);

#endif
