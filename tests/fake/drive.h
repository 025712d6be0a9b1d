/* A fake drive for unit tests: a regular file with ATA and NVMe commands
 * before it, which can lie, hang, freeze and refuse as real ones do. */
#ifndef TESTS_FAKE_DRIVE_H
#define TESTS_FAKE_DRIVE_H

#include "unit/disk/help.h"

struct fake_drive {
	const char *file;
	uint64_t size;
	bool nvme;
	/* what it says it can */
	bool security, enhanced, frozen, san_block, san_crypto, san_overwrite;
	bool format, format_global;
	uint32_t n_namespaces, n_allocated;
	uint64_t native, real; /* bytes; 0: it hides nothing */
	bool accessible_max;   /* by the later feature set */
	const char *hides;     /* what is there when the area is opened */
	/* how it behaves */
	bool keeps_hidden;     /* does not open its protected area */
	bool mute_overlay;     /* does not say whether it has an overlay */
	bool lies;             /* reports success, keeps the data */
	bool lies_in_part;     /* erases the first half only */
	uint32_t spares_bytes; /* of each MiB, at its end, keeps so many */
	bool aborts;           /* the erase command itself fails */
	bool refuses_sanitize; /* claimed in IDENTIFY, rejected when ordered */
	bool sanitize_fails;   /* begins, then fails */
	bool sanitize_stops;   /* begins, then runs no more, and was never done */
	bool hangs;            /* never ends */
	bool ignores_password;
	bool scrambles; /* leaves noise, as a changed key does */
	uint8_t pattern;
	/* its state */
	bool enabled, locked, foreign_password;
	bool prepared;
	bool asked_native; /* by the command before */
	uint32_t polls_left;
	uint32_t polls;
	uint64_t waited_ms;
	bool sanitizing, sanitized;
	uint32_t n_erases;
	uint8_t last_opcode;
	uint16_t last_feature;
	uint32_t last_cdw10;
};

static inline void fake_drive_fill(struct fake_drive *d)
{
	size_t chunk = 1 << 20;
	uint8_t *data = malloc(chunk);
	uint64_t size = d->lies_in_part ? d->size / 2 : d->size;
	uint32_t x = 99;
	d->n_erases++;
	for (uint64_t at = 0; at < size && !d->lies; at += chunk) {
		for (size_t i = 0; i < chunk; i++) {
			x = x * 1664525 + 1013904223;
			data[i] = d->scrambles ? (uint8_t)(x >> 24) : d->pattern;
		}
		put(d->file, at, data, chunk - d->spares_bytes);
	}
	free(data);
}

static inline void fake_set16(uint8_t *page, int word, uint16_t value)
{
	page[2 * word] = (uint8_t)value;
	page[2 * word + 1] = (uint8_t)(value >> 8);
}

static inline void fake_ata_identify(const struct fake_drive *d, uint8_t *page)
{
	memset(page, 0, 512);
	fake_set16(page, 0, 0x0040);
	bool sanitize = d->san_block || d->san_crypto || d->san_overwrite;
	fake_set16(page, 59,
		   (uint16_t)(sanitize << 12 | d->san_crypto << 13 | d->san_overwrite << 14 |
			      d->san_block << 15));
	fake_set16(page, 89, 3);
	fake_set16(page, 90, 0x8000 | 5);
	fake_set16(page, 128,
		   (uint16_t)(d->security | d->enabled << 1 | d->locked << 2 | d->frozen << 3 |
			      d->enhanced << 5));
	uint64_t sectors = d->size / 512;
	for (int i = 0; i < 4; i++)
		fake_set16(page, 100 + i, (uint16_t)(sectors >> 16 * i));
	/* 48 bit addresses; a protected area; an overlay */
	fake_set16(page, 82,
		   (uint16_t)(d->security << 1 | (d->native && !d->accessible_max) << 10));
	fake_set16(page, 83, (uint16_t)(1 << 14 | 1 << 10 | (d->real || d->mute_overlay) << 11));
	fake_set16(page, 119, (uint16_t)(1 << 14 | d->accessible_max << 8));
	uint8_t sum = 0;
	page[510] = 0xa5;
	for (int i = 0; i < 511; i++)
		sum = (uint8_t)(sum + page[i]);
	page[511] = (uint8_t)-sum;
}

static inline int fake_sanitize(struct fake_drive *d, struct phx_ata_command *c)
{
	if (c->feature == 0) {
		d->polls++;
		if (d->sanitizing && (d->hangs || d->polls_left-- > 0)) {
			c->count = 1 << 14;
			c->lba = 0x4000;
			return 0;
		}
		d->sanitizing = false;
		c->count = d->sanitized ? 1 << 15 : 0;
		return d->sanitize_fails ? -EIO : 0;
	}
	static const uint64_t keys[] = {
		[0x11] = 0x43727970, [0x12] = 0x426b4572, [0x14] = 0x4f5700000000};
	d->last_feature = c->feature;
	if (d->refuses_sanitize || !c->ext || keys[c->feature] != c->lba)
		return -EIO;
	fake_drive_fill(d);
	d->sanitizing = true;
	d->sanitized = !d->sanitize_stops;
	return 0;
}

static inline int fake_security(struct fake_drive *d, struct phx_ata_command *c)
{
	static const char ours[32] = "phoenix-erase";
	bool right = c->data && !memcmp((uint8_t *)c->data + 2, ours, sizeof(ours)) &&
		!d->foreign_password;
	if (d->frozen)
		return -EIO;
	switch (c->command) {
	case 0xf1:
		d->enabled = !d->ignores_password;
		d->foreign_password = false;
		return d->locked ? -EIO : 0;
	case 0xf2:
		d->locked = !right;
		return right ? 0 : -EIO;
	case 0xf3:
		d->prepared = true;
		return 0;
	case 0xf4:
		if (d->aborts || !d->prepared || !right)
			return -EIO;
		d->last_feature = ((uint8_t *)c->data)[0];
		fake_drive_fill(d);
		d->enabled = d->prepared = false;
		return 0;
	default:
		d->enabled = d->enabled && !right;
		return right ? 0 : -EIO;
	}
}

/* The commands about what is hidden; 1: it is another one. */
static inline int fake_hidden(struct fake_drive *d, struct phx_ata_command *c)
{
	uint8_t native = d->accessible_max ? 0x78 : 0x27, set = d->accessible_max ? 0x78 : 0x37;
	bool sets = c->command == set && c->feature == d->accessible_max && c->lba;
	if (c->command == 0xb1) {
		uint8_t *page = c->data, sum = 0;
		if (c->feature != 0xc2 || d->mute_overlay || !d->real)
			return -EIO;
		memset(page, 0, 512);
		for (int i = 0; i < 8; i++)
			page[6 + i] = (uint8_t)((d->real / 512 - 1) >> 8 * i);
		page[510] = 0xa5;
		for (int i = 0; i < 511; i++)
			sum = (uint8_t)(sum + page[i]);
		page[511] = (uint8_t)-sum;
		return 0;
	}
	if (!sets && c->command != native)
		return 1;
	if (!d->native || !c->ext || !c->lba_mode || (sets && !d->asked_native))
		return -EIO;
	d->asked_native = !sets;
	if (!sets)
		c->lba = d->native / 512 - 1;
	else if (!d->keeps_hidden)
		d->size = (c->lba + 1) * 512;
	return 0;
}

static inline int fake_ata(void *dev, struct phx_ata_command *c)
{
	struct fake_drive *d = dev;
	if (d->nvme)
		return -EOPNOTSUPP;
	d->last_opcode = c->command;
	if (c->command == 0xec) {
		fake_ata_identify(d, c->data);
		return 0;
	}
	int r = fake_hidden(d, c);
	if (r <= 0)
		return r;
	return c->command == 0xb4 ? fake_sanitize(d, c) : fake_security(d, c);
}

static inline void fake_nvme_identify(const struct fake_drive *d, uint32_t cns, uint8_t *page)
{
	memset(page, 0, 4096);
	if (cns == 0) {
		page[26] = 0x13; /* LBA format 3, metadata at the end of the data */
		page[29] = 0x09; /* protection type 1, first eight bytes */
	} else if (cns == 1) {
		page[256] = (uint8_t)(d->format << 1 | (d->n_allocated > 0) << 3);
		page[524] = (uint8_t)(d->format_global << 1);
		page[328] = (uint8_t)(d->san_crypto | d->san_block << 1 | d->san_overwrite << 2);
	} else {
		uint32_t n = cns == 0x10 ? d->n_allocated : d->n_namespaces;
		for (uint32_t i = 0; i < n; i++)
			page[4 * i] = (uint8_t)(i + 1);
	}
}

static inline int fake_nvme_log(struct fake_drive *d, uint8_t *page)
{
	d->polls++;
	bool running = d->sanitizing && (d->hangs || d->polls_left-- > 0);
	page[0] = 0;
	page[1] = running ? 0x80 : 0xff;
	page[2] = running ? 2 : d->sanitize_fails ? 3 : d->sanitized ? 1 : 0;
	return 0;
}

static inline int fake_nvme(void *dev, struct phx_nvme_command *c)
{
	struct fake_drive *d = dev;
	d->last_opcode = c->opcode;
	switch (c->opcode) {
	case 0x06:
		fake_nvme_identify(d, c->cdw10, c->data);
		return 0;
	case 0x02:
		return (c->cdw10 & 0xff) == 0x81 && c->n_data == 512 ? fake_nvme_log(d, c->data)
								     : 2;
	case 0x84:
		d->last_cdw10 = c->cdw10;
		if (d->refuses_sanitize)
			return 0x4001; /* invalid opcode, do not retry */
		fake_drive_fill(d);
		d->sanitizing = true;
		d->sanitized = !d->sanitize_stops;
		return 0;
	case 0x80:
		d->last_cdw10 = c->cdw10;
		if (d->aborts)
			return 0x10a; /* invalid format */
		fake_drive_fill(d);
		return 0;
	default:
		return 1;
	}
}

static inline int fake_nsid(void *dev)
{
	return ((struct fake_drive *)dev)->nvme ? 1 : -ENOTTY;
}

/* The kernel sees the size that the drive says to have. */
static inline void fake_rescan(void *dev)
{
	struct fake_drive *d = dev;
	struct stat st;
	int fd = open(d->file, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, (off_t)d->size), 0);
	close(fd);
	if (d->hides)
		put(d->file, (uint64_t)st.st_size + 70000, d->hides, strlen(d->hides));
}

static inline void fake_wait(void *dev, uint32_t ms)
{
	((struct fake_drive *)dev)->waited_ms += ms;
}

static const struct phx_device_ops fake_drive_ops = {fake_ata, fake_nvme, fake_nsid, fake_rescan,
						     fake_wait};

#endif
