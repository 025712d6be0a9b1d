/* Jobs: submitted by their user, or by the resource provider for one; output
 * is kept in a file a node. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nodeset.h"
#include "phxd/take.h"

enum { ARGV_MAX = 256, OUTPUT_SHOWN_MAX = 1 << 20 };

/* As whom the job runs; false after answering. */
static bool take_user(struct daemon *d, struct phx_http_request *q, const json_t *j, struct phx_event *ev)
{
	char buf[4096];
	struct passwd pw, *found = NULL;
	const struct phx_http_peer *peer = phx_http_peer(q);
	char asked[PHX_NAME_MAX] = "";
	if (!TAKE(q, j, "user", asked))
		return false;
	const char *name = asked[0] ? asked : NULL;
	if (name && person_of(d, peer) != PERSON_PROVIDER) {
		phx_http_reply_error(q, -EPERM, "user: only the resource provider submits for somebody else");
		return false;
	}
	if (!name && peer->via == PHX_HTTP_TLS)
		name = peer->cert.name;
	int r = name ? getpwnam_r(name, &pw, buf, sizeof(buf), &found) :
		       getpwuid_r(peer->uid, &pw, buf, sizeof(buf), &found);
	if (r || !found) {
		phx_http_reply_error(q, -EINVAL, "user: not known on the head");
		return false;
	}
	ev->uid = pw.pw_uid;
	ev->gid = pw.pw_gid;
	snprintf(ev->user, sizeof(ev->user), "%s", pw.pw_name);
	return true;
}

static bool take_argv(struct phx_http_request *q, const json_t *j, struct phx_list *argv)
{
	size_t i;
	json_t *v;
	const json_t *words = json_object_get(j, "argv");
	if (words && !json_is_array(words)) {
		phx_http_reply_error(q, -EINVAL, "argv: must be a list of words");
		return false;
	}
	if (json_array_size(words) > ARGV_MAX) {
		phx_http_reply_error(q, -EINVAL, "argv: at most 256 words");
		return false;
	}
	json_array_foreach((json_t *)words, i, v)
	{
		struct phx_word *w = phx_list_push(argv, sizeof(*w));
		if (w && json_is_string(v) && PHX_STR_SET(w->text, json_string_value(v)) == 0)
			continue;
		phx_http_reply_error(q, -EINVAL, "argv: each word must be a text of at most 255 characters");
		return false;
	}
	return true;
}

void api_job_submit(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = { "nodes", "argv", "user" };
	struct daemon *d = arg;
	struct phx_event ev = { .kind = PHX_EV_job_submit };
	struct phx_outcome out = { 0 };
	struct phx_err err = { 0 };
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	int64_t nodes = 1;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (take_only(q, j, members, PHX_ARRAY_SIZE(members)) &&
	    take_number(q, j, "nodes", 1, PHX_NODESET_MAX, &nodes) && take_user(d, q, j, &ev) && take_argv(q, j, &ev.argv)) {
		ev.job_nodes = (uint32_t)nodes;
		int r = engine_submit(d->engine, &ev, &out, &err);
		PHX_AUTO_JSON json_t *answer = json_pack("{s:I}", "id", (json_int_t)out.job);
		if (r < 0)
			phx_http_reply_error(q, r, err.text);
		else
			phx_http_reply_json(q, 200, answer);
	}
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

/* Whose jobs the asker sees: found out before the engine's lock is taken, since it may ask the user database. */
struct viewer {
	const struct phx_http_peer *peer;
	bool all; /* the resource provider */
};

static struct viewer viewer_of(struct daemon *d, const struct phx_http_request *q)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	return (struct viewer){ peer, person_of(d, peer) == PERSON_PROVIDER };
}

static bool may_see(const struct viewer *v, const struct phx_job *job)
{
	if (v->all)
		return true;
	return v->peer->via == PHX_HTTP_UNIX ? job->uid == v->peer->uid : !strcmp(job->user, v->peer->cert.name);
}

void api_jobs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct viewer viewer = viewer_of(d, q);
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_job, job, &s->jobs)
		if (may_see(&viewer, job))
			json_array_append_new(list, phx_json_from_record(&phx_job_record, job));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "jobs", list);
	phx_http_reply_json(q, 200, j);
}

/* The job of the path, copied as JSON, if there is one that the asker may see. New reference; NULL after answering. */
static json_t *job_of_path(struct daemon *d, struct phx_http_request *q, uint64_t *ret_id)
{
	json_t *j = NULL;
	struct viewer viewer = viewer_of(d, q);
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, ret_id) == 0) {
		const struct phx_state *s = engine_lock(d->engine);
		const struct phx_job *job = phx_state_job(s, *ret_id);
		if (job && may_see(&viewer, job))
			j = phx_json_from_record(&phx_job_record, job);
		engine_unlock(d->engine);
	}
	if (!j)
		phx_http_reply_error(q, -ENOENT, "there is no such job");
	return j;
}

void api_job(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t id;
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, &id);
	if (j)
		phx_http_reply_json(q, 200, j);
}

void api_job_cancel(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = { .kind = PHX_EV_job_cancel };
	struct phx_outcome out = { 0 };
	struct phx_err err = { 0 };
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, &ev.job);
	if (!j)
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	int r = engine_submit(d->engine, &ev, &out, &err);
	PHX_AUTO_JSON json_t *answer = json_pack("{s:I,s:b}", "id", (json_int_t)ev.job, "changed", out.changed);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
}

/* ---- output ---- */

static char *output_path(const struct daemon *d, uint64_t id, const char *node)
{
	return phx_path("%s/%llu.%s", d->cfg.output_dir, (unsigned long long)id, node);
}

/* What all nodes of the job wrote, each under its name; a job of one node stands alone. */
static void reply_all_output(struct daemon *d, struct phx_http_request *q, uint64_t id, const json_t *parts)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf all = { 0 };
	bool several = json_array_size(parts) > 1;
	size_t i;
	json_t *part;
	json_array_foreach((json_t *)parts, i, part)
	{
		const char *node = phx_json_str(part, "node", "");
		PHX_AUTO_FREE char *path = output_path(d, id, node);
		PHX_AUTO_FREE char *text = NULL;
		size_t n = 0;
		if (several)
			phx_buf_addf(&all, "== %s ==\n", node);
		if (path && phx_file_read(path, OUTPUT_SHOWN_MAX, &text, &n, NULL) == 0)
			phx_buf_add(&all, text, n);
		else if (path && access(path, R_OK) == 0)
			phx_buf_addf(&all, "(too long to be shown with the others: ask for this node alone)\n");
	}
	PHX_AUTO_FREE char *text = phx_buf_take(&all);
	phx_http_reply_text(q, 200, "text/plain", text ? text : "");
}

void api_job_output(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t id;
	const char *node = phx_http_query(q, "node");
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, &id);
	if (!j)
		return;
	const json_t *parts = json_object_get(j, "parts");
	if (!json_array_size(parts)) {
		phx_http_reply_error(q, -ENOENT, "the job has not started yet");
		return;
	}
	if (!node) {
		reply_all_output(d, q, id, parts);
		return;
	}
	if (!phx_name_valid(node)) {
		phx_http_reply_error(q, -EINVAL, "node: that is no node name");
		return;
	}
	PHX_AUTO_FREE char *path = output_path(d, id, node);
	if (path && access(path, R_OK) == 0)
		phx_http_reply_file(q, path, NULL, "text/plain");
	else
		phx_http_reply_error(q, -ENOENT, "there is no output of this job on this node yet");
}

void api_job_output_put(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t id;
	char node[PHX_NAME_MAX];
	bool runs_it = false;
	if (!person_agent(d, q, node))
		return;
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &id) == 0) {
		const struct phx_state *s = engine_lock(d->engine);
		const struct phx_job *job = phx_state_job(s, id);
		for (uint32_t i = 0; job && i < job->parts.n; i++)
			runs_it = runs_it || !strcmp(PHX_LIST_AT(&job->parts, struct phx_job_part, i)->node, node);
		engine_unlock(d->engine);
	}
	if (!runs_it) {
		phx_http_reply_error(q, -ENOENT, "this node has no part of such a job");
		return;
	}
	PHX_AUTO_FREE char *path = output_path(d, id, node);
	const char *body = phx_http_body_path(q);
	if (!path || !body || rename(body, path) < 0) {
		phx_http_reply_error(q, path && body ? -errno : -ENOMEM, "the output cannot be kept");
		return;
	}
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}
