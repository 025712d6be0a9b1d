/* The table of rights: see rights.h. Pure. */
#include "types/rights.h"

static const char *const whos[] = {"admin", "operator", "auditor", "provider", "user", "node"};
const struct phx_enum phx_who_names = {"role", whos, PHX_ARRAY_SIZE(whos)};

static const char *const scopes[] = {"-", "own", "all"};
const struct phx_enum phx_scope_names = {"scope", scopes, PHX_ARRAY_SIZE(scopes)};

static const char *const rights[] = {
#define RIGHT(name, text, ...) #name,
#include "types/rights.def"
#undef RIGHT
};
const struct phx_enum phx_right_names = {"right", rights, PHX_ARRAY_SIZE(rights)};

#define NONE PHX_SCOPE_NONE
#define OWN PHX_SCOPE_OWN
#define ALL PHX_SCOPE_ALL
static const struct {
	const char *text;
	enum phx_scope cells[PHX_WHO_COUNT_], member;
} table[] = {
#define RIGHT(name, text, admin, operator, auditor, provider, member, user, node) \
	{text, {admin, operator, auditor, provider, user, node}, member},
#include "types/rights.def"
#undef RIGHT
};
#undef NONE
#undef OWN
#undef ALL

const char *phx_right_text(enum phx_right right)
{
	return table[right].text;
}

enum phx_scope phx_right_cell(enum phx_right right, enum phx_who who)
{
	return table[right].cells[who];
}

static enum phx_scope wider(enum phx_scope a, enum phx_scope b)
{
	return a > b ? a : b;
}

enum phx_scope phx_right_member(enum phx_right right)
{
	return wider(table[right].member, table[right].cells[PHX_WHO_USER]);
}

enum phx_scope phx_right_scope(enum phx_right right, unsigned roles)
{
	enum phx_scope widest = right == PHX_RIGHT_public ? PHX_SCOPE_ALL : PHX_SCOPE_NONE;
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (roles & 1u << i)
			widest = wider(widest, table[right].cells[i]);
	return roles & 1u << PHX_WHO_USER ? wider(widest, phx_right_member(right)) : widest;
}

bool phx_right_as_provider(enum phx_right right, unsigned roles)
{
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (roles & 1u << i && table[PHX_RIGHT_re_grant].cells[i] == PHX_SCOPE_ALL &&
		    table[right].cells[i] != PHX_SCOPE_NONE)
			return true;
	return false;
}
