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
};

struct phx_nvme_identity {
	uint32_t nsid;
	uint32_t n_namespaces; /* active ones of the controller */
	uint16_t format_flags; /* CDW10 of Format NVM that keeps the present LBA format */
	bool format;
	bool format_is_global; /* erases the other namespaces too */
	bool sanitize_block, sanitize_crypto, sanitize_overwrite;
};

/** Ask an ATA drive. -EOPNOTSUPP: no ATA drive. */
int phx_ata_identify(const struct phx_device *dev, struct phx_ata_identity *ret,
		     struct phx_err *err);

/** Decode the 512 bytes of IDENTIFY DEVICE. -EBADMSG when they cannot be one. */
int phx_ata_decode(const uint8_t data[512], struct phx_ata_identity *ret, struct phx_err *err);

/** Ask an NVMe drive: controller, namespace, list of namespaces. */
int phx_nvme_identify(const struct phx_device *dev, struct phx_nvme_identity *ret,
		      struct phx_err *err);

/** Set the can_ata_* and can_nvme_* members of a disk by asking the drive; what
 * cannot be asked stays false. Opens nothing, changes nothing on the drive. */
void phx_disk_ask_abilities(const struct phx_device *dev, struct phx_disk_facts *d);

#endif
