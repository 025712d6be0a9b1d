/* Files of the settings of the site: see site.h. Links are not followed, whoever made them: what a
 * link leads to is no setting of the site, and may be anything that root can read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "config/site_internal.h"

enum { DEPTH_MAX = 32 };

#define FILES_FIELDS(F, S) F(S, files, LIST(phx_site_file), KEY(files, OTHER, "", ""))
struct files_keys {
	PHX_MEMBERS(files_keys, FILES_FIELDS)
};
PHX_RECORD_LOCAL(files_keys, files_keys, FILES_FIELDS);

/* A directory that is walked: where it is here, and what it is on the node. */
struct walk {
	struct site_reader *rd;
	enum phx_site_scope scope;
	const char *of;  /* the profile, role, label or node */
	size_t n_before; /* bytes of a path here that are not the path on the node */
	int depth;
};

static bool is_utf8(const char *text)
{
	for (size_t n; *text; text += n)
		if (!(n = phx_utf8_length(text)))
			return false;
	return true;
}

static int say(struct site_reader *rd, const char *path, const char *what)
{
	struct phx_err err = {0};
	phx_err_set(&err, -EINVAL, "%.250s: %s", path, what);
	site_complain(rd, &err);
	return 0;
}

/* ---- one file ---- */

static int read_text(int dir, const char *name, char **ret, const char **ret_why)
{
	PHX_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	PHX_AUTO_FREE char *text = malloc(PHX_SITE_FILE_MAX + 2);
	size_t n = 0;
	ssize_t got = 1;
	if (!text)
		return -ENOMEM;
	while (fd >= 0 && n <= PHX_SITE_FILE_MAX && got > 0) {
		got = read(fd, text + n, PHX_SITE_FILE_MAX + 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	text[n] = '\0';
	*ret_why = fd < 0 || got < 0    ? "cannot be read"
		: n > PHX_SITE_FILE_MAX ? "is longer than 64 KiB"
		: strlen(text) != n     ? "is no text: it has a byte 0"
		: !is_utf8(text)        ? "is no text in UTF-8"
					: NULL;
	if (!*ret_why)
		*ret = PHX_TAKE(text);
	return 0;
}

static int add_file(const struct walk *w, int dir, const char *name, const char *path)
{
	const char *why = NULL;
	struct phx_site_file f = {.scope = (int)w->scope}, *to;
	PHX_AUTO_FREE char *text = NULL;
	struct phx_err err = {0};
	if (strlen(path + w->n_before) >= sizeof(f.path))
		return say(w->rd, path, "has too long a path");
	int r = phx_key_defaults(&phx_site_file_record, &f, &err);
	r = r < 0 ? r : read_text(dir, name, &text, &why);
	if (r < 0 || why)
		return why ? say(w->rd, path, why) : r;
	if (!(to = phx_list_push(&w->rd->site.files, sizeof(*to))))
		return -ENOMEM;
	PHX_STR_SET(f.path, path + w->n_before);
	PHX_STR_SET(f.of, w->of);
	phx_str_copy(f.place, sizeof(f.place), path);
	f.text = PHX_TAKE(text);
	*to = f;
	return 0;
}

/* ---- folders ---- */

static int walk_dir(struct walk *w, int above, const char *name, const char *path);

static int walk_entry(struct walk *w, int dir, const char *name, const char *above)
{
	struct stat st;
	PHX_AUTO_FREE char *path = phx_path("%s/%s", above, name);
	if (!path)
		return -ENOMEM;
	if (strlen(path) >= PHX_SITE_PLACE_MAX - 16 || w->depth > DEPTH_MAX)
		return say(w->rd, path, "has too long a path");
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return say(w->rd, path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return walk_dir(w, dir, name, path);
	return S_ISREG(st.st_mode)
		? add_file(w, dir, name, path)
		: say(w->rd, path, "is neither a file nor a folder; links are not followed");
}

/* Calls `fn` with each name of a folder, by the bytes of the names. */
static int each_name(struct walk *w, int above, const char *name, const char *path,
		     int (*fn)(struct walk *w, int dir, const char *name, const char *path))
{
	struct dirent **names = NULL;
	PHX_AUTO_CLOSE int dir =
		openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int n = dir < 0 ? -1 : scandirat(dir, ".", &names, NULL, alphasort), r = 0;
	if (n < 0)
		return say(w->rd, path, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *entry = names[i]->d_name;
		if (r == 0 && strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0)
			r = fn(w, dir, entry, path);
		free(names[i]);
	}
	free(names);
	return r;
}

static int walk_dir(struct walk *w, int above, const char *name, const char *path)
{
	w->depth++;
	int r = each_name(w, above, name, path, walk_entry);
	w->depth--;
	return r;
}

/* files/role/R, files/node/N and so on. */
static int walk_of(struct walk *w, int dir, const char *name, const char *above)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", above, name);
	if (!path)
		return -ENOMEM;
	w->of = name;
	w->n_before = strlen(path);
	return walk_dir(w, dir, name, path);
}

static int walk_scope(struct walk *w, int dir, const char *name, const char *above)
{
	int scope;
	PHX_AUTO_FREE char *path = phx_path("%s/%s", above, name);
	if (!path)
		return -ENOMEM;
	if (phx_enum_parse(&phx_site_scope_names, name, &scope, NULL) < 0)
		return say(w->rd, path, "must be all, profile, role, label or node");
	w->scope = (enum phx_site_scope)scope;
	w->of = "";
	w->n_before = strlen(path);
	return each_name(w, dir, name, path, w->scope == PHX_SITE_ALL ? walk_entry : walk_of);
}

/* ---- files.conf ---- */

/* What a row says is said of each file with its path. */
static int read_row(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
		    struct phx_err *err)
{
	struct phx_site_file row = {0};
	bool found = false;
	int r = phx_conf_group(c, s, &phx_site_file_record, &row, err);
	PHX_LIST_EACH(struct phx_site_file, f, &rd->site.files) {
		struct phx_site_file copy;
		if (r < 0 || strcmp(f->path, row.path) != 0)
			continue;
		found = true;
		r = phx_record_copy(&phx_site_file_record, &copy, &row);
		if (r < 0)
			break;
		copy.scope = f->scope;
		copy.text = PHX_TAKE(f->text);
		PHX_STR_SET(copy.of, f->of);
		PHX_STR_SET(copy.place, f->place);
		phx_record_fini(&phx_site_file_record, f);
		*f = copy;
	}
	if (r == 0 && !found)
		r = phx_conf_fail(c, s, -ENOENT, err, "no file below files/ has the path '%s'",
				  row.path);
	phx_record_fini(&phx_site_file_record, &row);
	return r;
}

int site_files_read(struct site_reader *rd, const char *dir, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	struct walk w = {.rd = rd, .of = ""};
	PHX_AUTO_FREE char *path = phx_path("%s/files", dir);
	if (!path)
		return -ENOMEM;
	int r = access(path, F_OK) == 0 ? each_name(&w, AT_FDCWD, path, path, walk_scope) : 0;
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	if (site_conf_read(rd, dir, "files.conf", &files_keys_record, &c))
		site_each(rd, &c, "files", read_row);
	return 0;
}
