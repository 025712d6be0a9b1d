/* See beacon.h: a table of words, the first of a line says which. Pure. */
#include "types/beacon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define MAGIC "phoenix-beacon 1"

enum { WORDS_MAX = 4 };

const struct phx_enum phx_beacon_from_names = {"sender", (const char *const[]){"init", "agent"}, 2};
const struct phx_enum phx_beacon_stage_names = {
	"stage", (const char *const[]){"modules", "network", "agent", "head"}, 4};

PHX_RECORD_TABLE(phx_beacon_nic, PHX_BEACON_NIC_FIELDS);
PHX_RECORD_TABLE(phx_beacon_pci, PHX_BEACON_PCI_FIELDS);
PHX_RECORD_TABLE(phx_beacon_disk, PHX_BEACON_DISK_FIELDS);
PHX_RECORD_TABLE(phx_beacon, PHX_BEACON_FIELDS);

/* ---- lines ---- */

/* The words behind the first one; the last has the rest of the line. */
struct line {
	char *words[WORDS_MAX];
	unsigned n;
};

/* Cuts `rest` into at most `max` words. */
static struct line words_of(char *rest, unsigned max)
{
	struct line l = {.n = 0};
	while (l.n < max) {
		rest += strspn(rest, " \t");
		if (!*rest)
			break;
		l.words[l.n++] = rest;
		if (l.n == max)
			break;
		rest += strcspn(rest, " \t");
		if (*rest)
			*rest++ = '\0';
	}
	return l;
}

static int number(const char *word, uint64_t *ret)
{
	return phx_u64_parse(word, 0, INT64_MAX, ret);
}

/* A text that is too long is cut, within no character. */
static void cut(char *dst, size_t size, const char *text)
{
	snprintf(dst, size, "%s", text);
	phx_utf8_repair(dst);
}

/* Room for one more row; NULL: there are enough, and it is counted. *ret: -ENOMEM or 0. */
static void *add_row(struct phx_beacon *b, struct phx_list *l, size_t size, int *ret)
{
	void *row = l->n < PHX_BEACON_ROWS ? phx_list_push(l, size) : NULL;
	*ret = row || l->n >= PHX_BEACON_ROWS ? 0 : -ENOMEM;
	b->more += !row;
	return row;
}

static int read_from(struct phx_beacon *b, const struct line *l)
{
	return phx_enum_parse(&phx_beacon_from_names, l->words[0], &b->from, NULL);
}

static int read_stage(struct phx_beacon *b, const struct line *l)
{
	return phx_enum_parse(&phx_beacon_stage_names, l->words[0], &b->stage, NULL);
}

static int read_up(struct phx_beacon *b, const struct line *l)
{
	return number(l->words[0], &b->up_s);
}

static int read_clock(struct phx_beacon *b, const struct line *l)
{
	return number(l->words[0], &b->clock_s);
}

static int read_memory(struct phx_beacon *b, const struct line *l)
{
	return number(l->words[0], &b->memory_mib);
}

static int read_kernel(struct phx_beacon *b, const struct line *l)
{
	cut(b->kernel, sizeof(b->kernel), l->words[0]);
	return 0;
}

static int read_image(struct phx_beacon *b, const struct line *l)
{
	cut(b->image, sizeof(b->image), l->words[0]);
	return 0;
}

static int read_address(struct phx_beacon *b, const struct line *l)
{
	size_t n = strspn(l->words[0], "0123456789./");
	return n && !l->words[0][n] ? PHX_STR_SET(b->address, l->words[0]) : -EINVAL;
}

static int read_lost(struct phx_beacon *b, const struct line *l)
{
	uint64_t lost, tried;
	if (l->n != 2 || phx_u64_parse(l->words[1], 1, 1000, &tried) < 0 ||
	    phx_u64_parse(l->words[0], 0, tried, &lost) < 0)
		return -EINVAL;
	b->lost = (uint32_t)lost;
	b->tried = (uint32_t)tried;
	return 0;
}

static int read_head(struct phx_beacon *b, const struct line *l)
{
	b->reached = !strcmp(l->words[0], "reached");
	cut(b->head, sizeof(b->head), b->reached ? "" : l->words[0]);
	return 0;
}

static int read_nic(struct phx_beacon *b, const struct line *l)
{
	struct phx_beacon_nic nic = {0}, *row;
	int r;
	if (l->n != 4 || phx_mac_parse(l->words[1], nic.mac) < 0 ||
	    (strcmp(l->words[3], "up") && strcmp(l->words[3], "down")))
		return -EINVAL;
	cut(nic.dev, sizeof(nic.dev), l->words[0]);
	cut(nic.driver, sizeof(nic.driver), strcmp(l->words[2], "-") ? l->words[2] : "");
	nic.link = !strcmp(l->words[3], "up");
	row = add_row(b, &b->nics, sizeof(nic), &r);
	if (row)
		*row = nic;
	return r;
}

static int hex(const char *word, size_t n, uint32_t *ret)
{
	char digits[9] = "";
	if (n >= sizeof(digits) || strlen(word) < n)
		return -EINVAL;
	memcpy(digits, word, n);
	if (!phx_is_hex(digits, n))
		return -EINVAL;
	*ret = (uint32_t)strtoul(digits, NULL, 16);
	return 0;
}

static int read_pci(struct phx_beacon *b, const struct line *l)
{
	struct phx_beacon_pci pci, *row;
	int r;
	if (l->n != 2 || strlen(l->words[0]) != 9 || l->words[0][4] != ':' ||
	    strlen(l->words[1]) != 6 || hex(l->words[0], 4, &pci.vendor) < 0 ||
	    hex(l->words[0] + 5, 4, &pci.device) < 0 || hex(l->words[1], 6, &pci.class_code) < 0)
		return -EINVAL;
	row = add_row(b, &b->pci, sizeof(pci), &r);
	if (row)
		*row = pci;
	return r;
}

static int read_disk(struct phx_beacon *b, const struct line *l)
{
	struct phx_beacon_disk disk = {0}, *row;
	int r;
	if (l->n != 2 || number(l->words[1], &disk.size_kib) < 0)
		return -EINVAL;
	cut(disk.dev, sizeof(disk.dev), l->words[0]);
	row = add_row(b, &b->disks, sizeof(disk), &r);
	if (row)
		*row = disk;
	return r;
}

static const struct word {
	const char *name;
	unsigned max; /* words behind it */
	int (*read)(struct phx_beacon *b, const struct line *l);
	const char *form; /* what is right */
} table[] = {
	{"from", 1, read_from, "init or agent"},
	{"stage", 1, read_stage, "modules, network, agent or head"},
	{"up", 1, read_up, "a number of seconds"},
	{"clock", 1, read_clock, "a number of seconds since 1970"},
	{"memory", 1, read_memory, "a number of MiB"},
	{"kernel", 1, read_kernel, "a release"},
	{"image", 1, read_image, "a name and a version"},
	{"nic", 4, read_nic, "NAME MAC DRIVER up|down"},
	{"pci", 2, read_pci, "VENDOR:DEVICE CLASS in hexadecimal digits"},
	{"disk", 2, read_disk, "NAME and a number of KiB"},
	{"address", 1, read_address, "an IPv4 address"},
	{"lost", 2, read_lost, "two numbers, the first not above the second"},
	{"head", 1, read_head, "reached, or an error"},
};

static int read_line(struct phx_beacon *b, char *text, unsigned number, struct phx_err *err)
{
	size_t n = strcspn(text, " \t");
	const struct word *w = table;
	while (w < table + PHX_ARRAY_SIZE(table) &&
	       (strlen(w->name) != n || memcmp(w->name, text, n) != 0))
		w++;
	if (w == table + PHX_ARRAY_SIZE(table))
		return 0;
	struct line l = words_of(text + n, w->max);
	int r = l.n ? w->read(b, &l) : -EINVAL;
	if (r == -ENOMEM)
		return r;
	return r < 0
		? phx_err_set(err, -EINVAL, "beacon:%u: %s: expected %s", number, w->name, w->form)
		: 0;
}

/* A copy in which nothing steers a terminal; lines stay. A NUL ends no text: it is no text. */
static char *cleaned(const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!copy[i])
			copy[i] = '?';
	phx_utf8_repair(copy);
	for (char *p = copy; *p;) {
		size_t length = phx_utf8_length(p);
		if (*p != '\n' && *p != '\t' && phx_utf8_steering(p))
			memset(p, '?', length);
		p += length;
	}
	return copy;
}

static int read_lines(struct phx_beacon *b, char *text, struct phx_err *err)
{
	char *line = text, *rest;
	unsigned number = 0;
	int r = 0;
	for (; r == 0 && line; line = rest) {
		size_t n = strcspn(line, "\n");
		rest = line[n] ? line + n + 1 : NULL;
		line[n] = '\0';
		if (++number > 1)
			r = read_line(b, line, number, err);
		else if (strcmp(line, MAGIC) != 0)
			r = phx_err_set(err, -EINVAL, "beacon:1: expected \"" MAGIC "\"");
	}
	return r;
}

int phx_beacon_parse(const char *text, size_t n, struct phx_beacon *ret, struct phx_err *err)
{
	struct phx_beacon b = {0};
	if (n > PHX_BEACON_MAX)
		return phx_err_set(err, -EFBIG, "a beacon has at most %d bytes", PHX_BEACON_MAX);
	PHX_AUTO_FREE char *copy = cleaned(text, n);
	int r = copy ? read_lines(&b, copy, err) : -ENOMEM;
	if (r < 0)
		phx_record_fini(&phx_beacon_record, &b);
	else
		*ret = b;
	return r;
}

/* ---- written ---- */

static void put_word(struct phx_buf *to, const char *name, const char *text)
{
	if (text[0])
		phx_buf_addf(to, "%s %s\n", name, text);
}

static void put_number(struct phx_buf *to, const char *name, uint64_t n)
{
	if (n)
		phx_buf_addf(to, "%s %" PRIu64 "\n", name, n);
}

void phx_beacon_format(const struct phx_beacon *b, struct phx_buf *to)
{
	phx_buf_addf(to, MAGIC "\nfrom %s\nstage %s\n",
		     phx_enum_name(&phx_beacon_from_names, b->from),
		     phx_enum_name(&phx_beacon_stage_names, b->stage));
	put_number(to, "up", b->up_s);
	put_number(to, "clock", b->clock_s);
	put_number(to, "memory", b->memory_mib);
	put_word(to, "kernel", b->kernel);
	put_word(to, "image", b->image);
	PHX_LIST_EACH(struct phx_beacon_nic, nic, &b->nics)
		phx_buf_addf(to, "nic %s %s %s %s\n", nic->dev, nic->mac,
			     nic->driver[0] ? nic->driver : "-", nic->link ? "up" : "down");
	PHX_LIST_EACH(struct phx_beacon_pci, pci, &b->pci)
		phx_buf_addf(to, "pci %04x:%04x %06x\n", pci->vendor, pci->device, pci->class_code);
	PHX_LIST_EACH(struct phx_beacon_disk, disk, &b->disks)
		phx_buf_addf(to, "disk %s %" PRIu64 "\n", disk->dev, disk->size_kib);
	put_word(to, "address", b->address);
	if (b->tried)
		phx_buf_addf(to, "lost %" PRIu32 " %" PRIu32 "\n", b->lost, b->tried);
	put_word(to, "head", b->reached ? "reached" : b->head);
}

/* ---- as words ---- */

/* A value that others wrote: a blank would begin another word. */
static void put_value(struct phx_buf *to, const char *name, const char *text)
{
	phx_buf_addf(to, " %s=", name);
	for (; *text; text++)
		phx_buf_addf(to, "%c", *text == ' ' || *text == '\t' ? '_' : *text);
}

static const char *reached(const struct phx_beacon *b)
{
	bool driver = false, link = false;
	PHX_LIST_EACH(struct phx_beacon_nic, nic, &b->nics) {
		driver = driver || nic->driver[0];
		link = link || nic->link;
	}
	return b->reached       ? "head"
		: b->address[0] ? "address"
		: link          ? "link"
		: driver        ? "nic"
				: "none";
}

/* Controllers of disks and cards of networks are what a start needs; of others it says only that
 * they are there. */
static void put_pci(const struct phx_beacon *b, struct phx_buf *to)
{
	PHX_LIST_EACH(struct phx_beacon_pci, pci, &b->pci) {
		uint32_t class = pci->class_code >> 16;
		bool disks = class == 1 || pci->class_code >> 8 == 0x0c04;
		phx_buf_addf(to, " %s_without=%04x:%04x",
			     disks                ? "disk"
				     : class == 2 ? "nic"
						  : "device",
			     pci->vendor, pci->device);
	}
}

static void put_rows(const struct phx_beacon *b, struct phx_buf *to)
{
	PHX_LIST_EACH(struct phx_beacon_nic, nic, &b->nics) {
		put_value(to, "nic", nic->dev);
		phx_buf_addf(to, ",%s,", nic->mac);
		for (const char *c = nic->driver[0] ? nic->driver : "-"; *c; c++)
			phx_buf_addf(to, "%c", *c == '\t' ? '_' : *c);
		phx_buf_addf(to, ",%s", nic->link ? "up" : "down");
	}
	PHX_LIST_EACH(struct phx_beacon_disk, disk, &b->disks) {
		put_value(to, "disk", disk->dev);
		phx_buf_addf(to, ",%" PRIu64, disk->size_kib);
	}
	if (b->more)
		phx_buf_addf(to, " more=%" PRIu32, b->more);
}

void phx_beacon_words(const struct phx_beacon *b, struct phx_buf *to)
{
	phx_buf_addf(to, "reached=%s from=%s stage=%s", reached(b),
		     phx_enum_name(&phx_beacon_from_names, b->from),
		     phx_enum_name(&phx_beacon_stage_names, b->stage));
	put_pci(b, to);
	if (b->clock_s)
		phx_buf_addf(to, " clock_s=%" PRIu64, b->clock_s);
	if (b->memory_mib)
		phx_buf_addf(to, " memory_mb=%" PRIu64, b->memory_mib);
	if (b->tried)
		phx_buf_addf(to, " loss=%" PRIu32 "/%" PRIu32, b->lost, b->tried);
	if (b->address[0])
		put_value(to, "address", b->address);
	if (b->head[0])
		put_value(to, "head", b->head);
	if (b->kernel[0])
		put_value(to, "kernel", b->kernel);
	put_rows(b, to);
}
