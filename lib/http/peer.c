/* Who asks: peer credentials on the Unix socket, the address and the client's certificate on
 * the others. Called by accept.c, by libmicrohttpd when a connection begins and ends, and by
 * request.c.
 *
 * Certificates are asked for, not demanded: a node that enrols has none. One that does not
 * verify against the site's CA, or is not for clients, counts as none. */
#include "http/internal.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

static int connection_fd(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

static void format_address(const struct sockaddr *sa, char *ret, socklen_t ret_size)
{
	if (sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, ret, ret_size);
	else if (sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, ret, ret_size);
}

struct phx_http_connection *phx_http_peer_new(struct phx_http_listener_state *l, int fd,
					      const struct sockaddr *sa)
{
	struct phx_http_connection *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->listener = l;
	c->fd = fd;
	c->signed_in = (uid_t)-1;
	c->peer.via = l->which;
	c->peer.uid = (uid_t)-1;
	c->peer.gid = (gid_t)-1;
	if (l->which != PHX_HTTP_UNIX) {
		format_address(sa, c->peer.address, sizeof(c->peer.address));
		return c;
	}
	struct ucred cred;
	socklen_t n = sizeof(cred);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0) {
		free(c);
		return NULL;
	}
	c->peer.uid = cred.uid;
	c->peer.gid = cred.gid;
	c->peer.pid = cred.pid;
	return c;
}

/* As the kernel knew it when the peer connected: no database of users is asked, that may be
 * slow. */
static bool in_group(int fd, gid_t gid)
{
	gid_t groups[256];
	socklen_t n = sizeof(groups);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n) < 0)
		return false;
	for (size_t i = 0; i < n / sizeof(gid_t); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

enum phx_http_rank phx_http_peer_rank(const struct phx_http_connection *c,
				      char ret_key[PHX_HTTP_KEY_MAX])
{
	const struct phx_http_server *s = c->listener->server;
	const struct phx_http_peer *p = &c->peer;
	if (p->via == PHX_HTTP_UNIX) {
		bool grouped = s->admin_gid != (gid_t)-1 &&
			(p->gid == s->admin_gid || in_group(c->fd, s->admin_gid));
		snprintf(ret_key, PHX_HTTP_KEY_MAX, "uid:%u", (unsigned)p->uid);
		return p->uid == 0 || grouped ? PHX_HTTP_ADMIN : PHX_HTTP_KNOWN;
	}
	enum phx_http_rank rank = !p->has_cert ? PHX_HTTP_STRANGER
		: s->rank                      ? s->rank(s->arg, p)
					       : PHX_HTTP_KNOWN;
	if (rank == PHX_HTTP_STRANGER)
		snprintf(ret_key, PHX_HTTP_KEY_MAX, "addr:%s", p->address);
	else if (p->cert.kind == PHX_CERT_NODE) /* an earlier tenant has an earlier key of it */
		snprintf(ret_key, PHX_HTTP_KEY_MAX, "node:%.70s", p->cert.fingerprint);
	else /* however many certificates he has */
		snprintf(ret_key, PHX_HTTP_KEY_MAX, "cert:%.70s", p->cert.name);
	return rank;
}

void phx_http_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
			    enum MHD_ConnectionNotificationCode code)
{
	struct phx_http_listener_state *l = cls;
	struct phx_http_connection *c = *socket_context;
	switch (code) {
	case MHD_CONNECTION_NOTIFY_STARTED:
		*socket_context = phx_http_arrival_take(l, connection_fd(mhd));
		break;
	case MHD_CONNECTION_NOTIFY_CLOSED:
		phx_http_connection_free(c);
		*socket_context = NULL;
		break;
	}
}

/* It counts as none all the same. */
static void tell_undated(const struct phx_http_connection *c, const gnutls_datum_t *cert)
{
	const struct phx_http_server *s = c->listener->server;
	struct phx_http_peer peer = c->peer;
	struct phx_err err = {0};
	if (s->undated && phx_http_credential_undated(s, cert, &peer.cert, &err) == 0)
		s->undated(s->arg, &peer, err.text);
}

void phx_http_peer_check(struct phx_http_connection *c, struct MHD_Connection *mhd)
{
	if (c->cert_checked || c->peer.via != PHX_HTTP_TLS)
		return;
	c->cert_checked = true;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_session_t session = info ? info->tls_session : NULL;
	unsigned n = 0;
	const gnutls_datum_t *certs = session ? gnutls_certificate_get_peers(session, &n) : NULL;
	if (!certs || n == 0)
		return;
	c->peer.has_cert =
		phx_http_credential_check(c->listener->server, &certs[0], &c->peer.cert) == 0;
	if (!c->peer.has_cert) {
		tell_undated(c, &certs[0]);
		return;
	}
	char key[PHX_HTTP_KEY_MAX];
	enum phx_http_rank rank = phx_http_peer_rank(c, key);
	c->refused = phx_http_guard_know(c->listener->guard, &c->entry, key, rank);
}
