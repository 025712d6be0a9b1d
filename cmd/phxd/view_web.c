/* Shows web services: the wanted table with the node behind each address, and beside it what the
 * director that has the address told last. By which address an instance is reached, who may see its
 * hardware is shown alone. Called by the API. Reads only. */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "node/director.h"
#include "phxd/daemon.h"
#include "phxd/view.h"
#include "phxd/view_hide.h"
#include "state/index.h"

/* The table in the kernel of a director, as its last beat told it; empty if the beat had no
 * table. */
static void told_table(struct daemon *d, const char *director, struct phx_web_table *ret)
{
	PHX_AUTO_JSON json_t *monitor = live_monitor(d->live, director);
	json_t *table = json_object_get(monitor, "balancer");
	/* the agent's own number of the table; ours is computed from the table */
	json_object_del(table, "id");
	if (!table || phx_json_to_record(&phx_web_table_record, table, ret, NULL) < 0)
		*ret = (struct phx_web_table){0};
}

/* The table that a director told last. */
struct its_table {
	char director[PHX_NAME_MAX];
	struct phx_web_table table;
};

/* A server of a table, and its service. */
struct told {
	const struct phx_web_service *service;
	const struct phx_web_server *server;
};

static uint32_t hash_server(const struct phx_web_service *service, const char *address)
{
	return phx_hash_text(address) + 31 * phx_hash_text(service->address) + service->port;
}

/* Has the director this service now, so that it is believed what it told of it? */
static bool has_service(const struct phx_state *s, const char *director,
			const struct phx_web_service *service)
{
	int64_t since_ms;
	const struct phx_node *n = phx_director_of(s, service->address, &since_ms);
	return n && !strcmp(n->name, director);
}

/* Makes the servers of a table that a director told findable by service and address. */
static void find_told(const struct phx_state *state, const struct its_table *its,
		      struct phx_list *ret, struct phx_hash *ret_at)
{
	PHX_LIST_EACH(struct phx_web_service, s, &its->table.services) {
		if (!has_service(state, its->director, s))
			continue;
		PHX_LIST_EACH(struct phx_web_server, v, &s->servers) {
			struct told *to = phx_list_push(ret, sizeof(*to));
			if (!to)
				return; /* the answer then lacks what the director told of it */
			*to = (struct told){s, v};
			phx_hash_put(ret_at, hash_server(s, v->address), ret->n - 1);
		}
	}
}

/* Makes the instances findable by their addresses: the hash has their places in the list of nodes.
 * Without memory it lacks some. */
static void find_instances(const struct phx_state *s, struct phx_hash *ret)
{
	const struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_candidate(s, PHX_SET_BALANCED, at));
	     at = phx_index_place(s, n) + 1)
		phx_hash_put(ret, phx_hash_text(phx_director_address(n)), phx_index_place(s, n));
}

static const struct phx_node *instance_at(const struct phx_state *s,
					  const struct phx_hash *instances, const char *address)
{
	uint32_t hash = phx_hash_text(address), i;
	for (uint32_t at = hash; phx_hash_next(instances, hash, &at, &i);) {
		const struct phx_node *n = PHX_LIST_AT(&s->nodes, struct phx_node, i);
		if (!strcmp(phx_director_address(n), address))
			return n;
	}
	return NULL;
}

/* Who asks, and of which nodes he sees the hardware. */
struct reader {
	struct person person;
	enum phx_scope hardware;
};

/* What is needed to show a table. */
struct shown {
	struct daemon *d;
	const struct phx_state *s;
	const struct reader *reader;
	struct phx_hash instances;
	struct phx_list told; /* struct told */
	struct phx_hash told_at;
};

static const struct phx_web_server *
told_of(const struct shown *of, const struct phx_web_service *service, const char *address)
{
	uint32_t hash = hash_server(service, address), i;
	for (uint32_t at = hash; phx_hash_next(&of->told_at, hash, &at, &i);) {
		const struct told *t = PHX_LIST_AT(&of->told, struct told, i);
		if (!strcmp(t->server->address, address) && t->service->port == service->port &&
		    !strcmp(t->service->address, service->address))
			return t->server;
	}
	return NULL;
}

/* `n`: the node that has the address; NULL: none has it. */
static bool sees_hardware(const struct shown *of, const struct phx_node *n)
{
	const struct reader *r = of->reader;
	return r->hardware == PHX_SCOPE_ALL ||
		(r->hardware == PHX_SCOPE_OWN && n && person_holds(of->s, &r->person, n));
}

/* Takes from a server what tells how its machine is reached. */
static void hide_machine(json_t *server)
{
	char reason[BEAT_ERROR_MAX];
	json_object_del(server, "address");
	phx_str_copy(reason, sizeof(reason), phx_json_str(server, "use_reason", ""));
	view_hide(reason, VIEW_HIDE_ALL, false);
	if (json_object_get(server, "use_reason"))
		json_object_set_new(server, "use_reason", json_string(reason));
}

static json_t *server_json(const struct shown *of, const struct phx_web_server *wanted,
			   const struct phx_web_server *told)
{
	json_t *j = phx_json_from_record(&phx_web_server_record, wanted);
	const struct phx_node *n = instance_at(of->s, &of->instances, wanted->address);
	if (n) {
		json_object_set_new(j, "node", json_string(n->name));
		json_object_set_new(j, "pool", json_string(n->pool));
		view_node_use(of->d, n, j);
	}
	if (!sees_hardware(of, n))
		hide_machine(j);
	json_object_set_new(j, "active", told ? json_integer(told->active) : json_null());
	json_object_set_new(j, "inactive", told ? json_integer(told->inactive) : json_null());
	return j;
}

static json_t *service_json(const struct shown *of, const struct phx_web_service *service)
{
	json_t *j = phx_json_from_record(&phx_web_service_record, service), *servers = json_array();
	PHX_LIST_EACH(struct phx_web_server, v, &service->servers)
		json_array_append_new(servers,
				      server_json(of, v, told_of(of, service, v->address)));
	json_object_set_new(j, "servers", servers);
	int64_t since_ms;
	const struct phx_node *n = phx_director_of(of->s, service->address, &since_ms);
	json_object_set_new(j, "director", json_string(n ? n->name : ""));
	json_object_set_new(j, "since_ms", since_ms ? json_integer(since_ms) : json_null());
	return j;
}

/* All directors, in the order in which they would take addresses; an acting one has some. */
static json_t *directors_json(const struct phx_state *s)
{
	json_t *list = json_array();
	for (const struct phx_node *n = NULL; (n = phx_director_next(s, n));)
		json_array_append_new(list,
				      json_pack("{s:s,s:b,s:b}", "node", n->name, "up", n->up,
						"acting", phx_director_acts(s, n)));
	return list;
}

json_t *view_manager(const struct phx_state *s, const struct phx_re *re)
{
	const struct phx_agreement *g = &re->agreement;
	const struct phx_list *last =
		re->active ? phx_ledger_decisions(s->ledger, (int)re->number) : NULL;
	struct phx_ledger_counts c = {0};
	json_t *decisions = json_array();
	uint32_t above, below;
	if (re->active)
		phx_ledger_counts(s->ledger, (int)re->number, &c);
	uint32_t n = c.idle + c.busy + c.away;
	phx_web_limits(g->threshold_milli, n, &above, &below);
	if (last)
		PHX_LIST_EACH(struct phx_web_decision, d, last)
			json_array_append_new(decisions,
					      phx_json_from_record(&phx_web_decision_record, d));
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:o}", "instances", (json_int_t)n, "want",
			 (json_int_t)c.want, "window_s", (json_int_t)g->window_s, "above_ppm",
			 (json_int_t)above, "below_ppm", (json_int_t)below, "decisions", decisions);
}

static void free_tables(struct phx_list *tables)
{
	PHX_LIST_EACH(struct its_table, its, tables)
		phx_web_table_fini(&its->table);
	phx_list_fini(tables);
}

/* The directors that have addresses, with the tables that they told. */
static void find_tables(struct daemon *d, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	for (const struct phx_node *n = NULL; (n = phx_director_next_acting(s, n));) {
		struct its_table *its = phx_list_push(ret, sizeof(*its));
		if (!its)
			break;
		PHX_STR_SET(its->director, n->name);
	}
	engine_unlock(d->engine);
	PHX_LIST_EACH(struct its_table, its, ret)
		told_table(d, its->director, &its->table);
}

static const struct its_table *table_of(const struct phx_list *tables, const char *director)
{
	PHX_LIST_EACH(struct its_table, its, tables)
		if (!strcmp(its->director, director))
			return its;
	return NULL;
}

/* Has each director that has addresses the wanted table in its kernel? */
static bool in_force(const struct phx_state *s, const struct phx_web_table *wanted,
		     const struct phx_list *tables)
{
	uint64_t id = phx_web_table_id(wanted);
	bool is = phx_director_acting(s);
	for (const struct phx_node *n = NULL; (n = phx_director_next_acting(s, n));) {
		const struct its_table *its = table_of(tables, n->name);
		is = is && its && (phx_web_table_id(&its->table) == id || !n->shares);
	}
	return is;
}

/* `tables`: of the directors that had addresses when they were asked for. */
static json_t *table_json(struct daemon *d, const struct phx_state *s, const struct reader *reader,
			  const struct phx_list *tables)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table wanted = {0};
	const struct phx_node *acting = phx_director_acting(s);
	if (phx_director_table(s, &wanted) < 0)
		return NULL;
	struct shown of = {.d = d, .s = s, .reader = reader};
	find_instances(s, &of.instances);
	PHX_LIST_EACH(struct its_table, its, tables)
		find_told(s, its, &of.told, &of.told_at);
	json_t *services = json_array();
	PHX_LIST_EACH(struct phx_web_service, service, &wanted.services)
		json_array_append_new(services, service_json(&of, service));
	phx_hash_fini(&of.instances);
	phx_hash_fini(&of.told_at);
	phx_list_fini(&of.told);
	return json_pack("{s:s,s:b,s:o,s:o}", "director", acting ? acting->name : "", "in_force",
			 in_force(s, &wanted, tables), "directors", directors_json(s), "services",
			 services);
}

void api_balance(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(free_tables) struct phx_list tables = {0};
	struct reader reader = {.hardware = person_scope(d, phx_http_peer(q), PHX_RIGHT_hardware)};
	person_of(d, phx_http_peer(q), &reader.person);
	find_tables(d, &tables);
	PHX_AUTO_JSON json_t *j = table_json(d, engine_lock(d->engine), &reader, &tables);
	engine_unlock(d->engine);
	if (j)
		phx_http_reply_json(q, 200, j);
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}
