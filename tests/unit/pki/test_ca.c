/* The change of the site's CA: who is believed when, what a cut leaves, what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/file.h"
#include "base/tree.h"
#include "pki/internal.h"

static const char *const names[] = {"10.77.0.1", "head.example"};

struct place {
	char dir[64];
	struct phx_pki *pki;
};

static void reopen(struct place *t)
{
	struct phx_err err = {0};
	phx_pki_free(PHX_TAKE(t->pki));
	int r = phx_pki_open(t->dir, names, 2, &t->pki, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

static int setup(void **state)
{
	struct place *t = calloc(1, sizeof(*t));
	strcpy(t->dir, "/tmp/phx-test-ca-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	reopen(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct place *t = *state;
	phx_pki_free(t->pki);
	phx_dir_remove(t->dir, NULL);
	free(t);
	return 0;
}

static char *path_of(const struct place *t, const char *name)
{
	return phx_path("%s/%s", t->dir, name);
}

static bool is_there(const struct place *t, const char *name)
{
	PHX_AUTO_FREE char *path = path_of(t, name);
	return access(path, F_OK) == 0;
}

static void copy(const struct place *t, const char *from, const char *to)
{
	PHX_AUTO_FREE char *source = path_of(t, from), *target = path_of(t, to), *text = NULL;
	size_t n = 0;
	assert_int_equal(phx_file_read(source, 65536, &text, &n, NULL), 0);
	assert_int_equal(phx_file_write(target, text, n, 0600, NULL), 0);
}

static void rotate(struct place *t)
{
	struct phx_err err = {0};
	assert_int_equal(phx_pki_rotate(t->dir, &err), 0);
	reopen(t);
}

static void retire(struct place *t)
{
	struct phx_err err = {0};
	assert_int_equal(phx_pki_retire(t->dir, &err), 0);
	reopen(t);
}

static X509 *parse(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	assert_non_null(x);
	return x;
}

static char *issue(struct place *t, enum phx_cert_kind kind)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL;
	char *cert = NULL;
	assert_int_equal(phx_csr_make("alice", &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, kind, "alice", 9, &cert, NULL), 0);
	return cert;
}

/* As a listener looks at what a client shows; ret_ca (may be NULL): who has signed it. */
static int believe(const struct place *t, const char *pem, char ret_ca[PHX_FINGERPRINT_MAX])
{
	X509 *x = parse(pem);
	unsigned char *der = NULL;
	struct phx_cert_info info = {0};
	int n = i2d_X509(x, &der);
	int r = phx_pki_believe(t->pki, der, (size_t)n, &info, NULL);
	if (ret_ca)
		phx_str_copy(ret_ca, PHX_FINGERPRINT_MAX, info.ca);
	OPENSSL_free(der);
	X509_free(x);
	return r;
}

/* Is the head's certificate of the CA that has this place in ca.pem? */
static bool shows(const struct place *t, size_t place)
{
	BIO *bio = BIO_new_mem_buf(phx_pki_ca_pem(t->pki), -1);
	X509 *ca = NULL, *x = parse(phx_pki_server_pem(t->pki));
	for (size_t i = 0; i <= place; i++) {
		X509_free(ca);
		ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
		assert_non_null(ca);
	}
	/* as clients look at it: by the name of the CA's key, too */
	bool is =
		X509_check_issued(ca, x) == X509_V_OK && X509_verify(x, X509_get0_pubkey(ca)) == 1;
	BIO_free(bio);
	X509_free(ca);
	X509_free(x);
	return is;
}

/* ---- the three times ---- */

static void test_one_ca(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *cert = issue(t, PHX_CERT_PROVIDER);
	char ca[PHX_FINGERPRINT_MAX];
	struct phx_err err = {0};
	assert_false(phx_pki_rolls(t->pki));
	assert_int_equal(believe(t, cert, ca), 0);
	assert_string_equal(ca, phx_pki_ca_id(t->pki));
	assert_true(phx_pki_has_ca(t->pki, ca));
	assert_false(phx_pki_has_ca(t->pki, ""));
	assert_int_equal(phx_pki_retire(t->dir, &err), -ENOENT);
	assert_non_null(strstr(err.text, "one CA alone"));
}

static void test_both_are_believed(void **state)
{
	struct place *t = *state;
	struct phx_ca_info cas[PHX_CAS_MAX];
	char first[PHX_FINGERPRINT_MAX], ca[PHX_FINGERPRINT_MAX];
	struct phx_err err = {0};
	PHX_AUTO_FREE char *before = issue(t, PHX_CERT_PROVIDER);
	phx_str_copy(first, sizeof(first), phx_pki_ca_id(t->pki));
	rotate(t);
	PHX_AUTO_FREE char *now = issue(t, PHX_CERT_PROVIDER);
	assert_true(phx_pki_rolls(t->pki));
	assert_int_equal(believe(t, before, ca), 0);
	assert_string_equal(ca, first);
	assert_int_equal(believe(t, now, ca), 0);
	assert_string_equal(ca, phx_pki_ca_id(t->pki));
	assert_string_not_equal(ca, first);
	assert_int_equal(phx_ca_list(phx_pki_ca_pem(t->pki), "ca", cas, &err), 2);
	assert_string_equal(cas[0].id, ca);
	assert_string_equal(cas[1].id, first);
	/* not everybody knows the new one */
	assert_true(shows(t, 1));
	assert_int_equal(phx_pki_rotate(t->dir, &err), -EBUSY);
	assert_non_null(strstr(err.text, "phx pki retire"));
	reopen(t);
	assert_string_equal(phx_pki_ca_id(t->pki), ca);
}

static void test_the_former_is_retired(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *before = issue(t, PHX_CERT_PROVIDER);
	rotate(t);
	PHX_AUTO_FREE char *now = issue(t, PHX_CERT_PROVIDER);
	assert_true(is_there(t, "ca-old.key"));
	retire(t);
	assert_false(phx_pki_rolls(t->pki));
	assert_int_equal(believe(t, before, NULL), -EKEYREJECTED);
	assert_int_equal(believe(t, now, NULL), 0);
	assert_true(shows(t, 0));
	assert_false(is_there(t, "ca-old.key"));
	rotate(t); /* and again */
	assert_int_equal(believe(t, now, NULL), 0);
}

/* Other names of the head in between: everybody must go on believing it. */
static void test_other_names_meanwhile(void **state)
{
	static const char *const more[] = {"10.77.0.1", "head.example", "other.example"};
	struct place *t = *state;
	rotate(t);
	PHX_AUTO_FREE char *server = strdup(phx_pki_server_pem(t->pki));
	phx_pki_free(PHX_TAKE(t->pki));
	assert_int_equal(phx_pki_open(t->dir, more, 3, &t->pki, NULL), 0);
	assert_string_not_equal(server, phx_pki_server_pem(t->pki));
	assert_true(shows(t, 1));
}

/* What is signed by `ca_key` for a client, from then to then, in seconds from now. */
static int undated(const struct place *t, EVP_PKEY *ca_key, const char *usage, long from_s,
		   long to_s, struct phx_cert_info *ret, struct phx_err *err)
{
	X509 *ca = parse(phx_pki_ca_pem(t->pki));
	PHX_AUTO_KEY EVP_PKEY *key = EVP_EC_gen("P-256");
	const struct phx_cert_spec spec = {.name = "n1",
					   .unit = "node",
					   .subject_key = key,
					   .issuer = ca,
					   .issuer_key = ca_key,
					   .usage = usage,
					   .days = 1};
	X509 *x = phx_cert_make(&spec, err);
	struct phx_cert_info other;
	unsigned char *der = NULL;
	assert_non_null(x);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), from_s));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), to_s));
	assert_true(X509_sign(x, ca_key, phx_pki_digest_of(ca_key)) > 0);
	int n = i2d_X509(x, &der);
	int believed = phx_pki_believe(t->pki, der, (size_t)n, &other, NULL);
	phx_err_clear(err);
	int r = phx_pki_undated(t->pki, der, (size_t)n, ret, err);
	assert_true(believed == 0 || believed == -EKEYREJECTED);
	assert_true(believed != 0 || r != 0);
	OPENSSL_free(der);
	X509_free(x);
	X509_free(ca);
	return r;
}

static void test_dates_alone(void **state)
{
	struct place *t = *state;
	char path[200];
	PHX_AUTO_FREE char *pem = NULL;
	size_t n;
	struct phx_cert_info info = {0};
	struct phx_err err = {0};
	snprintf(path, sizeof(path), "%s/ca.key", t->dir);
	assert_int_equal(phx_file_read(path, 1 << 16, &pem, &n, NULL), 0);
	PHX_AUTO_KEY EVP_PKEY *ca = phx_pki_key_parse(pem, "the CA's key", NULL);
	PHX_AUTO_KEY EVP_PKEY *other = EVP_EC_gen("P-256");
	assert_non_null(ca);
	assert_int_equal(undated(t, ca, "clientAuth", -9000, -3600, &info, &err), 0);
	assert_non_null(strstr(err.text, "it is valid no more since 20"));
	assert_string_equal(info.name, "n1");
	assert_int_equal(info.kind, PHX_CERT_NODE);
	assert_string_equal(info.ca, phx_pki_ca_id(t->pki));
	assert_int_equal(undated(t, ca, "clientAuth", 3600, 9000, &info, &err), 0);
	assert_non_null(strstr(err.text, "it is valid only from 20"));
	/* nothing is wrong with it; or more than its dates */
	info = (struct phx_cert_info){0};
	assert_int_equal(undated(t, ca, "clientAuth", -60, 3600, &info, &err), -EKEYREJECTED);
	assert_int_equal(undated(t, other, "clientAuth", -9000, -60, &info, &err), -EKEYREJECTED);
	assert_string_equal(info.name, "");
	assert_int_equal(undated(t, ca, "serverAuth", -9000, -60, &info, &err), -EKEYREJECTED);
	assert_int_equal(phx_pki_undated(t->pki, "x", 1, &info, &err), -EKEYREJECTED);
}

static void test_only_clients_are_believed(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *server = issue(t, PHX_CERT_SERVER);
	assert_int_equal(believe(t, server, NULL), -EKEYREJECTED);
	assert_int_equal(believe(t, phx_pki_ca_pem(t->pki), NULL), -EKEYREJECTED);
	assert_int_equal(phx_pki_believe(t->pki, "x", 1, NULL, NULL), -EINVAL);
}

static void test_check_tells_the_former(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL, *next = NULL;
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 9, &cert, NULL), 0);
	PHX_AUTO_FREE char *alone = strdup(phx_pki_ca_pem(t->pki));
	rotate(t);
	const char *both = phx_pki_ca_pem(t->pki);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 9, &next, NULL), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, both, NULL), PHX_CERT_OF_FORMER);
	assert_int_equal(phx_cert_check(next, PHX_CERT_NODE, key, both, NULL), 0);
	assert_int_equal(phx_cert_check(next, PHX_CERT_NODE, key, alone, NULL), -EKEYREJECTED);
}

static void test_numbers_tell_cas_apart(void **state)
{
	struct place *t = *state;
	uint64_t alone = phx_ca_number(phx_pki_ca_pem(t->pki));
	PHX_AUTO_FREE char *spaced = phx_path("# a remark\n%s\n\n", phx_pki_ca_pem(t->pki));
	assert_int_equal(phx_ca_number(spaced), alone);
	rotate(t);
	uint64_t both = phx_ca_number(phx_pki_ca_pem(t->pki));
	retire(t);
	uint64_t next = phx_ca_number(phx_pki_ca_pem(t->pki));
	assert_true(alone && both && next && alone != both && both != next && alone != next);
	assert_int_equal(phx_ca_number(""), 0);
	assert_int_equal(phx_ca_number("nonsense"), 0);
}

static void test_too_many_are_refused(void **state)
{
	struct place *t = *state;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_ca_info cas[PHX_CAS_MAX];
	struct phx_err err = {0};
	for (int i = 0; i < PHX_CAS_MAX; i++)
		phx_buf_addf(&b, "%s", phx_pki_ca_pem(t->pki));
	assert_int_equal(phx_ca_list(b.data, "ca.pem", cas, &err), PHX_CAS_MAX);
	phx_buf_addf(&b, "%s", phx_pki_ca_pem(t->pki));
	assert_int_equal(phx_ca_list(b.data, "ca.pem", cas, &err), -E2BIG);
	assert_int_equal(phx_ca_list("", "ca.pem", cas, &err), -EINVAL);
}

/* ---- cut off ---- */

/* The files as each step of a change leaves them, and which CA signs then. */
static void check_whole(struct place *t, const char *signs, bool rolls)
{
	reopen(t);
	assert_string_equal(phx_pki_ca_id(t->pki), signs);
	assert_int_equal(phx_pki_rolls(t->pki), rolls);
	assert_false(is_there(t, "ca-next.key"));
	assert_int_equal(is_there(t, "ca-old.key"), rolls);
	PHX_AUTO_FREE char *cert = issue(t, PHX_CERT_USER);
	assert_int_equal(believe(t, cert, NULL), 0);
	assert_true(shows(t, rolls));
}

static void test_cut_before_is_as_before(void **state)
{
	struct place *t = *state;
	char first[PHX_FINGERPRINT_MAX];
	phx_str_copy(first, sizeof(first), phx_pki_ca_id(t->pki));
	copy(t, "ca.key", "first.key");
	copy(t, "ca.pem", "first.pem");
	rotate(t);
	copy(t, "ca.key", "second.key");
	/* the next key is written; then the copy of the former */
	copy(t, "first.key", "ca.key");
	copy(t, "first.pem", "ca.pem");
	copy(t, "second.key", "ca-next.key");
	check_whole(t, first, false);
	copy(t, "second.key", "ca-next.key");
	copy(t, "first.key", "ca-old.key");
	check_whole(t, first, false);
}

static void test_cut_behind_is_changed(void **state)
{
	struct place *t = *state;
	char second[PHX_FINGERPRINT_MAX];
	copy(t, "ca.key", "first.key");
	rotate(t);
	phx_str_copy(second, sizeof(second), phx_pki_ca_id(t->pki));
	/* ca.pem is renamed, the key is not yet */
	copy(t, "ca.key", "ca-next.key");
	copy(t, "first.key", "ca.key");
	check_whole(t, second, true);
}

static void test_cut_retiring(void **state)
{
	struct place *t = *state;
	struct phx_err err = {0};
	char second[PHX_FINGERPRINT_MAX];
	rotate(t);
	phx_str_copy(second, sizeof(second), phx_pki_ca_id(t->pki));
	/* ca.pem is renamed, nothing else is done */
	assert_int_equal(phx_pki_retire(t->dir, &err), 0);
	assert_true(is_there(t, "ca-old.key"));
	check_whole(t, second, false);
}

static void test_a_foreign_key_is_not_taken(void **state)
{
	struct place *t = *state;
	struct phx_err err = {0};
	copy(t, "ca.key", "first.key");
	rotate(t);
	copy(t, "first.key", "ca.key");
	copy(t, "first.key", "ca-next.key");
	phx_pki_free(PHX_TAKE(t->pki));
	assert_int_equal(phx_pki_open(t->dir, names, 2, &t->pki, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ca.pem and ca.key do not belong together"));
}

/* ---- people ---- */

static void test_people_are_found(void **state)
{
	struct place *t = *state;
	PHX_AUTO(phx_list_fini) struct phx_list people = {0};
	PHX_AUTO_FREE char *dir = path_of(t, "people"), *a = path_of(t, "people/a.pem"),
			   *b = path_of(t, "people/b.pem"), *noise = path_of(t, "people/c.pem");
	PHX_AUTO_FREE char *before = issue(t, PHX_CERT_USER);
	char first[PHX_FINGERPRINT_MAX];
	phx_str_copy(first, sizeof(first), phx_pki_ca_id(t->pki));
	assert_int_equal(phx_pki_people(t->dir, t->pki, &people, NULL), 0);
	assert_int_equal(people.n, 0);
	rotate(t);
	PHX_AUTO_FREE char *now = issue(t, PHX_CERT_PROVIDER);
	assert_int_equal(phx_dir_make(dir, 0700, NULL), 0);
	assert_int_equal(phx_file_write(a, before, strlen(before), 0644, NULL), 0);
	assert_int_equal(phx_file_write(b, now, strlen(now), 0644, NULL), 0);
	assert_int_equal(phx_file_write(noise, "noise", 5, 0644, NULL), 0);
	assert_int_equal(phx_pki_people(t->dir, t->pki, &people, NULL), 0);
	assert_int_equal(people.n, 2);
	PHX_LIST_EACH(struct phx_issued, i, &people) {
		bool provider = !strcmp(i->kind, "provider");
		assert_string_equal(i->name, "alice");
		assert_string_equal(i->ca, provider ? phx_pki_ca_id(t->pki) : first);
		assert_true(i->expires_s > time(NULL));
	}
}

/* ---- its end ---- */

static enum phx_ca_when when(int64_t begins_s, int64_t expires_s, const char *said)
{
	const struct phx_ca_info ca = {"sha256:0123456789", begins_s, expires_s};
	char text[PHX_CA_TEXT_MAX] = "?";
	enum phx_ca_when is = phx_ca_when(&ca, 1700000000, text);
	if (!said)
		assert_string_equal(text, "");
	else if (!strstr(text, said))
		fail_msg("'%s' does not say '%s'", text, said);
	assert_true(strlen(text) < PHX_CA_TEXT_MAX - 1); /* nothing is cut off */
	return is;
}

static void test_its_end_is_told_before(void **state)
{
	const int64_t now = 1700000000, day = 86400;
	(void)state;
	assert_int_equal(when(0, now + 90 * day, NULL), PHX_CA_GOOD);
	assert_int_equal(when(0, 253402300799, NULL), PHX_CA_GOOD);
	assert_int_equal(when(0, now + 90 * day - 1, "in 89 days: change it before"), PHX_CA_SOON);
	assert_int_equal(when(0, now + 30 * day, "in 30 days: change it before"), PHX_CA_SOON);
	assert_int_equal(when(0, now + 30 * day - 1, "in 29 days: change it now"), PHX_CA_LATE);
	assert_int_equal(when(0, now + 1, "in 0 days: change it now"), PHX_CA_LATE);
	assert_int_equal(when(0, now, "ended on 2023-11-14"), PHX_CA_ENDED);
	assert_int_equal(when(now + 1, now + 400 * day, "the clock is wrong: it says 2023-11-14"),
			 PHX_CA_NOT_YET);
	assert_int_equal(when(now, now + 400 * day, NULL), PHX_CA_GOOD);
}

/* The site's CA, of the same key, with another life; in days from now. */
static void give_life(struct place *t, int begins, int ends)
{
	PHX_AUTO_FREE char *key_path = path_of(t, "ca.key"), *pem_path = path_of(t, "ca.pem");
	X509 *x = parse(phx_pki_ca_pem(t->pki));
	FILE *f = fopen(key_path, "r");
	assert_non_null(f);
	EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
	fclose(f);
	assert_non_null(X509_time_adj_ex(X509_getm_notBefore(x), begins, 0, NULL));
	assert_non_null(X509_time_adj_ex(X509_getm_notAfter(x), ends, 0, NULL));
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	f = fopen(pem_path, "w");
	assert_non_null(f);
	assert_int_equal(PEM_write_X509(f, x), 1);
	fclose(f);
	EVP_PKEY_free(key);
	X509_free(x);
	reopen(t);
}

static void refuses_to_issue(const struct place *t, const char *said)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 9, &cert, &err),
			 -EKEYEXPIRED);
	assert_non_null(strstr(err.text, said));
	assert_null(cert);
}

static void test_out_of_its_life_it_is_worth_nothing(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *cert = issue(t, PHX_CERT_PROVIDER);
	give_life(t, -10, 10);
	assert_int_equal(believe(t, cert, NULL), 0);
	give_life(t, -10, -1);
	assert_int_equal(believe(t, cert, NULL), -EKEYREJECTED);
	refuses_to_issue(t, "ended on");
	give_life(t, 1, 10);
	assert_int_equal(believe(t, cert, NULL), -EKEYREJECTED);
	refuses_to_issue(t, "the clock is wrong");
	/* another one helps */
	rotate(t);
	retire(t);
	PHX_AUTO_FREE char *next = issue(t, PHX_CERT_PROVIDER);
	assert_int_equal(believe(t, next, NULL), 0);
	assert_true(shows(t, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_ca, setup, teardown),
		cmocka_unit_test_setup_teardown(test_both_are_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_former_is_retired, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_names_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_clients_are_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dates_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_check_tells_the_former, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers_tell_cas_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_before_is_as_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_behind_is_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_retiring, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_foreign_key_is_not_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_people_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_its_end_is_told_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_its_life_it_is_worth_nothing, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
