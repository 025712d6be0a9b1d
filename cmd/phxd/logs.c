/* Logs of services, agents and kernels of nodes, which people ask for: see asks.c. What a node told
 * when a step or a service failed is kept as rows of its start (starts.h), for when the node does
 * not answer. Decides nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "phxd/parse.h"
#include "phxd/starts.h"
#include "types/logs.h"

enum { LINES_MAX = 10000, LINES = 50, WAIT_MAX_S = 25 };
enum { KEPT_LINES = 200, KEPT_MAX = 256 << 10, SETTLE_MS = 2000 };

/* Whose words the request asks for. */
enum wanted { OF_SERVICE = PHX_LOGS_SERVICE, OF_KERNEL = PHX_LOGS_KERNEL, OF_KEPT };

static int wanted_of(struct phx_http_request *q, int *ret, struct phx_err *err)
{
	const char *of = phx_http_query(q, "of");
	*ret = OF_KEPT;
	if (of && !strcmp(of, "kept"))
		return 0;
	int r = phx_enum_parse(&phx_logs_of_names, of ? of : "service", ret, err);
	return r < 0 ? phx_err_set(err, -EINVAL, "of: service, agent, kernel or kept") : 0;
}

static int check_heard(const struct phx_node *n, int of, struct phx_err *err)
{
	if (of == OF_KEPT)
		return 0;
	if (!n->up)
		return phx_err_set(err, -EAGAIN, "%s is not heard: its agent cannot be asked",
				   n->name);
	if (of == OF_SERVICE && n->env != PHX_ENV_OS)
		return phx_err_set(err, -EBUSY, "%s is not in its system: no services run there",
				   n->name);
	return 0;
}

static int check_node(struct daemon *d, struct phx_http_request *q, const char *node,
		      struct phx_err *err)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	bool all = person_has_all(d, peer, PHX_RIGHT_logs);
	struct person person;
	int of, r = wanted_of(q, &of, err);
	if (r < 0)
		return r;
	/* before the engine is locked: it may ask the user database */
	person_of(d, peer, &person);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	if (!n)
		r = phx_err_set(err, -ENOENT, "there is no node '%s'", node);
	else if (!all && of != OF_SERVICE)
		r = phx_err_set(err, -EACCES,
				"%s: what its agent and its kernel write is for the resource "
				"provider",
				node);
	else if (!all && !person_holds(s, &person, n))
		r = phx_err_set(err, -EACCES,
				"%s: what its services write is for the resource provider and the "
				"owner of the RE that has it",
				node);
	else
		r = check_heard(n, of, err);
	engine_unlock(d->engine);
	return r;
}

static const struct asks_kind kind = {PHX_ORDER_logs, PHX_RIGHT_logs, check_node};

/* The question for the agent; NULL after answering. */
static json_t *words_of(struct phx_http_request *q, int of, uint64_t step, uint64_t *ret_wait_s)
{
	const char *service = phx_http_query(q, "service"), *after = phx_http_query(q, "after");
	uint64_t lines;
	struct phx_logs_ask a = {.of = of, .step = step};
	PHX_STR_SET(a.service, service ? service : "");
	PHX_STR_SET(a.cursor, after ? after : "");
	phx_utf8_repair(a.cursor);
	if (service && *service && !phx_name_valid(service)) {
		phx_http_reply_error(q, -EINVAL, "service: not a name");
		return NULL;
	}
	if (after && strcmp(a.cursor, after) != 0) {
		phx_http_reply_error(q, -EINVAL, "after: not what an earlier answer had as cursor");
		return NULL;
	}
	if (!parse_query_number(q, "lines", LINES_MAX, LINES, &lines) ||
	    !parse_query_number(q, "wait", WAIT_MAX_S, 0, ret_wait_s))
		return NULL;
	a.lines = (int64_t)lines;
	a.wait_ms = (int64_t)*ret_wait_s * 1000;
	return phx_json_from_record(&phx_logs_ask_record, &a);
}

/* ---- what is kept ---- */

struct kept {
	uint64_t step; /* whose lines; 0: all */
	struct phx_buf text;
};

/* A row is "step N: LINE" or "service NAME: LINE". */
static int add_kept(void *arg, const struct phx_start_row *row)
{
	struct kept *k = arg;
	char prefix[40];
	snprintf(prefix, sizeof(prefix), "step %" PRIu64 ": ", k->step);
	if (row->kind != PHX_START_log || (k->step && !phx_str_starts(row->text, prefix)))
		return 0;
	const char *line = k->step ? row->text + strlen(prefix) : row->text;
	phx_buf_addf(&k->text, "%s\n", line);
	return k->text.n > KEPT_MAX ? 1 : 0;
}

static void reply_kept(struct daemon *d, struct phx_http_request *q, const char *node,
		       uint64_t step)
{
	struct kept k = {.step = step};
	struct phx_starts_reader *reader = NULL;
	struct phx_err err = {0};
	starts_settle(d->starts, SETTLE_MS);
	int r = phx_starts_reader_open(starts_path(d->starts), &reader, &err);
	r = r ? r : phx_starts_rows(reader, node, 0, add_kept, &k, &err);
	phx_starts_reader_close(reader);
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:s,s:s,s:s}", "node", node, "service", "",
					    "text", phx_text(k.text.data), "cursor", "");
	phx_buf_fini(&k.text);
	if (r < 0 && r != -ENOENT)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, j);
}

/* Where its last KEPT_LINES lines begin. */
static const char *last_lines(const char *text)
{
	const char *p = text + strlen(text);
	unsigned n = 0;
	while (p > text && (p[-1] != '\n' || !p[0] || ++n < KEPT_LINES))
		p--;
	return p;
}

/* Each line is a row of the start that the node is in. */
static void keep_told(struct daemon *d, const char *node, const struct phx_logs_told *told)
{
	struct phx_start_row row = {.kind = PHX_START_log, .proven = true};
	char prefix[PHX_NAME_MAX + 16], line[PHX_START_TEXT_MAX];
	PHX_STR_SET(row.node, node);
	if (told->step)
		snprintf(prefix, sizeof(prefix), "step %" PRIu64 ": ", told->step);
	else
		snprintf(prefix, sizeof(prefix), "service %.63s: ", told->service);
	for (const char *p = last_lines(phx_text(told->text)); *p;) {
		size_t length = strcspn(p, "\n");
		snprintf(line, sizeof(line), "%s%.*s", prefix,
			 (int)(length < sizeof(line) ? length : sizeof(line)), p);
		phx_start_clean(row.text, sizeof(row.text), line);
		starts_tell(d->starts, &row);
		p += length + (p[length] == '\n');
	}
}

/* ---- routes ---- */

void api_node_logs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	uint64_t wait_s, step;
	int of = OF_SERVICE;
	struct asks_wish wish = {.kind = &kind, .node = phx_http_param(q, 0), .rights = d->rights};
	int r = check_node(d, q, wish.node, &err);
	r = r ? r : wanted_of(q, &of, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (!parse_query_number(q, "step", INT64_MAX, 0, &step))
		return;
	if (of == OF_KEPT) {
		reply_kept(d, q, wish.node, step);
		return;
	}
	wish.words = words_of(q, of, step, &wait_s);
	if (!wish.words)
		return;
	wish.wait_ms = (int64_t)wait_s * 1000;
	asks_put(d->asks, q, &wish);
}

void api_agent_logs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX];
	if (!person_agent(d, q, node))
		return;
	struct phx_logs_told told;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_message(q, j, &phx_logs_told_record, &told))
		return;
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:s,s:s,s:s,s:s}", "node", node, "service", told.service, "text",
			  phx_text(told.text), "cursor", told.cursor);
	if (told.id)
		asks_told(d->asks, &kind, node, told.id, phx_text(told.error), answer);
	else if (live_may_tell(d->live, node, strlen(phx_text(told.text))))
		keep_told(d, node, &told);
	phx_record_fini(&phx_logs_told_record, &told);
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}
