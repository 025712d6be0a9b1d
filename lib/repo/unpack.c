/* Unpacking: beside, checked, synced, then one rename. Called by the agent.
 * Never writes outside ROOT, never runs what it unpacks.
 *
 * libarchive refuses to write through links only for paths relative to the
 * working directory; so that the caller's stays as it is, a thread with a
 * working directory and umask of its own does the writing. */
#include "repo/internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

#define EXTRACT_FLAGS \
	(ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_NODOTDOT | \
	 ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS)

struct extraction {
	struct phx_package_walk *walk;
	struct archive *disk;
	int dir_fd;
	struct phx_err *err;
	int result;
};

static int not_written(struct extraction *x, const char *path)
{
	char shown[200];
	int code = archive_errno(x->disk);
	const char *text = archive_error_string(x->disk);
	bool refused = code <= 0 || code == ELOOP || code == EINVAL; /* the SECURE flags speak so */
	return phx_err_set(x->err, refused ? -EPERM : -code, "%s: %s",
			   phx_entry_show(path, shown, sizeof(shown)),
			   text ? text : "cannot be written");
}

static int extract_content(struct extraction *x, const char *path)
{
	const void *data;
	size_t n;
	int64_t offset;
	int r;
	while ((r = phx_walk_block(x->walk, &data, &n, &offset, x->err)) == 0)
		if (archive_write_data_block(x->disk, data, n, offset) < ARCHIVE_OK)
			return not_written(x, path);
	return r < 0 ? r : 0;
}

static int extract_entry(struct extraction *x, const struct phx_package_entry *e,
			 struct archive_entry *raw)
{
	if (!S_ISLNK(e->mode))
		archive_entry_set_mode(raw, (e->mode & S_IFMT) | phx_entry_mode(e->mode));
	if (archive_write_header(x->disk, raw) < ARCHIVE_OK)
		return not_written(x, e->path);
	int r = e->size_bytes ? extract_content(x, e->path) : 0;
	if (r == 0 && archive_write_finish_entry(x->disk) < ARCHIVE_OK)
		r = not_written(x, e->path);
	return r;
}

static int extract_all(struct extraction *x)
{
	struct phx_package_entry e;
	struct archive_entry *raw;
	int r;
	while ((r = phx_walk_next(x->walk, &e, &raw, x->err)) == 0) {
		r = extract_entry(x, &e, raw);
		if (r < 0)
			return r;
	}
	if (r == 1)
		r = archive_write_close(x->disk) < ARCHIVE_OK ? not_written(x, ".") : 0;
	return r;
}

static void *extraction_thread(void *arg)
{
	struct extraction *x = arg;
	if (unshare(CLONE_FS) < 0 || fchdir(x->dir_fd) < 0) {
		x->result = phx_err_set(x->err, -errno, "working directory: %s", strerror(errno));
		return NULL;
	}
	umask(022);
	x->result = extract_all(x);
	return NULL;
}

int phx_walk_extract(struct phx_package_walk *w, int dir_fd, struct phx_err *err)
{
	struct extraction x = {
		.walk = w, .dir_fd = dir_fd, .err = err, .disk = archive_write_disk_new()};
	if (!x.disk)
		return -ENOMEM;
	pthread_t thread;
	int r = archive_write_disk_set_options(x.disk, EXTRACT_FLAGS) == ARCHIVE_OK ? 0 : -ENOMEM;
	if (r == 0)
		r = -pthread_create(&thread, NULL, extraction_thread, &x);
	if (r == 0) {
		pthread_join(thread, NULL);
		r = x.result;
	}
	archive_write_free(x.disk);
	return r;
}

static int check_arch(const struct phx_package *p, struct phx_err *err)
{
	static const struct {
		const char *machine, *arch;
	} machines[] = {
		{"x86_64", "amd64"}, {"aarch64", "arm64"},   {"armv7l", "armhf"},
		{"i686", "i386"},    {"ppc64le", "ppc64el"}, {"riscv64", "riscv64"},
		{"s390x", "s390x"},
	};
	struct utsname u;
	if (phx_str_eq(p->arch, "all"))
		return 0;
	if (uname(&u) < 0)
		return -errno;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(machines); i++)
		if (phx_str_eq(machines[i].machine, u.machine) &&
		    phx_str_eq(machines[i].arch, p->arch))
			return 0;
	return phx_err_set(err, -ENOEXEC, "made for %s, this machine is %s", p->arch, u.machine);
}

/* 1: unpacked from these bytes before; 0: not there; -EEXIST: there from other bytes. */
static int check_present(const char *dest, const char *hex, struct phx_err *err)
{
	if (faccessat(AT_FDCWD, dest, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", dest, strerror(errno));
	PHX_AUTO_FREE char *path = phx_path("%s/" PHX_PACKAGE_DIGEST, dest);
	PHX_AUTO_FREE char *had = NULL;
	if (!path)
		return -ENOMEM;
	int r = phx_file_read(path, PHX_SHA256_HEX, &had, NULL, NULL);
	if (r == 0 && !strncmp(had, hex, PHX_SHA256_HEX - 1))
		return 1;
	return phx_err_set(
		err, -EEXIST,
		"%s: unpacked before from other bytes; remove it first, or raise the version",
		dest);
}

static int write_meta(const char *tmp, const struct phx_package *p, const char *hex,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/" PHX_PACKAGE_RESERVED, tmp);
	PHX_AUTO_FREE char *manifest_path = phx_path("%s/" PHX_PACKAGE_MANIFEST, tmp);
	PHX_AUTO_FREE char *digest_path = phx_path("%s/" PHX_PACKAGE_DIGEST, tmp);
	PHX_AUTO_FREE char *manifest = phx_manifest_format(p);
	if (!dir || !manifest_path || !digest_path || !manifest)
		return -ENOMEM;
	if (mkdir(dir, 0755) < 0)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	int r = phx_file_write(manifest_path, manifest, strlen(manifest), 0644, err);
	if (r == 0)
		r = phx_file_write(digest_path, hex, strlen(hex), 0644, err);
	return r;
}

static int fill(struct phx_package_walk *w, const char *tmp, const char *hex, struct phx_err *err)
{
	if (mkdir(tmp, 0755) < 0)
		return phx_err_set(err, -errno, "%s: %s", tmp, strerror(errno));
	PHX_AUTO_CLOSE int dir_fd = open(tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0 || fchmod(dir_fd, 0755) < 0)
		return phx_err_set(err, -errno, "%s: %s", tmp, strerror(errno));
	int r = phx_walk_extract(w, dir_fd, err);
	if (r == 0)
		r = write_meta(tmp, &w->manifest, hex, err);
	if (r == 0 && syncfs(dir_fd) < 0)
		r = phx_err_set(err, -errno, "%s: %s", tmp, strerror(errno));
	return r;
}

static int sync_dir(const char *path, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? phx_err_set(err, -errno, "%s: %s", path, strerror(errno))
				       : 0;
}

/* What interrupted unpacks and removals left: nobody else is at work while the lock is held. */
static int remove_leftovers(const char *dir, struct phx_err *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		if (e->d_name[0] != '.' || n < 5 || !phx_str_eq(e->d_name + n - 4, ".tmp"))
			continue;
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, e->d_name);
		r = path ? phx_dir_remove(path, err) : -ENOMEM;
	}
	closedir(d);
	return r;
}

/* With the lock held: fill a directory beside, then rename. */
static int unpack_locked(struct phx_package_walk *w, const char *dir, const char *hex,
			 struct phx_err *err)
{
	PHX_AUTO_FREE char *dest = phx_path("%s/%s", dir, w->manifest.version);
	PHX_AUTO_FREE char *tmp = phx_path("%s/.%s.tmp", dir, w->manifest.version);
	if (!dest || !tmp)
		return -ENOMEM;
	int r = check_present(dest, hex, err);
	if (r)
		return r < 0 ? r : 0;
	r = remove_leftovers(dir, err);
	if (r == 0)
		r = fill(w, tmp, hex, err);
	if (r == 0 && rename(tmp, dest) < 0)
		r = phx_err_set(err, -errno, "%s: %s", dest, strerror(errno));
	if (r == 0)
		r = sync_dir(dir, err);
	if (r < 0)
		phx_dir_remove(tmp, NULL);
	return r;
}

static int unpack_walk(struct phx_package_walk *w, const char *root, const char *hex,
		       struct phx_err *err)
{
	int r = check_arch(&w->manifest, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int lock = -1;
	r = phx_package_lock(root, &lock, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *dir = phx_path("%s/%s", root, w->manifest.name);
	if (!dir)
		return -ENOMEM;
	bool made = mkdir(dir, 0755) == 0;
	if (!made && errno != EEXIST)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	r = unpack_locked(w, dir, hex, err);
	if (r < 0 && made)
		rmdir(dir);
	return r;
}

int phx_package_unpack(const char *path, const char *ring, const char *root,
		       const struct phx_package_limits *limits, struct phx_package *ret,
		       struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	struct phx_package opened;
	int r = phx_package_open_signed(path, ring, &fd, &opened, err);
	if (r < 0)
		return r;
	struct phx_package_walk w;
	r = phx_walk_open(&w, fd, limits, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", path);
	phx_package_was_opened(&w.manifest, &opened);
	r = unpack_walk(&w, root, opened.sha256, err);
	if (r == 0 && ret)
		*ret = w.manifest;
	phx_walk_close(&w);
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : 0;
}
