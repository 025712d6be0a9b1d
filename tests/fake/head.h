/* A fake head for tests of the agent: the real HTTPS server and PKI, but what it answers is what
 * the test says. */
#ifndef TESTS_FAKE_HEAD_H
#define TESTS_FAKE_HEAD_H

#include "unit/http/world.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/core.h"
#include "agent/log.h"

struct fake_head {
	struct world *world;
	pthread_mutex_t lock;
	/* what it answers */
	int enrol_waits;   /* answers 202 so often first */
	int enrol_bad;     /* gives so often a certificate that is of no use, each in another way */
	int hello_refuses; /* answers 403 so often */
	int beat_409;      /* answers 409 so often */
	struct phx_pki *issuer; /* what it gives certificates by; NULL: the world's */
	const char *ca;         /* the CAs that it gives with them; NULL: none */
	json_t *role;           /* of hello, NULL = null */
	json_t *orders;         /* array: given until the agent says that it runs them */
	const char *beat_text;  /* sent instead of an answer, once */
	/* what it heard */
	int n_enrols, n_hellos, n_beats;
	char key_fp[4][PHX_FINGERPRINT_MAX];
	json_t *enrol, *hello, *beat, *results; /* the last; all results */
	json_t *rows;                           /* of all tasks that were answered */
	int rows_away;    /* answers 503 so often to them, and has them all the same */
	size_t most_rows; /* in one answer */
	/* the agent */
	pid_t agent;
	char root[96];
};

static inline json_t *take_body(struct phx_http_request *q)
{
	size_t n;
	json_t *j = NULL;
	const char *text = phx_http_body(q, &n);
	phx_json_parse(text, n, &j, NULL);
	return j ? j : json_object();
}

static inline void replace(json_t **to, json_t *j)
{
	json_decref(*to);
	*to = j;
}

/* What a head that is not in order gives. malloc'd. */
static inline char *unusable_certificate(struct phx_pki *pki, const char *csr, int which)
{
	PHX_AUTO_FREE char *key = NULL;
	PHX_AUTO_FREE char *other = NULL;
	char *cert = NULL;
	switch (which) {
	case 1:
		return strdup("-----BEGIN CERTIFICATE-----\nTm8K\n-----END CERTIFICATE-----\n");
	case 2:
		phx_csr_make("n1", &key, &other, NULL);
		phx_cert_issue(pki, other, PHX_CERT_NODE, "n1", 10, &cert, NULL);
		return cert;
	default:
		phx_cert_issue(pki, csr, PHX_CERT_USER, "n1", 10, &cert, NULL);
		return cert;
	}
}

static inline void fake_enrol(struct phx_http_request *q, void *arg)
{
	struct fake_head *h = arg;
	pthread_mutex_lock(&h->lock);
	replace(&h->enrol, take_body(q));
	const char *csr = phx_json_str(h->enrol, "csr", "");
	phx_csr_fingerprint(csr, h->key_fp[h->n_enrols++ % 4], NULL);
	PHX_AUTO_FREE char *cert = NULL;
	PHX_AUTO_JSON json_t *answer = NULL;
	int status = 202;
	if (h->enrol_waits-- > 0) {
		answer = json_pack("{s:s}", "state", "new");
	} else if (h->enrol_bad > 0) {
		cert = unusable_certificate(h->world->pki, csr, h->enrol_bad--);
		status = 200;
		answer = json_pack("{s:s,s:s}", "node", "n1", "cert", cert);
	} else if (phx_cert_issue(h->issuer ? h->issuer : h->world->pki, csr, PHX_CERT_NODE, "n1",
				  PHX_NODE_CERT_DAYS, &cert, NULL) == 0) {
		status = 200;
		answer = json_pack("{s:s,s:s,s:s*}", "node", "n1", "cert", cert, "ca", h->ca);
	}
	pthread_mutex_unlock(&h->lock);
	phx_http_reply_json(q, status, answer);
}

static inline void fake_hello(struct phx_http_request *q, void *arg)
{
	struct fake_head *h = arg;
	pthread_mutex_lock(&h->lock);
	replace(&h->hello, take_body(q));
	h->n_hellos++;
	bool refuse = h->hello_refuses-- > 0;
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:s,s:s,s:i,s:O}", "node", "n1", "boot", "wait", "beat_ms", 200, "role",
			  h->role ? h->role : json_null());
	pthread_mutex_unlock(&h->lock);
	if (refuse)
		phx_http_reply_error(q, -EACCES, "not this certificate");
	else
		phx_http_reply_json(q, 200, answer);
}

static inline bool fake_runs(const json_t *running, const json_t *order)
{
	int64_t id = phx_json_int(order, "id", 0);
	size_t i;
	json_t *r;
	bool job = phx_str_eq(phx_json_str(order, "kind", ""), "job");
	json_array_foreach((json_t *)running, i, r)
		if (job ? json_integer_value(json_array_get(r, 0)) == id &&
				    json_integer_value(json_array_get(r, 1)) ==
					    phx_json_int(order, "run", 0)
			    : json_is_string(json_array_get(r, 0))
			    ? json_integer_value(json_array_get(r, 1)) == id
			    : json_integer_value(r) == id)
			return true;
	return false;
}

static inline void fake_beat(struct phx_http_request *q, void *arg)
{
	struct fake_head *h = arg;
	PHX_AUTO_JSON json_t *list = json_array();
	size_t i;
	json_t *order;
	pthread_mutex_lock(&h->lock);
	replace(&h->beat, take_body(q));
	h->n_beats++;
	json_array_foreach(h->orders, i, order)
		if (!fake_runs(json_object_get(h->beat, "running"), order))
			json_array_append(list, order);
	bool refuse = h->beat_409-- > 0;
	const char *text = PHX_TAKE(h->beat_text);
	pthread_mutex_unlock(&h->lock);
	PHX_AUTO_JSON json_t *answer = json_pack("{s:O}", "orders", list);
	if (refuse)
		phx_http_reply_error(q, -ESTALE, "say hello first");
	else if (text)
		phx_http_reply_text(q, 200, "application/json", text);
	else
		phx_http_reply_json(q, 200, answer);
}

static inline void fake_result(struct phx_http_request *q, void *arg)
{
	struct fake_head *h = arg;
	PHX_AUTO_JSON json_t *empty = json_object();
	pthread_mutex_lock(&h->lock);
	json_array_append_new(h->results, take_body(q));
	pthread_mutex_unlock(&h->lock);
	phx_http_reply_json(q, 200, empty);
}

static inline void fake_tasks(struct phx_http_request *q, void *arg)
{
	struct fake_head *h = arg;
	PHX_AUTO_JSON json_t *empty = json_object();
	PHX_AUTO_JSON json_t *body = take_body(q);
	json_t *rows = json_object_get(body, "rows");
	pthread_mutex_lock(&h->lock);
	json_array_extend(h->rows, rows);
	if (json_array_size(rows) > h->most_rows)
		h->most_rows = json_array_size(rows);
	bool away = h->rows_away-- > 0;
	pthread_mutex_unlock(&h->lock);
	if (away)
		phx_http_reply_error(q, -EAGAIN, "later");
	else
		phx_http_reply_json(q, 200, empty);
}

static inline void fake_package(struct phx_http_request *q, void *arg)
{
	struct fake_head *h = arg;
	char path[300];
	snprintf(path, sizeof(path), "%s/packages/%s", h->world->dir, phx_http_param(q, 0));
	phx_http_reply_file(q, path, NULL, NULL);
}

static const struct phx_http_route fake_routes[] = {
	{"POST", "/v1/agent/enrol", 1u << PHX_HTTP_TLS, fake_enrol, 1 << 16, false, NULL},
	{"POST", "/v1/agent/hello", 1u << PHX_HTTP_TLS, fake_hello, 1 << 20, false, NULL},
	{"POST", "/v1/agent/beat", 1u << PHX_HTTP_TLS, fake_beat, 1 << 16, false, NULL},
	{"POST", "/v1/agent/result", 1u << PHX_HTTP_TLS, fake_result, 1 << 16, false, NULL},
	{"POST", "/v1/agent/tasks", 1u << PHX_HTTP_TLS, fake_tasks, 1 << 18, false, NULL},
	{"GET", "/packages/*", 1u << PHX_HTTP_TLS, fake_package, 0, false, NULL},
};

/* ---- the agent, a real process below a root of its own ---- */

static inline char *root_path(const struct fake_head *h, const char *name)
{
	static char path[8][256];
	static int i;
	char *p = path[i++ % 8];
	snprintf(p, 256, "%s/%s", h->root, name);
	return p;
}

static inline void fake_agent_start(struct fake_head *h)
{
	char *run = root_path(h, "run"), *facts = root_path(h, "facts.json"),
	     *log = root_path(h, "log");
	h->agent = fork();
	if (h->agent == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, STDERR_FILENO);
		execl(AGENT_PROGRAM, "phx-agent", "--root", h->root, "--run-dir", run, "--facts",
		      facts, "--boot-id", "boot-1", NULL);
		_exit(127);
	}
	assert_true(h->agent > 0);
}

/* Returns its exit status, or 128 + signal. */
static inline int fake_agent_end(struct fake_head *h, int sig)
{
	int status = 0;
	if (h->agent <= 0)
		return -1;
	kill(h->agent, sig);
	waitpid(h->agent, &status, 0);
	h->agent = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void fake_write_root(struct fake_head *h)
{
	static const char facts[] =
		"{\"arch\": \"x86_64\", \"cpus\": 2, \"memory_bytes\": 1073741824, \"serial\": "
		"\"SN1\", \"uuid\": \"u-1\","
		"\"disks\": [{\"id\": \"serial-T-1\", \"serial\": \"1\", \"size_bytes\": "
		"4294967296}],"
		"\"nics\": [{\"mac\": \"02:00:00:00:00:01\"}, {\"mac\": \"02:00:00:00:00:02\"}]}";
	char conf[300];
	snprintf(h->root, sizeof(h->root), "%s/node", h->world->dir);
	assert_int_equal(chmod(h->world->dir, 0755), 0);
	assert_int_equal(phx_dir_make(root_path(h, "etc/phoenix"), 0755, NULL), 0);
	snprintf(conf, sizeof(conf),
		 "server = \"127.0.0.1:%u\"; supervisor = \"own\"; ca = \"%s\"; site_pub = "
		 "\"%s/pki/site.pub\";\n",
		 phx_http_server_port(h->world->server, PHX_HTTP_TLS), h->world->ca, h->world->dir);
	world_put(root_path(h, "etc/phoenix/agent.conf"), conf);
	world_put(root_path(h, "etc/phoenix/token"), "secret-token\n");
	world_put(root_path(h, "facts.json"), facts);
}

static inline int fake_head_setup(void **state)
{
	struct fake_head *h = calloc(1, sizeof(*h));
	struct phx_http_server_config config = {.arg = h, .threads = 2};
	pthread_mutex_init(&h->lock, NULL);
	h->orders = json_array();
	h->results = json_array();
	h->rows = json_array();
	h->world = world_new(fake_routes, PHX_ARRAY_SIZE(fake_routes), &config);
	fake_write_root(h);
	*state = h;
	return 0;
}

static inline int fake_head_teardown(void **state)
{
	struct fake_head *h = *state;
	fake_agent_end(h, SIGTERM);
	world_free(h->world);
	json_t *all[] = {h->role, h->orders, h->enrol, h->hello, h->beat, h->results, h->rows};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		json_decref(all[i]);
	free(h);
	return 0;
}

/* ---- talking ---- */

/* From now on exactly this order is outstanding; NULL = none. Takes the reference. */
static inline void fake_order(struct fake_head *h, json_t *order)
{
	pthread_mutex_lock(&h->lock);
	json_array_clear(h->orders);
	if (order)
		json_array_append_new(h->orders, order);
	pthread_mutex_unlock(&h->lock);
}

static inline size_t fake_n_results(struct fake_head *h)
{
	pthread_mutex_lock(&h->lock);
	size_t n = json_array_size(h->results);
	pthread_mutex_unlock(&h->lock);
	return n;
}

static inline int fake_count(struct fake_head *h, const int *what)
{
	pthread_mutex_lock(&h->lock);
	int n = *what;
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* Waits until `cond` holds, at most 15 s. */
#define HEAD_WAIT(h, cond) \
	do { \
		int64_t end_ = phx_clock_ms() + 60000; \
		while (!(cond) && phx_clock_ms() < end_) \
			phx_sleep_ms(10); \
		if (!(cond)) { \
			char *log_ = NULL; \
			phx_file_read(root_path(h, "log"), 1 << 20, &log_, NULL, NULL); \
			fail_msg("%s; the agent says:\n%s", #cond, log_ ? log_ : "nothing"); \
		} \
	} while (0)

/* As the head does: what failed before is no answer to a later attempt. */
static inline bool fake_answers(const json_t *result, const json_t *order)
{
	int64_t attempt = phx_json_int(json_object_get(order, "step"), "attempt", 0);
	return phx_json_int(result, "id", 0) == phx_json_int(order, "id", 0) &&
		(phx_json_int(result, "result", 0) == 0 ||
		 phx_json_int(result, "attempt", 0) >= attempt);
}

/* The first result from `from` on that answers the order: an agent may tell of the one before
 * twice. New reference. */
static inline json_t *fake_answer(struct fake_head *h, size_t from, const json_t *order)
{
	json_t *found = NULL;
	pthread_mutex_lock(&h->lock);
	for (size_t i = from; !found && i < json_array_size(h->results); i++)
		if (fake_answers(json_array_get(h->results, i), order))
			found = json_deep_copy(json_array_get(h->results, i));
	pthread_mutex_unlock(&h->lock);
	return found;
}

/* Gives the order and waits for its result, a new reference; then nothing is outstanding. */
static inline json_t *fake_ask(struct fake_head *h, json_t *order)
{
	size_t before = fake_n_results(h);
	json_t *result = NULL;
	json_incref(order);
	fake_order(h, order);
	HEAD_WAIT(h, result || (result = fake_answer(h, before, order)));
	json_decref(order);
	fake_order(h, NULL);
	return result;
}

#endif
