/* Listening sockets. Called by server.c at start, or by whoever binds them for another process;
 * libmicrohttpd gets them ready made, so that errors are ours to tell and the Unix socket is never
 * open to more than it should be. */
#include "http/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

#define BACKLOG 1024
/* Out of the care of PHX_AUTO_CLOSE. */
#define TAKE_FD(fd) \
	({ \
		int taken_ = (fd); \
		(fd) = -1; \
		taken_; \
	})

/* A socket file is left behind by a crash; one that answers belongs to somebody alive. */
static int remove_stale(const struct sockaddr_un *sa, struct phx_err *err)
{
	struct stat st;
	if (lstat(sa->sun_path, &st) < 0)
		return errno == ENOENT
			? 0
			: phx_err_set(err, -errno, "%s: %s", sa->sun_path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return phx_err_set(err, -EEXIST, "%s: exists and is not a socket", sa->sun_path);
	PHX_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 || errno != ECONNREFUSED)
		return phx_err_set(err, -EADDRINUSE, "%s: another program is serving it",
				   sa->sun_path);
	return unlink(sa->sun_path) < 0 ? -errno : 0;
}

static int listen_unix(const char *path, gid_t gid, struct phx_err *err)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	if (phx_str_copy(sa.sun_path, sizeof(sa.sun_path), path) < 0)
		return phx_err_set(err, -ENAMETOOLONG,
				   "%s: a socket's path has at most %zu characters", path,
				   sizeof(sa.sun_path) - 1);
	int r = remove_stale(&sa, err);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	PHX_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* the mode of the descriptor becomes that of the file: closed until the group is set */
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (chown(path, (uid_t)-1, gid) < 0 || chmod(path, 0660) < 0 || listen(fd, BACKLOG) < 0) {
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
		unlink(path);
		return r;
	}
	return TAKE_FD(fd);
}

/* "10.77.0.1" or "fd77::1" and a port as a socket address. */
static int parse_address(const char *address, uint16_t port, struct sockaddr_storage *ret,
			 socklen_t *ret_n)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
		memcpy(ret, &v4, sizeof(v4));
		*ret_n = sizeof(v4);
		return 0;
	}
	if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
		memcpy(ret, &v6, sizeof(v6));
		*ret_n = sizeof(v6);
		return 0;
	}
	return -EINVAL;
}

uint16_t phx_http_listen_port(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t n = sizeof(ss);
	if (getsockname(fd, (struct sockaddr *)&ss, &n) < 0)
		return 0;
	/* the port lies at the same place in both families */
	return ntohs(((const struct sockaddr_in *)&ss)->sin_port);
}

static int listen_tcp(const char *address, uint16_t port, struct phx_err *err)
{
	struct sockaddr_storage ss = {0};
	socklen_t n = 0;
	const int on = 1, idle = 60, interval = 15, count = 4;
	if (parse_address(address, port, &ss, &n) < 0)
		return phx_err_set(err, -EINVAL, "'%s' is not an IP address", address);
	PHX_AUTO_CLOSE int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", address, strerror(errno));
	/* accepted sockets inherit all but the first: small answers go out at once, and a peer that
	 * lost its power in a long poll is noticed */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	if (bind(fd, (const struct sockaddr *)&ss, n) < 0 || listen(fd, BACKLOG) < 0)
		return phx_err_set(err, -errno, "cannot listen on %s port %u: %s", address, port,
				   strerror(errno));
	return TAKE_FD(fd);
}

int phx_http_listen(const struct phx_http_server_config *config, enum phx_http_listener which,
		    struct phx_err *err)
{
	switch (which) {
	case PHX_HTTP_UNIX:
		return listen_unix(config->unix_path, config->unix_gid, err);
	case PHX_HTTP_TLS:
		return listen_tcp(config->tls_address, config->tls_port, err);
	case PHX_HTTP_PLAIN:
		return listen_tcp(config->plain_address, config->plain_port, err);
	}
	return -EINVAL;
}
