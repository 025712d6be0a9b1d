/* Questions of people to agents (cmd/phxd/asks.c): an answer reaches who asked for it, and nobody
 * else's does. Requests, people and agents are fakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <semaphore.h>
#include <cmocka.h>

#include "phxd/asks.c" /* parts of a program, not of the library */
#include "phxd/hang_ups.c"

struct phx_http_request {
	int code; /* 0: not answered yet; 200 */
	char text[400];
	json_t *answer;
};

static sem_t answered;
static int may_code;

void phx_http_suspend(struct phx_http_request *q)
{
	assert_int_equal(q->code, 0);
}
bool phx_http_claim(struct phx_http_request *q, enum phx_http_claim what, unsigned max)
{
	(void)q;
	(void)what;
	return max;
}
bool phx_http_gone(const struct phx_http_request *q)
{
	(void)q;
	return false;
}
struct pollfd phx_http_hang_up(const struct phx_http_request *q)
{
	(void)q;
	return (struct pollfd){.fd = -1};
}
void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	assert_int_equal(q->code, 0);
	q->code = code;
	snprintf(q->text, sizeof(q->text), "%s", text);
	sem_post(&answered);
}
void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	assert_int_equal(q->code, 0);
	q->code = status;
	q->answer = json_deep_copy(j);
	sem_post(&answered);
}
void live_wake(struct live *l, const char *node)
{
	(void)l;
	(void)node;
}
bool person_require(struct daemon *d, struct phx_http_request *q, enum phx_right right)
{
	(void)d;
	(void)q;
	return right == PHX_RIGHT_job_output;
}

static int may(struct daemon *d, struct phx_http_request *q, const char *node, struct phx_err *err)
{
	(void)d;
	(void)q;
	return may_code ? phx_err_set(err, may_code, "%s is not his any more", node) : 0;
}

static const struct asks_kind kind = {PHX_ORDER_output, PHX_RIGHT_job_output, may};
static const struct asks_kind other_kind = {PHX_ORDER_logs, PHX_RIGHT_job_output, may};
static struct daemon d;
static struct asks *k;

static int setup(void **state)
{
	(void)state;
	d = (struct daemon){.started_ms = 100, .cfg.polls_per_user = 1};
	may_code = 0;
	return sem_init(&answered, 0, 0) || asks_new(&d, &k);
}
static int teardown(void **state)
{
	(void)state;
	asks_free(k);
	return sem_destroy(&answered);
}

static void ask(const char *node, struct phx_http_request *q)
{
	const struct asks_wish wish = {.kind = &kind,
				       .node = node,
				       .words = json_pack("{s:i}", "from", 7),
				       .frame = json_pack("{s:s}", "node", node),
				       .rights = d.rights};
	*q = (struct phx_http_request){0};
	asks_put(k, q, &wish);
}

/* What the agent of a node is told; the caller's. */
static char *told(const char *node)
{
	struct phx_buf b = {0};
	asks_orders_put(k, node, &b);
	return phx_buf_take(&b);
}

static void answers(const struct asks_kind *of, const char *node, uint64_t id, const char *error)
{
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:s}", "hex", "6161", "node", "n9");
	asks_told(k, of, node, id, error, j);
}

static void an_answer_reaches_who_asked(void **state)
{
	struct phx_http_request q;
	(void)state;
	ask("n1", &q);
	/* it was not told yet: its number was guessed */
	answers(&kind, "n1", 101, "");
	assert_int_equal(q.code, 0);
	PHX_AUTO_FREE char *nothing = told("n2"), *text = told("n1"), *again = told("n1");
	assert_true(!nothing || !nothing[0]);
	assert_string_equal(text, "{\"kind\":\"output\",\"id\":101,\"output\":{\"from\":7}}");
	assert_true(!again || !again[0]);
	answers(&kind, "n2", 101, "");
	answers(&other_kind, "n1", 101, "");
	answers(&kind, "n1", 102, "");
	assert_int_equal(q.code, 0);
	answers(&kind, "n1", 101, "");
	assert_int_equal(q.code, 200);
	/* what the head knows itself the node does not say */
	assert_string_equal(phx_json_str(q.answer, "node", ""), "n1");
	assert_string_equal(phx_json_str(q.answer, "hex", ""), "6161");
	answers(&kind, "n1", 101, ""); /* a second one reaches nobody */
	json_decref(q.answer);
}

static void an_error_is_told_of_its_node(void **state)
{
	struct phx_http_request q;
	(void)state;
	ask("n1", &q);
	PHX_AUTO_FREE char *text = told("n1");
	answers(&kind, "n1", 101, "nothing is kept\xff");
	assert_int_equal(q.code, -ENOENT);
	assert_int_equal(strncmp(q.text, "n1: nothing is kept", 19), 0);
	assert_null(strchr(q.text, '\xff'));
}

static void there_is_room_for_few(void **state)
{
	struct phx_http_request q[ASKS_OF_NODE_MAX + 1], other;
	(void)state;
	for (int i = 0; i <= ASKS_OF_NODE_MAX; i++)
		ask("n1", &q[i]);
	ask("n2", &other);
	assert_int_equal(q[ASKS_OF_NODE_MAX - 1].code, 0);
	assert_int_equal(q[ASKS_OF_NODE_MAX].code, -EBUSY);
	assert_int_equal(other.code, 0);
	d.cfg.polls_per_user = 0; /* he has enough of them */
	struct phx_http_request more;
	ask("n3", &more);
	PHX_AUTO_FREE char *nothing = told("n3");
	assert_true(!nothing || !nothing[0]);
	asks_stop(k);
	assert_int_equal(q[0].code, -EAGAIN);
	assert_int_equal(other.code, -EAGAIN);
}

static void who_loses_the_right_is_refused(void **state)
{
	struct phx_http_request q;
	(void)state;
	ask("n1", &q);
	PHX_AUTO_FREE char *text = told("n1");
	may_code = -EACCES;
	d.rights++;
	asks_wake(k);
	assert_int_equal(sem_wait(&answered), 0);
	assert_int_equal(q.code, -EACCES);
	assert_string_equal(q.text, "n1 is not his any more");
	answers(&kind, "n1", 101, "");
}

/* The agent answers before the loss is noticed. */
static void who_has_lost_the_right_is_not_told_what_comes_then(void **state)
{
	struct phx_http_request q;
	(void)state;
	ask("n1", &q);
	PHX_AUTO_FREE char *text = told("n1");
	may_code = -EACCES;
	d.rights++;
	answers(&kind, "n1", 101, "");
	assert_int_equal(q.code, -EACCES);
	assert_null(q.answer);
}

/* Others got a right, or lost one: he waits on, and is answered. */
static void who_keeps_the_right_waits_on(void **state)
{
	struct phx_http_request q;
	(void)state;
	ask("n1", &q);
	PHX_AUTO_FREE char *text = told("n1");
	d.rights++;
	answer_due(k, phx_clock_ms());
	answers(&kind, "n1", 101, "");
	assert_int_equal(q.code, 200);
	json_decref(q.answer);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_reaches_who_asked),
		TEST(an_error_is_told_of_its_node),
		TEST(there_is_room_for_few),
		TEST(who_loses_the_right_is_refused),
		TEST(who_keeps_the_right_waits_on),
		TEST(who_has_lost_the_right_is_not_told_what_comes_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
