/* The vault's questions: ops.def. Each takes a millisecond at most, but the first, which makes
 * keys. Whoever asks is the head, and the head may have been taken over: what is signed is looked
 * at first. Called by serve.c. */
#include "vault/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "pki/attestation.h"

enum { NAMES_MAX = 64 };

/* ---- the site ---- */

/* As its directory is now. */
static int open_site(struct vault *v, struct phx_err *err)
{
	const char *names[NAMES_MAX];
	size_t n_names = 0;
	for (size_t at = 0; at < v->names.n && n_names < NAMES_MAX;) {
		names[n_names] = v->names.data + at;
		at += strlen(names[n_names++]) + 1;
	}
	struct phx_pki *pki = NULL;
	int r = phx_pki_open(v->config->pki_dir, names, n_names, &pki, err);
	if (r < 0)
		return r;
	phx_pki_free(v->pki);
	v->pki = pki;
	return 0;
}

static void give_site(struct vault *v, struct phx_buf *ret)
{
	const struct phx_pki *pki = v->pki;
	vault_add_text(ret, phx_pki_ca_pem(pki));
	vault_add_text(ret, phx_pki_server_pem(pki));
	vault_add_text(ret, phx_pki_server_key_pem(pki));
	vault_add_text(ret, phx_pki_site_pub_pem(pki));
	vault_add_text(ret, phx_pki_attest_pub_pem(pki));
	vault_add_text(ret, v->complaint);
}

static int op_site(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		   struct phx_err *err)
{
	phx_buf_fini(&v->names);
	phx_buf_add(&v->names, q->body, q->n);
	int r = v->names.failed ? -ENOMEM : open_site(v, err);
	r = r ? r : VAULT_LOGGED(v, err, "begun");
	if (r == 0)
		give_site(v, ret);
	return r;
}

/* ---- the change of the CA ---- */

/* It is logged where it was done: what cannot be logged is done all the same, and said. */
static int change_ca(struct vault *v, int (*change)(const char *dir, struct phx_err *err),
		     const char *what, struct phx_buf *ret, struct phx_err *err)
{
	int r = vault_need_site(v, err);
	r = r ? r : change(v->config->pki_dir, err);
	r = r ? r : open_site(v, err);
	r = r ? r : VAULT_LOGGED(v, err, "ca %s signs %s", what, phx_pki_ca_id(v->pki));
	if (r == 0)
		give_site(v, ret);
	return r;
}

static int op_rotate(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		     struct phx_err *err)
{
	(void)q;
	return change_ca(v, phx_pki_rotate, "rotate", ret, err);
}

static int op_retire(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		     struct phx_err *err)
{
	(void)q;
	return change_ca(v, phx_pki_retire, "retire", ret, err);
}

/* What people were issued here, and by which CA: a list as JSON. */
static int op_people(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		     struct phx_err *err)
{
	(void)q;
	PHX_AUTO(phx_list_fini) struct phx_list people = {0};
	int r = vault_need_site(v, err);
	r = r ? r : phx_pki_people(v->config->pki_dir, v->pki, &people, err);
	PHX_AUTO_FREE char *text = r ? NULL : phx_json_list_text(&phx_issued_record, &people);
	if (r == 0 && !text)
		return -ENOMEM;
	if (r == 0)
		vault_add_text(ret, text);
	return r;
}

/* What the head may have signed begins like this, and nothing else does: a package's text is
 * another. */
struct signed_text {
	const char *begins, *kind;
};
static const struct signed_text of_site[] = {
	{"{\"", "erasure"},
	{"phoenix anchor journal ", "anchor"},
	{"phoenix forgotten journal ", "forgotten"},
	{"phoenix begun journal ", "begun"},
	{"phoenix accepted journal ", "accepted"},
};
static const struct signed_text of_attest[] = {{"{\"format\":", "attestation"}};

/* What stands behind a '\0' would be signed and not looked at. */
static const char *kind_of_text(const struct signed_text *kinds, size_t n,
				const struct phx_apart_question *q)
{
	if (strlen(q->body) != q->n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (phx_str_starts(q->body, kinds[i].begins))
			return kinds[i].kind;
	return NULL;
}

static int sign_by(struct vault *v, const char *key, const char *kind, const char *text,
		   struct phx_buf *ret, struct phx_err *err)
{
	char path[1100], digest[PHX_SHA256_HEX];
	uint8_t sig[PHX_SIG_SIZE];
	if (!kind)
		return phx_err_set(err, -EPERM,
				   "the vault signs erases and lines about the journal, no other "
				   "text");
	snprintf(path, sizeof(path), "%s/%s", v->config->pki_dir, key);
	int r = phx_sign(path, text, strlen(text), sig, err);
	r = r ? r : phx_sha256_of(text, strlen(text), digest);
	r = r ? r : VAULT_LOGGED(v, err, "sign %s sha256 %s", kind, digest);
	if (r == 0)
		phx_buf_add(ret, sig, sizeof(sig));
	return r;
}

/* An anchor of the journal says how far this log is, too, which no head may say. */
static int sign_end(struct vault *v, const char *text, struct phx_buf *ret, struct phx_err *err)
{
	char end[PHX_ANCHOR_END_MAX];
	PHX_AUTO(phx_buf_fini) struct phx_buf whole = {0};
	int r = vault_open_log(v, err);
	if (r < 0)
		return r;
	phx_anchor_end(v->log.n_lines, v->log.hash, end);
	phx_buf_add(&whole, text, strlen(text));
	phx_buf_add(&whole, end, strlen(end) + 1);
	r = whole.failed ? -ENOMEM : sign_by(v, "site.key", "anchor", whole.data, ret, err);
	if (r == 0)
		vault_add_text(ret, end);
	return r;
}

static int op_sign(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		   struct phx_err *err)
{
	const char *kind = kind_of_text(of_site, PHX_ARRAY_SIZE(of_site), q);
	bool anchor = kind && !strcmp(kind, "anchor");
	if (anchor && strstr(q->body, PHX_ANCHOR_END))
		kind = NULL;
	if (kind && anchor && q->number == VAULT_WITH_END)
		return sign_end(v, q->body, ret, err);
	return sign_by(v, "site.key", kind, q->body, ret, err);
}

/* The head makes the document, and the key that it says is a node's need not be one: the document
 * shows the certificates, and here is the CA. */
static int op_attest(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		     struct phx_err *err)
{
	const char *kind = kind_of_text(of_attest, PHX_ARRAY_SIZE(of_attest), q);
	struct phx_err why = {0};
	int r = kind ? vault_need_site(v, err) : 0;
	if (r < 0)
		return r;
	if (kind)
		r = phx_attestation_check(q->body, phx_pki_ca_pem(v->pki), &why);
	if (r < 0) {
		vault_log_refusal(v, "attestation", "", why.text);
		return phx_err_set(err, r == -ENOMEM ? r : -EPERM,
				   "the vault does not sign the attestation: %s", why.text);
	}
	return sign_by(v, "attest.key", kind, q->body, ret, err);
}

/* ---- keys of disks ---- */

static int op_key_make(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		       struct phx_err *err)
{
	(void)ret;
	int r = phx_diskkey_make(v->config->key_dir, q->name, err);
	return r ? r : VAULT_LOGGED(v, err, "key make %s", q->name);
}

static int take_ask(const struct phx_apart_question *q, struct phx_key_ask *ret,
		    struct phx_err *err)
{
	const char *boot = vault_text_at(q->body, q->n, 0), *to = vault_text_at(q->body, q->n, 1),
		   *signature = vault_text_at(q->body, q->n, 2),
		   *cert = vault_text_at(q->body, q->n, 3);
	if (!cert || PHX_STR_SET(ret->boot_id, boot) < 0 || PHX_STR_SET(ret->to, to) < 0 ||
	    PHX_STR_SET(ret->signature, signature) < 0)
		return phx_err_set(err, -EINVAL, "that does not ask for the key of a disk");
	ret->cert = (char *)cert;
	return 0;
}

/* Who asks is a node, of whose disk it is: the head is not believed. */
static int may_have(struct vault *v, const char *key_id, const struct phx_key_ask *ask,
		    struct phx_cert_info *ret_node, struct phx_err *err)
{
	if (!v->pki)
		return phx_err_set(err, -ENODATA, "the vault was not told to open the site's keys");
	int r = phx_key_ask_verify(ask, key_id, phx_pki_ca_pem(v->pki), ret_node, err);
	if (r == 0 && !vault_key_is_of(key_id, ret_node->name))
		r = phx_err_set(err, -EPERM, "it is not the key of a disk of %s", ret_node->name);
	if (r == 0 && !vault_key_is_its(v, ret_node))
		r = phx_err_set(err, -EPERM, "%s was given another key since", ret_node->name);
	return r;
}

static int give(struct vault *v, const char *key_id, const struct phx_key_ask *ask,
		const struct phx_cert_info *node, struct phx_key_sealed *ret, struct phx_err *err)
{
	uint8_t key[PHX_DISK_KEY_SIZE];
	unsigned times = 0;
	int r = phx_diskkey_read(v->config->key_dir, key_id, key, err);
	r = r ? r : vault_note_given(v, key_id, ask->boot_id, &times, err);
	r = r ? r
	      : VAULT_LOGGED(v, err, "key give %s boot %s time %u to %s", key_id, ask->boot_id,
			     times, node->fingerprint);
	r = r ? r : phx_key_seal(ask, key_id, key, ret, err);
	explicit_bzero(key, sizeof(key));
	return r;
}

static int op_key_give(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		       struct phx_err *err)
{
	struct phx_key_ask ask = {0};
	struct phx_key_sealed sealed = {0};
	struct phx_cert_info node;
	struct phx_err why = {0};
	int r = take_ask(q, &ask, &why);
	r = r ? r : may_have(v, q->name, &ask, &node, &why);
	r = r ? r : give(v, q->name, &ask, &node, &sealed, &why);
	if (r == 0)
		phx_buf_add(ret, &sealed, sizeof(sealed));
	else if (r != -ENOENT) /* a key that there is not is no refusal */
		vault_log_refusal(v, "key", phx_name_valid(q->name) ? q->name : "-", why.text);
	return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}

/* What destroys is done even where it cannot be logged: a key that stays is the greater harm. */
static int op_key_destroy(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
			  struct phx_err *err)
{
	(void)ret;
	vault_forget_given(v, q->name);
	int r = phx_diskkey_destroy(v->config->key_dir, q->name, err);
	if (r == 0)
		VAULT_LOGGED(v, NULL, "key destroy %s", q->name);
	return r;
}

/* ---- any question ---- */

typedef int (*op_fn)(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		     struct phx_err *err);
static const op_fn ops[] = {
#define OP(name, function) [VAULT_##name] = function,
#include "vault/ops.def"
#undef OP
};

int vault_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		 struct phx_err *err)
{
	if (q->op >= PHX_ARRAY_SIZE(ops))
		return phx_err_set(err, -ENOSYS, "the vault has no such question");
	return ops[q->op](arg, q, &ret->body, err);
}

void vault_fini(struct vault *v)
{
	phx_pki_free(v->pki);
	phx_buf_fini(&v->names);
	if (v->tabled)
		vault_certified_fini(&v->certified);
	if (v->logging && v->log.fd >= 0)
		close(v->log.fd);
	free(v->complaint);
	*v = (struct vault){0};
}
