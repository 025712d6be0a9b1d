/* Who of several directors has which virtual address, and what each of them is ordered. */
#include "unit/core/world.h"

#include "node/director.h"
#include "state/index.h"

enum { BACK_S = 960 };

static void add_role(struct world *w, const char *name, const char *address, bool director)
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

static void event(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void set_back(struct world *w, uint32_t back_s)
{
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	ev.site.settings.address_back_s = back_s;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static struct phx_agreement web_re(const char *name, const char *addresses)
{
	struct phx_agreement a;
	phx_agreement_init(&a);
	PHX_STR_SET(a.name, name);
	PHX_STR_SET(a.owner, "shop");
	PHX_STR_SET(a.role, "pages");
	PHX_STR_SET(a.addresses, addresses);
	a.type = PHX_RE_WEB;
	a.model = PHX_POLICY_fb;
	a.lower = a.upper = 1;
	return a;
}

static int create(struct world *w, const char *name, const char *addresses)
{
	struct phx_event ev = {
		.kind = PHX_EV_re_create,
		.ask = {.who = PHX_RE_WHO_PROVIDER, .agreement = web_re(name, addresses)}};
	return world_apply(w, &ev, NULL);
}

static void operate(struct world *w, int kind, const char *re)
{
	struct phx_event ev = {.kind = kind, .re_order.who = PHX_RE_WHO_SERVICE};
	PHX_STR_SET(ev.re, re);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* An active RE with these addresses. */
static void serve(struct world *w, const char *re, const char *addresses)
{
	assert_int_equal(create(w, re, addresses), 0);
	operate(w, PHX_EV_re_activate, re);
}

/* "ADDRESS=DIRECTOR ...", the addresses by their last numbers; "-": nobody has it. Also asked of a
 * state as it is after a restart of the head. */
static void check_held(struct world *w, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_state copy;
	int64_t since_ms;
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	PHX_LIST_EACH(struct phx_held, h, &w->s.held) {
		const struct phx_node *n = phx_director_of(&w->s, h->address, &since_ms);
		const struct phx_node *same = phx_director_of(&copy, h->address, &since_ms);
		phx_buf_addf(&b, "%s%s=%s", b.n ? " " : "", strrchr(h->address, '.') + 1,
			     n ? n->name : "-");
		assert_string_equal(n ? n->name : "", same ? same->name : "");
		assert_true(!n || phx_director_acts(&w->s, n));
	}
	assert_string_equal(b.data ? b.data : "", want);
	phx_state_fini(&copy);
}

static void directors(struct world *w, unsigned n)
{
	char name[] = "n1";
	add_role(w, "pages", "", false);
	add_role(w, "balance", "", true);
	for (; n; n--, name[1]++)
		world_serving(w, name, "balance", true);
	for (; name[1] <= '6'; name[1]++) /* for the instances */
		world_ready(w, name, true);
}

static void addresses_are_shared(void **state)
{
	struct world *w = *state;
	directors(w, 3);
	check_held(w, "");
	serve(w, "shop", "10.0.0.1 10.0.0.2,10.0.0.3");
	check_held(w, "1=n1 2=n2 3=n3");
	/* those of one service first, of all then */
	serve(w, "news", "10.0.0.9, 10.0.0.8");
	check_held(w, "1=n1 2=n2 3=n3 8=n1 9=n2");
	serve(w, "wiki", "10.0.0.5");
	check_held(w, "1=n1 2=n2 3=n3 5=n3 8=n1 9=n2");
	/* while requests end: three times the grace of the role, and a minute */
	phx_state_role(&w->s, "pages")->drain_grace_s = 2000;
	world_run(w, "n4"); /* its instance is there */
	operate(w, PHX_EV_re_deactivate, "shop");
	int64_t until_ms = PHX_LIST_AT(&w->s.held, struct phx_held, 0)->until_ms;
	assert_in_range(until_ms, w->now + 6060000, w->now + 86400000);
	check_held(w, "1=n1 2=n2 3=n3 5=n3 8=n1 9=n2");
	w->now = until_ms - 1;
	event(w, PHX_EV_missing, "n3");
	check_held(w, "1=n1 2=n2 3=n1 5=n2 8=n1 9=n2");
	w->now += 1;
	event(w, PHX_EV_back, "n3");
	check_held(w, "5=n2 8=n1 9=n2");
}

static void a_lost_director_loses_all(void **state)
{
	struct world *w = *state;
	int64_t since_ms;
	directors(w, 3);
	serve(w, "shop", "10.0.0.1 10.0.0.2 10.0.0.3");
	serve(w, "news", "10.0.0.8 10.0.0.9");
	check_held(w, "1=n1 2=n2 3=n3 8=n1 9=n2");
	w->now += 5000;
	event(w, PHX_EV_missing, "n1");
	check_held(w, "1=n3 2=n2 3=n3 8=n3 9=n2");
	phx_director_of(&w->s, "10.0.0.1", &since_ms);
	assert_int_equal(since_ms, w->now);
	phx_director_of(&w->s, "10.0.0.2", &since_ms);
	assert_true(since_ms < w->now);
	event(w, PHX_EV_missing, "n2");
	check_held(w, "1=n3 2=n3 3=n3 8=n3 9=n3");
	event(w, PHX_EV_missing, "n3");
	check_held(w, "1=- 2=- 3=- 8=- 9=-");
	assert_null(phx_director_acting(&w->s));
	/* whoever comes first has them, and who had them loses them to him */
	event(w, PHX_EV_back, "n2");
	check_held(w, "1=n2 2=n2 3=n2 8=n2 9=n2");
	event(w, PHX_EV_back, "n3");
	check_held(w, "1=n2 2=n2 3=n2 8=n2 9=n2");
	event(w, PHX_EV_quarantine, "n2");
	check_held(w, "1=n3 2=n3 3=n3 8=n3 9=n3");
}

/* On its way to another role it has none at once. */
static void a_director_that_is_handed_over_has_none(void **state)
{
	struct world *w = *state;
	directors(w, 2);
	serve(w, "shop", "10.0.0.1 10.0.0.2");
	check_held(w, "1=n1 2=n2");
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	check_held(w, "1=n2 2=n2");
	world_run(w, "n1");
	check_held(w, "1=n2 2=n2");
	assert_int_equal(world_order(w, PHX_EV_drain, "n2", NULL), 0);
	check_held(w, "1=- 2=-");
}

static void who_comes_back_waits_for_its_share(void **state)
{
	struct world *w = *state;
	struct phx_event tick = {.kind = PHX_EV_tick};
	directors(w, 2);
	set_back(w, BACK_S);
	serve(w, "shop", "10.0.0.1 10.0.0.2");
	serve(w, "news", "10.0.0.8 10.0.0.9");
	check_held(w, "1=n1 2=n2 8=n1 9=n2");
	assert_true(phx_director_due_ms(&w->s) == INT64_MAX);
	event(w, PHX_EV_missing, "n1");
	w->now += 7000;
	event(w, PHX_EV_back, "n1");
	int64_t due_ms = w->now + BACK_S * 1000;
	check_held(w, "1=n2 2=n2 8=n2 9=n2");
	assert_int_equal(phx_director_due_ms(&w->s), due_ms);
	assert_true(phx_core_next_deadline(&w->s) <= due_ms);
	w->now = due_ms - 1;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	check_held(w, "1=n2 2=n2 8=n2 9=n2");
	w->now = due_ms;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	/* one of each service */
	check_held(w, "1=n1 2=n2 8=n1 9=n2");
	assert_true(phx_director_due_ms(&w->s) == INT64_MAX);
	/* not heard for a moment: the time begins anew */
	event(w, PHX_EV_missing, "n1");
	w->now += 1000;
	event(w, PHX_EV_back, "n1");
	assert_int_equal(phx_director_due_ms(&w->s), w->now + BACK_S * 1000);
	set_back(w, 0);
	assert_true(phx_director_due_ms(&w->s) == INT64_MAX);
}

static void a_single_address_stays_where_it_is(void **state)
{
	struct world *w = *state;
	directors(w, 2);
	set_back(w, BACK_S);
	serve(w, "shop", "10.0.0.1");
	event(w, PHX_EV_missing, "n1");
	event(w, PHX_EV_back, "n1");
	check_held(w, "1=n2");
	assert_true(phx_director_due_ms(&w->s) == INT64_MAX);
}

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

/* Nobody has its addresses before it is seen off; those of others stay. */
static void a_fenced_director_is_seen_off_first(void **state)
{
	struct world *w = *state;
	struct phx_event off = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_OFF};
	PHX_STR_SET(off.node, "n1");
	directors(w, 3);
	phx_state_role(&w->s, "balance")->fence = PHX_ROLE_FENCE_POWER;
	serve(w, "shop", "10.0.0.1 10.0.0.2 10.0.0.3");
	serve(w, "news", "10.0.0.8");
	check_held(w, "1=n1 2=n2 3=n3 8=n1");
	assert_int_equal(offs(w, PHX_EV_missing, "n1"), 1);
	check_held(w, "1=- 2=n2 3=n3 8=-");
	assert_int_equal(world_apply(w, &off, NULL), 0);
	check_held(w, "1=n2 2=n2 3=n3 8=n3");
}

/* ---- whatever happens ---- */

/* How many of the directors are heard, and how many addresses each of them is told to hold. An
 * address is held by one of them, and by nobody only if none is heard. */
static void check_promises(struct world *w)
{
	uint32_t n_heard = 0, n_told = 0;
	int64_t since_ms;
	for (const struct phx_node *n = NULL; (n = phx_director_next(&w->s, n));) {
		struct phx_web_table t = {0};
		struct phx_web_share share = {0};
		assert_int_equal(phx_director_order(&w->s, n, &t, &share), 0);
		n_heard += n->up;
		n_told += n->up ? share.held.n : 0;
		assert_true(n->up || !phx_director_acts(&w->s, n));
		PHX_LIST_EACH(struct phx_web_held, h, &share.held)
			assert_true(!n->up || phx_director_of(&w->s, h->address, &since_ms) == n);
		phx_web_table_fini(&t);
		phx_list_fini(&share.held);
	}
	assert_int_equal(n_told, n_heard ? w->s.held.n : 0);
	PHX_LIST_EACH(struct phx_held, h, &w->s.held) {
		const struct phx_node *n = phx_director_of(&w->s, h->address, &since_ms);
		assert_int_equal(n != NULL, n_heard > 0);
		assert_true(!n || since_ms);
	}
}

static void happens(struct world *w, uint64_t random)
{
	char node[3] = {'n', (char)('1' + (random >> 8) % 4), 0};
	struct phx_event ev = {.kind = PHX_EV_tick};
	PHX_STR_SET(ev.node, node);
	w->now += (int64_t)((random >> 32) % 400000);
	switch (random % 8) {
	case 0:
	case 1:
		ev.kind = PHX_EV_missing;
		break;
	case 2:
	case 3:
	case 4:
		ev.kind = PHX_EV_back;
		break;
	case 5:
		world_order(w, PHX_EV_drain, node, NULL);
		return;
	case 6:
		world_order(w, PHX_EV_resume, node, NULL);
		return;
	default:
		break;
	}
	world_apply(w, &ev, NULL);
}

/* Directors come and go in any order: each address is held by one that is heard, at once. */
static void each_address_is_served_whatever_happens(void **state)
{
	struct world *w = *state;
	uint64_t random = 42, n_moved = 0, n_none = 0;
	add_role(w, "pages", "10.0.0.7", false);
	add_role(w, "more", "10.0.0.6", false);
	add_role(w, "wiki", "10.0.0.5", false);
	add_role(w, "balance", "", true);
	set_back(w, BACK_S);
	for (char name[] = "n1"; name[1] <= '4'; name[1]++)
		world_serving(w, name, "balance", true);
	for (unsigned i = 0; i < 3000; i++) {
		char before[PHX_NAME_MAX];
		PHX_STR_SET(before, PHX_LIST_AT(&w->s.held, struct phx_held, 0)->director);
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		happens(w, random >> 7);
		check_promises(w);
		n_moved +=
			strcmp(before, PHX_LIST_AT(&w->s.held, struct phx_held, 0)->director) != 0;
		n_none += !phx_director_acting(&w->s);
	}
	/* it did happen */
	assert_true(n_moved > 100 && n_none > 20);
}

/* ---- orders ---- */

struct told {
	char held[128];
	uint32_t n_services, sync_id;
	bool on;
};

static struct told order_of(struct world *w, const char *node)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	struct told ret = {0};
	world_orders(w, node, &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_int_equal(o->kind, PHX_ORDER_table);
	assert_true(o->id == phx_web_order_id(&o->table, &o->share));
	assert_int_equal(phx_web_share_check(&o->share, NULL), 0);
	PHX_LIST_EACH(struct phx_web_held, h, &o->share.held) {
		strcat(ret.held, strrchr(h->address, '.'));
		assert_true(phx_web_share_holds(&o->share, h->address));
	}
	ret.on = o->share.on;
	ret.n_services = o->table.services.n;
	ret.sync_id = o->share.sync_id;
	phx_record_fini(&phx_order_record, o);
	return ret;
}

static void each_has_the_table_and_its_share(void **state)
{
	struct world *w = *state;
	directors(w, 1);
	serve(w, "shop", "10.0.0.1 10.0.0.2");
	struct told first = order_of(w, "n1");
	assert_true(first.on);
	assert_string_equal(first.held, ".1.2");
	assert_int_equal(first.sync_id, 0); /* there is nobody to tell */
	world_serving(w, "n7", "balance", true);
	struct told one = order_of(w, "n1"), other = order_of(w, "n7");
	assert_string_equal(one.held, ".1.2");
	assert_string_equal(other.held, "");
	assert_int_equal(one.n_services, 2);
	assert_int_equal(other.n_services, 2);
	assert_true(one.sync_id && one.sync_id == other.sync_id);
	event(w, PHX_EV_missing, "n1");
	assert_string_equal(order_of(w, "n1").held, "");
	assert_string_equal(order_of(w, "n7").held, ".1.2");
	/* silent: it may come back, and hear of connections until then */
	assert_int_equal(order_of(w, "n7").sync_id, one.sync_id);
}

/* Who is none any more is told to end all that one does. */
static void who_is_none_any_more_has_nothing(void **state)
{
	struct world *w = *state;
	directors(w, 2);
	serve(w, "shop", "10.0.0.1 10.0.0.2");
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = true};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.report.actual_role, "balance");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	event(w, PHX_EV_quarantine, "n1");
	struct told none = order_of(w, "n1");
	assert_int_equal(none.n_services, 0);
	assert_string_equal(none.held, "");
	assert_int_equal(none.sync_id, 0);
	assert_int_equal(order_of(w, "n2").sync_id, 0);
}

/* An older agent takes all addresses of its table: it gets no others. */
static void an_older_agent_has_its_services_alone(void **state)
{
	struct world *w = *state;
	directors(w, 2);
	serve(w, "shop", "10.0.0.1 10.0.0.2 10.0.0.3");
	check_held(w, "1=n1 2=n2 3=n1");
	world_node(w, "n1")->shares = false;
	struct told old = order_of(w, "n1");
	assert_false(old.on);
	assert_int_equal(old.n_services, 2);
	assert_string_equal(old.held, "");
	assert_int_equal(order_of(w, "n2").n_services, 3);
}

/* ---- instances ---- */

static void check_table(struct world *w, const char *want)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	assert_int_equal(phx_director_table(&w->s, &t), 0);
	PHX_LIST_EACH(struct phx_web_service, s, &t.services) {
		phx_buf_addf(&b, "%s%s:%u", b.n ? "; " : "", s->address, s->port);
		PHX_LIST_EACH(struct phx_web_server, v, &s->servers)
			phx_buf_addf(&b, " %s=%u", v->address, v->weight);
	}
	assert_string_equal(b.data ? b.data : "", want);
}

static void an_instance_is_behind_each_address(void **state)
{
	struct world *w = *state;
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	add_role(w, "pages", "", false);
	world_ready(w, "n1", true);
	serve(w, "shop", "10.0.0.1 10.0.0.2");
	world_run_to(w, "n1", PHX_STEP_start);
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_string_equal(o->role.web.address, "10.0.0.1");
	assert_string_equal(o->role.web.more, "10.0.0.2");
	phx_record_fini(&phx_order_record, o);
	world_run(w, "n1");
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = true};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.report.actual_role, "pages");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(n->ip, "10.0.0.11");
	PHX_STR_SET(n->address, "");
	phx_touch(&w->s, n);
	phx_index_settle(&w->s);
	check_table(w, "10.0.0.1:80 10.0.0.11=1; 10.0.0.2:80 10.0.0.11=1");
	n->shares = false;
	check_table(w, "10.0.0.1:80 10.0.0.11=1; 10.0.0.2:80");
}

static void no_two_res_have_one_address(void **state)
{
	struct world *w = *state;
	directors(w, 1);
	assert_int_equal(create(w, "shop", "10.0.0.1 10.0.0.2"), 0);
	assert_int_equal(create(w, "news", "10.0.0.3 10.0.0.2"), -EEXIST);
	assert_non_null(strstr(w->err.text, "10.0.0.2, port 80 is that of RE 'shop'"));
	assert_int_equal(create(w, "news", "10.0.0.3"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(addresses_are_shared),
		WORLD_TEST(a_lost_director_loses_all),
		WORLD_TEST(a_director_that_is_handed_over_has_none),
		WORLD_TEST(who_comes_back_waits_for_its_share),
		WORLD_TEST(a_single_address_stays_where_it_is),
		WORLD_TEST(a_fenced_director_is_seen_off_first),
		WORLD_TEST(each_address_is_served_whatever_happens),
		WORLD_TEST(each_has_the_table_and_its_share),
		WORLD_TEST(who_is_none_any_more_has_nothing),
		WORLD_TEST(an_older_agent_has_its_services_alone),
		WORLD_TEST(an_instance_is_behind_each_address),
		WORLD_TEST(no_two_res_have_one_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
