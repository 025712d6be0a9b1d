/* Users and groups of any size: see account.h. */
#include "base/account.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* The group of a whole university takes about a MiB; if an entry seems to need more than
 * SIZE_MAX_BYTES, the name service is broken. */
enum { SIZE_BYTES = 4096, SIZE_MAX_BYTES = 64 << 20, GROUPS = 64, GROUPS_MAX = 65536 };

/* One look-up: 0, or a positive errno; ret_found tells whether the entry exists. */
typedef int (*look_fn)(const void *key, void *entry, char *buf, size_t size, bool *ret_found);

static int look_up(look_fn look, const void *key, void *entry, char **ret_texts)
{
	for (size_t size = SIZE_BYTES; size <= SIZE_MAX_BYTES; size *= 2) {
		PHX_AUTO_FREE char *buf = malloc(size);
		bool found = false;
		if (!buf)
			return -ENOMEM;
		int r = look(key, entry, buf, size, &found);
		if (r == ERANGE)
			continue;
		if (!found)
			return r ? -r : -ENOENT;
		*ret_texts = buf;
		buf = NULL;
		return 0;
	}
	return -ERANGE;
}

static int user_of_name(const void *key, void *entry, char *buf, size_t size, bool *ret_found)
{
	struct passwd *found = NULL;
	int r = getpwnam_r(key, entry, buf, size, &found);
	*ret_found = found;
	return r;
}

static int user_of_number(const void *key, void *entry, char *buf, size_t size, bool *ret_found)
{
	struct passwd *found = NULL;
	int r = getpwuid_r(*(const uid_t *)key, entry, buf, size, &found);
	*ret_found = found;
	return r;
}

static int group_of_name(const void *key, void *entry, char *buf, size_t size, bool *ret_found)
{
	struct group *found = NULL;
	int r = getgrnam_r(key, entry, buf, size, &found);
	*ret_found = found;
	return r;
}

int phx_user_named(const char *name, struct passwd *ret, char **ret_texts)
{
	return look_up(user_of_name, name, ret, ret_texts);
}

int phx_user_numbered(uid_t uid, struct passwd *ret, char **ret_texts)
{
	return look_up(user_of_number, &uid, ret, ret_texts);
}

int phx_group_named(const char *name, gid_t *ret)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct group gr;
	int r = look_up(group_of_name, name, &gr, &texts);
	if (r == 0)
		*ret = gr.gr_gid;
	return r;
}

static int group_of_number(const void *key, void *entry, char *buf, size_t size, bool *ret_found)
{
	struct group *found = NULL;
	int r = getgrgid_r(*(const gid_t *)key, entry, buf, size, &found);
	*ret_found = found;
	return r;
}

/* Numbers of all groups of a user, malloc'd; NULL: unknown. */
static gid_t *groups_of(const char *name, gid_t gid, int *ret_n)
{
	for (int size = GROUPS; size <= GROUPS_MAX; size *= 2) {
		PHX_AUTO_FREE gid_t *groups = calloc((size_t)size, sizeof(*groups));
		*ret_n = size;
		if (!groups)
			return NULL;
		if (getgrouplist(name, gid, groups, ret_n) >= 0)
			return PHX_TAKE(groups);
	}
	return NULL;
}

static int push_group(gid_t gid, struct phx_list *to)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct group gr;
	struct phx_word word = {0}, *at;
	if (look_up(group_of_number, &gid, &gr, &texts) < 0 ||
	    phx_str_copy(word.text, sizeof(word.text), gr.gr_name) < 0)
		return 0;
	at = phx_list_push(to, sizeof(*at));
	if (at)
		*at = word;
	return at ? 0 : -ENOMEM;
}

int phx_user_groups(const char *name, gid_t gid, struct phx_list *ret_words)
{
	int n = 0, r = 0;
	PHX_AUTO_FREE gid_t *groups = groups_of(name, gid, &n);
	for (int i = 0; groups && i < n && r == 0; i++)
		r = push_group(groups[i], ret_words);
	return r;
}

static int push_user(const char *name, struct phx_list *to)
{
	struct phx_word word = {0}, *at;
	PHX_LIST_EACH(struct phx_word, w, to)
		if (!strcmp(w->text, name))
			return 0;
	if (phx_str_copy(word.text, sizeof(word.text), name) < 0)
		return 0;
	at = phx_list_push(to, sizeof(*at));
	if (at)
		*at = word;
	return at ? 0 : -ENOMEM;
}

int phx_group_members(const char *name, struct phx_list *ret_words)
{
	PHX_AUTO_FREE char *texts = NULL, *buf = malloc(SIZE_BYTES);
	struct group gr;
	struct passwd pw, *found;
	int r = buf ? look_up(group_of_name, name, &gr, &texts) : -ENOMEM;
	if (r < 0)
		return r;
	for (char **member = gr.gr_mem; *member && r == 0; member++)
		r = push_user(*member, ret_words);
	setpwent();
	while (r == 0 && getpwent_r(&pw, buf, SIZE_BYTES, &found) == 0)
		if (pw.pw_gid == gr.gr_gid)
			r = push_user(pw.pw_name, ret_words);
	endpwent();
	return r;
}

int phx_user_names(uint32_t max, struct phx_list *ret_words)
{
	PHX_AUTO_FREE char *buf = malloc(SIZE_BYTES);
	struct passwd pw, *found;
	int r = buf ? 0 : -ENOMEM;
	setpwent();
	while (r == 0 && ret_words->n < max && getpwent_r(&pw, buf, SIZE_BYTES, &found) == 0)
		r = push_user(pw.pw_name, ret_words);
	endpwent();
	return r;
}

bool phx_user_is_member(uid_t uid, gid_t gid)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	int n = 0;
	if (phx_user_numbered(uid, &pw, &texts) < 0)
		return false;
	PHX_AUTO_FREE gid_t *groups = groups_of(pw.pw_name, pw.pw_gid, &n);
	for (int i = 0; groups && i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}
