/* Board and firmware, from DMI as the kernel shows it: see internal.h.
 * Called by inventory.c. What vendors leave as a placeholder counts as absent:
 * it would name many machines alike. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/sysfs.h"
#include "inventory/internal.h"

static bool is_placeholder(const char *s)
{
	static const char *const known[] = {"To Be Filled By O.E.M.",
					    "Default string",
					    "Not Specified",
					    "None",
					    "System Serial Number",
					    "Not Available",
					    "0123456789",
					    "Unknown",
					    "N/A"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(known); i++)
		if (!strcasecmp(s, known[i]))
			return true;
	return s[0] && strspn(s, "0") == strlen(s);
}

static void read_dmi(const char *root, const char *name, char *ret, size_t size)
{
	phx_sys_text(root, ret, size, "sys/class/dmi/id/%s", name);
	if (is_placeholder(ret))
		ret[0] = '\0';
}

/* All zero or all one: nobody set it. */
static void read_uuid(const char *root, struct phx_facts *f)
{
	phx_sys_text(root, f->uuid, sizeof(f->uuid), "sys/class/dmi/id/product_uuid");
	for (char *p = f->uuid; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	size_t n = strlen(f->uuid);
	if (n != 36 || strspn(f->uuid, "0-") == n || strspn(f->uuid, "f-") == n)
		f->uuid[0] = '\0';
}

static int boot_mode(const char *root, const char *arch)
{
	if (phx_sys_has(root, "sys/firmware/efi"))
		return PHX_BOOT_UEFI;
	return phx_str_eq(arch, "x86_64") || phx_str_eq(arch, "i686") ? PHX_BOOT_BIOS
								      : PHX_BOOT_UNKNOWN;
}

void phx_inventory_read_board(const char *root, struct phx_facts *f)
{
	char vendor[48], version[48];
	read_dmi(root, "sys_vendor", f->vendor, sizeof(f->vendor));
	read_dmi(root, "product_name", f->product, sizeof(f->product));
	read_dmi(root, "product_serial", f->serial, sizeof(f->serial));
	read_dmi(root, "bios_vendor", vendor, sizeof(vendor));
	read_dmi(root, "bios_version", version, sizeof(version));
	snprintf(f->firmware, sizeof(f->firmware), "%s%s%s", vendor,
		 vendor[0] && version[0] ? " " : "", version);
	read_uuid(root, f);
	f->boot_mode = boot_mode(root, f->arch);
}
