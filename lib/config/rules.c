/* rules.conf: see role.h. Called by phxd at start and reload and by `phx role
 * check`; deciding by the rules is phx_rules_match() in lib/node. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config/conf.h"
#include "config/role.h"

enum { RULES_MAX = 1000, TERMS_MAX = 32 };

#define FILE_FIELDS(F, S) \
	F(S, rules, LIST(phx_rule), KEY(rules, OTHER, PHX_REQUIRED, "The rules, in order."))
struct rules_file {
	PHX_MEMBERS(rules_file, FILE_FIELDS)
};
PHX_RECORD_LOCAL(rules_file, rules_file, FILE_FIELDS);

/* "FACT OP VALUE", divided by blanks; the value is the rest of the line. */
static int split_term(const char *text, struct phx_rule_term *ret, struct phx_err *err)
{
	char op[8];
	size_t n_fact = strcspn(text, " \t");
	const char *p = text + n_fact + strspn(text + n_fact, " \t");
	size_t n_op = strcspn(p, " \t");
	const char *value = p + n_op + strspn(p + n_op, " \t");
	if (!n_fact || !n_op || !*value || n_op >= sizeof(op))
		return phx_err_set(
			err, -EINVAL,
			"\"%s\" must be \"FACT OPERATOR VALUE\", like \"memory_bytes >= 4 GiB\"",
			text);
	memcpy(op, p, n_op);
	op[n_op] = '\0';
	if (n_fact >= sizeof(ret->fact) || strlen(value) >= sizeof(ret->value))
		return phx_err_set(err, -EINVAL, "\"%s\" is too long", text);
	memcpy(ret->fact, text, n_fact);
	PHX_STR_SET(ret->value, value);
	return phx_enum_parse(&phx_rule_op_names, op, &ret->op, err);
}

static int read_term(const struct phx_conf *c, const config_setting_t *s, struct phx_rule *rule,
		     struct phx_err *err)
{
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r < 0)
		return r;
	struct phx_rule_term *t = phx_list_push(&rule->terms, sizeof(*t));
	if (!t)
		return -ENOMEM;
	r = split_term(text, t, err);
	if (r == 0)
		r = phx_rule_term_check(t, err);
	return r < 0 ? phx_conf_place(c, s, r, err) : 0;
}

static int read_terms(const struct phx_conf *c, const config_setting_t *s, struct phx_rule *rule,
		      struct phx_err *err)
{
	if (!s)
		return 0;
	int type = config_setting_type(s), n = config_setting_length(s);
	if (type != CONFIG_TYPE_ARRAY && type != CONFIG_TYPE_LIST)
		return phx_conf_fail(
			c, s, -EINVAL, err,
			"when must be a list of texts: [ \"cpus >= 2\", \"arch == x86_64\" ]");
	if (n > TERMS_MAX)
		return phx_conf_fail(c, s, -EINVAL, err, "a rule has at most %d terms", TERMS_MAX);
	int r = 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = read_term(c, config_setting_get_elem(s, (unsigned)i), rule, err);
	return r;
}

static bool known_role(const struct phx_list *roles, const char *name)
{
	PHX_LIST_EACH(struct phx_role, role, roles)
		if (!strcmp(role->name, name))
			return true;
	return false;
}

static int read_rule(const struct phx_conf *c, const config_setting_t *s,
		     const struct phx_list *roles, struct phx_list *rules, struct phx_err *err)
{
	struct phx_rule *rule = phx_list_push(rules, sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	int r = phx_conf_group(c, s, &phx_rule_record, rule, err);
	if (r < 0)
		return r;
	const config_setting_t *role = config_setting_get_member(s, "role");
	if (roles && !known_role(roles, rule->role))
		return phx_conf_fail(c, role, -ENOENT, err, "role '%s' does not exist", rule->role);
	rule->line = phx_conf_line(role);
	return read_terms(c, config_setting_get_member(s, "when"), rule, err);
}

static int read_rules(const struct phx_conf *c, const struct phx_list *roles,
		      struct phx_list *rules, struct phx_err *err)
{
	config_setting_t *root = config_root_setting(&c->cfg), *list;
	struct rules_file file = {0};
	int r = phx_conf_group(c, root, &rules_file_record, &file, err);
	if (r == 0)
		r = phx_conf_list(c, root, "rules", &list, err);
	if (r == 0 && config_setting_length(list) > RULES_MAX)
		r = phx_conf_fail(c, list, -EINVAL, err, "there are more than %d rules", RULES_MAX);
	for (int i = 0; r == 0 && i < config_setting_length(list); i++)
		r = read_rule(c, config_setting_get_elem(list, (unsigned)i), roles, rules, err);
	return r;
}

int phx_rules_load(const char *path, const struct phx_list *roles, struct phx_list *ret_rules,
		   struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	struct phx_list rules = {0};
	if (access(path, F_OK) < 0 && errno == ENOENT) {
		*ret_rules = rules;
		return 0;
	}
	int r = phx_conf_read(path, &c, err);
	if (r == 0)
		r = read_rules(&c, roles, &rules, err);
	if (r < 0)
		phx_rules_fini(&rules);
	else
		*ret_rules = rules;
	return r;
}

void phx_rules_fini(struct phx_list *rules)
{
	PHX_LIST_EACH(struct phx_rule, rule, rules)
		phx_record_fini(&phx_rule_record, rule);
	phx_list_fini(rules);
}
