/* The Redfish driver against a fake service (fake_redfish.h) on loopback. */
#include "fake/redfish.h"

static struct fake_redfish fake;
static struct phx_bmc bmc;

static int setup_dir(void **state)
{
	(void)state;
	make_dir();
	return 0;
}

static int teardown_dir(void **state)
{
	(void)state;
	remove_dir();
	return 0;
}

/* Each test has a service of its own. */
static int setup(void **state)
{
	(void)state;
	uint16_t port = fake_redfish_start(&fake, NULL, NULL);
	bmc = (struct phx_bmc){.driver = "redfish", .user = "admin", .node = "node1"};
	snprintf(bmc.address, sizeof(bmc.address), "http://127.0.0.1:%u", port);
	PHX_STR_SET(bmc.password_file, put_file("password", 0600, "secret\n"));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_redfish_stop(&fake);
	return 0;
}

static void test_on_off(void **state)
{
	(void)state;
	assert_int_equal(power(&bmc, PHX_POWER_STATUS, 5000, 0, NULL), PHX_POWER_IS_OFF);
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
	assert_true(fake.on);
	assert_string_equal(fake.last_type, "On");
	assert_int_equal(power(&bmc, PHX_POWER_STATUS, 5000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(power(&bmc, PHX_POWER_OFF, 5000, 0, NULL), PHX_POWER_IS_OFF);
	assert_false(fake.on);
	assert_string_equal(fake.last_type, "ForceOff");
}

static void test_cycle_and_reset(void **state)
{
	(void)state;
	fake.on = true;
	assert_int_equal(power(&bmc, PHX_POWER_CYCLE, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(fake.n_orders, 2);
	power(&bmc, PHX_POWER_RESET, 5000, 0, NULL);
	assert_string_equal(fake.last_type, "ForceRestart");
}

static void test_boot_override(void **state)
{
	(void)state;
	power(&bmc, PHX_POWER_BOOT_PXE, 5000, 0, NULL);
	assert_string_equal(fake.boot_target, "Pxe");
	assert_string_equal(fake.boot_enabled, "Once");
	power(&bmc, PHX_POWER_BOOT_DISK, 5000, 0, NULL);
	assert_string_equal(fake.boot_target, "Hdd");
	fake.on = true;
	assert_int_equal(power(&bmc, PHX_POWER_BOOT, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_string_equal(fake.boot_target, "Pxe");
	assert_int_equal(fake.n_orders, 5);
}

static void test_already_so(void **state)
{
	(void)state;
	fake.refuse_same = true;
	assert_int_equal(power(&bmc, PHX_POWER_OFF, 5000, 0, NULL), PHX_POWER_IS_OFF);
	fake.on = true;
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(fake.n_orders, 0);
}

/* It says 'Off' for a while although it is on: off is ordered all the same. */
static void test_state_that_lies_off(void **state)
{
	(void)state;
	fake.on = true;
	fake.n_stale = 3;
	assert_int_equal(power(&bmc, PHX_POWER_OFF, 10000, 0, NULL), PHX_POWER_IS_OFF);
	assert_false(fake.on);
	/* And after on: not believed until it says so. */
	fake.n_stale = 3;
	assert_int_equal(power(&bmc, PHX_POWER_ON, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(fake.n_stale, 0);
}

/* A single 'Off' between two 'On' does not count as off. */
static void test_off_must_last(void **state)
{
	(void)state;
	fake.on = true;
	fake.deaf = true;
	fake.n_stale = 2; /* one reading by the order itself, one by the first look */
	power(&bmc, PHX_POWER_OFF, 1500, -ETIMEDOUT,
	      "was not seen off in time: the BMC reports 'on'");
	assert_true(fake.on);
}

static void test_in_between_states_are_neither(void **state)
{
	(void)state;
	fake.stale = "PoweringOn";
	fake.n_stale = 1;
	assert_int_equal(power(&bmc, PHX_POWER_STATUS, 5000, 0, NULL), PHX_POWER_UNKNOWN);
	fake.n_stale = 3;
	assert_int_equal(power(&bmc, PHX_POWER_ON, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(fake.n_stale, 0);
}

static void test_busy(void **state)
{
	(void)state;
	fake.n_busy = 3;
	assert_int_equal(power(&bmc, PHX_POWER_ON, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(fake.n_orders, 1);
	fake.n_busy = 100000;
	power(&bmc, PHX_POWER_OFF, 1500, -EBUSY, "503 The service is busy");
	assert_true(fake.on);
	power(&bmc, PHX_POWER_STATUS, 1500, -EBUSY, "busy");
}

static void test_slow(void **state)
{
	(void)state;
	fake.slow_ms = 200;
	assert_int_equal(power(&bmc, PHX_POWER_ON, 10000, 0, NULL), PHX_POWER_IS_ON);
	fake.slow_ms = 3000;
	int64_t begin = clock_ms();
	power(&bmc, PHX_POWER_STATUS, 700, -EHOSTUNREACH, NULL);
	assert_true(clock_ms() - begin < fake.slow_ms);
}

static void test_wrong_credentials(void **state)
{
	(void)state;
	PHX_STR_SET(bmc.password_file, put_file("other", 0600, "wrong\n"));
	int64_t begin = clock_ms();
	power(&bmc, PHX_POWER_ON, 10000, -EACCES, "401");
	assert_true(clock_ms() - begin < 9000); /* not until the time is up */
	assert_int_equal(fake.n_orders, 0);
	PHX_STR_SET(bmc.password_file, put_file("other", 0640, "secret\n"));
	power(&bmc, PHX_POWER_ON, 10000, -EINVAL, "mode must be 0600");
}

static void test_silent(void **state)
{
	(void)state;
	snprintf(bmc.address, sizeof(bmc.address), "http://127.0.0.1:%u", free_port(SOCK_STREAM));
	power(&bmc, PHX_POWER_ON, 5000, -EHOSTUNREACH, NULL);
}

static void test_which_system(void **state)
{
	(void)state;
	fake.n_systems = 2;
	power(&bmc, PHX_POWER_ON, 5000, -EINVAL,
	      "has 2 systems; name one, such as '/redfish/v1/Systems/1'");
	PHX_STR_SET(bmc.system, FAKE_SYSTEM);
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
	PHX_STR_SET(bmc.system, "/redfish/v1/Systems/7");
	power(&bmc, PHX_POWER_ON, 5000, -EIO, "404 No such resource");
	PHX_STR_SET(bmc.system, "Systems/1");
	power(&bmc, PHX_POWER_ON, 5000, -EINVAL, "a path is expected");
	bmc.system[0] = '\0';
	fake.n_systems = 0;
	power(&bmc, PHX_POWER_STATUS, 5000, -EINVAL, "has 0 systems");
}

static void test_reset_types_on_offer(void **state)
{
	(void)state;
	fake.allowed = "[\"ForceOn\",\"ForceOff\",\"PowerCycle\"]";
	power(&bmc, PHX_POWER_ON, 5000, 0, NULL);
	assert_string_equal(fake.last_type, "ForceOn");
	power(&bmc, PHX_POWER_RESET, 5000, 0, NULL);
	assert_string_equal(fake.last_type, "PowerCycle");
	power(&bmc, PHX_POWER_SOFT, 5000, -EOPNOTSUPP, "does not offer ResetType GracefulShutdown");
	fake.allowed = "[\"GracefulShutdown\"]";
	assert_int_equal(power(&bmc, PHX_POWER_SOFT, 1000, 0, NULL), PHX_POWER_UNKNOWN);
	assert_string_equal(fake.last_type, "GracefulShutdown");
	assert_true(fake.on);
	power(&bmc, PHX_POWER_OFF, 5000, -EOPNOTSUPP, "does not offer ResetType ForceOff");
}

static void test_answers_that_are_no_redfish(void **state)
{
	(void)state;
	static const char *const raws[] = {"", "<html>login</html>",
					   "{\"PowerState\":", "{\"PowerState\":\"On\""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(raws); i++) {
		fake.raw = raws[i];
		power(&bmc, PHX_POWER_STATUS, 5000, -EIO, "GET " FAKE_SYSTEM);
	}
	static const char *const odd[] = {"{}", "[]", "{\"PowerState\":1}",
					  "{\"PowerState\":\"Paused\"}"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(odd); i++) {
		fake.raw = odd[i];
		assert_int_equal(power(&bmc, PHX_POWER_STATUS, 5000, 0, NULL), PHX_POWER_UNKNOWN);
	}
	/* The action's target is optional: the standard path is taken. */
	fake.raw = "{\"PowerState\":\"On\"}";
	power(&bmc, PHX_POWER_RESET, 5000, 0, NULL);
	assert_int_equal(fake.n_orders, 1);
}

static void make_certificate(char **ret_cert, char **ret_key)
{
	const char *cert = in_dir("cert.pem"), *key = in_dir("key.pem");
	const char *const argv[] = {"openssl",
				    "req",
				    "-x509",
				    "-newkey",
				    "ec",
				    "-pkeyopt",
				    "ec_paramgen_curve:P-256",
				    "-nodes",
				    "-subj",
				    "/CN=bmc",
				    "-days",
				    "2",
				    "-keyout",
				    key,
				    "-out",
				    cert,
				    NULL};
	const struct phx_run run = {.argv = argv};
	assert_int_equal(phx_run_check(&run, NULL, NULL), 0);
	assert_int_equal(phx_file_read(cert, 65536, ret_cert, NULL, NULL), 0);
	assert_int_equal(phx_file_read(key, 65536, ret_key, NULL, NULL), 0);
}

/* A self-signed BMC is only spoken to when its record says so. */
static void test_tls(void **state)
{
	(void)state;
	PHX_AUTO_FREE char *cert = NULL;
	PHX_AUTO_FREE char *key = NULL;
	struct fake_redfish secure;
	make_certificate(&cert, &key);
	uint16_t port = fake_redfish_start(&secure, cert, key);
	snprintf(bmc.address, sizeof(bmc.address), "127.0.0.1:%u", port); /* https is the default */
	struct phx_err err = {0};
	int r = phx_power_do(&bmc, PHX_POWER_ON, 5000, NULL, &err);
	assert_true(r == -EPROTO || r == -EACCES);
	assert_false(secure.on);
	bmc.insecure = true;
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
	fake_redfish_stop(&secure);
}

static void test_record_is_checked(void **state)
{
	(void)state;
	struct phx_bmc bad = bmc;
	bad.address[0] = '\0';
	power(&bad, PHX_POWER_ON, 1000, -EINVAL, "address");
	PHX_STR_SET(bad.address, "ftp://bmc1");
	power(&bad, PHX_POWER_ON, 1000, -EINVAL, "https://HOST");
	bad = bmc;
	bad.user[0] = '\0';
	power(&bad, PHX_POWER_ON, 1000, -EINVAL, "user");
	bad = bmc;
	bad.password_file[0] = '\0';
	power(&bad, PHX_POWER_ON, 1000, -EINVAL, "password_file");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_on_off),
		T(test_cycle_and_reset),
		T(test_boot_override),
		T(test_already_so),
		T(test_state_that_lies_off),
		T(test_off_must_last),
		T(test_in_between_states_are_neither),
		T(test_busy),
		T(test_slow),
		T(test_wrong_credentials),
		T(test_silent),
		T(test_which_system),
		T(test_reset_types_on_offer),
		T(test_answers_that_are_no_redfish),
		T(test_tls),
		T(test_record_is_checked),
	};
	return cmocka_run_group_tests(tests, setup_dir, teardown_dir);
}
