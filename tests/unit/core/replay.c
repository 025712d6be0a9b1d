/* The contract between core and journal, under thousands of random events: what is refused or
 * changes nothing leaves the state as it was, and the journalled events alone bring back the same
 * state and the same actions. */
#include "unit/core/world.h"

#include "base/json.h"

enum { NODES = 4, EVENTS = 2000 };

/* ---- chance, the same for the same seed ---- */

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

static bool chance(uint32_t percent)
{
	return roll(100) < percent;
}

static const char *pick(const char *const *of, size_t n)
{
	return of[roll((uint32_t)n)];
}
#define PICK(...) \
	pick((const char *const[]){__VA_ARGS__}, \
	     PHX_ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

/* ---- events ---- */

/* All that is drawn for one event; its kind takes what it carries. */
struct drawn {
	struct phx_event_answer answer;
	struct phx_event_hello hello;
	struct phx_event_order order;
	struct phx_event_job_submit job;
	struct phx_event_enrol machine;
	int64_t status;
	bool bmc, hold;
};

static void of_step(struct world *w, struct phx_event *ev, struct phx_event_answer *p)
{
	const struct phx_node *n = phx_state_node(&w->s, ev->node);
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	p->result = chance(93) ? 0 : -EIO;
	PHX_STR_SET(ev->text, p->result ? "it did not work" : "");
	if (!step || chance(5)) {
		p->step_id = roll(20);
		p->epoch = roll(5);
		return;
	}
	p->step_id = step->id;
	p->epoch = n->plan.epoch;
	PHX_STR_SET(p->erased_disk, step->disk);
	p->setup.method = chance(90) ? step->method : PHX_WIPE_OVERWRITE;
	p->used = p->setup.method;
	PHX_STR_SET(p->read_sha256, chance(95) ? "sum" : "");
	p->erased_bytes = 4ULL << 30;
	p->verified_bytes = chance(95) ? 4096 : 0;
}

static void of_hello(const struct phx_node *n, struct phx_event_hello *p, unsigned i)
{
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	int kind = step ? step->kind : -1;
	bool goes_down = kind == PHX_STEP_kexec || kind == PHX_STEP_boot;
	p->env = n ? n->env : PHX_ENV_DEPLOY;
	/* mostly it does what its step wants, at times it turns up from anywhere */
	if (goes_down || kind == PHX_STEP_enter)
		p->env = goes_down ? PHX_ENV_DEPLOY : PHX_ENV_OS;
	if (chance(10))
		p->env = chance(50) ? PHX_ENV_DEPLOY : PHX_ENV_OS;
	snprintf(p->boot_id, sizeof(p->boot_id), "boot-%u", roll(1000));
	if (n && chance(goes_down ? 10 : 95))
		PHX_STR_SET(p->boot_id, n->boot_id);
	PHX_STR_SET(p->system_digest, n && chance(98) ? n->system_digest : "");
	PHX_STR_SET(p->system_image, p->system_digest[0] ? "debian-12" : "");
	world_facts(&p->facts, chance(99) ? i : 1);
	if (chance(1))
		PHX_LIST_AT(&p->facts.disks, struct phx_disk_facts, 0)->size_bytes = 0;
}

static void of_order(struct phx_event *ev, struct phx_event_order *p)
{
	PHX_STR_SET(p->role, PICK("compute", "web", "ramweb", "guest", "vault", "nosuch"));
	PHX_STR_SET(p->pool, chance(20) ? PICK("batch", "web", "nosuch") : "");
	p->has_setup = chance(40);
	p->setup.mode = (int)roll(2);
	p->setup.method = (int)roll(5);
	p->power_cycle = chance(10);
	p->force = chance(10);
	p->encrypt = chance(20);
	PHX_STR_SET(ev->text, PICK("on", "off", "cycle", "status", "odd"));
}

static void of_job(struct drawn *d)
{
	assert_int_equal(phx_text_push(&d->job.argv, "true"), 0);
	d->job.uid = d->job.gid = chance(90) ? 1000 : 0;
	d->job.job_nodes = roll(3);
	d->job.job = roll(30);
	d->status = chance(70) ? 0 : 1;
}

static void of_machine(struct drawn *d, unsigned i)
{
	world_event_mac(&d->machine.macs, chance(98) ? i : i + 1);
	snprintf(d->machine.key_fp, sizeof(d->machine.key_fp), "key-%u", chance(98) ? i : roll(9));
	snprintf(d->machine.serial, sizeof(d->machine.serial), "serial-%u", chance(99) ? i : 99);
	d->bmc = chance(50);
	d->hold = chance(30);
}

#define TAKE(to, from) ((to) = (from), memset(&(from), 0, sizeof(from)))

static void take_machine(struct phx_event_node_add *p, struct drawn *d)
{
	TAKE(p->macs, d->machine.macs);
	PHX_STR_SET(p->serial, d->machine.serial);
	PHX_STR_SET(p->bmc.driver, d->bmc ? "ipmi" : "");
	p->hold = d->hold;
}

static void take_report(struct phx_event_report *p, const struct drawn *d)
{
	PHX_STR_SET(p->actual_role, d->hello.actual_role);
	p->healthy = d->hello.healthy;
}

static void take_payload(struct phx_event *ev, struct drawn *d)
{
	switch (phx_event_payload((enum phx_event_kind)ev->kind)) {
	case PHX_PAYLOAD_answer:
		ev->answer = d->answer;
		break;
	case PHX_PAYLOAD_order:
		ev->order = d->order;
		break;
	case PHX_PAYLOAD_hello:
		TAKE(ev->hello, d->hello);
		break;
	case PHX_PAYLOAD_report:
		take_report(&ev->report, d);
		break;
	case PHX_PAYLOAD_inventory:
		TAKE(ev->inventory.facts, d->hello.facts);
		break;
	case PHX_PAYLOAD_enrol:
		TAKE(ev->enrol, d->machine);
		break;
	case PHX_PAYLOAD_node_add:
		take_machine(&ev->node_add, d);
		break;
	case PHX_PAYLOAD_node_bmc:
		PHX_STR_SET(ev->node_bmc.bmc.driver, d->bmc ? "ipmi" : "");
		break;
	case PHX_PAYLOAD_job_submit:
		TAKE(ev->job_submit, d->job);
		ev->job_submit.hold = d->hold;
		break;
	case PHX_PAYLOAD_job_order:
		ev->job_order = (struct phx_event_job_order){.job = d->job.job, .hold = d->hold};
		break;
	case PHX_PAYLOAD_job_result:
		ev->job_result =
			(struct phx_event_job_result){.job = d->job.job, .result = d->status};
		break;
	default:
		break;
	}
}

static void make_event(struct world *w, struct phx_event *ev)
{
	/* what happens often, and then everything */
	static const int often[] = {PHX_EV_step_result, PHX_EV_step_result, PHX_EV_step_result,
				    PHX_EV_hello,       PHX_EV_hello,       PHX_EV_key_result,
				    PHX_EV_tick,        PHX_EV_assign,      PHX_EV_back,
				    PHX_EV_release,     PHX_EV_job_result,  PHX_EV_resume,
				    PHX_EV_enrol,       PHX_EV_node_add};
	unsigned i = 1 + roll(NODES);
	struct drawn d = {0};
	*ev = (struct phx_event){.kind = chance(92) ? often[roll(PHX_ARRAY_SIZE(often))]
						    : (int)roll(PHX_EV_COUNT_ - PHX_EV_node_add) +
						 PHX_EV_node_add};
	snprintf(ev->node, sizeof(ev->node), "n%u", i);
	PHX_STR_SET(ev->by, "test");
	PHX_STR_SET(d.hello.actual_role, PICK("", "web", "compute"));
	d.hello.healthy = chance(50);
	const struct phx_node *n = phx_state_node(&w->s, ev->node);
	if (n && chance(70)) {
		PHX_STR_SET(d.hello.actual_role, n->actual_role);
		d.hello.healthy = n->healthy;
	}
	of_order(ev, &d.order);
	of_machine(&d, i);
	of_job(&d);
	of_hello(n, &d.hello, i);
	if (ev->kind == PHX_EV_step_result || ev->kind == PHX_EV_key_result ||
	    ev->kind == PHX_EV_power_result)
		of_step(w, ev, &d.answer);
	if (ev->kind == PHX_EV_power_result && chance(40))
		d.answer.step_id = 0;
	d.answer.power = (int)roll(3);
	take_payload(ev, &d);
	phx_record_fini(&phx_event_hello_record, &d.hello);
	phx_record_fini(&phx_event_job_submit_record, &d.job);
	phx_record_fini(&phx_event_enrol_record, &d.machine);
	w->now += roll(50) ? roll(3000) : roll(400000);
}

/* ---- what must hold ---- */

static char *record_text(const struct phx_record *rec, const void *obj)
{
	PHX_AUTO_JSON json_t *j = phx_json_from_record(rec, obj);
	assert_non_null(j);
	return phx_json_text(j);
}

/* The state without its clock and count, which every event may move. */
static char *state_text(const struct phx_state *s)
{
	struct phx_state bare = *s;
	bare.seq = 0;
	bare.now_ms = 0;
	return record_text(&phx_state_record, &bare);
}

static char *actions_text(const struct phx_outcome *out)
{
	PHX_AUTO_JSON json_t *a = json_array();
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		json_array_append_new(a, phx_json_from_record(&phx_action_record, act));
	return phx_json_text(a);
}

/* Through JSON, as the journal keeps it. */
static void journalled(const struct phx_event *ev, struct phx_event *ret)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_event_record, ev);
	assert_non_null(text);
	PHX_AUTO_JSON json_t *j = json_loads(text, 0, NULL);
	assert_non_null(j);
	if (phx_json_to_record(&phx_event_record, j, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void replay(struct phx_state *twin, const struct phx_event *ev,
		   const struct phx_outcome *out)
{
	struct phx_event again;
	struct phx_outcome mine = {0};
	journalled(ev, &again);
	assert_int_equal(phx_core_apply(twin, &again, &mine, NULL), 0);
	PHX_AUTO_FREE char *want = actions_text(out);
	PHX_AUTO_FREE char *got = actions_text(&mine);
	assert_string_equal(want, got);
	phx_outcome_fini(&mine);
	phx_event_fini(&again);
}

static bool one_event(struct world *w, struct phx_state *twin)
{
	struct phx_event ev;
	struct phx_outcome out = {0};
	make_event(w, &ev);
	PHX_AUTO_FREE char *before = state_text(&w->s);
	uint64_t seq = w->s.seq;
	int r = world_apply(w, &ev, &out);
	PHX_AUTO_FREE char *after = state_text(&w->s);
	bool counts = w->s.seq != seq;
	const char *kind = phx_enum_name(&phx_event_kind_names, ev.kind);
	if (r < 0 && (counts || strcmp(before, after)))
		fail_msg("%s was refused and changed the state: %s", kind, w->err.text);
	if (r < 0 && !w->err.text[0])
		fail_msg("%s was refused without a word", kind);
	if (r == 0 && !counts && strcmp(before, after))
		fail_msg("%s changed the state and is not journalled\n%s\n%s", kind, before, after);
	if (counts) {
		assert_int_equal(w->s.seq, seq + 1);
		replay(twin, &ev, &out);
		PHX_AUTO_FREE char *same = state_text(twin);
		if (strcmp(after, same))
			fail_msg("%s comes out differently at replay\n%s\n%s", kind, after, same);
	}
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return counts;
}

/* A daemon that was restarted from a snapshot goes on as the one that was not. */
static void through_a_snapshot(struct phx_state *twin)
{
	struct phx_state fresh;
	PHX_AUTO_FREE char *text = record_text(&phx_state_record, twin);
	PHX_AUTO_JSON json_t *j = json_loads(text, 0, NULL);
	assert_int_equal(phx_json_to_record(&phx_state_record, j, &fresh, NULL), 0);
	phx_state_fini(twin);
	*twin = fresh;
}

static void random_life(void **state, uint64_t from)
{
	struct world *w = *state;
	struct phx_state twin;
	unsigned journalled_events = 0;
	seed = from;
	for (unsigned i = 1; i <= NODES; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, i % 2);
	}
	assert_int_equal(phx_record_copy(&phx_state_record, &twin, &w->s), 0);
	for (int i = 0; i < EVENTS; i++) {
		journalled_events += one_event(w, &twin);
		if (i % 100 == 99)
			through_a_snapshot(&twin);
	}
	phx_state_fini(&twin);
	print_message("%u of %d events were journalled, %llu steps\n", journalled_events, EVENTS,
		      (unsigned long long)w->s.last_step_id);
	assert_true(journalled_events > EVENTS / 10 && w->s.last_step_id > 50);
}

/* Answers are lost when the head dies: an agent that asks again must not make the journal longer
 * each time. */
static void what_is_told_twice_is_told_once(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	struct phx_event report = {.kind = PHX_EV_report, .report.healthy = true};
	struct phx_event back = {.kind = PHX_EV_back};
	PHX_STR_SET(report.node, "n1");
	PHX_STR_SET(report.report.actual_role, "web");
	PHX_STR_SET(report.text, "answers");
	PHX_STR_SET(back.node, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, false), 0);
	assert_int_equal(world_apply(w, &report, NULL), 0);
	uint64_t seq = w->s.seq;
	assert_int_equal(world_apply(w, &report, NULL), 0);
	assert_int_equal(world_apply(w, &back, NULL), 0);
	assert_int_equal(w->s.seq, seq);
	PHX_STR_SET(report.text, "does not answer");
	assert_int_equal(world_apply(w, &report, NULL), 0);
	assert_int_equal(w->s.seq, seq + 1);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, false), 0); /* says not healthy */
	assert_int_equal(w->s.seq, seq + 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, false), 0);
	assert_int_equal(w->s.seq, seq + 2);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, true), 0);
	assert_int_equal(w->s.seq, seq + 3);
}

#define LIFE(n) \
	static void life_##n(void **state) \
	{ \
		random_life(state, n); \
	}
LIFE(1)
LIFE(2)
LIFE(3)
LIFE(4)
LIFE(5)
LIFE(6)

int main(void)
{
	const struct CMUnitTest tests[] = {WORLD_TEST(what_is_told_twice_is_told_once),
					   WORLD_TEST(life_1),
					   WORLD_TEST(life_2),
					   WORLD_TEST(life_3),
					   WORLD_TEST(life_4),
					   WORLD_TEST(life_5),
					   WORLD_TEST(life_6)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
