/* The ledger under whatever may happen, drawn by a seeded generator: several
 * pairs and single REs on a finite cluster, nodes that are slow to arrive, jobs
 * that are slow to die, nodes that break and come back, REs that come and go.
 * After every call the invariants are checked; a twin, which is saved and
 * restored at random moments, must say the same after every call; when the
 * trouble ends everything must come to rest. PHX_TEST_SEED=N runs one seed and
 * prints what happens; PHX_TEST_SEEDS=N runs so many. */
#include <errno.h>

#include "unit/ledger/cluster.h"

#define N_NODES 60
#define MAX_RES 12
#define MAX_WAY 4096

struct way { /* told and not confirmed */
	struct phx_ledger_action a;
};

struct run {
	int re;
	uint64_t job;
	uint32_t left; /* nodes that are not broken */
	bool killing;
};

struct world {
	uint64_t rng;
	unsigned seed;
	int64_t now_ms;
	struct phx_ledger *l, *twin;
	struct phx_list out, twin_out;
	struct way way[MAX_WAY];
	uint32_t n_way;
	struct run run[1024];
	uint32_t n_run;
	int number[MAX_RES]; /* of each agreement, -1 not active */
	uint64_t next_job;
	uint64_t n_starts, n_kills, n_moves, n_claims;
	uint32_t broken;
	bool trace;
};

static uint32_t draw(struct world *w, uint32_t n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (uint32_t)((w->rng >> 16) % n);
}

static const struct {
	const char *name;
	int type, model;
	uint32_t lower, upper;
	const char *partner;
} specs[] = {
	{"fb-b", PHX_RE_BATCH, PHX_POLICY_fb, 8, 0, "fb-w"},
	{"fb-w", PHX_RE_WEB, PHX_POLICY_fb, 4, 0, "fb-b"},
	{"flb-b", PHX_RE_BATCH, PHX_POLICY_flb_nub, 5, 0, "flb-w"},
	{"flb-w", PHX_RE_WEB, PHX_POLICY_flb_nub, 3, 0, ""},
	{"coop-b", PHX_RE_BATCH, PHX_POLICY_coop2008, 2, 9, "coop-w"},
	{"coop-w", PHX_RE_WEB, PHX_POLICY_coop2008, 1, 6, "coop-b"},
	{"dr", PHX_RE_BATCH, PHX_POLICY_dr, 4, 14, ""},
	{"dr-own", PHX_RE_BATCH, PHX_POLICY_dr, 3, 0, ""},
	{"ec2-b", PHX_RE_BATCH, PHX_POLICY_ec2_rightscale, 0, 0, "ec2-w"},
	{"ec2-w", PHX_RE_WEB, PHX_POLICY_ec2_rightscale, 2, 0, "ec2-b"},
	{"dcs", PHX_RE_BATCH, PHX_POLICY_dcs, 4, 0, ""},
	{"dr-w", PHX_RE_WEB, PHX_POLICY_dr, 2, 8, ""},
};
_Static_assert(PHX_ARRAY_SIZE(specs) == MAX_RES, "one number each");

static struct phx_agreement spec_agreement(unsigned i)
{
	struct phx_agreement a =
		agreement(specs[i].name, specs[i].type, specs[i].model, specs[i].lower);

	a.upper = specs[i].upper;
	PHX_STR_SET(a.partner, specs[i].partner);
	if (!specs[i].partner[0] && i != 3)
		a.coordination = PHX_RE_COORDINATED_NONE;
	if (specs[i].model != PHX_POLICY_coop2008 && specs[i].model != PHX_POLICY_dcs)
		a.lease_s = 300;
	a.release_own = i == 7;
	return a;
}

static bool is_web(unsigned i)
{
	return specs[i].type == PHX_RE_WEB;
}

/* ---- the world carries out ---- */

static struct run *find_run(struct world *w, int re, uint64_t job)
{
	for (uint32_t i = 0; i < w->n_run; i++)
		if (w->run[i].re == re && w->run[i].job == job)
			return &w->run[i];
	return NULL;
}

static void drop_run(struct world *w, struct run *run)
{
	*run = w->run[--w->n_run];
}

static void take_note(struct world *w, const struct phx_ledger_action *a)
{
	if (a->kind == PHX_LEDGER_START) {
		assert_null(find_run(w, a->re, a->job));
		assert_true(w->n_run < PHX_ARRAY_SIZE(w->run));
		w->run[w->n_run++] = (struct run){a->re, a->job, a->nodes, false};
		w->n_starts++;
		return;
	}
	assert_true(w->n_way < MAX_WAY && a->re != a->to);
	w->way[w->n_way++].a = *a;
	if (a->kind == PHX_LEDGER_MOVE) {
		assert_true(a->nodes > 0);
		w->n_moves++;
		w->n_claims += a->reason == PHX_REASON_claim;
		return;
	}
	struct run *run = find_run(w, a->re, a->job);
	assert_non_null(run);
	assert_false(run->killing);
	assert_int_equal(run->left, a->nodes);
	run->killing = true;
	w->n_kills++;
}

static void same_actions(struct world *w)
{
	assert_int_equal(w->out.n, w->twin_out.n);
	for (uint32_t i = 0; i < w->out.n; i++) {
		const struct phx_ledger_action *a =
			PHX_LIST_AT(&w->out, struct phx_ledger_action, i);
		const struct phx_ledger_action *b =
			PHX_LIST_AT(&w->twin_out, struct phx_ledger_action, i);
		assert_true(a->kind == b->kind && a->re == b->re && a->to == b->to &&
			    a->job == b->job && a->nodes == b->nodes && a->reason == b->reason);
	}
}

static void print_call(const struct world *w, const char *call)
{
	printf("%lld ms: %s; free %u\n", (long long)w->now_ms, call, phx_ledger_free_nodes(w->l));
	PHX_LIST_EACH(struct phx_ledger_action, a, &w->out)
		printf("    act %d: %d > %d, job %llu, %u nodes, %s\n", a->kind, a->re, a->to,
		       (unsigned long long)a->job, a->nodes,
		       phx_enum_name(&phx_policy_reason_names, a->reason));
	for (unsigned i = 0; i < MAX_RES; i++) {
		struct phx_ledger_counts c;
		if (w->number[i] < 0)
			continue;
		phx_ledger_counts(w->l, w->number[i], &c);
		printf("    %d %s: idle %u busy %u coming %u owed %u want %u, waiting %u of %llu "
		       "nodes\n",
		       w->number[i], specs[i].name, c.idle, c.busy, c.coming, c.owed, c.want,
		       c.batch.n_waiting, (unsigned long long)c.batch.waiting_nodes);
	}
}

/* After every call: nothing is broken, and the twin says the same. */
static void after(struct world *w, const char *call, int r, int twin_r)
{
	struct phx_err err = {0};

	if (w->trace)
		print_call(w, call);

	assert_int_equal(r, twin_r);
	if (phx_ledger_check(w->l, &err) < 0)
		fail_msg("seed %u, at %lld ms: %s", w->seed, (long long)w->now_ms, err.text);
	same_actions(w);
	for (uint32_t i = 0; i < w->out.n; i++)
		take_note(w, PHX_LIST_AT(&w->out, struct phx_ledger_action, i));
	w->out.n = w->twin_out.n = 0;
}

/* arguments are evaluated twice */
#define BOTH(w, call, ...) \
	after(w, #call " " #__VA_ARGS__, call(w->l, __VA_ARGS__, w->now_ms, &w->out), \
	      call(w->twin, __VA_ARGS__, w->now_ms, &w->twin_out))

/* ---- what may happen ---- */

static void confirm(struct world *w, uint32_t i, bool whole)
{
	struct phx_ledger_action a = w->way[i].a;
	uint32_t n = whole || a.kind == PHX_LEDGER_KILL ? a.nodes : 1 + draw(w, a.nodes);

	if (a.kind == PHX_LEDGER_KILL) {
		w->way[i] = w->way[--w->n_way];
		struct run *run = find_run(w, a.re, a.job);
		if (!run) /* it ended before */
			return;
		drop_run(w, run);
		BOTH(w, phx_ledger_job_killed, a.re, a.job);
		return;
	}
	w->way[i].a.nodes -= n;
	if (!w->way[i].a.nodes)
		w->way[i] = w->way[--w->n_way];
	BOTH(w, phx_ledger_arrived, a.re, a.to, n);
}

static void confirm_some(struct world *w)
{
	if (w->n_way)
		confirm(w, draw(w, w->n_way), draw(w, 2));
}

static int some_re(struct world *w, bool web)
{
	unsigned i = draw(w, MAX_RES);

	return is_web(i) == web ? w->number[i] : -1;
}

static void submit(struct world *w)
{
	int re = some_re(w, false);
	struct phx_batch_job job = {.id = ++w->next_job,
				    .submit_ms = w->now_ms,
				    .size = 1 + draw(w, draw(w, 9) ? 5 : 20),
				    .estimate_ms = -1,
				    .state = draw(w, 9) ? PHX_BATCH_WAITING : PHX_BATCH_BLOCKED};

	if (re < 0)
		return;
	job.waits_for = job.state == PHX_BATCH_BLOCKED;
	job.no_requeue = !draw(w, 9);
	after(w, "submit", phx_ledger_submit(w->l, re, &job, w->now_ms, &w->out, NULL),
	      phx_ledger_submit(w->twin, re, &job, w->now_ms, &w->twin_out, NULL));
}

static void end_job(struct world *w)
{
	if (!w->n_run)
		return;
	struct run *run = &w->run[draw(w, w->n_run)], copy = *run;
	if (copy.killing && draw(w, 2)) /* mostly the kill comes first */
		return;
	drop_run(w, run);
	BOTH(w, phx_ledger_job_ended, copy.re, copy.job);
}

static void demand(struct world *w)
{
	int re = some_re(w, true);
	uint32_t n = draw(w, 14);

	if (re >= 0)
		BOTH(w, phx_ledger_demand, re, n);
}

static void sample(struct world *w)
{
	int re = some_re(w, true);
	uint32_t use = draw(w, 1000001);

	if (re < 0)
		return;
	assert_int_equal(phx_ledger_sample(w->l, re, use, w->now_ms), 0);
	assert_int_equal(phx_ledger_sample(w->twin, re, use, w->now_ms), 0);
}

static void pass_time(struct world *w)
{
	int64_t next = phx_ledger_next_ms(w->l);

	assert_int_equal(next, phx_ledger_next_ms(w->twin));
	w->now_ms += draw(w, 20000);
	if (next < INT64_MAX && next > w->now_ms && draw(w, 2))
		w->now_ms = next;
}

static void tick(struct world *w)
{
	if (phx_ledger_next_ms(w->l) > w->now_ms)
		return;
	after(w, "tick", phx_ledger_tick(w->l, w->now_ms, &w->out),
	      phx_ledger_tick(w->twin, w->now_ms, &w->twin_out));
	assert_true(phx_ledger_next_ms(w->l) > w->now_ms);
}

static void pass(struct world *w)
{
	after(w, "pass", phx_ledger_pass(w->l, w->now_ms, &w->out),
	      phx_ledger_pass(w->twin, w->now_ms, &w->twin_out));
}

static void lose_idle(struct world *w)
{
	unsigned i = draw(w, MAX_RES + 1);
	int re = i < MAX_RES ? w->number[i] : PHX_LEDGER_FREE;
	struct phx_ledger_counts c;

	if (i < MAX_RES && re < 0)
		return;
	phx_ledger_counts(w->l, re, &c);
	uint32_t has = i == MAX_RES ? phx_ledger_free_nodes(w->l)
		: is_web(i)         ? c.idle + c.busy
				    : c.idle;
	uint32_t n = 1 + draw(w, 2);
	if (n <= has)
		w->broken += n;
	BOTH(w, phx_ledger_lost, re, n, false);
}

static void lose_busy(struct world *w)
{
	if (!w->n_run)
		return;
	struct run *run = &w->run[draw(w, w->n_run)];
	uint32_t n = 1 + draw(w, 2);
	if (n > run->left)
		return;
	run->left -= n;
	w->broken += n;
	BOTH(w, phx_ledger_lost_busy, run->re, run->job, n);
}

static void lose_coming(struct world *w)
{
	if (!w->n_way)
		return;
	uint32_t i = draw(w, w->n_way);
	struct phx_ledger_action a = w->way[i].a;
	if (a.kind != PHX_LEDGER_MOVE)
		return;
	if (!--w->way[i].a.nodes)
		w->way[i] = w->way[--w->n_way];
	w->broken++;
	BOTH(w, phx_ledger_lost, a.to, 1u, true);
}

static void find_nodes(struct world *w)
{
	uint32_t n = w->broken ? 1 + draw(w, w->broken) : 0;

	w->broken -= n;
	if (n)
		BOTH(w, phx_ledger_found, n);
}

static void meddle_with_job(struct world *w)
{
	int re = some_re(w, false);
	uint64_t job = w->next_job - draw(w, 30);

	if (re < 0 || job > w->next_job)
		return;
	switch (draw(w, 4)) {
	case 0:
		BOTH(w, phx_ledger_job_cancel, re, job);
		break;
	case 1:
		BOTH(w, phx_ledger_job_hold, re, job, true);
		break;
	case 2:
		BOTH(w, phx_ledger_job_hold, re, job, false);
		break;
	case 3:
		BOTH(w, phx_ledger_job_unblock, re, job);
		break;
	}
}

static void deactivate(struct world *w)
{
	unsigned i = draw(w, MAX_RES);

	if (w->number[i] < 0)
		return;
	BOTH(w, phx_ledger_deactivate, w->number[i]);
	w->number[i] = -1;
}

static void activate(struct world *w, unsigned i)
{
	struct phx_agreement a = spec_agreement(i);
	int re = -1, twin_re = -1;

	if (w->number[i] >= 0)
		return;
	int r = phx_ledger_activate(w->l, &a, w->now_ms, &re, &w->out, NULL);
	int twin_r = phx_ledger_activate(w->twin, &a, w->now_ms, &twin_re, &w->twin_out, NULL);
	assert_int_equal(re, twin_re);
	assert_true(r == 0 || r == -ENOSPC);
	if (r == 0) /* what was there before is nobody's business any more */
		w->number[i] = re;
	after(w, specs[i].name, r, twin_r);
}

static void come_and_go(struct world *w)
{
	if (!draw(w, 8))
		deactivate(w);
	else
		activate(w, draw(w, MAX_RES));
}

/* The twin is replaced by what its own snapshot makes. */
static void restore_twin(struct world *w)
{
	struct phx_ledger_image image, mine, again;
	struct phx_ledger *fresh;

	assert_int_equal(phx_ledger_save(w->twin, &image), 0);
	assert_int_equal(phx_ledger_save(w->l, &mine), 0);
	assert_true(phx_record_equal(&phx_ledger_image_record, &image, &mine));
	assert_int_equal(phx_ledger_restore(&image, &fresh), 0);
	phx_ledger_free(w->twin);
	w->twin = fresh;
	assert_int_equal(phx_ledger_save(fresh, &again), 0);
	assert_true(phx_record_equal(&phx_ledger_image_record, &image, &again));
	phx_record_fini(&phx_ledger_image_record, &image);
	phx_record_fini(&phx_ledger_image_record, &mine);
	phx_record_fini(&phx_ledger_image_record, &again);
}

static void step(struct world *w)
{
	static void (*const often[])(struct world *) = {
		confirm_some, confirm_some, confirm_some, submit, submit,    end_job,
		end_job,      demand,       pass,         tick,   pass_time, sample};
	static void (*const seldom[])(struct world *) = {
		lose_idle,  lose_busy,   lose_coming,     find_nodes,
		find_nodes, come_and_go, meddle_with_job, meddle_with_job};

	if (draw(w, 10))
		often[draw(w, PHX_ARRAY_SIZE(often))](w);
	else
		seldom[draw(w, PHX_ARRAY_SIZE(seldom))](w);
	if (!draw(w, 50))
		restore_twin(w);
}

/* ---- rest ---- */

static void unhold_all(struct world *w)
{
	for (unsigned i = 0; i < MAX_RES; i++) {
		if (w->number[i] < 0 || is_web(i))
			continue;
		struct phx_list jobs = {0};
		assert_int_equal(phx_batch_jobs(phx_ledger_batch(w->l, w->number[i]), &jobs), 0);
		PHX_LIST_EACH(struct phx_batch_job, j, &jobs) {
			if (j->state == PHX_BATCH_HELD)
				BOTH(w, phx_ledger_job_hold, w->number[i], j->id, false);
			if (j->waits_for)
				BOTH(w, phx_ledger_job_unblock, w->number[i], j->id);
		}
		phx_list_fini(&jobs);
	}
}

static void calm_round(struct world *w)
{
	while (w->n_way)
		confirm(w, 0, true);
	tick(w);
	while (w->n_way)
		confirm(w, 0, true);
	pass(w);
	for (uint32_t i = w->n_run; i-- > 0;)
		if (i < w->n_run && !w->run[i].killing) {
			struct run run = w->run[i];
			drop_run(w, &w->run[i]);
			BOTH(w, phx_ledger_job_ended, run.re, run.job);
		}
}

/* No more trouble: webs want little, everything arrives, jobs end. Then nobody owes, and all that
 * could run has run. */
static void come_to_rest(struct world *w)
{
	if (w->broken)
		BOTH(w, phx_ledger_found, w->broken);
	w->broken = 0;
	unhold_all(w);
	for (unsigned i = 0; i < MAX_RES; i++)
		if (w->number[i] >= 0 && is_web(i))
			BOTH(w, phx_ledger_demand, w->number[i], 2);
	for (int round = 0; round < 400; round++) {
		calm_round(w);
		w->now_ms += 30000;
	}
	while (w->n_way)
		confirm(w, 0, true);
	for (unsigned i = 0; i < MAX_RES; i++) {
		struct phx_ledger_counts c;
		if (w->number[i] < 0)
			continue;
		phx_ledger_counts(w->l, w->number[i], &c);
		assert_int_equal(c.owed, 0);
		assert_int_equal(c.coming, 0);
		/* a window that was open may have changed the wish; beyond its bounds it holds by
		 * grace */
		if (is_web(i) && c.busy < c.want && c.busy < specs[i].lower)
			fail_msg("seed %u: %s wants %u nodes and has %u", w->seed, specs[i].name,
				 c.want, c.busy);
	}
}

static unsigned partner_of(unsigned i)
{
	static const unsigned partner[MAX_RES] = {1, 0, 3, 2, 5, 4, 6, 7, 9, 8, 10, 11};

	return partner[i];
}

/* Free nodes that lower bounds keep from RE i. */
static uint32_t reserved(const struct world *w, unsigned i)
{
	uint32_t sum = 0;

	for (unsigned k = 0; k < MAX_RES; k++) {
		unsigned both[] = {k, partner_of(k)}, n = both[1] == k ? 1 : 2;
		uint32_t lower = 0, held = 0;
		if (both[1] < k || k == i || both[1] == i)
			continue;
		for (unsigned m = 0; m < n; m++) {
			struct phx_ledger_counts c;
			phx_ledger_counts(w->l, w->number[both[m]], &c);
			lower += w->number[both[m]] >= 0 ? specs[both[m]].lower : 0;
			held += c.idle + c.busy;
		}
		sum += lower > held ? lower - held : 0;
	}
	return sum;
}

/* Can the biggest job of RE i not run with all that it might be given? */
static bool too_wide(const struct world *w, unsigned i)
{
	uint32_t free = phx_ledger_free_nodes(w->l), kept = reserved(w, i);
	struct phx_ledger_counts c;

	phx_ledger_counts(w->l, w->number[i], &c);
	uint32_t has = c.idle + c.busy + (free > kept ? free - kept : 0);
	return specs[i].model == PHX_POLICY_fb || specs[i].model == PHX_POLICY_coop2008 ||
		specs[i].upper || c.batch.waiting_biggest > has;
}

/* A job that still waits is wider than its RE may be. */
static void all_has_run(struct world *w)
{
	for (unsigned i = 0; i < MAX_RES; i++) {
		struct phx_ledger_counts c;
		if (w->number[i] < 0 || is_web(i))
			continue;
		phx_ledger_counts(w->l, w->number[i], &c);
		if (c.batch.n_waiting && !too_wide(w, i))
			fail_msg("seed %u: %s has %u jobs waiting, %u idle, %u free", w->seed,
				 specs[i].name, c.batch.n_waiting, c.idle,
				 phx_ledger_free_nodes(w->l));
	}
}

static void live(struct world *w, unsigned seed, unsigned steps)
{
	struct phx_ledger_config config = {.nodes = N_NODES};

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->trace = getenv("PHX_TEST_SEED");
	w->rng = seed * 2654435761u + 88172645463325252u;
	assert_int_equal(phx_ledger_new(&config, &w->l), 0);
	assert_int_equal(phx_ledger_new(&config, &w->twin), 0);
	memset(w->number, -1, sizeof(w->number));
	for (unsigned i = 0; i < MAX_RES; i++)
		if (draw(w, 4))
			activate(w, i);
	for (unsigned i = 0; i < steps; i++)
		step(w);
	come_to_rest(w);
	all_has_run(w);
	restore_twin(w);
}

static void die(struct world *w)
{
	phx_ledger_free(w->l);
	phx_ledger_free(w->twin);
	phx_list_fini(&w->out);
	phx_list_fini(&w->twin_out);
}

static void whatever_happens(void **state)
{
	static struct world w;
	const char *one = getenv("PHX_TEST_SEED"), *many = getenv("PHX_TEST_SEEDS");
	unsigned first = one ? (unsigned)atoi(one) : 1,
		 n = one ? 1
		: many   ? (unsigned)atoi(many)
			 : 150;
	uint64_t starts = 0, kills = 0, claims = 0;
	(void)state;
	for (unsigned seed = first; seed < first + n; seed++) {
		live(&w, seed, 1500);
		starts += w.n_starts;
		kills += w.n_kills;
		claims += w.n_claims;
		die(&w);
	}
	print_message("%llu starts, %llu kills, %llu claims\n", (unsigned long long)starts,
		      (unsigned long long)kills, (unsigned long long)claims);
	assert_true(one || (starts > 1000 && kills > 100 && claims > 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_happens)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
