/* The list of nodes, or another, hidden from who applies an event or shows something: each page of
 * it that is read nevertheless is counted. So a walk is found wherever it is made. */
#ifndef TESTS_CORE_HIDDEN_H
#define TESTS_CORE_HIDDEN_H

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/core/pair.h"

/* The list while it is watched. */
static struct {
	char *base;
	size_t n, page;
	volatile unsigned touched;
} hidden;

static void on_touch(int signo, siginfo_t *si, void *context)
{
	char *at = si->si_addr;
	(void)context;
	if (!hidden.base || at < hidden.base || at >= hidden.base + hidden.n) {
		signal(signo, SIG_DFL); /* a mistake like any other */
		return;
	}
	hidden.touched++;
	mprotect(hidden.base + (size_t)(at - hidden.base) / hidden.page * hidden.page, hidden.page,
		 PROT_READ | PROT_WRITE);
}

/* The list moves to pages of its own, with room for some items more; it must not grow beyond. */
enum { HIDDEN_SPARE = 32 };
static void hide_list(struct phx_list *l, size_t item_size)
{
	hidden.page = (size_t)sysconf(_SC_PAGESIZE);
	hidden.n = ((l->n + HIDDEN_SPARE) * item_size / hidden.page + 1) * hidden.page;
	hidden.base =
		mmap(NULL, hidden.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(hidden.base != MAP_FAILED);
	memcpy(hidden.base, l->items, l->n * item_size);
	free(l->items);
	l->items = hidden.base;
	l->cap = l->n + HIDDEN_SPARE;
}

static void show_list(struct phx_list *l, size_t item_size)
{
	void *items = malloc(l->n * item_size);
	assert_non_null(items);
	memcpy(items, l->items, l->n * item_size);
	l->items = items;
	l->cap = l->n;
	munmap(hidden.base, hidden.n);
	hidden.base = NULL;
}

static inline void hide(struct world *w)
{
	hide_list(&w->s.nodes, sizeof(struct phx_node));
}

static inline void show(struct world *w)
{
	show_list(&w->s.nodes, sizeof(struct phx_node));
}

/* From here on pages are counted, until hidden_told(). */
static void hidden_watch(void)
{
	hidden.touched = 0;
	mprotect(hidden.base, hidden.n, PROT_NONE);
}

static unsigned hidden_told(void)
{
	mprotect(hidden.base, hidden.n, PROT_READ | PROT_WRITE);
	return hidden.touched;
}

/* Faults are counted from here on; *ret_before: to be set again. */
static void hidden_begin(struct sigaction *ret_before)
{
	struct sigaction touch = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO};
	assert_int_equal(sigaction(SIGSEGV, &touch, ret_before), 0);
}

#endif
