/* A node that balances the load of web services: see web.h. Orders bring whole
 * tables; only the differences are applied to the kernel's table, so that
 * connections under way stay. A director that loses the head goes on with its last
 * table. Never decides which servers are in the table; vip.c keeps its addresses. */

#include "base/json.h"
#include "ipvs/ipvs.h"
#include "agent/log.h"
#include "agent/sysctl.h"
#include "agent/vip.h"
#include "agent/web_internal.h"

enum { VIEW_SERVERS_MAX = 256 };

/* ---- the table ---- */

static int open_balancer(struct phx_ipvs **ret, struct phx_err *err)
{
	int r = phx_ipvs_load(err);
	r = r ? r : phx_ipvs_open(ret, err);
	/* clients of a server that is gone get a reset at once, instead of no answer */
	r = r ? r : sysctl_write("net/ipv4/vs/expire_nodest_conn", "1", err);
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
		r = r ? r : vip_take(w->vips, s->address, err);
	r = r ? r : vip_keep_only(w->vips, table, err);
	phx_ipvs_close(v);
	if (changes)
		agent_log("balancer: %u changes", changes);
	return r;
}

int director_apply(struct web *w, uint64_t id, const struct phx_web_table *table,
		   struct phx_err *err)
{
	int r = phx_web_table_check(table, err);
	if (r < 0)
		return r;
	LOOP_TAKEN(w->loop, &w->busy);
	w->table_id = 0;
	w->balances = true;
	r = w->touch ? put_table(w, table, err) : 0;
	if (r == 0)
		w->table_id = id;
	if (r == 0 && w->touch)
		vip_settled(w->vips);
	return r;
}

int director_clear(struct web *w, struct phx_err *err)
{
	static const struct phx_web_table none;
	int r = 0;
	LOOP_TAKEN(w->loop, &w->busy);
	if (w->touch && w->balances)
		r = put_table(w, &none, err);
	if (r == 0)
		w->balances = false;
	if (r == 0)
		w->table_id = 0;
	return r;
}

void director_heard(struct web *w, uint32_t beat_ms)
{
	vip_heard(w->vips, beat_ms);
}

void director_note(struct web *w, char ret[DIRECTOR_NOTE_MAX])
{
	vip_note(w->vips, ret);
}

void director_told(struct web *w, const char *text)
{
	vip_told(w->vips, text);
}

/* While an address of the table is given up, the table is not in force. */
uint64_t director_id(struct web *w)
{
	LOOP_TAKEN(w->loop, &w->busy);
	return vip_given_up(w->vips) ? 0 : w->table_id;
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
	/* the size of a beat is limited: a large table is reported by its id alone */
	bool all = r == 0 && count_servers(&t) <= VIEW_SERVERS_MAX;
	json_t *j = all  ? phx_json_from_record(&phx_web_table_record, &t)
		: r == 0 ? json_object()
			 : NULL;
	if (j)
		json_object_set_new(j, "id", json_integer((json_int_t)phx_web_table_id(&t)));
	return j;
}
