/* The head's repository: a directory of NAME-VERSION.tar.zst, each with its
 * signature beside it. Called by phxd and the CLI. Nothing in it is believed
 * because it lies there: every file is verified when it is listed or found. */
#include "repo/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define REPO_FILES_MAX 10000

struct file_name {
	char file[NAME_MAX + 1];
};

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct file_name *)a)->file, ((const struct file_name *)b)->file);
}

static bool is_package_file(const char *file)
{
	size_t n = strlen(file), n_suffix = strlen(PHX_PACKAGE_SUFFIX);
	return file[0] != '.' && n > n_suffix &&
		phx_str_eq(file + n - n_suffix, PHX_PACKAGE_SUFFIX);
}

/* Sorted names of the package files in `dir`; a missing directory is an empty one. */
static int read_names(const char *dir, struct phx_list *ret_files, struct phx_err *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		if (!is_package_file(e->d_name))
			continue;
		struct file_name *f =
			ret_files->n < REPO_FILES_MAX ? phx_list_push(ret_files, sizeof(*f)) : NULL;
		if (f)
			PHX_STR_SET(f->file, e->d_name);
		else
			r = ret_files->n < REPO_FILES_MAX
				? -ENOMEM
				: phx_err_set(err, -E2BIG, "%s: more than %d packages", dir,
					      REPO_FILES_MAX);
	}
	closedir(d);
	if (r == 0 && ret_files->n)
		qsort(ret_files->items, ret_files->n, sizeof(struct file_name), compare_files);
	return r;
}

static char *file_of(const char *dir, const struct phx_package *p)
{
	return phx_path("%s/" PHX_PACKAGE_ARCHIVE, dir, p->name, p->version);
}

/* Verify DIR/FILE, which must hold what its name says. */
static int verify_file(const char *dir, const char *file, const char *ring, struct phx_package *ret,
		       struct phx_err *err)
{
	struct phx_package p;
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, file);
	if (!path)
		return -ENOMEM;
	int r = phx_package_verify(path, ring, &p, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *right = file_of(dir, &p);
	if (!right)
		return -ENOMEM;
	if (!phx_str_eq(path, right))
		return phx_err_set(err, -EBADMSG, "%s: holds %s %s, but has another name", path,
				   p.name, p.version);
	*ret = p;
	return 0;
}

static int note_bad(struct phx_list *bad, const char *file, const struct phx_err *why)
{
	struct phx_package_bad *b = bad ? phx_list_push(bad, sizeof(*b)) : NULL;
	if (!b)
		return bad ? -ENOMEM : 0;
	snprintf(b->file, sizeof(b->file), "%s", file);
	snprintf(b->reason, sizeof(b->reason), "%.255s", why->text);
	return 0;
}

static int list_files(const char *dir, const char *ring, const struct phx_list *files,
		      struct phx_list *packages, struct phx_list *bad)
{
	PHX_LIST_EACH(struct file_name, f, files) {
		struct phx_err why = {0};
		struct phx_package p;
		int r = verify_file(dir, f->file, ring, &p, &why);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			r = note_bad(bad, f->file, &why);
		} else {
			struct phx_package *slot = phx_list_push(packages, sizeof(*slot));
			r = slot ? (*slot = p, 0) : -ENOMEM;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_packages(const void *a, const void *b)
{
	const struct phx_package *p = a, *q = b;
	int r = strcmp(p->name, q->name);
	return r ? r : phx_version_compare(p->version, q->version);
}

int phx_repo_list(const char *dir, const char *ring, struct phx_list *ret_packages,
		  struct phx_list *ret_bad, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list files = {0};
	PHX_AUTO(phx_list_fini) struct phx_list packages = {0};
	PHX_AUTO(phx_list_fini) struct phx_list bad = {0};
	int r = read_names(dir, &files, err);
	if (r == 0)
		r = list_files(dir, ring, &files, &packages, ret_bad ? &bad : NULL);
	if (r < 0)
		return r;
	if (packages.n)
		qsort(packages.items, packages.n, sizeof(struct phx_package), compare_packages);
	*ret_packages = packages;
	packages = (struct phx_list){0};
	if (ret_bad) {
		*ret_bad = bad;
		bad = (struct phx_list){0};
	}
	return 0;
}

int phx_repo_json(const char *dir, const char *ring, json_t **ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list packages = {0}, bad = {0};
	int r = phx_repo_list(dir, ring, &packages, &bad, err);
	if (r < 0)
		return r;
	json_t *j = json_pack("{s:o,s:o}", "packages",
			      phx_json_from_list(&phx_package_record, &packages), "bad",
			      phx_json_from_list(&phx_package_bad_record, &bad));
	*ret = j ? j : *ret;
	return j ? 0 : -ENOMEM;
}

/* Version in a file name NAME-VERSION.tar.zst of package `name`; false for another package's
 * file. */
static bool version_of(const char *file, const char *name, char ret_version[PHX_NAME_MAX])
{
	size_t n = strlen(name), n_suffix = strlen(PHX_PACKAGE_SUFFIX), n_file = strlen(file);
	if (strncmp(file, name, n) != 0 || file[n] != '-' || n_file < n + 1 + n_suffix)
		return false;
	size_t n_version = n_file - n - 1 - n_suffix;
	if (n_version >= PHX_NAME_MAX)
		return false;
	memcpy(ret_version, file + n + 1, n_version);
	ret_version[n_version] = '\0';
	return phx_version_valid(ret_version);
}

/* File of `name` in `version`, or of its newest version. */
static const char *choose_file(const struct phx_list *files, const char *name, const char *version)
{
	const char *chosen = NULL;
	char best[PHX_NAME_MAX] = "", at_hand[PHX_NAME_MAX];
	PHX_LIST_EACH(struct file_name, f, files) {
		if (!version_of(f->file, name, at_hand))
			continue;
		if (version ? !phx_str_eq(version, at_hand)
			    : chosen && phx_version_compare(at_hand, best) <= 0)
			continue;
		chosen = f->file;
		PHX_STR_SET(best, at_hand);
	}
	return chosen;
}

int phx_repo_find(const char *dir, const char *ring, const char *name, const char *version,
		  char **ret_path, struct phx_package *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list files = {0};
	int r = read_names(dir, &files, err);
	if (r < 0)
		return r;
	const char *file = choose_file(&files, name, version);
	if (!file)
		return phx_err_set(err, -ENOENT, "no package %s%s%s in %s", name,
				   version ? " of version " : "", version ? version : "", dir);
	struct phx_package p;
	r = verify_file(dir, file, ring, &p, err);
	if (r < 0)
		return r;
	if (ret_path) {
		*ret_path = phx_path("%s/%s", dir, file);
		if (!*ret_path)
			return -ENOMEM;
	}
	if (ret)
		*ret = p;
	return 0;
}

/* Publish a copy of `from` (rewound) at `path` by rename. */
static int copy_file(int from, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *tmp = phx_path("%s.%d.tmp", path, (int)gettid());
	if (!tmp)
		return -ENOMEM;
	PHX_AUTO_CLOSE int to =
		open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = to < 0 || lseek(from, 0, SEEK_SET) < 0 ? -errno : 0;
	char chunk[65536];
	for (ssize_t n; r == 0 && (n = read(from, chunk, sizeof(chunk))) != 0;)
		r = n > 0 ? phx_write_all(to, chunk, (size_t)n) : -errno;
	if (r == 0 && (fsync(to) < 0 || rename(tmp, path) < 0))
		r = -errno;
	if (r < 0)
		unlink(tmp);
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

static int copy_signature(const char *path, const char *dest, struct phx_err *err)
{
	PHX_AUTO_FREE char *from = phx_path("%s.sig", path);
	PHX_AUTO_FREE char *to = phx_path("%s.sig", dest);
	PHX_AUTO_FREE char *sig = NULL;
	size_t n;
	if (!from || !to)
		return -ENOMEM;
	int r = phx_file_read(from, PHX_SIG_SIZE, &sig, &n, err);
	return r < 0 ? r : phx_file_write(to, sig, n, 0644, err);
}

/* 1: the same bytes are there, well signed; 0: place is free, or what holds it is not
 * verifiable. */
static int check_place(const char *dest, const char *ring, const struct phx_package *p,
		       struct phx_err *err)
{
	struct phx_package had;
	if (phx_package_verify(dest, ring, &had, NULL) < 0)
		return 0;
	if (phx_str_eq(had.sha256, p->sha256))
		return 1;
	return phx_err_set(err, -EEXIST,
			   "%s %s is in the repository with other content: raise the version",
			   p->name, p->version);
}

/* The signature first: a package without one is never listed. */
static int store(int fd, const char *path, const char *dest, struct phx_err *err)
{
	int r = copy_signature(path, dest, err);
	return r < 0 ? r : copy_file(fd, dest, err);
}

static int add_open(const char *dir, const char *ring, const char *path, int fd,
		    struct phx_package *p, struct phx_err *err)
{
	struct phx_package_walk w;
	int r = phx_walk_open(&w, fd, NULL, err);
	if (r < 0)
		return r;
	r = phx_walk_all(&w, err);
	phx_package_was_opened(&w.manifest, p);
	*p = w.manifest;
	phx_walk_close(&w);
	PHX_AUTO_FREE char *dest = r == 0 ? file_of(dir, p) : NULL;
	if (!dest)
		return r < 0 ? r : -ENOMEM;
	r = check_place(dest, ring, p, err);
	if (r)
		return r < 0 ? r : 0;
	return store(fd, path, dest, err);
}

/* "NAME.TID.tmp" of a thread that is no more: what a killed push or build has left. */
static bool is_abandoned(const char *name)
{
	return strstr(name, PHX_PACKAGE_SUFFIX ".") && phx_file_is_abandoned(name);
}

void phx_repo_sweep(const char *dir)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (is_abandoned(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int phx_repo_add(const char *dir, const char *ring, const char *path, struct phx_package *ret,
		 struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1, lock = -1;
	struct phx_package p = {0};
	int r = phx_package_open_signed(path, ring, &fd, &p, err);
	if (r == 0)
		r = phx_package_lock(dir, &lock, err);
	if (r < 0)
		return r;
	phx_repo_sweep(dir);
	r = add_open(dir, ring, path, fd, &p, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", path);
	if (ret)
		*ret = p;
	return 0;
}
