/* phx sim tables: what it prints in each form, and what it does without traces. */
#include "fake/phxd.h"

#include "base/json.h"

static struct phx_said tables(const char *line)
{
	char words[1024];
	snprintf(words, sizeof(words), "sim tables --traces /nonexistent %s", line);
	return phx_at("/nonexistent", words);
}

/* Settings need no trace: the row is there, with the reason where there is no figure. */
static void rows_in_every_form(void **state)
{
	(void)state;
	PHX_SAID csv = tables("002.text -o csv");
	assert_int_equal(csv.status, 0);
	assert_has(csv.out, "experiment,config,metric,published,ours,is\n");
	assert_has(csv.out, "\n002.text,sim 5.3,jobs,720,720,input echoed\n");
	PHX_SAID bare = tables("002.text -o csv --no-header");
	assert_lacks(bare.out, "experiment");
	PHX_SAID table = tables("002.text");
	assert_has(table.out, "DIFFERENCE");
	assert_has(table.out, "exact");
	PHX_SAID markdown = tables("002.text -o markdown");
	assert_has(markdown.out,
		   "| EXPERIMENT | CONFIG | METRIC | PUBLISHED | OURS | OURS IS | DIFFERENCE "
		   "| NEAR |\n|---|---|---|---:|---:|---|---:|---|\n");
	assert_has(markdown.out,
		   "| 002.text | sim 5.3 | jobs | 720 | 720 | input echoed |  | exact |\n");
}

static void json_says_why(void **state)
{
	json_t *rows;
	struct phx_err err = {0};
	(void)state;
	PHX_SAID said = tables("003.T5 -o json");
	assert_int_equal(said.status, 0);
	if (phx_json_parse(said.out, strlen(said.out), &rows, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(json_array_size(rows), 8);
	const json_t *row = json_array_get(rows, 0);
	assert_string_equal(phx_json_str(row, "published", ""), "100");
	assert_string_equal(phx_json_str(row, "ours", "x"), "");
	assert_string_equal(phx_json_str(row, "near", ""), "no figure");
	assert_has(phx_json_str(row, "note", ""), "live");
	json_decref(rows);
}

static void without_traces_rows_stay(void **state)
{
	(void)state;
	PHX_SAID said = tables("003.T4 -o csv");
	assert_int_equal(said.status, 1);
	assert_has(said.out, "\n003.T4,Montage;DCS,tasks_per_s,2.46,,computed\n");
	assert_has(said.errout, "13 rows have no figure");
	assert_has(said.errout, "Montage_1000.xml: no such trace");
	PHX_SAID all = tables("-o markdown");
	assert_int_equal(all.status, 64);
	assert_string_equal(all.out, "");
	PHX_SAID none = tables("nothing -o csv");
	assert_int_equal(none.status, 64);
	assert_has(none.errout, "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_in_every_form),
		cmocka_unit_test(json_says_why),
		cmocka_unit_test(without_traces_rows_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
