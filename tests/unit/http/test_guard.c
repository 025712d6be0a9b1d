/* The books of a listener: shares of identities, room for administrators, time-outs; and a real
 * server whose connections are taken by somebody who sends nothing. */
#include "http/guard.h"
#include "unit/http/world.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

enum { MANY = 64 };

struct guest {
	struct phx_http_entry entry;
	int fds[2];
};

static struct phx_http_guard *guard_of(const struct phx_http_guard_limits *limits)
{
	struct phx_http_guard *g = phx_http_guard_new(limits);
	assert_non_null(g);
	return g;
}

static int come(struct phx_http_guard *g, struct guest *guest, const char *key,
		enum phx_http_rank rank, int64_t now)
{
	*guest = (struct guest){.fds = {-1, -1}};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, guest->fds), 0);
	return phx_http_guard_admit(g, &guest->entry, guest->fds[0], key, rank, now);
}

static void go(struct phx_http_guard *g, struct guest *guest)
{
	phx_http_guard_leave(g, &guest->entry);
	close(guest->fds[0]);
	close(guest->fds[1]);
}

/* The other end has noticed that it was cut. */
static bool was_cut(const struct guest *guest)
{
	struct pollfd p = {.fd = guest->fds[1], .events = POLLIN};
	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

/* The books know each party of many, in whatever order they come and go. */
static void test_many_parties(void **state)
{
	enum { PARTIES = 1000, STEP = 367 }; /* no common divisor */
	static struct phx_http_entry entries[PARTIES], second;
	char key[32];
	(void)state;
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){
		.connections_max = 2 * PARTIES, .per_known_max = 1, .header_ms = 1000});
	for (int i = 0; i < PARTIES; i++) {
		snprintf(key, sizeof(key), "uid:%d", i);
		assert_int_equal(phx_http_guard_admit(g, &entries[i], -1, key, PHX_HTTP_KNOWN, 0),
				 0);
	}
	for (int k = 0; k < PARTIES; k++) {
		int i = (int)((unsigned)k * STEP % PARTIES);
		snprintf(key, sizeof(key), "uid:%d", i);
		assert_int_equal(phx_http_guard_admit(g, &second, -1, key, PHX_HTTP_KNOWN, 0),
				 -EDQUOT);
		assert_false(phx_http_guard_idle(g));
		phx_http_guard_leave(g, &entries[i]);
		assert_int_equal(phx_http_guard_admit(g, &second, -1, key, PHX_HTTP_KNOWN, 0), 0);
		phx_http_guard_leave(g, &second);
	}
	assert_true(phx_http_guard_idle(g));
	phx_http_guard_free(g);
}

static void test_each_has_its_share(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){.connections_max = MANY,
									    .reserve = 2,
									    .per_known_max = 3,
									    .per_stranger_max = 2,
									    .header_ms = 1000});
	struct guest a[5], b[3], s[3], t;
	for (int i = 0; i < 5; i++)
		assert_int_equal(come(g, &a[i], "uid:1", PHX_HTTP_KNOWN, 0), i < 3 ? 0 : -EDQUOT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(come(g, &b[i], "uid:2", PHX_HTTP_KNOWN, 0), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(come(g, &s[i], "addr:10.0.0.1", PHX_HTTP_STRANGER, 0),
				 i < 2 ? 0 : -EDQUOT);
	/* who shows a certificate makes room at his address, and has the certificate's share */
	assert_int_equal(phx_http_guard_know(g, &s[0].entry, "cert:n1", PHX_HTTP_KNOWN), 0);
	assert_int_equal(come(g, &t, "addr:10.0.0.1", PHX_HTTP_STRANGER, 0), 0);
	assert_false(phx_http_guard_idle(g));
	/* one that goes makes room */
	go(g, &a[0]);
	assert_int_equal(
		phx_http_guard_admit(g, &a[3].entry, a[3].fds[0], "uid:1", PHX_HTTP_KNOWN, 0), 0);
	for (int i = 1; i < 5; i++)
		go(g, &a[i]);
	for (int i = 0; i < 3; i++) {
		go(g, &b[i]);
		go(g, &s[i]);
	}
	go(g, &t);
	assert_true(phx_http_guard_idle(g));
	phx_http_guard_free(g);
}

/* two a second, and what twenty seconds allow at once; on any number of connections */
static void test_requests_have_a_rate(void **state)
{
	enum { AT_ONCE = 40 };
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){
		.connections_max = MANY, .reserve = 2, .header_ms = 1000, .requests_per_s = 2});
	struct guest a, b, other, root;
	(void)state;
	assert_int_equal(come(g, &a, "uid:1", PHX_HTTP_KNOWN, 1000), 0);
	assert_int_equal(come(g, &b, "uid:1", PHX_HTTP_KNOWN, 1000), 0);
	assert_int_equal(come(g, &other, "uid:2", PHX_HTTP_KNOWN, 1000), 0);
	assert_int_equal(come(g, &root, "uid:0", PHX_HTTP_ADMIN, 1000), 0);
	for (int i = 0; i < AT_ONCE; i++)
		assert_int_equal(phx_http_guard_request(g, i % 2 ? &a.entry : &b.entry, 1000), 0);
	assert_int_equal(phx_http_guard_request(g, &a.entry, 1000), 1);
	assert_int_equal(phx_http_guard_request(g, &other.entry, 1000), 0);
	for (int i = 0; i < 3 * AT_ONCE; i++)
		assert_int_equal(phx_http_guard_request(g, &root.entry, 1000), 0);
	/* who goes and comes again has what he had */
	go(g, &a);
	go(g, &b);
	phx_http_guard_tick(g, 1001);
	assert_int_equal(come(g, &a, "uid:1", PHX_HTTP_KNOWN, 1002), 0);
	assert_int_equal(phx_http_guard_request(g, &a.entry, 1002), 1);
	/* as many more as time has passed, and in the end all of it */
	assert_int_equal(phx_http_guard_request(g, &a.entry, 1500), 0);
	assert_int_equal(phx_http_guard_request(g, &a.entry, 1500), 1);
	for (int i = 0; i < AT_ONCE; i++)
		assert_int_equal(phx_http_guard_request(g, &a.entry, 60000), 0);
	assert_int_equal(phx_http_guard_request(g, &a.entry, 60000), 1);
	struct phx_http_refused refused;
	phx_http_guard_refused(g, PHX_HTTP_LIMIT_REQUESTS, &refused);
	assert_int_equal(refused.n, 4);
	assert_string_equal(refused.whom, "uid:1");
	go(g, &a);
	go(g, &other);
	go(g, &root);
	phx_http_guard_free(g);
}

static void test_refusals_are_counted_by_limit(void **state)
{
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){.connections_max = 10,
									    .per_known_max = 1,
									    .per_stranger_max = 1,
									    .header_ms = 1000});
	struct phx_http_refused refused;
	struct guest a, b, s, t, rest[9];
	(void)state;
	assert_int_equal(come(g, &a, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &b, "uid:1", PHX_HTTP_KNOWN, 0), -EDQUOT);
	assert_int_equal(come(g, &s, "addr:10.0.0.1", PHX_HTTP_STRANGER, 0), 0);
	assert_int_equal(come(g, &t, "addr:10.0.0.1", PHX_HTTP_STRANGER, 0), -EDQUOT);
	/* full before the last: a stranger who waits makes room */
	for (unsigned i = 0; i < PHX_ARRAY_SIZE(rest); i++) {
		char key[16];
		snprintf(key, sizeof(key), "uid:%u", 2 + i);
		assert_int_equal(come(g, &rest[i], key, PHX_HTTP_KNOWN, 0), 0);
	}
	phx_http_guard_refuse(g, PHX_HTTP_LIMIT_FILES, "");
	static const struct {
		uint64_t n;
		const char *whom;
	} expected[] = {
		[PHX_HTTP_LIMIT_CONNECTIONS] = {1, "addr:10.0.0.1"},
		[PHX_HTTP_LIMIT_ADDRESS] = {1, "addr:10.0.0.1"},
		[PHX_HTTP_LIMIT_PERSON] = {1, "uid:1"},
		[PHX_HTTP_LIMIT_FILES] = {1, ""},
		[PHX_HTTP_LIMIT_REQUESTS] = {0, ""},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(expected); i++) {
		phx_http_guard_refused(g, (enum phx_http_limit)i, &refused);
		assert_int_equal(refused.n, expected[i].n);
		assert_string_equal(refused.whom, expected[i].whom);
	}
	struct guest *all[] = {&a, &b, &s, &t};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rest); i++)
		go(g, &rest[i]);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		go(g, all[i]);
	phx_http_guard_free(g);
}

static void test_a_certificate_has_its_share(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){.connections_max = MANY,
									    .per_known_max = 2,
									    .per_stranger_max = 9,
									    .header_ms = 1000});
	struct guest a[3];
	for (int i = 0; i < 3; i++) {
		assert_int_equal(come(g, &a[i], "addr:10.0.0.1", PHX_HTTP_STRANGER, 0), 0);
		assert_int_equal(phx_http_guard_know(g, &a[i].entry, "cert:n1", PHX_HTTP_KNOWN),
				 i < 2 ? 0 : -EDQUOT);
	}
	assert_false(phx_http_guard_idle(g));
	for (int i = 0; i < 3; i++)
		go(g, &a[i]);
	assert_true(phx_http_guard_idle(g));
	phx_http_guard_free(g);
}

static void test_administrators_have_room(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){
		.connections_max = 4, .reserve = 2, .per_known_max = 1, .header_ms = 1000});
	struct guest a[6], root[3];
	char key[32];
	for (int i = 0; i < 6; i++) {
		snprintf(key, sizeof(key), "uid:%d", 1000 + i);
		assert_int_equal(come(g, &a[i], key, PHX_HTTP_KNOWN, 0), i < 4 ? 0 : -EAGAIN);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(come(g, &root[i], "uid:0", PHX_HTTP_ADMIN, 0),
				 i < 2 ? 0 : -EAGAIN);
	/* what others leave is theirs too */
	go(g, &a[0]);
	assert_int_equal(
		phx_http_guard_admit(g, &root[2].entry, root[2].fds[0], "uid:0", PHX_HTTP_ADMIN, 0),
		0);
	for (int i = 1; i < 6; i++)
		go(g, &a[i]);
	for (int i = 0; i < 3; i++)
		go(g, &root[i]);
	phx_http_guard_free(g);
}

/* Many addresses are cheap on a network: whoever comes last has as good a chance as whoever came
 * first. */
static void test_the_oldest_stranger_makes_room(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){
		.connections_max = 20, .per_stranger_max = 1, .header_ms = 100000});
	struct guest a[20], late;
	char key[32];
	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "addr:%d", i);
		assert_int_equal(come(g, &a[i], key, PHX_HTTP_STRANGER, i), 0);
	}
	phx_http_guard_wait(g, &a[0].entry, PHX_HTTP_NO_PAUSE, 0, 50); /* he is being served */
	assert_int_equal(come(g, &late, "addr:late", PHX_HTTP_STRANGER, 60), 0);
	assert_false(was_cut(&a[0]));
	assert_true(was_cut(&a[1]));
	assert_false(was_cut(&a[2]));
	for (int i = 0; i < 20; i++)
		go(g, &a[i]);
	go(g, &late);
	assert_true(phx_http_guard_idle(g));
	phx_http_guard_free(g);
}

/* Who is refused for his own share takes nobody's place, whether he comes or says who he is. */
static void test_who_is_over_his_share_cuts_nobody(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){.connections_max = 20,
									    .per_known_max = 1,
									    .per_stranger_max = 1,
									    .header_ms = 100000});
	struct guest a[20], again[3], known;
	char key[32];
	assert_int_equal(come(g, &known, "cert:n1", PHX_HTTP_KNOWN, 0), 0);
	for (int i = 0; i < 19; i++) {
		snprintf(key, sizeof(key), "addr:%d", i);
		assert_int_equal(come(g, &a[i], key, PHX_HTTP_STRANGER, i), 0);
	}
	assert_int_equal(come(g, &again[0], "addr:18", PHX_HTTP_STRANGER, 50), -EDQUOT);
	assert_int_equal(come(g, &again[1], "cert:n1", PHX_HTTP_KNOWN, 50), -EDQUOT);
	for (int i = 0; i < 19; i++)
		assert_false(was_cut(&a[i]));
	/* one more than full, as it is while a cut is not yet noticed: who then says who he is
	 * still cuts nobody more */
	assert_int_equal(come(g, &again[2], "addr:late", PHX_HTTP_STRANGER, 60), 0);
	assert_true(was_cut(&a[0]));
	assert_int_equal(phx_http_guard_know(g, &again[2].entry, "cert:n1", PHX_HTTP_KNOWN),
			 -EDQUOT);
	for (int i = 1; i < 19; i++)
		assert_false(was_cut(&a[i]));
	for (int i = 0; i < 19; i++)
		go(g, &a[i]);
	for (int i = 0; i < 3; i++)
		go(g, &again[i]);
	go(g, &known);
	assert_true(phx_http_guard_idle(g));
	phx_http_guard_free(g);
}

/* A user of this machine, or the holder of a certificate, never makes room for somebody nobody
 * knows. */
static void test_the_known_do_not_make_room(void **state)
{
	(void)state;
	enum { MAX = 10, A = MAX - 2 };
	struct phx_http_guard *g = guard_of(
		&(struct phx_http_guard_limits){.connections_max = MAX, .header_ms = 100000});
	struct guest a[A], stranger, b, late;
	for (int i = 0; i < A; i++)
		assert_int_equal(come(g, &a[i], "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &stranger, "addr:1", PHX_HTTP_STRANGER, 1), 0);
	assert_int_equal(come(g, &b, "addr:1", PHX_HTTP_STRANGER, 0), 0);
	assert_int_equal(phx_http_guard_know(g, &b.entry, "cert:n1", PHX_HTTP_KNOWN), 0);
	phx_http_guard_wait(g, &b.entry, PHX_HTTP_HEADER, 0, 0);
	assert_int_equal(come(g, &late, "addr:late", PHX_HTTP_STRANGER, 2), 0);
	assert_true(was_cut(&stranger));
	assert_false(was_cut(&a[0]));
	assert_false(was_cut(&b));
	for (int i = 0; i < A; i++)
		go(g, &a[i]);
	struct guest *all[] = {&stranger, &b, &late};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		go(g, all[i]);
	phx_http_guard_free(g);
}

/* Those who come faster than the ones before them are cut: a tenth more is borne, and no more. */
static void test_strangers_in_a_hurry_have_an_end(void **state)
{
	(void)state;
	enum { MAX = 20, MORE = 2, ALL = MAX + MORE + 3 };
	struct phx_http_guard *g = guard_of(
		&(struct phx_http_guard_limits){.connections_max = MAX, .header_ms = 100000});
	struct guest a[ALL];
	for (int i = 0; i < ALL; i++)
		assert_int_equal(come(g, &a[i], "addr:1", PHX_HTTP_STRANGER, i),
				 i < MAX + MORE ? 0 : -EAGAIN);
	assert_false(phx_http_guard_idle(g));
	for (int i = 0; i < ALL; i++)
		go(g, &a[i]);
	assert_true(phx_http_guard_idle(g));
	phx_http_guard_free(g);
}

static void test_silent_strangers_are_cut(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(
		&(struct phx_http_guard_limits){.connections_max = MANY, .header_ms = 1000});
	struct guest a;
	assert_int_equal(come(g, &a, "addr:1", PHX_HTTP_STRANGER, 0), 0);
	assert_int_equal(phx_http_guard_tick(g, 999), 0);
	assert_int_equal(phx_http_guard_tick(g, 1000), 1);
	assert_true(was_cut(&a));
	go(g, &a);
	phx_http_guard_free(g);
}

static void test_who_keeps_it_waiting_is_cut(void **state)
{
	(void)state;
	struct phx_http_guard *g = guard_of(
		&(struct phx_http_guard_limits){.connections_max = MANY, .header_ms = 1000});
	struct guest head, served, body, again;
	assert_int_equal(come(g, &head, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &served, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &body, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &again, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	phx_http_guard_wait(g, &served.entry, PHX_HTTP_NO_PAUSE, 0, 500);
	phx_http_guard_wait(g, &body.entry, PHX_HTTP_BODY, 1 << 20, 500);
	phx_http_guard_wait(g, &again.entry, PHX_HTTP_HEADER, 0, 500);
	assert_int_equal(phx_http_guard_tick(g, 999), 0);
	assert_int_equal(phx_http_guard_tick(g, 1000), 1);
	assert_true(was_cut(&head));
	assert_int_equal(phx_http_guard_tick(g, 1499), 0);
	assert_int_equal(phx_http_guard_tick(g, 1500), 1);
	assert_true(was_cut(&again));
	assert_false(was_cut(&body));
	/* a body may take a minute, and what a slow line needs */
	assert_int_equal(phx_http_guard_tick(g, 500 + 60000 + 65535), 0);
	assert_int_equal(phx_http_guard_tick(g, 500 + 60000 + 65536), 1);
	assert_true(was_cut(&body));
	assert_false(was_cut(&served)); /* a held poll, a long download */
	struct guest *all[] = {&head, &served, &body, &again};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		go(g, all[i]);
	phx_http_guard_free(g);
}

static void test_claims_are_an_identitys(void **state)
{
	(void)state;
	const unsigned one[PHX_HTTP_CLAIMS] = {[PHX_HTTP_HEAVY] = 1};
	struct phx_http_guard *g = guard_of(&(struct phx_http_guard_limits){
		.connections_max = MANY, .reserve = 2, .header_ms = 1000, .spool_bytes_max = 1000});
	struct guest a, b, root;
	assert_int_equal(come(g, &a, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &b, "uid:1", PHX_HTTP_KNOWN, 0), 0);
	assert_int_equal(come(g, &root, "uid:0", PHX_HTTP_ADMIN, 0), 0);
	assert_true(phx_http_guard_claim(g, &a.entry, PHX_HTTP_HEAVY, 2));
	assert_true(phx_http_guard_claim(g, &b.entry, PHX_HTTP_HEAVY, 2));
	assert_false(phx_http_guard_claim(g, &b.entry, PHX_HTTP_HEAVY, 2));
	assert_true(phx_http_guard_claim(g, &b.entry, PHX_HTTP_POLL, 1));
	phx_http_guard_give_back(g, &a.entry, one, 0);
	assert_true(phx_http_guard_claim(g, &b.entry, PHX_HTTP_HEAVY, 2));
	for (int i = 0; i < 9; i++)
		assert_true(phx_http_guard_claim(g, &root.entry, PHX_HTTP_HEAVY, 2));
	assert_true(phx_http_guard_spool(g, &a.entry, 600));
	assert_false(phx_http_guard_spool(g, &b.entry, 401));
	assert_false(phx_http_guard_spool(g, &b.entry, UINT64_MAX));
	assert_true(phx_http_guard_spool(g, &b.entry, 400));
	assert_int_equal(phx_http_guard_spooled(g), 1000);
	phx_http_guard_give_back(g, &a.entry, (const unsigned[PHX_HTTP_CLAIMS]){0}, 600);
	assert_true(phx_http_guard_spool(g, &b.entry, 600));
	go(g, &a);
	go(g, &b);
	go(g, &root);
	phx_http_guard_free(g);
}

/* ---- a server ---- */

static void reply_hello(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_text(q, 200, "text/plain", "hello\n");
}

static void reply_cut(struct phx_http_request *q, void *arg)
{
	char path[128];
	phx_http_reply_file(q, world_path(arg, "cut", path, sizeof(path)), NULL,
			    "application/octet-stream");
}

static sem_t door;

static void reply_at_the_door(struct phx_http_request *q, void *arg)
{
	sem_wait(&door);
	reply_hello(q, arg);
}

static const struct phx_http_route routes[] = {
	{"GET", "/door", 1u << PHX_HTTP_UNIX, reply_at_the_door, 0, false, NULL},
	{"GET", "/cut", 1u << PHX_HTTP_UNIX, reply_cut, 0, false, NULL},
	{"GET", "/hello", 1u << PHX_HTTP_UNIX | 1u << PHX_HTTP_PLAIN, reply_hello, 0, false, NULL},
};

static int unix_connect(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	phx_str_copy(sa.sun_path, sizeof(sa.sun_path), path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		_exit(3);
	return fd;
}

/* The other end has closed it, not only stopped sending. */
static bool is_let_go(int fd)
{
	struct pollfd p = {.fd = fd};
	return poll(&p, 1, 30000) == 1 && (p.revents & POLLHUP);
}

/* SIGTERM waits for await_term(): it may come before. */
static sigset_t block_term(void)
{
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	return term;
}

static void await_term(void)
{
	sigset_t term = block_term();
	int sig;
	sigwait(&term, &sig);
}

/* Opens 2,000 connections that send nothing: the last hundred must be told why they are refused,
 * and the last of all be let go soon. */
static int hostile(const char *path, int ready)
{
	char text[600];
	int n_told = 0;
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 255;
	for (int i = 0; i < 2000; i++) {
		int fd = unix_connect(path);
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (i < 20)
			continue; /* these are held */
		if (i >= 1900 && poll(&p, 1, 5000) == 1) {
			ssize_t n = read(fd, text, sizeof(text) - 1);
			text[n > 0 ? n : 0] = '\0';
			n_told += strstr(text, " 429 ") && strstr(text, "EDQUOT") &&
				strstr(text, "Retry-After");
		}
		if (i == 1999 && !is_let_go(fd))
			n_told = 0;
		if (i % 50 == 0 || i >= 1900)
			close(fd);
	}
	(void)!write(ready, "x", 1);
	await_term();
	return n_told == 100 ? 0 : 1;
}

static void test_silence_of_one_keeps_nobody_out(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	int pipe_fds[2], status;
	char c;
	struct phx_http_server_config config = {
		.per_person_max = 16, .connections_max = 64, .threads = 2, .admin_gid = (gid_t)-1};
	struct world *w = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	assert_int_equal(chmod(w->dir, 0755), 0);
	assert_int_equal(chmod(w->unix_path, 0666), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		block_term();
		_exit(hostile(w->unix_path, pipe_fds[1]));
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &c, 1), 1);
	for (int i = 0; i < 20; i++) {
		struct phx_http_client *client = unix_client(w);
		struct phx_http_response r = {0};
		assert_int_equal(phx_http_call(client, "GET", "/hello", NULL, 10000, &r, NULL), 0);
		assert_int_equal(r.status, 200);
		phx_http_response_fini(&r);
		phx_http_client_free(client);
	}
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(pipe_fds[0]);
	world_free(w);
}

/* As nobody; the answers are never read. */
static int ask_at_the_door(const char *path, int ready)
{
	static const char ask[] = "GET /door HTTP/1.1\r\nHost: x\r\n\r\n";
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 255;
	for (int i = 0; i < 4; i++)
		if (send(unix_connect(path), ask, strlen(ask), MSG_NOSIGNAL) !=
		    (ssize_t)strlen(ask))
			return 1;
	(void)!write(ready, "x", 1);
	await_term();
	return 0;
}

/* However long the answers of users take, root is answered beside them. */
static void test_root_does_not_wait_for_users(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	int pipe_fds[2], status;
	char c;
	struct phx_http_server_config config = {.threads = 4, .admin_gid = (gid_t)-1};
	assert_int_equal(sem_init(&door, 0, 0), 0);
	struct world *w = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	assert_int_equal(chmod(w->dir, 0755), 0);
	assert_int_equal(chmod(w->unix_path, 0666), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		block_term();
		_exit(ask_at_the_door(w->unix_path, pipe_fds[1]));
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &c, 1), 1);
	int r = 0;
	for (int i = 0; i < 8 && r == 0; i++) {
		struct phx_http_client *client = unix_client(w);
		struct phx_http_response answer = {0};
		r = phx_http_call(client, "GET", "/hello", NULL, 20000, &answer, NULL);
		phx_http_response_fini(&answer);
		phx_http_client_free(client);
	}
	for (int i = 0; i < 4; i++)
		sem_post(&door);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pipe_fds[0]);
	world_free(w);
	sem_destroy(&door);
	assert_int_equal(r, 0);
	assert_int_equal(status, 0);
}

/* A head that comes a letter a time has no end: no silence is long enough for libmicrohttpd's own
 * time-out. */
static void test_a_slow_head_is_cut(void **state)
{
	(void)state;
	struct phx_http_server_config config = {.idle_timeout_s = 2};
	struct world *w = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	int fd = tcp_connect(phx_http_server_port(w->server, PHX_HTTP_PLAIN));
	double begin = now_s();
	char text[16];
	bool cut = false;
	assert_true(send(fd, "GET /hello HTTP/1.1\r\nX: ", 24, MSG_NOSIGNAL) == 24);
	while (!cut && now_s() - begin < 20) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		(void)!send(fd, "x", 1, MSG_NOSIGNAL);
		cut = poll(&p, 1, 200) == 1 && recv(fd, text, sizeof(text), 0) <= 0;
	}
	assert_true(cut);
	assert_true(now_s() - begin >= 1.9);
	close(fd);
	world_free(w);
}

/* A file that gets shorter while it is sent: whoever fetches it sees that at once. */
static void test_a_cut_file_ends_its_connection(void **state)
{
	(void)state;
	enum { SIZE = 8 << 20 };
	static const char ask[] = "GET /cut HTTP/1.1\r\nHost: x\r\n\r\n";
	static char chunk[65536];
	char path[128];
	struct phx_http_server_config config = {.idle_timeout_s = 60};
	struct world *w = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	int file =
		open(world_path(w, "cut", path, sizeof(path)), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(file, SIZE), 0);
	int fd = unix_connect(w->unix_path);
	assert_int_equal(send(fd, ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
	ssize_t n = recv(fd, chunk, sizeof(chunk), 0), total = n;
	assert_true(n > 0);
	assert_int_equal(ftruncate(file, 100), 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	while (n > 0) {
		assert_int_equal(poll(&p, 1, 20000), 1);
		n = recv(fd, chunk, sizeof(chunk), 0);
		total += n > 0 ? n : 0;
	}
	assert_true(total < SIZE);
	close(fd);
	close(file);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_its_share),
		cmocka_unit_test(test_many_parties),
		cmocka_unit_test(test_requests_have_a_rate),
		cmocka_unit_test(test_refusals_are_counted_by_limit),
		cmocka_unit_test(test_a_certificate_has_its_share),
		cmocka_unit_test(test_administrators_have_room),
		cmocka_unit_test(test_the_oldest_stranger_makes_room),
		cmocka_unit_test(test_who_is_over_his_share_cuts_nobody),
		cmocka_unit_test(test_the_known_do_not_make_room),
		cmocka_unit_test(test_strangers_in_a_hurry_have_an_end),
		cmocka_unit_test(test_silent_strangers_are_cut),
		cmocka_unit_test(test_who_keeps_it_waiting_is_cut),
		cmocka_unit_test(test_claims_are_an_identitys),
		cmocka_unit_test(test_silence_of_one_keeps_nobody_out),
		cmocka_unit_test(test_root_does_not_wait_for_users),
		cmocka_unit_test(test_a_slow_head_is_cut),
		cmocka_unit_test(test_a_cut_file_ends_its_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
