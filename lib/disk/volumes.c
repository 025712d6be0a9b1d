/* The volumes of a role's layout: made on empty disks, found again, opened. See disk.h. Called by
 * the agent in the deploy environment. Nothing is made over what a disk holds: one that was not
 * erased is refused, whoever ordered it.
 *
 *	empty ──write tables──▶ phxn-VOLUME ──join, make file systems──▶ phx-VOLUME ──▶ opened */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spawn.h"
#include "disk/internal.h"

#define MADE "phx-"
#define BEGUN "phxn-"
enum { MKFS_MS = 600 * 1000, HEAD_BYTES = PHX_MIB, END_BYTES = 16 * PHX_MIB };

/* ---- disks ---- */

static int path_of(const struct phx_list *disks, const char *id, char ret[64], struct phx_err *err)
{
	const struct phx_disk_facts *d = phx_disk_by_id(disks, id);
	return d ? phx_disk_find(d, ret, err)
		 : phx_err_set(err, -ENODEV,
			       "disk %s: this machine has no such disk, or two of them", id);
}

/* Is it the first part of its disk? So each disk comes up once. */
static bool is_first(const struct phx_layout *l, const struct phx_layout_part *part)
{
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts)
		if (!strcmp(p->disk, part->disk))
			return p == part;
	return false;
}

/* Calls `fn` with each disk of the layout, once. */
static int each_disk(const struct phx_layout *l, const struct phx_list *disks,
		     int (*fn)(const struct phx_layout *l, const char *disk, const char *path,
			       const void *arg, struct phx_err *err),
		     const void *arg, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts) {
		char path[64];
		if (r < 0 || !is_first(l, p))
			continue;
		r = path_of(disks, p->disk, path, err);
		r = r ? r : fn(l, p->disk, path, arg, err);
	}
	return r;
}

/* ---- is it empty? ---- */

static bool is_begun(const struct phx_part_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (!phx_str_starts(t->parts[i].label, BEGUN))
			return false;
	return t->n && phx_str_eq(t->type, "gpt");
}

static int check_zero(const struct phx_block *b, uint64_t offset, struct phx_err *err)
{
	uint64_t n = b->size_bytes - offset < END_BYTES ? b->size_bytes - offset : END_BYTES;
	PHX_AUTO_FREE void *data = phx_block_buffer(n);
	int r = data ? phx_block_read(b, offset, data, n, err) : -ENOMEM;
	if (r == 0 && !phx_block_is_all(data, n, 0))
		r = phx_err_set(err, -EEXIST, "data that nobody knows");
	return r;
}

static int check_ends(const char *path, struct phx_err *err)
{
	PHX_AUTO(phx_block_close) struct phx_block b = {.fd = -1};
	int r = phx_block_open(path, false, true, &b, err);
	uint64_t end = b.size_bytes > END_BYTES ? b.size_bytes - END_BYTES : 0;
	r = r ? r : check_zero(&b, 0, err);
	return r ? r : check_zero(&b, end / PHX_BLOCK_ALIGN * PHX_BLOCK_ALIGN, err);
}

static int check_blank(const char *path, bool erased, struct phx_err *err)
{
	struct phx_part_table t;
	char type[32];
	int r = phx_table_read(path, &t, err);
	if (r < 0 || is_begun(&t))
		return r;
	if (t.type[0])
		return phx_err_set(err, -EEXIST, "a table of partitions (%s)", t.type);
	r = phx_signature_read(path, 0, 0, type, err);
	if (r == 0 && type[0])
		r = phx_err_set(err, -EEXIST, "%s", type);
	return r || erased ? r : check_ends(path, err);
}

static int check_disk(const struct phx_layout *l, const char *disk, const char *path,
		      const void *arg, struct phx_err *err)
{
	(void)l;
	int r = phx_disk_check_free(path, err);
	r = r ? r : check_blank(path, *(const bool *)arg, err);
	return r == -EEXIST ? phx_err_prefix(err, r,
					     "disk %s was not erased: no layout is made over it "
					     "(phx node wipe): it holds",
					     disk)
			    : r;
}

/* ---- tables ---- */

/* The partitions of one disk, with labels that begin so. */
static int parts_of(const struct phx_layout *l, const char *disk, const char *prefix,
		    struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts) {
		struct phx_part *to;
		if (strcmp(p->disk, disk) != 0)
			continue;
		if (!(to = phx_list_push(ret, sizeof(*to))))
			return -ENOMEM;
		to->size_bytes = p->size_bytes;
		snprintf(to->label, sizeof(to->label), "%s%s", prefix, p->volume);
	}
	return 0;
}

static int write_table(const struct phx_layout *l, const char *disk, const char *path,
		       const void *arg, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list parts = {0};
	(void)arg;
	int r = parts_of(l, disk, BEGUN, &parts);
	return r ? r : phx_table_write_parts(path, &parts, err);
}

static int label_made(const struct phx_layout *l, const char *disk, const char *path,
		      const void *arg, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list parts = {0};
	(void)arg;
	int r = parts_of(l, disk, MADE, &parts);
	return r ? r : phx_table_label(path, &parts, err);
}

/* ---- volumes ---- */

/* The node of a partition of the layout, if it is there under its label. */
static int find_part(const struct phx_layout *l, const struct phx_layout_part *part,
		     const char *prefix, const struct phx_list *disks, char ret[64],
		     struct phx_err *err)
{
	char path[64], label[72];
	struct phx_part_table t;
	uint32_t number = 1;
	for (const struct phx_layout_part *p = l->parts.items; p < part; p++)
		number += !strcmp(p->disk, part->disk);
	int r = path_of(disks, part->disk, path, err);
	r = r ? r : phx_table_read(path, &t, err);
	snprintf(label, sizeof(label), "%s%s", prefix, part->volume);
	for (uint32_t i = 0; r == 0 && i < t.n; i++)
		if (t.parts[i].number == number && phx_str_eq(t.parts[i].label, label))
			return phx_part_path(path, number, ret);
	return r ? r
		 : phx_err_set(err, -ENODEV, "disk %s has no partition %u of the name %s",
			       part->disk, number, label);
}

static int find_parts(const struct phx_layout *l, const struct phx_layout_volume *v,
		      const char *prefix, const struct phx_list *disks, bool may_lack,
		      struct phx_volume_parts *ret, struct phx_err *err)
{
	int r = 0, last = 0;
	ret->n = 0;
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts) {
		if (r < 0 || strcmp(p->volume, v->name) != 0 || ret->n >= PHX_FACTS_DISKS_MAX)
			continue;
		r = find_part(l, p, prefix, disks, ret->nodes[ret->n], err);
		ret->n += r == 0;
		last = r == -ENODEV && may_lack ? r : last;
		r = r == -ENODEV && may_lack ? 0 : r;
	}
	return r || ret->n
		? r
		: phx_err_set(err, -ENODEV,
			      last ? "none of its disks is there" : "it has no partition");
}

static int clear_ends(const char *node, struct phx_err *err)
{
	PHX_AUTO(phx_block_close) struct phx_block b = {.fd = -1};
	int r = phx_block_open(node, true, true, &b, err);
	uint64_t last = b.size_bytes > HEAD_BYTES ? b.size_bytes - HEAD_BYTES : 0;
	r = r ? r : phx_block_zero(&b, 0, b.size_bytes ? HEAD_BYTES : 0, NULL, NULL, err);
	r = r || !last ? r : phx_block_zero(&b, last, HEAD_BYTES, NULL, NULL, err);
	return r ? r : phx_block_flush(&b, err);
}

static int make_fs(const struct phx_layout_volume *v, const char *device, struct phx_err *err)
{
	const char *const ext4[] = {
		"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1",
		device,      NULL};
	const char *const xfs[] = {"mkfs.xfs", "-q", "-f", "-K", device, NULL};
	const char *const swap[] = {"mkswap", device, NULL};
	const char *const *const argv[] = {
		[PHX_LAYOUT_EXT4] = ext4, [PHX_LAYOUT_XFS] = xfs, [PHX_LAYOUT_SWAP] = swap};
	return phx_run_check(&(struct phx_run){.argv = argv[v->type], .timeout_ms = MKFS_MS}, NULL,
			     err);
}

static int make_volume(const struct phx_layout *l, uint32_t index, const struct phx_list *disks,
		       struct phx_volume_parts *parts, struct phx_err *err)
{
	const struct phx_layout_volume *v =
		PHX_LIST_AT(&l->volumes, struct phx_layout_volume, index);
	char device[PHX_VOLUME_DEVICE_MAX];
	int r = find_parts(l, v, BEGUN, disks, false, parts, err);
	for (uint32_t i = 0; r == 0 && i < parts->n; i++)
		r = clear_ends(parts->nodes[i], err);
	r = r ? r : phx_volume_join(v, index, parts, device, err);
	r = r ? r : make_fs(v, device, err);
	return r < 0 ? phx_err_prefix(err, r, "layout: volume '%s'", v->name) : 0;
}

int phx_volumes_make(const struct phx_layout *l, const struct phx_list *disks, bool erased,
		     struct phx_err *err)
{
	PHX_AUTO_FREE struct phx_volume_parts *parts = calloc(1, sizeof(*parts));
	/* an attempt that was cut off may have left them joined */
	int r = parts ? phx_volumes_close(l, err) : -ENOMEM;
	r = r ? r : each_disk(l, disks, check_disk, &erased, err);
	r = r ? r : each_disk(l, disks, write_table, NULL, err);
	for (uint32_t i = 0; r == 0 && i < l->volumes.n; i++)
		r = make_volume(l, i, disks, parts, err);
	return r ? r : each_disk(l, disks, label_made, NULL, err);
}

int phx_volumes_open(const struct phx_layout *l, const struct phx_list *disks,
		     char (*ret_devices)[PHX_VOLUME_DEVICE_MAX], struct phx_err *err)
{
	PHX_AUTO_FREE struct phx_volume_parts *parts = calloc(1, sizeof(*parts));
	int r = parts ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < l->volumes.n; i++) {
		const struct phx_layout_volume *v =
			PHX_LIST_AT(&l->volumes, struct phx_layout_volume, i);
		r = find_parts(l, v, MADE, disks, phx_volume_has_copies(v), parts, err);
		r = r ? r : phx_volume_rejoin(v, i, parts, ret_devices[i], err);
		if (r < 0)
			phx_err_prefix(err, r, "layout: volume '%s'", v->name);
	}
	return r;
}

int phx_volumes_close(const struct phx_layout *l, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = 0; i < l->volumes.n; i++) {
		const struct phx_layout_volume *v =
			PHX_LIST_AT(&l->volumes, struct phx_layout_volume, i);
		int one = phx_volume_part(v, i, r ? NULL : err);
		r = r ? r : one;
	}
	return r;
}
