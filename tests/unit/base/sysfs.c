/* Attributes below a root: odd contents, missing and looping files, links. */
#include "base/sysfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "unit/base/test_base.h"

static char root[64];

static void put(const char *path, const void *data, size_t n)
{
	PHX_AUTO_FREE char *full = phx_path("%s/%s", root, path);
	PHX_AUTO_FREE char *dir = strdup(full);
	*strrchr(dir, '/') = '\0';
	assert_int_equal(phx_dir_make(dir, 0755, NULL), 0);
	assert_int_equal(phx_file_write(full, data, n, 0644, NULL), 0);
}

static void put_link(const char *path, const char *target)
{
	PHX_AUTO_FREE char *full = phx_path("%s/%s", root, path);
	assert_int_equal(symlink(target, full), 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/phx-sysfs.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(root, NULL);
}

static void test_text(void **state)
{
	(void)state;
	static const struct {
		const char *data;
		size_t n;
		const char *want;
	} rows[] = {
		{"  QEMU HARDDISK  \n", 18, "QEMU HARDDISK"},
		{"", 0, ""},
		{" \n\t ", 4, ""},
		{"a\nb\tc\n", 6, "a\nb\tc"},
		{"abc\0def", 7, "abc"},
		{"\xff\x01x\x7f", 4, "??x?"},
		/* cut at the buffer's size */
		{"0123456789012345678901234", 25, "012345678901234"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char text[16] = "before";
		put("a/text", rows[i].data, rows[i].n);
		assert_int_equal(phx_sys_text(root, text, sizeof(text), "%s/text", "a"), 0);
		assert_string_equal(text, rows[i].want);
	}
}

static void test_text_that_is_not_there(void **state)
{
	(void)state;
	char text[16] = "before", longer[5000];
	assert_int_equal(phx_sys_text(root, text, sizeof(text), "nosuch"), -ENOENT);
	assert_string_equal(text, "");
	put("dir/file", "x", 1);
	assert_int_equal(phx_sys_text(root, text, sizeof(text), "dir"), -EISDIR);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(phx_sys_text(root, text, sizeof(text), "%s", longer), -ENAMETOOLONG);
	put_link("loop", "loop");
	assert_int_equal(phx_sys_text(root, text, sizeof(text), "loop"), -ELOOP);
}

static void test_numbers(void **state)
{
	(void)state;
	put("n/size", "4194304\n", 8);
	put("n/odd", "0x10\n", 5);
	put("n/minus", "-1\n", 3);
	put("n/empty", "", 0);
	put("n/max", "18446744073709551615\n", 21);
	assert_true(phx_sys_u64(root, 7, "n/%s", "size") == 4194304);
	assert_true(phx_sys_u64(root, 7, "n/odd") == 7);
	assert_true(phx_sys_u64(root, 7, "n/minus") == 7);
	assert_true(phx_sys_u64(root, 7, "n/empty") == 7);
	assert_true(phx_sys_u64(root, 7, "n/nosuch") == 7);
	assert_true(phx_sys_u64(root, 7, "n/max") == UINT64_MAX);
}

static void test_bytes_and_has(void **state)
{
	(void)state;
	char buf[4] = "";
	put("b/raw", "\0\1\2\3\4\5", 6);
	assert_int_equal(phx_sys_bytes(root, buf, sizeof(buf), "b/raw"), 4);
	assert_memory_equal(buf, "\0\1\2\3", 4);
	assert_int_equal(phx_sys_bytes(root, buf, sizeof(buf), "b/nosuch"), -ENOENT);
	assert_true(phx_sys_has(root, "b/%s", "raw"));
	assert_true(phx_sys_has(root, "b"));
	assert_false(phx_sys_has(root, "b/nosuch"));
	assert_true(phx_sys_has("", "proc/self"));
}

static void test_target(void **state)
{
	(void)state;
	char target[64] = "before", small[4] = "x";
	put("devices/pci0/net/eth0/address", "x", 1);
	put("class/net/keep", "x", 1);
	put_link("class/net/eth0", "../../devices/pci0/net/eth0");
	assert_int_equal(phx_sys_target(root, target, sizeof(target), "class/net/%s", "eth0"), 0);
	assert_string_equal(target, "/devices/pci0/net/eth0");
	assert_int_equal(phx_sys_target(root, target, sizeof(target), "class/net/eth1"), -ENOENT);
	assert_string_equal(target, "/devices/pci0/net/eth0");
	assert_int_equal(phx_sys_target(root, small, sizeof(small), "class/net/eth0"),
			 -ENAMETOOLONG);
	assert_int_equal(phx_sys_target("", target, sizeof(target), "proc/self/../../dev/null"), 0);
	assert_string_equal(target, "/dev/null");
}

/* Names seen, joined; stops with 5 at "stop". */
static int note_name(void *arg, const char *name)
{
	phx_buf_addf(arg, "%s ", name);
	return strcmp(name, "stop") ? 0 : 5;
}

static void test_each(void **state)
{
	(void)state;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put("block/vdb", "x", 1);
	put("block/vda/size", "x", 1);
	put("block/.hidden", "x", 1);
	assert_int_equal(phx_sys_each(root, "block", note_name, &b), 0);
	assert_string_equal(b.data, "vda vdb ");
	put("block/stop", "x", 1);
	phx_buf_fini(&b);
	assert_int_equal(phx_sys_each(root, "block", note_name, &b), 5);
	assert_string_equal(b.data, "stop ");
	assert_int_equal(phx_sys_each(root, "nosuch", note_name, &b), -ENOENT);
	assert_int_equal(phx_sys_each(root, "block/vdb", note_name, &b), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),    cmocka_unit_test(test_text_that_is_not_there),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_bytes_and_has),
		cmocka_unit_test(test_target),  cmocka_unit_test(test_each),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
