/* The CAs that are believed, and what they have signed. Called by who reads what a peer shows, and
 * by ca.c, which changes them; opens no file. */
#include "pki/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

/* ---- reading ---- */

void phx_cas_fini(struct phx_cas *cas)
{
	for (size_t i = 0; i < cas->n; i++)
		X509_free(cas->certs[i]);
	*cas = (struct phx_cas){0};
}

static int add_ca(struct phx_cas *cas, X509 *x, const char *what, struct phx_err *err)
{
	if (cas->n == PHX_CAS_MAX) {
		X509_free(x);
		return phx_err_set(err, -E2BIG, "%s: more than %d certificates of CAs", what,
				   PHX_CAS_MAX);
	}
	int r = phx_pki_fingerprint(X509_get0_pubkey(x), cas->ids[cas->n], err);
	if (r < 0)
		X509_free(x);
	else
		cas->certs[cas->n++] = x;
	return r;
}

static int number_of(const struct phx_cas *cas, uint64_t *ret)
{
	char text[PHX_CAS_MAX * PHX_FINGERPRINT_MAX] = "", digest[PHX_SHA256_HEX];
	for (size_t i = 0; i < cas->n; i++)
		strcat(text, cas->ids[i]);
	int r = phx_sha256_of(text, strlen(text), digest);
	if (r < 0)
		return r;
	digest[12] = '\0'; /* as a number of JSON it is exact everywhere */
	sscanf(digest, "%" SCNx64, ret);
	return 0;
}

int phx_cas_parse(const char *pem, const char *what, struct phx_cas *ret, struct phx_err *err)
{
	PHX_AUTO(phx_cas_fini) struct phx_cas cas = {0};
	PHX_AUTO_BIO BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x;
	int r = bio ? 0 : -ENOMEM;
	while (r == 0 && (x = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
		r = add_ca(&cas, x, what, err);
	bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	if (r == 0 && (cas.n == 0 || !ended))
		r = phx_pki_fail(err, -EINVAL, "%s: not a certificate in PEM", what);
	ERR_clear_error();
	r = r ? r : number_of(&cas, &cas.number);
	if (r == 0) {
		*ret = cas;
		cas = (struct phx_cas){0};
	}
	return r;
}

int phx_ca_list(const char *pem, const char *what, struct phx_ca_info ret[PHX_CAS_MAX],
		struct phx_err *err)
{
	PHX_AUTO(phx_cas_fini) struct phx_cas cas = {0};
	int r = phx_cas_parse(pem, what, &cas, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < cas.n; i++) {
		PHX_STR_SET(ret[i].id, cas.ids[i]);
		ret[i].begins_s = phx_cert_time(X509_get0_notBefore(cas.certs[i]));
		ret[i].expires_s = phx_cert_time(X509_get0_notAfter(cas.certs[i]));
	}
	return (int)cas.n;
}

/* ---- its end ---- */

enum { SOON_DAYS = 90, LATE_DAYS = 30, DAY_S = 86400 };

static void put_day(int64_t at_s, char ret[16])
{
	time_t at = (time_t)at_s;
	struct tm tm;
	if (!gmtime_r(&at, &tm) || !strftime(ret, 16, "%Y-%m-%d", &tm))
		snprintf(ret, 16, "?");
}

enum phx_ca_when phx_ca_when(const struct phx_ca_info *ca, int64_t now_s, char ret[PHX_CA_TEXT_MAX])
{
	char now[16], begins[16], ends[16];
	int64_t days = (ca->expires_s - now_s) / DAY_S;
	put_day(now_s, now);
	put_day(ca->begins_s, begins);
	put_day(ca->expires_s, ends);
	ret[0] = '\0';
	if (now_s < ca->begins_s) {
		snprintf(ret, PHX_CA_TEXT_MAX,
			 "the clock is wrong: it says %s, and the site's CA (%.15s) begins on %s: "
			 "set "
			 "it; until then nothing that the CA has signed is believed",
			 now, ca->id, begins);
		return PHX_CA_NOT_YET;
	}
	if (now_s >= ca->expires_s) {
		snprintf(ret, PHX_CA_TEXT_MAX,
			 "the site's CA (%.15s) ended on %s: nothing that it has signed is "
			 "believed. "
			 "phx pki rotate, then phx pki retire --force; nodes get the other one by "
			 "network boot",
			 ca->id, ends);
		return PHX_CA_ENDED;
	}
	if (days >= SOON_DAYS)
		return PHX_CA_GOOD;
	snprintf(ret, PHX_CA_TEXT_MAX,
		 "the site's CA (%.15s) ends on %s, in %d days: change it %s (phx pki rotate, then "
		 "phx "
		 "pki retire)",
		 ca->id, ends, (int)days, days < LATE_DAYS ? "now" : "before");
	return days < LATE_DAYS ? PHX_CA_LATE : PHX_CA_SOON;
}

uint64_t phx_ca_number(const char *pem)
{
	PHX_AUTO(phx_cas_fini) struct phx_cas cas = {0};
	return phx_cas_parse(pem, "", &cas, NULL) < 0 ? 0 : cas.number;
}

/* ---- what they have signed ---- */

int phx_cas_signed(const struct phx_cas *cas, X509 *x)
{
	int found = -1;
	for (size_t i = 0; i < cas->n && found < 0; i++)
		if (X509_verify(x, X509_get0_pubkey(cas->certs[i])) == 1)
			found = (int)i;
	ERR_clear_error();
	return found;
}

static int check_signed(X509 *x, const char *ca_pem, struct phx_err *err)
{
	PHX_AUTO(phx_cas_fini) struct phx_cas cas = {0};
	int r = phx_cas_parse(ca_pem, "the CA's certificate", &cas, err);
	if (r == 0 && phx_cas_signed(&cas, x) < 0)
		r = phx_pki_fail(err, -EKEYREJECTED,
				 "the certificate is not signed by this site's CA");
	return r;
}

int phx_cas_check_node(X509 *x, const char *ca_pem, struct phx_cert_info *ret, struct phx_err *err)
{
	struct phx_cert_info info;
	int r = ca_pem ? check_signed(x, ca_pem, err) : 0;
	if (r == 0)
		r = phx_cert_info_of(x, &info, err);
	if (r == 0 && info.kind != PHX_CERT_NODE)
		r = phx_err_set(err, -EKEYREJECTED, "it is the certificate of a %s",
				phx_enum_name(&phx_cert_kind_names, (int)info.kind));
	if (r == 0)
		*ret = info;
	return r;
}

int phx_cert_of_node(const char *pem, const char *ca_pem, struct phx_cert_info *ret,
		     struct phx_err *err)
{
	PHX_AUTO_CERT X509 *x = phx_cert_parse(pem, "the node's certificate", err);
	return x ? phx_cas_check_node(x, ca_pem, ret, err) : -EINVAL;
}

/* Signed by this CA, in time, both of them, and meant for clients; `flags`: X509_V_FLAG_... */
static bool serves(X509 *ca, X509 *x, unsigned long flags)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	bool ok = store && ctx && X509_STORE_add_cert(store, ca) == 1 &&
		X509_STORE_CTX_init(ctx, store, x, NULL) == 1 &&
		X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT) == 1;
	if (ok)
		X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_PARTIAL_CHAIN | flags);
	ok = ok && X509_verify_cert(ctx) == 1;
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return ok;
}

/* The place of the CA that it is believed for; that of none: p->cas.n. */
static size_t who_serves(const struct phx_pki *p, X509 *x, unsigned long flags)
{
	size_t i = 0;
	while (i < p->cas.n && !serves(p->cas.certs[i], x, flags))
		i++;
	return i;
}

static X509 *read_shown(const void *der, size_t n)
{
	const unsigned char *at = der;
	return n <= PHX_PEM_MAX ? d2i_X509(NULL, &at, (long)n) : NULL;
}

/* When it begins, or ends, in words. */
static int say_dates(const X509 *x, struct phx_err *err)
{
	char text[32];
	struct tm tm;
	bool early = X509_cmp_current_time(X509_get0_notBefore(x)) > 0;
	bool late = X509_cmp_current_time(X509_get0_notAfter(x)) < 0;
	if ((!early && !late) ||
	    ASN1_TIME_to_tm(early ? X509_get0_notBefore(x) : X509_get0_notAfter(x), &tm) != 1 ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		return phx_err_set(err, -EKEYREJECTED, "its dates say nothing against it");
	phx_err_set(err, 0, "it is valid %s %s", early ? "only from" : "no more since", text);
	return 0;
}

int phx_pki_undated(const struct phx_pki *p, const void *der, size_t n, struct phx_cert_info *ret,
		    struct phx_err *err)
{
	struct phx_cert_info info;
	PHX_AUTO_CERT X509 *x = read_shown(der, n);
	size_t i = x ? who_serves(p, x, X509_V_FLAG_NO_CHECK_TIME) : p->cas.n;
	if (i == p->cas.n)
		return phx_pki_fail(err, -EKEYREJECTED, "more is wrong with it than its dates");
	int r = phx_cert_info_of(x, &info, err);
	r = r ? r : say_dates(x, err);
	if (r < 0)
		return r;
	PHX_STR_SET(info.ca, p->cas.ids[i]);
	*ret = info;
	return 0;
}

int phx_pki_believe(const struct phx_pki *p, const void *der, size_t n, struct phx_cert_info *ret,
		    struct phx_err *err)
{
	struct phx_cert_info info;
	PHX_AUTO_CERT X509 *x = read_shown(der, n);
	if (!x)
		return phx_pki_fail(err, -EINVAL, "not a certificate");
	size_t i = who_serves(p, x, 0);
	if (i == p->cas.n)
		return phx_err_set(err, -EKEYREJECTED,
				   "no certificate of a client that this site's CA has signed");
	int r = phx_cert_info(der, n, &info, err);
	if (r < 0)
		return r;
	PHX_STR_SET(info.ca, p->cas.ids[i]);
	*ret = info;
	return 0;
}

int phx_cert_check(const char *cert_pem, enum phx_cert_kind kind, const char *key_pem,
		   const char *ca_pem, struct phx_err *err)
{
	struct phx_cert_info info;
	PHX_AUTO(phx_cas_fini) struct phx_cas cas = {0};
	PHX_AUTO_CERT X509 *x = phx_cert_parse(cert_pem, "certificate", err);
	int r = x ? phx_cas_parse(ca_pem, "the CA's certificate", &cas, err) : -EINVAL;
	PHX_AUTO_KEY EVP_PKEY *key = r ? NULL : phx_pki_key_parse(key_pem, "private key", err);
	if (r == 0 && !key)
		r = -EINVAL;
	r = r ? r : phx_cert_info_pem(cert_pem, "certificate", &info, err);
	if (r < 0)
		return r;
	if (info.kind != kind)
		return phx_err_set(err, -EKEYREJECTED, "it is the certificate of a %s",
				   phx_enum_name(&phx_cert_kind_names, (int)info.kind));
	if (X509_check_private_key(x, key) != 1)
		return phx_pki_fail(err, -EKEYREJECTED, "it is the certificate of another key");
	int ca = phx_cas_signed(&cas, x);
	if (ca < 0)
		return phx_pki_fail(err, -EKEYREJECTED, "it is not signed by this site's CA");
	return ca == 0 ? 0 : PHX_CERT_OF_FORMER;
}
