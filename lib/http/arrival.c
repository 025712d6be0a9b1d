/* Connections between the door and libmicrohttpd: what accept.c gave to it, by descriptor, until
 * peer.c is told that it began. Closes none of them. */
#include "http/internal.h"

#include <string.h>

void phx_http_connection_free(struct phx_http_connection *c)
{
	if (c)
		phx_http_guard_leave(c->listener->guard, &c->entry);
	free(c);
}

/* Who stands there already was closed by libmicrohttpd without a word. */
bool phx_http_arrival_put(struct phx_http_listener_state *l, struct phx_http_connection *c)
{
	struct phx_http_connection *old = phx_http_arrival_take(l, c->fd);
	phx_http_connection_free(old);
	pthread_mutex_lock(&l->lock);
	size_t n = (size_t)c->fd + 1;
	if (n > l->n_arrivals) {
		n += n / 2 + 64;
		struct phx_http_connection **grown = reallocarray(l->arrivals, n, sizeof(*grown));
		if (grown) {
			memset(grown + l->n_arrivals, 0, (n - l->n_arrivals) * sizeof(*grown));
			l->arrivals = grown;
			l->n_arrivals = n;
		}
	}
	bool done = (size_t)c->fd < l->n_arrivals;
	if (done)
		l->arrivals[c->fd] = c;
	pthread_mutex_unlock(&l->lock);
	return done;
}

struct phx_http_connection *phx_http_arrival_take(struct phx_http_listener_state *l, int fd)
{
	struct phx_http_connection *c = NULL;
	pthread_mutex_lock(&l->lock);
	if (fd >= 0 && (size_t)fd < l->n_arrivals) {
		c = l->arrivals[fd];
		l->arrivals[fd] = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	return c;
}
