/* Raw commands to a drive: ATA taskfiles and NVMe admin commands. One table of
 * functions, so that the erase logic (secure.c) can be tested against drives
 * that lie, hang or refuse. */
#ifndef PHX_DISK_DEVICE_H
#define PHX_DISK_DEVICE_H

#include "base/util.h"

enum phx_ata_data { PHX_ATA_NO_DATA, PHX_ATA_READ, PHX_ATA_WRITE };

/** One ATA command (names of the ATA command set). */
struct phx_ata_command {
	uint8_t command;
	uint16_t feature;
	uint16_t count;
	uint64_t lba;
	bool ext;      /* 48 bit command */
	bool lba_mode; /* `lba` is an address: the device register says so */
	enum phx_ata_data direction;
	void *data; /* 512 bytes, unless NO_DATA */
	uint32_t timeout_ms;
	/* filled after the command: */
	uint8_t status; /* bit 0 error, bit 5 device fault */
	uint8_t error;
};

/** One NVMe admin command. */
struct phx_nvme_command {
	uint8_t opcode;
	uint32_t nsid, cdw10, cdw11;
	void *data; /* n_data bytes from the drive, or NULL */
	uint32_t n_data;
	uint32_t timeout_ms;
};

/** How a drive is reached. `dev` is the ctx of struct phx_device. */
struct phx_device_ops {
	/** 0 when the drive executed it without error (status, error, count and
	 * lba hold its answer), -EIO when it reported an error or aborted,
	 * -EOPNOTSUPP when this is no ATA device, other -errno. */
	int (*ata)(void *dev, struct phx_ata_command *cmd);
	/** 0, a positive NVMe status code, or -errno (-EOPNOTSUPP: no NVMe). */
	int (*nvme)(void *dev, struct phx_nvme_command *cmd);
	/** Namespace id of this block device, or -errno. */
	int (*nvme_nsid)(void *dev);
	/** Have the kernel ask the drive for its size again. */
	void (*rescan)(void *dev);
	/** Let time pass between two questions about progress. */
	void (*wait_ms)(void *dev, uint32_t ms);
};

struct phx_device {
	const struct phx_device_ops *ops;
	void *ctx; /* borrowed */
};

/** The kernel's SG_IO and NVMe ioctls; ctx points to an int, the open descriptor. */
extern const struct phx_device_ops phx_device_linux;

#endif
