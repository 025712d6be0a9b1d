/* What a node is: the facts an agent reports and the core decides on.
 * Filled by lib/inventory, carried as JSON, kept in core state. Pure. */
#ifndef PHX_NODE_FACTS_H
#define PHX_NODE_FACTS_H

#include "base/record.h"

enum phx_boot_mode { PHX_BOOT_UNKNOWN, PHX_BOOT_BIOS, PHX_BOOT_UEFI };
extern const struct phx_enum phx_boot_mode_names;

/** One whole disk. `id` names it for ever: "wwn-…" when the disk has one, else
 * "serial-MODEL-SERIAL"; never a /dev name. A disk that names itself by neither has "" and is
 * nobody's target: it is neither installed on nor erased. Two disks with one id make the
 * target ambiguous and are refused (faults.md 12). */
struct phx_disk_facts {
	char id[160];
	char wwn[64];
	char serial[64];
	char model[64];
	char bus[16]; /* "virtio", "ata", "scsi", "nvme", "" */
	char dev[32]; /* "vda" at this boot: for people, never for decisions */
	uint64_t size_bytes;
	bool rotational;
	bool removable;
	bool read_only;
	/* what the disk says it can do */
	bool can_discard;
	bool can_ata_secure_erase;
	bool can_ata_sanitize;
	bool can_nvme_format;
	bool can_nvme_sanitize;
};
extern const struct phx_record phx_disk_facts_record;

struct phx_nic_facts {
	char mac[PHX_MAC_MAX];
	char dev[32];
	char driver[32];
	bool link;
	uint32_t speed_mbps; /* 0 unknown */
};
extern const struct phx_record phx_nic_facts_record;

struct phx_facts {
	char arch[16];
	uint32_t cpus; /* logical */
	uint32_t cores;
	uint32_t sockets;
	char cpu_model[96];
	uint64_t memory_bytes;
	char vendor[64];
	char product[64];
	char serial[64]; /* DMI system serial */
	char uuid[40];	 /* DMI system UUID, lower case */
	char firmware[96];
	int boot_mode;		/* enum phx_boot_mode */
	char bmc_address[64];	/* IPv4 of the in-band BMC, "" unknown */
	char os[96];		/* PRETTY_NAME of the running system */
	char kernel[96];
	struct phx_list disks; /* struct phx_disk_facts */
	struct phx_list nics;  /* struct phx_nic_facts */
};
extern const struct phx_record phx_facts_record;

/** More than a machine has; what is above is refused. */
#define PHX_FACTS_DISKS_MAX 512
#define PHX_FACTS_NICS_MAX 256

/** Check what a report claims: MACs well-formed and not twice, no two disks
 * with one id, sizes present. 0, or -EINVAL with a text naming the item. */
int phx_facts_check(const struct phx_facts *f, struct phx_err *err);

/** The disk with this id; NULL when there is none or more than one. */
const struct phx_disk_facts *phx_facts_disk(const struct phx_facts *f, const char *id);

#endif
