/* Enrolment: announces, accepts, certifies and removes nodes. A known node without its key is
 * certified again only by the token of a start that the head ordered or awaits (start.c). It must
 * match in MAC address and serial number, and ask from its reserved address if it has one. A
 * machine that does not match changes nothing. Called by the table of events. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "state/gone.h"
#include "state/known.h"

enum {
	STRANGERS_MAX = 1000, /* unknown machines that wait to be accepted */
};
/* Anybody can cause refusals at any rate, so notes about them are rate-limited. */
#define TOLD_AGAIN_MS (60 * 1000) /* between notes of one node */
#define TOLD_NEXT_MS (10 * 1000)  /* between notes of any nodes */

/* ---- announcing ---- */

static int check_add(struct phx_apply *a, const struct phx_event_node_add *p)
{
	const char *name = a->ev->node;
	if (!phx_name_valid(name))
		return phx_err_set(a->err, -EINVAL,
				   "'%s' is no node name: it can have letters, digits, '-', '_' "
				   "and '.', at most %d "
				   "in all",
				   name, PHX_NAME_MAX - 1);
	if (!p->macs.n && !p->serial[0] && !p->token_sha256[0])
		return phx_err_set(a->err, -EINVAL,
				   "%s: give a MAC address, a serial number or a token by which it "
				   "will be known",
				   name);
	return phx_identity_free(a, name, &p->macs, p->ip);
}

static bool same_macs(const struct phx_node *n, const struct phx_list *macs)
{
	PHX_LIST_EACH(struct phx_mac, m, macs)
		if (!phx_node_has_mac(n, m->mac))
			return false;
	return true;
}

/* What is announced again must say what it said: nothing is dropped in silence. */
static int check_same(struct phx_apply *a, const struct phx_node *n,
		      const struct phx_event_node_add *p)
{
	const char *other = NULL;
	struct phx_bmc bmc = p->bmc;
	PHX_STR_SET(bmc.node, n->name);
	if (!same_macs(n, &p->macs))
		other = "other MAC addresses (phx node edit changes them)";
	else if (p->serial[0] && strcmp(p->serial, n->serial) != 0)
		other = "another serial number (phx node edit changes it)";
	else if (p->ip[0] && strcmp(p->ip, n->ip) != 0)
		other = "another reserved address (phx node edit changes it)";
	else if (p->bmc.driver[0] && !phx_record_equal(&phx_bmc_record, &bmc, &n->bmc))
		other = "another BMC (phx node bmc changes it)";
	return other
		? phx_err_set(a->err, -EEXIST, "node %s is there already, with %s", n->name, other)
		: 0;
}

/* Adds those that `dst` lacks, as many as there is room for; -ENOMEM. */
static int copy_macs(struct phx_list *dst, const struct phx_list *src)
{
	PHX_LIST_EACH(struct phx_mac, m, src) {
		bool twice = false;
		PHX_LIST_EACH(struct phx_mac, have, dst)
			twice = twice || !strcmp(have->mac, m->mac);
		if (twice || dst->n >= PHX_NODE_MACS_MAX)
			continue;
		struct phx_mac *to = phx_list_push(dst, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = *m;
	}
	return 0;
}

static struct phx_node *new_node(struct phx_apply *a, const char *name, const struct phx_list *macs,
				 const char *serial, const char *uuid)
{
	struct phx_node *n = phx_grow(a, &a->s->nodes, sizeof(*n));
	if (!n)
		return NULL;
	PHX_STR_SET(n->name, name);
	n->number = ++a->s->last_node_number;
	/* above every epoch of a removed node of this name: neither its orders nor its keys come
	 * back */
	n->epoch = a->s->last_step_id;
	if (copy_macs(&n->macs, macs) < 0 || phx_index_ready(a->s) < 0) {
		phx_record_fini(&phx_node_record, n);
		a->s->nodes.n--;
		return NULL;
	}
	PHX_STR_SET(n->serial, serial);
	PHX_STR_SET(n->uuid, uuid);
	return n;
}

int phx_apply_node_add(struct phx_apply *a, const struct phx_event_node_add *p)
{
	const char *name = a->ev->node;
	int r = check_add(a, p);
	if (r < 0)
		return r;
	struct phx_node *n = phx_state_node(a->s, name);
	if (n)
		return check_same(a, n, p);
	n = new_node(a, name, &p->macs, p->serial, p->uuid);
	if (!n)
		return -ENOMEM;
	PHX_STR_SET(n->ip, p->ip);
	PHX_STR_SET(n->token_sha256, p->token_sha256);
	n->hold = p->hold;
	n->accepted = !p->hold;
	n->bmc = p->bmc;
	PHX_STR_SET(n->bmc.node, n->name);
	PHX_STR_SET(a->out->node, n->name);
	a->out->changed = true;
	phx_act(a, PHX_ACT_DHCP, n);
	return 0;
}

int phx_apply_node_remove(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	if (r < 0)
		return r;
	bool idle = n->state == PHX_NODE_NEW || n->state == PHX_NODE_READY ||
		n->state == PHX_NODE_QUARANTINED || n->state == PHX_NODE_COMMISSIONING;
	if (!idle && !p->force)
		return phx_err_set(a->err, -EPERM, "%s is %s: release it first, or use force",
				   n->name, phx_enum_name(&phx_node_state_names, n->state));
	if (n->jobs_running && !p->force)
		return phx_err_set(a->err, -EBUSY,
				   "%s runs jobs, which would be started elsewhere too: switch it "
				   "off, or use force if it is off",
				   n->name);
	if (n->dirty && !p->force)
		return phx_err_set(a->err, -EPERM,
				   "%s holds data of %s, which would be forgotten: wipe it first, "
				   "or use force",
				   n->name, n->tenant);
	r = phx_order_jobs_allow(a, &o);
	if (r < 0)
		return r;
	if (p->jobs != PHX_JOBS_UNSAID)
		phx_put_text(a, &n->cut_by, "%s", a->ev->by[0] ? a->ev->by : "phxd");
	phx_jobs_lost(a, n, 255);
	phx_holding_leave(a, n);
	phx_act(a, PHX_ACT_DHCP, n);
	phx_key_doom_unsure(a, n);
	phx_key_doom(a, n->disk_key_id);
	phx_line_leave(a, n);
	phx_node_go(a->s, n);
	a->out->changed = true;
	return 0;
}

int phx_apply_node_bmc(struct phx_apply *a, const struct phx_event_node_bmc *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	struct phx_bmc bmc = n->bmc;
	phx_bmc_change(&bmc, &p->bmc, &p->only);
	PHX_STR_SET(bmc.node, n->name);
	a->out->changed = !phx_record_equal(&phx_bmc_record, &n->bmc, &bmc);
	n->bmc = bmc;
	return 0;
}

/* ---- accepting ---- */

static void rename_node(struct phx_apply *a, struct phx_node *n, const char *name)
{
	phx_act(a, PHX_ACT_DHCP, n);
	phx_index_rename(a->s, n, name);
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->bmc.node, name);
}

int phx_apply_node_accept(struct phx_apply *a, const struct phx_event_named *p)
{
	struct phx_node *n;
	const char *name = p->name;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	if (name[0] && strcmp(name, n->name)) {
		if (!phx_name_valid(name))
			return phx_err_set(a->err, -EINVAL, "'%s' is no node name", name);
		if (phx_state_node(a->s, name))
			return phx_err_set(a->err, -EEXIST, "there is a node '%s' already", name);
		if (n->state != PHX_NODE_NEW)
			return phx_err_set(
				a->err, -EPERM,
				"%s has a certificate under its name: it cannot be renamed",
				n->name);
	}
	if (n->state == PHX_NODE_QUARANTINED)
		return phx_err_set(a->err, -EPERM, "%s is quarantined (%s): use resume", n->name,
				   n->reason);
	if (n->state != PHX_NODE_NEW && n->accepted) {
		phx_lost_accept(a, n);
		return 0;
	}
	a->out->changed = !n->accepted || n->hold || (name[0] && strcmp(name, n->name));
	if (name[0] && strcmp(name, n->name))
		rename_node(a, n, name);
	n->accepted = true;
	n->hold = false;
	PHX_STR_SET(a->out->node, n->name);
	if (a->out->changed)
		phx_act(a, PHX_ACT_DHCP, n);
	return 0;
}

/* ---- enrolment ---- */

/* Finds the node that the machine's MAC addresses, serial number or token belong to. -ENOTUNIQ:
 * they belong to two nodes. */
static int find_enrolling(const struct phx_state *s, const struct phx_event_enrol *p,
			  struct phx_node **ret, struct phx_err *err)
{
	struct phx_node *found = NULL;
	PHX_LIST_EACH(struct phx_mac, m, &p->macs) {
		struct phx_node *n = phx_known_next(s, PHX_KNOWN_MAC, m->mac, 0);
		if (n && found && n != found)
			return phx_err_set(err, -ENOTUNIQ,
					   "its MAC addresses belong to %s and to %s", found->name,
					   n->name);
		found = n ? n : found;
	}
	if (!found) {
		struct phx_node *serial = phx_known_next(s, PHX_KNOWN_SERIAL, p->serial, 0),
				*token = phx_known_next(s, PHX_KNOWN_TOKEN, p->token_sha256, 0);
		/* of two nodes, the first in the list */
		found = !serial || (token && token < serial) ? token : serial;
	}
	*ret = found;
	return 0;
}

const char *phx_enrolling(const struct phx_state *s, const struct phx_event_enrol *p)
{
	struct phx_node *n = NULL;
	return find_enrolling(s, p, &n, NULL) == 0 && n ? n->name : "";
}

/* The name of an unknown machine. phxd draws it: all users see names, but only the resource
 * provider may see MAC addresses. In older journals the name was made of the boot MAC. */
static void name_stranger(const struct phx_event_enrol *p, char ret[PHX_NAME_MAX])
{
	const char *mac = PHX_LIST_AT(&p->macs, struct phx_mac, 0)->mac;
	int at = snprintf(ret, PHX_NAME_MAX, "%s", p->name);
	if (at)
		return;
	at = snprintf(ret, PHX_NAME_MAX, "n-");
	for (; *mac; mac++)
		if (*mac != ':')
			ret[at++] = *mac;
	ret[at] = '\0';
}

/* A machine that was not announced gets a name and waits to be accepted. Invented machines can fill
 * only these waiting places. */
static int stranger(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node **ret)
{
	char name[PHX_NAME_MAX];
	if (phx_index_count(a->s, PHX_SET_STRANGER) >= STRANGERS_MAX)
		return phx_err_set(
			a->err, -EAGAIN,
			"%d unknown machines wait to be accepted already: no more are taken",
			STRANGERS_MAX);
	name_stranger(p, name);
	if (phx_state_node(a->s, name))
		return phx_err_set(a->err, -EEXIST, "a node of another MAC address is called %s",
				   name);
	*ret = new_node(a, name, &p->macs, p->serial, p->uuid);
	return *ret ? 0 : -ENOMEM;
}

/* Does the enrolment say from which address it came? Stricter rules hold then; older journals do
 * not say it. */
static bool says_from(const struct phx_event_enrol *p)
{
	return p->address[0];
}

/* False: not again so soon. */
static bool tell_refusal(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n,
			 const char *why)
{
	int64_t now = a->s->now_ms;
	bool told = n->refused_ms && now - n->refused_ms < TOLD_AGAIN_MS;
	bool busy = a->s->refused_ms && now - a->s->refused_ms < TOLD_NEXT_MS;
	if (told || busy)
		return false;
	n->refused_ms = a->s->refused_ms = now;
	a->out->changed = true;
	phx_note(a, n, "%s: a certificate is refused to who asks for it from %.60s: %s", n->name,
		 p->address, why);
	return true;
}

static int answer_refused(struct phx_apply *a, const char *why)
{
	a->out->enrol = PHX_ENROL_REFUSED;
	snprintf(a->out->text, sizeof(a->out->text), "%s", why);
	return 0;
}

/* Refuses a caller that has not proven to be the machine; the node does not change. */
static int refuse_stranger(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n,
			   const char *why)
{
	tell_refusal(a, p, n, why);
	return answer_refused(a, why);
}

/* Refuses a caller that matches all that is known of the machine. In older journals all are refused
 * this way. */
static int refuse(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n,
		  const char *why)
{
	/* without a serial number the machine is known only by its MAC address, which anybody can
	 * fake */
	if (says_from(p) && !n->serial[0])
		return refuse_stranger(a, p, n, why);
	/* a node that is up under its own key must not suffer from a machine that uses its address
	 */
	if (!n->up && n->state != PHX_NODE_QUARANTINED)
		phx_quarantine(a, n, why);
	else if (says_from(p))
		tell_refusal(a, p, n, why);
	return answer_refused(a, why);
}

/* May a silent machine have been reset without an order of ours? Somebody asks from its own address
 * and without its key, and nothing awaits it. */
static bool is_lost(const struct phx_node *n, const struct phx_event_enrol *p)
{
	const char *its = n->ip[0] ? n->ip : n->address;
	return its[0] && !strcmp(its, p->address) && !n->up && !n->window && !phx_node_step(n) &&
		n->state != PHX_NODE_QUARANTINED;
}

/* Refuses a caller that may be the machine, or somebody who took its address: the node stays as it
 * is, and people are told what lets the machine in. */
static int refuse_claim(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n,
			const char *why)
{
	char what[256];
	snprintf(what, sizeof(what), "%s; if this is the machine: phx node %s%.63s%s", why,
		 phx_node_has_bmc(n) ? "power " : "accept ", n->name,
		 phx_node_has_bmc(n) ? " cycle" : "");
	if (tell_refusal(a, p, n, what))
		phx_lost_claimed(a, n);
	return answer_refused(a, why);
}

/* As it was in older journals: the machine is started again by its BMC, or quarantined. */
static int believe_claim(struct phx_apply *a, struct phx_node *n, const char *why)
{
	if (!phx_node_has_bmc(n)) {
		phx_quarantine(a, n,
			       "it came back without its key, and no order of ours had started it: "
			       "phx node resume lets it in again");
		return answer_refused(a, why);
	}
	phx_note(a, n, "%s has come back without its key: it is started again, with a token",
		 n->name);
	phx_act_power(a, n, PHX_POWER_BOOT);
	phx_start_await(a, n);
	return answer_refused(a, why);
}

/* Refuses a caller that matches the machine but does not show the token of an awaited start. */
static int without_token(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n)
{
	const char *why = n->start ? "it comes without its key, and does not show the token of its "
				     "last start"
				   : "it comes without its key, and no start of it is awaited";
	if (is_lost(n, p) && a->s->settings.doubts_claims)
		return refuse_claim(a, p, n, why);
	if (is_lost(n, p) && n->serial[0])
		return believe_claim(a, n, why);
	return refuse_stranger(a, p, n, why);
}

/* What is wrong with the address that the machine asks from; NULL: nothing. A node with a reserved
 * address must ask from that one. Others may ask from any address but the head's own, which every
 * user of the head can use. */
static const char *wrong_place(const struct phx_node *n, const struct phx_event_enrol *p)
{
	if (!says_from(p) || (p->local && p->local_ok))
		return NULL;
	if (n->ip[0])
		return strcmp(n->ip, p->address)
			? "it asks from another address than the one reserved for the node"
			: NULL;
	return p->local ? "it asks on the head itself (enrol_over_loopback is off)" : NULL;
}

/* Why the machine is not the node that it claims to be; NULL: it matches. */
static const char *not_the_node(const struct phx_node *n, const struct phx_event_enrol *p)
{
	const char *wrong = wrong_place(n, p);
	if (wrong)
		return wrong;
	if (n->serial[0] && strcmp(n->serial, p->serial))
		return "its MAC address is known with another serial number";
	if (says_from(p) && n->token_sha256[0] && strcmp(n->token_sha256, p->token_sha256))
		return "it was announced with a token, and this one is not it";
	return NULL;
}

/* Does the machine bring MAC addresses to be learnt? Only when it comes for the first time, or with
 * another key, which takes a start. */
static bool brings_macs(const struct phx_node *n, const struct phx_event_enrol *p)
{
	bool known = !strcmp(n->key_fp, p->key_fp) && n->state != PHX_NODE_NEW;
	return !(p->macs_by_start && known) && !same_macs(n, &p->macs) &&
		n->macs.n < PHX_NODE_MACS_MAX;
}

static bool certify_changes(const struct phx_apply *a, const struct phx_node *n,
			    const struct phx_event_enrol *p)
{
	return strcmp(n->key_fp, p->key_fp) || (n->window && !a->s->settings.tokens) || !n->asked ||
		n->token_sha256[0] || n->state == PHX_NODE_NEW || (!n->serial[0] && p->serial[0]) ||
		(!n->uuid[0] && p->uuid[0]) || brings_macs(n, p);
}

static void take_key(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n)
{
	bool tokens = a->s->settings.tokens, another = strcmp(n->key_fp, p->key_fp) != 0;
	bool starts = (p->start && p->start == n->start) || n->state == PHX_NODE_NEW;
	PHX_STR_SET(n->key_fp, p->key_fp);
	if (tokens && says_from(p))
		PHX_STR_SET(n->address, p->address);
	if (another || !tokens)
		phx_start_close(n);
	if (another)
		n->brought = tokens && starts;
	if (another && tokens && starts)
		phx_start_used(a, n);
}

static void certify(struct phx_apply *a, const struct phx_event_enrol *p, struct phx_node *n)
{
	a->out->enrol = PHX_ENROL_CERTIFY;
	if (!certify_changes(a, n, p))
		return; /* the last answer was lost: give the same again */
	bool macs = brings_macs(n, p);
	take_key(a, p, n);
	n->asked = true;
	if (!n->serial[0])
		PHX_STR_SET(n->serial, p->serial);
	if (!n->uuid[0])
		PHX_STR_SET(n->uuid, p->uuid);
	if (macs)
		phx_stick(a, copy_macs(&n->macs, &p->macs));
	n->token_sha256[0] = '\0'; /* good for one enrolment */
	if (n->state == PHX_NODE_NEW)
		phx_node_must_become(a, n, PHX_NODE_COMMISSIONING);
	a->out->changed = true;
	phx_act(a, PHX_ACT_DHCP, n);
}

static int check_enrol(struct phx_apply *a, const struct phx_event_enrol *p)
{
	if (!p->key_fp[0])
		return phx_err_set(a->err, -EINVAL, "key_fp: an enrolment names its key");
	if (!p->macs.n)
		return phx_err_set(a->err, -EINVAL,
				   "macs: an enrolment names at least one MAC address");
	if (p->macs.n > PHX_NODE_MACS_MAX)
		return phx_err_set(a->err, -EINVAL,
				   "macs: a machine has at most %d MAC addresses here",
				   PHX_NODE_MACS_MAX);
	PHX_LIST_EACH(struct phx_mac, m, &p->macs) {
		char mac[PHX_MAC_MAX];
		if (phx_mac_parse(m->mac, mac) < 0 || strcmp(mac, m->mac))
			return phx_err_set(a->err, -EINVAL, "macs: '%s' is no MAC address", m->mac);
	}
	return 0;
}

int phx_apply_enrol(struct phx_apply *a, const struct phx_event_enrol *p)
{
	struct phx_node *n = NULL;
	int r = check_enrol(a, p);
	r = r ? r : find_enrolling(a->s, p, &n, a->err);
	if (r < 0)
		return r;
	if (!n && says_from(p) && p->local && !p->local_ok)
		return answer_refused(
			a, "machines do not enrol on the head itself (enrol_over_loopback is off)");
	if (!n)
		r = stranger(a, p, &n);
	if (r < 0)
		return r;
	PHX_STR_SET(a->out->node, n->name);
	const char *wrong = not_the_node(n, p);
	if (wrong && says_from(p))
		return refuse_stranger(a, p, n, wrong);
	if (n->state == PHX_NODE_QUARANTINED && !n->awaited)
		return answer_refused(a, n->reason);
	if (wrong)
		return refuse(a, p, n, wrong);
	if (!n->accepted) {
		a->out->enrol = PHX_ENROL_PENDING;
		a->out->changed = !n->asked;
		n->asked = true;
		return 0;
	}
	bool window = n->window && n->window_until_ms > a->s->now_ms;
	bool shows = !n->start || p->start == n->start; /* an older head gave no token */
	if (!n->key_fp[0] || !strcmp(n->key_fp, p->key_fp) || (window && shows)) {
		certify(a, p, n);
		return 0;
	}
	if (a->s->settings.tokens)
		return without_token(a, p, n);
	return refuse(a, p, n, "it came back without its key, and no order of ours had started it");
}
