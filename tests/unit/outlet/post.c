/* Webhooks (lib/outlet/post.c): what is signed and how, which addresses are refused, and what each
 * kind of answer comes to. The server is a fake of this file's: a thread that reads one request
 * over a real socket and writes what the test wants. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "outlet/outlet.h"

#define BODY "{\"seq\":7,\"text\":\"n1\"}"
#define SECRET "0123456789abcdef0123"

static struct phx_err err;

static struct {
	int fd; /* that listens */
	pthread_t thread;
	const char *answer; /* NULL: none */
	bool endless;       /* the last part again and again */
	bool waits;         /* keeps the connection */
	char got[4096];
	unsigned n_connections;
} server;

static void *serve(void *arg)
{
	int c = accept(server.fd, NULL, NULL);
	size_t n = 0;
	(void)arg;
	if (c < 0)
		return NULL;
	server.n_connections++;
	while (!strstr(server.got, BODY)) {
		ssize_t more = read(c, server.got + n, sizeof(server.got) - n - 1);
		if (more <= 0)
			break;
		n += (size_t)more;
	}
	ssize_t sent =
		server.answer ? send(c, server.answer, strlen(server.answer), MSG_NOSIGNAL) : 0;
	while (server.endless && sent > 0)
		sent = send(c, "..........\r\n", 12, MSG_NOSIGNAL);
	if (server.waits)
		poll(&(struct pollfd){.fd = c, .events = POLLIN}, 1, 20000);
	close(c);
	return NULL;
}

static void begin(const char *answer, struct phx_webhook *ret)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	memset(&server, 0, sizeof(server));
	phx_err_clear(&err);
	server.answer = answer;
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(server.fd, 5), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&a, &n), 0);
	*ret = (struct phx_webhook){.name = "pager", .timeout_s = 20};
	snprintf(ret->url, sizeof(ret->url), "http://127.0.0.1:%u/it?x=1", ntohs(a.sin_port));
}

static void end(void)
{
	shutdown(server.fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.fd);
}

static int post(const struct phx_webhook *w, const char *secret)
{
	assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
	int r = phx_webhook_post(w, secret, 7, BODY, &err);
	end();
	return r;
}

static void a_good_answer_is_enough(void **state)
{
	struct phx_webhook w;
	(void)state;
	begin("HTTP/1.1 204 No Content\r\n\r\n", &w);
	assert_int_equal(post(&w, SECRET), 0);
	assert_ptr_equal(strstr(server.got, "POST /it?x=1 HTTP/1.1\r\n"), server.got);
	assert_non_null(strstr(server.got, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(server.got, "\r\nX-Phoenix-Event: 7\r\n"));
	assert_non_null(strstr(server.got, "\r\n\r\n" BODY));
	assert_null(strstr(server.got, "Expect"));
	/* what it is signed with is of the time that it names */
	const char *header = strstr(server.got, "X-Phoenix-Signature: t=");
	char want[PHX_SIGNATURE_MAX];
	assert_non_null(header);
	header += strlen("X-Phoenix-Signature: ");
	int64_t t = strtoll(header + 2, NULL, 10);
	assert_true(t > phx_wall_ms() / 1000 - 60 && t <= phx_wall_ms() / 1000);
	assert_int_equal(phx_webhook_sign(SECRET, t, BODY, want), 0);
	assert_memory_equal(header, want, strlen(want));
	begin("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &w);
	assert_int_equal(post(&w, ""), 0);
	assert_null(strstr(server.got, "X-Phoenix-Signature"));
}

/* printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef */
static void signatures_are_those_of_openssl(void **state)
{
	char got[PHX_SIGNATURE_MAX];
	(void)state;
	assert_int_equal(phx_webhook_sign("0123456789abcdef", 1700000000, "{\"a\":1}", got), 0);
	assert_string_equal(
		got,
		"t=1700000000,v1=9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23");
}

static void bad_answers_have_words(void **state)
{
	static const struct {
		const char *answer, *says;
		int code;
	} rows[] = {
		{"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n"
		 "Content-Length: 0\r\n\r\n",
		 "pager: it answers with a redirect (status 302), and none is followed", -EPROTO},
		{"HTTP/1.1 307 X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", "status 307",
		 -EPROTO},
		{"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n", "it answers with status 500",
		 -EPROTO},
		{"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", "it answers with status 404",
		 -EBADMSG},
		{"HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n", "status 400", -EBADMSG},
		{"HTTP/1.1 422 X\r\nContent-Length: 0\r\n\r\n", "status 422", -EBADMSG},
		{"HTTP/1.1 499 X\r\nContent-Length: 0\r\n\r\n", "status 499", -EBADMSG},
		/* these say "later" */
		{"HTTP/1.1 408 X\r\nContent-Length: 0\r\n\r\n", "status 408", -EPROTO},
		{"HTTP/1.1 425 X\r\nContent-Length: 0\r\n\r\n", "status 425", -EPROTO},
		{"HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n", "status 429", -EPROTO},
		{"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", "status 503", -EPROTO},
		{"", "pager: ", -EIO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "pager: ", -EIO},
		{"no HTTP\r\n\r\n", "pager: ", -EIO},
	};
	struct phx_webhook w;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		begin(rows[i].answer, &w);
		assert_int_equal(post(&w, ""), rows[i].code);
		assert_non_null(strstr(err.text, rows[i].says));
		assert_int_equal(server.n_connections, 1);
	}
}

static void endless_answers_are_cut(void **state)
{
	struct phx_webhook w;
	(void)state;
	begin("HTTP/1.1 200 OK\r\n\r\n", &w);
	server.endless = true;
	assert_int_equal(post(&w, ""), 0); /* its status is all that counts */
	begin("HTTP/1.1 500 X\r\n\r\n", &w);
	server.endless = true;
	assert_int_equal(post(&w, ""), -EPROTO);
	begin("HTTP/1.1 200 OK\r\nX: ", &w);
	server.endless = true; /* headers without an end */
	assert_int_not_equal(post(&w, ""), -ETIMEDOUT);
}

static void silence_is_cut(void **state)
{
	static const char *const answers[] = {NULL,
					      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n."};
	struct phx_webhook w;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(answers); i++) {
		int64_t begun = phx_clock_ms();
		begin(answers[i], &w);
		server.waits = true;
		w.timeout_s = 1;
		assert_int_equal(post(&w, ""), -ETIMEDOUT);
		assert_string_equal(err.text, "pager: no whole answer within 1 s");
		assert_true(phx_clock_ms() - begun < 15000);
	}
}

static bool is_metadata(const char *ip)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, ip, &v4.sin_addr) == 1)
		return phx_webhook_is_metadata((struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, ip, &v6.sin6_addr), 1);
	return phx_webhook_is_metadata((struct sockaddr *)&v6);
}

static void metadata_is_told_by_its_address(void **state)
{
	static const char *const refused[] = {
		"169.254.169.254",        "169.254.0.1",       "169.254.255.255",
		"100.100.100.200",        "fe80::1",           "febf::1",
		"::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::169.254.169.254",
		"fd00:ec2::254"};
	static const char *const fine[] = {"127.0.0.1",       "10.0.0.1", "169.253.1.1",
					   "169.255.1.1",     "::1",      "fd00:ec2::253",
					   "::ffff:10.0.0.1", "fec0::1",  "64:ff9b::10.0.0.1",
					   "2001:db8::1"};
	const struct sockaddr other = {.sa_family = AF_UNIX};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(refused); i++)
		assert_true(is_metadata(refused[i]));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fine); i++)
		assert_false(is_metadata(fine[i]));
	assert_true(phx_webhook_is_metadata(&other));
}

static void metadata_is_not_asked(void **state)
{
	static const char *const urls[] = {"http://169.254.169.254/latest/", "http://[fe80::1]/",
					   "http://[::ffff:169.254.169.254]/",
					   "http://2852039166/" /* the same address */};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(urls); i++) {
		struct phx_webhook w = {.name = "cloud", .timeout_s = 1};
		phx_err_clear(&err);
		PHX_STR_SET(w.url, urls[i]);
		assert_int_equal(phx_webhook_post(&w, "", 7, BODY, &err), -EPERM);
		assert_non_null(strstr(err.text, "link_local = true allows it"));
	}
}

static void other_protocols_are_none(void **state)
{
	struct phx_webhook w = {.name = "file", .url = "file:///etc/hostname", .timeout_s = 1};
	(void)state;
	phx_err_clear(&err);
	assert_int_equal(phx_webhook_post(&w, "", 7, BODY, &err), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_answer_is_enough),
		cmocka_unit_test(signatures_are_those_of_openssl),
		cmocka_unit_test(bad_answers_have_words),
		cmocka_unit_test(endless_answers_are_cut),
		cmocka_unit_test(silence_is_cut),
		cmocka_unit_test(metadata_is_told_by_its_address),
		cmocka_unit_test(metadata_is_not_asked),
		cmocka_unit_test(other_protocols_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
