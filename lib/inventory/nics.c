/* Network interfaces with hardware behind them: see internal.h. Called by inventory.c. */
#include <limits.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "inventory/internal.h"

enum { TYPE_ETHERNET = 1 };

struct listing {
	const char *root;
	struct phx_list *nics;
	struct phx_err *err;
};

/* Not a bridge, bond, VLAN, tap; not a virtual function carved out of another card. */
static bool is_hardware(const char *root, const char *name)
{
	return phx_sys_has(root, "sys/class/net/%s/device", name) &&
		!phx_sys_has(root, "sys/class/net/%s/device/physfn", name) &&
		phx_sys_u64(root, 0, "sys/class/net/%s/type", name) == TYPE_ETHERNET;
}

/* The card's own address, also while it is part of a bond and shows the bond's. */
static int read_mac(const char *root, const char *name, char ret[PHX_MAC_MAX])
{
	char text[64];
	if (phx_sys_text(root, text, sizeof(text), "sys/class/net/%s/bonding_slave/perm_hwaddr",
			 name) < 0 &&
	    phx_sys_text(root, text, sizeof(text), "sys/class/net/%s/address", name) < 0)
		return -ENOENT;
	return phx_mac_parse(text, ret);
}

static void read_driver(const char *root, const char *name, char *ret, size_t size)
{
	char where[PATH_MAX];
	if (phx_sys_target(root, where, sizeof(where), "sys/class/net/%s/device/driver", name) == 0)
		snprintf(ret, size, "%.*s", (int)size - 1, strrchr(where, '/') + 1);
}

static int add_nic(void *arg, const char *name)
{
	struct listing *l = arg;
	struct phx_nic_facts nic = {0};
	if (!is_hardware(l->root, name) || read_mac(l->root, name, nic.mac) < 0 ||
	    PHX_STR_SET(nic.dev, name) < 0)
		return 0;
	read_driver(l->root, name, nic.driver, sizeof(nic.driver));
	/* unreadable while the interface is down */
	nic.link = phx_sys_u64(l->root, 0, "sys/class/net/%s/carrier", name) == 1;
	uint64_t speed = nic.link ? phx_sys_u64(l->root, 0, "sys/class/net/%s/speed", name) : 0;
	nic.speed_mbps = speed < UINT32_MAX ? (uint32_t)speed : 0;
	struct phx_nic_facts *slot = phx_list_push(l->nics, sizeof(nic));
	if (!slot)
		return phx_err_set(l->err, -ENOMEM, "out of memory");
	*slot = nic;
	return 0;
}

static int by_mac(const void *a, const void *b)
{
	const struct phx_nic_facts *x = a, *y = b;
	int r = strcmp(x->mac, y->mac);
	return r ? r : strcmp(x->dev, y->dev);
}

int phx_inventory_read_nics(const char *root, struct phx_facts *f, struct phx_err *err)
{
	struct listing l = {root, &f->nics, err};
	int r = phx_sys_each(root, "sys/class/net", add_nic, &l);
	if (r < 0 && r != -ENOENT)
		return phx_err_set(err, r, "%s/sys/class/net: %s", root, strerror(-r));
	if (f->nics.n)
		qsort(f->nics.items, f->nics.n, sizeof(struct phx_nic_facts), by_mac);
	return 0;
}
