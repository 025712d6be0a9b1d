/* Triggers by themselves: what a pattern meets, what was seen, what a firing brings about while
 * runs are open, which moments are due, what a run is told. */
#include <errno.h>

#include "base/json.h"
#include "flow/glob.h"
#include "flow/trigger.h"
#include "unit/flow/flows.h"

/* ---- patterns ---- */

static void a_pattern_meets_within_a_part(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool meets;
	} cases[] = {
		{"in/*.fits", "in/a.fits", true},
		{"in/*.fits", "in/.fits", false},
		{"in/*.fits", "in/b/a.fits", false},
		{"in/*.fits", "a.fits", false},
		{"in/*/x", "in/b/x", true},
		{"in/*/x", "in/x", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[!a-c]x", "ax", false},
		{"[]x]", "]", true},
		{"[a-]", "-", true},
		{"*", ".hidden", false},
		{".*", ".hidden", true},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"\\*", "*", true},
		{"\\*", "x", false},
		{"*****************a", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", false},
		{"in/*", "in", false},
		{"in", "in/x", false},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
		if (phx_glob_meets_path(cases[i].pattern, cases[i].path) != cases[i].meets)
			fail_msg("%s %s", cases[i].pattern, cases[i].path);
}

static void a_pattern_stays_below(void **state)
{
	static const char *const bad[] = {
		"",     "/in/*",  "../*",   "in/../*",           "in//*",   "in/[a",
		"in/[", "in/a\\", "in/./x", "1/2/3/4/5/6/7/8/9", "in/\x01", "in/[!]"};
	struct phx_err err = {0};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		if (phx_glob_check(bad[i], &err) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
	assert_int_equal(phx_glob_check("in/[a-z]*/\\[x.fits", NULL), 0);
}

/* ---- seen ---- */

static const char sum_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  sum_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

static void a_file_is_new_once(void **state)
{
	(void)state;
	struct phx_seen *s = phx_seen_new();
	char path[16];
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			snprintf(path, sizeof(path), "in/%d", (i * 7919) % 5000);
			assert_int_equal(phx_seen_put(s, phx_seen_path(path), sum_a), !round);
		}
	assert_int_equal(s->n, 5000);
	assert_true(phx_seen_has(s, phx_seen_path("in/7"), sum_a));
	assert_false(phx_seen_has(s, phx_seen_path("in/7"), sum_b));
	assert_int_equal(phx_seen_put(s, phx_seen_path("in/7"), sum_b), 1);
	assert_true(phx_seen_drop(s, phx_seen_path("in/7")));
	assert_false(phx_seen_drop(s, phx_seen_path("in/7")));
	assert_int_equal(phx_seen_put(s, phx_seen_path("in/7"), sum_b), 1);
	assert_int_equal(phx_seen_put(s, 1, "no digest"), -EINVAL);
	phx_seen_free(s);
}

static void what_was_seen_comes_back(void **state)
{
	(void)state;
	struct phx_trigger t = {.seen = phx_seen_new()}, copy;
	char path[16];
	for (int i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "%d", i);
		phx_seen_put(t.seen, phx_seen_path(path), i % 2 ? sum_a : sum_b);
	}
	assert_int_equal(phx_record_copy(&phx_trigger_record, &copy, &t), 0);
	assert_true(phx_record_equal(&phx_trigger_record, &copy, &t));
	assert_true(phx_seen_has(copy.seen, phx_seen_path("17"), sum_a));
	/* an image that contradicts itself is none */
	struct phx_seen_image *image = phx_live_image(&phx_seen_live, copy.seen);
	void *live = NULL;
	image->n--;
	assert_int_equal(phx_seen_live.restore(image, &live), -EINVAL);
	image->n++;
	PHX_LIST_AT(&image->files, struct phx_text, 0)->text[3] = 'x';
	assert_int_equal(phx_seen_live.restore(image, &live), -EINVAL);
	phx_live_image_free(&phx_seen_live, image);
	phx_record_fini(&phx_trigger_record, &copy);
	phx_record_fini(&phx_trigger_record, &t);
}

static void there_is_an_end_to_files(void **state)
{
	(void)state;
	struct phx_seen *s = phx_seen_new();
	for (uint64_t i = 0; i < PHX_SEEN_MAX; i++)
		assert_int_equal(phx_seen_put(s, i, sum_a), 1);
	assert_int_equal(phx_seen_put(s, PHX_SEEN_MAX, sum_a), -ENOSPC);
	assert_int_equal(phx_seen_put(s, 5, sum_b), 1);
	phx_seen_free(s);
}

/* ---- as people write it ---- */

static int check_spec(const char *json, enum phx_trigger_kind *ret, struct phx_err *err)
{
	struct phx_trigger_spec spec;
	*err = (struct phx_err){0};
	if (phx_json_text_to_record(&phx_trigger_spec_record, json, &spec, err) < 0)
		fail_msg("%s: %s", json, err->text);
	spec.queue_max = spec.queue_max ? spec.queue_max : 1;
	spec.at_once = spec.at_once ? spec.at_once : 1;
	int r = phx_trigger_spec_check(&spec, ret, err);
	phx_record_fini(&phx_trigger_spec_record, &spec);
	return r;
}

static void exactly_one_thing_fires(void **state)
{
	static const struct {
		const char *when, *wrong; /* NULL: it is right */
		enum phx_trigger_kind kind;
	} cases[] = {
		{"{\"file\":\"in/*\"}", NULL, PHX_TRIGGER_FILE},
		{"{\"file\":\"in/*\",\"stable_ms\":5000}", NULL, PHX_TRIGGER_FILE},
		{"{\"every_ms\":1000}", NULL, PHX_TRIGGER_TIME},
		{"{\"every_ms\":5000,\"command\":[{\"text\":\"ls\"}]}", NULL, PHX_TRIGGER_COMMAND},
		{"{\"http\":\"/hook/t\"}", NULL, PHX_TRIGGER_HTTP},
		{"{}", "exactly one of", 0},
		{"{\"file\":\"in/*\",\"http\":\"/hook/t\"}", "exactly one of", 0},
		{"{\"file\":\"in/*\",\"every_ms\":5000}", "two triggers", 0},
		{"{\"file\":\"/in/*\"}", "when.file", 0},
		{"{\"every_ms\":999}", "when.every", 0},
		{"{\"every_ms\":4999,\"command\":[{\"text\":\"ls\"}]}", "when.every", 0},
		{"{\"command\":[{\"text\":\"ls\"}]}", "when.every", 0},
		{"{\"every_ms\":5000,\"command\":[{\"text\":\"\"}]}", "when.command", 0},
		{"{\"every_ms\":5000,\"stable_ms\":1}", "when.stable", 0},
		{"{\"http\":\"/hook/other\"}", "must be /hook/t", 0},
		{"{\"http\":\"/v1/nodes\"}", "must be /hook/t", 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_err err;
		char json[256];
		enum phx_trigger_kind kind;
		snprintf(json, sizeof(json), "{\"name\":\"t\",\"when\":%s}", cases[i].when);
		int r = check_spec(json, &kind, &err);
		if (r != (cases[i].wrong ? -EINVAL : 0) ||
		    (cases[i].wrong ? !strstr(err.text, cases[i].wrong) : kind != cases[i].kind))
			fail_msg("%s: %d %s", cases[i].when, r, err.text);
	}
}

/* ---- firings ---- */

static int fire(struct phx_trigger *t, const char *digest)
{
	struct phx_trigger_cause c = {.at_ms = 1, .what = (char *)(uintptr_t)digest};
	PHX_STR_SET(c.digest, digest);
	return phx_trigger_fire(t, &c);
}

/* Begins what may, as the core does; how many. */
static int begin(struct phx_trigger *t, uint64_t *run)
{
	int n = 0;
	for (; phx_trigger_next(t, 0); n++)
		phx_trigger_begun(t, ++*run);
	return n;
}

static void many_firings_are_one_run(void **state)
{
	(void)state;
	struct phx_trigger t = {.at_once = 1, .when_busy = PHX_TRIGGER_COALESCE};
	uint64_t run = 0;
	assert_int_equal(fire(&t, "a"), PHX_TRIGGER_CAME_WAITS);
	assert_int_equal(begin(&t, &run), 1);
	assert_int_equal(fire(&t, "b"), PHX_TRIGGER_CAME_WAITS);
	assert_int_equal(fire(&t, "c"), PHX_TRIGGER_CAME_COALESCED);
	assert_int_equal(fire(&t, "d"), PHX_TRIGGER_CAME_COALESCED);
	assert_int_equal(begin(&t, &run), 0);
	phx_trigger_over(&t);
	const struct phx_trigger_cause *c = phx_trigger_next(&t, 0);
	assert_int_equal(c->n, 3);
	assert_string_equal(c->digest, "d");
	assert_int_equal(begin(&t, &run), 1);
	PHX_LIST_EACH(struct phx_trigger_firing, f, &t.last)
		assert_int_equal(f->run, !strcmp(f->digest, "a") ? 1 : 2);
	assert_int_equal(t.n_fired, 4);
	assert_int_equal(t.n_begun, 2);
	assert_int_equal(t.n_coalesced, 2);
	phx_record_fini(&phx_trigger_record, &t);
}

static void each_firing_has_its_run(void **state)
{
	(void)state;
	struct phx_trigger t = {.at_once = 2, .when_busy = PHX_TRIGGER_QUEUE, .queue_max = 3};
	static const char *const digests[] = {"a", "b", "c", "d", "e", "f", "g"};
	uint64_t run = 0;
	for (int i = 0; i < 7; i++) {
		int want = i < 5 ? PHX_TRIGGER_CAME_WAITS : PHX_TRIGGER_CAME_SKIPPED;
		assert_int_equal(fire(&t, digests[i]), want);
		begin(&t, &run);
	}
	assert_int_equal(run, 2);
	for (; t.n_open; begin(&t, &run))
		phx_trigger_over(&t);
	assert_int_equal(run, 5);
	assert_int_equal(phx_trigger_n_waiting(&t), 0);
	assert_int_equal(t.n_skipped, 2);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(PHX_LIST_AT(&t.last, struct phx_trigger_firing, i)->run, i + 1);
	phx_record_fini(&phx_trigger_record, &t);
}

static void a_long_queue_keeps_its_order(void **state)
{
	(void)state;
	struct phx_trigger t = {
		.at_once = 1, .when_busy = PHX_TRIGGER_QUEUE, .queue_max = PHX_TRIGGER_QUEUE_MAX};
	char digest[16];
	for (int i = 0; i < 3000; i++) {
		snprintf(digest, sizeof(digest), "%d", i);
		assert_int_equal(fire(&t, digest), PHX_TRIGGER_CAME_WAITS);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(digest, sizeof(digest), "%d", i);
		assert_string_equal(phx_trigger_next(&t, 0)->digest, digest);
		phx_trigger_begun(&t, 1);
		phx_trigger_over(&t);
	}
	assert_null(phx_trigger_next(&t, 0));
	assert_int_equal(t.last.n, PHX_TRIGGER_LAST);
	phx_record_fini(&phx_trigger_record, &t);
}

static void what_is_skipped_is_counted(void **state)
{
	(void)state;
	struct phx_trigger t = {.at_once = 1, .when_busy = PHX_TRIGGER_SKIP};
	uint64_t run = 0;
	fire(&t, "a");
	begin(&t, &run);
	assert_int_equal(fire(&t, "b"), PHX_TRIGGER_CAME_SKIPPED);
	assert_true(phx_trigger_had(&t, "b"));
	assert_false(phx_trigger_had(&t, "c"));
	assert_int_equal(t.n_skipped, 1);
	phx_record_fini(&phx_trigger_record, &t);
}

static void its_life_has_these_steps(void **state)
{
	static const bool may[3][3] = {
		{false, true, true}, {true, false, false}, {true, true, false}};
	(void)state;
	for (int from = 0; from < 3; from++)
		for (int to = 0; to < 3; to++)
			assert_int_equal(phx_trigger_may((enum phx_trigger_state)from,
							 (enum phx_trigger_state)to),
					 may[from][to]);
}

/* ---- time ---- */

static void moments_keep_their_row(void **state)
{
	(void)state;
	struct phx_trigger t = {.when.every_ms = 100, .next_ms = 1000, .at_once = 1};
	assert_int_equal(phx_trigger_due(&t), 1000);
	phx_trigger_moment(&t, 1000);
	assert_int_equal(t.next_ms, 1100);
	phx_trigger_moment(&t, 1350); /* two were missed */
	assert_int_equal(t.next_ms, 1400);
	phx_trigger_moment(&t, 1350);
	assert_int_equal(t.next_ms, 1400);
	t.state = PHX_TRIGGER_PAUSED;
	assert_int_equal(phx_trigger_due(&t), INT64_MAX);
	t.state = PHX_TRIGGER_ACTIVE;
	fire(&t, "a");
	assert_int_equal(phx_trigger_due(&t), 0);
	t.again_ms = 1200;
	assert_int_equal(phx_trigger_due(&t), 1200);
	assert_null(phx_trigger_next(&t, 1199));
	assert_non_null(phx_trigger_next(&t, 1200));
	t.n_open = 1;
	assert_int_equal(phx_trigger_due(&t), 1400);
	phx_record_fini(&phx_trigger_record, &t);
}

/* ---- what a run is told ---- */

static void a_run_knows_what_fired(void **state)
{
	static const struct {
		const char *path, *word, *is;
	} cases[] = {
		{"in/a.b.fits", "x/{trigger.file}", "x/in/a.b.fits"},
		{"in/a.b.fits", "{trigger.name}", "a.b.fits"},
		{"in/a.b.fits", "out/{trigger.stem}.cat", "out/a.b.cat"},
		{"in/plain", "{trigger.stem}", "plain"},
		{"in/..a", "{trigger.stem}", "..a"},
		{"in/...", "{trigger.stem}", "..."},
		{"in/a", "{trigger.stem}{trigger.stem}", "aa"},
		{"in/a", "{trigger.other} {", "{trigger.other} {"},
		{"in/{trigger.file}", "{trigger.name}", "{trigger.file}"},
		{"in/a", "{trigger.digest}", sum_a},
		{"in/a", "", ""},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_trigger t = {.kind = PHX_TRIGGER_FILE, .name = "t"};
		struct phx_trigger_cause c = {.what = (char *)(uintptr_t)cases[i].path};
		struct {
			struct phx_list vars;
		} of = {{0}};
		PHX_STR_SET(c.digest, sum_a);
		assert_int_equal(phx_trigger_vars(&t, &c, &of.vars), 0);
		assert_string_equal(phx_text_at(&of.vars, 0), "PHX_TRIGGER=t");
		PHX_AUTO_FREE char *is = phx_trigger_fill(cases[i].word, &of.vars);
		assert_string_equal(is, cases[i].is);
		PHX_LIST_EACH(struct phx_text, text, &of.vars)
			free(text->text);
		phx_list_fini(&of.vars);
	}
}

/* Fired by hand: who did is no path. */
static void what_is_fired_by_hand_has_no_file(void **state)
{
	(void)state;
	struct phx_trigger t = {.kind = PHX_TRIGGER_FILE, .name = "t"};
	struct phx_trigger_cause c = {.what = (char *)(uintptr_t) "unix:alice", .digest = "17"};
	struct phx_list vars = {0};
	assert_int_equal(phx_trigger_vars(&t, &c, &vars), 0);
	assert_string_equal(phx_text_at(&vars, 1), "PHX_TRIGGER_FILE=");
	PHX_LIST_EACH(struct phx_text, text, &vars)
		free(text->text);
	phx_list_fini(&vars);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_meets_within_a_part),
		cmocka_unit_test(a_pattern_stays_below),
		cmocka_unit_test(a_file_is_new_once),
		cmocka_unit_test(what_was_seen_comes_back),
		cmocka_unit_test(there_is_an_end_to_files),
		cmocka_unit_test(exactly_one_thing_fires),
		cmocka_unit_test(many_firings_are_one_run),
		cmocka_unit_test(each_firing_has_its_run),
		cmocka_unit_test(a_long_queue_keeps_its_order),
		cmocka_unit_test(what_is_skipped_is_counted),
		cmocka_unit_test(its_life_has_these_steps),
		cmocka_unit_test(moments_keep_their_row),
		cmocka_unit_test(a_run_knows_what_fired),
		cmocka_unit_test(what_is_fired_by_hand_has_no_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
