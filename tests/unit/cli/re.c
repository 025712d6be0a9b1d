/* phx re and the queue's side of phx job: what is sent, what is printed, which exit codes. The
 * daemon is a fake; phx is the real program. */
#include "fake/phxd.h"

static const char right[] = "lower_bound_size = 3;\nextensions = { floor = 2; };\n";
static const char wrong[] = "lower_bound_size = 3;\nupper_bound_size = 2;\n";

static char *write_file(struct fake_phxd *f, const char *name, const char *text)
{
	char *path = phx_path("%s/%s", f->dir, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
	return path;
}

static const char re_body[] =
	"{'name':'queue','state':'running','active':true,'owner_name':'ann','agreement':{'name':'"
	"queue','owner':'ann',"
	"'type':'parallel_batch_jobs','model':'fb','lower':3,'upper':0,'lease_s':600,'cycle_s':60,'"
	"u_milli':1200,'v_milli':200,"
	"'g_milli':500,'r_milli':1500,'window_s':20,'threshold_milli':800,'role':'batch-compute',"
	"'extensions':[{'key':'floor','value':'2 < "
	"3'}]},'nodes':{'held':%d,'busy':2,'coming':%d,'want':0,'in_pool':%d},"
	"'hosts':'n[1-3]','jobs':{'running':2,'waiting':5},'paired_with':'pages','meter':{'n_kills'"
	":7},'reached':%s}";

static void answer_re(struct fake_phxd *f, int held, int coming)
{
	char body[1024];
	snprintf(body, sizeof(body), re_body, held, coming, held + coming,
		 held >= 3 && !coming ? "true" : "false");
	fake_answer(f, "GET /v1/res/queue", body);
}

static void check_tells_each_finding(void **state)
{
	struct fake_phxd *f = *state;
	PHX_AUTO_FREE char *good = write_file(f, "queue.conf", right);
	PHX_AUTO_FREE char *bad = write_file(f, "bad.conf", wrong);
	char line[600], place[300];
	snprintf(line, sizeof(line), "re check %s %s", good, bad);
	PHX_SAID s = phx(f, line);
	assert_int_equal(s.status, 78);
	assert_has(s.out, "RE queue: parallel_batch_jobs, fb, 3 nodes\n");
	snprintf(place, sizeof(place),
		 "phx: %s:2: upper_bound_size: is less than lower_bound_size\n", bad);
	assert_has(s.errout, place);
	snprintf(line, sizeof(line), "re check -o tsv %s", bad);
	PHX_SAID tsv = phx(f, line);
	assert_int_equal(tsv.status, 78);
	assert_has(tsv.out, "\t2\tupper_bound_size\tis less than");
	PHX_SAID none = phx(f, "re check /nonexistent.conf");
	assert_int_equal(none.status, 78);
}

static void request_sends_the_whole_agreement(void **state)
{
	struct fake_phxd *f = *state;
	PHX_AUTO_FREE char *good = write_file(f, "queue.conf", right);
	PHX_AUTO_FREE char *bad = write_file(f, "bad.conf", wrong);
	char line[300];
	fake_answer(f, "POST /v1/res",
		    "{'seq':1,'re':'queue','changed':true,'dry_run':true,'notes':['ann "
		    "asks','and\\u001b[1m more']}");
	snprintf(line, sizeof(line), "re request --dry-run %s", good);
	PHX_SAID s = phx(f, line);
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"name\":\"queue\"");
	assert_has(f->log, "\"lower\":3");
	assert_has(f->log, "{\"key\":\"floor\",\"value\":\"2\"}");
	assert_has(f->log, "\"create\":false,\"dry_run\":true");
	assert_has(s.out, "nothing was done\nann asks\nand");
	assert_lacks(s.out, "\033");
	snprintf(line, sizeof(line), "re request %s", bad);
	PHX_SAID refused = phx(f, line);
	assert_int_equal(refused.status, 78);
}

static void create_takes_a_name_or_a_file(void **state)
{
	struct fake_phxd *f = *state;
	PHX_AUTO_FREE char *good = write_file(f, "queue.conf", right);
	char line[300];
	fake_answer(f, "POST /v1/res",
		    "{'re':'queue','changed':true,'notes':['RE queue is deployed']}");
	fake_answer(f, "POST /v1/res/queue/create",
		    "{'re':'queue','changed':true,'notes':['by request']}");
	snprintf(line, sizeof(line), "re create %s", good);
	PHX_SAID file = phx(f, line);
	assert_string_equal(file.out, "RE queue is deployed\n");
	assert_has(f->log, "\"create\":true");
	/* and a file of that name that lies about is not taken for it */
	PHX_AUTO_FREE char *planted = write_file(f, "queue", right);
	PHX_AUTO_FREE char *here = get_current_dir_name();
	assert_int_equal(chdir(f->dir), 0);
	PHX_SAID name = phx(f, "re create queue");
	assert_int_equal(chdir(here), 0);
	assert_string_equal(name.out, "by request\n");
}

static void refuse_gives_the_reason(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/res/queue/refuse", "{'notes':[]}");
	PHX_SAID s = phx(f, "re refuse queue --reason full");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "{\"text\":\"full\"}");
}

static void activate_waits_for_the_nodes(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/res/queue/activate", "{'notes':['n1 goes from free to queue']}");
	answer_re(f, 1, 2);
	answer_re(f, 3, 0);
	PHX_SAID s = phx(f, "re activate queue --wait");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out, "n1 goes from free to queue\n");
}

static void activate_gives_up_in_time(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/res/queue/activate", "{'notes':[]}");
	answer_re(f, 1, 2);
	PHX_SAID s = phx(f, "re activate queue --wait --timeout 1");
	assert_int_equal(s.status, 124);
}

static void killing_wants_a_yes(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/res/queue/deactivate",
		    "{'notes':[],'jobs':[{'id':7,'user':'ann','started_ms':1000,'ends':true,'state'"
		    ":'running'},"
		    "{'id':8,'user':'bob','started_ms':0,'ends':true,'state':'queued'}]}");
	fake_answer(f, "POST /v1/res/queue/safe-deactivate", "{'notes':[]}");
	fake_answer(f, "POST /v1/res/queue/destroy", "{'notes':[]}");
	PHX_SAID asked = phx(f, "re deactivate queue");
	assert_int_equal(asked.status, 64);
	assert_has(asked.errout, "--yes");
	assert_has(asked.errout, "deactivate RE queue: job 7 of ann, for ");
	assert_has(asked.errout, "job 8 of bob, which waits end, for good");
	assert_lacks(f->log, "kill_jobs");
	PHX_SAID yes = phx(f, "re deactivate queue --yes");
	assert_int_equal(yes.status, 0);
	assert_has(f->log, "\"kill_jobs\":true");
	PHX_SAID safe = phx(f, "re deactivate queue --safe");
	assert_int_equal(safe.status, 0);
	PHX_SAID dry = phx(f, "re deactivate queue --dry-run");
	assert_int_equal(dry.status, 0);
	PHX_SAID destroy = phx(f, "re destroy queue");
	assert_int_equal(destroy.status, 64);
}

static void one_without_jobs_is_ended_unasked(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/res/queue/deactivate", "{'notes':[],'jobs':[]}");
	PHX_SAID s = phx(f, "re deactivate queue");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"kill_jobs\":[]"); /* one that begins meanwhile is not meant */
}

static void list_and_show(void **state)
{
	struct fake_phxd *f = *state;
	char one[1024], all[1100];
	snprintf(one, sizeof(one), re_body, 3, 0, 3, "false");
	snprintf(all, sizeof(all), "{'res':[%s]}", one);
	fake_answer(f, "GET /v1/res", all);
	answer_re(f, 3, 0);
	PHX_SAID names = phx(f, "re list -o name");
	assert_string_equal(names.out, "queue\n");
	PHX_SAID tsv = phx(f, "re list -o tsv");
	assert_has(tsv.out,
		   "queue\trunning\tparallel_batch_jobs\tann\tfb\t3\t-\t3\t2\t0\t0\t2\t5\tpages");
	PHX_SAID show = phx(f, "re show queue");
	assert_has(show.out, "Shares with");
	assert_has(show.out, "lower_bound_size = 3;\nupper_bound_size = \"null\";\n");
	PHX_SAID xml = phx(f, "re show queue --xml");
	assert_has(xml.out, "  <lower_bound_size>3</lower_bound_size>\n");
	assert_has(xml.out, "    <floor>2 &lt; 3</floor>\n");
	PHX_SAID unknown = phx(f, "re show nix");
	assert_int_equal(unknown.status, 64);
}

static void history_is_sentences(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/res/queue/history",
		    "{'history':[{'seq':1,'time_ms':1000,'by':'uid:0','text':'RE queue of ann is "
		    "deployed'}]}");
	PHX_SAID s = phx(f, "re history queue");
	assert_has(s.out, "uid:0  RE queue of ann is deployed");
}

static void jobs_for_an_re(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/jobs", "{'id':4}");
	PHX_SAID s = phx(f,
			 "job submit --re queue -n 2 -t 90m --no-requeue --hold --grace 1m "
			 "--checkpoint-signal SIGUSR1 -- run");
	assert_int_equal(s.status, 0);
	assert_has(f->log,
		   "\"re\":\"queue\",\"time_s\":5400,\"grace_s\":60,\"checkpoint_signal\":10,"
		   "\"checkpoint_s\":10,"
		   "\"no_requeue\":true,\"hold\":true");
	PHX_SAID bad = phx(f, "job submit --checkpoint-signal NOW -- run");
	assert_int_equal(bad.status, 64);
	fake_answer(f, "POST /v1/jobs/4/hold", "{'id':4,'changed':true}");
	fake_answer(f, "POST /v1/jobs/4/release", "{'id':4,'changed':false}");
	fake_answer(f, "GET /v1/jobs",
		    "{'jobs':[{'id':4,'state':'queued','held':true,'re':'queue'},"
		    "{'id':5,'state':'running','killing':true,'estimate_ms':60000,'kills':2},"
		    "{'id':6,'state':'running','cancel':true}]}");
	PHX_SAID hold = phx(f, "job hold 4");
	assert_int_equal(hold.status, 0);
	PHX_SAID release = phx(f, "job release 4");
	assert_has(release.errout, "job 4: was not held");
	PHX_SAID list = phx(f, "job list --re queue -o wide");
	assert_has(list.out, "4  held ");
	assert_has(list.out, "5  ending ");
	assert_has(list.out, "6  ending");
}

static void web_show_tells_who_has_an_address(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(
		f, "GET /v1/balance",
		"{'director':'lb1','in_force':true,'directors':["
		"{'node':'lb1','up':true,'acting':true},{'node':'lb2','up':true,'acting':true},"
		"{'node':'lb3','up':true,'acting':false},{'node':'lb4','up':false,'acting':false}],"
		"'services':[{'address':'10.0.0.8','port':80,'director':'lb2','since_ms':1000,"
		"'servers':[{'active':3},{'active':4}]},"
		"{'address':'10.0.0.9','port':443,'director':'','since_ms':null,"
		"'servers':[{'active':null}]}]}");
	PHX_SAID show = phx(f, "web show -o tsv --no-header");
	assert_has(show.out, "10.0.0.8:80\tlb2\t");
	assert_has(show.out, "\t2\t7\n10.0.0.9:443\t\t\t1\t\n");
	PHX_SAID table = phx(f, "web show");
	assert_has(table.out, "10.0.0.9:443  nobody");
	assert_has(table.errout, "lb3 stands by\nlb4 is not heard\n");
	PHX_SAID list = phx(f, "web list");
	assert_has(list.errout, "in force on lb1 and lb2\n");
}

static void web_list_tells_who_serves(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/balance",
		    "{'director':'lb1','in_force':true,'services':[{'address':'10.0.0.9','port':80,"
		    "'scheduler':'wlc','servers':["
		    "{'address':'10.0.0.1','node':'n1','pool':'pages','weight':1,'active':3,'"
		    "inactive':12,'use_ppm':431000,'use_reason':''},"
		    "{'address':'10.0.0.2','node':'n2','pool':'pages','weight':0,'active':null,'"
		    "inactive':null,'use_ppm':null,'use_reason':'no group'}]},"
		    "{'address':'10.0.0.8','port':443,'scheduler':'rr','servers':[]}]}");
	PHX_SAID list = phx(f, "web list -o tsv");
	assert_int_equal(list.status, 0);
	assert_has(list.out, "10.0.0.9:80\twlc\tn1\t10.0.0.1\tpages\t1\t3\t12\t0.4310\n");
	assert_has(list.out, "10.0.0.9:80\twlc\tn2\t10.0.0.2\tpages\t0\t");
	assert_has(list.out, "10.0.0.8:443\trr\t");
	PHX_SAID table = phx(f, "web list");
	assert_has(table.errout, "in force on lb1");
	assert_has(table.errout, "use of n2 is unknown: no group");
	fake_answer(f, "GET /v1/balance",
		    "{'director':'','in_force':false,'services':[{'address':'10.0.0.9','port':80,'"
		    "scheduler':'wlc','servers':[]}]}");
	PHX_SAID none = phx(f, "web list");
	assert_has(none.errout, "no director is up");
}

#define TEST(name) cmocka_unit_test_teardown(name, fake_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(check_tells_each_finding),
		TEST(request_sends_the_whole_agreement),
		TEST(create_takes_a_name_or_a_file),
		TEST(refuse_gives_the_reason),
		TEST(activate_waits_for_the_nodes),
		TEST(activate_gives_up_in_time),
		TEST(killing_wants_a_yes),
		TEST(one_without_jobs_is_ended_unasked),
		TEST(list_and_show),
		TEST(history_is_sentences),
		TEST(jobs_for_an_re),
		TEST(web_show_tells_who_has_an_address),
		TEST(web_list_tells_who_serves),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
