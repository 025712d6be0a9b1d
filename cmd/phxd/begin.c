/* Is this the first start with this state directory, or is something missing? If the journal is
 * missing (a file system that is not mounted, a lost file) beside keys, data, images or packages,
 * it looks like a first start, and going on would treat everything as nobody's. Called by main.c
 * and the launcher before anything is made. Removes only unfinished files of a killed phxd. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { EXIT_CONFIG_ = 78 };
enum { MODE_KEPT = 0700, MODE_SEEN = 0755, MODE_OUTPUT = 0750 };

/* A new file system has a lost+found. */
static bool is_nothing(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lost+found");
}

static bool holds_something(const char *path)
{
	DIR *dir = opendir(path);
	bool found = false;
	for (struct dirent *e; dir && !found && (e = readdir(dir));)
		found = !is_nothing(e->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* The first trace of an earlier start; NULL: none. */
static const char *left_by_another(const struct phx_config *cfg, const char **ret_where)
{
	const struct {
		const char *path, *what;
	} places[] = {
		{cfg->key_dir, "keys of encrypted disks"},
		{cfg->re_dir, "data of runtime environments"},
		{cfg->output_dir, "output of jobs"},
		{cfg->image_dir, "images"},
		{cfg->package_dir, "packages"},
		{cfg->pki_dir, "keys of the site"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++)
		if (holds_something(places[i].path)) {
			*ret_where = places[i].path;
			return places[i].what;
		}
	return NULL;
}

static int check_dir(const struct phx_config *cfg, bool new_journal, struct phx_err *err)
{
	struct stat st;
	int code = stat(cfg->state_dir, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (!code)
		return 0;
	if (code != ENOENT)
		return phx_err_set(err, -code, "state_dir %s: %s", cfg->state_dir, strerror(code));
	if (!new_journal)
		return phx_err_set(err, -ENOENT,
				   "state_dir %s is not there: mount or restore it; if this is the "
				   "first start, make "
				   "it by mkdir or phxd --new-journal",
				   cfg->state_dir);
	return mkdir(cfg->state_dir, MODE_SEEN) < 0
		? phx_err_set(err, -errno, "state_dir %s: %s", cfg->state_dir, strerror(errno))
		: 0;
}

int begin_check_none(const struct phx_config *cfg, struct phx_err *err)
{
	struct phx_store *store = NULL;
	struct stat st;
	if (stat(cfg->journal, &st) < 0 || !st.st_size)
		return 0;
	int r = phx_store_open_read(cfg->journal, &store, err);
	if (r == 0 && phx_store_last(store))
		r = phx_err_set(err, -EEXIST,
				"%s holds %llu events: move it away before a new one begins",
				cfg->journal, (unsigned long long)phx_store_last(store));
	phx_store_close(store);
	return r;
}

int begin_check(const struct phx_config *cfg, bool new_journal, struct phx_err *err)
{
	struct stat st;
	const char *where, *what;
	int r = check_dir(cfg, new_journal, err);
	if (r < 0)
		return r;
	bool there = stat(cfg->journal, &st) == 0, empty = !there || !st.st_size;
	if (!empty)
		return 0;
	what = left_by_another(cfg, &where);
	if (what && !new_journal)
		return phx_err_set(err, -ENOENT,
				   "%s is %s, but %s holds %s: mount or restore the journal; to "
				   "begin a new one beside "
				   "what is there, run phxd --new-journal",
				   cfg->journal, there ? "empty" : "not there", where, what);
	fprintf(stderr, "phxd: %s: a new journal%s\n", cfg->journal,
		what ? ", beside what is there"
		     : "; this is the first start: the keys of the site are made");
	return 0;
}

int begin_make_dirs(const struct phx_config *cfg, struct phx_err *err)
{
	const struct {
		const char *path;
		mode_t mode;
	} dirs[] = {
		{cfg->run_dir, MODE_SEEN},     {cfg->pki_dir, MODE_KEPT},
		{cfg->key_dir, MODE_KEPT},     {cfg->image_dir, MODE_SEEN},
		{cfg->package_dir, MODE_SEEN}, {cfg->output_dir, MODE_OUTPUT},
	};
	/* this is the first start: a site that has its keys may have signed packages already */
	PHX_AUTO_FREE char *site = phx_path("%s/site.pub", cfg->pki_dir);
	int r = !site                ? -ENOMEM
		: access(site, F_OK) ? phx_dir_make(cfg->package_key_dir, MODE_SEEN, err)
				     : 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(dirs); i++)
		r = phx_dir_make(dirs[i].path, dirs[i].mode, err);
	return r;
}

void begin_sweep(const struct phx_config *cfg)
{
	PHX_AUTO_FREE char *dnsmasq = phx_path("%s/dnsmasq", cfg->run_dir);
	const char *const dirs[] = {cfg->run_dir, cfg->tftp_dir, cfg->pki_dir, cfg->re_dir,
				    dnsmasq};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		if (dirs[i])
			phx_file_sweep(dirs[i]);
}

int begin_status(int r)
{
	/* these errors may pass, so the service manager tries again; others need a person */
	static const int passes[] = {-EBUSY, -ENOSPC, -EIO, -ENOMEM, -EROFS};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(passes); i++)
		if (r == passes[i])
			return EXIT_FAILURE;
	return EXIT_CONFIG_;
}
