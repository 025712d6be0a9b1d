/* When the items of some lists are due: see timed.h. Pure. */
#include "state/timed.h"

#include <errno.h>

#include "state/index_parts.h"

enum { LEAST = 16 };

static int64_t trigger_due(const void *item)
{
	return phx_trigger_due(item);
}

static int64_t key_due(const void *item)
{
	return ((const struct phx_doomed_key *)item)->again_ms;
}

static const struct {
	const char *name;
	size_t list, size; /* offset in the state, size of an item */
	int64_t (*due)(const void *item);
} lists[] = {
	[PHX_TIMED_TRIGGER] = {"trigger", offsetof(struct phx_state, triggers),
			       sizeof(struct phx_trigger), trigger_due},
	[PHX_TIMED_KEY] = {"doomed key", offsetof(struct phx_state, doomed_keys),
			   sizeof(struct phx_doomed_key), key_due},
};
_Static_assert(PHX_ARRAY_SIZE(lists) == PHX_TIMED_COUNT_, "each list has a row");

static const struct phx_list *list_of(const struct phx_state *s, enum phx_timed list)
{
	return (const struct phx_list *)((const char *)s + lists[list].list);
}

static void *item_at(const struct phx_state *s, enum phx_timed list, uint32_t i)
{
	return (char *)list_of(s, list)->items + (size_t)i * lists[list].size;
}

static int64_t due_at(const struct phx_state *s, enum phx_timed list, uint32_t i)
{
	return lists[list].due(item_at(s, list, i));
}

/* The tree of the list; NULL: it is missing, or lacks items. */
static struct phx_earliest *tree_of(const struct phx_state *s, enum phx_timed list)
{
	struct phx_earliest *e = s->index ? &s->index->timed[list] : NULL;
	return e && !s->index->untrue && list_of(s, list)->n <= e->cap ? e : NULL;
}

static int make(struct phx_earliest *ret, const struct phx_state *s, enum phx_timed list)
{
	uint32_t cap = LEAST, n = list_of(s, list)->n;
	while (cap < n)
		cap *= 2;
	int r = phx_earliest_init(ret, cap);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		phx_earliest_set(ret, i, due_at(s, list, i));
	return r;
}

int phx_timed_init(struct phx_earliest trees[PHX_TIMED_COUNT_], const struct phx_state *s)
{
	int r = 0;
	for (int k = 0; r == 0 && k < PHX_TIMED_COUNT_; k++)
		r = make(&trees[k], s, (enum phx_timed)k);
	return r;
}

void phx_timed_fini(struct phx_earliest trees[PHX_TIMED_COUNT_])
{
	for (int k = 0; k < PHX_TIMED_COUNT_; k++)
		phx_earliest_fini(&trees[k]);
}

/* A list that has outgrown its tree gets one of twice the size. */
static void renew(struct phx_state *s, enum phx_timed list)
{
	struct phx_earliest *e = &s->index->timed[list], grown;
	if (make(&grown, s, list) < 0) {
		s->index->untrue = true;
		return;
	}
	phx_earliest_fini(e);
	*e = grown;
}

void phx_timed_set(struct phx_state *s, enum phx_timed list, const void *item)
{
	size_t at = (size_t)((const char *)item - (const char *)list_of(s, list)->items);
	struct phx_earliest *e = tree_of(s, list);
	if (e)
		phx_earliest_set(e, (uint32_t)(at / lists[list].size), lists[list].due(item));
	else if (s->index)
		renew(s, list);
}

void phx_timed_moved(struct phx_state *s, enum phx_timed list)
{
	if (s->index)
		renew(s, list);
}

void *phx_timed_next(struct phx_state *s, enum phx_timed list, uint32_t at)
{
	struct phx_earliest *e = tree_of(s, list);
	uint32_t n = list_of(s, list)->n;
	if (e)
		at = phx_earliest_next(e, at, s->now_ms);
	while (!e && at < n && due_at(s, list, at) > s->now_ms)
		at++;
	return at < n ? item_at(s, list, at) : NULL;
}

int64_t phx_timed_first(const struct phx_state *s, enum phx_timed list)
{
	const struct phx_earliest *e = tree_of(s, list);
	int64_t first = e ? phx_earliest_first(e) : INT64_MAX;
	for (uint32_t i = 0; !e && i < list_of(s, list)->n; i++)
		first = due_at(s, list, i) < first ? due_at(s, list, i) : first;
	return first;
}

static int check_place(const struct phx_state *s, enum phx_timed list, uint32_t i,
		       struct phx_err *err)
{
	int64_t has = phx_earliest_get(&s->index->timed[list], i),
		right = i < list_of(s, list)->n ? due_at(s, list, i) : INT64_MAX;
	return has == right ? 0
			    : phx_err_set(err, -EPROTO, "%s %u is due at %lld, the index says %lld",
					  lists[list].name, i, (long long)right, (long long)has);
}

int phx_timed_check(const struct phx_state *s, struct phx_err *err)
{
	int r = 0;
	for (int k = 0; k < PHX_TIMED_COUNT_; k++)
		for (uint32_t i = 0; r == 0 && i < s->index->timed[k].cap; i++)
			r = check_place(s, (enum phx_timed)k, i, err);
	return r;
}
