/* Keys of disks on their way: only a node of this CA asks, only who asked opens the answer, and
 * nothing of question or answer can be altered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "base/file.h"
#include "base/tree.h"
#include "pki/sealed.h"

#define KEY_ID "n1-7"
#define BOOT "6d9e4c1a-boot"

static char dir[64], key_path[96], cert_path[96];
static struct phx_pki *pki;
static struct phx_key_ask ask;
static uint8_t private[PHX_SEALED_PUBLIC_SIZE], key[PHX_DISK_KEY_SIZE];
static struct phx_err err;

static void certify(enum phx_cert_kind kind, struct phx_pki *by)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL, *cert = NULL;
	assert_int_equal(phx_csr_make("n1", &pem, &csr, &err), 0);
	assert_int_equal(phx_cert_issue(by, csr, kind, "n1", 1, &cert, &err), 0);
	assert_int_equal(phx_file_write(key_path, pem, strlen(pem), 0600, &err), 0);
	assert_int_equal(phx_file_write(cert_path, cert, strlen(cert), 0600, &err), 0);
}

static void asks(void)
{
	phx_record_fini(&phx_key_ask_record, &ask);
	assert_int_equal(phx_key_ask_make(KEY_ID, BOOT, key_path, cert_path, &ask, private, &err),
			 0);
}

static int verify(const char *key_id)
{
	struct phx_cert_info node;
	phx_err_clear(&err);
	int r = phx_key_ask_verify(&ask, key_id, phx_pki_ca_pem(pki), &node, &err);
	if (r == 0)
		assert_string_equal(node.name, "n1");
	return r;
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-sealed.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(key_path, sizeof(key_path), "%s/agent.key", dir);
	snprintf(cert_path, sizeof(cert_path), "%s/agent.pem", dir);
	memset(key, 0x5a, sizeof(key));
	phx_err_clear(&err);
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, &err), 0);
	certify(PHX_CERT_NODE, pki);
	asks();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_record_fini(&phx_key_ask_record, &ask);
	phx_pki_free(PHX_TAKE(pki));
	return phx_dir_remove(dir, NULL);
}

static void who_asked_opens_it(void **state)
{
	struct phx_key_sealed sealed, again;
	uint8_t got[PHX_DISK_KEY_SIZE] = {0};
	char hex[2 * PHX_DISK_KEY_SIZE + 1];
	(void)state;
	assert_int_equal(verify(KEY_ID), 0);
	assert_int_equal(phx_key_seal(&ask, KEY_ID, key, &sealed, &err), 0);
	assert_int_equal(phx_key_open(&ask, KEY_ID, private, &sealed, got, &err), 0);
	assert_memory_equal(got, key, sizeof(key));
	/* what travels is another text each time, and none of them the key */
	phx_hex(key, sizeof(key), hex);
	assert_null(strstr(sealed.sealed, hex));
	assert_int_equal(phx_key_seal(&ask, KEY_ID, key, &again, &err), 0);
	assert_string_not_equal(sealed.sealed, again.sealed);
	assert_string_not_equal(sealed.from, again.from);
}

/* The head kept question and answer, and asks once more in the node's name. */
static void nobody_else_opens_it(void **state)
{
	struct phx_key_sealed sealed;
	uint8_t of_before[PHX_SEALED_PUBLIC_SIZE], got[PHX_DISK_KEY_SIZE] = {0};
	(void)state;
	assert_int_equal(phx_key_seal(&ask, KEY_ID, key, &sealed, &err), 0);
	memcpy(of_before, private, sizeof(of_before));
	asks();
	assert_int_equal(phx_key_open(&ask, KEY_ID, private, &sealed, got, &err), -EBADMSG);
	assert_int_equal(phx_key_open(&ask, KEY_ID, of_before, &sealed, got, &err), -EBADMSG);
	assert_int_equal(got[0], 0);
}

static void an_altered_answer_is_none(void **state)
{
	struct phx_key_sealed sealed, was;
	uint8_t got[PHX_DISK_KEY_SIZE];
	(void)state;
	assert_int_equal(phx_key_seal(&ask, KEY_ID, key, &sealed, &err), 0);
	was = sealed;
	for (size_t i = 0; i < 2 * PHX_SEALED_SIZE; i++) {
		sealed.sealed[i] = sealed.sealed[i] == '0' ? '1' : '0';
		assert_int_equal(phx_key_open(&ask, KEY_ID, private, &sealed, got, &err), -EBADMSG);
		sealed = was;
	}
	sealed.from[3] = sealed.from[3] == '0' ? '1' : '0';
	assert_int_equal(phx_key_open(&ask, KEY_ID, private, &sealed, got, &err), -EBADMSG);
	sealed = was;
	sealed.sealed[2 * PHX_SEALED_SIZE - 2] = '\0';
	assert_int_equal(phx_key_open(&ask, KEY_ID, private, &sealed, got, &err), -EBADMSG);
	/* for another key */
	assert_int_equal(phx_key_open(&ask, "n1-8", private, &was, got, &err), -EBADMSG);
	assert_int_equal(phx_key_open(&ask, KEY_ID, private, &was, got, &err), 0);
}

/* A point that has the same in common with everybody. */
static void a_key_that_is_none_is_sealed_for_nobody(void **state)
{
	struct phx_key_sealed sealed;
	(void)state;
	memset(ask.to, '0', 2 * PHX_SEALED_PUBLIC_SIZE);
	assert_true(phx_key_seal(&ask, KEY_ID, key, &sealed, &err) < 0);
}

static void an_altered_question_is_nobodys(void **state)
{
	(void)state;
	assert_int_equal(verify("n1-8"), -EKEYREJECTED);
	ask.to[0] = ask.to[0] == '0' ? '1' : '0';
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
	asks();
	ask.boot_id[0]++;
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
	asks();
	ask.signature[0] = '\0';
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
	asks();
	PHX_STR_SET(ask.boot_id, "two words");
	assert_int_equal(verify(KEY_ID), -EINVAL);
	asks();
	ask.to[7] = '\0';
	assert_int_equal(verify(KEY_ID), -EINVAL);
	asks();
	free(PHX_TAKE(ask.cert));
	assert_int_equal(verify(KEY_ID), -EINVAL);
}

static void only_nodes_of_this_ca_ask(void **state)
{
	PHX_AUTO_FREE char *there = phx_path("%s/other", dir);
	struct phx_pki *other = NULL;
	(void)state;
	certify(PHX_CERT_PROVIDER, pki);
	asks();
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
	assert_int_equal(phx_pki_open(there, NULL, 0, &other, &err), 0);
	certify(PHX_CERT_NODE, other);
	phx_pki_free(other);
	asks();
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
}

static void another_key_than_the_certificates_is_refused(void **state)
{
	PHX_AUTO_FREE char *cert = NULL;
	(void)state;
	assert_int_equal(phx_file_read(cert_path, 1 << 16, &cert, NULL, &err), 0);
	certify(PHX_CERT_NODE, pki);
	assert_int_equal(phx_file_write(cert_path, cert, strlen(cert), 0600, &err), 0);
	asks();
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
}

/* Its certificate is of the CA of before: it asks until that is retired. */
static void who_rests_on_the_former_ca_asks_until_it_is_retired(void **state)
{
	(void)state;
	assert_int_equal(phx_pki_rotate(dir, &err), 0);
	phx_pki_free(PHX_TAKE(pki));
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, &err), 0);
	assert_int_equal(verify(KEY_ID), 0);
	assert_int_equal(phx_pki_retire(dir, &err), 0);
	phx_pki_free(PHX_TAKE(pki));
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, &err), 0);
	assert_int_equal(verify(KEY_ID), -EKEYREJECTED);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(who_asked_opens_it),
		T(nobody_else_opens_it),
		T(an_altered_answer_is_none),
		T(a_key_that_is_none_is_sealed_for_nobody),
		T(an_altered_question_is_nobodys),
		T(only_nodes_of_this_ca_ask),
		T(another_key_than_the_certificates_is_refused),
		T(who_rests_on_the_former_ca_asks_until_it_is_retired),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
