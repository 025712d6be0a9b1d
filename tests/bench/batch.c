/* Cost of the batch manager by itself: a saturated queue, and a whole small trace. A heap of ends
 * stands for the machine. Prints one JSON object; times are CPU time of this process, the heap and
 * the making of jobs included. usage: batch SCHEDULER queue WAITING FINISHED   one event is: a job
 * ends, a pass, another job is submitted
 *        batch SCHEDULER trace JOBS               128 nodes, load 0.9, estimates up to five times
 *                                                 too long */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "batch/batch.h"

#define NODES 128
#define EVENTS 200000u

struct end {
	int64_t at_ms;
	uint64_t id;
};

struct bench {
	struct phx_batch *b;
	struct phx_list started;
	struct end heap[NODES + 1]; /* from 1; the earliest end first */
	uint32_t n_running;
	uint64_t random, next_id, n_ended;
	int64_t now;
};

static void die(const char *what)
{
	fprintf(stderr, "batch: %s\n", what);
	exit(64);
}

/* Of this process: others do not count. */
static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t draw(struct bench *x, uint64_t below)
{
	x->random ^= x->random << 13;
	x->random ^= x->random >> 7;
	x->random ^= x->random << 17;
	return (uint64_t)(((unsigned __int128)x->random * below) >> 64);
}

/* Run time of a job: the same whenever it is asked. A second to two hours, short ones more
 * often. */
static int64_t run_ms(uint64_t id)
{
	uint64_t r = id * 0x9e3779b97f4a7c15u;
	r ^= r >> 29;
	r *= 0xbf58476d1ce4e5b9u;
	r >>= 32;
	return (int64_t)(1000 + ((r * r >> 32) * 7200000 >> 32));
}

static struct phx_batch_job make_job(struct bench *x)
{
	uint64_t id = x->next_id++;
	uint64_t exponent = draw(x, 7);
	return (struct phx_batch_job){
		.id = id,
		.submit_ms = x->now,
		.size = (uint32_t)(draw(x, 4) ? 1u << exponent : 1 + draw(x, 64)),
		.estimate_ms = run_ms(id) * (int64_t)(1 + draw(x, 5))};
}

static void heap_push(struct bench *x, struct end e)
{
	uint32_t i = ++x->n_running;
	for (; i > 1 && x->heap[i / 2].at_ms > e.at_ms; i /= 2)
		x->heap[i] = x->heap[i / 2];
	x->heap[i] = e;
}

static struct end heap_pop(struct bench *x)
{
	struct end top = x->heap[1], e = x->heap[x->n_running--];
	uint32_t i = 1;
	for (uint32_t c; (c = i * 2) <= x->n_running; i = c) {
		c += c < x->n_running && x->heap[c + 1].at_ms < x->heap[c].at_ms;
		if (e.at_ms <= x->heap[c].at_ms)
			break;
		x->heap[i] = x->heap[c];
	}
	x->heap[i] = e;
	return top;
}

static void submit(struct bench *x)
{
	struct phx_batch_job j = make_job(x);
	if (phx_batch_submit(x->b, &j) < 0)
		die("a job was not taken");
}

static void pass(struct bench *x)
{
	x->started.n = 0;
	if (phx_batch_pass(x->b, x->now, &x->started) < 0)
		die("no memory");
	PHX_LIST_EACH(uint64_t, id, &x->started)
		heap_push(x, (struct end){x->now + run_ms(*id), *id});
}

static void end_one(struct bench *x)
{
	struct end e = heap_pop(x);
	x->now = e.at_ms;
	x->n_ended++;
	if (phx_batch_ended(x->b, e.id) < 0)
		die("a job that runs is not known");
}

/* `events` times: one ends, as many as started are submitted, a pass. */
static void saturate(struct bench *x, uint64_t events)
{
	while (events--) {
		end_one(x);
		pass(x);
		for (uint32_t i = 0; i < x->started.n; i++)
			submit(x);
	}
}

static uint64_t rss_bytes(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss * 1024;
}

static void measure_queue(struct bench *x, uint32_t waiting, uint64_t finished)
{
	uint64_t before = rss_bytes();
	for (uint32_t i = 0; i < waiting; i++)
		submit(x);
	uint64_t bytes = rss_bytes() - before;
	pass(x);
	saturate(x, finished);
	uint64_t started = x->next_id;
	double begin = now_ns();
	saturate(x, EVENTS);
	double ns = now_ns() - begin;
	printf("{\"ns\": %.1f, \"starts_per_event\": %.3f, \"bytes_per_job\": %.0f, \"finished\": "
	       "%llu}\n",
	       ns / EVENTS, (double)(x->next_id - started) / EVENTS, (double)bytes / waiting,
	       (unsigned long long)x->n_ended);
}

/* Mean size 21.7, mean run 2400 s: at load 0.9 one every 450 s. */
static void measure_trace(struct bench *x, uint32_t jobs)
{
	int64_t next = 0;
	struct phx_batch_counts c;
	uint64_t peak = 0;
	double begin = now_ns();
	while (x->next_id <= jobs || x->n_running) {
		if (x->next_id <= jobs && (!x->n_running || next < x->heap[1].at_ms)) {
			x->now = next;
			submit(x);
			next += (int64_t)draw(x, 2 * 450000);
		} else {
			end_one(x);
		}
		pass(x);
		phx_batch_counts(x->b, &c);
		peak = c.n_waiting > peak ? c.n_waiting : peak;
	}
	double ns = now_ns() - begin;
	printf("{\"ns\": %.1f, \"jobs_per_s\": %.0f, \"peak_waiting\": %llu}\n", ns / jobs,
	       jobs / ns * 1e9, (unsigned long long)peak);
}

int main(int argc, char **argv)
{
	struct bench x = {.random = 88172645463325252u, .next_id = 1};
	struct phx_batch_config config = {.kill_order = PHX_KILL_ORDER_smallest_latest};
	struct phx_err err = {0};
	uint64_t n = 0, finished = 0;
	if (argc < 4 ||
	    phx_enum_parse(&phx_scheduler_names, argv[1], &config.scheduler, &err) < 0 ||
	    phx_u64_parse(argv[3], 1, 10000000, &n) < 0)
		die(err.text[0] ? err.text : "usage: see the head of batch.c");
	if (phx_batch_new(&config, &x.b) < 0)
		die("no memory");
	phx_batch_give(x.b, NODES);
	if (!strcmp(argv[2], "queue") && argc == 5 &&
	    phx_u64_parse(argv[4], 0, 100000000, &finished) == 0)
		measure_queue(&x, (uint32_t)n, finished);
	else if (!strcmp(argv[2], "trace") && argc == 4)
		measure_trace(&x, (uint32_t)n);
	else
		die("usage: see the head of batch.c");
	phx_batch_free(x.b);
	phx_list_fini(&x.started);
	return 0;
}
