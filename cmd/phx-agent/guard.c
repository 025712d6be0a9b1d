/* See guard.h. Called by the step `leave`. Never removes anything outside of
 * its prefixes, whatever a role says. */
#include "phx-agent/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* the same as phx_role_check()'s */
static const char *const allowed[] = {"/var/lib/", "/var/cache/", "/var/log/", "/srv/", "/etc/opt/"};

/* The system or Phoenix lives by these and by all that is in them. */
static const char *const kept[] = {
	"/var/lib/phoenix", "/var/lib/dpkg",      "/var/lib/apt",     "/var/lib/systemd",
	"/var/lib/dbus",    "/var/cache/phoenix", "/var/log/journal",
};

static bool inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* "//", "/./", "/../" and a final "/" are refused: what is checked is what is removed */
static bool plain_components(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		p++;
		size_t n = strcspn(p, "/");
		if (n == 0 || n > NAME_MAX || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
	}
	return true;
}

int guard_check(const char *path, struct phx_err *err)
{
	bool below = false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(allowed); i++)
		below = below || (phx_str_starts(path, allowed[i]) && path[strlen(allowed[i])]);
	if (!below)
		return phx_err_set(
			err, -EPERM,
			"%s: only what is below /var/lib, /var/cache, /var/log, /srv or /etc/opt may be removed", path);
	if (!plain_components(path))
		return phx_err_set(err, -EPERM, "%s: must be a plain path without \"//\", \".\" or \"..\"", path);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++)
		if (inside(path, kept[i]))
			return phx_err_set(err, -EPERM, "%s: belongs to the system (%s)", path, kept[i]);
	return 0;
}

/* No component but the last may be a link: walk them without following. */
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
			return errno == ENOENT ? -ENOENT : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
		close(dir);
		dir = next;
		if (fstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			return phx_err_set(err, -EPERM, "%s: \"%s\" on the way is no directory", path, rest);
	}
	return 0;
}

int guard_remove(const char *root, const char *path, struct phx_err *err)
{
	int r = guard_check(path, err);
	if (r == 0)
		r = check_parents(root, path, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	PHX_AUTO_FREE char *whole = phx_path("%s%s", root, path);
	return whole ? phx_dir_remove(whole, err) : -ENOMEM;
}
