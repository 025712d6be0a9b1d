/* What machines are known by: each key finds its node whenever it is asked, as a look at all nodes
 * would: after an event, in the middle of one, and without an index. */
#include "unit/core/world.h"

#include "state/index.h"
#include "state/known.h"

#define TOKEN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char *found(const struct world *w, enum phx_known_kind kind, const char *key)
{
	const struct phx_node *n = phx_known_next(&w->s, kind, key, 0);
	return n ? n->name : "nobody";
}

static void announce(struct world *w, const char *name, const char *mac, const char *serial,
		     const char *token, const char *ip)
{
	struct phx_event ev = {.kind = PHX_EV_node_add};
	PHX_STR_SET(ev.node, name);
	struct phx_mac *m = mac[0] ? phx_list_push(&ev.node_add.macs, sizeof(*m)) : NULL;
	if (m)
		PHX_STR_SET(m->mac, mac);
	PHX_STR_SET(ev.node_add.serial, serial);
	PHX_STR_SET(ev.node_add.token_sha256, token);
	PHX_STR_SET(ev.node_add.ip, ip);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void four(struct world *w)
{
	world_ready(w, "n9", true); /* reports the UUID uuid-9 */
	announce(w, "a", "52:54:00:00:01:01", "serial-a", "", "10.0.0.1");
	announce(w, "b", "", "serial-b", "", "");
	announce(w, "c", "", "", TOKEN, "10.0.0.3");
}

static void check_four(const struct world *w)
{
	assert_string_equal(found(w, PHX_KNOWN_MAC, "52:54:00:00:01:01"), "a");
	assert_string_equal(found(w, PHX_KNOWN_IP, "10.0.0.1"), "a");
	assert_string_equal(found(w, PHX_KNOWN_SERIAL, "serial-b"), "b");
	assert_string_equal(found(w, PHX_KNOWN_TOKEN, TOKEN), "c");
	assert_string_equal(found(w, PHX_KNOWN_IP, "10.0.0.3"), "c");
	assert_string_equal(found(w, PHX_KNOWN_UUID, "uuid-9"), "n9");
	assert_string_equal(found(w, PHX_KNOWN_PROVEN, "uuid-9"), "n9");
	/* who has a MAC address is known by it, not by a number that others may have */
	assert_string_equal(found(w, PHX_KNOWN_SERIAL, "serial-a"), "nobody");
	assert_string_equal(found(w, PHX_KNOWN_SERIAL, TOKEN), "nobody");
	assert_string_equal(found(w, PHX_KNOWN_UUID, "serial-b"), "nobody");
	for (enum phx_known_kind kind = 0; kind < PHX_KNOWN_KINDS; kind++)
		assert_string_equal(found(w, kind, ""), "nobody");
}

static void each_key_finds_its_node(void **state)
{
	struct world *w = *state;
	four(w);
	check_four(w);
	phx_index_drop(&w->s);
	check_four(w);
}

static struct phx_node *rename_mac(struct world *w, const char *name, const char *mac)
{
	struct phx_node *n = world_node(w, name);
	PHX_STR_SET(PHX_LIST_AT(&n->macs, struct phx_mac, 0)->mac, mac);
	return n;
}

static void in_the_middle_of_an_event(void **state)
{
	struct world *w = *state;
	four(w);
	phx_touch(&w->s, rename_mac(w, "a", "52:54:00:00:01:02"));
	for (int i = 0; i < 2; i++) {
		assert_string_equal(found(w, PHX_KNOWN_MAC, "52:54:00:00:01:01"), "nobody");
		assert_string_equal(found(w, PHX_KNOWN_MAC, "52:54:00:00:01:02"), "a");
		assert_string_equal(found(w, PHX_KNOWN_IP, "10.0.0.1"), "a");
		phx_index_settle(&w->s);
	}
}

static void the_first_of_several(void **state)
{
	struct world *w = *state;
	four(w);
	announce(w, "d", "", "serial-b", "", "");
	announce(w, "e", "", "serial-b", "", "");
	/* the first one stands behind the others in the table now */
	PHX_STR_SET(world_node(w, "b")->uuid, "u");
	PHX_STR_SET(world_node(w, "b")->ip, "10.0.0.2");
	phx_touch(&w->s, world_node(w, "b"));
	phx_index_settle(&w->s);
	const char *const names[] = {"b", "d", "e"};
	uint32_t at = 0;
	for (unsigned i = 0; i < 3; i++) {
		const struct phx_node *n = phx_known_next(&w->s, PHX_KNOWN_SERIAL, "serial-b", at);
		assert_non_null(n);
		assert_string_equal(n->name, names[i]);
		at = phx_index_place(&w->s, n) + 1;
	}
	assert_null(phx_known_next(&w->s, PHX_KNOWN_SERIAL, "serial-b", at));
}

static void after_a_removal(void **state)
{
	struct world *w = *state;
	four(w);
	assert_int_equal(world_order(w, PHX_EV_node_remove, "a", NULL), 0);
	assert_string_equal(found(w, PHX_KNOWN_MAC, "52:54:00:00:01:01"), "nobody");
	assert_string_equal(found(w, PHX_KNOWN_SERIAL, "serial-b"), "b");
	assert_string_equal(found(w, PHX_KNOWN_TOKEN, TOKEN), "c");
}

/* A change that is not told is found by the check, not by luck. */
static void an_untold_change(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	four(w);
	rename_mac(w, "a", "52:54:00:00:01:02");
	assert_int_equal(phx_state_check(&w->s, &err), -EPROTO);
	assert_non_null(strstr(err.text, "a was changed but not touched: what it is known by"));
}

static void two_nodes_of_one_machine(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	four(w);
	phx_touch(&w->s, rename_mac(w, "n9", "52:54:00:00:01:01"));
	phx_index_settle(&w->s);
	assert_int_equal(phx_state_check(&w->s, &err), -EPROTO);
	assert_string_equal(err.text, "MAC 52:54:00:00:01:01 belongs to two nodes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(each_key_finds_its_node), WORLD_TEST(in_the_middle_of_an_event),
		WORLD_TEST(the_first_of_several),    WORLD_TEST(after_a_removal),
		WORLD_TEST(an_untold_change),        WORLD_TEST(two_nodes_of_one_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
