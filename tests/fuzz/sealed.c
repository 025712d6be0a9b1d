/* Keys of disks on their way: a question and an answer as they are given, of which none counts;
 * then the same question signed by a node of ours, and an answer to it with one digit altered. Who
 * asked opens what was sealed for him, and nothing else; whoever is refused has nothing.
 * Parsers: lib/pki/sealed.c */
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "pki/internal.h"
#include "pki/sealed.h"

#define GIVEN_FIELDS(F, S) \
	F(S, key_id, STR(PHX_NAME_MAX)) \
	F(S, digit, U32) /* which digit of the answer is altered */ \
	F(S, ask, REC(phx_key_ask)) \
	F(S, answer, REC(phx_key_sealed))
PHX_RECORD_STRUCT(given, GIVEN_FIELDS);
PHX_RECORD_TABLE(given, GIVEN_FIELDS);

static const uint8_t key[PHX_DISK_KEY_SIZE] = "the key of a disk, which nobody else has";

static struct phx_pki *pki;
/* a node, and a user of the same CA */
static struct person {
	char key_path[256], cert_path[256];
	char *cert;
	EVP_PKEY *key;
} node, user;

static void certify(struct person *p, const char *name, enum phx_cert_kind kind)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL;
	fuzz_never(phx_csr_make(name, &pem, &csr, NULL) < 0 ||
		   phx_cert_issue(pki, csr, kind, name, 1, &p->cert, NULL) < 0);
	p->key = phx_pki_key_parse(pem, name, NULL);
	fuzz_never(!p->key);
	snprintf(p->key_path, sizeof(p->key_path), "%s/%s.key", fuzz_dir(), name);
	snprintf(p->cert_path, sizeof(p->cert_path), "%s/%s.pem", fuzz_dir(), name);
	fuzz_never(phx_file_write(p->key_path, pem, strlen(pem), 0600, NULL) < 0 ||
		   phx_file_write(p->cert_path, p->cert, strlen(p->cert), 0600, NULL) < 0);
}

static void begin(void)
{
	if (pki)
		return;
	PHX_AUTO_FREE char *dir = phx_path("%s/pki", fuzz_dir());
	fuzz_never(!dir || phx_pki_open(dir, NULL, 0, &pki, NULL) < 0);
	certify(&node, "n1", PHX_CERT_NODE);
	certify(&user, "alice", PHX_CERT_USER);
}

static bool is_question(const struct given *g)
{
	return phx_name_valid(g->key_id) && phx_name_valid(g->ask.boot_id) &&
		strlen(g->ask.to) == 2 * PHX_SEALED_PUBLIC_SIZE &&
		!g->ask.to[strspn(g->ask.to, "0123456789abcdef")];
}

static int verify(const struct phx_key_ask *ask, const char *key_id)
{
	struct phx_cert_info info = {.name = ""};
	struct phx_err err = {0};
	int r = phx_key_ask_verify(ask, key_id, phx_pki_ca_pem(pki), &info, &err);
	fuzz_never(r > 0 || (r < 0 && (!err.text[0] || info.name[0])));
	fuzz_never(r == 0 && strcmp(info.name, "n1"));
	return r;
}

/* ---- questions ---- */

static void sign(struct phx_key_ask *ask, const struct person *p, const char *key_id)
{
	PHX_AUTO_FREE char *text =
		phx_path("phoenix disk key %s boot %s to %s", key_id, ask->boot_id, ask->to);
	fuzz_never(!text || phx_pki_sign_text(p->key, text, ask->signature) < 0);
	ask->cert = p->cert;
}

/* The same words by somebody of ours: a node alone, and for that key alone. */
static void ask_signed(const struct given *g)
{
	struct phx_key_ask ask = g->ask;
	sign(&ask, &user, g->key_id);
	fuzz_never(verify(&ask, g->key_id) == 0);
	ask.cert = node.cert;
	fuzz_never(verify(&ask, g->key_id) == 0);
	sign(&ask, &node, g->key_id);
	fuzz_never((verify(&ask, g->key_id) == 0) != is_question(g));
	fuzz_never(verify(&ask, "another-key") == 0 && strcmp(g->key_id, "another-key"));
	ask.to[0] = ask.to[0] == '0' ? '1' : '0';
	fuzz_never(verify(&ask, g->key_id) == 0);
}

/* For whoever has the other half of the key that the question names. */
static void seal(const struct given *g)
{
	struct phx_key_sealed answer = {.from = ""};
	struct phx_err err = {0};
	int r = phx_key_seal(&g->ask, g->key_id, key, &answer, &err);
	fuzz_never(r > 0 || (r < 0 && (!err.text[0] || answer.from[0] || answer.sealed[0])));
	fuzz_never(r == 0 &&
		   (!is_question(g) || strlen(answer.from) != 2 * PHX_SEALED_PUBLIC_SIZE ||
		    strlen(answer.sealed) != 2 * PHX_SEALED_SIZE));
}

/* ---- answers ---- */

static int open_it(const struct phx_key_ask *ask, const char *key_id,
		   const uint8_t private[PHX_SEALED_PUBLIC_SIZE], const struct phx_key_sealed *a)
{
	static const uint8_t nothing[PHX_DISK_KEY_SIZE];
	uint8_t got[PHX_DISK_KEY_SIZE] = {0};
	struct phx_err err = {0};
	int r = phx_key_open(ask, key_id, private, a, got, &err);
	fuzz_never(r > 0 || memcmp(got, r < 0 ? nothing : key, sizeof(got)));
	fuzz_never(r < 0 && !err.text[0]);
	return r;
}

/* One digit is another one. */
static void alter(struct phx_key_sealed *a, uint32_t digit)
{
	size_t n = strlen(a->from), at = digit % (n + strlen(a->sealed));
	char *c = at < n ? &a->from[at] : &a->sealed[at - n];
	*c = *c == 'f' ? '0' : *c == '9' ? 'a' : (char)(*c + 1);
}

static void open_own(const struct given *g)
{
	uint8_t private[PHX_SEALED_PUBLIC_SIZE];
	struct phx_key_ask ask = {.cert = NULL};
	struct phx_key_sealed answer;
	struct phx_err err = {0};
	int r = phx_key_ask_make(g->key_id, g->ask.boot_id, node.key_path, node.cert_path, &ask,
				 private, &err);
	bool names = phx_name_valid(g->key_id) && phx_name_valid(g->ask.boot_id);
	fuzz_never((r == 0) != names || (r < 0 && (!err.text[0] || ask.cert)));
	if (r < 0)
		return;
	fuzz_never(verify(&ask, g->key_id) < 0);
	fuzz_never(open_it(&ask, g->key_id, private, &g->answer) == 0);
	fuzz_never(phx_key_seal(&ask, g->key_id, key, &answer, NULL) < 0);
	fuzz_never(open_it(&ask, g->key_id, private, &answer) < 0);
	fuzz_never(open_it(&ask, "another-key", private, &answer) == 0 &&
		   strcmp(g->key_id, "another-key"));
	alter(&answer, g->digit);
	fuzz_never(open_it(&ask, g->key_id, private, &answer) == 0);
	phx_record_fini(&phx_key_ask_record, &ask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct given g;
	begin();
	if (phx_json_text_to_record(&given_record, text, &g, NULL) < 0)
		return 0;
	fuzz_never(verify(&g.ask, g.key_id) == 0);
	char *cert = PHX_TAKE(g.ask.cert);
	ask_signed(&g);
	seal(&g);
	open_own(&g);
	free(cert);
	phx_record_fini(&given_record, &g);
	return 0;
}
