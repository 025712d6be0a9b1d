/* See task_log.h. A line is "SUM KIND WORDS\n"; SUM is the checksum of what follows it, in eight
 * hexadecimal digits. Never decides what a note means: task_book.h. */
#include "agent/task_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

enum { SUM_WORD = 9, LONG_BYTES = 16 << 20, READ_MAX = 256 << 20, LINE_MAX_BYTES = 8192 };

/* ---- reading ---- */

static int read_result(const char *text, struct task_note *ret)
{
	int r = phx_json_text_to_record(&phx_task_result_record, text, &ret->result, NULL);
	if (r == 0)
		ret->key = TASK_KEY(&ret->result);
	return r;
}

/* -EINVAL: the line is no note of ours. */
static int parse_note(const char *line, struct task_note *ret)
{
	struct task_key *k = &ret->key;
	*ret = (struct task_note){0};
	switch (line[0]) {
	case 'O':
		ret->kind = TASK_NOTE_ORDER;
		return sscanf(line, "O %" SCNu64 " %" SCNd64, &ret->number, &ret->since_ms) == 2
			? 0
			: -EINVAL;
	case 'E':
		ret->kind = TASK_NOTE_ENDED;
		return line[1] == ' ' ? read_result(line + 2, ret) : -EINVAL;
	case 'T':
	case 'B':
	case 'S':
		ret->kind = line[0] == 'T' ? TASK_NOTE_TAKEN
			: line[0] == 'B'   ? TASK_NOTE_BEGUN
					   : TASK_NOTE_SAID;
		return sscanf(line + 1, " %" SCNu64 " %" SCNd64 " %u %u %" SCNd64, &k->run,
			      &k->submitted_ms, &k->task, &k->attempt, &ret->begin_ms) >= 4
			? 0
			: -EINVAL;
	}
	return -EINVAL;
}

static bool sum_is_right(const char *line, size_t n)
{
	char sum[SUM_WORD + 1];
	if (n <= SUM_WORD || n > LINE_MAX_BYTES || line[SUM_WORD - 1] != ' ')
		return false;
	snprintf(sum, sizeof(sum), "%08x ", phx_hash_text(line + SUM_WORD));
	return !memcmp(sum, line, SUM_WORD);
}

/* Calls `tell` for every line of `text` whose checksum is right; `text` may end with half a
 * line. */
static void read_lines(char *text, size_t n, void (*tell)(void *arg, const struct task_note *note),
		       void *arg)
{
	for (char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + n - line)));
	     line = end + 1) {
		struct task_note note;
		*end = '\0';
		if (strlen(line) != (size_t)(end - line) || !sum_is_right(line, strlen(line)) ||
		    parse_note(line + SUM_WORD, &note) < 0)
			continue;
		tell(arg, &note);
		phx_record_fini(&phx_task_result_record, &note.result);
	}
}

static char *opened(int dir, const char *name)
{
	return phx_path("/proc/self/fd/%d/%s", dir, name);
}

int task_log_open(int dir, void (*tell)(void *arg, const struct task_note *note), void *arg,
		  struct task_log *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = opened(dir, "log");
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = path ? phx_file_read(path, READ_MAX, &text, &n, NULL) : -ENOMEM;
	if (r < 0 && r != -ENOENT)
		return phx_err_set(err, r, "the log of tasks: %s", strerror(-r));
	int fd = openat(dir, "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return phx_err_set(err, -errno, "the log of tasks: %s", strerror(errno));
	/* what an earlier keeper wrote but could not sync is reported from now on */
	if (fdatasync(fd) < 0) {
		r = phx_err_set(err, -errno, "the log of tasks: %s", strerror(errno));
		close(fd);
		return r;
	}
	*ret = (struct task_log){.dir = dir, .fd = fd, .size = n, .torn = n > 0};
	if (text)
		read_lines(text, n, tell, arg);
	return 0;
}

void task_log_close(struct task_log *l)
{
	phx_close_fd(&l->fd);
	phx_buf_fini(&l->news);
}

/* ---- writing ---- */

static void put_line(struct phx_buf *b, const char *words)
{
	phx_buf_addf(b, "%08x %s\n", phx_hash_text(words), words);
}

static void put_key(struct phx_buf *b, char kind, const struct task_key *k, int64_t begin_ms)
{
	char words[128];
	snprintf(words, sizeof(words), "%c %" PRIu64 " %" PRId64 " %u %u %" PRId64, kind, k->run,
		 k->submitted_ms, k->task, k->attempt, begin_ms);
	put_line(b, words);
}

static void put_result(struct phx_buf *b, const struct phx_task_result *result)
{
	PHX_AUTO_FREE char *json = phx_json_record_text_sparse(&phx_task_result_record, result);
	PHX_AUTO_FREE char *words = json ? phx_path("E %s", json) : NULL;
	if (words)
		put_line(b, words);
	b->failed = b->failed || !words;
}

void task_log_add(struct task_log *l, const struct task_note *note)
{
	char words[64];
	switch (note->kind) {
	case TASK_NOTE_ORDER:
		snprintf(words, sizeof(words), "O %" PRIu64 " %" PRId64, note->number,
			 note->since_ms);
		put_line(&l->news, words);
		return;
	case TASK_NOTE_TAKEN:
		put_key(&l->news, 'T', &note->key, 0);
		return;
	case TASK_NOTE_BEGUN:
		put_key(&l->news, 'B', &note->key, note->begin_ms);
		return;
	case TASK_NOTE_ENDED:
		put_result(&l->news, &note->result);
		return;
	case TASK_NOTE_SAID:
		put_key(&l->news, 'S', &note->key, 0);
		return;
	}
}

int task_log_sync(struct task_log *l, struct phx_err *err)
{
	if (l->news.failed)
		return phx_err_set(err, -ENOMEM, "the log of tasks: no memory");
	if (!l->news.n)
		return 0;
	/* half a line of an earlier write must not become the beginning of ours */
	int r = l->torn ? phx_write_all(l->fd, "\n", 1) : 0;
	l->torn = true;
	r = r ? r : phx_write_all(l->fd, l->news.data, l->news.n);
	if (r == 0 && fdatasync(l->fd) < 0)
		r = -errno;
	if (r < 0)
		return phx_err_set(err, r, "the log of tasks: %s", strerror(-r));
	l->torn = false;
	l->size += l->news.n;
	l->news.n = 0;
	return 0;
}

bool task_log_is_long(const struct task_log *l)
{
	return l->size > LONG_BYTES;
}

int task_log_renew(struct task_log *l, void (*fill)(void *arg, struct task_log *fresh), void *arg,
		   struct phx_err *err)
{
	struct task_log fresh = {.dir = l->dir};
	fresh.fd = openat(l->dir, "log.new", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
			  0600);
	int r = fresh.fd < 0 ? phx_err_set(err, -errno, "log.new: %s", strerror(errno)) : 0;
	if (r == 0) {
		fill(arg, &fresh);
		r = task_log_sync(&fresh, err);
	}
	if (r == 0 && (renameat(l->dir, "log.new", l->dir, "log") < 0 || fsync(l->dir) < 0))
		r = phx_err_set(err, -errno, "the log of tasks: %s", strerror(errno));
	if (r < 0) {
		task_log_close(&fresh);
		return r;
	}
	/* notes that were added to the old log are in `fill`'s, too */
	task_log_close(l);
	*l = fresh;
	return 0;
}
