/* The data directory of each runtime environment on the head: made when it is created, kept over
 * its deactivation, removed when it is destroyed. A marker beside it (.NAME), where its owner
 * cannot reach, says whose it is: the journal's identity, the RE, and which creation. Only the
 * event that destroyed that very creation removes a directory, now or, after a crash, at the next
 * start. Any other unknown directory (the journal was restored, or is another one) is moved to
 * lost+found, and told. Called at the start and after REs were created or destroyed. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A directory that must exist. */
struct dir {
	struct re_marker marker;
	char login[PHX_NAME_MAX]; /* user of the head who is, or works for, its owner; "" none */
};

static void login_of(const struct phx_state *s, const char *owner, char ret[PHX_NAME_MAX])
{
	struct phx_identity is = {0};
	bool user = phx_identity_parse(owner, &is, NULL) == 0 && is.kind == PHX_IDENTITY_UNIX;
	phx_str_copy(ret, PHX_NAME_MAX, user ? is.name : phx_state_login(s, owner));
}

static struct phx_list wanted_dirs(struct daemon *d)
{
	struct phx_list dirs = {0};
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		struct dir *to =
			re->state == PHX_RE_STATE_NONE ? NULL : phx_list_push(&dirs, sizeof(*to));
		if (!to)
			continue;
		PHX_STR_SET(to->marker.name, re->name);
		login_of(s, re->agreement.owner, to->login);
		PHX_STR_SET(to->marker.site, phx_store_id(engine_store(d->engine)));
		to->marker.created_ms = re->created_ms;
	}
	engine_unlock(d->engine);
	return dirs;
}

void re_dir_whose(const struct daemon *d, const char *name, struct re_place_whose *w)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	w->created_ms = re ? re->created_ms : -1; /* it is gone: of no creation */
	engine_unlock(d->engine);
	PHX_STR_SET(w->re, name);
	PHX_STR_SET(w->site, phx_store_id(engine_store(d->engine)));
}

static void complain(const struct daemon *d, const char *re, const struct phx_err *err)
{
	fprintf(stderr, "phxd: data directory %s/%s: %s\n", d->cfg.re_dir, re, err->text);
}

/* ---- unknown directories ---- */

/* To lost+found of the state directory, or of the file system that it is on. */
static int set_aside(struct daemon *d, const struct re_marker *what, const char *why)
{
	struct phx_err err = {0};
	char text[256];
	PHX_AUTO_FREE char *to = NULL;
	int r = launch_re_set_aside(d->launch, what, &to, &err);
	if (r < 0)
		complain(d, what->name, &err);
	if (r < 0 || !to)
		return r;
	snprintf(text, sizeof(text), "data of RE %.40s, %s, was moved to %.120s", what->name, why,
		 to);
	engine_notice(d->engine, what->name, text);
	return 0;
}

/* ---- destroyed REs ---- */

static int is_its_end(void *arg, const struct phx_store_event *stored)
{
	const struct re_marker *what = arg;
	PHX_AUTO_JSON json_t *ev = NULL;
	if (stored->time_ms < what->created_ms)
		return 0;
	if (phx_json_parse(stored->event, strlen(stored->event), &ev, NULL) < 0)
		return 0;
	return !strcmp(phx_json_str(ev, "re", ""), what->name);
}

/* Does the journal say that this creation was destroyed? */
static bool was_destroyed(struct daemon *d, const struct re_marker *what)
{
	struct phx_store *store = engine_store(d->engine);
	struct re_marker copy = *what;
	return re_marker_is_of(what, phx_store_id(store)) &&
		phx_store_events_of(store, phx_enum_name(&phx_event_kind_names, PHX_EV_re_destroy),
				    is_its_end, &copy, NULL) > 0;
}

/* `wanted`: an RE of that name is there again, so it cannot wait for a next try. */
static int end_dir(struct daemon *d, const struct re_marker *what, bool wanted)
{
	struct phx_err err = {0};
	if (!was_destroyed(d, what))
		return set_aside(d, what, "which the journal does not know");
	if (launch_re_remove(d->launch, what->name, &err) == 0)
		return 0;
	complain(d, what->name, &err);
	return !wanted ? 0 : set_aside(d, what, "which could not be removed whole");
}

/* ---- wanted directories ---- */

static void tell_missing(struct daemon *d, const struct re_marker *dir)
{
	char text[256];
	snprintf(
		text, sizeof(text),
		"data of RE %.40s is not there: %.120s/%.40s was made anew, empty (is it mounted?)",
		dir->name, d->cfg.re_dir, dir->name);
	engine_notice(d->engine, dir->name, text);
}

/* An older phxd.service gave all below /var/lib/phoenix to root. The data of an RE is its owner's,
 * and is mended; whose the files of users in it were, nobody knows. */
static void tell_lost(struct daemon *d, const char *re, const struct re_owners *owners)
{
	char text[512];
	if (!owners->n_lost)
		return;
	snprintf(text, sizeof(text),
		 "data of RE %.40s: %u of the directories of users are root's, and maybe what is "
		 "in them (phoenix-upgrade(7)): chown -hR %.40s: %.120s/%.40s/" RE_USERS "/%.40s",
		 re, owners->n_lost, owners->lost, d->cfg.re_dir, re, owners->lost);
	engine_notice(d->engine, re, text);
}

static void tell_mended(struct daemon *d, const char *re, const char *login)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "data of RE %.40s was root's or the head's, and is %.40s's again, its owner's", re,
		 login);
	engine_notice(d->engine, re, text);
}

/* Makes sure that the directory exists and belongs to this creation of the RE: one whose name is
 * reused begins empty. */
static void have_dir(struct daemon *d, const struct dir *dir, bool starting)
{
	struct phx_err err = {0};
	struct launch_re is;
	const struct re_marker *want = &dir->marker;
	uid_t uid;
	gid_t gid;
	int r = launch_re_look(d->launch, want->name, &is, &err);
	bool of_this = r == 0 && is.marked && is.marker.created_ms == want->created_ms &&
		re_marker_is_of(&is.marker, want->site);
	bool taken = r == 0 && starting && of_this && is.owners.head_s &&
		re_owners_find(dir->login, &uid, &gid);
	if (r == 0 && starting && of_this)
		tell_lost(d, want->name, &is.owners);
	if (r == 0 && is.there && of_this && is.marker.site[0] && !taken)
		return;
	if (r == 0 && is.there && !is.marked)
		r = phx_err_set(&err, -EEXIST, "is there and was not made by phxd: move it away");
	else if (r == 0 && is.there && !of_this && end_dir(d, &is.marker, true) < 0)
		return;
	if (r == 0 && !is.there && starting)
		tell_missing(d, want);
	r = r ? r : launch_re_make(d->launch, want, dir->login, &err);
	if (r < 0)
		complain(d, want->name, &err);
	else if (taken)
		tell_mended(d, want->name, dir->login);
}

static bool is_wanted(const struct phx_list *dirs, const char *name)
{
	PHX_LIST_EACH(struct dir, dir, dirs)
		if (!strcmp(dir->marker.name, name))
			return true;
	return false;
}

/* Ends directories whose RE does not exist. */
static void end_others(struct daemon *d, const struct phx_list *dirs)
{
	PHX_AUTO(phx_list_fini) struct phx_list markers = {0};
	launch_re_list(d->launch, &markers);
	PHX_LIST_EACH(struct re_marker, m, &markers)
		if (!is_wanted(dirs, m->name))
			end_dir(d, m, false);
}

static void sync_dirs(struct daemon *d, bool starting)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&one_at_a_time);
	struct phx_list dirs = wanted_dirs(d);
	PHX_LIST_EACH(struct dir, dir, &dirs)
		have_dir(d, dir, starting);
	end_others(d, &dirs);
	phx_list_fini(&dirs);
	pthread_mutex_unlock(&one_at_a_time);
}

void re_dirs_sync(struct daemon *d)
{
	sync_dirs(d, false);
}

void re_dirs_begin(struct daemon *d)
{
	sync_dirs(d, true);
}
