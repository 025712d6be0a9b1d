/* See site_net.h. */
#include "agent/site_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/record_file.h"
#include "base/spawn.h"
#include "agent/config.h"
#include "agent/log.h"
#include "agent/site_files.h"
#include "agent/state.h"

enum { STATE_MAX = 8 << 20, RUN_MS = 30000, AGAIN_FIRST_MS = 500, AGAIN_MOST_MS = 4000 };

#define NETWORKD "/etc/systemd/network/"
#define OURS NETWORKD "10-phoenix-"

struct site_net {
	struct site_net_config config;
	char file[AGENT_PATH_MAX + 32];
	struct site_trial trial;
};

/* A file that changes; `to`: what it becomes, NULL: it is removed. */
struct change {
	const char *path;
	const struct phx_site_out *to;
};

bool site_net_pending(const struct site_net *n)
{
	return n->trial.phase == SITE_TRIAL_PENDING;
}

static int keep(struct site_net *n, struct phx_err *err)
{
	return phx_record_file_write(n->file, &site_trial_record, &n->trial, 0600, err);
}

/* ---- what changes ---- */

static bool is_same(const struct phx_site_out *a, const struct phx_site_out *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode &&
		!strcmp(phx_text(a->text), phx_text(b->text));
}

static void fini_former(struct phx_list *former)
{
	PHX_LIST_EACH(struct site_former, f, former)
		phx_record_fini(&site_former_record, f);
	phx_list_fini(former);
}

/* Notes the change of a file, and what the file was, unless the file is so already. */
static int note(struct site_net *n, const char *path, const struct phx_site_out *to,
		struct phx_list *changes, struct phx_list *former, struct phx_err *err)
{
	struct site_former was = {0}, *f;
	/* it could never be read again, and so never changed */
	if (to && strlen(phx_text(to->text)) > PHX_SITE_FILE_MAX)
		return phx_err_set(err, -EFBIG, "%s: has more than %u KiB", path,
				   PHX_SITE_FILE_MAX >> 10);
	int there = site_file_read(n->config.root, path, &was.file, err);
	if (there < 0)
		return there;
	if (to ? there && is_same(&was.file, to) : !there) {
		phx_record_fini(&site_former_record, &was);
		return 0;
	}
	was.there = there;
	PHX_STR_SET(was.file.path, path);
	struct change *c = phx_list_push(changes, sizeof(*c));
	f = c ? phx_list_push(former, sizeof(*f)) : NULL;
	if (!f) {
		phx_record_fini(&site_former_record, &was);
		return -ENOMEM;
	}
	*c = (struct change){path, to};
	*f = was;
	return 0;
}

static bool has_file(const struct phx_site_bundle *b, const char *path)
{
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		if (!strcmp(f->path, path))
			return true;
	return false;
}

static int find_changes(struct site_net *n, const struct phx_site_bundle *b,
			const struct phx_list *before, struct phx_list *changes,
			struct phx_list *former, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		if (phx_site_is_network(f->path))
			r = r ? r : note(n, f->path, f, changes, former, err);
	PHX_LIST_EACH(struct phx_site_out, f, before)
		if (phx_site_is_network(f->path) && !has_file(b, f->path))
			r = r ? r : note(n, f->path, NULL, changes, former, err);
	return r;
}

/* ---- having it read ---- */

static int run(const char *const *argv, struct phx_err *err)
{
	const struct phx_run p = {.argv = argv, .timeout_ms = RUN_MS, .output_max = 4096};
	return phx_run_check(&p, NULL, err);
}

/* Deletes a device whose file is gone: it would stay, with its network cards in it. */
static void delete_device(const char *path)
{
	char name[64];
	size_t n = strlen(path), tail = strlen(".netdev");
	struct phx_err err = {0};
	if (!phx_str_starts(path, OURS) || n < tail || strcmp(path + n - tail, ".netdev") != 0)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(n - tail - strlen(OURS)), path + strlen(OURS));
	const char *const argv[] = {"networkctl", "delete", name, NULL};
	if (run(argv, &err) < 0)
		agent_log("site: %s", err.text);
}

static int reload(bool networkd, bool network_manager, struct phx_err *err)
{
	static const char *const acts[][4] = {
		{"nmcli", "connection", "reload", NULL},
		{"nmcli", "networking", "off", NULL},
		{"nmcli", "networking", "on", NULL},
	};
	static const char *const networkctl[] = {"networkctl", "reload", NULL};
	int r = networkd ? run(networkctl, err) : 0;
	for (size_t i = 0; network_manager && i < PHX_ARRAY_SIZE(acts); i++)
		r = r ? r : run(acts[i], err);
	return r;
}

/* Has the programs to which these files belong read them anew. `back`: the files are as they were
 * again, so devices whose files were not there before are deleted. */
static int reload_for(const struct phx_list *former, bool back, struct phx_err *err)
{
	bool networkd = false, network_manager = false;
	PHX_LIST_EACH(struct site_former, f, former) {
		bool is = phx_str_starts(f->file.path, NETWORKD);
		networkd = networkd || is;
		network_manager = network_manager || !is;
	}
	int r = reload(networkd, network_manager, err);
	PHX_LIST_EACH(struct site_former, f, former)
		if (back && !f->there)
			delete_device(f->file.path);
	return r;
}

/* ---- back ---- */

/* Puts the former files back. Each part of this may be done twice: the record says "pending" until
 * all of it is done. */
static int restore(struct site_net *n, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct site_former, f, &n->trial.former) {
		int one = f->there ? site_file_write(n->config.root, &f->file, err)
				   : site_file_remove(n->config.root, f->file.path, err);
		r = one < 0 ? one : r;
	}
	if (r < 0)
		return r;
	struct phx_err why = {0};
	if (reload_for(&n->trial.former, true, &why) < 0)
		agent_log("site: the former network: %s", why.text);
	return 0;
}

static int take_back(struct site_net *n, const char *why, struct phx_err *err)
{
	int r = restore(n, err);
	if (r < 0)
		return r;
	site_trial_refuse(&n->trial, why);
	r = keep(n, err);
	return r < 0 ? r : phx_err_set(err, -EHOSTUNREACH, "%s", why);
}

/* ---- the trial ---- */

static int wait_for_head(struct site_net *n, struct phx_err *err)
{
	struct phx_again again = {AGAIN_FIRST_MS, AGAIN_MOST_MS, 0};
	enum site_trial_act act = SITE_TRIAL_WAIT;
	char why[120];
	while (act == SITE_TRIAL_WAIT) {
		bool heard = n->config.heard(n->config.arg);
		int64_t now = phx_clock_boot_ms();
		act = site_trial_judge(&n->trial, heard, now, &n->config.times);
		if (act == SITE_TRIAL_WAIT)
			phx_again(&again, phx_clock_ms() + n->trial.until_ms - now);
	}
	if (act == SITE_TRIAL_BACK) {
		snprintf(why, sizeof(why),
			 "network settings rolled back: the head was not reached for %lld s",
			 (long long)n->config.times.silence_ms / 1000);
		return take_back(n, why, err);
	}
	site_trial_keep(&n->trial);
	return keep(n, err);
}

static int put_in_place(struct site_net *n, const struct phx_list *changes, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct change, c, changes) {
		int one = c->to ? site_file_write(n->config.root, c->to, err)
				: site_file_remove(n->config.root, c->path, err);
		r = r ? r : one < 0 ? one : 0;
	}
	return r ? r : reload_for(&n->trial.former, false, err);
}

static void delete_gone(const struct phx_list *changes)
{
	PHX_LIST_EACH(struct change, c, changes)
		if (!c->to)
			delete_device(c->path);
}

static int try_changes(struct site_net *n, const struct phx_list *changes, struct phx_err *err)
{
	struct phx_err why = {0};
	char text[160];
	int r = put_in_place(n, changes, &why);
	if (r < 0) {
		snprintf(text, sizeof(text), "network settings rolled back: %.120s",
			 why.text[0] ? why.text : strerror(-r));
		return take_back(n, text, err);
	}
	delete_gone(changes);
	return wait_for_head(n, err);
}

int site_net_apply(struct site_net *n, const struct phx_site_bundle *b,
		   const struct phx_list *before, struct phx_err *err)
{
	uint64_t id = site_trial_id(b);
	PHX_AUTO(phx_list_fini) struct phx_list changes = {0};
	struct phx_list former = {0};
	/* first the files are put back that an earlier trial could not: they are nowhere else */
	int r = site_net_pending(n) ? wait_for_head(n, err) : 0;
	if (r < 0)
		return r;
	if (site_trial_refuses(&n->trial, id, b->again))
		return phx_err_set(err, -EPERM, "%s", n->trial.why);
	r = find_changes(n, b, before, &changes, &former, err);
	if (r < 0 || !changes.n) {
		fini_former(&former);
		return r;
	}
	site_trial_begin(&n->trial, id, b->again, &former, n->config.boot, phx_clock_boot_ms(),
			 &n->config.times);
	if ((r = keep(n, err)) < 0) {
		site_trial_keep(&n->trial);
		return r;
	}
	r = try_changes(n, &changes, err);
	return r < 0 ? r : 1;
}

/* ---- life ---- */

int site_net_resume(struct site_net *n, struct phx_err *err)
{
	bool news =
		site_trial_start(&n->trial, n->config.boot, phx_clock_boot_ms(), &n->config.times);
	int r = news ? keep(n, err) : 0;
	return r ? r : wait_for_head(n, err);
}

int site_net_new(const struct site_net_config *config, struct site_net **ret, struct phx_err *err)
{
	struct site_net *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->config = *config;
	snprintf(n->file, sizeof(n->file), "%s/site-network.json", config->state_dir);
	int r = state_recover(n->file, STATE_MAX, &site_trial_record, &n->trial,
			      "the network stays as it is", err);
	if (r < 0) {
		free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void site_net_free(struct site_net *n)
{
	if (!n)
		return;
	phx_record_fini(&site_trial_record, &n->trial);
	free(n);
}
