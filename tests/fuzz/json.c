/* Fuzzing of JSON that is read in place: any bytes as a text, as an event of the journal, as the
 * state of a snapshot and as a beat. What the scan takes, and what a beat leaves as text, a parser
 * takes that makes a tree; what became a record is written and read as the same one.
 * Parsers: lib/base/json_scan.c cmd/phxd/beat.c */
#include "base/json.h"
#include "base/json_scan.h"
#include "fuzz/fuzz.h"
#include "phxd/beat.c" /* a part of a program, not of the library */
#include "state/event.h"
#include "state/state.h"

static void parse(const char *text)
{
	json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);
	if (!j)
		abort();
	json_decref(j);
}

static void scan(const char *text)
{
	struct phx_scan s = phx_scan_of(text);
	if (phx_scan_skip(&s) == 0 && phx_scan_end(&s))
		parse(text);
}

static void beat(const char *text)
{
	struct phx_err err = {0};
	struct beat b;
	int r = beat_parse(text, &b, &err);
	if (r == 0 && b.monitor)
		parse(b.monitor);
	if (r == 0 && b.sessions)
		parse(b.sessions);
	beat_fini(&b);
}

static void read_as(const struct phx_record *rec, void *first, void *second, const char *text)
{
	struct phx_err err = {0};
	if (phx_json_text_to_record(rec, text, first, &err) < 0)
		return;
	char *written = phx_json_record_text_least(rec, first);
	if (!written || phx_json_text_to_record(rec, written, second, &err) < 0 ||
	    !phx_record_equal(rec, first, second))
		abort();
	free(written);
	phx_record_fini(rec, first);
	phx_record_fini(rec, second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct phx_event events[2];
	static struct phx_state states[2];
	char *text = malloc(n + 1); /* exactly as long as it is: what reads beyond is seen */
	memcpy(text, data, n);
	text[n] = '\0';
	scan(text);
	beat(text);
	read_as(&phx_event_record, &events[0], &events[1], text);
	read_as(&phx_state_record, &states[0], &states[1], text);
	free(text);
	return 0;
}
