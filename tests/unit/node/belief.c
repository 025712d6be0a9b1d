/* What somebody's word is worth: an erase is believed only of the disk that was meant, and a
 * machine that was switched off and on runs nothing any more, whatever the books said. */
#include "unit/core/world.h"

/* ---- an erase ---- */

static struct phx_event erased(struct world *w, const char *node)
{
	const struct phx_node *n = world_node(w, node);
	const struct phx_step *step = phx_node_step(n);
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.step_id = step->id,
					  .epoch = n->plan.epoch,
					  .nonce = step->nonce,
					  .erased_bytes = 4ULL << 30,
					  .verified_bytes = 1ULL << 30,
					  .used = step->method,
					  .read_sha256 = "sum",
					  .setup = {.method = step->method}}};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.answer.erased_disk, step->disk);
	world_sealed(&ev.answer);
	return ev;
}

static void to_the_wipe(struct world *w)
{
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
}

static uint32_t records(const struct phx_outcome *out)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		n += act->kind == PHX_ACT_ERASED;
	return n;
}

static void another_disk_is_no_erase(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	to_the_wipe(w);
	struct phx_node *n = world_node(w, "n1");
	struct phx_event ev = erased(w, "n1");
	PHX_STR_SET(ev.answer.erased_disk, "serial-disk2");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(records(&out), 0);
	phx_outcome_fini(&out);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_wipe);
	assert_string_equal(phx_node_step(n)->error,
			    "the agent erased another disk than the one ordered");
	assert_true(n->dirty);
	/* nor is an erase that names none */
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev.answer.erased_disk[0] = '\0';
	ev.answer.nonce = phx_node_step(n)->nonce;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_true(n->dirty);
}

/* An answer that was written before the attempt cannot know its number. */
static void an_answer_to_another_attempt_is_no_erase(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	to_the_wipe(w);
	struct phx_node *n = world_node(w, "n1");
	struct phx_event ev = erased(w, "n1");
	uint64_t first = phx_node_step(n)->nonce;
	assert_int_not_equal(first, 0);
	ev.answer.nonce = first ^ 2;
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
	assert_non_null(strstr(w->err.text, "another attempt"));
	assert_int_equal(phx_node_step(n)->status, PHX_STEP_ISSUED);
	/* nor does it end the attempt that it failed */
	ev.answer.result = -EIO;
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
	assert_int_equal(phx_node_step(n)->status, PHX_STEP_ISSUED);
	ev.answer.result = 0;
	ev.answer.nonce = 0; /* as an older agent answers, or who reads its journal */
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(records(&out), 0);
	phx_outcome_fini(&out);
	assert_non_null(strstr(phx_node_step(n)->error, "does not carry the number"));
	assert_true(n->dirty);
	/* the success of the first attempt, late: the second is another one */
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_not_equal(phx_node_step(n)->nonce, first);
	ev.answer.nonce = first;
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
	ev.answer.nonce = phx_node_step(n)->nonce;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(records(&out), 1);
	phx_outcome_fini(&out);
}

static void told(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* A network that is away does not void hours of erasing; a machine that starts anew does. */
static void a_silence_keeps_the_number_of_the_attempt(void **state)
{
	struct world *w = *state;
	to_the_wipe(w);
	struct phx_node *n = world_node(w, "n1");
	uint64_t first = phx_node_step(n)->nonce;
	told(w, PHX_EV_missing, "n1");
	told(w, PHX_EV_back, "n1");
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(phx_node_step(n)->attempt, 2);
	assert_int_equal(phx_node_step(n)->nonce, first);
	told(w, PHX_EV_missing, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_not_equal(phx_node_step(n)->nonce, first);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
}

/* An agent of before has no words for the number: told at once, not after the deadline. */
static void an_older_agent_erases_nothing(void **state)
{
	struct world *w = *state;
	struct phx_list orders = {0};
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	world_run_to(w, "n1", PHX_STEP_kexec);
	struct phx_node *n = world_node(w, "n1");
	n->echoes = false;
	world_orders(w, "n1", &orders);
	assert_int_equal(PHX_LIST_AT(&orders, struct phx_order, 0)->step.nonce, 0);
	phx_record_fini(&phx_order_record, PHX_LIST_AT(&orders, struct phx_order, 0));
	phx_list_fini(&orders);
	world_new_key(w, "n1");
	struct phx_event ev = {.kind = PHX_EV_hello, .hello.env = PHX_ENV_DEPLOY};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.hello.boot_id, "boot-of-old-image");
	world_facts(&ev.hello.facts, 1);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "older than phxd"));
	assert_true(n->dirty);
}

static void the_record_says_what_was_told(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	to_the_wipe(w);
	struct phx_event ev = erased(w, "n1");
	PHX_STR_SET(ev.text, "zeros over every byte, reads zero");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(records(&out), 1);
	PHX_LIST_EACH(struct phx_action, act, &out.actions) {
		if (act->kind != PHX_ACT_ERASED)
			continue;
		assert_string_equal(act->node, "n1");
		assert_string_equal(act->disk, "serial-disk1");
		assert_int_equal(act->step_id, ev.answer.step_id);
		assert_int_equal(act->method, PHX_WIPE_OVERWRITE);
		assert_int_equal(act->size_bytes, 4ULL << 30);
		assert_int_equal(act->verified_bytes, 1ULL << 30);
		assert_int_equal(act->nonce, ev.answer.nonce);
		assert_string_equal(act->text, "zeros over every byte, reads zero");
	}
	phx_outcome_fini(&out);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_image);
}

/* ---- a start ---- */

static uint64_t running_job(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 1, .uid = 1000, .gid = 1000}};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.job_submit.user, "u");
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "sleep"), 0);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(world_node(w, node)->jobs_running, 1);
	return id;
}

/* Switched off and on by us: its jobs are gone at that moment, not when it is heard again. */
static void a_start_by_us_ends_its_jobs(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t job = running_job(w, "n1");
	told(w, PHX_EV_missing, "n1");
	assert_int_equal(phx_state_job(&w->s, job)->state, PHX_JOB_RUNNING);
	struct phx_event ev = {.kind = PHX_EV_rebuild};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	assert_int_equal(world_node(w, "n1")->jobs_running, 1);
	world_started(w, "n1");
	assert_int_equal(world_node(w, "n1")->jobs_running, 0);
	assert_int_not_equal(phx_state_job(&w->s, job)->state, PHX_JOB_RUNNING);
}

/* And by itself: it registers with another boot id. */
static void a_start_by_itself_ends_its_jobs(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t job = running_job(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, false), 0);
	assert_int_equal(world_node(w, "n1")->jobs_running, 1);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, true), 0);
	const struct phx_job *j = phx_state_job(&w->s, job);
	assert_true(j->state != PHX_JOB_RUNNING || j->kills > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(another_disk_is_no_erase),
		WORLD_TEST(an_answer_to_another_attempt_is_no_erase),
		WORLD_TEST(a_silence_keeps_the_number_of_the_attempt),
		WORLD_TEST(an_older_agent_erases_nothing),
		WORLD_TEST(the_record_says_what_was_told),
		WORLD_TEST(a_start_by_us_ends_its_jobs),
		WORLD_TEST(a_start_by_itself_ends_its_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
