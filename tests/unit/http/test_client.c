/* The client against servers that are not ours, against nobody, and badly configured. */
#include "unit/http/world.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#define SINK_MAX 100

static void reply_ten(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_text(q, 200, "text/plain", "0123456789");
}

static const struct phx_http_route routes[] = {{"GET", "/files/ten", 7, reply_ten, 0, false, NULL}};

static int setup(void **state)
{
	*state = world_new(routes, PHX_ARRAY_SIZE(routes), NULL);
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

struct sunk {
	char data[SINK_MAX];
	size_t n;
};

static int sink(void *arg, const void *data, size_t n, struct phx_err *err)
{
	struct sunk *s = arg;
	(void)err;
	assert_true(s->n + n <= sizeof(s->data));
	memcpy(s->data + s->n, data, n);
	s->n += n;
	return 0;
}

/* ---- servers that are not ours ---- */

/* A server on loopback that gives each connection the next of its answers and closes. */
struct fake_server {
	const char *const *answers; /* the last one again and again */
	size_t n_answers, n;
	size_t zeros_after; /* bytes more of the last answer's body */
	int listen_fd;
	char url[64];
	char request[4096]; /* the last one */
	atomic_bool stop;
	pthread_t thread;
};

static void serve(struct fake_server *f, int fd)
{
	static const char zeros[65536];
	const char *answer = f->answers[f->n < f->n_answers ? f->n : f->n_answers - 1];
	ssize_t n = recv(fd, f->request, sizeof(f->request) - 1, 0);
	f->request[n > 0 ? n : 0] = '\0';
	f->n++;
	ssize_t sent = send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	for (size_t left = f->zeros_after; left && sent > 0; left -= (size_t)sent)
		sent = send(fd, zeros, left < sizeof(zeros) ? left : sizeof(zeros), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	recv(fd, (char[16]){0}, 16, 0); /* not a reset while the client still reads */
	close(fd);
}

static void *run_server(void *arg)
{
	struct fake_server *f = arg;
	while (!f->stop) {
		struct pollfd p = {.fd = f->listen_fd, .events = POLLIN};
		int fd = poll(&p, 1, 50) > 0 ? accept(f->listen_fd, NULL, NULL) : -1;
		if (fd >= 0)
			serve(f, fd);
	}
	return NULL;
}

static void start_server(struct fake_server *f)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t n = sizeof(sa);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listen_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(f->listen_fd, 16), 0);
	assert_int_equal(getsockname(f->listen_fd, (struct sockaddr *)&sa, &n), 0);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u", ntohs(sa.sin_port));
	assert_int_equal(pthread_create(&f->thread, NULL, run_server, f), 0);
}

static void stop_server(struct fake_server *f)
{
	f->stop = true;
	pthread_join(f->thread, NULL);
	close(f->listen_fd);
}

#define OK(headers, body) "HTTP/1.1 200 OK\r\n" headers "\r\n" body
#define PART(headers, body) "HTTP/1.1 206 Partial Content\r\n" headers "\r\n" body

static void test_odd_servers_resumed(void **state)
{
	static const struct {
		const char *answers[2];
		int r;
		const char *got;
	} rows[] = {
		/* Range ignored, same file: what is known is skipped */
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123456789")},
		 0,
		 "0123456789"},
		{{OK("Content-Length: 10\r\netag:\"a\"\r\n", "0123"),
		  PART("Content-Length: 6\r\nETAG:  \"a\" \r\ncontent-range: bytes 4-9/10\r\n",
		       "456789")},
		 0,
		 "0123456789"},
		/* another range than asked for, or none said */
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  PART("Content-Length: 7\r\nETag: \"a\"\r\nContent-Range: bytes 3-9/10\r\n",
		       "3456789")},
		 -EPROTO,
		 "0123"},
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  PART("Content-Length: 6\r\nETag: \"a\"\r\n", "456789")},
		 -EPROTO,
		 "0123"},
		/* another file, or one that no longer says which */
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  PART("Content-Length: 6\r\nETag: \"b\"\r\nContent-Range: bytes 4-9/10\r\n",
		       "456789")},
		 -ESTALE,
		 "0123"},
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  PART("Content-Length: 6\r\nContent-Range: bytes 4-9/10\r\n", "456789")},
		 -ESTALE,
		 "0123"},
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  OK("Content-Length: 2\r\nETag: \"a\"\r\n", "01")},
		 -ESTALE,
		 "0123"},
		/* nothing to tell the file by: not resumed */
		{{OK("Content-Length: 10\r\n", "0123"), OK("Content-Length: 10\r\n", "0123456789")},
		 -ECONNRESET,
		 "0123"},
		{{OK("Content-Length: 10\r\nETag: \"a\"\r\n", "0123"),
		  "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
		 -ENOENT,
		 "0123"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct fake_server f = {.answers = rows[i].answers, .n_answers = 2};
		struct sunk s = {0};
		start_server(&f);
		struct phx_http_client *c =
			client_of(&(struct phx_http_client_config){.base_url = f.url});
		int r = phx_http_fetch(c, "/x", sink, &s, NULL, NULL);
		phx_http_client_free(c);
		stop_server(&f);
		if (r != rows[i].r || s.n != strlen(rows[i].got) ||
		    memcmp(s.data, rows[i].got, s.n))
			fail_msg("row %zu: %d, %zu bytes", i, r, s.n);
	}
}

static void test_login_and_no_redirect(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"};
	struct fake_server f = {.answers = answers, .n_answers = 1};
	struct phx_http_response res = {0};
	struct phx_err err = {0};
	(void)state;
	start_server(&f);
	struct phx_http_client *c = client_of(&(struct phx_http_client_config){
		.base_url = f.url, .user = "admin", .password = "secret"});
	assert_int_equal(phx_http_call(c, "GET", "/redfish/v1", NULL, 3000, &res, NULL), 0);
	assert_int_equal(res.status, 302);
	phx_http_response_fini(&res);
	assert_int_equal(phx_http_call_json(c, "GET", "/redfish/v1", NULL, 3000, NULL, &err), -EIO);
	assert_contains(err.text, "/redfish/v1: status 302");
	phx_http_client_free(c);
	stop_server(&f);
	assert_contains(f.request, "Authorization: Basic YWRtaW46c2VjcmV0\r\n");
	assert_int_equal(f.n, 2);
}

static void test_answer_too_large(void **state)
{
	static const char *const answers[] = {OK("Content-Length: 67108865\r\n", "")};
	struct fake_server f = {.answers = answers, .n_answers = 1, .zeros_after = (64u << 20) + 1};
	struct phx_http_response res = {0};
	struct phx_err err = {0};
	(void)state;
	start_server(&f);
	struct phx_http_client *c = client_of(&(struct phx_http_client_config){.base_url = f.url});
	assert_int_equal(phx_http_call(c, "GET", "/big", NULL, 20000, &res, &err), -EFBIG);
	assert_contains(err.text, "larger than 67108864 bytes");
	assert_null(res.body);
	phx_http_client_free(c);
	stop_server(&f);
}

/* ---- the client's own errors ---- */

static int call_at(const struct phx_http_client_config *config, uint32_t timeout_ms,
		   struct phx_err *err)
{
	struct phx_http_client *c = client_of(config);
	struct phx_http_response res = {0};
	int r = phx_http_call(c, "GET", "/files/ten", NULL, timeout_ms, &res, err);
	phx_http_response_fini(&res);
	phx_http_client_free(c);
	return r;
}

static void test_nobody_there(void **state)
{
	const struct world *w = *state;
	struct phx_err err = {0};
	char path[96], url[64];
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t n = sizeof(sa);
	world_path(w, "none.sock", path, sizeof(path));
	assert_int_equal(call_at(&(struct phx_http_client_config){.unix_path = path,
								  .base_url = "http://unix"},
				 1000, &err),
			 -ECONNREFUSED);
	assert_contains(err.text, "none.sock");
	phx_err_clear(&err);
	/* a port that is bound but not served */
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(sa.sin_port));
	assert_int_equal(call_at(&(struct phx_http_client_config){.base_url = url}, 1000, &err),
			 -ECONNREFUSED);
	assert_contains(err.text, url);
	/* one that accepts and says nothing */
	phx_err_clear(&err);
	assert_int_equal(listen(fd, 4), 0);
	double begin = now_s();
	assert_int_equal(call_at(&(struct phx_http_client_config){.base_url = url}, 300, &err),
			 -ETIMEDOUT);
	assert_true(now_s() - begin < 2);
	close(fd);
}

/* What this machine's own routes refuse is no answer: -EACCES is a server's 403. */
static void test_no_way_there(void **state)
{
	const struct phx_http_client_config there = {.base_url = "http://10.8.0.1:9"};
	struct phx_err err = {0};
	int status;
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		bool alone = unshare((geteuid() ? CLONE_NEWUSER : 0) | CLONE_NEWNET) == 0 &&
			system("ip route add prohibit 10.8.0.0/16") == 0;
		_exit(alone ? -call_at(&there, 1000, &err) : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EHOSTUNREACH);
}

static void test_wrong_protocols(void **state)
{
	const struct world *w = *state;
	struct phx_err err = {0};
	char url[64];
	/* TLS to the plain port, plain to the TLS port */
	snprintf(url, sizeof(url), "https://127.0.0.1:%u",
		 phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	assert_int_equal(
		call_at(&(struct phx_http_client_config){.base_url = url, .ca_pem_path = w->ca},
			2000, &err),
		-EPROTO);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u",
		 phx_http_server_port(w->server, PHX_HTTP_TLS));
	assert_true(call_at(&(struct phx_http_client_config){.base_url = url}, 2000, NULL) < 0);
	/* files that are not there */
	phx_err_clear(&err);
	assert_int_equal(
		call_at(&(struct phx_http_client_config){.base_url = w->tls_url,
							 .ca_pem_path = "/nonexistent/ca.pem"},
			2000, &err),
		-EPROTO);
	assert_contains(err.text, "/nonexistent/ca.pem");
	phx_err_clear(&err);
	assert_int_equal(
		call_at(&(struct phx_http_client_config){.base_url = w->tls_url,
							 .ca_pem_path = w->ca,
							 .cert_pem_path = "/nonexistent/cert.pem",
							 .key_pem_path = w->key},
			2000, &err),
		-EPROTO);
	assert_contains(err.text, "/nonexistent/cert.pem");
}

static void test_bad_client_configuration(void **state)
{
	static const char *const bad[] = {NULL, "", "10.77.0.1:8443", "file:///etc/passwd",
					  "ftp://x"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		struct phx_http_client *c = (void *)&err;
		struct phx_http_client_config config = {.base_url = bad[i]};
		assert_int_equal(phx_http_client_new(&config, &c, &err), -EINVAL);
		assert_ptr_equal(c, &err);
		assert_contains(err.text, "is no address");
	}
	phx_http_client_free(NULL);
	struct phx_err err = {0};
	struct phx_http_client *c = plain_client(*state);
	struct phx_http_response res = {0};
	assert_int_equal(phx_http_call(c, "GET", "no-slash", NULL, 100, &res, &err), -EINVAL);
	assert_contains(err.text, "begins with '/'");
	phx_http_client_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_servers_resumed),
		cmocka_unit_test(test_login_and_no_redirect),
		cmocka_unit_test(test_answer_too_large),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_no_way_there),
		cmocka_unit_test(test_wrong_protocols),
		cmocka_unit_test(test_bad_client_configuration),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
