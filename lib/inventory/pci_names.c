/* Reads pci.ids: see pci_names.h. Of its lines two kinds count here, hexadecimal digits in lower
 * case:
 *
 *   8086  Intel Corporation      a vendor
 *   TAB 1593  Ethernet ...       a device of the vendor above
 *
 * Lines with two tabs are of boards, "C 02 ..." of classes, "#" begins a comment. */
#include "inventory/pci_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static int compare(const void *a, const void *b)
{
	const struct phx_pci_name *x = a, *y = b;
	if (x->vendor != y->vendor)
		return x->vendor < y->vendor ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

const struct phx_pci_name *phx_pci_name_of(const struct phx_list *names, uint32_t vendor,
					   uint32_t device)
{
	const struct phx_pci_name key = {.vendor = vendor, .device = device};
	return names->n ? bsearch(&key, names->items, names->n, sizeof(key), compare) : NULL;
}

/* "1593  Ethernet ...": its number and its name, without the end of the line. */
static bool read_row(char *line, uint32_t *ret_id, const char **ret_name)
{
	unsigned id;
	int end = 0;
	if (strspn(line, "0123456789abcdef") != 4 || sscanf(line, "%4x %n", &id, &end) != 1 || !end)
		return false;
	line[strcspn(line, "\r\n")] = '\0';
	*ret_id = id;
	*ret_name = line + end;
	return **ret_name != '\0';
}

static void copy(char *ret, size_t size, const char *name)
{
	snprintf(ret, size, "%s", name);
	phx_utf8_repair(ret);
}

/* The vendor of the rows below: the first of the list that is his, and how many are. */
struct block {
	uint32_t vendor;
	struct phx_pci_name *first;
	uint32_t n;
};

static struct block begin_vendor(struct phx_list *names, uint32_t vendor, const char *name)
{
	struct block b = {.vendor = vendor};
	PHX_LIST_EACH(struct phx_pci_name, one, names) {
		if (one->vendor != vendor)
			continue;
		b.first = b.first ? b.first : one;
		b.n++;
		copy(one->vendor_name, sizeof(one->vendor_name), name);
	}
	return b;
}

static void take_device(const struct block *b, uint32_t device, const char *name)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->first[i].device == device)
			copy(b->first[i].device_name, sizeof(b->first[i].device_name), name);
}

static void take_line(struct phx_list *names, struct block *b, char *line)
{
	uint32_t id;
	const char *name;
	bool indented = line[0] == '\t';
	if (!read_row(line + indented, &id, &name)) {
		/* whatever ends the list of vendors, such as that of classes, ends the block */
		if (line[0] != '\t' && line[0] != '#' && line[0] != '\n')
			*b = (struct block){0};
		return;
	}
	if (indented)
		take_device(b, id, name);
	else
		*b = begin_vendor(names, id, name);
}

int phx_pci_names_read(const char *path, struct phx_list *names)
{
	struct block b = {0};
	PHX_AUTO_FREE char *line = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "re");
	if (names->n)
		qsort(names->items, names->n, sizeof(struct phx_pci_name), compare);
	if (!f)
		return -errno;
	while (getline(&line, &size, f) >= 0)
		take_line(names, &b, line);
	int r = ferror(f) ? -EIO : 0;
	fclose(f);
	return r;
}
