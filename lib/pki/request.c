/* Certificate requests, and certificates that answer them. Called by the agent
 * and the CLI (requests), and by the daemon (issuing); opens no file. */
#include "pki/internal.h"

#include <errno.h>
#include <string.h>

#include <openssl/pem.h>

#include "base/clock.h"

#define CERT_DAYS_MAX 36500u

static int make_request(EVP_PKEY *key, const char *name, char **ret_pem, struct phx_err *err)
{
	PHX_AUTO_REQ X509_REQ *req = X509_REQ_new();
	PHX_AUTO_BIO BIO *bio = BIO_new(BIO_s_mem());
	bool ok = req && bio && X509_REQ_set_version(req, X509_REQ_VERSION_1) &&
		phx_cert_set_subject(X509_REQ_get_subject_name(req), NULL, name) &&
		X509_REQ_set_pubkey(req, key) &&
		X509_REQ_sign(req, key, phx_pki_digest_of(key)) > 0 &&
		PEM_write_bio_X509_REQ(bio, req);
	char *pem = ok ? phx_pki_bio_text(bio) : NULL;
	if (!pem)
		return phx_pki_fail(err, -EINVAL, "cannot make a certificate request for '%s'",
				    name);
	*ret_pem = pem;
	return 0;
}

static int check_name(const char *name, struct phx_err *err)
{
	if (phx_name_valid(name))
		return 0;
	return phx_err_set(err, -EINVAL,
			   "'%s' is not a name: letters, digits, '-', '_', '.', at most %d, "
			   "beginning with a letter or digit",
			   name ? name : "", PHX_NAME_MAX - 1);
}

int phx_csr_make(const char *name, char **ret_key_pem, char **ret_csr_pem, struct phx_err *err)
{
	int r = check_name(name, err);
	if (r < 0)
		return r;
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_key_new(PHX_TLS_KEY_TYPE, err);
	if (!key)
		return -EIO;
	PHX_AUTO_SECRET char *key_pem = phx_pki_key_pem(key);
	if (!key_pem)
		return phx_pki_fail(err, -ENOMEM, "cannot write the key of '%s'", name);
	r = make_request(key, name, ret_csr_pem, err);
	if (r == 0)
		*ret_key_pem = PHX_TAKE(key_pem);
	return r;
}

int phx_csr_from_key(const char *key_pem, const char *name, char **ret_csr_pem, struct phx_err *err)
{
	int r = check_name(name, err);
	if (r < 0)
		return r;
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_key_parse(key_pem, "key", err);
	return key ? make_request(key, name, ret_csr_pem, err) : -EINVAL;
}

/* Peers choose the key: neither one that is weak nor one that costs us seconds. */
static int check_key(EVP_PKEY *key, struct phx_err *err)
{
	if (!key)
		return phx_pki_fail(err, -EINVAL, "certificate request: no usable key");
	bool known = EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "EC") ||
		EVP_PKEY_is_a(key, "RSA");
	if (!known || EVP_PKEY_get_security_bits(key) < 112 || EVP_PKEY_get_bits(key) > 4096)
		return phx_err_set(err, -EINVAL,
				   "certificate request: key refused; use P-256, Ed25519, or RSA "
				   "of 2048 to 4096 bits");
	return 0;
}

/* The request, its self-signature proven; NULL with a text otherwise. */
static X509_REQ *parse_request(const char *pem, struct phx_err *err)
{
	if (!pem || strnlen(pem, PHX_PEM_MAX) == PHX_PEM_MAX) {
		phx_err_set(err, -EINVAL, "certificate request: missing or larger than %d bytes",
			    PHX_PEM_MAX);
		return NULL;
	}
	PHX_AUTO_BIO BIO *bio = BIO_new_mem_buf(pem, -1);
	PHX_AUTO_REQ X509_REQ *req = bio ? PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL) : NULL;
	if (!req) {
		phx_pki_fail(err, -EINVAL, "certificate request: not in PEM");
		return NULL;
	}
	EVP_PKEY *key = X509_REQ_get0_pubkey(req);
	if (check_key(key, err) < 0)
		return NULL;
	if (X509_REQ_verify(req, key) != 1) {
		phx_pki_fail(err, -EINVAL, "certificate request: its signature is wrong");
		return NULL;
	}
	return PHX_TAKE(req);
}

int phx_csr_fingerprint(const char *csr_pem, char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err)
{
	PHX_AUTO_REQ X509_REQ *req = parse_request(csr_pem, err);
	return req ? phx_pki_fingerprint(X509_REQ_get0_pubkey(req), ret_fp, err) : -EINVAL;
}

/* What it would sign nobody would believe. */
static int check_ca(const struct phx_pki *p, const char *name, struct phx_err *err)
{
	struct phx_ca_info cas[PHX_CAS_MAX];
	char text[PHX_CA_TEXT_MAX];
	int r = phx_ca_list(p->ca_pem, "ca.pem", cas, err);
	if (r < 0)
		return r;
	return phx_ca_when(&cas[0], phx_wall_ms() / 1000, text) < PHX_CA_ENDED
		? 0
		: phx_err_set(err, -EKEYEXPIRED, "certificate of '%s': %s", name, text);
}

int phx_cert_issue(struct phx_pki *p, const char *csr_pem, enum phx_cert_kind kind,
		   const char *name, uint32_t days, char **ret_cert_pem, struct phx_err *err)
{
	int r = check_name(name, err);
	if (r < 0)
		return r;
	if (days == 0 || days > CERT_DAYS_MAX)
		return phx_err_set(err, -EINVAL,
				   "certificate of '%s': %u days; 1 to %u are possible", name, days,
				   CERT_DAYS_MAX);
	if (!p->ca_key)
		return phx_err_set(err, -EPERM,
				   "certificate of '%s': this process has no key of the CA", name);
	r = check_ca(p, name, err);
	if (r < 0)
		return r;
	PHX_AUTO_REQ X509_REQ *req = parse_request(csr_pem, err);
	if (!req)
		return -EINVAL;
	struct phx_cert_spec spec = {
		.subject_key = X509_REQ_get0_pubkey(req),
		.issuer = p->cas.certs[0],
		.issuer_key = p->ca_key,
		.unit = phx_enum_name(&phx_cert_kind_names, (int)kind),
		.name = name,
		.usage = kind == PHX_CERT_SERVER ? "serverAuth" : "clientAuth",
		.days = days,
	};
	PHX_AUTO_CERT X509 *x = phx_cert_make(&spec, err);
	char *pem = x ? phx_cert_pem(x) : NULL;
	if (!pem)
		return phx_err_set(err, -EIO, "certificate of '%s': cannot be written", name);
	*ret_cert_pem = pem;
	return 0;
}
