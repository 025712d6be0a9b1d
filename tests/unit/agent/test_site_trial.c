/* A change of the network that is tried: when it is kept, when it is taken back, and what a start
 * of the agent or of the machine changes; by a clock that the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/site_trial.h"

static const struct site_trial_times times = {60000, 5000};
enum { BEGIN = 1000000, ID = 77 };

static struct site_trial begun(void)
{
	struct site_trial t = {0};
	struct phx_list former = {0};
	struct site_former *f = phx_list_push(&former, sizeof(*f));
	f->there = true;
	f->file.text = strdup("former");
	site_trial_begin(&t, ID, 2, &former, "boot-1", BEGIN, &times);
	assert_int_equal(former.n, 0);
	assert_int_equal(t.former.n, 1);
	return t;
}

static enum site_trial_act judge(const struct site_trial *t, bool heard, int64_t after_ms)
{
	return site_trial_judge(t, heard, BEGIN + after_ms, &times);
}

static void a_head_that_is_heard_keeps_it(void **state)
{
	struct site_trial t = begun();
	(void)state;
	assert_int_equal(judge(&t, false, 0), SITE_TRIAL_WAIT);
	/* what is heard at once may have come the old way */
	assert_int_equal(judge(&t, true, 0), SITE_TRIAL_WAIT);
	assert_int_equal(judge(&t, true, 4999), SITE_TRIAL_WAIT);
	assert_int_equal(judge(&t, true, 5000), SITE_TRIAL_KEEP);
	assert_int_equal(judge(&t, false, 59999), SITE_TRIAL_WAIT);
	assert_int_equal(judge(&t, true, 59999), SITE_TRIAL_KEEP);
	site_trial_keep(&t);
	assert_int_equal(t.former.n, 0);
	assert_int_equal(judge(&t, false, 99999), SITE_TRIAL_NOTHING);
	assert_false(site_trial_refuses(&t, ID, 2));
}

/* It is not tried again, unless it is another one, or a person says so. */
static void silence_takes_it_back(void **state)
{
	struct site_trial t = begun();
	(void)state;
	assert_false(site_trial_refuses(&t, ID, 2));
	assert_int_equal(judge(&t, false, 60000), SITE_TRIAL_BACK);
	/* too late is too late */
	assert_int_equal(judge(&t, true, 60000), SITE_TRIAL_BACK);
	site_trial_refuse(&t, "why");
	assert_string_equal(t.why, "why");
	assert_int_equal(t.former.n, 0);
	assert_int_equal(judge(&t, false, 60001), SITE_TRIAL_NOTHING);
	assert_true(site_trial_refuses(&t, ID, 2));
	assert_false(site_trial_refuses(&t, ID + 1, 2));
	assert_false(site_trial_refuses(&t, ID, 3));
	struct phx_list none = {0};
	site_trial_begin(&t, ID, 3, &none, "boot-1", BEGIN, &times);
	assert_false(site_trial_refuses(&t, ID, 3));
}

/* The agent alone: the clock goes on, and so does the time. */
static void a_start_of_the_agent_changes_nothing(void **state)
{
	struct site_trial t = begun();
	(void)state;
	assert_false(site_trial_start(&t, "boot-1", BEGIN + 30000, &times));
	assert_int_equal(judge(&t, false, 59999), SITE_TRIAL_WAIT);
	assert_int_equal(judge(&t, false, 60000), SITE_TRIAL_BACK);
	site_trial_keep(&t);
	assert_false(site_trial_start(&t, "boot-2", BEGIN, &times));
}

/* The clock begins anew with the machine: so does the time, once. */
static void a_start_of_the_machine_begins_the_time_anew_once(void **state)
{
	struct site_trial t = begun();
	(void)state;
	assert_true(site_trial_start(&t, "boot-2", 9000, &times));
	assert_int_equal(t.former.n, 1);
	assert_int_equal(site_trial_judge(&t, false, 9000, &times), SITE_TRIAL_WAIT);
	assert_int_equal(site_trial_judge(&t, true, 14000, &times), SITE_TRIAL_KEEP);
	assert_int_equal(site_trial_judge(&t, false, 69000, &times), SITE_TRIAL_BACK);
	assert_true(site_trial_start(&t, "boot-3", 8000, &times));
	assert_int_equal(site_trial_judge(&t, true, 8000, &times), SITE_TRIAL_BACK);
	site_trial_keep(&t);
}

static void a_time_that_no_trial_has_is_damage(void **state)
{
	struct site_trial t = begun();
	(void)state;
	assert_int_equal(site_trial_judge(&t, false, BEGIN - 1, &times), SITE_TRIAL_BACK);
	site_trial_keep(&t);
}

static struct phx_site_out *add(struct phx_site_bundle *b, const char *path, const char *text)
{
	struct phx_site_out *f = phx_list_push(&b->files, sizeof(*f));
	PHX_STR_SET(f->path, path);
	f->text = strdup(text);
	return f;
}

/* Of each thing of the network's files, and of nothing else. */
static void an_id_is_that_of_the_networks_files(void **state)
{
	struct phx_site_bundle b = {0};
	(void)state;
	add(&b, "/etc/motd", "a");
	assert_int_equal(site_trial_id(&b), 0);
	struct phx_site_out *f = add(&b, "/etc/systemd/network/10-phoenix-eth0.network", "a");
	uint64_t id = site_trial_id(&b);
	assert_int_not_equal(id, 0);
	PHX_LIST_AT(&b.files, struct phx_site_out, 0)->text[0] = 'b';
	assert_int_equal(site_trial_id(&b), id);
	f->text[0] = 'b';
	assert_int_not_equal(site_trial_id(&b), id);
	f->text[0] = 'a';
	f->mode = 0600;
	assert_int_not_equal(site_trial_id(&b), id);
	phx_record_fini(&phx_site_bundle_record, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_that_is_heard_keeps_it),
		cmocka_unit_test(silence_takes_it_back),
		cmocka_unit_test(a_start_of_the_agent_changes_nothing),
		cmocka_unit_test(a_start_of_the_machine_begins_the_time_anew_once),
		cmocka_unit_test(a_time_that_no_trial_has_is_damage),
		cmocka_unit_test(an_id_is_that_of_the_networks_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
