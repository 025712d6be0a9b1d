/* Certificates. Called by request.c and site.c (making them) and by whoever reads what a peer
 * shows; opens no file.
 *
 * Node clocks are wrong more often than right (dead batteries, no time before the network is
 * up), so every certificate is valid since 1970; what ends it is its notAfter, or the daemon
 * forgetting its fingerprint. */
#include "pki/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

static const char *const kind_names[] = {"server", "node", "provider", "service-provider", "user"};
const struct phx_enum phx_cert_kind_names = {"certificate kind", kind_names,
					     PHX_ARRAY_SIZE(kind_names)};

static bool set_serial(X509 *x)
{
	unsigned char bytes[16];
	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] = (bytes[0] & 0x7f) | 0x40; /* positive and of one length */
	BIGNUM *bn = BN_bin2bn(bytes, sizeof(bytes), NULL);
	bool ok = bn && BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(x));
	BN_free(bn);
	return ok;
}

static bool set_validity(X509 *x, uint32_t days)
{
	if (!ASN1_TIME_set_string(X509_getm_notBefore(x), "19700101000000Z"))
		return false;
	if (days == 0) /* RFC 5280 4.1.2.5: no well-defined end */
		return ASN1_TIME_set_string(X509_getm_notAfter(x), "99991231235959Z") == 1;
	return X509_time_adj_ex(X509_getm_notAfter(x), (int)days, 0, NULL) != NULL;
}

static bool add_entry(X509_NAME *name, const char *field, const char *text)
{
	return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)text,
					  -1, -1, 0) == 1;
}

bool phx_cert_set_subject(X509_NAME *name, const char *unit, const char *common_name)
{
	return add_entry(name, "O", "phoenix") && (!unit || add_entry(name, "OU", unit)) &&
		add_entry(name, "CN", common_name);
}

static bool add_extension(X509 *x, X509V3_CTX *ctx, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
	bool ok = ext && X509_add_ext(x, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

static bool add_extensions(X509 *x, const struct phx_cert_spec *spec)
{
	X509V3_CTX ctx;
	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, spec->issuer ? (X509 *)spec->issuer : x, x, NULL, NULL, 0);
	bool ca = !spec->issuer;
	return add_extension(x, &ctx, NID_basic_constraints,
			     ca ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
		add_extension(x, &ctx, NID_key_usage,
			      ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
		add_extension(x, &ctx, NID_subject_key_identifier, "hash") &&
		(ca || add_extension(x, &ctx, NID_authority_key_identifier, "keyid:always")) &&
		(!spec->usage || add_extension(x, &ctx, NID_ext_key_usage, spec->usage)) &&
		(!spec->san || add_extension(x, &ctx, NID_subject_alt_name, spec->san));
}

X509 *phx_cert_make(const struct phx_cert_spec *spec, struct phx_err *err)
{
	PHX_AUTO_CERT X509 *x = X509_new();
	bool ok = x && X509_set_version(x, X509_VERSION_3) && set_serial(x) &&
		set_validity(x, spec->days) &&
		phx_cert_set_subject(X509_get_subject_name(x), spec->unit, spec->name) &&
		X509_set_issuer_name(x, X509_get_subject_name(spec->issuer ? spec->issuer : x)) &&
		X509_set_pubkey(x, spec->subject_key) && add_extensions(x, spec) &&
		X509_sign(x, spec->issuer_key, phx_pki_digest_of(spec->issuer_key)) > 0;
	if (!ok) {
		phx_pki_fail(err, -EINVAL, "cannot make a certificate for '%s'", spec->name);
		return NULL;
	}
	return PHX_TAKE(x);
}

char *phx_cert_pem(X509 *cert)
{
	PHX_AUTO_BIO BIO *bio = BIO_new(BIO_s_mem());
	return bio && PEM_write_bio_X509(bio, cert) ? phx_pki_bio_text(bio) : NULL;
}

X509 *phx_cert_parse(const char *pem, const char *what, struct phx_err *err)
{
	PHX_AUTO_BIO BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	if (!x)
		phx_pki_fail(err, -EINVAL, "%s: not a certificate in PEM", what);
	return x;
}

/* ---- reading ---- */

/* The one entry `nid` of a subject, "" when there is none; -EINVAL when there are several or it
 * does not fit. */
static int subject_text(const X509_NAME *subject, int nid, char *ret, size_t ret_size)
{
	int i = X509_NAME_get_index_by_NID(subject, nid, -1);
	ret[0] = '\0';
	if (i < 0)
		return 0;
	if (X509_NAME_get_index_by_NID(subject, nid, i) >= 0)
		return -EINVAL;
	unsigned char *text = NULL;
	int n = ASN1_STRING_to_UTF8(&text,
				    X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
	if (n < 0)
		return -EINVAL;
	bool fits = (size_t)n < ret_size && !memchr(text, '\0', (size_t)n);
	if (fits) {
		memcpy(ret, text, (size_t)n);
		ret[n] = '\0';
	}
	OPENSSL_free(text);
	return fits ? 0 : -EINVAL;
}

/* What tells it from every other certificate of the CA, and how long it is good. */
static int serial_text(X509 *x, char *ret, size_t ret_size)
{
	const ASN1_INTEGER *serial = X509_get0_serialNumber(x);
	const unsigned char *bytes = ASN1_STRING_get0_data(serial);
	int n = ASN1_STRING_length(serial);
	if (n < 1 || (size_t)n * 2 >= ret_size)
		return -EINVAL;
	phx_hex(bytes, (size_t)n, ret);
	return 0;
}

int64_t phx_cert_time(const ASN1_TIME *at)
{
	struct tm tm;
	return ASN1_TIME_to_tm(at, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

int phx_cert_info_of(X509 *x, struct phx_cert_info *ret, struct phx_err *err)
{
	struct phx_cert_info info = {.expires_s = phx_cert_time(X509_get0_notAfter(x))};
	char organisation[16], unit[32];
	const X509_NAME *subject = X509_get_subject_name(x);
	if (subject_text(subject, NID_organizationName, organisation, sizeof(organisation)) < 0 ||
	    subject_text(subject, NID_organizationalUnitName, unit, sizeof(unit)) < 0 ||
	    subject_text(subject, NID_commonName, info.name, sizeof(info.name)) < 0)
		return phx_err_set(
			err, -EINVAL,
			"certificate: subject is not of the form O=phoenix, OU=KIND, CN=NAME");
	if (strcmp(organisation, "phoenix") || !phx_name_valid(info.name))
		return phx_err_set(
			err, -EINVAL,
			"certificate: subject is not of the form O=phoenix, OU=KIND, CN=NAME");
	int kind = 0;
	int r = phx_enum_parse(&phx_cert_kind_names, unit, &kind, err);
	if (r < 0)
		return phx_err_prefix(err, r, "certificate of '%s'", info.name);
	info.kind = (enum phx_cert_kind)kind;
	if (serial_text(x, info.serial, sizeof(info.serial)) < 0)
		return phx_err_set(err, -EINVAL,
				   "certificate of '%s': its serial number is not valid",
				   info.name);
	EVP_PKEY *key = X509_get0_pubkey(x);
	if (!key)
		return phx_pki_fail(err, -EINVAL, "certificate of '%s': no usable key", info.name);
	r = phx_pki_fingerprint(key, info.fingerprint, err);
	if (r == 0)
		*ret = info;
	return r;
}

int phx_cert_info(const void *der, size_t n_der, struct phx_cert_info *ret, struct phx_err *err)
{
	const unsigned char *p = der;
	PHX_AUTO_CERT X509 *x = n_der <= PHX_PEM_MAX ? d2i_X509(NULL, &p, (long)n_der) : NULL;
	if (!x || p != (const unsigned char *)der + n_der)
		return phx_pki_fail(err, -EINVAL, "not a certificate");
	return phx_cert_info_of(x, ret, err);
}

int phx_cert_info_pem(const char *pem, const char *what, struct phx_cert_info *ret,
		      struct phx_err *err)
{
	PHX_AUTO_CERT X509 *x = phx_cert_parse(pem, what, err);
	return x ? phx_cert_info_of(x, ret, err) : -EINVAL;
}

int phx_cert_brief(const char *pem, const char *what, char ret_fp[PHX_FINGERPRINT_MAX],
		   int64_t *ret_expires_s, struct phx_err *err)
{
	PHX_AUTO_CERT X509 *x = phx_cert_parse(pem, what, err);
	EVP_PKEY *key = x ? X509_get0_pubkey(x) : NULL;
	if (!key)
		return x ? phx_pki_fail(err, -EINVAL, "%s: no usable key", what) : -EINVAL;
	*ret_expires_s = phx_cert_time(X509_get0_notAfter(x));
	return phx_pki_fingerprint(key, ret_fp, err);
}
