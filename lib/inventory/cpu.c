/* Processors by hwloc: see internal.h. Called by inventory.c. */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "inventory/internal.h"

enum { CPUINFO_MAX = 64 * 1024 };

static uint32_t count(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);
	return n > 0 ? (uint32_t)n : 0;
}

static void read_topology(hwloc_topology_t t, struct phx_facts *f)
{
	hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
	const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	f->cpus = count(t, HWLOC_OBJ_PU);
	f->cores = count(t, HWLOC_OBJ_CORE);
	f->sockets = count(t, HWLOC_OBJ_PACKAGE);
	snprintf(f->cpu_model, sizeof(f->cpu_model), "%s", model ? model : "");
	phx_sys_clean(f->cpu_model);
}

/* The whole machine, also where this process may use a part of it only. */
static void load(const char *xml, struct phx_facts *f)
{
	hwloc_topology_t t;
	if (hwloc_topology_init(&t) < 0)
		return;
	if ((!xml || hwloc_topology_set_xml(t, xml) == 0) &&
	    hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
	    hwloc_topology_load(t) == 0)
		read_topology(t, f);
	hwloc_topology_destroy(t);
}

static uint32_t count_processors(const char *text)
{
	uint32_t n = 0;
	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		n += phx_str_starts(p, "processor\t") || phx_str_starts(p, "processor:");
	}
	return n;
}

void phx_inventory_read_cpu(const char *root, struct phx_facts *f)
{
	char path[4096];
	PHX_AUTO_FREE char *text = calloc(1, CPUINFO_MAX);
	snprintf(path, sizeof(path), "%s/hwloc.xml", root);
	if (!*root)
		load(NULL, f);
	else if (phx_sys_has(root, "hwloc.xml"))
		load(path, f);
	if (!text || phx_sys_text(root, text, CPUINFO_MAX, "proc/cpuinfo") < 0)
		return;
	if (!f->cpu_model[0])
		phx_line_value(text, "model name", ':', f->cpu_model, sizeof(f->cpu_model));
	if (!f->cpus)
		f->cpus = count_processors(text);
	if (!f->cores)
		f->cores = f->cpus;
	if (!f->sockets)
		f->sockets = f->cpus ? 1 : 0;
}
