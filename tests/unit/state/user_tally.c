/* One user does not take all the room there is for jobs: limits by number and by size, and the last
 * places. */
#include "state/index.h"
#include "unit/core/world.h"

static int submit_as(struct world *w, uint32_t uid, size_t n_word, uint64_t *ret_id,
		     struct phx_err *err)
{
	struct phx_outcome out = {0};
	struct phx_event ev = {
		.kind = PHX_EV_job_submit,
		.now_ms = w->now,
		.job_submit = {.uid = uid, .gid = uid, .job_nodes = 1, .hold = true}};
	PHX_AUTO_FREE char *word = calloc(1, n_word + 1);
	memset(word, 'x', n_word);
	snprintf(ev.job_submit.user, sizeof(ev.job_submit.user), "u%u", uid);
	assert_int_equal(phx_text_push(&ev.job_submit.argv, word), 0);
	phx_err_clear(err);
	int r = phx_core_apply(&w->s, &ev, &out, err);
	*ret_id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	struct phx_err why = {0};
	if (phx_state_check(&w->s, &why) < 0)
		fail_msg("%s", why.text);
	return r;
}

static void limit(struct world *w, uint32_t jobs, uint32_t mb)
{
	struct phx_event set = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	set.site.settings.jobs_per_user = jobs;
	set.site.settings.job_mb_per_user = mb;
	assert_int_equal(world_apply(w, &set, NULL), 0);
}

static void cancel(struct world *w, uint64_t id)
{
	struct phx_event ev = {.kind = PHX_EV_job_cancel, .job_order.job = id};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(phx_state_check(&w->s, NULL), 0);
}

static void a_number_of_jobs(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	uint64_t id, first;
	limit(w, 3, 0);
	assert_int_equal(submit_as(w, 1000, 1, &first, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(submit_as(w, 1000, 1, &id, &err), 0);
	uint64_t seq = w->s.seq;
	assert_int_equal(submit_as(w, 1000, 1, &id, &err), -EDQUOT);
	assert_string_equal(err.text,
			    "user u1000 has 3 jobs queued or running, as many as one may have "
			    "(jobs_per_user): submit "
			    "more when some have ended");
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(submit_as(w, 999, 1, &id, &err), 0);
	assert_int_equal(submit_as(w, 1001, 1, &id, &err), 0);
	cancel(w, first);
	assert_int_equal(submit_as(w, 1000, 1, &id, &err), 0);
	assert_int_equal(submit_as(w, 1000, 1, &id, &err), -EDQUOT);
	assert_int_equal(phx_index_tally_of(&w->s, 1000).n_open, 3);
	/* who knows no limit has none: a journal from before */
	limit(w, 0, 0);
	assert_int_equal(submit_as(w, 1000, 1, &id, &err), 0);
}

static void a_size_of_words(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	uint64_t id, first = 0;
	int n = 0;
	limit(w, 0, 1);
	while (submit_as(w, 1000, 100000, &id, &err) == 0) {
		first = first ? first : id;
		n++;
	}
	assert_int_equal(n, 10);
	assert_non_null(strstr(err.text, "job_mb_per_user"));
	/* it is their size that counts */
	assert_int_equal(submit_as(w, 1000, 10000, &id, &err), 0);
	assert_int_equal(submit_as(w, 1001, 100000, &id, &err), 0);
	cancel(w, first);
	assert_int_equal(submit_as(w, 1000, 100000, &id, &err), 0);
}

/* The words of an array are its first member's, and are kept for as long as another one may need
 * them. */
static void words_of_an_array_count_until_its_last_ends(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {
		.kind = PHX_EV_job_submit,
		.now_ms = w->now,
		.job_submit = {.uid = 1000, .gid = 1000, .job_nodes = 1, .hold = true}};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	uint64_t id;
	static char word[100001];
	memset(word, 'x', sizeof(word) - 1);
	limit(w, 0, 1);
	assert_int_equal(phx_array_parse("1-3", &ev.job_submit.array_rows,
					 &ev.job_submit.array_at_once, NULL),
			 0);
	assert_int_equal(phx_text_push(&ev.job_submit.argv, word), 0);
	assert_int_equal(phx_core_apply(&w->s, &ev, &out, &err), 0);
	uint64_t first = out.job, all = phx_index_tally_of(&w->s, 1000).size_bytes;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	assert_true(all > 100000);
	cancel(w, first);
	assert_int_equal(phx_index_tally_of(&w->s, 1000).n_open, 2);
	assert_int_equal(phx_index_tally_of(&w->s, 1000).size_bytes, all);
	int n = 0;
	while (submit_as(w, 1000, 100000, &id, &err) == 0)
		n++;
	assert_int_equal(n, 9);
	cancel(w, first + 2);
	assert_int_equal(submit_as(w, 1000, 100000, &id, &err), -EDQUOT);
	cancel(w, first + 1);
	assert_int_equal(submit_as(w, 1000, 100000, &id, &err), 0);
	/* a journal of before: the first one took them with it, and what was let in then is let in
	 * again */
	struct phx_event old = {.kind = PHX_EV_job_submit,
				.now_ms = w->now,
				.job_submit = {.uid = 1001,
					       .gid = 1001,
					       .job_nodes = 1,
					       .hold = true,
					       .array_from = 1,
					       .array_to = 2,
					       .array_step = 1}};
	assert_int_equal(phx_text_push(&old.job_submit.argv, word), 0);
	assert_int_equal(phx_core_apply(&w->s, &old, &out, &err), 0);
	cancel(w, out.job);
	assert_true(phx_index_tally_of(&w->s, 1001).size_bytes < 100000);
	cancel(w, out.job + 1);
	assert_int_equal(phx_index_tally_of(&w->s, 1001).size_bytes, 0);
	phx_outcome_fini(&out);
	phx_event_fini(&old);
}

static void the_last_places_are_for_who_has_few(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	uint64_t id;
	limit(w, 10000, 0);
	struct phx_event ev = {
		.kind = PHX_EV_job_submit,
		.job_submit = {.uid = 1000, .gid = 1000, .job_nodes = 1, .hold = true}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	for (int i = 0; i < 9000; i++) {
		struct phx_outcome out = {0};
		ev.now_ms = w->now;
		assert_int_equal(phx_core_apply(&w->s, &ev, &out, &err), 0);
		phx_outcome_fini(&out);
	}
	phx_event_fini(&ev);
	assert_int_equal(submit_as(w, 1000, 1, &id, &err), -EDQUOT);
	assert_non_null(strstr(err.text, "fewer than 100"));
	for (int i = 0; i < 100; i++)
		assert_int_equal(submit_as(w, 1001, 1, &id, &err), 0);
	assert_int_equal(submit_as(w, 1001, 1, &id, &err), -EDQUOT);
	assert_int_equal(submit_as(w, 1002, 1, &id, &err), 0);
}

/* Slurm has limits of its own: what users have there is not counted here. */
static void jobs_of_slurm_do_not_count(void **state)
{
	struct phx_list tallies = {0};
	struct phx_job j = {.state = PHX_JOB_RUNNING, .uid = 1000, .engine_id = "77"};
	(void)state;
	assert_int_equal(phx_tally_job(&tallies, &j, true), 0);
	assert_int_equal(phx_tally_of(&tallies, 1000).n_open, 0);
	j.engine_id[0] = '\0';
	assert_int_equal(phx_tally_job(&tallies, &j, true), 0);
	assert_int_equal(phx_tally_of(&tallies, 1000).n_open, 1);
	phx_list_fini(&tallies);
}

static void scripts_are_words_too(void **state)
{
	const struct phx_list none = {0};
	(void)state;
	assert_int_equal(phx_tally_size(&none, &none, "#!/bin/sh\n"),
			 phx_tally_size(&none, &none, NULL) + 10);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {T(a_number_of_jobs),
					   T(a_size_of_words),
					   T(the_last_places_are_for_who_has_few),
					   T(jobs_of_slurm_do_not_count),
					   T(scripts_are_words_too),
					   T(words_of_an_array_count_until_its_last_ends)};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
