/* How the machine reaches a disk, from the place of its device in sysfs: which transport, through
 * which devices, and whether the disk is in the machine at all. Called by list.c. Asks no device,
 * writes nothing. A part of the path of a block device names what stands there:
 *
 *	.../pci0000:00/0000:00:02.0/0000:04:00.0/host7/rport-7:0-0/target7:0:0/7:0:0:1/block/sdb
 *	.../platform/host6/session1/target6:0:0/6:0:0:1/block/sdc
 *	.../0000:05:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda
 *	.../nvme-subsystem/nvme-subsys1/nvme1n1, with its controllers in nvme-subsys1 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "disk/internal.h"

enum { PART_MAX = 128 };

struct place {
	const char *root, *name;
	char where[PATH_MAX]; /* the path of the device below /sys */
	char pci[24], scsi[24], rest[96];
	struct phx_disk_facts *d;
};

/* ---- the parts of a path ---- */

/* The last part that is `prefix` and a digit; false: none is. */
static bool find_part(const struct place *p, const char *prefix, char ret[PART_MAX])
{
	bool found = false;
	size_t n = strlen(prefix);
	for (const char *at = p->where; (at = strchr(at, '/'));) {
		size_t size = strcspn(++at, "/");
		if (size >= PART_MAX || size <= n || strncmp(at, prefix, n) != 0 ||
		    !isdigit((unsigned char)at[n]))
			continue;
		snprintf(ret, PART_MAX, "%.*s", (int)size, at);
		found = true;
	}
	return found;
}

/* "0000:04:00.0", "10000:01:00.0" */
static bool is_pci(const char *part)
{
	unsigned int domain, bus, slot, function;
	int n = 0;
	return sscanf(part, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &n) == 4 &&
		!part[n] && strlen(part) >= 12;
}

/* "7:0:0:1", as SCSI names a unit */
static bool is_scsi(const char *part)
{
	unsigned int host, channel, target;
	unsigned long long unit;
	int n = 0;
	return sscanf(part, "%u:%u:%u:%llu%n", &host, &channel, &target, &unit, &n) == 4 &&
		!part[n];
}

static void find_addresses(struct place *p)
{
	char parts[PATH_MAX];
	PHX_STR_SET(parts, p->where);
	for (char *save, *part = strtok_r(parts, "/", &save); part;
	     part = strtok_r(NULL, "/", &save)) {
		if (is_pci(part))
			PHX_STR_SET(p->pci, part);
		else if (is_scsi(part))
			PHX_STR_SET(p->scsi, part);
	}
}

/* The unit's number, or channel and all behind it for a unit that nothing else names. */
static const char *unit_of(const struct place *p)
{
	const char *last = strrchr(p->scsi, ':');
	return last ? last + 1 : "0";
}

/* ---- SCSI: the first row that fits ---- */

static void name_unit(struct place *p, const char *kind, const char *what)
{
	snprintf(p->rest, sizeof(p->rest), "%s-%.64s-lun-%.16s", kind, what, unit_of(p));
}

static void name_fc(struct place *p, const char *part)
{
	char port[32] = "";
	phx_sys_text(p->root, port, sizeof(port), "sys/class/fc_remote_ports/%s/port_name", part);
	name_unit(p, "fc", port[0] ? port : part);
}

static void name_iscsi(struct place *p, const char *part)
{
	char target[96] = "";
	phx_sys_text(p->root, target, sizeof(target), "sys/class/iscsi_session/%s/targetname",
		     part);
	name_unit(p, "iscsi", target[0] ? target : part);
}

static void name_sas(struct place *p, const char *part)
{
	char address[32] = "";
	phx_sys_text(p->root, address, sizeof(address), "sys/class/sas_device/%s/sas_address",
		     part);
	name_unit(p, "sas", address[0] ? address : part);
}

static void name_part(struct place *p, const char *part)
{
	snprintf(p->rest, sizeof(p->rest), "%.64s", part);
}

static void name_host(struct place *p, const char *part)
{
	(void)part;
	const char *behind = strchr(p->scsi, ':');
	if (behind)
		snprintf(p->rest, sizeof(p->rest), "scsi-%.22s", behind + 1);
}

/* A part of the path, and what the kernel's class of it proves; a class alone proves it, too. */
static const struct row {
	const char *prefix, *class, *transport;
	bool remote;
	void (*name)(struct place *p, const char *part);
} rows[] = {
	{"rport-", NULL, "fc", true, name_fc},
	{"host", "fc_host", "fc", true, name_host},
	{"session", NULL, "iscsi", true, name_iscsi},
	{"host", "iscsi_host", "iscsi", true, name_host},
	{"port-", "srp_remote_ports", "srp", true, name_part},
	{"host", "srp_host", "srp", true, name_host},
	{"usb", NULL, "usb", false, name_host},
	{"ata", NULL, "sata", false, name_part},
	{"end_device-", NULL, "sas", false, name_sas},
	{"host", "sas_host", "sas", false, name_host},
	{"virtio", NULL, "virtio", false, name_host},
	{"mmc", NULL, "mmc", false, name_part},
	{"host", NULL, "", false, name_host},
};

static void read_scsi(struct place *p)
{
	char part[PART_MAX];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		if (!find_part(p, row->prefix, part) ||
		    (row->class && !phx_sys_has(p->root, "sys/class/%s/%s", row->class, part)))
			continue;
		PHX_STR_SET(p->d->transport, row->transport);
		p->d->remote = row->remote;
		row->name(p, part);
		/* behind a SAS adapter, too */
		if (phx_str_eq(row->transport, "sas") && phx_str_eq(p->d->bus, "ata"))
			PHX_STR_SET(p->d->transport, "sata");
		return;
	}
}

/* ---- paths ---- */

/* Nothing where there is no room: which paths there are is for people and for selectors; how many
 * is n_paths. */
static void append(struct phx_disk_facts *d, const char *paths)
{
	size_t n = strlen(d->path), more = strlen(paths);
	if (!more || n + 1 + more >= sizeof(d->path))
		return;
	if (n)
		d->path[n++] = ' ';
	memmove(d->path + n, paths, more + 1);
}

/* "pci-ADDRESS-REST" */
static void add_path(struct place *p)
{
	char path[160];
	snprintf(path, sizeof(path), "%s%s%s%s", p->pci[0] ? "pci-" : "", p->pci,
		 p->pci[0] && p->rest[0] ? "-" : "", p->rest);
	for (char *blank = path; (blank = strchr(blank, ' '));)
		*blank = '_';
	p->d->n_paths++;
	append(p->d, path);
}

/* ---- NVMe ---- */

/* "nvme0": a controller's directory; not "nvme0n1" */
static bool is_controller(const char *name)
{
	size_t n = phx_str_starts(name, "nvme") ? strspn(name + 4, "0123456789") : 0;
	return n && !name[4 + n];
}

static void take_controller(struct place *p, const char *dir)
{
	char kind[16] = "", address[96] = "";
	struct place its = {.root = p->root, .d = p->d};
	phx_sys_text(p->root, kind, sizeof(kind), "%s/transport", dir);
	phx_sys_text(p->root, address, sizeof(address), "%s/address", dir);
	phx_sys_target(p->root, its.where, sizeof(its.where), "%s", dir);
	bool here = !kind[0] || phx_str_eq(kind, "pcie") || phx_str_eq(kind, "apple-nvme");
	if (here)
		find_addresses(&its);
	char transport[16];
	snprintf(transport, sizeof(transport), "nvme%s%.10s", here ? "" : "-", here ? "" : kind);
	if (!p->d->remote)
		PHX_STR_SET(p->d->transport, transport);
	p->d->remote = p->d->remote || !here;
	snprintf(its.rest, sizeof(its.rest), "%s%s%.70s", transport, here ? "" : "-",
		 here ? "" : address);
	add_path(&its);
}

/* A name in the directory of a subsystem. */
static int try_controller(void *arg, const char *name)
{
	struct place *p = arg;
	char dir[160];
	snprintf(dir, sizeof(dir), "sys/block/%s/device/%.32s", p->name, name);
	if (is_controller(name))
		take_controller(p, dir);
	return 0;
}

/* Of one controller, or of a subsystem with several. */
static void read_nvme(struct place *p)
{
	char dir[96];
	snprintf(dir, sizeof(dir), "sys/block/%.60s/device", p->name);
	if (!phx_sys_has(p->root, "%s/transport", dir))
		phx_sys_each(p->root, dir, try_controller, p);
	if (!p->d->n_paths)
		take_controller(p, dir);
}

void phx_disk_transport_read(const char *root, const char *name, struct phx_disk_facts *d)
{
	struct place p = {.root = root, .name = name, .d = d};
	d->remote = false;
	d->n_paths = 0;
	d->transport[0] = d->path[0] = '\0';
	if (phx_sys_target(root, p.where, sizeof(p.where), "sys/block/%s", name) < 0)
		return;
	if (phx_str_eq(d->bus, "nvme")) {
		read_nvme(&p);
		return;
	}
	find_addresses(&p);
	if (phx_str_starts(name, "rbd")) {
		PHX_STR_SET(d->transport, "rbd");
		d->remote = true;
		name_part(&p, name);
	} else {
		read_scsi(&p);
	}
	add_path(&p);
}

/* ---- several paths to one disk ---- */

/* Can one disk be there twice by this transport? What hangs on one cable cannot: two of those that
 * call themselves alike are two, whatever their bridges say. */
static bool has_paths(const struct phx_disk_facts *d)
{
	static const char *const transports[] = {
		"fc", "iscsi", "srp", "sas", "virtio", "nvme", "nvme-tcp", "nvme-rdma", "nvme-fc"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(transports); i++)
		if (phx_str_eq(d->transport, transports[i]))
			return true;
	return false;
}

/* Two that differ in anything which a disk says of itself are two. */
static bool is_same(const struct phx_disk_facts *a, const struct phx_disk_facts *b)
{
	return a->wwn[0] && a->serial[0] && !strcmp(a->id, b->id) && !strcmp(a->wwn, b->wwn) &&
		!strcmp(a->serial, b->serial) && !strcmp(a->model, b->model) &&
		a->size_bytes == b->size_bytes && has_paths(a) && has_paths(b);
}

static void add_paths(struct phx_disk_facts *to, const struct phx_disk_facts *from)
{
	to->n_paths += from->n_paths;
	append(to, from->path);
	if (from->remote && !to->remote)
		PHX_STR_SET(to->transport, from->transport);
	to->remote = to->remote || from->remote;
	to->removable = to->removable || from->removable;
	to->read_only = to->read_only || from->read_only;
	to->can_discard = to->can_discard && from->can_discard;
	if (from->hidden_bytes > to->hidden_bytes)
		to->hidden_bytes = from->hidden_bytes;
	if (from->namespaces > to->namespaces)
		to->namespaces = from->namespaces;
	if (from->namespaces_off > to->namespaces_off)
		to->namespaces_off = from->namespaces_off;
}

void phx_disk_paths_join(struct phx_list *disks)
{
	struct phx_disk_facts *d = disks->items;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < disks->n; i++) {
		if (kept && is_same(&d[kept - 1], &d[i]))
			add_paths(&d[kept - 1], &d[i]);
		else if (kept++ != i)
			d[kept - 1] = d[i];
	}
	disks->n = kept;
}
