/* Beacons (cmd/phxd/beacons.c): what of one becomes a row, and whose; who sends too much, and what
 * all together may send. What keeps the rows is a fake. */
#include "fake/engine.h"
#include "fake/request.h"
#include "unit/core/world.h"

#include "phxd/beacons.c" /* parts of a program, not of the library */

static struct world *w;
static struct daemon d;
static struct phx_start_row told;
static unsigned n_told;

void starts_tell(struct starts *s, const struct phx_start_row *row)
{
	(void)s;
	fake_engine_is_free();
	told = *row;
	n_told++;
}

#define MAC "02:00:00:00:00:01"
#define BODY "phoenix-beacon 1\nfrom init\nstage network\nnic eth0 " MAC " x up\n"

static int setup(void **state)
{
	world_setup((void **)&w);
	*state = w;
	fake_state = &w->s;
	n_told = 0;
	d = (struct daemon){0};
	return beacons_new(&d, &d.beacons);
}

static int teardown(void **state)
{
	fake_engine_is_free();
	beacons_free(d.beacons);
	beacons_free(NULL);
	return world_teardown(state);
}

/* The status of the answer. */
static int send_beacon(const char *address, const char *mac, const char *body)
{
	FAKE_REQUEST q = {.params = {mac}, .body = body};
	PHX_STR_SET(q.peer.address, address);
	api_beacon(&q, &d);
	return q.code;
}

static void it_is_a_claim(void **state)
{
	(void)state;
	assert_int_equal(send_beacon("10.9.9.9", "02-00-00-00-00-0A", BODY), 200);
	assert_int_equal(n_told, 1);
	assert_string_equal(told.node, "02:00:00:00:00:0a");
	assert_int_equal(told.kind, PHX_START_beacon);
	assert_false(told.proven);
	assert_string_equal(told.text,
			    "reached=link from=init stage=network nic=eth0," MAC ",x,up "
			    "by=10.9.9.9");
}

/* Whether the head reserved the address for that machine is said, and no more than said. */
static void its_address_is_told(void **state)
{
	char mac[PHX_MAC_MAX];
	(void)state;
	world_ready(w, "n1", true);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(n->ip, "10.0.0.1");
	PHX_STR_SET(mac, PHX_LIST_AT(&n->macs, struct phx_mac, 0)->mac);
	assert_int_equal(send_beacon("10.0.0.2", mac, BODY), 200);
	assert_non_null(strstr(told.text, " by=10.0.0.2 by_address=other"));
	assert_int_equal(send_beacon("10.0.0.1", mac, BODY), 200);
	assert_non_null(strstr(told.text, " by=10.0.0.1 by_address=own"));
}

static void what_is_none_is_refused(void **state)
{
	(void)state;
	assert_int_equal(send_beacon("10.0.0.1", "me", BODY), -EINVAL);
	assert_int_equal(send_beacon("10.0.0.1", MAC, "hello"), -EINVAL);
	assert_int_equal(send_beacon("10.0.0.1", MAC, NULL), -EINVAL);
	assert_int_equal(n_told, 0);
}

static void one_address_is_slowed_down(void **state)
{
	(void)state;
	for (int i = 0; i < OF_ADDRESS_BURST; i++)
		assert_int_equal(send_beacon("10.0.0.1", MAC, BODY), 200);
	assert_int_equal(send_beacon("10.0.0.1", MAC, BODY), FAKE_LATER);
	assert_int_equal(n_told, OF_ADDRESS_BURST);
	assert_int_equal(send_beacon("10.0.0.2", MAC, BODY), 200); /* others are not */
}

static void time_lets_more_come(void **state)
{
	int64_t now = 1000000;
	(void)state;
	for (int i = 0; i < OF_ADDRESS_BURST; i++)
		assert_true(beacons_may(d.beacons, "a", now));
	assert_false(beacons_may(d.beacons, "a", now + OF_ADDRESS_EVERY_MS - 1));
	assert_true(beacons_may(d.beacons, "a", now + OF_ADDRESS_EVERY_MS));
	assert_false(beacons_may(d.beacons, "a", now + OF_ADDRESS_EVERY_MS));
	now += 1000 * OF_ADDRESS_EVERY_MS; /* what was not used is not kept */
	for (int i = 0; i < OF_ADDRESS_BURST; i++)
		assert_true(beacons_may(d.beacons, "a", now));
	assert_false(beacons_may(d.beacons, "a", now));
}

/* Ten thousand addresses get no more than all may have. */
static void all_have_a_bound(void **state)
{
	char address[32];
	int n = 0;
	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(address, sizeof(address), "10.1.%d.%d", i / 256, i % 256);
		n += beacons_may(d.beacons, address, 5000000);
	}
	assert_int_equal(n, OF_ALL_BURST);
	assert_true(beacons_may(d.beacons, "10.2.0.1", 5000003));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_a_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(its_address_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_none_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(one_address_is_slowed_down, setup, teardown),
		cmocka_unit_test_setup_teardown(time_lets_more_come, setup, teardown),
		cmocka_unit_test_setup_teardown(all_have_a_bound, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
