/* What the files of this room share; nobody outside lib/inventory and its tests includes it. */
#ifndef PHX_INVENTORY_INTERNAL_H
#define PHX_INVENTORY_INTERNAL_H

#include "inventory/inventory.h"

/** cpus, cores, sockets, cpu_model: by hwloc, or ROOT/hwloc.xml, or /proc/cpuinfo. */
void phx_inventory_read_cpu(const char *root, struct phx_facts *f);

/** memory_bytes: what is installed (DMI), else what the kernel has; memory_slots, modules. */
void phx_inventory_read_memory(const char *root, struct phx_facts *f);

/** Devices that need a driver into f->pci, by address. -ENOMEM. */
int phx_inventory_read_pci(const char *root, struct phx_facts *f, struct phx_err *err);

/** vendor, product, serial, uuid, firmware, boot_mode. */
void phx_inventory_read_board(const char *root, struct phx_facts *f);

/** The memory modules of an SMBIOS table (structures of type 17), appended to *ret (struct
 * phx_memory_module; caller: phx_list_fini()), and the slots for them. Empty and 0 when it names
 * none or is damaged. -ENOMEM. */
int phx_dmi_memory(const uint8_t *table, size_t n, struct phx_list *ret, uint32_t *ret_slots);

/** Hardware NICs, sorted by MAC, into f->nics. -ENOMEM. */
int phx_inventory_read_nics(const char *root, struct phx_facts *f, struct phx_err *err);

/** bmc_address; only on the running machine, and only where there is /dev/ipmi0. */
void phx_inventory_read_bmc(const char *root, struct phx_facts *f);

enum { PHX_BMC_ANSWER_MAX = 272 };
/** How the BMC is asked: puts the bytes of its answer, of which the first is the completion code,
 * into `ret` and returns how many there are, or -errno. */
struct phx_bmc_line {
	int (*ask)(void *arg, uint8_t netfn, uint8_t command, const uint8_t *data, size_t n,
		   uint8_t ret[PHX_BMC_ANSWER_MAX]);
	void *arg;
};
/** The IPv4 address of the BMC's first channel that is a LAN and has one; "" when there is none, or
 * the BMC does not answer. */
void phx_bmc_find_address(const struct phx_bmc_line *line, char ret[64]);

/** Value behind "KEY:" or "KEY=" at the start of a line, blanks and quotes
 * removed, into `ret` ("" when absent); -ENOENT when absent. */
int phx_line_value(const char *text, const char *key, char separator, char *ret, size_t size);

#endif
