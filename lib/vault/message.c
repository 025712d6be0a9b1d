/* Messages between head and vault: a head of one shape, then bytes. Called by both sides. */
#include "vault/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static int send_all(int fd, const void *data, size_t n, int flags)
{
	const char *at = data;
	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL | flags);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EPIPE : -errno;
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
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EPIPE : -errno;
		if (got == 0)
			return -EPIPE;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int vault_send(int fd, const struct vault_message *m, const void *body)
{
	int r = send_all(fd, m, sizeof(*m), m->n ? MSG_MORE : 0);
	return r ? r : send_all(fd, body, m->n, 0);
}

int vault_receive(int fd, struct vault_message *ret, char **ret_body)
{
	int r = receive_all(fd, ret, sizeof(*ret));
	if (r < 0)
		return r;
	/* nobody says longer names than that, nor more */
	if (ret->n > VAULT_BODY_MAX || !memchr(ret->name, '\0', sizeof(ret->name)))
		return -EPROTO;
	PHX_AUTO_FREE char *body = malloc((size_t)ret->n + 1);
	if (!body)
		return -ENOMEM;
	body[ret->n] = '\0';
	r = receive_all(fd, body, ret->n);
	if (r == 0)
		*ret_body = PHX_TAKE(body);
	return r;
}
