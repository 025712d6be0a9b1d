/* The first start and every other one (cmd/phxd/begin.c): a journal that is missing beside what is
 * left of it is no first start, one that has events is never lost, and nothing is made or removed
 * that is not asked for. All files are real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/tree.h"
#include "fake/append_one.h"
#include "phxd/begin.c" /* a part of a program, not of the library */

static struct phx_config cfg;
static struct phx_err err;
static char dir[64];

#define SET_PATH(member, name) snprintf(cfg.member, sizeof(cfg.member), "%s/%s", dir, name)

static const char *path_of(const char *name)
{
	static char path[200];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	assert_int_equal(phx_file_write(path_of(name), text, strlen(text), 0600, NULL), 0);
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static mode_t mode_of(const char *name)
{
	struct stat st;
	assert_int_equal(stat(path_of(name), &st), 0);
	return st.st_mode & 07777;
}

static void make_dir(const char *name)
{
	assert_int_equal(phx_dir_make(path_of(name), 0755, NULL), 0);
}

static int setup(void **state)
{
	(void)state;
	umask(022);
	strcpy(dir, "/tmp/phx-begin.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	cfg = (struct phx_config){0};
	SET_PATH(state_dir, "state");
	SET_PATH(journal, "state/journal.db");
	SET_PATH(run_dir, "run");
	SET_PATH(pki_dir, "state/pki");
	SET_PATH(key_dir, "state/keys");
	SET_PATH(re_dir, "state/re");
	SET_PATH(output_dir, "state/output");
	SET_PATH(image_dir, "state/images");
	SET_PATH(package_dir, "state/packages");
	SET_PATH(package_key_dir, "state/package-keys");
	SET_PATH(tftp_dir, "state/tftp");
	phx_err_clear(&err);
	make_dir("state");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static int check(bool new_journal)
{
	phx_err_clear(&err);
	return begin_check(&cfg, new_journal, &err);
}

static void assert_says(const char *word)
{
	if (!strstr(err.text, word))
		fail_msg("\"%s\" does not hold \"%s\"", err.text, word);
}

/* ---- where the state is ---- */

/* A file system that is not mounted must not become an empty state. */
static void a_state_directory_that_is_not_there_is_made_only_if_asked(void **state)
{
	(void)state;
	assert_int_equal(rmdir(path_of("state")), 0);
	assert_int_equal(check(false), -ENOENT);
	assert_says(cfg.state_dir);
	assert_says("--new-journal");
	assert_false(exists("state"));
	assert_int_equal(check(true), 0);
	assert_int_equal(mode_of("state"), 0755);
}

static void what_is_no_directory_is_no_state(void **state)
{
	(void)state;
	assert_int_equal(rmdir(path_of("state")), 0);
	write_file("state", "a file");
	assert_int_equal(check(false), -ENOTDIR);
	assert_int_equal(check(true), -ENOTDIR);
	assert_says(cfg.state_dir);
	assert_int_equal(unlink(path_of("state")), 0);
	SET_PATH(state_dir, "not/there");
	assert_int_equal(check(true), -ENOENT);
	assert_says(cfg.state_dir);
	assert_false(exists("not"));
}

/* ---- is it the first start ---- */

static void an_empty_state_is_a_first_start(void **state)
{
	(void)state;
	assert_int_equal(check(false), 0);
	/* a file system of its own for each, or what an installation has made */
	make_dir("state/re/lost+found");
	make_dir("state/images");
	write_file("state/journal.db", "");
	assert_int_equal(check(false), 0);
	assert_int_equal(mode_of("state/journal.db"), 0600);
}

/* Keys, data and images of somebody: all of it would be nobody's. */
static void a_journal_that_is_gone_from_beside_anything_is_no_first_start(void **state)
{
	static const struct {
		const char *file, *is;
	} left[] = {
		{"state/keys/n1.key", "keys of encrypted disks"},
		{"state/re/hpc", "data of runtime environments"},
		{"state/output/1", "output of jobs"},
		{"state/images/debian", "images"},
		{"state/packages/nginx.tar.zst", "packages"},
		{"state/pki/ca.pem", "keys of the site"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(left); i++) {
		PHX_AUTO_FREE char *in =
			strndup(left[i].file, (size_t)(strrchr(left[i].file, '/') - left[i].file));
		make_dir(in);
		write_file(left[i].file, "x");
		assert_int_equal(check(false), -ENOENT);
		assert_says(left[i].is);
		assert_says(path_of(in));
		assert_says("journal.db is not there");
		/* a file of no length is no journal either */
		write_file("state/journal.db", "");
		assert_int_equal(check(false), -ENOENT);
		assert_says("journal.db is empty");
		assert_int_equal(check(true), 0);
		assert_int_equal(unlink(path_of("state/journal.db")), 0);
		assert_int_equal(check(true), 0);
		assert_false(exists("state/journal.db"));
		assert_int_equal(unlink(path_of(left[i].file)), 0);
	}
	assert_int_equal(check(false), 0);
}

static void a_file_that_begins_with_a_dot_is_something(void **state)
{
	(void)state;
	make_dir("state/keys");
	write_file("state/keys/.n1.key", "x");
	assert_int_equal(check(false), -ENOENT);
}

/* Whether it is a good one the journal itself finds out. */
static void a_journal_with_anything_in_it_is_no_first_start(void **state)
{
	(void)state;
	make_dir("state/keys");
	write_file("state/keys/n1.key", "x");
	write_file("state/journal.db", "x");
	assert_int_equal(check(false), 0);
	assert_int_equal(check(true), 0);
}

/* ---- a new journal ---- */

static void make_journal(bool with_event)
{
	struct phx_store *store = NULL;
	assert_int_equal(phx_store_open(cfg.journal, &store, NULL), 0);
	if (with_event)
		assert_int_equal(append_one(store, 1, 1000, "restart", "", "{}", "[]", NULL, NULL),
				 0);
	phx_store_close(store);
}

static void no_journal_begins_in_place_of_one_with_events(void **state)
{
	struct phx_store *store = NULL;
	(void)state;
	assert_int_equal(begin_check_none(&cfg, &err), 0);
	assert_false(exists("state/journal.db"));
	write_file("state/journal.db", "");
	assert_int_equal(begin_check_none(&cfg, &err), 0);
	make_journal(false);
	assert_int_equal(begin_check_none(&cfg, &err), 0);
	make_journal(true);
	assert_int_equal(begin_check_none(&cfg, &err), -EEXIST);
	assert_says("holds 1 events");
	assert_int_equal(phx_store_open_read(cfg.journal, &store, NULL), 0);
	assert_int_equal(phx_store_last(store), 1);
	phx_store_close(store);
}

static void no_journal_begins_in_place_of_what_nobody_can_read(void **state)
{
	(void)state;
	write_file("state/journal.db", "no database, but somebody's");
	assert_true(begin_check_none(&cfg, &err) < 0);
	assert_true(err.text[0]);
}

/* ---- directories ---- */

static void directories_are_closed_as_far_as_their_content_wants_it(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {
		{"run", 0755},
		{"state/pki", 0700},
		{"state/keys", 0700},
		{"state/images", 0755},
		{"state/packages", 0755},
		{"state/output", 0750},
		{"state/package-keys", 0755},
	};
	(void)state;
	assert_int_equal(begin_make_dirs(&cfg, &err), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		assert_int_equal(mode_of(dirs[i].name), dirs[i].mode);
	/* what an administrator has closed, or opened, stays so */
	assert_int_equal(chmod(path_of("state/images"), 0711), 0);
	write_file("state/keys/n1.key", "x");
	assert_int_equal(begin_make_dirs(&cfg, &err), 0);
	assert_int_equal(mode_of("state/images"), 0711);
	assert_true(exists("state/keys/n1.key"));
}

/* It says who may sign packages: where there is none nobody may, and that must stay so. */
static void whom_packages_are_believed_is_said_at_the_first_start_alone(void **state)
{
	(void)state;
	make_dir("state/pki");
	write_file("state/pki/site.pub", "x");
	assert_int_equal(begin_make_dirs(&cfg, &err), 0);
	assert_false(exists("state/package-keys"));
	assert_true(exists("state/output"));
}

static void a_file_in_the_place_of_a_directory_is_an_error(void **state)
{
	(void)state;
	write_file("state/keys", "x");
	assert_true(begin_make_dirs(&cfg, &err) < 0);
	assert_says("state/keys");
	/* what comes behind it is not made either */
	assert_false(exists("state/images"));
}

static void only_unfinished_files_of_ours_are_swept(void **state)
{
	static const char *const dirs[] = {"run", "state/tftp", "state/pki", "state/re",
					   "run/dnsmasq"};
	static const char *const kept[] = {"state/keys", "state/output"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++) {
		make_dir(dirs[i]);
		for (size_t k = 0; k < 2; k++) {
			PHX_AUTO_FREE char *name =
				phx_path("%s/%s", dirs[i], k ? "file" : "file.4711.tmp");
			write_file(name, "x");
		}
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++) {
		PHX_AUTO_FREE char *name = phx_path("%s/file.4711.tmp", kept[i]);
		make_dir(kept[i]);
		write_file(name, "x");
	}
	begin_sweep(&cfg);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++) {
		PHX_AUTO_FREE char *half = phx_path("%s/file.4711.tmp", dirs[i]);
		PHX_AUTO_FREE char *whole = phx_path("%s/file", dirs[i]);
		assert_false(exists(half));
		assert_true(exists(whole));
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++) {
		PHX_AUTO_FREE char *name = phx_path("%s/file.4711.tmp", kept[i]);
		assert_true(exists(name));
	}
	assert_int_equal(phx_dir_remove(path_of("run"), NULL), 0);
	begin_sweep(&cfg); /* what is not there is nothing */
}

/* ---- how it ends ---- */

/* The service manager starts phxd again after 1, and never after 78. */
static void what_may_pass_is_tried_again(void **state)
{
	static const int passes[] = {-EBUSY, -ENOSPC, -EIO, -ENOMEM, -EROFS};
	static const int stays[] = {-ENOENT, -EEXIST, -EPERM, -EINVAL, -EBADMSG, -ENOTDIR, -EACCES};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(passes); i++)
		assert_int_equal(begin_status(passes[i]), 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(stays); i++)
		assert_int_equal(begin_status(stays[i]), 78);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_state_directory_that_is_not_there_is_made_only_if_asked),
		TEST(what_is_no_directory_is_no_state),
		TEST(an_empty_state_is_a_first_start),
		TEST(a_journal_that_is_gone_from_beside_anything_is_no_first_start),
		TEST(a_file_that_begins_with_a_dot_is_something),
		TEST(a_journal_with_anything_in_it_is_no_first_start),
		TEST(no_journal_begins_in_place_of_one_with_events),
		TEST(no_journal_begins_in_place_of_what_nobody_can_read),
		TEST(directories_are_closed_as_far_as_their_content_wants_it),
		TEST(whom_packages_are_believed_is_said_at_the_first_start_alone),
		TEST(a_file_in_the_place_of_a_directory_is_an_error),
		TEST(only_unfinished_files_of_ours_are_swept),
		TEST(what_may_pass_is_tried_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
