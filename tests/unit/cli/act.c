/* Commands that change nodes: dry run, confirmation, waiting, exit codes, and
 * the report by reason. The daemon is a fake; phx is the real program. */
#include <pty.h>
#include <sys/wait.h>

#include "fake/phxd.h"

#define N(name, state, role, more) \
	"{'name':'" name "','state':'" state "','role':'" role "'" more "}"
#define ROLES "{'roles':[{'name':'web-server'},{'name':'batch-compute'}]}"
#define NO_PLAN ",'plan':{'epoch':5,'steps':[]}"
#define WIPE_PLAN(id) \
	"'plan':{'tier':'kexec','from_pool':'batch','to_pool':'web','to_role':'web-server','" \
	"reason':'why'," \
	"'expected_ms':26000,'steps':[{'kind':'stop','expected_ms':300},{'kind':'wipe','method':'" \
	"discard','disk':'" id "'," \
	"'expected_ms':4000},{'kind':'join','expected_ms':1}]}"
#define NOOP_PLAN \
	"'plan':{'tier':'in-place','to_role':'web-server','steps':[{'kind':'stop','expected_ms':" \
	"300}]}"

static void two_nodes(struct fake_phxd *f, const char *state)
{
	char body[256];
	snprintf(body, sizeof(body),
		 "{'nodes':[{'name':'n1','state':'%s'},{'name':'n2','state':'%s'}]}", state, state);
	fake_answer(f, "GET /v1/nodes", body);
	fake_answer(f, "GET /v1/roles", ROLES);
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[],'last':10}");
}

static void dry_run_prints_equal_plans_once(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'seq':1,'results':[{'node':'n1','code':0," WIPE_PLAN(
			    "D") "},{'node':'n2','code':0," WIPE_PLAN("E") "}]}");
	PHX_SAID s = phx(f, "node assign n[1-2] web-server --setup wipe:discard --dry-run");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "n[1-2]: batch -> web, role web-server; kexec: why; about 26.0 s\n");
	assert_has(s.out, "STEP  PHASE      EXPECTED  WHAT\n");
	assert_has(s.out, "wipe  cleaning      4.0 s  erase the disk and read it back (discard)\n");
	/* whose disk is whose */
	assert_has(s.out, "  n1: wipe of D\n  n2: wipe of E\n");
	assert_has(f->log, "\"dry_run\":true");
	assert_has(f->log, "\"setup\":{\"mode\":\"wipe\",\"method\":\"discard\"}");
	assert_has(f->log, "\"nodes\":\"n[1-2]\"");
	assert_lacks(strstr(f->log, "dry_run"), "POST");
}

static void plan_is_a_dry_run_and_shows_what_is_followed(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0," NOOP_PLAN
		    "},{'node':'n2','code':-95,'error':'the disk cannot'}]}");
	PHX_SAID s = phx(f, "node plan n[1-2] web-server");
	assert_int_equal(s.status, 1);
	assert_has(s.out, "in-place");
	assert_has(s.errout, "phx: n2: the disk cannot\n");
	fake_reset(f);
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1'," NOOP_PLAN
		    "},{'name':'n2'},{'name':'n3','plan':{'cursor':1,'steps':[{}]}}]}");
	PHX_SAID followed = phx(f, "node plan @all");
	assert_has(followed.out, "n1: ");
	assert_has(followed.out, "n[2-3]: there is nothing to do\n");
}

static void erasing_a_node_in_use_needs_yes(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0," WIPE_PLAN("D") "}]}");
	PHX_SAID s = phx(f, "node assign n1 web-server --setup wipe");
	assert_int_equal(s.status, 64);
	assert_has(s.errout, "the disks of n1 are in use and will be erased");
	assert_has(s.errout, "--yes");
	/* only the dry run was asked */
	assert_has(f->log, "\"dry_run\":true");
	assert_lacks(strstr(f->log, "dry_run"), "POST");
	PHX_SAID yes = phx(f, "node assign n1 web-server --setup wipe --yes");
	assert_int_equal(yes.status, 0);
}

static void nodes_not_in_use_need_no_yes(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "ready");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0,'changed':true," WIPE_PLAN("D") "}]}");
	PHX_SAID s = phx(f, "node assign n1 web-server --setup wipe");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"role\":\"web-server\"");
}

static void already_so_is_success(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "web-server", NO_PLAN) "]}");
	fake_answer(f, "GET /v1/roles", ROLES);
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[],'last':10}");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0,'changed':false,'epoch':5,'plan':{'steps':[]"
		    "}}]}");
	PHX_SAID s = phx(f, "node assign n1 web-server --wait");
	assert_int_equal(s.status, 0);
	assert_has(s.errout, "n1: this is so already");
}

static void rebuild_asks_even_for_one(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const lines[] = {"node rebuild n1", "node wipe n1", "node rm n1"};
	static const char *const posts[] = {"POST /v1/actions/rebuild", "POST /v1/actions/wipe",
					    "POST /v1/actions/rm"};
	two_nodes(f, "ready");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(posts); i++)
		fake_answer(f, posts[i], "{'results':[{'node':'n1','code':0}]}");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lines); i++) {
		PHX_SAID s = phx(f, lines[i]);
		assert_int_equal(s.status, 64);
		assert_has(s.errout, "needs --yes");
	}
	assert_lacks(f->log, "kill_jobs"); /* nothing but the dry run */
}

#define JOB(id, ends) \
	"'jobs':[{'id':" id \
	",'engine_id':'','state':'running','user':'alice','re':'','nodes':1,'started_ms':1000," \
	"'limit_ms':0,'requeue':true,'ends':" ends ",'command':'sleep'}]"

static void jobs_that_end_are_asked_about(void **state)
{
	static const struct {
		const char *line, *post, *question;
	} orders[] = {
		{"node assign n1 web-server", "POST /v1/actions/assign",
		 "assign web-server: job 12 of alice (sleep) on n1, for "},
		{"node release n1", "POST /v1/actions/release", "release: job 12"},
		{"node rebuild n1", "POST /v1/actions/rebuild", "rebuild n1: job 12"},
		{"node wipe n1", "POST /v1/actions/wipe", "wipe n1: job 12"},
		{"node power n1 off", "POST /v1/actions/power", "switch off: job 12"},
		{"node power n1 cycle", "POST /v1/actions/power", "switch cycle: job 12"},
		{"node quarantine n1", "POST /v1/actions/quarantine", "quarantine: job 12"},
		{"node resume n1", "POST /v1/actions/resume", "resume: job 12"},
		{"node rm n1 --force", "POST /v1/actions/rm", "forget n1: job 12"},
		{"node drain n1 --grace 5m", "POST /v1/actions/drain", "drain: job 12"},
	};
	struct fake_phxd *f = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++) {
		char line[128];
		fake_reset(f);
		two_nodes(f, "active");
		fake_answer(f, orders[i].post,
			    "{'results':[{'node':'n1','code':0," NOOP_PLAN
			    "," JOB("12", "true") "}]}");
		PHX_SAID s = phx(f, orders[i].line);
		assert_int_equal(s.status, 64);
		assert_has(s.errout, orders[i].question);
		assert_has(s.errout, " ends: this cannot be undone and needs --yes");
		assert_lacks(f->log, "kill_jobs");
		snprintf(line, sizeof(line), "%s --yes", orders[i].line);
		PHX_SAID yes = phx(f, line);
		assert_int_equal(yes.status, 0);
		assert_has(f->log, "\"kill_jobs\":true");
	}
}

static void a_drain_without_an_end_asks_nothing(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/drain",
		    "{'results':[{'node':'n1','code':0,'plan':{'waits':true,'has_grace':false,'"
		    "expected_ms':300,"
		    "'steps':[{'kind':'drain','expected_ms':300}]}," JOB(
			    "12", "false") ",'sessions':null}]}");
	PHX_SAID s = phx(f, "node drain n1");
	assert_int_equal(s.status, 0);
	assert_lacks(f->log, "dry_run");
	assert_lacks(f->log, "kill_jobs");
	PHX_SAID dry = phx(f, "node drain n1 --dry-run");
	assert_int_equal(dry.status, 0);
	assert_has(dry.out, "about 0.3 s after the last job has ended\n");
	assert_has(dry.out, "  job 12 of alice (sleep) on n1, for ");
	assert_has(dry.out, ": it is waited for until it has ended\n");
	assert_has(dry.out, "  n1: who is logged in there is not known\n");
}

static void a_dry_run_tells_what_is_refused(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/rm",
		    "{'results':[{'node':'n1','code':-1,'error':'n1 is active: release it first'},"
		    "{'node':'n2','code':0,'changed':true}]}");
	PHX_SAID s = phx(f, "node rm n[1-2] --dry-run");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "n2: forget at once, without steps\n");
	assert_has(s.errout, "phx: n1: is active: release it first\n");
	fake_answer(f, "POST /v1/actions/drain",
		    "{'results':[{'node':'n2','code':0,'plan':{'waits':true,'steps':[]},'jobs':[],'"
		    "sessions':[]}]}");
	PHX_SAID drain = phx(f, "node drain n2 --dry-run");
	assert_string_equal(drain.out, "n2: goes into maintenance at once, without steps\n");
	fake_answer(f, "POST /v1/actions/drain",
		    "{'results':[{'node':'n2','code':0,'plan':{'request':'drain','waits':true,'"
		    "tier':'none','from_pool':'web',"
		    "'to_pool':'web','steps':[{'kind':'drain'}]},'jobs':[],'sessions':[]}]}");
	PHX_SAID waits = phx(f, "node drain n2 --dry-run");
	assert_has(waits.out, "n2: into maintenance; about ");
}

/* What an order begins only where it must: the steps are told, and an erase among them is asked
 * about. */
static void a_dry_run_tells_the_plan_that_begins(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "quarantined");
	fake_answer(f, "POST /v1/actions/resume",
		    "{'results':[{'node':'n1','code':0,'changed':true,'notes':['n1 is erased: "
		    "resume ordered'],'plan':{'tier':"
		    "'power-cycle','from_pool':'','to_pool':'free','steps':[{'kind':'boot'},{'kind'"
		    ":'wipe','disk':'d'}]},"
		    "'jobs':[],'sessions':[]},{'node':'n2','code':0,'changed':true,'plan':null,'"
		    "jobs':[],'sessions':[]}]}");
	PHX_SAID s = phx(f, "node resume n[1-2] --dry-run");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "n2: resume at once, without steps\n");
	assert_has(s.out, "n1: - -> free; power-cycle; about ");
	assert_has(s.out, "  wipe ");
	assert_has(s.out, "  n1 is erased: resume ordered\n");
}

static void many_nodes_need_force(void **state)
{
	struct fake_phxd *f = *state;
	struct phx_buf b = {0};
	phx_buf_addf(&b, "{'nodes':[");
	for (int i = 1; i <= 17; i++)
		phx_buf_addf(&b, "%s{'name':'n%d','state':'active'}", i > 1 ? "," : "", i);
	phx_buf_addf(&b, "]}");
	fake_answer(f, "GET /v1/nodes", b.data);
	phx_buf_fini(&b);
	fake_answer(f, "POST /v1/actions/rebuild", "{'results':[]}");
	PHX_SAID no = phx(f, "node rebuild @all --yes");
	assert_int_equal(no.status, 64);
	assert_has(no.errout, "17 nodes are more than 16; that needs --force");
	assert_lacks(f->log, "POST");
	PHX_SAID sixteen = phx(f, "node rebuild n[1-16] --yes");
	assert_int_equal(sixteen.status, 0);
	PHX_SAID forced = phx(f, "node rebuild @all --yes --force");
	assert_int_equal(forced.status, 0);
	assert_has(f->log, "\"nodes\":\"n[1-17]\"");
}

/* Run phx on a terminal of its own and answer its question; what it said comes to `said`. */
static int answer_on_terminal(struct fake_phxd *f, const char *const *argv, const char *answer,
			      char *said, size_t said_size)
{
	int fd;
	pid_t pid = forkpty(&fd, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("PHX_SOCKET", f->socket, 1);
		setenv("TERM", "vt100", 1);
		unsetenv("NO_COLOR");
		execv(phx_program(), (char *const *)argv);
		_exit(127);
	}
	size_t at = 0;
	bool answered = false;
	for (ssize_t n; (n = read(fd, said + at, said_size - 1 - at)) > 0;) {
		at += (size_t)n;
		said[at] = '\0';
		if (!answered && strstr(said, "go on: ")) {
			assert_true(write(fd, answer, strlen(answer)) > 0);
			answered = true;
		}
	}
	int status;
	waitpid(pid, &status, 0);
	close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void asks_on_a_terminal(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const argv[] = {"phx", "node", "rebuild", "n1", NULL};
	char said[4096] = "";
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/rebuild",
		    "{'results':[{'node':'n1','code':0,'changed':true}]}");
	assert_int_equal(answer_on_terminal(f, argv, "no\n", said, sizeof(said)), 64);
	assert_has(said, "rebuild n1?");
	assert_has(said, "nothing was done");
	assert_lacks(f->log, "kill_jobs");
	assert_int_equal(answer_on_terminal(f, argv, "yes\n", said, sizeof(said)), 0);
	assert_has(f->log, "POST /v1/actions/rebuild");
}

static void what_was_agreed_to_goes_with_the_order(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const argv[] = {"phx", "node", "release", "n[1-2]", NULL};
	char said[4096] = "";
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/release",
		    "{'results':[{'node':'n1','code':0," NOOP_PLAN
		    "," JOB("12", "true") "},{'node':'n2','code':0," NOOP_PLAN "," JOB(
			    "12", "true") ",'sessions':[{'user':'bob','tty':'pts/"
					  "0','from':'10.0.0.9','since_ms':1}]}]}");
	assert_int_equal(answer_on_terminal(f, argv, "yes\n", said, sizeof(said)), 0);
	assert_has(said, "job 12 of alice (sleep) on n1"); /* once: it is one job */
	assert_has(said, " ends; bob on n2 (pts/0 from 10.0.0.9) is logged out?");
	assert_has(f->log, "\"kill_jobs\":[12]");
}

static void progress_and_colour_are_for_terminals(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const wait_argv[] = {"phx", "node", "resume", "n1", "--wait", NULL};
	static const char *const list_argv[] = {"phx", "node", "list", NULL};
	char said[4096] = "";
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "quarantined", "", "") "]}");
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" N("n1", "deploying", "",
				   ",'plan':{'epoch':5,'steps':[{'kind':'image'}]}") "]}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "", NO_PLAN) "]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[],'last':10}");
	fake_answer(f, "POST /v1/actions/resume",
		    "{'results':[{'node':'n1','code':0,'changed':true,'epoch':5}]}");
	assert_int_equal(answer_on_terminal(f, wait_argv, "", said, sizeof(said)), 0);
	assert_has(said, "\r\033[K0/1 done, ");
	assert_has(said, "image 1/1: n1");
	assert_int_equal(answer_on_terminal(f, list_argv, "", said, sizeof(said)), 0);
	assert_has(said, "\033[32mactive");
}

static void watch_prints_again(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "ready", "", "") "]}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "", "") "]}");
	fake_answer_status(f, "GET /v1/nodes", 403, "{'error':'enough'}");
	PHX_SAID s = phx(f, "node list -w");
	assert_int_equal(s.status, 77);
	assert_has(s.out, "ready");
	assert_has(s.out, "active");
	assert_has(s.errout, "enough");
}

static void unknown_role_is_told_with_the_nearest(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "ready");
	PHX_SAID s = phx(f, "node assign n1 web");
	assert_int_equal(s.status, 64);
	assert_string_equal(s.errout, "phx: there is no role 'web'; did you mean 'web-server'?\n");
	assert_lacks(f->log, "POST");
}

static void one_unknown_node_stops_all(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "ready");
	PHX_SAID s = phx(f, "node release n1,n2,m9");
	assert_int_equal(s.status, 64);
	assert_has(s.errout, "there is no node 'm9'");
	assert_lacks(f->log, "POST");
}

static void failures_are_folded_by_reason(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1'},{'name':'n2'},{'name':'n3'},{'name':'n4'}]}");
	fake_answer(f, "POST /v1/actions/resume",
		    "{'results':[{'node':'n1','code':-113,'error':'n1: the BMC is silent'},"
		    "{'node':'n2','code':0,'changed':true},{'node':'n3','code':-113,'error':'node "
		    "n3 the BMC is silent'},"
		    "{'node':'n4','code':-16,'error':'it follows a plan'}]}");
	PHX_SAID s = phx(f, "node resume n[1-4]");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "");
	assert_has(s.errout, "phx: n[1,3]: the BMC is silent\n");
	assert_has(s.errout, "phx: n4: it follows a plan\n");
}

static void busy_nodes_mean_try_again(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/drain",
		    "{'results':[{'node':'n1','code':-16,'error':'it follows a plan'}]}");
	PHX_SAID s = phx(f, "node drain n1");
	assert_int_equal(s.status, 75);
}

static void wait_follows_until_the_role_is_held(void **state)
{
	struct fake_phxd *f = *state;
	const char *running = "{'nodes':[" N("n1", "deploying", "web-server",
					     ",'plan':{'epoch':5,'cursor':0,'steps':"
					     "[{'kind':'image'}]}") "]}";
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "ready", "", "") "]}");
	fake_answer(f, "GET /v1/nodes", running);
	fake_answer(f, "GET /v1/nodes", running);
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "web-server", NO_PLAN) "]}");
	two_nodes(f, "ready");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0,'changed':true,'epoch':5}]}");
	PHX_SAID s = phx(f, "node assign n1 web-server --wait");
	assert_int_equal(s.status, 0);
	assert_has(s.errout, "1 of 1 nodes are done after");
	assert_lacks(s.errout, "\r");
}

static void wait_reports_quarantine_and_going_back(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','state':'ready'},{'name':'n2','state':'ready'},"
		    "{'name':'n3','state':'ready'}]}");
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" N("n1", "quarantined", "",
				   ",'reason':'wipe: read-back found data'") "," //
		    N("n2", "active", "batch-compute", NO_PLAN) "," N("n3", "active", "web-server",
								      NO_PLAN) "]}");
	fake_answer(f, "GET /v1/roles", ROLES);
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':11,'kind':'step_result','node':'n2',"
		    "'event':{'epoch':5,'result':-5,'text':'prefetch: wrong signature'}},"
		    "{'seq':12,'kind':'step_result','node':'n3','event':{'epoch':5,'result':-5,'"
		    "text':'first try'}},"
		    "{'seq':13,'kind':'step_result','node':'n3','event':{'epoch':5,'result':0}}],'"
		    "last':13}");
	fake_answer(f, "POST /v1/actions/assign",
		    "{'results':[{'node':'n1','code':0,'epoch':5},{'node':'n2','code':0,'epoch':5},"
		    "{'node':'n3','code':0,'epoch':5}]}");
	PHX_SAID s = phx(f, "node assign n[1-3] web-server --wait");
	assert_int_equal(s.status, 1);
	assert_has(s.errout, "phx: n1: quarantined: wipe: read-back found data\n");
	assert_has(s.errout, "phx: n2: went back to batch-compute: prefetch: wrong signature\n");
	assert_lacks(s.errout, "n3");
	assert_has(s.errout, "1 of 3 nodes are done");
}

static void wait_gives_up_in_time(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" N("n1", "deploying", "web-server",
				   ",'plan':{'epoch':5,'steps':[{'kind':'image'}]}") "]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[]}");
	fake_answer(f, "POST /v1/actions/rebuild",
		    "{'results':[{'node':'n1','code':0,'epoch':5}]}");
	PHX_SAID s = phx(f, "node rebuild n1 --yes --wait --timeout 1");
	assert_int_equal(s.status, 124);
	assert_has(s.errout, "phx: n1: this is not done in time; it goes on\n");
}

static void wait_notices_another_order(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" N("n1", "deploying", "batch",
				   ",'plan':{'epoch':6,'steps':[{'kind':'image'}]}") "]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[]}");
	fake_answer(f, "POST /v1/actions/rebuild",
		    "{'results':[{'node':'n1','code':0,'epoch':5}]}");
	PHX_SAID s = phx(f, "node rebuild n1 --yes --wait");
	assert_int_equal(s.status, 1);
	assert_has(s.errout, "n1: another order took its place");
}

/* A rule gives the node a role as soon as it is ready: that is waited for too, not taken for
 * somebody else's order. */
static void wait_follows_what_a_rule_begins(void **state)
{
	struct fake_phxd *f = *state;
	const char *assigned =
		"{'nodes':[" N("n1", "deploying", "web-server",
			       ",'plan':{'epoch':6,'cursor':0,'steps':[{'kind':'image'}]}") "]}";
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "quarantined", "", "") "]}");
	fake_answer(
		f, "GET /v1/nodes",
		"{'nodes':[" N("n1", "cleaning", "",
			       ",'plan':{'epoch':5,'cursor':0,'steps':[{'kind':'wipe'}]}") "]}");
	fake_answer(f, "GET /v1/nodes", assigned);
	fake_answer(f, "GET /v1/nodes", assigned);
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "web-server", NO_PLAN) "]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[]}");
	fake_answer(f, "POST /v1/actions/resume",
		    "{'results':[{'node':'n1','code':0,'changed':true,'epoch':5}]}");
	PHX_SAID s = phx(f, "node resume n1 --wait");
	assert_int_equal(s.status, 0);
	assert_has(s.errout, "1 of 1 nodes are done after");
}

static void wait_tells_when_what_a_rule_began_fails(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "web-server", NO_PLAN) "]}");
	fake_answer(
		f, "GET /v1/nodes",
		"{'nodes':[" N("n1", "deploying", "web-server",
			       ",'plan':{'epoch':6,'cursor':0,'steps':[{'kind':'image'}]}") "]}");
	fake_answer(
		f, "GET /v1/nodes",
		"{'nodes':[" N("n1", "quarantined", "", ",'reason':'image: wrong digest'") "]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[]}");
	fake_answer(f, "POST /v1/actions/release",
		    "{'results':[{'node':'n1','code':0,'changed':true,'epoch':5}]}");
	PHX_SAID s = phx(f, "node release n1 --yes --wait");
	assert_int_equal(s.status, 1);
	assert_has(s.errout, "phx: n1: quarantined: image: wrong digest\n");
}

static void wait_outlives_a_daemon_that_is_away(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" N("n1", "active", "web-server", NO_PLAN) "]}");
	f->answers[3].status = 503; /* events: the first time */
	fake_answer(f, "GET /v1/events", "{'events':[]}");
	fake_answer(f, "POST /v1/actions/rebuild",
		    "{'results':[{'node':'n1','code':0,'epoch':5}]}");
	PHX_SAID s = phx(f, "node rebuild n1 --yes --wait");
	assert_int_equal(s.status, 0);
	assert_has(s.errout, "still waiting");
}

static void power_waits_for_its_result(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','state':'active','power':'off'},{'name':'n2'}]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':11,'kind':'power_result','node':'n1','event':{'step_id':4,'"
		    "text':'boot: done'}}]}");
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':12,'kind':'power_result','node':'n1','event':{'text':'off: "
		    "done'}},"
		    "{'seq':13,'kind':'power_result','node':'n2','event':{'result':-113,'text':'"
		    "off: BMC is silent'}}]}");
	fake_answer(f, "POST /v1/actions/power",
		    "{'results':[{'node':'n1','code':0,'changed':true},{'node':'n2','code':0,'"
		    "changed':true}]}");
	PHX_SAID s = phx(f, "node power n[1-2] off --hard --wait");
	assert_int_equal(s.status, 1);
	assert_has(f->log, "\"op\":\"off\"");
	assert_has(f->log, "after=11");
	assert_has(s.errout, "phx: n2: off: BMC is silent\n");
	PHX_SAID bad = phx(f, "node power n1 sideways");
	assert_int_equal(bad.status, 64);
	assert_has(bad.errout, "'sideways' is none of on|off|cycle|reset|status");
}

/* What it would end is in one answer, not in one for each node. */
static void power_asks_what_it_would_end(void **state)
{
	static const struct {
		const char *line, *op, *question;
	} orders[] = {
		{"node power n[1-3] off", "\"op\":\"soft\"", "switch off: "},
		{"node power n[1-3] off --hard", "\"op\":\"off\"", "switch off hard: "},
		{"node power n[1-3] cycle", "\"op\":\"cycle\"", "switch cycle: "},
		{"node power n[1-3] reset", "\"op\":\"reset\"", "switch reset: "},
	};
	struct fake_phxd *f = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++) {
		char line[128];
		fake_reset(f);
		fake_answer(f, "GET /v1/nodes",
			    "{'nodes':[{'name':'n1'},{'name':'n2'},{'name':'n3'}]}");
		fake_answer(f, "POST /v1/actions/power",
			    "{'results':[{'node':'n1','code':0,'serves':'active'},{'node':'n2','"
			    "code':0,'serves':'active'},{'node':'n3','code':0,'serves':'rebuild'}"
			    "]}");
		PHX_SAID s = phx(f, orders[i].line);
		assert_int_equal(s.status, 64);
		assert_has(s.errout, orders[i].question);
		assert_has(s.errout,
			   "2 nodes are active (n[1-2]); 1 node is in the middle of "
			   "rebuild (n3): this cannot be undone and needs --yes");
		assert_has(f->log, "\"ends_only\":true");
		assert_lacks(strstr(f->log, "dry_run"), "POST");
		snprintf(line, sizeof(line), "%s --yes", orders[i].line);
		PHX_SAID yes = phx(f, line);
		assert_int_equal(yes.status, 0);
		assert_has(f->log, orders[i].op);
		snprintf(line, sizeof(line), "%s --dry-run", orders[i].line);
		PHX_SAID dry = phx(f, line);
		assert_has(dry.out, "  2 nodes are active (n[1-2]); 1 node is in the middle");
	}
}

/* At once it asks, as all go at once; in turn only where something ends. */
static void reboot_asks_unless_it_is_in_turn(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/reboot",
		    "{'results':[{'node':'n1','code':0},{'node':'n2','code':0}]}");
	PHX_SAID s = phx(f, "node reboot n[1-2]");
	assert_int_equal(s.status, 64);
	assert_has(s.errout, "reboot n[1-2]: this cannot be undone and needs --yes");
	assert_lacks(strstr(f->log, "dry_run"), "POST");
	PHX_SAID turn = phx(f, "node reboot n[1-2] --rolling 5% --when-idle --power-cycle");
	assert_int_equal(turn.status, 0);
	assert_has(f->log, "\"rolling\":\"5%\"");
	assert_has(f->log, "\"when_idle\":true");
	assert_has(f->log, "\"power_cycle\":true");
}

/* Who waits for its turn is not done, though it has no plan; nor when the turns are stopped. */
static void a_turn_is_waited_for(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const answers[] = {
		"{'nodes':[{'name':'n1'},{'name':'n2'}]}",
		"{'nodes':[{'name':'n1','state':'cleaning','plan':{'epoch':7,'cursor':0,'steps':[{}"
		"]}},{'name':'n2','state':'active','turn':{'done':0,'of':2,'stopped':''}}]}",
		"{'nodes':[{'name':'n1','state':'maintenance','reason':'its reboot failed'},{"
		"'name':'n2','state':'active','turn':{'done':0,'of':1,'stopped':'n1 did not come "
		"back'}}]}"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(answers); i++)
		fake_answer(f, "GET /v1/nodes", answers[i]);
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[],'last':10}");
	fake_answer(f, "POST /v1/actions/reboot",
		    "{'results':[{'node':'n1','code':0,'epoch':3},{'node':'n2','code':0,'epoch':3}"
		    "]}");
	PHX_SAID s = phx(f, "node reboot n[1-2] --rolling 1 --wait --yes");
	assert_int_equal(s.status, 1);
	assert_has(s.errout, "phx: n1: its reboot failed\n");
	assert_has(s.errout, "phx: n2: n1 did not come back\n");
}

static void power_on_asks_nothing(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "active");
	fake_answer(f, "POST /v1/actions/power", "{'results':[{'node':'n1','code':0}]}");
	PHX_SAID s = phx(f, "node power n1 on");
	assert_int_equal(s.status, 0);
	assert_lacks(f->log, "dry_run");
	PHX_SAID bad = phx(f, "node power n1 reset --hard");
	assert_int_equal(bad.status, 64);
	assert_has(bad.errout, "--hard goes with off: reset never waits");
}

/* Until the head says that its BMC reports it off, or that it is still on and left so. */
static void a_soft_off_is_waited_for(void **state)
{
	struct fake_phxd *f = *state;
	static const char *const answers[] = {
		"{'nodes':[{'name':'n1','power':'on'},{'name':'n2','power':'on'}]}",
		"{'nodes':[{'name':'n1','power':'on','soft_until_ms':9},{'name':'n2','power':'on',"
		"'soft_until_ms':9}]}",
		"{'nodes':[{'name':'n1','power':'off'},{'name':'n2','power':'on','soft_failed':"
		"'its system did not end within 300 s; phx node power n2 off --hard cuts its "
		"power'}]}"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(answers); i++)
		fake_answer(f, "GET /v1/nodes", answers[i]);
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[],'last':10}");
	fake_answer(f, "POST /v1/actions/power",
		    "{'results':[{'node':'n1','code':0},{'node':'n2','code':0}]}");
	PHX_SAID s = phx(f, "node power n[1-2] off --wait --yes");
	assert_int_equal(s.status, 1);
	assert_has(s.errout,
		   "phx: n2: its system did not end within 300 s; phx node power n2 off "
		   "--hard cuts its power\n");
	assert_has(s.errout, "1 of 2 nodes are done");
}

static void power_status_prints_what_was_answered(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','power':'on'},{'name':'n2','power':'off'}]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events",
		    "{'events':[{'seq':12,'kind':'power_result','node':'n1','event':{'text':'"
		    "status: done'}}]}");
	fake_answer(f, "POST /v1/actions/power",
		    "{'results':[{'node':'n1','code':0},{'node':'n2','code':-113,'error':'n2 has "
		    "no BMC'}]}");
	PHX_SAID s = phx(f, "node power n[1-2] status");
	assert_int_equal(s.status, 1);
	assert_string_equal(s.out, "NODE  POWER\nn1    on\nn2    off\n");
	assert_string_equal(s.errout, "phx: n2: has no BMC\n");
}

static void accept_waits_until_it_has_enrolled(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1','state':'new'}]}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1','state':'new'}]}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1','state':'commissioning'}]}");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1','state':'ready'}]}");
	fake_answer(f, "GET /v1/status", "{'seq':10}");
	fake_answer(f, "GET /v1/events", "{'events':[]}");
	fake_answer(f, "POST /v1/actions/accept",
		    "{'results':[{'node':'n1','code':0,'changed':true}]}");
	PHX_SAID s = phx(f, "node accept n1 --wait");
	assert_int_equal(s.status, 0);
	assert_int_equal(f->answers[0].given + f->answers[1].given + f->answers[2].given +
				 f->answers[3].given,
			 4);
}

static void members_of_orders(void **state)
{
	struct fake_phxd *f = *state;
	two_nodes(f, "ready");
	static const struct {
		const char *line, *request, *answer_for, *part;
	} cases[] = {
		{"node accept n1 --name web1", "POST /v1/actions/accept", "", "\"name\":\"web1\""},
		{"node drain n1 --reason fan", "POST /v1/actions/drain", "", "\"text\":\"fan\""},
		{"node drain n1 --until 4h", "POST /v1/actions/drain", "", "\"until_ms\":1"},
		{"node quarantine n1 --reason fan", "POST /v1/actions/quarantine", "",
		 "\"text\":\"fan\""},
		{"node wipe n1 --method overwrite --yes", "POST /v1/actions/wipe", "",
		 "\"method\":\"overwrite\""},
		{"node rm n1 --yes --force", "POST /v1/actions/rm", "", "\"force\":true"},
		{"node release n1 --setup noop --power-cycle", "POST /v1/actions/release", "",
		 "\"mode\":\"noop\""},
		{"node assign n1 web-server --pool p --encrypt --pin", "POST /v1/actions/assign",
		 "", "\"pin\":true"},
		{"node bmc n1 driver=script script=/bin/true", "POST /v1/actions/bmc", "",
		 "\"script\":\"/bin/true\""},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		fake_answer(f, cases[i].request,
			    "{'results':[{'node':'n1','code':0,'changed':true}]}");
		PHX_SAID s = phx(f, cases[i].line);
		if (s.status != 0)
			fail_msg("%s: %s", cases[i].line, s.errout);
		assert_has(f->log, cases[i].part);
	}
}

static void statuses_become_exit_codes(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		int status, code;
	} cases[] = {{400, 64}, {403, 77}, {404, 64}, {409, 75},
		     {429, 75}, {500, 1},  {503, 75}, {507, 75}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		fake_reset(f);
		fake_answer_status(f, "GET /v1/nodes", cases[i].status, "{'error':'because'}");
		PHX_SAID s = phx(f, "node list");
		assert_int_equal(s.status, cases[i].code);
		assert_string_equal(s.errout, "phx: because\n");
	}
	/* what does not pass by itself is no "try again", whatever the status */
	static const struct {
		const char *name;
		int status, code;
	} named[] = {{"EBUSY", 409, 75}, {"EEXIST", 409, 64},   {"ENOTUNIQ", 409, 64},
		     {"ESTALE", 409, 1}, {"EPERM", 403, 77},    {"E2BIG", 413, 64},
		     {"EROFS", 507, 75}, {"ETIMEDOUT", 500, 1}, {"EDQUOT", 429, 75}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(named); i++) {
		char body[80];
		fake_reset(f);
		snprintf(body, sizeof(body), "{'error':'because','code':'%s'}", named[i].name);
		fake_answer_status(f, "GET /v1/nodes", named[i].status, body);
		PHX_SAID s = phx(f, "node list");
		assert_int_equal(s.status, named[i].code);
	}
	fake_reset(f);
	fake_answer(f, "GET /v1/nodes", "not JSON");
	PHX_SAID broken = phx(f, "node list");
	assert_int_equal(broken.status, 69);
}

static void no_daemon_is_69(void **state)
{
	(void)state;
	PHX_SAID s = phx_at("/nonexistent/phxd.sock", "node list");
	assert_int_equal(s.status, 69);
	assert_has(s.errout, "phxd cannot be reached");
}

static void wrong_words_are_64(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *line, *text;
	} cases[] = {
		{"node", "what to do with it? See phx help node"},
		{"nod list", "there is no command 'nod'; did you mean 'node'? see phx help"},
		{"node lst",
		 "there is no command 'node lst'; did you mean 'node list'? see phx help node"},
		{"node list n1 n2",
		 "'n2' is one word too many: a list of nodes is one word, like n1,n2"},
		{"node frobnicate", "there is no command 'node frobnicate'"},
		{"frobnicate", "there is no command 'frobnicate'"},
		{"node list --frob", "phx: node list: there is no option --frob\n"},
		{"node list -Z", "phx: node list: there is no option -Z\n"},
		{"node list --outputt=json",
		 "phx: node list: there is no option --outputt; did you mean '--output'?\n"},
		{"node add n1 --s", "phx: node add: --s is short for several options\n"},
		{"--confg /x node list",
		 "phx: there is no option --confg before the command; did you mean '--config'?\n"},
		{"node drain n1 --until yesterday",
		 "phx: --until: 'yesterday' is no time to come, such as 4h or 2026-12-01T08:00\n"},
		{"node power n1 onn",
		 "phx: node power: 'onn' is none of on|off|cycle|reset|status\n"},
		{"help nod", "phx: there is no command 'nod'; did you mean 'node'? see phx help\n"},
		{"help node lst",
		 "phx: there is no command 'node lst'; did you mean 'node list'? see phx help "
		 "node\n"},
		{"node assign n1", "ROLE is missing"},
		{"node assign n1 web-server extra", "'extra' is one word too many"},
		{"node list -o xml", "table, wide, json, yaml, name, tsv"},
		{"node assign n1 web-server --setup burn", "noop, data, reimage, wipe"},
		{"node assign n1 web-server --setup wipe:burn", "crypto"},
		{"node assign n1 web-server --timeout soon",
		 "\"soon\" is not a time; 90, 90s, 15m, 2h, 1d are"},
		{"node assign n1 web-server --timeout 5s",
		 "--timeout: nothing is waited for without --wait"},
		{"job submit --timeout 5s -- true",
		 "--timeout: nothing is waited for without --wait"},
		{"node assign n1 ../web", "is not a name"},
		{"node list --output", "needs a value"},
		{"node list --no-header=1", "takes no value"},
		{"job cancel one", "\"one\" is not a number"},
		{"--server http://x node list", "expected https://HEAD:PORT"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		PHX_SAID s = phx(f, cases[i].line);
		if (s.status != 64)
			fail_msg("%s: status %d", cases[i].line, s.status);
		assert_string_equal(s.out, "");
		assert_has(s.errout, cases[i].text);
	}
	assert_string_equal(f->log, "");
}

#define TEST(name) cmocka_unit_test_teardown(name, fake_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dry_run_prints_equal_plans_once),
		TEST(plan_is_a_dry_run_and_shows_what_is_followed),
		TEST(erasing_a_node_in_use_needs_yes),
		TEST(nodes_not_in_use_need_no_yes),
		TEST(already_so_is_success),
		TEST(rebuild_asks_even_for_one),
		TEST(jobs_that_end_are_asked_about),
		TEST(what_was_agreed_to_goes_with_the_order),
		TEST(a_drain_without_an_end_asks_nothing),
		TEST(a_dry_run_tells_what_is_refused),
		TEST(a_dry_run_tells_the_plan_that_begins),
		TEST(many_nodes_need_force),
		TEST(asks_on_a_terminal),
		TEST(progress_and_colour_are_for_terminals),
		TEST(watch_prints_again),
		TEST(unknown_role_is_told_with_the_nearest),
		TEST(one_unknown_node_stops_all),
		TEST(failures_are_folded_by_reason),
		TEST(busy_nodes_mean_try_again),
		TEST(wait_follows_until_the_role_is_held),
		TEST(wait_reports_quarantine_and_going_back),
		TEST(wait_gives_up_in_time),
		TEST(wait_notices_another_order),
		TEST(wait_follows_what_a_rule_begins),
		TEST(wait_tells_when_what_a_rule_began_fails),
		TEST(wait_outlives_a_daemon_that_is_away),
		TEST(power_waits_for_its_result),
		TEST(power_asks_what_it_would_end),
		TEST(power_on_asks_nothing),
		TEST(reboot_asks_unless_it_is_in_turn),
		TEST(a_turn_is_waited_for),
		TEST(a_soft_off_is_waited_for),
		TEST(power_status_prints_what_was_answered),
		TEST(accept_waits_until_it_has_enrolled),
		TEST(members_of_orders),
		TEST(statuses_become_exit_codes),
		TEST(no_daemon_is_69),
		TEST(wrong_words_are_64),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
