/* The next key of a node: see next_key.h. Called by the agent and by lib/vault. Keeps nothing. */
#include "pki/next_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "pki/internal.h"

enum { TEXT_MAX_ = 64 + PHX_NAME_MAX + 2 * PHX_FINGERPRINT_MAX };

/* What is signed; no member can hold a blank. */
static int text_of(const char *csr_pem, const struct phx_cert_info *former, char ret[TEXT_MAX_],
		   struct phx_err *err)
{
	char next[PHX_FINGERPRINT_MAX];
	int r = phx_csr_fingerprint(csr_pem, next, err);
	if (r == 0)
		snprintf(ret, TEXT_MAX_, "phoenix next key %s node %s after %s", next, former->name,
			 former->fingerprint);
	return r;
}

int phx_next_key_prove(const char *csr_pem, const char *key_pem_path, const char *cert_pem_path,
		       struct phx_next_key *ret, struct phx_err *err)
{
	struct phx_next_key k = {0};
	struct phx_cert_info former;
	char text[TEXT_MAX_];
	PHX_AUTO_FREE char *cert = NULL;
	PHX_AUTO_SECRET char *pem = NULL;
	int r = phx_file_read(cert_pem_path, sizeof(k.cert) - 1, &cert, NULL, err);
	r = r ? r : phx_file_read(key_pem_path, PHX_PEM_MAX, &pem, NULL, err);
	r = r ? r : phx_cert_of_node(cert, NULL, &former, err);
	r = r ? r : text_of(csr_pem, &former, text, err);
	PHX_AUTO_KEY EVP_PKEY *key = r == 0 ? phx_pki_key_parse(pem, key_pem_path, err) : NULL;
	if (!key)
		return r < 0 ? r : -EINVAL;
	if (phx_pki_sign_text(key, text, k.signature) < 0)
		return phx_pki_fail(err, -EIO, "the next key cannot be signed for");
	PHX_STR_SET(k.cert, cert);
	*ret = k;
	return 0;
}

int phx_next_key_verify(const struct phx_next_key *k, const char *csr_pem, const char *node,
			const char *key_fp, struct phx_err *err)
{
	struct phx_cert_info former;
	char text[TEXT_MAX_];
	PHX_AUTO_CERT X509 *cert = phx_cert_parse(k->cert, "the certificate of before", err);
	if (!cert)
		return -EINVAL;
	int r = phx_cert_info_of(cert, &former, err);
	r = r ? r : text_of(csr_pem, &former, text, err);
	if (r < 0)
		return r;
	if (former.kind != PHX_CERT_NODE || strcmp(former.name, node) ||
	    strcmp(former.fingerprint, key_fp))
		return phx_err_set(err, -EKEYREJECTED,
				   "the key that signs for the next one is not the node's");
	if (phx_pki_check_text(X509_get0_pubkey(cert), text, k->signature) < 0)
		return phx_pki_fail(err, -EKEYREJECTED, "%s's key has not signed for it", node);
	return 0;
}
