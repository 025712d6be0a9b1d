/* Building packages: the same bytes for the same tree, recipes, and what is refused with nothing
 * left behind. */
#include "base/tree.h"
#include "hostile.h"

#include <sys/stat.h>
#include <time.h>

#define CONF "name = \"tool\";\nversion = \"1.2\";\narch = \"all\";\nsummary = \"A tool\";\n"

static void make_source(const struct place *p)
{
	write_text(p->src, "package.conf", CONF, 0644);
	write_text(p->src, "files/bin/tool", "#!/bin/sh\necho tool\n", 0755);
	write_text(p->src, "files/share/b", "bb", 0600);
	write_text(p->src, "files/share/a", "a", 0664);
	PHX_AUTO_FREE char *link = phx_path("%s/files/tool", p->src);
	if (symlink("bin/tool", link) < 0)
		assert_int_equal(errno, EEXIST);
}

static char *build(const struct place *p)
{
	struct phx_err err = {0};
	char *path = NULL;
	if (phx_package_build(p->src, p->out, &path, &err) < 0)
		fail_msg("%s", err.text);
	return path;
}

static void refused(const struct place *p, int code, const char *says)
{
	struct phx_err err = {0};
	char *path = NULL;
	assert_int_equal(phx_package_build(p->src, p->out, &path, &err), code);
	assert_null(path);
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
	PHX_AUTO_FREE char *left = list_tree(p->out);
	assert_string_equal(left, "");
}

static void round_trip(void **state)
{
	struct place *p = *state;
	make_source(p);
	PHX_AUTO_FREE char *path = build(p), *right = phx_path("%s/tool-1.2.tar.zst", p->out);
	assert_string_equal(path, right);
	struct phx_package seen = {0}, verified = {0}, unpacked = {0};
	assert_int_equal(phx_package_inspect(path, &seen, NULL), 0);
	assert_string_equal(seen.summary, "A tool");
	assert_int_equal(seen.n_entries, 6);
	assert_int_equal(seen.unpacked_bytes, 23);
	assert_int_equal(phx_package_verify(path, p->pub, &verified, NULL), -EKEYREJECTED);
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	assert_int_equal(phx_package_verify(path, p->pub, &verified, NULL), 0);
	assert_string_equal(verified.signed_by, "1"); /* the first key of a file */
	PHX_STR_SET(seen.signed_by, "1");
	assert_true(phx_record_equal(&phx_package_record, &seen, &verified));
	assert_int_equal(phx_package_unpack(path, p->pub, p->root, NULL, &unpacked, NULL), 0);
	assert_true(phx_record_equal(&phx_package_record, &seen, &unpacked));
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_string_equal(
		tree,
		"d 755 tool\nd 755 tool/1.2\nd 755 tool/1.2/PHX\nd 755 tool/1.2/bin\n"
		"d 755 tool/1.2/share\nf 644 tool/1.2/PHX/manifest.conf\n"
		"f 644 tool/1.2/PHX/sha256\nf 644 tool/1.2/share/a\nf 644 tool/1.2/share/b\n"
		"f 755 tool/1.2/bin/tool\nl 777 tool/1.2/tool\n");
	PHX_AUTO_FREE char *text = read_text(p->root, "tool/1.2/tool");
	assert_string_equal(text, "#!/bin/sh\necho tool\n");
}

/* The digest and size that the manifest's record carries are those of the file. */
static void digest_is_the_files(void **state)
{
	struct place *p = *state;
	make_source(p);
	PHX_AUTO_FREE char *path = build(p);
	struct phx_package seen;
	char hex[PHX_SHA256_HEX];
	uint64_t size;
	assert_int_equal(phx_package_inspect(path, &seen, NULL), 0);
	assert_int_equal(phx_sha256_file(path, hex, &size, NULL), 0);
	assert_string_equal(seen.sha256, hex);
	assert_int_equal(seen.size_bytes, size);
}

static void same_bytes(void **state)
{
	struct place *p = *state;
	struct phx_package one, two, three;
	make_source(p);
	PHX_AUTO_FREE char *path = build(p);
	assert_int_equal(phx_package_inspect(path, &one, NULL), 0);
	/* another order of making, other times, owner bits and place */
	assert_int_equal(phx_dir_remove(p->src, NULL), 0);
	snprintf(p->src, sizeof(p->src), "%s/elsewhere", p->dir);
	write_text(p->src, "files/share/a", "a", 0640);
	mode_t had = umask(077);
	make_source(p);
	umask(had);
	PHX_AUTO_FREE char *old = phx_path("%s/files/share/b", p->src);
	const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 2000000}};
	assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
	PHX_AUTO_FREE char *path_two = build(p);
	assert_int_equal(phx_package_inspect(path_two, &two, NULL), 0);
	assert_string_equal(one.sha256, two.sha256);
	write_text(p->src, "files/share/b", "bc", 0644);
	PHX_AUTO_FREE char *path_three = build(p);
	assert_int_equal(phx_package_inspect(path_three, &three, NULL), 0);
	assert_string_not_equal(one.sha256, three.sha256);
}

static time_t mtime_of(const struct place *p, const char *path)
{
	struct stat st;
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	assert_int_equal(phx_package_unpack(path, p->pub, p->root, NULL, NULL, NULL), 0);
	PHX_AUTO_FREE char *file = phx_path("%s/tool/1.2/share/a", p->root);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(phx_package_remove(p->root, "tool", NULL, NULL), 0);
	return st.st_mtime;
}

static void source_date(void **state)
{
	struct place *p = *state;
	make_source(p);
	PHX_AUTO_FREE char *zero = build(p);
	assert_int_equal(mtime_of(p, zero), 0);
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	PHX_AUTO_FREE char *dated = build(p);
	assert_int_equal(mtime_of(p, dated), 1700000000);
	assert_int_equal(phx_dir_remove(p->out, NULL), 0);
	setenv("SOURCE_DATE_EPOCH", "yesterday", 1);
	refused(p, -EINVAL, "SOURCE_DATE_EPOCH");
	unsetenv("SOURCE_DATE_EPOCH");
}

static void recipe(void **state)
{
	struct place *p = *state;
	write_text(p->src, "package.conf", CONF, 0644);
	write_text(p->src, "build",
		   "#!/bin/sh\nset -e\n[ -z \"$(ls -A \"$1\")\" ]\nmkdir \"$1/bin\"\necho made "
		   ">\"$1/bin/made\"\n",
		   0755);
	PHX_AUTO_FREE char *path = build(p);
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	assert_int_equal(phx_package_unpack(path, p->pub, p->root, NULL, NULL, NULL), 0);
	PHX_AUTO_FREE char *text = read_text(p->root, "tool/1.2/bin/made");
	assert_string_equal(text, "made\n");
	PHX_AUTO_FREE char *left = list_tree(p->out);
	assert_string_equal(left, "f 644 tool-1.2.tar.zst\nf 644 tool-1.2.tar.zst.sig\n");
}

static void recipe_fails(void **state)
{
	struct place *p = *state;
	write_text(p->src, "package.conf", CONF, 0644);
	write_text(p->src, "build",
		   "#!/bin/sh\necho half >\"$1/half\"\necho no such mirror >&2\nexit 3\n", 0755);
	refused(p, -EIO, "no such mirror");
}

static void bad_sources(void **state)
{
	struct place *p = *state;
	refused(p, -ENOENT, "package.conf");
	write_text(p->src, "package.conf", "name = \"tool\";\n", 0644);
	refused(p, -EINVAL, "package.conf: version is missing");
	write_text(p->src, "package.conf", CONF, 0644);
	refused(p, -ENOTDIR, "files: no such directory");
	write_text(p->src, "files", "a file", 0644);
	refused(p, -ENOTDIR, "files: no such directory");
}

static void nothing_in_it(void **state)
{
	struct place *p = *state;
	write_text(p->src, "package.conf", CONF, 0644);
	PHX_AUTO_FREE char *files = phx_path("%s/files", p->src);
	assert_int_equal(mkdir(files, 0755), 0);
	PHX_AUTO_FREE char *path = build(p);
	struct phx_package seen;
	assert_int_equal(phx_package_inspect(path, &seen, NULL), 0);
	assert_int_equal(seen.n_entries, 0);
}

/* What unpack refuses is refused here, with the name of the file. */
static void hostile_trees(void **state)
{
	struct place *p = *state;
	make_source(p);
	PHX_AUTO_FREE char *x = phx_path("%s/files/share/x", p->src);
	assert_int_equal(symlink("/etc/passwd", x), 0);
	refused(p, -EINVAL, "files: share/x: link to an absolute path");
	assert_int_equal(unlink(x), 0);
	assert_int_equal(symlink("../../x", x), 0);
	refused(p, -EINVAL, "files: share/x: link leads out");
	assert_int_equal(unlink(x), 0);
	assert_int_equal(mkfifo(x, 0600), 0);
	refused(p, -EINVAL, "files: share/x: fifo");
	assert_int_equal(unlink(x), 0);
	write_text(p->src, "files/share/x", "x", 0755);
	assert_int_equal(chmod(x, 04755), 0);
	refused(p, -EINVAL, "files: share/x: set-id");
	assert_int_equal(unlink(x), 0);
	write_text(p->src, "files/PHX/x", "x", 0644);
	refused(p, -EINVAL, "files: PHX: the name PHX is reserved");
}

static void odd_names(void **state)
{
	struct place *p = *state;
	make_source(p);
	static const char name[] = "files/share/Gr\xc3\xbc\xc3\x9f"
				   "e mit Leerzeichen";
	write_text(p->src, name, "1", 0644);
	write_text(p->src, "files/share/latin\xe9", "2", 0644);
	PHX_AUTO_FREE char *deep = phx_path("files/share/%0120d/%0120d/%0120d", 0, 0, 0);
	write_text(p->src, deep, "3", 0644);
	PHX_AUTO_FREE char *path = build(p);
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	assert_int_equal(phx_package_unpack(path, p->pub, p->root, NULL, NULL, NULL), 0);
	PHX_AUTO_FREE char *unpacked = phx_path("%s/tool/1.2", p->root);
	PHX_AUTO_FREE char *one = read_text(unpacked, name + strlen("files/"));
	PHX_AUTO_FREE char *three = read_text(unpacked, deep + strlen("files/"));
	assert_string_equal(one, "1");
	assert_string_equal(three, "3");
}

/* A second name of a file is packed as a file. */
static void hard_linked_source(void **state)
{
	struct place *p = *state;
	make_source(p);
	PHX_AUTO_FREE char *a = phx_path("%s/files/share/a", p->src),
			   *z = phx_path("%s/files/share/z", p->src);
	assert_int_equal(link(a, z), 0);
	PHX_AUTO_FREE char *path = build(p);
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	assert_int_equal(phx_package_unpack(path, p->pub, p->root, NULL, NULL, NULL), 0);
	PHX_AUTO_FREE char *text = read_text(p->root, "tool/1.2/share/z");
	assert_string_equal(text, "a");
}

/* A signature that the site's key made for something else is none of a package. */
static void what_is_signed_names_its_kind(void **state)
{
	struct place *p = *state;
	struct phx_package made = {0};
	make_source(p);
	PHX_AUTO_FREE char *path = build(p);
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	assert_int_equal(phx_package_verify(path, p->pub, &made, NULL), 0);
	PHX_AUTO_FREE char *text = phx_path("phoenix package sha256 %s\n", made.sha256);
	PHX_AUTO_FREE char *sig_path = phx_path("%s.sig", path);
	PHX_AUTO_FREE char *sig = NULL;
	assert_int_equal(phx_file_read(sig_path, PHX_SIG_SIZE, &sig, NULL, NULL), 0);
	assert_int_equal(phx_verify(p->pub, text, strlen(text), (const uint8_t *)sig, NULL), 0);
}

static void sign_failures(void **state)
{
	struct place *p = *state;
	make_source(p);
	PHX_AUTO_FREE char *path = build(p), *no_key = in_place(p, "no.key"),
			   *no_file = in_place(p, "no.tar.zst");
	assert_true(phx_package_sign(path, no_key, NULL) < 0);
	assert_int_equal(phx_package_sign(no_file, p->key, NULL), -ENOENT);
	struct phx_package seen;
	assert_int_equal(phx_package_inspect(no_file, &seen, NULL), -ENOENT);
	assert_true(phx_package_verify(path, no_key, &seen, NULL) < 0);
	PHX_AUTO_FREE char *left = list_tree(p->out);
	assert_string_equal(left, "f 644 tool-1.2.tar.zst\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(round_trip),
		TEST(digest_is_the_files),
		TEST(same_bytes),
		TEST(source_date),
		TEST(recipe),
		TEST(recipe_fails),
		TEST(bad_sources),
		TEST(nothing_in_it),
		TEST(hostile_trees),
		TEST(odd_names),
		TEST(hard_linked_source),
		TEST(sign_failures),
		TEST(what_is_signed_names_its_kind),
	};
	return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
