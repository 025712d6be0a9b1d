/* The core's state: its record tables, phx_state_init() and phx_state_fini(). Called by the core,
 * the journal (snapshots), the API and tests. Pure. */
#include "state/crew.h"
#include "state/index.h"
#include "state/named.h"

#include <errno.h>

PHX_RECORD_TABLE(phx_pool, PHX_POOL_FIELDS);
PHX_RECORD_TABLE(phx_settings, PHX_SETTINGS_FIELDS);

static const char *const job_states[] = {"queued", "running",   "done",
					 "failed", "cancelled", "timeout"};
const struct phx_enum phx_job_state_names = {"job state", job_states, PHX_ARRAY_SIZE(job_states)};
/* in JSON, too: agents and journals have these */
static const char *const job_ends[] = {"", "killing", "overdue", "cancel"};
static const char *const task_ends[] = {"good", "lost", "failed"};
const struct phx_enum phx_task_end_names = {"end of a task", task_ends, PHX_ARRAY_SIZE(task_ends)};
const struct phx_enum phx_job_end_names = {"end of a job", job_ends, PHX_ARRAY_SIZE(job_ends)};

PHX_RECORD_TABLE(phx_job_part, PHX_JOB_PART_FIELDS);
PHX_RECORD_TABLE(phx_job, PHX_JOB_FIELDS);
static int flow_save(const void *live, void *ret_image)
{
	return phx_flow_progress_save(live, ret_image);
}

static int flow_restore(const void *image, void **ret_live)
{
	struct phx_flow_progress *l;
	int r = phx_flow_progress_restore(image, &l);
	if (r == 0)
		*ret_live = l;
	return r;
}

static void flow_free(void *live)
{
	phx_flow_progress_free(live);
}

static const struct phx_live flow_live = {&phx_flow_image_record, flow_save, flow_restore,
					  flow_free};

PHX_RECORD_TABLE(phx_flowrun, PHX_FLOWRUN_FIELDS);
PHX_RECORD_TABLE(phx_doomed_key, PHX_DOOMED_KEY_FIELDS);

static const char *const engine_node_states[] = {"absent", "open", "closed"};
const struct phx_enum phx_engine_node_state_names = {"state of a node", engine_node_states,
						     PHX_ARRAY_SIZE(engine_node_states)};

PHX_RECORD_TABLE(phx_engine_node, PHX_ENGINE_NODE_FIELDS);
PHX_RECORD_TABLE(phx_re, PHX_RE_FIELDS);
PHX_RECORD_TABLE(phx_re_refusal, PHX_RE_REFUSAL_FIELDS);
PHX_RECORD_TABLE(phx_revoked, PHX_REVOKED_FIELDS);
PHX_RECORD_TABLE(phx_trusted_key, PHX_TRUSTED_KEY_FIELDS);
PHX_RECORD_TABLE(phx_site_version, PHX_SITE_VERSION_FIELDS);
PHX_RECORD_TABLE(phx_used_image, PHX_USED_IMAGE_FIELDS);
PHX_RECORD_TABLE(phx_grant, PHX_GRANT_FIELDS);
PHX_RECORD_TABLE(phx_held, PHX_HELD_FIELDS);
PHX_RECORD_TABLE(phx_sharer, PHX_SHARER_FIELDS);

static int ledger_save(const void *live, void *ret_image)
{
	return phx_ledger_save(live, ret_image);
}

static int ledger_restore(const void *image, void **ret_live)
{
	struct phx_ledger *l;
	int r = phx_ledger_restore(image, &l);
	if (r == 0)
		*ret_live = l;
	return r;
}

static void ledger_free(void *live)
{
	phx_ledger_free(live);
}

static const struct phx_live ledger_live = {&phx_ledger_image_record, ledger_save, ledger_restore,
					    ledger_free};

static const char *const jobs_says[] = {"unsaid", "spare", "named", "any"};
const struct phx_enum phx_jobs_say_names = {"word on jobs", jobs_says, PHX_ARRAY_SIZE(jobs_says)};
PHX_RECORD_TABLE(phx_job_ref, PHX_JOB_REF_FIELDS);
static const char *const line_stages[] = {"waits", "away", "done"};
const struct phx_enum phx_line_stage_names = {"stage of a reboot", line_stages,
					      PHX_ARRAY_SIZE(line_stages)};
PHX_RECORD_TABLE(phx_line_node, PHX_LINE_NODE_FIELDS);
PHX_RECORD_TABLE(phx_line, PHX_LINE_FIELDS);

PHX_RECORD_TABLE(phx_state, PHX_STATE_FIELDS);

int phx_state_init(struct phx_state *s)
{
	*s = (struct phx_state){
		.settings = {.missing_after_ms = 6000,
			     .repairs_max = 4,
			     .power_off_quarantined = true,
			     .image_deploy = "deploy",
			     .job_heartbeat_timeout_ms = PHX_JOB_HEARTBEAT_TIMEOUT_MS}};
	struct phx_pool *p = phx_list_push(&s->pools, sizeof(*p));
	return p ? PHX_STR_SET(p->name, PHX_POOL_FREE) : -ENOMEM;
}

void phx_state_fini(struct phx_state *s)
{
	phx_index_drop(s);
	phx_named_free(s->named);
	s->named = NULL;
	phx_crew_drop(s);
	phx_record_fini(&phx_state_record, s);
}
