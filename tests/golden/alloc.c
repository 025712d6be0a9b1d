/* The core without memory: whatever the tests of its rooms let happen, happens here with each
 * allocation of the event failing in turn, on a copy of the state. Either the event ends with
 * -ENOMEM (the state is of no use then), or its actions and the state are those of a run in which
 * nothing failed: an error that is dropped makes a difference. Those tests are compiled once more,
 * each with its own name of main(), and linked with phx_core_apply() and the functions that
 * allocate wrapped; PROGRAMS lists them. The tests repeat themselves, so only some events are
 * tried, and of one that allocates much, some allocations. With PHX_ALLOC_ALL=N each allocation of
 * each event of the golden programs fails, whatever that costs. Of the other programs all events
 * are looked at, N of each size are tried, and each allocation of those fails; but what one program
 * may cost is bounded, since tests that go on for long copy a large state each time. The output
 * says how many events were looked at, and how many of their allocations failed. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/core.h"
#include "state/index.h"

/* Of one kind of event: looked at, by each program; and of those with about as many allocations
 * tried. Of one with more than LARGE some fail. A sanitizer, which is four times as slow, looks at
 * each way to fail all the same. */
#ifdef __SANITIZE_ADDRESS__
enum { TRIES = 2, TRIES_LARGE = 1 };
#else
enum { TRIES = 8, TRIES_LARGE = 2 };
#endif
enum { SIZES = 128, LARGE = 200, OF_LARGE = 60, LOOKED_AT = 400, FAILED_LEAST = 3500 };
/* What one program that is not golden may cost with PHX_ALLOC_ALL: items of states that are
 * copied. */
enum { COST_MAX = 100000000, COST_PARTS = 8, COST_OF_NONE = 50 };

static struct {
	bool on;
	unsigned n, fail_at; /* fail_at: 0 = none */
} memory;

static unsigned long all; /* tries of each size; 0: as above, and large ones are sampled */
static struct {
	unsigned long tried[PHX_EV_COUNT_][SIZES];
	unsigned long n_failed, n_ended; /* allocations that failed; events that ended by that */
	unsigned long n_tried, n_large;
	bool kinds[PHX_EV_COUNT_];
	unsigned long n_allocs;
	/* by this program */
	bool whole; /* all allocations of all its events fail */
	unsigned looked_at[PHX_EV_COUNT_];
	unsigned long cost, n_seen, n_looked_at;
} did;

static bool lacks(void)
{
	if (!memory.on || ++memory.n != memory.fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

#define WRAP(type, name, params, args) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		return lacks() ? NULL : __real_##name args; \
	}
WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t size), (text, size))

int __real_phx_core_apply(struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
			  struct phx_err *err);
int __wrap_phx_core_apply(struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
			  struct phx_err *err);

/* What became of a copy of the state. */
struct run {
	struct phx_state s;
	struct phx_outcome out;
	int r;
	unsigned n_allocs;
};

static void run_on_copy(const struct phx_state *s, const struct phx_event *ev, unsigned fail_at,
			struct run *ret)
{
	struct phx_err err = {0};
	did.cost += COST_OF_NONE + s->nodes.n + s->jobs.n + s->workflows.n + s->res.n;
	assert_int_equal(phx_record_copy(&phx_state_record, &ret->s, s), 0);
	assert_int_equal(phx_index_ready(&ret->s), 0);
	memory.n = 0;
	memory.fail_at = fail_at;
	memory.on = true;
	ret->r = __real_phx_core_apply(&ret->s, ev, &ret->out, &err);
	memory.on = false;
	ret->n_allocs = memory.n;
}

static void end_run(struct run *run)
{
	phx_outcome_fini(&run->out);
	phx_state_fini(&run->s);
}

static bool same_actions(const struct phx_list *a, const struct phx_list *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; same && i < a->n; i++)
		same = phx_record_equal(&phx_action_record, PHX_LIST_AT(a, struct phx_action, i),
					PHX_LIST_AT(b, struct phx_action, i));
	return same;
}

static void compare(const struct run *sound, const struct run *poor, const struct phx_event *ev,
		    unsigned k)
{
	const char *kind = phx_enum_name(&phx_event_kind_names, ev->kind);
	const char *what = poor->r != sound->r                              ? "another answer"
		: !same_actions(&sound->out.actions, &poor->out.actions)    ? "other actions"
		: !phx_record_equal(&phx_state_record, &sound->s, &poor->s) ? "another state"
									    : NULL;
	if (poor->r == -ENOMEM && poor->out.actions.n)
		fail_msg("%s ends without memory, and has actions", kind);
	if (poor->r != -ENOMEM && what)
		fail_msg("%s without allocation %u of %u ends with %d and %s", kind, k,
			 sound->n_allocs, poor->r, what);
}

static void try_one(const struct phx_state *s, const struct phx_event *ev, const struct run *sound,
		    unsigned k)
{
	struct run poor;
	run_on_copy(s, ev, k, &poor);
	compare(sound, &poor, ev, k);
	did.n_ended += poor.r == -ENOMEM;
	did.n_failed++;
	end_run(&poor);
}

/* Every `step`th of `n` allocations, the first and the last; other ones at another time. */
static void try_some(const struct phx_state *s, const struct phx_event *ev, const struct run *sound,
		     unsigned step, unsigned shift)
{
	unsigned n = sound->n_allocs;
	try_one(s, ev, sound, 1);
	for (unsigned k = 1 + step - shift; k < n; k += step)
		try_one(s, ev, sound, k);
	if (n > 1)
		try_one(s, ev, sound, n);
	did.n_tried++;
}

/* About how many are `n`: each below 16, and then eight sizes until twice as many. */
static unsigned size_of(unsigned n)
{
	unsigned shift = 0;
	while (n >> shift >= 16)
		shift++;
	unsigned size = shift * 8 + (n >> shift);
	return size < SIZES ? size : SIZES - 1;
}

static void try_event(const struct phx_state *s, const struct phx_event *ev)
{
	struct run sound;
	run_on_copy(s, ev, 0, &sound);
	unsigned n = sound.n_allocs;
	did.kinds[ev->kind] = true;
	did.n_allocs += n;
	did.n_looked_at++;
	bool large = n > LARGE && !all;
	unsigned long tries = did.whole ? ULONG_MAX : all ? all : large ? TRIES_LARGE : TRIES;
	unsigned long *tried = &did.tried[ev->kind][size_of(n)];
	unsigned step = large ? n / OF_LARGE : 1;
	if (n && *tried < tries) {
		did.n_large += n > LARGE;
		try_some(s, ev, &sound, step, large ? (unsigned)(*tried * step / tries) : 0);
		++*tried;
	}
	end_run(&sound);
}

static unsigned long part_of_cost(void)
{
	return did.cost / (COST_MAX / COST_PARTS);
}

/* Is this event one that is looked at? The more its program has cost, the rarer they are: each,
 * then every second, every fourth and so on, until none is left. */
static bool is_chosen(int kind)
{
	unsigned long part = part_of_cost();
	if (!all)
		return did.looked_at[kind]++ < LOOKED_AT;
	return did.whole || (part < COST_PARTS && did.n_seen % (1ul << part) == 0);
}

int __wrap_phx_core_apply(struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
			  struct phx_err *err)
{
	bool known = ev->kind >= 0 && ev->kind < PHX_EV_COUNT_;
	if (known && !memory.on) {
		did.n_seen++;
		if (is_chosen(ev->kind))
			try_event(s, ev);
	}
	return __real_phx_core_apply(s, ev, ret, err);
}

static void every_kind_was_tried(void **state)
{
	(void)state;
	for (int kind = 0; kind < PHX_EV_COUNT_; kind++)
		if (!did.kinds[kind])
			fail_msg("no %s was tried", phx_enum_name(&phx_event_kind_names, kind));
	print_message("%lu events, %lu of them large: %lu of %lu allocations failed, %lu ended the "
		      "event\n",
		      did.n_tried, did.n_large, did.n_failed, did.n_allocs, did.n_ended);
	assert_true(did.n_failed >= FAILED_LEAST);
	assert_true(did.n_large > 0);
}

struct words {
	char text[32];
};

/* "all of 12", or "3 of 12". */
static struct words some_of(unsigned long n, unsigned long of)
{
	struct words w;
	if (n == of)
		snprintf(w.text, sizeof(w.text), "all of %lu", of);
	else
		snprintf(w.text, sizeof(w.text), "%lu of %lu", n, of);
	return w;
}

/* Runs the tests of one program. */
static int run_program(const char *name, int (*its_main)(void))
{
	unsigned long failed = did.n_failed, allocs = did.n_allocs;
	memset(did.looked_at, 0, sizeof(did.looked_at));
	did.cost = did.n_seen = did.n_looked_at = 0;
	did.whole = all && !strncmp(name, "golden_", strlen("golden_"));
	int r = its_main();
	failed = did.n_failed - failed;
	allocs = did.n_allocs - allocs;
	print_message("%s: %s events looked at, %s allocations failed\n", name,
		      some_of(did.n_looked_at, did.n_seen).text, some_of(failed, allocs).text);
	bool lacks_some = did.whole && (failed != allocs || did.n_looked_at != did.n_seen);
	if (lacks_some)
		print_error("%s: some were left out\n", name);
	return r + lacks_some;
}

#define PROGRAM(name) int main_of_##name(void);
PROGRAMS
#undef PROGRAM

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_was_tried)};
	const char *word = getenv("PHX_ALLOC_ALL");
	int failed = 0;
	all = word ? strtoul(word, NULL, 10) : 0;
#define PROGRAM(name) failed += run_program(#name, main_of_##name);
	PROGRAMS
#undef PROGRAM
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
