/* What the tests of lib/http share: a directory, a PKI, a real server on loopback with all
 * three listeners, and clients of it. */
#ifndef PHX_TEST_HTTP_WORLD_H
#define PHX_TEST_HTTP_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "http/http.h"

struct world {
	char dir[64];
	char unix_path[96], spool[96], ca[96], cert[96], key[96];
	char tls_url[64], plain_url[64];
	struct phx_pki *pki;
	struct phx_http_server *server;
	void *extra;
};

static inline char *world_path(const struct world *w, const char *name, char *buf, size_t n)
{
	snprintf(buf, n, "%s/%s", w->dir, name);
	return buf;
}

static inline void world_put(const char *path, const char *text)
{
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
}

/* A key and a certificate of `pki` in files below `dir`. */
static inline void world_certify(struct phx_pki *pki, const char *dir, enum phx_cert_kind kind,
				 const char *name, char cert_path[96], char key_path[96])
{
	char *key = NULL, *csr = NULL, *cert = NULL;
	snprintf(cert_path, 96, "%s/%s.pem", dir, name);
	snprintf(key_path, 96, "%s/%s.key", dir, name);
	assert_int_equal(phx_csr_make(name, &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(pki, csr, kind, name, 100, &cert, NULL), 0);
	world_put(key_path, key);
	world_put(cert_path, cert);
	free(key);
	free(csr);
	free(cert);
}

static inline struct world *world_new(const struct phx_http_route *routes, size_t n_routes,
				      const struct phx_http_server_config *more)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	struct world *w = calloc(1, sizeof(*w));
	struct phx_err err = {0};
	char pki_dir[96];
	strcpy(w->dir, "/tmp/phx-test-http-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(phx_pki_open(world_path(w, "pki", pki_dir, sizeof(pki_dir)), names, 2,
				      &w->pki, NULL),
			 0);
	snprintf(w->ca, sizeof(w->ca), "%s/pki/ca.pem", w->dir);
	world_certify(w->pki, w->dir, PHX_CERT_NODE, "node1", w->cert, w->key);
	world_path(w, "phxd.sock", w->unix_path, sizeof(w->unix_path));
	world_path(w, "spool", w->spool, sizeof(w->spool));
	assert_int_equal(mkdir(w->spool, 0700), 0);
	struct phx_http_server_config config = more ? *more : (struct phx_http_server_config){0};
	config.routes = routes;
	config.n_routes = n_routes;
	config.arg = config.arg ? config.arg : w;
	config.unix_path = w->unix_path;
	config.unix_gid = getgid();
	config.tls_address = config.plain_address = "127.0.0.1";
	config.pki = w->pki;
	config.spool_dir = w->spool;
	int r = phx_http_server_start(&config, &w->server, &err);
	if (r < 0)
		fail_msg("server: %s", err.text);
	snprintf(w->tls_url, sizeof(w->tls_url), "https://127.0.0.1:%u",
		 phx_http_server_port(w->server, PHX_HTTP_TLS));
	snprintf(w->plain_url, sizeof(w->plain_url), "http://127.0.0.1:%u",
		 phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	return w;
}

static inline void world_free(struct world *w)
{
	phx_http_server_free(w->server);
	phx_pki_free(w->pki);
	phx_dir_remove(w->dir, NULL);
	free(w);
}

static inline struct phx_http_client *client_of(const struct phx_http_client_config *config)
{
	struct phx_http_client *c = NULL;
	struct phx_err err = {0};
	if (phx_http_client_new(config, &c, &err) < 0)
		fail_msg("client: %s", err.text);
	return c;
}

static inline struct phx_http_client *unix_client(const struct world *w)
{
	return client_of(&(struct phx_http_client_config){.unix_path = w->unix_path,
							  .base_url = "http://unix"});
}

static inline struct phx_http_client *plain_client(const struct world *w)
{
	return client_of(&(struct phx_http_client_config){.base_url = w->plain_url});
}

static inline struct phx_http_client *tls_client(const struct world *w, const char *cert,
						 const char *key)
{
	return client_of(&(struct phx_http_client_config){.base_url = w->tls_url,
							  .ca_pem_path = w->ca,
							  .cert_pem_path = cert,
							  .key_pem_path = key});
}

/* A bare TCP connection to a port on loopback, from one of loopback's addresses. */
static inline int tcp_connect_from(const char *address, uint16_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)},
			   from = {.sin_family = AF_INET};
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	from.sin_addr.s_addr = inet_addr(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static inline int tcp_connect(uint16_t port)
{
	return tcp_connect_from("127.0.0.1", port);
}

/* Send `text` as it is and read the answer until the server closes or `wait_ms` pass in silence. */
static inline char *raw_exchange(uint16_t port, const char *text, int wait_ms)
{
	struct phx_buf b = {0};
	char chunk[4096];
	int fd = tcp_connect(port);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n = poll(&p, 1, wait_ms) > 0 ? recv(fd, chunk, sizeof(chunk), 0) : 0;
		if (n <= 0)
			break;
		phx_buf_add(&b, chunk, (size_t)n);
	}
	close(fd);
	return phx_buf_take(&b);
}

static inline double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' not in '%s'", part, text ? text : "(null)");
}

#endif
