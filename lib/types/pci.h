/* Devices on the PCI bus, by what their class says that they are (PCI Code and ID Assignment
 * Specification, class codes). Pure. */
#ifndef PHX_TYPES_PCI_H
#define PHX_TYPES_PCI_H

#include "types/facts.h"

/** What the device is, such as "network". NULL: it needs no driver that an administrator would look
 * for (bridges, parts of the board, USB). */
const char *phx_pci_kind(const struct phx_pci_facts *d);

/** Does it compute: a GPU, an accelerator? The display of a board, which its BMC shows, does
 * not. */
bool phx_pci_computes(const struct phx_pci_facts *d);

#endif
