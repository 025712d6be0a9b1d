/* A request's way: found in the route table, its body taken, handed to its handler, answered.
 * Called by libmicrohttpd on the listener's threads and by handlers.
 *
 *   begin --body--> end --handler--> answered in place ------------> queued, completed
 *                          \-> suspended --answer (any thread)--> resumed -^
 *
 * A request that is refused early (no route, no right body) goes the same way without a
 * handler; only one whose body would be long is answered before the body and its connection
 * closed by libmicrohttpd. */
#include "http/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

#define DROP_MAX (1u << 20) /* bytes of a refused body that are read for courtesy */

/* ---- what handlers ask ---- */

const char *phx_http_path(const struct phx_http_request *q)
{
	return q->path;
}

const struct phx_http_peer *phx_http_peer(const struct phx_http_request *q)
{
	return q->signed_in ? &q->signed_in->peer : &q->connection->peer;
}

const char *phx_http_param(const struct phx_http_request *q, int index)
{
	const char *p = index >= 0 && index < PHX_HTTP_PARAMS_MAX ? q->params[index] : NULL;
	return p ? p : "";
}

const char *phx_http_query(const struct phx_http_request *q, const char *name)
{
	PHX_LIST_EACH(struct phx_http_arg, a, &q->args)
		if (!strcmp(a->name, name))
			return a->value;
	return NULL;
}

const char *phx_http_header(const struct phx_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

const char *phx_http_body(const struct phx_http_request *q, size_t *ret_n)
{
	if (ret_n)
		*ret_n = q->body.n;
	return q->body.data ? q->body.data : "";
}

const char *phx_http_body_path(const struct phx_http_request *q)
{
	return q->spool_path;
}

void phx_http_suspend(struct phx_http_request *q)
{
	const char *prefer = phx_http_header(q, PHX_HTTP_PREFER);
	pthread_mutex_lock(&q->server->lock);
	q->brief = prefer && !strcmp(prefer, PHX_HTTP_PREFER_MINIMAL);
	if (!q->response) { /* another thread may have been quicker */
		q->suspended = true;
		MHD_suspend_connection(q->mhd);
	}
	pthread_mutex_unlock(&q->server->lock);
}

void phx_http_drop_body(struct phx_http_request *q)
{
	phx_buf_fini(&q->body);
}

bool phx_http_claim(struct phx_http_request *q, enum phx_http_claim what, unsigned max)
{
	static const char *const names[] = {
		[PHX_HTTP_HEAVY] = "requests that read much",
		[PHX_HTTP_POLL] = "requests that wait for events",
	};
	struct phx_http_connection *c = q->connection;
	char text[160];
	if (phx_http_guard_claim(c->listener->guard, &c->entry, what, max)) {
		q->claims[what]++;
		return true;
	}
	snprintf(text, sizeof(text),
		 "you have %u %s under way, as many as one may: try again when one of them has "
		 "ended",
		 max, names[what]);
	phx_http_reply_error(q, -EDQUOT, text);
	return false;
}

unsigned phx_http_thread(const struct phx_http_request *q)
{
	return q->connection->thread;
}

bool phx_http_gone(const struct phx_http_request *q)
{
	struct pollfd p = phx_http_hang_up(q);
	return poll(&p, 1, 0) > 0;
}

struct pollfd phx_http_hang_up(const struct phx_http_request *q)
{
	return (struct pollfd){.fd = q->connection->fd, .events = POLLRDHUP};
}

/* ---- life of the object ---- */

static void free_request(struct phx_http_request *q)
{
	struct phx_http_connection *c = q->connection;
	phx_http_guard_give_back(c->listener->guard, &c->entry, q->claims, q->spool_claim);
	if (q->response && !q->constant)
		MHD_destroy_response(q->response);
	phx_http_body_fini(q);
	PHX_LIST_EACH(struct phx_http_arg, a, &q->args) {
		free(a->name);
		free(a->value);
	}
	phx_list_fini(&q->args);
	for (size_t i = 0; i < PHX_HTTP_PARAMS_MAX; i++)
		free(q->params[i]);
	free(q->path);
	free(q->signed_in);
	free(q);
}

static void link_request(struct phx_http_request *q)
{
	struct phx_http_server *s = q->server;
	pthread_mutex_lock(&s->lock);
	q->next = s->requests;
	if (q->next)
		q->next->prev = q;
	s->requests = q;
	pthread_mutex_unlock(&s->lock);
}

void phx_http_on_completed(void *cls, struct MHD_Connection *mhd, void **request_context,
			   enum MHD_RequestTerminationCode code)
{
	struct phx_http_listener_state *l = cls;
	struct phx_http_server *s = l->server;
	struct phx_http_request *q = *request_context;
	(void)mhd;
	if (!q)
		return;
	*request_context = NULL;
	phx_http_sent_end(q, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
	pthread_mutex_lock(&s->lock);
	*(q->prev ? &q->prev->next : &s->requests) = q->next;
	if (q->next)
		q->next->prev = q->prev;
	pthread_cond_signal(&s->drained);
	pthread_mutex_unlock(&s->lock);
	phx_http_guard_wait(l->guard, &q->connection->entry, PHX_HTTP_HEADER, 0, phx_clock_ms());
	free_request(q);
}

static struct phx_http_request *new_request(struct phx_http_server *s, struct MHD_Connection *mhd,
					    const char *url, const char *method)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct phx_http_request *q = info && info->socket_context ? calloc(1, sizeof(*q)) : NULL;
	if (!q)
		return NULL;
	q->server = s;
	q->began_us = phx_clock_us();
	q->mhd = mhd;
	q->connection = info->socket_context;
	q->spool_fd = -1;
	q->path = strdup(url);
	if (!q->path || PHX_STR_SET(q->method, method) < 0) {
		free_request(q);
		return NULL;
	}
	phx_http_peer_check(q->connection, mhd);
	link_request(q);
	return q;
}

/* ---- query and route ---- */

static enum MHD_Result take_argument(void *cls, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	struct phx_http_request *q = cls;
	(void)kind;
	struct phx_http_arg *a = q->args.n < PHX_HTTP_QUERY_MAX
		? phx_list_push(&q->args, sizeof(struct phx_http_arg))
		: NULL;
	if (!a || phx_http_decode(name, strlen(name), &a->name) < 0 ||
	    phx_http_decode(value ? value : "", value ? strlen(value) : 0, &a->value) < 0)
		q->body_error = -EINVAL;
	return q->body_error ? MHD_NO : MHD_YES;
}

/* Does the route's method serve the request's? HEAD is GET without the body. */
static bool method_fits(const char *route_method, const char *method)
{
	return !strcmp(route_method, method) ||
		(!strcmp(route_method, "GET") && !strcmp(method, "HEAD"));
}

/* Find q->route; "" in `ret_allow` when the path itself is unknown here. */
static void find_route(struct phx_http_request *q, const struct phx_http_path *path,
		       char *ret_allow, size_t n_allow)
{
	const struct phx_http_server *s = q->server;
	size_t n = 0;
	ret_allow[0] = '\0';
	for (size_t i = 0; i < s->n_routes && !q->route; i++) {
		char *params[PHX_HTTP_PARAMS_MAX];
		if (!(s->routes[i].via & 1u << q->connection->peer.via) ||
		    !phx_http_path_match(s->routes[i].path, path, params))
			continue;
		bool fits = method_fits(s->routes[i].method, q->method);
		if (fits) {
			q->route = &s->routes[i];
			memcpy(q->params, params, sizeof(params));
			continue;
		}
		for (size_t k = 0; k < PHX_HTTP_PARAMS_MAX; k++)
			free(params[k]);
		if (n < n_allow)
			n += (size_t)snprintf(ret_allow + n, n_allow - n, "%s%s", n ? ", " : "",
					      s->routes[i].method);
	}
}

static void refuse_route(struct phx_http_request *q, const char *allow)
{
	PHX_AUTO_FREE char *text = NULL;
	if (allow[0]) {
		text = phx_path("%s is not possible on %s; possible: %s", q->method, q->path,
				allow);
		phx_http_refuse(q, 405, -EOPNOTSUPP, text ? text : "method not possible", allow);
	} else {
		text = phx_path("no such resource: %s", q->path);
		phx_http_refuse(q, 404, -ENOENT, text ? text : "no such resource", NULL);
	}
}

static void refuse_body(struct phx_http_request *q, int code)
{
	PHX_AUTO_FREE char *text = NULL;
	if (code == -EDESTADDRREQ) {
		phx_http_refuse(
			q, 411, -EINVAL,
			"the request must tell the length of its body, once (Content-Length)",
			NULL);
		return;
	}
	if (code == -EDQUOT)
		text = phx_path("what you are sending at once is more than one may: try again when "
				"an upload has ended");
	else if (code != -EFBIG)
		text = phx_path("the request's body cannot be stored: %s", strerror(-code));
	else if (q->route->body_max)
		text = phx_path("the request's body is larger than %zu bytes", q->route->body_max);
	else
		text = phx_path("%s on %s takes no body", q->method, q->path);
	phx_http_reply_error(q, code, text ? text : "body refused");
}

/* Its identity's share of requests. */
static bool may_come(struct phx_http_request *q)
{
	struct phx_http_connection *c = q->connection;
	char text[160];
	unsigned wait_s = q->route->via & PHX_HTTP_UNCOUNTED
		? 0
		: phx_http_guard_request(c->listener->guard, &c->entry, phx_clock_ms());
	if (!wait_s)
		return true;
	snprintf(text, sizeof(text),
		 "you have sent more requests in a short time than one may (requests_per_s): try "
		 "again in %u s",
		 wait_s);
	phx_http_reply_later(q, wait_s, text);
	return false;
}

/* False after answering. */
static bool may_ask(struct phx_http_request *q)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	if (q->connection->refused < 0) {
		phx_http_reply_error(
			q, -EDQUOT,
			"your certificate or session has as many connections open as one may: "
			"close some, or try again when they have ended");
		return false;
	}
	if (!may_come(q))
		return false;
	if (!(q->route->via & PHX_HTTP_CERT) || peer->via != PHX_HTTP_TLS || peer->has_cert ||
	    peer->has_session)
		return true;
	if (phx_http_browser_has_cookie(q))
		phx_http_refuse(q, 401, -EACCES, "your session has ended: sign in again", NULL);
	else
		phx_http_refuse(q, 403, -EPERM,
				"not permitted: a client certificate of this site is wanted here",
				NULL);
	return false;
}

/* Route, query and announced body: q->route to go on, or an answer in place. */
static void admit(struct phx_http_request *q)
{
	PHX_AUTO(phx_http_path_fini) struct phx_http_path path = {0};
	struct phx_err err = {0};
	char allow[128];
	if (phx_http_path_parse(q->path, &path, &err) < 0) {
		phx_http_refuse(q, 400, -EINVAL, err.text, NULL);
		return;
	}
	find_route(q, &path, allow, sizeof(allow));
	if (!q->route) {
		refuse_route(q, allow);
		return;
	}
	phx_http_browser_check(q);
	if (q->response || !may_ask(q))
		return;
	MHD_get_connection_values(q->mhd, MHD_GET_ARGUMENT_KIND, take_argument, q);
	if (q->body_error < 0) {
		phx_http_refuse(q, 400, -EINVAL,
				"query: a bad escape, a control character, or too many arguments",
				NULL);
		return;
	}
	if (q->route->gate && !q->route->gate(q, q->server->arg))
		return;
	int r = phx_http_body_begin(q);
	if (r < 0)
		refuse_body(q, r);
}

/* ---- libmicrohttpd's callback ---- */

/* A beat is held until there is an order, as who polls is until something happens. */
static void tell_answered(const struct phx_http_request *q)
{
	const struct phx_http_server *s = q->server;
	bool held = q->claims[PHX_HTTP_POLL] || (q->route && (q->route->via & PHX_HTTP_UNCOUNTED));
	if (s->answered)
		s->answered(s->arg, q->route, q->status, phx_clock_us() - q->began_us, held);
}

static enum MHD_Result queue(struct phx_http_request *q)
{
	pthread_mutex_lock(&q->server->lock);
	struct MHD_Response *response = PHX_TAKE(q->response);
	q->suspended = false;
	bool constant = q->constant;
	pthread_mutex_unlock(&q->server->lock);
	if (!response)
		return MHD_NO;
	/* what a person is told stays in no browser */
	if (q->signed_in && !constant && q->route && (q->route->via & PHX_HTTP_CERT))
		MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	tell_answered(q);
	enum MHD_Result r = MHD_queue_response(q->mhd, q->status, response);
	if (!constant)
		MHD_destroy_response(response);
	return r;
}

static enum MHD_Result begin(struct phx_http_listener_state *l, struct MHD_Connection *mhd,
			     const char *url, const char *method, void **request_context)
{
	struct phx_http_request *q = new_request(l->server, mhd, url, method);
	if (!q)
		return MHD_NO;
	*request_context = q;
	uint64_t n = phx_http_body_announced(q);
	phx_http_guard_wait(l->guard, &q->connection->entry, n ? PHX_HTTP_BODY : PHX_HTTP_NO_PAUSE,
			    n, phx_clock_ms());
	admit(q);
	if (!q->response)
		return MHD_YES;
	q->body_error = q->body_error ? q->body_error : -EINVAL; /* whatever comes is dropped */
	return n > DROP_MAX ? queue(q) : MHD_YES;
}

static enum MHD_Result take_body(struct phx_http_request *q, const char *data, size_t *n)
{
	if (q->body_error < 0) {
		q->n_body += *n;
		if (q->n_body > (q->route ? q->route->body_max : 0) + DROP_MAX)
			return MHD_NO;
	} else {
		phx_http_body_take(q, data, *n);
	}
	/* a copy that stayed with libmicrohttpd would outlive what was in it */
	explicit_bzero((void *)(uintptr_t)data, *n);
	*n = 0;
	return MHD_YES;
}

static enum MHD_Result handle(struct phx_http_request *q)
{
	q->handled = true;
	phx_http_guard_wait(q->connection->listener->guard, &q->connection->entry,
			    PHX_HTTP_NO_PAUSE, 0, 0);
	phx_http_body_end(q);
	if (q->response)
		return queue(q);
	if (q->body_error < 0)
		refuse_body(q, q->body_error);
	else
		q->route->handler(q, q->server->arg);
	pthread_mutex_lock(&q->server->lock);
	bool suspended = q->suspended, answered = q->response != NULL;
	pthread_mutex_unlock(&q->server->lock);
	if (suspended)
		return MHD_YES; /* called again once it is resumed */
	if (!answered)
		phx_http_refuse(q, 500, -EIO, "the handler of this resource gave no answer", NULL);
	return queue(q);
}

enum MHD_Result phx_http_on_request(void *cls, struct MHD_Connection *mhd, const char *url,
				    const char *method, const char *version,
				    const char *upload_data, size_t *upload_data_size,
				    void **request_context)
{
	struct phx_http_request *q = *request_context;
	(void)version;
	if (!q)
		return begin(cls, mhd, url, method, request_context);
	if (*upload_data_size)
		return take_body(q, upload_data, upload_data_size);
	return q->handled ? queue(q) : handle(q);
}
