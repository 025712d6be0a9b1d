/* Rules of automatic assignment: every fact with every comparison, first match, reasons, what is
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "types/role.h"

static struct phx_facts facts;
static struct phx_list rules;
static char reason[512];

static int setup(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&rules, 0, sizeof(rules));
	facts.cpus = 8;
	facts.cores = 4;
	facts.sockets = 1;
	facts.memory_bytes = 8ULL << 30;
	facts.boot_mode = PHX_BOOT_UEFI;
	PHX_STR_SET(facts.arch, "x86_64");
	PHX_STR_SET(facts.vendor, "QEMU");
	PHX_STR_SET(facts.product, "Standard PC (i440FX)");
	PHX_STR_SET(facts.serial, "SN-12");
	for (unsigned i = 0; i < 2; i++) {
		struct phx_disk_facts *d = phx_list_push(&facts.disks, sizeof(*d));
		struct phx_nic_facts *nic = phx_list_push(&facts.nics, sizeof(*nic));
		d->size_bytes = (4ULL + 4 * i) << 30;
		snprintf(nic->mac, sizeof(nic->mac), "52:54:00:00:00:%02x", i);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	PHX_LIST_EACH(struct phx_rule, r, &rules)
		phx_list_fini(&r->terms);
	phx_list_fini(&rules);
	phx_record_fini(&phx_facts_record, &facts);
	return 0;
}

static struct phx_rule_term term(const char *fact, const char *op, const char *value)
{
	struct phx_rule_term t = {0};
	PHX_STR_SET(t.fact, fact);
	PHX_STR_SET(t.value, value);
	assert_int_equal(phx_enum_parse(&phx_rule_op_names, op, &t.op, NULL), 0);
	return t;
}

static void add_rule(const char *role, uint32_t line)
{
	struct phx_rule *r = phx_list_push(&rules, sizeof(*r));
	PHX_STR_SET(r->role, role);
	r->line = line;
}

static void add_term(const char *fact, const char *op, const char *value)
{
	struct phx_rule *r = PHX_LIST_AT(&rules, struct phx_rule, rules.n - 1);
	*(struct phx_rule_term *)phx_list_push(&r->terms, sizeof(struct phx_rule_term)) =
		term(fact, op, value);
}

static int match(void)
{
	return phx_rules_match(&rules, "c12", &facts, reason, sizeof(reason));
}

/* ---- single terms ---- */

static const struct {
	const char *fact, *op, *value;
	bool holds;
} terms[] = {
	{"cpus", "==", "8", true},
	{"cpus", "==", "7", false},
	{"cpus", "!=", "7", true},
	{"cpus", "!=", "8", false},
	{"cpus", ">=", "8", true},
	{"cpus", ">=", "9", false},
	{"cpus", "<=", "8", true},
	{"cpus", "<=", "7", false},
	{"cores", "==", "4", true},
	{"cores", ">=", "5", false},
	{"sockets", "==", "1", true},
	{"sockets", "!=", "1", false},
	{"memory_bytes", ">=", "8 GiB", true},
	{"memory_bytes", ">=", "8.1 GiB", false},
	{"memory_bytes", "<=", "9GB", true},
	{"memory_bytes", "==", "8589934592", true},
	{"memory_bytes", ">=", "9 GiB", false},
	{"disks", "==", "2", true},
	{"disks", ">=", "3", false},
	{"disk_bytes", "==", "8 GiB", true},
	{"disk_bytes", "<=", "4 GiB", false},
	{"nics", ">=", "2", true},
	{"nics", "<=", "1", false},
	{"arch", "==", "x86_64", true},
	{"arch", "!=", "x86_64", false},
	{"arch", "~", "x86*", true},
	{"arch", "~", "arm*", false},
	{"vendor", "==", "QEMU", true},
	{"vendor", "==", "qemu", false},
	{"product", "~", "*(i4*)", true},
	{"product", "~", "Standard ?? (i440FX)", true},
	{"product", "~", "Standard", false},
	{"product", "~", "*", true},
	{"serial", "~", "SN-1?", true},
	{"serial", "~", "SN-?", false},
	{"boot_mode", "==", "uefi", true},
	{"boot_mode", "==", "bios", false},
	{"name", "~", "c*", true},
	{"name", "~", "c[0-9]*", false},
	{"name", "==", "c12", true},
	{"mac", "==", "52:54:00:00:00:00", true},
	{"mac", "~", "52:54:*:01", false},
	{"name", "~", "*1*2*", true},
	{"name", "~", "**2", true},
	{"name", "~", "", false},
};

static void each_fact_and_operator(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(terms); i++) {
		struct phx_err err = {0};
		struct phx_rule_term t = term(terms[i].fact, terms[i].op, terms[i].value);
		if (!strcmp(terms[i].value, "8.1 GiB"))
			continue; /* refused, see below */
		if (phx_rule_term_check(&t, &err) < 0)
			fail_msg("%s %s %s: %s", t.fact, terms[i].op, t.value, err.text);
		add_rule("r", 1);
		add_term(terms[i].fact, terms[i].op, terms[i].value);
		if ((match() == 0) != terms[i].holds)
			fail_msg("%s %s %s: %s", t.fact, terms[i].op, t.value, reason);
		teardown(NULL);
		setup(NULL);
	}
}

static void facts_that_are_missing(void **state)
{
	struct phx_facts none = {0};
	(void)state;
	add_rule("r", 1);
	add_term("disk_bytes", "==", "0");
	add_term("mac", "==", "");
	add_term("boot_mode", "==", "unknown");
	assert_int_equal(phx_rules_match(&rules, "x", &none, reason, sizeof(reason)), 0);
}

/* ---- which rule ---- */

static void the_first_that_holds(void **state)
{
	(void)state;
	add_rule("big", 3);
	add_term("cpus", ">=", "64");
	add_rule("batch", 7);
	add_term("cpus", ">=", "4");
	add_term("memory_bytes", ">=", "4 GiB");
	add_rule("rest", 9);
	assert_int_equal(match(), 1);
	assert_string_equal(
		reason, "rules.conf:7: cpus 8 >= 4 and memory_bytes 8589934592 >= 4 GiB -> batch");
	facts.cpus = 2;
	assert_int_equal(match(), 2);
	assert_string_equal(reason, "rules.conf:9: always -> rest");
}

static void why_none_holds(void **state)
{
	(void)state;
	assert_int_equal(match(), -ENOENT);
	assert_string_equal(reason, "there are no rules");
	add_rule("big", 3);
	add_term("cpus", ">=", "4");
	add_term("memory_bytes", ">=", "1 TiB");
	add_rule("web", 5);
	add_term("name", "~", "w*");
	assert_int_equal(match(), -ENOENT);
	assert_string_equal(reason,
			    "rules.conf:3: not memory_bytes 8589934592 >= 1 TiB; rules.conf:5: not "
			    "name 'c12' ~ 'w*'");
}

static void a_long_reason_is_cut(void **state)
{
	char small[16];
	(void)state;
	for (int i = 0; i < 50; i++) {
		add_rule("big", 3);
		add_term("cpus", ">=", "400");
	}
	assert_int_equal(phx_rules_match(&rules, "x", &facts, small, sizeof(small)), -ENOENT);
	assert_int_equal(strlen(small), sizeof(small) - 1);
}

/* ---- what is refused ---- */

static void bad_terms(void **state)
{
	static const struct {
		const char *fact, *op, *value, *why;
	} bad[] = {
		{"cpu", ">=", "4", "'cpu' is no fact; there are: cpus, cores"},
		{"", "==", "4", "is no fact"},
		{"cpus", "~", "4*", "compare it with ==, !=, >= or <="},
		{"cpus", ">=", "many", "'many' must be one"},
		{"cpus", ">=", "-1", "must be one"},
		{"memory_bytes", ">=", "8 XiB", "must be one"},
		{"memory_bytes", ">=", "", "must be one"},
		{"arch", ">=", "x", "compare it with ==, != or ~"},
		{"name", "<=", "x", "compare it with ==, != or ~"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		struct phx_rule_term t = term(bad[i].fact, bad[i].op, bad[i].value);
		assert_int_equal(phx_rule_term_check(&t, &err), -EINVAL);
		if (!strstr(err.text, bad[i].why))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
		/* and it matches nothing, should it come in another way */
		add_rule("r", 1);
		add_term(bad[i].fact, bad[i].op, bad[i].value);
		assert_int_equal(match(), -ENOENT);
		teardown(NULL);
		setup(NULL);
	}
}

#define RULES_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULES_TEST(each_fact_and_operator), RULES_TEST(facts_that_are_missing),
		RULES_TEST(the_first_that_holds),   RULES_TEST(why_none_holds),
		RULES_TEST(a_long_reason_is_cut),   RULES_TEST(bad_terms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
