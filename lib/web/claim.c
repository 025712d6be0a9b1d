/* Who keeps a virtual address that two machines have: see claim.h. Called by
 * the agent of a director; sends nothing and takes nothing off. Pure. */
#include "web/claim.h"

/* one announcement may be lost, and what was learnt of another holder may come after it */
enum { ANNOUNCES = 3, EVERY_MS = 1000, CONFIRM_MS = 1000, FORGET_MS = 3500 };

/* The last moment at which the head is not lost, if it says nothing more. */
static int64_t patience_until(const struct phx_web_head *head)
{
	int64_t late_ms = head->beat_ms / 2 > EVERY_MS / 2 ? head->beat_ms / 2 : EVERY_MS / 2;
	return head->heard_ms + head->beat_ms + late_ms;
}

bool phx_web_head_lost(const struct phx_web_head *head, int64_t now_ms)
{
	return now_ms > patience_until(head);
}

int64_t phx_web_hold_due_ms(const struct phx_web_hold *h, const struct phx_web_head *head)
{
	int64_t lost_ms = patience_until(head) + 1;
	int64_t probe_ms = h->probe_ms > lost_ms ? h->probe_ms : lost_ms;
	return h->announced < ANNOUNCES && h->announce_ms < probe_ms ? h->announce_ms : probe_ms;
}

static bool is_recent(int64_t at_ms, int64_t now_ms)
{
	return at_ms && now_ms - at_ms < FORGET_MS;
}

static void note(struct phx_web_hold *h, const struct phx_web_sight *seen, int64_t now_ms)
{
	if (seen->asks) {
		h->asked_ms = now_ms;
		if (seen->lower)
			h->lower_ms = now_ms; /* until it is silent, whoever else asks */
	}
	if (!seen->holds)
		return;
	if (!is_recent(h->again_ms, now_ms))
		h->seen_ms = now_ms;
	h->again_ms = now_ms;
}

/* Twice, so that each of two that ask has heard of the other's asking. */
static bool another_stays(const struct phx_web_hold *h, const struct phx_web_sight *seen,
			  int64_t now_ms)
{
	return seen->holds && now_ms - h->seen_ms >= CONFIRM_MS;
}

static bool announces(struct phx_web_hold *h, int64_t now_ms)
{
	if (h->announced >= ANNOUNCES || now_ms < h->announce_ms)
		return false;
	h->announced++;
	h->announce_ms = now_ms + EVERY_MS;
	return true;
}

static bool probes(struct phx_web_hold *h, int64_t now_ms)
{
	if (now_ms < h->probe_ms)
		return false;
	h->probe_ms = now_ms + EVERY_MS;
	return true;
}

struct phx_web_acts phx_web_hold_look(struct phx_web_hold *h, const struct phx_web_head *head,
				      const struct phx_web_sight *seen, int64_t now_ms)
{
	bool lost = phx_web_head_lost(head, now_ms);
	note(h, seen, now_ms);
	bool both_lost = is_recent(h->asked_ms, now_ms), lower = is_recent(h->lower_ms, now_ms);
	if (!lost)
		h->seen_ms = h->again_ms = 0;
	if (lost && another_stays(h, seen, now_ms) && (!both_lost || lower))
		return (struct phx_web_acts){.yield = true};
	if ((seen->holds || seen->asks) && (!lost || (both_lost && !lower)))
		h->announced = 0;
	return (struct phx_web_acts){.probe = lost && probes(h, now_ms),
				     .announce = announces(h, now_ms)};
}
