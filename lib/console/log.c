/* The log of a console: NODE.log and NODE.log.1 before it, never more than its bytes. Written by
 * the process that has consoles alone, a file at a time, none kept open: there may be thousands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "console/console.h"

enum { READ_MAX = 64 << 20 };

void phx_console_log_init(struct phx_console_log *l, const char *dir, const char *node,
			  uint64_t max)
{
	struct stat st;
	*l = (struct phx_console_log){.max = max};
	snprintf(l->path, sizeof(l->path), "%s/%s.log", dir, node);
	l->size = stat(l->path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int turn(struct phx_console_log *l)
{
	char old[sizeof(l->path) + 2];
	snprintf(old, sizeof(old), "%s.1", l->path);
	if (rename(l->path, old) < 0 && errno != ENOENT)
		return -errno;
	l->size = 0;
	return 0;
}

int phx_console_log_put(struct phx_console_log *l, const char *text, size_t n)
{
	int r = l->size && l->size + n > l->max / 2 ? turn(l) : 0;
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int fd =
		open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = phx_write_all(fd, text, n);
	l->size += n; /* also of what was written in part */
	return r;
}

/* ---- reading ---- */

struct found {
	const char *at;
	size_t n;
};

/* Looks from the end, so that no more than what is shown is kept. */
static void look(const char *text, size_t n, const char *word, struct phx_list *ret, uint32_t lines,
		 size_t *room)
{
	const size_t n_word = strlen(word);
	while (n && ret->n < lines && *room) {
		const char *end = text + n - (text[n - 1] == '\n');
		const char *nl = memrchr(text, '\n', (size_t)(end - text));
		const char *at = nl ? nl + 1 : text;
		const size_t size = (size_t)(end - at);
		n = (size_t)(at - text);
		if (!size || (n_word && !memmem(at, size, word, n_word)))
			continue;
		struct found *f = size < *room ? phx_list_push(ret, sizeof(*f)) : NULL;
		if (f)
			*f = (struct found){at, size};
		*room = f ? *room - size - 1 : 0;
	}
}

static int load(const char *dir, const char *node, const char *end, char **ret, size_t *ret_n,
		struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s.log%s", dir, node, end);
	int r = path ? phx_file_read(path, READ_MAX, ret, ret_n, err) : -ENOMEM;
	return r == -ENOENT ? 0 : r;
}

int phx_console_log_read(const char *dir, const char *node, uint32_t lines, const char *word,
			 size_t max, struct phx_buf *b, struct phx_err *err)
{
	static const char *const ends[] = {"", ".1"};
	PHX_AUTO_FREE char *now = NULL;
	PHX_AUTO_FREE char *before = NULL;
	char **texts[] = {&now, &before};
	PHX_AUTO(phx_list_fini) struct phx_list found = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(ends); i++) {
		size_t n = 0;
		r = load(dir, node, ends[i], texts[i], &n, err);
		if (r == 0 && *texts[i])
			look(*texts[i], n, word, &found, lines, &max);
	}
	for (uint32_t i = found.n; r == 0 && i > 0; i--) {
		const struct found *f = PHX_LIST_AT(&found, struct found, i - 1);
		phx_buf_add(b, f->at, f->n);
		phx_buf_add(b, "\n", 1);
	}
	return r;
}
