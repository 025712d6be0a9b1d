/* profiles.conf and nodes.conf of the settings of the site: see site.h. Called by site.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/site_internal.h"

#define PROFILES_FIELDS(F, S) F(S, profiles, LIST(phx_site_set), KEY(profiles, OTHER, "", ""))
struct profiles_keys {
	PHX_MEMBERS(profiles_keys, PROFILES_FIELDS)
};
PHX_RECORD_LOCAL(profiles_keys, profiles_keys, PROFILES_FIELDS);

#define NODES_FIELDS(F, S) F(S, nodes, LIST(phx_site_set), KEY(nodes, OTHER, "", ""))
struct nodes_keys {
	PHX_MEMBERS(nodes_keys, NODES_FIELDS)
};
PHX_RECORD_LOCAL(nodes_keys, nodes_keys, NODES_FIELDS);

/* ---- values ---- */

static int add_value(struct phx_list *to, const struct phx_site_value *v)
{
	struct phx_site_value *item = phx_list_push(to, sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = *v;
	return 0;
}

/* { NAME = "text"; } */
static int read_pair(const struct phx_conf *c, const config_setting_t *s, struct phx_list *to,
		     struct phx_err *err)
{
	struct phx_site_value v = {.line = phx_conf_line(s)};
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r < 0)
		return r;
	if (PHX_STR_SET(v.name, config_setting_name(s)) < 0 || PHX_STR_SET(v.text, text) < 0)
		return phx_conf_fail(c, s, -ENAMETOOLONG, err,
				     "%.60s is too long: a name has at most %zu bytes, a text %zu",
				     config_setting_name(s), sizeof(v.name) - 1,
				     sizeof(v.text) - 1);
	return add_value(to, &v);
}

static int read_word(const struct phx_conf *c, const config_setting_t *s, enum phx_site_form form,
		     struct phx_list *to, struct phx_err *err)
{
	struct phx_site_value v = {.line = phx_conf_line(s)};
	struct phx_err why = {0};
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r < 0)
		return r;
	r = phx_site_value_parse(form, text, &v, &why);
	return r < 0 ? phx_conf_fail(c, s, r, err, "%s", why.text) : add_value(to, &v);
}

static int read_values(const struct phx_conf *c, const config_setting_t *group, const char *key,
		       enum phx_site_form form, struct phx_list *to, struct phx_err *err)
{
	const config_setting_t *s = config_setting_get_member(group, key);
	int type = s ? config_setting_type(s) : CONFIG_TYPE_NONE, r = 0;
	bool pairs = form == PHX_SITE_PAIRS;
	if (!s)
		return 0;
	if (pairs ? type != CONFIG_TYPE_GROUP
		  : type != CONFIG_TYPE_ARRAY && type != CONFIG_TYPE_LIST)
		return phx_conf_fail(c, s, -EINVAL, err, "%s must be %s", key,
				     pairs ? "a group: { NAME = \"text\"; }"
					   : "a list of texts: [ \"...\", \"...\" ]");
	for (int i = 0; r == 0 && i < config_setting_length(s); i++) {
		const config_setting_t *m = config_setting_get_elem(s, (unsigned)i);
		r = pairs ? read_pair(c, m, to, err) : read_word(c, m, form, to, err);
	}
	return r;
}

static int read_mount(const struct phx_conf *c, const config_setting_t *s, struct phx_site_set *to,
		      struct phx_err *err)
{
	struct phx_site_mount m = {0}, *item;
	int r = phx_conf_group(c, s, &phx_site_mount_record, &m, err);
	if (r < 0)
		return r;
	m.line = phx_conf_line(s);
	if (!(item = phx_list_push(&to->mounts, sizeof(*item))))
		return -ENOMEM;
	*item = m;
	return 0;
}

static int read_nic(const struct phx_conf *c, const config_setting_t *s, struct phx_site_set *to,
		    struct phx_err *err)
{
	struct phx_site_nic nic = {0}, *item = NULL;
	int r = phx_conf_group(c, s, &phx_site_nic_record, &nic, err);
	nic.line = phx_conf_line(s);
	if (r == 0 && !(item = phx_list_push(&to->nics, sizeof(*item))))
		r = -ENOMEM;
	if (item)
		*item = nic;
	else
		phx_record_fini(&phx_site_nic_record, &nic);
	return r;
}

/* Each group of a list of groups. */
static int read_groups(const struct phx_conf *c, const config_setting_t *group, const char *key,
		       int (*fn)(const struct phx_conf *c, const config_setting_t *s,
				 struct phx_site_set *to, struct phx_err *err),
		       struct phx_site_set *to, struct phx_err *err)
{
	config_setting_t *list = NULL;
	int r = phx_conf_list(c, group, key, &list, err);
	for (int i = 0; r == 0 && list && i < config_setting_length(list); i++)
		r = fn(c, config_setting_get_elem(list, (unsigned)i), to, err);
	return r;
}

/* ---- sets ---- */

/* What is wrong with one member does not hide what is wrong with the next. */
static void read_members(struct site_reader *rd, const struct phx_conf *c,
			 const config_setting_t *s, struct phx_site_set *to)
{
	struct phx_err err = {0};
	if (read_values(c, s, "profiles", PHX_SITE_LIST, &to->profiles, &err) < 0)
		site_complain(rd, &err);
	for (int kind = 0; kind < PHX_SITE_VALUE_COUNT_; kind++) {
		struct phx_list *l = phx_site_values_in(to, (enum phx_site_value_kind)kind);
		const char *key = phx_site_value_key((enum phx_site_value_kind)kind);
		enum phx_site_form form = phx_site_value_form((enum phx_site_value_kind)kind);
		if (read_values(c, s, key, form, l, &err) < 0)
			site_complain(rd, &err);
	}
	if (read_groups(c, s, "mounts", read_mount, to, &err) < 0)
		site_complain(rd, &err);
	if (read_groups(c, s, "nics", read_nic, to, &err) < 0)
		site_complain(rd, &err);
}

static int read_set(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
		    struct phx_list *list, struct phx_err *err)
{
	struct phx_site_set set = {0}, *to;
	int r = phx_conf_group(c, s, &phx_site_set_record, &set, err);
	if (r < 0)
		return r;
	site_place(c, s, set.place);
	read_members(rd, c, s, &set);
	if (!(to = phx_list_push(list, sizeof(*to)))) {
		phx_record_fini(&phx_site_set_record, &set);
		return phx_err_set(err, -ENOMEM, "out of memory");
	}
	*to = set;
	return 0;
}

static int read_profile(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
			struct phx_err *err)
{
	return read_set(rd, c, s, &rd->site.profiles, err);
}

static int read_group(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
		      struct phx_err *err)
{
	return read_set(rd, c, s, &rd->site.nodes, err);
}

void site_sets_read(struct site_reader *rd, const char *dir)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf profiles = {0}, nodes = {0};
	if (site_conf_read(rd, dir, "profiles.conf", &profiles_keys_record, &profiles))
		site_each(rd, &profiles, "profiles", read_profile);
	if (site_conf_read(rd, dir, "nodes.conf", &nodes_keys_record, &nodes))
		site_each(rd, &nodes, "nodes", read_group);
}
