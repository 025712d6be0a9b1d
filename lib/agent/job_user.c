/* See job_user.h. Never follows a link, never leaves a file system, and never touches what belongs
 * to another user. */
#include "agent/job_user.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/pidfd.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"
#include "base/process.h"
#include "base/tree.h"

enum { ROUNDS = 10, GONE_MS = 1000 };

/* The ranges of Debian's adduser and of systemd. */
bool job_user_is_person(uid_t uid)
{
	return uid >= 1000 && !(uid > 60000 && uid < 65536) && phx_id_valid(uid);
}

/* ---- processes ---- */

static bool is_of(int dir, const char *name, uid_t uid)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == uid;
}

/* Kills the process if it is the user's. Its owner is checked again once it is open: the process id
 * may be another's by now, the descriptor's process stays the same. */
static bool kill_his(int proc, const char *name, uid_t uid)
{
	char *end;
	long pid = strtol(name, &end, 10);
	if (pid <= 1 || *end || !is_of(proc, name, uid))
		return false;
	PHX_AUTO_CLOSE int fd = pidfd_open((pid_t)pid, 0);
	if (fd < 0 || !is_of(proc, name, uid) || phx_process_signal(fd, SIGKILL) < 0)
		return false;
	phx_process_wait(fd, GONE_MS);
	return true;
}

/* Repeats until none is found: a process may start another while the list is read. */
static void end_processes(uid_t uid)
{
	bool found = true;
	for (int i = 0; i < ROUNDS && found; i++) {
		DIR *proc = opendir("/proc");
		found = false;
		for (struct dirent *e; proc && (e = readdir(proc));)
			found |= kill_his(dirfd(proc), e->d_name, uid);
		if (proc)
			closedir(proc);
	}
}

/* ---- shared memory, semaphores, queues of the machine ---- */

static void remove_shm(int id)
{
	shmctl(id, IPC_RMID, NULL);
}

static void remove_sem(int id)
{
	semctl(id, 0, IPC_RMID);
}

static void remove_queue(int id)
{
	msgctl(id, IPC_RMID, NULL);
}

/* The kernel's lists: a header, then one line for each object, with its id in the second column and
 * its owner in column `uid_column`. */
static const struct ipc_list {
	const char *path;
	int uid_column;
	void (*remove)(int id);
} ipc_lists[] = {
	{"/proc/sysvipc/shm", 8, remove_shm},
	{"/proc/sysvipc/sem", 5, remove_sem},
	{"/proc/sysvipc/msg", 8, remove_queue},
};

static void remove_ipc(const struct ipc_list *l, uid_t uid)
{
	PHX_AUTO_FREE char *text = NULL;
	char *rest_of_text = NULL;
	if (phx_file_read(l->path, 1 << 20, &text, NULL, NULL) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &rest_of_text); line;
	     line = strtok_r(NULL, "\n", &rest_of_text)) {
		char *rest = NULL, *word = strtok_r(line, " ", &rest);
		int id = -1;
		for (int column = 1; word && column < l->uid_column; column++) {
			if (column == 2)
				id = atoi(word);
			word = strtok_r(NULL, " ", &rest);
		}
		if (word && id >= 0 && strtoul(word, NULL, 10) == uid)
			l->remove(id);
	}
}

/* ---- files ---- */

/* Directories in which files that the user owns are removed, whoever wrote them. */
static const char *const open_dirs[] = {"/tmp",
					"/var/tmp",
					"/dev/shm",
					"/run/lock",
					"/var/spool/cron/crontabs",
					"/var/spool/cron/atjobs"};
/* root's files, each named after a user whose manager runs even while he is not logged in */
static const char lingering[] = "/var/lib/systemd/linger";

static void remove_his(const char *root, const char *place, uid_t uid)
{
	PHX_AUTO_FREE char *path = phx_path("%s%s", root, place);
	DIR *d = path ? opendir(path) : NULL;
	for (struct dirent *e; d && (e = readdir(d));) {
		PHX_AUTO_FREE char *file = phx_path("%s/%s", path, e->d_name);
		if (file && strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    is_of(dirfd(d), e->d_name, uid))
			phx_dir_remove(file, NULL);
	}
	if (d)
		closedir(d);
}

static void remove_named(const char *root, const char *place, uid_t uid)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (phx_user_numbered(uid, &pw, &texts) < 0 || strchr(pw.pw_name, '/'))
		return;
	PHX_AUTO_FREE char *path = phx_path("%s%s/%s", root, place, pw.pw_name);
	if (path)
		unlink(path);
}

void job_user_leave(const char *root, uid_t uid)
{
	if (!job_user_is_person(uid))
		return;
	remove_named(root, lingering, uid);
	end_processes(uid);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ipc_lists); i++)
		remove_ipc(&ipc_lists[i], uid);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(open_dirs); i++)
		remove_his(root, open_dirs[i], uid);
}
