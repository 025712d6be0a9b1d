/* The report of what this machine is: see inventory.h. Called by the agent at
 * boot, on change and on demand. Never writes, never decides. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/sysfs.h"
#include "disk/disk.h"
#include "inventory/internal.h"

enum { OS_RELEASE_MAX = 4096 };

static void read_system(const char *root, struct phx_facts *f)
{
	char text[OS_RELEASE_MAX];
	struct utsname u;
	phx_sys_text(root, f->kernel, sizeof(f->kernel), "proc/sys/kernel/osrelease");
	/* the file is newer than the kernels of some fixtures and machines */
	if (phx_sys_text(root, f->arch, sizeof(f->arch), "proc/sys/kernel/arch") < 0 && !*root &&
	    uname(&u) == 0)
		snprintf(f->arch, sizeof(f->arch), "%.*s", (int)sizeof(f->arch) - 1, u.machine);
	if (phx_sys_text(root, text, sizeof(text), "etc/os-release") == 0)
		phx_line_value(text, "PRETTY_NAME", '=', f->os, sizeof(f->os));
}

static int read_disks(const char *root, struct phx_facts *f, struct phx_err *err)
{
	struct phx_err why = {0};
	int r = phx_disk_list(root, &f->disks, &why);
	if (r == -ENOENT) /* a kernel without block devices: a machine without disks */
		return 0;
	return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}

int phx_inventory_read(const char *root, struct phx_facts *ret, struct phx_err *err)
{
	struct phx_facts f = {0};
	if (!phx_sys_has(root, "sys") || !phx_sys_has(root, "proc"))
		return phx_err_set(err, -ENOENT,
				   "%s/sys and %s/proc are not both there: mount them first", root,
				   root);
	read_system(root, &f);
	phx_inventory_read_cpu(root, &f);
	phx_inventory_read_memory(root, &f);
	phx_inventory_read_board(root, &f);
	int r = read_disks(root, &f, err);
	r = r ? r : phx_inventory_read_nics(root, &f, err);
	r = r ? r : phx_inventory_read_pci(root, &f, err);
	if (r < 0) {
		phx_record_fini(&phx_facts_record, &f);
		return r;
	}
	phx_inventory_read_bmc(root, &f);
	*ret = f;
	return 0;
}

int phx_boot_id_read(const char *root, char ret[40], struct phx_err *err)
{
	char text[64];
	int r = phx_sys_text(root, text, sizeof(text), "proc/sys/kernel/random/boot_id");
	if (r == 0 && strlen(text) != 36)
		r = -EBADMSG;
	if (r < 0)
		return phx_err_set(err, r, "%s/proc/sys/kernel/random/boot_id: %s", root,
				   strerror(-r));
	return phx_str_copy(ret, 40, text);
}
