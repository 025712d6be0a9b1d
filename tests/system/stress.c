/* Many clients at once against a real head: agents that enrol, register, beat and answer orders,
 * readers, people who order things about, strangers, and rubbish. Nothing may hang, crash or answer
 * with 500. For phxd_stress.sh.
 *
 *	stress --socket PATH --server URL --ca FILE --dir DIR [--agents N] [--seconds S]
 *
 * Ends with status 0 when every request was answered in time; says on stdout how many there were. A
 * head that is restarted meanwhile is no failure. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "http/http.h"
#include "pki/pki.h"

enum { TIMEOUT_MS = 8000, THREADS_MAX = 64 };

struct stress {
	const char *socket, *server, *ca, *dir;
	unsigned agents, seconds;
	time_t end;
	atomic_uint answers, slow, broken, away;
};

struct worker {
	struct stress *s;
	unsigned index, seed;
	pthread_t thread;
};

static unsigned roll(struct worker *w, unsigned n)
{
	return (unsigned)rand_r(&w->seed) % n;
}

static double seconds_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&t, NULL);
}

static bool going_on(const struct stress *s)
{
	return time(NULL) < s->end;
}

static struct phx_http_client *client(const struct stress *s, const char *cert, const char *key)
{
	struct phx_http_client *c = NULL;
	struct phx_http_client_config config = {.base_url = s->server,
						.ca_pem_path = s->ca,
						.cert_pem_path = cert,
						.key_pem_path = key};
	return phx_http_client_new(&config, &c, NULL) == 0 ? c : NULL;
}

static struct phx_http_client *admin(const struct stress *s)
{
	struct phx_http_client *c = NULL;
	struct phx_http_client_config config = {.unix_path = s->socket, .base_url = "http://unix"};
	return phx_http_client_new(&config, &c, NULL) == 0 ? c : NULL;
}

/* The status, 0 when the head was away. Takes `body`. */
static long ask(struct stress *s, struct phx_http_client *c, const char *method, const char *path,
		json_t *body, json_t **ret)
{
	struct phx_http_response r = {0};
	struct phx_err err = {0};
	double begun = seconds_now();
	int code = phx_http_call(c, method, path, body, TIMEOUT_MS, &r, &err);
	json_decref(body);
	if (code == -ETIMEDOUT || seconds_now() - begun > TIMEOUT_MS / 1000.0) {
		atomic_fetch_add(&s->slow, 1);
		fprintf(stderr, "stress: %s %s: %s\n", method, path,
			err.text[0] ? err.text : "slow");
	}
	if (code < 0) {
		atomic_fetch_add(&s->away, 1);
		nap(50);
		return 0;
	}
	atomic_fetch_add(&s->answers, 1);
	if (r.status >= 500 && r.status != 503 && r.status != 507) {
		atomic_fetch_add(&s->broken, 1);
		fprintf(stderr, "stress: %s %s: %ld %s\n", method, path, r.status,
			r.body ? r.body : "");
	}
	if (ret)
		*ret = r.n ? json_loads(r.body, 0, NULL) : NULL;
	long status = r.status;
	phx_http_response_fini(&r);
	return status;
}

/* ---- agents ---- */

static json_t *facts_of(unsigned i)
{
	char mac[24], uuid[40], disk[32];
	snprintf(mac, sizeof(mac), "52:54:00:00:%02x:%02x", i >> 8, i & 255);
	snprintf(uuid, sizeof(uuid), "7e577e57-0000-4000-8000-%012u", i);
	snprintf(disk, sizeof(disk), "serial-disk%u", i);
	return json_pack("{s:s,s:i,s:[{s:s}],s:[{s:s,s:I,s:b}]}", "uuid", uuid, "cpus", 2, "nics",
			 "mac", mac, "disks", "id", disk, "size_bytes", (json_int_t)4 << 30,
			 "can_discard", 1);
}

static json_t *enrolment(unsigned i, const char *csr, const char *start)
{
	char mac[24];
	snprintf(mac, sizeof(mac), "52:54:00:00:%02x:%02x", i >> 8, i & 255);
	return json_pack("{s:s,s:[s],s:s,s:s}", "csr", csr, "macs", mac, "serial", mac, "start",
			 start);
}

static json_t *hello(unsigned i, unsigned boot, const char *env)
{
	char id[32];
	snprintf(id, sizeof(id), "boot-%u-%u", i, boot);
	return json_pack("{s:s,s:s,s:s,s:o}", "boot_id", id, "env", env, "system_digest", "d",
			 "facts", facts_of(i));
}

/* The token of its start, if there is one now, as a machine that boots is given it. */
static void ask_start(struct phx_http_client *c, unsigned i, char ret[96])
{
	struct phx_http_response r = {0};
	char path[64];
	snprintf(path, sizeof(path), "/boot/52:54:00:00:%02x:%02x", i >> 8, i & 255);
	int got = phx_http_call(c, "GET", path, NULL, 5000, &r, NULL);
	const char *at = got == 0 && r.body ? strstr(r.body, "phx.start=") : NULL;
	if (at)
		snprintf(ret, 96, "%.*s", (int)strcspn(at + 10, " \n"), at + 10);
	phx_http_response_fini(&r);
}

/* A certificate of its own in `cert`, `key`; false when the head would not give one in time. */
static bool certify(struct worker *w, unsigned i, char cert[200], char key[200])
{
	char start[96] = "";
	struct stress *s = w->s;
	char *key_pem = NULL, *csr = NULL;
	struct phx_http_client *c = client(s, NULL, NULL);
	bool done = false;
	snprintf(cert, 200, "%s/%u.pem", s->dir, i);
	snprintf(key, 200, "%s/%u.key", s->dir, i);
	if (phx_csr_make("agent", &key_pem, &csr, NULL) < 0)
		abort();
	while (!done && going_on(s)) {
		PHX_AUTO_JSON json_t *j = NULL;
		ask_start(c, i, start);
		if (ask(s, c, "POST", "/v1/agent/enrol", enrolment(i, csr, start), &j) == 200) {
			const char *pem = phx_json_str(j, "cert", "");
			done = phx_file_write(cert, pem, strlen(pem), 0600, NULL) == 0 &&
				phx_file_write(key, key_pem, strlen(key_pem), 0600, NULL) == 0;
		} else {
			nap(20);
		}
	}
	free(key_pem);
	free(csr);
	phx_http_client_free(c);
	return done;
}

static void do_orders(struct worker *w, struct phx_http_client *c, const json_t *answer,
		      const char **env, unsigned *boot)
{
	size_t k;
	json_t *o;
	json_array_foreach(json_object_get(answer, "orders"), k, o) {
		json_t *step = json_object_get(o, "step");
		const char *kind = phx_json_str(step, "kind", "");
		bool job = strcmp(phx_json_str(o, "kind", ""), "step") != 0;
		if (!job && (!strcmp(kind, "kexec") || !strcmp(kind, "enter"))) {
			*boot += kind[0] == 'k';
			*env = kind[0] == 'k' ? "deploy" : "os";
			ask(w->s, c, "POST", "/v1/agent/hello", hello(w->index, *boot, *env), NULL);
			continue;
		}
		ask(w->s, c, "POST", "/v1/agent/result",
		    json_pack("{s:s,s:I,s:I,s:i,s:{s:s,s:s,s:b,s:I,s:I}}", "kind",
			      job ? "job" : "step", "id", phx_json_int(o, "id", 0), "epoch",
			      phx_json_int(o, "epoch", 0), "result", roll(w, 20) ? 0 : -5, "wipe",
			      "disk_id", phx_json_str(step, "disk", ""), "method",
			      phx_json_str(step, "method", "auto"), "verified", 1, "size_bytes",
			      (json_int_t)4096, "verified_bytes", (json_int_t)4096),
		    NULL);
	}
}

static void *agent(void *arg)
{
	struct worker *w = arg;
	char cert[200], key[200], id[32];
	const char *env = "deploy";
	unsigned boot = 1;
	if (!certify(w, w->index, cert, key))
		return NULL;
	struct phx_http_client *c = client(w->s, cert, key);
	ask(w->s, c, "POST", "/v1/agent/hello", hello(w->index, boot, env), NULL);
	while (going_on(w->s)) {
		PHX_AUTO_JSON json_t *j = NULL;
		snprintf(id, sizeof(id), "boot-%u-%u", w->index, boot);
		long status = ask(w->s, c, "POST", "/v1/agent/beat",
				  json_pack("{s:s,s:s,s:{s:i},s:b,s:[],s:i}", "env", env, "boot_id",
					    id, "monitor", "load", (int)roll(w, 9), "healthy", 1,
					    "running", "wait_ms", (int)roll(w, 400)),
				  &j);
		if (status == 409 || !roll(w, 50))
			ask(w->s, c, "POST", "/v1/agent/hello", hello(w->index, boot, env), NULL);
		if (status == 403) /* removed: it comes again as a new one */
			break;
		do_orders(w, c, j, &env, &boot);
	}
	phx_http_client_free(c);
	return going_on(w->s) ? agent(w) : NULL;
}

/* ---- people ---- */

static void *reader(void *arg)
{
	static const char *const paths[] = {
		"/v1/nodes",           "/v1/nodes/n1", "/v1/status",
		"/v1/metrics",         "/v1/jobs",     "/v1/events?wait=1&after=5",
		"/v1/events?limit=10", "/v1/roles",    "/v1/nodes?names=@up",
		"/v1/rules/match",     "/v1/config",   "/v1/events?wait=1&node=n1&after=99999999"};
	struct worker *w = arg;
	struct phx_http_client *c = admin(w->s);
	while (going_on(w->s))
		ask(w->s, c, "GET", paths[roll(w, PHX_ARRAY_SIZE(paths))], NULL, NULL);
	phx_http_client_free(c);
	return NULL;
}

static void *orderer(void *arg)
{
	static const char *const actions[] = {"assign", "assign",     "assign", "release", "drain",
					      "resume", "resume",     "wipe",   "rebuild", "power",
					      "rm",     "quarantine", "inspect"};
	static const char *const roles[] = {"batch", "web", "vault"};
	struct worker *w = arg;
	struct phx_http_client *c = admin(w->s);
	while (going_on(w->s)) {
		char path[64], name[32];
		unsigned i = 1 + roll(w, w->s->agents);
		json_t *body;
		const char *what = actions[roll(w, PHX_ARRAY_SIZE(actions))];
		snprintf(name, sizeof(name), "n%u", i);
		snprintf(path, sizeof(path), "/v1/actions/%s", what);
		body = json_pack("{s:s}", "nodes", name);
		if (!strcmp(what, "assign"))
			json_object_set_new(body, "role", json_string(roles[roll(w, 3)]));
		if (!strcmp(what, "power"))
			json_object_set_new(body, "op", json_string("status"));
		if (!strcmp(what, "rm"))
			json_object_set_new(body, "force", json_true());
		ask(w->s, c, "POST", path, body, NULL);
		if (!strcmp(what, "rm") || !roll(w, 10))
			for (unsigned k = 1; k <= w->s->agents; k++) {
				char mac[24], n[16];
				snprintf(n, sizeof(n), "n%u", k);
				snprintf(mac, sizeof(mac), "52:54:00:00:%02x:%02x", k >> 8,
					 k & 255);
				ask(w->s, c, "POST", "/v1/nodes",
				    json_pack("{s:s,s:[s]}", "name", n, "macs", mac), NULL);
			}
		if (!roll(w, 4))
			ask(w->s, c, "POST", "/v1/jobs",
			    json_pack("{s:[s],s:s}", "argv", "true", "user", "nobody"), NULL);
		nap((int)roll(w, 30));
	}
	phx_http_client_free(c);
	return NULL;
}

/* ---- strangers ---- */

static void *stranger(void *arg)
{
	struct worker *w = arg;
	char *key = NULL, *csr = NULL;
	if (phx_csr_make("agent", &key, &csr, NULL) < 0)
		abort();
	struct phx_http_client *c = client(w->s, NULL, NULL);
	while (going_on(w->s)) {
		static const char *const others[] = {"/v1/agent/beat", "/v1/agent/hello",
						     "/v1/actions/rm", "/v1/nodes"};
		ask(w->s, c, "POST", "/v1/agent/enrol",
		    enrolment(1000 + roll(w, 3000), csr, "1.not-a-token"), NULL);
		const char *path = others[roll(w, PHX_ARRAY_SIZE(others))];
		if (ask(w->s, c, "POST", path, json_pack("{s:s}", "nodes", "@all"), NULL) == 200)
			atomic_fetch_add(&w->s->broken, 1);
	}
	phx_http_client_free(c);
	free(key);
	free(csr);
	return NULL;
}

/* ---- all of them ---- */

static void *(*const kinds[])(void *) = {reader, reader, orderer, orderer, stranger};

static void run(struct stress *s)
{
	struct worker workers[THREADS_MAX];
	size_t n = s->agents + PHX_ARRAY_SIZE(kinds);
	if (n > THREADS_MAX)
		abort();
	s->end = time(NULL) + s->seconds;
	for (unsigned i = 0; i < n; i++) {
		workers[i] = (struct worker){.s = s, .index = i + 1, .seed = i + 1};
		if (pthread_create(&workers[i].thread, NULL,
				   i < s->agents ? agent : kinds[i - s->agents], &workers[i]))
			abort();
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"socket", 1, NULL, 'u'},
						{"server", 1, NULL, 's'},
						{"ca", 1, NULL, 'c'},
						{"dir", 1, NULL, 'd'},
						{"agents", 1, NULL, 'a'},
						{"seconds", 1, NULL, 't'},
						{0}};
	struct stress s = {.agents = 8, .seconds = 5};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'u')
			s.socket = optarg;
		else if (c == 's')
			s.server = optarg;
		else if (c == 'c')
			s.ca = optarg;
		else if (c == 'd')
			s.dir = optarg;
		else if (c == 'a')
			s.agents = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 't')
			s.seconds = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 64;
	}
	if (!s.socket || !s.server || !s.ca || !s.dir)
		return 64;
	run(&s);
	printf("%u answers, %u times away, %u too late, %u broken\n", atomic_load(&s.answers),
	       atomic_load(&s.away), atomic_load(&s.slow), atomic_load(&s.broken));
	return atomic_load(&s.slow) || atomic_load(&s.broken) || !atomic_load(&s.answers);
}
