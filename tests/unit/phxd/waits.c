/* Clients that wait for events (cmd/phxd/waits.c): who is woken by which event, with how much
 * of it, and nobody else. The journal and the threads are real; who a person is the tests say:
 * root sees all, HPC is the service provider of the RE "mtc", and FORMER was it, others are
 * users. */
#include "unit/core/pair.h"

#include "fake/request.h"

#include <sys/socket.h>

#include "phxd/hang_ups.c" /* parts of a program, not of the library */
#include "phxd/view_hide.c"
#include "phxd/viewer.c"
#include "phxd/waits.c"
#include "fake/journal.h"

enum { ROOT, HPC = 500, FORMER, ALICE = 1000, BOB = 1001, NO_TIME = 0, LONG_MS = 1 << 30 };

static struct daemon d;
static struct waits *w;
static struct world *world;
static bool fake_refuses, fake_root_is_less; /* rights that are taken meanwhile */

/* what of the daemon it calls */

bool person_has_all(struct daemon *of, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)of, (void)right;
	return peer->uid == ROOT && !fake_root_is_less;
}
enum phx_scope person_scope(struct daemon *of, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	assert_int_equal(right, PHX_RIGHT_re_history);
	return person_has_all(of, peer, right) ? PHX_SCOPE_ALL
		: peer->uid == HPC             ? PHX_SCOPE_OWN
					       : PHX_SCOPE_NONE;
}
unsigned person_roles(struct daemon *of, const struct phx_http_peer *peer)
{
	(void)of;
	return peer->uid == HPC ? 1u << PHX_WHO_PROVIDER | 1u << PHX_WHO_USER : 1u << PHX_WHO_USER;
}
bool person_is_user(const struct phx_http_peer *peer)
{
	(void)peer;
	return true;
}
void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "uid:%u", (unsigned)peer->uid);
}
void person_of(struct daemon *of, const struct phx_http_peer *peer, struct person *ret)
{
	(void)of;
	*ret = (struct person){0};
	if (peer->uid == HPC || peer->uid == FORMER)
		PHX_STR_SET(ret->identity, "unix:hpc");
}
bool person_is(const struct person *p, const char *owner)
{
	return p->identity[0] && !strcmp(p->identity, owner);
}
bool person_require(struct daemon *of, struct phx_http_request *q, enum phx_right right)
{
	(void)of;
	assert_int_equal(right, PHX_RIGHT_events);
	if (fake_refuses)
		phx_http_reply_error(q, -EPERM, "not permitted");
	return !fake_refuses;
}
int reads_page(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *name,
	       phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	(void)name;
	return phx_store_reader_events(r, after, limit, NULL, fn, arg, err);
}
void reads_breathe(int64_t since_us)
{
	(void)since_us;
}
static int setup(void **state)
{
	fake_engine_begin();
	fake_requests_begin();
	fake_refuses = fake_root_is_less = false;
	world_setup(state);
	world = *state;
	fake_state = &world->s;
	d = (struct daemon){.cfg.polls_per_user = 1};
	if (fake_journal_begin() < 0)
		return -1;
	PHX_STR_SET(d.cfg.journal, fake_journal);
	return waits_new(&d, &w, NULL);
}

static int teardown(void **state)
{
	waits_free(PHX_TAKE(w));
	world_teardown(state);
	return fake_journal_end();
}

/* ---- asking ---- */

static void holds(struct phx_http_request *q, unsigned uid, const char *node, int64_t wait_ms)
{
	q->peer.uid = uid;
	waits_hold(w, q, 0, 100, node, wait_ms);
}

static uint32_t n_told(const struct phx_http_request *q)
{
	assert_int_equal(q->code, 200);
	return (uint32_t)json_array_size(json_object_get(q->json, "events"));
}

static const json_t *told(const struct phx_http_request *q, uint32_t i)
{
	assert_true(i < n_told(q));
	return json_array_get(json_object_get(q->json, "events"), i);
}

/* What the journal says now, for that user. */
static struct phx_http_request asked(unsigned uid)
{
	struct phx_http_request q = {.peer.uid = uid};
	waits_hold(w, &q, 0, 100, "", NO_TIME);
	fake_await();
	return q;
}

/* ---- who is woken ---- */

static void an_event_wakes_who_waits_for_its_node_and_nobody_else(void **state)
{
	struct phx_http_request n1 = {0}, n2 = {0}, user = {0}, n3 = {0};
	(void)state;
	holds(&n2, ROOT, "n2", LONG_MS);
	holds(&n1, ROOT, "n1", LONG_MS);
	holds(&user, ALICE, "n2", LONG_MS);
	waits_wake(w, happens("assign", "n1", "{}", "[]"));
	fake_await();
	assert_int_equal(n_told(&n1), 1);
	assert_string_equal(phx_json_str(told(&n1, 0), "node", ""), "n1");
	/* each lane has looked at whoever waited before this one is answered */
	waits_wake(w, happens("assign", "n3", "{}", "[]"));
	holds(&n3, ROOT, "n3", LONG_MS);
	fake_await();
	assert_int_equal(n_told(&n3), 1);
	assert_int_equal(n2.code, 0);
	waits_stop(w);
	assert_int_equal(n_told(&n2), 0);
	assert_int_equal(n_told(&user), 0);
	/* and they do not look at these events again */
	assert_int_equal(phx_json_int(n2.json, "last", 0), 2);
	fake_request_fini(&n1);
	fake_request_fini(&n2);
	fake_request_fini(&n3);
	fake_request_fini(&user);
}

static void what_came_of_an_event_for_another_node_concerns_that_node(void **state)
{
	struct phx_http_request n2 = {0};
	(void)state;
	holds(&n2, ROOT, "n2", LONG_MS);
	/* named, but nothing came of it: no reason to wake */
	waits_wake(w,
		   happens("assign", "n1", "{\"role\":\"n2\"}",
			   "[{\"kind\":\"order\",\"node\":\"n2\"}]"));
	waits_wake(w,
		   happens("assign", "n1", "{}",
			   "[{\"kind\":\"note\",\"node\":\"n2\",\"text\":\"it leaves\"}]"));
	fake_await();
	assert_int_equal(n_told(&n2), 1);
	assert_int_equal(phx_json_int(told(&n2, 0), "seq", 0), 2);
	/* the sentence is not what the event came to for its own node */
	assert_string_not_equal(phx_json_str(told(&n2, 0), "text", ""), "it leaves");
	fake_request_fini(&n2);
}

static void what_happened_before_is_told_at_once(void **state)
{
	struct phx_http_request q = {0}, later = {.peer.uid = ROOT};
	(void)state;
	for (int i = 0; i < 3; i++)
		waits_wake(w, happens("tick", "", "{}", "[]"));
	holds(&q, ROOT, "", LONG_MS);
	fake_await();
	assert_int_equal(n_told(&q), 3);
	waits_hold(w, &later, 2, 100, "", LONG_MS);
	fake_await();
	assert_int_equal(n_told(&later), 1);
	assert_int_equal(phx_json_int(told(&later, 0), "seq", 0), 3);
	fake_request_fini(&q);
	fake_request_fini(&later);
}

static void an_answer_is_full_at_its_limit_and_says_so(void **state)
{
	struct phx_http_request q = {.peer.uid = ROOT};
	(void)state;
	for (int i = 0; i < 5; i++)
		waits_wake(w, happens("tick", "", "{}", "[]"));
	waits_hold(w, &q, 0, 2, "", LONG_MS);
	fake_await();
	assert_int_equal(n_told(&q), 2);
	assert_true(phx_json_bool(q.json, "more", false));
	assert_int_equal(phx_json_int(q.json, "last", 0), 2);
	fake_request_fini(&q);
}

/* A request that has looked at many events for nothing says how far it got. */
static void nobody_looks_at_the_whole_journal_in_one_request(void **state)
{
	static struct phx_store_row rows[LOOKED_MAX + PAGE];
	struct phx_http_request q = {0};
	(void)state;
	for (uint64_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		rows[i].event = (struct phx_store_event){i + 1, 1, "job_submit", "", "{}", "[]"};
	assert_int_equal(phx_store_append(fake_store, rows, PHX_ARRAY_SIZE(rows), NULL), 0);
	waits_wake(w, PHX_ARRAY_SIZE(rows));
	holds(&q, ALICE, "", LONG_MS);
	fake_await();
	assert_int_equal(n_told(&q), 0);
	assert_true(phx_json_bool(q.json, "more", false));
	assert_int_equal(phx_json_int(q.json, "last", 0), LOOKED_MAX);
	fake_request_fini(&q);
}

/* ---- how much of it ---- */

static void who_is_no_administrator_is_told_no_whole_event(void **state)
{
	(void)state;
	waits_wake(w,
		   happens("assign", "n1", "{\"by\":\"uid:0\",\"disk\":\"serial-secret\"}",
			   "[{\"kind\":\"note\",\"node\":\"n1\",\"text\":\"erases "
			   "serial-secret\"},{\"kind\":\"note\",\"re\":\"mtc\",\"text\":\"for "
			   "its provider\"}]"));
	struct phx_http_request root = asked(ROOT), alice = asked(ALICE);
	const json_t *whole = told(&root, 0), *part = told(&alice, 0);
	assert_non_null(json_object_get(whole, "event"));
	assert_non_null(json_object_get(whole, "actions"));
	assert_string_equal(phx_json_str(whole, "text", ""), "erases serial-secret");
	assert_int_equal(json_array_size(json_object_get(whole, "notes")), 2);
	assert_null(json_object_get(part, "event"));
	assert_null(json_object_get(part, "actions"));
	assert_string_equal(phx_json_str(part, "text", ""), "erases serial-...");
	assert_int_equal(json_array_size(json_object_get(part, "notes")), 1);
	fake_request_fini(&root);
	fake_request_fini(&alice);
}

static void jobs_of_others_are_no_news(void **state)
{
	(void)state;
	waits_wake(w, happens("job_submit", "", "{\"by\":\"uid:1000\",\"argv\":[\"a\"]}", "[]"));
	waits_wake(w, happens("job_submit", "", "{\"by\":\"uid:1001\"}", "[]"));
	waits_wake(w, happens("job_cancel", "", "{}", "[]")); /* by nobody */
	struct phx_http_request root = asked(ROOT), alice = asked(ALICE), hpc = asked(HPC);
	assert_int_equal(n_told(&root), 3);
	assert_int_equal(n_told(&alice), 1);
	assert_int_equal(phx_json_int(told(&alice, 0), "seq", 0), 1);
	assert_non_null(json_object_get(told(&alice, 0), "event")); /* his own, whole */
	assert_int_equal(n_told(&hpc), 0);
	fake_request_fini(&root);
	fake_request_fini(&alice);
	fake_request_fini(&hpc);
}

static void an_event_of_an_re_is_news_for_its_owner_from_its_request_on(void **state)
{
	struct phx_agreement a = mtc_agreement("unix:hpc", 1);
	(void)state;
	world_ready(world, "n1", true);
	assert_int_equal(create(world, &a), 0);
	uint64_t asked_seq = phx_state_re(&world->s, "mtc")->asked_seq;
	assert_true(asked_seq > 2);
	while (phx_store_last(fake_store) < asked_seq - 1) /* of others, who had that name before */
		happens("re_activate", "", "{\"re\":\"mtc\",\"by\":\"uid:0\"}", "[]");
	happens("re_create", "",
		"{\"re_create\":{\"agreement\":{\"name\":\"mtc\"}},\"by\":\"uid:0\"}", "[]");
	happens("re_activate", "", "{\"re\":\"other\",\"by\":\"uid:0\"}", "[]");
	waits_wake(w, happens("re_activate", "", "{\"re\":\"mtc\",\"by\":\"uid:0\"}", "[]"));
	struct phx_http_request hpc = asked(HPC), alice = asked(ALICE);
	assert_int_equal(n_told(&hpc), 2);
	assert_int_equal(phx_json_int(told(&hpc, 0), "seq", 0), (int64_t)asked_seq);
	assert_int_equal(phx_json_int(told(&hpc, 1), "seq", 0), (int64_t)asked_seq + 2);
	assert_int_equal(n_told(&alice), 0);
	struct phx_http_request former = asked(FORMER); /* whose right was taken */
	assert_int_equal(n_told(&former), 0);
	fake_request_fini(&hpc);
	fake_request_fini(&alice);
	fake_request_fini(&former);
}

/* Of a refused request he sees what happened to it, and nothing of who had the name later. */
static void events_of_a_refused_request_are_for_who_asked(void **state)
{
	(void)state;
	struct phx_re_refusal *r = phx_list_push(&world->s.refusals, sizeof(*r));
	*r = (struct phx_re_refusal){.asked_ms = 2000, .at_ms = 3000};
	PHX_STR_SET(r->name, "lost");
	PHX_STR_SET(r->owner, "unix:hpc");
	for (int i = 0; i < 4; i++) /* at 1000, 2000, 3000, 4000 */
		waits_wake(w, happens("re_refuse", "", "{\"re\":\"lost\",\"by\":\"uid:0\"}", "[]"));
	struct phx_http_request hpc = asked(HPC);
	assert_int_equal(n_told(&hpc), 2);
	assert_int_equal(phx_json_int(told(&hpc, 0), "seq", 0), 2);
	fake_request_fini(&hpc);
}

static void runs_and_tasks_of_a_workflow_are_for_who_submitted_it(void **state)
{
	(void)state;
	struct phx_flowrun *run = phx_list_push(&world->s.workflows, sizeof(*run));
	*run = (struct phx_flowrun){.id = 7, .uid = ALICE};
	waits_wake(w, happens("workflow_cancel", "", "{\"workflow\":7,\"by\":\"uid:0\"}", "[]"));
	waits_wake(w, happens("task_results", "n1", "{\"rows\":[{\"run\":8},{\"run\":7}]}", "[]"));
	waits_wake(w, happens("task_results", "n1", "{\"rows\":[{\"run\":8}]}", "[]"));
	struct phx_http_request alice = asked(ALICE), bob = asked(BOB);
	assert_int_equal(n_told(&alice), 2);
	assert_non_null(json_object_get(told(&alice, 0), "event"));
	/* its rows may be of others, too */
	assert_int_equal(phx_json_int(told(&alice, 1), "seq", 0), 2);
	assert_null(json_object_get(told(&alice, 1), "event"));
	assert_int_equal(n_told(&bob), 0);
	fake_request_fini(&alice);
	fake_request_fini(&bob);
	phx_list_fini(&world->s.workflows);
}

/* ---- how it ends ---- */

static void a_client_that_hangs_up_is_held_no_longer(void **state)
{
	int gone[2], stays[2];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, gone), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, stays), 0);
	struct phx_http_request a = {.hang_up = stays[0]}, b = {.hang_up = gone[0]};
	holds(&a, ALICE, "", LONG_MS);
	holds(&b, ALICE, "", LONG_MS);
	close(gone[1]);
	fake_await();
	assert_int_equal(n_told(&b), 0);
	assert_int_equal(a.code, 0);
	/* it counts no more, and who stayed is told as before */
	waits_wake(w, happens("tick", "", "{}", "[]"));
	fake_await();
	assert_int_equal(n_told(&a), 1);
	fake_request_fini(&a);
	fake_request_fini(&b);
	close(gone[0]);
	close(stays[0]);
	close(stays[1]);
}

static void who_waits_in_vain_is_answered_when_his_time_is_over(void **state)
{
	struct phx_http_request q = {0}, at_once = {0};
	(void)state;
	holds(&at_once, ROOT, "n1", NO_TIME);
	fake_await();
	assert_int_equal(n_told(&at_once), 0);
	holds(&q, ROOT, "n1", 1);
	fake_await();
	assert_int_equal(n_told(&q), 0);
	assert_false(phx_json_bool(q.json, "more", true));
	fake_request_fini(&q);
	fake_request_fini(&at_once);
}

static void who_loses_the_right_is_answered_at_once(void **state)
{
	struct phx_http_request q = {0}, root = {0};
	(void)state;
	holds(&q, ALICE, "", LONG_MS);
	holds(&root, ROOT, "", LONG_MS);
	struct phx_http_request behind = asked(ALICE), behind_root = asked(ROOT);
	fake_request_fini(&behind); /* by now both were looked at */
	fake_request_fini(&behind_root);
	fake_root_is_less = true;
	d.rights++;
	waits_wake(w, 0);
	fake_await();
	assert_int_equal(root.code, -EPERM); /* he would be shown all; he asks again */
	assert_int_equal(q.code, 0);
	fake_refuses = true;
	d.rights++;
	waits_wake(w, happens("tick", "", "{}", "[]"));
	fake_await();
	assert_int_equal(q.code, -EPERM);
	assert_string_equal(q.text, "not permitted");
}

static void who_lost_the_right_before_he_was_held_is_refused(void **state)
{
	struct phx_http_request q = {0};
	(void)state;
	happens("tick", "", "{}", "[]");
	fake_refuses = true;
	holds(&q, ALICE, "", LONG_MS);
	fake_await();
	assert_int_equal(q.code, -EPERM);
	assert_false(q.held);
}

static void a_journal_that_cannot_be_read_is_told(void **state)
{
	struct phx_http_request q = {0};
	(void)state;
	fake_journal_breaks();
	holds(&q, ROOT, "", LONG_MS);
	fake_await();
	assert_true(q.code < 0);
	assert_true(q.text[0]);
}

static void whoever_has_too_many_is_not_held(void **state)
{
	struct phx_http_request q = {.busy = true}, other = {0};
	(void)state;
	holds(&q, ALICE, "", LONG_MS);
	assert_int_equal(q.code, 429);
	assert_false(q.held);
	fake_await();
	/* nothing of it is left: another answer to it would fail */
	waits_wake(w, happens("tick", "", "{}", "[]"));
	holds(&other, ALICE, "", LONG_MS);
	fake_await();
	assert_int_equal(n_told(&other), 1);
	fake_request_fini(&other);
}

static void after_the_end_nobody_is_held(void **state)
{
	struct phx_http_request before = {0}, after = {0};
	(void)state;
	holds(&before, ALICE, "n1", LONG_MS);
	waits_stop(w);
	assert_int_equal(n_told(&before), 0);
	holds(&after, ALICE, "n1", LONG_MS);
	assert_int_equal(after.code, -EAGAIN);
	waits_stop(w);
	fake_request_fini(&before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_event_wakes_who_waits_for_its_node_and_nobody_else),
		TEST(what_came_of_an_event_for_another_node_concerns_that_node),
		TEST(what_happened_before_is_told_at_once),
		TEST(an_answer_is_full_at_its_limit_and_says_so),
		TEST(nobody_looks_at_the_whole_journal_in_one_request),
		TEST(who_is_no_administrator_is_told_no_whole_event),
		TEST(jobs_of_others_are_no_news),
		TEST(an_event_of_an_re_is_news_for_its_owner_from_its_request_on),
		TEST(events_of_a_refused_request_are_for_who_asked),
		TEST(runs_and_tasks_of_a_workflow_are_for_who_submitted_it),
		TEST(a_client_that_hangs_up_is_held_no_longer),
		TEST(who_waits_in_vain_is_answered_when_his_time_is_over),
		TEST(who_loses_the_right_is_answered_at_once),
		TEST(who_lost_the_right_before_he_was_held_is_refused),
		TEST(a_journal_that_cannot_be_read_is_told),
		TEST(whoever_has_too_many_is_not_held),
		TEST(after_the_end_nobody_is_held),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
