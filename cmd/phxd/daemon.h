/* What the files of phxd share: the one place that knows core and drivers. */
#ifndef PHXD_DAEMON_H
#define PHXD_DAEMON_H

#include <limits.h>

#include "config/config.h"
#include "state/members.h"
#include "base/json.h"
#include "deploy/deploy.h"
#include "http/http.h"
#include "phxd/asks.h"
#include "phxd/beat.h"
#include "phxd/engine.h"
#include "phxd/flows.h"
#include "phxd/keys.h"
#include "phxd/launch.h"
#include "phxd/people.h"
#include "phxd/portal.h"
#include "phxd/triggers.h"
#include "power/hands.h"
#include "types/rights.h"
#include "vault/vault.h"

struct hands;     /* hands.c: the process that talks to BMCs and runs programs */
struct wake;      /* wake.c: when the loop turns next */
struct live;      /* live.c: liveness and long polls */
struct exec;      /* exec.c: actions to drivers */
struct waits;     /* waits.c: clients that wait for events */
struct holds;     /* holds.c: clients that wait for an end */
struct reads;     /* reads.c: requests that read much */
struct timeline;  /* timeline.c: what was, for pictures */
struct anchors;   /* anchors.c: how far the journal is, for others to keep */
struct accounts;  /* accounts.c: who has an account on which nodes */
struct quota;     /* quota.c: what people have journalled */
struct seldom;    /* seldom.c: what is journalled of somebody once a minute */
struct refused;   /* refused.c: whom the listeners refused */
struct slurm;     /* slurm.c: REs whose jobs Slurm starts */
struct directors; /* directors.c: use of web instances, tables of directors */

enum { JOB_OUTPUT_MAX_MB = 64 }; /* of one job on one node; no option */

struct daemon {
	struct phx_config cfg;
	const char *config_path;
	int64_t started_ms;
	struct launch *launch;
	struct keys *keys;
	struct hands *hands;
	/* what is served with; issues nothing. keys.c keeps those before it */
	struct phx_pki *_Atomic pki;
	struct engine *engine;
	struct wake *wake;
	struct live *live;
	struct exec *exec;
	struct waits *waits;
	struct holds *holds;
	struct reads *reads;
	struct phx_list hosts; /* hosts.c */
	struct quota *quota;
	struct anchors *anchors;
	struct timeline *timeline;
	struct accounts *accounts;
	struct seldom *seldom;
	struct refused *refused;
	struct directors *directors;
	struct flows *flows;
	struct tasks *tasks;
	struct asks *asks;
	struct hooks *hooks;
	struct watches *watches;
	struct slurm *slurm;
	struct portal *portal;
	struct feed *feed;
	struct phx_http_sessions *sessions;
	struct passwords *passwords; /* passwords.c; NULL: portal_pam is off */
	struct phx_http_server *http;
	/* grows whenever somebody got or lost a right: who is held is looked at again */
	_Atomic unsigned rights;
	engine_act_fn act; /* what the engine calls */
	engine_commit_fn committed;
	/* what the catalogue's files had wrong when they were read last: texts; under the engine's
	 * lock */
	json_t *mistakes;
};

/* ---- wake.c: when the loop turns next ---- */

#define WAKE_NEVER INT_MAX /* as a number of milliseconds */

int wake_new(struct wake **ret);
/** Safe on NULL. */
void wake_free(struct wake *w);
/** Readable when the loop is to turn. Borrowed. */
int wake_fd(const struct wake *w);
/** The loop turns in `ms` (WAKE_NEVER: nothing is asked for), or before. On any thread, whatever it
 * has locked. */
void wake_in(struct wake *w, int ms);
/** The loop turns: what was asked for until now is met by it. Returns for when that was, of the
 * monotonic clock. */
int64_t wake_begin(struct wake *w);

/* ---- orders.c ---- */

/** Append the orders of `node` that its agent does not run yet (`running`: struct beat_running),
 * and questions to it, to a list that is being written; nothing where `key_fp`, of who asked, is
 * not the node's present key. */
void orders_put(struct daemon *d, const char *node, const char *key_fp,
		const struct phx_list *running, struct phx_buf *b);

/* ---- live.c ---- */

/** Appends what the agent of a node is to be told that has that key and does not run `running`
 * (struct beat_running) yet. */
typedef void (*live_orders_fn)(struct daemon *d, const char *node, const char *key_fp,
			       const struct phx_list *running, struct phx_buf *b);

int live_new(struct daemon *d, live_orders_fn orders, struct live **ret);
/** Answers all long polls; from then on none is held. Safe on NULL and twice. */
void live_stop(struct live *l);
/** After live_stop() and when nobody asks any more. Safe on NULL. */
void live_free(struct live *l);
/** If the core knows no node `node`: its contact goes, and a poll that its agent still holds is
 * answered. */
void live_forget_gone(struct live *l, const char *node);
/** A node was heard: returns true when the core must hear of it (it had been missing, or is new
 * here). */
bool live_heard(struct live *l, const char *node);
/** What a node last measured: new, or NULL. Not under the engine's lock: a node says how long
 * reading it takes. */
json_t *live_monitor(struct live *l, const char *node);
/** The same as text, or "null", appended. Also under the engine's lock. */
void live_put_monitor(struct live *l, const char *node, struct phx_buf *b);
/** Who is logged in, as the node told it: a list, new; NULL: it tells nobody, or nothing. */
json_t *live_sessions(struct live *l, const char *node);
/** The use of a web RE that it measured, in ppm; -1 none, `ret_error` may say why. Also under the
 * engine's lock. */
int64_t live_use(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX]);
/** What a beat says that was not known. */
struct live_news {
	bool back;   /* as live_heard() */
	bool report; /* another role, identity or health than was told last: may be told */
	bool look;   /* its orders may be others by now: live_hold() looks */
};
/** A node beats: takes the texts of what it measures, and remembers what it reports. */
struct live_news live_beat(struct live *l, const char *node, struct beat *b);
/** May this node have so many bytes journalled? False while it tells more than is kept of one node:
 * ask again later. */
bool live_may_tell(struct live *l, const char *node, size_t bytes);
/** What is known of a node did not reach the core, or is of before: its next beat is told whole. */
void live_untold(struct live *l, const char *node);
/** Hold `q` until there is an order for the node not in `running` (struct beat_running; taken), or
 * wait_ms passed. `look`: answers at once if there is one. */
void live_hold(struct live *l, const char *node, struct phx_http_request *q,
	       struct phx_list *running, bool look, int64_t wait_ms);
/** Orders of `node` may have changed. */
void live_wake(struct live *l, const char *node);
/** A node is there again: the next tick tells it. */
void live_back(struct live *l, const char *node);
/** Time passes: answers overdue polls, tells the core who is silent and who is there again, many in
 * one transaction. The loop wanted to call this at `due_ms`: where it is late, that is no node's
 * silence. Returns ms until it wants to be called again, or WAKE_NEVER. */
int live_tick(struct live *l, int64_t due_ms);

/* ---- tell.c ---- */

/** One more name in a list of struct phx_word: 0 or -ENOMEM. */
int tell_put_name(struct phx_list *to, const char *node);
/** Names of the nodes that the core believes up. */
void tell_up_nodes(struct daemon *d, struct phx_list *ret_names);
/** An event of `kind` for each of the named nodes, many in one transaction. Only those that could
 * not be journalled stay in the list. */
void tell_nodes(struct daemon *d, int kind, struct phx_list *names);

/* ---- exec.c ---- */

int exec_new(struct daemon *d, struct exec **ret, struct phx_err *err);
void exec_free(struct exec *x);
/** Carry out an action (engine_act_fn's body); returns at once. -ENOMEM: it is not queued, and
 * nothing of it is done. */
int exec_action(struct exec *x, const struct phx_action *act);

/* ---- reads.c ---- */

int reads_new(struct daemon *d, struct reads **ret);
/** Carries out `handler` on a thread that does nothing else, administrators' apart from others':
 * suspends q. 429 where this identity has enough of them under way. */
void reads_take(struct reads *r, struct phx_http_request *q, phx_http_handler handler);
/** The next events about `name`, a node or an RE ("": all events): by index where the journal knows
 * whom they are about; of a time before that also events about others. As
 * phx_store_reader_events(). */
int reads_page(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *name,
	       phx_store_event_fn fn, void *arg, struct phx_err *err);
/** Who reads much rests as long as he has worked since `since_us` (phx_clock_us(); a millisecond at
 * least, a tenth of a second at most), without a lock: agents and others get theirs. */
void reads_breathe(int64_t since_us);
/** Answers what is still to be read with an error; from then on everything. Safe on NULL and
 * twice. */
void reads_stop(struct reads *r);
/** After reads_stop() and when nobody asks any more. Safe on NULL. */
void reads_free(struct reads *r);

/* ---- quota.c ---- */

int quota_new(struct daemon *d, struct quota **ret);
/** When nobody asks any more. Safe on NULL. */
void quota_free(struct quota *u);
/** May its sender have this request journalled? Counts it. False after answering 429. */
bool quota_may_write(struct quota *u, struct phx_http_request *q);

/* ---- seldom.c ---- */

/** What somebody did, for people. */
struct seldom_fact {
	const char *who;  /* as of person_name() */
	const char *kind; /* what counts as the same */
	const char *re;   /* whose owner is told, too; NULL: none */
	const char *text;
};

int seldom_new(struct daemon *d, struct seldom **ret);
/** When nobody asks any more. Safe on NULL. */
void seldom_free(struct seldom *s);
/** Journal it, of one identity and kind at most once a minute: then with how often it was. */
void seldom_tell(struct seldom *s, const struct seldom_fact *f);

/* ---- anchors.c ---- */

int anchors_new(struct daemon *d, struct anchors **ret);
/** Makes a last one, if there is news. Safe on NULL. */
void anchors_free(struct anchors *a);
/** Events are journalled, the last is `seq`. Returns at once. */
void anchors_committed(struct anchors *a, uint64_t seq);
/** The last one as an order, for an agent that keeps them and has another (`running`: struct
 * beat_running). */
void anchors_orders_put(struct anchors *a, const struct phx_list *running, struct phx_buf *b);

/* ---- waits.c ---- */

int waits_new(struct daemon *d, struct waits **ret, struct phx_err *err);
/** Answers all who wait; from then on nobody is held. Safe on NULL and twice. */
void waits_stop(struct waits *w);
/** After waits_stop() and when nobody asks any more. Safe on NULL. */
void waits_free(struct waits *w);
/** Answer `q` with events after `after`, now or when one is there or `wait_ms` passed; on another
 * thread. */
void waits_hold(struct waits *w, struct phx_http_request *q, uint64_t after, uint32_t limit,
		const char *node, int64_t wait_ms);
/** The journal has grown to event `seq`: returns at once. */
void waits_wake(struct waits *w, uint64_t seq);

/* ---- holds.c ---- */

enum { HOLD_MAX_S = 60 };

/** Is it so by now? Of `q` the path and the query are asked. */
typedef bool (*holds_reached_fn)(const struct phx_state *s, const struct phx_http_request *q);
/** What is waited for. */
struct holds_wish {
	holds_reached_fn reached;
	phx_http_handler answer;
	enum phx_right right; /* without which nothing is answered any more */
};

int holds_new(struct daemon *d, struct holds **ret);
/** Answers all who wait; from then on nobody is held. Safe on NULL and twice. */
void holds_stop(struct holds *h);
/** After holds_stop() and when nobody asks any more. Safe on NULL. */
void holds_free(struct holds *h);
/** Have `wish->answer` answer `q`, whose sender may know what he asks for, once it is reached or
 * after `wait_ms`; on another thread. Who loses the right meanwhile, or a part of it, is answered
 * at once, as he is then. */
void holds_take(struct holds *h, struct phx_http_request *q, const struct holds_wish *wish,
		int64_t wait_ms);
/** The state has changed: returns at once. */
void holds_wake(struct holds *h);

/* ---- directors.c ---- */

int directors_new(struct daemon *d, struct directors **ret);
/** When nobody asks any more. Safe on NULL. */
void directors_free(struct directors *b);
/** What a node last measured: the use of its instance (member `web_use_ppm`, if it has one) is
 * counted for its web RE. */
void directors_sample(struct directors *b, const char *node, const struct beat *beat);
/** What a director tells with its beat: the table in force (in `running`) and what its kernel has
 * (member `balancer` of the monitor). Steps that wait for it go on with the next tick. Of others:
 * nothing. */
void directors_heard(struct directors *b, const char *node, const struct beat *beat);
/** Time passes: directors are woken when the wanted table is another one; once a heartbeat the mean
 * use over the instances of each web RE goes to the core. Returns ms until it wants to be called
 * again, or WAKE_NEVER. */
int directors_tick(struct directors *b);

/* ---- slurm.c ---- */

int slurm_new(struct daemon *d, struct slurm **ret);
/** Waits for the commands that are running. Safe on NULL. */
void slurm_free(struct slurm *s);
/** Something happened: each RE with Slurm as its engine is looked after. Returns ms until it wants
 * to be called again, or WAKE_NEVER. */
int slurm_tick(struct slurm *s);

/* ---- seal.c ---- */

/** Member "seal" of a result: whether the erase that `ev` says is done was signed, by whom and from
 * which deploy image, goes into `ev`. False after answering 400. */
bool seal_take(struct daemon *d, struct phx_http_request *q, const json_t *j, struct phx_event *ev);

/* ---- catalog.c ---- */

/** Read pools, settings, roles and rules into the core, as `by` asked for. `errors` (json array,
 * may be NULL) gets what was refused, `warnings` (the same) what was taken and may surprise: roles
 * whose image brings another kernel than the one that runs. Returns 0 or the first hard failure. */
int catalog_load(struct daemon *d, const char *by, json_t *errors, json_t *warnings,
		 struct phx_err *err);
/** site.cpio anew: the CAs are others. */
int catalog_site_files(struct daemon *d, struct phx_err *err);
/** What it told in `errors` last, as long as that is not mended. New reference. */
json_t *catalog_mistakes(struct daemon *d);
/** -ENOENT: there is no role of this name; with what is wrong with its file, if that was not
 * taken. */
int catalog_no_role(struct daemon *d, const char *name, struct phx_err *err);
/** Remove what a phx that was killed has left in the stores of images and packages. At the
 * start. */
void catalog_sweep(const struct phx_config *cfg);
/** An image of the head that may be used: version NULL is the newest. ret_signature (may be NULL):
 * "" it has none. Else as phx_images_find(), and -EKEYREJECTED. `ret` is owned. */
int catalog_image(const struct daemon *d, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *err);
/** The image that every node boots, and whose kernel it runs; owned. */
int catalog_deploy(const struct daemon *d, struct phx_image *ret, struct phx_err *err);
/** The same for a machine that is started with it: the core is told where it is another one than
 * before. Not with the lock. Both: -ESTALE it is older than the last one, and may not be. */
int catalog_use_deploy(struct daemon *d, const char *by, struct phx_image *ret,
		       struct phx_err *err);
/** "NAME VERSION" of the deploy image here that has this digest; "" there is none. */
void catalog_deploy_of(const struct daemon *d, const char *sha256, char *ret, size_t size);
/** {"images": [...]} / {"packages": [...], "bad": [...]}. New references. */
json_t *catalog_images(struct daemon *d);
json_t *catalog_packages(struct daemon *d);

/* ---- re_image.c ---- */

/** The image that the agreement chooses, by operating_system, image and image_version, if it is not
 * that of the role: all members of `g` that name it. -ENOENT, -EINVAL with "FIELD: why". Not with
 * the lock. */
int re_image_settle(struct daemon *d, struct phx_agreement *g, struct phx_err *err);

/* ---- net.c ---- */

/** Publish site.cpio, what a deploy image has of this site; `package_keys`: in PEM. */
int net_site_files(struct daemon *d, const char *package_keys, struct phx_err *err);
/** Publish the host files, and have dnsmasq and in.tftpd started, as the configuration has them. */
int net_start(struct daemon *d, struct phx_err *err);
/** Make dnsmasq's host file of this node follow the state: PHX_DHCP_SAME, _LIVE or _SIGHUP, which
 * dnsmasq is told by net_hosts_changed(): once, where there were several. */
int net_sync_host(struct daemon *d, const char *name);
/** Host files have changed so; the number of nodes may have outgrown dnsmasq's limits. */
void net_hosts_changed(struct daemon *d, int change);

/* ---- hands.c ---- */

/** What the process is started with. Borrows from `cfg`. */
struct phx_hands_config hands_config(const struct phx_config *cfg);
/** Has the process started. */
int hands_new(struct daemon *d, struct hands **ret, struct phx_err *err);
/** Ends it, after the power queue and the anchors. Safe on NULL. */
void hands_free(struct hands *h);
/** Borrowed. */
struct phx_hands *hands_process(struct hands *h);
/** Tells on stderr which nodes name files that it may not have; not under the engine's lock. */
void hands_look(struct hands *h);
/** Journals that it was started again. Returns ms to the next call. */
int hands_tick(struct hands *h);

/* ---- refused.c ---- */

int refused_new(struct daemon *d, struct refused **ret);
void refused_free(struct refused *f);
/** Says what was refused since it was said last, at most once a minute for each limit. Returns ms
 * until it wants to be called again, or WAKE_NEVER. */
int refused_tick(struct refused *f);
/** One entry a limit that was reached since the start; `whole`: also whom it kept away. */
json_t *refused_view(struct refused *f, bool whole);

/* ---- view_node.c ---- */

enum { VIEW_IDENTITY_MAX = 200, VIEW_EXTRAS = 4, VIEW_MEMBERS_MAX = 128 };

/** The members of a node that are shown. */
struct view_members {
	bool shown[VIEW_MEMBERS_MAX]; /* of the record, and behind them what is added to it */
	bool hides[VIEW_MEMBERS_MAX]; /* ids of disks in it */
	struct phx_json_less less;
};

/** `list`: names with commas, NULL for all. Who is not the resource provider is not shown by what a
 * machine is known. -EINVAL: a node has no such member. */
int view_members(const char *list, bool provider, struct view_members *ret, struct phx_err *err);
/** Ids of disks in a sentence, for who may not see them: "serial-ST4000-ZC1" becomes "serial-...".
 * Returns the new length. */
size_t view_hide_disks(char *text);
/** Append a node as the API shows it: record, expected identity, drift, what it measures. Under the
 * engine's lock. */
void view_node_put(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		   const struct view_members *m, struct phx_buf *b);

/* ---- hosts.c ---- */

/** The folded names of the nodes of a group, as JSON: a new reference, NULL on ENOMEM. Under the
 * engine's lock. */
json_t *hosts_json(struct phx_list *hosts, const struct phx_state *s, enum phx_members_kind kind,
		   const char *key);
void hosts_fini(struct phx_list *hosts);

/* ---- view.c ---- */

json_t *view_plan(const struct phx_plan *p);
/** `whole`: also whom a limit kept away. */
json_t *view_status(struct daemon *d, bool whole);
/** Append an order, with what its agent needs beside it, to a list that is being written. */
/** `re`: what an agent that knows of accounts is told beside a step: the RE that the node goes to,
 * or stays in; NULL: it does not know of any. */
void view_order_put(struct daemon *d, const struct phx_order *o, const char *re, struct phx_buf *b);
char *view_metrics(struct daemon *d);

/* ---- ends.c ---- */

/** Jobs that the order on its node would end, or (drain) waits for: id, engine_id, user, re,
 * started_ms, limit_ms, requeue, ends. The lock is held. */
json_t *view_ends(const struct phx_state *s, const struct phx_event *ev);
/** The same of the open jobs of an RE. */
json_t *view_ends_re(const struct phx_state *s, const char *re);
/** The sentences of what came of an order. */
json_t *view_notes(const struct phx_outcome *out);
/** Who is logged in on the node and would not be any more: {user, tty, from, since_ms}; null: its
 * agent does not tell. plan: of the order, NULL where it has none. */
json_t *view_sessions(struct daemon *d, const struct phx_event *ev, const struct phx_plan *plan);

/* ---- view_re.c ---- */

/** All nodes that its lower bound guarantees are there, or have been lent to its partner; nothing
 * is on its way. Under the engine's lock. */
bool view_re_serves(const struct phx_state *s, const struct phx_re *re);
/** It is deactivated, and its nodes have left it. Under the engine's lock. */
bool view_re_returned(const struct phx_state *s, const struct phx_re *re);
/** An RE as the API shows it: record, what it holds, jobs, partner. Under the engine's lock. New
 * reference. */
json_t *view_re(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		int64_t now_ms);

/** What each active RE holds and wants, as metrics. Under the engine's lock. */
void view_re_metrics(struct phx_buf *b, const struct phx_state *s);
/** What the manager of a web RE looks at and decided. Under the engine's lock. New reference. */
json_t *view_manager(const struct phx_state *s, const struct phx_re *re);

/* ---- view_use.c: all under the engine's lock ---- */

/** Use of a web RE's instances: {ppm (mean; null: none told), nodes (that tell it), unknown:
 * [{node, role, reason, waits}]}; `waits`: only not yet. New reference. */
json_t *view_use(struct daemon *d, const struct phx_state *s, const struct phx_re *re);
/** What a web RE's provider should hear: a sentence for each node, or the role, whose use cannot be
 * measured. */
void view_use_notes(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		    json_t *notes);
/** Members use_ppm (null: none) and use_reason (why) of one node. */
void view_node_use(struct daemon *d, const struct phx_node *n, json_t *to);

/* ---- re_dir.c ---- */

/** Make the data directories of all REs that are there, remove those of REs that are destroyed. At
 * start, and whenever one came or went. What cannot be done is told on stderr and tried again the
 * next time. */
void re_dirs_sync(struct daemon *d);
/** The same at the start: what is missing or not known is told. */
void re_dirs_begin(struct daemon *d);

/* ---- begin.c ---- */

/** May a start go on with what there is? -ENOENT with a text that says what is missing, and what to
 * do. `new_journal`: one is asked for. */
int begin_check(const struct phx_config *cfg, bool new_journal, struct phx_err *err);
/** Who asks for a new journal does not mean to lose one: -EEXIST when there is one with events. */
int begin_check_none(const struct phx_config *cfg, struct phx_err *err);
/** The directories below state_dir, which must be there. */
int begin_make_dirs(const struct phx_config *cfg, struct phx_err *err);
/** Removes what a phxd that was killed was writing; when the journal is open, so that no other one
 * runs. */
void begin_sweep(const struct phx_config *cfg);
/** The exit status of a start that failed so. */
int begin_status(int r);

/* ---- requests ---- */

/** Parse the body as a JSON object, or answer 400. New reference. */
json_t *body_json(struct phx_http_request *q);

extern const struct phx_http_route routes[];
extern const size_t n_routes;
/** The table of routes and rights, a line a route, to standard output. */
void routes_print(void);

/* May this body come? Asked before its first byte is taken; false after answering. */
bool re_data_may_put(struct phx_http_request *q, void *arg);
bool stage_out_may_put(struct phx_http_request *q, void *arg);
bool job_output_may_put(struct phx_http_request *q, void *arg);

/* handlers by file; all: phx_http_handler with arg = struct daemon */
#define HANDLER(name) void name(struct phx_http_request *q, void *arg)
/* access.c */
HANDLER(api_whoami);
HANDLER(api_access);
HANDLER(api_access_order);
/* api_read.c */
HANDLER(api_status);
HANDLER(api_nodes);
HANDLER(api_node);
HANDLER(api_erasures);
HANDLER(api_roles);
HANDLER(api_role);
HANDLER(api_rules_match);
HANDLER(api_images);
HANDLER(api_packages);
HANDLER(api_events);
/* api_erasures.c */
HANDLER(api_erasure_list);
HANDLER(api_erasure);
HANDLER(api_erasure_key);
/* anchors.c */
HANDLER(api_anchors);
HANDLER(api_config);
HANDLER(api_metrics);
/* directors.c */
HANDLER(api_balance);
/* logs.c */
HANDLER(api_node_logs);
HANDLER(api_agent_logs);
/* api_write.c */
HANDLER(api_node_add);
HANDLER(api_action);
HANDLER(api_reload);
/* api_certs.c */
HANDLER(api_certs);
HANDLER(api_cert_issued);
HANDLER(api_cert_revoke);
/* re_data.c */
HANDLER(api_stage_in);
HANDLER(api_stage_out);
HANDLER(api_re_data_list);
HANDLER(api_re_data_get);
HANDLER(api_re_data_put);
HANDLER(api_re_data_delete);
/* api_jobs.c */
HANDLER(api_job_submit);
HANDLER(api_jobs);
HANDLER(api_job);
HANDLER(api_job_cancel);
HANDLER(api_job_hold);
HANDLER(api_job_release);
HANDLER(api_job_output);
HANDLER(api_job_output_put);
/* api_agreement.c, api_re.c */
HANDLER(api_agreement_fields);
HANDLER(api_agreement_check);
HANDLER(api_res);
HANDLER(api_re);
HANDLER(api_re_ask);
HANDLER(api_re_order);
/* api_history.c */
HANDLER(api_re_history);
/* api_agent.c */
HANDLER(api_enrol);
HANDLER(api_rekey);
HANDLER(api_hello);
HANDLER(api_beat);
HANDLER(api_result);
HANDLER(api_inventory);
HANDLER(api_disk_key);
/* api_pki.c */
HANDLER(api_pki);
HANDLER(api_pki_rotate);
HANDLER(api_pki_retire);
/* api_files.c */
HANDLER(api_boot);
HANDLER(api_image_file);
HANDLER(api_site_cpio);
HANDLER(api_package_file);
HANDLER(api_ipxe_file);

#endif
