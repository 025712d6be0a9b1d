/* Which device is the disk that was meant, and does anything use it: see
 * disk.h. Called before every act on a disk. Never writes; on doubt, no. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sysfs.h"
#include "disk/internal.h"

enum { PROC_MAX = 1 << 20 };

static int check_facts(const struct phx_disk_facts *d, const struct phx_disk_facts *facts,
		       struct phx_err *err)
{
	if (d->size_bytes != facts->size_bytes)
		return phx_err_set(err, -EMEDIUMTYPE,
				   "disk %s (/dev/%s) has %" PRIu64
				   " bytes, expected were %" PRIu64,
				   d->id, d->dev, d->size_bytes, facts->size_bytes);
	if (d->read_only)
		return phx_err_set(err, -EROFS, "disk %s (/dev/%s) is read-only", d->id, d->dev);
	return 0;
}

/* The one disk with the id; 0, -ENOENT, -ENOTUNIQ. */
static int pick(const struct phx_list *disks, const char *id, const struct phx_disk_facts **ret,
		struct phx_err *err)
{
	const struct phx_disk_facts *found = NULL;
	PHX_LIST_EACH(struct phx_disk_facts, d, disks) {
		if (strcmp(d->id, id))
			continue;
		if (found)
			return phx_err_set(err, -ENOTUNIQ,
					   "/dev/%s and /dev/%s both call themselves %s; the "
					   "target must be unambiguous",
					   found->dev, d->dev, id);
		found = d;
	}
	if (!found)
		return phx_err_set(err, -ENOENT, "this machine has no disk %s (it has %u others)",
				   id, disks->n);
	*ret = found;
	return 0;
}

int phx_disk_find_below(const char *root, const struct phx_disk_facts *facts, char ret_path[64],
			struct phx_err *err)
{
	struct phx_list disks;
	const struct phx_disk_facts *found = NULL;
	if (!facts->id[0])
		return phx_err_set(err, -EINVAL, "the order names no disk id");
	int r = phx_disk_list(root, &disks, err);
	if (r < 0)
		return r;
	r = pick(&disks, facts->id, &found, err);
	if (r == 0)
		r = check_facts(found, facts, err);
	if (r == 0)
		snprintf(ret_path, 64, "/dev/%s", found->dev);
	phx_list_fini(&disks);
	return r;
}

int phx_disk_find(const struct phx_disk_facts *facts, char ret_path[64], struct phx_err *err)
{
	return phx_disk_find_below("", facts, ret_path, err);
}

/* One of the block devices of the machine. */
struct path_of {
	const struct phx_disk_facts *facts;
	struct phx_err *err;
};

static int check_path(void *arg, const char *name)
{
	const struct path_of *p = arg;
	struct phx_disk_facts d;
	char path[64];
	if (phx_disk_facts_read("", name, &d) < 0 || strcmp(d.id, p->facts->id) != 0)
		return 0;
	snprintf(path, sizeof(path), "/dev/%s", d.dev);
	return phx_disk_check_free(path, p->err);
}

int phx_disk_check_paths(const struct phx_disk_facts *facts, struct phx_err *err)
{
	struct path_of p = {facts, err};
	return phx_sys_each("", "sys/block", check_path, &p);
}

int phx_disk_check_same(const struct phx_block *b, const struct phx_disk_facts *facts,
			struct phx_err *err)
{
	struct phx_disk_facts now;
	if (b->size_bytes != facts->size_bytes)
		return phx_err_set(err, -EMEDIUMTYPE,
				   "%s has %" PRIu64 " bytes, disk %s has %" PRIu64, b->path,
				   b->size_bytes, facts->id, facts->size_bytes);
	if (b->is_file || !phx_str_starts(b->path, "/dev/") ||
	    phx_disk_facts_read("", b->path + 5, &now) < 0)
		return 0;
	if (strcmp(now.id, facts->id))
		return phx_err_set(err, -ESTALE, "%s is disk '%s', not '%s'; nothing was touched",
				   b->path, now.id, facts->id);
	return 0;
}

/* ---- who uses it ---- */

struct user {
	const char *path;
	char sys[128]; /* sys/dev/block/M:m of the whole disk */
	struct phx_err *err;
};

/* Whether device number M:m is the disk or one of its partitions. */
static bool belongs(const struct user *u, unsigned int maj, unsigned int min)
{
	char disk[512], dev[512];
	if (phx_sys_target("", disk, sizeof(disk), "%s", u->sys) < 0 ||
	    phx_sys_target("", dev, sizeof(dev), "sys/dev/block/%u:%u", maj, min) < 0)
		return false;
	size_t n = strlen(disk);
	return phx_str_starts(dev, disk) && (dev[n] == '\0' || dev[n] == '/');
}

/* Lines of /proc/self/mountinfo: "36 35 98:0 /root /mount/point …". */
static int check_mounts(const struct user *u)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = phx_file_read("/proc/self/mountinfo", PROC_MAX, &text, &n, u->err);
	if (r < 0)
		return r;
	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned int maj, min;
		char where[256];
		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &maj, &min, where) == 3 &&
		    belongs(u, maj, min))
			return phx_err_set(u->err, -EBUSY, "%s is in use: mounted on %s", u->path,
					   where);
	}
	return 0;
}

int phx_swaps_each(int (*fn)(void *arg, const char *path), void *arg)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = 0;
	if (phx_file_read("/proc/swaps", PROC_MAX, &text, NULL, NULL) < 0)
		return 0;
	char *save, *line = strtok_r(text, "\n", &save); /* the heads of the columns */
	while (r == 0 && line && (line = strtok_r(NULL, "\n", &save))) {
		line[strcspn(line, " \t")] = '\0';
		r = fn(arg, line);
	}
	return r;
}

static int check_swap(void *arg, const char *path)
{
	const struct user *u = arg;
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode) ||
	    !belongs(u, major(st.st_rdev), minor(st.st_rdev)))
		return 0;
	return phx_err_set(u->err, -EBUSY, "%s is in use: %s is swap space", u->path, path);
}

static int tell_holder(void *arg, const char *name)
{
	const struct user *u = arg;
	return phx_err_set(u->err, -EBUSY, "%s is in use: held by %s (device mapper, RAID or LVM)",
			   u->path, name);
}

/* A directory of the disk in sysfs: a partition has holders of its own. */
static int check_partition(void *arg, const char *name)
{
	struct user *u = arg;
	char dir[256];
	if (!phx_sys_has("", "%s/%s/partition", u->sys, name))
		return 0;
	snprintf(dir, sizeof(dir), "%s/%.64s/holders", u->sys, name);
	return phx_sys_each("", dir, tell_holder, u);
}

static int check_holders(struct user *u)
{
	char dir[160];
	snprintf(dir, sizeof(dir), "%s/holders", u->sys);
	int r = phx_sys_each("", dir, tell_holder, u);
	if (r == -ENOENT)
		r = 0; /* a partition node was given: it has no directory of its own */
	return r < 0 ? r : phx_sys_each("", u->sys, check_partition, u);
}

int phx_disk_check_free(const char *path, struct phx_err *err)
{
	struct user u = {.path = path, .err = err};
	struct stat st;
	if (stat(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISBLK(st.st_mode))
		return phx_err_set(err, -ENOTBLK, "%s: is neither a block device nor a file", path);
	snprintf(u.sys, sizeof(u.sys), "sys/dev/block/%u:%u", major(st.st_rdev), minor(st.st_rdev));
	int r = check_holders(&u);
	if (r == 0)
		r = check_mounts(&u);
	if (r == 0)
		r = phx_swaps_each(check_swap, &u);
	if (r < 0)
		return r;
	/* whatever else claims it: the kernel refuses O_EXCL */
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path,
				   errno == EBUSY ? "is in use by the kernel" : strerror(errno));
	return 0;
}
