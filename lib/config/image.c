/* image.conf and manifest.conf: see image.h. Called by the store (lib/deploy)
 * and by the agent; opens no image file. */
#include "config/image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/conf.h"
#include "pki/pki.h"

enum { FILES_MAX = 64, KERNELS_MAX = 16 };

#define NAME(id, name, ...) name,
static const char *const names[] = {PHX_IMAGE_KINDS(NAME)};
const struct phx_enum phx_image_kind_names = {"image kind", names, PHX_ARRAY_SIZE(names)};

#define ROW(id, name, boots, file, other) {boots, file, other},
static const struct {
	bool boots;
	const char *file, *other; /* at least one of them; other may be NULL */
} kinds[] = {PHX_IMAGE_KINDS(ROW)};

PHX_RECORD_TABLE(phx_image_file, PHX_IMAGE_FILE_FIELDS);
PHX_RECORD_TABLE(phx_image_own, PHX_IMAGE_OWN_FIELDS);
PHX_RECORD_TABLE(phx_image_conf, PHX_IMAGE_CONF_FIELDS);
PHX_RECORD_TABLE(phx_image, PHX_IMAGE_FIELDS);

const struct phx_image_file *phx_image_file(const struct phx_image *im, const char *name)
{
	PHX_LIST_EACH(struct phx_image_file, f, &im->files)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

bool phx_image_boots(const struct phx_image *im)
{
	return kinds[im->kind].boots;
}

const struct phx_image_own *phx_image_own(const struct phx_image *im, const char *release)
{
	const char *wanted = release && release[0] ? release : im->kernel_release;
	PHX_LIST_EACH(struct phx_image_own, k, &im->kernels)
		if (!strcmp(k->release, wanted))
			return k;
	return NULL;
}

bool phx_image_is_own(const struct phx_image *im, const char *name)
{
	PHX_LIST_EACH(struct phx_image_own, k, &im->kernels)
		if (!strcmp(k->kernel, name) || !strcmp(k->modules, name))
			return true;
	return false;
}

static int read_file(const struct phx_conf *c, const config_setting_t *s, struct phx_image *im,
		     struct phx_err *err)
{
	struct phx_image_file file = {0};
	int r = phx_conf_group(c, s, &phx_image_file_record, &file, err);
	if (r < 0)
		return r;
	if (!phx_is_sha256(file.sha256))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "sha256 of '%s' must be 64 hexadecimal digits in lower case",
				     file.name);
	if (!file.size)
		return phx_conf_fail(c, s, -EINVAL, err,
				     "size of '%s' is 0; an image has no empty files", file.name);
	if (phx_image_file(im, file.name) || !strcmp(file.name, PHX_IMAGE_MANIFEST))
		return phx_conf_fail(c, s, -EINVAL, err, "file '%s' is listed twice", file.name);
	struct phx_image_file *f = phx_list_push(&im->files, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = file;
	return 0;
}

static int read_files(const struct phx_conf *c, struct phx_image *im, struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, config_root_setting(&c->cfg), "files", &list, err);
	if (r == 0 && config_setting_length(list) > FILES_MAX)
		r = phx_conf_fail(c, list, -EINVAL, err, "an image has at most %d files",
				  FILES_MAX);
	for (int i = 0; r == 0 && i < config_setting_length(list); i++)
		r = read_file(c, config_setting_get_elem(list, (unsigned)i), im, err);
	return r;
}

int phx_image_release_check(const char *release, struct phx_err *err)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+~";
	if (release[0] && !strchr(".-", release[0]) && !strstr(release, "..") &&
	    !release[strspn(release, plain)] && strlen(release) < PHX_RELEASE_MAX)
		return 0;
	return phx_err_set(err, -EINVAL, "release '%s': letters, digits, '-', '_', '.', '+', '~'",
			   release);
}

static int check_own(const struct phx_conf *c, const config_setting_t *s,
		     const struct phx_image *im, const struct phx_image_own *own,
		     struct phx_err *err)
{
	const char *missing = !phx_image_file(im, own->kernel) ? own->kernel
		: !phx_image_file(im, own->modules)            ? own->modules
							       : NULL;
	if (phx_image_release_check(own->release, err) < 0)
		return phx_conf_place(c, s, -EINVAL, err);
	if (phx_image_own(im, own->release))
		return phx_conf_fail(c, s, -EINVAL, err, "kernel '%s' is listed twice",
				     own->release);
	if (missing)
		return phx_conf_fail(c, s, -EINVAL, err, "kernel '%s': '%s' is none of the files",
				     own->release, missing);
	if (phx_image_is_own(im, own->kernel) || phx_image_is_own(im, own->modules))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "kernel '%s': its files are those of another kernel",
				     own->release);
	return 0;
}

static int read_own(const struct phx_conf *c, const config_setting_t *s, struct phx_image *im,
		    struct phx_err *err)
{
	struct phx_image_own own = {0};
	int r = phx_conf_group(c, s, &phx_image_own_record, &own, err);
	r = r ? r : check_own(c, s, im, &own, err);
	if (r < 0)
		return r;
	struct phx_image_own *k = phx_list_push(&im->kernels, sizeof(*k));
	if (!k)
		return -ENOMEM;
	*k = own;
	return 0;
}

/* The default is the one of kernel_release. */
static int read_kernels(const struct phx_conf *c, struct phx_image *im, struct phx_err *err)
{
	const config_setting_t *root = config_root_setting(&c->cfg);
	config_setting_t *list = config_setting_get_member(root, "kernels");
	if (!list)
		return 0;
	int r = phx_conf_list(c, root, "kernels", &list, err);
	if (r == 0 && config_setting_length(list) > KERNELS_MAX)
		r = phx_conf_fail(c, list, -EINVAL, err, "an image has at most %d kernels",
				  KERNELS_MAX);
	if (r == 0 && kinds[im->kind].boots)
		r = phx_conf_fail(c, list, -EINVAL, err,
				  "an image of kind %s has one kernel, and no such list",
				  names[im->kind]);
	for (int i = 0; r == 0 && i < config_setting_length(list); i++)
		r = read_own(c, config_setting_get_elem(list, (unsigned)i), im, err);
	if (r == 0 && im->kernels.n && !phx_image_own(im, NULL))
		r = phx_conf_fail(c, list, -EINVAL, err,
				  "kernel_release '%s', the default, is none of the kernels",
				  im->kernel_release);
	return r;
}

/* What each kind cannot do without; of a root file system at least one form. */
static int check_files(const struct phx_image *im, const char *what, struct phx_err *err)
{
	const char *file = kinds[im->kind].file, *other = kinds[im->kind].other;
	if (!phx_image_file(im, PHX_IMAGE_KERNEL)) {
		file = PHX_IMAGE_KERNEL;
		other = NULL;
	} else if (phx_image_file(im, file) || (other && phx_image_file(im, other))) {
		file = NULL;
	}
	if (file)
		return phx_err_set(err, -EINVAL, "%s: an image of kind %s needs the file %s%s%s",
				   what, names[im->kind], file, other ? " or " : "",
				   other ? other : "");
	const struct phx_image_file *disk = phx_image_file(im, PHX_IMAGE_ROOT_DISK);
	if (disk && !disk->raw_size)
		return phx_err_set(err, -EINVAL,
				   "%s: %s needs raw_size, its size when decompressed", what,
				   PHX_IMAGE_ROOT_DISK);
	return 0;
}

static int digest_text(const char *text, size_t n, char ret_hex[65])
{
	struct phx_sha256 *d;
	int r = phx_sha256_new(&d);
	if (r < 0)
		return r;
	r = phx_sha256_add(d, text, n);
	if (r == 0)
		phx_sha256_hex(d, ret_hex);
	phx_sha256_free(d);
	return r;
}

static void image_fini(struct phx_image *im)
{
	phx_record_fini(&phx_image_record, im);
}

/* What stands between quotes in a manifest: a text that ends them could stand for two images. */
static bool plain(const char *text)
{
	return !strpbrk(text, "\"\\\n");
}

/* The first member between quotes that is not plain; NULL: all are. */
static const char *not_plain(const struct phx_image *im)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{"kernel_release", im->kernel_release},
		{"architecture", im->architecture},
		{"source", im->source},
		{"parent", im->parent},
		{"os_id", im->os_id},
		{"os", im->os},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++)
		if (!plain(texts[i].text))
			return texts[i].key;
	return NULL;
}

static int check_texts(const struct phx_image *im, const char *what, struct phx_err *err)
{
	const char *bad = not_plain(im);
	if (bad)
		return phx_err_set(err, -EINVAL, "%s: %s may not hold quotes or backslashes", what,
				   bad);
	if (im->parent[0] && !phx_is_sha256(im->parent))
		return phx_err_set(err, -EINVAL,
				   "%s: parent must be 64 hexadecimal digits in lower case", what);
	return 0;
}

int phx_image_parse(const char *text, size_t n, const char *what, struct phx_image *ret,
		    struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	PHX_AUTO(image_fini) struct phx_image im = {0};
	int r = phx_conf_parse(text, n, what, &c, err);
	if (r == 0)
		r = phx_conf_group(&c, config_root_setting(&c.cfg), &phx_image_record, &im, err);
	if (r == 0)
		r = read_files(&c, &im, err);
	if (r == 0)
		r = read_kernels(&c, &im, err);
	if (r == 0)
		r = check_files(&im, what, err);
	if (r == 0)
		r = check_texts(&im, what, err);
	if (r == 0)
		r = digest_text(text, n, im.digest);
	if (r < 0)
		return r;
	*ret = im;
	memset(&im, 0, sizeof(im));
	return 0;
}

/* Only where it is known: what was signed before these keys were is as it was. */
static void put_origin(struct phx_buf *b, const struct phx_image *im)
{
	if (im->source[0])
		phx_buf_addf(b, "source = \"%s\";\n", im->source);
	if (im->parent[0])
		phx_buf_addf(b, "parent = \"%s\";\n", im->parent);
	if (im->os_id[0])
		phx_buf_addf(b, "os_id = \"%s\";\n", im->os_id);
	if (im->os[0])
		phx_buf_addf(b, "os = \"%s\";\n", im->os);
}

static void format_kernels(struct phx_buf *b, const struct phx_image *im)
{
	const char *sep = "";
	if (!im->kernels.n)
		return; /* as it was signed before there were any */
	phx_buf_addf(b, "kernels = (\n");
	PHX_LIST_EACH(struct phx_image_own, k, &im->kernels) {
		phx_buf_addf(b, "%s\t{ release = \"%s\"; kernel = \"%s\"; modules = \"%s\"; }", sep,
			     k->release, k->kernel, k->modules);
		sep = ",\n";
	}
	phx_buf_addf(b, "\n);\n");
}

char *phx_image_format(const struct phx_image *im)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "# sizes in bytes, digests of the files as they are\n");
	phx_buf_addf(&b, "name = \"%s\";\nversion = \"%s\";\nkind = \"%s\";\n", im->name,
		     im->version, phx_enum_name(&phx_image_kind_names, im->kind));
	phx_buf_addf(&b, "architecture = \"%s\";\nkernel_release = \"%s\";\n", im->architecture,
		     im->kernel_release);
	put_origin(&b, im);
	format_kernels(&b, im);
	phx_buf_addf(&b, "files = (\n");
	for (uint32_t i = 0; i < im->files.n; i++) {
		const struct phx_image_file *f = PHX_LIST_AT(&im->files, struct phx_image_file, i);
		phx_buf_addf(&b, "%s\t{ name = \"%s\"; size = %" PRIu64 "L; sha256 = \"%s\";",
			     i ? ",\n" : "", f->name, f->size, f->sha256);
		if (f->raw_size)
			phx_buf_addf(&b, " raw_size = %" PRIu64 "L;", f->raw_size);
		phx_buf_addf(&b, " }");
	}
	phx_buf_addf(&b, "\n);\n");
	return phx_buf_take(&b);
}

/* ---- signatures ---- */

/* What is signed names its kind, so that no other signature of the key fits; and it is made of what
 * is known of the image, as an agent gets that, and not the text of its manifest. */
static int signed_text(const struct phx_image *im, char *buf, size_t size)
{
	char hex[PHX_SHA256_HEX];
	/* an order's image was not read from a manifest */
	if (not_plain(im))
		return -EINVAL;
	PHX_LIST_EACH(struct phx_image_own, k, &im->kernels)
		if (!plain(k->release) || !plain(k->kernel) || !plain(k->modules))
			return -EINVAL;
	PHX_AUTO_FREE char *text = phx_image_format(im);
	int r = text ? digest_text(text, strlen(text), hex) : -ENOMEM;
	if (r == 0)
		snprintf(buf, size, "phoenix image %s sha256 %s\n", im->digest, hex);
	return r;
}

int phx_image_sign(const struct phx_image *im, const char *key_pem_path, char ret_hex[PHX_SIG_HEX],
		   struct phx_err *err)
{
	char text[256];
	int r = signed_text(im, text, sizeof(text));
	return r ? r : phx_ring_sign(key_pem_path, text, ret_hex, err);
}

int phx_image_verify(const struct phx_image *im, const char *hex, const char *ring,
		     char ret_name[PHX_NAME_MAX], struct phx_err *err)
{
	char text[256];
	struct phx_err why = {0};
	int r = signed_text(im, text, sizeof(text));
	r = r ? r : phx_ring_verify_text(ring, text, hex, ret_name, &why);
	if (r == -EKEYREJECTED)
		return phx_err_set(err, r,
				   "image %s %s was altered, or is not signed by a key of %s",
				   im->name, im->version, ring);
	return r < 0 ? phx_err_set(err, r, "image %s %s: %s", im->name, im->version, why.text) : 0;
}

bool phx_image_kernel_differs(const struct phx_image *im, const struct phx_image *deploy,
			      char *ret_why, size_t n_why)
{
	if (phx_image_boots(im) || phx_image_own(im, NULL) ||
	    !strcmp(im->kernel_release, deploy->kernel_release))
		return false;
	snprintf(ret_why, n_why,
		 "image %s %s brings kernel %s without an archive of its modules, so nodes run %s, "
		 "that of deploy image %s %s: of its modules they have only those "
		 "that the deploy image brings",
		 im->name, im->version, im->kernel_release, deploy->kernel_release, deploy->name,
		 deploy->version);
	return true;
}

int phx_image_conf_load(const char *path, struct phx_image_conf *ret, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	struct phx_image_conf ic = {0};
	int r = phx_conf_read(path, &c, err);
	if (r == 0)
		r = phx_conf_some(&c, config_root_setting(&c.cfg), &phx_image_conf_record, &ic,
				  err);
	if (r == 0)
		*ret = ic;
	return r;
}
