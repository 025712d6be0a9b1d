/* The site's PKI in one directory: CA, server certificate, signing key. Opened by the daemon
 * at its start and by the setup command; keys are made once and never replaced by this code, but
 * for the CA's, which people change (ca.c): a lost or foreign key is an error for people to look
 * at. */
#include "pki/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/file.h"

#define SERVER_DAYS 3650u
#define RENEW_SECONDS (30 * 86400)
#define SERVER_NAMES_MAX 64

/* A key that signs, NAME.key, and its public half, NAME.pub. */
static int open_sign_key(const char *dir, const char *name, char **ret_pub_pem, struct phx_err *err)
{
	char private[32], public[32];
	PHX_AUTO_FREE char *had = NULL;
	PHX_AUTO_FREE char *pem = NULL;
	PHX_AUTO_KEY EVP_PKEY *key = NULL;
	snprintf(private, sizeof(private), "%s.key", name);
	snprintf(public, sizeof(public), "%s.pub", name);
	int missing = phx_pki_read_pem(dir, public, &had, err);
	if (missing < 0)
		return missing;
	int r = phx_pki_open_key(dir, private, missing ? "ED25519" : NULL, &key, err);
	if (r < 0)
		return r;
	PHX_AUTO_BIO BIO *bio = BIO_new(BIO_s_mem());
	if (bio && PEM_write_bio_PUBKEY(bio, key))
		pem = phx_pki_bio_text(bio);
	if (!pem)
		return phx_pki_fail(err, -EIO, "%s/%s: cannot be made", dir, public);
	if (!missing && strcmp(had, pem))
		return phx_err_set(err, -EINVAL, "%s: %s and %s do not belong together", dir,
				   public, private);
	r = missing ? phx_pki_write_pem(dir, public, pem, 0644, err) : 0;
	if (r == 0)
		*ret_pub_pem = PHX_TAKE(pem);
	return r;
}

/* A lost one costs the machines that are being started another start, and nothing else. */
static int open_start_key(const char *dir, struct phx_pki *p, struct phx_err *err)
{
	struct phx_err why = {0};
	int r = phx_diskkey_make(dir, "start.key", &why);
	if (r == 0 || r == -EEXIST)
		return phx_diskkey_read(dir, "start.key", p->start_key, err);
	return phx_err_set(err, r, "%s", why.text);
}

/* ---- the server's certificate ---- */

/* "IP:10.77.0.1,DNS:head": only what cannot be mistaken for more of the notation. */
static int format_san(const char *const *names, size_t n_names, char **ret_san, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	if (n_names > SERVER_NAMES_MAX)
		return phx_err_set(err, -E2BIG, "%zu names for the server; at most %d", n_names,
				   SERVER_NAMES_MAX);
	for (size_t i = 0; i < n_names; i++) {
		bool address = phx_address_valid(names[i]);
		if (!address &&
		    (strlen(names[i]) > 253 || !names[i][0] ||
		     strspn(names[i],
			    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") !=
			     strlen(names[i])))
			return phx_err_set(err, -EINVAL,
					   "'%s' is neither an IP address nor a DNS name",
					   names[i]);
		phx_buf_addf(&b, "%s%s:%s", i ? "," : "", address ? "IP" : "DNS", names[i]);
	}
	char *san = phx_buf_take(&b);
	if (!san)
		return -ENOMEM;
	*ret_san = san;
	return 0;
}

static bool has_name(X509 *x, const char *name)
{
	return phx_address_valid(name) ? X509_check_ip_asc(x, name, 0) == 1
				       : X509_check_host(x, name, 0, 0, NULL) == 1;
}

/* Does the certificate say exactly these names? */
static bool same_names(X509 *x, const char *const *names, size_t n_names)
{
	GENERAL_NAMES *san = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	int n = sk_GENERAL_NAME_num(san);
	GENERAL_NAMES_free(san);
	if (n < 0 || (size_t)n != n_names)
		return false;
	for (size_t i = 0; i < n_names; i++)
		if (!has_name(x, names[i]))
			return false;
	return true;
}

static bool server_cert_good(const struct phx_pki *p, X509 *x, EVP_PKEY *key,
			     const char *const *names, size_t n_names)
{
	time_t soon = (time_t)(phx_wall_ms() / 1000) + RENEW_SECONDS;
	return X509_check_private_key(x, key) == 1 &&
		X509_verify(x, X509_get0_pubkey(phx_pki_server_ca(p))) == 1 &&
		X509_cmp_time(X509_get0_notAfter(x), &soon) > 0 && same_names(x, names, n_names);
}

static int issue_server(const char *dir, struct phx_pki *p, EVP_PKEY *key, const char *san,
			struct phx_err *err)
{
	PHX_AUTO_KEY EVP_PKEY *issuer_key = NULL;
	int r = phx_pki_server_issuer(dir, p, &issuer_key, err);
	if (r < 0)
		return r;
	struct phx_cert_spec spec = {
		.subject_key = key,
		.issuer = phx_pki_server_ca(p),
		.issuer_key = issuer_key,
		.unit = phx_enum_name(&phx_cert_kind_names, PHX_CERT_SERVER),
		.name = "phxd",
		.usage = "serverAuth",
		.san = san,
		.days = SERVER_DAYS,
	};
	PHX_AUTO_CERT X509 *x = phx_cert_make(&spec, err);
	free(p->server_pem);
	p->server_pem = x ? phx_cert_pem(x) : NULL;
	return p->server_pem ? phx_pki_write_pem(dir, "server.pem", p->server_pem, 0644, err)
			     : -EIO;
}

static int open_server(const char *dir, const char *const *names, size_t n_names, struct phx_pki *p,
		       struct phx_err *err)
{
	PHX_AUTO_KEY EVP_PKEY *key = NULL;
	PHX_AUTO_FREE char *san = NULL;
	int r = format_san(names, n_names, &san, err);
	if (r == 0)
		r = phx_pki_open_key(dir, "server.key", PHX_TLS_KEY_TYPE, &key, err);
	if (r < 0)
		return r;
	char *pem = phx_pki_key_pem(key);
	p->server_key_pem = pem ? phx_pki_keep_key(pem) : NULL;
	phx_pki_wipe_free(pem);
	if (!p->server_key_pem)
		return phx_pki_fail(err, -ENOMEM, "%s/server.key: cannot be read", dir);
	r = phx_pki_read_pem(dir, "server.pem", &p->server_pem, err);
	if (r < 0)
		return r;
	/* Anybody can replace this file's contents by issuing again: a broken one is no error. */
	PHX_AUTO_CERT X509 *x = r == 0 ? phx_cert_parse(p->server_pem, "server.pem", NULL) : NULL;
	if (x && server_cert_good(p, x, key, names, n_names))
		return 0;
	return issue_server(dir, p, key, san, err);
}

int phx_pki_open(const char *dir, const char *const *server_names, size_t n_names,
		 struct phx_pki **ret, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = phx_pki_lock(dir, err);
	if (fd < 0)
		return fd;
	PHX_AUTO_PKI struct phx_pki *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	int r = phx_pki_open_cas(dir, p, err);
	if (r == 0)
		r = open_sign_key(dir, "site", &p->site_pub_pem, err);
	if (r == 0)
		r = open_sign_key(dir, "attest", &p->attest_pub_pem, err);
	if (r == 0)
		r = open_start_key(dir, p, err);
	if (r == 0 && n_names > 0)
		r = open_server(dir, server_names, n_names, p, err);
	if (r == 0)
		*ret = PHX_TAKE(p);
	return r;
}
