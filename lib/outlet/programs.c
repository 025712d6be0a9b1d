/* The programs of event_dir: which there are, and how one is run. Called in the process that runs
 * them (serve.c). */
#include "outlet/outlet.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "config/conf.h"
#include "outlet/internal.h"

enum { NAMES_MAX = 256, OUTPUT_MAX = 4096, WORDS_MAX = 200 };

PHX_RECORD_TABLE(phx_program, PHX_PROGRAM_FIELDS);

static int check_owner(const char *path, uid_t owner, bool is_dir, struct phx_err *err)
{
	struct stat st;
	int r = phx_file_trusted(path, err);
	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (is_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return phx_err_set(err, -EPERM, "%s: is no %s", path,
				   is_dir ? "directory" : "file");
	if (st.st_uid != owner)
		return phx_err_set(err, -EPERM,
				   "%s: belongs to user %u, and must belong to user %u", path,
				   (unsigned)st.st_uid, (unsigned)owner);
	return st.st_mode & 022
		? phx_err_set(err, -EPERM, "%s: others than its owner may write there: chmod go-w",
			      path)
		: 0;
}

/* ---- which ---- */

static bool ends_in_conf(const char *name)
{
	size_t n = strlen(name), m = strlen(".conf");
	return n >= m && !strcmp(name + n - m, ".conf");
}

static bool is_program(const char *dir, const char *name)
{
	struct stat st;
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	return path && name[0] != '.' && !ends_in_conf(name) && stat(path, &st) == 0 &&
		S_ISREG(st.st_mode) && st.st_mode & 0111;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct phx_word *)a)->text, ((const struct phx_word *)b)->text);
}

static int list_names(const char *dir, struct phx_list *ret, struct phx_err *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		if (!is_program(dir, e->d_name) || ret->n >= NAMES_MAX)
			continue;
		struct phx_word *w = phx_list_push(ret, sizeof(*w));
		r = w ? PHX_STR_SET(w->text, e->d_name) : -ENOMEM;
	}
	closedir(d);
	if (r == 0 && ret->n)
		qsort(ret->items, ret->n, sizeof(struct phx_word), by_name);
	return r;
}

static int read_conf(const char *dir, const char *name, uid_t owner, struct phx_program *p,
		     struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s.conf", dir, name);
	struct stat st;
	int r = path ? phx_key_defaults(&phx_program_record, p, err) : -ENOMEM;
	if (r < 0 || (stat(path, &st) < 0 && errno == ENOENT))
		return r;
	r = check_owner(path, owner, false, err);
	r = r ? r : phx_conf_read(path, &c, err);
	r = r ? r : phx_conf_group(&c, config_root_setting(&c.cfg), &phx_program_record, p, err);
	r = r ? r : phx_event_kinds_check(&p->kinds, err);
	return r;
}

static void look_at(const char *dir, const char *name, uid_t owner, struct phx_program *p)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	int r = path ? check_owner(path, owner, false, &err) : -ENOMEM;
	r = r ? r : read_conf(dir, name, owner, p, &err);
	if (r == 0 && !phx_name_valid(name))
		r = phx_err_set(&err, -EINVAL,
				"its name must be letters, digits, '-', '_', '.', at most %d",
				PHX_NAME_MAX - 1);
	if (PHX_STR_SET(p->name, name) < 0)
		snprintf(p->name, sizeof(p->name), "%.*s", PHX_NAME_MAX - 1, name);
	phx_utf8_repair(p->name);
	if (r < 0)
		snprintf(p->error, sizeof(p->error), "%s", err.text[0] ? err.text : strerror(-r));
}

int phx_programs_list(const char *dir, uid_t owner, struct phx_list *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	struct phx_list list = {0};
	struct stat st;
	if (stat(dir, &st) < 0 && errno == ENOENT)
		return 0;
	int r = check_owner(dir, owner, true, err);
	r = r ? r : list_names(dir, &names, err);
	for (uint32_t i = 0; r == 0 && i < names.n; i++) {
		struct phx_program *p = phx_list_push(&list, sizeof(*p));
		r = p ? 0 : -ENOMEM;
		if (p)
			look_at(dir, PHX_LIST_AT(&names, struct phx_word, i)->text, owner, p);
		if (p && i >= PHX_PROGRAMS_MAX)
			snprintf(p->error, sizeof(p->error),
				 "there may be %d programs at most, and it is one more",
				 PHX_PROGRAMS_MAX);
	}
	if (r == 0) {
		*ret = list;
		return 0;
	}
	PHX_LIST_EACH(struct phx_program, p, &list)
		phx_record_fini(&phx_program_record, p);
	phx_list_fini(&list);
	return r;
}

/* ---- one run ---- */

/* Nothing that it has against this event: it wants it later, or was not run at all. */
static bool is_later(int status)
{
	return status == PHX_PROGRAM_LATER || status == 126 || status == 127;
}

/* What it wrote last is its reason: one clean line of it. */
static int failed(const char *name, const struct phx_run_result *out, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf words = {0};
	out->errout[strcspn(out->errout, "\n")] = '\0';
	outlet_put_clean(&words, out->errout);
	return phx_err_set(err, is_later(out->status) ? -EIO : -EBADMSG,
			   "%s ended with status %d%s%.*s", name, out->status, words.n ? ": " : "",
			   WORDS_MAX, words.data ? words.data : "");
}

int phx_program_run(const char *dir, uid_t owner, const char *name, const char *text,
		    uint32_t timeout_ms, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	const char *const argv[] = {path, NULL};
	const struct phx_run run = {.argv = argv,
				    .input = text,
				    .timeout_ms = timeout_ms,
				    .output_max = OUTPUT_MAX,
				    .dies_with_us = true};
	if (!phx_name_valid(name) || ends_in_conf(name))
		return phx_err_set(err, -EINVAL, "that is no name of a program");
	int r = path ? check_owner(dir, owner, true, err) : -ENOMEM;
	r = r ? r : check_owner(path, owner, false, err);
	r = r ? r : phx_run(&run, &out, err);
	return r < 0 || !out.status ? r : failed(name, &out, err);
}
