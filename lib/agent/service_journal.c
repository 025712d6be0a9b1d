/* See service_journal.h. Called by service_systemd.c, from any thread: each call
 * opens the journal for itself. */
#include "agent/service_journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include "base/clock.h"

/* Matches entries whose field has this value; "": any value. */
static int match(sd_journal *j, const char *field, const char *value)
{
	char text[192];
	int n = snprintf(text, sizeof(text), "%s=%s", field, value);
	if (n >= (int)sizeof(text))
		return -ENAMETOOLONG;
	return value[0] ? sd_journal_add_match(j, text, (size_t)n) : 0;
}

/* Opens the journal for output of the unit's processes and, unless `words`, messages of systemd
 * about the unit. */
static int open_unit(const char *unit, const struct service_log_ask *ask, sd_journal **ret)
{
	sd_journal *j = NULL;
	int r = sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
	r = r < 0 ? r : match(j, "_SYSTEMD_UNIT", unit);
	r = r < 0 ? r : match(j, "_SYSTEMD_INVOCATION_ID", ask->invocation);
	if (r >= 0 && !ask->words) {
		r = sd_journal_add_disjunction(j);
		r = r < 0 ? r : match(j, "_PID", "1");
		r = r < 0 ? r : match(j, "UNIT", unit);
		r = r < 0 ? r : match(j, "INVOCATION_ID", ask->invocation);
	}
	if (r < 0) {
		sd_journal_close(j);
		return r;
	}
	*ret = j;
	return 0;
}

static int note_cursor(sd_journal *j, char ret_cursor[SERVICE_CURSOR_MAX])
{
	char *cursor = NULL;
	int r = sd_journal_get_cursor(j, &cursor);
	if (r >= 0 && strlen(cursor) < SERVICE_CURSOR_MAX)
		phx_str_copy(ret_cursor, SERVICE_CURSOR_MAX, cursor);
	free(cursor);
	return r;
}

/* Goes to the entry before the last lines. */
static int seek_tail(sd_journal *j, uint32_t lines, char ret_cursor[SERVICE_CURSOR_MAX])
{
	int r = sd_journal_seek_tail(j);
	r = r < 0 ? r : sd_journal_previous_skip(j, lines + 1);
	if (r < 0)
		return r;
	return (uint32_t)r > lines ? note_cursor(j, ret_cursor) : sd_journal_seek_head(j);
}

/* Goes to the entry before the first one that is asked for. */
static int seek(sd_journal *j, const struct service_log_ask *ask,
		char ret_cursor[SERVICE_CURSOR_MAX])
{
	if (!ask->cursor[0])
		return seek_tail(j, ask->lines, ret_cursor);
	int r = sd_journal_seek_cursor(j, ask->cursor);
	r = r < 0 ? r : sd_journal_next(j);
	/* the cursor's entry was sent already; if that entry is gone we stand on its successor,
	 * which was not: step back before it */
	return r > 0 && sd_journal_test_cursor(j, ask->cursor) == 0 ? sd_journal_previous(j) : r;
}

static int add_entry(sd_journal *j, struct phx_buf *text)
{
	const void *data;
	size_t n, skip = strlen("MESSAGE=");
	if (sd_journal_get_data(j, "MESSAGE", &data, &n) < 0 || n < skip)
		return 0;
	phx_buf_add(text, (const char *)data + skip, n - skip);
	phx_buf_add(text, "\n", 1);
	return 1;
}

/* Reads the entries that follow, as many as fit into one answer; returns how many. */
static int read_on(sd_journal *j, struct phx_buf *text, char ret_cursor[SERVICE_CURSOR_MAX])
{
	int n = 0, r;
	while (text->n < SERVICE_LOG_MAX && (r = sd_journal_next(j)) > 0) {
		n += add_entry(j, text);
		note_cursor(j, ret_cursor);
	}
	return n;
}

static int read_journal(sd_journal *j, const struct service_log_ask *ask, struct phx_buf *text,
			char ret_cursor[SERVICE_CURSOR_MAX])
{
	int64_t end = phx_clock_ms() + ask->wait_ms, left = ask->wait_ms;
	int r = seek(j, ask, ret_cursor);
	if (r < 0)
		return r;
	while ((r = read_on(j, text, ret_cursor)) == 0 && left > 0) {
		r = sd_journal_wait(j, (uint64_t)left * 1000);
		left = end - phx_clock_ms();
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

int service_journal_read(const char *unit, const struct service_log_ask *ask,
			 struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
			 struct phx_err *err)
{
	sd_journal *j = NULL;
	char cursor[SERVICE_CURSOR_MAX];
	PHX_STR_SET(cursor, ask->cursor);
	int r = open_unit(unit, ask, &j);
	r = r < 0 ? r : read_journal(j, ask, ret_text, cursor);
	sd_journal_close(j);
	if (r < 0)
		return phx_err_set(err, r, "journal of %s: %s", unit, strerror(-r));
	if (ret_text->n > SERVICE_LOG_MAX) { /* one long message at the end */
		ret_text->n = SERVICE_LOG_MAX;
		ret_text->data[SERVICE_LOG_MAX] = '\0';
	}
	phx_str_copy(ret_cursor, SERVICE_CURSOR_MAX, cursor);
	return 0;
}
