/* phx job submit --cores: what is sent, and what is refused before phxd is asked. The daemon is a
 * fake; phx is the real program. */
#include "base/file.h"
#include "fake/phxd.h"

static void one_job_is_a_workflow_of_one_task(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "PUT /v1/workflows", "{'id':7,'n_tasks':1}");
	PHX_SAID s = phx(f,
			 "job submit --re flows --cores 2 --memory 1G -t 90s --env A=b "
			 "--stage-in in/a,in/b --stage-out out --user bin -- solve -x y");
	assert_string_equal(s.errout, "");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out, "workflow 7\n");
	assert_has(f->log, "\"program\":\"solve\"");
	assert_has(f->log, "\"arguments\":[\"-x\",\"y\"]");
	assert_has(f->log, "\"in/a\"");
	assert_has(f->log, "\"in/b\"");
	assert_has(f->log, "\"out\"");
	assert_has(f->log, "\"coreCount\":2");
	assert_has(f->log, "\"memoryInBytes\":1073741824");
	assert_has(f->log, "\"environment\":[\"A=b\"]");
}

static void an_array_is_a_task_for_each_index(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "PUT /v1/workflows", "{'id':8,'n_tasks':3}");
	PHX_SAID s = phx(f, "job submit --re flows --cores 1 --array 4-8:2 -- solve");
	assert_string_equal(s.errout, "");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"id\":\"job.4\"");
	assert_has(f->log, "\"id\":\"job.6\"");
	assert_has(f->log, "\"id\":\"job.8\"");
	assert_has(f->log, "PHX_ARRAY_INDEX=8");
	assert_null(strstr(f->log, "job.5"));
}

/* The text of a script is a word of the task; its own options count. */
static void a_script_goes_with_its_task(void **state)
{
	struct fake_phxd *f = *state;
	static const char text[] = "#!/bin/sh\n#PHX --re flows --cores 3\necho hi\n";
	char path[100], line[200];
	snprintf(path, sizeof(path), "%s/solve.sh", f->dir);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
	fake_answer(f, "PUT /v1/workflows", "{'id':9,'n_tasks':1}");
	snprintf(line, sizeof(line), "job submit %s more", path);
	PHX_SAID s = phx(f, line);
	assert_string_equal(s.errout, "");
	assert_has(f->log, "\"program\":\"/bin/sh\"");
	assert_has(f->log, "\"#!/bin/sh\\n#PHX --re flows --cores 3\\necho hi\\n\",\"more\"]");
	assert_has(f->log, "\"coreCount\":3");
}

static void the_end_is_waited_for(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "PUT /v1/workflows", "{'id':7,'n_tasks':1}");
	fake_answer(f, "GET /v1/workflows/7", "{'id':7,'status':'done','n_runs':1}");
	fake_answer(f, "GET /v1/workflows/7/output",
		    "{'attempt':1,'size_bytes':3,'from':0,'hex':'68690a'}");
	PHX_SAID s = phx(f, "job submit --re flows --cores 1 --wait -- solve");
	assert_string_equal(s.out, "hi\n");
	assert_int_equal(s.status, 0);
	fake_answer(f, "GET /v1/workflows/7",
		    "{'id':7,'status':'failed','n_runs':0,'why':'task 1: no node'}");
	PHX_SAID bad = phx(f, "job submit --re flows --cores 1 --wait -- solve");
	assert_int_equal(bad.status, 1);
	assert_has(bad.errout, "workflow 7: failed: task 1: no node");
	fake_answer(f, "GET /v1/workflows/7", "{'id':7,'status':'active'}");
	PHX_SAID late = phx(f, "job submit --re flows --cores 1 --wait --timeout 1s -- solve");
	assert_int_equal(late.status, 124);
	assert_has(late.errout, "workflow 7 is not over in time; it goes on");
}

static void what_does_not_go_together_is_refused(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *line, *why;
	} cases[] = {
		{"job submit --cores 2 -- true",
		 "with --cores, --re names an RE of type many_tasks"},
		{"job submit --memory 1G -- true", "--memory goes with --cores"},
		{"job submit --re f --cores 2 -n 2 -- true", "--nodes is for jobs that have whole"},
		{"job submit --re f --cores 2 --grace 5s -- true", "--grace is for jobs"},
		{"job submit --re f --cores 2 --array 1-9%3 -- true", "leave %3 out"},
		{"job submit --re f --cores 2 --array 9-1 -- true", "array: must be indices"},
		{"job submit --re f --cores none -- true", "--cores"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		PHX_SAID s = phx(f, cases[i].line);
		assert_int_equal(s.status, 64);
		assert_has(s.errout, cases[i].why);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, fake_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_job_is_a_workflow_of_one_task),    TEST(an_array_is_a_task_for_each_index),
		TEST(a_script_goes_with_its_task),          TEST(the_end_is_waited_for),
		TEST(what_does_not_go_together_is_refused),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
