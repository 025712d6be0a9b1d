/* What Slurm 22.05 printed, recorded, into jobs and nodes; what it must not
 * print; what differs between two reports. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "slurm/slurm.h"

/* recorded: an array, one that cannot be requeued, one held, one requeued that waits, two that run,
 * one that ends */
static const char jobs_text[] =
	"3_1|65534|1|PENDING|Resources|1795297034|N/A|UNLIMITED|0|1|1|nobody||1795297034|\n"
	"3_2|65534|1|PENDING|Priority|1795297034|N/A|UNLIMITED|0|1|1|nobody||1795297034|\n"
	"5|65534|1|PENDING|Priority|1795297034|N/A|UNLIMITED|0|0|1|nobody||1795297034|\n"
	"4|65534|2-4|PENDING|JobHeldUser|1795297034|N/A|1-02:04:00|0|1|1|nobody||N/A|\n"
	"1|65534|1|PENDING|BeginTime|1795297036|1795297157|UNLIMITED|1|1|1|nobody||1795297157|\n"
	"2|65534|3|RUNNING|None|1795297034|1795297035|10:00|0|1|1|nobody|n[1-2,5]|1795297034|\n"
	"9|0|1|RUNNING|None|1795297034|1795297036|30:00|0|1|0|root|n7|1795297034|\n"
	"6|65534|2|COMPLETING|None|1795297034|1795297034|UNLIMITED|0|1|1|nobody|n3|1795297034|\n"
	"7|65534|2|COMPLETED|None|1795297034|1795297034|UNLIMITED|0|1|1|nobody||1795297034|\n";

static const char nodes_text[] = "n1|idle+drain|queue|up|phoenix: \n"
				 "n2|allocated|queue|up|none     \n"
				 "n2|allocated|Night_2|drain|none     \n"
				 "n3|down+drain+not_responding|queue|up|broken fa\n"
				 "n4|unknown+not_responding|old|down|none     \n"
				 "n5|mixed+draining|older|inactive|a|b      \n";

static void fini_jobs(struct phx_list *l)
{
	PHX_LIST_EACH(struct phx_engine_job, j, l)
		phx_record_fini(&phx_engine_job_record, j);
	phx_list_fini(l);
}

static const struct phx_engine_job *job(const struct phx_list *l, const char *id)
{
	PHX_LIST_EACH(struct phx_engine_job, j, l)
		if (!strcmp(j->id, id))
			return j;
	return NULL;
}

static void test_jobs(void **state)
{
	struct phx_list l = {0};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_slurm_parse_jobs(jobs_text, &l, &err), 0);
	assert_int_equal(l.n, 8);
	assert_null(job(&l, "7")); /* over */
	assert_int_equal(job(&l, "3_2")->state, PHX_ENGINE_JOB_WAITING);
	assert_int_equal(job(&l, "4")->state, PHX_ENGINE_JOB_HELD);
	assert_int_equal(job(&l, "4")->nodes, 4);
	assert_int_equal(job(&l, "4")->limit_ms, ((26 * 60 + 4) * 60) * 1000LL);
	assert_int_equal(job(&l, "1")->state, PHX_ENGINE_JOB_HELD);
	assert_int_equal(job(&l, "1")->started_ms, 0);
	assert_int_equal(job(&l, "1")->restarts, 1);
	assert_int_equal(job(&l, "1")->begin_ms, 1795297157000);
	/* since when it may run: no time that it waits for */
	assert_int_equal(job(&l, "3_1")->begin_ms, 0);
	assert_true(job(&l, "5")->no_requeue);
	assert_true(job(&l, "9")->no_requeue); /* no batch script */
	assert_int_equal(job(&l, "9")->limit_ms, 30 * 60 * 1000);
	const struct phx_engine_job *j = job(&l, "2");
	assert_int_equal(j->state, PHX_ENGINE_JOB_RUNNING);
	assert_int_equal(j->hosts.n, 3);
	assert_string_equal(PHX_LIST_AT(&j->hosts, struct phx_engine_host, 2)->node, "n5");
	assert_int_equal(j->started_ms, 1795297035000);
	assert_int_equal(j->limit_ms, 600000);
	assert_string_equal(j->user, "nobody");
	assert_int_equal(job(&l, "6")->state, PHX_ENGINE_JOB_ENDING);
	assert_int_equal(job(&l, "6")->hosts.n, 1);
	fini_jobs(&l);
	assert_int_equal(phx_slurm_parse_jobs("", &l, &err), 0);
	assert_int_equal(l.n, 0);
}

static void test_bad_jobs(void **state)
{
	static const struct {
		const char *line, *words;
	} bad[] = {
		{"99|1|x\n", "not as it was asked"}, /* what a newline in a name would make */
		{"slurm_load_jobs error: Unable to contact\n", "not as it was asked"},
		{"1|0|1|RUNNING|None|1|1|10:00|0|1|1|root|n1|1|", "cut off"},
		{"x|0|1|RUNNING|None|1|1|10:00|0|1|1|root|n1|1|\n", "not understood"},
		{"1|0|0|RUNNING|None|1|1|10:00|0|1|1|root|n1|1|\n", "not understood"},
		{"1|0|1|DANCING|None|1|1|10:00|0|1|1|root|n1|1|\n", "state that is not known"},
		{"1|0|1|RUNNING|None|1|1|soon|0|1|1|root|n1|1|\n", "not understood"},
		{"1|0|1|RUNNING|None|1|1|10:00|0|yes|1|root|n1|1|\n", "not understood"},
		{"1|0|1|RUNNING|None|1|1|10:00|0|1|1|root|n[1-|1|\n", "nodes that are not"},
		{"1|0|1|RUNNING|None|1|1|10:00|0|1|1|root|n1|1|n2\n", "not understood"},
		{"1|0|1|PENDING|BeginTime|1|1|10:00|0|1|1|root||soon|\n", "not understood"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_list l = {0};
		struct phx_err err = {0};
		assert_int_equal(phx_slurm_parse_jobs(bad[i].line, &l, &err), -EPROTO);
		if (!strstr(err.text, bad[i].words) || !strstr(err.text, "squeue: line '"))
			fail_msg("%s: %s", bad[i].line, err.text);
		fini_jobs(&l);
	}
}

static void test_limits(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {{"UNLIMITED", 0},
		    {"Partition_Limit", 0},
		    {"10:00", 600000},
		    {"1:00:01", 3601000},
		    {"2-00:00:00", 172800000},
		    {"5", -1},
		    {"", -1},
		    {"1:2:3:4", -1},
		    {"-1", -1},
		    {"1-", -1},
		    {"10:", -1},
		    {"9999999999999:00", -1}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		int64_t ms = -1;
		int r = phx_slurm_parse_limit(rows[i].text, &ms);
		if ((r == 0) != (rows[i].ms >= 0) || ms != rows[i].ms)
			fail_msg("%s: %d, %lld", rows[i].text, r, (long long)ms);
	}
}

static const struct phx_engine_node *named(const struct phx_list *l, const char *name)
{
	PHX_LIST_EACH(struct phx_engine_node, n, l)
		if (!strcmp(n->name, name))
			return n;
	fail_msg("there is no %s", name);
	return NULL;
}

static void test_nodes(void **state)
{
	struct phx_slurm_report r = {0};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_slurm_parse_nodes(nodes_text, &r, &err), 0);
	assert_int_equal(r.nodes.n, 5);
	const struct phx_engine_node *n = r.nodes.items;
	assert_int_equal(n[0].state, PHX_ENGINE_NODE_CLOSED);
	assert_true(n[0].ours);
	assert_int_equal(n[1].state, PHX_ENGINE_NODE_OPEN);
	assert_int_equal(n[2].state, PHX_ENGINE_NODE_CLOSED);
	assert_false(n[2].ours); /* somebody else's */
	assert_int_equal(n[3].state, PHX_ENGINE_NODE_OPEN);
	assert_int_equal(n[4].state, PHX_ENGINE_NODE_CLOSED);
	assert_int_equal(named(&r.partitions, "queue")->state, PHX_ENGINE_NODE_OPEN);
	assert_int_equal(named(&r.partitions, "Night_2")->state, PHX_ENGINE_NODE_CLOSED);
	assert_true(named(&r.partitions, "Night_2")->ours); /* maybe */
	assert_int_equal(named(&r.partitions, "old")->state, PHX_ENGINE_NODE_CLOSED);
	assert_false(named(&r.partitions, "old")->ours);
	assert_false(named(&r.partitions, "older")->ours);
	phx_slurm_report_fini(&r);
}

static void test_bad_nodes(void **state)
{
	static const char *const bad[] = {"n1|idle\n",
					  "n1|idle|none\n",
					  "../n1|idle|queue|up|none\n",
					  "n1|IDLE|queue|up|none\n",
					  "n1|idle|queue|high|none\n",
					  "n1|idle||up|none\n",
					  "n1|idle|a b|up|none\n",
					  "n1|idle|a=b|up|none\n"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_slurm_report r = {0};
		struct phx_err err = {0};
		assert_int_equal(phx_slurm_parse_nodes(bad[i], &r, &err), -EPROTO);
		assert_non_null(strstr(err.text, "sinfo: line '"));
		phx_slurm_report_fini(&r);
	}
}

static void test_ends(void **state)
{
	struct phx_list l = {0};
	struct phx_err err = {0};
	static const char *const ids[] = {"10", "7", "8", "9"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ids); i++) {
		struct phx_engine_job *j = phx_list_push(&l, sizeof(*j));
		PHX_STR_SET(j->id, ids[i]);
		j->state = PHX_ENGINE_JOB_DONE;
	}
	assert_int_equal(
		phx_slurm_parse_ends(
			"7|FAILED|768|\n8|FAILED|9|\n9|CANCELLED|0|\n77|COMPLETED|0|\n", &l, &err),
		0);
	assert_int_equal(job(&l, "7")->state, PHX_ENGINE_JOB_FAILED);
	assert_int_equal(job(&l, "7")->status, 3);
	assert_int_equal(job(&l, "8")->status, 137);
	assert_int_equal(job(&l, "9")->state, PHX_ENGINE_JOB_CANCELLED);
	assert_int_equal(job(&l, "10")->state, PHX_ENGINE_JOB_DONE);
	assert_int_equal(phx_slurm_parse_ends("7|FAILED|x|\n", &l, &err), -EPROTO);
	phx_list_fini(&l);
}

static struct phx_slurm_report report(const char *jobs, const char *nodes)
{
	struct phx_slurm_report r = {0};
	struct phx_err err = {0};
	assert_int_equal(phx_slurm_parse_jobs(jobs, &r.jobs, &err), 0);
	assert_int_equal(phx_slurm_parse_nodes(nodes, &r, &err), 0);
	return r;
}

static void test_changes(void **state)
{
	static const char gone[] = "1|0|1|RUNNING|None|1|1|10:00|0|1|1|root|n1|1|\n";
	static const char same[] = "2|0|1|RUNNING|None|1|1|10:00|0|1|1|root|n2|1|\n";
	static const char waits[] = "3|0|1|PENDING|Priority|1|N/A|10:00|0|1|1|root||1|\n";
	static const char runs[] = "3|0|1|RUNNING|None|1|5|10:00|0|1|1|root|n1|1|\n";
	char before[400], after[400];
	struct phx_event ev;
	(void)state;
	snprintf(before, sizeof(before), "%s%s%s", gone, same, waits);
	snprintf(after, sizeof(after), "%s%s", same, runs);
	struct phx_slurm_report a =
		report(before, "n1|idle|queue|up|none\nn2|idle|queue|up|none\n");
	struct phx_slurm_report b =
		report(after, "n2|idle+drain|queue|drain|phoenix: \nn3|idle|queue|drain|none\n");
	assert_int_equal(phx_slurm_changes(NULL, &a, &ev), 0);
	assert_true(ev.re_queue.whole);
	assert_int_equal(ev.re_queue.engine_jobs.n, 3);
	phx_event_fini(&ev);
	assert_int_equal(phx_slurm_changes(&a, &a, &ev), 0);
	assert_int_equal(ev.re_queue.engine_jobs.n + ev.re_queue.engine_nodes.n +
				 ev.re_queue.engine_partitions.n,
			 0);
	assert_int_equal(phx_slurm_changes(&a, &b, &ev), 0);
	assert_false(ev.re_queue.whole);
	assert_int_equal(ev.re_queue.engine_jobs.n, 2);
	assert_int_equal(job(&ev.re_queue.engine_jobs, "1")->state, PHX_ENGINE_JOB_DONE);
	assert_int_equal(job(&ev.re_queue.engine_jobs, "1")->hosts.n, 0);
	assert_int_equal(job(&ev.re_queue.engine_jobs, "3")->state, PHX_ENGINE_JOB_RUNNING);
	assert_int_equal(ev.re_queue.engine_nodes.n, 3);
	const struct phx_engine_node *n = ev.re_queue.engine_nodes.items;
	assert_int_equal(n[0].state, PHX_ENGINE_NODE_ABSENT);
	assert_int_equal(n[1].state, PHX_ENGINE_NODE_CLOSED);
	assert_int_equal(n[2].state, PHX_ENGINE_NODE_OPEN);
	assert_int_equal(ev.re_queue.engine_partitions.n, 1);
	assert_int_equal(named(&ev.re_queue.engine_partitions, "queue")->state,
			 PHX_ENGINE_NODE_CLOSED);
	phx_event_fini(&ev);
	phx_slurm_report_fini(&a);
	phx_slurm_report_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs),      cmocka_unit_test(test_bad_jobs),
		cmocka_unit_test(test_limits),    cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_bad_nodes), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_changes),
	};
	return cmocka_run_group_tests_name("slurm", tests, NULL, NULL);
}
