/* What the loop of the process that has the consoles waits for: descriptors and due times. Called
 * by the files that want something of it; turn.c waits. */
#include "console/internal.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/heap.h"

static bool sooner(const struct due *a, const struct due *b)
{
	return a->ms < b->ms;
}
PHX_HEAP(due, struct due, sooner)

int consoles_watch(struct consoles *c, int fd, enum source what, uint32_t at)
{
	struct epoll_event ev = {.events = EPOLLIN,
				 .data.u64 = (uint64_t)at << SOURCE_BITS | (uint64_t)what};
	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

void consoles_wake(struct consoles *c)
{
	const uint64_t one = 1;
	(void)!write(c->wake, &one, sizeof(one));
}

void consoles_due(struct consoles *c, struct node_line *l, uint32_t at, int64_t ms)
{
	if (ms == l->due_ms)
		return;
	l->due_ms = ms;
	if (ms != INT64_MAX && due_push(&c->dues, (struct due){ms, at}) < 0)
		l->due_ms = INT64_MAX; /* it is looked at when something happens to it */
}

bool consoles_due_take(struct consoles *c, int64_t now_ms, uint32_t *ret_at)
{
	const struct due *d;
	while ((d = due_top(&c->dues)) && d->ms <= now_ms) {
		const struct due is = due_pop(&c->dues);
		struct node_line *l = is.at < c->n_lines ? c->lines[is.at] : NULL;
		if (!l || l->due_ms != is.ms)
			continue;
		l->due_ms = INT64_MAX;
		*ret_at = is.at;
		return true;
	}
	return false;
}

int64_t consoles_due_ms(const struct consoles *c)
{
	const struct due *d = due_top(&c->dues);
	return d ? d->ms : INT64_MAX;
}
