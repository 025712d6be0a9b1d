/* What a drive keeps from those who read its size: see internal.h. Called by the list of disks and
 * by wipe.c. An ATA drive has a host protected area behind the size that it shows, and a
 * configuration overlay behind that; an NVMe controller has namespaces that are not attached. Who
 * had root can hide data there. Opens only the first: the others are changed for good by whoever
 * opens them, so that is left to people. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "disk/identify.h"
#include "disk/internal.h"

enum {
	READ_NATIVE_MAX_EXT = 0x27,
	SET_MAX_EXT = 0x37,
	ACCESSIBLE_MAX = 0x78, /* the later pair of the same */
	ACCESSIBLE_MAX_SET = 1,
	CONFIGURATION = 0xb1,
	CONFIGURATION_IDENTIFY = 0xc2,
	ASK_MS = 10000,
};

/* The highest address that the drive has, as a number of sectors; 0: it does not say. */
static uint64_t native_sectors(const struct phx_device *dev, const struct phx_ata_identity *id)
{
	struct phx_ata_command c = {.command = id->accessible_max ? ACCESSIBLE_MAX
								  : READ_NATIVE_MAX_EXT,
				    .ext = true,
				    .lba_mode = true,
				    .timeout_ms = ASK_MS};
	bool says = id->accessible_max || (id->protected_area && id->lba48);
	return says && dev->ops->ata(dev->ctx, &c) == 0 ? c.lba + 1 : 0;
}

/* Words 3 to 6 of DEVICE CONFIGURATION IDENTIFY: the highest address without overlay. */
static uint64_t real_sectors(const struct phx_device *dev)
{
	uint8_t data[512] = {0};
	struct phx_ata_command c = {.command = CONFIGURATION,
				    .feature = CONFIGURATION_IDENTIFY,
				    .count = 1,
				    .direction = PHX_ATA_READ,
				    .data = data,
				    .timeout_ms = ASK_MS};
	uint64_t last = 0;
	if (dev->ops->ata(dev->ctx, &c) < 0 || phx_ata_checksum_bad(data))
		return 0;
	for (int i = 7; i >= 0; i--)
		last = last << 8 | data[6 + i];
	return last ? last + 1 : 0;
}

static void read_ata(const struct phx_device *dev, struct phx_hidden *h)
{
	struct phx_ata_identity id;
	if (phx_ata_identify(dev, &id, NULL) < 0 || !id.sectors)
		return;
	uint64_t native = native_sectors(dev, &id), real = id.overlay ? real_sectors(dev) : 0;
	h->shown_bytes = id.sectors * id.sector_bytes;
	h->native_bytes = (native > id.sectors ? native : id.sectors) * id.sector_bytes;
	h->real_bytes =
		real * id.sector_bytes > h->native_bytes ? real * id.sector_bytes : h->native_bytes;
	h->overlay_unknown = id.overlay && !real;
}

static void read_nvme(const struct phx_device *dev, struct phx_hidden *h)
{
	struct phx_nvme_identity id;
	if (phx_nvme_identify(dev, &id, NULL) < 0)
		return;
	h->namespaces = id.n_namespaces;
	h->namespaces_off = id.n_allocated > id.n_namespaces ? id.n_allocated - id.n_namespaces : 0;
}

void phx_hidden_read(const struct phx_device *dev, const char *bus, struct phx_hidden *ret)
{
	*ret = (struct phx_hidden){0};
	if (phx_str_eq(bus, "ata"))
		read_ata(dev, ret);
	else if (phx_str_eq(bus, "nvme"))
		read_nvme(dev, ret);
}

uint64_t phx_hidden_bytes(const struct phx_hidden *h)
{
	return h->real_bytes - h->shown_bytes;
}

/* For this power cycle, where the drive can do it so; the later feature set knows no other way than
 * for good. The drive wants to be asked for the address just before. */
static void set_max(const struct phx_device *dev)
{
	struct phx_ata_identity id;
	if (phx_ata_identify(dev, &id, NULL) < 0)
		return;
	uint64_t native = native_sectors(dev, &id);
	struct phx_ata_command c = {.command = id.accessible_max ? ACCESSIBLE_MAX : SET_MAX_EXT,
				    .feature = id.accessible_max ? ACCESSIBLE_MAX_SET : 0,
				    .lba = native - 1,
				    .ext = true,
				    .lba_mode = true,
				    .timeout_ms = ASK_MS};
	if (native && dev->ops->ata(dev->ctx, &c) == 0)
		dev->ops->rescan(dev->ctx);
}

static int refuse(const struct phx_hidden *h, struct phx_err *err)
{
	if (h->namespaces_off)
		return phx_err_set(
			err, -EOPNOTSUPP,
			"the controller has %u namespaces that are not attached, and so not "
			"erased: attach or delete them (nvme attach-ns, nvme delete-ns)",
			h->namespaces_off);
	if (h->real_bytes > h->native_bytes)
		return phx_err_set(err, -EOPNOTSUPP,
				   "the drive hides %" PRIu64
				   " bytes by a device configuration overlay: restore it "
				   "(hdparm --dco-restore) and start the machine anew",
				   h->real_bytes - h->native_bytes);
	return phx_err_set(err, -EOPNOTSUPP,
			   "the drive hides %" PRIu64
			   " bytes in a host protected area and does not open it: remove it "
			   "(hdparm -N)",
			   h->native_bytes - h->shown_bytes);
}

int phx_hidden_open(const struct phx_device *dev, const char *bus, char ret_text[96],
		    struct phx_err *err)
{
	struct phx_hidden before, now;
	phx_hidden_read(dev, bus, &before);
	now = before;
	if (!before.namespaces_off && before.real_bytes == before.native_bytes &&
	    phx_hidden_bytes(&before)) {
		set_max(dev);
		phx_hidden_read(dev, bus, &now);
	}
	if (now.namespaces_off || phx_hidden_bytes(&now))
		return refuse(&now, err);
	ret_text[0] = '\0';
	if (phx_hidden_bytes(&before))
		snprintf(ret_text, 96, "host protected area of %" PRIu64 " bytes",
			 phx_hidden_bytes(&before));
	else if (now.overlay_unknown)
		snprintf(ret_text, 96, "the drive does not say whether it has an overlay");
	return 0;
}

void phx_disk_ask_abilities(const struct phx_device *dev, struct phx_disk_facts *d)
{
	struct phx_nvme_identity nvme;
	struct phx_ata_identity ata;
	struct phx_hidden hidden;
	phx_hidden_read(dev, d->bus, &hidden);
	d->hidden_bytes = phx_hidden_bytes(&hidden);
	d->namespaces = hidden.namespaces;
	d->namespaces_off = hidden.namespaces_off;
	if (phx_str_eq(d->bus, "nvme") && phx_nvme_identify(dev, &nvme, NULL) == 0) {
		bool alone = nvme.n_namespaces <= 1;
		d->can_nvme_format = nvme.format && (alone || !nvme.format_is_global);
		d->can_nvme_sanitize = alone &&
			(nvme.sanitize_block || nvme.sanitize_crypto || nvme.sanitize_overwrite);
	}
	if (phx_str_eq(d->bus, "ata") && phx_ata_identify(dev, &ata, NULL) == 0) {
		d->can_ata_sanitize =
			ata.sanitize_block || ata.sanitize_crypto || ata.sanitize_overwrite;
		d->can_ata_secure_erase = ata.security && !ata.frozen;
	}
}
