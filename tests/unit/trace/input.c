/* Trace files: plain and compressed, where they are looked for, damaged ones. */
#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "unit/trace/traces.h"

#include <unistd.h>

static char dir[64];
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/phx-input.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static void put(const char *name, const void *data, size_t n)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	assert_int_equal(phx_file_write(path, data, n, 0600, NULL), 0);
}

/* "hello\n" as gzip, xz and zstd make it. */
static const uint8_t hello_gz[] = {0x1f, 0x8b, 8,    0,    0,    0,    0,    0, 0,
				   3,    0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xe7, 2, 0,
				   0x20, 0x30, 0x3a, 0x36, 6,    0,    0,    0};
static const uint8_t hello_xz[] = {0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4,
				   0x46, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f,
				   0xe5, 0xa3, 0x01, 0x00, 0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x0a,
				   0x00, 0x00, 0x00, 0xa5, 0x60, 0x97, 0xf1, 0x94, 0xf6, 0xfd, 0xe0,
				   0x00, 0x01, 0x1e, 0x06, 0xc1, 0x2f, 0xa4, 0x1d, 0x1f, 0xb6, 0xf3,
				   0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};
static const uint8_t hello_zst[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x31, 0x00, 0x00, 0x68,
				    0x65, 0x6c, 0x6c, 0x6f, 0x0a, 0x53, 0x88, 0xbd, 0x91};

static void expect(const char *name, const char *text)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	phx_err_clear(&err);
	if (phx_trace_input_find(name, dir, &in, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(in.n, strlen(text));
	assert_string_equal(in.data, text);
	assert_non_null(strstr(in.path, name));
}

static void test_plain_and_compressed(void **state)
{
	(void)state;
	put("plain", "hello\n", 6);
	put("gz.gz", hello_gz, sizeof(hello_gz));
	put("xz.xz", hello_xz, sizeof(hello_xz));
	put("zst.zst", hello_zst, sizeof(hello_zst));
	put("empty", "", 0);
	expect("plain", "hello\n");
	expect("gz", "hello\n");
	expect("gz.gz", "hello\n");
	expect("xz", "hello\n");
	expect("zst", "hello\n");
	expect("empty", "");
}

/* The name decides nothing: what is in it does. */
static void test_by_content(void **state)
{
	(void)state;
	put("really.swf", hello_xz, sizeof(hello_xz));
	expect("really.swf", "hello\n");
}

static void test_larger_than_guessed(void **state)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/big", dir), *packed = phx_path("%s/big.gz", dir);
	PHX_AUTO_FREE char *data = malloc(1 << 20);
	(void)state;
	memset(data, 'a', 1 << 20);
	put("big", data, 1 << 20);
	const char *const argv[] = {"gzip", path, NULL};
	struct phx_run run = {.argv = argv};
	assert_int_equal(phx_run_check(&run, NULL, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(phx_trace_input_read(packed, &in, &err), 0);
	assert_int_equal(in.n, 1 << 20);
	assert_memory_equal(in.data, data, 1 << 20);
}

static void test_not_there(void **state)
{
	struct phx_trace_input in = {0};
	(void)state;
	phx_err_clear(&err);
	assert_int_equal(phx_trace_input_find("nothing.swf", dir, &in, &err), -ENOENT);
	assert_says(&err, dir);
	phx_err_clear(&err);
	assert_int_equal(phx_trace_input_find("nothing.swf", NULL, &in, &err), -ENOENT);
	assert_says(&err, "PHX_TRACES");
	assert_int_equal(phx_trace_input_read("/nothing/here", &in, NULL), -ENOENT);
	assert_null(in.data);
}

static void test_damaged(void **state)
{
	struct phx_trace_input in = {0};
	uint8_t damaged[sizeof(hello_xz)];
	(void)state;
	put("short.gz", hello_gz, sizeof(hello_gz) - 9);
	put("short.xz", hello_xz, sizeof(hello_xz) - 20);
	put("short.zst", hello_zst, sizeof(hello_zst) - 3);
	memcpy(damaged, hello_xz, sizeof(damaged));
	damaged[30] ^= 0x40;
	put("damaged.xz", damaged, sizeof(damaged));
	static const char *const names[] = {"short.gz", "short.xz", "short.zst", "damaged.xz"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		phx_err_clear(&err);
		assert_int_equal(phx_trace_input_find(names[i], dir, &in, &err), -EINVAL);
		assert_says(&err, names[i]);
		assert_says(&err, "cut short or damaged");
		assert_null(in.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_and_compressed),
		cmocka_unit_test(test_by_content),
		cmocka_unit_test(test_larger_than_guessed),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_damaged),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
