/* A watcher (cmd/phxd/watcher.c) in real directories, told by the kernel: which files it reports
 * and when, what it never follows, and how it ends. Its clock is put forward by hand; as a
 * process it is run as nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <grp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/tree.h"
#include "phxd/watcher.c" /* parts of a program, not of the library */
#include "phxd/young.c"

enum { NOBODY = 65534, HOUR_MS = 3600 * 1000 };

static int64_t fake_ahead_ms;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec += fake_ahead_ms / 1000;
	return r;
}

static char dir[64];
static int old_stdin, home, head; /* head: the other end of its standard input */
static struct watcher w;

static int setup(void **state)
{
	int both[2];
	(void)state;
	strcpy(dir, "/tmp/phx-watcher.XXXXXX");
	if (!mkdtemp(dir) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return -1;
	home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	old_stdin = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	head = both[1];
	fake_ahead_ms = 0;
	w = (struct watcher){.notify = -1};
	return dup2(both[0], STDIN_FILENO) < 0 || close(both[0]) < 0 || chdir(dir) < 0 ||
		mkdir("in", 0755) < 0;
}

static int teardown(void **state)
{
	(void)state;
	forget_all(&w);
	phx_list_fini(&w.dirs);
	phx_buf_fini(&w.says);
	young_fini(&w.young);
	phx_close_fd(&w.notify);
	phx_close_fd(&head);
	if (fchdir(home) < 0 || dup2(old_stdin, STDIN_FILENO) < 0)
		return -1;
	phx_close_fd(&home);
	phx_close_fd(&old_stdin);
	return phx_dir_remove(dir, NULL);
}

/* ---- what it says ---- */

static const char *const kinds[WATCH_KINDS] = {"file",   "there", "gone",   "looks",
					       "looked", "odd",   "trouble"};
static struct watch_said last; /* of a file */

static bool read_whole(void *to, size_t n, int how)
{
	return recv(head, to, n, how | MSG_WAITALL) == (ssize_t)n;
}

/* One message, as "file in/a;", to a text; false: there is none. */
static bool hear(char *to, size_t size, int how)
{
	struct watch_said m;
	char text[WATCH_TEXT_MAX + 1];
	size_t at = strlen(to);
	if (!read_whole(&m, sizeof(m), how))
		return false;
	assert_true(m.kind < WATCH_KINDS && m.n <= WATCH_TEXT_MAX);
	assert_true(!m.n || read_whole(text, m.n, 0));
	text[m.n] = '\0';
	if (m.kind == WATCH_FILE)
		last = m;
	snprintf(to + at, size - at, "%s%s%s;", kinds[m.kind], m.n ? " " : "", text);
	return true;
}

static const char *said(void)
{
	static char text[4096];
	text[0] = '\0';
	flush(&w);
	while (hear(text, sizeof(text), MSG_DONTWAIT))
		;
	return text;
}

static void begins_as(const char *pattern, const struct watch_start *how)
{
	struct watch_start start = *how;
	start.n = (uint32_t)strlen(pattern);
	start.path_max = start.path_max ? start.path_max : 100;
	assert_int_equal(phx_write_all(head, &start, sizeof(start)), 0);
	assert_int_equal(phx_write_all(head, pattern, start.n), 0);
	assert_int_equal(begin(&w), 0);
}

static void begins(const char *pattern)
{
	begins_as(pattern, &(struct watch_start){0});
}

/* What the kernel has told, and whose time has come. */
static const char *happens(void)
{
	take_events(&w);
	look_at_young(&w);
	return said();
}

/* ---- files ---- */

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(phx_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* Written so long ago, or, negative, so long ahead of now. */
static void age(const char *path, int64_t ms)
{
	const int64_t at_ms = phx_wall_ms() - ms;
	const struct timespec times[2] = {{at_ms / 1000, 0}, {at_ms / 1000, 0}};
	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void put_old(const char *path)
{
	put_file(path, "abc");
	age(path, HOUR_MS);
}

static void what_is_there_is_told(void **state)
{
	struct stat st;
	(void)state;
	put_old("in/a.fits");
	put_old("in/a.txt");
	put_old("in/.b.fits");
	put_old("c.fits");
	begins("in/*.fits");
	assert_string_equal(said(), "looks;file in/a.fits;looked;");
	assert_int_equal(stat("in/a.fits", &st), 0);
	assert_int_equal(last.size, 3);
	assert_int_equal(last.number, st.st_ino);
	assert_true(last.changed_ns == st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
	assert_true(last.came_ms == st.st_ctim.tv_sec * 1000LL + st.st_ctim.tv_nsec / 1000000);
}

/* Found, and written lately: who writes it may have it open still. */
static void what_may_be_open_still_is_told_when_it_rests(void **state)
{
	(void)state;
	put_file("in/a", "abc");
	begins("in/*");
	assert_string_equal(said(), "looks;there in/a;looked;");
	fake_ahead_ms = YOUNG_MS - 1000;
	look_at_young(&w);
	assert_string_equal(said(), "");
	put_file("in/a", "def"); /* nobody has told of it yet */
	fake_ahead_ms = YOUNG_MS;
	look_at_young(&w);
	assert_string_equal(said(), "");
	fake_ahead_ms = 2 * YOUNG_MS;
	look_at_young(&w);
	assert_string_equal(said(), "file in/a;");
	assert_int_equal(last.size, 6);
	look_at_young(&w);
	assert_string_equal(said(), "");
}

static void a_time_that_lies_ahead_is_now(void **state)
{
	(void)state;
	put_file("in/a", "abc");
	age("in/a", -HOUR_MS);
	begins("in/*");
	assert_string_equal(said(), "looks;there in/a;looked;");
	fake_ahead_ms = YOUNG_MS;
	look_at_young(&w);
	assert_string_equal(said(), "file in/a;");
}

static void a_file_is_told_when_it_is_closed(void **state)
{
	(void)state;
	begins("in/*");
	assert_string_equal(said(), "looks;looked;");
	int fd = open("in/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(phx_write_all(fd, "abc", 3), 0);
	assert_string_equal(happens(), "");
	close(fd);
	assert_string_equal(happens(), "file in/a;");
	assert_int_equal(last.size, 3);
	put_file("b", "abc"); /* elsewhere */
	assert_string_equal(happens(), "");
}

static void it_rests_for_as_long_as_is_asked(void **state)
{
	(void)state;
	begins_as("in/*", &(struct watch_start){.stable_ms = 5000});
	said();
	put_file("in/a", "abc");
	assert_string_equal(happens(), "there in/a;");
	fake_ahead_ms = 4000;
	put_file("in/a", "d");
	assert_string_equal(happens(), "there in/a;");
	fake_ahead_ms = 8000;
	look_at_young(&w);
	assert_string_equal(said(), "");
	assert_true(time_left(&w) > 0 && time_left(&w) <= 1000);
	fake_ahead_ms = 9000;
	look_at_young(&w);
	assert_string_equal(said(), "file in/a;");
	assert_int_equal(time_left(&w), -1);
}

static void a_file_that_is_moved_or_linked_there_has_come(void **state)
{
	(void)state;
	put_file("a", "abc");
	put_file("b", "abc");
	begins("in/*");
	said();
	assert_int_equal(rename("a", "in/a"), 0);
	assert_string_equal(happens(), "file in/a;");
	assert_int_equal(link("b", "in/b"), 0);
	assert_string_equal(happens(), "file in/b;");
}

static void what_goes_is_told_and_not_told_of_later(void **state)
{
	(void)state;
	begins_as("in/*", &(struct watch_start){.stable_ms = 5000});
	said();
	put_file("in/a", "abc");
	put_file("in/b", "abc");
	assert_string_equal(happens(), "there in/a;there in/b;");
	assert_int_equal(unlink("in/a"), 0);
	assert_int_equal(rename("in/b", "b"), 0);
	assert_string_equal(happens(), "gone in/a;gone in/b;");
	assert_int_equal(w.young.list.n, 0);
	fake_ahead_ms = 6000;
	look_at_young(&w);
	assert_string_equal(said(), "");
}

/* It vanished, and the kernel's word of it has not come yet. */
static void what_is_gone_when_its_time_comes_is_not_told(void **state)
{
	(void)state;
	begins_as("in/*", &(struct watch_start){.stable_ms = 5000});
	put_file("in/a", "abc");
	take_events(&w);
	said();
	assert_int_equal(unlink("in/a"), 0);
	assert_int_equal(symlink("/etc/passwd", "in/a"), 0);
	fake_ahead_ms = 6000;
	look_at_young(&w);
	assert_string_equal(said(), "");
	assert_int_equal(w.young.list.n, 0);
}

/* ---- what is never followed ---- */

static void links_are_never_followed(void **state)
{
	(void)state;
	put_old("secret");
	assert_int_equal(mkdir("elsewhere", 0755), 0);
	put_old("elsewhere/a");
	assert_int_equal(symlink("../secret", "in/link"), 0);
	assert_int_equal(symlink("/etc/passwd", "in/passwd"), 0);
	assert_int_equal(symlink("elsewhere", "other"), 0);
	begins("*/*");
	assert_string_equal(said(), "looks;file elsewhere/a;looked;");
	assert_int_equal(symlink("../secret", "in/later"), 0);
	assert_int_equal(symlink("elsewhere", "another"), 0);
	assert_string_equal(happens(), "");
	assert_int_equal(rename("in/later", "in/moved"), 0);
	happens();
	put_file("elsewhere/b", "abc");
	assert_string_equal(happens(), "file elsewhere/b;");
}

static void what_is_no_file_is_not_told(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("in/fifo", 0644), 0);
	assert_int_equal(mkdir("in/dir", 0755), 0);
	begins("in/*");
	assert_string_equal(said(), "looks;looked;");
	assert_int_equal(mkfifo("in/fifo2", 0644), 0);
	assert_int_equal(mkdir("in/dir2", 0755), 0);
	assert_int_equal(rename("in/fifo", "in/fifo3"), 0);
	take_events(&w);
	assert_null(strstr(said(), "file"));
}

/* A directory that became a link after it was listed: what is opened is what it was. */
static void a_directory_that_is_replaced_leads_nowhere_else(void **state)
{
	(void)state;
	assert_int_equal(mkdir("elsewhere", 0755), 0);
	begins("in/*");
	said();
	assert_int_equal(rename("in", "moved"), 0);
	assert_int_equal(symlink("elsewhere", "in"), 0);
	put_file("elsewhere/a", "abc");
	put_file("moved/b", "abc");
	/* the old one is let go, and the link is none */
	assert_string_equal(happens(), "");
	assert_int_equal(w.dirs.n, 1);
	put_file("elsewhere/c", "abc");
	put_file("moved/d", "abc");
	assert_string_equal(happens(), "");
}

static void directories_of_users_are_no_part_of_the_whole(void **state)
{
	(void)state;
	assert_int_equal(mkdir(RE_USERS, 0755), 0);
	put_old(RE_USERS "/bob");
	put_old("in/a");
	begins_as("*/*", &(struct watch_start){.whole = 1});
	assert_string_equal(said(), "looks;file in/a;looked;");
	assert_int_equal(rename(RE_USERS, "in/" RE_USERS), 0);
	happens();
	assert_int_equal(mkdir(RE_USERS, 0755), 0);
	happens();
	put_file(RE_USERS "/carl", "abc");
	assert_string_equal(happens(), "");
}

/* To one who watches his own directory "users" is a name as any other. */
static void users_is_a_name_in_a_users_own_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir(RE_USERS, 0755), 0);
	put_old(RE_USERS "/a");
	begins("*/*");
	assert_string_equal(said(), "looks;file " RE_USERS "/a;looked;");
}

/* ---- directories ---- */

static void a_new_directory_is_watched_and_looked_at(void **state)
{
	(void)state;
	begins("*/*.fits");
	said();
	assert_int_equal(mkdir("new", 0755), 0);
	put_file("new/a.fits", "abc"); /* before it is watched */
	assert_string_equal(happens(), "there new/a.fits;");
	put_file("new/b.fits", "abc");
	assert_string_equal(happens(), "file new/b.fits;");
	fake_ahead_ms = YOUNG_MS;
	look_at_young(&w);
	assert_string_equal(said(), "file new/a.fits;");
}

static void a_directory_that_leaves_is_let_go_with_all_below(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in/deep", 0755), 0);
	assert_int_equal(mkdir("inner", 0755), 0);
	assert_int_equal(mkdir("inner/deep", 0755), 0);
	put_file("in/deep/young", "abc");
	begins("*/*/*");
	assert_string_equal(said(), "looks;there in/deep/young;looked;");
	assert_int_equal(w.dirs.n, 5);
	assert_int_equal(rename("in", ".moved"), 0);
	happens();
	assert_int_equal(w.dirs.n, 3); /* "inner" only begins like it */
	assert_int_equal(w.young.list.n, 0);
	put_file(".moved/deep/b", "abc");
	assert_string_equal(happens(), "");
	put_file("inner/deep/c", "abc");
	assert_string_equal(happens(), "file inner/deep/c;");
}

static void too_many_directories_are_trouble(void **state)
{
	char name[32];
	(void)state;
	for (int i = 0; i < DIRS_MAX; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		assert_int_equal(mkdir(name, 0755), 0);
	}
	begins("*/*");
	assert_true(w.failed);
	assert_non_null(strstr(said(), "more than 500 directories meet the pattern;"));
	assert_null(strstr(said(), "looked"));
}

static void names_that_cannot_be_told_are_counted(void **state)
{
	(void)state;
	put_old("in/a\nb");
	begins_as("in/*", &(struct watch_start){.path_max = 6});
	assert_string_equal(said(), "looks;odd;looked;");
	put_file("in/abcd", "abc");
	put_file("in/abc", "abc");
	assert_string_equal(happens(), "odd;file in/abc;");
	assert_int_equal(unlink("in/abcd"), 0);
	assert_string_equal(happens(), "");
}

/* The kernel has lost count: what was missed is found. */
static void after_an_overflow_all_is_looked_at_again(void **state)
{
	const struct inotify_event e = {.wd = -1, .mask = IN_Q_OVERFLOW};
	(void)state;
	begins("in/*");
	said();
	put_old("in/a");
	take_event(&w, &e);
	assert_string_equal(said(), "looks;file in/a;looked;");
	assert_int_equal(w.dirs.n, 2);
	take_events(&w); /* of before: from nowhere now */
	assert_string_equal(said(), "");
	put_file("in/b", "abc");
	assert_string_equal(happens(), "file in/b;");
}

static void where_others_may_write_all_is_looked_at_again_and_again(void **state)
{
	(void)state;
	begins("in/*");
	assert_int_equal(w.again_ms, 0); /* this file system is no shared one */
	assert_int_equal(time_left(&w), -1);
	w.shared = true;
	look_at_all(&w);
	int left = time_left(&w);
	assert_true(left > AGAIN_MS / 2 && left <= AGAIN_MS);
}

/* ---- its life ---- */

static int status_of(pid_t pid)
{
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The process itself, as a user; it ends with the socket, whoever closes it. */
static pid_t process_of(uid_t uid)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	/* the test's end of the socket is not its */
	close(head);
	int null = open("/dev/null", O_WRONLY);
	dup2(null, STDERR_FILENO);
	if (uid && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
		_exit(99);
	_exit(watcher_run());
}

static void put_start(const char *pattern, uint32_t n)
{
	const struct watch_start start = {.n = n, .path_max = 100};
	assert_int_equal(phx_write_all(head, &start, sizeof(start)), 0);
	assert_int_equal(phx_write_all(head, pattern, strlen(pattern)), 0);
}

static void hears(const char *want)
{
	char text[512] = "";
	while (strlen(text) < strlen(want) && hear(text, sizeof(text), 0))
		;
	assert_string_equal(text, want);
}

static void as_a_process_it_watches_and_ends_with_its_socket(void **state)
{
	(void)state;
	assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
	assert_int_equal(mkdir("closed", 0700), 0); /* root's: not his to see */
	put_old("closed/a");
	put_old("in/a");
	pid_t pid = process_of(NOBODY);
	close(STDIN_FILENO);
	put_start("*/*", 3);
	hears("looks;file in/a;looked;");
	put_file("in/b", "abc");
	hears("file in/b;");
	phx_close_fd(&head);
	assert_int_equal(status_of(pid), 0);
}

/* Nothing more is told to it: who says more is not the head that started it. */
static void a_second_word_ends_it(void **state)
{
	(void)state;
	assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
	pid_t pid = process_of(NOBODY);
	close(STDIN_FILENO);
	put_start("*/*", 3);
	hears("looks;looked;");
	assert_int_equal(write(head, "x", 1), 1);
	assert_int_equal(status_of(pid), 0);
}

static void it_is_never_root(void **state)
{
	(void)state;
	pid_t pid = process_of(0);
	put_start("in/*", 4);
	assert_int_equal(status_of(pid), 1);
	assert_string_equal(said(), "");
}

static void a_pattern_that_is_too_long_is_refused(void **state)
{
	struct watch_start start = {.n = sizeof(w.pattern), .path_max = 100};
	(void)state;
	assert_int_equal(phx_write_all(head, &start, sizeof(start)), 0);
	assert_int_equal(begin(&w), -EPROTO);
	start.n = sizeof(w.pattern) - 1;
	assert_int_equal(phx_write_all(head, &start, sizeof(start)), 0);
	shutdown(head, SHUT_WR);
	assert_int_equal(begin(&w), -EPIPE); /* who starts it died at once */
	assert_string_equal(said(), "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_there_is_told),
		T(what_may_be_open_still_is_told_when_it_rests),
		T(a_time_that_lies_ahead_is_now),
		T(a_file_is_told_when_it_is_closed),
		T(it_rests_for_as_long_as_is_asked),
		T(a_file_that_is_moved_or_linked_there_has_come),
		T(what_goes_is_told_and_not_told_of_later),
		T(what_is_gone_when_its_time_comes_is_not_told),
		T(links_are_never_followed),
		T(what_is_no_file_is_not_told),
		T(a_directory_that_is_replaced_leads_nowhere_else),
		T(directories_of_users_are_no_part_of_the_whole),
		T(users_is_a_name_in_a_users_own_directory),
		T(a_new_directory_is_watched_and_looked_at),
		T(a_directory_that_leaves_is_let_go_with_all_below),
		T(too_many_directories_are_trouble),
		T(names_that_cannot_be_told_are_counted),
		T(after_an_overflow_all_is_looked_at_again),
		T(where_others_may_write_all_is_looked_at_again_and_again),
		T(as_a_process_it_watches_and_ends_with_its_socket),
		T(a_second_word_ends_it),
		T(it_is_never_root),
		T(a_pattern_that_is_too_long_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
