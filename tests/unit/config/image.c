/* image.conf and manifest.conf: reading, writing, and what is refused. */
#include "base/tree.h"
#include "unit/config/help.h"

#include "config/image.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEAD \
	"name = \"deb\";\nversion = \"1\";\nkind = \"rootfs\";\narchitecture = " \
	"\"amd64\";\nkernel_release = " \
	"\"6.1\";\n"
#define KERNEL "{ name = \"vmlinuz\"; size = 7L; sha256 = \"" A64 "\"; }"
#define ROOT \
	"{ name = \"root.ext4.zst\"; size = 5000000000L; sha256 = \"" A64 \
	"\"; raw_size = 9000000000L; }"

static int parse(const char *text, struct phx_image *im, struct phx_err *err)
{
	return phx_image_parse(text, strlen(text), "m.conf", im, err);
}

static void test_a_manifest(void **state)
{
	(void)state;
	struct phx_image im;
	struct phx_err err = {0};
	int r = parse(HEAD "files = ( " KERNEL ",\n" ROOT " );\n", &im, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(im.name, "deb");
	assert_int_equal(im.kind, PHX_IMAGE_ROOTFS);
	assert_int_equal(im.files.n, 2);
	const struct phx_image_file *f = phx_image_file(&im, "root.ext4.zst");
	assert_true(f->size == 5000000000ULL);
	assert_true(f->raw_size == 9000000000ULL);
	assert_null(phx_image_file(&im, "root.squashfs"));
	assert_int_equal(strlen(im.digest), 64);
	phx_record_fini(&phx_image_record, &im);
}

static void test_the_digest_is_of_the_text(void **state)
{
	(void)state;
	struct phx_image a, b;
	assert_int_equal(parse(HEAD "files = ( " KERNEL ",\n" ROOT " );\n", &a, NULL), 0);
	assert_int_equal(parse(HEAD "files = ( " KERNEL ",\n" ROOT " ); \n", &b, NULL), 0);
	assert_string_not_equal(a.digest, b.digest);
	phx_record_fini(&phx_image_record, &a);
	phx_record_fini(&phx_image_record, &b);
}

/* Each of these changes makes another image of it. */
static void test_what_is_signed(void **state)
{
	(void)state;
	char dir[] = "/tmp/phx-test-image-XXXXXX", key[64], hex[PHX_SIG_HEX], name[PHX_NAME_MAX];
	PHX_AUTO_FREE char *pub = NULL, *other_pub = NULL;
	struct phx_image im;
	struct phx_err err = {0};
	assert_non_null(mkdtemp(dir));
	snprintf(key, sizeof(key), "%s/a.key", dir);
	assert_int_equal(phx_sign_key_new(key, &pub, NULL), 0);
	assert_int_equal(parse(HEAD "files = ( " KERNEL ",\n" ROOT " );\n", &im, NULL), 0);
	assert_int_equal(phx_image_sign(&im, key, hex, NULL), 0);
	assert_int_equal(phx_image_verify(&im, hex, pub, name, NULL), 0);
	assert_string_equal(name, "1");
	struct phx_image_file *f = PHX_LIST_AT(&im.files, struct phx_image_file, 1);
	char *const bytes[] = {&f->sha256[0], &im.digest[63], &im.version[0], &im.name[0]};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bytes); i++) {
		*bytes[i] ^= 1;
		assert_int_equal(phx_image_verify(&im, hex, pub, NULL, NULL), -EKEYREJECTED);
		*bytes[i] ^= 1;
	}
	f->raw_size++;
	assert_int_equal(phx_image_verify(&im, hex, pub, NULL, &err), -EKEYREJECTED);
	assert_contains(err.text, "image deb 1 was altered, or is not signed by a key of");
	f->raw_size--;
	PHX_STR_SET(im.kernel_release, "6.1\"; files = ( );");
	assert_int_equal(phx_image_verify(&im, hex, pub, NULL, NULL), -EINVAL);
	PHX_STR_SET(im.kernel_release, "6.1");
	snprintf(key, sizeof(key), "%s/b.key", dir);
	assert_int_equal(phx_sign_key_new(key, &other_pub, NULL), 0);
	assert_int_equal(phx_image_verify(&im, hex, other_pub, NULL, NULL), -EKEYREJECTED);
	assert_int_equal(phx_image_verify(&im, "", pub, NULL, NULL), -EKEYREJECTED);
	assert_int_equal(phx_image_verify(&im, "zz", pub, NULL, NULL), -EKEYREJECTED);
	assert_int_equal(phx_image_verify(&im, hex, pub, NULL, NULL), 0);
	phx_record_fini(&phx_image_record, &im);
	phx_dir_remove(dir, NULL);
}

static void test_which_kernel_runs(void **state)
{
	(void)state;
	struct phx_image im = {
		.name = "deb", .version = "1", .kind = PHX_IMAGE_ROOTFS, .kernel_release = "6.12"};
	struct phx_image deploy = {.name = "deploy",
				   .version = "3",
				   .kind = PHX_IMAGE_INITRAMFS,
				   .kernel_release = "6.1"};
	char why[PHX_ERR_TEXT_MAX] = "";
	assert_true(phx_image_kernel_differs(&im, &deploy, why, sizeof(why)));
	assert_contains(
		why,
		"image deb 1 brings kernel 6.12 without an archive of its modules, so nodes run "
		"6.1, that of deploy image deploy 3");
	/* the deploy image runs its own, whatever it is compared with */
	assert_false(phx_image_kernel_differs(&deploy, &im, why, sizeof(why)));
	PHX_STR_SET(im.kernel_release, "6.1");
	assert_false(phx_image_kernel_differs(&im, &deploy, why, sizeof(why)));
}

#define ORIGIN \
	"source = \"oci:x@sha256:" A64 "\";\nparent = \"" A64 \
	"\";\nos_id = \"debian\";\nos = \"Debian 12\";\n"

/* What was signed before the manifest had them is as it was. */
static void test_an_origin_is_written_where_it_is_known(void **state)
{
	(void)state;
	struct phx_image im;
	assert_int_equal(parse(HEAD "files = ( " KERNEL ",\n" ROOT " );\n", &im, NULL), 0);
	PHX_AUTO_FREE char *without = phx_image_format(&im);
	static const char *const keys[] = {"source", "parent", "os"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		assert_null(strstr(without, keys[i]));
	phx_record_fini(&phx_image_record, &im);
}

static void test_written_and_read_again(void **state)
{
	(void)state;
	struct phx_image a, b;
	assert_int_equal(parse(HEAD ORIGIN "files = ( " KERNEL ",\n" ROOT " );\n", &a, NULL), 0);
	assert_string_equal(a.os, "Debian 12");
	assert_string_equal(a.parent, A64);
	PHX_AUTO_FREE char *text = phx_image_format(&a);
	assert_non_null(text);
	assert_int_equal(parse(text, &b, NULL), 0);
	PHX_STR_SET(a.digest, b.digest);
	assert_true(phx_record_equal(&phx_image_record, &a, &b));
	phx_record_fini(&phx_image_record, &a);
	phx_record_fini(&phx_image_record, &b);
}

#define OTHER "{ name = \"vmlinuz-6.1-rt\"; size = 9L; sha256 = \"" A64 "\"; }"
#define MODULES "{ name = \"modules.zst\"; size = 9L; sha256 = \"" A64 "\"; }"
#define MODULES_RT "{ name = \"modules-6.1-rt.zst\"; size = 9L; sha256 = \"" A64 "\"; }"
#define OWN(release, kernel, modules) \
	"{ release = \"" release "\"; kernel = \"" kernel "\"; modules = \"" modules "\"; }"
#define OWN_FILES "files = ( " KERNEL ", " OTHER ", " MODULES ", " MODULES_RT ", " ROOT " );\n"
#define OWN_6_1 OWN("6.1", "vmlinuz", "modules.zst")
#define OWN_RT OWN("6.1-rt", "vmlinuz-6.1-rt", "modules-6.1-rt.zst")

static void test_kernels_of_its_own(void **state)
{
	(void)state;
	struct phx_image a, b;
	struct phx_image deploy = {.kind = PHX_IMAGE_INITRAMFS, .kernel_release = "5.10"};
	char why[PHX_ERR_TEXT_MAX];
	assert_int_equal(parse(HEAD "kernels = ( " OWN_RT ", " OWN_6_1 " );\n" OWN_FILES, &a, NULL),
			 0);
	assert_string_equal(phx_image_own(&a, NULL)->modules, "modules.zst");
	assert_string_equal(phx_image_own(&a, "6.1-rt")->kernel, "vmlinuz-6.1-rt");
	assert_null(phx_image_own(&a, "6.2"));
	/* firmware fetches their files, and no other */
	assert_true(phx_image_is_own(&a, "vmlinuz-6.1-rt") && phx_image_is_own(&a, "modules.zst"));
	assert_false(phx_image_is_own(&a, "root.ext4.zst"));
	/* its nodes run it: there is nothing to warn of */
	assert_false(phx_image_kernel_differs(&a, &deploy, why, sizeof(why)));
	PHX_AUTO_FREE char *text = phx_image_format(&a);
	assert_int_equal(parse(text, &b, NULL), 0);
	PHX_STR_SET(a.digest, b.digest);
	assert_true(phx_record_equal(&phx_image_record, &a, &b));
	phx_record_fini(&phx_image_record, &a);
	phx_record_fini(&phx_image_record, &b);
	/* an image of before has none, and its vmlinuz is open to nobody */
	assert_int_equal(parse(HEAD "files = ( " KERNEL ",\n" ROOT " );\n", &a, NULL), 0);
	assert_null(phx_image_own(&a, NULL));
	assert_false(phx_image_is_own(&a, "vmlinuz"));
	phx_record_fini(&phx_image_record, &a);
}

static const struct bad {
	const char *text, *place, *says;
} bads[] = {
	{HEAD, "m.conf", "files is missing"},
	{HEAD "files = ( );\n", "m.conf", "needs the file vmlinuz"},
	{HEAD "files = ( " KERNEL " );\n", "m.conf",
	 "needs the file root.ext4.zst or root.squashfs"},
	{HEAD "files = ( " KERNEL ", " KERNEL " );\n", "m.conf:6", "'vmlinuz' is listed twice"},
	{HEAD "files = ( " KERNEL ", { name = \"../x\"; size = 1L; sha256 = \"" A64 "\"; } );\n",
	 "m.conf:6", "is no name"},
	{HEAD "files = ( " KERNEL ", { name = \"manifest.conf\"; size = 1L; sha256 = \"" A64
	      "\"; } );\n",
	 "m.conf:6", "twice"},
	{HEAD "files = ( { name = \"vmlinuz\"; size = 0L; sha256 = \"" A64 "\"; } );\n", "m.conf:6",
	 "no empty files"},
	{HEAD "files = ( { name = \"vmlinuz\"; size = -1L; sha256 = \"" A64 "\"; } );\n",
	 "m.conf:6", "size is -1"},
	{HEAD "files = ( { name = \"vmlinuz\"; size = 5000000000; sha256 = \"" A64 "\"; } );\n",
	 "m.conf:6", "needs an L"},
	{HEAD "files = ( { name = \"vmlinuz\"; size = 1L; sha256 = \"abc\"; } );\n", "m.conf:6",
	 "64 hexadecimal digits"},
	{HEAD "files = ( { name = \"vmlinuz\"; size = 1L; } );\n", "m.conf:6", "sha256 is missing"},
	{HEAD "files = ( { name = \"vmlinuz\"; size = 1L; md5 = \"x\"; } );\n", "m.conf:6",
	 "unknown key 'md5'"},
	{HEAD "files = ( " KERNEL ", { name = \"root.ext4.zst\"; size = 1L; sha256 = \"" A64
	      "\"; } );\n",
	 "m.conf", "needs raw_size"},
	{HEAD "secret = 1;\nfiles = ( );\n", "m.conf:6", "unknown key 'secret'"},
	{"name = \"deb\";\nversion = \"1/2\";\n", "m.conf:2", "is no name"},
	{"name = \"deb\";\nversion = \"1\";\nkind = \"vm\";\n", "m.conf:3", "initramfs, rootfs"},
	{"name = \"deb\"; version = \"1\"; kind = \"initramfs\"; architecture = \"amd64\"; "
	 "kernel_release = "
	 "\"6\";\nfiles = ( " KERNEL " );\n",
	 "m.conf", "needs the file initrd.zst"},
	{"name = \"deb\"; version = \"1\"; kind = \"rootfs\"; architecture = \"amd64\"; "
	 "kernel_release = \"6\\\\1\";\nfiles = ( " KERNEL ", " ROOT " );\n",
	 "m.conf", "kernel_release may not hold quotes"},
	{HEAD "source = \"a\\\\b\";\nfiles = ( " KERNEL ", " ROOT " );\n", "m.conf",
	 "source may not hold quotes"},
	{HEAD "os = \"a\\\"b\";\nfiles = ( " KERNEL ", " ROOT " );\n", "m.conf",
	 "os may not hold quotes"},
	{HEAD "parent = \"1\";\nfiles = ( " KERNEL ", " ROOT " );\n", "m.conf",
	 "parent must be 64 hexadecimal digits"},
	{HEAD "kernels = ( " OWN_RT " );\n" OWN_FILES, "m.conf:6",
	 "kernel_release '6.1', the default, is none of the kernels"},
	{HEAD "kernels = ( " OWN_6_1 ", " OWN_6_1 " );\n" OWN_FILES, "m.conf:6", "listed twice"},
	{HEAD "kernels = ( " OWN_6_1
	      ", " OWN("6.2", "vmlinuz", "modules-6.1-rt.zst") " );\n" OWN_FILES,
	 "m.conf:6", "its files are those of another kernel"},
	{HEAD "kernels = ( " OWN("6.1", "vmlinuz", "modules-6.1.zst") " );\n" OWN_FILES, "m.conf:6",
	 "'modules-6.1.zst' is none of the files"},
	{HEAD "kernels = ( " OWN("../6.1", "vmlinuz", "modules.zst") " );\n" OWN_FILES, "m.conf:6",
	 "release '../6.1': letters"},
	{HEAD "kernels = ( " OWN("6.1 init=/x", "vmlinuz", "modules.zst") " );\n" OWN_FILES,
	 "m.conf:6", "release '6.1 init=/x': letters"},
	{HEAD "kernels = ( { release = \"6.1\"; } );\n" OWN_FILES, "m.conf:6", "kernel is missing"},
	{"name = \"deb\"; version = \"1\"; kind = \"initramfs\"; architecture = \"amd64\"; "
	 "kernel_release = \"6.1\";\nkernels = ( " OWN_6_1 " );\nfiles = ( " KERNEL ", " MODULES
	 " );\n",
	 "m.conf:2", "has one kernel, and no such list"},
};

static void test_bad_manifests_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bads); i++) {
		struct phx_image im;
		struct phx_err err = {0};
		memset(&im, 0x5a, sizeof(im));
		int r = parse(bads[i].text, &im, &err);
		if (r != -EINVAL)
			fail_msg("row %zu: %d \"%s\"", i, r, err.text);
		assert_contains(err.text, bads[i].place);
		assert_contains(err.text, bads[i].says);
		assert_int_equal(im.name[0], 0x5a);
	}
}

/* Each cut loses something that is needed, but for the blank at the end. */
static void test_cut_manifests_are_refused(void **state)
{
	(void)state;
	static const char text[] = HEAD "files = ( " KERNEL ", " ROOT " );\n";
	for (size_t n = 0; n < sizeof(text) - 3; n++) {
		struct phx_image im;
		assert_int_equal(phx_image_parse(text, n, "m.conf", &im, NULL), -EINVAL);
	}
}

/* A text without a NUL behind it. */
static void test_reads_no_further_than_told(void **state)
{
	(void)state;
	static const char text[] = HEAD "files = ( " KERNEL ", " ROOT " );\n";
	size_t n = sizeof(text) - 1;
	PHX_AUTO_FREE char *exact = malloc(n);
	struct phx_image im;
	memcpy(exact, text, n);
	assert_int_equal(phx_image_parse(exact, n, "m.conf", &im, NULL), 0);
	phx_record_fini(&phx_image_record, &im);
}

static void test_image_conf(void **state)
{
	struct place *p = *state;
	struct phx_image_conf ic;
	struct phx_err err = {0};
	char path[256];
	place_write(p, "image.conf",
		    "name = \"deb\";\nversion = \"1\";\nkind = \"rootfs\";\narchitecture = "
		    "\"amd64\";\npackages = [ "
		    "\"x\" ];\n");
	assert_int_equal(phx_image_conf_load(place_path(p, "image.conf", path), &ic, &err), 0);
	assert_string_equal(ic.name, "deb");
	assert_int_equal(ic.kind, PHX_IMAGE_ROOTFS);
	place_write(p, "image.conf", "name = \"deb\";\n");
	assert_int_equal(phx_image_conf_load(path, &ic, &err), -EINVAL);
	assert_contains(err.text, "version is missing");
}

static void test_shipped_image_confs(void **state)
{
	(void)state;
	static const char *const names[] = {"deploy", "deploy-cloud", "debian-12"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		struct phx_image_conf ic;
		struct phx_err err = {0};
		char path[512];
		snprintf(path, sizeof(path), TEST_DIR "/../images/%s/image.conf", names[i]);
		int r = phx_image_conf_load(path, &ic, &err);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		assert_string_equal(ic.name, names[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_manifest),
		cmocka_unit_test(test_what_is_signed),
		cmocka_unit_test(test_which_kernel_runs),
		cmocka_unit_test(test_kernels_of_its_own),
		cmocka_unit_test(test_the_digest_is_of_the_text),
		cmocka_unit_test(test_written_and_read_again),
		cmocka_unit_test(test_an_origin_is_written_where_it_is_known),
		cmocka_unit_test(test_bad_manifests_are_refused),
		cmocka_unit_test(test_cut_manifests_are_refused),
		cmocka_unit_test(test_reads_no_further_than_told),
		RUN(test_image_conf),
		cmocka_unit_test(test_shipped_image_confs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
