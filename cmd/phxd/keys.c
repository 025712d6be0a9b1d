/* The process that holds the keys (lib/vault), as phxd uses it: started before the journal is
 * opened, which is signed; told when it had to be started again. Called by main.c, and by any
 * thread that needs something signed. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/account.h"

struct keys {
	struct daemon *d;
	struct phx_vault *vault;
	atomic_uint n_restarts;
	unsigned n_told; /* of the loop */
};

/* On any thread, which may hold the engine: the loop tells it. */
static void restarted(void *arg)
{
	struct keys *k = arg;
	atomic_fetch_add(&k->n_restarts, 1);
	if (k->d->wake)
		wake_in(k->d->wake, 0);
}

/* Who was installed without it is told, at each start. */
static void tell_user(const char *name)
{
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	if (geteuid() == 0 && name[0] && phx_user_named(name, &pw, &texts) == -ENOENT)
		fprintf(stderr,
			"phxd: vault_user: there is no user %s: the process that holds the keys "
			"stays root's (useradd --system %s)\n",
			name, name);
}

int keys_new(struct daemon *d, struct keys **ret, struct phx_err *err)
{
	struct keys *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->d = d;
	const struct phx_vault_config config = {.program = "/proc/self/exe",
						.pki_dir = d->cfg.pki_dir,
						.key_dir = d->cfg.key_dir,
						.user = d->cfg.vault_user,
						.restarted = restarted,
						.arg = k};
	tell_user(d->cfg.vault_user);
	int r = phx_vault_start(&config, &k->vault, err);
	if (r < 0) {
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void keys_free(struct keys *k)
{
	if (!k)
		return;
	phx_vault_end(k->vault);
	free(k);
}

struct phx_vault *keys_vault(struct keys *k)
{
	return k->vault;
}

static int sign_by(enum phx_vault_key which, struct keys *k, const char *text,
		   char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err)
{
	uint8_t sig[PHX_SIG_SIZE];
	_Static_assert(sizeof(sig) * 2 < PHX_ANCHOR_SIGNATURE_MAX, "a signature has room");
	int r = phx_vault_sign(k->vault, which, text, sig, err);
	if (r == 0)
		phx_hex(sig, sizeof(sig), ret);
	return r;
}

static int sign(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		struct phx_err *err)
{
	return sign_by(PHX_VAULT_SITE, arg, text, ret, err);
}

static int attest(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		  struct phx_err *err)
{
	return sign_by(PHX_VAULT_ATTEST, arg, text, ret, err);
}

struct phx_signer keys_signer(struct keys *k)
{
	return (struct phx_signer){sign, k};
}

struct phx_signer keys_attester(struct keys *k)
{
	return (struct phx_signer){attest, k};
}

int keys_open(struct keys *k, struct phx_err *err)
{
	struct daemon *d = k->d;
	const char *names[40] = {d->cfg.address};
	size_t n = 1;
	PHX_AUTO_FREE char *complaint = NULL;
	PHX_LIST_EACH(struct phx_word, w, &d->cfg.server_names)
		if (n < PHX_ARRAY_SIZE(names))
			names[n++] = w->text;
	int r = phx_vault_site(k->vault, names, n, &d->pki, &complaint, err);
	if (r == 0 && complaint)
		engine_notice(d->engine, "", complaint);
	return r;
}

int keys_tick(struct keys *k)
{
	unsigned n = atomic_load(&k->n_restarts);
	char text[120];
	snprintf(text, sizeof(text),
		 "the process that holds the keys had ended and was started again, as process %d",
		 (int)phx_vault_pid(k->vault));
	if (n != k->n_told)
		engine_notice(k->d->engine, "", text);
	k->n_told = n;
	return WAKE_NEVER;
}
