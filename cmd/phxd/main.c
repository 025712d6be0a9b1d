/* phxd: the common service framework of the resource provider. Connects core and drivers, then runs
 * the loop. */
#include "phxd/daemon.h"
#include "phxd/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"
#include "door/door.h"
#include "outlet/outlet.h"
#include "phxd/accounts.h"
#include "phxd/apart.h"
#include "phxd/consoles.h"
#include "phxd/data_use.h"
#include "phxd/head_user.h"
#include "phxd/helper.h"
#include "phxd/options.h"
#include "phxd/planner.h"
#include "phxd/runner.h"
#include "phxd/beacons.h"
#include "phxd/starts.h"
#include "phxd/timeline.h"
#include "phxd/watcher.h"
#include "phxd/site.h"
#include "phxd/whatif.h"

enum { EXIT_CONFIG_ = 78 };

enum {
	REFUSED_MS = 1000,
	GATHER_MS = 10 /* events that come together share one turn */
};

/* ---- callbacks of the engine ---- */

static int act(void *arg, const struct phx_action *action)
{
	struct daemon *d = arg;
	metrics_action(d->metrics, action);
	return exec_action(d->exec, action);
}

static void ended(void *arg, const struct phx_list *steps)
{
	const struct daemon *d = arg;
	metrics_ended(d->metrics, steps);
}

static void committed(void *arg, uint64_t seq)
{
	struct daemon *d = arg;
	if (d->waits) /* before waits.c has started, nobody waits */
		waits_wake(d->waits, seq);
	if (d->holds)
		holds_wake(d->holds);
	if (d->feed)
		feed_wake(d->feed, seq);
	if (d->anchors)
		anchors_committed(d->anchors, seq);
	if (d->timeline)
		timeline_committed(d->timeline, seq);
	if (d->outlets)
		outlets_committed(d->outlets, seq);
	if (d->wake)
		wake_in(d->wake, GATHER_MS);
}

/* ---- start and stop ---- */

/* Writes the public keys into run_dir, for everybody, where the head may read them. */
static int begin_attesting(struct daemon *d, struct phx_err *err)
{
	const char *attest_pem = phx_pki_attest_pub_pem(d->pki);
	const char *site_pem = phx_pki_site_pub_pem(d->pki);
	PHX_AUTO_FREE char *attest = phx_path("%s/attest.pub", d->cfg.run_dir);
	PHX_AUTO_FREE char *site = phx_path("%s/site.pub", d->cfg.run_dir);
	if (!attest || !site)
		return -ENOMEM;
	int r = phx_file_write(attest, attest_pem, strlen(attest_pem), 0644, err);
	r = r ? r : phx_file_write(site, site_pem, strlen(site_pem), 0644, err);
	return r ? r : engine_attests(d->engine, attest, err);
}

static int open_engine(struct daemon *d, enum task task, struct phx_err *err)
{
	struct engine_config config = {.journal = d->cfg.journal,
				       .snapshot_every = d->cfg.snapshot_every,
				       .keep_days = task == SERVE ? d->cfg.journal_keep_days : 0,
				       .signer = keys_signer(d->keys),
				       .attester = keys_attester(d->keys),
				       .attestation_days = d->cfg.attestation_days,
				       .act = d->act,
				       .committed = d->committed,
				       .ended = ended,
				       .arg = d,
				       .accept_journal =
					       task == NEW_JOURNAL || task == ACCEPT_JOURNAL,
				       .clock = clock_source(d->launch),
				       .accept_clock = task == ACCEPT_CLOCK};
	int r = engine_open(&config, &d->engine, err);
	if (r == 0)
		d->started_ms = engine_now(d->engine);
	return r;
}

/* The rank of a client for the listeners' limits. A revoked certificate counts as a stranger, so it
 * takes nothing of its holder's share. */
static enum phx_http_rank rank_of(void *arg, const struct phx_http_peer *peer)
{
	unsigned roles = person_roles(arg, peer);
	if (!roles)
		return PHX_HTTP_STRANGER;
	return roles & 1u << PHX_WHO_ADMIN ? PHX_HTTP_ADMIN : PHX_HTTP_KNOWN;
}

/* The group's number; (gid_t)-1, nobody's, if there is no such group. */
static gid_t gid_of(const char *name)
{
	gid_t gid;
	return name[0] && phx_group_named(name, &gid) == 0 ? gid : (gid_t)-1;
}

/* At least the largest upload that is allowed (a staged file, the output of a job), which would be
 * refused forever otherwise. */
static uint64_t spool_bytes_max(const struct daemon *d)
{
	const uint32_t mb[] = {d->cfg.upload_mb_per_user, d->cfg.stage_max_mb, JOB_OUTPUT_MAX_MB};
	uint64_t most = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(mb); i++)
		most = mb[i] > most ? mb[i] : most;
	return most << 20;
}

/* On any thread of a listener: the loop will tell it. */
static void on_refused(void *arg)
{
	struct daemon *d = arg;
	wake_in(d->wake, REFUSED_MS);
}

static void on_answered(void *arg, const struct phx_http_route *route, unsigned status, int64_t us,
			bool held)
{
	const struct daemon *d = arg;
	metrics_answered(d->metrics, routes_class(route), status, us, held);
}

static int start_http(struct daemon *d, struct phx_err *err)
{
	struct phx_http_server_config config = launch_listeners(&d->cfg);
	int r = 0;
	config.routes = routes;
	config.n_routes = n_routes;
	config.arg = d;
	config.pki = d->pki;
	config.spool_dir = d->cfg.output_dir;
	config.threads = d->cfg.http_threads;
	config.connections_max = d->cfg.connections_max;
	config.per_address_max = d->cfg.connections_per_address;
	config.per_person_max = d->cfg.connections_per_user;
	config.requests_per_s = d->cfg.requests_per_s;
	config.spool_bytes_max = spool_bytes_max(d);
	config.admin_gid = gid_of(d->cfg.socket_group);
	config.rank = rank_of;
	config.sessions = d->sessions;
	config.moved = session_moved;
	config.refused = on_refused;
	config.undated = starts_undated;
	config.sent = starts_sent;
	config.answered = on_answered;
	for (int i = 0; r == 0 && i < PHX_HTTP_LISTENERS; i++)
		r = launch_listen(d->launch, (enum phx_http_listener)i, &config.listening[i], err);
	return r ? r : phx_http_server_start(&config, &d->http, err);
}

/* Must come before anything that lets time pass. */
static int begin_anew(struct daemon *d, struct phx_err *err)
{
	struct phx_event ev = {.kind = PHX_EV_restart, .by = "phxd"};
	int r = engine_submit(d->engine, &ev, NULL, err);
	return r == -EROFS ? 0 : r; /* a read-only head can still show the state */
}

/* Checks before a start makes or changes anything. The journal comes before the site's keys, so
 * that there are never keys without it. */
static int begin(struct daemon *d, enum task task, struct phx_err *err)
{
	int r = task == SERVE ? portal_new(&d->cfg, &d->portal) : 0;
	r = r ? r : head_user_become(&d->cfg, d->config_path, err);
	r = r ? r : launch_new(STDIN_FILENO, &d->launch, err);
	r = r || task != NEW_JOURNAL ? r : begin_check_none(&d->cfg, err);
	r = r ? r : keys_new(d, &d->keys, err);
	return r ? r : open_engine(d, task, err);
}

static int start(struct daemon *d, struct phx_err *err)
{
	int r = launch_sweep(d->launch, err);
	r = r ? r : keys_open(d->keys, err);
	r = r ? r : begin_attesting(d, err);
	r = r ? r : begin_anew(d, err);
	r = r ? r : wake_new(&d->wake);
	r = r ? r : starts_new(d, &d->starts);
	r = r ? r : beacons_new(d, &d->beacons);
	r = r ? r : metrics_new(d, &d->metrics);
	r = r ? r : hands_new(d, &d->hands, err);
	r = r ? r : anchors_new(d, &d->anchors);
	r = r ? r : accounts_new(d, &d->accounts);
	r = r ? r : site_new(d, &d->site);
	r = r ? r : flows_new(d, &d->flows);
	r = r ? r : tasks_new(d, &d->tasks);
	r = r ? r : live_new(d, orders_put, &d->live);
	r = r ? r : site_portions_new(d, &d->site_portions);
	r = r ? r : asks_new(d, &d->asks);
	r = r ? r : waits_new(d, &d->waits, err);
	r = r ? r : holds_new(d, &d->holds);
	r = r ? r : feed_new(d, &d->feed, err);
	r = r ? r : reads_new(d, &d->reads);
	r = r ? r : quota_new(d, &d->quota);
	r = r ? r : seldom_new(d, &d->seldom);
	r = r ? r : hooks_new(d, &d->hooks);
	r = r ? r : outlets_new(d, &d->outlets, err);
	r = r ? r : refused_new(d, &d->refused);
	r = r ? r : timeline_new(d, &d->timeline);
	r = r ? r : whatif_new(d, &d->whatif);
	r = r ? r : directors_new(d, &d->directors);
	r = r ? r : slurm_new(d, &d->slurm);
	r = r ? r : exec_new(d, &d->exec, err);
	r = r ? r : identity_settle_owners(d, err);
	if (r == 0)
		hands_look(d->hands);
	r = r ? r : catalog_load(d, "phxd", NULL, NULL, err);
	if (r == 0)
		re_dirs_begin(d);
	accounts_look(d->accounts);
	r = r ? r : data_use_new(d, &d->data_use);
	r = r ? r : net_start(d, err);
	r = r ? r : starts_dhcp_new(d, &d->starts_dhcp);
	r = r ? r : consoles_new(d, &d->consoles, err);
	r = r ? r : phx_http_sessions_new(&d->sessions);
	r = r ? r : passwords_new(d, session_begin_as, &d->passwords);
	r = r ? r : watches_new(d, &d->watches);
	r = r ? r : start_http(d, err); /* answers from here on: all that it asks is there */
	if (r == 0)
		engine_resume(d->engine);
	return r;
}

static void stop(struct daemon *d)
{
	/* answer held requests, end the server, end the workers, then free the rest */
	starts_dhcp_free(d->starts_dhcp);
	live_stop(d->live);
	waits_stop(d->waits);
	holds_stop(d->holds);
	feed_stop(d->feed);
	reads_stop(d->reads);
	outlets_stop(d->outlets);
	asks_stop(d->asks);
	consoles_stop(d->consoles);
	passwords_stop(d->passwords);
	phx_http_server_free(d->http);
	watches_free(d->watches);
	passwords_free(d->passwords);
	phx_http_sessions_free(d->sessions);
	portal_free(d->portal);
	slurm_free(d->slurm);
	exec_free(d->exec);
	directors_free(d->directors);
	whatif_free(d->whatif);
	/* these may still journal something, which wakes waiting requests */
	timeline_free(PHX_TAKE(d->timeline));
	anchors_free(PHX_TAKE(d->anchors));
	accounts_free(PHX_TAKE(d->accounts));
	site_free(PHX_TAKE(d->site));
	hands_free(d->hands);
	consoles_free(PHX_TAKE(d->consoles));
	waits_free(d->waits);
	holds_free(d->holds);
	outlets_free(PHX_TAKE(d->outlets));
	feed_free(PHX_TAKE(d->feed)); /* later events are sent to nobody */
	reads_free(d->reads);
	hosts_fini(&d->hosts);
	asks_free(d->asks);
	quota_free(d->quota);
	data_use_free(d->data_use);
	refused_free(d->refused);
	seldom_free(d->seldom);
	hooks_free(d->hooks);
	live_free(d->live);
	site_portions_free(d->site_portions);
	tasks_free(d->tasks);
	flows_free(d->flows);
	beacons_free(d->beacons);
	starts_free(PHX_TAKE(d->starts)); /* its thread asks the engine for names */
	engine_close(d->engine);
	metrics_free(d->metrics);
	keys_free(d->keys); /* engine_close() needed signatures */
	json_decref(d->mistakes);
	wake_free(d->wake);
	phx_pki_free(d->pki);
	launch_free(d->launch);
	phx_config_fini(&d->cfg);
}

/* Tells what the configuration names and does not exist; phxd serves nevertheless, as far as it
 * can. Returns how many. */
static unsigned tell_missing(const struct daemon *d)
{
	struct phx_list missing = {0};
	phx_config_check_system(&d->cfg, d->config_path, &missing);
	for (uint32_t i = 0; i < missing.n; i++) {
		fprintf(stderr, "phxd: %s\n", phx_text_at(&missing, i));
		free(PHX_LIST_AT(&missing, struct phx_text, i)->text);
	}
	unsigned n = missing.n;
	phx_list_fini(&missing);
	return n;
}

/* Does nothing: the next start carries the action out. */
static int leave_it(void *arg, const struct phx_action *action)
{
	(void)arg;
	(void)action;
	return 0;
}

static void untold(void *arg, uint64_t seq)
{
	(void)arg;
	(void)seq;
}

/* For a start by hand: journals what is accepted, and ends. */
static int accept_and_end(struct daemon *d, enum task task)
{
	struct phx_err err = {0};
	d->act = leave_it;
	d->committed = untold;
	int r = begin(d, task, &err);
	if (r == 0 && task == ACCEPT_CLOCK)
		engine_notice(d->engine, "", "the clock was accepted as it is");
	r = r ? r : engine_tell(d->engine);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text[0] ? err.text : strerror(-r));
	engine_close(d->engine);
	keys_free(d->keys);
	launch_free(d->launch);
	phx_config_fini(&d->cfg);
	return r < 0 ? EXIT_CONFIG_ : 0;
}

static int serve(struct daemon *d)
{
	struct phx_err err = {0};
	prepare_process(d);
	int r = begin(d, SERVE, &err);
	int code = r < 0 ? begin_status(r) : EXIT_FAILURE;
	r = r ? r : start(d, &err);
	r = r < 0 ? r : loop_serve(d);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text[0] ? err.text : strerror(-r));
	stop(d);
	return r < 0 ? code : 0;
}

/* This program as the vault: started by the launcher, with the head's socket as its standard input.
 */
static void be_vault(char **argv)
{
	const struct phx_vault_config config = {.pki_dir = argv[2],
						.key_dir = argv[3],
						.user = argv[4],
						.log_keep = (uint32_t)strtoul(argv[5], NULL, 10)};
	phx_vault_serve(STDIN_FILENO, &config);
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "--vault"))
		be_vault(argv);
	if (argc == 2 && !strcmp(argv[1], "--door"))
		phx_door_serve(STDIN_FILENO);
	if (argc == 2 && !strcmp(argv[1], "--planner"))
		planner_run();
	if (argc == 2 && !strcmp(argv[1], "--helper"))
		return helper_run();
	if (argc == 2 && !strcmp(argv[1], "--watcher"))
		return watcher_run();
	if (argc == PHX_TFTPD_WORDS && !strcmp(argv[1], "--tftpd"))
		return phx_tftpd_become(argv);
	if (argc >= RUNNER_ARGS_MIN && argc <= RUNNER_ARGS_MAX && !strcmp(argv[1], "--runner"))
		return runner_run(argv);
	if (argc > 2 && !strcmp(argv[1], "--programs"))
		phx_programs_serve(STDIN_FILENO, argc, argv);
	if (argc > 2 && !strcmp(argv[1], "--webhooks"))
		phx_webhooks_serve(STDIN_FILENO, argc, argv);
	if (argc > 5 && !strcmp(argv[1], "--hands"))
		phx_hands_serve(STDIN_FILENO, argc, argv);
	if (argc > 8 && !strcmp(argv[1], "--consoles"))
		phx_consoles_serve(STDIN_FILENO, argc, argv);
	struct options o;
	struct phx_err err = {0};
	int code = options_read(argc, argv, &o);
	if (code)
		return code == OPTIONS_SAID ? 0 : code;
	struct daemon d = {.config_path = o.config, .act = act, .committed = committed};
	int r = phx_config_load(d.config_path, &d.cfg, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	if (r == 0 && o.head)
		return o.task == SERVE ? serve(&d) : accept_and_end(&d, o.task);
	unsigned n_missing = r < 0 || o.task > CHECK ? 0 : tell_missing(&d);
	if (r == 0 && o.task == CHECK)
		apart_print(&d.cfg);
	code = r < 0 || (n_missing && o.task == CHECK) ? EXIT_CONFIG_
		: o.task == CHECK
		? 0
		: launcher_run(&d.cfg, argv, o.task == NEW_JOURNAL, o.task == SERVE);
	phx_config_fini(&d.cfg);
	return code;
}
