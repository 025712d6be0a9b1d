/* What a head that was taken over gets from the vault: answers, and no signature that is not a
 * head's. */
#include <errno.h>

#include "pki/attestation.h"
#include "unit/vault/world.h"

/* Asks in this process; the result. */
static int ask(struct vault *v, struct phx_apart_question q)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_err err = {0};
	int r = vault_answer(v, &q, &reply, &err);
	assert_true(r <= 0);
	assert_false(reply.body.failed);
	return r;
}

static int ask_text(struct vault *v, enum vault_op op, uint32_t days, const char *body)
{
	return ask(v,
		   (struct phx_apart_question){.op = op,
					       .number = days,
					       .body = body,
					       .n = (uint32_t)strlen(body),
					       .name = "n1"});
}

static void open_site(struct vault *v)
{
	*v = (struct vault){.config = &config};
	assert_int_equal(ask_text(v, VAULT_site, 0, ""), 0);
}

static void nonsense_is_answered(void **state)
{
	struct vault v = {.config = &config};
	(void)state;
	for (uint32_t op = 0; op < N_VAULT_OPS + 3; op++) {
		int r = ask(&v,
			    (struct phx_apart_question){
				    .op = op, .number = 1, .body = "\0\0\0", .n = 3});
		assert_true(op == VAULT_site || r < 0);
		assert_true(op < N_VAULT_OPS || r == -ENOSYS);
	}
	vault_fini(&v);
}

static void texts_of_others_are_not_signed(void **state)
{
	static const char *const bad[] = {
		"phoenix package sha256 0000\n",
		"phoenix image sha256 0000\n",
		"phoenix anchorjournal",
		" {}",
		"",
	};
	struct vault v;
	(void)state;
	open_site(&v);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		assert_int_equal(ask_text(&v, VAULT_sign, 0, bad[i]), -EPERM);
	assert_int_equal(ask_text(&v, VAULT_sign, 0, "{\"node\":\"n1\"}"), 0);
	/* each key has its own texts */
	assert_int_equal(ask_text(&v, VAULT_attest, 0, "{\"node\":\"n1\"}"), -EPERM);
	assert_int_equal(ask_text(&v, VAULT_attest, 0, "{\"format\":1}"), -EPERM);
	/* what is behind a '\0' would be signed and not looked at */
	assert_int_equal(
		ask(&v, (struct phx_apart_question){.op = VAULT_sign, .body = "{\"\0x}", .n = 5}),
		-EPERM);
	vault_fini(&v);
}

#define ANCHOR "phoenix anchor journal 0 event 1 hash 2 time 3 snapshot -"

/* How far its log is the vault says itself: no head may. */
static void an_anchor_says_how_far_the_log_is(void **state)
{
	struct phx_apart_question q = {.op = VAULT_sign, .body = ANCHOR, .n = strlen(ANCHOR)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_AUTO_FREE char *pub = phx_path("%s/site.pub", pki_dir), *text = NULL;
	char end[PHX_ANCHOR_END_MAX];
	struct phx_err err = {0};
	struct vault v;
	(void)state;
	open_site(&v);
	assert_int_equal(ask_text(&v, VAULT_sign, 0, ANCHOR), 0);
	phx_anchor_end(v.log.n_lines, v.log.hash, end);
	q.number = VAULT_WITH_END;
	assert_int_equal(vault_answer(&v, &q, &reply, &err), 0);
	assert_string_equal(reply.body.data + PHX_SIG_SIZE, end);
	text = phx_path(ANCHOR "%s", end);
	assert_int_equal(
		phx_verify(pub, text, strlen(text), (const uint8_t *)reply.body.data, &err), 0);
	assert_int_equal(ask_text(&v, VAULT_sign, 0, text), -EPERM);
	assert_int_equal(ask_text(&v, VAULT_sign, VAULT_WITH_END, text), -EPERM);
	assert_int_equal(ask_text(&v, VAULT_sign, VAULT_WITH_END, "phoenix package sha256 0"),
			 -EPERM);
	vault_fini(&v);
}

/* An erase of n1, signed with a key that `by` certified for the node `name`. */
struct forgery {
	struct phx_pki *by;
	const char *name;
	uint32_t format;
};

static void make_disk(const struct forgery *f, struct phx_attested_disk *d)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL, *cert = NULL;
	PHX_AUTO_FREE char *path = phx_path("%s/node.key", dir);
	struct phx_seal seal;
	assert_int_equal(phx_csr_make(f->name, &pem, &csr, NULL), 0);
	assert_int_equal(phx_file_write(path, pem, strlen(pem), 0600, NULL), 0);
	assert_int_equal(phx_cert_issue(f->by, csr, PHX_CERT_NODE, f->name, 30, &cert, NULL), 0);
	*d = (struct phx_attested_disk){.id = "serial-1",
					.nonce = 4711,
					.said = {.node = "n1",
						 .step_id = 7,
						 .epoch = 5,
						 .nonce = 4711,
						 .image_sha256 = "image",
						 .disk_id = "serial-1",
						 .used = "overwrite",
						 .size_bytes = 4096,
						 .verified_bytes = 4096,
						 .read_sha256 = "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"
								"5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"}};
	assert_int_equal(phx_statement_sign(&d->said, path, &seal, NULL), 0);
	PHX_MEMBERS_COPY(PHX_ERASED_SEAL_FIELDS, d, &seal);
	PHX_STR_SET(d->cert, cert);
	assert_int_equal(phx_statement_verify(&d->said, d->key, d->signature, d->signer, NULL), 0);
}

static int sign_nothing(void *arg, const char *body, char ret[PHX_ANCHOR_SIGNATURE_MAX],
			struct phx_err *err)
{
	(void)err;
	(void)ret;
	*(char **)arg = strdup(body);
	return 0;
}

/* The vault is asked to countersign it. */
static int countersigned(struct vault *v, const struct forgery *f)
{
	PHX_AUTO_FREE char *body = NULL, *text = NULL;
	const struct phx_signer signer = {.sign = sign_nothing, .arg = &body};
	struct phx_attestation a = {.format = f->format,
				    .id = 7,
				    .node = "n1",
				    .epoch = 5,
				    .reset = "kexec",
				    .tpm = "none"};
	make_disk(f, phx_list_push(&a.disks, sizeof(struct phx_attested_disk)));
	assert_int_equal(phx_attestation_text(&a, &signer, &text, NULL), 0);
	phx_record_fini(&phx_attestation_record, &a);
	return ask_text(v, VAULT_attest, 0, body);
}

/* Who has the head has all that is in the document made on the spot, but for the certificate. */
static void what_no_node_signed_is_not_countersigned(void **state)
{
	PHX_AUTO_FREE char *there = phx_path("%s/other", dir);
	PHX_AUTO_FREE char *log_path = phx_path("%s/vault.log", pki_dir), *log = NULL;
	struct phx_pki *other = NULL;
	struct vault v;
	(void)state;
	open_site(&v);
	assert_int_equal(phx_pki_open(there, NULL, 0, &other, NULL), 0);
	const struct forgery honest = {v.pki, "n1", PHX_ATTESTATION_FORMAT},
			     own_key = {other, "n1", PHX_ATTESTATION_FORMAT},
			     another_node = {v.pki, "n2", PHX_ATTESTATION_FORMAT},
			     of_before = {v.pki, "n1", PHX_ATTESTATION_FORMAT - 1};
	assert_int_equal(countersigned(&v, &honest), 0);
	assert_int_equal(countersigned(&v, &own_key), -EPERM);
	assert_int_equal(countersigned(&v, &another_node), -EPERM);
	assert_int_equal(countersigned(&v, &of_before), -EPERM);
	assert_int_equal(countersigned(&v, &honest), 0);
	phx_pki_free(other);
	vault_fini(&v);
	/* and who reads the log sees that it was tried */
	assert_int_equal(phx_file_read(log_path, 1 << 20, &log, NULL, NULL), 0);
	assert_non_null(strstr(log, "attestation refuse: disk serial-1: nothing proves whose key"));
}

static void certificates_are_short(void **state)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL;
	struct vault v;
	(void)state;
	open_site(&v);
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	assert_int_equal(ask_text(&v, VAULT_cert, PHX_NODE_CERT_DAYS, csr), 0);
	assert_int_equal(ask_text(&v, VAULT_cert, PHX_NODE_CERT_DAYS + 1, csr), -EPERM);
	assert_int_equal(ask_text(&v, VAULT_cert, UINT32_MAX, csr), -EPERM);
	vault_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nonsense_is_answered, world_make, world_end),
		cmocka_unit_test_setup_teardown(texts_of_others_are_not_signed, world_make,
						world_end),
		cmocka_unit_test_setup_teardown(an_anchor_says_how_far_the_log_is, world_make,
						world_end),
		cmocka_unit_test_setup_teardown(what_no_node_signed_is_not_countersigned,
						world_make, world_end),
		cmocka_unit_test_setup_teardown(certificates_are_short, world_make, world_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
