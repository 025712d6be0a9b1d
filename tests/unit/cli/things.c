/* phx role, job, events, status, config, reload: what is printed and asked.
 * The daemon is a fake; phx is the real program. */
#include "unit/cli/fake_phxd.h"

/* ---- roles ---- */

static const char roles[] =
	"{'roles':[{'name':'web-server','summary':'Serves pages','pool':'web','boot':'disk','image':'debian-12',"
	"'image_version':'1','packages':[{'name':'web-nginx','version':'2'}],'health':{'kind':'http',"
	"'target':'http://127.0.0.1/','interval_s':2,'failures':3}}]}";

static void role_list_and_show(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/roles", roles);
	fake_answer(
		f, "GET /v1/roles/web-server",
		"{'name':'web-server','summary':'Serves pages','image':'debian-12','image_version':'1',"
		"'ports':[{'text':'80'}],'health':{'kind':'tcp','target':'127.0.0.1:80'},'services':[{'name':'nginx',"
		"'package':'web-nginx','argv':[{'text':'bin/run'},{'text':'-x'}],'after':[{'text':'net'}]}]}");
	PHX_SAID list = phx(f, "role list");
	assert_has(list.out, "web-server  web   disk  debian-12 1  web-nginx-2  Serves pages");
	PHX_SAID names = phx(f, "role list -o name");
	assert_string_equal(names.out, "web-server\n");
	PHX_SAID show = phx(f, "role show web-server");
	assert_has(show.out, "  Image        debian-12 1\n");
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
		    "{'matches':[{'node':'n1','role':'web-server','reason':'rules.conf:7: name ~ web*'},"
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

static void role_check_names_file_and_line(void **state)
{
	struct fake_phxd *f = *state;
	PHX_AUTO_FREE char *good = write_file(f, "good.conf", "pool = \"web\";\nimage = \"debian-12\";\n");
	PHX_AUTO_FREE char *bad = write_file(f, "bad.conf", "pool = \"web\";\nimage = \"debian-12\";\ncolour = 1;\n");
	char line[512];
	snprintf(line, sizeof(line), "role check %s", good);
	PHX_SAID ok = phx(f, line);
	assert_int_equal(ok.status, 0);
	assert_has(ok.out, "role good is well formed");
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

static void job_wait_prints_output_and_names_failures(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':3}");
	fake_answer(f, "GET /v1/jobs/3", "{'id':3,'state':'queued'}");
	fake_answer(f, "GET /v1/jobs/3", "{'id':3,'state':'running'}");
	fake_answer(f, "GET /v1/jobs/3",
		    "{'id':3,'state':'failed','parts':[{'node':'n1','ended':true,'status':0},"
		    "{'node':'n2','ended':true,'status':3},{'node':'n3','ended':true,'status':3}]}");
	fake_answer(f, "GET /v1/jobs/3/output", "hello\n");
	PHX_SAID s = phx(f, "job submit -n 3 --wait -- sh");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "hello\n");
	assert_has(s.errout, "phx: n[2-3]: exit status 3\n");
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
	const char *job = "{'id':3,'state':'done','user':'ann','nodes':2,'argv':[{'text':'uname'},{'text':'-n'}],"
			  "'started_ms':1000,'ended_ms':3500,'parts':[{'node':'n1','ended':true},{'node':'n2'}]}";
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

#define EVENTS                                                                                                         \
	"{'events':[{'seq':41,'time_ms':3600500,'kind':'assign','node':'n1','by':'uid:0','event':{'role':'web-server'" \
	",'pin':true"                                                                                                  \
	","                                                                                                            \
	"'has_setup':true,'setup':{'mode':'wipe'}}},"                                                                  \
	"{'seq':42,'time_ms':3601000,'kind':'step_result','text':'step ended','node':'n1','by':'node:n1',"             \
	"'event':{'step_id':9,'result':-5,'text':'disk is gone'}},"                                                    \
	"{'seq':43,'time_ms':3602000,'kind':'step_result','text':'n1 is quarantined: wipe','node':'n1','event':{}},"   \
	"{'seq':44,'time_ms':3602000,'kind':'tick','text':'deadline passed','event':{}}],"                             \
	"'last':44}"

static void events_are_sentences(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status", "{'seq':43}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1','plan':{'steps':[{'id':9,'kind':'wipe'}]}}]}");
	fake_answer(f, "GET /v1/events", EVENTS);
	PHX_SAID s = phx(f, "events");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out,
			    "1970-01-01 01:00:00.500  n1: role assigned: role web-server, setup wipe, pinned (by uid:0)\n"
			    "1970-01-01 01:00:01.000  n1: step ended: wipe, failed: disk is gone\n"
			    "1970-01-01 01:00:02.000  n1: is quarantined: wipe\n");
	PHX_SAID one = phx(f, "events -n 1");
	assert_lacks(one.out, "role assigned");
	PHX_SAID json = phx(f, "events -o json");
	assert_has(json.out, "{\"seq\":41,");
	assert_has(json.out, "}\n{\"seq\":42,");
	assert_has(json.out, "\"kind\":\"tick\""); /* which tells people nothing */
	PHX_SAID tsv = phx(f, "events -o tsv --no-header");
	assert_has(tsv.out, "42\t1970-01-01 01:00:01.000\tn1\tstep_result\tnode:n1\tstep ended: wipe, failed");
}

/* ---- status, config, reload ---- */

static void status_is_readable(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status",
		    "{'version':'0.1.0','uptime_s':7265,'seq':9,'readonly':'disk full','nodes':3,'up':2,"
		    "'states':{'active':2,'new':1,'ready':0},'pools':[{'name':'web','owner':'w','setup':{'mode':'wipe',"
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
		    "{'config':[{'key':'http_port','value':'8080','origin':'/etc/phoenix/phoenix.conf:4'}]}");
	PHX_SAID plain = phx(f, "config show");
	assert_string_equal(plain.out, "KEY        VALUE\nhttp_port  8080\n");
	PHX_SAID origin = phx(f, "config show --origin");
	assert_has(origin.out, "http_port  8080   /etc/phoenix/phoenix.conf:4\n");
}

static void config_check_names_file_and_line(void **state)
{
	struct fake_phxd *f = *state;
	char line[512];
	PHX_AUTO_FREE char *good =
		write_file(f, "p.conf", "address = \"10.0.0.1\";\nhttp_port = 81;\ndhcp_mode = \"none\";\n");
	snprintf(line, sizeof(line), "config check %s -o tsv --origin", good);
	PHX_SAID ok = phx(f, line);
	assert_int_equal(ok.status, 0);
	assert_has(ok.out, "http_port\t81\t");
	assert_has(ok.out, "p.conf:2\n");
	PHX_AUTO_FREE char *bad =
		write_file(f, "q.conf", "address = \"10.0.0.1\";\nhttp_port = 810000;\ndhcp_mode = \"none\";\n");
	snprintf(line, sizeof(line), "config check %s", bad);
	PHX_SAID no = phx(f, line);
	assert_int_equal(no.status, 78);
	assert_has(no.errout, "q.conf:2: ");
	/* every other command too says what is wrong with a configuration it needs */
	snprintf(line, sizeof(line), "image show x --config %s", bad);
	PHX_SAID other = phx(f, line);
	assert_int_equal(other.status, 78);
}

static void reload_tells_what_was_refused(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/reload", "{'roles':2,'images':1,'packages':3,'errors':[]}");
	PHX_SAID ok = phx(f, "reload");
	assert_int_equal(ok.status, 0);
	assert_has(ok.errout, "2 roles, 1 images, 3 packages");
	fake_reset(f);
	fake_answer(f, "POST /v1/reload", "{'roles':1,'errors':['web.conf:3: there is no image x']}");
	PHX_SAID no = phx(f, "reload");
	assert_int_equal(no.status, 78);
	assert_has(no.errout, "phx: web.conf:3: there is no image x\n");
}

static void events_are_rows_where_rows_are_wanted(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/status", "{'seq':1}");
	fake_answer(f, "GET /v1/events", "{'events':[{'seq':1,'time_ms':1000,'kind':'missing','node':'n1','by':'phxd',"
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
	static const char *const lines[] = {"status -o tsv", "role show web -o csv", "node plan n1 web -o name",
					    "job show 1 -o markdown"};
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
		TEST(job_submit_sends_the_command_as_it_is),
		TEST(job_wait_prints_output_and_names_failures),
		TEST(job_wait_times_out),
		TEST(job_list_show_cancel_output),
		TEST(events_are_sentences),
		TEST(events_are_rows_where_rows_are_wanted),
		TEST(no_rows_of_what_is_no_list),
		TEST(status_is_readable),
		TEST(config_show_with_and_without_origin),
		TEST(config_check_names_file_and_line),
		TEST(reload_tells_what_was_refused),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
