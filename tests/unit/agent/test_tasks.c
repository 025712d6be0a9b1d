/* Tasks on a real agent, a process, whose head is a fake: what is ordered runs once and is
 * answered, whoever ends meanwhile. */
#include "fake/head.h"

#include <dirent.h>

#include "types/task.h"

enum { UID = 65534 };

static json_t *step(const char *kind, uint64_t id)
{
	struct phx_order o = {.id = id, .epoch = 1, .deadline_s = 60};
	o.kind = PHX_ORDER_step;
	o.step.id = id;
	o.step.attempt = 1;
	assert_int_equal(phx_enum_parse(&phx_step_kind_names, kind, &o.step.kind, NULL), 0);
	PHX_STR_SET(o.role.name, "mtc");
	PHX_STR_SET(o.role.image, "test");
	o.role.runs_jobs = true;
	o.role.drain_grace_s = 1;
	return phx_json_from_record(&phx_order_record, &o);
}

static void do_step(struct fake_head *h, const char *kind, uint64_t id)
{
	PHX_AUTO_JSON json_t *result = fake_ask(h, step(kind, id));
	if (phx_json_int(result, "result", -1) != 0)
		fail_msg("%s: %s", kind, phx_json_str(result, "text", ""));
}

static void start_with_role(struct fake_head *h)
{
	fake_agent_start(h);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > 0);
	do_step(h, "activate", 1);
	do_step(h, "start", 2);
	PHX_AUTO_JSON json_t *order = step("start", 2);
	h->role = json_incref(json_object_get(order, "role"));
}

/* An order of `n` tasks, from task `first` on. */
static json_t *order_of(uint64_t id, uint32_t first, uint32_t n, const char *script)
{
	struct phx_task_order o = {.since_ms = 1,
				   .re = "mtc",
				   .user = "nobody",
				   .uid = UID,
				   .gid = UID,
				   .cores = 4,
				   .grace_ms = 200};
	for (uint32_t i = 0; i < n; i++) {
		struct phx_task *t = phx_list_push(&o.tasks, sizeof(*t));
		t->run = 3;
		t->submitted_ms = 9;
		t->task = first + i;
		t->cores = 1;
		phx_text_push(&t->argv, "/bin/sh");
		phx_text_push(&t->argv, "-c");
		phx_text_push(&t->argv, script);
	}
	PHX_AUTO_FREE char *text = phx_json_record_text_least(&phx_task_order_record, &o);
	phx_record_fini(&phx_task_order_record, &o);
	json_t *tasks = NULL;
	assert_int_equal(phx_json_parse(text, strlen(text), &tasks, NULL), 0);
	return json_pack("{s:s,s:I,s:o}", "kind", "tasks", "id", (json_int_t)id, "tasks", tasks);
}

static size_t n_rows(struct fake_head *h)
{
	pthread_mutex_lock(&h->lock);
	size_t n = json_array_size(h->rows);
	pthread_mutex_unlock(&h->lock);
	return n;
}

static bool says_taken(struct fake_head *h, uint64_t id)
{
	bool says = false;
	size_t i;
	json_t *r;
	pthread_mutex_lock(&h->lock);
	json_array_foreach(json_object_get(h->beat, "running"), i, r)
		says = says ||
			(!strcmp(json_string_value(json_array_get(r, 0)) ?: "", "tasks") &&
			 json_integer_value(json_array_get(r, 1)) == (json_int_t)id);
	pthread_mutex_unlock(&h->lock);
	return says;
}

/* How often task `task` was answered with this outcome. */
static int answered(struct fake_head *h, uint32_t task, const char *outcome)
{
	int n = 0;
	size_t i;
	json_t *row;
	pthread_mutex_lock(&h->lock);
	json_array_foreach(h->rows, i, row)
		n += phx_json_int(row, "task", 0) == task &&
			phx_str_eq(phx_json_str(row, "outcome", "exited"), outcome);
	pthread_mutex_unlock(&h->lock);
	return n;
}

static char *data_path(const struct fake_head *h, const char *name)
{
	char below[128];
	snprintf(below, sizeof(below), "var/cache/phoenix-tasks/mtc.%d/%s", UID, name);
	return root_path(h, below);
}

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* The keeper of this agent: it has our root among its words. 0: there is none. */
static pid_t keeper_of(const struct fake_head *h)
{
	pid_t found = 0;
	DIR *d = opendir("/proc");
	assert_non_null(d);
	for (const struct dirent *e; !found && (e = readdir(d));) {
		char path[300], words[1024] = "";
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		PHX_AUTO_CLOSE int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
		if (n > 0 && memmem(words, (size_t)n, "--tasks", 8) &&
		    memmem(words, (size_t)n, h->root, strlen(h->root)))
			found = (pid_t)atoi(e->d_name);
	}
	closedir(d);
	return found;
}

static int teardown(void **state)
{
	struct fake_head *h = *state;
	fake_agent_end(h, SIGTERM);
	pid_t keeper = keeper_of(h);
	if (keeper)
		kill(keeper, SIGTERM);
	HEAD_WAIT(h, !keeper_of(h));
	return fake_head_teardown(state);
}

static void test_many_are_answered_in_batches(void **state)
{
	struct fake_head *h = *state;
	start_with_role(h);
	assert_true(says_taken(h, 0)); /* it knows of tasks, and has none */
	fake_order(h, order_of(7, 0, 400, "echo x >>ran"));
	HEAD_WAIT(h, n_rows(h) >= 400);
	HEAD_WAIT(h, says_taken(h, 7));
	for (uint32_t i = 0; i < 400; i++)
		assert_int_equal(answered(h, i, "exited"), 1);
	assert_int_equal(n_rows(h), 400);
	assert_in_range(h->most_rows, 2, PHX_TASK_ROWS_MAX);
	assert_int_equal(size_of(data_path(h, "ran")), 800);
}

static void test_no_tasks_without_a_role(void **state)
{
	struct fake_head *h = *state;
	fake_agent_start(h);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > 0);
	fake_order(h, order_of(7, 0, 1, "true"));
	int beats = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > beats + 2);
	assert_false(says_taken(h, 7));
	assert_int_equal(keeper_of(h), 0);
}

/* The head has the rows, but its answer is lost: they are told again, and are the same. */
static void test_rows_are_told_until_they_are_taken(void **state)
{
	struct fake_head *h = *state;
	start_with_role(h);
	h->rows_away = 2;
	fake_order(h, order_of(7, 5, 1, "echo x >>ran"));
	HEAD_WAIT(h, answered(h, 5, "exited") == 3);
	fake_order(h, order_of(8, 6, 1, "true"));
	HEAD_WAIT(h, answered(h, 6, "exited") == 1);
	assert_int_equal(answered(h, 5, "exited"), 3);
	assert_int_equal(size_of(data_path(h, "ran")), 2);
	assert_true(json_equal(json_array_get(h->rows, 0), json_array_get(h->rows, 2)));
}

/* An agent that is killed comes back: what ran runs on, what ended meanwhile is told, and the
 * order, which the head gives again, runs nothing twice. */
static void test_the_agent_is_killed(void **state)
{
	struct fake_head *h = *state;
	start_with_role(h);
	fake_order(h, order_of(7, 1, 2, "echo x >>ran; while [ ! -e go ]; do sleep 0.02; done"));
	HEAD_WAIT(h, size_of(data_path(h, "ran")) == 4);
	assert_int_equal(fake_agent_end(h, SIGKILL), 128 + SIGKILL);
	world_put(data_path(h, "go"), "");
	fake_agent_start(h);
	HEAD_WAIT(h, n_rows(h) == 2);
	HEAD_WAIT(h, says_taken(h, 7));
	int beats = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > beats + 2);
	assert_int_equal(answered(h, 1, "exited") + answered(h, 2, "exited"), 2);
	assert_int_equal(n_rows(h), 2);
	assert_int_equal(size_of(data_path(h, "ran")), 4);
}

/* The machine: agent, keeper and tasks are gone at once. */
static void test_the_machine_starts_anew(void **state)
{
	struct fake_head *h = *state;
	start_with_role(h);
	fake_order(h, order_of(7, 1, 6, "echo x >>ran; exec sleep 1000"));
	HEAD_WAIT(h, size_of(data_path(h, "ran")) == 8);
	HEAD_WAIT(h, says_taken(h, 7));
	kill(h->agent, SIGSTOP);
	assert_int_equal(kill(keeper_of(h), SIGKILL), 0);
	fake_agent_end(h, SIGKILL);
	HEAD_WAIT(h, !keeper_of(h));
	fake_agent_start(h);
	HEAD_WAIT(h, n_rows(h) == 6);
	for (uint32_t i = 1; i <= 6; i++)
		assert_int_equal(answered(h, i, "lost"), 1);
	fake_order(h, order_of(8, 1, 7, "echo y >>again")); /* a copy, with one more */
	HEAD_WAIT(h, n_rows(h) == 7);
	assert_int_equal(answered(h, 7, "exited"), 1);
	assert_int_equal(size_of(data_path(h, "again")), 2);
	assert_int_equal(size_of(data_path(h, "ran")), 8); /* what waited never began */
}

static void test_a_keeper_that_dies_is_replaced(void **state)
{
	struct fake_head *h = *state;
	start_with_role(h);
	fake_order(h, order_of(7, 1, 1, "exec sleep 1000"));
	HEAD_WAIT(h, says_taken(h, 7));
	assert_int_equal(kill(keeper_of(h), SIGKILL), 0);
	HEAD_WAIT(h, answered(h, 1, "lost") == 1); /* though nothing is ordered */
	fake_order(h, order_of(8, 2, 1, "true"));
	HEAD_WAIT(h, answered(h, 2, "exited") == 1);
}

/* A node that is handed over takes no task along. */
static void test_drain(void **state)
{
	struct fake_head *h = *state;
	start_with_role(h);
	fake_order(h, order_of(7, 1, 6, "echo x >>ran; exec sleep 1000"));
	HEAD_WAIT(h, size_of(data_path(h, "ran")) == 8);
	do_step(h, "drain", 9);
	HEAD_WAIT(h, n_rows(h) == 6);
	for (uint32_t i = 1; i <= 6; i++)
		assert_int_equal(answered(h, i, "lost"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_head_setup, teardown)

int main(void)
{
	if (geteuid() != 0) {
		print_message("1..0 # SKIP: tasks run as other users: needs root\n");
		return 0;
	}
	const struct CMUnitTest tests[] = {
		TEST(test_many_are_answered_in_batches),
		TEST(test_no_tasks_without_a_role),
		TEST(test_rows_are_told_until_they_are_taken),
		TEST(test_the_agent_is_killed),
		TEST(test_the_machine_starts_anew),
		TEST(test_a_keeper_that_dies_is_replaced),
		TEST(test_drain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
