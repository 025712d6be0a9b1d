/* Logs of services on nodes (cmd/phxd/logs.c): who may ask for those of which node, and what of the
 * question and of the answer goes on. The question's way to the agent is a fake. */
#include "fake/request.h"
#include "fake/engine.h"
#include "unit/core/world.h"

#include "phxd/logs.c" /* parts of a program, not of the library */
#include "phxd/parse.c"

static struct world *w;
static struct daemon d;

/* ---- what of the daemon it calls ---- */

static bool fake_all, fake_holds;
static const char *fake_agent; /* NULL: none that is known */
static unsigned n_put, n_told;
static json_t *words, *answer;
static struct asks_wish put;
static char told_node[PHX_NAME_MAX], told_error[64];
static uint64_t told_id;

bool person_has_all(struct daemon *of, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)of;
	(void)peer;
	fake_engine_is_free();
	return right == PHX_RIGHT_logs && fake_all;
}
void person_of(struct daemon *of, const struct phx_http_peer *peer, struct person *ret)
{
	(void)of;
	(void)peer;
	fake_engine_is_free();
	*ret = (struct person){"unix:alice", "alice"};
}
bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n)
{
	(void)s;
	(void)n;
	return fake_holds && !strcmp(p->login, "alice");
}
bool person_agent(struct daemon *of, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)of;
	if (!fake_agent)
		phx_http_reply_error(q, -EACCES, "not the node's present one");
	return fake_agent && phx_str_copy(ret_node, PHX_NAME_MAX, fake_agent) == 0;
}
json_t *body_json(struct phx_http_request *q)
{
	json_t *j = NULL;
	if (phx_json_parse(q->body, strlen(q->body), &j, NULL) < 0)
		phx_http_reply_error(q, -EINVAL, "no JSON");
	return j;
}
void asks_put(struct asks *k, struct phx_http_request *q, const struct asks_wish *wish)
{
	(void)k;
	(void)q;
	n_put++;
	json_decref(words);
	put = *wish;
	words = wish->words;
}
void asks_told(struct asks *k, const struct asks_kind *of, const char *node, uint64_t id,
	       const char *error, json_t *j)
{
	(void)k;
	assert_ptr_equal(of, &kind);
	n_told++;
	told_id = id;
	PHX_STR_SET(told_node, node);
	PHX_STR_SET(told_error, error);
	json_decref(answer);
	answer = json_deep_copy(j);
}

static bool fake_room;
static unsigned n_rows;
static struct phx_start_row rows[512];
static char starts_db[64];
bool live_may_tell(struct live *l, const char *node, size_t bytes)
{
	(void)l;
	assert_string_equal(node, "n1");
	return fake_room && bytes < 100000;
}
void starts_tell(struct starts *s, const struct phx_start_row *row)
{
	(void)s;
	assert_true(n_rows < PHX_ARRAY_SIZE(rows));
	rows[n_rows++] = *row;
}
void starts_settle(struct starts *s, int64_t ms)
{
	(void)s;
	(void)ms;
	fake_engine_is_free();
}
const char *starts_path(const struct starts *s)
{
	(void)s;
	return starts_db;
}

static int setup(void **state)
{
	world_setup((void **)&w);
	*state = w;
	fake_state = &w->s;
	d = (struct daemon){.rights = 3};
	world_ready(w, "n1", true);
	world_node(w, "n1")->env = PHX_ENV_OS;
	fake_all = true;
	fake_holds = false;
	fake_agent = "n1";
	n_put = n_told = n_rows = 0;
	fake_room = true;
	snprintf(starts_db, sizeof(starts_db), "/tmp/phx-logs-XXXXXX");
	return close(mkstemp(starts_db));
}

static void remove_starts(void)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ends); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s%s", starts_db, ends[i]);
		unlink(path);
	}
}

static int teardown(void **state)
{
	fake_engine_is_free();
	remove_starts();
	json_decref(PHX_TAKE(words));
	json_decref(PHX_TAKE(answer));
	return world_teardown(state);
}

static int asks_about(const char *node, const char *name, const char *value)
{
	FAKE_REQUEST q = {.params = {node}, .query = {{name, value}}};
	unsigned before = n_put;
	api_node_logs(&q, &d);
	/* either it is answered, or it goes to the agent */
	assert_int_equal(n_put - before, q.code == 0);
	return q.code;
}

/* ---- who may ask ---- */

static void who_has_the_node_or_all_of_them_may_ask(void **state)
{
	(void)state;
	assert_int_equal(asks_about("n1", NULL, NULL), 0);
	assert_string_equal(put.node, "n1");
	assert_int_equal(put.kind->right, PHX_RIGHT_logs);
	assert_int_equal(put.rights, 3);
	fake_all = false;
	assert_int_equal(asks_about("n1", NULL, NULL), -EACCES);
	fake_holds = true;
	assert_int_equal(asks_about("n1", NULL, NULL), 0);
	/* it is asked again when rights have changed */
	FAKE_REQUEST q = {.params = {"n1"}};
	struct phx_err err = {0};
	assert_int_equal(put.kind->may(&d, &q, "n1", &err), 0);
	fake_holds = false;
	assert_int_equal(put.kind->may(&d, &q, "n1", &err), -EACCES);
}

static void a_node_that_cannot_answer_is_not_asked(void **state)
{
	(void)state;
	assert_int_equal(asks_about("n2", NULL, NULL), -ENOENT);
	world_node(w, "n1")->env = PHX_ENV_DEPLOY;
	assert_int_equal(asks_about("n1", NULL, NULL), -EBUSY);
	world_node(w, "n1")->up = false;
	assert_int_equal(asks_about("n1", NULL, NULL), -EAGAIN);
	/* who may not ask does not learn how it is */
	fake_all = false;
	assert_int_equal(asks_about("n1", NULL, NULL), -EACCES);
}

/* ---- the question ---- */

static void a_question_is_bounded(void **state)
{
	char cursor[PHX_LOGS_CURSOR_MAX + 1];
	(void)state;
	memset(cursor, 'c', sizeof(cursor));
	cursor[PHX_LOGS_CURSOR_MAX] = '\0';
	const struct {
		const char *name, *value;
	} wrong[] = {{"service", "../x"}, {"service", "a b"},    {"service", "-f"},
		     {"after", cursor},   {"after", "\xff\xfe"}, {"lines", "10001"},
		     {"lines", "-1"},     {"lines", "ten"},      {"wait", "26"},
		     {"wait", "1.5"},     {"lines", ""}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++)
		assert_int_equal(asks_about("n1", wrong[i].name, wrong[i].value), -EINVAL);
	cursor[PHX_LOGS_CURSOR_MAX - 1] = '\0';
	assert_int_equal(asks_about("n1", "after", cursor), 0);
	assert_string_equal(phx_json_str(words, "cursor", ""), cursor);
	assert_int_equal(asks_about("n1", "lines", "10000"), 0);
	assert_int_equal(phx_json_int(words, "lines", 0), 10000);
	assert_int_equal(asks_about("n1", "wait", "25"), 0);
	assert_int_equal(phx_json_int(words, "wait_ms", 0), 25000);
	assert_int_equal(put.wait_ms, 25000);
	assert_int_equal(asks_about("n1", "service", "nginx"), 0);
	assert_string_equal(phx_json_str(words, "service", ""), "nginx");
	assert_int_equal(phx_json_int(words, "lines", 0), LINES);
	assert_int_equal(put.wait_ms, 0);
	assert_int_equal(asks_about("n1", "service", ""), 0); /* all of them */
}

/* ---- the answer ---- */

static int answers(const char *body)
{
	FAKE_REQUEST q = {.body = body};
	api_agent_logs(&q, &d);
	return q.code;
}

static void an_agent_answers_for_its_own_node(void **state)
{
	(void)state;
	assert_int_equal(answers("{\"id\":7,\"node\":\"n9\",\"service\":\"nginx\",\"text\":\"up\","
				 "\"cursor\":\"c\",\"other\":1}"),
			 200);
	assert_string_equal(told_node, "n1");
	assert_int_equal(told_id, 7);
	assert_string_equal(told_error, "");
	PHX_AUTO_FREE char *text = phx_json_text(answer);
	assert_string_equal(text,
			    "{\"node\":\"n1\",\"service\":\"nginx\",\"text\":\"up\","
			    "\"cursor\":\"c\"}");
	assert_int_equal(answers("{\"id\":8,\"error\":\"no such service\"}"), 200);
	assert_int_equal(told_id, 8);
	assert_string_equal(told_error, "no such service");
}

/* What nobody asked for is kept, line by line, cleaned; of very much the end. */
static void what_failed_is_kept(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf many = {0};
	(void)state;
	assert_int_equal(answers("{\"id\":0,\"step\":12,\"text\":\"one\\ntwo\\u001b[2J\\n\"}"),
			 200);
	assert_int_equal(n_told, 0);
	assert_int_equal(n_rows, 2);
	assert_int_equal(rows[0].kind, PHX_START_log);
	assert_true(rows[0].proven);
	assert_string_equal(rows[0].node, "n1");
	assert_string_equal(rows[0].text, "step 12: one");
	assert_string_equal(rows[1].text, "step 12: two [2J");
	assert_int_equal(answers("{\"id\":0,\"service\":\"web\",\"text\":\"down\"}"), 200);
	assert_string_equal(rows[2].text, "service web: down");
	n_rows = 0;
	phx_buf_addf(&many, "{\"id\":0,\"step\":1,\"text\":\"");
	for (int i = 1; i <= 300; i++)
		phx_buf_addf(&many, "%d\\n", i);
	phx_buf_addf(&many, "\"}");
	assert_int_equal(answers(many.data), 200);
	assert_int_equal(n_rows, KEPT_LINES);
	assert_string_equal(rows[0].text, "step 1: 101");
	assert_string_equal(rows[n_rows - 1].text, "step 1: 300");
	fake_room = false; /* it sends more than is kept of one node */
	n_rows = 0;
	assert_int_equal(answers("{\"id\":0,\"step\":12,\"text\":\"one\"}"), 200);
	assert_int_equal(n_rows, 0);
}

/* The words of agent and kernel are the provider's alone, and a silent node's are what was kept. */
static void kept_ones_are_shown(void **state)
{
	static const struct phx_start_row put_rows[] = {
		{.node = "n1", .kind = PHX_START_log, .proven = true, .text = "step 1: one"},
		{.node = "n1", .kind = PHX_START_log, .proven = true, .text = "step 12: two"},
		{.node = "n1", .kind = PHX_START_beacon, .text = "step 1: of a stranger"},
	};
	struct phx_starts *db = NULL;
	(void)state;
	remove_starts();
	assert_int_equal(phx_starts_open(starts_db, 1 << 20, &db, NULL), 0);
	assert_int_equal(phx_starts_put(db, put_rows, PHX_ARRAY_SIZE(put_rows), NULL), 0);
	phx_starts_close(db);
	world_node(w, "n1")->up = false;
	FAKE_REQUEST q = {.params = {"n1"}, .query = {{"of", "kept"}, {"step", "1"}}};
	api_node_logs(&q, &d);
	assert_int_equal(q.code, 200);
	assert_string_equal(phx_json_str(q.json, "text", ""), "one\n");
	FAKE_REQUEST all = {.params = {"n1"}, .query = {{"of", "kept"}}};
	api_node_logs(&all, &d);
	assert_string_equal(phx_json_str(all.json, "text", ""), "step 1: one\nstep 12: two\n");
	fake_all = false;
	fake_holds = true;
	static const char *const of[] = {"kept", "agent", "kernel"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(of); i++) {
		FAKE_REQUEST his = {.params = {"n1"}, .query = {{"of", of[i]}}};
		api_node_logs(&his, &d);
		assert_int_equal(his.code, -EACCES);
	}
	FAKE_REQUEST none = {.params = {"n1"}, .query = {{"of", "disks"}}};
	api_node_logs(&none, &d);
	assert_int_equal(none.code, -EINVAL);
}

/* In the deploy environment run no services, and the agent answers. */
static void the_agent_answers_where_no_services_run(void **state)
{
	(void)state;
	world_node(w, "n1")->env = PHX_ENV_DEPLOY;
	FAKE_REQUEST q = {.params = {"n1"}, .query = {{"of", "agent"}, {"step", "7"}}};
	api_node_logs(&q, &d);
	assert_int_equal(n_put, 1);
	assert_string_equal(phx_json_str(words, "of", ""), "agent");
	assert_int_equal(phx_json_int(words, "step", 0), 7);
	FAKE_REQUEST none = {.params = {"n1"}};
	api_node_logs(&none, &d);
	assert_int_equal(none.code, -EBUSY);
}

static void who_is_no_agent_answers_nothing(void **state)
{
	(void)state;
	fake_agent = NULL;
	assert_int_equal(answers("{\"id\":7}"), -EACCES);
	fake_agent = "n1";
	assert_int_equal(answers("{"), -EINVAL);
	assert_int_equal(n_told, 0);
	assert_int_equal(answers("{\"id\":\"7\"}"), -EINVAL);
	assert_int_equal(answers("{\"id\":7,\"text\":5}"), -EINVAL);
	assert_int_equal(answers("{\"id\":7,\"service\":\"a\\u001bb\"}"), -EINVAL);
	assert_int_equal(n_told, 0);
	/* what is not there, is nothing */
	assert_int_equal(answers("{\"id\":7,\"text\":null}"), 200);
	assert_string_equal(phx_json_str(answer, "text", "?"), "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_has_the_node_or_all_of_them_may_ask),
		T(a_node_that_cannot_answer_is_not_asked),
		T(a_question_is_bounded),
		T(an_agent_answers_for_its_own_node),
		T(what_failed_is_kept),
		T(kept_ones_are_shown),
		T(the_agent_answers_where_no_services_run),
		T(who_is_no_agent_answers_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
