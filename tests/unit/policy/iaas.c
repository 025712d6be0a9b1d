/* Provisioning policies beside the cases worked by hand (tests/golden/iaas.txt): the table, the
 * parameters, what is remembered, and limits that hold for views drawn at random. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "policy/iaas.h"

static void table_is_that_of_002(void **state)
{
	static const char *const texts[] = {
#define PROVISIONING(id, name, params, pools, knows, trigger, text, source) text,
#include "policy/provisioning.def"
#undef PROVISIONING
	};
	static const char *const sources[] = {
#define PROVISIONING(id, name, params, pools, knows, trigger, text, source) source,
#include "policy/provisioning.def"
#undef PROVISIONING
	};
	(void)state;
	assert_int_equal(PHX_PROVISIONING_COUNT_, 8);
	for (int i = 0; i < PHX_PROVISIONING_COUNT_; i++) {
		const struct phx_iaas_policy *p = phx_iaas_policy((enum phx_provisioning)i);
		const struct phx_iaas_rules *r = p->rules;
		assert_string_equal(p->name, phx_enum_name(&phx_provisioning_names, i));
		assert_true(r->start || r->change || r->tick);
		/* 002 table 1: exact durations for ExecTime alone, two pools for 2Q alone */
		assert_int_equal(p->knows_run, i == PHX_PROVISIONING_od_exectime);
		assert_int_equal(p->n_pools, i == PHX_PROVISIONING_od_2q ? 2 : 1);
		assert_true(*texts[i] && strstr(sources[i], "002 3.1"));
	}
	int found;
	struct phx_err err = {0};
	assert_int_equal(phx_enum_parse(&phx_provisioning_names, "od-x", &found, &err), -EINVAL);
	assert_non_null(strstr(err.text, "od-execkn"));
}

static void parameters_are_checked(void **state)
{
	struct phx_iaas_params good, p;
	struct phx_err err;
	(void)state;
	phx_iaas_params_default(&good);
	assert_int_equal(phx_iaas_params_check(&good, NULL), 0);
	assert_int_equal(good.idle_ms[PHX_IAAS_SHORT], 600000);
	assert_int_equal(good.idle_ms[PHX_IAAS_LONG], 30000);
	assert_int_equal(good.factor, 5);
#define REFUSED(member, value, word) \
	do { \
		p = good; \
		p.member = value; \
		phx_err_clear(&err); \
		assert_int_equal(phx_iaas_params_check(&p, &err), -EINVAL); \
		assert_non_null(strstr(err.text, word)); \
	} while (0)
	REFUSED(idle_ms[PHX_IAAS_SHORT], -1, "idle time");
	REFUSED(idle_ms[PHX_IAAS_LONG], PHX_IAAS_TIME_MAX_MS + 1, "idle time of long");
	REFUSED(boot_ms, -1, "boot time");
	REFUSED(guess_ms, -1, "guessed");
	REFUSED(growth, 1, "growth");
	REFUSED(growth, 1001, "growth");
	REFUSED(factor, 1000001, "factor");
	REFUSED(neighbours, 0, "neighbours");
	REFUSED(neighbours, PHX_IAAS_NEIGHBOURS_MAX + 1, "neighbours");
#undef REFUSED
}

static void boots_are_averaged(void **state)
{
	struct phx_iaas_state s = {0};
	struct phx_iaas_params p;
	(void)state;
	phx_iaas_params_default(&p);
	assert_int_equal(phx_iaas_boot_mean(&p, &s), 600000);
	phx_iaas_booted(&s, 100);
	assert_int_equal(phx_iaas_boot_mean(&p, &s), 100);
	phx_iaas_booted(&s, 201);
	assert_int_equal(phx_iaas_boot_mean(&p, &s), 150);
	phx_iaas_state_fini(&s);
}

/* only od-execkn keeps single tasks, and of one size no more than can count */
static void history_stays_small(void **state)
{
	struct phx_iaas_state s = {0};
	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(phx_iaas_ended(PHX_PROVISIONING_od_execavg, &s, (uint64_t)i, 5),
				 0);
	assert_int_equal(s.groups.n, 0);
	assert_int_equal(s.run_sum_ms, 5000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(
			phx_iaas_ended(PHX_PROVISIONING_od_execkn, &s, (uint64_t)(9973 * i % 7), i),
			0);
	assert_int_equal(s.groups.n, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(PHX_LIST_AT(&s.groups, struct phx_iaas_group, i)->input, i);
	phx_iaas_state_fini(&s);
	phx_iaas_state_fini(&s);
}

/* a generator of its own: tests of pure rooms use nothing of the simulator */
static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((*seed >> 33) % n);
}

enum { QUEUE_MAX = 40 };
static struct phx_iaas_task tasks[2 * QUEUE_MAX];
static uint32_t queues[2][QUEUE_MAX];

static void draw_view(uint64_t *seed, uint32_t n_pools, struct phx_iaas_view *ret)
{
	uint32_t n_tasks = 0;
	*ret = (struct phx_iaas_view){.now_ms = 1000000, .tasks = tasks};
	for (uint32_t c = 0; c < n_pools; c++) {
		struct phx_iaas_pool_view *pool = &ret->pool[c];
		pool->booting = below(seed, 20);
		pool->busy = below(seed, 20);
		pool->idle = below(seed, 3) ? 0 : below(seed, 20);
		pool->n_queued = pool->idle ? 0 : below(seed, QUEUE_MAX);
		pool->expired = pool->idle ? below(seed, pool->idle + 1) : 0;
		pool->queue = queues[c];
		for (uint32_t i = 0; i < pool->n_queued; i++, n_tasks++) {
			queues[c][i] = n_tasks;
			tasks[n_tasks] = (struct phx_iaas_task){
				below(seed, 1000000), below(seed, 4000000), below(seed, 9)};
		}
	}
	ret->max = phx_iaas_leased(ret) + (below(seed, 2) ? 0 : below(seed, 30));
}

static void check_wish(const struct phx_iaas_view *v, const struct phx_iaas_wish *wish)
{
	uint32_t leases = 0;
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		const struct phx_iaas_pool_view *pool = &v->pool[c];
		leases += wish->lease[c];
		assert_true(wish->release[c] <= pool->expired);
		assert_true(wish->cancel[c] <= pool->booting);
		assert_true(!wish->lease[c] || pool->n_queued);
	}
	assert_true(phx_iaas_leased(v) + leases <= v->max);
}

static void wishes_keep_their_limits(void **state)
{
	uint64_t seed = 42;
	(void)state;
	for (int policy = PHX_PROVISIONING_od_s; policy < PHX_PROVISIONING_COUNT_; policy++) {
		const struct phx_iaas_policy *p = phx_iaas_policy((enum phx_provisioning)policy);
		struct phx_iaas_state s = {0};
		struct phx_iaas_params params;
		phx_iaas_params_default(&params);
		for (int i = 0; i < 5000; i++) {
			struct phx_iaas_view v;
			struct phx_iaas_wish wish = {0};
			params.adaptive = below(&seed, 2);
			params.idle_ms[0] = below(&seed, 2) * 600000;
			draw_view(&seed, p->n_pools, &v);
			(p->rules->change ? p->rules->change : p->rules->tick)(&params, &v, &s,
									       &wish);
			check_wish(&v, &wish);
			if (below(&seed, 2))
				phx_iaas_booted(&s, below(&seed, 700000));
			assert_int_equal(phx_iaas_ended((enum phx_provisioning)policy, &s,
							below(&seed, 9), below(&seed, 9999)),
					 0);
		}
		phx_iaas_state_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_that_of_002),
		cmocka_unit_test(parameters_are_checked),
		cmocka_unit_test(boots_are_averaged),
		cmocka_unit_test(history_stays_small),
		cmocka_unit_test(wishes_keep_their_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
