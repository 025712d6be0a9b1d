/* What a machine is known by, and its BMC, changed by hand: what is given and nothing else, never
 * what is another node's, and not under a hand-over. */
#include "unit/core/world.h"

#include "state/known.h"

static struct phx_event edit_of(const char *name)
{
	struct phx_event ev = {.kind = PHX_EV_node_edit};
	PHX_STR_SET(ev.node, name);
	return ev;
}

static void add_mac(struct phx_event *ev, const char *mac)
{
	struct phx_mac *m = phx_list_push(&ev->node_edit.macs, sizeof(*m));
	assert_non_null(m);
	PHX_STR_SET(m->mac, mac);
}

static int edit_mac(struct world *w, const char *name, const char *mac)
{
	struct phx_event ev = edit_of(name);
	add_mac(&ev, mac);
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static int edit_ip(struct world *w, const char *name, const char *ip)
{
	struct phx_event ev = edit_of(name);
	ev.node_edit.has_ip = true;
	PHX_STR_SET(ev.node_edit.ip, ip);
	return world_apply(w, &ev, NULL);
}

/* DHCP follows, and who boots with it is known at once. */
static void another_network_card(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	struct phx_event ev = edit_of("n1");
	struct phx_outcome out = {0};
	add_mac(&ev, "52:54:00:00:01:01");
	add_mac(&ev, "52:54:00:00:01:02");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(out.actions.n, 1);
	assert_int_equal(PHX_LIST_AT(&out.actions, struct phx_action, 0)->kind, PHX_ACT_DHCP);
	phx_outcome_fini(&out);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->macs.n, 2);
	assert_ptr_equal(phx_known_next(&w->s, PHX_KNOWN_MAC, "52:54:00:00:01:02", 0), n);
	assert_null(phx_known_next(&w->s, PHX_KNOWN_MAC, "52:54:00:00:00:01", 0));
	assert_string_equal(phx_core_boot(&w->s, "52:54:00:00:01:01", "10.0.0.1").node, "n1");
	uint64_t seq = w->s.seq;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(w->s.seq, seq); /* it already is so: no event */
	phx_event_fini(&ev);
}

static void what_is_anothers_is_refused(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", false);
	world_ready(w, "n2", false);
	assert_int_equal(edit_mac(w, "n1", "52:54:00:00:00:02"), -EEXIST);
	assert_string_equal(w->err.text, "MAC 52:54:00:00:00:02 belongs to node n2 already");
	assert_int_equal(edit_ip(w, "n2", "10.0.0.2"), 0);
	assert_int_equal(edit_ip(w, "n1", "10.0.0.2"), -EEXIST);
	assert_string_equal(w->err.text, "address 10.0.0.2 belongs to node n2 already");
	assert_int_equal(edit_mac(w, "n1", "52:54"), -EINVAL);
	assert_int_equal(edit_mac(w, "n9", "52:54:00:00:00:09"), -ENOENT);
	/* what somebody gave away is free */
	assert_int_equal(edit_ip(w, "n2", ""), 0);
	assert_int_equal(edit_ip(w, "n1", "10.0.0.2"), 0);
}

static void not_under_a_hand_over(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(edit_ip(w, "n1", "10.0.0.7"), -EPERM);
	assert_memory_equal(w->err.text, "n1 is active, and has its address in use", 40);
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
	assert_int_equal(edit_mac(w, "n1", "52:54:00:00:00:77"), -EBUSY);
	assert_int_equal(edit_ip(w, "n1", "10.0.0.7"), -EBUSY);
	world_run(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(edit_ip(w, "n1", "10.0.0.7"), 0);
}

static void something_stays_that_it_is_known_by(void **state)
{
	struct world *w = *state;
	struct phx_event add = {.kind = PHX_EV_node_add, .node = "n1"}, ev = edit_of("n1");
	PHX_STR_SET(add.node_add.serial, "SN1");
	assert_int_equal(world_apply(w, &add, NULL), 0);
	ev.node_edit.has_serial = true;
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	PHX_STR_SET(ev.node_edit.serial, "SN2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(world_node(w, "n1")->serial, "SN2");
	assert_ptr_equal(phx_known_next(&w->s, PHX_KNOWN_SERIAL, "SN2", 0), world_node(w, "n1"));
}

/* ---- its BMC ---- */

static void only_what_is_given_of_a_bmc_changes(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", false);
	struct phx_event ev = {.kind = PHX_EV_node_bmc, .node = "n1"};
	PHX_STR_SET(ev.node_bmc.bmc.driver, "ipmi");
	PHX_STR_SET(ev.node_bmc.bmc.address, "10.0.0.9");
	PHX_STR_SET(ev.node_bmc.bmc.user, "admin");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_event one = {.kind = PHX_EV_node_bmc, .node = "n1"};
	struct phx_word *word = phx_list_push(&one.node_bmc.only, sizeof(*word));
	PHX_STR_SET(word->text, "address");
	PHX_STR_SET(one.node_bmc.bmc.address, "10.0.0.10");
	assert_int_equal(world_apply(w, &one, NULL), 0);
	const struct phx_bmc *bmc = &world_node(w, "n1")->bmc;
	assert_string_equal(bmc->address, "10.0.0.10");
	assert_string_equal(bmc->driver, "ipmi");
	assert_string_equal(bmc->user, "admin");
	assert_string_equal(bmc->node, "n1");
	phx_event_fini(&one);
	/* an event of an older journal has all */
	PHX_STR_SET(ev.node_bmc.bmc.user, "");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(world_node(w, "n1")->bmc.address, "10.0.0.9");
	assert_string_equal(world_node(w, "n1")->bmc.user, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(another_network_card),
		WORLD_TEST(what_is_anothers_is_refused),
		WORLD_TEST(not_under_a_hand_over),
		WORLD_TEST(something_stays_that_it_is_known_by),
		WORLD_TEST(only_what_is_given_of_a_bmc_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
