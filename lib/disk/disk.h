/* Disks of a node: layout, image writing, wiping, unlocking. Runs in the
 * agent, mostly in the deploy initramfs; decides nothing: every act gets its
 * target by id and its method from the plan (faults.md 25, 29). */
#ifndef PHX_DISK_DISK_H
#define PHX_DISK_DISK_H

#include "types/erased.h"
#include "types/facts.h"
#include "types/layout.h"
#include "types/setup.h"

/** The hardware disks of the machine, sorted by id: from sysfs below `root`, and
 * on the running machine (root "") the drives are asked what they can erase.
 * Block devices of one WWN, serial number, model and size that are reached by a
 * transport with several paths are one disk.
 * `ret`: struct phx_disk_facts, phx_list_fini(). A disk that names itself by
 * neither WWN nor serial number has the id "": phx_facts_check() refuses it.
 * Left out: virtual devices, CD-ROM, drives without medium, nameless removable ones. */
int phx_disk_list(const char *root, struct phx_list *ret, struct phx_err *err);

/** Find the block device that carries `id` now, and check size and read-only
 * flag against `facts`. -ENOENT none, -ENOTUNIQ two, -EMEDIUMTYPE size differs,
 * -EROFS. ret_path: "/dev/vda". */
int phx_disk_find(const struct phx_disk_facts *facts, char ret_path[64], struct phx_err *err);

/** Refuse a disk in use: mounted, swap, held by device mapper/MD/LVM; -EBUSY names the holder. */
int phx_disk_check_free(const char *path, struct phx_err *err);

/** Calls `fn` with the path of each device that is swap space now, until it returns other than 0,
 * which is returned. A machine that cannot tell has none. */
int phx_swaps_each(int (*fn)(void *arg, const char *path), void *arg);

/** Is what is swapped to the block device, or to a file of a file system on it, of no use to who
 * has the disk later? So it is where the device, or each that it lies on, is encrypted by the
 * kernel, or is memory. Asks sysfs below `root`; false where that does not say so. */
bool phx_swap_keeps_secret(const char *root, dev_t dev);

/** phx_disk_check_free() of every path to the disk. */
int phx_disk_check_paths(const struct phx_disk_facts *facts, struct phx_err *err);

/** Does nothing on the disk belong together with something on `other`: no RAID, volume group or
 * file system of several devices? -EBUSY: it does, or may; other errors: that cannot be read, and
 * is not excluded. Reads `other` only if the disk has a signature of that kind. */
int phx_disk_check_apart(const char *path, const char *other, struct phx_err *err);

/* ---- wiping ---- */

struct phx_wipe_progress {
	uint64_t done_bytes, total_bytes;
};
typedef void (*phx_wipe_progress_fn)(void *arg, const struct phx_wipe_progress *p);

/** How a disk is to be erased and read back. */
struct phx_wipe_order {
	enum phx_wipe_method method; /* not AUTO */
	/* the method was chosen, not asked for: a drive that refuses it, or keeps its data and
	 * says that it is done, is erased by discard or else by overwriting */
	bool or_less;
	bool full;     /* read everything back */
	uint64_t seed; /* where it is read back; 0 = drawn at the time */
};

/** Erase the whole disk as ordered and read it back. `path` must be free and,
 * if it is hardware, carry the id and size of `facts` (-EBUSY, -ESTALE, -EMEDIUMTYPE).
 * What the drive hides of itself is opened before, or the wipe is refused (-EOPNOTSUPP).
 * DISCARD: BLKDISCARD, and zeros written where discarded blocks do not read zero.
 * OVERWRITE: zeros over every byte with O_DIRECT.
 * SECURE_ERASE: sanitize, security erase or format by the drive itself; IDENTIFY is
 * asked before, and since drives report false success (lab.md), every sample is
 * marked before and must read otherwise after.
 * CRYPTO: needs no key. Destroys all key slots of every LUKS partition, then its
 * headers, then the state partition, last the partition table; refused when a
 * partition holds anything unencrypted. A wipe that was cut off can be repeated.
 * Read-back: by types/readback.h, and the start of every partition of the old table; `full`: every
 * byte, which must be zero then; for CRYPTO every byte of the destroyed areas.
 * -EOPNOTSUPP when the disk cannot do the method (nothing was touched), -EUCLEAN when
 * the read-back finds data (ret is filled, verified = false); other errors: the disk
 * is in an unknown state. `ret` holds nothing to free. */
int phx_disk_wipe(const char *path, const struct phx_disk_facts *facts,
		  const struct phx_wipe_order *order, phx_wipe_progress_fn progress, void *arg,
		  struct phx_wipe_result *ret, struct phx_err *err);

/* ---- layout and image ---- */

#define PHX_DISK_STATE_LABEL "phx-state"
#define PHX_DISK_ROOT_LABEL "phx-root"

/** Refuses a disk in use. Write a new GPT: partition 1 "phx-state" (64 MiB, formatted ext4),
 * partition 2 "phx-root" (the rest). The kernel's view is updated and the nodes are awaited
 * (mdev/devtmpfs). Everything on the disk is lost. With `key` (n_key bytes, binary) the disk is
 * discarded where it can (a later crypto wipe must leave no older plain data), and partition 2 is
 * formatted LUKS2 (PBKDF2, minimal iterations: the key is random) with `key_id` in a token and
 * opened as /dev/mapper/phx-root; without, it stays plain. ret_root: device to write the image to.
 * Runs mkfs.ext4. */
int phx_disk_layout(const char *path, const void *key, size_t n_key, const char *key_id,
		    char ret_root[64], struct phx_err *err);

/** Sink of an image stream: compressed bytes in, file system out. SHA-256 of
 * the compressed bytes, zstd decoding and writing run as a pipeline of three
 * threads; zeros are skipped only when the target is known to read zero
 * (`sparse`; never on LUKS). Takes 14 MiB plus the zstd window (above 32 MiB
 * refused). The first MiB of the device is zeroed at once and written last, after
 * every check and fsync: until then, and after a power cut, nothing mounts (faults.md 30). */
struct phx_image_sink;
int phx_image_sink_open(const char *device, bool sparse, struct phx_image_sink **ret,
			struct phx_err *err);
/** Feed bytes, from one thread; blocks while the device is slower. -EIO, -EBADMSG (not
 * zstd), -ENOSPC, at the latest in finish. Shaped so that a curl write callback can call it. */
int phx_image_sink_write(struct phx_image_sink *s, const void *data, size_t n, struct phx_err *err);
/** End of stream: compares the digest (hex) and both sizes, fsyncs, frees the sink in
 * any case. On any mismatch or cut stream -EBADMSG, and the first MiB stays zero. */
int phx_image_sink_finish(struct phx_image_sink *s, const char *sha256, uint64_t compressed_bytes,
			  uint64_t plain_bytes, struct phx_err *err);
/** Instead of finish: gives up; the device stays un-mountable. Safe on NULL. */
void phx_image_sink_free(struct phx_image_sink *s);

/** Grow the ext4 file system on `device` to the device's size (resize2fs; e2fsck
 * where that asks for it), and give it the label phx-root (tune2fs, only if it has another). */
int phx_disk_grow(const char *device, struct phx_err *err);

/** The installed system's partitions on this machine, by GPT partition label on exactly one disk:
 * of its own, or, if none of those has a system, a remote one. -ENOENT when there is none,
 * -ENOTUNIQ when several disks claim it. */
struct phx_disk_system {
	char disk[64], state[64], root[64]; /* "/dev/vda", "/dev/vda1", "/dev/vda2" */
	char luks_key_id[64];               /* "" when the root is plain */
};
int phx_disk_find_system(struct phx_disk_system *ret, struct phx_err *err);

/** Open the LUKS root with `key` as /dev/mapper/phx-root into ret_root; -EPERM when the
 * key does not fit. Open already: no error if the key fits. */
int phx_disk_unlock(const struct phx_disk_system *sys, const void *key, size_t n_key,
		    char ret_root[64], struct phx_err *err);
/** Close /dev/mapper/phx-root; not open is no error. */
int phx_disk_lock(struct phx_err *err);

/* ---- volumes of a role's layout, on disks beside that of the system ----
 *
 * A disk has a GPT whose partitions are named phx-VOLUME; phxn-VOLUME while they are being made. */

#define PHX_VOLUME_DEVICE_MAX 64

/** Makes all volumes of the layout, whose disks are among `disks` (struct phx_disk_facts): tables,
 * arrays and volume groups, file systems. Every disk is looked at before the first is written: it
 * must be free, and empty (no table, no signature, nothing at its ends unless `erased` says that it
 * was erased just now), or hold only what an attempt that was cut off has begun. Leaves the volumes
 * joined. -EEXIST: a disk holds something, and nothing was written; -EBUSY, -ENODEV, -EIO with a
 * text that names disk or program. Twice after success: -EEXIST. */
int phx_volumes_make(const struct phx_layout *l, const struct phx_list *disks, bool erased,
		     struct phx_err *err);

/** Joins the volumes that are there: ret_devices has one name for each volume of the layout, in its
 * order. A RAID with copies is started although a disk is missing. Twice is once. -ENODEV names
 * what is missing. Writes no table and no file system. */
int phx_volumes_open(const struct phx_layout *l, const struct phx_list *disks,
		     char (*ret_devices)[PHX_VOLUME_DEVICE_MAX], struct phx_err *err);

/** Stops arrays and volume groups of the layout, which nothing uses any more, so that their disks
 * are free. Not joined is no error. */
int phx_volumes_close(const struct phx_layout *l, struct phx_err *err);

#endif
