/* Jobs that were submitted (api_submit.c): shown, held, ended. Output is kept in a file for each
 * run and node. Called by way of routes.def. Starts no job: the core does. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "job/job.h"
#include "phxd/parse.h"
#include "phxd/viewer.h"
#include "state/index.h"

enum { OUTPUT_SHOWN_MAX = 1 << 20 };

/* Of a list: jobs of one page, jobs read under one hold of the engine's lock, length of what is
 * shown of each. */
enum {
	LIST_MAX = 1000,
	LOOKED_AT_ONCE = 1000,
	SHOWN_AT_ONCE = 64,
	PARTS_SHOWN = 20000,
	WORDS_SHOWN = 8,
	WORD_SHOWN = 80
};

/* A service provider sees and cancels jobs in its REs, but a job's output belongs to its user. */
static bool may_see(const struct phx_state *s, const struct viewer *v, const struct phx_job *job)
{
	return viewer_sees(v, s, job->re, job->submitted_ms, job->uid, job->user);
}

/* The job with the reason of its state: why it waits, or what ended it. */
static json_t *job_json(struct phx_job_waits *waits, const struct phx_job *job)
{
	char text[200] = "";
	json_t *j = phx_json_from_record(&phx_job_record, job);
	phx_job_waits_for(waits, job, text, sizeof(text));
	if (j)
		json_object_set_new(j, "reason",
				    json_string(text[0] || phx_job_is_open(job) || !job->why
							? text
							: job->why));
	return j;
}

/* ---- lists ---- */

/* A job as a list shows it: of the texts that its user gave only the first words of the command,
 * each cut. */
struct brief {
	struct phx_job job; /* borrows */
	struct phx_text words[WORDS_SHOWN];
	char texts[WORDS_SHOWN][WORD_SHOWN + 4];
};

static void make_brief(const struct phx_job *job, const struct phx_job *words, struct brief *ret)
{
	uint32_t n = words->argv.n < WORDS_SHOWN ? words->argv.n : WORDS_SHOWN;
	ret->job = *job;
	ret->job.argv = (struct phx_list){.items = ret->words, .n = n};
	ret->job.env.n = ret->job.stage_in.n = ret->job.stage_out.n = 0;
	ret->job.script = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const char *word = phx_text_at(&words->argv, i);
		size_t fits = strnlen(word, WORD_SHOWN + 1);
		bool cut = fits > WORD_SHOWN;
		fits = cut ? WORD_SHOWN : fits;
		while (cut && fits &&
		       ((unsigned char)word[fits] & 0xc0) == 0x80) /* not within a character */
			fits--;
		snprintf(ret->texts[i], sizeof(ret->texts[i]), "%.*s%s", (int)fits, word,
			 cut ? "..." : "");
		ret->words[i].text = ret->texts[i];
	}
}

struct jobs_page {
	struct viewer viewer;
	const char *re; /* NULL: of all */
	uint64_t last;  /* job looked at */
	uint32_t limit, n_parts;
	json_t *list;
};

static bool is_full(const struct jobs_page *p)
{
	return json_array_size(p->list) >= p->limit || p->n_parts >= PARTS_SHOWN;
}

static const struct phx_job *next_job(const struct phx_state *s, const struct jobs_page *p)
{
	if (p->re)
		return phx_index_job_of(s, p->re, p->last);
	uint32_t at = phx_state_job_place(s, p->last + 1);
	return at < s->jobs.n ? PHX_LIST_AT(&s->jobs, struct phx_job, at) : NULL;
}

/* Adds the next jobs of a long list; the engine is unlocked between two calls. False: these were
 * the last. */
static bool add_jobs(struct daemon *d, struct jobs_page *p)
{
	const struct phx_state *s = engine_lock(d->engine);
	struct phx_job_waits waits = {.s = s};
	uint32_t n_looked = 0, n_shown = 0;
	const struct phx_job *job = next_job(s, p);
	for (; job && !is_full(p) && n_looked < LOOKED_AT_ONCE && n_shown < SHOWN_AT_ONCE;
	     job = next_job(s, p), n_looked++) {
		struct brief brief;
		p->last = job->id;
		if (job->worker || !may_see(s, &p->viewer, job))
			continue;
		make_brief(job, phx_job_words(s, job), &brief);
		json_array_append_new(p->list, job_json(&waits, &brief.job));
		p->n_parts += job->parts.n;
		n_shown++;
	}
	engine_unlock(d->engine);
	return job;
}

/* May the asker know that this RE exists? */
static bool re_is_known(struct daemon *d, const struct phx_http_request *q, const struct viewer *v,
			const char *name)
{
	struct member member;
	member_of(d, q, PHX_RIGHT_re_know, &member);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	bool known = re &&
		(v->all || (v->provider && person_is(&v->person, re->agreement.owner)) ||
		 member_is(&member, &re->agreement, NULL));
	engine_unlock(d->engine);
	member_fini(&member);
	return known;
}

void api_jobs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t after = 0, limit = LIST_MAX;
	const char *from = phx_http_query(q, "after"), *most = phx_http_query(q, "limit");
	if ((from && phx_u64_parse(from, 0, INT64_MAX, &after) < 0) ||
	    (most && phx_u64_parse(most, 1, LIST_MAX, &limit) < 0)) {
		phx_http_reply_error(q, -EINVAL,
				     "after: must be a job's number; limit: from 1 to 1000");
		return;
	}
	PHX_AUTO_JSON json_t *list = json_array();
	struct jobs_page p = {.viewer = viewer_of(d, phx_http_peer(q), PHX_RIGHT_job_see),
			      .re = phx_http_query(q, "re"),
			      .last = after,
			      .limit = (uint32_t)limit,
			      .list = list};
	bool more;
	while ((more = add_jobs(d, &p)) && !is_full(&p))
		reads_breathe(phx_clock_us());
	/* nothing found at all: perhaps there is no such RE */
	if (p.re && !after && !more && !json_array_size(list) &&
	    !re_is_known(d, q, &p.viewer, p.re)) {
		phx_http_reply_error(q, -ENOENT, "re: there is no such RE");
		return;
	}
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:O,s:I,s:b}", "jobs", list, "last", (json_int_t)p.last, "more", more);
	phx_http_reply_json(q, 200, j);
}

static json_t *words_json(const struct phx_job *job)
{
	static const char *const members[] = {"argv", "env", "script", "stage_in", "stage_out"};
	PHX_AUTO_JSON json_t *whole = phx_json_from_record(&phx_job_record, job);
	json_t *j = json_object();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(members); i++)
		json_object_set(j, members[i], json_object_get(whole, members[i]));
	return j;
}

/* The job of the path as JSON, if it exists and the asker has `right` to it (the output of a job is
 * for its user alone). New reference; NULL after answering. */
static json_t *job_of_path(struct daemon *d, struct phx_http_request *q, enum phx_right right,
			   uint64_t *ret_id)
{
	json_t *j = NULL;
	bool own = right == PHX_RIGHT_job_output;
	struct viewer viewer = viewer_of(d, phx_http_peer(q), right);
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, ret_id) == 0) {
		const struct phx_state *s = engine_lock(d->engine);
		const struct phx_job *job = phx_state_job(s, *ret_id);
		struct phx_job_waits waits = {.s = s};
		if (job &&
		    (own ? viewer_owns(&viewer, job->uid, job->user) : may_see(s, &viewer, job)))
			j = job_json(&waits, job);
		if (j &&
		    phx_job_words(s, job) != job) /* of an array: the first job has the texts */
			json_object_update_new(j, words_json(phx_job_words(s, job)));
		engine_unlock(d->engine);
	}
	if (!j)
		phx_http_reply_error(q, -ENOENT, "there is no such job");
	return j;
}

static bool has_ended(const struct phx_state *s, const struct phx_http_request *q)
{
	uint64_t id = 0;
	phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &id);
	const struct phx_job *job = phx_state_job(s, id);
	return !job || !phx_job_is_open(job);
}

static json_t *show_job(struct phx_http_request *q, struct daemon *d)
{
	uint64_t id;
	return job_of_path(d, q, PHX_RIGHT_job_see, &id);
}

static const struct holds_wish until_end = {has_ended, show_job, PHX_RIGHT_job_see};

void api_job(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t wait_s;
	unsigned rights = d->rights;
	if (!parse_query_number(q, "wait", HOLD_MAX_S, 0, &wait_s))
		return;
	/* check first: when a refusal comes must not tell when another's job ends */
	PHX_AUTO_JSON json_t *j = show_job(q, d);
	if (j && wait_s)
		holds_take(d->holds, q, &until_end, rights, (int64_t)wait_s * 1000);
	else if (j)
		phx_http_reply_json(q, 200, j);
}

static enum phx_right right_of(const struct phx_event *ev)
{
	return ev->kind == PHX_EV_job_cancel ? PHX_RIGHT_job_cancel : PHX_RIGHT_job_hold;
}

/* Reads the last job of a range to cancel, all of which the asker must be allowed to end. Does
 * nothing for other orders. False after answering. */
static bool parse_last(struct daemon *d, struct phx_http_request *q, struct phx_event *ev)
{
	static const char *const members[] = {"last"};
	int64_t last = 0;
	bool all = true;
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, ev->kind == PHX_EV_job_cancel ? 1 : 0) ||
	    !parse_number(q, body, "last", (int64_t)ev->job_order.job, INT64_MAX, &last))
		return false;
	struct viewer viewer = viewer_of(d, phx_http_peer(q), right_of(ev));
	const struct phx_state *s = engine_lock(d->engine);
	all = (uint64_t)last <= s->last_job_id;
	/* loop over existing jobs, not numbers: most of a long range may have been forgotten */
	for (uint32_t at = phx_state_job_place(s, ev->job_order.job); all && at < s->jobs.n; at++) {
		const struct phx_job *job = PHX_LIST_AT(&s->jobs, struct phx_job, at);
		if (job->id > (uint64_t)last)
			break;
		all = may_see(s, &viewer, job);
	}
	engine_unlock(d->engine);
	ev->job_order.job_last = (uint64_t)last;
	if (!all)
		phx_http_reply_error(q, -ENOENT, "last: not all of these jobs are there");
	return all;
}

static void order_job(struct daemon *d, struct phx_http_request *q, enum phx_event_kind kind,
		      bool hold)
{
	struct phx_event ev = {.kind = (int)kind, .job_order.hold = hold};
	PHX_CARRIES(&ev, job_order);
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, right_of(&ev), &ev.job_order.job);
	if (!j || !parse_last(d, q, &ev))
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	int r = engine_submit(d->engine, &ev, &out, &err);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:b}", "id", (json_int_t)ev.job_order.job, "changed", out.changed);
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

/* A run of a job; the output of each run is kept. */
struct output_of {
	uint64_t id;
	uint32_t run;
};

static char *output_path(const struct daemon *d, struct output_of of, const char *node)
{
	return phx_path("%s/%llu.%u.%s", d->cfg.output_dir, (unsigned long long)of.id, of.run,
			node);
}

/* Replies with the output of all nodes, each under its name (without one if there is only one
 * node). */
static void reply_all_output(struct daemon *d, struct phx_http_request *q, struct output_of of,
			     const json_t *nodes)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf all = {0};
	bool several = json_array_size(nodes) > 1;
	size_t i;
	json_t *name;
	json_array_foreach((json_t *)nodes, i, name) {
		const char *node = json_string_value(name);
		PHX_AUTO_FREE char *path = output_path(d, of, node);
		PHX_AUTO_FREE char *text = NULL;
		size_t n = 0;
		if (several)
			phx_buf_addf(&all, "== %s ==\n", node);
		if (path && phx_file_read(path, OUTPUT_SHOWN_MAX, &text, &n, NULL) == 0)
			phx_buf_add(&all, text, n);
		else if (path && access(path, R_OK) == 0)
			phx_buf_addf(&all,
				     "(too long to be shown with the others: ask for this node "
				     "alone)\n");
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

/* Nodes of a run that is over, from its output files. */
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

/* Reads which run is asked for, by default the last started, into `of`. Returns its nodes (new
 * reference), NULL after answering. */
static json_t *run_of_query(const struct daemon *d, struct phx_http_request *q, const json_t *job,
			    struct output_of *of)
{
	const char *asked = phx_http_query(q, "run");
	bool started = json_array_size(json_object_get(job, "parts"));
	int64_t kills = phx_json_int(job, "kills", 0), last = started ? kills : kills - 1;
	uint64_t run = 0;
	if (last < 0 &&
	    phx_str_eq(phx_json_str(job, "state", ""),
		       phx_enum_name(&phx_job_state_names, PHX_JOB_QUEUED))) {
		phx_http_reply_error(q, -EAGAIN, "the job has not started yet: it has no output");
		return NULL;
	}
	if (last < 0) {
		phx_http_reply_error(q, -ENOENT,
				     "the job ended before it was started: it has no output");
		return NULL;
	}
	if (asked && phx_u64_parse(asked, 0, (uint64_t)last, &run) < 0) {
		phx_http_reply_error(q, -ENOENT,
				     "run: the job has had no such run: they count from 0");
		return NULL;
	}
	of->run = asked ? (uint32_t)run : (uint32_t)last;
	return of->run == kills ? nodes_of_parts(job) : nodes_of_files(d, *of);
}

/* The node of a job with a single node, if there is output: it is sent as it is, whatever its
 * length. NULL: there are more nodes, or no output yet. */
static const char *only_writer(const struct daemon *d, struct output_of of, const json_t *nodes)
{
	const char *node =
		json_array_size(nodes) == 1 ? json_string_value(json_array_get(nodes, 0)) : NULL;
	PHX_AUTO_FREE char *path = node ? output_path(d, of, node) : NULL;
	return path && access(path, R_OK) == 0 ? node : NULL;
}

static bool is_of(const json_t *nodes, const char *node)
{
	size_t i;
	json_t *name;
	json_array_foreach((json_t *)nodes, i, name)
		if (phx_str_eq(json_string_value(name), node))
			return true;
	return false;
}

void api_job_output(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct output_of of;
	const char *node = phx_http_query(q, "node");
	PHX_AUTO_JSON json_t *j = job_of_path(d, q, PHX_RIGHT_job_output, &of.id);
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
		phx_http_reply_error(q, -ENOENT,
				     is_of(nodes, node)
					     ? "the job has written nothing on this node yet"
					     : "node: the job has no part on this node");
}

/* 0 if `node` runs this run of the job; -ENOENT: it has no part in it; -ESTALE: the run is an
 * earlier one, or has ended there and its output is kept, which the node may not overwrite. */
static int check_part(struct daemon *d, struct output_of of, const char *node, const char *kept)
{
	bool ended = false;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_job *job = phx_state_job(s, of.id);
	int r = job && of.run < job->kills ? -ESTALE : -ENOENT;
	for (uint32_t i = 0; job && of.run == job->kills && i < job->parts.n; i++)
		if (!strcmp(PHX_LIST_AT(&job->parts, struct phx_job_part, i)->node, node)) {
			ended = PHX_LIST_AT(&job->parts, struct phx_job_part, i)->ended;
			r = 0;
		}
	engine_unlock(d->engine);
	return r == 0 && ended && access(kept, F_OK) == 0 ? -ESTALE : r;
}

/* Finds the run whose output a node uploads; false after answering. */
static bool find_output(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX],
			struct output_of *ret)
{
	uint64_t run = 0;
	const char *asked = phx_http_query(q, "run");
	if (!person_agent(d, q, ret_node))
		return false;
	int r = phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &ret->id);
	r = r == 0 && asked ? phx_u64_parse(asked, 0, UINT32_MAX, &run) : r;
	ret->run = (uint32_t)run;
	PHX_AUTO_FREE char *path = output_path(d, *ret, ret_node);
	r = r < 0 ? -ENOENT : path ? check_part(d, *ret, ret_node, path) : -ENOMEM;
	if (r < 0)
		phx_http_reply_error(q, r,
				     r == -ESTALE ? "this run of the job is of the past, or over"
						  : "this node has no part of such a job");
	return r == 0;
}

bool job_output_may_put(struct phx_http_request *q, void *arg)
{
	struct output_of of = {0};
	char node[PHX_NAME_MAX];
	return find_output(arg, q, node, &of);
}

void api_job_output_put(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct output_of of = {0};
	char node[PHX_NAME_MAX];
	if (!find_output(d, q, node, &of))
		return;
	PHX_AUTO_FREE char *path = output_path(d, of, node);
	const char *body = phx_http_body_path(q);
	/* the agent deletes output that is acknowledged */
	int r = path && body ? phx_file_publish(body, path, NULL) : -ENOMEM;
	if (r < 0) {
		phx_http_reply_error(q, r, "the output cannot be kept");
		return;
	}
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}
