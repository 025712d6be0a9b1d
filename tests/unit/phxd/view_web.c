/* What is shown of web services (cmd/phxd/view_web.c): by which addresses instances are reached is
 * for who may see their hardware; connections are those that the acting director told of that
 * server; the table is in force if he told the same. The core is real; what agents told, and who
 * asks, the tests say. */
#include "unit/core/pair.h"

#include "fake/engine.h"
#include "fake/request.h"
#include "phxd/view_hide.c" /* parts of a program, not of the library */
#include "phxd/view_web.c"

#define VIP "10.0.0.250"
#define SHOP "unix:shop"

static struct world *world;
static struct daemon head;
static const char *told_by, *told; /* the balancer's table that this director told */
static enum phx_scope scope;
static const char *asker;

/* ---- what agents told, and who asks ---- */

json_t *live_monitor(struct live *l, const char *node)
{
	(void)l;
	assert_false(fake_engine_held); /* it takes as long as the node wants */
	return told && !strcmp(node, told_by)
		? json_pack("{s:o}", "balancer", json_loads(told, 0, NULL))
		: NULL;
}

void view_node_use(struct daemon *d, const struct phx_node *n, json_t *to)
{
	assert_ptr_equal(d, &head);
	bool knows = !strcmp(n->name, "n1");
	json_object_set_new(to, "use_ppm", knows ? json_integer(7) : json_null());
	json_object_set_new(to, "use_reason", json_string(knows ? "" : "10.0.1.2: status 1: SAID"));
}

enum phx_scope person_scope(struct daemon *d, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	(void)d, (void)peer;
	assert_int_equal(right, PHX_RIGHT_hardware);
	return scope;
}

void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret)
{
	(void)d, (void)peer;
	assert_false(fake_engine_held); /* it asks the user database */
	*ret = (struct person){0};
	PHX_STR_SET(ret->identity, asker);
}

/* "unix:shop" has an RE with n1. */
bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n)
{
	assert_ptr_equal(s, &world->s);
	return !strcmp(p->identity, SHOP) && !strcmp(n->name, "n1");
}

/* ---- two instances, and two directors ---- */

static void add_web_role(const char *name, bool director)
{
	struct phx_event ev = {.kind = PHX_EV_role_put,
			       .role.role_put = {.director = director, .web = {.port = 80}}};
	PHX_STR_SET(ev.role.role_put.name, name);
	PHX_STR_SET(ev.role.role_put.pool, "web");
	PHX_STR_SET(ev.role.role_put.image, "debian-12");
	PHX_STR_SET(ev.role.role_put.image_version, "1");
	PHX_STR_SET(ev.role.role_put.image_digest, "d1");
	PHX_STR_SET(ev.role.role_put.web.address, director ? "" : VIP);
	PHX_STR_SET(ev.role.role_put.web.scheduler, director ? "" : "wlc");
	ev.role.role_put.web.port = director ? 0 : 80;
	if (world_apply(world, &ev, NULL) < 0)
		fail_msg("%s", world->err.text);
}

static void serves(const char *name, const char *role, const char *ip)
{
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = true};
	world_serving(world, name, role, true);
	PHX_STR_SET(ev.node, name);
	PHX_STR_SET(ev.report.actual_role, role);
	assert_int_equal(world_apply(world, &ev, NULL), 0);
	struct phx_node *n = world_node(world, name);
	PHX_STR_SET(n->ip, ip);
	n->address[0] = '\0';
	phx_touch(&world->s, n);
	phx_index_settle(&world->s);
}

static int setup(void **state)
{
	world_setup(state);
	world = *state;
	fake_state = &world->s;
	add_web_role("pages", false);
	add_web_role("director", true);
	serves("n1", "pages", "10.0.1.1");
	serves("n2", "pages", "10.0.1.2");
	serves("n3", "director", "10.0.1.3");
	serves("n4", "director", "10.0.1.4");
	told = NULL;
	told_by = "n3";
	scope = PHX_SCOPE_ALL;
	asker = "unix:root";
	fake_requests_begin();
	return 0;
}

static int teardown(void **state)
{
	fake_engine_is_free();
	return world_teardown(state);
}

static json_t *balance(void)
{
	FAKE_REQUEST q = {0};
	api_balance(&q, &head);
	assert_int_equal(q.code, 200);
	return json_incref(q.json);
}

static const json_t *server(const json_t *answer, size_t i)
{
	const json_t *service = json_array_get(json_object_get(answer, "services"), 0);
	assert_string_equal(phx_json_str(service, "address", ""), VIP);
	assert_int_equal(json_array_size(json_object_get(service, "servers")), 2);
	return json_array_get(json_object_get(service, "servers"), i);
}

/* ---- who sees what ---- */

static void assert_sees(size_t i, const char *node, const char *address, const char *reason)
{
	PHX_AUTO_JSON json_t *answer = balance();
	const json_t *v = server(answer, i);
	assert_string_equal(phx_json_str(v, "node", ""), node);
	assert_string_equal(phx_json_str(v, "pool", ""), "web");
	assert_int_equal(phx_json_int(v, "weight", 0), 1);
	assert_string_equal(phx_json_str(v, "address", "none"), address);
	assert_string_equal(phx_json_str(v, "use_reason", "none"), reason);
}

static void how_an_instance_is_reached_is_hardware(void **state)
{
	(void)state;
	assert_sees(0, "n1", "10.0.1.1", "");
	assert_sees(1, "n2", "10.0.1.2", "10.0.1.2: status 1: SAID");
	scope = PHX_SCOPE_NONE;
	asker = SHOP;
	assert_sees(0, "n1", "none", "");
	assert_sees(1, "n2", "none", "...: status 1");
	scope = PHX_SCOPE_OWN;
	assert_sees(0, "n1", "10.0.1.1", "");
	assert_sees(1, "n2", "none", "...: status 1");
	asker = "unix:alice";
	assert_sees(0, "n1", "none", "");
	/* nor does any other member tell it */
	PHX_AUTO_JSON json_t *answer = balance();
	PHX_AUTO_FREE char *text = json_dumps(answer, 0);
	assert_null(strstr(text, "10.0.1."));
	assert_null(strstr(text, "SAID"));
}

/* ---- what the director told ---- */

static const char *service_member(const json_t *answer, const char *member)
{
	return phx_json_str(json_array_get(json_object_get(answer, "services"), 0), member, "?");
}

#define TABLE(weight, of_n2) \
	"{\"id\":5,\"services\":[{\"address\":\"" VIP "\",\"port\":80,\"scheduler\":\"wlc\"," \
	"\"servers\":[{\"address\":\"10.0.1.1\",\"weight\":" weight \
	",\"active\":3,\"inactive\":4}" of_n2 "]}]}"
#define OF_N2 ",{\"address\":\"10.0.1.2\",\"weight\":1,\"active\":0,\"inactive\":0}"

static void assert_told(bool in_force, int active, int inactive)
{
	PHX_AUTO_JSON json_t *answer = balance();
	const json_t *v = server(answer, 0);
	assert_int_equal(phx_json_bool(answer, "in_force", !in_force), in_force);
	assert_int_equal(phx_json_int(v, "active", -1), active);
	assert_int_equal(phx_json_int(v, "inactive", -1), inactive);
	if (active < 0)
		assert_true(json_is_null(json_object_get(v, "active")));
}

static void connections_are_those_that_the_director_told(void **state)
{
	(void)state;
	assert_told(false, -1, -1);
	told = TABLE("1", OF_N2);
	assert_told(true, 3, 4);
	/* it has another one still: what it told of a server counts */
	told = TABLE("0", OF_N2);
	assert_told(false, 3, 4);
	told = TABLE("1", "");
	assert_told(false, 3, 4);
	PHX_AUTO_JSON json_t *answer = balance();
	assert_true(json_is_null(json_object_get(server(answer, 1), "active")));
}

/* The same machine behind another address or port has connections of its own. */
static void another_service_tells_nothing_of_this_one(void **state)
{
	(void)state;
	told = "{\"services\":[{\"address\":\"" VIP "\",\"port\":443,\"scheduler\":\"wlc\","
	       "\"servers\":[{\"address\":\"10.0.1.1\",\"weight\":1,\"active\":9}]},"
	       "{\"address\":\"10.0.0.251\",\"port\":80,\"scheduler\":\"wlc\","
	       "\"servers\":[{\"address\":\"10.0.1.1\",\"weight\":1,\"active\":8}]}]}";
	assert_told(false, -1, -1);
}

/* An old agent, or one that lies. */
static void what_is_no_table_tells_nothing(void **state)
{
	static const char *const texts[] = {
		"7",
		"[]",
		"{}",
		"{\"services\":7}",
		"{\"services\":[{\"port\":\"x\"}]}",
		"{\"services\":[],\"more\":1}",
		"{\"services\":[{\"address\":\"" VIP "\",\"port\":80,\"scheduler\":\"wlc\","
		"\"servers\":[{\"address\":\"10.0.1.1\",\"active\":-1}]}]}",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		told = texts[i];
		assert_told(false, -1, -1);
	}
}

static void is_missing(const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(world, &ev, NULL), 0);
}

static void only_the_acting_director_is_believed(void **state)
{
	(void)state;
	told = TABLE("1", OF_N2);
	told_by = "n4";
	assert_told(false, -1, -1);
	PHX_AUTO_JSON json_t *before = balance();
	assert_string_equal(phx_json_str(before, "director", ""), "n3");
	assert_string_equal(service_member(before, "director"), "n3");
	world->now += 5000;
	is_missing("n3");
	assert_told(true, 3, 4);
	PHX_AUTO_JSON json_t *after = balance(),
			     *want = json_loads("[{\"node\":\"n3\",\"up\":false,\"acting\":false},"
						"{\"node\":\"n4\",\"up\":true,\"acting\":true}]",
						0, NULL);
	assert_string_equal(phx_json_str(after, "director", ""), "n4");
	assert_string_equal(service_member(after, "director"), "n4");
	const json_t *service = json_array_get(json_object_get(after, "services"), 0);
	assert_int_equal(phx_json_int(service, "since_ms", 0), world->now);
	assert_true(json_equal(json_object_get(after, "directors"), want));
}

/* It was the acting one when it was asked what it had, and is it no more. */
static void what_a_former_director_told_is_forgotten(void **state)
{
	PHX_AUTO(free_tables) struct phx_list tables = {0};
	const struct reader reader = {.hardware = PHX_SCOPE_ALL};
	(void)state;
	told = TABLE("1", OF_N2);
	find_tables(&head, &tables);
	assert_int_equal(tables.n, 1);
	PHX_AUTO_JSON json_t *is = table_json(&head, &world->s, &reader, &tables);
	is_missing("n3");
	PHX_AUTO_JSON json_t *was = table_json(&head, &world->s, &reader, &tables);
	assert_false(phx_json_bool(was, "in_force", true));
	assert_true(json_is_null(json_object_get(server(was, 0), "active")));
	assert_true(phx_json_bool(is, "in_force", false));
}

static void without_a_director_nobody_is_served(void **state)
{
	(void)state;
	told = TABLE("1", OF_N2);
	is_missing("n3");
	is_missing("n4");
	assert_told(false, -1, -1);
	PHX_AUTO_JSON json_t *answer = balance();
	assert_string_equal(phx_json_str(answer, "director", "none"), "");
	assert_int_equal(json_array_size(json_object_get(answer, "directors")), 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(how_an_instance_is_reached_is_hardware),
		T(connections_are_those_that_the_director_told),
		T(another_service_tells_nothing_of_this_one),
		T(what_is_no_table_tells_nothing),
		T(only_the_acting_director_is_believed),
		T(what_a_former_director_told_is_forgotten),
		T(without_a_director_nobody_is_served),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
