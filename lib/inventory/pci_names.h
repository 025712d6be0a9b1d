/* Names of PCI devices in words, from the file pci.ids of the PCI ID Project, which distributions
 * have as a package (pci.ids, hwdata). Called by phx, where people read; facts carry numbers. */
#ifndef PHX_INVENTORY_PCI_NAMES_H
#define PHX_INVENTORY_PCI_NAMES_H

#include "base/util.h"

struct phx_pci_name {
	uint32_t vendor, device; /* 16 bits each; in */
	char vendor_name[64];    /* "" = the file does not know it */
	char device_name[96];    /* the same */
};

/** Fills in the names of `names` (struct phx_pci_name), which it sorts by vendor and device, and of
 * which no two are alike. Reads the file once, in one pass; longer names are cut. -errno: the file
 * cannot be read; all names are "" then. */
int phx_pci_names_read(const char *path, struct phx_list *names);

/** The one of vendor and device in a list that phx_pci_names_read() has sorted, borrowed; NULL: it
 * has none. */
const struct phx_pci_name *phx_pci_name_of(const struct phx_list *names, uint32_t vendor,
					   uint32_t device);

#endif
