/* Starts and ends the parts of the agent: see start.h. Called by main(). */
#include "agent/start.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/spawn.h"
#include "inventory/inventory.h"
#include "agent/enrol.h"
#include "agent/link.h"
#include "agent/log.h"
#include "agent/root.h"

enum { POWER_OFF_MS = 30000 };

/* ---- ends of jobs to the head ---- */

static void job_reported(void *arg, uint64_t id, uint32_t run)
{
	struct agent *a = arg;
	jobs_reported(a->jobs, (struct job_run){id, run});
}

static int job_files(void *arg, struct phx_http_client *c, uint64_t id, uint32_t run,
		     struct phx_err *err)
{
	struct agent *a = arg;
	return jobs_bring_back(a->jobs, c, (struct job_run){id, run}, err);
}

static void job_ended(void *arg, const struct job_end *end)
{
	struct agent *a = arg;
	const struct phx_told_job told = {.kind = PHX_TOLD_JOB,
					  .job = end->run.id,
					  .run = end->run.run,
					  .result = end->status,
					  .forced = end->forced,
					  .ended_by = end->ended_by,
					  .cpu_ms = end->cpu_ms,
					  .memory_peak_bytes = end->memory_peak_bytes,
					  .output_cut_bytes = end->output_cut_bytes,
					  .text = (char *)end->text};
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_told_job_record, &told);
	struct result_subject about = {.is_job = true, .id = end->run.id, .run = end->run.run};
	if (!j || outbox_put(a->outbox, about, j, end->output, job_files, job_reported, a) < 0)
		agent_log("job %llu: out of memory for its result",
			  (unsigned long long)end->run.id);
}

/* ---- the power button ---- */

/* Does another program of the system heed the button? Its settings decide then. */
static bool is_heeded(void)
{
	const char *const argv[] = {"systemctl",     "is-active",
				    "--quiet",       "systemd-logind.service",
				    "acpid.service", NULL};
	const struct phx_run run = {.argv = argv, .timeout_ms = POWER_OFF_MS};
	return phx_run_check(&run, NULL, NULL) == 0;
}

static void power_off(void *agent)
{
	const char *const argv[] = {"systemctl", "--no-block", "poweroff", NULL};
	const struct phx_run run = {.argv = argv, .timeout_ms = POWER_OFF_MS};
	struct phx_err err = {0};
	(void)agent;
	if (is_heeded())
		return;
	agent_log("the power button was pressed: the system ends");
	if (phx_run_check(&run, NULL, &err) < 0)
		agent_log("systemd does not end: %s", err.text);
}

static void button_pressed(void *agent)
{
	struct agent *a = agent;
	struct phx_err err = {0};
	if (a->env == PHX_ENV_DEPLOY)
		agent_log("the power button was pressed: the machine switches itself off after the "
			  "step under way");
	int r = a->env == PHX_ENV_OS ? loop_work(a->loop, power_off, a) : root_power_off(a, &err);
	if (r < 0)
		agent_log("the machine is not switched off: %s",
			  err.text[0] ? err.text : strerror(-r));
}

static int listen_to_button(struct agent *a)
{
	const struct power_button_config c = {
		.loop = a->loop, .root = "/", .pressed = button_pressed, .arg = a};
	return a->cfg.whole_machine ? power_button_new(&c, &a->power_button) : 0;
}

/* ---- start and end ---- */

static bool works_here(void *arg, uint32_t uid)
{
	const struct agent *a = arg;
	return jobs_work_for(a->jobs, uid) || tasks_work(a->tasks);
}

static int make_dirs(const struct agent *a, struct phx_err *err)
{
	int r = phx_dir_make(a->cfg.state_dir, 0700, err);
	r = r ? r : phx_dir_make(a->cfg.cache_dir, 0700, err);
	return r ? r : phx_dir_make(a->cfg.run_dir, 0755, err);
}

/* Removes files that a killed agent had only begun to write, from directories where only agents
 * write. */
static int sweep(const struct agent *a)
{
	const char *const dirs[][2] = {{a->cfg.state_dir, ""},
				       {a->cfg.state_dir, "/steps"},
				       {a->cfg.state_dir, "/jobs"},
				       {a->cfg.cache_dir, "-jobs"},
				       {a->cfg.run_dir, "/jobs"}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++) {
		PHX_AUTO_FREE char *dir = phx_path("%s%s", dirs[i][0], dirs[i][1]);
		if (!dir)
			return -ENOMEM;
		phx_file_sweep(dir);
	}
	return 0;
}

static int start_parts(struct agent *a, struct phx_err *err)
{
	struct services_config services = {a->loop, a->cfg.pkg_root, a->cfg.run_dir,
					   a->cfg.supervisor};
	struct jobs_config jobs = {
		.loop = a->loop,
		.state_dir = a->cfg.state_dir,
		.cache_dir = a->cfg.cache_dir,
		.run_dir = a->cfg.run_dir,
		.hosts_file = a->cfg.hosts_file,
		.may_ask_systemd = a->cfg.whole_machine && a->cfg.job_scopes,
		.private_places = agent_config_private(&a->cfg),
		.root = a->cfg.root,
		.scratch_dir = a->cfg.scratch_dir,
		.ended = job_ended,
		.arg = a,
		.client = agent_client,
	};
	struct tasks_config tasks = {
		.loop = a->loop,
		.state_dir = a->cfg.state_dir,
		.cache_dir = a->cfg.cache_dir,
		.run_dir = a->cfg.run_dir,
		.may_ask_systemd = a->cfg.whole_machine && a->cfg.job_scopes,
		.private_places = agent_config_private(&a->cfg),
	};
	struct site_config site = {.loop = a->loop,
				   .cfg = &a->cfg,
				   .client = agent_client,
				   .arg = a,
				   .boot = a->boot_id};
	int r = step_log_open(&a->step_log, a->cfg.state_dir, err);
	r = r ? r : services_new(&services, &a->services, err);
	r = r ? r : web_new(a->loop, a->cfg.whole_machine, &a->web);
	r = r ? r : health_new(a->loop, a->cfg.pkg_root, &a->health, err);
	r = r ? r : outbox_new(a->loop, agent_client, a, &a->outbox, err);
	r = r ? r : logs_new(a->loop, a->services, &a->cfg, agent_client, a, &a->logs);
	r = r ? r : jobs_new(&jobs, &a->jobs, err);
	tasks.outbox = a->outbox;
	if (r == 0 && a->env == PHX_ENV_OS)
		r = tasks_new(&tasks, &a->tasks, err);
	if (r == 0 && a->env == PHX_ENV_OS)
		r = accounts_new(a->loop, &a->cfg, works_here, a, &a->accounts, err);
	site.accounts = a->accounts;
	if (r == 0 && a->env == PHX_ENV_OS)
		r = site_new(&site, &a->site, err);
	if (r == 0 && a->env == PHX_ENV_OS)
		r = ahead_new(a->loop, &a->cfg, a->services, &a->ahead, err);
	if (r == 0 && a->env == PHX_ENV_OS)
		r = prefetch_new(a->loop, &a->cfg, a->ahead, agent_client, a, &a->prefetch, err);
	r = r ? r : neighbors_new(a->loop, &a->neighbors);
	r = r ? r : listen_to_button(a);
	r = r ? r : worker_new(a, &a->worker, err);
	r = r ? r : loop_work(a->loop, link_run, a);
	return r < 0 ? phx_err_set(err, r, "start: %s", strerror(-r)) : 0;
}

static int prepare(struct agent *a, struct phx_err *err)
{
	a->env = a->cfg.deploy ? PHX_ENV_DEPLOY : PHX_ENV_OS;
	int r = loop_new(&a->loop, err);
	r = r ? r : make_dirs(a, err);
	r = r ? r : sweep(a);
	if (r == 0 && a->cfg.boot_id[0])
		r = PHX_STR_SET(a->boot_id, a->cfg.boot_id);
	else if (r == 0)
		r = phx_boot_id_read(a->cfg.fact_root, a->boot_id, err);
	if (r == 0 && a->cfg.deploy) {
		/* without the state on disk the node can still be enrolled anew and erased */
		struct phx_err why = {0};
		/* the old key is not adopted if the start has a token, which is for a new key, or
		 * if a new key was made already */
		bool with_key = !a->cfg.start[0] && !enrol_has_key(a);
		if (root_adopt(a, with_key, &why) < 0)
			agent_log("%s", why.text);
	}
	return r;
}

int agent_start(struct agent *a, struct phx_err *err)
{
	int r = prepare(a, err);
	return r ? r : start_parts(a, err);
}

/* Ends the step under way, starts no job any more, stops services of our own backend. The other
 * workers keep their state in files and end with the process, so that a call which the head holds
 * back does not delay the end. */
void agent_finish(struct agent *a)
{
	atomic_store(&a->stop, true);
	if (!a->loop)
		return;
	loop_news(a->loop);
	if (a->worker)
		worker_end(a->worker);
	if (a->jobs)
		jobs_close(a->jobs);
	if (a->services)
		services_end(a->services);
}
