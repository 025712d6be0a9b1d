/* Real processes: how they start, whose they are, that their end is told once, that no other is
 * taken for one of ours. */
#include "base/process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "unit/base/test_base.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* One file of its own a test, for what a program writes. */
static int make(void **state)
{
	char *path = strdup("/tmp/phx-process.XXXXXX");
	close(mkstemp(path));
	*state = path;
	return 0;
}

static int unmake(void **state)
{
	unlink(*state);
	free(*state);
	return 0;
}

static struct phx_process start(const struct phx_launch *l)
{
	struct phx_process p = {.pidfd = -1};
	struct phx_err err = {0};
	if (phx_process_start(l, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(p.pid > 1);
	return p;
}

/* Its status; it must end soon. */
static int end_of(struct phx_process *p)
{
	assert_int_equal(phx_process_wait(p->pidfd, 10000), 0);
	int status = phx_process_status(p->pidfd);
	assert_int_equal(phx_process_status(p->pidfd), -ECHILD); /* told once */
	phx_close_fd(&p->pidfd);
	return status;
}

/* What a program writes that starts so. */
static char *said_by(struct phx_launch l, const char *path)
{
	char *text = NULL;
	PHX_AUTO_CLOSE int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	l.out = fd;
	struct phx_process p = start(&l);
	assert_int_equal(end_of(&p), 0);
	assert_int_equal(phx_file_read(path, 65536, &text, NULL, NULL), 0);
	return text;
}

static void assert_said(const struct phx_launch *l, const char *path, const char *expected)
{
	PHX_AUTO_FREE char *text = said_by(*l, path);
	assert_string_equal(text, expected);
}

static void test_end_is_told_once(void **state)
{
	(void)state;
	struct phx_process p = start(&(struct phx_launch){.argv = ARGV("sh", "-c", "exit 7")});
	assert_int_equal(end_of(&p), 7);
	p = start(&(struct phx_launch){.argv = ARGV("sleep", "1000")});
	assert_int_equal(phx_process_wait(p.pidfd, 0), -ETIMEDOUT);
	int64_t begin = phx_clock_ms();
	assert_int_equal(phx_process_wait(p.pidfd, 100), -ETIMEDOUT);
	assert_in_range(phx_clock_ms() - begin, 100, 5000);
	assert_int_equal(phx_process_signal(p.pidfd, SIGUSR1), 0);
	assert_int_equal(phx_process_wait(p.pidfd, 10000), 0);
	assert_int_equal(phx_process_signal(p.pidfd, 0), 0); /* not collected yet */
	assert_int_equal(end_of(&p), 128 + SIGUSR1);
}

static int refuse(const void *arg)
{
	(void)arg;
	return -EDQUOT;
}

static void test_what_cannot_start_leaves_nothing(void **state)
{
	(void)state;
	const struct {
		struct phx_launch l;
		int r;
	} cases[] = {
		{{.argv = ARGV("/nosuch/program")}, -ENOENT},
		{{.argv = ARGV("nosuch-program")}, -ENOENT},
		{{.argv = ARGV("/etc/passwd")}, -EACCES},
		{{.argv = ARGV("true"), .dir = "/nosuch"}, -ENOENT},
		{{.argv = ARGV("true"), .user_dir = "/nosuch"}, -ENOENT},
		{{.argv = ARGV("true"), .out = 9999}, -EBADF},
		{{.argv = ARGV("true"), .prepare = refuse}, -EDQUOT},
		{{.argv = ARGV("true"),
		  .as = &(struct phx_run_as){.uid = UINT32_MAX, .gid = 65534}},
		 -EPERM},
		{{.argv = ARGV("true"),
		  .as = &(struct phx_run_as){.uid = 65534, .gid = UINT32_MAX}},
		 -EPERM},
		{{.argv = ARGV("true"), .env = ARGV("PATH=/nosuch")}, -ENOENT},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_process p = {.pid = 12, .pidfd = 34};
		struct phx_err err = {0};
		assert_int_equal(phx_process_start(&cases[i].l, &p, &err), cases[i].r);
		assert_says(&err, cases[i].l.argv[0]);
		assert_int_equal(p.pid, 12);
		assert_int_equal(p.pidfd, 34);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	}
}

static void test_environment_and_place(void **state)
{
	assert_said(
		&(struct phx_launch){
			.argv = ARGV("sh", "-c", "echo \"$A$HOME\"; pwd; readlink /proc/$$/fd/0"),
			.env = ARGV("A=b c", "PATH=/usr/bin:/bin"),
			.dir = "/usr",
			.user_dir = "bin/.."},
		*state, "b c\n/usr\n/dev/null\n");
}

/* Its own directory is entered with the rights that it has. */
static void test_rights(void **state)
{
	if (geteuid() != 0)
		skip();
	const struct phx_run_as nobody = {
		.uid = 65534, .gid = 65533, .n_groups = 2, .groups = {27, 44}};
	char closed[] = "/tmp/phx-closed.XXXXXX";
	assert_non_null(mkdtemp(closed));
	struct phx_launch l = {
		.argv = ARGV("sh", "-c", "id -u; id -g; id -G; grep CapEff /proc/self/status"),
		.as = &nobody,
		.dir = closed};
	assert_said(&l, *state, "65534\n65533\n65533 27 44\nCapEff:\t0000000000000000\n");
	struct phx_process p;
	l.user_dir = closed;
	assert_int_equal(phx_process_start(&l, &p, NULL), -EACCES);
	rmdir(closed);
}

static void test_groups(void **state)
{
	static const char ids[] = "ps -o pgid=,sid= -p $$ | tr -s ' ' | sed 's/^ //'; echo $$";
	static const int own[] = {
		[PHX_GROUP_SHARED] = 0, [PHX_GROUP_OWN] = 1, [PHX_GROUP_SESSION] = 2};
	for (int group = PHX_GROUP_SHARED; group <= PHX_GROUP_SESSION; group++) {
		struct phx_launch l = {.argv = ARGV("sh", "-c", ids),
				       .group = (enum phx_launch_group)group};
		PHX_AUTO_FREE char *text = said_by(l, *state);
		int pgid, sid, pid;
		assert_int_equal(sscanf(text, "%d %d %d", &pgid, &sid, &pid), 3);
		assert_int_equal(pgid, own[group] ? pid : getpgrp());
		assert_int_equal(sid, own[group] == 2 ? pid : getsid(0));
	}
}

/* What we ignore and block is not its business; but nohup is obeyed, unless it is to have nothing
 * of ours. */
static void test_signals(void **state)
{
	/* 0x180000000: two signals of the C library, which nobody can set; who runs the tests may
	 * ignore them */
	static const char masks[] = "sed -n 's/^Sig\\(Blk\\|Ign\\):\\t/\\1 /p' /proc/self/status | "
				    "sed 's/ 0000000180/ 0000000000/; s/ 0*/ /'";
	struct phx_launch l = {.argv = ARGV("sh", "-c", masks)};
	sigset_t usr, old;
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr, &old);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	assert_said(&l, *state, "Blk \nIgn 1\n");
	l.group = PHX_GROUP_SESSION;
	assert_said(&l, *state, "Blk \nIgn \n");
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void test_no_descriptor_passes(void **state)
{
	int careless = fcntl(STDERR_FILENO, F_DUPFD, 123);
	assert_int_equal(careless, 123);
	PHX_AUTO_FREE char *text =
		said_by((struct phx_launch){.argv = ARGV("sh", "-c", "ls /proc/$$/fd")}, *state);
	assert_memory_equal(text, "0\n1\n", 4);
	assert_null(strstr(text, "123"));
	close(careless);
}

static bool gone_soon(pid_t pid)
{
	for (int i = 0; i < 500 && phx_process_since(pid); i++)
		phx_sleep_ms(10);
	return phx_process_since(pid) == 0;
}

static void test_death_signal(void **state)
{
	const char *path = *state;
	pid_t between = fork();
	if (between == 0) {
		struct phx_process p;
		const struct phx_launch l = {.argv = ARGV("sleep", "1000"),
					     .death_signal = SIGTERM};
		_exit(phx_process_start(&l, &p, NULL) < 0 ||
		      phx_process_note(path, p.pid, NULL) < 0);
	}
	int status = -1;
	assert_int_equal(waitpid(between, &status, 0), between);
	assert_int_equal(status, 0);
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(path, 64, &text, NULL, NULL), 0);
	assert_true(atoi(text) > 1);
	assert_true(gone_soon(atoi(text)));
}

static void test_notes(void **state)
{
	const char *path = *state;
	struct phx_process p = start(&(struct phx_launch){.argv = ARGV("sleep", "1000")});
	char text[64];
	assert_int_equal(phx_process_note(path, p.pid, NULL), 0);
	assert_int_equal(phx_process_noted(path), p.pid);
	static const char *const others[] = {"%d %llu\n", "%d\n", "%d 0\n", "nonsense\n", ""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		/* one of its number, that started a tick later */
		int n = snprintf(text, sizeof(text), others[i], (int)p.pid,
				 (unsigned long long)phx_process_since(p.pid) + 1);
		assert_int_equal(phx_file_write(path, text, (size_t)n, 0644, NULL), 0);
		assert_int_equal(phx_process_noted(path), 0);
		assert_int_equal(phx_process_end_noted(path, false, 0, NULL), 0);
		assert_int_equal(access(path, F_OK), -1);
	}
	assert_int_equal(phx_process_wait(p.pidfd, 0), -ETIMEDOUT);
	assert_int_equal(phx_process_note(path, p.pid, NULL), 0);
	assert_int_equal(phx_process_end_noted(path, false, 5000, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(phx_process_since(p.pid), 0); /* nobody collected it yet */
	assert_int_equal(end_of(&p), 128 + SIGTERM);
	assert_int_equal(phx_process_noted("/nosuch/file"), 0);
}

/* It is asked first; who does not listen is killed, and with a group all that belongs to it. */
static void test_end(void **state)
{
	const char *path = *state;
	static const char script[] =
		"trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >$0; sleep 1000' $0 & "
		"until [ -s $0 ]; do sleep 0.01; done; exec sleep 1000";
	for (int group = 0; group < 2; group++) {
		assert_int_equal(truncate(path, 0), 0);
		struct phx_process p = start(&(struct phx_launch){
			.argv = ARGV("sh", "-c", script, path), .group = PHX_GROUP_OWN});
		PHX_AUTO_FREE char *text = NULL;
		struct stat st = {0};
		for (int i = 0; i < 500 && st.st_size == 0; i++, stat(path, &st))
			phx_sleep_ms(10);
		assert_int_equal(phx_file_read(path, 64, &text, NULL, NULL), 0);
		pid_t child = atoi(text);
		assert_true(child > 1);
		assert_int_equal(phx_process_end(p.pid, group, 100, NULL), 0);
		assert_int_equal(end_of(&p), 128 + SIGKILL);
		assert_true(group ? gone_soon(child) : phx_process_since(child) > 0);
		kill(-p.pid, SIGKILL);
	}
	assert_int_equal(phx_process_end(INT32_MAX - 1, false, 0, NULL), 0); /* there is none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_end_is_told_once, make, unmake),
		cmocka_unit_test_setup_teardown(test_what_cannot_start_leaves_nothing, make,
						unmake),
		cmocka_unit_test_setup_teardown(test_environment_and_place, make, unmake),
		cmocka_unit_test_setup_teardown(test_rights, make, unmake),
		cmocka_unit_test_setup_teardown(test_groups, make, unmake),
		cmocka_unit_test_setup_teardown(test_signals, make, unmake),
		cmocka_unit_test_setup_teardown(test_no_descriptor_passes, make, unmake),
		cmocka_unit_test_setup_teardown(test_death_signal, make, unmake),
		cmocka_unit_test_setup_teardown(test_notes, make, unmake),
		cmocka_unit_test_setup_teardown(test_end, make, unmake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
