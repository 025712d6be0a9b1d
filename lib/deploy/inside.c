/* A program inside a root: see inside.h. Called by exec.c, in a program with one thread. What runs
 * inside is not believed to be harmless: it may have come with a container of somebody else.
 *
 *	we -> one outside -> number 1 inside -> the program
 *
 * Each waits for the next, passes its status on, and takes it along when it ends. */
#include "deploy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

#define HARMLESS (MS_NOSUID | MS_NODEV | MS_NOEXEC)
enum { ENV_MAX = 16 };

static const struct mounted {
	const char *type, *at, *options;
	unsigned long flags;
	bool ours; /* below what we mounted ourselves: it is made there */
} mounts[] = {
	{"proc", "/proc", NULL, HARMLESS, false},
	{"sysfs", "/sys", NULL, HARMLESS | MS_RDONLY, false},
	{"tmpfs", "/run", "mode=755", MS_NOSUID | MS_NODEV, false},
	{"tmpfs", "/dev", "mode=755", MS_NOSUID | MS_NOEXEC, false},
	{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=620,gid=5", MS_NOSUID | MS_NOEXEC,
	 true},
	{"tmpfs", "/dev/shm", "mode=1777", HARMLESS, true},
};

/* What root may write there changes the machine and not the root. Of some of it his number is
 * enough, as to take a disk off its bus (/proc/scsi): no capability is asked for. */
static const char *const read_only[] = {"/proc/acpi",   "/proc/asound",       "/proc/bus",
					"/proc/driver", "/proc/fs",           "/proc/irq",
					"/proc/mtrr",   "/proc/pressure",     "/proc/scsi",
					"/proc/sys",    "/proc/sysrq-trigger"};

static const struct {
	const char *path;
	unsigned major, minor;
} devices[] = {
	{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
	{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
	const char *to, *path;
} links[] = {
	{"/proc/self/fd", "/dev/fd"},       {"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
	{"pts/ptmx", "/dev/ptmx"},
};

/* Of root's capabilities those with which packages are installed. */
static const int kept[] = {
	CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,   CAP_FSETID,     CAP_KILL,
	CAP_SETGID, CAP_SETUID,       CAP_SETPCAP,  CAP_SETFCAP,    CAP_NET_BIND_SERVICE,
	CAP_LEASE,  CAP_AUDIT_WRITE,  CAP_IPC_LOCK, CAP_SYS_CHROOT,
};

int phx_inside_places(const char *root, struct phx_err *err)
{
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), r = dir < 0 ? -errno : 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(mounts); i++)
		if (!mounts[i].ours && mkdirat(dir, mounts[i].at + 1, 0755) < 0 && errno != EEXIST)
			r = -errno;
	if (dir >= 0)
		close(dir);
	return r < 0 ? phx_err_set(err, r, "%s: %s", root, strerror(-r)) : 0;
}

/* ---- in the new process: system calls only ---- */

/* The root becomes "/", without the devices in it, and nothing of the machine's stays in sight. */
static int change_root(const char *root)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(root, root, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, root, NULL, MS_BIND | MS_REMOUNT | MS_NODEV, NULL) < 0 || chdir(root) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

static int mount_all(void)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(mounts); i++) {
		const struct mounted *m = &mounts[i];
		if (m->ours && mkdir(m->at, 0755) < 0)
			return -errno;
		if (mount(m->type, m->at, m->type, m->flags, m->options) < 0)
			return -errno;
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(read_only); i++) {
		const char *at = read_only[i];
		if (mount(at, at, NULL, MS_BIND, NULL) < 0) {
			if (errno == ENOENT) /* a kernel without it */
				continue;
			return -errno;
		}
		if (mount(NULL, at, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | HARMLESS, NULL) < 0)
			return -errno;
	}
	return 0;
}

static int make_devices(void)
{
	mode_t mask = umask(0);
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(devices); i++)
		r = mknod(devices[i].path, S_IFCHR | 0666,
			  makedev(devices[i].major, devices[i].minor));
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(links); i++)
		r = symlink(links[i].to, links[i].path);
	umask(mask & 022);
	return r < 0 ? -errno : 0;
}

static bool is_kept(int cap)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++)
		if (kept[i] == cap)
			return true;
	return false;
}

/* A program of root's has what is in the bounding set, and no more. */
static int drop_caps(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (!is_kept(cap) && prctl(PR_CAPBSET_DROP, cap) < 0)
			return -errno;
	return 0;
}

/* The terminal is that of who started us: nothing is typed into it for him (TIOCSTI), or pasted
 * (TIOCLINUX). Calls by other numbers than ours, as programs of 32 bits have them, are none. The
 * kernel looks at the lower half of the request, so we do. */
static int keep_off_terminal(void)
{
	static const uint64_t requests[] = {TIOCSTI, TIOCLINUX};
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, refuse) : -ENOMEM;
	/* programs inside that become root do so */
	r = r ? r : seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(requests); i++)
		r = seccomp_rule_add(filter, refuse, SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
	r = r ? r : seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r;
}

/* Becomes the child, which ends when we do. We wait for it and pass its status on, reap what it
 * left, and hold no descriptor: who started us would wait for our end. */
static int become_child(void)
{
	pid_t pid = fork(), ended;
	int status = 0;
	if (pid <= 0)
		return pid < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
	close_range(STDERR_FILENO + 1, ~0U, 0);
	while ((ended = waitpid(-1, &status, 0)) != pid && (ended >= 0 || errno == EINTR))
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int go_inside(const void *arg)
{
	static const char name[] = "image";
	const struct phx_inside *in = arg;
	int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC |
		(in->network ? 0 : CLONE_NEWNET);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || unshare(flags) < 0 ||
	    sethostname(name, sizeof(name) - 1) < 0)
		return -errno;
	int r = become_child(); /* number 1 */
	r = r ? r : change_root(in->root);
	r = r ? r : mount_all();
	r = r ? r : make_devices();
	r = r ? r : phx_inside_check_program(in->argv[0]);
	r = r ? r : keep_off_terminal(); /* while we may without PR_SET_NO_NEW_PRIVS */
	r = r ? r : drop_caps();
	return r ? r : become_child(); /* signals reach a program that is not number 1 */
}

/* ---- here ---- */

/* The environment inside: what says how to reach packages and what the terminal is comes along. */
static void make_env(const char *ret[ENV_MAX], char texts[ENV_MAX][256])
{
	static const char *const fixed[] = {"PATH=" PHX_INSIDE_PATH, "HOME=/root", "LANG=C.UTF-8"};
	static const char *const passed[] = {"TERM",     "http_proxy",     "https_proxy",
					     "no_proxy", "HTTP_PROXY",     "HTTPS_PROXY",
					     "NO_PROXY", "DEBIAN_FRONTEND"};
	size_t n = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fixed); i++)
		ret[n++] = fixed[i];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(passed); i++) {
		const char *value = getenv(passed[i]);
		if (!value || strlen(value) > 200)
			continue;
		snprintf(texts[n], 256, "%s=%s", passed[i], value);
		ret[n] = texts[n];
		n++;
	}
	ret[n] = NULL;
}

int phx_inside_run(const struct phx_inside *in, int *ret_status, struct phx_err *err)
{
	const char *env[ENV_MAX];
	char texts[ENV_MAX][256];
	make_env(env, texts);
	/* 0 would mean none */
	int own = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	const struct phx_launch l = {.argv = in->argv,
				     .env = env,
				     .dir = "/",
				     .in = own > 0 ? own : 0,
				     .prepare = go_inside,
				     .arg = in};
	struct phx_process p;
	int r = phx_process_start(&l, &p, err);
	if (own >= 0)
		close(own);
	if (r < 0)
		return r;
	r = phx_process_status(p.pidfd);
	close(p.pidfd);
	if (r >= 0)
		*ret_status = r;
	return r < 0 ? phx_err_set(err, r, "%s: %s", in->argv[0], strerror(-r)) : 0;
}
