/* Disks of a node: layout, image writing, wiping, unlocking. Runs in the
 * agent, mostly in the deploy initramfs; decides nothing: every act gets its
 * target by id and its method from the plan (faults.md 25, 29). */
#ifndef PHX_DISK_DISK_H
#define PHX_DISK_DISK_H

#include "node/facts.h"
#include "node/setup.h"

/** Find the block device that carries `id` now, and check size and read-only
 * flag against `facts`. -ENOENT none, -ENOTUNIQ two, -EMEDIUMTYPE size differs. ret_path: "/dev/vda". */
int phx_disk_find(const struct phx_disk_facts *facts, char ret_path[64], struct phx_err *err);

/** Refuse a disk in use: mounted, swap, held by device mapper/MD/LVM; -EBUSY names the holder. */
int phx_disk_check_free(const char *path, struct phx_err *err);

/* ---- wiping ---- */

struct phx_wipe_progress {
	uint64_t done_bytes, total_bytes;
};
typedef void (*phx_wipe_progress_fn)(void *arg, const struct phx_wipe_progress *p);

/** What a finished wipe is known to have done; all of it goes into the erase record. */
struct phx_wipe_result {
	char disk_id[160];
	int method;		 /* enum phx_wipe_method, as ordered */
	uint64_t size_bytes;
	uint64_t verified_bytes; /* read back after the wipe */
	uint64_t seconds;
	bool verified;
	char detail[160]; /* "discard, reads zero"; key slots seen; ... */
};
extern const struct phx_record phx_wipe_result_record;

/** Erase the whole disk by `method` and read it back. DISCARD: BLKDISCARD (and
 * BLKZEROOUT where discarded blocks do not read zero). OVERWRITE: zeros over
 * every byte with O_DIRECT. SECURE_ERASE: NVMe format/sanitize or ATA
 * sanitize/security erase, IDENTIFY checked before, since drives report false
 * success (lab.md). CRYPTO: destroys all LUKS2 key slots of every LUKS partition on the disk, then
 * its headers and the state partition, then the partition table. Signatures of RAID/LVM/file systems at both ends
 * are gone after each method. Read-back: first and last 16 MiB, every partition start of the old table, and evenly spread samples of at least
 * 1 % (all of it up to 1 GiB when `full_verify`); for CRYPTO that no LUKS header or key slot answers.
 * -EOPNOTSUPP when the disk cannot do the method (nothing was touched),
 * -EUCLEAN when the read-back finds data (ret is filled, verified = false). */
int phx_disk_wipe(const char *path, const struct phx_disk_facts *facts, enum phx_wipe_method method, bool full_verify,
		  phx_wipe_progress_fn progress, void *arg, struct phx_wipe_result *ret, struct phx_err *err);

/* ---- layout and image ---- */

#define PHX_DISK_STATE_LABEL "phx-state"
#define PHX_DISK_ROOT_LABEL "phx-root"

/** Write a new GPT: partition 1 "phx-state" (64 MiB, formatted ext4), partition 2 "phx-root"
 * (the rest). The kernel's view is updated and the nodes are awaited (mdev/devtmpfs). Everything on the disk is lost.
 * With `key` (n_key bytes, binary) partition 2 is formatted LUKS2 (PBKDF2, minimal iterations: the key is random) with `key_id` in its
 * label/token and opened as /dev/mapper/phx-root; without, it stays plain. ret_root: device to write the image to. */
int phx_disk_layout(const char *path, const void *key, size_t n_key, const char *key_id, char ret_root[64],
		    struct phx_err *err);

/** Sink of an image stream: compressed bytes in, file system out. SHA-256 of
 * the compressed bytes, zstd decoding and writing run as a pipeline; zero
 * blocks are skipped only when the target is known to read zero (`sparse`).
 * Memory stays below 32 MiB plus the zstd window (windows above 32 MiB are refused). */
struct phx_image_sink;
int phx_image_sink_open(const char *device, bool sparse, struct phx_image_sink **ret, struct phx_err *err);
/** Feed bytes; -EIO, -EBADMSG (not zstd), -ENOSPC. Shaped so that a curl write callback can call it. */
int phx_image_sink_write(struct phx_image_sink *s, const void *data, size_t n, struct phx_err *err);
/** End of stream: flushes, fsyncs and compares the digest (hex) and both sizes. On any
 * mismatch -EBADMSG, and the first 1 MiB of the device is zeroed so that it can never be mounted (faults.md 30). */
int phx_image_sink_finish(struct phx_image_sink *s, const char *sha256, uint64_t compressed_bytes,
			  uint64_t plain_bytes, struct phx_err *err);
/** Without finish: leaves the device un-mountable as above. Safe on NULL. */
void phx_image_sink_free(struct phx_image_sink *s);

/** Grow the ext4 file system on `device` to the device's size (resize2fs), and set its label. */
int phx_disk_grow(const char *device, struct phx_err *err);

/** The installed system's partitions on this machine, by GPT partition label on exactly one disk.
 * -ENOENT when there is none, -ENOTUNIQ when several disks claim it. */
struct phx_disk_system {
	char disk[64], state[64], root[64]; /* "/dev/vda", "/dev/vda1", "/dev/vda2" */
	char luks_key_id[64];		    /* "" when the root is plain */
};
int phx_disk_find_system(struct phx_disk_system *ret, struct phx_err *err);

/** Open the LUKS root with `key` as /dev/mapper/phx-root into ret_root; -EPERM when the key does not fit. */
int phx_disk_unlock(const struct phx_disk_system *sys, const void *key, size_t n_key, char ret_root[64],
		    struct phx_err *err);
/** Close /dev/mapper/phx-root; not open is no error. */
int phx_disk_lock(struct phx_err *err);

#endif
