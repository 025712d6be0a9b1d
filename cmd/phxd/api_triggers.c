/* Triggers: making, showing, ordering them. A request has the trigger's record as JSON in one line,
 * then the workflow as WfFormat, which is kept unchanged. Mistakes in a text are found here, those
 * in an order by the core. Called by way of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "flow/code.h"
#include "flow/draft.h"
#include "flow/shape.h"
#include "phxd/viewer.h"
#include "trace/wfformat.h"

enum { LINE_MAX_BYTES = 64 << 10, QUEUE_USUAL = 1000 };
#define TEXT_MAX ((size_t)FLOW_TEXT_MAX_MB << 20)

/* ---- made ---- */

/* May the text that stands for a placeholder at the beginning of a word begin with '-'? */
static bool begins_freely(const char *word, const char *glob)
{
	return phx_str_starts(word, "{trigger.name}") || phx_str_starts(word, "{trigger.stem}") ||
		(phx_str_starts(word, "{trigger.file}") && glob[0] && strchr("*?[-", glob[0]));
}

/* Checks that a file's name cannot become a program, whatever others call it. */
static int check_code(const char *word, enum phx_code_word is, const char *what, const char *glob,
		      struct phx_err *err)
{
	bool shell = !strcmp(phx_text(what), "a shell");
	if (is == PHX_CODE_IS)
		return phx_err_set(err, -EINVAL,
				   "'%.60s': %s would take the name of a file for a part of the "
				   "program: use %s there",
				   word, what,
				   shell ? "\"$PHX_TRIGGER_FILE\""
					 : "PHX_TRIGGER_FILE of its environment");
	if (is == PHX_CODE_OPTION && begins_freely(word, glob))
		return phx_err_set(err, -EINVAL,
				   "'%.60s': %s would take the name of a file that begins with - "
				   "for an option: write ./%.60s",
				   word, what, word);
	return 0;
}

static int check_word(const char *word, enum phx_trigger_kind kind, struct phx_err *err)
{
	return kind != PHX_TRIGGER_FILE && phx_trigger_asks_file(word)
		? phx_err_set(err, -EINVAL,
			      "'%.60s': only a trigger that waits for files has a file, and when "
			      "one fires it",
			      word)
		: 0;
}

static int check_command(const struct phx_flow *f, uint32_t i, enum phx_trigger_kind kind,
			 const char *glob, struct phx_err *err)
{
	struct phx_code_look look = {0};
	int r = 0;
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_ARGV)
	{
		const char *word = phx_flow_text(f, *it), *what = NULL;
		enum phx_code_word is = phx_code_next(&look, word, &what);
		r = r ? r : check_word(word, kind, err);
		if (r == 0 && phx_trigger_asks(word))
			r = check_code(word, is, what, glob, err);
	}
	return r;
}

/* Checks a word with the longest possible path put in. */
static int check_path(const char *word, struct phx_err *err)
{
	char longest[PHX_TRIGGER_PATH_MAX + 1];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	const struct phx_trigger t = {.kind = PHX_TRIGGER_FILE};
	struct phx_trigger_cause c = {.what = longest};
	struct phx_flowrun run = {0};
	memset(c.digest, '0', sizeof(c.digest) - 1);
	int r = phx_trigger_vars(&t, &c, &run.vars);
	PHX_AUTO_FREE char *filled = r == 0 ? phx_trigger_fill(word, &run.vars) : NULL;
	r = !filled ? -ENOMEM : phx_beneath_check(filled, NULL);
	phx_record_fini(&phx_flowrun_record, &run);
	return r == -EINVAL ? phx_err_set(err, r,
					  "'%.80s': with a path of %d bytes it would be too long, "
					  "or none",
					  word, PHX_TRIGGER_PATH_MAX)
			    : r;
}

static int check_task(const struct phx_flow *f, uint32_t i, enum phx_trigger_kind kind,
		      const char *glob, struct phx_err *err)
{
	static const enum phx_flow_list files[] = {PHX_FLOW_INPUTS, PHX_FLOW_OUTPUTS};
	int r = check_command(f, i, kind, glob, err);
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_ENVIRONMENT)
	r = r ? r : check_word(phx_flow_text(f, *it), kind, err);
	for (size_t k = 0; k < PHX_ARRAY_SIZE(files); k++)
		PHX_FLOW_EACH(it, f, i, files[k])
		{
			const char *name = phx_flow_file_name(f, *it);
			r = r ? r : check_word(name, kind, err);
			if (r == 0 && phx_trigger_asks(name))
				r = check_path(name, err);
		}
	return r ? phx_err_prefix(err, r, "workflow:%u: task \"%.60s\"", f->tasks[i].line,
				  phx_flow_id(f, i))
		 : 0;
}

static int take_flow(struct daemon *d, const char *text, size_t n,
		     struct phx_event_trigger_create *p, struct phx_err *err)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	int r = flows_read_text(text, n, p->flow.digest, &f, err);
	r = r ? r : flow_check_first(&f, err);
	for (uint32_t i = 0; r == 0 && i < f.n_tasks; i++)
		r = check_task(&f, i, (enum phx_trigger_kind)p->trigger_kind, p->when.file, err);
	if (r < 0)
		return r;
	p->flow.n_tasks = f.n_tasks;
	phx_str_copy(p->workflow, sizeof(p->workflow),
		     phx_name_valid(phx_flow_text(&f, f.name)) ? phx_flow_text(&f, f.name) : "");
	r = phx_flow_shape_write(&f, &p->flow.shape);
	return r ? phx_err_set(err, r, "the workflow is too large")
		 : flows_keep_text(d->flows, text, n, p->flow.digest, err);
}

/* A workflow of one task. */
static int draft_look(const struct phx_list *command, const char *name, struct phx_flow *ret,
		      struct phx_err *err)
{
	struct phx_flow_draft d = {.what = "when.command"};
	struct phx_flow_task *t = phx_flow_draft_task(&d, 1, err);
	int r = t ? phx_flow_draft_text(&d, name, strlen(name), &t->id, err) : -ENOMEM;
	if (r == 0)
		t->cores = 1;
	PHX_LIST_EACH(struct phx_word, w, command)
		r = r ? r
		      : phx_flow_draft_link(&d, 0, PHX_FLOW_LINK_ARGV, w->text, strlen(w->text), 1,
					    err);
	r = r ? r : phx_flow_make(&d, ret, err);
	phx_flow_draft_fini(&d);
	return r;
}

static int take_look(struct daemon *d, struct phx_event_trigger_create *p, struct phx_err *err)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	if (p->trigger_kind != PHX_TRIGGER_COMMAND)
		return 0;
	int r = draft_look(&p->when.command, p->name, &f, err);
	r = r ? r : flow_check_first(&f, err);
	if (r < 0)
		return r;
	phx_wfformat_write(&f, &text);
	r = text.failed ? -ENOMEM : phx_sha256_of(text.data, text.n, p->look.digest);
	p->look.n_tasks = f.n_tasks;
	r = r ? r : phx_flow_shape_write(&f, &p->look.shape);
	return r ? r : flows_keep_text(d->flows, text.data, text.n, p->look.digest, err);
}

/* Takes the lists of `spec`. */
static int take_spec(struct phx_trigger_spec *spec, struct phx_event_trigger_create *p,
		     struct phx_err *err)
{
	enum phx_trigger_kind kind;
	spec->queue_max = spec->queue_max ? spec->queue_max : QUEUE_USUAL;
	spec->at_once = spec->at_once ? spec->at_once : 1;
	int r = phx_trigger_spec_check(spec, &kind, err);
	if (r < 0)
		return r;
	PHX_STR_SET(p->name, spec->name);
	p->trigger_kind = (int)kind;
	p->when = spec->when;
	spec->when = (struct phx_trigger_when){0};
	p->existing = spec->existing;
	p->when_busy = spec->when_busy;
	p->queue_max = spec->queue_max;
	p->at_once = spec->at_once;
	return 0;
}

/* Reads the first line; `ret` is where the workflow begins. Allocates nothing outside the event. */
static int take_line(char *text, size_t n, struct phx_event *ev, char **ret, struct phx_err *err)
{
	struct phx_trigger_spec spec = {0};
	PHX_CARRIES(ev, trigger_create);
	char *end = memchr(text, '\n', n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES);
	if (!end)
		return phx_err_set(
			err, -EINVAL,
			"the body must be a line, the trigger as JSON, and behind it the "
			"workflow as WfFormat");
	*end = '\0';
	*ret = end + 1;
	int r = phx_json_text_to_record(&phx_trigger_spec_record, text, &spec, err);
	r = r ? phx_err_prefix(err, r, "trigger") : take_spec(&spec, &ev->trigger_create, err);
	if (r == 0 && spec.re[0])
		PHX_STR_SET(ev->re, spec.re);
	phx_record_fini(&phx_trigger_spec_record, &spec);
	return r;
}

static void put_user(const struct flow_user *u, struct phx_event_trigger_create *p)
{
	p->uid = u->login.uid;
	p->gid = u->login.gid;
	PHX_STR_SET(p->user, u->login.name);
	PHX_STR_SET(p->owner, u->identity);
	PHX_STR_SET(p->group, u->group);
	p->must_be_member = u->must_be_member;
}

/* Makes the trigger with its token, which is shown only in this answer. Returns the engine's
 * result. */
static int create(struct daemon *d, struct phx_http_request *q, struct phx_event *ev)
{
	struct phx_event_trigger_create *p = &ev->trigger_create;
	char token[HOOK_TOKEN_MAX] = "";
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_CARRIES(ev, trigger_create);
	int r = p->trigger_kind == PHX_TRIGGER_HTTP ? hooks_token(token, p->token_sha256) : 0;
	r = r ? r : engine_submit(d->engine, ev, &out, &err);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:s,s:s}", "id", (json_int_t)out.trigger, "name", p->name, "kind",
			  phx_enum_name(&phx_trigger_kind_names, p->trigger_kind));
	if (token[0] && answer) {
		json_object_set_new(answer, "token", json_string(token));
		json_object_set_new(answer, "path", json_string(p->when.http));
	}
	explicit_bzero(token, sizeof(token));
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
	return r;
}

/* If the trigger is refused, its texts are not kept. */
static void take_flows(struct daemon *d, struct phx_http_request *q, struct phx_event *ev,
		       const char *flow, size_t n)
{
	struct flow_user user;
	struct phx_err err = {0};
	PHX_CARRIES(ev, trigger_create);
	if (!flow_user_find(d, q, ev->re, &user))
		return;
	put_user(&user, &ev->trigger_create);
	int r = take_flow(d, flow, n, &ev->trigger_create, &err);
	bool flow_kept = r == 0;
	r = r ? r : take_look(d, &ev->trigger_create, &err);
	bool look_kept = r == 0 && ev->trigger_create.look.digest[0];
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		r = create(d, q, ev);
	if (flow_kept)
		flows_settle(d->flows, ev->trigger_create.flow.digest, r);
	if (look_kept)
		flows_settle(d->flows, ev->trigger_create.look.digest, r);
}

void api_trigger_create(struct phx_http_request *q, void *arg)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_create};
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = NULL;
	char *flow = NULL;
	size_t n = 0;
	const char *re = phx_http_query(q, "re"), *body = phx_http_body_path(q);
	PHX_CARRIES(&ev, trigger_create);
	int r = body ? phx_file_read(body, TEXT_MAX, &text, &n, &err)
		     : phx_err_set(&err, -EINVAL, "the body must be a trigger and its workflow");
	r = r ? r : take_line(text, n, &ev, &flow, &err);
	if (r == 0 && re)
		r = PHX_STR_SET(ev.re, re);
	if (r == 0 && !ev.re[0])
		r = phx_err_set(&err, -EINVAL, "re: must name an RE");
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		take_flows(arg, q, &ev, flow, n - (size_t)(flow - text));
	phx_event_fini(&ev);
}

/* ---- looking ---- */

static json_t *trigger_json(const struct phx_trigger *t)
{
	static const char *const hidden[] = {"token_sha256", "seen",       "waiting", "n_taken",
					     "look_news",    "forget_run", "look"};
	struct phx_trigger copy = *t; /* borrows */
	copy.seen = NULL;
	copy.waiting = (struct phx_list){0};
	copy.flow.shape = copy.look.shape = (struct phx_list){0};
	json_t *j = phx_json_from_record(&phx_trigger_record, &copy);
	if (!j)
		return NULL;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(hidden); i++)
		json_object_del(j, hidden[i]);
	json_object_del(json_object_get(j, "flow"), "shape");
	json_object_set_new(j, "n_waiting", json_integer(phx_trigger_n_waiting(t)));
	json_object_set_new(j, "n_files", json_integer(t->seen ? t->seen->n : 0));
	return j;
}

/* For a trigger that waits for files: whether they are watched. Not under the engine's lock. */
static void put_watch(struct daemon *d, json_t *j)
{
	char told[WATCH_TOLD_MAX];
	if (!phx_str_eq(phx_json_str(j, "kind", ""), "file"))
		return;
	watches_told(d->watches, (uint64_t)phx_json_int(j, "id", 0), told);
	json_object_set_new(j, "watch", json_string(told));
}

void api_triggers(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *re = phx_http_query(q, "re");
	struct viewer viewer = viewer_of(d, phx_http_peer(q), PHX_RIGHT_job_see);
	PHX_AUTO_JSON json_t *list = json_array();
	size_t i;
	json_t *row;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_trigger, t, &s->triggers)
		if (viewer_sees_trigger(&viewer, s, t) && phx_str_eq(re ? re : t->re, t->re))
			json_array_append_new(list, trigger_json(t));
	engine_unlock(d->engine);
	json_array_foreach(list, i, row)
		put_watch(d, row);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "triggers", list);
	phx_http_reply_json(q, 200, j);
}

/* The trigger of the path, if the asker has `right` to it; NULL after answering. `fires`: the order
 * submits something, which only its user or the resource provider may do. */
static json_t *find(struct daemon *d, struct phx_http_request *q, enum phx_right right, bool fires)
{
	struct viewer viewer = viewer_of(d, phx_http_peer(q), right);
	json_t *j = NULL;
	viewer.provider = viewer.provider && !fires;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_trigger *t = phx_state_trigger_named(s, phx_http_param(q, 0));
	if (t && viewer_sees_trigger(&viewer, s, t))
		j = trigger_json(t);
	engine_unlock(d->engine);
	if (!j)
		phx_http_reply_error(q, -ENOENT, "there is no such trigger");
	return j;
}

void api_trigger(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j = find(d, q, PHX_RIGHT_job_see, false);
	if (!j)
		return;
	put_watch(d, j);
	phx_http_reply_json(q, 200, j);
}

void api_trigger_text(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j = find(d, q, PHX_RIGHT_job_see, false);
	if (!j)
		return;
	PHX_AUTO_FREE char *path =
		flows_path(d->flows, phx_json_str(json_object_get(j, "flow"), "digest", ""));
	if (path)
		phx_http_reply_file(q, path, NULL, "application/json");
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}

/* ---- orders ---- */

static const struct {
	const char *name;
	enum phx_event_kind kind;
	enum phx_right right;
} orders[] = {
	{"pause", PHX_EV_trigger_pause, PHX_RIGHT_job_hold},
	{"resume", PHX_EV_trigger_resume, PHX_RIGHT_job_hold},
	{"delete", PHX_EV_trigger_delete, PHX_RIGHT_job_cancel},
	{"fire", PHX_EV_trigger_fire, PHX_RIGHT_job_submit},
};

/* Firing by hand has no file, so a workflow that uses the file's name cannot run. */
static int check_by_hand(struct daemon *d, const json_t *j, struct phx_err *err)
{
	const char *digest = phx_json_str(json_object_get(j, "flow"), "digest", "");
	if (!phx_str_eq(phx_json_str(j, "kind", ""), "file"))
		return 0;
	const struct phx_flow *f = flows_lock(d->flows, digest, err);
	int r = f ? 0 : -EIO;
	for (uint32_t i = 0; r == 0 && i < f->n_tasks; i++)
		r = check_task(f, i, PHX_TRIGGER_TIME, "", err);
	if (f)
		flows_unlock(d->flows);
	return r ? phx_err_prefix(err, r, "it cannot be fired by hand") : 0;
}

static void give_order(struct daemon *d, struct phx_http_request *q, size_t i)
{
	struct phx_event ev = {.kind = (int)orders[i].kind};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_CARRIES(&ev, trigger_order);
	if (!person_require(d, q, orders[i].right))
		return;
	bool fires = orders[i].kind == PHX_EV_trigger_fire;
	PHX_AUTO_JSON json_t *j = find(d, q, orders[i].right, fires);
	if (!j)
		return;
	ev.trigger_order.trigger = (uint64_t)phx_json_int(j, "id", 0);
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	int r = fires ? check_by_hand(d, j, &err) : 0;
	r = r ? r : engine_submit(d->engine, &ev, &out, &err);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:s,s:b,s:I}", "name", phx_json_str(j, "name", ""), "changed",
			  out.changed, "run", (json_int_t)out.workflow);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
}

void api_trigger_order(struct phx_http_request *q, void *arg)
{
	const char *name = phx_http_param(q, 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++)
		if (!strcmp(orders[i].name, name)) {
			give_order(arg, q, i);
			return;
		}
	phx_http_reply_error(q, -ENOENT, "there is no such operation on a trigger");
}
