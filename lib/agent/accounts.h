/* The accounts of this node that are ours: those of the members of the RE that it is in, as the
 * head names them (types/account.h). A list is had whole: who is on it has an account, a directory
 * of the RE's scratch, and a home where there is none; who is not any more loses them, with his
 * processes, crontab, shared memory and files (job_user.h). What the image has is not touched, and
 * a name or number that it has already is refused before anything is changed.
 *
 * Who is struck out while runs of his are here keeps all until they have ended: what he submitted
 * goes on. What is here is written down in STATE/accounts.json before it is made, so that nothing
 * of it outlives a crash. Called by the link, in its thread, and by steps. */
#ifndef PHX_AGENT_ACCOUNTS_H
#define PHX_AGENT_ACCOUNTS_H

#include <jansson.h>

#include "types/account.h"
#include "agent/config.h"
#include "agent/loop.h"

enum { ACCOUNTS_NOTE_MAX = 160 };

struct accounts;

/** Are there runs of this user here? */
typedef bool (*accounts_works_fn)(void *arg, uint32_t uid);

/** Takes up what an earlier agent made. `loop` and `cfg` are borrowed. */
int accounts_new(struct loop *loop, const struct agent_config *cfg, accounts_works_fn works,
		 void *arg, struct accounts **ret, struct phx_err *err);
void accounts_free(struct accounts *a);

/** Have these, a list known by `id`, 0 of an empty one. Safe twice; what fails is tried again by
 * accounts_settle(). -EEXIST: one clashes with an account of the image,
 * -EINVAL, -EPERM, -E2BIG: no node may have one of them, -EAGAIN: somebody else changes accounts.
 * On these nothing is changed. `a` NULL counts as empty, here and below. */
int accounts_want(struct accounts *a, uint64_t id, const struct phx_accounts *list,
		  struct phx_err *err);

/** The node leaves the RE that it is in, unless it stays in `re` ("": it is in none): nothing of it
 * is left. All its runs must have ended. Safe twice. */
int accounts_leave(struct accounts *a, const char *re, struct phx_err *err);

/** Who was struck out goes, if his runs have ended, and a list that could not be had is tried again
 * now and then. Cheap where there is neither. Called with each beat. */
void accounts_settle(struct accounts *a);

/** Add ["accounts", ID] to what runs here: of the list that the head gave last; 0: none. Nothing
 * where `a` is NULL (the deploy environment). */
void accounts_running(struct accounts *a, json_t *list);

/** Why the list that the head gave last is not had; "" it is. */
void accounts_note(struct accounts *a, char ret[ACCOUNTS_NOTE_MAX]);

#endif
