/* The server: for each listener as many libmicrohttpd daemons as it has threads, all with one
 * route table; who comes to which is accept.c's. Started and freed by the daemon; what happens
 * in between is in request.c. */
#include "http/internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* Request line and headers must fit, and bodies pass through it. Of TLS connections there are as
 * many as agents: 10,000 that are held should cost little; phx asks with some 2,500 bytes at most
 * (cmd/phx/names.c), a browser with less in more headers. */
#define CONNECTION_MEMORY (16u * 1024)
#define TLS_CONNECTION_MEMORY (7u * 512)
#define DRAIN_SECONDS 5
#define CONNECTIONS 4096
#define RESERVE 64
#define IDLE_SECONDS 60

/* Node clocks and TLS stacks are ours: nothing older than 1.2 is ever needed. */
#define PRIORITIES \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+CHACHA20-POLY1305:+" \
	"AES-256-GCM"

/* Paths and arguments come undecoded: an encoded '/' must not become one. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *s)
{
	(void)cls, (void)mhd;
	return strlen(s);
}

static struct MHD_OptionItem int_option(enum MHD_OPTION option, unsigned value)
{
	return (struct MHD_OptionItem){option, (intptr_t)value, NULL};
}

static struct MHD_OptionItem text_option(enum MHD_OPTION option, const char *text)
{
	return (struct MHD_OptionItem){option, 0, (void *)(uintptr_t)text};
}

/* Fills `o`; returns how many. */
static size_t make_options(const struct phx_http_server_config *config,
			   struct phx_http_listener_state *l, struct MHD_OptionItem *o)
{
	size_t n = 0;
	/* who comes is limited before: here nobody is refused, since libmicrohttpd would stop
	 * listening for all */
	unsigned limit = 2 * (config->connections_max ? config->connections_max : CONNECTIONS) +
		(config->reserve ? config->reserve : RESERVE);
	o[n++] = int_option(MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			    l->which == PHX_HTTP_TLS ? TLS_CONNECTION_MEMORY : CONNECTION_MEMORY);
	o[n++] = int_option(MHD_OPTION_CONNECTION_LIMIT, limit);
	o[n++] = int_option(MHD_OPTION_CONNECTION_TIMEOUT,
			    config->idle_timeout_s ? config->idle_timeout_s : IDLE_SECONDS);
	o[n++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_COMPLETED,
					 (intptr_t)phx_http_on_completed, l};
	o[n++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_CONNECTION,
					 (intptr_t)phx_http_on_connection, l};
	o[n++] =
		(struct MHD_OptionItem){MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)keep_escapes, NULL};
	if (l->which == PHX_HTTP_TLS) {
		/* the names of the CAs, which clients are told; whom we believe peer.c knows */
		o[n++] = text_option(MHD_OPTION_HTTPS_MEM_TRUST, phx_pki_ca_pem(config->pki));
		o[n++] = text_option(MHD_OPTION_HTTPS_PRIORITIES, PRIORITIES);
	}
	o[n++] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	return n;
}

static const char *const listener_names[] = {"Unix", "TLS", "plain"};

static int start_daemons(const struct phx_http_server_config *config,
			 struct phx_http_listener_state *l, struct phx_err *err)
{
	struct MHD_OptionItem options[16];
	make_options(config, l, options);
	unsigned n = (config->threads ? config->threads : 1) * (l->which == PHX_HTTP_UNIX ? 2 : 1);
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
		MHD_USE_NO_LISTEN_SOCKET;
	/* which an array of options cannot hold */
	enum MHD_OPTION last = MHD_OPTION_END;
	if (l->which == PHX_HTTP_TLS) {
		flags |= MHD_USE_TLS;
		last = MHD_OPTION_HTTPS_CERT_CALLBACK;
	}
	l->daemons = calloc(n, sizeof(struct MHD_Daemon *));
	for (; l->daemons && l->n_daemons < n; l->n_daemons++) {
		struct MHD_Daemon *d = MHD_start_daemon(
			flags, 0, NULL, NULL, phx_http_on_request, l, MHD_OPTION_ARRAY, options,
			last, phx_http_credential_retrieve, MHD_OPTION_END);
		if (!d)
			break;
		l->daemons[l->n_daemons] = d;
	}
	if (l->n_daemons < n)
		return phx_err_set(err, -EIO, "the %s listener cannot be started",
				   listener_names[l->which]);
	return 0;
}

static struct phx_http_guard *new_guard(const struct phx_http_server_config *config)
{
	return phx_http_guard_new(&(struct phx_http_guard_limits){
		.connections_max = config->connections_max ? config->connections_max : CONNECTIONS,
		.reserve = config->reserve ? config->reserve : RESERVE,
		.per_known_max = config->per_person_max,
		.per_stranger_max = config->per_address_max,
		.header_ms =
			(config->idle_timeout_s ? config->idle_timeout_s : IDLE_SECONDS) * 1000,
		.requests_per_s = config->requests_per_s,
		.spool_bytes_max = config->spool_bytes_max,
		.refused = config->refused,
		.arg = config->arg,
	});
}

static int open_listener(const struct phx_http_server_config *config,
			 struct phx_http_listener_state *l, struct phx_err *err)
{
	int given = config->listening[l->which];
	int r = l->which == PHX_HTTP_TLS ? phx_http_server_renew(l->server, config->pki, err) : 0;
	if (r < 0)
		return r;
	l->fd = given > 0 ? given : phx_http_listen(config, l->which, err);
	if (l->fd < 0)
		return l->fd;
	l->port = l->which == PHX_HTTP_UNIX ? 0 : phx_http_listen_port(l->fd);
	l->guard = new_guard(config);
	return l->guard ? start_daemons(config, l, err) : -ENOMEM;
}

static int open_listeners(const struct phx_http_server_config *config, struct phx_http_server *s,
			  struct phx_err *err)
{
	const char *const places[] = {config->unix_path, config->tls_address,
				      config->plain_address};
	for (size_t i = 0; i < PHX_HTTP_LISTENERS; i++) {
		int r = places[i] ? open_listener(config, &s->listeners[i], err) : 0;
		if (r < 0)
			return r;
		if (places[i] && i == PHX_HTTP_UNIX && config->listening[i] <= 0)
			s->unix_path = strdup(config->unix_path);
	}
	return 0;
}

static int accept_all(struct phx_http_server *s, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; i < PHX_HTTP_LISTENERS && r == 0; i++)
		if (s->listeners[i].fd >= 0)
			r = phx_http_accept_start(&s->listeners[i], err);
	return r;
}

static int check_routes(const struct phx_http_server_config *config, struct phx_err *err)
{
	for (size_t i = 0; i < config->n_routes; i++)
		if (config->routes[i].body_file && !config->spool_dir)
			return phx_err_set(
				err, -EINVAL,
				"route %s spools its body, but there is no spool directory",
				config->routes[i].path);
	return 0;
}

static void free_server(struct phx_http_server **s)
{
	phx_http_server_free(*s);
}

static void init_listener(struct phx_http_server *s, enum phx_http_listener which)
{
	struct phx_http_listener_state *l = &s->listeners[which];
	*l = (struct phx_http_listener_state){.server = s, .which = which, .fd = -1, .stop_fd = -1};
	pthread_mutex_init(&l->lock, NULL);
}

int phx_http_server_start(const struct phx_http_server_config *config, struct phx_http_server **ret,
			  struct phx_err *err)
{
	int r = check_routes(config, err);
	if (r < 0)
		return r;
	PHX_AUTO(free_server) struct phx_http_server *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->routes = config->routes;
	s->n_routes = config->n_routes;
	s->arg = config->arg;
	s->admin_gid = config->admin_gid;
	s->rank = config->rank;
	s->moved = config->moved;
	s->undated = config->undated;
	s->sent = config->sent;
	s->answered = config->answered;
	s->sessions = config->sessions;
	pthread_mutex_init(&s->lock, NULL);
	phx_cond_init(&s->drained);
	for (int i = 0; i < PHX_HTTP_LISTENERS; i++)
		init_listener(s, (enum phx_http_listener)i);
	if (config->spool_dir) {
		s->spool_dir = strdup(config->spool_dir);
		phx_http_spool_clean(config->spool_dir);
	}
	r = open_listeners(config, s, err);
	if (r < 0)
		return r;
	/* what answers the first request may ask *ret for something */
	*ret = PHX_TAKE(s);
	r = accept_all(*ret, err);
	if (r < 0) {
		phx_http_server_free(*ret);
		*ret = NULL;
	}
	return r;
}

uint16_t phx_http_server_port(const struct phx_http_server *s, enum phx_http_listener which)
{
	return s->listeners[which].port;
}

void phx_http_server_refused(struct phx_http_server *s, enum phx_http_listener which,
			     enum phx_http_limit limit, struct phx_http_refused *ret)
{
	*ret = (struct phx_http_refused){0};
	if (s->listeners[which].guard)
		phx_http_guard_refused(s->listeners[which].guard, limit, ret);
}

/* Wait until no request is under way, at most so long. With the lock held. */
static bool wait_drained(struct phx_http_server *s, int seconds)
{
	struct timespec until = phx_clock_in((int64_t)seconds * 1000);
	int r = 0;
	while (s->requests && r == 0)
		r = pthread_cond_timedwait(&s->drained, &s->lock, &until);
	return !s->requests;
}

/* libmicrohttpd cannot stop while a request is suspended: what its owner never answered is let
 * go without an answer. With the lock held. */
static void resume_forgotten(struct phx_http_server *s)
{
	for (struct phx_http_request *q = s->requests; q; q = q->next)
		if (q->suspended && !q->response)
			MHD_resume_connection(q->mhd);
}

static void drain(struct phx_http_server *s)
{
	pthread_mutex_lock(&s->lock);
	if (!wait_drained(s, DRAIN_SECONDS)) {
		resume_forgotten(s);
		wait_drained(s, 1);
	}
	pthread_mutex_unlock(&s->lock);
}

/* After phx_http_accept_stop(). */
static void close_listener(struct phx_http_listener_state *l)
{
	for (unsigned i = 0; i < l->n_daemons; i++)
		MHD_stop_daemon(l->daemons[i]);
	free(l->daemons);
	for (size_t i = 0; i < l->n_arrivals; i++)
		if (l->arrivals[i])
			phx_http_guard_leave(l->guard, &l->arrivals[i]->entry);
	for (size_t i = 0; i < l->n_arrivals; i++)
		free(l->arrivals[i]);
	free(l->arrivals);
	phx_http_guard_free(l->guard);
	pthread_mutex_destroy(&l->lock);
}

void phx_http_server_free(struct phx_http_server *s)
{
	if (!s)
		return;
	if (s->unix_path)
		unlink(s->unix_path);
	for (size_t i = 0; i < PHX_HTTP_LISTENERS; i++)
		phx_http_accept_stop(&s->listeners[i]);
	drain(s);
	for (size_t i = 0; i < PHX_HTTP_LISTENERS; i++)
		close_listener(&s->listeners[i]);
	phx_http_credential_free(s);
	if (s->constant)
		MHD_destroy_response(s->constant);
	if (s->constant_none)
		MHD_destroy_response(s->constant_none);
	pthread_cond_destroy(&s->drained);
	pthread_mutex_destroy(&s->lock);
	free(s->unix_path);
	free(s->spool_dir);
	free(s);
}
