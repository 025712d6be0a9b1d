/* in.tftpd as a user: see deploy.h. The launcher starts this program once more (phx_tftpd_argv()),
 * which gives up what root may and becomes in.tftpd.
 *
 *   enters the directory ─▶ becomes the user (apart/confine.h) ─▶ in.tftpd
 *                    │                                             │ what it says, by syslog(3)
 *                    └──────▶ a process of that user, too ◀────────┘
 *                                    └─▶ standard output: its log
 *
 * in.tftpd by itself is root as long as it runs, for its chroot and to become the user for each
 * request. Here it has one capability, for its port, and the kernel bounds it to the directory:
 * without a chroot it looks there by the path of its own working directory, which needs no right
 * to the directories above. What it asks for to become the user is answered as done. In
 * the log of the system nobody who boots a node looks, nor may phxd read it: what it says goes to a
 * process beside it instead, which ends when it and all that it has started have ended. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"
#include "deploy/internal.h"
#include "deploy/tftp_log.h"

#define HERE "/proc/self/cwd"

/* Names are those of files in the directory, with a slash before them or without. */
static const char map[] = "r ^/?([^/]) " HERE "/\\1\n";

enum { PROGRAM = 2, ADDRESS, USER, DIR_PATH };

int phx_tftpd_argv(const struct phx_config *cfg, struct phx_argv *ret)
{
	PHX_AUTO_FREE char *address = phx_path("%s:69", phx_config_listen(cfg));
	if (!address)
		return -ENOMEM;
	const char *const words[PHX_TFTPD_WORDS] = {
		"/proc/self/exe",          "--tftpd",
		[PROGRAM] = cfg->in_tftpd, [ADDRESS] = address,
		[USER] = cfg->tftp_user,   [DIR_PATH] = cfg->tftp_dir};
	return phx_argv_make(ret, words, PHX_ARRAY_SIZE(words));
}

/* A file without a place, which in.tftpd inherits. */
static int make_map(struct phx_err *err)
{
	int fd = memfd_create("names", 0);
	if (fd >= 0 && phx_write_all(fd, map, sizeof(map) - 1) == 0)
		return fd;
	return phx_err_set(err, -errno, "no memory for its names: %s", strerror(errno));
}

static int confine(char **argv, struct phx_err *err)
{
	enum {
		READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE,
		RUN = READ | PHX_CONFINE_EXEC,
	};
	const struct phx_confine_path paths[] = {
		{".", PHX_CONFINE_READ},
		{argv[PROGRAM], RUN},
		{"/usr", RUN},
		{"/lib", RUN},
		{"/lib32", RUN},
		{"/lib64", RUN},
		{"/etc", READ}, /* its user; which addresses may ask (hosts.allow) */
		{"/dev/null", READ | PHX_CONFINE_WRITE},
	};
	const struct phx_confine c = {.what = "in.tftpd",
				      .user = argv[USER],
				      .caps = 1ull << CAP_NET_BIND_SERVICE,
				      .caps_on = 1ull << CAP_NET_BIND_SERVICE,
				      .paths = paths,
				      .n_paths = PHX_ARRAY_SIZE(paths),
				      .calls = PHX_CALLS_tftpd};
	return phx_confine_self(&c, err);
}

/* ---- what it says ---- */

/* Until nobody is left who could say something. A name that a machine asks for is in it. */
static int write_log(char **argv, int said)
{
	struct phx_err err = {0};
	char text[PHX_TFTP_LINE_MAX], line[PHX_TFTP_LINE_MAX + 1];
	const struct phx_confine c = {
		.what = "the log of in.tftpd", .user = argv[USER], .calls = PHX_CALLS_tftpd_log};
	if (phx_confine_self(&c, &err) < 0) {
		fprintf(stderr, "phxd: %s\n", err.text);
		return 1;
	}
	for (ssize_t n; (n = recv(said, text, sizeof(text), 0)) != 0;) {
		if (n < 0 && errno != EINTR)
			return 1;
		if (n < 0)
			continue;
		phx_tftp_log_line(text, (size_t)n, line);
		size_t end = strlen(line);
		line[end] = '\n';
		(void)!write(STDOUT_FILENO, line, end + 1);
	}
	return 0;
}

/* Standard input is its log from now on. It never waits for who writes it: where that is too slow,
 * what it says is lost. */
static int begin_log(char **argv, struct phx_err *err)
{
	enum { LOG, SAYS };
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return phx_err_set(err, -errno, "no socket for its log: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[SAYS]);
		_exit(write_log(argv, ends[LOG]));
	}
	int r = pid < 0 || fcntl(ends[SAYS], F_SETFL, O_NONBLOCK) < 0 ||
			dup2(ends[SAYS], STDIN_FILENO) < 0
		? phx_err_set(err, -errno, "no process for its log: %s", strerror(errno))
		: 0;
	close(ends[LOG]);
	if (ends[SAYS] != STDIN_FILENO)
		close(ends[SAYS]);
	return r;
}

static int become(char **argv, struct phx_err *err)
{
	char names[64];
	pid_t launcher = getppid();
	if (chdir(argv[DIR_PATH]) < 0)
		return phx_err_set(err, -errno, "%s: %s", argv[DIR_PATH], strerror(errno));
	int fd = make_map(err);
	int r = fd < 0 ? fd : begin_log(argv, err);
	r = r ? r : confine(argv, err);
	if (r < 0)
		return r;
	/* the change of user has cleared the signal */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != launcher)
		return phx_err_set(err, -EPIPE, "the launcher has ended");
	snprintf(names, sizeof(names), "/proc/self/fd/%d", fd);
	const char *const words[] = {
		argv[PROGRAM], "--foreground", "--address", argv[ADDRESS],
		"--user",      argv[USER],     "--verbose", "--verbose", /* refusals, too */
		"--map-file",  names,          HERE,        NULL};
	execv(argv[PROGRAM], (char *const *)(uintptr_t)words);
	return phx_err_set(err, -errno, "%s: %s", argv[PROGRAM], strerror(errno));
}

int phx_tftpd_become(char **argv)
{
	struct phx_err err = {0};
	int r = become(argv, &err);
	fprintf(stderr, "phxd: in.tftpd: %s\n", err.text[0] ? err.text : strerror(-r));
	return 1;
}
