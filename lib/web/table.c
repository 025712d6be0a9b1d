/* The wanted table of a load balancer, and the way to it: see table.h. Called by
 * lib/node (making), lib/ipvs (reading, comparing) and the agent (checking);
 * never decides how many instances there are. Pure. */
#include "web/table.h"

#include <errno.h>
#include <string.h>

#include "base/mix.h"

PHX_RECORD_TABLE(phx_web_server, PHX_WEB_SERVER_FIELDS);
PHX_RECORD_TABLE(phx_web_service, PHX_WEB_SERVICE_FIELDS);
PHX_RECORD_TABLE(phx_web_table, PHX_WEB_TABLE_FIELDS);
PHX_RECORD_TABLE(phx_web_held, PHX_WEB_HELD_FIELDS);
PHX_RECORD_TABLE(phx_web_share, PHX_WEB_SHARE_FIELDS);

static const char *const change_names[] = {"service_add", "service_edit",  "server_add",
					   "server_edit", "server_remove", "service_remove"};
const struct phx_enum phx_web_change_names = {"change", change_names, PHX_ARRAY_SIZE(change_names)};

void phx_web_table_fini(struct phx_web_table *t)
{
	phx_record_fini(&phx_web_table_record, t);
}

/* ---- checking ---- */

static bool scheduler_is_known(const char *name)
{
	static const char *const names[] = {"rr", "wrr", "lc", "wlc", "sh",
					    "dh", "sed", "nq", "mh"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

int phx_web_address_parse(const char *text, uint8_t ret[4])
{
	uint8_t bytes[4];
	for (int i = 0; i < 4; i++) {
		char part[4] = "";
		size_t n = strcspn(text, ".");
		uint64_t v;
		if (n == 0 || n > 3 || (n > 1 && text[0] == '0') || text[n] != (i < 3 ? '.' : '\0'))
			return -EINVAL;
		memcpy(part, text, n);
		if (phx_u64_parse(part, 0, 255, &v) < 0)
			return -EINVAL;
		bytes[i] = (uint8_t)v;
		text += n + 1;
	}
	memcpy(ret, bytes, sizeof(bytes));
	return 0;
}

bool phx_web_address_at(const char *text, uint32_t i, char ret[PHX_WEB_ADDRESS_MAX])
{
	static const char between[] = " ,\t";
	const char *word = text + strspn(text, between);
	for (; *word && i; i--) {
		word += strcspn(word, between);
		word += strspn(word, between);
	}
	size_t n = strcspn(word, between);
	if (!n)
		return false;
	n = n < PHX_WEB_ADDRESS_MAX ? n : PHX_WEB_ADDRESS_MAX - 1;
	memcpy(ret, word, n);
	ret[n] = '\0';
	return true;
}

bool phx_web_table_has(const struct phx_web_table *t, const char *address)
{
	PHX_LIST_EACH(struct phx_web_service, s, &t->services)
		if (!strcmp(s->address, address))
			return true;
	return false;
}

bool phx_web_share_holds(const struct phx_web_share *s, const char *address)
{
	PHX_LIST_EACH(struct phx_web_held, h, &s->held)
		if (!strcmp(h->address, address))
			return true;
	return false;
}

int phx_web_share_check(const struct phx_web_share *s, struct phx_err *err)
{
	const char *before = "";
	uint8_t bytes[4];
	if (s->held.n > PHX_WEB_SERVICES_MAX)
		return phx_err_set(err, -E2BIG, "more than %d addresses", PHX_WEB_SERVICES_MAX);
	PHX_LIST_EACH(struct phx_web_held, h, &s->held) {
		if (phx_web_address_parse(h->address, bytes) < 0)
			return phx_err_set(err, -EINVAL, "address '%.40s' must be an IPv4 address",
					   h->address);
		if (strcmp(before, h->address) >= 0)
			return phx_err_set(err, -EINVAL,
					   "address %s is there twice, or out of order",
					   h->address);
		before = h->address;
	}
	if (s->sync_id > 255)
		return phx_err_set(err, -EINVAL, "sync_id: %u must be at most 255", s->sync_id);
	return 0;
}

int phx_web_service_check(const struct phx_web_service *s, struct phx_err *err)
{
	uint8_t bytes[4];
	if (phx_web_address_parse(s->address, bytes) < 0)
		return phx_err_set(err, -EINVAL, "address: '%s' must be an IPv4 address",
				   s->address);
	if (!s->port || s->port > 65535)
		return phx_err_set(err, -EINVAL, "port: %u must be from 1 to 65535", s->port);
	if (!scheduler_is_known(s->scheduler))
		return phx_err_set(
			err, -EINVAL,
			"scheduler: '%s' must be one of rr, wrr, lc, wlc, sh, dh, sed, nq, mh",
			s->scheduler);
	return 0;
}

static int check_servers(const struct phx_web_service *s, struct phx_err *err)
{
	const char *before = "";
	uint8_t bytes[4];
	if (s->servers.n > PHX_WEB_SERVERS_MAX)
		return phx_err_set(err, -E2BIG, "more than %d servers", PHX_WEB_SERVERS_MAX);
	PHX_LIST_EACH(struct phx_web_server, v, &s->servers) {
		if (phx_web_address_parse(v->address, bytes) < 0)
			return phx_err_set(err, -EINVAL, "server '%s' must be an IPv4 address",
					   v->address);
		if (strcmp(before, v->address) >= 0)
			return phx_err_set(err, -EINVAL,
					   "server %s is there twice, or out of order", v->address);
		if (v->weight > PHX_WEB_WEIGHT_MAX)
			return phx_err_set(err, -EINVAL, "server %s: weight %u is above %d",
					   v->address, v->weight, PHX_WEB_WEIGHT_MAX);
		before = v->address;
	}
	return 0;
}

static int compare_services(const struct phx_web_service *a, const struct phx_web_service *b)
{
	int c = strcmp(a->address, b->address);
	return c ? c : (a->port > b->port) - (a->port < b->port);
}

int phx_web_table_check(const struct phx_web_table *t, struct phx_err *err)
{
	const struct phx_web_service *before = NULL;
	if (t->services.n > PHX_WEB_SERVICES_MAX)
		return phx_err_set(err, -E2BIG, "more than %d services", PHX_WEB_SERVICES_MAX);
	PHX_LIST_EACH(struct phx_web_service, s, &t->services) {
		int r = phx_web_service_check(s, err);
		if (r == 0 && before && compare_services(before, s) >= 0)
			r = phx_err_set(err, -EINVAL, "it is there twice, or out of order");
		r = r ? r : check_servers(s, err);
		if (r < 0)
			return phx_err_prefix(err, r, "service %s:%u", s->address, s->port);
		before = s;
	}
	return 0;
}

/* ---- making ---- */

int phx_web_weight(const struct phx_web_instance *i)
{
	if (!i->heard || !i->runs)
		return -ENOENT;
	if (i->serves)
		return i->healthy && !i->resting;
	return i->stopping ? 0 : -ENOENT;
}

/* An item put in at `at`, zeroed. NULL on ENOMEM. */
static void *insert(struct phx_list *l, size_t size, uint32_t at)
{
	if (!phx_list_push(l, size))
		return NULL;
	char *item = (char *)l->items + at * size;
	memmove(item + size, item, (l->n - 1 - at) * size);
	return memset(item, 0, size);
}

struct phx_web_service *phx_web_table_service(struct phx_web_table *t, const char *address,
					      uint32_t port, const char *scheduler)
{
	struct phx_web_service key = {.port = port};
	uint32_t at = 0;
	PHX_STR_SET(key.address, address);
	PHX_STR_SET(key.scheduler, scheduler);
	for (; at < t->services.n; at++) {
		struct phx_web_service *s = PHX_LIST_AT(&t->services, struct phx_web_service, at);
		int c = compare_services(s, &key);
		if (c == 0)
			return s;
		if (c > 0)
			break;
	}
	struct phx_web_service *s = insert(&t->services, sizeof(*s), at);
	if (s)
		*s = key;
	return s;
}

/* The server of that address, or where it belongs. */
static uint32_t find_server(const struct phx_web_service *s, const char *address, bool *ret_found)
{
	uint32_t lo = 0, hi = s->servers.n;
	*ret_found = false;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		int c = strcmp(PHX_LIST_AT(&s->servers, struct phx_web_server, mid)->address,
			       address);
		*ret_found = *ret_found || c == 0;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int phx_web_table_put(struct phx_web_service *s, const char *address, uint32_t weight)
{
	bool found;
	uint32_t at = find_server(s, address, &found);
	struct phx_web_server *v = found ? PHX_LIST_AT(&s->servers, struct phx_web_server, at)
					 : insert(&s->servers, sizeof(*v), at);
	if (!v)
		return -ENOMEM;
	PHX_STR_SET(v->address, address);
	v->weight = weight;
	return 0;
}

static uint64_t mix_table(const struct phx_web_table *t)
{
	uint64_t h = PHX_MIX_NONE;
	PHX_LIST_EACH(struct phx_web_service, s, &t->services) {
		h = phx_mix_text(h, s->address);
		h = phx_mix(h, &s->port, sizeof(s->port));
		h = phx_mix_text(h, s->scheduler);
		PHX_LIST_EACH(struct phx_web_server, v, &s->servers) {
			h = phx_mix_text(h, v->address);
			h = phx_mix(h, &v->weight, sizeof(v->weight));
		}
	}
	return h;
}

uint64_t phx_web_table_id(const struct phx_web_table *t)
{
	return phx_mix_id(mix_table(t));
}

uint64_t phx_web_order_id(const struct phx_web_table *t, const struct phx_web_share *s)
{
	uint64_t h = mix_table(t);
	if (!s->on)
		return phx_mix_id(h);
	PHX_LIST_EACH(struct phx_web_held, held, &s->held)
		h = phx_mix_text(h, held->address);
	return phx_mix_id(phx_mix(h, &s->sync_id, sizeof(s->sync_id)));
}

/* ---- comparing ---- */

static int change(struct phx_list *ret, enum phx_web_change_kind kind,
		  const struct phx_web_service *s, const struct phx_web_server *v)
{
	struct phx_web_change *c = phx_list_push(ret, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kind = (int)kind;
	PHX_STR_SET(c->address, s->address);
	c->port = s->port;
	PHX_STR_SET(c->scheduler, s->scheduler);
	if (v)
		c->server = *v;
	return 0;
}

static const struct phx_web_service *same_service(const struct phx_web_table *t,
						  const struct phx_web_service *key)
{
	PHX_LIST_EACH(struct phx_web_service, s, &t->services)
		if (compare_services(s, key) == 0)
			return s;
	return NULL;
}

/* Servers of `a` against those of `b`, both by address: what only `a` has gets `only`, what differs
 * in weight gets `other`; a kind of -1 is none. */
static int compare_servers(const struct phx_web_service *a, const struct phx_web_service *b,
			   int only, int other, struct phx_list *ret)
{
	uint32_t k = 0, n = b ? b->servers.n : 0;
	int r = 0;
	PHX_LIST_EACH(struct phx_web_server, v, &a->servers) {
		const struct phx_web_server *w = NULL;
		while (k < n &&
		       strcmp(PHX_LIST_AT(&b->servers, struct phx_web_server, k)->address,
			      v->address) < 0)
			k++;
		if (k < n)
			w = PHX_LIST_AT(&b->servers, struct phx_web_server, k);
		if (w && strcmp(w->address, v->address))
			w = NULL;
		int kind = !w ? only : w->weight != v->weight ? other : -1;
		if (r == 0 && kind >= 0)
			r = change(ret, (enum phx_web_change_kind)kind, a, v);
	}
	return r;
}

static int diff(const struct phx_web_table *have, const struct phx_web_table *want,
		struct phx_list *ret)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_web_service, s, &want->services) {
		const struct phx_web_service *old = same_service(have, s);
		if (r == 0 && (!old || strcmp(old->scheduler, s->scheduler)))
			r = change(ret, old ? PHX_WEB_SERVICE_EDIT : PHX_WEB_SERVICE_ADD, s, NULL);
		r = r ? r : compare_servers(s, old, PHX_WEB_SERVER_ADD, -1, ret);
		r = r ? r : compare_servers(s, old, -1, PHX_WEB_SERVER_EDIT, ret);
		if (old)
			r = r ? r : compare_servers(old, s, PHX_WEB_SERVER_REMOVE, -1, ret);
	}
	PHX_LIST_EACH(struct phx_web_service, s, &have->services)
		if (r == 0 && !same_service(want, s))
			r = change(ret, PHX_WEB_SERVICE_REMOVE, s, NULL);
	return r;
}

int phx_web_table_diff(const struct phx_web_table *have, const struct phx_web_table *want,
		       struct phx_list *ret_changes)
{
	struct phx_list list = {0};
	int r = diff(have, want, &list);
	if (r < 0)
		phx_list_fini(&list);
	else
		*ret_changes = list;
	return r;
}
