/* Submitting a job: by its user, or by the resource provider for a user. Mistakes in the request
 * are found here, those in the job by the core. Called by way of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nodeset.h"
#include "job/job.h"
#include "phxd/parse.h"

enum { TIME_MAX_S = 366 * 86400, GRACE_MAX_S = 3600, SIGNAL_MAX = 64 };

/* Finds the group that makes the user a member of the RE now, and puts it into the event; the core
 * decides. */
static void find_group(struct daemon *d, const struct person_login *login, struct phx_event *ev)
{
	struct member member;
	const char *group = "";
	PHX_CARRIES(ev, job_submit);
	member_init(login, &member);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, ev->re);
	if (re && member_is(&member, &re->agreement, &group))
		PHX_STR_SET(ev->job_submit.group, group);
	engine_unlock(d->engine);
	member_fini(&member);
}

/* Sets the user as whom the job runs; false after answering. */
static bool parse_user(struct daemon *d, struct phx_http_request *q, const json_t *j,
		       struct phx_event *ev)
{
	struct phx_event_job_submit *p = &ev->job_submit;
	struct person_login login;
	char asked[PHX_NAME_MAX] = "";
	bool provider = person_has_all(d, phx_http_peer(q), PHX_RIGHT_job_submit);
	PHX_CARRIES(ev, job_submit);
	if (!TAKE(q, j, "user", asked))
		return false;
	if (asked[0] && !provider) {
		phx_http_reply_error(q, -EPERM,
				     "user: only the resource provider submits for somebody else");
		return false;
	}
	if (!person_works_as(d, q, asked[0] ? asked : NULL, &login))
		return false;
	p->uid = login.uid;
	p->gid = login.gid;
	PHX_STR_SET(p->user, login.name);
	p->must_be_member = !provider && ev->re[0];
	person_identity(phx_http_peer(q), p->identity);
	if (p->must_be_member)
		find_group(d, &login, ev);
	return true;
}

/* -EINVAL: it is too long for a struct phx_word. */
static int push_word(struct phx_list *to, const char *text)
{
	struct phx_word w = {0}, *at;
	int r = PHX_STR_SET(w.text, text);
	if (r < 0)
		return r;
	at = phx_list_push(to, sizeof(*at));
	if (at)
		*at = w;
	return at ? 0 : -ENOMEM;
}

/* The limits of a list of words, and how a word is stored. */
struct words {
	size_t max;
	const char *what;
	int (*push)(struct phx_list *to, const char *text);
};
static const struct words paths = {256, "words of at most 255 characters", push_word};
/* the core limits the length of all of them */
static const struct words texts = {4096, "words", phx_text_push};

/* Reads a member that is a list of words; empty if absent. */
static bool parse_words_of(struct phx_http_request *q, const json_t *j, const char *key,
			   const struct words *of, struct phx_list *ret)
{
	size_t i;
	json_t *v;
	char text[160];
	const json_t *list = json_object_get(j, key);
	bool good = (!list || json_is_null(list) || json_is_array(list)) &&
		json_array_size(list) <= of->max;
	json_array_foreach((json_t *)list, i, v)
		good = good && json_is_string(v) && of->push(ret, json_string_value(v)) == 0;
	snprintf(text, sizeof(text), "%s: must be a list of at most %zu %s", key, of->max,
		 of->what);
	if (!good)
		phx_http_reply_error(q, -EINVAL, text);
	return good;
}

/* "1,5,9", "1-10:2%3": limited only by the length of the body. */
static bool parse_array(struct phx_http_request *q, const json_t *j, struct phx_event_job_submit *p)
{
	struct phx_err err = {0};
	const json_t *v = json_object_get(j, "array");
	if (!v || json_is_null(v))
		return true;
	int r = json_is_string(v)
		? phx_array_parse(json_string_value(v), &p->array_rows, &p->array_at_once, &err)
		: phx_err_set(&err, -EINVAL, "array: must be a text");
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

/* The text of a program, which may have line breaks. */
static bool parse_script(struct phx_http_request *q, const json_t *j, char **ret)
{
	const json_t *v = json_object_get(j, "script");
	if (!v || json_is_null(v))
		return true;
	*ret = json_is_string(v) ? strdup(json_string_value(v)) : NULL;
	if (!*ret)
		phx_http_reply_error(q, -EINVAL, "script: must be a text");
	return *ret;
}

/* How the job is queued, and how it is ended if it must be. */
static bool parse_queueing(struct phx_http_request *q, const json_t *j,
			   struct phx_event_job_submit *p)
{
	int64_t nodes = 1, time_s = 0, grace_s = 0, signal = 0, checkpoint_s = 0;
	if (!parse_number(q, j, "nodes", 1, PHX_NODESET_MAX, &nodes) ||
	    !parse_number(q, j, "time_s", 0, TIME_MAX_S, &time_s) ||
	    !parse_bool(q, j, "no_requeue", &p->no_requeue) ||
	    !parse_bool(q, j, "hold", &p->hold) ||
	    !parse_number(q, j, "grace_s", 0, GRACE_MAX_S, &grace_s) ||
	    !parse_number(q, j, "checkpoint_signal", 0, SIGNAL_MAX, &signal) ||
	    !parse_number(q, j, "checkpoint_s", 0, GRACE_MAX_S, &checkpoint_s))
		return false;
	p->job_nodes = (uint32_t)nodes;
	p->estimate_ms = time_s * 1000;
	p->grace_ms = (uint32_t)grace_s * 1000;
	p->checkpoint_signal = (uint32_t)signal;
	p->checkpoint_ms = (uint32_t)checkpoint_s * 1000;
	return true;
}

/* The job's id; for an array the first and the last. */
static json_t *submitted_json(const struct phx_event_job_submit *p, uint64_t id)
{
	json_t *j = json_pack("{s:I}", "id", (json_int_t)id);
	if (phx_array_is(p))
		json_object_set_new(j, "last",
				    json_integer((json_int_t)(id + phx_array_size(p) - 1)));
	return j;
}

void api_job_submit(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"nodes",        "argv",    "user",
					      "re",           "time_s",  "no_requeue",
					      "hold",         "grace_s", "checkpoint_signal",
					      "checkpoint_s", "chdir",   "stage_in",
					      "stage_out",    "env",     "script",
					      "array"};
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_job_submit, .job_submit.must_fit = true};
	struct phx_event_job_submit *p = &ev.job_submit;
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (parse_only(q, j, members, PHX_ARRAY_SIZE(members)) && TAKE(q, j, "re", ev.re) &&
	    parse_queueing(q, j, p) && parse_array(q, j, p) && parse_user(d, q, j, &ev) &&
	    TAKE(q, j, "chdir", p->chdir) && parse_words_of(q, j, "argv", &texts, &p->argv) &&
	    parse_words_of(q, j, "env", &texts, &p->job_env) && parse_script(q, j, &p->script) &&
	    parse_words_of(q, j, "stage_in", &paths, &p->stage_in) &&
	    parse_words_of(q, j, "stage_out", &paths, &p->stage_out)) {
		int r = engine_submit(d->engine, &ev, &out, &err);
		PHX_AUTO_JSON json_t *answer = submitted_json(p, out.job);
		if (r < 0)
			phx_http_reply_error(q, r, err.text);
		else
			phx_http_reply_json(q, 200, answer);
	}
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}
