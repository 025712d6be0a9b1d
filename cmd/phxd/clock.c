/* The clocks of this machine, for lib/journal. Called by main.c, and by the launcher, since only it
 * may ask the kernel whether they are synchronised. Never sets a clock. */
#include "phxd/engine.h"

#include <sys/timex.h>

#include "base/clock.h"
#include "phxd/launch.h"

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

static bool is_synchronised(void *arg)
{
	return launch_clock_is_kept(arg);
}

struct phx_clock_source clock_source(struct launch *l)
{
	return (struct phx_clock_source){wall_ms, mono_ms, is_synchronised, l};
}

/* Does the kernel believe the clock synchronised (by chrony, ntpd, timesyncd)? False if we may not
 * ask it. */
bool clock_is_kept(void)
{
	struct timex t = {.modes = 0};
	int r = adjtimex(&t);
	return r >= 0 && r != TIME_ERROR && !(t.status & STA_UNSYNC);
}
