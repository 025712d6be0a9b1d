/* Copying files and small trees: what is there before, what is left when it fails, and what is not
 * copied at all. */
#include "base/tree.h"
#include "unit/agent/scratch.h"

#include <sched.h>
#include <sys/mount.h>

#include "agent/copy.h"

static mode_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* ---- one file ---- */

static void test_file(void **state)
{
	const struct scratch *s = *state;
	const char *from = scratch_path(s, "from"), *to = scratch_path(s, "to");
	write_text(from, "new", 0640);
	write_text(to, "an older and longer one", 0600);
	for (int i = 0; i < 2; i++) { /* twice is once */
		assert_int_equal(copy_file(from, to, NULL), 0);
		assert_text(to, "new");
		assert_int_equal(mode_of(to), 0640);
		assert_false(exists(scratch_path(s, "to.tmp")));
	}
	write_text(from, "", 0600);
	assert_int_equal(copy_file(from, to, NULL), 0);
	assert_text(to, "");
}

/* The mode is the source's, whatever this process would give. */
static void test_mode(void **state)
{
	const struct scratch *s = *state;
	const char *from = scratch_path(s, "from"), *to = scratch_path(s, "to");
	write_text(from, "x", 0600);
	assert_int_equal(chmod(from, 0755), 0);
	mode_t before = umask(0077);
	assert_int_equal(copy_file(from, to, NULL), 0);
	umask(before);
	assert_int_equal(mode_of(to), 0755);
}

/* A link in its place is replaced, what it leads to stays. */
static void test_file_over_a_link(void **state)
{
	const struct scratch *s = *state;
	const char *from = scratch_path(s, "from"), *to = scratch_path(s, "to"),
		   *precious = scratch_path(s, "precious");
	write_text(from, "new", 0600);
	write_text(precious, "kept", 0600);
	assert_int_equal(symlink(precious, to), 0);
	assert_int_equal(copy_file(from, to, NULL), 0);
	assert_text(precious, "kept");
	assert_text(to, "new");
	/* nor is it written through the temporary's name; the link goes, and the next try passes */
	assert_int_equal(symlink(precious, scratch_path(s, "to.tmp")), 0);
	assert_int_equal(copy_file(from, to, NULL), -ELOOP);
	assert_text(precious, "kept");
	assert_int_equal(copy_file(from, to, NULL), 0);
}

/* What cannot be copied leaves what was there, and nothing beside it. */
static void test_file_refused(void **state)
{
	const struct scratch *s = *state;
	static const struct {
		const char *from, *to;
		int error;
	} rows[] = {{"none", "to", -ENOENT},         {"dir", "to", -EINVAL},
		    {"link-to-none", "to", -ENOENT}, {"from", "none/to", -ENOENT},
		    {"from", "from/to", -ENOTDIR},   {"from", "dir", -EISDIR}};
	write_text(scratch_path(s, "from"), "new", 0600);
	write_text(scratch_path(s, "to"), "old", 0600);
	assert_int_equal(mkdir(scratch_path(s, "dir"), 0755), 0);
	assert_int_equal(symlink("none", scratch_path(s, "link-to-none")), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		assert_int_equal(
			copy_file(scratch_path(s, rows[i].from), scratch_path(s, rows[i].to), &err),
			rows[i].error);
		assert_true(err.text[0]);
		assert_text(scratch_path(s, "to"), "old");
		assert_false(exists(scratch_path(s, "to.tmp")));
		assert_false(exists(scratch_path(s, "dir.tmp")));
	}
}

/* ---- a tree ---- */

static void make_tree(const struct scratch *s, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/deep", name);
	assert_int_equal(phx_dir_make(scratch_path(s, path), 0755, NULL), 0);
	snprintf(path, sizeof(path), "%s/deep/file", name);
	write_text(scratch_path(s, path), text, 0755);
	snprintf(path, sizeof(path), "%s/link", name);
	assert_int_equal(symlink("deep/file", scratch_path(s, path)), 0);
}

static void assert_tree(const struct scratch *s, const char *text)
{
	char target[32] = "";
	assert_text(scratch_path(s, "to/deep/file"), text);
	assert_int_equal(mode_of(scratch_path(s, "to/deep/file")), 0755);
	assert_true(readlink(scratch_path(s, "to/link"), target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "deep/file");
	assert_false(exists(scratch_path(s, "to.tmp")));
}

static int copy(const struct scratch *s, struct phx_err *err)
{
	return copy_tree(scratch_path(s, "from"), scratch_path(s, "to"), err);
}

static void test_tree(void **state)
{
	const struct scratch *s = *state;
	make_tree(s, "from", "one");
	assert_int_equal(copy(s, NULL), 0);
	assert_tree(s, "one");
	/* again, over one with more in it, after a copy that was cut off */
	write_text(scratch_path(s, "to/left"), "x", 0644);
	write_text(scratch_path(s, "from/deep/file"), "two", 0755);
	assert_int_equal(mkdir(scratch_path(s, "to.tmp"), 0755), 0);
	write_text(scratch_path(s, "to.tmp/half"), "x", 0644);
	assert_int_equal(copy(s, NULL), 0);
	assert_tree(s, "two");
	assert_false(exists(scratch_path(s, "to/left")));
	assert_false(exists(scratch_path(s, "to/half")));
}

/* A link in the place of the tree is replaced by the tree, and what it leads to stays as it is. */
static void test_tree_over_a_link(void **state)
{
	const struct scratch *s = *state;
	make_tree(s, "from", "new");
	make_tree(s, "elsewhere", "kept");
	assert_int_equal(symlink("elsewhere", scratch_path(s, "to")), 0);
	assert_int_equal(symlink("elsewhere", scratch_path(s, "to.tmp")), 0);
	assert_int_equal(copy(s, NULL), 0);
	assert_tree(s, "new");
	assert_text(scratch_path(s, "elsewhere/deep/file"), "kept");
	struct stat st;
	assert_int_equal(lstat(scratch_path(s, "to"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void fifo(const struct scratch *s)
{
	assert_int_equal(mkfifo(scratch_path(s, "from/deep/fifo"), 0600), 0);
}

static void depth(const struct scratch *s)
{
	assert_int_equal(phx_dir_make(scratch_path(s, "from/1/2/3/4/5/6/7/8/9"), 0755, NULL), 0);
}

static void no_source(const struct scratch *s)
{
	assert_int_equal(phx_dir_remove(scratch_path(s, "from"), NULL), 0);
}

static void file_for_source(const struct scratch *s)
{
	no_source(s);
	write_text(scratch_path(s, "from"), "x", 0644);
}

/* A tree that cannot be copied whole is not copied: what was there stays. */
static void test_tree_refused(void **state)
{
	static const struct {
		void (*make)(const struct scratch *s);
		int error;
	} rows[] = {{fifo, -EINVAL},
		    {depth, -ELOOP},
		    {no_source, -ENOENT},
		    {file_for_source, -ENOTDIR}};
	const struct scratch *s = *state;
	make_tree(s, "to", "old");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		phx_dir_remove(scratch_path(s, "from"), NULL);
		make_tree(s, "from", "new");
		rows[i].make(s);
		assert_int_equal(copy(s, &err), rows[i].error);
		assert_true(err.text[0]);
		assert_tree(s, "old");
	}
}

/* ---- a disk that is full ---- */

/* A file system of 256 KiB in a mount namespace that ends with the program. */
static bool small_disk(const char *dir)
{
	static bool apart;
	if (!apart)
		apart = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return apart && mkdir(dir, 0755) == 0 && mount("none", dir, "tmpfs", 0, "size=256k") == 0;
}

static void test_full_disk(void **state)
{
	const struct scratch *s = *state;
	char *large = calloc(1, 512 << 10);
	if (!small_disk(scratch_path(s, "small")))
		skip();
	make_tree(s, "from", "x");
	assert_int_equal(
		phx_file_write(scratch_path(s, "from/zlarge"), large, 512 << 10, 0644, NULL), 0);
	free(large);
	make_tree(s, "small/to", "old");
	write_text(scratch_path(s, "small/file"), "old", 0644);
	assert_int_equal(copy_tree(scratch_path(s, "from"), scratch_path(s, "small/to"), NULL),
			 -ENOSPC);
	assert_text(scratch_path(s, "small/to/deep/file"), "old");
	assert_false(exists(scratch_path(s, "small/to.tmp")));
	assert_int_equal(
		copy_file(scratch_path(s, "from/zlarge"), scratch_path(s, "small/file"), NULL),
		-ENOSPC);
	assert_text(scratch_path(s, "small/file"), "old");
	assert_false(exists(scratch_path(s, "small/file.tmp")));
	assert_int_equal(umount2(scratch_path(s, "small"), 0), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_file),         TEST(test_mode),      TEST(test_file_over_a_link),
		TEST(test_file_refused), TEST(test_tree),      TEST(test_tree_over_a_link),
		TEST(test_tree_refused), TEST(test_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
