/* PCI devices that need a driver, and which they have: see internal.h. Called by inventory.c. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "inventory/internal.h"
#include "types/pci.h"

struct listing {
	const char *root;
	struct phx_list *devices;
	struct phx_err *err;
};

/* An attribute such as "0x010802"; 0: it is not there. */
static uint32_t read_hex(const char *root, const char *address, const char *attribute)
{
	char text[32], *end;
	if (phx_sys_text(root, text, sizeof(text), "sys/bus/pci/devices/%s/%s", address,
			 attribute) < 0)
		return 0;
	unsigned long v = strtoul(text, &end, 16);
	return *end || v > UINT32_MAX ? 0 : (uint32_t)v;
}

static int add_device(void *arg, const char *address)
{
	struct listing *l = arg;
	char driver[PATH_MAX];
	struct phx_pci_facts d = {.class_code = read_hex(l->root, address, "class"),
				  .vendor = read_hex(l->root, address, "vendor"),
				  .device = read_hex(l->root, address, "device")};
	if (!phx_pci_kind(&d) || PHX_STR_SET(d.address, address) < 0 ||
	    l->devices->n == PHX_FACTS_PCI_MAX ||
	    phx_sys_has(l->root, "sys/bus/pci/devices/%s/physfn", address))
		return 0;
	if (phx_sys_target(l->root, driver, sizeof(driver), "sys/bus/pci/devices/%s/driver",
			   address) == 0)
		snprintf(d.driver, sizeof(d.driver), "%.*s", (int)sizeof(d.driver) - 1,
			 strrchr(driver, '/') + 1);
	struct phx_pci_facts *to = phx_list_push(l->devices, sizeof(d));
	if (!to)
		return phx_err_set(l->err, -ENOMEM, "out of memory");
	*to = d;
	return 0;
}

int phx_inventory_read_pci(const char *root, struct phx_facts *f, struct phx_err *err)
{
	struct listing l = {root, &f->pci, err};
	int r = phx_sys_each(root, "sys/bus/pci/devices", add_device, &l);
	return r == -ENOMEM ? r : 0; /* a machine without the bus has no such devices */
}
