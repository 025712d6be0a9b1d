/* Looks up the life table of an RE: see re_life.h. Called by lib/re. Pure. */
#include "types/re_life.h"

#include <errno.h>
#include <string.h>

static const char *const states[] = {"none",      "initial",     "deployed", "running",
				     "suspended", "deactivated", "destroyed"};
const struct phx_enum phx_re_state_names = {"RE state", states, PHX_ARRAY_SIZE(states)};

static const char *const ops[] = {"create",  "deployed",   "activate",        "suspend",
				  "resume",  "deactivate", "safe-deactivate", "drained",
				  "destroy", "request",    "refuse",          "withdraw"};
const struct phx_enum phx_re_op_names = {"operation on an RE", ops, PHX_ARRAY_SIZE(ops)};

static const char *const whos[] = {"resource provider", "service provider", "phxd"};
const struct phx_enum phx_re_who_names = {"who orders", whos, PHX_ARRAY_SIZE(whos)};

/* The state's name for people: an RE that was only asked for is "requested". */
static const char *said(enum phx_re_state state)
{
	return state == PHX_RE_STATE_NONE ? "requested" : states[state];
}

static const struct {
	enum phx_re_op op;
	enum phx_re_state from, to;
	enum phx_re_who who;
} rows[] = {
#define LIFE(op, from, to, who) \
	{PHX_RE_OP_##op, PHX_RE_STATE_##from, PHX_RE_STATE_##to, PHX_RE_WHO_##who},
#include "types/re_life.def"
#undef LIFE
};

/* Writes the states that `op` starts from, such as "running or suspended". */
static void list_states(enum phx_re_op op, char *ret_text, size_t size)
{
	size_t n = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		if (rows[i].op != op)
			continue;
		const char *parts[] = {n ? " or " : "", said(rows[i].from)};
		for (size_t k = 0; k < PHX_ARRAY_SIZE(parts); k++) {
			size_t length = strlen(parts[k]);
			if (n + length >= size)
				return;
			memcpy(ret_text + n, parts[k], length + 1);
			n += length;
		}
	}
}

int phx_re_life_apply(enum phx_re_state state, enum phx_re_op op, enum phx_re_who who,
		      enum phx_re_state *ret_state, struct phx_err *err)
{
	char text[128];

	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].op == op && rows[i].who != who)
			return phx_err_set(err, -EPERM, "to %s an RE is for the %s, not for the %s",
					   phx_enum_name(&phx_re_op_names, (int)op),
					   whos[rows[i].who],
					   phx_enum_name(&phx_re_who_names, (int)who));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].op == op && rows[i].from == state) {
			*ret_state = rows[i].to;
			return 0;
		}
	list_states(op, text, sizeof(text));
	return phx_err_set(err, -EINVAL, "the RE is %s: %s wants it %s", said(state),
			   phx_enum_name(&phx_re_op_names, (int)op), text);
}
