/* A site's own program as power driver: SCRIPT OP NODE, where OP is status, on,
 * off, soft (ask the operating system to end), reset, boot-pxe or boot-disk; status prints "on" or
 * "off". Exit status by sysexits: 69 BMC silent, 75 busy, 77 refused, 64 cannot do this.
 * Called by power.c from worker threads. */
#include "power/driver.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"

static int check(const struct phx_bmc *bmc, struct phx_err *err)
{
	if (bmc->script[0] != '/')
		return phx_err_set(err, -EINVAL,
				   "script: the driver script needs the full path of a program");
	if (!phx_name_valid(bmc->node))
		return phx_err_set(err, -EINVAL, "node: the driver script needs the node's name");
	return 0;
}

/* It runs with all rights of who talks to BMCs. */
static int check_trusted(const struct phx_bmc *bmc, struct phx_err *err)
{
	return phx_file_trusted(bmc->script, err) < 0 ? phx_err_prefix(err, -EINVAL, "script") : 0;
}

static int ready(const struct phx_bmc *bmc, struct phx_err *err)
{
	if (access(bmc->script, X_OK) < 0)
		return phx_err_set(err, -EINVAL, "script %s: %s", bmc->script, strerror(errno));
	return check_trusted(bmc, err);
}

static int code_of(int status)
{
	static const struct {
		int status, code;
	} rows[] = {
		{0, 0},
		{EX_USAGE, -EOPNOTSUPP},
		{EX_UNAVAILABLE, -EHOSTUNREACH},
		{EX_TEMPFAIL, -EBUSY},
		{EX_NOPERM, -EACCES},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return -EIO;
}

static int call(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		struct phx_run_result *ret, struct phx_err *err)
{
	const char *const argv[] = {bmc->script, phx_enum_name(&phx_power_op_names, (int)op),
				    bmc->node, NULL};
	const struct phx_run run = {
		.argv = argv, .timeout_ms = timeout_ms, .output_max = 65536, .dies_with_us = true};
	int r = check_trusted(bmc, err);
	r = r ? r : phx_run(&run, ret, err);
	if (r == -ETIMEDOUT)
		return -EHOSTUNREACH;
	if (r < 0)
		return r == -ENOENT || r == -EACCES ? -EINVAL : r;
	r = code_of(ret->status);
	if (r < 0)
		phx_err_set(err, r, "%s %s %s: exit status %d: %.*s", bmc->script, argv[1],
			    bmc->node, ret->status, (int)strcspn(ret->errout, "\n"), ret->errout);
	return r;
}

static int status(const struct phx_bmc *bmc, uint32_t timeout_ms, enum phx_power_state *ret_state,
		  struct phx_err *err)
{
	PHX_AUTO(phx_run_result_fini) struct phx_run_result res = {0};
	int r = call(bmc, PHX_POWER_STATUS, timeout_ms, &res, err);
	if (r < 0)
		return r;
	res.out[strcspn(res.out, "\r\n")] = '\0';
	int state;
	r = phx_enum_parse(&phx_power_state_names, res.out, &state, err);
	if (r < 0)
		return phx_err_prefix(err, -EIO, "%s status", bmc->script);
	*ret_state = (enum phx_power_state)state;
	return 0;
}

static int order(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 struct phx_err *err)
{
	PHX_AUTO(phx_run_result_fini) struct phx_run_result res = {0};
	return call(bmc, op, timeout_ms, &res, err);
}

const struct phx_power_driver phx_power_script = {.observes = true,
						  .by_node = true,
						  .check = check,
						  .ready = ready,
						  .status = status,
						  .order = order};
