/* A node, two roles and an order, made from words such as "os bmc from=compute to=web wipe=auto":
 * for tests of the planner. */
#ifndef TESTS_NODE_PLAN_WORLD_H
#define TESTS_NODE_PLAN_WORLD_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node/plan.h"
#include "types/disk_select.h"

static const struct phx_protect plan_world_remote = {.remote = true};

struct plan_world {
	struct phx_node node;
	struct phx_role from, to;
	struct phx_plan_request q;
	bool again;
};

/* It is known what the disk is: remote, or one of the machine. */
static inline void plan_world_proven(struct plan_world *w, const struct phx_disk_facts *d,
				     bool remote)
{
	struct phx_known_disk *k = phx_list_push(&w->node.known_disks, sizeof(*k));
	PHX_STR_SET(k->id, d->id);
	PHX_STR_SET(k->transport, remote ? "fc" : "sata");
	k->size_bytes = d->size_bytes;
	k->remote = remote;
	k->proven = k->deploy = true;
}

static inline struct phx_disk_facts *plan_world_disk(struct plan_world *w, const char *id,
						     const char *able)
{
	struct phx_disk_facts *d = phx_list_push(&w->node.facts.disks, sizeof(*d));
	PHX_STR_SET(d->id, strchr(able, '0') ? "" : id);
	PHX_STR_SET(d->dev, id);
	d->size_bytes = 4ULL << 30;
	d->can_discard = strchr(able, 'd');
	d->can_ata_secure_erase = strchr(able, 's');
	d->can_nvme_format = strchr(able, 'n');
	d->read_only = strchr(able, 'r');
	d->removable = strchr(able, 'u');
	d->remote = strchr(able, 'f');
	PHX_STR_SET(d->transport, d->remote ? "fc" : "");
	if (strchr(able, '-'))
		d->size_bytes = 1 << 20;
	if (strchr(able, '+'))
		d->size_bytes *= 2;
	if (strpbrk(able, "pl"))
		plan_world_proven(w, d, strchr(able, 'p'));
	return d;
}

static inline void plan_world_role(struct phx_role *r, const char *name)
{
	PHX_STR_SET(r->name, name);
	PHX_STR_SET(r->image, "debian-12");
	PHX_STR_SET(r->image_version, "1");
	PHX_STR_SET(r->image_digest, "d1");
	r->runs_jobs = !strcmp(name, "compute");
	r->boot = phx_str_starts(name, "ram") ? PHX_ROLE_BOOT_RAM : PHX_ROLE_BOOT_DISK;
}

/* what a node holds: fits (the image, on disk "a"), old (another image there), ram (the image in
 * memory), key (encrypted on "a"), none */
static inline void plan_world_system(struct plan_world *w, const char *what)
{
	struct phx_node *n = &w->node;
	if (!strcmp(what, "none"))
		return;
	PHX_STR_SET(n->system_image, "debian-12");
	PHX_STR_SET(n->system_digest, strcmp(what, "old") ? "d1" : "d0");
	PHX_STR_SET(n->system_disk, strcmp(what, "ram") ? "a" : "");
	PHX_STR_SET(n->disk_key_id, strcmp(what, "key") ? "" : "k1");
}

static inline void plan_world_value(struct plan_world *w, const char *key, const char *value)
{
	struct plan_world *p = w;
	if (!strcmp(key, "from")) {
		plan_world_role(&p->from, value);
		p->q.from = &p->from;
		PHX_STR_SET(p->node.actual_role, value);
		phx_role_identity(&p->from, p->node.actual_identity,
				  sizeof(p->node.actual_identity));
	} else if (!strcmp(key, "to")) {
		plan_world_role(&p->to, value);
		p->q.to = &p->to;
	} else if (!strcmp(key, "system")) {
		plan_world_system(w, value);
	} else if (!strcmp(key, "wipe")) {
		p->q.setup.mode = PHX_SETUP_WIPE;
		phx_enum_parse(&phx_wipe_method_names, value, &p->q.setup.method, NULL);
	} else if (!strcmp(key, "setup")) {
		phx_enum_parse(&phx_setup_mode_names, value, &p->q.setup.mode, NULL);
	} else if (!strcmp(key, "a") || !strcmp(key, "b") || !strcmp(key, "c")) {
		plan_world_disk(w, key, value);
	} else if (!strcmp(key, "pool")) {
		p->q.to_pool = !strcmp(value, "same") ? "p1" : "p2";
	} else if (!strcmp(key, "start")) {
		phx_enum_parse(&phx_setup_start_names, value, &p->q.setup.start, NULL);
	} else if (!strcmp(key, "state")) {
		phx_enum_parse(&phx_node_state_names, value, &p->node.state, NULL);
	}
}

static inline void plan_world_flag(struct plan_world *w, const char *flag)
{
	struct phx_node *n = &w->node;
	if (!strcmp(flag, "os") || !strcmp(flag, "deploy")) {
		n->up = true;
		n->env = flag[0] == 'o' ? PHX_ENV_OS : PHX_ENV_DEPLOY;
	} else if (!strcmp(flag, "silent")) {
		n->env = PHX_ENV_OS;
	} else if (!strcmp(flag, "bmc")) {
		PHX_STR_SET(n->bmc.driver, "ipmi");
	}
	w->again = w->again || !strcmp(flag, "again");
	n->dirty = n->dirty || !strcmp(flag, "dirty") || !strcmp(flag, "clears");
	n->scratches = n->scratches || !strcmp(flag, "clears");
	n->key_unread = n->key_unread || !strcmp(flag, "unread");
	n->plain = n->plain || !strcmp(flag, "plain");
	w->q.looks = w->q.looks || !strcmp(flag, "looks");
	if (!strcmp(flag, "protects"))
		w->q.protect = &plan_world_remote;
	w->q.apart = w->q.apart || !strcmp(flag, "apart");
	n->fresh = n->fresh || !strcmp(flag, "fresh");
	w->q.agreed = w->q.agreed || !strcmp(flag, "agreed");
	w->q.encrypt = w->q.encrypt || !strcmp(flag, "encrypt");
	w->q.rebuild = w->q.rebuild || !strcmp(flag, "rebuild");
	w->q.power_cycle = w->q.power_cycle || !strcmp(flag, "cycle");
	w->q.deploy_env_only = w->q.deploy_env_only || !strcmp(flag, "resume");
}

/* Words: off silent deploy os; bmc; from=ROLE to=ROLE (compute runs jobs, ram* boots into memory);
 * system=...; wipe=METHOD, or setup=POLICY; a=, b=, c= a disk that can d(iscard) s(ecure erase)
 * n(vme) or is r(ead-only) u(sb) - small + large 0 nameless, says that it is on f(ibre channel),
 * and is proven to be p(art of a storage network) or l(ocal); protects: remote disks; encrypt
 * rebuild cycle resume;
 * agreed: the method is an agreement's; unread: its key was destroyed while it was out of reach;
 * plain: part of the data lies outside the encryption; looks: as by a head of today, not as in a
 * journal of before; pool=same; state=...; apart: it comes from another owner; fresh: its deploy
 * environment came by the token of a start; start=auto|kexec|power: what the agreements say of
 * that; again: a reboot; dirty: it holds data; clears: that, and its agent knows step scratch */
static inline void plan_world_read(struct plan_world *w, char *words)
{
	struct phx_nic_facts *nic = phx_list_push(&w->node.facts.nics, sizeof(*nic));
	PHX_STR_SET(nic->mac, "52:54:00:00:00:01");
	PHX_STR_SET(w->node.name, "n1");
	PHX_STR_SET(w->node.pool, "p1");
	w->node.state = PHX_NODE_READY;
	w->q.node = &w->node;
	w->q.to_pool = "p2";
	for (char *word; (word = strsep(&words, " "));) {
		char *equals = strchr(word, '=');
		if (!*word)
			continue;
		if (equals)
			*equals++ = '\0';
		if (equals)
			plan_world_value(w, word, equals);
		else
			plan_world_flag(w, word);
	}
}

/* "TIER: step step:disk/method ..." or the error. */
static inline void plan_world_say(struct plan_world *w, char *ret, size_t ret_size)
{
	struct phx_plan plan;
	struct phx_err err = {0};
	int r = w->again ? phx_plan_reboot(&w->q, &plan, &err)
			 : phx_plan_handover(&w->q, &plan, &err);
	if (r < 0) {
		snprintf(ret, ret_size, "%s: %s", strerrorname_np(-r), err.text);
		return;
	}
	size_t at =
		(size_t)snprintf(ret, ret_size, "%s:", phx_enum_name(&phx_tier_names, plan.tier));
	PHX_LIST_EACH(struct phx_step, s, &plan.steps) {
		at += (size_t)snprintf(ret + at, ret_size - at, " %s",
				       phx_enum_name(&phx_step_kind_names, s->kind));
		if (s->kind == PHX_STEP_wipe)
			at += (size_t)snprintf(ret + at, ret_size - at, ":%s/%s", s->disk,
					       phx_enum_name(&phx_wipe_method_names, s->method));
		else if (s->disk[0])
			at += (size_t)snprintf(ret + at, ret_size - at, ":%s", s->disk);
		if (s->key_id[0])
			at += (size_t)snprintf(ret + at, ret_size - at, "+%s", s->key_id);
	}
	PHX_LIST_EACH(struct phx_left_disk, l, &plan.left)
		at += (size_t)snprintf(ret + at, ret_size - at, " left:%s (%s)", l->id, l->why);
	phx_record_fini(&phx_plan_record, &plan);
}

static inline void plan_world_fini(struct plan_world *w)
{
	phx_record_fini(&phx_node_record, &w->node);
	phx_record_fini(&phx_role_record, &w->from);
	phx_record_fini(&phx_role_record, &w->to);
}

#endif
