/* How an image gets into the store, copied beside, verified, renamed; and out of
 * it. Called by the import and by `phx image`; see store.h and publish.h. */
#include "deploy/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "deploy/store.h"

static int copy_bytes(int in, int out)
{
	for (;;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
		if (n == 0)
			return 0;
		if (n < 0 &&
		    (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS))
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	PHX_AUTO_FREE char *buf = malloc(1 << 20);
	ssize_t n;
	int r = buf ? 0 : -ENOMEM;
	while (r == 0 && (n = read(in, buf, 1 << 20)) != 0)
		r = n > 0 ? phx_write_all(out, buf, (size_t)n) : errno == EINTR ? 0 : -errno;
	return r;
}

/* Copy one file, synced. */
static int copy_file(const char *from, const char *to, struct phx_err *err)
{
	PHX_AUTO_CLOSE int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0)
		return phx_err_set(err, -errno, "%s: %s", from, strerror(errno));
	PHX_AUTO_CLOSE int out =
		open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (out < 0)
		return phx_err_set(err, -errno, "%s: %s", to, strerror(errno));
	int r = copy_bytes(in, out);
	if (r == 0 && fsync(out) < 0)
		r = -errno;
	return r < 0 ? phx_err_set(err, r, "%s: %s", to, strerror(-r)) : 0;
}

static int sync_directory(const char *path, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* 1: the same image is there already. */
static int compare_with_present(const char *dir, const struct phx_image *im, struct phx_err *err)
{
	struct phx_image had;
	int r = phx_images_find(dir, im->name, im->version, &had, err);
	if (r == -ENOENT) {
		phx_err_clear(err);
		return 0;
	}
	if (r < 0)
		return r;
	bool same = !strcmp(had.digest, im->digest);
	phx_record_fini(&phx_image_record, &had);
	return same ? 1
		    : phx_err_set(err, -EEXIST,
				  "image '%s' of version '%s' is there with other contents; give "
				  "the new one another "
				  "version",
				  im->name, im->version);
}

int phx_image_publish(const char *dir, const char *tmp, const struct phx_image *im,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *parent = phx_path("%s/%s", dir, im->name);
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s", dir, im->name, im->version);
	if (!parent || !path)
		return -ENOMEM;
	int r = compare_with_present(dir, im, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = phx_dir_make(parent, 0755, err);
	if (r == 0)
		r = sync_directory(tmp, err);
	if (r == 0 && rename(tmp, path) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (r == 0)
		r = sync_directory(parent, err);
	return r;
}

/* ".WORD.TID" of a thread that is no more. */
static bool is_abandoned(const char *name)
{
	char proc[32];
	uint64_t tid;
	const char *dot = name[0] == '.' ? strchr(name + 1, '.') : NULL;
	if (!dot || phx_u64_parse(dot + 1, 1, INT32_MAX, &tid) < 0)
		return false;
	snprintf(proc, sizeof(proc), "/proc/%llu", (unsigned long long)tid);
	return access(proc, F_OK) < 0;
}

void phx_images_sweep(const char *dir)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		PHX_AUTO_FREE char *path =
			is_abandoned(e->d_name) ? phx_path("%s/%s", dir, e->d_name) : NULL;
		if (path)
			phx_dir_remove(path, NULL);
	}
	if (d)
		closedir(d);
}

/* The signature, where there is one: of an image that is there already, too. */
static int copy_signature(const char *src, const char *to_dir, struct phx_err *err)
{
	PHX_AUTO_FREE char *from = phx_path("%s/" PHX_IMAGE_SIGNATURE, src);
	PHX_AUTO_FREE char *to = phx_path("%s/" PHX_IMAGE_SIGNATURE, to_dir), *text = NULL;
	size_t n;
	if (!from || !to)
		return -ENOMEM;
	if (access(from, F_OK) < 0 && errno == ENOENT)
		return 0;
	int r = phx_file_read(from, PHX_SIG_HEX, &text, &n, err);
	return r ? r : phx_file_write(to, text, n, 0644, err);
}

static int copy_image(const char *src, const char *tmp, const struct phx_image *im,
		      struct phx_err *err)
{
	int r = phx_dir_make(tmp, 0755, err);
	r = r ? r : copy_signature(src, tmp, err);
	for (uint32_t i = 0; r == 0 && i <= im->files.n; i++) {
		const char *name = i < im->files.n
			? PHX_LIST_AT(&im->files, struct phx_image_file, i)->name
			: PHX_IMAGE_MANIFEST;
		PHX_AUTO_FREE char *from = phx_path("%s/%s", src, name);
		PHX_AUTO_FREE char *to = phx_path("%s/%s", tmp, name);
		r = from && to ? copy_file(from, to, err) : -ENOMEM;
	}
	return r;
}

int phx_images_add(const char *dir, const char *src, struct phx_image *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *tmp = phx_path("%s/.add.%d", dir, (int)gettid());
	struct phx_image from, im;
	int r = tmp ? phx_image_dir_read(src, &from, err) : -ENOMEM;
	if (r < 0)
		return r;
	phx_images_sweep(dir);
	r = phx_dir_remove(tmp, err);
	if (r == 0)
		r = copy_image(src, tmp, &from, err);
	phx_record_fini(&phx_image_record, &from);
	if (r == 0)
		r = phx_image_dir_verify(tmp, &im, err);
	if (r == 0) {
		PHX_AUTO_FREE char *at = phx_path("%s/%s/%s", dir, im.name, im.version);
		r = at ? phx_image_publish(dir, tmp, &im, err) : -ENOMEM;
		r = r ? r : copy_signature(src, at, err);
		if (r == 0)
			*ret = im;
		else
			phx_record_fini(&phx_image_record, &im);
	}
	phx_dir_remove(tmp, NULL);
	return r;
}

int phx_images_remove(const char *dir, const char *name, const char *version, struct phx_err *err)
{
	int r = phx_image_names_check(name, version, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s", dir, name, version);
	PHX_AUTO_FREE char *gone = phx_path("%s/.gone.%d", dir, (int)gettid());
	PHX_AUTO_FREE char *parent = phx_path("%s/%s", dir, name);
	if (!path || !gone || !parent)
		return -ENOMEM;
	phx_images_sweep(dir);
	phx_dir_remove(gone, NULL);
	if (rename(path, gone) < 0)
		return errno == ENOENT
			? phx_err_set(err, -ENOENT, "there is no image '%s' of version '%s'", name,
				      version)
			: phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	r = phx_dir_remove(gone, err);
	/* stays when it holds other versions */
	rmdir(parent);
	return r;
}
