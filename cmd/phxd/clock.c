/* Core time: see clock.h. Called by the engine. Never sets a clock. */
#include "phxd/clock.h"

#include <sys/timex.h>
#include <time.h>

#include "base/clock.h"

enum { LOOK_MS = 1000, SETTLE_MS = 24 * 3600 * 1000 };

/* Somebody (chrony, ntpd, timesyncd) keeps it right, as far as the kernel was told. Who may not ask it does not know. */
static bool is_synchronised(void)
{
	struct timex t = { .modes = 0 };
	int r = adjtimex(&t);
	return r >= 0 && r != TIME_ERROR && !(t.status & STA_UNSYNC);
}

void core_clock_begin(struct core_clock *c, int64_t last_ms, bool accept)
{
	int64_t wall = phx_wall_ms(), mono = phx_clock_ms();
	int64_t ahead = last_ms ? wall - last_ms : 0;
	bool far = ahead > CLOCK_STEP_MAX_MS;
	*c = (struct core_clock){ .settled_ms = far && !accept ? mono + SETTLE_MS : 0, .look_ms = mono + LOOK_MS };
	if (far && !accept && !is_synchronised())
		c->held_ms = ahead;
	c->base_ms = (wall > last_ms && !c->held_ms ? wall : last_ms) - mono;
}

int64_t core_clock_now(const struct core_clock *c, int64_t last_ms)
{
	int64_t now = c->base_ms + phx_clock_ms();
	return now > last_ms ? now : last_ms;
}

bool core_clock_believe(struct core_clock *c)
{
	int64_t mono = c->held_ms ? phx_clock_ms() : 0;
	if (!c->held_ms || mono < c->look_ms)
		return false;
	c->look_ms = mono + LOOK_MS;
	if (!is_synchronised())
		return false;
	int64_t base = phx_wall_ms() - mono;
	c->base_ms = base > c->base_ms ? base : c->base_ms;
	c->settled_ms = mono + SETTLE_MS;
	c->held_ms = 0;
	return true;
}

bool core_clock_settled(const struct core_clock *c)
{
	return !c->held_ms && phx_clock_ms() >= c->settled_ms;
}
