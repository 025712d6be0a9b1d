/* The wanted table of the balancer: who is in it, in which order, and the way from one table to
 * another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "web/table.h"

/* "VIP:PORT SCHED SERVER=WEIGHT ...; VIP:PORT ..." */
static struct phx_web_table table(const char *text)
{
	struct phx_web_table t = {0};
	char copy[512], *rest = copy;
	assert_int_equal(PHX_STR_SET(copy, text), 0);
	for (char *service; (service = strsep(&rest, ";"));) {
		char address[16], scheduler[16], *words = service;
		unsigned port;
		int n;
		if (sscanf(service, " %15[0-9.]:%u %15s%n", address, &port, scheduler, &n) != 3)
			continue;
		words += n;
		struct phx_web_service *s = phx_web_table_service(&t, address, port, scheduler);
		assert_non_null(s);
		unsigned weight;
		for (; sscanf(words, " %15[0-9.]=%u%n", address, &weight, &n) == 2; words += n)
			assert_int_equal(phx_web_table_put(s, address, weight), 0);
	}
	return t;
}

static void check_diff(const char *from, const char *to, const char *want)
{
	struct phx_web_table a = table(from), b = table(to);
	struct phx_list changes = {0};
	char got[512] = "";
	assert_int_equal(phx_web_table_diff(&a, &b, &changes), 0);
	PHX_LIST_EACH(struct phx_web_change, c, &changes) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%s:%u %s %s %s=%u\n", c->address, c->port,
			 phx_enum_name(&phx_web_change_names, c->kind), c->scheduler,
			 c->server.address, c->server.weight);
	}
	assert_string_equal(got, want);
	phx_list_fini(&changes);
	phx_web_table_fini(&a);
	phx_web_table_fini(&b);
}

static void an_instance_joins_and_leaves(void **state)
{
	static const struct {
		struct phx_web_instance i; /* heard runs healthy serves stopping resting */
		int want;
	} rows[] = {
		{{true, true, true, true, false, false}, 1},
		{{true, true, false, true, false, false}, 0}, /* its check fails */
		{{true, true, true, false, true, false}, 0},  /* being handed over */
		{{true, true, false, false, true, false}, 0},
		/* started, not joined; or further than its stop */
		{{true, true, true, false, false, false}, -ENOENT},
		{{true, false, true, true, false, false}, -ENOENT},  /* runs something else */
		{{true, false, false, false, true, false}, -ENOENT}, /* its services are gone */
		{{false, true, true, true, false, false}, -ENOENT},  /* silent */
		{{false, true, true, false, true, false}, -ENOENT},
		{{true, true, true, true, false, true}, 0}, /* not heard just now */
		{{true, true, false, true, false, true}, 0},
		{{true, true, true, false, true, true}, 0},
		{{true, true, true, false, false, true}, -ENOENT},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_int_equal(phx_web_weight(&rows[i].i), rows[i].want);
}

static void tables_are_in_order(void **state)
{
	struct phx_web_table t =
		table("10.0.0.9:80 rr 10.0.0.3=1 10.0.0.1=1 10.0.0.2=1 10.0.0.1=0; 10.0.0.8:80 lc; "
		      "10.0.0.9:443 lc; 10.0.0.9:80 wlc 10.0.0.4=1");
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(t.services.n, 3);
	const struct phx_web_service *s = PHX_LIST_AT(&t.services, struct phx_web_service, 1);
	assert_string_equal(PHX_LIST_AT(&t.services, struct phx_web_service, 0)->address,
			    "10.0.0.8");
	assert_int_equal(s->port, 80);
	assert_string_equal(s->scheduler, "rr"); /* who came first */
	assert_int_equal(s->servers.n, 4);
	assert_string_equal(PHX_LIST_AT(&s->servers, struct phx_web_server, 0)->address,
			    "10.0.0.1");
	assert_int_equal(PHX_LIST_AT(&s->servers, struct phx_web_server, 0)->weight, 0);
	assert_int_equal(phx_web_table_check(&t, &err), 0);
	phx_web_table_fini(&t);
}

static void ids_tell_tables_apart(void **state)
{
	static const char *const texts[] = {
		"",
		"10.0.0.9:80 rr",
		"10.0.0.9:80 lc",
		"10.0.0.9:81 rr",
		"10.0.0.9:80 rr 10.0.0.1=1",
		"10.0.0.9:80 rr 10.0.0.1=0",
		"10.0.0.9:80 rr 10.0.0.1=1 10.0.0.2=1",
		"10.0.0.9:80 rr; 10.0.0.9:81 rr",
	};
	uint64_t ids[PHX_ARRAY_SIZE(texts)];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		struct phx_web_table t = table(texts[i]);
		ids[i] = phx_web_table_id(&t);
		assert_true(ids[i] > 0 && ids[i] < 1ULL << 53);
		/* connections are no difference */
		if (t.services.n && PHX_LIST_AT(&t.services, struct phx_web_service, 0)->servers.n)
			PHX_LIST_AT(&PHX_LIST_AT(&t.services, struct phx_web_service, 0)->servers,
				    struct phx_web_server, 0)
				->active = 7;
		assert_true(phx_web_table_id(&t) == ids[i]);
		for (size_t k = 0; k < i; k++)
			assert_true(ids[k] != ids[i]);
		phx_web_table_fini(&t);
	}
}

static void the_way_from_one_to_another(void **state)
{
	(void)state;
	check_diff("", "", "");
	check_diff("10.0.0.9:80 rr 10.0.0.1=1", "10.0.0.9:80 rr 10.0.0.1=1", "");
	check_diff("", "10.0.0.9:80 rr 10.0.0.1=1 10.0.0.2=0",
		   "10.0.0.9:80 service_add rr =0\n"
		   "10.0.0.9:80 server_add rr 10.0.0.1=1\n"
		   "10.0.0.9:80 server_add rr 10.0.0.2=0\n");
	/* what comes before what goes */
	check_diff("10.0.0.9:80 rr 10.0.0.1=1 10.0.0.2=1 10.0.0.4=1",
		   "10.0.0.9:80 lc 10.0.0.2=0 10.0.0.3=1 10.0.0.4=1",
		   "10.0.0.9:80 service_edit lc =0\n"
		   "10.0.0.9:80 server_add lc 10.0.0.3=1\n"
		   "10.0.0.9:80 server_edit lc 10.0.0.2=0\n"
		   "10.0.0.9:80 server_remove rr 10.0.0.1=1\n");
	check_diff("10.0.0.9:80 rr 10.0.0.1=1", "", "10.0.0.9:80 service_remove rr =0\n");
	check_diff("10.0.0.8:80 rr 10.0.0.1=1", "10.0.0.8:81 rr",
		   "10.0.0.8:81 service_add rr =0\n10.0.0.8:80 service_remove rr =0\n");
}

static void bad_tables_are_refused(void **state)
{
	struct phx_web_table t = table("10.0.0.9:80 rr 10.0.0.1=1 10.0.0.2=1");
	struct phx_web_service *s = PHX_LIST_AT(&t.services, struct phx_web_service, 0);
	struct phx_web_server *v = PHX_LIST_AT(&s->servers, struct phx_web_server, 0);
	struct phx_err err = {0};
	(void)state;
	s->port = 65536;
	assert_int_equal(phx_web_table_check(&t, &err), -EINVAL);
	assert_string_equal(err.text,
			    "service 10.0.0.9:65536: port: 65536 must be from 1 to 65535");
	s->port = 80;
	PHX_STR_SET(s->scheduler, "fast");
	assert_int_equal(phx_web_table_check(&t, NULL), -EINVAL);
	PHX_STR_SET(s->scheduler, "nq");
	v->weight = 65536;
	assert_int_equal(phx_web_table_check(&t, NULL), -EINVAL);
	v->weight = 65535;
	assert_int_equal(phx_web_table_check(&t, NULL), 0);
	PHX_STR_SET(v->address, "10.0.0.2");
	phx_err_clear(&err);
	assert_int_equal(phx_web_table_check(&t, &err), -EINVAL);
	assert_string_equal(err.text,
			    "service 10.0.0.9:80: server 10.0.0.2 is there twice, or out of order");
	PHX_STR_SET(v->address, "10.0.0.x");
	assert_int_equal(phx_web_table_check(&t, NULL), -EINVAL);
	phx_web_table_fini(&t);
}

static void services_twice_or_too_many(void **state)
{
	struct phx_web_table t = {0};
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct phx_web_service *s = phx_list_push(&t.services, sizeof(*s));
		assert_non_null(s);
		PHX_STR_SET(s->address, "10.0.0.9");
		PHX_STR_SET(s->scheduler, "rr");
		s->port = 80;
	}
	assert_int_equal(phx_web_table_check(&t, NULL), -EINVAL);
	t.services.n = 1;
	assert_int_equal(phx_web_table_check(&t, NULL), 0);
	assert_non_null(phx_list_push(&PHX_LIST_AT(&t.services, struct phx_web_service, 0)->servers,
				      sizeof(struct phx_web_server)));
	PHX_LIST_AT(&t.services, struct phx_web_service, 0)->servers.n = PHX_WEB_SERVERS_MAX + 1;
	assert_int_equal(phx_web_table_check(&t, NULL), -E2BIG);
	PHX_LIST_AT(&t.services, struct phx_web_service, 0)->servers.n = 0;
	t.services.n = 2;
	phx_web_table_fini(&t);
}

static void addresses(void **state)
{
	static const char *const bad[] = {"",          "10.0.0",    "10.0.0.1.2", "10.0.0.256",
					  "10.0.0.-1", "10.0.0.01", "10..0.1",    "10.0.0.1 ",
					  " 10.0.0.1", "::1",       "10.0.0.",    "1000.0.0.1"};
	uint8_t b[4] = {9, 9, 9, 9};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		assert_int_equal(phx_web_address_parse(bad[i], b), -EINVAL);
	assert_int_equal(b[0], 9);
	assert_int_equal(phx_web_address_parse("10.0.200.255", b), 0);
	assert_memory_equal(b, "\x0a\x00\xc8\xff", 4);
	assert_int_equal(phx_web_address_parse("0.0.0.0", b), 0);
}

static void words_of_a_text_are_addresses(void **state)
{
	char a[PHX_WEB_ADDRESS_MAX];
	static const char *const want[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(phx_web_address_at(" 10.0.0.1 10.0.0.2,\t10.0.0.3 ,", i, a));
		assert_string_equal(a, want[i]);
	}
	assert_false(phx_web_address_at(" 10.0.0.1 10.0.0.2,\t10.0.0.3 ,", 3, a));
	assert_false(phx_web_address_at("", 0, a));
	assert_false(phx_web_address_at(" , ", 0, a));
	uint8_t bytes[4];
	assert_true(phx_web_address_at("10.100.100.100000", 0, a));
	assert_int_equal(phx_web_address_parse(a, bytes), -EINVAL);
}

static struct phx_web_share share_of(const char *addresses, uint32_t sync_id)
{
	struct phx_web_share s = {.on = true, .sync_id = sync_id};
	char address[PHX_WEB_ADDRESS_MAX];
	for (uint32_t i = 0; phx_web_address_at(addresses, i, address); i++) {
		struct phx_web_held *h = phx_list_push(&s.held, sizeof(*h));
		PHX_STR_SET(h->address, address);
	}
	return s;
}

static void shares_are_checked(void **state)
{
	static const struct {
		const char *addresses;
		uint32_t sync_id;
		const char *finding; /* NULL: none */
	} rows[] = {
		{"", 0, NULL},
		{"10.0.0.1 10.0.0.2", 255, NULL},
		{"10.0.0.2 10.0.0.1", 1, "out of order"},
		{"10.0.0.2 10.0.0.2", 1, "twice"},
		{"10.0.0", 1, "IPv4"},
		{"10.0.0.1", 256, "255"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_web_share s = share_of(rows[i].addresses, rows[i].sync_id);
		struct phx_err err = {0};
		assert_int_equal(phx_web_share_check(&s, &err), rows[i].finding ? -EINVAL : 0);
		assert_true(!rows[i].finding || strstr(err.text, rows[i].finding));
		phx_list_fini(&s.held);
	}
}

/* Whatever differs makes another order. */
static void orders_have_ids(void **state)
{
	struct phx_web_table t = {0};
	struct phx_web_share s[] = {{0},
				    share_of("", 0),
				    share_of("10.0.0.1", 0),
				    share_of("10.0.0.1", 7),
				    share_of("10.0.0.1 10.0.0.2", 7)};
	(void)state;
	assert_non_null(phx_web_table_service(&t, "10.0.0.1", 80, "wlc"));
	assert_true(phx_web_order_id(&t, &s[0]) == phx_web_table_id(&t));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(s); i++)
		for (size_t k = 0; k < i; k++)
			assert_true(phx_web_order_id(&t, &s[i]) != phx_web_order_id(&t, &s[k]));
	assert_true(phx_web_share_holds(&s[4], "10.0.0.2"));
	assert_false(phx_web_share_holds(&s[3], "10.0.0.2"));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(s); i++)
		phx_list_fini(&s[i].held);
	phx_web_table_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instance_joins_and_leaves),
		cmocka_unit_test(tables_are_in_order),
		cmocka_unit_test(ids_tell_tables_apart),
		cmocka_unit_test(the_way_from_one_to_another),
		cmocka_unit_test(bad_tables_are_refused),
		cmocka_unit_test(services_twice_or_too_many),
		cmocka_unit_test(addresses),
		cmocka_unit_test(words_of_a_text_are_addresses),
		cmocka_unit_test(shares_are_checked),
		cmocka_unit_test(orders_have_ids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
