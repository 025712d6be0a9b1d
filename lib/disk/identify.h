/* What a drive says about itself: ATA IDENTIFY DEVICE and NVMe Identify, as
 * far as erasing is concerned. Used by the list of disks and by secure.c. */
#ifndef PHX_DISK_IDENTIFY_H
#define PHX_DISK_IDENTIFY_H

#include "disk/device.h"
#include "types/facts.h"

struct phx_ata_identity {
	bool security;         /* the security feature set is there */
	bool security_enabled; /* a password is set */
	bool locked;
	bool frozen;            /* security commands are refused until the next power cycle */
	bool enhanced;          /* enhanced security erase */
	uint32_t erase_minutes; /* the drive's own estimate for its slowest erase, 0 = unknown */
	bool sanitize_block, sanitize_crypto, sanitize_overwrite;
	uint64_t sectors; /* that it shows, 0 = it does not say */
	uint32_t sector_bytes;
	bool lba48;
	bool protected_area; /* the host protected area feature set */
	bool accessible_max; /* its successor */
	bool overlay;        /* the device configuration overlay feature set */
};

struct phx_nvme_identity {
	uint32_t nsid;
	uint32_t n_namespaces; /* active ones of the controller */
	uint32_t n_allocated;  /* attached or not; 0 = it does not say */
	uint16_t format_flags; /* CDW10 of Format NVM that keeps the present LBA format */
	bool manages;          /* namespaces can be made, attached and detached */
	bool format;
	bool format_is_global; /* erases the other namespaces too */
	bool sanitize_block, sanitize_crypto, sanitize_overwrite;
};

/** Ask an ATA drive. -EOPNOTSUPP: no ATA drive. */
int phx_ata_identify(const struct phx_device *dev, struct phx_ata_identity *ret,
		     struct phx_err *err);

/** Decode the 512 bytes of IDENTIFY DEVICE. -EBADMSG when they cannot be one. */
int phx_ata_decode(const uint8_t data[512], struct phx_ata_identity *ret, struct phx_err *err);

/** Do 512 bytes of identify data carry a checksum that is wrong? */
bool phx_ata_checksum_bad(const uint8_t data[512]);

/** Ask an NVMe drive: controller, namespace, list of namespaces. */
int phx_nvme_identify(const struct phx_device *dev, struct phx_nvme_identity *ret,
		      struct phx_err *err);

#endif
