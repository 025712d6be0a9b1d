/* Groups of nodes: see members.h. There are few groups (states, pools, REs), so they are in a list;
 * for each node the groups that it is in are remembered. Called by index.c. Pure. */
#include "state/members.h"

#include <errno.h>
#include <string.h>

#include "state/gone.h"

enum { WORD = 64 };

struct phx_members {
	uint32_t cap;
	uint64_t changed;                  /* the last number given to a change */
	struct phx_list groups;            /* struct phx_members_group */
	uint16_t (*of)[PHX_MEMBERS_KINDS]; /* by place: the group, counted from 1; 0 none */
};

/* ---- which groups a node is in ---- */

static const char *of_state(const struct phx_node *n)
{
	return phx_enum_name(&phx_node_state_names, n->state);
}

static const char *of_up(const struct phx_node *n)
{
	return n->up ? "" : NULL;
}

static const char *of_pool(const struct phx_node *n)
{
	return n->pool;
}

static const char *of_pinned(const struct phx_node *n)
{
	return n->pinned ? n->pool : NULL;
}

static const char *of_gave_up(const struct phx_node *n)
{
	return !n->up && n->gave_up ? n->pool : NULL;
}

static const char *of_held(const struct phx_node *n)
{
	return n->allocation == PHX_ALLOCATION_HELD ? n->allocated_to : NULL;
}

static const char *of_coming(const struct phx_node *n)
{
	return n->allocation == PHX_ALLOCATION_COMING ? n->allocated_to : NULL;
}

static const char *of_away(const struct phx_node *n)
{
	return n->allocation == PHX_ALLOCATION_AWAY ? n->allocated_to : NULL;
}

static const char *(*const keys[PHX_MEMBERS_KINDS])(const struct phx_node *) = {
	[PHX_MEMBERS_STATE] = of_state,     [PHX_MEMBERS_UP] = of_up,
	[PHX_MEMBERS_POOL] = of_pool,       [PHX_MEMBERS_PINNED] = of_pinned,
	[PHX_MEMBERS_GAVE_UP] = of_gave_up, [PHX_MEMBERS_HELD] = of_held,
	[PHX_MEMBERS_COMING] = of_coming,   [PHX_MEMBERS_AWAY] = of_away,
};

const char *phx_members_key(enum phx_members_kind kind, const struct phx_node *n)
{
	return phx_node_is_gone(n) ? NULL : keys[kind](n);
}

/* ---- life ---- */

struct phx_members *phx_members_new(uint32_t cap, uint64_t changed)
{
	struct phx_members *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->cap = cap;
	m->changed = changed;
	m->of = calloc(cap, sizeof(*m->of));
	if (m->of)
		return m;
	free(m);
	return NULL;
}

void phx_members_free(struct phx_members *m)
{
	if (!m)
		return;
	PHX_LIST_EACH(struct phx_members_group, g, &m->groups)
		free(g->words);
	phx_list_fini(&m->groups);
	free(m->of);
	free(m);
}

void phx_members_clear(struct phx_members *m)
{
	memset(m->of, 0, m->cap * sizeof(*m->of));
	PHX_LIST_EACH(struct phx_members_group, g, &m->groups) {
		memset(g->words, 0, (m->cap + WORD - 1) / WORD * sizeof(*g->words));
		g->n = 0;
		g->changed = ++m->changed;
	}
}

/* ---- groups ---- */

static bool is_of(const struct phx_members_group *g, enum phx_members_kind kind, const char *key)
{
	return g->kind == kind && !strcmp(g->key, key);
}

const struct phx_members_group *phx_members_find(const struct phx_members *m,
						 enum phx_members_kind kind, const char *key)
{
	PHX_LIST_EACH(struct phx_members_group, g, &m->groups)
		if (is_of(g, kind, key))
			return g;
	return NULL;
}

/* Adds a group, in place of an empty group if there is one; NULL: out of memory. */
static struct phx_members_group *add_group(struct phx_members *m, enum phx_members_kind kind,
					   const char *key)
{
	struct phx_members_group *to = NULL;
	PHX_LIST_EACH(struct phx_members_group, g, &m->groups)
		to = g->n ? to : g;
	if (!to) {
		uint64_t *words = calloc((m->cap + WORD - 1) / WORD, sizeof(*words));
		to = words && m->groups.n < UINT16_MAX ? phx_list_push(&m->groups, sizeof(*to))
						       : NULL;
		if (!to) {
			free(words);
			return NULL;
		}
		to->words = words;
	}
	to->kind = kind;
	PHX_STR_SET(to->key, key);
	return to;
}

static void set(struct phx_members *m, struct phx_members_group *g, uint32_t i, bool in)
{
	uint64_t bit = 1ull << (i % WORD);
	g->words[i / WORD] = in ? g->words[i / WORD] | bit : g->words[i / WORD] & ~bit;
	g->n += in ? 1 : -1u;
	g->changed = ++m->changed;
}

/* The group of this kind that the node at place i is in; NULL: none. */
static struct phx_members_group *group_of(const struct phx_members *m, uint32_t i,
					  enum phx_members_kind kind)
{
	uint16_t at = m->of[i][kind];
	return at ? PHX_LIST_AT(&m->groups, struct phx_members_group, at - 1u) : NULL;
}

static int put_kind(struct phx_members *m, uint32_t i, enum phx_members_kind kind, const char *key)
{
	struct phx_members_group *old = group_of(m, i, kind), *to = NULL;
	if (old && key && is_of(old, kind, key))
		return 0;
	if (old)
		set(m, old, i, false);
	m->of[i][kind] = 0;
	if (!key)
		return 0;
	to = (struct phx_members_group *)phx_members_find(m, kind, key);
	to = to ? to : add_group(m, kind, key);
	if (!to)
		return -ENOMEM;
	set(m, to, i, true);
	m->of[i][kind] = (uint16_t)(to - PHX_LIST_AT(&m->groups, struct phx_members_group, 0) + 1);
	return 0;
}

int phx_members_put(struct phx_members *m, uint32_t i, const struct phx_node *n)
{
	int r = 0;
	for (enum phx_members_kind kind = 0; kind < PHX_MEMBERS_KINDS; kind++)
		r = put_kind(m, i, kind, phx_members_key(kind, n)) < 0 ? -ENOMEM : r;
	return r;
}

bool phx_members_agree(const struct phx_members *m, uint32_t i, const struct phx_node *n)
{
	for (enum phx_members_kind kind = 0; kind < PHX_MEMBERS_KINDS; kind++) {
		const struct phx_members_group *g = group_of(m, i, kind);
		const char *key = phx_members_key(kind, n);
		bool in = g && g->words[i / WORD] >> (i % WORD) & 1;
		if (in != (key != NULL) || (in && !is_of(g, kind, key)))
			return false;
	}
	return true;
}
