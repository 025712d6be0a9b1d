/* What the time-line reads from the state (cmd/phxd/timeline_look.c): each node once, however many
 * there are and whatever goes meanwhile, and the engine's lock for a moment at a time. What is
 * measured of pools and jobs: timeline.c beside this. */
#include "fake/engine.h"

#include "state/index.h"

#include "phxd/timeline_look.c" /* parts of a program, not of the library */
#include "phxd/timeline_news.c"

enum { MANY = 20000 };

static struct daemon d;
static struct phx_state s;
static struct timeline_news news;
static unsigned n_breathed;
static void (*meanwhile)(void); /* happens once, when nobody has the lock */

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	assert_false(fake_engine_held);
	n_breathed++;
	if (meanwhile)
		meanwhile();
	meanwhile = NULL;
}

static int setup(void **state)
{
	(void)state;
	n_breathed = 0;
	meanwhile = NULL;
	news = (struct timeline_news){0};
	fake_state = &s;
	return phx_state_init(&s);
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	timeline_news_fini(&news);
	phx_state_fini(&s);
	return 0;
}

static void add_nodes(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct phx_node *to = phx_list_push(&s.nodes, sizeof(*to));
		to->number = s.nodes.n;
		snprintf(to->name, sizeof(to->name), "n%u", s.nodes.n);
		PHX_STR_SET(to->pool, "free");
	}
}

static struct phx_node *node(uint32_t i)
{
	return PHX_LIST_AT(&s.nodes, struct phx_node, i);
}

static const struct timeline_node *noted(uint32_t i)
{
	return PHX_LIST_AT(&news.nodes, struct timeline_node, i);
}

static void without_nodes_there_is_an_end(void **state)
{
	(void)state;
	timeline_all_nodes(&d, 5, &news);
	timeline_look(&d, &news);
	assert_int_equal(news.nodes.n, 0);
	assert_int_equal(n_breathed, 0);
}

static void all_nodes_are_noted_once(void **state)
{
	(void)state;
	add_nodes(MANY);
	node(6)->name[0] = '\0'; /* it was removed, and keeps its place for a while */
	timeline_all_nodes(&d, 5, &news);
	assert_int_equal(news.nodes.n, MANY - 1);
	assert_false(news.failed);
	for (uint32_t i = 0; i < MANY - 1; i++) {
		assert_string_equal(noted(i)->name, node(i + (i >= 6))->name);
		assert_int_equal(noted(i)->at_ms, 5);
		assert_string_equal(noted(i)->pool, ""); /* it is not looked at yet */
	}
	assert_true(n_breathed > 0);
}

static void the_first_ones_go(void)
{
	for (uint32_t i = 0; i < MANY / 2; i++)
		node(i)->name[0] = '\0';
	add_nodes(1);
}

/* Where the walk goes on the state may have changed. */
static void nodes_that_come_and_go_meanwhile_hold_up_none(void **state)
{
	(void)state;
	add_nodes(MANY);
	meanwhile = the_first_ones_go;
	timeline_all_nodes(&d, 5, &news);
	assert_null(meanwhile);
	assert_string_equal(noted(news.nodes.n - 1)->name, "n20001");
	assert_true(news.nodes.n > MANY / 2);
	for (uint32_t i = 1; i < news.nodes.n; i++)
		assert_string_not_equal(noted(i)->name, noted(i - 1)->name);
}

static void they_move(void)
{
	for (uint32_t i = 0; i < s.nodes.n; i++)
		PHX_STR_SET(node(i)->pool, "hpc");
}

/* As many under one lock as were counted on; then others have it. */
static void nodes_are_looked_at_in_portions(void **state)
{
	(void)state;
	add_nodes(2 * PORTION + 1);
	timeline_all_nodes(&d, 5, &news);
	timeline_add_node(&news, "gone", 5);
	n_breathed = 0;
	meanwhile = they_move;
	timeline_look(&d, &news);
	assert_int_equal(n_breathed, 2);
	for (uint32_t i = 0; i < 2 * PORTION + 1; i++)
		assert_string_equal(noted(i)->pool, i < PORTION ? "free" : "hpc");
	assert_string_equal(noted(2 * PORTION + 1)->name, "gone");
	assert_string_equal(noted(2 * PORTION + 1)->pool, "");
}

/* A pool without an RE has nodes, and nothing else. */
static void pools_are_measured_in_their_order(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	static const char *const pools[] = {"free", "kept"};
	(void)state;
	struct phx_pool *kept = phx_list_push(&s.pools, sizeof(*kept)); /* behind the free one */
	PHX_STR_SET(kept->name, "kept");
	add_nodes(3);
	phx_index_drop(&s);
	assert_int_equal(timeline_measure(&s, &lines), 0);
	assert_int_equal(lines.n, 2);
	for (uint32_t i = 0; i < lines.n; i++) {
		const struct timeline_line *l = PHX_LIST_AT(&lines, struct timeline_line, i);
		assert_string_equal(l->pool, pools[i]);
		for (int q = 0; q < PHX_SERIES_QUANTITIES; q++)
			assert_int_equal(l->values[q], q == PHX_SERIES_Q_nodes && i == 0 ? 3 : 0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(without_nodes_there_is_an_end),
		T(all_nodes_are_noted_once),
		T(nodes_that_come_and_go_meanwhile_hold_up_none),
		T(nodes_are_looked_at_in_portions),
		T(pools_are_measured_in_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
