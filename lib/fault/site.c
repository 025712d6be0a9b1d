/* The site of the fault simulation: its pools, roles and runtime environments by name and number,
 * its machines by name and by what they tell of themselves. Called by all floors above. */
#include "fault/parts.h"

#include <stdio.h>
#include <string.h>

const char *const phx_fault_pool_names[FAULT_POOLS] = {"free",  "batch", "web",    "guest",
						       "vault", "lab",   "intake", "secure",
						       "queue", "shop",  "alone",  "flow"};
const char *const phx_fault_pool_owners[FAULT_POOLS] = {
	"", "hpc", "hpc", "other", "bank", "uni", "uni", "army", "corp", "mall", "uni", "sky"};

struct site_role {
	const char *name, *pool, *image;
	bool jobs;
	int boot;
};

static const struct site_role roles[FAULT_ROLES] = {
	{"compute", "batch", "debian-12", true, PHX_ROLE_BOOT_DISK},
	{"web", "web", "debian-12", false, PHX_ROLE_BOOT_DISK},
	{"ramweb", "web", "debian-12", false, PHX_ROLE_BOOT_RAM},
	{"guest", "guest", "debian-12", false, PHX_ROLE_BOOT_DISK},
	{"vault", "vault", "debian-12", false, PHX_ROLE_BOOT_DISK},
	{"lab", "lab", "debian-12", true, PHX_ROLE_BOOT_DISK},
	{"intake", "intake", "debian-12", false, PHX_ROLE_BOOT_RAM},
	{"secure", "secure", "hardened", false, PHX_ROLE_BOOT_DISK},
};

const char *const phx_fault_role_names[FAULT_ROLES] = {"compute", "web", "ramweb", "guest",
						       "vault",   "lab", "intake", "secure"};

const struct fault_re phx_fault_res[FAULT_RES] = {
	{8, PHX_RE_BATCH, PHX_POLICY_fb, "compute", "shop", 14},
	{9, PHX_RE_WEB, PHX_POLICY_fb, "web", "queue", 8},
	{10, PHX_RE_BATCH, PHX_POLICY_dr, "lab", "", 5},
	[FAULT_RE_OF_FLOWS] = {11, PHX_RE_MANY_TASKS, PHX_POLICY_dr, "compute", "", 15},
};

static int find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

int phx_fault_pool_index(const char *name)
{
	return find(phx_fault_pool_names, FAULT_POOLS, name);
}

int phx_fault_role_index(const char *name)
{
	return find(phx_fault_role_names, FAULT_ROLES, name);
}

void phx_fault_role_event(const struct fault_sim *f, int role, struct phx_event *ret)
{
	const struct site_role *r = &roles[role];
	struct phx_package_ref *p = phx_list_push(&ret->role.role_put.packages, sizeof(*p));
	ret->kind = PHX_EV_role_put;
	ret->role.role_put.runs_jobs = r->jobs;
	ret->role.role_put.boot = r->boot;
	PHX_STR_SET(ret->role.role_put.name, r->name);
	PHX_STR_SET(ret->role.role_put.pool, r->pool);
	PHX_STR_SET(ret->role.role_put.image, r->image);
	PHX_STR_SET(ret->role.role_put.image_version, "1");
	PHX_STR_SET(ret->role.role_put.image_digest, r->image[0] == 'd' ? "d1" : "h1");
	/* one of the images has a kernel of its own */
	PHX_STR_SET(ret->role.role_put.image_kernel, r->image[0] == 'd' ? FAULT_KERNEL : "");
	ret->role.role_put.drain_grace_s = 30;
	if (!p)
		return;
	snprintf(p->name, sizeof(p->name), "pkg-%s", r->name);
	snprintf(p->version, sizeof(p->version), "%u", f->role_version[role]);
}

const char *phx_fault_re_name(int re)
{
	return phx_fault_pool_names[phx_fault_res[re].pool];
}

uint32_t phx_fault_re_lower(const struct fault_sim *f, int re)
{
	return 1 + f->n * phx_fault_res[re].percent / 100;
}

/* ---- machines ---- */

struct fault_machine *phx_fault_machine(struct fault_sim *f, const char *node)
{
	uint64_t i;
	if (node[0] == 'n' && phx_u64_parse(node + 1, 0, f->n - 1, &i) == 0 &&
	    !strcmp(f->m[i].node, node))
		return &f->m[i];
	for (i = 0; node[0] && i < f->n; i++)
		if (!strcmp(f->m[i].node, node))
			return &f->m[i];
	return NULL;
}

static void disk_facts(const struct fault_machine *m, uint32_t i, struct phx_disk_facts *ret)
{
	const struct fault_disk *d = &m->disks[i];
	PHX_STR_SET(ret->id, m->twins ? m->disks[0].id : d->id);
	ret->size_bytes = d->size_bytes;
	ret->can_discard = d->can_discard;
	ret->can_ata_sanitize = d->can_secure;
	ret->removable = d->hides == FAULT_HIDES_REMOVABLE;
	ret->remote = d->hides == FAULT_HIDES_REMOTE && phx_fault_env(m) == PHX_ENV_OS;
	PHX_STR_SET(ret->transport, ret->remote ? "fc" : "sata");
}

bool phx_fault_system_beside(const struct fault_machine *m)
{
	uint32_t with = 0;
	for (uint32_t i = 0; i < m->n_disks; i++)
		with += m->disks[i].has_state;
	return with && with < m->n_disks;
}

bool phx_fault_hides(const struct fault_machine *m)
{
	bool hides = false;
	for (uint32_t i = 0; i < m->n_disks; i++)
		hides = hides || m->disks[i].hides;
	return hides;
}

static bool hidden(const struct fault_machine *m, uint32_t i)
{
	enum fault_hides hides = m->disks[i].hides;
	return hides == FAULT_HIDES_EVERYWHERE ||
		(hides == FAULT_HIDES_IN_SYSTEM && phx_fault_env(m) == PHX_ENV_OS);
}

void phx_fault_facts(const struct fault_machine *m, struct phx_facts *ret)
{
	struct phx_nic_facts *nic = phx_list_push(&ret->nics, sizeof(*nic));
	if (nic)
		PHX_STR_SET(nic->mac, m->mac);
	for (uint32_t i = 0; i < m->n_disks; i++) {
		if (hidden(m, i))
			continue;
		struct phx_disk_facts *d = phx_list_push(&ret->disks, sizeof(*d));
		if (d)
			disk_facts(m, i, d);
	}
	PHX_STR_SET(ret->uuid, m->shown_uuid);
	PHX_STR_SET(ret->kernel, m->kernel.release[0] ? m->kernel.release : "deploy");
	PHX_STR_SET(ret->serial, m->serial);
	ret->cpus = 8;
	ret->memory_bytes = 16ULL << 30;
}
