/* What the vault keeps when it gives up the rest (apart/confine.h): two directories, and the system
 * calls of its row (apart/calls.def). Called once, by serve.c. */
#include "vault/internal.h"

#include <errno.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"

/* The keys belong to its user from now on. */
static int give(const void *arg, const struct passwd *pw, struct phx_err *err)
{
	const struct phx_vault_config *c = arg;
	PHX_AUTO_FREE char *people = phx_path("%s/people", c->pki_dir);
	int r = people ? phx_confine_give_dir(c->pki_dir, pw, err) : -ENOMEM;
	if (r == 0 && access(people, F_OK) == 0)
		r = phx_confine_give_dir(people, pw, err);
	return r ? r : phx_confine_give_dir(c->key_dir, pw, err);
}

int vault_confine(const struct phx_vault_config *config, struct phx_err *err)
{
	const struct phx_confine_path paths[] = {
		{config->pki_dir, PHX_CONFINE_READ | PHX_CONFINE_WRITE},
		{config->key_dir, PHX_CONFINE_READ | PHX_CONFINE_WRITE}};
	const struct phx_confine confine = {.what = "the vault",
					    .user = config->user,
					    .give = give,
					    .arg = config,
					    .lock_memory = true,
					    .paths = paths,
					    .n_paths = PHX_ARRAY_SIZE(paths),
					    .calls = PHX_CALLS_vault};
	return phx_confine_self(&confine, err);
}
