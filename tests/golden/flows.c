/* Events of workflows against a list of outcomes that people have read: each line of flows.txt is a
 * workflow, what happens to it, and what must have come of it: its state, that of each task with
 * its attempt, and what the node is told. PHX_GOLDEN_WRITE=1 prints the list as it would be now. */
#include "unit/core/pair.h"

#include "base/file.h"
#include "golden/table.h"

static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char letters[] = "wrRdfs"; /* by enum phx_flow_task_state */

static void re_runs(struct world *w)
{
	struct phx_agreement a = mtc_agreement("hpc", 1);
	a.upper = 1;
	world_ready(w, "n1", true);
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
}

/* "=1,0,0,0,0;_1" for the lines "=1,0,0,0,0" and " 1". */
static void submit_shape(struct world *w, char *shape)
{
	struct phx_event ev = {.kind = PHX_EV_workflow_submit,
			       .workflow_submit = {.uid = 1000, .gid = 1000}};
	for (char *p = shape; *p; p++) {
		*p = (char)(*p == ';' ? '\n' : *p == '_' ? ' ' : *p);
		ev.workflow_submit.n_tasks += *p == '\n';
	}
	PHX_STR_SET(ev.workflow_submit.digest, digest);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(phx_text_push(&ev.workflow_submit.shape, shape), 0);
	if (world_apply(w, &ev, NULL) < 0)
		fail_msg("%s: %s", shape, w->err.text);
	phx_event_fini(&ev);
	tick(w, 1000);
}

/* A row about task `n`, counted from 1, of its attempt or of the one before. */
static int say(struct world *w, uint32_t n, int outcome, uint32_t status, uint32_t former)
{
	struct phx_event ev = {.kind = PHX_EV_task_results};
	const struct phx_flowrun *run = phx_state_flowrun(&w->s, 1);
	struct phx_task_result *row = phx_list_push(&ev.task_results.rows, sizeof(*row));
	row->run = 1;
	row->submitted_ms = run->submitted_ms;
	row->task = n - 1;
	row->attempt = (run->live ? run->live->at[n - 1].n_runs : 1) - former;
	row->outcome = outcome;
	row->status = status;
	PHX_STR_SET(ev.node, "n1");
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

/* The node is silent for longer than its lease, and comes back. */
static int lose_node(struct world *w)
{
	struct phx_event gone = {.kind = PHX_EV_missing}, back = {.kind = PHX_EV_back};
	PHX_STR_SET(gone.node, "n1");
	PHX_STR_SET(back.node, "n1");
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	tick(w, 2 * PHX_JOB_HEARTBEAT_TIMEOUT_MS);
	int r = world_apply(w, &back, NULL);
	tick(w, 1000);
	return r;
}

static int happens(struct world *w, const char *word)
{
	static const struct {
		const char *word;
		int outcome;
		uint32_t status, former;
	} rows[] = {{"done:", PHX_TASK_EXITED, 0, 0},       {"fail:", PHX_TASK_EXITED, 1, 0},
		    {"lost:", PHX_TASK_LOST, 0, 0},         {"ended:", PHX_TASK_CANCELLED, 0, 0},
		    {"missing:", PHX_TASK_MISSING, 0, 0},   {"overdue:", PHX_TASK_OVERDUE, 0, 0},
		    {"former-done:", PHX_TASK_EXITED, 0, 1}};
	static const struct {
		const char *word;
		int kind;
	} orders[] = {{"hold", PHX_EV_workflow_hold},
		      {"release", PHX_EV_workflow_release},
		      {"cancel", PHX_EV_workflow_cancel},
		      {"resume", PHX_EV_workflow_resume}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (phx_str_starts(word, rows[i].word))
			return say(w, (uint32_t)strtoul(strchr(word, ':') + 1, NULL, 10),
				   rows[i].outcome, rows[i].status, rows[i].former);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++)
		if (!strcmp(word, orders[i].word))
			return world_apply(w,
					   &(struct phx_event){.kind = orders[i].kind,
							       .workflow_order.workflow = 1},
					   NULL);
	if (!strcmp(word, "silent"))
		return lose_node(w);
	fail_msg("'%s' is none of the words", word);
	return 0;
}

static void put_outcome(struct world *w, int r, struct phx_buf *b)
{
	const struct phx_flowrun *run = phx_state_flowrun(&w->s, 1);
	PHX_AUTO(phx_list_fini) struct phx_list given = {0};
	const struct phx_job *worker;
	if (r < 0)
		phx_buf_addf(b, "(refused) ");
	phx_buf_addf(b, "%s%s:", phx_enum_name(&phx_flow_status_names, run->status),
		     run->ended_ms ? ", over" : "");
	for (uint32_t i = 0; run->live && i < run->n_tasks; i++)
		phx_buf_addf(b, " %c%u", letters[run->live->run.tasks[i].state],
			     run->live->at[i].n_runs);
	assert_int_equal(phx_tasks_on(&w->s, world_node(w, "n1"), &given, &worker), 0);
	phx_buf_addf(b, " | told");
	PHX_LIST_EACH(struct phx_task_given, g, &given)
		phx_buf_addf(b, " %u.%u%s", g->task + 1, g->attempt, g->ends ? " end" : "");
	phx_buf_add(b, "", 1);
}

/* One line: false when another outcome is wanted. */
static bool line_holds(void **state, const char *in, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf got = {0};
	PHX_AUTO_FREE char *words = strdup(in);
	int r = 0;
	world_setup(state);
	struct world *w = *state;
	re_runs(w);
	char *rest = words;
	submit_shape(w, strsep(&rest, " "));
	for (char *word; (word = strsep(&rest, " "));)
		r = happens(w, word);
	put_outcome(w, r, &got);
	world_teardown(state);
	return golden_line(in, want, got.data);
}

static void outcomes_are_as_read(void **state)
{
	golden_lines(TEST_DIR "/golden/flows.txt", state, line_holds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(outcomes_are_as_read)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
