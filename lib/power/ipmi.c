/* IPMI 2.0 over the network by ipmitool or FreeIPMI. Called by power.c from
 * worker threads. The password never stands on a command line: both get it on
 * their standard input, FreeIPMI as a configuration. */
#include "power/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/spawn.h"
#include "power/freeipmi.h"

enum {
	IPMI_PORT = PHX_FREEIPMI_PORT,
	PASSWORD_MAX = PHX_FREEIPMI_PASSWORD_MAX,
	ARGS_MAX = 40,
	FREEIPMI_SESSION_MS = 6000,
};

/* What the programs say, and what it means; the first row found counts. */
static const struct answer {
	const char *said;
	int code;
	const char *meaning;
} answers[] = {
	{"RAKP 2 HMAC is invalid", -EACCES, "the BMC refuses the password"},
	{"password invalid", -EACCES, "the BMC refuses the password"},
	{"unauthorized name", -EACCES, "the BMC does not know the user"},
	{"username invalid", -EACCES, "the BMC does not know the user"},
	{"privilege level cannot be obtained", -EACCES,
	 "the BMC refuses the privilege level (some need workarounds = \"opensesspriv\")"},
	{"Insufficient privilege", -EACCES, "the user may not do this"},
	{"privilege level insufficient", -EACCES, "the user may not do this"},
	{"Node busy", -EBUSY, "the BMC is busy"},
	{"BMC busy", -EBUSY, "the BMC is busy"},
	{"insufficient resources", -EBUSY, "the BMC has no free session"},
	{"not supported in present state", -EBUSY, "the BMC cannot do this in its present state"},
	{"Address lookup", -EHOSTUNREACH, "there is no such host"},
	{"invalid hostname", -EHOSTUNREACH, "there is no such host"},
	{"Get Auth Capabilities error", -EHOSTUNREACH, "the BMC does not answer"},
	{"connection timeout", -EHOSTUNREACH, "the BMC does not answer"},
	{"session timeout", -EHOSTUNREACH, "the BMC stopped answering"},
	{"Unable to establish IPMI v2", -EHOSTUNREACH, "the BMC gives no session"},
	{"No response from", -EHOSTUNREACH, "the BMC stopped answering"},
};

static int judge(const char *program, const struct phx_run_result *res, struct phx_err *err)
{
	if (res->status == 0)
		return 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(answers); i++)
		if (strstr(res->errout, answers[i].said) || strstr(res->out, answers[i].said))
			return phx_err_set(err, answers[i].code, "%s", answers[i].meaning);
	const char *text = res->errout[0] ? res->errout : res->out;
	return phx_err_set(err, -EIO, "%s: exit status %d: %.*s", program, res->status,
			   (int)strcspn(text, "\n"), text);
}

static int run_tool(const char *const *argv, const char *input, uint32_t timeout_ms,
		    struct phx_run_result *ret, struct phx_err *err)
{
	static const char *const env[] = {"LC_ALL=C", NULL};
	const struct phx_run run = {.argv = argv,
				    .env_add = env,
				    .input = input,
				    .timeout_ms = timeout_ms,
				    .output_max = 65536,
				    .dies_with_us = true};
	int r = phx_run(&run, ret, NULL);
	if (r == -ENOENT)
		return phx_err_set(err, -EOPNOTSUPP, "%s is not installed", argv[0]);
	if (r == -ETIMEDOUT)
		return phx_err_set(err, -EHOSTUNREACH, "the BMC did not answer within %u ms",
				   timeout_ms);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", argv[0], strerror(-r));
	r = judge(argv[0], ret, err);
	if (r < 0)
		phx_run_result_fini(ret);
	return r;
}

/* A comma-separated list has the word. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ',') && (!p[n] || p[n] == ','))
			return true;
	return false;
}

/* ---- ipmitool ---- */

/* ipmitool: its order words, NULL-terminated; EFI adds an option to the boot ones. */
#define ORDER_WORDS 5
static const char *const tool_words[][ORDER_WORDS] = {
	[PHX_POWER_STATUS] = {"chassis", "power", "status"},
	[PHX_POWER_ON] = {"chassis", "power", "on"},
	[PHX_POWER_OFF] = {"chassis", "power", "off"},
	[PHX_POWER_SOFT] = {"chassis", "power", "soft"},
	[PHX_POWER_RESET] = {"chassis", "power", "reset"},
	[PHX_POWER_BOOT_PXE] = {"chassis", "bootdev", "pxe", "options=efiboot"},
	[PHX_POWER_BOOT_DISK] = {"chassis", "bootdev", "disk", "options=efiboot"},
};

/* -v makes ipmitool say why it got no session; -R 2 -N 1 takes 6 s to call a BMC silent. */
static int call_ipmitool(const struct phx_bmc *bmc, const struct phx_power_host *host,
			 enum phx_power_op op, uint32_t timeout_ms, struct phx_run_result *ret,
			 struct phx_err *err)
{
	/* it need not be allowed to read the file, and gets what it would find there */
	PHX_AUTO_SECRET char *secret = NULL;
	int r = phx_power_secret_read(bmc->password_file, PASSWORD_MAX, &secret, err);
	if (r < 0)
		return r;
	char port[8];
	snprintf(port, sizeof(port), "%u", host->port);
	const char *argv[ARGS_MAX] = {"ipmitool", "-v",         "-I", "lanplus", "-C", "3",
				      "-H",       host->name,   "-p", port,      "-U", bmc->user,
				      "-f",       "/dev/stdin", "-R", "2",       "-N", "1"};
	size_t n = 0;
	while (argv[n])
		n++;
	bool efi = has_word(bmc->workarounds, "efiboot");
	for (size_t i = 0; tool_words[op][i] && (i < 3 || efi); i++)
		argv[n++] = tool_words[op][i];
	return run_tool(argv, secret, timeout_ms, ret, err);
}

/* ---- FreeIPMI ---- */

/* Its options for the operations; the boot device goes as the raw command Set
 * System Boot Options (netfn 0, command 8, parameter 5): valid once, device in
 * bits 2-5 of the second byte. */
static const char *const free_power[] = {
	[PHX_POWER_STATUS] = "--stat", [PHX_POWER_ON] = "--on",       [PHX_POWER_OFF] = "--off",
	[PHX_POWER_SOFT] = "--soft",   [PHX_POWER_RESET] = "--reset",
};
static const char *const free_boot[] = {
	[PHX_POWER_BOOT_PXE] = "0x04",
	[PHX_POWER_BOOT_DISK] = "0x08",
};

/* What every FreeIPMI program is told; returns how many arguments. */
static size_t free_arguments(const char **argv, const struct phx_bmc *bmc, const char *host,
			     const char *session, const char *workarounds)
{
	const char *const common[] = {
		"-D", "LAN_2_0", "-I", "3",  "-l",    "ADMIN", "--config-file=/dev/stdin",
		"-u", bmc->user, "-h", host, session, "-W",    workarounds};
	size_t n = PHX_ARRAY_SIZE(common) - (workarounds[0] ? 0 : 2);
	memcpy(argv, common, n * sizeof(*argv));
	return n;
}

static int call_freeipmi(const struct phx_bmc *bmc, const struct phx_power_host *host,
			 enum phx_power_op op, uint32_t timeout_ms, struct phx_run_result *ret,
			 struct phx_err *err)
{
	PHX_AUTO(phx_freeipmi_fini) struct phx_freeipmi f = {0};
	(void)host;
	int r = phx_freeipmi_make(bmc, &f, err);
	if (r < 0)
		return r;
	char session[48];
	/* it ends by itself, and says why, before it is killed */
	uint32_t session_ms = timeout_ms / 4 * 3;
	snprintf(session, sizeof(session), "--session-timeout=%u",
		 session_ms < FREEIPMI_SESSION_MS ? session_ms : FREEIPMI_SESSION_MS);
	bool boot = op == PHX_POWER_BOOT_PXE || op == PHX_POWER_BOOT_DISK;
	const char *argv[ARGS_MAX] = {boot ? "ipmi-raw" : "ipmipower"};
	size_t n = 1 + free_arguments(argv + 1, bmc, f.host, session, f.workarounds);
	if (!boot) {
		argv[n] = free_power[op];
	} else {
		const char *const flags = has_word(bmc->workarounds, "efiboot") ? "0xa0" : "0x80";
		const char *const raw[] = {"0", "0", "8", "5", flags, free_boot[op], "0", "0", "0"};
		memcpy(argv + n, raw, sizeof(raw));
	}
	return run_tool(argv, f.config, timeout_ms, ret, err);
}

/* ---- the driver ---- */

typedef int (*call_fn)(const struct phx_bmc *bmc, const struct phx_power_host *host,
		       enum phx_power_op op, uint32_t timeout_ms, struct phx_run_result *ret,
		       struct phx_err *err);

static const char *const tool_names[] = {"ipmitool", "ipmipower"};
static const call_fn tool_calls[] = {call_ipmitool, call_freeipmi};

static int find_tool(const struct phx_bmc *bmc, call_fn *ret, struct phx_err *err)
{
	static const struct phx_enum names = {"IPMI tool", tool_names, PHX_ARRAY_SIZE(tool_names)};
	int i;
	int r = phx_enum_parse(&names, bmc->tool[0] ? bmc->tool : tool_names[0], &i, err);
	if (r == 0)
		*ret = tool_calls[i];
	return r;
}

static int check(const struct phx_bmc *bmc, struct phx_err *err)
{
	struct phx_power_host host;
	call_fn call;
	if (!bmc->address[0])
		return phx_err_set(err, -EINVAL,
				   "address: the driver ipmi needs the BMC's HOST or HOST:PORT");
	if (!bmc->password_file[0])
		return phx_err_set(err, -EINVAL, "password_file: the driver ipmi needs it");
	int r = phx_power_host_parse(bmc->address, IPMI_PORT, &host, err);
	return r < 0 ? r : find_tool(bmc, &call, err);
}

static int call(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		struct phx_run_result *ret, struct phx_err *err)
{
	struct phx_power_host host;
	call_fn fn = NULL;
	int r = phx_power_host_parse(bmc->address, IPMI_PORT, &host, err);
	if (r == 0)
		r = find_tool(bmc, &fn, err);
	return r < 0 ? r : fn(bmc, &host, op, timeout_ms, ret, err);
}

static int status(const struct phx_bmc *bmc, uint32_t timeout_ms, enum phx_power_state *ret_state,
		  struct phx_err *err)
{
	static const struct {
		const char *text;
		enum phx_power_state state;
	} reports[] = {
		{"Chassis Power is on", PHX_POWER_IS_ON},
		{"Chassis Power is off", PHX_POWER_IS_OFF},
		{": on\n", PHX_POWER_IS_ON},
		{": off\n", PHX_POWER_IS_OFF},
	};
	PHX_AUTO(phx_run_result_fini) struct phx_run_result res = {0};
	int r = call(bmc, PHX_POWER_STATUS, timeout_ms, &res, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(reports); i++)
		if (strstr(res.out, reports[i].text)) {
			*ret_state = reports[i].state;
			return 0;
		}
	return phx_err_set(err, -EIO, "the power state is not understood: %.*s",
			   (int)strcspn(res.out, "\n"), res.out);
}

static int order(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 struct phx_err *err)
{
	PHX_AUTO(phx_run_result_fini) struct phx_run_result res = {0};
	return call(bmc, op, timeout_ms, &res, err);
}

const struct phx_power_driver phx_power_ipmi = {.observes = true,
						.check = check,
						.ready = phx_power_password_ready,
						.status = status,
						.order = order};
