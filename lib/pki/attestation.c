/* Attestations of erases: see attestation.h. Called by lib/journal, which makes them, and by phx
 * erasure, which believes nothing of them but what the signatures say. Asks no clock. */
#include "pki/attestation.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "pki/internal.h"
#include "types/readback.h"

PHX_RECORD_TABLE(phx_attested_disk, PHX_ATTESTED_DISK_FIELDS);
PHX_RECORD_TABLE(phx_attestation, PHX_ATTESTATION_FIELDS);

#define HEAD "{\"attestation\":"
#define MIDDLE ",\"signature\":\""
#define TAIL "\"}\n"
enum {
	HEAD_N = sizeof(HEAD) - 1,
	SIGNATURE_N = 2 * PHX_SIG_SIZE,
	REST_N = sizeof(MIDDLE) - 1 + SIGNATURE_N + sizeof(TAIL) - 1,
	CERTS_SINCE = 3, /* format */
	/* of JSON: a disk has two objects */
	DEPTH_MAX = 4,
	CONTAINERS_MAX = 512,
};

/* ---- the formats ---- */

/* What documents of older formats do not have. */
static int without(uint32_t format, struct phx_json_less *ret)
{
	static const struct {
		const char *path;
		uint32_t since;
	} later[] = {{"tpm_key", 2},
		     {"disks.quote", 2},
		     {"disks.verify", 3},
		     {"disks.cert", 3},
		     {"disks.left", 4}};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(later); i++)
		if (format < later[i].since)
			r = phx_json_less_add(ret, &phx_attestation_record, later[i].path);
	return r;
}

/* The text of the object, as documents of its format have it; NULL: no memory. */
static char *body_of(const struct phx_attestation *a)
{
	struct phx_json_less less = {0};
	struct phx_buf b = {0};
	int r = without(a->format, &less);
	phx_buf_add(&b, "{", 1);
	for (size_t i = 0; r == 0 && i < phx_attestation_record.n_fields; i++)
		phx_json_put_field(&b, &phx_attestation_record.fields[i], a, &less);
	phx_buf_add(&b, "}", 1);
	return phx_buf_take(&b);
}

static bool is_known_format(const struct phx_attestation *a)
{
	return a->format && a->format <= PHX_ATTESTATION_FORMAT;
}

/* ---- writing ---- */

int phx_attestation_text(const struct phx_attestation *a, const struct phx_signer *signer,
			 char **ret_text, struct phx_err *err)
{
	char signature[PHX_ANCHOR_SIGNATURE_MAX] = "";
	PHX_AUTO_FREE char *body = body_of(a);
	int r = !body ? -ENOMEM : signer ? signer->sign(signer->arg, body, signature, err) : 0;
	char *text = r == 0 ? phx_path(HEAD "%s" MIDDLE "%s" TAIL, body, signature) : NULL;
	if (!text)
		return r < 0 ? r : -ENOMEM;
	*ret_text = text;
	return 0;
}

int phx_attestation_digest(const char *text, size_t n, char ret[PHX_SHA256_HEX])
{
	return phx_sha256_of(text, n, ret);
}

/* ---- reading ---- */

static bool is_framed(const char *text, size_t n)
{
	return n > HEAD_N + REST_N && n <= PHX_ATTESTATION_TEXT_MAX && !memchr(text, '\0', n) &&
		!memcmp(text, HEAD, HEAD_N) &&
		!memcmp(text + n - REST_N, MIDDLE, sizeof(MIDDLE) - 1) &&
		!memcmp(text + n - (sizeof(TAIL) - 1), TAIL, sizeof(TAIL) - 1);
}

/* The object that is signed, if it is written as we would write it. */
static int read_body(const char *body, struct phx_attestation *ret, struct phx_err *err)
{
	struct phx_attestation a;
	static const struct phx_json_shape most = {DEPTH_MAX, CONTAINERS_MAX, 0};
	int r = phx_json_check_shape(body, strlen(body), &most, err);
	if (r == 0)
		r = phx_json_text_to_record(&phx_attestation_record, body, &a, err);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	PHX_AUTO_FREE char *again = body_of(&a);
	if (again && !strcmp(again, body) && is_known_format(&a)) {
		*ret = a;
		return 0;
	}
	if (again)
		phx_err_set(err, -EINVAL, "it is not written as an attestation of format %d is",
			    PHX_ATTESTATION_FORMAT);
	phx_record_fini(&phx_attestation_record, &a);
	return again ? -EINVAL : -ENOMEM;
}

static int parse(const char *text, size_t n, struct phx_attestation *ret, char **ret_body,
		 char ret_signature[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err)
{
	if (!is_framed(text, n))
		return phx_err_set(err, -EINVAL,
				   "it is no attestation, or was altered or cut off: it does not "
				   "begin or end as one");
	PHX_AUTO_FREE char *body = strndup(text + HEAD_N, n - HEAD_N - REST_N);
	int r = body ? read_body(body, ret, err) : -ENOMEM;
	if (r < 0)
		return phx_err_prefix(err, r, "it is no attestation, or was altered");
	memcpy(ret_signature, text + n - REST_N + sizeof(MIDDLE) - 1, SIGNATURE_N);
	ret_signature[SIGNATURE_N] = '\0';
	*ret_body = PHX_TAKE(body);
	return 0;
}

int phx_attestation_parse(const char *text, size_t n, struct phx_attestation *ret,
			  char ret_signature[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err)
{
	PHX_AUTO_FREE char *body = NULL;
	return parse(text, n, ret, &body, ret_signature, err);
}

/* ---- verifying ---- */

static int check_signature(const struct phx_attestation *a, const char *body, const char *signature,
			   const char *pub, struct phx_err *err)
{
	char key[PHX_FINGERPRINT_MAX];
	uint8_t sig[PHX_SIG_SIZE];
	int r = phx_pub_fingerprint(pub, key, err);
	if (r < 0)
		return r;
	if (strcmp(key, a->key))
		return phx_err_set(err, -ENOKEY,
				   "it names key %.23s as the one that signed it, and %s is %.23s",
				   a->key[0] ? a->key : "none", pub, key);
	if (phx_pki_unhex(signature, sig, sizeof(sig)) != sizeof(sig) ||
	    phx_verify(pub, body, strlen(body), sig, NULL) < 0)
		return phx_err_set(err, -EKEYREJECTED,
				   "it was altered, or never made: the signature is not that of %s "
				   "over this text",
				   pub);
	return 0;
}

/* What the deploy environment signed has to be about what the head asked for. */
static const char *other_matter(const struct phx_attestation *a, const struct phx_attested_disk *d)
{
	const struct phx_statement *s = &d->said;
	return s->nonce != d->nonce             ? "of another attempt"
		: strcmp(s->disk_id, d->id)     ? "of another disk"
		: strcmp(s->node, a->node)      ? "of another node"
		: s->epoch != a->epoch          ? "of another plan"
		: s->step_id > a->id            ? "of a step after it"
		: s->size_bytes < d->size_bytes ? "of less than the whole disk"
						: NULL;
}

uint32_t phx_attestation_left(const struct phx_attestation *a)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_attested_disk, d, &a->disks)
		n += d->left[0] != '\0';
	return n;
}

bool phx_attestation_shows_signers(const struct phx_attestation *a)
{
	return a->format >= CERTS_SINCE;
}

/* A key is made on the spot; the certificate says that it was the node's. */
static int check_cert(const struct phx_attestation *a, const struct phx_attested_disk *d,
		      const char *ca_pem, struct phx_err *err)
{
	struct phx_cert_info info;
	struct phx_err why = {0};
	if (!phx_attestation_shows_signers(a))
		return 0;
	int r = phx_cert_of_node(d->cert, ca_pem, &info, &why);
	if (r < 0)
		return phx_err_set(err, -EPERM,
				   "disk %s: nothing proves whose key signed its erase: %s", d->id,
				   why.text);
	if (strcmp(info.name, a->node) || strcmp(info.fingerprint, d->signer) ||
	    info.expires_s < d->erased_ms / 1000)
		return phx_err_set(
			err, -EPERM,
			"disk %s: the certificate is not that of the key which signed its "
			"erase, for %s and at that time",
			d->id, a->node);
	return 0;
}

static int check_amount(const struct phx_attested_disk *d, struct phx_err *err)
{
	int used = PHX_WIPE_AUTO;
	phx_enum_parse(&phx_wipe_method_names, d->said.used, &used, NULL);
	uint64_t least = phx_readback_least(d->said.size_bytes, (enum phx_wipe_method)used,
					    (enum phx_verify)d->verify);
	if (d->said.verified_bytes >= least)
		return 0;
	return phx_err_set(err, -ENODATA,
			   "disk %s: %" PRIu64 " bytes of it were read back, and %s are %" PRIu64
			   ": nothing proves its erase",
			   d->id, d->said.verified_bytes,
			   d->verify == PHX_VERIFY_FULL ? "all of them" : "its ends and 1 % of it",
			   least);
}

static int check_disk(const struct phx_attestation *a, const struct phx_attested_disk *d,
		      const char *ca_pem, struct phx_err *err)
{
	char fp[PHX_FINGERPRINT_MAX];
	const struct phx_statement *s = &d->said;
	if (!d->nonce || !d->signature[0] || !s->verified_bytes || !phx_is_sha256(s->read_sha256) ||
	    !s->image_sha256[0])
		return phx_err_set(err, -ENODATA, "disk %s: nothing proves its erase", d->id);
	const char *other = other_matter(a, d);
	if (other)
		return phx_err_set(err, -ESTALE, "disk %s: its evidence is %s", d->id, other);
	if (phx_statement_verify(s, d->key, d->signature, fp, NULL) < 0 || strcmp(fp, d->signer))
		return phx_err_set(err, -EKEYREJECTED,
				   "disk %s: its evidence is not signed with the node's key %.23s",
				   d->id, d->signer);
	int r = check_cert(a, d, ca_pem, err);
	return r ? r : check_amount(d, err);
}

/* It is not to look as if it were erased. */
static int check_left(const struct phx_attested_disk *d, struct phx_err *err)
{
	if (!d->nonce && !d->signature[0] && !d->said.node[0] && !d->erased_ms)
		return 0;
	return phx_err_set(err, -EINVAL,
			   "disk %s: it says that it was left, and that it was erased", d->id);
}

/* The machine's TPM signed what the deploy environment did, and it is the one that the head names.
 */
static int check_quote(const struct phx_attestation *a, const struct phx_attested_disk *d,
		       struct phx_err *err)
{
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct phx_quoted q;
	struct phx_err why = {0};
	if (!a->tpm_key[0])
		return 0;
	int r = phx_statement_digest(&d->said, data);
	r = r ? r : phx_quote_verify(&d->quote, data, &q, &why);
	if (r < 0)
		return phx_err_set(err, r == -ENOMEM ? r : -EKEYREJECTED,
				   "disk %s: the machine's TPM does not prove its erase: %s", d->id,
				   why.text);
	if (strcmp(q.key, a->tpm_key))
		return phx_err_set(err, -ESTALE, "disk %s: another TPM than %.23s signed its erase",
				   d->id, a->tpm_key);
	return 0;
}

static int check_tpm(const struct phx_attestation *a, struct phx_err *err)
{
	if (!strcmp(a->tpm, a->tpm_key[0] ? "quoted" : "none"))
		return 0;
	return phx_err_set(err, -EINVAL, "it says \"%s\" of the TPM, and names %s", a->tpm,
			   a->tpm_key[0] ? "one" : "none");
}

static int check_disks(const struct phx_attestation *a, const char *ca_pem, struct phx_err *err)
{
	int r = check_tpm(a, err);
	if (r == 0 && a->disks.n == phx_attestation_left(a))
		return phx_err_set(err, -ENODATA, "it names no disk that was erased");
	for (uint32_t i = 0; r == 0 && i < a->disks.n; i++) {
		const struct phx_attested_disk *d =
			PHX_LIST_AT(&a->disks, struct phx_attested_disk, i);
		if (d->left[0]) {
			r = check_left(d, err);
			continue;
		}
		r = check_disk(a, d, ca_pem, err);
		r = r ? r : check_quote(a, d, err);
	}
	return r;
}

static int check_time(const struct phx_attestation *a, int64_t now_ms, struct phx_err *err)
{
	char day[16] = "";
	time_t until = (time_t)(a->until_ms / 1000);
	struct tm tm;
	if (now_ms <= a->until_ms)
		return 0;
	if (gmtime_r(&until, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	return phx_err_set(err, -ETIME, "it counted until %s", day);
}

int phx_attestation_check(const char *body, const char *ca_pem, struct phx_err *err)
{
	struct phx_attestation a;
	int r = read_body(body, &a, err);
	if (r < 0)
		return r;
	if (a.format == PHX_ATTESTATION_FORMAT)
		r = check_disks(&a, ca_pem, err);
	else
		r = phx_err_set(err, -EINVAL, "it is of format %u, of before", a.format);
	phx_record_fini(&phx_attestation_record, &a);
	return r;
}

int phx_attestation_verify(const char *text, size_t n, const char *pub_pem_path, const char *ca_pem,
			   int64_t now_ms, struct phx_attestation *ret, struct phx_err *err)
{
	char signature[PHX_ANCHOR_SIGNATURE_MAX];
	PHX_AUTO_FREE char *body = NULL;
	struct phx_attestation a;
	int r = parse(text, n, &a, &body, signature, err);
	if (r < 0)
		return r;
	r = check_signature(&a, body, signature, pub_pem_path, err);
	if (r == 0)
		r = check_disks(&a, ca_pem, err);
	if (r == 0)
		r = check_time(&a, now_ms, err);
	if (r == 0 || r == -ETIME)
		*ret = a;
	else
		phx_record_fini(&phx_attestation_record, &a);
	return r;
}

int phx_attestation_follows(const struct phx_attestation *before, const char *digest,
			    const struct phx_attestation *next, struct phx_err *err)
{
	if (!strcmp(before->node, next->node) && !strcmp(next->previous, digest))
		return 0;
	return phx_err_set(err, -EXDEV,
			   "attestation %" PRIu64 " of %s does not follow %" PRIu64
			   ": one between them is missing, or one of them is not the one that was "
			   "made",
			   next->id, next->node, before->id);
}
