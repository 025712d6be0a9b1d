/* Shows runtime environments. Called by the API. Reads only. */

#include "metrics/metrics.h"
#include "phxd/view_metrics.h"
#include "phxd/view.h"

/* Counts the nodes in the RE's pool, also those on their way out; but not those that the RE gave up
 * while they are away, because nobody knows when these come. */
static uint32_t count_in_pool(const struct phx_state *s, const struct phx_re *re)
{
	return phx_members_count(s, PHX_MEMBERS_POOL, re->name) -
		phx_members_count(s, PHX_MEMBERS_GAVE_UP, re->name);
}

bool view_re_serves(const struct phx_state *s, const struct phx_re *re)
{
	struct phx_ledger_counts c = {0};
	if (re->active)
		phx_ledger_counts(s->ledger, (int)re->number, &c);
	return c.idle + c.busy + c.away >= re->agreement.lower && c.coming == 0;
}

bool view_re_returned(const struct phx_state *s, const struct phx_re *re)
{
	/* nodes that an administrator pinned stay */
	return re->state == PHX_RE_STATE_DEACTIVATED && !re->active &&
		count_in_pool(s, re) <= phx_members_count(s, PHX_MEMBERS_PINNED, re->name);
}

static const char *partner_name(const struct phx_state *s, const struct phx_re *re)
{
	int partner = phx_ledger_partner(s->ledger, (int)re->number);
	PHX_LIST_EACH(struct phx_re, other, &s->res)
		if (other->active && (int)other->number == partner)
			return other->name;
	return "";
}

static json_t *meter_json(const struct phx_ledger_meter *m)
{
	json_t *j = phx_json_from_record(&phx_ledger_meter_record, m);
	json_object_set_new(j, "node_hours", json_real((double)m->held_node_ms / 3600000.0));
	return j;
}

/* Adds what an RE has only while it is active. */
static void add_holdings(struct daemon *d, json_t *j, const struct phx_state *s,
			 const struct phx_re *re, int64_t now_ms)
{
	struct phx_ledger_counts c = {0};
	struct phx_ledger_meter m = {0};
	if (re->active) {
		phx_ledger_counts(s->ledger, (int)re->number, &c);
		phx_ledger_meter(s->ledger, (int)re->number, now_ms, &m);
	}
	json_object_set_new(
		j, "nodes",
		json_pack(
			"{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "held",
			(json_int_t)c.idle + c.busy + c.away, "away", (json_int_t)c.away, "idle",
			(json_int_t)c.idle, "busy", (json_int_t)c.busy, "coming",
			(json_int_t)c.coming, "owed", (json_int_t)c.owed, "want",
			(json_int_t)c.want, "pinned",
			/* an administrator pinned them: they serve the RE, and its policy does not
			   * count on them */
			(json_int_t)phx_members_count(s, PHX_MEMBERS_PINNED, re->name), "in_pool",
			(json_int_t)count_in_pool(s, re)));
	json_object_set_new(j, "jobs",
			    json_pack("{s:I,s:I,s:I,s:I}", "waiting", (json_int_t)c.batch.n_waiting,
				      "running", (json_int_t)c.batch.n_running, "held",
				      (json_int_t)c.batch.n_held, "waiting_nodes",
				      (json_int_t)c.batch.waiting_nodes));
	json_object_set_new(j, "hosts", hosts_json(&d->hosts, s, PHX_MEMBERS_HELD, re->name));
	json_object_set_new(j, "coming_hosts",
			    hosts_json(&d->hosts, s, PHX_MEMBERS_COMING, re->name));
	json_object_set_new(j, "away_hosts", hosts_json(&d->hosts, s, PHX_MEMBERS_AWAY, re->name));
	json_object_set_new(j, "paired_with", json_string(re->active ? partner_name(s, re) : ""));
	json_object_set_new(j, "meter", meter_json(&m));
}

json_t *view_re(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		int64_t now_ms)
{
	json_t *j = phx_json_from_record(&phx_re_record, re);
	if (!j)
		return NULL;
	json_object_del(j, "number");
	json_object_del(j, "engine_partitions");
	/* sinfo shows better what Slurm says of the nodes */
	json_object_del(j, "engine_nodes");
	if (re->state == PHX_RE_STATE_NONE)
		json_object_set_new(j, "state", json_string("requested"));
	add_holdings(d, j, s, re, now_ms);
	if (phx_re_kind(&re->agreement)->has_demand) {
		json_object_set_new(j, "use", view_use(d, s, re));
		json_object_set_new(j, "manager", view_manager(s, re));
	}
	return j;
}

static void put_re_nodes(struct phx_buf *b, const struct phx_state *s, const struct phx_re *re)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	const struct {
		const char *kind;
		uint32_t n;
	} rows[] = {{"idle", c.idle},     {"busy", c.busy}, {"away", c.away},
		    {"coming", c.coming}, {"owed", c.owed}, {"want", c.want}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		phx_metric_put(b, PHX_METRIC_re_nodes, (const char *[]){re->name, rows[i].kind},
			       rows[i].n, 0);
}

static void put_re_jobs(struct phx_buf *b, const struct phx_state *s, const struct phx_re *re)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	const struct {
		const char *state;
		uint32_t n;
	} rows[] = {{"running", c.batch.n_running},
		    {"waiting", c.batch.n_waiting},
		    {"held", c.batch.n_held}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		phx_metric_put(b, PHX_METRIC_re_jobs, (const char *[]){re->name, rows[i].state},
			       rows[i].n, 0);
}

void view_re_metrics(struct phx_buf *b, const struct phx_state *s, const struct view_reader *reader)
{
	phx_metric_head(b, PHX_METRIC_re_nodes);
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		if (re->active && reader->sees(reader->arg, re))
			put_re_nodes(b, s, re);
	phx_metric_head(b, PHX_METRIC_re_jobs);
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		if (re->active && phx_re_kind(&re->agreement)->has_jobs &&
		    reader->sees(reader->arg, re))
			put_re_jobs(b, s, re);
}
