/* Where tasks live: the data directory, and the private places of their user. See task_keep.h. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/job_private.h"
#include "agent/task_keep.h"
#include "base/file.h"
#include "base/tree.h"

/* Used where job_private.h wants a run of a job; no job has such a number: theirs are at most
 * INT64_MAX. */
#define PLACE_OF(uid) ((struct job_run){UINT64_C(1) << 63 | (uid), 0})

/* ---- private places of a user ---- */

/* Enters the private places and keeps them until the keeper has opened them: they last as long as
 * anybody has them open. */
static void __attribute__((noreturn)) hold_places(const char *dir, int out, int in)
{
	const char *what = "";
	char one;
	int32_t r = job_private_enter(dir, &what);
	(void)!write(out, &r, sizeof(r));
	while (read(in, &one, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* What hold_places() says of its entering. */
static int hear_entered(int from)
{
	int32_t r;
	ssize_t n;
	while ((n = read(from, &r, sizeof(r))) < 0 && errno == EINTR)
		;
	return n == sizeof(r) ? r : -EIO;
}

static int open_namespaces(pid_t pid, struct task_user *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	int mounts = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)pid);
	int ipc = mounts < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (ipc < 0) {
		int r = -errno;
		phx_close_fd(&mounts);
		return r;
	}
	ret->mounts = mounts;
	ret->ipc = ipc;
	return 0;
}

static int enter_places(const char *dir, struct task_user *ret)
{
	int said[2], go[2], r;
	if (pipe2(said, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(go, O_CLOEXEC) < 0) {
		r = -errno;
		close(said[0]);
		close(said[1]);
		return r;
	}
	/* no program, which base/process.h would start: only namespaces that somebody holds */
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		hold_places(dir, said[1], go[0]);
	}
	r = pid < 0 ? -errno : 0;
	close(said[1]);
	r = r ? r : hear_entered(said[0]);
	r = r ? r : open_namespaces(pid, ret);
	close(go[1]);
	close(go[0]);
	close(said[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

static int find_user(struct task_keep *k, uint32_t uid, const struct task_user **ret,
		     struct phx_err *err)
{
	struct task_user user = {.uid = uid};
	PHX_AUTO_FREE char *stage = phx_path("%s-jobs", k->cache_dir);
	PHX_LIST_EACH(struct task_user, u, &k->users)
		if (u->uid == uid) {
			*ret = u;
			return 0;
		}
	PHX_AUTO_FREE char *dir = stage ? job_private_dir(stage, PLACE_OF(uid)) : NULL;
	int r = dir ? job_private_make(stage, PLACE_OF(uid), err) : -ENOMEM;
	if (r == 0 && (r = enter_places(dir, &user)) < 0)
		phx_err_set(err, r, "places of their own: %s", strerror(-r));
	struct task_user *u = r == 0 ? phx_list_push(&k->users, sizeof(*u)) : NULL;
	if (u)
		*u = user;
	else if (r == 0) {
		close(user.mounts);
		close(user.ipc);
		r = -ENOMEM;
	}
	*ret = u;
	return r;
}

void task_users_fini(struct task_keep *k)
{
	PHX_AUTO_FREE char *stage = phx_path("%s-jobs", k->cache_dir);
	PHX_LIST_EACH(struct task_user, u, &k->users) {
		PHX_AUTO_FREE char *dir = stage ? job_private_dir(stage, PLACE_OF(u->uid)) : NULL;
		close(u->mounts);
		close(u->ipc);
		if (dir)
			phx_dir_remove(dir, NULL);
	}
	phx_list_fini(&k->users);
}

/* ---- the data directory ---- */

static int make_data(const struct task_keep *k, const struct phx_task_order *o,
		     struct task_common *c, struct phx_err *err)
{
	PHX_AUTO_FREE char *above = phx_path("%s-tasks", k->cache_dir);
	int r = above ? phx_dir_make(above, 0711, err) : -ENOMEM;
	if (r < 0)
		return r;
	int n = snprintf(c->data, sizeof(c->data), "%s/%s.%u", above, o->re, o->uid);
	if (n >= (int)sizeof(c->data))
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long", above);
	/* only root can make anything there */
	if ((mkdir(c->data, 0700) < 0 && errno != EEXIST) || chown(c->data, o->uid, o->gid) < 0)
		return phx_err_set(err, -errno, "%s: %s", c->data, strerror(errno));
	c->own = true;
	return 0;
}

int task_common_make(struct task_keep *k, const struct phx_task_order *o, struct task_common **ret,
		     struct phx_err *err)
{
	PHX_AUTO_FREE struct task_common *c = calloc(1, sizeof(*c));
	const struct task_user *user = NULL;
	if (!c)
		return -ENOMEM;
	*c = (struct task_common){.as = {.uid = o->uid, .gid = o->gid},
				  .is_private = k->is_private,
				  .heartbeat_timeout_ms = o->heartbeat_timeout_ms,
				  .grace_ms = o->grace_ms,
				  .cores = k->book.cores,
				  .print_max = o->output_max_kb ? (uint64_t)o->output_max_kb << 10
								: TASK_PRINT_MAX};
	PHX_STR_SET(c->re, o->re);
	PHX_STR_SET(c->user, o->user);
	int r = o->data[0] ? PHX_STR_SET(c->data, o->data) : make_data(k, o, c, err);
	if (r == 0 && k->is_private)
		r = find_user(k, o->uid, &user, err);
	if (r < 0)
		return r;
	if (user) {
		c->mounts = user->mounts;
		c->ipc = user->ipc;
	}
	*ret = PHX_TAKE(c);
	return 0;
}
