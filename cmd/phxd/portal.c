/* The portal's pages (cmd/portal, bundled by `make portal`): read once, when phxd starts and before
 * it gives up rights. Only this table is served, so requests never name files on disk. Pages
 * contain no data of the cluster: they request it, with the rights of the user who is signed in
 * (api_portal.c). */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define INDEX "index.html"

enum { FILE_MAX = 4 << 20, FILES_MAX = 64 };

struct portal_file {
	char name[NAME_MAX + 1], etag[PHX_SHA256_HEX];
	char *data, *gzip; /* gzip: NULL if there is none */
	struct phx_http_page page;
};

struct portal {
	char dir[PATH_MAX];
	struct phx_list files; /* struct portal_file; never changed once it serves */
};

static const struct {
	const char *suffix, *type;
} types[] = {
	{".html", "text/html; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".svg", "image/svg+xml"},
};

/* The media type of a file; NULL: it is no part of a page. */
static const char *type_of(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(types); i++) {
		size_t n_suffix = strlen(types[i].suffix);
		if (n > n_suffix && !strcmp(name + n - n_suffix, types[i].suffix))
			return types[i].type;
	}
	return NULL;
}

static void read_gzip(struct portal_file *f, const char *path)
{
	PHX_AUTO_FREE char *beside = phx_path("%s.gz", path);
	if (beside)
		(void)!phx_file_read(beside, FILE_MAX, &f->gzip, &f->page.n_gzip, NULL);
}

/* Reads a file of the portal; one that cannot be read is skipped. */
static int take(struct portal *p, const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", p->dir, name);
	char *data = NULL;
	size_t n = 0;
	if (!path)
		return -ENOMEM;
	if (phx_file_read(path, FILE_MAX, &data, &n, NULL) < 0)
		return 0;
	struct portal_file *f = phx_list_push(&p->files, sizeof(*f));
	if (!f) {
		free(data);
		return -ENOMEM;
	}
	*f = (struct portal_file){.data = data};
	PHX_STR_SET(f->name, name);
	int r = phx_sha256_of(data, n, f->etag);
	read_gzip(f, path);
	f->page.n = n;
	f->page.type = type_of(name);
	f->page.immutable = strcmp(name, INDEX) != 0; /* the others' names hold their digests */
	return r;
}

static int read_dir(struct portal *p)
{
	DIR *dir = opendir(p->dir);
	int r = 0;
	for (struct dirent *e; dir && r == 0 && (e = readdir(dir));)
		if (type_of(e->d_name) && p->files.n < FILES_MAX)
			r = take(p, e->d_name);
	if (dir)
		closedir(dir);
	/* from here on the list stays where it is */
	PHX_LIST_EACH(struct portal_file, f, &p->files) {
		f->page.data = f->data;
		f->page.gzip = f->gzip;
		f->page.etag = f->etag;
	}
	return r;
}

/* The pages of a build tree: BUILD/portal for BUILD/bin/phxd. */
static bool beside_us(char ret[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return false;
	self[n] = '\0';
	PHX_AUTO_FREE char *dir = phx_path("%s/../portal", dirname(self));
	PHX_AUTO_FREE char *index = dir ? phx_path("%s/" INDEX, dir) : NULL;
	return index && access(index, R_OK) == 0 && phx_str_copy(ret, PATH_MAX, dir) == 0;
}

int portal_new(const struct phx_config *cfg, struct portal **ret)
{
	struct portal *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (cfg->origins[PHX_OPT_portal_dir].line || !beside_us(p->dir))
		PHX_STR_SET(p->dir, cfg->portal_dir);
	*ret = p;
	return read_dir(p);
}

void portal_free(struct portal *p)
{
	if (!p)
		return;
	PHX_LIST_EACH(struct portal_file, f, &p->files) {
		free(f->data);
		free(f->gzip);
	}
	phx_list_fini(&p->files);
	free(p);
}

json_t *portal_names(const struct portal *p)
{
	json_t *names = json_array();
	PHX_LIST_EACH(struct portal_file, f, &p->files)
		if (f->page.immutable)
			json_array_append_new(names, json_string(f->name));
	return names;
}

static void reply(struct phx_http_request *q, const struct portal *p, const char *name)
{
	PHX_LIST_EACH(struct portal_file, f, &p->files)
		if (!strcmp(f->name, name)) {
			phx_http_reply_page(q, &f->page);
			return;
		}
	char text[PATH_MAX + 120];
	snprintf(text, sizeof(text), "the portal has no file %.80s%s%s", name,
		 p->files.n ? "" : ": there are no pages in ", p->files.n ? "" : p->dir);
	phx_http_reply_error(q, -ENOENT, text);
}

void api_portal(struct phx_http_request *q, void *arg)
{
	const struct daemon *d = arg;
	reply(q, d->portal, INDEX);
}

void api_portal_page(struct phx_http_request *q, void *arg)
{
	api_portal(q, arg);
}

void api_portal_file(struct phx_http_request *q, void *arg)
{
	const struct daemon *d = arg;
	reply(q, d->portal, phx_http_param(q, 0));
}
