/* Certificate requests of machines that nobody knows, as PEM, or as the DER within it, and
 * certificates of peers. What is certified is named as we say, whatever the request says.
 * Parsers: lib/pki/request.c lib/pki/cert.c */
#include <openssl/evp.h>

#include "fuzz/fuzz.h"
#include "pki/internal.h"

static struct phx_pki *site(void)
{
	static struct phx_pki *pki;
	if (!pki) {
		PHX_AUTO_FREE char *dir = phx_path("%s/pki", fuzz_dir());
		const char *const names[] = {"127.0.0.1", "head"};
		fuzz_never(phx_pki_open(dir, names, 2, &pki, NULL) < 0);
	}
	return pki;
}

static void certify(const char *pem)
{
	char fp[PHX_FINGERPRINT_MAX];
	struct phx_cert_info info;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *cert = NULL;
	if (phx_csr_fingerprint(pem, fp, &err) < 0) {
		fuzz_never(!err.text[0]);
		return;
	}
	fuzz_never(phx_cert_issue(site(), pem, PHX_CERT_NODE, "n1", 30, &cert, &err) < 0);
	fuzz_never(phx_cert_info_pem(cert, "cert", &info, &err) < 0);
	fuzz_never(info.kind != PHX_CERT_NODE || strcmp(info.name, "n1") ||
		   strcmp(info.fingerprint, fp));
}

/* The bytes as a request in PEM. */
static char *armour(const uint8_t *data, size_t n)
{
	static const char begin[] = "-----BEGIN CERTIFICATE REQUEST-----\n",
			  end[] = "\n-----END CERTIFICATE REQUEST-----\n";
	char *text = calloc(1, n * 2 + sizeof(begin) + sizeof(end) + 8), *to = text;
	fuzz_never(!text);
	to = stpcpy(to, begin);
	for (size_t at = 0; at < n; at += 48) {
		to += EVP_EncodeBlock((uint8_t *)to, data + at, n - at < 48 ? (int)(n - at) : 48);
		*to++ = '\n';
	}
	strcpy(to - (n ? 1 : 0), end);
	return text;
}

static void read_certificate(const void *data, size_t n, const char *pem)
{
	struct phx_cert_info info;
	struct phx_err err = {0};
	if (phx_cert_info(data, n, &info, &err) == 0)
		fuzz_never(!phx_name_valid(info.name) || !info.fingerprint[0]);
	else
		fuzz_never(!err.text[0]);
	if (phx_cert_info_pem(pem, "cert", &info, NULL) == 0)
		phx_cert_check(pem, PHX_CERT_USER, phx_pki_server_key_pem(site()),
			       phx_pki_ca_pem(site()), NULL);
}

/* What nobody is certified as, whatever the request. */
static void refuse_own(const char *csr, const char *key)
{
	static const struct {
		const char *name;
		unsigned days;
	} rows[] = {{"", 30}, {"-n1", 30}, {"n 1", 30}, {"n1", 0}, {"n1", 100000}};
	PHX_AUTO_FREE char *large = calloc(1, PHX_PEM_MAX + 2);
	char *made = NULL, fp[PHX_FINGERPRINT_MAX];
	fuzz_never(!large);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fuzz_never(phx_cert_issue(site(), csr, PHX_CERT_NODE, rows[i].name, rows[i].days,
					  &made, NULL) == 0);
	fuzz_never(phx_csr_from_key(key, "n 1", &made, NULL) == 0);
	memset(large, 'x', PHX_PEM_MAX + 1);
	fuzz_never(phx_csr_fingerprint(large, fp, NULL) == 0 ||
		   phx_csr_fingerprint(NULL, fp, NULL) == 0 ||
		   phx_cert_issue(site(), large, PHX_CERT_NODE, "n1", 30, &made, NULL) == 0);
	fuzz_never(made != NULL);
}

/* Both ends of our own. */
static void begin_own(void)
{
	static bool begun;
	PHX_AUTO_FREE char *key = NULL;
	PHX_AUTO_FREE char *csr = NULL;
	if (begun)
		return;
	begun = true;
	PHX_AUTO_FREE char *again = NULL;
	fuzz_never(phx_csr_make("n1", &key, &csr, NULL) < 0);
	fuzz_never(phx_csr_from_key(key, "n1", &again, NULL) < 0);
	refuse_own(csr, key);
	certify(csr);
	PHX_AUTO_FREE char *cert = NULL;
	fuzz_never(phx_cert_issue(site(), csr, PHX_CERT_USER, "alice", 30, &cert, NULL) < 0);
	fuzz_never(phx_cert_check(cert, PHX_CERT_USER, key, phx_pki_ca_pem(site()), NULL) < 0);
	fuzz_never(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(site()), NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	begin_own();
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	PHX_AUTO_FREE char *armoured = armour(data, n);
	certify(text);
	certify(armoured);
	read_certificate(data, n, text);
	return 0;
}
