/* What services under systemd wrote, from a real journald that has a /run of its own; skipped where
 * there is none, or where mounts cannot be made. */
#include "unit/agent/scratch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent/service_journal.h"
#include "base/clock.h"

#define JOURNALD "/usr/lib/systemd/systemd-journald"
#define SOCKET "/run/systemd/journal/stdout"

static pid_t journald;

static bool give_machine_id(void)
{
	static const char id[] = "0123456789abcdef0123456789abcdef\n";
	struct stat st;
	if (stat("/etc/machine-id", &st) < 0 || st.st_size > 0)
		return true; /* as it is, or none: journald then keeps its own */
	return phx_file_write("/run/machine-id", id, strlen(id), 0444, NULL) == 0 &&
		mount("/run/machine-id", "/etc/machine-id", NULL, MS_BIND, NULL) == 0;
}

static int start(void **state)
{
	(void)state;
	if (geteuid() != 0 || access(JOURNALD, X_OK) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/run", "tmpfs", 0, NULL) < 0 ||
	    phx_dir_make("/run/systemd/journal", 0755, NULL) < 0 || !give_machine_id() ||
	    (journald = fork()) < 0) {
		journald = 0;
		return 0;
	}
	if (journald == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(JOURNALD, JOURNALD, NULL);
		_exit(127);
	}
	for (int i = 0;
	     i < 200 && access(SOCKET, F_OK) < 0 && waitpid(journald, NULL, WNOHANG) == 0; i++)
		phx_sleep_ms(50);
	if (access(SOCKET, F_OK) < 0) {
		kill(journald, SIGKILL);
		journald = 0;
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (journald) {
		kill(journald, SIGKILL);
		waitpid(journald, NULL, 0);
	}
	return 0;
}

/* Lines of a unit, in journald's own protocol for the stdout of services. By a process of its own:
 * journald remembers whose a process was. */
static void write_as(const char *unit, const char *lines)
{
	pid_t pid = fork();
	if (pid > 0) {
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		return;
	}
	struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	char head[128];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(head, sizeof(head), "sh\n%s\n6\n0\n0\n0\n0\n", unit);
	bool sent = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		write(fd, head, (size_t)n) == n &&
		write(fd, lines, strlen(lines)) == (ssize_t)strlen(lines);
	phx_sleep_ms(300); /* it is looked at while it lives */
	_exit(!sent);
}

static const char *invocation = "";

static char *ask(const char *from, uint32_t lines, uint32_t wait_ms,
		 char cursor[SERVICE_CURSOR_MAX])
{
	struct service_log_ask a = {.lines = lines, .wait_ms = wait_ms, .words = true};
	PHX_STR_SET(a.invocation, invocation);
	struct phx_buf b = {0};
	struct phx_err err = {0};
	PHX_STR_SET(a.cursor, from);
	if (service_journal_read("phx-web.service", &a, &b, cursor, &err) < 0)
		fail_msg("%s", err.text);
	return phx_buf_take(&b);
}

static bool says(const char *from, uint32_t lines, const char *expected,
		 char cursor[SERVICE_CURSOR_MAX])
{
	PHX_AUTO_FREE char *text = ask(from, lines, 0, cursor);
	return phx_str_eq(text, expected);
}

static void *write_late(void *arg)
{
	phx_sleep_ms(500);
	write_as("phx-web.service", arg);
	return NULL;
}

static void test_journal(void **state)
{
	char cursor[SERVICE_CURSOR_MAX] = "", after[SERVICE_CURSOR_MAX] = "";
	pthread_t late;
	(void)state;
	if (!journald)
		skip();
	assert_true(says("", 3, "", cursor));
	assert_string_equal(cursor, "");
	write_as("phx-other.service", "not ours\n");
	write_as("phx-web.service", "one\ntwo\nthree\nfour\n");
	write_as("phx-other.service", "not ours\n");
	for (int i = 0; i < 100 && !says("", 3, "two\nthree\nfour\n", cursor); i++)
		phx_sleep_ms(100);
	assert_true(says("", 3, "two\nthree\nfour\n", cursor));
	assert_true(says(cursor, 3, "", after)); /* nothing behind the last */
	assert_string_equal(after, cursor);
	assert_true(says("", 100, "one\ntwo\nthree\nfour\n", cursor));
	/* where what is written from now on begins */
	assert_true(says("", 0, "", cursor));
	assert_string_not_equal(cursor, "");
	PHX_AUTO_FREE char *none = ask(cursor, 3, 50, after);
	assert_string_equal(none, "");
	assert_int_equal(pthread_create(&late, NULL, write_late, (void *)"five\n"), 0);
	PHX_AUTO_FREE char *more = ask(cursor, 3, 20000, after);
	pthread_join(late, NULL);
	assert_string_equal(more, "five\n");
	assert_true(says(after, 3, "", cursor));
}

/* As systemd leaves it for journald: which start of the unit this is. */
static void set_invocation(const char *id)
{
	static const char link[] = "/run/systemd/units/invocation:phx-web.service";
	assert_int_equal(phx_dir_make("/run/systemd/units", 0755, NULL), 0);
	unlink(link);
	assert_int_equal(symlink(id, link), 0);
}

/* An earlier unit of the name, of another role maybe, is another's. */
static void test_only_of_one_start(void **state)
{
	static const char first[] = "11111111111111111111111111111111",
			  second[] = "22222222222222222222222222222222";
	char cursor[SERVICE_CURSOR_MAX] = "";
	(void)state;
	if (!journald)
		skip();
	set_invocation(first);
	write_as("phx-web.service", "of the first\n");
	set_invocation(second);
	write_as("phx-web.service", "of the second\n");
	invocation = "";
	for (int i = 0; i < 100 && !says("", 2, "of the first\nof the second\n", cursor); i++)
		phx_sleep_ms(100);
	assert_true(says("", 2, "of the first\nof the second\n", cursor));
	invocation = first;
	assert_true(says("", 100, "of the first\n", cursor));
	invocation = second;
	assert_true(says("", 100, "of the second\n", cursor));
	invocation = "33333333333333333333333333333333";
	assert_true(says("", 100, "", cursor));
	invocation = "";
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_journal),
					   cmocka_unit_test(test_only_of_one_start)};
	return cmocka_run_group_tests(tests, start, end);
}
