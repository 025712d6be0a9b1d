/* Health checks against a real little server on loopback, and the verdict over time. */
#include "unit/agent/scratch.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "agent/health.h"

/* Answers every request with `status`; closed by closing its socket. */
struct server {
	int fd;
	uint16_t port;
	atomic_int status;
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	for (int fd; (fd = accept(s->fd, NULL, NULL)) >= 0; close(fd)) {
		char request[1024], answer[128];
		if (read(fd, request, sizeof(request)) <= 0)
			continue;
		int n = snprintf(
			answer, sizeof(answer),
			"HTTP/1.1 %d X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
			atomic_load(&s->status));
		(void)!write(fd, answer, (size_t)n);
	}
	return NULL;
}

static void server_start(struct server *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(a);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->fd, 16), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
	s->port = ntohs(a.sin_port);
	atomic_store(&s->status, 200);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static struct phx_role role_with(enum phx_health_kind kind, const char *fmt, uint16_t port)
{
	struct phx_role role = {0};
	role.health = (struct phx_health){
		.kind = (int)kind, .interval_s = 1, .timeout_s = 1, .failures = 2};
	snprintf(role.health.target, sizeof(role.health.target), fmt, port);
	return role;
}

static void test_http(void **state)
{
	(void)state;
	struct server s;
	struct phx_err err = {0};
	server_start(&s);
	struct phx_role role = role_with(PHX_HEALTH_HTTP, "http://127.0.0.1:%d/health", s.port);
	assert_int_equal(health_check(&role, "/none", &err), 0);
	atomic_store(&s.status, 503);
	assert_int_equal(health_check(&role, "/none", &err), -EIO);
	assert_non_null(strstr(err.text, "status 503"));
	server_stop(&s);
	phx_err_clear(&err);
	assert_true(health_check(&role, "/none", &err) < 0);
	assert_true(err.text[0]);
	PHX_STR_SET(role.health.target, "no url");
	assert_int_equal(health_check(&role, "/none", NULL), -EINVAL);
}

static void test_tcp(void **state)
{
	(void)state;
	struct server s;
	struct phx_err err = {0};
	server_start(&s);
	struct phx_role role = role_with(PHX_HEALTH_TCP, "127.0.0.1:%d", s.port);
	assert_int_equal(health_check(&role, "/none", &err), 0);
	server_stop(&s);
	assert_int_equal(health_check(&role, "/none", &err), -ECONNREFUSED);
	assert_non_null(strstr(err.text, "127.0.0.1:"));
	PHX_STR_SET(role.health.target, "127.0.0.1");
	assert_int_equal(health_check(&role, "/none", NULL), -EINVAL);
	PHX_STR_SET(role.health.target, "not.numeric:80");
	assert_int_equal(health_check(&role, "/none", NULL), -EINVAL);
}

static void test_exec(void **state)
{
	const struct scratch *s = *state;
	struct phx_err err = {0};
	struct phx_role role = role_with(PHX_HEALTH_EXEC, "", 0);
	assert_int_equal(health_check(&role, s->dir, &err), -EINVAL); /* no program */
	phx_err_clear(&err);
	struct phx_package_ref *p = phx_list_push(&role.packages, sizeof(*p));
	PHX_STR_SET(p->name, "tool");
	PHX_STR_SET(p->version, "1");
	assert_int_equal(phx_dir_make(scratch_path(s, "tool/1/bin"), 0755, NULL), 0);
	write_text(scratch_path(s, "tool/1/bin/check"),
		   "#!/bin/sh\n[ \"$1\" = good ] || { echo bad day >&2; exit 1; }\n", 0755);
	add_word(&role.health.argv, "bin/check"); /* inside the package */
	add_word(&role.health.argv, "good");
	assert_int_equal(health_check(&role, s->dir, &err), 0);
	PHX_STR_SET(PHX_LIST_AT(&role.health.argv, struct phx_word, 1)->text, "bad");
	assert_int_equal(health_check(&role, s->dir, &err), -EIO);
	assert_non_null(strstr(err.text, "bad day"));
	PHX_STR_SET(PHX_LIST_AT(&role.health.argv, struct phx_word, 0)->text, "sleep");
	PHX_STR_SET(PHX_LIST_AT(&role.health.argv, struct phx_word, 1)->text, "20");
	assert_int_equal(health_check(&role, s->dir, NULL), -ETIMEDOUT);
	phx_record_fini(&phx_role_record, &role);
}

static void test_none(void **state)
{
	(void)state;
	struct phx_role role = {0};
	assert_int_equal(health_check(&role, "/none", NULL), 0);
}

static void test_verdict(void **state)
{
	(void)state;
	struct server s;
	struct health *h;
	struct loop *loop = loop_started();
	char text[160];
	server_start(&s);
	struct phx_role role = role_with(PHX_HEALTH_HTTP, "http://127.0.0.1:%d/", s.port);
	assert_int_equal(health_new(loop, "/none", &h, NULL), 0);
	assert_true(health_ok(h, text, sizeof(text))); /* nothing to check */
	atomic_store(&s.status, 500);
	assert_int_equal(health_watch(h, &role, NULL), 0);
	assert_false(health_ok(h, text, sizeof(text))); /* not known to be healthy */
	atomic_store(&s.status, 200);
	WAIT_FOR(health_ok(h, text, sizeof(text))); /* one success is enough */
	atomic_store(&s.status, 500);
	WAIT_FOR(({
		bool ok = health_ok(h, text, sizeof(text));
		text[0] && ok;
	})); /* one failure is not */
	WAIT_FOR(!health_ok(h, text, sizeof(text)));
	assert_non_null(strstr(text, "status 500"));
	health_passed(h);
	assert_true(health_ok(h, text, sizeof(text)));
	assert_int_equal(health_watch(h, NULL, NULL), 0);
	assert_true(health_ok(h, text, sizeof(text)));
	health_free(h);
	loop_free(loop);
	server_stop(&s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {TEST(test_http), TEST(test_tcp), TEST(test_exec),
					   TEST(test_none), TEST(test_verdict)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
