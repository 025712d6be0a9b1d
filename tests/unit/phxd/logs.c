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
	n_put = n_told = 0;
	return 0;
}

static int teardown(void **state)
{
	fake_engine_is_free();
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
		T(who_is_no_agent_answers_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
