/* What tests of workflows share: drafts of a few lines, errors, random graphs. */
#ifndef TESTS_UNIT_FLOW_FLOWS_H
#define TESTS_UNIT_FLOW_FLOWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "flow/draft.h"

#define assert_says(err, part) \
	do { \
		if (!strstr((err)->text, (part))) \
			fail_msg("'%s' does not say '%s'", (err)->text, part); \
	} while (0)

/** A new task of the draft, in the line of its place from 1. */
static inline struct phx_flow_task *add_task(struct phx_flow_draft *d, const char *id)
{
	struct phx_err err = {0};
	struct phx_flow_task *t = phx_flow_draft_task(d, d->tasks.n + 1, &err);
	assert_non_null(t);
	assert_int_equal(phx_flow_draft_text(d, id, strlen(id), &t->id, &err), 0);
	return t;
}

/** The last task of the draft has this, too. */
static inline void add_link(struct phx_flow_draft *d, enum phx_flow_link_kind kind,
			    const char *text)
{
	struct phx_err err = {0};
	assert_int_equal(
		phx_flow_draft_link(d, d->tasks.n - 1, kind, text, strlen(text), d->tasks.n, &err),
		0);
}

/** "a b<a c<a d<b,c": a task a word, its parents behind '<'. */
static inline void add_tasks(struct phx_flow_draft *d, const char *words)
{
	PHX_AUTO_FREE char *copy = strdup(words);
	char *rest = NULL;
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *parents = strchr(word, '<'), *more = NULL;
		if (parents)
			*parents++ = '\0';
		add_task(d, word);
		add_link(d, PHX_FLOW_LINK_ARGV, "true");
		for (char *p = parents ? strtok_r(parents, ",", &more) : NULL; p;
		     p = strtok_r(NULL, ",", &more))
			add_link(d, PHX_FLOW_LINK_PARENT, p);
	}
}

/** The workflow that add_tasks() makes; it is one. */
static inline void make_flow(const char *words, struct phx_flow *ret)
{
	struct phx_flow_draft d = {.what = "f"};
	struct phx_err err = {0};
	add_tasks(&d, words);
	if (phx_flow_make(&d, ret, &err) < 0)
		fail_msg("%s", err.text);
	phx_flow_draft_fini(&d);
}

/** `n` tasks t0, t1, ..., each waiting for up to `most` earlier ones; two files in three tasks. */
static inline void draft_random(struct phx_flow_draft *d, struct phx_rng *rng, uint32_t n,
				uint32_t most)
{
	for (uint32_t i = 0; i < n; i++) {
		char id[32];
		snprintf(id, sizeof(id), "t%u", i);
		struct phx_flow_task *t = add_task(d, id);
		t->run_ms = (int64_t)phx_rng_below(rng, 5000);
		add_link(d, PHX_FLOW_LINK_ARGV, "true");
		for (uint64_t k = i ? phx_rng_below(rng, most + 1) : 0; k > 0; k--) {
			snprintf(id, sizeof(id), "t%u", (unsigned)phx_rng_below(rng, i));
			add_link(d, PHX_FLOW_LINK_PARENT, id);
		}
	}
}

#endif
