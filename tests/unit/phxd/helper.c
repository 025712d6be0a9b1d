/* The process that works in a user's directory (cmd/phxd/helper.c): what it does there, and
 * that the head believes nothing that it says. The socket between the two sides and the files
 * are real; the bad helper is a fake. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/tree.h"
#include "phxd/helper.c" /* a part of a program, not of the library */

static struct phx_err err;
static struct phx_apart *helper;
static pthread_t thread;
static int theirs, home;
static char dir[64];

/* A helper that somebody has taken over answers this. */
static struct {
	bool bad;
	int fd; /* goes along; 0: none */
	const char *text;
} fake_answer;

static int answers(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		   struct phx_err *e)
{
	if (!fake_answer.bad)
		return answer(arg, q, ret, e);
	ret->fd = fake_answer.fd;
	if (fake_answer.text)
		phx_buf_add(&ret->body, fake_answer.text, strlen(fake_answer.text));
	return 0;
}

static void *serve(void *arg)
{
	static struct files_sum sum;
	const struct phx_apart_server server = {
		.body_max = BODY_MAX, .answer = answers, .arg = &sum};
	(void)arg;
	phx_apart_serve(theirs, &server);
	return NULL;
}

/* In a directory of its own, as the launcher starts it. */
static int setup(void **state)
{
	int ends[2];
	(void)state;
	memset(&fake_answer, 0, sizeof(fake_answer));
	phx_err_clear(&err);
	strcpy(dir, "/tmp/phx-helper.XXXXXX");
	home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (home < 0 || !mkdtemp(dir) || chdir(dir) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	theirs = ends[1];
	int r = helper_new(ends[0], &helper);
	return r ? r : pthread_create(&thread, NULL, serve, NULL);
}

static int teardown(void **state)
{
	(void)state;
	phx_apart_end(helper);
	pthread_join(thread, NULL);
	close(theirs);
	int r = fchdir(home);
	close(home);
	return r < 0 ? r : phx_dir_remove(dir, NULL);
}

static void write_file(const char *name, const char *text)
{
	assert_int_equal(phx_file_write(name, text, strlen(text), 0644, NULL), 0);
}

/* What is in the file, through the helper. */
static void assert_opens(const char *name, const char *want)
{
	char text[100] = "";
	int fd = helper_open(helper, name, sizeof(text) - 1, &err);
	if (fd < 0)
		fail_msg("%s", err.text);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, want);
	close(fd);
}

static int opens(const char *name, uint64_t max)
{
	phx_err_clear(&err);
	int fd = helper_open(helper, name, max, &err);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* ---- a good one ---- */

static void a_file_is_published_read_and_removed(void **state)
{
	(void)state;
	write_file("from", "content");
	int from = open("from", O_RDONLY | O_CLOEXEC);
	assert_int_equal(helper_publish(helper, "a/b", from, 100, 0640, &err), 0);
	assert_opens("a/b", "content");
	struct stat st;
	assert_int_equal(stat("a/b", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	lseek(from, 0, SEEK_SET);
	assert_int_equal(helper_publish(helper, "a/c", from, 3, 0, &err), -EFBIG);
	close(from);
	assert_int_equal(helper_remove(helper, "a/b", &err), 0);
	assert_int_equal(opens("a/b", 100), -ENOENT);
	assert_int_equal(helper_remove(helper, "a/b", &err), -ENOENT);
}

static uint64_t sum_of_all(void)
{
	uint64_t n = 0;
	int r;
	while ((r = helper_sum(helper, &n)) > 0)
		;
	assert_int_equal(r, 0);
	return n;
}

static uint64_t blocks_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* Hidden ones, too; what has two names counts once, what a link leads to not at all. */
static void all_that_is_there_is_summed_up(void **state)
{
	char large[100001], path[2 * FILES_SUM_DEPTH + 32] = "";
	(void)state;
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(sum_of_all(), 0);
	write_file("a", large);
	assert_int_equal(mkdir("b", 0755), 0);
	write_file("b/.c", large);
	assert_int_equal(link("a", "b/second"), 0);
	assert_int_equal(symlink("/usr", "usr"), 0);
	sync();
	uint64_t sum = blocks_of("a") + blocks_of("b") + blocks_of("b/.c") + blocks_of("usr");
	assert_true(sum >= 2 * (sizeof(large) - 1));
	assert_int_equal(sum_of_all(), sum);
	/* what is too deep is left out, and ends nothing */
	for (int i = 0; i < FILES_SUM_DEPTH + 10; i++) {
		strcat(path, "d/");
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_true(sum_of_all() >= sum);
	/* by pieces as large as are asked for */
	struct files_sum s;
	files_sum_begin(&s, AT_FDCWD);
	assert_true(files_sum_go_on(&s, 1));
	files_sum_end(&s);
	assert_int_equal(s.depth, 0);
}

static void no_path_leads_out_of_the_directory(void **state)
{
	static const char *const paths[] = {"../x", "/etc/passwd", "a/../../x",
					    "",     ".",           "out/passwd"};
	(void)state;
	assert_int_equal(symlink("/etc", "out"), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(paths); i++) {
		assert_true(opens(paths[i], 1 << 20) < 0);
		assert_true(helper_remove(helper, paths[i], NULL) < 0);
	}
	assert_int_equal(opens("out", 1 << 20) < 0, true);
}

static void nothing_is_published_without_what_is_to_be(void **state)
{
	const struct phx_apart_question q = {.op = PUBLISH, .number = 10, .body = "x", .n = 1};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	assert_int_equal(phx_apart_ask(helper, &q, 0, &reply, &err), -EPROTO);
	assert_true(access("x", F_OK) < 0);
}

static void what_is_no_question_is_not_answered(void **state)
{
	const struct phx_apart_question q = {.op = LINK + 1};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	assert_int_equal(phx_apart_ask(helper, &q, 0, &reply, &err), -ENOSYS);
}

static bool lists(const json_t *list, const char *path)
{
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)list, i, row) {
		if (!strcmp(phx_json_str(row, "path", ""), path))
			return true;
	}
	return false;
}

/* Not of the users below the directory of an RE, nor what a link leads to, nor what is no file. */
static void a_list_has_the_files_below(void **state)
{
	PHX_AUTO_JSON json_t *list = json_array();
	(void)state;
	assert_int_equal(mkdir("d", 0755) | mkdir(RE_USERS, 0755) | mkdir("d/" RE_USERS, 0755), 0);
	write_file("a", "12345");
	write_file("d/b", "");
	write_file("d/" RE_USERS "/c", "");
	write_file(RE_USERS "/secret", "");
	write_file(".hidden", "");
	assert_int_equal(symlink("a", "link") | symlink("/etc", "etc") | mkfifo("fifo", 0600), 0);
	assert_int_equal(helper_list(helper, "", false, list), 0);
	assert_int_equal(json_array_size(list), 3);
	assert_true(lists(list, "a") && lists(list, "d/b") && lists(list, "d/" RE_USERS "/c"));
	PHX_AUTO_JSON json_t *below = json_array();
	assert_int_equal(helper_list(helper, "users/alice/", false, below), 0);
	assert_true(lists(below, "users/alice/a"));
}

static const json_t *row_of(const json_t *list, const char *path)
{
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)list, i, row) {
		if (!strcmp(phx_json_str(row, "path", ""), path))
			return row;
	}
	fail_msg("%s is not listed", path);
	return NULL;
}

/* All that a backup has: each name, with its mode; links as links, and nothing behind them. */
static void a_whole_list_has_all(void **state)
{
	PHX_AUTO_JSON json_t *list = json_array();
	(void)state;
	assert_int_equal(helper_dir(helper, "d/.e", 0700, &err), 0);
	write_file("d/.e/.f", "12");
	assert_int_equal(chmod("d/.e/.f", 0750), 0);
	write_file(".phx-0123456789abcdef", "half");
	write_file(".phx-0123", "a name of somebody's");
	assert_int_equal(mkdir(RE_USERS, 0755), 0);
	write_file(RE_USERS "/secret", "");
	assert_int_equal(helper_link(helper, "out", "/etc", &err), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(helper_list(helper, "", true, list), 0);
	assert_int_equal(json_array_size(list), 6);
	assert_string_equal(phx_json_str(row_of(list, "d/.e"), "type", ""), "dir");
	assert_int_equal(phx_json_int(row_of(list, "d/.e"), "mode", 0), 0700);
	assert_int_equal(phx_json_int(row_of(list, "d/.e/.f"), "mode", 0), 0750);
	assert_string_equal(phx_json_str(row_of(list, "d/.e/.f"), "type", ""), "file");
	assert_string_equal(phx_json_str(row_of(list, "out"), "type", ""), "link");
	assert_string_equal(phx_json_str(row_of(list, "out"), "target", ""), "/etc");
	assert_string_equal(phx_json_str(row_of(list, "fifo"), "type", ""), "other");
	assert_true(lists(list, "d") && lists(list, ".phx-0123"));
	/* a name that JSON cannot tell: the list is not whole */
	PHX_AUTO_JSON json_t *less = json_array();
	write_file("\xff", "");
	assert_int_equal(helper_list(helper, "", true, less), 1);
}

/* A link is replaced and nothing else is; nothing is put through one. */
static void links_lead_nowhere(void **state)
{
	char target[16] = "";
	(void)state;
	assert_int_equal(helper_link(helper, "a/l", "first", &err), 0);
	assert_int_equal(helper_link(helper, "a/l", "../..", &err), 0);
	assert_int_equal(readlink("a/l", target, sizeof(target) - 1), 5);
	assert_string_equal(target, "../..");
	assert_int_equal(helper_link(helper, "a/l/x", "y", &err), -ELOOP);
	assert_int_equal(helper_dir(helper, "a/l", 0755, &err), -ELOOP);
	assert_int_equal(helper_dir(helper, "a/l/d", 0755, &err), -ELOOP);
	assert_int_equal(helper_link(helper, "../x", "y", &err), -EINVAL);
	write_file("f", "kept");
	assert_int_equal(helper_link(helper, "f", "y", &err), -EEXIST);
	assert_opens("f", "kept");
	assert_true(helper_link(helper, "empty", "", &err) < 0);
}

static void a_tree_without_end_is_listed_so_deep(void **state)
{
	PHX_AUTO_JSON json_t *list = json_array();
	char path[3 * DEPTH_MAX + 20] = "";
	(void)state;
	for (int i = 0; i < DEPTH_MAX + 1; i++) {
		strcat(path, "d/");
		assert_int_equal(mkdir(path, 0755), 0);
		char file[sizeof(path) + 2];
		snprintf(file, sizeof(file), "%sf", path);
		write_file(file, "");
	}
	assert_int_equal(helper_list(helper, "", false, list), 1);
	assert_int_equal(json_array_size(list), DEPTH_MAX - 1);
}

static void nobody_helps_as_root(void **state)
{
	int fd = -1;
	(void)state;
	assert_int_equal(helper_spawn(home, 0, 0, &fd, &err), -EPERM);
	assert_int_equal(fd, -1);
}

/* ---- one that somebody has taken over ---- */

/* The head would read from a terminal, or without end, or hand out a directory. */
static void what_is_no_file_of_that_size_is_not_taken(void **state)
{
	(void)state;
	write_file("large", "0123456789");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	static const char *const names[] = {"large", "fifo", "."};
	fake_answer.bad = true;
	assert_int_equal(opens("x", 9), -EINVAL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		fake_answer.fd = open(names[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		assert_true(fake_answer.fd > 0);
		assert_int_equal(opens("x", 9), -EINVAL);
		assert_non_null(strstr(err.text, "is no regular file"));
	}
	fake_answer.fd = open("large", O_RDONLY | O_CLOEXEC);
	assert_int_equal(opens("x", 10), 0);
}

static void what_is_no_list_is_not_taken(void **state)
{
	static const char *const texts[] = {
		NULL, "", "{}", "[]", "{\"files\": [1", "{\"files\": 1}", "\xff"};
	PHX_AUTO_JSON json_t *list = json_array();
	(void)state;
	fake_answer.bad = true;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		fake_answer.text = texts[i];
		assert_int_equal(helper_list(helper, "", false, list), -EPROTO);
	}
	assert_int_equal(json_array_size(list), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_published_read_and_removed),
		TEST(all_that_is_there_is_summed_up),
		TEST(no_path_leads_out_of_the_directory),
		TEST(nothing_is_published_without_what_is_to_be),
		TEST(what_is_no_question_is_not_answered),
		TEST(a_list_has_the_files_below),
		TEST(a_whole_list_has_all),
		TEST(links_lead_nowhere),
		TEST(a_tree_without_end_is_listed_so_deep),
		TEST(nobody_helps_as_root),
		TEST(what_is_no_file_of_that_size_is_not_taken),
		TEST(what_is_no_list_is_not_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
