/* The kind of an identity that people wrote without one: a user of the head if there is one of that
 * name, else a certificate. It is settled here, once, when the word comes in; identities are stored
 * and compared with their kinds. Called by the handlers of requests, by catalog.c, and at the start
 * for owners in an older journal. */
#include "phxd/daemon.h"

#include <errno.h>
#include <string.h>

#include "base/account.h"

static bool is_user(const char *name)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	return phx_user_named(name, &pw, &texts) == 0;
}

int identity_settle(const char *word, const char *known, char ret[PHX_IDENTITY_MAX],
		    struct phx_err *err)
{
	struct phx_identity is, before;
	int r = phx_identity_parse(word, &is, err);
	if (r < 0)
		return phx_err_prefix(err, r, "'%.80s'", word);
	bool was = phx_identity_parse(known, &before, NULL) == 0 &&
		before.kind != PHX_IDENTITY_KINDS && !strcmp(before.name, is.name);
	if (is.kind == PHX_IDENTITY_KINDS && was)
		is.kind = before.kind;
	else if (is.kind == PHX_IDENTITY_KINDS)
		is.kind = is_user(is.name) ? PHX_IDENTITY_UNIX : PHX_IDENTITY_CERT;
	phx_identity_format((enum phx_identity_kind)is.kind, is.name, ret);
	return ret[0]
		? 0
		: phx_err_set(err, -EINVAL,
			      "'%.80s' is no user of the head, and no name of a certificate", word);
}

/* "*" is everybody; groups are always the head's. */
static bool has_no_kind(const char *word)
{
	return !strcmp(word, "*") || phx_str_starts(word, "group:");
}

int identity_settle_list(char *list, size_t size, struct phx_err *err)
{
	char word[PHX_IDENTITY_MAX + 8], whole[PHX_IDENTITY_MAX];
	PHX_AUTO_FREE char *to = calloc(1, size);
	int r = to ? 0 : -ENOMEM;
	for (const char *at = list; r == 0 && phx_words_next(&at, word, sizeof(word));) {
		r = has_no_kind(word) ? 0 : identity_settle(word, "", whole, err);
		if (r == 0 && phx_words_add(to, size, has_no_kind(word) ? word : whole) < 0)
			r = phx_err_set(err, -E2BIG,
					"more than %zu bytes of names: name a group of the head",
					size - 1);
	}
	return r ? r : phx_str_copy(list, size, to);
}

/* The identity as people may write it: without its kind, if identity_settle() would find the same.
 */
static void shorten(const char *identity, char ret[PHX_IDENTITY_MAX])
{
	struct phx_identity is;
	bool known = phx_identity_parse(identity, &is, NULL) == 0;
	bool plain = known &&
		(is.kind == PHX_IDENTITY_UNIX ||
		 (is.kind == PHX_IDENTITY_CERT && !is_user(is.name)));
	phx_str_copy(ret, PHX_IDENTITY_MAX, plain ? is.name : identity);
}

void identity_add_name(json_t *j, const char *owner)
{
	char name[PHX_IDENTITY_MAX];
	shorten(owner, name);
	json_object_set_new(j, "owner_name", json_string(name));
}

/* ---- what an older journal holds ---- */

static void note_word(struct phx_list *words, const char *owner)
{
	struct phx_word *to;
	PHX_LIST_EACH(struct phx_word, w, words)
		if (!strcmp(w->text, owner))
			return;
	if (owner[0] && !phx_identity_is_typed(owner) && (to = phx_list_push(words, sizeof(*to))))
		PHX_STR_SET(to->text, owner);
}

static struct phx_list untyped_owners(struct daemon *d)
{
	struct phx_list words = {0};
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_pool, pool, &s->pools)
		note_word(&words, pool->owner);
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		note_word(&words, re->agreement.owner);
	PHX_NODES_EACH(n, s)
		note_word(&words, n->tenant);
	engine_unlock(d->engine);
	return words;
}

int identity_settle_owners(struct daemon *d, struct phx_err *err)
{
	struct phx_list words = untyped_owners(d);
	int r = 0;
	PHX_LIST_EACH(struct phx_word, w, &words) {
		struct phx_event ev = {.kind = PHX_EV_identity, .by = "phxd"};
		r = r ? r : identity_settle(w->text, "", ev.identity.identity, err);
		PHX_STR_SET(ev.identity.word, w->text);
		r = r ? r : engine_submit(d->engine, &ev, NULL, err);
	}
	phx_list_fini(&words);
	return r == -EROFS ? 0 : r; /* a read-only head can still show the state */
}
