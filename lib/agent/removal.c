/* See removal.h. Called by the step `leave`. Never removes a path outside of the
 * prefixes, whatever a role says. */
#include "agent/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "types/role.h"

int removal_check(const char *path, struct phx_err *err)
{
	return phx_role_removal_check(path, err) < 0 ? -EPERM : 0;
}

/* No component but the last may be a link: walks the path without following links. */
static int check_parents(const char *root, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *walk = strdup(path + 1);
	PHX_AUTO_CLOSE int dir = open(root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!walk || dir < 0)
		return walk ? -errno : -ENOMEM;
	char *rest = walk;
	for (char *slash; (slash = strchr(rest, '/')); rest = slash + 1) {
		*slash = '\0';
		int next = openat(dir, rest, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;
		if (next < 0)
			return errno == ENOENT
				? -ENOENT
				: phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
		close(dir);
		dir = next;
		if (fstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			return phx_err_set(err, -EPERM, "%s: \"%s\" on the way is no directory",
					   path, rest);
	}
	return 0;
}

int removal_remove(const char *root, const char *path, struct phx_err *err)
{
	int r = removal_check(path, err);
	if (r == 0)
		r = check_parents(root, path, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	PHX_AUTO_FREE char *whole = phx_path("%s%s", root, path);
	return whole ? phx_dir_remove(whole, err) : -ENOMEM;
}
