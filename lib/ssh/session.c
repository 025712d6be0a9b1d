/* A session with a machine that has no agent yet: connect, check who it is,
 * log in with our key. Called by `phx package push` and the push step; blocks,
 * so never on the main loop. Offers no password and asks for none. */
#include "ssh/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

int phx_ssh_fail(struct phx_ssh *s, const char *what, struct phx_err *err)
{
	static const struct {
		int code, number;
	} codes[] = {
		{LIBSSH2_ERROR_TIMEOUT, -ETIMEDOUT},
		{LIBSSH2_ERROR_SOCKET_TIMEOUT, -ETIMEDOUT},
		{LIBSSH2_ERROR_EAGAIN, -ETIMEDOUT},
		{LIBSSH2_ERROR_ALLOC, -ENOMEM},
		{LIBSSH2_ERROR_SOCKET_DISCONNECT, -ECONNRESET},
		{LIBSSH2_ERROR_SOCKET_SEND, -ECONNRESET},
		{LIBSSH2_ERROR_SOCKET_RECV, -ECONNRESET},
		{LIBSSH2_ERROR_AUTHENTICATION_FAILED, -EACCES},
		{LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED, -EACCES},
	};
	char *text = NULL;
	int code = libssh2_session_last_error(s->session, &text, NULL, 0), number = -EPROTO;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(codes); i++)
		if (codes[i].code == code)
			number = codes[i].number;
	return phx_err_set(err, number, "%s: %s: %s", s->where, what,
			   text && *text ? text : "failed");
}

/* ---- the connection ---- */

static int wait_connected(int fd, uint32_t timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int n;
	do {
		n = poll(&p, 1, (int)timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 ? -ETIMEDOUT : -errno;
	int error = 0;
	socklen_t size = sizeof(error);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

static int connect_address(const struct addrinfo *a, uint32_t timeout_ms, int *ret_fd)
{
	PHX_AUTO_CLOSE int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int r = 0;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		r = errno == EINPROGRESS ? wait_connected(fd, timeout_ms) : -errno;
	if (r < 0)
		return r;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int connect_host(struct phx_ssh *s, const char *host, uint16_t port, struct phx_err *err)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list;
	int r = getaddrinfo(host, service, &hints, &list);
	if (r)
		return phx_err_set(err, -EHOSTUNREACH, "%s: %s", s->where, gai_strerror(r));
	r = -EHOSTUNREACH;
	for (struct addrinfo *a = list; r < 0 && a; a = a->ai_next)
		r = connect_address(a, s->timeout_ms, &s->fd);
	freeaddrinfo(list);
	return r < 0 ? phx_err_set(err, r, "%s: %s", s->where, strerror(-r)) : 0;
}

static int shake_hands(struct phx_ssh *s, struct phx_err *err)
{
	s->session = libssh2_session_init();
	if (!s->session)
		return -ENOMEM;
	libssh2_session_set_blocking(s->session, 1);
	libssh2_session_set_timeout(s->session, (long)s->timeout_ms);
	if (libssh2_session_method_pref(s->session, LIBSSH2_METHOD_HOSTKEY, "ssh-ed25519") < 0 ||
	    libssh2_session_handshake(s->session, s->fd) < 0)
		return phx_ssh_fail(s, "no SSH session", err);
	return 0;
}

/* ---- logging in ---- */

static int check_key_file(const char *path, struct phx_err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077))
		return phx_err_set(
			err, -EPERM,
			"%s: a private key must be a file that only its owner reads (chmod 600)",
			path);
	return 0;
}

static int log_in(struct phx_ssh *s, const struct phx_ssh_config *config, struct phx_err *err)
{
	int r = check_key_file(config->key_path, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *pub = phx_path("%s.pub", config->key_path);
	if (!pub)
		return -ENOMEM;
	bool has_pub = access(pub, R_OK) == 0;
	if (libssh2_userauth_publickey_fromfile_ex(
		    s->session, config->user, (unsigned int)strlen(config->user),
		    has_pub ? pub : NULL, config->key_path, NULL) < 0)
		return phx_ssh_fail(s, "the key was not accepted", err);
	return 0;
}

static int check_config(const struct phx_ssh_config *c, struct phx_err *err)
{
	if (!c->host || !*c->host)
		return phx_err_set(err, -EINVAL, "no host given");
	if (!c->user || !*c->user)
		return phx_err_set(err, -EINVAL, "%s: no user given", c->host);
	if (!c->key_path || !c->known_hosts_path)
		return phx_err_set(err, -EINVAL,
				   "%s: a private key and a known_hosts file are needed", c->host);
	return 0;
}

int phx_ssh_open(const struct phx_ssh_config *config, struct phx_ssh **ret, struct phx_err *err)
{
	int r = check_config(config, err);
	if (r < 0)
		return r;
	uint16_t port = config->port ? config->port : 22;
	struct phx_ssh *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->timeout_ms = config->timeout_ms ? config->timeout_ms : PHX_SSH_TIMEOUT_MS;
	s->where = phx_path("%s@%s:%u", config->user, config->host, port);
	r = s->where ? connect_host(s, config->host, port, err) : -ENOMEM;
	if (r == 0)
		r = shake_hands(s, err);
	if (r == 0)
		r = phx_ssh_check_host(s, config, err);
	if (r == 0)
		r = log_in(s, config, err);
	if (r < 0)
		phx_ssh_close(s);
	else
		*ret = s;
	return r;
}

void phx_ssh_close(struct phx_ssh *s)
{
	if (!s)
		return;
	if (s->session) {
		libssh2_session_set_timeout(s->session, 1000);
		libssh2_session_disconnect(s->session, "done");
		libssh2_session_free(s->session);
	}
	phx_close_fd(&s->fd);
	free(s->where);
	free(s);
}
