/* See own_log.h. */
#include "agent/own_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/service_journal.h"
#include "base/file.h"

enum { RECORD_MAX = 8192, READ_MAX = 1 << 20, ALL_LINES = 100000 };

/* ---- cut ---- */

static void cut_before(struct phx_buf *b, size_t from)
{
	if (!from)
		return;
	b->n -= from;
	memmove(b->data, b->data + from, b->n);
	b->data[b->n] = '\0';
}

/* The last `max` bytes, from the beginning of a line on. */
static void keep_last(struct phx_buf *b, size_t max)
{
	size_t from = b->n > max ? b->n - max : 0;
	while (from && from < b->n && b->data[from - 1] != '\n')
		from++;
	cut_before(b, from);
}

static void keep_lines(struct phx_buf *b, uint32_t lines)
{
	size_t from = b->n;
	if (from && lines && b->data[from - 1] == '\n')
		from--;
	while (from && lines && (b->data[from - 1] != '\n' || --lines))
		from--;
	cut_before(b, from);
}

/* Is it said in the line that this step begins or ends? `ret_ends` the latter. */
static bool names_step(const char *line, size_t n, const char *word, bool *ret_ends)
{
	const char *at = memmem(line, n, word, strlen(word));
	if (!at || memmem(line, n, "phx-agent: ", 11) == NULL)
		return false;
	at += strlen(word);
	at += strcspn(at, " :\n");
	*ret_ends = *at == ':';
	return true;
}

void own_log_cut_step(struct phx_buf *text, uint64_t step, bool began)
{
	char word[40];
	size_t begin = began ? 0 : SIZE_MAX, end = 0;
	bool ended = false;
	snprintf(word, sizeof(word), "step %" PRIu64 " ", step);
	for (size_t i = 0; i < text->n;) {
		size_t n = strcspn(text->data + i, "\n") + 1;
		bool ends = false;
		if (names_step(text->data + i, n, word, &ends)) {
			begin = begin == SIZE_MAX ? i : begin;
			ended = ends;
			end = i + n;
		}
		i += n;
	}
	if (begin == SIZE_MAX)
		begin = end = text->n;
	else if (!ended || end > text->n)
		end = text->n;
	if (!text->data)
		return;
	memmove(text->data, text->data + begin, end - begin);
	text->n = end - begin;
	text->data[text->n] = '\0';
}

/* ---- the kernel's log ---- */

/* What is wanted of it. */
struct kmsg {
	bool kernel_alone;
	uint64_t after; /* records up to this number are known */
	uint64_t last;
	struct phx_buf *to;
};

/* "PRIORITY,NUMBER,MICROSECONDS,...;TEXT"; what follows in lines that begin with a blank is left
 * out, and what else is no record. */
static void take_record(struct kmsg *k, const char *record)
{
	unsigned priority;
	uint64_t number, us;
	const char *text = strchr(record, ';');
	if (!text || sscanf(record, "%u,%" SCNu64 ",%" SCNu64, &priority, &number, &us) != 3 ||
	    number < k->after || (k->kernel_alone && priority >> 3))
		return;
	phx_buf_addf(k->to, "[%5" PRIu64 ".%06" PRIu64 "] %.*s\n", us / 1000000, us % 1000000,
		     (int)strcspn(text + 1, "\n"), text + 1);
	k->last = number + 1;
}

static int read_device(struct kmsg *k, int fd)
{
	char record[RECORD_MAX + 1];
	int n_lost = 0;
	while (k->to->n < READ_MAX) {
		ssize_t n = read(fd, record, RECORD_MAX);
		if (n < 0 && errno == EPIPE && n_lost++ < 1000)
			continue; /* it was overwritten meanwhile */
		if (n <= 0)
			return n < 0 && errno != EAGAIN ? -errno : 0;
		record[n] = '\0';
		take_record(k, record);
	}
	return 0;
}

/* A file in its place, of tests. */
static int read_lines_of(struct kmsg *k, const char *path)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = phx_file_read(path, READ_MAX, &text, NULL, NULL);
	for (char *p = text; r == 0 && p && *p;) {
		char *end = p + strcspn(p, "\n");
		bool more = *end;
		*end = '\0';
		take_record(k, p);
		p = more ? end + 1 : end;
	}
	return r;
}

static int read_kmsg(const struct agent_config *cfg, const struct own_log_ask *ask,
		     struct phx_buf *to, char ret_cursor[SERVICE_CURSOR_MAX], struct phx_err *err)
{
	struct kmsg k = {.kernel_alone = ask->of == PHX_LOGS_KERNEL, .to = to};
	PHX_AUTO_FREE char *path = phx_path("%s/dev/kmsg", cfg->fact_root);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	struct stat st;
	int r = !path ? -ENOMEM : fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	bool file = r == 0 && S_ISREG(st.st_mode);
	if (sscanf(ask->from->cursor, "k%" SCNu64, &k.after) == 1)
		k.last = k.after;
	r = r ? r : file ? read_lines_of(&k, path) : read_device(&k, fd);
	if (r == 0 && !to->n && ask->from->wait_ms && !file) {
		struct pollfd p = {fd, POLLIN, 0};
		if (poll(&p, 1, (int)ask->from->wait_ms) > 0)
			r = read_device(&k, fd);
	}
	snprintf(ret_cursor, SERVICE_CURSOR_MAX, "k%" PRIu64, k.last);
	return r < 0 ? phx_err_set(err, r, "the kernel's log: %s", strerror(-r)) : 0;
}

/* ---- a file ---- */

static int read_from(int fd, uint64_t from, uint64_t size, struct phx_buf *to)
{
	uint64_t n = size - from < READ_MAX ? size - from : READ_MAX;
	char *room = phx_buf_extend(to, (size_t)n);
	ssize_t got = room ? pread(fd, room, (size_t)n, (off_t)(size - n)) : -1;
	if (got < 0)
		return room ? -errno : -ENOMEM;
	to->n -= (size_t)n - (size_t)got; /* it was cut meanwhile */
	to->data[to->n] = '\0';
	return 0;
}

/* Until the file changes. */
static void await_change(const char *path, uint32_t ms)
{
	PHX_AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd p = {watch, POLLIN, 0};
	if (watch >= 0 && inotify_add_watch(watch, path, IN_MODIFY) >= 0)
		poll(&p, 1, (int)ms);
}

/* The file that this program's stderr is, if it is one. */
static int read_stderr(const struct own_log_ask *ask, struct phx_buf *to,
		       char ret_cursor[SERVICE_CURSOR_MAX], struct phx_err *err)
{
	static const char path[] = "/proc/self/fd/2";
	uint64_t from = 0;
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return phx_err_set(err, -ENOENT,
				   "the agent's messages are not kept here: they are neither in "
				   "systemd's journal nor in a file");
	if (sscanf(ask->from->cursor, "f%" SCNu64, &from) != 1 || from > (uint64_t)st.st_size)
		from = 0;
	else if (from == (uint64_t)st.st_size && ask->from->wait_ms)
		await_change(path, ask->from->wait_ms);
	int r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && (uint64_t)st.st_size > from)
		r = read_from(fd, from, (uint64_t)st.st_size, to);
	snprintf(ret_cursor, SERVICE_CURSOR_MAX, "f%" PRIu64, (uint64_t)st.st_size);
	return r < 0 ? phx_err_set(err, r, "the agent's messages: %s", strerror(-r)) : 0;
}

/* ---- which of them ---- */

static int read_any(const struct agent_config *cfg, const struct own_log_ask *ask,
		    struct phx_buf *to, char ret_cursor[SERVICE_CURSOR_MAX], struct phx_err *err)
{
	if (ask->of == PHX_LOGS_KERNEL || cfg->deploy)
		return read_kmsg(cfg, ask, to, ret_cursor, err);
	if (getenv("JOURNAL_STREAM"))
		return service_journal_read("phx-agent.service", ask->from, to, ret_cursor, err);
	return read_stderr(ask, to, ret_cursor, err);
}

int own_log_read(const struct agent_config *cfg, const struct own_log_ask *ask,
		 struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX], struct phx_err *err)
{
	struct service_log_ask from = *ask->from;
	struct own_log_ask wide = *ask;
	if (ask->step) /* which lines they are is seen only then */
		from.lines = ALL_LINES;
	wide.from = &from;
	int r = read_any(cfg, &wide, ret_text, ret_cursor, err);
	if (r == 0 && ret_text->failed)
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (ask->step)
		own_log_cut_step(ret_text, ask->step, from.cursor[0]);
	else if (!from.cursor[0])
		keep_lines(ret_text, from.lines);
	keep_last(ret_text, SERVICE_LOG_MAX);
	return 0;
}
