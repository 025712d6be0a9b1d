/* The clocks of this machine, for lib/journal. Called by main.c; and by the launcher, which alone
 * asks the kernel whether somebody keeps them right. Never sets one. */
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

/* Somebody (chrony, ntpd, timesyncd) keeps it right, as far as the kernel was told. Who may not ask
 * it does not know.
 */
bool clock_is_kept(void)
{
	struct timex t = {.modes = 0};
	int r = adjtimex(&t);
	return r >= 0 && r != TIME_ERROR && !(t.status & STA_UNSYNC);
}
