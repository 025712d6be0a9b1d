/* Can what is swapped be read later? Looks at block devices of the running machine in sysfs, or of
 * a fixture. Called by phxd when it starts. Changes nothing. */
#include <sys/sysmacros.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "disk/disk.h"

enum { DEPTH_MAX = 8 };

struct layer {
	const char *root;
	unsigned major, minor;
	int depth;
	unsigned n_below; /* devices that it lies on */
};

static bool keeps_secret(const struct layer *l);

/* 1: one that does not. */
static int below(void *arg, const char *name)
{
	struct layer *upper = arg;
	struct layer l = {.root = upper->root, .depth = upper->depth + 1};
	char dev[32];
	upper->n_below++;
	int r = phx_sys_text(l.root, dev, sizeof(dev), "sys/dev/block/%u:%u/slaves/%s/dev",
			     upper->major, upper->minor, name);
	if (r < 0 || sscanf(dev, "%u:%u", &l.major, &l.minor) != 2)
		return 1;
	return keeps_secret(&l) ? 0 : 1;
}

/* Compressed memory, which has no disk behind it. */
static bool is_memory(const struct layer *l)
{
	char behind[64];
	if (!phx_sys_has(l->root, "sys/dev/block/%u:%u/comp_algorithm", l->major, l->minor))
		return false;
	int r = phx_sys_text(l->root, behind, sizeof(behind), "sys/dev/block/%u:%u/backing_dev",
			     l->major, l->minor);
	return r == -ENOENT || strcmp(behind, "none") == 0;
}

static bool is_encrypted(const struct layer *l)
{
	char uuid[32];
	return phx_sys_text(l->root, uuid, sizeof(uuid), "sys/dev/block/%u:%u/dm/uuid", l->major,
			    l->minor) == 0 &&
		phx_str_starts(uuid, "CRYPT-");
}

static bool keeps_secret(const struct layer *l)
{
	char path[64];
	if (l->depth == DEPTH_MAX)
		return false;
	if (is_memory(l) || is_encrypted(l))
		return true;
	/* a volume, an array: as all that it lies on */
	snprintf(path, sizeof(path), "sys/dev/block/%u:%u/slaves", l->major, l->minor);
	struct layer upper = *l;
	return phx_sys_each(l->root, path, below, &upper) == 0 && upper.n_below;
}

bool phx_swap_keeps_secret(const char *root, dev_t dev)
{
	struct layer l = {.root = root, .major = major(dev), .minor = minor(dev)};
	return keeps_secret(&l);
}
