/* See import.h. The system may have any links: all is opened below its root. */
#include "deploy/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/version.h"
#include "deploy/system.h"

enum { PACK_TIMEOUT_MS = 1800 * 1000, KERNEL_MAX = 256 << 20, KERNELS_MAX = 16 };

/* ---- finding ---- */

/* Debian has them in /boot, Fedora and openSUSE beside the modules. */
static int open_kernel(const char *root, const char *release)
{
	PHX_AUTO_FREE char *boot = phx_path("boot/vmlinuz-%s", release);
	PHX_AUTO_FREE char *beside = phx_path("lib/modules/%s/vmlinuz", release);
	if (!boot || !beside)
		return -ENOMEM;
	int fd = phx_rooted_open(root, boot, O_RDONLY);
	return fd == -ENOENT ? phx_rooted_open(root, beside, O_RDONLY) : fd;
}

static int open_modules(const char *root, const char *release)
{
	PHX_AUTO_FREE char *path = phx_path("lib/modules/%s", release);
	return path ? phx_rooted_open(root, path, O_RDONLY | O_DIRECTORY) : -ENOMEM;
}

static bool has(const struct phx_image *im, const char *release)
{
	PHX_LIST_EACH(struct phx_image_own, k, &im->kernels)
		if (phx_str_eq(k->release, release))
			return true;
	return false;
}

static int add_release(struct phx_image *im, const char *release)
{
	if (has(im, release))
		return 0;
	struct phx_image_own *k = phx_list_push(&im->kernels, sizeof(*k));
	return k ? PHX_STR_SET(k->release, release) : -ENOMEM;
}

/* Releases by the names in a directory that begin so. `sure`: each is one; else those that have a
 * kernel beside their modules. */
static int add_of(const char *root, const char *path, const char *begin, bool sure,
		  struct phx_image *im)
{
	int r = 0, fd = phx_rooted_open(root, path, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *e; r == 0 && d && im->kernels.n <= KERNELS_MAX && (e = readdir(d));) {
		const char *release = e->d_name + strlen(begin);
		if (e->d_name[0] == '.' || !phx_str_starts(e->d_name, begin) ||
		    phx_str_starts(release, "0-rescue-")) /* a second copy of one of the others */
			continue;
		PHX_AUTO_CLOSE int kernel = sure ? -1 : open_kernel(root, release);
		if (sure || kernel >= 0)
			r = add_release(im, release);
	}
	if (d)
		closedir(d);
	return r;
}

static int newest_first(const void *a, const void *b)
{
	return phx_version_compare(((const struct phx_image_own *)b)->release,
				   ((const struct phx_image_own *)a)->release);
}

/* ---- choosing ---- */

/* The default's files have plain names. */
static int name_files(struct phx_image_own *k, bool plain)
{
	char tail[PHX_RELEASE_MAX];
	snprintf(tail, sizeof(tail), "%s", k->release);
	for (char *p = tail; *p; p++)
		if (*p == '+' || *p == '~')
			*p = '_';
	if (plain)
		return PHX_STR_SET(k->kernel, PHX_IMAGE_KERNEL)
			?: PHX_STR_SET(k->modules, PHX_IMAGE_MODULES);
	int n = snprintf(k->modules, sizeof(k->modules), "modules-%s.zst", tail);
	snprintf(k->kernel, sizeof(k->kernel), "vmlinuz-%s", tail);
	return n < (int)sizeof(k->modules) ? 0 : -ENAMETOOLONG;
}

static void put_first(struct phx_list *kernels, uint32_t i)
{
	struct phx_image_own *all = PHX_LIST_AT(kernels, struct phx_image_own, 0), k = all[i];
	memmove(all + 1, all, i * sizeof(k));
	all[0] = k;
}

static int choose(const struct phx_image_import *im, struct phx_image *ret, struct phx_err *err)
{
	uint32_t i = 0;
	struct phx_image_own *all = PHX_LIST_AT(&ret->kernels, struct phx_image_own, 0);
	qsort(all, ret->kernels.n, sizeof(*all), newest_first);
	const char *wanted = im->kernel          ? im->kernel
		: has(ret, im->kernel_of_parent) ? im->kernel_of_parent
						 : all[0].release;
	while (i < ret->kernels.n && strcmp(all[i].release, wanted) != 0)
		i++;
	if (i == ret->kernels.n)
		return phx_err_set(err, -EINVAL, "%s: no kernel %s in it; the newest is %s",
				   im->source, im->kernel, all[0].release);
	put_first(&ret->kernels, i);
	return PHX_STR_SET(ret->kernel_release, all[0].release);
}

static int check_kernel(const char *root, const struct phx_image_import *im,
			struct phx_image_own *k, bool plain, struct phx_err *err)
{
	PHX_AUTO_CLOSE int kernel = open_kernel(root, k->release);
	PHX_AUTO_CLOSE int modules = open_modules(root, k->release);
	if (kernel < 0)
		return phx_err_set(err, -EINVAL, "%s: its kernel %s cannot be read: %s", im->source,
				   k->release, strerror(-kernel));
	if (modules < 0)
		return phx_err_set(
			err, -EINVAL,
			"%s: kernel %s is without its modules (/lib/modules/%s): install "
			"their package, or remove that kernel",
			im->source, k->release, k->release);
	int r = phx_image_release_check(k->release, err);
	r = r ? r : name_files(k, plain);
	return r < 0 ? phx_err_prefix(err, r, "%s: kernel %s", im->source, k->release) : 0;
}

int phx_import_kernels(const char *root, const struct phx_image_import *im, struct phx_image *ret,
		       struct phx_err *err)
{
	int r = add_of(root, "boot", "vmlinuz-", true, ret);
	r = r ? r : add_of(root, "lib/modules", "", false, ret);
	if (r < 0)
		return phx_err_set(err, r, "%s: its kernels: %s", im->source, strerror(-r));
	if (!ret->kernels.n || ret->kernels.n > KERNELS_MAX)
		return phx_err_set(err, -EINVAL,
				   "%s: %u kernels in it (/boot/vmlinuz-RELEASE, or "
				   "/lib/modules/RELEASE/vmlinuz); an image has 1 to %d",
				   im->source, ret->kernels.n, KERNELS_MAX);
	r = choose(im, ret, err);
	for (uint32_t i = 0; r == 0 && i < ret->kernels.n; i++)
		r = check_kernel(root, im, PHX_LIST_AT(&ret->kernels, struct phx_image_own, i),
				 i == 0, err);
	return r;
}

/* ---- making ---- */

static int copy_file(const char *from, const char *to, struct phx_err *err)
{
	PHX_AUTO_FREE char *data = NULL;
	size_t n = 0;
	int r = phx_file_read(from, KERNEL_MAX, &data, &n, err);
	return r < 0 ? r : phx_file_write(to, data, n, 0644, err);
}

static int copy_kernel(const char *root, const struct phx_image_own *k, const char *out,
		       struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open_kernel(root, k->release);
	PHX_AUTO_FREE char *from = phx_path("/proc/self/fd/%d", fd);
	PHX_AUTO_FREE char *to = phx_path("%s/%s", out, k->kernel);
	return fd < 0 ? fd : !from || !to ? -ENOMEM : copy_file(from, to, err);
}

int phx_import_put_kernel(const char *root, const char *release, const char *from,
			  struct phx_err *err)
{
	PHX_AUTO_CLOSE int there = open_kernel(root, release);
	PHX_AUTO_CLOSE int modules = open_modules(root, release);
	PHX_AUTO_FREE char *to = phx_path("/proc/self/fd/%d/vmlinuz", modules);
	if (there >= 0 || modules < 0)
		return 0;
	return to ? copy_file(from, to, err) : -ENOMEM;
}

/* One line a driver, as pack-modules reads them. */
static char *driver_lines(const struct phx_list *drivers)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "%s", "");
	PHX_LIST_EACH(struct phx_needed_driver, d, drivers)
		phx_buf_addf(&b, "%s %s %s\n", d->driver, d->alias, d->what);
	return phx_buf_take(&b);
}

static int pack_modules(const char *root, const struct phx_image_import *im,
			const struct phx_image_own *k, const char *out, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open_modules(root, k->release);
	PHX_AUTO_FREE char *from = phx_path("/proc/%d/fd/%d", (int)getpid(), fd);
	PHX_AUTO_FREE char *program = phx_path("%s/pack-modules", im->tools);
	PHX_AUTO_FREE char *list = phx_path("%s/deploy/modules", im->tools);
	PHX_AUTO_FREE char *to = phx_path("%s/%s", out, k->modules);
	PHX_AUTO_FREE char *drivers = driver_lines(&im->drivers);
	if (fd < 0 || !from || !program || !list || !to || !drivers)
		return fd < 0 ? fd : -ENOMEM;
	const char *const argv[] = {program, from, k->release, list, to, NULL};
	const struct phx_run job = {.argv = argv, .input = drivers, .timeout_ms = PACK_TIMEOUT_MS};
	int r = phx_run_check(&job, NULL, err);
	return r == -EIO ? -EINVAL : r;
}

int phx_import_kernel(const char *root, const struct phx_image_import *im,
		      const struct phx_image_own *k, const char *out, struct phx_err *err)
{
	int r = copy_kernel(root, k, out, err);
	r = r ? r : pack_modules(root, im, k, out, err);
	return r < 0 ? phx_err_prefix(err, r, "%s: kernel %s", im->source, k->release) : 0;
}
