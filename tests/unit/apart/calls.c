/* What a process that was taken over tries, seen from inside: each row of the processes is kept by
 * a process of this test, which makes each call of a table. A call is made so that it fails with
 * another error than EPERM, or does nothing, where it is let through. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <unistd.h>

#include "apart/calls.h"

enum { VAULT = 1, HELPER = 2, HEAD = 4, RUNNER = 8, HANDS = 16, LAUNCHER = 32, DOOR = 64 };
enum {
	NOBODY = 0,
	LAUNCHES = RUNNER | HANDS | LAUNCHER, /* who starts programs */
	CALLS = LAUNCHES | HEAD,
	ALL = CALLS | VAULT | HELPER | DOOR,
#ifdef __SANITIZE_ADDRESS__
	TRACES = LAUNCHES,
#else
	TRACES = NOBODY,
#endif
};

static const struct {
	const char *name;
	uint32_t groups;
	unsigned bit;
} processes[] = {
	{"vault", PHX_CALLS_vault, VAULT}, {"helper", PHX_CALLS_helper, HELPER},
	{"head", PHX_CALLS_head, HEAD},    {"runner", PHX_CALLS_runner, RUNNER},
	{"hands", PHX_CALLS_hands, HANDS}, {"launcher", PHX_CALLS_launcher, LAUNCHER},
	{"door", PHX_CALLS_door, DOOR},
};

/* Upper bits that the kernel does not look at. */
#define BEYOND (1l << 40)
#define UNKNOWN_CALL 500

/* who: whom it is let through to; as it is called below, with the error that it has there */
static const struct attempt {
	unsigned who;
	const char *name;
	long call, args[6];
} attempts[] = {
	/* programs and processes */
	{LAUNCHES, "execve", SYS_execve, {0}},
	{NOBODY, "execveat", SYS_execveat, {-1}},
	{LAUNCHES, "a process: clone", SYS_clone, {CLONE_SIGHAND}},
	{NOBODY, "a user namespace: clone", SYS_clone, {CLONE_NEWUSER | CLONE_THREAD}},
	{NOBODY,
	 "a user namespace, beyond its flags: clone",
	 SYS_clone,
	 {BEYOND | CLONE_NEWUSER | CLONE_THREAD}},
	{CALLS, "a thread without memory: clone", SYS_clone, {CLONE_THREAD}},
	{LAUNCHES, "kill", SYS_kill, {0, 999}},
	{TRACES, "ptrace", SYS_ptrace, {-1}},
	{NOBODY, "process_vm_readv", SYS_process_vm_readv, {-1, 0, 0, 0, 0, 1}},
	{NOBODY, "process_vm_writev", SYS_process_vm_writev, {-1, 0, 0, 0, 0, 1}},
	{LAUNCHES, "pidfd_open", SYS_pidfd_open, {-1}},
	{NOBODY, "pidfd_getfd", SYS_pidfd_getfd, {-1}},
	{NOBODY, "kcmp", SYS_kcmp, {-1}},
	{LAUNCHES, "limits of another", SYS_prlimit64, {0, 99, (long)"........"}},
	{ALL, "its limits", SYS_prlimit64, {0, 99}},
	/* somebody else */
	{LAUNCHES, "setuid", SYS_setuid, {-1}},
	{LAUNCHES, "setresgid", SYS_setresgid, {-1, -1, -1}},
	{LAUNCHER, "setgroups", SYS_setgroups, {1, 1}},
	{LAUNCHER, "capset", SYS_capset, {0}},
	{NOBODY, "keyctl", SYS_keyctl, {-1}},
	{NOBODY, "add_key", SYS_add_key, {0}},
	{LAUNCHES, "prctl", SYS_prctl, {PR_SET_DUMPABLE, 9}},
	{ALL, "its name", SYS_prctl, {PR_SET_NAME, 1}},
	/* memory */
	{LAUNCHES,
	 "memory to write and run: mmap",
	 SYS_mmap,
	 {0, 0, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1}},
	{ALL, "a library: mmap", SYS_mmap, {0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE, -1}},
	{LAUNCHES,
	 "what was written is run: mprotect",
	 SYS_mprotect,
	 {1, 4096, PROT_READ | PROT_EXEC}},
	{LAUNCHES,
	 "likewise, beyond its flags: mprotect",
	 SYS_mprotect,
	 {1, 4096, BEYOND | PROT_READ | PROT_EXEC}},
	{LAUNCHES, "memfd_create", SYS_memfd_create, {0}},
	/* sockets */
	{CALLS | DOOR, "a Unix socket", SYS_socket, {AF_UNIX, 99}},
	{CALLS | DOOR, "an IP socket", SYS_socket, {AF_INET, 99}},
	{CALLS | DOOR, "addresses", SYS_socket, {AF_NETLINK, 99, NETLINK_ROUTE}},
	{DOOR, "the kernel's audit", SYS_socket, {AF_NETLINK, 99, NETLINK_AUDIT}},
	{NOBODY, "nftables", SYS_socket, {AF_NETLINK, 99, NETLINK_NETFILTER}},
	{HANDS | LAUNCHER, "frames", SYS_socket, {AF_PACKET, 99}},
	{NOBODY, "a socket of the kernel's ciphers", SYS_socket, {AF_ALG, 99}},
	{NOBODY, "a socket to a hypervisor", SYS_socket, {AF_VSOCK, 99}},
	{NOBODY, "an IP socket by pair", SYS_socketpair, {AF_INET, 99}},
	{LAUNCHER, "listen", SYS_listen, {-1}},
	{HEAD | LAUNCHER, "accept4", SYS_accept4, {-1}},
	{CALLS | DOOR, "connect", SYS_connect, {-1}},
	/* ioctl */
	{ALL, "a terminal?", SYS_ioctl, {-1, TCGETS}},
	{NOBODY, "type for somebody: ioctl", SYS_ioctl, {-1, TIOCSTI}},
	{NOBODY, "likewise, beyond its number: ioctl", SYS_ioctl, {-1, BEYOND | TIOCSTI}},
	{LAUNCHES, "an interface: ioctl", SYS_ioctl, {-1, SIOCGIFHWADDR}},
	{NOBODY, "a disk: ioctl", SYS_ioctl, {-1, 0x1277}},
	/* the machine */
	{NOBODY, "mount", SYS_mount, {0}},
	{NOBODY, "umount2", SYS_umount2, {0}},
	{NOBODY, "move_mount", SYS_move_mount, {-1}},
	{NOBODY, "open_tree", SYS_open_tree, {-1}},
	{NOBODY, "fsopen", SYS_fsopen, {0, 99}},
	{NOBODY, "pivot_root", SYS_pivot_root, {0}},
	{NOBODY, "unshare", SYS_unshare, {-1}},
	{NOBODY, "setns", SYS_setns, {-1}},
	{NOBODY, "reboot", SYS_reboot, {0}},
	{NOBODY, "kexec_load", SYS_kexec_load, {0, 0, 0, -1}},
	{NOBODY, "init_module", SYS_init_module, {0}},
	{NOBODY, "bpf", SYS_bpf, {-1}},
	{NOBODY, "perf_event_open", SYS_perf_event_open, {0}},
	{NOBODY, "userfaultfd", SYS_userfaultfd, {-1}},
	{NOBODY, "io_uring_setup", SYS_io_uring_setup, {0}},
	{NOBODY, "open_by_handle_at", SYS_open_by_handle_at, {-1}},
	{LAUNCHES, "mknodat", SYS_mknodat, {-1}},
	{NOBODY, "settimeofday", SYS_settimeofday, {1, 1}},
	{NOBODY, "clock_settime", SYS_clock_settime, {99}},
	{LAUNCHER, "adjtimex", SYS_adjtimex, {0}},
	{NOBODY, "sethostname", SYS_sethostname, {0, -1}},
	{NOBODY, "syslog", SYS_syslog, {99}},
	{NOBODY, "personality", SYS_personality, {-1}},
	{NOBODY, "quotactl", SYS_quotactl, {-1}},
	{NOBODY, "shmget", SYS_shmget, {0}},
	{NOBODY, "msgget", SYS_msgget, {-1}},
	/* files, which Landlock and the user bound */
	{ALL, "openat", SYS_openat, {-1}},
	{ALL, "unlinkat", SYS_unlinkat, {-1}},
	{LAUNCHES, "to give a file away: fchownat", SYS_fchownat, {-1}},
	{LAUNCHES, "landlock_create_ruleset", SYS_landlock_create_ruleset, {0}},
	{LAUNCHES, "seccomp", SYS_seccomp, {99}},
};

static bool is_let_through(const struct attempt *a)
{
	const long *v = a->args;
	errno = 0;
	return syscall(a->call, v[0], v[1], v[2], v[3], v[4], v[5]) != -1 || errno != EPERM;
}

static void *nothing(void *arg)
{
	return arg;
}

/* What any program needs of the C library. */
static bool has_threads(void)
{
	pthread_t thread;
	return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static bool knows_names(void)
{
	return getpwnam("root") && getpwnam("root")->pw_uid == 0;
}

static bool starts_programs(void)
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* As the C library of another day asks: it goes on with what it knows, and nothing is told. */
static bool knows_no_newer(long call)
{
	errno = 0;
	return syscall(call, 0, 0) == -1 && errno == ENOSYS;
}

static int differs(const char *process, const char *name, bool is, bool should)
{
	if (is == should)
		return 0;
	fprintf(stderr, "%s: %s: %s\n", process, name, is ? "let through" : "refused");
	return 1;
}

/* What nobody may here, whatever his filter (who is not root; a kernel that is set so), says
 * nothing of the filter. */
static bool open_before[PHX_ARRAY_SIZE(attempts)];

static int look_before(void **state)
{
	size_t n = 0;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(attempts); i++)
		n += open_before[i] = is_let_through(&attempts[i]);
	return n > PHX_ARRAY_SIZE(attempts) / 2 ? 0 : -1;
}

/* How many are not as the table says. */
static int look(size_t which)
{
	const char *process = processes[which].name;
	unsigned bit = processes[which].bit;
	int wrong = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(attempts); i++)
		if (open_before[i])
			wrong += differs(process, attempts[i].name, is_let_through(&attempts[i]),
					 attempts[i].who & bit);
	wrong += differs(process, "threads", has_threads(), CALLS & bit);
	wrong += differs(process, "names", knows_names(), true);
	wrong += differs(process, "programs", starts_programs(), LAUNCHES & bit);
	wrong += differs(process, "clone3", !knows_no_newer(SYS_clone3), false);
	return wrong + differs(process, "newer", !knows_no_newer(UNKNOWN_CALL), false);
}

static void a_process_makes_the_calls_of_its_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(processes); i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0)
			_exit(phx_calls_keep(processes[i].groups, "it", NULL) < 0 ? 255 : look(i));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/* The launcher starts the others: theirs hold beneath its own. */
static int look_beneath(void)
{
	return phx_calls_keep(PHX_CALLS_launcher, "it", NULL) < 0 ? 254
		: phx_calls_keep(PHX_CALLS_head, "it", NULL) < 0  ? 255
								  : look(2);
}

static void rows_hold_beneath_the_launchers(void **state)
{
	int status;
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		_exit(look_beneath());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- what stays ---- */

static int look_at_groups(void)
{
	static const gid_t others[] = {4711, 4712};
	gid_t mine[2] = {0};
	if (setgroups(1, others) < 0 || phx_calls_keep(PHX_CALLS_tftpd, "it", NULL) < 0)
		return 255;
	return (setgroups(2, others) != 0 ? 1 : 0) | (getgroups(2, mine) != 1 ? 2 : 0) |
		(mine[0] != others[0] ? 4 : 0);
}

/* in.tftpd ends where it cannot set the groups that it has. */
static void groups_stay_and_that_is_no_failure(void **state)
{
	int status;
	(void)state;
	if (geteuid() != 0)
		skip();
	pid_t pid = fork();
	if (pid == 0)
		_exit(look_at_groups());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the log of the system ---- */

/* As in.tftpd has it: descriptor 0 is a socket that was given, and syslog(3) sends into it, also
 * after it could not; other sockets are what they were. */
static int say(int given)
{
	if (dup2(given, 0) < 0 || phx_calls_keep(PHX_CALLS_tftpd, "it", NULL) < 0)
		return 255;
	openlog("it", LOG_NDELAY, LOG_DAEMON);
	syslog(LOG_NOTICE, "first");
	closelog();
	syslog(LOG_NOTICE, "second");
	int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return (other > 0 ? 0 : 1) | (close(other) == 0 ? 0 : 2) |
		(fcntl(other, F_GETFD) < 0 ? 0 : 4);
}

static void what_goes_to_the_log_of_the_system_goes_to_whom_it_was_given(void **state)
{
	static const char *const words[] = {"first", "second"};
	int ends[2], status;
	char text[200];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(say(ends[1]));
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		ssize_t n = recv(ends[0], text, sizeof(text) - 1, 0);
		assert_true(n > 0);
		text[n] = '\0';
		assert_int_equal(text[0], '<');
		assert_non_null(strstr(text, words[i]));
	}
	assert_int_equal(recv(ends[0], text, sizeof(text), 0), 0);
	close(ends[0]);
}

/* ---- who is told ---- */

/* Whether a filter of a process makes the kernel tell what it refuses; `n`: 0 is the first. */
static int is_told(pid_t pid, uint64_t n, bool *ret)
{
	struct __ptrace_seccomp_metadata of = {.filter_off = n};
	if (ptrace(PTRACE_SECCOMP_GET_METADATA, pid, sizeof(of), &of) < 0)
		return -errno;
	*ret = of.flags & SECCOMP_FILTER_FLAG_LOG;
	return 0;
}

static void what_is_refused_is_told_by_the_kernel(void **state)
{
	int way[2];
	char one = 0;
	bool first = true, second = false;
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, way), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(way[0]);
		if (phx_calls_keep(PHX_CALLS_vault, "it", NULL) < 0 || write(way[1], &one, 1) != 1)
			_exit(1);
		_exit(read(way[1], &one, 1) < 0);
	}
	close(way[1]);
	assert_int_equal(read(way[0], &one, 1), 1);
	bool traced = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 &&
		ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 && waitpid(pid, NULL, 0) == pid;
	int r = traced ? is_told(pid, 0, &first) : -errno;
	r = r ? r : is_told(pid, 1, &second);
	kill(pid, SIGKILL);
	close(way[0]);
	waitpid(pid, NULL, 0);
	if (r == -EACCES || r == -EPERM || r == -EIO) /* root's right, of most kernels */
		skip();
	assert_int_equal(r, 0);
	assert_false(first); /* what libraries try, all the time */
	assert_true(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_makes_the_calls_of_its_row),
		cmocka_unit_test(what_is_refused_is_told_by_the_kernel),
		cmocka_unit_test(groups_stay_and_that_is_no_failure),
		cmocka_unit_test(what_goes_to_the_log_of_the_system_goes_to_whom_it_was_given),
		cmocka_unit_test(rows_hold_beneath_the_launchers),
	};
	return cmocka_run_group_tests(tests, look_before, NULL);
}
