/* A node that balances the load of web services: see web.h. Tables come whole
 * with orders; the kernel's is made the same by its differences, so that
 * connections under way stay. A director that loses the head goes on with the
 * last table. Never decides who is in it. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "base/json.h"
#include "ipvs/ipvs.h"
#include "phx-agent/log.h"
#include "phx-agent/web_internal.h"

enum { VIEW_SERVERS_MAX = 256 };

/* ---- virtual addresses ---- */

static uint32_t ipv4_of(const struct sockaddr *a)
{
	return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
}

/* The network card whose network the address is of. */
static int find_interface(const char *address, char ret[16], struct phx_err *err)
{
	struct ifaddrs *all;
	uint32_t wanted = 0;
	int r = -ENODEV;
	if (inet_pton(AF_INET, address, &wanted) != 1 || getifaddrs(&all) < 0)
		return phx_err_set(err, -EINVAL, "address %s: cannot be looked for", address);
	for (const struct ifaddrs *a = all; a && r < 0; a = a->ifa_next) {
		if (!a->ifa_addr || !a->ifa_netmask || a->ifa_addr->sa_family != AF_INET ||
		    (a->ifa_flags & IFF_LOOPBACK) || ipv4_of(a->ifa_netmask) == UINT32_MAX)
			continue;
		if (((ipv4_of(a->ifa_addr) ^ wanted) & ipv4_of(a->ifa_netmask)) == 0)
			r = phx_str_copy(ret, 16, a->ifa_name);
	}
	freeifaddrs(all);
	return r < 0 ? phx_err_set(err, r, "no network card of this node is in the network of %s", address) : 0;
}

static bool holds(const struct web *w, const char *address)
{
	PHX_LIST_EACH(struct phx_web_held, h, &w->addresses)
	if (phx_str_eq(h->address, address))
		return true;
	return false;
}

static int take_address(struct web *w, const char *address, struct phx_err *err)
{
	struct phx_web_held h;
	if (holds(w, address))
		return 0;
	int r = find_interface(address, h.interface, err);
	r = r ? r : phx_ipvs_address_add(h.interface, address, err);
	r = r ? r : phx_ipvs_address_announce(h.interface, address, err);
	struct phx_web_held *item = r == 0 ? phx_list_push(&w->addresses, sizeof(*item)) : NULL;
	if (!item)
		return r ? r : -ENOMEM;
	PHX_STR_SET(h.address, address);
	*item = h;
	return 0;
}

static bool in_table(const struct phx_web_table *t, const char *address)
{
	PHX_LIST_EACH(struct phx_web_service, s, &t->services)
	if (phx_str_eq(s->address, address))
		return true;
	return false;
}

static int drop_addresses(struct web *w, const struct phx_web_table *keep, struct phx_err *err)
{
	for (uint32_t i = w->addresses.n; i > 0; i--) {
		const struct phx_web_held *h = PHX_LIST_AT(&w->addresses, struct phx_web_held, i - 1);
		if (in_table(keep, h->address))
			continue;
		int r = phx_ipvs_address_remove(h->interface, h->address, err);
		if (r < 0)
			return r;
		phx_list_remove(&w->addresses, sizeof(*h), i - 1);
	}
	return 0;
}

/* ---- the table ---- */

static int open_balancer(struct phx_ipvs **ret, struct phx_err *err)
{
	int r = phx_ipvs_load(err);
	r = r ? r : phx_ipvs_open(ret, err);
	/* who was connected to a server that is gone hears so at once, instead of nothing */
	r = r ? r : web_sysctl("net/ipv4/vs/expire_nodest_conn", "1", err);
	if (r < 0) {
		phx_ipvs_close(*ret);
		*ret = NULL;
	}
	return r;
}

static int put_table(struct web *w, const struct phx_web_table *table, struct phx_err *err)
{
	struct phx_ipvs *v = NULL;
	uint32_t changes = 0;
	int r = open_balancer(&v, err);
	r = r ? r : phx_ipvs_apply(v, table, &changes, err);
	PHX_LIST_EACH(struct phx_web_service, s, &table->services)
	r = r ? r : take_address(w, s->address, err);
	r = r ? r : drop_addresses(w, table, err);
	phx_ipvs_close(v);
	if (changes)
		agent_log("balancer: %u changes", changes);
	return r;
}

int director_apply(struct web *w, uint64_t id, const struct phx_web_table *table, struct phx_err *err)
{
	int r = phx_web_table_check(table, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&w->lock);
	w->table_id = 0;
	r = w->touch ? put_table(w, table, err) : 0;
	if (r == 0)
		w->table_id = id;
	pthread_mutex_unlock(&w->lock);
	return r;
}

int director_clear(struct web *w, struct phx_err *err)
{
	static const struct phx_web_table none;
	int r = 0;
	pthread_mutex_lock(&w->lock);
	if (w->touch && (w->table_id || w->addresses.n))
		r = put_table(w, &none, err);
	if (r == 0)
		w->table_id = 0;
	pthread_mutex_unlock(&w->lock);
	return r;
}

uint64_t director_id(struct web *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t id = w->table_id;
	pthread_mutex_unlock(&w->lock);
	return id;
}

static uint32_t count_servers(const struct phx_web_table *t)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_web_service, s, &t->services)
	n += s->servers.n;
	return n;
}

json_t *director_view(struct web *w)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = {0};
	struct phx_ipvs *v = NULL;
	if (!w->touch || !director_id(w))
		return NULL;
	int r = phx_ipvs_open(&v, NULL);
	r = r ? r : phx_ipvs_read(v, &t, NULL);
	phx_ipvs_close(v);
	/* a beat has its limits */
	bool all = r == 0 && count_servers(&t) <= VIEW_SERVERS_MAX;
	json_t *j = all ? phx_json_from_record(&phx_web_table_record, &t) : r == 0 ? json_object() : NULL;
	if (j)
		json_object_set_new(j, "id", json_integer((json_int_t)phx_web_table_id(&t)));
	return j;
}
