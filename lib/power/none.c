/* The driver of a node without a BMC: its power is switched by hand. Called by
 * power.c; refuses everything. */
#include "power/driver.h"

#include <errno.h>

static int check(const struct phx_bmc *bmc, struct phx_err *err)
{
	(void)bmc;
	(void)err;
	return 0;
}

static int ready(const struct phx_bmc *bmc, struct phx_err *err)
{
	(void)bmc;
	return phx_err_set(err, -EOPNOTSUPP, "the node has no BMC; its power is switched by hand");
}

static int status(const struct phx_bmc *bmc, uint32_t timeout_ms, enum phx_power_state *ret_state,
		  struct phx_err *err)
{
	(void)timeout_ms;
	(void)ret_state;
	return ready(bmc, err);
}

static int order(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 struct phx_err *err)
{
	(void)op;
	(void)timeout_ms;
	return ready(bmc, err);
}

const struct phx_power_driver phx_power_none = {
	.observes = true, .check = check, .ready = ready, .status = status, .order = order};
