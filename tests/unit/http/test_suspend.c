/* Requests left open: answered from another thread, at once, late, after the client left;
 * and the server's start and end around them. */
#include "unit/http/world.h"

#define ANY (1u << PHX_HTTP_UNIX | 1u << PHX_HTTP_TLS | 1u << PHX_HTTP_PLAIN)

/* The daemon's part: requests waiting for an event. */
static struct {
	pthread_mutex_t lock;
	struct phx_http_request *waiting[4096];
	int n;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void wait_for_event(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_suspend(q);
	pthread_mutex_lock(&desk.lock);
	desk.waiting[desk.n++] = q;
	pthread_mutex_unlock(&desk.lock);
}

/* The other order: handed over before it is suspended, so that the answer may come first. */
static void hand_over_first(struct phx_http_request *q, void *arg)
{
	(void)arg;
	pthread_mutex_lock(&desk.lock);
	desk.waiting[desk.n++] = q;
	pthread_mutex_unlock(&desk.lock);
	if (phx_http_query(q, "slow"))
		usleep(50000);
	phx_http_suspend(q);
}

static void answer_at_once(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_suspend(q);
	phx_http_reply_text(q, 200, "text/plain", "at once");
}

static void slow_handler(struct phx_http_request *q, void *arg)
{
	(void)arg;
	usleep(300000);
	phx_http_reply_text(q, 200, "text/plain", "done");
}

static const struct phx_http_route routes[] = {
	{"GET", "/wait", ANY, wait_for_event, 0, false, NULL},
	{"POST", "/wait", ANY, wait_for_event, 100000, false, NULL},
	{"GET", "/first", ANY, hand_over_first, 0, false, NULL},
	{"GET", "/at-once", ANY, answer_at_once, 0, false, NULL},
	{"GET", "/slow", ANY, slow_handler, 0, false, NULL},
};

static int waiting(void)
{
	pthread_mutex_lock(&desk.lock);
	int n = desk.n;
	pthread_mutex_unlock(&desk.lock);
	return n;
}

static void wait_until(int n)
{
	for (int i = 0; i < 500 && waiting() < n; i++)
		usleep(10000);
	assert_true(waiting() >= n);
}

static void answer_all(const char *text)
{
	pthread_mutex_lock(&desk.lock);
	while (desk.n)
		phx_http_reply_text(desk.waiting[--desk.n], 200, "text/plain", text);
	pthread_mutex_unlock(&desk.lock);
}

static int setup(void **state)
{
	struct phx_http_server_config config = {.idle_timeout_s = 1};
	*state = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	return 0;
}

static int teardown(void **state)
{
	answer_all("end");
	world_free(*state);
	return 0;
}

struct call {
	struct phx_http_client *c;
	const char *method, *path;
	uint32_t timeout_ms;
	int r;
	char body[64];
	pthread_t thread;
	long status;
};

static void *make_call(void *arg)
{
	struct call *call = arg;
	struct phx_http_response res = {0};
	bool posts = !strcmp(call->method, "POST");
	json_t *json = posts ? json_pack("{s:s}", "a", "b") : NULL;
	call->r = (posts ? phx_http_call_brief : phx_http_call)(call->c, call->method, call->path,
								json, call->timeout_ms, &res, NULL);
	call->status = res.status;
	if (call->r == 0 && res.body)
		PHX_STR_SET(call->body, res.body);
	phx_http_response_fini(&res);
	json_decref(json);
	return NULL;
}

static void start_call(struct call *call)
{
	assert_int_equal(pthread_create(&call->thread, NULL, make_call, call), 0);
}

static void end_call(struct call *call)
{
	pthread_join(call->thread, NULL);
	phx_http_client_free(call->c);
}

static struct phx_http_client *client_via(const struct world *w, int via)
{
	return via == 0    ? unix_client(w)
		: via == 1 ? tls_client(w, w->cert, w->key)
			   : plain_client(w);
}

/* Longer than the idle timeout: a suspended connection is not idle. */
static void test_long_poll_on_every_listener(void **state)
{
	struct call calls[3];
	for (int via = 0; via < 3; via++) {
		calls[via] = (struct call){client_via(*state, via),
					   via ? "GET" : "POST",
					   "/wait",
					   10000,
					   -1,
					   "",
					   0,
					   0};
		start_call(&calls[via]);
	}
	wait_until(3);
	usleep(1800000);
	answer_all("event");
	for (int via = 0; via < 3; via++) {
		end_call(&calls[via]);
		assert_int_equal(calls[via].r, 0);
		assert_string_equal(calls[via].body, "event");
	}
}

/* The same answer to all that wait, one of which has gone and one of which was answered already:
 * each hears once; one hears another answer. Who posts called for none where there are no news. */
static void test_one_answer_for_many(void **state)
{
	enum { MANY = 40 };
	static const char one[] = "[1]", other[] = "[2]";
	static struct call calls[MANY];
	for (int i = 0; i < MANY; i++) {
		calls[i] = (struct call){
			client_via(*state, i % 3), "POST", "/wait", i ? 10000 : 200, -1, "", 0, 0};
		calls[i].method = i % 3 ? "GET" : "POST";
		start_call(&calls[i]);
		wait_until(i + 1);
	}
	pthread_join(calls[0].thread, NULL);
	pthread_mutex_lock(&desk.lock);
	for (int i = 0; i < MANY; i++)
		phx_http_drop_body(desk.waiting[i]);
	phx_http_reply_text(desk.waiting[1], 200, "text/plain", "before");
	phx_http_reply_all(desk.waiting, 2, one);
	phx_http_reply_all(desk.waiting + 2, 1, other);
	phx_http_reply_all(desk.waiting + 3, MANY - 3, one);
	phx_http_reply_all(NULL, 0, one);
	desk.n = 0;
	pthread_mutex_unlock(&desk.lock);
	assert_int_equal(calls[0].r, -ETIMEDOUT);
	phx_http_client_free(calls[0].c);
	for (int i = 1; i < MANY; i++) {
		end_call(&calls[i]);
		assert_int_equal(calls[i].r, 0);
		bool brief = i % 3 == 0;
		assert_int_equal(calls[i].status, brief ? 204 : 200);
		assert_string_equal(calls[i].body,
				    brief            ? ""
					    : i == 1 ? "before"
					    : i == 2 ? other
						     : one);
	}
}

static void test_answers_before_and_during_suspension(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	for (int i = 0; i < 200; i++) {
		struct phx_http_response res = {0};
		assert_int_equal(phx_http_call(c, "GET", "/at-once", NULL, 2000, &res, NULL), 0);
		assert_string_equal(res.body, "at once");
		phx_http_response_fini(&res);
	}
	for (int i = 0; i < 200; i++) {
		struct call call = {c, "GET", i % 20 ? "/first" : "/first?slow", 5000, -1, "",
				    0, 0};
		start_call(&call);
		while (!waiting())
			continue;
		answer_all("early");
		pthread_join(call.thread, NULL);
		assert_int_equal(call.r, 0);
		assert_string_equal(call.body, "early");
	}
	phx_http_client_free(c);
}

static bool first_is_gone(void)
{
	pthread_mutex_lock(&desk.lock);
	bool gone = phx_http_gone(desk.waiting[0]);
	pthread_mutex_unlock(&desk.lock);
	return gone;
}

static void test_client_hangs_up_while_suspended(void **state)
{
	for (int via = 0; via < 3; via++) {
		struct call call = {client_via(*state, via), "GET", "/wait", 400, -1, "", 0, 0};
		start_call(&call);
		wait_until(1);
		assert_false(first_is_gone());
		end_call(&call); /* its timeout passes, it closes */
		assert_int_equal(call.r, -ETIMEDOUT);
		for (int i = 0; i < 100 && !first_is_gone(); i++)
			usleep(10000);
		assert_true(first_is_gone());
		answer_all("to nobody");
	}
	/* the server goes on */
	struct phx_http_client *c = plain_client(*state);
	struct phx_http_response res = {0};
	assert_int_equal(phx_http_call(c, "GET", "/at-once", NULL, 2000, &res, NULL), 0);
	phx_http_response_fini(&res);
	phx_http_client_free(c);
}

/* Hanging up and being answered at the same moment. */
static void test_hang_up_races_with_answer(void **state)
{
	struct world *w = *state;
	static const char text[] = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";
	for (int i = 0; i < 200; i++) {
		int fd = tcp_connect(phx_http_server_port(w->server, PHX_HTTP_PLAIN));
		assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
		while (!waiting())
			continue;
		if (i % 2)
			close(fd);
		answer_all("x");
		if (i % 2 == 0)
			close(fd);
	}
}

#define MANY 300

static void test_many_long_polls(void **state)
{
	struct world *w = *state;
	static const char text[] = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";
	int fds[MANY];
	char buf[1024];
	for (int i = 0; i < MANY; i++) {
		fds[i] = tcp_connect(phx_http_server_port(w->server, PHX_HTTP_PLAIN));
		assert_int_equal(send(fds[i], text, strlen(text), MSG_NOSIGNAL),
				 (ssize_t)strlen(text));
	}
	wait_until(MANY);
	answer_all("event");
	for (int i = 0; i < MANY; i++) {
		struct pollfd p = {.fd = fds[i], .events = POLLIN};
		assert_int_equal(poll(&p, 1, 5000), 1);
		ssize_t n = recv(fds[i], buf, sizeof(buf) - 1, 0);
		assert_true(n > 0);
		buf[n] = '\0';
		assert_contains(buf, "200 OK");
		close(fds[i]);
	}
}

/* ---- start and end ---- */

static int start_with(const struct phx_http_server_config *config, const char *part)
{
	struct phx_err err = {0};
	struct phx_http_server *s = (void *)&err;
	int r = phx_http_server_start(config, &s, &err);
	assert_ptr_equal(s, &err);
	assert_contains(err.text, part);
	return r;
}

static void test_bad_starts(void **state)
{
	struct world *w = *state;
	char path[200], file[96];
	uint16_t port = phx_http_server_port(w->server, PHX_HTTP_PLAIN);
	static const struct phx_http_route spool = {"PUT", "/x", ANY, answer_at_once,
						    10,    true, NULL};
	assert_int_equal(start_with(&(struct phx_http_server_config){.plain_address = "localhost"},
				    "not an IP"),
			 -EINVAL);
	assert_int_equal(start_with(&(struct phx_http_server_config){.plain_address = "127.0.0.1",
								     .plain_port = port},
				    "cannot listen on 127.0.0.1"),
			 -EADDRINUSE);
	assert_int_equal(
		start_with(&(struct phx_http_server_config){.plain_address = "198.51.100.1"},
			   "cannot listen on 198.51.100.1"),
		-EADDRNOTAVAIL);
	assert_int_equal(start_with(&(struct phx_http_server_config){.tls_address = "127.0.0.1"},
				    "needs a server certificate"),
			 -EINVAL);
	assert_int_equal(start_with(&(struct phx_http_server_config){.unix_path = w->unix_path,
								     .unix_gid = getgid()},
				    "another program is serving it"),
			 -EADDRINUSE);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(
		start_with(&(struct phx_http_server_config){.unix_path = path}, "at most 107"),
		-ENAMETOOLONG);
	world_put(world_path(w, "file", file, sizeof(file)), "precious");
	assert_int_equal(
		start_with(&(struct phx_http_server_config){.unix_path = file}, "not a socket"),
		-EEXIST);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(
		start_with(&(struct phx_http_server_config){.routes = &spool, .n_routes = 1},
			   "no spool directory"),
		-EINVAL);
	/* a start that fails at its last listener leaves nothing of the first */
	world_path(w, "second.sock", path, 96);
	assert_int_equal(start_with(&(struct phx_http_server_config){.unix_path = path,
								     .unix_gid = getgid(),
								     .plain_address = "127.0.0.1",
								     .plain_port = port},
				    "cannot listen"),
			 -EADDRINUSE);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_stale_socket_and_spool(void **state)
{
	struct world *w = *state;
	char path[96], left[128], other[128];
	struct phx_http_server *s = NULL;
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	PHX_STR_SET(sa.sun_path, world_path(w, "stale.sock", path, sizeof(path)));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	snprintf(left, sizeof(left), "%s/phx-upload-abcdef", w->spool);
	snprintf(other, sizeof(other), "%s/other", w->spool);
	world_put(left, "x");
	world_put(other, "x");
	struct phx_http_server_config config = {
		.unix_path = path, .unix_gid = getgid(), .spool_dir = w->spool};
	assert_int_equal(phx_http_server_start(&config, &s, NULL), 0);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(unlink(other), 0);
	phx_http_server_free(s);
	assert_int_equal(access(path, F_OK), -1);
	phx_http_server_free(NULL);
}

static void test_group_of_socket(void **state)
{
	struct world *w = *state;
	struct phx_http_server *s = NULL;
	struct stat st;
	char path[96];
	if (getuid())
		skip();
	struct phx_http_server_config config = {
		.unix_path = world_path(w, "g.sock", path, sizeof(path)), .unix_gid = 12345};
	assert_int_equal(phx_http_server_start(&config, &s, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, 12345);
	phx_http_server_free(s);
}

static void test_end_waits_for_requests_under_way(void **state)
{
	struct world *w = *state;
	struct phx_http_server *s = NULL;
	struct phx_http_server_config config = {
		.routes = routes, .n_routes = PHX_ARRAY_SIZE(routes), .plain_address = "127.0.0.1"};
	char url[64];
	(void)w;
	assert_int_equal(phx_http_server_start(&config, &s, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", phx_http_server_port(s, PHX_HTTP_PLAIN));
	struct call call = {client_of(&(struct phx_http_client_config){.base_url = url}),
			    "GET",
			    "/slow",
			    5000,
			    -1,
			    "",
			    0,
			    0};
	start_call(&call);
	usleep(100000);
	double begin = now_s();
	phx_http_server_free(s);
	assert_true(now_s() - begin < 3);
	end_call(&call);
	assert_int_equal(call.r, 0);
	assert_string_equal(call.body, "done");
}

/* A program's bug (nobody answered) must not become an abort in libmicrohttpd. */
static void test_end_with_forgotten_request(void **state)
{
	struct phx_http_server *s = NULL;
	struct phx_http_server_config config = {
		.routes = routes, .n_routes = PHX_ARRAY_SIZE(routes), .plain_address = "127.0.0.1"};
	char url[64];
	(void)state;
	assert_int_equal(phx_http_server_start(&config, &s, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", phx_http_server_port(s, PHX_HTTP_PLAIN));
	struct call call = {client_of(&(struct phx_http_client_config){.base_url = url}),
			    "GET",
			    "/wait",
			    20000,
			    -1,
			    "",
			    0,
			    0};
	start_call(&call);
	wait_until(1);
	pthread_mutex_lock(&desk.lock);
	desk.n = 0; /* forgotten */
	pthread_mutex_unlock(&desk.lock);
	phx_http_server_free(s);
	end_call(&call);
	assert_true(call.r < 0);
}

static void test_several_threads(void **state)
{
	struct phx_http_server *s = NULL;
	struct phx_http_server_config config = {.routes = routes,
						.n_routes = PHX_ARRAY_SIZE(routes),
						.plain_address = "127.0.0.1",
						.threads = 4};
	char url[64];
	(void)state;
	assert_int_equal(phx_http_server_start(&config, &s, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", phx_http_server_port(s, PHX_HTTP_PLAIN));
	struct call calls[8];
	double begin = now_s();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(calls); i++) {
		calls[i] =
			(struct call){client_of(&(struct phx_http_client_config){.base_url = url}),
				      "GET",
				      i % 2 ? "/slow" : "/wait",
				      5000,
				      -1,
				      "",
				      0,
				      0};
		start_call(&calls[i]);
	}
	wait_until(4);
	answer_all("event");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(calls); i++) {
		end_call(&calls[i]);
		assert_int_equal(calls[i].r, 0);
		assert_string_equal(calls[i].body, i % 2 ? "done" : "event");
	}
	assert_true(now_s() - begin < 5);
	phx_http_server_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_poll_on_every_listener),
		cmocka_unit_test(test_one_answer_for_many),
		cmocka_unit_test(test_answers_before_and_during_suspension),
		cmocka_unit_test(test_client_hangs_up_while_suspended),
		cmocka_unit_test(test_hang_up_races_with_answer),
		cmocka_unit_test(test_many_long_polls),
		cmocka_unit_test(test_bad_starts),
		cmocka_unit_test(test_stale_socket_and_spool),
		cmocka_unit_test(test_group_of_socket),
		cmocka_unit_test(test_end_waits_for_requests_under_way),
		cmocka_unit_test(test_end_with_forgotten_request),
		cmocka_unit_test(test_several_threads),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
