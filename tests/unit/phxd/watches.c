/* Who watches for triggers (cmd/phxd/watches.c): what a watcher tells is checked, bounded, and
 * fires once, over pauses and the ends of watchers. The core is the real one; watchers are the
 * other ends of socket pairs, and the clock is put forward by hand. */
#include "fake/engine.h"
#include "unit/phxd/trigger.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Turn by turn nothing is waited for: a turn for which nothing happens is one too many. */
static bool turn_by_turn;
static int fake_poll(struct pollfd *fds, nfds_t n, int ms)
{
	int r = poll(fds, n, turn_by_turn ? 0 : ms);
	if (turn_by_turn && r == 0 && ms)
		fail_msg("nothing happens for %d ms", ms);
	return r;
}
#undef fail /* the part has one of its own */
#define poll fake_poll
#include "phxd/watches.c" /* a part of a program, not of the library */

static int64_t fake_ahead_ms;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec += fake_ahead_ms / 1000;
	return r;
}

static struct world *w;
static struct daemon d;
static struct watches *ws;

/* ---- what of the daemon it calls ---- */

static int fake_watcher = -1; /* the other end of the last one's socket */
static unsigned n_started, n_submitted;
static int start_result, submit_result;
static int64_t quota_wait_s;
static char quota_of[PHX_IDENTITY_MAX];
static struct re_place_whose asked;
static sem_t started, submitted;

void re_dir_whose(const struct daemon *of, const char *re, struct re_place_whose *whose)
{
	(void)of;
	fake_engine_is_free();
	PHX_STR_SET(whose->re, re);
}

int launch_re_watch(struct launch *l, const struct re_place_whose *of, int *ret_fd,
		    struct phx_err *err)
{
	int both[2];
	(void)l;
	fake_engine_is_free();
	n_started++;
	asked = *of;
	if (start_result)
		return phx_err_set(err, start_result, "the launcher starts none");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
	phx_close_fd(&fake_watcher);
	fake_watcher = both[1];
	*ret_fd = both[0];
	sem_post(&started);
	return 0;
}

int64_t quota_take(struct quota *u, const char *identity, int64_t n)
{
	(void)u;
	assert_true(n > 0);
	snprintf(quota_of, sizeof(quota_of), "%s", identity);
	return quota_wait_s;
}

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	fake_engine_is_free();
	n_submitted++;
	if (submit_result)
		return phx_err_set(err, submit_result, "nothing was done");
	engine_lock(e);
	int r = world_apply(w, ev, ret);
	engine_unlock(e);
	if (r < 0)
		*err = w->err;
	sem_post(&submitted);
	return r;
}

/* ---- the thread's turns, one by one ---- */

static int setup(void **state)
{
	world_setup((void **)&w);
	*state = w;
	re_runs(w);
	fake_state = &w->s;
	fake_ahead_ms = quota_wait_s = 0;
	n_started = n_submitted = 0;
	start_result = submit_result = 0;
	turn_by_turn = true;
	d = (struct daemon){0};
	ws = calloc(1, sizeof(*ws));
	ws->d = &d;
	ws->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&ws->lock, NULL);
	return sem_init(&started, 0, 0) || sem_init(&submitted, 0, 0);
}

static int teardown(void **state)
{
	watches_free(PHX_TAKE(ws));
	phx_close_fd(&fake_watcher);
	sem_destroy(&started);
	sem_destroy(&submitted);
	return world_teardown(state);
}

static void turns(void)
{
	PHX_AUTO_FREE struct pollfd *fds = calloc(ws->all.n + 1, sizeof(*fds));
	turn(ws, fds);
	fake_engine_is_free();
}

/* The list of triggers may have changed: the loop says so, and the thread follows. */
static void follows(void)
{
	watches_tick(ws);
	turns();
}

static struct phx_trigger *trigger(const char *name)
{
	return phx_state_trigger_named(&w->s, name);
}

static struct phx_trigger *watched(const struct made *m)
{
	trigger_made(w, m);
	follows();
	turns();
	return trigger(m->name);
}

static const struct made in_any = {
	.name = "t", .user = "alice", .kind = PHX_TRIGGER_FILE, .file = "in/*.fits"};

static bool told_is(const char *want)
{
	char told[WATCH_TOLD_MAX];
	watches_told(ws, trigger("t")->id, told);
	if (strstr(told, want))
		return true;
	print_error("it is told: %s\n", told);
	return false;
}

static struct watch *only(void)
{
	assert_int_equal(ws->all.n, 1);
	return watch_at(ws, 0);
}

/* ---- what a watcher says ---- */

static void add_said(struct phx_buf *b, enum watch_kind kind, const char *text, uint64_t size,
		     int64_t came_ms)
{
	const struct watch_said m = {.kind = kind,
				     .n = (uint32_t)strlen(text),
				     .size = size,
				     .number = 7,
				     .changed_ns = 1,
				     .came_ms = came_ms};
	phx_buf_add(b, &m, sizeof(m));
	phx_buf_add(b, text, m.n);
}

/* In one piece: a socket has room for few small ones. */
static void put_buf(struct phx_buf *b)
{
	assert_int_equal(phx_write_all(fake_watcher, b->data, b->n), 0);
	phx_buf_fini(b);
	*b = (struct phx_buf){0};
}

static void put(enum watch_kind kind, const char *text, uint64_t size, int64_t came_ms)
{
	struct phx_buf b = {0};
	add_said(&b, kind, text, size, came_ms);
	put_buf(&b);
}

static int64_t now_of(const char *name)
{
	return trigger(name)->created_ms + 1000;
}

static void put_file(const char *path, uint64_t size)
{
	put(WATCH_FILE, path, size, now_of("t"));
}

/* All that is there is one file. */
static void put_all(const char *path, uint64_t size)
{
	put(WATCH_LOOKS, "", 0, 0);
	put_file(path, size);
	put(WATCH_LOOKED, "", 0, 0);
}

static uint64_t fired(void)
{
	return trigger("t")->n_fired;
}

static void a_watcher_is_told_what_to_look_for(void **state)
{
	struct watch_start how;
	char pattern[32] = "";
	(void)state;
	struct made m = in_any;
	m.stable_ms = 5000;
	watched(&m);
	assert_int_equal(n_started, 1);
	assert_string_equal(asked.re, "mtc");
	assert_string_equal(asked.user, "alice");
	assert_int_equal(asked.uid, 1000);
	assert_true(asked.make);
	assert_int_equal(read(fake_watcher, &how, sizeof(how)), sizeof(how));
	assert_int_equal(read(fake_watcher, pattern, sizeof(pattern)), how.n);
	assert_string_equal(pattern, "in/*.fits");
	assert_int_equal(how.stable_ms, 5000);
	assert_int_equal(how.path_max, phx_trigger_path_max(trigger("t")));
	assert_false(how.whole);
	assert_true(told_is("looks at what is there"));
	put(WATCH_LOOKS, "", 0, 0);
	put(WATCH_LOOKED, "", 0, 0);
	turns();
	assert_true(told_is("watches"));
}

/* The RE's owner: all of its directory but that of users, whoever owns it. */
static void the_owner_watches_the_whole_directory(void **state)
{
	struct watch_start how;
	(void)state;
	watched(&(struct made){
		.name = "t", .user = "hpc", .kind = PHX_TRIGGER_FILE, .file = "in/*"});
	assert_string_equal(asked.user, "");
	assert_true(asked.uid == (uid_t)-1);
	assert_false(asked.make);
	assert_int_equal(read(fake_watcher, &how, sizeof(how)), sizeof(how));
	assert_true(how.whole);
}

static void only_triggers_of_files_are_watched(void **state)
{
	(void)state;
	trigger_made(w,
		     &(struct made){.name = "clock",
				    .user = "alice",
				    .kind = PHX_TRIGGER_TIME,
				    .every_ms = 60000});
	watches_tick(ws);
	reconcile(ws);
	assert_int_equal(ws->all.n, 0);
}

/* ---- a file fires once ---- */

static void a_file_fires_once(void **state)
{
	(void)state;
	watched(&in_any);
	put_file("in/a.fits", 3);
	turns();
	assert_int_equal(fired(), 1);
	assert_string_equal(quota_of, "unix:alice");
	const struct phx_trigger_firing *f = trigger("t")->last.items;
	assert_string_equal(f->what, "users/alice/in/a.fits");
	unsigned before = n_submitted;
	put_file("in/a.fits", 3);
	turns();
	assert_int_equal(fired(), 1);
	assert_int_equal(n_submitted, before); /* nor is it journalled */
	put_file("in/a.fits", 4);
	turns();
	assert_int_equal(fired(), 2);
}

static void each_of_what_tells_a_file_from_another_counts(void **state)
{
	char digests[5][PHX_SHA256_HEX];
	const struct watch_said m[5] = {
		{.size = 1, .number = 2, .changed_ns = 3},
		{.size = 9, .number = 2, .changed_ns = 3},
		{.size = 1, .number = 9, .changed_ns = 3},
		{.size = 1, .number = 2, .changed_ns = 9},
		{.size = 1, .number = 2, .changed_ns = 3},
	};
	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(digest_of(i == 4 ? "in/b" : "in/a", &m[i], digests[i]), 0);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(digests[i], digests[k]);
	}
}

static void what_was_there_before_its_trigger_does_not_fire(void **state)
{
	(void)state;
	const struct phx_trigger *t = watched(&in_any);
	put(WATCH_FILE, "in/old.fits", 1, t->created_ms - CAME_SLACK_MS - 1);
	turns();
	assert_int_equal(fired(), 0);
	assert_int_equal(trigger("t")->seen->n, 1);
	/* the clock of files is a little behind */
	put(WATCH_FILE, "in/new.fits", 1, t->created_ms - CAME_SLACK_MS);
	turns();
	assert_int_equal(fired(), 1);
}

static void ends_and_comes_again(void)
{
	phx_close_fd(&fake_watcher);
	turns();
	fake_ahead_ms += AGAIN_MS;
	turns();
	assert_true(fake_watcher >= 0);
}

static void what_comes_while_nobody_watches_fires_later(void **state)
{
	(void)state;
	watched(&in_any);
	put_all("in/a.fits", 1);
	turns();
	ends_and_comes_again();
	put(WATCH_LOOKS, "", 0, 0);
	put_file("in/a.fits", 1);
	put_file("in/b.fits", 1);
	put(WATCH_LOOKED, "", 0, 0);
	turns();
	assert_int_equal(fired(), 2);
	assert_int_equal(trigger("t")->seen->n, 2);
}

/* It vanished while nobody watched: when it comes again, as it was, it is new. */
static void what_vanished_unseen_is_forgotten(void **state)
{
	(void)state;
	watched(&in_any);
	put_all("in/a.fits", 1);
	turns();
	ends_and_comes_again();
	put(WATCH_LOOKS, "", 0, 0);
	put(WATCH_LOOKED, "", 0, 0);
	turns();
	assert_int_equal(trigger("t")->seen->n, 0);
	put_file("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 2);
}

/* One that is there, and may change still, is not gone. */
static void what_is_not_at_rest_is_not_forgotten(void **state)
{
	(void)state;
	watched(&in_any);
	put_all("in/a.fits", 1);
	turns();
	ends_and_comes_again();
	put(WATCH_LOOKS, "", 0, 0);
	put(WATCH_THERE, "in/a.fits", 0, 0);
	put(WATCH_LOOKED, "", 0, 0);
	turns();
	assert_int_equal(trigger("t")->seen->n, 1);
	put_file("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 1);
}

/* Until all was told, nothing is taken for gone: the watcher may have died in the middle. */
static void half_a_look_forgets_nothing(void **state)
{
	(void)state;
	watched(&in_any);
	put_all("in/a.fits", 1);
	turns();
	ends_and_comes_again();
	put(WATCH_LOOKS, "", 0, 0);
	turns();
	ends_and_comes_again();
	assert_int_equal(trigger("t")->seen->n, 1);
	put_all("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 1);
}

static void what_goes_and_comes_back_fires_again(void **state)
{
	(void)state;
	watched(&in_any);
	put_file("in/a.fits", 1);
	turns();
	put(WATCH_GONE, "in/a.fits", 0, 0);
	put_file("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 2);
}

/* ---- pauses ---- */

static void a_pause_ends_the_watcher_and_its_end_begins_another(void **state)
{
	char byte;
	(void)state;
	watched(&in_any);
	uint64_t id = trigger("t")->id;
	assert_int_equal(trigger_order(w, PHX_EV_trigger_pause, "t"), 0);
	follows();
	assert_int_equal(ws->all.n, 0);
	/* its socket is closed, by which it ends */
	char rest[512];
	assert_true(read(fake_watcher, rest, sizeof(rest)) > 0);
	assert_int_equal(read(fake_watcher, &byte, 1), 0);
	char told[WATCH_TOLD_MAX] = "?";
	watches_told(ws, id, told);
	assert_string_equal(told, "");
	assert_int_equal(trigger_order(w, PHX_EV_trigger_resume, "t"), 0);
	follows();
	turns();
	assert_int_equal(n_started, 2);
	put_all("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 1);
}

static void who_deletes_one_of_two_keeps_the_other(void **state)
{
	(void)state;
	watched(&in_any);
	struct made other = in_any;
	other.name = "other";
	watched(&other);
	assert_int_equal(ws->all.n, 2);
	assert_int_equal(trigger_order(w, PHX_EV_trigger_delete, "t"), 0);
	follows();
	assert_string_equal(only()->is.name, "other");
	assert_int_equal(n_started, 2);
	put(WATCH_FILE, "in/a.fits", 1, now_of("other"));
	turns();
	assert_int_equal(trigger("other")->n_fired, 1);
}

/* A file that came between a pause and its end, both of which the loop saw too late to notice: the
 * core has refused it, and is told again. */
static void what_came_in_a_pause_that_nobody_noticed_fires(void **state)
{
	(void)state;
	watched(&in_any);
	assert_int_equal(trigger_order(w, PHX_EV_trigger_pause, "t"), 0);
	put_file("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 0);
	assert_int_equal(trigger_order(w, PHX_EV_trigger_resume, "t"), 0);
	watches_tick(ws);
	fake_ahead_ms += AGAIN_MS;
	turns();
	assert_int_equal(fired(), 1);
	assert_int_equal(n_started, 1);
	put_file("in/b.fits", 1);
	turns();
	assert_int_equal(fired(), 2);
}

/* After a start of the head, with one trigger from before: each number is one. */
static void a_trigger_that_is_alone_is_watched_whatever_its_number(void **state)
{
	(void)state;
	trigger_made(w, &in_any);
	for (uint64_t id = 1; id < 5; id++) {
		watches_free(ws);
		ws = calloc(1, sizeof(*ws));
		ws->d = &d;
		ws->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		pthread_mutex_init(&ws->lock, NULL);
		trigger("t")->id = w->s.last_trigger_id = id;
		follows();
		assert_int_equal(only()->is.id, id);
	}
}

/* ---- hostile watchers, and dying ones ---- */

static void paths_that_are_not_awaited_do_not_fire(void **state)
{
	static const char *const paths[] = {"../a.fits",        "in/../../etc/a.fits", "/in/a.fits",
					    "out/a.fits",       "in/b/a.fits",         "in/a.txt",
					    "in/.hidden.fits",  "in/a\n.fits",         "",
					    "in/a\033[31m.fits"};
	char longest[WATCH_TEXT_MAX + 1] = "in/";
	(void)state;
	watched(&in_any);
	put(WATCH_LOOKS, "", 0, 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(paths); i++)
		put_file(paths[i], 1);
	size_t most = phx_trigger_path_max(trigger("t"));
	memset(longest + 3, 'a', most - 3);
	memcpy(longest + most - 4, ".fits", 6);
	put_file(longest, 1);
	put(WATCH_ODD, "", 0, 0);
	put(WATCH_LOOKED, "", 0, 0);
	turns();
	assert_int_equal(fired(), 0);
	assert_int_equal(n_submitted, 0);
	assert_true(told_is("do not fire: 12"));
	/* the longest that may be */
	memcpy(longest + most - 5, ".fits", 6);
	put_file(longest, 1);
	turns();
	assert_int_equal(fired(), 1);
	assert_int_equal(ws->all.n, 1);
}

static void ends_for_nonsense(const struct watch_said *m)
{
	unsigned before = n_started;
	assert_int_equal(phx_write_all(fake_watcher, m, sizeof(*m)), 0);
	turns();
	assert_true(told_is("its watcher sends malformed data"));
	assert_int_equal(only()->fd, -1);
	/* not at once: it would say it again */
	assert_true(only()->not_before_ms >= phx_clock_ms() + AGAIN_MS - 1000);
	assert_int_equal(n_started, before);
	fake_ahead_ms += AGAIN_MS;
	turns();
	assert_int_equal(n_started, before + 1);
}

static void a_watcher_that_talks_nonsense_is_ended(void **state)
{
	(void)state;
	watched(&in_any);
	ends_for_nonsense(&(struct watch_said){.kind = WATCH_KINDS});
	ends_for_nonsense(&(struct watch_said){.kind = WATCH_FILE, .n = WATCH_TEXT_MAX + 1});
	ends_for_nonsense(&(struct watch_said){.kind = 0xffffffff, .n = 0xffffffff});
	put_all("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 1);
}

static void a_message_may_come_in_pieces(void **state)
{
	static const char path[] = "in/a.fits";
	struct {
		struct watch_said m;
		char text[sizeof(path) - 1];
	} all = {.m = {.kind = WATCH_FILE, .n = sizeof(path) - 1, .size = 1}};
	const size_t n = sizeof(all.m) + all.m.n;
	(void)state;
	watched(&in_any);
	memcpy(all.text, path, sizeof(all.text));
	all.m.came_ms = now_of("t");
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(fired(), 0);
		assert_int_equal(phx_write_all(fake_watcher, (const char *)&all + i, 1), 0);
		turns();
	}
	assert_int_equal(fired(), 1);
	assert_int_equal(only()->in.n, 0);
}

static void one_that_dies_is_started_again_after_a_while(void **state)
{
	(void)state;
	watched(&in_any);
	put_file("in/a.fits", 1);
	phx_close_fd(&fake_watcher); /* its last words are heard */
	turns();
	assert_int_equal(fired(), 1);
	turns();
	assert_true(told_is("its watcher has ended"));
	assert_int_equal(n_started, 1);
	assert_true(only()->not_before_ms >= phx_clock_ms() + AGAIN_MS - 1000);
	fake_ahead_ms += AGAIN_MS;
	turns();
	assert_int_equal(n_started, 2);
	assert_true(told_is("looks at what is there"));
}

static void why_it_ends_is_kept(void **state)
{
	(void)state;
	watched(&in_any);
	put(WATCH_TROUBLE, "in/: more than 500 directories meet the pattern", 0, 0);
	turns();
	phx_close_fd(&fake_watcher);
	turns();
	assert_true(told_is("in/: more than 500 directories meet the pattern"));
	assert_int_equal(only()->fd, -1);
}

/* People read it on their terminals. */
static void trouble_that_cannot_be_printed_is_not_told(void **state)
{
	(void)state;
	watched(&in_any);
	put(WATCH_TROUBLE, "in/: \033]0;owned\a", 0, 0);
	turns();
	assert_true(told_is("the watcher has failed"));
}

static void a_launcher_that_starts_none_is_asked_again(void **state)
{
	(void)state;
	start_result = -EPERM;
	watched(&in_any);
	assert_true(told_is("the launcher starts none"));
	assert_true(only()->not_before_ms >= phx_clock_ms() + AGAIN_MS - 1000);
	start_result = 0;
	fake_ahead_ms += AGAIN_MS;
	turns();
	assert_int_equal(n_started, 2);
	assert_true(only()->fd >= 0);
}

/* What is said of all that is there is kept in mind until its end: not without bound. */
static void a_look_at_too_much_is_ended(void **state)
{
	enum { AT_ONCE = 500 };
	struct phx_buf b = {0};
	char path[32];
	(void)state;
	watched(&in_any);
	put(WATCH_LOOKS, "", 0, 0);
	for (unsigned i = 0; i < PHX_SEEN_MAX + AT_ONCE; i++) {
		snprintf(path, sizeof(path), "in/%u.fits", i);
		add_said(&b, WATCH_THERE, path, 0, 0);
		if (i % AT_ONCE < AT_ONCE - 1)
			continue;
		assert_true(only()->fd >= 0); /* so many it may be */
		put_buf(&b);
		turns();
	}
	assert_int_equal(only()->fd, -1);
	assert_int_equal(only()->keys.n, 0);
	assert_true(told_is("out of memory"));
	/* it does not fail for that once more */
	fake_ahead_ms += AGAIN_MS;
	turns();
	put_all("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 1);
	assert_true(only()->fd >= 0);
}

/* ---- what cannot be journalled now ---- */

static void too_much_for_its_user_waits_and_is_kept(void **state)
{
	(void)state;
	watched(&in_any);
	quota_wait_s = 3;
	put_file("in/a.fits", 1);
	turns();
	assert_int_equal(fired(), 0);
	assert_true(told_is("journal_mb_per_user"));
	assert_int_equal(n_submitted, 0);
	int64_t left = only()->not_before_ms - phx_clock_ms();
	assert_true(left > 2000 && left <= 3000);
	/* meanwhile it is not heard: it cannot fill the memory */
	put_file("in/b.fits", 1);
	fake_ahead_ms += 3000;
	quota_wait_s = 0;
	turns();
	assert_int_equal(fired(), 1);
	assert_true(told_is("watches"));
	turns();
	assert_int_equal(fired(), 2);
}

static void what_the_journal_cannot_take_is_kept(void **state)
{
	static const int results[] = {-EROFS, -EAGAIN};
	(void)state;
	watched(&in_any);
	for (int i = 0; i < 2; i++) {
		submit_result = results[i];
		put_file("in/a.fits", (uint64_t)i);
		turns();
		assert_true(told_is("nothing was done"));
		assert_int_equal(fired(), (unsigned)i);
		submit_result = 0;
		fake_ahead_ms += AGAIN_MS;
		turns();
		assert_int_equal(fired(), (unsigned)i + 1);
	}
}

/* More than one event holds; what comes behind what had to wait is not lost. */
static void many_files_are_told_in_portions(void **state)
{
	enum { MANY = 2 * PHX_TRIGGER_ROWS_MAX + 10 };
	struct phx_buf b = {0};
	char path[32];
	(void)state;
	watched(&in_any);
	quota_wait_s = 1;
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "in/%d.fits", i);
		add_said(&b, WATCH_FILE, path, 1, now_of("t"));
	}
	put_buf(&b);
	turns();
	assert_int_equal(n_submitted, 0);
	assert_int_equal(only()->rows.n, PHX_TRIGGER_ROWS_MAX);
	quota_wait_s = 0;
	fake_ahead_ms += 1000;
	turns();
	assert_int_equal(fired(), MANY);
	assert_int_equal(n_submitted, 3);
}

/* ---- the thread ---- */

static void a_thread_of_its_own_follows_and_ends(void **state)
{
	char bytes[512];
	struct watches *own = NULL;
	(void)state;
	turn_by_turn = false;
	trigger_made(w, &in_any);
	int64_t came_ms = now_of("t");
	assert_int_equal(watches_new(&d, &own), 0);
	watches_tick(own);
	assert_int_equal(sem_wait(&started), 0);
	assert_true(read(fake_watcher, bytes, sizeof(struct watch_start)) > 0);
	put(WATCH_FILE, "in/a.fits", 1, came_ms);
	assert_int_equal(sem_wait(&submitted), 0);
	watches_free(own);
	assert_int_equal(fired(), 1);
	while (read(fake_watcher, bytes, sizeof(bytes)) > 0)
		; /* and its socket is closed */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_watcher_is_told_what_to_look_for),
		T(the_owner_watches_the_whole_directory),
		T(only_triggers_of_files_are_watched),
		T(a_file_fires_once),
		T(each_of_what_tells_a_file_from_another_counts),
		T(what_was_there_before_its_trigger_does_not_fire),
		T(what_comes_while_nobody_watches_fires_later),
		T(what_vanished_unseen_is_forgotten),
		T(what_is_not_at_rest_is_not_forgotten),
		T(half_a_look_forgets_nothing),
		T(what_goes_and_comes_back_fires_again),
		T(a_pause_ends_the_watcher_and_its_end_begins_another),
		T(who_deletes_one_of_two_keeps_the_other),
		T(what_came_in_a_pause_that_nobody_noticed_fires),
		T(a_trigger_that_is_alone_is_watched_whatever_its_number),
		T(paths_that_are_not_awaited_do_not_fire),
		T(a_watcher_that_talks_nonsense_is_ended),
		T(a_message_may_come_in_pieces),
		T(one_that_dies_is_started_again_after_a_while),
		T(why_it_ends_is_kept),
		T(trouble_that_cannot_be_printed_is_not_told),
		T(a_launcher_that_starts_none_is_asked_again),
		T(a_look_at_too_much_is_ended),
		T(too_much_for_its_user_waits_and_is_kept),
		T(what_the_journal_cannot_take_is_kept),
		T(many_files_are_told_in_portions),
		T(a_thread_of_its_own_follows_and_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
