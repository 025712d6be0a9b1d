/* Who asks: peer credentials on the Unix socket, the address and the client's certificate on
 * the others. Called by libmicrohttpd when a connection begins and ends, and by request.c.
 *
 * Certificates are asked for, not demanded: a node that enrols has none. One that does not
 * verify against the site's CA, or is not for clients, counts as none. */
#include "http/internal.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static int connection_fd(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

static void format_address(struct MHD_Connection *mhd, char *ret, socklen_t ret_size)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *sa = info ? info->client_addr : NULL;
	if (sa && sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, ret, ret_size);
	else if (sa && sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, ret, ret_size);
}

static struct phx_http_connection *open_connection(const struct phx_http_listener_state *l, struct MHD_Connection *mhd)
{
	struct phx_http_connection *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->fd = connection_fd(mhd);
	c->peer.via = l->which;
	c->peer.uid = (uid_t)-1;
	c->peer.gid = (gid_t)-1;
	if (l->which != PHX_HTTP_UNIX) {
		format_address(mhd, c->peer.address, sizeof(c->peer.address));
		return c;
	}
	struct ucred cred;
	socklen_t n = sizeof(cred);
	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0) {
		free(c);
		return NULL;
	}
	c->peer.uid = cred.uid;
	c->peer.gid = cred.gid;
	c->peer.pid = cred.pid;
	return c;
}

void phx_http_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
			    enum MHD_ConnectionNotificationCode code)
{
	switch (code) {
	case MHD_CONNECTION_NOTIFY_STARTED:
		/* NULL (no memory, no credentials): requests on it are refused */
		*socket_context = open_connection(cls, mhd);
		break;
	case MHD_CONNECTION_NOTIFY_CLOSED:
		free(*socket_context);
		*socket_context = NULL;
		break;
	}
}

/* Signed by the site's CA, in time, and meant for clients. */
static bool verifies(gnutls_session_t session)
{
	unsigned char usage[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st data = { .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = usage };
	unsigned status = 0;
	return gnutls_certificate_verify_peers(session, &data, 1, &status) == GNUTLS_E_SUCCESS && status == 0;
}

void phx_http_peer_check(struct phx_http_connection *c, struct MHD_Connection *mhd)
{
	if (c->cert_checked || c->peer.via != PHX_HTTP_TLS)
		return;
	c->cert_checked = true;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_session_t session = info ? info->tls_session : NULL;
	unsigned n = 0;
	const gnutls_datum_t *certs = session ? gnutls_certificate_get_peers(session, &n) : NULL;
	if (!certs || n == 0 || !verifies(session))
		return;
	c->peer.has_cert = phx_cert_info(certs[0].data, certs[0].size, &c->peer.cert, NULL) == 0;
}
