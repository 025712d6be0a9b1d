/* Files: ranges and conditions on the wire, fetching with cuts, changes and stalls in
 * between, through a small proxy that misbehaves on purpose. */
#include "unit/http/world.h"

#include <stdatomic.h>

#define ANY (1u << PHX_HTTP_UNIX | 1u << PHX_HTTP_TLS | 1u << PHX_HTTP_PLAIN)
#define SIZE 3000000

static void reply_data(struct phx_http_request *q, void *arg)
{
	struct world *w = arg;
	char path[96];
	phx_http_reply_file(q, world_path(w, phx_http_param(q, 0), path, sizeof(path)),
			    phx_http_query(q, "etag"), NULL);
}

static void reply_refusal(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_error(q, -EACCES, "not for you");
}

static const struct phx_http_route routes[] = {
	{"GET", "/files/*", ANY, reply_data, 0, false, NULL},
	{"GET", "/refused", ANY, reply_refusal, 0, false, NULL},
};

static char *contents; /* of the file "data" */

static char *make_data(uint32_t seed, size_t n)
{
	char *data = malloc(n);
	for (size_t i = 0; i < n; i++)
		data[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
	return data;
}

static void put_data(const struct world *w, const char *name, const char *data, size_t n)
{
	char path[96];
	assert_int_equal(
		phx_file_write(world_path(w, name, path, sizeof(path)), data, n, 0600, NULL), 0);
}

static int setup(void **state)
{
	struct world *w = world_new(routes, PHX_ARRAY_SIZE(routes), NULL);
	contents = make_data(1, SIZE);
	put_data(w, "data", contents, SIZE);
	put_data(w, "ten", "0123456789", 10);
	put_data(w, "empty", "", 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	free(contents);
	world_free(*state);
	return 0;
}

/* ---- on the wire ---- */

static char *get_raw(const struct world *w, const char *method, const char *path,
		     const char *headers)
{
	char text[512];
	snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
		 method, path, headers);
	return raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN), text, 2000);
}

static void expect(const struct world *w, const char *headers, int status,
		   const char *content_range, const char *body)
{
	char status_line[32], range_line[96];
	char *text = get_raw(w, "GET", "/files/ten?etag=abc", headers);
	snprintf(status_line, sizeof(status_line), "HTTP/1.1 %d ", status);
	assert_contains(text, status_line);
	if (content_range) {
		snprintf(range_line, sizeof(range_line), "Content-Range: %s\r\n", content_range);
		assert_contains(text, range_line);
	} else {
		assert_null(strstr(text, "Content-Range"));
	}
	assert_contains(text, "ETag: \"abc\"\r\n");
	assert_string_equal(strstr(text, "\r\n\r\n") + 4, body);
	free(text);
}

static void test_ranges(void **state)
{
	const struct world *w = *state;
	expect(w, "", 200, NULL, "0123456789");
	expect(w, "Range: bytes=0-3\r\n", 206, "bytes 0-3/10", "0123");
	expect(w, "Range: bytes=4-\r\n", 206, "bytes 4-9/10", "456789");
	expect(w, "Range: bytes=-3\r\n", 206, "bytes 7-9/10", "789");
	expect(w, "Range: bytes=-30\r\n", 206, "bytes 0-9/10", "0123456789");
	expect(w, "Range: bytes=9-9\r\n", 206, "bytes 9-9/10", "9");
	expect(w, "Range: bytes=5-500\r\n", 206, "bytes 5-9/10", "56789");
	expect(w, "Range: bytes=10-\r\n", 416, "bytes */10", "");
	expect(w, "Range: bytes=-0\r\n", 416, "bytes */10", "");
	/* not understood: the whole */
	static const char *const odd[] = {"bytes=3-1",
					  "bytes=a-b",
					  "bytes=",
					  "bytes=-",
					  "bytes=1-2,4-5",
					  "lines=1-2",
					  "bytes=99999999999999999999-",
					  "bytes=1-2x",
					  "bytes=+1-2"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(odd); i++) {
		char header[64];
		snprintf(header, sizeof(header), "Range: %s\r\n", odd[i]);
		expect(w, header, 200, NULL, "0123456789");
	}
}

static void test_conditions(void **state)
{
	const struct world *w = *state;
	expect(w, "If-None-Match: \"abc\"\r\n", 304, NULL, "");
	expect(w, "If-None-Match: \"x\", \"abc\"\r\n", 304, NULL, "");
	expect(w, "If-None-Match: *\r\n", 304, NULL, "");
	expect(w, "If-None-Match: \"abcd\"\r\n", 200, NULL, "0123456789");
	expect(w, "If-None-Match: abc\r\n", 200, NULL, "0123456789");
	expect(w, "Range: bytes=2-3\r\nIf-Range: \"abc\"\r\n", 206, "bytes 2-3/10", "23");
	expect(w, "Range: bytes=2-3\r\nIf-Range: \"old\"\r\n", 200, NULL, "0123456789");
	expect(w, "Range: bytes=2-3\r\nIf-None-Match: \"abc\"\r\n", 304, NULL, "");
}

static void test_head_and_empty(void **state)
{
	const struct world *w = *state;
	char *text = get_raw(w, "HEAD", "/files/ten", "Range: bytes=0-1\r\n");
	assert_contains(text, "HTTP/1.1 200 ");
	assert_contains(text, "Content-Length: 10\r\n");
	assert_contains(text, "Accept-Ranges: bytes\r\n");
	assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	free(text);
	text = get_raw(w, "GET", "/files/empty", "");
	assert_contains(text, "HTTP/1.1 200 ");
	assert_contains(text, "Content-Length: 0\r\n");
	free(text);
	text = get_raw(w, "GET", "/files/empty", "Range: bytes=0-\r\n");
	assert_contains(text, "HTTP/1.1 416 ");
	free(text);
}

static void test_no_such_file(void **state)
{
	const struct world *w = *state;
	static const char *const paths[] = {"/files/none", "/files/spool" /* a directory */,
					    "/files/phxd.sock" /* a socket */};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(paths); i++) {
		char *text = get_raw(w, "GET", paths[i], "");
		assert_contains(text, "HTTP/1.1 404 ");
		assert_contains(text, "no such file");
		free(text);
	}
}

/* ---- fetch ---- */

struct sunk {
	char *data;
	size_t n, max;
	size_t fail_at; /* 0: never */
	unsigned sleep_us;
};

static int sink(void *arg, const void *data, size_t n, struct phx_err *err)
{
	struct sunk *s = arg;
	if (s->fail_at && s->n + n > s->fail_at)
		return phx_err_set(err, -ENOSPC, "the sink is full");
	assert_true(s->n + n <= s->max);
	memcpy(s->data + s->n, data, n);
	s->n += n;
	if (s->sleep_us)
		usleep(s->sleep_us);
	return 0;
}

static struct sunk new_sunk(void)
{
	return (struct sunk){.data = malloc(SIZE), .max = SIZE};
}

static void check_whole(struct sunk *s, uint64_t total)
{
	assert_int_equal(total, SIZE);
	assert_int_equal(s->n, SIZE);
	assert_memory_equal(s->data, contents, SIZE);
	free(s->data);
}

static void test_fetch_on_every_listener(void **state)
{
	const struct world *w = *state;
	struct phx_http_client *clients[] = {unix_client(w), tls_client(w, w->cert, w->key),
					     plain_client(w)};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(clients); i++) {
		struct sunk s = new_sunk();
		struct phx_err err = {0};
		uint64_t total = 0;
		int r = phx_http_fetch(clients[i], "/files/data", sink, &s, &total, &err);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		check_whole(&s, total);
		s = new_sunk();
		assert_int_equal(phx_http_fetch(clients[i], "/files/empty", sink, &s, &total, NULL),
				 0);
		assert_int_equal(total, 0);
		assert_int_equal(s.n, 0);
		free(s.data);
		phx_http_client_free(clients[i]);
	}
}

static void test_fetch_refused(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	struct sunk s = new_sunk();
	struct phx_err err = {0};
	uint64_t total = 7;
	assert_int_equal(phx_http_fetch(c, "/files/none", sink, &s, &total, &err), -ENOENT);
	assert_string_equal(err.text, "no such file");
	phx_err_clear(&err);
	assert_int_equal(phx_http_fetch(c, "/refused", sink, &s, &total, &err), -EACCES);
	assert_string_equal(err.text, "not for you");
	phx_err_clear(&err);
	s.fail_at = 1000000;
	assert_int_equal(phx_http_fetch(c, "/files/data", sink, &s, &total, &err), -ENOSPC);
	assert_string_equal(err.text, "the sink is full");
	assert_int_equal(total, 7);
	free(s.data);
	phx_http_client_free(c);
}

/* A proxy on loopback that passes on so many bytes of each answer and then cuts, or goes silent. */
struct fake_proxy {
	int listen_fd;
	uint16_t port, to;
	int cuts;         /* connections yet to be cut */
	size_t cut_after; /* bytes of an answer */
	bool silent;      /* stall rather than cut */
	int connections;
	void (*on_cut)(struct fake_proxy *p);
	const struct world *w;
	atomic_bool stop;
	pthread_t thread;
};

static ssize_t pass(int from, int to, size_t max)
{
	char chunk[16384];
	ssize_t n = recv(from, chunk, max < sizeof(chunk) ? max : sizeof(chunk), 0);
	return n > 0 ? send(to, chunk, (size_t)n, MSG_NOSIGNAL) : n;
}

static void proxy_connection(struct fake_proxy *p, int client)
{
	int server = tcp_connect(p->to);
	bool cut = p->cuts > 0;
	size_t left = cut ? p->cut_after : SIZE_MAX;
	p->connections++;
	while (left && !p->stop) {
		struct pollfd fds[] = {{.fd = client, .events = POLLIN},
				       {.fd = server, .events = POLLIN}};
		if (poll(fds, 2, 100) < 0)
			break;
		if (fds[0].revents && pass(client, server, SIZE_MAX) <= 0)
			break;
		ssize_t n = fds[1].revents ? pass(server, client, left) : 0;
		if (n < 0 || (n == 0 && fds[1].revents))
			break;
		left -= (size_t)n;
	}
	if (cut) {
		p->cuts--;
		if (p->on_cut)
			p->on_cut(p);
		for (int i = 0; p->silent && i < 140 && !p->stop; i++)
			usleep(100000);
	}
	close(server);
	close(client);
}

static void *run_proxy(void *arg)
{
	struct fake_proxy *p = arg;
	while (!p->stop) {
		struct pollfd fd = {.fd = p->listen_fd, .events = POLLIN};
		int client = poll(&fd, 1, 50) > 0 ? accept(p->listen_fd, NULL, NULL) : -1;
		if (client >= 0)
			proxy_connection(p, client);
	}
	return NULL;
}

static void start_proxy(struct fake_proxy *p, const struct world *w, uint16_t to)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t n = sizeof(sa);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->w = w;
	p->to = to;
	p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listen_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(p->listen_fd, 16), 0);
	assert_int_equal(getsockname(p->listen_fd, (struct sockaddr *)&sa, &n), 0);
	p->port = ntohs(sa.sin_port);
	assert_int_equal(pthread_create(&p->thread, NULL, run_proxy, p), 0);
}

static void stop_proxy(struct fake_proxy *p)
{
	p->stop = true;
	pthread_join(p->thread, NULL);
	close(p->listen_fd);
}

static int fetch_via(struct fake_proxy *p, const struct world *w, bool tls, struct sunk *s,
		     uint64_t *ret_total, struct phx_err *err)
{
	char url[64];
	snprintf(url, sizeof(url), "%s://127.0.0.1:%u", tls ? "https" : "http", p->port);
	struct phx_http_client *c = client_of(&(struct phx_http_client_config){
		.base_url = url, .ca_pem_path = tls ? w->ca : NULL});
	int r = phx_http_fetch(c, "/files/data", sink, s, ret_total, err);
	phx_http_client_free(c);
	return r;
}

static void test_resume_after_cuts(void **state)
{
	const struct world *w = *state;
	for (int tls = 0; tls < 2; tls++) {
		struct fake_proxy p = {.cuts = 5, .cut_after = 400000};
		struct sunk s = new_sunk();
		struct phx_err err = {0};
		uint64_t total = 0;
		start_proxy(&p, w,
			    phx_http_server_port(w->server, tls ? PHX_HTTP_TLS : PHX_HTTP_PLAIN));
		int r = fetch_via(&p, w, tls, &s, &total, &err);
		stop_proxy(&p);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		assert_int_equal(p.connections, 6);
		check_whole(&s, total);
	}
}

/* Cut in the middle of the headers, before a byte of the file. */
static void test_resume_from_nothing(void **state)
{
	const struct world *w = *state;
	struct fake_proxy p = {.cuts = 3, .cut_after = 40};
	struct sunk s = new_sunk();
	uint64_t total = 0;
	start_proxy(&p, w, phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	int r = fetch_via(&p, w, false, &s, &total, NULL);
	stop_proxy(&p);
	assert_int_equal(r, 0);
	check_whole(&s, total);
}

static void test_too_many_cuts(void **state)
{
	const struct world *w = *state;
	struct fake_proxy p = {.cuts = 6, .cut_after = 100000};
	struct sunk s = new_sunk();
	struct phx_err err = {0};
	uint64_t total = 7;
	start_proxy(&p, w, phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	int r = fetch_via(&p, w, false, &s, &total, &err);
	stop_proxy(&p);
	assert_int_equal(r, -ECONNRESET);
	assert_contains(err.text, "/files/data");
	assert_int_equal(total, 7);
	assert_int_equal(p.connections, 6);
	assert_memory_equal(s.data, contents, s.n); /* what came is right as far as it goes */
	free(s.data);
}

static void change_file(struct fake_proxy *p)
{
	char *other = make_data(2, SIZE);
	put_data(p->w, "data", other, SIZE);
	free(other);
}

static void test_file_changes_in_between(void **state)
{
	const struct world *w = *state;
	struct fake_proxy p = {.cuts = 1, .cut_after = 500000, .on_cut = change_file};
	struct sunk s = new_sunk();
	struct phx_err err = {0};
	uint64_t total = 0;
	start_proxy(&p, w, phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	int r = fetch_via(&p, w, false, &s, &total, &err);
	stop_proxy(&p);
	put_data(w, "data", contents, SIZE);
	assert_int_equal(r, -ESTALE);
	assert_contains(err.text, "changed on the server");
	assert_true(s.n < 500000); /* not a byte of the other file */
	assert_memory_equal(s.data, contents, s.n);
	free(s.data);
}

static void test_stalled_server_is_left(void **state)
{
	const struct world *w = *state;
	struct fake_proxy p = {.cuts = 1, .cut_after = 500000, .silent = true};
	struct sunk s = new_sunk();
	uint64_t total = 0;
	start_proxy(&p, w, phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	double begin = now_s();
	int r = fetch_via(&p, w, false, &s, &total, NULL);
	double took = now_s() - begin;
	stop_proxy(&p);
	assert_int_equal(r, 0);
	check_whole(&s, total);
	assert_true(took > 8 && took < 20);
}

/* An answer cut within its headers is no answer, though its status was good. */
static void test_cut_in_headers(void **state)
{
	const struct world *w = *state;
	for (size_t after = 1; after < 100; after += 14) {
		struct fake_proxy p = {.cuts = 10, .cut_after = after};
		struct phx_http_response res = {0};
		struct phx_err err = {0};
		char url[64];
		start_proxy(&p, w, phx_http_server_port(w->server, PHX_HTTP_PLAIN));
		snprintf(url, sizeof(url), "http://127.0.0.1:%u", p.port);
		struct phx_http_client *c =
			client_of(&(struct phx_http_client_config){.base_url = url});
		assert_int_equal(phx_http_call(c, "GET", "/files/data", NULL, 3000, &res, &err),
				 -ECONNRESET);
		assert_null(res.body);
		phx_http_client_free(c);
		stop_proxy(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_head_and_empty),
		cmocka_unit_test(test_no_such_file),
		cmocka_unit_test(test_fetch_on_every_listener),
		cmocka_unit_test(test_fetch_refused),
		cmocka_unit_test(test_resume_after_cuts),
		cmocka_unit_test(test_resume_from_nothing),
		cmocka_unit_test(test_too_many_cuts),
		cmocka_unit_test(test_file_changes_in_between),
		cmocka_unit_test(test_stalled_server_is_left),
		cmocka_unit_test(test_cut_in_headers),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
