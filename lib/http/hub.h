/* Streams of events to browsers (text/event-stream): what many read is made once. Whoever reads a
 * channel is sent all that is published on it from then on, as fast as he takes it; who is so slow
 * that what he has not read is dropped is told that something is lost, and reads all anew. All are
 * thread-safe but phx_http_hub_wait(), which is for one thread. */
#ifndef PHX_HTTP_HUB_H
#define PHX_HTTP_HUB_H

#include "http/http.h"

struct phx_http_hub;

/** `keep_bytes`: of what was published last, of a channel, is kept for who is slow. -ENOMEM,
 * -EMFILE. */
int phx_http_hub_new(unsigned n_channels, size_t keep_bytes, struct phx_http_hub **ret);
/** After the server's end. Safe on NULL. */
void phx_http_hub_free(struct phx_http_hub *h);

/** Answers with a stream: it ends when its reader hangs up, or is ended. */
void phx_http_hub_read(struct phx_http_hub *h, struct phx_http_request *q, unsigned channel);
/** Send an event, "data: ...\n\n", to all who read the channel. Takes it (malloc'd). */
void phx_http_hub_publish(struct phx_http_hub *h, unsigned channel, char *event, size_t n);
/** How many read it. */
unsigned phx_http_hub_readers(struct phx_http_hub *h, unsigned channel);
/** Ends the streams of those of whom `may` says no; NULL: all, and no other begins. Called without
 * a lock of the hub's, for a copy of each peer. */
void phx_http_hub_end(struct phx_http_hub *h,
		      bool (*may)(void *arg, const struct phx_http_peer *peer, unsigned channel),
		      void *arg);

/** Whoever waits goes on. */
void phx_http_hub_tell(struct phx_http_hub *h);
/** Until phx_http_hub_tell() was called, or so many ms have passed; streams whose reader hangs up
 * meanwhile end. */
void phx_http_hub_wait(struct phx_http_hub *h, int ms);

#endif
