/* Attestations as the journal makes them of the erase records of a plan: a TPM is named where it
 * signed every erase, and what is made is believed by whoever verifies it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <openssl/evp.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/key_signer.h"
#include "fake/tpm.h"
#include "journal/attest.h"
#include "journal/erasure.h"
#include "journal/row.h"
#include "pki/attestation.h"

enum { EPOCH = 5, FIRST_STEP = 7, DISKS = 2, NOW_MS = 1000000 };

static char dir[64], attest_key[96], pub[96], node_key[96], key_fp[PHX_FINGERPRINT_MAX];
static char *node_cert;
static struct phx_state s;
static uint32_t n_left;
static struct fake_tpm tpm, other_tpm;
static struct phx_action erased[DISKS];
static struct phx_err err;

static const struct phx_signer signer = {.sign = fake_key_sign, .arg = attest_key};

static void write_node_key(struct phx_pki *pki)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL;
	assert_int_equal(phx_csr_make("n1", &pem, &csr, &err), 0);
	assert_int_equal(phx_cert_issue(pki, csr, PHX_CERT_NODE, "n1", 30, &node_cert, &err), 0);
	assert_int_equal(phx_file_write(node_key, pem, strlen(pem), 0600, &err), 0);
}

static void add_node(void)
{
	struct phx_event ev = {.kind = PHX_EV_node_add, .node = "n1"};
	struct phx_outcome out = {0};
	struct phx_mac *m = phx_list_push(&ev.node_add.macs, sizeof(*m));
	PHX_STR_SET(m->mac, "02:00:00:00:00:01");
	assert_int_equal(phx_core_apply(&s, &ev, &out, &err), 0);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	struct phx_node *n = phx_state_node(&s, "n1");
	for (int i = 0; i < DISKS; i++) {
		struct phx_known_disk *d = phx_list_push(&n->known_disks, sizeof(*d));
		snprintf(d->id, sizeof(d->id), "serial-%d", i);
		d->size_bytes = 4096;
	}
}

static int setup(void **state)
{
	struct phx_pki *pki = NULL;
	(void)state;
	strcpy(dir, "/tmp/phx-attest-make.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(attest_key, sizeof(attest_key), "%s/attest.key", dir);
	snprintf(pub, sizeof(pub), "%s/attest.pub", dir);
	snprintf(node_key, sizeof(node_key), "%s/node.key", dir);
	phx_err_clear(&err);
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, &err), 0);
	assert_int_equal(phx_pub_fingerprint(pub, key_fp, &err), 0);
	write_node_key(pki);
	phx_pki_free(pki);
	fake_tpm_init(&tpm);
	fake_tpm_init(&other_tpm);
	phx_state_init(&s);
	n_left = 0;
	add_node();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_state_fini(&s);
	fake_tpm_fini(&tpm);
	fake_tpm_fini(&other_tpm);
	free(node_cert);
	return phx_dir_remove(dir, NULL);
}

static void quote_by(const struct fake_tpm *t, const struct phx_statement *said,
		     struct phx_action *act)
{
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct phx_quote q;
	struct phx_quoted quoted;
	assert_int_equal(phx_statement_digest(said, data), 0);
	assert_int_equal(fake_tpm_quote(t, data, &q), 0);
	assert_int_equal(phx_quote_verify(&q, data, &quoted, &err), 0);
	PHX_STR_SET(act->tpm, quoted.key);
	PHX_STR_SET(act->tpm_key, q.tpm_key);
	PHX_STR_SET(act->tpm_said, q.tpm_said);
	PHX_STR_SET(act->tpm_signature, q.tpm_signature);
	PHX_STR_SET(act->tpm_pcrs, q.tpm_pcrs);
}

/* Disk number i was erased, and the node signed it; `by`: so did that TPM. */
static void erase(int i, const struct fake_tpm *by)
{
	struct phx_statement said = {
		.node = "n1",
		.step_id = FIRST_STEP + (uint64_t)i,
		.epoch = EPOCH,
		.nonce = 4711 + (uint64_t)i,
		.boot_id = "boot",
		.image_sha256 = "image",
		.method = "overwrite",
		.used = "overwrite",
		.size_bytes = 4096,
		.verified_bytes = 4096,
		.places = 1,
		.read_sha256 = "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f",
		.detail = "zeros"};
	struct phx_action *act = &erased[i];
	struct phx_seal seal;
	*act = (struct phx_action){
		.kind = PHX_ACT_ERASED,
		.node = "n1",
		.step_id = said.step_id,
		.epoch = EPOCH,
		.nonce = said.nonce,
		.method = PHX_WIPE_OVERWRITE,
		.used = PHX_WIPE_OVERWRITE,
		.size_bytes = 4096,
		.verified_bytes = 4096,
		.verify = PHX_VERIFY_FULL,
		.places = 1,
		.read_sha256 = "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f",
		.boot_id = "boot",
		.image_sha256 = "image",
		.image = "deploy 1",
		.text = "zeros"};
	snprintf(act->disk, sizeof(act->disk), "serial-%d", i);
	PHX_STR_SET(said.disk_id, act->disk);
	assert_int_equal(phx_statement_sign(&said, node_key, &seal, &err), 0);
	PHX_STR_SET(act->key, seal.key);
	PHX_STR_SET(act->signature, seal.signature);
	assert_int_equal(phx_statement_verify(&said, seal.key, seal.signature, act->signer, &err),
			 0);
	if (by)
		quote_by(by, &said, act);
}

/* ---- the journal's part ---- */

static int tell_erasures(void *arg, const char *node, uint64_t first, uint64_t last,
			 phx_store_erasure_fn fn, void *fn_arg, struct phx_err *why)
{
	const struct phx_event ev = {
		.kind = PHX_EV_step_result, .now_ms = NOW_MS, .answer = {.cert = node_cert}};
	int r = 0;
	(void)arg;
	(void)why;
	assert_string_equal(node, "n1");
	assert_true(first == FIRST_STEP && last == FIRST_STEP + DISKS - 1);
	for (int i = 0; r == 0 && i < DISKS; i++) {
		PHX_AUTO_JSON json_t *j = phx_erasure_json(&s, &ev, &erased[i]);
		PHX_AUTO_FREE char *text = json_dumps(j, 0);
		r = fn(fn_arg, &(struct phx_store_erasure){.record = text});
	}
	return r;
}

/* What is made is believed, and says this of the TPM. */
static void says(const char *word, const char *key)
{
	const struct phx_attester by = {&signer, key_fp, 3};
	const struct phx_journal_store store = {.erasures_from = tell_erasures};
	const struct phx_event ev = {.now_ms = NOW_MS};
	const struct phx_store_erasure none = {0};
	/* the core names the TPM of the last erase */
	struct phx_action act = {.kind = PHX_ACT_ATTEST,
				 .node = "n1",
				 .first_id = FIRST_STEP,
				 .step_id = FIRST_STEP + DISKS - 1,
				 .epoch = EPOCH};
	struct phx_store_attestation row;
	struct phx_attestation a;
	PHX_STR_SET(act.tpm, erased[DISKS - 1].tpm);
	assert_int_equal(phx_attest_make(&by, &store, &s, &ev, &act, &none, &row, &err), 0);
	int r = phx_attestation_verify(row.text, strlen(row.text), pub, NULL, NOW_MS, &a, &err);
	free((char *)row.text);
	if (r < 0)
		fail_msg("the head's own document is refused: %s", err.text);
	assert_string_equal(a.tpm, word);
	PHX_LIST_EACH(struct phx_attested_disk, d, &a.disks)
		assert_int_equal(d->verify, d->left[0] ? PHX_VERIFY_SAMPLE : PHX_VERIFY_FULL);
	assert_int_equal(phx_attestation_left(&a), n_left);
	assert_string_equal(a.tpm_key, key);
	phx_record_fini(&phx_attestation_record, &a);
}

static void a_tpm_that_signed_all_is_named(void **state)
{
	(void)state;
	erase(0, &tpm);
	erase(1, &tpm);
	says("quoted", erased[0].tpm);
}

/* An erase before the TPM was first seen, or that it did not sign. */
static void one_that_signed_the_last_alone_is_not(void **state)
{
	(void)state;
	erase(0, NULL);
	erase(1, &tpm);
	says("none", "");
}

/* Somebody said between them that the board was replaced. */
static void two_are_not(void **state)
{
	(void)state;
	erase(0, &other_tpm);
	erase(1, &tpm);
	says("none", "");
}

static void one_whose_quote_is_of_another_disk_is_not(void **state)
{
	struct phx_action was;
	(void)state;
	erase(0, &tpm);
	erase(1, &tpm);
	was = erased[1];
	PHX_STR_SET(erased[0].tpm_said, was.tpm_said);
	PHX_STR_SET(erased[0].tpm_signature, was.tpm_signature);
	says("none", "");
}

static int nobody_signs(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
			struct phx_err *why)
{
	(void)arg;
	(void)text;
	(void)ret;
	return phx_err_set(why, -EPIPE, "who signs is away");
}

/* The event that asks for an attestation is written with it or not at all. */
static void what_nobody_signs_is_not_recorded(void **state)
{
	const struct phx_signer away = {.sign = nobody_signs, .arg = NULL};
	struct phx_journal_config config = {.attester = {&away, key_fp, 3},
					    .store = {.erasures_from = tell_erasures}};
	struct phx_event ev = {.kind = PHX_EV_tick, .now_ms = NOW_MS};
	struct phx_each e = {.node = "n1"};
	struct phx_store_row row = {0};
	(void)state;
	erase(0, NULL);
	erase(1, NULL);
	struct phx_action *act = phx_list_push(&e.out.actions, sizeof(*act));
	*act = (struct phx_action){.kind = PHX_ACT_ATTEST,
				   .node = "n1",
				   .first_id = FIRST_STEP,
				   .step_id = FIRST_STEP + DISKS - 1,
				   .epoch = EPOCH};
	assert_int_equal(phx_journal_row(&config, &s, &ev, &e, &row, &err), -EPIPE);
	assert_string_equal(err.text, "who signs is away");
	phx_journal_row_fini(&row);
	/* and with it, once he is back */
	config.attester.signer = &signer;
	row = (struct phx_store_row){0};
	assert_int_equal(phx_journal_row(&config, &s, &ev, &e, &row, &err), 0);
	assert_non_null(row.attestation.text);
	phx_journal_row_fini(&row);
	phx_outcome_fini(&e.out);
}

/* Its TPM has signed the erases that there were; the record of each says what was left, too. */
static void a_disk_that_was_left_is_named(void **state)
{
	struct phx_node *n = phx_state_node(&s, "n1");
	const struct phx_event ev = {.kind = PHX_EV_step_result, .answer = {.cert = node_cert}};
	struct phx_known_disk *d = phx_list_push(&n->known_disks, sizeof(*d));
	(void)state;
	PHX_STR_SET(d->id, "wwn-0x1");
	d->left = strdup("remote (fc)");
	n_left = 1;
	erase(0, &tpm);
	erase(1, &tpm);
	says("quoted", erased[0].tpm);
	PHX_AUTO_JSON json_t *j = phx_erasure_json(&s, &ev, &erased[0]);
	const json_t *disks = json_object_get(j, "disks");
	assert_string_equal(phx_json_str(json_array_get(disks, 2), "left", ""), "remote (fc)");
	assert_string_equal(phx_json_str(json_array_get(disks, 0), "left", "none"), "");
}

static void none_is_none(void **state)
{
	(void)state;
	erase(0, NULL);
	erase(1, NULL);
	says("none", "");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_tpm_that_signed_all_is_named),
		T(one_that_signed_the_last_alone_is_not),
		T(two_are_not),
		T(one_whose_quote_is_of_another_disk_is_not),
		T(none_is_none),
		T(a_disk_that_was_left_is_named),
		T(what_nobody_signs_is_not_recorded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
