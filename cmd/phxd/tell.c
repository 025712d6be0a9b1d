/* Tells the core about many nodes at once, and asks it which nodes are up. Called by live.c, which
 * knows contacts and no events. Never decides. */
#include "phxd/daemon.h"

#include <errno.h>
#include <string.h>

int tell_put_name(struct phx_list *to, const char *node)
{
	struct phx_word *w = phx_list_push(to, sizeof(*w));
	return w ? PHX_STR_SET(w->text, node) : -ENOMEM;
}

void tell_up_nodes(struct daemon *d, struct phx_list *ret_names)
{
	const struct phx_state *s = engine_lock(d->engine);
	PHX_NODES_EACH(n, s)
		if (n->up)
			tell_put_name(ret_names, n->name);
	engine_unlock(d->engine);
}

/* Tells the core of `n` nodes. Moves the names of those that it could not be told of to the front
 * of `names`, and returns their number. */
static uint32_t tell_portion(struct daemon *d, struct phx_event *ev, struct phx_word *names,
			     uint32_t n)
{
	uint32_t left = 0;
	struct phx_each *each = calloc(n, sizeof(*each));
	if (!each)
		return n;
	for (uint32_t i = 0; i < n; i++)
		each[i].node = names[i].text;
	engine_submit_each(d->engine, ev, each, n);
	for (uint32_t i = 0; i < n; i++) {
		if (each[i].result < 0)
			names[left++] = names[i];
		phx_outcome_fini(&each[i].out);
	}
	free(each);
	return left;
}

void tell_nodes(struct daemon *d, int kind, struct phx_list *names)
{
	struct phx_event ev = {.kind = kind, .by = "phxd"};
	uint32_t left = 0;
	for (uint32_t i = 0, n; i < names->n; i += n) {
		struct phx_word *portion = PHX_LIST_AT(names, struct phx_word, i);
		n = names->n - i < PHX_JOURNAL_PORTION ? names->n - i : PHX_JOURNAL_PORTION;
		uint32_t n_left = tell_portion(d, &ev, portion, n);
		memmove(PHX_LIST_AT(names, struct phx_word, left), portion,
			n_left * sizeof(*portion));
		left += n_left;
	}
	names->n = left;
}
