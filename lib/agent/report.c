/* See report.h. Reads only. */
#include "agent/report.h"

#include "inventory/inventory.h"
#include "agent/agent.h"
#include "agent/anchors.h"
#include "agent/order.h"

enum { IDS_MAX = 256 };

void report_health(struct agent *a, struct phx_told_report *r)
{
	char services[160], check[160], trouble[160], given_up[DIRECTOR_NOTE_MAX];
	char accounts[ACCOUNTS_NOTE_MAX];
	bool up = services_ok(a->services, services, sizeof(services));
	bool ok = health_ok(a->health, check, sizeof(check));
	loop_hold(a->loop);
	PHX_STR_SET(trouble, a->trouble);
	loop_release(a->loop);
	director_note(a->web, given_up);
	accounts_note(a->accounts, accounts);
	const char *text = trouble[0] ? trouble
		: given_up[0]         ? given_up
		: !up                 ? services
		: check[0]            ? check
				      : accounts;
	r->healthy = up && ok && !trouble[0];
	PHX_STR_SET(r->health_text, text);
}

static void add_run(json_t *list, uint64_t id, uint32_t run)
{
	json_array_append_new(list, json_pack("[I,I]", (json_int_t)id, (json_int_t)run));
}

static void add_steps(const struct agent *a, json_t *list)
{
	uint64_t ids[IDS_MAX];
	struct result_subject told[IDS_MAX];
	uint32_t n = worker_ids(a->worker, ids, IDS_MAX);
	for (uint32_t i = 0; i < n && i < IDS_MAX; i++)
		json_array_append_new(list, json_integer((json_int_t)ids[i]));
	n = outbox_list(a->outbox, false, told, IDS_MAX);
	for (uint32_t i = 0; i < n && i < IDS_MAX; i++)
		json_array_append_new(list, json_integer((json_int_t)told[i].id));
}

static void add_jobs(const struct agent *a, json_t *list)
{
	struct job_run runs[IDS_MAX];
	struct result_subject told[IDS_MAX];
	uint32_t n = jobs_list(a->jobs, runs, IDS_MAX);
	for (uint32_t i = 0; i < n && i < IDS_MAX; i++)
		add_run(list, runs[i].id, runs[i].run);
	n = outbox_list(a->outbox, true, told, IDS_MAX);
	for (uint32_t i = 0; i < n && i < IDS_MAX; i++)
		add_run(list, told[i].id, told[i].run);
}

static void add_standing(json_t *list, enum phx_order_kind kind, uint64_t id)
{
	if (id)
		order_report(list, kind, id);
}

/* Orders that the head need not repeat: steps by their id, runs of jobs as [ID, RUN], the table in
 * force, the packages to prefetch and the role that runs ahead as [KIND, ID]. */
void report_running(struct agent *a, struct report_kept kept, json_t *j)
{
	json_t *list = json_array();
	add_steps(a, list);
	add_jobs(a, list);
	add_standing(list, PHX_ORDER_table, director_id(a->web));
	add_standing(list, PHX_ORDER_prefetch, prefetch_id(a->prefetch));
	if (a->ahead) /* also 0: it tells the head that this agent starts roles ahead */
		order_report(list, PHX_ORDER_ahead, ahead_id(a->ahead));
	/* also 0: it tells the head that anchors are kept here, and that CAs can be changed */
	json_array_append_new(list,
			      json_pack("[s,I,i]", phx_order_name(PHX_ORDER_anchor),
					(json_int_t)kept.anchor, ANCHORS_FORM));
	order_report(list, PHX_ORDER_ca, kept.ca);
	tasks_running(a->tasks, list);
	accounts_running(a->accounts, list);
	site_running(a->site, list);
	json_object_set_new(j, "running", list);
}

/* The users who are logged in. A system without records of sessions has no such member. */
void report_sessions(const struct agent *a, json_t *monitor)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	if (phx_sessions_read(a->cfg.fact_root, &list) < 0)
		return;
	json_object_set_new(monitor, "sessions", phx_json_from_list(&phx_session_record, &list));
}
