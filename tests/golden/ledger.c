/* The ledger against scenarios that were worked by hand: ledger.txt. Each line
 * is a call and the actions that must come of it. PHX_GOLDEN_WRITE=1 prints the
 * list as it would be now. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>

#include "unit/ledger/cluster.h"
#include "golden/table.h"

struct play {
	struct cluster c;
	bool open;
	char names[16][16]; /* by number in the ledger */
};

static void say(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

static const char *name_of(const struct play *p, int re)
{
	return re < 0 ? "free" : p->names[re];
}

static int number_of(const struct play *p, const char *name)
{
	for (int i = 15; i >= 0; i--)
		if (name && !strcmp(p->names[i], name))
			return i;
	if (!name || strcmp(name, "free"))
		fail_msg("no RE %s", name ? name : "");
	return PHX_LEDGER_FREE;
}

static void say_actions(const struct play *p, char *text, size_t size)
{
	PHX_LIST_EACH(struct phx_ledger_action, a, &p->c.out) {
		const char *reason = phx_enum_name(&phx_policy_reason_names, a->reason);
		say(text, size, "%s", text[0] ? "; " : "");
		if (a->kind == PHX_LEDGER_MOVE)
			say(text, size, "%s>%s %u %s", name_of(p, a->re), name_of(p, a->to),
			    a->nodes, reason);
		else if (a->kind == PHX_LEDGER_KILL)
			say(text, size, "kill %s.%llu %s", name_of(p, a->re),
			    (unsigned long long)a->job, reason);
		else
			say(text, size, "start %s.%llu", name_of(p, a->re),
			    (unsigned long long)a->job);
	}
	if (!text[0])
		say(text, size, "nothing");
}

static void say_state(const struct play *p, char *text, size_t size)
{
	say(text, size, "free %u", phx_ledger_free_nodes(p->c.l));
	for (int i = 0; i < 16; i++) {
		struct phx_ledger_counts c;
		if (!p->names[i][0])
			continue;
		phx_ledger_counts(p->c.l, i, &c);
		say(text, size, "; %s %u idle %u busy", p->names[i], c.idle, c.busy);
		if (c.away)
			say(text, size, " %u away", c.away);
		if (c.coming)
			say(text, size, " %u coming", c.coming);
		if (c.owed)
			say(text, size, " %u owed", c.owed);
		if (c.want)
			say(text, size, " want %u", c.want);
		if (c.batch.n_waiting)
			say(text, size, " %u wait", c.batch.n_waiting);
	}
}

static void say_meter(const struct phx_ledger_meter *m, char *text, size_t size)
{
	typedef unsigned long long ull;

	say(text, size,
	    "held %llu busy %llu unmet %llu lost %llu peak %u adjusted %llu moved %llu kills %llu",
	    (ull)m->held_node_ms / 1000, (ull)m->busy_node_ms / 1000, (ull)m->unmet_node_ms / 1000,
	    (ull)m->lost_node_ms / 1000, m->peak, (ull)m->n_adjusted, (ull)m->nodes_moved,
	    (ull)m->n_kills);
}

static uint32_t number(char **save)
{
	const char *word = strtok_r(NULL, " ", save);

	if (!word)
		fail_msg("a number is missing");
	return (uint32_t)strtoul(word, NULL, 10);
}

/* ---- set-up ---- */

static void new_cluster(struct play *p, char **save)
{
	const char *word = strtok_r(NULL, " ", save);

	if (p->open)
		cluster_fini(&p->c);
	memset(p, 0, sizeof(*p));
	cluster_init(&p->c, strcmp(word, "unlimited") ? (uint32_t)atoi(word) : 0);
	p->open = true;
}

static void set_word(struct phx_agreement *a, const char *word)
{
	unsigned n = (unsigned)strtoul(strchr(word, '=') ? strchr(word, '=') + 1 : "0", NULL, 10);

	if (!strncmp(word, "lower=", 6))
		a->lower = n;
	else if (!strncmp(word, "upper=", 6))
		a->upper = n;
	else if (!strncmp(word, "lease=", 6))
		a->lease_s = n;
	else if (!strncmp(word, "cycle=", 6))
		a->cycle_s = n;
	else if (!strcmp(word, "own"))
		a->release_own = true;
	else if (!strcmp(word, "fcfs"))
		a->scheduler = PHX_SCHEDULER_fcfs;
	else if (!strcmp(word, "drop"))
		a->no_requeue = true;
	else if (!strcmp(word, "alone"))
		a->coordination = PHX_RE_COORDINATED_NONE;
	else if (!strncmp(word, "with=", 5))
		PHX_STR_SET(a->partner, word + 5);
	else
		fail_msg("unknown word %s", word);
}

/* NAME batch|web MODEL words */
static void activate(struct play *p, char **save, char *text, size_t size)
{
	const char *name = strtok_r(NULL, " ", save), *type = strtok_r(NULL, " ", save);
	const char *model = strtok_r(NULL, " ", save);
	struct phx_agreement a =
		agreement(name, strcmp(type, "web") ? PHX_RE_BATCH : PHX_RE_WEB, 0, 0);
	struct phx_err err = {0};
	int re = -1;

	assert_int_equal(phx_enum_parse(&phx_policy_names, model, &a.model, NULL), 0);
	for (const char *word; (word = strtok_r(NULL, " ", save));)
		set_word(&a, word);
	if (phx_ledger_activate(p->c.l, &a, p->c.now_ms, &re, &p->c.out, &err) < 0) {
		say(text, size, "%s", err.text);
		return;
	}
	snprintf(p->names[re], sizeof(p->names[re]), "%s", name);
	cluster_act(&p->c);
}

/* ---- calls ---- */

static int submit(struct play *p, int re, char **save, char *text, size_t size)
{
	struct phx_batch_job job = {
		.submit_ms = p->c.now_ms, .estimate_ms = -1, .state = PHX_BATCH_WAITING};
	struct phx_err err = {0};

	job.id = number(save);
	job.size = number(save);
	int r = phx_ledger_submit(p->c.l, re, &job, p->c.now_ms, &p->c.out, &err);
	if (r < 0)
		say(text, size, "%s", err.text);
	return 0;
}

/* A call that is about an RE: `verb RE …`. */
static int call(struct play *p, const char *verb, char **save, char *text, size_t size)
{
	struct phx_ledger *l = p->c.l;
	int re = number_of(p, strtok_r(NULL, " ", save));
	int64_t now = p->c.now_ms;
	struct phx_list *out = &p->c.out;

	if (!strcmp(verb, "submit"))
		return submit(p, re, save, text, size);
	if (!strcmp(verb, "end"))
		return phx_ledger_job_ended(l, re, number(save), now, out);
	if (!strcmp(verb, "killed"))
		return phx_ledger_job_killed(l, re, number(save), now, out);
	if (!strcmp(verb, "cancel"))
		return phx_ledger_job_cancel(l, re, number(save), now, out);
	if (!strcmp(verb, "arrived"))
		return phx_ledger_arrived(l, PHX_LEDGER_FREE, re, number(save), now, out);
	if (!strcmp(verb, "demand"))
		return phx_ledger_demand(l, re, number(save), now, out);
	if (!strcmp(verb, "sample"))
		return phx_ledger_sample(l, re, number(save), now);
	if (!strcmp(verb, "lost"))
		return phx_ledger_lost(l, re, number(save), PHX_LEDGER_THERE, now, out);
	if (!strcmp(verb, "lost-coming"))
		return phx_ledger_lost(l, re, number(save), PHX_LEDGER_COMING, now, out);
	if (!strcmp(verb, "lost-away"))
		return phx_ledger_lost(l, re, number(save), PHX_LEDGER_AWAY, now, out);
	if (!strcmp(verb, "away")) {
		uint64_t job = number(save);
		return phx_ledger_away(l, re, job, number(save), now, out);
	}
	if (!strcmp(verb, "back"))
		return phx_ledger_back(l, re, number(save), now, out);
	if (!strcmp(verb, "lost-busy")) {
		uint64_t job = number(save);
		return phx_ledger_lost_busy(l, re, job, number(save), now, out);
	}
	if (!strcmp(verb, "suspend"))
		return phx_ledger_suspend(l, re, true);
	if (!strcmp(verb, "deactivate"))
		return phx_ledger_deactivate(l, re, now, out);
	fail_msg("unknown call %s", verb);
	return -1;
}

static bool look(struct play *p, const char *verb, char **save, char *text, size_t size)
{
	struct phx_ledger_meter m;

	if (!strcmp(verb, "show")) {
		say_state(p, text, size);
	} else if (!strcmp(verb, "meter")) {
		phx_ledger_meter(p->c.l, number_of(p, strtok_r(NULL, " ", save)), p->c.now_ms, &m);
		say_meter(&m, text, size);
	} else if (!strcmp(verb, "total")) {
		phx_ledger_total(p->c.l, p->c.now_ms, &m);
		say_meter(&m, text, size);
	} else if (!strcmp(verb, "next")) {
		int64_t next = phx_ledger_next_ms(p->c.l);
		say(text, size, next == INT64_MAX ? "never" : "%lld", (long long)next / 1000);
	} else {
		return false;
	}
	return true;
}

/* "SECONDS verb …" */
static void play_line(struct play *p, char *line, char *text, size_t size)
{
	char *save = NULL;
	const char *at = strtok_r(line, " ", &save), *verb = strtok_r(NULL, " ", &save);
	int r = 0;

	p->c.now_ms = strtoll(at, NULL, 10) * 1000;
	cluster_clear(&p->c);
	if (look(p, verb, &save, text, size))
		return;
	if (!strcmp(verb, "activate"))
		activate(p, &save, text, size);
	else if (!strcmp(verb, "tick"))
		r = phx_ledger_tick(p->c.l, p->c.now_ms, &p->c.out);
	else if (!strcmp(verb, "pass"))
		r = phx_ledger_pass(p->c.l, p->c.now_ms, &p->c.out);
	else if (!strcmp(verb, "found"))
		r = phx_ledger_found(p->c.l, number(&save), p->c.now_ms, &p->c.out);
	else
		r = call(p, verb, &save, text, size);
	if (r < 0)
		say(text, size, "%s", strerror(-r));
	cluster_act(&p->c);
	if (!text[0])
		say_actions(p, text, size);
}

static bool set_up(struct play *p, char *line)
{
	char *save = NULL;

	if (!strncmp(line, "cluster ", 8)) {
		strtok_r(line, " ", &save);
		new_cluster(p, &save);
		return true;
	}
	if (strcmp(line, "slow"))
		return false;
	p->c.by_hand = true;
	return true;
}

static void scenarios_go_as_worked_out(void **state)
{
	FILE *f = fopen(TEST_DIR "/golden/ledger.txt", "re");
	bool write = golden_write();
	char line[512], copy[512];
	struct play p = {.open = false};
	unsigned lines = 0, wrong = 0, at = 0;
	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char got[512] = "", *arrow = strstr(line, " -> ");
		line[strcspn(line, "\n")] = '\0';
		at++;
		snprintf(copy, sizeof(copy), "%s", line);
		if (line[0] == '#' || !line[0] || set_up(&p, copy)) {
			if (write)
				puts(line);
			continue;
		}
		assert_non_null(arrow);
		*arrow = '\0';
		snprintf(copy, sizeof(copy), "%s", line);
		play_line(&p, copy, got, sizeof(got));
		lines++;
		if (write)
			printf("%s -> %s\n", line, got);
		else if (strcmp(arrow + 4, got)) {
			print_error("line %u: %s\n  want %s\n  got  %s\n", at, line, arrow + 4,
				    got);
			wrong++;
		}
	}
	fclose(f);
	cluster_fini(&p.c);
	assert_true(lines > 100);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(scenarios_go_as_worked_out)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
