/* What the core needs to decide, in a large cluster: a pair of REs that share all nodes, each node
 * busy with a job, and a web service that wants one node more, again and again. Everything is done
 * by events, as the daemon does it; machines are a model that does each step at once. Times are CPU
 * time of this process, of phx_core_apply() alone.
 *
 *	reclaim NODES JOBS RUNS
 *	reclaim slurm JOBS RUNS     a queue that Slurm has, told as a whole: new, known, gone
 *
 * Prints one JSON object, a key a kind of event: {"median": us, "worst": us, "n": how many}. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/core.h"
#include "node/director.h"

enum { WEB_NODES = 100, WINDOW_MS = 20000, BUSY_PPM = 950000 };

enum kind {
	RECLAIM,
	VACATE,
	REPORT,
	USE,
	SUBMIT,
	JOB_END,
	STEP,
	DEADLINE,
	ORDERS,
	TABLE,
	WHOLE,
	AGAIN,
	GONE,
	KINDS
};
static const char *const kind_names[] = {
	[RECLAIM] = "reclaim", [VACATE] = "vacate",   [REPORT] = "report", [USE] = "use",
	[SUBMIT] = "submit",   [JOB_END] = "job_end", [STEP] = "step",     [DEADLINE] = "deadline",
	[ORDERS] = "orders",   [TABLE] = "table",     [WHOLE] = "whole",   [AGAIN] = "again",
	[GONE] = "gone",
};

struct bench {
	struct phx_state s;
	int64_t now;
	unsigned boots;
	uint32_t nodes, jobs, runs;
	bool counts;               /* from now on times are kept */
	bool external;             /* Slurm starts the jobs */
	struct phx_list ns[KINDS]; /* double */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "reclaim: %s: %s\n", what, why);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void keep(struct bench *b, enum kind kind, double ns)
{
	double *slot = b->counts ? phx_list_push(&b->ns[kind], sizeof(*slot)) : NULL;
	if (slot)
		*slot = ns;
}

static void apply(struct bench *b, struct phx_event *ev, enum kind kind, struct phx_outcome *ret)
{
	struct phx_outcome out;
	struct phx_err err = {0};
	ev->now_ms = b->now;
	double t = now_ns();
	int r = phx_core_apply(&b->s, ev, &out, &err);
	keep(b, kind, now_ns() - t);
	if (r < 0)
		die(phx_enum_name(&phx_event_kind_names, ev->kind), err.text);
	if (ret)
		*ret = out;
	else
		phx_outcome_fini(&out);
}

/* ---- machines ---- */

static void set_name(char name[PHX_NAME_MAX], uint32_t i)
{
	snprintf(name, PHX_NAME_MAX, "node%05u", i);
}

static void set_mac_text(char mac[PHX_MAC_MAX], uint32_t i)
{
	snprintf(mac, PHX_MAC_MAX, "52:54:00:%02x:%02x:%02x", i >> 16, i >> 8 & 0xff, i & 0xff);
}

static void set_mac(struct phx_list *macs, uint32_t i)
{
	struct phx_mac *m = phx_list_push(macs, sizeof(*m));
	set_mac_text(m->mac, i);
}

static void set_facts(struct phx_facts *f, uint32_t i)
{
	struct phx_disk_facts *d = phx_list_push(&f->disks, sizeof(*d));
	struct phx_nic_facts *nic = phx_list_push(&f->nics, sizeof(*nic));
	set_mac_text(nic->mac, i);
	snprintf(d->id, sizeof(d->id), "disk%u", i);
	d->size_bytes = 4ULL << 30;
	snprintf(f->uuid, sizeof(f->uuid), "uuid-%u", i);
	f->cpus = 2;
	f->memory_bytes = 1ULL << 30;
}

static void hello(struct bench *b, const struct phx_node *n, int env, bool new_boot)
{
	struct phx_event ev = {.kind = PHX_EV_hello, .hello = {.env = env, .echoes = true}};
	PHX_STR_SET(ev.node, n->name);
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++b->boots);
	snprintf(ev.hello.address, sizeof(ev.hello.address), "10.9.%u.%u", n->number >> 8,
		 n->number & 255);
	if (!new_boot)
		PHX_STR_SET(ev.hello.boot_id, n->boot_id);
	PHX_STR_SET(ev.hello.system_image, n->system_image);
	PHX_STR_SET(ev.hello.system_digest, n->system_digest);
	PHX_STR_SET(ev.hello.actual_role, n->actual_role);
	set_facts(&ev.hello.facts, n->number);
	apply(b, &ev, STEP, NULL);
	phx_event_fini(&ev);
}

static void add_node(struct bench *b, uint32_t i)
{
	struct phx_event ev = {.kind = PHX_EV_node_add};
	set_name(ev.node, i);
	set_mac(&ev.node_add.macs, i);
	apply(b, &ev, STEP, NULL);
	ev.kind = PHX_EV_enrol;
	PHX_STR_SET(ev.enrol.key_fp, ev.node);
	apply(b, &ev, STEP, NULL);
	hello(b, PHX_LIST_AT(&b->s.nodes, struct phx_node, i - 1), PHX_ENV_DEPLOY, true);
	phx_event_fini(&ev);
}

static void step_done(struct bench *b, const struct phx_node *n, const struct phx_step *step)
{
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.step_id = step->id, .epoch = n->plan.epoch}};
	struct phx_event report = {.kind = PHX_EV_report, .report.healthy = true};
	bool runs = step->kind == PHX_STEP_activate;
	PHX_STR_SET(ev.node, n->name);
	PHX_STR_SET(report.node, n->name);
	PHX_STR_SET(report.report.actual_role, step->role);
	apply(b, &ev, STEP, NULL);
	if (runs)
		apply(b, &report, STEP, NULL);
}

/* Until the node is at rest. */
static void run_plan(struct bench *b, const struct phx_node *n)
{
	const struct phx_step *step;
	while ((step = phx_node_step(n))) {
		if (step->kind == PHX_STEP_kexec)
			hello(b, n, PHX_ENV_DEPLOY, true);
		else if (step->kind == PHX_STEP_enter)
			hello(b, n, PHX_ENV_OS, false);
		else
			step_done(b, n, step);
	}
}

static void run_plans(struct bench *b)
{
	for (uint32_t i = 0; i < b->s.nodes.n; i++)
		run_plan(b, PHX_LIST_AT(&b->s.nodes, struct phx_node, i));
}

/* ---- the cluster ---- */

static void add_role(struct bench *b, const char *name, bool jobs, bool director)
{
	struct phx_event ev = {.kind = PHX_EV_role_put,
			       .role.role_put = {.runs_jobs = jobs, .director = director}};
	PHX_STR_SET(ev.role.role_put.name, name);
	PHX_STR_SET(ev.role.role_put.pool, PHX_POOL_FREE);
	PHX_STR_SET(ev.role.role_put.image, "debian");
	PHX_STR_SET(ev.role.role_put.image_digest, "d1");
	apply(b, &ev, STEP, NULL);
}

static void add_re(struct bench *b, const char *name, const char *partner, int type, uint32_t lower)
{
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_agreement *a = &ev.ask.agreement;
	phx_agreement_init(a);
	PHX_STR_SET(a->name, name);
	PHX_STR_SET(a->partner, partner);
	PHX_STR_SET(a->owner, "campus");
	PHX_STR_SET(a->role, type == PHX_RE_BATCH ? "compute" : "web");
	PHX_STR_SET(a->address, type == PHX_RE_BATCH ? "" : "10.9.255.250");
	a->type = type;
	a->engine =
		b->external && type == PHX_RE_BATCH ? PHX_RE_ENGINE_SLURM : PHX_RE_ENGINE_BUILTIN;
	a->coordination = PHX_RE_COORDINATED_OTHER;
	a->model = PHX_POLICY_fb;
	a->lower = a->upper = lower;
	a->lease_s = 3600;
	apply(b, &ev, STEP, NULL);
	struct phx_event on = {.kind = PHX_EV_re_activate, .re_order.who = PHX_RE_WHO_SERVICE};
	PHX_STR_SET(on.re, name);
	apply(b, &on, STEP, NULL);
}

/* The last node, beside those that are shared. */
static void add_director(struct bench *b)
{
	struct phx_event ev = {.kind = PHX_EV_assign, .order.pin = true};
	add_node(b, b->nodes + 1);
	set_name(ev.node, b->nodes + 1);
	PHX_STR_SET(ev.order.role, "balance");
	apply(b, &ev, STEP, NULL);
}

static void submit(struct bench *b, uint32_t nodes)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = nodes,
					      .uid = 1000,
					      .gid = 1000,
					      .estimate_ms = 1000 * 3600 * 1000LL}};
	phx_text_push(&ev.job_submit.argv, "/bin/true");
	PHX_STR_SET(ev.re, "queue");
	apply(b, &ev, SUBMIT, NULL);
	phx_event_fini(&ev);
	b->now += 10;
}

/* Jobs of one to three nodes, so that all nodes are busy with exactly so many. */
static void submit_all(struct bench *b)
{
	uint32_t left = b->nodes - WEB_NODES;
	for (uint32_t k = 0; k < b->jobs; k++) {
		uint32_t others = b->jobs - k - 1, size = 1 + k % 3, most = left - others;
		size = !others || size > most ? most : size;
		submit(b, size);
		left -= size;
	}
}

static void build(struct bench *b)
{
	phx_state_init(&b->s);
	b->now = 1000000;
	add_role(b, "compute", true, false);
	add_role(b, "web", false, false);
	add_role(b, "balance", false, true);
	for (uint32_t i = 1; i <= b->nodes; i++)
		add_node(b, i);
	add_director(b);
	add_re(b, "queue", "shop", PHX_RE_BATCH, b->nodes - WEB_NODES);
	add_re(b, "shop", "queue", PHX_RE_WEB, WEB_NODES);
	run_plans(b);
	if (!b->external)
		submit_all(b);
}

/* ---- what is measured ---- */

static uint32_t running(const struct bench *b)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_job, j, &b->s.jobs)
		n += j->state == PHX_JOB_RUNNING;
	return n;
}

static void end_part(struct bench *b, const struct phx_job *j, const char *node, int64_t status,
		     enum kind kind)
{
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = j->id, .run = j->kills, .result = status}};
	PHX_STR_SET(ev.node, node);
	apply(b, &ev, kind, NULL);
}

/* A job ends by itself on its last node: the next one that fits is started. */
static void job_ends(struct bench *b, uint32_t i)
{
	struct phx_job *j = PHX_LIST_AT(&b->s.jobs, struct phx_job, i % b->s.jobs.n);
	if (j->state != PHX_JOB_RUNNING || j->end || j->nodes != 1)
		return;
	uint64_t id = j->id;
	submit(b, 1);
	j = phx_state_job(&b->s, id);
	end_part(b, j, PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node, 0, JOB_END);
}

static void report(struct bench *b, uint32_t i)
{
	const struct phx_node *n =
		PHX_LIST_AT(&b->s.nodes, struct phx_node, i * 7919 % b->s.nodes.n);
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = n->healthy};
	PHX_STR_SET(ev.node, n->name);
	PHX_STR_SET(ev.report.actual_role, n->actual_role);
	PHX_STR_SET(ev.report.actual_identity, n->actual_identity);
	snprintf(ev.text, sizeof(ev.text), "load %u", i);
	apply(b, &ev, REPORT, NULL);
}

/* What the daemon asks of the state between events. */
static void look(struct bench *b, uint32_t i)
{
	struct phx_list orders = {0};
	double t = now_ns();
	int64_t due = phx_core_next_deadline(&b->s);
	keep(b, DEADLINE, now_ns() - t);
	if (due == INT64_MAX)
		die("deadline", "there is none");
	t = now_ns();
	phx_core_orders(&b->s,
			PHX_LIST_AT(&b->s.nodes, struct phx_node, i * 7919 % b->s.nodes.n)->name,
			&orders);
	keep(b, ORDERS, now_ns() - t);
	PHX_LIST_EACH(struct phx_order, o, &orders)
		phx_record_fini(&phx_order_record, o);
	phx_list_fini(&orders);
}

/* What it asks for the balancers when something has changed: who is to have which table. */
static void look_at_table(struct bench *b)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table table = {0};
	double t = now_ns();
	const struct phx_node *acting = phx_director_acting(&b->s);
	int r = phx_director_table(&b->s, &table);
	keep(b, TABLE, now_ns() - t);
	uint32_t n = r == 0 && table.services.n
		? PHX_LIST_AT(&table.services, struct phx_web_service, 0)->servers.n
		: 0;
	if (!acting || n < WEB_NODES)
		die("table", "there is no director, or not all nodes are in it");
}

static void use(struct bench *b)
{
	struct phx_event ev = {.kind = PHX_EV_re_use, .re_use.use_ppm = BUSY_PPM};
	PHX_STR_SET(ev.re, "shop");
	apply(b, &ev, USE, NULL);
}

/* The window ends: one instance more is wanted, a job is chosen and told to end. Returns it. */
static struct phx_job *reclaim(struct bench *b)
{
	struct phx_event tick = {.kind = PHX_EV_tick};
	use(b);
	b->now += WINDOW_MS;
	apply(b, &tick, RECLAIM, NULL);
	PHX_LIST_EACH(struct phx_job, j, &b->s.jobs)
		if (j->end)
			return j;
	die("reclaim", "no job is killed");
	return NULL;
}

/* It has ended: its nodes are chosen for the web service and told so, which they do at once. */
static void vacate(struct bench *b, struct phx_job *j)
{
	char node[PHX_NAME_MAX];
	for (uint32_t k = 0; k < j->parts.n; k++)
		end_part(b, j, PHX_LIST_AT(&j->parts, struct phx_job_part, k)->node, 143,
			 k + 1 == j->parts.n ? VACATE : JOB_END);
	PHX_NODES_EACH(n, &b->s)
		if (phx_node_step(n))
			PHX_STR_SET(node, n->name);
	run_plan(b, phx_state_node(&b->s, node));
}

/* All that Slurm has: `n` jobs that wait. */
static void tell_whole(struct bench *b, uint32_t n, uint32_t first, enum kind kind)
{
	struct phx_event ev = {.kind = PHX_EV_re_queue, .re_queue.whole = true};
	PHX_STR_SET(ev.re, "queue");
	for (uint32_t i = 0; i < n; i++) {
		struct phx_engine_job *j = phx_list_push(&ev.re_queue.engine_jobs, sizeof(*j));
		snprintf(j->id, sizeof(j->id), "%u", first + i);
		PHX_STR_SET(j->user, "nobody");
		j->nodes = 1 + i % 3;
		j->submitted_ms = b->now;
	}
	apply(b, &ev, kind, NULL);
	phx_event_fini(&ev);
	b->now += 1000;
}

static void measure_external(struct bench *b)
{
	b->external = true;
	b->nodes = 2 * WEB_NODES;
	build(b);
	b->counts = true;
	for (uint32_t i = 0; i < b->runs; i++) {
		tell_whole(b, b->jobs, 1 + i * b->jobs, WHOLE);
		tell_whole(b, b->jobs, 1 + i * b->jobs, AGAIN);
		tell_whole(b, 0, 0, GONE);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print(struct bench *b, double build_s)
{
	printf("{\"nodes\": %u, \"running\": %u, \"build_s\": %.1f", b->nodes, running(b), build_s);
	for (int k = 0; k < KINDS; k++) {
		struct phx_list *l = &b->ns[k];
		if (!l->n)
			continue;
		qsort(l->items, l->n, sizeof(double), compare);
		printf(",\n \"%s\": {\"median\": %.1f, \"worst\": %.1f, \"n\": %u}", kind_names[k],
		       *PHX_LIST_AT(l, double, l->n / 2) / 1000,
		       *PHX_LIST_AT(l, double, l->n - 1) / 1000, l->n);
		phx_list_fini(l);
	}
	printf("}\n");
}

static uint32_t number(const char *text, uint64_t most)
{
	uint64_t n;
	if (phx_u64_parse(text, 1, most, &n) < 0)
		die(text, "is no such number");
	return (uint32_t)n;
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct phx_err err = {0};
	if (argc != 4)
		die("usage", "reclaim NODES|slurm JOBS RUNS");
	if (!strcmp(argv[1], "slurm")) {
		b.jobs = number(argv[2], 100000);
		b.runs = number(argv[3], 1000);
		measure_external(&b);
		print(&b, 0);
		phx_state_fini(&b.s);
		return 0;
	}
	b.nodes = number(argv[1], 60000);
	b.jobs = number(argv[2], 10000);
	b.runs = number(argv[3], 10000);
	if (b.nodes < WEB_NODES + b.jobs)
		die("NODES", "not one for each job, and a hundred");
	double t = now_ns();
	build(&b);
	t = now_ns() - t;
	if (running(&b) != b.jobs)
		die("build", "not all jobs run");
	b.counts = true;
	for (uint32_t i = 0; i < b.runs; i++)
		look_at_table(&b);
	for (uint32_t i = 0; i < b.runs; i++) {
		vacate(&b, reclaim(&b));
		job_ends(&b, i * 31);
		report(&b, i);
		look(&b, i);
	}
	if (b.nodes <= 1000 && phx_state_check(&b.s, &err) < 0)
		die("state", err.text);
	print(&b, t / 1e9);
	phx_state_fini(&b.s);
	return 0;
}
