/* What a head that was taken over gets from the vault: answers, and no signature that is not a
 * head's. */
#include <errno.h>

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
	assert_int_equal(ask_text(&v, VAULT_attest, 0, "{\"format\":1}"), 0);
	/* what is behind a '\0' would be signed and not looked at */
	assert_int_equal(
		ask(&v, (struct phx_apart_question){.op = VAULT_sign, .body = "{\"\0x}", .n = 5}),
		-EPERM);
	vault_fini(&v);
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
		cmocka_unit_test_setup_teardown(certificates_are_short, world_make, world_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
