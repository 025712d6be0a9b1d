/* Tables and checks of node facts: see facts.h. Pure. */
#include "types/facts.h"

#include <errno.h>
#include <string.h>

static const char *const boot_modes[] = {"unknown", "bios", "uefi"};
const struct phx_enum phx_boot_mode_names = {"boot mode", boot_modes, PHX_ARRAY_SIZE(boot_modes)};

PHX_RECORD_TABLE(phx_disk_facts, PHX_DISK_FACTS_FIELDS);
PHX_RECORD_TABLE(phx_known_disk, PHX_KNOWN_DISK_FIELDS);
PHX_RECORD_TABLE(phx_left_disk, PHX_LEFT_DISK_FIELDS);
PHX_RECORD_TABLE(phx_nic_facts, PHX_NIC_FACTS_FIELDS);
PHX_RECORD_TABLE(phx_pci_facts, PHX_PCI_FACTS_FIELDS);
PHX_RECORD_TABLE(phx_memory_module, PHX_MEMORY_MODULE_FIELDS);
PHX_RECORD_TABLE(phx_facts, PHX_FACTS_FIELDS);

int phx_facts_bounds(const struct phx_facts *f, struct phx_err *err)
{
	const struct {
		uint32_t n, max;
		const char *what;
	} lists[] = {
		{f->disks.n, PHX_FACTS_DISKS_MAX, "disks"},
		{f->nics.n, PHX_FACTS_NICS_MAX, "network interfaces"},
		{f->pci.n, PHX_FACTS_PCI_MAX, "PCI devices"},
		{f->modules.n, PHX_FACTS_MODULES_MAX, "memory modules"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lists); i++)
		if (lists[i].n > lists[i].max)
			return phx_err_set(err, -EINVAL, "the facts have more than %u %s",
					   lists[i].max, lists[i].what);
	return 0;
}

static int check_nics(const struct phx_facts *f, struct phx_err *err)
{
	for (uint32_t i = 0; i < f->nics.n; i++) {
		const struct phx_nic_facts *nic = PHX_LIST_AT(&f->nics, struct phx_nic_facts, i);
		char mac[PHX_MAC_MAX];
		if (phx_mac_parse(nic->mac, mac) < 0 || strcmp(mac, nic->mac))
			return phx_err_set(
				err, -EINVAL,
				"nics[%u].mac: '%s' is no MAC address (aa:bb:cc:dd:ee:ff)", i,
				nic->mac);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(PHX_LIST_AT(&f->nics, struct phx_nic_facts, k)->mac, mac))
				return phx_err_set(err, -EINVAL, "nics[%u].mac: %s is there twice",
						   i, mac);
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
					   "disks[%u].id: two disks call themselves %s; a target "
					   "must be unambiguous",
					   i, d->id);
	}
	return 0;
}

int phx_facts_check(const struct phx_facts *f, struct phx_err *err)
{
	int r = phx_facts_bounds(f, err);
	if (r == 0 && !f->nics.n)
		return phx_err_set(err, -EINVAL, "nics: the report names no network interface");
	r = r ? r : check_nics(f, err);
	return r < 0 ? r : check_disks(f, err);
}

const struct phx_disk_facts *phx_disk_by_id(const struct phx_list *disks, const char *id)
{
	const struct phx_disk_facts *found = NULL;
	PHX_LIST_EACH(struct phx_disk_facts, d, disks) {
		if (strcmp(d->id, id))
			continue;
		if (found)
			return NULL;
		found = d;
	}
	return found;
}

const struct phx_disk_facts *phx_facts_disk(const struct phx_facts *f, const char *id)
{
	return phx_disk_by_id(&f->disks, id);
}
