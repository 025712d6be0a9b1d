/* Events in JSON: every kind has the members of its head and of its payload, and comes back as it
 * was; what belongs to another kind means nothing, what belongs to none is refused. events.txt has
 * one text a kind, as a journal of today holds it: it is read and written back the same for ever. A
 * member that is new gets another line of its kind; no line is ever changed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "state/event.h"

/* Something in every member, and not the same in two. */
static void fill(const struct phx_record *rec, void *obj, unsigned *n)
{
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		void *at = (char *)obj + f->offset;
		++*n;
		switch (f->type) {
		case PHX_F_STR:
			snprintf(at, f->size, "%u", *n);
			break;
		case PHX_F_TEXT:
			*(char **)at = strdup("text");
			break;
		case PHX_F_U32:
			*(uint32_t *)at = *n;
			break;
		case PHX_F_U64:
		case PHX_F_I64:
			*(uint64_t *)at = *n;
			break;
		case PHX_F_BOOL:
			*(bool *)at = true;
			break;
		case PHX_F_ENUM:
		case PHX_F_ONEOF:
			*(int *)at = 1;
			break;
		case PHX_F_REC:
			fill(f->record, at, n);
			break;
		case PHX_F_LIST:
			fill(f->record, phx_list_push(at, f->record->size), n);
			break;
		case PHX_F_CASE:
		case PHX_F_LIVE:
			break;
		}
	}
}

static const struct phx_field *payload_field(void)
{
	return &phx_event_record.fields[phx_event_record.n_fields - 1];
}

/* Each kind in turn, with all that it can carry. */
static struct phx_event whole(int kind)
{
	struct phx_event ev = {0};
	unsigned n = 0;
	fill(&phx_event_record, &ev, &n);
	ev.kind = kind;
	fill(phx_case_of(payload_field(), &ev), (char *)&ev + payload_field()->offset, &n);
	return ev;
}

static json_t *json_of(const struct phx_event *ev)
{
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_event_record, ev);
	json_t *j = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	assert_non_null(j);
	return j;
}

static void read_back(const json_t *j, struct phx_event *ret)
{
	struct phx_err err = {0};
	if (phx_json_to_record(&phx_event_record, j, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void every_kind_comes_back(void **state)
{
	(void)state;
	for (int kind = 0; kind < PHX_EV_COUNT_; kind++) {
		struct phx_event ev = whole(kind), again, copy;
		PHX_AUTO_JSON json_t *j = json_of(&ev);
		const struct phx_record *p = phx_case_of(payload_field(), &ev);
		size_t head =
			phx_event_record.n_fields - 1 - !kind; /* the first kind is left out */
		assert_int_equal(json_object_size(j), head + p->n_fields);
		for (size_t i = 0; i < p->n_fields; i++)
			assert_non_null(json_object_get(j, p->fields[i].name));
		read_back(j, &again);
		assert_true(phx_record_equal(&phx_event_record, &ev, &again));
		assert_int_equal(phx_record_copy(&phx_event_record, &copy, &ev), 0);
		assert_true(phx_record_equal(&phx_event_record, &ev, &copy));
		phx_event_fini(&ev);
		phx_event_fini(&again);
		phx_event_fini(&copy);
	}
}

/* Journals of before: an event had the members of all kinds, and what its kind did not use was
 * written too where somebody had set it. */
static void members_of_other_kinds_mean_nothing(void **state)
{
	(void)state;
	for (int kind = 0; kind < PHX_EV_COUNT_; kind++) {
		struct phx_event ev = whole(kind), again;
		PHX_AUTO_JSON json_t *mine = json_of(&ev), *all = json_object();
		for (int other = 0; other < PHX_EV_COUNT_; other++) {
			struct phx_event stray = whole(other);
			PHX_AUTO_JSON json_t *j = json_of(&stray);
			json_object_update(all, j);
			phx_event_fini(&stray);
		}
		json_object_del(all, "kind");
		json_object_update(all, mine);
		read_back(all, &again);
		assert_true(phx_record_equal(&phx_event_record, &ev, &again));
		PHX_AUTO_JSON json_t *written = json_of(&again);
		assert_true(json_equal(mine, written));
		phx_event_fini(&ev);
		phx_event_fini(&again);
	}
}

/* ---- events.txt ---- */

static void texts_of_a_journal_come_back_as_they_are(void **state)
{
	bool has[PHX_EV_COUNT_] = {false};
	PHX_AUTO_FREE char *text = NULL;
	char *save = NULL;
	(void)state;
	assert_int_equal(
		phx_file_read(TEST_DIR "/unit/state/events.txt", 1 << 20, &text, NULL, NULL), 0);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct phx_event ev;
		PHX_AUTO_JSON json_t *j = json_loads(l, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(j);
		read_back(j, &ev);
		PHX_AUTO_FREE char *again = phx_json_record_text_sparse(&phx_event_record, &ev);
		assert_string_equal(again, l);
		has[ev.kind] = true;
		phx_event_fini(&ev);
	}
	for (int kind = 0; kind < PHX_EV_COUNT_; kind++)
		if (!has[kind])
			fail_msg("events.txt has no %s",
				 phx_enum_name(&phx_event_kind_names, kind));
}

static void check_refused(const char *text, const char *why)
{
	struct phx_err err = {0};
	struct phx_event ev;
	PHX_AUTO_JSON json_t *j = json_loads(text, 0, NULL);
	assert_non_null(j);
	assert_int_equal(phx_json_to_record(&phx_event_record, j, &ev, &err), -EINVAL);
	assert_string_equal(err.text, why);
}

static void what_is_of_no_kind_is_refused(void **state)
{
	(void)state;
	check_refused("{\"kind\":\"assign\",\"roles\":\"web\"}", "roles: is not known here");
	check_refused("{\"kind\":\"assign\",\"role\":7}", "role: must be a string");
	check_refused("{\"kind\":\"assign\",\"payload\":{}}", "payload: is not known here");
}

static void the_kind_may_stand_last(void **state)
{
	struct phx_event ev;
	PHX_AUTO_JSON json_t *j =
		json_loads("{\"role\":\"web\",\"node\":\"n1\",\"kind\":\"assign\"}", 0, NULL);
	(void)state;
	read_back(j, &ev);
	assert_int_equal(ev.kind, PHX_EV_assign);
	assert_string_equal(ev.order.role, "web");
	phx_event_fini(&ev);
}

/* As in journals of before there was an enum for it: a replay compares the texts of actions. */
static void an_action_has_its_operation_as_text(void **state)
{
	static const char boot[] = "{\"kind\":\"power\",\"node\":\"n1\",\"step_id\":7,\"epoch\":2,"
				   "\"text\":\"boot\"}",
			  note[] = "{\"kind\":\"note\",\"text\":\"boot\",\"re\":\"web\"}";
	struct phx_action act;
	(void)state;
	assert_int_equal(phx_json_text_to_record(&phx_action_record, boot, &act, NULL), 0);
	assert_int_equal(act.op, PHX_POWER_BOOT);
	PHX_AUTO_FREE char *again = phx_json_record_text_sparse(&phx_action_record, &act);
	assert_string_equal(again, boot);
	assert_int_equal(phx_json_text_to_record(&phx_action_record, note, &act, NULL), 0);
	assert_string_equal(act.text, "boot");
	assert_string_equal(act.re, "web");
	PHX_AUTO_FREE char *other = phx_json_record_text_sparse(&phx_action_record, &act);
	assert_string_equal(other, note);
}

static void a_payload_belongs_to_its_kinds(void **state)
{
	(void)state;
	assert_int_equal(phx_event_payload(PHX_EV_assign), PHX_PAYLOAD_order);
	assert_int_equal(phx_event_payload(PHX_EV_power), PHX_PAYLOAD_order);
	assert_int_equal(phx_event_payload(PHX_EV_tick), PHX_PAYLOAD_none);
	assert_int_equal(phx_event_payload(PHX_EV_COUNT_), PHX_PAYLOAD_none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_comes_back),
		cmocka_unit_test(members_of_other_kinds_mean_nothing),
		cmocka_unit_test(texts_of_a_journal_come_back_as_they_are),
		cmocka_unit_test(what_is_of_no_kind_is_refused),
		cmocka_unit_test(the_kind_may_stand_last),
		cmocka_unit_test(an_action_has_its_operation_as_text),
		cmocka_unit_test(a_payload_belongs_to_its_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
