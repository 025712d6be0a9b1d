/* What all steps use: see step.h. Never carries out a step (step_table.c does). */
#include "base/clock.h"
#include "agent/step.h"

#include "agent/log.h"

int step_http(struct step_run *s, struct phx_http_client **ret, struct phx_err *err)
{
	int r = s->http ? 0 : agent_client(s->agent, &s->http, err);
	if (r == 0)
		*ret = s->http;
	return r;
}

bool step_cancelled(void *step_run)
{
	struct step_run *s = step_run;
	pthread_mutex_lock(&s->agent->lock);
	bool newer = s->agent->journal.epoch > s->order->epoch;
	pthread_mutex_unlock(&s->agent->lock);
	return newer || agent_stopping(s->agent) || phx_clock_ms() >= s->deadline_ms;
}
