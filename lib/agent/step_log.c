/* See step_log.h. The link keeps epochs and finds results, the worker puts results. Reads and
 * writes files; what is written in which order, and what is forgotten, is for step_book.c. */
#include "agent/step_log.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/record_file.h"
#include "agent/step_book.h"

enum { ENTRY_MAX = 65536 };

PHX_RECORD_TABLE(step_log_entry, STEP_LOG_ENTRY_FIELDS);

static int read_epoch(const char *state_dir, uint64_t *ret_epoch, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/epoch", state_dir);
	PHX_AUTO_FREE char *text = NULL;
	if (!path)
		return -ENOMEM;
	int r = phx_file_read(path, 64, &text, NULL, NULL);
	if (r == -ENOENT) {
		*ret_epoch = 0;
		return 0;
	}
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	text[strcspn(text, "\n")] = '\0';
	if (phx_u64_parse(text, 0, INT64_MAX, ret_epoch) < 0)
		return phx_err_set(err, -EBADMSG, "%s: expected a number, found \"%.20s\"", path,
				   text);
	return 0;
}

static int write_epoch(void *state_dir, uint64_t epoch, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/epoch", (const char *)state_dir);
	char text[32];
	if (!path)
		return -ENOMEM;
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", epoch);
	return phx_file_write(path, text, (size_t)n, 0600, err);
}

static char *entry_path(const char *state_dir, uint64_t id)
{
	return phx_path("%s/steps/%" PRIu64 ".json", state_dir, id);
}

static int write_entry(void *state_dir, uint64_t id, const void *entry, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = entry_path(state_dir, id);
	return phx_record_file_write(path, &step_log_entry_record, entry, 0600, err);
}

static int read_entry(void *state_dir, uint64_t id, void *ret_entry, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = entry_path(state_dir, id);
	struct step_log_entry *e = ret_entry;
	struct phx_err why = {0};
	int r = phx_record_file_read(path, ENTRY_MAX, &step_log_entry_record, e, &why);
	if (r == 0 && e->id != id)
		r = phx_err_set(&why, -EINVAL, "%s: holds the result of step %" PRIu64, path,
				e->id);
	if (r == -EINVAL)
		r = -EBADMSG;
	return r < 0 && r != -ENOENT ? phx_err_set(err, r, "%s", why.text) : r;
}

static int remove_entry(void *state_dir, uint64_t id)
{
	PHX_AUTO_FREE char *path = entry_path(state_dir, id);
	if (!path)
		return -ENOMEM;
	return unlink(path) < 0 ? -errno : 0;
}

static int each_entry(void *state_dir, step_book_fn *fn, void *fn_arg)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/steps", (const char *)state_dir);
	DIR *d = dir ? opendir(dir) : NULL;
	if (!d)
		return dir ? -errno : -ENOMEM;
	for (const struct dirent *e; (e = readdir(d));) {
		char name[32];
		uint64_t id;
		size_t n = strlen(e->d_name);
		if (n < 6 || n >= sizeof(name) || !phx_str_eq(e->d_name + n - 5, ".json"))
			continue;
		memcpy(name, e->d_name, n - 5);
		name[n - 5] = '\0';
		if (phx_u64_parse(name, 0, UINT64_MAX, &id) == 0)
			fn(fn_arg, id);
	}
	closedir(d);
	return 0;
}

static struct step_book book_of(const struct step_log *l)
{
	return (struct step_book){(void *)l->dir, STEP_BOOK_KEEP, write_entry, read_entry,
				  remove_entry,   each_entry,     write_epoch};
}

int step_log_open(struct step_log *l, const char *state_dir, struct phx_err *err)
{
	struct step_log new = {0};
	uint64_t epoch = 0;
	if (PHX_STR_SET(new.dir, state_dir) < 0)
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long", state_dir);
	PHX_AUTO_FREE char *steps = phx_path("%s/steps", state_dir);
	int r = steps ? phx_dir_make(steps, 0700, err) : -ENOMEM;
	if (r == 0)
		r = read_epoch(state_dir, &epoch, err);
	new.epoch = new.written_epoch = epoch;
	if (r == 0)
		*l = new;
	return r;
}

int step_log_keep_epoch(struct step_log *l, uint64_t epoch, struct phx_err *err)
{
	const struct step_book b = book_of(l);
	if (epoch > l->epoch)
		l->epoch = epoch; /* others need not wait for the disk to hear of it */
	struct step_epochs e = {l->epoch, l->written_epoch};
	int r = step_book_keep_epoch(&b, &e, epoch, err);
	l->written_epoch = e.written;
	return r;
}

int step_log_find(const struct step_log *l, uint64_t id, struct step_log_entry *ret,
		  struct phx_err *err)
{
	return read_entry((void *)l->dir, id, ret, err);
}

int step_log_put(const struct step_log *l, const struct step_log_entry *e, struct phx_err *err)
{
	const struct step_book b = book_of(l);
	return step_book_put(&b, e->id, e, err);
}

int step_log_copy(const struct step_log *l, const char *to_state_dir, struct phx_err *err)
{
	struct step_log to;
	struct step_log_entry room;
	int r = step_log_open(&to, to_state_dir, err);
	if (r < 0)
		return r;
	const struct step_book from_book = book_of(l), to_book = book_of(&to);
	return step_book_copy(&from_book, l->epoch, &to_book, to.epoch, &room, err);
}
