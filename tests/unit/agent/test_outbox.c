/* The outbox against a head that takes, refuses, or is away: every result arrives, in order, and
 * what cannot be brought is told instead of being tried for ever. When something is sent again is
 * test_result_queue.c's. */
#include "unit/agent/scratch.h"
#include "unit/http/world.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "agent/outbox.h"

/* ---- a file that a failing disk does not give ---- */

static const char *bad_file; /* NULL: none */

/* In the place of libc's. */
ssize_t read(int fd, void *data, size_t n)
{
	static ssize_t (*real)(int, void *, size_t);
	struct stat bad, st;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "read");
	if (bad_file && stat(bad_file, &bad) == 0 && fstat(fd, &st) == 0 &&
	    st.st_ino == bad.st_ino && st.st_dev == bad.st_dev) {
		errno = EIO;
		return -1;
	}
	return real(fd, data, n);
}

/* ---- the head ---- */

enum { ANSWERS_MAX = 4 };

struct desk {
	struct scratch *s;
	struct world *w;
	struct loop *loop;
	struct outbox *o;
	pthread_mutex_t lock;                /* of what follows */
	char heard[1024];                    /* what came, each with ';' */
	char told[512];                      /* done() and before(), each with ';' */
	int answers[ANSWERS_MAX], n_answers; /* errors of the first requests; 0: it is taken */
	int before[ANSWERS_MAX], n_before;   /* likewise of before() */
	int n_clients;
	int client_result;
};

static void add(struct desk *d, char *to, size_t size, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	pthread_mutex_lock(&d->lock);
	size_t at = strlen(to);
	vsnprintf(to + at, size - at, format, ap);
	pthread_mutex_unlock(&d->lock);
	va_end(ap);
}
#define HEARD(d, ...) add(d, (d)->heard, sizeof((d)->heard), __VA_ARGS__)
#define TOLD(d, ...) add(d, (d)->told, sizeof((d)->told), __VA_ARGS__)

static void answer(struct desk *d, struct phx_http_request *q)
{
	PHX_AUTO_JSON json_t *empty = json_object();
	int i = d->n_answers++, r = i < ANSWERS_MAX ? d->answers[i] : 0;
	if (r)
		phx_http_reply_error(q, r, "no");
	else
		phx_http_reply_json(q, 200, empty);
}

static void on_result(struct phx_http_request *q, void *arg)
{
	struct desk *d = arg;
	size_t n = 0;
	const char *body = phx_http_body(q, &n);
	PHX_AUTO_JSON json_t *j = NULL;
	assert_int_equal(phx_json_parse(body, n, &j, NULL), 0);
	HEARD(d, "%s %d %d%s;", phx_str_starts(phx_http_path(q), "/v1/agent/t") ? "rows" : "result",
	      (int)phx_json_int(j, "id", 0), (int)phx_json_int(j, "result", -1),
	      phx_json_str(j, "text", ""));
	answer(d, q);
}

static void on_output(struct phx_http_request *q, void *arg)
{
	struct desk *d = arg;
	PHX_AUTO_FREE char *text = read_text(phx_http_body_path(q));
	HEARD(d, "output of %s.%s '%s';", phx_http_param(q, 0), phx_http_query(q, "run"), text);
	answer(d, q);
}

static const struct phx_http_route routes[] = {
	{"POST", "/v1/agent/result", 1u << PHX_HTTP_PLAIN, on_result, 1 << 16, false, NULL},
	{"POST", "/v1/agent/tasks", 1u << PHX_HTTP_PLAIN, on_result, 1 << 16, false, NULL},
	{"PUT", "/v1/agent/jobs/*/output", 1u << PHX_HTTP_PLAIN, on_output, 1 << 16, true, NULL},
};

/* ---- the agent ---- */

static int make_client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	struct desk *d = arg;
	const struct phx_http_client_config config = {.base_url = d->w->plain_url};
	d->n_clients++;
	if (d->client_result < 0)
		return d->client_result++;
	return phx_http_client_new(&config, ret, err);
}

static void done(void *arg, uint64_t id, uint32_t run)
{
	TOLD((struct desk *)arg, "done %d.%u;", (int)id, run);
}

static int before(void *arg, struct phx_http_client *c, uint64_t id, uint32_t run,
		  struct phx_err *err)
{
	struct desk *d = arg;
	assert_non_null(c);
	TOLD(d, "before %d.%u;", (int)id, run);
	int i = d->n_before++, r = i < ANSWERS_MAX ? d->before[i] : 0;
	return r ? phx_err_set(err, r, ", for x is missing") : 0;
}

/* An outbox lasts until the program ends. */
static struct outbox *boxes[32];

static int setup(void **state)
{
	static size_t n;
	struct desk *d = calloc(1, sizeof(*d));
	pthread_mutex_init(&d->lock, NULL);
	scratch_setup((void **)&d->s);
	d->w = world_new(routes, PHX_ARRAY_SIZE(routes),
			 &(struct phx_http_server_config){.arg = d});
	d->loop = loop_started();
	assert_int_equal(outbox_new(d->loop, make_client, d, &d->o, NULL), 0);
	assert_true(n < PHX_ARRAY_SIZE(boxes));
	boxes[n++] = d->o;
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct desk *d = *state;
	bad_file = NULL;
	loop_free(d->loop);
	world_free(d->w);
	scratch_teardown((void **)&d->s);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return 0;
}

static void put(struct desk *d, struct result_subject about, int result, const char *upload,
		outbox_before_fn first)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:I,s:i}", "id", (json_int_t)about.id, "result", result);
	assert_int_equal(outbox_put(d->o, about, j, upload, first, done, d), 0);
}

static void put_step(struct desk *d, uint64_t id)
{
	put(d, (struct result_subject){.id = id}, 0, NULL, NULL);
}

static void put_job(struct desk *d, uint64_t id, int result, const char *upload,
		    outbox_before_fn first)
{
	put(d, (struct result_subject){.is_job = true, .id = id, .run = 2}, result, upload, first);
}

static bool is_empty(struct desk *d)
{
	struct result_subject one;
	return !outbox_list(d->o, false, &one, 1) && !outbox_list(d->o, true, &one, 1);
}

/* Once all is delivered. */
static void assert_came(struct desk *d, const char *heard, const char *told)
{
	outbox_open(d->o);
	WAIT_FOR(is_empty(d));
	assert_string_equal(d->heard, heard);
	assert_string_equal(d->told, told);
}

/* ---- order ---- */

/* Before the head knows of this boot, nothing goes out. */
static void test_results_go_out_in_order_once_it_is_open(void **state)
{
	struct desk *d = *state;
	put_step(d, 7);
	put(d, (struct result_subject){.is_tasks = true, .id = 3, .run = 1}, 0, NULL, NULL);
	put_job(d, 8, 4, NULL, NULL);
	phx_sleep_ms(50);
	assert_string_equal(d->heard, "");
	assert_true(outbox_has_step(d->o, 7));
	assert_came(d, "result 7 0;rows 3 0;result 8 4;", "done 7.0;done 3.1;done 8.2;");
	assert_false(outbox_has_step(d->o, 7));
	assert_int_equal(d->n_clients, 1);
}

static void test_what_the_head_did_not_take_comes_again_first(void **state)
{
	struct desk *d = *state;
	d->answers[0] = -EIO;
	put_step(d, 7);
	put_step(d, 8);
	assert_came(d, "result 7 0;result 7 0;result 8 0;", "done 7.0;done 8.0;");
}

/* It would be refused for ever, and what is behind it would never come. */
static void test_what_is_refused_for_good_is_dropped(void **state)
{
	struct desk *d = *state;
	d->answers[0] = -ESTALE;
	put_step(d, 7);
	put_step(d, 8);
	assert_came(d, "result 7 0;result 8 0;", "done 7.0;done 8.0;");
}

static void test_without_a_client_it_waits(void **state)
{
	struct desk *d = *state;
	d->client_result = -1;
	put_step(d, 7);
	assert_came(d, "result 7 0;", "done 7.0;");
	assert_int_equal(d->n_clients, 2);
}

/* A connection under the former key would be refused. */
static void test_another_key_is_another_client(void **state)
{
	struct desk *d = *state;
	put_step(d, 7);
	assert_came(d, "result 7 0;", "done 7.0;");
	outbox_renew(d->o);
	put_step(d, 8);
	assert_came(d, "result 7 0;result 8 0;", "done 7.0;done 8.0;");
	assert_int_equal(d->n_clients, 2);
}

static void test_a_job_that_was_not_started_is_told(void **state)
{
	struct desk *d = *state;
	outbox_refuse_job(d->o, 9, 0, ": no program");
	assert_came(d, "result 9 126: no program;", "");
}

/* ---- output ---- */

static const char *output(struct desk *d)
{
	const char *path = scratch_path(d->s, "out");
	write_text(path, "42", 0600);
	return path;
}

static void test_output_comes_before_the_end(void **state)
{
	struct desk *d = *state;
	d->answers[0] = -EIO;
	put_job(d, 8, 0, output(d), NULL);
	put_job(d, 9, 0, scratch_path(d->s, "none"), NULL);
	assert_came(d, "output of 8.2 '42';output of 8.2 '42';result 8 0;result 9 0;",
		    "done 8.2;done 9.2;");
}

static void test_the_end_comes_without_refused_output(void **state)
{
	struct desk *d = *state;
	d->answers[0] = -EINVAL;
	put_job(d, 8, 3, output(d), NULL);
	assert_came(d, "output of 8.2 '42';result 8 3;", "done 8.2;");
}

/* All results of the node would wait behind it. */
static void test_output_that_the_disk_does_not_give_stops_nothing(void **state)
{
	struct desk *d = *state;
	bad_file = output(d);
	d->before[0] = -ENODATA;
	put_job(d, 8, 0, bad_file, NULL);
	put_job(d, 9, 0, NULL, before);
	put_step(d, 7);
	assert_came(d, "result 8 0;result 9 125, for x is missing;result 7 0;",
		    "done 8.2;before 9.2;done 9.2;done 7.0;");
}

/* ---- files to bring back ---- */

static void test_a_file_that_is_missing_is_told_with_the_end(void **state)
{
	struct desk *d = *state;
	d->before[0] = d->before[1] = -ENOENT;
	put_job(d, 8, 0, NULL, before);
	put_job(d, 9, 7, NULL, before);
	assert_came(d, "result 8 125, for x is missing;result 9 7, for x is missing;",
		    "before 8.2;done 8.2;before 9.2;done 9.2;");
}

static void test_files_are_brought_before_the_end_is_told(void **state)
{
	struct desk *d = *state;
	d->before[0] = -EIO;
	d->answers[0] = -EIO;
	put_job(d, 8, 0, NULL, before);
	assert_came(d, "result 8 0;result 8 0;", "before 8.2;before 8.2;before 8.2;done 8.2;");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_results_go_out_in_order_once_it_is_open),
		TEST(test_what_the_head_did_not_take_comes_again_first),
		TEST(test_what_is_refused_for_good_is_dropped),
		TEST(test_without_a_client_it_waits),
		TEST(test_another_key_is_another_client),
		TEST(test_a_job_that_was_not_started_is_told),
		TEST(test_output_comes_before_the_end),
		TEST(test_the_end_comes_without_refused_output),
		TEST(test_output_that_the_disk_does_not_give_stops_nothing),
		TEST(test_a_file_that_is_missing_is_told_with_the_end),
		TEST(test_files_are_brought_before_the_end_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
