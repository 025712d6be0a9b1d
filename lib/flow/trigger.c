/* Triggers: see trigger.h; the life of one is in trigger_life.def. Pure. */
#include "flow/trigger.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/glob.h"

static const char *const kind_names[] = {"file", "time", "command", "http"};
const struct phx_enum phx_trigger_kind_names = {"kind of trigger", kind_names,
						PHX_ARRAY_SIZE(kind_names)};
static const char *const state_names[] = {"active", "paused", "stopped"};
const struct phx_enum phx_trigger_state_names = {"state of a trigger", state_names,
						 PHX_ARRAY_SIZE(state_names)};
static const char *const busy_names[] = {"coalesce", "queue", "skip"};
const struct phx_enum phx_trigger_busy_names = {"when_busy", busy_names,
						PHX_ARRAY_SIZE(busy_names)};
static const char *const came_names[] = {"waits", "coalesced", "skipped", "begun"};
const struct phx_enum phx_trigger_came_names = {"end of a firing", came_names,
						PHX_ARRAY_SIZE(came_names)};

PHX_RECORD_TABLE(phx_trigger_when, PHX_TRIGGER_WHEN_FIELDS);
PHX_RECORD_TABLE(phx_trigger_spec, PHX_TRIGGER_SPEC_FIELDS);
PHX_RECORD_TABLE(phx_trigger_cause, PHX_TRIGGER_CAUSE_FIELDS);
PHX_RECORD_TABLE(phx_trigger_firing, PHX_TRIGGER_FIRING_FIELDS);
PHX_RECORD_TABLE(phx_trigger_flow, PHX_TRIGGER_FLOW_FIELDS);
PHX_RECORD_TABLE(phx_trigger, PHX_TRIGGER_FIELDS);

enum { COMMAND_TIMES = 5 };
static const int64_t time_max_ms = (int64_t)366 * 86400 * 1000;

bool phx_trigger_may(enum phx_trigger_state from, enum phx_trigger_state to)
{
	static const struct {
		enum phx_trigger_state from, to;
	} life[] = {
#define TRIGGER_LIFE(from, to) {PHX_TRIGGER_##from, PHX_TRIGGER_##to},
#include "flow/trigger_life.def"
#undef TRIGGER_LIFE
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(life); i++)
		if (life[i].from == from && life[i].to == to)
			return true;
	return false;
}

/* ---- as people write it ---- */

static int check_file(const struct phx_trigger_when *w, struct phx_err *err)
{
	int r = w->every_ms ? phx_err_set(err, -EINVAL, "when: file and every are two triggers")
			    : phx_glob_check(w->file, err);
	return r < 0 ? phx_err_prefix(err, r, "when.file") : 0;
}

static int check_every(const struct phx_trigger_when *w, int times, struct phx_err *err)
{
	if (w->every_ms >= times * PHX_TRIGGER_EVERY_MIN_MS && w->every_ms <= time_max_ms)
		return 0;
	return phx_err_set(err, -EINVAL, "when.every: must be from %d s to a year", times);
}

static int check_command(const struct phx_trigger_when *w, struct phx_err *err)
{
	if (!PHX_LIST_AT(&w->command, struct phx_word, 0)->text[0])
		return phx_err_set(err, -EINVAL, "when.command: its first word is the program");
	return check_every(w, COMMAND_TIMES, err);
}

static int check_http(const struct phx_trigger_spec *spec, struct phx_err *err)
{
	size_t n = strlen(PHX_TRIGGER_HOOK);
	const char *path = spec->when.http;
	if (!strncmp(path, PHX_TRIGGER_HOOK, n) && !strcmp(path + n, spec->name))
		return 0;
	return phx_err_set(err, -EINVAL, "when.http: must be " PHX_TRIGGER_HOOK "%s", spec->name);
}

int phx_trigger_spec_check(const struct phx_trigger_spec *spec, enum phx_trigger_kind *ret,
			   struct phx_err *err)
{
	const struct phx_trigger_when *w = &spec->when;
	bool file = w->file[0], command = w->command.n, http = w->http[0],
	     time = w->every_ms && !command && !file;
	if (!phx_name_valid(spec->name))
		return phx_err_set(err, -EINVAL,
				   "name: must be a name: letters, digits, '-', '_', '.'");
	if (file + command + http + time != 1)
		return phx_err_set(err, -EINVAL,
				   "when: must have exactly one of file, every, command (with "
				   "every) and http");
	if (w->stable_ms && !file)
		return phx_err_set(err, -EINVAL, "when.stable: goes with file");
	if (w->stable_ms < 0 || w->stable_ms > time_max_ms)
		return phx_err_set(err, -EINVAL, "when.stable: must be at most a year");
	if (spec->queue_max < 1 || spec->queue_max > PHX_TRIGGER_QUEUE_MAX || spec->at_once < 1 ||
	    spec->at_once > PHX_TRIGGER_RUNS_MAX || w->command.n > PHX_TRIGGER_WORDS_MAX)
		return phx_err_set(err, -EINVAL,
				   "queue_max: from 1 to %d; at_once: from 1 to %d; command: at "
				   "most %d words",
				   PHX_TRIGGER_QUEUE_MAX, PHX_TRIGGER_RUNS_MAX,
				   PHX_TRIGGER_WORDS_MAX);
	*ret = file       ? PHX_TRIGGER_FILE
		: command ? PHX_TRIGGER_COMMAND
		: http    ? PHX_TRIGGER_HTTP
			  : PHX_TRIGGER_TIME;
	return file       ? check_file(w, err)
		: command ? check_command(w, err)
		: http    ? check_http(spec, err)
			  : check_every(w, 1, err);
}

/* ---- firings ---- */

static int copy_text(char **to, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	if (text && !copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* Keeps the firing for display; drops the oldest one. */
static int note(struct phx_trigger *t, const struct phx_trigger_cause *c,
		enum phx_trigger_came came)
{
	struct phx_trigger_firing f = {.at_ms = c->at_ms, .came = (int)came};
	PHX_STR_SET(f.digest, c->digest);
	if (copy_text(&f.what, c->what) < 0)
		return -ENOMEM;
	if (t->last.n >= PHX_TRIGGER_LAST) {
		phx_record_fini(&phx_trigger_firing_record,
				PHX_LIST_AT(&t->last, struct phx_trigger_firing, 0));
		phx_list_remove(&t->last, sizeof(f), 0);
	}
	struct phx_trigger_firing *to = phx_list_push(&t->last, sizeof(f));
	if (!to) {
		free(f.what);
		return -ENOMEM;
	}
	*to = f;
	return 0;
}

static int push(struct phx_trigger *t, const struct phx_trigger_cause *cause)
{
	struct phx_trigger_cause c = {.at_ms = cause->at_ms, .n = 1};
	PHX_STR_SET(c.digest, cause->digest);
	int r = copy_text(&c.what, cause->what);
	struct phx_trigger_cause *to = r == 0 ? phx_list_push(&t->waiting, sizeof(c)) : NULL;
	if (!to) {
		free(c.what);
		return -ENOMEM;
	}
	*to = c;
	return 0;
}

/* The last waiting cause stands for this firing, too, and takes its name. */
static int merge(struct phx_trigger *t, const struct phx_trigger_cause *cause)
{
	struct phx_trigger_cause *c =
		PHX_LIST_AT(&t->waiting, struct phx_trigger_cause, t->waiting.n - 1);
	if (copy_text(&c->what, cause->what) < 0)
		return -ENOMEM;
	c->at_ms = cause->at_ms;
	PHX_STR_SET(c->digest, cause->digest);
	c->n++;
	return 0;
}

static enum phx_trigger_came fate_of(const struct phx_trigger *t)
{
	uint32_t n = phx_trigger_n_waiting(t);
	if (!n && t->n_open < t->at_once)
		return PHX_TRIGGER_CAME_WAITS;
	switch ((enum phx_trigger_busy)t->when_busy) {
	case PHX_TRIGGER_COALESCE:
		return n ? PHX_TRIGGER_CAME_COALESCED : PHX_TRIGGER_CAME_WAITS;
	case PHX_TRIGGER_QUEUE:
		return n < t->queue_max ? PHX_TRIGGER_CAME_WAITS : PHX_TRIGGER_CAME_SKIPPED;
	case PHX_TRIGGER_SKIP:
		break;
	}
	return PHX_TRIGGER_CAME_SKIPPED;
}

int phx_trigger_fire(struct phx_trigger *t, const struct phx_trigger_cause *cause)
{
	enum phx_trigger_came came = fate_of(t);
	int r = came == PHX_TRIGGER_CAME_WAITS       ? push(t, cause)
		: came == PHX_TRIGGER_CAME_COALESCED ? merge(t, cause)
						     : 0;
	r = r ? r : note(t, cause, came);
	if (r < 0)
		return r;
	t->n_fired++;
	t->n_coalesced += came == PHX_TRIGGER_CAME_COALESCED;
	t->n_skipped += came == PHX_TRIGGER_CAME_SKIPPED;
	return (int)came;
}

const struct phx_trigger_cause *phx_trigger_next(const struct phx_trigger *t, int64_t now_ms)
{
	bool may = t->state == PHX_TRIGGER_ACTIVE && phx_trigger_n_waiting(t) &&
		t->n_open < t->at_once && t->again_ms <= now_ms;
	return may ? PHX_LIST_AT(&t->waiting, struct phx_trigger_cause, t->n_taken) : NULL;
}

/* Removes begun causes when they are half of all, so that a long list is not moved each time. */
static void close_up(struct phx_trigger *t)
{
	struct phx_trigger_cause *all = t->waiting.items;
	if (2 * t->n_taken < t->waiting.n)
		return;
	t->waiting.n -= t->n_taken;
	memmove(all, all + t->n_taken, t->waiting.n * sizeof(*all));
	t->n_taken = 0;
}

/* Notes the run in the firings that it is for: in a queue one, else all that wait. */
static void note_run(struct phx_trigger *t, const struct phx_trigger_cause *c, uint64_t run)
{
	bool own = t->when_busy == PHX_TRIGGER_QUEUE, noted = false;
	PHX_LIST_EACH(struct phx_trigger_firing, f, &t->last) {
		if (f->run || f->came == PHX_TRIGGER_CAME_SKIPPED ||
		    (own && (noted || strcmp(f->digest, c->digest) != 0)))
			continue;
		noted = true;
		f->run = run;
		if (f->came == PHX_TRIGGER_CAME_WAITS)
			f->came = PHX_TRIGGER_CAME_BEGUN;
	}
}

void phx_trigger_begun(struct phx_trigger *t, uint64_t run)
{
	struct phx_trigger_cause *c =
		PHX_LIST_AT(&t->waiting, struct phx_trigger_cause, t->n_taken);
	note_run(t, c, run);
	phx_record_fini(&phx_trigger_cause_record, c);
	t->n_taken++;
	t->n_open++;
	t->n_begun++;
	t->again_ms = 0;
	free(PHX_TAKE(t->why));
	close_up(t);
}

void phx_trigger_over(struct phx_trigger *t)
{
	t->n_open -= t->n_open > 0;
}

void phx_trigger_reopened(struct phx_trigger *t)
{
	t->n_open++;
}

bool phx_trigger_had(const struct phx_trigger *t, const char *digest)
{
	PHX_LIST_EACH(struct phx_trigger_firing, f, &t->last)
		if (!strcmp(f->digest, digest))
			return true;
	return false;
}

/* ---- time ---- */

void phx_trigger_moment(struct phx_trigger *t, int64_t now_ms)
{
	int64_t every = t->when.every_ms, late = now_ms - t->next_ms;
	assert(every > 0);
	t->next_ms += (late < 0 ? 0 : late / every + 1) * every;
}

int64_t phx_trigger_due(const struct phx_trigger *t)
{
	int64_t due = INT64_MAX;
	if (t->forget_run)
		return 0;
	if (t->state != PHX_TRIGGER_ACTIVE)
		return due;
	if (t->when.every_ms)
		due = t->next_ms;
	if (phx_trigger_n_waiting(t) && t->n_open < t->at_once && t->again_ms < due)
		due = t->again_ms;
	return due;
}

/* ---- what a run is told ---- */

static const char var_file[] = "PHX_TRIGGER_FILE=", var_digest[] = "PHX_TRIGGER_DIGEST=";

/* A firing by hand has no file; its digest is not an SHA-256. */
static const char *file_of(const struct phx_trigger *t, const struct phx_trigger_cause *c)
{
	bool is = t->kind == PHX_TRIGGER_FILE && strlen(c->digest) == sizeof(c->digest) - 1;
	return is ? phx_text(c->what) : "";
}

int phx_trigger_vars(const struct phx_trigger *t, const struct phx_trigger_cause *c,
		     struct phx_list *ret)
{
	char text[PHX_NAME_MAX + 300];
	snprintf(text, sizeof(text), "PHX_TRIGGER=%s", t->name);
	int r = phx_text_push(ret, text);
	snprintf(text, sizeof(text), "%s%s", var_file, file_of(t, c));
	r = r ? r : phx_text_push(ret, text);
	snprintf(text, sizeof(text), "%s%s", var_digest, c->digest);
	r = r ? r : phx_text_push(ret, text);
	snprintf(text, sizeof(text), "PHX_TRIGGER_FIRINGS=%u", c->n);
	r = r ? r : phx_text_push(ret, text);
	snprintf(text, sizeof(text), "PHX_TRIGGER_MS=%lld", (long long)c->at_ms);
	return r ? r : phx_text_push(ret, text);
}

static const char *var_of(const struct phx_list *vars, const char *name)
{
	for (uint32_t i = 0; i < vars->n; i++)
		if (phx_str_starts(phx_text_at(vars, i), name))
			return phx_text_at(vars, i) + strlen(name);
	return "";
}

static const char asks_file[] = "{trigger.file}", asks_name[] = "{trigger.name}",
		  asks_stem[] = "{trigger.stem}", asks_digest[] = "{trigger.digest}";

bool phx_trigger_asks_file(const char *word)
{
	return strstr(word, asks_file) || strstr(word, asks_name) || strstr(word, asks_stem);
}

bool phx_trigger_asks(const char *word)
{
	return phx_trigger_asks_file(word) || strstr(word, asks_digest);
}

/* The value of the placeholder at `at`, of *ret bytes; NULL: there is no placeholder. */
static const char *value_at(const char *at, const struct phx_list *vars, size_t *ret_asks,
			    size_t *ret)
{
	const char *file = var_of(vars, var_file), *slash = strrchr(file, '/'),
		   *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
	const struct {
		const char *asks, *value;
		size_t n;
	} all[] = {{asks_file, file, strlen(file)},
		   {asks_name, name, strlen(name)},
		   /* else "...a" would give ".." */
		   {asks_stem, name, dot && name[0] != '.' ? (size_t)(dot - name) : strlen(name)},
		   {asks_digest, var_of(vars, var_digest), strlen(var_of(vars, var_digest))}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		if (phx_str_starts(at, all[i].asks)) {
			*ret_asks = strlen(all[i].asks);
			*ret = all[i].n;
			return all[i].value;
		}
	return NULL;
}

char *phx_trigger_fill(const char *word, const struct phx_list *vars)
{
	struct phx_buf b = {0};
	while (*word) {
		size_t n, n_asks;
		const char *brace = strchr(word, '{'), *end = brace ? brace : word + strlen(word);
		phx_buf_add(&b, word, (size_t)(end - word));
		word = end;
		const char *value = *word ? value_at(word, vars, &n_asks, &n) : NULL;
		if (value) {
			phx_buf_add(&b, value, n);
			word += n_asks;
		} else if (*word) {
			phx_buf_add(&b, word++, 1);
		}
	}
	return phx_buf_take(&b);
}

size_t phx_trigger_path_max(const struct phx_trigger *t)
{
	size_t before = t->whole ? 0 : sizeof("users//") - 1 + strlen(t->user);
	return PHX_TRIGGER_PATH_MAX - before;
}

bool phx_trigger_awaits(const struct phx_trigger *t, const char *path)
{
	return strlen(path) <= phx_trigger_path_max(t) && phx_glob_meets_path(t->when.file, path);
}
