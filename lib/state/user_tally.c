/* Tallies of users: see user_tally.h. Called by index.c; job/submit.c asks for the size of a job.
 * Pure. */
#include "state/user_tally.h"

#include <errno.h>
#include <string.h>

enum { REST_BYTES = 2048 }; /* size of a job's other fields, with a part or two */

uint64_t phx_tally_size(const struct phx_list *argv, const struct phx_list *env, const char *script)
{
	uint64_t n = REST_BYTES + (script ? strlen(script) : 0);
	for (uint32_t i = 0; i < argv->n; i++)
		n += strlen(phx_text_at(argv, i)) + 1;
	for (uint32_t i = 0; i < env->n; i++)
		n += strlen(phx_text_at(env, i)) + 1;
	return n;
}

static uint64_t uid_of(const void *item)
{
	return ((const struct phx_tally *)item)->uid;
}

/* The place of `uid`, or where it would be inserted. */
static uint32_t place_of(const struct phx_list *tallies, uint32_t uid)
{
	return phx_list_place(tallies, sizeof(struct phx_tally), uid_of, uid);
}

static bool stands_at(const struct phx_list *tallies, uint32_t at, uint32_t uid)
{
	return at < tallies->n && PHX_LIST_AT(tallies, struct phx_tally, at)->uid == uid;
}

static int insert(struct phx_list *tallies, uint32_t at, uint32_t uid)
{
	if (!phx_list_push(tallies, sizeof(struct phx_tally)))
		return -ENOMEM;
	struct phx_tally *t = PHX_LIST_AT(tallies, struct phx_tally, at);
	memmove(t + 1, t, (tallies->n - 1 - at) * sizeof(*t));
	*t = (struct phx_tally){.uid = uid};
	return 0;
}

int phx_tally_job(struct phx_list *tallies, const struct phx_job *j, bool in)
{
	bool open = phx_job_is_open(j), holds = open || (j->words_stay && j->array_open);
	if (!holds || j->engine_id[0])
		return 0;
	uint64_t n = phx_tally_size(&j->argv, &j->env, j->script);
	uint32_t at = place_of(tallies, j->uid);
	bool there = stands_at(tallies, at, j->uid);
	if (!there && (!in || insert(tallies, at, j->uid) < 0))
		return in ? -ENOMEM : 0;
	struct phx_tally *t = PHX_LIST_AT(tallies, struct phx_tally, at);
	t->n_open += !open ? 0 : in ? 1 : -1u;
	t->size_bytes = in ? t->size_bytes + n : t->size_bytes - n;
	if (!t->n_open && !t->size_bytes)
		phx_list_remove(tallies, sizeof(*t), at);
	return 0;
}

struct phx_tally phx_tally_of(const struct phx_list *tallies, uint32_t uid)
{
	uint32_t at = place_of(tallies, uid);
	return stands_at(tallies, at, uid) ? *PHX_LIST_AT(tallies, struct phx_tally, at)
					   : (struct phx_tally){.uid = uid};
}

bool phx_tally_equal(const struct phx_list *a, const struct phx_list *b)
{
	bool equal = a->n == b->n;
	for (uint32_t i = 0; equal && i < a->n; i++) {
		const struct phx_tally *x = PHX_LIST_AT(a, struct phx_tally, i),
				       *y = PHX_LIST_AT(b, struct phx_tally, i);
		equal = x->uid == y->uid && x->n_open == y->n_open &&
			x->size_bytes == y->size_bytes;
	}
	return equal;
}
