/* Partitions of a volume as one device, by mdadm and LVM: see internal.h. Called by volumes.c. Both
 * programs are told which devices they may look at: what else is on the machine, protected disks
 * above all, is none of their business. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/spawn.h"
#include "disk/internal.h"

/* md devices of ours begin there: no one else numbers that high by himself */
enum { MD_FIRST = 100, TOOL_MS = 300 * 1000, ARGS_MAX = PHX_FACTS_DISKS_MAX + 16 };

struct args {
	const char *argv[ARGS_MAX + 1];
	uint32_t n;
};

static void add(struct args *a, const char *word)
{
	if (a->n < ARGS_MAX)
		a->argv[a->n++] = word;
}

static void add_parts(struct args *a, const struct phx_volume_parts *parts)
{
	for (uint32_t i = 0; i < parts->n; i++)
		add(a, parts->nodes[i]);
}

static int run(const struct args *a, struct phx_err *err)
{
	static const char *const env[] = {"LVM_SUPPRESS_FD_WARNINGS=1", NULL};
	const struct phx_run run = {.argv = a->argv, .env_add = env, .timeout_ms = TOOL_MS};
	return phx_run_check(&run, NULL, err);
}

bool phx_volume_has_copies(const struct phx_layout_volume *v)
{
	return v->join == PHX_LAYOUT_RAID1 || v->join == PHX_LAYOUT_RAID10;
}

/* ---- RAID ---- */

static void md_node(uint32_t index, char ret[PHX_VOLUME_DEVICE_MAX])
{
	snprintf(ret, PHX_VOLUME_DEVICE_MAX, "/dev/md%u", MD_FIRST + index);
}

/* An array that is stopped may still have a device. */
static bool md_runs(uint32_t index)
{
	char path[64], state[32] = "";
	snprintf(path, sizeof(path), "/sys/block/md%u/md/array_state", MD_FIRST + index);
	FILE *f = fopen(path, "re");
	bool runs = f && fgets(state, sizeof(state), f) && strncmp(state, "clear", 5) != 0 &&
		strncmp(state, "inactive", 8) != 0;
	if (f)
		fclose(f);
	return runs;
}

static const char *level_of(const struct phx_layout_volume *v)
{
	return v->join == PHX_LAYOUT_RAID0 ? "0" : v->join == PHX_LAYOUT_RAID1 ? "1" : "10";
}

static int md_create(const struct phx_layout_volume *v, const char *node,
		     const struct phx_volume_parts *parts, struct phx_err *err)
{
	char devices[32], name[40];
	struct args a = {.n = 0};
	snprintf(devices, sizeof(devices), "--raid-devices=%u", parts->n);
	snprintf(name, sizeof(name), "--name=phx-%s", v->name);
	add(&a, "mdadm");
	add(&a, "--create");
	add(&a, node);
	add(&a, "--run");
	add(&a, "--quiet");
	add(&a, "--metadata=1.2");
	add(&a, "--homehost=any");
	add(&a, name);
	add(&a, "--level");
	add(&a, level_of(v));
	add(&a, devices);
	add_parts(&a, parts);
	return run(&a, err);
}

static int md_assemble(const char *node, const struct phx_volume_parts *parts, struct phx_err *err)
{
	struct args a = {.n = 0};
	add(&a, "mdadm");
	add(&a, "--assemble");
	add(&a, node);
	add(&a, "--run");
	add(&a, "--quiet");
	add_parts(&a, parts);
	return run(&a, err);
}

static int raid_stop(const struct phx_layout_volume *v, uint32_t index, struct phx_err *err)
{
	char node[PHX_VOLUME_DEVICE_MAX];
	struct args a = {.n = 0};
	(void)v;
	md_node(index, node);
	if (!md_runs(index))
		return 0;
	add(&a, "mdadm");
	add(&a, "--stop");
	add(&a, "--quiet");
	add(&a, node);
	return run(&a, err);
}

/* ---- LVM ---- */

/* There is no udev where this runs, and no copy of what LVM writes is kept there. */
static char *lvm_config(const struct phx_volume_parts *parts)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "devices { obtain_device_list_from_udev=0 use_devicesfile=0 filter=[");
	for (uint32_t i = 0; parts && i < parts->n; i++)
		phx_buf_addf(&b, " \"a|^%s$|\",", parts->nodes[i]);
	phx_buf_addf(&b,
		     "%s ] } activation { udev_sync=0 udev_rules=0 monitoring=0 } "
		     "backup { backup=0 archive=0 } global { event_activation=0 }",
		     parts ? " \"r|.*|\"" : " \"a|.*|\"");
	return b.failed ? NULL : phx_buf_take(&b);
}

static void lvm_group(const struct phx_layout_volume *v, char ret[40])
{
	snprintf(ret, 40, "phx_%s", v->name);
}

static int lvm(const char *command, const char *config, struct args *rest, struct phx_err *err)
{
	struct args a = {.n = 0};
	add(&a, "lvm");
	add(&a, command);
	add(&a, "--config");
	add(&a, config);
	add(&a, "--quiet");
	add(&a, "--yes");
	for (uint32_t i = 0; i < rest->n; i++)
		add(&a, rest->argv[i]);
	return run(&a, err);
}

static int lvm_create(const struct phx_layout_volume *v, const struct phx_volume_parts *parts,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *config = lvm_config(parts);
	char group[40];
	struct args of_group = {.n = 0}, of_volume = {.n = 0};
	if (!config)
		return -ENOMEM;
	lvm_group(v, group);
	add(&of_group, group);
	add_parts(&of_group, parts);
	add(&of_volume, "--extents");
	add(&of_volume, "100%FREE");
	add(&of_volume, "--name");
	add(&of_volume, "data");
	add(&of_volume, group);
	int r = lvm("vgcreate", config, &of_group, err);
	return r ? r : lvm("lvcreate", config, &of_volume, err);
}

static int lvm_activate(const struct phx_layout_volume *v, const char *yes,
			const struct phx_volume_parts *parts, struct phx_err *err)
{
	PHX_AUTO_FREE char *config = lvm_config(parts);
	char group[40];
	struct args a = {.n = 0};
	lvm_group(v, group);
	add(&a, "--activate");
	add(&a, yes);
	add(&a, group);
	return config ? lvm("vgchange", config, &a, err) : -ENOMEM;
}

static void lvm_node(const struct phx_layout_volume *v, char ret[PHX_VOLUME_DEVICE_MAX])
{
	snprintf(ret, PHX_VOLUME_DEVICE_MAX, "/dev/phx_%s/data", v->name);
}

/* ---- one or the other ---- */

static int plain_device(const struct phx_layout_volume *v, uint32_t index,
			const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
			struct phx_err *err)
{
	(void)v, (void)index, (void)err;
	return phx_str_copy(ret, PHX_VOLUME_DEVICE_MAX, parts->nodes[0]);
}

static int plain_stop(const struct phx_layout_volume *v, uint32_t index, struct phx_err *err)
{
	(void)v, (void)index, (void)err;
	return 0;
}

static int raid_join(const struct phx_layout_volume *v, uint32_t index,
		     const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		     struct phx_err *err)
{
	md_node(index, ret);
	return md_create(v, ret, parts, err);
}

static int raid_rejoin(const struct phx_layout_volume *v, uint32_t index,
		       const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		       struct phx_err *err)
{
	(void)v;
	md_node(index, ret);
	return md_runs(index) ? 0 : md_assemble(ret, parts, err);
}

static int lvm_join(const struct phx_layout_volume *v, uint32_t index,
		    const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		    struct phx_err *err)
{
	(void)index;
	lvm_node(v, ret);
	return lvm_create(v, parts, err);
}

static int lvm_rejoin(const struct phx_layout_volume *v, uint32_t index,
		      const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		      struct phx_err *err)
{
	(void)index;
	lvm_node(v, ret);
	return lvm_activate(v, "y", parts, err);
}

static int lvm_stop(const struct phx_layout_volume *v, uint32_t index, struct phx_err *err)
{
	char node[PHX_VOLUME_DEVICE_MAX];
	(void)index;
	lvm_node(v, node);
	return access(node, F_OK) < 0 ? 0 : lvm_activate(v, "n", NULL, err);
}

typedef int (*join_fn)(const struct phx_layout_volume *v, uint32_t index,
		       const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		       struct phx_err *err);

/* by enum phx_layout_join */
static const struct {
	join_fn join, rejoin;
	int (*part)(const struct phx_layout_volume *v, uint32_t index, struct phx_err *err);
} joins[] = {
	[PHX_LAYOUT_PLAIN] = {plain_device, plain_device, plain_stop},
	[PHX_LAYOUT_RAID0] = {raid_join, raid_rejoin, raid_stop},
	[PHX_LAYOUT_RAID1] = {raid_join, raid_rejoin, raid_stop},
	[PHX_LAYOUT_RAID10] = {raid_join, raid_rejoin, raid_stop},
	[PHX_LAYOUT_LVM] = {lvm_join, lvm_rejoin, lvm_stop},
};

int phx_volume_join(const struct phx_layout_volume *v, uint32_t index,
		    const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		    struct phx_err *err)
{
	return joins[v->join].join(v, index, parts, ret, err);
}

int phx_volume_rejoin(const struct phx_layout_volume *v, uint32_t index,
		      const struct phx_volume_parts *parts, char ret[PHX_VOLUME_DEVICE_MAX],
		      struct phx_err *err)
{
	return joins[v->join].rejoin(v, index, parts, ret, err);
}

int phx_volume_part(const struct phx_layout_volume *v, uint32_t index, struct phx_err *err)
{
	return joins[v->join].part(v, index, err);
}
