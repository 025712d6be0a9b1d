/* Files in the data directories of runtime environments: carried to jobs and
 * back by agents, put and fetched by the service provider whose RE it is. The
 * directories are re_dir.c's. Nothing leads out of them: base/beneath.h. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"

enum { LIST_MAX = 10000, DEPTH_MAX = 16, PATH_TEXT = 512 };

static uint64_t size_limit(const struct daemon *d)
{
	return (uint64_t)d->cfg.stage_max_mb << 20;
}

static int open_data(const struct daemon *d, const char *re, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", d->cfg.re_dir, re);
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	return fd >= 0 ? fd : phx_err_set(err, path ? -errno : -ENOMEM, "the data directory of RE %s: %s", re, strerror(errno));
}

/* What is wrong with the path is so for good. */
static int plain(int r)
{
	return r == -ELOOP || r == -ENOTDIR || r == -EISDIR || r == -ENAMETOOLONG || r == -EEXIST || r == -ENOTEMPTY ? -EINVAL : r;
}

static void reply_file(struct daemon *d, struct phx_http_request *q, const char *re, const char *path)
{
	struct phx_err err = { 0 };
	char opened[64];
	uint64_t size;
	PHX_AUTO_CLOSE int dir = open_data(d, re, &err);
	PHX_AUTO_CLOSE int fd = dir >= 0 ? phx_beneath_open(dir, path, size_limit(d), &size, &err) : -1;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		phx_http_reply_file(q, opened, NULL, "application/octet-stream");
	else
		phx_http_reply_error(q, plain(dir < 0 ? dir : fd), err.text);
}

/* The file is the RE's owner's, whoever brings it. */
static int publish(struct daemon *d, const char *body, const char *re, const char *path, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int dir = open_data(d, re, err);
	PHX_AUTO_CLOSE int from = body ? open(body, O_RDONLY | O_CLOEXEC) : -1;
	if (dir < 0)
		return dir;
	if (from < 0 || fstat(dir, &st) < 0)
		return phx_err_set(err, -EIO, "%s: the upload cannot be read", path);
	return phx_beneath_publish(dir, path, from, size_limit(d), (struct phx_beneath_owner){ st.st_uid, st.st_gid }, err);
}

static void reply_publish(struct daemon *d, struct phx_http_request *q, const char *re, const char *path)
{
	struct phx_err err = { 0 };
	int r = publish(d, phx_http_body_path(q), re, path, &err);
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, plain(r), err.text);
	else
		phx_http_reply_json(q, 200, empty);
}

/* ---- agents ---- */

struct staged {
	char re[PHX_NAME_MAX];
	struct phx_word path;
};

/* Has the node a part of the job's present run that is not over? Files come from its first node alone. */
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

/* File number I of what the job ID of the node carries in or out; false after answering. */
static bool find_staged(struct daemon *d, struct phx_http_request *q, bool out, struct staged *ret)
{
	uint64_t id = 0, i = 0, run = 0;
	char node[PHX_NAME_MAX];
	const char *asked = phx_http_query(q, "run");
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
		PHX_STR_SET(ret->re, j->re);
		ret->path = *PHX_LIST_AT(list, struct phx_word, i);
	}
	engine_unlock(d->engine);
	if (!good)
		phx_http_reply_error(q, -ESTALE, "this node has no part of such a run, or the run no such file");
	return good;
}

void api_stage_in(struct phx_http_request *q, void *arg)
{
	struct staged s;
	if (find_staged(arg, q, false, &s))
		reply_file(arg, q, s.re, s.path.text);
}

void api_stage_out(struct phx_http_request *q, void *arg)
{
	struct staged s;
	if (find_staged(arg, q, true, &s))
		reply_publish(arg, q, s.re, s.path.text);
}

/* Before its first byte is taken. */
static bool is_short_enough(const struct daemon *d, struct phx_http_request *q)
{
	char text[96];
	uint64_t n = phx_http_body_announced(q);
	if (n <= size_limit(d) || n == UINT64_MAX) /* not told: refused for that */
		return true;
	snprintf(text, sizeof(text), "the file is larger than %u MiB (stage_max_mb)", d->cfg.stage_max_mb);
	phx_http_reply_error(q, -EFBIG, text);
	return false;
}

bool stage_out_may_put(struct phx_http_request *q, void *arg)
{
	struct staged s;
	return find_staged(arg, q, true, &s) && is_short_enough(arg, q);
}

/* ---- the service provider ---- */

/* The rest of /v1/res/NAME/data/PATH. */
static const char *path_of(const struct phx_http_request *q)
{
	return phx_http_param(q, 1);
}

void api_re_data_get(struct phx_http_request *q, void *arg)
{
	char re[PHX_NAME_MAX];
	if (re_of_service_provider(arg, q, re))
		reply_file(arg, q, re, path_of(q));
}

bool re_data_may_put(struct phx_http_request *q, void *arg)
{
	char re[PHX_NAME_MAX];
	return re_of_service_provider(arg, q, re) && is_short_enough(arg, q);
}

void api_re_data_put(struct phx_http_request *q, void *arg)
{
	char re[PHX_NAME_MAX];
	if (re_of_service_provider(arg, q, re))
		reply_publish(arg, q, re, path_of(q));
}

static void list_dir(int dir, const char *prefix, unsigned depth, json_t *ret);

static void list_entry(int dir, const char *prefix, const char *name, unsigned depth, json_t *ret)
{
	char path[PATH_TEXT];
	struct stat st;
	if (name[0] == '.' || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    snprintf(path, sizeof(path), "%s%s", prefix, name) >= (int)sizeof(path) - 1)
		return;
	if (S_ISREG(st.st_mode)) {
		json_array_append_new(ret, json_pack("{s:s,s:I,s:I}", "path", path, "size_bytes", (json_int_t)st.st_size,
						     "modified_ms", (json_int_t)st.st_mtime * 1000));
		return;
	}
	int below = S_ISDIR(st.st_mode) ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	strcat(path, "/");
	if (below >= 0)
		list_dir(below, path, depth + 1, ret);
}

/* Takes `dir`. */
static void list_dir(int dir, const char *prefix, unsigned depth, json_t *ret)
{
	DIR *d = fdopendir(dir);
	if (!d) {
		close(dir);
		return;
	}
	for (struct dirent *e; depth < DEPTH_MAX && json_array_size(ret) < LIST_MAX && (e = readdir(d));)
		list_entry(dirfd(d), prefix, e->d_name, depth, ret);
	closedir(d);
}

void api_re_data_list(struct phx_http_request *q, void *arg)
{
	struct phx_err err = { 0 };
	char re[PHX_NAME_MAX];
	if (!re_of_service_provider(arg, q, re))
		return;
	PHX_AUTO_JSON json_t *files = json_array();
	int dir = open_data(arg, re, &err);
	if (dir < 0) {
		phx_http_reply_error(q, dir, err.text);
		return;
	}
	list_dir(dir, "", 0, files);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "files", files);
	phx_http_reply_json(q, 200, j);
}
