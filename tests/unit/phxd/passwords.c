/* Signing in with a password (cmd/phxd/passwords.c): who is let in, what each other answer of PAM
 * says to whom, who must wait, and what becomes of those for whom there is no room. The threads and
 * the counts of attempts are real; PAM is a fake whose answer is the password. */
#include "fake/request.h"

#include <sys/socket.h>

#include "phxd/passwords.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static struct passwords *p;

/* what of the daemon it calls */

static sem_t fake_door; /* posted for each answer that PAM may give; only if fake_door_shut */
static sem_t fake_asked;
static bool fake_door_shut;
static int fake_launched; /* what starting the process comes to */
static unsigned fake_n_asked;
static char fake_begun[PHX_DOOR_NAME_MAX], fake_told[300];
static unsigned fake_n_told;
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

int launch_door(struct launch *l, int *ret_fd, struct phx_err *err)
{
	(void)l;
	*ret_fd = -1;
	return fake_launched < 0 ? phx_err_set(err, fake_launched, "no process") : 0;
}

int phx_door_ask(int fd, const struct phx_door_who *who, enum phx_door_said *ret,
		 char ret_name[PHX_DOOR_NAME_MAX], struct phx_err *err)
{
	static const char *const words[] = {"right", "wrong", "shut", "change", "unable"};
	(void)fd;
	pthread_mutex_lock(&fake_lock);
	fake_n_asked++;
	pthread_mutex_unlock(&fake_lock);
	sem_post(&fake_asked);
	while (fake_door_shut && sem_wait(&fake_door) < 0)
		;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++)
		if (!strcmp(who->password, words[i])) {
			*ret = (enum phx_door_said)i;
			snprintf(ret_name, PHX_DOOR_NAME_MAX, "%s as PAM has it", who->name);
			return 0;
		}
	*ret = PHX_DOOR_IN; /* what it said before it ended does not count */
	return phx_err_set(err, -ETIMEDOUT, "it does not answer");
}

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s;
	assert_string_equal(f->kind, "password");
	pthread_mutex_lock(&fake_lock);
	fake_n_told++;
	snprintf(fake_told, sizeof(fake_told), "%s|%s", f->who, f->text);
	pthread_mutex_unlock(&fake_lock);
}

static void begin(struct daemon *of, struct phx_http_request *q, const char *name)
{
	(void)of;
	PHX_STR_SET(fake_begun, name);
	phx_http_reply_json(q, 200, NULL);
}

static int setup(void **state)
{
	(void)state;
	fake_requests_begin();
	sem_init(&fake_door, 0, 0);
	sem_init(&fake_asked, 0, 0);
	fake_door_shut = false;
	fake_launched = 0;
	fake_n_asked = fake_n_told = 0;
	fake_begun[0] = fake_told[0] = '\0';
	d = (struct daemon){.cfg.portal_pam = true};
	return passwords_new(&d, begin, &p);
}

static int teardown(void **state)
{
	(void)state;
	passwords_free(PHX_TAKE(p));
	return 0;
}

static void knocks(struct phx_http_request *q, const char *name, const char *from,
		   const char *password)
{
	PHX_STR_SET(q->peer.address, from);
	passwords_take(p, q, name, password);
}

/* The answer. */
static struct phx_http_request tried(const char *name, const char *password)
{
	struct phx_http_request q = {0};
	knocks(&q, name, "10.0.0.9", password);
	fake_await();
	assert_int_equal(q.held, q.code != 429);
	return q;
}

static void who_knows_the_password_is_in_by_the_name_that_pam_has(void **state)
{
	(void)state;
	assert_int_equal(tried("root", "right").code, 200);
	assert_string_equal(fake_begun, "root as PAM has it");
	assert_int_equal(fake_n_told, 0);
}

static void a_wrong_password_is_told_of_a_user(void **state)
{
	(void)state;
	struct phx_http_request q = tried("root", "wrong");
	assert_int_equal(q.code, -EACCES);
	assert_non_null(strstr(q.text, "name or password is wrong"));
	assert_string_equal(fake_begun, "");
	assert_string_equal(fake_told,
			    "10.0.0.9|somebody at 10.0.0.9 is refused: a wrong password for root");
}

/* People type passwords where the name belongs. */
static void a_name_that_is_nobodys_is_not_told(void **state)
{
	(void)state;
	assert_int_equal(tried("my-secret-77", "wrong").code, -EACCES);
	assert_int_equal(fake_n_told, 1);
	assert_null(strstr(fake_told, "my-secret-77"));
	assert_non_null(strstr(fake_told, "a name that is nobody's"));
}

/* Only who knows the password learns something of the account, and it is no wrong one. */
static void each_other_answer_has_its_text(void **state)
{
	static const struct {
		const char *password, *text;
		int code;
	} rows[] = {{"shut", "may not sign in now", -EACCES},
		    {"change", "has expired: log in", -EACCES},
		    {"unable", "cannot look at passwords now", -EAGAIN},
		    {"no answer", "cannot look at passwords now", -EAGAIN}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_http_request q = tried("root", rows[i].password);
		assert_int_equal(q.code, rows[i].code);
		assert_non_null(strstr(q.text, rows[i].text));
	}
	assert_int_equal(fake_n_told, 0);
	assert_string_equal(fake_begun, "");
}

static void a_process_that_cannot_be_started_lets_nobody_in(void **state)
{
	(void)state;
	fake_launched = -EBUSY;
	assert_int_equal(tried("root", "right").code, -EAGAIN);
	assert_int_equal(fake_n_asked, 0);
	assert_string_equal(fake_begun, "");
}

static void who_guesses_waits_and_is_not_asked_for(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_ATTEMPTS_FREE; i++)
		assert_int_equal(tried("root", "wrong").code, -EACCES);
	struct phx_http_request q = tried("root", "right");
	assert_int_equal(q.code, 429);
	assert_true(q.wait_s > 0);
	assert_int_equal(fake_n_asked, PHX_ATTEMPTS_FREE);
	/* also with another name, from there; and with that name from elsewhere */
	assert_int_equal(tried("other", "right").code, 429);
	struct phx_http_request far = {0};
	knocks(&far, "root", "10.0.0.77", "right");
	assert_int_equal(far.code, 429);
}

static void what_is_no_wrong_password_counts_for_nothing(void **state)
{
	static const char *const words[] = {"right", "unable", "no answer", "shut", "change"};
	(void)state;
	for (int i = 0; i < 3 * PHX_ATTEMPTS_FREE; i++)
		tried("root", words[(size_t)i % PHX_ARRAY_SIZE(words)]);
	assert_int_equal(tried("root", "right").code, 200);
}

static void where_pam_is_off_nobody_is_asked(void **state)
{
	struct phx_http_request q = {0};
	struct passwords *none = NULL;
	(void)state;
	d.cfg.portal_pam = false;
	assert_int_equal(passwords_new(&d, begin, &none), 0);
	assert_null(none);
	passwords_take(none, &q, "root", "right");
	assert_int_equal(q.code, -EACCES);
	assert_non_null(strstr(q.text, "portal_pam"));
	assert_false(q.held);
	passwords_free(none);
}

/* One that had no place has not guessed. */
static void there_is_room_for_so_many_and_the_rest_come_again(void **state)
{
	static struct phx_http_request q[THREADS + WAITING_MAX + 1], again;
	char name[16], from[16];
	const int n = PHX_ARRAY_SIZE(q);
	(void)state;
	memset(q, 0, sizeof(q));
	fake_door_shut = true;
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "user%d", i);
		snprintf(from, sizeof(from), "10.0.1.%d", i);
		knocks(&q[i], name, from, "right");
		if (i < THREADS) /* each thread has one */
			while (sem_wait(&fake_asked) < 0)
				;
	}
	assert_int_equal(q[n - 1].code, -EAGAIN);
	assert_int_equal(q[n - 2].code, 0);
	for (int i = 0; i < PHX_ATTEMPTS_FREE; i++) {
		again = (struct phx_http_request){0};
		knocks(&again, name, from, "right");
		assert_int_equal(again.code, -EAGAIN);
	}
	fake_door_shut = false;
	for (int i = 0; i < n; i++)
		sem_post(&fake_door);
	for (int i = 0; i < n + PHX_ATTEMPTS_FREE; i++)
		fake_await();
	for (int i = 0; i < n - 1; i++)
		assert_int_equal(q[i].code, 200);
	assert_int_equal(fake_n_asked, n - 1);
	/* nothing of them is left */
	static const struct attempt none[WAITING_MAX];
	assert_memory_equal(p->waiting, none, sizeof(none));
}

static void at_the_end_who_waits_is_told(void **state)
{
	static struct phx_http_request q[THREADS + 2];
	char from[16];
	(void)state;
	memset(q, 0, sizeof(q));
	fake_door_shut = true;
	for (int i = 0; i < (int)PHX_ARRAY_SIZE(q); i++) {
		snprintf(from, sizeof(from), "10.0.1.%d", i);
		knocks(&q[i], from, from, "right");
		if (i < THREADS)
			while (sem_wait(&fake_asked) < 0)
				;
	}
	/* the threads end with what they have */
	pthread_mutex_lock(&p->lock);
	p->stopped = true;
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < THREADS; i++)
		sem_post(&fake_door);
	passwords_stop(p);
	for (int i = 0; i < (int)PHX_ARRAY_SIZE(q); i++)
		assert_int_equal(q[i].code, i < THREADS ? 200 : -EAGAIN);
	struct phx_http_request late = {0};
	knocks(&late, "late", "10.0.2.1", "right");
	assert_int_equal(late.code, -EAGAIN);
	assert_int_equal(fake_n_asked, THREADS);
}

static void nobody_is_asked_for_who_has_hung_up(void **state)
{
	int ends[2];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[1]);
	struct phx_http_request q = {.hang_up = ends[0]};
	knocks(&q, "root", "10.0.0.9", "right");
	fake_await();
	assert_int_equal(q.code, -EAGAIN);
	assert_int_equal(fake_n_asked, 0);
	assert_string_equal(fake_begun, "");
	close(ends[0]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(who_knows_the_password_is_in_by_the_name_that_pam_has),
		TEST(a_wrong_password_is_told_of_a_user),
		TEST(a_name_that_is_nobodys_is_not_told),
		TEST(each_other_answer_has_its_text),
		TEST(a_process_that_cannot_be_started_lets_nobody_in),
		TEST(who_guesses_waits_and_is_not_asked_for),
		TEST(what_is_no_wrong_password_counts_for_nothing),
		TEST(where_pam_is_off_nobody_is_asked),
		TEST(there_is_room_for_so_many_and_the_rest_come_again),
		TEST(at_the_end_who_waits_is_told),
		TEST(nobody_is_asked_for_who_has_hung_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
