/* Files in the data directories of runtime environments: agents carry them to jobs and back; the
 * RE's service provider puts and fetches them, and users do, each in an own directory (users/NAME).
 * re_dir.c makes the directories; no path leads out of them: re_area.h. */
#include "phxd/asker.h"
#include "phxd/data_use.h"
#include "phxd/re_area.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "job/job.h"

static uint64_t size_limit(const struct daemon *d)
{
	return (uint64_t)d->cfg.stage_max_mb << 20;
}

/* Turns errors that a path has for good into -EINVAL. */
static int plain(int r)
{
	return r == -ELOOP || r == -ENOTDIR || r == -EISDIR || r == -ENAMETOOLONG || r == -EEXIST ||
			r == -ENOTEMPTY
		? -EINVAL
		: r;
}

/* `fd`: a file, or a negative errno with the reason. Takes it. */
static void reply_file(struct phx_http_request *q, int fd, const struct phx_err *err)
{
	/* as it was opened by its owner: the head itself may have no right to */
	if (fd >= 0)
		phx_http_reply_fd(q, fd, "application/octet-stream");
	else
		phx_http_reply_error(q, plain(fd), err->text);
}

static int open_file_in(struct daemon *d, const char *re, const char *path, struct phx_err *err)
{
	struct re_area area;
	const char *rest;
	int fd = re_area_find(d, re, path, &area, &rest, err);
	if (fd < 0)
		return fd;
	fd = re_area_open_file(&area, rest, size_limit(d), err);
	re_area_fini(&area);
	return fd;
}

static int open_file_of(struct daemon *d, const char *re, const struct person_login *who,
			const char *path, struct phx_err *err)
{
	struct re_area own;
	int fd = re_area_open_user(d, re, who, false, &own, err);
	if (fd < 0)
		return fd;
	fd = re_area_open_file(&own, path, size_limit(d), err);
	re_area_fini(&own);
	return fd;
}

/* What is put: a file with this content, a directory, or a link, whose content is its target. */
enum put_kind { PUT_FILE, PUT_DIR, PUT_LINK };
static const char *const put_names[] = {"file", "dir", "link"};
static const struct phx_enum put_kinds = {"kind", put_names, PHX_ARRAY_SIZE(put_names)};
struct put {
	const char *body; /* path of the file with the content */
	int kind;         /* enum put_kind */
	mode_t mode;      /* 0: as usual */
};

/* What a file has on the disk now, where anybody needs to know; 0: there is none. */
static uint64_t bytes_there(const struct daemon *d, const char *re, const struct re_area *area,
			    const char *path)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = data_use_bounds(d->data_use, re)
		? re_area_open_file(area, path, INT64_MAX, NULL)
		: -1;
	return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

static int publish_link(const struct put *p, const struct re_area *area, const char *path,
			struct phx_err *err)
{
	PHX_AUTO_FREE char *target = NULL;
	size_t n = 0;
	int r = phx_file_read(p->body, 4096, &target, &n, err);
	if (r == 0 && strlen(target) != n)
		r = phx_err_set(err, -EINVAL, "%s: the target of a link has no NUL", path);
	return r ? r : re_area_link(area, path, target, err);
}

static int publish_counted(struct daemon *d, const char *re, const struct put *p,
			   const struct re_area *area, const char *path, int from,
			   struct phx_err *err)
{
	struct stat st;
	struct data_use_file f = {.re = re, .n_had = bytes_there(d, re, area, path)};
	if (fstat(from, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	f.n_bytes = (uint64_t)st.st_size;
	int r = data_use_take(d->data_use, &f, err);
	if (r < 0)
		return r;
	r = re_area_publish(area, path, from, size_limit(d), p->mode, err);
	data_use_settle(d->data_use, &f, r == 0);
	return r;
}

/* Directories and links are not counted one by one: what they take is found by the next sum. */
static int publish_in_area(struct daemon *d, const struct put *p, const char *re,
			   const struct re_area *area, const char *path, struct phx_err *err)
{
	if (p->kind == PUT_DIR)
		return re_area_dir(area, path, p->mode, err);
	PHX_AUTO_CLOSE int from = p->body ? open(p->body, O_RDONLY | O_CLOEXEC) : -1;
	if (from < 0)
		return phx_err_set(err, -EIO, "%s: the upload cannot be read", path);
	return p->kind == PUT_LINK ? publish_link(p, area, path, err)
				   : publish_counted(d, re, p, area, path, from, err);
}

/* Takes `area`. */
static int publish(struct daemon *d, const struct put *p, const char *re, struct re_area *area,
		   const char *path, struct phx_err *err)
{
	int r = publish_in_area(d, p, re, area, path, err);
	re_area_fini(area);
	return r;
}

static int not_users(const char *path, struct phx_err *err)
{
	if (!re_area_is_users(path))
		return 0;
	return phx_err_set(err, -EPERM,
			   "%s: below " RE_USERS
			   "/ are the directories of users: they alone put files there, and "
			   "remove them",
			   path);
}

/* Publishes a file of the RE's owner; paths below users/ are refused. */
static int publish_in(struct daemon *d, const struct put *p, const char *re, const char *path,
		      struct phx_err *err)
{
	struct re_area area;
	int r = not_users(path, err);
	r = r ? r : re_area_open(d, re, &area, err);
	return r ? r : publish(d, p, re, &area, path, err);
}

static int publish_of(struct daemon *d, const struct put *p, const char *re,
		      const struct person_login *who, const char *path, struct phx_err *err)
{
	struct re_area own;
	int r = re_area_open_user(d, re, who, true, &own, err);
	return r ? r : publish(d, p, re, &own, path, err);
}

/* `full`: as what is told that there is no room (-EDQUOT): people may make some, and a job that
 * waited for it would hold up its node. */
static void reply_done(struct phx_http_request *q, int r, int full, const struct phx_err *err)
{
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, r == -EDQUOT ? full : plain(r), err->text);
	else
		phx_http_reply_json(q, 200, empty);
}

/* ---- agents ---- */

struct staged {
	char re[PHX_NAME_MAX], node[PHX_NAME_MAX];
	struct person_login user;
	bool owns; /* owns the RE and its directory */
	struct phx_word path;
};

/* Has the node a part of the job's present run that is not over? Only the first node of a run sends
 * files. */
static bool has_part(const struct phx_job *j, const char *node, uint64_t run, bool first_only)
{
	if (!j || j->state != PHX_JOB_RUNNING || j->kills != run)
		return false;
	for (uint32_t i = 0; i < j->parts.n && (!first_only || i == 0); i++) {
		const struct phx_job_part *p = PHX_LIST_AT(&j->parts, struct phx_job_part, i);
		if (!p->ended && !strcmp(p->node, node))
			return true;
	}
	return false;
}

/* Finds file number I that job ID of the asking node stages in or out; false after answering. */
static bool find_staged(struct daemon *d, struct phx_http_request *q, bool out, struct staged *ret)
{
	uint64_t id = 0, i = 0, run = 0;
	const char *asked = phx_http_query(q, "run");
	char *node = ret->node;
	if (!person_agent(d, q, node))
		return false;
	bool good = phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &id) == 0 &&
		phx_u64_parse(phx_http_param(q, 1), 0, UINT32_MAX, &i) == 0 && asked &&
		phx_u64_parse(asked, 0, UINT32_MAX, &run) == 0;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_job *j = good ? phx_state_job(s, id) : NULL;
	const struct phx_job *words = j ? phx_job_words(s, j) : NULL;
	const struct phx_list *list = words ? (out ? &words->stage_out : &words->stage_in) : NULL;
	good = list && has_part(j, node, run, out) && i < list->n;
	if (good) {
		const struct phx_re *re = phx_state_re(s, j->re);
		PHX_STR_SET(ret->re, j->re);
		PHX_STR_SET(ret->user.name, j->user);
		ret->user.uid = j->uid;
		ret->user.gid = j->gid;
		ret->owns = re && phx_agreement_is_of_user(&re->agreement, j->user);
		ret->path = *PHX_LIST_AT(list, struct phx_word, i);
	}
	engine_unlock(d->engine);
	if (!good)
		phx_http_reply_error(
			q, -ESTALE, "this node has no part of such a run, or the run no such file");
	return good;
}

/* Journals access to files, at most once a minute for each person, verb and RE. */
static void tell_access(struct daemon *d, const char *who, const char *re, const char *verb)
{
	char kind[2 * PHX_NAME_MAX], text[2 * PHX_NAME_MAX + 64];
	snprintf(kind, sizeof(kind), "%s %s", verb, re);
	snprintf(text, sizeof(text), "%s %s files of %s", who, verb, re);
	seldom_tell(d->seldom,
		    &(struct seldom_fact){.who = who, .kind = kind, .re = re, .text = text});
}

static void tell_staged(struct daemon *d, const struct staged *s, const char *verb)
{
	char who[PHX_NAME_MAX + 8];
	snprintf(who, sizeof(who), "node:%.50s", s->node);
	tell_access(d, who, s->re, verb);
}

/* Opens the user's own file, or else one in the RE's directory; never another user's. */
static int open_staged(struct daemon *d, const struct staged *s, struct phx_err *err)
{
	int fd = s->owns ? -ENOENT : open_file_of(d, s->re, &s->user, s->path.text, err);
	if (fd != -ENOENT || (!s->owns && re_area_is_users(s->path.text)))
		return fd;
	phx_err_clear(err);
	return open_file_in(d, s->re, s->path.text, err);
}

void api_stage_in(struct phx_http_request *q, void *arg)
{
	struct staged s;
	struct phx_err err = {0};
	if (!find_staged(arg, q, false, &s))
		return;
	tell_staged(arg, &s, "reads");
	reply_file(q, open_staged(arg, &s, &err), &err);
}

void api_stage_out(struct phx_http_request *q, void *arg)
{
	struct staged s;
	struct phx_err err = {0};
	const struct put put = {.body = phx_http_body_path(q)};
	if (!find_staged(arg, q, true, &s))
		return;
	tell_staged(arg, &s, "writes");
	reply_done(q,
		   s.owns ? publish_in(arg, &put, s.re, s.path.text, &err)
			  : publish_of(arg, &put, s.re, &s.user, s.path.text, &err),
		   -EFBIG, &err);
}

/* Called before the first byte of the body is read. `full`: as reply_done(). */
static bool may_come(const struct daemon *d, struct phx_http_request *q, int full)
{
	char text[96];
	struct phx_err err = {0};
	uint64_t n = phx_http_body_announced(q);
	if (n == UINT64_MAX) /* no length given: refused for that */
		return true;
	if (n <= size_limit(d)) {
		bool fits = data_use_room(d->data_use, n, &err) == 0;
		if (!fits)
			phx_http_reply_error(q, full, err.text);
		return fits;
	}
	snprintf(text, sizeof(text), "the file is larger than %u MiB (stage_max_mb)",
		 d->cfg.stage_max_mb);
	phx_http_reply_error(q, -EFBIG, text);
	return false;
}

bool stage_out_may_put(struct phx_http_request *q, void *arg)
{
	struct staged s;
	return find_staged(arg, q, true, &s) && may_come(arg, q, -EFBIG);
}

/* ---- people ---- */

/* Whose files are asked for: all of the RE's, or the asker's own. */
struct asked {
	char re[PHX_NAME_MAX];
	bool all;
	struct person_login who;
};

/* False after answering. */
static bool find_asked(struct daemon *d, struct phx_http_request *q, bool put, struct asked *ret)
{
	return re_of_user(d, q, put, ret->re, &ret->all) &&
		(ret->all || person_works_as(d, q, NULL, &ret->who));
}

/* As find_asked(), and journals the access. */
static bool begin_access(struct daemon *d, struct phx_http_request *q, const char *verb,
			 struct asked *ret)
{
	char who[PHX_NAME_MAX];
	if (!find_asked(d, q, !strcmp(verb, "writes"), ret))
		return false;
	person_name(phx_http_peer(q), who, sizeof(who));
	tell_access(d, who, ret->re, verb);
	return true;
}

/* The rest of /v1/res/NAME/data/PATH. */
static const char *path_of(const struct phx_http_request *q)
{
	return phx_http_param(q, 1);
}

void api_re_data_get(struct phx_http_request *q, void *arg)
{
	struct asked a;
	struct phx_err err = {0};
	if (begin_access(arg, q, "reads", &a))
		reply_file(q,
			   a.all ? open_file_in(arg, a.re, path_of(q), &err)
				 : open_file_of(arg, a.re, &a.who, path_of(q), &err),
			   &err);
}

bool re_data_may_put(struct phx_http_request *q, void *arg)
{
	struct asked a;
	return find_asked(arg, q, true, &a) && may_come(arg, q, -ENOSPC);
}

/* -EINVAL: a malformed query. */
static int read_put(struct phx_http_request *q, struct put *ret, struct phx_err *err)
{
	const char *kind = phx_http_query(q, "kind"), *mode = phx_http_query(q, "mode");
	char *end = NULL;
	*ret = (struct put){.body = phx_http_body_path(q)};
	if (kind && phx_enum_parse(&put_kinds, kind, &ret->kind, NULL) < 0)
		return phx_err_set(err, -EINVAL, "kind: must be file, dir or link");
	unsigned long bits = mode && mode[0] ? strtoul(mode, &end, 8) : 0;
	if (mode && (!end || *end || !bits || bits > 0777))
		return phx_err_set(err, -EINVAL, "mode: must be from 1 to 777, in octal digits");
	ret->mode = (mode_t)bits;
	return 0;
}

void api_re_data_put(struct phx_http_request *q, void *arg)
{
	struct asked a;
	struct put put;
	struct phx_err err = {0};
	int r = read_put(q, &put, &err);
	if (!begin_access(arg, q, "writes", &a))
		return;
	if (r == 0)
		r = a.all ? publish_in(arg, &put, a.re, path_of(q), &err)
			  : publish_of(arg, &put, a.re, &a.who, path_of(q), &err);
	reply_done(q, r, -ENOSPC, &err);
}

static int remove_file(struct daemon *d, const struct asked *a, const char *path,
		       struct phx_err *err)
{
	struct re_area area;
	int r = a->all ? not_users(path, err) : 0;
	if (r == 0)
		r = a->all ? re_area_open(d, a->re, &area, err)
			   : re_area_open_user(d, a->re, &a->who, false, &area, err);
	if (r < 0)
		return r;
	uint64_t had = bytes_there(d, a->re, &area, path);
	r = re_area_remove(&area, path, err);
	if (r == 0)
		data_use_gone(d->data_use, a->re, had);
	re_area_fini(&area);
	return r;
}

/* A user may remove own files even if the RE accepts no more jobs. */
void api_re_data_delete(struct phx_http_request *q, void *arg)
{
	struct asked a;
	struct phx_err err = {0};
	if (begin_access(arg, q, "removes", &a))
		reply_done(q, remove_file(arg, &a, path_of(q), &err), -ENOSPC, &err);
}

/* 0: all, also where a user has no directory yet; 1: there may be more. */
static int list_files(struct daemon *d, const struct asked *a, bool whole, json_t *files,
		      struct phx_err *err)
{
	struct re_area area;
	int r = a->all ? re_area_open(d, a->re, &area, err)
		       : re_area_open_user(d, a->re, &a->who, false, &area, err);
	if (r < 0)
		return r == -ENOENT && !a->all ? 0 : r;
	bool all = re_area_list(&area, "", whole, files);
	re_area_fini(&area);
	if (a->all)
		all = re_area_list_users(d, a->re, whole, files) && all;
	return !all;
}

void api_re_data_list(struct phx_http_request *q, void *arg)
{
	struct asked a;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *files = json_array();
	if (!begin_access(arg, q, "lists", &a))
		return;
	bool whole = phx_str_eq(phx_http_query(q, "whole"), "true");
	int r = list_files(arg, &a, whole, files, &err);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:b}", "files", files, "more", r > 0);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, j);
}
