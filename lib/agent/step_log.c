/* See step_log.h. The link keeps epochs and finds results, the worker
 * puts results. Never decides what a step does. */
#include "agent/step_log.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/record_file.h"

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

static int write_epoch(const char *state_dir, uint64_t epoch, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/epoch", state_dir);
	char text[32];
	if (!path)
		return -ENOMEM;
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", epoch);
	return phx_file_write(path, text, (size_t)n, 0600, err);
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
	new.epoch = epoch;
	if (r == 0)
		*l = new;
	return r;
}

int step_log_keep_epoch(struct step_log *l, uint64_t epoch, struct phx_err *err)
{
	if (epoch <= l->epoch)
		return 0;
	int r = write_epoch(l->dir, epoch, err);
	if (r == 0)
		l->epoch = epoch;
	return r;
}

static char *entry_path(const char *state_dir, uint64_t id)
{
	return phx_path("%s/steps/%" PRIu64 ".json", state_dir, id);
}

int step_log_find(const struct step_log *l, uint64_t id, struct step_log_entry *ret,
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *path = entry_path(l->dir, id);
	struct phx_err why = {0};
	int r = phx_record_file_read(path, ENTRY_MAX, &step_log_entry_record, ret, &why);
	if (r == 0 && ret->id != id)
		r = phx_err_set(&why, -EINVAL, "%s: holds the result of step %" PRIu64, path,
				ret->id);
	if (r == -EINVAL)
		r = -EBADMSG;
	return r < 0 && r != -ENOENT ? phx_err_set(err, r, "%s", why.text) : r;
}

/* Calls `fn` with the id of every result file. */
static int each_entry(const char *state_dir, void (*fn)(void *arg, uint64_t id), void *arg)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/steps", state_dir);
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
			fn(arg, id);
	}
	closedir(d);
	return 0;
}

struct prune {
	uint64_t oldest;
	uint32_t n;
};

static void count_entry(void *arg, uint64_t id)
{
	struct prune *p = arg;
	if (!p->n || id < p->oldest)
		p->oldest = id;
	p->n++;
}

/* Removes the oldest result beyond the bound: each put adds one. */
static void prune(const struct step_log *l)
{
	struct prune p = {0};
	if (each_entry(l->dir, count_entry, &p) < 0 || p.n <= STEP_LOG_KEEP)
		return;
	PHX_AUTO_FREE char *path = entry_path(l->dir, p.oldest);
	if (path)
		unlink(path);
}

static int write_entry(const char *state_dir, const struct step_log_entry *e, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = entry_path(state_dir, e->id);
	return phx_record_file_write(path, &step_log_entry_record, e, 0600, err);
}

int step_log_put(const struct step_log *l, const struct step_log_entry *e, struct phx_err *err)
{
	int r = write_entry(l->dir, e, err);
	if (r == 0)
		prune(l);
	return r;
}

struct copy {
	const struct step_log *from;
	const char *to;
	int r;
	struct phx_err *err;
};

static void copy_entry(void *arg, uint64_t id)
{
	struct copy *c = arg;
	struct step_log_entry e;
	if (c->r < 0)
		return;
	c->r = step_log_find(c->from, id, &e, c->err);
	if (c->r == 0)
		c->r = write_entry(c->to, &e, c->err);
}

int step_log_copy(const struct step_log *l, const char *to_state_dir, struct phx_err *err)
{
	struct step_log to;
	struct copy c = {l, to_state_dir, 0, err};
	int r = step_log_open(&to, to_state_dir, err);
	if (r == 0)
		r = each_entry(l->dir, copy_entry, &c);
	if (r == 0)
		r = c.r;
	if (r == 0 && l->epoch > to.epoch)
		r = write_epoch(to_state_dir, l->epoch, err);
	return r;
}
