/* What the runs of a trigger bring about for it: one is over, and the next may begin; its command
 * has printed something else than before, and it fires. It begins no run itself: who calls has
 * pointers to runs. Called by given.c and flowruns.c. Pure. */
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

/* What it printed first is what later ones are compared with. That it ended well is over what was
 * said of it before; why a run cannot begin stays. */
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

/* Of one that is paused what was printed does not count: when it goes on it looks again. */
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
}

void phx_trigger_run_again(struct phx_apply *a, const struct phx_flowrun *w)
{
	struct phx_trigger *t = w->trigger ? phx_state_trigger(a->s, w->trigger) : NULL;
	if (t && !w->looks)
		phx_trigger_reopened(t);
}
