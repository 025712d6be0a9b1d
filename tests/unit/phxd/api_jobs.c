/* Jobs shown, held and ended, and their output (cmd/phxd/api_jobs.c): whose jobs somebody sees, and
 * that of those of others he does not learn even that they are there; pages that leave none out;
 * what a job wrote is for its user alone; a node keeps the output of its own parts and runs. The
 * state and the files are real. */
#include "fake/submitted.h"
#include "fake/person.h"

#include "base/tree.h"
#include "phxd/api_jobs.c" /* parts of a program, not of the library */
#include "phxd/parse.c"
#include "phxd/viewer.c"

enum { ALICE = 1001, BOB = 1002, HPC = 1003, ROOT = 9 };

static struct daemon head;
static struct phx_state core;
static char top[64];
static bool is_member; /* of each RE */
static unsigned n_members, n_breathed;
static const struct holds_wish *held; /* with which a request was */
static int64_t held_ms;
static const char *agent; /* whose certificate came; NULL: none is believed */
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

void member_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
	       struct member *ret)
{
	(void)d, (void)q;
	assert_false(fake_engine_held);
	assert_int_equal(right, PHX_RIGHT_re_know);
	*ret = (struct member){0};
	n_members++;
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	(void)m, (void)a, (void)ret_group;
	assert_true(fake_engine_held);
	return is_member;
}

void member_fini(struct member *m)
{
	(void)m;
	n_members--;
}

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	assert_false(fake_engine_held);
	n_breathed++;
}

void holds_take(struct holds *h, struct phx_http_request *q, const struct holds_wish *wish,
		unsigned rights, int64_t wait_ms)
{
	(void)h;
	assert_int_equal(rights, head.rights);
	phx_http_suspend(q);
	held = wish;
	held_ms = wait_ms;
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)d;
	if (!agent)
		phx_http_reply_error(q, -EACCES, "an older certificate");
	return agent && phx_str_copy(ret_node, PHX_NAME_MAX, agent) == 0;
}

/* ---- jobs ---- */

static struct phx_job *job(uint64_t id, uint32_t uid, const char *re)
{
	struct phx_job *j = phx_list_push(&core.jobs, sizeof(*j));
	*j = (struct phx_job){.id = id, .uid = uid, .submitted_ms = 5000, .nodes = 1};
	PHX_STR_SET(j->re, re);
	core.last_job_id = id;
	return j;
}

static struct phx_job *job_at(uint32_t i)
{
	return PHX_LIST_AT(&core.jobs, struct phx_job, i);
}

static void runs_on(uint32_t i, const char *node)
{
	struct phx_job_part *p = phx_list_push(&job_at(i)->parts, sizeof(*p));
	PHX_STR_SET(p->node, node);
	job_at(i)->state = PHX_JOB_RUNNING;
}

static void put_output(const char *name, const char *text)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", top, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
}

/* Of alice job 1 in RE hpc, of bob 2 in no RE and 3 in hpc; 4 is the head's own. */
static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	strcpy(top, "/tmp/phx-jobs.XXXXXX");
	if (!mkdtemp(top) || phx_state_init(&core) < 0)
		return -1;
	head = (struct daemon){.rights = 3};
	PHX_STR_SET(head.cfg.output_dir, top);
	fake_state = &core;
	struct phx_re *re = phx_list_push(&core.res, sizeof(*re));
	PHX_STR_SET(re->name, "hpc");
	PHX_STR_SET(re->agreement.owner, "unix:hpc");
	re->created_ms = 4000;
	job(1, ALICE, "hpc");
	job(2, BOB, "");
	job(3, BOB, "hpc");
	job(4, HPC, "hpc")->worker = true;
	fake_roles = FAKE_USER;
	fake_identity = "unix:alice";
	is_member = false;
	n_members = n_breathed = 0;
	held = NULL;
	agent = NULL;
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	assert_int_equal(n_members, 0);
	json_decref(PHX_TAKE(answer));
	phx_state_fini(&core);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return phx_dir_remove(top, NULL);
}

static int asks(phx_http_handler handler, uint32_t uid, const char *id,
		const struct fake_word *query, const char *body)
{
	FAKE_REQUEST q = {.peer.uid = uid, .params = {id}, .body = body};
	for (size_t i = 0; query && query[i].name; i++)
		q.query[i] = query[i];
	fake_roles = uid == ROOT ? FAKE_ADMIN : uid == HPC ? FAKE_PROVIDER : FAKE_USER;
	fake_identity = uid == ROOT ? "unix:root"
		: uid == HPC        ? "unix:hpc"
		: uid == BOB        ? "unix:bob"
				    : "unix:alice";
	json_decref(PHX_TAKE(answer));
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.held ? -EINPROGRESS : q.code;
}
#define Q(...) ((const struct fake_word[]){__VA_ARGS__, {NULL, NULL}})

/* "1 3 last 3", with a + if there is more. */
static void assert_list(uint32_t uid, const struct fake_word *query, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *j;
	if (asks(api_jobs, uid, NULL, query, NULL) != 200)
		fail_msg("%s", error);
	json_array_foreach(json_object_get(answer, "jobs"), i, j)
		phx_buf_addf(&b, "%lld ", (long long)phx_json_int(j, "id", 0));
	phx_buf_addf(&b, "last %lld%s", (long long)phx_json_int(answer, "last", 0),
		     phx_json_bool(answer, "more", false) ? "+" : "");
	assert_string_equal(b.data, want);
}

/* ---- who sees which ---- */

static void each_sees_his_own_and_those_of_his_res(void **state)
{
	(void)state;
	assert_list(ALICE, NULL, "1 last 4");
	assert_list(BOB, NULL, "2 3 last 4");
	assert_list(HPC, NULL, "1 3 last 4");
	assert_list(ROOT, NULL, "1 2 3 last 4");
	assert_list(BOB, Q({"re", "hpc"}), "3 last 4");
	/* what was submitted to an earlier RE of that name is not shown to the present owner */
	job_at(0)->submitted_ms = 3999;
	assert_list(HPC, NULL, "3 last 4");
}

static void of_an_re_that_is_not_his_business_nothing_is_told(void **state)
{
	(void)state;
	struct phx_re *re = phx_list_push(&core.res, sizeof(*re));
	PHX_STR_SET(re->name, "web");
	PHX_STR_SET(re->agreement.owner, "unix:web");
	static const uint32_t others[] = {ALICE, HPC};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		assert_int_equal(asks(api_jobs, others[i], NULL, Q({"re", "web"}), NULL), -ENOENT);
		assert_string_equal(error, "re: there is no such RE");
		assert_int_equal(asks(api_jobs, others[i], NULL, Q({"re", "gone"}), NULL), -ENOENT);
		assert_string_equal(error, "re: there is no such RE");
	}
	assert_list(ROOT, Q({"re", "web"}), "last 0");
	is_member = true;
	assert_list(ALICE, Q({"re", "web"}), "last 0");
	assert_int_equal(asks(api_jobs, ALICE, NULL, Q({"re", "gone"}), NULL), -ENOENT);
	is_member = false;
	PHX_STR_SET(re->agreement.owner, "unix:hpc");
	assert_list(HPC, Q({"re", "web"}), "last 0");
}

static void pages_leave_none_out(void **state)
{
	(void)state;
	assert_list(ROOT, Q({"limit", "2"}), "1 2 last 2+");
	assert_list(ROOT, Q({"limit", "2"}, {"after", "2"}), "3 last 4");
	assert_list(ALICE, Q({"after", "1"}), "last 4");
	assert_list(ALICE, Q({"re", "hpc"}, {"after", "1"}), "last 4"); /* there were some before */
	/* more than are looked at under one lock; only the last is his */
	for (uint64_t id = 5; id < 5 + 2 * LOOKED_AT_ONCE; id++)
		job(id, BOB, "");
	job(9000, ALICE, "");
	assert_list(ALICE, NULL, "1 9000 last 9000");
	assert_int_equal(n_breathed, 2);
	assert_int_equal(asks(api_jobs, ROOT, NULL, NULL, NULL), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "jobs")), LIST_MAX);
	assert_true(phx_json_bool(answer, "more", false));
	static const struct fake_word bad[] = {
		{"after", "x"}, {"after", "-1"}, {"limit", "0"}, {"limit", "1001"}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		assert_int_equal(asks(api_jobs, ROOT, NULL, Q(bad[i]), NULL), -EINVAL);
		assert_string_equal(error, "after: must be a job's number; limit: from 1 to 1000");
	}
}

static void a_list_shows_the_first_words_cut(void **state)
{
	char word[WORD_SHOWN + 20];
	(void)state;
	memset(word, 'w', sizeof(word));
	memcpy(word + WORD_SHOWN - 1, "\303\251zz", 5); /* a character where it is cut */
	for (int i = 0; i < WORDS_SHOWN + 1; i++)
		assert_int_equal(phx_text_push(&job_at(0)->argv, i ? "b" : word), 0);
	assert_int_equal(phx_text_push(&job_at(0)->env, "SECRET=1"), 0);
	job_at(0)->script = strdup("#!/bin/sh\n");
	assert_list(ALICE, NULL, "1 last 4");
	const json_t *j = json_array_get(json_object_get(answer, "jobs"), 0),
		     *argv = json_object_get(j, "argv");
	assert_int_equal(json_array_size(argv), WORDS_SHOWN);
	const char *first = phx_json_str(json_array_get(argv, 0), "text", "");
	assert_int_equal(strlen(first), WORD_SHOWN - 1 + 3);
	assert_string_equal(first + WORD_SHOWN - 1, "...");
	assert_int_equal(json_array_size(json_object_get(j, "env")), 0);
	assert_string_equal(phx_json_str(j, "script", ""), "");
	/* alone it is whole */
	assert_int_equal(asks(api_job, ALICE, "1", NULL, NULL), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "argv")), WORDS_SHOWN + 1);
	assert_int_equal(json_array_size(json_object_get(answer, "env")), 1);
	assert_string_equal(phx_json_str(answer, "script", ""), "#!/bin/sh\n");
	/* of an array the first has the words of all */
	job_at(1)->uid = ALICE;
	job_at(0)->array = job_at(1)->array = 1;
	assert_int_equal(asks(api_job, ALICE, "2", NULL, NULL), 200);
	assert_int_equal(phx_json_int(answer, "id", 0), 2);
	assert_string_equal(phx_json_str(answer, "script", ""), "#!/bin/sh\n");
}

/* ---- one job ---- */

static void what_is_anothers_is_as_what_is_not_there(void **state)
{
	static const char *const ids[] = {"2", "77", "0", "x", "-1", ""};
	static const phx_http_handler all[] = {api_job, api_job_cancel, api_job_hold,
					       api_job_release, api_job_output};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ids); i++)
		for (size_t k = 0; k < PHX_ARRAY_SIZE(all); k++) {
			assert_int_equal(asks(all[k], ALICE, ids[i], NULL, NULL), -ENOENT);
			assert_string_equal(error, "there is no such job");
		}
	assert_int_equal(fake_events.n, 0);
	/* before anybody waits: when he is answered must not tell when it ends */
	assert_int_equal(asks(api_job, ALICE, "2", Q({"wait", "60"}), NULL), -ENOENT);
	assert_null(held);
}

static void who_waits_is_answered_at_its_end(void **state)
{
	FAKE_REQUEST q = {.peer.uid = ALICE, .params = {"1"}}, gone = {.params = {"77"}};
	(void)state;
	assert_int_equal(asks(api_job, ALICE, "1", Q({"wait", "61"}), NULL), -EINVAL);
	assert_int_equal(asks(api_job, ALICE, "1", Q({"wait", "60"}), NULL), -EINPROGRESS);
	assert_int_equal(held_ms, 60000);
	assert_int_equal(held->right, PHX_RIGHT_job_see);
	assert_false(held->reached(&core, &q));
	assert_true(held->reached(&core, &gone));
	job_at(0)->state = PHX_JOB_DONE;
	assert_true(held->reached(&core, &q));
	job_at(0)->why = strdup("it was told to");
	/* what she is shown then, by the rights that she has then */
	PHX_AUTO_JSON json_t *shown = held->show(&q, &head);
	assert_string_equal(phx_json_str(shown, "reason", ""), "it was told to");
	assert_int_equal(q.code, 0);
	fake_identity = "unix:bob";
	q.peer.uid = BOB;
	assert_null(held->show(&q, &head));
	assert_int_equal(q.code, -ENOENT);
}

/* ---- orders ---- */

static void orders_go_to_the_core(void **state)
{
	static const struct {
		phx_http_handler handler;
		int kind;
		bool hold;
	} rows[] = {{api_job_cancel, PHX_EV_job_cancel, false},
		    {api_job_hold, PHX_EV_job_hold, true},
		    {api_job_release, PHX_EV_job_hold, false}};
	(void)state;
	fake_changed = true;
	for (uint32_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		assert_int_equal(asks(rows[i].handler, ALICE, "1", NULL, NULL), 200);
		const struct phx_event *ev = fake_event(i);
		assert_int_equal(ev->kind, rows[i].kind);
		assert_int_equal(ev->job_order.job, 1);
		assert_int_equal(ev->job_order.job_last, 0);
		assert_int_equal(ev->job_order.hold, rows[i].hold);
		assert_string_equal(ev->by, "by unix:alice");
		assert_true(phx_json_bool(answer, "changed", false));
	}
	fake_submit_result = -EROFS;
	assert_int_equal(asks(api_job_cancel, ALICE, "1", NULL, NULL), -EROFS);
	assert_string_equal(error, "the journal refuses it");
	/* a service provider ends and holds jobs of his RE; an auditor does neither */
	fake_submit_result = 0;
	assert_int_equal(asks(api_job_cancel, HPC, "3", NULL, NULL), 200);
	assert_int_equal(asks(api_job_cancel, HPC, "2", NULL, NULL), -ENOENT);
}

static void a_range_is_ended_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_int_equal(asks(api_job_cancel, BOB, "2", NULL, "{\"last\":3}"), 200);
	assert_int_equal(fake_event(0)->job_order.job, 2);
	assert_int_equal(fake_event(0)->job_order.job_last, 3);
	/* 4 is not his; 5 is not there yet */
	assert_int_equal(asks(api_job_cancel, BOB, "2", NULL, "{\"last\":4}"), -ENOENT);
	assert_string_equal(error, "last: not all of these jobs are there");
	assert_int_equal(asks(api_job_cancel, ROOT, "2", NULL, "{\"last\":5}"), -ENOENT);
	assert_int_equal(asks(api_job_cancel, BOB, "2", NULL, "{\"last\":1}"), -EINVAL);
	assert_true(phx_str_starts(error, "last: must be a whole number from 2"));
	assert_int_equal(asks(api_job_cancel, BOB, "2", NULL, "{\"lasst\":3}"), -EINVAL);
	assert_int_equal(asks(api_job_hold, BOB, "2", NULL, "{\"last\":3}"), -EINVAL);
	assert_string_equal(error, "last: is not known here");
	assert_int_equal(asks(api_job_hold, BOB, "2", NULL, "[]"), -EINVAL);
	assert_int_equal(fake_events.n, 1);
}

/* ---- output ---- */

static void output_is_for_its_user_alone(void **state)
{
	(void)state;
	runs_on(2, "n1");
	put_output("3.0.n1", "his words");
	assert_int_equal(asks(api_job_output, BOB, "3", NULL, NULL), 200);
	assert_string_equal(error, "his words");
	assert_int_equal(asks(api_job_output, HPC, "3", NULL, NULL), -ENOENT);
	assert_int_equal(asks(api_job_output, ALICE, "3", NULL, NULL), -ENOENT);
	assert_int_equal(asks(api_job_output, ROOT, "3", NULL, NULL), 200);
}

static void before_and_after_a_run_there_is_none(void **state)
{
	(void)state;
	assert_int_equal(asks(api_job_output, ALICE, "1", NULL, NULL), -EAGAIN);
	assert_string_equal(error, "the job has not started yet: it has no output");
	job_at(0)->state = PHX_JOB_CANCELLED;
	assert_int_equal(asks(api_job_output, ALICE, "1", NULL, NULL), -ENOENT);
	assert_string_equal(error, "the job ended before it was started: it has no output");
}

static void output_of_several_nodes_stands_under_their_names(void **state)
{
	PHX_AUTO_FREE char *large = malloc(OUTPUT_SHOWN_MAX + 2);
	(void)state;
	runs_on(0, "n1");
	runs_on(0, "n2");
	put_output("1.0.n1", "one\n");
	assert_int_equal(asks(api_job_output, ALICE, "1", NULL, NULL), 200);
	assert_string_equal(error, "== n1 ==\none\n== n2 ==\n");
	memset(large, 'x', OUTPUT_SHOWN_MAX + 1);
	large[OUTPUT_SHOWN_MAX + 1] = '\0';
	put_output("1.0.n2", large);
	assert_int_equal(asks(api_job_output, ALICE, "1", NULL, NULL), 200);
	assert_string_equal(error,
			    "== n1 ==\none\n== n2 ==\n(too long to be shown with the others: ask "
			    "for this node alone)\n");
	assert_int_equal(asks(api_job_output, ALICE, "1", Q({"node", "n2"}), NULL), 200);
	assert_int_equal(asks(api_job_output, ALICE, "1", Q({"node", "n3"}), NULL), -ENOENT);
	assert_string_equal(error, "node: the job has no part on this node");
	assert_int_equal(asks(api_job_output, ALICE, "1", Q({"node", "../3.0.n1"}), NULL), -EINVAL);
	assert_string_equal(error, "node: that is no node name");
}

static void each_run_has_its_own(void **state)
{
	(void)state;
	job_at(0)->kills = 1;
	put_output("1.0.n1", "first");
	put_output("1.0.n2", "other");
	put_output("11.0.n1", "of another job");
	/* it is queued again: the last that ran */
	assert_int_equal(asks(api_job_output, ALICE, "1", NULL, NULL), 200);
	assert_string_equal(error, "== n1 ==\nfirst== n2 ==\nother");
	runs_on(0, "n2");
	assert_int_equal(asks(api_job_output, ALICE, "1", NULL, NULL), 200);
	assert_string_equal(error, "");
	assert_int_equal(asks(api_job_output, ALICE, "1", Q({"node", "n2"}), NULL), -ENOENT);
	assert_string_equal(error, "the job has written nothing on this node yet");
	assert_int_equal(asks(api_job_output, ALICE, "1", Q({"run", "0"}, {"node", "n1"}), NULL),
			 200);
	assert_string_equal(error, "first");
	assert_int_equal(asks(api_job_output, ALICE, "1", Q({"run", "2"}), NULL), -ENOENT);
	assert_string_equal(error, "run: the job has had no such run: they count from 0");
}

/* ---- output that comes ---- */

/* `of`: the certificate's node. */
static int puts_output(const char *of, const char *id, const char *run)
{
	PHX_AUTO_FREE char *body = phx_path("%s/upload", top);
	FAKE_REQUEST q = {.params = {id}, .query = {{"run", run}}, .body_path = body};
	put_output("upload", "new words");
	agent = of;
	bool may = job_output_may_put(&q, &head);
	if (may) {
		assert_int_equal(q.code, 0);
		api_job_output_put(&q, &head);
	}
	PHX_STR_SET(error, q.text);
	assert_true(may || q.code < 0);
	return q.code;
}

static void assert_output(const char *name, const char *want)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", top, name);
	PHX_AUTO_FREE char *text = NULL;
	phx_file_read(path, 1000, &text, NULL, NULL);
	assert_string_equal(text ? text : "-", want);
}

static void a_node_puts_what_its_own_part_wrote(void **state)
{
	(void)state;
	runs_on(0, "n1");
	job_at(0)->kills = 1;
	assert_int_equal(puts_output("n1", "1", "1"), 200);
	assert_output("1.1.n1", "new words");
	assert_int_equal(puts_output("n2", "1", "1"), -ENOENT);
	assert_string_equal(error, "this node has no part of such a job");
	assert_int_equal(puts_output("n1", "1", "2"), -ENOENT);
	assert_int_equal(puts_output("n1", "77", "0"), -ENOENT);
	assert_int_equal(puts_output("n1", "x", "0"), -ENOENT);
	assert_int_equal(puts_output("n1", "1", "x"), -ENOENT);
	assert_int_equal(puts_output(NULL, "1", "1"), -EACCES);
	assert_output("1.1.n2", "-");
}

/* Its former owner may be root on it, and would change what a user reads. */
static void what_is_over_is_not_written_again(void **state)
{
	(void)state;
	runs_on(0, "n1");
	job_at(0)->kills = 1;
	put_output("1.0.n1", "as it was");
	assert_int_equal(puts_output("n1", "1", "0"), -ESTALE);
	assert_string_equal(error, "this run of the job is of the past, or over");
	assert_output("1.0.n1", "as it was");
	PHX_LIST_AT(&job_at(0)->parts, struct phx_job_part, 0)->ended = true;
	assert_int_equal(puts_output("n1", "1", "1"), 200); /* it had not come yet */
	assert_int_equal(puts_output("n1", "1", "1"), -ESTALE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_sees_his_own_and_those_of_his_res),
		T(of_an_re_that_is_not_his_business_nothing_is_told),
		T(pages_leave_none_out),
		T(a_list_shows_the_first_words_cut),
		T(what_is_anothers_is_as_what_is_not_there),
		T(who_waits_is_answered_at_its_end),
		T(orders_go_to_the_core),
		T(a_range_is_ended_whole_or_not_at_all),
		T(output_is_for_its_user_alone),
		T(before_and_after_a_run_there_is_none),
		T(output_of_several_nodes_stands_under_their_names),
		T(each_run_has_its_own),
		T(a_node_puts_what_its_own_part_wrote),
		T(what_is_over_is_not_written_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
