/* What leaves the head of an event (lib/outlet/news.h): which kinds do, the exact fields of the
 * system's log, that no text of a node forges one, and the JSON of programs and webhooks. A real
 * journald with a /run of its own takes them and gives them back; skipped where there is none, or
 * where mounts cannot be made. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-journal.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "outlet/news.h"

#define JOURNALD "/usr/lib/systemd/systemd-journald"
#define SOCKET "/run/systemd/journal/socket"

static struct phx_err err;

static struct phx_store_event event(const char *kind, const char *node, const char *text,
				    const char *actions)
{
	return (struct phx_store_event){.seq = 42,
					.time_ms = 1700000000000,
					.kind = kind,
					.node = node,
					.event = text,
					.actions = actions};
}

/* The fields, a line each. */
static void fields_are(const struct phx_store_event *ev, const char *want)
{
	PHX_AUTO(phx_news_fini) struct phx_news n = {0};
	PHX_AUTO(phx_news_fields_fini) struct phx_list fields = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	assert_int_equal(phx_news_of(ev, &n, &err), 0);
	assert_int_equal(phx_news_fields(&n, &fields), 0);
	PHX_LIST_EACH(struct phx_text, t, &fields)
		phx_buf_addf(&b, "%s\n", t->text);
	assert_string_equal(b.data, want);
}

static void every_kind_has_a_row(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_EV_COUNT_; i++) {
		const char *id = phx_news_id((enum phx_event_kind)i);
		assert_true(id && phx_is_hex(id, 32) && strlen(id) == 32);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(id, phx_news_id((enum phx_event_kind)k));
	}
}

static void fields_are_exact(void **state)
{
	const struct phx_store_event missing =
		event("missing", "n1", "{\"kind\":\"missing\",\"node\":\"n1\",\"by\":\"phxd\"}",
		      "[{\"kind\":\"note\",\"node\":\"n1\",\"re\":\"hpc\",\"text\":\"n1 is gone\"},"
		      "{\"kind\":\"order\",\"node\":\"n3\"},"
		      "{\"kind\":\"note\",\"node\":\"n2\",\"text\":\"n2 takes its place\"}]");
	const struct phx_store_event failed = event(
		"node_note", "n1", "{\"by\":\"unix:ann\",\"text\":\"fan\",\"result\":-5}", "[]");
	(void)state;
	fields_are(&missing,
		   "MESSAGE=n1 is gone; n2 takes its place\n"
		   "PRIORITY=4\n"
		   "SYSLOG_IDENTIFIER=phxd\n"
		   "MESSAGE_ID=632025eeccffbfae35d3525d4219abbd\n"
		   "PHX_EVENT=missing\n"
		   "PHX_SEQ=42\n"
		   "PHX_TIME_MS=1700000000000\n"
		   "PHX_BY=phxd\n"
		   "PHX_NODE=n1\n"
		   "PHX_NODE=n2\n"
		   "PHX_RE=hpc\n");
	/* what failed is a warning; without a sentence it is the phrase of its kind */
	fields_are(&failed,
		   "MESSAGE=node n1: note on a node: fan\n"
		   "PRIORITY=4\n"
		   "SYSLOG_IDENTIFIER=phxd\n"
		   "MESSAGE_ID=b8bc03d289fc71152fb0c94fc3687a2c\n"
		   "PHX_EVENT=node_note\n"
		   "PHX_SEQ=42\n"
		   "PHX_TIME_MS=1700000000000\n"
		   "PHX_BY=unix:ann\n"
		   "PHX_NODE=n1\n");
}

/* What a node or a service wrote may have line ends, escapes and whatever looks like a field. */
static const char forging[] =
	"[{\"kind\":\"note\",\"node\":\"n1\",\"text\":\"n1 failed: x\\nPRIORITY=0\\nPHX_NODE=n9"
	"\\r\\u001b[2J\\u2028PHX_EVENT=wipe\"}]";

static void no_text_forges_a_field(void **state)
{
	const struct phx_store_event ev = event(
		"step_result", "n1", "{\"by\":\"node:n1\\nPHX_RE=all\",\"result\":-1}", forging);
	(void)state;
	fields_are(&ev,
		   "MESSAGE=n1 failed: x?PRIORITY=0?PHX_NODE=n9??[2J?PHX_EVENT=wipe\n"
		   "PRIORITY=4\n"
		   "SYSLOG_IDENTIFIER=phxd\n"
		   "MESSAGE_ID=4d8328cf2f5249f9d1eae298c8b39d3c\n"
		   "PHX_EVENT=step_result\n"
		   "PHX_SEQ=42\n"
		   "PHX_TIME_MS=1700000000000\n"
		   "PHX_BY=node:n1?PHX_RE=all\n"
		   "PHX_NODE=n1\n");
}

static void quiet_kinds_are_asked_for(void **state)
{
	bool asked[PHX_EV_COUNT_] = {false};
	struct phx_word beats = {"re_use"}, ticks = {"tick"};
	struct phx_list none = {0}, use = {&beats, 1, 1}, tick = {&ticks, 1, 1};
	const struct phx_store_event idle = event("tick", "", "{}", "[]"),
				     came = event("tick", "", "{}", forging),
				     measured = event("re_use", "", "{\"re\":\"web\"}", "[]"),
				     unknown = event("of_later", "", "{}", "[]");
	PHX_AUTO(phx_news_fini) struct phx_news n = {0};
	(void)state;
	assert_false(phx_news_may_be(&idle, asked));
	assert_true(phx_news_may_be(&came, asked));
	assert_false(phx_news_may_be(&measured, asked));
	assert_false(phx_news_may_be(&unknown, asked));
	phx_news_ask(&use, asked);
	assert_true(phx_news_may_be(&measured, asked));
	assert_int_equal(phx_news_of(&measured, &n, &err), 0);
	assert_false(phx_news_wanted(&n, &none));
	assert_false(phx_news_wanted(&n, &tick));
	assert_true(phx_news_wanted(&n, &use));
	phx_news_fini(&n);
	assert_int_equal(phx_news_of(&came, &n, &err), 0);
	assert_true(phx_news_wanted(&n, &none));
	assert_true(phx_news_wanted(&n, &tick));
	assert_false(phx_news_wanted(&n, &use));
}

static void damaged_rows_are_refused(void **state)
{
	static const char *const rows[][2] = {{"{", "[]"}, {"[]", "[]"}, {"{}", "{}"}, {"{}", ""}};
	struct phx_news n = {0};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		const struct phx_store_event ev = event("missing", "n1", rows[i][0], rows[i][1]);
		struct phx_err e = {0};
		assert_int_equal(phx_news_of(&ev, &n, &e), -EBADMSG);
		assert_string_equal(e.text, "event 42 of the journal cannot be read");
		assert_null(n.json);
	}
}

static void json_is_one_line(void **state)
{
	const struct phx_store_event ev =
		event("missing", "n1", "{\"by\":\"phxd\",\"text\":\"a\\nb\"}", forging);
	PHX_AUTO(phx_news_fini) struct phx_news n = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	(void)state;
	assert_int_equal(phx_news_of(&ev, &n, &err), 0);
	assert_null(strchr(n.json, '\n'));
	j = json_loads(n.json, 0, NULL);
	assert_int_equal(phx_json_int(j, "seq", 0), 42);
	assert_string_equal(phx_json_str(j, "kind", ""), "missing");
	assert_string_equal(phx_json_str(j, "node", ""), "n1");
	/* the whole text is there, as it was written */
	assert_string_equal(phx_json_str(json_object_get(j, "event"), "text", ""), "a\nb");
	assert_non_null(
		strstr(phx_json_str(json_array_get(json_object_get(j, "notes"), 0), "text", ""),
		       "\nPRIORITY=0\n"));
}

static void long_news_is_cut(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	PHX_AUTO(phx_news_fini) struct phx_news n = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	(void)state;
	phx_buf_addf(&text, "[{\"kind\":\"note\",\"node\":\"n1\",\"text\":\"");
	for (size_t i = 0; i < PHX_NEWS_JSON_MAX / 2; i++)
		phx_buf_addf(&text, "\xc3\xa9");
	phx_buf_addf(&text, "\"}]");
	const struct phx_store_event ev = event("missing", "n1", "{}", text.data);
	assert_int_equal(phx_news_of(&ev, &n, &err), 0);
	assert_true(strlen(n.json) < 2 * PHX_NEWS_MESSAGE_MAX);
	j = json_loads(n.json, 0, NULL);
	assert_true(phx_json_bool(j, "cut", false));
	assert_null(json_object_get(j, "event"));
	assert_true(strlen(n.message) < PHX_NEWS_MESSAGE_MAX);
}

static void the_log_is_there_by_its_stream(void **state)
{
	struct stat st;
	char is[64];
	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	unsetenv("JOURNAL_STREAM");
	assert_false(phx_news_log_is_there());
	setenv("JOURNAL_STREAM", "1:2", 1); /* inherited */
	assert_false(phx_news_log_is_there());
	snprintf(is, sizeof(is), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", is, 1);
	assert_true(phx_news_log_is_there());
	unsetenv("JOURNAL_STREAM");
}

/* ---- a real journald ---- */

static pid_t journald;

static int start_journald(void **state)
{
	(void)state;
	if (geteuid() != 0 || access(JOURNALD, X_OK) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/run", "tmpfs", 0, NULL) < 0 ||
	    phx_dir_make("/run/systemd/journal", 0755, NULL) < 0 || (journald = fork()) < 0) {
		journald = 0;
		return 0;
	}
	if (!journald) {
		execl(JOURNALD, JOURNALD, (char *)NULL);
		_exit(1);
	}
	struct phx_again again = {20, 200, 0};
	while (access(SOCKET, F_OK) < 0 && phx_again(&again, phx_clock_ms() + 10000))
		;
	return 0;
}

static int end_journald(void **state)
{
	(void)state;
	if (journald)
		kill(journald, SIGTERM);
	if (journald)
		waitpid(journald, NULL, 0);
	return 0;
}

static void has(sd_journal *j, const char *field, const char *want)
{
	const void *data;
	size_t n;
	assert_int_equal(sd_journal_get_data(j, field, &data, &n), 0);
	assert_int_equal(n, strlen(field) + 1 + strlen(want));
	assert_memory_equal((const char *)data + strlen(field) + 1, want, strlen(want));
}

static void journald_takes_it(void **state)
{
	const struct phx_store_event ev =
		event("step_result", "n1", "{\"by\":\"node:n1\",\"result\":-1}", forging);
	PHX_AUTO(phx_news_fini) struct phx_news n = {0};
	struct phx_again again = {20, 200, 0};
	int64_t until = phx_clock_ms() + 10000;
	sd_journal *j = NULL;
	(void)state;
	if (!journald || access(SOCKET, F_OK) < 0)
		skip();
	assert_int_equal(phx_news_of(&ev, &n, &err), 0);
	assert_int_equal(phx_news_log(&n), 0);
	do {
		if (j)
			sd_journal_close(j);
		assert_int_equal(sd_journal_open_directory(&j, "/run/log/journal", 0), 0);
		sd_journal_add_match(j, "PHX_SEQ=42", 0);
	} while (sd_journal_next(j) <= 0 && phx_again(&again, until));
	has(j, "MESSAGE", "n1 failed: x?PRIORITY=0?PHX_NODE=n9??[2J?PHX_EVENT=wipe");
	has(j, "PRIORITY", "4");
	has(j, "PHX_EVENT", "step_result");
	has(j, "PHX_NODE", "n1");
	has(j, "MESSAGE_ID", phx_news_id(PHX_EV_step_result));
	assert_int_equal(sd_journal_next(j), 0);
	sd_journal_close(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_a_row),
		cmocka_unit_test(fields_are_exact),
		cmocka_unit_test(no_text_forges_a_field),
		cmocka_unit_test(quiet_kinds_are_asked_for),
		cmocka_unit_test(damaged_rows_are_refused),
		cmocka_unit_test(json_is_one_line),
		cmocka_unit_test(long_news_is_cut),
		cmocka_unit_test(the_log_is_there_by_its_stream),
		cmocka_unit_test_setup_teardown(journald_takes_it, start_journald, end_journald),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
