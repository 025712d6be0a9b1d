/* Attestations of erases: the resource provider and auditors may have all, a service provider those
 * of nodes that their REs had before or have next. Called by way of routes.def. The document is
 * sent as the bytes that were signed and is not verified: phx erasure verify does that for those
 * who do not trust the head. */
#include "phxd/api_journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "phxd/parse.h"
#include "pki/attestation.h"

enum { LIST_MAX = 1000 };

struct listing {
	json_t *rows;
	const struct person *whose; /* NULL: of all */
	uint32_t n;                 /* number of erasures looked at */
	uint64_t last;
	bool texts;
};

static int add_row(struct listing *to, const struct phx_store_attestation *row)
{
	struct phx_attestation a;
	char signature[PHX_ANCHOR_SIGNATURE_MAX];
	int r = phx_attestation_parse(row->text, strlen(row->text), &a, signature, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	json_t *j = phx_json_from_record(&phx_attestation_record, &a);
	phx_record_fini(&phx_attestation_record, &a);
	if (!j)
		return -ENOMEM;
	json_object_set_new(j, "n_disks",
			    json_integer((json_int_t)json_array_size(json_object_get(j, "disks"))));
	json_object_set_new(j, "signature", json_string(signature));
	if (to->texts)
		json_object_set_new(j, "text", json_string(row->text));
	else
		json_object_del(j, "disks");
	return json_array_append_new(to->rows, j) ? -ENOMEM : 0;
}

static int add(void *arg, const struct phx_store_attestation *row)
{
	struct listing *to = arg;
	to->n++;
	to->last = row->id;
	bool his = !to->whose || person_is(to->whose, row->from_owner) ||
		person_is(to->whose, row->to_owner);
	return his ? add_row(to, row) : 0;
}

/* Whose attestations the asker may have: `p`, which is filled, or NULL for all. */
static const struct person *whose(struct daemon *d, struct phx_http_request *q, struct person *p)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	if (person_has_all(d, peer, PHX_RIGHT_erasures))
		return NULL;
	person_of(d, peer, p);
	return p;
}

/* The owner to search by, NULL to look through all: a certificate that works as a user of the head
 * counts as two owners. */
static const char *one_owner(const struct person *p)
{
	return p && (!p->login[0] || phx_identity_is(p->identity, PHX_IDENTITY_UNIX, p->login))
		? p->identity
		: NULL;
}

void api_erasure_list(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct person asker;
	uint64_t before, limit;
	PHX_AUTO_JSON json_t *rows = json_array();
	struct listing to = {.rows = rows, .whose = whose(d, q, &asker)};
	if (!parse_query_number(q, "before", INT64_MAX, 0, &before) ||
	    !parse_query_number(q, "limit", LIST_MAX, LIST_MAX, &limit))
		return;
	struct phx_store_attestations of = {.node = phx_http_query(q, "node"),
					    .owner = one_owner(to.whose),
					    .before = before,
					    .limit = limit ? (uint32_t)limit : LIST_MAX};
	int r = phx_store_attestations(engine_store(d->engine), &of, add, &to, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:b,s:I}", "erasures", rows, "more",
					    to.n == of.limit, "last", (json_int_t)to.last);
	phx_http_reply_json(q, 200, j);
}

/* Ends the walk with the first that is his. */
static int add_first(void *arg, const struct phx_store_attestation *row)
{
	struct listing *to = arg;
	int r = add(to, row);
	return r ? r : json_array_size(to->rows) > 0;
}

/* Finds his newest of the node named `what` (others may have had the node since), or else the one
 * of that number. */
static int find_one(struct daemon *d, const char *what, struct listing *to, struct phx_err *err)
{
	struct phx_store_attestations of = {.node = what, .limit = LIST_MAX};
	char *end;
	int r = phx_store_attestations(engine_store(d->engine), &of, add_first, to, err);
	uint64_t id = strtoull(what, &end, 10);
	if (r < 0 || to->n || *end || !id || id >= INT64_MAX)
		return r < 0 ? r : 0;
	of = (struct phx_store_attestations){.before = id + 1, .limit = 1};
	r = phx_store_attestations(engine_store(d->engine), &of, add, to, err);
	if (r == 0 && to->last != id) /* one that is not the newest */
		json_array_clear(to->rows);
	return r;
}

void api_erasure(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct person asker;
	char text[200];
	const char *what = phx_http_param(q, 0);
	PHX_AUTO_JSON json_t *rows = json_array();
	struct listing to = {.rows = rows, .whose = whose(d, q, &asker), .texts = true};
	int r = find_one(d, what, &to, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (json_array_size(rows)) {
		phx_http_reply_json(q, 200, json_array_get(rows, 0));
		return;
	}
	snprintf(
		text, sizeof(text),
		"there is no attestation of '%.80s'%s; records of single erases: phx node erasures",
		what, to.whose ? " that is yours" : "");
	phx_utf8_repair(text);
	phx_http_reply_error(q, -ENOENT, text);
}

/* Verifies a document as phx erasure verify does, by the head's own key: for those who trust the
 * head. Whose keys the nodes' were the vault asked before it signed; the CA of then may be gone. */
void api_erasure_check(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_attestation a = {0};
	struct phx_err why = {0};
	PHX_AUTO_JSON json_t *body = body_json(q);
	static const char *const members[] = {"text"};
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)))
		return;
	const char *text = phx_json_str(body, "text", "");
	PHX_AUTO_FREE char *pub = phx_path("%s/attest.pub", d->cfg.run_dir);
	int r = pub ? phx_attestation_verify(text, strlen(text), pub, NULL, engine_now(d->engine),
					     &a, &why)
		    : -ENOMEM;
	PHX_AUTO_JSON json_t *j = json_pack(
		"{s:b,s:s,s:s,s:I,s:s,s:s,s:I,s:I,s:I}", "ok", r == 0, "text", why.text, "node",
		a.node, "id", (json_int_t)a.id, "from_owner", a.from_owner, "to_owner", a.to_owner,
		"n_disks", (json_int_t)a.disks.n, "n_left", (json_int_t)phx_attestation_left(&a),
		"made_ms", (json_int_t)a.made_ms, "until_ms", (json_int_t)a.until_ms);
	phx_record_fini(&phx_attestation_record, &a);
	phx_http_reply_json(q, 200, j);
}

void api_erasure_key(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:s,s:s}", "fingerprint", engine_attest_key(d->engine), "pem",
			  phx_pki_attest_pub_pem(d->pki), "ca", phx_pki_ca_pem(d->pki));
	phx_http_reply_json(q, 200, j);
}
