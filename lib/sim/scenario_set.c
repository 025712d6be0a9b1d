/* Overrides of a scenario: "res.batch.lease=30m" on the tree of settings, before
 * anything is checked, so that a value by option and a value in the file are
 * checked alike. Called by scenario.c. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sim/scenario_internal.h"

/* The item of a list whose `name` is `word`, or whose number it is. */
static config_setting_t *find_item(config_setting_t *list, const char *word)
{
	uint64_t i;
	for (int k = 0; k < config_setting_length(list); k++) {
		config_setting_t *item = config_setting_get_elem(list, (unsigned)k);
		const char *name;
		if (config_setting_is_group(item) &&
		    config_setting_lookup_string(item, "name", &name) && !strcmp(name, word))
			return item;
	}
	if (phx_u64_parse(word, 0, 1000000, &i) == 0)
		return config_setting_get_elem(list, (unsigned)i);
	return NULL;
}

static config_setting_t *find_child(config_setting_t *s, const char *word)
{
	if (config_setting_is_group(s))
		return config_setting_get_member(s, word);
	return config_setting_is_list(s) ? find_item(s, word) : NULL;
}

/* What a value on the command line is: a boolean, a number, or else a text. */
static int put_value(config_setting_t *group, const char *key, const char *value)
{
	char *end;
	errno = 0;
	long long n = strtoll(value, &end, 10);
	bool whole = *value && !*end && !errno;
	double d = strtod(value, &end);
	bool number = *value && !*end && isfinite(d) && !strpbrk(value, "xXnN");
	bool yes = phx_str_eq(value, "true"), no = phx_str_eq(value, "false");
	int type = yes || no ? CONFIG_TYPE_BOOL
		: whole      ? CONFIG_TYPE_INT64
		: number     ? CONFIG_TYPE_FLOAT
			     : CONFIG_TYPE_STRING;
	config_setting_remove(group, key);
	config_setting_t *s = config_setting_add(group, key, type);
	if (!s)
		return -EINVAL;
	if (type == CONFIG_TYPE_BOOL)
		return config_setting_set_bool(s, yes) ? 0 : -EINVAL;
	if (type == CONFIG_TYPE_INT64)
		return config_setting_set_int64(s, n) ? 0 : -EINVAL;
	if (type == CONFIG_TYPE_FLOAT)
		return config_setting_set_float(s, d) ? 0 : -EINVAL;
	return config_setting_set_string(s, value) ? 0 : -ENOMEM;
}

int phx_sim_scenario_set(struct phx_conf *c, const char *set, struct phx_err *err)
{
	const char *eq = strchr(set, '=');
	if (!eq || eq == set)
		return phx_err_set(err, -EINVAL,
				   "\"%s\": PATH=VALUE is wanted, like res.batch.lease=30m", set);
	PHX_AUTO_FREE char *path = strndup(set, (size_t)(eq - set));
	if (!path)
		return -ENOMEM;
	config_setting_t *s = config_root_setting(&c->cfg);
	char *word = path, *dot;
	for (; (dot = strchr(word, '.')); word = dot + 1) {
		*dot = '\0';
		config_setting_t *next = find_child(s, word);
		if (!next)
			return phx_err_set(err, -EINVAL,
					   "%s: \"%s\": there is no '%s' in the scenario", c->file,
					   set, word);
		s = next;
	}
	if (!config_setting_is_group(s) || put_value(s, word, eq + 1) < 0)
		return phx_err_set(err, -EINVAL, "%s: \"%s\": '%s' cannot be set there", c->file,
				   set, word);
	return 0;
}
