/* Certificates of nodes. Who asks is the head, and the head may have been taken over: a node that
 * has a key is certified for another one only by a proof, and each certificate and what it was
 * given for is a line of the log.
 *
 *   again       the key that it has
 *   first       no key is known of this name, or the node was said to be gone (vault_op_forget)
 *   start N     the token of that start, which is made here (vault_op_start) for the node and
 *               the key that it has: one key a token
 *   rekey       the key that it has has signed for the next one (pki/next_key.h)
 *   unproven    a node of before the vault had this table: once, by an agent that cannot sign
 *
 * Called by way of ops.def. */
#include "vault/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pki/next_key.h"
#include "pki/token.h"

static int open_table(struct vault *v, struct phx_err *err)
{
	int r = vault_need_site(v, err);
	if (r < 0 || v->tabled)
		return r;
	r = vault_certified_open(&v->certified, v->config->pki_dir, err);
	v->tabled = r == 0;
	return r;
}

static const char *key_of(const struct vault *v, const char *node)
{
	const struct vault_node *n = vault_certified_find(&v->certified, node);
	return n ? n->key : "";
}

static int check_node(struct vault *v, const char *node, struct phx_err *err)
{
	return phx_name_valid(node) ? open_table(v, err)
				    : phx_err_set(err, -EINVAL, "that is no name of a node");
}

/* ---- tokens of starts ---- */

/* Is this the first time that the token is asked for, as far as is remembered? */
static bool is_news(struct vault *v, const struct phx_start *s)
{
	uint64_t *last = &v->granted[phx_hash_text(s->node) % PHX_ARRAY_SIZE(v->granted)];
	bool news = *last != s->number;
	*last = s->number;
	return news;
}

int vault_op_start(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		   struct phx_err *err)
{
	char token[PHX_START_TOKEN_MAX];
	int r = check_node(v, q->name, err);
	if (r < 0)
		return r;
	const struct phx_start start = {q->number, q->name, key_of(v, q->name)};
	r = phx_start_token(v->pki, &start, token);
	if (r == 0 && is_news(v, &start))
		r = VAULT_LOGGED(v, err, "start grant %s start %" PRIu64 " after %s", q->name,
				 q->number, start.key_fp[0] ? start.key_fp : "none");
	if (r == 0)
		vault_add_text(ret, token);
	explicit_bzero(token, sizeof(token));
	return r;
}

int vault_op_shown(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		   struct phx_err *err)
{
	(void)ret;
	int r = check_node(v, q->name, err);
	if (r < 0)
		return r;
	const struct phx_start start = {0, q->name, key_of(v, q->name)};
	return phx_start_of_token(v->pki, &start, q->body)
		? 0
		: phx_err_set(err, -EACCES, "that is the token of no start of %s", q->name);
}

/* ---- what speaks for a certificate ---- */

struct claim {
	const char *csr, *token;
	struct phx_next_key next;
	char key_fp[PHX_FINGERPRINT_MAX];
};

static int take_claim(const struct phx_apart_question *q, struct claim *ret, struct phx_err *err)
{
	const char *token = vault_text_at(q->body, q->n, 1),
		   *signature = vault_text_at(q->body, q->n, 2),
		   *cert = vault_text_at(q->body, q->n, 3);
	*ret = (struct claim){.csr = q->body, .token = token ? token : ""};
	if (PHX_STR_SET(ret->next.signature, signature ? signature : "") < 0 ||
	    PHX_STR_SET(ret->next.cert, cert ? cert : "") < 0)
		return phx_err_set(err, -EINVAL, "that is longer than a proof");
	return phx_csr_fingerprint(ret->csr, ret->key_fp, err);
}

/* Why it is given; `ret` holds what stands in the table then. -EPERM: nothing speaks for it. */
static int judge(const struct vault *v, const char *node, const struct claim *c,
		 struct vault_node *ret, struct phx_err *err)
{
	const struct vault_node *had = vault_certified_find(&v->certified, node);
	const struct phx_start start = {0, node, had ? had->key : ""};
	bool signs = c->next.signature[0];
	*ret = had ? *had : (struct vault_node){0};
	PHX_STR_SET(ret->name, node);
	PHX_STR_SET(ret->key, c->key_fp);
	if (!had || !had->key[0])
		PHX_STR_SET(ret->why, "first");
	else if (!strcmp(had->key, c->key_fp))
		PHX_STR_SET(ret->why, "again");
	else if ((ret->start = phx_start_of_token(v->pki, &start, c->token)))
		PHX_STR_SET(ret->why, "start");
	else if (signs && !phx_next_key_verify(&c->next, c->csr, node, had->key, err))
		PHX_STR_SET(ret->why, "rekey");
	else if (!signs && !c->token[0] && !strcmp(had->why, VAULT_OF_BEFORE))
		PHX_STR_SET(ret->why, "unproven");
	else
		return phx_err_set(err, -EPERM,
				   "neither a token of its start nor the key that it was given "
				   "(%.18s...) speaks for another key of %s: it has to be started "
				   "anew (phx node power)",
				   had->key, node);
	return 0;
}

static int certify(struct vault *v, const struct phx_apart_question *q, const struct claim *c,
		   const struct vault_node *row, struct phx_buf *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *pem = NULL;
	struct phx_cert_info info;
	char start[32] = "";
	if (!strcmp(row->why, "start"))
		snprintf(start, sizeof(start), " %" PRIu64, row->start);
	int r = phx_cert_issue(v->pki, c->csr, PHX_CERT_NODE, q->name, (uint32_t)q->number, &pem,
			       err);
	r = r ? r : phx_cert_info_pem(pem, q->name, &info, err);
	/* first the line: a key that is in the table is certified "again", whatever for at first */
	r = r ? r
	      : VAULT_LOGGED(v, err, "cert node %s serial %s days %u key %s why %s%s", q->name,
			     info.serial, (unsigned)q->number, info.fingerprint, row->why, start);
	r = r ? r : vault_certified_put(&v->certified, row, err);
	if (r == 0)
		vault_add_text(ret, pem);
	return r;
}

int vault_op_cert(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		  struct phx_err *err)
{
	struct claim claim;
	struct vault_node row;
	struct phx_err why = {0};
	int r = check_node(v, q->name, err);
	if (r < 0)
		return r;
	if (q->number > PHX_NODE_CERT_DAYS)
		return phx_err_set(err, -EPERM, "the certificate of a node is for %d days at most",
				   PHX_NODE_CERT_DAYS);
	r = take_claim(q, &claim, err);
	if (r < 0)
		return r;
	r = judge(v, q->name, &claim, &row, &why);
	if (r == 0)
		return certify(v, q, &claim, &row, ret, err);
	vault_log_refusal(v, "cert", q->name, why.text);
	return phx_err_set(err, r, "%s", why.text);
}

/* ---- a node that is no more ---- */

int vault_op_forget(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		    struct phx_err *err)
{
	(void)ret;
	struct vault_node row = {.why = "gone"};
	int r = check_node(v, q->name, err);
	const char *key = r == 0 ? key_of(v, q->name) : "";
	if (!key[0])
		return r;
	PHX_STR_SET(row.name, q->name);
	r = VAULT_LOGGED(v, err, "node forget %s key %s", q->name, key);
	return r ? r : vault_certified_put(&v->certified, &row, err);
}

bool vault_key_is_its(struct vault *v, const struct phx_cert_info *node)
{
	if (open_table(v, NULL) < 0)
		return false;
	const char *key = key_of(v, node->name);
	return !key[0] || !strcmp(key, node->fingerprint);
}
