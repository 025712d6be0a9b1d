/* Decoding of ATA and NVMe identify data: see identify.h. Sends only commands
 * that read. */
#include "disk/identify.h"

#include <errno.h>
#include <string.h>

enum {
	ATA_IDENTIFY = 0xec,
	NVME_IDENTIFY = 0x06,
	NVME_PAGE = 4096,
	CNS_NAMESPACE = 0,
	CNS_CONTROLLER = 1,
	CNS_NAMESPACE_LIST = 2,
	CNS_ALLOCATED_LIST = 0x10,
	ASK_MS = 10000,
};

static uint32_t le16(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const uint8_t *p)
{
	return le16(p) | le16(p + 2) << 16;
}

static bool bit(uint32_t word, int n)
{
	return word >> n & 1;
}

/* Words 89 and 90: bit 15 set means 15 bits of time in units of 2 minutes, else 8. */
static uint32_t erase_minutes(uint32_t word)
{
	return (bit(word, 15) ? word & 0x7fff : word & 0xff) * 2;
}

bool phx_ata_checksum_bad(const uint8_t data[512])
{
	uint8_t sum = 0;
	if (data[510] != 0xa5)
		return false;
	for (int i = 0; i < 512; i++)
		sum = (uint8_t)(sum + data[i]);
	return sum != 0;
}

/* Words 82 to 84, 87 and 119 hold flags only where bits 15 and 14 of 83 are 01. */
static void decode_size(const uint8_t data[512], struct phx_ata_identity *ret)
{
	uint32_t sets = le16(data + 82 * 2), more = le16(data + 83 * 2),
		 size = le16(data + 106 * 2);
	bool valid = bit(more, 14) && !bit(more, 15);
	ret->lba48 = valid && bit(more, 10);
	ret->protected_area = valid && bit(sets, 10);
	ret->overlay = valid && bit(more, 11);
	ret->accessible_max = valid && bit(le16(data + 119 * 2), 8);
	ret->sector_bytes = bit(size, 14) && bit(size, 12) ? le32(data + 117 * 2) * 2 : 512;
	ret->sectors = ret->lba48 ? le32(data + 100 * 2) | (uint64_t)le32(data + 102 * 2) << 32
				  : le32(data + 60 * 2);
}

int phx_ata_decode(const uint8_t data[512], struct phx_ata_identity *ret, struct phx_err *err)
{
	uint32_t word0 = le16(data), sets = le16(data + 82 * 2), security = le16(data + 128 * 2);
	uint32_t sanitize = le16(data + 59 * 2);
	if (bit(word0, 15) || phx_ata_checksum_bad(data))
		return phx_err_set(
			err, -EBADMSG,
			"the drive's IDENTIFY data is no ATA disk's or has a wrong checksum");
	uint32_t normal = erase_minutes(le16(data + 89 * 2)),
		 enhanced = erase_minutes(le16(data + 90 * 2));
	*ret = (struct phx_ata_identity){
		.security = bit(sets, 1) && bit(security, 0),
		.security_enabled = bit(security, 1),
		.locked = bit(security, 2),
		.frozen = bit(security, 3),
		.enhanced = bit(security, 5),
		.erase_minutes = normal > enhanced ? normal : enhanced,
		.sanitize_block = bit(sanitize, 12) && bit(sanitize, 15),
		.sanitize_crypto = bit(sanitize, 12) && bit(sanitize, 13),
		.sanitize_overwrite = bit(sanitize, 12) && bit(sanitize, 14),
	};
	decode_size(data, ret);
	return 0;
}

int phx_ata_identify(const struct phx_device *dev, struct phx_ata_identity *ret,
		     struct phx_err *err)
{
	uint8_t data[512] = {0};
	struct phx_ata_command c = {.command = ATA_IDENTIFY,
				    .count = 1,
				    .direction = PHX_ATA_READ,
				    .data = data,
				    .timeout_ms = ASK_MS};
	int r = dev->ops->ata(dev->ctx, &c);
	if (r < 0)
		return phx_err_set(err, r, "the drive does not answer IDENTIFY DEVICE: %s",
				   strerror(-r));
	return phx_ata_decode(data, ret, err);
}

static int ask_nvme(const struct phx_device *dev, uint32_t nsid, uint32_t cns,
		    uint8_t page[NVME_PAGE], struct phx_err *err)
{
	memset(page, 0, NVME_PAGE);
	struct phx_nvme_command c = {.opcode = NVME_IDENTIFY,
				     .nsid = nsid,
				     .cdw10 = cns,
				     .data = page,
				     .n_data = NVME_PAGE,
				     .timeout_ms = ASK_MS};
	int r = dev->ops->nvme(dev->ctx, &c);
	if (r > 0)
		return phx_err_set(err, -EIO, "the drive refuses NVMe Identify (status 0x%x)", r);
	return r < 0
		? phx_err_set(err, r, "the drive does not answer NVMe Identify: %s", strerror(-r))
		: 0;
}

static uint32_t count_namespaces(const uint8_t page[NVME_PAGE])
{
	uint32_t n = 0;
	while (n < NVME_PAGE / 4 && le32(page + 4 * n))
		n++;
	return n;
}

/* Keep LBA format (FLBAS 3:0), metadata place (FLBAS 4), protection type and place (DPS 2:0, 3). */
static uint16_t format_flags(const uint8_t page[NVME_PAGE])
{
	uint32_t flbas = page[26], dps = page[29];
	return (uint16_t)((flbas & 0x1f) | (dps & 0xf) << 5);
}

static void decode_controller(const uint8_t page[NVME_PAGE], struct phx_nvme_identity *ret)
{
	uint32_t oacs = le16(page + 256), sanicap = le32(page + 328);
	uint8_t fna = page[524];
	ret->format = bit(oacs, 1);
	ret->manages = bit(oacs, 3);
	ret->format_is_global = bit(fna, 0) || bit(fna, 1);
	ret->sanitize_crypto = bit(sanicap, 0);
	ret->sanitize_block = bit(sanicap, 1);
	ret->sanitize_overwrite = bit(sanicap, 2);
}

int phx_nvme_identify(const struct phx_device *dev, struct phx_nvme_identity *ret,
		      struct phx_err *err)
{
	struct phx_nvme_identity id = {0};
	int nsid = dev->ops->nvme_nsid(dev->ctx);
	if (nsid < 0)
		return phx_err_set(err, nsid, "no NVMe namespace: %s", strerror(-nsid));
	PHX_AUTO_FREE uint8_t *page = malloc(NVME_PAGE);
	if (!page)
		return phx_err_set(err, -ENOMEM, "out of memory");
	id.nsid = (uint32_t)nsid;
	int r = ask_nvme(dev, 0, CNS_CONTROLLER, page, err);
	if (r < 0)
		return r;
	decode_controller(page, &id);
	r = ask_nvme(dev, id.nsid, CNS_NAMESPACE, page, err);
	if (r < 0)
		return r;
	id.format_flags = format_flags(page);
	r = ask_nvme(dev, 0, CNS_NAMESPACE_LIST, page, err);
	if (r < 0)
		return r;
	id.n_namespaces = count_namespaces(page);
	/* only a controller that manages namespaces has some that are not attached */
	if (id.manages && ask_nvme(dev, 0, CNS_ALLOCATED_LIST, page, NULL) == 0)
		id.n_allocated = count_namespaces(page);
	*ret = id;
	return 0;
}
