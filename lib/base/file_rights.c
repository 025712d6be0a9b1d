/* See file_rights.h. Called by phxd for the data of runtime environments. The system
 * calls themselves are used for groups: the C library's would change all threads. */
#include "base/file_rights.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

static int set_groups(int n, const gid_t *groups)
{
	return syscall(SYS_setgroups, (size_t)n, groups) < 0 ? -errno : 0;
}

static bool becomes(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	/* they tell what it was, and never an error: for the number of nobody they change
	 * nothing */
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

static int keep_groups(struct phx_rights *was)
{
	was->n_groups = getgroups(0, NULL);
	was->groups = calloc((size_t)(was->n_groups > 0 ? was->n_groups : 1), sizeof(gid_t));
	if (!was->groups)
		return -ENOMEM;
	was->n_groups = getgroups(was->n_groups, was->groups);
	return was->n_groups < 0 ? -errno : 0;
}

int phx_rights_take(uid_t uid, gid_t gid, struct phx_rights *ret_was, struct phx_err *err)
{
	struct phx_rights was = {.uid = geteuid(), .gid = getegid()};
	*ret_was = (struct phx_rights){0};
	if (uid == was.uid)
		return 0;
	if (was.uid != 0 || !phx_id_valid(uid) || !phx_id_valid(gid))
		return phx_err_set(err, -EPERM, "files of uid %u cannot be touched with its rights",
				   uid);
	int r = keep_groups(&was);
	r = r ? r : set_groups(0, NULL);
	if (r < 0) {
		free(was.groups);
		return phx_err_set(err, r, "files of uid %u cannot be touched with its rights",
				   uid);
	}
	was.taken = true;
	*ret_was = was;
	if (becomes(uid, gid))
		return 0;
	phx_rights_give_back(ret_was);
	return phx_err_set(err, -EPERM, "files of uid %u cannot be touched with its rights", uid);
}

void phx_rights_give_back(struct phx_rights *was)
{
	if (was->taken &&
	    (!becomes(was->uid, was->gid) || set_groups(was->n_groups, was->groups) < 0))
		abort(); /* nobody works on as somebody else */
	free(was->groups);
	*was = (struct phx_rights){0};
}
