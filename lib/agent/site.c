/* See site.h. */
#include "agent/site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/record_file.h"
#include "base/spawn.h"
#include "agent/account_files.h"
#include "agent/account_places.h"
#include "agent/job_user.h"
#include "agent/log.h"
#include "agent/order.h"
#include "agent/processes.h"
#include "agent/site_files.h"
#include "agent/site_net.h"
#include "agent/state.h"

enum {
	CALL_MS = 30000,
	RUN_MS = 60000,
	AGAIN_MS = 60000,
	STATE_MAX = 8 << 20,
	HEARD_MS = 5000,
	SETTLE_MS = 5000,
	KEY_FILE_MAX = 16 << 10,
	NOTE_MAX = 160,
	NO_SUCH_UNIT = 5, /* the status of systemctl */
};

#define HOST_KEY "/etc/ssh/ssh_host_ed25519_key"

/* STATE/site.json: what of bundles may be on this machine. */
#define SITE_STATE_FIELDS(F, S) \
	F(S, id, U64) /* of the bundle; 0: a bundle is being applied, or none ever was */ \
	F(S, error, STR(NOTE_MAX)) \
	F(S, accounts, LIST(phx_account)) \
	F(S, files, LIST(phx_site_out)) /* without the texts of the files */
PHX_RECORD_STRUCT(site_state, SITE_STATE_FIELDS);
PHX_RECORD_TABLE(site_state, SITE_STATE_FIELDS);

struct site {
	struct loop *loop;
	const struct agent_config *cfg;
	struct accounts *members;
	site_client_fn client;
	void *arg;
	char file[AGENT_PATH_MAX + 32];
	struct site_state state; /* belongs to the worker while there is one */
	struct site_net *net;    /* the same */
	/* who reads or writes these holds the loop */
	bool busy; /* a worker fetches and applies */
	uint64_t id;
	char error[NOTE_MAX];
	int64_t due_ms; /* when the worker tries again what failed */
};

/* A program to be run. */
struct program {
	const struct phx_list *words; /* borrowed from a bundle */
};

/* A bundle that is being applied. */
struct applying {
	struct site *s;
	const struct phx_site_bundle *b;
	bool anew;            /* an earlier attempt did not come to its end: run all programs */
	bool has_accounts;    /* the machine has those of the bundle, and no others of the site */
	struct phx_list runs; /* struct program */
	int r;                /* the first error */
	struct phx_err err;
};

/* Publishes what the agent tells the head. */
static void publish(struct site *s)
{
	LOOP_HELD(s->loop);
	s->id = s->state.id;
	PHX_STR_SET(s->error, s->state.error);
	s->due_ms = phx_clock_ms() + AGAIN_MS;
}

static void failed(struct applying *a, int r, const struct phx_err *err)
{
	agent_log("site: %s", err->text[0] ? err->text : strerror(-r));
	if (a->r)
		return;
	a->r = r;
	a->err = *err;
}

/* ---- files that are there, and files that should be ---- */

static const struct phx_account *find_account(const struct phx_list *l, const struct phx_account *a)
{
	PHX_LIST_EACH(struct phx_account, b, l)
		if (b->uid == a->uid && !strcmp(b->name, a->name))
			return b;
	return NULL;
}

static const struct phx_site_out *find_file(const struct phx_list *l, const char *path)
{
	PHX_LIST_EACH(struct phx_site_out, f, l)
		if (!strcmp(f->path, path))
			return f;
	return NULL;
}

static int add_account(struct phx_list *l, const struct phx_account *a)
{
	struct phx_account copy = *a, *to;
	copy.groups = (struct phx_list){0};
	if (find_account(l, a))
		return 0;
	if (!(to = phx_list_push(l, sizeof(*to))))
		return -ENOMEM;
	*to = copy;
	return 0;
}

static int add_file(struct phx_list *l, const struct phx_site_out *f)
{
	struct phx_site_out bare = *f, copy, *to;
	bare.text = NULL;
	if (find_file(l, f->path))
		return 0;
	int r = phx_record_copy(&phx_site_out_record, &copy, &bare);
	if (r == 0 && !(to = phx_list_push(l, sizeof(*to)))) {
		phx_record_fini(&phx_site_out_record, &copy);
		r = -ENOMEM;
	}
	if (r == 0)
		*to = copy;
	return r;
}

static int add_all(struct site_state *st, const struct phx_list *accounts,
		   const struct phx_site_bundle *b)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_account, a, accounts)
		r = r ? r : add_account(&st->accounts, a);
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		r = r ? r : add_file(&st->files, f);
	return r;
}

static int keep(struct site *s, struct phx_err *err)
{
	return phx_record_file_write(s->file, &site_state_record, &s->state, 0600, err);
}

/* Records which files and accounts may be on this machine from now on. */
static int intend(struct site *s, const struct phx_site_bundle *b, struct phx_err *err)
{
	s->state.id = 0;
	int r = add_all(&s->state, &b->accounts.list, b);
	return r ? r : keep(s, err);
}

/* Records which files and accounts are there in the end. A file that could not be removed stays on
 * the list, and so do the former accounts where those of the bundle could not be made. */
static int done(struct applying *a, const struct phx_list *former, struct phx_list *left,
		struct phx_err *err)
{
	struct site *s = a->s;
	struct site_state next = {.id = a->b->id};
	int r = add_all(&next, a->has_accounts ? &a->b->accounts.list : former, a->b);
	PHX_LIST_EACH(struct phx_site_out, f, left)
		r = r ? r : add_file(&next.files, f);
	if (r < 0) {
		phx_record_fini(&site_state_record, &next);
		return r;
	}
	if (a->r)
		snprintf(next.error, sizeof(next.error), "%.150s",
			 a->err.text[0] ? a->err.text : strerror(-a->r));
	phx_record_fini(&site_state_record, &s->state);
	s->state = next;
	return keep(s, err);
}

/* ---- accounts ---- */

static int change_accounts(const char *root, const struct phx_accounts *want, struct phx_err *err)
{
	struct account_files is = {0}, to = {0};
	PHX_AUTO_CLOSE int lock = account_files_lock(root, err);
	int r = lock < 0 ? lock : account_files_read(root, &is, err);
	r = r ? r : account_files_merge(&is, ACCOUNT_BLOCK_SITE, want, &to, err);
	r = r ? r : account_files_write(root, &is, &to, err);
	account_files_fini(&is);
	account_files_fini(&to);
	return r;
}

static void make_accounts(struct applying *a)
{
	struct phx_err err = {0};
	int r = phx_accounts_check(&a->b->accounts, &err);
	r = r ? r : processes_hide(a->s->cfg, a->b->accounts.list.n > 0, &err);
	r = r ? r : change_accounts(a->s->cfg->root, &a->b->accounts, &err);
	a->has_accounts = r == 0;
	if (r < 0)
		failed(a, r, &err);
	/* an account that the site has no longer may be a member's, and the other way round */
	phx_err_clear(&err);
	if (accounts_again(a->s->members, &err) < 0)
		agent_log("site: %s", err.text);
}

static void make_homes(struct applying *a)
{
	const char *root = a->s->cfg->root;
	PHX_LIST_EACH(struct phx_account, acc, &a->b->accounts.list) {
		struct phx_err err = {0};
		int r = account_home_lacks(root, acc) ? account_home_make(root, acc, &err) : 0;
		if (r < 0)
			failed(a, r, &err);
	}
}

/* Ends the processes of people who had a login and have none any more. A member of the node's RE
 * keeps his jobs. An account that was refused, because the image has its number, was never
 * made: processes of that number are not his. */
static void end_leavers(struct applying *a, const struct phx_list *before)
{
	const struct site *s = a->s;
	PHX_LIST_EACH(struct phx_account, acc, before) {
		const struct phx_account *now = find_account(&a->b->accounts.list, acc);
		bool stays = now && strcmp(now->shell, PHX_SITE_NOLOGIN) != 0;
		stays = stays || !a->has_accounts || !phx_account_is_person(acc->uid);
		if (stays || accounts_has(s->members, acc->uid) || !agent_config_private(s->cfg))
			continue;
		agent_log("site: %s %s", acc->name, now ? "is locked" : "leaves");
		job_user_leave(s->cfg->root, acc->uid);
	}
}

/* ---- programs ---- */

static bool same_words(const struct phx_list *a, const struct phx_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (strcmp(PHX_LIST_AT(a, struct phx_word, i)->text,
			   PHX_LIST_AT(b, struct phx_word, i)->text) != 0)
			return false;
	return true;
}

/* Notes a program to be run, once for several files. */
static void want_run(struct applying *a, const struct phx_list *words)
{
	PHX_LIST_EACH(struct program, p, &a->runs)
		if (same_words(p->words, words))
			return;
	struct program *to = words->n ? phx_list_push(&a->runs, sizeof(*to)) : NULL;
	if (to)
		to->words = words;
}

static void run(struct applying *a, const struct phx_list *words)
{
	struct phx_err err = {0};
	struct phx_run_result result = {0};
	const char **argv = calloc(words->n + 1, sizeof(*argv));
	struct phx_run p = {.argv = argv, .timeout_ms = RUN_MS, .output_max = 4096};
	for (uint32_t i = 0; argv && i < words->n; i++)
		argv[i] = PHX_LIST_AT(words, struct phx_word, i)->text;
	int r = argv ? phx_run(&p, &result, &err) : -ENOMEM;
	/* the agent need not start a service again that the image lacks */
	bool lacks = r == 0 && result.status == NO_SUCH_UNIT && !strcmp(argv[0], "systemctl");
	if (r == 0 && result.status && !lacks)
		r = phx_err_set(&err, -EIO, "%s ended with status %d: %.*s", argv[0], result.status,
				(int)strcspn(result.errout, "\n"), result.errout);
	if (r < 0)
		failed(a, r, &err);
	phx_run_result_fini(&result);
	free(argv);
}

static void run_if_any(struct applying *a, const struct phx_list *words)
{
	if (words->n)
		run(a, words);
}

/* ---- files ---- */

static void write_files(struct applying *a)
{
	PHX_LIST_EACH(struct phx_site_out, f, &a->b->files) {
		struct phx_err err = {0};
		if (phx_site_is_network(f->path))
			continue;
		int r = site_file_write(a->s->cfg->root, f, &err);
		if (r < 0)
			failed(a, r, &err);
		if (r > 0 || a->anew)
			want_run(a, &f->run);
	}
}

/* Removes the files that earlier bundles brought. `left` gets those that could not be removed. */
static void remove_files(struct applying *a, const struct phx_list *before, struct phx_list *left)
{
	PHX_LIST_EACH(struct phx_site_out, f, before) {
		struct phx_err err = {0};
		if (find_file(&a->b->files, f->path) || phx_site_is_network(f->path))
			continue;
		int r = site_file_remove(a->s->cfg->root, f->path, &err);
		if (r < 0)
			failed(a, r, &err);
		if (r < 0 && add_file(left, f) < 0)
			failed(a, -ENOMEM, &err);
		if (r > 0 || a->anew)
			want_run(a, &f->run);
	}
}

/* ---- the network ---- */

/* Applies the network last: when the former network comes back, the agent can tell the head of the
 * rest, too. It tells that the former network came back before anything else that failed. */
static void change_network(struct applying *a, const struct phx_list *before, struct phx_list *left)
{
	struct phx_err err = {0};
	int r = site_net_apply(a->s->net, a->b, before, &err);
	PHX_LIST_EACH(struct phx_site_out, f, &a->b->files)
		if (r > 0 && phx_site_is_network(f->path))
			run_if_any(a, &f->run);
	if (r >= 0)
		return;
	a->r = 0;
	failed(a, r, &err);
	PHX_LIST_EACH(struct phx_site_out, f, before)
		if (phx_site_is_network(f->path) && add_file(left, f) < 0)
			failed(a, -ENOMEM, &err);
}

/* ---- a bundle ---- */

static int check(const struct phx_site_bundle *b, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		if (!phx_site_path_is_plain(f->path) || f->mode & ~0777u)
			return phx_err_set(err, -EINVAL, "site: %s: its path or mode is wrong",
					   f->path);
	return b->id ? 0 : phx_err_set(err, -EINVAL, "site: the bundle has no id");
}

static void files_fini(struct phx_list *files)
{
	PHX_LIST_EACH(struct phx_site_out, f, files)
		phx_record_fini(&phx_site_out_record, f);
	phx_list_fini(files);
}

int site_apply(struct site *s, const struct phx_site_bundle *b, struct phx_err *err)
{
	struct applying a = {.s = s, .b = b, .anew = !s->state.id};
	struct site_state before = {0};
	struct phx_list left = {0};
	int r = check(b, err);
	r = r ? r : phx_record_copy(&site_state_record, &before, &s->state);
	r = r ? r : intend(s, b, err);
	if (r < 0) {
		phx_record_fini(&site_state_record, &before);
		return r;
	}
	make_accounts(&a);
	write_files(&a);
	remove_files(&a, &before.files, &left);
	make_homes(&a);
	end_leavers(&a, &before.accounts);
	PHX_LIST_EACH(struct program, p, &a.runs)
		run(&a, p->words);
	change_network(&a, &before.files, &left);
	r = done(&a, &before.accounts, &left, err);
	if (r == 0 && a.r) {
		*err = a.err;
		r = a.r;
	}
	publish(s);
	phx_list_fini(&a.runs);
	files_fini(&left);
	phx_record_fini(&site_state_record, &before);
	return r;
}

/* ---- a change of the network that has not come to its end ---- */

/* Asks the head once, and gets its answer: this proves the way there and back. A head that refuses
 * this node its settings is heard, too. */
static bool is_heard(void *arg)
{
	struct site *s = arg;
	struct phx_http_client *client = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	int r = s->client ? s->client(s->arg, &client, NULL) : -ENOTCONN;
	r = r ? r : phx_http_call_json(client, "GET", "/v1/agent/site", NULL, HEARD_MS, &j, NULL);
	phx_http_client_free(client);
	return r == 0 || r == -EACCES || r == -ENOENT;
}

/* Goes on with that change; 0 when there is none. */
static int settle_network(struct site *s)
{
	struct phx_err err = {0};
	int r = site_net_pending(s->net) ? site_net_resume(s->net, &err) : 0;
	if (r == 0)
		return 0;
	agent_log("site: %s", err.text[0] ? err.text : strerror(-r));
	snprintf(s->state.error, sizeof(s->state.error), "%.150s",
		 err.text[0] ? err.text : strerror(-r));
	publish(s);
	return r;
}

/* ---- from the head ---- */

static int fetch(struct site *s, struct phx_http_client *client, struct phx_err *err)
{
	struct phx_site_bundle b;
	PHX_AUTO_JSON json_t *j = NULL;
	int r = phx_http_call_json(client, "GET", "/v1/agent/site", NULL, CALL_MS, &j, err);
	r = r ? r : phx_json_to_record(&phx_site_bundle_record, j, &b, err);
	if (r < 0)
		return r;
	bool has = b.id && b.id == s->state.id && !s->state.error[0];
	r = has ? 0 : site_apply(s, &b, err);
	if (r == 0 && !has)
		agent_log("site: %u files and %u accounts are as the head says", b.files.n,
			  b.accounts.list.n);
	phx_record_fini(&phx_site_bundle_record, &b);
	return r;
}

static void work(void *arg)
{
	struct site *s = arg;
	struct phx_err err = {0};
	struct phx_http_client *client = NULL;
	/* a file that could not be put back, as when the disk was full, may be put back now */
	settle_network(s);
	int r = s->client(s->arg, &client, &err);
	r = r ? r : fetch(s, client, &err);
	phx_http_client_free(client);
	if (r < 0)
		agent_log("site: %s", err.text[0] ? err.text : strerror(-r));
	LOOP_HELD(s->loop);
	s->busy = false;
	loop_news(s->loop);
}

int site_fetch(struct site *s, struct phx_err *err)
{
	if (!s)
		return phx_err_set(err, -EOPNOTSUPP, "this environment has no settings of a site");
	LOOP_HELD(s->loop);
	int r = s->busy ? 0 : loop_work(s->loop, work, s);
	s->busy = s->busy || r == 0;
	return r < 0 ? phx_err_set(err, r, "no worker for the settings of the site") : 0;
}

void site_settle(struct site *s)
{
	struct phx_err err = {0};
	if (!s)
		return;
	loop_hold(s->loop);
	bool due = s->error[0] && phx_clock_ms() >= s->due_ms;
	s->due_ms = due ? phx_clock_ms() + AGAIN_MS : s->due_ms;
	loop_release(s->loop);
	if (due && site_fetch(s, &err) < 0)
		agent_log("site: %s", err.text);
}

void site_wait(struct site *s, uint32_t timeout_ms)
{
	int64_t due_ms = phx_clock_ms() + timeout_ms;
	if (!s)
		return;
	LOOP_HELD(s->loop);
	while (s->busy && loop_wait(s->loop, due_ms))
		;
}

/* ---- to the head ---- */

void site_running(struct site *s, json_t *list)
{
	if (!s)
		return;
	LOOP_HELD(s->loop);
	order_report(list, PHX_ORDER_site, s->id);
}

void site_monitor(struct site *s, json_t *monitor)
{
	PHX_AUTO_FREE char *text = NULL;
	if (!s)
		return;
	loop_hold(s->loop);
	if (s->error[0])
		json_object_set_new(monitor, "site_error", json_string(s->error));
	loop_release(s->loop);
	PHX_AUTO_FREE char *path = phx_path("%s" HOST_KEY ".pub", s->cfg->root);
	if (!path || phx_file_read(path, KEY_FILE_MAX, &text, NULL, NULL) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (phx_site_key_check(text, NULL) == 0)
		json_object_set_new(monitor, "host_keys", json_pack("[s]", text));
}

/* ---- host keys ---- */

void site_host_key_forget(const char *root)
{
	static const char *const argv[] = {"systemctl", "try-restart", "ssh.service", NULL};
	const struct phx_run restart = {.argv = argv, .timeout_ms = RUN_MS, .output_max = 4096};
	struct phx_err err = {0};
	int r = site_file_remove(root, HOST_KEY, &err);
	if (r >= 0)
		site_file_remove(root, HOST_KEY ".pub", &err);
	if (r > 0)
		r = phx_run_check(&restart, NULL, &err); /* sshd makes another key */
	if (r < 0)
		agent_log("sshd keeps its host key: %s", err.text);
}

/* ---- the start, and the end ---- */

static void resume(void *arg)
{
	struct site *s = arg;
	if (settle_network(s) == 0)
		publish(s);
	LOOP_HELD(s->loop);
	s->busy = false;
	loop_news(s->loop);
}

static int open_network(const struct site_config *config, struct site *s, struct phx_err *err)
{
	int64_t silence_ms = (int64_t)s->cfg->network_silence_s * 1000;
	struct site_net_config net = {
		.root = s->cfg->root,
		.state_dir = s->cfg->state_dir,
		.boot = config->boot ? config->boot : "",
		.heard = is_heard,
		.arg = s,
		.times = {silence_ms, silence_ms > 2 * SETTLE_MS ? SETTLE_MS : silence_ms / 2}};
	int r = site_net_new(&net, &s->net, err);
	if (r < 0 || !site_net_pending(s->net))
		return r;
	s->busy = true;
	return loop_work(s->loop, resume, s);
}

int site_new(const struct site_config *config, struct site **ret, struct phx_err *err)
{
	struct site *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct site){.loop = config->loop,
			   .cfg = config->cfg,
			   .members = config->accounts,
			   .client = config->client,
			   .arg = config->arg};
	snprintf(s->file, sizeof(s->file), "%s/site.json", s->cfg->state_dir);
	int r = state_recover(s->file, STATE_MAX, &site_state_record, &s->state,
			      "the settings of the site are taken anew", err);
	if (r == 0) {
		publish(s);
		r = open_network(config, s, err);
	}
	if (r < 0) {
		site_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void site_free(struct site *s)
{
	if (!s)
		return;
	site_net_free(s->net);
	phx_record_fini(&site_state_record, &s->state);
	free(s);
}
