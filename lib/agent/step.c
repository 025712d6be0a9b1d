/* Functions that all steps use: see step.h. Carries out no step (step_table.c does). */
#include "agent/step.h"

#include "base/clock.h"
#include "agent/decide.h"

int step_http(struct step_run *s, struct phx_http_client **ret, struct phx_err *err)
{
	int r = s->http ? 0 : agent_client(s->agent, &s->http, err);
	if (r == 0)
		*ret = s->http;
	return r;
}

static bool is_past(const struct step_run *s)
{
	return decide_given_up(s->agent->step_log.epoch, s->order->epoch);
}

/* Called with the loop held. */
static bool is_cancelled(const struct step_run *s)
{
	return is_past(s) || agent_stopping(s->agent) || phx_clock_ms() >= s->deadline_ms;
}

const char *step_why_cancelled(const struct step_run *s)
{
	LOOP_HELD(s->agent->loop);
	return is_past(s)                  ? "an order of a newer plan came"
		: agent_stopping(s->agent) ? "the agent ends"
					   : "its time is up";
}

bool step_cancelled(void *step_run)
{
	return step_wait_ms(step_run, 0);
}

bool step_wait_ms(void *step_run, uint32_t ms)
{
	const struct step_run *s = step_run;
	int64_t due_ms = phx_clock_ms() + ms;
	if (due_ms > s->deadline_ms)
		due_ms = s->deadline_ms;
	LOOP_HELD(s->agent->loop);
	while (!is_cancelled(s) && phx_clock_ms() < due_ms)
		loop_wait(s->agent->loop, due_ms);
	return is_cancelled(s);
}
