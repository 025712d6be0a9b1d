/* The API of the past: the series of pools, which RE had which nodes, which jobs were killed. The
 * resource provider and auditors see all pools, a service provider those of the own REs. Uses its
 * own connection to the series; asks the engine only for the owners of REs. Called by way of
 * routes.def, on a thread of reads.c. Changes nothing. */
#include "phxd/timeline.h"

#include <errno.h>
#include <string.h>

#include "phxd/parse.h"
#include "series/pool_json.h"

enum {
	HOUR_MS = 3600000,
	POINTS = 600,
	POINTS_MAX = 5000,
	ROWS_MAX = 200000,
	MARKS_MAX = 1000,
	HOLDINGS_MAX = 10000,
	ENDED = 1 /* a walk, before its end */
};

/* What is asked for, and by whom. */
struct asked {
	uint64_t from_ms, until_ms;
	int64_t now_ms;
	bool all;
	struct phx_list own; /* struct own_pool */
	struct phx_series_reader *reader;
};

/* A pool that the asker may see, from when on: before his RE was asked for, another's may have had
 * that name. */
struct own_pool {
	char name[PHX_NAME_MAX];
	int64_t since_ms;
};

static void find_own(struct daemon *d, const struct phx_http_request *q, struct asked *a)
{
	struct person person;
	a->all = person_has_all(d, phx_http_peer(q), PHX_RIGHT_re_history);
	person_of(d, phx_http_peer(q), &person);
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		struct own_pool *to = !a->all && person_is(&person, re->agreement.owner)
			? phx_list_push(&a->own, sizeof(*to))
			: NULL;
		if (!to)
			continue;
		PHX_STR_SET(to->name, re->name);
		to->since_ms = re->asked_ms;
	}
	engine_unlock(d->engine);
}

/* From when on the asker may know of the pool; INT64_MAX: not at all. */
static int64_t known_since(const struct asked *a, const char *pool)
{
	int64_t since_ms = a->all ? INT64_MIN : INT64_MAX;
	PHX_LIST_EACH(struct own_pool, own, &a->own)
		if (!strcmp(own->name, pool))
			since_ms = own->since_ms;
	return since_ms;
}

static void asked_fini(struct asked *a)
{
	phx_list_fini(&a->own);
	phx_series_reader_close(a->reader);
}

/* False after answering. */
static bool begin(struct daemon *d, struct phx_http_request *q, struct asked *ret)
{
	struct phx_err err = {0};
	ret->now_ms = engine_now(d->engine);
	if (!parse_query_number(q, "until", INT64_MAX, (uint64_t)ret->now_ms, &ret->until_ms) ||
	    !parse_query_number(q, "from", INT64_MAX,
				ret->until_ms > HOUR_MS ? ret->until_ms - HOUR_MS : 0,
				&ret->from_ms))
		return false;
	int r = ret->from_ms < ret->until_ms
		? phx_series_reader_open(timeline_path(d->timeline), &ret->reader, &err)
		: phx_err_set(&err, -EINVAL, "from must be before until");
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return false;
	}
	find_own(d, q, ret);
	return true;
}

/* ---- series ---- */

struct rows {
	const struct asked *asked;
	json_t *by_pool; /* object */
	uint32_t n;
};

static int64_t number_at(const json_t *pool, const char *what, size_t at)
{
	return json_integer_value(json_array_get(json_object_get(pool, what), at));
}

/* The number of the pool's rows that begin before `at_ms`. */
static size_t n_before(const json_t *pool, int64_t at_ms)
{
	size_t n = json_array_size(json_object_get(pool, "at_ms"));
	while (n && number_at(pool, "at_ms", n - 1) >= at_ms)
		n--;
	return n;
}

static int add_row(void *arg, const struct phx_series_row *row)
{
	struct rows *to = arg;
	json_t *pool = json_object_get(to->by_pool, row->pool);
	to->n++;
	/* a row that began before tells of both, and cannot be divided */
	if (row->at_ms < known_since(to->asked, row->pool) ||
	    row->at_ms + row->covered_ms < (int64_t)to->asked->from_ms)
		return 0;
	if (!pool &&
	    json_object_set_new(to->by_pool, row->pool, pool = phx_series_pool_json(row->pool)))
		return -ENOMEM;
	phx_series_pool_put(pool, n_before(pool, row->at_ms), row);
	return 0;
}

/* Do the rows already have the state that began then? */
static bool is_written(const json_t *pool, int64_t at_ms)
{
	size_t n = json_array_size(json_object_get(pool, "at_ms"));
	for (size_t i = n_before(pool, at_ms); i < n; i++)
		if (number_at(pool, "covered_ms", i))
			return true;
	return false;
}

/* Adds the present state of the pools, which is written to the series only when it changes. */
static int add_now(struct rows *to, const struct phx_list *lines)
{
	const struct asked *a = to->asked;
	int64_t until_ms = a->now_ms < (int64_t)a->until_ms ? a->now_ms : (int64_t)a->until_ms;
	int r = 0;
	PHX_LIST_EACH(struct timeline_line, l, lines) {
		int64_t since_ms = known_since(a, l->pool);
		struct phx_series_row row = {.at_ms = l->at_ms > since_ms ? l->at_ms : since_ms};
		row.covered_ms = until_ms > row.at_ms ? until_ms - row.at_ms : 0;
		if (r < 0 || row.covered_ms <= 0 ||
		    is_written(json_object_get(to->by_pool, l->pool), l->at_ms))
			continue;
		PHX_STR_SET(row.pool, l->pool);
		phx_series_weigh(&row, l->values);
		r = add_row(to, &row);
	}
	return r;
}

static json_t *quantities_json(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		const struct phx_series_quantity *q = &phx_series_quantities[i];
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:s,s:s,s:b}", "name", q->name, "unit",
						q->unit, "head", q->head, "text", q->text, "lasts",
						q->lasts));
	}
	return list;
}

static json_t *pools_json(json_t *by_pool)
{
	json_t *list = json_array(), *pool;
	const char *name;
	json_object_foreach(by_pool, name, pool)
		json_array_append(list, pool);
	return list;
}

void api_timeline(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(asked_fini) struct asked a = {0};
	PHX_AUTO_JSON json_t *by_pool = json_object();
	struct rows to = {&a, by_pool, 0};
	struct phx_err err = {0};
	uint64_t points;
	if (!parse_query_number(q, "points", POINTS_MAX, POINTS, &points) || !begin(d, q, &a))
		return;
	enum phx_series_level level = phx_series_level_for((int64_t)a.from_ms, (int64_t)a.until_ms,
							   a.now_ms, (uint32_t)points);
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	int r = level == PHX_SERIES_moment ? timeline_now(d->timeline, &lines) : 0;
	r = r ? r
	      : phx_series_rows(a.reader, level, (int64_t)a.from_ms, (int64_t)a.until_ms, ROWS_MAX,
				add_row, &to, &err);
	bool more = to.n == ROWS_MAX;
	r = r || more ? r : add_now(&to, &lines);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:I,s:I,s:I,s:s,s:I,s:b,s:o,s:o}", "from_ms", (json_int_t)a.from_ms,
			  "until_ms", (json_int_t)a.until_ms, "now_ms", (json_int_t)a.now_ms,
			  "level", phx_enum_name(&phx_series_level_names, (int)level), "step_ms",
			  (json_int_t)phx_series_step_ms(level), "more", more, "quantities",
			  quantities_json(), "pools", pools_json(by_pool));
	phx_http_reply_json(q, 200, j);
}

/* ---- marks, holdings ---- */

struct listing {
	const struct asked *asked;
	json_t *list;
	uint32_t n; /* that were looked at */
	/* of holdings: */
	uint32_t limit;
	char last[PHX_NAME_MAX],
		before[PHX_NAME_MAX]; /* the node that is looked at, and that before */
	bool more;
};

static int add_mark(void *arg, const struct phx_series_mark *m)
{
	struct listing *to = arg;
	to->n++;
	if (m->at_ms < known_since(to->asked, m->pool))
		return 0;
	return json_array_append_new(to->list, phx_json_from_record(&phx_series_mark_record, m))
		? -ENOMEM
		: 0;
}

void api_timeline_kills(struct phx_http_request *q, void *arg)
{
	PHX_AUTO(asked_fini) struct asked a = {0};
	PHX_AUTO_JSON json_t *list = json_array();
	struct listing to = {.asked = &a, .list = list};
	struct phx_err err = {0};
	if (!begin(arg, q, &a))
		return;
	int r = phx_series_marks(a.reader, (int64_t)a.from_ms, (int64_t)a.until_ms, MARKS_MAX,
				 add_mark, &to, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:b}", "kills", list, "more", to.n == MARKS_MAX);
	phx_http_reply_json(q, 200, j);
}

/* A last node whose rows do not all fit is left to the next answer, which goes on behind a node. */
static void drop_last(struct listing *to)
{
	size_t n = json_array_size(to->list);
	while (n && !strcmp(phx_json_str(json_array_get(to->list, n - 1), "node", ""), to->last))
		json_array_remove(to->list, --n);
	PHX_STR_SET(to->last, to->before);
}

/* Does the answer end before this row? The rows of one node are never divided: where it has more
 * than the limit, the answer is its rows alone. */
static bool ends_before(struct listing *to, const struct phx_series_holding *h)
{
	bool next = strcmp(to->last, h->node) != 0;
	to->more = to->n >= to->limit && (next || to->before[0]);
	if (to->more && !next)
		drop_last(to);
	if (!to->more && next) {
		PHX_STR_SET(to->before, to->last);
		PHX_STR_SET(to->last, h->node);
	}
	return to->more;
}

static int add_holding(void *arg, const struct phx_series_holding *h)
{
	struct listing *to = arg;
	if (ends_before(to, h))
		return ENDED;
	to->n++;
	int64_t since_ms = known_since(to->asked, h->pool);
	if (h->until_ms <= since_ms)
		return 0;
	json_t *j = phx_json_from_record(&phx_series_holding_record, h);
	if (j && h->from_ms < since_ms)
		json_object_set_new(j, "from_ms", json_integer(since_ms));
	if (j && h->until_ms == INT64_MAX)
		json_object_set_new(j, "until_ms", json_null());
	return json_array_append_new(to->list, j) ? -ENOMEM : 0;
}

void api_timeline_nodes(struct phx_http_request *q, void *arg)
{
	PHX_AUTO(asked_fini) struct asked a = {0};
	PHX_AUTO_JSON json_t *list = json_array();
	struct listing to = {.asked = &a, .list = list};
	struct phx_err err = {0};
	const char *after = phx_http_query(q, "after");
	uint64_t limit;
	if (!parse_query_number(q, "limit", HOLDINGS_MAX, HOLDINGS_MAX, &limit) ||
	    !begin(arg, q, &a))
		return;
	to.limit = limit ? (uint32_t)limit : 1;
	int r = phx_series_holdings(a.reader, (int64_t)a.from_ms, (int64_t)a.until_ms,
				    after ? after : "", ROWS_MAX, add_holding, &to, &err);
	if (r == 0 && to.n == ROWS_MAX)
		r = phx_err_set(&err, -EFBIG,
				"node %s was handed over too often in that time: ask "
				"for a shorter one",
				to.last);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:O,s:s,s:b}", "holdings", list, "last", to.last, "more", to.more);
	phx_http_reply_json(q, 200, j);
}
