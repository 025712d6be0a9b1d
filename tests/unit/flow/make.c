/* From drafts to workflows: who waits for whom, files, levels, sums; what is refused, with its
 * line; limits; random graphs beside what a naive reading of them says. */
#include "unit/flow/flows.h"

static struct phx_flow f;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_flow_fini(&f);
	return 0;
}

static int make(struct phx_flow_draft *d)
{
	phx_flow_fini(&f);
	phx_err_clear(&err);
	d->what = "f";
	int r = phx_flow_make(d, &f, &err);
	phx_flow_draft_fini(d);
	*d = (struct phx_flow_draft){0};
	return r;
}

static int make_words(const char *words)
{
	struct phx_flow_draft d = {0};
	add_tasks(&d, words);
	return make(&d);
}

static void expect_list(uint32_t task, enum phx_flow_list list, const char *expected)
{
	char text[256] = "";
	PHX_FLOW_EACH(it, &f, task, list)
	{
		const char *name = list == PHX_FLOW_INPUTS || list == PHX_FLOW_OUTPUTS
			? phx_flow_file_name(&f, *it)
			: list >= PHX_FLOW_PARENTS ? phx_flow_id(&f, *it)
						   : phx_flow_text(&f, *it);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", name);
	}
	assert_string_equal(text, expected);
}

static void test_diamond(void **state)
{
	struct phx_flow_sums sums;
	uint32_t *way, n;
	(void)state;
	assert_int_equal(make_words("d<b,c,b a b<a c<a"), 0);
	expect_list(0, PHX_FLOW_PARENTS, "b c ");
	expect_list(1, PHX_FLOW_CHILDREN, "b c ");
	expect_list(0, PHX_FLOW_CHILDREN, "");
	expect_list(0, PHX_FLOW_ARGV, "true ");
	assert_int_equal(f.tasks[0].level, 2);
	assert_int_equal(f.tasks[1].level, 0);
	assert_int_equal(f.n_levels, 3);
	f.tasks[3].run_ms = 7;
	f.tasks[2].run_ms = 6;
	assert_int_equal(phx_flow_sum(&f, &sums), 0);
	assert_int_equal(sums.widest, 2);
	assert_int_equal(sums.n_dependencies, 4);
	assert_int_equal(sums.n_unknown, 2);
	assert_int_equal(sums.longest_ms, 7);
	assert_int_equal(sums.work_ms, 13);
	assert_int_equal(phx_flow_longest(&f, &way, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(phx_flow_id(&f, way[1]), "c");
	free(way);
}

/* Who reads what another writes waits for it, where the form says so; names are sorted. */
static void test_files(void **state)
{
	struct phx_flow_draft d = {.by_files = true};
	(void)state;
	add_tasks(&d, "a b");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	phx_flow_draft_size(&d, 10);
	add_link(&d, PHX_FLOW_LINK_INPUT, "raw");
	add_tasks(&d, "w");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	phx_flow_draft_size(&d, 30);
	assert_int_equal(phx_flow_draft_file(&d, "raw", 3, 5, true, 9, &err), 0);
	assert_int_equal(make(&d), 0);
	expect_list(1, PHX_FLOW_PARENTS, "w ");
	expect_list(1, PHX_FLOW_INPUTS, "x raw ");
	assert_int_equal(f.n_files, 2);
	assert_string_equal(phx_flow_file_name(&f, 0), "raw");
	assert_true(f.files[0].outside);
	assert_int_equal(f.files[0].writer, PHX_FLOW_NONE);
	assert_int_equal(f.files[1].writer, 2);
	assert_int_equal(f.files[1].size_bytes, 30);
	assert_int_equal(f.files[1].n_readers, 1);
	assert_false(f.files[1].outside);

	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	add_tasks(&d, "w");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	assert_int_equal(make(&d), 0); /* this form says itself who waits */
	expect_list(0, PHX_FLOW_PARENTS, "");
}

static void test_refused(void **state)
{
	static const struct {
		const char *words, *says;
	} cases[] = {
		{"", "f:1: no task in it"},
		{"a b<x", "f:2: task \"b\": parents: \"x\": no such task"},
		{"a b a", "f:3: task \"a\": stands already in line 1"},
		{"a<a", "f:1: task \"a\": waits for itself: \"a\" waits for \"a\""},
		{"a<b b<c c<a d<a", "waits for itself: "},
		{"x\1", "f:1: task \"x\1\": id: must be one line"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(make_words(cases[i].words), -EINVAL);
		assert_says(&err, cases[i].says);
		assert_null(f.tasks);
	}
	assert_int_equal(make_words("a<c b<a c<b d<c e<d"), -EINVAL);
	assert_null(strstr(err.text, "\"d\""));
	assert_non_null(strstr(err.text, "\"a\" waits for \"c\""));
	assert_int_equal(make_words("a<j b<a c<b d<c e<d f<e g<f h<g i<h j<i"), -EINVAL);
	assert_says(&err, "... (10 tasks in all)");
}

static void test_refused_members(void **state)
{
	struct phx_flow_draft d = {0};
	char name[PHX_FLOW_NAME_MAX + 1];
	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add_task(&d, name);
	assert_int_equal(make(&d), -EINVAL);
	assert_says(&err, "id: must be one line of 1 to 255 bytes");
	add_task(&d, "a");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, name);
	assert_int_equal(make(&d), -EINVAL);
	assert_says(&err, "f:1: file \"nnn");
	add_task(&d, "a");
	assert_int_equal(phx_flow_draft_file(&d, "", 0, 5, true, 9, &err), 0);
	assert_int_equal(make(&d), -EINVAL);
	assert_says(&err, "f:9: file \"\"");
	add_task(&d, "a");
	assert_int_equal(phx_flow_draft_text(&d, "x\ny", 3,
					     &PHX_LIST_AT(&d.tasks, struct phx_flow_task, 0)->name,
					     &err),
			 0);
	assert_int_equal(make(&d), -EINVAL);
	assert_says(&err, "task \"a\": name: must be");
	add_task(&d, "a");
	add_link(&d, PHX_FLOW_LINK_ENVIRONMENT, "=b");
	assert_int_equal(make(&d), -EINVAL);
	assert_says(&err, "environment: \"=b\": expected NAME=VALUE");
	add_task(&d, "a");
	add_link(&d, PHX_FLOW_LINK_CHILD, "b");
	assert_int_equal(make(&d), -EINVAL);
	assert_says(&err, "task \"a\": children: \"b\": no such task");
}

/* A command of 1 MiB is taken, one byte more is not; the same of the environment. */
static void test_words(void **state)
{
	PHX_AUTO_FREE char *word = malloc(PHX_FLOW_WORDS_MAX + 1);
	struct phx_flow_draft d = {0};
	(void)state;
	assert_non_null(word);
	memset(word, 'w', PHX_FLOW_WORDS_MAX);
	word[1] = '=';
	word[PHX_FLOW_WORDS_MAX - 1] = '\0';
	for (int kind = PHX_FLOW_LINK_ARGV; kind <= PHX_FLOW_LINK_ENVIRONMENT; kind++) {
		add_task(&d, "a");
		add_link(&d, (enum phx_flow_link_kind)kind, word);
		assert_int_equal(make(&d), 0);
		add_task(&d, "a");
		add_link(&d, (enum phx_flow_link_kind)kind, word);
		add_link(&d, (enum phx_flow_link_kind)kind, "");
		assert_int_equal(make(&d), -EINVAL);
		assert_says(&err,
			    kind == PHX_FLOW_LINK_ARGV
				    ? "task \"a\": command: more than 1048576 bytes"
				    : "task \"a\": environment: more than 1048576 bytes");
	}
}

/* A million tasks in a chain and a fan are taken; one more is refused. */
static void test_million(void **state)
{
	struct phx_flow_draft d = {.what = "f"};
	char id[32];
	(void)state;
	for (uint32_t i = 0; i < PHX_FLOW_TASKS_MAX; i++) {
		snprintf(id, sizeof(id), "t%u", i);
		add_task(&d, id);
		snprintf(id, sizeof(id), "t%u", i % 2 || !i ? 0 : i - 2);
		if (i)
			add_link(&d, PHX_FLOW_LINK_PARENT, id);
	}
	phx_err_clear(&err);
	assert_null(phx_flow_draft_task(&d, 77, &err));
	assert_says(&err, "f:77: more than 1000000 tasks");
	assert_int_equal(make(&d), 0);
	assert_int_equal(f.n_levels, PHX_FLOW_TASKS_MAX / 2);
	assert_int_equal(f.tasks[PHX_FLOW_TASKS_MAX - 1].level, 1);
}

/* ---- random graphs ---- */

static bool is_parent(uint32_t child, uint32_t parent)
{
	PHX_FLOW_EACH(p, &f, child, PHX_FLOW_PARENTS)
	if (*p == parent)
		return true;
	return false;
}

static void check_levels(void)
{
	uint32_t n_edges = 0, n_children = 0;
	for (uint32_t i = 0; i < f.n_tasks; i++) {
		uint32_t level = 0;
		PHX_FLOW_EACH(p, &f, i, PHX_FLOW_PARENTS)
		{
			uint32_t above = f.tasks[*p].level + 1;
			level = above > level ? above : level;
			n_edges++;
		}
		assert_int_equal(f.tasks[i].level, level);
		PHX_FLOW_EACH(c, &f, i, PHX_FLOW_CHILDREN)
		{
			assert_true(is_parent(*c, i));
			n_children++;
		}
	}
	assert_int_equal(n_edges, n_children);
}

/* What follows from the links alone is what the workflow has. */
static void test_random(void **state)
{
	struct phx_rng rng = {7};
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct phx_flow_draft d = {0};
		uint32_t n = 1 + (uint32_t)phx_rng_below(&rng, 40);
		bool linked[40][40] = {{0}};
		draft_random(&d, &rng, n, 4);
		PHX_LIST_EACH(struct phx_flow_link, l, &d.links)
			if (l->kind == PHX_FLOW_LINK_PARENT)
				linked[l->task][strtoul(d.text.data + l->text + 1, NULL, 10)] =
					true;
		assert_int_equal(make(&d), 0);
		check_levels();
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < n; k++)
				assert_int_equal(is_parent(i, k), linked[i][k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diamond), cmocka_unit_test(test_files),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_refused_members),
		cmocka_unit_test(test_words),   cmocka_unit_test(test_million),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
