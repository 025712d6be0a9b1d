/* Submitting a job (cmd/phxd/api_submit.c): as whom, and as a member of what; what a request must
 * not hold, with the member that is wrong and its limit; that all of a good one goes to the core,
 * and nothing of a wrong one. The engine is a fake. */
#include "fake/submitted.h"
#include "fake/person.h"

#include "phxd/api_submit.c" /* parts of a program, not of the library */
#include "phxd/parse.c"

enum { ALICE = 1001, BOB = 1002 };

static struct daemon head;
static struct phx_state core;
static const char *group; /* makes him a member; NULL: none does */
static unsigned n_members;
static bool no_user;
static char seen[2000]; /* of the lists of the event */
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- users ---- */

bool person_works_as(struct daemon *d, struct phx_http_request *q, const char *name,
		     struct person_login *ret)
{
	(void)d;
	assert_false(fake_engine_held);
	const char *is = name ? name : "alice";
	*ret = (struct person_login){.uid = strcmp(is, "alice") ? BOB : ALICE, .gid = 100};
	PHX_STR_SET(ret->name, is);
	if (no_user)
		phx_http_reply_error(q, -ENOENT, "there is no such user");
	return !no_user;
}

void member_init(const struct person_login *login, struct member *ret)
{
	assert_false(fake_engine_held);
	*ret = (struct member){0};
	PHX_STR_SET(ret->person.login, login->name);
	n_members++;
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	assert_true(fake_engine_held);
	assert_string_equal(m->person.login, "alice");
	assert_string_equal(a->name, "hpc");
	*ret_group = group;
	return group;
}

void member_fini(struct member *m)
{
	(void)m;
	n_members--;
}

/* ---- requests ---- */

/* Of many or long ones it keeps the first. */
static void note(const char *before, const char *text)
{
	size_t n = strlen(seen);
	snprintf(seen + n, sizeof(seen) - n, "%s%s", before, text);
}

static void note_texts(const char *what, const struct phx_list *list)
{
	note("", what);
	for (uint32_t i = 0; i < list->n; i++)
		note(" ", phx_text_at(list, i));
	note("|", "");
}

static void note_words(const char *what, const struct phx_list *list)
{
	note("", what);
	PHX_LIST_EACH(struct phx_word, w, list)
		note(" ", w->text);
	note("|", "");
}

static void looks(const struct phx_event *ev, struct phx_outcome *ret)
{
	const struct phx_event_job_submit *p = &ev->job_submit;
	seen[0] = '\0';
	note_texts("argv", &p->argv);
	note_texts("env", &p->job_env);
	note_words("in", &p->stage_in);
	note_words("out", &p->stage_out);
	size_t n = strlen(seen);
	snprintf(seen + n, sizeof(seen) - n, "script %s|%u", p->script ? p->script : "-",
		 phx_array_size(p));
	ret->job = 7;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	fake_submit_looks = looks;
	core = (struct phx_state){0};
	fake_state = &core;
	struct phx_re *re = phx_list_push(&core.res, sizeof(*re));
	PHX_STR_SET(re->name, "hpc");
	PHX_STR_SET(re->agreement.name, "hpc");
	fake_roles = FAKE_USER;
	fake_identity = "unix:alice";
	group = NULL;
	no_user = false;
	n_members = 0;
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	assert_int_equal(n_members, 0);
	json_decref(PHX_TAKE(answer));
	phx_list_fini(&core.res);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return 0;
}

static int submits(const char *body)
{
	FAKE_REQUEST q = {.body = body};
	json_decref(PHX_TAKE(answer));
	api_job_submit(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

static const struct phx_event_job_submit *last(void)
{
	const struct phx_event *ev = fake_event(fake_events.n - 1);
	assert_int_equal(ev->kind, PHX_EV_job_submit);
	return &ev->job_submit;
}

/* ---- as whom ---- */

static void a_user_submits_for_himself(void **state)
{
	(void)state;
	assert_int_equal(submits("{\"argv\":[\"a\"]}"), 200);
	assert_int_equal(last()->uid, ALICE);
	assert_int_equal(last()->gid, 100);
	assert_string_equal(last()->user, "alice");
	assert_string_equal(last()->identity, "unix:alice");
	assert_string_equal(fake_event(0)->by, "by unix:alice");
	assert_false(last()->must_be_member); /* of no RE */
	assert_true(last()->must_fit);
	for (size_t i = 0; i < 3; i++) {
		static const unsigned roles[] = {FAKE_USER, FAKE_PROVIDER, FAKE_OPERATOR};
		fake_roles = roles[i];
		assert_int_equal(submits("{\"user\":\"bob\",\"argv\":[\"a\"]}"), -EPERM);
		assert_string_equal(error,
				    "user: only the resource provider submits for somebody "
				    "else");
	}
	assert_int_equal(fake_events.n, 1);
}

static void in_an_re_he_must_be_a_member(void **state)
{
	(void)state;
	group = "";
	assert_int_equal(submits("{\"re\":\"hpc\",\"argv\":[\"a\"]}"), 200);
	assert_string_equal(fake_event(0)->re, "hpc");
	assert_true(last()->must_be_member);
	assert_string_equal(last()->group, "");
	group = "lab";
	assert_int_equal(submits("{\"re\":\"hpc\",\"argv\":[\"a\"]}"), 200);
	assert_string_equal(last()->group, "lab");
	/* who is none, or names what is no RE, is left to the core */
	group = NULL;
	assert_int_equal(submits("{\"re\":\"hpc\",\"argv\":[\"a\"]}"), 200);
	assert_true(last()->must_be_member);
	assert_string_equal(last()->group, "");
	assert_int_equal(submits("{\"re\":\"gone\",\"argv\":[\"a\"]}"), 200);
	assert_true(last()->must_be_member);
}

static void the_resource_provider_submits_for_others(void **state)
{
	(void)state;
	fake_roles = FAKE_ADMIN;
	fake_identity = "unix:root";
	assert_int_equal(submits("{\"re\":\"hpc\",\"user\":\"bob\",\"argv\":[\"a\"]}"), 200);
	assert_int_equal(last()->uid, BOB);
	assert_string_equal(last()->user, "bob");
	assert_string_equal(last()->identity, "unix:root");
	assert_false(last()->must_be_member);
	no_user = true;
	assert_int_equal(submits("{\"user\":\"bob\",\"argv\":[\"a\"]}"), -ENOENT);
	assert_int_equal(fake_events.n, 1);
}

/* ---- what goes to the core ---- */

static void all_of_a_request_goes_to_the_core(void **state)
{
	(void)state;
	assert_int_equal(
		submits("{\"nodes\":4,\"argv\":[\"a\",\"b c\"],\"env\":[\"A=1\"],\"time_s\":60,"
			"\"no_requeue\":true,\"hold\":true,\"grace_s\":3,\"checkpoint_signal\":10,"
			"\"checkpoint_s\":4,\"chdir\":\"/data\",\"stage_in\":[\"x\",\"y\"],"
			"\"stage_out\":[\"z\"],\"script\":\"#!/bin/sh\\nexit 1\\n\"}"),
		200);
	const struct phx_event_job_submit *p = last();
	assert_int_equal(p->job_nodes, 4);
	assert_int_equal(p->estimate_ms, 60000);
	assert_true(p->no_requeue && p->hold);
	assert_int_equal(p->grace_ms, 3000);
	assert_int_equal(p->checkpoint_signal, 10);
	assert_int_equal(p->checkpoint_ms, 4000);
	assert_string_equal(p->chdir, "/data");
	assert_string_equal(seen, "argv a b c|env A=1|in x y|out z|script #!/bin/sh\nexit 1\n|1");
	assert_int_equal(phx_json_int(answer, "id", 0), 7);
	assert_null(json_object_get(answer, "last"));
	/* what is not given, or is null, is as nothing */
	assert_int_equal(submits("{\"nodes\":null,\"script\":null,\"array\":null,\"re\":null,"
				 "\"stage_in\":null}"),
			 200);
	assert_int_equal(last()->job_nodes, 1);
	assert_false(last()->hold || last()->must_be_member);
	assert_string_equal(seen, "argv|env|in|out|script -|1");
}

static void an_array_is_told_by_its_first_and_its_last(void **state)
{
	(void)state;
	assert_int_equal(submits("{\"argv\":[\"a\"],\"array\":\"1,5,10-20:2%3\"}"), 200);
	assert_int_equal(last()->array_at_once, 3);
	assert_string_equal(strrchr(seen, '|'), "|8");
	assert_int_equal(phx_json_int(answer, "id", 0), 7);
	assert_int_equal(phx_json_int(answer, "last", 0), 14);
	assert_int_equal(submits("{\"argv\":[\"a\"],\"array\":\"5\"}"), 200);
	assert_int_equal(phx_json_int(answer, "last", 0), 7);
}

/* ---- refused ---- */

static void what_is_wrong_is_named_with_its_limit(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "the body must be a JSON object"},
		{"{\"dry_run\":true}", "dry_run: is not known here"},
		{"{\"nodes\":0}", "nodes: must be a whole number from 1 to "},
		{"{\"nodes\":1.5}", "nodes: must be a whole number"},
		{"{\"time_s\":-1}", "time_s: must be a whole number from 0 to 31622400"},
		{"{\"time_s\":31622401}", "time_s: must be a whole number from 0 to 31622400"},
		{"{\"grace_s\":3601}", "grace_s: must be a whole number from 0 to 3600"},
		{"{\"checkpoint_s\":3601}", "checkpoint_s: must be a whole number from 0 to 3600"},
		{"{\"checkpoint_signal\":65}", "checkpoint_signal: must be a whole number from 0"},
		{"{\"hold\":1}", "hold: must be true or false"},
		{"{\"no_requeue\":\"yes\"}", "no_requeue: must be true or false"},
		{"{\"re\":\"a\\nb\"}", "re: must not hold control characters"},
		{"{\"user\":7}", "user: must be a text"},
		{"{\"chdir\":\"a\\u001b\"}", "chdir: must not hold control characters"},
		{"{\"argv\":\"a\"}", "argv: must be a list of at most 4096 words"},
		{"{\"argv\":[\"a\",7]}", "argv: must be a list of at most 4096 words"},
		{"{\"env\":{}}", "env: must be a list of at most 4096 words"},
		{"{\"stage_in\":[[]]}",
		 "stage_in: must be a list of at most 256 words of at most 255 characters"},
		{"{\"stage_out\":7}", "stage_out: must be a list of at most 256"},
		{"{\"script\":[\"a\"]}", "script: must be a text"},
		{"{\"array\":5}", "array: must be a text"},
		{"{\"array\":\"5-\"}", "array"},
	};
	(void)state;
	fake_roles = FAKE_ADMIN;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		if (submits(rows[i][0]) != -EINVAL || !phx_str_starts(error, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], error);
	}
	assert_int_equal(fake_events.n, 0);
}

/* As many, and as long, as may be; and one more. */
static int with_list(const char *key, size_t n, size_t length)
{
	PHX_AUTO_JSON json_t *j = json_object(), *list = json_array();
	char word[600];
	memset(word, 'w', length);
	word[length] = '\0';
	while (n--)
		json_array_append_new(list, json_string(word));
	json_object_set(j, key, list);
	PHX_AUTO_FREE char *text = json_dumps(j, 0);
	return submits(text);
}

static void lists_have_a_greatest_length(void **state)
{
	static const struct {
		const char *key;
		size_t n, length;
	} most[] = {{"argv", 4096, 1},
		    {"env", 4096, 500},
		    {"stage_in", 256, 255},
		    {"stage_out", 256, 255}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(most); i++) {
		assert_int_equal(with_list(most[i].key, most[i].n, most[i].length), 200);
		assert_int_equal(with_list(most[i].key, most[i].n + 1, 1), -EINVAL);
		assert_true(phx_str_starts(error, most[i].key));
	}
	assert_int_equal(with_list("stage_in", 1, 256), -EINVAL);
	assert_int_equal(with_list("stage_out", 1, 256), -EINVAL);
	assert_int_equal(with_list("argv", 1, 256), 200);
}

static void what_the_core_refuses_is_told(void **state)
{
	(void)state;
	fake_submit_result = -EDQUOT;
	assert_int_equal(submits("{\"argv\":[\"a\"],\"array\":\"1-9\",\"stage_in\":[\"x\"]}"),
			 -EDQUOT);
	assert_string_equal(error, "the journal refuses it");
	assert_null(answer);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_user_submits_for_himself),
		T(in_an_re_he_must_be_a_member),
		T(the_resource_provider_submits_for_others),
		T(all_of_a_request_goes_to_the_core),
		T(an_array_is_told_by_its_first_and_its_last),
		T(what_is_wrong_is_named_with_its_limit),
		T(lists_have_a_greatest_length),
		T(what_the_core_refuses_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
