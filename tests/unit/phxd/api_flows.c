/* Workflows as they are asked for (cmd/phxd/api_flows.c): as whom one runs, and that its text is
 * settled whatever becomes of it; what is shown of a run, to whom, and what he may do with it. */
#include "unit/phxd/flow_runs.h"

/* ---- submitted ---- */

static int posts(const char *of, const char *re, const char *more, const char *value)
{
	FAKE_REQUEST q = {.body_path = of ? body : NULL,
			  .query = {{re ? "re" : "other", re ? re : ""}, {more, value}}};
	if (of)
		assert_int_equal(phx_file_write(body, of, strlen(of), 0600, NULL), 0);
	api_workflow_submit(&q, &head);
	return ends(&q);
}

static void a_workflow_is_its_users(void **state)
{
	(void)state;
	group = "physics";
	if (posts(text, "mtc", NULL, NULL) != 200)
		fail_msg("%s", error);
	const struct phx_event_workflow_submit *p = &fake_event(0)->workflow_submit;
	assert_int_equal(fake_event(0)->kind, PHX_EV_workflow_submit);
	assert_string_equal(fake_event(0)->re, "mtc");
	assert_string_equal(fake_event(0)->by, "by unix:alice");
	assert_string_equal(works_as, "himself");
	assert_int_equal(p->uid, ALICE);
	assert_int_equal(p->gid, 100);
	assert_string_equal(p->user, "alice");
	assert_string_equal(p->identity, "unix:alice");
	assert_string_equal(p->name, "three");
	assert_true(p->must_be_member);
	assert_string_equal(p->group, "physics");
	assert_false(p->hold);
	assert_int_equal(p->n_tasks, N_TASKS);
	assert_int_equal(phx_json_int(answer, "n_tasks", 0), N_TASKS);
	assert_int_equal(settled, 0);
	assert_int_equal(posts(text, "mtc", "hold", "true"), 200);
	assert_true(fake_event(1)->workflow_submit.hold);
	assert_int_equal(posts(text, "mtc", "hold", "yes"), 200);
	assert_false(fake_event(2)->workflow_submit.hold);
}

/* A name that would be none is left out, and the workflow goes on. */
static void a_name_is_a_name(void **state)
{
	PHX_AUTO_FREE char *bad = strdup(text);
	(void)state;
	memcpy(strstr(bad, "three"), "th ee", 5);
	assert_int_equal(posts(bad, "mtc", NULL, NULL), 200);
	assert_string_equal(fake_event(0)->workflow_submit.name, "");
}

static void only_the_provider_submits_for_others(void **state)
{
	(void)state;
	assert_int_equal(posts(text, "mtc", "user", "bob"), -EPERM);
	assert_non_null(strstr(error, "user: only the resource provider"));
	assert_string_equal(works_as, ""); /* he is not asked about */
	fake_roles = FAKE_PROVIDER;
	assert_int_equal(posts(text, "mtc", "user", "bob"), -EPERM);
	assert_int_equal(fake_events.n, 0);
	fake_roles = FAKE_ADMIN;
	fake_identity = "unix:root";
	assert_int_equal(posts(text, "mtc", "user", "bob"), 200);
	assert_string_equal(works_as, "bob");
	/* whom he submits for need be no member: who provides the resources says so */
	assert_false(fake_event(0)->workflow_submit.must_be_member);
	assert_string_equal(fake_event(0)->workflow_submit.identity, "unix:root");
}

/* The core refuses him then, who is no member; of an RE that is not there nobody is one. */
static void no_group_is_none(void **state)
{
	(void)state;
	group = NULL;
	assert_int_equal(posts(text, "mtc", NULL, NULL), 200);
	assert_true(fake_event(0)->workflow_submit.must_be_member);
	assert_string_equal(fake_event(0)->workflow_submit.group, "");
	group = "physics";
	assert_int_equal(posts(text, "none", NULL, NULL), 200);
	assert_string_equal(fake_event(1)->workflow_submit.group, "");
}

static void what_is_refused_is_not_kept(void **state)
{
	char name[PHX_NAME_MAX + 2];
	(void)state;
	memset(name, 'r', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(posts(text, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(posts(text, name, NULL, NULL), -EINVAL);
	assert_int_equal(posts(NULL, "mtc", NULL, NULL), -EINVAL);
	assert_non_null(strstr(error, "re: must name an RE"));
	has_login = false;
	assert_int_equal(posts(text, "mtc", NULL, NULL), -EPERM);
	has_login = true;
	assert_int_equal(posts("{}", "mtc", NULL, NULL), -EINVAL);
	assert_non_null(strstr(error, "workflow"));
	wrong = "workflow:1: task a wants more than there is";
	assert_int_equal(posts(text, "mtc", NULL, NULL), -EINVAL);
	assert_string_equal(error, wrong);
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(settled, 1);
	wrong = NULL;
	fake_submit_result = -EROFS;
	assert_int_equal(posts(text, "mtc", NULL, NULL), -EROFS);
	assert_null(answer);
	assert_int_equal(settled, -EROFS);
}

/* ---- shown ---- */

static int lists(uint32_t uid, const char *re)
{
	FAKE_REQUEST q = {.peer = {.uid = uid}, .query = {{re ? "re" : NULL, re}}};
	api_workflows(&q, &head);
	return ends(&q);
}

static size_t n_listed(void)
{
	return json_array_size(json_object_get(answer, "workflows"));
}

static void each_sees_his_own(void **state)
{
	(void)state;
	submits(ALICE);
	submits(BOB);
	assert_int_equal(lists(ALICE, NULL), 200);
	assert_int_equal(n_listed(), 1);
	const json_t *row = json_array_get(json_object_get(answer, "workflows"), 0);
	assert_int_equal(phx_json_int(row, "id", 0), 1);
	/* what the core has of its tasks is of no use to people, and may be MiB */
	assert_null(json_object_get(row, "live"));
	assert_null(json_object_get(row, "places"));
	lists(HPC, NULL);
	assert_int_equal(n_listed(), 0);
	asks_as(FAKE_PROVIDER, "unix:hpc");
	lists(HPC, NULL);
	assert_int_equal(n_listed(), 2);
	asks_as(FAKE_PROVIDER, "unix:another");
	lists(HPC, NULL);
	assert_int_equal(n_listed(), 0);
	asks_as(FAKE_ADMIN, "unix:root");
	lists(9, "mtc");
	assert_int_equal(n_listed(), 2);
	lists(9, "other");
	assert_int_equal(n_listed(), 0);
}

static int shows(uint32_t uid, const char *id, const char *after, const char *limit)
{
	FAKE_REQUEST q = {.peer = {.uid = uid}, .params = {id}};
	q.query[0] = (struct fake_word){after ? "after" : NULL, after};
	q.query[after ? 1 : 0] = (struct fake_word){limit ? "limit" : NULL, limit};
	api_workflow(&q, &head);
	return ends(&q);
}

static const json_t *task(size_t i)
{
	return json_array_get(json_object_get(answer, "tasks"), i);
}

static bool may(const char *what)
{
	size_t i;
	json_t *word;
	json_array_foreach(json_object_get(answer, "may"), i, word) {
		if (!strcmp(json_string_value(word), what))
			return true;
	}
	return false;
}

static void a_run_has_its_tasks_and_levels(void **state)
{
	(void)state;
	submits(ALICE);
	assert_int_equal(shows(ALICE, "1", NULL, NULL), 200);
	assert_null(task(0)); /* who asks for none gets none */
	assert_int_equal(phx_json_int(answer, "last", -1), 0);
	assert_int_equal(shows(ALICE, "1", NULL, "10"), 200);
	const json_t *levels = json_object_get(answer, "levels");
	assert_int_equal(json_array_size(levels), 2);
	assert_int_equal(phx_json_int(json_array_get(levels, 0), "n_tasks", 0), 1);
	assert_int_equal(phx_json_int(json_array_get(levels, 1), "n_tasks", 0), 2);
	assert_int_equal(phx_json_int(json_array_get(levels, 1), "waiting", 0), 2);
	assert_int_equal(json_array_size(json_object_get(answer, "tasks")), N_TASKS);
	assert_string_equal(phx_json_str(task(0), "id", ""), "a");
	assert_string_equal(phx_json_str(task(0), "node", ""), "n1");
	assert_int_equal(phx_json_int(task(0), "runs", 0), 1);
	assert_string_equal(phx_json_str(task(1), "name", ""), "next");
	assert_string_equal(phx_json_str(task(1), "node", "none"), "");
	assert_null(json_object_get(task(1), "node_number")); /* a name is for people */
	assert_int_equal(phx_json_int(answer, "last", 0), N_TASKS);
	assert_true(may("hold") && may("cancel") && may("output"));
}

/* Its last page is empty, and says so by `last`. */
static void pages_leave_no_task_out(void **state)
{
	(void)state;
	submits(ALICE);
	assert_int_equal(shows(ALICE, "1", "0", "2"), 200);
	assert_string_equal(phx_json_str(task(1), "id", ""), "b");
	assert_null(task(2));
	assert_int_equal(phx_json_int(answer, "last", 0), 2);
	shows(ALICE, "1", "2", "2");
	assert_string_equal(phx_json_str(task(0), "id", ""), "c");
	assert_null(task(1));
	shows(ALICE, "1", "3", "2");
	assert_null(task(0));
	assert_int_equal(phx_json_int(answer, "last", 0), 3);
	assert_int_equal(shows(ALICE, "1", NULL, "1000"), 200);
	assert_int_equal(shows(ALICE, "1", NULL, "1001"), -EINVAL);
	assert_int_equal(shows(ALICE, "1", "-1", NULL), -EINVAL);
}

/* That it is there a stranger does not learn, either. */
static void a_stranger_sees_none(void **state)
{
	(void)state;
	submits(ALICE);
	assert_int_equal(shows(BOB, "1", NULL, NULL), -ENOENT);
	PHX_AUTO_FREE char *same = strdup(error);
	assert_int_equal(shows(BOB, "7", NULL, NULL), -ENOENT);
	assert_string_equal(error, same);
	assert_int_equal(shows(ALICE, "0", NULL, NULL), -ENOENT);
	assert_int_equal(shows(ALICE, "x", NULL, NULL), -ENOENT);
	asks_as(FAKE_AUDITOR, "unix:auditor");
	assert_int_equal(shows(7, "1", NULL, NULL), 200);
	assert_false(may("hold") || may("cancel") || may("output")); /* who looks may look */
	/* whose certificate is one of those alone has no button for his own, either */
	asks_as(1u << PHX_WHO_AUDITOR, "unix:alice");
	assert_int_equal(shows(ALICE, "1", NULL, NULL), 200);
	assert_false(may("hold") || may("cancel") || may("output"));
}

static void a_text_that_is_not_there_is_told(void **state)
{
	(void)state;
	submits(ALICE);
	unread = "the text was changed";
	assert_int_equal(shows(ALICE, "1", NULL, NULL), 200);
	assert_string_equal(phx_json_str(answer, "error", ""), unread);
	assert_int_equal(json_array_size(json_object_get(answer, "tasks")), 0);
}

/* All is done, and its tasks are where they were. */
static void a_run_that_ended_keeps_its_places(void **state)
{
	(void)state;
	uint64_t id = submits(ALICE);
	for (unsigned i = 0; i < 10 && !run_of(w, id)->ended_ms; i++) {
		end_all(w, "n1", PHX_TASK_EXITED, 0);
		tick(w, 1000);
		settle(w);
	}
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_COMPLETE);
	assert_null(run_of(w, id)->live);
	assert_int_equal(shows(ALICE, "1", NULL, "10"), 200);
	for (size_t i = 0; i < N_TASKS; i++) {
		assert_string_equal(phx_json_str(task(i), "state", ""), "done");
		assert_string_equal(phx_json_str(task(i), "node", ""), "n1");
	}
}

static void its_text_is_his_who_sees_it(void **state)
{
	(void)state;
	submits(ALICE);
	assert_int_equal(phx_file_write(body, text, strlen(text), 0600, NULL), 0);
	FAKE_REQUEST q = {.peer = {.uid = ALICE}, .params = {"1"}};
	api_workflow_text(&q, &head);
	assert_int_equal(ends(&q), 200);
	assert_string_equal(error, text);
	FAKE_REQUEST other = {.peer = {.uid = BOB}, .params = {"1"}};
	api_workflow_text(&other, &head);
	assert_int_equal(ends(&other), -ENOENT);
}

/* ---- orders ---- */

static int orders_it(uint32_t uid, const char *id, const char *what, const char *check)
{
	FAKE_REQUEST q = {.peer = {.uid = uid},
			  .params = {id, what},
			  .query = {{check ? "check" : NULL, check}}};
	api_workflow_order(&q, &head);
	return ends(&q);
}

static void an_order_is_an_event(void **state)
{
	static const struct {
		const char *name;
		int kind;
		const char *check;
		bool checks;
	} rows[] = {
		{"hold", PHX_EV_workflow_hold, NULL, false},
		{"release", PHX_EV_workflow_release, NULL, false},
		{"cancel", PHX_EV_workflow_cancel, NULL, false},
		{"resume", PHX_EV_workflow_resume, NULL, true},
		{"resume", PHX_EV_workflow_resume, "false", false},
		{"resume", PHX_EV_workflow_resume, "no", true},
	};
	(void)state;
	submits(ALICE);
	fake_changed = true;
	for (uint32_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		assert_int_equal(orders_it(ALICE, "1", rows[i].name, rows[i].check), 200);
		assert_int_equal(fake_event(i)->kind, rows[i].kind);
		assert_int_equal(fake_event(i)->workflow_order.workflow, 1);
		assert_int_equal(fake_event(i)->workflow_order.check, rows[i].checks);
		assert_string_equal(fake_event(i)->by, "by unix:alice");
		assert_true(json_is_true(json_object_get(answer, "changed")));
	}
}

static void an_order_of_a_stranger_is_none(void **state)
{
	uint32_t n = 0;
	(void)state;
	submits(ALICE);
	assert_int_equal(orders_it(BOB, "1", "cancel", NULL), -ENOENT);
	assert_int_equal(orders_it(ALICE, "9", "cancel", NULL), -ENOENT);
	assert_int_equal(orders_it(ALICE, "1", "stop", NULL), -ENOENT);
	assert_non_null(strstr(error, "no such operation"));
	asks_as(1u << PHX_WHO_AUDITOR, "unix:auditor");
	assert_int_equal(orders_it(7, "1", "cancel", NULL), -EPERM);
	assert_int_equal(fake_events.n, n);
	asks_as(FAKE_USER, "unix:alice");
	fake_submit_result = -EBUSY;
	assert_int_equal(orders_it(ALICE, "1", "hold", NULL), -EBUSY);
	assert_string_equal(error, "the journal refuses it");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_workflow_is_its_users),
		T(a_name_is_a_name),
		T(only_the_provider_submits_for_others),
		T(no_group_is_none),
		T(what_is_refused_is_not_kept),
		T(each_sees_his_own),
		T(a_run_has_its_tasks_and_levels),
		T(pages_leave_no_task_out),
		T(a_stranger_sees_none),
		T(a_text_that_is_not_there_is_told),
		T(a_run_that_ended_keeps_its_places),
		T(its_text_is_his_who_sees_it),
		T(an_order_is_an_event),
		T(an_order_of_a_stranger_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
