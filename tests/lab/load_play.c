/* Plays a series of rates against a URL and counts what comes back: requests become due as the
 * series says, whatever the answers do, each a connection of its own. Whatever is not a whole 200
 * is a failure. For share.sh, which runs it inside the lab's network.
 *
 *	load_play --url URL --rates FILE --out FILE --served FILE [--users N]
 *	          [--timeout SECONDS] [--hold SECOND]
 *
 * There are N users, so that at most N requests are under way; one that is due when everybody waits
 * is sent when somebody has an answer, and its time counts from when it was due: a service that is
 * too slow is seen as slow, and not buried under connections that nobody would open.
 *
 * FILE of rates: "SECOND RATE" a line, requests a second from that second on; the last line is the
 * end. --out gets a line a second (by when a request was due: offered; by when it ended: the
 * others), --served a line whenever a node (its header X-Node) answers that had not done so for
 * five seconds. With --hold the rate of that second stays until SIGUSR1 comes; then the series goes
 * on. Ends with status 0 when nothing failed. */
#include <curl/curl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/util.h"

enum { USERS_MAX = 4000, SILENT_MS = 5000, NODES_MAX = 64 };

struct rate {
	double from_s, per_s;
};

struct node {
	char name[PHX_NAME_MAX];
	int64_t last_ms;
};

struct second {
	int64_t at; /* since the epoch */
	unsigned offered, done, failed;
	struct phx_list took_ms; /* double */
};

struct play {
	const char *url, *rates_file, *out_file, *served_file;
	long timeout_s;
	double hold_s, held_s; /* where the series stops; how long it did */
	struct phx_list rates; /* struct rate */
	struct phx_list due_s; /* double: of every request so far, when it was due */
	FILE *out, *served;
	CURLM *multi;
	CURL *idle[USERS_MAX]; /* handles to be used again */
	unsigned n_idle, under_way, users;
	struct node nodes[NODES_MAX];
	unsigned n_nodes;
	int64_t whole_bytes; /* of the first answer: all are the same */
	struct second now;
	unsigned long done, failed;
	uint32_t sent;
};

struct request {
	double due_s;
	int64_t bytes;
	char node[PHX_NAME_MAX];
	char text[CURL_ERROR_SIZE];
};

static volatile sig_atomic_t go_on;

static void on_go_on(int signal)
{
	(void)signal;
	go_on = 1;
}

static double monotonic_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t epoch_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the rates ---- */

static int read_rates(struct play *p)
{
	FILE *f = fopen(p->rates_file, "re");
	struct rate r, *to;
	if (!f)
		return -1;
	while (fscanf(f, "%lf %lf", &r.from_s, &r.per_s) == 2 &&
	       (to = phx_list_push(&p->rates, sizeof(*to))))
		*to = r;
	fclose(f);
	return p->rates.n >= 2 ? 0 : -1;
}

/* How many are due `at_s` after the begin. */
static double due(const struct play *p, double at_s)
{
	double sum = 0;
	for (uint32_t i = 0; i + 1 < p->rates.n; i++) {
		const struct rate *r = PHX_LIST_AT(&p->rates, struct rate, i);
		double to_s = fmin(at_s, r[1].from_s);
		if (to_s > r->from_s)
			sum += r->per_s * (to_s - r->from_s);
	}
	return sum;
}

static double rate_at(const struct play *p, double at_s)
{
	double per_s = 0;
	PHX_LIST_EACH(const struct rate, r, &p->rates)
		if (r->from_s <= at_s)
			per_s = r->per_s;
	return per_s;
}

/* The moment of the series, `passed_s` after its begin. */
static double moment(struct play *p, double passed_s)
{
	if (passed_s - p->held_s > p->hold_s && !go_on)
		p->held_s = passed_s - p->hold_s;
	return passed_s - p->held_s;
}

static double end_s(const struct play *p)
{
	return PHX_LIST_AT(&p->rates, struct rate, p->rates.n - 1)->from_s;
}

/* ---- seconds ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Due, and not yet answered. */
static unsigned open_requests(const struct play *p)
{
	return p->due_s.n - p->sent + p->under_way;
}

static void write_second(struct play *p)
{
	struct second *s = &p->now;
	double *took = s->took_ms.items, sum = 0;
	uint32_t n = s->took_ms.n;
	if (!s->at)
		return;
	fprintf(p->out, "%lld,%u,%u,%u,%u", (long long)s->at, s->offered, s->done, s->failed,
		open_requests(p));
	if (n) {
		qsort(took, n, sizeof(*took), by_value);
		for (uint32_t i = 0; i < n; i++)
			sum += took[i];
		fprintf(p->out, ",%.1f,%.1f\n", sum / n, took[(uint32_t)ceil(0.99 * n) - 1]);
	} else {
		fprintf(p->out, ",,\n");
	}
	fflush(p->out);
}

static void turn_second(struct play *p)
{
	int64_t at = epoch_ms() / 1000;
	if (at == p->now.at)
		return;
	write_second(p);
	phx_list_fini(&p->now.took_ms);
	p->now = (struct second){.at = at};
}

/* ---- requests ---- */

static size_t take_body(char *data, size_t size, size_t n, void *arg)
{
	struct request *q = arg;
	(void)data;
	q->bytes += (int64_t)(size * n);
	return size * n;
}

static size_t take_header(char *data, size_t size, size_t n, void *arg)
{
	static const char name[] = "X-Node:";
	struct request *q = arg;
	size_t all = size * n, at = sizeof(name) - 1, to = 0;
	if (all <= at || strncasecmp(data, name, at) != 0)
		return all;
	for (; at < all && to + 1 < sizeof(q->node); at++)
		if (data[at] > ' ')
			q->node[to++] = data[at];
	q->node[to] = '\0';
	return all;
}

static void out_of_memory(void)
{
	fprintf(stderr, "load_play: out of memory\n");
	exit(71);
}

static void becomes_due(struct play *p)
{
	double *to = phx_list_push(&p->due_s, sizeof(*to));
	if (!to)
		out_of_memory();
	*to = monotonic_s();
	p->now.offered++;
}

static void send_one(struct play *p)
{
	CURL *easy = p->n_idle ? p->idle[--p->n_idle] : curl_easy_init();
	struct request *q = calloc(1, sizeof(*q));
	if (!easy || !q)
		out_of_memory();
	q->due_s = *PHX_LIST_AT(&p->due_s, double, p->sent);
	p->sent++;
	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_URL, p->url);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, q);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, q->text);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, q);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, q);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, p->timeout_s);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_multi_add_handle(p->multi, easy);
	p->under_way++;
}

static void answered_by(struct play *p, const char *name, double took_ms)
{
	unsigned i = 0;
	int64_t now = epoch_ms();
	while (i < p->n_nodes && strcmp(p->nodes[i].name, name) != 0)
		i++;
	if (!name[0] || i == NODES_MAX)
		return;
	if (i == p->n_nodes)
		PHX_STR_SET(p->nodes[p->n_nodes++].name, name);
	if (now - p->nodes[i].last_ms > SILENT_MS)
		fprintf(p->served, "%lld,%s,%.1f\n", (long long)now, name, took_ms);
	p->nodes[i].last_ms = now;
	fflush(p->served);
}

static bool is_whole(struct play *p, const struct request *q, CURLcode code, long status)
{
	if (code != CURLE_OK || status != 200 || !q->bytes)
		return false;
	if (!p->whole_bytes)
		p->whole_bytes = q->bytes;
	return q->bytes == p->whole_bytes;
}

static void finish(struct play *p, CURL *easy, CURLcode code)
{
	struct request *q = NULL;
	long status = 0;
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&q);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	double took_ms = (monotonic_s() - q->due_s) * 1000, *to;
	turn_second(p);
	if (is_whole(p, q, code, status)) {
		p->done++;
		p->now.done++;
		if ((to = phx_list_push(&p->now.took_ms, sizeof(*to))))
			*to = took_ms;
		answered_by(p, q->node, took_ms);
	} else {
		p->failed++;
		p->now.failed++;
		fprintf(stderr,
			"load_play: %lld: after %.0f ms: status %ld, %lld bytes, node %s: %s\n",
			(long long)epoch_ms(), took_ms, status, (long long)q->bytes,
			q->node[0] ? q->node : "?",
			q->text[0] ? q->text : curl_easy_strerror(code));
	}
	curl_multi_remove_handle(p->multi, easy);
	p->idle[p->n_idle++] = easy;
	p->under_way--;
	free(q);
}

static void take_ended(struct play *p)
{
	CURLMsg *m;
	int left;
	while ((m = curl_multi_info_read(p->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			finish(p, m->easy_handle, m->data.result);
}

static void play(struct play *p)
{
	double begin = monotonic_s(), end = end_s(p), held_rate = rate_at(p, p->hold_s);
	int running;
	for (;;) {
		double at = moment(p, monotonic_s() - begin);
		turn_second(p);
		while ((double)p->due_s.n + 1 <= due(p, at) + p->held_s * held_rate)
			becomes_due(p);
		while (p->sent < p->due_s.n && p->under_way < p->users)
			send_one(p);
		if (at >= end && !open_requests(p))
			break;
		curl_multi_perform(p->multi, &running);
		take_ended(p);
		curl_multi_poll(p->multi, NULL, 0, 5, NULL);
	}
	write_second(p);
}

/* ---- calling ---- */

static int read_options(int argc, char **argv, struct play *p)
{
	static const struct option options[] = {
		{"url", required_argument, NULL, 'u'},   {"rates", required_argument, NULL, 'r'},
		{"out", required_argument, NULL, 'o'},   {"served", required_argument, NULL, 's'},
		{"users", required_argument, NULL, 'n'}, {"timeout", required_argument, NULL, 't'},
		{"hold", required_argument, NULL, 'h'},  {0},
	};
	int c;
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 'u':
			p->url = optarg;
			break;
		case 'r':
			p->rates_file = optarg;
			break;
		case 'o':
			p->out_file = optarg;
			break;
		case 's':
			p->served_file = optarg;
			break;
		case 'n':
			p->users = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 't':
			p->timeout_s = strtol(optarg, NULL, 10);
			break;
		case 'h':
			p->hold_s = strtod(optarg, NULL);
			break;
		default:
			return -1;
		}
	}
	bool whole = p->url && p->rates_file && p->out_file && p->served_file;
	return whole && p->timeout_s > 0 && p->users > 0 && p->users <= USERS_MAX ? 0 : -1;
}

static void tidy(struct play *p)
{
	while (p->n_idle)
		curl_easy_cleanup(p->idle[--p->n_idle]);
	curl_multi_cleanup(p->multi);
	phx_list_fini(&p->rates);
	phx_list_fini(&p->due_s);
	phx_list_fini(&p->now.took_ms);
	fclose(p->out);
	fclose(p->served);
}

int main(int argc, char **argv)
{
	static struct play p = {.timeout_s = 60, .hold_s = INFINITY, .users = USERS_MAX};
	struct sigaction act = {.sa_handler = on_go_on};
	if (read_options(argc, argv, &p) < 0) {
		fprintf(stderr,
			"usage: load_play --url URL --rates FILE --out FILE --served FILE [--users "
			"N] "
			"[--timeout SECONDS] [--hold SECOND]\n");
		return 64;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	p.multi = curl_multi_init();
	p.out = fopen(p.out_file, "we");
	p.served = fopen(p.served_file, "we");
	if (read_rates(&p) < 0 || !p.multi || !p.out || !p.served) {
		fprintf(stderr, "load_play: cannot read the rates or write the results\n");
		return 66;
	}
	fprintf(p.out, "time,offered,done,failed,under_way,mean_ms,p99_ms\n");
	fprintf(p.served, "time_ms,node,took_ms\n");
	sigaction(SIGUSR1, &act, NULL);
	play(&p);
	printf("%lu requests, %lu answered, %lu failed\n", (unsigned long)p.due_s.n, p.done,
	       p.failed);
	tidy(&p);
	return p.failed ? 1 : 0;
}
