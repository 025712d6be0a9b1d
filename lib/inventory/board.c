/* Board, firmware and memory, from DMI as the kernel shows it: see internal.h.
 * Called by inventory.c. What vendors leave as a placeholder counts as absent:
 * it would name many machines alike. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/sysfs.h"
#include "inventory/internal.h"

enum { DMI_MAX = 256 * 1024, TYPE_MEMORY_DEVICE = 17, TYPE_END = 127, MEMINFO_MAX = 8192 };

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

/* ---- memory ---- */

static uint64_t number(const uint8_t *p, int n_bytes)
{
	uint64_t v = 0;
	while (n_bytes--)
		v = v << 8 | p[n_bytes];
	return v;
}

/* Size of one memory device: MiB or KiB at 0x0c, above 32 GiB in MiB at 0x1c. */
static uint64_t device_bytes(const uint8_t *s, size_t length)
{
	uint64_t size = length >= 0x0e ? number(s + 0x0c, 2) : 0;
	if (size == 0 || size == 0xffff)
		return 0;
	if (size == 0x7fff)
		return length >= 0x20 ? (number(s + 0x1c, 4) & 0x7fffffff) << 20 : 0;
	return size & 0x8000 ? (size & 0x7fff) << 10 : size << 20;
}

/* Where the structure's strings end: two NULs. */
static size_t after_strings(const uint8_t *table, size_t at, size_t n)
{
	while (at + 1 < n && (table[at] || table[at + 1]))
		at++;
	return at + 2;
}

uint64_t phx_dmi_memory_bytes(const uint8_t *table, size_t n)
{
	uint64_t sum = 0;
	for (size_t at = 0; at + 4 <= n;) {
		uint8_t type = table[at], length = table[at + 1];
		if (length < 4 || at + length > n)
			return 0;
		if (type == TYPE_END)
			break;
		if (type == TYPE_MEMORY_DEVICE)
			sum += device_bytes(table + at, length);
		at = after_strings(table, at + length, n);
	}
	return sum;
}

void phx_inventory_read_memory(const char *root, struct phx_facts *f)
{
	PHX_AUTO_FREE uint8_t *table = malloc(DMI_MAX);
	char text[MEMINFO_MAX], value[32];
	uint64_t kib = 0;
	ssize_t n = table ? phx_sys_bytes(root, table, DMI_MAX, "sys/firmware/dmi/tables/DMI") : 0;
	if (phx_sys_text(root, text, sizeof(text), "proc/meminfo") == 0 &&
	    phx_line_value(text, "MemTotal", ':', value, sizeof(value)) == 0) {
		value[strcspn(value, " ")] = '\0';
		phx_u64_parse(value, 0, UINT64_MAX >> 10, &kib);
	}
	uint64_t installed = n > 0 ? phx_dmi_memory_bytes(table, (size_t)n) : 0;
	/* a table that names less than the kernel has is wrong */
	f->memory_bytes = installed >= kib << 10 ? installed : kib << 10;
}
