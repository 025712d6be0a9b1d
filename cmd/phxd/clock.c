/* The clocks of this machine, for lib/journal. Called by way of engine.c. Never sets one. */
#include "phxd/engine.h"

#include <sys/timex.h>

#include "base/clock.h"

static int64_t wall_ms(void *arg)
{
	(void)arg;
	return phx_wall_ms();
}

static int64_t mono_ms(void *arg)
{
	(void)arg;
	return phx_clock_ms();
}

/* Somebody (chrony, ntpd, timesyncd) keeps it right, as far as the kernel was told. Who may not ask
 * it does not know.
 */
static bool is_synchronised(void *arg)
{
	struct timex t = {.modes = 0};
	(void)arg;
	int r = adjtimex(&t);
	return r >= 0 && r != TIME_ERROR && !(t.status & STA_UNSYNC);
}

const struct phx_clock_source engine_clock = {wall_ms, mono_ms, is_synchronised, NULL};
