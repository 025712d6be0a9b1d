/* Events of triggers against a list of outcomes that people have read: each line of triggers.txt is
 * a trigger, what happens to it, and what must have come of it. PHX_GOLDEN_WRITE=1 prints the list
 * as it would be now. */
#include "unit/core/pair.h"

#include "base/file.h"
#include "golden/table.h"

static const char flow_digest[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void re_runs(struct world *w)
{
	struct phx_agreement a = mtc_agreement("unix:hpc", 1);
	PHX_STR_SET(a.users, "unix:alice");
	a.upper = 1;
	world_ready(w, "n1", true);
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
}

/* "x" stands for the digest xxx... */
static void put_digest(char ret[65], char c)
{
	memset(ret, c, 64);
	ret[64] = '\0';
}

/* "file:in/?", "every:60", "command:60", "http"; then words that say more. */
static void spec_word(struct phx_event_trigger_create *p, const char *word)
{
	const char *value = strchr(word, ':');
	int64_t seconds = value ? strtoll(value + 1, NULL, 10) : 0;
	if (phx_str_starts(word, "file:"))
		PHX_STR_SET(p->when.file, value + 1);
	else if (!strcmp(word, "http"))
		PHX_STR_SET(p->when.http, "/hook/t");
	else if (phx_str_starts(word, "every:") || phx_str_starts(word, "command:"))
		p->when.every_ms = seconds * 1000;
	else if (phx_str_starts(word, "queue:")) {
		p->when_busy = PHX_TRIGGER_QUEUE;
		p->queue_max = (uint32_t)seconds;
	} else if (phx_str_starts(word, "at_once:"))
		p->at_once = (uint32_t)seconds;
	else if (!strcmp(word, "skip"))
		p->when_busy = PHX_TRIGGER_SKIP;
	else if (!strcmp(word, "existing"))
		p->existing = true;
	else
		fail_msg("'%s' says nothing of a trigger", word);
	if (phx_str_starts(word, "command:"))
		PHX_STR_SET(((struct phx_word *)phx_list_push(&p->when.command,
							      sizeof(struct phx_word)))
				    ->text,
			    "ls");
}

static int made(struct world *w, char *words)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_create};
	struct phx_event_trigger_create *p = &ev.trigger_create;
	p->uid = p->gid = 1000;
	p->must_be_member = true;
	p->queue_max = p->at_once = 1;
	PHX_STR_SET(p->name, "t");
	PHX_STR_SET(p->user, "alice");
	PHX_STR_SET(p->owner, "unix:alice");
	PHX_STR_SET(ev.re, "mtc");
	for (char *word; (word = strsep(&words, ","));)
		spec_word(p, word);
	p->trigger_kind = p->when.file[0] ? PHX_TRIGGER_FILE
		: p->when.command.n       ? PHX_TRIGGER_COMMAND
		: p->when.http[0]         ? PHX_TRIGGER_HTTP
					  : PHX_TRIGGER_TIME;
	struct phx_trigger_flow *flows[] = {&p->flow, &p->look};
	for (int i = 0; i < 2; i++) {
		PHX_STR_SET(flows[i]->digest, flow_digest);
		flows[i]->n_tasks = 1;
		assert_int_equal(phx_text_push(&flows[i]->shape, "=1,0,0,0,0\n"), 0);
	}
	put_digest(p->token_sha256, 'a');
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

/* The first open run of that sort ends so. */
static int ends(struct world *w, bool looks, int status, char printed)
{
	struct phx_event ev = {.kind = PHX_EV_task_results};
	tick(w, 1000); /* it is given to a node */
	settle(w);
	tick(w, 1000);
	PHX_LIST_EACH(struct phx_flowrun, run, &w->s.workflows) {
		if (!phx_flowrun_is_open(run) || run->looks != looks || ev.task_results.rows.n)
			continue;
		struct phx_task_result *row = phx_list_push(&ev.task_results.rows, sizeof(*row));
		row->run = run->id;
		row->submitted_ms = run->submitted_ms;
		row->attempt = run->live->at[0].n_runs;
		row->status = (uint32_t)status;
		if (printed)
			put_digest(row->printed_sha256, printed);
	}
	if (!ev.task_results.rows.n)
		return -ENOENT;
	PHX_STR_SET(ev.node, "n1");
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	tick(w, 0);
	return r;
}

/* "in/a=1" a file with that digest, "in/a=1!" it was there before, "-in/a" it is gone */
static int files(struct world *w, char *words)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_files, .trigger_files.trigger = 1};
	for (char *word; (word = strsep(&words, ","));) {
		struct phx_trigger_file *row = phx_list_push(&ev.trigger_files.rows, sizeof(*row));
		char *is = strchr(word, '=');
		if (*word == '-') {
			phx_seen_format(phx_seen_path(word + 1), row->gone);
			continue;
		}
		put_digest(row->digest, is[1]);
		row->old = is[2] == '!';
		*is = '\0';
		row->path = strdup(word);
	}
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static int order(struct world *w, int kind, const char *digest, bool once)
{
	struct phx_event ev = {.kind = kind, .trigger_order = {.trigger = 1, .once = once}};
	PHX_STR_SET(ev.by, "unix:alice");
	if (digest)
		put_digest(ev.trigger_order.digest, *digest);
	return world_apply(w, &ev, NULL);
}

static int members(struct world *w, const char *users)
{
	phx_str_copy(phx_state_re(&w->s, "mtc")->agreement.users, 64, users);
	return 0;
}

static int happens(struct world *w, char *word)
{
	static const struct {
		const char *word;
		int kind;
	} orders[] = {{"fire", PHX_EV_trigger_fire},
		      {"pause", PHX_EV_trigger_pause},
		      {"resume", PHX_EV_trigger_resume},
		      {"delete", PHX_EV_trigger_delete}};
	char *value = strchr(word, ':');
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++)
		if (!strcmp(word, orders[i].word))
			return order(w, orders[i].kind, NULL, false);
	if (phx_str_starts(word, "call:"))
		return order(w, PHX_EV_trigger_hook, value + 1, value[2] == '!');
	if (phx_str_starts(word, "files:"))
		return files(w, value + 1);
	if (phx_str_starts(word, "pass:")) {
		tick(w, strtoll(value + 1, NULL, 10) * 1000);
		return 0;
	}
	if (!strcmp(word, "done") || !strcmp(word, "failed"))
		return ends(w, false, *word == 'f', 0);
	if (phx_str_starts(word, "prints:"))
		return ends(w, true, 0, value[1]);
	if (!strcmp(word, "fails"))
		return ends(w, true, 1, 'f');
	if (!strcmp(word, "out"))
		return members(w, "unix:bob");
	if (!strcmp(word, "in"))
		return members(w, "unix:alice");
	if (!strcmp(word, "suspend"))
		return operate(w, PHX_EV_re_suspend, "mtc");
	if (!strcmp(word, "go"))
		return operate(w, PHX_EV_re_resume, "mtc");
	fail_msg("'%s' is none of the words", word);
	return 0;
}

static void put_outcome(struct world *w, int r, struct phx_buf *b)
{
	const struct phx_trigger *t = phx_state_trigger_named(&w->s, "t");
	if (r < 0)
		phx_buf_addf(b, "(refused) ");
	if (!t) {
		phx_buf_addf(b, "none");
		return;
	}
	phx_buf_addf(b, "%s: fired %u, runs %u, open %u, waiting %u, coalesced %u, skipped %u",
		     phx_enum_name(&phx_trigger_state_names, t->state), (unsigned)t->n_fired,
		     (unsigned)t->n_begun, t->n_open, phx_trigger_n_waiting(t),
		     (unsigned)t->n_coalesced, (unsigned)t->n_skipped);
	if (t->seen)
		phx_buf_addf(b, ", seen %u", t->seen->n);
	if (t->n_looks)
		phx_buf_addf(b, ", looks %u", (unsigned)t->n_looks);
	if (t->kind == PHX_TRIGGER_COMMAND && t->why)
		phx_buf_addf(b, ", and says why");
	if (t->last.n)
		phx_buf_addf(
			b, " | %s",
			phx_text(PHX_LIST_AT(&t->last, struct phx_trigger_firing, t->last.n - 1)
					 ->what));
}

/* What is in the state comes back from a snapshot, and decides the same. */
static void comes_back(struct world *w)
{
	struct phx_state copy;
	struct phx_err err = {0};
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_true(phx_record_equal(&phx_state_record, &copy, &w->s));
	if (phx_state_check(&w->s, &err) < 0)
		fail_msg("%s", err.text);
	phx_state_fini(&copy);
}

/* One line: false when another outcome is wanted. */
static bool line_holds(void **state, const char *in, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf got = {0};
	PHX_AUTO_FREE char *words = strdup(in);
	world_setup(state);
	struct world *w = *state;
	re_runs(w);
	char *rest = words;
	int r = made(w, strsep(&rest, " "));
	for (char *word; r == 0 && (word = strsep(&rest, " "));)
		r = happens(w, word);
	put_outcome(w, r, &got);
	comes_back(w);
	world_teardown(state);
	return golden_line(in, want, got.data);
}

static void outcomes_are_as_read(void **state)
{
	golden_lines(TEST_DIR "/golden/triggers.txt", state, line_holds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(outcomes_are_as_read)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
