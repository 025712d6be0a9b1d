/* Jobs as their users meet them: what may be submitted, why one waits, how its end is told, and
 * arrays. */
#include "base/json.h"
#include "job/job.h"
#include "unit/core/world.h"

static int submit_ev(struct world *w, struct phx_event *ev, uint64_t *ret_id, struct phx_err *err)
{
	struct phx_outcome out = {0};
	ev->kind = PHX_EV_job_submit;
	ev->now_ms = w->now;
	ev->job_submit.uid = ev->job_submit.gid = 1000;
	ev->job_submit.job_nodes = ev->job_submit.job_nodes ? ev->job_submit.job_nodes : 1;
	if (!ev->job_submit.argv.n)
		assert_int_equal(phx_text_push(&ev->job_submit.argv, "true"), 0);
	phx_err_clear(err);
	int r = phx_core_apply(&w->s, ev, &out, err);
	*ret_id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(ev);
	return r;
}

static const struct phx_job *job(const struct world *w, uint64_t id)
{
	const struct phx_job *j = phx_state_job(&w->s, id);
	assert_non_null(j);
	return j;
}

static char *letters(size_t n)
{
	char *text = malloc(n + 1);
	memset(text, 'x', n);
	text[n] = '\0';
	return text;
}

/* ---- submission ---- */

static void words_of_any_length(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {0};
	struct phx_err err = {0};
	uint64_t id;
	PHX_AUTO_FREE char *most = letters(PHX_TEXT_MAX - 3);
	PHX_AUTO_FREE char *more = letters(PHX_TEXT_MAX - 2);
	phx_text_push(&ev.job_submit.argv, "c");
	phx_text_push(&ev.job_submit.argv, most);
	assert_int_equal(submit_ev(w, &ev, &id, &err), 0);
	assert_string_equal(phx_text_at(&job(w, id)->argv, 1), most);
	phx_text_push(&ev.job_submit.argv, "c");
	phx_text_push(&ev.job_submit.argv, more);
	assert_int_equal(submit_ev(w, &ev, &id, &err), -E2BIG);
	assert_string_equal(
		err.text,
		"the words, script and environment of a job can have at most 128 KiB in all");
	phx_text_push(&ev.job_submit.job_env, "A=");
	ev.job_submit.script = strdup(more);
	assert_int_equal(submit_ev(w, &ev, &id, &err), -E2BIG);
	assert_int_equal(w->s.jobs.n, 1);
}

static void scripts_and_environment(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit.script = strdup("#!/bin/sh\necho\n")};
	struct phx_err err = {0};
	uint64_t id;
	phx_text_push(&ev.job_submit.job_env, "_a1=b=c");
	assert_int_equal(submit_ev(w, &ev, &id, &err), 0);
	assert_string_equal(job(w, id)->script, "#!/bin/sh\necho\n");
	assert_string_equal(phx_text_at(&job(w, id)->env, 0), "_a1=b=c");
	ev.job_submit.script = strdup("echo\n");
	assert_int_equal(submit_ev(w, &ev, &id, &err), -EINVAL);
	assert_string_equal(err.text,
			    "script: the first line must name its interpreter (#!/bin/sh)");
	/* carried to each node like words */
	PHX_AUTO_FREE char *half = calloc(1, PHX_TEXT_MAX / 2 + 1);
	memset(half, 'x', PHX_TEXT_MAX / 2);
	memcpy(half, "A=", 2);
	phx_text_push(&ev.job_submit.job_env, half);
	phx_text_push(&ev.job_submit.job_env, half);
	assert_int_equal(submit_ev(w, &ev, &id, &err), -E2BIG);
	static const char *const bad[] = {"A", "=b", "1A=b", "A-B=c", ""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		phx_text_push(&ev.job_submit.job_env, bad[i]);
		assert_int_equal(submit_ev(w, &ev, &id, &err), -EINVAL);
		assert_non_null(strstr(err.text, "is not NAME=value"));
	}
	phx_text_push(&ev.job_submit.job_env, "PHX_JOB_RANK=7");
	assert_int_equal(submit_ev(w, &ev, &id, &err), -EINVAL);
	assert_non_null(strstr(err.text, "names that begin with PHX_"));
}

/* A job of a journal from before words could be long is read as it was. */
static void jobs_of_before_are_read(void **state)
{
	(void)state;
	static const char text[] = "{\"kind\":\"job_submit\",\"uid\":1000,\"gid\":1000,\"job_"
				   "nodes\":1,\"argv\":[{\"text\":\"a\"},{\"text\":\"b c\"}]}";
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_event ev;
	assert_int_equal(phx_json_parse(text, strlen(text), &j, NULL), 0);
	assert_int_equal(phx_json_to_record(&phx_event_record, j, &ev, NULL), 0);
	assert_int_equal(ev.job_submit.argv.n, 2);
	assert_string_equal(phx_text_at(&ev.job_submit.argv, 1), "b c");
	PHX_AUTO_FREE char *written = phx_json_record_text_sparse(&phx_event_record, &ev);
	PHX_AUTO_JSON json_t *again = json_loads(written, 0, NULL);
	assert_true(json_equal(j, again));
	phx_event_fini(&ev);
}

/* A run of before could be told to end for several reasons: the last one counts. */
static void ends_of_before_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int end;
		bool killed, for_good;
	} rows[] = {
		{"{\"id\":1}", PHX_JOB_END_NONE, false, false},
		{"{\"killing\":true}", PHX_JOB_END_KILLED, true, false},
		{"{\"killing\":true,\"overdue\":true}", PHX_JOB_END_OVERDUE, false, true},
		{"{\"killing\":true,\"cancel\":true}", PHX_JOB_END_CANCELLED, false, true},
		{"{\"cancel\":true,\"overdue\":true}", PHX_JOB_END_CANCELLED, false, true},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_job j;
		assert_int_equal(phx_json_text_to_record(&phx_job_record, rows[i].text, &j, NULL),
				 0);
		assert_int_equal(j.end, rows[i].end);
		assert_int_equal(phx_job_is_killed(&j), rows[i].killed);
		assert_int_equal(phx_job_ends_for_good(&j), rows[i].for_good);
		assert_int_equal(phx_job_is_told(&j), j.end != PHX_JOB_END_NONE);
	}
}

/* ---- why it waits ---- */

static const char *waits(const struct world *w, uint64_t id)
{
	static char text[200];
	struct phx_job_waits asked = {.s = &w->s};
	phx_job_waits_for(&asked, job(w, id), text, sizeof(text));
	return text;
}

static uint64_t submit(struct world *w, const char *re, uint32_t nodes)
{
	struct phx_event ev = {.job_submit.job_nodes = nodes};
	struct phx_err err = {0};
	uint64_t id;
	PHX_STR_SET(ev.re, re);
	if (submit_ev(w, &ev, &id, &err) < 0)
		fail_msg("%s", err.text);
	return id;
}

static int end_part(struct world *w, uint64_t id, const char *node, struct phx_event ev)
{
	ev.kind = PHX_EV_job_result;
	ev.job_result.job = id;
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static void refused_where_no_node_could(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit.must_fit = true};
	struct phx_err err = {0};
	uint64_t id;
	assert_int_equal(submit_ev(w, &ev, &id, &err), -EINVAL);
	assert_string_equal(err.text,
			    "no node outside of the REs runs jobs: submit it to an RE (--re)");
	world_serving(w, "n1", "compute", true);
	world_serving(w, "n2", "web", true);
	ev.job_submit.must_fit = true;
	ev.job_submit.job_nodes = 2;
	assert_int_equal(submit_ev(w, &ev, &id, &err), -EINVAL);
	assert_string_equal(err.text,
			    "the job wants 2 nodes, and 1 outside of the REs runs jobs: ask for "
			    "fewer, or submit it to an RE (--re)");
	ev.job_submit.must_fit = ev.job_submit.hold = true; /* somebody else decides about it */
	ev.job_submit.job_nodes = 2;
	assert_int_equal(submit_ev(w, &ev, &id, &err), 0);
	ev.job_submit.must_fit = true;
	assert_int_equal(submit_ev(w, &ev, &id, &err), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
}

static void outside_of_res_they_say_why(void **state)
{
	struct world *w = *state;
	uint64_t early = submit(w, "", 1);
	assert_string_equal(waits(w, early), "cannot run: no node outside of the REs runs jobs");
	world_serving(w, "n1", "compute", true);
	assert_int_equal(job(w, early)->state, PHX_JOB_RUNNING);
	assert_string_equal(waits(w, early), "");
	uint64_t wide = submit(w, "", 2);
	assert_string_equal(waits(w, wide),
			    "cannot run: it wants 2 nodes, and 1 outside of the REs runs jobs");
	world_serving(w, "n2", "compute", true);
	assert_string_equal(waits(w, wide), "waits for 2 nodes: of 2 outside of the REs 1 is idle");
	struct phx_event hold = {.kind = PHX_EV_job_hold, .job_order = {.job = wide, .hold = true}};
	assert_int_equal(world_apply(w, &hold, NULL), 0);
	assert_string_equal(waits(w, wide), "held back until it is let go");
}

/* A batch RE that runs, with as many nodes as its lower bound. */
static void queue_running(struct world *w, uint32_t lower)
{
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_event on = {.kind = PHX_EV_re_activate, .re_order.who = PHX_RE_WHO_SERVICE};
	char name[8];
	for (unsigned i = 1; i <= lower; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
	phx_agreement_init(&ev.ask.agreement);
	PHX_STR_SET(ev.ask.agreement.name, "queue");
	PHX_STR_SET(ev.ask.agreement.owner, "hpc");
	PHX_STR_SET(ev.ask.agreement.role, "compute");
	ev.ask.agreement.lower = ev.ask.agreement.upper = lower;
	ev.ask.agreement.scheduler = PHX_SCHEDULER_fcfs;
	if (world_apply(w, &ev, NULL) < 0)
		fail_msg("%s", w->err.text);
	PHX_STR_SET(on.re, "queue");
	assert_int_equal(world_apply(w, &on, NULL), 0);
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t i = 0; i < w->s.nodes.n; i++) {
			PHX_STR_SET(name, PHX_LIST_AT(&w->s.nodes, struct phx_node, i)->name);
			moved = world_step(w, name) || moved;
		}
	}
}

/* Who is no member of an RE is told that it is not there; a journal of before asked nobody. */
static void strangers_submit_to_no_re(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	uint64_t id;
	queue_running(w, 2);
	struct phx_re *re = phx_state_re(&w->s, "queue");
	PHX_STR_SET(re->agreement.users, "rob");
	PHX_STR_SET(re->agreement.groups, "staff");
	static const struct {
		const char *user, *group;
		bool asked;
		int result;
	} cases[] = {
		{"bob", "", true, -ENOENT},   {"bob", "users", true, -ENOENT},
		{"bob", "staff", true, 0},    {"rob", "", true, 0},
		{"hpc", "", true, 0},         {"bob", "", false, 0},
		{"", "staff", true, -ENOENT},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_event ev = {.job_submit.must_be_member = cases[i].asked};
		PHX_STR_SET(ev.re, "queue");
		PHX_STR_SET(ev.job_submit.user, cases[i].user);
		PHX_STR_SET(ev.job_submit.group, cases[i].group);
		int r = submit_ev(w, &ev, &id, &err);
		if (r != cases[i].result)
			fail_msg("case %zu: %d (%s)", i, r, err.text);
		if (r < 0)
			assert_string_equal(err.text, "there is no RE 'queue'");
	}
}

static void in_an_re_they_say_why(void **state)
{
	struct world *w = *state;
	queue_running(w, 3);
	uint64_t runs = submit(w, "queue", 1), wide = submit(w, "queue", 3),
		 small = submit(w, "queue", 1);
	assert_int_equal(job(w, runs)->state, PHX_JOB_RUNNING);
	assert_string_equal(waits(w, wide), "waits for 3 nodes: of the 3 of RE queue 2 are idle");
	char text[80];
	snprintf(text, sizeof(text), "job %llu is before it", (unsigned long long)wide);
	assert_string_equal(waits(w, small), text);
	struct phx_event ev = {.kind = PHX_EV_quarantine, .text = "broken", .order.force = true};
	PHX_STR_SET(ev.node, "n3");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(waits(w, wide), "waits for 3 nodes: RE queue has 2, and can have 3");
}

/* ---- how it ended ---- */

static void a_time_limit_is_no_failure(void **state)
{
	struct world *w = *state;
	static const struct {
		struct phx_event result;
		bool ticked; /* the head saw it first */
		int state;
		const char *why;
	} cases[] = {
		{{.job_result = {.result = 143, .ended_by = PHX_ENDED_LIMIT}, .text = "x"},
		 false,
		 PHX_JOB_TIMEOUT,
		 "it ran for the 60 s that it may"},
		{{.job_result = {.result = 143, .ended_by = PHX_ENDED_TOLD}},
		 true,
		 PHX_JOB_TIMEOUT,
		 "it ran for the 60 s that it may"},
		{{.job_result = {.result = 0, .ended_by = PHX_ENDED_TOLD}},
		 true,
		 PHX_JOB_TIMEOUT,
		 "it ran for the 60 s that it may"},
		/* an agent of before says nothing of what ended it */
		{{.job_result.result = 143},
		 true,
		 PHX_JOB_TIMEOUT,
		 "it ran for the 60 s that it may"},
		{{.job_result.result = 143}, false, PHX_JOB_FAILED, ""},
		/* it was done when it was told */
		{{.job_result = {.result = 0, .ended_by = PHX_ENDED_ITSELF}},
		 true,
		 PHX_JOB_DONE,
		 ""},
		{{.job_result.result = 126, .text = "stage-in nosuch: there is no such file"},
		 false,
		 PHX_JOB_FAILED,
		 "n1: stage-in nosuch: there is no such file"},
	};
	world_serving(w, "n1", "compute", true);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_event ev = {.job_submit.estimate_ms = 60000},
				 tick = {.kind = PHX_EV_tick};
		uint64_t id;
		assert_int_equal(submit_ev(w, &ev, &id, &w->err), 0);
		w->now += 60000;
		if (cases[i].ticked)
			assert_int_equal(world_apply(w, &tick, NULL), 0);
		assert_int_equal(end_part(w, id, "n1", cases[i].result), 0);
		assert_int_equal(job(w, id)->state, cases[i].state);
		assert_string_equal(job(w, id)->why ? job(w, id)->why : "", cases[i].why);
	}
}

static void the_first_bad_news_is_the_reason(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_serving(w, "n2", "compute", true);
	uint64_t id = submit(w, "", 2);
	assert_int_equal(end_part(w, id, "n2",
				  (struct phx_event){.job_result.result = 126,
						     .text = "stage-in a: refused"}),
			 0);
	assert_int_equal(end_part(w, id, "n1",
				  (struct phx_event){.job_result.result = 143, .text = "stopped"}),
			 0);
	assert_string_equal(job(w, id)->why, "n2: stage-in a: refused");
	uint64_t lost = submit(w, "", 1);
	struct phx_event anew = {.kind = PHX_EV_hello,
				 .hello = {.env = PHX_ENV_OS, .echoes = true}};
	PHX_STR_SET(anew.node, "n1");
	PHX_STR_SET(anew.hello.boot_id, "another");
	assert_int_equal(world_apply(w, &anew, NULL), 0);
	assert_int_equal(job(w, lost)->state, PHX_JOB_FAILED);
	assert_string_equal(job(w, lost)->why, "n1 was lost while it ran");
}

/* ---- arrays ---- */

static uint64_t submit_array(struct world *w, const char *re, uint32_t from, uint32_t to,
			     uint32_t step, uint32_t at_once)
{
	struct phx_event ev = {.job_submit = {.array_from = from,
					      .array_to = to,
					      .array_step = step,
					      .array_at_once = at_once,
					      .script = strdup("#!/bin/sh\n")}};
	struct phx_err err = {0};
	uint64_t id;
	PHX_STR_SET(ev.re, re);
	if (submit_ev(w, &ev, &id, &err) < 0)
		fail_msg("%s", err.text);
	return id;
}

static uint32_t count(const struct world *w, int state)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_job, j, &w->s.jobs)
		n += j->state == state;
	return n;
}

static void an_array_is_a_row_of_jobs(void **state)
{
	struct world *w = *state;
	queue_running(w, 2);
	uint64_t id = submit_array(w, "queue", 10, 19, 3, 0);
	assert_int_equal(w->s.last_job_id, id + 3);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(job(w, id + i)->array, id);
		assert_int_equal(job(w, id + i)->array_index, 10 + 3 * i);
		assert_int_equal(job(w, id + i)->argv.n, i ? 0 : 1);
	}
	assert_int_equal(count(w, PHX_JOB_RUNNING), 2);
	/* what its nodes are told has the words that the first one has */
	const char *node = PHX_LIST_AT(&job(w, id + 1)->parts, struct phx_job_part, 0)->node;
	struct phx_list orders = {0};
	world_orders(w, node, &orders);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_int_equal(o->id, id + 1);
	assert_int_equal(o->job.array_index, 13);
	assert_string_equal(phx_text_at(&o->job.argv, 0), "true");
	assert_string_equal(o->job.script, "#!/bin/sh\n");
	for (uint32_t i = 0; i < orders.n; i++)
		phx_record_fini(&phx_order_record, PHX_LIST_AT(&orders, struct phx_order, i));
	phx_list_fini(&orders);
}

/* What a job takes along and brings back lies in its RE's data directory, and nowhere else. */
static void files_lie_in_the_data_directory(void **state)
{
	static const char *const bad[] = {"/etc/shadow", "../other/data", "a/../../b", ""};
	struct world *w = *state;
	queue_running(w, 1);
	for (size_t i = 0; i < 2 * PHX_ARRAY_SIZE(bad); i++) {
		struct phx_event ev = {.kind = PHX_EV_job_submit,
				       .re = "queue",
				       .job_submit = {.job_nodes = 1, .uid = 1000, .gid = 1000}};
		struct phx_word *path = phx_list_push(
			i % 2 ? &ev.job_submit.stage_out : &ev.job_submit.stage_in, sizeof(*path));
		PHX_STR_SET(path->text, bad[i / 2]);
		phx_text_push(&ev.job_submit.argv, "true");
		assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
		assert_ptr_equal(strstr(w->err.text, i % 2 ? "stage_out" : "stage_in"),
				 w->err.text);
		phx_event_fini(&ev);
	}
	assert_int_equal(w->s.jobs.n, 0);
}

/* All of an array, or nothing: of one that its RE can never run no member stays. */
static void a_refused_array_leaves_nothing(void **state)
{
	struct world *w = *state;
	queue_running(w, 1);
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .re = "queue",
			       .job_submit = {.job_nodes = 2,
					      .uid = 1000,
					      .gid = 1000,
					      .array_from = 1,
					      .array_to = 9,
					      .array_step = 1}};
	phx_text_push(&ev.job_submit.argv, "true");
	assert_int_equal(world_apply(w, &ev, NULL), -E2BIG);
	assert_int_equal(w->s.jobs.n, 0);
	assert_int_equal(w->s.last_job_id, 0);
	phx_event_fini(&ev);
}

static void end_running(struct world *w, int64_t result)
{
	for (uint32_t i = 0; i < w->s.jobs.n; i++) {
		const struct phx_job *j = PHX_LIST_AT(&w->s.jobs, struct phx_job, i);
		if (j->state != PHX_JOB_RUNNING)
			continue;
		assert_int_equal(end_part(w, j->id,
					  PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node,
					  (struct phx_event){.job_result.result = result}),
				 0);
		return;
	}
	fail_msg("none runs");
}

static void so_many_at_a_time(void **state)
{
	struct world *w = *state;
	queue_running(w, 3);
	uint64_t id = submit_array(w, "queue", 0, 5, 1, 2);
	for (uint32_t ended = 0; ended < 4; ended++) {
		assert_int_equal(count(w, PHX_JOB_RUNNING), 2);
		assert_int_equal(job(w, id)->array_open, 6 - ended);
		if (ended < 3)
			assert_string_equal(
				waits(w, id + 5),
				"as many members of its array run as may run at a time");
		end_running(w, ended == 1);
	}
	assert_int_equal(count(w, PHX_JOB_RUNNING), 2);
	end_running(w, 0);
	assert_int_equal(count(w, PHX_JOB_RUNNING), 1);
	end_running(w, 0);
	assert_int_equal(count(w, PHX_JOB_DONE), 5);
	assert_int_equal(count(w, PHX_JOB_FAILED), 1);
	assert_int_equal(job(w, id)->array_open, 0);
}

/* One that is cancelled makes room only if it had any; outside of REs too, and one that is held
 * takes its turn. */
static void members_are_held_and_cancelled(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_serving(w, "n2", "compute", true);
	uint64_t id = submit_array(w, "", 1, 6, 1, 1);
	struct phx_event hold = {.kind = PHX_EV_job_hold,
				 .job_order = {.job = id + 1, .hold = true}};
	struct phx_event cancel = {.kind = PHX_EV_job_cancel, .job_order.job = id + 2};
	assert_int_equal(world_apply(w, &hold, NULL), 0);
	assert_int_equal(world_apply(w, &cancel, NULL), 0);
	assert_int_equal(count(w, PHX_JOB_RUNNING), 1);
	end_running(w, 0);
	assert_int_equal(count(w, PHX_JOB_RUNNING), 0);
	assert_string_equal(waits(w, id + 1), "held back until it is let go");
	hold.job_order.hold = false;
	assert_int_equal(world_apply(w, &hold, NULL), 0);
	assert_int_equal(job(w, id + 1)->state, PHX_JOB_RUNNING);
	end_running(w, 0);
	assert_int_equal(job(w, id + 3)->state, PHX_JOB_RUNNING);
	/* the rest in one go: nothing is let go on the way */
	cancel.job_order.job = id;
	cancel.job_order.job_last = id + 5;
	assert_int_equal(world_apply(w, &cancel, NULL), 0);
	assert_int_equal(count(w, PHX_JOB_RUNNING), 1);
	assert_int_equal(job(w, id + 3)->end, PHX_JOB_END_CANCELLED);
	assert_int_equal(count(w, PHX_JOB_QUEUED), 0);
	end_running(w, 143);
	assert_int_equal(count(w, PHX_JOB_CANCELLED), 4);
	assert_int_equal(job(w, id)->array_open, 0);
}

/* What its user holds back does not run because another member has ended. */
static void members_are_held_in_an_re(void **state)
{
	struct world *w = *state;
	queue_running(w, 2);
	uint64_t id = submit_array(w, "queue", 1, 3, 1, 1);
	struct phx_event hold = {.kind = PHX_EV_job_hold,
				 .job_order = {.job = id + 1, .hold = true}};
	assert_int_equal(world_apply(w, &hold, NULL), 0);
	end_running(w, 0);
	assert_int_equal(count(w, PHX_JOB_RUNNING), 0);
	assert_int_equal(job(w, id + 1)->state, PHX_JOB_QUEUED);
	hold.job_order.hold = false;
	assert_int_equal(world_apply(w, &hold, NULL), 0);
	assert_int_equal(job(w, id + 1)->state, PHX_JOB_RUNNING);
}

/* Indices as people write them: lists, in any order, each once. */
static void indices_are_rows(void **state)
{
	static const struct {
		const char *text, *rows;
		uint32_t at_once;
	} good[] = {
		{"7", "7-7:1", 0},
		{"1-5", "1-5:1", 0},
		{"1,5,9", "1-9:4", 0},
		{"9,5,1,5", "1-9:4", 0},
		{"1-10:2", "1-9:2", 0},
		{"1-10:2%3", "1-9:2", 3},
		{"1-3,10,20-40:10%2", "1-3:1 10-40:10", 2},
		{"0,1000000000", "0-1000000000:1000000000", 0},
		{"5-5:9", "5-5:1", 0},
		{"1-10000", "1-10000:1", 0},
		{"2-6:2,3-5:2", "2-6:1", 0},
	};
	static const char *const bad[] = {"",           "%3",      "1,",      ",1",    "1,,2",
					  "5-1",        "1-5%",    "1-5%0",   "1-5:0", "5:2",
					  "a-b",        "1-5:x",   "-1-5",    "1-2-3", "1 ,2",
					  "1000000001", "1-5%2%3", "1-5:2:2", "1:2-5"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		uint32_t at_once = 77;
		assert_int_equal(phx_array_parse(good[i].text, &rows, &at_once, NULL), 0);
		PHX_LIST_EACH(struct phx_index_row, row, &rows)
			phx_buf_addf(&b, "%s%u-%u:%u", b.n ? " " : "", row->from, row->to,
				     row->step);
		assert_string_equal(b.data, good[i].rows);
		assert_int_equal(at_once, good[i].at_once);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
		struct phx_err err = {0};
		uint32_t at_once;
		assert_int_equal(phx_array_parse(bad[i], &rows, &at_once, &err), -EINVAL);
		assert_non_null(strstr(err.text, "array: "));
	}
	PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
	uint32_t at_once;
	assert_int_equal(phx_array_parse("1-10000,0", &rows, &at_once, NULL), -E2BIG);
}

static void an_array_of_a_list(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {0}, wrong = {0};
	struct phx_err err = {0};
	uint64_t id, other;
	static const uint32_t indices[] = {1, 2, 3, 10, 40};
	queue_running(w, 2);
	PHX_STR_SET(ev.re, "queue");
	assert_int_equal(phx_array_parse("40,1-3,10%1", &ev.job_submit.array_rows,
					 &ev.job_submit.array_at_once, NULL),
			 0);
	assert_int_equal(phx_array_size(&ev.job_submit), 5);
	assert_int_equal(submit_ev(w, &ev, &id, &err), 0);
	assert_int_equal(w->s.last_job_id, id + 4);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(job(w, id + i)->array_index, indices[i]);
		assert_int_equal(job(w, id + i)->throttled, i > 0);
		assert_int_equal(job(w, id + i)->array_n, i ? 0 : 5);
	}
	/* what no text says */
	for (int i = 0; i < 2; i++)
		*(struct phx_index_row *)phx_list_push(&wrong.job_submit.array_rows,
						       sizeof(struct phx_index_row)) =
			(struct phx_index_row){5, 9, 4};
	assert_int_equal(submit_ev(w, &wrong, &other, &err), -EINVAL);
	assert_non_null(strstr(err.text, "behind the one before"));
}

/* Ten thousand members: one event, and their words once; the first one stays for as long as another
 * has not ended. */
static void ten_thousand_members(void **state)
{
	struct world *w = *state;
	struct phx_event more = {.job_submit = {.array_from = 1, .array_to = 2, .array_step = 1}},
			 none = {.job_submit = {.array_from = 2, .array_to = 1, .array_step = 1}};
	struct phx_err err = {0};
	uint64_t other, id;
	queue_running(w, 2);
	id = submit_array(w, "queue", 1, 9999, 1, 0);
	assert_int_equal(submit_ev(w, &more, &other, &err), -EAGAIN);
	assert_int_equal(submit_ev(w, &none, &other, &err), -EINVAL);
	assert_int_equal(w->s.jobs.n, 9999);
	for (uint32_t i = 0; i < 3000; i++) {
		const struct phx_job *j = job(w, id + i);
		struct phx_event ev = {.kind = PHX_EV_job_result, .job_result.job = j->id};
		struct phx_outcome out = {0};
		PHX_STR_SET(ev.node, PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node);
		ev.now_ms = w->now;
		assert_int_equal(phx_core_apply(&w->s, &ev, &out, &err), 0);
		phx_outcome_fini(&out);
	}
	submit(w, "queue", 1); /* the old ones are forgotten then */
	assert_int_equal(w->s.jobs.n, 7001);
	assert_string_equal(job(w, id)->script, "#!/bin/sh\n");
	assert_null(phx_state_job(&w->s, id + 1));
	assert_ptr_equal(phx_job_words(&w->s, job(w, id + 5000)), job(w, id));
}

/* Row: from; column: to, in the order of enum phx_job_state. */
static void all_pairs_of_states(void **state)
{
	static const char *const may[] = {
		/*                  q r d f c t */
		/* queued */ ". x x x x .",  /* running */ "x . x x x x",
		/* done */ ". . . . . .",
		/* failed */ ". . . . . .",  /* cancelled */ ". . . . . .",
		/* timeout */ ". . . . . .",
	};
	(void)state;
	assert_int_equal(PHX_ARRAY_SIZE(may), phx_job_state_names.n_names);
	for (int from = 0; from < phx_job_state_names.n_names; from++)
		for (int to = 0; to < phx_job_state_names.n_names; to++)
			if (phx_job_state_may((enum phx_job_state)from, (enum phx_job_state)to) !=
			    (may[from][to * 2] == 'x'))
				fail_msg("%s -> %s", phx_job_state_names.names[from],
					 phx_job_state_names.names[to]);
}

/* The event ends with it, whatever the caller does then. */
static void what_cannot_be_ends_the_event(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	struct phx_apply a = {.s = &w->s, .out = &out, .err = &err};
	struct phx_job j = {.id = 7, .state = PHX_JOB_DONE};
	phx_job_become(&a, &j, PHX_JOB_RUNNING);
	assert_int_equal(j.state, PHX_JOB_DONE);
	assert_int_equal(out.error, -EPROTO);
	assert_string_equal(err.text, "job 7 cannot become running: it is done");
	/* the state lacks something anyway */
	assert_int_equal(phx_stick(&a, -ENOMEM), -ENOMEM);
	phx_job_become(&a, &j, PHX_JOB_RUNNING);
	assert_int_equal(out.error, -ENOMEM);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(words_of_any_length),
		TEST(what_cannot_be_ends_the_event),
		TEST(scripts_and_environment),
		TEST(jobs_of_before_are_read),
		TEST(ends_of_before_are_read),
		TEST(refused_where_no_node_could),
		TEST(strangers_submit_to_no_re),
		TEST(outside_of_res_they_say_why),
		TEST(in_an_re_they_say_why),
		TEST(a_time_limit_is_no_failure),
		TEST(the_first_bad_news_is_the_reason),
		TEST(indices_are_rows),
		TEST(an_array_of_a_list),
		TEST(an_array_is_a_row_of_jobs),
		TEST(files_lie_in_the_data_directory),
		TEST(a_refused_array_leaves_nothing),
		TEST(so_many_at_a_time),
		TEST(members_are_held_and_cancelled),
		TEST(members_are_held_in_an_re),
		TEST(ten_thousand_members),
		TEST(all_pairs_of_states),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
