/* Why did a node not boot: what was seen of its last start, and what the head knows of it, judged
 * by lib/why. Changes nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "deploy/child.h"
#include "phxd/parse.h"
#include "phxd/starts.h"
#include "phxd/view_hide.h"
#include "types/pci.h"
#include "why/why.h"

enum { SETTLE_MS = 500, STARTS_MAX = 20 };

/* Whoever has not all of it is told the verdict alone, of his own node, without addresses. */
struct asked {
	struct daemon *d;
	struct phx_why_node node;
	bool all;
	uint64_t start; /* 0: the last */
	struct phx_starts_reader *reader;
	struct phx_err err;
};

/* ---- what the head knows ---- */

/* A node that reports no disk, and a controller of disks that it has no driver for. */
static void find_disk_without(const struct phx_facts *f, struct phx_why_node *ret)
{
	if (f->disks.n)
		return;
	PHX_LIST_EACH(const struct phx_pci_facts, d, &f->pci) {
		const char *kind = phx_pci_kind(d);
		bool has_disks =
			kind && (!strcmp(kind, "storage") || !strcmp(kind, "Fibre Channel"));
		if (has_disks && !d->driver[0])
			snprintf(ret->disk_without, sizeof(ret->disk_without), "%04x:%04x",
				 d->vendor, d->device);
	}
}

static void node_of(const struct phx_node *n, struct phx_why_node *ret)
{
	const struct phx_step *step = phx_node_step(n);
	*ret = (struct phx_why_node){
		.state = n->state, .up = n->up, .missing_since_us = n->missing_since_ms * 1000};
	PHX_STR_SET(ret->node, n->name);
	PHX_STR_SET(ret->reason, n->reason);
	find_disk_without(&n->facts, ret);
	if (!step)
		return;
	PHX_STR_SET(ret->step, phx_enum_name(&phx_step_kind_names, step->kind));
	ret->step_deadline_us = step->deadline_ms * 1000;
}

/* A machine that is no node is asked for by its MAC. */
static int find_node(struct asked *a, const struct phx_http_request *q)
{
	const char *name = phx_http_param(q, 0);
	char mac[PHX_MAC_MAX];
	struct person person;
	a->all = person_has_all(a->d, phx_http_peer(q), PHX_RIGHT_logs);
	person_of(a->d, phx_http_peer(q), &person);
	const struct phx_state *s = engine_lock(a->d->engine);
	const struct phx_node *n = phx_state_node(s, name);
	int r = 0;
	if (n && !a->all && !person_holds(s, &person, n))
		r = phx_err_set(&a->err, -EACCES,
				"%s: what was seen of its start is for the resource provider and "
				"the owner of the RE that has it",
				name);
	else if (n)
		node_of(n, &a->node);
	else if (a->all && phx_mac_parse(name, mac) == 0)
		PHX_STR_SET(a->node.node, mac);
	else
		r = phx_err_set(&a->err, -ENOENT, "there is no node '%s'", name);
	engine_unlock(a->d->engine);
	return r;
}

static void look_at_dhcp(struct asked *a)
{
	struct phx_list children = {0};
	if (a->d->cfg.dhcp_mode == PHX_DHCP_NONE || launch_children(a->d->launch, &children) < 0)
		return;
	PHX_LIST_EACH(struct phx_child_status, c, &children)
		if (!strcmp(c->name, "dnsmasq") && !c->running)
			snprintf(a->node.dhcp_down, sizeof(a->node.dhcp_down),
				 "%.100s (status %lld)", c->error[0] ? c->error : "it ended",
				 (long long)c->status);
	phx_list_fini(&children);
}

/* ---- rows ---- */

struct rows {
	struct phx_why why;
	json_t *list; /* NULL: not wanted */
	uint32_t start;
};

static int take_row(void *arg, const struct phx_start_row *row)
{
	struct rows *to = arg;
	to->start = row->start;
	phx_why_take(&to->why, row);
	if (to->list)
		json_array_append_new(to->list, phx_json_from_record(&phx_start_row_record, row));
	return 0;
}

/* Nothing seen is an answer, too. */
static int judge(struct asked *a, uint32_t start, json_t *list, uint32_t *ret_start,
		 struct phx_why_verdict *ret)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	rows->list = list;
	phx_why_begin(&rows->why, &a->node, phx_wall_ms() * 1000);
	int r = a->reader ? phx_starts_rows(a->reader, a->node.node, start, take_row, rows, &a->err)
			  : 0;
	if (r == -ENOENT && !start) {
		phx_err_clear(&a->err);
		r = 0;
	}
	phx_why_judge(&rows->why, ret);
	*ret_start = rows->start;
	free(rows);
	return r;
}

static json_t *verdict_json(struct asked *a, uint32_t start, struct phx_why_verdict *v)
{
	if (!a->all) {
		view_hide(v->text, VIEW_HIDE_HARDWARE, false);
		view_hide(v->act, VIEW_HIDE_HARDWARE, false);
	}
	json_t *j = phx_json_from_record(&phx_why_verdict_record, v);
	if (j)
		json_object_set_new(j, "start", json_integer(start));
	return j;
}

/* How the start before this one ended, where nothing can be said of this one yet: a machine that
 * tries again and again is in the first seconds of a start most of the time. */
static int add_before(struct asked *a, json_t *to, uint32_t start)
{
	struct phx_why_verdict v;
	struct asked then = *a;
	uint32_t its;
	if (start < 2 || a->start)
		return 0;
	then.node.step[0] = '\0';
	then.node.state = PHX_NODE_READY;
	then.node.up = false;
	int r = judge(&then, start - 1, NULL, &its, &v);
	if (r == 0 && v.wrong)
		json_object_set_new(to, "before", verdict_json(a, its, &v));
	return r == -ENOENT ? 0 : r;
}

/* The last starts, for who wants to look at an earlier one. */
static int add_starts(struct asked *a, json_t *to)
{
	PHX_AUTO(phx_list_fini) struct phx_list starts = {0};
	json_t *list = json_array();
	int r = a->reader ? phx_starts_list(a->reader, a->node.node, STARTS_MAX, &starts, &a->err)
			  : 0;
	PHX_LIST_EACH(struct phx_starts_one, one, &starts)
		json_array_append_new(list, phx_json_from_record(&phx_starts_one_record, one));
	json_object_set_new(to, "starts", list);
	return r;
}

/* `a->err` says why, or it is memory. */
static int answer(struct asked *a, bool wants_rows, json_t **ret)
{
	struct phx_why_verdict v;
	uint32_t start = 0;
	PHX_AUTO_JSON json_t *list = wants_rows && a->all ? json_array() : NULL;
	int r = judge(a, (uint32_t)a->start, list, &start, &v);
	if (r < 0)
		return r;
	json_t *j = verdict_json(a, start, &v);
	if (!j)
		return -ENOMEM;
	json_object_set_new(j, "node", json_string(a->node.node));
	r = v.cause == PHX_WHY_within ? add_before(a, j, start) : 0;
	if (list)
		json_object_set(j, "rows", list);
	if (list && r == 0)
		r = add_starts(a, j);
	if (r == 0)
		*ret = j;
	else
		json_decref(j);
	return r;
}

/* Before the first row there is no database. */
static int open_reader(struct asked *a)
{
	starts_look(a->d, a->node.node);
	starts_settle(a->d->starts, SETTLE_MS);
	int r = phx_starts_reader_open(starts_path(a->d->starts), &a->reader, &a->err);
	if (r == -ENOENT)
		phx_err_clear(&a->err);
	return r == -ENOENT ? 0 : r;
}

void api_node_why(struct phx_http_request *q, void *arg)
{
	struct asked a = {.d = arg};
	const char *rows = phx_http_query(q, "rows");
	PHX_AUTO_JSON json_t *j = NULL;
	if (!parse_query_number(q, "start", UINT32_MAX, 0, &a.start))
		return;
	int r = find_node(&a, q);
	a.node.patience_percent = a.d->cfg.start_patience_percent;
	if (r == 0)
		look_at_dhcp(&a);
	r = r ? r : open_reader(&a);
	r = r ? r : answer(&a, rows && !strcmp(rows, "yes"), &j);
	phx_starts_reader_close(a.reader);
	if (r < 0)
		phx_http_reply_error(q, r, a.err.text[0] ? a.err.text : strerror(-r));
	else
		phx_http_reply_json(q, 200, j);
}
