/* The vault as its head sees it: the process is phxd's own. What it signs and what it does not; how
 * it is shut in; that its end is survived. */
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>

#include "unit/vault/world.h"

#define TEXT "{\"node\":\"n1\"}"

static char pub[128];
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
	config.program = VAULT_PROGRAM;
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

/* ---- what it does ---- */

static void it_issues_for_nodes_alone(void **state)
{
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *cert = NULL, *own = NULL;
	(void)state;
	start();
	assert_int_equal(phx_csr_make("n1", &key, &csr, &err), 0);
	assert_int_equal(phx_vault_cert(v, csr, "n1", PHX_NODE_CERT_DAYS, &cert, &err), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err), 0);
	assert_true(log_says(" cert node n1 serial "));
	/* for ever */
	assert_int_equal(phx_vault_cert(v, csr, "n1", 3650, &own, &err), -EPERM);
	/* under a name that is none */
	phx_err_clear(&err);
	assert_true(phx_vault_cert(v, csr, "n1/../n2", 1, &own, &err) < 0);
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

static void keys_of_disks_live_and_die(void **state)
{
	uint8_t key[PHX_DISK_KEY_SIZE], again[PHX_DISK_KEY_SIZE];
	(void)state;
	start();
	assert_int_equal(phx_vault_key_read(v, "n1-k1", key, &err), -ENOENT);
	assert_int_equal(phx_vault_key_make(v, "n1-k1", &err), 0);
	assert_int_equal(phx_vault_key_make(v, "n1-k1", &err), -EEXIST);
	assert_int_equal(phx_vault_key_read(v, "n1-k1", key, &err), 0);
	assert_int_equal(phx_diskkey_read(key_dir, "n1-k1", again, &err), 0);
	assert_memory_equal(key, again, sizeof(key));
	assert_int_equal(phx_vault_key_destroy(v, "n1-k1", &err), 0);
	assert_int_equal(phx_vault_key_destroy(v, "n1-k1", &err), 0);
	assert_int_equal(phx_vault_key_read(v, "n1-k1", key, &err), -ENOENT);
	assert_true(log_says(" key make n1-k1") && log_says(" key give n1-k1") &&
		    log_says(" key destroy n1-k1"));
	phx_err_clear(&err);
	assert_int_equal(phx_vault_key_make(v, "../pki/ca.key", &err), -EINVAL);
}

/* ---- how it is shut in ---- */

static bool status_has(const char *line)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)phx_vault_pid(v));
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return strstr(text, line);
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
	/* and what it makes it finds again */
	assert_int_equal(phx_vault_key_make(v, "n1-k1", &err), 0);
	phx_pki_free(PHX_TAKE(pki));
	phx_vault_end(PHX_TAKE(v));
	start();
	uint8_t key[PHX_DISK_KEY_SIZE];
	assert_int_equal(phx_vault_key_read(v, "n1-k1", key, &err), 0);
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
	assert_int_equal(phx_vault_cert(v, csr, "n1", 1, &cert, &err), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_ca_pem(pki), &err), 0);
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
		TEST(it_issues_for_nodes_alone),  TEST(it_signs_what_a_head_may_have_signed),
		TEST(keys_of_disks_live_and_die), TEST(it_has_given_up_its_rights),
		TEST(its_end_is_survived),        TEST(it_does_not_heed_the_terminal),
		TEST(an_altered_log_is_told),     TEST(threads_get_their_own_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
