/* Automatic role assignment: which role fits a node's facts (003 3.4: the
 * decision-making module gives each agent its role). First match counts.
 * Called by the core and by `--dry-run`; pure. */
#include "types/role.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "types/pci.h"

static const char *const rule_ops[] = {"==", "!=", ">=", "<=", "~"};
const struct phx_enum phx_rule_op_names = {"comparison", rule_ops, PHX_ARRAY_SIZE(rule_ops)};

PHX_RECORD_TABLE(phx_rule_term, PHX_RULE_TERM_FIELDS);
PHX_RECORD_TABLE(phx_rule, PHX_RULE_FIELDS);

static uint64_t largest_disk(const struct phx_facts *f)
{
	uint64_t max = 0;
	PHX_LIST_EACH(struct phx_disk_facts, d, &f->disks)
		max = d->size_bytes > max ? d->size_bytes : max;
	return max;
}

/* A fact is a number or a text: one of the two functions is NULL. */
struct fact {
	const char *name;
	uint64_t (*number)(const struct phx_facts *f);
	const char *(*text)(const char *node, const struct phx_facts *f);
};

static uint64_t fact_cpus(const struct phx_facts *f)
{
	return f->cpus;
}
static uint64_t fact_cores(const struct phx_facts *f)
{
	return f->cores;
}
static uint64_t fact_sockets(const struct phx_facts *f)
{
	return f->sockets;
}
static uint64_t fact_memory(const struct phx_facts *f)
{
	return f->memory_bytes;
}
static uint64_t fact_disks(const struct phx_facts *f)
{
	return f->disks.n;
}
static uint64_t fact_nics(const struct phx_facts *f)
{
	return f->nics.n;
}
static uint64_t fact_gpus(const struct phx_facts *f)
{
	uint64_t n = 0;
	PHX_LIST_EACH(const struct phx_pci_facts, d, &f->pci)
		n += phx_pci_computes(d);
	return n;
}
static uint64_t fact_modules(const struct phx_facts *f)
{
	return f->modules.n;
}
static const char *fact_arch(const char *node, const struct phx_facts *f)
{
	(void)node;
	return f->arch;
}
static const char *fact_vendor(const char *node, const struct phx_facts *f)
{
	(void)node;
	return f->vendor;
}
static const char *fact_product(const char *node, const struct phx_facts *f)
{
	(void)node;
	return f->product;
}
static const char *fact_serial(const char *node, const struct phx_facts *f)
{
	(void)node;
	return f->serial;
}
static const char *fact_boot_mode(const char *node, const struct phx_facts *f)
{
	(void)node;
	return phx_enum_name(&phx_boot_mode_names, f->boot_mode);
}
static const char *fact_name(const char *node, const struct phx_facts *f)
{
	(void)f;
	return node;
}
static const char *fact_mac(const char *node, const struct phx_facts *f)
{
	(void)node;
	return f->nics.n ? PHX_LIST_AT(&f->nics, struct phx_nic_facts, 0)->mac : "";
}

static const struct fact facts_table[] = {
	{"cpus", fact_cpus, NULL},       {"cores", fact_cores, NULL},
	{"sockets", fact_sockets, NULL}, {"memory_bytes", fact_memory, NULL},
	{"disks", fact_disks, NULL},     {"disk_bytes", largest_disk, NULL},
	{"nics", fact_nics, NULL},       {"gpus", fact_gpus, NULL},
	{"modules", fact_modules, NULL}, {"arch", NULL, fact_arch},
	{"vendor", NULL, fact_vendor},   {"product", NULL, fact_product},
	{"serial", NULL, fact_serial},   {"boot_mode", NULL, fact_boot_mode},
	{"name", NULL, fact_name},       {"mac", NULL, fact_mac},
};

static const struct fact *find_fact(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(facts_table); i++)
		if (!strcmp(facts_table[i].name, name))
			return &facts_table[i];
	return NULL;
}

int phx_rule_term_check(const struct phx_rule_term *t, struct phx_err *err)
{
	const struct fact *f = find_fact(t->fact);
	uint64_t v;
	if (!f) {
		PHX_AUTO(phx_buf_fini) struct phx_buf names = {0};
		for (size_t i = 0; i < PHX_ARRAY_SIZE(facts_table); i++)
			phx_buf_addf(&names, "%s%s", i ? ", " : "", facts_table[i].name);
		return phx_err_set(err, -EINVAL, "'%s' is no fact; there are: %s", t->fact,
				   names.data ? names.data : "");
	}
	if (f->number && t->op == PHX_RULE_MATCH)
		return phx_err_set(err, -EINVAL,
				   "'%s' is a number: compare it with ==, !=, >= or <=", t->fact);
	if (f->number && phx_size_parse(t->value, &v) < 0)
		return phx_err_set(err, -EINVAL,
				   "'%s' is a number: '%s' must be one, such as 4 or \"4 GiB\"",
				   t->fact, t->value);
	if (f->text && (t->op == PHX_RULE_GE || t->op == PHX_RULE_LE))
		return phx_err_set(err, -EINVAL, "'%s' is a text: compare it with ==, != or ~",
				   t->fact);
	return 0;
}

static bool number_holds(uint64_t have, int op, uint64_t want)
{
	switch ((enum phx_rule_op)op) {
	case PHX_RULE_EQ:
		return have == want;
	case PHX_RULE_NE:
		return have != want;
	case PHX_RULE_GE:
		return have >= want;
	case PHX_RULE_LE:
		return have <= want;
	case PHX_RULE_MATCH:
		return false;
	}
	return false;
}

static bool text_holds(const char *have, int op, const char *want)
{
	switch ((enum phx_rule_op)op) {
	case PHX_RULE_EQ:
		return !strcmp(have, want);
	case PHX_RULE_NE:
		return strcmp(have, want) != 0;
	case PHX_RULE_MATCH:
		return phx_str_matches(want, have);
	case PHX_RULE_GE:
	case PHX_RULE_LE:
		return false;
	}
	return false;
}

/* Does one term hold? Adds "fact VALUE op value" to `why`. */
static bool term_holds(const struct phx_rule_term *t, const char *name,
		       const struct phx_facts *facts, struct phx_buf *why)
{
	const struct fact *f = find_fact(t->fact);
	uint64_t want = 0;
	if (!f) {
		phx_buf_addf(why, "'%s' is no fact", t->fact);
		return false;
	}
	if (f->number) {
		uint64_t have = f->number(facts);
		phx_buf_addf(why, "%s %llu %s %s", t->fact, (unsigned long long)have,
			     phx_enum_name(&phx_rule_op_names, t->op), t->value);
		return phx_size_parse(t->value, &want) == 0 && number_holds(have, t->op, want);
	}
	phx_buf_addf(why, "%s '%s' %s '%s'", t->fact, f->text(name, facts),
		     phx_enum_name(&phx_rule_op_names, t->op), t->value);
	return text_holds(f->text(name, facts), t->op, t->value);
}

/* Appends why the rule holds, or the first term that does not. */
static bool rule_holds(const struct phx_rule *r, const char *name, const struct phx_facts *facts,
		       struct phx_buf *why)
{
	size_t begin = why->n;
	PHX_LIST_EACH(struct phx_rule_term, t, &r->terms) {
		size_t here = why->n;
		if (here > begin)
			phx_buf_addf(why, " and ");
		size_t term = why->n;
		if (term_holds(t, name, facts, why))
			continue;
		if (why->failed)
			return false;
		/* report only the term that failed */
		memmove(why->data + begin, why->data + term, why->n - term + 1);
		why->n -= term - begin;
		return false;
	}
	if (!r->terms.n)
		phx_buf_addf(why, "always");
	return true;
}

int phx_rules_match(const struct phx_list *rules, const char *name, const struct phx_facts *facts,
		    char *ret_reason, size_t ret_reason_size)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf missed = {0};
	snprintf(ret_reason, ret_reason_size, "out of memory");
	for (uint32_t i = 0; i < rules->n; i++) {
		const struct phx_rule *r = PHX_LIST_AT(rules, struct phx_rule, i);
		PHX_AUTO(phx_buf_fini) struct phx_buf why = {0};
		bool holds = rule_holds(r, name, facts, &why);
		if (why.failed)
			return -ENOMEM;
		if (holds) {
			snprintf(ret_reason, ret_reason_size, "rules.conf:%u: %s -> %s", r->line,
				 why.data ? why.data : "", r->role);
			return (int)i;
		}
		phx_buf_addf(&missed, "%srules.conf:%u: not %s", missed.n ? "; " : "", r->line,
			     why.data ? why.data : "");
	}
	if (missed.failed)
		return -ENOMEM;
	snprintf(ret_reason, ret_reason_size, "%s", missed.n ? missed.data : "there are no rules");
	return -ENOENT;
}
