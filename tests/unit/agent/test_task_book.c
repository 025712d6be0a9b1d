/* What is decided of tasks, and the file of what became of them: every case by its table; the file
 * is cut wherever a crash may cut it. */
#include "unit/agent/scratch.h"

#include <fcntl.h>

#include "agent/task_book.h"
#include "agent/task_log.h"

static struct task_book book;

/* A body of this test's tasks, and what the book asked of their owner. */
struct body {
	struct phx_task_result result;
	bool ordered;
};

static struct owned {
	uint32_t n_bodies; /* made, and not dropped */
	bool no_memory;
	struct phx_list notes; /* struct task_note */
	char done[200];        /* "tell 3: cancelled, ended 3" */
} owned;

static void add_done(const char *what, uint32_t i, const char *why)
{
	size_t n = strlen(owned.done);
	snprintf(owned.done + n, sizeof(owned.done) - n, "%s%s %u%s%s", n ? ", " : "", what,
		 task_book_at(&book, i)->key.task, why[0] ? ": " : "", why);
}

static void *make_body(void *arg, const struct phx_task *task)
{
	struct body *b = owned.no_memory ? NULL : calloc(1, sizeof(*b));
	assert_ptr_equal(arg, &owned);
	if (!b)
		return NULL;
	b->ordered = task;
	owned.n_bodies++;
	return b;
}

static void drop_body(void *arg, void *body)
{
	assert_ptr_equal(arg, &owned);
	owned.n_bodies -= body != NULL;
	free(body);
}

static struct phx_task_result *result_of(void *body)
{
	return &((struct body *)body)->result;
}

static void take_note(void *arg, const struct task_note *n)
{
	struct task_note *to = phx_list_push(&((struct owned *)arg)->notes, sizeof(*to));
	assert_non_null(to);
	*to = *n;
	if (n->kind == TASK_NOTE_ENDED) /* as the log is read */
		to->key = TASK_KEY(&n->result);
}

static void tell_to_end(void *arg, uint32_t i, enum phx_task_outcome why)
{
	assert_ptr_equal(arg, &owned);
	add_done("tell", i, phx_enum_name(&phx_task_outcome_names, why));
}

static void when_ended(void *arg, uint32_t i)
{
	const struct body *b = task_book_at(&book, i)->body;
	assert_ptr_equal(arg, &owned);
	assert_int_equal(task_book_at(&book, i)->state, TASK_ENDED);
	add_done("ended", i, phx_enum_name(&phx_task_outcome_names, b->result.outcome));
}

static const struct task_owner owner = {&owned,    make_body,   drop_body, result_of,
					take_note, tell_to_end, when_ended};

static int setup_book(void **state)
{
	(void)state;
	owned = (struct owned){0};
	task_book_init(&book, 4, 1000);
	return 0;
}

/* Drops the book, as a keeper does that ends. */
static void close_book(void)
{
	for (uint32_t i = 0; i < book.n_entries; i++)
		drop_body(&owned, book.entries[i].body);
	assert_int_equal(owned.n_bodies, 0);
	task_book_fini(&book);
}

static int teardown_book(void **state)
{
	(void)state;
	close_book();
	phx_list_fini(&owned.notes);
	return 0;
}

static struct task_key key_of(uint32_t task, uint32_t attempt)
{
	return (struct task_key){.run = 1, .submitted_ms = 9, .task = task, .attempt = attempt};
}

static uint32_t put(uint32_t task, uint32_t cores, uint64_t memory)
{
	struct task_key key = key_of(task, 0);
	uint32_t i = task_book_put(&book, &key, cores, memory, TASK_NONE, make_body(&owned, NULL));
	assert_int_not_equal(i, TASK_NONE);
	return i;
}

/* ---- orders ---- */

/* An order of these tasks and cancels; its lists are freed by order(). */
static struct phx_task_order wanted;
static struct phx_text word = {"sh"};

static struct phx_task *want(uint32_t task, uint32_t attempt)
{
	struct phx_task *t = phx_list_push(&wanted.tasks, sizeof(*t));
	*t = (struct phx_task){.run = 1,
			       .submitted_ms = 9,
			       .task = task,
			       .attempt = attempt,
			       .cores = 1,
			       .argv = {.items = &word, .n = 1}};
	return t;
}

static struct phx_task_cancel *want_no(uint32_t task, uint32_t attempt)
{
	struct phx_task_cancel *c = phx_list_push(&wanted.cancels, sizeof(*c));
	*c = (struct phx_task_cancel){
		.run = 1, .submitted_ms = 9, .task = task, .attempt = attempt};
	return c;
}

static int order(uint64_t number)
{
	int r = task_book_admits(&book, number, &wanted, NULL);
	owned.done[0] = '\0';
	if (r > 0)
		r = task_book_order(&book, &owner, number, &wanted);
	phx_list_fini(&wanted.tasks);
	phx_list_fini(&wanted.cancels);
	wanted = (struct phx_task_order){.since_ms = wanted.since_ms};
	return r;
}

static void test_orders_are_numbered(void **state)
{
	(void)state;
	static const struct {
		int64_t since_ms;
		uint64_t number;
		int admits;
	} cases[] = {{5, 3, 0}, {5, 2, 0}, {5, 4, 1}, {6, 1, 1}}; /* a head that counts anew */
	wanted.since_ms = 5;
	assert_int_equal(task_book_admits(&book, 3, &wanted, NULL), 1);
	assert_int_equal(order(3), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		wanted.since_ms = cases[i].since_ms;
		assert_int_equal(task_book_admits(&book, cases[i].number, &wanted, NULL),
				 cases[i].admits);
	}
	wanted.since_ms = 0;
}

/* Those that ended count until the head has their rows. */
static void test_room(void **state)
{
	(void)state;
	struct phx_err err = {0};
	for (uint32_t t = 0; t < TASKS_HELD_MAX - 1; t++)
		put(t, 1, 0);
	want(TASKS_HELD_MAX, 0);
	assert_int_equal(task_book_admits(&book, 1, &wanted, NULL), 1);
	want_no(0, 0);
	assert_int_equal(task_book_admits(&book, 1, &wanted, &err), -EBUSY);
	assert_string_equal(err.text, "this node has 8192 tasks already");
	phx_err_clear(&err);
	task_book_stop(&book, &owner, 0, PHX_TASK_CANCELLED);
	assert_int_equal(task_book_admits(&book, 1, &wanted, NULL), -EBUSY);
	task_book_told(&book, &owner, 1);
	assert_int_equal(order(1), 0);
}

static void test_which_run(void **state)
{
	(void)state;
	uint32_t known;
	struct task_key key = key_of(1, 2);
	assert_int_equal(task_book_judge(&book, &key, &known), DECIDE_JOB_NEW);
	assert_int_equal(known, TASK_NONE);
	uint32_t i = task_book_put(&book, &key, 1, 0, TASK_NONE, make_body(&owned, NULL));
	const struct {
		struct task_key key;
		enum decide_job is;
	} cases[] = {
		{key_of(1, 2), DECIDE_JOB_SAME},
		{key_of(1, 1), DECIDE_JOB_OF_PAST},
		{key_of(1, 3), DECIDE_JOB_NEWER},
		{key_of(2, 2), DECIDE_JOB_NEW},
		{{.run = 2, .submitted_ms = 9, .task = 1, .attempt = 2}, DECIDE_JOB_NEW},
		/* another workflow of that number, of a head that lost its journal */
		{{.run = 1, .submitted_ms = 8, .task = 1, .attempt = 2}, DECIDE_JOB_NEW},
	};
	for (int said = 0; said < 2; said++) {
		for (size_t c = 0; c < PHX_ARRAY_SIZE(cases); c++)
			assert_int_equal(task_book_judge(&book, &cases[c].key, &known),
					 cases[c].is);
		if (!said) {
			task_book_end(&book, i);
			task_book_told(&book, &owner, 1);
		}
	}
}

/* What was said is known for long, but not for ever. */
static void test_memory_is_bounded(void **state)
{
	(void)state;
	uint32_t known;
	for (uint32_t t = 0; t <= TASKS_KNOWN_MAX; t++) {
		const struct task_note said = {.kind = TASK_NOTE_SAID, .key = key_of(t, 0)};
		task_book_replay(&book, &owner, &said);
	}
	assert_int_equal(book.n[TASK_SAID], TASKS_KNOWN_MAX);
	struct task_key first = key_of(0, 0), second = key_of(1, 0);
	assert_int_equal(task_book_judge(&book, &first, &known), DECIDE_JOB_NEW);
	assert_int_equal(task_book_judge(&book, &second, &known), DECIDE_JOB_SAME);
}

/* ---- slots ---- */

static void test_slots(void **state)
{
	(void)state;
	uint32_t a = put(1, 3, 600), b = put(2, 2, 100), c = put(3, 1, 500), d = put(4, 1, 400);
	assert_int_equal(task_book_begin(&book), a);
	/* b wants more cores, c more memory than are left */
	assert_int_equal(task_book_begin(&book), d);
	assert_int_equal(task_book_begin(&book), TASK_NONE);
	task_book_end(&book, d);
	assert_int_equal(task_book_begin(&book), TASK_NONE);
	task_book_end(&book, a);
	assert_int_equal(task_book_begin(&book), b);
	assert_int_equal(task_book_begin(&book), c);
	assert_int_equal(book.free_cores, 1);
	assert_int_equal(book.free_memory, 400);
	task_book_end(&book, b);
	task_book_end(&book, c);
	assert_int_equal(book.free_cores, 4);
	assert_int_equal(book.free_memory, 1000);
	assert_true(task_book_fits(&book, 4, 1000));
	assert_false(task_book_fits(&book, 5, 0));
	assert_false(task_book_fits(&book, 1, 1001));
}

/* 0 cores: all that there are. One that waits and is ended takes nothing. */
static void test_whole_node(void **state)
{
	(void)state;
	uint32_t a = put(1, 0, 0), b = put(2, 1, 0);
	assert_int_equal(task_book_begin(&book), a);
	assert_int_equal(task_book_begin(&book), TASK_NONE);
	task_book_end(&book, b);
	assert_int_equal(book.free_cores, 0);
	/* nothing changes under what runs */
	task_book_give(&book, 8, 0);
	assert_int_equal(book.cores, 4);
	task_book_end(&book, a);
	task_book_give(&book, 8, 0);
	uint32_t c = put(3, 8, 5000); /* memory is not counted now */
	assert_int_equal(task_book_begin(&book), c);
}

static void test_a_wide_one_is_not_passed_for_ever(void **state)
{
	(void)state;
	uint32_t small = put(0, 1, 0), wide = put(1, 4, 0), passed = 0;
	assert_int_equal(task_book_begin(&book), small);
	for (uint32_t t = 2; t < 1000; t++) {
		uint32_t next = put(t, 1, 0);
		if (task_book_begin(&book) != next)
			break;
		task_book_end(&book, next);
		passed++;
	}
	assert_in_range(passed, 100, 500);
	task_book_end(&book, small);
	assert_int_equal(task_book_begin(&book), wide);
}

static void test_attempts_follow_each_other(void **state)
{
	(void)state;
	struct task_key newer = key_of(1, 1);
	uint32_t old = put(1, 1, 0);
	assert_int_equal(task_book_begin(&book), old);
	uint32_t next = task_book_put(&book, &newer, 1, 0, old, make_body(&owned, NULL));
	assert_int_equal(task_book_begin(&book), TASK_NONE);
	task_book_end(&book, old);
	assert_int_equal(task_book_begin(&book), next);
}

static void test_cancels(void **state)
{
	(void)state;
	struct phx_task_cancel c = {.run = 1, .submitted_ms = 9, .task = 1, .attempt = 2};
	struct task_key key = key_of(1, 2), newer = key_of(1, 3), other = key_of(2, 2);
	assert_true(task_book_cancels(&c, &key));
	assert_false(task_book_cancels(&c, &newer));
	assert_false(task_book_cancels(&c, &other));
	c.whole = true;
	assert_true(task_book_cancels(&c, &newer));
	assert_true(task_book_cancels(&c, &other));
	c.submitted_ms = 8;
	assert_false(task_book_cancels(&c, &other));
}

/* ---- what an order comes to ---- */

static const struct phx_task_result *result(uint32_t task, uint32_t attempt)
{
	struct task_key key = key_of(task, attempt);
	uint32_t known;
	assert_int_equal(task_book_judge(&book, &key, &known), DECIDE_JOB_SAME);
	return result_of(task_book_at(&book, known)->body);
}

/* "order 4", "taken 3", "begun 3", "ended 3", "said 3", from note `from` on. */
static void assert_notes(uint32_t from, const char *expected)
{
	static const char *const kinds[] = {"order", "taken", "begun", "ended", "said"};
	char text[300] = "";
	for (uint32_t i = from; i < owned.notes.n; i++) {
		const struct task_note *n = PHX_LIST_AT(&owned.notes, struct task_note, i);
		uint64_t number = n->kind == TASK_NOTE_ORDER ? n->number : n->key.task;
		size_t at = strlen(text);
		snprintf(text + at, sizeof(text) - at, "%s%s %llu", at ? ", " : "", kinds[n->kind],
			 (unsigned long long)number);
	}
	assert_string_equal(text, expected);
}

static void test_order_is_taken_once(void **state)
{
	(void)state;
	want(1, 0);
	want(2, 0)->cores = 5; /* which the node does not have */
	want(3, 0)->argv.n = 0;
	assert_int_equal(order(1), 0);
	assert_string_equal(owned.done, "ended 2: unstarted, ended 3: unstarted");
	assert_string_equal(result(2, 0)->text,
			    "it wants more cores or memory than this node has for tasks");
	assert_string_equal(result(3, 0)->text, "argv: no program");
	assert_int_equal(result(2, 0)->begin_ms, 0);
	assert_int_equal(result(2, 0)->end_ms, 0);
	assert_int_equal(book.n[TASK_WAITS], 1);
	assert_notes(0, "taken 1, taken 2, ended 2, taken 3, ended 3, order 1");
	want(4, 0);
	assert_int_equal(order(1), 0); /* it was taken */
	want(1, 0);
	assert_int_equal(order(2), 0); /* the task is known */
	assert_int_equal(book.n[TASK_WAITS], 1);
	assert_notes(6, "order 2");
}

/* What is wrong with a task may quote it. */
static void test_texts_are_printable(void **state)
{
	(void)state;
	struct phx_text bad = {"a\nb"};
	want(1, 0)->env = (struct phx_list){.items = &bad, .n = 1};
	assert_int_equal(order(1), 0);
	assert_string_equal(result(1, 0)->text, "env: 'a?b' must be NAME=value");
}

static void test_newer_attempt(void **state)
{
	(void)state;
	want(1, 0);
	want(2, 0);
	assert_int_equal(order(1), 0);
	assert_int_not_equal(task_book_begin(&book), TASK_NONE);
	want(1, 1); /* 1 runs, 2 waits */
	want(2, 1);
	assert_int_equal(order(2), 0);
	assert_string_equal(owned.done, "tell 1: cancelled, ended 2: cancelled");
	want(1, 0); /* of the past */
	assert_int_equal(order(3), 0);
	assert_string_equal(owned.done, "");
	assert_int_equal(book.n[TASK_WAITS], 2);
}

static void test_cancel(void **state)
{
	(void)state;
	for (uint32_t t = 1; t <= 3; t++)
		want(t, 1);
	assert_int_equal(order(1), 0);
	assert_int_not_equal(task_book_begin(&book), TASK_NONE);
	want_no(1, 1); /* it runs */
	want_no(2, 2); /* this attempt and those before it */
	want_no(3, 0); /* of the past */
	want_no(4, 0); /* not known */
	assert_int_equal(order(2), 0);
	assert_string_equal(owned.done,
			    "tell 1: cancelled, ended 2: cancelled, ended 2: "
			    "cancelled, ended 4: cancelled");
	assert_int_equal(result(4, 0)->outcome, PHX_TASK_CANCELLED);
	/* none of them begins when its order comes late */
	want(2, 2);
	want(4, 0);
	assert_int_equal(order(3), 0);
	assert_string_equal(owned.done, "");
	assert_int_equal(book.n[TASK_WAITS], 1);
}

static void test_cancel_of_a_whole_run(void **state)
{
	(void)state;
	for (uint32_t t = 1; t <= 3; t++)
		want(t, 0);
	want(4, 0)->run = 2;
	assert_int_equal(order(1), 0);
	assert_int_not_equal(task_book_begin(&book), TASK_NONE);
	want_no(0, 0)->whole = true;
	assert_int_equal(order(2), 0);
	assert_string_equal(owned.done,
			    "ended 2: cancelled, ended 3: cancelled, tell 1: cancelled");
	task_book_stop_all(&book, &owner, PHX_TASK_LOST);
	assert_int_equal(book.n[TASK_WAITS], 0);
}

/* The owner cannot go on: what is noted of the order is not that it was taken. */
static void test_no_memory(void **state)
{
	(void)state;
	owned.no_memory = true;
	want(1, 0);
	assert_int_equal(order(1), -ENOMEM);
	want_no(1, 0);
	assert_int_equal(order(1), -ENOMEM);
	assert_notes(0, "");
	assert_int_equal(book.order, 0);
}

/* ---- rows ---- */

static uint32_t n_rows(uint32_t most)
{
	struct phx_list rows = {0};
	uint32_t n = task_book_rows(&book, &owner, most, &rows);
	assert_int_equal(n, rows.n);
	phx_list_fini(&rows);
	return n;
}

/* A result is told when the next keeper would tell the same. */
static void test_rows_wait_for_the_disk(void **state)
{
	(void)state;
	for (uint32_t t = 1; t <= 3; t++)
		want(t, 0);
	assert_int_equal(order(1), 0);
	for (uint32_t t = 1; t <= 3; t++) {
		uint32_t i = task_book_begin(&book);
		task_book_begun(&book, &owner, i, 100);
		/* the clock is set back before the last one ends */
		task_book_finish(&book, &owner, i, PHX_TASK_EXITED, t, t < 3 ? 200 : 50);
		assert_int_equal(n_rows(9), t < 3 ? 0 : 2);
		if (t == 2)
			task_book_synced(&book);
	}
	assert_int_equal(result(2, 0)->end_ms, 200);
	assert_int_equal(result(3, 0)->end_ms, 100);
	assert_int_equal(result(3, 0)->status, 3);
	assert_int_equal(n_rows(1), 1);
	task_book_synced(&book);
	assert_int_equal(n_rows(9), 3);
	task_book_told(&book, &owner, 2);
	assert_int_equal(n_rows(9), 1);
	assert_int_equal(owned.n_bodies, 1);
	assert_notes(4, "begun 1, ended 1, begun 2, ended 2, begun 3, ended 3, said 1, said 2");
}

/* ---- the next keeper ---- */

/* Begins a book by the notes of the last, and forgets those. */
static void begin_anew(void)
{
	struct phx_list notes = owned.notes;
	close_book();
	owned = (struct owned){0};
	task_book_init(&book, 4, 1000);
	PHX_LIST_EACH(struct task_note, n, &notes)
		task_book_replay(&book, &owner, n);
	assert_int_equal(owned.notes.n, 0); /* they are in the log already */
	phx_list_fini(&notes);
}

static void check_anew(void)
{
	struct task_key said = key_of(1, 0);
	uint32_t known;
	assert_int_equal(book.order, 7);
	assert_int_equal(book.since_ms, 5);
	/* nothing of it begins a second time */
	assert_int_equal(book.n[TASK_SAID], 1);
	assert_int_equal(task_book_judge(&book, &said, &known), DECIDE_JOB_SAME);
	/* what ended is told as it was */
	assert_int_equal(n_rows(9), 1);
	assert_int_equal(result(2, 0)->status, 17);
	assert_int_equal(result(2, 0)->end_ms, 200);
	/* what ran or waited is lost */
	assert_int_equal(book.n[TASK_WAITS], 2);
	task_book_lose(&book, &owner, 300);
	assert_int_equal(book.n[TASK_WAITS], 0);
	assert_non_null(strstr(owned.done, "ended 3: lost"));
	assert_non_null(strstr(owned.done, "ended 4: lost"));
	assert_int_equal(result(3, 0)->begin_ms, 100);
	assert_int_equal(result(3, 0)->end_ms, 300);
	assert_int_equal(result(4, 0)->end_ms, 0);
	assert_int_equal(n_rows(9), 1); /* that is not synced yet */
	assert_int_equal(owned.notes.n, 2);
}

static void live(void)
{
	wanted.since_ms = 5;
	for (uint32_t t = 1; t <= 3; t++)
		want(t, 0);
	want(4, 0)->cores = 4;
	assert_int_equal(order(7), 0);
	for (uint32_t t = 1; t <= 3; t++)
		task_book_begun(&book, &owner, task_book_begin(&book), 100);
	struct task_key first = key_of(1, 0), second = key_of(2, 0);
	uint32_t i;
	task_book_judge(&book, &first, &i);
	task_book_finish(&book, &owner, i, PHX_TASK_EXITED, 0, 200);
	task_book_judge(&book, &second, &i);
	task_book_finish(&book, &owner, i, PHX_TASK_EXITED, 17, 200);
	task_book_told(&book, &owner, 1);
	wanted.since_ms = 0;
}

static void test_replay(void **state)
{
	(void)state;
	live();
	begin_anew();
	check_anew();
}

/* A log that is rewritten says the same. */
static void test_replay_of_a_rewritten_log(void **state)
{
	(void)state;
	live();
	owned.notes.n = 0;
	task_book_each_note(&book, &owner, take_note, &owned);
	assert_notes(0, "order 7, taken 4, taken 3, begun 3, taken 2, ended 2, said 1");
	begin_anew();
	check_anew();
}

/* A keeper died between telling the head and noting it, and the head has told the next. */
static void test_replay_of_what_was_said_twice(void **state)
{
	(void)state;
	live();
	struct task_note again = *PHX_LIST_AT(&owned.notes, struct task_note, owned.notes.n - 1);
	assert_int_equal(again.kind, TASK_NOTE_SAID);
	take_note(&owned, &again);
	again.key.task = 3; /* its end was not noted */
	take_note(&owned, &again);
	begin_anew();
	assert_int_equal(book.n[TASK_SAID], 2);
	assert_int_equal(book.n[TASK_ENDED], 1);
	assert_int_equal(book.free_cores, 4);
}

/* ---- the file ---- */

static struct told {
	uint32_t n, orders, ended;
	uint64_t last;
} told;

static void tell(void *arg, const struct task_note *note)
{
	(void)arg;
	told.n++;
	told.orders += note->kind == TASK_NOTE_ORDER;
	told.ended += note->kind == TASK_NOTE_ENDED && note->result.cpu_ms == 17 &&
		phx_str_eq(note->result.text, "why\nnot") && note->key.task == 3;
	told.last = note->kind == TASK_NOTE_ORDER ? note->number : note->key.task;
}

static struct task_log open_log(int dir)
{
	struct task_log log = {.fd = -1};
	struct phx_err err = {0};
	told = (struct told){0};
	if (task_log_open(dir, tell, NULL, &log, &err) < 0)
		fail_msg("%s", err.text);
	return log;
}

static void add_some(void *arg, struct task_log *log)
{
	(void)arg;
	struct task_note ended = {.kind = TASK_NOTE_ENDED};
	ended.result.run = 1;
	ended.result.task = 3;
	ended.result.cpu_ms = 17;
	PHX_STR_SET(ended.result.text, "why\nnot");
	task_log_add(log, &(struct task_note){.kind = TASK_NOTE_ORDER, .number = 77});
	task_log_add(log, &(struct task_note){.kind = TASK_NOTE_TAKEN, .key = key_of(3, 0)});
	task_log_add(
		log,
		&(struct task_note){.kind = TASK_NOTE_BEGUN, .key = key_of(3, 0), .begin_ms = 5});
	task_log_add(log, &ended);
	task_log_add(log, &(struct task_note){.kind = TASK_NOTE_SAID, .key = key_of(4, 0)});
}

static void test_torn_tail(void **state)
{
	const struct scratch *s = *state;
	struct stat st;
	int dir = open(s->dir, O_RDONLY | O_DIRECTORY);
	char *path = scratch_path(s, "log");
	struct task_log log = open_log(dir);
	add_some(NULL, &log);
	assert_int_equal(task_log_sync(&log, NULL), 0);
	task_log_close(&log);
	assert_int_equal(stat(path, &st), 0);
	PHX_AUTO_FREE char *whole = NULL;
	size_t n;
	assert_int_equal(phx_file_read(path, 1 << 20, &whole, &n, NULL), 0);
	for (size_t cut = 0; cut <= n; cut++) {
		write_text(path, "", 0600);
		assert_int_equal(phx_file_write(path, whole, cut, 0600, NULL), 0);
		log = open_log(dir);
		uint32_t lines = 0;
		for (size_t i = 0; i < cut; i++)
			lines += whole[i] == '\n';
		assert_int_equal(told.n, lines);
		assert_int_equal(told.ended, lines >= 4);
		/* what is added behind is read, whatever it was added to */
		task_log_add(&log, &(struct task_note){.kind = TASK_NOTE_ORDER, .number = 5});
		assert_int_equal(task_log_sync(&log, NULL), 0);
		task_log_close(&log);
		log = open_log(dir);
		/* a line that lacked its end alone was whole */
		assert_int_equal(told.n, lines + 1 + (cut < n && whole[cut] == '\n'));
		assert_int_equal(told.last, 5);
		task_log_close(&log);
	}
	close(dir);
}

/* A line whose bytes changed does not count; those around it do. */
static void test_damage(void **state)
{
	const struct scratch *s = *state;
	int dir = open(s->dir, O_RDONLY | O_DIRECTORY);
	struct task_log log = open_log(dir);
	add_some(NULL, &log);
	assert_int_equal(task_log_sync(&log, NULL), 0);
	task_log_close(&log);
	PHX_AUTO_CLOSE int fd = open(scratch_path(s, "log"), O_WRONLY);
	assert_int_equal(pwrite(fd, "8", 1, 12), 1); /* the order is 87 */
	log = open_log(dir);
	assert_int_equal(told.orders, 0);
	assert_int_equal(told.n, 4);
	task_log_close(&log);
	close(dir);
}

static void test_renew(void **state)
{
	const struct scratch *s = *state;
	int dir = open(s->dir, O_RDONLY | O_DIRECTORY);
	struct task_log log = open_log(dir);
	for (uint32_t i = 0; i < 300000; i++)
		task_log_add(&log,
			     &(struct task_note){.kind = TASK_NOTE_SAID,
						 .key = {.run = UINT64_MAX >> 1,
							 .submitted_ms = INT64_MAX,
							 .task = i}});
	assert_int_equal(task_log_sync(&log, NULL), 0);
	assert_true(task_log_is_long(&log));
	assert_int_equal(task_log_renew(&log, add_some, NULL, NULL), 0);
	assert_false(task_log_is_long(&log));
	task_log_add(&log, &(struct task_note){.kind = TASK_NOTE_ORDER, .number = 78});
	assert_int_equal(task_log_sync(&log, NULL), 0);
	task_log_close(&log);
	log = open_log(dir);
	assert_int_equal(told.n, 6);
	assert_int_equal(told.last, 78);
	task_log_close(&log);
	close(dir);
}

#define BOOK(f) cmocka_unit_test_setup_teardown(f, setup_book, teardown_book)
#define LOG(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOOK(test_orders_are_numbered),
		BOOK(test_room),
		BOOK(test_which_run),
		BOOK(test_memory_is_bounded),
		BOOK(test_slots),
		BOOK(test_whole_node),
		BOOK(test_a_wide_one_is_not_passed_for_ever),
		BOOK(test_attempts_follow_each_other),
		BOOK(test_cancels),
		BOOK(test_order_is_taken_once),
		BOOK(test_texts_are_printable),
		BOOK(test_newer_attempt),
		BOOK(test_cancel),
		BOOK(test_cancel_of_a_whole_run),
		BOOK(test_no_memory),
		BOOK(test_rows_wait_for_the_disk),
		BOOK(test_replay),
		BOOK(test_replay_of_a_rewritten_log),
		BOOK(test_replay_of_what_was_said_twice),
		LOG(test_torn_tail),
		LOG(test_damage),
		LOG(test_renew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
