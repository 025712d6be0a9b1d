/* Disk layouts: what a role wants on the disks of its nodes beside the one of its system. A layout
 * is a list of volumes; each has a partition on one disk or on several, which are joined, and holds
 * one file system. Which disks those are is decided by node/layout.h. Pure. */
#ifndef PHX_TYPES_LAYOUT_H
#define PHX_TYPES_LAYOUT_H

#include "base/key.h"

/** How the partitions of a volume become one device: K(ID, "name", least disks, text). */
#define PHX_LAYOUT_JOINS(K) \
	K(PLAIN, "plain", 1, "one disk") \
	K(RAID0, "raid0", 2, "striped over two disks or more, without any copy") \
	K(RAID1, "raid1", 2, "the same on each of two disks or more") \
	K(RAID10, "raid10", 4, "striped over pairs, of four disks or more") \
	K(LVM, "lvm", 1, "one after the other, as a logical volume")

enum phx_layout_join {
#define K(id, ...) PHX_LAYOUT_##id,
	PHX_LAYOUT_JOINS(K)
#undef K
};
extern const struct phx_enum phx_layout_join_names;

/** File systems: K(ID, "name", least bytes of its device). */
#define PHX_LAYOUT_TYPES(K) \
	K(EXT4, "ext4", 16ull << 20) \
	K(XFS, "xfs", 320ull << 20) \
	K(SWAP, "swap", 16ull << 20)

enum phx_layout_type {
#define K(id, ...) PHX_LAYOUT_##id,
	PHX_LAYOUT_TYPES(K)
#undef K
};
extern const struct phx_enum phx_layout_type_names;

/** Which of the disks that fit are taken. */
enum phx_layout_pick { PHX_LAYOUT_ONE, PHX_LAYOUT_SMALLEST, PHX_LAYOUT_LARGEST, PHX_LAYOUT_ALL };
extern const struct phx_enum phx_layout_pick_names;

enum phx_layout_kind { PHX_LAYOUT_ANY, PHX_LAYOUT_SSD, PHX_LAYOUT_HDD };
extern const struct phx_enum phx_layout_kind_names;

enum { PHX_LAYOUT_NAME_MAX = 16, PHX_LAYOUT_VOLUMES_MAX = 32, PHX_LAYOUT_PARTS_MAX = 512 };

#define PHX_LAYOUT_SAY_(id, name, least, text) name ": " text "; "
#define PHX_LAYOUT_VOLUME_FIELDS(F, S) \
	F(S, name, STR(PHX_LAYOUT_NAME_MAX), \
	  KEY(name, NAME, PHX_REQUIRED, "Of the volume; at most 15 characters.")) \
	F(S, disks, LIST(phx_word), \
	  KEY(disks, WORDS(16), "", \
	      "Selectors of disks (DISKS of phoenix.conf(5)): those that meet one of them. " \
	      "Default: all. The disk of the system, protected, removable and read-only disks " \
	      "never fit.")) \
	F(S, kind, ENUM(phx_layout_kind), \
	  KEY(kind, CHOICE, "any", "ssd, hdd, or any: only disks of that kind fit.")) \
	F(S, pick, ENUM(phx_layout_pick), \
	  KEY(pick, CHOICE, "one", \
	      "Which of those that fit. one: there must be just one; smallest, largest: that " \
	      "one; all: all of them.")) \
	F(S, count, U32, \
	  KEY(count, NUMBER(0, 256), "0", \
	      "Beside pick = \"all\": so many must fit. 0: as many as there are.")) \
	F(S, size, STR(24), \
	  KEY(size, TEXT(0, 23), "", \
	      "Of its partition on each of its disks: \"64 GiB\", or \"50%\" of what earlier " \
	      "volumes leave there. Default: all that they leave.")) \
	F(S, join, ENUM(phx_layout_join), \
	  KEY(join, CHOICE, "plain", PHX_LAYOUT_JOINS(PHX_LAYOUT_SAY_) "by mdadm and LVM.")) \
	F(S, type, ENUM(phx_layout_type), KEY(type, CHOICE, PHX_REQUIRED, "What is made on it.")) \
	F(S, mount, STR(192), \
	  KEY(mount, TEXT(0, 191), "", \
	      "Where it is mounted, before the system starts; made where it is missing. Not " \
	      "with swap.")) \
	F(S, options, STR(192), \
	  KEY(options, TEXT(0, 191), "", "Options of the mount, with commas between.")) \
	F(S, scratch, BOOL, \
	  KEY(scratch, YES, "false", \
	      "Everybody may write there (mode 1777). Otherwise only root: services make their " \
	      "own places."))
PHX_RECORD_STRUCT(phx_layout_volume, PHX_LAYOUT_VOLUME_FIELDS);

/** A partition of a volume. Those of one disk stand in their order on it. */
#define PHX_LAYOUT_PART_FIELDS(F, S) \
	F(S, volume, STR(PHX_LAYOUT_NAME_MAX)) \
	F(S, disk, STR(160)) /* id */ \
	F(S, size_bytes, U64)
PHX_RECORD_STRUCT(phx_layout_part, PHX_LAYOUT_PART_FIELDS);

/** A layout and the disks that it is on. No volumes: none. */
#define PHX_LAYOUT_FIELDS(F, S) \
	F(S, volumes, LIST(phx_layout_volume)) \
	F(S, parts, LIST(phx_layout_part))
PHX_RECORD_STRUCT(phx_layout, PHX_LAYOUT_FIELDS);

/** Is it right as far as one sees without disks? -EINVAL: ret_index (may be NULL) is the volume
 * that is wrong, or the second of two that contradict each other; the text names it. */
int phx_layout_check(const struct phx_list *volumes, uint32_t *ret_index, struct phx_err *err);

/** Are two lists of volumes the same, in all that decides what is made, and where it is mounted? */
bool phx_layout_same(const struct phx_list *a, const struct phx_list *b);

/** The bytes of `size` where `left` bytes are left, whole MiB. -EINVAL: it is no size; a text says
 * what would be right. */
int phx_layout_size(const char *size, uint64_t left, uint64_t *ret, struct phx_err *err);

/** The fewest disks of a join. */
uint32_t phx_layout_least_disks(enum phx_layout_join join);
/** The fewest bytes on which a file system of the type is made. */
uint64_t phx_layout_least_bytes(enum phx_layout_type type);

/** The volume of that name; NULL. */
const struct phx_layout_volume *phx_layout_volume(const struct phx_list *volumes, const char *name);

#endif
