/* What depends on the terminal's width, in a pseudo-terminal; and formats for programs, which
 * depend on nothing. */
#include "fake/phxd.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

#define LONG "rack-17-enclosure-04-blade-12-of-the-second-building-behind-it"

static void answer_nodes(struct fake_phxd *f)
{
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'" LONG
		    "','state':'active','pool':'web','role':'pages','up':true,'up_since_ms':1000,"
		    "'facts':{'memory_bytes':2147483648,'disks':[]},"
		    "'reason':'a reason in many words that is wider than any terminal on which "
		    "somebody would ever read it'}]}");
}

/* What `phx node list` prints on a terminal of so many columns. */
static void list_at(struct fake_phxd *f, unsigned short columns, char *ret, size_t size)
{
	struct winsize w = {.ws_row = 24, .ws_col = columns};
	int fd;
	const char *program = phx_program();
	char where[PATH_MAX];
	snprintf(where, sizeof(where), "PHX_SOCKET=%s", f->socket);
	/* the fake has threads: the child allocates nothing */
	pid_t pid = forkpty(&fd, NULL, NULL, &w);
	assert_true(pid >= 0);
	if (pid == 0) {
		execl("/usr/bin/env", "env", "-u", "COLUMNS", "TERM=dumb", "NO_COLOR=1", where,
		      program, "node", "list", NULL);
		_exit(127);
	}
	size_t n = 0;
	for (ssize_t got; n + 1 < size && (got = read(fd, ret + n, size - 1 - n)) > 0;)
		n += (size_t)got;
	ret[n] = '\0';
	close(fd);
	waitpid(pid, NULL, 0);
}

static unsigned lines(const char *text)
{
	unsigned n = 0;
	for (const char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

/* A row is a line, whatever is in it; only the last column is cut. */
static void a_row_is_a_line(void **state)
{
	struct fake_phxd *f = *state;
	char text[8192];
	answer_nodes(f);
	list_at(f, 60, text, sizeof(text));
	assert_has(text, LONG "  active");
	assert_has(text, "ever read it"); /* the terminal breaks it */
	assert_int_equal(lines(text), 2);
	list_at(f, 130, text, sizeof(text));
	assert_has(text, LONG "  active");
	assert_lacks(text, "ever read it");
	assert_int_equal(lines(text), 2);
}

/* Programs want numbers. */
static void cells_are_plain_for_programs(void **state)
{
	struct fake_phxd *f = *state;
	answer_nodes(f);
	PHX_SAID nodes = phx(f, "node list -o tsv");
	assert_has(nodes.out, "\t2147483648\t");
	assert_lacks(nodes.out, " d ");
	PHX_SAID people = phx(f, "node list -o wide");
	assert_has(people.out, "2.0 GiB");
	fake_answer(
		f, "GET /v1/jobs",
		"{'jobs':[{'id':4,'state':'done','started_ms':1000,'ended_ms':529250,'parts':[],"
		"'argv':[{'text':'sleep'},{'text':'1'}],'estimate_ms':600000}]}");
	PHX_SAID jobs = phx(f, "job list -o csv");
	assert_has(jobs.out, ",528.250,600,");
	PHX_SAID table = phx(f, "job list");
	assert_has(table.out, "8 min 48 s");
	PHX_SAID json = phx(f, "job list -o json");
	assert_has(json.out, "\"argv\": [\n        \"sleep\",\n        \"1\"\n      ]");
}

/* What a user wrote steers no terminal, and does not look like a line of phx. */
static void words_of_users_are_words(void **state)
{
	static const char *const asked[] = {"job show 11", "job show 11 -o yaml",
					    "job show 11 -o json", "job list", "job list -o json"};
	struct fake_phxd *f = *state;
#define JOB \
	"{'id':11,'state':'queued','user':'eve','parts':[],'argv':[{'text':" \
	"'a\xc2\x9b[31mRED\xc2\x9d;t'},{'text':'x\\n  State        done'}," \
	"{'text':'\xe2\x80\xae'}]}"
	fake_answer(f, "GET /v1/jobs/11", JOB);
	fake_answer(f, "GET /v1/jobs", "{'jobs':[" JOB "]}");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(asked); i++) {
		PHX_SAID said = phx(f, asked[i]);
		assert_has(said.out, "RED");
		assert_lacks(said.out, "\xc2\x9b");
		assert_lacks(said.out, "\xc2\x9d");
		assert_lacks(said.out, "\xe2\x80\xae");
		assert_lacks(said.out, "\n  State        done");
	}
#undef JOB
}

static void one_node_is_a_list_too(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1'},{'name':'n2'}]}");
	PHX_SAID one = phx(f, "node show n1 -o json");
	assert_has(one.out, "{\n  \"nodes\": [\n    {\n      \"name\": \"n1\"\n    }\n  ]\n}\n");
	PHX_SAID two = phx(f, "node show n1,n2 -o json");
	assert_has(two.out, "{\n  \"nodes\": [\n    {\n      \"name\": \"n1\"\n    },\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_row_is_a_line, fake_clean),
		cmocka_unit_test_teardown(cells_are_plain_for_programs, fake_clean),
		cmocka_unit_test_teardown(words_of_users_are_words, fake_clean),
		cmocka_unit_test_teardown(one_node_is_a_list_too, fake_clean),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
