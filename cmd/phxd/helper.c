/* See helper.h. Started by launcher_answer.c, through main.c; asked by re_area.c. */
#include "phxd/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/json.h"
#include "phxd/re_place.h"

enum {
	LIST_MAX = 10000,
	DEPTH_MAX = 16,
	PATH_TEXT = 512,
	BODY_MAX = 16 << 20,
	ANSWER_MS = 3600 * 1000 /* a large file on a slow disk */
};
/* PUBLISH and DIR say the mode before the path, in octal digits and a blank; LINK the target behind
 * the path, of as many bytes as `number` says */
enum { OPEN, PUBLISH, LIST, REMOVE, SUM, DIR_MAKE, LINK };

/* ---- lists ---- */

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What is listed, and whither. */
struct listing {
	bool whole;
	json_t *ret;
};

static bool list_dir(int dir, const char *prefix, unsigned depth, const struct listing *l);

static bool is_shown(const struct listing *l, const char *name)
{
	if (name[0] != '.')
		return true;
	/* what phx_beneath_publish() has not given its name yet */
	return l->whole && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		!phx_beneath_is_temporary(name);
}

static const char *type_of(const struct stat *st)
{
	return S_ISREG(st->st_mode)    ? "file"
		: S_ISDIR(st->st_mode) ? "dir"
		: S_ISLNK(st->st_mode) ? "link"
				       : "other";
}

/* False: its name cannot be told. */
static bool add_row(int dir, const char *path, const char *name, const struct stat *st,
		    const struct listing *l)
{
	char target[PATH_TEXT] = "";
	json_t *row =
		json_pack("{s:s,s:I,s:I}", "path", path, "size_bytes", (json_int_t)st->st_size,
			  "modified_ms", (json_int_t)st->st_mtime * 1000);
	if (row && l->whole) {
		ssize_t n =
			S_ISLNK(st->st_mode) ? readlinkat(dir, name, target, sizeof(target)) : 0;
		json_object_set_new(row, "type", json_string(type_of(st)));
		json_object_set_new(row, "mode", json_integer(st->st_mode & 07777));
		if (n < 0 || n == (ssize_t)sizeof(target) ||
		    json_object_set_new(row, "target", json_stringn(target, (size_t)n)) < 0) {
			json_decref(row);
			return false;
		}
	}
	return json_array_append_new(l->ret, row) == 0 || !l->whole;
}

/* False: it, or what is below it, is not listed. */
static bool list_entry(int dir, const char *prefix, const char *name, unsigned depth,
		       const struct listing *l)
{
	char path[PATH_TEXT];
	struct stat st;
	if (!is_shown(l, name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return true; /* it is gone, or is not to be shown */
	if (snprintf(path, sizeof(path), "%s%s", prefix, name) >= (int)sizeof(path) - 1)
		return false;
	if (!strcmp(path, RE_USERS))
		return true;
	if ((l->whole || S_ISREG(st.st_mode)) && !add_row(dir, path, name, &st, l))
		return false;
	if (!S_ISDIR(st.st_mode))
		return true;
	int below = open_dir(dir, name);
	strcat(path, "/");
	return below >= 0 && list_dir(below, path, depth + 1, l);
}

/* Takes `dir`. */
static bool list_dir(int dir, const char *prefix, unsigned depth, const struct listing *l)
{
	DIR *d = depth < DEPTH_MAX ? fdopendir(dir) : NULL;
	bool all = d;
	if (!d)
		close(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (json_array_size(l->ret) == LIST_MAX) {
			all = false;
			break;
		}
		all = list_entry(dirfd(d), prefix, e->d_name, depth, l) && all;
	}
	if (d)
		closedir(d);
	return all;
}

bool files_list(int dir, const char *prefix, bool whole, json_t *ret)
{
	int fd = open_dir(dir, ".");
	return fd >= 0 && list_dir(fd, prefix, 0, &(struct listing){whole, ret});
}

/* ---- their sum ---- */

static uint64_t bytes_of(const struct stat *st)
{
	uint64_t names = S_ISDIR(st->st_mode) || !st->st_nlink ? 1 : st->st_nlink;
	return (uint64_t)st->st_blocks * 512 / names;
}

/* Takes `fd`; what is too deep, or cannot be read, is left out. */
static void enter_dir(struct files_sum *s, int fd)
{
	DIR *d = fd >= 0 && s->depth < FILES_SUM_DEPTH ? fdopendir(fd) : NULL;
	if (d)
		s->dirs[s->depth++] = d;
	else if (fd >= 0)
		close(fd);
}

static void add_entry(struct files_sum *s, int dir, const char *name)
{
	struct stat st;
	if (!strcmp(name, ".") || !strcmp(name, "..") ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != s->dev)
		return;
	s->n_bytes += bytes_of(&st);
	if (S_ISDIR(st.st_mode))
		enter_dir(s, open_dir(dir, name));
}

void files_sum_begin(struct files_sum *s, int dir)
{
	struct stat st;
	*s = (struct files_sum){.begun = true};
	int fd = open_dir(dir, ".");
	s->dev = fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
	enter_dir(s, fd);
}

bool files_sum_go_on(struct files_sum *s, unsigned n_entries)
{
	for (; s->depth && n_entries; n_entries--) {
		DIR *d = s->dirs[s->depth - 1];
		const struct dirent *e = readdir(d);
		if (e)
			add_entry(s, dirfd(d), e->d_name);
		else
			closedir(s->dirs[--s->depth]);
	}
	return s->depth;
}

void files_sum_end(struct files_sum *s)
{
	while (s->depth)
		closedir(s->dirs[--s->depth]);
	s->begun = false;
}

/* ---- the launcher's side ---- */

static int enter(const void *arg)
{
	return fchdir(*(const int *)arg) < 0 ? -errno : 0;
}

int helper_spawn(int dir, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *err)
{
	const char *const argv[] = {"/proc/self/exe", "--helper", NULL};
	const struct phx_run_as as = {.uid = uid, .gid = gid};
	const struct phx_launch how = {.argv = argv, .as = &as, .prepare = enter, .arg = &dir};
	struct phx_process p;
	if (!uid)
		return phx_err_set(err, -EPERM, "nobody works as root for others");
	int r = phx_apart_spawn(&how, "the helper", &p, ret_fd, err);
	if (r == 0)
		phx_apart_collect_later(&p);
	return r;
}

/* ---- the helper ---- */

static int answer_open(const struct phx_apart_question *q, struct phx_apart_reply *ret,
		       struct phx_err *err)
{
	uint64_t size;
	PHX_AUTO_CLOSE int dir = open_dir(AT_FDCWD, ".");
	int fd = dir < 0 ? phx_err_set(err, dir, "%s: %s", q->body, strerror(-dir))
			 : phx_beneath_open(dir, q->body, q->number, &size, err);
	ret->fd = fd < 0 ? 0 : fd;
	return fd < 0 ? fd : 0;
}

/* The path behind the mode; NULL: there is none. */
static const char *read_mode(const struct phx_apart_question *q, struct phx_beneath_owner *ret)
{
	char *end = NULL;
	unsigned long mode = q->n ? strtoul(q->body, &end, 8) : 0;
	*ret = (struct phx_beneath_owner){.uid = geteuid(), .gid = getegid(), .mode = mode & 0777};
	return q->n && end != q->body && *end == ' ' ? end + 1 : NULL;
}

static int answer_publish(const struct phx_apart_question *q, struct phx_err *err)
{
	struct phx_beneath_owner me;
	const char *path = read_mode(q, &me);
	PHX_AUTO_CLOSE int dir = open_dir(AT_FDCWD, ".");
	if (dir < 0 || !q->fd || !path)
		return phx_err_set(err, dir < 0 ? dir : -EPROTO, "%s: %s", q->body,
				   strerror(dir < 0 ? -dir : EPROTO));
	return phx_beneath_publish(dir, path, q->fd, q->number, me, err);
}

static int answer_dir(const struct phx_apart_question *q, struct phx_err *err)
{
	struct phx_beneath_owner me;
	const char *path = read_mode(q, &me);
	PHX_AUTO_CLOSE int dir = open_dir(AT_FDCWD, ".");
	if (dir < 0 || !path)
		return dir < 0 ? dir : -EPROTO;
	return phx_beneath_dir(dir, path, me, err);
}

static int answer_link(const struct phx_apart_question *q, struct phx_err *err)
{
	const struct phx_beneath_owner me = {.uid = geteuid(), .gid = getegid()};
	PHX_AUTO_CLOSE int dir = open_dir(AT_FDCWD, ".");
	if (dir < 0 || !q->number || q->number >= q->n)
		return dir < 0 ? dir : -EPROTO;
	PHX_AUTO_FREE char *path = strndup(q->body, (size_t)q->number);
	return path ? phx_beneath_link(dir, path, q->body + q->number, me, err) : -ENOMEM;
}

static int answer_remove(const struct phx_apart_question *q, struct phx_err *err)
{
	PHX_AUTO_CLOSE int dir = open_dir(AT_FDCWD, ".");
	return dir < 0 ? phx_err_set(err, dir, "%s: %s", q->body, strerror(-dir))
		       : phx_beneath_remove(dir, q->body, err);
}

static int answer_list(const struct phx_apart_question *q, struct phx_apart_reply *ret)
{
	PHX_AUTO_JSON json_t *list = json_array();
	bool all = files_list(AT_FDCWD, q->n ? q->body : "", q->number != 0, list);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:b}", "files", list, "more", !all);
	PHX_AUTO_FREE char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	if (!text)
		return -ENOMEM;
	phx_buf_add(&ret->body, text, strlen(text));
	return 0;
}

/* A word is sent along while there is more to come. */
static int answer_sum(struct files_sum *s, struct phx_apart_reply *ret)
{
	if (!s->begun)
		files_sum_begin(s, AT_FDCWD);
	if (files_sum_go_on(s, FILES_SUM_AT_ONCE))
		phx_buf_add(&ret->body, "more", 4);
	else
		s->begun = false;
	ret->number = s->n_bytes;
	return 0;
}

static int answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	switch (q->op) {
	case OPEN:
		return answer_open(q, ret, err);
	case PUBLISH:
		return answer_publish(q, err);
	case LIST:
		return answer_list(q, ret);
	case REMOVE:
		return answer_remove(q, err);
	case SUM:
		return answer_sum(arg, ret);
	case DIR_MAKE:
		return answer_dir(q, err);
	case LINK:
		return answer_link(q, err);
	default:
		return -ENOSYS;
	}
}

int helper_run(void)
{
	/* only its directory, and the descriptors that it is given */
	static const struct phx_confine_path paths[] = {
		{".", PHX_CONFINE_READ | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS}};
	const struct phx_confine c = {.what = "the helper",
				      .user = "",
				      .paths = paths,
				      .n_paths = PHX_ARRAY_SIZE(paths),
				      .calls = PHX_CALLS_helper};
	static struct files_sum sum;
	const struct phx_apart_server server = {
		.body_max = BODY_MAX, .answer = answer, .arg = &sum};
	struct phx_err err = {0};
	phx_apart_deaf();
	int r = geteuid() == 0 ? phx_err_set(&err, -EPERM, "the helper is never root")
			       : phx_confine_self(&c, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	r = r ? r : phx_apart_serve(STDIN_FILENO, &server);
	return r == -EPIPE ? 0 : 1;
}

/* ---- who asks ---- */

int helper_new(int fd, struct phx_apart **ret)
{
	const struct phx_apart_config config = {
		.what = "the helper", .answer_ms = ANSWER_MS, .body_max = BODY_MAX};
	return phx_apart_take(&config, fd, ret);
}

int helper_open(struct phx_apart *h, const char *path, uint64_t max, struct phx_err *err)
{
	const struct phx_apart_question q = {
		.op = OPEN, .number = max, .body = path, .n = (uint32_t)strlen(path)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct stat st;
	int r = phx_apart_ask(h, &q, 0, &reply, err);
	if (r < 0)
		return r;
	/* the process is the user's, so its answers are not trusted */
	if (!reply.fd || fstat(reply.fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > max)
		return phx_err_set(err, -EINVAL, "%s: is no regular file", path);
	int fd = reply.fd;
	reply.fd = 0;
	return fd;
}

/* Asks what has no answer but whether it was done. `body`: NULL for want of memory. */
static int ask_plain(struct phx_apart *h, struct phx_apart_question q, const char *body,
		     struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	if (!body)
		return -ENOMEM;
	q.body = body;
	q.n = (uint32_t)strlen(body);
	return phx_apart_ask(h, &q, 0, &reply, err);
}

int helper_publish(struct phx_apart *h, const char *path, int from, uint64_t max, mode_t mode,
		   struct phx_err *err)
{
	PHX_AUTO_FREE char *body = phx_path("%o %s", (unsigned)mode, path);
	return ask_plain(h, (struct phx_apart_question){.op = PUBLISH, .number = max, .fd = from},
			 body, err);
}

int helper_dir(struct phx_apart *h, const char *path, mode_t mode, struct phx_err *err)
{
	PHX_AUTO_FREE char *body = phx_path("%o %s", (unsigned)mode, path);
	return ask_plain(h, (struct phx_apart_question){.op = DIR_MAKE}, body, err);
}

int helper_link(struct phx_apart *h, const char *path, const char *target, struct phx_err *err)
{
	PHX_AUTO_FREE char *body = phx_path("%s%s", path, target);
	return ask_plain(h, (struct phx_apart_question){.op = LINK, .number = strlen(path)}, body,
			 err);
}

int helper_remove(struct phx_apart *h, const char *path, struct phx_err *err)
{
	return ask_plain(h, (struct phx_apart_question){.op = REMOVE}, path, err);
}

int helper_list(struct phx_apart *h, const char *prefix, bool whole, json_t *ret)
{
	const struct phx_apart_question q = {
		.op = LIST, .number = whole, .body = prefix, .n = (uint32_t)strlen(prefix)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	int r = phx_apart_ask(h, &q, 0, &reply, NULL);
	r = r ? r : phx_json_parse(reply.body.data, reply.body.n, &j, NULL);
	const json_t *list = r < 0 ? NULL : json_object_get(j, "files");
	if (!json_is_array(list) || json_array_extend(ret, (json_t *)list) < 0)
		return -EPROTO;
	return phx_json_bool(j, "more", true);
}

int helper_sum(struct phx_apart *h, uint64_t *ret_bytes)
{
	const struct phx_apart_question q = {.op = SUM};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = phx_apart_ask(h, &q, 0, &reply, NULL);
	if (r < 0)
		return r;
	*ret_bytes = reply.number;
	return reply.body.n > 0;
}
