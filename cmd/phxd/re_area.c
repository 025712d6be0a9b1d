/* See re_area.h. Called by re_data.c, which checks rights. The launcher opens the directory and
 * starts the helper. */
#include "phxd/re_area.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/file.h"
#include "phxd/helper.h"

enum { PATH_TEXT = 512, SUM_ROUNDS = 100000 };

void re_area_fini(struct re_area *a)
{
	phx_close_fd(&a->dir);
	phx_apart_end(a->helper);
	a->helper = NULL;
}

static int open_area(const struct daemon *d, const char *re, struct re_place_whose *w,
		     struct re_area *ret, struct phx_err *err)
{
	struct launch_re_opened o;
	struct re_area a = {.dir = -1};
	re_dir_whose(d, re, w);
	int r = launch_re_open(d->launch, w, &o, err);
	if (r < 0)
		return r;
	a.uid = o.uid;
	a.gid = o.gid;
	if (o.helper)
		r = helper_new(o.fd, &a.helper);
	else
		a.dir = o.fd;
	if (r == 0)
		*ret = a;
	return r;
}

int re_area_open(const struct daemon *d, const char *re, struct re_area *ret, struct phx_err *err)
{
	struct re_place_whose w = {.uid = (uid_t)-1};
	return open_area(d, re, &w, ret, err);
}

int re_area_open_user(const struct daemon *d, const char *re, const struct person_login *who,
		      bool make, struct re_area *ret, struct phx_err *err)
{
	struct re_place_whose w = {.uid = who->uid, .gid = who->gid, .make = make};
	PHX_STR_SET(w.user, who->name);
	if (!who->uid || !phx_id_valid(who->uid) || !who->name[0])
		return phx_err_set(err, -EPERM, "user %s can have no directory in an RE",
				   who->name);
	return open_area(d, re, &w, ret, err);
}

bool re_area_is_users(const char *path)
{
	size_t n = strlen(RE_USERS);
	return !strncmp(path, RE_USERS, n) && (!path[n] || path[n] == '/');
}

/* "users/NAME/REST" */
static int find_user_s(const struct daemon *d, const char *re, const char *path,
		       struct re_area *ret, const char **ret_rest, struct phx_err *err)
{
	struct re_place_whose w = {.uid = (uid_t)-1};
	const char *from = path + strlen(RE_USERS), *slash = *from ? strchr(from + 1, '/') : NULL;
	if (!slash)
		return phx_err_set(err, -EINVAL, "%s: is no regular file", path);
	if ((size_t)(slash - from - 1) >= sizeof(w.user))
		return phx_err_set(err, -ENOENT, "%s: there is no such user", path);
	snprintf(w.user, sizeof(w.user), "%.*s", (int)(slash - from - 1), from + 1);
	*ret_rest = slash + 1;
	return open_area(d, re, &w, ret, err);
}

int re_area_find(const struct daemon *d, const char *re, const char *path, struct re_area *ret,
		 const char **ret_rest, struct phx_err *err)
{
	int r = phx_beneath_check(path, err);
	if (r < 0)
		return r;
	if (re_area_is_users(path))
		return find_user_s(d, re, path, ret, ret_rest, err);
	*ret_rest = path;
	return re_area_open(d, re, ret, err);
}

int re_area_open_file(const struct re_area *a, const char *path, uint64_t max, struct phx_err *err)
{
	uint64_t size;
	return a->helper ? helper_open(a->helper, path, max, err)
			 : phx_beneath_open(a->dir, path, max, &size, err);
}

int re_area_publish(const struct re_area *a, const char *path, int from, uint64_t max, mode_t mode,
		    struct phx_err *err)
{
	const struct phx_beneath_owner owner = {.uid = a->uid, .gid = a->gid, .mode = mode};
	return a->helper ? helper_publish(a->helper, path, from, max, mode, err)
			 : phx_beneath_publish(a->dir, path, from, max, owner, err);
}

int re_area_dir(const struct re_area *a, const char *path, mode_t mode, struct phx_err *err)
{
	const struct phx_beneath_owner owner = {.uid = a->uid, .gid = a->gid, .mode = mode};
	return a->helper ? helper_dir(a->helper, path, mode, err)
			 : phx_beneath_dir(a->dir, path, owner, err);
}

int re_area_link(const struct re_area *a, const char *path, const char *target, struct phx_err *err)
{
	const struct phx_beneath_owner owner = {.uid = a->uid, .gid = a->gid};
	return a->helper ? helper_link(a->helper, path, target, err)
			 : phx_beneath_link(a->dir, path, target, owner, err);
}

int re_area_remove(const struct re_area *a, const char *path, struct phx_err *err)
{
	return a->helper ? helper_remove(a->helper, path, err)
			 : phx_beneath_remove(a->dir, path, err);
}

bool re_area_list(const struct re_area *a, const char *prefix, bool whole, json_t *ret)
{
	return a->helper ? helper_list(a->helper, prefix, whole, ret) == 0
			 : files_list(a->dir, prefix, whole, ret);
}

/* Opens the area of each user of the RE; false after one that could not be, or act() was false,
 * which does not end it. */
static bool each_user(const struct daemon *d, const char *re,
		      bool (*act)(const struct re_area *own, const char *name, void *arg),
		      void *arg)
{
	PHX_AUTO(phx_list_fini) struct phx_list users = {0};
	bool all = launch_re_users(d->launch, re, &users) >= 0;
	PHX_LIST_EACH(struct phx_word, name, &users) {
		struct re_area own;
		struct re_place_whose w = {.uid = (uid_t)-1};
		if (PHX_STR_SET(w.user, name->text) < 0 || open_area(d, re, &w, &own, NULL) < 0) {
			all = false;
			continue;
		}
		all = act(&own, name->text, arg) && all;
		re_area_fini(&own);
	}
	return all;
}

/* ---- sums ---- */

struct summing {
	bool (*goes_on)(void *arg);
	void *arg;
	uint64_t n_bytes;
};

static bool sum_own(const struct re_area *a, struct summing *s)
{
	struct files_sum sum;
	bool on = true;
	files_sum_begin(&sum, a->dir);
	while (on && files_sum_go_on(&sum, FILES_SUM_AT_ONCE))
		on = s->goes_on(s->arg);
	s->n_bytes += sum.n_bytes;
	files_sum_end(&sum);
	return on;
}

/* False: it was ended. What a helper cannot say counts nothing. */
static bool sum_area(const struct re_area *a, const char *name, void *arg)
{
	struct summing *s = arg;
	uint64_t n = 0;
	bool on = true;
	(void)name;
	if (!a->helper)
		return sum_own(a, s);
	/* who has taken his helper over does not keep us for ever */
	for (unsigned i = 0; on && i < SUM_ROUNDS && helper_sum(a->helper, &n) > 0; i++)
		on = s->goes_on(s->arg);
	s->n_bytes += n;
	return on;
}

int re_area_sum(const struct daemon *d, const char *re, bool (*goes_on)(void *arg), void *arg,
		uint64_t *ret_bytes)
{
	struct summing s = {goes_on, arg, 0};
	struct re_area area;
	int r = re_area_open(d, re, &area, NULL);
	if (r < 0)
		return r;
	sum_area(&area, "", &s);
	re_area_fini(&area);
	each_user(d, re, sum_area, &s);
	if (!goes_on(arg))
		return -ECANCELED;
	*ret_bytes = s.n_bytes;
	return 0;
}

struct listed {
	bool whole;
	json_t *list;
};

static bool list_user(const struct re_area *own, const char *name, void *arg)
{
	const struct listed *l = arg;
	char prefix[PATH_TEXT];
	snprintf(prefix, sizeof(prefix), RE_USERS "/%s/", name);
	return re_area_list(own, prefix, l->whole, l->list);
}

bool re_area_list_users(const struct daemon *d, const char *re, bool whole, json_t *ret)
{
	return each_user(d, re, list_user, &(struct listed){whole, ret});
}
