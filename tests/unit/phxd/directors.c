/* Web services between events (cmd/phxd/directors.c): who is told of a table, which word of a
 * director lets a leaving node go, and what becomes of the measured use. The core is real. */
#include "unit/core/pair.h"

#include "base/file.h"
#include "state/index.h"

#include "phxd/directors.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static struct directors *b;
static struct world *w;
static struct phx_buf fake_woken; /* names of nodes whose agents were woken */
static int fake_wake_ms;          /* when the loop was asked to turn last; -1: it was not */

/* what of the daemon it calls */

void live_wake(struct live *l, const char *node)
{
	(void)l;
	assert_false(fake_engine_held);
	phx_buf_addf(&fake_woken, "%s ", node);
}
void wake_in(struct wake *of, int ms)
{
	(void)of;
	fake_wake_ms = ms;
}

static unsigned fake_renamed; /* how often names of services were written */
void net_sync_services(struct daemon *of)
{
	assert_ptr_equal(of, &d);
	assert_false(fake_engine_held);
	fake_renamed++;
}

static int setup(void **state)
{
	fake_engine_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	fake_wake_ms = -1;
	d = (struct daemon){.cfg = {.measure_web_use = true, .heartbeat_ms = 2000}};
	return directors_new(&d, &b);
}

static int teardown(void **state)
{
	directors_free(b);
	phx_buf_fini(&fake_woken);
	return world_teardown(state);
}

static void forget_woken(void)
{
	phx_buf_fini(&fake_woken);
	fake_woken = (struct phx_buf){0};
}

static void assert_woken(const char *names)
{
	assert_string_equal(fake_woken.n ? fake_woken.data : "", names);
	forget_woken();
}

/* ---- a cluster with a director ---- */

static void add_role(const char *name, const char *address, bool director)
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

static void serves(const char *node, const char *ip)
{
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = true};
	world_serving(w, node, "pages", true);
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.report.actual_role, "pages");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_node *n = world_node(w, node);
	PHX_STR_SET(n->ip, ip);
	n->address[0] = '\0';
	phx_touch(&w->s, n);
	phx_index_settle(&w->s);
}

/* n1 and n2 serve, n8 and n9 are directors, of which n8 acts. */
static void cluster(void)
{
	add_role("pages", "10.0.0.250", false);
	add_role("balance", "", true);
	serves("n1", "10.0.0.11");
	serves("n2", "10.0.0.12");
	world_serving(w, "n8", "balance", true);
	world_serving(w, "n9", "balance", true);
	const struct phx_node *acting = phx_director_acting(&w->s);
	assert_string_equal(acting ? acting->name : "", "n8");
}

/* A turn of the loop at which the table does not rest. */
static int turn(void)
{
	b->rest_until_us = 0;
	return directors_tick(b);
}

static uint64_t table_now(void)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = {0};
	assert_int_equal(phx_director_table(&w->s, &t), 0);
	return phx_web_table_id(&t);
}

/* What the director is ordered now. */
static uint64_t order_of(const char *director)
{
	struct phx_web_table t = {0};
	struct phx_web_share share = {0};
	assert_int_equal(phx_director_order(&w->s, world_node(w, director), &t, &share), 0);
	uint64_t id = phx_web_order_id(&t, &share);
	phx_web_table_fini(&t);
	phx_list_fini(&share.held);
	return id;
}

/* ---- who is told of a table ---- */

static void all_directors_are_woken_when_the_table_changes_and_nobody_else(void **state)
{
	(void)state;
	cluster();
	turn();
	assert_woken("n8 n9 "); /* whatever they have: it is not known yet */
	turn();
	assert_woken("");
	/* an event that changes no table */
	world_ready(w, "n3", true);
	turn();
	assert_woken("");
	/* n8 is the only one now, and tells nobody of connections any more */
	assert_int_equal(world_order(w, PHX_EV_drain, "n9", NULL), 0);
	turn();
	assert_woken("n8 ");
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	turn();
	assert_non_null(strstr(fake_woken.data, "n8 "));
	assert_null(strstr(fake_woken.data, "n1 "));
	assert_null(strstr(fake_woken.data, "n2 "));
}

/* However many events there are, the table is looked at again after a rest, and then it is. */
static void a_table_that_rests_is_looked_at_later(void **state)
{
	struct phx_event ev = {.kind = PHX_EV_missing};
	(void)state;
	cluster();
	turn();
	forget_woken();
	assert_in_range(b->rest_until_us, 1, phx_clock_us() + REST_MOST_US);
	b->rest_until_us = phx_clock_us() + 1000000000;
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_in_range(directors_tick(b), 1, WAKE_NEVER - 1);
	assert_woken("");
	turn();
	assert_non_null(fake_woken.data);
	assert_non_null(strstr(fake_woken.data, "n8 "));
}

/* The table is the same, but another one has it now. */
static void another_acting_director_is_told(void **state)
{
	(void)state;
	cluster();
	turn();
	forget_woken();
	uint64_t before = table_now();
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, "n8");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(phx_director_acting(&w->s)->name, "n9");
	assert_true(table_now() == before);
	turn();
	assert_non_null(fake_woken.data);
	assert_non_null(strstr(fake_woken.data, "n9 "));
}

/* ---- who leaves ---- */

/* n1 waits for the director: it gets no new requests, or has no connections any more. */
static const struct phx_step *leaves(int kind)
{
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	world_run_to(w, "n1", kind);
	turn();
	forget_woken();
	fake_now_ms = w->now + 1000;
	return phx_node_step(world_node(w, "n1"));
}

static void says(const char *node, uint64_t table, const char *servers)
{
	struct beat beat = {.balancer = servers};
	struct beat_running *r = phx_list_push(&beat.running, sizeof(*r));
	*r = (struct beat_running){.kind = PHX_ORDER_table, .id = (int64_t)table};
	PHX_AUTO_FREE char *monitor = servers
		? phx_path("{\"balancer\":{\"services\":[{\"servers\":[]},{\"servers\":[%s]}]}}",
			   servers)
		: NULL;
	beat.monitor = monitor;
	directors_heard(b, node, &beat);
	phx_list_fini(&beat.running);
}

static void a_node_leaves_when_the_acting_director_has_the_table_without_it(void **state)
{
	(void)state;
	cluster();
	const struct phx_step *step = leaves(PHX_STEP_divert);
	says("n8", order_of("n8"), NULL);
	assert_int_equal(fake_wake_ms, 0); /* and the loop looks at once */
	assert_int_equal(turn(), WAKE_NEVER);
	assert_int_equal(fake_events.n, 1);
	assert_int_equal(fake_event(0)->kind, PHX_EV_balanced);
	assert_string_equal(fake_event(0)->node, "n1");
	assert_int_equal(fake_event(0)->answer.step_id, step->id);
	assert_int_equal(fake_event(0)->answer.epoch, world_node(w, "n1")->plan.epoch);
	assert_woken("");
}

static void no_other_word_lets_it_go(void **state)
{
	(void)state;
	cluster();
	leaves(PHX_STEP_divert);
	says("n8", order_of("n8") + 1, NULL); /* the table of before */
	turn();
	says("n9", order_of("n9"), NULL); /* who does not act has no connections to end */
	turn();
	says("n2", 0, NULL); /* is no director */
	turn();
	fake_now_ms = w->now - 5000; /* it said so before the step began */
	says("n8", order_of("n8"), NULL);
	fake_now_ms = w->now + 2000;
	turn();
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(b->directors.n, 2);
}

static void a_node_with_connections_stays_until_they_end(void **state)
{
	(void)state;
	cluster();
	leaves(PHX_STEP_settle);
	says("n8", order_of("n8"),
	     "{\"address\":\"10.0.0.12\",\"active\":7},{\"address\":\"10.0.0.11\",\"active\":1}");
	turn();
	assert_int_equal(fake_events.n, 0);
	says("n8", order_of("n8"),
	     "{\"address\":\"10.0.0.12\",\"active\":7},{\"address\":\"10.0.0.11\",\"active\":0}");
	turn();
	assert_int_equal(fake_events.n, 1);
	assert_non_null(strstr(fake_event(0)->text, "n8 counts no connection to it"));
}

/* Two have addresses: each of them must have said so. */
static void all_that_have_addresses_let_it_go(void **state)
{
	(void)state;
	cluster();
	add_role("more", "10.0.0.251", false);
	leaves(PHX_STEP_divert);
	says("n9", order_of("n9"), NULL);
	turn();
	assert_int_equal(fake_events.n, 0);
	says("n8", order_of("n8"), NULL);
	says("n9", order_of("n8"), NULL); /* that is not its share */
	turn();
	assert_int_equal(fake_events.n, 0);
	forget_woken();
	b->ask_ms = 0;
	turn();
	assert_woken("n8 n9 ");
	says("n9", order_of("n9"), NULL);
	turn();
	assert_int_equal(fake_events.n, 1);
	assert_non_null(strstr(fake_event(0)->text, "n8 sends it nothing new; 1 other"));
}

/* dnsmasq is told of an RE that has addresses, once. */
static void names_of_services_are_told(void **state)
{
	(void)state;
	cluster();
	turn();
	fake_renamed = 0;
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_agreement *g = &ev.ask.agreement;
	phx_agreement_init(g);
	PHX_STR_SET(g->name, "shop");
	PHX_STR_SET(g->owner, "shop");
	PHX_STR_SET(g->role, "pages");
	PHX_STR_SET(g->addresses, "10.0.0.1 10.0.0.2");
	g->type = PHX_RE_WEB;
	g->model = PHX_POLICY_fb;
	g->lower = g->upper = 1;
	world_ready(w, "n3", true);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	turn();
	assert_int_equal(fake_renamed, 0);
	struct phx_event on = {.kind = PHX_EV_re_activate, .re_order.who = PHX_RE_WHO_SERVICE};
	PHX_STR_SET(on.re, "shop");
	assert_int_equal(world_apply(w, &on, NULL), 0);
	turn();
	assert_int_equal(fake_renamed, 1);
	turn();
	assert_int_equal(fake_renamed, 1);
}

/* Another one has an address now, and the table is as it was. */
static void a_moved_address_is_told(void **state)
{
	(void)state;
	cluster();
	add_role("more", "10.0.0.251", false);
	turn();
	forget_woken();
	struct phx_held *h = PHX_LIST_AT(&w->s.held, struct phx_held, 1);
	assert_string_equal(h->director, "n9");
	PHX_STR_SET(h->director, "n8");
	w->s.seq++;
	turn();
	assert_woken("n8 n9 ");
}

/* So often, and no more often, while somebody waits. */
static void the_acting_director_is_asked_again_for_who_waits(void **state)
{
	(void)state;
	cluster();
	leaves(PHX_STEP_divert);
	b->ask_ms = 0;
	assert_int_equal(turn(), ASK_AGAIN_MS);
	assert_woken("n8 ");
	fake_now_ms += ASK_AGAIN_MS - 1;
	assert_int_equal(turn(), 1);
	assert_woken("");
	fake_now_ms += 1;
	assert_int_equal(turn(), ASK_AGAIN_MS);
	assert_woken("n8 ");
}

static void nobody_is_asked_where_nobody_waits(void **state)
{
	(void)state;
	cluster();
	turn();
	forget_woken();
	says("n8", order_of("n8"), NULL);
	assert_int_equal(turn(), WAKE_NEVER);
	assert_woken("");
	assert_int_equal(fake_events.n, 0);
}

/* Its agent was started anew, and its kernel has no table yet: what it said before counts no
 * more. */
static void a_director_without_a_table_is_heard_too(void **state)
{
	(void)state;
	cluster();
	leaves(PHX_STEP_divert);
	says("n8", order_of("n8"), NULL);
	says("n8", 0, NULL);
	turn();
	assert_int_equal(fake_events.n, 0);
}

/* ---- use ---- */

static void shop_serves(void)
{
	pair_running(w, 2, 2);
	assert_int_equal(held(w, "shop"), 2);
}

static const char *instance(unsigned i)
{
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->allocated_to, "shop") && i-- == 0)
			return n->name;
	fail_msg("there is no such instance");
	return NULL;
}

static void uses(const char *node, int64_t ppm)
{
	const struct beat beat = {.use_ppm = ppm};
	directors_sample(b, node, &beat);
}

static void the_mean_use_of_an_re_is_one_event_a_heartbeat(void **state)
{
	(void)state;
	shop_serves();
	uses(instance(0), 200000);
	assert_int_equal(fake_wake_ms, 2000);
	fake_wake_ms = -1;
	uses(instance(1), 400000);
	assert_int_equal(fake_wake_ms, -1); /* it is asked for */
	assert_int_equal(turn(), 2000);
	fake_now_ms += 1999;
	assert_int_equal(turn(), 1);
	assert_int_equal(fake_events.n, 0);
	fake_now_ms += 1;
	assert_int_equal(turn(), WAKE_NEVER);
	assert_int_equal(fake_events.n, 1);
	assert_int_equal(fake_event(0)->kind, PHX_EV_re_use);
	assert_string_equal(fake_event(0)->re, "shop");
	assert_int_equal(fake_event(0)->re_use.use_ppm, 300000);
	/* each sample counts once */
	fake_now_ms += 10000;
	assert_int_equal(turn(), WAKE_NEVER);
	uses(instance(0), 100000);
	fake_now_ms += 2000;
	turn();
	assert_int_equal(fake_events.n, 2);
	assert_int_equal(fake_event(1)->re_use.use_ppm, 100000);
}

/* A node says what it likes: not more than all. */
static void a_use_beyond_all_is_all(void **state)
{
	(void)state;
	shop_serves();
	uses(instance(0), INT64_MAX);
	uses(instance(1), 0);
	fake_now_ms += 2000;
	turn();
	assert_int_equal(fake_event(0)->re_use.use_ppm, USE_MAX_PPM / 2);
}

static void a_use_counts_only_for_an_instance_of_a_web_re(void **state)
{
	(void)state;
	shop_serves();
	const char *batch = NULL;
	PHX_NODES_EACH(n, &w->s)
		batch = !strcmp(n->allocated_to, "queue") ? n->name : batch;
	assert_non_null(batch);
	uses(batch, 500000);
	uses("gone", 500000);
	uses(instance(0), -1); /* measures none */
	d.cfg.measure_web_use = false;
	uses(instance(0), 500000);
	fake_now_ms += 10000;
	assert_int_equal(turn(), WAKE_NEVER);
	assert_int_equal(fake_events.n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_directors_are_woken_when_the_table_changes_and_nobody_else),
		TEST(a_table_that_rests_is_looked_at_later),
		TEST(another_acting_director_is_told),
		TEST(a_node_leaves_when_the_acting_director_has_the_table_without_it),
		TEST(no_other_word_lets_it_go),
		TEST(a_node_with_connections_stays_until_they_end),
		TEST(all_that_have_addresses_let_it_go),
		TEST(a_moved_address_is_told),
		TEST(names_of_services_are_told),
		TEST(the_acting_director_is_asked_again_for_who_waits),
		TEST(nobody_is_asked_where_nobody_waits),
		TEST(a_director_without_a_table_is_heard_too),
		TEST(the_mean_use_of_an_re_is_one_event_a_heartbeat),
		TEST(a_use_beyond_all_is_all),
		TEST(a_use_counts_only_for_an_instance_of_a_web_re),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
