/* in.tftpd as a user: see deploy.h. The launcher starts this program once more (phx_tftpd_argv()),
 * which gives up what root may and becomes in.tftpd.
 *
 *   enters the directory ─▶ becomes the user (apart/confine.h) ─▶ in.tftpd
 *
 * in.tftpd by itself is root as long as it runs, for its chroot and to become the user for each
 * request. Here it has one capability, for its port, and the kernel bounds it to the directory:
 * without a chroot it looks there by the path of its own working directory, which needs no right
 * to the directories above. What it asks for to become the user is answered as done. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"
#include "deploy/internal.h"

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

static int become(char **argv, struct phx_err *err)
{
	char names[64];
	pid_t launcher = getppid();
	if (chdir(argv[DIR_PATH]) < 0)
		return phx_err_set(err, -errno, "%s: %s", argv[DIR_PATH], strerror(errno));
	int fd = make_map(err);
	int r = fd < 0 ? fd : confine(argv, err);
	if (r < 0)
		return r;
	/* the change of user has cleared the signal */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != launcher)
		return phx_err_set(err, -EPIPE, "the launcher has ended");
	snprintf(names, sizeof(names), "/proc/self/fd/%d", fd);
	const char *const words[] = {argv[PROGRAM], "--foreground", "--address", argv[ADDRESS],
				     "--user",      argv[USER],     "--verbose", "--map-file",
				     names,         HERE,           NULL};
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
