/* What the files of this room share; nobody outside lib/inventory and its tests includes it. */
#ifndef PHX_INVENTORY_INTERNAL_H
#define PHX_INVENTORY_INTERNAL_H

#include "inventory/inventory.h"

/** cpus, cores, sockets, cpu_model: by hwloc, or ROOT/hwloc.xml, or /proc/cpuinfo. */
void phx_inventory_read_cpu(const char *root, struct phx_facts *f);

/** memory_bytes: what is installed (DMI), else what the kernel has. */
void phx_inventory_read_memory(const char *root, struct phx_facts *f);

/** vendor, product, serial, uuid, firmware, boot_mode. */
void phx_inventory_read_board(const char *root, struct phx_facts *f);

/** Installed memory in an SMBIOS table (structures of type 17); 0 when it names none or is
 * damaged. */
uint64_t phx_dmi_memory_bytes(const uint8_t *table, size_t n);

/** Hardware NICs, sorted by MAC, into f->nics. -ENOMEM. */
int phx_inventory_read_nics(const char *root, struct phx_facts *f, struct phx_err *err);

/** bmc_address, by `ipmitool lan print`; only on the running machine, and only where there is
 * /dev/ipmi0. */
void phx_inventory_read_bmc(const char *root, struct phx_facts *f);

/** The IPv4 address in the output of `ipmitool lan print`, "" when it has none. */
void phx_bmc_address_parse(const char *output, char ret[64]);

/** Value behind "KEY:" or "KEY=" at the start of a line, blanks and quotes
 * removed, into `ret` ("" when absent); -ENOENT when absent. */
int phx_line_value(const char *text, const char *key, char separator, char *ret, size_t size);

#endif
