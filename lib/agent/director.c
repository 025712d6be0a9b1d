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

/* Takes addresses off the network cards that are not this director's: those of the table, and those
 * that the kernel's table has, which an agent of before may have taken. Before the kernel's table
 * changes: as long as the address is here, what has no connection there would be reset. */
static int leave_others(struct web *w, const struct phx_web_table *had,
			const struct phx_web_table *table, const struct phx_web_share *share,
			struct phx_err *err)
{
	int r = vip_keep_only(w->vips, table, share, err);
	PHX_LIST_EACH(struct phx_web_service, s, &table->services)
		if (r == 0 && !phx_web_share_takes(share, s->address))
			r = vip_leave(w->vips, s->address, err);
	PHX_LIST_EACH(struct phx_web_service, s, &had->services)
		if (r == 0 && !phx_web_table_has(table, s->address))
			r = vip_leave(w->vips, s->address, err);
	return r;
}

/* Connections are told as soon as they are there, and again every few seconds while something comes
 * over them. A packet of one that is not known, because it was not told in time, is given to a
 * server as if it were new: where the scheduler goes by the client (sh, mh), it is the same one. */
static int set_sync(struct phx_ipvs *v, const struct phx_web_table *table,
		    const struct phx_web_share *share, struct phx_err *err)
{
	char card[16] = "";
	if (!share->on || !share->sync_id || !table->services.n)
		return phx_ipvs_sync(v, "", 0, err);
	int r = vip_card(PHX_LIST_AT(&table->services, struct phx_web_service, 0)->address, card,
			 err);
	r = r ? r : sysctl_write("net/ipv4/vs/sync_threshold", "0 0", err);
	r = r ? r : sysctl_write("net/ipv4/vs/sync_refresh_period", "4", err);
	r = r ? r : sysctl_write("net/ipv4/vs/sync_retries", "2", err);
	r = r ? r : sysctl_write("net/ipv4/vs/sloppy_tcp", "1", err);
	return r ? r : phx_ipvs_sync(v, card, share->sync_id, err);
}

static int put_table(struct web *w, const struct phx_web_table *table,
		     const struct phx_web_share *share, struct phx_err *err)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table had = {0};
	struct phx_ipvs *v = NULL;
	uint32_t changes = 0;
	int r = open_balancer(&v, err);
	r = r ? r : phx_ipvs_read(v, &had, err);
	r = r ? r : leave_others(w, &had, table, share, err);
	r = r ? r : phx_ipvs_apply(v, table, &changes, err);
	r = r ? r : set_sync(v, table, share, err);
	PHX_LIST_EACH(struct phx_web_service, s, &table->services)
		if (r == 0 && phx_web_share_takes(share, s->address))
			r = vip_take(w->vips, s->address, err);
	phx_ipvs_close(v);
	if (changes)
		agent_log("balancer: %u changes", changes);
	return r;
}

int director_apply(struct web *w, uint64_t id, const struct phx_web_table *table,
		   const struct phx_web_share *share, struct phx_err *err)
{
	int r = phx_web_table_check(table, err);
	r = r ? r : phx_web_share_check(share, err);
	if (r < 0)
		return r;
	LOOP_TAKEN(w->loop, &w->busy);
	w->table_id = 0;
	r = w->touch ? put_table(w, table, share, err) : 0;
	if (r == 0)
		w->table_id = id;
	if (r == 0 && w->touch)
		vip_settled(w->vips);
	return r;
}

/* Does the kernel have a balancer? Whatever is in it, an agent of before may have put there. */
static bool balances(void)
{
	struct phx_ipvs *v = NULL;
	int r = phx_ipvs_open(&v, NULL);
	phx_ipvs_close(v);
	return r == 0;
}

int director_clear(struct web *w, struct phx_err *err)
{
	static const struct phx_web_table none;
	static const struct phx_web_share nothing;
	int r = 0;
	LOOP_TAKEN(w->loop, &w->busy);
	if (w->touch && balances())
		r = put_table(w, &none, &nothing, err);
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
