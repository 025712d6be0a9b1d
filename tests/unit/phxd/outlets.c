/* Outlets (cmd/phxd/outlets.c, outlet_tell.c): from where on each is told, in which order, what
 * happens while one fails or hangs, what is dropped, and what is said of it. The journal is real;
 * the process that tells a program or a webhook is a fake of this file's, a thread behind a real
 * socket. */
#include "fake/request.h"

#include <pthread.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/tree.h"

/* parts of a program, not of the library */
#include "phxd/outlet_tell.c"
#include "phxd/outlets.c"

enum { EVENTS_MAX = 64, HOURS_MS = 3600 * 1000 };

static struct daemon d;
static struct phx_store *store;
static struct outlets *o;
static char dir[64];
static struct phx_err err;
static uint64_t seq;

/* ---- what they call ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char notices[4096];
static struct {
	const char *programs; /* what the list says */
	int result;           /* of each event */
	int64_t refuses;      /* that event alone, with that result; 0: all */
	const char *hangs;    /* the name of one that is not answered until it is cut off */
	unsigned n_ended;     /* processes */
	char told[1024];      /* "NAME:SEQ " each */
} fake;

struct phx_store *engine_store(struct engine *e)
{
	(void)e;
	return store;
}

void engine_notice(struct engine *e, const char *re, const char *text)
{
	(void)e, (void)re;
	pthread_mutex_lock(&lock);
	strncat(notices, text, sizeof(notices) - strlen(notices) - 2);
	strcat(notices, "\n");
	pthread_mutex_unlock(&lock);
}

static int fake_tell(const struct phx_apart_question *q, struct phx_err *e)
{
	PHX_AUTO_JSON json_t *j = json_loads(q->body, 0, NULL);
	size_t n;
	pthread_mutex_lock(&lock);
	bool all = !fake.refuses || fake.refuses == phx_json_int(j, "seq", 0);
	int r = all ? fake.result : 0;
	bool hangs = fake.hangs && !strcmp(fake.hangs, q->name);
	unsigned n_ended = fake.n_ended;
	n = strlen(fake.told);
	if (r == 0 && !hangs)
		snprintf(fake.told + n, sizeof(fake.told) - n, "%s:%lld ", q->name,
			 (long long)phx_json_int(j, "seq", 0));
	pthread_mutex_unlock(&lock);
	while (hangs) {
		phx_sleep_ms(20);
		pthread_mutex_lock(&lock);
		hangs = n_ended == fake.n_ended;
		pthread_mutex_unlock(&lock);
		r = -EPIPE; /* as the end of a process has it */
	}
	return r ? phx_err_set(e, r, "it says no") : 0;
}

static int fake_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		       struct phx_err *e)
{
	(void)arg;
	if (q->op != PHX_OUTLET_list)
		return fake_tell(q, e);
	pthread_mutex_lock(&lock);
	phx_buf_addf(&ret->body, "%s", fake.programs);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Its questions are answered by threads, so that its end is seen while one hangs. */
static void *fake_process(void *arg)
{
	/* those who answer outlive this thread */
	static const struct phx_apart_server server = {
		.body_max = PHX_OUTLET_BODY_MAX, .threads = 2, .answer = fake_answer};
	int fd = *(int *)arg;
	free(arg);
	phx_apart_serve(fd, &server);
	pthread_mutex_lock(&lock);
	fake.n_ended++;
	pthread_mutex_unlock(&lock);
	close(fd);
	return NULL;
}

static int fake_launch(int *ret_fd)
{
	pthread_t thread;
	int ends[2], *theirs = malloc(sizeof(*theirs));
	if (!theirs || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -EMFILE;
	*theirs = ends[1];
	*ret_fd = ends[0];
	return -pthread_create(&thread, NULL, fake_process, theirs) ?: -pthread_detach(thread);
}

int launch_programs(struct launch *l, int *ret_fd, struct phx_err *e)
{
	(void)l, (void)e;
	return fake_launch(ret_fd);
}

int launch_webhooks(struct launch *l, int *ret_fd, struct phx_err *e)
{
	(void)l, (void)e;
	return fake_launch(ret_fd);
}

/* ---- the journal ---- */

static void happens_at(const char *kind, const char *text, int64_t time_ms)
{
	char event[200];
	snprintf(event, sizeof(event), "{\"kind\":\"%s\",\"text\":\"%s\"}", kind, text);
	const struct phx_store_row row = {.event = {.seq = ++seq,
						    .time_ms = time_ms,
						    .kind = kind,
						    .node = "n1",
						    .event = event,
						    .actions = "[]"}};
	assert_int_equal(phx_store_append(store, &row, 1, &err), 0);
	if (o)
		outlets_committed(o, seq);
}

static void happens(const char *kind)
{
	happens_at(kind, "", phx_wall_ms());
}

/* ---- one test ---- */

static int setup(void **state)
{
	char path[200];
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.programs = "[]";
	notices[0] = '\0';
	seq = 0;
	o = NULL;
	phx_err_clear(&err);
	strcpy(dir, "/tmp/phx-outlets.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	d = (struct daemon){.cfg.event_keep_h = 72, .cfg.event_tries = 2};
	PHX_STR_SET(d.cfg.state_dir, dir);
	PHX_STR_SET(d.cfg.event_dir, dir); /* it is there */
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	PHX_STR_SET(d.cfg.journal, path);
	return phx_store_open(path, &store, &err);
}

static void begin(void)
{
	assert_int_equal(outlets_new(&d, &o, &err), 0);
}

static void stop(void)
{
	outlets_free(PHX_TAKE(o));
}

static int teardown(void **state)
{
	(void)state;
	stop();
	phx_store_close(store);
	return phx_dir_remove(dir, NULL);
}

/* Waits until these were told, in this order. */
static bool is_told(const char *want)
{
	struct phx_again again = {5, 50, 0};
	int64_t until = phx_clock_ms() + 20000;
	bool so;
	do {
		pthread_mutex_lock(&lock);
		so = !strcmp(fake.told, want);
		pthread_mutex_unlock(&lock);
	} while (!so && phx_again(&again, until));
	if (!so)
		print_message("told: %s\n", fake.told);
	return so;
}

static struct outlet seen(const char *name)
{
	struct outlet x = {0};
	pthread_mutex_lock(&o->lock);
	for (uint32_t i = 0; i < o->n; i++)
		if (!strcmp(o->all[i]->name, name))
			x = *o->all[i];
	pthread_mutex_unlock(&o->lock);
	return x;
}

#define UNTIL(what) \
	do { \
		struct phx_again again_ = {5, 50, 0}; \
		int64_t until_ = phx_clock_ms() + 20000; \
		while (!(what) && phx_again(&again_, until_)) \
			; \
		assert_true(what); \
	} while (0)

#define ONE "[{\"name\":\"a\",\"timeout_s\":30}]"
#define TWO "[{\"name\":\"a\",\"timeout_s\":30},{\"name\":\"b\",\"timeout_s\":30}]"

static void a_new_one_is_told_from_now_on(void **state)
{
	(void)state;
	fake.programs = ONE;
	happens("missing");
	happens("missing");
	begin();
	UNTIL(seen("a").started);
	happens("missing");
	happens("tick"); /* of which nothing came */
	happens("re_use");
	happens("node_note");
	assert_true(is_told("a:3 a:6 "));
	UNTIL(seen("a").cursor == 6 && seen("a").told == 2);
}

static void kinds_choose(void **state)
{
	(void)state;
	fake.programs = "[{\"name\":\"a\",\"timeout_s\":30,\"kinds\":[{\"text\":\"re_use\"}]}]";
	begin();
	UNTIL(seen("a").started);
	happens("missing");
	happens("re_use");
	assert_true(is_told("a:2 "));
}

static void a_restart_goes_on_where_it_was(void **state)
{
	(void)state;
	fake.programs = ONE;
	begin();
	UNTIL(seen("a").started);
	happens("missing");
	assert_true(is_told("a:1 "));
	stop();
	happens("missing");
	happens("missing");
	begin();
	assert_true(is_told("a:1 a:2 a:3 "));
}

static void what_failed_is_told_again(void **state)
{
	(void)state;
	fake.programs = ONE;
	fake.result = -EIO;
	begin();
	UNTIL(seen("a").started);
	happens("missing");
	happens("missing");
	UNTIL(seen("a").attempts);
	assert_string_equal(seen("a").error, "it says no");
	assert_true(seen("a").since_ms > 0 && seen("a").cursor == 0);
	UNTIL(strstr(notices, "the program of event_dir a is not told what happens: it says no\n"));
	pthread_mutex_lock(&lock);
	fake.result = 0;
	pthread_mutex_unlock(&lock);
	outlets_reload(o);
	assert_true(is_told("a:1 a:2 "));
	UNTIL(!seen("a").error[0] && seen("a").cursor == 2);
}

static void set_result(int result)
{
	pthread_mutex_lock(&lock);
	fake.result = result;
	pthread_mutex_unlock(&lock);
}

/* Tries again at once, until it was tried so often. */
static void try_until(const char *name, uint32_t n)
{
	struct phx_again again = {5, 50, 0};
	int64_t until = phx_clock_ms() + 20000;
	do
		outlets_reload(o);
	while (seen(name).attempts < n && phx_again(&again, until));
	assert_true(seen(name).attempts >= n);
}

static void what_is_refused_is_put_aside_and_said(void **state)
{
	(void)state;
	fake.programs = ONE;
	fake.result = -EBADMSG;
	fake.refuses = 2;
	begin();
	UNTIL(seen("a").started);
	for (int i = 0; i < 4; i++)
		happens("missing");
	assert_true(is_told("a:1 a:3 a:4 "));
	UNTIL(seen("a").cursor == 4);
	struct outlet x = seen("a");
	assert_true(x.aside == 1 && x.aside_seq == 2 && x.told == 3 && x.dropped == 0);
	assert_string_equal(x.aside_error, "it says no");
	assert_true(!x.error[0] && !x.since_ms && !x.attempts);
	UNTIL(strstr(notices,
		     "the program of event_dir a refuses events again and again, and is "
		     "told the next ones: 1 were put aside since phxd started, the last "
		     "is number 2: it says no\n"));
	/* it stays aside */
	stop();
	happens("missing");
	begin();
	assert_true(is_told("a:1 a:3 a:4 a:5 "));
}

static void who_is_out_of_reach_is_waited_for(void **state)
{
	static const int results[] = {-EIO, -EPROTO, -ETIMEDOUT, -EPERM};
	(void)state;
	fake.programs = ONE;
	fake.refuses = 1;
	d.cfg.event_tries = 1;
	begin();
	UNTIL(seen("a").started);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(results); i++) {
		set_result(results[i]);
		if (!i)
			happens("missing");
		try_until("a", seen("a").attempts + 2);
	}
	happens("missing");
	assert_true(seen("a").cursor == 0 && !seen("a").aside);
	set_result(0);
	outlets_reload(o);
	assert_true(is_told("a:1 a:2 "));
}

/* Neither so many attempts nor so long alone is enough. */
static void both_bounds_hold(void **state)
{
	(void)state;
	fake.programs = ONE;
	fake.result = -EBADMSG;
	d.cfg.event_tries = 2;
	d.cfg.event_refused_s = 600;
	begin();
	UNTIL(seen("a").started);
	happens("missing");
	UNTIL(seen("a").attempts);
	try_until("a", 6);
	assert_true(seen("a").cursor == 0 && !seen("a").aside);
	stop();
	d.cfg.event_tries = 1000;
	d.cfg.event_refused_s = 0;
	begin();
	UNTIL(seen("a").attempts);
	try_until("a", 6);
	assert_true(seen("a").cursor == 0 && !seen("a").aside);
}

static void metrics_count_them(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	fake.programs = ONE;
	fake.result = -EBADMSG;
	fake.refuses = 1;
	begin();
	UNTIL(seen("a").started);
	happens("missing");
	happens("missing");
	UNTIL(seen("a").cursor == 2);
	outlets_put_metrics(o, &b);
	assert_non_null(strstr(
		b.data,
		"phx_outlet_events_total{kind=\"program\",outlet=\"a\",result=\"told\"} 1\n"));
	assert_non_null(strstr(b.data, "outlet=\"a\",result=\"dropped\"} 0\n"));
	assert_non_null(strstr(b.data, "outlet=\"a\",result=\"aside\"} 1\n"));
}

static void one_that_hangs_keeps_no_other(void **state)
{
	int64_t begun;
	(void)state;
	fake.programs = TWO;
	fake.hangs = "a";
	begin();
	UNTIL(seen("a").started && seen("b").started);
	happens("missing");
	happens("missing");
	assert_true(is_told("b:1 b:2 "));
	assert_int_equal(seen("a").cursor, 0);
	/* nor the end */
	begun = phx_clock_ms();
	stop();
	assert_true(phx_clock_ms() - begun < 20000);
	fake.hangs = NULL;
	begin();
	assert_true(is_told("b:1 b:2 a:1 a:2 "));
}

static void what_is_too_old_is_dropped_and_said(void **state)
{
	int64_t old = phx_wall_ms() - 73ll * HOURS_MS;
	struct phx_cursor mine = {.seq = 1};
	char path[200];
	(void)state;
	fake.programs = ONE;
	for (int i = 0; i < 4; i++)
		happens_at("missing", "", old);
	happens("missing");
	snprintf(path, sizeof(path), "%s/outlets", dir);
	assert_int_equal(phx_dir_make(path, 0700, &err), 0);
	snprintf(path, sizeof(path), "%s/outlets/program.a", dir);
	PHX_STR_SET(mine.journal, phx_store_id(store));
	assert_int_equal(phx_cursor_write(path, &mine, &err), 0);
	begin();
	assert_true(is_told("a:5 "));
	UNTIL(seen("a").dropped == 3);
	UNTIL(strstr(notices,
		     "the program of event_dir a was not told of 3 events of the journal, "
		     "the last is number 4: they are older than event_keep_h\n"));
}

static void another_journal_is_told_whole(void **state)
{
	const struct phx_cursor c = {.journal = "another", .seq = 700};
	char path[200];
	(void)state;
	fake.programs = ONE;
	happens("missing");
	snprintf(path, sizeof(path), "%s/outlets", dir);
	assert_int_equal(phx_dir_make(path, 0700, &err), 0);
	snprintf(path, sizeof(path), "%s/outlets/program.a", dir);
	assert_int_equal(phx_cursor_write(path, &c, &err), 0);
	begin();
	assert_true(is_told("a:1 "));
}

static void programs_come_and_go(void **state)
{
	(void)state;
	fake.programs = ONE;
	begin();
	UNTIL(seen("a").started);
	pthread_mutex_lock(&lock);
	fake.programs = "[{\"name\":\"b\",\"timeout_s\":30,\"error\":\"it is anybody's\"}]";
	pthread_mutex_unlock(&lock);
	outlets_reload(o);
	UNTIL(!seen("a").name[0] && seen("b").name[0]);
	assert_false(seen("b").started);
	assert_string_equal(seen("b").error, "it is anybody's");
	pthread_mutex_lock(&lock);
	fake.programs = "not JSON";
	pthread_mutex_unlock(&lock);
	outlets_reload(o);
	UNTIL(o->wrong[0]);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_new_one_is_told_from_now_on),
		T(kinds_choose),
		T(a_restart_goes_on_where_it_was),
		T(what_failed_is_told_again),
		T(one_that_hangs_keeps_no_other),
		T(what_is_too_old_is_dropped_and_said),
		T(what_is_refused_is_put_aside_and_said),
		T(who_is_out_of_reach_is_waited_for),
		T(both_bounds_hold),
		T(metrics_count_them),
		T(another_journal_is_told_whole),
		T(programs_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
