/* The directories of places.h, opened as the launcher opens them, and what of another user's by a
 * helper that is that user: re_area.c, re_place.c and helper.c, the real ones. */
#ifndef TESTS_PHXD_AREAS_H
#define TESTS_PHXD_AREAS_H

#define open_dir helper_open_dir /* each part has its own */
#define PATH_TEXT HELPER_PATH_TEXT
#include "phxd/helper.c"
#undef open_dir
#undef PATH_TEXT
#include "phxd/re_area.c"
#include "phxd/re_owners.c"
#include "phxd/re_place.c"

#include "unit/phxd/places.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* As helper_spawn(), without another program: the test itself goes on as the helper. */
static inline int fake_helper(int dir, uid_t uid, gid_t gid)
{
	int both[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid) {
		close(both[1]);
		return both[0];
	}
	if (dup2(both[1], STDIN_FILENO) < 0 || fchdir(dir) < 0 || close_range(3, ~0U, 0) < 0 ||
	    setgroups(0, NULL) < 0 || setgid(gid) < 0 || setuid(uid) < 0)
		_exit(99);
	_exit(helper_run());
}

/* Of no creation that the test speaks of. */
void re_dir_whose(const struct daemon *d, const char *re, struct re_place_whose *w)
{
	(void)d;
	PHX_STR_SET(w->re, re);
}

static unsigned n_helpers;

int launch_re_open(struct launch *l, const struct re_place_whose *w, struct launch_re_opened *ret,
		   struct phx_err *err)
{
	struct stat st;
	(void)l;
	int fd = re_place_open(&cfg, w, &st, err);
	if (fd < 0)
		return fd;
	*ret = (struct launch_re_opened){.uid = st.st_uid, .gid = st.st_gid, .fd = fd};
	if (st.st_uid == geteuid())
		return 0;
	n_helpers++;
	ret->helper = true;
	ret->fd = fake_helper(fd, st.st_uid, st.st_gid);
	close(fd);
	return 0;
}

int launch_re_users(struct launch *l, const char *re, struct phx_list *ret)
{
	(void)l;
	re_place_users(&cfg, re, ret);
	return 0;
}

/* The helpers end with their sockets; none failed. */
static inline void helpers_have_ended(void)
{
	int status;
	for (; n_helpers; n_helpers--) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

#endif
