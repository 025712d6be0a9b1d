/* Bodies on their way in: taken, refused, spooled, cut, and a disk that is full. */
#include "unit/http/world.h"

#include <sched.h>
#include <sys/mount.h>

#define ANY (1u << PHX_HTTP_UNIX | 1u << PHX_HTTP_TLS | 1u << PHX_HTTP_PLAIN)

static void reply_alive(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_text(q, 200, "application/json", "{}");
}

static void reply_body(struct phx_http_request *q, void *arg)
{
	size_t n = 0;
	const char *body = phx_http_body(q, &n);
	(void)arg;
	json_t *j = json_pack("{s:I, s:s}", "n", (json_int_t)n, "first", n < 100 ? body : "long");
	phx_http_reply_json(q, 201, j);
	json_decref(j);
}

static void keep_upload(struct phx_http_request *q, void *arg)
{
	struct world *w = arg;
	const char *path = phx_http_body_path(q);
	char kept[96], hex[PHX_SHA256_HEX] = "";
	uint64_t size = 0;
	phx_sha256_file(path, hex, &size, NULL);
	if (phx_http_query(q, "keep"))
		rename(path, world_path(w, "kept", kept, sizeof(kept)));
	json_t *j = json_pack("{s:s, s:I}", "sha256", hex, "size", (json_int_t)size);
	phx_http_reply_json(q, 200, j);
	json_decref(j);
}

static const struct phx_http_route routes[] = {
	{"GET", "/v1/peer", ANY, reply_alive, 0, false, NULL},
	{"POST", "/v1/body", ANY, reply_body, 1000, false, NULL},
	{"PUT", "/v1/upload", ANY, keep_upload, 32 << 20, true, NULL},
};

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

static json_t *get_json(struct phx_http_client *c, const char *path)
{
	struct phx_err err = {0};
	json_t *j = NULL;
	int r = phx_http_call_json(c, "GET", path, NULL, 5000, &j, &err);
	if (r < 0)
		fail_msg("%s: %d %s", path, r, err.text);
	return j;
}

static void test_body(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	json_t *sent = json_pack("{s:s}", "a", "b"), *j = NULL;
	assert_int_equal(phx_http_call_json(c, "POST", "/v1/body", sent, 2000, &j, NULL), 0);
	assert_int_equal(phx_json_int(j, "n", 0), 9);
	assert_string_equal(phx_json_str(j, "first", ""), "{\"a\":\"b\"}");
	json_decref(j);
	json_decref(sent);
	phx_http_client_free(c);
}

static void too_large(struct phx_http_client *c, size_t n)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = malloc(n + 1);
	memset(text, 'x', n);
	text[n] = '\0';
	json_t *sent = json_string(text), *j = NULL;
	int r = phx_http_call_json(c, "POST", "/v1/body", sent, 5000, &j, &err);
	json_decref(sent);
	assert_int_equal(r, -EFBIG);
	assert_contains(err.text, "larger than 1000 bytes");
	assert_null(j);
}

static void test_body_too_large(void **state)
{
	struct world *w = *state;
	uint16_t port = phx_http_server_port(w->server, PHX_HTTP_PLAIN);
	struct phx_http_client *c = plain_client(w);
	too_large(c, 999); /* with the quotes: one too many */
	too_large(c, 100000);
	json_decref(get_json(c, "/v1/peer"));
	phx_http_client_free(c);
	/* one that says nothing of its length */
	struct phx_buf b = {0};
	phx_buf_addf(&b,
		     "POST /v1/body HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		     "Transfer-Encoding: chunked\r\n\r\n");
	/* more than a connection's memory */
	phx_buf_addf(&b, "64;%020000d\r\n%0100d\r\n0\r\n\r\n", 1, 1);
	char *text = raw_exchange(port, b.data, 2000);
	assert_contains(text, "HTTP/1.1 411 ");
	assert_contains(text, "must tell the length of its body");
	assert_contains(text, "application/json");
	free(text);
	phx_buf_fini(&b);
	/* one that says two things of it: what follows is no request of its own */
	static const char *const framings[] = {
		"Content-Length: 4\r\nContent-Length: 0",
		"Content-Length: 0\r\nContent-Length: 0",
		"Content-Length: 4\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: chunked\r\nContent-Length: 4",
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(framings); i++) {
		char request[400];
		snprintf(request, sizeof(request),
			 "POST /v1/body HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n0\r\n\r\n"
			 "GET /v1/peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			 framings[i]);
		text = raw_exchange(port, request, 2000);
		assert_contains(text, "HTTP/1.1 411 ");
		assert_null(strstr(strstr(text, "HTTP/1.1 411 ") + 1, "HTTP/1.1 "));
		free(text);
	}
	/* one that takes none */
	text = raw_exchange(port,
			    "GET /v1/peer HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: "
			    "close\r\n\r\nabc",
			    2000);
	assert_contains(text, "HTTP/1.1 413 ");
	assert_contains(text, "takes no body");
	free(text);
	/* one announced too long to be worth reading: answered at once, then closed */
	text = raw_exchange(
		port, "POST /v1/body HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
		1500);
	assert_contains(text, "HTTP/1.1 413 ");
	free(text);
}

static void test_endless_chunked_body_is_cut(void **state)
{
	struct world *w = *state;
	int fd = tcp_connect(phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	static const char head[] =
		"POST /v1/body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
	char chunk[4096 + 9];
	memcpy(chunk, "1000\r\n", 6);
	memset(chunk + 6, 'x', 4096);
	memcpy(chunk + 6 + 4096, "\r\n", 2);
	assert_int_equal(send(fd, head, strlen(head), MSG_NOSIGNAL), (ssize_t)strlen(head));
	size_t sent = 0;
	for (; sent < (64u << 20); sent += 4096)
		if (send(fd, chunk, 4096 + 8, MSG_NOSIGNAL) < 0)
			break;
	assert_true(sent < (32u << 20));
	close(fd);
}

static char *make_file(const struct world *w, size_t n, char path[96], char hex[PHX_SHA256_HEX])
{
	char *data = malloc(n);
	uint32_t x = 12345;
	for (size_t i = 0; i < n; i++)
		data[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
	world_path(w, "data", path, 96);
	assert_int_equal(phx_file_write(path, data, n, 0600, NULL), 0);
	assert_int_equal(phx_sha256_file(path, hex, NULL, NULL), 0);
	return data;
}

static bool dir_empty(const char *path)
{
	/* an empty directory can be removed */
	bool empty = rmdir(path) == 0;
	if (empty)
		assert_int_equal(mkdir(path, 0700), 0);
	return empty;
}

/* The spooled file goes when the request ends: a moment after the answer. */
static bool becomes_empty(const char *path)
{
	for (int i = 0; i < 100; i++) {
		if (dir_empty(path))
			return true;
		usleep(20000);
	}
	return false;
}

static void test_upload(void **state)
{
	struct world *w = *state;
	char path[96], hex[PHX_SHA256_HEX], kept[96];
	free(make_file(w, 5000000, path, hex));
	struct phx_http_client *clients[] = {unix_client(w), tls_client(w, w->cert, w->key)};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(clients); i++) {
		json_t *j = NULL;
		struct phx_err err = {0};
		int r = phx_http_upload(clients[i], "/v1/upload", path, &j, &err);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		assert_string_equal(phx_json_str(j, "sha256", ""), hex);
		assert_int_equal(phx_json_int(j, "size", 0), 5000000);
		json_decref(j);
		phx_http_client_free(clients[i]);
	}
	struct phx_http_client *c = plain_client(w);
	assert_true(becomes_empty(w->spool));
	assert_int_equal(phx_http_upload(c, "/v1/upload?keep", path, NULL, NULL), 0);
	assert_int_equal(access(world_path(w, "kept", kept, sizeof(kept)), F_OK), 0);
	assert_true(becomes_empty(w->spool));
	phx_http_client_free(c);
}

static void test_upload_refused(void **state)
{
	struct world *w = *state;
	char path[96], hex[PHX_SHA256_HEX];
	struct phx_err err = {0};
	free(make_file(w, (32 << 20) + 1, path, hex));
	struct phx_http_client *c = plain_client(w);
	assert_int_equal(phx_http_upload(c, "/v1/upload", path, NULL, &err), -EFBIG);
	assert_contains(err.text, "larger than 33554432 bytes");
	phx_err_clear(&err);
	assert_int_equal(phx_http_upload(c, "/v1/nowhere", path, NULL, &err), -ENOENT);
	phx_err_clear(&err);
	assert_int_equal(phx_http_upload(c, "/v1/upload", "/nonexistent", NULL, &err), -ENOENT);
	assert_contains(err.text, "/nonexistent");
	phx_err_clear(&err);
	assert_int_equal(phx_http_upload(c, "/v1/upload", w->dir, NULL, &err), -EINVAL);
	assert_contains(err.text, "not a regular file");
	assert_true(becomes_empty(w->spool));
	assert_int_equal(rmdir(w->spool), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_http_upload(c, "/v1/upload", w->ca, NULL, &err), -ENOENT);
	assert_contains(err.text, "cannot be stored");
	assert_int_equal(mkdir(w->spool, 0700), 0);
	phx_http_client_free(c);
}

static void test_upload_cut(void **state)
{
	struct world *w = *state;
	int fd = tcp_connect(phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	static const char head[] =
		"PUT /v1/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc";
	assert_int_equal(send(fd, head, strlen(head), MSG_NOSIGNAL), (ssize_t)strlen(head));
	usleep(100000);
	assert_false(dir_empty(w->spool));
	close(fd);
	assert_true(becomes_empty(w->spool));
}

static bool own_mounts; /* this test's mounts are its own */

static void test_upload_disk_full(void **state)
{
	struct world *w = *state;
	char path[96], hex[PHX_SHA256_HEX];
	struct phx_err err = {0};
	if (!own_mounts || mount("none", w->spool, "tmpfs", 0, "size=1m") < 0)
		skip();
	free(make_file(w, 5000000, path, hex));
	struct phx_http_client *c = plain_client(w);
	int r = phx_http_upload(c, "/v1/upload", path, NULL, &err);
	assert_int_equal(umount2(w->spool, MNT_DETACH), 0);
	assert_int_equal(r, -ENOSPC);
	assert_contains(err.text, "cannot be stored: No space left on device");
	phx_http_client_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_body_too_large),
		cmocka_unit_test(test_endless_chunked_body_is_cut),
		cmocka_unit_test(test_upload),
		cmocka_unit_test(test_upload_refused),
		cmocka_unit_test(test_upload_cut),
		cmocka_unit_test(test_upload_disk_full),
	};
	own_mounts =
		unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return cmocka_run_group_tests(tests, setup, teardown);
}
