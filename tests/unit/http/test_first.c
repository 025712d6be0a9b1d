/* A server and its first request, which may come at any moment of the start. */
#include "unit/http/world.h"

static struct phx_http_server *begun;

/* 200: the server, and its listener of TLS, are there for who answers. */
static void reply_begun(struct phx_http_request *q, void *arg)
{
	(void)arg;
	bool whole = begun && phx_http_server_port(begun, PHX_HTTP_TLS);
	phx_http_reply_text(q, whole ? 200 : 500, "text/plain", "");
}

/* It has been sent before the server starts. */
static int send_early(const char *path)
{
	static const char text[] = "GET /v1/begun HTTP/1.0\r\n\r\n";
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	return fd;
}

static void test_server_is_there_for_its_first_request(void **state)
{
	static const struct phx_http_route route = {
		"GET", "/v1/begun", 1u << PHX_HTTP_UNIX, reply_begun, 0, false, NULL};
	(void)state;
	struct world *w = world_new(&route, 1, NULL);
	char answer[32] = "";
	phx_http_server_free(PHX_TAKE(w->server));
	struct phx_http_server_config config = {.routes = &route,
						.n_routes = 1,
						.unix_path = w->unix_path,
						.unix_gid = getgid(),
						.tls_address = "127.0.0.1",
						.threads = 64, /* which takes a while to start */
						.pki = w->pki};
	config.listening[PHX_HTTP_UNIX] = phx_http_listen(&config, PHX_HTTP_UNIX, NULL);
	assert_true(config.listening[PHX_HTTP_UNIX] > 0);
	int fd = send_early(w->unix_path);
	assert_int_equal(phx_http_server_start(&config, &begun, NULL), 0);
	assert_true(read(fd, answer, sizeof(answer) - 1) > 0);
	assert_contains(answer, " 200 ");
	close(fd);
	phx_http_server_free(begun);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_is_there_for_its_first_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
