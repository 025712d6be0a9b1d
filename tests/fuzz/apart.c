/* Messages between two processes, as one that was taken over writes them: a question has an answer
 * or ends the conversation, and no descriptor is left. The first byte: how many descriptors come
 * with it.
 * Parsers: lib/apart/message.c */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apart/internal.h"
#include "fuzz/fuzz.h"

enum { BODY_MAX = 4096 };

static int answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	(void)arg;
	fuzz_never(q->n > BODY_MAX || q->body[q->n] || strlen(q->name) >= PHX_NAME_MAX);
	phx_buf_add(&ret->body, q->body, q->n);
	return q->op % 3 == 2 ? phx_err_set(err, -1, "no") : 0;
}

static int first_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	return fd;
}

/* What the head says of its length is so, and so much follows, or one more than may. */
static void put(int fd, unsigned n_fds, const uint8_t *data, size_t n)
{
	static char body[BODY_MAX + 2];
	const struct apart_fds fds = {.fd = {fd, fd}, .n = n_fds};
	struct apart_message m = {0};
	size_t head = n < sizeof(m) ? n : sizeof(m);
	memcpy(&m, data, head);
	m.n %= BODY_MAX + 2;
	memcpy(body, data + head, n - head);
	apart_send(fd, &m, body, &fds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = answer};
	int pair[2], was = first_free();
	if (n < 2 || n - 1 > BODY_MAX)
		return 0;
	fuzz_never(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0);
	put(pair[0], data[0] % 3u, data + 1, n - 1);
	shutdown(pair[0], SHUT_WR);
	int r = phx_apart_serve_one(pair[1], &server);
	fuzz_never(r > 0 || (r == 0 && !(data[0] % 3)));
	close(pair[0]);
	close(pair[1]);
	fuzz_never(first_free() != was);
	return 0;
}
