/* See head_user.h. Called by launcher.c and main.c. */
#include "phxd/head_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/account.h"
#include "base/file.h"
#include "deploy/deploy.h"
#include "phxd/apart.h"

enum { SHARED = 01775, OWN = 0755 };

/* ---- the head's user ---- */

static int find(const struct phx_config *cfg, struct passwd *ret, char **ret_texts)
{
	if (geteuid() != 0 || !cfg->head_user[0])
		return -ENOENT;
	return phx_user_named(cfg->head_user, ret, ret_texts);
}

void head_user_find(const struct phx_config *cfg, uid_t *ret_uid, gid_t *ret_gid)
{
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	bool found = find(cfg, &pw, &texts) == 0;
	*ret_uid = found ? pw.pw_uid : geteuid();
	*ret_gid = found ? pw.pw_gid : getegid();
}

static bool is_named(const char *name, uid_t uid)
{
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	return name[0] && phx_user_named(name, &pw, &texts) == 0 && pw.pw_uid == uid;
}

int head_user_refuse(const struct phx_config *cfg, uid_t uid, struct phx_err *err)
{
	const char *const own[] = {cfg->head_user, cfg->vault_user, cfg->hands_user};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(own); i++)
		if (is_named(own[i], uid))
			return phx_err_set(err, -EPERM,
					   "the user %s is that of a process of phxd: nothing else "
					   "runs so",
					   own[i]);
	return 0;
}

/* ---- files for the head's user ---- */

/* Gives a file to the user, if it exists; never through a link. */
static int give_file(const char *path, const struct passwd *pw, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return phx_err_set(err, -EPERM, "%s is no file of its own: it is not given to %s",
				   path, pw->pw_name);
	return fchown(fd, pw->pw_uid, pw->pw_gid) < 0
		? phx_err_set(err, -errno, "%s: %s", path, strerror(errno))
		: 0;
}

/* Lets the user make files in a directory of root, but remove only own ones (sticky). If the user
 * is root, makes the directory root's alone again. */
static int share_dir(const char *path, const struct passwd *pw, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (st.st_mode & S_IWOTH)
		return phx_err_set(err, -EPERM,
				   "head_user: everybody may write in %s: the journal, state_dir "
				   "and run_dir need directories of their own",
				   path);
	return fchown(fd, 0, pw->pw_gid) < 0 || fchmod(fd, pw->pw_uid ? SHARED : OWN) < 0
		? phx_err_set(err, -errno, "%s: %s", path, strerror(errno))
		: 0;
}

static bool is_same_dir(const struct stat *a, const char *path)
{
	struct stat b;
	return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* For a journal outside state_dir: nothing else may be in its directory, which the user may write
 * in. */
static int check_alone(const struct phx_config *cfg, const char *path, struct phx_err *err)
{
	const char *name = strrchr(cfg->journal, '/');
	struct stat st;
	DIR *dir = opendir(path);
	int r = dir && fstat(dirfd(dir), &st) == 0
		? 0
		: phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	bool ours = r < 0 || st.st_gid || is_same_dir(&st, cfg->state_dir) ||
		is_same_dir(&st, cfg->run_dir);
	for (struct dirent *e; !ours && r == 0 && (e = readdir(dir));)
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lost+found") != 0 && name &&
		    !phx_str_starts(e->d_name, name + 1))
			r = phx_err_set(err, -EPERM,
					"head_user: %s holds %s beside the journal, and would be "
					"given to that user: move the journal into a directory of "
					"its own",
					path, e->d_name);
	if (dir)
		closedir(dir);
	return r;
}

/* Gives a database and what SQLite has beside it. */
static int give_database(const char *database, const struct passwd *pw, struct phx_err *err)
{
	static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(beside); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s%s", database, beside[i]);
		r = path ? give_file(path, pw, err) : -ENOMEM;
	}
	return r;
}

/* Gives the database and the files beside it. */
static int give_journal(const struct phx_config *cfg, const struct passwd *pw, struct phx_err *err)
{
	static const char *const beside[] = {".mark", ".lock"};
	PHX_AUTO_FREE char *copy = strdup(cfg->journal);
	const char *dir = copy ? dirname(copy) : NULL;
	int r = !dir ? -ENOMEM : pw->pw_uid ? check_alone(cfg, dir, err) : 0;
	r = r ? r : share_dir(dir, pw, err);
	r = r ? r : give_database(cfg->journal, pw, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(beside); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s%s", cfg->journal, beside[i]);
		r = path ? give_file(path, pw, err) : -ENOMEM;
	}
	return r;
}

/* Makes root's own entries in the shared directories before anybody else can. */
static int make_roots(const struct phx_config *cfg, struct phx_err *err)
{
	static const char *const running[] = {"dnsmasq", "boot", "hands"};
	PHX_AUTO_FREE char *lost = phx_path("%s/lost+found", cfg->state_dir);
	PHX_AUTO_FREE char *leases = phx_path("%s/dnsmasq.leases", cfg->state_dir);
	int r = lost && leases ? phx_dir_make(lost, 0700, err) : -ENOMEM;
	r = r ? r : phx_dir_make(cfg->re_dir, OWN, err);
	r = r ? r : phx_dir_make(cfg->tftp_dir, OWN, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(running); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->run_dir, running[i]);
		r = path ? phx_dir_make(path, OWN, err) : -ENOMEM;
	}
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int fd = open(leases, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno != EEXIST)
		return phx_err_set(err, -errno, "%s: %s", leases, strerror(errno));
	r = cfg->dhcp_mode == PHX_DHCP_SERVE ? phx_dnsmasq_write(cfg, NULL, 0, err) : 0;
	return r < 0 ? r : 0;
}

/* Of run_dir: what dnsmasq is told. */
static const char *const told_dirs[] = {"dnsmasq/hosts", "dnsmasq/names", "dnsmasq/services"};

/* Makes a directory of root readable for all. Ignores anything else that the head may have put in
 * its place. */
static int show_dir(const char *path, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR))
		return 0;
	bool shown = fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid || fchmod(fd, OWN) == 0);
	return shown ? 0 : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
}

static int show_running(const struct phx_config *cfg, const char *const *names, size_t n,
			struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->run_dir, names[i]);
		r = path ? show_dir(path, err) : -ENOMEM;
	}
	return r;
}

/* Directories that all may read, in spite of the umask of phxd's unit. */
static int show_dirs(const struct phx_config *cfg, struct phx_err *err)
{
	const char *const seen[] = {cfg->image_dir, cfg->package_dir, cfg->package_key_dir,
				    cfg->re_dir, cfg->tftp_dir};
	static const char *const running[] = {"dnsmasq", "boot"};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(seen); i++)
		r = show_dir(seen[i], err);
	r = r ? r : show_running(cfg, running, PHX_ARRAY_SIZE(running), err);
	return r ? r : show_running(cfg, told_dirs, PHX_ARRAY_SIZE(told_dirs), err);
}

/* Gives the directories of what dnsmasq is told; where there is none of hosts it serves nobody. */
static int give_dnsmasq(const struct phx_config *cfg, const struct passwd *pw, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(told_dirs); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->run_dir, told_dirs[i]);
		if (path && !i && access(path, F_OK) < 0)
			return 0;
		r = path ? phx_confine_give_dir(path, pw, err) : -ENOMEM;
	}
	return r;
}

/* Gives the files that the head writes. */
static int give_written(const struct phx_config *cfg, const struct passwd *pw, struct phx_err *err)
{
	static const char *const published[] = {"site.cpio", "site.pub", "attest.pub"};
	static const char *const databases[] = {"timeline.db", "starts.db"};
	PHX_AUTO_FREE char *anchors = phx_path("%s/anchors", cfg->state_dir);
	PHX_AUTO_FREE char *outlets = phx_path("%s/outlets", cfg->state_dir);
	int r = anchors && outlets ? give_journal(cfg, pw, err) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(published); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->run_dir, published[i]);
		r = path ? give_file(path, pw, err) : -ENOMEM;
	}
	r = r ? r : give_file(anchors, pw, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(databases); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->state_dir, databases[i]);
		r = path ? give_database(path, pw, err) : -ENOMEM;
	}
	if (r == 0 && access(outlets, F_OK) == 0)
		r = phx_confine_give_dir(outlets, pw, err);
	r = r ? r : phx_confine_give_dir(cfg->output_dir, pw, err);
	return r ? r : give_dnsmasq(cfg, pw, err);
}

static int give_all(const struct phx_config *cfg, const struct passwd *pw, struct phx_err *err)
{
	int r = make_roots(cfg, err);
	r = r ? r : show_dirs(cfg, err);
	r = r ? r : share_dir(cfg->state_dir, pw, err);
	r = r ? r : share_dir(cfg->run_dir, pw, err);
	return r ? r : give_written(cfg, pw, err);
}

/* Did an earlier launcher give the files to a user? Tells by group and owner, because systemd
 * resets the directory's mode. */
static bool is_given(const struct phx_config *cfg)
{
	struct stat dir, journal;
	return stat(cfg->state_dir, &dir) == 0 && stat(cfg->journal, &journal) == 0 &&
		dir.st_uid == 0 && dir.st_gid != 0 && journal.st_uid != 0 &&
		journal.st_gid == dir.st_gid;
}

/* Gives all files, and tells, once, that an existing journal changes its owner. */
static int give_told(const struct phx_config *cfg, const struct passwd *pw, struct phx_err *err)
{
	struct stat st;
	bool anew = stat(cfg->journal, &st) == 0 && st.st_uid != pw->pw_uid;
	int r = give_all(cfg, pw, err);
	if (r == 0 && anew)
		fprintf(stderr,
			"phxd: head_user: the journal, and what else the process that serves "
			"writes, is %s's from now on\n",
			pw->pw_name);
	return r;
}

int head_user_give(const struct phx_config *cfg, struct phx_err *err)
{
	static const struct passwd root = {.pw_name = "root"};
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	if (geteuid() != 0)
		return 0;
	if (!cfg->head_user[0])
		return is_given(cfg) ? give_told(cfg, &root, err) : 0;
	int r = find(cfg, &pw, &texts);
	return r < 0 ? phx_err_set(err, r, "head_user: %s: %s", cfg->head_user, strerror(-r))
		     : give_told(cfg, &pw, err);
}

/* ---- what the head gives up ---- */

int head_user_become(const struct phx_config *cfg, const char *config_path, struct phx_err *err)
{
	PHX_AUTO_FREE char *config = strdup(config_path);
	PHX_AUTO_FREE char *copy = strdup(cfg->journal);
	if (!config || !copy)
		return -ENOMEM;
	const char *journal = dirname(copy);
	enum {
		READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE,
		ALL = PHX_CONFINE_READ | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS | PHX_CONFINE_IF_THERE
	};
	const struct phx_confine_path paths[] = {
		{cfg->state_dir, ALL},
		{cfg->run_dir, ALL},
		{journal, ALL},
		{cfg->output_dir, ALL},
		{cfg->re_dir, ALL}, /* for what is our own there; helpers access the rest */
		{cfg->image_dir, READ},
		{cfg->package_dir, READ},
		{cfg->package_key_dir, READ},
		{cfg->tftp_dir, READ},
		{cfg->pxe_dir, READ},
		{cfg->role_dir, READ},
		{cfg->rules_file, READ},
		{cfg->slurm_dir, READ},
		{dirname(config), READ},
		/* names of users and hosts, libraries for both; facts of the machine */
		{"/etc", READ},
		{"/usr", READ},
		{"/lib", READ},
		{"/lib64", READ},
		{"/run/systemd", READ},
		{"/var/lib/sss", READ},
		{"/proc", READ},
		{"/sys", READ},
		{"/dev/null", PHX_CONFINE_READ | PHX_CONFINE_WRITE},
		{"/dev/urandom", READ},
	};
	const struct phx_confine c = {.what = "the head",
				      .user = cfg->head_user,
				      .paths = paths,
				      .n_paths = PHX_ARRAY_SIZE(paths),
				      .calls = PHX_CALLS_head};
	if (geteuid() != 0 || !cfg->head_user[0])
		return phx_calls_keep(PHX_CALLS_head_of_root, "the head", err);
	pid_t launcher = getppid();
	int r = setenv("SQLITE_TMPDIR", journal, 1) < 0 ? -ENOMEM : phx_confine_self(&c, err);
	if (r < 0)
		return r;
	/* the change of user has cleared the signal */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != launcher)
		return phx_err_set(err, -EPIPE, "the launcher has ended");
	return 0;
}
