/* What open browsers are told (cmd/phxd/feed.c): which nodes have changed, when all is to be read
 * again, and whose feed ends. The journal and the thread are real; the hub is a fake in which the
 * thread stands still between two turns, so that what it does in one is seen. */
#include "unit/core/world.h"

#include "fake/request.h"

#include <sys/syscall.h>

#include "phxd/feed.c" /* a part of a program, not of the library */
#include "fake/journal.h"

enum { READERS_MAX = 4, FRAMES_MAX = 16, ROOT = 0, ALICE = 1000 };

static struct daemon d;
static struct world *world;

/* ---- the clock ---- */

static int64_t fake_ahead_ms;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec += fake_ahead_ms / 1000;
	ts->tv_nsec += fake_ahead_ms % 1000 * 1000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_sec++;
		ts->tv_nsec -= 1000000000;
	}
	return r;
}

/* ---- the hub ---- */

struct phx_http_hub {
	struct {
		struct phx_http_peer peer;
		unsigned channel;
		bool ended;
	} readers[READERS_MAX];
	unsigned n_readers;
	struct {
		unsigned channel, n_readers; /* of it, when it was published */
		char *text;                  /* NULL: what was published is lost */
	} frames[FRAMES_MAX];
	unsigned n_frames, n_tells;
	bool ends;   /* the last turn */
	int rest_ms; /* as long as the thread wants to rest */
	sem_t asleep, go;
};

static struct phx_http_hub hub;

int phx_http_hub_new(unsigned n_channels, size_t keep_bytes, struct phx_http_hub **ret)
{
	(void)keep_bytes;
	assert_int_equal(n_channels, CHANNELS);
	hub = (struct phx_http_hub){0};
	sem_init(&hub.asleep, 0, 0);
	sem_init(&hub.go, 0, 0);
	*ret = &hub;
	return 0;
}
void phx_http_hub_free(struct phx_http_hub *h)
{
	for (unsigned i = 0; h && i < h->n_frames; i++)
		free(h->frames[i].text);
}
unsigned phx_http_hub_readers(struct phx_http_hub *h, unsigned channel)
{
	unsigned n = 0;
	for (unsigned i = 0; i < h->n_readers; i++)
		n += !h->readers[i].ended && h->readers[i].channel == channel;
	return n;
}
void phx_http_hub_read(struct phx_http_hub *h, struct phx_http_request *q, unsigned channel)
{
	assert_true(h->n_readers < READERS_MAX);
	assert_int_equal(pthread_mutex_trylock(&d.feed->joining), EBUSY);
	h->readers[h->n_readers].peer = q->peer;
	h->readers[h->n_readers++].channel = channel;
}
void phx_http_hub_publish(struct phx_http_hub *h, unsigned channel, char *event, size_t n)
{
	assert_true(h->n_frames < FRAMES_MAX);
	assert_int_equal(n, event ? strlen(event) : 0);
	h->frames[h->n_frames].channel = channel;
	h->frames[h->n_frames].n_readers = phx_http_hub_readers(h, channel);
	h->frames[h->n_frames++].text = event;
}
void phx_http_hub_end(struct phx_http_hub *h,
		      bool (*may)(void *arg, const struct phx_http_peer *peer, unsigned channel),
		      void *arg)
{
	if (may) /* nobody begins to read meanwhile */
		assert_int_equal(pthread_mutex_trylock(&d.feed->joining), EBUSY);
	for (unsigned i = 0; i < h->n_readers; i++)
		if (!may || !may(arg, &h->readers[i].peer, h->readers[i].channel))
			h->readers[i].ended = true;
}
void phx_http_hub_tell(struct phx_http_hub *h)
{
	h->n_tells++;
	if (h->ends)
		sem_post(&h->go);
}
void phx_http_hub_wait(struct phx_http_hub *h, int ms)
{
	h->rest_ms = ms;
	sem_post(&h->asleep);
	while (sem_wait(&h->go) < 0)
		;
}

/* ---- what else of the daemon it calls ---- */

static bool fake_less; /* a right was taken of everybody */
static bool fake_none; /* all were */
static bool fake_take; /* it is taken while the next frame is made */

bool person_has_all(struct daemon *of, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)of;
	assert_true(right == PHX_RIGHT_hardware || right == PHX_RIGHT_logs ||
		    right == PHX_RIGHT_catalog);
	/* what he may is so until he reads */
	assert_int_equal(pthread_mutex_trylock(&d.feed->joining), EBUSY);
	return peer->uid == ROOT && !fake_less;
}
enum phx_scope person_scope(struct daemon *of, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	(void)of, (void)peer;
	assert_int_equal(right, PHX_RIGHT_look);
	return fake_none ? PHX_SCOPE_NONE : PHX_SCOPE_ALL;
}
bool person_require(struct daemon *of, struct phx_http_request *q, enum phx_right right)
{
	if (person_scope(of, phx_http_peer(q), right) == PHX_SCOPE_NONE)
		phx_http_reply_error(q, -EPERM, "not permitted");
	return !fake_none;
}
void reads_breathe(int64_t since_us)
{
	(void)since_us;
}
/* The members say what they are of. */
int view_members(const char *list, const struct view_scopes *scopes, struct view_members *ret,
		 struct phx_err *err)
{
	enum phx_scope scope = scopes->hardware;
	(void)err;
	assert_int_equal(scopes->logs, scope);
	assert_int_equal(scopes->catalog, scope);
	*ret = (struct view_members){0};
	ret->shown[0] = scope == PHX_SCOPE_ALL;
	ret->shown[1] = strstr(list, ",plan");
	return 0;
}
void view_node_put(struct daemon *of, const struct phx_state *s, const struct phx_node *n,
		   const struct view_members *m, struct phx_buf *b)
{
	(void)of, (void)s;
	assert_true(m->less.empty);
	if (fake_take) {
		fake_less = true;
		d.rights++;
	}
	fake_take = false;
	phx_buf_addf(b, "\"%s%s%s\"", n->name, m->shown[0] ? " all" : "",
		     m->shown[1] ? " plan" : "");
}

static void stands_still(void)
{
	while (sem_wait(&hub.asleep) < 0)
		;
}

/* One turn of the thread, or several until it wants to rest. */
static void turns(void)
{
	sem_post(&hub.go);
	stands_still();
}

static int setup(void **state)
{
	fake_engine_begin();
	fake_requests_begin();
	fake_less = fake_none = fake_take = false;
	fake_ahead_ms = 0;
	world_setup(state);
	world = *state;
	fake_state = &world->s;
	world_ready(world, "n1", true);
	world_ready(world, "n2", true);
	if (fake_journal_begin() < 0)
		return -1;
	d = (struct daemon){.cfg.polls_per_user = 1};
	PHX_STR_SET(d.cfg.journal, fake_journal);
	happens("assign", "n2", "{}", "[]"); /* before its time */
	if (feed_new(&d, &d.feed, NULL) < 0)
		return -1;
	stands_still();
	return 0;
}

static int teardown(void **state)
{
	hub.ends = true;
	feed_free(PHX_TAKE(d.feed));
	world_teardown(state);
	return fake_journal_end();
}

static void joins(unsigned uid)
{
	struct phx_http_request q = {.peer.uid = uid};
	api_feed(&q, &d);
}

/* After the first readers have joined, who have heard nothing for long: nothing else is told. */
static void begins(void)
{
	turns();
	for (unsigned i = 0; i < hub.n_frames; i++) {
		assert_string_equal(hub.frames[i].text, ": nothing\n\n");
		free(hub.frames[i].text);
	}
	hub.n_frames = hub.n_tells = 0;
}

static void wake(uint64_t seq)
{
	feed_wake(d.feed, seq);
	fake_ahead_ms += FRAME_MS; /* of the next frame */
}

static void assert_frame(unsigned i, unsigned channel, const char *want)
{
	assert_true(i < hub.n_frames);
	assert_int_equal(hub.frames[i].channel, channel);
	if (!want)
		assert_null(hub.frames[i].text);
	else
		assert_string_equal(hub.frames[i].text ? hub.frames[i].text : "(lost)", want);
}

/* ---- what is told ---- */

static void nobody_reads_and_nothing_is_done(void **state)
{
	(void)state;
	assert_int_equal(hub.rest_ms, -1);
	wake(happens("assign", "n1", "{}", "[]"));
	assert_int_equal(hub.n_tells, 0);
	turns();
	assert_int_equal(hub.rest_ms, -1);
	assert_int_equal(hub.n_frames, 0);
}

static void the_first_reader_is_told_what_changes_from_then_on(void **state)
{
	(void)state;
	wake(happens("assign", "n1", "{}", "[]"));
	joins(ROOT);
	begins();
	wake(happens("release", "n2", "{}", "[]"));
	assert_int_equal(hub.n_tells, 1);
	turns();
	assert_int_equal(hub.n_frames, 1);
	assert_frame(0, ALL, "data: {\"seq\":3,\"nodes\":[\"n2 all\"],\"gone\":[]}\n\n");
}

static void each_channel_is_told_as_much_as_its_readers_may_see(void **state)
{
	(void)state;
	joins(ROOT);
	joins(ALICE);
	joins(ALICE);
	begins();
	assert_int_equal(world_order(world, PHX_EV_assign, "n1", "compute"), 0);
	/* n1 moves: its steps are shown; and an event is about whom its actions are about, too */
	wake(happens("assign", "n1", "{}",
		     "[{\"kind\":\"note\",\"node\":\"n2\"},{\"kind\":\"order\",\"node\":\"gone\"},"
		     "{\"kind\":\"note\"}]"));
	turns();
	assert_int_equal(hub.n_frames, 2);
	assert_frame(0, ALL,
		     "data: {\"seq\":2,\"nodes\":[\"n1 all plan\",\"n2 all\"],\"gone\":[\"gone\"]}"
		     "\n\n");
	assert_frame(1, NAMES,
		     "data: {\"seq\":2,\"nodes\":[\"n1 plan\",\"n2\"],\"gone\":[\"gone\"]}\n\n");
}

static void changes_within_one_frame_go_together(void **state)
{
	(void)state;
	joins(ALICE);
	begins();
	wake(happens("assign", "n1", "{}", "[]"));
	turns();
	assert_int_equal(hub.n_frames, 1);
	/* the next frame is not due yet */
	feed_wake(d.feed, happens("report", "n1", "{}", "[]"));
	turns();
	assert_in_range(hub.rest_ms, 1, FRAME_MS);
	assert_int_equal(hub.n_frames, 1);
	happens("report", "n2", "{}", "[]");
	wake(happens("report", "n1", "{}", "[]"));
	turns();
	assert_int_equal(hub.n_frames, 2);
	assert_frame(1, NAMES, "data: {\"seq\":5,\"nodes\":[\"n1\",\"n2\"],\"gone\":[]}\n\n");
}

static void events_about_no_node_are_no_news(void **state)
{
	(void)state;
	joins(ALICE);
	begins();
	wake(happens("tick", "", "{}", "[{\"kind\":\"note\",\"re\":\"hpc\"}]"));
	turns();
	assert_int_equal(hub.n_frames, 0);
	assert_in_range(hub.rest_ms, 1, QUIET_MS); /* and it was looked at */
}

static void with_very_many_changes_all_is_read_again(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	joins(ALICE);
	begins();
	for (int n = NODES_MAX; n <= NODES_MAX + 1; n++) {
		b.n = 0;
		for (int i = 0; i < n; i++)
			phx_buf_addf(&b, "%s{\"node\":\"m%d\"}", i ? "," : "[", i);
		phx_buf_addf(&b, "]");
		wake(happens("tick", "", "{}", b.data));
		turns();
	}
	assert_int_equal(hub.n_frames, 2);
	assert_true(
		phx_str_starts(hub.frames[0].text, "data: {\"seq\":2,\"nodes\":[],\"gone\":[\"m0"));
	assert_frame(1, NAMES, "event: lost\ndata: {\"seq\":3,\"nodes\":[],\"gone\":[]}\n\n");
}

/* More than a page of the journal at once. */
static void no_event_is_left_out(void **state)
{
	char name[16];
	(void)state;
	joins(ALICE);
	begins();
	for (int i = 0; i < PAGE + 3; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		happens("report", name, "{}", "[]");
	}
	wake(phx_store_last(fake_store));
	turns();
	assert_int_equal(hub.n_frames, 1);
	snprintf(name, sizeof(name), "\"m%d\"]", PAGE + 2);
	assert_non_null(strstr(hub.frames[0].text, name));
}

static void changes_that_cannot_be_read_are_lost_and_that_is_told(void **state)
{
	(void)state;
	joins(ROOT);
	joins(ALICE);
	begins();
	fake_journal_breaks();
	feed_wake(d.feed, 2);
	turns();
	assert_int_equal(hub.n_frames, 2);
	assert_frame(0, ALL, NULL);
	assert_frame(1, NAMES, NULL);
	/* once */
	wake(3);
	turns();
	assert_int_equal(hub.n_frames, 2);
	/* and once they can be read again: of those before nothing is known */
	fake_journal_heals();
	happens("report", "n1", "{}", "[]");
	happens("report", "n1", "{}", "[]");
	wake(happens("report", "n1", "{}", "[]"));
	turns();
	assert_int_equal(hub.n_frames, 4);
	assert_frame(2, ALL, NULL);
	assert_frame(3, NAMES, NULL);
	wake(happens("report", "n1", "{}", "[]"));
	turns();
	assert_int_equal(hub.n_frames, 6);
	assert_frame(5, NAMES, "data: {\"seq\":5,\"nodes\":[\"n1\"],\"gone\":[]}\n\n");
}

/* ---- who reads ---- */

/* So that a browser that is gone is found, and one whose session has ended. */
static void a_quiet_feed_says_so_and_looks_who_reads(void **state)
{
	(void)state;
	joins(ALICE);
	joins(ROOT);
	begins();
	fake_ahead_ms += QUIET_MS;
	fake_less = true; /* without that anybody granted or took a right */
	turns();
	assert_true(hub.readers[1].ended);
	assert_false(hub.readers[0].ended);
	assert_frame(hub.n_frames - 1, NAMES, ": nothing\n\n");
	assert_in_range(hub.rest_ms, 1, QUIET_MS);
}

static void who_loses_the_right_is_ended_before_the_next_frame(void **state)
{
	(void)state;
	joins(ROOT);
	joins(ALICE);
	begins();
	fake_less = true;
	d.rights++;
	wake(happens("assign", "n1", "{}", "[]"));
	turns();
	assert_true(hub.readers[0].ended);
	assert_false(hub.readers[1].ended);
	assert_int_equal(hub.n_frames, 1);
	assert_int_equal(hub.frames[0].channel, NAMES);
}

static void who_loses_the_right_is_ended_at_once(void **state)
{
	(void)state;
	joins(ROOT);
	joins(ALICE);
	begins();
	fake_less = true;
	d.rights++;
	turns(); /* nothing has happened */
	assert_true(hub.readers[0].ended);
	assert_false(hub.readers[1].ended);
	assert_int_equal(hub.n_frames, 0);
}

static void who_loses_the_right_while_a_frame_is_made_is_not_sent_it(void **state)
{
	(void)state;
	joins(ROOT);
	joins(ALICE);
	begins();
	fake_take = true;
	wake(happens("assign", "n1", "{}", "[]"));
	turns();
	assert_true(hub.readers[0].ended);
	assert_false(hub.readers[1].ended);
	for (unsigned i = 0; i < hub.n_frames; i++)
		assert_int_equal(hub.frames[i].n_readers, hub.frames[i].channel == NAMES);
	assert_frame(hub.n_frames - 1, NAMES,
		     "data: {\"seq\":2,\"nodes\":[\"n1\"],\"gone\":[]}\n\n");
}

static void who_has_lost_the_right_does_not_join(void **state)
{
	struct phx_http_request q = {.peer.uid = ROOT};
	(void)state;
	fake_none = true;
	api_feed(&q, &d);
	assert_int_equal(q.code, -EPERM);
	assert_int_equal(hub.n_readers, 0);
}

static void whoever_has_too_many_does_not_join(void **state)
{
	struct phx_http_request q = {.busy = true};
	(void)state;
	api_feed(&q, &d);
	assert_int_equal(q.code, 429);
	assert_int_equal(hub.n_readers, 0);
}

static void the_end_ends_all_feeds(void **state)
{
	(void)state;
	joins(ROOT);
	joins(ALICE);
	hub.ends = true;
	feed_stop(d.feed);
	assert_true(hub.readers[0].ended && hub.readers[1].ended);
	feed_stop(d.feed);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nobody_reads_and_nothing_is_done),
		TEST(the_first_reader_is_told_what_changes_from_then_on),
		TEST(each_channel_is_told_as_much_as_its_readers_may_see),
		TEST(changes_within_one_frame_go_together),
		TEST(events_about_no_node_are_no_news),
		TEST(with_very_many_changes_all_is_read_again),
		TEST(no_event_is_left_out),
		TEST(changes_that_cannot_be_read_are_lost_and_that_is_told),
		TEST(a_quiet_feed_says_so_and_looks_who_reads),
		TEST(who_loses_the_right_is_ended_before_the_next_frame),
		TEST(who_loses_the_right_is_ended_at_once),
		TEST(who_loses_the_right_while_a_frame_is_made_is_not_sent_it),
		TEST(who_has_lost_the_right_does_not_join),
		TEST(whoever_has_too_many_does_not_join),
		TEST(the_end_ends_all_feeds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
