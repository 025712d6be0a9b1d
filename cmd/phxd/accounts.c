/* See accounts.h. Decides nothing: members come from the agreement, accounts from the name service.
 * Accounts that no node may have (types/account.h) are left out, which is told on stderr. */
#include "phxd/accounts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "types/account.h"
#include "phxd/beat.h"

enum { EVERY_MS = 300000, AGAIN_MS = 30000, DOUBT_MS = 25000 };

/* Members that an agreement names, copied under the engine's lock. */
struct members {
	char re[PHX_NAME_MAX];
	int64_t created_ms;     /* of the RE */
	struct phx_list users;  /* struct phx_word: logins, or "*" */
	struct phx_list groups; /* struct phx_word, or "*" */
};

/* The list that nodes of an RE are given. */
struct re_accounts {
	char re[PHX_NAME_MAX];
	uint64_t id;
	char *text; /* JSON; NULL: not known yet */
	/* of the thread alone: */
	int64_t created_ms; /* of the RE */
	struct phx_accounts list;
	uint64_t words;   /* hash of the agreement's members */
	int64_t doubt_ms; /* since when accounts of present members are missing; 0: none */
};

struct accounts {
	struct daemon *d;
	pthread_t thread;
	bool started, ended;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	int64_t due_ms;
	struct phx_list lists; /* struct re_accounts */
};

/* ---- who is a member ---- */

static int add_word(struct phx_list *to, const char *text)
{
	struct phx_word *w = text[0] ? phx_list_push(to, sizeof(*w)) : NULL;
	return w ? PHX_STR_SET(w->text, text) : text[0] ? -ENOMEM : 0;
}

/* Adds the user, or the user as whom a certificate works. */
static int add_identity(const struct phx_state *s, struct phx_list *to, const char *word)
{
	struct phx_identity is = {.kind = PHX_IDENTITY_KINDS};
	if (!strcmp(word, "*"))
		return add_word(to, word);
	if (phx_identity_parse(word, &is, NULL) < 0)
		return 0;
	bool user = is.kind == PHX_IDENTITY_UNIX || is.kind == PHX_IDENTITY_KINDS;
	return add_word(to, user ? is.name : phx_state_login(s, word));
}

static int read_members(const struct phx_state *s, const struct phx_agreement *g,
			struct members *ret)
{
	char word[PHX_IDENTITY_MAX + 1];
	int r = add_identity(s, &ret->users, g->owner);
	for (const char *at = g->users; r == 0 && phx_words_next(&at, word, sizeof(word));)
		r = add_identity(s, &ret->users, word);
	for (const char *at = g->groups; r == 0 && phx_words_next(&at, word, sizeof(word));)
		r = add_word(&ret->groups, word);
	return r;
}

/* Appends struct members of each RE that may have nodes. */
static int read_res(struct daemon *d, struct phx_list *ret)
{
	int r = 0;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		if (r < 0 || re->state == PHX_RE_STATE_NONE)
			continue;
		struct members *m = phx_list_push(ret, sizeof(*m));
		if (m) {
			PHX_STR_SET(m->re, re->name);
			m->created_ms = re->created_ms;
		}
		r = m ? read_members(s, &re->agreement, m) : -ENOMEM;
	}
	engine_unlock(d->engine);
	return r;
}

static void members_fini(struct phx_list *all)
{
	PHX_LIST_EACH(struct members, m, all) {
		phx_list_fini(&m->users);
		phx_list_fini(&m->groups);
	}
	phx_list_fini(all);
}

/* ---- as the name service knows them ---- */

/* Makes the text fit a field of a passwd line: people's names come from anywhere. */
static void put_gecos(const char *from, char *to, size_t size)
{
	snprintf(to, size, "%s", from ? from : "");
	phx_utf8_repair(to);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 127 || *to == ':')
			*to = ' ';
}

static bool is_text(const char *s)
{
	for (size_t n; *s; s += n)
		if (!(n = phx_utf8_length(s)))
			return false;
	return true;
}

static int put_groups(struct phx_account *a, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	gid_t gid;
	int r = phx_user_groups(a->name, a->gid, &names);
	PHX_LIST_EACH(struct phx_word, w, &names)
		/* system groups such as disk or docker are each machine's own */
		if (r == 0 && phx_group_named(w->text, &gid) == 0 && phx_account_is_person(gid) &&
		    is_text(w->text))
			r = phx_account_group_add(&a->groups, w->text, gid);
	return r < 0 ? phx_err_set(err, r, "out of memory") : 0;
}

/* -EINVAL, -EPERM: no node may have this account; -ENOENT: there is no such user. Other errors: the
 * name service does not answer now. */
static int find_account(const char *login, struct phx_account *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct phx_account a = {0};
	struct passwd pw;
	int r = phx_user_named(login, &pw, &texts);
	if (r < 0)
		return phx_err_set(err, r, "account %s: %s", login,
				   r == -ENOENT ? "the head has no such user" : strerror(-r));
	a.uid = pw.pw_uid;
	a.gid = pw.pw_gid;
	put_gecos(pw.pw_gecos, a.gecos, sizeof(a.gecos));
	const char *home = pw.pw_dir && pw.pw_dir[0] ? pw.pw_dir : "/",
		   *shell = pw.pw_shell && pw.pw_shell[0] ? pw.pw_shell : "/bin/sh";
	if (PHX_STR_SET(a.name, pw.pw_name) < 0 || PHX_STR_SET(a.home, home) < 0 ||
	    PHX_STR_SET(a.shell, shell) < 0 || !is_text(a.name) || !is_text(home) ||
	    !is_text(shell))
		return phx_err_set(err, -EINVAL,
				   "account %s: name, home or shell is too long, or "
				   "no text",
				   login);
	r = phx_account_check(&a, err);
	r = r ? r : put_groups(&a, err);
	if (r < 0)
		phx_record_fini(&phx_account_record, &a);
	else
		*ret = a;
	return r;
}

static bool is_final(int r)
{
	return r == 0 || r == -ENOENT || r == -EINVAL || r == -EPERM;
}

/* ---- lists ---- */

/* What was left out of a list; told on stderr when the list changes. */
struct left_out {
	unsigned n;
	bool unknown; /* the name service did not know a name */
	char first[200];
};

static void leave_out(struct left_out *l, const char *text)
{
	if (!l->n++)
		snprintf(l->first, sizeof(l->first), "%s", text);
}

static bool is_there(const struct phx_accounts *l, const struct phx_account *a)
{
	PHX_LIST_EACH(struct phx_account, b, &l->list)
		if (a->uid == b->uid || !strcmp(a->name, b->name))
			return true;
	return false;
}

/* Takes `a`. */
static int push(struct phx_accounts *l, struct phx_account *a)
{
	struct phx_account *to = is_there(l, a) ? NULL : phx_list_push(&l->list, sizeof(*to));
	int r = to || is_there(l, a) ? 0 : -ENOMEM;
	PHX_LIST_EACH(struct phx_account_group, g, &a->groups)
		if (to && r == 0 && l->groups.n < PHX_ACCOUNT_GROUPS_MAX)
			r = phx_account_group_add(&l->groups, g->name, g->gid);
	if (to)
		*to = *a;
	else
		phx_record_fini(&phx_account_record, a);
	return r;
}

static int add_login(struct phx_accounts *l, const char *login, struct left_out *left)
{
	struct phx_account a;
	struct phx_err err = {0};
	if (l->list.n >= PHX_ACCOUNTS_MAX) {
		leave_out(left, "a list has at most 1024 accounts");
		return 0;
	}
	int r = find_account(login, &a, &err);
	if (r < 0 && is_final(r)) {
		left->unknown |= r == -ENOENT;
		leave_out(left, err.text);
		return 0;
	}
	return r < 0 ? r : push(l, &a);
}

/* `group` NULL ("*"): all users that the name service lists, of whom system users are left out
 * silently. */
static int add_all(struct phx_accounts *l, const char *group, struct left_out *left)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	struct left_out system = {0};
	int r = person_members(group, 64 * PHX_ACCOUNTS_MAX, &names);
	if (r == -ENOENT) {
		left->unknown = true;
		leave_out(left, "a group of the agreement is none of the head");
		return 0;
	}
	PHX_LIST_EACH(struct phx_word, w, &names)
		r = r ? r : add_login(l, w->text, group ? left : &system);
	return r;
}

static int by_uid(const void *a, const void *b)
{
	uint32_t x = ((const struct phx_account *)a)->uid, y = ((const struct phx_account *)b)->uid;
	return (x > y) - (x < y);
}

static int by_gid(const void *a, const void *b)
{
	uint32_t x = ((const struct phx_account_group *)a)->gid,
		 y = ((const struct phx_account_group *)b)->gid;
	return (x > y) - (x < y);
}

static void sort(struct phx_list *l, size_t size, int (*by)(const void *a, const void *b))
{
	if (l->n)
		qsort(l->items, l->n, size, by);
}

/* Sorts, because a name service may return the same accounts in another order. */
static void put_in_order(struct phx_accounts *l)
{
	PHX_LIST_EACH(struct phx_account, a, &l->list)
		sort(&a->groups, sizeof(struct phx_account_group), by_gid);
	sort(&l->list, sizeof(struct phx_account), by_uid);
	sort(&l->groups, sizeof(struct phx_account_group), by_gid);
}

static int resolve(const struct members *m, struct phx_accounts *ret, struct left_out *left)
{
	int r = PHX_STR_SET(ret->re, m->re);
	PHX_LIST_EACH(struct phx_word, w, &m->users)
		r = r                          ? r
			: strcmp(w->text, "*") ? add_login(ret, w->text, left)
					       : add_all(ret, NULL, left);
	PHX_LIST_EACH(struct phx_word, w, &m->groups)
		r = r ? r : add_all(ret, strcmp(w->text, "*") ? w->text : NULL, left);
	put_in_order(ret);
	return r;
}

/* ---- kept ---- */

static struct re_accounts *find(struct phx_list *lists, const char *re)
{
	PHX_LIST_EACH(struct re_accounts, l, lists)
		if (!strcmp(l->re, re))
			return l;
	return NULL;
}

static struct re_accounts *find_or_add(struct accounts *a, const struct members *m)
{
	pthread_mutex_lock(&a->lock);
	struct re_accounts *l = find(&a->lists, m->re);
	if (!l && (l = phx_list_push(&a->lists, sizeof(*l)))) {
		PHX_STR_SET(l->re, m->re);
		l->created_ms = m->created_ms;
	}
	pthread_mutex_unlock(&a->lock);
	return l;
}

static void re_accounts_fini(struct re_accounts *l)
{
	free(l->text);
	phx_record_fini(&phx_accounts_record, &l->list);
}

static bool is_of_one(const struct re_accounts *l, const struct phx_list *res)
{
	PHX_LIST_EACH(struct members, m, res)
		if (!strcmp(m->re, l->re) && m->created_ms == l->created_ms)
			return true;
	return false;
}

/* Another RE may have the name by now, and other members: it begins without a list, also if the
 * name service does not answer then. */
static void forget_gone(struct accounts *a, const struct phx_list *res)
{
	pthread_mutex_lock(&a->lock);
	for (uint32_t i = 0; i < a->lists.n;) {
		struct re_accounts *l = PHX_LIST_AT(&a->lists, struct re_accounts, i);
		if (is_of_one(l, res)) {
			i++;
			continue;
		}
		re_accounts_fini(l);
		phx_list_remove(&a->lists, sizeof(*l), i);
	}
	pthread_mutex_unlock(&a->lock);
}

static uint64_t words_of(const struct members *m)
{
	uint64_t h = m->users.n;
	PHX_LIST_EACH(struct phx_word, w, &m->users)
		h = h * 31 + phx_hash_text(w->text);
	PHX_LIST_EACH(struct phx_word, w, &m->groups)
		h = h * 37 + phx_hash_text(w->text);
	return h;
}

static bool lacks_one(const struct phx_accounts *before, const struct phx_accounts *now)
{
	PHX_LIST_EACH(struct phx_account, a, &before->list)
		if (!phx_accounts_find(now, a->name, a->uid))
			return true;
	return false;
}

/* Must the new list wait? A name service that is away may say that a user does not exist, and a
 * user who is dropped from the list loses all data on the nodes. So a user whom the agreement still
 * names is dropped only after not being found for a while. */
static bool is_doubtful(struct re_accounts *l, const struct members *m,
			const struct phx_accounts *list, const struct left_out *left)
{
	int64_t now = phx_clock_ms();
	bool same = l->text && l->words == words_of(m);
	bool fewer = l->text ? same && lacks_one(&l->list, list) : left->unknown;
	l->doubt_ms = !fewer ? 0 : l->doubt_ms ? l->doubt_ms : now;
	return fewer && now - l->doubt_ms < DOUBT_MS;
}

/* Takes `list`. 1: it differs from the last one; -EAGAIN: it is doubtful yet. */
static int keep(struct accounts *a, const struct members *m, struct phx_accounts *list,
		const struct left_out *left)
{
	struct re_accounts *l = find_or_add(a, m);
	uint64_t id = phx_accounts_id(list);
	if (!l || is_doubtful(l, m, list, left))
		return l ? -EAGAIN : -ENOMEM;
	l->words = words_of(m);
	l->doubt_ms = 0;
	if (l->text && l->id == id)
		return 0;
	char *text = phx_json_record_text(&phx_accounts_record, list);
	if (!text)
		return -ENOMEM;
	phx_record_fini(&phx_accounts_record, &l->list);
	l->list = *list;
	*list = (struct phx_accounts){0};
	pthread_mutex_lock(&a->lock);
	free(l->text);
	l->text = text;
	l->id = id;
	pthread_mutex_unlock(&a->lock);
	return 1;
}

static void wake_nodes(struct daemon *d, const char *re)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	uint32_t at = 0;
	const struct phx_state *s = engine_lock(d->engine);
	for (const struct phx_node *n; (n = phx_members_next(s, PHX_MEMBERS_POOL, re, &at));)
		if (tell_put_name(&names, n->name) < 0)
			break;
	engine_unlock(d->engine);
	PHX_LIST_EACH(struct phx_word, w, &names)
		live_wake(d->live, w->text);
}

/* False: to be tried again soon; the former list stays. */
static bool make_one(struct accounts *a, const struct members *m)
{
	struct phx_accounts list = {0};
	struct left_out left = {0};
	int r = resolve(m, &list, &left);
	r = r ? r : keep(a, m, &list, &left);
	phx_record_fini(&phx_accounts_record, &list);
	if (r < 0)
		fprintf(stderr, "phxd: accounts of RE %s: %s\n", m->re,
			r == -EAGAIN ? "fewer users are found than before: looked at again soon"
				     : strerror(-r));
	if (r > 0 && left.n)
		fprintf(stderr, "phxd: accounts of RE %s: nodes are not told of %u: %s%s\n", m->re,
			left.n, left.first, left.n > 1 ? ", ..." : "");
	if (r > 0)
		wake_nodes(a->d, m->re);
	return r >= 0;
}

static bool make_all(struct accounts *a)
{
	struct phx_list res = {0};
	bool done = read_res(a->d, &res) == 0;
	if (done)
		forget_gone(a, &res);
	PHX_LIST_EACH(struct members, m, &res)
		done &= make_one(a, m);
	members_fini(&res);
	return done;
}

static void *work(void *arg)
{
	struct accounts *a = arg;
	pthread_mutex_lock(&a->lock);
	while (!a->ended) {
		if (phx_clock_ms() < a->due_ms) {
			phx_cond_until(&a->wanted, &a->lock, a->due_ms);
			continue;
		}
		a->due_ms = INT64_MAX;
		pthread_mutex_unlock(&a->lock);
		bool done = make_all(a);
		int64_t due_ms = phx_clock_ms() + (done ? EVERY_MS : AGAIN_MS);
		pthread_mutex_lock(&a->lock);
		a->due_ms = due_ms < a->due_ms ? due_ms : a->due_ms;
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

void accounts_look(struct accounts *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->due_ms = 0;
	pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(&a->lock);
}

/* ---- to agents ---- */

bool accounts_are_known(const struct phx_list *running)
{
	return beat_running_of(running, PHX_ORDER_accounts);
}

static void put(struct phx_buf *b, uint64_t id, const char *text)
{
	phx_json_put_item(b);
	phx_buf_addf(b, "{\"kind\":\"%s\",\"id\":%llu,\"accounts\":%s}",
		     phx_order_name(PHX_ORDER_accounts), (unsigned long long)id, text);
}

void accounts_orders_put(struct accounts *a, const char *re, const struct phx_list *running,
			 struct phx_buf *b)
{
	const struct beat_running *has = beat_running_of(running, PHX_ORDER_accounts);
	if (!a || !has)
		return;
	if (!re[0]) {
		if (has->id)
			put(b, 0, "{}");
		return;
	}
	pthread_mutex_lock(&a->lock);
	const struct re_accounts *l = find(&a->lists, re);
	if (l && l->text && l->id != (uint64_t)has->id)
		put(b, l->id, l->text);
	pthread_mutex_unlock(&a->lock);
}

/* ---- start and end ---- */

int accounts_new(struct daemon *d, struct accounts **ret)
{
	struct accounts *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->d = d;
	a->due_ms = INT64_MAX;
	pthread_mutex_init(&a->lock, NULL);
	phx_cond_init(&a->wanted);
	int r = -pthread_create(&a->thread, NULL, work, a);
	a->started = r == 0;
	if (r < 0) {
		accounts_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void accounts_free(struct accounts *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ended = true;
	pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(&a->lock);
	if (a->started)
		pthread_join(a->thread, NULL);
	PHX_LIST_EACH(struct re_accounts, l, &a->lists)
		re_accounts_fini(l);
	phx_list_fini(&a->lists);
	pthread_cond_destroy(&a->wanted);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
