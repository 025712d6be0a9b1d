/* share: the daemon's own part of a hand-over. A fake agent, which answers each order at once,
 * against a real phxd: what is left of a hand-over's time is phxd's (and that of two TLS
 * connections on one machine, counted against it).
 *
 *	share --server ADDRESS:PORT --ca FILE --socket PATH --image NAME --digest HEX --runs N
 *	      ROLE ROLE
 *
 * Counted for a hand-over: from the command to the first order, from each result to the next order,
 * from the last result to its answer. Prints one line of JSON: {"ms": [..], "steps": n}. The orders
 * come on one connection that polls and the results go on another, as with phx-agent. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "bench/machine.h"

enum { CALL_MS = 30000, GIVE_UP_MS = 60000, NODE_NUMBER = 4000001 };

struct share {
	const char *server, *ca, *socket, *image, *digest;
	unsigned runs;
	char dir[64]; /* key and certificate */
	struct machine machine;
	struct phx_http_client *admin, *results;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock: */
	json_t *order; /* not yet taken by the main thread */
	double order_ms;
	json_int_t running;
	char role[PHX_NAME_MAX];
	bool quit;
};

static struct phx_http_client *head_client(const struct share *s, bool certified)
{
	struct phx_http_client *c = NULL;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *url = phx_path("https://%s", s->server);
	PHX_AUTO_FREE char *key = phx_path("%s/key.pem", s->dir);
	PHX_AUTO_FREE char *cert = phx_path("%s/cert.pem", s->dir);
	struct phx_http_client_config config = {.base_url = url,
						.ca_pem_path = s->ca,
						.cert_pem_path = certified ? cert : NULL,
						.key_pem_path = certified ? key : NULL};
	if (phx_http_client_new(&config, &c, &err) < 0)
		machine_die("%s", err.text);
	return c;
}

static json_t *post(struct phx_http_client *c, const char *path, json_t *body)
{
	struct phx_err err = {0};
	json_t *answer = NULL;
	int r = phx_http_call_json(c, "POST", path, body, CALL_MS, &answer, &err);
	json_decref(body);
	if (r < 0)
		machine_die("%s: %s", path, err.text);
	return answer;
}

/* ---- the connection that polls ---- */

static void take_orders(struct share *s, const json_t *orders, double now)
{
	pthread_mutex_lock(&s->lock);
	json_t *o = json_array_get(orders, 0);
	if (o && phx_json_int(o, "id", 0) != s->running) {
		s->order = json_incref(o);
		s->order_ms = now;
		s->running = phx_json_int(o, "id", 0);
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
}

static void *poll_thread(void *arg)
{
	struct share *s = arg;
	struct phx_http_client *c = head_client(s, true);
	bool quit = false;
	for (unsigned tick = 0; !quit; tick++) {
		char role[PHX_NAME_MAX];
		pthread_mutex_lock(&s->lock);
		PHX_STR_SET(role, s->role);
		json_t *running = s->running ? json_pack("[I]", s->running) : json_array();
		quit = s->quit;
		pthread_mutex_unlock(&s->lock);
		PHX_AUTO_JSON json_t *answer = post(
			c, "/v1/agent/beat", machine_beat(&s->machine, role, role, running, tick));
		take_orders(s, json_object_get(answer, "orders"), machine_now_ms());
	}
	phx_http_client_free(c);
	return NULL;
}

/* ---- one hand-over ---- */

static json_t *next_order(struct share *s, double *ret_ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GIVE_UP_MS / 1000;
	pthread_mutex_lock(&s->lock);
	while (!s->order)
		if (pthread_cond_timedwait(&s->changed, &s->lock, &until) == ETIMEDOUT)
			machine_die("no order came within %d s", GIVE_UP_MS / 1000);
	json_t *o = PHX_TAKE(s->order);
	*ret_ms = s->order_ms;
	pthread_mutex_unlock(&s->lock);
	return o;
}

static void set_role(struct share *s, const char *role)
{
	pthread_mutex_lock(&s->lock);
	PHX_STR_SET(s->role, role);
	pthread_mutex_unlock(&s->lock);
}

static void assign(struct share *s, const char *role)
{
	PHX_AUTO_JSON json_t *answer = post(s->admin, "/v1/actions/assign",
					    json_pack("{s:s,s:s,s:{s:s}}", "nodes", s->machine.name,
						      "role", role, "setup", "mode", "noop"));
	const json_t *result = json_array_get(json_object_get(answer, "results"), 0);
	if (phx_json_int(result, "code", -1) != 0 || !phx_json_bool(result, "changed", false))
		machine_die("assign %s: %s", role, phx_json_str(result, "error", "nothing to do"));
}

/* Answers all orders of one hand-over; returns the daemon's milliseconds. */
static double hand_over(struct share *s, const char *role, unsigned *ret_steps)
{
	double share_ms = 0, asked_ms = machine_now_ms();
	assign(s, role);
	for (bool last = false; !last; ++*ret_steps) {
		double order_ms;
		PHX_AUTO_JSON json_t *o = next_order(s, &order_ms);
		const char *kind = phx_json_str(json_object_get(o, "step"), "kind", "");
		share_ms += order_ms - asked_ms;
		last = !strcmp(kind, "health");
		if (!strcmp(kind, "stop"))
			set_role(s, "");
		if (!strcmp(kind, "start"))
			set_role(s, role);
		asked_ms = machine_now_ms();
		json_decref(post(s->results, "/v1/agent/result",
				 json_pack("{s:s,s:I,s:I,s:i,s:s}", "kind", "step", "id",
					   (json_int_t)phx_json_int(o, "id", 0), "epoch",
					   (json_int_t)phx_json_int(o, "epoch", 0), "result", 0,
					   "text", "")));
	}
	return share_ms + machine_now_ms() - asked_ms;
}

/* ---- the program ---- */

static void write_file(const struct share *s, const char *name, const char *text)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s", s->dir, name);
	if (!path || phx_file_write(path, text, strlen(text), 0600, &err) < 0)
		machine_die("%s", err.text);
}

static void enrol(struct share *s)
{
	struct phx_err err = {0};
	struct phx_http_client_config config = {.unix_path = s->socket, .base_url = "http://phxd"};
	if (!mkdtemp(s->dir))
		machine_die("%s: %s", s->dir, strerror(errno));
	machine_init(&s->machine, "share", NODE_NUMBER);
	struct phx_http_client *bare = head_client(s, false);
	if (phx_http_client_new(&config, &s->admin, &err) < 0 ||
	    machine_announce(&s->machine, s->admin, &err) < 0 ||
	    machine_enrol(&s->machine, bare, &err) < 0)
		machine_die("%s", err.text);
	phx_http_client_free(bare);
	write_file(s, "key.pem", s->machine.key);
	write_file(s, "cert.pem", s->machine.cert);
	s->results = head_client(s, true);
	json_decref(post(s->results, "/v1/agent/hello",
			 machine_hello(&s->machine, "", "", s->image, s->digest)));
}

static void measure(struct share *s, char *const roles[2])
{
	unsigned steps = 0;
	pthread_t thread;
	if (pthread_create(&thread, NULL, poll_thread, s))
		machine_die("no thread");
	hand_over(s, roles[0], &steps); /* not counted: the node had no role */
	printf("{\"ms\": [");
	steps = 0;
	for (unsigned i = 0; i < s->runs; i++)
		printf("%s%.2f", i ? ", " : "", hand_over(s, roles[(i + 1) % 2], &steps));
	printf("], \"steps\": %u}\n", steps);
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_mutex_unlock(&s->lock);
	pthread_join(thread, NULL);
}

static void finish(struct share *s)
{
	struct phx_err err = {0};
	phx_http_client_free(s->admin);
	phx_http_client_free(s->results);
	machine_fini(&s->machine);
	phx_dir_remove(s->dir, &err);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"server", required_argument, NULL, 's'},
		{"ca", required_argument, NULL, 'a'},
		{"socket", required_argument, NULL, 'u'},
		{"image", required_argument, NULL, 'i'},
		{"digest", required_argument, NULL, 'd'},
		{"runs", required_argument, NULL, 'n'},
		{0},
	};
	struct share s = {.runs = 20,
			  .dir = "/tmp/phx-share.XXXXXX",
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .changed = PTHREAD_COND_INITIALIZER};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		const char **const texts[256] = {['s'] = &s.server,
						 ['a'] = &s.ca,
						 ['u'] = &s.socket,
						 ['i'] = &s.image,
						 ['d'] = &s.digest};
		uint64_t n = 0;
		if (c == 'n' && phx_u64_parse(optarg, 1, 10000, &n) == 0)
			s.runs = (unsigned)n;
		else if (c != 'n' && texts[c & 0xff])
			*texts[c & 0xff] = optarg;
		else
			machine_die("usage: see the head of allocation.c");
	}
	if (!s.server || !s.ca || !s.socket || !s.image || !s.digest || argc - optind != 2)
		machine_die("usage: see the head of allocation.c");
	enrol(&s);
	measure(&s, argv + optind);
	finish(&s);
	return 0;
}
