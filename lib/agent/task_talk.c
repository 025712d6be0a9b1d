/* See task_talk.h. Called by tasks.c (the agent) and by task_keeper.c. Never waits. */
#include "agent/task_talk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"

enum { SOCKET_BYTES = 1 << 20 };

PHX_RECORD_TABLE(task_say, TASK_SAY_FIELDS);
PHX_RECORD_TABLE(task_tell, TASK_TELL_FIELDS);

int task_talk_send(int fd, const struct phx_record *rec, const void *message)
{
	PHX_AUTO_FREE char *text = phx_json_record_text_least(rec, message);
	if (!text)
		return -ENOMEM;
	size_t n = strlen(text);
	if (n > TASK_TALK_MAX)
		return -EMSGSIZE;
	ssize_t sent = send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent == (ssize_t)n ? 0 : sent < 0 ? -errno : -EIO;
}

int task_talk_receive(int fd, const struct phx_record *rec, void *ret)
{
	PHX_AUTO_FREE char *text = malloc(TASK_TALK_MAX + 1);
	if (!text)
		return -ENOMEM;
	ssize_t n = recv(fd, text, TASK_TALK_MAX, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	if (n == 0)
		return -EPIPE;
	if (n > (ssize_t)TASK_TALK_MAX)
		return -EPROTO;
	text[n] = '\0';
	return phx_json_text_to_record(rec, text, ret, NULL) < 0 ? -EPROTO : 0;
}

static struct sockaddr_un address_in(int dir, const char *name)
{
	/* the directory's own path may be too long for an address */
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, name);
	return a;
}

static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int bytes = SOCKET_BYTES;
	if (fd < 0)
		return -errno;
	/* SO_SNDBUFFORCE exceeds the common limit, as root; a smaller buffer only gives -EAGAIN
	 * sooner */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return fd;
}

static int give_up(int fd)
{
	int r = -errno;
	close(fd);
	return r;
}

/* The socket gets its name only once it is listening. */
int task_talk_listen(int dir)
{
	struct sockaddr_un a = address_in(dir, "socket.new");
	int fd = open_socket();
	if (fd < 0)
		return fd;
	unlinkat(dir, "socket.new", 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4) < 0 ||
	    renameat(dir, "socket.new", dir, "socket") < 0)
		return give_up(fd);
	return fd;
}

int task_talk_connect(int dir)
{
	struct sockaddr_un a = address_in(dir, "socket");
	int fd = open_socket();
	if (fd < 0)
		return fd;
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? give_up(fd) : fd;
}
