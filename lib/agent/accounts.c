/* See accounts.h. account_files.h handles the lines of the account files, account_places.h the
 * directories. Never decides who is a member. */
#include "agent/accounts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/record_file.h"
#include "agent/account_files.h"
#include "agent/account_places.h"
#include "agent/job_user.h"
#include "agent/log.h"
#include "agent/order.h"
#include "agent/processes.h"

enum { STATE_MAX = 8 << 20, AGAIN_MS = 60000, SOON_MS = 1000 };

/* STATE/accounts.json. It lists whatever may exist on the node: it is written before something is
 * made, and again when that is done. */
#define ACCOUNTS_STATE_FIELDS(F, S) \
	F(S, id, U64) /* of `wanted`, once that is applied; 0: it is not */ \
	F(S, wanted, REC(phx_accounts)) \
	F(S, made, REC(phx_accounts)) /* `wanted`, and struck-out members who still work */ \
	F(S, homes, LIST(phx_word))   /* that we made, as accounts name them */
PHX_RECORD_STRUCT(accounts_state, ACCOUNTS_STATE_FIELDS);
PHX_RECORD_TABLE(accounts_state, ACCOUNTS_STATE_FIELDS);

/* In the place of the RE of `made`, where that is not known; no RE is called so. */
static const char unknown_re[] = "?";

struct accounts {
	struct loop *loop;
	const struct agent_config *cfg;
	char file[AGENT_PATH_MAX + 32];
	accounts_works_fn works;
	void *arg;
	/* the file was damaged: what the head is told while nothing else is wrong; "": no */
	char lost[ACCOUNTS_NOTE_MAX];
	bool busy; /* whoever takes it (loop_take()) owns the state */
	struct accounts_state state;
	/* a list that failed, and is tried again */
	struct phx_accounts failed;
	uint64_t failed_id; /* 0 none */
	/* guarded by the loop */
	uint64_t id;
	int64_t due_ms; /* when accounts_settle() has something to look at; INT64_MAX never */
	char note[ACCOUNTS_NOTE_MAX];
};

/* Publishes what the head is told. It need not repeat a list that it gave, even one that failed:
 * that is tried again here. */
static void publish(struct accounts *a, const char *note, uint32_t again_ms)
{
	const struct accounts_state *s = &a->state;
	bool waits = s->id && s->made.list.n > s->wanted.list.n;
	LOOP_HELD(a->loop);
	a->id = a->failed_id    ? a->failed_id
		: s->id         ? s->id
		: s->made.re[0] ? PHX_ACCOUNTS_UNKNOWN
				: 0;
	a->due_ms = a->failed_id || waits ? phx_clock_ms() + again_ms : INT64_MAX;
	if (note)
		PHX_STR_SET(a->note, note);
}

static void forget_failed(struct accounts *a)
{
	phx_record_fini(&phx_accounts_record, &a->failed);
	a->failed_id = 0;
}

/* Keeps a list that failed. If there is no memory for it the head gives it again. */
static void remember_failed(struct accounts *a, uint64_t id, const struct phx_accounts *list)
{
	struct phx_accounts copy;
	if (phx_record_copy(&phx_accounts_record, &copy, list) < 0)
		return;
	forget_failed(a);
	a->failed = copy;
	a->failed_id = id;
}

/* ---- the accounts that should exist ---- */

static bool has(const struct phx_accounts *l, const struct phx_account *a)
{
	return phx_accounts_find(l, a->name, a->uid);
}

/* May an account be added: is neither its name nor its number on the list? */
static bool fits(const struct phx_accounts *l, const struct phx_account *a)
{
	PHX_LIST_EACH(struct phx_account, b, &l->list)
		if (a->uid == b->uid || !strcmp(a->name, b->name))
			return false;
	return l->list.n < PHX_ACCOUNTS_MAX;
}

static int add_copy(struct phx_accounts *l, const struct phx_account *a)
{
	struct phx_account copy, *to;
	int r = phx_record_copy(&phx_account_record, &copy, a);
	if (r < 0)
		return r;
	if (!(to = phx_list_push(&l->list, sizeof(*to)))) {
		phx_record_fini(&phx_account_record, &copy);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

/* Copies the list, and adds former members who still have runs here. */
static int with_workers(const struct accounts *a, const struct phx_accounts *list,
			struct phx_accounts *ret)
{
	const struct phx_accounts *made = &a->state.made;
	int r = phx_record_copy(&phx_accounts_record, ret, list);
	if (r < 0 || strcmp(made->re, list->re) != 0)
		return r;
	PHX_LIST_EACH(struct phx_account, before, &made->list)
		if (r == 0 && fits(ret, before) && a->works(a->arg, before->uid))
			r = add_copy(ret, before);
	/* their groups; PHX_ACCOUNT_GROUPS_MAX bounds only the head's lists */
	PHX_LIST_EACH(struct phx_account_group, g, &made->groups)
		if (r == 0 && ret->list.n > list->list.n)
			r = phx_account_group_add(&ret->groups, g->name, g->gid);
	if (r < 0)
		phx_record_fini(&phx_accounts_record, ret);
	return r;
}

/* ---- written down ---- */

static int keep(struct accounts *a, struct phx_err *err)
{
	return phx_record_file_write(a->file, &accounts_state_record, &a->state, 0600, err);
}

static int note_home(struct accounts *a, const char *home)
{
	PHX_LIST_EACH(struct phx_word, w, &a->state.homes)
		if (!strcmp(w->text, home))
			return 0;
	struct phx_word *w = phx_list_push(&a->state.homes, sizeof(*w));
	return w ? PHX_STR_SET(w->text, home) : -ENOMEM;
}

/* Records what may exist from now on, until done() is called. */
static int intend(struct accounts *a, const struct phx_accounts *next, struct phx_err *err)
{
	struct accounts_state *s = &a->state;
	int r = 0;
	s->id = 0;
	PHX_LIST_EACH(struct phx_account, acc, &next->list) {
		if (r == 0 && account_home_lacks(a->cfg->root, acc))
			r = note_home(a, acc->home);
		if (r == 0 && !has(&s->made, acc))
			r = add_copy(&s->made, acc);
	}
	if (!s->made.re[0])
		PHX_STR_SET(s->made.re, next->re);
	return r ? r : keep(a, err);
}

static int done(struct accounts *a, uint64_t id, const struct phx_accounts *list,
		struct phx_accounts *next, struct phx_err *err)
{
	struct phx_accounts wanted;
	int r = phx_record_copy(&phx_accounts_record, &wanted, list);
	if (r < 0)
		return r;
	phx_record_fini(&phx_accounts_record, &a->state.wanted);
	phx_record_fini(&phx_accounts_record, &a->state.made);
	a->state.wanted = wanted;
	a->state.made = *next;
	*next = (struct phx_accounts){0};
	a->state.id = id;
	return keep(a, err);
}

/* ---- what is done ---- */

static int forget_home(struct accounts *a, const char *home, struct phx_err *err)
{
	for (uint32_t i = 0; i < a->state.homes.n; i++) {
		if (strcmp(PHX_LIST_AT(&a->state.homes, struct phx_word, i)->text, home) != 0)
			continue;
		int r = account_home_remove(a->cfg->root, home, err);
		if (r == 0)
			phx_list_remove(&a->state.homes, sizeof(struct phx_word), i);
		return r;
	}
	return 0;
}

/* Called while the name still exists: some of a user's leftovers are found by it. */
static void end_leavers(struct accounts *a, const struct phx_accounts *next)
{
	PHX_LIST_EACH(struct phx_account, acc, &a->state.made.list)
		if (!has(next, acc) && agent_config_private(a->cfg)) {
			agent_log("accounts: %s leaves", acc->name);
			job_user_leave(a->cfg->root, acc->uid);
		}
}

static int remove_places(struct accounts *a, const struct phx_accounts *next, struct phx_err *err)
{
	const char *re = a->state.made.re, *scratch = a->cfg->scratch_dir;
	bool other_re = re[0] && strcmp(re, next->re) != 0;
	int r = other_re ? account_scratch_remove(scratch, re, NULL, err) : 0;
	PHX_LIST_EACH(struct phx_account, acc, &a->state.made.list) {
		if (has(next, acc))
			continue;
		if (r == 0 && re[0] && !other_re)
			r = account_scratch_remove(scratch, re, acc->name, err);
		r = r ? r : forget_home(a, acc->home, err);
	}
	return r;
}

/* A failure is only reported: the member can still work. */
static void make_places(struct accounts *a, const struct phx_accounts *next, char *note)
{
	PHX_LIST_EACH(struct phx_account, acc, &next->list) {
		struct phx_err err = {0};
		int r = account_scratch_make(a->cfg->scratch_dir, next->re, acc, &err);
		if (r == 0 && account_home_lacks(a->cfg->root, acc))
			r = account_home_make(a->cfg->root, acc, &err);
		if (r < 0 && !note[0])
			snprintf(note, ACCOUNTS_NOTE_MAX, "accounts: %.140s", err.text);
	}
}

/* Everything is checked before the first change. */
static int change(struct accounts *a, const struct phx_accounts *next, char *note,
		  struct phx_err *err)
{
	struct account_files is = {0}, to = {0};
	const char *root = a->cfg->root;
	PHX_AUTO_CLOSE int lock = account_files_lock(root, err);
	int r = lock < 0 ? lock : account_files_read(root, &is, err);
	r = r ? r : account_files_merge(&is, ACCOUNT_BLOCK_MEMBERS, next, &to, err);
	r = r ? r : processes_hide(a->cfg, next->list.n > 0, err);
	r = r ? r : intend(a, next, err);
	if (r == 0)
		end_leavers(a, next);
	r = r ? r : account_files_write(root, &is, &to, err);
	r = r ? r : remove_places(a, next, err);
	if (r == 0)
		make_places(a, next, note);
	account_files_fini(&is);
	account_files_fini(&to);
	return r;
}

/* Called by whoever owns the state. */
static int apply(struct accounts *a, uint64_t id, const struct phx_accounts *list,
		 struct phx_err *err)
{
	struct phx_accounts next = {0};
	char note[ACCOUNTS_NOTE_MAX] = "", *re = a->state.made.re;
	int r = phx_accounts_check(list, err);
	/* the node would have left another one before */
	if (r == 0 && list->re[0] && !strcmp(re, unknown_re))
		phx_str_copy(re, PHX_NAME_MAX, list->re);
	r = r ? r : with_workers(a, list, &next);
	bool empty = !next.re[0] && !a->state.made.re[0];
	if (r == 0 && !empty)
		r = change(a, &next, note, err);
	if (r == 0)
		r = done(a, id, list, &next, err);
	phx_record_fini(&phx_accounts_record, &next);
	if (r < 0)
		snprintf(note, sizeof(note), "accounts: %.140s",
			 err->text[0] ? err->text : strerror(-r));
	if (r == 0 && !note[0])
		PHX_STR_SET(note, a->lost);
	if (r < 0 && id)
		remember_failed(a, id, list);
	else
		forget_failed(a);
	publish(a, note, r == 0 || r == -EAGAIN ? SOON_MS : AGAIN_MS);
	return r;
}

int accounts_want(struct accounts *a, uint64_t id, const struct phx_accounts *list,
		  struct phx_err *err)
{
	if (!a)
		return phx_err_set(err, -EOPNOTSUPP, "no accounts are made in this environment");
	LOOP_TAKEN(a->loop, &a->busy);
	return id && (a->state.id == id || a->failed_id == id) ? 0 : apply(a, id, list, err);
}

int accounts_leave(struct accounts *a, const char *re, struct phx_err *err)
{
	const struct phx_accounts none = {0};
	if (!a)
		return 0;
	LOOP_TAKEN(a->loop, &a->busy);
	if (!a->state.made.re[0] || !strcmp(a->state.made.re, re))
		return 0;
	return apply(a, 0, &none, err);
}

int accounts_again(struct accounts *a, struct phx_err *err)
{
	struct phx_accounts list;
	if (!a)
		return 0;
	LOOP_TAKEN(a->loop, &a->busy);
	bool failed = a->failed_id;
	if (!failed && !a->state.made.re[0])
		return 0;
	int r = phx_record_copy(&phx_accounts_record, &list,
				failed ? &a->failed : &a->state.wanted);
	r = r ? r : apply(a, failed ? a->failed_id : a->state.id, &list, err);
	phx_record_fini(&phx_accounts_record, &list);
	return r;
}

bool accounts_has(struct accounts *a, uint32_t uid)
{
	bool found = false;
	if (!a)
		return false;
	LOOP_TAKEN(a->loop, &a->busy);
	PHX_LIST_EACH(struct phx_account, acc, &a->state.made.list)
		found = found || acc->uid == uid;
	return found;
}

/* Is there a struck-out member without runs? */
static bool has_ended(const struct accounts *a)
{
	PHX_LIST_EACH(struct phx_account, acc, &a->state.made.list)
		if (!has(&a->state.wanted, acc) && !a->works(a->arg, acc->uid))
			return true;
	return false;
}

void accounts_settle(struct accounts *a)
{
	struct phx_err err = {0};
	struct phx_accounts list;
	if (!a)
		return;
	loop_hold(a->loop);
	bool due = phx_clock_ms() >= a->due_ms;
	loop_release(a->loop);
	if (!due)
		return;
	LOOP_TAKEN(a->loop, &a->busy);
	uint64_t id = a->failed_id ? a->failed_id : a->state.id;
	if (!a->failed_id && !has_ended(a))
		return;
	if (phx_record_copy(&phx_accounts_record, &list,
			    a->failed_id ? &a->failed : &a->state.wanted) < 0)
		return;
	apply(a, id, &list, &err);
	phx_record_fini(&phx_accounts_record, &list);
}

/* ---- to the head ---- */

void accounts_running(struct accounts *a, json_t *list)
{
	if (!a)
		return;
	LOOP_HELD(a->loop);
	order_report(list, PHX_ORDER_accounts, a->id);
}

void accounts_note(struct accounts *a, char ret[ACCOUNTS_NOTE_MAX])
{
	ret[0] = '\0';
	if (!a)
		return;
	LOOP_HELD(a->loop);
	phx_str_copy(ret, ACCOUNTS_NOTE_MAX, a->note);
}

/* ---- life ---- */

/* Takes what was made from the account files, which have all of it but for homes, and those
 * accounts that the image has itself. */
static int take_from_files(struct accounts *a, struct phx_err *err)
{
	PHX_AUTO(account_files_fini) struct account_files is = {0};
	struct phx_accounts *made = &a->state.made;
	int r = account_files_read(a->cfg->root, &is, err);
	r = r ? r : account_files_block(&is, ACCOUNT_BLOCK_MEMBERS, made, err);
	if (r == 0 && made->list.n &&
	    !account_scratch_find(a->cfg->scratch_dir, &made->list, made->re))
		PHX_STR_SET(made->re, unknown_re);
	return r ? r : keep(a, err);
}

/* Nothing is removed because of it, and nothing is forgotten that is known otherwise. */
static void take_what_is_left(struct accounts *a, const struct phx_err *damage)
{
	struct phx_err err = {0};
	agent_log("accounts: %s; it was set aside as %s.damaged: homes that were made for members "
		  "stay when they leave",
		  damage->text, a->file);
	PHX_STR_SET(a->lost,
		    "accounts: their record was damaged, and is kept as "
		    "accounts.json.damaged: homes of members stay when they leave");
	if (take_from_files(a, &err) < 0) {
		agent_log("accounts: which there are is not known: %s", err.text);
		phx_record_fini(&accounts_state_record, &a->state);
		a->state = (struct accounts_state){0};
		PHX_STR_SET(a->state.made.re, unknown_re);
	}
}

/* The machine was started anew, and whoever has an account, of the site or as a member, may log in
 * before the head is heard. */
static void hide_again(const struct agent_config *cfg, char *note)
{
	struct account_files is = {0};
	struct phx_err err = {0};
	bool any = account_files_read(cfg->root, &is, NULL) == 0 && account_files_any(&is);
	if (processes_hide(cfg, any, &err) < 0)
		snprintf(note, ACCOUNTS_NOTE_MAX, "accounts: %.140s", err.text);
	account_files_fini(&is);
}

int accounts_new(struct loop *loop, const struct agent_config *cfg, accounts_works_fn works,
		 void *arg, struct accounts **ret, struct phx_err *err)
{
	char note[ACCOUNTS_NOTE_MAX] = "";
	struct accounts *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct accounts){.loop = loop, .cfg = cfg, .works = works, .arg = arg};
	snprintf(a->file, sizeof(a->file), "%s/accounts.json", cfg->state_dir);
	struct phx_err why = {0};
	int r = phx_record_file_recover(a->file, STATE_MAX, &accounts_state_record, &a->state,
					&why);
	if (r < 0) {
		free(a);
		return phx_err_set(err, r, "%s", why.text);
	}
	if (r > 0)
		take_what_is_left(a, &why);
	hide_again(cfg, note);
	publish(a, note[0] ? note : a->lost, 0);
	*ret = a;
	return 0;
}

void accounts_free(struct accounts *a)
{
	if (!a)
		return;
	forget_failed(a);
	phx_record_fini(&accounts_state_record, &a->state);
	free(a);
}
