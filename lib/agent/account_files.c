/* See account_files.h. */
#include "agent/account_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/identity.h"

/* Name services and shadow's tools skip lines that begin with a #. */
#define MADE "# phoenix: made by phx-agent for "
#define BEGIN_SITE MADE "users of the site"
#define BEGIN_MEMBERS MADE "members of the RE of this node"
#define END "# phoenix: end"

static const char *const begins[ACCOUNT_BLOCK_COUNT_] = {
	[ACCOUNT_BLOCK_SITE] = BEGIN_SITE,
	[ACCOUNT_BLOCK_MEMBERS] = BEGIN_MEMBERS,
};

enum { FILE_MAX = 16 << 20, ID_FIELD = 2 };

struct account_file {
	const char *path;
	size_t member; /* of struct account_files */
	bool may_lack;
};
static const struct account_file files[] = {
	{"/etc/group", offsetof(struct account_files, group), false},
	{"/etc/shadow", offsetof(struct account_files, shadow), true},
	/* last: an account that is found by name is complete */
	{"/etc/passwd", offsetof(struct account_files, passwd), false},
};

static char **text_of(const struct account_files *f, const struct account_file *file)
{
	return (char **)((char *)(uintptr_t)f + file->member);
}

void account_files_fini(struct account_files *f)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++)
		free(PHX_TAKE(*text_of(f, &files[i])));
}

bool account_files_any(const struct account_files *f)
{
	return phx_str_starts(f->passwd, MADE) || strstr(f->passwd, "\n" MADE);
}

int account_files_read(const char *root, struct account_files *ret, struct phx_err *err)
{
	struct account_files f = {0};
	int r = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files) && r == 0; i++) {
		PHX_AUTO_FREE char *path = phx_path("%s%s", root, files[i].path);
		r = path ? phx_file_read(path, FILE_MAX, text_of(&f, &files[i]), NULL, err)
			 : -ENOMEM;
		if (r == -ENOENT && files[i].may_lack) {
			phx_err_clear(err);
			r = 0;
		}
	}
	if (r < 0)
		account_files_fini(&f);
	else
		*ret = f;
	return r;
}

/* ---- lines ---- */

static size_t line_of(const char *at)
{
	return strcspn(at, "\n");
}

static const char *next_line(const char *at)
{
	at += line_of(at);
	return *at ? at + 1 : at;
}

static bool is_line(const char *at, const char *text)
{
	return line_of(at) == strlen(text) && !strncmp(at, text, strlen(text));
}

/* Field `i` of the line, cut to fit. */
static void field(const char *at, int i, char *ret, size_t size)
{
	const char *end = at + line_of(at);
	for (; i > 0 && at < end; i--) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		at = colon ? colon + 1 : end;
	}
	const char *colon = memchr(at, ':', (size_t)(end - at));
	snprintf(ret, size, "%.*s", (int)((colon ? colon : end) - at), at);
}

/* Does one of these blocks (1u << enum account_block) begin here? */
static bool begins_here(const char *at, unsigned blocks)
{
	for (int i = 0; i < ACCOUNT_BLOCK_COUNT_; i++)
		if (blocks & 1u << i && is_line(at, begins[i]))
			return true;
	return false;
}

/* Copies the text without these blocks. */
static int take_base(const char *path, const char *text, unsigned blocks, char **ret,
		     struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	unsigned number = 1, begun = 0;
	for (const char *at = text; *at; at = next_line(at), number++) {
		if (!begun && begins_here(at, blocks))
			begun = number;
		else if (begun && is_line(at, END))
			begun = 0;
		else if (!begun)
			phx_buf_addf(&b, "%.*s\n", (int)line_of(at), at);
	}
	if (begun)
		return phx_err_set(err, -EINVAL, "%s:%u: a block begins here and has no end (%s)",
				   path, begun, END);
	*ret = phx_buf_take(&b);
	return *ret ? 0 : -ENOMEM;
}

/* The account or group that is to be added, and the file where it goes. */
struct entry {
	const char *path, *what, *number;
	const char *whose; /* "of RE hpc" */
	const char *name;
	uint32_t id;
};

/* 1: the line has this name and this number; -EEXIST: only one of the two. */
static int compare_line(const struct entry *e, const char *at, unsigned line, struct phx_err *err)
{
	char name[256], id[32];
	uint64_t n = 0;
	field(at, 0, name, sizeof(name));
	field(at, ID_FIELD, id, sizeof(id));
	bool numbered = phx_u64_parse(id, 0, UINT32_MAX, &n) == 0;
	bool same_name = !strcmp(name, e->name), same_id = numbered && n == e->id;
	if (same_name && same_id)
		return 1;
	return same_name || same_id
		? phx_err_set(err, -EEXIST,
			      "%s %s (%s %u) %s clashes with %s (%s %s) of this node: %s:%u",
			      e->what, e->name, e->number, e->id, e->whose, name, e->number, id,
			      e->path, line)
		: 0;
}

static int compare_all(const struct entry *e, const char *base, struct phx_err *err)
{
	unsigned line = 1;
	bool there = false;
	for (const char *at = base; *at; at = next_line(at), line++) {
		int r = *at == '#' ? 0 : compare_line(e, at, line, err);
		if (r < 0)
			return r;
		there |= r;
	}
	return there;
}

/* ---- blocks ---- */

/* The texts that a block is compared with: without it, and, of these, what has an account before
 * it. */
struct bases {
	struct account_files others, first;
	char whose[PHX_NAME_MAX + 8];
};

/* 1: it is there already, and stays where it is. */
static int compare_both(const struct entry *e, const char *others, const char *first,
			struct phx_err *err)
{
	int r = compare_all(e, others, err);
	return r > 0 ? compare_all(e, first, err) : r;
}

/* 1: the image has this account itself. */
static int put_account(const struct bases *base, const struct phx_account *a, struct phx_buf *b,
		       struct phx_err *err)
{
	const struct entry e = {"/etc/passwd", "account", "uid", base->whose, a->name, a->uid};
	int r = compare_both(&e, base->others.passwd, base->first.passwd, err);
	if (r == 0)
		phx_buf_addf(b, "%s:x:%u:%u:%s:%s:%s\n", a->name, a->uid, a->gid, a->gecos, a->home,
			     a->shell);
	return r;
}

static bool has_group(const struct phx_account *a, uint32_t gid)
{
	PHX_LIST_EACH(struct phx_account_group, g, &a->groups)
		if (g->gid == gid)
			return true;
	return false;
}

static int put_group(const struct bases *base, const struct phx_accounts *want,
		     const struct phx_account_group *g, struct phx_buf *b, struct phx_err *err)
{
	const struct entry e = {"/etc/group", "group", "gid", base->whose, g->name, g->gid};
	int r = compare_both(&e, base->others.group, base->first.group, err);
	if (r)
		return r < 0 ? r : 0;
	phx_buf_addf(b, "%s:x:%u:", g->name, g->gid);
	const char *sep = "";
	PHX_LIST_EACH(struct phx_account, a, &want->list)
		if (has_group(a, g->gid)) {
			phx_buf_addf(b, "%s%s", sep, a->name);
			sep = ",";
		}
	phx_buf_add(b, "\n", 1);
	return 0;
}

static bool is_named(const char *base, const char *name)
{
	char first[256];
	for (const char *at = base; *at; at = next_line(at)) {
		field(at, 0, first, sizeof(first));
		if (!strcmp(first, name))
			return true;
	}
	return false;
}

/* Adds a line that no password matches; other ways to sign in, such as keys, work. */
static void put_shadow(const char *base, const struct phx_account *a, struct phx_buf *b)
{
	if (!is_named(base, a->name))
		phx_buf_addf(b, "%s:*:::::::\n", a->name);
}

static char *join(const char *base, enum account_block which, const struct phx_buf *block)
{
	if (block->failed)
		return NULL;
	return block->n ? phx_path("%s%s\n%s" END "\n", base, begins[which], block->data)
			: strdup(base);
}

static int merge(const struct bases *base, enum account_block block,
		 const struct phx_accounts *want, struct account_files *ret, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf passwd = {0}, group = {0}, shadow = {0};
	const struct account_files *others = &base->others;
	int r = 0;
	PHX_LIST_EACH(struct phx_account, a, &want->list) {
		int one = r ? r : put_account(base, a, &passwd, err);
		r = one < 0 ? one : r;
		if (one == 0 && others->shadow)
			put_shadow(base->first.shadow, a, &shadow);
	}
	PHX_LIST_EACH(struct phx_account_group, g, &want->groups)
		r = r ? r : put_group(base, want, g, &group, err);
	if (r < 0)
		return r;
	*ret = (struct account_files){join(others->passwd, block, &passwd),
				      join(others->group, block, &group),
				      others->shadow ? join(others->shadow, block, &shadow) : NULL};
	if (ret->passwd && ret->group && (ret->shadow || !others->shadow))
		return 0;
	account_files_fini(ret);
	return -ENOMEM;
}

static int take_bases(const struct account_files *is, unsigned blocks, struct account_files *ret,
		      struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files) && r == 0; i++)
		if (*text_of(is, &files[i]))
			r = take_base(files[i].path, *text_of(is, &files[i]), blocks,
				      text_of(ret, &files[i]), err);
	return r;
}

int account_files_merge(const struct account_files *is, enum account_block block,
			const struct phx_accounts *want, struct account_files *ret,
			struct phx_err *err)
{
	struct account_files to = {0};
	struct bases base = {0};
	unsigned all = (1u << ACCOUNT_BLOCK_COUNT_) - 1, later = all & ~((1u << block) - 1);
	snprintf(base.whose, sizeof(base.whose), "of %s%s",
		 block == ACCOUNT_BLOCK_SITE ? "the " : "RE ", want->re);
	int r = take_bases(is, 1u << block, &base.others, err);
	r = r ? r : take_bases(is, later, &base.first, err);
	r = r ? r : merge(&base, block, want, &to, err);
	account_files_fini(&base.others);
	account_files_fini(&base.first);
	if (r == 0)
		*ret = to;
	return r;
}

/* ---- what a block has ---- */

/* What stands between the two lines of the block, from *at on; NULL: nothing does any more. */
static const char *next_of_block(const char **at, bool *inside, unsigned block)
{
	for (; **at; *at = next_line(*at)) {
		const char *line = *at;
		bool ends = is_line(line, END);
		if (*inside && !ends) {
			*at = next_line(line);
			return line;
		}
		*inside = (*inside && !ends) || begins_here(line, block);
	}
	return NULL;
}

static bool number_field(const char *at, int i, uint32_t *ret)
{
	char text[32];
	uint64_t n;
	field(at, i, text, sizeof(text));
	bool is = phx_u64_parse(text, 0, UINT32_MAX, &n) == 0;
	*ret = is ? (uint32_t)n : 0;
	return is;
}

static int add_account(const char *line, struct phx_accounts *list)
{
	struct phx_account a = {0}, *to;
	field(line, 0, a.name, sizeof(a.name));
	field(line, 4, a.gecos, sizeof(a.gecos));
	field(line, 5, a.home, sizeof(a.home));
	field(line, 6, a.shell, sizeof(a.shell));
	if (!number_field(line, ID_FIELD, &a.uid) || !number_field(line, 3, &a.gid) ||
	    phx_account_check(&a, NULL) < 0)
		return 0;
	to = phx_list_push(&list->list, sizeof(*to));
	if (to)
		*to = a;
	return to ? 0 : -ENOMEM;
}

static int add_group(const char *line, struct phx_accounts *list)
{
	char name[PHX_ACCOUNT_NAME_MAX], members[PHX_ACCOUNTS_MAX * PHX_ACCOUNT_NAME_MAX],
		member[PHX_ACCOUNT_NAME_MAX];
	uint32_t gid;
	field(line, 0, name, sizeof(name));
	field(line, 3, members, sizeof(members));
	if (!number_field(line, ID_FIELD, &gid))
		return 0;
	int r = phx_account_group_add(&list->groups, name, gid);
	for (const char *at = members; r >= 0 && phx_words_next(&at, member, sizeof(member));)
		PHX_LIST_EACH(struct phx_account, a, &list->list)
			if (r >= 0 && a->gid != gid && !strcmp(a->name, member))
				r = phx_account_group_add(&a->groups, name, gid);
	return r < 0 ? r : 0;
}

int account_files_block(const struct account_files *is, enum account_block block,
			struct phx_accounts *list, struct phx_err *err)
{
	PHX_AUTO(account_files_fini) struct account_files base = {0};
	const char *passwd = is->passwd, *group = is->group, *line;
	bool inside = false;
	int r = take_bases(is, 1u << block, &base, err);
	while (r == 0 && (line = next_of_block(&passwd, &inside, 1u << block)))
		r = add_account(line, list);
	inside = false;
	while (r == 0 && (line = next_of_block(&group, &inside, 1u << block)))
		r = add_group(line, list);
	return r;
}

/* ---- writing ---- */

int account_files_lock(const char *root, struct phx_err *err)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	PHX_AUTO_FREE char *path = phx_path("%s/etc/.pwd.lock", root);
	PHX_AUTO_CLOSE int fd =
		path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	if (fd < 0)
		return phx_err_set(err, path ? -errno : -ENOMEM, "%s/etc/.pwd.lock: %s", root,
				   strerror(errno));
	if (fcntl(fd, F_OFD_SETLK, &all) < 0)
		return phx_err_set(err, -EAGAIN, "%s: somebody else changes accounts", path);
	int taken = fd;
	fd = -1;
	return taken;
}

static int write_one(const char *path, const char *text, struct phx_err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int r = phx_file_write(path, text, strlen(text), st.st_mode & 07777, err);
	if (r == 0 && chown(path, st.st_uid, st.st_gid) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return r;
}

int account_files_write(const char *root, const struct account_files *is,
			const struct account_files *to, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files) && r == 0; i++) {
		const char *before = *text_of(is, &files[i]), *after = *text_of(to, &files[i]);
		PHX_AUTO_FREE char *path = phx_path("%s%s", root, files[i].path);
		if (before && after && strcmp(before, after) != 0)
			r = path ? write_one(path, after, err) : -ENOMEM;
	}
	return r;
}
