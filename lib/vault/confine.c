/* What the vault gives up before it answers: its user, core dumps, swap, the file system but for
 * two directories (Landlock), every system call that is not in the table below (seccomp). Called
 * once, by serve.c. */
#include "vault/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"

static int fail(struct phx_err *err, const char *what)
{
	int r = errno ? -errno : -EPERM;
	return phx_err_set(err, r, "the vault cannot %s: %s", what, strerror(-r));
}

/* ---- its user, to whom the keys belong from now on ---- */

static int give_dir(const char *path, const struct passwd *pw)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return -1;
	int r = fchown(fd, pw->pw_uid, pw->pw_gid);
	/* plain files alone, by the directory's descriptor: a link leads nowhere */
	for (struct dirent *e; r == 0 && (e = readdir(dir));) {
		struct stat st;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			r = fchownat(fd, e->d_name, pw->pw_uid, pw->pw_gid, AT_SYMLINK_NOFOLLOW);
	}
	closedir(dir);
	return r;
}

static int become(const struct phx_vault_config *c, struct phx_err *err)
{
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	if (geteuid() != 0 || !c->user[0] || phx_user_named(c->user, &pw, &texts) < 0)
		return 0;
	if (give_dir(c->pki_dir, &pw) < 0 || give_dir(c->key_dir, &pw) < 0)
		return fail(err, "give the keys to its user");
	if (setgroups(0, NULL) < 0 || setresgid(pw.pw_gid, pw.pw_gid, pw.pw_gid) < 0 ||
	    setresuid(pw.pw_uid, pw.pw_uid, pw.pw_uid) < 0)
		return fail(err, "become its user");
	return 0;
}

/* ---- memory that goes nowhere ---- */

/* Who may not lock all that he will ever have (LimitMEMLOCK=) locks what he has, and may be swapped
 * beyond that: no reason to serve nobody. */
static void lock_memory(void)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit limit = {0};
	setrlimit(RLIMIT_MEMLOCK, &all);
	bool ever = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
	if (ever)
		mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	else
		mlockall(MCL_CURRENT | MCL_ONFAULT);
}

static int keep_memory(struct phx_err *err)
{
	const struct rlimit none = {0, 0};
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return fail(err, "forbid its core dumps");
	lock_memory();
	return 0;
}

/* ---- two directories ---- */

enum {
	FS_RIGHTS = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
		LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
		LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
		LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
		LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		LANDLOCK_ACCESS_FS_MAKE_SYM,
	FS_NEEDED = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
		LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
		LANDLOCK_ACCESS_FS_MAKE_REG
};

static int allow_beneath(int rules, const char *dir)
{
	PHX_AUTO_CLOSE int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.allowed_access = FS_NEEDED, .parent_fd = fd};
	return fd < 0
		? -1
		: (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* A kernel without Landlock leaves the rights of the user. */
static int see_two_dirs(const struct phx_vault_config *c, struct phx_err *err)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = FS_RIGHTS};
	PHX_AUTO_CLOSE int rules =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return 0;
	if (rules < 0 || allow_beneath(rules, c->pki_dir) < 0 ||
	    allow_beneath(rules, c->key_dir) < 0 ||
	    syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return fail(err, "shut itself off from the file system");
	return 0;
}

/* ---- system calls ---- */

/* Memory, clocks, files below the two directories, and the socket it has: none makes another
 * process, a socket, or reads another process's memory. */
static const int calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(openat),
	SCMP_SYS(open),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(flock),
	SCMP_SYS(fcntl),
	SCMP_SYS(fchmod),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(umask),
	SCMP_SYS(geteuid),
	SCMP_SYS(getuid),
	SCMP_SYS(getegid),
	SCMP_SYS(getgid),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(sched_yield),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int allow_calls(struct phx_err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(calls); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	r = r ? r : seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	if (r == 0)
		return 0;
	errno = -r;
	return fail(err, "give up its system calls");
}

int vault_confine(const struct phx_vault_config *config, struct phx_err *err)
{
	errno = 0;
	int r = keep_memory(err);
	r = r ? r : become(config, err);
	if (r == 0 && (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		r = fail(err, "give up its privileges");
	r = r ? r : see_two_dirs(config, err);
	return r ? r : allow_calls(err);
}
