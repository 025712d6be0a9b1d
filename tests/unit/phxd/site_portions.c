/* Portions of nodes that are told the settings of the site (cmd/phxd/site_portions.c): what the
 * core hears of each node, when it is asked whether the portion is over, and who asks next. The
 * core, the bundles and the clock are fakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "core/site.h"
#include "phxd/beat.h"
#include "phxd/site_internal.h"

#include "fake/submitted.h"

static struct daemon head;
static struct phx_state core;
static struct site_portions *portions;
static uint64_t journal;           /* the number of its last event */
static bool goes_on, ended, taken; /* taken: somebody else applies settings */
static int64_t until_ms;
static unsigned n_looks;
static struct phx_buf told;  /* by the core in its last look */
static struct phx_buf woken; /* nodes that were told to ask */
static int wake_ms;

/* ---- the core: n1, n2 are the portion, and when that is over it is n3 ---- */

static bool in_portions(const struct phx_site_version *v)
{
	assert_ptr_equal(v, &core.site);
	assert_true(fake_engine_held);
	return goes_on;
}

static const struct phx_node *portion_node(const struct phx_state *of, const struct phx_node *after)
{
	assert_true(fake_engine_held);
	uint32_t first = fake_events.n ? 2 : 0, end = fake_events.n ? 3 : 2;
	const struct phx_node *nodes = of->nodes.items, *n = after ? after + 1 : nodes + first;
	return n < nodes + end ? n : NULL;
}

static int64_t portion_until(const struct phx_site_version *v)
{
	(void)v;
	return until_ms;
}

static bool portion_over(const struct phx_state *of, const struct phx_list *list, int64_t now_ms,
			 struct phx_event *ret)
{
	static const char *const words[] = {[PHX_SITE_STANDS_DONE] = "done",
					    [PHX_SITE_STANDS_APPLYING] = "applies",
					    [PHX_SITE_STANDS_FAILED] = "failed: "};
	assert_ptr_equal(of, &core);
	assert_true(fake_engine_held);
	assert_int_equal(now_ms, fake_now_ms);
	n_looks++;
	phx_buf_fini(&told);
	told = (struct phx_buf){0};
	PHX_LIST_EACH(struct phx_site_heard, h, list)
		phx_buf_addf(&told, "%s %s%s;", h->node, words[h->stands], h->why);
	if (ended)
		ret->kind = PHX_EV_site_portion;
	return ended;
}

#define phx_site_in_portions in_portions
#define phx_site_portion_node portion_node
#define phx_site_portion_until portion_until
#define phx_site_portion_over portion_over
#define phx_store_last(store) ((void)(store), journal)
#include "phxd/site_portions.c" /* parts of a program, not of the library */
#undef phx_store_last
#include "phxd/tell.c"

void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n)
{
	(void)e, (void)ev, (void)each, (void)n;
	fail();
}

/* ---- nodes ---- */

/* A node's role says how it stands; "": it gets no bundle. */
bool site_facts_of(const struct phx_state *of, const struct phx_node *n, struct site_facts *ret)
{
	assert_ptr_equal(of, &core);
	assert_true(fake_engine_held);
	*ret = (struct site_facts){0};
	if (!n->role[0])
		return false;
	PHX_STR_SET(ret->name, n->name);
	PHX_STR_SET(ret->role, n->role);
	phx_list_push(&ret->labels, sizeof(struct phx_label));
	return true;
}

void site_facts_fini(struct site_facts *f)
{
	phx_list_fini(&f->labels);
}

/* Bundles take long to make. */
enum site_standing site_standing_of(struct daemon *of, const struct site_facts *f,
				    char ret_error[BEAT_ERROR_MAX])
{
	assert_ptr_equal(of, &head);
	assert_false(fake_engine_held);
	bool fails = !strcmp(f->role, "fails");
	snprintf(ret_error, BEAT_ERROR_MAX, "%s", fails ? "no disk" : "");
	return fails ? SITE_FAILED : !strcmp(f->role, "applies") ? SITE_APPLYING : SITE_CURRENT;
}

int64_t live_site(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX])
{
	(void)l;
	const struct phx_node *n = phx_state_node(&core, node);
	snprintf(ret_error, BEAT_ERROR_MAX, "%s", n && !strcmp(n->role, "fails") ? "no disk" : "");
	return n && !strcmp(n->role, "unheard") ? LIVE_SITE_UNHEARD : 7;
}

void live_wake(struct live *l, const char *node)
{
	(void)l;
	assert_false(fake_engine_held);
	phx_buf_addf(&woken, "%s;", node);
}

void wake_in(struct wake *w, int ms)
{
	(void)w;
	wake_ms = ms;
}

bool site_turn_try(struct site *of)
{
	(void)of;
	assert_false(fake_engine_held);
	bool free = !taken;
	taken = true;
	return free;
}

void site_turn_end(struct site *of)
{
	(void)of;
	assert_true(taken);
	taken = false;
}

static struct phx_node *node_add(const char *name, const char *role)
{
	struct phx_node *n = phx_list_push(&core.nodes, sizeof(*n));
	assert_non_null(n);
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->role, role);
	n->up = true;
	n->env = PHX_ENV_OS;
	return n;
}

static struct phx_node *node(uint32_t i)
{
	return PHX_LIST_AT(&core.nodes, struct phx_node, i);
}

/* ---- the loop ---- */

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_state = &core;
	journal = 5;
	goes_on = true;
	ended = taken = false;
	until_ms = fake_now_ms + 60000;
	n_looks = 0;
	node_add("n1", "current");
	node_add("n2", "current");
	node_add("n3", "current");
	return site_portions_new(&head, &portions);
}

static int teardown(void **state)
{
	(void)state;
	site_portions_free(portions);
	phx_list_fini(&core.nodes);
	core = (struct phx_state){0};
	phx_buf_fini(&told);
	phx_buf_fini(&woken);
	told = woken = (struct phx_buf){0};
	return 0;
}

static int tick(void)
{
	int ms = site_portions_tick(portions);
	fake_engine_is_free();
	return ms;
}

static void assert_woken(const char *names)
{
	assert_string_equal(woken.n ? woken.data : "", names);
	phx_buf_fini(&woken);
	woken = (struct phx_buf){0};
}

static void assert_heard(const char *want)
{
	fake_now_ms += LOOK_MS;
	site_portions_heard(portions);
	tick();
	assert_string_equal(told.data, want);
}

/* ---- what the core hears ---- */

static void each_node_of_the_portion_is_heard(void **state)
{
	(void)state;
	assert_heard("n1 done;n2 done;");
	PHX_STR_SET(node(0)->role, "applies");
	PHX_STR_SET(node(1)->role, "fails");
	assert_heard("n1 applies;n2 failed: no disk;");
	/* it is to have none now */
	node(0)->role[0] = '\0';
	node(1)->env = PHX_ENV_DEPLOY;
	assert_heard("n1 done;n2 done;");
	node(1)->env = PHX_ENV_OS;
	node(1)->up = false;
	assert_heard("n1 done;n2 done;");
}

/* What it said to the former head may be out of date. */
static void a_node_that_was_not_heard_yet_has_not_failed(void **state)
{
	(void)state;
	PHX_STR_SET(node(1)->role, "unheard");
	assert_heard("n1 done;n2 applies;");
}

/* ---- when it is over ---- */

static void the_next_portion_is_woken_once_the_journal_has_it(void **state)
{
	(void)state;
	tick();
	assert_int_equal(fake_events.n, 0);
	assert_woken("");
	ended = true;
	fake_now_ms += LOOK_MS;
	site_portions_heard(portions);
	tick();
	assert_int_equal(fake_events.n, 1);
	assert_int_equal(fake_event(0)->kind, PHX_EV_site_portion);
	assert_string_equal(fake_event(0)->by, "phxd");
	assert_woken("n3;");
	assert_false(taken);
}

static void without_the_journal_nobody_is_told(void **state)
{
	(void)state;
	ended = true;
	fake_submit_result = -ENOSPC;
	tick();
	assert_woken("");
	assert_false(taken);
}

/* ---- when it is looked at ---- */

static void nothing_new_is_not_looked_at(void **state)
{
	(void)state;
	assert_int_equal(tick(), 60000);
	for (int i = 0; i < 10; i++) {
		fake_now_ms += 1000;
		assert_int_equal(tick(), 60000 - 1000 * (i + 1));
	}
	assert_int_equal(n_looks, 1);
	journal++;
	tick();
	assert_int_equal(n_looks, 2);
}

/* Ten thousand nodes beat, and any of them may be news. */
static void much_news_is_one_look(void **state)
{
	(void)state;
	tick();
	for (int i = 0; i < 100; i++) {
		fake_now_ms++;
		site_portions_heard(portions);
		assert_int_equal(wake_ms, LOOK_MS);
		assert_int_equal(tick(), LOOK_MS - i - 1);
	}
	assert_int_equal(n_looks, 1);
	fake_now_ms += LOOK_MS - 100;
	tick();
	assert_int_equal(n_looks, 2); /* none was forgotten */
	fake_now_ms += LOOK_MS;
	tick();
	assert_int_equal(n_looks, 2);
}

static void who_applies_settings_is_not_disturbed(void **state)
{
	(void)state;
	taken = true;
	assert_int_equal(tick(), LOOK_MS);
	assert_int_equal(n_looks, 0);
	taken = false;
	fake_now_ms += LOOK_MS;
	tick();
	assert_int_equal(n_looks, 1);
}

/* Nobody says anything: that is when the time counts. */
static void when_its_time_is_up_it_is_looked_at(void **state)
{
	(void)state;
	tick();
	fake_now_ms = until_ms - 1;
	assert_int_equal(tick(), LOOK_MS);
	assert_int_equal(n_looks, 1);
	fake_now_ms = until_ms;
	assert_int_equal(tick(), LOOK_MS);
	assert_int_equal(n_looks, 2);
}

static void without_portions_there_is_nothing_to_do(void **state)
{
	(void)state;
	goes_on = false;
	assert_int_equal(tick(), WAKE_NEVER);
	fake_now_ms += 3600000;
	assert_int_equal(tick(), WAKE_NEVER);
	assert_int_equal(n_looks, 0);
	goes_on = true; /* as the journal says */
	journal++;
	tick();
	assert_int_equal(n_looks, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_node_of_the_portion_is_heard),
		T(a_node_that_was_not_heard_yet_has_not_failed),
		T(the_next_portion_is_woken_once_the_journal_has_it),
		T(without_the_journal_nobody_is_told),
		T(nothing_new_is_not_looked_at),
		T(much_news_is_one_look),
		T(who_applies_settings_is_not_disturbed),
		T(when_its_time_is_up_it_is_looked_at),
		T(without_portions_there_is_nothing_to_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
