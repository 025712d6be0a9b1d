/* Quotes of this machine's TPM: see tpm.h. Called by the agent's step of an erase; changes nothing
 * in the chip. */
#include "tpm/tpm.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>
#include <string.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_tcti_device.h>
#include <unistd.h>

#include "base/file.h"

static const TPML_PCR_SELECTION registers = {
	.count = 1,
	.pcrSelections = {{.hash = TPM2_ALG_SHA256, .sizeofSelect = 3, .pcrSelect = {0xff, 0x03}}}};
_Static_assert(PHX_QUOTE_PCRS == 10, "the bits above are those of the first registers");

/* Signs what the TPM says itself, and nothing that it is given. */
static const TPM2B_PUBLIC signing_key = {
	.publicArea = {
		.type = TPM2_ALG_ECC,
		.nameAlg = TPM2_ALG_SHA256,
		.objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT |
			TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH |
			TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_SIGN_ENCRYPT,
		.parameters.eccDetail = {.symmetric.algorithm = TPM2_ALG_NULL,
					 .scheme = {.scheme = TPM2_ALG_ECDSA,
						    .details.ecdsa.hashAlg = TPM2_ALG_SHA256},
					 .curveID = TPM2_ECC_NIST_P256,
					 .kdf.scheme = TPM2_ALG_NULL}}};

static int fail(struct phx_err *err, TSS2_RC rc, const char *what)
{
	static const TSS2_RC unable[] = {TPM2_RC_CURVE, TPM2_RC_TYPE, TPM2_RC_HASH, TPM2_RC_SCHEME,
					 TPM2_RC_VALUE};
	int r = -EIO;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(unable); i++)
		if ((rc & ~(TSS2_RC)TPM2_RC_N_MASK & ~(TSS2_RC)TPM2_RC_P) == unable[i])
			r = -ENOTSUP;
	return phx_err_set(err, r, "the TPM cannot %s: %s", what, Tss2_RC_Decode(rc));
}

/* ---- the key ---- */

static int make_key(ESYS_CONTEXT *esys, ESYS_TR *ret_key, TPM2B_PUBLIC **ret_public,
		    struct phx_err *err)
{
	static const TPM2B_SENSITIVE_CREATE nothing_secret = {0};
	static const TPM2B_DATA no_data = {0};
	static const TPML_PCR_SELECTION none = {0};
	TPM2B_CREATION_DATA *data = NULL;
	TPM2B_DIGEST *hash = NULL;
	TPMT_TK_CREATION *ticket = NULL;
	TSS2_RC rc =
		Esys_CreatePrimary(esys, ESYS_TR_RH_ENDORSEMENT, ESYS_TR_PASSWORD, ESYS_TR_NONE,
				   ESYS_TR_NONE, &nothing_secret, &signing_key, &no_data, &none,
				   ret_key, ret_public, &data, &hash, &ticket);
	Esys_Free(data);
	Esys_Free(hash);
	Esys_Free(ticket);
	return rc == TSS2_RC_SUCCESS ? 0 : fail(err, rc, "make its signing key");
}

static EVP_PKEY *key_of(const uint8_t *point, size_t n)
{
	EVP_PKEY *key = NULL;
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	char curve[] = "P-256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve, 0),
		OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, n),
		OSSL_PARAM_construct_end()};
	if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	return key;
}

/* A coordinate of the curve, which the TPM may write without zeros at its beginning. */
static bool put_coordinate(uint8_t to[32], const TPM2B_ECC_PARAMETER *from)
{
	if (from->size > 32)
		return false;
	memset(to, 0, 32);
	memcpy(to + 32 - from->size, from->buffer, from->size);
	return true;
}

static int put_key(const TPM2B_PUBLIC *public, struct phx_quote *q, struct phx_err *err)
{
	const TPMS_ECC_POINT *p = &public->publicArea.unique.ecc;
	uint8_t point[65] = {POINT_CONVERSION_UNCOMPRESSED};
	unsigned char *der = NULL;
	bool fits = put_coordinate(point + 1, &p->x) && put_coordinate(point + 33, &p->y);
	EVP_PKEY *key = fits ? key_of(point, sizeof(point)) : NULL;
	int n = key ? i2d_PUBKEY(key, &der) : -1;
	fits = n > 0 && (size_t)n * 2 < sizeof(q->tpm_key);
	if (fits)
		phx_hex(der, (size_t)n, q->tpm_key);
	OPENSSL_free(der);
	EVP_PKEY_free(key);
	return fits ? 0 : phx_err_set(err, -EIO, "the TPM shows no public key of P-256");
}

/* ---- the registers ---- */

/* The TPM gives some at a time, the first ones first. */
static int read_registers(ESYS_CONTEXT *esys, struct phx_quote *q, struct phx_err *err)
{
	uint32_t n = 0;
	while (n < PHX_QUOTE_PCRS) {
		TPML_PCR_SELECTION want = registers, *got = NULL;
		TPML_DIGEST *values = NULL;
		UINT32 counter;
		for (uint32_t i = 0; i < n; i++)
			want.pcrSelections[0].pcrSelect[i / 8] &= (BYTE) ~(1u << i % 8);
		TSS2_RC rc = Esys_PCR_Read(esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &want,
					   &counter, &got, &values);
		if (rc != TSS2_RC_SUCCESS)
			return fail(err, rc, "read its registers");
		uint32_t before = n;
		for (uint32_t i = 0; i < values->count && n < PHX_QUOTE_PCRS &&
		     values->digests[i].size == TPM2_SHA256_DIGEST_SIZE;
		     i++, n++)
			phx_hex(values->digests[i].buffer, TPM2_SHA256_DIGEST_SIZE,
				q->tpm_pcrs + (size_t)n * 2 * TPM2_SHA256_DIGEST_SIZE);
		Esys_Free(got);
		Esys_Free(values);
		if (n == before)
			return phx_err_set(err, -ENOTSUP, "the TPM has no registers of SHA-256");
	}
	return 0;
}

/* ---- the quote ---- */

static int put_signature(const TPMT_SIGNATURE *s, struct phx_quote *q, struct phx_err *err)
{
	ECDSA_SIG *sig = ECDSA_SIG_new();
	const TPMS_SIGNATURE_ECC *ecc = &s->signature.ecdsa;
	BIGNUM *r = BN_bin2bn(ecc->signatureR.buffer, ecc->signatureR.size, NULL);
	BIGNUM *t = BN_bin2bn(ecc->signatureS.buffer, ecc->signatureS.size, NULL);
	unsigned char *der = NULL;
	bool set = s->sigAlg == TPM2_ALG_ECDSA && sig && r && t && ECDSA_SIG_set0(sig, r, t) == 1;
	if (!set) {
		BN_free(r);
		BN_free(t);
	}
	int n = set ? i2d_ECDSA_SIG(sig, &der) : -1;
	bool fits = n > 0 && (size_t)n * 2 < sizeof(q->tpm_signature);
	if (fits)
		phx_hex(der, (size_t)n, q->tpm_signature);
	OPENSSL_free(der);
	ECDSA_SIG_free(sig);
	return fits ? 0 : phx_err_set(err, -EIO, "the TPM does not sign by ECDSA");
}

static int quote(ESYS_CONTEXT *esys, ESYS_TR key, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		 struct phx_quote *q, struct phx_err *err)
{
	static const TPMT_SIG_SCHEME scheme_of_key = {.scheme = TPM2_ALG_NULL};
	TPM2B_DATA about = {.size = PHX_QUOTE_DATA_SIZE};
	TPM2B_ATTEST *said = NULL;
	TPMT_SIGNATURE *signature = NULL;
	memcpy(about.buffer, data, PHX_QUOTE_DATA_SIZE);
	TSS2_RC rc = Esys_Quote(esys, key, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &about,
				&scheme_of_key, &registers, &said, &signature);
	if (rc != TSS2_RC_SUCCESS)
		return fail(err, rc, "sign its registers");
	int r = put_signature(signature, q, err);
	if (r == 0 && (size_t)said->size * 2 >= sizeof(q->tpm_said))
		r = phx_err_set(err, -EIO, "the TPM signs more than a quote");
	if (r == 0)
		phx_hex(said->attestationData, said->size, q->tpm_said);
	Esys_Free(said);
	Esys_Free(signature);
	return r;
}

static int quote_with_key(ESYS_CONTEXT *esys, const uint8_t data[PHX_QUOTE_DATA_SIZE],
			  struct phx_quote *q, struct phx_err *err)
{
	ESYS_TR key = ESYS_TR_NONE;
	TPM2B_PUBLIC *public = NULL;
	int r = make_key(esys, &key, &public, err);
	if (r < 0)
		return r;
	r = put_key(public, q, err);
	r = r ? r : read_registers(esys, q, err);
	r = r ? r : quote(esys, key, data, q, err);
	Esys_FlushContext(esys, key);
	Esys_Free(public);
	return r;
}

int phx_tpm_quote_by(TSS2_TCTI_CONTEXT *tcti, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		     struct phx_quote *ret, struct phx_err *err)
{
	ESYS_CONTEXT *esys = NULL;
	struct phx_quote q = {0};
	TSS2_RC rc = Esys_Initialize(&esys, tcti, NULL);
	if (rc != TSS2_RC_SUCCESS)
		return fail(err, rc, "be asked");
	int r = quote_with_key(esys, data, &q, err);
	Esys_Finalize(&esys);
	if (r == 0)
		*ret = q;
	return r;
}

int phx_tpm_quote(const char *device, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		  struct phx_quote *ret, struct phx_err *err)
{
	size_t size = 0;
	if (access(device, F_OK) < 0)
		return phx_err_set(err, -ENODEV, "this machine has no TPM (%s)", device);
	TSS2_RC rc = Tss2_Tcti_Device_Init(NULL, &size, device);
	TSS2_TCTI_CONTEXT *tcti = rc == TSS2_RC_SUCCESS ? calloc(1, size) : NULL;
	if (rc == TSS2_RC_SUCCESS && !tcti)
		return -ENOMEM;
	rc = rc == TSS2_RC_SUCCESS ? Tss2_Tcti_Device_Init(tcti, &size, device) : rc;
	int r = rc == TSS2_RC_SUCCESS ? phx_tpm_quote_by(tcti, data, ret, err)
				      : fail(err, rc, "be opened");
	if (rc == TSS2_RC_SUCCESS)
		Tss2_Tcti_Finalize(tcti);
	free(tcti);
	return r;
}
