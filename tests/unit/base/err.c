/* Error text: the innermost message stays, prefixes go in front, nothing overflows. */
#include "unit/base/test_base.h"

static void test_first_text_stays(void **state)
{
	(void)state;
	struct phx_err err = {0};
	assert_int_equal(phx_err_set(&err, -EINVAL, "line %d: %s", 3, "odd"), -EINVAL);
	assert_int_equal(phx_err_set(&err, -EIO, "later"), -EIO);
	assert_string_equal(err.text, "line 3: odd");
	phx_err_clear(&err);
	assert_string_equal(err.text, "");
	phx_err_set(&err, -EIO, "later");
	assert_string_equal(err.text, "later");
}

static void test_null_is_fine(void **state)
{
	(void)state;
	assert_int_equal(phx_err_set(NULL, -ENOENT, "%s", "x"), -ENOENT);
	assert_int_equal(phx_err_prefix(NULL, -ENOENT, "%s", "x"), -ENOENT);
	phx_err_clear(NULL);
}

static void test_prefix(void **state)
{
	(void)state;
	struct phx_err err = {0};
	phx_err_prefix(&err, -EINVAL, "%s", "alone");
	assert_string_equal(err.text, "alone");
	phx_err_clear(&err);
	phx_err_set(&err, -EINVAL, "bad");
	assert_int_equal(phx_err_prefix(&err, -EINVAL, "line %d", 7), -EINVAL);
	phx_err_prefix(&err, -EINVAL, "file");
	assert_string_equal(err.text, "file: line 7: bad");
}

static void test_long_texts_are_cut(void **state)
{
	(void)state;
	char much[PHX_ERR_TEXT_MAX * 2];
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	struct {
		struct phx_err err;
		char guard[8];
	} box = {.guard = "guard"};
	phx_err_set(&box.err, -EIO, "%s", much);
	assert_int_equal(strlen(box.err.text), PHX_ERR_TEXT_MAX - 1);
	phx_err_prefix(&box.err, -EIO, "front");
	assert_int_equal(strlen(box.err.text), PHX_ERR_TEXT_MAX - 1);
	assert_memory_equal(box.err.text, "front: xxx", 10);
	phx_err_prefix(&box.err, -EIO, "%s", much); /* at most half is prefix */
	assert_int_equal(strlen(box.err.text), PHX_ERR_TEXT_MAX - 1);
	assert_non_null(strstr(box.err.text, ": front: "));
	assert_string_equal(box.guard, "guard");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_text_stays),
		cmocka_unit_test(test_null_is_fine),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_long_texts_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
