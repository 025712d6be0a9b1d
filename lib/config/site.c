/* Settings of the site, users and the rest: see site.h. Called by `phx site`. What is wrong with
 * one item does not hide what is wrong with the next. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config/site_internal.h"

/* The keys of the files, for those that nobody knows. */
#define SITE_FIELDS(F, S) \
	F(S, domain, STR(128), KEY(domain, TEXT(0, 127), "", "")) \
	F(S, ntp, LIST(phx_word), KEY(ntp, WORDS(16), "", "")) \
	F(S, serve_names, BOOL, KEY(serve_names, YES, "false", "")) \
	F(S, forward_dns, BOOL, KEY(forward_dns, YES, "false", ""))
struct site_keys {
	PHX_MEMBERS(site_keys, SITE_FIELDS)
};
PHX_RECORD_LOCAL(site_keys, site_keys, SITE_FIELDS);

#define USERS_FIELDS(F, S) \
	F(S, root_keys, LIST(phx_text), KEY(root_keys, OTHER, "", "")) \
	F(S, groups, LIST(phx_site_group), KEY(groups, OTHER, "", "")) \
	F(S, users, LIST(phx_site_user), KEY(users, OTHER, "", ""))
struct users_keys {
	PHX_MEMBERS(users_keys, USERS_FIELDS)
};
PHX_RECORD_LOCAL(users_keys, users_keys, USERS_FIELDS);

/* ---- users.conf ---- */

/* A list of texts of any length. */
static int read_keys(const struct phx_conf *c, const config_setting_t *group, const char *name,
		     struct phx_list *ret, struct phx_err *err)
{
	const config_setting_t *s = config_setting_get_member(group, name);
	const char *text;
	if (!s)
		return 0;
	if (config_setting_type(s) != CONFIG_TYPE_ARRAY &&
	    config_setting_type(s) != CONFIG_TYPE_LIST)
		return phx_conf_fail(c, s, -EINVAL, err,
				     "%s must be a list of texts: [ \"ssh-ed25519 AAAA... name\" ]",
				     name);
	int r = 0;
	for (int i = 0; r == 0 && i < config_setting_length(s); i++) {
		r = phx_conf_text(c, config_setting_get_elem(s, (unsigned)i), &text, err);
		r = r ? r : phx_text_push(ret, text);
	}
	return r;
}

static int read_group(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
		      struct phx_err *err)
{
	struct phx_site_group g = {0}, *to;
	int r = phx_conf_group(c, s, &phx_site_group_record, &g, err);
	if (r < 0)
		return r;
	site_place(c, s, g.place);
	if (!(to = phx_list_push(&rd->site.groups, sizeof(*to))))
		return phx_err_set(err, -ENOMEM, "out of memory");
	*to = g;
	return 0;
}

static int read_user(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
		     struct phx_err *err)
{
	struct phx_site_user u = {0}, *to = NULL;
	int r = phx_conf_group(c, s, &phx_site_user_record, &u, err);
	r = r ? r : read_keys(c, s, "keys", &u.keys, err);
	site_place(c, s, u.place);
	if (r == 0 && !(to = phx_list_push(&rd->site.users, sizeof(*to))))
		r = phx_err_set(err, -ENOMEM, "out of memory");
	if (to)
		*to = u;
	else
		phx_record_fini(&phx_site_user_record, &u);
	return r;
}

static void read_users(struct site_reader *rd, const char *dir)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	struct phx_err err = {0};
	if (!site_conf_read(rd, dir, "users.conf", &users_keys_record, &c))
		return;
	if (read_keys(&c, config_root_setting(&c.cfg), "root_keys", &rd->site.root_keys, &err) < 0)
		site_complain(rd, &err);
	site_each(rd, &c, "groups", read_group);
	site_each(rd, &c, "users", read_user);
}

static void read_site(struct site_reader *rd, const char *dir)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	struct phx_err err = {0};
	if (!site_conf_read(rd, dir, "site.conf", &site_keys_record, &c))
		return;
	if (phx_conf_some(&c, config_root_setting(&c.cfg), &phx_site_record, &rd->site, &err) < 0)
		site_complain(rd, &err);
}

/* ---- all of it ---- */

int phx_site_load(const char *dir, phx_site_say_fn say, void *arg, struct phx_site *ret,
		  struct phx_err *err)
{
	struct site_reader rd = {.say = say, .arg = arg};
	if (access(dir, R_OK | X_OK) < 0)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	read_site(&rd, dir);
	read_users(&rd, dir);
	site_networks_read(&rd, dir);
	site_sets_read(&rd, dir);
	int r = site_csv_read(&rd, dir);
	r = r ? r : site_files_read(&rd, dir, err);
	int wrong = r ? r : phx_site_check(&rd.site, say, arg);
	r = wrong < 0 ? wrong : rd.n + wrong;
	if (r == 0)
		*ret = rd.site;
	else
		phx_record_fini(&phx_site_record, &rd.site);
	return r;
}
