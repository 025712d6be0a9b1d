/* Incarnations of the head keep step ids and epochs unique when a journal is restored. A head that
 * goes on from an older journal would use ids again that it gave after that journal was saved.
 * Agents answer a known id from their own memory, so work would count as done that was never done.
 * Therefore each start of phxd draws a number above the last one (from its clock), the first event
 * that changes the state carries it, and ids go on above `number << ID_BITS`. A plan under way
 * keeps its ids. Older journals have incarnation 0. Called by core/apply.c and node/handover.c.
 * Pure. */
#include "state/apply.h"

/* room for 65,536 steps; more steps use ids of the next number, which does no harm */
enum { ID_BITS = 16 };

static uint64_t first_id(const struct phx_state *s)
{
	return s->incarnation << ID_BITS;
}

struct phx_incarnation phx_incarnation_begin(struct phx_state *s, uint64_t number)
{
	struct phx_incarnation was = {s->incarnation, s->last_step_id};
	if (number <= s->incarnation || number > INT64_MAX >> ID_BITS)
		return was;
	s->incarnation = number;
	if (s->last_step_id < first_id(s))
		s->last_step_id = first_id(s);
	return was;
}

void phx_incarnation_undo(struct phx_state *s, struct phx_incarnation was)
{
	s->incarnation = was.number;
	s->last_step_id = was.last_step_id;
}

uint64_t phx_next_epoch(const struct phx_state *s, const struct phx_node *n)
{
	uint64_t next = n->epoch + 1;
	return next > first_id(s) ? next : first_id(s);
}
