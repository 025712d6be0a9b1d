/* Threads whose submissions gather while the disk syncs: one transaction for all that wait, and
 * each is answered for itself. The store's first write waits until the others have gathered. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "journal/internal.h"
#include "state/index.h"

enum { OTHERS = 5, APPENDS = 16, NOBODY = -1 };

/* One thread that submits, and how that ended. */
struct client {
	pthread_t thread;
	struct phx_event ev;
	struct phx_err err;
	int r;
};

static struct phx_memory memory;
static struct phx_journal *journal;
static struct phx_journal_store inner;
static struct client clients[1 + OTHERS];
/* of the appends: how many rows each had */
static uint32_t n_rows[APPENDS], n_appends;
static uint32_t gathers; /* so many wait before the next append writes */
static int fails;        /* the next append after that */
static int dies_of;      /* the client whose event is the last of the process */
static _Atomic uint32_t n_acts, n_committed;

static int64_t wall_ms(void *arg)
{
	(void)arg;
	return 1800000000000;
}

static bool is_synchronised(void *arg)
{
	(void)arg;
	return true;
}

static uint64_t draw(void *arg)
{
	(void)arg;
	return 4711;
}

static int act(void *arg, const struct phx_action *action)
{
	(void)arg;
	(void)action;
	n_acts++;
	return 0;
}

static void committed(void *arg, uint64_t seq)
{
	(void)arg;
	(void)seq;
	n_committed++;
}

static bool dies(void *arg, enum phx_journal_point point, uint64_t seq, const struct phx_event *ev,
		 const struct phx_outcome *out)
{
	(void)arg;
	(void)seq;
	(void)out;
	return point == PHX_JOURNAL_COMMITTED && dies_of != NOBODY &&
		!strcmp(ev->node, clients[dies_of].ev.node);
}

static uint32_t waiting(void)
{
	uint32_t n = 0;
	pthread_mutex_lock(&journal->turns.lock);
	for (const struct phx_turn *t = journal->turns.first; t; t = t->next)
		n++;
	pthread_mutex_unlock(&journal->turns.lock);
	return n;
}

static int append(void *arg, const struct phx_store_row *rows, uint32_t n, struct phx_err *err)
{
	int r = gathers ? 0 : fails;
	while (gathers && waiting() < gathers)
		sched_yield();
	gathers = 0;
	n_rows[n_appends++ % APPENDS] = n;
	return r ? phx_err_set(err, r, "the disk is full") : inner.append(arg, rows, n, err);
}

static void begin(void)
{
	struct phx_err err = {0};
	struct phx_journal_store store = inner = phx_journal_on_memory(&memory);
	store.append = append;
	struct phx_journal_config config = {.store = store,
					    .clock = {wall_ms, wall_ms, is_synchronised, NULL},
					    .snapshot_every = 1000,
					    .draw = draw,
					    .act = act,
					    .committed = committed,
					    .at = dies};
	assert_int_equal(phx_journal_open(&config, &journal, NULL, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	memset(clients, 0, sizeof(clients));
	for (int i = 0; i < 1 + OTHERS; i++) {
		struct phx_event *ev = &clients[i].ev;
		struct phx_mac *m;
		ev->kind = PHX_EV_node_add;
		PHX_STR_SET(ev->by, "test");
		snprintf(ev->node, sizeof(ev->node), "n%d", i);
		m = phx_list_push(&ev->node_add.macs, sizeof(*m));
		snprintf(m->mac, sizeof(m->mac), "02:00:00:00:00:%02x", i);
	}
	memset(n_rows, 0, sizeof(n_rows));
	n_appends = n_acts = n_committed = gathers = 0;
	fails = 0;
	dies_of = NOBODY;
	begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 1 + OTHERS; i++)
		phx_event_fini(&clients[i].ev);
	phx_journal_close(PHX_TAKE(journal), false);
	phx_memory_fini(&memory);
	memory = (struct phx_memory){0};
	return 0;
}

static void *submit(void *arg)
{
	struct client *c = arg;
	c->r = phx_journal_submit(journal, &c->ev, NULL, &c->err);
	return NULL;
}

static void go(struct client *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, submit, c), 0);
}

static bool is_taken(void)
{
	pthread_mutex_lock(&journal->turns.lock);
	bool taken = journal->turns.taken && !journal->turns.first;
	pthread_mutex_unlock(&journal->turns.lock);
	return taken;
}

/* The first client writes; the others come, one after the other, before it has ended. */
static void all_submit(void)
{
	gathers = OTHERS;
	go(&clients[0]);
	while (!is_taken())
		sched_yield();
	for (uint32_t i = 1; i <= OTHERS; i++) {
		go(&clients[i]);
		while (i < OTHERS && waiting() < i)
			sched_yield();
	}
	for (int i = 0; i < 1 + OTHERS; i++)
		pthread_join(clients[i].thread, NULL);
}

static const struct phx_node *node_of(const char *name)
{
	return phx_state_node(phx_journal_state(journal), name);
}

static bool knows(int i)
{
	char name[PHX_NAME_MAX];
	snprintf(name, sizeof(name), "n%d", i);
	return node_of(name) != NULL;
}

static void start_again(void)
{
	phx_journal_close(PHX_TAKE(journal), false);
	begin();
}

/* What waits for a sync is written with the next one, in its order. */
static void what_waits_is_written_together(void **state)
{
	(void)state;
	all_submit();
	assert_int_equal(n_appends, 2);
	assert_int_equal(n_rows[0], 1);
	assert_int_equal(n_rows[1], OTHERS);
	for (int i = 0; i < 1 + OTHERS; i++)
		assert_int_equal(clients[i].r, 0);
	assert_int_equal(phx_journal_state(journal)->seq, 1 + OTHERS);
	assert_int_equal(n_committed, 2);
	start_again();
	for (int i = 0; i < 1 + OTHERS; i++) {
		assert_true(knows(i));
		assert_string_equal(
			PHX_LIST_AT(&phx_journal_state(journal)->nodes, struct phx_node, i)->name,
			clients[i].ev.node);
	}
}

/* One that the core refuses is refused alone. */
static void one_that_is_refused_fails_alone(void **state)
{
	(void)state;
	PHX_STR_SET(clients[3].ev.node, "no/name");
	all_submit();
	assert_int_equal(n_rows[1], OTHERS - 1);
	for (int i = 0; i < 1 + OTHERS; i++)
		assert_int_equal(clients[i].r == 0, i != 3);
	assert_true(strlen(clients[3].err.text) > 0);
	assert_true(knows(2) && !knows(3) && knows(4));
}

/* Of a transaction that the store refuses nothing is kept, and nobody is told that it is done. */
static void none_of_what_the_store_refuses_is_done(void **state)
{
	(void)state;
	fails = -ENOSPC;
	all_submit();
	assert_int_equal(clients[0].r, 0);
	for (int i = 1; i < 1 + OTHERS; i++) {
		assert_int_equal(clients[i].r, -EROFS);
		assert_non_null(strstr(clients[i].err.text, "the disk is full"));
		assert_false(knows(i));
	}
	assert_int_equal(phx_journal_state(journal)->seq, 1);
	assert_int_equal(n_committed, 1);
}

/* In doubt the process ends, and all hear that. */
static void all_hear_of_a_doubt(void **state)
{
	(void)state;
	fails = PHX_STORE_DOUBT;
	all_submit();
	for (int i = 1; i < 1 + OTHERS; i++)
		assert_int_equal(clients[i].r, -EIO);
	assert_int_equal(phx_journal_status(journal, NULL), -EAGAIN);
}

/* The store has a node in a state that no event could bring it into. */
static void break_node(const char *name)
{
	struct phx_node *n = phx_state_node(&journal->state, name);
	struct phx_step *step = phx_list_push(&n->plan.steps, sizeof(*step));
	assert_non_null(step);
	*step = (struct phx_step){.kind = PHX_STEP_prefetch,
				  .status = PHX_STEP_ISSUED,
				  .deadline_ms = 1,
				  .attempt = 100};
	n->state = PHX_NODE_CLEANING;
	n->plan.from_state = PHX_NODE_NEW; /* where no plan begins */
	phx_touch(&journal->state, n);
	phx_journal_snapshot(journal);
}

/* One that meets an error of the program: it alone is not done, and its node quarantined. */
static void an_error_of_the_program_fails_alone(void **state)
{
	struct phx_event tick = {.kind = PHX_EV_tick, .by = "phxd"};
	(void)state;
	PHX_AUTO(phx_event_fini) struct phx_event add = {0};
	assert_int_equal(phx_record_copy(&phx_event_record, &add, &clients[0].ev), 0);
	PHX_STR_SET(add.node, "broken");
	PHX_STR_SET(PHX_LIST_AT(&add.node_add.macs, struct phx_mac, 0)->mac, "02:00:00:00:01:00");
	assert_int_equal(phx_journal_submit(journal, &add, NULL, NULL), 0);
	phx_event_fini(&clients[3].ev);
	clients[3].ev = tick;
	break_node("broken");
	n_appends = 0;
	all_submit();
	for (int i = 0; i < 1 + OTHERS; i++)
		assert_int_equal(clients[i].r, i == 3 ? -EPROTO : 0);
	assert_int_equal(node_of("broken")->state, PHX_NODE_QUARANTINED);
	assert_true(knows(1) && knows(2) && knows(4) && knows(5));
	assert_int_equal(phx_journal_status(journal, NULL), 0);
}

/* Who dies after the commit has answered nobody, and a start finds all. */
static void a_death_after_the_commit_answers_nobody(void **state)
{
	(void)state;
	dies_of = 4;
	all_submit();
	for (int i = 1; i < 1 + OTHERS; i++)
		assert_int_equal(clients[i].r, -EAGAIN);
	dies_of = NOBODY;
	start_again();
	for (int i = 0; i < 1 + OTHERS; i++)
		assert_true(knows(i));
}

/* An order for many nodes is a transaction of its own. */
static void many_nodes_are_alone(void **state)
{
	struct phx_turns turns;
	struct phx_turn t[4] = {{.next = NULL}, {.alone = true}, {.next = NULL}, {.next = NULL}};
	(void)state;
	phx_turns_init(&turns);
	assert_true(phx_turns_begin(&turns, &t[0]));
	struct phx_turn *group = phx_turns_take(&turns);
	assert_ptr_equal(group, &t[0]);
	assert_null(group->next);
	/* as if their threads had come */
	for (int i = 1; i < 4; i++) {
		pthread_cond_init(&t[i].called, NULL);
		t[i].next = i < 3 ? &t[i + 1] : NULL;
	}
	turns.first = &t[1];
	turns.last = &t[3];
	phx_turns_over(&turns, group);
	assert_ptr_equal(phx_turns_take(&turns), &t[1]);
	assert_null(t[1].next);
	assert_ptr_equal(phx_turns_take(&turns), &t[2]);
	assert_ptr_equal(t[2].next, &t[3]);
	assert_null(turns.first);
	assert_null(turns.last);
	phx_turns_over(&turns, &t[2]);
	assert_true(t[3].over);
	phx_turns_fini(&turns);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_waits_is_written_together),
		T(one_that_is_refused_fails_alone),
		T(none_of_what_the_store_refuses_is_done),
		T(all_hear_of_a_doubt),
		T(an_error_of_the_program_fails_alone),
		T(a_death_after_the_commit_answers_nobody),
		T(many_nodes_are_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
