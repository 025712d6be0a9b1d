/* Partition tables by libfdisk, signatures by libblkid, partition nodes by the
 * kernel's BLKPG: see internal.h. There is no udev where this runs: devtmpfs
 * makes a node once the kernel knows the partition. */
#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <libfdisk.h>
#include <linux/blkpg.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sysfs.h"
#include "disk/internal.h"

enum { STATE_BYTES = 64 * PHX_MIB, NODE_WAIT_MS = 5000 };
#define TYPE_LINUX "0FC63DAF-8483-4772-8E79-3D69D8477DE4"

static void free_probe(blkid_probe *p)
{
	blkid_free_probe(*p);
}

/* ---- reading ---- */

static int copy_part(blkid_partition p, struct phx_part *ret)
{
	const char *label = blkid_partition_get_name(p);
	*ret = (struct phx_part){.number = (uint32_t)blkid_partition_get_partno(p),
				 .start_bytes = (uint64_t)blkid_partition_get_start(p) * 512,
				 .size_bytes = (uint64_t)blkid_partition_get_size(p) * 512};
	snprintf(ret->label, sizeof(ret->label), "%s", label ? label : "");
	return 0;
}

/* An extended DOS partition is a container that overlaps its logical ones. */
static bool is_container(blkid_partition p)
{
	return blkid_partition_is_extended(p);
}

static void copy_table(blkid_partlist list, struct phx_part_table *ret)
{
	blkid_parttable table = blkid_partlist_get_table(list);
	int n = blkid_partlist_numof_partitions(list);
	snprintf(ret->type, sizeof(ret->type), "%s", table ? blkid_parttable_get_type(table) : "");
	for (int i = 0; i < n && ret->n < PHX_PART_MAX; i++) {
		blkid_partition p = blkid_partlist_get_partition(list, i);
		if (!is_container(p))
			copy_part(p, &ret->parts[ret->n++]);
	}
}

/* A probe of `size` bytes at `offset` of a device or file; *ret_fd stays open as long as the
 * probe. */
static int open_probe(const char *path, uint64_t offset, uint64_t size, blkid_probe *ret,
		      int *ret_fd, struct phx_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	blkid_probe p = blkid_new_probe();
	if (!p || blkid_probe_set_device(p, fd, (blkid_loff_t)offset, (blkid_loff_t)size) < 0) {
		blkid_free_probe(p);
		close(fd);
		return phx_err_set(err, -EIO, "%s: cannot be looked at for signatures", path);
	}
	*ret = p;
	*ret_fd = fd;
	return 0;
}

int phx_table_read(const char *path, struct phx_part_table *ret, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	PHX_AUTO(free_probe) blkid_probe p = NULL;
	int r = open_probe(path, 0, 0, &p, &fd, err);
	if (r < 0)
		return r;
	blkid_probe_enable_superblocks(p, 0);
	blkid_probe_enable_partitions(p, 1);
	*ret = (struct phx_part_table){0};
	blkid_partlist list = blkid_probe_get_partitions(p);
	if (list)
		copy_table(list, ret);
	return 0;
}

int phx_signature_read(const char *path, uint64_t offset, uint64_t size, char ret[32],
		       struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	PHX_AUTO(free_probe) blkid_probe p = NULL;
	const char *type = "";
	int r = open_probe(path, offset, size, &p, &fd, err);
	if (r < 0)
		return r;
	blkid_probe_enable_superblocks(p, 1);
	blkid_probe_set_superblocks_flags(p, BLKID_SUBLKS_TYPE);
	r = blkid_do_safeprobe(p);
	if (r == -2)
		type = "several";
	else if (r == -1)
		return phx_err_set(err, -EIO, "%s: reading signatures: %s", path, strerror(errno));
	else if (r == 0)
		blkid_probe_lookup_value(p, "TYPE", &type, NULL);
	snprintf(ret, 32, "%s", type);
	return 0;
}

/* ---- writing ---- */

static void unref_context(struct fdisk_context **c)
{
	fdisk_unref_context(*c);
}

static int add_partition(struct fdisk_context *c, size_t number, uint64_t size_sectors,
			 const char *label)
{
	struct fdisk_partition *p = fdisk_new_partition();
	struct fdisk_parttype *type =
		fdisk_label_parse_parttype(fdisk_get_label(c, NULL), TYPE_LINUX);
	int r = p && type ? 0 : -ENOMEM;
	if (r == 0)
		r = fdisk_partition_set_partno(p, number - 1);
	if (r == 0)
		r = fdisk_partition_set_type(p, type);
	if (r == 0)
		r = fdisk_partition_set_name(p, label);
	if (r == 0)
		r = fdisk_partition_start_follow_default(p, 1);
	if (r == 0)
		r = size_sectors ? fdisk_partition_set_size(p, size_sectors)
				 : fdisk_partition_end_follow_default(p, 1);
	if (r == 0)
		r = fdisk_add_partition(c, p, NULL);
	fdisk_unref_partition(p);
	fdisk_unref_parttype(type);
	return r;
}

static int fill_system(struct fdisk_context *c, const void *arg)
{
	(void)arg;
	int r = fdisk_create_disklabel(c, "gpt");
	if (r == 0)
		r = add_partition(c, 1, STATE_BYTES / fdisk_get_sector_size(c),
				  PHX_DISK_STATE_LABEL);
	if (r == 0)
		r = add_partition(c, 2, 0, PHX_DISK_ROOT_LABEL);
	if (r == 0)
		r = fdisk_write_disklabel(c);
	return r;
}

static int fill_parts(struct fdisk_context *c, const void *arg)
{
	size_t number = 0;
	int r = fdisk_create_disklabel(c, "gpt");
	PHX_LIST_EACH(struct phx_part, p, (const struct phx_list *)arg)
		r = r ? r
		      : add_partition(c, ++number, p->size_bytes / fdisk_get_sector_size(c),
				      p->label);
	return r ? r : fdisk_write_disklabel(c);
}

static int label_one(struct fdisk_context *c, size_t i, const char *label)
{
	struct fdisk_partition *p = NULL;
	int r = fdisk_get_partition(c, i, &p);
	if (r == 0)
		r = fdisk_partition_set_name(p, label);
	if (r == 0)
		r = fdisk_set_partition(c, i, p);
	fdisk_unref_partition(p);
	return r;
}

static int label_parts(struct fdisk_context *c, const void *arg)
{
	size_t i = 0;
	int r = 0;
	PHX_LIST_EACH(struct phx_part, p, (const struct phx_list *)arg)
		r = r ? r : label_one(c, i++, p->label);
	return r ? r : fdisk_write_disklabel(c);
}

/* Opens the disk's table, has `fill` do something with it, and closes it. */
static int with_table(const char *path, int (*fill)(struct fdisk_context *c, const void *arg),
		      const void *arg, struct phx_err *err)
{
	PHX_AUTO(unref_context) struct fdisk_context *c = fdisk_new_context();
	int r = c ? fdisk_disable_dialogs(c, 1) : -ENOMEM;
	if (r == 0)
		r = fdisk_assign_device(c, path, 0);
	if (r == 0)
		r = fill(c, arg);
	if (r < 0)
		return phx_err_set(err, r, "%s: writing the partition table: %s", path,
				   strerror(-r));
	r = fdisk_deassign_device(c, 0);
	if (r < 0)
		return phx_err_set(err, r, "%s: flushing the partition table: %s", path,
				   strerror(-r));
	return 0;
}

int phx_table_write(const char *path, struct phx_err *err)
{
	int r = with_table(path, fill_system, NULL, err);
	return r ? r : phx_table_announce(path, err);
}

int phx_table_write_parts(const char *path, const struct phx_list *parts, struct phx_err *err)
{
	int r = with_table(path, fill_parts, parts, err);
	return r ? r : phx_table_announce(path, err);
}

int phx_table_label(const char *path, const struct phx_list *parts, struct phx_err *err)
{
	return with_table(path, label_parts, parts, err);
}

/* ---- the kernel's view ---- */

int phx_part_path(const char *disk, uint32_t number, char ret[64])
{
	size_t n = strlen(disk);
	bool digit = n && disk[n - 1] >= '0' && disk[n - 1] <= '9';
	int w = snprintf(ret, 64, "%s%s%u", disk, digit ? "p" : "", number);
	return w >= 64 ? -ENAMETOOLONG : 0;
}

static int tell_kernel(int fd, int op, const struct phx_part *p)
{
	struct blkpg_partition part = {.start = (long long)p->start_bytes,
				       .length = (long long)p->size_bytes,
				       .pno = (int)p->number};
	struct blkpg_ioctl_arg arg = {.op = op, .datalen = sizeof(part), .data = &part};
	return ioctl(fd, BLKPG, &arg) < 0 ? -errno : 0;
}

static int open_disk(const char *path, bool *ret_is_file, struct phx_err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;
		phx_close_fd(&fd);
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	}
	*ret_is_file = S_ISREG(st.st_mode);
	return fd;
}

int phx_table_forget(const char *path, struct phx_err *err)
{
	bool is_file;
	PHX_AUTO_CLOSE int fd = open_disk(path, &is_file, err);
	if (fd < 0 || is_file)
		return fd < 0 ? fd : 0;
	for (uint32_t i = 1; i <= PHX_PART_MAX; i++) {
		int r = tell_kernel(fd, BLKPG_DEL_PARTITION, &(struct phx_part){.number = i});
		if (r == -EBUSY)
			return phx_err_set(err, r, "%s: the kernel still uses partition %u", path,
					   i);
	}
	return 0;
}

static int wait_node(const char *node, struct phx_err *err)
{
	struct stat st;
	int r = phx_file_await(node, -1, NODE_WAIT_MS);
	if (r == -ETIMEDOUT)
		return phx_err_set(err, -ENODEV, "%s: the node did not appear within %d s", node,
				   NODE_WAIT_MS / 1000);
	if (r < 0)
		return phx_err_set(err, r, "%s: cannot be waited for: %s", node, strerror(-r));
	return stat(node, &st) == 0 && S_ISBLK(st.st_mode)
		? 0
		: phx_err_set(err, -ENODEV, "%s: not a block device", node);
}

/* The kernel may have read the table by itself just before. */
static bool is_known(const char *node, const struct phx_part *p)
{
	const char *name = strrchr(node, '/') + 1;
	return phx_sys_u64("", 0, "sys/class/block/%s/start", name) * 512 == p->start_bytes &&
		phx_sys_u64("", 0, "sys/class/block/%s/size", name) * 512 == p->size_bytes;
}

static int announce_part(int fd, const char *path, const struct phx_part *p, struct phx_err *err)
{
	char node[64];
	if (phx_part_path(path, p->number, node) < 0)
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long a name", path);
	int r = tell_kernel(fd, BLKPG_ADD_PARTITION, p);
	if (r < 0 && !(r == -EBUSY && is_known(node, p)))
		return phx_err_set(err, r, "%s: adding partition %u: %s", path, p->number,
				   strerror(-r));
	return wait_node(node, err);
}

/* BLKPG rather than BLKRRPART: works whatever table types the kernel itself reads. */
int phx_table_announce(const char *path, struct phx_err *err)
{
	struct phx_part_table t;
	bool is_file;
	PHX_AUTO_CLOSE int fd = open_disk(path, &is_file, err);
	if (fd < 0 || is_file)
		return fd < 0 ? fd : 0;
	int r = phx_table_forget(path, err);
	if (r == 0)
		r = phx_table_read(path, &t, err);
	for (uint32_t i = 0; r == 0 && i < t.n; i++)
		r = announce_part(fd, path, &t.parts[i], err);
	return r;
}
