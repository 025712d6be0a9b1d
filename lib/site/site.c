/* Records of the settings, and what is found in them: see site.h. Called by check.c and render.c.
 * Pure. */
#include "site/internal.h"

#include <errno.h>
#include <string.h>

#include "base/mix.h"
#include "base/nodeset.h"
#include "types/node.h"

PHX_RECORD_TABLE(phx_site_group, PHX_SITE_GROUP_FIELDS);
PHX_RECORD_TABLE(phx_site_user, PHX_SITE_USER_FIELDS);
PHX_RECORD_TABLE(phx_site_file, PHX_SITE_FILE_FIELDS);
PHX_RECORD_TABLE(phx_site, PHX_SITE_FIELDS);
PHX_RECORD_TABLE(phx_site_out, PHX_SITE_OUT_FIELDS);
PHX_RECORD_TABLE(phx_site_bundle, PHX_SITE_BUNDLE_FIELDS);

static const char *const scope_names[] = {"all", "profile", "role", "label", "node"};
const struct phx_enum phx_site_scope_names = {"scope", scope_names, PHX_SITE_SCOPE_COUNT_};

const struct phx_site_group *phx_site_group_named(const struct phx_site *s, const char *name)
{
	PHX_LIST_EACH(struct phx_site_group, g, &s->groups)
		if (!strcmp(g->name, name))
			return g;
	return NULL;
}

static int number(const char *name, uint32_t *ret)
{
	uint64_t n;
	if (phx_u64_parse(name, 0, UINT32_MAX - 1, &n) < 0)
		return -ENOENT;
	*ret = (uint32_t)n;
	return 0;
}

int phx_site_owner(const struct phx_site *s, const char *name, uint32_t *ret)
{
	if (!strcmp(name, "root"))
		return number("0", ret);
	PHX_LIST_EACH(struct phx_site_user, u, &s->users)
		if (!strcmp(u->name, name)) {
			*ret = u->uid;
			return 0;
		}
	return number(name, ret);
}

int phx_site_owner_group(const struct phx_site *s, const char *name, uint32_t *ret)
{
	const struct phx_site_group *g = phx_site_group_named(s, name);
	if (g)
		*ret = g->gid;
	return g ? 0 : phx_site_owner(s, name, ret);
}

int phx_site_mode(const char *text, uint32_t *ret)
{
	uint32_t mode = 0;
	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '7')
			return -EINVAL;
		mode = mode * 8 + (uint32_t)(*c - '0');
	}
	*ret = mode;
	return 0;
}

/* ---- which nodes ---- */

static bool has_word(const struct phx_list *words, const char *word)
{
	PHX_LIST_EACH(struct phx_word, w, words)
		if (!strcmp(w->text, word))
			return true;
	return false;
}

static bool has_label(const struct phx_list *words, const struct phx_label *l)
{
	PHX_LIST_EACH(struct phx_word, w, words) {
		const char *value = strchr(w->text, '=');
		size_t n = value ? (size_t)(value - w->text) : 0;
		if (n == strlen(l->key) && !strncmp(w->text, l->key, n) &&
		    !strcmp(value + 1, l->value))
			return true;
	}
	return false;
}

static bool lists_node(const struct phx_list *words, const char *node)
{
	bool found = false;
	PHX_LIST_EACH(struct phx_word, w, words) {
		struct phx_nodeset set = {0};
		if (phx_nodeset_parse(w->text, NULL, NULL, &set, NULL) == 0)
			found = found || phx_nodeset_has(&set, node);
		phx_nodeset_fini(&set);
	}
	return found;
}

bool phx_site_user_is_on(const struct phx_site_user *u, const struct phx_site_node *n)
{
	if (!u->roles.n && !u->labels.n && !u->nodes.n)
		return true;
	if (has_word(&u->roles, n->role) || lists_node(&u->nodes, n->name))
		return true;
	PHX_LIST_EACH(struct phx_label, l, n->labels)
		if (has_label(&u->labels, l))
			return true;
	return false;
}

/* Is it "KEY=VALUE"? */
static bool is_of_key(const char *label, const char *key)
{
	size_t n = strlen(key);
	return !strncmp(label, key, n) && label[n] == '=';
}

bool phx_site_goes_by_label(const struct phx_site *s, const char *key)
{
	PHX_LIST_EACH(struct phx_site_user, u, &s->users)
		PHX_LIST_EACH(struct phx_word, w, &u->labels)
			if (is_of_key(w->text, key))
				return true;
	PHX_LIST_EACH(struct phx_site_file, f, &s->files)
		if (f->scope == PHX_SITE_LABEL && is_of_key(f->of, key))
			return true;
	return false;
}

uint64_t phx_site_node_hash(const struct phx_site_node *n)
{
	uint64_t h = phx_mix_text(phx_mix_text(PHX_MIX_NONE, n->name), n->address);
	h = phx_mix_text(phx_mix_text(h, n->role), n->pool);
	h = phx_mix_text(h, phx_text(n->os));
	PHX_LIST_EACH(struct phx_label, l, n->labels)
		h = phx_mix_text(phx_mix_text(h, l->key), l->value);
	return h;
}

/* ---- accounts ---- */

int phx_site_account(const struct phx_site *s, const struct phx_site_user *u,
		     struct phx_account *ret)
{
	struct phx_account a = {.uid = u->uid, .gid = u->uid};
	const struct phx_site_group *g = phx_site_group_named(s, u->group);
	PHX_STR_SET(a.name, u->name);
	PHX_STR_SET(a.gecos, u->gecos);
	PHX_STR_SET(a.shell, u->locked ? PHX_SITE_NOLOGIN : u->shell);
	PHX_STR_SET(a.home, u->home);
	if (!u->home[0]) {
		PHX_STR_SET(a.home, "/home/");
		phx_str_copy(a.home + strlen(a.home), sizeof(a.home) - strlen(a.home), u->name);
	}
	a.gid = g ? g->gid : a.gid;
	int r = phx_account_group_add(&a.groups, g ? g->name : u->name, a.gid);
	PHX_LIST_EACH(struct phx_word, w, &u->groups) {
		g = phx_site_group_named(s, w->text);
		r = r || !g ? r : phx_account_group_add(&a.groups, g->name, g->gid);
	}
	if (r < 0)
		phx_record_fini(&phx_account_record, &a);
	else
		*ret = a;
	return r;
}

/* ---- paths ---- */

bool phx_site_path_is_plain(const char *path)
{
	if (*path != '/' || !path[1])
		return false;
	for (const char *at = path; *at; at += strcspn(at, "/")) {
		at++;
		size_t n = strcspn(at, "/");
		if (!n || (n == 1 && *at == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
			return false;
	}
	for (; *path; path++)
		if ((unsigned char)*path < ' ' || *path == 127)
			return false;
	return true;
}

bool phx_site_is_network(const char *path)
{
	static const char *const places[] = {"/etc/systemd/network/",
					     "/etc/NetworkManager/system-connections/"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++)
		if (phx_str_starts(path, places[i]))
			return true;
	return false;
}
