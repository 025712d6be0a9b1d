/* What is decided of tasks, and the file of what became of them: every case by its table; the file
 * is cut wherever a crash may cut it. */
#include "unit/agent/scratch.h"

#include <fcntl.h>

#include "agent/task_book.h"
#include "agent/task_log.h"

static struct task_book book;

static int setup_book(void **state)
{
	(void)state;
	task_book_init(&book, 4, 1000);
	return 0;
}

static int teardown_book(void **state)
{
	(void)state;
	task_book_fini(&book);
	return 0;
}

static struct task_key key_of(uint32_t task, uint32_t attempt)
{
	return (struct task_key){.run = 1, .submitted_ms = 9, .task = task, .attempt = attempt};
}

static uint32_t put(uint32_t task, uint32_t cores, uint64_t memory)
{
	struct task_key key = key_of(task, 0);
	uint32_t i = task_book_put(&book, &key, cores, memory, TASK_NONE, NULL);
	assert_int_not_equal(i, TASK_NONE);
	return i;
}

/* ---- orders ---- */

static void test_orders_are_numbered(void **state)
{
	(void)state;
	assert_true(task_book_is_new(&book, 5, 3));
	task_book_taken(&book, 5, 3);
	assert_false(task_book_is_new(&book, 5, 3));
	assert_false(task_book_is_new(&book, 5, 2));
	assert_true(task_book_is_new(&book, 5, 4));
	assert_true(task_book_is_new(&book, 6, 1)); /* a head that counts anew */
}

static void test_room(void **state)
{
	(void)state;
	assert_true(task_book_has_room(&book, TASKS_HELD_MAX));
	assert_false(task_book_has_room(&book, TASKS_HELD_MAX + 1));
	uint32_t i = put(1, 1, 0);
	assert_false(task_book_has_room(&book, TASKS_HELD_MAX));
	task_book_end(&book, i);
	assert_false(task_book_has_room(&book, TASKS_HELD_MAX));
	task_book_said(&book, i);
	assert_true(task_book_has_room(&book, TASKS_HELD_MAX));
}

static void test_which_run(void **state)
{
	(void)state;
	uint32_t known;
	struct task_key key = key_of(1, 2);
	assert_int_equal(task_book_judge(&book, &key, &known), DECIDE_JOB_NEW);
	assert_int_equal(known, TASK_NONE);
	uint32_t i = task_book_put(&book, &key, 1, 0, TASK_NONE, NULL);
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
			task_book_said(&book, i);
		}
	}
}

/* What was said is known for long, but not for ever. */
static void test_memory_is_bounded(void **state)
{
	(void)state;
	uint32_t known;
	for (uint32_t t = 0; t <= TASKS_KNOWN_MAX; t++) {
		struct task_key key = key_of(t, 0);
		assert_int_equal(task_book_remember(&book, &key), 0);
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
	uint32_t next = task_book_put(&book, &newer, 1, 0, old, NULL);
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
		LOG(test_torn_tail),
		LOG(test_damage),
		LOG(test_renew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
