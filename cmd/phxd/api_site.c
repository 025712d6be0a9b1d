/* The API's part about settings of the site: what is in force, applying others, the bundle of a
 * node. Content is told to nobody but the node that it is for. Called by way of routes.def. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/nodeset.h"
#include "node/protect.h"
#include "phxd/parse.h"
#include "phxd/site_internal.h"
#include "site/diff.h"

enum { SALT_BYTES = 32, BUNDLES_MAX = 2 /* of one node on their way: each may have MiB */ };

static void add_text(void *arg, const char *text)
{
	if (json_array_size(arg) < SITE_TEXTS_MAX)
		json_array_append_new(arg, json_string(text));
}

/* ---- nodes, copied ---- */

static void facts_fini(struct phx_list *facts)
{
	PHX_LIST_EACH(struct site_facts, f, facts)
		site_facts_fini(f);
	phx_list_fini(facts);
}

/* Of all nodes that get a bundle, or of those alone whose system runs: what lib/site makes of them
 * is made without the engine's lock. The caller frees *ret by facts_fini(), also after -ENOMEM. */
static int copy_facts(struct daemon *d, bool running, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	int r = 0;
	PHX_NODES_EACH(n, s) {
		struct site_facts f;
		struct site_facts *to = NULL;
		if (r < 0 || (running && n->env != PHX_ENV_OS) || !site_facts_of(s, n, &f))
			continue;
		if (!(to = phx_list_push(ret, sizeof(*to)))) {
			site_facts_fini(&f);
			r = -ENOMEM;
		} else {
			*to = f;
		}
	}
	engine_unlock(d->engine);
	return r;
}

/* ---- what is in force ---- */

void api_site(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	json_int_t n_nodes[SITE_STANDING_COUNT_] = {0};
	char error[BEAT_ERROR_MAX];
	struct phx_list facts = {0};
	const struct phx_state *s = engine_lock(d->engine);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_site_version_record, &s->site);
	engine_unlock(d->engine);
	int r = copy_facts(d, true, &facts);
	PHX_LIST_EACH(struct site_facts, f, &facts) {
		error[0] = '\0';
		n_nodes[site_standing_of(d, f, error)]++;
	}
	facts_fini(&facts);
	if (r < 0) {
		phx_http_reply_error(q, r, strerror(-r));
		return;
	}
	json_object_set_new(j, "nodes",
			    json_pack("{s:I,s:I,s:I,s:I}", "current", n_nodes[SITE_CURRENT],
				      "waiting", n_nodes[SITE_WAITING], "applying",
				      n_nodes[SITE_APPLYING], "failed", n_nodes[SITE_FAILED]));
	phx_http_reply_json(q, 200, j);
}

static void add_origin(void *arg, const char *key, const char *name, const char *text,
		       const char *place)
{
	json_array_append_new(arg,
			      json_pack("{s:s,s:s,s:s,s:s}", "key", key, "name", name, "value",
					text, "from", place));
}

void api_site_node(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *node = strrchr(phx_http_path(q), '/') + 1;
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	bool there = phx_state_node(s, node);
	engine_unlock(d->engine);
	int r = there ? site_origins(d->site, node, add_origin, list) : -ENOENT;
	r = there && r == -ENOENT ? 0 : r; /* nothing is applied: nothing is said of it */
	PHX_AUTO_FREE char *args = r == 0 ? site_kernel_args(d->site, node) : NULL;
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:O,s:s}", "settings", list, "kernel_args", args ? args : "");
	if (!there)
		phx_http_reply_error(q, r, "there is no such node");
	else if (r < 0)
		phx_http_reply_error(q, r, strerror(-r));
	else
		phx_http_reply_json(q, 200, j);
}

/* ---- names that the head knows ---- */

static void complain(json_t *errors, const char *place, const char *what, const char *name)
{
	PHX_AUTO_FREE char *text = phx_path("%s: there is no %s '%s'", place, what, name);
	if (text)
		add_text(errors, text);
}

/* A list of 10,000 names takes longer to read than the engine's lock may be held. */
static void check_nodes(struct daemon *d, const struct phx_site_user *u, json_t *errors)
{
	PHX_LIST_EACH(struct phx_word, w, &u->nodes) {
		struct phx_nodeset set = {0};
		phx_nodeset_parse(w->text, NULL, NULL, &set, NULL);
		const struct phx_state *s = engine_lock(d->engine);
		for (uint32_t i = 0; i < set.n && json_array_size(errors) < SITE_TEXTS_MAX; i++)
			if (!phx_state_node(s, set.names[i]))
				complain(errors, u->place, "node", set.names[i]);
		engine_unlock(d->engine);
		phx_nodeset_fini(&set);
	}
}

/* Nodes that a group names before they are there are no mistake: they get their settings when they
 * come. */
static void check_names(struct daemon *d, const struct phx_site *site, json_t *errors)
{
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_site_user, u, &site->users)
		PHX_LIST_EACH(struct phx_word, w, &u->roles)
			if (!phx_state_role(s, w->text))
				complain(errors, u->place, "role", w->text);
	PHX_LIST_EACH(struct phx_site_file, f, &site->files) {
		if (f->scope == PHX_SITE_ROLE && !phx_state_role(s, f->of))
			complain(errors, f->place, "role", f->of);
		if (f->scope == PHX_SITE_NODE && !phx_state_node(s, f->of))
			complain(errors, f->place, "node", f->of);
	}
	engine_unlock(d->engine);
	PHX_LIST_EACH(struct phx_site_user, u, &site->users)
		check_nodes(d, u, errors);
}

/* ---- cards that the head knows ---- */

/* A card of a node. What the system of its owner says of cards is no more than his word: with the
 * addresses of others among them he would have settings refused that are right. So those count by
 * which the node is known, and what a deploy environment saw. */
struct card {
	char mac[PHX_MAC_MAX], node[PHX_NAME_MAX];
};

struct cards {
	struct phx_list list; /* struct card */
	struct phx_hash by_mac;
};

static bool has_macs(const struct phx_site *site)
{
	PHX_LIST_EACH(struct phx_site_set, g, &site->nodes)
		PHX_LIST_EACH(struct phx_site_nic, n, &g->nics)
			if (n->mac[0])
				return true;
	return false;
}

static int add_card(const struct phx_node *n, const char *mac, struct cards *ret)
{
	struct card *to = phx_list_push(&ret->list, sizeof(*to));
	if (!to)
		return -ENOMEM;
	PHX_STR_SET(to->mac, mac);
	PHX_STR_SET(to->node, n->name);
	return phx_hash_put(&ret->by_mac, phx_hash_text(to->mac), ret->list.n - 1);
}

static int add_cards(const struct phx_node *n, struct cards *ret)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_mac, m, &n->macs)
		r = r ? r : add_card(n, m->mac, ret);
	PHX_LIST_EACH(struct phx_nic_facts, nic, &n->facts.nics)
		if (r == 0 && phx_facts_proven(n))
			r = add_card(n, nic->mac, ret);
	return r;
}

/* The node that has the card; "": none does, or one of these nodes. */
static const char *owner_beside(const struct cards *c, const char *mac,
				const struct phx_nodeset *nodes)
{
	const char *found = "";
	uint32_t hash = phx_hash_text(mac), i;
	for (uint32_t at = hash; phx_hash_next(&c->by_mac, hash, &at, &i);) {
		const struct card *card = PHX_LIST_AT(&c->list, struct card, i);
		if (strcmp(card->mac, mac) != 0)
			continue;
		if (phx_nodeset_has(nodes, card->node))
			return "";
		found = card->node;
	}
	return found;
}

static void check_cards_of(const struct cards *c, const struct phx_site_set *g, json_t *errors)
{
	struct phx_nodeset set = {0};
	phx_nodeset_parse(g->nodes, NULL, NULL, &set, NULL);
	PHX_LIST_EACH(struct phx_site_nic, n, &g->nics) {
		char mac[PHX_MAC_MAX] = "", place[PHX_SITE_PLACE_MAX];
		const char *owner =
			phx_mac_parse(n->mac, mac) == 0 ? owner_beside(c, mac, &set) : "";
		if (!*owner)
			continue;
		phx_site_place(g, n->line, place);
		PHX_AUTO_FREE char *text = phx_path("%s: %s of %s: %s is a card of node %s", place,
						    n->name, g->nodes, mac, owner);
		if (text)
			add_text(errors, text);
	}
	phx_nodeset_fini(&set);
}

/* A bond of a card that is another machine's. */
static int check_cards(struct daemon *d, const struct phx_site *site, json_t *errors)
{
	struct cards c = {0};
	int r = 0;
	if (!has_macs(site))
		return 0;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_NODES_EACH(n, s)
		r = r ? r : add_cards(n, &c);
	engine_unlock(d->engine);
	PHX_LIST_EACH(struct phx_site_set, g, &site->nodes)
		if (r == 0 && g->nics.n)
			check_cards_of(&c, g, errors);
	phx_list_fini(&c.list);
	phx_hash_fini(&c.by_mac);
	return r;
}

/* ---- what nodes lack ---- */

/* What is missing for one node of many is told before any of them is touched. */
static int check_variables(struct daemon *d, const struct phx_site *site, json_t *errors)
{
	struct phx_list facts = {0};
	struct phx_site_index *ix = NULL;
	int r = copy_facts(d, false, &facts);
	PHX_AUTO_FREE struct phx_site_node *nodes = calloc(facts.n + 1, sizeof(*nodes));
	for (uint32_t i = 0; nodes && i < facts.n; i++)
		nodes[i] = site_node_of(PHX_LIST_AT(&facts, struct site_facts, i));
	r = r ? r : nodes ? phx_site_index_new(site, &ix) : -ENOMEM;
	r = r ? r : phx_site_check_nodes(ix, nodes, facts.n, add_text, errors);
	phx_site_index_free(ix);
	facts_fini(&facts);
	return r < 0 ? r : 0;
}

/* ---- applying ---- */

static int draw_salt(struct phx_site *site)
{
	unsigned char bytes[SALT_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	phx_hex(bytes, sizeof(bytes), site->salt);
	return 0;
}

static void wake_all(struct daemon *d)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	tell_up_nodes(d, &names);
	PHX_LIST_EACH(struct phx_word, w, &names)
		live_wake(d->live, w->text);
}

static void remove_file(struct daemon *d, const char *digest)
{
	PHX_AUTO_FREE char *path = digest[0] ? site_file(d, digest) : NULL;
	if (path)
		unlink(path);
}

/* Which disks are protected: the core decides by it. */
static int find_protected(const struct phx_site *site, struct phx_list *ret, struct phx_err *err)
{
	struct phx_site_index *ix = NULL;
	int r = phx_site_index_new(site, &ix);
	r = r ? r : phx_site_protected(ix, ret, err);
	phx_site_index_free(ix);
	return r;
}

/* What a person asked for beside the settings. */
struct wish {
	bool dry_run, again;
	uint32_t portion; /* how many nodes are told at once; 0: all */
	int64_t max_failures;
	char by[PHX_NAME_MAX];
};

/* The event has the digest, what there is of each kind, and which disks are protected; no other
 * content. */
static int journal(struct daemon *d, const struct phx_site *site, const char *digest,
		   const struct wish *wish, struct phx_err *err)
{
	struct phx_event ev = {.kind = PHX_EV_site_apply};
	ev.site_apply.users = site->users.n;
	ev.site_apply.groups = site->groups.n;
	ev.site_apply.files = site->files.n;
	PHX_STR_SET(ev.site_apply.digest, digest);
	ev.site_apply.portion = wish->portion;
	ev.site_apply.max_failed = (uint32_t)wish->max_failures;
	PHX_STR_SET(ev.by, wish->by);
	int r = find_protected(site, &ev.site_apply.protects, err);
	r = r ? r : engine_submit(d->engine, &ev, NULL, err);
	phx_site_protected_fini(&ev.site_apply.protects);
	return r;
}

/* The content is on the disk before the event names it, and the former one until then. */
static int apply(struct daemon *d, struct phx_site *site, const struct wish *wish,
		 struct phx_err *err)
{
	char digest[PHX_SHA256_HEX], former[PHX_SHA256_HEX];
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_site_record, site);
	int r = text ? phx_sha256_of(text, strlen(text), digest) : -ENOMEM;
	PHX_AUTO_FREE char *path = r == 0 ? site_file(d, digest) : NULL;
	if (!path)
		return r ? r : -ENOMEM;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_STR_SET(former, s->site.digest);
	engine_unlock(d->engine);
	r = phx_file_write(path, text, strlen(text), 0600, err);
	r = r ? r : journal(d, site, digest, wish, err);
	if (r < 0) {
		if (strcmp(former, digest) != 0)
			unlink(path);
		return r;
	}
	if (strcmp(former, digest) != 0)
		remove_file(d, former);
	r = site_take(d->site, site);
	net_sync_names(d);
	site_networks_changed(d);
	wake_all(d);
	return r;
}

/* Have some nodes not been told what is in force? */
static bool somebody_waits(struct daemon *d)
{
	const struct phx_state *s = engine_lock(d->engine);
	bool waits = s->site.last;
	engine_unlock(d->engine);
	return waits;
}

/* What would change; *ret_changes: is there anything? */
static int compare(struct daemon *d, struct phx_site *site, bool again, json_t *changes,
		   bool *ret_changes)
{
	struct phx_site former;
	bool there;
	int r = site_copy(d->site, &there, &former);
	if (r < 0)
		return r;
	*ret_changes = phx_site_diff(&former, site, add_text, changes) > 0 || !there || again ||
		somebody_waits(d);
	site->again = former.again + again;
	PHX_STR_SET(site->salt, former.salt);
	phx_record_fini(&phx_site_record, &former);
	return site->salt[0] ? 0 : draw_salt(site);
}

static void reply(struct phx_http_request *q, const struct wish *wish, json_t *errors,
		  json_t *changes, bool applied)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:O,s:O,s:b,s:I}", "errors", errors, "changes", changes, "applied",
			  applied, "portion", (json_int_t)wish->portion);
	phx_http_reply_json(q, 200, j);
}

static void take_site(struct daemon *d, struct phx_http_request *q, struct phx_site *site,
		      const struct wish *wish)
{
	bool news = false;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *errors = json_array(), *changes = json_array();
	int r = phx_site_check(site, add_text, errors) < 0 ? -ENOMEM : 0;
	check_names(d, site, errors);
	if (!json_array_size(errors))
		site_networks_check(d, site, errors);
	if (r == 0 && !json_array_size(errors))
		r = check_cards(d, site, errors);
	if (r == 0 && !json_array_size(errors))
		r = check_variables(d, site, errors);
	bool right = r == 0 && !json_array_size(errors);
	r = right ? compare(d, site, wish->again, changes, &news) : r;
	bool applies = r == 0 && right && news && !wish->dry_run;
	if (applies)
		r = apply(d, site, wish, &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text[0] ? err.text : strerror(-r));
	else
		reply(q, wish, errors, changes, applies);
}

/* "batch": "5%" or "3"; "max_failures": how many nodes may fail before the others are told none. */
static bool take_batch(struct daemon *d, struct phx_http_request *q, const json_t *j,
		       struct wish *ret)
{
	char text[16] = "";
	if (!TAKE(q, j, "batch", text) ||
	    !parse_number(q, j, "max_failures", 0, UINT32_MAX, &ret->max_failures))
		return false;
	const struct phx_state *s = engine_lock(d->engine);
	uint32_t n = phx_nodes_count(s) ? phx_nodes_count(s) : 1;
	engine_unlock(d->engine);
	if (!text[0] && !json_object_get(j, "max_failures"))
		return true;
	if (!text[0])
		phx_http_reply_error(q, -EINVAL, "max_failures: only with batch");
	else if (parse_share(text, n, &ret->portion) < 0)
		phx_http_reply_error(q, -EINVAL,
				     "batch: a text such as \"2\", of no more nodes than there "
				     "are, or \"5%\"");
	return ret->portion;
}

void api_site_apply(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"site", "dry_run", "again", "batch", "max_failures"};
	struct daemon *d = arg;
	struct phx_site site = {0};
	struct wish wish = {0};
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "dry_run", &wish.dry_run) ||
	    !parse_bool(q, j, "again", &wish.again) || !take_batch(d, q, j, &wish) ||
	    !parse_record(q, j, "site", &phx_site_record, &site))
		return;
	person_name(phx_http_peer(q), wish.by, sizeof(wish.by));
	site_turn_begin(d->site);
	take_site(d, q, &site, &wish);
	site_turn_end(d->site);
	phx_record_fini(&phx_site_record, &site);
}

/* ---- the bundle of a node ---- */

void api_agent_site(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX], error[BEAT_ERROR_MAX];
	struct site_facts f;
	struct phx_site_bundle b;
	if (!person_agent(d, q, node))
		return;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	bool may = n && n->env == PHX_ENV_OS &&
		phx_core_key_holds(s, node, phx_http_peer(q)->cert.fingerprint) &&
		site_facts_of(s, n, &f);
	engine_unlock(d->engine);
	if (!may) {
		phx_http_reply_error(q, -EACCES, "there are no settings for this node now");
		return;
	}
	if (!phx_http_claim(q, PHX_HTTP_HEAVY, BUNDLES_MAX)) {
		site_facts_fini(&f);
		return;
	}
	if (f.waits && live_site(d->live, node, error) != 0) {
		site_facts_fini(&f);
		phx_http_reply_error(q, -EACCES, "the node waits for its turn");
		return;
	}
	int r = site_bundle(d->site, &f, &b);
	site_facts_fini(&f);
	if (r < 0) {
		phx_http_reply_error(q, r, "there are no settings of the site");
		return;
	}
	char *text = phx_json_record_text(&phx_site_bundle_record, &b);
	phx_record_fini(&phx_site_bundle_record, &b);
	if (text)
		phx_http_reply_json_text(q, 200, text);
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}
