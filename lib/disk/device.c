/* ATA by SG_IO (ATA PASS-THROUGH 16) and NVMe by its admin ioctl: see
 * device.h. Called by identify.c and secure.c; decides nothing, and never
 * takes an exit of the ioctl for success of the drive. */
#include "disk/device.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum {
	ATA_16 = 0x85,
	PROTOCOL_NON_DATA = 3,
	PROTOCOL_PIO_IN = 4,
	PROTOCOL_PIO_OUT = 5,
	FLAGS_CK_COND = 0x20, /* give the registers back, in the sense data */
	FLAGS_FROM_DEVICE = 0x08,
	FLAGS_BLOCKS = 0x04,
	FLAGS_LENGTH_IN_COUNT = 0x02,
	STATUS_ERROR = 0x01,
	STATUS_FAULT = 0x20,
	SENSE_DESCRIPTOR = 0x72,
	ATA_RETURN = 0x09,
	DEVICE_LBA = 0x40,
	SECTOR = 512,
};

static void fill_cdb(uint8_t cdb[16], const struct phx_ata_command *c)
{
	static const uint8_t protocols[] = {PROTOCOL_NON_DATA, PROTOCOL_PIO_IN, PROTOCOL_PIO_OUT};
	cdb[0] = ATA_16;
	cdb[1] = (uint8_t)(protocols[c->direction] << 1 | (c->ext ? 1 : 0));
	/* SCSI's own status says enough of a data transfer; some adapters cannot give registers for
	 * one */
	cdb[2] = c->direction == PHX_ATA_NO_DATA ? FLAGS_CK_COND
						 : FLAGS_BLOCKS | FLAGS_LENGTH_IN_COUNT;
	if (c->direction == PHX_ATA_READ)
		cdb[2] |= FLAGS_FROM_DEVICE;
	cdb[3] = (uint8_t)(c->feature >> 8);
	cdb[4] = (uint8_t)c->feature;
	cdb[5] = (uint8_t)(c->count >> 8);
	cdb[6] = (uint8_t)c->count;
	cdb[7] = (uint8_t)(c->lba >> 24);
	cdb[8] = (uint8_t)c->lba;
	cdb[9] = (uint8_t)(c->lba >> 32);
	cdb[10] = (uint8_t)(c->lba >> 8);
	cdb[11] = (uint8_t)(c->lba >> 40);
	cdb[12] = (uint8_t)(c->lba >> 16);
	cdb[13] = c->lba_mode ? DEVICE_LBA : 0;
	cdb[14] = c->command;
}

/* The registers as the drive left them: descriptor format sense, ATA Return descriptor. */
static int read_registers(const uint8_t *sense, size_t n, struct phx_ata_command *c)
{
	const uint8_t *d = sense + 8;
	if (n < 22 || (sense[0] & 0x7f) != SENSE_DESCRIPTOR || d[0] != ATA_RETURN || d[1] < 12)
		return -EIO;
	c->error = d[3];
	c->count = (uint16_t)(d[4] << 8 | d[5]);
	c->lba = (uint64_t)d[10] << 40 | (uint64_t)d[8] << 32 | (uint64_t)d[6] << 24 |
		(uint64_t)d[11] << 16 | (uint64_t)d[9] << 8 | d[7];
	c->status = d[13];
	return c->status & (STATUS_ERROR | STATUS_FAULT) ? -EIO : 0;
}

static int linux_ata(void *dev, struct phx_ata_command *c)
{
	static const int directions[] = {SG_DXFER_NONE, SG_DXFER_FROM_DEV, SG_DXFER_TO_DEV};
	uint8_t cdb[16] = {0}, sense[64] = {0};
	fill_cdb(cdb, c);
	struct sg_io_hdr io = {
		.interface_id = 'S',
		.dxfer_direction = directions[c->direction],
		.cmd_len = sizeof(cdb),
		.cmdp = cdb,
		.mx_sb_len = sizeof(sense),
		.sbp = sense,
		.dxfer_len = c->direction == PHX_ATA_NO_DATA ? 0 : SECTOR,
		.dxferp = c->data,
		.timeout = c->timeout_ms,
	};
	if (ioctl(*(int *)dev, SG_IO, &io) < 0)
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
	if (io.host_status)
		return io.host_status == 3 ? -ETIMEDOUT : -EIO;
	if (c->direction != PHX_ATA_NO_DATA)
		return io.status ? -EIO : 0;
	return read_registers(sense, io.sb_len_wr, c);
}

static int linux_nvme(void *dev, struct phx_nvme_command *c)
{
	struct nvme_admin_cmd cmd = {
		.opcode = c->opcode,
		.nsid = c->nsid,
		.addr = (uint64_t)(uintptr_t)c->data,
		.data_len = c->n_data,
		.cdw10 = c->cdw10,
		.cdw11 = c->cdw11,
		.timeout_ms = c->timeout_ms,
	};
	int r = ioctl(*(int *)dev, NVME_IOCTL_ADMIN_CMD, &cmd);
	if (r < 0)
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
	return r;
}

static int linux_nvme_nsid(void *dev)
{
	int r = ioctl(*(int *)dev, NVME_IOCTL_ID);
	return r < 0 ? -errno : r;
}

static void write_to(const char *path, const char *text)
{
	PHX_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* libata keeps the size of a drive until it looks at the port again, and believes what is behind a
 * host protected area to be there only when told to. What is no such disk has none of these files,
 * and needs none. */
static void linux_rescan(void *dev)
{
	struct stat st;
	char path[96], where[PATH_MAX];
	if (fstat(*(int *)dev, &st) < 0 || !S_ISBLK(st.st_mode))
		return;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	const char *host = realpath(path, where) ? strstr(where, "/host") : NULL;
	if (!host)
		return;
	write_to("/sys/module/libata/parameters/ignore_hpa", "1");
	snprintf(path, sizeof(path), "/sys/class/scsi_host/%.*s/scan", (int)strcspn(host + 1, "/"),
		 host + 1);
	write_to(path, "- - -");
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/device/rescan", major(st.st_rdev),
		 minor(st.st_rdev));
	write_to(path, "1");
}

static void linux_wait_ms(void *dev, uint32_t ms)
{
	(void)dev;
	phx_sleep_ms(ms);
}

const struct phx_device_ops phx_device_linux = {linux_ata, linux_nvme, linux_nvme_nsid,
						linux_rescan, linux_wait_ms};
