/* The vault as its head sees it: the process is phxd's own. What it signs and what it does not; how
 * it is shut in; that its end is survived. */
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>

#include "unit/process_status.h"
#include "unit/vault/world.h"

#define TEXT "{\"node\":\"n1\"}"

static char pub[128], node_key[128], node_cert[128];
static const char *const names[] = {"127.0.0.1", "head"};
static struct phx_vault *v;
static struct phx_pki *pki;
static char *complaint;
static atomic_int n_restarts;
static struct phx_err err;

static void restarted(void *arg)
{
	(void)arg;
	atomic_fetch_add(&n_restarts, 1);
}

static int setup(void **state)
{
	if (world_make(state) < 0)
		return -1;
	snprintf(pub, sizeof(pub), "%s/site.pub", pki_dir);
	snprintf(node_key, sizeof(node_key), "%s/node.key", dir);
	snprintf(node_cert, sizeof(node_cert), "%s/node.pem", dir);
	config.program = APART_PROGRAM;
	config.restarted = restarted;
	atomic_store(&n_restarts, 0);
	phx_err_clear(&err);
	return 0;
}

static int teardown(void **state)
{
	phx_pki_free(PHX_TAKE(pki));
	phx_vault_end(PHX_TAKE(v));
	free(PHX_TAKE(complaint));
	return world_end(state);
}

static void start(void)
{
	assert_int_equal(phx_vault_start(&config, &v, &err), 0);
	assert_int_equal(phx_vault_site(v, names, 2, &pki, &complaint, &err), 0);
	assert_null(complaint);
}

static bool log_says(const char *what)
{
	PHX_AUTO_FREE char *path = phx_path("%s/vault.log", pki_dir), *text = NULL;
	return path && phx_file_read(path, 1 << 20, &text, NULL, NULL) == 0 && strstr(text, what);
}

/* As a node's request comes; nothing speaks for it. */
static int cert_of(const char *csr, const char *node, uint32_t days, char **ret)
{
	const struct phx_cert_ask ask = {.csr = csr, .node = node, .days = days};
	return phx_vault_cert(v, &ask, ret, &err);
}

/* ---- what it does ---- */

static void it_issues_for_nodes_alone(void **state)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL, *own = NULL;
	(void)state;
	start();
	assert_int_equal(phx_csr_make("n1", &key, &csr, &err), 0);
	assert_int_equal(cert_of(csr, "n1", PHX_NODE_CERT_DAYS, &cert), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err), 0);
	assert_true(log_says(" cert node n1 serial "));
	/* for ever */
	assert_int_equal(cert_of(csr, "n1", 3650, &own), -EPERM);
	/* under a name that is none */
	phx_err_clear(&err);
	assert_true(cert_of(csr, "n1/../n2", 1, &own) < 0);
	/* what the head has of the CA issues nothing */
	phx_err_clear(&err);
	assert_int_equal(phx_cert_issue(pki, csr, PHX_CERT_PROVIDER, "me", 1, &own, &err), -EPERM);
}

static void it_signs_what_a_head_may_have_signed(void **state)
{
	static const char *const good[] = {
		"{\"node\":\"n1\"}",
		"phoenix anchor journal 0 event 1 hash 2 time 3 snapshot -",
	};
	static const char *const bad[] = {
		"",
		"phoenix package sha256 0000\n",
		"phoenix image sha256 0000\n",
		"phoenix anchorjournal",
		" {}",
	};
	uint8_t sig[PHX_SIG_SIZE];
	(void)state;
	start();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		assert_int_equal(phx_vault_sign(v, PHX_VAULT_SITE, good[i], sig, &err), 0);
		assert_int_equal(phx_verify(pub, good[i], strlen(good[i]), sig, &err), 0);
	}
	assert_true(log_says(" sign erasure sha256 ") && log_says(" sign anchor sha256 "));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		phx_err_clear(&err);
		assert_int_equal(phx_vault_sign(v, PHX_VAULT_SITE, bad[i], sig, &err), -EPERM);
	}
	assert_int_equal(n_restarts, 0);
}

/* ---- keys of disks ---- */

/* The node has a certificate of the vault, for another key than before. */
static void certify(const char *node)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL;
	assert_int_equal(phx_vault_forget(v, node, &err), 0);
	assert_int_equal(phx_csr_make(node, &key, &csr, &err), 0);
	assert_int_equal(cert_of(csr, node, 1, &cert), 0);
	assert_int_equal(phx_file_write(node_key, key, strlen(key), 0600, &err), 0);
	assert_int_equal(phx_file_write(node_cert, cert, strlen(cert), 0600, &err), 0);
}

/* As the node's agent does, of that start of its machine. */
static int asks(const char *key_id, const char *boot, uint8_t ret[PHX_DISK_KEY_SIZE])
{
	uint8_t private[PHX_SEALED_PUBLIC_SIZE];
	struct phx_key_sealed sealed;
	struct phx_key_ask ask;
	phx_err_clear(&err);
	assert_int_equal(phx_key_ask_make(key_id, boot, node_key, node_cert, &ask, private, &err),
			 0);
	int r = phx_vault_key_give(v, key_id, &ask, &sealed, &err);
	if (r == 0)
		assert_int_equal(phx_key_open(&ask, key_id, private, &sealed, ret, &err), 0);
	phx_record_fini(&phx_key_ask_record, &ask);
	return r;
}

/* How often it is given until it is refused. */
static int times_given(const char *boot)
{
	uint8_t key[PHX_DISK_KEY_SIZE];
	for (int i = 0; i < 100; i++) {
		int r = asks("n1-1", boot, key);
		if (r < 0) {
			assert_int_equal(r, -EPERM);
			return i;
		}
	}
	return 100;
}

static void keys_of_disks_live_and_die(void **state)
{
	uint8_t key[PHX_DISK_KEY_SIZE], again[PHX_DISK_KEY_SIZE];
	(void)state;
	start();
	certify("n1");
	assert_int_equal(asks("n1-1", "b1", key), -ENOENT);
	assert_int_equal(phx_vault_key_make(v, "n1-1", &err), 0);
	assert_int_equal(phx_vault_key_make(v, "n1-1", &err), -EEXIST);
	assert_int_equal(asks("n1-1", "b1", key), 0);
	assert_int_equal(phx_diskkey_read(key_dir, "n1-1", again, &err), 0);
	assert_memory_equal(key, again, sizeof(key));
	assert_int_equal(phx_vault_key_destroy(v, "n1-1", &err), 0);
	assert_int_equal(phx_vault_key_destroy(v, "n1-1", &err), 0);
	assert_int_equal(asks("n1-1", "b1", key), -ENOENT);
	assert_true(log_says(" key make n1-1") && log_says(" key give n1-1 boot b1 time 1 to ") &&
		    log_says(" key destroy n1-1"));
	assert_false(log_says(" key refuse "));
	/* nothing of it is left beside it */
	assert_int_equal(rmdir(key_dir), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_vault_key_make(v, "../pki/ca.key", &err), -EINVAL);
}

static void a_key_is_given_a_few_times_for_each_start(void **state)
{
	(void)state;
	start();
	certify("n1");
	assert_int_equal(phx_vault_key_make(v, "n1-1", &err), 0);
	int most = times_given("b1");
	assert_in_range(most, 2, 20);
	assert_non_null(strstr(err.text, "since that start of the machine"));
	assert_true(log_says(" key refuse n1-1: "));
	/* neither another key of the node's nor another vault begins anew */
	certify("n1");
	assert_int_equal(times_given("b1"), 0);
	assert_int_equal(kill(phx_vault_pid(v), SIGKILL), 0);
	assert_int_equal(times_given("b1"), 0);
	/* another start does */
	assert_int_equal(times_given("b2"), most);
}

static void who_is_not_the_node_gets_none(void **state)
{
	uint8_t key[PHX_DISK_KEY_SIZE];
	(void)state;
	start();
	assert_int_equal(phx_vault_key_make(v, "n1-1", &err), 0);
	assert_int_equal(phx_vault_key_make(v, "n1-1-1", &err), 0);
	certify("n2");
	assert_int_equal(asks("n1-1", "b1", key), -EPERM);
	certify("n1");
	assert_int_equal(asks("n1-1-1", "b1", key), -EPERM);
	assert_int_equal(asks("n1-1", "b1", key), 0);
	certify("n1-1");
	assert_int_equal(asks("n1-1", "b1", key), -EPERM);
	assert_int_equal(asks("n1-1-1", "b1", key), 0);
	assert_true(log_says(" key refuse n1-1: it is not the key of a disk of n2"));
}

/* One who took the head over has what a node asked before, and its certificate. */
static void the_head_alone_gets_none(void **state)
{
	uint8_t private[PHX_SEALED_PUBLIC_SIZE];
	struct phx_key_sealed sealed;
	struct phx_key_ask kept;
	(void)state;
	start();
	certify("n1");
	assert_int_equal(phx_vault_key_make(v, "n1-1", &err), 0);
	assert_int_equal(phx_key_ask_make("n1-1", "b1", node_key, node_cert, &kept, private, &err),
			 0);
	/* of another start, to a key of his own, unsigned */
	PHX_STR_SET(kept.boot_id, "b2");
	assert_int_equal(phx_vault_key_give(v, "n1-1", &kept, &sealed, &err), -EKEYREJECTED);
	PHX_STR_SET(kept.boot_id, "b1");
	kept.to[1] = kept.to[1] == '0' ? '1' : '0';
	assert_int_equal(phx_vault_key_give(v, "n1-1", &kept, &sealed, &err), -EKEYREJECTED);
	kept.signature[0] = '\0';
	assert_int_equal(phx_vault_key_give(v, "n1-1", &kept, &sealed, &err), -EKEYREJECTED);
	phx_record_fini(&phx_key_ask_record, &kept);
	struct phx_key_ask none = {0};
	assert_int_equal(phx_vault_key_give(v, "n1-1", &none, &sealed, &err), -EINVAL);
}

/* An owner who is refused all the time does not turn the log until nothing else is in it. */
static void refusals_do_not_fill_the_log(void **state)
{
	struct phx_key_sealed sealed;
	const struct phx_key_ask none = {0};
	struct stat before, after;
	PHX_AUTO_FREE char *path = phx_path("%s/vault.log", pki_dir);
	(void)state;
	start();
	for (int i = 0; i < 20; i++)
		assert_int_equal(phx_vault_key_give(v, "n1-1", &none, &sealed, &err), -EINVAL);
	assert_true(log_says(" key refuse n1-1: "));
	assert_int_equal(stat(path, &before), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(phx_vault_key_give(v, "n1-1", &none, &sealed, &err), -EINVAL);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
}

/* ---- how it is shut in ---- */

static bool status_has(const char *line)
{
	return process_status_has(phx_vault_pid(v), line);
}

static void it_has_given_up_its_rights(void **state)
{
	struct passwd *nobody = getpwnam("nobody");
	char uids[64];
	struct stat st;
	(void)state;
	if (geteuid() != 0 || !nobody)
		skip();
	config.user = "nobody";
	start();
	snprintf(uids, sizeof(uids), "Uid:\t%u\t%u\t%u\t%u\n", nobody->pw_uid, nobody->pw_uid,
		 nobody->pw_uid, nobody->pw_uid);
	assert_true(status_has(uids));
	assert_true(status_has("CapEff:\t0000000000000000"));
	assert_true(status_has("NoNewPrivs:\t1"));
	assert_true(status_has("Seccomp:\t2"));
	assert_true(status_has("Groups:\t \n") || status_has("Groups:\t\n"));
	assert_int_equal(stat(pub, &st), 0);
	assert_int_equal(st.st_uid, nobody->pw_uid);
	/* and what it makes it finds again, and what it gave */
	assert_int_equal(phx_vault_key_make(v, "n1-1", &err), 0);
	certify("n1");
	int most = times_given("b1");
	phx_pki_free(PHX_TAKE(pki));
	phx_vault_end(PHX_TAKE(v));
	start();
	assert_int_equal(times_given("b1"), 0);
	assert_int_equal(times_given("b2"), most);
}

/* ---- its end ---- */

static void its_end_is_survived(void **state)
{
	uint8_t sig[PHX_SIG_SIZE];
	(void)state;
	start();
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(kill(phx_vault_pid(v), SIGKILL), 0);
		assert_int_equal(phx_vault_sign(v, PHX_VAULT_SITE, TEXT, sig, &err), 0);
		assert_int_equal(phx_verify(pub, TEXT, strlen(TEXT), sig, &err), 0);
		assert_int_equal(n_restarts, i);
	}
	/* its certificates are of the CA of before */
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL;
	assert_int_equal(kill(phx_vault_pid(v), SIGKILL), 0);
	assert_int_equal(phx_csr_make("n1", &key, &csr, &err), 0);
	assert_int_equal(cert_of(csr, "n1", 1, &cert), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err), 0);
}

static void change_ca(enum phx_vault_change change)
{
	struct phx_pki *next = NULL;
	assert_int_equal(phx_vault_change_ca(v, change, &next, &err), 0);
	phx_pki_free(pki);
	pki = next;
}

static void it_changes_the_ca(void **state)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL, *next_cert = NULL;
	struct phx_pki *next = NULL;
	(void)state;
	config.user = "nobody";
	start();
	assert_int_equal(phx_csr_make("n1", &key, &csr, &err), 0);
	assert_int_equal(cert_of(csr, "n1", 1, &cert), 0);
	assert_int_equal(phx_vault_change_ca(v, PHX_VAULT_RETIRE, &next, &err), -ENOENT);
	phx_err_clear(&err);
	change_ca(PHX_VAULT_ROTATE);
	assert_true(log_says(" ca rotate signs sha256:"));
	assert_true(phx_pki_rolls(pki));
	assert_non_null(phx_pki_server_pem(pki));
	assert_int_equal(phx_vault_change_ca(v, PHX_VAULT_ROTATE, &next, &err), -EBUSY);
	phx_err_clear(&err);
	/* and after its end */
	assert_int_equal(kill(phx_vault_pid(v), SIGKILL), 0);
	assert_int_equal(cert_of(csr, "n1", 1, &next_cert), 0);
	assert_int_equal(phx_cert_check(next_cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err),
			 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err),
			 PHX_CERT_OF_FORMER);
	change_ca(PHX_VAULT_RETIRE);
	assert_true(log_says(" ca retire signs sha256:"));
	assert_false(phx_pki_rolls(pki));
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err),
			 -EKEYREJECTED);
}

static void it_knows_the_people(void **state)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL;
	PHX_AUTO_FREE char *people = phx_path("%s/people", pki_dir),
			   *path = phx_path("%s/people/1.pem", pki_dir);
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	(void)state;
	config.user = "nobody"; /* as whom it reads what root has written before it was started */
	assert_int_equal(phx_dir_make(people, 0700, &err), 0);
	start();
	assert_int_equal(phx_vault_people(v, &list, &err), 0);
	assert_int_equal(list.n, 0);
	/* as the command line does */
	struct phx_pki *whole = NULL;
	assert_int_equal(phx_pki_open(pki_dir, NULL, 0, &whole, &err), 0);
	assert_int_equal(phx_csr_make("alice", &key, &csr, &err), 0);
	assert_int_equal(phx_cert_issue(whole, csr, PHX_CERT_USER, "alice", 1, &cert, &err), 0);
	phx_pki_free(whole);
	assert_int_equal(phx_file_write(path, cert, strlen(cert), 0644, &err), 0);
	assert_int_equal(phx_vault_people(v, &list, &err), 0);
	assert_int_equal(list.n, 1);
	const struct phx_issued *alice = PHX_LIST_AT(&list, struct phx_issued, 0);
	assert_string_equal(alice->name, "alice");
	assert_string_equal(alice->ca, phx_pki_ca_id(pki));
}

static void it_does_not_heed_the_terminal(void **state)
{
	pid_t pid;
	uint8_t sig[PHX_SIG_SIZE];
	(void)state;
	start();
	pid = phx_vault_pid(v);
	assert_int_equal(kill(pid, SIGINT) | kill(pid, SIGTERM) | kill(pid, SIGHUP), 0);
	assert_int_equal(phx_vault_sign(v, PHX_VAULT_SITE, TEXT, sig, &err), 0);
	assert_int_equal(phx_vault_pid(v), pid);
	phx_vault_end(PHX_TAKE(v));
	assert_int_equal(kill(pid, 0), -1);
}

static void an_altered_log_is_told(void **state)
{
	PHX_AUTO_FREE char *path = phx_path("%s/vault.log", pki_dir), *text = NULL;
	size_t n;
	(void)state;
	start();
	phx_pki_free(PHX_TAKE(pki));
	phx_vault_end(PHX_TAKE(v));
	assert_int_equal(phx_file_read(path, 1 << 20, &text, &n, &err), 0);
	text[n - 3] ^= 1;
	assert_int_equal(phx_file_write(path, text, n, 0600, &err), 0);
	assert_int_equal(phx_vault_start(&config, &v, &err), 0);
	assert_int_equal(phx_vault_site(v, names, 2, &pki, &complaint, &err), 0);
	assert_non_null(complaint);
	assert_non_null(strstr(complaint, "vault.log: line 1 "));
}

static void *sign_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		char text[32];
		uint8_t sig[PHX_SIG_SIZE];
		snprintf(text, sizeof(text), "{\"i\":%d}", i);
		if (phx_vault_sign(v, PHX_VAULT_SITE, text, sig, NULL) < 0 ||
		    phx_verify(pub, text, strlen(text), sig, NULL) < 0)
			return (void *)1;
	}
	return NULL;
}

static void threads_get_their_own_answers(void **state)
{
	pthread_t threads[4];
	void *failed;
	(void)state;
	start();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sign_many, NULL), 0);
	kill(phx_vault_pid(v), SIGKILL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_issues_for_nodes_alone),
		TEST(it_signs_what_a_head_may_have_signed),
		TEST(keys_of_disks_live_and_die),
		TEST(it_has_given_up_its_rights),
		TEST(a_key_is_given_a_few_times_for_each_start),
		TEST(who_is_not_the_node_gets_none),
		TEST(the_head_alone_gets_none),
		TEST(refusals_do_not_fill_the_log),
		TEST(its_end_is_survived),
		TEST(it_changes_the_ca),
		TEST(it_knows_the_people),
		TEST(it_does_not_heed_the_terminal),
		TEST(an_altered_log_is_told),
		TEST(threads_get_their_own_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
