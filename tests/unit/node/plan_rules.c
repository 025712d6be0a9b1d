/* What holds of every plan, whatever the node and the order: all combinations are planned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "unit/node/plan_world.h"

struct axis {
	const char *words[12];
};

static const struct axis axes[] = {
	{{"off", "silent", "deploy", "os"}},
	{{"", "bmc"}},
	{{"", "from=compute", "from=web"}},
	{{"", "to=compute", "to=web", "to=ramweb"}},
	{{"system=none", "system=old", "system=fits", "system=key", "system=ram"}},
	{{"", "wipe=auto", "wipe=crypto", "wipe=discard", "wipe=overwrite", "wipe=secure-erase",
	  "setup=reimage", "clears setup=data", "dirty setup=data"}},
	{{"a=d", "a=ds", "a=", "a=r", "a=d b=n", "a=d b=u"}},
	{{"", "encrypt"}},
	{{"", "rebuild", "cycle"}},
	{{"", "agreed"}},
};

static uint32_t count(const struct phx_plan *p, int kind)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_step, s, &p->steps)
		n += s->kind == kind;
	return n;
}

static uint32_t fixed_disks(const struct phx_node *n)
{
	uint32_t fixed = 0;
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks)
		fixed += !d->removable;
	return fixed;
}

/* Is the node where each step needs it, if every step succeeds? */
static const char *walk(const struct plan_world *w, const struct phx_plan *p)
{
	int env = w->node.up ? w->node.env : PHX_ENV_NONE;
	bool key_destroyed = false, wiped = false;
	/* a silent node was in its system: the core brings it back there */
	if (!w->node.up && w->node.env == PHX_ENV_OS && p->tier == PHX_TIER_IN_PLACE)
		env = PHX_ENV_OS;
	PHX_LIST_EACH(struct phx_step, s, &p->steps) {
		enum phx_step_needs needs = phx_step_info((enum phx_step_kind)s->kind)->needs;
		if (needs == PHX_NEEDS_OS && env != PHX_ENV_OS)
			return "a step needs the system, and the node is elsewhere";
		if (needs == PHX_NEEDS_DEPLOY && env != PHX_ENV_DEPLOY)
			return "a step needs the deploy environment, and the node is elsewhere";
		if (s->kind == PHX_STEP_kexec || s->kind == PHX_STEP_boot)
			env = PHX_ENV_DEPLOY;
		if (s->kind == PHX_STEP_enter)
			env = PHX_ENV_OS;
		key_destroyed = key_destroyed || s->kind == PHX_STEP_destroy_key;
		wiped = wiped || s->kind == PHX_STEP_wipe;
		if (s->kind == PHX_STEP_wipe && s->method == PHX_WIPE_CRYPTO && !key_destroyed)
			return "a disk is erased by its key before the key is destroyed";
		if (s->kind == PHX_STEP_wipe && s->method == PHX_WIPE_AUTO)
			return "a disk is erased by no method in particular";
		if (wiped && s->kind == PHX_STEP_drain)
			return "the old tenant is asked to leave after the erase";
	}
	return NULL;
}

/* The one plan of an erase that wipes nothing now: the machine is out of reach, its key is not. */
static bool key_alone(const struct plan_world *w, const struct phx_plan *p)
{
	int method = w->q.setup.method;
	return p->steps.n == 1 && count(p, PHX_STEP_destroy_key) &&
		phx_setup_does(&w->q.setup, PHX_SETUP_SCRATCH) && !w->node.up &&
		!w->node.bmc.driver[0] && !w->q.to &&
		(method == PHX_WIPE_AUTO || method == PHX_WIPE_CRYPTO);
}

static const char *check(const struct plan_world *w, const struct phx_plan *p)
{
	bool data = w->q.setup.mode == PHX_SETUP_DATA;
	bool proven = w->node.scratches && w->node.up && w->node.env == PHX_ENV_OS;
	bool wipe = w->q.setup.mode == PHX_SETUP_WIPE || (data && !proven);
	if (count(p, PHX_STEP_scratch) != (data && proven ? 1 : 0))
		return "the scratch is left, or destroyed without need or proof";
	if (key_alone(w, p))
		return p->reason[0] ? NULL : "a plan without a reason";
	if (count(p, PHX_STEP_wipe) != (wipe ? fixed_disks(&w->node) : 0))
		return "not every fixed disk is erased, or one without need";
	if (wipe && w->q.to && !count(p, PHX_STEP_image) && !count(p, PHX_STEP_ram))
		return "an erased node gets no system";
	bool renews = phx_setup_does(&w->q.setup, PHX_SETUP_SYSTEM);
	if (renews && w->q.to && !count(p, PHX_STEP_image) && !count(p, PHX_STEP_ram))
		return "a system that is to be written anew stays";
	if (count(p, PHX_STEP_boot) && !w->node.bmc.driver[0])
		return "a boot without a BMC";
	if (count(p, PHX_STEP_kexec) && (w->q.power_cycle || !w->node.up))
		return "kexec where it cannot be or was not wanted";
	if (count(p, PHX_STEP_join) != (w->q.to && p->steps.n ? 1 : 0))
		return "a node joins a pool without a role, or never joins";
	if (count(p, PHX_STEP_make_key) > (uint32_t)w->q.encrypt)
		return "a key is made that nobody asked for";
	bool rewritten = wipe || count(p, PHX_STEP_image);
	if (!rewritten && count(p, PHX_STEP_destroy_key))
		return "a key is destroyed without an erase or a new system";
	if (rewritten && w->node.disk_key_id[0] && !count(p, PHX_STEP_destroy_key))
		return "an erased or rewritten node keeps its key";
	if (!p->reason[0] && p->steps.n)
		return "a plan without a reason";
	return walk(w, p);
}

/* One combination, picked by its number. */
static void plan_one(unsigned number, unsigned *planned, unsigned *refused)
{
	char words[256] = "", spoken[256];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(axes); i++) {
		unsigned n = 0;
		while (n < 12 && axes[i].words[n])
			n++;
		strcat(strcat(words, axes[i].words[number % n]), " ");
		number /= n;
	}
	snprintf(spoken, sizeof(spoken), "%s", words);
	struct plan_world w = {0};
	struct phx_plan plan, untouched;
	struct phx_err err = {0};
	memset(&plan, 0x5a, sizeof(plan));
	memcpy(&untouched, &plan, sizeof(plan));
	plan_world_read(&w, words);
	int r = phx_plan_handover(&w.q, &plan, &err);
	if (r < 0) {
		assert_true(err.text[0]);
		assert_memory_equal(&plan, &untouched, sizeof(plan));
		++*refused;
	} else {
		const char *why = check(&w, &plan);
		if (why)
			fail_msg("%s: %s", spoken, why);
		phx_record_fini(&phx_plan_record, &plan);
		++*planned;
	}
	plan_world_fini(&w);
}

static void every_combination(void **state)
{
	unsigned total = 1, planned = 0, refused = 0;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(axes); i++) {
		unsigned n = 0;
		while (n < 12 && axes[i].words[n])
			n++;
		total *= n;
	}
	for (unsigned i = 0; i < total; i++)
		plan_one(i, &planned, &refused);
	print_message("%u planned, %u refused\n", planned, refused);
	assert_true(planned > 1000 && refused > 1000);
}

/* The same order twice gives the same plan: --dry-run is what the daemon does. */
static void planning_changes_nothing(void **state)
{
	char words[] = "os bmc from=compute to=web system=key a=d b=s wipe=auto encrypt",
	     first[1024], second[1024];
	struct plan_world w = {0};
	struct phx_node before;
	(void)state;
	plan_world_read(&w, words);
	assert_int_equal(phx_record_copy(&phx_node_record, &before, &w.node), 0);
	plan_world_say(&w, first, sizeof(first));
	plan_world_say(&w, second, sizeof(second));
	assert_string_equal(first, second);
	assert_true(phx_record_equal(&phx_node_record, &before, &w.node));
	phx_record_fini(&phx_node_record, &before);
	plan_world_fini(&w);
}

static void expectation_adds_up(void **state)
{
	char words[] = "os bmc from=compute to=web system=old a=d";
	struct plan_world w = {0};
	struct phx_plan plan;
	uint32_t sum = 0;
	(void)state;
	plan_world_read(&w, words);
	assert_int_equal(phx_plan_handover(&w.q, &plan, NULL), 0);
	PHX_LIST_EACH(struct phx_step, s, &plan.steps) {
		sum += s->expected_ms;
		assert_int_equal(s->id, 0);
		assert_int_equal(s->status, PHX_STEP_PENDING);
	}
	assert_true(sum > 0);
	assert_int_equal(plan.expected_ms, sum);
	assert_int_equal(plan.epoch, 0);
	assert_string_equal(plan.from_pool, "p1");
	assert_string_equal(plan.to_pool, "p2");
	assert_string_equal(plan.to_role, "web");
	phx_record_fini(&phx_plan_record, &plan);
	plan_world_fini(&w);
}

/* Who waits for services to settle says so: those of a role settle side by side. */
static void settling_is_expected(void **state)
{
	struct phx_plan plan[2];
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct plan_world w = {0};
		char words[] = "os bmc to=web system=fits a=d";
		plan_world_read(&w, words);
		for (uint32_t k = 0; k < 3; k++) {
			struct phx_service *s = phx_list_push(&w.to.services, sizeof(*s));
			s->settle_s = i ? k + 1 : 0;
		}
		assert_int_equal(phx_plan_handover(&w.q, &plan[i], NULL), 0);
		plan_world_fini(&w);
	}
	assert_int_equal(plan[1].expected_ms, plan[0].expected_ms + 3000);
	PHX_LIST_EACH(struct phx_step, s, &plan[1].steps)
		if (s->kind == PHX_STEP_start)
			assert_int_equal(s->expected_ms,
					 phx_step_info(PHX_STEP_start)->expected_ms + 3000);
	for (int i = 0; i < 2; i++)
		phx_record_fini(&phx_plan_record, &plan[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_combination),
		cmocka_unit_test(planning_changes_nothing),
		cmocka_unit_test(expectation_adds_up),
		cmocka_unit_test(settling_is_expected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
