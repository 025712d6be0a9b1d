/* How much of a file has reached its peer: by what the kernel counts of the connection, since a
 * file that the kernel sends by itself is seen by nobody else. Called by file.c and request.c. */
#include "http/internal.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool ask(const struct phx_http_request *q, struct tcp_info *ret)
{
	socklen_t n = sizeof(*ret);
	*ret = (struct tcp_info){0};
	return q->server->sent && q->connection->peer.via != PHX_HTTP_UNIX &&
		getsockopt(q->connection->fd, IPPROTO_TCP, TCP_INFO, ret, &n) == 0;
}

static void link_sending(struct phx_http_request *q)
{
	struct phx_http_server *s = q->server;
	pthread_mutex_lock(&s->lock);
	q->sends = true;
	q->sends_next = s->sending;
	if (q->sends_next)
		q->sends_next->sends_prev = q;
	s->sending = q;
	pthread_mutex_unlock(&s->lock);
}

static void unlink_sending(struct phx_http_request *q)
{
	struct phx_http_server *s = q->server;
	pthread_mutex_lock(&s->lock);
	*(q->sends_prev ? &q->sends_prev->sends_next : &s->sending) = q->sends_next;
	if (q->sends_next)
		q->sends_next->sends_prev = q->sends_prev;
	pthread_mutex_unlock(&s->lock);
}

void phx_http_sent_begin(struct phx_http_request *q, uint64_t bytes)
{
	struct tcp_info i;
	if (!ask(q, &i))
		return;
	q->sends_bytes = bytes;
	q->acked_before = i.tcpi_bytes_acked;
	q->segments_before = i.tcpi_segs_out;
	q->again_before = i.tcpi_total_retrans;
	link_sending(q);
}

/* What is acknowledged has heads of the answer, and over TLS more than the file: it is never said
 * to be more than the file, and of one that was not sent whole less. */
static struct phx_http_sent sent_of(const struct phx_http_request *q, const struct tcp_info *i,
				    bool whole)
{
	uint64_t acked = i->tcpi_bytes_acked - q->acked_before, most = q->sends_bytes - !whole;
	return (struct phx_http_sent){.peer = &q->connection->peer,
				      .path = q->path,
				      .whole = whole,
				      .bytes = whole         ? q->sends_bytes
					      : acked < most ? acked
							     : most,
				      .total = q->sends_bytes,
				      .segments = i->tcpi_segs_out - q->segments_before,
				      .again = i->tcpi_total_retrans - q->again_before};
}

void phx_http_sent_end(struct phx_http_request *q, bool whole)
{
	struct tcp_info i;
	if (!q->sends)
		return;
	unlink_sending(q);
	if (!ask(q, &i))
		return;
	const struct phx_http_sent sent = sent_of(q, &i, whole);
	q->server->sent(q->server->arg, &sent);
}

void phx_http_server_sending(struct phx_http_server *s, phx_http_sent_fn fn, void *arg)
{
	struct tcp_info i;
	pthread_mutex_lock(&s->lock);
	for (struct phx_http_request *q = s->sending; q; q = q->sends_next)
		if (ask(q, &i)) {
			const struct phx_http_sent sent = sent_of(q, &i, false);
			fn(arg, &sent);
		}
	pthread_mutex_unlock(&s->lock);
}
