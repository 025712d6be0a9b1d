/* The accounts that Phoenix makes on this node: those of the members of the RE that the node is in,
 * as the head lists them (types/account.h). A list is applied as a whole: who is on it gets an
 * account, a directory of the RE's scratch, and a home where there is none. Who is no longer on it
 * loses them, with processes, crontab, shared memory and files (job_user.h). The image's own
 * accounts are not touched; a list that clashes with one of them in name or number is refused
 * before anything is changed.
 *
 * A member who is struck out while runs of his are here keeps everything until they have ended, so
 * that what he submitted goes on. Whatever is about to be made is first recorded in
 * STATE/accounts.json, so that the next agent can remove it after a crash. Where that file is
 * damaged it is set aside, and the accounts are those that stand in the account files; which homes
 * were made is not known then, and they stay. Called by the link, in its thread, and by steps. */
#ifndef PHX_AGENT_ACCOUNTS_H
#define PHX_AGENT_ACCOUNTS_H

#include <jansson.h>

#include "types/account.h"
#include "agent/config.h"
#include "agent/loop.h"

enum { ACCOUNTS_NOTE_MAX = 160 };

struct accounts;

/** Does this user have runs on this node? */
typedef bool (*accounts_works_fn)(void *arg, uint32_t uid);

/** Takes up what an earlier agent made; a damaged record of it is set aside, logged, and told by
 * accounts_note(). `loop` and `cfg` are borrowed. */
int accounts_new(struct loop *loop, const struct agent_config *cfg, accounts_works_fn works,
		 void *arg, struct accounts **ret, struct phx_err *err);
void accounts_free(struct accounts *a);

/** Apply a list of accounts, which the head knows by `id` (0: an empty list). Safe twice; a list
 * that fails is tried again by accounts_settle(). -EEXIST: an account clashes with one of the
 * image; -EINVAL, -EPERM, -E2BIG: the list is not one that a node may have; -EAGAIN: another
 * program changes accounts; in these cases nothing is changed. -EOPNOTSUPP: `a` is NULL. The
 * functions below treat NULL as no accounts. */
int accounts_want(struct accounts *a, uint64_t id, const struct phx_accounts *list,
		  struct phx_err *err);

/** The node leaves its RE for `re` ("": none): removes all accounts and directories of the RE's
 * members, unless the two REs are the same. All runs of the RE must have ended. Safe twice. */
int accounts_leave(struct accounts *a, const char *re, struct phx_err *err);

/** Apply the last list again, because other accounts of the node have changed. Safe twice. */
int accounts_again(struct accounts *a, struct phx_err *err);
/** Is it the number of a member who has an account here? */
bool accounts_has(struct accounts *a, uint32_t uid);

/** Remove struck-out members whose runs have ended, and now and then try again a list that failed.
 * Cheap if there is neither. Called with each beat. */
void accounts_settle(struct accounts *a);

/** Add ["accounts", ID] to the list of what runs here. ID is that of the head's last list; 0: there
 * is none. Adds nothing if `a` is NULL (the deploy environment). */
void accounts_running(struct accounts *a, json_t *list);

/** Why the head's last list could not be applied in full; "": it was. */
void accounts_note(struct accounts *a, char ret[ACCOUNTS_NOTE_MAX]);

#endif
