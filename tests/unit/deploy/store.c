/* The image store: taken in, found, verified, removed; images cut short or altered; a tar becomes
 * an image. Needs root for the import. */
#include "unit/deploy/help.h"

#include <dirent.h>
#include <sys/types.h>

#include "base/spawn.h"
#include "base/tree.h"
#include "deploy/store.h"
#include "pki/pki.h"

struct shop {
	struct place place;
	char dir[128], src[128];
};

static int make(void **state)
{
	struct shop *s = calloc(1, sizeof(*s));
	strcpy(s->place.dir, "/tmp/phx-test-XXXXXX");
	if (!mkdtemp(s->place.dir))
		return -1;
	snprintf(s->dir, sizeof(s->dir), "%s/images", s->place.dir);
	snprintf(s->src, sizeof(s->src), "%s/src", s->place.dir);
	*state = s;
	return 0;
}

static int unmake(void **state)
{
	struct shop *s = *state;
	phx_dir_remove(s->place.dir, NULL);
	free(s);
	return 0;
}

/* A small image of kind initramfs as its recipe leaves it. */
static void make_source(struct shop *s, const char *name, const char *version, const char *kernel)
{
	struct phx_image im = {
		.kind = PHX_IMAGE_INITRAMFS, .architecture = "amd64", .kernel_release = "6.1"};
	static const char *const files[] = {PHX_IMAGE_KERNEL, PHX_IMAGE_INITRD};
	char path[256];
	PHX_STR_SET(im.name, name);
	PHX_STR_SET(im.version, version);
	phx_dir_remove(s->src, NULL);
	place_write(&s->place, "src/vmlinuz", kernel);
	place_write(&s->place, "src/initrd.zst", "some initramfs");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		struct phx_image_file *f = phx_list_push(&im.files, sizeof(*f));
		PHX_STR_SET(f->name, files[i]);
		snprintf(path, sizeof(path), "%s/%s", s->src, files[i]);
		assert_int_equal(phx_sha256_file(path, f->sha256, &f->size, NULL), 0);
	}
	PHX_AUTO_FREE char *text = phx_image_format(&im);
	place_write(&s->place, "src/manifest.conf", text);
	phx_record_fini(&phx_image_record, &im);
}

static int add(struct shop *s, struct phx_err *err)
{
	struct phx_image im;
	int r = phx_images_add(s->dir, s->src, &im, err);
	if (r == 0)
		phx_record_fini(&phx_image_record, &im);
	return r;
}

static void put(struct shop *s, const char *name, const char *version, const char *kernel)
{
	struct phx_err err = {0};
	make_source(s, name, version, kernel);
	int r = add(s, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

/* Who signed deploy 1, by the keys of `ring`; "-" when it is refused. */
static const char *signer(struct shop *s, char *ring, bool wanted)
{
	static char name[PHX_NAME_MAX];
	const struct phx_image_trust trust = {ring, wanted};
	struct phx_image im;
	assert_int_equal(phx_images_find(s->dir, "deploy", "1", &im, NULL), 0);
	int r = phx_images_signed_by(s->dir, &im, &trust, name, NULL, NULL);
	phx_record_fini(&phx_image_record, &im);
	assert_true(r == 0 || r == -EKEYREJECTED);
	return r == 0 ? name : "-";
}

static void test_a_signed_image(void **state)
{
	struct shop *s = *state;
	char key[160], other[160];
	PHX_AUTO_FREE char *pub = NULL, *other_pub = NULL;
	snprintf(key, sizeof(key), "%s/a.key", s->place.dir);
	snprintf(other, sizeof(other), "%s/b.key", s->place.dir);
	assert_int_equal(phx_sign_key_new(key, &pub, NULL), 0);
	assert_int_equal(phx_sign_key_new(other, &other_pub, NULL), 0);
	put(s, "deploy", "1", "a kernel");
	assert_string_equal(signer(s, pub, false), "");
	assert_string_equal(signer(s, pub, true), "-");
	/* the same image again brings its signature */
	assert_int_equal(phx_image_dir_sign(s->src, key, NULL, NULL), 0);
	assert_int_equal(add(s, NULL), 0);
	assert_string_equal(signer(s, pub, true), "1");
	assert_string_equal(signer(s, other_pub, true), "-");
	assert_string_equal(signer(s, other_pub, false), "-"); /* wrong is never right */
	assert_string_equal(signer(s, NULL, true), "");        /* nobody looked */
	/* signed by somebody else */
	assert_int_equal(phx_image_dir_sign(s->src, other, NULL, NULL), 0);
	assert_int_equal(add(s, NULL), 0);
	assert_string_equal(signer(s, pub, true), "-");
	place_write(&s->place, "images/deploy/1/manifest.sig", "");
	assert_string_equal(signer(s, pub, false), "-");
	/* what is altered is not signed */
	place_write(&s->place, "src/vmlinuz", "b kernel");
	assert_int_equal(phx_image_dir_sign(s->src, key, NULL, NULL), -EBADMSG);
}

static char *stored(struct shop *s, const char *rest, char path[256])
{
	snprintf(path, 256, "%s/%s", s->dir, rest);
	return path;
}

/* Nothing but what has a proper name is left in the store. */
static void assert_no_leftovers(const char *dir)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] == '.' && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			fail_msg("%s/%s is left", dir, e->d_name);
	if (d)
		closedir(d);
}

static void test_add_find_list_remove(void **state)
{
	struct shop *s = *state;
	struct phx_image im;
	struct phx_list list, bad;
	struct phx_err err = {0};
	assert_int_equal(phx_images_list(s->dir, &list, &bad, NULL), 0);
	assert_int_equal(list.n, 0);
	put(s, "deploy", "9", "k9");
	put(s, "deploy", "10", "k10");
	put(s, "alpha", "1.2", "a");
	assert_int_equal(phx_images_list(s->dir, &list, &bad, NULL), 0);
	assert_int_equal(list.n, 3);
	assert_int_equal(bad.n, 0);
	assert_string_equal(PHX_LIST_AT(&list, struct phx_image, 0)->name, "alpha");
	assert_string_equal(PHX_LIST_AT(&list, struct phx_image, 2)->version, "10");
	phx_images_fini(&list);
	assert_int_equal(phx_images_find(s->dir, "deploy", NULL, &im, NULL), 0);
	assert_string_equal(im.version, "10");
	phx_record_fini(&phx_image_record, &im);
	assert_int_equal(phx_images_verify(s->dir, "deploy", "9", &err), 0);
	assert_int_equal(phx_images_remove(s->dir, "deploy", "10", &err), 0);
	assert_int_equal(phx_images_find(s->dir, "deploy", NULL, &im, NULL), 0);
	assert_string_equal(im.version, "9");
	phx_record_fini(&phx_image_record, &im);
	assert_int_equal(phx_images_remove(s->dir, "deploy", "9", &err), 0);
	assert_int_equal(phx_images_find(s->dir, "deploy", NULL, &im, &err), -ENOENT);
	assert_contains(err.text, "there is no image 'deploy'");
	assert_no_leftovers(s->dir);
}

static void test_the_same_again_and_another(void **state)
{
	struct shop *s = *state;
	struct phx_err err = {0};
	put(s, "deploy", "1", "kernel");
	put(s, "deploy", "1", "kernel");
	make_source(s, "deploy", "1", "another kernel");
	assert_int_equal(add(s, &err), -EEXIST);
	assert_contains(err.text, "give the new one another version");
	phx_err_clear(&err);
	assert_int_equal(phx_images_verify(s->dir, "deploy", "1", &err), 0);
	assert_no_leftovers(s->dir);
}

static void test_files_for_http(void **state)
{
	struct shop *s = *state;
	struct phx_err err = {0};
	char digest[65], want[65], path[256];
	char *file = NULL;
	put(s, "deploy", "1", "kernel");
	assert_int_equal(phx_images_file(s->dir, "deploy", "1", "vmlinuz", &file, digest, NULL), 0);
	assert_string_equal(file, stored(s, "deploy/1/vmlinuz", path));
	phx_sha256_file(file, want, NULL, NULL);
	assert_string_equal(digest, want);
	free(PHX_TAKE(file));
	assert_int_equal(
		phx_images_file(s->dir, "deploy", "1", "manifest.conf", &file, digest, NULL), 0);
	phx_sha256_file(file, want, NULL, NULL);
	assert_string_equal(digest, want);
	free(PHX_TAKE(file));
	static const char *const none[][3] = {{"deploy", "1", "../1/vmlinuz"},
					      {"deploy", "1", ""},
					      {"deploy", "1", "shadow"},
					      {"deploy", "2", "vmlinuz"},
					      {"nothing", "1", "vmlinuz"}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(none); i++)
		assert_int_equal(phx_images_file(s->dir, none[i][0], none[i][1], none[i][2], &file,
						 digest, NULL),
				 -ENOENT);
	assert_int_equal(phx_images_file(s->dir, "..", "1", "vmlinuz", &file, digest, &err),
			 -EINVAL);
	assert_int_equal(
		phx_images_file(s->dir, "deploy", "../deploy/1", "vmlinuz", &file, digest, NULL),
		-EINVAL);
	assert_null(file);
}

static void test_cut_short_is_refused(void **state)
{
	struct shop *s = *state;
	struct phx_err err = {0};
	char path[256];
	make_source(s, "deploy", "1", "a kernel of some length");
	snprintf(path, sizeof(path), "%s/vmlinuz", s->src);
	assert_int_equal(truncate(path, 5), 0);
	assert_int_equal(add(s, &err), -EBADMSG);
	assert_contains(err.text, "vmlinuz has 5 bytes; the manifest says 23");
	assert_int_equal(access(stored(s, "deploy/1", path), F_OK), -1);
	/* in the store, afterwards */
	put(s, "deploy", "1", "a kernel of some length");
	assert_int_equal(truncate(stored(s, "deploy/1/initrd.zst", path), 3), 0);
	struct phx_image im;
	struct phx_list list, bad;
	phx_err_clear(&err);
	assert_int_equal(phx_images_find(s->dir, "deploy", "1", &im, &err), -EBADMSG);
	assert_contains(err.text, "initrd.zst has 3 bytes");
	assert_int_equal(phx_images_list(s->dir, &list, &bad, NULL), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(bad.n, 1);
	assert_contains(PHX_LIST_AT(&bad, struct phx_image_bad, 0)->reason, "cut short or altered");
	phx_list_fini(&bad);
	assert_no_leftovers(s->dir);
}

static void test_altered_is_refused(void **state)
{
	struct shop *s = *state;
	struct phx_err err = {0};
	char path[256];
	make_source(s, "deploy", "1", "kernel");
	place_write(&s->place, "src/vmlinuz", "kernal");
	assert_int_equal(add(s, &err), -EBADMSG);
	assert_contains(err.text, "altered");
	put(s, "deploy", "1", "kernel");
	assert_int_equal(
		phx_file_write(stored(s, "deploy/1/vmlinuz", path), "kernal", 6, 0644, NULL), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_images_verify(s->dir, "deploy", NULL, &err), -EBADMSG);
	assert_contains(err.text, "deploy/1/vmlinuz: its digest is");
}

static void test_no_valid_manifest_no_image(void **state)
{
	struct shop *s = *state;
	struct phx_image im;
	struct phx_err err = {0};
	struct phx_list list, bad;
	char path[256];
	put(s, "deploy", "1", "kernel");
	put(s, "deploy", "2", "kernel");
	put(s, "deploy", "3", "kernel");
	assert_int_equal(unlink(stored(s, "deploy/1/manifest.conf", path)), 0);
	assert_int_equal(truncate(stored(s, "deploy/2/manifest.conf", path), 60), 0);
	/* a directory under another's name */
	put(s, "other", "1", "kernel");
	char to[256];
	assert_int_equal(rename(stored(s, "other/1", path), stored(s, "deploy/4", to)), 0);
	assert_int_equal(phx_images_find(s->dir, "deploy", "1", &im, &err), -EBADMSG);
	phx_err_clear(&err);
	assert_int_equal(phx_images_find(s->dir, "deploy", "2", &im, &err), -EINVAL);
	assert_contains(err.text, "manifest.conf");
	phx_err_clear(&err);
	assert_int_equal(phx_images_find(s->dir, "deploy", "4", &im, &err), -EBADMSG);
	assert_contains(err.text, "is that of image 'other'");
	assert_int_equal(phx_images_list(s->dir, &list, &bad, NULL), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(bad.n, 3);
	phx_images_fini(&list);
	phx_list_fini(&bad);
	/* links lead nowhere */
	assert_int_equal(unlink(stored(s, "deploy/3/vmlinuz", path)), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(phx_images_find(s->dir, "deploy", "3", &im, NULL), -EBADMSG);
}

/* What killed acts left goes with the next act; what others are at stays. */
static void test_leftovers_are_swept(void **state)
{
	struct shop *s = *state;
	char path[256], mine[64];
	snprintf(mine, sizeof(mine), "images/.import.%d/root/x", (int)getpid());
	place_write(&s->place, "images/.import.99999999/root/x", "x");
	place_write(&s->place, "images/.add.99999999/vmlinuz", "x");
	place_write(&s->place, "images/.gone.99999999/vmlinuz", "x");
	place_write(&s->place, "images/.notes", "x");
	place_write(&s->place, mine, "x");
	put(s, "deploy", "1", "kernel");
	assert_int_equal(access(stored(s, ".import.99999999", path), F_OK), -1);
	assert_int_equal(access(stored(s, ".add.99999999", path), F_OK), -1);
	assert_int_equal(access(stored(s, ".gone.99999999", path), F_OK), -1);
	assert_int_equal(access(stored(s, ".notes", path), F_OK), 0);
	assert_int_equal(access(place_path(&s->place, mine, path), F_OK), 0);
}

static void test_what_cannot_be_removed(void **state)
{
	struct shop *s = *state;
	struct phx_err err = {0};
	assert_int_equal(phx_images_remove(s->dir, "deploy", "1", &err), -ENOENT);
	phx_err_clear(&err);
	assert_int_equal(phx_images_remove(s->dir, "..", "src", &err), -EINVAL);
	assert_contains(err.text, "is no name of an image");
}

/* ---- import ---- */

static void run(const char *const *argv)
{
	const struct phx_run job = {.argv = argv};
	struct phx_err err = {0};
	int r = phx_run_check(&job, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

static char *make_tar(struct shop *s, const char *kernel, const char *init, char tar[256])
{
	char root[256], path[256];
	place_path(&s->place, "tree", root);
	phx_dir_remove(root, NULL);
	place_write(&s->place, "tree/etc/hostname", "imported\n");
	place_write(&s->place, "tree/usr/lib/systemd/systemd", "not really\n");
	snprintf(path, sizeof(path), "tree/boot/%s", kernel);
	place_write(&s->place, path, "kernel bytes");
	phx_dir_make(place_path(&s->place, "tree/sbin", path), 0755, NULL);
	if (init)
		assert_int_equal(symlink(init, place_path(&s->place, "tree/sbin/init", path)), 0);
	assert_int_equal(chown(place_path(&s->place, "tree/etc/hostname", path), 1234, 1234), 0);
	place_path(&s->place, "root.tar", tar);
	run((const char *const[]){"tar", "--sort=name", "-C", root, "-cf", tar, ".", NULL});
	return tar;
}

/* A kernel into which all is built that the list names. */
static void add_builtin(struct shop *s, const char *release)
{
	PHX_AUTO_FREE char *list = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char path[256];
	assert_int_equal(phx_file_read("images/deploy/modules", 65536, &list, NULL, NULL), 0);
	for (char *save, *line = strtok_r(list, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		for (char *rest, *word = strtok_r(line, " ", &rest); word && *word != '#';
		     word = strtok_r(NULL, " ", &rest))
			phx_buf_addf(&b, "kernel/%s.ko\n", word[0] == '?' ? word + 1 : word);
	snprintf(path, sizeof(path), "tree/usr/lib/modules/%s/modules.builtin", release);
	place_write(&s->place, path, b.data);
}

static int import(struct shop *s, const char *tar, const char *version, struct phx_image *im,
		  struct phx_err *err)
{
	struct phx_image_import q = {.source = tar,
				     .name = "imported",
				     .version = version,
				     .zstd_level = 1,
				     .tools = "images"};
	return phx_images_import(s->dir, &q, im, err);
}

static void test_import_of_a_tar(void **state)
{
	struct shop *s = *state;
	struct phx_image im;
	struct phx_err err = {0};
	char tar[256], zst[256], raw[256];
	make_tar(s, "vmlinuz-6.1.0-test", "/lib/systemd/systemd", tar);
	place_write(&s->place, "tree/lib", "");
	char path[256];
	unlink(place_path(&s->place, "tree/lib", path));
	assert_int_equal(symlink("usr/lib", path), 0);
	add_builtin(s, "6.1.0-test");
	/* Fedora and openSUSE have the kernel beside its modules */
	add_builtin(s, "6.1.0-9.older");
	add_builtin(s, "6.1.0-10.newer");
	place_write(&s->place, "tree/usr/lib/modules/6.1.0-9.older/vmlinuz", "older");
	place_write(&s->place, "tree/usr/lib/modules/6.1.0-10.newer/vmlinuz", "newer");
	run((const char *const[]){"tar", "-C", place_path(&s->place, "tree", path), "-cf", tar, ".",
				  NULL});
	int r = import(s, tar, "1", &im, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(im.kernel_release, "6.1.0-test");
	assert_int_equal(im.kernels.n, 3);
	assert_int_equal(im.files.n, 8);
	assert_string_equal(phx_image_own(&im, NULL)->kernel, "vmlinuz");
	assert_string_equal(phx_image_own(&im, "6.1.0-10.newer")->modules,
			    "modules-6.1.0-10.newer.zst");
	assert_int_equal(phx_image_file(&im, "modules.zst")->size % 512, 0);
	assert_int_equal(phx_images_verify(s->dir, "imported", "1", NULL), 0);
	/* the file system holds what the tar held, with its owners */
	stored(s, "imported/1/root.ext4.zst", zst);
	place_path(&s->place, "root.ext4", raw);
	run((const char *const[]){"zstd", "-q", "-d", zst, "-o", raw, NULL});
	struct stat st;
	assert_int_equal(stat(raw, &st), 0);
	assert_int_equal(st.st_size, phx_image_file(&im, PHX_IMAGE_ROOT_DISK)->raw_size);
	run((const char *const[]){"e2fsck", "-f", "-n", raw, NULL});
	const char *const cat[] = {"debugfs", "-R", "stat /etc/hostname", raw, NULL};
	const struct phx_run job = {.argv = cat};
	struct phx_run_result res;
	assert_int_equal(phx_run_check(&job, &res, NULL), 0);
	assert_contains(res.out, "User:  1234");
	phx_run_result_fini(&res);
	/* the place for the modules of the kernel that runs */
	const struct phx_run modules = {
		.argv = (const char *const[]){"debugfs", "-R", "stat /usr/lib/modules", raw, NULL}};
	assert_int_equal(phx_run_check(&modules, &res, NULL), 0);
	assert_contains(res.out, "Type: directory");
	phx_run_result_fini(&res);
	/* as the agent expects it: a node need not write the label first */
	const struct phx_run head = {.argv = (const char *const[]){"dumpe2fs", "-h", raw, NULL}};
	assert_int_equal(phx_run_check(&head, &res, NULL), 0);
	assert_contains(res.out, "volume name:   phx-root\n");
	phx_run_result_fini(&res);
	/* a second one of the same name */
	assert_int_equal(import(s, tar, "1", &im, &err), -EEXIST);
	phx_record_fini(&phx_image_record, &im);
	assert_no_leftovers(s->dir);
}

static void test_import_of_what_is_no_system(void **state)
{
	struct shop *s = *state;
	struct phx_image im;
	char tar[256], path[256];
	struct phx_err err = {0};
	make_tar(s, "vmlinuz-6.1", NULL, tar);
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "no /sbin/init");
	/* a link that leaves the tree is followed inside it */
	phx_err_clear(&err);
	make_tar(s, "vmlinuz-6.1", "/../../../../../../../../bin/sh", tar);
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "no /sbin/init");
	/* another init than systemd: nobody would start the agent */
	phx_err_clear(&err);
	make_tar(s, "vmlinuz-6.1", "/etc/hostname", tar);
	assert_int_equal(unlink(place_path(&s->place, "tree/usr/lib/systemd/systemd", path)), 0);
	run((const char *const[]){"tar", "-C", place_path(&s->place, "tree", path), "-cf", tar, ".",
				  NULL});
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "no systemd in it");
	phx_err_clear(&err);
	make_tar(s, "initrd.img", "/usr/lib/systemd/systemd", tar);
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "0 kernels in it (/boot/vmlinuz-RELEASE");
	phx_err_clear(&err);
	/* a kernel without its modules would start, and find no disk */
	make_tar(s, "vmlinuz-6.9.1", "/usr/lib/systemd/systemd", tar);
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "kernel 6.9.1 is without its modules (/lib/modules/6.9.1)");
	/* and so would one that lacks what the list names */
	phx_err_clear(&err);
	place_write(&s->place, "tree/lib/modules/6.9.1/modules.builtin",
		    "kernel/fs/ext4/ext4.ko\n");
	run((const char *const[]){"tar", "-C", place_path(&s->place, "tree", path), "-cf", tar, ".",
				  NULL});
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "kernel 6.9.1 has no module ");
	assert_contains(err.text, " overlay");
	assert_no_leftovers(s->dir);
}

static void test_import_of_a_broken_tar(void **state)
{
	struct shop *s = *state;
	struct phx_image im;
	char tar[256];
	struct phx_err err = {0};
	struct stat st;
	make_tar(s, "vmlinuz-6.1", "/usr/lib/systemd/systemd", tar);
	assert_int_equal(stat(tar, &st), 0);
	/* within the bytes of etc/hostname */
	assert_int_equal(truncate(tar, st.st_size / 3 / 512 * 512 + 100), 0);
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	assert_contains(err.text, "root.tar: no whole tar: ");
	phx_err_clear(&err);
	place_write(&s->place, "root.tar",
		    "this is no archive at all, and long enough to be looked at");
	assert_int_equal(import(s, tar, "1", &im, &err), -EINVAL);
	phx_err_clear(&err);
	assert_int_equal(import(s, "/nonexistent.tar", "1", &im, &err), -ENOENT);
	assert_contains(err.text, "/nonexistent.tar: No such file");
	phx_err_clear(&err);
	assert_int_equal(import(s, tar, "a b", &im, &err), -EINVAL);
	assert_contains(err.text, "is no name of an image");
	assert_no_leftovers(s->dir);
}

static void test_import_that_does_not_fit(void **state)
{
	struct shop *s = *state;
	struct phx_image im;
	char tar[256];
	struct phx_err err = {0};
	char path[256];
	make_tar(s, "vmlinuz-6.1", "/usr/lib/systemd/systemd", tar);
	assert_int_equal(symlink("usr/lib", place_path(&s->place, "tree/lib", path)), 0);
	add_builtin(s, "6.1");
	run((const char *const[]){"tar", "-C", place_path(&s->place, "tree", path), "-cf", tar, ".",
				  NULL});
	struct phx_image_import q = {.source = tar,
				     .name = "imported",
				     .version = "1",
				     .disk_bytes = 64 << 10,
				     .tools = "images"};
	assert_int_equal(phx_images_import(s->dir, &q, &im, &err), -EIO);
	assert_contains(err.text, "mkfs.ext4");
	q.disk_bytes = 0;
	q.zstd_level = 99;
	phx_err_clear(&err);
	assert_int_equal(phx_images_import(s->dir, &q, &im, &err), -EINVAL);
	assert_contains(err.text, "compression level 99");
	q.zstd_level = 1;
	q.no_squashfs = true;
	assert_int_equal(phx_images_import(s->dir, &q, &im, &err), 0);
	assert_int_equal(im.files.n, 3);
	phx_record_fini(&phx_image_record, &im);
	assert_no_leftovers(s->dir);
}

#define RUN_SHOP(test) cmocka_unit_test_setup_teardown(test, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_SHOP(test_a_signed_image),         RUN_SHOP(test_the_same_again_and_another),
		RUN_SHOP(test_add_find_list_remove),   RUN_SHOP(test_the_same_again_and_another),
		RUN_SHOP(test_files_for_http),         RUN_SHOP(test_cut_short_is_refused),
		RUN_SHOP(test_altered_is_refused),     RUN_SHOP(test_no_valid_manifest_no_image),
		RUN_SHOP(test_leftovers_are_swept),    RUN_SHOP(test_what_cannot_be_removed),
		RUN_SHOP(test_import_of_a_tar),        RUN_SHOP(test_import_of_what_is_no_system),
		RUN_SHOP(test_import_of_a_broken_tar), RUN_SHOP(test_import_that_does_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
