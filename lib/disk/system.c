/* The system on a disk: laying it out, finding it again, unlocking, growing.
 * See disk.h. Called by the agent in the deploy initramfs; never erases a disk
 * that anything uses. */
#include <blkid.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/spawn.h"
#include "disk/internal.h"

enum { MKFS_MS = 300 * 1000, RESIZE_MS = 900 * 1000 };

/* ---- layout ---- */

/* What lay on the disk: discarded if an encrypted system follows (a later crypto
 * wipe must not leave older plain data in blocks that were never written since),
 * and no signature at either end or where the root begins. */
static int clear_old(const char *path, bool encrypted, struct phx_err *err)
{
	PHX_AUTO(phx_block_close) struct phx_block b = {.fd = -1};
	int r = phx_block_open(path, true, true, &b, err);
	if (r < 0)
		return r;
	if (b.size_bytes < 128 * PHX_MIB)
		return phx_err_set(err, -ENOSPC, "%s: %llu MiB are too small for a system", path,
				   (unsigned long long)(b.size_bytes / PHX_MIB));
	if (encrypted)
		phx_block_discard(&b, 0, b.size_bytes, NULL, NULL, NULL);
	r = phx_block_zero(&b, 0, PHX_MIB, NULL, NULL, err);
	if (r == 0)
		r = phx_block_zero(&b, b.size_bytes - PHX_MIB, PHX_MIB, NULL, NULL, err);
	return r < 0 ? r : phx_block_flush(&b, err);
}

static int make_state(const char *node, struct phx_err *err)
{
	const char *const argv[] = {"mkfs.ext4",
				    "-q",
				    "-F",
				    "-m",
				    "0",
				    "-E",
				    "nodiscard,lazy_itable_init=1",
				    "-L",
				    PHX_DISK_STATE_LABEL,
				    node,
				    NULL};
	return phx_run_check(&(struct phx_run){.argv = argv, .timeout_ms = MKFS_MS}, NULL, err);
}

static int clear_head(const char *node, struct phx_err *err)
{
	PHX_AUTO(phx_block_close) struct phx_block b = {.fd = -1};
	int r = phx_block_open(node, true, true, &b, err);
	if (r == 0)
		r = phx_block_zero(&b, 0, PHX_MIB, NULL, NULL, err);
	return r < 0 ? r : phx_block_flush(&b, err);
}

/* Partition 2 made ready; ret_root is what the image goes to. */
static int make_root(const char *node, const void *key, size_t n_key, const char *key_id,
		     char ret_root[64], struct phx_err *err)
{
	int r = clear_head(node, err);
	if (r < 0 || !key)
		return r < 0 ? r : phx_str_copy(ret_root, 64, node);
	r = phx_luks_format(node, key, n_key, key_id, err);
	return r < 0 ? r : phx_luks_open(node, key, n_key, ret_root, err);
}

int phx_disk_layout(const char *path, const void *key, size_t n_key, const char *key_id,
		    char ret_root[64], struct phx_err *err)
{
	char state[64], root[64];
	if (key && (!n_key || !key_id || !key_id[0]))
		return phx_err_set(err, -EINVAL,
				   "%s: an encrypted layout needs a key and the key's id", path);
	int r = phx_disk_check_free(path, err);
	if (r == 0)
		r = clear_old(path, key != NULL, err);
	if (r == 0)
		r = phx_table_write(path, err);
	if (r == 0)
		r = phx_part_path(path, 1, state);
	if (r == 0)
		r = phx_part_path(path, 2, root);
	if (r == 0)
		r = make_state(state, err);
	return r < 0 ? r : make_root(root, key, n_key, key_id, ret_root, err);
}

/* ---- finding ---- */

static const struct phx_part *labelled(const struct phx_part_table *t, const char *label)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (phx_str_eq(t->parts[i].label, label))
			return &t->parts[i];
	return NULL;
}

int phx_disk_system_on(const char *path, struct phx_disk_system *ret, struct phx_err *err)
{
	struct phx_disk_system s = {0};
	struct phx_part_table t;
	char type[32];
	int r = phx_table_read(path, &t, err);
	if (r < 0)
		return r;
	const struct phx_part *state = labelled(&t, PHX_DISK_STATE_LABEL),
			      *root = labelled(&t, PHX_DISK_ROOT_LABEL);
	if (!state || !root)
		return phx_err_set(err, -ENOENT,
				   "%s: has no partitions " PHX_DISK_STATE_LABEL
				   " and " PHX_DISK_ROOT_LABEL,
				   path);
	r = PHX_STR_SET(s.disk, path);
	if (r == 0)
		r = phx_part_path(path, state->number, s.state);
	if (r == 0)
		r = phx_part_path(path, root->number, s.root);
	if (r == 0)
		r = phx_signature_read(path, root->start_bytes, root->size_bytes, type, err);
	if (r == 0 && phx_str_eq(type, "crypto_LUKS"))
		r = phx_luks_key_id(s.root, s.luks_key_id, err);
	if (r == 0)
		*ret = s;
	return r;
}

/* The one system on the machine's own disks, or on those of a storage network. */
static int find_among(const struct phx_list *disks, bool remote, struct phx_disk_system *ret,
		      struct phx_err *err)
{
	struct phx_disk_system found = {0};
	PHX_LIST_EACH(struct phx_disk_facts, d, disks) {
		struct phx_disk_system s;
		char path[64];
		snprintf(path, sizeof(path), "/dev/%s", d->dev);
		if (d->remote != remote || phx_disk_system_on(path, &s, NULL) < 0)
			continue;
		if (found.disk[0])
			return phx_err_set(
				err, -ENOTUNIQ,
				"%s and %s both hold a system; which one is meant is unclear",
				found.disk, s.disk);
		found = s;
	}
	if (!found.disk[0])
		return phx_err_set(err, -ENOENT, "none of the %u disks holds an installed system",
				   disks->n);
	*ret = found;
	return 0;
}

int phx_disk_find_system(struct phx_disk_system *ret, struct phx_err *err)
{
	struct phx_list disks;
	int r = phx_disk_list("", &disks, err);
	if (r < 0)
		return r;
	/* what a former owner left on a LUN is no second system beside the machine's own */
	r = find_among(&disks, false, ret, err);
	if (r == -ENOENT)
		r = find_among(&disks, true, ret, err);
	phx_list_fini(&disks);
	return r;
}

int phx_disk_unlock(const struct phx_disk_system *sys, const void *key, size_t n_key,
		    char ret_root[64], struct phx_err *err)
{
	if (!sys->luks_key_id[0])
		return phx_err_set(err, -EINVAL, "%s: is not encrypted by us", sys->root);
	return phx_luks_open(sys->root, key, n_key, ret_root, err);
}

/* ---- growing ---- */

static int run_tool(const char *const *argv, int *ret_status, struct phx_err *err)
{
	struct phx_run_result res;
	int r = phx_run(&(struct phx_run){.argv = argv, .timeout_ms = RESIZE_MS}, &res, err);
	if (r < 0)
		return r;
	*ret_status = res.status;
	if (res.status)
		phx_err_set(err, 0, "%s %s: %.*s", argv[0], argv[1], (int)strcspn(res.errout, "\n"),
			    res.errout);
	phx_run_result_fini(&res);
	return 0;
}

/* resize2fs wants a check first when the file system was mounted since the last one. */
static int resize(const char *device, struct phx_err *err)
{
	const char *const resize_argv[] = {"resize2fs", device, NULL};
	const char *const check_argv[] = {"e2fsck", "-f", "-p", device, NULL};
	int status;
	int r = run_tool(resize_argv, &status, NULL);
	if (r == 0 && status == 0)
		return 0;
	r = run_tool(check_argv, &status, err);
	if (r < 0 || status > 1) /* 1: repaired */
		return r < 0 ? r
			     : phx_err_set(err, -EUCLEAN, "%s: e2fsck ends with status %d", device,
					   status);
	return phx_run_check(&(struct phx_run){.argv = resize_argv, .timeout_ms = RESIZE_MS}, NULL,
			     err);
}

static bool has_label(const char *device, const char *label)
{
	char *now = blkid_get_tag_value(NULL, "LABEL", device);
	bool same = phx_str_eq(now, label);
	free(now);
	return same;
}

int phx_disk_grow(const char *device, struct phx_err *err)
{
	const char *const label_argv[] = {"tune2fs", "-L", PHX_DISK_ROOT_LABEL, device, NULL};
	char type[32];
	int r = phx_signature_read(device, 0, 0, type, err);
	if (r == 0 && strcmp(type, "ext4"))
		r = phx_err_set(err, -EMEDIUMTYPE, "%s: holds %s, not ext4", device,
				type[0] ? type : "nothing known");
	if (r == 0)
		r = resize(device, err);
	if (r < 0 || has_label(device, PHX_DISK_ROOT_LABEL))
		return r;
	return phx_run_check(&(struct phx_run){.argv = label_argv, .timeout_ms = RESIZE_MS}, NULL,
			     err);
}
