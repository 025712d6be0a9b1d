/* What a node is: the facts an agent reports and the core decides on.
 * Filled by lib/inventory, carried as JSON, kept in core state. Pure. */
#ifndef PHX_TYPES_FACTS_H
#define PHX_TYPES_FACTS_H

#include "base/record.h"

enum phx_boot_mode { PHX_BOOT_UNKNOWN, PHX_BOOT_BIOS, PHX_BOOT_UEFI };
extern const struct phx_enum phx_boot_mode_names;

/** One whole disk. `id` never changes: "wwn-…" when the disk has a WWN, else
 * "serial-MODEL-SERIAL"; never a /dev name. A disk with neither has "" and is never a target: no
 * system is installed on it, and it is not erased. Two disks with one id make a target ambiguous
 * and are refused (faults.md 12). */
#define PHX_DISK_FACTS_FIELDS(F, S) \
	F(S, id, STR(160)) \
	F(S, wwn, STR(64)) \
	F(S, serial, STR(64)) \
	F(S, model, STR(64)) \
	F(S, bus, STR(16)) /* whose commands it takes: "virtio", "ata", "scsi", "nvme", "" */ \
	F(S, dev, STR(32)) /* "vda" at this boot: for people, never for decisions */ \
	F(S, size_bytes, U64) \
	F(S, rotational, BOOL) \
	F(S, removable, BOOL) \
	F(S, read_only, BOOL) \
	/* what the disk says it can do */ \
	F(S, can_discard, BOOL) \
	F(S, can_ata_secure_erase, BOOL) \
	F(S, can_ata_sanitize, BOOL) \
	F(S, can_nvme_format, BOOL) \
	F(S, can_nvme_sanitize, BOOL) \
	/* capacity beyond the size that it reports, and the namespaces of its controller that \
	 * exist but are not disks here */ \
	F(S, hidden_bytes, U64) \
	F(S, namespaces, U32) /* attached */ \
	F(S, namespaces_off, U32) \
	/* how the machine reaches it, by the words of lsblk: "sata", "sas", "nvme", "usb", \
	 * "virtio", "mmc"; remote: "fc", "iscsi", "srp", "rbd", "nvme-tcp", "nvme-rdma", \
	 * "nvme-fc"...; "" unknown, or an older agent */ \
	F(S, transport, STR(16)) \
	F(S, remote, BOOL) /* it is not in this machine, and others may use it, too */ \
	F(S, n_paths, U32) /* 0: an older agent */ \
	/* its paths by the devices that they lead through ("pci-0000:04:00.0-fc-0x50..-lun-1"), \
	 * with blanks between; of very many not all */ \
	F(S, path, STR(256))
PHX_RECORD_STRUCT(phx_disk_facts, PHX_DISK_FACTS_FIELDS);

/** A disk with which the node was ever seen, whoever had the node then. */
#define PHX_KNOWN_DISK_FIELDS(F, S) \
	F(S, id, STR(160)) \
	F(S, serial, STR(64)) \
	F(S, size_bytes, U64) /* the largest size that was seen, hidden bytes included */ \
	F(S, deploy, BOOL)    /* seen by the deploy environment, not by a tenant's system alone */ \
	/* what the following members say is proven: a deploy environment saw it after a start \
	 * from reset that the head ordered, or when the node had no owner yet */ \
	F(S, proven, BOOL) \
	F(S, model, STR(64)) \
	F(S, transport, STR(16)) \
	F(S, remote, BOOL) \
	F(S, path, TEXT) \
	/* by which setting it was left alone when the others were erased last; "" it was not */ \
	F(S, left, TEXT)
PHX_RECORD_STRUCT(phx_known_disk, PHX_KNOWN_DISK_FIELDS);

/** A disk that an erase of the node's others leaves alone. */
#define PHX_LEFT_DISK_FIELDS(F, S) \
	F(S, id, STR(160)) \
	F(S, why, STR(96)) /* by which setting */
PHX_RECORD_STRUCT(phx_left_disk, PHX_LEFT_DISK_FIELDS);

#define PHX_NIC_FACTS_FIELDS(F, S) \
	F(S, mac, STR(PHX_MAC_MAX)) \
	F(S, dev, STR(32)) \
	F(S, driver, STR(32)) \
	F(S, link, BOOL) \
	F(S, speed_mbps, U32) /* 0 unknown */ \
	/* the switch that the card is plugged into, and its port, as the switch said last; "" it \
	 * said nothing */ \
	F(S, neighbor, STR(64)) \
	F(S, neighbor_port, STR(64))
PHX_RECORD_STRUCT(phx_nic_facts, PHX_NIC_FACTS_FIELDS);

/** One function of a PCI device that needs a driver (types/pci.h); not those that a card was split
 * into. */
#define PHX_PCI_FACTS_FIELDS(F, S) \
	F(S, address, STR(16)) /* "0000:3b:00.0" */ \
	F(S, class_code, U32)  /* 24 bits: class, subclass, interface */ \
	F(S, vendor, U32)      /* 16 bits */ \
	F(S, device, U32)      /* 16 bits */ \
	F(S, driver, STR(24))  /* "" = none of the running kernel has it */
PHX_RECORD_STRUCT(phx_pci_facts, PHX_PCI_FACTS_FIELDS);

/** One memory module, as the firmware names it. */
#define PHX_MEMORY_MODULE_FIELDS(F, S) \
	F(S, slot, STR(32)) \
	F(S, size_bytes, U64) \
	F(S, speed_mts, U32) /* million transfers a second, as configured; 0 unknown */ \
	F(S, part, STR(32)) \
	F(S, serial, STR(24))
PHX_RECORD_STRUCT(phx_memory_module, PHX_MEMORY_MODULE_FIELDS);

#define PHX_FACTS_FIELDS(F, S) \
	F(S, arch, STR(16)) \
	F(S, cpus, U32) /* logical */ \
	F(S, cores, U32) \
	F(S, sockets, U32) \
	F(S, cpu_model, STR(96)) \
	F(S, memory_bytes, U64) \
	F(S, vendor, STR(64)) \
	F(S, product, STR(64)) \
	F(S, serial, STR(64)) /* DMI system serial */ \
	F(S, uuid, STR(40))   /* DMI system UUID, lower case */ \
	F(S, firmware, STR(96)) \
	F(S, boot_mode, ENUM(phx_boot_mode)) \
	F(S, bmc_address, STR(64)) /* IPv4 of the in-band BMC, "" unknown */ \
	F(S, os, STR(96))          /* PRETTY_NAME of the running system */ \
	F(S, kernel, STR(96)) \
	F(S, disks, LIST(phx_disk_facts)) \
	F(S, nics, LIST(phx_nic_facts)) \
	F(S, pci, LIST(phx_pci_facts)) /* by address */ \
	F(S, memory_slots, U32)        /* on the board; 0 unknown */ \
	F(S, modules, LIST(phx_memory_module))
PHX_RECORD_STRUCT(phx_facts, PHX_FACTS_FIELDS);

/** No machine has more; a report with more is refused. */
#define PHX_FACTS_DISKS_MAX 512
#define PHX_FACTS_NICS_MAX 256
#define PHX_FACTS_PCI_MAX 512
#define PHX_FACTS_MODULES_MAX 256

/** Does the report have more of anything than a machine can have? 0, or -EINVAL with a text. */
int phx_facts_bounds(const struct phx_facts *f, struct phx_err *err);

/** Check a report: MAC addresses are well-formed and different, no two disks have one id, every
 * disk has a size. 0, or -EINVAL with a text that names the item. */
int phx_facts_check(const struct phx_facts *f, struct phx_err *err);

/** The number of processors that a job can have at a time: hardware threads, or else cores. */
static inline uint32_t phx_facts_cores(const struct phx_facts *f)
{
	return f->cpus ? f->cpus : f->cores;
}

/** The disk with this id among `disks` (struct phx_disk_facts); NULL when there is none or more
 * than one. */
const struct phx_disk_facts *phx_disk_by_id(const struct phx_list *disks, const char *id);
/** The same among those of a report. */
const struct phx_disk_facts *phx_facts_disk(const struct phx_facts *f, const char *id);

#endif
