/* What the TLS listener shows and whom it believes, as it is now: the head's certificate is asked
 * for at each handshake, since it is another one after the site's CA was changed
 * (phx_http_server_renew()). Called by server.c, by libmicrohttpd's threads within GnuTLS, and by
 * peer.c. */
#include "http/internal.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <string.h>

#include "pki/tls_key.h"

struct phx_http_credential {
	const struct phx_pki *pki; /* borrowed */
	gnutls_pcert_st cert;
	gnutls_privkey_t key; /* signs with `own` */
	struct phx_tls_key *own;
	struct phx_http_credential *former; /* handshakes may be using it */
};

static void credential_free(struct phx_http_credential *c)
{
	gnutls_pcert_deinit(&c->cert);
	gnutls_privkey_deinit(c->key);
	phx_tls_key_free(c->own);
	free(c);
}

/* ---- the key: GnuTLS asks, and has none of its bytes ---- */

static int sign(gnutls_privkey_t key, gnutls_sign_algorithm_t how, void *credential, unsigned flags,
		const gnutls_datum_t *data, gnutls_datum_t *ret)
{
	const struct phx_http_credential *c = credential;
	uint8_t signature[PHX_TLS_SIGNATURE_MAX];
	(void)key, (void)how, (void)flags;
	int n = phx_tls_key_sign(c->own, data->data, data->size, signature);
	ret->data = n > 0 ? gnutls_malloc((size_t)n) : NULL;
	if (!ret->data)
		return GNUTLS_E_PK_SIGN_FAILED;
	memcpy(ret->data, signature, (size_t)n);
	ret->size = (unsigned)n;
	return 0;
}

static int say_what_it_is(gnutls_privkey_t key, unsigned asked, void *credential)
{
	const struct phx_http_credential *c = credential;
	unsigned bits = 0;
	(void)key;
	int kind = gnutls_pubkey_get_pk_algorithm(c->cert.pubkey, &bits);
	if (asked & GNUTLS_PRIVKEY_INFO_PK_ALGO)
		return kind;
	if (asked & GNUTLS_PRIVKEY_INFO_PK_ALGO_BITS)
		return (int)bits;
	if (asked & GNUTLS_PRIVKEY_INFO_HAVE_SIGN_ALGO)
		return gnutls_sign_supports_pk_algorithm(GNUTLS_FLAGS_TO_SIGN_ALGO(asked),
							 (gnutls_pk_algorithm_t)kind) != 0;
	return -1;
}

static int take_key(struct phx_http_credential *c)
{
	int r = phx_tls_key_new(c->pki, &c->own);
	if (r < 0)
		return r;
	return gnutls_privkey_import_ext4(c->key, c, sign, sign, NULL, NULL, say_what_it_is, 0) < 0
		? -EINVAL
		: 0;
}

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static int credential_new(const struct phx_pki *pki, struct phx_http_credential **ret)
{
	struct phx_http_credential *c = calloc(1, sizeof(*c));
	gnutls_datum_t cert = datum(phx_pki_server_pem(pki));
	if (!c || gnutls_privkey_init(&c->key) < 0) {
		free(c);
		return -ENOMEM;
	}
	c->pki = pki;
	int r = gnutls_pcert_import_x509_raw(&c->cert, &cert, GNUTLS_X509_FMT_PEM, 0) < 0
		? -EINVAL
		: take_key(c);
	if (r < 0)
		credential_free(c);
	else
		*ret = c;
	return r;
}

int phx_http_server_renew(struct phx_http_server *s, const struct phx_pki *pki, struct phx_err *err)
{
	struct phx_http_credential *c = NULL;
	int r = pki && phx_pki_server_pem(pki) ? credential_new(pki, &c) : -EINVAL;
	if (r < 0)
		return phx_err_set(err, r, "the TLS listener needs a server certificate");
	pthread_mutex_lock(&s->lock);
	c->former = atomic_load(&s->credential);
	atomic_store(&s->credential, c);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

void phx_http_credential_free(struct phx_http_server *s)
{
	struct phx_http_credential *c = atomic_load(&s->credential), *former;
	for (; c; c = former) {
		former = c->former;
		credential_free(c);
	}
}

/* GnuTLS hands out no argument of ours but the session's, which is libmicrohttpd's. */
int phx_http_credential_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities,
				 int n_authorities, const gnutls_pk_algorithm_t *algorithms,
				 int n_algorithms, gnutls_pcert_st **ret_certs, unsigned *ret_n,
				 gnutls_privkey_t *ret_key)
{
	(void)authorities, (void)n_authorities, (void)algorithms, (void)n_algorithms;
	struct MHD_Connection *mhd = gnutls_session_get_ptr(session);
	const union MHD_ConnectionInfo *info =
		mhd ? MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT) : NULL;
	const struct phx_http_connection *c = info ? info->socket_context : NULL;
	struct phx_http_credential *its = c ? atomic_load(&c->listener->server->credential) : NULL;
	if (!its)
		return -1;
	*ret_certs = &its->cert;
	*ret_n = 1;
	*ret_key = its->key;
	return 0;
}

int phx_http_credential_check(const struct phx_http_server *s, const gnutls_datum_t *cert,
			      struct phx_cert_info *ret)
{
	const struct phx_http_credential *c = atomic_load(&s->credential);
	return phx_pki_believe(c->pki, cert->data, cert->size, ret, NULL);
}

int phx_http_credential_undated(const struct phx_http_server *s, const gnutls_datum_t *cert,
				struct phx_cert_info *ret, struct phx_err *err)
{
	const struct phx_http_credential *c = atomic_load(&s->credential);
	return phx_pki_undated(c->pki, cert->data, cert->size, ret, err);
}
