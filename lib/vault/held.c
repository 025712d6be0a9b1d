/* What the process has at hand: its log, and the site's keys once it was told to open them. Called
 * by the other files of this room. Answers nothing itself. */
#include "vault/internal.h"

#include <errno.h>

int vault_open_log(struct vault *v, struct phx_err *err)
{
	int r = v->logging ? 0
			   : vault_log_open(&v->log, v->config->pki_dir, v->config->log_keep,
					    &v->complaint, err);
	v->logging = r == 0;
	return r;
}

int vault_need_site(const struct vault *v, struct phx_err *err)
{
	return v->pki
		? 0
		: phx_err_set(err, -ENODATA, "the vault was not told to open the site's keys");
}
