/* What comes over the socket of a process that stands apart: messages arrive as they were sent,
 * descriptors with them, and what is none is refused without a trace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apart/internal.h"

enum { BODY_MAX = 100 };

static int pair[2];
static unsigned n_open;

static unsigned count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int setup(void **state)
{
	(void)state;
	n_open = count_open();
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

/* No descriptor stays behind, whatever happened. */
static int teardown(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return count_open() == n_open ? 0 : -1;
}

static void messages_arrive_as_they_were_sent(void **state)
{
	struct apart_message m = {.op = 3, .result = -7, .number = 1ull << 40, .n = 4}, got;
	struct apart_fds fds = {0};
	char *body = NULL;
	(void)state;
	PHX_STR_SET(m.name, "n1");
	for (int i = 0; i < 2; i++)
		assert_int_equal(apart_send(pair[0], &m, "a\0bc", NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(apart_receive(pair[1], 4, &got, &body, &fds), 0);
		assert_memory_equal(&got, &m, sizeof(m));
		assert_memory_equal(body, "a\0bc", 5);
		assert_int_equal(fds.n, 0);
		free(body);
	}
	close(pair[0]);
	pair[0] = -1;
	assert_int_equal(apart_receive(pair[1], 4, &got, &body, &fds), -EPIPE);
}

static void descriptors_go_along(void **state)
{
	struct apart_message m = {.op = 1}, got;
	struct apart_fds fds = {.n = APART_FDS}, got_fds = {0};
	char *body = NULL, byte = 0;
	int pipes[2];
	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	fds.fd[0] = pipes[0];
	fds.fd[1] = pipes[1];
	assert_int_equal(apart_send(pair[0], &m, "", &fds), 0);
	apart_fds_close(&fds);
	assert_int_equal(apart_receive(pair[1], 0, &got, &body, &got_fds), 0);
	assert_int_equal(got_fds.n, APART_FDS);
	assert_true(fcntl(got_fds.fd[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(got_fds.fd[1], "x", 1), 1);
	assert_int_equal(read(got_fds.fd[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	apart_fds_close(&got_fds);
	free(body);
}

/* Those that come with it are closed. */
static void refuse(const struct apart_message *m, int want)
{
	struct apart_fds fds = {.fd = {pair[0], pair[1]}, .n = 2}, got_fds = {0};
	struct apart_message got;
	char *body = NULL;
	assert_int_equal(apart_send(pair[0], m, "", &fds), 0);
	assert_int_equal(apart_receive(pair[1], BODY_MAX, &got, &body, &got_fds), want);
	assert_null(body);
	assert_int_equal(got_fds.n, 0);
}

static void what_is_no_message_is_refused(void **state)
{
	struct apart_message m = {0};
	(void)state;
	memset(m.name, 'x', sizeof(m.name));
	refuse(&m, -EPROTO);
	/* says that more follows than may */
	struct apart_message long_one = {.n = BODY_MAX + 1}, got;
	struct apart_fds fds = {0};
	char *body = NULL;
	assert_int_equal(send(pair[0], &long_one, sizeof(long_one), 0), sizeof(long_one));
	assert_int_equal(apart_receive(pair[1], BODY_MAX, &got, &body, &fds), -EPROTO);
	/* half a head, half a body */
	long_one.n = 10;
	assert_int_equal(send(pair[0], &long_one, sizeof(long_one), 0), sizeof(long_one));
	assert_int_equal(send(pair[0], "short", 5, 0), 5);
	shutdown(pair[0], SHUT_WR);
	assert_int_equal(apart_receive(pair[1], BODY_MAX, &got, &body, &fds), -EPIPE);
	assert_null(body);
}

static int never(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		 struct phx_err *err)
{
	(void)arg;
	(void)q;
	(void)ret;
	(void)err;
	fail_msg("what has no way back was answered");
	return 0;
}

static void a_question_without_a_way_back_is_none(void **state)
{
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = never};
	const struct apart_message m = {.op = 1};
	(void)state;
	assert_int_equal(apart_send(pair[0], &m, "", NULL), 0);
	assert_int_equal(phx_apart_serve_one(pair[1], &server), -EPROTO);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(messages_arrive_as_they_were_sent),
		TEST(descriptors_go_along),
		TEST(what_is_no_message_is_refused),
		TEST(a_question_without_a_way_back_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
