/* A real server on loopback and real clients: listeners, peers, routes, bodies, errors. */
#include "unit/http/world.h"

#include <sched.h>
#include <sys/mount.h>

#define ANY (1u << PHX_HTTP_UNIX | 1u << PHX_HTTP_TLS | 1u << PHX_HTTP_PLAIN)
#define UNIX (1u << PHX_HTTP_UNIX)

static void reply_peer(struct phx_http_request *q, void *arg)
{
	const struct phx_http_peer *p = phx_http_peer(q);
	(void)arg;
	json_t *j = json_pack("{s:i, s:I, s:I, s:I, s:b, s:s, s:s, s:s, s:s}", "via", (int)p->via, "uid",
			      (json_int_t)p->uid, "gid", (json_int_t)p->gid, "pid", (json_int_t)p->pid, "has_cert",
			      p->has_cert, "kind", p->has_cert ? phx_enum_name(&phx_cert_kind_names, p->cert.kind) : "",
			      "name", p->cert.name, "fingerprint", p->cert.fingerprint, "address", p->address);
	phx_http_reply_json(q, 200, j);
	json_decref(j);
}

static void reply_params(struct phx_http_request *q, void *arg)
{
	const char *x = phx_http_query(q, "x"), *none = phx_http_query(q, "none");
	(void)arg;
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?}", "method", phx_http_method(q), "path", phx_http_path(q),
			      "p0", phx_http_param(q, 0), "p1", phx_http_param(q, 1), "x", x, "none", none);
	phx_http_reply_json(q, 200, j);
	json_decref(j);
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

static void reply_code(struct phx_http_request *q, void *arg)
{
	uint64_t code = 0;
	(void)arg;
	assert_int_equal(phx_u64_parse(phx_http_param(q, 0), 1, 4095, &code), 0);
	phx_http_reply_error(q, -(int)code, "because of this");
}

static void reply_nothing(struct phx_http_request *q, void *arg)
{
	(void)q, (void)arg;
}

static void reply_twice(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_text(q, 200, "text/plain", "first");
	phx_http_reply_text(q, 500, "text/plain", "second");
}

static void reply_no_content(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_json(q, 204, NULL);
}

static void reply_not_json(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_text(q, 200, "text/plain", "{\"a\": ");
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
	{ "GET", "/v1/peer", ANY, reply_peer, 0, false },
	{ "GET", "/v1/unix-only", UNIX, reply_peer, 0, false },
	{ "GET", "/v1/nodes/*", ANY, reply_params, 0, false },
	{ "DELETE", "/v1/nodes/*", ANY, reply_params, 0, false },
	{ "GET", "/v1/nodes/*/steps/*", ANY, reply_params, 0, false },
	{ "GET", "/files/**", ANY, reply_params, 0, false },
	{ "GET", "/", ANY, reply_params, 0, false },
	{ "POST", "/v1/body", ANY, reply_body, 1000, false },
	{ "POST", "/v1/error/*", ANY, reply_code, 0, false },
	{ "GET", "/v1/nothing", ANY, reply_nothing, 0, false },
	{ "GET", "/v1/twice", ANY, reply_twice, 0, false },
	{ "GET", "/v1/no-content", ANY, reply_no_content, 0, false },
	{ "GET", "/v1/not-json", ANY, reply_not_json, 0, false },
	{ "PUT", "/v1/upload", ANY, keep_upload, 32 << 20, true },
};

static int setup(void **state)
{
	struct phx_http_server_config config = { .idle_timeout_s = 2 };
	*state = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static json_t *get_json(struct phx_http_client *c, const char *path)
{
	struct phx_err err = { 0 };
	json_t *j = NULL;
	int r = phx_http_call_json(c, "GET", path, NULL, 5000, &j, &err);
	if (r < 0)
		fail_msg("%s: %d %s", path, r, err.text);
	return j;
}

/* GET that fails; the text must hold `part`. */
static void refused(struct phx_http_client *c, const char *method, const char *path, int code, const char *part)
{
	struct phx_err err = { 0 };
	json_t *j = (json_t *)&err;
	assert_int_equal(phx_http_call_json(c, method, path, NULL, 5000, &j, &err), code);
	assert_ptr_equal(j, &err);
	assert_contains(err.text, part);
}

/* ---- who asks ---- */

static void test_unix_peer(void **state)
{
	struct phx_http_client *c = unix_client(*state);
	json_t *j = get_json(c, "/v1/peer");
	assert_int_equal(phx_json_int(j, "via", -1), PHX_HTTP_UNIX);
	assert_int_equal(phx_json_int(j, "uid", -1), getuid());
	assert_int_equal(phx_json_int(j, "gid", -1), getgid());
	assert_int_equal(phx_json_int(j, "pid", -1), getpid());
	assert_false(phx_json_bool(j, "has_cert", true));
	json_decref(j);
	phx_http_client_free(c);
}

static void test_unix_socket_mode(void **state)
{
	const struct world *w = *state;
	struct stat st;
	assert_int_equal(stat(w->unix_path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0660);
}

static void test_plain_peer(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	json_t *j = get_json(c, "/v1/peer");
	assert_int_equal(phx_json_int(j, "via", -1), PHX_HTTP_PLAIN);
	assert_int_equal(phx_json_int(j, "uid", 0), (uid_t)-1);
	assert_string_equal(phx_json_str(j, "address", ""), "127.0.0.1");
	json_decref(j);
	phx_http_client_free(c);
}

static void test_tls_peer(void **state)
{
	const struct world *w = *state;
	struct phx_http_client *c = tls_client(w, w->cert, w->key);
	for (int i = 0; i < 3; i++) { /* the second time from what the connection remembers */
		json_t *j = get_json(c, "/v1/peer");
		assert_int_equal(phx_json_int(j, "via", -1), PHX_HTTP_TLS);
		assert_true(phx_json_bool(j, "has_cert", false));
		assert_string_equal(phx_json_str(j, "kind", ""), "node");
		assert_string_equal(phx_json_str(j, "name", ""), "node1");
		assert_int_equal(strlen(phx_json_str(j, "fingerprint", "")), 7 + 64);
		json_decref(j);
	}
	phx_http_client_free(c);
}

static void test_tls_without_certificate(void **state)
{
	struct phx_http_client *c = tls_client(*state, NULL, NULL);
	json_t *j = get_json(c, "/v1/peer");
	assert_false(phx_json_bool(j, "has_cert", true));
	assert_string_equal(phx_json_str(j, "name", "?"), "");
	json_decref(j);
	phx_http_client_free(c);
}

static void check_no_cert(const struct world *w, const char *cert, const char *key)
{
	struct phx_http_client *c = tls_client(w, cert, key);
	json_t *j = get_json(c, "/v1/peer");
	assert_false(phx_json_bool(j, "has_cert", true));
	assert_string_equal(phx_json_str(j, "name", "?"), "");
	json_decref(j);
	phx_http_client_free(c);
}

static void test_tls_foreign_certificate_is_none(void **state)
{
	const struct world *w = *state;
	struct phx_pki *other = NULL;
	char dir[96], cert[96], key[96];
	assert_int_equal(phx_pki_open(world_path(w, "other", dir, sizeof(dir)), NULL, 0, &other, NULL), 0);
	world_certify(other, dir, PHX_CERT_PROVIDER, "root", cert, key);
	phx_pki_free(other);
	check_no_cert(w, cert, key);
}

static void test_tls_server_certificate_is_no_client(void **state)
{
	const struct world *w = *state;
	char cert[96], key[96];
	world_certify(w->pki, w->dir, PHX_CERT_SERVER, "impostor", cert, key);
	check_no_cert(w, cert, key);
}

static void test_client_refuses_foreign_server(void **state)
{
	const struct world *w = *state;
	struct phx_pki *other = NULL;
	char dir[96], ca[128];
	assert_int_equal(phx_pki_open(world_path(w, "other", dir, sizeof(dir)), NULL, 0, &other, NULL), 0);
	phx_pki_free(other);
	snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
	struct phx_http_client *c =
		client_of(&(struct phx_http_client_config){ .base_url = w->tls_url, .ca_pem_path = ca });
	refused(c, "GET", "/v1/peer", -EPROTO, "certificate");
	phx_http_client_free(c);
	/* no CA given: the system's do not know us either */
	c = client_of(&(struct phx_http_client_config){ .base_url = w->tls_url });
	refused(c, "GET", "/v1/peer", -EPROTO, "certificate");
	phx_http_client_free(c);
	/* unless told so, for a BMC */
	c = client_of(&(struct phx_http_client_config){ .base_url = w->tls_url, .insecure = true });
	json_decref(get_json(c, "/v1/peer"));
	phx_http_client_free(c);
	/* the right CA, another name than the certificate's */
	char url[64];
	snprintf(url, sizeof(url), "https://127.0.0.2:%u", phx_http_server_port(w->server, PHX_HTTP_TLS));
	c = client_of(&(struct phx_http_client_config){ .base_url = url, .ca_pem_path = w->ca });
	struct phx_err err = { 0 };
	struct phx_http_response res = { 0 };
	assert_true(phx_http_call(c, "GET", "/v1/peer", NULL, 5000, &res, &err) < 0);
	phx_http_client_free(c);
}

/* ---- routes ---- */

static void test_params_decoded(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	json_t *j = get_json(c, "/v1/nodes/node%31/steps/a%20b%25?x=1%2F2+3&y");
	assert_string_equal(phx_json_str(j, "p0", ""), "node1");
	assert_string_equal(phx_json_str(j, "p1", ""), "a b%");
	assert_string_equal(phx_json_str(j, "x", ""), "1/2 3");
	assert_string_equal(phx_json_str(j, "path", ""), "/v1/nodes/node%31/steps/a%20b%25");
	assert_true(json_is_null(json_object_get(j, "none")));
	json_decref(j);
	j = get_json(c, "/files/a/b%63/d");
	assert_string_equal(phx_json_str(j, "p0", ""), "a/bc/d");
	json_decref(j);
	j = get_json(c, "/");
	assert_string_equal(phx_json_str(j, "p0", "?"), "");
	json_decref(j);
	phx_http_client_free(c);
}

static void test_bad_paths(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	static const char *const bad[] = {
		"/v1/nodes/a%2Fb", "/v1/nodes/a%2fb", "/v1/nodes/a%00b", "/v1/nodes/%",     "/v1/nodes/%4",
		"/v1/nodes/%zz",   "/v1/nodes/..",    "/v1/nodes/%2e%2e", "/files/../../x", "/files/a/%2E%2E/b",
		"/v1/nodes/a%0ab", "/files/./x",
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		refused(c, "GET", bad[i], -EINVAL, "path: segment ");
	refused(c, "GET", "/files/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", -EINVAL, "more than 16 segments");
	refused(c, "GET", "/v1/nodes/a?x=%00", -EINVAL, "query: ");
	refused(c, "GET", "/v1/nodes/a?x=%4", -EINVAL, "query: ");
	refused(c, "GET",
		"/v1/nodes/a?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q&r&s&t&u&v&w&x&y&z&1&2&3&4&5&6&7&8", -EINVAL, "too many");
	phx_http_client_free(c);
}

static void test_unknown_resource(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	static const char *const unknown[] = { "/v1", "/v1/nodes", "/v1/nodes/", "/v1/nodes/a/steps", "/v2/peer",
					       "/v1/peer/", "/files", "/files/", "/files/a//b", "/v1/peerx" };
	for (size_t i = 0; i < PHX_ARRAY_SIZE(unknown); i++)
		refused(c, "GET", unknown[i], -ENOENT, "no such resource: /");
	/* served on the Unix socket only: not there for others */
	refused(c, "GET", "/v1/unix-only", -ENOENT, "no such resource");
	phx_http_client_free(c);
	c = unix_client(*state);
	json_decref(get_json(c, "/v1/unix-only"));
	phx_http_client_free(c);
}

static void test_method_not_allowed(void **state)
{
	struct world *w = *state;
	uint16_t port = phx_http_server_port(w->server, PHX_HTTP_PLAIN);
	struct phx_http_client *c = plain_client(w);
	refused(c, "POST", "/v1/nodes/a", -EOPNOTSUPP, "POST is not possible on /v1/nodes/a; possible: GET, DELETE");
	phx_http_client_free(c);
	char *text = raw_exchange(port, "PATCH /v1/nodes/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 2000);
	assert_contains(text, "HTTP/1.1 405 ");
	assert_contains(text, "Allow: GET, DELETE\r\n");
	assert_contains(text, "Content-Type: application/json\r\n");
	free(text);
}

static void test_head(void **state)
{
	struct world *w = *state;
	char *text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN),
				  "HEAD /v1/nodes/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 2000);
	assert_contains(text, "HTTP/1.1 200 ");
	assert_contains(text, "Content-Length: ");
	assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	free(text);
	struct phx_http_client *c = plain_client(w);
	struct phx_http_response res = { 0 };
	assert_int_equal(phx_http_call(c, "HEAD", "/v1/nodes/a", NULL, 2000, &res, NULL), 0);
	assert_int_equal(res.status, 200);
	assert_int_equal(res.n, 0);
	phx_http_response_fini(&res);
	json_decref(get_json(c, "/v1/peer")); /* the connection goes on */
	phx_http_client_free(c);
}

/* ---- answers ---- */

static void test_error_codes_survive(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	static const struct {
		int code, status;
	} rows[] = { { EINVAL, 400 },	  { EPERM, 403 },  { EACCES, 403 }, { ENOENT, 404 }, { EEXIST, 409 },
		     { EBUSY, 409 },	  { ESTALE, 409 }, { E2BIG, 413 },  { EFBIG, 413 },  { EAGAIN, 503 },
		     { ENOSPC, 507 },	  { EROFS, 507 },  { EIO, 500 },    { ENOMEM, 500 }, { ETIMEDOUT, 500 },
		     { EKEYREJECTED, 500 } };
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char path[32];
		struct phx_http_response res = { 0 };
		snprintf(path, sizeof(path), "/v1/error/%d", rows[i].code);
		refused(c, "POST", path, -rows[i].code, "because of this");
		assert_int_equal(phx_http_call(c, "POST", path, NULL, 2000, &res, NULL), 0);
		assert_int_equal(res.status, rows[i].status);
		phx_http_response_fini(&res);
	}
	refused(c, "POST", "/v1/error/99", -EIO, "because of this"); /* a code outside the table */
	phx_http_client_free(c);
}

static void test_odd_answers(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	struct phx_http_response res = { 0 };
	json_t *j = (json_t *)&res;
	refused(c, "GET", "/v1/nothing", -EIO, "gave no answer");
	assert_int_equal(phx_http_call(c, "GET", "/v1/twice", NULL, 2000, &res, NULL), 0);
	assert_int_equal(res.status, 200);
	assert_string_equal(res.body, "first");
	phx_http_response_fini(&res);
	assert_int_equal(phx_http_call_json(c, "GET", "/v1/no-content", NULL, 2000, &j, NULL), 0);
	assert_null(j);
	refused(c, "GET", "/v1/not-json", -EBADMSG, "the answer is not JSON");
	phx_http_client_free(c);
}

static void test_invalid_utf8_is_quoted(void **state)
{
	struct world *w = *state;
	char *text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN),
				  "GET /\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 2000);
	assert_contains(text, "HTTP/1.1 404 ");
	assert_contains(text, "no such resource: /??");
	free(text);
}

/* ---- bodies ---- */

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
	struct phx_err err = { 0 };
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
	struct phx_buf b = { 0 };
	phx_buf_addf(&b, "POST /v1/body HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			 "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 20; i++)
		phx_buf_addf(&b, "64\r\n%0100d\r\n", i);
	phx_buf_addf(&b, "0\r\n\r\n");
	char *text = raw_exchange(port, b.data, 2000);
	assert_contains(text, "HTTP/1.1 413 ");
	assert_contains(text, "larger than 1000 bytes");
	free(text);
	phx_buf_fini(&b);
	/* one that takes none */
	text = raw_exchange(port, "GET /v1/peer HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
			    2000);
	assert_contains(text, "HTTP/1.1 413 ");
	assert_contains(text, "takes no body");
	free(text);
	/* one announced too long to be worth reading: answered at once, then closed */
	text = raw_exchange(port, "POST /v1/body HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 1500);
	assert_contains(text, "HTTP/1.1 413 ");
	free(text);
}

static void test_endless_chunked_body_is_cut(void **state)
{
	struct world *w = *state;
	int fd = tcp_connect(phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	static const char head[] = "POST /v1/body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
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
	struct phx_http_client *clients[] = { unix_client(w), tls_client(w, w->cert, w->key) };
	for (size_t i = 0; i < PHX_ARRAY_SIZE(clients); i++) {
		json_t *j = NULL;
		struct phx_err err = { 0 };
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
	struct phx_err err = { 0 };
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
	static const char head[] = "PUT /v1/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc";
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
	struct phx_err err = { 0 };
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

/* ---- bad clients ---- */

static void test_stalled_client_is_dropped(void **state)
{
	struct world *w = *state;
	double begin = now_s();
	char *text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN), "GET /v1/peer HTT", 8000);
	double took = now_s() - begin;
	free(text);
	assert_true(took >= 1.0 && took < 6.0);
	begin = now_s();
	text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_TLS), "\x16\x03\x01", 8000);
	took = now_s() - begin;
	free(text);
	assert_true(took < 6.0);
}

static void test_rubbish(void **state)
{
	struct world *w = *state;
	uint16_t port = phx_http_server_port(w->server, PHX_HTTP_PLAIN);
	free(raw_exchange(port, "\x01\x02\x03 rubbish\r\n\r\n", 500));
	free(raw_exchange(port, "GET\r\n\r\n", 500));
	free(raw_exchange(port, "AVERYLONGMETHODNAMETHATISNONE / HTTP/1.1\r\nHost: x\r\n\r\n", 500));
	struct phx_buf b = { 0 };
	phx_buf_addf(&b, "GET /");
	for (int i = 0; i < 4000; i++)
		phx_buf_addf(&b, "0123456789");
	phx_buf_addf(&b, " HTTP/1.1\r\nHost: x\r\n\r\n");
	char *text = raw_exchange(port, b.data, 500);
	assert_contains(text, "HTTP/1.1 4");
	free(text);
	phx_buf_fini(&b);
	/* HTTP to the TLS port */
	free(raw_exchange(phx_http_server_port(w->server, PHX_HTTP_TLS), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 500));
	struct phx_http_client *c = plain_client(w);
	json_decref(get_json(c, "/v1/peer"));
	phx_http_client_free(c);
}

#define WORLD_TEST(f) cmocka_unit_test(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_unix_peer),
		WORLD_TEST(test_unix_socket_mode),
		WORLD_TEST(test_plain_peer),
		WORLD_TEST(test_tls_peer),
		WORLD_TEST(test_tls_without_certificate),
		WORLD_TEST(test_tls_foreign_certificate_is_none),
		WORLD_TEST(test_tls_server_certificate_is_no_client),
		WORLD_TEST(test_client_refuses_foreign_server),
		WORLD_TEST(test_params_decoded),
		WORLD_TEST(test_bad_paths),
		WORLD_TEST(test_unknown_resource),
		WORLD_TEST(test_method_not_allowed),
		WORLD_TEST(test_head),
		WORLD_TEST(test_error_codes_survive),
		WORLD_TEST(test_odd_answers),
		WORLD_TEST(test_invalid_utf8_is_quoted),
		WORLD_TEST(test_body),
		WORLD_TEST(test_body_too_large),
		WORLD_TEST(test_endless_chunked_body_is_cut),
		WORLD_TEST(test_upload),
		WORLD_TEST(test_upload_refused),
		WORLD_TEST(test_upload_cut),
		WORLD_TEST(test_upload_disk_full),
		WORLD_TEST(test_stalled_client_is_dropped),
		WORLD_TEST(test_rubbish),
	};
	own_mounts = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return cmocka_run_group_tests(tests, setup, teardown);
}
