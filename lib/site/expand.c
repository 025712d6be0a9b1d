/* Variables in the texts of files: see internal.h. Nothing but names and their values: no code.
 * Called by check.c and render.c. Pure. */
#include "site/internal.h"

#include <errno.h>
#include <string.h>

static const char *const names[PHX_SITE_VAR_COUNT_] = {
	[PHX_SITE_VAR_NODE] = "NODE",     [PHX_SITE_VAR_ADDRESS] = "ADDRESS",
	[PHX_SITE_VAR_ROLE] = "ROLE",     [PHX_SITE_VAR_POOL] = "POOL",
	[PHX_SITE_VAR_DOMAIN] = "DOMAIN",
};

/* The length of @NAME@ at `at`, which is an @; 0: it is none. */
static size_t variable_length(const char *at)
{
	size_t n = 1 + strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	return n > 1 && at[n] == '@' ? n + 1 : 0;
}

static int find(const char *at, size_t n)
{
	for (int i = 0; i < PHX_SITE_VAR_COUNT_; i++)
		if (strlen(names[i]) == n - 2 && !strncmp(at + 1, names[i], n - 2))
			return i;
	return -ENOENT;
}

static int unknown(const char *at, size_t n, struct phx_err *err)
{
	return phx_err_set(err, -EINVAL,
			   "%.*s is no variable: there are @NODE@, @ADDRESS@, @ROLE@, @POOL@ and "
			   "@DOMAIN@; for the text itself write @@ for each @",
			   n > 60 ? 60 : (int)n, at);
}

int phx_site_expand(const char *text, const char *const values[PHX_SITE_VAR_COUNT_], char **ret,
		    unsigned *ret_line, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	unsigned line = 1;
	for (const char *at = text; *at;) {
		size_t n = *at == '@' ? variable_length(at) : 0;
		int which = n ? find(at, n) : 0;
		if (which < 0) {
			*ret_line = line;
			return unknown(at, n, err);
		}
		if (n && values)
			phx_buf_add(&b, values[which], strlen(values[which]));
		line += *at == '\n';
		if (!n) {
			phx_buf_add(&b, at, 1);
			n = at[0] == '@' && at[1] == '@' ? 2 : 1;
		}
		at += n;
	}
	if (!values)
		return b.failed ? -ENOMEM : 0;
	phx_buf_add(&b, "", 0);
	char *made = b.data ? phx_buf_take(&b) : strdup("");
	if (!made)
		return -ENOMEM;
	*ret = made;
	return 0;
}
