/* How the head uses the vault (cmd/phxd/keys.c): what it serves with after each end that a
 * change of the CA may have, what agents are told of CAs, and that nothing is given out after
 * an error. The keys of the site are real; the process that has them, and the server, are
 * fakes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/tree.h"
#include "phxd/apart.c" /* parts of a program, not of the library */
#include "phxd/keys.c"
#include "fake/submitted.h"

static struct daemon d;
static struct keys *k;
static struct phx_err err;
static char dir[64];

/* ---- the vault ---- */

struct phx_vault {
	int result;            /* of each question but the next two */
	int site, change;      /* of these */
	const char *complaint; /* of its log */
	bool changes;          /* whatever it answers, it has made the change */
	size_t n_names;
	char last_name[PHX_NAME_MAX], forgotten[PHX_NAME_MAX];
};
static struct phx_vault vault;

static int says_no(int r, struct phx_err *of)
{
	return r < 0 ? phx_err_set(of, r, "the vault says no") : 0;
}

int phx_vault_start(const struct phx_vault_config *config, struct phx_vault **ret,
		    struct phx_err *of)
{
	assert_ptr_equal(config->restarted, apart_restarted);
	*ret = &vault;
	return says_no(vault.result, of);
}
void phx_vault_end(struct phx_vault *v)
{
	(void)v;
}
pid_t phx_vault_pid(struct phx_vault *v)
{
	(void)v;
	return 4711;
}
int phx_vault_site(struct phx_vault *v, const char *const *names, size_t n_names,
		   struct phx_pki **ret, char **ret_complaint, struct phx_err *of)
{
	v->n_names = n_names;
	PHX_STR_SET(v->last_name, names[n_names - 1]);
	if (v->site < 0)
		return says_no(v->site, of);
	*ret_complaint = v->complaint ? strdup(v->complaint) : NULL;
	return phx_pki_open(dir, names, 1, ret, of);
}
int phx_vault_change_ca(struct phx_vault *v, enum phx_vault_change change, struct phx_pki **ret,
			struct phx_err *of)
{
	assert_int_equal(change, PHX_VAULT_ROTATE);
	if (v->changes)
		assert_int_equal(phx_pki_rotate(dir, of), 0);
	if (v->change < 0)
		return says_no(v->change, of);
	const char *name = d.cfg.address;
	return phx_pki_open(dir, &name, 1, ret, of);
}
int phx_vault_cert(struct phx_vault *v, const struct phx_cert_ask *ask, char **ret,
		   struct phx_err *of)
{
	if (v->result < 0)
		return says_no(v->result, of);
	*ret = phx_path("%s for %s", ask->csr, ask->node);
	return 0;
}
int phx_vault_start_token(struct phx_vault *v, const char *node, uint64_t start,
			  char ret[PHX_START_TOKEN_MAX], struct phx_err *of)
{
	ret[0] = '\0';
	if (start && v->result == 0)
		snprintf(ret, PHX_START_TOKEN_MAX, "%u.%s", (unsigned)start, node);
	return says_no(v->result, of);
}
int phx_vault_start_shown(struct phx_vault *v, const char *node, const char *token,
			  struct phx_err *of)
{
	return says_no(v->result                                      ? v->result
			       : strcmp(strchr(token, '.') + 1, node) ? -EACCES
								      : 0,
		       of);
}
int phx_vault_forget(struct phx_vault *v, const char *node, struct phx_err *of)
{
	PHX_STR_SET(v->forgotten, node);
	return says_no(v->result, of);
}
int phx_vault_sign(struct phx_vault *v, enum phx_vault_key key, const char *text,
		   uint8_t ret[PHX_SIG_SIZE], struct phx_err *of)
{
	(void)text;
	memset(ret, key == PHX_VAULT_SITE ? 0x5e : 0xa7, PHX_SIG_SIZE);
	return says_no(v->result, of);
}

int phx_vault_sign_end(struct phx_vault *v, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
		       uint8_t ret[PHX_SIG_SIZE], struct phx_err *of)
{
	phx_anchor_end(strlen(text), "", ret_end);
	memset(ret, 0x11, PHX_SIG_SIZE);
	return says_no(v->result, of);
}

/* ---- what else of the daemon it calls ---- */

static const struct phx_pki *fake_served; /* what the server shows */
static int fake_renewed;

int launch_vault(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *of)
{
	(void)launch, (void)ret_fd, (void)ret_pid;
	return phx_err_set(of, -ENOSYS, "nobody starts one here");
}
int phx_http_server_renew(struct phx_http_server *s, const struct phx_pki *pki, struct phx_err *of)
{
	(void)s;
	if (fake_renewed < 0)
		return phx_err_set(of, fake_renewed, "the server does not take it");
	fake_served = pki;
	return 0;
}
void wake_in(struct wake *w, int ms)
{
	(void)w, (void)ms;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	strcpy(dir, "/tmp/phx-keys.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	vault = (struct phx_vault){0};
	fake_served = NULL;
	fake_renewed = 0;
	d = (struct daemon){0};
	PHX_STR_SET(d.cfg.address, "127.0.0.1");
	phx_err_clear(&err);
	return keys_new(&d, &k, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_pki_free(d.pki);
	keys_free(PHX_TAKE(k));
	phx_list_fini(&d.cfg.server_names);
	return phx_dir_remove(dir, NULL);
}

static uint64_t number_now(void)
{
	return phx_ca_number(phx_pki_ca_pem(d.pki));
}

/* ---- opening ---- */

static void a_vault_without_complaint_is_no_news(void **state)
{
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	assert_non_null(d.pki);
	assert_int_equal(fake_n_notices, 0);
	assert_string_equal(vault.last_name, "127.0.0.1");
}

static void what_is_wrong_with_its_log_is_told(void **state)
{
	(void)state;
	vault.complaint = "a line of the log is missing";
	assert_int_equal(keys_open(k, &err), 0);
	assert_int_equal(fake_n_notices, 1);
	assert_string_equal(fake_notice, vault.complaint);
}

static void without_the_keys_nothing_is_served(void **state)
{
	(void)state;
	vault.site = -EBADMSG;
	assert_int_equal(keys_open(k, &err), -EBADMSG);
	assert_null(d.pki);
	assert_string_equal(err.text, "the vault says no");
	assert_int_equal(fake_n_notices, 0);
}

static void more_names_than_a_certificate_takes_are_cut(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		struct phx_word *w = phx_list_push(&d.cfg.server_names, sizeof(*w));
		snprintf(w->text, sizeof(w->text), "head%d", i);
	}
	assert_int_equal(keys_open(k, &err), 0);
	assert_int_equal(vault.n_names, 40);
	assert_string_equal(vault.last_name, "head38");
}

static void a_vault_that_does_not_start_is_an_error(void **state)
{
	struct keys *none = NULL;
	(void)state;
	vault.result = -EPERM;
	assert_int_equal(keys_new(&d, &none, &err), -EPERM);
	assert_null(none);
}

/* ---- signatures and certificates ---- */

static void each_signer_has_its_own_key(void **state)
{
	char site[PHX_ANCHOR_SIGNATURE_MAX] = "", attest_sig[PHX_ANCHOR_SIGNATURE_MAX] = "";
	struct phx_signer signer = keys_signer(k), attester = keys_attester(k);
	(void)state;
	assert_int_equal(signer.sign(signer.arg, "x", site, &err), 0);
	assert_int_equal(attester.sign(attester.arg, "x", attest_sig, &err), 0);
	assert_int_equal(strlen(site), 2 * PHX_SIG_SIZE);
	assert_true(phx_str_starts(site, "5e5e"));
	assert_true(phx_str_starts(attest_sig, "a7a7"));
	/* what is there after an error is no signature */
	site[0] = '\0';
	vault.result = -EPIPE;
	assert_int_equal(signer.sign(signer.arg, "x", site, &err), -EPIPE);
	assert_string_equal(site, "");
}

static void a_certificate_comes_with_the_cas_of_that_moment(void **state)
{
	const struct phx_cert_ask asked = {.csr = "csr", .node = "n1", .days = PHX_NODE_CERT_DAYS};
	PHX_AUTO_FREE char *cert = NULL, *ca = NULL;
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	assert_int_equal(keys_certify(k, &asked, &cert, &ca, &err), 0);
	assert_string_equal(cert, "csr for n1");
	assert_string_equal(ca, phx_pki_ca_pem(d.pki));
	char *no_cert = NULL, *no_ca = NULL;
	vault.result = -EKEYEXPIRED;
	assert_int_equal(keys_certify(k, &asked, &no_cert, &no_ca, &err), -EKEYEXPIRED);
	assert_null(no_cert);
	assert_null(no_ca);
}

static void a_token_is_of_one_node_or_none(void **state)
{
	char token[PHX_START_TOKEN_MAX];
	(void)state;
	keys_start_token(k, "n1", 7, token);
	assert_string_equal(token, "7.n1");
	assert_int_equal(keys_start_shown(k, "n1", token), 7);
	assert_int_equal(keys_start_shown(k, "n2", token), 0);
	assert_int_equal(keys_start_shown(k, "", token), 0);
	assert_int_equal(keys_start_shown(k, "n1", "seven"), 0);
	keys_start_token(k, "n1", 0, token);
	assert_string_equal(token, "");
	vault.result = -EPIPE;
	keys_start_token(k, "n1", 7, token);
	assert_string_equal(token, "");
	assert_int_equal(keys_start_shown(k, "n1", "7.n1"), 0);
	keys_forget(k, "n1");
	assert_string_equal(vault.forgotten, "n1");
}

/* ---- what agents are told ---- */

static void assert_told(enum phx_order_kind kind, uint64_t has, const char *want)
{
	PHX_AUTO(phx_list_fini) struct phx_list running = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct beat_running *r = phx_list_push(&running, sizeof(*r));
	r->kind = kind;
	r->id = (int64_t)has;
	keys_orders_put(k, &running, &b);
	assert_string_equal(b.n ? b.data : "", want);
}

static void an_agent_that_trusts_other_cas_is_told_to_renew(void **state)
{
	char want[80];
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	uint64_t before = number_now();
	assert_told(PHX_ORDER_ca, before, "");
	assert_told(PHX_ORDER_anchor, before + 1, ""); /* an older agent does not know the order */
	vault.changes = true;
	assert_int_equal(keys_change_ca(k, PHX_VAULT_ROTATE, &err), 0);
	snprintf(want, sizeof(want), "{\"kind\":\"ca\",\"id\":%llu}",
		 (unsigned long long)number_now());
	assert_told(PHX_ORDER_ca, before, want);
	assert_told(PHX_ORDER_ca, 0, want);
	assert_told(PHX_ORDER_ca, number_now(), "");
}

/* ---- the change of the CA ---- */

/* Threads may still read what was served before: it stays until the end. */
static void after_a_change_the_head_serves_with_the_new_keys(void **state)
{
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	const struct phx_pki *before = d.pki;
	uint64_t number = number_now();
	vault.changes = true;
	assert_int_equal(keys_change_ca(k, PHX_VAULT_ROTATE, &err), 0);
	assert_ptr_equal(fake_served, d.pki);
	assert_ptr_not_equal(before, d.pki);
	assert_true(number_now() != number);
	assert_int_equal(phx_ca_number(phx_pki_ca_pem(before)), number);
}

static void a_server_that_does_not_take_it_goes_on_as_before(void **state)
{
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	struct phx_pki *before = d.pki;
	vault.changes = true;
	fake_renewed = -EINVAL;
	assert_int_equal(keys_change_ca(k, PHX_VAULT_ROTATE, &err), -EINVAL);
	assert_ptr_equal(d.pki, before);
	assert_int_equal(k->former.n, 0);
}

static void a_refused_change_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	struct phx_pki *before = d.pki;
	vault.change = -EBUSY;
	assert_int_equal(keys_change_ca(k, PHX_VAULT_ROTATE, &err), -EBUSY);
	assert_string_equal(err.text, "the vault says no");
	assert_ptr_equal(d.pki, before);
	assert_null(fake_served);
}

/* It ended after the change and before its answer: the change counts. */
static void a_change_whose_answer_is_lost_is_found(void **state)
{
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	uint64_t number = number_now();
	vault.changes = true;
	vault.change = -EPIPE;
	assert_int_equal(keys_change_ca(k, PHX_VAULT_ROTATE, &err), 0);
	assert_string_equal(err.text, "");
	assert_true(number_now() != number);
	assert_ptr_equal(fake_served, d.pki);
}

static void a_vault_that_is_gone_for_good_leaves_all_as_it_was(void **state)
{
	(void)state;
	assert_int_equal(keys_open(k, &err), 0);
	struct phx_pki *before = d.pki;
	vault.change = vault.site = -EPIPE;
	assert_int_equal(keys_change_ca(k, PHX_VAULT_ROTATE, &err), -EPIPE);
	assert_ptr_equal(d.pki, before);
}

static void each_restart_of_the_vault_is_told_once(void **state)
{
	(void)state;
	assert_int_equal(keys_tick(k), WAKE_NEVER);
	assert_int_equal(fake_n_notices, 0);
	apart_restarted(&k->watch);
	keys_tick(k);
	keys_tick(k);
	assert_int_equal(fake_n_notices, 1);
	assert_string_equal(fake_notice,
			    "the process that holds the keys had ended and was "
			    "started again, as process 4711");
	apart_restarted(&k->watch);
	keys_tick(k);
	assert_int_equal(fake_n_notices, 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_vault_without_complaint_is_no_news),
		TEST(what_is_wrong_with_its_log_is_told),
		TEST(without_the_keys_nothing_is_served),
		TEST(more_names_than_a_certificate_takes_are_cut),
		TEST(a_vault_that_does_not_start_is_an_error),
		TEST(each_signer_has_its_own_key),
		TEST(a_token_is_of_one_node_or_none),
		TEST(a_certificate_comes_with_the_cas_of_that_moment),
		TEST(an_agent_that_trusts_other_cas_is_told_to_renew),
		TEST(after_a_change_the_head_serves_with_the_new_keys),
		TEST(a_server_that_does_not_take_it_goes_on_as_before),
		TEST(a_refused_change_changes_nothing),
		TEST(a_change_whose_answer_is_lost_is_found),
		TEST(a_vault_that_is_gone_for_good_leaves_all_as_it_was),
		TEST(each_restart_of_the_vault_is_told_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
