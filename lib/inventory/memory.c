/* Memory: what the firmware says is in which slot (SMBIOS, structures of type 17), and what the
 * kernel has: see internal.h. Called by inventory.c. */
#include <errno.h>
#include <string.h>

#include "base/sysfs.h"
#include "inventory/internal.h"

enum { DMI_MAX = 256 * 1024, TYPE_MEMORY_DEVICE = 17, TYPE_END = 127, MEMINFO_MAX = 8192 };

/* One structure of the table: its formatted part, and the strings that follow. */
struct structure {
	const uint8_t *at;
	uint8_t length;
	const char *strings, *end;
};

static uint64_t number(const struct structure *s, uint8_t at, uint8_t n_bytes)
{
	uint64_t v = 0;
	if (at + n_bytes > s->length)
		return 0;
	while (n_bytes--)
		v = v << 8 | s->at[at + n_bytes];
	return v;
}

/* MiB or KiB at 0x0c, above 32 GiB in MiB at 0x1c. */
static uint64_t size_of(const struct structure *s)
{
	uint64_t size = number(s, 0x0c, 2);
	if (size == 0 || size == 0xffff)
		return 0;
	if (size == 0x7fff)
		return (number(s, 0x1c, 4) & 0x7fffffff) << 20;
	return size & 0x8000 ? (size & 0x7fff) << 10 : size << 20;
}

/* The configured speed, else the highest. */
static uint32_t speed_of(const struct structure *s)
{
	uint64_t now = number(s, 0x20, 2), most = number(s, 0x15, 2);
	uint64_t speed = now ? now : most;
	return speed == 0xffff ? 0 : (uint32_t)speed;
}

/* The string whose number stands at this place. */
static void text_of(const struct structure *s, uint8_t at, char *ret, size_t size)
{
	uint64_t which = number(s, at, 1);
	const char *p = s->strings;
	ret[0] = '\0';
	while (which > 1 && p < s->end) {
		p += strnlen(p, (size_t)(s->end - p)) + 1;
		which--;
	}
	if (!which || p >= s->end)
		return;
	size_t n = strnlen(p, (size_t)(s->end - p));
	n = n < size ? n : size - 1;
	memcpy(ret, p, n);
	ret[n] = '\0';
	phx_sys_clean(ret);
}

static int add_module(const struct structure *s, struct phx_list *ret)
{
	struct phx_memory_module m = {.size_bytes = size_of(s), .speed_mts = speed_of(s)};
	if (!m.size_bytes || ret->n == PHX_FACTS_MODULES_MAX)
		return 0;
	text_of(s, 0x10, m.slot, sizeof(m.slot));
	text_of(s, 0x18, m.serial, sizeof(m.serial));
	text_of(s, 0x1a, m.part, sizeof(m.part));
	struct phx_memory_module *to = phx_list_push(ret, sizeof(m));
	if (!to)
		return -ENOMEM;
	*to = m;
	return 0;
}

/* Where the structure's strings end: two NULs. */
static size_t after_strings(const uint8_t *table, size_t at, size_t n)
{
	while (at + 1 < n && (table[at] || table[at + 1]))
		at++;
	return at + 2;
}

int phx_dmi_memory(const uint8_t *table, size_t n, struct phx_list *ret, uint32_t *ret_slots)
{
	int r = 0;
	*ret_slots = 0;
	for (size_t at = 0; r == 0 && at + 4 <= n && table[at] != TYPE_END;) {
		size_t end = at + table[at + 1];
		if (table[at + 1] < 4 || end > n) {
			phx_list_fini(ret);
			*ret_slots = 0;
			return 0;
		}
		size_t next = after_strings(table, end, n);
		const struct structure s = {table + at, table[at + 1], (const char *)table + end,
					    (const char *)table + (next < n ? next : n)};
		if (table[at] == TYPE_MEMORY_DEVICE) {
			++*ret_slots;
			r = add_module(&s, ret);
		}
		at = next;
	}
	return r;
}

static uint64_t sum_of(const struct phx_list *modules)
{
	uint64_t sum = 0;
	PHX_LIST_EACH(const struct phx_memory_module, m, modules)
		sum += m->size_bytes;
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
	if (n > 0)
		phx_dmi_memory(table, (size_t)n, &f->modules, &f->memory_slots);
	uint64_t installed = sum_of(&f->modules);
	f->memory_bytes = installed;
	if (installed >= kib << 10)
		return;
	/* a table that names less than the kernel has is wrong */
	f->memory_bytes = kib << 10;
	f->memory_slots = 0;
	phx_list_fini(&f->modules);
}
