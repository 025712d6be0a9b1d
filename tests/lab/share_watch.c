/* Writes down once a second what two REs that share nodes have and want, and each run of a job when
 * it is first seen. For share.sh; ends at SIGTERM. A head that is away is waited for.
 *
 *	share_watch --socket PATH --batch RE --web RE --out FILE --runs FILE
 *
 * --out: a line a second. --runs: "id,run,size,started_ms" a run, looked for four times a
 * second. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "http/http.h"

enum { LOOKS_A_SECOND = 4, TIMEOUT_MS = 3000 };

struct run {
	int64_t id, run;
};

struct watch {
	const char *socket, *batch, *web, *out_file, *runs_file;
	FILE *out, *runs;
	struct phx_http_client *client;
	struct phx_list seen; /* struct run: the newest of each job */
	int64_t running, done, killed;
};

static volatile sig_atomic_t ended;

static void on_term(int signal)
{
	(void)signal;
	ended = 1;
}

static json_t *ask(struct watch *w, const char *path)
{
	json_t *j = NULL;
	struct phx_err err = {0};
	if (phx_http_call_json(w->client, "GET", path, NULL, TIMEOUT_MS, &j, &err) < 0)
		fprintf(stderr, "share_watch: %s: %s\n", path, err.text);
	return j;
}

/* ---- jobs ---- */

static struct run *seen(struct watch *w, int64_t id)
{
	PHX_LIST_EACH(struct run, r, &w->seen)
		if (r->id == id)
			return r;
	struct run *r = phx_list_push(&w->seen, sizeof(*r));
	if (r)
		*r = (struct run){.id = id, .run = -1};
	return r;
}

static void see_run(struct watch *w, const json_t *job)
{
	int64_t started_ms = phx_json_int(job, "started_ms", 0),
		run = phx_json_int(job, "kills", 0);
	struct run *r = started_ms ? seen(w, phx_json_int(job, "id", 0)) : NULL;
	if (!r || r->run == run)
		return;
	r->run = run;
	fprintf(w->runs, "%lld,%lld,%lld,%lld\n", (long long)r->id, (long long)run,
		(long long)phx_json_int(job, "nodes", 0), (long long)started_ms);
	fflush(w->runs);
}

static void look_at_jobs(struct watch *w)
{
	char path[PHX_NAME_MAX + 32];
	size_t i;
	json_t *job;
	snprintf(path, sizeof(path), "/v1/jobs?re=%s", w->batch);
	PHX_AUTO_JSON json_t *j = ask(w, path);
	if (!j)
		return;
	w->running = w->done = w->killed = 0;
	json_array_foreach(json_object_get(j, "jobs"), i, job) {
		const char *state = phx_json_str(job, "state", "");
		w->running += !strcmp(state, "running");
		w->done += !strcmp(state, "done");
		w->killed += phx_json_int(job, "kills", 0);
		see_run(w, job);
	}
}

/* ---- the line of a second ---- */

static int64_t number(const json_t *re, const char *group, const char *key)
{
	return phx_json_int(json_object_get(re, group), key, 0);
}

/* Mean of what the instances told last, in thousandths of their shares; -1: none told. */
static int64_t use_milli(const json_t *nodes, const char *pool)
{
	int64_t sum = 0, n = 0;
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		int64_t ppm = phx_json_int(json_object_get(node, "monitor"), "web_use_ppm", -1);
		if (ppm < 0 || strcmp(phx_json_str(node, "pool", ""), pool) != 0)
			continue;
		sum += ppm;
		n++;
	}
	return n ? sum / n / 1000 : -1;
}

static const json_t *re_of(const json_t *res, const char *name)
{
	size_t i;
	json_t *re;
	json_array_foreach(json_object_get(res, "res"), i, re) {
		if (!strcmp(phx_json_str(re, "name", ""), name))
			return re;
	}
	return NULL;
}

static void write_line(struct watch *w)
{
	PHX_AUTO_JSON json_t *res = ask(w, "/v1/res"), *nodes = ask(w, "/v1/nodes");
	const json_t *batch = re_of(res, w->batch), *web = re_of(res, w->web);
	if (!batch || !web)
		return;
	fprintf(w->out, "%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld\n",
		(long long)time(NULL), (long long)number(batch, "nodes", "held"),
		(long long)number(batch, "nodes", "busy"), (long long)number(web, "nodes", "held"),
		(long long)(number(batch, "nodes", "coming") + number(web, "nodes", "coming")),
		(long long)number(web, "nodes", "want"),
		(long long)use_milli(json_object_get(nodes, "nodes"), w->web),
		(long long)number(batch, "jobs", "waiting"), (long long)w->running,
		(long long)w->killed, (long long)w->done);
	fflush(w->out);
}

static void watch(struct watch *w)
{
	struct timespec pause = {0, 1000000000 / LOOKS_A_SECOND};
	time_t last = 0;
	fprintf(w->out, "time,batch,busy,web,coming,want,use_milli,waiting,running,killed,done\n");
	fprintf(w->runs, "id,run,size,started_ms\n");
	while (!ended) {
		look_at_jobs(w);
		if (time(NULL) != last) {
			last = time(NULL);
			write_line(w);
		}
		nanosleep(&pause, NULL);
	}
}

/* ---- calling ---- */

static int read_options(int argc, char **argv, struct watch *w)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'}, {"batch", required_argument, NULL, 'b'},
		{"web", required_argument, NULL, 'w'},    {"out", required_argument, NULL, 'o'},
		{"runs", required_argument, NULL, 'r'},   {0},
	};
	const struct {
		int letter;
		const char **to;
	} places[] = {{'s', &w->socket},
		      {'b', &w->batch},
		      {'w', &w->web},
		      {'o', &w->out_file},
		      {'r', &w->runs_file}};
	int c;
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++)
			if (places[i].letter == c)
				*places[i].to = optarg;
		if (c == '?')
			return -1;
	}
	return w->socket && w->batch && w->web && w->out_file && w->runs_file ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct watch w = {0};
	struct sigaction act = {.sa_handler = on_term};
	if (read_options(argc, argv, &w) < 0) {
		fprintf(stderr,
			"usage: share_watch --socket PATH --batch RE --web RE --out FILE --runs "
			"FILE\n");
		return 64;
	}
	struct phx_http_client_config config = {.unix_path = w.socket, .base_url = "http://unix"};
	w.out = fopen(w.out_file, "we");
	w.runs = fopen(w.runs_file, "we");
	if (!w.out || !w.runs || phx_http_client_new(&config, &w.client, NULL) < 0) {
		fprintf(stderr, "share_watch: cannot begin\n");
		return 66;
	}
	sigaction(SIGTERM, &act, NULL);
	watch(&w);
	phx_http_client_free(w.client);
	phx_list_fini(&w.seen);
	fclose(w.out);
	fclose(w.runs);
	return 0;
}
