/* A site is equipped: pools of several owners with several setup policies, roles on disk and in
 * memory, machines of several kinds. Called by fault.c once a run. */
#include "fault/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RESTART_SILENT_S = 900 };

static const struct phx_setup setups[FAULT_POOLS] = {
	[3] = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH, PHX_VERIFY_SAMPLE,
	       PHX_SETUP_START_AUTO},
	[4] = {PHX_SETUP_WIPE, PHX_WIPE_CRYPTO, PHX_WHEN_RELEASE, PHX_VERIFY_SAMPLE,
	       PHX_SETUP_START_AUTO},
	[6] = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_ASSIGN, PHX_VERIFY_SAMPLE,
	       PHX_SETUP_START_AUTO},
	[7] = {PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE, PHX_WHEN_RELEASE, PHX_VERIFY_SAMPLE,
	       PHX_SETUP_START_AUTO},
	[9] = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH, PHX_VERIFY_SAMPLE,
	       PHX_SETUP_START_AUTO},
	[10] = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_RELEASE, PHX_VERIFY_SAMPLE,
		PHX_SETUP_START_AUTO},
};

static void pool_event(const struct fault_sim *f, int pool, struct phx_event *ret)
{
	ret->kind = PHX_EV_pool_put;
	PHX_STR_SET(ret->pool.pool_put.name, phx_fault_pool_names[pool]);
	PHX_STR_SET(ret->pool.pool_put.owner, phx_fault_pool_owners[pool]);
	ret->pool.pool_put.setup = f->pool_setup[pool];
}

static int configure(struct fault_sim *f)
{
	int r = 0;
	memcpy(f->pool_setup, setups, sizeof(setups));
	for (int i = 1; r == 0 && i < FAULT_PUT_POOLS; i++) {
		struct phx_event ev = {0};
		pool_event(f, i, &ev);
		r = phx_fault_submit(f, &ev, NULL);
		phx_event_fini(&ev);
	}
	for (int i = 0; r == 0 && i < FAULT_ROLES; i++) {
		struct phx_event ev = {0};
		f->role_version[i] = 1;
		phx_fault_role_event(f, i, &ev);
		r = phx_fault_submit(f, &ev, NULL);
		phx_event_fini(&ev);
	}
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = f->head.s->settings};
	ev.site.settings.looks = ev.site.settings.tokens = ev.site.settings.attests = true;
	ev.site.settings.rekeys = ev.site.settings.resets = ev.site.settings.measures = true;
	ev.site.settings.takes_back = true;
	ev.site.settings.takes_unheard = true;
	ev.site.settings.shares_triggers = true;
	ev.site.settings.doubts_claims = true;
	ev.site.settings.keeps_left = true;
	ev.site.settings.serves_late = true;
	ev.site.settings.doubts_uuids = true;
	ev.site.settings.redoes_role = true;
	ev.site.settings.shares_addresses = true;
	ev.site.settings.protects = ev.site.settings.protect.remote = true;
	/* half of the worlds wait for people */
	ev.site.settings.restart_silent_s = f->o.seed % 2 ? RESTART_SILENT_S : 0;
	return r ? r : phx_fault_submit(f, &ev, NULL);
}

/* ---- machines ---- */

static void make_disk(struct fault_sim *f, struct fault_machine *m, uint32_t i)
{
	struct fault_disk *d = &m->disks[i];
	snprintf(d->id, sizeof(d->id), "serial-disk%u-%u", m->i, i);
	d->size_bytes = (uint64_t)(4 + 4 * i) << 30;
	d->can_discard = phx_fault_chance(f, 600);
	d->can_secure = phx_fault_chance(f, 300);
	d->role = -1;
}

static void make_machine(struct fault_sim *f, struct fault_machine *m, uint32_t i)
{
	m->i = (uint16_t)i;
	snprintf(m->mac, sizeof(m->mac), "52:54:00:00:%02x:%02x", i >> 8, i & 255);
	snprintf(m->serial, sizeof(m->serial), "serial-%u", i);
	snprintf(m->uuid, sizeof(m->uuid), "00000000-0000-4000-8000-%012u", i + 1);
	PHX_STR_SET(m->shown_uuid, m->uuid);
	m->bmc = phx_fault_chance(f, 850);
	m->falls_to_disk = phx_fault_chance(f, 250);
	m->n_disks = phx_fault_chance(f, 700) ? 1 : 2;
	for (uint32_t k = 0; k < m->n_disks; k++)
		make_disk(f, m, k);
	m->entered = -1;
	m->ram_role = -1;
	m->serves_pool = -1;
	snprintf(m->node, sizeof(m->node), "n%03u", i);
	snprintf(m->address, sizeof(m->address), "10.9.%u.%u", i / 250, i % 250 + 1);
}

static int announce(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_node_add, .node_add.hold = phx_fault_chance(f, 100)};
	struct phx_mac *mac = phx_list_push(&ev.node_add.macs, sizeof(*mac));
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.node_add.bmc.driver, m->bmc ? "ipmi" : "");
	PHX_STR_SET(ev.node_add.ip, m->i % 2 ? m->address : "");
	if (mac)
		PHX_STR_SET(mac->mac, m->mac);
	int r = mac ? phx_fault_submit(f, &ev, NULL) : -ENOMEM;
	phx_event_fini(&ev);
	return r;
}

int phx_fault_equip(struct fault_sim *f)
{
	f->m = calloc(f->n, sizeof(*f->m));
	f->head.wall_ahead_ms = 1000000;
	int r = f->m ? phx_fault_head_open(f) : -ENOMEM;
	r = r ? r : configure(f);
	for (uint32_t i = 0; r == 0 && i < f->n; i++) {
		make_machine(f, &f->m[i], i);
		r = announce(f, &f->m[i]);
	}
	return r;
}
