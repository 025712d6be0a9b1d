/* The IPMI driver against a real BMC simulator (openipmi's ipmi_sim) by both
 * tools. The simulated chassis is a small script that keeps its state in files
 * and can be told to lag or to fail. */
#include "unit/power/help.h"

/* CONTROL MC get power|boot…, set power|boot|reset VALUE…. The file `lag` holds
 * how many more times the old power state is reported after a change. */
static const char CHASSIS[] = "#!/bin/sh\n"
			      "cd \"${0%/*}\" || exit 1\n"
			      "echo \"$*\" >>log\n"
			      "shift\n"
			      "verb=$1\n"
			      "shift\n"
			      "report() {\n"
			      "	lag=$(cat lag)\n"
			      "	if [ \"$lag\" -gt 0 ]; then\n"
			      "		echo $((lag - 1)) >lag\n"
			      "		echo \"power:$(cat old)\"\n"
			      "	else\n"
			      "		echo \"power:$(cat power)\"\n"
			      "	fi\n"
			      "}\n"
			      "[ -e broken ] && exit 1\n"
			      "while [ $# -gt 0 ]; do\n"
			      "	case $verb-$1 in\n"
			      "	get-power) report ;;\n"
			      "	get-boot) echo \"boot:$(cat boot)\" ;;\n"
			      "	set-power) cat power >old; echo \"$2\" >power; shift ;;\n"
			      "	set-boot) echo \"$2\" >boot; shift ;;\n"
			      "	set-reset) echo reset >>resets; shift ;;\n"
			      "	set-shutdown) echo asked >>asked; shift ;;\n"
			      "	esac\n"
			      "	shift\n"
			      "done\n";

static const char EMULATOR[] = "mc_setbmc 0x20\n"
			       "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\n"
			       "mc_enable 0x20\n";

static pid_t simulator;
static struct phx_bmc tool_bmc, free_bmc; /* the same BMC by ipmitool and by FreeIPMI */

static void write_config(uint16_t port)
{
	char text[2048];
	snprintf(text, sizeof(text),
		 "name \"test\"\nset_working_mc 0x20\nstartlan 1\n  addr 127.0.0.1 %u\n  "
		 "priv_limit admin\n"
		 "  allowed_auths_callback none md2 md5 straight\n  allowed_auths_user none md2 "
		 "md5 straight\n"
		 "  allowed_auths_operator none md2 md5 straight\n  allowed_auths_admin none md2 "
		 "md5 straight\n"
		 "  guid a123456789abcdefa123456789abcdef\nendlan\nchassis_control \"%s/chassis "
		 "0x20\"\n"
		 "user 1 true \"\" \"\" user 10 none md2 md5 straight\n"
		 "user 2 true \"admin\" \"open$se:same\" admin 10 none md2 md5 straight\n",
		 port, test_dir);
	put_file("lan.conf", 0600, text);
	put_file("sim.emu", 0600, EMULATOR);
}

static void await_simulator(void)
{
	int64_t end = clock_ms() + 10000;
	while (phx_power_do(&free_bmc, PHX_POWER_STATUS, 1000, NULL, NULL) < 0)
		assert_true(clock_ms() < end);
}

static void start_simulator(void)
{
	const char *const argv[] = {"ipmi_sim",
				    "-c",
				    in_dir("lan.conf"),
				    "-f",
				    in_dir("sim.emu"),
				    "-s",
				    in_dir("state"),
				    "-n",
				    NULL};
	simulator = start_program(argv);
	await_simulator();
}

static int setup(void **state)
{
	(void)state;
	make_dir();
	uint16_t port = free_port(SOCK_DGRAM);
	put_file("chassis", 0700, CHASSIS);
	write_config(port);
	const char *password = put_file("password", 0600, "open$se:same\n");
	snprintf(tool_bmc.address, sizeof(tool_bmc.address), "127.0.0.1:%u", port);
	PHX_STR_SET(tool_bmc.driver, "ipmi");
	PHX_STR_SET(tool_bmc.user, "admin");
	PHX_STR_SET(tool_bmc.node, "node1");
	PHX_STR_SET(tool_bmc.password_file, password);
	free_bmc = tool_bmc;
	PHX_STR_SET(free_bmc.tool, "ipmipower");
	PHX_STR_SET(free_bmc.workarounds, "opensesspriv");
	put_file("power", 0600, "0");
	put_file("old", 0600, "0");
	put_file("lag", 0600, "0");
	put_file("boot", 0600, "default");
	start_simulator();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end_program(simulator);
	remove_dir();
	return 0;
}

/* Each test begins with a chassis that is off, and no history. */
static int reset_chassis(void **state)
{
	(void)state;
	put_file("power", 0600, "0");
	put_file("old", 0600, "0");
	put_file("lag", 0600, "0");
	put_file("log", 0600, "");
	put_file("resets", 0600, "");
	return 0;
}

static void switch_on_and_off(const struct phx_bmc *bmc)
{
	assert_int_equal(power(bmc, PHX_POWER_STATUS, 5000, 0, NULL), PHX_POWER_IS_OFF);
	assert_int_equal(power(bmc, PHX_POWER_ON, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_string_equal(get_file("power"), "1\n");
	/* already so */
	assert_int_equal(power(bmc, PHX_POWER_ON, 10000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(power(bmc, PHX_POWER_OFF, 10000, 0, NULL), PHX_POWER_IS_OFF);
	assert_string_equal(get_file("power"), "0\n");
	assert_int_equal(power(bmc, PHX_POWER_OFF, 10000, 0, NULL), PHX_POWER_IS_OFF);
}

/* Its button is pressed; nobody waits for the system to end. */
static void asks_the_system_to_end(const struct phx_bmc *bmc)
{
	power(bmc, PHX_POWER_ON, 10000, 0, NULL);
	put_file("asked", 0600, "");
	assert_int_equal(power(bmc, PHX_POWER_SOFT, 5000, 0, NULL), PHX_POWER_UNKNOWN);
	assert_string_equal(get_file("asked"), "asked\n");
	assert_string_equal(get_file("power"), "1\n");
}

static void test_ipmitool_soft(void **state)
{
	(void)state;
	asks_the_system_to_end(&tool_bmc);
}

static void test_freeipmi_soft(void **state)
{
	(void)state;
	asks_the_system_to_end(&free_bmc);
}

static void test_ipmitool_on_off(void **state)
{
	(void)state;
	switch_on_and_off(&tool_bmc);
}

static void test_freeipmi_on_off(void **state)
{
	(void)state;
	switch_on_and_off(&free_bmc);
}

static void check_boot_order(const struct phx_bmc *bmc)
{
	power(bmc, PHX_POWER_BOOT_PXE, 5000, 0, NULL);
	assert_string_equal(get_file("boot"), "pxe\n");
	power(bmc, PHX_POWER_BOOT_DISK, 5000, 0, NULL);
	assert_string_equal(get_file("boot"), "default\n"); /* what the simulator makes of "disk" */
}

static void test_boot_device(void **state)
{
	(void)state;
	check_boot_order(&tool_bmc);
	check_boot_order(&free_bmc);
	struct phx_bmc efi = tool_bmc;
	PHX_STR_SET(efi.workarounds, "opensesspriv,efiboot");
	check_boot_order(&efi);
	PHX_STR_SET(efi.tool, "ipmipower");
	check_boot_order(&efi);
}

static void test_reset(void **state)
{
	(void)state;
	power(&tool_bmc, PHX_POWER_ON, 5000, 0, NULL);
	power(&tool_bmc, PHX_POWER_RESET, 5000, 0, NULL);
	power(&free_bmc, PHX_POWER_RESET, 5000, 0, NULL);
	assert_string_equal(get_file("resets"), "reset\nreset\n");
}

/* Off is seen before on is ordered, whatever the state at the start. */
static void test_cycle_observes_off(void **state)
{
	(void)state;
	put_file("power", 0600, "1");
	assert_int_equal(power(&tool_bmc, PHX_POWER_CYCLE, 15000, 0, NULL), PHX_POWER_IS_ON);
	const char *log = get_file("log");
	const char *off = strstr(log, "set power 0"), *on = strstr(log, "set power 1");
	assert_non_null(off);
	assert_non_null(on);
	const char *seen = strstr(off, "get power");
	assert_true(off < seen && seen < on);
}

static void test_boot_is_off_pxe_on(void **state)
{
	(void)state;
	put_file("power", 0600, "1");
	put_file("boot", 0600, "default");
	assert_int_equal(power(&free_bmc, PHX_POWER_BOOT, 15000, 0, NULL), PHX_POWER_IS_ON);
	const char *log = get_file("log");
	const char *off = strstr(log, "set power 0"), *pxe = strstr(log, "set boot pxe");
	assert_true(off && pxe && off < pxe && pxe < strstr(log, "set power 1"));
	assert_string_equal(get_file("boot"), "pxe\n");
}

/* The report lags behind the truth: the order is given all the same, and the
 * operation ends when the report has caught up. */
static void test_stale_report(void **state)
{
	(void)state;
	put_file("lag", 0600, "3");
	assert_int_equal(power(&tool_bmc, PHX_POWER_ON, 20000, 0, NULL), PHX_POWER_IS_ON);
	assert_string_equal(get_file("lag"), "0\n");
	/* Now it says 'off' although it is on: off must be ordered for real. */
	put_file("old", 0600, "0");
	put_file("lag", 0600, "2");
	assert_int_equal(power(&tool_bmc, PHX_POWER_OFF, 20000, 0, NULL), PHX_POWER_IS_OFF);
	assert_string_equal(get_file("power"), "0\n");
}

static void test_never_observed(void **state)
{
	(void)state;
	put_file("lag", 0600, "1000");
	int64_t begin = clock_ms();
	power(&tool_bmc, PHX_POWER_ON, 2000, -ETIMEDOUT, "the BMC reports 'off'");
	assert_true(clock_ms() - begin >= 1500);
}

static void refuse(struct phx_bmc bmc, const char *user, const char *password, const char *say)
{
	PHX_STR_SET(bmc.password_file, put_file("other", 0600, password));
	PHX_STR_SET(bmc.user, user);
	int64_t begin = clock_ms();
	power(&bmc, PHX_POWER_ON, 20000, -EACCES, say);
	assert_true(clock_ms() - begin < 18000); /* no use in trying again until the time is up */
	assert_string_equal(get_file("power"), "0");
}

static void test_refused_credentials(void **state)
{
	(void)state;
	refuse(tool_bmc, "admin", "wrong\n", "refuses the password");
	refuse(tool_bmc, "nobody", "open$se:same\n", "does not know the user");
	refuse(free_bmc, "admin", "wrong\n", "refuses the password");
	refuse(free_bmc, "nobody", "open$se:same\n", "does not know the user");
	struct phx_bmc plain = free_bmc;
	plain.workarounds[0] = '\0';
	refuse(plain, "admin", "open$se:same\n", "opensesspriv");
}

static void test_password_file_refused(void **state)
{
	(void)state;
	static const struct {
		mode_t mode;
		const char *text, *say;
	} rows[] = {
		{0644, "open$se:same\n", "mode must be 0600"},
		{0600, "", "only line"},
		{0600, "two\nlines\n", "only line"},
		{0600, "a password that is longer than twenty\n", "at most 20"},
	};
	struct phx_bmc bmc = tool_bmc;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_STR_SET(bmc.password_file, put_file("other", rows[i].mode, rows[i].text));
		power(&bmc, PHX_POWER_STATUS, 3000, -EINVAL, rows[i].say);
	}
	PHX_STR_SET(bmc.tool, "ipmipower");
	PHX_STR_SET(bmc.password_file, put_file("other", 0600, "pass#word\n"));
	power(&bmc, PHX_POWER_STATUS, 3000, -EINVAL, "takes no password with #");
	PHX_STR_SET(bmc.password_file, in_dir("nosuch"));
	power(&bmc, PHX_POWER_STATUS, 3000, -EINVAL, "nosuch: No such file");
	PHX_STR_SET(bmc.password_file, test_dir);
	power(&bmc, PHX_POWER_STATUS, 3000, -EINVAL, "not a regular file");
}

static void test_silent_bmc(void **state)
{
	(void)state;
	struct phx_bmc bmc = tool_bmc;
	snprintf(bmc.address, sizeof(bmc.address), "127.0.0.1:%u", free_port(SOCK_DGRAM));
	int64_t begin = clock_ms();
	power(&bmc, PHX_POWER_ON, 30000, -EHOSTUNREACH, "does not answer");
	assert_true(clock_ms() - begin < 10000);
	PHX_STR_SET(bmc.tool, "ipmipower");
	power(&bmc, PHX_POWER_STATUS, 2000, -EHOSTUNREACH, "does not answer");
	PHX_STR_SET(bmc.address, "nosuch.invalid");
	power(&bmc, PHX_POWER_STATUS, 2000, -EHOSTUNREACH, "no such host");
}

/* A short outage while the state is awaited is not final. */
static void test_outage_while_observing(void **state)
{
	(void)state;
	put_file("lag", 0600, "4");
	pid_t helper = fork();
	assert_true(helper >= 0);
	if (helper == 0) {
		sleep_ms(500);
		kill(simulator, SIGSTOP);
		sleep_ms(1500);
		kill(simulator, SIGCONT);
		_exit(0);
	}
	assert_int_equal(power(&tool_bmc, PHX_POWER_ON, 30000, 0, NULL), PHX_POWER_IS_ON);
	waitpid(helper, NULL, 0);
}

static void test_chassis_fails(void **state)
{
	(void)state;
	put_file("broken", 0600, "");
	power(&tool_bmc, PHX_POWER_ON, 2000, -EIO, "ipmitool: exit status 1");
	unlink(in_dir("broken"));
	assert_int_equal(power(&tool_bmc, PHX_POWER_STATUS, 5000, 0, NULL), PHX_POWER_IS_OFF);
}

/* A wrapper in front of each tool writes down its arguments: no password. */
static void test_no_password_on_command_line(void **state)
{
	(void)state;
	static const char *const tools[] = {"ipmitool", "ipmipower", "ipmi-raw"};
	assert_int_equal(mkdir(in_dir("bin"), 0700), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(tools); i++) {
		char name[32], text[256];
		snprintf(name, sizeof(name), "bin/%s", tools[i]);
		snprintf(text, sizeof(text),
			 "#!/bin/sh\necho \"$0 $*\" >>%s/argv\nPATH=${PATH#*:}\nexec %s \"$@\"\n",
			 test_dir, tools[i]);
		put_file(name, 0700, text);
	}
	PHX_AUTO_FREE char *path = strdup(getenv("PATH"));
	PHX_AUTO_FREE char *longer = phx_path("%s:%s", in_dir("bin"), path);
	setenv("PATH", longer, 1);
	power(&tool_bmc, PHX_POWER_STATUS, 5000, 0, NULL);
	power(&free_bmc, PHX_POWER_STATUS, 5000, 0, NULL);
	power(&free_bmc, PHX_POWER_BOOT_PXE, 5000, 0, NULL);
	setenv("PATH", path, 1);
	const char *argv = get_file("argv");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(tools); i++)
		assert_non_null(strstr(argv, tools[i]));
	assert_null(strstr(argv, "open$se"));
}

static void test_record_is_checked(void **state)
{
	(void)state;
	struct phx_bmc bmc = tool_bmc;
	struct phx_err err = {0};
	assert_int_equal(phx_power_check(&bmc, NULL), 0);
	struct phx_bmc away = bmc;
	struct phx_err no_file = {0};
	PHX_STR_SET(away.password_file, "/nonexistent/bmc.pw");
	assert_int_equal(phx_power_check(&away, NULL), 0); /* looks at no file */
	assert_int_equal(phx_power_ready(&away, &no_file), -EINVAL);
	assert_non_null(strstr(no_file.text, "password_file /nonexistent/bmc.pw: No such file"));
	PHX_STR_SET(bmc.tool, "ipmish");
	assert_int_equal(phx_power_check(&bmc, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ipmitool, ipmipower"));
	PHX_STR_SET(bmc.tool, "ipmitool");
	static const char *const bad[] = {"",           "-h",   "a b",    "host:", "host:0",
					  "host:65536", "[::1", "n[1-3]", "a;b"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_STR_SET(bmc.address, bad[i]);
		power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "address");
	}
	static const char *const good[] = {"bmc1", "10.0.0.1", "10.0.0.1:624", "::1",
					   "[fe80::1]:623"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		PHX_STR_SET(bmc.address, good[i]);
		assert_int_equal(phx_power_check(&bmc, NULL), 0);
	}
	bmc.password_file[0] = '\0';
	power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "password_file");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, reset_chassis)
	const struct CMUnitTest tests[] = {
		T(test_ipmitool_on_off),     T(test_freeipmi_on_off),
		T(test_ipmitool_soft),       T(test_freeipmi_soft),
		T(test_boot_device),         T(test_reset),
		T(test_cycle_observes_off),  T(test_boot_is_off_pxe_on),
		T(test_stale_report),        T(test_never_observed),
		T(test_refused_credentials), T(test_password_file_refused),
		T(test_silent_bmc),          T(test_outage_while_observing),
		T(test_chassis_fails),       T(test_no_password_on_command_line),
		T(test_record_is_checked),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
