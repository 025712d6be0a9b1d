/* Incarnations of the head: what keeps step ids and epochs apart when a journal
 * is restored. A head that goes on from an older journal would give the ids of
 * the time between once more, and agents answer an id that they know from their
 * own memory: work would count as done that nobody did. So each start of phxd
 * draws a number above the one before (from its clock), the first event that
 * changes something carries it, and ids go on above `number << ID_BITS`. A
 * plan that is under way keeps its own. Journals of the time before have none:
 * theirs is 0. Called by apply.c and handover.c. Pure. */
#include "state/apply.h"

/* room for 65,536 steps; more run on into the next number, which is as good */
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
