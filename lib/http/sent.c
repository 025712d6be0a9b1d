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

void phx_http_sent_begin(struct phx_http_request *q, uint64_t bytes)
{
	struct tcp_info i;
	if (!ask(q, &i))
		return;
	q->sends = true;
	q->sends_bytes = bytes;
	q->acked_before = i.tcpi_bytes_acked;
	q->segments_before = i.tcpi_segs_out;
	q->again_before = i.tcpi_total_retrans;
}

/* What is acknowledged has heads of the answer, and over TLS more than the file: it is never said
 * to be more than the file, and of one that was not sent whole less. */
void phx_http_sent_end(struct phx_http_request *q, bool whole)
{
	struct tcp_info i;
	if (!q->sends || !ask(q, &i))
		return;
	uint64_t acked = i.tcpi_bytes_acked - q->acked_before, most = q->sends_bytes - !whole;
	const struct phx_http_sent sent = {.peer = &q->connection->peer,
					   .path = q->path,
					   .whole = whole,
					   .bytes = whole         ? q->sends_bytes
						   : acked < most ? acked
								  : most,
					   .total = q->sends_bytes,
					   .segments = i.tcpi_segs_out - q->segments_before,
					   .again = i.tcpi_total_retrans - q->again_before};
	q->server->sent(q->server->arg, &sent);
}
