/* See task_output.h. */
#include "agent/task_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task_run.h"
#include "base/file.h"

/* Reads up to `max` bytes; returns how many, or negative errno. */
static ssize_t read_piece(int fd, char *to, size_t max, off_t from)
{
	size_t n = 0;
	while (n < max) {
		ssize_t got = pread(fd, to + n, max - n, from + (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static int take_piece(int fd, uint64_t from, struct phx_task_output *ret)
{
	struct stat st;
	PHX_AUTO_FREE char *bytes = malloc(PHX_TASK_PIECE_MAX);
	PHX_AUTO_FREE char *hex = malloc(2 * PHX_TASK_PIECE_MAX + 1);
	if (!bytes || !hex)
		return -ENOMEM;
	ssize_t n = from < INT64_MAX - PHX_TASK_PIECE_MAX
		? read_piece(fd, bytes, PHX_TASK_PIECE_MAX, (off_t)from)
		: 0;
	if (n < 0)
		return (int)n;
	/* after reading, so that output which has come meanwhile counts, and is asked for next */
	if (fstat(fd, &st) < 0)
		return -errno;
	phx_hex(bytes, (size_t)n, hex);
	ret->size_bytes = (uint64_t)st.st_size;
	ret->hex = PHX_TAKE(hex);
	return 0;
}

int task_output_read(const char *cache_dir, const struct phx_task_ask *ask,
		     struct phx_task_output *ret, struct phx_err *err)
{
	const struct task_key key = TASK_KEY(ask);
	char name[80];
	task_run_name(&key, name);
	*ret = (struct phx_task_output){0};
	PHX_AUTO_FREE char *path = phx_path("%s/tasks/%s", cache_dir, name);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (!path)
		return -ENOMEM;
	if (fd < 0 && errno == ENOENT)
		return phx_err_set(err, -ENOENT,
				   "nothing is kept of what it printed: it printed nothing, or "
				   "that made room for what others printed later");
	int r = fd < 0 ? -errno : take_piece(fd, ask->from, ret);
	return r < 0 ? phx_err_set(err, r, "what it printed: %s", strerror(-r)) : 0;
}
