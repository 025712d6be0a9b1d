/* The vault's questions: ops.def. Each takes a millisecond at most, but the first, which makes
 * keys. Whoever asks is the head, and the head may have been taken over: what is signed is looked
 * at first. Called by serve.c. */
#include "vault/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The journal is opened, and says where it begins, before the site is: the log with the first
 * thing that is logged. */
#define LOGGED(v, err, ...) (open_log(v, err) ?: vault_log_add(&(v)->log, err, __VA_ARGS__))

enum { NAMES_MAX = 64 };

static int open_log(struct vault *v, struct phx_err *err)
{
	int r = v->logging ? 0 : vault_log_open(&v->log, v->config->pki_dir, &v->complaint, err);
	v->logging = r == 0;
	return r;
}

/* ---- the site ---- */

/* Texts in a row, each with its '\0'. */
static void add_text(struct phx_buf *b, const char *text)
{
	text = text ? text : "";
	phx_buf_add(b, text, strlen(text) + 1);
}

static int op_site(struct vault *v, const struct vault_message *q, const char *body,
		   struct phx_buf *ret, struct phx_err *err)
{
	const char *names[NAMES_MAX];
	size_t n_names = 0;
	for (const char *at = body; at < body + q->n && n_names < NAMES_MAX; at += strlen(at) + 1)
		names[n_names++] = at;
	char start_key[2 * PHX_DISK_KEY_SIZE + 1];
	struct phx_pki *pki = NULL;
	int r = phx_pki_open(v->config->pki_dir, names, n_names, &pki, err);
	r = r ? r : LOGGED(v, err, "begun");
	if (r < 0) {
		phx_pki_free(pki);
		return r;
	}
	phx_pki_free(v->pki);
	v->pki = pki;
	phx_hex(phx_pki_start_key(pki), PHX_DISK_KEY_SIZE, start_key);
	add_text(ret, phx_pki_ca_pem(pki));
	add_text(ret, phx_pki_server_pem(pki));
	add_text(ret, phx_pki_server_key_pem(pki));
	add_text(ret, phx_pki_site_pub_pem(pki));
	add_text(ret, phx_pki_attest_pub_pem(pki));
	add_text(ret, start_key);
	add_text(ret, v->complaint);
	explicit_bzero(start_key, sizeof(start_key));
	return 0;
}

static int op_cert(struct vault *v, const struct vault_message *q, const char *body,
		   struct phx_buf *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *pem = NULL;
	struct phx_cert_info info;
	if (!v->pki)
		return phx_err_set(err, -ENODATA, "the vault was not told to open the site's keys");
	if (q->days > PHX_NODE_CERT_DAYS)
		return phx_err_set(err, -EPERM, "the certificate of a node is for %d days at most",
				   PHX_NODE_CERT_DAYS);
	int r = phx_cert_issue(v->pki, body, PHX_CERT_NODE, q->name, q->days, &pem, err);
	r = r ? r : phx_cert_info_pem(pem, q->name, &info, err);
	r = r ? r
	      : LOGGED(v, err, "cert node %s serial %s days %u key %s", q->name, info.serial,
		       q->days, info.fingerprint);
	if (r == 0)
		add_text(ret, pem);
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

static const char *kind_of_text(const struct signed_text *kinds, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (phx_str_starts(text, kinds[i].begins))
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
	r = r ? r : LOGGED(v, err, "sign %s sha256 %s", kind, digest);
	if (r == 0)
		phx_buf_add(ret, sig, sizeof(sig));
	return r;
}

/* What stands behind a '\0' would be signed and not looked at. */
static int op_sign(struct vault *v, const struct vault_message *q, const char *body,
		   struct phx_buf *ret, struct phx_err *err)
{
	const char *kind =
		strlen(body) == q->n ? kind_of_text(of_site, PHX_ARRAY_SIZE(of_site), body) : NULL;
	return sign_by(v, "site.key", kind, body, ret, err);
}

static int op_attest(struct vault *v, const struct vault_message *q, const char *body,
		     struct phx_buf *ret, struct phx_err *err)
{
	const char *kind = strlen(body) == q->n
		? kind_of_text(of_attest, PHX_ARRAY_SIZE(of_attest), body)
		: NULL;
	return sign_by(v, "attest.key", kind, body, ret, err);
}

/* ---- keys of disks ---- */

static int op_key_make(struct vault *v, const struct vault_message *q, const char *body,
		       struct phx_buf *ret, struct phx_err *err)
{
	(void)body;
	(void)ret;
	int r = phx_diskkey_make(v->config->key_dir, q->name, err);
	return r ? r : LOGGED(v, err, "key make %s", q->name);
}

static int op_key_read(struct vault *v, const struct vault_message *q, const char *body,
		       struct phx_buf *ret, struct phx_err *err)
{
	uint8_t key[PHX_DISK_KEY_SIZE];
	(void)body;
	int r = phx_diskkey_read(v->config->key_dir, q->name, key, err);
	r = r ? r : LOGGED(v, err, "key give %s", q->name);
	if (r == 0)
		phx_buf_add(ret, key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	return r;
}

/* What destroys is done even where it cannot be logged: a key that stays is the greater harm. */
static int op_key_destroy(struct vault *v, const struct vault_message *q, const char *body,
			  struct phx_buf *ret, struct phx_err *err)
{
	(void)body;
	(void)ret;
	int r = phx_diskkey_destroy(v->config->key_dir, q->name, err);
	if (r == 0)
		LOGGED(v, NULL, "key destroy %s", q->name);
	return r;
}

/* ---- any question ---- */

typedef int (*op_fn)(struct vault *v, const struct vault_message *q, const char *body,
		     struct phx_buf *ret, struct phx_err *err);
static const op_fn ops[] = {
#define OP(name, function) [VAULT_##name] = function,
#include "vault/ops.def"
#undef OP
};

void vault_answer(struct vault *v, const struct vault_message *q, const char *body,
		  struct vault_message *ret, struct phx_buf *ret_body)
{
	struct phx_err err = {0};
	int r = q->op < PHX_ARRAY_SIZE(ops) ? ops[q->op](v, q, body, ret_body, &err) : -ENOSYS;
	if (r == 0 && ret_body->failed)
		r = -ENOMEM;
	if (r < 0) {
		phx_buf_fini(ret_body);
		add_text(ret_body, err.text[0] ? err.text : strerror(-r));
	}
	*ret = (struct vault_message){.op = q->op, .result = r, .n = (uint32_t)ret_body->n};
}

void vault_fini(struct vault *v)
{
	phx_pki_free(v->pki);
	if (v->logging && v->log.fd >= 0)
		close(v->log.fd);
	free(v->complaint);
	*v = (struct vault){0};
}
