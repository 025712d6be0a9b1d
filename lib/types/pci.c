/* Tables of PCI classes: see pci.h. */
#include "types/pci.h"

/* The first row whose class begins so, and whose vendor it is, counts. */
static const struct kind {
	uint32_t class_code, mask;
	uint32_t vendor; /* 0: any */
	const char *name;
	bool computes;
} kinds[] = {
	{0x010000, 0xff0000, 0, "storage", false},
	{0x020700, 0xffff00, 0, "InfiniBand", false},
	{0x020000, 0xff0000, 0, "network", false},
	/* 3D controllers, to which no monitor is ever attached; of VGA controllers those of vendors
	 * of GPUs: any other is taken to be the board's */
	{0x030200, 0xffff00, 0, "GPU", true},
	{0x038000, 0xffff00, 0, "GPU", true},
	{0x030000, 0xff0000, 0x10de, "GPU", true},
	{0x030000, 0xff0000, 0x1002, "GPU", true},
	{0x030000, 0xff0000, 0, "display", false},
	{0x040000, 0xff0000, 0, "multimedia", false},
	{0x0b4000, 0xffff00, 0, "co-processor", true},
	{0x0c0400, 0xffff00, 0, "Fibre Channel", false},
	{0x0c0600, 0xffff00, 0, "InfiniBand", false},
	{0x0c0700, 0xffff00, 0, "IPMI", false},
	{0x0d0000, 0xff0000, 0, "wireless", false},
	{0x100000, 0xff0000, 0, "encryption", false},
	{0x110000, 0xff0000, 0, "signals", false},
	{0x120000, 0xff0000, 0, "accelerator", true},
};

static const struct kind *find(const struct phx_pci_facts *d)
{
	for (const struct kind *k = kinds; k < kinds + PHX_ARRAY_SIZE(kinds); k++)
		if ((d->class_code & k->mask) == k->class_code &&
		    (!k->vendor || k->vendor == d->vendor))
			return k;
	return NULL;
}

const char *phx_pci_kind(const struct phx_pci_facts *d)
{
	const struct kind *k = find(d);
	return k ? k->name : NULL;
}

bool phx_pci_computes(const struct phx_pci_facts *d)
{
	const struct kind *k = find(d);
	return k && k->computes;
}
