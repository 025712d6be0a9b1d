/* The way of a command to a drive through the kernel: what is put into SG_IO and the NVMe ioctl,
 * what their answers mean, and discards of a block device. The exit of an ioctl alone never counts
 * as the drive's success. */
#include "fake/ioctl.h"
#include "unit/disk/help.h"

#include "disk/block.h"
#include "disk/device.h"

static int fd = -1;
#define ops (&phx_device_linux)

static int setup(void **state)
{
	(void)state;
	memset(&fake_kernel, 0, sizeof(fake_kernel));
	return 0;
}

/* The registers of a drive that ended a command, as an ATA Return descriptor of descriptor format
 * sense. */
static void drive_answers(uint8_t status, uint8_t error, uint16_t count, uint64_t lba)
{
	uint8_t s[22] = {0x72, 0x01, 0x00, 0x1d, 0, 0, 0, 14, 0x09, 12, 1, error};
	s[12] = (uint8_t)(count >> 8);
	s[13] = (uint8_t)count;
	s[14] = (uint8_t)(lba >> 24);
	s[15] = (uint8_t)lba;
	s[16] = (uint8_t)(lba >> 32);
	s[17] = (uint8_t)(lba >> 8);
	s[18] = (uint8_t)(lba >> 40);
	s[19] = (uint8_t)(lba >> 16);
	s[21] = status;
	memcpy(fake_kernel.sense, s, sizeof(s));
	fake_kernel.sense_length = sizeof(s);
	fake_kernel.scsi_status = 2;
}

static struct phx_ata_command sanitize(void)
{
	return (struct phx_ata_command){.command = 0xb4,
					.feature = 0x0012,
					.count = 0x0110,
					.lba = 0x665544332211,
					.ext = true,
					.timeout_ms = 30000};
}

static void test_a_command_without_data(void **state)
{
	/* ATA PASS-THROUGH (16): non-data, 48 bit, registers back; high and low bytes in turn */
	static const uint8_t cdb[16] = {0x85, 3 << 1 | 1, 0x20, 0x00, 0x12, 0x01, 0x10, 0x44,
					0x11, 0x55,       0x22, 0x66, 0x33, 0,    0xb4, 0};
	struct phx_ata_command c = sanitize();
	(void)state;
	drive_answers(0x50, 0, 0x8001, 0xc0b0a0908070);
	assert_int_equal(ops->ata(&fd, &c), 0);
	assert_memory_equal(fake_kernel.cdb, cdb, sizeof(cdb));
	assert_int_equal(fake_kernel.direction, SG_DXFER_NONE);
	assert_int_equal(fake_kernel.length, 0);
	assert_int_equal(fake_kernel.timeout_ms, 30000);
	assert_int_equal(c.status, 0x50);
	assert_int_equal(c.count, 0x8001);
	assert_true(c.lba == 0xc0b0a0908070);
}

static void test_the_drive_s_error_counts(void **state)
{
	static const uint8_t bad[] = {0x51 /* error */, 0x70 /* device fault */};
	(void)state;
	for (size_t i = 0; i < sizeof(bad); i++) {
		struct phx_ata_command c = sanitize();
		drive_answers(bad[i], 0x04, 0, 0);
		assert_int_equal(ops->ata(&fd, &c), -EIO);
		assert_int_equal(c.error, 0x04);
	}
}

/* QEMU's drives and some adapters: the ioctl returns 0, and nobody says what the drive did. */
static void test_no_registers_are_no_success(void **state)
{
	struct phx_ata_command c = sanitize();
	(void)state;
	assert_int_equal(ops->ata(&fd, &c), -EIO);
	drive_answers(0x50, 0, 0, 0);
	fake_kernel.sense_length = 21; /* cut short */
	assert_int_equal(ops->ata(&fd, &c), -EIO);
	fake_kernel.sense_length = 22;
	fake_kernel.sense[0] = 0x70; /* fixed format */
	assert_int_equal(ops->ata(&fd, &c), -EIO);
	fake_kernel.sense[0] = 0x72;
	fake_kernel.sense[8] = 0x00; /* another descriptor */
	assert_int_equal(ops->ata(&fd, &c), -EIO);
	fake_kernel.sense[8] = 0x09;
	assert_int_equal(ops->ata(&fd, &c), 0);
}

static void test_data_goes_both_ways(void **state)
{
	uint8_t page[512] = {0};
	struct phx_ata_command c = {.command = 0xec,
				    .count = 1,
				    .direction = PHX_ATA_READ,
				    .data = page,
				    .timeout_ms = 1};
	(void)state;
	fake_kernel.data = 0x5a;
	assert_int_equal(ops->ata(&fd, &c), 0);
	assert_int_equal(page[0], 0x5a);
	assert_int_equal(page[511], 0x5a);
	assert_int_equal(fake_kernel.cdb[1], 4 << 1);
	/* from the device, blocks, length in the count */
	assert_int_equal(fake_kernel.cdb[2], 0x0e);
	assert_int_equal(fake_kernel.length, 512);
	c.direction = PHX_ATA_WRITE;
	assert_int_equal(ops->ata(&fd, &c), 0);
	assert_int_equal(fake_kernel.direction, SG_DXFER_TO_DEV);
	assert_int_equal(fake_kernel.cdb[1], 5 << 1);
	assert_int_equal(fake_kernel.cdb[2], 0x06);
	fake_kernel.scsi_status = 2; /* check condition */
	assert_int_equal(ops->ata(&fd, &c), -EIO);
}

static void test_the_adapter_s_error_counts(void **state)
{
	struct phx_ata_command c = sanitize();
	(void)state;
	drive_answers(0x50, 0, 0, 0);
	fake_kernel.host_status = 3; /* DID_TIME_OUT */
	assert_int_equal(ops->ata(&fd, &c), -ETIMEDOUT);
	fake_kernel.host_status = 1;
	assert_int_equal(ops->ata(&fd, &c), -EIO);
}

static void test_what_is_no_such_device(void **state)
{
	struct phx_ata_command c = sanitize();
	struct phx_nvme_command n = {.opcode = 0x06};
	(void)state;
	fake_kernel.error = ENOTTY;
	assert_int_equal(ops->ata(&fd, &c), -EOPNOTSUPP);
	assert_int_equal(ops->nvme(&fd, &n), -EOPNOTSUPP);
	assert_int_equal(ops->nvme_nsid(&fd), -ENOTTY);
	fake_kernel.error = EINVAL;
	assert_int_equal(ops->ata(&fd, &c), -EOPNOTSUPP);
	fake_kernel.error = EACCES;
	assert_int_equal(ops->ata(&fd, &c), -EACCES);
	assert_int_equal(ops->nvme(&fd, &n), -EACCES);
}

static void test_nvme_command_and_status(void **state)
{
	uint8_t page[4096];
	struct phx_nvme_command n = {.opcode = 0x80,
				     .nsid = 7,
				     .cdw10 = 0x200,
				     .cdw11 = 3,
				     .data = page,
				     .n_data = sizeof(page),
				     .timeout_ms = 5000};
	(void)state;
	assert_int_equal(ops->nvme(&fd, &n), 0);
	assert_int_equal(fake_kernel.nvme.opcode, 0x80);
	assert_int_equal(fake_kernel.nvme.nsid, 7);
	assert_int_equal(fake_kernel.nvme.cdw10, 0x200);
	assert_int_equal(fake_kernel.nvme.cdw11, 3);
	assert_true(fake_kernel.nvme.addr == (uint64_t)(uintptr_t)page);
	assert_int_equal(fake_kernel.nvme.data_len, sizeof(page));
	assert_int_equal(fake_kernel.nvme.timeout_ms, 5000);
	/* invalid opcode, do not retry: no success, though the ioctl did not fail */
	fake_kernel.nvme_status = 0x4001;
	assert_int_equal(ops->nvme(&fd, &n), 0x4001);
	fake_kernel.nsid = 3;
	assert_int_equal(ops->nvme_nsid(&fd), 3);
}

/* ---- discard ---- */

/* a block device of some GiB, holes in a file */
static struct phx_block device_of(const struct place *p)
{
	struct phx_block b = {.size_bytes = p->facts.size_bytes, .sector_bytes = 512};
	PHX_STR_SET(b.path, p->file);
	b.fd = open(b.path, O_RDWR | O_CLOEXEC);
	assert_true(b.fd >= 0);
	return b;
}

static void test_discard_in_pieces(void **state)
{
	const uint64_t gib = 1ull << 30;
	struct place *p = place_new(2 * gib + 4096);
	struct phx_block b = device_of(p);
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_block_discard(&b, 0, b.size_bytes, NULL, NULL, &err), 0);
	assert_int_equal(fake_kernel.n_discards, 3);
	assert_true(fake_kernel.discarded[0][0] == 0 && fake_kernel.discarded[0][1] == gib);
	assert_true(fake_kernel.discarded[1][0] == gib && fake_kernel.discarded[1][1] == gib);
	assert_true(fake_kernel.discarded[2][0] == 2 * gib && fake_kernel.discarded[2][1] == 4096);
	assert_int_equal(phx_block_flush(&b, &err), 0);
	assert_int_equal(fake_kernel.n_flushes, 1); /* the next read comes from the drive */
	close(b.fd);
	place_free(p);
}

static void test_discard_that_fails_says_where(void **state)
{
	struct place *p = place_new(3ull << 30);
	struct phx_block b = device_of(p);
	struct phx_err err = {0};
	(void)state;
	fake_kernel.discards_fail_from = 2;
	assert_int_equal(phx_block_discard(&b, 0, b.size_bytes, NULL, NULL, &err), -EIO);
	assert_non_null(strstr(err.text, "discard at byte 1073741824"));
	assert_int_equal(fake_kernel.n_discards, 2); /* and nothing behind it */
	fake_kernel.error = EOPNOTSUPP;
	assert_int_equal(phx_block_discard(&b, 0, 4096, NULL, NULL, &err), -EOPNOTSUPP);
	assert_int_equal(phx_block_flush(&b, &err), -EOPNOTSUPP);
	close(b.fd);
	place_free(p);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_a_command_without_data),        T(test_the_drive_s_error_counts),
		T(test_no_registers_are_no_success),   T(test_data_goes_both_ways),
		T(test_the_adapter_s_error_counts),    T(test_what_is_no_such_device),
		T(test_nvme_command_and_status),       T(test_discard_in_pieces),
		T(test_discard_that_fails_says_where),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
