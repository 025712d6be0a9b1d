/* Shapes of workflows as text, and images of workflows that are carried out: what comes back is
 * what went in, and goes on as it would have. */
#include "unit/flow/flows.h"

#include "flow/progress.h"

static struct phx_flow made(struct phx_flow_draft *d)
{
	struct phx_flow f;
	struct phx_err err = {0};
	if (phx_flow_make(d, &f, &err) < 0)
		fail_msg("%s", err.text);
	phx_flow_draft_fini(d);
	return f;
}

static struct phx_flow flow_of(const char *words)
{
	struct phx_flow_draft d = {.what = "t"};
	add_tasks(&d, words);
	return made(&d);
}

/* Tasks that wait for some of those around them in time, and differ in what they want. */
static struct phx_flow random_flow(struct phx_rng *rng, uint32_t n)
{
	struct phx_flow_draft d = {.what = "t"};
	char id[16];
	for (uint32_t i = 0; i < n; i++) {
		snprintf(id, sizeof(id), "t%u", i);
		struct phx_flow_task *t = add_task(&d, id);
		if (phx_rng_chance(rng, 200)) {
			t->cores = (uint32_t)phx_rng_below(rng, 4);
			t->memory_bytes = phx_rng_below(rng, 3) << 30;
			t->time_ms = (int64_t)phx_rng_below(rng, 3) * 1000;
			t->retries = (uint32_t)phx_rng_below(rng, 3);
			t->when_failed = (uint32_t)phx_rng_below(rng, 3);
			t->nodes = 1 + (uint32_t)phx_rng_below(rng, 3);
		}
		for (uint32_t k = 0; i && k < phx_rng_below(rng, 4); k++) {
			snprintf(id, sizeof(id), "t%u", (uint32_t)phx_rng_below(rng, i));
			add_link(&d, PHX_FLOW_LINK_PARENT, id);
		}
	}
	return made(&d);
}

static char *text_of(const struct phx_flow *f, struct phx_list *ret)
{
	struct phx_buf b = {0};
	assert_int_equal(phx_flow_shape_write(f, ret), 0);
	assert_int_equal(phx_flow_join(ret, &b), 0);
	return phx_buf_take(&b);
}

static void assert_shape(const char *words, const char *text)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = flow_of(words);
	struct phx_list pieces = {0};
	PHX_AUTO_FREE char *is = text_of(&f, &pieces);
	assert_string_equal(is, text);
	PHX_LIST_EACH(struct phx_text, t, &pieces)
		free(t->text);
	phx_list_fini(&pieces);
}

static void shapes_are_short(void **state)
{
	(void)state;
	assert_shape("a", "\n");
	assert_shape("a b c", "\n*2\n");
	assert_shape("a b<a c<b", "\n 1\n*1\n");
	assert_shape("a b<a c<a d<b,c", "\n 1\n 2\n 2:1\n");
	assert_shape("a<b b c<a,b", " -1\n\n 2:1\n");
}

static void assert_same_list(const struct phx_flow *a, const struct phx_flow *b, uint32_t i,
			     enum phx_flow_list list)
{
	uint32_t n, m;
	const uint32_t *x = phx_flow_list(a, i, list, &n), *y = phx_flow_list(b, i, list, &m);
	assert_int_equal(n, m);
	for (uint32_t k = 0; k < n; k++)
		assert_int_equal(x[k], y[k]);
}

static void shape_comes_back(void **state)
{
	struct phx_rng rng = {3};
	(void)state;
	for (uint32_t n = 1; n < 60; n++) {
		PHX_AUTO(phx_flow_fini) struct phx_flow f = random_flow(&rng, n), back = {0};
		struct phx_list pieces = {0};
		struct phx_err err = {0};
		PHX_AUTO_FREE char *text = text_of(&f, &pieces);
		assert_int_equal(phx_flow_shape_read(&pieces, n, &back, &err), 0);
		for (uint32_t i = 0; i < n; i++) {
			const struct phx_flow_task *a = &f.tasks[i], *b = &back.tasks[i];
			assert_int_equal(a->cores, b->cores);
			assert_int_equal(a->memory_bytes, b->memory_bytes);
			assert_int_equal(a->time_ms, b->time_ms);
			assert_int_equal(a->retries, b->retries);
			assert_int_equal(a->when_failed, b->when_failed);
			assert_int_equal(a->nodes, b->nodes);
			assert_same_list(&f, &back, i, PHX_FLOW_PARENTS);
			assert_same_list(&f, &back, i, PHX_FLOW_CHILDREN);
		}
		PHX_LIST_EACH(struct phx_text, t, &pieces)
			free(t->text);
		phx_list_fini(&pieces);
	}
}

static int read_text(const char *text, uint32_t n, struct phx_err *err)
{
	struct phx_flow f = {0};
	struct phx_list pieces = {0};
	assert_int_equal(phx_text_push(&pieces, text), 0);
	int r = phx_flow_shape_read(&pieces, n, &f, err);
	free(PHX_LIST_AT(&pieces, struct phx_text, 0)->text);
	phx_list_fini(&pieces);
	phx_flow_fini(&f);
	return r;
}

static void wrong_shapes(void **state)
{
	static const struct {
		const char *text, *says;
		uint32_t n;
	} rows[] = {
		{"", "from 1 to", 0},
		{"", "not there", 1},
		{"\n\n", "more tasks", 1},
		{"\n*2\n", "more tasks", 2},
		{"*1\n", "repetition", 1},
		{"\n*x\n", "repetition", 2},
		{" 1\n", "out of order", 1},
		{" 0\n", "no other task", 1},
		{"\n -1\n", "no other task", 2},
		{"\n\n 1 2\n", "out of order", 3},
		{"\n\n 1:2\n", "malformed", 3},
		{"\n\n 1 1\n", "out of order", 3},
		{" x\n", "malformed", 1},
		{"=1,2,3,4\n", "malformed", 1},
		{"=1,2,3,4,9\n", "malformed", 1},
		{"=65537,0,0,0,0\n", "malformed", 1},
		{"=99999999999999999999,0,0,0,0\n", "malformed", 1},
		{"=1,0,0,0,0", "does not end", 1},
		{"=1,0,0,0,0,\n", "how many nodes", 1},
		{"=1,0,0,0,0,0\n", "how many nodes", 1},
		{"=1,0,0,0,0,1000001\n", "how many nodes", 1},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		assert_int_equal(read_text(rows[i].text, rows[i].n, &err), -EINVAL);
		assert_says(&err, rows[i].says);
	}
	/* a few bytes must not be tasks that wait for everybody without end */
	struct phx_err err = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (uint32_t i = 0; i < 5000; i++)
		phx_buf_addf(&b, i ? " %u:1\n" : "\n", i);
	assert_int_equal(read_text(b.data, 5000, &err), -E2BIG);
}

/* ---- images ---- */

static struct phx_flow_progress *begun(struct phx_flow *f)
{
	struct phx_flow_progress *l;
	assert_int_equal(phx_flow_progress_new(f, &l), 0);
	return l;
}

static void random_act(struct phx_flow_progress *l, struct phx_rng *rng)
{
	static const enum phx_flow_act ends[] = {PHX_FLOW_DONE, PHX_FLOW_DONE, PHX_FLOW_FAIL,
						 PHX_FLOW_LOSE};
	static const enum phx_flow_act all[] = {PHX_FLOW_HOLD_ALL, PHX_FLOW_RELEASE,
						PHX_FLOW_RELEASE,  PHX_FLOW_RESUME,
						PHX_FLOW_CANCEL,   PHX_FLOW_CHECK};
	uint32_t next = phx_rng_chance(rng, 500) ? phx_flow_run_next(&l->run)
						 : phx_flow_run_next_wide(&l->run),
		 any = (uint32_t)phx_rng_below(rng, l->flow.n_tasks);
	if (phx_rng_chance(rng, 500) && next != PHX_FLOW_NONE) {
		assert_int_equal(phx_flow_run_act(&l->run, PHX_FLOW_BEGIN, next), 0);
		l->at[next].node = 1 + (uint32_t)phx_rng_below(rng, 3);
		l->at[next].n_runs++;
	} else if (phx_rng_chance(rng, 950)) {
		char sum[65] = "";
		memset(sum, "0c"[phx_rng_below(rng, 2)], phx_rng_below(rng, 3) ? 64 : 0);
		if (l->run.tasks[any].state == PHX_FLOW_TASK_RUNNING)
			assert_int_equal(phx_flow_run_note(&l->run, any, sum), 0);
		phx_flow_run_act(&l->run, ends[phx_rng_below(rng, PHX_ARRAY_SIZE(ends))], any);
	} else {
		phx_flow_run_act(&l->run, all[phx_rng_below(rng, PHX_ARRAY_SIZE(all))], 0);
	}
}

static struct phx_flow_progress *again(const struct phx_flow_progress *l)
{
	struct phx_flow_image image;
	struct phx_flow_progress *back;
	assert_int_equal(phx_flow_progress_save(l, &image), 0);
	assert_int_equal(phx_flow_progress_restore(&image, &back), 0);
	phx_record_fini(&phx_flow_image_record, &image);
	return back;
}

static void assert_same(const struct phx_flow_progress *a, const struct phx_flow_progress *b)
{
	assert_memory_equal(a->run.n, b->run.n, sizeof(a->run.n));
	assert_int_equal(a->run.ready_cores, b->run.ready_cores);
	assert_int_equal(a->run.ready_bytes, b->run.ready_bytes);
	assert_int_equal(a->run.n_whole, b->run.n_whole);
	assert_int_equal(phx_flow_run_status(&a->run), phx_flow_run_status(&b->run));
	for (int wide = 0; wide < 2; wide++) {
		uint32_t x = a->run.first[wide], y = b->run.first[wide];
		for (; x == y && x != PHX_FLOW_NONE; y = b->run.tasks[y].next)
			x = a->run.tasks[x].next;
		assert_int_equal(x, y);
	}
	for (uint32_t i = 0; i < a->flow.n_tasks; i++) {
		assert_int_equal(a->run.tasks[i].n_left, b->run.tasks[i].n_left);
		assert_int_equal(a->run.tasks[i].n_failures, b->run.tasks[i].n_failures);
		assert_memory_equal(&a->at[i], &b->at[i], sizeof(a->at[i]));
		char x[65], y[65];
		phx_flow_run_had(&a->run, i, x);
		phx_flow_run_had(&b->run, i, y);
		assert_string_equal(x, y);
	}
}

static void image_goes_on(void **state)
{
	struct phx_rng rng = {11};
	(void)state;
	for (uint32_t round = 0; round < 40; round++) {
		struct phx_flow f = random_flow(&rng, 1 + (uint32_t)phx_rng_below(&rng, 40));
		struct phx_flow_progress *l = begun(&f);
		for (uint32_t i = 0; i < 200; i++) {
			struct phx_flow_progress *back = again(l);
			struct phx_rng same = rng;
			assert_same(l, back);
			random_act(l, &rng);
			random_act(back, &same);
			assert_same(l, back);
			phx_flow_progress_free(back);
		}
		phx_flow_progress_free(l);
	}
}

static int restored_with(const char *tasks, const char *ready, const char *had)
{
	struct phx_flow_image image = {.n_tasks = 2};
	struct phx_flow_progress *l = NULL;
	assert_int_equal(phx_text_push(&image.shape, "\n 1\n"), 0);
	assert_int_equal(phx_text_push(&image.tasks, tasks), 0);
	assert_int_equal(phx_text_push(&image.ready, ready), 0);
	assert_int_equal(phx_text_push(&image.had, had), 0);
	int r = phx_flow_progress_restore(&image, &l);
	phx_flow_progress_free(l);
	phx_record_fini(&phx_flow_image_record, &image);
	return r;
}

static int restored(const char *tasks, const char *ready)
{
	return restored_with(tasks, ready, "");
}

static void wrong_outputs(void **state)
{
	static const char tasks[] = "1 0 0 0 0*1\n0 0 0 0 0*1\n", ready[] = "0*1\n";
#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	(void)state;
	assert_int_equal(restored_with(tasks, ready, "0 1 " SUM "\n1 3 \n"), 0);
	assert_int_equal(restored_with(tasks, ready, "2 1 " SUM "\n"), -EINVAL);
	assert_int_equal(restored_with(tasks, ready, "0 4 \n"), -EINVAL);
	assert_int_equal(restored_with(tasks, ready, "0 1 " SUM), -EINVAL);
	assert_int_equal(restored_with(tasks, ready, "0 1 " SUM "0\n"), -EINVAL);
	assert_int_equal(restored_with(tasks, ready, "0 1 x\n"), -EINVAL);
	assert_int_equal(restored_with(tasks, ready, "0 3 " SUM "\n"), -EINVAL);
#undef SUM
}

static void wrong_images(void **state)
{
	(void)state;
	assert_int_equal(restored("1 0 0 0 0*1\n0 0 0 0 0*1\n", "0*1\n"), 0);
	assert_int_equal(restored("1 0 0 0 0*1\n0 0 0 0 0*1\n", ""), -EINVAL);
	assert_int_equal(restored("1 0 0 0 0*1\n0 0 0 0 0*1\n", "0*2\n"), -EINVAL);
	assert_int_equal(restored("1 0 0 0 0*1\n0 0 0 0 0*1\n", "1*1\n"), -EINVAL);
	assert_int_equal(restored("1 0 0 0 0*2\n", "0*2\n"), -EINVAL); /* it waits for the first */
	assert_int_equal(restored("1 0 0 0 0*1\n", "0*1\n"), -EINVAL);
	assert_int_equal(restored("1 0 0 0 0*3\n", "0*1\n"), -EINVAL);
	assert_int_equal(restored("9 0 0 0 0*2\n", ""), -EINVAL);
	assert_int_equal(restored("x", ""), -EINVAL);
}

/* Of one that is over where its tasks ran alone is kept. */
static void places_come_back(void **state)
{
	struct phx_flow f = flow_of("a b c d");
	struct phx_flow_progress *l = NULL;
	struct phx_flow_place is[5] = {0};
	struct phx_list text = {0};
	(void)state;
	assert_int_equal(phx_flow_progress_new(&f, &l), 0);
	l->at[0] = (struct phx_flow_place){7, 1, 0};
	l->at[1] = (struct phx_flow_place){7, 1, 5}; /* losses are not kept */
	l->at[2] = (struct phx_flow_place){7, 2, 0};
	l->at[3] = (struct phx_flow_place){4000000000, 2, 0};
	assert_int_equal(phx_flow_places_write(l, &text), 0);
	assert_int_equal(text.n, 1);
	assert_string_equal(phx_text_at(&text, 0), "7 1*2\n7 2*1\n4000000000 2*1\n");
	assert_int_equal(phx_flow_places_read(&text, 4, is), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(is[i].node, l->at[i].node);
		assert_int_equal(is[i].n_runs, l->at[i].n_runs);
	}
	assert_int_equal(phx_flow_places_read(&text, 3, is), -EINVAL);
	assert_int_equal(phx_flow_places_read(&text, 5, is), -EINVAL);
	strcpy(PHX_LIST_AT(&text, struct phx_text, 0)->text, "7 1*2 7");
	assert_int_equal(phx_flow_places_read(&text, 4, is), -EINVAL);
	free(PHX_LIST_AT(&text, struct phx_text, 0)->text);
	phx_list_fini(&text);
	phx_flow_progress_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_short), cmocka_unit_test(shape_comes_back),
		cmocka_unit_test(wrong_shapes),     cmocka_unit_test(image_goes_on),
		cmocka_unit_test(wrong_images),     cmocka_unit_test(wrong_outputs),
		cmocka_unit_test(places_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
