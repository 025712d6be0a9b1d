/* What the files of phxd share. phxd is the one place that knows both core and drivers. */
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
#include "phxd/outlets.h"
#include "phxd/people.h"
#include "phxd/portal.h"
#include "phxd/triggers.h"
#include "power/hands.h"
#include "types/rights.h"
#include "vault/vault.h"

struct hands;       /* hands.c: the process that talks to BMCs and runs programs */
struct wake;        /* wake.c: when the loop turns next */
struct live;        /* live.c: liveness of nodes, long polls of agents */
struct exec;        /* exec.c: actions to drivers */
struct waits;       /* waits.c: clients that wait for events */
struct holds;       /* holds.c: clients that wait for a state */
struct reads;       /* reads.c: expensive reading requests */
struct timeline;    /* timeline.c: the past, for charts */
struct starts;      /* starts.h: what is seen of the starts of nodes */
struct beacons;     /* beacons.h: what machines say before they can prove who they are */
struct whatif;      /* whatif.c: what would have been */
struct anchors;     /* anchors.c: anchors of the journal */
struct accounts;    /* accounts.c: accounts of members on nodes */
struct quota;       /* quota.c: how much people may write into the journal */
struct seldom;      /* seldom.c: notices that are journalled at most once a minute */
struct refused;     /* refused.c: connections and requests that a limit refused */
struct slurm;       /* slurm.c: REs whose jobs Slurm starts */
struct directors;   /* directors.c: use of instances, tables of directors */
struct starts_dhcp; /* starts.h */
struct metrics;     /* metrics.c: what Prometheus is told */
struct consoles;    /* consoles.c: consoles of nodes */
struct sessions;    /* console_sessions.c: people who are attached to them */

/* site_portions.c: when the next nodes are told the settings of the site */
struct site_portions;

enum { JOB_OUTPUT_MAX_MB = 64 }; /* of one run of a job on one node; not configurable */

struct daemon {
	struct phx_config cfg;
	const char *config_path;
	int64_t started_ms;
	struct launch *launch;
	struct keys *keys;
	struct hands *hands;
	struct consoles *consoles; /* NULL: this head has none */
	/* CAs and certificate to serve with; issues nothing. keys.c keeps former ones */
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
	struct data_use *data_use; /* data_use.c */
	struct anchors *anchors;
	struct timeline *timeline;
	struct starts *starts;
	struct beacons *beacons;
	struct starts_dhcp *starts_dhcp;
	struct whatif *whatif;
	struct accounts *accounts;
	struct site *site; /* site.c: users and files of nodes */
	struct seldom *seldom;
	struct site_portions *site_portions;
	struct refused *refused;
	struct directors *directors;
	struct metrics *metrics;
	struct flows *flows;
	struct tasks *tasks;
	struct asks *asks;
	struct hooks *hooks;
	struct outlets *outlets;
	struct watches *watches;
	struct slurm *slurm;
	struct portal *portal;
	struct feed *feed;
	struct phx_http_sessions *sessions;
	struct passwords *passwords; /* passwords.c; NULL: portal_pam is off */
	struct phx_http_server *http;
	/* grows whenever a right was granted or taken: held requests are then checked again */
	_Atomic unsigned rights;
	engine_act_fn act; /* the engine's callbacks */
	engine_commit_fn committed;
	/* texts: mistakes of the catalogue when it was read last; under the engine's lock */
	json_t *mistakes;
};

/* ---- wake.c: when the loop turns next ---- */

#define WAKE_NEVER INT_MAX /* as a number of milliseconds */

int wake_new(struct wake **ret);
/** Safe on NULL. */
void wake_free(struct wake *w);
/** A timer descriptor, readable when the loop is to turn. Borrowed. */
int wake_fd(const struct wake *w);
/** Asks for a turn of the loop in at most `ms` (WAKE_NEVER: asks for nothing). On any thread,
 * whatever it has locked. */
void wake_in(struct wake *w, int ms);
/** A turn of the loop begins, and meets all requests so far. Returns the time for which it was
 * asked, in ms of the monotonic clock; INT64_MAX: nobody asked. */
int64_t wake_begin(struct wake *w);

/* ---- loop.c ---- */

/** Until SIGTERM or SIGINT. Says to the launcher that the head is ready, and at the end that it
 * stops; each part does in turn what is due. SIGHUP reads roles, images and packages anew. 0, or
 * the error of the engine or of systemd's event loop. */
int loop_serve(struct daemon *d);

/* ---- orders.c ---- */

/** Appends the orders of `node` that its agent does not run yet (`running`: struct beat_running),
 * and questions to the agent, to the JSON list in `b`. Appends nothing if `key_fp`, the key of the
 * request, is not the node's present key. */
void orders_put(struct daemon *d, const char *node, const char *key_fp,
		const struct phx_list *running, struct phx_buf *b);

/* ---- live.c ---- */

/** Appends what an agent with key `key_fp` that runs `running` (struct beat_running) is to be told:
 * orders_put(). */
typedef void (*live_orders_fn)(struct daemon *d, const char *node, const char *key_fp,
			       const struct phx_list *running, struct phx_buf *b);

int live_new(struct daemon *d, live_orders_fn orders, struct live **ret);
/** Answers all long polls; none is held after that. Safe on NULL and twice. */
void live_stop(struct live *l);
/** Call it after live_stop(), when no other thread uses `l`. Safe on NULL. */
void live_free(struct live *l);
/** If the core has no node `node`, forgets what is known of it and answers the poll that its agent
 * still holds. */
void live_forget_gone(struct live *l, const char *node);
/** A node was heard. Returns true if the core must be told: the node had been missing or quiet, or
 * was not heard before. */
bool live_heard(struct live *l, const char *node);
/** Which version its agent said that it is, cut to printable text; "" until it says it. Also under
 * the engine's lock. */
void live_told_version(struct live *l, const char *node, const char *version);
void live_version(struct live *l, const char *node, char ret[PHX_TOLD_VERSION_MAX]);
/** What a node last measured: a new reference, or NULL. Not under the engine's lock: the node
 * decides how long the text is, and so how long parsing takes. */
json_t *live_monitor(struct live *l, const char *node);
/** Appends the same as text, or "null". Also under the engine's lock. */
void live_put_monitor(struct live *l, const char *node, struct phx_buf *b);
/** Who is logged in, as the node reported: a list, new reference; NULL: the node reports nothing.
 * Not under the engine's lock. */
json_t *live_sessions(struct live *l, const char *node);
/** The use of its web RE's instance that the node measured, in ppm; -1: none, and `ret_error` may
 * say why. Also under the engine's lock. */
int64_t live_use(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX]);
/** What is new in a beat. */
struct live_news {
	bool back;   /* as live_heard() */
	bool report; /* role, identity or health have changed, and may be journalled */
	bool site;   /* it stands otherwise with the settings of the site */
	bool look;   /* its orders may have changed: live_hold() is to look */
};
/** A beat of a node: takes the texts of what it measures out of `b`, and remembers its report. */
struct live_news live_beat(struct live *l, const char *node, struct beat *b);
/** May this node have so many more bytes journalled? Counts them. False while it exceeds what one
 * node may write: ask again later. */
bool live_may_tell(struct live *l, const char *node, size_t bytes);
/** What is known of a node did not reach the core, or is outdated: its next beat is told in full.
 */
void live_untold(struct live *l, const char *node);
/** Holds `q` until there is an order for the node that is not in `running` (struct beat_running;
 * taken), or wait_ms have passed. `look`: answers at once if there is one. */
void live_hold(struct live *l, const char *node, struct phx_http_request *q,
	       struct phx_list *running, bool look, int64_t wait_ms);
/** Orders of `node` may have changed. */
void live_wake(struct live *l, const char *node);
/** A node is back: the next tick tells the core. */
void live_back(struct live *l, const char *node);
/** Answers overdue polls, and tells the core which nodes are silent and which are back, many in one
 * transaction. `due_ms` is when the loop wanted to call this: the time by which it is late does not
 * count as silence of nodes. Returns ms until the next call, or WAKE_NEVER. */
int live_tick(struct live *l, int64_t due_ms);

/* ---- tell.c ---- */

/** Appends a name to a list of struct phx_word. -ENOMEM. */
int tell_put_name(struct phx_list *to, const char *node);
/** Appends the names (struct phx_word) of the nodes that the core believes up. */
void tell_up_nodes(struct daemon *d, struct phx_list *ret_names);
/** Submits an event of `kind` for each of the named nodes, many in one transaction. Only the names
 * whose event could not be journalled stay in the list. */
void tell_nodes(struct daemon *d, int kind, struct phx_list *names);

/* ---- exec.c ---- */

int exec_new(struct daemon *d, struct exec **ret, struct phx_err *err);
void exec_free(struct exec *x);
/** Carries out an action, for engine_act_fn; returns at once. -ENOMEM: it is not queued, and
 * nothing of it is done. */
int exec_action(struct exec *x, const struct phx_action *act);
/** Power acts that are not over. */
uint32_t exec_power_waiting(struct exec *x);

/* ---- reads.c ---- */

int reads_new(struct daemon *d, struct reads **ret);
/** Suspends `q` and carries out `handler` on a thread for expensive reads; administrators have one
 * of their own. 429 if this identity has too many of them under way. */
void reads_take(struct reads *r, struct phx_http_request *q, phx_http_handler handler);
/** The next events about `name`, a node or an RE ("": all events). Uses the journal's index; for
 * the part of an older journal that is not indexed, also calls `fn` for events about others. As
 * phx_store_reader_events(). */
int reads_page(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *name,
	       phx_store_event_fn fn, void *arg, struct phx_err *err);
/** Sleeps as long as the caller has worked since `since_us` (phx_clock_us()), at least a
 * millisecond and at most a tenth of a second, so that agents and others get the locks. Call it
 * without a lock. */
void reads_breathe(int64_t since_us);
/** Answers waiting requests, and all later ones, with an error. Safe on NULL and twice. */
void reads_stop(struct reads *r);
/** Call it after reads_stop(), when no other thread uses `r`. Safe on NULL. */
void reads_free(struct reads *r);

/* ---- quota.c ---- */

int quota_new(struct daemon *d, struct quota **ret);
/** When nobody asks any more. Safe on NULL. */
void quota_free(struct quota *u);
/** May the sender of `q` have it journalled? Counts its bytes. False after answering 429. */
bool quota_may_write(struct quota *u, struct phx_http_request *q);

/* ---- seldom.c ---- */

/** A notice for people of what somebody did. */
struct seldom_fact {
	const char *who;  /* as of person_name() */
	const char *kind; /* what counts as the same */
	const char *re;   /* its owner is told, too; NULL: none */
	const char *text;
};

int seldom_new(struct daemon *d, struct seldom **ret);
/** When nobody asks any more. Safe on NULL. */
void seldom_free(struct seldom *s);
/** Journals a notice, at most once a minute for one identity and kind; it then says how often the
 * fact occurred. */
void seldom_tell(struct seldom *s, const struct seldom_fact *f);

/* ---- anchors.c ---- */

int anchors_new(struct daemon *d, struct anchors **ret);
/** Makes a last anchor if events are not covered yet. Safe on NULL. */
void anchors_free(struct anchors *a);
/** Events were committed, up to `seq`. Returns at once. */
void anchors_committed(struct anchors *a, uint64_t seq);
/** Appends the last anchor as an order, if the agent keeps anchors and does not have this one
 * (`running`: struct beat_running). */
void anchors_orders_put(struct anchors *a, const struct phx_list *running, struct phx_buf *b);

/* ---- waits.c ---- */

int waits_new(struct daemon *d, struct waits **ret, struct phx_err *err);
/** Answers all who wait; from then on nobody is held. Safe on NULL and twice. */
void waits_stop(struct waits *w);
/** After waits_stop() and when nobody asks any more. Safe on NULL. */
void waits_free(struct waits *w);
/** Answers `q` with events after `after`, as soon as there are any, or after `wait_ms`; on another
 * thread. */
void waits_hold(struct waits *w, struct phx_http_request *q, uint64_t after, uint32_t limit,
		const char *node, int64_t wait_ms);
/** The journal has grown to event `seq`. Returns at once. */
void waits_wake(struct waits *w, uint64_t seq);

/* ---- holds.c ---- */

enum { HOLD_MAX_S = 60 };

/** Is the state that `q` waits for reached? Reads only path and query of `q`. */
typedef bool (*holds_reached_fn)(const struct phx_state *s, const struct phx_http_request *q);
/** What a held request waits for. */
struct holds_wish {
	holds_reached_fn reached;
	/* What the sender is answered, by the rights that he has now; owned by the caller. NULL: it
	 * was answered with an error. Is called again where rights change meanwhile. */
	json_t *(*show)(struct phx_http_request *q, struct daemon *d);
	enum phx_right right; /* must be held until the answer */
};

int holds_new(struct daemon *d, struct holds **ret);
/** Answers all who wait; from then on nobody is held. Safe on NULL and twice. */
void holds_stop(struct holds *h);
/** After holds_stop() and when nobody asks any more. Safe on NULL. */
void holds_free(struct holds *h);
/** Answers `q` with what `wish->show` says once the wish is reached, or after `wait_ms`; on another
 * thread. The caller has checked the sender's right; `rights` is daemon.rights from before that. A
 * sender who loses it meanwhile, or a part of it, is answered at once, by the right that remains.
 */
void holds_take(struct holds *h, struct phx_http_request *q, const struct holds_wish *wish,
		unsigned rights, int64_t wait_ms);
/** The state has changed. Returns at once. */
void holds_wake(struct holds *h);

/* ---- directors.c ---- */

int directors_new(struct daemon *d, struct directors **ret);
/** When nobody asks any more. Safe on NULL. */
void directors_free(struct directors *b);
/** Counts the use of a node's instance (member `web_use_ppm` of its monitor, if there is one) for
 * its web RE. */
void directors_sample(struct directors *b, const char *node, const struct beat *beat);
/** Takes what a director reports with its beat: the table in force (in `running`) and what its
 * kernel has (member `balancer` of the monitor). Steps that wait for it go on with the next tick.
 * Ignores beats of other nodes. */
void directors_heard(struct directors *b, const char *node, const struct beat *beat);
/** Wakes directors when the wanted table has changed; once a heartbeat tells the core the mean use
 * of each web RE's instances. Returns ms until the next call, or WAKE_NEVER. */
int directors_tick(struct directors *b);

/* ---- slurm.c ---- */

int slurm_new(struct daemon *d, struct slurm **ret);
/** Waits for the commands that are running. Safe on NULL. */
void slurm_free(struct slurm *s);
/** Starts and ends the threads that follow each RE with Slurm as its engine, and wakes them.
 * Returns ms until the next call, or WAKE_NEVER. */
int slurm_tick(struct slurm *s);

/* ---- seal.c ---- */

/** What the agent signed of an erase, with the TPM's quote: puts into `ev`, the result of the step,
 * whether the erase that it reports was signed, by whom and from which deploy image. */
void seal_take(struct daemon *d, const struct phx_http_request *q, const struct phx_seal *seal,
	       const struct phx_quote *quote, struct phx_event *ev);

/* ---- catalog.c ---- */

/** Reads pools, settings, roles and rules into the core, at the request of `by`. `errors` (JSON
 * array, may be NULL) receives what was refused; `warnings` (likewise) what was accepted but may
 * surprise: roles whose image brings another kernel than the one that runs. Returns 0 or the first
 * hard failure. */
int catalog_load(struct daemon *d, const char *by, json_t *errors, json_t *warnings,
		 struct phx_err *err);
/** Writes site.cpio again, after the CAs have changed. */
int catalog_site_files(struct daemon *d, struct phx_err *err);
/** What catalog_load() put into `errors` last. New reference. */
json_t *catalog_mistakes(struct daemon *d);
/** Sets the error of a role that does not exist, and returns -ENOENT; the text tells what is wrong
 * with its file if that was refused. */
int catalog_no_role(struct daemon *d, const char *name, struct phx_err *err);
/** At the start: removes what a killed phx has left in the stores of images and packages. */
void catalog_sweep(const struct phx_config *cfg);
/** Finds an image of the head that may be used; version NULL: the newest. ret_signature (may be
 * NULL): "" if it has none. Errors as phx_images_find(), and -EKEYREJECTED. `ret` is owned by the
 * caller. */
int catalog_image(const struct daemon *d, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *err);
/** The deploy image, which every node boots and whose kernel it runs; owned by the caller. */
int catalog_deploy(const struct daemon *d, struct phx_image *ret, struct phx_err *err);
/** The same for a machine that is started with it: tells the core if the image differs from the
 * last one. Not under the engine's lock. Both: -ESTALE if it is older than the last one and may not
 * be. */
int catalog_use_deploy(struct daemon *d, const char *by, struct phx_image *ret,
		       struct phx_err *err);
/** "NAME VERSION" of the deploy image with this digest; "": there is none here. */
void catalog_deploy_of(const struct daemon *d, const char *sha256, char *ret, size_t size);
/** {"images": [...]} / {"packages": [...], "bad": [...]}. New references. */
json_t *catalog_images(struct daemon *d);
json_t *catalog_packages(struct daemon *d);

/* ---- re_image.c ---- */

/** Finds the image that the agreement chooses by operating_system, image and image_version, and
 * sets members image, image_version and image_digest of `g`. If the role's own image will do, only
 * clears image_digest. -ENOENT, -EINVAL with "FIELD: why", which names packages and versions only
 * for who has the right `packages`. Not under the engine's lock. */
int re_image_settle(struct daemon *d, struct phx_agreement *g, bool packages, struct phx_err *err);

/* ---- net.c ---- */

/** Publishes site.cpio, this site's files for the deploy environment; `package_keys`: in PEM. */
int net_site_files(struct daemon *d, const char *package_keys, struct phx_err *err);
/** Publishes the host files, and has dnsmasq and in.tftpd started if configured. */
int net_start(struct daemon *d, struct phx_err *err);
/** Makes dnsmasq's host file of this node follow the state. Returns PHX_DHCP_SAME, _LIVE or
 * _SIGHUP; after one or several calls pass the greatest to net_hosts_changed(), which tells
 * dnsmasq. */
int net_sync_host(struct daemon *d, const char *name);
/** Makes the names of nodes that dnsmasq serves follow the settings of the site and the state. */
void net_sync_names(struct daemon *d);
/** The same of names of web services: that of an active RE stands for all its virtual addresses. */
void net_sync_services(struct daemon *d);
/** Host files have changed by `change`, and there may be more nodes than dnsmasq's limits allow:
 * tells or restarts dnsmasq. */
void net_hosts_changed(struct daemon *d, int change);

/* ---- hands.c ---- */

/** The configuration of the process. Borrows from `cfg`. */
struct phx_hands_config hands_config(const struct phx_config *cfg);
/** Has the process started. */
int hands_new(struct daemon *d, struct hands **ret, struct phx_err *err);
/** Ends the process; call it after exec_free() and anchors_free(). Safe on NULL. */
void hands_free(struct hands *h);
/** Borrowed. */
struct phx_hands *hands_process(struct hands *h);
/** Tells on stderr which nodes have a password file or script that the process may not use. Not
 * under the engine's lock. */
void hands_look(struct hands *h);
/** Journals that the process was started again. Returns WAKE_NEVER. */
int hands_tick(struct hands *h);

/* ---- refused.c ---- */

int refused_new(struct daemon *d, struct refused **ret);
void refused_free(struct refused *f);
/** Tells on stderr what was refused since the last time, at most once a minute for each limit of a
 * listener. Returns ms until the next call, or WAKE_NEVER. */
int refused_tick(struct refused *f);
/** An entry for each limit that was reached since the start; `whole`: with whom it refused last.
 * New reference. */
json_t *refused_view(struct refused *f, bool whole);

/* ---- hosts.c ---- */

/** The folded hostlist of the nodes of a group, as a JSON string: a new reference, NULL on ENOMEM.
 * Under the engine's lock. */
json_t *hosts_json(struct phx_list *hosts, const struct phx_state *s, enum phx_members_kind kind,
		   const char *key);
void hosts_fini(struct phx_list *hosts);

/* ---- re_dir.c ---- */

/** Makes the data directories of all existing REs and removes those of destroyed ones. Called
 * whenever an RE was created or destroyed. Failures are told on stderr and tried again at the next
 * call. */
void re_dirs_sync(struct daemon *d);
/** The same at the start of phxd: also tells which directories are missing or unknown. */
void re_dirs_begin(struct daemon *d);
/** Writes into `w` the RE whose directory is to be opened, and of which creation of the RE it must
 * be. Locks the engine. */
void re_dir_whose(const struct daemon *d, const char *re, struct re_place_whose *w);

/* ---- begin.c ---- */

/** May phxd start on the files that exist? -ENOENT with a text that says what is missing and what
 * to do. `new_journal`: a new journal is asked for. */
int begin_check(const struct phx_config *cfg, bool new_journal, struct phx_err *err);
/** For a start that asks for a new journal: -EEXIST if there is one with events, which must not be
 * lost. */
int begin_check_none(const struct phx_config *cfg, struct phx_err *err);
/** Makes the directories below state_dir, which must exist. */
int begin_make_dirs(const struct phx_config *cfg, struct phx_err *err);
/** Removes unfinished files of a killed phxd. Call it once the journal is open: no other runs. */
void begin_sweep(const struct phx_config *cfg);
/** The exit status of a start that failed with `r`. */
int begin_status(int r);

/* ---- requests ---- */

/** Parses the body as a JSON object: new reference, NULL after answering 400. */
json_t *body_json(struct phx_http_request *q);

extern const struct phx_http_route routes[];
extern const size_t n_routes;
/** Prints the table of routes and rights to standard output, a line for each route. */
void routes_print(void);

/* May this body be sent? Asked before its first byte is read; false after answering. */
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
HANDLER(api_outlets);
HANDLER(api_config);
HANDLER(api_metrics);
/* directors.c */
HANDLER(api_balance);
/* api_why.c */
HANDLER(api_node_why);
/* logs.c */
HANDLER(api_node_logs);
HANDLER(api_console_attach);
HANDLER(api_console_log);
HANDLER(api_console_read);
HANDLER(api_console_type);
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
/* beacons.c */
HANDLER(api_beacon);

/* ---- prepare.c ---- */

/** What this process wants of its machine; what it does not get it says. Before any thread. */
void prepare_process(const struct daemon *d);

#endif
