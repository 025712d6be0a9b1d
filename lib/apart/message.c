/* Messages between two processes: a head of one shape, with the descriptors that go along, then
 * bytes. Called by both sides. */
#include "apart/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"

static int failed(void)
{
	return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EPIPE : -errno;
}

static int send_all(int fd, const void *data, size_t n, int flags)
{
	const char *at = data;
	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL | flags);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return failed();
		at += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static int receive_all(int fd, void *data, size_t n)
{
	char *at = data;
	while (n) {
		ssize_t got = recv(fd, at, n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? failed() : -EPIPE;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

/* ---- descriptors: they travel with the first byte ---- */

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * APART_FDS)];
};

void apart_fds_close(struct apart_fds *f)
{
	for (unsigned i = 0; i < f->n; i++)
		phx_close_fd(&f->fd[i]);
	f->n = 0;
}

static int send_first(int fd, const char *byte, const struct apart_fds *fds)
{
	union control c = {0};
	struct iovec io = {.iov_base = (void *)byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = c.bytes,
			   .msg_controllen = CMSG_SPACE(sizeof(int) * fds->n)};
	struct cmsghdr *part = CMSG_FIRSTHDR(&m);
	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(sizeof(int) * fds->n);
	memcpy(CMSG_DATA(part), fds->fd, sizeof(int) * fds->n);
	ssize_t sent;
	while ((sent = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_MORE)) < 0 && errno == EINTR)
		;
	return sent < 0 ? failed() : 0;
}

/* Those that have no room the kernel does not give. */
static void take_fds(struct msghdr *m, struct apart_fds *ret)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(m); part; part = CMSG_NXTHDR(m, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		unsigned n = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		ret->n = n < APART_FDS ? n : APART_FDS;
		memcpy(ret->fd, CMSG_DATA(part), sizeof(int) * ret->n);
	}
}

static int receive_first(int fd, char *byte, struct apart_fds *ret)
{
	union control c = {0};
	struct iovec io = {.iov_base = byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = c.bytes,
			   .msg_controllen = sizeof(c.bytes)};
	ssize_t got;
	while ((got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got <= 0)
		return got ? failed() : -EPIPE;
	take_fds(&m, ret);
	return 0;
}

/* ---- messages ---- */

int apart_send(int fd, const struct apart_message *m, const void *body, const struct apart_fds *fds)
{
	const char *head = (const char *)m;
	size_t from = fds && fds->n ? 1 : 0;
	int r = from ? send_first(fd, head, fds) : 0;
	r = r ? r : send_all(fd, head + from, sizeof(*m) - from, m->n ? MSG_MORE : 0);
	return r ? r : send_all(fd, body, m->n, 0);
}

static int receive_body(int fd, uint32_t body_max, const struct apart_message *m, char **ret)
{
	/* nobody says longer names than that, nor more */
	if (m->n > body_max || !memchr(m->name, '\0', sizeof(m->name)))
		return -EPROTO;
	PHX_AUTO_FREE char *body = malloc((size_t)m->n + 1);
	if (!body)
		return -ENOMEM;
	body[m->n] = '\0';
	int r = receive_all(fd, body, m->n);
	if (r == 0)
		*ret = PHX_TAKE(body);
	return r;
}

int apart_receive(int fd, uint32_t body_max, struct apart_message *ret, char **ret_body,
		  struct apart_fds *ret_fds)
{
	struct apart_fds fds = {0};
	int r = receive_first(fd, (char *)ret, &fds);
	r = r ? r : receive_all(fd, (char *)ret + 1, sizeof(*ret) - 1);
	r = r ? r : receive_body(fd, body_max, ret, ret_body);
	if (r == 0)
		*ret_fds = fds;
	else
		apart_fds_close(&fds);
	return r;
}
