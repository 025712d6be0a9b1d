/* Core time: see core_clock.h. Called by journal.c. Never sets a clock. */
#include "journal/core_clock.h"

enum { LOOK_MS = 1000, SETTLE_MS = 24 * 3600 * 1000 };

static int64_t wall_of(const struct phx_core_clock *c)
{
	return c->source.wall_ms(c->source.arg);
}

static int64_t mono_of(const struct phx_core_clock *c)
{
	return c->source.mono_ms(c->source.arg);
}

static bool is_synchronised(const struct phx_core_clock *c)
{
	return c->source.synchronised(c->source.arg);
}

void phx_core_clock_begin(struct phx_core_clock *c, const struct phx_clock_source *source,
			  int64_t last_ms, bool accept)
{
	*c = (struct phx_core_clock){.source = *source};
	int64_t wall = wall_of(c), mono = mono_of(c);
	int64_t ahead = last_ms ? wall - last_ms : 0;
	bool far = ahead > PHX_CLOCK_STEP_MAX_MS;
	c->settled_ms = far && !accept ? mono + SETTLE_MS : 0;
	c->look_ms = mono + LOOK_MS;
	if (far && !accept && !is_synchronised(c))
		c->held_ms = ahead;
	c->base_ms = (wall > last_ms && !c->held_ms ? wall : last_ms) - mono;
}

int64_t phx_core_clock_now(const struct phx_core_clock *c, int64_t last_ms)
{
	int64_t now = c->base_ms + mono_of(c);
	return now > last_ms ? now : last_ms;
}

bool phx_core_clock_believe(struct phx_core_clock *c)
{
	int64_t mono = c->held_ms ? mono_of(c) : 0;
	if (!c->held_ms || mono < c->look_ms)
		return false;
	c->look_ms = mono + LOOK_MS;
	if (!is_synchronised(c))
		return false;
	int64_t base = wall_of(c) - mono;
	c->base_ms = base > c->base_ms ? base : c->base_ms;
	c->settled_ms = mono + SETTLE_MS;
	c->held_ms = 0;
	return true;
}

bool phx_core_clock_settled(const struct phx_core_clock *c)
{
	return !c->held_ms && mono_of(c) >= c->settled_ms;
}
