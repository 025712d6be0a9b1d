/* The head's images: see store.h. Called by phxd (serving, reloading) and by
 * `phx image`. What has no valid manifest at its place is no image. */
#include "deploy/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/version.h"
#include "deploy/publish.h"
#include "pki/pki.h"

enum { MANIFEST_MAX = 1 << 20, SIGNATURE_MAX = 4096 };

static void image_fini(struct phx_image *im)
{
	phx_record_fini(&phx_image_record, im);
}

void phx_images_fini(struct phx_list *images)
{
	PHX_LIST_EACH(struct phx_image, im, images)
		image_fini(im);
	phx_list_fini(images);
}

int phx_image_names_check(const char *name, const char *version, struct phx_err *err)
{
	if (!phx_name_valid(name) || !phx_name_valid(version))
		return phx_err_set(
			err, -EINVAL,
			"'%s' version '%s' is no name of an image: letters, digits, '-', '_', '.'",
			name, version);
	return 0;
}

static int check_sizes(const char *path, const struct phx_image *im, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_image_file, f, &im->files) {
		PHX_AUTO_FREE char *file = phx_path("%s/%s", path, f->name);
		struct stat st;
		if (!file)
			return -ENOMEM;
		if (lstat(file, &st) < 0 || !S_ISREG(st.st_mode))
			return phx_err_set(err, -EBADMSG,
					   "%s: no such file, but the manifest names it", file);
		if ((uint64_t)st.st_size != f->size)
			return phx_err_set(
				err, -EBADMSG,
				"%s has %lld bytes; the manifest says %llu: cut short or altered",
				file, (long long)st.st_size, (unsigned long long)f->size);
	}
	return 0;
}

int phx_image_dir_read(const char *path, struct phx_image *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *manifest = phx_path("%s/" PHX_IMAGE_MANIFEST, path);
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	struct phx_image im;
	int r = manifest ? phx_file_read(manifest, MANIFEST_MAX, &text, &n, err) : -ENOMEM;
	if (r == 0)
		r = phx_image_parse(text, n, manifest, &im, err);
	if (r < 0)
		return r;
	r = check_sizes(path, &im, err);
	if (r < 0)
		image_fini(&im);
	else
		*ret = im;
	return r;
}

int phx_image_dir_verify(const char *path, struct phx_image *ret, struct phx_err *err)
{
	PHX_AUTO(image_fini) struct phx_image im = {0};
	int r = phx_image_dir_read(path, &im, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_image_file, f, &im.files) {
		PHX_AUTO_FREE char *file = phx_path("%s/%s", path, f->name);
		char hex[PHX_SHA256_HEX];
		r = file ? phx_sha256_file(file, hex, NULL, err) : -ENOMEM;
		if (r < 0)
			return r;
		if (strcmp(hex, f->sha256))
			return phx_err_set(err, -EBADMSG,
					   "%s: its digest is %s; the manifest says %s: altered",
					   file, hex, f->sha256);
	}
	*ret = im;
	memset(&im, 0, sizeof(im));
	return 0;
}

/* The image at its place; its manifest must say the same name. */
static int load(const char *dir, const char *name, const char *version, bool verify,
		struct phx_image *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s", dir, name, version);
	struct phx_image im;
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) < 0)
		return phx_err_set(err, -ENOENT, "there is no image '%s' of version '%s'", name,
				   version);
	int r = verify ? phx_image_dir_verify(path, &im, err) : phx_image_dir_read(path, &im, err);
	if (r < 0)
		return r == -ENOENT ? -EBADMSG : r;
	if (strcmp(im.name, name) || strcmp(im.version, version)) {
		phx_err_set(err, -EBADMSG, "%s: its manifest is that of image '%s' version '%s'",
			    path, im.name, im.version);
		image_fini(&im);
		return -EBADMSG;
	}
	*ret = im;
	return 0;
}

/* ---- signatures ---- */

static int read_signature(const char *dir, const struct phx_image *im, char ret_hex[PHX_SIG_HEX],
			  struct phx_err *err)
{
	PHX_AUTO_FREE char *path =
		phx_path("%s/%s/%s/" PHX_IMAGE_SIGNATURE, dir, im->name, im->version);
	PHX_AUTO_FREE char *text = NULL;
	ret_hex[0] = '\0';
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	int r = phx_file_read(path, SIGNATURE_MAX, &text, NULL, err);
	if (r == 0)
		snprintf(ret_hex, PHX_SIG_HEX, "%.*s", (int)strcspn(text, "\n"), text);
	return r == 0 && !ret_hex[0] ? phx_err_set(err, -EKEYREJECTED, "%s: no signature", path)
				     : r;
}

int phx_images_signed_by(const char *dir, const struct phx_image *im,
			 const struct phx_image_trust *trust, char ret_name[PHX_NAME_MAX],
			 char ret_hex[PHX_SIG_HEX], struct phx_err *err)
{
	char hex[PHX_SIG_HEX];
	ret_name[0] = '\0';
	if (!trust->ring)
		return 0;
	int r = read_signature(dir, im, hex, err);
	if (r == 0 && hex[0])
		r = phx_image_verify(im, hex, trust->ring, ret_name, err);
	else if (r == 0 && trust->wanted)
		r = phx_err_set(err, -EKEYREJECTED,
				"image %s %s is not signed (images_signed): phx image sign",
				im->name, im->version);
	if (r == 0 && ret_hex)
		strcpy(ret_hex, hex);
	return r;
}

int phx_image_dir_sign(const char *path, const char *key_pem_path, struct phx_image *ret,
		       struct phx_err *err)
{
	PHX_AUTO(image_fini) struct phx_image im = {0};
	PHX_AUTO_FREE char *to = phx_path("%s/" PHX_IMAGE_SIGNATURE, path);
	char hex[PHX_SIG_HEX + 1];
	int r = to ? phx_image_dir_verify(path, &im, err) : -ENOMEM;
	r = r ? r : phx_image_sign(&im, key_pem_path, hex, err);
	if (r < 0)
		return r;
	strcat(hex, "\n");
	r = phx_file_write(to, hex, strlen(hex), 0644, err);
	if (r == 0 && ret) {
		*ret = im;
		memset(&im, 0, sizeof(im));
	}
	return r;
}

/* ---- directories ---- */

static int is_name(const struct dirent *e)
{
	return phx_name_valid(e->d_name);
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
	return phx_version_compare((*a)->d_name, (*b)->d_name);
}

/* Sorted entries; none when there is no such directory. Free with free_names(). */
static int read_names(const char *path, struct dirent ***ret_names, struct phx_err *err)
{
	*ret_names = NULL;
	int n = scandir(path, ret_names, is_name, by_version);
	if (n < 0)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return n;
}

static void free_names(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int add_bad(const char *dir, const char *name, const char *version,
		   const struct phx_err *why, struct phx_list *bad)
{
	if (!bad)
		return 0;
	struct phx_image_bad *b = phx_list_push(bad, sizeof(*b));
	if (!b)
		return -ENOMEM;
	snprintf(b->path, sizeof(b->path), "%s/%s/%s", dir, name, version);
	return PHX_STR_SET(b->reason, why->text);
}

static int list_version(const char *dir, const char *name, const char *version,
			struct phx_list *images, struct phx_list *bad)
{
	struct phx_err why = {0};
	struct phx_image im;
	int r = load(dir, name, version, false, &im, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return add_bad(dir, name, version, &why, bad);
	struct phx_image *to = phx_list_push(images, sizeof(*to));
	if (!to) {
		image_fini(&im);
		return -ENOMEM;
	}
	*to = im;
	return 0;
}

static int list_versions(const char *dir, const char *name, struct phx_list *images,
			 struct phx_list *bad, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	struct dirent **names;
	struct stat st;
	if (!path)
		return -ENOMEM;
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	int n = read_names(path, &names, err), r = n < 0 ? n : 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = list_version(dir, name, names[i]->d_name, images, bad);
	free_names(names, n);
	return r;
}

int phx_images_list(const char *dir, struct phx_list *ret_images, struct phx_list *ret_bad,
		    struct phx_err *err)
{
	struct phx_list images = {0}, bad = {0};
	struct dirent **names;
	int n = read_names(dir, &names, err), r = n < 0 ? n : 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = list_versions(dir, names[i]->d_name, &images, ret_bad ? &bad : NULL, err);
	free_names(names, n);
	if (r < 0) {
		phx_images_fini(&images);
		phx_list_fini(&bad);
		return r;
	}
	*ret_images = images;
	if (ret_bad)
		*ret_bad = bad;
	return 0;
}

static int newest(const char *dir, const char *name, char ret_version[PHX_NAME_MAX],
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	struct dirent **names;
	int n = path ? read_names(path, &names, err) : -ENOMEM;
	if (n < 0)
		return n;
	int r = n ? phx_str_copy(ret_version, PHX_NAME_MAX, names[n - 1]->d_name)
		  : phx_err_set(err, -ENOENT, "there is no image '%s' in %s", name, dir);
	free_names(names, n);
	return r;
}

/* `version` or the newest one. */
static int resolve(const char *dir, const char *name, const char *version,
		   char ret_version[PHX_NAME_MAX], struct phx_err *err)
{
	int r = phx_image_names_check(name, version ? version : "0", err);
	if (r < 0)
		return r;
	return version ? phx_str_copy(ret_version, PHX_NAME_MAX, version)
		       : newest(dir, name, ret_version, err);
}

int phx_images_find(const char *dir, const char *name, const char *version, struct phx_image *ret,
		    struct phx_err *err)
{
	char v[PHX_NAME_MAX];
	int r = resolve(dir, name, version, v, err);
	return r < 0 ? r : load(dir, name, v, false, ret, err);
}

int phx_images_verify(const char *dir, const char *name, const char *version, struct phx_err *err)
{
	char v[PHX_NAME_MAX];
	PHX_AUTO(image_fini) struct phx_image im = {0};
	int r = resolve(dir, name, version, v, err);
	return r < 0 ? r : load(dir, name, v, true, &im, err);
}

int phx_images_file(const char *dir, const char *name, const char *version, const char *file,
		    char **ret_path, char ret_sha256[65], struct phx_err *err)
{
	PHX_AUTO(image_fini) struct phx_image im = {0};
	int r = phx_images_find(dir, name, version, &im, err);
	if (r < 0)
		return r;
	const struct phx_image_file *f = phx_image_file(&im, file);
	const char *digest = f ? f->sha256 : strcmp(file, PHX_IMAGE_MANIFEST) ? NULL : im.digest;
	if (!digest)
		return phx_err_set(err, -ENOENT, "image '%s' has no file '%s'", name, file);
	char *path = phx_path("%s/%s/%s/%s", dir, im.name, im.version, file);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return phx_str_copy(ret_sha256, 65, digest);
}
