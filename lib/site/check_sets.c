/* What is wrong with profiles and groups of nodes, all of it: see internal.h. Called by check.c.
 * Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nodeset.h"
#include "site/internal.h"
#include "types/disk_select.h"

/* each is compared with each */
enum { MOUNT_UNIT_MAX = 200, VALUES_MAX = 1000 };

struct check {
	const struct phx_site_index *ix;
	struct phx_site_checking *said;
	bool too_long; /* a list, so that nothing is compared that is in it */
};

/* ---- values: NULL, or what is wrong ---- */

static bool only(const char *text, const char *allowed)
{
	for (; *text; text++)
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= 'A' && *text <= 'Z') &&
		    !(*text >= '0' && *text <= '9') && !strchr(allowed, *text))
			return false;
	return true;
}

static const char *wrong_variable(const struct phx_site_value *v)
{
	return phx_site_variable_is_own(v->name)      ? "is what every node has: take another name"
		: !phx_site_variable_is_name(v->name) ? "must be of capitals, digits and _"
						      : NULL;
}

/* As sysctl.d(5) has them: parts with . or / between, such as net.ipv4.ip_forward. */
static const char *wrong_sysctl(const struct phx_site_value *v)
{
	const char *n = v->name;
	bool right = only(n, "._-/*") && strpbrk(n, "./") && !strstr(n, "..") && !strstr(n, "//") &&
		!strchr("./", n[0]) && !strchr("./", n[strlen(n) - 1]);
	return !right         ? "is no setting of the kernel: it must be as \"net.ipv4.ip_forward\""
		: !v->text[0] ? "has no value"
			      : NULL;
}

/* What the head and the deploy environment say themselves, no setting may. */
static const char *wrong_kernel_arg(const struct phx_site_value *v)
{
	static const char *const ours[] = {"root", "init", "initrd", "rdinit", "BOOTIF"};
	const char *wrong = "is said by the head itself";
	if (phx_str_starts(v->name, "phx."))
		return wrong;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ours); i++)
		if (!strcmp(ours[i], v->name))
			return wrong;
	bool plain = v->name[0] && !strpbrk(v->text, "\"'`\\${}#");
	for (const char *p = v->text; *p; p++)
		plain = plain && *p > ' ' && *p < 127;
	return plain ? NULL : "must be one word of ASCII without quotes and any of \\ $ { } #";
}

static const char *wrong_module(const struct phx_site_value *v)
{
	return v->text[0] && only(v->text, "_-") ? NULL : "is no name of a module";
}

static const char *wrong_address(const struct phx_site_value *v)
{
	return v->text[0] && (strchr(v->text, '.') || strchr(v->text, ':')) &&
			!v->text[strspn(v->text, "0123456789abcdefABCDEF.:")]
		? NULL
		: "is no address";
}

static const char *wrong_name_of_host(const char *text)
{
	return phx_site_is_host(text) ? NULL : "is neither a name nor an address";
}

static const char *wrong_host(const struct phx_site_value *v)
{
	return wrong_name_of_host(v->text);
}

/* As rsyslog has them: a host, or a host and its port. */
static const char *wrong_syslog(const struct phx_site_value *v)
{
	char host[sizeof(v->text)];
	uint64_t port;
	PHX_STR_SET(host, v->text + (phx_str_starts(v->text, "udp:") ? 4 : 0));
	char *colon = strchr(host, ':');
	if (!colon || phx_site_is_host(host))
		return wrong_name_of_host(host);
	*colon = '\0';
	return phx_u64_parse(colon + 1, 1, UINT16_MAX, &port) < 0
		? "must be as \"loghost\", \"loghost:6514\" or \"udp:loghost\""
		: wrong_name_of_host(host);
}

/* What is right is in the text of who knows selectors. */
static const char *wrong_selector(const struct phx_site_value *v)
{
	return phx_disk_selector_check(v->text, NULL) < 0
		? "is no selector of disks: it must be KEY=VALUE, or several with commas between; "
		  "keys are id, serial, model, transport, path, and size as in size=1TiB.."
		: NULL;
}

static const char *(*const wrong[PHX_SITE_VALUE_COUNT_])(const struct phx_site_value *v) = {
	[PHX_SITE_VALUE_variables] = wrong_variable,
	[PHX_SITE_VALUE_sysctl] = wrong_sysctl,
	[PHX_SITE_VALUE_kernel_args] = wrong_kernel_arg,
	[PHX_SITE_VALUE_modules] = wrong_module,
	[PHX_SITE_VALUE_modules_blocked] = wrong_module,
	[PHX_SITE_VALUE_dns] = wrong_address,
	[PHX_SITE_VALUE_search] = wrong_host,
	[PHX_SITE_VALUE_ntp] = wrong_host,
	[PHX_SITE_VALUE_syslog] = wrong_syslog,
	[PHX_SITE_VALUE_protected_disks] = wrong_selector,
};

static void say_of(struct check *c, const struct phx_site_set *s, uint32_t line, const char *key,
		   const char *name, const char *what)
{
	char place[PHX_SITE_PLACE_MAX];
	phx_site_place(s, line, place);
	phx_site_complain(c->said, place, "%s '%.60s' %s", key, name, what);
}

static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

static bool is_too_long(struct check *c, const struct phx_site_set *s, const struct phx_list *l,
			const char *key)
{
	if (l->n <= VALUES_MAX)
		return false;
	phx_site_complain(c->said, s->place, "%s: there are %u; a set has at most %d", key, l->n,
			  VALUES_MAX);
	return c->too_long = true;
}

static void check_values(struct check *c, const struct phx_site_set *s,
			 enum phx_site_value_kind kind)
{
	const struct phx_list *l = phx_site_values(s, kind);
	const char *key = phx_site_value_key(kind);
	if (is_too_long(c, s, l, key))
		return;
	PHX_LIST_EACH(struct phx_site_value, v, l) {
		const char *what = is_line(v->text) && is_line(v->name)
			? wrong[kind](v)
			: "has a control character: it must be one line";
		const char *name = v->name[0] ? v->name : v->text;
		if (what)
			say_of(c, s, v->line, key, name, what);
		for (const struct phx_site_value *b = l->items; b < v; b++)
			if (!strcmp(b->name[0] ? b->name : b->text, name))
				say_of(c, s, v->line, key, name, "is there twice");
	}
	if (kind == PHX_SITE_VALUE_dns && l->n > 3)
		say_of(c, s, PHX_LIST_AT(l, struct phx_site_value, 3)->line, key,
		       PHX_LIST_AT(l, struct phx_site_value, 3)->text,
		       "is the fourth: there may be three");
}

static void check_blocked(struct check *c, const struct phx_site_set *s)
{
	if (s->modules.n > VALUES_MAX || s->modules_blocked.n > VALUES_MAX)
		return;
	PHX_LIST_EACH(struct phx_site_value, v, &s->modules_blocked)
		PHX_LIST_EACH(struct phx_site_value, m, &s->modules)
			if (!strcmp(m->text, v->text))
				say_of(c, s, v->line, "modules_blocked", v->text,
				       "is one of modules, too");
}

/* ---- mounts ---- */

/* systemd writes four bytes for a - in the name of a unit, and a name of a file has 255. */
static bool has_unit(const char *where)
{
	size_t n = strlen(where);
	for (const char *c = where; *c; c++)
		n += *c == '-' ? 3 : 0;
	return n <= MOUNT_UNIT_MAX;
}

static void check_mounts(struct check *c, const struct phx_site_set *s)
{
	if (is_too_long(c, s, &s->mounts, "mounts"))
		return;
	PHX_LIST_EACH(struct phx_site_mount, m, &s->mounts) {
		if (!phx_site_path_is_plain(m->where) || !only(m->where, "/._:-") ||
		    m->where[strlen(m->where) - 1] == '/' || !has_unit(m->where))
			say_of(c, s, m->line, "mounts", m->where,
			       "must be an absolute path of letters, digits and ._:-, without "
			       "\"..\", \"//\" and / at the end, and not longer than 200");
		if (!is_line(m->what) || !is_line(m->options) || strpbrk(m->what, " \t") ||
		    !only(m->type, "._-") || strpbrk(m->options, " \t"))
			say_of(c, s, m->line, "mounts", m->where,
			       "has blanks or control characters in what, type or options");
		for (const struct phx_site_mount *b = s->mounts.items; b < m; b++)
			if (!strcmp(b->where, m->where))
				say_of(c, s, m->line, "mounts", m->where, "is mounted twice");
	}
}

/* ---- sets ---- */

static void check_set(struct check *c, const struct phx_site_set *s)
{
	for (int kind = 0; kind < PHX_SITE_VALUE_COUNT_; kind++)
		check_values(c, s, (enum phx_site_value_kind)kind);
	check_blocked(c, s);
	check_mounts(c, s);
}

static void check_profile(struct check *c, const struct phx_site_set *p)
{
	const struct phx_site_set *first = phx_site_profile(c->ix, p->name);
	if (!phx_name_valid(p->name))
		phx_site_complain(c->said, p->place, "'%s' is no name of a profile", p->name);
	else if (first != p)
		phx_site_complain(c->said, p->place, "profile %s is there twice: also %s", p->name,
				  first ? first->place : "");
	if (p->nodes[0] || p->profiles.n)
		phx_site_complain(c->said, p->place,
				  "profile %s: nodes and profiles belong to groups of nodes.conf",
				  p->name);
	check_set(c, p);
}

static void check_profiles_of(struct check *c, const struct phx_site_set *g)
{
	if (is_too_long(c, g, &g->profiles, "profiles"))
		return;
	PHX_LIST_EACH(struct phx_site_value, v, &g->profiles) {
		if (!phx_site_profile(c->ix, v->text))
			say_of(c, g, v->line, "profile", v->text,
			       "is not there: profiles.conf has none of that name");
		for (const struct phx_site_value *b = g->profiles.items; b < v; b++)
			if (!strcmp(b->text, v->text))
				say_of(c, g, v->line, "profile", v->text, "is there twice");
	}
}

static void check_group(struct check *c, const struct phx_site_set *g)
{
	struct phx_nodeset set = {0};
	struct phx_err err = {0};
	int r = g->nodes[0] ? phx_nodeset_parse(g->nodes, NULL, NULL, &set, &err) : 0;
	if (!g->nodes[0])
		phx_site_complain(c->said, g->place,
				  "nodes is missing: which nodes the group is of");
	else if (r < 0)
		phx_site_complain(c->said, g->place, "nodes \"%s\": %s", g->nodes, err.text);
	if (g->name[0])
		phx_site_complain(c->said, g->place, "a group of nodes has no name, but nodes");
	phx_nodeset_fini(&set);
	check_profiles_of(c, g);
	check_set(c, g);
}

bool phx_site_check_sets(const struct phx_site_index *ix, struct phx_site_checking *said)
{
	const struct phx_site *s = phx_site_index_of(ix);
	struct check c = {.ix = ix, .said = said};
	PHX_LIST_EACH(struct phx_site_set, p, &s->profiles)
		check_profile(&c, p);
	PHX_LIST_EACH(struct phx_site_set, g, &s->nodes)
		check_group(&c, g);
	return !c.too_long;
}
