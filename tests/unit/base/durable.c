/* What is published is on the disk before it has its name, and its name is before anybody is told:
 * the calls that bring it there are watched, since a machine that loses its power is no part of a
 * test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/tree.h"
#include "fake/disk.h"

static char dir[64];
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-durable.XXXXXX");
	phx_err_clear(&err);
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static void published_in_order(ino_t file, ino_t parent)
{
	int named = fake_disk_find(FAKE_RENAME, file, 0),
	    whole = fake_disk_find(FAKE_SYNC, file, 0);
	assert_true(named >= 0);
	if (whole < 0 || whole > named)
		fail_msg("it had its name before its data was on the disk");
	if (fake_disk_find(FAKE_WRITE, file, whole) >= 0)
		fail_msg("it was written to after it was brought to the disk");
	if (fake_disk_find(FAKE_SYNC, parent, named) < 0)
		fail_msg("its name was not brought to the disk");
}

static ino_t inode(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void a_file_is_whole_before_it_has_its_name(void **state)
{
	PHX_AUTO_FREE char *path = phx_path("%s/file", dir);
	(void)state;
	for (int i = 0; i < 2; i++) { /* new, and over an older one */
		fake_disk_begin();
		assert_int_equal(phx_file_write(path, "0123456789", 10, 0600, &err), 0);
		published_in_order(inode(path), inode(dir));
	}
}

static void a_file_beneath_is_whole_before_it_has_its_name(void **state)
{
	PHX_AUTO_FREE char *from = phx_path("%s/from", dir);
	PHX_AUTO_FREE char *path = phx_path("%s/sub/to", dir);
	PHX_AUTO_FREE char *sub = phx_path("%s/sub", dir);
	(void)state;
	assert_int_equal(phx_file_write(from, "0123456789", 10, 0600, &err), 0);
	assert_int_equal(mkdir(sub, 0700), 0);
	PHX_AUTO_CLOSE int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			   fd = open(from, O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++) { /* new, and over an older one */
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		fake_disk_begin();
		assert_int_equal(phx_beneath_publish(at, "sub/to", fd, 100,
						     (struct phx_beneath_owner){.uid = getuid(),
										.gid = getgid()},
						     &err),
				 0);
		published_in_order(inode(path), inode(sub));
	}
}

static void a_file_of_somebody_is_whole_before_it_has_its_name(void **state)
{
	PHX_AUTO_FREE char *from = phx_path("%s/from", dir);
	PHX_AUTO_FREE char *to = phx_path("%s/to", dir);
	(void)state;
	PHX_AUTO_CLOSE int fd = open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	fake_disk_begin();
	assert_int_equal(phx_file_publish(from, to, &err), 0);
	published_in_order(inode(to), inode(dir));
	assert_int_equal(access(from, F_OK), -1);
	assert_int_equal(phx_file_publish(from, to, &err), -ENOENT);
}

/* a disk that fails is told, and the old file stays */
static void what_cannot_be_synced_is_not_published(void **state)
{
	PHX_AUTO_FREE char *path = phx_path("%s/file", dir);
	PHX_AUTO_FREE char *text = NULL;
	(void)state;
	assert_int_equal(phx_file_write(path, "old", 3, 0600, &err), 0);
	fake_disk_begin();
	fake_disk_fails = true;
	int r = phx_file_write(path, "new", 3, 0600, &err);
	fake_disk_fails = false;
	assert_int_equal(r, -EIO);
	assert_int_equal(phx_file_read(path, 100, &text, NULL, &err), 0);
	assert_string_equal(text, "old");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_is_whole_before_it_has_its_name),
		T(a_file_beneath_is_whole_before_it_has_its_name),
		T(a_file_of_somebody_is_whole_before_it_has_its_name),
		T(what_cannot_be_synced_is_not_published),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
