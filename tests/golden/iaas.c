/* Provisioning policies of the IaaS study against cases worked by hand: iaas.txt, which says how
 * its lines are read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "policy/iaas.h"

enum { QUEUE_MAX = 16, TASKS_MAX = 2 * QUEUE_MAX };

struct world {
	int policy;
	struct phx_iaas_params params;
	struct phx_iaas_state state;
	struct phx_iaas_view view;
	struct phx_iaas_task task[TASKS_MAX];
	uint32_t queue[PHX_IAAS_CLASS_COUNT_][QUEUE_MAX];
	uint32_t n_tasks;
};

static int64_t seconds(const char *text)
{
	uint64_t s;
	if (phx_u64_parse(text, 0, 100000000, &s))
		fail_msg("\"%s\" is no number of seconds", text);
	return (int64_t)s * 1000;
}

static uint32_t number(const char *text)
{
	return (uint32_t)(seconds(text) / 1000);
}

/* NAME KEY=VALUE... */
static void begin(struct world *w, char *words)
{
	char *word = strsep(&words, " ");
	phx_iaas_state_fini(&w->state);
	phx_iaas_params_default(&w->params);
	assert_int_equal(phx_enum_parse(&phx_provisioning_names, word, &w->policy, NULL), 0);
	while ((word = strsep(&words, " "))) {
		char *value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (!strcmp(word, "adaptive"))
			w->params.adaptive = true;
		else if (!strcmp(word, "idle"))
			w->params.idle_ms[PHX_IAAS_SHORT] = seconds(value);
		else if (!strcmp(word, "idle-long"))
			w->params.idle_ms[PHX_IAAS_LONG] = seconds(value);
		else if (!strcmp(word, "boot"))
			w->params.boot_ms = seconds(value);
		else if (!strcmp(word, "guess"))
			w->params.guess_ms = seconds(value);
		else if (!strcmp(word, "growth"))
			w->params.growth = number(value);
		else if (!strcmp(word, "factor"))
			w->params.factor = number(value);
		else if (!strcmp(word, "neighbours"))
			w->params.neighbours = number(value);
		else
			fail_msg("no parameter %s", word);
	}
	assert_int_equal(phx_iaas_params_check(&w->params, NULL), 0);
}

/* SUBMIT:RUN:INPUT,... Tasks are numbered by submission where the two queues differ, else as they
 * stand. */
static void read_queue(struct world *w, int class, char *text)
{
	struct phx_iaas_pool_view *pool = &w->view.pool[class];
	for (char *item; (item = strsep(&text, ","));) {
		char *submit = strsep(&item, ":"), *run = strsep(&item, ":");
		bool knows = phx_iaas_policy((enum phx_provisioning)w->policy)->knows_run;
		struct phx_iaas_task task = {seconds(submit), knows ? seconds(run) : -1,
					     number(item)};
		uint32_t i = w->n_tasks++;
		assert_true(pool->n_queued < QUEUE_MAX);
		/* only od-2q compares numbers, and its cases submit one task a second */
		if (w->policy == PHX_PROVISIONING_od_2q)
			i = number(submit) * PHX_IAAS_CLASS_COUNT_ + (uint32_t) class;
		while (w->policy == PHX_PROVISIONING_od_2q && pool->n_queued &&
		       i <= w->queue[class][pool->n_queued - 1])
			i += PHX_IAAS_CLASS_COUNT_;
		assert_true(i < TASKS_MAX);
		w->task[i] = task;
		w->queue[class][pool->n_queued++] = i;
	}
	pool->queue = w->queue[class];
}

static void read_view(struct world *w, char *words)
{
	w->view = (struct phx_iaas_view){.tasks = w->task};
	w->n_tasks = 0;
	for (char *word; (word = strsep(&words, " "));) {
		bool is_long = phx_str_starts(word, "long-");
		char *key = is_long ? word + strlen("long-") : word, *value = strchr(key, '=');
		struct phx_iaas_pool_view *pool =
			&w->view.pool[is_long ? PHX_IAAS_LONG : PHX_IAAS_SHORT];
		assert_non_null(value);
		*value++ = '\0';
		if (!strcmp(key, "now"))
			w->view.now_ms = seconds(value);
		else if (!strcmp(key, "max"))
			w->view.max = number(value);
		else if (!strcmp(key, "booting"))
			pool->booting = number(value);
		else if (!strcmp(key, "busy"))
			pool->busy = number(value);
		else if (!strcmp(key, "idle"))
			pool->idle = number(value);
		else if (!strcmp(key, "expired"))
			pool->expired = number(value);
		else if (!strcmp(key, "queue"))
			read_queue(w, is_long, value);
		else
			fail_msg("no word %s", key);
	}
}

static void say_one(struct phx_buf *b, const char *prefix, const char *what, uint32_t n)
{
	if (n)
		phx_buf_addf(b, "%s%s%s %u", b->n ? " " : "", prefix, what, n);
}

static void say(const struct phx_iaas_wish *wish, char *ret, size_t size)
{
	struct phx_buf b = {0};
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		const char *prefix = c == PHX_IAAS_LONG ? "long-" : "";
		say_one(&b, prefix, "lease", wish->lease[c]);
		say_one(&b, prefix, "release", wish->release[c]);
		say_one(&b, prefix, "cancel", wish->cancel[c]);
	}
	snprintf(ret, size, "%s", b.n ? b.data : "nothing");
	phx_buf_fini(&b);
}

/* What every policy promises, whatever the case. */
static void check_limits(const struct world *w, const struct phx_iaas_wish *wish)
{
	uint32_t sum = 0;
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		sum += wish->lease[c];
		assert_true(wish->release[c] <= w->view.pool[c].idle);
		assert_true(wish->cancel[c] <= w->view.pool[c].booting);
	}
	assert_true(phx_iaas_leased(&w->view) + sum <= w->view.max);
}

/* OCCASION WORDS -> WISH */
static bool decide(struct world *w, const char *occasion, char *words)
{
	const struct phx_iaas_rules *rules =
		phx_iaas_policy((enum phx_provisioning)w->policy)->rules;
	phx_iaas_rule_fn rule = !strcmp(occasion, "start") ? rules->start
		: !strcmp(occasion, "change")              ? rules->change
							   : rules->tick;
	char *want = strstr(words, " -> "), got[128], line[512];
	struct phx_iaas_wish wish = {0};
	assert_non_null(want);
	*want = '\0';
	want += strlen(" -> ");
	snprintf(line, sizeof(line), "%s", words);
	read_view(w, words);
	if (rule)
		rule(&w->params, &w->view, &w->state, &wish);
	check_limits(w, &wish);
	say(&wish, got, sizeof(got));
	if (!strcmp(got, want))
		return true;
	print_error("%s %s %s\n  want %s\n  got  %s\n",
		    phx_enum_name(&phx_provisioning_names, w->policy), occasion, line, want, got);
	return false;
}

static unsigned lines, wrong;

static void read_line(struct world *w, char *line)
{
	char *words = line, *first = strsep(&words, " ");
	if (!strcmp(first, "policy")) {
		begin(w, words);
	} else if (!strcmp(first, "booted")) {
		phx_iaas_booted(&w->state, seconds(words));
	} else if (!strcmp(first, "ended")) {
		char *run = strsep(&words, " ");
		assert_int_equal(phx_iaas_ended((enum phx_provisioning)w->policy, &w->state,
						number(words), seconds(run)),
				 0);
	} else {
		lines++;
		wrong += !decide(w, first, words);
	}
}

static void cases_are_as_worked_by_hand(void **state)
{
	struct world w = {0};
	char line[512];
	FILE *f = fopen(TEST_DIR "/golden/iaas.txt", "re");
	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			read_line(&w, line);
	}
	fclose(f);
	phx_iaas_state_fini(&w.state);
	assert_true(lines > 80);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cases_are_as_worked_by_hand)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
