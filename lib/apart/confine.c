/* Giving up rights: see confine.h. Called once, by a process that stands apart, before it answers.
 *
 *   no core dumps, locked memory ─▶ rules of paths are made ─▶ becomes its user ─▶ nothing is
 *   gained any more ─▶ the rules hold ─▶ system calls
 *
 * The rules are made while it may still look everywhere: a directory of root's is named by the
 * descriptor that they hold. */
#include "apart/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"

static int fail(const struct phx_confine *c, struct phx_err *err, const char *what)
{
	int r = errno ? -errno : -EPERM;
	return phx_err_set(err, r, "%s cannot %s: %s", c->what, what, strerror(-r));
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

static int keep_memory(const struct phx_confine *c, struct phx_err *err)
{
	const struct rlimit none = {0, 0};
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return fail(c, err, "forbid its core dumps");
	if (c->lock_memory)
		lock_memory();
	return 0;
}

/* ---- paths ---- */

enum {
	FILE_RIGHTS = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
		LANDLOCK_ACCESS_FS_READ_FILE,
	FS_RIGHTS = FILE_RIGHTS | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
};

static uint64_t kernel_rights(unsigned rights)
{
	static const struct {
		unsigned right;
		uint64_t kernel;
	} rows[] = {
		{PHX_CONFINE_READ, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
		{PHX_CONFINE_WRITE,
		 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			 LANDLOCK_ACCESS_FS_MAKE_REG},
		{PHX_CONFINE_EXEC, LANDLOCK_ACCESS_FS_EXECUTE},
		{PHX_CONFINE_DIRS,
		 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_SOCK |
			 LANDLOCK_ACCESS_FS_MAKE_FIFO},
	};
	uint64_t kernel = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rights & rows[i].right)
			kernel |= rows[i].kernel;
	return kernel;
}

static int allow_path(int rules, const struct phx_confine_path *p)
{
	PHX_AUTO_CLOSE int fd = open(p->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.allowed_access = kernel_rights(p->rights),
						  .parent_fd = fd};
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT && p->rights & PHX_CONFINE_IF_THERE ? 0 : -1;
	if (!S_ISDIR(st.st_mode)) /* nothing is beneath it */
		rule.allowed_access &= FILE_RIGHTS;
	return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* -1 in `ret`: a kernel without Landlock leaves the rights of the user. */
static int make_rules(const struct phx_confine *c, int *ret, struct phx_err *err)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = FS_RIGHTS};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return 0;
	for (size_t i = 0; rules >= 0 && i < c->n_paths; i++)
		if (allow_path(rules, &c->paths[i]) < 0) {
			int r = errno;
			close(rules);
			return phx_err_set(err, -r, "%s cannot have %s: %s", c->what,
					   c->paths[i].path, strerror(r));
		}
	*ret = rules;
	return rules < 0 ? fail(c, err, "shut itself off from the file system") : 0;
}

/* ---- its user ---- */

/* Plain files alone, with one name, by their own descriptor: a link leads nowhere. */
static int give_file(int dir, const char *name, const struct passwd *pw)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return 0;
	return fchown(fd, pw->pw_uid, pw->pw_gid) < 0 ? -errno : 0;
}

int phx_confine_give_dir(const char *path, const struct passwd *pw, struct phx_err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = dir && fchown(fd, pw->pw_uid, pw->pw_gid) == 0 ? 0 : -errno;
	for (struct dirent *e; r == 0 && (e = readdir(dir));)
		r = give_file(fd, e->d_name, pw);
	if (dir)
		closedir(dir);
	return r < 0 ? phx_err_set(err, r, "%s cannot be given to the user %s: %s", path,
				   pw->pw_name, strerror(-r))
		     : 0;
}

/* What it does not have it cannot keep. `on`: those that its programs get, too. */
static int keep_caps(uint64_t caps, uint64_t on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capget, &head, sets) < 0)
		return -1;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sets); i++) {
		sets[i].permitted &= (uint32_t)(caps >> 32 * i);
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = sets[i].permitted & (uint32_t)(on >> 32 * i);
	}
	if (syscall(SYS_capset, &head, sets) < 0)
		return -1;
	int r = 0;
	for (int cap = 0; r == 0 && cap < 64; cap++)
		if (sets[cap / 32].inheritable >> cap % 32 & 1)
			r = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
	return r;
}

/* What is in no bounding set no program of root's gets either. One that may not bound itself has
 * bounds of somebody else's. */
static void bound_caps(uint64_t caps)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (!(caps >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int phx_confine_caps(uint64_t caps, const char *what, struct phx_err *err)
{
	/* to raise it takes a capability that is given up here */
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	setrlimit(RLIMIT_MEMLOCK, &all);
	bound_caps(caps);
	return keep_caps(caps, 0) < 0
		? phx_err_set(err, -errno, "%s cannot give up what root may: %s", what,
			      strerror(errno))
		: 0;
}

/* What it is to see and cannot get to is told by its name, and not by what fails for want of it. */
static int check_reach(const struct phx_confine *c, struct phx_err *err)
{
	for (size_t i = 0; i < c->n_paths; i++) {
		PHX_AUTO_CLOSE int fd = open(c->paths[i].path, O_PATH | O_CLOEXEC);
		if (fd < 0 && errno == EACCES)
			return phx_err_set(err, -EACCES,
					   "%s cannot get to %s: a directory above it is closed to "
					   "the user %s (chmod o+x)",
					   c->what, c->paths[i].path, c->user);
	}
	return 0;
}

/* What root may by its number alone is left: its own files. */
static int stay_root(const struct phx_confine *c, struct phx_err *err)
{
	return setgroups(0, NULL) < 0 || keep_caps(c->caps, 0) < 0
		? fail(c, err, "give up what root may")
		: 0;
}

static int become(const struct phx_confine *c, uint64_t caps, struct phx_err *err)
{
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	if (geteuid() == 0 && !c->user[0] && c->root_keeps_caps_alone)
		return stay_root(c, err);
	if (geteuid() != 0 || !c->user[0])
		return 0;
	int r = phx_user_named(c->user, &pw, &texts);
	if (r < 0)
		return phx_err_set(err, r, "%s cannot become the user %s: %s", c->what, c->user,
				   r == -ENOENT ? "there is none" : strerror(-r));
	r = c->give ? c->give(c->arg, &pw, err) : 0;
	if (r < 0)
		return phx_err_prefix(err, r, "%s", c->what);
	if (prctl(PR_SET_KEEPCAPS, caps != 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(pw.pw_gid, pw.pw_gid, pw.pw_gid) < 0 ||
	    setresuid(pw.pw_uid, pw.pw_uid, pw.pw_uid) < 0 || keep_caps(caps, c->caps_on) < 0)
		return fail(c, err, "become its user");
	return check_reach(c, err);
}

/* ---- all of it ---- */

int phx_confine_self(const struct phx_confine *c, struct phx_err *err)
{
	PHX_AUTO_CLOSE int rules = -1;
	errno = 0;
	int r = keep_memory(c, err);
	r = r ? r : make_rules(c, &rules, err);
	r = r ? r : become(c, c->caps | (rules >= 0 ? c->caps_beneath : 0), err);
	if (r == 0 && (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		r = fail(c, err, "give up its privileges");
	if (r == 0 && rules >= 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		r = fail(c, err, "shut itself off from the file system");
	phx_close_fd(&rules); /* while it still may */
	return r ? r : phx_calls_keep(c->calls, c->what, err);
}
