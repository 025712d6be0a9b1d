/* phx role, job, events, status, config, reload: what is printed and asked.
 * The daemon is a fake; phx is the real program. */
#include "fake/phxd.h"

/* ---- roles ---- */

static const char roles[] = "{'roles':[{'name':'web-server','summary':'Serves "
			    "pages','pool':'web','boot':'disk','image':'debian-12',"
			    "'image_version':'1','packages':[{'name':'web-nginx','version':'2'}],'"
			    "health':{'kind':'http',"
			    "'target':'http://127.0.0.1/','interval_s':2,'failures':3}}]}";

static void role_list_and_show(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/roles", roles);
	fake_answer(f, "GET /v1/roles/web-server",
		    "{'name':'web-server','summary':'Serves "
		    "pages','image':'debian-12','image_version':'1',"
		    "'drain_grace_s':90,'ports':[{'text':'80'}],'health':{'kind':'tcp','target':'"
		    "127.0.0.1:80'},'services':[{'name':'nginx',"
		    "'package':'web-nginx','settle_s':5,'argv':[{'text':'bin/"
		    "run'},{'text':'-x'}],'after':[{'text':'net'}]}]}");
	PHX_SAID list = phx(f, "role list");
	assert_has(list.out, "web-server  web   disk  debian-12 1  web-nginx-2  Serves pages");
	PHX_SAID names = phx(f, "role list -o name");
	assert_string_equal(names.out, "web-server\n");
	PHX_SAID show = phx(f, "role show web-server");
	assert_has(show.out, "  Image        debian-12 1\n");
	assert_has(show.out, "  Drain grace  1 min 30 s\n");
	assert_has(show.out, "SETTLE");
	assert_has(show.out, "5.0 s");
	assert_has(show.out, "bin/run -x");
	PHX_SAID unknown = phx(f, "role show web-serve");
	assert_int_equal(unknown.status, 64);
	assert_has(unknown.errout, "did you mean 'web-server'?");
}

static void role_match_gives_the_reason(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1'},{'name':'n2'}]}");
	fake_answer(f, "GET /v1/rules/match",
		    "{'matches':[{'node':'n1','role':'web-server','reason':'rules.conf:7: name ~ "
		    "web*'},"
		    "{'node':'n2','role':'','reason':'no rule holds'}]}");
	PHX_SAID s = phx(f, "role match n1");
	assert_has(s.out, "n1    web-server  rules.conf:7: name ~ web*");
	assert_lacks(s.out, "n2");
}

static char *write_file(struct fake_phxd *f, const char *name, const char *text)
{
	char *path = phx_path("%s/%s", f->dir, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
	return path;
}

/* What phxd has; debian-12 brings the kernel that runs, foreign another. */
static void answer_catalogue(struct fake_phxd *f)
{
	fake_answer(f, "GET /v1/config", "{'config':[{'key':'role_dir','value':'/nonexistent'}]}");
	fake_answer(f, "GET /v1/images",
		    "{'images':[{'name':'debian-12','version':'1','runs_kernel':'6.1'},{'name':'"
		    "foreign','version':'1',"
		    "'runs_kernel':'6.1','kernel_warning':'image foreign 1 brings kernel 6.12, but "
		    "nodes run 6.1'}],"
		    "'bad':[{'path':'/x/images/debian-12/2','reason':'vmlinuz: cut short'}]}");
	fake_answer(f, "GET /v1/packages",
		    "{'packages':[{'name':'hello','version':'1.0'},{'name':'hello','version':'2.0'}"
		    "],'bad':[]}");
	fake_answer(f, "GET /v1/status", "{'pools':[{'name':'free'},{'name':'web'}]}");
}

static struct phx_said check_role(struct fake_phxd *f, const char *option, const char *fmt, ...)
{
	char text[1024], line[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	PHX_AUTO_FREE char *path = write_file(f, "one.conf", text);
	snprintf(line, sizeof(line), "role check %s %s", option, path);
	return phx(f, line);
}

/* The same that a reload takes and refuses. */
static void role_check_knows_what_phxd_has(void **state)
{
	struct fake_phxd *f = *state;
	answer_catalogue(f);
#define GOOD "pool = \"web\";\nimage = \"foreign\";\nimage_version = \"1\";\n"
	PHX_SAID named = check_role(
		f, "",
		GOOD "packages = [ \"hello-1.0\" ];\nservices = ( { name = \"hello\"; package = "
		     "\"hello\"; exec = [ \"bin/hello\" ]; } );\n");
	assert_string_equal(strstr(named.errout, "phx: one") ? named.errout : "", "");
	assert_int_equal(named.status, 0);
	PHX_SAID package = check_role(f, "", GOOD "packages = [ \"hello-3.0\" ];\n");
	assert_int_equal(package.status, 78);
	assert_has(package.errout, "one.conf:4: package 'hello-3.0' does not exist");
	PHX_SAID image = check_role(f, "", "pool = \"web\";\nimage = \"nosuch\";\n");
	assert_int_equal(image.status, 78);
	assert_has(image.errout, "one.conf:2: image 'nosuch' does not exist");
	PHX_SAID bad = check_role(f, "", "pool = \"web\";\nimage = \"debian-12\";\n");
	assert_int_equal(bad.status, 78);
	assert_has(bad.errout, "vmlinuz: cut short");
	PHX_SAID pool = check_role(f, "", "pool = \"nowhere\";\nimage = \"foreign\";\n");
	assert_int_equal(pool.status, 78);
	assert_has(pool.errout, "one.conf:1: pool 'nowhere' does not exist");
	PHX_SAID port = check_role(
		f, "", GOOD "health = { kind = \"tcp\"; target = \"127.0.0.1:99999\"; };\n");
	assert_int_equal(port.status, 78);
	assert_has(port.errout, "one.conf:4: ");
	assert_has(port.errout, "port '99999' must be a number from 1 to 65535");
}

static void role_check_warns_of_another_kernel(void **state)
{
	struct fake_phxd *f = *state;
	answer_catalogue(f);
	PHX_SAID warned = check_role(f, "", GOOD);
	assert_int_equal(warned.status, 0);
	assert_has(warned.errout,
		   "phx: warning: image foreign 1 brings kernel 6.12, but nodes run 6.1\n");
	PHX_SAID strict = check_role(f, "--strict", GOOD);
	assert_int_equal(strict.status, 78);
	PHX_SAID own = check_role(
		f, "--strict", "pool = \"web\";\nimage = \"debian-12\";\nimage_version = \"1\";\n");
	assert_int_equal(own.status, 0);
	assert_string_equal(own.errout, "");
}

static void plan_and_status_name_the_kernel_that_runs(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status",
		    "{'nodes':1,'up':1,'deploy':{'image':'deploy','version':'3','kernel':'6.1','"
		    "error':''}}");
	PHX_SAID status = phx(f, "status");
	assert_has(status.out, "nodes run kernel 6.1, that of deploy image deploy 3\n");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1'}]}");
	fake_answer(f, "GET /v1/roles", "{'roles':[{'name':'web'}]}");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0,'plan':{'to_role':'web','runs_kernel':'6.1',"
		    "'kernel_warning':'it "
		    "brings 6.12','steps':[{'kind':'image'}]}}]}");
	PHX_SAID plan = phx(f, "node plan n1 web");
	assert_has(plan.out, "  kernel: 6.1\n  warning: it brings 6.12\n");
}

static void role_check_names_file_and_line(void **state)
{
	struct fake_phxd *f = *state;
	answer_catalogue(f);
	PHX_AUTO_FREE char *good =
		write_file(f, "good.conf", "pool = \"web\";\nimage = \"foreign\";\n");
	PHX_AUTO_FREE char *bad =
		write_file(f, "bad.conf", "pool = \"web\";\nimage = \"foreign\";\ncolour = 1;\n");
	char line[512];
	snprintf(line, sizeof(line), "role check %s", good);
	PHX_SAID ok = phx(f, line);
	assert_int_equal(ok.status, 0);
	assert_has(ok.out, "role good is right");
	snprintf(line, sizeof(line), "role check %s %s", bad, good);
	PHX_SAID no = phx(f, line);
	assert_int_equal(no.status, 78);
	assert_has(no.errout, "bad.conf:3: ");
	assert_has(no.out, "role good");
}

/* ---- jobs ---- */

static void job_submit_sends_the_command_as_it_is(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':12}");
	PHX_SAID s = phx(f, "job submit -n 2 -- echo -n --wait *");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out, "12\n");
	assert_has(f->log, "{\"nodes\":2,\"argv\":[\"echo\",\"-n\",\"--wait\",\"*\"]}");
	PHX_SAID none = phx(f, "job submit -n 2");
	assert_int_equal(none.status, 64);
	PHX_SAID zero = phx(f, "job submit -n x -- true");
	assert_int_equal(zero.status, 64);
}

static void write_script(const char *path, const char *text)
{
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
}

/* The text goes with the job, its options are those of the command line unless that says
 * otherwise. */
static void job_submit_sends_a_script(void **state)
{
	struct fake_phxd *f = *state;
	char path[100], line[300];
	snprintf(path, sizeof(path), "%s/solve.sh", f->dir);
	write_script(path,
		     "#!/bin/sh\n#PHX -n 4 --re queue # as always\n\n#PHX --env 'A=b c' --env B=1 "
		     "-t 1h\necho hi\n#PHX --no-such\n");
	fake_answer(f, "POST /v1/jobs", "{'id':12}");
	snprintf(line, sizeof(line), "job submit -t 30m %s x --wait", path);
	PHX_SAID s = phx(f, line);
	assert_string_equal(s.errout, "");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"argv\":[\"solve.sh\",\"x\",\"--wait\"]");
	assert_has(f->log, "\"nodes\":4,");
	assert_has(f->log, "\"re\":\"queue\",\"time_s\":1800");
	assert_has(f->log, "\"env\":[\"A=b c\",\"B=1\"]");
	assert_has(f->log, "\"script\":\"#!/bin/sh\\n#PHX -n 4");
	snprintf(line, sizeof(line), "job submit --env C=3 %s", path);
	PHX_SAID both = phx(f, line);
	assert_int_equal(both.status, 0);
	assert_has(f->log, "\"env\":[\"A=b c\",\"B=1\",\"C=3\"]");
	snprintf(line, sizeof(line), "job submit --env NO_SUCH_VARIABLE %s", path);
	PHX_SAID env = phx(f, line);
	assert_int_equal(env.status, 64);
	assert_has(env.errout, "--env: NO_SUCH_VARIABLE is not set here");
}

static void job_submit_says_what_is_wrong_with_a_script(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"echo hi\n", "is no script: its first line must name its interpreter"},
		{"#!/bin/sh\n#PHX --no-such\n", "#PHX: there is no option --no-such"},
		{"#!/bin/sh\n#PHX -n 4 more\n", "#PHX: 'more' is no option"},
		{"#!/bin/sh\n#PHX --server https://elsewhere\n",
		 "#PHX: --server stands on the command line only"},
		{"#!/bin/sh\n#\n#PHX --env \"A=b\n", ":3: a quote is not closed"},
	};
	char path[100], line[300];
	snprintf(path, sizeof(path), "%s/bad.sh", f->dir);
	snprintf(line, sizeof(line), "job submit %s", path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_script(path, cases[i].text);
		PHX_SAID s = phx(f, line);
		assert_int_equal(s.status, 64);
		assert_has(s.errout, cases[i].why);
	}
	PHX_SAID none = phx(f, "job submit hostname");
	assert_int_equal(none.status, 64);
	assert_has(
		none.errout,
		"hostname: there is no such script here; a command for the nodes stands behind --");
	assert_string_equal(f->log, "");
}

/* A state that says what ended it, and a reason that stands for statuses. */
static void job_wait_says_why_it_ended(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':3}");
	fake_answer(f, "GET /v1/jobs/3",
		    "{'id':3,'state':'timeout','reason':'it ran for the 1 s that it "
		    "may','parts':[{'node':'n1','ended':true,'status':143}]}");
	fake_answer(f, "GET /v1/jobs/3/output", "half\n");
	PHX_SAID s = phx(f, "job submit --wait -- sh");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "half\n");
	assert_string_equal(s.errout,
			    "phx: job 3\nphx: job 3: timeout: it ran for the 1 s that it may\n");
}

static void job_list_says_why_it_waits(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':3,'state':'queued','user':'u','nodes':2,'reason':'waits for 2 "
		    "nodes'}]}");
	PHX_SAID s = phx(f, "job list");
	assert_has(s.out, "REASON");
	assert_has(s.out, "waits for 2 nodes");
}

static const char three_jobs[] = "{'jobs':[{'id':3,'state':'done','user':'a','re':'q'},{'id':4,'"
				 "state':'queued','user':'a','re':'q'},"
				 "{'id':5,'state':'running','user':'a','re':'q'},{'id':7,'state':'"
				 "queued','user':'b','re':'q'},"
				 "{'id':8,'state':'queued','user':'a','re':'r'}]}";

/* Rows of numbers that are there, a user's, an RE's: looked up, asked about, and cancelled by
 * rows. */
static void job_cancel_by_rows_user_and_re(void **state)
{
	static const struct {
		const char *line, *asked, *never;
	} cases[] = {
		{"job cancel 1-6 --yes", "POST /v1/jobs/4/cancel {\"last\":5}\n", "/v1/jobs/7"},
		{"job cancel 3-4,7-8 --yes", "POST /v1/jobs/7/cancel {\"last\":8}\n",
		 "/v1/jobs/3/"},
		{"job cancel --user a --yes", "POST /v1/jobs/8/cancel {}\n", "/v1/jobs/7"},
		{"job cancel --user a --re q --yes", "POST /v1/jobs/4/cancel {\"last\":5}\n",
		 "/v1/jobs/8"},
		{"job cancel --all --yes", "POST /v1/jobs/7/cancel {\"last\":8}\n", "/v1/jobs/3/"},
		{"job cancel 3", "POST /v1/jobs/3/cancel {}\n", "GET /v1/jobs"},
		{"job hold 4-5", "POST /v1/jobs/5/hold {}\n", "cancel"},
	};
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/jobs", three_jobs);
	for (int id = 3; id <= 8; id++) {
		static char requests[12][40];
		snprintf(requests[id], sizeof(requests[id]), "POST /v1/jobs/%d/cancel", id);
		fake_answer(f, requests[id], "{'changed':true}");
	}
	fake_answer(f, "POST /v1/jobs/4/hold", "{'changed':true}");
	fake_answer(f, "POST /v1/jobs/5/hold", "{'changed':true}");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->log[0] = '\0';
		PHX_SAID s = phx(f, cases[i].line);
		assert_string_equal(s.errout, "");
		assert_int_equal(s.status, 0);
		assert_has(f->log, cases[i].asked);
		assert_null(strstr(f->log, cases[i].never));
	}
	f->log[0] = '\0';
	PHX_SAID unasked = phx(f, "job cancel --all");
	assert_int_equal(unasked.status, 64);
	assert_has(unasked.errout, "cancel 4 jobs: this cannot be undone and needs --yes");
	assert_null(strstr(f->log, "cancel"));
	PHX_SAID none = phx(f, "job cancel --user nobody-here --yes");
	assert_int_equal(none.status, 0);
	assert_has(none.errout, "none of these jobs is queued or running");
}

static void job_list_folds_arrays(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':3,'state':'done','array':3,'array_index':10},{'id':4,'state':'"
		    "running','array':3,'array_index':12},"
		    "{'id':5,'state':'running','array':3,'array_index':14},{'id':6,'state':'queued'"
		    ",'array':3,'array_index':16},"
		    "{'id':7,'state':'queued','array':3,'array_index':18},{'id':8,'state':'queued',"
		    "'array':8,'array_index':1}]}");
	PHX_SAID s = phx(f, "job list");
	assert_has(s.out, "3[10]");
	assert_has(s.out, "3[12]");
	assert_has(s.out, "3[14]");
	assert_has(s.out, "6-7  3[16-18:2]");
	assert_has(s.out, "8[1]");
	PHX_SAID names = phx(f, "job list -o name");
	assert_string_equal(names.out, "3\n4\n5\n6\n7\n8\n");
	fake_reset(f); /* a list of indices: rows that are equally far apart */
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':3,'state':'done','array':3,'array_index':1},{'id':4,'state':'"
		    "done','array':3,'array_index':2},"
		    "{'id':5,'state':'done','array':3,'array_index':3},{'id':6,'state':'done','"
		    "array':3,'array_index':9},"
		    "{'id':7,'state':'done','array':3,'array_index':20}]}");
	PHX_SAID list = phx(f, "job list");
	assert_has(list.out, "3-5  3[1-3]");
	assert_has(list.out, "6-7  3[9-20:11]");
}

/* What phxd has no words for, the exit status says; a row of several has the nodes of all, and no
 * time of one. */
static void job_list_says_how_it_ended(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':3,'state':'failed','status':126},{'id':4,'state':'failed','"
		    "status':137,'reason':''},"
		    "{'id':5,'state':'failed','status':3},{'id':6,'state':'failed','status':125,'"
		    "reason':'n1 was lost'},"
		    "{'id':7,'state':'cancelled','array':7,'array_index':1,'started_ms':1000,'"
		    "ended_ms':6000,'parts':[{'node':'n1'}]},"
		    "{'id':8,'state':'cancelled','array':7,'array_index':2,'started_ms':1000,'"
		    "ended_ms':9000,'parts':[{'node':'n2'}]}]}");
	PHX_SAID s = phx(f, "job list");
	assert_has(s.out, "exit status 126: it could not be started");
	assert_has(s.out, "exit status 137: ended by signal 9");
	assert_has(s.out, "exit status 3\n");
	assert_has(s.out, "n1 was lost");
	assert_null(strstr(s.out, "exit status 125"));
	assert_has(s.out, "n[1-2]");
	assert_null(strstr(s.out, "5.0 s"));
}

static void job_submit_of_an_array(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':12,'last':111}");
	PHX_SAID s = phx(f, "job submit --array 1-100%5 -- true");
	assert_string_equal(s.out, "12-111\n");
	assert_has(f->log, "\"array\":\"1-100%5\"");
}

static void job_wait_prints_output_and_names_failures(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':3}");
	fake_answer(f, "GET /v1/jobs/3", "{'id':3,'state':'queued'}");
	fake_answer(f, "GET /v1/jobs/3", "{'id':3,'state':'running'}");
	fake_answer(
		f, "GET /v1/jobs/3",
		"{'id':3,'state':'failed','parts':[{'node':'n1','ended':true,'status':0},"
		"{'node':'n2','ended':true,'status':3},{'node':'n3','ended':true,'status':3}]}");
	fake_answer(f, "GET /v1/jobs/3/output", "hello\n");
	PHX_SAID s = phx(f, "job submit -n 3 --wait -- sh");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "hello\n");
	assert_has(s.errout, "phx: n[2-3]: exit status 3\n");
}

/* All of them, page by page; what ended is not asked for again, and may be forgotten by then. */
static void an_array_is_waited_for(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':7,'last':10}");
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':7,'state':'done'},{'id':8,'state':'running'}],'last':8,'more':"
		    "true}");
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':9,'state':'failed','status':3},{'id':10,'state':'queued'},{'id'"
		    ":11,'state':'failed'}],"
		    "'last':11,'more':false}");
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':8,'state':'done'},{'id':10,'state':'failed','status':3}],'last'"
		    ":10,'more':false}");
	PHX_SAID s = phx(f, "job submit --array 1-4 --wait -- sh");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "");
	assert_string_equal(s.errout, "phx: jobs 7-10\nphx: job[9-10]: failed: exit status 3\n");
	const char *asked = strstr(f->log, "GET");
	assert_non_null(asked);
	assert_string_equal(asked,
			    "GET /v1/jobs?after=6 \nGET /v1/jobs?after=8 \nGET /v1/jobs/10 \n"
			    "GET /v1/jobs?after=7 \n");
}

static void an_array_that_ends_well_or_is_forgotten(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':7,'last':8}");
	fake_answer(
		f, "GET /v1/jobs",
		"{'jobs':[{'id':7,'state':'done'},{'id':8,'state':'done'}],'last':8,'more':false}");
	PHX_SAID s = phx(f, "job submit --array 1,5 --wait -o json -- sh");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "\"id\": 8");
	fake_reset(f);
	fake_answer(f, "POST /v1/jobs", "{'id':7,'last':8}");
	fake_answer(f, "GET /v1/jobs", "{'jobs':[{'id':8,'state':'done'}],'last':8,'more':false}");
	PHX_SAID gone = phx(f, "job submit --array 1,5 --wait -- sh");
	assert_int_equal(gone.status, 1);
	assert_has(gone.errout,
		   "phx: job7: unknown: phxd has forgotten how it ended: see phx events\n");
}

static void job_wait_times_out(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':3}");
	fake_answer(f, "GET /v1/jobs/3", "{'id':3,'state':'running'}");
	PHX_SAID s = phx(f, "job submit --wait --timeout 1 -- sleep");
	assert_int_equal(s.status, 124);
}

static void job_list_show_cancel_output(void **state)
{
	struct fake_phxd *f = *state;
	const char *job = "{'id':3,'state':'done','user':'ann','nodes':2,'argv':[{'text':'uname'},{"
			  "'text':'-n'}],"
			  "'started_ms':1000,'ended_ms':3500,'parts':[{'node':'n1','ended':true},{'"
			  "node':'n2'}]}";
	char list_body[512];
	snprintf(list_body, sizeof(list_body), "{'jobs':[%s]}", job);
	fake_answer(f, "GET /v1/jobs", list_body);
	fake_answer(f, "GET /v1/jobs/3", job);
	fake_answer(f, "POST /v1/jobs/3/cancel", "{'id':3,'changed':false}");
	fake_answer(f, "GET /v1/jobs/3/output", "out");
	PHX_SAID list = phx(f, "job list");
	assert_has(list.out, "n[1-2]  2.5 s");
	assert_has(list.out, "uname -n");
	PHX_SAID show = phx(f, "job show 3");
	assert_has(show.out, "  Command      uname -n\n");
	PHX_SAID cancel = phx(f, "job cancel 3");
	assert_int_equal(cancel.status, 0);
	assert_has(cancel.errout, "had already ended");
	PHX_SAID output = phx(f, "job output 3");
	assert_string_equal(output.out, "out");
	PHX_SAID none = phx(f, "job submit -n 0 -- true");
	assert_has(f->log, "\"nodes\":0"); /* what is no number of nodes is not one node */
	PHX_SAID vain = phx(f, "job submit --checkpoint-time 5s -- true");
	assert_int_equal(vain.status, 64);
	assert_has(vain.errout, "without --checkpoint-signal");
	PHX_SAID unknown = phx(f, "job show 4");
	assert_int_equal(unknown.status, 64);
}

/* ---- events ---- */

#define EVENTS \
	"{'events':[{'seq':41,'time_ms':3600500,'kind':'assign','node':'n1','by':'uid:0','event':" \
	"{'role':'web-server'" \
	",'pin':true" \
	"," \
	"'has_setup':true,'setup':{'mode':'wipe'}}}," \
	"{'seq':42,'time_ms':3601000,'kind':'step_result','text':'step " \
	"ended','node':'n1','by':'node:n1'," \
	"'event':{'step_id':9,'result':-5,'text':'disk is gone'}}," \
	"{'seq':43,'time_ms':3602000,'kind':'step_result','text':'n1 is quarantined: " \
	"wipe','node':'n1','event':{}}," \
	"{'seq':44,'time_ms':3602000,'kind':'tick','text':'deadline passed','event':{}}]," \
	"'last':44}"

static void events_are_sentences(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status", "{'seq':43}");
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','plan':{'steps':[{'id':9,'kind':'wipe'}]}}]}");
	fake_answer(f, "GET /v1/events", EVENTS);
	PHX_SAID s = phx(f, "events");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out,
			    "1970-01-01 01:00:00.500  n1: role assigned: role web-server, setup "
			    "wipe, pinned (by uid:0)\n"
			    "1970-01-01 01:00:01.000  n1: step ended: wipe, failed: disk is gone\n"
			    "1970-01-01 01:00:02.000  n1: is quarantined: wipe\n");
	PHX_SAID one = phx(f, "events -n 1");
	assert_lacks(one.out, "role assigned");
	PHX_SAID json = phx(f, "events -o json");
	assert_has(json.out, "{\"seq\":41,");
	assert_has(json.out, "}\n{\"seq\":42,");
	assert_has(json.out, "\"kind\":\"tick\""); /* which tells people nothing */
	PHX_SAID tsv = phx(f, "events -o tsv --no-header");
	assert_has(
		tsv.out,
		"42\t1970-01-01 01:00:01.000\tn1\tstep_result\tnode:n1\tstep ended: wipe, failed");
}

/* The role that an order gives is told whatever it came to, who ordered it once, and a power
 * operation by its name. */
static void events_tell_what_was_ordered(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status", "{'seq':3}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[]}");
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':1,'time_ms':1000,'kind':'assign','text':'n1 is installed "
		    "anew: assign ordered by uid:0','node':"
		    "'n1','by':'uid:0','notes':[{'node':'n1','text':'n1 is installed anew: assign "
		    "ordered by uid:0'}],"
		    "'event':{'role':'web'}},"
		    "{'seq':2,'time_ms':1000,'kind':'assign','text':'n1 waits for job "
		    "3','node':'n1','by':'uid:0','notes':"
		    "[{'node':'n1','text':'n1 waits for job 3'}],'event':{'role':'web'}},"
		    "{'seq':3,'time_ms':1000,'kind':'power_result','text':'power operation "
		    "ended','node':'n1','by':'phxd',"
		    "'event':{'power':'off','text':'off: done'}},"
		    "{'seq':4,'time_ms':1000,'kind':'power','text':'power operation ordered by "
		    "hand','node':'n1','by':'uid:0','event':{'op':'off'}},"
		    "{'seq':5,'time_ms':1000,'kind':'power','text':'power operation ordered by "
		    "hand','node':'n2','by':'uid:0','event':{'text':'off'}}],'last':5}");
	PHX_SAID s = phx(f, "events");
	assert_has(s.out, "n1: is installed anew: assign ordered by uid:0, role web\n");
	assert_has(s.out, "n1: waits for job 3, role web (by uid:0)\n");
	assert_has(s.out, "n1: power operation ended: off: done, observed off\n");
	assert_has(s.out, "n1: power operation ordered by hand: off (by uid:0)\n");
	/* an older journal */
	assert_has(s.out, "n2: power operation ordered by hand: off (by uid:0)\n");
}

/* What came of it for other nodes stands under their names, and under what caused it. */
static void an_event_tells_all_that_came_of_it(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status", "{'seq':43}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[]}");
	fake_answer(
		f, "GET /v1/events",
		"{'events':[{'seq':41,'time_ms':0,'kind':'step_result','node':'n4','text':'n4 is "
		"active','by':'node:n4','notes':["
		"{'node':'n4','text':'n4: step health done'},{'node':'n4','text':'n4 is active'},"
		"{'node':'n1','text':'n1 goes from free to pages: demand'}],'event':{}},"
		"{'seq':42,'time_ms':0,'kind':'missing','node':'n2','text':'node went "
		"silent','by':'phxd','notes':["
		"{'node':'n3','text':'n3 goes from free to pages: demand'}],'event':{}},"
		"{'seq':43,'time_ms':0,'kind':'job_submit','node':'','text':'job "
		"submitted','by':'uid:7','notes':[],"
		"'event':{'job':12,'job_nodes':2,'user':'ann'}}],'last':43}");
	PHX_SAID s = phx(f, "events");
	assert_string_equal(
		s.out,
		"1970-01-01 00:00:00.000  n4: step health done\n"
		"1970-01-01 00:00:00.000  n4: is active\n"
		"1970-01-01 00:00:00.000  n1: goes from free to pages: demand\n"
		"1970-01-01 00:00:00.000  n2: node went silent\n"
		"1970-01-01 00:00:00.000  n3: goes from free to pages: demand\n"
		"1970-01-01 00:00:00.000  job submitted: job 12, nodes 2, user ann (by uid:7)\n");
	/* who asks for one node is told what came to it */
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':41,'time_ms':0,'kind':'step_result','node':'n4','text':'n4 "
		    "is active','by':'node:n4','notes':["
		    "{'node':'n4','text':'n4 is active'},{'node':'n1','text':'n1 goes from free to "
		    "pages: demand'}],'event':{}}],'last':43}");
	PHX_SAID one = phx(f, "events --node n1");
	assert_string_equal(one.out,
			    "1970-01-01 00:00:00.000  n1: goes from free to pages: demand\n");
	PHX_SAID csv = phx(f, "events --node n1 -o csv --no-header");
	assert_string_equal(csv.out,
			    "41,1970-01-01 00:00:00.000,n1,step_result,node:n4,goes from free to "
			    "pages: demand\n");
	PHX_SAID own = phx(f, "events --node n4");
	assert_has(own.out, "n4: is active\n");
	assert_has(own.out, "n1: goes from free");
}

/* ---- status, config, reload ---- */

static void status_is_readable(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status",
		    "{'version':'0.1.0','uptime_s':7265,'seq':9,'readonly':'disk "
		    "full','nodes':3,'up':2,"
		    "'states':{'active':2,'new':1,'ready':0},'pools':[{'name':'web','owner':'w','"
		    "owner_name':'w','"
		    "setup':{'mode':'wipe',"
		    "'method':'auto','when':'release'},'nodes':2,'hosts':'n[1-2]'}],"
		    "'children':[{'name':'dnsmasq','pid':77,'running':true}]}");
	PHX_SAID s = phx(f, "status");
	assert_has(s.out, "phxd 0.1.0, up 2 h 1 min, event 9\n");
	assert_has(s.out, "READ-ONLY, nothing can be ordered: disk full\n");
	assert_has(s.out, "3 nodes, 2 up, 2 active, 1 new\n");
	assert_has(s.out, "wipe auto on release  2  n[1-2]");
	assert_has(s.out, "dnsmasq   77  yes");
}

static void config_show_with_and_without_origin(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/config",
		    "{'config':[{'key':'http_port','value':'8080','origin':'/etc/phoenix/"
		    "phoenix.conf:4'}]}");
	PHX_SAID plain = phx(f, "config show");
	assert_string_equal(plain.out, "KEY        VALUE\nhttp_port  8080\n");
	PHX_SAID origin = phx(f, "config show --origin");
	assert_has(origin.out, "http_port  8080   /etc/phoenix/phoenix.conf:4\n");
}

static void config_check_names_file_and_line(void **state)
{
	struct fake_phxd *f = *state;
	char line[512];
	PHX_AUTO_FREE char *good = write_file(f, "p.conf",
					      "address = \"10.0.0.1\";\nhttp_port = 81;\ndhcp_mode "
					      "= \"none\"; tftp = \"none\"; pxe_dir = \"/tmp\";\n");
	snprintf(line, sizeof(line), "config check %s -o tsv --origin", good);
	PHX_SAID ok = phx(f, line);
	assert_int_equal(ok.status, 0);
	assert_has(ok.out, "http_port\t81\t");
	assert_has(ok.out, "p.conf:2\n");
	PHX_AUTO_FREE char *bad =
		write_file(f, "q.conf",
			   "address = \"10.0.0.1\";\nhttp_port = 810000;\ndhcp_mode = \"none\";\n");
	snprintf(line, sizeof(line), "config check %s", bad);
	PHX_SAID no = phx(f, line);
	assert_int_equal(no.status, 78);
	assert_has(no.errout, "q.conf:2: ");
	/* every other command too says what is wrong with a configuration it needs */
	snprintf(line, sizeof(line), "image verify --config %s", bad);
	PHX_SAID other = phx(f, line);
	assert_int_equal(other.status, 78);
}

/* What is well written and not there is a mistake too: each is told, with its place. */
static void config_check_looks_at_the_machine(void **state)
{
	struct fake_phxd *f = *state;
	char line[512];
	PHX_AUTO_FREE char *bad =
		write_file(f, "s.conf",
			   "address = \"10.0.0.1\";\ninterface = \"phx-none0\";\n"
			   "socket_group = \"phx-nobody\";\nservice_group = \"root\";\ndnsmasq = "
			   "\"/nonexistent/dnsmasq\";\n"
			   "dnsmasq_user = \"phx-nouser\";\npxe_dir = \"/tmp\"; ipxe_dir = "
			   "\"/tmp\"; tftp_user = \"nobody\";\n"
			   "in_tftpd = \"/bin/sh\"; engine_user = \"phx-nouser\";\n");
	snprintf(line, sizeof(line), "config check %s", bad);
	PHX_SAID no = phx(f, line);
	assert_int_equal(no.status, 78);
	assert_string_equal(no.out, "");
	assert_has(no.errout,
		   "s.conf:2: interface = \"phx-none0\": this machine has no network interface of "
		   "that name");
	assert_has(no.errout, "s.conf:3: socket_group = \"phx-nobody\": there is no such group");
	assert_has(no.errout,
		   "s.conf:5: dnsmasq = \"/nonexistent/dnsmasq\": there is no such program");
	assert_has(no.errout, "s.conf:6: dnsmasq_user = \"phx-nouser\": there is no such user");
	assert_has(no.errout, "s.conf:8: engine_user");
	assert_null(strstr(no.errout, "service_group"));
	assert_null(strstr(no.errout, "tftp"));
	/* what is not used need not be there */
	PHX_AUTO_FREE char *unused =
		write_file(f, "t.conf",
			   "address = \"10.0.0.1\";\ndhcp_mode = \"none\"; tftp = \"none\";\n"
			   "dnsmasq = \"/nonexistent/dnsmasq\"; ipxe_dir = \"/nonexistent\"; "
			   "pxe_dir = \"/tmp\";\n");
	snprintf(line, sizeof(line), "config check %s", unused);
	PHX_SAID ok = phx(f, line);
	assert_int_equal(ok.status, 0);
	/* a configuration that is not there was not checked */
	PHX_SAID none = phx(f, "config check /nonexistent/phoenix.conf");
	assert_int_equal(none.status, 78);
	assert_has(none.errout, "/nonexistent/phoenix.conf");
}

static void reload_tells_what_was_refused(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/reload", "{'roles':2,'images':1,'packages':3,'errors':[]}");
	PHX_SAID ok = phx(f, "reload");
	assert_int_equal(ok.status, 0);
	assert_has(ok.errout, "2 roles, 1 image, 3 packages");
	fake_reset(f);
	fake_answer(f, "POST /v1/reload",
		    "{'roles':1,'errors':['web.conf:3: there is no image x']}");
	PHX_SAID no = phx(f, "reload");
	assert_int_equal(no.status, 78);
	assert_has(no.errout, "phx: web.conf:3: there is no image x\n");
}

static void events_are_rows_where_rows_are_wanted(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status", "{'seq':1}");
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':1,'time_ms':1000,'kind':'missing','node':'n1','by':'phxd',"
		    "'text':'a, b'}],'last':1}");
	PHX_SAID csv = phx(f, "events -n 5 -o csv");
	assert_int_equal(csv.status, 0);
	assert_has(csv.out, "SEQ,TIME,NODE,KIND,BY,TEXT\n1,");
	assert_has(csv.out, "\"a, b\"\n");
	PHX_SAID name = phx(f, "events -n 5 -o name");
	assert_string_equal(name.out, "1\n");
}

/* what is no list gives no rows: neither prose under the name of TSV nor nothing */
static void no_rows_of_what_is_no_list(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const lines[] = {"status -o tsv", "role show web -o csv",
					    "node plan n1 web -o name", "job show 1 -o markdown"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lines); i++) {
		PHX_SAID s = phx(f, lines[i]);
		assert_int_equal(s.status, 64);
		assert_string_equal(s.out, "");
		assert_has(s.errout, "is for lists; there are: table, wide, json, yaml");
	}
	assert_string_equal(f->log, "");
}

#define TEST(name) cmocka_unit_test_teardown(name, fake_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(role_list_and_show),
		TEST(role_match_gives_the_reason),
		TEST(role_check_names_file_and_line),
		TEST(role_check_knows_what_phxd_has),
		TEST(role_check_warns_of_another_kernel),
		TEST(plan_and_status_name_the_kernel_that_runs),
		TEST(job_submit_sends_the_command_as_it_is),
		TEST(job_submit_sends_a_script),
		TEST(job_submit_says_what_is_wrong_with_a_script),
		TEST(job_wait_says_why_it_ended),
		TEST(job_list_says_why_it_waits),
		TEST(job_cancel_by_rows_user_and_re),
		TEST(job_list_folds_arrays),
		TEST(job_list_says_how_it_ended),
		TEST(job_submit_of_an_array),
		TEST(job_wait_prints_output_and_names_failures),
		TEST(an_array_is_waited_for),
		TEST(an_array_that_ends_well_or_is_forgotten),
		TEST(job_wait_times_out),
		TEST(job_list_show_cancel_output),
		TEST(events_are_sentences),
		TEST(events_tell_what_was_ordered),
		TEST(an_event_tells_all_that_came_of_it),
		TEST(events_are_rows_where_rows_are_wanted),
		TEST(no_rows_of_what_is_no_list),
		TEST(status_is_readable),
		TEST(config_show_with_and_without_origin),
		TEST(config_check_names_file_and_line),
		TEST(config_check_looks_at_the_machine),
		TEST(reload_tells_what_was_refused),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
