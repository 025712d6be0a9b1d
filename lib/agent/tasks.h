/* Tasks: small programs of workflows, many side by side, each run as its user. The agent passes
 * orders to the keeper of tasks, a process beside it (task_keeper.h), and the keeper's results to
 * the head. The keeper is started when it is needed, and outlives the agent. */
#ifndef PHX_AGENT_TASKS_H
#define PHX_AGENT_TASKS_H

#include <jansson.h>

#include "agent/config.h"
#include "agent/jobs.h"
#include "agent/loop.h"
#include "agent/outbox.h"

struct tasks_config {
	struct loop *loop;                           /* borrowed */
	struct outbox *outbox;                       /* borrowed */
	const char *state_dir, *cache_dir, *run_dir; /* borrowed during tasks_new() */
	bool may_ask_systemd;                        /* for a scope for the keeper */
	bool private_places;                         /* job_private.h */
};
struct tasks;

/** Takes up the keeper of an earlier agent, or starts one if the log says that there were tasks. If
 * a keeper cannot be started the next order tries again. */
int tasks_new(const struct tasks_config *config, struct tasks **ret, struct phx_err *err);
/** The keeper goes on. Waits for what is under way. Safe on NULL. */
void tasks_free(struct tasks *t);

/** Pass on an order of kind "tasks"; returns when all of it is on the disk, or it is refused. An
 * order that was taken before succeeds at once. -EBUSY: the node has too many tasks; other errors
 * of order_tasks(). -EOPNOTSUPP: `t` is NULL. Called in a worker. */
int tasks_order(struct tasks *t, uint64_t id, const json_t *order, struct phx_err *err);

/** Add ["tasks", ID] of each of the last orders that were taken to the list of what runs here;
 * [..., 0] if there are none. Adds nothing if `t` is NULL (the deploy environment). */
void tasks_running(struct tasks *t, json_t *list);

/** Is there a keeper, and so perhaps a task? A keeper without tasks ends soon. Safe on NULL. */
bool tasks_work(struct tasks *t);

/** End all tasks, which may run again elsewhere, and wait until none runs. 0, -ETIMEDOUT,
 * -ECANCELED: `until` said so. Safe on NULL. */
int tasks_drain(struct tasks *t, const struct jobs_until *until, struct phx_err *err);
/** Wait until there is no keeper: it ends by itself, once the head has all its results. One that
 * died has another take its place first, which tells what it had not told. Ends no task. 0,
 * -ETIMEDOUT at `until->due_ms`, -ECANCELED: `until` said so; -EPIPE: keepers die. Safe on NULL. */
int tasks_await_end(struct tasks *t, const struct jobs_until *until, struct phx_err *err);

#endif
