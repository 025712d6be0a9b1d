/* Which role a node runs ahead of a hand-over: that of the web RE with which the RE that has it
 * shares its nodes, where both agreements say so and nothing has to be cleaned between them;
 * nothing where it would be in the way, nothing new while the node is on its way or in doubt. */
#include "unit/core/pair.h"

static void add_word(struct phx_list *list, const char *text)
{
	struct phx_word *word = phx_list_push(list, sizeof(*word));
	phx_str_copy(word->text, sizeof(word->text), text);
}

/* Changes a role as `change` says. */
static void put_role(struct world *w, const char *name,
		     void (*change)(struct phx_role *role, const char *arg), const char *arg)
{
	struct phx_event ev = {.kind = PHX_EV_role_put};
	assert_int_equal(
		phx_record_copy(&phx_role_record, &ev.role.role_put, phx_state_role(&w->s, name)),
		0);
	change(&ev.role.role_put, arg);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void add_service(struct phx_role *role, const char *name)
{
	struct phx_service *v = phx_list_push(&role->services, sizeof(*v));
	phx_str_copy(v->name, sizeof(v->name), name);
	add_word(&v->argv, "/bin/serve");
}

static void add_port(struct phx_role *role, const char *port)
{
	add_word(&role->ports, port);
}

static void set_digest(struct phx_role *role, const char *digest)
{
	PHX_STR_SET(role->image_digest, digest);
}

static void set_quota(struct phx_role *role, const char *milli)
{
	PHX_STR_SET(role->web.address, "10.0.0.8");
	PHX_STR_SET(role->web.scheduler, "wlc");
	role->web.port = 80;
	role->web.cpu_milli = (uint32_t)strtoul(milli, NULL, 10);
}

/* The pair of pair.h, of two owners, which both consent, with what `change` makes of that. */
static void begin(struct world *w, void (*change)(struct phx_agreement *q, struct phx_agreement *s))
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 3),
			     s = agreement("shop", PHX_RE_WEB, 1);
	PHX_STR_SET(s.address, "10.0.0.9");
	q.start_ahead = s.start_ahead = true;
	if (change)
		change(&q, &s);
	put_role(w, "web", add_service, "nginx");
	put_role(w, "compute", add_service, "engine");
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(create(w, &s), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "shop"), 0);
	settle(w);
}

static const char *serves(const struct world *w, const char *role)
{
	PHX_NODES_EACH(n, &w->s)
		if (n->state == PHX_NODE_ACTIVE && !strcmp(n->role, role))
			return n->name;
	fail_msg("nobody serves %s", role);
	return "";
}

static const char *ahead_of(struct world *w, const char *node, uint64_t *ret_id)
{
	static char name[PHX_NAME_MAX];
	struct phx_role role;
	uint64_t id;
	int r = phx_re_ahead(&w->s, world_node(w, node), &role, &id);
	if (r == -ENOENT)
		return "nothing is said";
	assert_int_equal(r, 0);
	assert_true(id > 0 && id < 1ULL << 53);
	if (ret_id)
		*ret_id = id;
	PHX_STR_SET(name, role.name[0] ? role.name : "none");
	phx_record_fini(&phx_role_record, &role);
	return name;
}

#define AHEAD_IS(w, node, what) assert_string_equal(ahead_of(w, node, NULL), what)

static void nodes_with_jobs_run_the_web_role_ahead(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	AHEAD_IS(w, serves(w, "compute"), "web");
	AHEAD_IS(w, serves(w, "web"), "none"); /* jobs can wait for a start */
}

static void queue_alone(struct phx_agreement *q, struct phx_agreement *s)
{
	(void)q;
	s->start_ahead = false;
}

static void shop_alone(struct phx_agreement *q, struct phx_agreement *s)
{
	(void)s;
	q->start_ahead = false;
}

static void one_word_is_not_enough(void **state)
{
	struct world *w = *state;
	begin(w, queue_alone);
	AHEAD_IS(w, serves(w, "compute"), "none");
}

static void nor_is_the_other(void **state)
{
	struct world *w = *state;
	begin(w, shop_alone);
	AHEAD_IS(w, serves(w, "compute"), "none");
}

static void one_owner_alone(struct phx_agreement *q, struct phx_agreement *s)
{
	PHX_STR_SET(s->owner, q->owner);
	q->start_ahead = false;
}

static void one_owner_is_asked_twice_too(void **state)
{
	struct world *w = *state;
	begin(w, one_owner_alone);
	AHEAD_IS(w, serves(w, "compute"), "none");
}

/* Whatever has to be done to nodes, whenever, for whomever of both: then nothing is run ahead. */
static void nothing_runs_where_something_is_cleaned(void **state)
{
	for (int mode = PHX_SETUP_DATA; mode <= PHX_SETUP_WIPE; mode++)
		for (int when = PHX_WHEN_RELEASE; when <= PHX_WHEN_BOTH; when++)
			for (int of = 0; of < 2; of++) {
				struct world *w = *state;
				begin(w, NULL);
				AHEAD_IS(w, serves(w, "compute"), "web");
				struct phx_pool *pool = NULL;
				PHX_LIST_EACH(struct phx_pool, p, &w->s.pools)
					if (!strcmp(p->name, of ? "shop" : "queue"))
						pool = p;
				assert_non_null(pool);
				pool->setup = (struct phx_setup){.mode = mode, .when = when};
				AHEAD_IS(w, serves(w, "compute"), "none");
				world_teardown(state);
				world_setup(state);
			}
}

static void what_is_owed_is_cleaned_first(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	const char *node = serves(w, "compute");
	world_node(w, node)->owes_wipe = true;
	AHEAD_IS(w, node, "none");
	world_node(w, node)->owes_wipe = false;
	world_node(w, node)->owes_data = true;
	AHEAD_IS(w, node, "none");
}

static void services_in_the_way_are_not_started(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	const char *node = serves(w, "compute");
	put_role(w, "web", add_port, "80");
	put_role(w, "compute", add_port, "8080");
	AHEAD_IS(w, node, "web");
	put_role(w, "compute", add_port, "80");
	AHEAD_IS(w, node, "none");
}

static void names_are_not_taken_twice(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	put_role(w, "compute", add_service, "nginx");
	AHEAD_IS(w, serves(w, "compute"), "none");
}

static void a_quota_is_of_one_role(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	put_role(w, "web", set_quota, "100");
	AHEAD_IS(w, serves(w, "compute"), "web");
	put_role(w, "compute", set_quota, "100");
	AHEAD_IS(w, serves(w, "compute"), "none");
}

static void another_system_would_be_started(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	put_role(w, "web", set_digest, "d2");
	AHEAD_IS(w, serves(w, "compute"), "none");
}

static void it_ends_with_the_pair(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node, serves(w, "compute"));
	AHEAD_IS(w, node, "web");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "shop"), 0);
	settle(w);
	AHEAD_IS(w, node, "none");
}

static void tell(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* What stands while the node is not at rest; what ends when it is nobody's. */
static void nodes_in_doubt(void **state)
{
	struct world *w = *state;
	begin(w, NULL);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node, serves(w, "compute"));
	tell(w, PHX_EV_missing, node);
	AHEAD_IS(w, node, "nothing is said");
	tell(w, PHX_EV_back, node);
	settle(w);
	AHEAD_IS(w, node, "web");
	tell(w, PHX_EV_quarantine, node);
	AHEAD_IS(w, node, "none");
}

static void id_follows_the_role(void **state)
{
	struct world *w = *state;
	uint64_t before = 0, after = 0, none = 0;
	begin(w, NULL);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node, serves(w, "compute"));
	ahead_of(w, node, &before);
	put_role(w, "web", add_port, "80");
	ahead_of(w, node, &after);
	ahead_of(w, serves(w, "web"), &none);
	assert_true(before != after && before != none && after != none);
}

static struct phx_order *order_of(struct world *w, const char *node, enum phx_order_kind kind,
				  struct phx_list *orders)
{
	assert_int_equal(phx_core_orders(&w->s, node, orders), 0);
	PHX_LIST_EACH(struct phx_order, o, orders)
		if ((enum phx_order_kind)o->kind == kind)
			return o;
	return NULL;
}

static void fini(struct phx_list *orders)
{
	PHX_LIST_EACH(struct phx_order, o, orders)
		phx_record_fini(&phx_order_record, o);
	phx_list_fini(orders);
}

/* Its services are found running only if both orders name one and the same role. */
static void step_start_has_the_same_role(void **state)
{
	struct world *w = *state;
	struct phx_list orders = {0};
	struct phx_role ahead = {0};
	begin(w, NULL);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node, serves(w, "compute"));
	struct phx_order *o = order_of(w, node, PHX_ORDER_ahead, &orders);
	assert_non_null(o);
	assert_string_equal(o->role.web.address, "10.0.0.9");
	assert_int_equal(phx_record_copy(&phx_role_record, &ahead, &o->role), 0);
	fini(&orders);
	web_is_busy(w);
	while (phx_node_step(world_node(w, node)) &&
	       phx_node_step(world_node(w, node))->kind != PHX_STEP_start)
		world_step(w, node);
	assert_null(
		order_of(w, node, PHX_ORDER_ahead, &orders)); /* on its way: what it runs goes on */
	fini(&orders);
	o = order_of(w, node, PHX_ORDER_step, &orders);
	assert_non_null(o);
	assert_int_equal(o->step.kind, PHX_STEP_start);
	assert_true(phx_record_equal(&phx_role_record, &ahead, &o->role));
	fini(&orders);
	phx_record_fini(&phx_role_record, &ahead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(nodes_with_jobs_run_the_web_role_ahead),
		WORLD_TEST(one_word_is_not_enough),
		WORLD_TEST(nor_is_the_other),
		WORLD_TEST(one_owner_is_asked_twice_too),
		WORLD_TEST(nothing_runs_where_something_is_cleaned),
		WORLD_TEST(what_is_owed_is_cleaned_first),
		WORLD_TEST(services_in_the_way_are_not_started),
		WORLD_TEST(names_are_not_taken_twice),
		WORLD_TEST(a_quota_is_of_one_role),
		WORLD_TEST(another_system_would_be_started),
		WORLD_TEST(it_ends_with_the_pair),
		WORLD_TEST(nodes_in_doubt),
		WORLD_TEST(id_follows_the_role),
		WORLD_TEST(step_start_has_the_same_role),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
