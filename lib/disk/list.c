/* The disks of this machine and what names them, from sysfs: see disk.h.
 * Called by the inventory and by find.c. Opens a disk only to ask it what it
 * can do, and only on the running machine; never writes. No udev is needed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/sysfs.h"
#include "disk/disk.h"
#include "disk/identify.h"
#include "disk/internal.h"

enum { SCSI_TYPE_DISK = 0, SCSI_TYPE_HOST_MANAGED = 0x14, MAJOR_FLOPPY = 2, SECTOR = 512 };

struct listing {
	const char *root;
	struct phx_list *disks;
	struct phx_err *err;
};

/* Hardware stands behind it: not loop, ram, dm, md, zram; not a CD, floppy, eMMC boot area or
 * hidden path. */
static bool is_disk(const char *root, const char *name)
{
	char where[PATH_MAX];
	if (phx_sys_target(root, where, sizeof(where), "sys/block/%s", name) < 0)
		return false;
	if (strstr(where, "/devices/virtual/") && !strstr(where, "/nvme-subsystem/") &&
	    !strstr(where, "/nvme-fabrics/"))
		return false;
	if (phx_sys_u64(root, 0, "sys/block/%s/hidden", name) || phx_str_starts(name, "fd") ||
	    (phx_str_starts(name, "mmcblk") && strpbrk(name + 6, "br")))
		return false;
	uint64_t type = phx_sys_u64(root, SCSI_TYPE_DISK, "sys/block/%s/device/type", name);
	bool scsi = phx_str_starts(name, "sd") || phx_str_starts(name, "sr");
	return !scsi || type == SCSI_TYPE_DISK || type == SCSI_TYPE_HOST_MANAGED;
}

static const char *bus_of(const char *root, const char *name)
{
	static const struct {
		const char *prefix, *bus;
	} names[] = {{"vd", "virtio"}, {"nvme", "nvme"}, {"mmcblk", "mmc"}};
	char vendor[16], where[PATH_MAX];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		if (phx_str_starts(name, names[i].prefix))
			return names[i].bus;
	if (!phx_str_starts(name, "sd"))
		return "";
	/* a SATA drive behind a SAS adapter shows itself by the vendor "ATA", as libata's do */
	phx_sys_text(root, vendor, sizeof(vendor), "sys/block/%s/device/vendor", name);
	if (phx_str_eq(vendor, "ATA"))
		return "ata";
	phx_sys_target(root, where, sizeof(where), "sys/block/%s", name);
	return strstr(where, "/usb") ? "usb" : "scsi";
}

/* "naa." of a registered format (2, 5, 6), "eui." whose company id is not a
 * locally administered one: emulators make those up, the same on every machine. */
static bool is_worldwide(const char *wwid)
{
	const char *hex = wwid + 4;
	size_t n = strlen(wwid) < 4 ? 0 : strspn(hex, "0123456789abcdefABCDEF");
	if (!n || hex[n] || strspn(hex, "0") == n)
		return false;
	if (phx_str_starts(wwid, "naa."))
		return (n == 16 || n == 32) && strchr("256", hex[0]);
	if (!phx_str_starts(wwid, "eui.") || (n != 16 && n != 32))
		return false;
	char second = hex[n == 32 ? 17 : 1]; /* an NGUID carries the company in its second half */
	return !strchr("2367abefABEF", second);
}

/* Serial from the unit serial number page: 4 bytes of header, then text. */
static void read_vpd_serial(const char *root, const char *name, struct phx_disk_facts *d)
{
	uint8_t page[4 + sizeof(d->serial)] = {0};
	ssize_t n =
		phx_sys_bytes(root, page, sizeof(page) - 1, "sys/block/%s/device/vpd_pg80", name);
	if (n <= 4)
		return;
	size_t told = (size_t)page[2] << 8 | page[3], there = (size_t)n - 4;
	page[4 + (told < there ? told : there)] = '\0';
	phx_sys_clean((char *)page + 4);
	PHX_STR_SET(d->serial, (char *)page + 4);
}

static void read_names(const char *root, const char *name, struct phx_disk_facts *d)
{
	char wwid[128];
	static const char *const wwids[] = {"wwid", "device/wwid"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wwids); i++)
		if (!d->wwn[0] &&
		    phx_sys_text(root, wwid, sizeof(wwid), "sys/block/%s/%s", name, wwids[i]) ==
			    0 &&
		    is_worldwide(wwid))
			snprintf(d->wwn, sizeof(d->wwn), "0x%s", wwid + 4);
	phx_sys_text(root, d->model, sizeof(d->model), "sys/block/%s/device/model", name);
	if (!d->model[0] && phx_str_eq(d->bus, "mmc"))
		phx_sys_text(root, d->model, sizeof(d->model), "sys/block/%s/device/name", name);
	phx_sys_text(root, d->serial, sizeof(d->serial), "sys/block/%s/serial", name);
	if (!d->serial[0])
		phx_sys_text(root, d->serial, sizeof(d->serial), "sys/block/%s/device/serial",
			     name);
	if (!d->serial[0])
		read_vpd_serial(root, name, d);
}

/* What may stand in an id; everything else becomes '_'. */
static void clean_id(char *id)
{
	for (char *p = id; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.+_",
			    *p))
			*p = '_';
}

static void make_id(const char *root, const char *name, struct phx_disk_facts *d)
{
	uint64_t nsid = phx_sys_u64(root, 1, "sys/block/%s/nsid", name);
	if (d->wwn[0])
		snprintf(d->id, sizeof(d->id), "wwn-%s", d->wwn);
	else if (d->serial[0])
		snprintf(d->id, sizeof(d->id), "serial-%s-%s", d->model[0] ? d->model : d->bus,
			 d->serial);
	else
		return;
	/* namespaces of one controller share its serial */
	if (!d->wwn[0] && nsid > 1) {
		size_t n = strlen(d->id);
		snprintf(d->id + n, sizeof(d->id) - n, "-n%u", (unsigned)nsid);
	}
	clean_id(d->id);
}

static void ask_drive(struct phx_disk_facts *d)
{
	char path[64];
	snprintf(path, sizeof(path), "/dev/%s", d->dev);
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct phx_device dev = {&phx_device_linux, &fd};
	if (fd >= 0)
		phx_disk_ask_abilities(&dev, d);
}

int phx_disk_facts_read(const char *root, const char *name, struct phx_disk_facts *ret)
{
	struct phx_disk_facts d = {0};
	if (!is_disk(root, name) || PHX_STR_SET(d.dev, name) < 0)
		return -ENODEV;
	d.size_bytes = phx_sys_u64(root, 0, "sys/block/%s/size", name) * SECTOR;
	PHX_STR_SET(d.bus, bus_of(root, name));
	read_names(root, name, &d);
	make_id(root, name, &d);
	phx_disk_transport_read(root, name, &d);
	d.rotational = phx_sys_u64(root, 0, "sys/block/%s/queue/rotational", name);
	d.removable = phx_sys_u64(root, 0, "sys/block/%s/removable", name);
	d.read_only = phx_sys_u64(root, 0, "sys/block/%s/ro", name);
	d.can_discard = phx_sys_u64(root, 0, "sys/block/%s/queue/discard_max_bytes", name) > 0;
	*ret = d;
	return 0;
}

/* One entry of /sys/block. No medium (size 0), or a removable one without a name: nothing to decide
 * on. */
static int add_disk(void *arg, const char *name)
{
	struct listing *l = arg;
	struct phx_disk_facts d;
	if (phx_disk_facts_read(l->root, name, &d) < 0 || !d.size_bytes ||
	    (d.removable && !d.id[0]))
		return 0;
	if (!*l->root)
		ask_drive(&d);
	struct phx_disk_facts *slot = phx_list_push(l->disks, sizeof(d));
	if (!slot)
		return phx_err_set(l->err, -ENOMEM, "out of memory");
	*slot = d;
	return 0;
}

/* A namespace that this kernel cannot read, for its format, is none of the disks. */
static void count_namespaces(struct phx_list *disks)
{
	PHX_LIST_EACH(struct phx_disk_facts, d, disks) {
		uint32_t seen = 0;
		PHX_LIST_EACH(struct phx_disk_facts, o, disks)
			seen += phx_str_eq(o->bus, "nvme") && phx_str_eq(o->serial, d->serial) &&
				phx_str_eq(o->model, d->model);
		if (d->namespaces > seen)
			d->namespaces_off += d->namespaces - seen;
	}
}

static int by_id(const void *a, const void *b)
{
	const struct phx_disk_facts *x = a, *y = b;
	int r = strcmp(x->id, y->id);
	return r ? r : strcmp(x->dev, y->dev);
}

int phx_disk_list(const char *root, struct phx_list *ret, struct phx_err *err)
{
	struct phx_list disks = {0};
	struct listing l = {root, &disks, err};
	int r = phx_sys_each(root, "sys/block", add_disk, &l);
	if (r < 0) {
		phx_list_fini(&disks);
		return phx_err_set(err, r, "%s/sys/block: %s", root, strerror(-r));
	}
	if (disks.n)
		qsort(disks.items, disks.n, sizeof(struct phx_disk_facts), by_id);
	phx_disk_paths_join(&disks);
	count_namespaces(&disks);
	*ret = disks;
	return 0;
}
