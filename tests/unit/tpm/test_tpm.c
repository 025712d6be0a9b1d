/* A TPM in software (swtpm) is asked for quotes as the chip of a machine is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <tss2/tss2_tcti_swtpm.h>

#include "base/file.h"
#include "base/process.h"
#include "base/tree.h"
#include "tpm/tpm.h"

enum { TRIES = 100, TRY_US = 50000, FIRST_PORT = 20000, PORTS = 20000 };

static const uint8_t data[PHX_QUOTE_DATA_SIZE] = {8, 8, 8};
static char dir[64];
static int port;
static struct phx_process swtpm = {.pidfd = -1};
static struct phx_err err;

/* The machine is switched on: its registers are 0, and the TPM counts a reset. */
static void power_on(void)
{
	char state[96], server[64], ctrl[64];
	snprintf(state, sizeof(state), "dir=%s", dir);
	snprintf(server, sizeof(server), "type=tcp,port=%d,disconnect", port);
	snprintf(ctrl, sizeof(ctrl), "type=tcp,port=%d", port + 1);
	const char *const argv[] = {"swtpm", "socket",   "--tpm2",        "--tpmstate",
				    state,   "--server", server,          "--ctrl",
				    ctrl,    "--flags",  "startup-clear", NULL};
	const struct phx_launch l = {.argv = argv, .death_signal = SIGKILL};
	assert_int_equal(phx_process_start(&l, &swtpm, &err), 0);
}

static void power_off(void)
{
	phx_process_signal(swtpm.pidfd, SIGKILL);
	phx_process_status(swtpm.pidfd);
	close(swtpm.pidfd);
	swtpm.pidfd = -1;
}

static TSS2_TCTI_CONTEXT *connect_to(void)
{
	char conf[64];
	size_t size = 0;
	TSS2_RC rc = TSS2_TCTI_RC_IO_ERROR;
	snprintf(conf, sizeof(conf), "host=127.0.0.1,port=%d", port);
	Tss2_Tcti_Swtpm_Init(NULL, &size, conf);
	TSS2_TCTI_CONTEXT *tcti = calloc(1, size);
	for (int i = 0; rc != TSS2_RC_SUCCESS && i < TRIES; i++) {
		rc = Tss2_Tcti_Swtpm_Init(tcti, &size, conf);
		if (rc != TSS2_RC_SUCCESS)
			usleep(TRY_US); /* it is just being started */
	}
	assert_int_equal(rc, TSS2_RC_SUCCESS);
	return tcti;
}

static void ask(struct phx_quote *q, struct phx_quoted *ret)
{
	TSS2_TCTI_CONTEXT *tcti = connect_to();
	int r = phx_tpm_quote_by(tcti, data, q, &err);
	if (r < 0)
		print_message("%s\n", err.text);
	assert_int_equal(r, 0);
	Tss2_Tcti_Finalize(tcti);
	free(tcti);
	r = phx_quote_verify(q, data, ret, &err);
	if (r < 0)
		print_message("%s\n", err.text);
	assert_int_equal(r, 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-tpm.XXXXXX");
	port = FIRST_PORT + getpid() % PORTS * 2;
	setenv("TSS2_LOG", "all+none", 1);
	phx_err_clear(&err);
	if (!mkdtemp(dir))
		return -1;
	power_on();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	power_off();
	return phx_dir_remove(dir, NULL);
}

static void what_it_quotes_is_believed(void **state)
{
	struct phx_quote q;
	struct phx_quoted got;
	(void)state;
	ask(&q, &got);
	assert_int_equal(strlen(q.tpm_pcrs), 64 * PHX_QUOTE_PCRS);
	assert_true(got.resets > 0);
}

/* Nothing is kept anywhere, and yet the key is the same at each start of the machine, and each is
 * counted. */
static void its_key_is_the_same_after_a_reset(void **state)
{
	struct phx_quote q;
	struct phx_quoted before, again, after;
	(void)state;
	ask(&q, &before);
	ask(&q, &again);
	assert_int_equal(before.resets, again.resets);
	power_off();
	power_on();
	ask(&q, &after);
	assert_string_equal(before.key, after.key);
	assert_string_equal(before.pcrs, after.pcrs);
	assert_int_equal(after.resets, before.resets + 1);
}

static void another_tpm_has_another_key(void **state)
{
	struct phx_quote q;
	struct phx_quoted one, other;
	(void)state;
	ask(&q, &one);
	power_off();
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
	assert_int_equal(phx_dir_make(dir, 0700, &err), 0);
	power_on();
	ask(&q, &other);
	assert_string_not_equal(one.key, other.key);
}

static void a_machine_without_one_says_so(void **state)
{
	struct phx_quote q = {.tpm_key = "as it was"};
	(void)state;
	assert_int_equal(phx_tpm_quote("/nowhere/tpmrm0", data, &q, &err), -ENODEV);
	assert_string_equal(q.tpm_key, "as it was");
	/* what is there and is no TPM */
	assert_true(phx_tpm_quote("/dev/null", data, &q, &err) < 0);
	assert_string_equal(q.tpm_key, "as it was");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(what_it_quotes_is_believed),
		TEST(its_key_is_the_same_after_a_reset),
		TEST(another_tpm_has_another_key),
		TEST(a_machine_without_one_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
