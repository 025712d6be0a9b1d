/* How a trigger follows its runs: when one is over, the next may begin; when its command has
 * printed something new, it fires. Begins no run, since the callers hold pointers to runs. Called
 * by given.c and flowruns.c. Pure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job/internal.h"

void phx_trigger_printed(struct phx_apply *a, const struct phx_flowrun *w, const char *sha256)
{
	struct phx_trigger *t = phx_state_trigger(a->s, w->trigger);
	if (t && t->look_run == w->id)
		PHX_STR_SET(t->look_news, sha256);
}

/* Fires if the output differs from the last one; the first output is only recorded, unless
 * `existing`. Since the command succeeded, an earlier complaint about it is dropped; a reason why a
 * run cannot begin stays. */
static void compare(struct phx_apply *a, struct phx_trigger *t, char *what)
{
	struct phx_trigger_cause c = {.at_ms = a->s->now_ms, .what = what};
	bool fires = strcmp(t->printed_sha256, t->look_news) != 0 &&
		(t->printed_sha256[0] || t->existing);
	PHX_STR_SET(c.digest, t->look_news);
	if (!phx_trigger_n_waiting(t))
		free(PHX_TAKE(t->why));
	if (fires && phx_trigger_fire(t, &c) < 0)
		phx_stick(a, -ENOMEM);
	PHX_STR_SET(t->printed_sha256, t->look_news);
}

/* The output does not count while the trigger is paused: the command runs again after it is
 * resumed. */
static void look_over(struct phx_apply *a, struct phx_trigger *t, const struct phx_flowrun *w)
{
	char what[] = "the command";
	if (t->look_run != w->id)
		return;
	t->look_run = 0;
	t->forget_run = w->id;
	if (w->status != PHX_FLOW_COMPLETE)
		phx_put_text(a, &t->why, "its command: %s",
			     w->why ? w->why : phx_enum_name(&phx_flow_status_names, w->status));
	else if (!t->look_news[0])
		phx_put_text(a, &t->why,
			     "its command: the agent of the node is of a version that does not "
			     "tell what was printed");
	else if (t->state == PHX_TRIGGER_ACTIVE)
		compare(a, t, what);
	t->look_news[0] = '\0';
}

void phx_trigger_run_over(struct phx_apply *a, const struct phx_flowrun *w)
{
	struct phx_trigger *t = w->trigger ? phx_state_trigger(a->s, w->trigger) : NULL;
	if (t && w->looks)
		look_over(a, t, w);
	else if (t)
		phx_trigger_over(t);
	if (t)
		phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
}

void phx_trigger_run_again(struct phx_apply *a, const struct phx_flowrun *w)
{
	struct phx_trigger *t = w->trigger ? phx_state_trigger(a->s, w->trigger) : NULL;
	if (!t || w->looks)
		return;
	phx_trigger_reopened(t);
	phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
}
