/* The site's CA and its change: who still depends on the former CA, starting another CA, retiring
 * the former one. The vault has the keys; this file decides who may be left behind. Called by way
 * of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/nodeset.h"
#include "phxd/parse.h"

enum { NAMES_SHOWN = 120 };

/* ---- who depends on the former CA ---- */

struct rest {
	struct phx_list nodes; /* struct phx_word */
	struct phx_list certs; /* struct phx_issued */
};

static void rest_fini(struct rest *rest)
{
	phx_list_fini(&rest->nodes);
	phx_list_fini(&rest->certs);
}

/* Finds the nodes that do not have a certificate of the CA that signs now; a node that was not
 * heard since then has none. */
static int find_nodes(struct daemon *d, const char *signs, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	int r = 0;
	PHX_NODES_EACH(n, s)
		if (r == 0 && n->key_fp[0] && strcmp(n->ca, signs))
			r = tell_put_name(ret, n->name);
	engine_unlock(d->engine);
	return r;
}

/* Would the certificate be lost with the former CA? Not if it has expired or been revoked, or its
 * CA is not trusted anyway. */
static bool counts(struct daemon *d, const struct phx_issued *i, const char *signs)
{
	const struct phx_state *s = engine_lock(d->engine);
	bool revoked = phx_state_revoked(s, i->serial);
	engine_unlock(d->engine);
	return !revoked && i->ca[0] && strcmp(i->ca, signs) && i->expires_s > phx_wall_ms() / 1000;
}

static int find_certs(struct daemon *d, const char *signs, struct phx_list *ret,
		      struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	int r = phx_vault_people(keys_vault(d->keys), &all, err);
	PHX_LIST_EACH(struct phx_issued, i, &all) {
		struct phx_issued *to;
		if (r || !counts(d, i, signs))
			continue;
		to = phx_list_push(ret, sizeof(*to));
		if (to)
			*to = *i;
		else
			r = phx_err_set(err, -ENOMEM, "out of memory");
	}
	return r;
}

static int find_rest(struct daemon *d, struct rest *ret, struct phx_err *err)
{
	struct phx_pki *pki = d->pki;
	if (!phx_pki_rolls(pki))
		return 0;
	int r = find_nodes(d, phx_pki_ca_id(pki), &ret->nodes);
	return r ? r : find_certs(d, phx_pki_ca_id(pki), &ret->certs, err);
}

/* Appends "3 nodes (n1-3) and 1 certificate (alice)" piece by piece; cut if too long. */
static void put_names(char *text, size_t size, const char *what, uint32_t n, const char *names)
{
	size_t at = strlen(text);
	if (n)
		snprintf(text + at, size - at, "%s%u %s%s (%.*s%s)", at ? " and " : "", n, what,
			 n == 1 ? "" : "s", NAMES_SHOWN, names,
			 strlen(names) > NAMES_SHOWN ? "..." : "");
}

static void say_rest(const struct rest *rest, char *ret, size_t size)
{
	struct phx_nodeset nodes = {0}, people = {0};
	PHX_LIST_EACH(struct phx_word, w, &rest->nodes)
		phx_nodeset_add(&nodes, w->text);
	PHX_LIST_EACH(struct phx_issued, i, &rest->certs)
		phx_nodeset_add(&people, i->name);
	PHX_AUTO_FREE char *node_names = phx_nodeset_fold(&nodes);
	PHX_AUTO_FREE char *person_names = phx_nodeset_fold(&people);
	ret[0] = '\0';
	put_names(ret, size, "node", rest->nodes.n, node_names ? node_names : "");
	put_names(ret, size, "certificate", rest->certs.n, person_names ? person_names : "");
	phx_nodeset_fini(&nodes);
	phx_nodeset_fini(&people);
}

/* ---- what there is ---- */

static json_t *view_cas(const struct phx_pki *pki)
{
	struct phx_ca_info cas[PHX_CAS_MAX];
	json_t *rows = json_array();
	int n = phx_ca_list(phx_pki_ca_pem(pki), "ca.pem", cas, NULL);
	for (int i = 0; i < n; i++)
		json_array_append_new(rows,
				      json_pack("{s:s,s:I,s:I,s:b}", "id", cas[i].id, "begins_s",
						(json_int_t)cas[i].begins_s, "expires_s",
						(json_int_t)cas[i].expires_s, "signs", i == 0));
	return rows;
}

void api_pki(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	PHX_AUTO(rest_fini) struct rest rest = {0};
	int r = find_rest(d, &rest, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *nodes = json_array();
	PHX_LIST_EACH(struct phx_word, w, &rest.nodes)
		json_array_append_new(nodes, json_string(w->text));
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:o,s:O,s:o}", "cas", view_cas(d->pki), "nodes", nodes, "certs",
			  phx_json_from_list(&phx_issued_record, &rest.certs));
	phx_http_reply_json(q, 200, j);
}

/* ---- the change ---- */

static int tell(struct daemon *d, const char *by, const char *text, struct phx_err *err)
{
	struct phx_event ev = {.kind = PHX_EV_notice};
	PHX_STR_SET(ev.by, by);
	snprintf(ev.text, sizeof(ev.text), "%s", text);
	return engine_submit(d->engine, &ev, NULL, err);
}

/* Journals the order before anything is done, and the outcome after it. */
static int change(struct daemon *d, const struct phx_http_request *q, enum phx_vault_change what,
		  const char *order, struct phx_err *err)
{
	char by[PHX_NAME_MAX], text[256];
	struct phx_err why = {0};
	person_name(phx_http_peer(q), by, sizeof(by));
	int r = tell(d, by, order, err);
	r = r ? r : keys_change_ca(d->keys, what, err);
	if (r == 0)
		snprintf(text, sizeof(text), "the site's CA: %s signs%s", phx_pki_ca_id(d->pki),
			 what == PHX_VAULT_RETIRE
				 ? ", and no other is believed"
				 : "; the one before is believed until phx pki retire");
	else
		snprintf(text, sizeof(text), "the site's CA is not changed: %.180s", err->text);
	tell(d, by, text, &why);
	/* machines that boot get the CAs from this file */
	if (catalog_site_files(d, &why) < 0)
		fprintf(stderr, "phxd: site.cpio: %s\n", why.text);
	access_changed(d);
	return r;
}

static void reply_changed(struct daemon *d, struct phx_http_request *q, int r,
			  const struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = json_pack("{s:o}", "cas", view_cas(d->pki));
	if (r < 0)
		phx_http_reply_error(q, r, err->text);
	else
		phx_http_reply_json(q, 200, j);
}

void api_pki_rotate(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"reason"};
	struct daemon *d = arg;
	struct phx_err err = {0};
	char reason[128] = "", order[256];
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !TAKE(q, body, "reason", reason))
		return;
	snprintf(order, sizeof(order), "the site's CA is to be changed%s%s", reason[0] ? ": " : "",
		 reason);
	reply_changed(d, q, change(d, q, PHX_VAULT_ROTATE, order, &err), &err);
}

/* 0, or -EBUSY: somebody would be shut out. `order` tells whom. */
static int may_retire(struct daemon *d, bool force, char *order, size_t size, struct phx_err *err)
{
	PHX_AUTO(rest_fini) struct rest rest = {0};
	char names[400] = "";
	int r = find_rest(d, &rest, err);
	if (r < 0)
		return r;
	say_rest(&rest, names, sizeof(names));
	snprintf(order, size, "the former CA is to be retired%s%s",
		 names[0] ? ", which shuts out " : "", names);
	if (!names[0] || force)
		return 0;
	return phx_err_set(err, -EBUSY,
			   "%.330s: start nodes that are off, or forget them (phx node rm); issue "
			   "other certificates and revoke these (phx cert); phx pki retire --force "
			   "shuts them out",
			   names);
}

void api_pki_retire(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"force"};
	struct daemon *d = arg;
	struct phx_err err = {0};
	bool force = false;
	char order[512];
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, body, "force", &force))
		return;
	int r = may_retire(d, force, order, sizeof(order), &err);
	r = r ? r : change(d, q, PHX_VAULT_RETIRE, order, &err);
	reply_changed(d, q, r, &err);
}
