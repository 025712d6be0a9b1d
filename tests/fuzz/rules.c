/* Rules that map facts to roles. What is taken has terms that pass their own check.
 * Parsers: lib/config/rules.c lib/types/rules.c */
#include "config/role.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct phx_role batch = {.name = "batch"};
	static struct phx_disk_facts disk = {.size_bytes = 1ull << 40};
	const struct phx_list known = {.items = &batch, .n = 1};
	struct phx_facts facts = {.cpus = 4, .memory_bytes = 8ull << 30, .arch = "x86_64"};
	struct phx_list rules = {0};
	char why[400];
	struct phx_err err = {0};
	facts.disks = (struct phx_list){.items = &disk, .n = 1};
	if (phx_rules_load(fuzz_file("rules.conf", data, n), n & 1 ? &known : NULL, &rules, &err) <
	    0) {
		fuzz_never(!err.text[0] || rules.n);
		return 0;
	}
	PHX_LIST_EACH(const struct phx_rule, rule, &rules)
		PHX_LIST_EACH(const struct phx_rule_term, t, &rule->terms)
			fuzz_never(phx_rule_term_check(t, NULL) < 0);
	fuzz_never(phx_rules_match(&rules, "web1", &facts, why, sizeof(why)) >= (int)rules.n);
	phx_rules_fini(&rules);
	return 0;
}
