/* The whole core under faults: 200 lives of a cluster of 64 nodes, by seed, one line a batch; the
 * same seed lives the same life; a life ends in the invariant that does not hold with its seed and
 * its event list.
 *
 *   faults                       what make check-sim runs; with PHX_FAULTS_TURN=0 to 3 each fourth
 *                                life of the 200, of each kind: make check's, by turns (tests/turn)
 *   faults SEED [HOURS [NODES]]  one life, with its whole event list when an invariant does not
 *                                hold
 *   faults FIRST-LAST [HOURS]    many; exit status 1 when one is not ok (tests/planted)
 * with "re" before them: runtime environments too; "external": those, and the jobs of one are
 * started by a fake of Slurm; "flows": those, and one with workflows; "wide": the same, some of
 * whose tasks have several nodes; with "only N": no fault but number N of the table, often */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault/fault.h"

enum {
	SEEDS = 200,
	BATCH = 20,
	TURNS = 4,
	HOURS = 24,
	NODES = 64,
	WHOLE = 1000000,
	ONLY_RATE = 400,
	FLOW_SEEDS = 20,
	FLOW_HOURS = 8,
	FLOW_NODES = 24,
	FLOW_RATE = 200,
	DISK_FULL = 36,
	FULL_RATE = 10000
};

static double cpu_seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void tell(const struct phx_fault_options *o, const struct phx_fault_result *r)
{
	printf("not ok seed %llu after %.3f h: %s: %s\n", (unsigned long long)r->seed,
	       (double)r->time_ms / 3600000, r->invariant, r->violation);
	printf("  to see it again: faults %s",
	       o->wide               ? "wide "
		       : o->flows    ? "flows "
		       : o->external ? "external "
		       : o->res      ? "re "
				     : "");
	if (o->only)
		printf("only %u ", o->only);
	printf("%llu %u %u\n", (unsigned long long)o->seed, o->hours, o->nodes);
	PHX_LIST_EACH(struct phx_fault_line, l, &r->lines)
		printf("  %12.3f  %s\n", (double)l->time_ms / 1000, l->text);
}

/* One life; false when something did not hold, which is told. */
static bool live(const struct phx_fault_options *o, struct phx_fault_result *ret)
{
	struct phx_err err = {0};
	if (phx_fault_run(o, ret, &err) < 0) {
		printf("not ok seed %llu: %s\n", (unsigned long long)o->seed, err.text);
		*ret = (struct phx_fault_result){0};
		return false;
	}
	if (!ret->ok)
		tell(o, ret);
	return ret->ok;
}

/* ---- one, or many ---- */

static int one(struct phx_fault_options *o)
{
	struct phx_fault_result r;
	o->events_kept = WHOLE;
	o->whole_every = 1; /* found at once, in the same life */
	double t = cpu_seconds();
	bool ok = live(o, &r);
	t = cpu_seconds() - t;
	if (ok)
		printf("ok seed %llu: %.1f h in %.3f s: %llu events, %llu hand-overs, %llu erases, "
		       "%llu jobs, %llu "
		       "quarantines, %llu crashes, %llu workflows, %llu tasks, %llu lost; hash "
		       "%016llx\n",
		       (unsigned long long)r.seed, (double)r.time_ms / 3600000, t,
		       (unsigned long long)r.events, (unsigned long long)r.plans,
		       (unsigned long long)r.erasures, (unsigned long long)r.jobs,
		       (unsigned long long)r.quarantines, (unsigned long long)r.crashes,
		       (unsigned long long)r.flows, (unsigned long long)r.tasks,
		       (unsigned long long)r.losses, (unsigned long long)r.hash);
	phx_fault_result_fini(&r);
	return !ok;
}

static int many(uint64_t first, uint64_t last, struct phx_fault_options *o)
{
	for (o->seed = first; o->seed <= last; o->seed++) {
		struct phx_fault_result r;
		bool ok = live(o, &r);
		phx_fault_result_fini(&r);
		if (!ok)
			return 1;
	}
	printf("ok seeds %llu to %llu\n", (unsigned long long)first, (unsigned long long)last);
	return 0;
}

/* ---- what make check runs ---- */

struct sum {
	uint64_t injected[PHX_FAULTS_MAX], lives, events, crashes, checks, flows, tasks, losses;
	double hours, seconds;
	bool ok;
	int turn; /* -1: all */
};

/* Every fourth batch has runtime environments too: their ledger, grants and reclaims under the same
 * faults; every eighth with an engine that is not ours. */
static void batch(uint64_t first, struct sum *s)
{
	bool ok = true;
	struct phx_fault_options o = {.hours = HOURS,
				      .nodes = NODES,
				      .res = first / BATCH % 4 == 3,
				      .external = first / BATCH % 8 == 7};
	double t = cpu_seconds();
	for (o.seed = first; o.seed < first + BATCH; o.seed++) {
		struct phx_fault_result r;
		if (s->turn >= 0 && o.seed % TURNS != (unsigned)s->turn)
			continue;
		ok = live(&o, &r) && ok;
		s->lives++;
		for (int i = 0; i < PHX_FAULTS_MAX; i++)
			s->injected[i] += r.injected[i];
		s->events += r.events;
		s->crashes += r.crashes;
		s->checks += r.checks;
		s->hours += (double)r.time_ms / 3600000;
		phx_fault_result_fini(&r);
	}
	s->seconds += cpu_seconds() - t;
	s->ok = s->ok && ok;
	printf("%s %sseeds %llu to %llu%s\n", ok ? "ok" : "not ok",
	       s->turn < 0 ? "" : "each fourth of ", (unsigned long long)first,
	       (unsigned long long)first + BATCH - 1,
	       o.external      ? ", with runtime environments, one with a fake of Slurm"
		       : o.res ? ", with runtime environments"
			       : "");
	fflush(stdout);
}

/* Lives with workflows: shorter, smaller, and with more faults, since their tasks are short. */
static void live_flows(struct sum *s, bool wide)
{
	uint64_t flows = s->flows, tasks = s->tasks, losses = s->losses;
	struct phx_fault_options o = {.hours = FLOW_HOURS,
				      .nodes = FLOW_NODES,
				      .rate_percent = FLOW_RATE,
				      .res = true,
				      .flows = true,
				      .wide = wide};
	double t = cpu_seconds();
	bool ok = true;
	for (o.seed = 1; o.seed <= FLOW_SEEDS; o.seed++) {
		struct phx_fault_result r;
		ok = live(&o, &r) && ok;
		for (int i = 0; i < PHX_FAULTS_MAX; i++)
			s->injected[i] += r.injected[i];
		s->flows += r.flows;
		s->tasks += r.tasks;
		s->losses += r.losses;
		phx_fault_result_fini(&r);
	}
	flows = s->flows - flows;
	tasks = s->tasks - tasks;
	losses = s->losses - losses;
	ok = ok && flows >= 10 * FLOW_SEEDS && tasks >= 100 * FLOW_SEEDS && losses >= FLOW_SEEDS;
	s->ok = s->ok && ok;
	printf("%s seeds 1 to %d, with workflows%s: %llu, %llu runs of tasks, %llu lost, in %.1f "
	       "s\n",
	       ok ? "ok" : "not ok", FLOW_SEEDS, wide ? " on several nodes" : "",
	       (unsigned long long)flows, (unsigned long long)tasks, (unsigned long long)losses,
	       cpu_seconds() - t);
}

/* Every row of the table was really injected: as often as there are lives, in a turn twice as
 * often. */
static bool all_injected(const struct sum *s)
{
	uint32_t n;
	uint64_t lives = s->turn < 0 ? SEEDS : SEEDS / TURNS;
	uint64_t least = s->turn < 0 ? lives : 2 * lives;
	bool ok = s->lives == lives;
	const struct phx_fault_info *infos = phx_fault_infos(&n);
	for (uint32_t i = 0; i < n; i++) {
		printf("  %3u %-16s %7llu times\n", infos[i].number, infos[i].name,
		       (unsigned long long)s->injected[i]);
		ok = ok && s->injected[i] >= (infos[i].of_flows ? FLOW_SEEDS : least);
	}
	printf("%s every fault was injected, in %llu lives\n", ok ? "ok" : "not ok",
	       (unsigned long long)s->lives);
	return ok;
}

/* The same seed lives the same life, another another; with few nodes too. */
static bool same_again(void)
{
	bool ok = true;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct phx_fault_options o = {
			.seed = seed, .hours = 12, .nodes = 8 * (uint32_t)seed};
		struct phx_fault_options p = o;
		struct phx_fault_result a, b, c;
		p.seed += 100;
		live(&o, &a);
		live(&o, &b);
		live(&p, &c);
		ok = ok && a.hash == b.hash && a.events == b.events && a.time_ms == b.time_ms &&
			a.hash != c.hash;
		phx_fault_result_fini(&a);
		phx_fault_result_fini(&b);
		phx_fault_result_fini(&c);
	}
	printf("%s the same seed lives the same life\n", ok ? "ok" : "not ok");
	return ok;
}

/* Each fault alone: what it does is bearable without the help of another. */
static bool each_alone(void)
{
	uint32_t n;
	bool ok = true;
	const struct phx_fault_info *infos = phx_fault_infos(&n);
	for (uint32_t i = 0; i < n; i++) {
		struct phx_fault_options o = {.seed = infos[i].number,
					      .hours = 6,
					      .nodes = 32,
					      .rate_percent = ONLY_RATE,
					      .only = infos[i].number};
		struct phx_fault_result r;
		ok = live(&o, &r) && r.injected[i] && ok;
		phx_fault_result_fini(&r);
	}
	printf("%s each fault alone\n", ok ? "ok" : "not ok");
	return ok;
}

/* Lives that end while the journal is refused: the people who bring the cluster to rest are heard
 * all the same. */
static bool calm_on_a_full_disk(void)
{
	bool ok = true;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct phx_fault_options o = {.seed = seed,
					      .hours = 3,
					      .nodes = NODES,
					      .rate_percent = FULL_RATE,
					      .only = DISK_FULL};
		struct phx_fault_result r;
		ok = live(&o, &r) && ok;
		phx_fault_result_fini(&r);
	}
	printf("%s faults stop while the disk is full\n", ok ? "ok" : "not ok");
	return ok;
}

static bool refuses_nonsense(void)
{
	struct phx_fault_options many_nodes = {.nodes = 1000}, no_fault = {.only = 4};
	struct phx_fault_result r;
	struct phx_err err = {0};
	bool ok = phx_fault_run(&many_nodes, &r, &err) < 0 && strstr(err.text, "nodes");
	phx_err_clear(&err);
	ok = ok && phx_fault_run(&no_fault, &r, &err) < 0 && strstr(err.text, "fault 4");
	printf("%s options that are impossible are refused\n", ok ? "ok" : "not ok");
	return ok;
}

/* Whose turn it is; -1: that of all. */
static int turn_of(const char *word)
{
	return word && word[0] >= '0' && word[0] < '0' + TURNS && !word[1] ? word[0] - '0' : -1;
}

static int all(void)
{
	struct sum s = {.ok = true, .turn = turn_of(getenv("PHX_FAULTS_TURN"))};
	for (uint64_t first = 1; first <= SEEDS; first += BATCH)
		batch(first, &s);
	printf("  %.0f cluster-hours of %d nodes, %llu events, %llu checks, %llu crashes in %.1f "
	       "s: %.0f cluster-hours a "
	       "minute\n",
	       s.hours, NODES, (unsigned long long)s.events, (unsigned long long)s.checks,
	       (unsigned long long)s.crashes, s.seconds, s.hours * 60 / s.seconds);
	live_flows(&s, false);
	live_flows(&s, true);
	bool ok = all_injected(&s) && s.ok;
	ok = same_again() && ok;
	ok = each_alone() && ok;
	ok = calm_on_a_full_disk() && ok;
	ok = refuses_nonsense() && ok;
	return !ok;
}

static bool is_mode(const char *word)
{
	return !strcmp(word, "re") || !strcmp(word, "external") || !strcmp(word, "flows") ||
		!strcmp(word, "wide");
}

int main(int argc, char **argv)
{
	struct phx_fault_options o = {.hours = HOURS, .nodes = NODES};
	if (argc < 2)
		return all();
	if (is_mode(argv[1]) && argc > 2) {
		o.res = true;
		o.external = !strcmp(argv[1], "external");
		o.wide = !strcmp(argv[1], "wide");
		o.flows = o.wide || !strcmp(argv[1], "flows");
		argv++;
		argc--;
	}
	if (!strcmp(argv[1], "only") && argc > 3) {
		o.only = (uint32_t)strtoul(argv[2], NULL, 10);
		o.rate_percent = ONLY_RATE;
		argv += 2;
		argc -= 2;
	}
	char *dash = strchr(argv[1], '-');
	o.seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		o.hours = (uint32_t)strtoul(argv[2], NULL, 10);
	if (argc > 3)
		o.nodes = (uint32_t)strtoul(argv[3], NULL, 10);
	return dash ? many(o.seed, strtoull(dash + 1, NULL, 10), &o) : one(&o);
}
