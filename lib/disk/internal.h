/* What the files of this room share; nobody outside lib/disk and its tests includes it. */
#ifndef PHX_DISK_INTERNAL_H
#define PHX_DISK_INTERNAL_H

#include "disk/block.h"
#include "disk/device.h"
#include "disk/disk.h"
#include "types/readback.h"

/* ---- list.c, transport.c, find.c ---- */

/** Facts of /sys/block/NAME without asking the drive; -ENODEV when it is no hardware disk. */
int phx_disk_facts_read(const char *root, const char *name, struct phx_disk_facts *ret);

/** Set transport, remote, n_paths and path of a disk whose `bus` is known. */
void phx_disk_transport_read(const char *root, const char *name, struct phx_disk_facts *d);
/** Of block devices, sorted by id: those that are paths to one disk become that one, `dev` being
 * the first. Two disks that only have one id stay two. */
void phx_disk_paths_join(struct phx_list *disks);

/** phx_disk_find() below `root`. */
int phx_disk_find_below(const char *root, const struct phx_disk_facts *facts, char ret_path[64],
			struct phx_err *err);

/** -ESTALE when `path` is by now a hardware disk with another id than `facts`; -EMEDIUMTYPE when
 * its size differs. */
int phx_disk_check_same(const struct phx_block *b, const struct phx_disk_facts *facts,
			struct phx_err *err);

/* ---- partition.c: the partition table ---- */

#define PHX_PART_MAX 128

struct phx_part {
	uint32_t number;
	uint64_t start_bytes, size_bytes;
	char label[72];
};

struct phx_part_table {
	char type[16]; /* "gpt", "dos", "" = none */
	uint32_t n;
	struct phx_part parts[PHX_PART_MAX];
};

/** Read the table of any known type. None at all: n = 0, type "". */
int phx_table_read(const char *path, struct phx_part_table *ret, struct phx_err *err);
/** Write the GPT of phx_disk_layout() and tell the kernel. */
int phx_table_write(const char *path, struct phx_err *err);
/** Writes a GPT with partitions of these labels and sizes (struct phx_part; start and number are
 * not used), one behind the other, and tells the kernel. */
int phx_table_write_parts(const char *path, const struct phx_list *parts, struct phx_err *err);
/** Gives the partitions of a GPT these labels instead (struct phx_part, in order of number). What
 * the kernel knows stays right, and they may be in use. */
int phx_table_label(const char *path, const struct phx_list *parts, struct phx_err *err);
/** Have the kernel see exactly the partitions of the table on the medium and
 * wait for their nodes. A regular file has none: no error. */
int phx_table_announce(const char *path, struct phx_err *err);
/** Have the kernel forget all partitions of the device. -EBUSY when one is in use. */
int phx_table_forget(const char *path, struct phx_err *err);
/** "/dev/vda" 2 → "/dev/vda2"; "/dev/nvme0n1" 2 → "/dev/nvme0n1p2". */
int phx_part_path(const char *disk, uint32_t number, char ret[64]);
/** Type of what a device (or `size` bytes at `offset`; 0 = all) holds: "ext4", "crypto_LUKS",
 * "linux_raid_member"…; "" = nothing known. */
int phx_signature_read(const char *path, uint64_t offset, uint64_t size, char ret[32],
		       struct phx_err *err);

/* ---- volume_join.c ---- */

/** The devices of a volume: its partitions. */
struct phx_volume_parts {
	char nodes[PHX_FACTS_DISKS_MAX][PHX_VOLUME_DEVICE_MAX];
	uint32_t n;
};
/** Makes one device of new partitions. `index`: its place in the layout. */
int phx_volume_join(const struct phx_layout_volume *v, uint32_t index,
		    const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		    struct phx_err *err);
/** The same of partitions that were joined before. */
int phx_volume_rejoin(const struct phx_layout_volume *v, uint32_t index,
		      const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		      struct phx_err *err);
/** Takes it apart, and destroys nothing. Not joined is no error. */
int phx_volume_part(const struct phx_layout_volume *v, uint32_t index, struct phx_err *err);
/** Does the join have copies, so that it can do without a disk? */
bool phx_volume_has_copies(const struct phx_layout_volume *v);

/* ---- luks.c ---- */

/** Format as LUKS2 with one key slot (PBKDF2, lowest cost: the key is random) and the key's id in a
 * token. */
int phx_luks_format(const char *device, const void *key, size_t n_key, const char *key_id,
		    struct phx_err *err);
/** Key id of a LUKS2 device, "" when it has none. -ENOENT when the device is no LUKS2. */
int phx_luks_key_id(const char *device, char ret[64], struct phx_err *err);
int phx_luks_open(const char *device, const void *key, size_t n_key, char ret_root[64],
		  struct phx_err *err);
/** Destroy every key slot; positive: how many there were. -ENOENT when it is no LUKS2. */
int phx_luks_destroy(const char *device, struct phx_err *err);

/* ---- digest.c ---- */

/** One pass of reading a disk back: of each place its offset, its length and its bytes go into a
 * sum, in their order. {0} before the first pass. */
struct phx_readback {
	uint64_t n_bytes;
	uint32_t n_places;
	void *md; /* owned */
};
/** Begin a pass; what an earlier one has read does not count any more. */
int phx_readback_begin(struct phx_readback *rb, struct phx_err *err);
int phx_readback_add(struct phx_readback *rb, uint64_t offset, const void *data, size_t n);
/** Write bytes, places and sum of the pass into the result, and end it. */
void phx_readback_end(struct phx_readback *rb, struct phx_wipe_result *ret);
/** Twice is once. */
void phx_readback_fini(struct phx_readback *rb);

/* ---- readback.c ---- */

enum { PHX_SAMPLE_BYTES = PHX_READBACK_PLACE_BYTES, PHX_SAMPLE_PIECES = 16 };

/** Where a disk is read back: sorted, not overlapping, inside the disk. */
struct phx_sample {
	uint64_t offset;
	uint32_t n_bytes; /* at most PHX_SAMPLE_BYTES */
	/* fingerprints of its parts as phx_samples_mark() left them, without the mark */
	uint64_t prints[PHX_SAMPLE_PIECES];
};
struct phx_samples {
	struct phx_list list; /* struct phx_sample */
	uint8_t mark[32];     /* random, of this erase */
};

/** Both ends (16 MiB), the first MiB of each old partition, and 1 % of the disk's MiBs, each as
 * likely as any other: which they are follows from `seed` alone. Free: phx_list_fini(&list). */
int phx_samples_plan(uint64_t size_bytes, const struct phx_part_table *table, uint64_t seed,
		     struct phx_samples *ret, struct phx_err *err);
/** All samples must read zero; with `s` NULL every byte of the disk. -EUCLEAN names the first byte
 * that does not. */
int phx_samples_read_zero(const struct phx_block *b, const struct phx_samples *s,
			  struct phx_readback *rb, struct phx_err *err);
/** Before an erase that may leave another pattern than zero: mark every sample
 * and remember what it holds. Overwrites data: only once the erase is certain to be tried. */
int phx_samples_mark(const struct phx_block *b, struct phx_samples *s, struct phx_err *err);
/** After it: no sample holds its mark, and each part of one is of one byte value or differs from
 * what was remembered; -EUCLEAN otherwise. */
int phx_samples_read_changed(const struct phx_block *b, const struct phx_samples *s,
			     bool *ret_all_zero, struct phx_readback *rb, struct phx_err *err);

/* ---- hidden.c ---- */

/** What a drive keeps from those who read its size. */
struct phx_hidden {
	uint64_t shown_bytes;  /* ATA: what it says to have; 0 = it was not asked, or did not say */
	uint64_t native_bytes; /* without its host protected area */
	uint64_t real_bytes;   /* without its configuration overlay */
	bool overlay_unknown;  /* it has overlays, and does not say whether there is one */
	uint32_t namespaces, namespaces_off; /* NVMe: of its controller, attached and not */
};
/** Ask the drive. Changes nothing on it; what it does not answer stays 0. */
void phx_hidden_read(const struct phx_device *dev, const char *bus, struct phx_hidden *ret);
/** Bytes that nobody reaches now. */
uint64_t phx_hidden_bytes(const struct phx_hidden *h);
/** Set the can_ata_* and can_nvme_* members of a disk, and what it hides, by asking the drive; what
 * cannot be asked stays false. Opens nothing, changes nothing on the drive. */
void phx_disk_ask_abilities(const struct phx_device *dev, struct phx_disk_facts *d);
/** Opens the host protected area until the next power cycle, and has the kernel look at the size
 * again. -EOPNOTSUPP, and nothing was touched: something of the drive stays hidden, and the text
 * says what, and what to do. ret_text: what was opened, for the erase record; "" nothing. */
int phx_hidden_open(const struct phx_device *dev, const char *bus, char ret_text[96],
		    struct phx_err *err);

/* ---- secure.c ---- */

/** Which commands an erase may use; filled by phx_secure_plan(). */
struct phx_secure {
	uint32_t ways;          /* bit set of enum way in secure.c */
	int way;                /* the one that was taken */
	uint32_t nsid;          /* NVMe */
	uint16_t format_flags;  /* NVMe */
	uint32_t erase_minutes; /* ATA security erase, 0 = unknown */
};

/** Ask the drive and choose. -EOPNOTSUPP (nothing was touched) says why it cannot. */
int phx_secure_plan(const struct phx_device *dev, const char *bus, struct phx_secure *ret,
		    struct phx_err *err);
/** Carry it out and wait for its end, best way first; what the drive refuses at
 * once is followed by the next way. `step` gets done bytes of `size_bytes`. */
int phx_secure_erase(const struct phx_device *dev, struct phx_secure *how, uint64_t size_bytes,
		     phx_block_step_fn step, void *arg, struct phx_err *err);
/** "ATA sanitize, block erase": the way taken, for the erase record. Static text. */
const char *phx_secure_name(const struct phx_secure *how);

/* ---- crypto.c ---- */

/** -EOPNOTSUPP unless all data of the disk lies in LUKS partitions (or was already
 * destroyed by a crypto wipe that was cut off). */
int phx_crypto_check(const struct phx_block *b, const struct phx_part_table *table,
		     struct phx_err *err);
/** Key slots, headers, the state partition, last the table. ret_slots: key slots destroyed. */
int phx_crypto_wipe(const struct phx_block *b, const struct phx_part_table *table, int *ret_slots,
		    struct phx_err *err);
/** Where the headers, the state partition and the table were reads zero. */
int phx_crypto_verify(const struct phx_block *b, const struct phx_part_table *table,
		      struct phx_readback *rb, struct phx_err *err);

/* ---- wipe.c ---- */

/** phx_disk_wipe() with the drive behind `dev`; NULL = the kernel's ioctls on `path`. */
int phx_disk_wipe_with(const struct phx_device *dev, const char *path,
		       const struct phx_disk_facts *facts, const struct phx_wipe_order *order,
		       phx_wipe_progress_fn progress, void *arg, struct phx_wipe_result *ret,
		       struct phx_err *err);

/* ---- system.c ---- */

/** phx_disk_find_system() on one disk; -ENOENT when it holds no system of ours. */
int phx_disk_system_on(const char *path, struct phx_disk_system *ret, struct phx_err *err);

#endif
