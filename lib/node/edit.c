/* What a machine is known by, changed by hand: a board or a network card was replaced, an address
 * moved. It counts from the next start on, and is not changed under a hand-over, which awaits the
 * machine as it was known. Called by the table of events and by enrol.c. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

#include "state/known.h"

static int check_mac(struct phx_apply *a, const char *name, const char *text)
{
	char mac[PHX_MAC_MAX];
	if (phx_mac_parse(text, mac) < 0 || strcmp(mac, text))
		return phx_err_set(a->err, -EINVAL, "'%s' is no MAC address (aa:bb:cc:dd:ee:ff)",
				   text);
	const struct phx_node *owner = phx_known_next(a->s, PHX_KNOWN_MAC, mac, 0);
	if (owner && strcmp(owner->name, name))
		return phx_err_set(a->err, -EEXIST, "MAC %s belongs to node %s already", mac,
				   owner->name);
	return 0;
}

int phx_identity_free(struct phx_apply *a, const char *name, const struct phx_list *macs,
		      const char *ip)
{
	int r = 0;
	if (macs->n > PHX_NODE_MACS_MAX)
		return phx_err_set(a->err, -EINVAL,
				   "macs: a machine has at most %d MAC addresses here",
				   PHX_NODE_MACS_MAX);
	PHX_LIST_EACH(struct phx_mac, m, macs)
		r = r ? r : check_mac(a, name, m->mac);
	const struct phx_node *n = r ? NULL : phx_known_next(a->s, PHX_KNOWN_IP, ip, 0);
	if (n && !strcmp(n->name, name))
		n = phx_known_next(a->s, PHX_KNOWN_IP, ip, phx_index_place(a->s, n) + 1);
	return !n ? r
		  : phx_err_set(a->err, -EEXIST, "address %s belongs to node %s already", ip,
				n->name);
}

static int check(struct phx_apply *a, const struct phx_node *n, const struct phx_event_node_edit *p)
{
	bool serves = n->state == PHX_NODE_ACTIVE;
	uint32_t n_macs = p->macs.n ? p->macs.n : n->macs.n;
	const char *serial = p->has_serial ? p->serial : n->serial;
	if (phx_node_step(n))
		return phx_err_set(a->err, -EBUSY,
				   "%s is in the middle of %s, which awaits it as it is known now",
				   n->name, phx_request_name(&n->plan));
	if (p->has_ip && serves && strcmp(p->ip, n->ip))
		return phx_err_set(a->err, -EPERM,
				   "%s is active, and has its address in use: drain or release it "
				   "first",
				   n->name);
	if (!n_macs && !serial[0] && !n->token_sha256[0] && !n->key_fp[0])
		return phx_err_set(a->err, -EINVAL,
				   "%s would be known by nothing: give a MAC address or a serial "
				   "number",
				   n->name);
	return phx_identity_free(a, n->name, &p->macs, p->has_ip ? p->ip : "");
}

static bool macs_differ(const struct phx_node *n, const struct phx_list *macs)
{
	bool differ = macs->n != n->macs.n;
	for (uint32_t i = 0; !differ && i < macs->n; i++)
		differ = strcmp(PHX_LIST_AT(macs, struct phx_mac, i)->mac,
				PHX_LIST_AT(&n->macs, struct phx_mac, i)->mac) != 0;
	return differ;
}

static int take_macs(struct phx_apply *a, struct phx_node *n, const struct phx_list *macs)
{
	struct phx_list list = {0};
	PHX_LIST_EACH(struct phx_mac, m, macs) {
		struct phx_mac *to = phx_grow(a, &list, sizeof(*to));
		if (!to) {
			phx_list_fini(&list);
			return -ENOMEM;
		}
		*to = *m;
	}
	phx_list_fini(&n->macs);
	n->macs = list;
	return 0;
}

int phx_apply_node_edit(struct phx_apply *a, const struct phx_event_node_edit *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	r = r ? r : check(a, n, p);
	if (r < 0)
		return r;
	bool macs = p->macs.n && macs_differ(n, &p->macs), ip = p->has_ip && strcmp(n->ip, p->ip),
	     serial = p->has_serial && strcmp(n->serial, p->serial);
	if (macs && take_macs(a, n, &p->macs) < 0)
		return -ENOMEM;
	if (ip)
		PHX_STR_SET(n->ip, p->ip);
	if (serial)
		PHX_STR_SET(n->serial, p->serial);
	if (macs || ip)
		phx_act(a, PHX_ACT_DHCP, n);
	a->out->changed = macs || ip || serial;
	phx_touch(a->s, n);
	return 0;
}
