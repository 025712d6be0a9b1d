/* A fake kernel below lib/disk: the ioctls of a drive and of a block device, in the place of libc's
 * ioctl() in the program that includes it, libraries included. A test says what the drive answers,
 * and sees what it was sent. */
#ifndef TESTS_FAKE_IOCTL_H
#define TESTS_FAKE_IOCTL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

static struct fake_kernel {
	int error; /* errno of every call; 0: it goes through */
	/* what was sent */
	uint8_t cdb[16];
	uint32_t length, timeout_ms;
	int direction;
	struct nvme_admin_cmd nvme;
	uint64_t discarded[8][2]; /* offset, bytes */
	uint32_t n_discards, n_flushes;
	uint64_t trimmed; /* bytes that a file system was asked to look for free blocks in */
	/* what is answered */
	uint8_t sense[64], sense_length, scsi_status, data;
	uint16_t host_status;
	int nvme_status, nsid;
	uint32_t discards_fail_from; /* the first that fails with EIO; 0: none */
	bool trims;                  /* file systems discard their free blocks */
} fake_kernel;

static inline int fake_sg_io(struct sg_io_hdr *io)
{
	memcpy(fake_kernel.cdb, io->cmdp, io->cmd_len);
	fake_kernel.direction = io->dxfer_direction;
	fake_kernel.length = io->dxfer_len;
	fake_kernel.timeout_ms = io->timeout;
	if (io->dxfer_direction == SG_DXFER_FROM_DEV)
		memset(io->dxferp, fake_kernel.data, io->dxfer_len);
	memcpy(io->sbp, fake_kernel.sense, fake_kernel.sense_length);
	io->sb_len_wr = fake_kernel.sense_length;
	io->status = fake_kernel.scsi_status;
	io->host_status = fake_kernel.host_status;
	return 0;
}

/* punches it out of the file that stands for the device */
static inline int fake_discard(int fd, const uint64_t *range)
{
	uint32_t n = fake_kernel.n_discards++;
	if (n < 8)
		memcpy(fake_kernel.discarded[n], range, sizeof(fake_kernel.discarded[n]));
	if (fake_kernel.discards_fail_from && n + 1 >= fake_kernel.discards_fail_from) {
		errno = EIO;
		return -1;
	}
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)range[0],
			 (off_t)range[1]);
}

static inline int fake_trim(const struct fstrim_range *range)
{
	fake_kernel.trimmed = range->len;
	errno = EOPNOTSUPP;
	return fake_kernel.trims ? 0 : -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (fake_kernel.error) {
		errno = fake_kernel.error;
		return -1;
	}
	switch (request) {
	case SG_IO:
		return fake_sg_io(arg);
	case NVME_IOCTL_ADMIN_CMD:
		fake_kernel.nvme = *(struct nvme_admin_cmd *)arg;
		return fake_kernel.nvme_status;
	case NVME_IOCTL_ID:
		return fake_kernel.nsid;
	case BLKDISCARD:
		return fake_discard(fd, arg);
	case BLKFLSBUF:
		fake_kernel.n_flushes++;
		return 0;
	case FITRIM:
		return fake_trim(arg);
	default:
		errno = ENOTTY;
		return -1;
	}
}

#endif
