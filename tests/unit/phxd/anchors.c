/* Anchors of the journal (cmd/phxd/anchors.c): when one is made, where it goes, what is told
 * when it does not get there, and from which one a daemon goes on. The journal, the key and the
 * head's own file are real; other places are fakes, and what the thread would do the test does.
 * */
#include "fake/request.h"

#include "fake/thread.h"
#include "phxd/anchors.c" /* a part of a program, not of the library */
#undef pthread_create
#undef pthread_join
#include "fake/key_signer.h"
#include "fake/journal.h"

static struct daemon d;
static struct anchors *a;
static struct phx_signer signer;
static char key[96], pub[96], own[96];

/* what of the daemon it calls */

static int fake_file_result[FILES_MAX], fake_program_result, fake_sign_result;
static unsigned fake_n_files, fake_n_programs;
static char fake_line[PHX_ANCHOR_LINE_MAX];

static int fake_sign(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		     struct phx_err *err)
{
	return fake_sign_result ? phx_err_set(err, fake_sign_result, "no key")
				: fake_key_sign(arg, text, ret, err);
}
/* Of a process with a log of its own. */
static int fake_sign_end(void *arg, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
			 char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err)
{
	char whole[PHX_ANCHOR_LINE_MAX], hash[PHX_ANCHOR_HASH_MAX] = "";
	memset(hash, '7', PHX_ANCHOR_HASH_MAX - 1);
	phx_anchor_end(12, hash, ret_end);
	snprintf(whole, sizeof(whole), "%s%s", text, ret_end);
	return fake_sign(arg, whole, ret, err);
}
const struct phx_signer *engine_signer(const struct engine *e)
{
	(void)e;
	return &signer;
}
int launch_anchor(struct launch *l, uint32_t which, const char *line, struct phx_err *err)
{
	(void)l;
	fake_n_files++;
	PHX_STR_SET(fake_line, line);
	return fake_file_result[which]
		? phx_err_set(err, fake_file_result[which], "file %u is full", which)
		: 0;
}
struct phx_hands *hands_process(struct hands *h)
{
	return (struct phx_hands *)h;
}
int phx_hands_anchor(struct phx_hands *h, const char *line, struct phx_err *err)
{
	(void)h;
	fake_n_programs++;
	PHX_STR_SET(fake_line, line);
	return fake_program_result ? phx_err_set(err, fake_program_result, "it ended with 1") : 0;
}

static int begin(void)
{
	return anchors_new(&d, &a);
}

static void ends(void)
{
	anchors_free(PHX_TAKE(a));
}

static void add_word(struct phx_list *to, const char *text)
{
	struct phx_word *w = phx_list_push(to, sizeof(*w));
	PHX_STR_SET(w->text, text);
}

static int setup(void **state)
{
	struct phx_pki *pki = NULL;
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	memset(fake_file_result, 0, sizeof(fake_file_result));
	fake_program_result = fake_sign_result = 0;
	fake_n_files = fake_n_programs = 0;
	fake_no_thread = false;
	if (fake_journal_begin() < 0)
		return -1;
	snprintf(key, sizeof(key), "%s/pki/site.key", fake_dir);
	snprintf(pub, sizeof(pub), "%s/pki/site.pub", fake_dir);
	snprintf(own, sizeof(own), "%s/anchors", fake_dir);
	PHX_AUTO_FREE char *pki_dir = phx_path("%s/pki", fake_dir);
	int r = phx_pki_open(pki_dir, NULL, 0, &pki, NULL);
	phx_pki_free(pki);
	signer = (struct phx_signer){.sign = fake_sign, .arg = key};
	d = (struct daemon){0};
	PHX_STR_SET(d.cfg.state_dir, fake_dir);
	return r ? r : begin();
}

static int teardown(void **state)
{
	(void)state;
	ends();
	phx_list_fini(&d.cfg.anchor_file);
	phx_list_fini(&d.cfg.anchor_program);
	return fake_journal_end();
}

static void commits(void)
{
	anchors_committed(a, happens("tick", "", "{}", "[]"));
}

/* The lines of the head's own file. */
static uint32_t kept(struct phx_anchor *ret_last)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	uint32_t n_bad;
	int r = phx_anchor_read(own, 0, &lines, &n_bad, NULL);
	assert_true(r == 0 || r == -ENOENT);
	if (lines.n && ret_last)
		*ret_last = *PHX_LIST_AT(&lines, struct phx_anchor, lines.n - 1);
	return lines.n;
}

/* `form`: what it says that it knows of lines. */
static void orders_of(enum phx_order_kind kind, int64_t id, int64_t form, struct phx_buf *b)
{
	PHX_AUTO(phx_list_fini) struct phx_list running = {0};
	struct beat_running *r = phx_list_push(&running, sizeof(*r));
	r->id = id;
	r->kind = kind;
	r->run = form;
	anchors_orders_put(a, &running, b);
}

static void orders(enum phx_order_kind kind, int64_t id, struct phx_buf *b)
{
	orders_of(kind, id, 0, b);
}

/* ---- when ---- */

static void a_journal_without_events_needs_none(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	assert_false(is_due(a));
	assert_true(a->due_ms == INT64_MAX);
	orders(PHX_ORDER_anchor, 9, &b);
	assert_int_equal(b.n, 0);
	ends();
	assert_int_equal(kept(NULL), 0);
}

static void the_first_event_is_covered_within_a_minute(void **state)
{
	(void)state;
	int64_t now = phx_clock_ms();
	commits();
	assert_false(is_due(a));
	int64_t due = a->due_ms;
	assert_true(due >= now + EVERY_MS && due <= phx_clock_ms() + EVERY_MS);
	commits(); /* more events do not put it off */
	assert_int_equal(a->due_ms, due);
	a->due_ms = 1;
	assert_true(is_due(a));
}

static void many_events_are_covered_at_once(void **state)
{
	(void)state;
	anchors_committed(a, EVERY_EVENTS - 1);
	assert_false(is_due(a));
	anchors_committed(a, EVERY_EVENTS);
	assert_true(is_due(a));
	anchors_committed(a, 5); /* told late: the journal does not go back */
	assert_int_equal(a->seq, EVERY_EVENTS);
}

static void the_end_covers_what_is_not_covered_yet(void **state)
{
	struct phx_anchor last;
	(void)state;
	commits();
	commits();
	ends();
	assert_int_equal(kept(&last), 1);
	assert_int_equal(last.seq, 2);
	assert_string_equal(last.journal, phx_store_id(fake_store));
	assert_int_equal(phx_anchor_verify(&last, pub, NULL), 0);
}

/* ---- going on ---- */

static void the_same_event_is_not_signed_twice(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	commits();
	ends();
	assert_int_equal(begin(), 0);
	assert_false(is_due(a));
	/* and agents that lack it are given the one of before */
	orders(PHX_ORDER_anchor, 0, &b);
	assert_non_null(strstr(b.data, "\"id\":1"));
	ends();
	assert_int_equal(kept(NULL), 1);
	happens("tick", "", "{}", "[]");
	assert_int_equal(begin(), 0);
	ends();
	assert_int_equal(kept(NULL), 2);
}

static void append(const char *text)
{
	FILE *f = fopen(own, "a");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A line that was cut off while it was written: what it said is signed again. */
static void a_file_that_was_cut_off_is_gone_on_with(void **state)
{
	char *text = NULL;
	struct phx_anchor last;
	(void)state;
	commits();
	ends();
	assert_int_equal(phx_file_read(own, 4096, &text, NULL, NULL), 0);
	text[strlen(text) / 2] = '\0';
	assert_int_equal(phx_file_write(own, text, strlen(text), 0600, NULL), 0);
	free(text);
	assert_int_equal(begin(), 0);
	assert_int_equal(a->covered, 0);
	assert_int_equal(a->last_seq, 0);
	ends();
	assert_int_equal(kept(&last), 1);
	assert_int_equal(last.seq, 1);
	assert_int_equal(phx_anchor_verify(&last, pub, NULL), 0);
}

static void an_anchor_of_another_journal_covers_nothing(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	append("phoenix anchor journal 0123456789abcdef0123456789abcdef event 1 hash " HASH
	       " time 1 snapshot - signature " HASH HASH "\n");
	assert_int_equal(kept(NULL), 1);
	ends();
	happens("tick", "", "{}", "[]");
	assert_int_equal(begin(), 0);
	assert_int_equal(a->covered, 0);
	assert_true(a->due_ms != INT64_MAX);
	orders(PHX_ORDER_anchor, 0, &b);
	assert_int_equal(b.n, 0);
}

/* The journal is an older copy: what comes now is covered anew. */
static void an_anchor_beyond_the_journals_end_covers_nothing(void **state)
{
	char line[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor anchor;
	(void)state;
	commits();
	ends();
	assert_int_equal(kept(&anchor), 1);
	anchor.seq = 5;
	phx_anchor_format(&anchor, line);
	append(line);
	append("\n");
	assert_int_equal(begin(), 0);
	assert_int_equal(a->covered, 0);
	assert_int_equal(a->last_seq, 0);
	assert_int_equal(a->seq, 1);
}

/* An agent of before would keep none of the new form, and be given it with each beat. */
static void each_agent_is_given_the_form_that_it_knows(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf old = {0}, new = {0}, none = {0};
	(void)state;
	signer.sign_end = fake_sign_end;
	commits();
	make(a);
	assert_non_null(strstr(a->last, " vault 12 7777"));
	orders_of(PHX_ORDER_anchor, 0, 0, &old);
	assert_non_null(strstr(old.data, " snapshot - signature "));
	orders_of(PHX_ORDER_anchor, 0, 1, &new);
	assert_non_null(strstr(new.data, a->last));
	/* the line of an earlier phxd is there in one form alone */
	ends();
	assert_int_equal(begin(), 0);
	orders_of(PHX_ORDER_anchor, 0, 0, &none);
	assert_int_equal(none.n, 0);
	orders_of(PHX_ORDER_anchor, 0, 1, &none);
	assert_non_null(strstr(none.data, a->last));
}

static void without_a_thread_there_is_none(void **state)
{
	struct anchors *none = NULL;
	(void)state;
	fake_no_thread = true;
	assert_int_equal(anchors_new(&d, &none), -EAGAIN);
	assert_null(none);
}

/* ---- where ---- */

static void each_place_is_given_the_line(void **state)
{
	(void)state;
	add_word(&d.cfg.anchor_file, "/elsewhere");
	add_word(&d.cfg.anchor_file, "/and/there");
	add_word(&d.cfg.anchor_program, "/bin/send");
	commits();
	make(a);
	assert_int_equal(fake_n_files, 2);
	assert_int_equal(fake_n_programs, 1);
	assert_string_equal(fake_line, a->last);
	assert_int_equal(fake_n_notices, 0);
}

static void a_place_that_fails_is_told_once_until_it_works_again(void **state)
{
	(void)state;
	for (int i = 0; i < FILES_MAX + 1; i++) /* more than are counted apart */
		add_word(&d.cfg.anchor_file, "/elsewhere");
	d.cfg.anchor_file.n = 2;
	commits();
	fake_file_result[1] = -ENOSPC;
	make(a);
	make(a);
	assert_int_equal(fake_n_notices, 1);
	assert_non_null(strstr(fake_notice, "file 1 is full"));
	/* another one is another one */
	fake_file_result[0] = -EIO;
	make(a);
	assert_int_equal(fake_n_notices, 2);
	assert_non_null(strstr(fake_notice, "file 0 is full"));
	fake_file_result[1] = 0;
	make(a);
	assert_int_equal(fake_n_notices, 2);
	fake_file_result[1] = -ENOSPC;
	make(a);
	assert_int_equal(fake_n_notices, 3);
}

static void a_program_that_fails_is_told(void **state)
{
	(void)state;
	add_word(&d.cfg.anchor_program, "/bin/send");
	fake_program_result = -EIO;
	commits();
	make(a);
	make(a);
	assert_int_equal(fake_n_notices, 1);
	assert_non_null(strstr(fake_notice, "it ended with 1"));
}

static void the_own_file_that_fails_is_told_and_the_others_get_theirs(void **state)
{
	(void)state;
	add_word(&d.cfg.anchor_file, "/elsewhere");
	assert_int_equal(mkdir(own, 0700), 0);
	commits();
	make(a);
	assert_int_equal(fake_n_notices, 1);
	assert_int_equal(fake_n_files, 1);
	assert_int_equal(rmdir(own), 0);
}

/* Agents are not given a line that nobody signed. */
static void what_cannot_be_signed_goes_nowhere(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	add_word(&d.cfg.anchor_file, "/elsewhere");
	commits();
	fake_sign_result = -EPIPE;
	make(a);
	make(a);
	assert_int_equal(fake_n_notices, 1);
	assert_non_null(strstr(fake_notice, "no key"));
	assert_int_equal(fake_n_files, 0);
	assert_int_equal(kept(NULL), 0);
	orders(PHX_ORDER_anchor, 0, &b);
	assert_int_equal(b.n, 0);
}

/* ---- agents and people ---- */

static void an_agent_is_given_the_line_that_it_lacks(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	commits();
	make(a);
	orders(PHX_ORDER_anchor, 1, &b); /* it has it */
	orders(PHX_ORDER_table, 0, &b);  /* an older one knows no anchors */
	assert_int_equal(b.n, 0);
	orders(PHX_ORDER_anchor, 9, &b);
	PHX_AUTO_JSON json_t *j = json_loads(b.data, 0, NULL);
	assert_string_equal(phx_json_str(j, "kind", ""), "anchor");
	assert_int_equal(phx_json_int(j, "id", 0), 1);
	assert_string_equal(phx_json_str(j, "anchor", ""), a->last);
}

static struct phx_http_request asked(void)
{
	struct phx_http_request q = {0};
	d.anchors = a;
	api_anchors(&q, &d);
	return q;
}

static void people_are_shown_what_is_kept_and_how_much_of_it_is_damaged(void **state)
{
	(void)state;
	struct phx_http_request none = asked();
	assert_int_equal(none.code, 200);
	assert_int_equal(json_array_size(json_object_get(none.json, "anchors")), 0);
	commits();
	make(a);
	append("this is none\n");
	commits();
	make(a);
	struct phx_http_request q = asked();
	const json_t *list = json_object_get(q.json, "anchors");
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(phx_json_int(json_array_get(list, 1), "seq", 0), 2);
	assert_string_equal(phx_json_str(json_array_get(list, 1), "line", ""), a->last);
	assert_int_equal(phx_json_int(q.json, "bad", -1), 1);
	fake_request_fini(&none);
	fake_request_fini(&q);
}

static void a_file_that_cannot_be_read_is_told_to_people(void **state)
{
	(void)state;
	assert_int_equal(mkdir(own, 0700), 0);
	struct phx_http_request q = asked();
	assert_true(q.code < 0);
	assert_true(q.text[0]);
	assert_int_equal(rmdir(own), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_journal_without_events_needs_none),
		TEST(the_first_event_is_covered_within_a_minute),
		TEST(many_events_are_covered_at_once),
		TEST(the_end_covers_what_is_not_covered_yet),
		TEST(the_same_event_is_not_signed_twice),
		TEST(a_file_that_was_cut_off_is_gone_on_with),
		TEST(an_anchor_of_another_journal_covers_nothing),
		TEST(an_anchor_beyond_the_journals_end_covers_nothing),
		TEST(each_agent_is_given_the_form_that_it_knows),
		TEST(without_a_thread_there_is_none),
		TEST(each_place_is_given_the_line),
		TEST(a_place_that_fails_is_told_once_until_it_works_again),
		TEST(a_program_that_fails_is_told),
		TEST(the_own_file_that_fails_is_told_and_the_others_get_theirs),
		TEST(what_cannot_be_signed_goes_nowhere),
		TEST(an_agent_is_given_the_line_that_it_lacks),
		TEST(people_are_shown_what_is_kept_and_how_much_of_it_is_damaged),
		TEST(a_file_that_cannot_be_read_is_told_to_people),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
