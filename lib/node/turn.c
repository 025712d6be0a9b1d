/* Where a node stands in the line in which it is rebooted (line.c):
 *
 *   joins ──▶ waits ──its turn──▶ away ──serves again──▶ done
 *               │                  │
 *               │ cancelled        └ does not come back: the line is stopped, others wait on
 *               └──▶ out of the line
 *
 * Each file that learns what has become of a node calls this one. Pure. */
#include "node/internal.h"

#include <stdio.h>

const char phx_reboot_failed[] = "its reboot failed";

static struct phx_line_node *entry_of(const struct phx_line *line, const char *name)
{
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

/* The end of the event decides what the line's other nodes do now. */
static void take_out(struct phx_apply *a, struct phx_node *n, struct phx_line *line,
		     struct phx_line_node *e)
{
	n->line = 0;
	n->line_waits = false;
	phx_list_remove(&line->nodes, sizeof(*e),
			(uint32_t)(e - PHX_LIST_AT(&line->nodes, struct phx_line_node, 0)));
	phx_work_add(a, PHX_WORK_LINES, NULL);
	a->out->changed = true;
}

bool phx_line_leave(struct phx_apply *a, struct phx_node *n)
{
	struct phx_line *line = n->line ? phx_state_line(a->s, n->line) : NULL;
	struct phx_line_node *e = line ? entry_of(line, n->name) : NULL;
	bool waited = n->line_waits;
	if (e)
		take_out(a, n, line, e);
	return e && waited;
}

void phx_line_done(struct phx_apply *a, struct phx_node *n)
{
	struct phx_line *line = n->line ? phx_state_line(a->s, n->line) : NULL;
	struct phx_line_node *e = line ? entry_of(line, n->name) : NULL;
	if (!e)
		return;
	if (e->stage == PHX_LINE_AWAY) {
		e->stage = PHX_LINE_DONE;
		line->done++;
	}
	phx_work_add(a, PHX_WORK_LINES, NULL);
}

static uint32_t n_waiting(const struct phx_line *line)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes)
		n += e->stage == PHX_LINE_WAITS;
	return n;
}

void phx_line_lost(struct phx_apply *a, struct phx_node *n, const char *why)
{
	struct phx_line *line = n->line ? phx_state_line(a->s, n->line) : NULL;
	struct phx_line_node *e = line ? entry_of(line, n->name) : NULL;
	if (!e)
		return;
	bool rebooted = e->stage == PHX_LINE_AWAY;
	take_out(a, n, line, e);
	if (!rebooted || line->stopped[0])
		return;
	snprintf(line->stopped, sizeof(line->stopped), "%s did not come back: %.120s", n->name,
		 why);
	phx_note(a, n, "%s: the reboots that wait for it (%u) do not begin", line->stopped,
		 n_waiting(line));
}

void phx_line_look(struct phx_apply *a, const struct phx_node *n)
{
	if (n->line)
		phx_work_add(a, PHX_WORK_LINES, NULL);
}

void phx_reboot_given_up(struct phx_apply *a, struct phx_node *n, const char *why)
{
	char text[200];
	snprintf(text, sizeof(text), "%s: %.150s", phx_reboot_failed, why);
	phx_away_settle(a->s, n);
	phx_maintain(a, n, text);
	phx_away_end(a, n);
	phx_line_lost(a, n, why);
}
