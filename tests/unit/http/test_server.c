/* A real server on loopback and real clients: listeners, peers, routes, errors, bad clients. */
#include "unit/http/world.h"

#include <dirent.h>

#define ANY (1u << PHX_HTTP_UNIX | 1u << PHX_HTTP_TLS | 1u << PHX_HTTP_PLAIN)
#define UNIX (1u << PHX_HTTP_UNIX)

static void reply_peer(struct phx_http_request *q, void *arg)
{
	const struct phx_http_peer *p = phx_http_peer(q);
	(void)arg;
	json_t *j = json_pack("{s:i, s:I, s:I, s:I, s:b, s:s, s:s, s:s, s:s}", "via", (int)p->via,
			      "uid", (json_int_t)p->uid, "gid", (json_int_t)p->gid, "pid",
			      (json_int_t)p->pid, "has_cert", p->has_cert, "kind",
			      p->has_cert ? phx_enum_name(&phx_cert_kind_names, p->cert.kind) : "",
			      "name", p->cert.name, "fingerprint", p->cert.fingerprint, "address",
			      p->address);
	phx_http_reply_json(q, 200, j);
	json_decref(j);
}

static void reply_params(struct phx_http_request *q, void *arg)
{
	const char *x = phx_http_query(q, "x"), *none = phx_http_query(q, "none");
	(void)arg;
	json_t *j =
		json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "path", phx_http_path(q), "p0",
			  phx_http_param(q, 0), "p1", phx_http_param(q, 1), "x", x, "none", none);
	phx_http_reply_json(q, 200, j);
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
	phx_http_reply_text(q, 204, NULL, "");
}

/* There was no memory for what is to be answered. */
static void reply_no_memory(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_json(q, atoi(phx_http_param(q, 0)), NULL);
}

static void reply_not_json(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_text(q, 200, "text/plain", "{\"a\": ");
}

static const struct phx_http_route routes[] = {
	{"GET", "/v1/peer", ANY, reply_peer, 0, false, NULL},
	{"GET", "/v1/unix-only", UNIX, reply_peer, 0, false, NULL},
	{"GET", "/v1/own", ANY | PHX_HTTP_CERT, reply_peer, 0, false, NULL},
	{"PUT", "/v1/own/file", ANY | PHX_HTTP_CERT, reply_peer, 1 << 20, true, NULL},
	{"GET", "/v1/nodes/*", ANY, reply_params, 0, false, NULL},
	{"DELETE", "/v1/nodes/*", ANY, reply_params, 0, false, NULL},
	{"GET", "/v1/nodes/*/steps/*", ANY, reply_params, 0, false, NULL},
	{"GET", "/files/**", ANY, reply_params, 0, false, NULL},
	{"GET", "/", ANY, reply_params, 0, false, NULL},
	{"POST", "/v1/error/*", ANY, reply_code, 0, false, NULL},
	{"GET", "/v1/nothing", ANY, reply_nothing, 0, false, NULL},
	{"GET", "/v1/twice", ANY, reply_twice, 0, false, NULL},
	{"GET", "/v1/no-content", ANY, reply_no_content, 0, false, NULL},
	{"GET", "/v1/no-memory/*", ANY, reply_no_memory, 0, false, NULL},
	{"GET", "/v1/not-json", ANY, reply_not_json, 0, false, NULL},
};

static int setup(void **state)
{
	struct phx_http_server_config config = {.idle_timeout_s = 2};
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
	struct phx_err err = {0};
	json_t *j = NULL;
	int r = phx_http_call_json(c, "GET", path, NULL, 5000, &j, &err);
	if (r < 0)
		fail_msg("%s: %d %s", path, r, err.text);
	return j;
}

/* GET that fails; the text must hold `part`. */
static void refused(struct phx_http_client *c, const char *method, const char *path, int code,
		    const char *part)
{
	struct phx_err err = {0};
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
	assert_int_equal(
		phx_pki_open(world_path(w, "other", dir, sizeof(dir)), NULL, 0, &other, NULL), 0);
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

static unsigned spooled(const struct world *w)
{
	unsigned n = 0;
	DIR *d = opendir(w->spool);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Whoever shows no certificate is refused before its body takes room. */
static void test_route_for_certificates(void **state)
{
	struct world *w = *state;
	struct phx_http_client *c = tls_client(w, NULL, NULL),
			       *known = tls_client(w, w->cert, w->key);
	struct phx_err err = {0};
	char path[96];
	json_t *j = NULL;
	refused(c, "GET", "/v1/own", -EPERM, "certificate");
	json_decref(get_json(known, "/v1/own"));
	world_put(world_path(w, "upload", path, sizeof(path)), "some bytes");
	assert_int_equal(phx_http_upload(c, "/v1/own/file", path, &j, &err), -EPERM);
	assert_int_equal(spooled(w), 0);
	assert_int_equal(phx_http_upload(known, "/v1/own/file", path, &j, &err), 0);
	json_decref(j);
	phx_http_client_free(c);
	phx_http_client_free(known);
	/* the Unix socket has its own way to know who asks */
	struct phx_http_client *u = unix_client(w);
	json_decref(get_json(u, "/v1/own"));
	phx_http_client_free(u);
}

static void test_client_refuses_foreign_server(void **state)
{
	const struct world *w = *state;
	struct phx_pki *other = NULL;
	char dir[96], ca[128];
	assert_int_equal(
		phx_pki_open(world_path(w, "other", dir, sizeof(dir)), NULL, 0, &other, NULL), 0);
	phx_pki_free(other);
	snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
	struct phx_http_client *c = client_of(
		&(struct phx_http_client_config){.base_url = w->tls_url, .ca_pem_path = ca});
	refused(c, "GET", "/v1/peer", -EPROTO, "certificate");
	phx_http_client_free(c);
	/* no CA given: the system's do not know us either */
	c = client_of(&(struct phx_http_client_config){.base_url = w->tls_url});
	refused(c, "GET", "/v1/peer", -EPROTO, "certificate");
	phx_http_client_free(c);
	/* unless told so, for a BMC */
	c = client_of(&(struct phx_http_client_config){.base_url = w->tls_url, .insecure = true});
	json_decref(get_json(c, "/v1/peer"));
	phx_http_client_free(c);
	/* the right CA, another name than the certificate's */
	char url[64];
	snprintf(url, sizeof(url), "https://127.0.0.2:%u",
		 phx_http_server_port(w->server, PHX_HTTP_TLS));
	c = client_of(&(struct phx_http_client_config){.base_url = url, .ca_pem_path = w->ca});
	struct phx_err err = {0};
	struct phx_http_response res = {0};
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

/* What a held agent costs is little, and the longest list of nodes that phx asks for fits still. */
static void test_long_questions_fit(void **state)
{
	struct phx_http_client *c = tls_client(*state, NULL, NULL);
	char path[3000] = "/v1/nodes/a?x=";
	size_t n = strlen(path);
	memset(path + n, 'y', 2600);
	json_t *j = get_json(c, path);
	assert_int_equal(strlen(phx_json_str(j, "x", "")), 2600);
	json_decref(j);
	phx_http_client_free(c);
}

static void test_bad_paths(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	static const char *const bad[] = {
		"/v1/nodes/a%2Fb", "/v1/nodes/a%2fb",   "/v1/nodes/a%00b", "/v1/nodes/%",
		"/v1/nodes/%4",    "/v1/nodes/%zz",     "/v1/nodes/..",    "/v1/nodes/%2e%2e",
		"/files/../../x",  "/files/a/%2E%2E/b", "/v1/nodes/a%0ab", "/files/./x",
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		refused(c, "GET", bad[i], -EINVAL, "path: segment ");
	refused(c, "GET", "/files/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", -EINVAL,
		"more than 16 segments");
	refused(c, "GET", "/v1/nodes/a?x=%00", -EINVAL, "query: ");
	refused(c, "GET", "/v1/nodes/a?x=%4", -EINVAL, "query: ");
	refused(c, "GET",
		"/v1/nodes/a?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q&r&s&t&u&v&w&x&y&z&1&2&3&4&5&6&7&8",
		-EINVAL, "too many");
	phx_http_client_free(c);
}

static void test_unknown_resource(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	static const char *const unknown[] = {
		"/v1",       "/v1/nodes", "/v1/nodes/", "/v1/nodes/a/steps", "/v2/peer",
		"/v1/peer/", "/files",    "/files/",    "/files/a//b",       "/v1/peerx"};
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
	refused(c, "POST", "/v1/nodes/a", -EOPNOTSUPP,
		"POST is not possible on /v1/nodes/a; possible: GET, DELETE");
	phx_http_client_free(c);
	char *text = raw_exchange(
		port, "PATCH /v1/nodes/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 2000);
	assert_contains(text, "HTTP/1.1 405 ");
	assert_contains(text, "Allow: GET, DELETE\r\n");
	assert_contains(text, "Content-Type: application/json\r\n");
	free(text);
}

static void test_head(void **state)
{
	struct world *w = *state;
	char *text = raw_exchange(
		phx_http_server_port(w->server, PHX_HTTP_PLAIN),
		"HEAD /v1/nodes/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 2000);
	assert_contains(text, "HTTP/1.1 200 ");
	assert_contains(text, "Content-Length: ");
	assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	free(text);
	struct phx_http_client *c = plain_client(w);
	struct phx_http_response res = {0};
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
	} rows[] = {{EINVAL, 400}, {EPERM, 403},  {EACCES, 403},    {ENOENT, 404},
		    {EEXIST, 409}, {EBUSY, 409},  {ESTALE, 409},    {E2BIG, 413},
		    {EFBIG, 413},  {EAGAIN, 503}, {ENOSPC, 507},    {EROFS, 507},
		    {EIO, 500},    {ENOMEM, 500}, {ETIMEDOUT, 500}, {EKEYREJECTED, 500}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char path[32];
		struct phx_http_response res = {0};
		snprintf(path, sizeof(path), "/v1/error/%d", rows[i].code);
		refused(c, "POST", path, -rows[i].code, "because of this");
		assert_int_equal(phx_http_call(c, "POST", path, NULL, 2000, &res, NULL), 0);
		assert_int_equal(res.status, rows[i].status);
		/* who is to come again is told when; what is refused for good is not asked again */
		assert_int_equal(res.retry_after_s, rows[i].code == EAGAIN ? 30 : 0);
		phx_http_response_fini(&res);
	}
	refused(c, "POST", "/v1/error/99", -EIO, "because of this"); /* a code outside the table */
	phx_http_client_free(c);
}

static void test_odd_answers(void **state)
{
	struct phx_http_client *c = plain_client(*state);
	struct phx_http_response res = {0};
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

/* An answer without a body would be taken for success, and for nothing of what was asked for. */
static void test_no_memory_is_an_error(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *path, *status;
	} rows[] = {{"200", "HTTP/1.1 500 "}, {"201", "HTTP/1.1 500 "}, {"403", "HTTP/1.1 403 "}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char request[96];
		snprintf(request, sizeof(request),
			 "GET /v1/no-memory/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			 rows[i].path);
		char *text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN), request,
					  2000);
		if (!phx_str_starts(text, rows[i].status) ||
		    !strstr(text, "{\"error\":\"phxd has no memory for the answer\""))
			fail_msg("%s: %s", rows[i].path, text);
		free(text);
	}
}

static void test_invalid_utf8_is_quoted(void **state)
{
	struct world *w = *state;
	char *text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN),
				  "GET /\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
				  2000);
	assert_contains(text, "HTTP/1.1 404 ");
	assert_contains(text, "no such resource: /??");
	free(text);
}

/* ---- bad clients ---- */

static void test_stalled_client_is_dropped(void **state)
{
	struct world *w = *state;
	double begin = now_s();
	char *text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_PLAIN),
				  "GET /v1/peer HTT", 8000);
	double took = now_s() - begin;
	free(text);
	assert_true(took >= 1.0 && took < 6.0);
	begin = now_s();
	text = raw_exchange(phx_http_server_port(w->server, PHX_HTTP_TLS), "\x16\x03\x01", 8000);
	took = now_s() - begin;
	free(text);
	assert_true(took < 6.0);
}

/* Whoever takes all the connections he gets keeps nobody else out: here he stands on one of
 * loopback's other addresses. */
static void test_one_address_takes_its_share(void **state)
{
	(void)state;
	struct phx_http_server_config config = {.per_address_max = 8, .threads = 4};
	struct world *w = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	uint16_t port = phx_http_server_port(w->server, PHX_HTTP_TLS);
	int fds[24], n_open = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fds); i++)
		fds[i] = tcp_connect_from("127.0.0.2", port);
	struct phx_http_client *c = tls_client(w, w->cert, w->key);
	for (int i = 0; i < 3; i++)
		json_decref(get_json(c, "/v1/peer"));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fds); i++) {
		struct pollfd p = {.fd = fds[i], .events = POLLIN};
		n_open += poll(&p, 1, 200) == 0;
		close(fds[i]);
	}
	assert_int_equal(n_open, 8);
	phx_http_client_free(c);
	struct phx_http_client *many[12];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(many); i++)
		json_decref(get_json(many[i] = unix_client(w), "/v1/peer"));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(many); i++)
		phx_http_client_free(many[i]);
	world_free(w);
}

static void test_rubbish(void **state)
{
	struct world *w = *state;
	uint16_t port = phx_http_server_port(w->server, PHX_HTTP_PLAIN);
	free(raw_exchange(port, "\x01\x02\x03 rubbish\r\n\r\n", 500));
	free(raw_exchange(port, "GET\r\n\r\n", 500));
	free(raw_exchange(port, "AVERYLONGMETHODNAMETHATISNONE / HTTP/1.1\r\nHost: x\r\n\r\n",
			  500));
	struct phx_buf b = {0};
	phx_buf_addf(&b, "GET /");
	for (int i = 0; i < 4000; i++)
		phx_buf_addf(&b, "0123456789");
	phx_buf_addf(&b, " HTTP/1.1\r\nHost: x\r\n\r\n");
	char *text = raw_exchange(port, b.data, 500);
	assert_contains(text, "HTTP/1.1 4");
	free(text);
	phx_buf_fini(&b);
	/* HTTP to the TLS port */
	free(raw_exchange(phx_http_server_port(w->server, PHX_HTTP_TLS),
			  "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 500));
	struct phx_http_client *c = plain_client(w);
	json_decref(get_json(c, "/v1/peer"));
	phx_http_client_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unix_peer),
		cmocka_unit_test(test_unix_socket_mode),
		cmocka_unit_test(test_plain_peer),
		cmocka_unit_test(test_tls_peer),
		cmocka_unit_test(test_tls_without_certificate),
		cmocka_unit_test(test_tls_foreign_certificate_is_none),
		cmocka_unit_test(test_tls_server_certificate_is_no_client),
		cmocka_unit_test(test_route_for_certificates),
		cmocka_unit_test(test_client_refuses_foreign_server),
		cmocka_unit_test(test_params_decoded),
		cmocka_unit_test(test_long_questions_fit),
		cmocka_unit_test(test_bad_paths),
		cmocka_unit_test(test_unknown_resource),
		cmocka_unit_test(test_method_not_allowed),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_error_codes_survive),
		cmocka_unit_test(test_odd_answers),
		cmocka_unit_test(test_no_memory_is_an_error),
		cmocka_unit_test(test_invalid_utf8_is_quoted),
		cmocka_unit_test(test_stalled_client_is_dropped),
		cmocka_unit_test(test_one_address_takes_its_share),
		cmocka_unit_test(test_rubbish),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
