/* Do two disks belong together, as members of one RAID, of one volume group, of one file system of
 * several devices? See disk.h. Called before a disk is written while others must not be. Only
 * reads; what it cannot read is not excluded. */
#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "disk/internal.h"

enum { MEMBERS_MAX = 64, LVM_TEXT_BYTES = PHX_MIB };

/* A signature that says: part of something larger. */
struct member {
	char type[32], uuid[64];
	uint64_t offset;
};

struct members {
	struct member all[MEMBERS_MAX];
	uint32_t n;
};

static bool is_of_array(const char *type)
{
	static const char *const types[] = {"LVM2_member", "LVM1_member", "btrfs",
					    "zfs_member",  "bcachefs",    "drbd"};
	size_t n = strlen(type), raid = strlen("_raid_member");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(types); i++)
		if (phx_str_eq(type, types[i]))
			return true;
	return n > raid && phx_str_eq(type + n - raid, "_raid_member");
}

static void take(blkid_probe p, uint64_t offset, struct members *ret)
{
	const char *type = "", *uuid = "";
	blkid_probe_lookup_value(p, "TYPE", &type, NULL);
	blkid_probe_lookup_value(p, "UUID", &uuid, NULL);
	if (!is_of_array(type) || ret->n == MEMBERS_MAX)
		return;
	struct member *m = &ret->all[ret->n++];
	PHX_STR_SET(m->type, type);
	PHX_STR_SET(m->uuid, uuid);
	m->offset = offset;
}

/* All signatures of a place, also those that lie over each other. */
static int probe(int fd, const char *path, uint64_t offset, uint64_t size, struct members *ret,
		 struct phx_err *err)
{
	int r = -1;
	blkid_probe p = blkid_new_probe();
	if (p && blkid_probe_set_device(p, fd, (blkid_loff_t)offset, (blkid_loff_t)size) == 0) {
		blkid_probe_enable_superblocks(p, 1);
		blkid_probe_set_superblocks_flags(p, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID);
		while ((r = blkid_do_probe(p)) == 0)
			take(p, offset, ret);
	}
	blkid_free_probe(p);
	return r > 0 ? 0 : phx_err_set(err, -EIO, "%s: cannot be looked at for signatures", path);
}

static int read_members(int fd, const char *path, struct members *ret, struct phx_err *err)
{
	struct phx_part_table table;
	*ret = (struct members){0};
	int r = phx_table_read(path, &table, err);
	if (r == 0)
		r = probe(fd, path, 0, 0, ret, err);
	for (uint32_t i = 0; r == 0 && i < table.n; i++)
		r = probe(fd, path, table.parts[i].start_bytes, table.parts[i].size_bytes, ret,
			  err);
	return r;
}

/* The text of a volume group, which is on each of its volumes, names all of them. */
static int check_lvm(int fd, const char *path, const struct member *mine, const char *uuid,
		     struct phx_err *err)
{
	PHX_AUTO_FREE char *text = calloc(1, LVM_TEXT_BYTES);
	if (!text)
		return phx_err_set(err, -ENOMEM, "out of memory");
	ssize_t n = pread(fd, text, LVM_TEXT_BYTES, (off_t)mine->offset);
	if (n < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return memmem(text, (size_t)n, uuid, strlen(uuid)) ? -EBUSY : 0;
}

static int compare(int fd, const char *path, const struct member *mine, const struct member *its,
		   struct phx_err *err)
{
	if (strcmp(mine->type, its->type) != 0)
		return 0;
	if (phx_str_eq(mine->type, "LVM2_member") && its->uuid[0] &&
	    strcmp(mine->uuid, its->uuid) != 0)
		return check_lvm(fd, path, mine, its->uuid, err);
	/* what does not say which it is may be the same */
	return !mine->uuid[0] || !its->uuid[0] || !strcmp(mine->uuid, its->uuid) ? -EBUSY : 0;
}

int phx_disk_check_apart(const char *path, const char *other, struct phx_err *err)
{
	PHX_AUTO_FREE struct members *mine = calloc(2, sizeof(*mine));
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!mine || fd < 0)
		return phx_err_set(err, mine ? -errno : -ENOMEM, "%s: %s", path,
				   strerror(mine ? errno : ENOMEM));
	struct members *its = mine + 1;
	int r = read_members(fd, path, mine, err);
	if (r < 0 || !mine->n)
		return r;
	PHX_AUTO_CLOSE int fd_other = open(other, O_RDONLY | O_CLOEXEC);
	r = fd_other < 0 ? phx_err_set(err, -errno, "%s", strerror(errno))
			 : read_members(fd_other, other, its, err);
	if (r < 0)
		return phx_err_prefix(err, r,
				      "%s is of a %s, and whether %s is, too, cannot be seen", path,
				      mine->all[0].type, other);
	for (uint32_t i = 0; i < mine->n; i++)
		for (uint32_t k = 0; r == 0 && k < its->n; k++)
			r = compare(fd, path, &mine->all[i], &its->all[k], err);
	return r != -EBUSY ? r
			   : phx_err_set(err, r, "%s and %s are, or may be, of one %s", path, other,
					 mine->all[0].type);
}
