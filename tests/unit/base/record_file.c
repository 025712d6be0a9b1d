/* Records as files: what was written is read again; of a file that is none, the reason is told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/record_file.h"
#include "base/tree.h"

#define NOTE_FIELDS(F, S) \
	F(S, name, STR(8)) \
	F(S, number, U32)
PHX_RECORD_STRUCT(note, NOTE_FIELDS);
PHX_RECORD_TABLE(note, NOTE_FIELDS);

static void test_there_and_back(void **state)
{
	const char *path = *state;
	struct note back, n = {.name = "n1", .number = 7};
	struct stat st;
	assert_int_equal(phx_record_file_write(path, &note_record, &n, 0600, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(phx_record_file_read(path, 100, &note_record, &back, NULL), 0);
	assert_true(phx_record_equal(&note_record, &n, &back));
}

static void refused(const char *path, const char *text, int code, const char *why)
{
	struct note n;
	struct phx_err err = {0};
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
	assert_int_equal(phx_record_file_read(path, 30, &note_record, &n, &err), code);
	assert_non_null(strstr(err.text, path));
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void test_what_is_no_record(void **state)
{
	const char *path = *state;
	struct note n;
	struct phx_err err = {0};
	refused(path, "{\"name\": 1}", -EINVAL, "name: ");
	refused(path, "{\"name\": \"n1\"", -EINVAL, "line 1, column 13");
	refused(path, "", -EINVAL, "");
	refused(path, "{\"name\": \"n1\",            \"number\": 7}", -EFBIG,
		"larger than expected");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(phx_record_file_read(path, 30, &note_record, &n, &err), -ENOENT);
	assert_int_equal(phx_record_file_read(NULL, 30, &note_record, &n, NULL), -ENOMEM);
	assert_int_equal(phx_record_file_write(NULL, &note_record, &n, 0600, NULL), -ENOMEM);
}

int main(void)
{
	char dir[] = "/tmp/phx-record-file.XXXXXX", path[64];
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/note.json", dir);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_there_and_back, path),
		cmocka_unit_test_prestate(test_what_is_no_record, path),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	phx_dir_remove(dir, NULL);
	return r;
}
