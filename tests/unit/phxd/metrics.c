/* Metrics (cmd/phxd/metrics*.c): what is counted of steps, erases, beats and requests; the rows of
 * nodes, by pages; one rendering for all who scrape; and how long that of ten thousand nodes takes,
 * and keeps the engine locked. */
#include "unit/core/pair.h"

#include <zlib.h>

#include "base/tree.h"
#include "fake/submitted.h"
#include "fake/request.h"

static int64_t locked_us, longest_us; /* with the engine's lock */
static const struct phx_state *timed_lock(struct engine *e);
static void timed_unlock(struct engine *e);
#define engine_lock timed_lock
#define engine_unlock timed_unlock
#include "phxd/metrics.c" /* parts of a program, not of the library */
#include "phxd/metrics_head.c"
#include "phxd/metrics_nodes.c"
#include "phxd/metrics_reply.c"
#undef engine_lock
#undef engine_unlock

/* Of this thread: what others do on this machine takes none of it. */
static int64_t spent_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static const struct phx_state *timed_lock(struct engine *e)
{
	const struct phx_state *s = engine_lock(e);
	locked_us = spent_us();
	return s;
}

static void timed_unlock(struct engine *e)
{
	int64_t us = spent_us() - locked_us;
	longest_us = us > longest_us ? us : longest_us;
	engine_unlock(e);
}

/* ---- what is behind ---- */

static struct daemon head;
static struct metrics *m;
static unsigned n_rendered;

char *view_metrics(struct daemon *d, const struct view_reader *reader)
{
	assert_ptr_equal(d, &head);
	assert_true(reader->sees(reader->arg, NULL));
	n_rendered++;
	return strdup("WHAT ALL SEE\n");
}

uint32_t exec_power_waiting(struct exec *x)
{
	(void)x;
	return 3;
}

void phx_http_server_refused(struct phx_http_server *s, enum phx_http_listener which,
			     enum phx_http_limit limit, struct phx_http_refused *ret)
{
	(void)s, (void)which, (void)limit;
	*ret = (struct phx_http_refused){.n = 1};
}

void outlets_put_metrics(struct outlets *o, struct phx_buf *b)
{
	(void)o;
	phx_metric_head(b, PHX_METRIC_outlet_events_total);
}

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	assert_false(fake_engine_held);
}

static bool takes_gzip;
bool phx_http_takes_gzip(const struct phx_http_request *q)
{
	(void)q;
	return takes_gzip;
}

static struct phx_http_shared sent;
void phx_http_reply_shared(struct phx_http_request *q, const struct phx_http_shared *text)
{
	(void)q;
	sent = *text;
}

/* The answer that was sent goes. */
static void taken(void)
{
	if (sent.done)
		sent.done(sent.arg);
	sent = (struct phx_http_shared){0};
}

static struct world *w;
static struct phx_pki *site;
static char dir[] = "/tmp/phx-metrics.XXXXXX";

static int make_site(void **state)
{
	static const char *const names[] = {"head.example.org"};
	(void)state;
	assert_non_null(mkdtemp(dir));
	return phx_pki_open(dir, names, 1, &site, NULL);
}

static int remove_site(void **state)
{
	(void)state;
	phx_pki_free(site);
	return phx_dir_remove(dir, NULL);
}

static int setup(void **state)
{
	fake_engine_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	head = (struct daemon){0};
	head.cfg.metrics_nodes = 1000;
	head.cfg.metrics_keep_s = 300;
	head.pki = site;
	head.http = (struct phx_http_server *)&head; /* it is only handed on */
	n_rendered = 0;
	takes_gzip = false;
	return metrics_new(&head, &m);
}

static int teardown(void **state)
{
	taken();
	metrics_free(m);
	fake_engine_is_free();
	return world_teardown(state);
}

/* A page, as text; until the next. */
static const char *page(uint32_t number)
{
	static struct phx_buf text;
	FAKE_REQUEST q = {0};
	taken();
	metrics_reply(m, &q, number);
	assert_false(sent.gzip);
	text.n = 0;
	phx_buf_add(&text, sent.data, sent.n);
	phx_buf_add(&text, "", 1);
	return text.data;
}

static void assert_row(const char *text, const char *row)
{
	char line[300];
	snprintf(line, sizeof(line), "\n%s\n", row);
	if (!strstr(text, line))
		fail_msg("no row '%s'", row);
}

/* ---- what is counted ---- */

static void ends(const struct phx_step_end *e)
{
	struct phx_list list = {0};
	struct phx_step_end *to = phx_list_push(&list, sizeof(*to));
	*to = *e;
	metrics_ended(m, &list);
	phx_list_fini(&list);
}

static void handovers_are_counted_by_setup_and_phase(void **state)
{
	(void)state;
	ends(&(struct phx_step_end){.node = "n1", .kind = PHX_STEP_drain, .took_ms = 2500});
	ends(&(struct phx_step_end){
		.node = "n1", .kind = PHX_STEP_wipe, .failed = true, .method = PHX_WIPE_DISCARD});
	ends(&(struct phx_step_end){.node = "n1",
				    .kind = PHX_STEP_join,
				    .last = true,
				    .mode = PHX_SETUP_WIPE,
				    .plan_ms = 61000,
				    .took_of_ms = {[PHX_STEP_drain] = 2500,
						   [PHX_STEP_settle] = 500,
						   [PHX_STEP_wipe] = 40000}});
	world_ready(w, "n1", true);
	const char *text = page(1);
	assert_row(text, "phx_step_seconds_bucket{step=\"drain\",le=\"1\"} 0");
	assert_row(text, "phx_step_seconds_bucket{step=\"drain\",le=\"3\"} 1");
	assert_row(text, "phx_step_seconds_sum{step=\"drain\"} 2.500000");
	assert_row(text, "phx_step_failures_total{step=\"wipe\"} 1");
	assert_row(text, "phx_step_seconds_count{step=\"wipe\"} 0"); /* a failure is no duration */
	assert_row(text, "phx_erases_total{method=\"discard\",verdict=\"failed\"} 1");
	assert_row(text, "phx_handover_seconds_sum{setup=\"wipe\"} 61.000000");
	assert_row(text, "phx_handover_seconds_count{setup=\"noop\"} 0");
	assert_row(text, "phx_handover_phase_seconds_sum{phase=\"drain\",setup=\"wipe\"} 3.000000");
	assert_row(text, "phx_handover_phase_seconds_sum{phase=\"wipe\",setup=\"wipe\"} 40.000000");
	/* it had no step of that phase */
	assert_row(text, "phx_handover_phase_seconds_count{phase=\"stop\",setup=\"wipe\"} 0");
	assert_row(text, "phx_node_handover_seconds{node=\"n1\",setup=\"wipe\"} 61.000");
	assert_row(text, "phx_node_erases_total{node=\"n1\",verdict=\"failed\"} 1");
}

static void erases_are_counted_by_what_is_known(void **state)
{
	struct phx_action act = {.kind = PHX_ACT_ERASED, .node = "n1", .method = PHX_WIPE_CRYPTO};
	(void)state;
	metrics_action(m, &act); /* nothing was read back */
	act.used = PHX_WIPE_OVERWRITE;
	act.verified_bytes = 4096;
	metrics_action(m, &act);
	PHX_STR_SET(act.signer, "sha256:1");
	metrics_action(m, &act);
	PHX_STR_SET(act.tpm, "sha256:2");
	metrics_action(m, &act);
	act.kind = PHX_ACT_NOTE;
	metrics_action(m, &act);
	const char *text = page(1);
	assert_row(text, "phx_erases_total{method=\"crypto\",verdict=\"unread\"} 1");
	assert_row(text, "phx_erases_total{method=\"overwrite\",verdict=\"unsigned\"} 1");
	assert_row(text, "phx_erases_total{method=\"overwrite\",verdict=\"signed\"} 1");
	assert_row(text, "phx_erases_total{method=\"overwrite\",verdict=\"quoted\"} 1");
	assert_row(text, "phx_erases_total{method=\"crypto\",verdict=\"signed\"} 0");
}

static void requests_are_counted_by_class(void **state)
{
	(void)state;
	metrics_answered(m, METRICS_write, 201, 2000, false);
	metrics_answered(m, METRICS_write, 503, 20000000, false);
	metrics_answered(m, METRICS_look, 200, 59000000, true); /* it was held */
	metrics_answered(m, METRICS_none, 999, 1, false);       /* no status at all */
	metrics_answered(m, METRICS_none, 0, 1, false);
	metrics_order(m, PHX_ORDER_job);
	metrics_power(m, PHX_POWER_ON, true);
	const char *text = page(1);
	assert_row(text, "phx_http_requests_total{class=\"write\",code=\"2xx\"} 1");
	assert_row(text, "phx_http_requests_total{class=\"write\",code=\"5xx\"} 1");
	assert_row(text, "phx_http_request_seconds_bucket{class=\"write\",le=\"10\"} 1");
	assert_row(text, "phx_http_request_seconds_bucket{class=\"write\",le=\"+Inf\"} 2");
	assert_row(text, "phx_http_requests_total{class=\"look\",code=\"2xx\"} 1");
	assert_row(text, "phx_http_request_seconds_count{class=\"look\"} 0");
	assert_row(text, "phx_orders_total{kind=\"job\"} 1");
	assert_row(text, "phx_power_acts_total{act=\"on\",result=\"failed\"} 1");
	assert_row(text, "phx_power_queue_length 3");
	assert_row(text, "phx_refused_total{listener=\"https\",limit=\"person\"} 1");
	assert_non_null(
		strstr(text, "phx_certificate_end_timestamp_seconds{certificate=\"ca\"} 2"));
	assert_non_null(
		strstr(text, "phx_certificate_end_timestamp_seconds{certificate=\"head\"} "));
	assert_non_null(strstr(text, "WHAT ALL SEE\n"));
}

/* ---- nodes ---- */

static void a_node_claims_what_it_likes_and_gets_a_row_of_it(void **state)
{
	(void)state;
	struct beat_figures f;
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	beat_figures_none(&f);
	f.of[BEAT_FIGURE_cpu_permille] = INT64_MAX;
	f.of[BEAT_FIGURE_load1_centi] = 123;
	f.of[BEAT_FIGURE_net_rx_bytes] = INT64_MAX;
	metrics_beat(m, "n1", &f, 50);
	const char *text = page(1);
	assert_row(text, "phx_node_cpu_use_ratio{node=\"n1\"} 1.000");
	assert_row(text, "phx_node_load1{node=\"n1\"} 1.23");
	assert_row(text, "phx_node_network_receive_bytes_total{node=\"n1\"} 9223372036854775807");
	assert_null(strstr(text, "phx_node_memory_bytes{node=\"n1\"")); /* it did not say */
	assert_non_null(strstr(text, "phx_node_last_heard_timestamp_seconds{node=\"n1\"}"));
	assert_null(strstr(text, "phx_node_last_heard_timestamp_seconds{node=\"n2\"}"));
	assert_row(text, "phx_node_state{node=\"n2\",state=\"ready\"} 1");
	assert_row(text, "phx_beats_total 1");
}

static void a_step_under_way_is_told(void **state)
{
	(void)state;
	world_ready(w, "n1", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	w->s.now_ms += 1500;
	const struct phx_step *step = phx_node_step(world_node(w, "n1"));
	char row[100];
	snprintf(row, sizeof(row), "phx_node_step_seconds{node=\"n1\",step=\"wipe\"} %.3f",
		 (double)(w->s.now_ms - step->issued_ms) / 1000);
	assert_row(page(1), row);
}

static unsigned rows_of(const char *text, const char *family)
{
	unsigned n = 0;
	for (const char *at = text; (at = strstr(at, family)); at += strlen(family))
		n++;
	return n;
}

/* Each node is on one page, and on one alone. */
static void pages_have_each_node_once(void **state)
{
	(void)state;
	many_ready(w, 25);
	head.cfg.metrics_nodes = 10;
	const unsigned wanted[] = {10, 10, 5, 0};
	assert_row(page(1), "phx_node_pages 3");
	for (uint32_t i = 0; i < PHX_ARRAY_SIZE(wanted); i++)
		assert_int_equal(rows_of(page(i + 1), "\nphx_node_up{"), wanted[i]);
	assert_row(page(3), "phx_node_up{node=\"n25\"} 1");
	assert_null(strstr(page(2), "phx_build_info"));
	assert_int_equal(rows_of(page(UINT32_MAX), "phx_node_up{"), 0);
}

static void rows_of_nodes_can_be_left_out(void **state)
{
	(void)state;
	many_ready(w, 3);
	head.cfg.metrics_nodes = 0;
	const char *text = page(1);
	assert_null(strstr(text, "node=\""));
	assert_row(text, "phx_node_pages 0");
	assert_non_null(strstr(text, "phx_build_info"));
}

/* ---- who scrapes ---- */

static void one_rendering_is_for_all(void **state)
{
	(void)state;
	many_ready(w, 3);
	page(1);
	metrics_answered(m, METRICS_write, 201, 2000, false);
	assert_row(page(1), "phx_http_requests_total{class=\"write\",code=\"2xx\"} 0");
	assert_int_equal(n_rendered, 1);
	m->made_ms[0] -= 300000; /* its time is over */
	assert_row(page(1), "phx_http_requests_total{class=\"write\",code=\"2xx\"} 1");
	assert_int_equal(n_rendered, 2);
	head.cfg.metrics_keep_s = 0;
	page(1);
	page(1);
	assert_int_equal(n_rendered, 4);
}

/* Who still sends an answer keeps it, though another has taken its place. */
static void an_answer_lasts_as_long_as_it_is_sent(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	metrics_reply(m, &q, 1);
	struct phx_http_shared slow = sent;
	sent = (struct phx_http_shared){0};
	m->made_ms[0] -= 300000;
	page(1);
	assert_int_equal(n_rendered, 2);
	assert_non_null(memmem(slow.data, slow.n, "WHAT ALL SEE", 12));
	slow.done(slow.arg);
}

static void gzip_holds_the_same(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	many_ready(w, 30);
	PHX_AUTO_FREE char *plain = strdup(page(1));
	taken();
	takes_gzip = true;
	metrics_reply(m, &q, 1);
	assert_true(sent.gzip);
	assert_true(sent.n < strlen(plain) / 4);
	size_t most = strlen(plain) + 1;
	PHX_AUTO_FREE char *back = calloc(1, most);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)sent.data,
		      .avail_in = (uInt)sent.n,
		      .next_out = (Bytef *)back,
		      .avail_out = (uInt)most};
	assert_int_equal(inflateInit2(&z, GZIP_WINDOW), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	assert_string_equal(back, plain);
}

/* ---- ten thousand nodes ---- */

static void many_nodes_are_rendered_in_time(void **state)
{
	enum { MANY = 10000, MOST_MS = 500, LOCKED_MOST_MS = 20 };
	FAKE_REQUEST q = {0};
	struct beat_figures f;
	(void)state;
	many_ready(w, MANY);
	head.cfg.metrics_nodes = 20000;
	for (int i = 0; i < BEAT_N_FIGURES; i++)
		f.of[i] = 123456789012 + i;
	for (uint32_t i = 1; i <= MANY; i++) {
		char name[PHX_NAME_MAX];
		snprintf(name, sizeof(name), "n%u", i);
		metrics_beat(m, name, &f, 50);
	}
	longest_us = 0;
	int64_t began_us = spent_us();
	metrics_reply(m, &q, 1);
	int64_t plain_us = spent_us() - began_us;
	size_t n = sent.n;
	taken();
	takes_gzip = true;
	began_us = spent_us();
	metrics_reply(m, &q, 1);
	int64_t packed_us = spent_us() - began_us;
	print_message("%d nodes: %zu bytes in %.1f ms, the engine locked for %.2f ms at most; gzip "
		      "%zu bytes in %.1f ms more\n",
		      MANY, n, (double)plain_us / 1e3, (double)longest_us / 1e3, sent.n,
		      (double)packed_us / 1e3);
	assert_int_equal(n_rendered, 1);
	assert_true(n > 5000000);
	assert_true(plain_us + packed_us < MOST_MS * 1000LL);
	assert_true(longest_us < LOCKED_MOST_MS * 1000LL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(handovers_are_counted_by_setup_and_phase),
		T(erases_are_counted_by_what_is_known),
		T(requests_are_counted_by_class),
		T(a_node_claims_what_it_likes_and_gets_a_row_of_it),
		T(a_step_under_way_is_told),
		T(pages_have_each_node_once),
		T(rows_of_nodes_can_be_left_out),
		T(one_rendering_is_for_all),
		T(an_answer_lasts_as_long_as_it_is_sent),
		T(gzip_holds_the_same),
		T(many_nodes_are_rendered_in_time),
	};
	return cmocka_run_group_tests(tests, make_site, remove_site);
}
