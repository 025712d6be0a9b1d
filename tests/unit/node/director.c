/* Who is behind the balancers at each moment of a node's life. */
#include "unit/core/world.h"

#include "state/index.h"

static void add_web_role(struct world *w, const char *name, const char *address, bool director)
{
	struct phx_event ev = {.kind = PHX_EV_role_put,
			       .role.role_put = {.director = director, .web = {.port = 80}}};
	PHX_STR_SET(ev.role.role_put.name, name);
	PHX_STR_SET(ev.role.role_put.pool, "web");
	PHX_STR_SET(ev.role.role_put.image, "debian-12");
	PHX_STR_SET(ev.role.role_put.image_version, "1");
	PHX_STR_SET(ev.role.role_put.image_digest, "d1");
	PHX_STR_SET(ev.role.role_put.web.address, address);
	PHX_STR_SET(ev.role.role_put.web.scheduler, "wlc");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void report(struct world *w, const char *node, const char *role, bool healthy)
{
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = healthy};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.report.actual_role, role);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void set_ip(struct world *w, const char *node, const char *ip)
{
	struct phx_node *n = world_node(w, node);
	PHX_STR_SET(n->ip, ip);
	phx_touch(&w->s, n);
	phx_index_settle(&w->s);
}

static void serve(struct world *w, const char *node, const char *ip)
{
	world_serving(w, node, "pages", true);
	report(w, node, "pages", true);
	set_ip(w, node, ip);
	PHX_STR_SET(world_node(w, node)->address, "");
}

/* Who looks at every node, there being no index, finds the same. */
static void check_without_index(struct world *w, const struct phx_web_table *t)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table same = {0};
	struct phx_state copy;
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_null(copy.index);
	assert_int_equal(phx_director_table(&copy, &same), 0);
	assert_true(phx_web_table_id(&same) == phx_web_table_id(t));
	const struct phx_node *a = NULL, *b = NULL;
	do {
		a = phx_director_next(&w->s, a);
		b = phx_director_next(&copy, b);
		assert_string_equal(a ? a->name : "", b ? b->name : "");
	} while (a);
	do {
		a = phx_director_next_leaving(&w->s, a);
		b = phx_director_next_leaving(&copy, b);
		assert_string_equal(a ? a->name : "", b ? b->name : "");
	} while (a);
	phx_state_fini(&copy);
}

static void check_table(struct world *w, const char *want)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_err err = {0};
	assert_int_equal(phx_director_table(&w->s, &t), 0);
	assert_int_equal(phx_web_table_check(&t, &err), 0);
	PHX_LIST_EACH(struct phx_web_service, s, &t.services) {
		phx_buf_addf(&b, "%s%s:%u", b.n ? "; " : "", s->address, s->port);
		PHX_LIST_EACH(struct phx_web_server, v, &s->servers)
			phx_buf_addf(&b, " %s=%u", v->address, v->weight);
	}
	assert_string_equal(b.data ? b.data : "", want);
	check_without_index(w, &t);
}

static void event(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void instances_join_and_leave(void **state)
{
	struct world *w = *state;
	check_table(w, "");
	add_web_role(w, "pages", "10.0.0.250", false);
	check_table(w, "10.0.0.250:80");
	check_table(w, "10.0.0.250:80");
	serve(w, "n2", "10.0.0.12");
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	serve(w, "n1", "10.0.0.11");
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
	report(w, "n1", "pages", false);
	check_table(w, "10.0.0.250:80 10.0.0.11=0 10.0.0.12=1");
	report(w, "n1", "pages", true);
	/* where it is heard from goes before what was announced */
	PHX_STR_SET(world_node(w, "n1")->address, "10.0.0.9");
	check_table(w, "10.0.0.250:80 10.0.0.12=1 10.0.0.9=1");
}

static void a_hand_over_drains_first(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	serve(w, "n1", "10.0.0.11");
	serve(w, "n2", "10.0.0.12");
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	/* while packages are fetched it serves */
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_prefetch);
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
	world_run_to(w, "n1", PHX_STEP_drain);
	check_table(w, "10.0.0.250:80 10.0.0.11=0 10.0.0.12=1");
	world_run_to(w, "n1", PHX_STEP_stop);
	check_table(w, "10.0.0.250:80 10.0.0.11=0 10.0.0.12=1");
	world_run_to(w, "n1", PHX_STEP_leave);
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	world_run(w, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	/* and back: not before its health was seen */
	assert_int_equal(world_assign_setup(w, "n1", "pages", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	world_run_to(w, "n1", PHX_STEP_health);
	report(w, "n1", "pages", true);
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	world_run(w, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
}

/* Its own report comes with a beat, later: nobody waits for it. */
static void in_the_table_with_its_health_step(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	world_serving(w, "n1", "pages", true);
	set_ip(w, "n1", "10.0.0.11");
	PHX_STR_SET(world_node(w, "n1")->address, "");
	check_table(w, "10.0.0.250:80 10.0.0.11=1");
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	check_table(w, "10.0.0.250:80 10.0.0.11=0");
	world_run(w, "n1");
	check_table(w, "10.0.0.250:80");
	assert_string_equal(world_node(w, "n1")->actual_role, "compute");
}

static void silence_takes_out_at_once(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	serve(w, "n1", "10.0.0.11");
	event(w, PHX_EV_missing, "n1");
	check_table(w, "10.0.0.250:80");
	event(w, PHX_EV_back, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=1");
	event(w, PHX_EV_quarantine, "n1");
	check_table(w, "10.0.0.250:80");
}

/* A moment of silence: no new requests, and nothing else. Who is the last one keeps them. */
static void quiet_nodes_are_left_out(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	serve(w, "n1", "10.0.0.11");
	serve(w, "n2", "10.0.0.12");
	event(w, PHX_EV_quiet, "n1");
	assert_true(world_node(w, "n1")->up);
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	uint64_t seq = w->s.seq;
	event(w, PHX_EV_quiet, "n1");
	assert_int_equal(w->s.seq, seq);
	event(w, PHX_EV_back, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
	/* nobody is heard: the head may be the one that is deaf */
	event(w, PHX_EV_quiet, "n1");
	event(w, PHX_EV_quiet, "n2");
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
	event(w, PHX_EV_missing, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	event(w, PHX_EV_missing, "n2");
	check_table(w, "10.0.0.250:80");
	event(w, PHX_EV_back, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=1");
	/* one that is ill serves nobody: who is quiet may still do it */
	event(w, PHX_EV_back, "n2");
	event(w, PHX_EV_quiet, "n1");
	report(w, "n2", "pages", false);
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=0");
}

static void rest_for(struct world *w, uint32_t rest_ms)
{
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	ev.site.settings.balance_rest_ms = rest_ms;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void tick(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* Weight 0 first: what is connected goes on, and is cut off only when the node is still not
 * heard. */
static void a_quiet_node_rests_before_it_is_out(void **state)
{
	struct world *w = *state;
	rest_for(w, 1000);
	add_web_role(w, "pages", "10.0.0.250", false);
	serve(w, "n1", "10.0.0.11");
	serve(w, "n2", "10.0.0.12");
	event(w, PHX_EV_quiet, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=0 10.0.0.12=1");
	assert_true(phx_core_next_deadline(&w->s) == w->now + 1000);
	/* heard in time: nothing is left of it */
	event(w, PHX_EV_back, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
	assert_true(phx_core_next_deadline(&w->s) == INT64_MAX);
	event(w, PHX_EV_quiet, "n1");
	w->now += 999;
	uint64_t seq = w->s.seq;
	tick(w);
	assert_int_equal(w->s.seq, seq);
	check_table(w, "10.0.0.250:80 10.0.0.11=0 10.0.0.12=1");
	/* told twice it is not put off */
	event(w, PHX_EV_quiet, "n1");
	w->now += 1;
	tick(w);
	assert_int_equal(w->s.seq, seq + 1);
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	assert_true(phx_core_next_deadline(&w->s) == INT64_MAX);
	event(w, PHX_EV_back, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1");
	/* missing meanwhile: out at once, and no deadline stays behind */
	event(w, PHX_EV_quiet, "n1");
	event(w, PHX_EV_missing, "n1");
	check_table(w, "10.0.0.250:80 10.0.0.12=1");
	assert_true(phx_core_next_deadline(&w->s) == INT64_MAX);
}

/* Whoever was heard last serves: one that is out comes back only where nobody else is left. */
static void the_last_ones_are_kept_by_their_silence(void **state)
{
	struct world *w = *state;
	rest_for(w, 1000);
	add_web_role(w, "pages", "10.0.0.250", false);
	serve(w, "n1", "10.0.0.11");
	serve(w, "n2", "10.0.0.12");
	serve(w, "n3", "10.0.0.13");
	event(w, PHX_EV_quiet, "n1");
	w->now += 1000;
	tick(w);
	event(w, PHX_EV_quiet, "n2");
	check_table(w, "10.0.0.250:80 10.0.0.12=0 10.0.0.13=1");
	event(w, PHX_EV_quiet, "n3");
	check_table(w, "10.0.0.250:80 10.0.0.12=1 10.0.0.13=1");
	event(w, PHX_EV_back, "n3");
	report(w, "n3", "pages", false);
	/* what is connected to the one that is ill goes on */
	check_table(w, "10.0.0.250:80 10.0.0.12=1 10.0.0.13=0");
	w->now += 1000;
	tick(w);
	check_table(w, "10.0.0.250:80 10.0.0.11=1 10.0.0.12=1 10.0.0.13=0");
	event(w, PHX_EV_missing, "n1");
	event(w, PHX_EV_missing, "n2");
	check_table(w, "10.0.0.250:80 10.0.0.13=0");
}

static void who_is_behind_no_balancer_is_not_quiet(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t seq = w->s.seq;
	event(w, PHX_EV_quiet, "n1");
	assert_false(world_node(w, "n1")->quiet);
	assert_int_equal(w->s.seq, seq);
}

static int balanced(struct world *w, const char *node, uint64_t step_id)
{
	struct phx_event ev = {
		.kind = PHX_EV_balanced,
		.answer = {.step_id = step_id, .epoch = world_node(w, node)->plan.epoch}};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static int step_kind(struct world *w, const char *node)
{
	const struct phx_step *step = phx_node_step(world_node(w, node));
	return step ? step->kind : -1;
}

/* A node that leaves waits for the director, before its requests end and after. */
static void the_director_lets_it_go(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	serve(w, "n1", "10.0.0.11");
	world_serving(w, "n2", "balance", true);
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_divert);
	check_table(w, "10.0.0.250:80 10.0.0.11=0");
	assert_ptr_equal(phx_director_next_leaving(&w->s, NULL), world_node(w, "n1"));
	assert_null(phx_director_next_leaving(&w->s, world_node(w, "n1")));
	uint64_t id = phx_node_step(world_node(w, "n1"))->id;
	/* it is the director's word that counts, not the node's, and only on this step */
	assert_int_equal(world_result(w, "n1", 0, ""), -EINVAL);
	assert_int_equal(balanced(w, "n1", id + 1), -ESTALE);
	assert_int_equal(balanced(w, "n1", id), 0);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_drain);
	assert_null(phx_director_next_leaving(&w->s, NULL));
	assert_int_equal(balanced(w, "n1", phx_node_step(world_node(w, "n1"))->id), -EINVAL);
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_settle);
	check_table(w, "10.0.0.250:80 10.0.0.11=0");
	assert_int_equal(balanced(w, "n1", phx_node_step(world_node(w, "n1"))->id), 0);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_stop);
}

/* A director that says nothing holds nobody for longer than the role's grace; where there is none,
 * nobody waits. */
static void a_dead_director_holds_nobody(void **state)
{
	struct world *w = *state;
	struct phx_event tick = {.kind = PHX_EV_tick};
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	phx_state_role(&w->s, "pages")->drain_grace_s = 7;
	serve(w, "n1", "10.0.0.11");
	world_serving(w, "n2", "balance", true);
	event(w, PHX_EV_missing, "n2");
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_divert);
	assert_int_equal(phx_core_next_deadline(&w->s), w->now + 7000);
	w->now += 6999;
	world_apply(w, &tick, NULL);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_divert);
	w->now += 1;
	world_apply(w, &tick, NULL);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_drain);
	event(w, PHX_EV_quarantine, "n2");
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_stop);
}

/* Taken out of service by hand: its requests end as at a hand-over. */
static void maintenance_drains_too(void **state)
{
	struct world *w = *state;
	char buf[200];
	add_web_role(w, "pages", "10.0.0.250", false);
	serve(w, "n1", "10.0.0.11");
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "divert drain settle");
	assert_int_equal(step_kind(w, "n1"), PHX_STEP_drain);
	check_table(w, "10.0.0.250:80 10.0.0.11=0");
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	check_table(w, "10.0.0.250:80");
}

static void roles_of_one_address_are_one_service(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "more", "10.0.0.250", false);
	add_web_role(w, "others", "10.0.0.249", false);
	check_table(w, "10.0.0.249:80; 10.0.0.250:80");
}

static struct phx_agreement web_re(const char *name, const char *address, uint32_t port)
{
	struct phx_agreement a;
	phx_agreement_init(&a);
	PHX_STR_SET(a.name, name);
	PHX_STR_SET(a.owner, "shop");
	PHX_STR_SET(a.role, "pages");
	PHX_STR_SET(a.address, address);
	a.port = port;
	a.type = PHX_RE_WEB;
	a.model = PHX_POLICY_fb;
	a.lower = a.upper = 1;
	return a;
}

static int create(struct world *w, struct phx_agreement a)
{
	struct phx_event ev = {.kind = PHX_EV_re_create,
			       .ask = {.who = PHX_RE_WHO_PROVIDER, .agreement = a}};
	return world_apply(w, &ev, NULL);
}

static void operate(struct world *w, int kind, const char *re)
{
	struct phx_event ev = {.kind = kind, .re_order.who = PHX_RE_WHO_SERVICE};
	PHX_STR_SET(ev.re, re);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* What the orders of a node's step say of its address. */
static void check_order_web(struct world *w, const char *node, const char *address, uint32_t port)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	world_orders(w, node, &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_string_equal(o->role.web.address, address);
	assert_int_equal(o->role.web.port, port);
	phx_record_fini(&phx_order_record, o);
}

/* Two web REs of one role behind one director, each under its own address. */
static void res_have_addresses_of_their_own(void **state)
{
	struct world *w = *state;
	char buf[300];
	add_web_role(w, "pages", "", false);
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	assert_int_equal(create(w, web_re("shop", "10.0.0.100", 0)), 0);
	assert_int_equal(create(w, web_re("twin", "10.0.0.100", 80)), -EEXIST);
	assert_non_null(strstr(w->err.text, "10.0.0.100, port 80 is that of RE 'shop'"));
	assert_int_equal(create(w, web_re("news", "10.0.0.101", 8080)), 0);
	check_table(w, "");
	operate(w, PHX_EV_re_activate, "shop");
	operate(w, PHX_EV_re_activate, "news");
	check_table(w, "10.0.0.100:80; 10.0.0.101:8080");
	world_run_to(w, "n1", PHX_STEP_start);
	check_order_web(w, "n1", "10.0.0.100", 80);
	world_run_to(w, "n2", PHX_STEP_start);
	check_order_web(w, "n2", "10.0.0.101", 8080);
	world_run(w, "n1");
	world_run(w, "n2");
	set_ip(w, "n1", "10.0.0.11");
	set_ip(w, "n2", "10.0.0.12");
	report(w, "n1", "pages", true);
	report(w, "n2", "pages", true);
	check_table(w, "10.0.0.100:80 10.0.0.11=1; 10.0.0.101:8080 10.0.0.12=1");
	/* its nodes leave as those of any web service */
	operate(w, PHX_EV_re_deactivate, "news");
	assert_non_null(strstr(world_plan(w, "n2", buf, sizeof(buf)), "divert drain settle stop"));
	check_order_web(w, "n2", "10.0.0.101", 8080);
	check_table(w, "10.0.0.100:80 10.0.0.11=1; 10.0.0.101:8080 10.0.0.12=0");
	world_run(w, "n2");
	check_table(w, "10.0.0.100:80 10.0.0.11=1");
}

static void directors_have_the_table_as_an_order(void **state)
{
	struct world *w = *state;
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	serve(w, "n1", "10.0.0.11");
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 0);
	world_serving(w, "n2", "balance", true);
	world_orders(w, "n2", &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_int_equal(o->kind, PHX_ORDER_table);
	assert_int_equal(o->table.services.n, 1);
	assert_true(o->id == phx_web_order_id(&o->table, &o->share));
	assert_true(phx_web_share_holds(&o->share, "10.0.0.250"));
	assert_int_equal(o->share.sync_id, 0);
	phx_record_fini(&phx_order_record, o);
	orders.n = 0;
	/* on its way out it has none */
	assert_int_equal(world_assign_setup(w, "n2", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	world_run_to(w, "n2", PHX_STEP_stop);
	assert_false(phx_director_is(&w->s, world_node(w, "n2")));
}

/* How many addresses it is to have. */
static uint32_t addresses_of(struct world *w, const char *node)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	world_orders(w, node, &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	uint32_t n = w->s.settings.shares_addresses ? o->share.held.n : o->table.services.n;
	phx_record_fini(&phx_order_record, o);
	return n;
}

static void one_director_acts(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	assert_null(phx_director_acting(&w->s));
	world_serving(w, "n1", "balance", true);
	world_serving(w, "n2", "balance", true);
	assert_string_equal(phx_director_acting(&w->s)->name, "n1");
	assert_int_equal(addresses_of(w, "n1"), 1);
	assert_int_equal(addresses_of(w, "n2"), 0);
	event(w, PHX_EV_missing, "n1");
	assert_string_equal(phx_director_acting(&w->s)->name, "n2");
	assert_int_equal(addresses_of(w, "n2"), 1);
	assert_int_equal(addresses_of(w, "n1"), 0);
	event(w, PHX_EV_missing, "n2");
	assert_null(phx_director_acting(&w->s));
	event(w, PHX_EV_back, "n1");
	assert_int_equal(addresses_of(w, "n1"), 1);
}

/* Connections go through the one that acts: who comes back does not take the address away again. */
static void a_director_that_comes_back_waits(void **state)
{
	struct world *w = *state;
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	world_serving(w, "n1", "balance", true);
	world_serving(w, "n2", "balance", true);
	event(w, PHX_EV_missing, "n1");
	event(w, PHX_EV_back, "n1");
	assert_string_equal(phx_director_acting(&w->s)->name, "n2");
	assert_int_equal(addresses_of(w, "n1"), 0);
	assert_int_equal(addresses_of(w, "n2"), 1);
	/* also where the head was started anew */
	struct phx_state copy;
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_string_equal(phx_director_acting(&copy)->name, "n2");
	phx_state_fini(&copy);
	/* one that is given another role */
	assert_int_equal(world_assign_setup(w, "n2", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	assert_string_equal(phx_director_acting(&w->s)->name, "n1");
	world_run(w, "n2");
	assert_string_equal(phx_director_acting(&w->s)->name, "n1");
}

/* In older journals one director has all addresses, and others have no table. */
static void one_director_has_all_where_they_are_not_shared(void **state)
{
	struct world *w = *state;
	w->s.settings.shares_addresses = false;
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "more", "10.0.0.251", false);
	add_web_role(w, "balance", "", true);
	world_serving(w, "n1", "balance", true);
	world_serving(w, "n2", "balance", true);
	assert_int_equal(addresses_of(w, "n1"), 2);
	assert_int_equal(addresses_of(w, "n2"), 0);
	assert_string_equal(w->s.director, "n1");
	assert_int_equal(w->s.held.n, 0);
	event(w, PHX_EV_missing, "n1");
	assert_int_equal(addresses_of(w, "n2"), 2);
	event(w, PHX_EV_back, "n1");
	assert_int_equal(addresses_of(w, "n1"), 0);
	/* from now on they are: nothing moves at that moment */
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	ev.site.settings.shares_addresses = true;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(addresses_of(w, "n1"), 0);
	assert_int_equal(addresses_of(w, "n2"), 2);
	assert_string_equal(w->s.director, "");
}

/* How often a director was told to go off by the event. */
static unsigned offs(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	struct phx_outcome out = {0};
	unsigned n = 0;
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		n += act->kind == PHX_ACT_POWER && act->op == PHX_POWER_OFF;
	phx_outcome_fini(&out);
	return n;
}

static void two_fenced_directors(struct world *w)
{
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	phx_state_role(&w->s, "balance")->fence = PHX_ROLE_FENCE_POWER;
	world_serving(w, "n1", "balance", true);
	world_serving(w, "n2", "balance", true);
}

static void a_fenced_director_is_off_before_another_acts(void **state)
{
	struct world *w = *state;
	struct phx_event off = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_OFF};
	struct phx_event fails = {.kind = PHX_EV_power_result, .answer.result = -EIO};
	PHX_STR_SET(off.node, "n1");
	PHX_STR_SET(fails.node, "n1");
	two_fenced_directors(w);
	assert_int_equal(offs(w, PHX_EV_missing, "n1"), 1);
	assert_null(phx_director_acting(&w->s));
	assert_int_equal(addresses_of(w, "n2"), 0);
	/* once, until it was told to no avail for a while */
	assert_int_equal(offs(w, PHX_EV_report, "n2"), 0);
	assert_int_equal(world_apply(w, &fails, NULL), 0);
	assert_null(phx_director_acting(&w->s));
	w->now = phx_core_next_deadline(&w->s);
	assert_int_equal(offs(w, PHX_EV_tick, ""), 1);
	assert_int_equal(world_apply(w, &off, NULL), 0);
	assert_string_equal(phx_director_acting(&w->s)->name, "n2");
	assert_int_equal(addresses_of(w, "n2"), 1);
	assert_true(phx_core_next_deadline(&w->s) == INT64_MAX);
}

/* It is heard again before it was seen off: it acts, and is left alone. */
static void a_fenced_director_may_come_back(void **state)
{
	struct world *w = *state;
	two_fenced_directors(w);
	assert_int_equal(offs(w, PHX_EV_missing, "n1"), 1);
	assert_int_equal(offs(w, PHX_EV_back, "n1"), 0);
	assert_string_equal(phx_director_acting(&w->s)->name, "n1");
	assert_false(world_node(w, "n1")->off_wanted);
	assert_true(phx_core_next_deadline(&w->s) == INT64_MAX);
}

/* A head that hears nobody may be the one that is cut off: it switches nobody off before it hears a
 * successor. */
static void a_director_is_not_fenced_for_nobody(void **state)
{
	struct world *w = *state;
	two_fenced_directors(w);
	event(w, PHX_EV_missing, "n2");
	assert_int_equal(offs(w, PHX_EV_missing, "n1"), 0);
	assert_false(world_node(w, "n1")->off_wanted);
	assert_int_equal(offs(w, PHX_EV_back, "n2"), 1);
	/* whoever quarantines it knows better */
	event(w, PHX_EV_quarantine, "n1");
	assert_string_equal(phx_director_acting(&w->s)->name, "n2");
}

/* One that cannot be switched off is succeeded as if nothing were asked for. */
static void a_director_without_a_bmc_is_not_fenced(void **state)
{
	struct world *w = *state;
	two_fenced_directors(w);
	world_node(w, "n1")->bmc.driver[0] = '\0';
	assert_int_equal(offs(w, PHX_EV_missing, "n1"), 0);
	assert_string_equal(phx_director_acting(&w->s)->name, "n2");
}

/* Two must not have the address: who is no director any more, and still does what one does, is told
 * to end that. */
static void a_director_that_is_none_any_more_is_told(void **state)
{
	struct world *w = *state;
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	add_web_role(w, "pages", "10.0.0.250", false);
	add_web_role(w, "balance", "", true);
	world_serving(w, "n1", "balance", true);
	world_serving(w, "n2", "balance", true);
	report(w, "n1", "balance", true);
	event(w, PHX_EV_quarantine, "n1");
	assert_string_equal(phx_director_acting(&w->s)->name, "n2");
	assert_int_equal(addresses_of(w, "n1"), 0);
	assert_int_equal(addresses_of(w, "n2"), 1);
	/* until it says that it has ended */
	report(w, "n1", "", false);
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(instances_join_and_leave),
		WORLD_TEST(a_hand_over_drains_first),
		WORLD_TEST(in_the_table_with_its_health_step),
		WORLD_TEST(silence_takes_out_at_once),
		WORLD_TEST(quiet_nodes_are_left_out),
		WORLD_TEST(a_quiet_node_rests_before_it_is_out),
		WORLD_TEST(the_last_ones_are_kept_by_their_silence),
		WORLD_TEST(who_is_behind_no_balancer_is_not_quiet),
		WORLD_TEST(the_director_lets_it_go),
		WORLD_TEST(a_dead_director_holds_nobody),
		WORLD_TEST(maintenance_drains_too),
		WORLD_TEST(roles_of_one_address_are_one_service),
		WORLD_TEST(res_have_addresses_of_their_own),
		WORLD_TEST(directors_have_the_table_as_an_order),
		WORLD_TEST(one_director_acts),
		WORLD_TEST(a_director_that_comes_back_waits),
		WORLD_TEST(one_director_has_all_where_they_are_not_shared),
		WORLD_TEST(a_director_that_is_none_any_more_is_told),
		WORLD_TEST(a_fenced_director_is_off_before_another_acts),
		WORLD_TEST(a_fenced_director_may_come_back),
		WORLD_TEST(a_director_is_not_fenced_for_nobody),
		WORLD_TEST(a_director_without_a_bmc_is_not_fenced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
