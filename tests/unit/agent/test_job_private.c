/* What a run of a job has for its own, and what its user leaves: real namespaces, real processes of
 * a user whom no other test has. */
#include "unit/agent/scratch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "agent/job_private.h"
#include "agent/job_user.h"

enum { SOMEBODY = 48123, ANOTHER = 48124, KEY = 0x70687801 };

static const struct job_run run = {7, 1};

static pid_t sleeper_of(uid_t uid)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void)!setresuid(uid, uid, uid);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool makes(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	return fd >= 0 && close(fd) == 0;
}

/* The name of what does not hold in the job, "" nothing. */
static const char *look_around(pid_t other)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", (int)other);
	if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 ||
	    setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0)
		return "user";
	return !makes("/tmp/phx-left")                        ? "/tmp"
		: !makes("/var/tmp/phx-left")                 ? "/var/tmp"
		: !makes("/dev/shm/phx-left")                 ? "/dev/shm"
		: shmget(KEY, 4096, 0) >= 0                   ? "IPC of the machine"
		: shmget(KEY, 4096, IPC_CREAT | 0600) < 0     ? "IPC of its own"
		: access("/proc/self/status", R_OK) < 0       ? "/proc/self"
		: access(path, F_OK) == 0                     ? "processes of others"
		: prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ? "no new privileges"
							      : "";
}

static void test_places_are_its_own(void **state)
{
	const struct scratch *s = *state;
	PHX_AUTO_FREE char *dir = job_private_dir(s->dir, run);
	char said[64] = "";
	int fds[2], shm = shmget(KEY, 4096, IPC_CREAT | 0666);
	pid_t other = sleeper_of(ANOTHER);
	assert_true(shm >= 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(job_private_make(s->dir, run, NULL), 0);
	pid_t pid = fork();
	if (pid == 0) {
		const char *what = "";
		if (job_private_enter(dir, &what) == 0)
			what = look_around(other);
		(void)!write(fds[1], what, strlen(what));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fds[1]);
	(void)!read(fds[0], said, sizeof(said) - 1);
	close(fds[0]);
	assert_int_equal(shmctl(shm, IPC_RMID, NULL), 0);
	end_sleeper(other);
	assert_string_equal(said, "");
	assert_false(exists("/tmp/phx-left"));
	assert_false(exists("/var/tmp/phx-left"));
	assert_false(exists("/dev/shm/phx-left"));
	/* they are on the node's disk, and go with the run */
	assert_true(exists(scratch_path(s, "7.1.private/tmp/phx-left")));
	assert_true(exists(scratch_path(s, "7.1.private/var-tmp/phx-left")));
	assert_int_equal(job_private_make(s->dir, run, NULL), 0);
	assert_false(exists(scratch_path(s, "7.1.private/tmp/phx-left")));
}

static void test_others_do_not_come_in(void **state)
{
	const struct scratch *s = *state;
	struct stat st;
	assert_int_equal(job_private_make(s->dir, run, NULL), 0);
	assert_int_equal(stat(scratch_path(s, "7.1.private"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(scratch_path(s, "7.1.private/tmp"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 01777);
}

static void test_entering_nothing_fails(void **state)
{
	const struct scratch *s = *state;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		const char *what = "";
		int r = job_private_enter(scratch_path(s, "none"), &what);
		_exit(r == -ENOENT && !strcmp(what, scratch_path(s, "none")) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_hides(void **state)
{
	(void)state;
	assert_true(job_private_hides("/tmp"));
	assert_true(job_private_hides("/var/tmp/phoenix"));
	assert_false(job_private_hides("/tmpfiles"));
	assert_false(job_private_hides("/var/cache/phoenix"));
}

/* ---- what a user leaves ---- */

static void test_person(void **state)
{
	(void)state;
	static const struct {
		uid_t uid;
		bool person;
	} cases[] = {{0, false},     {33, false},    {999, false},   {1000, true},
		     {60000, true},  {60001, false}, {62000, false}, {65534, false},
		     {65535, false}, {65536, true},  {200000, true}, {UINT32_MAX, false}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
		if (job_user_is_person(cases[i].uid) != cases[i].person)
			fail_msg("%u", cases[i].uid);
}

static void give(const char *path, uid_t uid)
{
	assert_int_equal(lchown(path, uid, uid), 0);
}

static void fill_node(const struct scratch *s)
{
	static const char *const dirs[] = {"tmp/his",
					   "tmp/other",
					   "var/tmp",
					   "dev/shm",
					   "run/lock",
					   "var/spool/cron/crontabs",
					   "var/lib/systemd/linger",
					   "home"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		assert_int_equal(phx_dir_make(scratch_path(s, dirs[i]), 0755, NULL), 0);
	write_text(scratch_path(s, "tmp/his/file"), "x", 0600);
	write_text(scratch_path(s, "tmp/other/file"), "x", 0600);
	write_text(scratch_path(s, "home/file"), "x", 0600);
	write_text(scratch_path(s, "var/spool/cron/crontabs/him"), "x", 0600);
	write_text(scratch_path(s, "var/lib/systemd/linger/him"), "", 0644);
	write_text(scratch_path(s, "var/lib/systemd/linger/other"), "", 0644);
	assert_int_equal(symlink("../home", scratch_path(s, "tmp/link")), 0);
	give(scratch_path(s, "tmp/his"), SOMEBODY);
	give(scratch_path(s, "tmp/link"), SOMEBODY);
	give(scratch_path(s, "tmp/other"), ANOTHER);
	give(scratch_path(s, "home/file"), SOMEBODY);
	give(scratch_path(s, "var/spool/cron/crontabs/him"), SOMEBODY);
}

/* Leaves in a machine whose list of users has him. */
static void leave(const struct scratch *s, uid_t uid)
{
	char *users = scratch_path(s, "passwd");
	write_text(users, "root:x:0:0::/root:/bin/sh\nhim:x:48123:48123::/:/bin/sh\n", 0644);
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount(users, "/etc/passwd", NULL, MS_BIND, NULL) < 0)
			_exit(1);
		job_user_leave(s->dir, uid);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool runs(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void test_user_leaves_nothing(void **state)
{
	const struct scratch *s = *state;
	fill_node(s);
	int shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	int foreign = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	struct shmid_ds ds;
	assert_int_equal(shmctl(shm, IPC_STAT, &ds), 0);
	ds.shm_perm.uid = SOMEBODY;
	assert_int_equal(shmctl(shm, IPC_SET, &ds), 0);
	pid_t his = sleeper_of(SOMEBODY), other = sleeper_of(ANOTHER);
	leave(s, SOMEBODY);
	bool his_runs = runs(his), other_runs = runs(other);
	end_sleeper(other);
	bool his_memory = shmctl(shm, IPC_STAT, &ds) == 0;
	bool foreign_memory = shmctl(foreign, IPC_RMID, NULL) == 0;
	assert_false(his_runs);
	assert_true(other_runs);
	assert_false(his_memory);
	assert_true(foreign_memory);
	assert_false(exists(scratch_path(s, "tmp/his")));
	assert_false(exists(scratch_path(s, "tmp/link")));
	assert_true(exists(scratch_path(s, "tmp/other/file")));
	assert_true(exists(scratch_path(s, "home/file")));
	assert_false(exists(scratch_path(s, "var/spool/cron/crontabs/him")));
	assert_false(exists(scratch_path(s, "var/lib/systemd/linger/him")));
	assert_true(exists(scratch_path(s, "var/lib/systemd/linger/other")));
}

static void test_system_account_keeps_all(void **state)
{
	const struct scratch *s = *state;
	assert_int_equal(phx_dir_make(scratch_path(s, "tmp"), 0755, NULL), 0);
	write_text(scratch_path(s, "tmp/file"), "x", 0600);
	give(scratch_path(s, "tmp/file"), 65534);
	leave(s, 65534);
	assert_true(exists(scratch_path(s, "tmp/file")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_places_are_its_own, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_others_do_not_come_in, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_entering_nothing_fails, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(test_hides),
		cmocka_unit_test(test_person),
		cmocka_unit_test_setup_teardown(test_user_leaves_nothing, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_system_account_keeps_all, scratch_setup,
						scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
