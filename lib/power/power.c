/* Power operations: see power.h. Called by phxd's workers through queue.c and
 * by the CLI's diagnostics; blocks, so never on a main loop.
 *
 * An operation is a row of `sequences`; each step that has a goal (on, off) is
 *
 *   order ──▶ read the state ──▶ goal reached? done
 *     ▲             │ no
 *     └─ again after RESEND_MS, or at once when the BMC was busy
 *
 * The order is always given, even when the BMC reports the goal already: a BMC
 * whose report lags behind would otherwise turn 'already off' into a lie. */
#include "power/power.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "power/driver.h"

enum {
	DEFAULT_TIMEOUT_MS = 60000,
	CALL_MS = 20000,   /* one exchange with a BMC */
	RESEND_MS = 10000, /* a BMC may take an order and forget it */
	POLL_FIRST_MS = 100,
	POLL_MOST_MS = 1000,
	OFF_SETTLE_MS = 500, /* 'off' counts when it is still so after this */
	STEPS_MAX = 3,
};

struct sequence {
	int n_steps;
	enum phx_power_op steps[STEPS_MAX];
};

static const struct sequence sequences[] = {
	[PHX_POWER_STATUS] = {1, {PHX_POWER_STATUS}},
	[PHX_POWER_ON] = {1, {PHX_POWER_ON}},
	[PHX_POWER_OFF] = {1, {PHX_POWER_OFF}},
	[PHX_POWER_SOFT] = {1, {PHX_POWER_SOFT}},
	[PHX_POWER_CYCLE] = {2, {PHX_POWER_OFF, PHX_POWER_ON}},
	[PHX_POWER_RESET] = {1, {PHX_POWER_RESET}},
	[PHX_POWER_BOOT_PXE] = {1, {PHX_POWER_BOOT_PXE}},
	[PHX_POWER_BOOT_DISK] = {1, {PHX_POWER_BOOT_DISK}},
	[PHX_POWER_BOOT] = {3, {PHX_POWER_OFF, PHX_POWER_BOOT_PXE, PHX_POWER_ON}},
};

/* ---- drivers ---- */

#define ROW(name, keys) &phx_power_##name,
static const struct phx_power_driver *const drivers[] = {PHX_POWER_DRIVERS(ROW)};
#define NAME(name, keys) #name,
static const char *const driver_names[] = {PHX_POWER_DRIVERS(NAME)};
static const struct phx_enum names = {"power driver", driver_names, PHX_ARRAY_SIZE(driver_names)};

int phx_power_driver(const struct phx_bmc *bmc, const struct phx_power_driver **ret,
		     struct phx_err *err)
{
	int i;
	int r = phx_enum_parse(&names, bmc->driver[0] ? bmc->driver : "none", &i, err);
	if (r == 0)
		*ret = drivers[i];
	return r;
}

int phx_power_check(const struct phx_bmc *bmc, struct phx_err *err)
{
	const struct phx_power_driver *driver = NULL;
	int r = phx_power_driver(bmc, &driver, err);
	return r < 0 ? r : driver->check(bmc, err);
}

int phx_power_ready(const struct phx_bmc *bmc, struct phx_err *err)
{
	const struct phx_power_driver *driver = NULL;
	int r = phx_power_driver(bmc, &driver, err);
	r = r < 0 ? r : driver->check(bmc, err);
	return r < 0 || !driver->ready ? r : driver->ready(bmc, err);
}

int phx_power_can(const struct phx_bmc *bmc, enum phx_power_op op, struct phx_err *err)
{
	const struct phx_power_driver *driver = NULL;
	int r = phx_power_driver(bmc, &driver, err);
	return r < 0 || !driver->can ? r : driver->can(op, err);
}

/* ---- one operation ---- */

struct run {
	const struct phx_bmc *bmc;
	const struct phx_power_driver *driver;
	int64_t end_ms;
	enum phx_power_state seen;     /* by the last call, UNKNOWN if it failed */
	enum phx_power_state reported; /* by the last call that succeeded */
};

/* Time for one exchange; 0 when there is none left. */
static uint32_t call_time(const struct run *run)
{
	int64_t left = run->end_ms - phx_clock_ms();
	return left <= 0 ? 0 : (uint32_t)(left < CALL_MS ? left : CALL_MS);
}

static int read_state(struct run *run, struct phx_err *err)
{
	uint32_t timeout_ms = call_time(run);
	if (!timeout_ms)
		return phx_err_set(err, -ETIMEDOUT, "no time left to ask for the state");
	enum phx_power_state state = PHX_POWER_UNKNOWN;
	int r = run->driver->status(run->bmc, timeout_ms, &state, err);
	run->seen = r < 0 ? PHX_POWER_UNKNOWN : state;
	if (r == 0)
		run->reported = state;
	return r;
}

static enum phx_power_state goal_of(enum phx_power_op op)
{
	return op == PHX_POWER_ON                             ? PHX_POWER_IS_ON
		: op == PHX_POWER_OFF || op == PHX_POWER_SOFT ? PHX_POWER_IS_OFF
							      : PHX_POWER_UNKNOWN;
}

/* Is the goal waited for here? An operating system takes minutes to end: too long for a thread. */
static bool is_observed(const struct run *run, enum phx_power_op op)
{
	return goal_of(op) != PHX_POWER_UNKNOWN && op != PHX_POWER_SOFT && run->driver->observes;
}

/* Give the order; while the BMC is busy, reread and repeat (somebody else's
 * command may have done it already). */
static int give_order(struct run *run, enum phx_power_op op, struct phx_err *err)
{
	enum phx_power_state goal = goal_of(op);
	for (struct phx_again again = {POLL_FIRST_MS, POLL_MOST_MS, 0};;) {
		struct phx_err why = {0};
		uint32_t timeout_ms = call_time(run);
		if (!timeout_ms)
			return phx_err_set(err, -ETIMEDOUT, "no time left to give the order");
		int r = run->driver->order(run->bmc, op, timeout_ms, &why);
		if (r != -EBUSY)
			return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
		phx_again(&again, run->end_ms);
		if (!call_time(run))
			return phx_err_set(err, -EBUSY, "%s", why.text);
		if (goal != PHX_POWER_UNKNOWN && read_state(run, NULL) == 0 && run->seen == goal)
			return 0;
	}
}

/* Errors that waiting does not heal; a silent or confused BMC may come back. */
static bool is_final(int r)
{
	return r == -EACCES || r == -EINVAL || r == -EOPNOTSUPP || r == -ENOMEM;
}

static int not_observed(const struct run *run, enum phx_power_state goal, const struct phx_err *why,
			struct phx_err *err)
{
	const char *goal_name = phx_enum_name(&phx_power_state_names, (int)goal);
	const char *reported = phx_enum_name(&phx_power_state_names, (int)run->reported);
	if (!why->text[0])
		return phx_err_set(err, -ETIMEDOUT, "was not seen %s in time: the BMC reports '%s'",
				   goal_name, reported);
	if (run->reported == PHX_POWER_UNKNOWN)
		return phx_err_set(err, -ETIMEDOUT, "was not seen %s in time: %s", goal_name,
				   why->text);
	return phx_err_set(err, -ETIMEDOUT,
			   "was not seen %s in time: the BMC reports '%s', and at last: %s",
			   goal_name, reported, why->text);
}

/* Poll until the BMC reports `goal` (off: twice, OFF_SETTLE_MS apart). */
static int observe(struct run *run, enum phx_power_op op, enum phx_power_state goal,
		   struct phx_err *err)
{
	struct phx_again again = {POLL_FIRST_MS, POLL_MOST_MS, 0};
	struct phx_again settle = {OFF_SETTLE_MS, OFF_SETTLE_MS, 0};
	int64_t ordered = phx_clock_ms();
	bool seen_before = false;
	struct phx_err why = {0};
	while (call_time(run)) {
		phx_err_clear(&why);
		int r = read_state(run, &why);
		if (is_final(r))
			return phx_err_set(err, r, "%s", why.text);
		bool seen = r == 0 && run->seen == goal;
		if (seen && (goal == PHX_POWER_IS_ON || seen_before))
			return 0;
		if (!seen && phx_clock_ms() - ordered > RESEND_MS) {
			(void)give_order(run, op, NULL);
			ordered = phx_clock_ms();
		}
		phx_again(seen ? &settle : &again, run->end_ms);
		seen_before = seen;
	}
	return not_observed(run, goal, &why, err);
}

static int do_step(struct run *run, enum phx_power_op op, struct phx_err *err)
{
	if (op == PHX_POWER_STATUS)
		return read_state(run, err);
	int r = give_order(run, op, err);
	return r == 0 && is_observed(run, op) ? observe(run, op, goal_of(op), err) : r;
}

static int do_sequence(struct run *run, enum phx_power_op op, struct phx_err *err)
{
	const struct sequence *seq = &sequences[op];
	int r = 0;
	for (int i = 0; r == 0 && i < seq->n_steps; i++) {
		r = do_step(run, seq->steps[i], err);
		/* Who cannot choose the boot device has firmware that tries the network first. */
		if (r == -EOPNOTSUPP && op == PHX_POWER_BOOT &&
		    seq->steps[i] == PHX_POWER_BOOT_PXE) {
			phx_err_clear(err);
			r = 0;
		}
	}
	return r;
}

int phx_power_do(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 enum phx_power_state *ret_state, struct phx_err *err)
{
	struct run run = {.bmc = bmc,
			  .end_ms =
				  phx_clock_ms() + (timeout_ms ? timeout_ms : DEFAULT_TIMEOUT_MS)};
	struct phx_err why = {0};
	int r = phx_power_driver(bmc, &run.driver, &why);
	if (r == 0)
		r = run.driver->check(bmc, &why);
	if (r == 0)
		r = do_sequence(&run, op, &why);
	if (r < 0)
		return phx_err_set(err, r, "power %s%s%s (%s%s%s): %s",
				   phx_enum_name(&phx_power_op_names, (int)op),
				   bmc->node[0] ? " of " : "", bmc->node,
				   bmc->driver[0] ? bmc->driver : "none",
				   bmc->address[0] ? " " : "", bmc->address,
				   why.text[0] ? why.text : strerror(-r));
	if (ret_state)
		*ret_state = run.seen;
	return 0;
}
