/* What the power tests share: a directory of their own, small files and
 * programs in it, processes that end with the test. */
#ifndef TESTS_UNIT_POWER_HELP_H
#define TESTS_UNIT_POWER_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "power/power.h"

/* "/tmp/phx-power.XXXXXX", removed by remove_dir(). */
static char test_dir[64];

static inline void make_dir(void)
{
	snprintf(test_dir, sizeof(test_dir), "/tmp/phx-power.XXXXXX");
	assert_non_null(mkdtemp(test_dir));
}

static inline void remove_dir(void)
{
	assert_int_equal(phx_dir_remove(test_dir, NULL), 0);
}

/* Path in the test's directory; good until 8 more were asked for. */
static inline const char *in_dir(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", test_dir, name);
	return path;
}

static inline const char *put_file(const char *name, mode_t mode, const char *text)
{
	const char *path = in_dir(name);
	struct phx_err err = {0};
	if (phx_file_write(path, text, strlen(text), mode, &err) < 0)
		fail_msg("%s", err.text);
	return path;
}

/* The file's text, "" when there is none; static. */
static inline const char *get_file(const char *name)
{
	static char text[65536];
	PHX_AUTO_FREE char *data = NULL;
	text[0] = '\0';
	if (phx_file_read(in_dir(name), sizeof(text) - 1, &data, NULL, NULL) == 0)
		PHX_STR_SET(text, data);
	return text;
}

static inline int64_t clock_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline void sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
}

/* A UDP or TCP port of loopback that was free just now. */
static inline uint16_t free_port(int type)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

/* Start a program that dies with the test. */
static inline pid_t start_program(const char *const *argv)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static inline void end_program(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGCONT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* phx_power_do() that must end as `want`; its text holds `say` (may be NULL). */
static inline enum phx_power_state power_at(const char *file, int line, const struct phx_bmc *bmc,
					    enum phx_power_op op, uint32_t timeout_ms, int want,
					    const char *say)
{
	struct phx_err err = {0};
	enum phx_power_state state = PHX_POWER_UNKNOWN;
	int r = phx_power_do(bmc, op, timeout_ms, &state, &err);
	if (r != want || (say && !strstr(err.text, say))) {
		print_error("%s:%d: %d instead of %d: %s\n", file, line, r, want, err.text);
		_fail(file, line);
	}
	return state;
}
#define power(bmc, op, timeout_ms, want, say) \
	power_at(__FILE__, __LINE__, bmc, op, timeout_ms, want, say)

#endif
