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
	enum phx_scope cells[PHX_WHO_COUNT_];
} table[] = {
#define RIGHT(name, text, ...) {text, {__VA_ARGS__}},
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

enum phx_scope phx_right_scope(enum phx_right right, unsigned roles)
{
	enum phx_scope widest = right == PHX_RIGHT_public ? PHX_SCOPE_ALL : PHX_SCOPE_NONE;
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (roles & 1u << i && table[right].cells[i] > widest)
			widest = table[right].cells[i];
	return widest;
}
