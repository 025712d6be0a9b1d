/* Journals as earlier builds wrote them: a line an event: its number, itself, the actions that it
 * had; number 1 begins another journal. They replay to the byte: a head that died under such a
 * build starts with this one.
 * before.txt, of the build before incarnations (75d5e42): lost nodes of REs, nodes that cannot
 * serve, reclaims and kills, REs that end while nodes are away, an update that fails, erases, a
 * reset in the middle of a hand-over.
 * before_union.txt, of the build in which an event had the members of all kinds (7ce2732): every
 * kind of event, some with members that mean nothing to their kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "core/core.h"

static void replay(struct phx_state *s, uint64_t seq, const char *event, const char *actions)
{
	struct phx_err err = {0};
	struct phx_event ev;
	struct phx_outcome out = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	assert_int_equal(phx_json_parse(event, strlen(event), &j, &err), 0);
	if (phx_json_to_record(&phx_event_record, j, &ev, &err) < 0 ||
	    phx_core_apply(s, &ev, &out, &err) < 0)
		fail_msg("event %llu: %s", (unsigned long long)seq, err.text);
	PHX_AUTO_FREE char *got = phx_json_list_text(&phx_action_record, &out.actions);
	assert_int_equal(s->seq, seq);
	assert_string_equal(got, actions);
	if (phx_state_check(s, &err) < 0)
		fail_msg("event %llu: %s", (unsigned long long)seq, err.text);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

static void replay_file(const char *name, uint64_t incarnation, unsigned n_want)
{
	FILE *f = fopen(name, "r");
	PHX_AUTO_FREE char *line = NULL;
	size_t size = 0;
	unsigned n_journals = 0;
	struct phx_state s = {0};
	assert_non_null(f);
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *rest = line, *seq = strsep(&rest, "\t"), *event = strsep(&rest, "\t");
		assert_non_null(rest);
		if (!strcmp(seq, "1")) {
			phx_state_fini(&s);
			assert_int_equal(phx_state_init(&s), 0);
			s.incarnation = incarnation;
			s.last_step_id = incarnation << 16;
			n_journals++;
		}
		replay(&s, strtoull(seq, NULL, 10), event, rest);
	}
	assert_int_equal(n_journals, n_want);
	phx_state_fini(&s);
	fclose(f);
}

static void journals_before_incarnations_replay(void **state)
{
	(void)state;
	replay_file("tests/golden/before.txt", 0, 3);
}

static void journals_before_payloads_replay(void **state)
{
	(void)state;
	replay_file("tests/golden/before_union.txt", 1, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(journals_before_incarnations_replay),
					   cmocka_unit_test(journals_before_payloads_replay)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
