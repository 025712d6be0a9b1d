/* Two processes: what one asks the other, how many at once, and that the end of the other costs
 * nobody an answer. The other is this program again. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apart/apart.h"

enum { BODY_MAX = 1 << 20, THREADS = 8, ANSWER_MS = 30000 };
/* What the other can be asked. */
enum { SAY, REFUSE, MEET, READ_FD, GIVE_FD, DIE, HANG, REMEMBER, RECALL };

/* ---- the other process ---- */

static int remembered;

/* Answered when all have come: one after the other they would wait for ever. */
static int meet(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
	static int n;
	pthread_mutex_lock(&lock);
	n++;
	pthread_cond_broadcast(&came);
	while (n % THREADS)
		pthread_cond_wait(&came, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int read_fd(const struct phx_apart_question *q, struct phx_apart_reply *ret)
{
	char byte;
	if (read(q->fd, &byte, 1) != 1)
		return -EIO;
	phx_buf_add(&ret->body, &byte, 1);
	return 0;
}

static int give_fd(struct phx_apart_reply *ret)
{
	int pipes[2];
	if (pipe(pipes) < 0 || write(pipes[1], "y", 1) != 1)
		return -errno;
	close(pipes[1]);
	ret->fd = pipes[0];
	return 0;
}

static int answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	(void)arg;
	switch (q->op) {
	case SAY:
		ret->number = q->number + 1;
		phx_buf_addf(&ret->body, "%s %.*s", q->name, (int)q->n, q->body);
		return 0;
	case REFUSE:
		phx_buf_addf(&ret->body, "this must not be told");
		return phx_err_set(err, -EPERM, "no, %s", q->name);
	case MEET:
		return meet();
	case READ_FD:
		return read_fd(q, ret);
	case GIVE_FD:
		return give_fd(ret);
	case DIE:
		_exit(1);
	case HANG:
		return pause();
	case REMEMBER:
		remembered = q->body[0];
		return q->body[0] == '-' ? -EINVAL : 0;
	case RECALL:
		ret->number = (uint64_t)remembered;
		return 0;
	}
	return -ENOSYS;
}

static int be_the_other(void)
{
	const struct phx_apart_server server = {
		.body_max = BODY_MAX, .threads = THREADS, .answer = answer};
	phx_apart_deaf();
	_exit(phx_apart_serve(STDIN_FILENO, &server) == -EPIPE ? 0 : 1);
}

/* ---- this one ---- */

static struct phx_apart *a;
static atomic_int n_restarts;
static struct phx_err err;

static void restarted(void *arg)
{
	(void)arg;
	atomic_fetch_add(&n_restarts, 1);
}

static int setup(void **state)
{
	static const char *const argv[] = {"/proc/self/exe", "--other", NULL};
	static const struct phx_apart_config config = {.what = "the other process",
						       .argv = argv,
						       .answer_ms = ANSWER_MS,
						       .body_max = BODY_MAX,
						       .restarted = restarted};
	(void)state;
	atomic_store(&n_restarts, 0);
	phx_err_clear(&err);
	return phx_apart_start(&config, &a, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_apart_end(PHX_TAKE(a));
	return 0;
}

static int ask(uint32_t op, struct phx_apart_reply *ret)
{
	const struct phx_apart_question q = {
		.op = op, .number = 6, .name = "n1", .body = "hello", .n = 5};
	return phx_apart_ask(a, &q, 0, ret, &err);
}

static void questions_are_answered(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	assert_int_equal(ask(SAY, &reply), 0);
	assert_int_equal(reply.number, 7);
	assert_string_equal(reply.body.data, "n1 hello");
	phx_apart_reply_fini(&reply);
	assert_int_equal(ask(REFUSE, &reply), -EPERM);
	assert_string_equal(err.text, "no, n1");
	assert_null(reply.body.data);
	assert_int_equal(ask(99, &reply), -ENOSYS);
	assert_int_equal(n_restarts, 0);
}

static void as_much_as_may_be_and_no_more(void **state)
{
	char *much = malloc(BODY_MAX + 1);
	struct phx_apart_question q = {.op = SAY, .body = much, .n = BODY_MAX - 1};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	memset(much, 'm', BODY_MAX + 1);
	assert_int_equal(phx_apart_ask(a, &q, 0, &reply, &err), 0);
	assert_int_equal(reply.body.n, BODY_MAX);
	phx_apart_reply_fini(&reply);
	/* the answer is a blank longer */
	q.n = BODY_MAX;
	assert_int_equal(phx_apart_ask(a, &q, 0, &reply, &err), -E2BIG);
	q.n = BODY_MAX + 1;
	assert_int_equal(phx_apart_ask(a, &q, 0, &reply, &err), -E2BIG);
	assert_int_equal(n_restarts, 0);
	free(much);
}

static void descriptors_go_both_ways(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_apart_question q = {.op = READ_FD, .body = ""};
	int pipes[2];
	char byte = 0;
	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	q.fd = pipes[0];
	assert_int_equal(phx_apart_ask(a, &q, 0, &reply, &err), 0);
	assert_string_equal(reply.body.data, "x");
	phx_apart_reply_fini(&reply);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(ask(GIVE_FD, &reply), 0);
	assert_true(reply.fd > 0);
	assert_int_equal(read(reply.fd, &byte, 1), 1);
	assert_int_equal(byte, 'y');
}

/* ---- many at once ---- */

static void *ask_meet(void *arg)
{
	const struct phx_apart_question q = {.op = MEET, .body = ""};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)arg;
	return phx_apart_ask(a, &q, 0, &reply, NULL) < 0 ? (void *)1 : NULL;
}

static void many_are_under_way_at_once(void **state)
{
	pthread_t threads[THREADS];
	void *failed;
	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_meet, NULL), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(n_restarts, 0);
}

/* ---- its end ---- */

static void an_end_between_questions_is_survived(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	for (int i = 1; i <= 3; i++) {
		pid_t was = phx_apart_pid(a);
		assert_int_equal(kill(was, SIGKILL), 0);
		assert_int_equal(ask(SAY, &reply), 0);
		phx_apart_reply_fini(&reply);
		assert_int_not_equal(phx_apart_pid(a), was);
		assert_int_equal(n_restarts, i);
	}
}

struct reading {
	int fd;
	int result;
};

static void *ask_read(void *arg)
{
	struct reading *x = arg;
	const struct phx_apart_question q = {.op = READ_FD, .body = "", .fd = x->fd};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	x->result = phx_apart_ask(a, &q, 0, &reply, NULL);
	return NULL;
}

/* All of them wait for their byte when the process is killed; the next process gets the same
 * questions, and they are told of one restart. */
static void questions_under_way_are_asked_again(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	pthread_t threads[THREADS - 1];
	struct reading x[THREADS - 1];
	int pairs[THREADS - 1][2];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		x[i].fd = pairs[i][0];
		assert_int_equal(pthread_create(&threads[i], NULL, ask_read, &x[i]), 0);
	}
	assert_int_equal(ask(SAY, &reply), 0);
	assert_int_equal(kill(phx_apart_pid(a), SIGKILL), 0);
	phx_apart_reply_fini(&reply);
	assert_int_equal(ask(SAY, &reply), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++)
		assert_int_equal(write(pairs[i][1], "z", 1), 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(x[i].result, 0);
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	assert_int_equal(n_restarts, 1);
}

static void one_that_ends_again_and_again_is_told(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	assert_int_equal(ask(DIE, &reply), -EPIPE);
	assert_non_null(strstr(err.text, "the other process does not answer: "));
	assert_int_equal(ask(SAY, &reply), 0);
}

static void one_that_hangs_is_ended(void **state)
{
	const struct phx_apart_question q = {.op = HANG, .body = ""};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	pid_t was = phx_apart_pid(a);
	(void)state;
	assert_int_equal(phx_apart_ask(a, &q, 50, &reply, &err), -ETIMEDOUT);
	assert_int_equal(kill(was, 0), -1);
	assert_int_equal(ask(SAY, &reply), 0);
}

static void each_is_asked_the_first_question_first(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)state;
	assert_int_equal(phx_apart_first(a, REMEMBER, "k", 1), 0);
	assert_int_equal(ask(RECALL, &reply), 0);
	assert_int_equal(reply.number, 0);
	kill(phx_apart_pid(a), SIGKILL);
	phx_apart_reply_fini(&reply);
	assert_int_equal(ask(RECALL, &reply), 0);
	assert_int_equal(reply.number, 'k');
	/* who cannot begin is no use */
	assert_int_equal(phx_apart_first(a, REMEMBER, "-", 1), 0);
	kill(phx_apart_pid(a), SIGKILL);
	assert_int_equal(ask(RECALL, &reply), -EINVAL);
	assert_non_null(strstr(err.text, "the other process does not begin: "));
}

static void it_heeds_no_terminal_and_ends_with_us(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	pid_t pid = phx_apart_pid(a);
	(void)state;
	/* now it is past its beginning */
	assert_int_equal(ask(SAY, &reply), 0);
	phx_apart_reply_fini(&reply);
	assert_int_equal(kill(pid, SIGINT) | kill(pid, SIGTERM) | kill(pid, SIGHUP), 0);
	assert_int_equal(ask(SAY, &reply), 0);
	assert_int_equal(phx_apart_pid(a), pid);
	phx_apart_end(PHX_TAKE(a));
	assert_int_equal(kill(pid, 0), -1);
}

static void a_program_that_is_not_there_is_named(void **state)
{
	static const char *const argv[] = {"/nonexistent/program", NULL};
	const struct phx_apart_config config = {.what = "the other process", .argv = argv};
	struct phx_apart *none = NULL;
	(void)state;
	assert_int_equal(phx_apart_start(&config, &none, &err), -ENOENT);
	assert_non_null(strstr(err.text, "the other process: /nonexistent/program: "));
	assert_null(none);
}

/* ---- one that somebody else starts ---- */

static int n_started;

/* As another process would, which hands over the socket and the number. */
static int start_other(void *arg, int *ret_fd, pid_t *ret_pid, struct phx_err *why)
{
	static const char *const argv[] = {"/proc/self/exe", "--other", NULL};
	const struct phx_launch how = {.argv = argv};
	struct phx_process *p = arg;
	int r = phx_apart_spawn(&how, "the other process", p, ret_fd, why);
	n_started++;
	*ret_pid = p->pid;
	return r;
}

static void end_other(struct phx_process *p)
{
	kill(p->pid, SIGKILL);
	phx_process_status(p->pidfd);
	close(p->pidfd);
}

static void one_that_somebody_else_starts_is_started_by_him_again(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_process p;
	const struct phx_apart_config config = {.what = "the other process",
						.start = start_other,
						.start_arg = &p,
						.answer_ms = ANSWER_MS,
						.body_max = BODY_MAX};
	(void)state;
	phx_apart_end(PHX_TAKE(a));
	n_started = 0;
	assert_int_equal(phx_apart_start(&config, &a, &err), 0);
	assert_int_equal(ask(SAY, &reply), 0);
	phx_apart_reply_fini(&reply);
	assert_int_equal(phx_apart_pid(a), p.pid);
	end_other(&p);
	assert_int_equal(ask(SAY, &reply), 0);
	assert_int_equal(phx_apart_pid(a), p.pid);
	assert_int_equal(n_started, 2);
	end_other(&p);
}

static void one_that_was_taken_is_not_started_again(void **state)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_process p;
	const struct phx_apart_config config = {
		.what = "the other process", .answer_ms = ANSWER_MS, .body_max = BODY_MAX};
	int fd;
	(void)state;
	phx_apart_end(PHX_TAKE(a));
	assert_int_equal(start_other(&p, &fd, &p.pid, &err), 0);
	assert_int_equal(phx_apart_take(&config, fd, &a), 0);
	assert_int_equal(ask(SAY, &reply), 0);
	phx_apart_reply_fini(&reply);
	end_other(&p);
	assert_int_equal(ask(SAY, &reply), -EPIPE);
	assert_string_equal(err.text,
			    "the other process does not answer: the other process has ended");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--other"))
		return be_the_other();
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(questions_are_answered),
		TEST(as_much_as_may_be_and_no_more),
		TEST(descriptors_go_both_ways),
		TEST(many_are_under_way_at_once),
		TEST(an_end_between_questions_is_survived),
		TEST(questions_under_way_are_asked_again),
		TEST(one_that_ends_again_and_again_is_told),
		TEST(one_that_hangs_is_ended),
		TEST(each_is_asked_the_first_question_first),
		TEST(it_heeds_no_terminal_and_ends_with_us),
		TEST(a_program_that_is_not_there_is_named),
		TEST(one_that_somebody_else_starts_is_started_by_him_again),
		TEST(one_that_was_taken_is_not_started_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
