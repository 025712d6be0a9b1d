/* Tables and checks of node facts: see facts.h. Pure. */
#include "node/facts.h"

#include <errno.h>
#include <string.h>

static const char *const boot_modes[] = { "unknown", "bios", "uefi" };
const struct phx_enum phx_boot_mode_names = { "boot mode", boot_modes, PHX_ARRAY_SIZE(boot_modes) };

static const struct phx_field disk_fields[] = {
#define D struct phx_disk_facts
	PHX_STR(D, id),		PHX_STR(D, wwn),	    PHX_STR(D, serial),
	PHX_STR(D, model),	PHX_STR(D, bus),	    PHX_STR(D, dev),
	PHX_U64(D, size_bytes), PHX_BOOL(D, rotational),    PHX_BOOL(D, removable),
	PHX_BOOL(D, read_only), PHX_BOOL(D, can_discard),   PHX_BOOL(D, can_ata_secure_erase),
	PHX_BOOL(D, can_ata_sanitize), PHX_BOOL(D, can_nvme_format), PHX_BOOL(D, can_nvme_sanitize),
#undef D
};
const struct phx_record phx_disk_facts_record = PHX_RECORD("disk", struct phx_disk_facts, disk_fields);

static const struct phx_field nic_fields[] = {
#define N struct phx_nic_facts
	PHX_STR(N, mac), PHX_STR(N, dev), PHX_STR(N, driver), PHX_BOOL(N, link), PHX_U32(N, speed_mbps),
#undef N
};
const struct phx_record phx_nic_facts_record = PHX_RECORD("nic", struct phx_nic_facts, nic_fields);

static const struct phx_field facts_fields[] = {
#define F struct phx_facts
	PHX_STR(F, arch),     PHX_U32(F, cpus),	     PHX_U32(F, cores),	  PHX_U32(F, sockets),
	PHX_STR(F, cpu_model), PHX_U64(F, memory_bytes), PHX_STR(F, vendor), PHX_STR(F, product),
	PHX_STR(F, serial),   PHX_STR(F, uuid),	     PHX_STR(F, firmware), PHX_ENUM(F, boot_mode, &phx_boot_mode_names),
	PHX_STR(F, bmc_address), PHX_STR(F, os),     PHX_STR(F, kernel),
	PHX_LIST(F, disks, &phx_disk_facts_record), PHX_LIST(F, nics, &phx_nic_facts_record),
#undef F
};
const struct phx_record phx_facts_record = PHX_RECORD("facts", struct phx_facts, facts_fields);

static int check_nics(const struct phx_facts *f, struct phx_err *err)
{
	for (uint32_t i = 0; i < f->nics.n; i++) {
		const struct phx_nic_facts *nic = PHX_LIST_AT(&f->nics, struct phx_nic_facts, i);
		char mac[PHX_MAC_MAX];
		if (phx_mac_parse(nic->mac, mac) < 0 || strcmp(mac, nic->mac))
			return phx_err_set(err, -EINVAL, "nics[%u].mac: '%s' is no MAC address (aa:bb:cc:dd:ee:ff)", i,
					   nic->mac);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(PHX_LIST_AT(&f->nics, struct phx_nic_facts, k)->mac, mac))
				return phx_err_set(err, -EINVAL, "nics[%u].mac: %s is there twice", i, mac);
	}
	return 0;
}

static int check_disks(const struct phx_facts *f, struct phx_err *err)
{
	for (uint32_t i = 0; i < f->disks.n; i++) {
		const struct phx_disk_facts *d = PHX_LIST_AT(&f->disks, struct phx_disk_facts, i);
		if (!d->size_bytes)
			return phx_err_set(err, -EINVAL, "disks[%u]: has no size", i);
		if (d->id[0] && !phx_facts_disk(f, d->id))
			return phx_err_set(err, -EINVAL,
					   "disks[%u].id: two disks call themselves %s; a target must be unambiguous", i,
					   d->id);
	}
	return 0;
}

int phx_facts_check(const struct phx_facts *f, struct phx_err *err)
{
	if (f->disks.n > PHX_FACTS_DISKS_MAX || f->nics.n > PHX_FACTS_NICS_MAX)
		return phx_err_set(err, -EINVAL, "the report has more than %d disks or %d network interfaces",
				   PHX_FACTS_DISKS_MAX, PHX_FACTS_NICS_MAX);
	if (!f->nics.n)
		return phx_err_set(err, -EINVAL, "nics: the report names no network interface");
	int r = check_nics(f, err);
	return r < 0 ? r : check_disks(f, err);
}

const struct phx_disk_facts *phx_facts_disk(const struct phx_facts *f, const char *id)
{
	const struct phx_disk_facts *found = NULL;
	PHX_LIST_EACH(struct phx_disk_facts, d, &f->disks)
	{
		if (strcmp(d->id, id))
			continue;
		if (found)
			return NULL;
		found = d;
	}
	return found;
}
