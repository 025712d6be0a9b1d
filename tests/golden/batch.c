/* Schedulers and kill orders against a list worked by hand: each line of batch.txt is the life of a
 * small manager and what it must decide; its head explains the words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "batch/batch.h"

struct world {
	struct phx_batch *b;
	struct phx_buf said;
};

/* What comes next is another thing said. */
static void next_thing(struct world *w)
{
	phx_buf_addf(&w->said, "%s", w->said.n ? "; " : "");
}

/* Errors are said by name; what went well is not said. */
static void say_error(struct world *w, int r)
{
	if (r >= 0)
		return;
	next_thing(w);
	phx_buf_addf(&w->said, "%s", strerrorname_np(-r));
}

static void say_ids(struct world *w, const struct phx_list *ids)
{
	PHX_LIST_EACH(uint64_t, id, ids)
		phx_buf_addf(&w->said, " %llu", (unsigned long long)*id);
}

static void take_job(struct world *w, const char *word)
{
	struct phx_batch_job j = {.estimate_ms = -1};
	unsigned long long id;
	long long at;
	int n = 0;
	assert_int_equal(sscanf(word + 1, "%llu:%u@%lld%n", &id, &j.size, &at, &n), 3);
	char *rest = (char *)word + 1 + n;
	if (*rest == '+')
		j.estimate_ms = strtoll(rest + 1, &rest, 10);
	j.no_requeue = *rest == '!';
	j.id = id;
	j.submit_ms = word[0] == 'r' ? 0 : at;
	j.start_ms = word[0] == 'r' ? at : 0;
	j.waits_for = word[0] == 'b';
	j.state = word[0] == 'r' ? PHX_BATCH_RUNNING
		: word[0] == 'h' ? PHX_BATCH_HELD
				 : PHX_BATCH_WAITING;
	say_error(w, word[0] == 'r' ? phx_batch_restore(w->b, &j) : phx_batch_submit(w->b, &j));
}

/* ---- words of the form NAME=NUMBER ---- */

static void pass(struct world *w, uint64_t now)
{
	PHX_AUTO(phx_list_fini) struct phx_list ids = {0};
	assert_int_equal(phx_batch_pass(w->b, (int64_t)now, &ids), 0);
	next_thing(w);
	phx_buf_addf(&w->said, "%llu:", (unsigned long long)now);
	say_ids(w, &ids);
}

static void need(struct world *w, uint64_t nodes)
{
	PHX_AUTO(phx_list_fini) struct phx_list ids = {0};
	uint32_t sum = phx_batch_victims(w->b, (uint32_t)nodes, &ids);
	next_thing(w);
	phx_buf_addf(&w->said, "kill");
	say_ids(w, &ids);
	phx_buf_addf(&w->said, " = %u", sum);
}

static void killed(struct world *w, uint64_t id)
{
	int r = phx_batch_killed(w->b, id);
	say_error(w, r);
	if (r < 0)
		return;
	next_thing(w);
	phx_buf_addf(&w->said, "%s", r ? "requeued" : "gone");
}

static void give(struct world *w, uint64_t nodes)
{
	phx_batch_give(w->b, (uint32_t)nodes);
}

#define CALL(name, type) \
	static void call_##name(struct world *w, uint64_t value) \
	{ \
		say_error(w, phx_batch_##name(w->b, (type)value)); \
	}
CALL(take, uint32_t)
CALL(ended, uint64_t)
CALL(kill, uint64_t)
CALL(hold, uint64_t)
CALL(unhold, uint64_t)
CALL(unblock, uint64_t)
CALL(cancel, uint64_t)

/* One node less of a running job. */
static void lose(struct world *w, uint64_t id)
{
	say_error(w, phx_batch_lose_busy(w->b, id, 1));
}

static void do_word(struct world *w, const char *word)
{
	static const struct {
		const char *name;
		void (*act)(struct world *w, uint64_t value);
	} words[] = {{"t=", pass},
		     {"need=", need},
		     {"killed=", killed},
		     {"give=", give},
		     {"take=", call_take},
		     {"end=", call_ended},
		     {"kill=", call_kill},
		     {"hold=", call_hold},
		     {"unhold=", call_unhold},
		     {"unblock=", call_unblock},
		     {"cancel=", call_cancel},
		     {"lose=", lose}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].name);
		if (strncmp(word, words[i].name, n))
			continue;
		uint64_t value = 0;
		assert_int_equal(phx_u64_parse(word + n, 0, INT64_MAX, &value), 0);
		words[i].act(w, value);
		return;
	}
	fail_msg("batch.txt: what is '%s'?", word);
}

static void counts(struct world *w)
{
	struct phx_batch_counts c;
	phx_batch_counts(w->b, &c);
	next_thing(w);
	phx_buf_addf(&w->said,
		     "idle %u busy %u killing %u Q %llu big %u, %u waiting %u running %u held %u "
		     "blocked",
		     c.idle, c.busy, c.killing, (unsigned long long)c.waiting_nodes,
		     c.waiting_biggest, c.n_waiting, c.n_running, c.n_held, c.n_blocked);
}

/* The first word names the scheduler or the kill order. */
static void begin(struct world *w, const char *name)
{
	struct phx_batch_config config = {.scheduler = PHX_SCHEDULER_first_fit,
					  .kill_order = PHX_KILL_ORDER_smallest_latest};
	struct phx_err err = {0};
	if (phx_enum_parse(&phx_kill_order_names, name, &config.kill_order, &err) < 0)
		assert_int_equal(
			phx_enum_parse(&phx_scheduler_names, name, &config.scheduler, &err), 0);
	assert_int_equal(phx_batch_new(&config, &w->b), 0);
}

static void live(struct world *w, char *words)
{
	char *rest = words;
	begin(w, strsep(&rest, " "));
	for (char *word; (word = strsep(&rest, " "));) {
		if (!strcmp(word, "counts"))
			counts(w);
		else if (strchr("whbr", word[0]) && strchr(word, '@'))
			take_job(w, word);
		else if (word[0])
			do_word(w, word);
	}
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 1 << 17);
	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 17) - 1, f) > 0);
	fclose(f);
	return text;
}

static void decides_as_worked_by_hand(void **state)
{
	PHX_AUTO_FREE char *text = read_all(TEST_DIR "/golden/batch.txt");
	unsigned lines = 0, wrong = 0;
	(void)state;
	for (char *next = text, *line; (line = strsep(&next, "\n"));) {
		char *arrow = strstr(line, " -> ");
		if (line[0] == '#' || !arrow)
			continue;
		struct world w = {0};
		char words[512];
		snprintf(words, sizeof(words), "%.*s", (int)(arrow - line), line);
		live(&w, words);
		lines++;
		if (strcmp(w.said.data ? w.said.data : "", arrow + 4)) {
			print_error("%s\n  got %s\n", line, w.said.data ? w.said.data : "");
			wrong++;
		}
		phx_batch_free(w.b);
		phx_buf_fini(&w.said);
	}
	assert_true(lines >= 60);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(decides_as_worked_by_hand)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
