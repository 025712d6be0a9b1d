/* What the files of the fault simulation do for each other, from the bottom floor to the top: none
 * calls a file further down this page. Nobody else includes this. */
#ifndef PHX_FAULT_PARTS_H
#define PHX_FAULT_PARTS_H

#include "fault/world.h"

/* world.c */
/** Something will happen `in_ms` from now. */
void phx_fault_later(struct fault_sim *f, int64_t in_ms, enum fault_what what, uint32_t m,
		     uint32_t gen, uint64_t a);
/** An invariant does not hold: kept with its name, the first one counts; the run ends. */
void phx_fault_violated(struct fault_sim *f, const char *invariant, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** A line of the event list; m < 0: of no machine. */
void phx_fault_note(struct fault_sim *f, int m, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void phx_fault_mix(struct fault_sim *f, uint64_t x);
int64_t phx_fault_between(struct fault_sim *f, int64_t low, int64_t high);
bool phx_fault_chance(struct fault_sim *f, uint32_t per_mille);
bool phx_fault_on(const struct fault_machine *m);
int phx_fault_env(const struct fault_machine *m);
struct phx_node *phx_fault_node(const struct fault_sim *f, const struct fault_machine *m);
struct fault_machine *phx_fault_any(struct fault_sim *f);
int64_t phx_fault_core_now(const struct fault_sim *f);

/* site.c: the site */
extern const char *const phx_fault_pool_names[FAULT_POOLS];
extern const char *const phx_fault_pool_owners[FAULT_POOLS];
extern const char *const phx_fault_role_names[FAULT_ROLES];
extern const struct fault_re phx_fault_res[FAULT_RES];
/** Index of a pool or role by name, -1 for "" and strangers. */
int phx_fault_pool_index(const char *name);
int phx_fault_role_index(const char *name);
const char *phx_fault_re_name(int re);
/** The lower bound of its nodes. */
uint32_t phx_fault_re_lower(const struct fault_sim *f, int re);
void phx_fault_role_event(const struct fault_sim *f, int role, struct phx_event *ret);
/** The machine of a node name; NULL for strangers. */
struct fault_machine *phx_fault_machine(struct fault_sim *f, const char *node);
/** Does a tenant hide one of the disks, or pass it off as removable? */
bool phx_fault_hides(const struct fault_machine *m);
/** Is there a system on one disk, so that none is installed on another? A disk that was hidden
 * comes back with it, and nobody who resumes the node has it erased. */
bool phx_fault_system_beside(const struct fault_machine *m);
void phx_fault_facts(const struct fault_machine *m, struct phx_facts *ret);

/* agent_files.c: what an agent has written down */
/** What the agent has written down, where it lies now. */
struct fault_memory *phx_fault_memory(struct fault_machine *m);
/** The step log that lies there. */
struct fault_step_log {
	struct fault_memory *memory;
	int fails; /* 0, or the negative errno of all that is written */
};
struct step_book phx_fault_step_book(struct fault_step_log *l);
/** What is written of step `id`; NULL: it did not end here, or long ago. */
const struct fault_done *phx_fault_find_done(const struct fault_memory *mem, uint64_t id);
/** The step log goes along into another system. */
void phx_fault_copy_steps(struct fault_memory *from, struct fault_memory *to);
/** The records of jobs that lie there. */
struct fault_job_log {
	struct fault_machine *m;
	int fails; /* as above */
};
struct job_book phx_fault_job_book(struct fault_job_log *l);
/** What is written of a job; NULL: nothing. */
struct fault_run *phx_fault_find_run(struct fault_memory *mem, uint64_t job);
/** How the run ended, as far as is written. */
int64_t phx_fault_run_status(const struct fault_run *r);
/** Does a part of the run go on, or is its end on the way to the head? */
bool phx_fault_tracks(const struct fault_machine *m, struct job_run run);

/* drivers.c: the head's actions */
void phx_fault_act(struct fault_sim *f, const struct phx_action *act);
/** The head died: what it had under way at BMCs and keys ends where it is. */
void phx_fault_drivers_drop(struct fault_sim *f);
/** The next operation that waits for the machine's BMC takes its turn. */
void phx_fault_next_op(struct fault_sim *f, struct fault_machine *m);
/** A disk key in the head's store; NULL: it is not there. */
struct fault_key *phx_fault_find_key(const struct fault_sim *f, const char *id);

/* line.c: lines between agents and head, and results on their way */
bool phx_fault_path(const struct fault_sim *f, const struct fault_machine *m);
void phx_fault_link(struct fault_sim *f, struct fault_machine *m);
/** The agent has news of its role: its next beat tells. */
void phx_fault_tells(struct fault_sim *f, struct fault_machine *m);
void phx_fault_cut(struct fault_sim *f, struct fault_machine *m, int64_t for_ms);
void phx_fault_send_result(struct fault_sim *f, struct fault_machine *m,
			   const struct fault_done *d);
void phx_fault_send_job(struct fault_sim *f, struct fault_machine *m, struct job_run run,
			int64_t status);
/** The agent did not start the run, and says so. */
void phx_fault_refuse_job(struct fault_sim *f, struct fault_machine *m, struct job_run run);
/** Rows of tasks, which are taken; `number` of the keeper that began for the `start`-th time. */
void phx_fault_send_rows(struct fault_sim *f, struct fault_machine *m, uint32_t start,
			 struct phx_list *rows);
/** The agent begins to send, if there is something and it may. */
void phx_fault_begin_sending(struct fault_sim *f, struct fault_machine *m);
/** The first of its results was answered for good. */
void phx_fault_drop_result(struct fault_machine *m);
/** The agent is gone, and with it what it had not told. */
void phx_fault_lose_results(struct fault_machine *m);
/** The network copies what was answered, and gives it out when it likes. */
void phx_fault_copy_by_chance(struct fault_sim *f, const struct fault_machine *m,
			      const struct fault_message *msg);
void phx_fault_copy_fini(struct fault_copy *c);

/* fake_slurm.c: a fake of Slurm; nothing of it happens without that option */
void phx_fault_engine_begin(struct fault_sim *f);
void phx_fault_engine_submit(struct fault_sim *f, uint32_t nodes);
void phx_fault_engine_head_died(struct fault_sim *f);
/** It answers, and its jobs are cancelled. */
void phx_fault_engine_calm(struct fault_sim *f);
/** An agent begins a step: no node is taken from under a job of the engine, or one that may
 * start. */
void phx_fault_engine_taken(struct fault_sim *f, const struct fault_machine *m,
			    const struct fault_task *t);
/** An agent is told to start a part of a job of ours: not where that engine starts jobs. */
void phx_fault_engine_started(struct fault_sim *f, const struct fault_machine *m);
void phx_fault_engine_check_rest(struct fault_sim *f);
extern const char *const phx_fault_engine_re_name;
/** Its RE, while it is attached; NULL otherwise. */
const struct phx_re *phx_fault_engine_re(const struct fault_sim *f);
bool phx_fault_engine_answers(struct fault_sim *f);
/** Processes of the job live. */
bool phx_fault_engine_runs(const struct fault_engine_job *j);
/** It does what the head orders. */
void phx_fault_engine_obey(struct fault_sim *f, const struct phx_engine_order *o);
/** It lives on for a while. */
void phx_fault_engine_live(struct fault_sim *f);
/** The next phase of who asks it, or of itself. */
void phx_fault_engine_again(struct fault_sim *f, int64_t low_ms, int64_t high_ms,
			    enum fault_phase phase);

/* check_re.c: what must hold of runtime environments */
/** A reclaim never takes a coordinated pair below the sum of its lower bounds. */
void phx_fault_re_check(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n);
/** A deactivation ends no job of an RE that keeps them. */
void phx_fault_re_check_kept(struct fault_sim *f, const struct phx_event *ev);
/** A node that is away for less than its RE waits stays with it, unless it was `ordered` away. */
void phx_fault_re_check_away(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
			     bool ordered);
/** What is known of that without having seen it. */
void phx_fault_re_adopt(struct fault_machine *m, const struct phx_node *n);
/** The plan is a move that the ledger of the REs wanted. */
bool phx_fault_re_moves(const struct phx_node *n);

/* check_flows.c: what must hold of workflows */
/** The machine really begins a task, which is in the book of its keeper as one that runs. */
void phx_fault_flow_begins(struct fault_sim *f, const struct fault_machine *m,
			   const struct task_key *key);
/** Its keeper has taken the order, of which nothing begins yet. */
void phx_fault_flow_taken(struct fault_sim *f, const struct fault_machine *m,
			  const struct phx_task_order *o);
/** It really ended so. */
void phx_fault_flow_ended(struct fault_sim *f, const struct phx_task_result *row);
/** An agent was told that the head has these rows. */
void phx_fault_flow_acked(struct fault_sim *f, const struct phx_list *rows);
/** After an event. */
void phx_fault_flows_check(struct fault_sim *f);
/** The head has gone back to its store. */
void phx_fault_flows_reset(struct fault_sim *f);
/** A sum of what agents have told of all tasks, as far as it counted. */
uint64_t phx_fault_flows_told(const struct fault_sim *f);
/** Is one not over? */
bool phx_fault_flows_open(const struct fault_sim *f);
void phx_fault_flows_check_rest(struct fault_sim *f);
void phx_fault_flows_fini(struct fault_sim *f);

/* check.c: the observer */
/** A pool's owner as a bit. */
uint16_t phx_fault_owner_bit(int pool);
void phx_fault_check_before(struct fault_sim *f, const struct phx_event *ev,
			    struct fault_before *ret);
void phx_fault_check_after(struct fault_sim *f, const struct phx_event *ev, int r,
			   const struct phx_outcome *out, const struct fault_before *b);
/** The head has gone back to its store: what was seen of nodes since is forgotten. */
void phx_fault_check_reset(struct fault_sim *f);
/** Everything, of every node. */
void phx_fault_check_all(struct fault_sim *f);
/** A fault that explains a quarantine of this machine; m NULL: of all. */
void phx_fault_cause(struct fault_sim *f, struct fault_machine *m);

/* check_agent.c: the observer of agents */
/** An agent is given an order. */
void phx_fault_check_ordered(struct fault_machine *m, const struct fault_task *t);
/** An agent begins a step. */
void phx_fault_check_begins(struct fault_sim *f, struct fault_machine *m,
			    const struct fault_task *t);
/** An agent starts a part of a job. */
void phx_fault_check_starts(struct fault_sim *f, const struct fault_machine *m,
			    const struct job_order *o);
/** A tenant of that pool is root on the machine: he may copy its key. */
void phx_fault_check_copied(struct fault_machine *m, int pool);
/** The head is told that a step is done: by then the agent has that in its step log, or it could do
 * the step again. */
void phx_fault_check_told(struct fault_sim *f, struct fault_machine *m, const struct fault_done *d);
/** An agent has done a step, and written that down. */
void phx_fault_check_done(struct fault_machine *m, const struct fault_task *t);

/* machine.c: power, firmware, environments */
/** 0, or the error of all that the agent writes now: its disk is full for once. */
int phx_fault_unwritten(struct fault_sim *f, struct fault_machine *m);
void phx_fault_power_on(struct fault_sim *f, struct fault_machine *m);
void phx_fault_power_off(struct fault_sim *f, struct fault_machine *m);
void phx_fault_reset(struct fault_sim *f, struct fault_machine *m);
void phx_fault_stage(struct fault_sim *f, struct fault_machine *m);
/** Into the installed system (disk >= 0) or the one in memory (-1). */
void phx_fault_enter(struct fault_sim *f, struct fault_machine *m, int disk);
/** kexec: the deploy environment without firmware, with the token of that start, under the kernel
 * of the order. */
void phx_fault_kexec(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t);
/** What the machine of `node` is to be started with now. */
struct fault_kernel phx_fault_kernel(const struct fault_sim *f, const struct phx_node *n);
/** Takes the key on its disk; false when there is none with a certificate. */
bool phx_fault_adopt_key(struct fault_machine *m);
/** A restart that is over before anybody has noticed a silence. */
void phx_fault_quick_start(struct fault_sim *f, struct fault_machine *m);
/** The disk an installed system can be entered from now, -1 none. */
int phx_fault_installed(const struct fault_sim *f, const struct fault_machine *m);

/* head.c */
/** phx_journal_submit(), observed. -ENOTCONN the head is down, or died before it could answer;
 * -EROFS the journal refuses. ret may be NULL; else the caller frees it. */
int phx_fault_submit(struct fault_sim *f, struct phx_event *ev, struct phx_outcome *ret);
/** phx_journal_submit_each(), observed; the head must be up. */
void phx_fault_submit_each(struct fault_sim *f, struct phx_event *ev, struct phx_each *each,
			   uint32_t n);
void phx_fault_head_crash(struct fault_sim *f, int64_t down_ms);
void phx_fault_head_up(struct fault_sim *f);
void phx_fault_head_tick(struct fault_sim *f, uint32_t gen);
void phx_fault_head_plan_tick(struct fault_sim *f);
void phx_fault_head_fini(struct fault_sim *f);
/** A process begins on the store. */
int phx_fault_head_open(struct fault_sim *f);

/* machine_keys.c */
/** The agent asks for a certificate for its key of that number, with the token that it has. */
int phx_fault_ask_certificate(struct fault_sim *f, struct fault_machine *m, uint32_t key,
			      struct phx_outcome *ret);
/** Does the head take the key that the agent has? */
bool phx_fault_key_holds(const struct fault_sim *f, const struct fault_machine *m);
/** Its key is dead, and a step had made another one, whose certificate was lost: true when it has
 * that now. */
bool phx_fault_take_up(struct fault_sim *f, struct fault_machine *m);
/** The agent makes a key in its present step, and asks for its certificate. 0: it is the machine's
 * key now; -EPERM, -ESTALE: refused; others: to be asked again. */
int phx_fault_rekey(struct fault_sim *f, struct fault_machine *m);

/* owner.c */
/** Does the machine's owner keep its agent from taking the role off? Then that step has failed. */
bool phx_fault_refuses(struct fault_sim *f, struct fault_machine *m, struct fault_done *done);

/* agent_jobs.c: parts of jobs */
/** An order to run a part of a job, or to end it. */
void phx_fault_take_job(struct fault_sim *f, struct fault_machine *m, const struct job_order *o);
/** The head has the end of the run. */
void phx_fault_job_reported(struct fault_sim *f, struct fault_machine *m, struct job_run run);
void phx_fault_job_end(struct fault_sim *f, struct fault_machine *m, uint64_t job);
/** The node is drained: its parts end. */
void phx_fault_jobs_drain(struct fault_sim *f, struct fault_machine *m);

/* agent.c */
void phx_fault_take_order(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t);
void phx_fault_step_end(struct fault_sim *f, struct fault_machine *m);
/** What the running system has as its role: index or -1; version and run are set. */
int phx_fault_role_of(const struct fault_machine *m, uint32_t *ret_version, bool *ret_run);
void phx_fault_identity(const struct fault_sim *f, const struct fault_machine *m, char *ret,
			size_t size);
/** The tenant of the pool that the node is in writes on the machine's disks. */
void phx_fault_tenant_writes(struct fault_sim *f, struct fault_machine *m);

/* driver_results.c: what BMCs and the store of keys come to */
void phx_fault_power(struct fault_sim *f, struct fault_machine *m, uint32_t gen);
void phx_fault_key_done(struct fault_sim *f, uint64_t slot);

/* keeper.c: tasks on machines */
/** The agent is there: another keeper begins, if there is none. */
void phx_fault_keeper_starts(struct fault_sim *f, struct fault_machine *m);
/** It dies, and all tasks with it. */
void phx_fault_keeper_dies(struct fault_sim *f, struct fault_machine *m);
/** The node is drained: its tasks end. */
void phx_fault_keeper_drains(struct fault_sim *f, struct fault_machine *m);
/** The head's orders of tasks reach the agent. */
void phx_fault_task_orders(struct fault_sim *f, struct fault_machine *m);
void phx_fault_task_order_late(struct fault_sim *f, struct fault_machine *m, uint64_t slot);
void phx_fault_task_end(struct fault_sim *f, struct fault_machine *m, uint64_t number);
void phx_fault_task_sync(struct fault_sim *f, struct fault_machine *m, uint32_t start);
void phx_fault_task_timeout(struct fault_sim *f, struct fault_machine *m, uint32_t n_unheard);
/** The head has these rows of the keeper that began for the `start`-th time, or refused them for
 * good. */
void phx_fault_task_rows_said(struct fault_sim *f, struct fault_machine *m, uint32_t start,
			      const struct phx_list *rows);
void phx_fault_keepers_fini(struct fault_sim *f);

/* net.c: what agents and head say to each other */
void phx_fault_enrol(struct fault_sim *f, struct fault_machine *m);
void phx_fault_hello(struct fault_sim *f, struct fault_machine *m);
void phx_fault_beat(struct fault_sim *f, struct fault_machine *m);
void phx_fault_silence(struct fault_sim *f, struct fault_machine *m);
void phx_fault_orders(struct fault_sim *f, struct fault_machine *m);
/** The agent sends the first of its results; `due`: after it waited to try again. */
void phx_fault_send(struct fault_sim *f, struct fault_machine *m, bool due);
/** A copy arrives. */
void phx_fault_copy(struct fault_sim *f, uint64_t slot);
void phx_fault_late(struct fault_sim *f, struct fault_machine *m, uint64_t slot);

/* slurm_worker.c: who asks the engine */
void phx_fault_engine(struct fault_sim *f, uint32_t gen, uint64_t phase);

/* re.c: lives of runtime environments */
void phx_fault_re_live(struct fault_sim *f);
/** The RE with workflows is made, and activated. */
void phx_fault_re_of_flows(struct fault_sim *f);
void phx_fault_re_job(struct fault_sim *f);
void phx_fault_re_use(struct fault_sim *f);

/* flows.c: workflows, and what people do with them */
void phx_fault_flow_submit(struct fault_sim *f);
void phx_fault_flow_order(struct fault_sim *f);
void phx_fault_flow_timeout(struct fault_sim *f);
/** What was held goes on, and the RE has nodes. */
void phx_fault_flows_go_on(struct fault_sim *f);

/* load.c */
struct fault_load {
	const char *name;
	int64_t every_ms; /* mean, for 64 nodes */
	/* only with runtime environments; with workflows */
	bool of_res, of_flows;
	void (*act)(struct fault_sim *f);
};
extern const struct fault_load phx_fault_loads[];
extern const uint32_t phx_fault_n_loads;
/** One order of an administrator; pool and setup may be NULL. */
int phx_fault_order(struct fault_sim *f, int kind, const struct fault_machine *m, const char *role,
		    const char *pool, const struct phx_setup *setup);
/** Strangers are let in, and their BMCs made known. */
void phx_fault_accept_all(struct fault_sim *f);
/** Somebody goes there and presses the button. */
void phx_fault_by_hand(struct fault_sim *f, struct fault_machine *m);
/** Somebody orders a power operation, and presses the button when that is refused. */
void phx_fault_power_by_hand(struct fault_sim *f, struct fault_machine *m, enum phx_power_op op);
/** The machine asks without its key, and nobody ordered its start: somebody does. */
void phx_fault_let_in(struct fault_sim *f, struct fault_machine *m);

/* inject.c */
extern void (*const phx_fault_injections[])(struct fault_sim *f);

/* equip.c */
int phx_fault_equip(struct fault_sim *f);

/* last_phase.c: how it ends */
bool phx_fault_at_rest(struct fault_sim *f);
/** Says what is under way after the time in which everything must end. */
void phx_fault_rest_or_fail(struct fault_sim *f);
void phx_fault_calm(struct fault_sim *f);
void phx_fault_bring_back(struct fault_sim *f);
void phx_fault_check_rest(struct fault_sim *f);
/** What is quarantined has a reason, and is off when it was not cleaned. */
void phx_fault_check_quarantined(struct fault_sim *f);

#endif
