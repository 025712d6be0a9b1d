/* See watcher.h. Started by launcher_answer.c, through main.c; watches.c reads its messages. Its
 * one thread waits for inotify, for times that are due, and for the end of its socket. Each
 * directory is opened from its parent without following links, and stays open: a file that is
 * looked at is in that directory, whatever name the directory has by then. */
#include "phxd/watcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "apart/apart.h"
#include "apart/confine.h"
#include "base/clock.h"
#include "base/file.h"
#include "flow/glob.h"
#include "flow/seen.h"
#include "phxd/re_place.h"
#include "phxd/young.h"

enum {
	DIRS_MAX = 500,
	YOUNG_MS = 2000,  /* a file that was written so lately may still be open */
	AGAIN_MS = 10000, /* how often all is looked at where inotify does not tell of all writes */
	EVENTS_BYTES = 64 << 10,
	SAY_BYTES = 32 << 10,
};

struct dir {
	int wd, fd;
	unsigned depth;              /* which part of the pattern its entries must match */
	char path[YOUNG_PATH_BYTES]; /* "" or "in/" */
};

struct watcher {
	struct watch_start how;
	char pattern[WATCH_TEXT_MAX + 1];
	unsigned n_parts;
	int notify;
	struct phx_list dirs; /* struct dir */
	struct young_files young;
	struct phx_buf says;
	bool shared;      /* other machines may write there, of which inotify does not tell */
	int64_t again_ms; /* when all files are looked at again; 0: never */
	bool failed;
};

/* ---- messages ---- */

static void flush(struct watcher *w)
{
	if (w->says.n && phx_write_all(STDIN_FILENO, w->says.data, w->says.n) < 0)
		w->failed = true;
	w->failed = w->failed || w->says.failed;
	w->says.n = 0;
}

static void say(struct watcher *w, enum watch_kind kind, const char *text, const struct stat *st)
{
	struct watch_said m = {.kind = kind, .n = (uint32_t)strlen(text)};
	if (st) {
		m.size = (uint64_t)st->st_size;
		m.number = st->st_ino;
		m.changed_ns = st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec;
		m.came_ms = st->st_ctim.tv_sec * 1000LL + st->st_ctim.tv_nsec / 1000000;
	}
	phx_buf_add(&w->says, &m, sizeof(m));
	phx_buf_add(&w->says, text, m.n);
	if (w->says.n >= SAY_BYTES)
		flush(w);
}

static void trouble(struct watcher *w, const char *what, int r)
{
	char text[WATCH_TEXT_MAX], many[64];
	snprintf(many, sizeof(many), "more than %d directories meet the pattern", DIRS_MAX);
	const char *why = r == -E2BIG ? many
		: r == -ENOSPC        ? "the system watches no more directories of this user "
					"(fs.inotify.max_user_watches)"
				      : strerror(-r);
	snprintf(text, sizeof(text), "%.120s: %s", what[0] ? what : ".", why);
	say(w, WATCH_TROUBLE, text, NULL);
	flush(w);
	w->failed = true;
}

/* ---- files ---- */

/* Has all files looked at again soon: there are more young files than fit into the list. */
static void come_again(struct watcher *w)
{
	if (!w->again_ms)
		w->again_ms = phx_clock_ms() + AGAIN_MS;
}

static void wait_for(struct watcher *w, const struct dir *d, const char *name, const char *path,
		     const struct stat *st, int64_t ms)
{
	struct young *y = young_take(&w->young, phx_seen_path(path));
	if (!y) {
		come_again(w);
		return;
	}
	y->was = *st;
	y->due_ms = phx_clock_ms() + ms;
	y->fd_of = d->fd;
	PHX_STR_SET(y->name, name);
	PHX_STR_SET(y->path, path);
}

static bool can_be_told(const struct watcher *w, const char *path)
{
	return strlen(path) <= w->how.path_max && phx_beneath_check(path, NULL) == 0;
}

/* How much longer the file must stay unchanged. A file that was found, and was not seen to be
 * closed, may still be open. */
static int64_t left_of(const struct watcher *w, const struct stat *st, bool closed)
{
	int64_t want = closed || w->how.stable_ms > YOUNG_MS ? w->how.stable_ms : YOUNG_MS;
	int64_t age = phx_wall_ms() - (st->st_mtim.tv_sec * 1000LL + st->st_mtim.tv_nsec / 1000000);
	/* a file whose time lies ahead counts as written just now */
	return closed ? want : age < 0 ? want : age < want ? want - age : 0;
}

static void look_at(struct watcher *w, const struct dir *d, const char *name, bool closed)
{
	char path[YOUNG_PATH_BYTES];
	struct stat st;
	if (snprintf(path, sizeof(path), "%s%s", d->path, name) >= (int)sizeof(path) ||
	    strlen(name) > WATCH_TEXT_MAX || fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	if (!can_be_told(w, path)) {
		say(w, WATCH_ODD, "", NULL);
		return;
	}
	int64_t left = left_of(w, &st, closed);
	if (left > 0) {
		say(w, WATCH_THERE, path, NULL);
		wait_for(w, d, name, path, &st, left);
	} else {
		say(w, WATCH_FILE, path, &st);
	}
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
		!memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) &&
		!memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim));
}

/* Looks at the young files that are due: reports those that are unchanged; the others wait
 * again. */
static void look_at_young(struct watcher *w)
{
	int64_t now = phx_clock_ms();
	for (uint32_t i = w->young.list.n; i-- > 0;) {
		struct young *y = PHX_LIST_AT(&w->young.list, struct young, i);
		struct stat st;
		if (y->due_ms > now)
			continue;
		bool there = fstatat(y->fd_of, y->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode);
		if (there && !is_same(&st, &y->was)) {
			y->was = st;
			y->due_ms =
				now + (w->how.stable_ms > YOUNG_MS ? w->how.stable_ms : YOUNG_MS);
			continue;
		}
		if (there)
			say(w, WATCH_FILE, y->path, &st);
		young_drop(&w->young, i);
	}
}

static void gone(struct watcher *w, const struct dir *d, const char *name)
{
	char path[YOUNG_PATH_BYTES];
	if (snprintf(path, sizeof(path), "%s%s", d->path, name) >= (int)sizeof(path) ||
	    !can_be_told(w, path))
		return;
	const struct young *y = young_find(&w->young, phx_seen_path(path));
	if (y)
		young_drop(&w->young, (uint32_t)(y - PHX_LIST_AT(&w->young.list, struct young, 0)));
	say(w, WATCH_GONE, path, NULL);
}

/* ---- directories ---- */

static void close_dir(struct watcher *w, struct dir *d)
{
	for (uint32_t i = w->young.list.n; i-- > 0;)
		if (PHX_LIST_AT(&w->young.list, struct young, i)->fd_of == d->fd)
			young_drop(&w->young, i);
	close(d->fd);
	phx_list_remove(&w->dirs, sizeof(*d), (uint32_t)(d - PHX_LIST_AT(&w->dirs, struct dir, 0)));
}

static void forget_all(struct watcher *w)
{
	while (w->dirs.n) {
		struct dir *d = PHX_LIST_AT(&w->dirs, struct dir, w->dirs.n - 1);
		inotify_rm_watch(w->notify, d->wd);
		close_dir(w, d);
	}
}

static bool meets(const struct watcher *w, const struct dir *d, const char *name)
{
	const char *part;
	size_t n = phx_glob_part(w->pattern, d->depth, &part);
	return phx_glob_meets(part, n, name, strlen(name)) &&
		!(w->how.whole && !d->depth && !strcmp(name, RE_USERS));
}

static bool is_last(const struct watcher *w, const struct dir *d)
{
	return d->depth + 1 == w->n_parts;
}

static struct dir *dir_of(struct watcher *w, int wd)
{
	PHX_LIST_EACH(struct dir, d, &w->dirs)
		if (d->wd == wd)
			return d;
	return NULL;
}

/* Watches a directory, which it names to the kernel by its descriptor: a name could lead elsewhere
 * by now. */
static int watch_dir(struct watcher *w, int fd, unsigned depth, const char *path)
{
	char opened[64];
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	int wd = inotify_add_watch(w->notify, opened,
				   IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE |
					   IN_MOVED_FROM | IN_ONLYDIR);
	if (wd < 0)
		return -errno;
	if (w->dirs.n >= DIRS_MAX)
		return -E2BIG;
	struct dir *d = phx_list_push(&w->dirs, sizeof(*d));
	if (!d)
		return -ENOMEM;
	*d = (struct dir){.wd = wd, .fd = fd, .depth = depth};
	PHX_STR_SET(d->path, path);
	return 0;
}

static void open_below(struct watcher *w, uint32_t parent, const char *name);

static void scan(struct watcher *w, uint32_t at)
{
	int fd = openat(PHX_LIST_AT(&w->dirs, struct dir, at)->fd, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *e; all && !w->failed && (e = readdir(all));) {
		struct dir d = *PHX_LIST_AT(&w->dirs, struct dir, at); /* the list may move */
		if (!meets(w, &d, e->d_name))
			continue;
		if (is_last(w, &d))
			look_at(w, &d, e->d_name, false);
		else
			open_below(w, at, e->d_name);
	}
	if (all)
		closedir(all);
	else if (fd >= 0)
		close(fd);
}

/* Watches and lists a directory. Takes `fd`. */
static void begin_dir(struct watcher *w, int fd, unsigned depth, const char *path)
{
	int r = watch_dir(w, fd, depth, path);
	if (r < 0) {
		close(fd);
		trouble(w, path, r);
		return;
	}
	scan(w, w->dirs.n - 1);
}

static void open_below(struct watcher *w, uint32_t parent, const char *name)
{
	const struct dir *d = PHX_LIST_AT(&w->dirs, struct dir, parent);
	char path[YOUNG_PATH_BYTES];
	if (snprintf(path, sizeof(path), "%s%s/", d->path, name) >= (int)sizeof(path))
		return;
	/* what cannot be opened is not for this user to see */
	int fd = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		begin_dir(w, fd, d->depth + 1, path);
}

static void look_at_all(struct watcher *w)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forget_all(w);
	w->again_ms = w->shared ? phx_clock_ms() + AGAIN_MS : 0;
	say(w, WATCH_LOOKS, "", NULL);
	if (fd < 0)
		trouble(w, "", -errno);
	else
		begin_dir(w, fd, 0, "");
	if (!w->failed)
		say(w, WATCH_LOOKED, "", NULL);
}

/* ---- events of inotify ---- */

/* The directory `name` has gone: closes it and all below it. It may come back under another name,
 * and is watched anew then. */
static void dir_gone(struct watcher *w, const struct dir *d, const char *name)
{
	char path[YOUNG_PATH_BYTES];
	if (snprintf(path, sizeof(path), "%s%s/", d->path, name) >= (int)sizeof(path))
		return;
	size_t n = strlen(path);
	for (uint32_t i = w->dirs.n; i-- > 0;) {
		struct dir *below = PHX_LIST_AT(&w->dirs, struct dir, i);
		if (strncmp(below->path, path, n) != 0)
			continue;
		inotify_rm_watch(w->notify, below->wd);
		close_dir(w, below);
	}
}

static bool is_linked(const struct dir *d, const char *name)
{
	struct stat st;
	return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		st.st_nlink > 1;
}

static void take_event(struct watcher *w, const struct inotify_event *e)
{
	struct dir *d = dir_of(w, e->wd);
	if (e->mask & IN_Q_OVERFLOW) {
		look_at_all(w);
		return;
	}
	if (!d || !e->len || !meets(w, d, e->name))
		return;
	bool is_dir = e->mask & IN_ISDIR, away = e->mask & (IN_DELETE | IN_MOVED_FROM);
	struct dir copy = *d;
	if (is_dir && !is_last(w, d)) {
		dir_gone(w, &copy, e->name);
		d = dir_of(w, e->wd);
		if (!away && d)
			open_below(w, (uint32_t)(d - PHX_LIST_AT(&w->dirs, struct dir, 0)),
				   e->name);
	} else if (!is_dir && is_last(w, d)) {
		if (away)
			gone(w, &copy, e->name);
		else if (!(e->mask & IN_CREATE) || is_linked(&copy, e->name))
			look_at(w, &copy, e->name, true);
	}
}

static void take_events(struct watcher *w)
{
	static char bytes[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(w->notify, bytes, sizeof(bytes));
	for (ssize_t at = 0; at < n && !w->failed;) {
		const struct inotify_event *e = (const void *)(bytes + at);
		at += (ssize_t)(sizeof(*e) + e->len);
		take_event(w, e);
	}
}

/* ---- the process ---- */

static int time_left(const struct watcher *w)
{
	int64_t due = w->again_ms ? w->again_ms : INT64_MAX, now = phx_clock_ms();
	PHX_LIST_EACH(struct young, y, &w->young.list)
		due = y->due_ms < due ? y->due_ms : due;
	if (due == INT64_MAX)
		return -1;
	return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

/* Is the directory on a file system that other machines write to? This kernel does not learn of
 * their writes. */
static bool is_shared(void)
{
	static const unsigned long types[] = {0x6969 /* nfs */,        0x517b /* smb */,
					      0xff534d42 /* cifs */,   0xfe534d42 /* smb2 */,
					      0x0bd00bd0 /* lustre */, 0x00c36400 /* ceph */,
					      0x65735546 /* fuse */,   0x19830326 /* beegfs */,
					      0x47504653 /* gpfs */,   0x01021997 /* 9p */};
	struct statfs fs;
	if (statfs(".", &fs) < 0)
		return false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(types); i++)
		if ((unsigned long)(uint32_t)fs.f_type == types[i])
			return true;
	return false;
}

static int read_all(void *to, size_t n)
{
	char *at = to;
	while (n) {
		ssize_t got = read(STDIN_FILENO, at, n);
		if (got <= 0)
			return -EPIPE;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

static int begin(struct watcher *w)
{
	const char *part;
	int r = read_all(&w->how, sizeof(w->how));
	r = r || w->how.n < sizeof(w->pattern) ? r : -EPROTO;
	r = r ? r : read_all(w->pattern, w->how.n);
	if (r < 0)
		return r;
	while (phx_glob_part(w->pattern, w->n_parts, &part))
		w->n_parts++;
	w->shared = is_shared();
	w->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->notify < 0)
		trouble(w, "inotify", -errno);
	else
		look_at_all(w);
	return 0;
}

static void run(struct watcher *w)
{
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {w->notify, POLLIN, 0}};
	while (!w->failed) {
		flush(w);
		int n = poll(fds, PHX_ARRAY_SIZE(fds), time_left(w));
		/* the head sends nothing after the start: the socket has been closed */
		if ((n < 0 && errno != EINTR) || fds[0].revents)
			return;
		if (n > 0 && fds[1].revents)
			take_events(w);
		look_at_young(w);
		if (w->again_ms && phx_clock_ms() >= w->again_ms)
			look_at_all(w);
	}
}

int watcher_run(void)
{
	static const struct phx_confine_path paths[] = {{".", PHX_CONFINE_READ | PHX_CONFINE_DIRS}};
	const struct phx_confine c = {.what = "the watcher",
				      .user = "",
				      .paths = paths,
				      .n_paths = PHX_ARRAY_SIZE(paths),
				      .calls = PHX_CALLS_watcher};
	struct watcher w = {.notify = -1};
	struct phx_err err = {0};
	phx_apart_deaf();
	int r = geteuid() == 0 ? phx_err_set(&err, -EPERM, "the watcher is never root")
			       : phx_confine_self(&c, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	r = r ? r : begin(&w);
	if (r == 0)
		run(&w);
	young_fini(&w.young);
	return r == 0 || r == -EPIPE ? 0 : 1;
}

/* ---- the launcher's side ---- */

static int enter(const void *arg)
{
	return fchdir(*(const int *)arg) < 0 ? -errno : 0;
}

int watcher_spawn(int dir, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *err)
{
	const char *const argv[] = {"/proc/self/exe", "--watcher", NULL};
	const struct phx_run_as as = {.uid = uid, .gid = gid};
	const struct phx_launch how = {.argv = argv, .as = &as, .prepare = enter, .arg = &dir};
	struct phx_process p;
	if (!uid)
		return phx_err_set(err, -EPERM,
				   "the directory is root's, and no watcher runs as root");
	int r = phx_apart_spawn(&how, "the watcher", &p, ret_fd, err);
	if (r == 0)
		phx_apart_collect_later(&p);
	return r;
}
