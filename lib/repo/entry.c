/* What may be in a package: plain files, directories and links that stay
 * inside. Called by build for the tree and by walk for every entry of an
 * archive, so that what one makes the other takes. Touches no file. */
#include "repo/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *phx_entry_show(const char *path, char *buf, size_t buf_size)
{
	size_t n = 0;
	for (const unsigned char *p = (const unsigned char *)path; *p && n + 5 < buf_size; p++) {
		bool plain = *p >= 0x20 && *p < 0x7f && *p != '\\';
		n += (size_t)snprintf(buf + n, buf_size - n, plain ? "%c" : "\\x%02x", *p);
	}
	buf[n] = '\0';
	return buf;
}

static int refuse(struct phx_err *err, const char *path, const char *why)
{
	char shown[200];
	return phx_err_set(err, -EPERM, "%s: %s", phx_entry_show(path, shown, sizeof(shown)), why);
}

/* Why a path made of components is not acceptable, or NULL. */
static const char *bad_path(const char *path)
{
	if (path[0] == '/')
		return "absolute path";
	if (strlen(path) >= PATH_MAX / 2)
		return "path too long";
	for (const char *p = path;; p++) {
		size_t n = strcspn(p, "/");
		if (n == 0)
			return "empty part in path";
		if (n > NAME_MAX)
			return "name too long";
		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return "'.' or '..' in path";
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
				return "control character in path";
		p += n;
		if (!*p)
			return NULL;
	}
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;
	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* A link is safe when its target is at most as many "../" as the link is deep,
 * then names only: each hop then ends inside, whatever links lie on the way. */
static const char *bad_target(const char *path, const char *target)
{
	size_t depth = depth_of(path);
	while (target[0] == '.' && target[1] == '.' && (target[2] == '/' || !target[2])) {
		if (depth-- == 0)
			return "link leads out of the package";
		if (!target[2])
			return NULL;
		target += 3;
	}
	if (target[0] == '/')
		return "link to an absolute path";
	return bad_path(target) ? "link target must be ../ parts, then plain names" : NULL;
}

static const char *bad_type(const struct phx_package_entry *e)
{
	if (e->hard)
		return "hard link";
	switch (e->mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
		return NULL;
	case S_IFLNK:
		return e->target ? bad_target(e->path, e->target) : "link without target";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	case S_IFIFO:
		return "fifo";
	default:
		return "neither file, directory nor link";
	}
}

int phx_entry_check(const struct phx_package_entry *e, struct phx_err *err)
{
	const char *why = bad_path(e->path);
	if (!why)
		why = bad_type(e);
	if (!why && (e->mode & (S_ISUID | S_ISGID | S_ISVTX)) && !S_ISLNK(e->mode))
		why = "set-id or sticky bit";
	size_t n = strlen(PHX_PACKAGE_RESERVED);
	if (!why && !strncmp(e->path, PHX_PACKAGE_RESERVED, n) &&
	    (!e->path[n] || e->path[n] == '/'))
		why = "the name " PHX_PACKAGE_RESERVED " is reserved";
	return why ? refuse(err, e->path, why) : 0;
}

mode_t phx_entry_mode(mode_t mode)
{
	return S_ISDIR(mode) || (mode & 0111) ? 0755 : 0644;
}
