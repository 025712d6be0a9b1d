/* What events of the journal say for pictures (cmd/phxd/timeline_news.c): whom they are about, each
 * once with its last moment; kills with their sentence, and nothing else as a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "phxd/timeline_news.c" /* a part of a program, not of the library */

static struct timeline_news news;

static int teardown(void **state)
{
	(void)state;
	timeline_news_fini(&news);
	news = (struct timeline_news){0};
	return 0;
}

static void read_one(uint64_t seq, const char *kind, const char *node, const char *event,
		     const char *actions)
{
	struct phx_store_event ev = {seq, 1000 * (int64_t)seq, kind, node, event, actions};
	assert_int_equal(timeline_read_event(&news, &ev), 0);
}

static const struct timeline_node *node(uint32_t i)
{
	return PHX_LIST_AT(&news.nodes, struct timeline_node, i);
}

static void nodes_are_known_once_with_their_last_moment(void **state)
{
	(void)state;
	read_one(5, "assign", "n1", "{}", "[{\"kind\":\"order\",\"node\":\"n2\"}]");
	read_one(6, "tick", "", "{}", "[]");
	read_one(7, "step_result", "n2", "{}", "[{\"kind\":\"note\",\"node\":\"n1\"}]");
	assert_int_equal(news.nodes.n, 2);
	assert_string_equal(node(0)->name, "n1");
	assert_string_equal(node(1)->name, "n2");
	assert_int_equal(node(0)->at_ms, 7000);
	assert_int_equal(news.last, 7);
	assert_int_equal(news.n, 3);
	assert_false(news.failed);
}

static void a_kill_is_one_that_the_history_tells(void **state)
{
	(void)state;
	read_one(1, "re_use", "", "{\"re\":\"web\",\"use_ppm\":5}",
		 "[{\"kind\":\"note\",\"re\":\"hpc\",\"text\":\"job 7 of RE hpc is killed and "
		 "queued again: the web RE wants nodes\"}]");
	read_one(2, "notice", "n1", "{}",
		 "[{\"kind\":\"note\",\"node\":\"n1\",\"text\":\"job 7 is killed\"}]");
	read_one(3, "job_submit", "", "{}",
		 "[{\"kind\":\"note\",\"re\":\"hpc\",\"text\":\"who is killed was no job\"}]");
	assert_int_equal(news.kills.n, 1);
	const struct phx_series_mark *m = PHX_LIST_AT(&news.kills, struct phx_series_mark, 0);
	assert_int_equal(m->seq, 1);
	assert_int_equal(m->at_ms, 1000);
	assert_string_equal(m->pool, "hpc");
	assert_non_null(strstr(m->text, "the web RE wants nodes"));
}

static void the_last_use_of_an_re_counts(void **state)
{
	(void)state;
	read_one(1, "re_use", "", "{\"re\":\"web\",\"use_ppm\":5}", "[]");
	read_one(2, "re_use", "", "{\"re\":\"shop\",\"use_ppm\":7}", "[]");
	read_one(3, "re_use", "", "{\"re\":\"web\"}", "[]"); /* 0 is not written */
	read_one(4, "job_result", "n1", "{\"job\":12}", "[]");
	assert_int_equal(news.uses.n, 2);
	assert_int_equal(PHX_LIST_AT(&news.uses, struct timeline_use, 0)->ppm, 0);
	assert_int_equal(PHX_LIST_AT(&news.uses, struct timeline_use, 1)->ppm, 7);
	assert_int_equal(news.jobs.n, 1);
	assert_int_equal(PHX_LIST_AT(&news.jobs, struct timeline_job, 0)->id, 12);
}

/* Many nodes: found by their names, not looked for. */
static void ten_thousand_nodes(void **state)
{
	char name[16];
	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 10000; i++) {
			snprintf(name, sizeof(name), "n%d", i);
			timeline_add_node(&news, name, round);
		}
	assert_int_equal(news.nodes.n, 10000);
	assert_int_equal(node(9999)->at_ms, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		T(nodes_are_known_once_with_their_last_moment),
		T(a_kill_is_one_that_the_history_tells),
		T(the_last_use_of_an_re_counts),
		T(ten_thousand_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
