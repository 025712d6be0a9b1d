/* How phxd uses the vault, which holds the keys (lib/vault). It is started before the journal is
 * opened, since the journal is signed. Called by main.c, and by any thread that needs a signature
 * or certificate. */
#include "phxd/apart.h"
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/beat.h"

#define WHAT "the process that holds the keys"

struct former {
	struct phx_pki *pki;
};

struct keys {
	struct apart_watch watch;
	struct phx_vault *vault;
	/* a certificate is sent with the CAs that are trusted at that moment */
	pthread_rwlock_t changing;
	struct phx_list former; /* struct phx_pki *: kept, as threads may be reading them */
};

struct phx_vault_config keys_config(const struct phx_config *cfg)
{
	return (struct phx_vault_config){.program = "/proc/self/exe",
					 .pki_dir = cfg->pki_dir,
					 .key_dir = cfg->key_dir,
					 .user = cfg->vault_user,
					 .log_keep = cfg->vault_log_keep};
}

int keys_new(struct daemon *d, struct keys **ret, struct phx_err *err)
{
	struct keys *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	pthread_rwlock_init(&k->changing, NULL);
	k->watch.d = d;
	k->watch.what = WHAT;
	struct phx_vault_config config = keys_config(&d->cfg);
	config.restarted = apart_restarted;
	config.arg = &k->watch;
	config.start = launch_vault;
	config.start_arg = d->launch;
	int r = phx_vault_start(&config, &k->vault, err);
	if (r < 0) {
		keys_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void keys_free(struct keys *k)
{
	if (!k)
		return;
	phx_vault_end(k->vault);
	for (uint32_t i = 0; i < k->former.n; i++)
		phx_pki_free(PHX_LIST_AT(&k->former, struct former, i)->pki);
	phx_list_fini(&k->former);
	pthread_rwlock_destroy(&k->changing);
	free(k);
}

struct phx_vault *keys_vault(struct keys *k)
{
	return k->vault;
}

static int sign_by(enum phx_vault_key which, struct keys *k, const char *text,
		   char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err)
{
	uint8_t sig[PHX_SIG_SIZE];
	_Static_assert(sizeof(sig) * 2 < PHX_ANCHOR_SIGNATURE_MAX, "a signature has room");
	int r = phx_vault_sign(k->vault, which, text, sig, err);
	if (r == 0)
		phx_hex(sig, sizeof(sig), ret);
	return r;
}

static int sign(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		struct phx_err *err)
{
	return sign_by(PHX_VAULT_SITE, arg, text, ret, err);
}

static int attest(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		  struct phx_err *err)
{
	return sign_by(PHX_VAULT_ATTEST, arg, text, ret, err);
}

static int sign_end(void *arg, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
		    char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err)
{
	struct keys *k = arg;
	uint8_t sig[PHX_SIG_SIZE];
	int r = phx_vault_sign_end(k->vault, text, ret_end, sig, err);
	if (r == 0)
		phx_hex(sig, sizeof(sig), ret);
	return r;
}

struct phx_signer keys_signer(struct keys *k)
{
	return (struct phx_signer){.sign = sign, .arg = k, .sign_end = sign_end};
}

struct phx_signer keys_attester(struct keys *k)
{
	return (struct phx_signer){.sign = attest, .arg = k};
}

/* Asks the vault for the site's present keys. */
static int ask_site(struct keys *k, struct phx_pki **ret, char **ret_complaint, struct phx_err *err)
{
	struct daemon *d = k->watch.d;
	const char *names[40] = {d->cfg.address};
	size_t n = 1;
	PHX_LIST_EACH(struct phx_word, w, &d->cfg.server_names)
		if (n < PHX_ARRAY_SIZE(names))
			names[n++] = w->text;
	return phx_vault_site(k->vault, names, n, ret, ret_complaint, err);
}

void keys_ca_said(struct daemon *d, char ret[PHX_CA_TEXT_MAX])
{
	struct phx_ca_info cas[PHX_CAS_MAX];
	int n = phx_ca_list(phx_pki_ca_pem(d->pki), "ca.pem", cas, NULL);
	ret[0] = '\0';
	for (int i = 0; i < n && !ret[0]; i++)
		phx_ca_when(&cas[i], phx_wall_ms() / 1000, ret);
}

static void tell_ca(struct daemon *d)
{
	char text[PHX_CA_TEXT_MAX];
	keys_ca_said(d, text);
	if (text[0])
		engine_notice(d->engine, "", text);
}

int keys_open(struct keys *k, struct phx_err *err)
{
	struct daemon *d = k->watch.d;
	struct phx_pki *pki = NULL;
	PHX_AUTO_FREE char *complaint = NULL;
	int r = ask_site(k, &pki, &complaint, err);
	if (r == 0) {
		d->pki = pki;
		tell_ca(d);
	}
	if (r == 0 && complaint)
		engine_notice(d->engine, "", complaint);
	return r;
}

/* ---- certificates, and the change of the CA ---- */

int keys_certify(struct keys *k, const struct phx_cert_ask *ask, char **ret_cert, char **ret_ca,
		 struct phx_err *err)
{
	PHX_AUTO_FREE char *cert = NULL, *ca = NULL;
	pthread_rwlock_rdlock(&k->changing);
	int r = phx_vault_cert(k->vault, ask, &cert, err);
	if (r == 0 && !(ca = strdup(phx_pki_ca_pem(k->watch.d->pki))))
		r = -ENOMEM;
	pthread_rwlock_unlock(&k->changing);
	if (r == 0) {
		*ret_cert = PHX_TAKE(cert);
		*ret_ca = PHX_TAKE(ca);
	}
	return r;
}

void keys_start_token(struct keys *k, const char *node, uint64_t start,
		      char ret[PHX_START_TOKEN_MAX])
{
	struct phx_err err = {0};
	if (phx_vault_start_token(k->vault, node, start, ret, &err) < 0)
		fprintf(stderr, "phxd: the token of a start of %s: %s\n", node, err.text);
}

uint64_t keys_start_shown(struct keys *k, const char *node, const char *token)
{
	uint64_t start = phx_start_said(token);
	return start && node[0] && !phx_vault_start_shown(k->vault, node, token, NULL) ? start : 0;
}

void keys_forget(struct keys *k, const char *node)
{
	struct phx_err err = {0};
	if (phx_vault_forget(k->vault, node, &err) < 0)
		fprintf(stderr, "phxd: the key of %s is not forgotten: %s\n", node, err.text);
}

void keys_orders_put(struct keys *k, const struct phx_list *running, struct phx_buf *b)
{
	const struct beat_running *has = beat_running_of(running, PHX_ORDER_ca);
	uint64_t number = has ? phx_pki_ca_number(k->watch.d->pki) : 0;
	if (!has || (uint64_t)has->id == number)
		return;
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:I}", "kind", phx_order_name(PHX_ORDER_ca), "id",
					    (json_int_t)number);
	phx_json_put_item(b);
	phx_json_put_tree(b, j);
}

/* Makes all that serves use `pki`; with `changing` held. */
static int serve_with(struct keys *k, struct phx_pki *pki, struct phx_err *err)
{
	struct daemon *d = k->watch.d;
	struct former *to = phx_list_push(&k->former, sizeof(*to));
	int r = to ? phx_http_server_renew(d->http, pki, err) : -ENOMEM;
	if (r < 0) {
		if (to)
			k->former.n--;
		phx_pki_free(pki);
		return r;
	}
	to->pki = d->pki;
	d->pki = pki;
	return 0;
}

static bool same_cas(const struct phx_pki *a, const struct phx_pki *b)
{
	return phx_pki_ca_number(a) == phx_pki_ca_number(b);
}

/* After an error: the vault may have made the change and ended before it answered, so what it has
 * now counts. 0: the CA is changed. */
static int take_what_is(struct keys *k, int r, struct phx_err *err)
{
	struct phx_pki *pki = NULL;
	PHX_AUTO_FREE char *complaint = NULL;
	struct phx_err why = {0};
	if (ask_site(k, &pki, &complaint, &why) < 0) {
		fprintf(stderr, "phxd: the change of the CA: %s\n", why.text);
		return r;
	}
	if (same_cas(pki, k->watch.d->pki)) {
		phx_pki_free(pki);
		return r;
	}
	phx_err_clear(err);
	return serve_with(k, pki, err);
}

int keys_change_ca(struct keys *k, enum phx_vault_change change, struct phx_err *err)
{
	struct phx_pki *pki = NULL;
	pthread_rwlock_wrlock(&k->changing);
	int r = phx_vault_change_ca(k->vault, change, &pki, err);
	r = r ? take_what_is(k, r, err) : serve_with(k, pki, err);
	pthread_rwlock_unlock(&k->changing);
	return r;
}

int keys_tick(struct keys *k)
{
	return apart_tick(&k->watch, phx_vault_pid(k->vault));
}
