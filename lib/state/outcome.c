/* Appends actions and notes to the outcome of an event. Called by all handlers; calls none of them.
 * Pure. */
#include "state/apply.h"
#include "state/index.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int phx_stick(struct phx_apply *a, int r)
{
	if (r == -ENOMEM)
		a->out->error = r;
	return r;
}

void phx_stick_never(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
{
	char text[PHX_ERR_TEXT_MAX];
	va_list args;
	if (a->out->error) /* the first one tells what is wrong, and where */
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	phx_err_clear(a->err);
	phx_err_set(a->err, -EPROTO, "%s", text);
	PHX_STR_SET(a->out->never, n ? n->name : "");
	a->out->error = -EPROTO;
}

void phx_put_text(struct phx_apply *a, char **to, const char *fmt, ...)
{
	char text[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	char *copy = text[0] ? strdup(text) : NULL;
	phx_stick(a, copy || !text[0] ? 0 : -ENOMEM);
	free(*to);
	*to = copy;
}

void *phx_grow(struct phx_apply *a, struct phx_list *list, size_t item_size)
{
	void *item = phx_list_push(list, item_size);
	if (!item)
		phx_stick(a, -ENOMEM);
	return item;
}

struct phx_action *phx_act(struct phx_apply *a, enum phx_action_kind kind, const struct phx_node *n)
{
	struct phx_action *act = phx_grow(a, &a->out->actions, sizeof(*act));
	if (!act)
		return NULL;
	act->kind = (int)kind;
	if (n) {
		phx_touch(a->s, n);
		PHX_STR_SET(act->node, n->name);
		act->epoch = n->plan.epoch;
	}
	return act;
}

struct phx_action *phx_act_power(struct phx_apply *a, const struct phx_node *n,
				 enum phx_power_op op)
{
	struct phx_action *act = phx_act(a, PHX_ACT_POWER, n);
	if (act)
		act->op = (int)op;
	return act;
}

void phx_note(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
{
	struct phx_action *act = phx_act(a, PHX_ACT_NOTE, n);
	if (!act)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(act->text, sizeof(act->text), fmt, ap);
	va_end(ap);
}

void phx_note_re(struct phx_apply *a, const struct phx_node *n, const char *re,
		 const char *other_re, const char *fmt, ...)
{
	struct phx_action *act = phx_act(a, PHX_ACT_NOTE, n);
	if (!act)
		return;
	phx_str_copy(act->re, sizeof(act->re), re);
	phx_str_copy(act->other_re, sizeof(act->other_re), other_re ? other_re : "");
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(act->text, sizeof(act->text), fmt, ap);
	va_end(ap);
}

void phx_step_over(struct phx_apply *a, const struct phx_node *n, const struct phx_step *step,
		   bool failed)
{
	struct phx_step_end *e = phx_list_push(&a->out->ended, sizeof(*e));
	if (!e) /* it decides nothing: the event goes on */
		return;
	PHX_STR_SET(e->node, n->name);
	e->kind = step->kind;
	e->method = step->method;
	e->failed = failed;
	e->took_ms = step->issued_ms ? a->s->now_ms - step->issued_ms : 0;
	e->last = !failed && n->plan.cursor == n->plan.steps.n;
	if (!e->last)
		return;
	e->mode = n->plan.erase.mode;
	e->plan_ms = a->s->now_ms - n->plan.started_ms;
	PHX_LIST_EACH(const struct phx_step, s, &n->plan.steps)
		if (s->status == PHX_STEP_DONE && s->issued_ms)
			e->took_of_ms[s->kind] += s->ended_ms - s->issued_ms;
}
