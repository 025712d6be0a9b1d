/* Notes that people leave on nodes for each other, with who and when. The core decides nothing by
 * them. Called by core/apply.c. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

static int forget(struct phx_apply *a, struct phx_node *n)
{
	a->out->changed = n->notes.n > 0;
	phx_list_fini(&n->notes);
	return 0;
}

/* It is shown in one line of terminals and pages. */
static int check(struct phx_apply *a, const char *text)
{
	for (size_t n; *text; text += n) {
		n = phx_utf8_length(text);
		uint32_t c = n ? phx_utf8_steering(text) : (unsigned char)*text;
		if (c)
			return phx_err_set(a->err, -EINVAL,
					   "a note is one line of text; this one has U+%04X",
					   (unsigned)c);
	}
	return 0;
}

int phx_apply_node_note(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	r = r ? r : check(a, a->ev->text);
	if (r < 0)
		return r;
	if (!a->ev->text[0])
		return forget(a, n);
	if (n->notes.n == PHX_NOTES_MAX)
		phx_list_remove(&n->notes, sizeof(struct phx_node_note), 0);
	struct phx_node_note *note = phx_list_push(&n->notes, sizeof(*note));
	if (!note)
		return -ENOMEM;
	note->at_ms = a->s->now_ms;
	PHX_STR_SET(note->by, a->ev->by);
	PHX_STR_SET(note->text, a->ev->text);
	a->out->changed = true;
	return 0;
}
