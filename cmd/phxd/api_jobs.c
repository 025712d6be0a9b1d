/* Jobs: submitted by their user, or by the resource provider for one; output
 * is kept in a file a run and node. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nodeset.h"
#include "phxd/take.h"

enum { TIME_MAX_S = 366 * 86400, GRACE_MAX_S = 3600, SIGNAL_MAX = 64, ARGV_MAX = 256, OUTPUT_SHOWN_MAX = 1 << 20 };

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

/* A member that is a list of words; none when it is not there. */
static bool take_list(struct phx_http_request *q, const json_t *j, const char *key, struct phx_list *ret)
{
	size_t i;
	json_t *v;
	char text[160];
	const json_t *words = json_object_get(j, key);
	snprintf(text, sizeof(text), "%s: must be a list of at most %d words of at most 255 characters", key, ARGV_MAX);
	bool good = (!words || json_is_array(words)) && json_array_size(words) <= ARGV_MAX;
	json_array_foreach((json_t *)words, i, v)
	{
		struct phx_word *w = good ? phx_list_push(ret, sizeof(*w)) : NULL;
		good = w && json_is_string(v) && PHX_STR_SET(w->text, json_string_value(v)) == 0;
	}
	if (!good)
		phx_http_reply_error(q, -EINVAL, text);
	return good;
}

/* How it is queued, and how it is ended when it must be. */
static bool take_queueing(struct phx_http_request *q, const json_t *j, struct phx_event *ev)
{
	int64_t nodes = 1, time_s = 0, grace_s = 0, signal = 0, checkpoint_s = 0;
	if (!TAKE(q, j, "re", ev->re) || !take_number(q, j, "nodes", 1, PHX_NODESET_MAX, &nodes) ||
	    !take_number(q, j, "time_s", 0, TIME_MAX_S, &time_s) || !take_bool(q, j, "no_requeue", &ev->no_requeue) ||
	    !take_bool(q, j, "hold", &ev->hold) || !take_number(q, j, "grace_s", 0, GRACE_MAX_S, &grace_s) ||
	    !take_number(q, j, "checkpoint_signal", 0, SIGNAL_MAX, &signal) ||
	    !take_number(q, j, "checkpoint_s", 0, GRACE_MAX_S, &checkpoint_s))
		return false;
	ev->job_nodes = (uint32_t)nodes;
	ev->estimate_ms = time_s * 1000;
	ev->grace_ms = (uint32_t)grace_s * 1000;
	ev->checkpoint_signal = (uint32_t)signal;
	ev->checkpoint_ms = (uint32_t)checkpoint_s * 1000;
	return true;
}

void api_job_submit(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = { "nodes", "argv", "user", "re", "time_s", "no_requeue", "hold",
						"grace_s", "checkpoint_signal", "checkpoint_s", "chdir", "stage_in", "stage_out" };
	struct daemon *d = arg;
	struct phx_event ev = { .kind = PHX_EV_job_submit };
	struct phx_outcome out = { 0 };
	struct phx_err err = { 0 };
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (take_only(q, j, members, PHX_ARRAY_SIZE(members)) && take_queueing(q, j, &ev) && take_user(d, q, j, &ev) &&
	    TAKE(q, j, "chdir", ev.chdir) && take_list(q, j, "argv", &ev.argv) && take_list(q, j, "stage_in", &ev.stage_in) &&
	    take_list(q, j, "stage_out", &ev.stage_out)) {
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
	bool all;			/* the resource provider */
	char account[PHX_NAME_MAX]; /* whose REs' jobs it sees too */
};

static struct viewer viewer_of(struct daemon *d, const struct phx_http_request *q)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	enum person person = person_of(d, peer);
	struct viewer v = { .peer = peer, .all = person == PERSON_PROVIDER };
	if (person == PERSON_SERVICE_PROVIDER)
		person_account(peer, v.account);
	return v;
}

static bool is_own(const struct viewer *v, const struct phx_job *job)
{
	if (v->all)
		return true;
	return v->peer->via == PHX_HTTP_UNIX ? job->uid == v->peer->uid : !strcmp(job->user, v->peer->cert.name);
}

/* A service provider sees and cancels what runs in its REs; what a job wrote is its user's. */
static bool may_see(const struct phx_state *s, const struct viewer *v, const struct phx_job *job)
{
	const struct phx_re *re = job->re[0] && v->account[0] ? phx_state_re(s, job->re) : NULL;
	/* jobs of an RE that had this name before were somebody else's */
	return is_own(v, job) ||
	       (re && !strcmp(re->agreement.owner, v->account) && job->submitted_ms >= re->created_ms);
}

void api_jobs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct viewer viewer = viewer_of(d, q);
	const char *re = phx_http_query(q, "re");
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_job, job, &s->jobs)
		if (may_see(s, &viewer, job) && (!re || !strcmp(job->re, re)))
			json_array_append_new(list, phx_json_from_record(&phx_job_record, job));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "jobs", list);
	phx_http_reply_json(q, 200, j);
}

/* The job of the path, copied as JSON, if there is one that the asker may see (own: that is his). New reference; NULL after answering. */
static json_t *job_of_path(struct daemon *d, struct phx_http_request *q, bool own, uint64_t *ret_id)
{
	json_t *j = NULL;
	struct viewer viewer = viewer_of(d, q);
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, ret_id) == 0) {
		const struct phx_state *s = engine_lock(d->engine);
		const struct phx_job *job = phx_state_job(s, *ret_id);
		if (job && (own ? is_own(&viewer, job) : may_see(s, &viewer, job)))
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
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, false, &id);
	if (j)
		phx_http_reply_json(q, 200, j);
}

static void order_job(struct daemon *d, struct phx_http_request *q, enum phx_event_kind kind, bool hold)
{
	struct phx_event ev = { .kind = (int)kind, .hold = hold };
	struct phx_outcome out = { 0 };
	struct phx_err err = { 0 };
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, false, &ev.job);
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

void api_job_cancel(struct phx_http_request *q, void *arg)
{
	order_job(arg, q, PHX_EV_job_cancel, false);
}

void api_job_hold(struct phx_http_request *q, void *arg)
{
	order_job(arg, q, PHX_EV_job_hold, true);
}

void api_job_release(struct phx_http_request *q, void *arg)
{
	order_job(arg, q, PHX_EV_job_hold, false);
}

/* ---- output ---- */

/* One run of a job: what each wrote is kept beside that of the others. */
struct output_of {
	uint64_t id;
	uint32_t run;
};

static char *output_path(const struct daemon *d, struct output_of of, const char *node)
{
	return phx_path("%s/%llu.%u.%s", d->cfg.output_dir, (unsigned long long)of.id, of.run, node);
}

/* What all nodes of the job wrote, each under its name; a job of one node stands alone. */
static void reply_all_output(struct daemon *d, struct phx_http_request *q, struct output_of of, const json_t *nodes)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf all = { 0 };
	bool several = json_array_size(nodes) > 1;
	size_t i;
	json_t *name;
	json_array_foreach((json_t *)nodes, i, name)
	{
		const char *node = json_string_value(name);
		PHX_AUTO_FREE char *path = output_path(d, of, node);
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

/* Nodes of the present run, by its parts. */
static json_t *nodes_of_parts(const json_t *job)
{
	json_t *list = json_array(), *part;
	size_t i;
	json_array_foreach(json_object_get(job, "parts"), i, part)
		json_array_append(list, json_object_get(part, "node"));
	return list;
}

/* Nodes of a run that is over, by what it has left. */
static json_t *nodes_of_files(const struct daemon *d, struct output_of of)
{
	json_t *list = json_array();
	char prefix[40];
	struct dirent **found = NULL;
	snprintf(prefix, sizeof(prefix), "%llu.%u.", (unsigned long long)of.id, of.run);
	int n = scandir(d->cfg.output_dir, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (phx_str_starts(found[i]->d_name, prefix))
			json_array_append_new(list, json_string(found[i]->d_name + strlen(prefix)));
		free(found[i]);
	}
	free(found);
	return list;
}

/* The run that is asked for, without a word the last that was started; its nodes (new reference), NULL after answering. */
static json_t *run_of_query(const struct daemon *d, struct phx_http_request *q, const json_t *job, struct output_of *of)
{
	const char *asked = phx_http_query(q, "run");
	bool started = json_array_size(json_object_get(job, "parts"));
	int64_t kills = phx_json_int(job, "kills", 0), last = started ? kills : kills - 1;
	uint64_t run = 0;
	if (last < 0 && phx_str_eq(phx_json_str(job, "state", ""), phx_enum_name(&phx_job_state_names, PHX_JOB_QUEUED))) {
		phx_http_reply_error(q, -EAGAIN, "the job has not started yet: it has no output");
		return NULL;
	}
	if (last < 0) {
		phx_http_reply_error(q, -ENOENT, "the job ended before it was started: it has no output");
		return NULL;
	}
	if (asked && phx_u64_parse(asked, 0, (uint64_t)last, &run) < 0) {
		phx_http_reply_error(q, -ENOENT, "run: the job has had no such run: they count from 0");
		return NULL;
	}
	of->run = asked ? (uint32_t)run : (uint32_t)last;
	return of->run == kills ? nodes_of_parts(job) : nodes_of_files(d, *of);
}

/* The one node of a job of one, when it has written: told as it is, whatever its length. NULL: there are more, or nothing
 * is there yet. */
static const char *only_writer(const struct daemon *d, struct output_of of, const json_t *nodes)
{
	const char *node = json_array_size(nodes) == 1 ? json_string_value(json_array_get(nodes, 0)) : NULL;
	PHX_AUTO_FREE char *path = node ? output_path(d, of, node) : NULL;
	return path && access(path, R_OK) == 0 ? node : NULL;
}

void api_job_output(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct output_of of;
	const char *node = phx_http_query(q, "node");
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, true, &of.id);
	if (!j)
		return;
	PHX_AUTO_JSON json_t *nodes = run_of_query(d, q, j, &of);
	if (!nodes)
		return;
	if (!node)
		node = only_writer(d, of, nodes);
	if (!node) {
		reply_all_output(d, q, of, nodes);
		return;
	}
	if (!phx_name_valid(node)) {
		phx_http_reply_error(q, -EINVAL, "node: that is no node name");
		return;
	}
	PHX_AUTO_FREE char *path = output_path(d, of, node);
	if (path && access(path, R_OK) == 0)
		phx_http_reply_file(q, path, NULL, "text/plain");
	else
		phx_http_reply_error(q, -ENOENT, "there is no output of this job on this node yet");
}

/* 0 when `node` runs this run of the job; -ENOENT it has no part of it; -ESTALE the run is of the past. */
static int check_part(struct daemon *d, struct output_of of, const char *node)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_job *job = phx_state_job(s, of.id);
	int r = job && of.run < job->kills ? -ESTALE : -ENOENT;
	for (uint32_t i = 0; job && of.run == job->kills && i < job->parts.n; i++)
		if (!strcmp(PHX_LIST_AT(&job->parts, struct phx_job_part, i)->node, node))
			r = 0;
	engine_unlock(d->engine);
	return r;
}

void api_job_output_put(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct output_of of = { 0 };
	uint64_t run = 0;
	char node[PHX_NAME_MAX];
	const char *asked = phx_http_query(q, "run");
	if (!person_agent(d, q, node))
		return;
	int r = phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &of.id);
	r = r == 0 && asked ? phx_u64_parse(asked, 0, UINT32_MAX, &run) : r;
	of.run = (uint32_t)run;
	r = r < 0 ? -ENOENT : check_part(d, of, node);
	if (r < 0) {
		phx_http_reply_error(q, r, r == -ESTALE ? "this run of the job is of the past" : "this node has no part of such a job");
		return;
	}
	PHX_AUTO_FREE char *path = output_path(d, of, node);
	const char *body = phx_http_body_path(q);
	if (!path || !body || rename(body, path) < 0) {
		phx_http_reply_error(q, path && body ? -errno : -ENOMEM, "the output cannot be kept");
		return;
	}
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}
