/* What is wrong with settings of a site, all of it: see site.h. Called by `phx site` and by phxd,
 * which does not trust the former. Pure. */
#include "site/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nodeset.h"

struct check {
	const struct phx_site *s;
	const struct phx_site_index *ix;
	struct phx_site_checking said;
};

/* ---- paths ---- */

/* What the settings have other words for, what is the agent's, and what is no disk's. A name that
 * ends with / stands for all below it. */
static const struct {
	const char *path, *why;
} reserved[] = {
	{"/etc/passwd", "accounts come from users.conf"},
	{"/etc/group", "groups come from users.conf"},
	{"/etc/shadow", "accounts come from users.conf"},
	{"/etc/gshadow", "groups come from users.conf"},
	{"/etc/.pwd.lock", "it is a lock"},
	{"/etc/sudoers.d/phoenix", "it is made of users.conf"},
	{"/etc/ssh/phoenix/", "keys come from users.conf"},
	{"/etc/ssh/sshd_config.d/00-phoenix.conf", "it is made of users.conf"},
	{"/etc/chrony/sources.d/phoenix.sources", "it is made of `ntp` of site.conf"},
	{"/etc/sysctl.d/90-phoenix.conf", "it is made of `sysctl`"},
	{"/etc/modules-load.d/phoenix-site.conf", "it is made of `modules`"},
	{"/etc/modprobe.d/phoenix-site.conf", "it is made of `modules_blocked`"},
	{"/etc/rsyslog.d/90-phoenix.conf", "it is made of `syslog`"},
	{"/etc/systemd/system/multi-user.target.d/phoenix.conf", "it is made of `mounts`"},
	{"/usr/local/lib/systemd/system/phoenix-mounts.target", "it is made of `mounts`"},
	{"/etc/phoenix/", "the agent's files are there"},
	{"/opt/phoenix/", "the agent is there"},
	{"/var/lib/phoenix/", "the agent's files are there"},
	{"/dev/", "nothing is kept there"},
	{"/proc/", "nothing is kept there"},
	{"/sys/", "nothing is kept there"},
	{"/run/", "nothing is kept there"},
};

int phx_site_path_check(const char *path, struct phx_err *err)
{
	if (!phx_site_path_is_plain(path))
		return phx_err_set(err, -EINVAL,
				   "'%.200s' must be an absolute path without \"..\" and \"//\"",
				   path);
	const char *name = strrchr(path, '/') + 1;
	if (phx_site_is_network(path) &&
	    (phx_str_starts(name, "10-phoenix-") || phx_str_starts(name, "phoenix-")))
		return phx_err_set(err, -EPERM,
				   "no file may be put to %.200s: it is made of `nics`", path);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(reserved); i++) {
		const char *r = reserved[i].path;
		bool below = r[strlen(r) - 1] == '/';
		if (below ? phx_str_starts(path, r) : !strcmp(path, r))
			return phx_err_set(err, -EPERM, "no file may be put to %.200s: %s", path,
					   reserved[i].why);
	}
	return 0;
}

/* ---- groups ---- */

static void check_group(struct check *c, const struct phx_site_group *g)
{
	if (!phx_account_is_person(g->gid))
		phx_site_complain(
			&c->said, g->place,
			"group %s: gid %u is the system's: people have 1000 to 60000, or 65536 "
			"and above",
			g->name, g->gid);
	for (const struct phx_site_group *b = c->s->groups.items; b < g; b++) {
		if (!strcmp(b->name, g->name))
			phx_site_complain(&c->said, g->place, "group %s is there twice: also %s",
					  g->name, b->place);
		else if (b->gid == g->gid)
			phx_site_complain(&c->said, g->place,
					  "group %s has the gid %u of group %s (%s)", g->name,
					  g->gid, b->name, b->place);
	}
}

/* ---- users ---- */

/* sudoers takes a word of capitals for an alias, and ALL for everybody. */
static bool name_is_safe(const char *name)
{
	return (*name >= 'a' && *name <= 'z') || *name == '_';
}

static void check_twins(struct check *c, const struct phx_site_user *u)
{
	for (const struct phx_site_user *b = c->s->users.items; b < u; b++) {
		if (!strcmp(b->name, u->name))
			phx_site_complain(&c->said, u->place, "user %s is there twice: also %s",
					  u->name, b->place);
		else if (b->uid == u->uid)
			phx_site_complain(&c->said, u->place,
					  "user %s has the uid %u of user %s (%s)", u->name, u->uid,
					  b->name, b->place);
	}
}

/* The group of his own that he gets must be nobody else's. */
static void check_own_group(struct check *c, const struct phx_site_user *u)
{
	PHX_LIST_EACH(struct phx_site_group, g, &c->s->groups) {
		bool name = !strcmp(g->name, u->name), gid = g->gid == u->uid;
		if (name != gid)
			phx_site_complain(
				&c->said, u->place,
				"user %s has a group of his own, %s (%u), and group %s (%u, %s) "
				"is another: give him a `group`",
				u->name, u->name, u->uid, g->name, g->gid, g->place);
	}
}

static void check_groups(struct check *c, const struct phx_site_user *u)
{
	if (!u->group[0])
		check_own_group(c, u);
	else if (!phx_site_group_named(c->s, u->group))
		phx_site_complain(&c->said, u->place,
				  "user %s: there is no group '%s' in users.conf", u->name,
				  u->group);
	PHX_LIST_EACH(struct phx_word, w, &u->groups)
		if (!phx_site_group_named(c->s, w->text))
			phx_site_complain(&c->said, u->place,
					  "user %s: there is no group '%s' in users.conf", u->name,
					  w->text);
}

static void check_keys(struct check *c, const char *place, const char *name,
		       const struct phx_list *keys)
{
	for (uint32_t i = 0; i < keys->n; i++) {
		struct phx_err err = {0};
		if (phx_site_key_check(phx_text_at(keys, i), &err) < 0)
			phx_site_complain(&c->said, place, "user %s: key %u %s", name, i + 1,
					  err.text);
	}
}

static void check_rules(struct check *c, const struct phx_site_user *u)
{
	PHX_LIST_EACH(struct phx_word, w, &u->sudo_rules) {
		size_t n = strlen(w->text);
		if (!n || w->text[n - 1] == '\\' || w->text[strcspn(w->text, "\n")] ||
		    !strchr(w->text, '='))
			phx_site_complain(
				&c->said, u->place,
				"user %s: the sudo rule \"%s\" must be as \"ALL=(root) NOPASSWD: "
				"/usr/sbin/reboot\"",
				u->name, w->text);
	}
}

static void check_where(struct check *c, const struct phx_site_user *u)
{
	PHX_LIST_EACH(struct phx_word, w, &u->roles)
		if (!phx_name_valid(w->text))
			phx_site_complain(&c->said, u->place, "user %s: '%s' is no name of a role",
					  u->name, w->text);
	PHX_LIST_EACH(struct phx_word, w, &u->labels) {
		const char *value = strchr(w->text, '=');
		if (!value || value == w->text || !value[1])
			phx_site_complain(&c->said, u->place,
					  "user %s: '%s' is no label: KEY=VALUE", u->name, w->text);
	}
	PHX_LIST_EACH(struct phx_word, w, &u->nodes) {
		struct phx_nodeset set = {0};
		struct phx_err err = {0};
		if (phx_nodeset_parse(w->text, NULL, NULL, &set, &err) < 0)
			phx_site_complain(&c->said, u->place, "user %s: nodes \"%s\": %s", u->name,
					  w->text, err.text);
		phx_nodeset_fini(&set);
	}
}

static int check_user(struct check *c, const struct phx_site_user *u)
{
	struct phx_account a = {0};
	struct phx_err err = {0};
	int r = phx_site_account(c->s, u, &a);
	if (r < 0)
		return r;
	if (!name_is_safe(u->name))
		phx_site_complain(&c->said, u->place,
				  "user %s: a name begins with a small letter or _", u->name);
	else if (phx_account_check(&a, &err) < 0)
		phx_site_complain(&c->said, u->place, "%s", err.text);
	phx_record_fini(&phx_account_record, &a);
	check_twins(c, u);
	check_groups(c, u);
	check_keys(c, u->place, u->name, &u->keys);
	check_rules(c, u);
	check_where(c, u);
	return 0;
}

/* ---- files ---- */

/* In place of a mode that is no number, one that nobody may have is compared. */
static void check_mode(struct check *c, const struct phx_site_file *f)
{
	uint32_t mode = 0;
	if (phx_site_mode(f->mode, &mode) < 0 || mode & 07002)
		phx_site_complain(
			&c->said, f->place,
			"mode '%s' of %s must be octal digits, without set-id bits, and others "
			"may not write",
			f->mode, f->path);
	else if (f->secret && mode & 07)
		phx_site_complain(&c->said, f->place,
				  "%s is secret, and its mode '%s' gives something to others",
				  f->path, f->mode);
}

/* A variable that some node has: which nodes do, phx_site_check_nodes() asks. */
static const char *known(void *arg, const char *name)
{
	const struct check *c = arg;
	const struct phx_list *const both[] = {&c->s->profiles, &c->s->nodes};
	if (phx_site_variable_is_own(name))
		return "";
	for (size_t i = 0; i < PHX_ARRAY_SIZE(both); i++)
		PHX_LIST_EACH(struct phx_site_set, s, both[i])
			PHX_LIST_EACH(struct phx_site_value, v, &s->variables)
				if (!strcmp(v->name, name))
					return "";
	return NULL;
}

static void check_text(struct check *c, const struct phx_site_file *f)
{
	struct phx_err err = {0};
	unsigned line = 0;
	if (phx_site_expand(phx_text(f->text), known, c, NULL, &line, &err) == -EINVAL) {
		char place[PHX_SITE_PLACE_MAX + 16];
		snprintf(place, sizeof(place), "%s:%u", f->place, line);
		phx_site_complain(&c->said, place, "%s", err.text);
	}
	if (strlen(phx_text(f->text)) > PHX_SITE_FILE_MAX)
		phx_site_complain(&c->said, f->place, "is longer than %u KiB",
				  PHX_SITE_FILE_MAX >> 10);
}

/* The folder that says for which nodes a file is. */
static void check_of(struct check *c, const struct phx_site_file *f)
{
	const char *value = strchr(f->of, '=');
	bool right = f->scope == PHX_SITE_ALL ? !f->of[0]
		: f->scope == PHX_SITE_LABEL  ? value && value != f->of && value[1]
					      : phx_name_valid(f->of);
	if (f->scope < 0 || f->scope >= PHX_SITE_SCOPE_COUNT_ || !right)
		phx_site_complain(&c->said, f->place, "'%s' is no name of a %s", f->of,
				  f->scope == PHX_SITE_LABEL ? "label: KEY=VALUE"
							     : "profile, role or node");
	else if (f->scope == PHX_SITE_PROFILE && !phx_site_profile(c->ix, f->of))
		phx_site_complain(&c->said, f->place, "there is no profile '%s' in profiles.conf",
				  f->of);
}

static void check_file(struct check *c, const struct phx_site_file *f)
{
	struct phx_err err = {0};
	uint32_t id;
	if (phx_site_path_check(f->path, &err) < 0)
		phx_site_complain(&c->said, f->place, "%s", err.text);
	if (phx_site_owner(c->s, f->owner, &id) < 0)
		phx_site_complain(
			&c->said, f->place,
			"owner '%s' of %s is neither root, nor a user of users.conf, nor a number",
			f->owner, f->path);
	if (phx_site_owner_group(c->s, f->group, &id) < 0)
		phx_site_complain(
			&c->said, f->place,
			"group '%s' of %s is neither root, nor of users.conf, nor a number",
			f->group, f->path);
	check_of(c, f);
	if (f->run.n && PHX_LIST_AT(&f->run, struct phx_word, 0)->text[0] == '\0')
		phx_site_complain(&c->said, f->place, "run of %s: its first word must be a program",
				  f->path);
	check_mode(c, f);
	check_text(c, f);
}

/* ---- the rest ---- */

static bool has_too_many(const struct phx_site *s)
{
	return s->users.n > PHX_ACCOUNTS_MAX || s->groups.n > PHX_ACCOUNT_GROUPS_MAX;
}

static int check_people(struct check *c)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_site_group, g, &c->s->groups)
		check_group(c, g);
	PHX_LIST_EACH(struct phx_site_user, u, &c->s->users)
		r = r ? r : check_user(c, u);
	return r;
}

static void check_site(struct check *c)
{
	if (c->s->domain[0] && !phx_site_is_host(c->s->domain))
		phx_site_complain(&c->said, "site.conf", "domain '%s' is no name of a domain",
				  c->s->domain);
	PHX_LIST_EACH(struct phx_word, w, &c->s->ntp)
		if (!phx_site_is_host(w->text))
			phx_site_complain(&c->said, "site.conf",
					  "ntp '%s' is neither a name nor an address", w->text);
	if (c->s->forward_dns && !c->s->serve_names)
		phx_site_complain(&c->said, "site.conf", "forward_dns needs serve_names");
	if (has_too_many(c->s))
		phx_site_complain(&c->said, "users.conf",
				  "there are more than %d users or %d groups", PHX_ACCOUNTS_MAX,
				  PHX_ACCOUNT_GROUPS_MAX);
	if (c->s->files.n > PHX_SITE_FILES_MAX)
		phx_site_complain(&c->said, "files", "there are more than %d files",
				  PHX_SITE_FILES_MAX);
	check_keys(c, "users.conf", "root", &c->s->root_keys);
}

static int check_protected(struct check *c)
{
	struct phx_list groups;
	struct phx_err why = {0};
	int r = phx_site_protected(c->ix, &groups, &why);
	if (r == -E2BIG)
		phx_site_complain(&c->said, "nodes.conf", "%s", why.text);
	if (r == 0)
		phx_site_protected_fini(&groups);
	return r == -E2BIG ? 0 : r;
}

int phx_site_check(const struct phx_site *s, phx_site_say_fn say, void *arg)
{
	struct phx_site_index *ix = NULL;
	int r = phx_site_index_new(s, &ix);
	struct check c = {s, ix, {say, arg, 0}};
	if (r < 0)
		return r;
	check_site(&c);
	c.said.n += phx_site_networks_check(&s->networks, say, arg);
	r = has_too_many(s) ? 0 : check_people(&c); /* each is compared with each */
	if (phx_site_check_sets(ix, &c.said)) {
		r = r ? r : phx_site_check_nics(ix, &c.said);
		r = r ? r : check_protected(&c);
	}
	PHX_LIST_EACH(struct phx_site_file, f, &s->files)
		check_file(&c, f);
	phx_site_index_free(ix);
	return r ? r : c.said.n;
}
